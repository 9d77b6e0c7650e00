//! What many steps that see the prior alone do to weights of PSA, in closed form.
//!
//! Such a step takes θ − mean to (1 − x)(θ − mean) with x = ηp, and x is small: powers of 1 − x are a few terms of a series. The
//! arithmetic runs by vectors over the weights of many rows, side by side.

use super::fours::{FOUR, four, four_of, in_fours, put_four, put_four_of};
use super::psa::Weight;
use super::{Prior, Psa};
use crate::math::simd::{self, LANES, exp8, load, store};
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
/// Numbers in a vector of [`Late`] from which on they are made up for: all of them stay in the nearest cache.
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
    pub late: &'a mut [Late; 2],
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
                at.add_late(simd, kind, row, [left.into(), self.shrink(periods - ended)]);
                if at.late[kind].len >= FULL {
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

    /// Brings the late rows of a kind to the step after `phase` steps of the present period.
    #[inline(always)]
    fn make_up<S: Simd, const T: usize>(&self, simd: S, at: &mut At, kind: usize, phase: u32) {
        let pull = at.pulls[kind];
        self.make_up_late::<S, T>(simd, &mut at.late[kind], pull, phase);
        at.finish_late(simd, kind);
    }

    /// Brings all weights of `late`, whose p is `pull`, to the step after `phase` steps of the present period, in T terms.
    ///
    /// First what is left of the period of the last touch, and the gain by its rate. Then k whole periods,
    /// each of rate (1 − x)^N > κ and so of factor α: the gains fall as η·αʲ, and
    /// ln Π_j (1 − ηαʲp)^2N = −2N Σ_n (ηp)ⁿ/n · (1 − αⁿᵏ)/(1 − αⁿ). Then the steps of the present period.
    #[inline(always)]
    fn make_up_late<S: Simd, const T: usize>(&self, simd: S, late: &mut Late, pull: f64, phase: u32) {
        let &Series { factor: [centre, slope], kappa, half, scales, .. } = self;
        let (zero, one) = (f64x8::splat(simd, 0.0), f64x8::splat(simd, 1.0));
        for v in 0..late.len.div_ceil(LANES) {
            let (eta, start) = (load(simd, &late.eta, v), load(simd, &late.start, v));
            let (left, shrink) = (load(simd, &late.left, v), load(simd, &late.shrink, v));
            let second = left.min(f64x8::splat(simd, half.into()));
            let first = left - second;
            let rate = log_rate::<S, _, T>(simd, eta * pull);
            let before = load(simd, &late.off, v) * exp_of::<S, _, T>(simd, first * rate); // all of it where `first` is 0
            let middle = first.simd_gt(zero).select(before, load(simd, &late.middle, v));
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
            store(eta, &mut late.eta, v);
            store(start, &mut late.start, v);
            store(middle, &mut late.middle, v);
            store(off, &mut late.off, v);
        }
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

/// Rows that have missed the end of a period, their weights side by side, each row filled up to a multiple of [`FOUR`].
#[derive(Default)]
pub(super) struct Late {
    rows: Vec<Range<usize>>,
    /// Numbers in use; the vectors are longer, up to whole vectors of the processor.
    len: usize,
    /// θ − mean.
    off: Vec<f64>,
    eta: Vec<f64>,
    start: Vec<f64>,
    middle: Vec<f64>,
    /// Steps left of the period of the last touch; αᵏ for the whole periods since.
    left: Vec<f64>,
    shrink: Vec<f64>,
}

impl Late {
    /// Makes room for `more` numbers; returns where it starts.
    #[inline(always)]
    fn grow(&mut self, more: usize) -> usize {
        let start = self.len;
        self.len += more;
        if self.off.len() < self.len {
            let len = 2 * self.len.next_multiple_of(LANES);
            let Late { off, eta, start, middle, left, shrink, .. } = self;
            for vector in [off, eta, start, middle, left, shrink] {
                vector.resize(len, 0.0);
            }
        }
        start
    }
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
        }
    }

    /// Takes a row to the late ones of a kind.
    #[inline(always)]
    fn add_late<S: Simd>(&mut self, simd: S, kind: usize, row: Range<usize>, [left, shrink]: [f64; 2]) {
        let late = &mut self.late[kind];
        let mut place = late.grow(row.len().next_multiple_of(FOUR));
        for part in in_fours(row.clone()) {
            let (theta, weights) = (&self.theta[part.clone()], &self.weights[part.clone()]);
            let to = place..place + FOUR;
            place = to.end;
            let off = four(simd, theta) - self.prior.four_means(simd, part);
            off.store_slice(&mut late.off[to.clone()]);
            four_of(simd, weights, |weight| weight.eta).store_slice(&mut late.eta[to.clone()]);
            four_of(simd, weights, |weight| weight.start).store_slice(&mut late.start[to.clone()]);
            four_of(simd, weights, |weight| weight.middle).store_slice(&mut late.middle[to.clone()]);
            f64x4::splat(simd, left).store_slice(&mut late.left[to.clone()]);
            f64x4::splat(simd, shrink).store_slice(&mut late.shrink[to]);
        }
        late.rows.push(row);
    }

    /// Writes the late rows of a kind back to where they were taken, and forgets them.
    #[inline(always)]
    fn finish_late<S: Simd>(&mut self, simd: S, kind: usize) {
        let late = &mut self.late[kind];
        let mut place = 0;
        for row in late.rows.drain(..) {
            for part in in_fours(row) {
                let (theta, weights) = (&mut self.theta[part.clone()], &mut self.weights[part.clone()]);
                let from = place..place + FOUR;
                place = from.end;
                let off = f64x4::from_slice(simd, &late.off[from.clone()]);
                put_four(self.prior.four_means(simd, part) + off, theta);
                put_four_of(f64x4::from_slice(simd, &late.eta[from.clone()]), weights, |weight, x| {
                    weight.eta = x
                });
                put_four_of(f64x4::from_slice(simd, &late.start[from.clone()]), weights, |weight, x| {
                    weight.start = x
                });
                put_four_of(f64x4::from_slice(simd, &late.middle[from]), weights, |weight, x| {
                    weight.middle = x
                });
            }
        }
        late.len = 0;
    }
}
