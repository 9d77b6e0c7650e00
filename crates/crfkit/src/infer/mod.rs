//! Marginal inference: ψ → (log Z, ∂ log Z/∂ψ). The gradient of log Z is the marginals.

mod begin;
mod chain;
mod chain_lanes;
mod double_loop;
mod engine;
pub mod enumerate;
mod exact;
mod exponentials;
mod junction_tree;
mod local;
mod loopy_bp;
#[doc(hidden)]
mod many;
mod mean_field;
mod messages;
mod pairwise;
mod product;
mod second_order;
mod segments;
mod settle;
mod tree;
mod trw;

pub use chain::ForwardBackward;
pub use double_loop::DoubleLoop;
pub(crate) use engine::WithEngine;
pub use engine::{Engine, Propagation};
pub use exact::Exact;
pub use junction_tree::JunctionTree;
pub use loopy_bp::{LoopyBp, MessageSchedule};
pub(crate) use many::{Many, Member};
pub use mean_field::MeanField;
pub use tree::Tree;
pub use trw::TreeReweighted;

use crate::graph::{FactorGraph, Gradient, Graph, Label, Psi};
use crate::math::{Array, Scalar};

/// The result of an inference engine.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<S> {
    /// log Z, or its approximation.
    pub log_z: S,
    /// Whether an iterative engine has converged; always true for exact engines.
    pub converged: bool,
    /// Iterations used; 1 for exact engines.
    pub iterations: usize,
}

/// An inference engine for marginals, written once over [`Scalar`].
pub trait Inference: Send + Sync {
    /// The graphs that it works on.
    type Graph: Graph + 'static;
    /// Scratch memory, kept between calls.
    type Work<S: Scalar>: Default + Send;

    /// Whether its log Z is exact.
    const EXACT: bool;

    /// Returns log Z. Overwrites `out.own` with weight × the marginals of the own tables, and adds weight × the
    /// marginals of the shared tables to `out.shared`.
    fn log_z<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> Outcome<S>;

    /// Like [`Inference::log_z`], for an example whose labels are known. The answer of an engine with several fixed
    /// points depends on where it starts, and these labels are one more place to start from. All other engines ignore
    /// them.
    #[doc(hidden)]
    fn log_z_near<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        near: Near,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> Outcome<S> {
        self.log_z(graph, psi, near.weight, out, work)
    }

    /// The same engine in single precision, on many examples at once; `None` if there is none.
    #[doc(hidden)]
    fn many(&self) -> Option<Box<dyn Many<Self::Graph>>> {
        None
    }
}

/// The known labels of an example, and its weight.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Near<'a> {
    /// The label of every variable.
    pub labels: &'a [Label],
    /// The weight of the example.
    pub weight: f64,
}

/// An engine on factor graphs that also provides the marginals of single variables.
pub trait NodeMarginals: Inference<Graph = FactorGraph> {
    /// The marginals of every variable after the last call of [`Inference::log_z`] with this scratch. They are
    /// unweighted: a row for each variable, padded with 0 to whole vectors of [`LANES`](crate::math::simd::LANES) numbers.
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Self::Work<S>) -> &'a Array<S>;
}
