//! Belief propagation on forests: exact, in two passes.

use super::begin::Share;
use super::chain::log_sum_exp;
use super::local::Local;
use super::pairwise::Pairwise;
use super::{Inference, NodeMarginals, Outcome};
use crate::Result;
use crate::graph::{FactorGraph, Fields, Forest, Gradient, Psi};
use crate::math::{Array, Scalar, Slice};

/// Exact inference on graphs without loops. Time is linear in the sizes of all tables. Pairs use probability space if
/// their scores allow it; everything else uses log space.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tree;

impl Tree {
    /// Returns an error if the graph has a loop. Call it before [`Inference::log_z`], which panics on such a graph.
    pub fn check(&self, graph: &FactorGraph) -> Result<()> {
        graph.forest()?;
        Ok(())
    }
}

/// Scratch for [`Tree`].
#[derive(Debug)]
pub struct Work<S> {
    fields: Fields<S>,
    pairwise: Pairwise<S>,
    passes: Passes<S>,
    nodes: Array<S>,
    strides: Vec<usize>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            pairwise: Pairwise::default(),
            passes: Passes::default(),
            nodes: Array::default(),
            strides: Vec::new(),
        }
    }
}

impl Inference for Tree {
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
        let forest = graph.forest().expect("Tree::check accepted the graph");
        work.fields.gather(graph, psi);
        let fields = &work.fields;
        if graph.cliques().pairwise() && work.pairwise.start(graph, psi, fields) {
            work.pairwise.pass(psi, forest);
            let log_z = work.pairwise.finish(graph, psi, Some(Share { weight, out }), &mut work.nodes);
            return Outcome { log_z, converged: log_z.re().is_finite(), iterations: 1 };
        }
        out.own.fill(0.0);
        let table = |c: usize| (fields.table(graph, psi, c), 1.0);
        let passes = &mut work.passes;
        let log_z = passes.inwards(graph, forest, &fields.nodes, table, |_| S::lift(0.0));
        for &(c, toward) in &forest.outwards {
            let marginals = passes.outwards(graph, c, toward, table(c).0);
            out.deliver_clique(graph, c, weight, marginals, &mut work.strides);
        }
        work.nodes.reset(graph.cliques().node_len(), 0.0);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = graph.cliques().node(v);
            let z = log_sum_exp(card, |j| passes.beliefs.get(at.start + j));
            for j in at.start..at.start + card {
                work.nodes.set(j, (passes.beliefs.get(j) - z).exp());
            }
            out.deliver_node(graph, v, weight, work.nodes.slice(at));
        }
        Outcome { log_z, converged: log_z.re().is_finite(), iterations: 1 }
    }
}

impl NodeMarginals for Tree {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        &work.nodes
    }
}

/// The two passes over a forest.
#[derive(Debug)]
pub(super) struct Passes<S> {
    /// Log beliefs up to a constant, in the layout of nodes. After the inward pass they cover the part of the tree
    /// beyond a variable, seen from the root; after the outward pass they cover everything.
    beliefs: Array<S>,
    /// Log messages towards the roots, in the layout of messages.
    inward: Array<S>,
    local: Local<S>,
}

impl<S> Default for Passes<S> {
    fn default() -> Self {
        Passes { beliefs: Array::default(), inward: Array::default(), local: Local::default() }
    }
}

impl<S: Scalar> Passes<S> {
    /// The pass from the leaves to the roots. `table(c)` gives a clique's table and its factor; `minus(i)`, in the
    /// layout of messages, is subtracted from the messages of variables to cliques. Returns log Z.
    pub(super) fn inwards<'a>(
        &mut self,
        graph: &FactorGraph,
        forest: &Forest,
        nodes: &Array<S>,
        table: impl Fn(usize) -> (Slice<'a, S>, f64),
        minus: impl Fn(usize) -> S,
    ) -> S {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        self.beliefs.reset(cliques.node_len(), 0.0);
        self.beliefs.add_all(nodes);
        self.inward.reserve(cliques.message_len());
        let mut log_z = S::lift(0.0);
        for &(c, toward) in forest.outwards.iter().rev() {
            let parent = scopes.slots(c).start + toward;
            let (table, scale) = table(c);
            self.local.load(graph, c, table, scale, |slot, j| {
                let v = scopes.slot_vars()[slot];
                let said =
                    if slot == parent { S::lift(0.0) } else { self.beliefs.get(cliques.node(v).start + j) };
                said - minus(cliques.message(slot).start + j)
            });
            let message = self.local.message(graph, c, toward);
            let (at, node) = (cliques.message(parent).start, cliques.node(scopes.vars(c)[toward]).start);
            // The message omits everything the parent sent, but the subtracted part belongs to the table.
            let n = message.re.len();
            let said = |j: usize| message.at(j) - minus(at + j);
            let total = log_sum_exp(n, said);
            for j in 0..n {
                let said = said(j) - total;
                self.inward.set(at + j, said);
                self.beliefs.add(node + j, said);
            }
            log_z += total;
        }
        for &root in &forest.roots {
            let at = cliques.node(root).start;
            log_z += log_sum_exp(graph.cards()[root], |j| self.beliefs.get(at + j));
        }
        log_z
    }

    /// Processes one clique in the pass from the roots to the leaves: adds its messages to the beliefs beyond it and
    /// returns its marginals.
    fn outwards(&mut self, graph: &FactorGraph, c: usize, toward: usize, table: Slice<S>) -> Slice<'_, S> {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let parent = scopes.slots(c).start + toward;
        self.local.load(graph, c, table, 1.0, |slot, j| {
            let said = self.beliefs.get(cliques.node(scopes.slot_vars()[slot]).start + j);
            if slot == parent { said - self.inward.get(cliques.message(slot).start + j) } else { said }
        });
        for (k, &v) in scopes.vars(c).iter().enumerate().filter(|(k, _)| *k != toward) {
            let message = self.local.message(graph, c, k);
            let n = message.re.len();
            let total = log_sum_exp(n, |j| message.at(j));
            for j in 0..n {
                self.beliefs.add(cliques.node(v).start + j, message.at(j) - total);
            }
        }
        let log_z = self.local.log_z(graph, c);
        self.local.marginals(graph, c, log_z)
    }
}
