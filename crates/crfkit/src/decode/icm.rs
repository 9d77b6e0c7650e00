//! Iterated conditional modes (Besag 1986).

use super::{Decoder, node_argmax};
use crate::graph::{FactorGraph, Fields, Label, Psi};

/// Starts from the best label of each node alone. Then sets one variable after another to its best label given all
/// others, until nothing changes. No change of a single label improves the result. A variable changes only if another
/// label is strictly better; ties go to the first label.
#[derive(Clone, Copy, Debug)]
pub struct Icm {
    /// The largest number of sweeps over all variables.
    pub max_sweeps: usize,
}

impl Default for Icm {
    fn default() -> Self {
        Icm { max_sweeps: 1000 }
    }
}

/// Scratch for [`Icm`].
#[derive(Debug, Default)]
pub struct Work {
    fields: Fields<f64>,
    scores: Vec<f64>,
}

impl Decoder for Icm {
    type Graph = FactorGraph;
    type Work = Work;

    fn argmax(&self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) -> f64 {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        work.fields.gather(graph, psi);
        node_argmax(graph, &work.fields.nodes, labels);
        for _ in 0..self.max_sweeps {
            let mut changed = false;
            for v in 0..labels.len() {
                let at = cliques.node(v).start;
                let scores = &mut work.scores;
                scores.clear();
                scores.extend_from_slice(&work.fields.nodes.plane(0)[at..at + graph.cards()[v]]);
                for &slot in cliques.incident(v) {
                    let c = cliques.slot_clique(slot as usize);
                    let (vars, strides) = (scopes.vars(c), scopes.strides(c));
                    let others = vars.iter().zip(strides).filter(|(w, _)| **w != v);
                    let start: usize = others.map(|(&w, s)| labels[w] as usize * s).sum();
                    let step = strides[slot as usize - scopes.slots(c).start];
                    let table = work.fields.table(graph, psi, c).re;
                    for (j, score) in scores.iter_mut().enumerate() {
                        *score += table[start + j * step];
                    }
                }
                let mut best = labels[v] as usize;
                for j in 0..scores.len() {
                    if scores[j] > scores[best] {
                        best = j;
                    }
                }
                changed |= best != labels[v] as usize;
                labels[v] = best as Label;
            }
            if !changed {
                break;
            }
        }
        psi.score(graph, labels)
    }
}
