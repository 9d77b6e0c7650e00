//! The last stage of training, for any graph: from an objective and its prior to weights, with a development set and
//! checkpoints.

use super::{Checkpoint, Event, HessVec, Listener, Method, Settings, StopReason, TuningTrial};
use crate::eval::Scores;
use crate::optim::restored::check_best;
use crate::optim::{
    Auto, AutoChoice, Compute, Control, Differences, Minimum, Objective, Prior, Problem, Progress, Restart,
    State, Stop, Watch,
};
use crate::{Error, Result};

/// The score by which models are compared: F1 where labels are chunks, accuracy elsewhere.
pub(super) fn score_of(scores: &Scores) -> f64 {
    if scores.chunked { scores.f1 } else { scores.accuracy }
}

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
    pub stop: StopReason,
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
    if let Some(need) = method.needs().iter().find(|need| !risk.provides().contains(need)) {
        let fits = |method: &Method| method.needs().iter().all(|need| risk.provides().contains(need));
        let names: Vec<&str> = Method::ALL.into_iter().filter(fits).map(Method::name).collect();
        let (method, objective) = (settings.optimizer.name(), settings.objective.name());
        return Err(Error::Setting(format!(
            "`optimizer` {method} needs {}, which `objective` {objective} does not provide on this graph with these labels; it works with `optimizer` {}",
            need.name(),
            names.join(", ")
        )));
    }
    // Chains with segments have no lanes: single precision would be tried in vain.
    risk.compute(if settings.segments.is_some() { Compute::F64 } else { settings.compute });
    let differences = Differences::new(risk);
    let problem = Problem {
        objective: match settings.parameters.hess_vec.unwrap_or_default() {
            HessVec::Dual | HessVec::Complex => risk,
            HessVec::Differences => &differences,
        },
        prior,
        l1: settings.l1,
    };
    let Checkpoint { state, best, since_best, .. } = begin.resume.unwrap_or_default();
    check_best(&best, risk.dim())?;
    let fresh = state.theta.is_empty();
    let state = if fresh { State::start(begin.theta) } else { state };
    if settings.optimizer == Method::Auto && fresh {
        listener.event(&Event::Picked(choice(&problem, settings)))?;
    }
    // Zeros need no copy, and those of a resumed run are not known.
    let start = if fresh && state.theta.iter().any(|x| *x != 0.0) { state.theta.clone() } else { Vec::new() };
    risk.stop_when(listener.stop_flag());
    let mut watcher = Watcher {
        listener: &mut *listener,
        judge: begin.judge,
        patience: settings.patience,
        tried: &settings.tried,
        best,
        since_best,
        ended: None,
        first: None,
        reported: None,
    };
    let minimum = method.minimize(&problem, state, &mut watcher);
    risk.stop_when(None);
    let Minimum { mut theta, stop: why, passes } = minimum?;
    let first = watcher.first.flatten().filter(|_| fresh);
    let stop = watcher.ended.unwrap_or(match why {
        Stop::Watch => StopReason::Listener,
        stop => StopReason::Method(stop),
    });
    let last = watcher.best.take().map(|(score, best)| (score, std::mem::replace(&mut theta, best)));
    let judged = last.is_some();
    // A batch method that is stopped has just reported the value of its weights. Another pass would take the time that
    // there is not.
    let reported = watcher.reported.filter(|_| why == Stop::Watch && !judged);
    let mut end =
        reported.map_or_else(|| End::of(&problem, &theta), |value| End::reported(&problem, &theta, value));
    // The duality gap of SDCA is a proof (that of SAGA is an estimate), and auto compares its phases itself.
    let proven = why == Stop::Gap && settings.optimizer == Method::Sdca
        || reported.is_some() && settings.optimizer == Method::Auto;
    // Whoever stops a run gets its weights as they are, and hears what is wrong with them: the run may just have begun.
    let stopped = stop == StopReason::Listener && end.value.is_finite();
    // Passes over the data take the time that there is not. So if a sample shows that the run has come far, it is believed.
    let zeros = || vec![0.0; problem.objective.dim()];
    let far =
        || (stopped || why == Stop::Gap) && problem.is_smooth() && problem.is_far_below(end.value, &zeros());
    let proven = proven || first.is_some_and(|first| end.value <= first) || far();
    let remedy = problem.prior.advice(shorter_steps(settings));
    let mut above = if proven { None } else { end.above(&problem, first, &start, (passes, remedy))? };
    // The best weights on little development data may be those of first steps that were too long. The last ones say whether it diverged.
    if let (Some(zero), Some((score, last)), false) = (above, last, stopped) {
        let of_last = End::of(&problem, &last);
        above = (of_last.value > zero).then_some(zero);
        if above.is_none() && watcher.is_as_good(&last, score, passes)? {
            (theta, end) = (last, of_last);
        }
    }
    match above {
        Some(zero) if stopped => {
            listener.event(&Event::AboveStart { objective: end.value, zero })?;
        }
        Some(zero) => return Err(end.diverged(zero, passes, remedy)),
        None => {}
    }
    let end = if stopped { end.counted(&problem, &theta) } else { end.check_losses(passes)? };
    if end.impossible > 0 {
        listener.event(&Event::Impossible { examples: end.impossible })?;
    }
    Ok(Fitted { theta, stop, passes, objective: end.value })
}

/// The method that [`Method::Auto`] begins with.
fn choice(problem: &Problem, settings: &Settings) -> AutoChoice {
    match settings.parameters.wants_online_steps() {
        true => AutoChoice::AdaGrad,
        false => Auto::choice(problem),
    }
}

/// What to do about steps that are too long.
fn shorter_steps(settings: &Settings) -> &'static str {
    match settings.optimizer.declaration().parameters.contains(&"eta0") {
        true => "use a smaller step (`eta0`) or a smaller `sigma`",
        false => "use a smaller `sigma` or another `optimizer`",
    }
}

/// The objective at the weights that a run has ended with.
struct End {
    /// Losses plus penalties.
    value: f64,
    /// The losses alone.
    losses: f64,
    /// How many losses are below 0.
    impossible: usize,
}

impl End {
    fn of(problem: &Problem, theta: &[f64]) -> Self {
        let (smooth, impossible) = problem.value_checked(theta);
        let value = smooth + problem.l1_penalty(theta);
        End { value, losses: smooth - problem.prior.value(theta), impossible }
    }

    /// The same from the value that a method has reported.
    fn reported(problem: &Problem, theta: &[f64], value: f64) -> Self {
        End { value, losses: value - problem.penalty(theta), impossible: 0 }
    }

    /// The objective at zero weights, if the run has ended above its start: then no model is better than this one. `first`
    /// is the objective at the start, if the method has reported it, and `start` the weights there, which are empty if
    /// they are zeros or not known. A run that started from good weights may end somewhat above them; then it must be
    /// below zero weights. An objective that is not finite is an error.
    fn above(
        &self,
        problem: &Problem,
        first: Option<f64>,
        start: &[f64],
        (passes, remedy): (f64, &str),
    ) -> Result<Option<f64>> {
        if !self.value.is_finite() {
            let message = format!("the objective is not a finite number; {remedy}");
            return Err(Error::Diverged { passes, message });
        }
        // The losses of a perceptron are 0 at the start, and no measure of progress.
        if !problem.is_smooth() || first.is_some_and(|first| self.value <= first) {
            return Ok(None);
        }
        if !start.is_empty() && self.value <= End::of(problem, start).value {
            return Ok(None);
        }
        let zero = End::of(problem, &vec![0.0; problem.objective.dim()]).value;
        Ok((self.value > zero + ROUNDING * zero.abs()).then_some(zero))
    }

    /// The error of a run that has ended above zero weights.
    fn diverged(&self, zero: f64, passes: f64, remedy: &str) -> Error {
        let message = format!(
            "the objective is {:.6e} at the end, but {zero:.6e} at weights of zero; {}",
            self.value, remedy
        );
        Error::Diverged { passes, message }
    }

    /// Rejects losses that are below 0 in sum: approximate inference has failed, and the weights are those of its
    /// failure.
    fn check_losses(self, passes: f64) -> Result<Self> {
        match self.losses < -IMPOSSIBLE {
            true => Err(Error::Diverged {
                passes,
                message: format!(
                    "the sum of all losses is {:.6e}, but no loss can be below 0: approximate inference fails at these \
                     weights; use another `inference`, or `objective` pseudolikelihood",
                    self.losses
                ),
            }),
            false => Ok(self),
        }
    }

    /// The same value with the number of impossible losses, which a method does not report: it reports only the sum of all losses.
    fn counted(self, problem: &Problem, theta: &[f64]) -> Self {
        match self.losses < -IMPOSSIBLE && self.impossible == 0 {
            true => End::of(problem, theta),
            false => self,
        }
    }
}

/// Two sums over all examples that differ by less than this share may be the same: each is rounded.
const ROUNDING: f64 = 1e-9;
/// A sum of losses that is below 0 by more than this is impossible; by less, it may be rounding.
const IMPOSSIBLE: f64 = 1e-3;

/// Turns the method's steps into events, evaluates the weights, keeps the best ones and takes checkpoints.
struct Watcher<'a, 'b> {
    listener: &'a mut dyn Listener,
    judge: Option<Judge<'b>>,
    patience: usize,
    tried: &'a [TuningTrial],
    best: Option<(f64, Vec<f64>)>,
    since_best: usize,
    ended: Option<StopReason>,
    /// The first report: the objective at the start if the method is one that evaluates it before its first step.
    first: Option<Option<f64>>,
    /// The objective at the present weights, if the method is one that evaluates it after each step.
    reported: Option<f64>,
}

impl Watcher<'_, '_> {
    /// Whether weights have at least this score on the development data. If so, they are reported as the best ones.
    fn is_as_good(&mut self, theta: &[f64], score: f64, passes: f64) -> Result<bool> {
        let Some(scores) = self.judge.as_mut().map(|judge| judge(theta)).transpose()? else {
            return Ok(false);
        };
        if score_of(&scores) < score {
            return Ok(false);
        }
        self.listener.event(&Event::Evaluation { passes, scores: &scores, best: true }).map(|_| true)
    }
}

impl Watch for Watcher<'_, '_> {
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control> {
        let &Progress { passes, objective, gradient_norm, gap, theta } = progress;
        self.first.get_or_insert(objective.filter(|_| gradient_norm.is_some() && passes == 1.0));
        self.reported = gradient_norm.and(objective.or(self.reported));
        let mut control = self.listener.event(&Event::Progress { passes, objective, gradient_norm, gap })?;
        if let (Some(theta), Some(judge)) = (theta, &mut self.judge) {
            let scores = judge(theta)?;
            let score = score_of(&scores);
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
                self.ended = Some(StopReason::Patience);
                return Ok(Control::Stop);
            }
        }
        if control == Control::Stop {
            self.ended = Some(StopReason::Listener);
        }
        if self.listener.checkpoint_due() {
            let checkpoint = Checkpoint {
                state: state(),
                best: self.best.clone(),
                since_best: self.since_best,
                tried: self.tried.to_vec(),
            };
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

    fn restarts(&mut self, passes: f64, next: Restart) -> Result<()> {
        // The weights of this attempt are given up, and with them the best ones.
        (self.best, self.since_best) = (None, 0);
        self.listener.event(&Event::Restart { passes, next }).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ability::Ability;
    use crate::optim::{Mean, Touched};
    use crate::settings::Parameters;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// 1000 losses (1 − θ)², and how many passes over them were made.
    struct Losses(AtomicUsize);

    impl Objective for Losses {
        fn dim(&self) -> usize {
            1
        }
        fn examples(&self) -> usize {
            1000
        }
        fn provides(&self) -> &'static [Ability] {
            &[Ability::Smooth]
        }
        fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
            self.0.fetch_add(1, Ordering::Relaxed);
            gradient[0] = -2000.0 * (1.0 - theta[0]);
            1000.0 * (1.0 - theta[0]).powi(2)
        }
        fn hess_vec(&self, _: &[f64], _: &[f64], _: &mut [f64], _: &mut [f64]) -> f64 {
            unreachable!("no method here needs it")
        }
        fn touched(&self, _: &[u32], touched: &mut Touched) {
            touched.start(1);
            touched.add(0, || 0..1);
        }
        fn batch_grad(&self, batch: &[u32], theta: &[f64], _: &Touched, gradient: &mut Vec<f64>) -> f64 {
            let rest = 1.0 - theta[0];
            *gradient = vec![-2.0 * batch.len() as f64 * rest];
            batch.len() as f64 * rest * rest
        }
        fn batch_hess_vec(
            &self,
            _: &[u32],
            _: [&[f64]; 2],
            _: &Touched,
            _: &mut Vec<f64>,
            _: &mut Vec<f64>,
        ) -> f64 {
            unreachable!("no method here needs it")
        }
    }

    /// Stops at the n-th event.
    struct Stops(usize);

    impl Listener for Stops {
        fn event(&mut self, _: &Event) -> Result<Control> {
            self.0 = self.0.saturating_sub(1);
            Ok(if self.0 == 0 { Control::Stop } else { Control::Continue })
        }
    }

    #[test]
    fn a_stopped_run_makes_one_pass_for_its_objective_and_another_only_in_doubt() {
        for (steps, expected) in [(100, 1), (1, 2)] {
            let losses = Losses(AtomicUsize::new(0));
            let prior = Prior { sigma: 10.0, sigma_pairs: 10.0, first_pair: 1, mean: Mean::Value(0.0) };
            let parameters = Parameters { eta0: Some(0.1), ..Parameters::default() };
            let settings = Settings { optimizer: Method::Adagrad, parameters, ..Settings::default() };
            let begin = Begin { theta: vec![0.0], resume: None, judge: None };
            let fitted = fit(&losses, prior, &settings, begin, &mut Stops(steps)).unwrap();
            assert_eq!(fitted.stop, StopReason::Listener);
            assert_eq!(losses.0.into_inner(), expected, "{steps} steps: objective {}", fitted.objective);
        }
    }
}
