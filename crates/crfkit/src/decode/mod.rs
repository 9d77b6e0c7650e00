//! Labellings: the best one, the n best ones, the label-wise most probable one. In f64 only.

mod max_marginal;
mod memm;
mod nbest;
mod viterbi;

pub use max_marginal::max_marginal;
pub use memm::{Direction, MemmViterbi};
pub use nbest::{Ranked, nbest};
pub use viterbi::Viterbi;

use crate::graph::{Graph, Label, Psi};

/// Finds a labelling with a high score.
pub trait Decoder: Send + Sync {
    /// The graphs it works on.
    type Graph: Graph;
    /// Scratch memory, kept between calls.
    type Work: Default + Send;

    /// Overwrites `labels` with a labelling and returns its score. Ties are broken the same way every time.
    fn argmax(
        &self,
        graph: &Self::Graph,
        psi: Psi<f64>,
        labels: &mut Vec<Label>,
        work: &mut Self::Work,
    ) -> f64;
}
