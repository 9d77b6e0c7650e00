//! Decoding: the best labelling, the n best labellings, or the most probable label of each variable. In f64 only.

mod alpha_expansion;
mod choice;
mod exact;
mod graph_cut;
mod graph_nbest;
mod icm;
mod max_flow;
mod max_marginal;
mod max_product;
mod memm;
mod nbest;
mod once;
mod once_paths;
mod paths;
mod product_states;
mod second_order;
mod segments;
mod viterbi;

pub use alpha_expansion::AlphaExpansion;
pub use choice::Decode;
pub use exact::ExactArgmax;
pub use graph_cut::GraphCut;
#[doc(hidden)]
pub use graph_nbest::graph_nbest;
pub use icm::Icm;
pub use max_marginal::{max_marginal, max_node_marginal};
pub use max_product::MaxProduct;
pub use memm::{Direction, MemmViterbi};
#[doc(hidden)]
pub use nbest::NBEST_MEMORY;
pub use nbest::{Ranked, nbest, nbest_within};
#[doc(hidden)]
pub use once::AtMostOnce;
pub(crate) use second_order::StateChain;
pub use viterbi::Viterbi;

use crate::graph::{FactorGraph, Graph, Label, Psi};
use crate::math::Array;

/// Finds a labelling with a high score.
pub trait Decoder: Send + Sync {
    /// The graphs that it works on.
    type Graph: Graph;
    /// Scratch memory, kept between calls.
    type Work: Default + Send;

    /// Overwrites `labels` with a labelling and returns its score. Ties are always broken the same way.
    fn argmax(
        &self,
        graph: &Self::Graph,
        psi: Psi<f64>,
        labels: &mut Vec<Label>,
        work: &mut Self::Work,
    ) -> f64;
}

/// Overwrites `labels` with the best label of each row of an array of node tables; ties go to the first label.
fn node_argmax(graph: &FactorGraph, nodes: &Array<f64>, labels: &mut Vec<Label>) {
    max_node_marginal(graph, nodes.plane(0), labels);
}
