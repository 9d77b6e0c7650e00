//! Periodic step-size adaptation in one pass over a stream.

use super::online::{Clock, Rule, Schedule, Step};
use super::psa::PsaRule;
use super::{Objective, Optimizer, Prior, Psa, Touched};
use crate::{Error, Result};

/// PSA over examples that are seen once and then forgotten, with a number of weights that grows on the way.
///
/// Idea: the step of [`Psa`] on each batch as it comes (ctjpgis-psa-2007 section 5: one pass is enough). Nothing is
/// stored for an example; a gain and two snapshots are stored for each weight. A new weight starts with the first
/// gain, like a weight that was never touched in an ordinary run.
///
/// The prior's share of a step is 1/m, with m the number of examples in the whole stream. If m is not given, it is
/// the number of examples so far, rounded up to a power of two and at least 1,024. The prior then has more weight
/// than in an ordinary pass, because the first examples cannot know how many will follow.
pub(crate) struct PsaStream {
    rule: PsaRule,
    theta: Vec<f64>,
    touched: Touched,
    schedule: Schedule,
    clock: Clock,
    step: u32,
    /// m, and whether it was given.
    examples: u64,
    told: bool,
    seen: u64,
    batch: Vec<u32>,
    gradient: Vec<f64>,
}

/// After this many steps, the count of steps restarts.
const LAST_STEP: u32 = 1 << 31;
/// The first estimate of m.
const EXAMPLES: u64 = 1024;

impl PsaStream {
    /// A stream without weights; `examples` is m, if it is known.
    pub(crate) fn new(method: &Psa, prior: Prior, examples: Option<u64>) -> Result<Self> {
        method.check(&prior, 0.0)?;
        let told = examples.is_some();
        let examples = examples.unwrap_or(EXAMPLES).max(1);
        Ok(PsaStream {
            rule: PsaRule::new(method, prior, examples as f64),
            theta: Vec::new(),
            touched: Touched::default(),
            schedule: method.schedule,
            clock: Clock::new(&method.schedule, examples as usize),
            step: 0,
            examples,
            told,
            seen: 0,
            batch: Vec::new(),
            gradient: Vec::new(),
        })
    }

    /// Moves every vector over the weights to a new layout. `place` makes the new vector from the old one and from
    /// the initial value of new weights.
    pub(crate) fn grow(&mut self, prior: Prior, place: impl Fn(&[f64], f64) -> Vec<f64>) {
        self.settle();
        self.rule.grow(&place);
        self.theta = place(&self.theta, 0.0);
        self.rule.set_prior(prior, self.examples as f64);
        self.forget_rows();
    }

    /// One step on all examples of `objective`; returns the sum of their losses before it. Weights for which `moves`
    /// is false stay.
    pub(crate) fn step(&mut self, objective: &dyn Objective, moves: impl Fn(usize) -> bool) -> Result<f64> {
        let examples = objective.examples();
        self.seen += examples as u64;
        self.batch.clear();
        self.batch.extend(0..examples as u32);
        self.keep_count();
        objective.touched(&self.batch, &mut self.touched);
        let now = Step { touched: &self.touched, done: self.step, clock: self.clock };
        self.rule.refresh(&mut self.theta, &now);
        let loss = objective.batch_grad(&self.batch, &self.theta, &self.touched, &mut self.gradient);
        if !loss.is_finite() {
            return Err(Error::Diverged {
                passes: self.seen as f64 / self.examples as f64,
                message: format!("a batch has an infinite loss; {}", self.rule.remedy()),
            });
        }
        self.schedule.scale(&self.batch, &mut self.gradient);
        for (range, place, _) in self.touched.filled() {
            let stays = range.zip(&mut self.gradient[place]).filter(|(i, _)| !moves(*i));
            stays.for_each(|(_, g)| *g = 0.0);
        }
        self.rule.update(&mut self.theta, &now, &self.gradient, &[]);
        self.step += 1;
        Ok(loss)
    }

    /// Increases m when there are more examples than estimated, and keeps the step count from overflowing.
    fn keep_count(&mut self) {
        let outgrown = !self.told && self.seen > self.examples;
        if outgrown || self.step >= LAST_STEP {
            self.settle();
            self.step = self.rule.forget_periods();
            self.forget_rows();
        }
        if outgrown {
            self.examples = self.seen.next_power_of_two();
            let prior = self.rule.prior().clone();
            self.rule.set_prior(prior, self.examples as f64);
        }
    }

    /// Discards the rows, because they are different from now on or counted by other steps. All weights must be up to
    /// date.
    fn forget_rows(&mut self) {
        self.touched = Touched::after(self.step);
    }

    fn settle(&mut self) {
        let now = Step { touched: &self.touched, done: self.step, clock: self.clock };
        self.rule.settle(&mut self.theta, &now);
    }

    /// The weights as they are now.
    pub(crate) fn theta(&mut self) -> &[f64] {
        self.settle();
        &self.theta
    }

    /// The penalty of these weights.
    pub(crate) fn penalty(&self) -> f64 {
        self.rule.prior().value(&self.theta)
    }
}
