//! The exponentials of ψ, from which messages in probability space are computed.

use crate::graph::{FactorGraph, Fields, Potts, Psi, Source, Table, TableRef};
use crate::math::{Array, Scalar, Slice, simd};
use std::ops::Range;

/// Beliefs and their quotients stay within e^±500.
pub(super) const SAFE_SPREAD: f64 = 500.0;

/// If the gain of unequal labels is below this, Σ − q would cancel. The largest relative error is e^6·2⁻⁵² ≈ 1e-13.
const POTTS_BELOW: f64 = -6.0;

/// The matrix M of a clique.
#[derive(Clone, Copy, Debug)]
pub(super) enum Matrix<S> {
    /// A general table.
    Dense(Place),
    /// `base` everywhere, plus `gain` on the diagonal.
    Potts { base: S, gain: S },
}

/// Where M and its transpose are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A shared table, unchanged.
    Shared(usize),
    /// At these offsets of `pairs` and `transposed`.
    Own(usize, usize),
}

/// A clique and the positions of its numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge<S> {
    /// The start of the rows of its two variables, in the layout of nodes.
    pub nodes: [u32; 2],
    /// The start of the messages to them.
    pub messages: [u32; 2],
    /// The numbers of labels of its two variables.
    pub cards: [u32; 2],
    pub matrix: Matrix<S>,
}

/// exp ψ, each table divided by its largest entry.
#[derive(Debug)]
pub(super) struct Exponentials<S> {
    /// e_v, in the layout of nodes; padding is 0.
    pub nodes: Array<S>,
    /// The cliques.
    pub edges: Vec<Edge<S>>,
    /// M of the cliques that do not use a shared table unchanged, and the transposes.
    pairs: Array<S>,
    transposed: Array<S>,
    /// The sum of all maxima that were subtracted from ψ.
    pub shift: f64,
    row_shift: Vec<f64>,
}

impl<S> Default for Exponentials<S> {
    fn default() -> Self {
        Exponentials {
            nodes: Array::default(),
            edges: Vec::new(),
            pairs: Array::default(),
            transposed: Array::default(),
            shift: 0.0,
            row_shift: Vec::new(),
        }
    }
}

impl<S: Scalar> Exponentials<S> {
    /// Whether probability space can hold the beliefs of sets of `together` consecutive variables. The answer is no
    /// if a number is NaN: the log-space code passes NaN on to the caller.
    pub(super) fn hold(graph: &FactorGraph, psi: Psi<S>, fields: &Fields<S>, together: usize) -> bool {
        let (cliques, cards) = (graph.cliques(), graph.cards());
        let node = |v: usize| spread(1, cards[v], fields.nodes.slice(cliques.node(v)));
        let mut reach: Vec<f64> = (0..cards.len()).map(node).collect();
        let shared = |table: &Table<S>| spread(table.rows, table.labels, table.log.slice(0..table.log.len()));
        let shared: Vec<f64> = psi.shared.iter().map(shared).collect();
        for c in 0..cliques.len() {
            let shape = cliques.scopes().shape(c);
            let spread = match cliques.source(c) {
                Source::Table(TableRef::Shared(id)) => shared[id],
                _ => spread(shape.rows, shape.columns, fields.table(graph, psi, c)),
            };
            for &v in cliques.scopes().vars(c) {
                let labels = (cards[v] as f64).ln();
                reach[v] += if spread < labels { labels } else { spread };
            }
        }
        reach.chunks(together).all(|reach| reach.iter().sum::<f64>() < SAFE_SPREAD)
    }

    /// Overwrites everything with the exponentials of ψ. `potts` says which cliques may use the Potts form.
    pub(super) fn fill(
        &mut self,
        graph: &FactorGraph,
        psi: Psi<S>,
        fields: &Fields<S>,
        potts: impl Fn(usize) -> Option<Potts<S>>,
    ) {
        let cliques = graph.cliques();
        self.shift = 0.0;
        self.nodes.reset(cliques.node_len(), 0.0);
        let widest = graph.cards().iter().copied().max().unwrap_or(0);
        self.row_shift.resize(self.row_shift.len().max(widest), 0.0);
        for (v, &card) in graph.cards().iter().enumerate() {
            let at = cliques.node(v);
            let out = self.nodes.slice_mut(at.clone());
            S::exp_rows(fields.nodes.slice(at), card, &mut self.row_shift[..1], out);
            self.shift += self.row_shift[0];
        }
        self.edges.clear();
        let (mut end, mut end_t) = (0, 0);
        for c in 0..cliques.len() {
            let matrix = if let Some(potts) = potts(c)
                && potts.equal.re() - potts.unequal.re() > POTTS_BELOW
            {
                let max = potts.equal.re().max(potts.unequal.re());
                let [equal, base] = [potts.equal, potts.unequal].map(|x| (x - S::lift(max)).exp());
                self.shift += max;
                Matrix::Potts { base, gain: equal - base }
            } else if let Source::Table(TableRef::Shared(id)) = cliques.source(c) {
                self.shift += psi.shared[id].shift;
                Matrix::Dense(Place::Shared(id))
            } else {
                let (at, at_t) = (end, end_t);
                let shape = cliques.scopes().shape(c);
                (end, end_t) = (end + shape.size(), end_t + shape.columns * simd::padded(shape.rows));
                self.exponential(graph, c, fields.table(graph, psi, c), at, at_t);
                Matrix::Dense(Place::Own(at, at_t))
            };
            let (vars, slots) = (cliques.scopes().vars(c), cliques.scopes().slots(c));
            self.edges.push(Edge {
                nodes: [0, 1].map(|k| cliques.node(vars[k]).start as u32),
                messages: [0, 1].map(|k| cliques.message(slots.start + k).start as u32),
                cards: [0, 1].map(|k| graph.cards()[vars[k]] as u32),
                matrix,
            });
        }
    }

    /// Writes M of clique `c` at `at` and its transpose at `at_t`.
    fn exponential(&mut self, graph: &FactorGraph, c: usize, table: Slice<S>, at: usize, at_t: usize) {
        let shape = graph.cliques().scopes().shape(c);
        let (stride, across) = (shape.stride(), simd::padded(shape.rows));
        self.pairs.reserve(at + shape.size());
        self.transposed.reserve(at_t + shape.columns * across);
        let shifts = &mut self.row_shift[..shape.rows];
        S::exp_rows(table, shape.columns, shifts, self.pairs.slice_mut(at..at + shape.size()));
        let max = shifts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.shift += max;
        for i in 0..shape.rows {
            let scale = S::lift((self.row_shift[i] - max).exp());
            for j in 0..shape.columns {
                let x = self.pairs.get(at + i * stride + j) * scale;
                self.pairs.set(at + i * stride + j, x);
                self.transposed.set(at_t + j * across + i, x);
            }
        }
        for j in 0..shape.columns {
            for i in shape.rows..across {
                self.transposed.set(at_t + j * across + i, S::lift(0.0));
            }
        }
    }
}

impl Place {
    /// A part of M.
    #[inline]
    pub(super) fn row<'a, S: Scalar>(
        self,
        psi: Psi<'a, S>,
        exp: &'a Exponentials<S>,
        row: Range<usize>,
    ) -> Slice<'a, S> {
        match self {
            Place::Shared(id) => psi.shared[id].exp.slice(row),
            Place::Own(at, _) => exp.pairs.slice(at + row.start..at + row.end),
        }
    }

    /// M and its transpose, with these sizes.
    #[inline(always)]
    pub(super) fn matrices<'a, S: Scalar>(
        self,
        psi: Psi<'a, S>,
        exp: &'a Exponentials<S>,
        [size, size_t]: [usize; 2],
    ) -> (Slice<'a, S>, Slice<'a, S>) {
        match self {
            Place::Shared(id) => (psi.shared[id].exp.slice(0..size), psi.shared[id].exp_t.slice(0..size_t)),
            Place::Own(at, at_t) => {
                (exp.pairs.slice(at..at + size), exp.transposed.slice(at_t..at_t + size_t))
            }
        }
    }
}

/// The largest minus the smallest real part of a table; NaN if any entry is NaN.
fn spread<S: Scalar>(rows: usize, columns: usize, table: Slice<S>) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for row in table.re.chunks_exact(simd::padded(columns)).take(rows) {
        for &x in &row[..columns] {
            if x.is_nan() {
                return x;
            }
            (low, high) = (low.min(x), high.max(x));
        }
    }
    high - low
}
