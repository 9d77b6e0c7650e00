//! Stochastic gradient descent.

use super::adagrad::soft_threshold;
use super::average::Average;
use super::online::{self, Rule, Schedule, Step, require, stretch};
use super::{Minimum, Optimizer, Problem, State, Watch};
use crate::ability::Ability;
use crate::{Error, Result};
use std::ops::Range;

/// Plain gradient steps with one gain for all weights.
///
/// Idea: θ ← θ − η_t (g + (b/m)(θ − mean)/σ²) with g the summed gradient of a batch (or both divided by b, see
/// [`super::BatchGradient`]) and η_t by a [`Gain`]. Untouched weights only decay towards the mean: the product of the decays is kept
/// as one number and applied when a weight is touched, which gives the dense iteration exactly. L1 by soft thresholding after
/// each step; untouched weights make up for the missed ones at once, with the sum of the gains. The mean of the iterates costs
/// no more than the touched weights either.
///
/// Needs: gradients of batches. Parameters: η₀ = 0.1, fixed, b = 8, no average. SGD, ASG, Bottou's SGD and averaged SGD are
/// [`Sgd::fixed`], [`Sgd::annealed`], [`Sgd::bottou`] and [`Sgd::averaged`]. References: smd-crf-2006 sections 3.1, 4.1 and 5; Bottou
/// 2010 for his schedule and the calibration; Polyak and Juditsky 1992 for the average.
#[derive(Clone, Debug)]
pub struct Sgd {
    /// η₀; `None` to calibrate it.
    pub eta0: Option<f64>,
    /// How the gain goes on from there.
    pub gain: Gain,
    /// The result is the mean of the iterates after so many passes; `None` for the last one.
    pub average_from: Option<f64>,
    /// Batches and passes.
    pub schedule: Schedule,
}

/// The gain η_t of step t, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// η₀ (smd-crf-2006 section 4).
    Fixed,
    /// η₀/t, "ASG" (smd-crf-2006 section 5).
    Annealed,
    /// η₀/(1 + η₀·s_t/σ²) with s_t the share of the penalty in the steps before: the passes done, for a sum of gradients.
    Bottou,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd::fixed(Some(Sgd::ETA0), Schedule::default())
    }
}

impl Sgd {
    /// η₀ of the papers.
    pub const ETA0: f64 = 0.1;
    /// Passes where none are asked for.
    pub const PASSES: usize = 30;

    /// `sgd`: a fixed gain.
    pub fn fixed(eta0: Option<f64>, schedule: Schedule) -> Self {
        Sgd { eta0, gain: Gain::Fixed, average_from: None, schedule }
    }

    /// `asg`: η₀/t.
    pub fn annealed(eta0: Option<f64>, schedule: Schedule) -> Self {
        Sgd { gain: Gain::Annealed, ..Sgd::fixed(eta0, schedule) }
    }

    /// `bottou`: a gain that the prior anneals.
    pub fn bottou(eta0: Option<f64>, schedule: Schedule) -> Self {
        Sgd { gain: Gain::Bottou, ..Sgd::fixed(eta0, schedule) }
    }

    /// `asgd`: Bottou's gain, and the mean of the iterates after the first pass.
    pub fn averaged(eta0: Option<f64>, schedule: Schedule) -> Self {
        Sgd { average_from: Some(1.0), ..Sgd::bottou(eta0, schedule) }
    }
}

impl Optimizer for Sgd {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn minimize(&self, problem: &Problem, mut state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        if let Some(eta0) = self.eta0 {
            require(eta0 > 0.0 && eta0.is_finite(), "eta0", eta0, "a positive number")?;
        }
        if let Some(from) = self.average_from {
            require(from >= 0.0 && from.is_finite(), "the first averaged pass", from, "0 or more")?;
            if problem.l1 > 0.0 {
                return Err(Error::Setting(
                    "a mean of iterates has none of the zeros that an L1 penalty is for; drop the average or --l1"
                        .into(),
                ));
            }
        }
        let eta0 = match (self.eta0, state.numbers.get("eta0")) {
            (_, Some(&eta0)) => eta0,
            (Some(eta0), None) => eta0,
            (None, None) => {
                let (eta0, cost) = self.calibrate(problem, &state.theta);
                *state.numbers.entry("passes_before".into()).or_insert(0.0) += cost;
                eta0
            }
        };
        let mut rule = SgdRule::new(self, problem, eta0);
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

/// A gain so large that a weight would cross the mean of its prior takes it there, or as good as.
const STRONGEST_PULL: f64 = 1.0 - 1e-9;
/// ln of the decay at which all weights are brought up to date: far from where digits are lost.
const STRONGEST_DECAY: f64 = -8.0;

pub(super) struct SgdRule<'a> {
    problem: &'a Problem<'a>,
    gain: Gain,
    eta0: f64,
    /// ln Π (1 − η_t·share/σ²) since all weights were up to date, for weights of single labels and of label pairs.
    decay: [f64; 2],
    /// The decay that each weight has seen; weights of a row have seen the same.
    seen: Vec<f64>,
    /// Σ η_t·share·l1 so far, and what each weight has seen of it (empty without L1).
    shrink: f64,
    shrunk: Vec<f64>,
    average: Option<Average>,
}

impl<'a> SgdRule<'a> {
    pub fn new(method: &Sgd, problem: &'a Problem<'a>, eta0: f64) -> Self {
        let examples = problem.objective.examples().max(1);
        let steps_a_pass = examples.div_ceil(method.schedule.batch.clamp(1, examples));
        let first = |passes: f64| Average::new((passes * steps_a_pass as f64).ceil() as u32);
        SgdRule {
            problem,
            gain: method.gain,
            eta0,
            decay: [0.0; 2],
            seen: Vec::new(),
            shrink: 0.0,
            shrunk: Vec::new(),
            average: method.average_from.map(first),
        }
    }

    /// η_t.
    fn gain(&self, step: &Step) -> f64 {
        match self.gain {
            Gain::Fixed => self.eta0,
            Gain::Annealed => self.eta0 / (f64::from(step.done) + 1.0),
            Gain::Bottou => self.eta0 / (1.0 + self.eta0 * self.problem.prior.precision(0) * step.since(0)),
        }
    }

    /// Applies the decay that the weights in `range`, all of one age and kind, have missed.
    fn catch_up_decay(&mut self, theta: &mut [f64], range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let prior = &self.problem.prior;
        let (decay, seen) = (self.decay[prior.kind(range.start)], self.seen[range.start]);
        if seen != decay {
            let factor = (decay - seen).exp();
            for i in range.clone() {
                let mean = prior.mean(i);
                theta[i] = mean + (theta[i] - mean) * factor;
            }
            self.seen[range].fill(decay);
        }
    }

    /// Applies the shrinking by L1 that the weights in `range` have missed.
    fn catch_up_shrinking(&mut self, theta: &mut [f64], range: Range<usize>) {
        if self.problem.l1 > 0.0 {
            for i in range {
                theta[i] = soft_threshold(theta[i], self.shrink - self.shrunk[i]);
                self.shrunk[i] = self.shrink;
            }
        }
    }

    /// Brings all weights up to date and counts decays from here.
    fn settle_all(&mut self, theta: &mut [f64]) {
        let prior = &self.problem.prior;
        let mut start = 0;
        while start < theta.len() {
            let range = stretch(start, theta.len(), prior, |i| self.seen[i]);
            start = range.end;
            self.catch_up_decay(theta, range);
        }
        self.catch_up_shrinking(theta, 0..theta.len());
        if let Some(average) = &mut self.average {
            average.settle(theta, prior, self.decay.map(f64::exp));
        }
        self.decay = [0.0; 2];
        self.seen.fill(0.0);
    }
}

impl Rule for SgdRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        step.touched.expect_rows(theta, 0);
        step.touched.expect_rows(&self.seen, 0);
        for (range, _) in step.touched.filled() {
            self.catch_up_decay(theta, range.clone());
            self.catch_up_shrinking(theta, range);
        }
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let (eta, share) = (self.gain(step), step.share());
        let prior = &self.problem.prior;
        let precisions = [0, prior.first_pair].map(|i| prior.precision(i));
        let shares = precisions.map(|precision| share.min(STRONGEST_PULL / (eta * precision)));
        for kind in 0..2 {
            self.decay[kind] += (-eta * shares[kind] * precisions[kind]).ln_1p();
        }
        let products = self.decay.map(f64::exp);
        self.shrink += eta * share * self.problem.l1;
        for (range, mine) in step.touched.filled() {
            let kind = prior.kind(range.start);
            let (pull, decay) = (shares[kind] * precisions[kind], self.decay[kind]);
            let seen = self.seen[range.clone()].iter_mut();
            let weights = range.clone().zip(&mut theta[range.clone()]).zip(seen);
            for (((i, x), seen), g) in weights.zip(&gradient[mine.clone()]) {
                *x -= eta * (g + pull * (*x - prior.mean(i)));
                *seen = decay;
            }
            if let Some(average) = &mut self.average {
                average.moved(kind, range.clone(), eta, &gradient[mine], products[kind]);
            }
            self.catch_up_shrinking(theta, range.clone());
        }
        if let Some(average) = &mut self.average {
            average.count(step.done, products);
        }
        if self.decay.iter().any(|decay| *decay < STRONGEST_DECAY) {
            self.settle_all(theta);
        }
    }

    fn settle(&mut self, theta: &mut [f64], _: &Step) {
        self.settle_all(theta);
    }

    fn averaged(&self) -> Option<Vec<f64>> {
        self.average.as_ref().and_then(|average| average.mean(&self.problem.prior))
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("seen".into(), self.seen.clone());
        state.vectors.insert("shrunk".into(), self.shrunk.clone());
        for (name, number) in [
            ("eta0", self.eta0),
            ("decay", self.decay[0]),
            ("decay_pairs", self.decay[1]),
            ("shrink", self.shrink),
        ] {
            state.numbers.insert(name.into(), number);
        }
        if let Some(average) = &self.average {
            average.save(state);
        }
    }

    fn restore(&mut self, state: &mut State) {
        self.seen = state.take("seen");
        self.seen.resize(state.theta.len(), 0.0);
        self.shrunk = state.take("shrunk");
        self.shrunk.resize(if self.problem.l1 > 0.0 { state.theta.len() } else { 0 }, 0.0);
        self.decay = [state.number("decay"), state.number("decay_pairs")];
        self.shrink = state.number("shrink");
        if let Some(average) = &mut self.average {
            average.restore(state);
        }
    }
}
