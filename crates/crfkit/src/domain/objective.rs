//! The losses of factor graphs, for every domain whose inputs become factor graphs.

use crate::data::dataset::Dataset;
use crate::decode::{ExactArgmax, MaxProduct};
use crate::graph::{FactorGraph, UNLABELLED};
use crate::infer::{Engine, Exact, NodeMarginals, Tree, WithEngine};
use crate::loss::{
    Likelihood, Loss, Marginal, OnPieces, PartialLikelihood, Perceptron, Pieces, Piecewise,
    PiecewisePseudolikelihood, Pseudolikelihood,
};
use crate::model::Features;
use crate::optim::Objective;
use crate::risk::Risk;
use crate::settings::{BatchOf, Criterion, Settings};
use crate::{Error, Result};
use std::sync::Arc;

/// The tolerance of iterative engines for the marginal loss. It is small because the second pass has directions that
/// grow with the improbability of a gold label.
const MARGINAL_TOLERANCE: f64 = 1e-10;

/// Everything that a risk needs, except the loss.
pub struct GraphSum {
    /// The map from weights to table entries.
    pub features: Arc<Features>,
    /// The training examples.
    pub data: Dataset<FactorGraph>,
    /// Number of threads; 0 means all cores.
    pub threads: usize,
}

impl GraphSum {
    /// The sum of the losses over the data. Iterative engines stop at `tolerance`.
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
                "`objective` {} needs the label of every node: where some are missing, use likelihood or marginal",
                criterion.name()
            )));
        }
        let needs_engine = criterion.takes_unlabelled() || criterion == Criterion::Perceptron;
        for example in (0..self.data.len()).filter(|_| needs_engine) {
            let refused = |error: Error| Error::Setting(format!("example {}: {error}", example + 1));
            engine.check_within(self.data.graph(example), settings.exact_memory()).map_err(refused)?;
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
                "`objective` {} goes from token to token: only chains have it",
                criterion.name()
            ))),
        }
    }

    /// The objective for criteria that have pieces.
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
        Ok(Box::new(Risk::new(loss, self.features, self.data, self.threads)?))
    }
}

/// The likelihood, whether or not all labels are known. If they are, exact engines provide more to optimisers.
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
