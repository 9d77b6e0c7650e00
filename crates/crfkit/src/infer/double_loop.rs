//! Belief propagation by a double loop, which always converges.

use super::begin::Share;
use super::chain::log_sum_exp;
use super::local::Local;
use super::messages::{Messages, Model};
use super::settle::Settling;
use super::{Inference, NodeMarginals, Outcome};
use crate::graph::{FactorGraph, Fields, Gradient, Psi};
use crate::math::{Array, Scalar};

/// The double loop: it finds a minimum of the Bethe free energy F, which is a fixed point of loopy belief propagation,
/// and does so on every graph.
///
/// F = E − Σ_c H_c + Σ_v (d_v − 1) H_v. The last sum is concave, and its tangent at the beliefs q is above it. With the
/// tangent in its place, F becomes a convex function, whose minimum the inner loop finds; the outer loop takes that
/// minimum as the next q. F never rises from one q to the next (Yuille 2002; Heskes, Albers and Kappen 2003). The inner
/// loop is coordinate ascent on the dual problem, one variable after another: with m_{c→v} = log Σ exp(ψ_c + Σ_{w≠v}
/// n_{w→c}),
///
/// T_v = u_v + (d_v − 1) log q_v + Σ_c m_{c→v},  n_{v→c} = T_v/d_v − m_{c→v},  next q_v ∝ exp(T_v/d_v).
///
/// log Z is minus F, as for [`super::LoopyBp`]. It is exact on forests. It takes many more sweeps than messages that
/// converge by themselves.
#[derive(Clone, Copy, Debug)]
pub struct DoubleLoop {
    /// The largest number of iterations of the outer loop.
    pub max_iterations: usize,
    /// The engine has converged when no log q changes by more than this. ε parts are taken relative to the largest ε
    /// part of ψ.
    pub tolerance: f64,
}

/// The largest number of sweeps of one inner loop.
const SWEEPS: usize = 100;
/// The inner loop stops at this share of the last change of the outer one.
const INNER: f64 = 0.1;

impl Default for DoubleLoop {
    fn default() -> Self {
        DoubleLoop { max_iterations: 1000, tolerance: 1e-8 }
    }
}

/// Scratch for [`DoubleLoop`].
#[derive(Debug)]
pub struct Work<S> {
    fields: Fields<S>,
    messages: Messages<S>,
    local: Local<S>,
    /// n, in the layout of messages; T/d, normalised, and log q, in the layout of nodes.
    to_cliques: Array<S>,
    total: Array<S>,
    q: Array<S>,
    rho: Vec<f64>,
    nodes: Array<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            messages: Messages::default(),
            local: Local::default(),
            to_cliques: Array::default(),
            total: Array::default(),
            q: Array::default(),
            rho: Vec::new(),
            nodes: Array::default(),
        }
    }
}

impl<S: Scalar> Work<S> {
    /// Uniform messages and beliefs.
    fn start(&mut self, graph: &FactorGraph, psi: Psi<S>) {
        let cliques = graph.cliques();
        self.fields.gather(graph, psi);
        self.rho.clear();
        self.rho.resize(cliques.len(), 1.0);
        self.to_cliques.reset(cliques.message_len(), 0.0);
        self.total.reset(cliques.node_len(), 0.0);
        self.q.reset(cliques.node_len(), 0.0);
        let model = Model { graph, psi, fields: &self.fields, rho: &self.rho, damping: 0.0 };
        self.messages.start(model);
    }

    /// Updates the messages into variable `v` and out of it.
    fn visit(&mut self, graph: &FactorGraph, psi: Psi<S>, v: usize, now: &mut Settling) {
        let (cliques, card) = (graph.cliques(), graph.cards()[v]);
        let (at, degree) = (cliques.node(v).start, cliques.incident(v).len() as f64);
        let Work { fields, messages, local, to_cliques, total, q, .. } = self;
        for j in 0..card {
            total.set(at + j, fields.nodes.get(at + j) + q.get(at + j) * S::lift(degree - 1.0));
        }
        for &slot in cliques.incident(v) {
            let slot = slot as usize;
            let c = cliques.slot_clique(slot);
            local.load(graph, c, fields.table(graph, psi, c), 1.0, |slot, j| {
                to_cliques.get(cliques.message(slot).start + j)
            });
            let message = local.message(graph, c, slot - cliques.scopes().slots(c).start);
            let z = log_sum_exp(card, |j| message.at(j));
            for j in 0..card {
                let m = message.at(j) - z;
                messages.lambda.set(cliques.message(slot).start + j, m);
                total.add(at + j, m);
            }
        }
        let share = S::lift(1.0 / degree);
        let z = log_sum_exp(card, |j| total.get(at + j) * share);
        for j in 0..card {
            total.set(at + j, total.get(at + j) * share - z);
        }
        for &slot in cliques.incident(v) {
            let from = cliques.message(slot as usize).start;
            for j in 0..card {
                let new = total.get(at + j) - messages.lambda.get(from + j);
                now.see(new, to_cliques.get(from + j), 1.0);
                to_cliques.set(from + j, new);
            }
        }
    }

    /// One iteration of the outer loop, whose inner loop stops at `tolerance`: minimises the convex bound and moves q
    /// there.
    fn outer(&mut self, graph: &FactorGraph, psi: Psi<S>, tolerance: f64, now: &mut Settling) {
        let vars = graph.cards().len();
        let linked = |v: &usize| !graph.cliques().incident(*v).is_empty();
        let inner = Settling::new(tolerance, psi);
        inner.repeat(SWEEPS, |sweep| {
            (0..vars).filter(linked).for_each(|v| self.visit(graph, psi, v, sweep));
            let mut back = inner;
            (0..vars).rev().filter(linked).for_each(|v| self.visit(graph, psi, v, &mut back));
        });
        for v in (0..vars).filter(linked) {
            for at in graph.cliques().node(v).take(graph.cards()[v]) {
                now.see(self.total.get(at), self.q.get(at), 1.0);
                self.q.set(at, self.total.get(at));
            }
        }
    }
}

impl Inference for DoubleLoop {
    type Graph = FactorGraph;
    type Work<S: Scalar> = Work<S>;
    const EXACT: bool = false;

    fn log_z<S: Scalar>(
        &self,
        graph: &FactorGraph,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        work: &mut Work<S>,
    ) -> Outcome<S> {
        work.start(graph, psi);
        let settling = Settling::new(self.tolerance, psi);
        let mut inner: f64 = 1.0;
        let (converged, iterations) = settling.repeat(self.max_iterations, |now| {
            work.outer(graph, psi, inner, now);
            inner = (INNER * now.largest()).clamp(INNER * self.tolerance, inner);
        });
        let Work { fields, messages, rho, nodes, .. } = work;
        let model = Model { graph, psi, fields, rho, damping: 0.0 };
        messages.believe_all(model);
        let log_z = messages.finish(model, Some(Share { weight, out }), nodes);
        Outcome { log_z, converged: converged && log_z.re().is_finite(), iterations }
    }
}

impl NodeMarginals for DoubleLoop {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        &work.nodes
    }
}
