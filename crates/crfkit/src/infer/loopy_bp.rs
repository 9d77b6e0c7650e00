//! Loopy belief propagation (sum-product) with the Bethe free energy.

use super::begin::{Begin, Share};
use super::messages::{Messages, Model};
use super::pairwise::{BinaryPairs, Pairwise};
use super::settle::Settling;
use super::{Inference, Near, NodeMarginals, Outcome};
use crate::graph::{FactorGraph, Fields, Gradient, Label, Psi};
use crate::math::{Array, Scalar};
use serde::{Deserialize, Serialize};

/// The order in which messages are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MessageSchedule {
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
///
/// Where couplings are strong there are several fixed points, and the one that uniform messages lead to need not be the
/// one with the largest log Z, which is the Bethe approximation. Then log Z may be below the score of a labelling. So an
/// example whose labels are known ([`Inference::log_z_near`]) is run from these labels too if the first answer cannot be
/// right, and `restarts` adds random starts.
#[derive(Clone, Copy, Debug)]
pub struct LoopyBp {
    /// The order of the messages.
    pub schedule: MessageSchedule,
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
    /// The number of additional starts, from the messages of random labels.
    pub restarts: usize,
}

impl Default for LoopyBp {
    fn default() -> Self {
        LoopyBp {
            schedule: MessageSchedule::Parallel,
            damping: 0.1,
            max_iterations: 200,
            tolerance: 1e-8,
            restarts: 0,
        }
    }
}

/// Scratch for [`LoopyBp`].
#[derive(Debug)]
pub struct Work<S> {
    fields: Fields<S>,
    pairwise: Pairwise<S>,
    binary: BinaryPairs<S>,
    messages: Messages<S>,
    rho: Vec<f64>,
    nodes: Array<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            pairwise: Pairwise::default(),
            binary: BinaryPairs::default(),
            messages: Messages::default(),
            rho: Vec::new(),
            nodes: Array::default(),
        }
    }
}

/// The graph and ψ of one call.
#[derive(Clone, Copy, Debug)]
struct At<'a, S> {
    graph: &'a FactorGraph,
    psi: Psi<'a, S>,
    space: Space,
}

/// How messages are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    /// Probabilities of pairs of variables with two labels each.
    Binary,
    /// Probabilities of pairs.
    Pairs,
    /// Logarithms, which hold any potentials and cliques of any size.
    Log,
}

impl<S: Scalar> Work<S> {
    /// What messages in log space need.
    fn log_space<'a>(&'a mut self, at: At<'a, S>, damping: f64) -> (Model<'a, S>, &'a mut Messages<S>) {
        self.rho.clear();
        self.rho.resize(at.graph.cliques().len(), 1.0);
        let Work { fields, messages, rho, .. } = self;
        (Model { graph: at.graph, psi: at.psi, fields, rho, damping }, messages)
    }
}

/// How far rounding may make a loss smaller than the surprise at a label.
const SLACK: f64 = 1e-3;

impl LoopyBp {
    /// Loads ψ, in probability space if that can hold it.
    fn load<'a, S: Scalar>(&self, graph: &'a FactorGraph, psi: Psi<'a, S>, work: &mut Work<S>) -> At<'a, S> {
        work.fields.gather(graph, psi);
        let Work { fields, pairwise, binary, .. } = work;
        let pairs = self.schedule == MessageSchedule::Parallel && graph.cliques().pairwise();
        let space = match pairs {
            true if binary.start(graph, psi, fields) => Space::Binary,
            true if pairwise.start(graph, psi, fields) => Space::Pairs,
            _ => Space::Log,
        };
        At { graph, psi, space }
    }

    /// Passes messages from `begin` until they have converged. Returns whether they have, and the number of iterations.
    fn run<S: Scalar>(&self, at: At<S>, begin: Begin, work: &mut Work<S>) -> (bool, usize) {
        let settling = Settling::new(self.tolerance, at.psi);
        match at.space {
            Space::Binary => {
                let binary = &mut work.binary;
                binary.restart(at.graph, at.psi, &work.fields, begin);
                return settling.repeat(self.max_iterations, |now| binary.sweep(self.damping, now));
            }
            Space::Pairs => {
                let pairwise = &mut work.pairwise;
                pairwise.restart(at.graph, at.psi, &work.fields, begin);
                return settling.repeat(self.max_iterations, |now| pairwise.sweep(at.psi, self.damping, now));
            }
            Space::Log => {}
        }
        let (model, messages) = work.log_space(at, self.damping);
        messages.start_at(model, begin);
        match self.schedule {
            MessageSchedule::Parallel => {
                settling.repeat(self.max_iterations, |now| messages.sweep(model, now))
            }
            MessageSchedule::Residual => {
                let slots = at.graph.cliques().scopes().slot_vars().len();
                let limit = slots.saturating_mul(self.max_iterations);
                let (converged, passed) = messages.residual(model, settling, limit);
                (converged, passed.div_ceil(slots.max(1)))
            }
        }
    }

    /// log Z of the messages of the last run, and the beliefs, which are handed out.
    fn finish<S: Scalar>(&self, at: At<S>, to: Option<Share<S>>, work: &mut Work<S>) -> S {
        match at.space {
            Space::Binary => return work.binary.finish(at.graph, to, &mut work.nodes),
            Space::Pairs => return work.pairwise.finish(at.graph, at.psi, to, &mut work.nodes),
            Space::Log => {}
        }
        let mut nodes = std::mem::take(&mut work.nodes);
        let (model, messages) = work.log_space(at, self.damping);
        let log_z = messages.finish(model, to, &mut nodes);
        work.nodes = nodes;
        log_z
    }

    /// Runs from uniform messages, then from the known labels if the first answer contradicts itself, then from random
    /// labels. The fixed point with the largest log Z is the answer; one that has converged comes before one that has
    /// not.
    fn best<S: Scalar>(
        &self,
        at: At<S>,
        labels: Option<&[Label]>,
        to: Share<S>,
        work: &mut Work<S>,
    ) -> Outcome<S> {
        let (mut converged, mut iterations) = self.run(at, Begin::Uniform, work);
        // Without iterations the messages stay what they are: uniform.
        let elsewhere = (labels.is_some() || self.restarts > 0) && self.max_iterations > 0;
        if elsewhere && !at.graph.is_forest() {
            let mut largest = self.finish(at, None, work).re();
            let wrong = |labels: &&[Label]| !converged || contradicts(at, labels, largest, &work.nodes);
            let mut starts = vec![Begin::Uniform];
            starts.extend(labels.filter(wrong).map(Begin::Labels));
            starts.extend((1..=self.restarts as u64).map(Begin::Random));
            let mut best = 0;
            for (k, &begin) in starts.iter().enumerate().skip(1) {
                let (settled, count) = self.run(at, begin, work);
                let log_z = self.finish(at, None, work).re();
                iterations += count;
                if (settled, log_z) > (converged, largest) || largest.is_nan() {
                    (converged, largest, best) = (settled, log_z, k);
                }
            }
            if best + 1 < starts.len() {
                self.run(at, starts[best], work);
            }
        }
        let log_z = self.finish(at, Some(to), work);
        Outcome { log_z, converged: converged && log_z.re().is_finite(), iterations }
    }
}

/// Whether log Z gives the labelling a higher probability than the beliefs give to one of its labels. No distribution
/// does that, so this is a false fixed point: one that describes a part of the labellings to which the true ones do not
/// belong. Training that continues with its gradient only makes it worse, until the loss is below 0.
fn contradicts<S: Scalar>(at: At<S>, labels: &[Label], log_z: f64, nodes: &Array<S>) -> bool {
    let loss = log_z - at.psi.score(at.graph, labels).re();
    let place = |v: usize, label: Label| at.graph.cliques().node(v).start + label as usize;
    let surprise = labels.iter().enumerate().map(|(v, &label)| -nodes.get(place(v, label)).re().ln());
    let least = surprise.fold(0.0, f64::max);
    loss.is_nan() || loss < least - SLACK * (1.0 + least)
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
        let at = self.load(graph, psi, work);
        self.best(at, None, Share { weight, out }, work)
    }

    fn log_z_near<S: Scalar>(
        &self,
        graph: &FactorGraph,
        psi: Psi<S>,
        near: Near,
        out: &mut Gradient<S>,
        work: &mut Work<S>,
    ) -> Outcome<S> {
        let at = self.load(graph, psi, work);
        self.best(at, Some(near.labels), Share { weight: near.weight, out }, work)
    }
}

impl NodeMarginals for LoopyBp {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        &work.nodes
    }
}
