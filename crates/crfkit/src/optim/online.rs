//! The loop that all online methods share: passes over the examples in random order, one batch at a time.
//!
//! A step costs what its batch touches. The prior pulls at every weight in every step. So before the gradient of a
//! batch is computed, the rule brings the touched weights up to date with the prior; afterwards it updates them.

use super::dense_updates::DenseUpdates;
use super::restored::{Restored, finite, not_negative};
use super::{Control, Minimum, Objective, Prior, Problem, Progress, State, Stop, Touched, Watch};
use crate::ability::Ability;
use crate::math::random::Random;
use crate::{Error, Result};
use std::ops::Range;

/// The settings that online methods have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The number of examples in a batch.
    pub batch: usize,
    /// The number of passes over the data.
    pub passes: usize,
    /// The seed for the order of the examples.
    pub seed: u64,
    /// How the gradient of a batch is scaled.
    pub gradient: BatchGradient,
    /// Which weights a step moves.
    pub updates: Updates,
}

impl Default for Schedule {
    /// Batches of 8 (smd-crf-2006 section 4.1), 30 passes.
    fn default() -> Self {
        Schedule { batch: 8, passes: 30, seed: 1, gradient: BatchGradient::Sum, updates: Updates::Lazy }
    }
}

impl Schedule {
    /// Turns the sum over a batch into the gradient that a step uses.
    pub(super) fn scale(&self, batch: &[u32], sum: &mut [f64]) {
        if self.gradient == BatchGradient::Mean && batch.len() > 1 {
            let scale = 1.0 / batch.len() as f64;
            sum.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

/// The gradient of a batch of b examples out of m.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchGradient {
    /// The sum of the examples' gradients + b/m of the penalty's gradient (smd-crf-2006 eq. 17).
    Sum,
    /// That sum divided by b (ctjpgis-psa-2007 section 3).
    Mean,
}

/// Which weights a step moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Updates {
    /// The weights that the batch touches. Each other weight catches up on its missed steps when it is touched again.
    /// A step costs what its batch touches.
    Lazy,
    /// All weights, as in the papers. The cost of a step is the number of weights.
    Dense,
}

/// The context of a step.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    /// The weights that its batch touches.
    pub touched: &'a Touched,
    /// The number of steps done before.
    pub done: u32,
    pub clock: Clock,
}

impl Step<'_> {
    /// The share of the penalty that belongs to this step.
    pub(super) fn share(&self) -> f64 {
        self.clock.penalty(self.done, self.done + 1)
    }

    /// The share of the penalty of all steps after the first `steps`, up to and including this one.
    pub(super) fn due(&self, steps: u32) -> f64 {
        self.clock.penalty(steps, self.done + 1)
    }

    /// Like [`Step::due`], without this step.
    pub(super) fn since(&self, steps: u32) -> f64 {
        self.clock.penalty(steps, self.done)
    }

    /// All `dim` weights, in stretches of one kind that were last touched together, with the number of steps done by
    /// then. The weights of a stretch can catch up on missed steps together.
    pub(super) fn stretches(
        &self,
        dim: usize,
        prior: &Prior,
    ) -> impl Iterator<Item = (Range<usize>, u32)> + use<> {
        let (last, first_pair) = (self.touched.last_by_weight(dim), prior.first_pair.min(dim));
        let mut start = 0;
        std::iter::from_fn(move || {
            let steps = *last.get(start)?;
            let end = if start < first_pair { first_pair } else { dim };
            let end = (start + 1..end).find(|&i| last[i] != steps).unwrap_or(end);
            Some((std::mem::replace(&mut start, end)..end, steps))
        })
    }
}

/// How much of the penalty belongs to which steps. With the sum over a batch it is the batch's share of the data,
/// even if the last batch of a pass is small; with the mean it is 1/m.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    gradient: BatchGradient,
    batch: u64,
    /// How many examples the last batch of a pass is short of a full batch.
    missing: u64,
    /// 1 / batches in a pass, and 1 / examples.
    batches: f64,
    examples: f64,
}

impl Clock {
    pub(super) fn new(schedule: &Schedule, examples: usize) -> Self {
        let examples = examples.max(1);
        let batch = schedule.batch.clamp(1, examples);
        let batches = examples.div_ceil(batch);
        Clock {
            gradient: schedule.gradient,
            batch: batch as u64,
            missing: (batches * batch - examples) as u64,
            batches: 1.0 / batches as f64,
            examples: 1.0 / examples as f64,
        }
    }

    /// The number of examples seen after this many steps.
    #[inline]
    fn examples(&self, steps: u32) -> u64 {
        // Adding half a batch keeps rounding away from whole passes.
        let passes = ((f64::from(steps) + 0.5) * self.batches) as u64;
        u64::from(steps) * self.batch - passes * self.missing
    }

    /// The share of the penalty between two step numbers.
    #[inline]
    pub(super) fn penalty(&self, from: u32, to: u32) -> f64 {
        let parts = match self.gradient {
            BatchGradient::Sum => self.examples(to) - self.examples(from),
            BatchGradient::Mean => u64::from(to - from),
        };
        parts as f64 * self.examples
    }
}

/// One online method: how the weights move.
pub(super) trait Rule {
    /// Brings the touched weights up to date before the gradient of their batch is computed.
    fn refresh(&mut self, theta: &mut [f64], step: &Step);
    /// The direction in which the rule needs the derivative of the gradient, if any.
    fn direction(&self) -> Option<&[f64]> {
        None
    }
    /// Receives the loss of the batch, before the weights move.
    fn loss(&mut self, _loss: f64) {}
    /// Moves the touched weights along the gradient of the batch's loss. `gradient` and `hess_vec` (H·v) hold the
    /// touched rows one after another; `hess_vec` is empty if there is no direction.
    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], hess_vec: &[f64]);
    /// Brings all weights up to date at the end of a pass.
    fn settle(&mut self, theta: &mut [f64], step: &Step);
    /// The weights to return instead of the settled ones, if they differ.
    fn averaged(&self) -> Option<Vec<f64>> {
        None
    }
    /// How many weights became non-finite in the last update, so that what the rule remembers about them was reset.
    fn resets(&self) -> usize {
        0
    }
    /// Advice for the user if the method diverges.
    fn remedy(&self) -> &'static str {
        "use a smaller step (`eta0`) or a smaller `sigma`"
    }
    /// Adds to `state` everything that the rule remembers.
    fn save(&self, state: &mut State);
    /// Restores it after this many steps; `state` may be fresh.
    fn restore(&mut self, steps: u32, state: &mut Restored) -> Result<()>;
}

/// The fractions of the first pass after which progress is reported.
const REPORTS: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/// Steps that are too long make losses large, but not always infinite. A run has exploded if the losses in a pass are
/// more than this many times those of the first batch (taken as at least 1). Noise does not cause that. (The losses
/// of the perceptron grow with its weights, whose size does not matter.)
const EXPLODED: f64 = 1000.0;

/// Whether progress is reported after `done` of the `all` steps of the first pass.
pub(super) fn report_due(done: usize, all: usize) -> bool {
    REPORTS.iter().any(|share| (share * all as f64).ceil() as usize == done)
}

/// Runs `rule` over `schedule.passes` passes.
pub(super) fn run(
    problem: &Problem,
    schedule: &Schedule,
    rule: &mut dyn Rule,
    state: State,
    watch: &mut dyn Watch,
) -> Result<Minimum> {
    let dense = DenseUpdates::new(problem);
    let objective: &dyn Objective = match schedule.updates {
        Updates::Lazy => problem.objective,
        Updates::Dense => &dense,
    };
    let examples = objective.examples();
    let clock = Clock::new(schedule, examples);
    let batch = schedule.batch.clamp(1, examples.max(1));
    let steps_a_pass = examples.div_ceil(batch).max(1) as u64;
    let last_step = steps_a_pass * schedule.passes as u64;
    let mut state = Restored::new(state, objective.dim())?;
    let mut step = state.count("step", last_step.min(u32::MAX.into()))?;
    rule.restore(step as u32, &mut state)?;
    let mut pass_loss = state.number("pass_loss", 0.0, finite)?;
    let mut first_loss = state.number("first_loss", 0.0, not_negative)?;
    let measured = objective.provides().contains(&Ability::Smooth);
    let before = state.passes("passes_before")?;
    let (mut gradient, mut hess_vec) = (Vec::new(), Vec::new());
    let mut touched = Touched::restore(step as u32, objective, &mut state)?;
    let mut theta = state.take_theta();
    let mut order = Vec::new();
    let mut stop = Stop::Passes;
    while step < last_step {
        let (pass, at) = (step / steps_a_pass, (step % steps_a_pass) as usize);
        if order.is_empty() || at == 0 {
            // The order of a pass depends only on the seed and the pass, so a resumed run finds it again.
            order = (0..examples as u32).collect();
            Random::stream(schedule.seed, pass).shuffle(&mut order);
        }
        let (examples_now, later) = order[at * batch..].split_at(batch.min(examples - at * batch));
        objective.touched(examples_now, &mut touched);
        let now = Step { touched: &touched, done: step as u32, clock };
        step += 1;
        rule.refresh(&mut theta, &now);
        let loss = match rule.direction() {
            None => objective.batch_grad(examples_now, &theta, &touched, &mut gradient),
            Some(v) => {
                objective.batch_hess_vec(examples_now, [&theta, v], &touched, &mut gradient, &mut hess_vec)
            }
        };
        if !loss.is_finite() {
            return Err(Error::Diverged {
                passes: before + step as f64 / steps_a_pass as f64,
                message: format!("a batch has an infinite loss; {}", problem.prior.advice(rule.remedy())),
            });
        }
        schedule.scale(examples_now, &mut gradient);
        schedule.scale(examples_now, &mut hess_vec);
        rule.loss(loss);
        rule.update(&mut theta, &now, &gradient, &hess_vec);
        objective.expect(&later[..batch.min(later.len())]);
        pass_loss += loss;
        if first_loss == 0.0 {
            first_loss = (loss / examples_now.len() as f64).max(1.0);
        }
        let done = at + 1;
        let whole = done as u64 == steps_a_pass;
        let mean_loss = pass_loss / examples as f64;
        if whole && measured && mean_loss > EXPLODED * first_loss {
            return Err(Error::Diverged {
                passes: before + step as f64 / steps_a_pass as f64,
                message: format!(
                    "the mean loss of this pass is {mean_loss:.3e}, that of the first batch was {first_loss:.3e}; {}",
                    problem.prior.advice(rule.remedy())
                ),
            });
        }
        let seen = done as f64 / steps_a_pass as f64;
        let report = pass == 0 && report_due(done, steps_a_pass as usize);
        if rule.resets() > 0 {
            watch.reset(before + pass as f64 + seen, rule.resets())?;
        }
        let mut averaged = None;
        if whole {
            rule.settle(&mut theta, &Step { done: step as u32, ..now });
            averaged = rule.averaged();
        }
        let answer = averaged.as_ref().unwrap_or(&theta);
        // The losses of the pass so far, each at the weights of its time, scaled to a whole pass, plus the present
        // penalty.
        let value = (whole || report).then(|| pass_loss / seen + problem.penalty(answer));
        let progress = Progress {
            passes: before + pass as f64 + seen,
            objective: value,
            gradient_norm: None,
            gap: None,
            theta: whole.then_some(&answer[..]),
        };
        if whole {
            pass_loss = 0.0;
        }
        let build = || {
            let mut state = State::start(theta.clone());
            rule.save(&mut state);
            touched.save(&mut state);
            let numbers = [
                ("step", step as f64),
                ("pass_loss", pass_loss),
                ("first_loss", first_loss),
                ("passes_before", before),
            ];
            for (name, number) in numbers {
                state.numbers.insert(name.into(), number);
            }
            state
        };
        if watch.step(&progress, &build)? == Control::Stop {
            stop = Stop::Watch;
            break;
        }
    }
    rule.settle(&mut theta, &Step { touched: &touched, done: step as u32, clock });
    let theta = rule.averaged().unwrap_or(theta);
    Ok(Minimum { theta, stop, passes: before + step as f64 / steps_a_pass as f64 })
}
