//! The best labelling of any graph whose clique tree fits in memory.

use super::Decoder;
use super::product_states::{ProductStates, size};
use super::viterbi::first_max;
use crate::Result;
use crate::graph::{CliqueTree, EXACT_MEMORY, FactorGraph, Fields, Label, Psi};

/// The exact best labelling. Chains of slices with the same columns, such as factorial chains, use Viterbi over product
/// states if that is smaller. Other graphs use the junction tree with maxima in place of sums. Among equal labellings
/// of a table the first wins.
#[derive(Clone, Copy, Debug)]
pub struct ExactArgmax {
    /// The largest amount of memory that its tables may take.
    pub max_bytes: usize,
}

impl Default for ExactArgmax {
    fn default() -> Self {
        ExactArgmax { max_bytes: EXACT_MEMORY }
    }
}

impl ExactArgmax {
    /// Returns an error if the graph needs too much memory. Call it before [`Decoder::argmax`], which panics on a
    /// graph that no machine could hold.
    pub fn check(&self, graph: &FactorGraph) -> Result<()> {
        Ok(graph.check_exact(self.max_bytes)?)
    }
}

/// Scratch for [`ExactArgmax`].
#[derive(Debug, Default)]
pub struct Work {
    fields: Fields<f64>,
    product: ProductStates,
    /// The table of each bag.
    tables: Vec<Vec<f64>>,
    message: Vec<f64>,
    digits: Vec<usize>,
}

impl Work {
    /// Fills the table of each bag: the scores of its entries, each with the best scores of the parts of the tree below it. `fields` holds ψ.
    fn fill(&mut self, graph: &FactorGraph, tree: &CliqueTree, psi: Psi<f64>) {
        self.tables.resize_with(tree.bags.len().max(self.tables.len()), Vec::new);
        for (bag, table) in tree.bags.iter().zip(&mut self.tables) {
            table.clear();
            table.resize(bag.size, 0.0);
        }
        let nodes = tree.nodes.iter().enumerate();
        let nodes = nodes.map(|(v, home)| (home, self.fields.nodes.slice(graph.cliques().node(v))));
        let cliques = tree.cliques.iter().enumerate();
        let cliques = cliques.map(|(c, home)| (home, self.fields.table(graph, psi, c)));
        for (home, from) in nodes.chain(cliques) {
            let table = &mut self.tables[home.bag];
            tree.bags[home.bag].walk(&home.strides, &mut self.digits, |entry, index| {
                table[entry] += from.re[index];
            });
        }
        // From the leaves to the roots: each bag sends its parent the best scores of the part of the tree below it.
        for (i, bag) in tree.bags.iter().enumerate() {
            let Some(parent) = bag.parent else { continue };
            let (message, digits) = (&mut self.message, &mut self.digits);
            message.clear();
            message.resize(bag.separator_size, f64::NEG_INFINITY);
            let table = &self.tables[i];
            bag.walk(&bag.separator_strides, digits, |entry, index| {
                message[index] = message[index].max(table[entry]);
            });
            let table = &mut self.tables[parent];
            tree.bags[parent]
                .walk(&bag.parent_strides, digits, |entry, index| table[entry] += message[index]);
        }
    }

    /// The tables of the bags of a clique tree.
    pub(super) fn best_below(
        &mut self,
        graph: &FactorGraph,
        tree: &CliqueTree,
        psi: Psi<f64>,
    ) -> &[Vec<f64>] {
        self.fields.gather(graph, psi);
        self.fill(graph, tree, psi);
        &self.tables[..tree.bags.len()]
    }
}

impl Decoder for ExactArgmax {
    type Graph = FactorGraph;
    type Work = Work;

    fn argmax(&self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) -> f64 {
        let tree = graph.clique_tree().expect("ExactArgmax::check accepted the graph");
        work.fields.gather(graph, psi);
        let entries: usize = tree.bags.iter().map(|bag| bag.size).sum();
        if let Some(slices) = graph.slices().filter(|slices| size(slices) <= entries) {
            work.product.argmax(graph, slices, psi, &work.fields, labels);
            return psi.score(graph, labels);
        }
        work.fill(graph, tree, psi);
        // From the roots to the leaves: choose the best entry that agrees with the labels already fixed.
        labels.clear();
        labels.resize(graph.cards().len(), Label::MAX);
        for (bag, table) in tree.bags.iter().zip(&work.tables).rev() {
            let agrees = |entry: usize| {
                let mut rest = entry;
                bag.vars.iter().zip(&bag.cards).rev().all(|(&v, card)| {
                    let label = (rest % card) as Label;
                    rest /= card;
                    labels[v] == Label::MAX || labels[v] == label
                })
            };
            let value = |entry: usize| if agrees(entry) { table[entry] } else { f64::NEG_INFINITY };
            let mut rest = first_max(bag.size, value).0;
            for (&v, card) in bag.vars.iter().zip(&bag.cards).rev() {
                labels[v] = (rest % card) as Label;
                rest /= card;
            }
        }
        psi.score(graph, labels)
    }
}
