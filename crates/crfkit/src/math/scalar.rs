//! The number types that inference and losses are generic over.

use super::array::{Slice, SliceMut};
use super::simd;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number x = re + ε·eps. Code written over `Scalar` gives values and gradients at `f64` (no ε). At [`super::Dual`]
/// (ε² = 0) the same code also gives the exact derivative in one direction. At [`super::Complex64`] (ε² = −1) it is
/// the complex-step method (smd-crf-2006 eq. 12).
///
/// Rules for such code: never take min, max, abs or a comparison of an `S`. Compare `re`, and shift by real
/// constants.
///
/// The slice kernels work on planes. `stride` is the padded row length, always a multiple of [`simd::LANES`].
pub trait Scalar:
    Copy
    + Debug
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    /// The number of planes: 1 for real numbers, 2 if there is an ε part.
    const PLANES: usize;

    /// Makes re + ε·eps; a real type ignores `eps`.
    fn new(re: f64, eps: f64) -> Self;
    /// The real part.
    fn re(self) -> f64;
    /// The ε part, 0 for `f64`.
    fn eps(self) -> f64;
    /// Exponential.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;

    /// Turns a real constant into a scalar.
    fn lift(re: f64) -> Self {
        Self::new(re, 0.0)
    }

    /// For each row r of `u` `[rows][stride]`: `shift[r]` = max re, out = exp(u − `shift[r]`). Lanes from `labels` on
    /// are padding: they hold [`simd::PAD`] and become 0. Returns the largest spread max − min of any row.
    #[doc(hidden)]
    fn exp_rows(u: Slice<Self>, labels: usize, shift: &mut [f64], out: SliceMut<Self>) -> f64;

    /// One forward step: out ← s·(a M) ∘ e with `m` = M `[a.len][stride]`. Overwrites `out` and returns Σ out.
    #[doc(hidden)]
    fn advance(a: Slice<Self>, m: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self;

    /// Like [`Self::advance`], with the product a M = `x` already computed.
    #[doc(hidden)]
    fn weigh(x: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self;

    /// One backward step at a position with β = g Mᵀ (`mt` = Mᵀ). With s the inverse of the position's scale: α ←
    /// s·α, γ ← s·β ∘ e, μ ← weight·α ∘ β. Overwrites all three.
    #[doc(hidden)]
    fn retreat(g: Slice<Self>, mt: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>);

    /// Like [`Self::retreat`], with β given. This is for the last position, which has no successor.
    #[doc(hidden)]
    fn retreat_last(beta: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>);

    /// out ← x ∘ y.
    #[doc(hidden)]
    fn multiply(x: Slice<Self>, y: Slice<Self>, out: SliceMut<Self>);

    /// out ← out + s·x.
    #[doc(hidden)]
    fn axpy(s: Self, x: Slice<Self>, out: SliceMut<Self>);

    /// `out[i][j] += weight · Σ_t a[t][i] · g[t][j]`, for i below `labels`: a sum of outer products.
    #[doc(hidden)]
    fn outer_add(weight: f64, a: Slice<Self>, g: Slice<Self>, labels: usize, out: SliceMut<Self>);

    /// `out[v] ← base + Σ x[across]·d[tile]` over the tiles of vector v.
    #[doc(hidden)]
    fn tile_product(base: Self, x: Slice<Self>, tiles: TilePattern, d: Slice<Self>, out: SliceMut<Self>);

    /// `sums[tile] += weight · Σ_t a[t][across] · g[t][v]` for each tile of vector v, with rows of length `stride`.
    #[doc(hidden)]
    fn outer_add_tiles(
        weight: f64,
        a: Slice<Self>,
        g: Slice<Self>,
        stride: usize,
        tiles: TilePattern,
        sums: SliceMut<Self>,
    );
}

/// log Σ exp, shifted by the largest real part.
pub(crate) fn log_sum_exp<S: Scalar>(n: usize, x: impl Fn(usize) -> S) -> S {
    let max = (0..n).map(|i| x(i).re()).fold(f64::NEG_INFINITY, f64::max);
    let mut sum = S::lift(0.0);
    for i in 0..n {
        sum += (x(i) - S::lift(max)).exp();
    }
    S::lift(max) + sum.ln()
}

/// Where the tiles are: the first tile of each vector of the result, and for each tile the element of the operand
/// that it multiplies.
pub type TilePattern<'a> = (&'a [u32], &'a [u32]);

/// The rows that a backward step writes.
#[derive(Debug)]
pub struct Retreat<'a, S> {
    /// α of the position; it is read, then scaled in place.
    pub alpha: SliceMut<'a, S>,
    /// γ = s·β ∘ e of the position.
    pub gamma: SliceMut<'a, S>,
    /// The weighted marginals of the position.
    pub mu: SliceMut<'a, S>,
}

impl Scalar for f64 {
    const PLANES: usize = 1;

    #[inline]
    fn new(re: f64, _eps: f64) -> Self {
        re
    }
    #[inline]
    fn re(self) -> f64 {
        self
    }
    #[inline]
    fn eps(self) -> f64 {
        0.0
    }
    #[inline]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline]
    fn ln(self) -> Self {
        f64::ln(self)
    }

    fn exp_rows(u: Slice<Self>, labels: usize, shift: &mut [f64], out: SliceMut<Self>) -> f64 {
        simd::exp_rows(u.re, labels, shift, out.re)
    }
    fn advance(a: Slice<Self>, m: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self {
        simd::advance(a.re, m.re, s, e.re, out.re)
    }
    fn weigh(x: Slice<Self>, s: Self, e: Slice<Self>, out: SliceMut<Self>) -> Self {
        simd::weigh(x.re, s, e.re, out.re)
    }
    fn retreat(g: Slice<Self>, mt: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>) {
        simd::retreat(g.re, mt.re, [s, weight], e.re, out.alpha.re, out.gamma.re, out.mu.re)
    }
    fn retreat_last(beta: Slice<Self>, s: Self, e: Slice<Self>, weight: f64, out: Retreat<Self>) {
        simd::retreat_last(beta.re, [s, weight], e.re, out.alpha.re, out.gamma.re, out.mu.re)
    }
    fn multiply(x: Slice<Self>, y: Slice<Self>, out: SliceMut<Self>) {
        simd::multiply(x.re, y.re, out.re)
    }
    fn axpy(s: Self, x: Slice<Self>, out: SliceMut<Self>) {
        simd::axpy(s, x.re, out.re)
    }
    fn outer_add(weight: f64, a: Slice<Self>, g: Slice<Self>, labels: usize, out: SliceMut<Self>) {
        simd::outer_add(weight, a.re, g.re, labels, out.re)
    }
    fn tile_product(base: Self, x: Slice<Self>, tiles: TilePattern, d: Slice<Self>, out: SliceMut<Self>) {
        out.re.fill(base);
        simd::tile_product(1.0, x.re, tiles, d.re, out.re)
    }
    fn outer_add_tiles(
        weight: f64,
        a: Slice<Self>,
        g: Slice<Self>,
        stride: usize,
        tiles: TilePattern,
        sums: SliceMut<Self>,
    ) {
        simd::outer_add_tiles(weight, a.re, g.re, stride, tiles, sums.re)
    }
}
