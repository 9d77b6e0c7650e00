//! What training on any graph ends with: from an objective and its prior to weights.

use super::{Ended, Event, HessVec, Listener, Method, Settings};
use crate::optim::{
    Auto, Choice, Control, Differences, Minimum, Objective, Prior, Problem, Progress, State, Watch,
};
use crate::{Error, Result};

/// Weights, and how they were found.
pub(crate) struct Fitted {
    pub theta: Vec<f64>,
    pub stop: Ended,
    pub passes: f64,
    /// Losses plus penalties at the weights.
    pub objective: f64,
}

/// Minimises `risk` under the penalties of `settings`, by its method.
pub(crate) fn fit(
    risk: &dyn Objective,
    prior: Prior,
    settings: &Settings,
    theta: Vec<f64>,
    listener: &mut dyn Listener,
) -> Result<Fitted> {
    let method = settings.optimizer.optimizer(settings);
    if let Some(need) = method.needs().iter().find(|need| !risk.gives().contains(need)) {
        let fits = |method: &Method| method.needs().iter().all(|need| risk.gives().contains(need));
        let names: Vec<&str> = Method::ALL.into_iter().filter(fits).map(Method::name).collect();
        return Err(Error::Setting(format!(
            "--optimizer {} needs {}, which --objective {} does not give on this graph; it works with --optimizer {}",
            settings.optimizer.name(),
            need.name(),
            settings.objective.name(),
            names.join(", ")
        )));
    }
    let differences = Differences::new(risk);
    let problem = Problem {
        objective: match settings.parameters.hess_vec.unwrap_or_default() {
            HessVec::Dual => risk,
            HessVec::Differences => &differences,
            HessVec::Complex => {
                let message = "--hess-vec complex is for chains: leave it out, dual numbers are exact too";
                return Err(Error::Setting(message.into()));
            }
        },
        prior,
        l1: settings.l1,
    };
    if settings.optimizer == Method::Auto {
        listener.event(&Event::Picked(choice(&problem, settings)))?;
    }
    let mut relay = Relay { listener, stopped: false };
    let Minimum { theta, stop, passes } = method.minimize(&problem, State::start(theta), &mut relay)?;
    let stop = if relay.stopped { Ended::Listener } else { Ended::Method(stop) };
    let objective = value_at(&problem, &theta, passes)?;
    Ok(Fitted { theta, stop, passes, objective })
}

/// What [`Method::Auto`] begins with.
pub(super) fn choice(problem: &Problem, settings: &Settings) -> Choice {
    if settings.parameters.wants_online_steps() { Choice::AdaGrad } else { Auto::choice(problem) }
}

/// Losses plus penalties at θ after the last step, which nobody else checks.
pub(super) fn value_at(problem: &Problem, theta: &[f64], passes: f64) -> Result<f64> {
    let value = problem.smooth(theta, &mut vec![0.0; theta.len()]) + problem.l1_penalty(theta);
    match value.is_finite() {
        true => Ok(value),
        false => Err(Error::Diverged {
            passes,
            message: "the objective is not a finite number; use a smaller step (--eta0) or a smaller --sigma"
                .into(),
        }),
    }
}

/// Turns the method's steps into events.
struct Relay<'a> {
    listener: &'a mut dyn Listener,
    stopped: bool,
}

impl Watch for Relay<'_> {
    fn step(&mut self, progress: &Progress, _state: &dyn Fn() -> State) -> Result<Control> {
        let &Progress { passes, objective, gradient_norm, .. } = progress;
        let control = self.listener.event(&Event::Progress { passes, objective, gradient_norm })?;
        self.stopped |= control == Control::Stop;
        Ok(control)
    }

    fn reset(&mut self, passes: f64, weights: usize) -> Result<()> {
        self.listener.event(&Event::Reset { passes, weights }).map(|_| ()) // the step that follows asks again
    }
}
