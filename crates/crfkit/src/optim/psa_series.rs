//! What many steps that see the prior alone do to weights of PSA, in closed form.
//!
//! Such a step takes θ − mean to (1 − x)(θ − mean) with x = ηp, and x is small: powers of 1 − x are a few terms of a series. The
//! arithmetic runs by vectors over the weights of many rows, side by side.

use super::fours::{four, four_of, in_fours, put_four, put_four_of, with_known_length};
use super::psa::Weight;
use super::{Prior, Psa};
use crate::math::simd::{self, exp8};
use fearless_simd::{dispatch, f64x4, f64x8, prelude::*};
use std::ops::Range;

/// Terms of series at most.
const TERMS: usize = 12;
/// As many do where ηp is as small as in large data.
const FEW: usize = 3;
/// x and Nx up to which they are exact.
const SMALL: f64 = 0.01;
const SMALL_IN_HALF_A_PERIOD: f64 = 0.1;
/// A decay over whole periods of at most e⁻⁰·¹ takes so many terms.
const SMALL_DECAY: f64 = 0.1;
const DECAY_TERMS: usize = 9;
/// Powers of α that stand in a table.
const POWERS: u32 = 1024;
/// So many parts are made up for at once: their weights stay in the nearest cache.
const FULL: usize = 512;

/// 1/n.
const INVERSES: [f64; TERMS] = {
    let mut inverses = [1.0; TERMS];
    let mut n = 1;
    while n < TERMS {
        inverses[n] = 1.0 / (n + 1) as f64;
        n += 1;
    }
    inverses
};

/// 1/n!.
const INVERSE_FACTORIALS: [f64; TERMS + 1] = {
    let mut inverses = [1.0; TERMS + 1];
    let mut n = 1;
    while n <= TERMS {
        inverses[n] = inverses[n - 1] / n as f64;
        n += 1;
    }
    inverses
};

/// The series of one method and one largest x.
pub(super) struct Series {
    alpha: f64,
    kappa: f64,
    /// [`Psa::factor`].
    factor: [f64; 2],
    /// N.
    half: u32,
    /// How many terms of each reach the last bit: [`FEW`] or all.
    few: bool,
    /// 2N/n/(1 − αⁿ).
    scales: [f64; TERMS],
    /// αᵏ.
    powers: Vec<f64>,
}

/// The weights and all that is known of them.
pub(super) struct At<'a> {
    pub prior: &'a Prior,
    /// p, for weights of single labels and of label pairs.
    pub pulls: [f64; 2],
    pub theta: &'a mut [f64],
    pub weights: &'a mut [Weight],
    pub late: &'a mut [Vec<Late>; 2],
}

impl Series {
    /// `None` if a step with x = `largest` is too long for series: rate below κ, or more terms than there are.
    pub fn new(method: &Psa, largest: f64) -> Option<Self> {
        let n = method.period as f64;
        let slow = (1.0 - method.kappa.powf(1.0 / n)).min(SMALL).min(SMALL_IN_HALF_A_PERIOD / n);
        if largest > slow || method.alpha == 1.0 {
            return None;
        }
        let scale = |k: usize| 2.0 * n * INVERSES[k] / (1.0 - method.alpha.powi(k as i32 + 1));
        let scales: [f64; TERMS] = std::array::from_fn(scale);
        // The first terms that are left out: (Nx)⁴/4! and that of whole periods, however many.
        let next = FEW as i32 + 1;
        let few = (n * largest).powi(next) / 24.0 < 1e-17 && scales[FEW] * largest.powi(next) < 1e-15;
        Some(Series {
            alpha: method.alpha,
            kappa: method.kappa,
            factor: method.factor(),
            half: method.period as u32,
            few,
            scales,
            powers: (0..POWERS).map(|k| method.alpha.powi(k as i32)).collect(),
        })
    }

    /// αᵏ, what k periods make of the gain of a weight that creeps.
    #[inline(always)]
    fn shrink(&self, periods: u32) -> f64 {
        match self.powers.get(periods as usize) {
            Some(power) => *power,
            None => self.shrink_for_long(periods),
        }
    }

    /// Apart from [`Series::shrink`], or compilers would take the power every time, needed or not.
    #[cold]
    #[inline(never)]
    fn shrink_for_long(&self, periods: u32) -> f64 {
        self.alpha.powi(periods as i32)
    }

    /// Brings rows, each of one kind and up to date after so many steps, fewer than `done`, to the state before step `done`
    /// (counted from 0).
    pub fn catch_up(&self, at: &mut At, rows: impl Iterator<Item = (Range<usize>, u32)>, done: u32) {
        dispatch!(simd::level(), simd => match self.few {
            true => self.catch_up_by::<_, FEW>(simd, at, rows, done),
            false => self.catch_up_by::<_, TERMS>(simd, at, rows, done),
        });
    }

    /// The same in T terms.
    #[inline(always)]
    fn catch_up_by<S: Simd, const T: usize>(
        &self,
        simd: S,
        at: &mut At,
        rows: impl Iterator<Item = (Range<usize>, u32)>,
        done: u32,
    ) {
        let period = 2 * self.half;
        let (periods, phase) = (done / period, done % period);
        let (this_period, this_half) = (done - phase, done - phase % self.half);
        let in_periods = 1.0 / f64::from(period);
        for (row, age) in rows {
            let kind = at.prior.kind(row.start);
            if age < this_period {
                // Division is slow; half a step more keeps rounding away from whole periods.
                let ended = ((f64::from(age) + 0.5) * in_periods) as u32 + 1;
                let left = ended * period - age;
                let shrink = self.shrink(periods - ended);
                for part in in_fours(row) {
                    let (start, len) = (part.start as u32, part.len() as u32);
                    at.late[kind].push(Late { start, len, left: left.into(), shrink });
                }
                if at.late[kind].len() >= FULL {
                    self.make_up::<S, T>(simd, at, kind, phase);
                }
            } else if age < this_half {
                at.decay::<S, T>(simd, kind, row, [this_half - age, done - this_half]);
            } else {
                at.decay::<S, T>(simd, kind, row, [0, done - age]);
            }
        }
        for kind in 0..2 {
            self.make_up::<S, T>(simd, at, kind, phase);
        }
    }

    /// Brings the late weights of a kind to the step after `phase` steps of the present period, and forgets them.
    #[inline(always)]
    fn make_up<S: Simd, const T: usize>(&self, simd: S, at: &mut At, kind: usize, phase: u32) {
        let late = std::mem::take(&mut at.late[kind]);
        for parts in late.chunks(2) {
            let [a, b] = [parts[0], parts.get(1).copied().unwrap_or_default()];
            let (x, y) = (at.take(simd, a), at.take(simd, b));
            let known = Known {
                off: x.off.combine(y.off),
                eta: x.eta.combine(y.eta),
                start: x.start.combine(y.start),
                middle: x.middle.combine(y.middle),
            };
            let left = f64x4::splat(simd, a.left).combine(f64x4::splat(simd, b.left));
            let shrink = f64x4::splat(simd, a.shrink).combine(f64x4::splat(simd, b.shrink));
            let known = self.make_up_late::<S, T>(simd, known, [left, shrink], at.pulls[kind], phase);
            let (off, eta) = (known.off.split(), known.eta.split());
            let (start, middle) = (known.start.split(), known.middle.split());
            at.put(simd, a, Known { off: off.0, eta: eta.0, start: start.0, middle: middle.0 });
            at.put(simd, b, Known { off: off.1, eta: eta.1, start: start.1, middle: middle.1 });
        }
        at.late[kind] = late;
        at.late[kind].clear();
    }

    /// Brings weights, whose p is `pull`, to the step after `phase` steps of the present period, in T terms.
    ///
    /// First what is left of the period of the last touch, and the gain by its rate. Then k whole periods,
    /// each of rate (1 − x)^N > κ and so of factor α: the gains fall as η·αʲ, and
    /// ln Π_j (1 − ηαʲp)^2N = −2N Σ_n (ηp)ⁿ/n · (1 − αⁿᵏ)/(1 − αⁿ). Then the steps of the present period.
    #[inline(always)]
    fn make_up_late<S: Simd, const T: usize>(
        &self,
        simd: S,
        known: Known<f64x8<S>>,
        [left, shrink]: [f64x8<S>; 2],
        pull: f64,
        phase: u32,
    ) -> Known<f64x8<S>> {
        let &Series { factor: [centre, slope], kappa, half, scales, .. } = self;
        let (zero, one) = (f64x8::splat(simd, 0.0), f64x8::splat(simd, 1.0));
        let Known { eta, start, .. } = known;
        let second = left.min(f64x8::splat(simd, half.into()));
        let first = left - second;
        let rate = log_rate::<S, _, T>(simd, eta * pull);
        let before = known.off * exp_of::<S, _, T>(simd, first * rate); // all of it where `first` is 0
        let middle = first.simd_gt(zero).select(before, known.middle);
        let end = before * exp_of::<S, _, T>(simd, second * rate);
        let gamma = (end - middle) / (middle - start);
        let u = gamma.max(f64x8::splat(simd, -kappa)).min(f64x8::splat(simd, kappa));
        // What does not move (0/0) keeps its gain, here and below.
        let eta = gamma.simd_eq(gamma).select(eta * (u * slope + centre), eta);
        let x = eta * pull;
        // (1 − αⁿᵏ)/(1 − αᵏ) = 1 + αᵏ + … + α⁽ⁿ⁻¹⁾ᵏ.
        let (mut shares, mut share) = ([zero; T], one);
        for n in 0..T {
            shares[n] = share * scales[n];
            share = share.mul_add(shrink, one);
        }
        let mut ln = shares[T - 1];
        for n in (0..T - 1).rev() {
            ln = ln.mul_add(x, shares[n]);
        }
        let ln = ln * x * (shrink - 1.0);
        let eta = (end * pull).simd_eq(zero).select(eta, eta * shrink);
        let start = end
            * match ln.simd_lt(-SMALL_DECAY).any_true() {
                true => exp8(simd, ln),
                false => exp_of::<S, _, DECAY_TERMS>(simd, ln),
            };
        let rate = log_rate::<S, _, T>(simd, eta * pull);
        let mut middle = start; // of no meaning before the middle
        let mut off = start * exp_of::<S, _, T>(simd, rate * f64::from(phase.min(half)));
        if phase >= half {
            middle = off;
            off *= exp_of::<S, _, T>(simd, rate * f64::from(phase - half));
        }
        Known { off, eta, start, middle }
    }
}

/// ln(1 − x) = −(x + x²/2 + …) in T terms.
#[inline(always)]
fn log_rate<S: Simd, V: SimdFloat<S, Element = f64>, const T: usize>(simd: S, x: V) -> V {
    let mut sum = V::splat(simd, -INVERSES[T - 1]);
    // Loops and no closures in here: those would be compiled for another vector unit.
    for n in (0..T - 1).rev() {
        sum = sum.mul_add(x, V::splat(simd, -INVERSES[n]));
    }
    sum * x
}

/// eᶻ = 1 + z + z²/2 + … in T terms after the first.
#[inline(always)]
fn exp_of<S: Simd, V: SimdFloat<S, Element = f64>, const T: usize>(simd: S, z: V) -> V {
    let mut sum = V::splat(simd, INVERSE_FACTORIALS[T]);
    for n in (0..T).rev() {
        sum = sum.mul_add(z, V::splat(simd, INVERSE_FACTORIALS[n]));
    }
    sum
}

/// Up to four weights that have missed the end of a period.
#[derive(Clone, Copy, Default)]
pub(super) struct Late {
    /// The first one, and how many.
    start: u32,
    len: u32,
    /// Steps left of the period of the last touch; αᵏ for the whole periods since.
    left: f64,
    shrink: f64,
}

impl Late {
    #[inline(always)]
    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// Up to eight weights, side by side: θ − mean, and what is known of them.
struct Known<V> {
    off: V,
    eta: V,
    start: V,
    middle: V,
}

impl At<'_> {
    /// Brings a row of a kind over some steps to the middle of the period, if it is not past it, and some more.
    #[inline(always)]
    fn decay<S: Simd, const T: usize>(
        &mut self,
        simd: S,
        kind: usize,
        row: Range<usize>,
        [to_middle, more]: [u32; 2],
    ) {
        for part in in_fours(row) {
            with_known_length!(part => {
                let (theta, weights) = (&mut self.theta[part.clone()], &mut self.weights[part.clone()]);
                let mean = self.prior.four_means(simd, part);
                let x = four_of(simd, weights, |weight| weight.eta) * self.pulls[kind];
                let rate = log_rate::<S, _, T>(simd, x);
                let mut off = four(simd, theta) - mean;
                if to_middle > 0 {
                    off *= exp_of::<S, _, T>(simd, rate * f64::from(to_middle));
                    put_four_of(off, weights, |weight, off| weight.middle = off);
                }
                put_four(mean + off * exp_of::<S, _, T>(simd, rate * f64::from(more)), theta);
            })
        }
    }

    /// The weights of a part.
    #[inline(always)]
    fn take<S: Simd>(&self, simd: S, part: Late) -> Known<f64x4<S>> {
        let part = part.range();
        with_known_length!(part => {
            let weights = &self.weights[part.clone()];
            Known {
                off: four(simd, &self.theta[part.clone()]) - self.prior.four_means(simd, part),
                eta: four_of(simd, weights, |weight| weight.eta),
                start: four_of(simd, weights, |weight| weight.start),
                middle: four_of(simd, weights, |weight| weight.middle),
            }
        })
    }

    /// Writes the weights of a part back.
    #[inline(always)]
    fn put<S: Simd>(&mut self, simd: S, part: Late, known: Known<f64x4<S>>) {
        let part = part.range();
        with_known_length!(part => {
            let weights = &mut self.weights[part.clone()];
            put_four_of(known.eta, weights, |weight, eta| weight.eta = eta);
            put_four_of(known.start, weights, |weight, start| weight.start = start);
            put_four_of(known.middle, weights, |weight, middle| weight.middle = middle);
            put_four(self.prior.four_means(simd, part.clone()) + known.off, &mut self.theta[part]);
        })
    }
}
