//! What many steps that see the prior alone do to weights of PSA, in closed form.
//!
//! Such a step takes θ − mean to (1 − x)(θ − mean) with x = ηp, and x is small: powers of 1 − x are a few terms of a series. The
//! arithmetic runs by vectors over the weights of many rows, side by side.

use super::psa::Weight;
use super::{Prior, Psa};
use crate::math::simd::{self, LANES, exp8, load, store};
use fearless_simd::{dispatch, f64x8, prelude::*};
use std::ops::Range;

/// Terms of series at most.
pub(super) const TERMS: usize = 12;
/// As many do where ηp is as small as in large data.
pub(super) const FEW: usize = 3;
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
        let scale = |k: usize| 2.0 * n * INVERSES[k] / (1.0 - method.alpha.powi(k as i32 + 1));
        let scales: [f64; TERMS] = std::array::from_fn(scale);
        // The first terms that are left out: (Nx)⁴/4! and that of whole periods, however many.
        let next = FEW as i32 + 1;
        let few = (n * largest).powi(next) / 24.0 < 1e-17 && scales[FEW] * largest.powi(next) < 1e-15;
        Some(Series {
            alpha: method.alpha,
            half: n,
            few,
            scales,
            powers: (0..POWERS).map(|k| method.alpha.powi(k as i32)).collect(),
        })
    }

    /// αᵏ, what k periods make of the gain of a weight that creeps.
    pub fn shrink(&self, periods: u32) -> f64 {
        self.powers.get(periods as usize).copied().unwrap_or_else(|| self.alpha.powi(periods as i32))
    }

    /// Do [`FEW`] terms reach the last bit?
    pub fn few(&self) -> bool {
        self.few
    }

    /// Brings all weights of `late`, whose p is `pull`, to the step after `phase` steps of the present period, in T terms.
    ///
    /// First what is left of the period of the last touch, and the gain by its rate. Then k whole periods,
    /// each of rate (1 − x)^N > κ and so of factor α: the gains fall as η·αʲ, and
    /// ln Π_j (1 − ηαʲp)^2N = −2N Σ_n (ηp)ⁿ/n · (1 − αⁿᵏ)/(1 − αⁿ). Then the steps of the present period.
    pub fn make_up<const T: usize>(&self, late: &mut Late, method: &Psa, pull: f64, phase: u32) {
        dispatch!(simd::level(), simd => self.make_up_on::<_, T>(simd, late, method, pull, phase.into()));
    }

    #[inline(always)]
    fn make_up_on<S: Simd, const T: usize>(
        &self,
        simd: S,
        late: &mut Late,
        method: &Psa,
        pull: f64,
        phase: f64,
    ) {
        let ([centre, slope], kappa, half, scales) = (method.factor(), method.kappa, self.half, self.scales);
        let zero = f64x8::splat(simd, 0.0);
        let now = [f64x8::splat(simd, phase.min(half)), f64x8::splat(simd, (phase - half).max(0.0))];
        for v in 0..late.len.div_ceil(LANES) {
            let (eta, start) = (load(simd, &late.eta, v), load(simd, &late.start, v));
            let (left, shrink) = (load(simd, &late.left, v), load(simd, &late.shrink, v));
            let second = left.min(f64x8::splat(simd, half));
            let first = left - second;
            let x = eta * pull;
            let before = load(simd, &late.off, v) * power8::<S, T>(simd, first, x); // all of it where `first` is 0
            let middle = first.simd_gt(zero).select(before, load(simd, &late.middle, v));
            let end = before * power8::<S, T>(simd, second, x);
            let gamma = (end - middle) / (middle - start);
            let u = gamma.max(f64x8::splat(simd, -kappa)).min(f64x8::splat(simd, kappa));
            // What does not move (0/0) keeps its gain, here and below.
            let eta = gamma.simd_eq(gamma).select(eta * (u * slope + centre), eta);
            let x = eta * pull;
            let (mut terms, mut rest) = ([zero; T], shrink);
            for n in 0..T {
                terms[n] = (1.0 - rest) * scales[n];
                rest *= shrink;
            }
            let mut ln = zero;
            for n in (0..T).rev() {
                ln = x * (terms[n] + ln);
            }
            let eta = (end * pull).simd_eq(zero).select(eta, eta * shrink);
            let start = end * exp8(simd, -ln);
            let x = eta * pull;
            let middle = start * power8::<S, T>(simd, now[0], x); // of no meaning before the middle
            store(eta, &mut late.eta, v);
            store(start, &mut late.start, v);
            store(middle, &mut late.middle, v);
            store(middle * power8::<S, T>(simd, now[1], x), &mut late.off, v);
        }
    }
}

/// [`power`] of several numbers.
#[inline(always)]
fn power8<S: Simd, const T: usize>(simd: S, k: f64x8<S>, x: f64x8<S>) -> f64x8<S> {
    let one = f64x8::splat(simd, 1.0);
    let mut rest = one;
    // Loops and no closures in here: those would be compiled for another vector unit.
    for n in (0..T).rev() {
        rest = one - (k - n as f64) * INVERSES[n] * x * rest;
    }
    rest
}

/// (1 − x)ᵏ = 1 − kx·(1 − (k−1)/2·x·(1 − (k−2)/3·x·(…))) in T terms.
#[inline(always)]
pub(super) fn power<const T: usize>(k: f64, x: f64) -> f64 {
    let mut rest = 1.0;
    for n in (0..T).rev() {
        rest = 1.0 - (k - n as f64) * INVERSES[n] * x * rest;
    }
    rest
}

/// Rows that have missed the end of a period, their weights side by side.
#[derive(Default)]
pub(super) struct Late {
    rows: Vec<Range<usize>>,
    /// Weights; the vectors are longer, up to whole vectors of the processor.
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
    /// Is it time to make up for what is there?
    pub fn is_full(&self) -> bool {
        self.len >= FULL
    }

    /// Takes a row.
    pub fn add(
        &mut self,
        range: Range<usize>,
        [left, shrink]: [f64; 2],
        theta: &[f64],
        prior: &Prior,
        weights: &[Weight],
    ) {
        let place = self.len..self.len + range.len();
        self.len = place.end;
        if self.off.len() < place.end {
            let Late { off, eta, start, middle, left, shrink, .. } = self;
            for vector in [off, eta, start, middle, left, shrink] {
                vector.resize(2 * place.end.next_multiple_of(LANES), 0.0);
            }
        }
        let from = range.clone().zip(&theta[range.clone()]).zip(&weights[range.clone()]);
        let to = self.off[place.clone()].iter_mut().zip(&mut self.eta[place.clone()]);
        let then = self.start[place.clone()].iter_mut().zip(&mut self.middle[place.clone()]);
        for (((i, x), weight), ((off, eta), (start, middle))) in from.zip(to.zip(then)) {
            *off = x - prior.mean(i);
            (*eta, *start, *middle) = (weight.eta, weight.start, weight.middle);
        }
        self.left[place.clone()].iter_mut().for_each(|x| *x = left);
        self.shrink[place].iter_mut().for_each(|x| *x = shrink);
        self.rows.push(range);
    }

    /// Writes everything back to where it was taken, and forgets it.
    pub fn finish(&mut self, theta: &mut [f64], prior: &Prior, weights: &mut [Weight]) {
        let mut at = 0;
        for range in self.rows.drain(..) {
            let place = at..at + range.len();
            at = place.end;
            let to = range.clone().zip(&mut theta[range.clone()]).zip(&mut weights[range]);
            let from = self.off[place.clone()].iter().zip(&self.eta[place.clone()]);
            let then = self.start[place.clone()].iter().zip(&self.middle[place]);
            for (((i, x), weight), ((off, &eta), (&start, &middle))) in to.zip(from.zip(then)) {
                *x = prior.mean(i) + off;
                *weight = Weight { eta, start, middle };
            }
        }
        self.len = 0;
    }
}
