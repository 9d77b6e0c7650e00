//! The junction tree: exact inference on any graph whose clique tree fits in memory.

use super::chain::log_sum_exp;
use super::{Inference, NodeMarginals, Outcome};
use crate::Result;
use crate::graph::{Bag, EXACT_MEMORY, FactorGraph, Fields, Gradient, Psi};
use crate::math::{Array, Scalar};

/// Exact inference in log space on a clique tree found by min-fill. Time is linear in the number of entries of all
/// its tables.
#[derive(Clone, Copy, Debug)]
pub struct JunctionTree {
    /// The largest amount of memory that its tables may take.
    pub max_bytes: usize,
}

impl Default for JunctionTree {
    fn default() -> Self {
        JunctionTree { max_bytes: EXACT_MEMORY }
    }
}

impl JunctionTree {
    /// Returns an error, which states width and memory, if the graph needs too much memory. Call it before
    /// [`Inference::log_z`], which panics on a graph that no machine could hold.
    pub fn check(&self, graph: &FactorGraph) -> Result<()> {
        Ok(graph.check_exact(self.max_bytes)?)
    }
}

/// Scratch for [`JunctionTree`].
#[derive(Debug)]
pub struct Work<S> {
    fields: Fields<S>,
    /// The tables of the bags, one after another.
    tables: Array<S>,
    /// The messages to the parents, over the separators, one after another; and one message back.
    messages: Array<S>,
    back: Array<S>,
    /// The start of each bag's table and message.
    start: Vec<(usize, usize)>,
    /// The largest real part for each entry of a separator.
    largest: Vec<f64>,
    digits: Vec<usize>,
    marginal: Array<S>,
    strides: Vec<usize>,
    nodes: Array<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            tables: Array::default(),
            messages: Array::default(),
            back: Array::default(),
            start: Vec::new(),
            largest: Vec::new(),
            digits: Vec::new(),
            marginal: Array::default(),
            strides: Vec::new(),
            nodes: Array::default(),
        }
    }
}

impl Inference for JunctionTree {
    type Graph = FactorGraph;
    type Work<S: Scalar> = Work<S>;
    const EXACT: bool = true;

    fn log_z<S: Scalar>(
        &self,
        graph: &FactorGraph,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        work: &mut Work<S>,
    ) -> Outcome<S> {
        let bags = &graph.clique_tree().expect("JunctionTree::check accepted the graph").bags;
        work.fill(graph, psi);
        let log_z = work.collect(bags);
        work.distribute(bags);
        work.deliver(graph, weight, out);
        Outcome { log_z, converged: log_z.re().is_finite(), iterations: 1 }
    }
}

impl NodeMarginals for JunctionTree {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        &work.nodes
    }
}

impl<S: Scalar> Work<S> {
    /// Fills each bag's table with the sum of the node and clique tables that belong to it.
    fn fill(&mut self, graph: &FactorGraph, psi: Psi<S>) {
        let cliques = graph.cliques();
        let tree = graph.clique_tree().expect("accepted");
        self.fields.gather(graph, psi);
        self.start.clear();
        let (mut table, mut message) = (0, 0);
        for bag in &tree.bags {
            self.start.push((table, message));
            (table, message) = (table + bag.size, message + bag.separator_size);
        }
        self.tables.reset(table, 0.0);
        self.messages.reserve(message);
        for (v, home) in tree.nodes.iter().enumerate() {
            let (bag, at) = (&tree.bags[home.bag], cliques.node(v).start);
            let (start, nodes, tables) = (self.start[home.bag].0, &self.fields.nodes, &mut self.tables);
            bag.walk(&home.strides, &mut self.digits, |entry, index| {
                tables.add(start + entry, nodes.get(at + index));
            });
        }
        for (c, home) in tree.cliques.iter().enumerate() {
            let (bag, from) = (&tree.bags[home.bag], self.fields.table(graph, psi, c));
            let (start, tables) = (self.start[home.bag].0, &mut self.tables);
            bag.walk(&home.strides, &mut self.digits, |entry, index| {
                tables.add(start + entry, from.at(index));
            });
        }
    }

    /// `back` ← log Σ of bag `i`'s table over the variables that are not in the separator of `size` entries.
    fn project(&mut self, i: usize, bag: &Bag, strides: &[usize], size: usize) {
        let (start, tables, back) = (self.start[i].0, &self.tables, &mut self.back);
        let largest = &mut self.largest;
        largest.clear();
        largest.resize(size, f64::NEG_INFINITY);
        bag.walk(strides, &mut self.digits, |entry, index| {
            largest[index] = largest[index].max(tables.get(start + entry).re());
        });
        back.reset(size, 0.0);
        bag.walk(strides, &mut self.digits, |entry, index| {
            back.add(index, (tables.get(start + entry) - S::lift(largest[index])).exp());
        });
        for index in 0..size {
            back.set(index, back.get(index).ln() + S::lift(largest[index]));
        }
    }

    /// Passes messages from the leaves to the roots. Returns log Z.
    fn collect(&mut self, bags: &[Bag]) -> S {
        let mut log_z = S::lift(0.0);
        for (i, bag) in bags.iter().enumerate() {
            let Some(p) = bag.parent else {
                let start = self.start[i].0;
                log_z += log_sum_exp(bag.size, |entry| self.tables.get(start + entry));
                continue;
            };
            self.project(i, bag, &bag.separator_strides, bag.separator_size);
            let total = log_sum_exp(bag.separator_size, |index| self.back.get(index));
            log_z += total;
            let at = self.start[i].1;
            for index in 0..bag.separator_size {
                self.messages.set(at + index, self.back.get(index) - total);
            }
            let (start, tables, messages) = (self.start[p].0, &mut self.tables, &self.messages);
            bags[p].walk(&bag.parent_strides, &mut self.digits, |entry, index| {
                tables.add(start + entry, messages.get(at + index));
            });
        }
        log_z
    }

    /// Passes messages from the roots to the leaves. Afterwards each table holds log marginals up to a constant.
    fn distribute(&mut self, bags: &[Bag]) {
        for (i, bag) in bags.iter().enumerate().rev() {
            let Some(p) = bag.parent else { continue };
            self.project(p, &bags[p], &bag.parent_strides, bag.separator_size);
            let at = self.start[i].1;
            let total = log_sum_exp(bag.separator_size, |index| self.back.get(index));
            for index in 0..bag.separator_size {
                self.back.set(index, self.back.get(index) - total - self.messages.get(at + index));
            }
            let (start, tables, back) = (self.start[i].0, &mut self.tables, &self.back);
            bag.walk(&bag.separator_strides, &mut self.digits, |entry, index| {
                tables.add(start + entry, back.get(index));
            });
        }
    }

    /// Turns the tables into probabilities and adds weight × their sums to `out`.
    fn deliver(&mut self, graph: &FactorGraph, weight: f64, out: &mut Gradient<S>) {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let tree = graph.clique_tree().expect("accepted");
        for (bag, &(start, _)) in tree.bags.iter().zip(&self.start) {
            // The largest entry is taken away first: beside an enormous one, the logarithm of a sum would be rounded away, and
            // probabilities would add up to more than 1.
            let largest = (start..start + bag.size).map(|at| self.tables.get(at).re());
            let largest = S::lift(largest.fold(f64::NEG_INFINITY, f64::max));
            let z = log_sum_exp(bag.size, |entry| self.tables.get(start + entry) - largest);
            for at in start..start + bag.size {
                self.tables.set(at, (self.tables.get(at) - largest - z).exp());
            }
        }
        out.own.fill(0.0);
        self.nodes.reset(cliques.node_len(), 0.0);
        for (v, home) in tree.nodes.iter().enumerate() {
            let (bag, start, at) = (&tree.bags[home.bag], self.start[home.bag].0, cliques.node(v));
            let (nodes, tables) = (&mut self.nodes, &self.tables);
            bag.walk(&home.strides, &mut self.digits, |entry, index| {
                nodes.add(at.start + index, tables.get(start + entry));
            });
            out.deliver_node(graph, v, weight, self.nodes.slice(at));
        }
        for (c, home) in tree.cliques.iter().enumerate() {
            let (bag, start) = (&tree.bags[home.bag], self.start[home.bag].0);
            self.marginal.reset(scopes.shape(c).size(), 0.0);
            let (marginal, tables) = (&mut self.marginal, &self.tables);
            bag.walk(&home.strides, &mut self.digits, |entry, index| {
                marginal.add(index, tables.get(start + entry));
            });
            let marginal = self.marginal.slice(0..scopes.shape(c).size());
            out.deliver_clique(graph, c, weight, marginal, &mut self.strides);
        }
    }
}
