//! The closed form of many PSA steps in which a weight feels only the prior.
//!
//! Such a step maps θ − mean to (1 − x)(θ − mean) with x = ηp. x is small, so powers of 1 − x need only a few terms
//! of a series. The arithmetic runs in vectors over the weights of a row or two.

use super::fours::{four, four_of, in_fours, put_four, put_four_of, with_known_length};
use super::psa::Weight;
use super::{Prior, Psa};
use crate::math::dispatch::dispatch;
use crate::math::series::{INVERSE_FACTORIALS, INVERSES, TERMS, exp_of, log_rate};
use crate::math::simd::{self, exp8};
use fearless_simd::{f64x4, f64x8, prelude::*};
use std::ops::Range;

/// The numbers of terms needed if ηp is as small as with ten thousand training sequences, or with one thousand.
const FEW: usize = 3;
const SOME: usize = 5;
/// The largest x and Nx for which these terms are exact.
const SMALL: f64 = 0.01;
const SMALL_IN_HALF_A_PERIOD: f64 = 0.1;
/// A decay over whole periods of at most e⁻⁰·¹ needs this many terms.
const SMALL_DECAY: f64 = 0.1;
const DECAY_TERMS: usize = 9;
/// The number of powers of α kept in a table.
const POWERS: u32 = 1024;
/// The number of parts that a list holds before it is processed.
const FULL: usize = 512;
/// The number of lists in a backlog for weights of one kind.
const LISTS: usize = 4;

/// The series for one method and one largest x.
pub(super) struct Series {
    alpha: f64,
    kappa: f64,
    /// [`Psa::factor`].
    factor: [f64; 2],
    /// N.
    half: u32,
    /// 1/2N.
    in_periods: f64,
    /// How many terms of each series are needed for full precision: [`FEW`], [`SOME`] or all.
    terms: usize,
    /// 2N/n/(1 − αⁿ).
    scales: [f64; TERMS],
    /// αᵏ.
    powers: Vec<f64>,
}

/// The weights and everything stored for them.
pub(super) struct At<'a> {
    pub prior: &'a Prior,
    /// p, for weights of single labels and of label pairs.
    pub pulls: [f64; 2],
    pub theta: &'a mut [f64],
    pub weights: &'a mut [Weight],
    pub backlog: &'a mut Backlog,
}

impl Series {
    /// `None` if a step with x = `largest` is too long for the series: the rate is below κ, or more than [`TERMS`]
    /// terms are needed.
    pub(super) fn new(method: &Psa, largest: f64) -> Option<Self> {
        let n = method.period as f64;
        let slow = (1.0 - method.kappa.powf(1.0 / n)).min(SMALL).min(SMALL_IN_HALF_A_PERIOD / n);
        if largest > slow || method.alpha == 1.0 {
            return None;
        }
        let scale = |k: usize| 2.0 * n * INVERSES[k] / (1.0 - method.alpha.powi(k as i32 + 1));
        let scales: [f64; TERMS] = std::array::from_fn(scale);
        // The first omitted terms: (Nx)ⁿ/n!, and that of any number of whole periods.
        let reaches = |terms: &usize| {
            let next = *terms as i32 + 1;
            (n * largest).powi(next) * INVERSE_FACTORIALS[terms + 1] < 1e-17
                && scales[*terms] * largest.powi(next) < 1e-15
        };
        let terms = [FEW, SOME].into_iter().find(reaches).unwrap_or(TERMS);
        Some(Series {
            alpha: method.alpha,
            kappa: method.kappa,
            factor: method.factor(),
            half: method.period as u32,
            in_periods: 0.5 / n,
            terms,
            scales,
            powers: (0..POWERS).map(|k| method.alpha.powi(k as i32)).collect(),
        })
    }

    /// αᵏ, the factor of k periods on the gain of a weight that creeps.
    #[inline(always)]
    fn shrink(&self, periods: u32) -> f64 {
        match self.powers.get(periods as usize) {
            Some(power) => *power,
            None => self.shrink_for_long(periods),
        }
    }

    /// Separate from [`Series::shrink`], because compilers would otherwise compute the power every time.
    #[cold]
    #[inline(never)]
    fn shrink_for_long(&self, periods: u32) -> f64 {
        self.alpha.powi(periods as i32)
    }

    /// Brings rows up to the state before step `done` (counted from 0). Each row is of one kind and comes with the
    /// number of steps for which it is up to date, at most `done`.
    pub(super) fn catch_up(&self, at: &mut At, rows: impl Iterator<Item = (Range<usize>, u32)>, done: u32) {
        let phase = done % (2 * self.half);
        let now = Now {
            done,
            phase,
            this_half: done - phase % self.half,
            this_period: done - phase,
            periods: done / (2 * self.half),
        };
        for (row, age) in rows {
            // What a row has missed cannot be predicted, so there is one list for each case, and no branch.
            let missed =
                u32::from(age < now.this_period) + u32::from(age < now.this_half) + u32::from(age < done);
            let list = LISTS * at.prior.kind(row.start) + missed as usize;
            for part in in_fours(row) {
                let (start, len) = (part.start as u32, part.len() as u32);
                at.backlog[list].push(Part { start, len, age });
                if at.backlog[list].len() == FULL {
                    self.work_off(at, list, &now);
                }
            }
        }
        for list in 0..at.backlog.len() {
            self.work_off(at, list, &now);
        }
    }

    /// Brings the weights of a list up to date and empties it. Apart from the rows, so that it is compiled once for each vector unit
    /// and number of terms.
    #[inline(never)]
    fn work_off(&self, at: &mut At, list: usize, now: &Now) {
        if at.backlog[list].is_empty() {
            return;
        }
        let (pull, mut parts) = (at.pulls[list / LISTS], std::mem::take(&mut at.backlog[list]));
        let missed = list % LISTS;
        dispatch!(simd::level(), simd => match self.terms {
            FEW => self.bring_up::<_, FEW>(simd, at, pull, (missed, &parts), now),
            SOME => self.bring_up::<_, SOME>(simd, at, pull, (missed, &parts), now),
            _ => self.bring_up::<_, TERMS>(simd, at, pull, (missed, &parts), now),
        });
        parts.clear();
        at.backlog[list] = parts;
    }

    /// Brings parts that have missed the same up to date, in T terms.
    #[inline(always)]
    fn bring_up<S: Simd, const T: usize>(
        &self,
        simd: S,
        at: &mut At,
        pull: f64,
        (missed, parts): (usize, &[Part]),
        now: &Now,
    ) {
        match missed {
            0 => {}
            1 => {
                for &part in parts {
                    at.decay::<S, T>(simd, pull, part, [0, now.done - part.age]);
                }
            }
            2 => {
                for &part in parts {
                    let steps = [now.this_half - part.age, now.done - now.this_half];
                    at.decay::<S, T>(simd, pull, part, steps);
                }
            }
            _ => {
                for pair in parts.chunks(2) {
                    let none = Part { age: pair[0].age, ..Part::default() };
                    self.make_up_two::<S, T>(simd, at, pull, [pair[0], *pair.get(1).unwrap_or(&none)], now);
                }
            }
        }
    }

    /// Brings two parts that have missed the end of a period up to date.
    #[inline(always)]
    fn make_up_two<S: Simd, const T: usize>(
        &self,
        simd: S,
        at: &mut At,
        pull: f64,
        [a, b]: [Part; 2],
        now: &Now,
    ) {
        let (x, y) = (at.take(simd, a), at.take(simd, b));
        let known = Known {
            off: x.off.combine(y.off),
            eta: x.eta.combine(y.eta),
            start: x.start.combine(y.start),
            middle: x.middle.combine(y.middle),
        };
        let ((left_a, shrink_a), (left_b, shrink_b)) = (self.missed(a, now), self.missed(b, now));
        let left = f64x4::splat(simd, left_a).combine(f64x4::splat(simd, left_b));
        let shrink = f64x4::splat(simd, shrink_a).combine(f64x4::splat(simd, shrink_b));
        let known = self.make_up::<S, T>(simd, known, [left, shrink], pull, now.phase);
        let (off, eta) = (known.off.split(), known.eta.split());
        let (start, middle) = (known.start.split(), known.middle.split());
        at.put(simd, a, Known { off: off.0, eta: eta.0, start: start.0, middle: middle.0 });
        at.put(simd, b, Known { off: off.1, eta: eta.1, start: start.1, middle: middle.1 });
    }

    /// The steps left in the period of the last touch, and αᵏ for the whole periods since then.
    #[inline(always)]
    fn missed(&self, part: Part, now: &Now) -> (f64, f64) {
        let period = 2 * self.half;
        // Division is slow. Adding half a step keeps rounding away from whole periods.
        let ended = ((f64::from(part.age) + 0.5) * self.in_periods) as u32 + 1;
        (f64::from(ended * period - part.age), self.shrink(now.periods - ended))
    }

    /// Brings weights, whose p is `pull`, to the step after `phase` steps of the present period, with T terms.
    ///
    /// First comes the rest of the period of the last touch, after which the gain changes by its rate. Then come k
    /// whole periods, each with a rate (1 − x)^N > κ and so with the factor α: the gains fall as η·αʲ, and ln Π_j (1
    /// − ηαʲp)^2N = −2N Σ_n (ηp)ⁿ/n · (1 − αⁿᵏ)/(1 − αⁿ). Then come the steps of the present period.
    #[inline(always)]
    fn make_up<S: Simd, const T: usize>(
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
        // A weight that does not move (0/0) keeps its gain, here and below.
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

/// The step up to which weights are brought, counted from 0, and its place in its period.
struct Now {
    done: u32,
    phase: u32,
    /// The number of steps before this half of the period and before the period, and the number of periods before it.
    this_half: u32,
    this_period: u32,
    periods: u32,
}

/// Up to four weights that are up to date after `age` steps.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    /// The first weight, and the number of weights.
    start: u32,
    len: u32,
    age: u32,
}

/// Lists of weights of single labels, then of label pairs. For each kind: weights that have missed nothing, only
/// steps of the present half of a period, the middle of the period, or the end of a period.
pub(super) type Backlog = [Vec<Part>; 2 * LISTS];

impl Part {
    #[inline(always)]
    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// Up to eight weights: θ − mean, and what is stored for them.
struct Known<V> {
    off: V,
    eta: V,
    start: V,
    middle: V,
}

impl At<'_> {
    /// Moves weights, whose p is `pull`, some steps to the middle of the period, if they are not past it, and then
    /// some more.
    #[inline(always)]
    fn decay<S: Simd, const T: usize>(
        &mut self,
        simd: S,
        pull: f64,
        part: Part,
        [to_middle, more]: [u32; 2],
    ) {
        let part = part.range();
        with_known_length!(part => {
            let (theta, weights) = (&mut self.theta[part.clone()], &mut self.weights[part.clone()]);
            let mean = self.prior.four_means(simd, part);
            let rate = log_rate::<S, _, T>(simd, four_of(simd, weights, |weight| weight.eta) * pull);
            let mut off = four(simd, theta) - mean;
            if to_middle > 0 {
                off *= exp_of::<S, _, T>(simd, rate * f64::from(to_middle));
                put_four_of(off, weights, |weight, off| weight.middle = off);
            }
            put_four(mean + off * exp_of::<S, _, T>(simd, rate * f64::from(more)), theta);
        })
    }

    /// Loads the weights of a part.
    #[inline(always)]
    fn take<S: Simd>(&self, simd: S, part: Part) -> Known<f64x4<S>> {
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

    /// Stores the weights of a part.
    #[inline(always)]
    fn put<S: Simd>(&mut self, simd: S, part: Part, known: Known<f64x4<S>>) {
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
