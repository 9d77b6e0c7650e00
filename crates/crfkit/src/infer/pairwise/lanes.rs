//! The messages of a pair of variables with at most eight labels. Each row is one vector, and everything stays in
//! registers.
//!
//! Do not use closures over vectors here: they would be compiled for the lowest vector unit.

use crate::infer::settle::Settling;
use crate::math::simd::LANES;
use crate::math::{Array, Scalar, Slice, SliceMut};
use fearless_simd::{f64x8, prelude::*};
use std::marker::PhantomData;

/// Eight numbers of type `S` on vector unit `V`: real parts and ε parts.
#[derive(Clone, Copy)]
pub(super) struct Row<V: Simd, S> {
    re: f64x8<V>,
    eps: f64x8<V>,
    kind: PhantomData<S>,
}

impl<V: Simd, S: Scalar> Row<V, S> {
    #[inline(always)]
    fn new(re: f64x8<V>, eps: f64x8<V>) -> Self {
        Row { re, eps, kind: PhantomData }
    }

    #[inline(always)]
    pub(super) fn load(unit: V, x: Slice<S>) -> Self {
        let re = f64x8::from_slice(unit, &x.re[..LANES]);
        let eps =
            if S::PLANES == 2 { f64x8::from_slice(unit, &x.eps[..LANES]) } else { f64x8::splat(unit, 0.0) };
        Row::new(re, eps)
    }

    #[inline(always)]
    pub(super) fn store(self, out: SliceMut<S>) {
        self.re.store_slice(&mut out.re[..LANES]);
        if S::PLANES == 2 {
            self.eps.store_slice(&mut out.eps[..LANES]);
        }
    }

    /// The numbers at eight places.
    #[inline(always)]
    pub(super) fn gather(unit: V, x: &Array<S>, at: &[u32]) -> Self {
        let (mut re, mut eps) = ([0.0; LANES], [0.0; LANES]);
        for (lane, &at) in at[..LANES].iter().enumerate() {
            re[lane] = x.plane(0)[at as usize];
            if S::PLANES == 2 {
                eps[lane] = x.plane(1)[at as usize];
            }
        }
        Row::new(f64x8::load_array(unit, re), f64x8::load_array(unit, eps))
    }

    /// The same number eight times.
    #[inline(always)]
    pub(super) fn splat(unit: V, x: S) -> Self {
        Row::new(f64x8::splat(unit, x.re()), f64x8::splat(unit, x.eps()))
    }

    /// self + other.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Row::new(self.re + other.re, self.eps + other.eps)
    }

    /// self·other + sum.
    #[inline(always)]
    pub(super) fn mul_add(self, other: Self, sum: Self) -> Self {
        if S::PLANES == 1 {
            return Row::new(self.re.mul_add(other.re, sum.re), sum.eps);
        }
        let eps = self.eps.mul_add(other.re, self.re.mul_add(other.eps, sum.eps));
        Row::new(self.re.mul_add(other.re, sum.re) + self.eps * other.eps * square::<S>(), eps)
    }

    /// self·other.
    #[inline(always)]
    pub(super) fn times(self, unit: V, other: Self) -> Self {
        self.mul_add(other, Row::splat(unit, S::lift(0.0)))
    }

    /// self / other, computed like the division of [`crate::math::Pair`].
    #[inline(always)]
    pub(super) fn over(self, unit: V, other: Self) -> Self {
        if S::PLANES == 1 {
            return Row::new(self.re / other.re, self.eps);
        }
        let ratio = other.eps / other.re;
        let norm = other.re - other.eps * ratio * square::<S>();
        let product = self.times(unit, Row::new(f64x8::splat(unit, 1.0), ratio * -1.0));
        Row::new(product.re / norm, product.eps / norm)
    }

    /// The shares of two labels with these odds.
    #[inline(always)]
    pub(super) fn shares(self, unit: V) -> [Self; 2] {
        let one = Row::splat(unit, S::lift(1.0));
        let first = one.over(unit, self.plus(one));
        [first, self.times(unit, first)]
    }

    #[inline(always)]
    fn sum(self) -> S {
        S::new(self.re.reduce_sum(), if S::PLANES == 2 { self.eps.reduce_sum() } else { 0.0 })
    }

    /// q M for `labels` rows of M. Even and odd rows are summed separately, to hide the latency of multiply-add.
    #[inline(always)]
    pub(super) fn product(self, unit: V, labels: usize, m: &Slice<S>) -> Self {
        let (mut re, mut eps) = ([0.0; LANES], [0.0; LANES]);
        self.re.store_slice(&mut re);
        if S::PLANES == 2 {
            self.eps.store_slice(&mut eps);
        }
        let zero = Row::splat(unit, S::lift(0.0));
        let (mut even, mut odd) = (zero, zero);
        let mut i = 0;
        while i + 1 < labels.min(LANES) {
            let q =
                [Row::splat(unit, S::new(re[i], eps[i])), Row::splat(unit, S::new(re[i + 1], eps[i + 1]))];
            even = q[0].mul_add(Row::load(unit, m.part(i * LANES..(i + 1) * LANES)), even);
            odd = q[1].mul_add(Row::load(unit, m.part((i + 1) * LANES..(i + 2) * LANES)), odd);
            i += 2;
        }
        if i < labels.min(LANES) {
            let q = Row::splat(unit, S::new(re[i], eps[i]));
            even = q.mul_add(Row::load(unit, m.part(i * LANES..(i + 1) * LANES)), even);
        }
        Row::new(even.re + odd.re, even.eps + odd.eps)
    }

    /// q M for M = `base` everywhere plus `gain` on the diagonal.
    #[inline(always)]
    pub(super) fn potts_product(self, unit: V, base: S, gain: S) -> Self {
        self.mul_add(Row::splat(unit, gain), Row::splat(unit, base * self.sum()))
    }
}

/// ε².
#[inline(always)]
fn square<S: Scalar>() -> f64 {
    let epsilon = S::new(0.0, 1.0);
    (epsilon * epsilon).re()
}

/// The state for computing messages: labels in use, the share of the old message, and how far messages are from
/// convergence.
pub(super) struct Mix<V: Simd> {
    /// For each number of labels: 1 for labels in use, 0 for padding.
    used: [f64x8<V>; LANES + 1],
    damping: f64,
    /// By how much changes exceed the tolerance.
    excess: f64x8<V>,
}

impl<V: Simd> Mix<V> {
    #[inline(always)]
    pub(super) fn new(unit: V, damping: f64) -> Self {
        let mut used = [f64x8::splat(unit, 1.0); LANES + 1];
        for card in 0..LANES {
            let mut row = [1.0; LANES];
            row[card..].fill(0.0);
            used[card] = f64x8::load_array(unit, row);
        }
        Mix { used, damping, excess: f64x8::splat(unit, f64::NEG_INFINITY) }
    }

    /// The new message, with mean 1 over `card` labels and 1 in the padding.
    #[inline(always)]
    pub(super) fn message<S: Scalar>(
        &mut self,
        unit: V,
        fresh: Row<V, S>,
        old: Row<V, S>,
        card: usize,
        settling: &Settling,
    ) -> Row<V, S> {
        let used = self.used[card];
        let fresh = Row::new(fresh.re * used, fresh.eps * used);
        let scale = Row::splat(unit, S::lift((1.0 - self.damping) * card as f64) / fresh.sum());
        // The padding holds 1 already: the damped old value contributes its share, and this adds the rest.
        let padding = Row::new((used * -1.0 + 1.0) * (1.0 - self.damping), f64x8::splat(unit, 0.0));
        self.damp(unit, fresh.mul_add(scale, padding), old, settling)
    }

    /// The new messages of eight pairs to variables with two labels, with mean 1.
    #[inline(always)]
    pub(super) fn binary<S: Scalar>(
        &mut self,
        unit: V,
        fresh: [Row<V, S>; 2],
        old: [Row<V, S>; 2],
        settling: &Settling,
    ) -> [Row<V, S>; 2] {
        let share = Row::splat(unit, S::lift((1.0 - self.damping) * 2.0));
        let scale = share.over(unit, fresh[0].plus(fresh[1]));
        let first = self.damp(unit, fresh[0].times(unit, scale), old[0], settling);
        [first, self.damp(unit, fresh[1].times(unit, scale), old[1], settling)]
    }

    /// Adds the share of the old message to that of the new one.
    #[inline(always)]
    fn damp<S: Scalar>(&mut self, unit: V, new: Row<V, S>, old: Row<V, S>, settling: &Settling) -> Row<V, S> {
        let new = Row::new(
            old.re.mul_add(f64x8::splat(unit, self.damping), new.re),
            old.eps.mul_add(f64x8::splat(unit, self.damping), new.eps),
        );
        let excess = (new.re - old.re).abs() - new.re * settling.tolerance;
        self.excess = self.excess.max(excess);
        if S::PLANES == 2 {
            let scale = new.re * settling.direction + new.eps.abs();
            self.excess = self.excess.max((new.eps - old.eps).abs() - scale * settling.tolerance);
        }
        new
    }

    /// Reports to `settling` by how much the changes exceed the tolerance.
    #[inline(always)]
    pub(super) fn finish(self, settling: &mut Settling) {
        settling.note(self.excess.reduce_max());
    }
}
