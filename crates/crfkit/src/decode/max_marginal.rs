//! The labelling with the most probable label at each position.

use super::viterbi::first_max;
use crate::graph::{Chain, FactorGraph, Label};

/// Takes the most probable label of every position (smd-crf-2006 section 5), given the node marginals `[T][stride]`.
/// Ties go to the smallest index.
pub fn max_marginal(chain: &Chain, marginals: &[f64], labels: &mut Vec<Label>) {
    labels.clear();
    labels.extend(
        marginals
            .chunks_exact(chain.stride())
            .take(chain.len)
            .map(|row| first_max(chain.labels, |j| row[j]).0 as Label),
    );
}

/// The same for a factor graph. `marginals` are those of its variables, as
/// `infer::NodeMarginals` gives them; every engine for factor graphs provides them.
pub fn max_node_marginal(graph: &FactorGraph, marginals: &[f64], labels: &mut Vec<Label>) {
    labels.clear();
    labels.extend(graph.cards().iter().enumerate().map(|(v, &card)| {
        let row = &marginals[graph.cliques().node(v)];
        first_max(card, |j| row[j]).0 as Label
    }));
}
