//! Losses: functions of one example's log-potentials, to be minimised. A loss never sees weights, features, threads
//! or optimisers.

mod bethe_pieces;
mod chain_piecewise;
mod chain_windows;
mod conditionals;
mod cost;
mod likelihood;
#[doc(hidden)]
mod many;
mod marginal;
mod max_margin;
mod memm;
mod on_pieces;
mod partial;
mod perceptron;
mod piecewise;
mod piecewise_pseudo;
mod pseudolikelihood;
mod rows;
mod softmax_margin;

pub use crate::ability::Ability;
#[doc(hidden)]
pub use crate::graph::Pieces;
pub(crate) use crate::infer::Member;
pub use bethe_pieces::BethePieces;
pub use chain_piecewise::ChainPiecewise;
pub(crate) use conditionals::Conditionals;
pub use likelihood::Likelihood;
pub(crate) use many::ManyLosses;
pub use marginal::Marginal;
pub use max_margin::MaxMargin;
pub use memm::Memm;
pub use on_pieces::OnPieces;
pub use partial::PartialLikelihood;
pub use perceptron::{Margin, MarginPerceptron, Perceptron};
pub use piecewise::Piecewise;
pub use piecewise_pseudo::{ChainPiecewisePseudolikelihood, PiecewisePseudolikelihood};
pub use pseudolikelihood::Pseudolikelihood;
pub use softmax_margin::SoftmaxMargin;

use crate::graph::{FIRST_SET, Factor, Gradient, Graph, Label, LabelBits, Psi, UNLABELLED};
use crate::math::Scalar;

/// The gold labels of one example.
#[derive(Clone, Copy, Debug)]
pub struct Gold<'a> {
    /// The label of every variable; [`UNLABELLED`] where it is not known, or [`FIRST_SET`] + n if it is one of `sets[n]`.
    pub labels: &'a [Label],
    /// The sets of labels that some labels stand for.
    pub sets: &'a [LabelBits],
    /// The weight of the example, usually 1.
    pub weight: f64,
    /// The weight of each variable, in losses that are sums over variables or have a cost for each; empty if all are 1.
    pub variables: &'a [f64],
}

impl<'a> Gold<'a> {
    /// Gold labels of variables that all have weight 1.
    pub fn new(labels: &'a [Label], weight: f64) -> Self {
        Gold { labels, sets: &[], weight, variables: &[] }
    }

    /// The weight of a variable.
    #[inline]
    pub fn variable_weight(&self, variable: usize) -> f64 {
        if self.variables.is_empty() { 1.0 } else { self.variables[variable] }
    }

    /// Whether variable `v` can have this label, as far as its label is known.
    #[inline]
    pub(crate) fn allows(&self, v: usize, label: usize) -> bool {
        match (self.labels[v], self.labels[v].checked_sub(FIRST_SET)) {
            (UNLABELLED, _) => true,
            (gold, None) => label == gold as usize,
            (_, Some(set)) => self.sets[set as usize].contains(label),
        }
    }

    /// Whether the label of every variable is known.
    pub(crate) fn is_complete(&self) -> bool {
        self.labels.iter().all(|label| *label < FIRST_SET)
    }

    /// Whether a factor says something about its k-th variable: of that one the label or a set of labels is known, and of the others the label.
    #[inline]
    pub(crate) fn predicts(&self, factor: &Factor, k: usize) -> bool {
        let known =
            |(i, &v): (usize, &usize)| self.labels[v] < FIRST_SET || i == k && self.labels[v] != UNLABELLED;
        factor.vars.iter().enumerate().all(known)
    }

    /// Whether the labels of all variables of a factor are known.
    #[inline]
    pub fn is_labelled(&self, factor: &Factor) -> bool {
        factor.vars.iter().all(|&v| self.labels[v] < FIRST_SET)
    }
}

/// A training criterion on one example.
pub trait Loss: Send + Sync {
    /// The graphs that it works on.
    type Graph: Graph;
    /// Scratch memory, kept between calls.
    type Work<S: Scalar>: Default + Send;

    /// What the sum over examples provides to an optimiser besides the gradient of a batch.
    fn provides(&self) -> &'static [Ability];

    /// Returns weight × loss(ψ). Overwrites `out.own` with its gradient with respect to the own tables, and adds the
    /// gradient with respect to the shared tables to `out.shared`.
    fn loss<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S;

    /// The same loss in single precision, on many examples at once; `None` if there is none.
    #[doc(hidden)]
    fn many(&self) -> Option<Box<dyn ManyLosses<Self::Graph>>> {
        None
    }
}
