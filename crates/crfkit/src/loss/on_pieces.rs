//! Losses of the pieces of any graph.

use super::{Gold, Loss};
use crate::ability::Ability;
use crate::graph::{FactorGraph, Gradient, Label, Pieces, Psi};
use crate::math::Scalar;

/// A loss of the node-split graph, Σ over pieces of the piece's loss by itself (pwpl-2007 section 2.2):
///
/// - of `Likelihood(Tree)`, piecewise training: ℓ = Σ_pieces (log Z − score). It bounds the negative log-likelihood from above unless
///   pieces share a factor;
/// - of [`super::Pseudolikelihood`], piecewise pseudolikelihood: O(labels) for each factor of each conditional.
///
/// Whatever the graph, its pieces have no loops, but for [`Pieces::File`]: there the engine must be one for any graph. Pieces that a graph does
/// not have are our own mistake here: whoever takes them from a user asks [`FactorGraph::node_split`] first. On chains [`super::ChainPiecewise`] and [`super::ChainPiecewisePseudolikelihood`] are the same and faster.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnPieces<L> {
    /// What a piece is.
    pub pieces: Pieces,
    /// The loss of all pieces.
    pub loss: L,
}

/// Scratch of [`OnPieces`].
#[derive(Debug, Default)]
pub struct Work<W> {
    labels: Vec<Label>,
    loss: W,
}

impl<L: Loss<Graph = FactorGraph>> Loss for OnPieces<L> {
    type Graph = FactorGraph;
    type Work<S: Scalar> = Work<L::Work<S>>;

    fn gives(&self) -> &'static [Ability] {
        // Not the marginals of the graph itself.
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
        split.labels(gold.labels, &mut work.labels);
        let gold = Gold { labels: &work.labels, ..gold };
        self.loss.loss(&split.graph, psi, gold, out, &mut work.loss)
    }
}
