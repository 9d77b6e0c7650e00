//! α-expansion (Boykov, Veksler and Zabih 2001): finds a labelling that no single expansion of one label improves.

use super::graph_cut::{best_move, build, check_finite, check_pairwise};
use super::max_flow::MaxFlow;
use super::{Decoder, node_argmax};
use crate::Result;
use crate::graph::{FactorGraph, Fields, Label, Psi};

/// Minimum cuts for pairwise models of any number of labels: each cut finds the best set of variables to change to one label α; the
/// labels take turns until none helps. With pair tables that are metrics (Potts, for example) each cut is exact and the energy ends within
/// a constant factor of the best; other pairs are truncated safely, and a move that does not raise the score is not made. It ends
/// whatever the scores are: see [`GraphCut`](super::GraphCut).
#[derive(Clone, Copy, Debug)]
pub struct AlphaExpansion {
    /// The largest number of rounds over all labels.
    pub max_rounds: usize,
}

impl Default for AlphaExpansion {
    fn default() -> Self {
        AlphaExpansion { max_rounds: 100 }
    }
}

/// Scratch for [`AlphaExpansion`].
#[derive(Debug, Default)]
pub struct Work {
    fields: Fields<f64>,
    flow: MaxFlow,
    moved: Vec<Label>,
}

impl AlphaExpansion {
    /// Returns an error if a clique has more than two variables. Call it before [`Decoder::argmax`].
    pub fn check(&self, graph: &FactorGraph) -> Result<()> {
        check_pairwise(graph, "α-expansion")
    }

    /// Rejects scores that are not finite.
    pub fn check_scores(&self, graph: &FactorGraph, psi: Psi<f64>) -> Result<()> {
        let mut fields = Fields::default();
        fields.gather(graph, psi);
        check_finite(graph, psi, &fields, "α-expansion")
    }
}

impl Decoder for AlphaExpansion {
    type Graph = FactorGraph;
    type Work = Work;

    fn argmax(&self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) -> f64 {
        work.fields.gather(graph, psi);
        node_argmax(graph, &work.fields.nodes, labels);
        build(graph, &mut work.flow);
        let widest = graph.cards().iter().copied().max().unwrap_or(0);
        let mut score = psi.score(graph, labels);
        for _ in 0..self.max_rounds {
            let before = score;
            for alpha in 0..widest {
                work.moved.clone_from(labels);
                best_move(graph, psi, &work.fields, alpha, &mut work.moved, &mut work.flow);
                let moved = psi.score(graph, &work.moved);
                if moved > score {
                    score = moved;
                    std::mem::swap(labels, &mut work.moved);
                }
            }
            if score <= before {
                break;
            }
        }
        score
    }
}
