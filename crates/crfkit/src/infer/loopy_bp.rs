//! Loopy belief propagation (sum-product) with the Bethe free energy.

use super::messages::{Messages, Model};
use super::pairwise::Pairwise;
use super::settle::Settling;
use super::{Inference, NodeMarginals, Outcome};
use crate::graph::{FactorGraph, Fields, Gradient, Psi};
use crate::math::{Array, Scalar};

/// The order in which messages are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// All messages at once, from the beliefs of the previous sweep.
    Parallel,
    /// Always the message that would change most (Elidan et al. 2006). This converges in cases where parallel sweeps
    /// oscillate.
    Residual,
}

/// Loopy belief propagation: exact on forests, an approximation elsewhere.
///
/// One iteration passes a message along every (clique, variable). It costs O(labels²) per pair, O(labels) if the
/// table has Potts or Ising form, and the size of the table for a larger clique. log Z is minus the Bethe free
/// energy, in which the energy of a pair includes the node terms of both ends: Σ_c log Z_c + Σ_v (1 − d_v) log Z_v.
/// At a fixed point its gradient is the beliefs.
#[derive(Clone, Copy, Debug)]
pub struct LoopyBp {
    /// The order of the messages.
    pub schedule: Schedule,
    /// The share of the old message in the new one (of its logarithm, in log space), from 0 to 1 (exclusive). It
    /// damps oscillations. In undamped parallel sweeps on a grid, the two colours of a chessboard never exchange
    /// information. Where couplings are strong they converge to different answers, the beliefs alternate for ever,
    /// and log Z is far too low. A little damping is enough.
    pub damping: f64,
    /// The largest number of iterations (smd-crf-2006 section 5 uses 200).
    pub max_iterations: usize,
    /// The engine has converged when no message changes by more than this. ε parts are taken relative to the largest
    /// ε part of ψ.
    pub tolerance: f64,
}

impl Default for LoopyBp {
    fn default() -> Self {
        LoopyBp { schedule: Schedule::Parallel, damping: 0.1, max_iterations: 200, tolerance: 1e-8 }
    }
}

/// Scratch for [`LoopyBp`].
#[derive(Debug)]
pub struct Work<S> {
    fields: Fields<S>,
    pairwise: Pairwise<S>,
    messages: Messages<S>,
    rho: Vec<f64>,
    nodes: Array<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            pairwise: Pairwise::default(),
            messages: Messages::default(),
            rho: Vec::new(),
            nodes: Array::default(),
        }
    }
}

impl Inference for LoopyBp {
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
        let settling = Settling::new(self.tolerance, psi);
        let fast = self.schedule == Schedule::Parallel
            && graph.cliques().pairwise()
            && work.pairwise.start(graph, psi, &work.fields);
        if fast {
            let pairwise = &mut work.pairwise;
            let sweep = |now: &mut Settling| pairwise.sweep(psi, self.damping, now);
            let (converged, iterations) = settling.repeat(self.max_iterations, sweep);
            let log_z = pairwise.finish(graph, psi, weight, out, &mut work.nodes);
            return Outcome { log_z, converged: converged && log_z.re().is_finite(), iterations };
        }
        work.rho.clear();
        work.rho.resize(graph.cliques().len(), 1.0);
        let model = Model { graph, psi, fields: &work.fields, rho: &work.rho, damping: self.damping };
        let messages = &mut work.messages;
        messages.start(model);
        let (converged, iterations) = match self.schedule {
            Schedule::Parallel => settling.repeat(self.max_iterations, |now| messages.sweep(model, now)),
            Schedule::Residual => {
                let slots = graph.cliques().scopes().slot_vars().len();
                let limit = slots.saturating_mul(self.max_iterations);
                let (converged, passed) = messages.residual(model, settling, limit);
                (converged, passed.div_ceil(slots.max(1)))
            }
        };
        let log_z = messages.finish(model, weight, out, &mut work.nodes);
        Outcome { log_z, converged: converged && log_z.re().is_finite(), iterations }
    }
}

impl NodeMarginals for LoopyBp {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        &work.nodes
    }
}
