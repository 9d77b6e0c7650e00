//! Forward-backward over product states: exact inference on chains of slices.
//!
//! A state is one label for each of the C columns of a slice. In a table over states the labels of the last column
//! vary fastest, in padded rows. Let E_t(y) be the product of the exponentials of all factors within slice t, and M_c
//! the exponentials of the pairs of column c. Then
//!
//! α_t = (α̂_{t−1} M_0 ⊗ … ⊗ M_{C−1}) ∘ E_t, α̂_t = α_t/c_t, c_t = Σ α_t, γ_t = E_t ∘ β_t / c_t, β_{t−1} = (M_0 ⊗ … ⊗ M_{C−1}) γ_t.
//!
//! The columns are summed out one after another, which costs (Π labels)·(Σ labels) per slice instead of (Π labels)².
//! The intermediate table F_k has the labels of columns 0 … k−1 at t and those of the other columns at t−1 (F_0 =
//! α̂_{t−1}). B_k is the same for the backward pass (B_C = γ_t, B_0 = β_{t−1}). The marginals are μ_t = α̂_t ∘ β_t.
//! Those of the pair of column k are M_k ∘ Σ F_k B_{k+1}ᵀ, summed over the labels of all other columns.

mod states;

use super::exponentials::Exponentials;
use crate::graph::{FactorGraph, Fields, Gradient, Psi, Slices, Source, TableRef};
use crate::math::{Array, Scalar, simd};
use states::{Step, matrices, row_label, size, turn};

/// The tables of one graph.
#[derive(Debug)]
pub(super) struct Product<S> {
    exp: Exponentials<S>,
    /// E_t and α̂_t `[T][size]`.
    inside: Array<S>,
    alpha: Array<S>,
    /// F_1 … F_{C−1} of each slice `[T][C−1][size]`.
    partial: Array<S>,
    /// B_0 … B_C `[C+1][size]`.
    back: Array<S>,
    /// 1/c_t.
    inverse: Vec<S>,
    /// One table, and a table of ones.
    table: Array<S>,
    ones: Array<S>,
    /// F_k and B_{k+1} with the labels of column k along the rows.
    turned: [Array<S>; 2],
    marginal: Array<S>,
    strides: Vec<usize>,
}

impl<S> Default for Product<S> {
    fn default() -> Self {
        Product {
            exp: Exponentials::default(),
            inside: Array::default(),
            alpha: Array::default(),
            partial: Array::default(),
            back: Array::default(),
            inverse: Vec::new(),
            table: Array::default(),
            ones: Array::default(),
            turned: [Array::default(), Array::default()],
            marginal: Array::default(),
            strides: Vec::new(),
        }
    }
}

impl<S: Scalar> Product<S> {
    /// Computes the exponentials of ψ. Returns false if probability space cannot hold the tables.
    pub(super) fn start(
        &mut self,
        graph: &FactorGraph,
        slices: &Slices,
        psi: Psi<S>,
        fields: &Fields<S>,
    ) -> bool {
        let columns = slices.cards.len();
        if !Exponentials::hold(graph, psi, fields, columns) {
            return false;
        }
        self.exp.fill(graph, psi, fields, |_| None);
        let size = size(slices);
        for (array, tables) in [
            (&mut self.inside, slices.len),
            (&mut self.alpha, slices.len),
            (&mut self.partial, slices.len * (columns - 1)),
            (&mut self.back, columns + 1),
            (&mut self.table, 1),
        ] {
            array.reserve(tables * size);
        }
        self.ones.reset(size, 1.0);
        for t in 0..slices.len {
            self.fill_inside(graph, slices, psi, t);
        }
        true
    }

    /// E_t: the node tables of all columns times the pairs within the slice.
    fn fill_inside(&mut self, graph: &FactorGraph, slices: &Slices, psi: Psi<S>, t: usize) {
        let Product { exp, inside, .. } = self;
        let (columns, size) = (slices.cards.len(), size(slices));
        let last = columns - 1;
        let node = |c: usize| graph.cliques().node(t * columns + c);
        let mut table = inside.slice_mut(t * size..(t + 1) * size);
        let stride = simd::padded(slices.cards[last]);
        for row in 0..size / stride {
            let label = |c: usize| row_label(&slices.cards, row, c);
            let mut factor = S::lift(1.0);
            for c in 0..last {
                factor = factor * exp.nodes.get(node(c).start + label(c));
            }
            let mut out = table.part(row * stride..(row + 1) * stride);
            for j in 0..stride {
                out.set(j, exp.nodes.get(node(last).start + j));
            }
            for &(c, [first, second]) in &slices.inside[t] {
                let (m, mt) = matrices(exp, psi, c, [slices.cards[first], slices.cards[second]]);
                if second == last || first == last {
                    let (lines, other) = if second == last { (m, first) } else { (mt, second) };
                    for j in 0..stride {
                        out.set(j, out.at(j) * lines.at(label(other) * stride + j));
                    }
                } else {
                    factor = factor * m.at(label(first) * simd::padded(slices.cards[second]) + label(second));
                }
            }
            for j in 0..stride {
                out.set(j, out.at(j) * factor);
            }
        }
    }

    /// Fills α̂ and F. Returns log Z.
    pub(super) fn forward(&mut self, slices: &Slices, psi: Psi<S>) -> S {
        let (columns, size) = (slices.cards.len(), size(slices));
        let Product { exp, inside, alpha, partial, table, ones, inverse, .. } = self;
        let at = |k: usize| k * size..(k + 1) * size;
        let mut log_z = S::lift(exp.shift);
        inverse.clear();
        for t in 0..slices.len {
            let sum = if t == 0 {
                S::weigh(inside.slice(at(0)), S::lift(1.0), ones.slice(at(0)), table.slice_mut(at(0)))
            } else {
                let step = |k: usize| Step::new(exp, psi, slices, t, k);
                let first = t * (columns - 1);
                for k in 0..columns - 1 {
                    let (from, out) = match k {
                        0 => (alpha.slice(at(t - 1)), partial.slice_mut(at(first))),
                        _ => partial.split(at(first + k - 1), at(first + k)),
                    };
                    step(k).forward(from, ones.slice(at(0)), out);
                }
                let from = match columns {
                    1 => alpha.slice(at(t - 1)),
                    _ => partial.slice(at(first + columns - 2)),
                };
                step(columns - 1).forward(from, inside.slice(at(t)), table.slice_mut(at(0)))
            };
            let scale = S::lift(1.0) / sum;
            inverse.push(scale);
            log_z += sum.ln();
            S::weigh(table.slice(at(0)), scale, ones.slice(at(0)), alpha.slice_mut(at(t)));
        }
        log_z
    }

    /// Runs from the last slice to the first. Adds weight × the marginals to `out` and writes those of the variables
    /// to `nodes`.
    pub(super) fn backward(
        &mut self,
        graph: &FactorGraph,
        slices: &Slices,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        nodes: &mut Array<S>,
    ) {
        let (columns, size) = (slices.cards.len(), size(slices));
        let at = |k: usize| k * size..(k + 1) * size;
        out.own.fill(0.0);
        nodes.reset(graph.cliques().node_len(), 0.0);
        // B_0 = β of the last slice, which has no successor.
        self.back.reset((columns + 1) * size, 1.0);
        for t in (0..slices.len).rev() {
            let beta = self.back.slice(at(0));
            S::multiply(self.alpha.slice(at(t)), beta, self.table.slice_mut(at(0)));
            self.deliver_inside(graph, slices, t, weight, out, nodes);
            if t == 0 {
                break;
            }
            let beta = self.back.slice(at(0));
            S::multiply(self.inside.slice(at(t)), beta, self.table.slice_mut(at(0)));
            let (scale, gamma) = (self.inverse[t], self.back.slice_mut(at(columns)));
            S::weigh(self.table.slice(at(0)), scale, self.ones.slice(at(0)), gamma);
            for k in (0..columns).rev() {
                self.deliver_across(graph, slices, psi, (t, k), weight, out);
                let (out, from) = self.back.split_mut(at(k), at(k + 1));
                Step::new(&self.exp, psi, slices, t, k).backward(from, self.ones.slice(at(0)), out);
            }
        }
    }

    /// Adds the marginals of slice t, which are in `table`, to the tables of its variables and pairs.
    fn deliver_inside(
        &mut self,
        graph: &FactorGraph,
        slices: &Slices,
        t: usize,
        weight: f64,
        out: &mut Gradient<S>,
        nodes: &mut Array<S>,
    ) {
        let Product { table, marginal, strides, .. } = self;
        let (cards, columns) = (&slices.cards, slices.cards.len());
        let (last, stride) = (columns - 1, simd::padded(slices.cards[columns - 1]));
        for c in 0..columns {
            let node = graph.cliques().node(t * columns + c);
            for row in 0..size(slices) / stride {
                let states = table.slice(row * stride..(row + 1) * stride);
                if c == last {
                    S::axpy(S::lift(1.0), states, nodes.slice_mut(node.clone()));
                } else {
                    nodes.add(node.start + row_label(cards, row, c), states.sum());
                }
            }
            out.deliver_node(graph, t * columns + c, weight, nodes.slice(node));
        }
        for &(c, [first, second]) in &slices.inside[t] {
            let width = simd::padded(cards[second]);
            marginal.reset(cards[first] * width, 0.0);
            for row in 0..size(slices) / stride {
                let states = table.slice(row * stride..(row + 1) * stride);
                let label = |c: usize| row_label(cards, row, c);
                if second == last {
                    let line = label(first) * width..(label(first) + 1) * width;
                    S::axpy(S::lift(1.0), states, marginal.slice_mut(line));
                } else if first == last {
                    (0..cards[last]).for_each(|j| marginal.add(j * width + label(second), states.at(j)));
                } else {
                    marginal.add(label(first) * width + label(second), states.sum());
                }
            }
            let marginal = marginal.slice(0..cards[first] * width);
            out.deliver_clique(graph, c, weight, marginal, strides);
        }
    }

    /// Adds the marginals of the pair of column k in slices t−1 and t, computed from F_k and B_{k+1}.
    fn deliver_across(
        &mut self,
        graph: &FactorGraph,
        slices: &Slices,
        psi: Psi<S>,
        (t, k): (usize, usize),
        weight: f64,
        out: &mut Gradient<S>,
    ) {
        let (columns, size) = (slices.cards.len(), size(slices));
        let at = |k: usize| k * size..(k + 1) * size;
        let before = match k {
            0 => self.alpha.slice(at(t - 1)),
            _ => self.partial.slice(at(t * (columns - 1) + k - 1)),
        };
        let behind = self.back.slice(at(k + 1));
        let (card, c) = (slices.cards[k], slices.across[(t - 1) * columns + k]);
        let [a, g] = &mut self.turned;
        let (a, g) = match k + 1 == columns {
            true => (before, behind),
            false => (turn(slices, k, before, a), turn(slices, k, behind, g)),
        };
        let entries = 0..card * simd::padded(card);
        match graph.cliques().source(c) {
            // `SharedSum::finish` applies the factor M later.
            Source::Table(TableRef::Shared(id)) if psi.shared[id].sparse.is_none() => {
                S::outer_add(weight, a, g, card, out.shared.0[id].outer.slice_mut(entries));
            }
            _ => {
                self.marginal.reset(entries.end, 0.0);
                S::outer_add(1.0, a, g, card, self.marginal.slice_mut(entries.clone()));
                let (m, _) = matrices(&self.exp, psi, c, [card; 2]);
                for i in entries.clone() {
                    self.marginal.set(i, self.marginal.get(i) * m.at(i));
                }
                let marginal = self.marginal.slice(entries);
                out.deliver_clique(graph, c, weight, marginal, &mut self.strides);
            }
        }
    }
}
