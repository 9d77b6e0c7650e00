//! Training: a corpus and settings in, a model out.

mod criterion;
mod fit;
mod graphs;
mod method;
mod parameters;
mod settings;
mod stream;

pub use criterion::Criterion;
pub(crate) use fit::{Begin, Fitted, fit, refuse_complex};
pub use graphs::{GraphJudge, GraphStart, GraphTrained};
pub(crate) use graphs::{GraphSum, check_graph_settings, check_lengths, fit_graphs};
pub use method::{Declaration, Method, tables};
pub use parameters::{HessVec, Parameters};
pub use settings::{BatchOf, Settings};
pub use stream::{StreamModel, StreamTrainer, Streamed};

use crate::data::corpus::Corpus;
use crate::data::dataset::Dataset;
use crate::decode::{Decoder, Direction, MemmViterbi, Viterbi};
use crate::eval::{Evaluation, Scores, is_chunked};
use crate::graph::{Chain, Psi};
use crate::model::{Features, Model};
use crate::optim::{Choice, Control, State, Stop};
use crate::risk::Derivative;
use crate::{Error, Result};
use std::sync::Arc;

/// Data for evaluation while training runs: observations by the training corpus' alphabets, gold labels by name.
#[derive(Clone, Debug)]
pub struct Dev {
    /// The observations.
    pub data: Dataset<Chain>,
    /// Gold labels, one list a sequence; a label that training never saw is simply never predicted.
    pub gold: Vec<Vec<String>>,
}

impl Dev {
    /// There must be one gold label for every position of every sequence.
    fn check(&self) -> Result<()> {
        let (sequences, gold) = (self.data.len(), self.gold.len());
        if sequences != gold {
            let message =
                format!("the development data has {sequences} sequences, but gold labels for {gold}");
            return Err(Error::Setting(message));
        }
        for (example, gold) in self.gold.iter().enumerate() {
            let (tokens, gold) = (self.data.graph(example).len, gold.len());
            if tokens != gold {
                let message = format!(
                    "sequence {example} of the development data has {tokens} positions, but {gold} gold labels"
                );
                return Err(Error::Setting(message));
            }
        }
        Ok(())
    }
}

/// What happens during training.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// [`Method::Auto`] has looked at the problem and made its choice.
    Picked(Choice),
    /// The method is about to begin and will remember something of every example.
    Stores {
        /// How much.
        bytes: u64,
    },
    /// A step, of which those that know the objective are worth reporting.
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
    /// SMD's v has left the finite numbers at some weights and starts there from 0, with half the gain.
    Reset {
        /// Evaluations of the training set so far.
        passes: f64,
        /// How many weights.
        weights: usize,
    },
    /// An evaluation on the development data.
    Evaluation {
        /// Evaluations of the training set so far.
        passes: f64,
        /// The scores.
        scores: &'a Scores,
        /// Is it the best so far?
        best: bool,
    },
}

/// Hears of events, and may stop the training.
pub trait Listener {
    /// Something happened. `Stop` ends the training with the weights as they are.
    fn event(&mut self, event: &Event) -> Result<Control>;

    /// Asked at every step boundary: is it time for a checkpoint?
    fn checkpoint_due(&mut self) -> bool {
        false
    }

    /// Takes a checkpoint.
    fn checkpoint(&mut self, _checkpoint: &Checkpoint) -> Result<()> {
        Ok(())
    }
}

/// The whole state of a training run: the method's, and the best weights on the development data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// The method's state.
    pub state: State,
    /// Best score on the development data, and its weights.
    pub best: Option<(f64, Vec<f64>)>,
    /// Evaluations since then.
    pub since_best: usize,
}

/// What a run needs besides corpus and settings.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Weights to start from, by this corpus' features; empty for zeros.
    pub theta: Vec<f64>,
    /// Mean of the prior, by this corpus' features; empty for the settings' number.
    pub prior_mean: Vec<f64>,
    /// Development data.
    pub dev: Option<Dev>,
    /// An interrupted run to go on with.
    pub resume: Option<Checkpoint>,
    /// Threads; 0 for all cores.
    pub threads: usize,
}

/// A trained model and how the training went.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Why training ended.
    pub stop: Ended,
    /// Evaluations of the training set.
    pub passes: f64,
    /// Value at the model's weights: losses plus penalties.
    pub objective: f64,
    /// Weights that training had, zeros included.
    pub features: usize,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By the method's own rule.
    Method(Stop),
    /// The development score has not improved for a while.
    Patience,
    /// The listener asked for it.
    Listener,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Method(stop) => write!(f, "{stop}"),
            Ended::Patience => f.write_str("no better development score any more"),
            Ended::Listener => f.write_str("interrupted"),
        }
    }
}

/// The features that a corpus has under these settings.
pub fn features(corpus: &Corpus, settings: &Settings) -> Features {
    let observations = [corpus.alphabet.node.len(), corpus.alphabet.pair.len()];
    Features::chain(
        &corpus.data,
        corpus.labels.len(),
        observations,
        settings.features,
        corpus.source.label_bigram(),
        settings.boundaries,
    )
}

/// Trains a model. `features` are those of [`features`].
pub fn train(
    corpus: Corpus,
    features: Features,
    settings: &Settings,
    start: Start,
    listener: &mut dyn Listener,
) -> Result<Trained> {
    settings.check_for_chains()?;
    let Corpus { source, data, labels, alphabet, words } = corpus;
    let dim = features.dim();
    for (what, len) in [("start", start.theta.len()), ("prior mean", start.prior_mean.len())] {
        if len != 0 && len != dim {
            return Err(Error::Setting(format!("the {what} has {len} weights, but the features have {dim}")));
        }
    }
    if let Some(dev) = &start.dev {
        dev.check()?;
    }
    let prior = settings.prior(&features, start.prior_mean);
    let features = Arc::new(features);
    let pieces = settings.pieces.unwrap_or_default();
    let hess_vec = settings.parameters.hess_vec.unwrap_or_default();
    let derivative = if hess_vec == HessVec::Complex { Derivative::Complex } else { Derivative::Dual };
    let risk = settings.objective.objective(pieces, derivative, features.clone(), data, start.threads)?;
    let theta = if start.theta.is_empty() { vec![0.0; dim] } else { start.theta };
    let direction = settings.objective.direction();
    let chunked = is_chunked(labels.iter().map(|l| l.as_str()));
    let mut judge = start.dev.as_ref().map(|dev| {
        |theta: &[f64]| Ok(Scores { chunked, ..evaluate(&features, theta, direction, &labels, dev) })
    });
    let judge = judge.as_mut().map(|judge| judge as fit::Judge);
    let begin = Begin { theta, resume: start.resume, judge };
    let Fitted { theta, stop, passes, objective } = fit(risk.as_ref(), prior, settings, begin, listener)?;
    let settings = serde_json::to_value(settings).map_err(|e| Error::Setting(e.to_string()))?;
    drop(risk);
    let features = Arc::unwrap_or_clone(features);
    let model = Model { labels, source, alphabet, words, features, weights: theta.into(), settings };
    Ok(Trained { model, stop, passes, objective, features: dim })
}

/// Scores of the weights θ on development data; `direction` is that of [`Criterion::direction`].
///
/// # Panics
/// If there is not one gold label for every position.
pub fn evaluate(
    features: &Features,
    theta: &[f64],
    direction: Option<Direction>,
    labels: &[String],
    dev: &Dev,
) -> Scores {
    let mut shared = features.empty_tables();
    features.fill_tables(&[theta], &mut shared);
    let mut own = crate::math::Array::default();
    let (mut predicted, mut work, mut memm) = (Vec::new(), Default::default(), Default::default());
    let mut evaluation = Evaluation::default();
    for example in 0..dev.data.len() {
        crate::risk::potentials(features, &dev.data, example, theta, &mut own);
        let psi = Psi { shared: &shared, own: &own };
        let chain = dev.data.graph(example);
        match direction {
            None => Viterbi.argmax(chain, psi, &mut predicted, &mut work),
            Some(direction) => MemmViterbi(direction).argmax(chain, psi, &mut predicted, &mut memm),
        };
        let gold: Vec<&str> = dev.gold[example].iter().map(|l| l.as_str()).collect();
        let named: Vec<&str> = predicted.iter().map(|&l| labels[l as usize].as_str()).collect();
        evaluation.add_sequence(&gold, &named, None);
    }
    evaluation.scores()
}
