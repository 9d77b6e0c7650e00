//! Belief propagation on pairs in probability space: the fast path for loopy propagation and for trees.
//!
//! With e_v = exp(u_v − max u_v), B_v = e_v ∘ Π_c m_{c→v} and the cavity q_{v→c} = B_v / m_{c→v}, the clique c = (i,
//! j) with M = exp(ψ_c − max ψ_c) sends m_{c→j} ∝ q_{i→c} M and m_{c→i} ∝ M q_{j→c}. A parallel sweep reads the old
//! beliefs and writes the new messages in place, because the two messages of a pair depend on no other message of the
//! sweep.
//!
//! A message has mean 1, so its entries lie between exp(−spread of ψ_c) and the number of labels. If the product over
//! a variable's cliques could leave the range of f64, log space is used instead ([`Exponentials::hold`]).

mod binary;
mod lanes;

use super::begin::{Begin, Share};
use super::exponentials::{Edge, Exponentials, Matrix, Place};
use super::settle::Settling;
use crate::graph::{FactorGraph, Fields, Forest, Psi, Shape};
use crate::math::dispatch::dispatch;
use crate::math::simd::{self, LANES};
use crate::math::{Array, Scalar, Slice};
pub(super) use binary::BinaryPairs;
use fearless_simd::Simd;
use lanes::{Mix, Row};

/// Beliefs and messages in probability space, and the exponentials of ψ.
#[derive(Debug)]
pub(super) struct Pairwise<S> {
    exp: Exponentials<S>,
    /// B_v, and its values for the next sweep.
    belief: Array<S>,
    next: Array<S>,
    /// m, in the layout of messages; padding holds 1.
    message: Array<S>,
    /// q of the two variables, the messages that they receive, and ones.
    cavity: [Array<S>; 2],
    fresh: [Array<S>; 2],
    ones: Array<S>,
    marginal: Array<S>,
    strides: Vec<usize>,
}

impl<S> Default for Pairwise<S> {
    fn default() -> Self {
        Pairwise {
            exp: Exponentials::default(),
            belief: Array::default(),
            next: Array::default(),
            message: Array::default(),
            cavity: [Array::default(), Array::default()],
            fresh: [Array::default(), Array::default()],
            ones: Array::default(),
            marginal: Array::default(),
            strides: Vec::new(),
        }
    }
}

impl<S: Scalar> Pairwise<S> {
    /// Computes the exponentials of ψ and sets all messages to 1. Returns false if probability space cannot hold
    /// them.
    pub(super) fn start(&mut self, graph: &FactorGraph, psi: Psi<S>, fields: &Fields<S>) -> bool {
        if !Exponentials::hold(graph, psi, fields, 1) {
            return false;
        }
        self.exp.fill(graph, psi, fields, |c| fields.potts(graph, psi, c));
        let widest = graph.cards().iter().copied().max().unwrap_or(0);
        for array in self.cavity.iter_mut().chain(&mut self.fresh) {
            array.reset(simd::padded(widest), 0.0);
        }
        self.ones.reset(simd::padded(widest), 1.0);
        self.message.reset(graph.cliques().message_len(), 1.0);
        copy(&self.exp.nodes, &mut self.belief);
        true
    }

    /// Starts again, with the messages of `begin`.
    pub(super) fn restart(&mut self, graph: &FactorGraph, psi: Psi<S>, fields: &Fields<S>, begin: Begin) {
        let cliques = graph.cliques();
        let slot_vars = cliques.scopes().slot_vars();
        self.message.reset(cliques.message_len(), 1.0);
        copy(&self.exp.nodes, &mut self.belief);
        if matches!(begin, Begin::Uniform) {
            return;
        }
        begin.for_each_message(graph, psi, fields, |slot, message| {
            let (at, node) = (cliques.message(slot).start, cliques.node(slot_vars[slot]).start);
            for (j, x) in message.iter().enumerate() {
                let x = S::lift(x.exp() * message.len() as f64);
                self.message.set(at + j, x);
                self.belief.set(node + j, self.belief.get(node + j) * x);
            }
        });
    }

    /// Computes the cavities of a clique and its messages to its two variables. Returns the sum of each message.
    #[inline]
    fn exchange(&mut self, psi: Psi<S>, edge: &Edge<S>) -> [S; 2] {
        for k in 0..2 {
            self.hear(edge, k);
        }
        [0, 1].map(|k| self.say(psi, edge, k))
    }

    /// Computes the cavity of a clique's k-th variable: its message to the clique.
    #[inline]
    fn hear(&mut self, edge: &Edge<S>, k: usize) {
        let width = simd::padded(edge.cards[k] as usize);
        let [node, message] = [edge.nodes[k] as usize, edge.messages[k] as usize];
        let belief = self.belief.slice(node..node + width);
        divide(belief, self.message.slice(message..message + width), &mut self.cavity[k]);
    }

    /// Computes a clique's message to its k-th variable, given the cavity of the other. Returns the sum of the
    /// message.
    #[inline]
    fn say(&mut self, psi: Psi<S>, edge: &Edge<S>, k: usize) -> S {
        let cards = edge.cards.map(|card| card as usize);
        let [across, stride] = cards.map(simd::padded);
        let (q, fresh) = (&self.cavity[1 - k], &mut self.fresh[k]);
        let (m, mt) = match edge.matrix {
            Matrix::Potts { base, gain } => return potts(base, gain, cards[0], q, fresh),
            Matrix::Dense(place) => place.matrices(psi, &self.exp, [cards[0] * stride, cards[1] * across]),
        };
        let (matrix, width) = if k == 0 { (mt, across) } else { (m, stride) };
        let ones = self.ones.slice(0..width);
        S::advance(q.slice(0..cards[1 - k]), matrix, S::lift(1.0), ones, fresh.slice_mut(0..width))
    }

    /// Passes messages along a forest of all cliques, from the leaves to the roots and back. Afterwards all messages
    /// have converged: further sweeps would not change them.
    pub(super) fn pass(&mut self, psi: Psi<S>, forest: &Forest) {
        for &(c, toward) in forest.outwards.iter().rev() {
            self.send(psi, c, toward);
        }
        for &(c, toward) in &forest.outwards {
            self.send(psi, c, 1 - toward);
        }
    }

    /// Sends the first message of a clique to its k-th variable and multiplies the variable's belief by it.
    fn send(&mut self, psi: Psi<S>, c: usize, k: usize) {
        let edge = self.exp.edges[c];
        self.hear(&edge, 1 - k);
        let sum = self.say(psi, &edge, k);
        let [node, message, card] = [edge.nodes[k], edge.messages[k], edge.cards[k]].map(|x| x as usize);
        let scale = S::lift(card as f64) / sum;
        for j in 0..card {
            let new = self.fresh[k].get(j) * scale;
            self.message.set(message + j, new);
            self.belief.set(node + j, self.belief.get(node + j) * new);
        }
    }

    /// One parallel sweep: computes all messages from the old beliefs.
    pub(super) fn sweep(&mut self, psi: Psi<S>, damping: f64, settling: &mut Settling) {
        copy(&self.exp.nodes, &mut self.next);
        dispatch!(simd::level(), unit => self.sweep_edges(unit, psi, damping, settling));
        std::mem::swap(&mut self.belief, &mut self.next);
    }

    #[inline(always)]
    fn sweep_edges<V: Simd>(&mut self, unit: V, psi: Psi<S>, damping: f64, settling: &mut Settling) {
        let mut mix = Mix::new(unit, damping);
        for c in 0..self.exp.edges.len() {
            let edge = self.exp.edges[c];
            if edge.cards[0].max(edge.cards[1]) as usize <= LANES {
                self.short_edge(unit, psi, &edge, &mut mix, settling);
            } else {
                self.long_edge(psi, &edge, damping, settling);
            }
        }
        mix.finish(settling);
    }

    /// Computes both messages of a clique whose rows are one vector long.
    #[inline(always)]
    fn short_edge<V: Simd>(
        &mut self,
        unit: V,
        psi: Psi<S>,
        edge: &Edge<S>,
        mix: &mut Mix<V>,
        settling: &Settling,
    ) {
        let row = |at: u32| at as usize..at as usize + LANES;
        let [i, j] = [row(edge.nodes[0]), row(edge.nodes[1])];
        let [to_i, to_j] = [row(edge.messages[0]), row(edge.messages[1])];
        let old_i = Row::load(unit, self.message.slice(to_i.clone()));
        let old_j = Row::load(unit, self.message.slice(to_j.clone()));
        let q_i = Row::load(unit, self.belief.slice(i.clone())).over(unit, old_i);
        let q_j = Row::load(unit, self.belief.slice(j.clone())).over(unit, old_j);
        let [rows, columns] = [edge.cards[0] as usize, edge.cards[1] as usize];
        let (fresh_i, fresh_j) = match edge.matrix {
            Matrix::Potts { base, gain } => {
                (q_j.potts_product(unit, base, gain), q_i.potts_product(unit, base, gain))
            }
            Matrix::Dense(place) => {
                let (m, mt) = place.matrices(psi, &self.exp, [rows * LANES, columns * LANES]);
                (q_j.product(unit, columns, &mt), q_i.product(unit, rows, &m))
            }
        };
        let new_i = mix.message(unit, fresh_i, old_i, rows, settling);
        let new_j = mix.message(unit, fresh_j, old_j, columns, settling);
        new_i.store(self.message.slice_mut(to_i));
        new_j.store(self.message.slice_mut(to_j));
        let next_i = Row::load(unit, self.next.slice(i.clone())).times(unit, new_i);
        next_i.store(self.next.slice_mut(i));
        let next_j = Row::load(unit, self.next.slice(j.clone())).times(unit, new_j);
        next_j.store(self.next.slice_mut(j));
    }

    /// Computes both messages of a clique with rows of any length.
    fn long_edge(&mut self, psi: Psi<S>, edge: &Edge<S>, damping: f64, settling: &mut Settling) {
        let sums = self.exchange(psi, edge);
        for k in 0..2 {
            let [node, message, card] = [edge.nodes[k], edge.messages[k], edge.cards[k]].map(|x| x as usize);
            let scale = S::lift((1.0 - damping) * card as f64) / sums[k];
            let mut message = self.message.slice_mut(message..message + card);
            let mut next = self.next.slice_mut(node..node + card);
            let fresh = self.fresh[k].slice(0..card);
            for j in 0..card {
                let old = message.at(j);
                let new = fresh.at(j) * scale + old * S::lift(damping);
                settling.see(new, old, new.re());
                message.set(j, new);
                next.set(j, next.at(j) * new);
            }
        }
    }

    /// Returns the Bethe approximation of log Z, Σ_c log Z_c + Σ_v (1 − d_v) log Z_v with Z_v = Σ B_v and Z_c = Σ q_i
    /// M q_jᵀ, which is stationary in the messages. Hands the beliefs out, and overwrites `nodes` with the beliefs of
    /// the variables.
    pub(super) fn finish(
        &mut self,
        graph: &FactorGraph,
        psi: Psi<S>,
        mut to: Option<Share<S>>,
        nodes: &mut Array<S>,
    ) -> S {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let mut log_z = S::lift(self.exp.shift);
        if let Some(to) = &mut to {
            to.out.own.fill(0.0);
        }
        nodes.reset(cliques.node_len(), 0.0);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = cliques.node(v).start;
            let mut z = S::lift(0.0);
            for j in 0..card {
                z += self.belief.get(at + j);
            }
            log_z += z.ln() * S::lift(1.0 - cliques.incident(v).len() as f64);
            for j in 0..card {
                nodes.set(at + j, self.belief.get(at + j) / z);
            }
            if let Some(to) = &mut to {
                to.out.deliver_node(graph, v, to.weight, nodes.slice(cliques.node(v)));
            }
        }
        for c in 0..cliques.len() {
            let edge = self.exp.edges[c];
            for k in 0..2 {
                self.hear(&edge, k);
            }
            self.say(psi, &edge, 1);
            let columns = scopes.shape(c).columns;
            let mut z = S::lift(0.0);
            for j in 0..columns {
                z += self.fresh[1].get(j) * self.cavity[1].get(j);
            }
            log_z += z.ln();
            let Some(Share { weight, out }) = &mut to else { continue };
            match edge.matrix {
                Matrix::Dense(Place::Shared(id)) if psi.shared[id].sparse.is_none() => {
                    let outer = &mut out.shared.0[id].outer;
                    self.add_outer(scopes.shape(c), S::lift(*weight) / z, outer);
                }
                _ => {
                    self.fill_marginal(psi, &edge, scopes.shape(c), z);
                    let marginal = self.marginal.slice(0..scopes.shape(c).size());
                    out.deliver_clique(graph, c, *weight, marginal, &mut self.strides);
                }
            }
        }
        log_z
    }

    /// outer ← outer + scale · q_i q_jᵀ: the marginals of a clique without the factor M, which
    /// [`crate::graph::SharedSum::finish`] applies later.
    fn add_outer(&self, shape: Shape, scale: S, outer: &mut Array<S>) {
        for i in 0..shape.rows {
            let row = outer.slice_mut(i * shape.stride()..(i + 1) * shape.stride());
            S::axpy(self.cavity[0].get(i) * scale, self.cavity[1].slice(0..shape.stride()), row);
        }
    }

    /// The marginals of a clique, q_i M q_jᵀ / z.
    fn fill_marginal(&mut self, psi: Psi<S>, edge: &Edge<S>, shape: Shape, z: S) {
        self.marginal.reserve(shape.size());
        for i in 0..shape.rows {
            let q = self.cavity[0].get(i) / z;
            let row = i * shape.stride()..i * shape.stride() + shape.columns;
            let mut marginal = self.marginal.slice_mut(row.clone());
            let cavity = self.cavity[1].slice(0..shape.columns);
            match edge.matrix {
                Matrix::Potts { base, gain } => {
                    for j in 0..shape.columns {
                        marginal.set(j, q * cavity.at(j) * if i == j { base + gain } else { base });
                    }
                }
                Matrix::Dense(place) => {
                    let m = place.row(psi, &self.exp, row);
                    for j in 0..shape.columns {
                        marginal.set(j, q * m.at(j) * cavity.at(j));
                    }
                }
            }
        }
    }
}

/// out ← x.
fn copy<S: Scalar>(x: &Array<S>, out: &mut Array<S>) {
    out.reserve(x.len());
    for plane in 0..S::PLANES {
        out.plane_mut(plane)[..x.len()].copy_from_slice(x.plane(plane));
    }
}

/// out ← x / y.
#[inline]
fn divide<S: Scalar>(x: Slice<S>, y: Slice<S>, out: &mut Array<S>) {
    let n = x.re.len();
    let mut out = out.slice_mut(0..n);
    for j in 0..n {
        out.set(j, x.at(j) / y.at(j));
    }
}

/// out ← base·Σ q + gain·q over `labels` labels. Returns Σ out.
#[inline]
fn potts<S: Scalar>(base: S, gain: S, labels: usize, q: &Array<S>, out: &mut Array<S>) -> S {
    let mut sum = S::lift(0.0);
    for j in 0..labels {
        sum += q.get(j);
    }
    let rest = base * sum;
    for j in 0..labels {
        out.set(j, rest + gain * q.get(j));
    }
    (base * S::lift(labels as f64) + gain) * sum
}
