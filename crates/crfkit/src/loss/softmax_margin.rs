//! The softmax margin: the likelihood with a cost for wrong labels.

use super::cost::{add_cost, copy_planes};
use super::{Gold, Loss};
use crate::ability::Ability;
use crate::graph::{Gradient, Graph, Psi};
use crate::math::{Array, Scalar};

/// ℓ = log Σ_y exp(score(y) + cost(y)) − score(gold labels), with cost(y) = Σ_v weight_v·[y_v ≠ gold_v] (Gimpel and Smith
/// 2010). Labellings with many wrong labels weigh more in the normaliser, so the model learns to avoid them first;
/// variables with larger weights matter more.
///
/// It is the loss inside, [`Likelihood`](super::Likelihood) or [`PartialLikelihood`](super::PartialLikelihood), of ψ plus the
/// cost: gold labels cost nothing, so their score is the same. Variables whose label is not known cost nothing either. Every
/// labelled variable needs an own table over it alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoftmaxMargin<L>(pub L);

/// Scratch for [`SoftmaxMargin`].
#[derive(Debug)]
pub struct Work<S, W> {
    inner: W,
    /// ψ plus the cost.
    own: Array<S>,
    seen: Vec<bool>,
}

impl<S, W: Default> Default for Work<S, W> {
    fn default() -> Self {
        Work { inner: W::default(), own: Array::default(), seen: Vec::new() }
    }
}

impl<L: Loss> Loss for SoftmaxMargin<L> {
    type Graph = L::Graph;
    type Work<S: Scalar> = Work<S, L::Work<S>>;

    /// Like the likelihood, but it has no counts that do not depend on the cost, and no dual problem here.
    fn provides(&self) -> &'static [Ability] {
        match self.0.provides().contains(&Ability::Marginals) {
            true => &[Ability::Smooth, Ability::HessVec, Ability::Marginals],
            false => &[Ability::Smooth, Ability::HessVec],
        }
    }

    fn loss<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let Work { inner, own, seen } = work;
        copy_planes(psi.own, graph.own_len(), own);
        add_cost(graph, gold, own, seen);
        self.0.loss(graph, Psi { own, ..psi }, gold, out, inner)
    }
}
