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

/// Terms of ln(1 − x) = −Σ xⁿ/n. Used for x ≤ 1 − κ^(1/N) only, where they are exact for the usual κ and N.
const TERMS: usize = 8;

struct PsaRule<'a> {
    problem: &'a Problem<'a>,
    method: &'a Psa,
    /// N, and the share of the penalty in a step.
    half: u32,
    share: f64,
    /// The largest ηp of a decay at rate κ or above.
    slow: f64,
    /// η.
    gains: Vec<f64>,
    /// θ at the start of the period and in its middle.
    snapshots: [Vec<f64>; 2],
    /// The steps that each weight has seen; weights of a row have seen the same.
    age: Vec<u32>,
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
        // The series of `skip` must reach the last bit: x^TERMS below 1e-17.
        let slow = (1.0 - method.kappa.powf(1.0 / method.period as f64)).min(0.02);
        PsaRule {
            problem,
            method,
            half: method.period as u32,
            share: batch as f64 * (1.0 / examples as f64),
            slow,
            gains: Vec::new(),
            snapshots: Default::default(),
            age: Vec::new(),
            slope: Vec::new(),
        }
    }

    /// Brings the weights in `range`, all of one age and kind, to the state before step `done` (counted from 0).
    fn catch_up(&mut self, theta: &mut [f64], range: Range<usize>, done: u32) {
        let (half, mut age) = (self.half, self.age[range.start]);
        while age < done {
            let (to_half, periods) = (half - age % half, (done - age) / (2 * half));
            if age % (2 * half) == 0 && periods > 0 {
                self.skip(theta, range.clone(), periods);
                age += periods * 2 * half;
            } else {
                let steps = to_half.min(done - age);
                self.decay(theta, range.clone(), steps);
                age += steps;
                self.observe(theta, range.clone(), age);
            }
        }
        self.age[range].fill(done);
    }

    /// `steps` steps that see the prior alone.
    fn decay(&mut self, theta: &mut [f64], range: Range<usize>, steps: u32) {
        let prior = &self.problem.prior;
        let p = self.share * prior.precision(range.start);
        if p > 0.0 {
            for i in range {
                let mean = prior.mean(i);
                theta[i] = mean + (theta[i] - mean) * (1.0 - self.gains[i] * p).powi(steps as i32);
            }
        }
    }

    /// The weights have seen `age` steps: takes a snapshot in the middle of a period; at its end adapts the gains.
    fn observe(&mut self, theta: &[f64], range: Range<usize>, age: u32) {
        if !age.is_multiple_of(self.half) {
            return;
        }
        let ends = age.is_multiple_of(2 * self.half);
        if ends {
            for i in range.clone() {
                let gamma = (theta[i] - self.snapshots[1][i]) / (self.snapshots[1][i] - self.snapshots[0][i]);
                if !gamma.is_nan() {
                    self.gains[i] *= self.method.factor(gamma);
                }
            }
        }
        self.snapshots[usize::from(!ends)][range.clone()].copy_from_slice(&theta[range]);
    }

    /// `periods` whole periods that see the prior alone. A slow decay has factor α in each, so that the gains fall as
    /// η·αʲ, and ln Π_j (1 − ηαʲp)^2N = −2N Σ_n (ηp)ⁿ/n · (1 − αⁿᵏ)/(1 − αⁿ) over k periods.
    fn skip(&mut self, theta: &mut [f64], range: Range<usize>, periods: u32) {
        let prior = &self.problem.prior;
        let p = self.share * prior.precision(range.start);
        if p > 0.0 {
            let shrink = self.method.alpha.powi(periods as i32);
            let terms = self.series(periods, shrink);
            for i in range.clone() {
                let (mean, eta) = (prior.mean(i), self.gains[i]);
                let off = theta[i] - mean;
                if off == 0.0 {
                    continue;
                }
                if eta * p <= self.slow {
                    let ln = terms.iter().rev().fold(0.0, |sum, term| eta * p * (term + sum));
                    theta[i] = mean + off * (-ln).exp();
                    self.gains[i] = eta * shrink;
                } else {
                    theta[i] = mean + off * self.fast_decay(i, p, periods);
                }
            }
        }
        self.snapshots[0][range.clone()].copy_from_slice(&theta[range]);
    }

    /// 2N/n · (1 − αⁿᵏ)/(1 − αⁿ) for n = 1, 2, …, given k and αᵏ.
    fn series(&self, periods: u32, shrink: f64) -> [f64; TERMS] {
        let (alpha, steps) = (self.method.alpha, f64::from(2 * self.half));
        let (mut alphas, mut shrinks) = (1.0, 1.0);
        std::array::from_fn(|n| {
            (alphas, shrinks) = (alphas * alpha, shrinks * shrink);
            let sum = if alpha < 1.0 { (1.0 - shrinks) / (1.0 - alphas) } else { f64::from(periods) };
            steps / (n as f64 + 1.0) * sum
        })
    }

    /// The decay of a weight over whole periods, one by one; adapts its gain.
    fn fast_decay(&mut self, i: usize, p: f64, periods: u32) -> f64 {
        let mut product = 1.0;
        for _ in 0..periods {
            let gamma = (1.0 - self.gains[i] * p).powi(self.half as i32);
            self.gains[i] *= self.method.factor(gamma);
            product *= gamma * gamma;
        }
        product
    }
}

impl Rule for PsaRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        for range in step.touched.ranges() {
            self.catch_up(theta, range.clone(), step.done);
        }
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let mut slope = std::mem::take(&mut self.slope);
        slope.clear();
        slope.extend_from_slice(gradient);
        for (range, mine) in step.touched.ranges().iter().zip(step.touched.places()) {
            let (x, g) = (&mut theta[range.clone()], &mut slope[mine]);
            self.problem.prior.pull(self.share, range.start, x, g);
            let gains = &self.gains[range.clone()];
            x.iter_mut().zip(g).zip(gains).for_each(|((x, g), eta)| *x -= eta * *g);
            self.age[range.clone()].fill(step.done + 1);
            self.observe(theta, range.clone(), step.done + 1);
        }
        self.slope = slope;
    }

    fn settle(&mut self, theta: &mut [f64], step: &Step) {
        let mut start = 0;
        while start < theta.len() {
            let range = stretch(&self.age, start, self.problem.prior.first_pair);
            start = range.end;
            self.catch_up(theta, range, step.done);
        }
    }

    fn save(&self, state: &mut State) {
        let [start, middle] = &self.snapshots;
        let age = self.age.iter().map(|&age| age.into()).collect();
        for (name, vector) in [
            ("gains", self.gains.clone()),
            ("start", start.clone()),
            ("middle", middle.clone()),
            ("age", age),
        ] {
            state.vectors.insert(name.into(), vector);
        }
    }

    fn restore(&mut self, state: &mut State) {
        let dim = state.theta.len();
        self.gains = state.take("gains");
        self.gains.resize(dim, self.method.eta0);
        self.age = state.take("age").iter().map(|&age| age as u32).collect();
        self.age.resize(dim, 0);
        self.snapshots = ["start", "middle"].map(|name| state.take(name));
        for snapshot in self.snapshots.iter_mut().filter(|snapshot| snapshot.is_empty()) {
            snapshot.clone_from(&state.theta);
        }
    }
}
