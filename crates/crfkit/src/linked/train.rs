//! Training: a corpus of linked chains and settings in, a model out.

use super::{Engine, LinkedCorpus, LinkedModel};
use crate::checkpoint::Digest;
use crate::data::dataset::Dataset;
use crate::decode::{ExactArgmax, MaxProduct};
use crate::eval::Scores;
use crate::graph::FactorGraph;
use crate::infer::{Exact, LoopyBp, MeanField, Tree, TreeReweighted};
use crate::loss::{
    Likelihood, Loss, OnPieces, Perceptron, Pieces, Piecewise, PiecewisePseudolikelihood, Pseudolikelihood,
};
use crate::model::Features;
use crate::optim::Objective;
use crate::risk::Risk;
use crate::train::{Begin, Checkpoint, Criterion, Ended, Fitted, Listener, Settings, fit, refuse_complex};
use crate::{Error, Result};
use std::sync::Arc;

/// Scores of a model on development data.
pub type LinkedJudge<'a> = &'a mut dyn FnMut(&Arc<LinkedModel>) -> Result<Scores>;

/// What a run needs besides corpus and settings.
#[derive(Default)]
pub struct LinkedStart<'a> {
    /// Inference of the likelihood and of the perceptron; the model keeps it for labelling.
    pub engine: Engine,
    /// Weights to start from; empty for zeros.
    pub theta: Vec<f64>,
    /// Judges the model after each pass; the best is kept.
    pub judge: Option<LinkedJudge<'a>>,
    /// An interrupted run to go on with.
    pub resume: Option<Checkpoint>,
    /// Threads; 0 for all cores.
    pub threads: usize,
}

/// A trained model and how the training went.
#[derive(Clone, Debug)]
pub struct LinkedTrained {
    /// The model.
    pub model: LinkedModel,
    /// Why training ended.
    pub stop: Ended,
    /// Evaluations of the training set.
    pub passes: f64,
    /// Value at the model's weights: losses plus penalties.
    pub objective: f64,
}

/// The features that a corpus has under these settings.
pub fn features(corpus: &LinkedCorpus, settings: &Settings) -> Features {
    let cards: Vec<usize> = corpus.labels.iter().map(Vec::len).collect();
    let shapes = corpus.links.shapes(&cards, &corpus.templates, &corpus.alphabet);
    Features::new(&corpus.data, shapes.kinds, shapes.node_kinds, &shapes.shared, settings.features)
}

/// A number for everything that decides how a run goes, which binds a checkpoint to it. `judge` names the development data.
pub fn fingerprint(corpus: &LinkedCorpus, settings: &Settings, start: &LinkedStart, judge: &[u8]) -> u64 {
    let LinkedCorpus { links, templates, columns, label_columns, labels, alphabet, data } = corpus;
    let mut digest = Digest::new(settings);
    digest.debug(&(links, columns, label_columns, start.engine));
    digest.templates(templates);
    labels.iter().for_each(|labels| digest.texts(labels));
    digest.alphabet(alphabet);
    digest.dataset(data);
    digest.weights(&start.theta);
    digest.bytes(judge);
    digest.finish()
}

/// Trains a model. `features` are those of [`features`].
pub fn train(
    corpus: LinkedCorpus,
    features: Features,
    settings: &Settings,
    start: LinkedStart,
    listener: &mut dyn Listener,
) -> Result<LinkedTrained> {
    check(settings)?;
    let dim = features.dim();
    if !start.theta.is_empty() && start.theta.len() != dim {
        let found = start.theta.len();
        return Err(Error::Setting(format!("the start has {found} weights, but the features have {dim}")));
    }
    let LinkedStart { engine, theta, judge, resume, threads } = start;
    let LinkedCorpus { links, templates, columns, label_columns, labels, alphabet, data } = corpus;
    let prior = settings.prior(&features, Vec::new());
    let features = Arc::new(features);
    let risk = objective(settings, engine, features.clone(), data, threads)?;
    let mut model = Arc::new(LinkedModel {
        links,
        templates,
        columns,
        label_columns,
        labels,
        alphabet,
        features,
        weights: Vec::new(),
        engine,
        settings: serde_json::to_value(settings).map_err(|e| Error::Setting(e.to_string()))?,
    });
    let mut judge = judge.map(|judge| {
        |theta: &[f64]| {
            Arc::make_mut(&mut model).weights = theta.to_vec();
            judge(&model)
        }
    });
    let theta = if theta.is_empty() { vec![0.0; dim] } else { theta };
    let begin = Begin { theta, resume, judge: judge.as_mut().map(|judge| judge as _) };
    let Fitted { theta, stop, passes, objective } = fit(risk.as_ref(), prior, settings, begin, listener)?;
    let mut model = Arc::unwrap_or_clone(model);
    model.weights = theta;
    Ok(LinkedTrained { model, stop, passes, objective })
}

/// What linked chains have no use for.
fn check(settings: &Settings) -> Result<()> {
    settings.check()?;
    refuse_complex(settings)?;
    let refuse = |what: &str| Err(Error::Setting(what.into()));
    if settings.objective.direction().is_some() {
        return refuse("--objective memm goes from token to token: it needs --graph chain");
    }
    if settings.boundaries {
        return refuse("--boundaries is for --graph chain only: leave it out");
    }
    Ok(())
}

/// Σ loss over the corpus.
fn objective(
    settings: &Settings,
    engine: Engine,
    features: Arc<Features>,
    data: Dataset<FactorGraph>,
    threads: usize,
) -> Result<Box<dyn Objective>> {
    let needs_engine = matches!(settings.objective, Criterion::Likelihood | Criterion::Perceptron);
    for example in (0..data.len()).filter(|_| needs_engine) {
        engine.check(data.graph(example))?;
    }
    let sum = Sum { threads, features, data };
    match (settings.objective, engine) {
        (Criterion::Likelihood, Engine::Exact) => sum.of(Likelihood(Exact::default())),
        (Criterion::Likelihood, Engine::LoopyBp) => sum.of(Likelihood(LoopyBp::default())),
        (Criterion::Likelihood, Engine::Trw) => sum.of(Likelihood(TreeReweighted::default())),
        (Criterion::Likelihood, Engine::MeanField) => sum.of(Likelihood(MeanField::default())),
        (Criterion::Pseudolikelihood, _) => sum.of(Pseudolikelihood::<FactorGraph>::default()),
        (Criterion::Piecewise, _) => match settings.pieces.unwrap_or_default() {
            Pieces::Factor => sum.of(Piecewise::<FactorGraph>::default()),
            pieces => sum.of(OnPieces { pieces, loss: Likelihood(Tree) }),
        },
        (Criterion::PiecewisePseudo, _) => match settings.pieces.unwrap_or_default() {
            Pieces::Factor => sum.of(PiecewisePseudolikelihood::<FactorGraph>::default()),
            pieces => sum.of(OnPieces { pieces, loss: Pseudolikelihood::<FactorGraph>::default() }),
        },
        (Criterion::Perceptron, Engine::Exact) => sum.of(Perceptron(ExactArgmax::default())),
        (Criterion::Perceptron, _) => sum.of(Perceptron(MaxProduct::default())),
        (Criterion::Memm | Criterion::MemmBackward, _) => unreachable!("refused by `check`"),
    }
}

/// All that a risk needs but the loss.
struct Sum {
    threads: usize,
    features: Arc<Features>,
    data: Dataset<FactorGraph>,
}

impl Sum {
    fn of<L: Loss<Graph = FactorGraph> + 'static>(self, loss: L) -> Result<Box<dyn Objective>> {
        Ok(Box::new(Risk::new(loss, self.features, self.data, self.threads)?))
    }
}
