//! The label-wise most probable labelling.

use super::viterbi::first_max;
use crate::graph::{Chain, FactorGraph, Label};

/// Takes the most probable label of every position (smd-crf-2006 section 5), given the node marginals `[T][stride]`. Of equal
/// labels the one with the smallest index wins.
pub fn max_marginal(chain: &Chain, marginals: &[f64], labels: &mut Vec<Label>) {
    labels.clear();
    labels.extend(
        marginals
            .chunks_exact(chain.stride())
            .take(chain.len)
            .map(|row| first_max(chain.labels, |j| row[j]).0 as Label),
    );
}

/// The same for a factor graph, given the marginals of its variables, laid out as [`crate::graph::Cliques::node`] says: what any engine
/// on factor graphs has after a call.
pub fn max_node_marginal(graph: &FactorGraph, marginals: &[f64], labels: &mut Vec<Label>) {
    labels.clear();
    labels.extend(graph.cards().iter().enumerate().map(|(v, &card)| {
        let row = &marginals[graph.cliques().node(v)];
        first_max(card, |j| row[j]).0 as Label
    }));
}
