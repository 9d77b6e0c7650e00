//! Naive mean field: the best fully factorised approximation.

use super::chain::log_sum_exp;
use super::settle::Settling;
use super::{Inference, NodeMarginals, Outcome};
use crate::graph::{FactorGraph, Fields, Gradient, Potts, Psi, for_each_row_label};
use crate::math::random::Random;
use crate::math::{Array, Scalar, Slice};

/// Mean field: the q(y) = Π_v q_v(y_v) with the smallest free energy F = −Σ E_q ψ − H(q). It is found by exact
/// updates of one variable after another, q_v ∝ exp(u_v + Σ_c E_{q∖v} ψ_c), none of which raises F.
///
/// log Z is −F, a lower bound, so the negative log-likelihood computed from it is too low. F has many minima. The
/// first start is uniform, `restarts` more are random, and the smallest F wins.
#[derive(Clone, Copy, Debug)]
pub struct MeanField {
    /// The largest number of sweeps over all variables, for each start.
    pub max_iterations: usize,
    /// The engine has converged when no probability changes by more than this. ε parts are taken relative to the
    /// largest ε part of ψ.
    pub tolerance: f64,
    /// The number of additional starts from random distributions.
    pub restarts: usize,
    /// Seed of the random starts.
    pub seed: u64,
}

impl Default for MeanField {
    fn default() -> Self {
        MeanField { max_iterations: 200, tolerance: 1e-8, restarts: 0, seed: 1 }
    }
}

/// Scratch for [`MeanField`].
#[derive(Debug)]
pub struct Work<S> {
    fields: Fields<S>,
    /// The Potts form of each clique, if it has one.
    potts: Vec<Option<Potts<S>>>,
    /// q, in the layout of nodes, with padding 0; and the best q of all starts.
    q: Array<S>,
    best: Array<S>,
    /// log q of one variable.
    row: Array<S>,
    marginal: Array<S>,
    strides: Vec<usize>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            fields: Fields::default(),
            potts: Vec::new(),
            q: Array::default(),
            best: Array::default(),
            row: Array::default(),
            marginal: Array::default(),
            strides: Vec::new(),
        }
    }
}

impl Inference for MeanField {
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
        work.potts.clear();
        work.potts.extend((0..graph.cliques().len()).map(|c| work.fields.potts(graph, psi, c)));
        let settling = Settling::new(self.tolerance, psi);
        let mut best: Option<Outcome<S>> = None;
        for start in 0..=self.restarts {
            work.start(graph, (start > 0).then(|| Random::stream(self.seed, start as u64)));
            let (settled, iterations) = settling.repeat(self.max_iterations, |now| {
                (0..graph.cards().len()).for_each(|v| work.update(graph, psi, v, now));
            });
            let log_z = work.negative_free_energy(graph, psi);
            let outcome = Outcome { log_z, converged: settled && log_z.re().is_finite(), iterations };
            if best.is_none_or(|best| outcome.log_z.re() > best.log_z.re()) {
                best = Some(outcome);
                std::mem::swap(&mut work.q, &mut work.best);
            }
        }
        std::mem::swap(&mut work.q, &mut work.best);
        work.deliver(graph, weight, out);
        best.expect("there is at least one start")
    }
}

impl NodeMarginals for MeanField {
    fn node_marginals<'a, S: Scalar>(&self, work: &'a Work<S>) -> &'a Array<S> {
        &work.q
    }
}

impl<S: Scalar> Work<S> {
    /// Sets q to the uniform distribution, or to a random one.
    fn start(&mut self, graph: &FactorGraph, mut random: Option<Random>) {
        self.q.reset(graph.cliques().node_len(), 0.0);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = graph.cliques().node(v).start;
            let mut total = 0.0;
            for j in 0..card {
                // An exponential variate is never 0. Normalised, they are uniform on the simplex.
                let x = random.as_mut().map_or(1.0, |random| -(1.0 - random.uniform()).ln() + 1e-9);
                total += x;
                self.q.set(at + j, S::lift(x));
            }
            for j in 0..card {
                self.q.set(at + j, self.q.get(at + j) * S::lift(1.0 / total));
            }
        }
    }

    /// Sets q_v to its optimum, given the other variables.
    fn update(&mut self, graph: &FactorGraph, psi: Psi<S>, v: usize, settling: &mut Settling) {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let (at, card) = (cliques.node(v).start, graph.cards()[v]);
        self.row.reserve(card);
        for j in 0..card {
            self.row.set(j, self.fields.nodes.get(at + j));
        }
        for &slot in cliques.incident(v) {
            let c = cliques.slot_clique(slot as usize);
            let k = slot as usize - scopes.slots(c).start;
            let table = self.fields.table(graph, psi, c);
            match (scopes.vars(c), self.potts[c]) {
                (&[a, b], Some(potts)) => {
                    // E ψ = unequal + (equal − unequal)·q of the other variable; the constant cancels.
                    let other = cliques.node(if k == 0 { b } else { a }).start;
                    let gain = potts.equal - potts.unequal;
                    for j in 0..card {
                        self.row.add(j, gain * self.q.get(other + j));
                    }
                }
                _ => expect(graph, c, k, table, &self.q, &mut self.row),
            }
        }
        let total = log_sum_exp(card, |j| self.row.get(j));
        for j in 0..card {
            let new = (self.row.get(j) - total).exp();
            settling.see(new, self.q.get(at + j), 1.0);
            self.q.set(at + j, new);
        }
    }

    /// −F = Σ_v E u_v + Σ_c E ψ_c + H(q).
    fn negative_free_energy(&self, graph: &FactorGraph, psi: Psi<S>) -> S {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        let mut sum = S::lift(0.0);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = cliques.node(v).start;
            for j in 0..card {
                let q = self.q.get(at + j);
                if q.re() > 0.0 {
                    sum += q * (self.fields.nodes.get(at + j) - q.ln()); // 0 log 0 = 0
                }
            }
        }
        for c in 0..cliques.len() {
            let (shape, table) = (scopes.shape(c), self.fields.table(graph, psi, c));
            let last = cliques.node(scopes.vars(c)[scopes.vars(c).len() - 1]).start;
            for row in 0..shape.rows {
                let q = row_probability(graph, scopes.vars(c), row, None, &self.q);
                let mut inner = S::lift(0.0);
                for j in 0..shape.columns {
                    inner += self.q.get(last + j) * table.at(row * shape.stride() + j);
                }
                sum += q * inner;
            }
        }
        sum
    }

    /// Adds weight × the marginals to `out`. The marginals of a clique are products of q.
    fn deliver(&mut self, graph: &FactorGraph, weight: f64, out: &mut Gradient<S>) {
        let (cliques, scopes) = (graph.cliques(), graph.cliques().scopes());
        out.own.fill(0.0);
        for v in 0..graph.cards().len() {
            out.deliver_node(graph, v, weight, self.q.slice(cliques.node(v)));
        }
        for c in 0..cliques.len() {
            let (shape, vars) = (scopes.shape(c), scopes.vars(c));
            self.marginal.reserve(shape.size());
            let last = cliques.node(vars[vars.len() - 1]).start;
            for row in 0..shape.rows {
                let q = row_probability(graph, vars, row, None, &self.q);
                for j in 0..shape.columns {
                    self.marginal.set(row * shape.stride() + j, q * self.q.get(last + j));
                }
            }
            let marginal = self.marginal.slice(0..shape.size());
            out.deliver_clique(graph, c, weight, marginal, &mut self.strides);
        }
    }
}

/// The product of q over all variables but the last, in row `row` of a table over `vars`; without the k-th variable
/// if `without` is set.
#[inline]
fn row_probability<S: Scalar>(
    graph: &FactorGraph,
    vars: &[usize],
    row: usize,
    without: Option<usize>,
    q: &Array<S>,
) -> S {
    let mut product = S::lift(1.0);
    for_each_row_label(row, vars, graph.cards(), |k, label| {
        if Some(k) != without {
            product = product * q.get(graph.cliques().node(vars[k]).start + label);
        }
    });
    product
}

/// out(y_k) ← out(y_k) + E ψ_c over the other variables of clique `c`.
fn expect<S: Scalar>(
    graph: &FactorGraph,
    c: usize,
    k: usize,
    table: Slice<S>,
    q: &Array<S>,
    out: &mut Array<S>,
) {
    let scopes = graph.cliques().scopes();
    let (shape, vars) = (scopes.shape(c), scopes.vars(c));
    let last = vars.len() - 1;
    let at = graph.cliques().node(vars[last]).start;
    for row in 0..shape.rows {
        let start = row * shape.stride();
        if k == last {
            let p = row_probability(graph, vars, row, None, q);
            for j in 0..shape.columns {
                out.add(j, p * table.at(start + j));
            }
        } else {
            let p = row_probability(graph, vars, row, Some(k), q);
            let label = start / scopes.strides(c)[k] % graph.cards()[vars[k]];
            let mut sum = S::lift(0.0);
            for j in 0..shape.columns {
                sum += table.at(start + j) * q.get(at + j);
            }
            out.add(label, p * sum);
        }
    }
}
