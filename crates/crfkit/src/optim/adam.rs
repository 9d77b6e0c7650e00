//! Adam.

use super::adagrad::soft_threshold;
use super::checks::{require, require_gain};
use super::fours::{FOUR, four, four_of, in_fours, put_four, put_four_of};
use super::online::{self, Rule, Schedule, Step};
use super::restored::{Restored, finite, not_negative};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use fearless_simd::prelude::*;
use std::ops::Range;

/// Gradient steps along a running mean of gradients, divided by the square root of a running mean of their squares.
///
/// Idea: step t computes m ← β₁m + (1 − β₁)g, s ← β₂s + (1 − β₂)g², θ ← θ − η₀·m̂/(√ŝ + ε) with m̂ = m/(1 − β₁ᵗ) and
/// ŝ = s/(1 − β₂ᵗ).
///
/// Lazy updates: a weight that is not touched for k steps coasts. m and s shrink by β₁ and β₂ per step, so the missed
/// steps sum to r + r² + … + rᵏ times the step at the last touch, with r = β₁/√β₂ (and with ε and the corrections of
/// that time). When the weight is touched again, it makes this move, and m ← β₁ᵏm, s ← β₂ᵏs. Its gradient then
/// includes the prior's pull of all steps since the last touch at once: g ← g + share·(θ − mean)/σ², where share is
/// their share of the penalty. L1 is applied by soft thresholding with the gain η₀/(√ŝ + ε), after each step and
/// after each coasting, with the share of the steps it covers.
///
/// Needs: gradients of batches. Parameters: η₀ = 0.01, β₁ = 0.9, β₂ = 0.999, ε = 1e-8, b = 8. Reference: Kingma and
/// Ba 2015, algorithm 1.
#[derive(Clone, Debug)]
pub struct Adam {
    /// η₀.
    pub eta0: f64,
    /// β₁, the decay rate of the mean gradient.
    pub beta1: f64,
    /// β₂, the decay rate of the mean squared gradient.
    pub beta2: f64,
    /// ε, which keeps divisors away from 0.
    pub epsilon: f64,
    /// Batches and passes.
    pub schedule: Schedule,
}

impl Default for Adam {
    fn default() -> Self {
        let schedule = Schedule { passes: Adam::PASSES, ..Schedule::default() };
        Adam { eta0: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, schedule }
    }
}

impl Adam {
    /// The default number of passes.
    pub const PASSES: usize = 20;

    /// β₁ᵏ, β₂ᵏ and r + … + rᵏ, r = β₁/√β₂.
    fn powers(&self, k: u32) -> [f64; 3] {
        let r = self.beta1 / self.beta2.sqrt();
        let power = |x: f64| x.powi(k as i32);
        [power(self.beta1), power(self.beta2), r * (1.0 - power(r)) / (1.0 - r)]
    }

    /// η₀/(1 − β₁ᵗ) and 1/√(1 − β₂ᵗ).
    fn rates(&self, t: u32) -> [f64; 2] {
        let left = |beta: f64| 1.0 - beta.powi(t as i32);
        [self.eta0 / left(self.beta1), 1.0 / left(self.beta2).sqrt()]
    }
}

impl Optimizer for Adam {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn check(&self, _prior: &Prior, _l1: f64) -> Result<()> {
        let &Adam { eta0, beta1, beta2, epsilon, .. } = self;
        require_gain(eta0)?;
        require((0.0..1.0).contains(&beta1), "`beta1`", beta1, "at least 0 and below 1")?;
        require((0.0..1.0).contains(&beta2), "`beta2`", beta2, "at least 0 and below 1")?;
        require(beta1 * beta1 < beta2, "`beta2`", beta2, "above the square of `beta1`")?;
        require(epsilon > 0.0 && epsilon.is_finite(), "`epsilon`", epsilon, "a positive number")
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut rule = AdamRule {
            problem,
            method: self,
            moments: Vec::new(),
            settled: 0,
            powers: (0..TABLE).map(|k| self.powers(k)).collect(),
            rates: Vec::new(),
        };
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

/// How many missed steps have their powers in a table; most rows are touched again within that many.
const TABLE: u32 = 8192;
/// How many steps have their rates in a table.
const RATES: usize = 1 << 16;

/// The running means of a weight's gradients and squares, stored in the form that coasting needs, without a square
/// root or a division.
#[derive(Clone, Copy, Default)]
struct Moments {
    /// m/(√ŝ + ε) at the last touch.
    way: f64,
    /// √s.
    root: f64,
}

impl Moments {
    /// m and s, where ŝ = s·growth².
    #[inline(always)]
    fn means(self, growth: f64, epsilon: f64) -> [f64; 2] {
        [self.way * (self.root * growth + epsilon), self.root * self.root]
    }

    /// Sets m and s, with ŝ = s·growth² from now on; returns √ŝ + ε.
    #[inline(always)]
    fn set(&mut self, [m, s]: [f64; 2], growth: f64, epsilon: f64) -> f64 {
        self.root = s.sqrt();
        let divisor = self.root * growth + epsilon;
        self.way = m / divisor;
        divisor
    }
}

/// The effect of k steps without a touch on a row.
#[derive(Clone, Copy)]
struct Coasting {
    /// η₀·(r + … + rᵏ)/(1 − β₁ᵗ) and 1/√(1 − β₂ᵗ), with t the last touch.
    moves: f64,
    growth: f64,
    /// β₁ᵏ and β₂ᵏ.
    keep: [f64; 2],
}

struct AdamRule<'a> {
    problem: &'a Problem<'a>,
    method: &'a Adam,
    moments: Vec<Moments>,
    /// The number of steps for which all weights are up to date.
    settled: u32,
    /// The first values of `powers`, and the values of `rates` for the steps so far.
    powers: Vec<[f64; 3]>,
    rates: Vec<[f64; 2]>,
}

impl AdamRule<'_> {
    /// The number of steps for which a row is up to date that was last touched after `last`.
    fn age(&self, last: u32) -> u32 {
        last.max(self.settled)
    }

    /// The effect of the steps after the first `age`, up to `step`.
    #[inline(always)]
    fn coasting(&self, age: u32, step: &Step) -> Coasting {
        let k = step.done - age;
        let [eta, growth] = self.rates(age.max(1));
        let [keep_m, keep_s, moves] = match self.powers.get(k as usize) {
            Some(powers) => *powers,
            None => self.method.powers(k),
        };
        Coasting { moves: eta * moves, growth, keep: [keep_m, keep_s] }
    }

    fn rates(&self, t: u32) -> [f64; 2] {
        match self.rates.get(t as usize) {
            Some(rates) => *rates,
            None => self.method.rates(t),
        }
    }

    /// Moves the weights in `range`, which are up to date after `age` steps, to the present step; their moments stay
    /// as they are. Returns the effect of these steps.
    #[inline(always)]
    fn coast<S: Simd>(
        &self,
        simd: S,
        theta: &mut [f64],
        range: Range<usize>,
        age: u32,
        step: &Step,
    ) -> Coasting {
        let coasting = self.coasting(age, step);
        if age == step.done {
            return coasting;
        }
        let Coasting { moves, growth, .. } = coasting;
        let moments = &self.moments[range.clone()];
        let theta = &mut theta[range];
        for (theta, moments) in theta.chunks_mut(FOUR).zip(moments.chunks(FOUR)) {
            put_four(four(simd, theta) - four_of(simd, moments, |own| own.way) * moves, theta);
        }
        if self.problem.l1 > 0.0 {
            let shrink = self.method.eta0 * step.since(age) * self.problem.l1;
            for (x, own) in theta.iter_mut().zip(moments) {
                *x = soft_threshold(*x, shrink / (own.root * growth + self.method.epsilon));
            }
        }
        coasting
    }
}

impl Rule for AdamRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        step.touched.expect_with(|row| theta[row.start] + self.moments[row.start].way);
        let known = (step.done as usize + 2).min(RATES);
        self.rates.extend((self.rates.len()..known).map(|t| self.method.rates(t as u32)));
        dispatch!(simd::level(), simd => for (range, _, last) in step.touched.filled() {
            self.coast(simd, theta, range, self.age(last), step);
        });
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let prior = &self.problem.prior;
        let &Adam { eta0, beta1, beta2, epsilon, .. } = self.method;
        let [eta, growth] = self.rates(step.done + 1);
        let shrink = eta0 * step.share() * self.problem.l1;
        let precisions = prior.precisions();
        dispatch!(simd::level(), simd => for (row, mine, last) in step.touched.filled() {
            let then = self.coasting(self.age(last), step);
            let pull = step.due(last) * precisions[prior.kind(row.start)];
            let keep = [beta1 * then.keep[0], beta2 * then.keep[1]];
            for (part, mine) in in_fours(row).zip(in_fours(mine)) {
                let (theta, moments) = (&mut theta[part.clone()], &mut self.moments[part.clone()]);
                let x = four(simd, theta);
                let g = four(simd, &gradient[mine]) + (x - prior.four_means(simd, part)) * pull;
                let (way, root) = (four_of(simd, moments, |own| own.way), four_of(simd, moments, |own| own.root));
                let m = way * (root * then.growth + epsilon) * keep[0] + g * (1.0 - beta1);
                let root = (root * root * keep[1] + g * g * (1.0 - beta2)).sqrt();
                let divisor = root * growth + epsilon;
                let way = m / divisor;
                put_four_of(way, moments, |own, way| own.way = way);
                put_four_of(root, moments, |own, root| own.root = root);
                put_four(x - way * eta, theta);
                if shrink > 0.0 {
                    let divisors: [f64; FOUR] = divisor.into();
                    for (x, divisor) in theta.iter_mut().zip(divisors) {
                        *x = soft_threshold(*x, shrink / divisor);
                    }
                }
            }
        });
    }

    fn settle(&mut self, theta: &mut [f64], step: &Step) {
        let (epsilon, [_, growth]) = (self.method.epsilon, self.rates(step.done.max(1)));
        dispatch!(simd::level(), simd => for (range, last) in step.stretches(theta.len(), &self.problem.prior) {
            let age = self.age(last);
            if age < step.done {
                let then = self.coast(simd, theta, range.clone(), age, step);
                for own in &mut self.moments[range] {
                    let [m, s] = own.means(then.growth, epsilon);
                    own.set([then.keep[0] * m, then.keep[1] * s], growth, epsilon);
                }
            }
        });
        self.settled = step.done;
    }

    fn save(&self, state: &mut State) {
        let numbers = |number: fn(&Moments) -> f64| self.moments.iter().map(number).collect();
        state.vectors.insert("way".into(), numbers(|own| own.way));
        state.vectors.insert("root".into(), numbers(|own| own.root));
        state.numbers.insert("settled".into(), self.settled.into());
    }

    fn restore(&mut self, steps: u32, state: &mut Restored) -> Result<()> {
        let dim = state.theta().len();
        let ways = state.vector("way", dim, 0.0, finite)?;
        let roots = state.vector("root", dim, 0.0, not_negative)?;
        self.moments = ways.iter().zip(&roots).map(|(&way, &root)| Moments { way, root }).collect();
        self.settled = state.count("settled", steps.into())? as u32;
        Ok(())
    }
}
