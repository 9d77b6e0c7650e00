//! Losses on the pieces of any graph.

use super::{Gold, Loss};
use crate::ability::Ability;
use crate::graph::{FactorGraph, Gradient, Label, Pieces, Psi};
use crate::math::Scalar;

/// A loss on the node-split graph: the sum over pieces of the loss of each piece by itself (pwpl-2007 section 2.2).
///
/// - With `Likelihood(Tree)` it is piecewise training: ℓ = Σ_pieces (log Z − score). This is an upper bound on the
///   negative log-likelihood unless pieces share a factor.
/// - With [`super::Pseudolikelihood`] it is piecewise pseudolikelihood: O(labels) for each factor of each
///   conditional.
///
/// The pieces of any graph have no loops, except with [`Pieces::File`], where the engine must work on any graph.
/// Asking for pieces that the graph does not have is a bug in the caller: code that takes them from a user calls
/// [`FactorGraph::node_split`] first. On chains, [`super::ChainPiecewise`] and
/// [`super::ChainPiecewisePseudolikelihood`] give the same result faster.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnPieces<L> {
    /// How the graph is cut into pieces.
    pub pieces: Pieces,
    /// The loss of each piece.
    pub loss: L,
}

/// Scratch for [`OnPieces`].
#[derive(Debug, Default)]
pub struct Work<W> {
    labels: Vec<Label>,
    variables: Vec<f64>,
    loss: W,
}

impl<L: Loss<Graph = FactorGraph>> Loss for OnPieces<L> {
    type Graph = FactorGraph;
    type Work<S: Scalar> = Work<L::Work<S>>;

    fn provides(&self) -> &'static [Ability] {
        // It does not provide the marginals of the graph itself.
        &[Ability::Smooth, Ability::HessVec]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &FactorGraph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let split = graph.node_split(self.pieces).expect("pieces that the graph has");
        split.copy(gold.labels, &mut work.labels);
        work.variables.clear();
        if !gold.variables.is_empty() {
            split.copy(gold.variables, &mut work.variables);
        }
        let gold = Gold { labels: &work.labels, variables: &work.variables, ..gold };
        self.loss.loss(&split.graph, psi, gold, out, &mut work.loss)
    }
}
