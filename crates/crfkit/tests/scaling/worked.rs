//! A number that counts what is computed with it: every operation on single numbers, and every cell of every kernel. Engines are
//! written over any number, so that their whole work is counted as they are.

use crfkit::math::{Array, Retreat, Scalar, Slice, SliceMut, TilePattern};
use std::cell::Cell;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
}

/// What `work` computes with [`Counting`] numbers.
pub fn operations(work: impl FnOnce()) -> u64 {
    DONE.set(0);
    work();
    DONE.get()
}

fn count(cells: usize) {
    DONE.set(DONE.get() + cells as u64);
}

/// A real number whose use is counted.
#[derive(Clone, Copy, Debug)]
pub struct Counting(f64);

macro_rules! operators {
    ($($name:ident $apply:ident)*) => { $(
        impl $name for Counting {
            type Output = Self;
            fn $apply(self, other: Self) -> Self {
                count(1);
                Counting(self.0.$apply(other.0))
            }
        }
    )* };
}

operators!(Add add Sub sub Mul mul Div div);

impl Neg for Counting {
    type Output = Self;
    fn neg(self) -> Self {
        Counting(-self.0)
    }
}

impl AddAssign for Counting {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Scalar for Counting {
    const PLANES: usize = 1;

    fn new(re: f64, _: f64) -> Self {
        Counting(re)
    }
    fn re(self) -> f64 {
        self.0
    }
    fn eps(self) -> f64 {
        0.0
    }
    fn exp(self) -> Self {
        count(1);
        Counting(self.0.exp())
    }
    fn ln(self) -> Self {
        count(1);
        Counting(self.0.ln())
    }

    fn exp_rows(u: Slice<Self>, labels: usize, shift: &mut [f64], out: SliceMut<Self>) -> f64 {
        count(u.re.len());
        f64::exp_rows(real(u).all(), labels, shift, real_mut(out))
    }
    fn advance(a: Slice<Self>, m: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self {
        count(m.re.len());
        Counting(f64::advance(real(a).all(), real(m).all(), s.0, real(e).all(), real_mut(out)))
    }
    fn weigh(x: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self {
        count(x.re.len());
        Counting(f64::weigh(real(x).all(), s.0, real(e).all(), real_mut(out)))
    }
    fn retreat(g: Slice<Self>, mt: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>) {
        count(mt.re.len());
        f64::retreat(real(g).all(), real(mt).all(), s.0, real(e).all(), weight, rows(out));
    }
    fn retreat_last(beta: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>) {
        count(beta.re.len());
        f64::retreat_last(real(beta).all(), s.0, real(e).all(), weight, rows(out));
    }
    fn multiply(x: Slice<Self>, y: Slice<Self>, out: SliceMut<Self>) {
        count(x.re.len());
        f64::multiply(real(x).all(), real(y).all(), real_mut(out));
    }
    fn axpy(s: Self, x: Slice<Self>, out: SliceMut<Self>) {
        count(x.re.len());
        f64::axpy(s.0, real(x).all(), real_mut(out));
    }
    fn outer_add(weight: f64, a: Slice<Self>, g: Slice<Self>, labels: usize, out: SliceMut<Self>) {
        count(a.re.len() * labels);
        f64::outer_add(weight, real(a).all(), real(g).all(), labels, real_mut(out));
    }
    fn tile_product(base: Self, x: Slice<Self>, tiles: TilePattern, d: Slice<Self>, out: SliceMut<Self>) {
        count(out.re.len() + d.re.len());
        f64::tile_product(base.0, real(x).all(), tiles, real(d).all(), real_mut(out));
    }
    fn outer_add_tiles(
        weight: f64,
        a: Slice<Self>,
        g: Slice<Self>,
        stride: usize,
        tiles: TilePattern,
        sums: SliceMut<Self>,
    ) {
        count(a.re.len() + sums.re.len() * (a.re.len() / stride));
        f64::outer_add_tiles(weight, real(a).all(), real(g).all(), stride, tiles, real_mut(sums));
    }
}

/// A copy that the kernels of `f64` take.
struct Real(Array<f64>);

fn real(x: Slice<Counting>) -> Real {
    let mut copy = Array::zeros(x.re.len());
    copy.plane_mut(0).copy_from_slice(x.re);
    Real(copy)
}

impl Real {
    fn all(&self) -> Slice<'_, f64> {
        self.0.slice(0..self.0.len())
    }
}

fn real_mut(out: SliceMut<Counting>) -> SliceMut<f64> {
    SliceMut::new(out.re, out.eps)
}

fn rows(out: Retreat<Counting>) -> Retreat<f64> {
    Retreat { alpha: real_mut(out.alpha), gamma: real_mut(out.gamma), mu: real_mut(out.mu) }
}
