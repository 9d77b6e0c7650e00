//! Training: it takes a corpus and settings and returns a model. The code is the same for every kind of model.

mod choose;
mod fit;
mod objective;
mod scales;
mod stream;

#[doc(hidden)]
pub use crate::settings::{
    BatchOf, Constraint, Criterion, Declaration, HessVec, Init, Kind, Method, Parameters, PriorMean, Scaling,
    Settings, Tuning, TuningTrial, tables,
};
pub use objective::TrainingObjective;
pub use stream::{StreamModel, StreamProgress, StreamTrainer};

use crate::domain::{Corpus, Dev, Domain, WeightedModel};
use crate::eval::Scores;
use crate::math::random::Random;
use crate::model::Features;
use crate::optim::{AutoChoice, Control, Restart, State, Stop};
use crate::{Error, Result};
use choose::Chosen;
use fit::{Begin, Fitted, fit};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Random first weights lie between minus and plus this number.
const RANDOM_WEIGHTS: f64 = 0.01;

/// Something that happened during training.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// [`Method::Auto`] has looked at the problem and chosen a method.
    Picked(AutoChoice),
    /// The method is about to begin and will store something for every example.
    Stores {
        /// How many bytes it will store.
        bytes: u64,
    },
    /// The method made a step. Steps that know the objective are worth reporting.
    Progress {
        /// Evaluations of the training set so far.
        passes: f64,
        /// Losses plus penalties; `None` between two reports of an online method.
        objective: Option<f64>,
        /// Norm of the gradient.
        gradient_norm: Option<f64>,
        /// The duality gap: a bound on how far the objective is above the optimum.
        gap: Option<f64>,
    },
    /// SMD's v became infinite or NaN at some weights. It restarts from 0 there, with half the gain.
    Reset {
        /// Evaluations of the training set so far.
        passes: f64,
        /// How many weights were reset.
        weights: usize,
    },
    /// The first weights are being computed, by a training run of their own.
    InitialWeights {
        /// Evaluations of the training set in that run.
        passes: f64,
        /// Its losses plus penalties; `None` between two reports.
        objective: Option<f64>,
    },
    /// Penalties are being tried ([`Settings::choose`]).
    Trial {
        /// σ of the Gaussian prior.
        sigma: f64,
        /// The weight of the L1 penalty.
        l1: f64,
        /// Evaluations of the training set in this trial.
        passes: f64,
        /// Losses plus penalties of this trial; `None` between two reports.
        objective: Option<f64>,
        /// At the end of the trial: its score on held-out data in per cent, and whether it is the best so far.
        score: Option<(f64, bool)>,
    },
    /// A phase of [`Method::Auto`] has ended above its start, and training has returned to the first weights.
    Restart {
        /// Evaluations of the training set so far.
        passes: f64,
        /// How training continues.
        next: Restart,
    },
    /// Approximate inference fails on some examples at the final weights: their losses are below 0, which is
    /// impossible.
    Impossible {
        /// How many examples.
        examples: usize,
    },
    /// The listener has stopped the run while its objective was above that of zero weights, as that of an online method may be
    /// in its first steps. The model gets the weights as they are.
    AboveStart {
        /// Losses plus penalties at the weights of the model.
        objective: f64,
        /// Losses plus penalties at zero weights.
        zero: f64,
    },
    /// The weights were evaluated on the development set.
    Evaluation {
        /// Evaluations of the training set so far.
        passes: f64,
        /// The scores on the development set.
        scores: &'a Scores,
        /// Whether the score is the best so far.
        best: bool,
    },
}

/// Receives the events of a training run, and may stop it.
pub trait Listener {
    /// Receives an event. Returning `Stop` ends the training with the weights as they are.
    fn event(&mut self, event: &Event) -> Result<Control>;

    /// A flag that the listener sets to stop the run in the middle of a pass over the training set. At the next step
    /// boundary [`Listener::event`] must ask for the same. Called once, before the run.
    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        None
    }

    /// Whether it is time for a checkpoint. Called at every step boundary.
    fn checkpoint_due(&mut self) -> bool {
        false
    }

    /// Receives a checkpoint.
    fn checkpoint(&mut self, _checkpoint: &Checkpoint) -> Result<()> {
        Ok(())
    }
}

/// A listener that ignores all events and lets training run to its end.
impl Listener for () {
    fn event(&mut self, _event: &Event) -> Result<Control> {
        Ok(Control::Continue)
    }
}

/// Reports the run that computes the first weights. Stopping that run stops the next one too, since the listener is
/// asked again; checkpoints are those of the next one.
struct InitialWeights<'a>(&'a mut dyn Listener);

impl Listener for InitialWeights<'_> {
    fn event(&mut self, event: &Event) -> Result<Control> {
        match *event {
            Event::Progress { passes, objective, .. } => {
                self.0.event(&Event::InitialWeights { passes, objective })
            }
            Event::Restart { .. } => self.0.event(event),
            _ => Ok(Control::Continue),
        }
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        self.0.stop_flag()
    }
}

/// Reports the run that follows the search for penalties and first weights. If the listener has cut that search short, there are no
/// checkpoints: a resumed run would not end in the model of an uninterrupted one.
struct AfterSearch<'a> {
    listener: &'a mut dyn Listener,
    cut_short: bool,
}

impl Listener for AfterSearch<'_> {
    fn event(&mut self, event: &Event) -> Result<Control> {
        self.listener.event(event)
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        self.listener.stop_flag()
    }

    fn checkpoint_due(&mut self) -> bool {
        !self.cut_short && self.listener.checkpoint_due()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.listener.checkpoint(checkpoint)
    }
}

/// The whole state of a training run: that of the method, and the best weights on the development set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// The state of the method.
    pub state: State,
    /// The best score on the development set, and the weights that had it.
    pub best: Option<(f64, Vec<f64>)>,
    /// Evaluations since the best score.
    pub since_best: usize,
    /// The penalties that were tried before this run.
    pub tried: Vec<TuningTrial>,
}

/// The inputs of a run besides corpus and settings.
#[derive(Clone, Debug)]
pub struct TrainOptions<D: Domain> {
    /// Weights to start from, in the order of this corpus's features; empty for those of [`Settings::init`].
    pub theta: Vec<f64>,
    /// Mean of the prior, in the order of this corpus's features; empty for the one number in the settings.
    pub prior_mean: Vec<f64>,
    /// A development set. The model is evaluated on it after each pass, and the best weights are kept.
    pub dev: Option<Dev<D>>,
    /// The checkpoint of an interrupted run to resume.
    pub resume: Option<Checkpoint>,
    /// Number of threads; 0 means all cores.
    pub threads: usize,
}

impl<D: Domain> Default for TrainOptions<D> {
    fn default() -> Self {
        TrainOptions { theta: Vec::new(), prior_mean: Vec::new(), dev: None, resume: None, threads: 0 }
    }
}

/// A trained model, and how its training went.
#[derive(Clone, Debug)]
pub struct Trained<D: Domain> {
    /// The trained model.
    pub model: WeightedModel<D>,
    /// Why training ended.
    pub stop: StopReason,
    /// Evaluations of the training set.
    pub passes: f64,
    /// The objective at the model's weights: losses plus penalties.
    pub objective: f64,
    /// Number of weights in training, zeros included.
    pub features: usize,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The method stopped by its own rule.
    Method(Stop),
    /// The score on the development set has not improved for [`Settings::patience`] evaluations.
    Patience,
    /// The listener stopped it.
    Listener,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StopReason::Method(stop) => write!(f, "{stop}"),
            StopReason::Patience => f.write_str("development score no longer improves"),
            StopReason::Listener => f.write_str("interrupted"),
        }
    }
}

/// The features that a corpus has under these settings.
pub fn features<D: Domain>(corpus: &Corpus<D>, settings: &Settings) -> Features {
    corpus.features(settings)
}

/// Trains a model. `features` must come from the function [`features()`]. The result does not depend on the number of
/// threads. If the settings leave penalties to training ([`Settings::choose`]), it first searches for them.
pub fn train<D: Domain>(
    corpus: Corpus<D>,
    features: Features,
    settings: &Settings,
    mut start: TrainOptions<D>,
    listener: &mut dyn Listener,
) -> Result<Trained<D>> {
    settings.check(D::KIND)?;
    corpus.domain.check_settings(settings)?;
    features.check_size(corpus.data.len())?;
    check_lengths(&start.theta, &start.prior_mean, features.dim())?;
    if corpus.data.is_empty() {
        return Err(Error::Setting("the training data holds no example".into()));
    }
    if corpus.data.is_unlabelled() {
        return Err(Error::Setting(
            "the training data holds no label: there is nothing to learn from".into(),
        ));
    }
    if !settings.choose.any() {
        return train_with(corpus, features, settings, start, false, listener);
    }
    let (chosen, cut_short) = match &start.resume {
        Some(checkpoint) => (choose::resumed(settings, checkpoint)?, false),
        None => {
            let Chosen { settings, theta, stopped } =
                choose::choose(&corpus, &features, settings, &start, listener)?;
            start.theta = theta;
            (settings, stopped)
        }
    };
    train_with(corpus, features, &chosen, start, cut_short, listener)
}

/// Trains a model with the penalties of the settings, which may be those of a search that was `cut_short`.
fn train_with<D: Domain>(
    corpus: Corpus<D>,
    features: Features,
    settings: &Settings,
    start: TrainOptions<D>,
    mut cut_short: bool,
    listener: &mut dyn Listener,
) -> Result<Trained<D>> {
    let TrainOptions { mut theta, prior_mean, dev, resume, threads } = start;
    if theta.is_empty() && resume.is_none() {
        let stopped;
        (theta, stopped) = initial_weights(&corpus, &features, settings, threads, listener)?;
        cut_short |= stopped;
    }
    let listener = &mut AfterSearch { listener, cut_short };
    let dim = features.dim();
    let objective = TrainingObjective::of(corpus, features, settings, prior_mean, threads)?;
    theta = objective.scaled(theta);
    let TrainingObjective { domain, features, settings, .. } = &objective;
    let mut judge = dev.as_ref().map(|dev| {
        |theta: &[f64]| {
            let theta = objective.unscaled(theta.to_vec());
            let judgement = dev.judge(domain, features, &theta, settings, threads)?;
            Ok(domain.scores(&judgement))
        }
    });
    let begin = Begin { theta, resume, judge: judge.as_mut().map(|judge| judge as fit::Judge) };
    let prior = objective.prior.clone();
    let Fitted { theta, stop, passes, objective: value } =
        fit(objective.losses.as_ref(), prior, settings, begin, listener)?;
    Ok(Trained { model: objective.into_model(theta), stop, passes, objective: value, features: dim })
}

/// The first weights that [`Settings::init`] asks for, and whether the listener has stopped the run that computes them.
fn initial_weights<D: Domain>(
    corpus: &Corpus<D>,
    features: &Features,
    settings: &Settings,
    threads: usize,
    listener: &mut dyn Listener,
) -> Result<(Vec<f64>, bool)> {
    let mut stopped = false;
    let theta = match settings.init {
        Init::Zero => vec![0.0; features.dim()],
        Init::Random => {
            let mut random = Random::new(settings.seed);
            (0..features.dim()).map(|_| RANDOM_WEIGHTS * (2.0 * random.uniform() - 1.0)).collect()
        }
        Init::Empirical | Init::Logistic | Init::Model => {
            corpus.domain.initial_weights(&corpus.data, features, settings, &mut |corpus, settings| {
                let (features, start) =
                    (corpus.features(settings), TrainOptions { threads, ..TrainOptions::default() });
                let trained = train(corpus, features, settings, start, &mut InitialWeights(&mut *listener))?;
                stopped |= trained.stop == StopReason::Listener;
                Ok(trained.model.weights.to_vec())
            })?
        }
    };
    Ok((theta, stopped))
}

/// Rejects first weights or prior means that do not match the number of features. Empty ones are accepted.
fn check_lengths(theta: &[f64], prior_mean: &[f64], dim: usize) -> Result<()> {
    for (what, given) in [("start", theta), ("mean of the prior", prior_mean)] {
        if !given.is_empty() && given.len() != dim {
            let found = given.len();
            return Err(Error::Setting(format!(
                "the {what} has {found} weights, but the features have {dim}"
            )));
        }
    }
    Ok(())
}
