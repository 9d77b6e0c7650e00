//! Stochastic gradient descent.

use super::adagrad::soft_threshold;
use super::average::Average;
use super::checks::{require, require_gain};
use super::fours::{four, in_fours, put_four, with_known_length};
use super::online::{self, Rule, Schedule, Step};
use super::restored::{Restored, not_negative, positive};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::ability::Ability;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use crate::{Error, Result};
use fearless_simd::prelude::*;
use std::ops::Range;

/// Plain gradient steps with one gain for all weights.
///
/// Idea: θ ← θ − η_t (g + (b/m)(θ − mean)/σ²), where g is the summed gradient of a batch (or both terms are divided
/// by b, see [`super::BatchGradient`]) and η_t follows a [`Gain`]. Untouched weights only decay towards the mean. The
/// product of all decays is stored after each step, and a touched weight is multiplied by its quotient since the last
/// touch, which gives the dense iteration exactly. L1 is applied by soft thresholding after each step; untouched
/// weights catch up on the missed steps at once, with the sum of the gains. The mean of the iterates costs no more
/// than the touched weights either.
///
/// Needs: gradients of batches. Parameters: η₀ = 0.1, fixed, b = 8, no average. SGD, ASG, Bottou's SGD and averaged
/// SGD are [`Sgd::fixed`], [`Sgd::annealed`], [`Sgd::bottou`] and [`Sgd::averaged`]. References: smd-crf-2006
/// sections 3.1, 4.1 and 5; Bottou 2010 for his schedule and the calibration; Polyak and Juditsky 1992 for the
/// average.
#[derive(Clone, Debug)]
pub struct Sgd {
    /// η₀; `None` calibrates it.
    pub eta0: Option<f64>,
    /// How the gain changes from there.
    pub gain: Gain,
    /// The result is the mean of the iterates after this many passes; with `None`, the last iterate.
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
    /// η₀/(1 + η₀·s_t/σ²), where s_t is the share of the penalty in the steps before. For a sum of gradients that is
    /// the number of passes done.
    Bottou,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd::fixed(Some(Sgd::ETA0), Schedule::default())
    }
}

impl Sgd {
    /// The η₀ of the papers.
    pub const ETA0: f64 = 0.1;
    /// The default number of passes.
    pub const PASSES: usize = 30;

    /// `sgd`: a fixed gain.
    pub fn fixed(eta0: Option<f64>, schedule: Schedule) -> Self {
        Sgd { eta0, gain: Gain::Fixed, average_from: None, schedule }
    }

    /// `asg`: η₀/t.
    pub fn annealed(eta0: Option<f64>, schedule: Schedule) -> Self {
        Sgd { gain: Gain::Annealed, ..Sgd::fixed(eta0, schedule) }
    }

    /// `bottou`: a gain that decreases at a rate set by the prior.
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

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        self.eta0.map_or(Ok(()), require_gain)?;
        if let Some(from) = self.average_from {
            require(from >= 0.0 && from.is_finite(), "the first averaged pass", from, "0 or more")?;
            if l1 > 0.0 {
                return Err(Error::Setting(
                    "a mean of iterates has none of the zeros that an L1 penalty is for; drop the average or `l1`"
                        .into(),
                ));
            }
        }
        Ok(())
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut state = Restored::new(state, problem.objective.dim())?;
        let eta0 = match self.eta0 {
            _ if state.resumed() => state.number("eta0", 0.0, positive)?,
            Some(eta0) => eta0,
            None => {
                let (eta0, cost) = self.calibrate(problem, state.theta());
                state.add_passes("passes_before", cost);
                eta0
            }
        };
        let mut rule = SgdRule::new(self, problem, eta0);
        online::run(problem, &self.schedule, &mut rule, state.into_state(), watch)
    }
}

/// A gain so large that a weight would cross the mean of its prior takes it almost exactly to the mean.
const STRONGEST_PULL: f64 = 1.0 - 1e-9;
/// At this decay all weights are brought up to date, long before digits are lost.
const STRONGEST_DECAY: f64 = 1e-4;
/// After this many steps all weights are brought up to date in any case: the record of past steps must not grow for
/// ever.
const LONGEST_PAST: usize = 1 << 16;

/// The decay and shrinkage of all weights since they were last up to date.
#[derive(Clone, Copy)]
struct Undergone {
    /// Π (1 − η_t·share/σ²), for weights of single labels and of label pairs.
    decay: [f64; 2],
    /// Σ η_t·share·l1.
    shrink: f64,
}

impl Undergone {
    const NOTHING: Undergone = Undergone { decay: [1.0; 2], shrink: 0.0 };
}

pub(super) struct SgdRule<'a> {
    problem: &'a Problem<'a>,
    gain: Gain,
    eta0: f64,
    /// The number of steps for which all weights are up to date.
    settled: u32,
    /// The decay and shrinkage after each step since then. A weight's last touch tells how much of it the weight has
    /// already received.
    past: Vec<Undergone>,
    average: Option<Average>,
}

impl<'a> SgdRule<'a> {
    pub(super) fn new(method: &Sgd, problem: &'a Problem<'a>, eta0: f64) -> Self {
        let examples = problem.objective.examples().max(1);
        let steps_a_pass = examples.div_ceil(method.schedule.batch.clamp(1, examples));
        let first = |passes: f64| Average::new((passes * steps_a_pass as f64).ceil() as u32);
        SgdRule {
            problem,
            gain: method.gain,
            eta0,
            settled: 0,
            past: vec![Undergone::NOTHING],
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

    /// The decay and shrinkage up to now.
    fn now(&self) -> Undergone {
        self.past[self.past.len() - 1]
    }

    /// Applies what the weights in `range` have missed. They are all of one kind and were last touched after `last`
    /// steps.
    #[inline(always)]
    fn catch_up<S: Simd>(&self, simd: S, theta: &mut [f64], range: Range<usize>, last: u32, now: &Undergone) {
        let prior = &self.problem.prior;
        let (kind, seen) = (prior.kind(range.start), &self.past[last.saturating_sub(self.settled) as usize]);
        if seen.decay[kind] != now.decay[kind] {
            let factor = now.decay[kind] / seen.decay[kind];
            for part in in_fours(range.clone()) {
                with_known_length!(part => {
                    let mean = prior.four_means(simd, part.clone());
                    let theta = &mut theta[part];
                    put_four(mean + (four(simd, theta) - mean) * factor, theta);
                })
            }
        }
        if self.problem.l1 > 0.0 {
            theta[range].iter_mut().for_each(|x| *x = soft_threshold(*x, now.shrink - seen.shrink));
        }
    }

    /// Brings all weights up to date, after `step.done` steps, and restarts the record.
    fn settle_all(&mut self, theta: &mut [f64], step: &Step) {
        let (prior, now) = (&self.problem.prior, self.now());
        dispatch!(simd::level(), simd => for (range, last) in step.stretches(theta.len(), prior) {
            self.catch_up(simd, theta, range, last, &now);
        });
        if let Some(average) = &mut self.average {
            average.settle(theta, prior, now.decay);
        }
        self.settled = step.done;
        self.past.clear();
        self.past.push(Undergone::NOTHING);
    }
}

impl Rule for SgdRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        match &self.average {
            Some(average) => average.expect(theta, step.touched),
            None => step.touched.expect_rows(theta, 0),
        }
        let now = self.now();
        dispatch!(simd::level(), simd => for (range, _, last) in step.touched.filled() {
            self.catch_up(simd, theta, range, last, &now);
        });
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let (eta, share, l1) = (self.gain(step), step.share(), self.problem.l1);
        let prior = &self.problem.prior;
        let pulls = [0, prior.first_pair].map(|i| (share * prior.precision(i)).min(STRONGEST_PULL / eta));
        let mut now = self.now();
        now.decay.iter_mut().zip(pulls).for_each(|(decay, pull)| *decay *= 1.0 - eta * pull);
        now.shrink += eta * share * l1;
        self.past.push(now);
        let scales = self.average.as_ref().map_or([0.0; 2], |average| average.scales(eta, now.decay));
        for (range, mine, _) in step.touched.filled() {
            let (kind, g) = (prior.kind(range.start), &gradient[mine]);
            for ((i, x), g) in range.clone().zip(&mut theta[range.clone()]).zip(g) {
                *x -= eta * (g + pulls[kind] * (*x - prior.mean(i)));
            }
            if l1 > 0.0 {
                theta[range.clone()].iter_mut().for_each(|x| *x = soft_threshold(*x, eta * share * l1));
            }
            if let Some(average) = &mut self.average {
                average.moved(range, g, scales[kind]);
            }
        }
        if let Some(average) = &mut self.average {
            average.count(step.done, now.decay);
        }
        let decayed = now.decay.iter().any(|decay| *decay < STRONGEST_DECAY);
        if decayed || self.past.len() > LONGEST_PAST {
            self.settle_all(theta, &Step { done: step.done + 1, ..*step });
        }
    }

    fn settle(&mut self, theta: &mut [f64], step: &Step) {
        self.settle_all(theta, step);
    }

    fn averaged(&self) -> Option<Vec<f64>> {
        self.average.as_ref().and_then(|average| average.mean(&self.problem.prior))
    }

    fn save(&self, state: &mut State) {
        let mut save = |name: &str, number: fn(&Undergone) -> f64| {
            state.vectors.insert(name.into(), self.past.iter().map(number).collect());
        };
        save("decay", |then| then.decay[0]);
        save("decay_pairs", |then| then.decay[1]);
        save("shrink", |then| then.shrink);
        state.numbers.insert("eta0".into(), self.eta0);
        state.numbers.insert("settled".into(), self.settled.into());
        if let Some(average) = &self.average {
            average.save(state);
        }
    }

    fn restore(&mut self, steps: u32, state: &mut Restored) -> Result<()> {
        self.settled = state.count("settled", steps.into())? as u32;
        if state.resumed() {
            // One for each number of steps since all weights were up to date.
            let len = (steps - self.settled) as usize + 1;
            let share = |x: f64| x > 0.0 && x <= 1.0;
            let decay = state.vector("decay", len, 1.0, share)?;
            let pairs = state.vector("decay_pairs", len, 1.0, share)?;
            let shrink = state.vector("shrink", len, 0.0, not_negative)?;
            let then = |((&decay, &pairs), &shrink): ((&f64, &f64), &f64)| Undergone {
                decay: [decay, pairs],
                shrink,
            };
            self.past = decay.iter().zip(&pairs).zip(&shrink).map(then).collect();
        }
        match &mut self.average {
            Some(average) => average.restore(steps, state),
            None => Ok(()),
        }
    }
}
