//! What many steps that see the prior alone do to weights of PSA, in closed form.
//!
//! Such a step takes θ − mean to (1 − x)(θ − mean) with x = ηp, and x is small: powers of 1 − x are a few terms of a series. The
//! arithmetic runs by vectors over the weights of many rows, side by side.

use super::psa::Weight;
use super::{Prior, Psa};
use crate::math::simd;
use fearless_simd::dispatch;
use std::ops::Range;

/// Terms of series at most.
const TERMS: usize = 12;
/// As many do where ηp is as small as in large data.
const FEW: usize = 4;
/// x and Nx up to which they are exact.
const SMALL: f64 = 0.01;
const SMALL_IN_HALF_A_PERIOD: f64 = 0.1;
/// Powers of α that stand in a table.
const POWERS: u32 = 1024;
/// Weights that are made up for at once.
const FULL: usize = 4096;

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

/// The series of one method and one largest x.
pub(super) struct Series {
    alpha: f64,
    /// N.
    half: f64,
    /// How many terms of each reach the last bit: [`FEW`] or all.
    few: bool,
    /// 2N/n/(1 − αⁿ).
    scales: [f64; TERMS],
    /// αᵏ.
    powers: Vec<f64>,
}

impl Series {
    /// `None` if a step with x = `largest` is too long for series: rate below κ, or more terms than there are.
    pub fn new(method: &Psa, largest: f64) -> Option<Self> {
        let n = method.period as f64;
        let slow = (1.0 - method.kappa.powf(1.0 / n)).min(SMALL).min(SMALL_IN_HALF_A_PERIOD / n);
        if largest > slow || method.alpha == 1.0 {
            return None;
        }
        let scale = |n: usize| {
            let term = n as i32 + 1;
            2.0 * method.period as f64 * INVERSES[n] / (1.0 - method.alpha.powi(term))
        };
        Some(Series {
            alpha: method.alpha,
            half: n,
            few: (n * largest).powi(FEW as i32 + 1) < 1e-19,
            scales: std::array::from_fn(scale),
            powers: (0..POWERS).map(|k| method.alpha.powi(k as i32)).collect(),
        })
    }

    /// αᵏ, what k periods make of the gain of a weight that creeps.
    pub fn shrink(&self, periods: u32) -> f64 {
        self.powers.get(periods as usize).copied().unwrap_or_else(|| self.alpha.powi(periods as i32))
    }

    /// `steps` ≤ N steps.
    #[inline(always)]
    pub fn decay(&self, steps: u32) -> Decay {
        let ratio = |n: usize| (f64::from(steps) - n as f64) * INVERSES[n];
        Decay { ratios: std::array::from_fn(ratio), terms: if self.few { FEW } else { TERMS } }
    }

    /// Brings all weights of `late` to the step after `phase` steps of the present period.
    pub fn make_up(&self, late: &mut Late, method: &Psa, phase: u32) {
        match self.few {
            true => self.make_up_by::<FEW>(late, method, phase.into()),
            false => self.make_up_by::<TERMS>(late, method, phase.into()),
        }
    }

    /// The same in T terms. First what is left of the period of the last touch, and the gain by its rate. Then k whole periods,
    /// each of rate (1 − x)^N > κ and so of factor α: the gains fall as η·αʲ, and
    /// ln Π_j (1 − ηαʲp)^2N = −2N Σ_n (ηp)ⁿ/n · (1 − αⁿᵏ)/(1 − αⁿ). Then the steps of the present period.
    fn make_up_by<const T: usize>(&self, late: &mut Late, method: &Psa, phase: f64) {
        let len = late.off.len();
        let Late { off, eta, start, middle, pull, left, shrink, kept, .. } = late;
        kept.resize(len, 0.0);
        let (off, eta, start, middle) =
            (&mut off[..len], &mut eta[..len], &mut start[..len], &mut middle[..len]);
        let (pull, left, shrink, kept) = (&pull[..len], &left[..len], &shrink[..len], &mut kept[..len]);
        let half = self.half;
        dispatch!(simd::level(), _ => for i in 0..len {
            let x = eta[i] * pull[i];
            let second = left[i].min(half);
            let first = left[i] - second;
            let middle = if first > 0.0 { off[i] * power::<T>(first, x) } else { middle[i] };
            let before = if first > 0.0 { middle } else { off[i] };
            let end = before * power::<T>(second, x);
            let adapted = method.adapted(eta[i], [start[i], middle, end]);
            let x = adapted * pull[i];
            let (mut terms, mut rest) = ([0.0; T], 1.0);
            for n in 0..T {
                rest *= shrink[i];
                terms[n] = self.scales[n] * (1.0 - rest);
            }
            kept[i] = -terms.iter().rev().fold(0.0, |sum, term| x * (term + sum));
            // What does not move (0/0) keeps its gain.
            eta[i] = if end * pull[i] != 0.0 { adapted * shrink[i] } else { adapted };
            off[i] = end;
        });
        simd::exp_all(kept);
        let (first, second) = (phase.min(half), (phase - half).max(0.0));
        dispatch!(simd::level(), _ => for i in 0..len {
            let x = eta[i] * pull[i];
            start[i] = off[i] * kept[i];
            middle[i] = start[i] * power::<T>(first, x);
            off[i] = middle[i] * power::<T>(second, x);
        });
    }
}

/// (1 − x)ᵏ = 1 − kx·(1 − (k−1)/2·x·(1 − (k−2)/3·x·(…))) in T terms.
#[inline(always)]
fn power<const T: usize>(k: f64, x: f64) -> f64 {
    let mut rest = 1.0;
    for n in (0..T).rev() {
        rest = 1.0 - (k - n as f64) * INVERSES[n] * x * rest;
    }
    rest
}

/// A number of steps, ready for any x.
pub(super) struct Decay {
    ratios: [f64; TERMS],
    terms: usize,
}

impl Decay {
    /// What they leave of θ − mean: [`power`].
    #[inline(always)]
    pub fn left(&self, x: f64) -> f64 {
        let by = |ratios: &[f64]| ratios.iter().rev().fold(1.0, |rest, ratio| 1.0 - ratio * x * rest);
        if self.terms == FEW { by(&self.ratios[..FEW]) } else { by(&self.ratios) }
    }
}

/// Rows that have missed the end of a period, their weights side by side.
#[derive(Default)]
pub(super) struct Late {
    rows: Vec<Range<usize>>,
    /// θ − mean.
    off: Vec<f64>,
    eta: Vec<f64>,
    start: Vec<f64>,
    middle: Vec<f64>,
    /// p; steps left of the period of the last touch; αᵏ.
    pull: Vec<f64>,
    left: Vec<f64>,
    shrink: Vec<f64>,
    /// What the whole periods leave of θ − mean.
    kept: Vec<f64>,
}

impl Late {
    /// Is it time to make up for what is there?
    pub fn is_full(&self) -> bool {
        self.off.len() >= FULL
    }

    pub fn add(
        &mut self,
        range: Range<usize>,
        [pull, left, shrink]: [f64; 3],
        theta: &[f64],
        prior: &Prior,
        weights: &[Weight],
    ) {
        for ((i, x), weight) in range.clone().zip(&theta[range.clone()]).zip(&weights[range.clone()]) {
            self.off.push(x - prior.mean(i));
            self.eta.push(weight.eta);
            self.start.push(weight.start);
            self.middle.push(weight.middle);
            self.pull.push(pull);
            self.left.push(left);
            self.shrink.push(shrink);
        }
        self.rows.push(range);
    }

    /// Writes everything back to where it was taken, up to date with step `done`, and forgets it.
    pub fn finish(&mut self, theta: &mut [f64], prior: &Prior, weights: &mut [Weight], done: u32) {
        let mut at = 0;
        for range in self.rows.drain(..) {
            for (i, weight) in range.clone().zip(&mut weights[range]) {
                theta[i] = prior.mean(i) + self.off[at];
                *weight =
                    Weight { eta: self.eta[at], start: self.start[at], middle: self.middle[at], age: done };
                at += 1;
            }
        }
        for vector in [
            &mut self.off,
            &mut self.eta,
            &mut self.start,
            &mut self.middle,
            &mut self.pull,
            &mut self.left,
            &mut self.shrink,
        ] {
            vector.clear();
        }
    }
}
