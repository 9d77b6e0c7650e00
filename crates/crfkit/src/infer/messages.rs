//! Sum-product messages in log space, for cliques of any size and any finite log-potentials.
//!
//! With an appearance probability ρ_c for each clique (1 in plain loopy belief propagation; Wainwright et al. 2005 in
//! tree-reweighted propagation) and log messages λ_{c→v}:
//!
//! B_v = u_v + Σ_c ρ_c λ_{c→v},  λ_{c→v}(y_v) = log Σ_{y_c∖v} exp(ψ_c(y_c)/ρ_c + Σ_{w≠v} (B_w − λ_{c→w})(y_w)).

use super::begin::{Begin, Share};
use super::chain::log_sum_exp;
use super::local::Local;
use super::settle::Settling;
use crate::graph::{FactorGraph, Fields, Psi};
use crate::math::{Array, Scalar};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The graph, potentials and settings for which messages are passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model<'a, S> {
    pub graph: &'a FactorGraph,
    pub psi: Psi<'a, S>,
    pub fields: &'a Fields<S>,
    /// ρ of each clique.
    pub rho: &'a [f64],
    /// The share of the old logarithm in the new one.
    pub damping: f64,
}

/// Log messages and log beliefs.
#[derive(Debug)]
pub(super) struct Messages<S> {
    /// λ, normalised, in the layout of messages.
    pub lambda: Array<S>,
    /// The next values of λ.
    fresh: Array<S>,
    /// B, in the layout of nodes.
    pub beliefs: Array<S>,
    local: Local<S>,
    strides: Vec<usize>,
}

impl<S> Default for Messages<S> {
    fn default() -> Self {
        Messages {
            lambda: Array::default(),
            fresh: Array::default(),
            beliefs: Array::default(),
            local: Local::default(),
            strides: Vec::new(),
        }
    }
}

impl<S: Scalar> Messages<S> {
    /// Starts with uniform messages.
    pub(super) fn start(&mut self, model: Model<S>) {
        self.start_at(model, Begin::Uniform);
    }

    /// Starts with the messages of `begin`.
    pub(super) fn start_at(&mut self, model: Model<S>, begin: Begin) {
        let cliques = model.graph.cliques();
        self.lambda.reset(cliques.message_len(), 0.0);
        self.fresh.reset(cliques.message_len(), 0.0);
        begin.for_each_message(model.graph, model.psi, model.fields, |slot, message| {
            for (at, x) in cliques.message(slot).zip(message) {
                self.lambda.set(at, S::lift(*x));
            }
        });
        self.beliefs.reset(cliques.node_len(), 0.0);
        self.believe_all(model);
    }

    /// Recomputes all beliefs from the messages.
    pub(super) fn believe_all(&mut self, model: Model<S>) {
        (0..model.graph.cards().len()).for_each(|v| self.believe(model, v));
    }

    /// Recomputes B_v from the messages.
    fn believe(&mut self, model: Model<S>, v: usize) {
        let cliques = model.graph.cliques();
        let at = cliques.node(v).start;
        for j in 0..model.graph.cards()[v] {
            let mut sum = model.fields.nodes.get(at + j);
            for &slot in cliques.incident(v) {
                let rho = S::lift(model.rho[cliques.slot_clique(slot as usize)]);
                sum += rho * self.lambda.get(cliques.message(slot as usize).start + j);
            }
            self.beliefs.set(at + j, sum);
        }
    }

    /// Loads clique `c` with the cavities of its variables.
    fn load(&mut self, model: Model<S>, c: usize) {
        let cliques = model.graph.cliques();
        let table = model.fields.table(model.graph, model.psi, c);
        self.local.load(model.graph, c, table, 1.0 / model.rho[c], |slot, j| {
            let v = cliques.scopes().slot_vars()[slot];
            self.beliefs.get(cliques.node(v).start + j) - self.lambda.get(cliques.message(slot).start + j)
        });
    }

    /// Computes the new messages of clique `c`, normalised and damped, into `fresh`.
    fn refresh(&mut self, model: Model<S>, c: usize) {
        let cliques = model.graph.cliques();
        self.load(model, c);
        for (k, slot) in cliques.scopes().slots(c).enumerate() {
            let message = self.local.message(model.graph, c, k);
            let n = message.re.len();
            let total = log_sum_exp(n, |j| message.at(j));
            let at = cliques.message(slot).start;
            for j in 0..n {
                let new = (message.at(j) - total) * S::lift(1.0 - model.damping)
                    + self.lambda.get(at + j) * S::lift(model.damping);
                self.fresh.set(at + j, new);
            }
        }
    }

    /// Replaces the message of `slot` by its new value.
    fn commit(&mut self, model: Model<S>, slot: usize) {
        for at in model.graph.cliques().message(slot) {
            self.lambda.set(at, self.fresh.get(at));
        }
    }

    /// One parallel sweep: computes all messages from the old beliefs.
    pub(super) fn sweep(&mut self, model: Model<S>, settling: &mut Settling) {
        let cliques = model.graph.cliques();
        (0..cliques.len()).for_each(|c| self.refresh(model, c));
        for (slot, &v) in cliques.scopes().slot_vars().iter().enumerate() {
            for at in cliques.message(slot).take(model.graph.cards()[v]) {
                settling.see(self.fresh.get(at), self.lambda.get(at), 1.0);
            }
            self.commit(model, slot);
        }
        self.believe_all(model);
    }

    /// Always passes the message that would change most (Elidan et al. 2006), until all have converged or `limit`
    /// messages have been passed. Returns whether they converged, and how many were passed.
    pub(super) fn residual(&mut self, model: Model<S>, settling: Settling, limit: usize) -> (bool, usize) {
        let cliques = model.graph.cliques();
        let slots = cliques.scopes().slot_vars().len();
        let mut pending = vec![0.0; slots];
        let mut queue = BinaryHeap::with_capacity(slots);
        for c in 0..cliques.len() {
            self.refresh(model, c);
            self.queue(model, c, settling, &mut pending, &mut queue);
        }
        let mut passed = 0;
        while let Some(Waiting(residual, Reverse(slot))) = queue.pop() {
            let slot = slot as usize;
            if residual.total_cmp(&pending[slot]).is_ne() {
                continue; // its residual has changed since
            }
            if residual <= settling.tolerance {
                return (true, passed);
            }
            if passed == limit {
                return (false, passed);
            }
            passed += 1;
            self.commit(model, slot);
            let v = cliques.scopes().slot_vars()[slot];
            self.believe(model, v);
            for &other in cliques.incident(v) {
                let c = cliques.slot_clique(other as usize);
                self.refresh(model, c);
                self.queue(model, c, settling, &mut pending, &mut queue);
            }
            if queue.len() > 4 * slots {
                queue.clear(); // most of it is stale
                queue.extend(pending.iter().zip(0..).map(|(&r, slot)| Waiting(r, Reverse(slot))));
            }
        }
        (true, passed)
    }

    /// Puts the messages of clique `c` into the queue.
    fn queue(
        &self,
        model: Model<S>,
        c: usize,
        settling: Settling,
        pending: &mut [f64],
        queue: &mut BinaryHeap<Waiting>,
    ) {
        let cliques = model.graph.cliques();
        for slot in cliques.scopes().slots(c) {
            let card = model.graph.cards()[cliques.scopes().slot_vars()[slot]];
            let distance = |at: usize| settling.distance(self.fresh.get(at), self.lambda.get(at));
            pending[slot] = cliques.message(slot).take(card).map(distance).fold(0.0, f64::max);
            queue.push(Waiting(pending[slot], Reverse(slot as u32)));
        }
    }

    /// Hands the beliefs out, and overwrites `nodes` with the beliefs of the variables. Returns Σ_c log Z_c + Σ_v (1 −
    /// d_v) log Z_v, which is the Bethe approximation of log Z if all ρ are 1.
    pub(super) fn finish(&mut self, model: Model<S>, mut to: Option<Share<S>>, nodes: &mut Array<S>) -> S {
        let (graph, cliques) = (model.graph, model.graph.cliques());
        let mut log_z = S::lift(0.0);
        if let Some(to) = &mut to {
            to.out.own.fill(0.0);
        }
        nodes.reset(cliques.node_len(), 0.0);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = cliques.node(v).start;
            let z = log_sum_exp(card, |j| self.beliefs.get(at + j));
            log_z += z * S::lift(1.0 - cliques.incident(v).len() as f64);
            for j in 0..card {
                nodes.set(at + j, (self.beliefs.get(at + j) - z).exp());
            }
            if let Some(to) = &mut to {
                to.out.deliver_node(graph, v, to.weight, nodes.slice(cliques.node(v)));
            }
        }
        for c in 0..cliques.len() {
            self.load(model, c);
            let z = self.local.log_z(graph, c);
            log_z += z;
            if let Some(to) = &mut to {
                let marginals = self.local.marginals(graph, c, z);
                to.out.deliver_clique(graph, c, to.weight, marginals, &mut self.strides);
            }
        }
        log_z
    }
}

/// A message in the queue: its residual (how much it would change) and its slot. Among equal residuals the lowest
/// slot comes first.
#[derive(Debug)]
struct Waiting(f64, Reverse<u32>);

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then_with(|| self.1.cmp(&other.1))
    }
}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Waiting {}
