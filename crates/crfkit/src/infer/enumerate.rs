//! The oracle: it enumerates every labelling of a small graph. It is slow and simple, and tests compare every other
//! engine with it.

use crate::graph::{Graph, Label, Psi, Table, TableRef};
use crate::math::Array;

/// Exact answers by enumeration.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// log Σ_y exp score(y).
    pub log_z: f64,
    /// Marginals of the own tables, in the layout of [`Psi::own`].
    pub own: Vec<f64>,
    /// Marginals of the shared tables, each in the layout of its table, summed over the factors that read it.
    pub shared: Vec<Vec<f64>>,
    /// All labellings with their scores, best first; ties are in lexicographic order of the labels.
    pub ranked: Vec<(f64, Vec<Label>)>,
}

/// Enumerates all labellings of `graph`.
pub fn enumerate<G: Graph>(graph: &G, shared: &[Table<f64>], own: &Array<f64>) -> Enumeration {
    let psi = Psi { shared, own };
    let mut labels = vec![0 as Label; graph.vars()];
    let mut ranked = Vec::new();
    loop {
        ranked.push((psi.score(graph, &labels), labels.clone()));
        // Counts up like a number whose last digit changes fastest.
        let Some(v) = (0..labels.len()).rev().find(|&v| (labels[v] as usize) + 1 < graph.card(v)) else {
            break;
        };
        labels[v] += 1;
        labels[v + 1..].fill(0);
    }
    let max = ranked.iter().map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
    let log_z = max + ranked.iter().map(|(score, _)| (score - max).exp()).sum::<f64>().ln();
    let mut result = Enumeration {
        log_z,
        own: vec![0.0; own.len()],
        shared: shared.iter().map(|t| vec![0.0; t.log.len()]).collect(),
        ranked: Vec::new(),
    };
    for (score, labels) in &ranked {
        let p = (score - log_z).exp();
        graph.for_each_entry(labels, |table, entry| match table {
            TableRef::Shared(id) => result.shared[id][entry] += p,
            TableRef::Own(offset) => result.own[offset + entry] += p,
        });
    }
    ranked.sort_by(|(a, y), (b, z)| b.total_cmp(a).then_with(|| y.cmp(z)));
    result.ranked = ranked;
    result
}
