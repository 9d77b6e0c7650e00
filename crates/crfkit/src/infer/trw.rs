//! Tree-reweighted belief propagation (Wainwright, Jaakkola and Willsky 2005): an upper bound on log Z.

use super::begin::Share;
use super::messages::{Messages, Model};
use super::settle::Settling;
use super::tree::Passes;
use super::{Inference, NodeMarginals, Outcome};
use crate::graph::{FactorGraph, Fields, Gradient, Psi};
use crate::math::{Array, Scalar};

/// Tree-reweighted belief propagation: messages weight each clique by ρ_c, the share of the spanning forests that
/// contain it.
///
/// ψ is a mean over forests T of ψ^T, whose nodes have the log-potentials B_v and whose cliques have ψ_c/ρ_c − Σ_v
/// λ_{c→v}, for any messages λ. log Z is convex, so the mean of the exact log Z(ψ^T) is an upper bound *at every
/// iterate*; this bound is the value returned. At a fixed point it is the lowest such bound for these ρ, and its
/// gradient is the beliefs.
#[derive(Clone, Copy, Debug)]
pub struct TreeReweighted {
    /// The share of the old logarithm of a message in the new one, from 0 to 1 (exclusive). Without it, parallel
    /// sweeps may oscillate.
    pub damping: f64,
    /// The largest number of sweeps.
    pub max_iterations: usize,
    /// The engine has converged when no log message changes by more than this. ε parts are taken relative to the
    /// largest ε part of ψ.
    pub tolerance: f64,
}

impl Default for TreeReweighted {
    fn default() -> Self {
        TreeReweighted { damping: 0.5, max_iterations: 200, tolerance: 1e-8 }
    }
}

/// Scratch for [`TreeReweighted`].
#[derive(Debug)]
pub struct Work<S> {
    fields: Fields<S>,
    messages: Messages<S>,
    passes: Passes<S>,
    nodes: Array<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            messages: Messages::default(),
            passes: Passes::default(),
            nodes: Array::default(),
        }
    }
}

impl Inference for TreeReweighted {
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
        work.fields.gather(graph, psi);
        let spanning = graph.spanning_forests();
        let (fields, rho) = (&work.fields, &spanning.rho);
        let model = Model { graph, psi, fields, rho, damping: self.damping };
        let messages = &mut work.messages;
        messages.start(model);
        let settling = Settling::new(self.tolerance, psi);
        let (settled, iterations) = settling.repeat(self.max_iterations, |now| messages.sweep(model, now));
        messages.finish(model, Some(Share { weight, out }), &mut work.nodes);
        let table = |c: usize| (fields.table(graph, psi, c), 1.0 / rho[c]);
        let mut total = S::lift(0.0);
        for forest in &spanning.forests {
            let minus = |i: usize| messages.lambda.get(i);
            total += work.passes.inwards(graph, forest, &messages.beliefs, table, minus);
        }
        let log_z = total * S::lift(1.0 / spanning.forests.len() as f64);
        Outcome { log_z, converged: settled && log_z.re().is_finite(), iterations }
    }
}

impl NodeMarginals for TreeReweighted {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        &work.nodes
    }
}
