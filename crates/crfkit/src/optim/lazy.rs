//! Weights that every step moves, at the cost of the touched ones only.

use super::fours::{four, in_fours, put_four, with_known_length};
use super::restored::{Restored, finite, not_negative};
use super::{Prior, Problem, State, Touched};
use crate::Result;
use crate::math::dispatch::dispatch;
use crate::math::simd;

/// The iteration θ ← θ − a·P(θ − mean)/n − c·d over all weights, with P = 1/σ² and a vector d that changes only where
/// a step touches it: θ − mean decays, and d is subtracted. With B the product of the decays 1 − aP/n and C the sum
/// of the c/B so far, θ = mean + B (y − C d), where y changes only when d does or when it is set directly. B and C
/// have two values each, because weights of single labels and of label pairs have separate σ.
pub(super) struct Lazy<'a> {
    prior: &'a Prior,
    examples: f64,
    /// y.
    anchor: Vec<f64>,
    /// d.
    pub drift: Vec<f64>,
    /// B and C.
    decay: [f64; 2],
    shift: [f64; 2],
}

/// If B falls below this, the weights are settled before y overflows.
const SMALL: f64 = 1e-100;

impl<'a> Lazy<'a> {
    /// Starts at θ with this d, or resumes from what [`Lazy::save`] has stored.
    pub(super) fn new(problem: &'a Problem, state: &mut Restored) -> Result<Self> {
        let (prior, dim) = (&problem.prior, state.theta().len());
        let anchor = match state.resumed() {
            true => state.vector("anchor", dim, 0.0, finite)?,
            false => state.theta().iter().enumerate().map(|(i, x)| x - prior.mean(i)).collect(),
        };
        let kept = |x: f64| (SMALL..=1.0).contains(&x);
        Ok(Lazy {
            prior,
            examples: problem.objective.examples().max(1) as f64,
            anchor,
            drift: state.vector("drift", dim, 0.0, finite)?,
            decay: [state.number("decay", 1.0, kept)?, state.number("decay_pairs", 1.0, kept)?],
            shift: [
                state.number("shift", 0.0, not_negative)?,
                state.number("shift_pairs", 0.0, not_negative)?,
            ],
        })
    }

    pub(super) fn save(&self, state: &mut State) {
        state.vectors.insert("anchor".into(), self.anchor.clone());
        state.vectors.insert("drift".into(), self.drift.clone());
        let numbers = [
            ("decay", self.decay[0]),
            ("decay_pairs", self.decay[1]),
            ("shift", self.shift[0]),
            ("shift_pairs", self.shift[1]),
        ];
        state.numbers.extend(numbers.map(|(name, number)| (name.to_string(), number)));
    }

    #[inline]
    fn value(&self, i: usize) -> f64 {
        let kind = self.prior.kind(i);
        self.prior.mean(i) + self.decay[kind] * (self.anchor[i] - self.shift[kind] * self.drift[i])
    }

    /// Brings the touched weights up to date.
    pub(super) fn refresh(&self, theta: &mut [f64], touched: &Touched) {
        touched.expect_with(|row| self.anchor[row.start] + self.drift[row.start]);
        dispatch!(simd::level(), simd => for (row, ..) in touched.filled() {
            let kind = self.prior.kind(row.start);
            for part in in_fours(row) {
                with_known_length!(part => {
                    let drift = four(simd, &self.drift[part.clone()]);
                    let off = (four(simd, &self.anchor[part.clone()]) - drift * self.shift[kind]) * self.decay[kind];
                    put_four(self.prior.four_means(simd, part.clone()) + off, &mut theta[part]);
                })
            }
        });
    }

    /// d ← d + new − old on the touched weights, and old ← new; both hold the rows one after another. θ stays.
    pub(super) fn exchange(&mut self, touched: &Touched, old: &mut [f64], new: &[f64]) {
        dispatch!(simd::level(), simd => for (row, mine, _) in touched.filled() {
            let shift = self.shift[self.prior.kind(row.start)];
            for (part, mine) in in_fours(row).zip(in_fours(mine)) {
                with_known_length!(part => {
                    let mine = mine.start..mine.start + part.len();
                    let (old, new) = (&mut old[mine.clone()], four(simd, &new[mine]));
                    let change = new - four(simd, old);
                    put_four(new, old);
                    let (drift, anchor) = (&mut self.drift[part.clone()], &mut self.anchor[part]);
                    put_four(four(simd, drift) + change, drift);
                    put_four(four(simd, anchor) + change * shift, anchor);
                })
            }
        });
    }

    /// θ ← θ + x at weight i.
    #[inline]
    pub(super) fn add(&mut self, i: usize, x: f64) {
        self.anchor[i] += x / self.decay[self.prior.kind(i)];
    }

    /// One step of all weights; `theta` is brought up to date only if necessary.
    pub(super) fn step(&mut self, a: f64, c: f64, theta: &mut [f64]) {
        for (kind, first) in [0, self.prior.first_pair].into_iter().enumerate() {
            // A step so large that the weights would cross the mean takes them to the mean.
            self.decay[kind] *= (1.0 - a * self.prior.precision(first) / self.examples).max(1e-9);
            self.shift[kind] += c / self.decay[kind];
        }
        if self.decay[0].min(self.decay[1]) < SMALL {
            self.settle(theta);
        }
    }

    /// Brings all weights up to date, and restarts with B = 1 and C = 0.
    pub(super) fn settle(&mut self, theta: &mut [f64]) {
        for i in 0..theta.len() {
            theta[i] = self.value(i);
            self.anchor[i] = theta[i] - self.prior.mean(i);
        }
        (self.decay, self.shift) = ([1.0; 2], [0.0; 2]);
    }
}
