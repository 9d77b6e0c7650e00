//! The loop that all online methods share: passes over the examples in random order, a batch at a time.
//!
//! A step costs what its batch touches. Before the gradient of a batch is taken, the rule brings the touched weights up to
//! date with the prior (which pulls at every weight in every step); after it, the rule updates them.

use super::{Control, Minimum, Problem, Progress, State, Stop, Touched, Watch};
use crate::math::random::Random;
use crate::{Error, Result};
use std::ops::Range;

/// What the online methods have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Examples in a batch.
    pub batch: usize,
    /// Passes over the data.
    pub passes: usize,
    /// Seed of the order of the examples.
    pub seed: u64,
}

/// One online method: how weights move.
pub(super) trait Rule {
    /// Brings the touched weights up to date before the gradient of their batch is taken.
    fn refresh(&mut self, theta: &mut [f64], touched: &Touched);
    /// Moves the touched weights along the gradient of the batch's loss, in which they stand side by side. `seen` numbers the
    /// examples of the batch among all that the run has seen: their share of the data is their share of the penalty, also
    /// where the last batch of a pass is small.
    fn update(&mut self, theta: &mut [f64], touched: &Touched, gradient: &[f64], seen: Range<u64>);
    /// Brings all weights up to date at the end of a pass.
    fn settle(&mut self, theta: &mut [f64]);
    /// Adds everything the rule remembers.
    fn save(&self, state: &mut State);
    /// Takes it back; `state` may be fresh.
    fn restore(&mut self, state: &mut State);
}

/// Shares of the first pass after which progress is reported.
const REPORTS: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/// Runs `rule` over `schedule.passes` passes.
pub(super) fn run(
    problem: &Problem,
    schedule: &Schedule,
    rule: &mut dyn Rule,
    mut state: State,
    watch: &mut dyn Watch,
) -> Result<Minimum> {
    let examples = problem.objective.examples();
    let batch = schedule.batch.clamp(1, examples.max(1));
    let steps_a_pass = examples.div_ceil(batch).max(1) as u64;
    rule.restore(&mut state);
    let mut step = state.number("step") as u64;
    let mut pass_loss = state.number("pass_loss");
    let before = state.number("passes_before");
    let mut gradient = Vec::new();
    let mut touched = Touched::resume(step, &state.take("last"));
    let mut theta = state.theta;
    let mut order = Vec::new();
    let last_step = steps_a_pass * schedule.passes as u64;
    let mut stop = Stop::Passes;
    while step < last_step {
        let (pass, at) = (step / steps_a_pass, (step % steps_a_pass) as usize);
        if order.is_empty() || at == 0 {
            // The order of a pass depends on seed and pass alone: a resumed run finds it again.
            order = (0..examples as u32).collect();
            Random::stream(schedule.seed, pass).shuffle(&mut order);
        }
        let now = at * batch..((at + 1) * batch).min(examples);
        let examples_now = &order[now.clone()];
        step += 1;
        problem.objective.touched(examples_now, &mut touched);
        rule.refresh(&mut theta, &touched);
        let loss = problem.objective.batch_grad(examples_now, &theta, &touched, &mut gradient);
        if !loss.is_finite() {
            return Err(Error::Diverged {
                passes: before + step as f64 / steps_a_pass as f64,
                message: "a batch has an infinite loss; use a smaller step (--eta0) or a smaller --sigma"
                    .into(),
            });
        }
        let before_pass = pass * examples as u64;
        let seen = before_pass + now.start as u64..before_pass + now.end as u64;
        rule.update(&mut theta, &touched, &gradient, seen);
        pass_loss += loss;
        let done = at + 1;
        let whole = done as u64 == steps_a_pass;
        let seen = done as f64 / steps_a_pass as f64;
        let report =
            pass == 0 && REPORTS.iter().any(|share| (share * steps_a_pass as f64).ceil() as usize == done);
        let mut objective = None;
        if whole {
            rule.settle(&mut theta);
        }
        if whole || report {
            // The losses of the pass so far, each at the weights of its time, scaled to a whole pass; and the penalty now.
            objective = Some(pass_loss / seen + problem.penalty(&theta));
        }
        let passes = before + pass as f64 + seen;
        let progress =
            Progress { passes, objective, gradient_norm: None, theta: whole.then_some(&theta[..]) };
        if whole {
            pass_loss = 0.0;
        }
        let build = || {
            let mut state = State::start(theta.clone());
            rule.save(&mut state);
            state.vectors.insert("last".into(), touched.last_of_all());
            for (name, number) in [("step", step as f64), ("pass_loss", pass_loss), ("passes_before", before)]
            {
                state.numbers.insert(name.into(), number);
            }
            state
        };
        if watch.step(&progress, &build)? == Control::Stop {
            stop = Stop::Watch;
            break;
        }
    }
    rule.settle(&mut theta);
    Ok(Minimum { theta, stop, passes: before + step as f64 / steps_a_pass as f64 })
}
