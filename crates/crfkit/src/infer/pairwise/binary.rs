//! Belief propagation on pairs of variables with two labels each, in probability space, eight pairs at a time.
//!
//! A row of two labels would leave three quarters of a vector empty. Here a vector holds the same number of eight pairs, and
//! a cavity is its odds: with Q_i = B_i(1) m_i(0) / (B_i(0) m_i(1)), the pair (i, j) sends
//! m_j ∝ (M(0,0) + Q_i M(1,0), M(0,1) + Q_i M(1,1)). Otherwise this is [`super::Pairwise`]: the same messages, with mean 1,
//! the same order, damping and stop.
//!
//! If the product over a variable's pairs could leave the range of f64, the logarithms of partial products are added instead, and the less
//! probable label has at least [`TINY`] times the belief of the other. Pairs of ordinary strength need that where each variable has a
//! hundred of them.

use super::lanes::{Mix, Row};
use crate::graph::{FactorGraph, Fields, Psi, Source, TableRef};
use crate::infer::begin::{Begin, Share};
use crate::infer::exponentials::SAFE_SPREAD;
use crate::infer::settle::Settling;
use crate::math::dispatch::dispatch;
use crate::math::simd::{self, LANES};
use crate::math::{Array, Scalar, Slice};
use fearless_simd::Simd;
use std::f64::consts::LN_2;

/// Where the entries (0,0), (0,1), (1,0) and (1,1) are in a table of two labels by two.
const ENTRIES: [usize; 4] = [0, 1, LANES, LANES + 1];

/// The largest spread of one table: messages are within e^±200, and products of two of them and beliefs are numbers.
const WIDEST: f64 = 200.0;

/// The least belief: its product with a message is a number, and no sum notices it.
const TINY: f64 = 1e-200;

/// Beliefs and messages of variables with two labels. Pairs are padded to whole vectors by pairs without a preference, between
/// variables that do not exist.
#[derive(Debug)]
pub(in crate::infer) struct BinaryPairs<S> {
    /// u_v − max u_v, e_v and B_v of each label; one more variable has 1, for the padding.
    fields: [Array<S>; 2],
    nodes: [Array<S>; 2],
    belief: [Array<S>; 2],
    /// The four entries of M, `[pairs]` each.
    table: [Array<S>; 4],
    /// m of each label: to the first variable of each pair, then to the second, `[2][pairs]`.
    message: [Array<S>; 2],
    /// The first and the second variable of each pair.
    ends: [Vec<u32>; 2],
    /// The places of all messages to a variable, one variable after another, and their number for each.
    heard: Vec<u32>,
    counts: Vec<u32>,
    /// The sum of all maxima that were subtracted from ψ.
    shift: f64,
    /// How far the belief of each variable may be from even, as a logarithm.
    reach: Vec<f64>,
    /// Whether that is too far for a product, and how many messages may be multiplied at once.
    wide: bool,
    at_once: usize,
    /// The logarithm of what the belief of each variable was divided by.
    lift: Vec<f64>,
    /// Z_c / (Z_i Z_j) of each pair, and the marginals of eight pairs, `[4][LANES]`.
    ratio: Array<S>,
    marginal: Array<S>,
    row: Array<S>,
    strides: Vec<usize>,
}

impl<S> Default for BinaryPairs<S> {
    fn default() -> Self {
        BinaryPairs {
            fields: Default::default(),
            nodes: Default::default(),
            belief: Default::default(),
            table: Default::default(),
            message: Default::default(),
            ends: Default::default(),
            heard: Vec::new(),
            counts: Vec::new(),
            shift: 0.0,
            reach: Vec::new(),
            wide: false,
            at_once: 0,
            lift: Vec::new(),
            ratio: Array::default(),
            marginal: Array::default(),
            row: Array::default(),
            strides: Vec::new(),
        }
    }
}

impl<S: Scalar> BinaryPairs<S> {
    /// Computes the exponentials of ψ. Returns false if a variable has not two labels, or if a table is too wide or has NaN.
    pub(in crate::infer) fn start(&mut self, graph: &FactorGraph, psi: Psi<S>, fields: &Fields<S>) -> bool {
        if graph.cards().iter().any(|&card| card != 2) {
            return false;
        }
        let (cliques, vars) = (graph.cliques(), graph.cards().len());
        let pairs = simd::padded(cliques.len());
        self.shift = 0.0;
        self.reach.clear();
        self.nodes.iter_mut().chain(&mut self.belief).for_each(|nodes| nodes.reset(vars + 1, 1.0));
        self.fields.iter_mut().for_each(|fields| fields.reset(vars, 0.0));
        self.lift.clear();
        self.lift.resize(vars, 0.0);
        self.heard.clear();
        self.counts.clear();
        for v in 0..vars {
            let at = cliques.node(v).start;
            let u = [fields.nodes.get(at), fields.nodes.get(at + 1)];
            let max = u[0].re().max(u[1].re());
            self.reach.push((u[0].re() - u[1].re()).abs());
            self.shift += max;
            self.heard.extend(cliques.incident(v).iter().map(|&slot| place(slot as usize, pairs) as u32));
            self.counts.push(cliques.incident(v).len() as u32);
            for y in 0..2 {
                self.fields[y].set(v, u[y] - S::lift(max));
                self.nodes[y].set(v, (u[y] - S::lift(max)).exp());
            }
        }
        self.table.iter_mut().for_each(|table| table.reset(pairs, 0.0));
        self.ends.iter_mut().for_each(|ends| {
            ends.clear();
            ends.resize(pairs, vars as u32);
        });
        let mut widest = LN_2;
        for c in 0..cliques.len() {
            let table = fields.table(graph, psi, c);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for x in ENTRIES.map(|at| table.re[at]) {
                if x.is_nan() {
                    return false;
                }
                (low, high) = (low.min(x), high.max(x));
            }
            self.shift += high;
            widest = widest.max(high - low);
            for (entry, &at) in self.table.iter_mut().zip(&ENTRIES) {
                entry.set(c, table.at(at) - S::lift(high));
            }
            for (k, &v) in cliques.scopes().vars(c).iter().enumerate() {
                self.ends[k][c] = v as u32;
                self.reach[v] += (high - low).max(LN_2);
            }
        }
        self.table.iter_mut().for_each(exponential);
        self.wide = self.reach.iter().any(|&reach| reach >= SAFE_SPREAD);
        self.at_once = ((WIDEST / widest) as usize).max(1);
        widest < WIDEST && self.reach.iter().all(|reach| reach.is_finite())
    }

    /// Starts again, with the messages of `begin`.
    pub(in crate::infer) fn restart(
        &mut self,
        graph: &FactorGraph,
        psi: Psi<S>,
        fields: &Fields<S>,
        begin: Begin,
    ) {
        let pairs = self.ends[0].len();
        self.message.iter_mut().for_each(|message| message.reset(2 * pairs, 1.0));
        if !matches!(begin, Begin::Uniform) {
            begin.for_each_message(graph, psi, fields, |slot, message| {
                for (y, x) in message.iter().enumerate() {
                    self.message[y].set(place(slot, pairs), S::lift(x.exp() * 2.0));
                }
            });
        }
        self.believe();
    }

    /// Recomputes all beliefs from the messages.
    fn believe(&mut self) {
        let mut rest = &self.heard[..];
        let places = 0..2 * self.ends[0].len();
        let message = [0, 1].map(|y| self.message[y].slice(places.clone()));
        for (v, &count) in self.counts.iter().enumerate() {
            let (mine, others) = rest.split_at(count as usize);
            rest = others;
            if !self.wide {
                let product = products(message, mine);
                for y in 0..2 {
                    self.belief[y].set(v, self.nodes[y].get(v) * product[y]);
                }
                continue;
            }
            let mut log = [self.fields[0].get(v), self.fields[1].get(v)];
            for some in mine.chunks(self.at_once) {
                let product = products(message, some);
                log[0] += product[0].ln();
                log[1] += product[1].ln();
            }
            self.lift[v] = log[0].re().max(log[1].re());
            for y in 0..2 {
                let share = (log[y] - S::lift(self.lift[v])).exp();
                self.belief[y].set(v, if share.re() < TINY { S::lift(TINY) } else { share });
            }
        }
    }

    /// One parallel sweep: computes all messages from the old beliefs.
    pub(in crate::infer) fn sweep(&mut self, damping: f64, settling: &mut Settling) {
        dispatch!(simd::level(), unit => self.sweep_pairs(unit, damping, settling));
        self.believe();
    }

    #[inline(always)]
    fn sweep_pairs<V: Simd>(&mut self, unit: V, damping: f64, settling: &mut Settling) {
        let mut mix = Mix::new(unit, damping);
        let pairs = self.ends[0].len();
        for at in (0..pairs).step_by(LANES) {
            let (to_i, to_j) = (self.messages(unit, at), self.messages(unit, pairs + at));
            let (q_i, q_j) = (self.odds(unit, 0, at, to_i), self.odds(unit, 1, at, to_j));
            let m = self.entries(unit, at);
            let to_i = mix.binary(unit, [q_j.mul_add(m[1], m[0]), q_j.mul_add(m[3], m[2])], to_i, settling);
            let to_j = mix.binary(unit, [q_i.mul_add(m[2], m[0]), q_i.mul_add(m[3], m[1])], to_j, settling);
            for y in 0..2 {
                to_i[y].store(self.message[y].slice_mut(at..at + LANES));
                to_j[y].store(self.message[y].slice_mut(pairs + at..pairs + at + LANES));
            }
        }
        mix.finish(settling);
    }

    /// The messages of eight pairs to one of their variables.
    #[inline(always)]
    fn messages<V: Simd>(&self, unit: V, at: usize) -> [Row<V, S>; 2] {
        let [m0, m1] = &self.message;
        [Row::load(unit, m0.slice(at..at + LANES)), Row::load(unit, m1.slice(at..at + LANES))]
    }

    /// The entries of M of eight pairs.
    #[inline(always)]
    fn entries<V: Simd>(&self, unit: V, at: usize) -> [Row<V, S>; 4] {
        let [m0, m1, m2, m3] = &self.table;
        let range = at..at + LANES;
        [
            Row::load(unit, m0.slice(range.clone())),
            Row::load(unit, m1.slice(range.clone())),
            Row::load(unit, m2.slice(range.clone())),
            Row::load(unit, m3.slice(range)),
        ]
    }

    /// The odds of the cavities of eight pairs' k-th variables, which get these messages from the pairs.
    #[inline(always)]
    fn odds<V: Simd>(&self, unit: V, k: usize, at: usize, message: [Row<V, S>; 2]) -> Row<V, S> {
        let ends = &self.ends[k][at..at + LANES];
        let b0 = Row::gather(unit, &self.belief[0], ends);
        let b1 = Row::gather(unit, &self.belief[1], ends);
        b1.times(unit, message[0]).over(unit, b0.times(unit, message[1]))
    }

    /// Returns the Bethe approximation of log Z, Σ_v log Z_v + Σ_c log(Z_c / (Z_i Z_j)). Hands the beliefs out, and overwrites
    /// `nodes` with the beliefs of the variables.
    pub(in crate::infer) fn finish(
        &mut self,
        graph: &FactorGraph,
        mut to: Option<Share<S>>,
        nodes: &mut Array<S>,
    ) -> S {
        let cliques = graph.cliques();
        let mut log_z = S::lift(self.shift);
        if let Some(to) = &mut to {
            to.out.own.fill(0.0);
        }
        nodes.reset(cliques.node_len(), 0.0);
        for v in 0..graph.cards().len() {
            let (at, b) = (cliques.node(v).start, [self.belief[0].get(v), self.belief[1].get(v)]);
            let z = b[0] + b[1];
            log_z += z.ln() + S::lift(self.lift[v]);
            for y in 0..2 {
                nodes.set(at + y, b[y] / z);
            }
            if let Some(to) = &mut to {
                to.out.deliver_node(graph, v, to.weight, nodes.slice(cliques.node(v)));
            }
        }
        let pairs = self.ends[0].len();
        self.ratio.reserve(pairs);
        self.marginal.reserve(4 * LANES);
        self.row.reset(2 * LANES, 0.0);
        for at in (0..pairs).step_by(LANES) {
            dispatch!(simd::level(), unit => self.weigh_pairs(unit, at));
            if let Some(to) = &mut to {
                (at..cliques.len().min(at + LANES)).for_each(|c| self.deliver(graph, c, to));
            }
        }
        log_z + log_product(&self.ratio, pairs)
    }

    /// Computes the ratios and the marginals of eight pairs.
    #[inline(always)]
    fn weigh_pairs<V: Simd>(&mut self, unit: V, at: usize) {
        let pairs = self.ends[0].len();
        let (to_i, to_j) = (self.messages(unit, at), self.messages(unit, pairs + at));
        let q_i = self.odds(unit, 0, at, to_i).shares(unit);
        let q_j = self.odds(unit, 1, at, to_j).shares(unit);
        let m = self.entries(unit, at);
        let mu = [
            q_i[0].times(unit, q_j[0]).times(unit, m[0]),
            q_i[0].times(unit, q_j[1]).times(unit, m[1]),
            q_i[1].times(unit, q_j[0]).times(unit, m[2]),
            q_i[1].times(unit, q_j[1]).times(unit, m[3]),
        ];
        let z = mu[0].plus(mu[1]).plus(mu[2].plus(mu[3]));
        let z_i = q_i[1].mul_add(to_i[1], q_i[0].times(unit, to_i[0]));
        let z_j = q_j[1].mul_add(to_j[1], q_j[0].times(unit, to_j[0]));
        z.over(unit, z_i.times(unit, z_j)).store(self.ratio.slice_mut(at..at + LANES));
        let scale = Row::splat(unit, S::lift(1.0)).over(unit, z);
        for (k, mu) in mu.into_iter().enumerate() {
            mu.times(unit, scale).store(self.marginal.slice_mut(k * LANES..(k + 1) * LANES));
        }
    }

    /// Hands out the marginals of a pair, one of the eight computed last.
    fn deliver(&mut self, graph: &FactorGraph, c: usize, to: &mut Share<S>) {
        let mu = |k: usize| self.marginal.get(k * LANES + c % LANES);
        if let Source::Table(TableRef::Own(at)) = graph.cliques().source(c) {
            for (k, entry) in ENTRIES.iter().enumerate() {
                to.out.own.add(at + entry, mu(k) * S::lift(to.weight));
            }
            return;
        }
        for (k, &entry) in ENTRIES.iter().enumerate() {
            self.row.set(entry, mu(k));
        }
        to.out.deliver_clique(graph, c, to.weight, self.row.slice(0..2 * LANES), &mut self.strides);
    }
}

/// The products of the messages at these places, for each label.
#[inline]
fn products<S: Scalar>(message: [Slice<S>; 2], places: &[u32]) -> [S; 2] {
    // Two products for each label, to hide the latency of multiplication.
    let (pairs, last) = places.as_chunks::<2>();
    let mut product = [[S::lift(1.0); 2]; 2];
    for pair in pairs {
        for (product, &at) in product.iter_mut().zip(pair) {
            product[0] = product[0] * message[0].at(at as usize);
            product[1] = product[1] * message[1].at(at as usize);
        }
    }
    for &at in last {
        product[0][0] = product[0][0] * message[0].at(at as usize);
        product[0][1] = product[0][1] * message[1].at(at as usize);
    }
    [product[0][0] * product[1][0], product[0][1] * product[1][1]]
}

/// The place of a slot among the messages of one label. The slots of a pair are adjacent.
#[inline]
fn place(slot: usize, pairs: usize) -> usize {
    slot % 2 * pairs + slot / 2
}

/// x ← exp x.
fn exponential<S: Scalar>(x: &mut Array<S>) {
    match S::PLANES {
        1 => simd::exp(x.plane_mut(0)),
        _ => (0..x.len()).for_each(|at| x.set(at, x.get(at).exp())),
    }
}

/// The logarithm of the product of the first `count` numbers, each within e^±2·[`WIDEST`]. A logarithm is taken only where the product
/// could leave the range of f64.
fn log_product<S: Scalar>(x: &Array<S>, count: usize) -> S {
    let (mut log, mut product) = (S::lift(0.0), S::lift(1.0));
    for at in 0..count {
        product = product * x.get(at);
        if S::PLANES == 2 || !(1e-60..1e60).contains(&product.re()) {
            log += product.ln();
            product = S::lift(1.0);
        }
    }
    log + product.ln()
}
