//! Dual and complex numbers: one struct re + ε·eps, where the value of ε² selects the kind.

use super::array::{Slice, SliceMut};
use super::scalar::{Retreat, Scalar, TilePattern};
use super::{planes, simd};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// re + ε·eps with ε² = `SQUARE`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<const SQUARE: i8> {
    /// Real part.
    pub re: f64,
    /// Coefficient of ε.
    pub eps: f64,
}

/// ε² = 0: forward-mode differentiation. f(x + ε v) = f(x) + ε f′(x)·v exactly.
pub type Dual = Pair<0>;

/// ε² = −1: ordinary complex numbers, for the complex step (smd-crf-2006 eq. 12).
pub type Complex64 = Pair<-1>;

impl<const Q: i8> Add for Pair<Q> {
    type Output = Self;
    #[inline]
    fn add(self, o: Self) -> Self {
        Pair { re: self.re + o.re, eps: self.eps + o.eps }
    }
}

impl<const Q: i8> Sub for Pair<Q> {
    type Output = Self;
    #[inline]
    fn sub(self, o: Self) -> Self {
        Pair { re: self.re - o.re, eps: self.eps - o.eps }
    }
}

impl<const Q: i8> Mul for Pair<Q> {
    type Output = Self;
    #[inline]
    fn mul(self, o: Self) -> Self {
        let square = if Q == 0 { 0.0 } else { Q as f64 * self.eps * o.eps };
        Pair { re: self.re * o.re + square, eps: self.re * o.eps + self.eps * o.re }
    }
}

impl<const Q: i8> Div for Pair<Q> {
    type Output = Self;
    // x / y = x·ȳ / (y·ȳ) with ȳ = re − ε·eps, where y·ȳ = re² − ε²·eps² is real. This formula holds for dual and for
    // complex numbers. Both sides are first divided by re (eps is the smaller part), so that squares of small numbers
    // do not underflow.
    #[allow(clippy::suspicious_arithmetic_impl)]
    #[inline]
    fn div(self, o: Self) -> Self {
        let ratio = o.eps / o.re;
        let norm = o.re - if Q == 0 { 0.0 } else { Q as f64 * o.eps * ratio };
        let product = self * Pair { re: 1.0, eps: -ratio };
        Pair { re: product.re / norm, eps: product.eps / norm }
    }
}

impl<const Q: i8> Neg for Pair<Q> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Pair { re: -self.re, eps: -self.eps }
    }
}

impl<const Q: i8> AddAssign for Pair<Q> {
    #[inline]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl<const Q: i8> Scalar for Pair<Q> {
    const PLANES: usize = 2;

    #[inline]
    fn new(re: f64, eps: f64) -> Self {
        Pair { re, eps }
    }
    #[inline]
    fn re(self) -> f64 {
        self.re
    }
    #[inline]
    fn eps(self) -> f64 {
        self.eps
    }
    fn exp(self) -> Self {
        let e = self.re.exp();
        if Q == 0 {
            Pair { re: e, eps: e * self.eps }
        } else {
            Pair { re: e * self.eps.cos(), eps: e * self.eps.sin() }
        }
    }
    fn ln(self) -> Self {
        if Q == 0 {
            Pair { re: self.re.ln(), eps: self.eps / self.re }
        } else {
            Pair { re: self.re.hypot(self.eps).ln(), eps: self.eps.atan2(self.re) }
        }
    }

    fn exp_rows(u: Slice<Self>, labels: usize, shift: &mut [f64], out: SliceMut<Self>) -> f64 {
        let spread = simd::exp_rows(u.re, labels, shift, out.re);
        if Q == 0 {
            simd::multiply(u.eps, out.re, out.eps); // d exp(u) = exp(u) du
        } else {
            for ((re, eps), angle) in out.re.iter_mut().zip(out.eps).zip(u.eps) {
                (*re, *eps) = (*re * angle.cos(), *re * angle.sin());
            }
        }
        spread
    }

    fn advance(a: Slice<Self>, m: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self {
        planes::advance(a, m, s, e, out)
    }
    fn weigh(x: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self {
        planes::weigh(x, s, e, out)
    }
    fn retreat(g: Slice<Self>, mt: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>) {
        planes::retreat(g, mt, s, e, weight, out)
    }
    fn retreat_last(beta: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>) {
        planes::retreat_last(beta, s, e, weight, out)
    }

    fn multiply(x: Slice<Self>, y: Slice<Self>, out: SliceMut<Self>) {
        for j in 0..out.re.len() {
            let z = x.at(j) * y.at(j);
            (out.re[j], out.eps[j]) = (z.re, z.eps);
        }
    }

    fn axpy(s: Self, x: Slice<Self>, out: SliceMut<Self>) {
        simd::axpy(s.re, x.re, out.re);
        simd::axpy(s.re, x.eps, out.eps);
        simd::axpy(s.eps, x.re, out.eps);
        if Q != 0 {
            simd::axpy(Q as f64 * s.eps, x.eps, out.re);
        }
    }

    fn outer_add(weight: f64, a: Slice<Self>, g: Slice<Self>, labels: usize, out: SliceMut<Self>) {
        simd::outer_add(weight, a.re, g.re, labels, out.re);
        simd::outer_add(weight, a.re, g.eps, labels, out.eps);
        simd::outer_add(weight, a.eps, g.re, labels, out.eps);
        if Q != 0 {
            simd::outer_add(weight * Q as f64, a.eps, g.eps, labels, out.re);
        }
    }

    fn tile_product(base: Self, x: Slice<Self>, tiles: TilePattern, d: Slice<Self>, out: SliceMut<Self>) {
        out.re.fill(base.re);
        out.eps.fill(base.eps);
        simd::tile_product(1.0, x.re, tiles, d.re, out.re);
        simd::tile_product(1.0, x.re, tiles, d.eps, out.eps);
        simd::tile_product(1.0, x.eps, tiles, d.re, out.eps);
        if Q != 0 {
            simd::tile_product(Q as f64, x.eps, tiles, d.eps, out.re);
        }
    }

    fn outer_add_tiles(
        weight: f64,
        a: Slice<Self>,
        g: Slice<Self>,
        stride: usize,
        tiles: TilePattern,
        sums: SliceMut<Self>,
    ) {
        simd::outer_add_tiles(weight, a.re, g.re, stride, tiles, sums.re);
        simd::outer_add_tiles(weight, a.re, g.eps, stride, tiles, sums.eps);
        simd::outer_add_tiles(weight, a.eps, g.re, stride, tiles, sums.eps);
        if Q != 0 {
            simd::outer_add_tiles(weight * Q as f64, a.eps, g.eps, stride, tiles, sums.re);
        }
    }
}
