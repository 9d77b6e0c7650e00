//! The last stage of training, for any graph: from an objective and its prior to weights, with a development set and
//! checkpoints.

use super::{Checkpoint, Ended, Event, HessVec, Listener, Method, Settings};
use crate::eval::Scores;
use crate::optim::restored::check_best;
use crate::optim::{
    Auto, Choice, Control, Differences, Minimum, Objective, Prior, Problem, Progress, State, Watch,
};
use crate::{Error, Result};

/// A function that scores weights on the development set.
pub(crate) type Judge<'a> = &'a mut dyn FnMut(&[f64]) -> Result<Scores>;

/// The starting point of a run.
pub(crate) struct Begin<'a> {
    /// The weights to start from.
    pub theta: Vec<f64>,
    /// The checkpoint of an interrupted run to resume.
    pub resume: Option<Checkpoint>,
    /// Scores the weights after each pass; the best weights are kept.
    pub judge: Option<Judge<'a>>,
}

/// The weights that were found, and how training ended.
pub(crate) struct Fitted {
    pub theta: Vec<f64>,
    pub stop: Ended,
    pub passes: f64,
    /// Losses plus penalties at these weights.
    pub objective: f64,
}

/// Minimises `risk` plus the penalties of `settings`, with the method of `settings`. If Hessian-vector products are to
/// be computed by complex steps, `risk` must support them.
pub(crate) fn fit(
    risk: &dyn Objective,
    prior: Prior,
    settings: &Settings,
    begin: Begin,
    listener: &mut dyn Listener,
) -> Result<Fitted> {
    let method = settings.optimizer.optimizer(settings);
    if let Some(need) = method.needs().iter().find(|need| !risk.gives().contains(need)) {
        let fits = |method: &Method| method.needs().iter().all(|need| risk.gives().contains(need));
        let names: Vec<&str> = Method::ALL.into_iter().filter(fits).map(Method::name).collect();
        return Err(Error::Setting(format!(
            "`optimizer` {} needs {}, which `objective` {} does not give on this graph; it works with `optimizer` {}",
            settings.optimizer.name(),
            need.name(),
            settings.objective.name(),
            names.join(", ")
        )));
    }
    let differences = Differences::new(risk);
    let problem = Problem {
        objective: match settings.parameters.hess_vec.unwrap_or_default() {
            HessVec::Dual | HessVec::Complex => risk,
            HessVec::Differences => &differences,
        },
        prior,
        l1: settings.l1,
    };
    let Checkpoint { state, best, since_best } = begin.resume.unwrap_or_default();
    check_best(&best, risk.dim())?;
    let fresh = state.theta.is_empty();
    let state = if fresh { State::start(begin.theta) } else { state };
    if settings.optimizer == Method::Auto && fresh {
        listener.event(&Event::Picked(choice(&problem, settings)))?;
    }
    let mut watcher =
        Watcher { listener, judge: begin.judge, patience: settings.patience, best, since_best, ended: None };
    let Minimum { mut theta, stop, passes } = method.minimize(&problem, state, &mut watcher)?;
    let stop = watcher.ended.unwrap_or(Ended::Method(stop));
    if let Some((_, best)) = watcher.best.take() {
        theta = best;
    }
    let objective = value_at(&problem, &theta, passes)?;
    Ok(Fitted { theta, stop, passes, objective })
}

/// The method that [`Method::Auto`] begins with.
fn choice(problem: &Problem, settings: &Settings) -> Choice {
    match settings.parameters.wants_online_steps() {
        true => Choice::AdaGrad,
        false => Auto::choice(problem),
    }
}

/// Losses plus penalties at θ after the last step. It rejects infinite or NaN values, because nothing after it would.
fn value_at(problem: &Problem, theta: &[f64], passes: f64) -> Result<f64> {
    let value = problem.smooth(theta, &mut vec![0.0; theta.len()]) + problem.l1_penalty(theta);
    match value.is_finite() {
        true => Ok(value),
        false => Err(Error::Diverged {
            passes,
            message: format!(
                "the objective is not a finite number; {}",
                problem.prior.advice("use a smaller step (`eta0`) or a smaller `sigma`")
            ),
        }),
    }
}

/// Turns the method's steps into events, evaluates the weights, keeps the best ones and takes checkpoints.
struct Watcher<'a, 'b> {
    listener: &'a mut dyn Listener,
    judge: Option<Judge<'b>>,
    patience: usize,
    best: Option<(f64, Vec<f64>)>,
    since_best: usize,
    ended: Option<Ended>,
}

impl Watch for Watcher<'_, '_> {
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control> {
        let &Progress { passes, objective, gradient_norm, gap, theta } = progress;
        let mut control = self.listener.event(&Event::Progress { passes, objective, gradient_norm, gap })?;
        if let (Some(theta), Some(judge)) = (theta, &mut self.judge) {
            let scores = judge(theta)?;
            let score = if scores.chunked { scores.f1 } else { scores.accuracy };
            let best = self.best.as_ref().is_none_or(|(best, _)| score > *best);
            if best {
                self.best = Some((score, theta.to_vec()));
                self.since_best = 0;
            } else {
                self.since_best += 1;
            }
            let event = Event::Evaluation { passes, scores: &scores, best };
            if self.listener.event(&event)? == Control::Stop {
                control = Control::Stop;
            }
            if self.patience > 0 && self.since_best >= self.patience && control == Control::Continue {
                self.ended = Some(Ended::Patience);
                return Ok(Control::Stop);
            }
        }
        if control == Control::Stop {
            self.ended = Some(Ended::Listener);
        }
        if self.listener.checkpoint_due() {
            let checkpoint =
                Checkpoint { state: state(), best: self.best.clone(), since_best: self.since_best };
            self.listener.checkpoint(&checkpoint)?;
        }
        Ok(control)
    }

    fn stores(&mut self, bytes: u64) -> Result<()> {
        self.listener.event(&Event::Stores { bytes }).map(|_| ())
    }

    fn reset(&mut self, passes: f64, weights: usize) -> Result<()> {
        self.listener.event(&Event::Reset { passes, weights }).map(|_| ()) // the step that follows asks again
    }
}
