//! Vector kernels for dual and complex numbers. They walk both planes at once, so that each number is loaded once for
//! all the real products it takes part in.

use super::array::{Slice, SliceMut};
use super::pair::Pair;
use super::scalar::Retreat;
use super::simd::{LANES, level, load, store};
use crate::math::dispatch::dispatch;
use fearless_simd::{f64x8, prelude::*};

/// A vector of numbers re + ε·eps with ε² = `Q`.
#[derive(Clone, Copy)]
struct Pair8<S: Simd, const Q: i8> {
    re: f64x8<S>,
    eps: f64x8<S>,
}

impl<S: Simd, const Q: i8> Pair8<S, Q> {
    #[inline(always)]
    fn splat(simd: S, x: Pair<Q>) -> Self {
        Pair8 { re: f64x8::splat(simd, x.re), eps: f64x8::splat(simd, x.eps) }
    }

    #[inline(always)]
    fn load(simd: S, x: Slice<Pair<Q>>, vector: usize) -> Self {
        Pair8 { re: load(simd, x.re, vector), eps: load(simd, x.eps, vector) }
    }

    #[inline(always)]
    fn store(self, out: &mut SliceMut<Pair<Q>>, vector: usize) {
        store(self.re, out.re, vector);
        store(self.eps, out.eps, vector);
    }

    #[inline(always)]
    fn plus(self, o: Self) -> Self {
        Pair8 { re: self.re + o.re, eps: self.eps + o.eps }
    }

    #[inline(always)]
    fn times(self, o: Self) -> Self {
        let mut re = self.re * o.re;
        if Q != 0 {
            re += self.eps * o.eps * f64::from(Q);
        }
        Pair8 { re, eps: self.re.mul_add(o.eps, self.eps * o.re) }
    }

    fn reduce_sum(self) -> Pair<Q> {
        Pair { re: self.re.reduce_sum(), eps: self.eps.reduce_sum() }
    }
}

/// Runs `$part::<_, _, N>(…, first)` over all vectors of a row: first in groups of three, whose sums stay in
/// registers, then the rest.
macro_rules! by_threes {
    ($vectors:expr, $part:ident($($arg:expr),*)) => {{
        let (vectors, mut first) = ($vectors, 0);
        while first + 3 <= vectors {
            $part::<_, _, 3>($($arg),*, first);
            first += 3;
        }
        match vectors - first {
            2 => $part::<_, _, 2>($($arg),*, first),
            1 => $part::<_, _, 1>($($arg),*, first),
            _ => {}
        }
    }};
}

/// Columns `first … first+N` (in vectors) of a·M, computed by three real products, or four where ε² ≠ 0: (a.re M.re +
/// ε² a.eps M.eps) + ε (a.re M.eps + a.eps M.re). Each product has its own sum, which hides the latency of
/// multiply-add.
#[inline(always)]
fn columns<S: Simd, const Q: i8, const N: usize>(
    simd: S,
    a: Slice<Pair<Q>>,
    m: Slice<Pair<Q>>,
    stride: usize,
    first: usize,
) -> [Pair8<S, Q>; N] {
    let zero = [f64x8::splat(simd, 0.0); N];
    let (mut re, mut left, mut right) = (zero, zero, zero);
    let span = first * LANES..(first + N) * LANES;
    let rows = m.re.chunks_exact(stride).zip(m.eps.chunks_exact(stride));
    for ((&x, &dx), (row, drow)) in a.re.iter().zip(a.eps).zip(rows) {
        let (row, drow) = (&row[span.clone()], &drow[span.clone()]);
        let (x, dx) = (f64x8::splat(simd, x), f64x8::splat(simd, dx));
        for v in 0..N {
            let (y, dy) = (load(simd, row, v), load(simd, drow, v));
            re[v] = x.mul_add(y, re[v]);
            left[v] = x.mul_add(dy, left[v]);
            right[v] = dx.mul_add(y, right[v]);
            if Q != 0 {
                re[v] = (dx * f64::from(Q)).mul_add(dy, re[v]);
            }
        }
    }
    std::array::from_fn(|v| Pair8 { re: re[v], eps: left[v] + right[v] })
}

/// See [`super::Scalar::advance`].
pub(crate) fn advance<const Q: i8>(
    a: Slice<Pair<Q>>,
    m: Slice<Pair<Q>>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    mut out: SliceMut<Pair<Q>>,
) -> Pair<Q> {
    dispatch!(level(), simd => {
        let mut sum = Pair8::splat(simd, Pair { re: 0.0, eps: 0.0 });
        by_threes!(e.re.len() / LANES, advance_part(simd, a, m, s, e, &mut out, &mut sum));
        sum.reduce_sum()
    })
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // a kernel's operands
fn advance_part<S: Simd, const Q: i8, const N: usize>(
    simd: S,
    a: Slice<Pair<Q>>,
    m: Slice<Pair<Q>>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    out: &mut SliceMut<Pair<Q>>,
    sum: &mut Pair8<S, Q>,
    first: usize,
) {
    let product: [_; N] = columns(simd, a, m, e.re.len(), first);
    for v in 0..N {
        weigh_vector(simd, product[v], s, e, out, sum, first + v);
    }
}

/// See [`super::Scalar::weigh`].
pub(crate) fn weigh<const Q: i8>(
    x: Slice<Pair<Q>>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    mut out: SliceMut<Pair<Q>>,
) -> Pair<Q> {
    dispatch!(level(), simd => {
        let mut sum = Pair8::splat(simd, Pair { re: 0.0, eps: 0.0 });
        for v in 0..e.re.len() / LANES {
            weigh_vector(simd, Pair8::load(simd, x, v), s, e, &mut out, &mut sum, v);
        }
        sum.reduce_sum()
    })
}

/// out ← s·x ∘ e for one vector of labels, and adds it to `sum`.
#[inline(always)]
fn weigh_vector<S: Simd, const Q: i8>(
    simd: S,
    x: Pair8<S, Q>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    out: &mut SliceMut<Pair<Q>>,
    sum: &mut Pair8<S, Q>,
    v: usize,
) {
    let y = x.times(Pair8::splat(simd, s)).times(Pair8::load(simd, e, v));
    y.store(out, v);
    *sum = sum.plus(y);
}

/// See [`super::Scalar::retreat`].
pub(crate) fn retreat<const Q: i8>(
    g: Slice<Pair<Q>>,
    mt: Slice<Pair<Q>>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    weight: f64,
    mut out: Retreat<Pair<Q>>,
) {
    dispatch!(level(), simd => {
        by_threes!(e.re.len() / LANES, retreat_part(simd, g, mt, s, e, weight, &mut out));
    })
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // a kernel's operands
fn retreat_part<S: Simd, const Q: i8, const N: usize>(
    simd: S,
    g: Slice<Pair<Q>>,
    mt: Slice<Pair<Q>>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    weight: f64,
    out: &mut Retreat<Pair<Q>>,
    first: usize,
) {
    let beta: [_; N] = columns(simd, g, mt, e.re.len(), first);
    for v in 0..N {
        combine(simd, beta[v], s, e, weight, out, first + v);
    }
}

/// See [`super::Scalar::retreat_last`].
pub(crate) fn retreat_last<const Q: i8>(
    beta: Slice<Pair<Q>>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    weight: f64,
    mut out: Retreat<Pair<Q>>,
) {
    dispatch!(level(), simd => for v in 0..e.re.len() / LANES {
        combine(simd, Pair8::load(simd, beta, v), s, e, weight, &mut out, v);
    })
}

/// α ← s·α, γ ← s·β ∘ e, μ ← weight·α ∘ β for one vector of labels.
#[inline(always)]
fn combine<S: Simd, const Q: i8>(
    simd: S,
    beta: Pair8<S, Q>,
    s: Pair<Q>,
    e: Slice<Pair<Q>>,
    weight: f64,
    out: &mut Retreat<Pair<Q>>,
    v: usize,
) {
    let s = Pair8::splat(simd, s);
    let alpha: Pair8<S, Q> = Pair8 { re: load(simd, out.alpha.re, v), eps: load(simd, out.alpha.eps, v) };
    let alpha = alpha.times(s);
    let mu = alpha.times(beta);
    alpha.store(&mut out.alpha, v);
    beta.times(s).times(Pair8::load(simd, e, v)).store(&mut out.gamma, v);
    Pair8::<S, Q> { re: mu.re * weight, eps: mu.eps * weight }.store(&mut out.mu, v);
}
