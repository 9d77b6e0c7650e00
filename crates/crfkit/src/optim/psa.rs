//! Periodic step-size adaptation.

use super::checks::{refuse_l1, require, require_gain};
use super::online::{self, BatchGradient, Rule, Schedule, Step};
use super::psa_series::{At, Backlog, Series};
use super::restored::{Restored, finite, not_negative};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use std::ops::Range;

/// Gradient steps with a separate gain for each weight. At the end of each period the gain is adapted to how the weight
/// moved.
///
/// Idea: near the optimum SGD is a linear map. The values θ⁰, θ¹, θ² at the start, middle and end of a period of 2N
/// steps show its rate γ = (θ² − θ¹)/(θ¹ − θ⁰). If γ is near 1, the weight creeps; if γ is below 0, the weight oscillates
/// and its gain is reduced. A step is θ ← θ − η∘(g/b + (θ − mean)/(mσ²)); after each period `adaptation` changes η. A
/// weight that did not move (0/0) keeps its gain.
///
/// Lazy updates: in a period without a touch a weight only decays, by the factor 1 − η/(mσ²) per step. So γ = (1 −
/// η/(mσ²))^N, which is usually near 1, and the factor is the largest one. Missed periods are applied in closed form; the
/// iteration equals the dense one.
///
/// Needs: gradients of batches; no L1. Parameters: η₀ = 0.1, N = 10, b = 1, the mean of the batch's gradients; the others
/// belong to one [`Adaptation`]. With the sum of the gradients, every step has b/m of the penalty.
///
/// Reference: ctjpgis-psa-2007 section 3.
#[derive(Clone, Debug)]
pub struct Psa {
    /// η₀, the first gain of all weights.
    pub eta0: f64,
    /// How gains follow the rates.
    pub adaptation: Adaptation,
    /// κ of [`Adaptation::Shrinking`], the largest rate that counts.
    pub kappa: f64,
    /// α of [`Adaptation::Shrinking`], the factor for the gain of a weight that moves in one direction.
    pub alpha: f64,
    /// β of [`Adaptation::Shrinking`], the factor for the gain of a weight that oscillates.
    pub beta: f64,
    /// Bounds on the factor of [`Adaptation::Printed`].
    pub gain_factor: [f64; 2],
    /// The smallest and the largest gain of [`Adaptation::Printed`], as multiples of η₀.
    pub gain_range: [f64; 2],
    /// N, half the length of a period in steps.
    pub period: usize,
    /// Batches and passes.
    pub schedule: Schedule,
}

impl Default for Psa {
    fn default() -> Self {
        let schedule = Schedule { batch: 1, gradient: BatchGradient::Mean, ..Schedule::default() };
        Psa {
            eta0: 0.1,
            adaptation: Adaptation::Shrinking,
            kappa: 0.9,
            alpha: 0.9999,
            beta: 0.99,
            gain_factor: [0.9, 1.1],
            gain_range: [1e-4, 1.0],
            period: 10,
            schedule,
        }
    }
}

impl Psa {
    /// The default number of passes.
    pub const PASSES: usize = 30;

    /// c and s in the factor c + s·u = (α + β)/2 + (α − β)·u/2κ of a gain.
    pub(super) fn factor(&self) -> [f64; 2] {
        [0.5 * (self.alpha + self.beta), (self.alpha - self.beta) / (2.0 * self.kappa)]
    }

    /// The smallest and the largest gain that a weight can have.
    fn limits(&self) -> [f64; 2] {
        match self.adaptation {
            Adaptation::Shrinking => [0.0, self.eta0],
            Adaptation::Printed => self.gain_range.map(|multiple| multiple * self.eta0),
        }
    }

    /// The gain that follows η after a period whose rate was γ.
    fn adapted(&self, eta: f64, gamma: f64) -> f64 {
        match self.adaptation {
            Adaptation::Shrinking => {
                let [centre, slope] = self.factor();
                eta * (centre + slope * gamma.clamp(-self.kappa, self.kappa))
            }
            Adaptation::Printed => {
                let ([low, high], [floor, ceiling]) = (self.gain_factor, self.limits());
                let factor = if gamma < 1.0 { 1.0 / (1.0 - gamma) } else { f64::INFINITY };
                (eta * factor.clamp(low, high)).clamp(floor, ceiling)
            }
        }
    }

    fn check_printed(&self) -> Result<()> {
        let &Psa { gain_factor: [low, high], gain_range: [floor, ceiling], .. } = self;
        let bounds = "two numbers, the first above 0 and at most 1, the second at least 1";
        require(low > 0.0 && low <= 1.0, "`gain_factor`", low, bounds)?;
        require(high >= 1.0, "`gain_factor`", high, bounds)?;
        require(floor > 0.0 && floor <= 1.0, "`gain_floor`", floor, "above 0 and at most 1")?;
        let most = 1e6;
        require(
            (1.0..=most).contains(&ceiling),
            "`gain_ceiling`",
            ceiling,
            "at least 1 and at most a million",
        )
    }
}

/// How a gain of [`Psa`] follows the rate γ of its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Adaptation {
    /// η ← η·((α + β)/2 + (α − β)·u/2κ) with u = sgn γ · min(|γ|, κ): a factor between β and α ≤ 1, so gains only
    /// fall. Like the printed factor it rises with γ, and it is never far from 1.
    ///
    /// This form and its constants, κ = 0.9, α = 0.9999, β = 0.99, are what other programs have under the name of Huang, Chang
    /// and Hsu 2007, to which ctjpgis-psa-2007 refers for the bounds of its factor. We have not seen that text.
    #[default]
    Shrinking,
    /// η ← η/(1 − γ), as ctjpgis-psa-2007 eq. 5 prints it, with the factor within `gain_factor` and the gain within
    /// `gain_range`. The paper constrains the factor too, and does not say to what: the bounds are ours. γ ≥ 1 means that the
    /// weight moves away ever faster, where 1/(1 − γ) has no meaning: the factor is then the largest one.
    ///
    /// Gains may grow. That of a weight that is not touched does, because the weight creeps back to the mean: `gain_range` is what
    /// bounds its next step. By default `gain_factor` is [0.9, 1.1] and `gain_range` [1e-4, 1]: a gain grows back to η₀ at most.
    Printed,
}

impl Optimizer for Psa {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        let &Psa { eta0, kappa, alpha, beta, period, .. } = self;
        require_gain(eta0)?;
        self.check_printed()?;
        require(kappa > 0.0 && kappa < 1.0, "`kappa`", kappa, "above 0 and below 1")?;
        require(alpha > 0.0 && alpha <= 1.0, "`alpha`", alpha, "above 0 and at most 1")?;
        require(beta > 0.0 && beta <= alpha, "`beta`", beta, "above 0 and at most `alpha`")?;
        let most = 1_000_000;
        require((1..=most).contains(&period), "`period`", period as f64, "at least 1 and at most a million")?;
        refuse_l1("psa", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let examples = problem.objective.examples().max(1);
        let schedule = Schedule { batch: self.schedule.batch.clamp(1, examples), ..self.schedule };
        let method = Psa { schedule, ..self.clone() };
        let mut rule = PsaRule::new(&method, problem.prior.clone(), examples as f64);
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

/// What is stored for a weight: its gain, and its distance from the prior's mean at the start and in the middle of
/// the period.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    pub eta: f64,
    pub start: f64,
    pub middle: f64,
}

/// PSA as a rule for the loop that all online methods share.
pub(super) struct PsaRule {
    method: Psa,
    prior: Prior,
    /// N.
    half: u32,
    /// The share of the penalty in a step, times 1/σ², for weights of single labels and of label pairs.
    pulls: [f64; 2],
    /// How several steps are applied at once; `None` if gains grow or are too large for series.
    series: Option<Series>,
    weights: Vec<Weight>,
    /// The number of steps for which all weights are up to date.
    settled: u32,
    /// Weights that still have to catch up.
    backlog: Backlog,
}

impl PsaRule {
    /// A rule for m = `examples`.
    pub(super) fn new(method: &Psa, prior: Prior, examples: f64) -> Self {
        let mut rule = PsaRule {
            method: method.clone(),
            half: method.period as u32,
            pulls: [0.0; 2],
            series: None,
            weights: Vec::new(),
            settled: 0,
            backlog: Default::default(),
            prior: Prior::gaussian(f64::INFINITY),
        };
        rule.set_prior(prior, examples);
        rule
    }

    /// Changes the prior and m from now on. All weights must be up to date.
    pub(super) fn set_prior(&mut self, prior: Prior, examples: f64) {
        let batch = match self.method.schedule.gradient {
            BatchGradient::Sum => self.method.schedule.batch as f64,
            BatchGradient::Mean => 1.0,
        };
        let share = batch * (1.0 / examples);
        self.pulls = [0, prior.first_pair].map(|i| share * prior.precision(i));
        self.series = match self.method.adaptation {
            // Gains only fall, so no later ηp is larger than the first one.
            Adaptation::Shrinking => {
                Series::new(&self.method, self.method.eta0 * self.pulls[0].max(self.pulls[1]))
            }
            Adaptation::Printed => None,
        };
        self.prior = prior;
    }

    pub(super) fn prior(&self) -> &Prior {
        &self.prior
    }

    /// Sets what is known of all weights.
    fn set_weights(&mut self, gains: &[f64], starts: &[f64], middles: &[f64]) {
        let weight = |((&eta, &start), &middle): ((&f64, &f64), &f64)| Weight { eta, start, middle };
        self.weights = gains.iter().zip(starts).zip(middles).map(weight).collect();
    }

    /// Moves what is known of all weights to a new layout: `place` makes the new vector of the old one and of what new weights
    /// begin with.
    pub(super) fn grow(&mut self, place: impl Fn(&[f64], f64) -> Vec<f64>) {
        let placed = |number: fn(&Weight) -> f64, fresh: f64| {
            place(&self.weights.iter().map(number).collect::<Vec<_>>(), fresh)
        };
        let gains = placed(|weight| weight.eta, self.method.eta0);
        let (starts, middles) = (placed(|weight| weight.start, 0.0), placed(|weight| weight.middle, 0.0));
        self.set_weights(&gains, &starts, &middles);
    }
    /// Takes whole periods off the steps, where all weights have just been brought up to date; returns what is left.
    pub(super) fn forget_periods(&mut self) -> u32 {
        self.settled %= 2 * self.half;
        self.settled
    }

    /// Brings rows up to the state before step `done` (counted from 0). Each row is of one kind and comes with the
    /// steps done by its last touch.
    fn catch_up(&mut self, theta: &mut [f64], rows: impl Iterator<Item = (Range<usize>, u32)>, done: u32) {
        let settled = self.settled;
        let rows = rows.map(|(range, last)| (range, last.max(settled)));
        match &self.series {
            // Rows that are up to date stay the same to the bit.
            None => rows
                .filter(|(_, age)| *age < done)
                .for_each(|(range, age)| self.step_by_step(theta, range, age, done)),
            Some(series) => {
                let PsaRule { prior, pulls, weights, backlog, .. } = self;
                series.catch_up(&mut At { prior, pulls: *pulls, theta, weights, backlog }, rows, done);
            }
        }
    }

    /// Like [`Self::catch_up`] for one row, half a period at a time. Where gains may grow, a weight that is not touched soon has
    /// the largest gain, or does not move at all: a whole period that leaves its gain as it was stands for all that follow.
    fn step_by_step(&mut self, theta: &mut [f64], range: Range<usize>, age: u32, done: u32) {
        let (p, period) = (self.pulls[self.prior.kind(range.start)], 2 * self.half);
        for (i, weight) in range.clone().zip(&mut self.weights[range]) {
            let mean = self.prior.mean(i);
            let (mut off, first, mut age) = (theta[i] - mean, age, age);
            while age < done {
                let (steps, eta) = ((self.half - age % self.half).min(done - age), weight.eta);
                off *= (1.0 - eta * p).powi(steps as i32);
                age += steps;
                note(&self.method, weight, age, off);
                let settled = age.is_multiple_of(period) && age - first >= 2 * period && weight.eta == eta;
                if settled && self.method.adaptation == Adaptation::Printed {
                    let rest = (done - age) / period * period;
                    off *= (1.0 - eta * p).powf(rest.into());
                    weight.start = off;
                    age += rest;
                }
            }
            theta[i] = mean + off;
        }
    }
}

/// Records that the weight has made its newest step, number `age`, and is at distance `off` from the mean. In the
/// middle of a period it stores that distance; at the end it adapts the gain and starts the next period.
fn note(method: &Psa, weight: &mut Weight, age: u32, off: f64) {
    let half = method.period as u32;
    match age % (2 * half) {
        0 => {
            let gamma = (off - weight.middle) / (weight.middle - weight.start);
            if !gamma.is_nan() {
                weight.eta = method.adapted(weight.eta, gamma);
            }
            weight.start = off;
        }
        phase if phase == half => weight.middle = off,
        _ => {}
    }
}

impl Rule for PsaRule {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        // The numbers of a row take several cache lines: prefetch both ends.
        let ends = |row: Range<usize>| self.weights[row.start].eta + self.weights[row.end - 1].middle;
        step.touched.expect_with(|row| theta[row.start] + ends(row));
        self.catch_up(theta, step.touched.filled().map(|(range, _, last)| (range, last)), step.done);
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let (done, prior) = (step.done + 1, &self.prior);
        for (range, mine, _) in step.touched.filled() {
            let p = self.pulls[prior.kind(range.start)];
            let weights = range.clone().zip(&self.weights[range.clone()]).zip(&mut theta[range]);
            for (((i, weight), x), g) in weights.zip(&gradient[mine]) {
                *x -= weight.eta * (g + p * (*x - prior.mean(i)));
            }
        }
        if done.is_multiple_of(self.half) {
            for i in step.touched.weights() {
                note(&self.method, &mut self.weights[i], done, theta[i] - prior.mean(i));
            }
        }
    }

    fn settle(&mut self, theta: &mut [f64], step: &Step) {
        self.catch_up(theta, step.stretches(theta.len(), &self.prior), step.done);
        self.settled = step.done;
    }

    fn save(&self, state: &mut State) {
        let mut save = |name: &str, number: fn(&Weight) -> f64| {
            state.vectors.insert(name.into(), self.weights.iter().map(number).collect());
        };
        save("gains", |weight| weight.eta);
        save("start", |weight| weight.start);
        save("middle", |weight| weight.middle);
        state.numbers.insert("settled".into(), self.settled.into());
    }

    fn restore(&mut self, steps: u32, state: &mut Restored) -> Result<()> {
        let (dim, eta) = (state.theta().len(), self.method.eta0);
        self.settled = state.count("settled", steps.into())? as u32;
        if !state.resumed() {
            let fresh = |(i, x): (usize, &f64)| {
                let off = x - self.prior.mean(i);
                Weight { eta, start: off, middle: off }
            };
            self.weights = state.theta().iter().enumerate().map(fresh).collect();
            return Ok(());
        }
        let gains = state.vector("gains", dim, eta, not_negative)?;
        // The series rely on gains that only fall, but for rounding.
        let [floor, ceiling] = self.method.limits();
        if gains.iter().any(|&gain| !(floor * (1.0 - 1e-6)..=ceiling * (1.0 + 1e-6)).contains(&gain)) {
            return Err(Restored::disagrees("gains"));
        }
        let [starts, middles] = ["start", "middle"].map(|name| state.vector(name, dim, 0.0, finite));
        self.set_weights(&gains, &starts?, &middles?);
        Ok(())
    }
}
