//! Loopy belief propagation on pairs, in probability space: the fast path.
//!
//! With e_v = exp(u_v − max u_v), B_v = e_v ∘ Π_c m_{c→v} and the cavity q_{v→c} = B_v / m_{c→v}, the clique c = (i, j) with M =
//! exp(ψ_c − max ψ_c) sends m_{c→j} ∝ q_{i→c} M and m_{c→i} ∝ M q_{j→c}. A parallel sweep reads the old beliefs and writes the new
//! messages in place, since the two messages of a pair depend on no other message of the sweep.
//!
//! A message has mean 1, so that its entries lie between exp(−spread of ψ_c) and the number of labels. Where the product over a
//! variable's cliques could leave the range of f64, log space takes over ([`SAFE_SPREAD`]).

use super::settle::Settling;
use crate::graph::{FactorGraph, Fields, Gradient, Psi, Source, TableRef};
use crate::math::{Array, Scalar, Slice, simd};

/// Beliefs stay within e^±500, and so do their quotients.
const SAFE_SPREAD: f64 = 500.0;

/// Below this gain of unequal labels, Σ − q would cancel: e^6·2⁻⁵² ≈ 1e-13 is the largest relative error.
const POTTS_BELOW: f64 = -6.0;

/// Where the matrix of a clique is.
#[derive(Clone, Copy, Debug)]
enum Matrix<S> {
    /// A shared table as it stands.
    Shared(usize),
    /// At these offsets of `exp` and `exp_t`.
    Dense(usize, usize),
    /// `gain` on the diagonal, added to `base` everywhere.
    Potts { base: S, gain: S },
}

/// Beliefs and messages in probability space, and the exponentials of ψ.
#[derive(Debug)]
pub(super) struct Pairwise<S> {
    matrices: Vec<Matrix<S>>,
    exp: Array<S>,
    exp_t: Array<S>,
    /// e_v, in the layout of nodes.
    e: Array<S>,
    /// B_v, and those of the next sweep.
    belief: Array<S>,
    next: Array<S>,
    /// m, in the layout of messages; padding holds 1.
    message: Array<S>,
    /// Σ of all maxima taken out of ψ.
    shift: f64,
    /// q of the two variables, what they receive, and ones.
    cavity: [Array<S>; 2],
    fresh: [Array<S>; 2],
    ones: Array<S>,
    row_shift: Vec<f64>,
    marginal: Array<S>,
    strides: Vec<usize>,
}

impl<S> Default for Pairwise<S> {
    fn default() -> Self {
        Pairwise {
            matrices: Vec::new(),
            exp: Array::default(),
            exp_t: Array::default(),
            e: Array::default(),
            belief: Array::default(),
            next: Array::default(),
            message: Array::default(),
            shift: 0.0,
            cavity: [Array::default(), Array::default()],
            fresh: [Array::default(), Array::default()],
            ones: Array::default(),
            row_shift: Vec::new(),
            marginal: Array::default(),
            strides: Vec::new(),
        }
    }
}

impl<S: Scalar> Pairwise<S> {
    /// Takes the exponentials of ψ and sets all messages to 1. False where probability space could not hold them.
    pub fn start(&mut self, graph: &FactorGraph, psi: Psi<S>, fields: &Fields<S>) -> bool {
        let cliques = graph.cliques();
        let reach = |v: usize| {
            let (low, high) = extremes(1, graph.cards()[v], fields.nodes.slice(cliques.node(v)));
            high - low
        };
        let mut reach: Vec<f64> = (0..graph.cards().len()).map(reach).collect();
        for c in 0..cliques.len() {
            let shape = cliques.scopes().shape(c);
            let spread = match cliques.source(c) {
                Source::Table(TableRef::Shared(id)) => psi.shared[id].spread,
                _ => {
                    let (low, high) = extremes(shape.rows, shape.columns, fields.table(graph, psi, c));
                    high - low
                }
            };
            for &v in cliques.scopes().vars(c) {
                reach[v] += spread.max((graph.cards()[v] as f64).ln());
            }
        }
        if !reach.iter().all(|&reach| reach < SAFE_SPREAD) {
            return false;
        }
        self.exponentials(graph, psi, fields);
        self.message.reset(cliques.message_len(), 1.0);
        copy(&self.e, cliques.node_len(), &mut self.belief);
        true
    }

    /// Fills e and the matrices.
    fn exponentials(&mut self, graph: &FactorGraph, psi: Psi<S>, fields: &Fields<S>) {
        let cliques = graph.cliques();
        self.shift = 0.0;
        self.e.reserve(cliques.node_len());
        let widest = graph.cards().iter().copied().max().unwrap_or(0);
        self.row_shift.resize(self.row_shift.len().max(widest), 0.0);
        for array in self.cavity.iter_mut().chain(&mut self.fresh) {
            array.reset(simd::padded(widest), 0.0);
        }
        self.ones.reset(simd::padded(widest), 1.0);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = cliques.node(v);
            let out = self.e.slice_mut(at.clone());
            S::exp_rows(fields.nodes.slice(at), card, &mut self.row_shift[..1], out);
            self.shift += self.row_shift[0];
        }
        self.matrices.clear();
        let (mut end, mut end_t) = (0, 0);
        for c in 0..cliques.len() {
            if let Some(potts) = fields.potts(graph, psi, c)
                && potts.equal.re() - potts.unequal.re() > POTTS_BELOW
            {
                let max = potts.equal.re().max(potts.unequal.re());
                let [equal, base] = [potts.equal, potts.unequal].map(|x| (x - S::lift(max)).exp());
                self.shift += max;
                self.matrices.push(Matrix::Potts { base, gain: equal - base });
            } else if let Source::Table(TableRef::Shared(id)) = cliques.source(c) {
                self.shift += psi.shared[id].shift;
                self.matrices.push(Matrix::Shared(id));
            } else {
                self.matrices.push(Matrix::Dense(end, end_t));
                self.exponential(graph, c, fields.table(graph, psi, c), end, end_t);
                let shape = cliques.scopes().shape(c);
                end += shape.size();
                end_t += shape.columns * simd::padded(shape.rows);
            }
        }
    }

    /// M of clique `c` at `at`, its transpose at `at_t`.
    fn exponential(&mut self, graph: &FactorGraph, c: usize, table: Slice<S>, at: usize, at_t: usize) {
        let shape = graph.cliques().scopes().shape(c);
        let (stride, across) = (shape.stride(), simd::padded(shape.rows));
        self.exp.reserve(at + shape.size());
        self.exp_t.reserve(at_t + shape.columns * across);
        let shifts = &mut self.row_shift[..shape.rows];
        S::exp_rows(table, shape.columns, shifts, self.exp.slice_mut(at..at + shape.size()));
        let max = shifts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.shift += max;
        for i in 0..shape.rows {
            let scale = S::lift((self.row_shift[i] - max).exp());
            for j in 0..shape.columns {
                let x = self.exp.get(at + i * stride + j) * scale;
                self.exp.set(at + i * stride + j, x);
                self.exp_t.set(at_t + j * across + i, x);
            }
        }
        for j in 0..shape.columns {
            for i in shape.rows..across {
                self.exp_t.set(at_t + j * across + i, S::lift(0.0));
            }
        }
    }

    /// Fills the cavities of clique `c`, and what it then says to its two variables. Returns Σ of both messages.
    #[inline]
    fn exchange(&mut self, graph: &FactorGraph, psi: Psi<S>, c: usize) -> [S; 2] {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let (vars, slots, shape) = (scopes.vars(c), scopes.slots(c), scopes.shape(c));
        for k in 0..2 {
            let belief = self.belief.slice(cliques.node(vars[k]));
            let message = self.message.slice(cliques.message(slots.start + k));
            divide(belief, message, &mut self.cavity[k]);
        }
        let [q0, q1] = &self.cavity;
        let [to_first, to_last] = &mut self.fresh;
        let (rows, columns) = (shape.rows, shape.columns);
        let (stride, across) = (shape.stride(), simd::padded(rows));
        let (m, mt) = match self.matrices[c] {
            Matrix::Potts { base, gain } => {
                let sums =
                    [potts(base, gain, columns, q1, to_first), potts(base, gain, columns, q0, to_last)];
                return sums;
            }
            Matrix::Shared(id) => {
                (psi.shared[id].exp.slice(0..rows * stride), psi.shared[id].exp_t.slice(0..columns * across))
            }
            Matrix::Dense(at, at_t) => {
                (self.exp.slice(at..at + rows * stride), self.exp_t.slice(at_t..at_t + columns * across))
            }
        };
        let one = S::lift(1.0);
        [
            S::advance(
                q1.slice(0..columns),
                mt,
                one,
                self.ones.slice(0..across),
                to_first.slice_mut(0..across),
            ),
            S::advance(q0.slice(0..rows), m, one, self.ones.slice(0..stride), to_last.slice_mut(0..stride)),
        ]
    }

    /// One parallel sweep: all messages from the old beliefs.
    pub fn sweep(&mut self, graph: &FactorGraph, psi: Psi<S>, damping: f64, settling: &mut Settling) {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        copy(&self.e, cliques.node_len(), &mut self.next);
        for c in 0..cliques.len() {
            let sums = self.exchange(graph, psi, c);
            let (vars, slots) = (scopes.vars(c), scopes.slots(c));
            for k in 0..2 {
                let card = graph.cards()[vars[k]];
                let scale = S::lift((1.0 - damping) * card as f64) / sums[k];
                let mut message = self.message.slice_mut(cliques.message(slots.start + k));
                let mut next = self.next.slice_mut(cliques.node(vars[k]));
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
        std::mem::swap(&mut self.belief, &mut self.next);
    }

    /// log Z in the approximation of Bethe, Σ_c log Z_c + Σ_v (1 − d_v) log Z_v with Z_v = Σ B_v and Z_c = Σ q_i M q_jᵀ, which is
    /// stationary in the messages. Hands weight × the beliefs to `out` and overwrites `nodes` with those of the variables.
    pub fn finish(
        &mut self,
        graph: &FactorGraph,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        nodes: &mut Array<S>,
    ) -> S {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let mut log_z = S::lift(self.shift);
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
            out.deliver_node(graph, v, weight, nodes.slice(cliques.node(v)));
        }
        for c in 0..cliques.len() {
            self.exchange(graph, psi, c);
            let shape = scopes.shape(c);
            let mut z = S::lift(0.0);
            for j in 0..shape.columns {
                z += self.fresh[1].get(j) * self.cavity[1].get(j);
            }
            log_z += z.ln();
            self.marginal.reserve(shape.size());
            for i in 0..shape.rows {
                let q = self.cavity[0].get(i) / z;
                for j in 0..shape.columns {
                    let at = i * shape.stride() + j;
                    let m = match self.matrices[c] {
                        Matrix::Potts { base, gain } if i == j => base + gain,
                        Matrix::Potts { base, .. } => base,
                        Matrix::Shared(id) => psi.shared[id].exp.get(at),
                        Matrix::Dense(start, _) => self.exp.get(start + at),
                    };
                    self.marginal.set(at, q * m * self.cavity[1].get(j));
                }
            }
            let marginal = self.marginal.slice(0..shape.size());
            out.deliver_clique(graph, c, weight, marginal, &mut self.strides);
        }
        log_z
    }
}

/// out ← the first `n` numbers of x.
fn copy<S: Scalar>(x: &Array<S>, n: usize, out: &mut Array<S>) {
    out.reserve(n);
    for plane in 0..S::PLANES {
        out.plane_mut(plane)[..n].copy_from_slice(&x.plane(plane)[..n]);
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

/// Smallest and largest real part of a table.
fn extremes<S: Scalar>(rows: usize, columns: usize, table: Slice<S>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for row in table.re.chunks_exact(simd::padded(columns)).take(rows) {
        for &x in &row[..columns] {
            (low, high) = (low.min(x), high.max(x));
        }
    }
    (low, high)
}
