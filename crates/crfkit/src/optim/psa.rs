//! Periodic step-size adaptation.

use super::online::{self, BatchGradient, Rule, Schedule, Step, refuse_l1, require, stretch};
use super::{Minimum, Optimizer, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use std::ops::Range;

/// Gradient steps with a gain for each weight, lowered at the end of each period by how the weight moved in it.
///
/// Idea: SGD near the optimum is a linear map, and θ⁰, θ¹, θ² at the start, middle and end of a period of 2N steps show its rate
/// γ = (θ² − θ¹)/(θ¹ − θ⁰): near 1 the weight creeps and keeps its gain, below 0 it swings and loses some. A step is
/// θ ← θ − η∘(g/b + (θ − mean)/(mσ²)); after each period
///
/// u = sgn γ · min(|γ|, κ),   η ← η·((α + β)/2 + (α − β)·u/2κ),
///
/// a factor between β and α. A weight that did not move (0/0) keeps its gain.
///
/// Lazy updates: in a period without a touch a weight only decays, at the rate 1 − η/(mσ²) a step, so γ = (1 − η/(mσ²))^N, above κ
/// as a rule: the factor is α. Periods missed are made up for in closed form; the iteration is the dense one.
///
/// Needs: gradients of batches; no L1. Parameters: η₀ = 0.1, κ = 0.9, α = 0.9999, β = 0.99, N = 10, b = 1, the mean of the batch's
/// gradients. With their sum, every step has b/m of the penalty. Reference: ctjpgis-psa-2007 section 3; the bounds are those of
/// Huang, Chang and Hsu 2007.
#[derive(Clone, Debug)]
pub struct Psa {
    /// η₀, the first gain of all weights.
    pub eta0: f64,
    /// κ, the largest rate that counts.
    pub kappa: f64,
    /// α, the factor of a gain whose weight creeps.
    pub alpha: f64,
    /// β, the factor of a gain whose weight swings.
    pub beta: f64,
    /// N, half a period in steps.
    pub period: usize,
    /// Batches and passes.
    pub schedule: Schedule,
}

impl Default for Psa {
    fn default() -> Self {
        let schedule = Schedule { batch: 1, gradient: BatchGradient::Mean, ..Schedule::default() };
        Psa { eta0: 0.1, kappa: 0.9, alpha: 0.9999, beta: 0.99, period: 10, schedule }
    }
}

impl Psa {
    /// Passes where none are asked for.
    pub const PASSES: usize = 30;

    /// The factor of a gain whose weight moves at rate γ.
    fn factor(&self, gamma: f64) -> f64 {
        let u = gamma.clamp(-self.kappa, self.kappa);
        0.5 * (self.alpha + self.beta) + (self.alpha - self.beta) * u / (2.0 * self.kappa)
    }
}

impl Optimizer for Psa {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        let &Psa { eta0, kappa, alpha, beta, period, .. } = self;
        refuse_l1(problem, "PSA")?;
        require(eta0 > 0.0 && eta0.is_finite(), "eta0", eta0, "a positive number")?;
        require(kappa > 0.0 && kappa < 1.0, "kappa", kappa, "between 0 and 1")?;
        require(alpha > 0.0 && alpha <= 1.0, "alpha", alpha, "above 0 and at most 1")?;
        require(beta > 0.0 && beta <= alpha, "beta", beta, "above 0 and at most alpha")?;
        require(
            (1..=1_000_000).contains(&period),
            "the period",
            period as f64,
            "at least 1 and at most a million",
        )?;
        let mut rule = PsaRule::new(self, problem);
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

/// Terms of series at most: of ln(1 − x) and of (1 − x)ᵏ for k ≤ N.
const TERMS: usize = 12;
/// As many do where ηp is as small as in large data.
const FEW: usize = 4;
/// x and Nx up to which they are exact.
const SMALL: f64 = 0.01;
const SMALL_IN_HALF_A_PERIOD: f64 = 0.1;

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

/// What is known of a weight: its gain, θ at the start and in the middle of the period, and the steps that it has seen; weights of
/// a row have seen the same.
#[derive(Clone, Copy)]
struct Weight {
    eta: f64,
    start: f64,
    middle: f64,
    age: u32,
}

struct PsaRule<'a> {
    problem: &'a Problem<'a>,
    method: &'a Psa,
    /// N, and the share of the penalty in a step.
    half: u32,
    share: f64,
    /// ηp up to which a decay is slow: rate κ or above, and exact in the first terms of the series.
    slow: f64,
    /// 2N/n/(1 − αⁿ) for the terms that reach the last bit.
    series: Vec<f64>,
    weights: Vec<Weight>,
    /// The gradient with the prior's pull.
    slope: Vec<f64>,
}

impl<'a> PsaRule<'a> {
    fn new(method: &'a Psa, problem: &'a Problem<'a>) -> Self {
        let examples = problem.objective.examples().max(1);
        let batch = match method.schedule.gradient {
            BatchGradient::Sum => method.schedule.batch.clamp(1, examples),
            BatchGradient::Mean => 1,
        };
        let share = batch as f64 * (1.0 / examples as f64);
        let (n, half) = (method.period as f64, method.period as u32);
        let slow = (1.0 - method.kappa.powf(1.0 / n)).min(SMALL).min(SMALL_IN_HALF_A_PERIOD / n);
        // Gains only fall, so no later ηp is larger than the first.
        let prior = &problem.prior;
        let precision = prior.precision(0).max(prior.precision(prior.first_pair));
        let largest = n * (method.eta0 * share * precision).min(slow);
        let counts = |term: &i32| *term == 1 || largest.powi(*term) > 1e-19;
        let scale = |term: i32| 2.0 * n / f64::from(term) / (1.0 - method.alpha.powi(term));
        let series = (1..=TERMS as i32).take_while(counts).map(scale).collect();
        PsaRule { problem, method, half, share, slow, series, weights: Vec::new(), slope: Vec::new() }
    }

    /// Brings the weights in `range`, all of one age and kind, to the state before step `done` (counted from 0).
    fn catch_up(&mut self, theta: &mut [f64], range: Range<usize>, done: u32) {
        let (half, mut age) = (self.half, self.weights[range.start].age);
        if age == done {
            return;
        }
        let mut phase = age % (2 * half);
        while age < done {
            let steps = if phase == 0 && done - age >= 2 * half {
                let periods = (done - age) / (2 * half);
                self.skip(theta, range.clone(), periods);
                periods * 2 * half
            } else {
                let steps = (if phase < half { half } else { 2 * half } - phase).min(done - age);
                self.decay(theta, range.clone(), steps);
                phase = self.observe(theta, range.clone(), phase + steps);
                steps
            };
            age += steps;
        }
        self.weights[range].iter_mut().for_each(|weight| weight.age = done);
    }

    /// `steps` ≤ N steps that see the prior alone.
    fn decay(&mut self, theta: &mut [f64], range: Range<usize>, steps: u32) {
        match self.series.len() {
            0..=FEW => self.decay_by::<FEW>(theta, range, steps),
            _ => self.decay_by::<TERMS>(theta, range, steps),
        }
    }

    /// The same in the first T terms of (1 − x)ᵏ = 1 − kx·(1 − (k−1)/2·x·(1 − (k−2)/3·x·(…))).
    fn decay_by<const T: usize>(&mut self, theta: &mut [f64], range: Range<usize>, steps: u32) {
        let prior = &self.problem.prior;
        let p = self.share * prior.precision(range.start);
        if p == 0.0 {
            return;
        }
        let ratios: [f64; T] = std::array::from_fn(|n| (f64::from(steps) - n as f64) * INVERSES[n]);
        let weights = &self.weights[range.clone()];
        for ((i, weight), at) in range.clone().zip(weights).zip(&mut theta[range]) {
            let (mean, x) = (prior.mean(i), weight.eta * p);
            let left = match x <= self.slow {
                true => ratios.iter().rev().fold(1.0, |rest, ratio| 1.0 - ratio * x * rest),
                false => (1.0 - x).powi(steps as i32),
            };
            *at = mean + (*at - mean) * left;
        }
    }

    /// The weights have seen `phase` steps of a period: keeps θ in its middle; at its end adapts the gains and starts the next.
    /// Returns the phase.
    fn observe(&mut self, theta: &[f64], range: Range<usize>, phase: u32) -> u32 {
        let weights = self.weights[range.clone()].iter_mut().zip(&theta[range]);
        if phase == self.half {
            weights.for_each(|(weight, x)| weight.middle = *x);
        } else if phase == 2 * self.half {
            for (weight, x) in weights {
                let gamma = (x - weight.middle) / (weight.middle - weight.start);
                if !gamma.is_nan() {
                    weight.eta *= self.method.factor(gamma);
                }
                weight.start = *x;
            }
            return 0;
        }
        phase
    }

    /// `periods` whole periods that see the prior alone. A slow decay has factor α in each, so that the gains fall as
    /// η·αʲ, and ln Π_j (1 − ηαʲp)^2N = −2N Σ_n (ηp)ⁿ/n · (1 − αⁿᵏ)/(1 − αⁿ) over k periods.
    fn skip(&mut self, theta: &mut [f64], range: Range<usize>, periods: u32) {
        let prior = &self.problem.prior;
        let p = self.share * prior.precision(range.start);
        let shrink = self.method.alpha.powi(periods as i32);
        let (terms, count) = self.terms(periods, shrink);
        let weights = &mut self.weights[range.clone()];
        for ((i, weight), at) in range.clone().zip(weights).zip(&mut theta[range]) {
            let mean = prior.mean(i);
            let off = *at - mean;
            // What does not move (0/0) keeps its gain.
            if p > 0.0 && off != 0.0 {
                let x = weight.eta * p;
                if x <= self.slow {
                    let ln = terms[..count].iter().rev().fold(0.0, |sum, term| x * (term + sum));
                    *at = mean + off * (-ln).exp();
                    weight.eta *= shrink;
                } else {
                    let product = self.method.fast_decay(&mut weight.eta, p, periods);
                    *at = mean + off * product;
                }
            }
            weight.start = *at;
        }
    }

    /// 2N/n · (1 − αⁿᵏ)/(1 − αⁿ) for n = 1, 2, …, given k and αᵏ; and how many there are.
    fn terms(&self, periods: u32, shrink: f64) -> ([f64; TERMS], usize) {
        let mut terms = [0.0; TERMS];
        let mut left = 1.0;
        for (n, (term, scale)) in terms.iter_mut().zip(&self.series).enumerate() {
            left *= shrink;
            *term = match self.method.alpha {
                1.0 => f64::from(2 * self.half) * INVERSES[n] * f64::from(periods),
                _ => scale * (1.0 - left),
            };
        }
        (terms, self.series.len())
    }
}

impl Psa {
    /// How much of a weight is left after whole periods of decay, one by one; adapts its gain.
    fn fast_decay(&self, eta: &mut f64, p: f64, periods: u32) -> f64 {
        let mut product = 1.0;
        for _ in 0..periods {
            let gamma = (1.0 - *eta * p).powi(self.period as i32);
            *eta *= self.factor(gamma);
            product *= gamma * gamma;
        }
        product
    }
}

impl Rule for PsaRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        step.touched.expect_rows(theta, 0);
        step.touched.expect_with(|start| self.weights.get(start).map_or(0.0, |weight| weight.eta));
        for (range, _) in step.touched.filled() {
            self.catch_up(theta, range, step.done);
        }
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let phase = step.done % (2 * self.half) + 1;
        let mut slope = std::mem::take(&mut self.slope);
        slope.clear();
        slope.extend_from_slice(gradient);
        for (range, mine) in step.touched.filled() {
            let (x, g) = (&mut theta[range.clone()], &mut slope[mine]);
            self.problem.prior.pull(self.share, range.start, x, g);
            for ((x, g), weight) in x.iter_mut().zip(g).zip(&mut self.weights[range.clone()]) {
                *x -= weight.eta * *g;
                weight.age = step.done + 1;
            }
            self.observe(theta, range.clone(), phase);
        }
        self.slope = slope;
    }

    fn settle(&mut self, theta: &mut [f64], step: &Step) {
        let mut start = 0;
        while start < theta.len() {
            let range = stretch(start, theta.len(), &self.problem.prior, |i| self.weights[i].age);
            start = range.end;
            self.catch_up(theta, range, step.done);
        }
    }

    fn save(&self, state: &mut State) {
        let mut save = |name: &str, number: fn(&Weight) -> f64| {
            state.vectors.insert(name.into(), self.weights.iter().map(number).collect());
        };
        save("gains", |weight| weight.eta);
        save("start", |weight| weight.start);
        save("middle", |weight| weight.middle);
        save("age", |weight| weight.age.into());
    }

    fn restore(&mut self, state: &mut State) {
        let [gains, starts, middles, ages] = ["gains", "start", "middle", "age"].map(|name| state.take(name));
        let snapshots = starts.iter().zip(&middles);
        self.weights = (gains.iter().zip(&ages).zip(snapshots))
            .map(|((&eta, &age), (&start, &middle))| Weight { eta, start, middle, age: age as u32 })
            .collect();
        let fresh = |&x: &f64| Weight { eta: self.method.eta0, start: x, middle: x, age: 0 };
        self.weights.extend(state.theta.iter().skip(self.weights.len()).map(fresh));
    }
}
