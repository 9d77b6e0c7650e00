//! Max-product belief propagation: exact on forests, and message passing that keeps the best labelling elsewhere.

use super::viterbi::first_max;
use super::{Decoder, node_argmax};
use crate::graph::{FactorGraph, Fields, Forest, Label, Psi, for_each_row_label};
use crate::math::Array;

/// Max-product (max-sum in logarithms). On a forest, one inward pass and one outward pass give the best labelling. On
/// other graphs messages are passed in parallel, the best labels of the beliefs are scored after every sweep, and the
/// best labelling of all sweeps wins. Among equal labels the first wins.
#[derive(Clone, Copy, Debug)]
pub struct MaxProduct {
    /// The share of the old message in the new one, from 0 to 1 (exclusive).
    pub damping: f64,
    /// The largest number of sweeps on a graph with loops.
    pub max_iterations: usize,
    /// Messages have converged when none changes by more than this.
    pub tolerance: f64,
}

impl Default for MaxProduct {
    fn default() -> Self {
        MaxProduct { damping: 0.5, max_iterations: 200, tolerance: 1e-8 }
    }
}

/// Scratch for [`MaxProduct`].
#[derive(Debug, Default)]
pub struct Work {
    fields: Fields<f64>,
    /// Messages to variables and their next values, in the layout of messages.
    messages: Array<f64>,
    fresh: Vec<f64>,
    /// Beliefs, in the layout of nodes.
    beliefs: Array<f64>,
    trial: Vec<Label>,
}

impl Decoder for MaxProduct {
    type Graph = FactorGraph;
    type Work = Work;

    fn argmax(&self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) -> f64 {
        work.fields.gather(graph, psi);
        work.messages.reset(graph.cliques().message_len(), 0.0);
        work.beliefs.reset(graph.cliques().node_len(), 0.0);
        work.beliefs.add_all(&work.fields.nodes);
        match graph.forest() {
            Ok(forest) => work.on_forest(graph, psi, forest, labels),
            Err(_) => self.with_loops(graph, psi, labels, work),
        }
        psi.score(graph, labels)
    }
}

impl MaxProduct {
    fn with_loops(&self, graph: &FactorGraph, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        node_argmax(graph, &work.beliefs, labels);
        let mut best = psi.score(graph, labels);
        for _ in 0..self.max_iterations {
            let mut change: f64 = 0.0;
            for c in 0..cliques.len() {
                work.speak(graph, psi, c, None);
                let first = cliques.message(scopes.slots(c).start).start;
                for slot in scopes.slots(c) {
                    let row = cliques.message(slot);
                    let card = graph.cards()[scopes.slot_vars()[slot]];
                    for at in row.take(card) {
                        let old = work.messages.get(at);
                        let new = (1.0 - self.damping) * work.fresh[at - first] + self.damping * old;
                        change = change.max((new - old).abs());
                        work.messages.set(at, new);
                    }
                }
            }
            work.believe(graph);
            node_argmax(graph, &work.beliefs, &mut work.trial);
            let score = psi.score(graph, &work.trial);
            if score > best {
                best = score;
                labels.clone_from(&work.trial);
            }
            if change <= self.tolerance {
                break;
            }
        }
    }
}

impl Work {
    /// Computes the messages of clique `c` to its variables, into `fresh`. Each message has maximum 0: it is the best
    /// score for each label, without that variable's own message. The variable of the slot `silent` sends no message.
    fn speak(&mut self, graph: &FactorGraph, psi: Psi<f64>, c: usize, silent: Option<usize>) {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let (vars, slots, shape) = (scopes.vars(c), scopes.slots(c), scopes.shape(c));
        let first = cliques.message(slots.start).start;
        let said = |k: usize, label: usize| {
            let slot = slots.start + k;
            if silent == Some(slot) {
                return 0.0;
            }
            self.beliefs.get(cliques.node(vars[k]).start + label)
                - self.messages.get(cliques.message(slot).start + label)
        };
        let table = self.fields.table(graph, psi, c).re;
        let fresh = &mut self.fresh;
        fresh.clear();
        fresh.resize(cliques.message(slots.end - 1).end - first, f64::NEG_INFINITY);
        let place = |k: usize, label: usize| cliques.message(slots.start + k).start - first + label;
        let last = vars.len() - 1;
        for row in 0..shape.rows {
            let mut sum = 0.0;
            for_each_row_label(row, vars, graph.cards(), |k, label| sum += said(k, label));
            let mut best = f64::NEG_INFINITY;
            for j in 0..shape.columns {
                let score = table[row * shape.stride() + j] + sum + said(last, j);
                best = best.max(score);
                fresh[place(last, j)] = fresh[place(last, j)].max(score);
            }
            for_each_row_label(row, vars, graph.cards(), |k, label| {
                fresh[place(k, label)] = fresh[place(k, label)].max(best);
            });
        }
        for (k, &v) in vars.iter().enumerate() {
            let card = graph.cards()[v];
            (0..card).for_each(|j| fresh[place(k, j)] -= said(k, j));
            let row = &mut fresh[place(k, 0)..][..card];
            let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|x| *x -= max);
        }
    }

    /// Recomputes all beliefs from the messages.
    fn believe(&mut self, graph: &FactorGraph) {
        let cliques = graph.cliques();
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = cliques.node(v).start;
            for j in 0..card {
                let said = |slot: &u32| self.messages.get(cliques.message(*slot as usize).start + j);
                let sum: f64 = cliques.incident(v).iter().map(said).sum();
                self.beliefs.set(at + j, self.fields.nodes.get(at + j) + sum);
            }
        }
    }

    /// The best labelling of a forest: passes messages to the roots, then each clique takes the best entry that
    /// agrees with its variable nearest the root.
    fn on_forest(&mut self, graph: &FactorGraph, psi: Psi<f64>, forest: &Forest, labels: &mut Vec<Label>) {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        for &(c, toward) in forest.outwards.iter().rev() {
            let slots = scopes.slots(c);
            let slot = slots.start + toward;
            self.speak(graph, psi, c, Some(slot));
            let from = cliques.message(slot).start - cliques.message(slots.start).start;
            let v = scopes.vars(c)[toward];
            for j in 0..graph.cards()[v] {
                self.beliefs.add(cliques.node(v).start + j, self.fresh[from + j]);
            }
        }
        labels.clear();
        labels.resize(graph.cards().len(), 0);
        for &root in &forest.roots {
            let at = cliques.node(root).start;
            labels[root] = first_max(graph.cards()[root], |j| self.beliefs.get(at + j)).0 as Label;
        }
        for &(c, toward) in &forest.outwards {
            let (vars, shape) = (scopes.vars(c), scopes.shape(c));
            let table = self.fields.table(graph, psi, c).re;
            let settled = labels[vars[toward]] as usize;
            let label = |entry: usize, k: usize| {
                let (row, j) = (entry / shape.columns, entry % shape.columns);
                let run = scopes.strides(c)[k] / shape.stride();
                if k + 1 == vars.len() { j } else { row / run % graph.cards()[vars[k]] }
            };
            let score = |entry: usize| {
                if label(entry, toward) != settled {
                    return f64::NEG_INFINITY;
                }
                let beyond = (0..vars.len()).filter(|&k| k != toward);
                let beyond = beyond.map(|k| self.beliefs.get(cliques.node(vars[k]).start + label(entry, k)));
                table[entry / shape.columns * shape.stride() + entry % shape.columns] + beyond.sum::<f64>()
            };
            let best = first_max(shape.rows * shape.columns, score).0;
            for (k, &v) in vars.iter().enumerate() {
                labels[v] = label(best, k) as Label;
            }
        }
    }
}
