//! Shared-unary pieces with Bethe's correction.

use super::{Conditionals, Gold, Loss, conditionals};
use crate::ability::Ability;
use crate::graph::{Factor, Gradient, Graph, Psi};
use crate::math::{Array, Scalar};
use std::marker::PhantomData;

/// ℓ = Σ_c −log p_c(gold) − Σ_v (d_v − 1)·(−log p_v(gold)): piecewise training with [`super::Pieces::SharedUnary`], in which the
/// node tables of a variable in d_v pieces count d_v times, minus the loss of each node by its own tables, once for each surplus copy
/// (Sutton and Minka 2006). Its normaliser Σ_c log Z_c + Σ_v (1 − d_v) log Z_v is log Z of Bethe before any message
/// (pwpl-2007 section 2.1), but for a constant where a variable has no node table.
///
/// Every factor counts once, as in the likelihood. In return the loss is not an upper bound, not convex, and may be below 0:
/// subtracted terms are rewarded for being wrong. Batch methods turn back from such points.
///
/// `L` is the loss of the shared-unary pieces: [`super::ChainPiecewise`], or [`super::OnPieces`] of a likelihood. The correction
/// costs O(labels) for each node.
#[derive(Clone, Copy, Debug, Default)]
pub struct BethePieces<L>(pub L);

/// −log p of each variable by its own tables alone.
struct Alone<G>(PhantomData<fn() -> G>);

impl<G: Graph> Conditionals for Alone<G> {
    type Graph = G;

    fn for_each(&self, graph: &G, mut visit: impl FnMut(usize, &Factor, usize)) {
        graph.for_each_factor(|factor| {
            if let &[v] = factor.vars {
                visit(v, &factor, 0);
            }
        });
    }
}

/// Scratch for [`BethePieces`].
#[derive(Debug)]
pub struct Work<S, W> {
    pieces: W,
    nodes: conditionals::Work<S>,
    /// 1 − d_v.
    weights: Vec<f64>,
    /// The gradient of the correction.
    own: Array<S>,
}

impl<S, W: Default> Default for Work<S, W> {
    fn default() -> Self {
        let (nodes, weights, own) = (conditionals::Work::default(), Vec::new(), Array::default());
        Work { pieces: W::default(), nodes, weights, own }
    }
}

impl<L: Loss> Loss for BethePieces<L> {
    type Graph = L::Graph;
    type Work<S: Scalar> = Work<S, L::Work<S>>;

    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &L::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let Work { pieces, nodes, weights, own } = work;
        let len = graph.own_len();
        weights.clear();
        // A variable in no pair is a piece of its own, which counts once.
        weights.extend((0..graph.vars()).map(|v| 1.0 - graph.degree(v).max(1) as f64));
        own.reserve(len);
        let mut less = Gradient { own: own.slice_mut(0..len), shared: &mut *out.shared };
        let corrected = Gold { variables: weights, ..gold };
        let correction = Alone(PhantomData).loss(graph, psi, corrected, &mut less, nodes);
        let value = self.0.loss(graph, psi, gold, out, pieces);
        for i in 0..len {
            out.own.add(i, own.get(i));
        }
        value + correction
    }
}
