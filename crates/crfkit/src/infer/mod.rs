//! Marginal inference: ψ → (log Z, ∂ log Z/∂ψ). The gradient of log Z is the marginals.

mod chain;
pub mod enumerate;

pub use chain::ForwardBackward;

use crate::graph::{Gradient, Graph, Psi};
use crate::math::Scalar;

/// What an engine found.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<S> {
    /// log Z, or its approximation.
    pub log_z: S,
    /// Whether an iterative engine settled; exact engines always have.
    pub converged: bool,
    /// Iterations used; 1 for exact engines.
    pub iterations: usize,
}

/// A marginal engine, written once over [`Scalar`].
pub trait Inference: Send + Sync {
    /// The graphs it works on.
    type Graph: Graph;
    /// Scratch memory, kept between calls.
    type Work<S: Scalar>: Default + Send;

    /// Is its log Z the true one?
    const EXACT: bool;

    /// Returns log Z; overwrites `out.own` with weight × the marginals of the own tables, and adds weight × the marginals
    /// of the shared tables to `out.shared`.
    fn log_z<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> Outcome<S>;
}
