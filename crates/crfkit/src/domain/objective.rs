//! The two types of graph that models have, with their losses and answers.

use super::Domain;
use crate::answers::{Answers, ChainAnswers, GraphAnswers};
use crate::data::dataset::Dataset;
use crate::decode::{ExactArgmax, MaxProduct, Viterbi};
use crate::graph::{Chain, FactorGraph, Graph, Shared};
use crate::infer::{Engine, Exact, ForwardBackward, NodeMarginals, Tree, WithEngine};
use crate::loss::{
    BethePieces, Likelihood, Loss, MarginPerceptron, Marginal, MaxMargin, OnPieces, PartialLikelihood,
    Perceptron, Pieces, Piecewise, PiecewisePseudolikelihood, Pseudolikelihood, SoftmaxMargin,
};
use crate::model::Features;
use crate::optim::Objective;
use crate::risk::{Derivative, Risk};
use crate::settings::{BatchOf, Criterion, HessVec, Settings};
use crate::{Error, Result};
use std::fmt::Debug;
use std::sync::Arc;

/// The tolerance of iterative engines for the marginal loss. It is small because the second pass has directions that
/// grow with the improbability of a gold label.
const MARGINAL_TOLERANCE: f64 = 1e-10;

/// Everything that a sum of losses needs, except the loss.
#[derive(Debug)]
pub struct Sum<G> {
    /// The map from weights to table entries.
    pub features: Arc<Features>,
    /// The training examples.
    pub data: Dataset<G>,
    /// Number of threads; 0 means all cores.
    pub threads: usize,
    /// How products H·v are computed.
    pub derivative: Derivative,
}

impl<G> Sum<G> {
    /// A sum whose products H·v are computed as the settings say.
    pub(super) fn new(
        features: Arc<Features>,
        data: Dataset<G>,
        threads: usize,
        settings: &Settings,
    ) -> Self {
        let derivative = match settings.parameters.hess_vec.unwrap_or_default() {
            HessVec::Complex => Derivative::Complex,
            _ => Derivative::Dual,
        };
        Sum { features, data, threads, derivative }
    }
}

/// A type of graph that models have: its losses, and the answers about one graph. There are two, chains and factor
/// graphs, and every domain uses one of them.
pub trait ModelGraph: Graph + Clone + Debug + Send + Sync + 'static {
    /// The type that answers questions about one graph.
    type Answers: Answers<Graph = Self> + Debug + Send;

    /// The sum of the losses that the settings ask for. Iterative engines stop at `tolerance`.
    #[doc(hidden)]
    fn objective(
        sum: Sum<Self>,
        settings: &Settings,
        engine: Engine,
        tolerance: f64,
    ) -> Result<Box<dyn Objective>>;
    /// The answers of a worker, with no graph loaded yet.
    fn answers(
        shared: Arc<Shared<f64>>,
        settings: &Settings,
        engine: Engine,
        tolerance: f64,
    ) -> Self::Answers;
}

/// The type that answers questions about an input of a domain.
pub(crate) type AnswersOf<D> = <<D as Domain>::Graph as ModelGraph>::Answers;

impl ModelGraph for Chain {
    type Answers = ChainAnswers;

    /// Chains are solved exactly, so they need no engine.
    fn objective(sum: Sum<Chain>, settings: &Settings, _: Engine, _: f64) -> Result<Box<dyn Objective>> {
        let Sum { features, data, threads, derivative } = sum;
        settings.objective.check_weights(data.uses_variable_weights())?;
        if !data.is_complete() {
            let partial = PartialLikelihood::new(ForwardBackward);
            return match settings.objective {
                Criterion::Likelihood => {
                    Ok(Box::new(Risk::with_derivative(partial, derivative, features, data, threads)?))
                }
                Criterion::SoftmaxMargin => {
                    let loss = SoftmaxMargin(partial);
                    Ok(Box::new(Risk::with_derivative(loss, derivative, features, data, threads)?))
                }
                other => Err(Error::Setting(format!(
                    "`objective` {} needs the label of every token: where some are missing, use likelihood or \
                     softmax-margin",
                    other.name()
                ))),
            };
        }
        if let Some(margin) = settings.margin() {
            let loss = MarginPerceptron { decoder: Viterbi, margin };
            return Ok(Box::new(Risk::with_derivative(loss, derivative, features, data, threads)?));
        }
        settings.objective.objective(settings.pieces.unwrap_or_default(), derivative, features, data, threads)
    }

    fn answers(shared: Arc<Shared<f64>>, settings: &Settings, _: Engine, _: f64) -> ChainAnswers {
        let answers = ChainAnswers::new(shared, settings.objective.direction());
        answers.with_temperature(settings.temperature.unwrap_or(1.0))
    }
}

impl ModelGraph for FactorGraph {
    type Answers = GraphAnswers;

    fn objective(
        sum: Sum<FactorGraph>,
        settings: &Settings,
        engine: Engine,
        tolerance: f64,
    ) -> Result<Box<dyn Objective>> {
        let (criterion, pieces) = (settings.objective, settings.pieces.unwrap_or_default());
        settings.propagation.check_for(engine)?;
        let how = settings.propagation.or_to(tolerance);
        criterion.check_weights(sum.data.uses_variable_weights())?;
        match criterion {
            Criterion::Likelihood => engine.dispatch(how, ByLikelihood(sum.for_engine(engine, settings)?)),
            Criterion::SoftmaxMargin => {
                engine.dispatch(how, BySoftmaxMargin(sum.for_engine(engine, settings)?))
            }
            Criterion::Marginal => {
                let how = settings.propagation.or_to(tolerance.min(MARGINAL_TOLERANCE));
                engine.dispatch(how, ByMarginals(sum.for_engine(engine, settings)?))
            }
            Criterion::Perceptron if engine.is_exact() => {
                sum.for_engine(engine, settings)?.of(Perceptron(ExactArgmax::default()))
            }
            Criterion::Perceptron => sum.for_engine(engine, settings)?.of(Perceptron(MaxProduct::default())),
            Criterion::MaxMargin if engine.is_exact() => {
                sum.for_engine(engine, settings)?.of(MaxMargin(ExactArgmax::default()))
            }
            Criterion::MaxMargin => sum.for_engine(engine, settings)?.of(MaxMargin(MaxProduct::default())),
            Criterion::Pseudolikelihood => sum.of(Pseudolikelihood::<FactorGraph>::default()),
            Criterion::Piecewise | Criterion::PiecewisePseudo => sum.by_pieces(settings, pieces),
            Criterion::Memm | Criterion::MemmBackward => Err(Error::Setting(format!(
                "`objective` {} predicts one token from the next: it is for chains only",
                criterion.name()
            ))),
        }
    }

    fn answers(
        shared: Arc<Shared<f64>>,
        settings: &Settings,
        engine: Engine,
        tolerance: f64,
    ) -> GraphAnswers {
        GraphAnswers::new(shared, engine, settings.propagation.or_to(tolerance))
            .with_exact_memory(settings.exact_memory())
    }
}

impl Sum<FactorGraph> {
    /// The same sum, for a loss that uses this engine. It is an error if the engine cannot work on one of the graphs.
    fn for_engine(self, engine: Engine, settings: &Settings) -> Result<Self> {
        let memory = settings.exact_memory();
        for example in 0..self.data.len() {
            engine.check_within(self.data.graph(example), memory).map_err(in_example(example))?;
        }
        Ok(self)
    }

    /// The objective for criteria that have pieces.
    fn by_pieces(mut self, settings: &Settings, pieces: Pieces) -> Result<Box<dyn Objective>> {
        let criterion = settings.objective;
        let pseudo = Pseudolikelihood::<FactorGraph>::default();
        // Pieces that are examples of their own can leave out what has no label, and sum over the sets of those that have one.
        let (complete, sets) = (self.data.is_complete(), self.data.has_sets());
        if pieces == Pieces::Bethe {
            let loss = OnPieces { pieces, loss: Likelihood(Tree) };
            return match complete {
                true => self.of(BethePieces(loss)),
                false => Err(Error::Setting(
                    "`pieces` bethe needs the label of every node: where some are missing, use shared-unary"
                        .into(),
                )),
            };
        }
        let apart = !complete && pieces != Pieces::Factor || sets && criterion == Criterion::Piecewise;
        if settings.batch_of == BatchOf::Pieces || apart {
            self.data = self.data.split(pieces)?;
            return match (criterion, pieces) {
                (Criterion::PiecewisePseudo, _) => self.of(pseudo),
                (_, Pieces::File) if sets => {
                    self.for_engine(Engine::Exact, settings)?.of(PartialLikelihood::new(Exact::default()))
                }
                (_, Pieces::File) => {
                    self.for_engine(Engine::Exact, settings)?.of(Likelihood(Exact::default()))
                }
                _ if sets => self.of(PartialLikelihood::new(Tree)),
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
        // Reject graphs without such pieces before the work starts.
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
        let Sum { features, data, threads, derivative } = self;
        Ok(Box::new(Risk::with_derivative(loss, derivative, features, data, threads)?))
    }
}

/// Adds the number of an example to an error.
fn in_example(example: usize) -> impl Fn(Error) -> Error {
    move |error| Error::Setting(format!("example {}: {error}", example + 1))
}

/// The likelihood. If all labels are known and the engine is exact, it provides more to optimisers.
struct ByLikelihood(Sum<FactorGraph>);

impl WithEngine for ByLikelihood {
    type Out = Result<Box<dyn Objective>>;
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out {
        match I::EXACT && self.0.data.is_complete() {
            true => self.0.of(Likelihood(engine)),
            false => self.0.of(PartialLikelihood::new(engine)),
        }
    }
}

/// The likelihood with a cost for each wrong label.
struct BySoftmaxMargin(Sum<FactorGraph>);

impl WithEngine for BySoftmaxMargin {
    type Out = Result<Box<dyn Objective>>;
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out {
        match I::EXACT && self.0.data.is_complete() {
            true => self.0.of(SoftmaxMargin(Likelihood(engine))),
            false => self.0.of(SoftmaxMargin(PartialLikelihood::new(engine))),
        }
    }
}

/// The marginal loss.
struct ByMarginals(Sum<FactorGraph>);

impl WithEngine for ByMarginals {
    type Out = Result<Box<dyn Objective>>;
    fn with<I: NodeMarginals + Copy + 'static>(self, engine: I) -> Self::Out {
        self.0.of(Marginal(engine))
    }
}
