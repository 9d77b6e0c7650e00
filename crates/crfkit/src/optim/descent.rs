//! The loop that all batch methods share: report, test for convergence, and move to a better point.

use super::line_search::wolfe;
use super::restored::{Restored, finite};
use super::{Control, Distance, Minimum, Problem, Progress, State, Stop, Watch};
use crate::{Error, Result};
use std::collections::VecDeque;

/// When a batch method stops.
#[derive(Clone, Debug, PartialEq)]
pub struct StoppingRule {
    /// Stop when ‖g‖ ≤ `gradient_tolerance` · max(1, ‖θ‖).
    pub gradient_tolerance: f64,
    /// Stop when the objective has changed by less than this share over the last `period` iterations. Also stop when
    /// it has changed by less than a `period`th of this share in one iteration that took ten evaluations or more: a
    /// line search that needs so many is lost in the noise of inference or rounding.
    pub tolerance: f64,
    /// The number of iterations in `tolerance`.
    pub period: usize,
    /// CRF++'s rule: stop when each of the last three iterations has changed the objective by less than this share; 0
    /// disables it.
    pub change: f64,
    /// The largest number of evaluations, including those of earlier methods in the same run; 0 for no limit. A
    /// product H·v counts as one.
    pub passes: f64,
}

impl Default for StoppingRule {
    fn default() -> Self {
        StoppingRule { gradient_tolerance: 1e-5, tolerance: 1e-6, period: 10, change: 0.0, passes: 0.0 }
    }
}

/// The number of iterations in [`StoppingRule::change`].
const CRAWLING: usize = 3;

/// The number of evaluations that marks an iteration as lost in noise; see [`StoppingRule::tolerance`].
const MANY_EVALUATIONS: f64 = 10.0;

/// An iteration that gains less than this share of the objective is near the optimum: rounding in single precision takes about a hundredth of that.
const NEAR: f64 = 1e-5;

/// One batch method: how it moves from a point to a better one.
pub(super) trait Iterate {
    /// Moves to a point that is no worse. If the method finds none, stays where it is and returns false.
    fn iterate(&mut self, at: &mut Descent) -> Result<bool>;

    /// Discards what the method has learned about the curvature, which may be misleading. Returns false if there is
    /// nothing to discard.
    fn forget(&mut self) -> bool {
        false
    }

    /// ‖g‖, or its replacement where the objective is not differentiable.
    fn gradient_norm(&mut self, at: &Descent) -> f64 {
        at.problem.norm(&at.now.gradient)
    }

    /// Adds to `state` everything that the method remembers.
    fn save(&self, _state: &mut State) {}
}

/// Weights, with the value and gradient of the problem there.
pub(super) struct Point {
    pub theta: Vec<f64>,
    /// The objective with all penalties.
    pub value: f64,
    /// The gradient without the L1 part.
    pub gradient: Vec<f64>,
    /// The number of losses below 0 ([`super::Objective::value_grad_checked`]). A point with more of them than the
    /// point it is reached from gets the value ∞: approximate inference fails there, and an apparent decrease is not
    /// real.
    pub impossible: usize,
}

impl Point {
    /// Computes the value without the L1 part, and the gradient, of a point that is tried from `now`. Sets `refused`
    /// if the point is rejected.
    fn evaluate(&mut self, problem: &Problem, now: &Point, refused: &mut bool) {
        (self.value, self.impossible) = problem.smooth_checked(&self.theta, &mut self.gradient);
        if self.impossible > now.impossible {
            (self.value, *refused) = (f64::INFINITY, true);
        }
    }
}

/// The current position of a run.
pub(super) struct Descent<'a> {
    pub problem: &'a Problem<'a>,
    pub now: Point,
    /// The point that is being tried; after a step, the previous point.
    pub other: Point,
    /// The number of evaluations so far.
    pub passes: f64,
    /// Whether a point was rejected in this iteration because inference fails there.
    refused: bool,
    /// Whether the optimum is far ([`super::Objective::approach`]).
    far: bool,
}

impl<'a> Descent<'a> {
    /// A run that is about to move to θ, which is not evaluated yet.
    fn start(problem: &'a Problem<'a>, theta: Vec<f64>, passes: f64) -> Self {
        let n = theta.len();
        let point =
            |theta| Point { theta, value: f64::INFINITY, gradient: vec![0.0; n], impossible: usize::MAX };
        Descent { problem, now: point(vec![0.0; n]), other: point(theta), passes, refused: false, far: true }
    }

    /// Computes value and gradient of the other point.
    pub(super) fn evaluate_other(&mut self) {
        self.other.evaluate(self.problem, &self.now, &mut self.refused);
        self.other.value += self.problem.l1_penalty(&self.other.theta);
        self.passes += 1.0;
    }

    /// Moves to the other point.
    pub(super) fn accept(&mut self) {
        std::mem::swap(&mut self.now, &mut self.other);
    }

    /// Moves along `direction` by a step that satisfies the strong Wolfe conditions (`curvature` is the constant of
    /// the second one). It tries the length `first` first. Returns the length of the step; if no step decreases the
    /// objective, stays and returns `None`.
    pub(super) fn search(&mut self, direction: &[f64], first: f64, curvature: f64) -> Option<f64> {
        let (now, trial) = (&self.now, &mut self.other);
        let slope = self.problem.dot(direction, &now.gradient);
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        let (problem, passes, refused) = (self.problem, &mut self.passes, &mut self.refused);
        let step = wolfe(now.value, slope, first, curvature, &mut |t| {
            problem.fill(&mut trial.theta, direction.len(), |i| now.theta[i] + t * direction[i]);
            trial.evaluate(problem, now, refused);
            *passes += 1.0;
            (trial.value, problem.dot(&trial.gradient, direction))
        });
        step.filter(|_| self.other.value < self.now.value).inspect(|_| self.accept())
    }

    /// Comes near the optimum. If passes then compute in other numbers, evaluates this point again and returns true. A pass that is cut
    /// short changes nothing.
    fn come_near(&mut self) -> bool {
        self.far = false;
        if !self.problem.objective.approach(Distance::Near) {
            return false;
        }
        let mut gradient = vec![0.0; self.now.theta.len()];
        let (value, _) = self.problem.smooth_checked(&self.now.theta, &mut gradient);
        if self.problem.objective.stopped() && !value.is_finite() {
            return false;
        }
        self.now.value = value + self.problem.l1_penalty(&self.now.theta);
        self.now.gradient = gradient;
        self.passes += 1.0;
        true
    }

    /// Writes the last step: s = Δθ and y = Δg.
    pub(super) fn last_step(&self, s: &mut Vec<f64>, y: &mut Vec<f64>) {
        let (new, old) = (&self.now, &self.other);
        self.problem.fill(s, new.theta.len(), |i| new.theta[i] - old.theta[i]);
        self.problem.fill(y, new.theta.len(), |i| new.gradient[i] - old.gradient[i]);
    }

    /// The error for a run whose numbers are no longer finite.
    pub(super) fn diverged(&self) -> Error {
        let advice = self.problem.prior.advice("use a smaller `sigma` or check the values in the data");
        Error::Diverged {
            passes: self.passes,
            message: format!("the objective is not a finite number; {advice}"),
        }
    }
}

/// Whether sᵀy is large enough for a curvature update, where `yy` is yᵀy.
pub(super) fn curved(sy: f64, yy: f64) -> bool {
    sy > 1e-16 * yy
}

/// Runs `method`, which has already restored its memory from `state`, until a stopping rule applies.
pub(super) fn run(
    problem: &Problem,
    until: &StoppingRule,
    method: &mut dyn Iterate,
    mut state: Restored,
    watch: &mut dyn Watch,
) -> Result<Minimum> {
    let (dim, examples) = (problem.objective.dim(), problem.objective.examples() as u64);
    let mut at = Descent::start(problem, state.take_theta(), state.passes("passes")?);
    // Values at the last iterations, newest last.
    let count = state.count("values", until.values() as u64)?;
    let mut values = (0..count)
        .map(|k| state.number(&format!("value.{k}"), 0.0, finite))
        .collect::<Result<VecDeque<f64>>>()?;
    // Was the last iteration lost in noise?
    let mut lost = state.flag("lost")?;
    at.refused = state.flag("refused")?;
    at.far = !state.flag("near")?;
    problem.objective.approach(if at.far { Distance::Far } else { Distance::Near });
    // Has the watch seen this point? A state is taken when it has, so a run that goes on from one does not report twice.
    let mut reported = state.resumed();
    if reported {
        at.other.value = state.number("value", 0.0, finite)?;
        at.other.gradient = state.vector("gradient", dim, 0.0, finite)?;
        at.other.impossible = state.count("impossible", examples)? as usize;
    } else {
        at.evaluate_other();
        if problem.objective.stopped() && !at.other.value.is_finite() {
            return Ok(Minimum { theta: at.other.theta, stop: Stop::Watch, passes: at.passes - 1.0 });
        }
        values.push_back(at.other.value);
    }
    at.accept();
    let stop = loop {
        let gradient_norm = method.gradient_norm(&at);
        if !at.now.value.is_finite() || !gradient_norm.is_finite() {
            return Err(at.diverged());
        }
        if !reported {
            let progress = Progress {
                passes: at.passes,
                objective: Some(at.now.value),
                gradient_norm: Some(gradient_norm),
                gap: None,
                theta: Some(&at.now.theta),
            };
            if watch.step(&progress, &|| build_state(&at, &values, lost, method))? == Control::Stop {
                break Stop::Watch;
            }
            reported = true;
        }
        if gradient_norm <= until.gradient_tolerance * problem.norm(&at.now.theta).max(1.0) {
            break Stop::Gradient;
        }
        if lost && at.refused {
            break Stop::Inference;
        }
        // At the edges that an L1 penalty makes, a step may be short because the direction is poor.
        if lost && problem.l1 > 0.0 && method.forget() {
            lost = false;
        }
        if lost || until.settled(&values) || until.crawls(&values) {
            break Stop::Change;
        }
        if until.passes > 0.0 && at.passes >= until.passes {
            break Stop::Passes;
        }
        at.refused = false;
        let (passes, value) = (at.passes, at.now.value);
        let moved = match method.iterate(&mut at) {
            Err(_) if problem.objective.stopped() => false,
            moved => moved?,
        };
        if problem.objective.stopped() && !(moved && at.now.value.is_finite()) {
            // The value of a pass that was cut short is no reason to move, or to stop trusting the method.
            if !at.now.value.is_finite() {
                at.accept();
            }
            (at.passes, at.refused) = (passes, false);
            let gradient_norm = Some(gradient_norm);
            let here = Progress { passes, objective: None, gradient_norm, gap: None, theta: None };
            watch.step(&here, &|| build_state(&at, &values, lost, method))?;
            break Stop::Watch;
        }
        let gained = value - at.now.value;
        if at.far && (!moved || gained < NEAR * at.now.value.abs()) && at.come_near() {
            // Values in other numbers tell nothing about progress.
            values.clear();
            values.push_back(at.now.value);
            reported = false;
            continue;
        }
        if moved {
            reported = false;
            let share = until.tolerance / until.period as f64;
            lost = at.passes - passes >= MANY_EVALUATIONS && gained < share * at.now.value.abs();
            values.push_back(at.now.value);
            if values.len() > until.values() {
                values.pop_front();
            }
        } else if !method.forget() {
            break if at.refused { Stop::Inference } else { Stop::LineSearch };
        }
    };
    Ok(Minimum { theta: at.now.theta, stop, passes: at.passes })
}

impl StoppingRule {
    /// How many values of the last iterations the rules look at.
    fn values(&self) -> usize {
        self.period.max(CRAWLING).saturating_add(1)
    }

    /// Has the objective settled over the last `period` iterations?
    fn settled(&self, values: &VecDeque<f64>) -> bool {
        match (values.len().checked_sub(1 + self.period), values.back()) {
            (Some(before), Some(now)) => values[before] - now <= self.tolerance * now.abs(),
            _ => false,
        }
    }

    /// Whether the rule [`StoppingRule::change`] applies.
    fn crawls(&self, values: &VecDeque<f64>) -> bool {
        let changes = values.iter().rev().zip(values.iter().rev().skip(1));
        let small = changes
            .take(CRAWLING)
            .filter(|(now, before)| (*before - *now).abs() < self.change * before.abs());
        small.count() == CRAWLING
    }
}

/// Everything that a run needs to resume.
fn build_state(at: &Descent, values: &VecDeque<f64>, lost: bool, method: &dyn Iterate) -> State {
    let mut state = State::start(at.now.theta.clone());
    method.save(&mut state);
    state.vectors.insert("gradient".into(), at.now.gradient.clone());
    for (k, value) in values.iter().enumerate() {
        state.numbers.insert(format!("value.{k}"), *value);
    }
    let numbers = [
        ("value", at.now.value),
        ("impossible", at.now.impossible as f64),
        ("passes", at.passes),
        ("values", values.len() as f64),
        ("lost", f64::from(u8::from(lost))),
        ("refused", f64::from(u8::from(at.refused))),
        ("near", f64::from(u8::from(!at.far))),
    ];
    state.numbers.extend(numbers.map(|(name, number)| (name.to_owned(), number)));
    state
}
