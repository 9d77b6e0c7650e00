//! ψ of a factor graph with one table per variable and one per clique, and the reverse step for marginals.

use super::cliques::strides_in;
use super::{FactorGraph, Gradient, Psi, Source, TableRef, for_each_row_label};
use crate::math::{Array, Scalar, Slice, simd};

/// Log-potentials, merged by variables. The node table of a variable is the sum of its unary factors; the table of a
/// clique is the sum of the factors over it. A clique of one factor reads that factor's table directly.
#[derive(Debug)]
pub(crate) struct Fields<S> {
    /// Node tables, laid out as in [`super::Cliques::node`]. Padding holds [`simd::PAD`].
    pub(crate) nodes: Array<S>,
    merged: Array<S>,
    strides: Vec<usize>,
}

impl<S> Default for Fields<S> {
    fn default() -> Self {
        Fields { nodes: Array::default(), merged: Array::default(), strides: Vec::new() }
    }
}

/// A pair table that depends only on whether the labels are equal: the log-potential is `equal` on the diagonal and
/// `unequal` elsewhere. The Ising form θ·y_i·y_j with y = ±1 has two labels, `equal` = θ and `unequal` = −θ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Potts<S> {
    /// Log-potential of two equal labels.
    pub(crate) equal: S,
    /// Log-potential of two different labels.
    pub(crate) unequal: S,
}

impl<S: Scalar> Fields<S> {
    /// Overwrites the tables with those of ψ.
    pub(crate) fn gather(&mut self, graph: &FactorGraph, psi: Psi<S>) {
        let cliques = graph.cliques();
        self.nodes.reset(cliques.node_len(), simd::PAD);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = cliques.node(v).start;
            for j in 0..card {
                self.nodes.set(at + j, S::lift(0.0));
            }
            for &f in cliques.unary(v) {
                let table = table(psi, graph.factor(f as usize).table, card);
                for j in 0..card {
                    self.nodes.add(at + j, table.at(j));
                }
            }
        }
        self.merged.reset(cliques.merged_len(), simd::PAD);
        for c in 0..cliques.len() {
            if let Source::Merged(at) = cliques.source(c) {
                self.merge(graph, psi, c, at);
            }
        }
    }

    /// Writes the sum of the tables of clique `c` at offset `at`.
    fn merge(&mut self, graph: &FactorGraph, psi: Psi<S>, c: usize, at: usize) {
        let scopes = graph.cliques().scopes();
        let (shape, vars) = (scopes.shape(c), scopes.vars(c));
        for row in 0..shape.rows {
            for j in 0..shape.columns {
                self.merged.set(at + row * shape.stride() + j, S::lift(0.0));
            }
        }
        for &f in graph.cliques().factors(c) {
            let from = table(psi, graph.factor(f as usize).table, graph.factor_shape(f as usize).size());
            strides_in(graph, c, f as usize, &mut self.strides);
            let step = self.strides[vars.len() - 1];
            for row in 0..shape.rows {
                let start = row_start(graph, vars, row, &self.strides);
                for j in 0..shape.columns {
                    self.merged.add(at + row * shape.stride() + j, from.at(start + j * step));
                }
            }
        }
    }

    /// The log-potentials of clique `c`.
    #[inline]
    pub(crate) fn table<'a>(&'a self, graph: &FactorGraph, psi: Psi<'a, S>, c: usize) -> Slice<'a, S> {
        let size = graph.cliques().scopes().shape(c).size();
        match graph.cliques().source(c) {
            Source::Table(of) => table(psi, of, size),
            Source::Merged(at) => self.merged.slice(at..at + size),
        }
    }

    /// The Potts form of clique `c`, if it is a pair and its table has exactly that form.
    pub(crate) fn potts(&self, graph: &FactorGraph, psi: Psi<S>, c: usize) -> Option<Potts<S>> {
        let (scopes, shape) = (graph.cliques().scopes(), graph.cliques().scopes().shape(c));
        if scopes.vars(c).len() != 2 || shape.rows != shape.columns || shape.rows < 2 {
            return None;
        }
        let table = self.table(graph, psi, c);
        let (equal, unequal) = (table.at(0), table.at(1));
        let same = |x: S, y: S| x.re() == y.re() && x.eps() == y.eps();
        for i in 0..shape.rows {
            for j in 0..shape.columns {
                if !same(table.at(i * shape.stride() + j), if i == j { equal } else { unequal }) {
                    return None;
                }
            }
        }
        Some(Potts { equal, unequal })
    }
}

/// The first `size` numbers of a factor's table.
#[inline]
fn table<'a, S: Scalar>(psi: Psi<'a, S>, of: TableRef, size: usize) -> Slice<'a, S> {
    match of {
        TableRef::Shared(id) => psi.shared[id].log.slice(0..size),
        TableRef::Own(at) => psi.own.slice(at..at + size),
    }
}

/// The start of row `row` of a clique in a factor's table with these strides.
#[inline]
fn row_start(graph: &FactorGraph, vars: &[usize], row: usize, strides: &[usize]) -> usize {
    let mut start = 0;
    for_each_row_label(row, vars, graph.cards(), |k, label| start += label * strides[k]);
    start
}

impl<S: Scalar> Gradient<'_, S> {
    /// Adds weight × the marginals `mu` of variable `v` to the tables of its unary factors.
    pub(crate) fn deliver_node(&mut self, graph: &FactorGraph, v: usize, weight: f64, mu: Slice<S>) {
        let card = graph.cards()[v];
        for &f in graph.cliques().unary(v) {
            let mut target = match graph.factor(f as usize).table {
                TableRef::Shared(id) => self.shared.0[id].direct.slice_mut(0..card),
                TableRef::Own(at) => self.own.part(at..at + card),
            };
            for j in 0..card {
                target.add(j, mu.at(j) * S::lift(weight));
            }
        }
    }

    /// Adds weight × the marginals `mu` of clique `c`, in the layout of its table, to the tables of its factors.
    pub(crate) fn deliver_clique(
        &mut self,
        graph: &FactorGraph,
        c: usize,
        weight: f64,
        mu: Slice<S>,
        strides: &mut Vec<usize>,
    ) {
        let scopes = graph.cliques().scopes();
        let (shape, vars) = (scopes.shape(c), scopes.vars(c));
        for &f in graph.cliques().factors(c) {
            strides_in(graph, c, f as usize, strides);
            let step = strides[vars.len() - 1];
            let size = graph.factor_shape(f as usize).size();
            let target = match graph.factor(f as usize).table {
                TableRef::Shared(id) => self.shared.0[id].direct.slice_mut(0..size),
                TableRef::Own(at) => self.own.part(at..at + size),
            };
            for row in 0..shape.rows {
                let (from, to) = (row * shape.stride(), row_start(graph, vars, row, strides));
                add_row(weight, &mu.re[from..from + shape.columns], step, &mut target.re[to..]);
                if S::PLANES == 2 {
                    add_row(weight, &mu.eps[from..from + shape.columns], step, &mut target.eps[to..]);
                }
            }
        }
    }
}

/// Adds weight · x to every `step`-th number of `out`.
#[inline]
fn add_row(weight: f64, x: &[f64], step: usize, out: &mut [f64]) {
    if step == 1 {
        out.iter_mut().zip(x).for_each(|(out, x)| *out += weight * x);
    } else {
        out.iter_mut().step_by(step).zip(x).for_each(|(out, x)| *out += weight * x);
    }
}
