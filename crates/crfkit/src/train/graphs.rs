//! What training on factor graphs has in common, wherever they come from.

use super::{BatchOf, Begin, Checkpoint, Criterion, Ended, Fitted, Listener, Settings, fit, refuse_complex};
use crate::data::dataset::Dataset;
use crate::decode::{ExactArgmax, MaxProduct};
use crate::eval::Scores;
use crate::graph::{FactorGraph, UNLABELLED};
use crate::infer::{Engine, Exact, NodeMarginals, Tree, WithEngine};
use crate::loss::{
    Likelihood, Loss, Marginal, OnPieces, PartialLikelihood, Perceptron, Pieces, Piecewise,
    PiecewisePseudolikelihood, Pseudolikelihood,
};
use crate::model::Features;
use crate::optim::Objective;
use crate::risk::Risk;
use crate::{Error, Result};
use std::sync::Arc;

/// Scores of a model on development data.
pub type GraphJudge<'a, M> = &'a mut dyn FnMut(&Arc<M>) -> Result<Scores>;

/// What a run needs besides data and settings.
pub struct GraphStart<'a, M> {
    /// Inference of the likelihood and of the perceptron; the model keeps it for labelling.
    pub engine: Engine,
    /// Weights to start from; empty for zeros.
    pub theta: Vec<f64>,
    /// Mean of the prior, weight by weight; empty where it is one number, that of the settings.
    pub prior_mean: Vec<f64>,
    /// Judges the model after each pass; the best is kept.
    pub judge: Option<GraphJudge<'a, M>>,
    /// An interrupted run to go on with.
    pub resume: Option<Checkpoint>,
    /// Threads; 0 for all cores.
    pub threads: usize,
}

impl<M> Default for GraphStart<'_, M> {
    fn default() -> Self {
        GraphStart {
            engine: Engine::default(),
            theta: Vec::new(),
            prior_mean: Vec::new(),
            judge: None,
            resume: None,
            threads: 0,
        }
    }
}

/// A trained model and how the training went.
#[derive(Clone, Debug)]
pub struct GraphTrained<M> {
    /// The model.
    pub model: M,
    /// Why training ended.
    pub stop: Ended,
    /// Evaluations of the training set.
    pub passes: f64,
    /// Value at the model's weights: losses plus penalties.
    pub objective: f64,
}

/// Refuses settings that factor graphs have no use for.
pub(crate) fn check_graph_settings(settings: &Settings) -> Result<()> {
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

/// Trains `model`, which `set` gives weights, by settings that [`check_graph_settings`] has accepted.
pub(crate) fn fit_graphs<M: Clone>(
    data: Dataset<FactorGraph>,
    features: Arc<Features>,
    settings: &Settings,
    start: GraphStart<M>,
    model: M,
    set: impl Fn(&mut M, &[f64]),
    listener: &mut dyn Listener,
) -> Result<GraphTrained<M>> {
    let GraphStart { engine, theta, prior_mean, judge, resume, threads } = start;
    let dim = features.dim();
    check_lengths(&theta, &prior_mean, dim)?;
    let theta = if theta.is_empty() { vec![0.0; dim] } else { theta };
    let prior = settings.prior(&features, prior_mean);
    let risk = GraphSum { features, data, threads }.objective(settings, engine, TOLERANCE)?;
    let mut model = Arc::new(model);
    let mut judge = judge.map(|judge| {
        |theta: &[f64]| {
            set(Arc::make_mut(&mut model), theta);
            judge(&model)
        }
    });
    let begin = Begin { theta, resume, judge: judge.as_mut().map(|judge| judge as _) };
    let Fitted { theta, stop, passes, objective } = fit(risk.as_ref(), prior, settings, begin, listener)?;
    let mut model = Arc::unwrap_or_clone(model);
    set(&mut model, &theta);
    Ok(GraphTrained { model, stop, passes, objective })
}

/// Refuses first weights and means that are not those of the features; there may be none.
pub(crate) fn check_lengths(theta: &[f64], prior_mean: &[f64], dim: usize) -> Result<()> {
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

/// Where iterative engines stop: gradients are then as exact as line searches want them.
const TOLERANCE: f64 = 1e-8;

/// The same for the marginal loss, whose second pass has directions as long as a gold label is improbable.
const MARGINAL_TOLERANCE: f64 = 1e-10;

/// All that a risk needs but the loss.
pub(crate) struct GraphSum {
    pub features: Arc<Features>,
    pub data: Dataset<FactorGraph>,
    pub threads: usize,
}

impl GraphSum {
    /// Σ loss over the data. Iterative engines stop at `tolerance`.
    pub fn objective(
        self,
        settings: &Settings,
        engine: Engine,
        tolerance: f64,
    ) -> Result<Box<dyn Objective>> {
        let (criterion, pieces) = (settings.objective, settings.pieces.unwrap_or_default());
        let complete = (0..self.data.len()).all(|example| !self.data.gold(example).contains(&UNLABELLED));
        if !complete && !criterion.takes_unlabelled() {
            return Err(Error::Setting(format!(
                "--objective {} needs the label of every node: where some are missing, use likelihood or marginal",
                criterion.name()
            )));
        }
        let needs_engine = criterion.takes_unlabelled() || criterion == Criterion::Perceptron;
        for example in (0..self.data.len()).filter(|_| needs_engine) {
            let refused = |error: Error| Error::Setting(format!("example {}: {error}", example + 1));
            engine.check(self.data.graph(example)).map_err(refused)?;
        }
        if criterion.has_pieces() {
            return self.by_pieces(criterion, pieces, settings.batch_of);
        }
        match criterion {
            Criterion::Likelihood if complete && engine == Engine::Exact => {
                self.of(Likelihood(Exact::default()))
            }
            Criterion::Likelihood => engine.with(tolerance, ByLikelihood(self)),
            Criterion::Marginal => engine.with(tolerance.min(MARGINAL_TOLERANCE), ByMarginals(self)),
            Criterion::Pseudolikelihood => self.of(Pseudolikelihood::<FactorGraph>::default()),
            Criterion::Perceptron if engine == Engine::Exact => self.of(Perceptron(ExactArgmax::default())),
            Criterion::Perceptron => self.of(Perceptron(MaxProduct::default())),
            Criterion::Piecewise | Criterion::PiecewisePseudo => unreachable!("done by pieces"),
            Criterion::Memm | Criterion::MemmBackward => Err(Error::Setting(format!(
                "--objective {} goes from token to token: it needs --graph chain",
                criterion.name()
            ))),
        }
    }

    /// The criteria that have pieces.
    fn by_pieces(
        mut self,
        criterion: Criterion,
        pieces: Pieces,
        batch_of: BatchOf,
    ) -> Result<Box<dyn Objective>> {
        let pseudo = Pseudolikelihood::<FactorGraph>::default();
        let in_example =
            |example: usize| move |error: Error| Error::Setting(format!("example {}: {error}", example + 1));
        if batch_of == BatchOf::Pieces {
            self.data = self.data.split(pieces)?;
            return match (criterion, pieces) {
                (Criterion::PiecewisePseudo, _) => self.of(pseudo),
                (_, Pieces::File) => {
                    let refused = |e| Engine::Exact.check(self.data.graph(e)).map_err(in_example(e));
                    (0..self.data.len()).try_for_each(refused)?;
                    self.of(Likelihood(Exact::default()))
                }
                _ => self.of(Likelihood(Tree)),
            };
        }
        match (criterion, pieces) {
            (Criterion::PiecewisePseudo, Pieces::Factor) => {
                return self.of(PiecewisePseudolikelihood::<FactorGraph>::default());
            }
            (_, Pieces::Factor) => return self.of(Piecewise::<FactorGraph>::default()),
            _ => {}
        }
        // Refused before the work starts.
        for example in 0..self.data.len() {
            let split = self.data.graph(example).node_split(pieces).map_err(Error::from);
            let split = split.map_err(in_example(example))?;
            if criterion == Criterion::Piecewise && pieces == Pieces::File {
                Engine::Exact.check(&split.graph).map_err(in_example(example))?;
            }
        }
        match (criterion, pieces) {
            (Criterion::PiecewisePseudo, _) => self.of(OnPieces { pieces, loss: pseudo }),
            (_, Pieces::File) => self.of(OnPieces { pieces, loss: Likelihood(Exact::default()) }),
            _ => self.of(OnPieces { pieces, loss: Likelihood(Tree) }),
        }
    }

    fn of<L: Loss<Graph = FactorGraph> + 'static>(self, loss: L) -> Result<Box<dyn Objective>> {
        Ok(Box::new(Risk::new(loss, self.features, self.data, self.threads)?))
    }
}

/// The likelihood, whether all labels are known or not; exact engines give more where they are.
struct ByLikelihood(GraphSum);

impl WithEngine for ByLikelihood {
    type Out = Result<Box<dyn Objective>>;
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out {
        self.0.of(PartialLikelihood(engine))
    }
}

/// The marginal loss.
struct ByMarginals(GraphSum);

impl WithEngine for ByMarginals {
    type Out = Result<Box<dyn Objective>>;
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out {
        self.0.of(Marginal(engine))
    }
}
