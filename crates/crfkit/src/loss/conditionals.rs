//! What pseudolikelihoods and maximum-entropy Markov models have in common: products of conditionals p(y_v | other gold labels).

use super::rows::Rows;
use super::{Gold, Loss};
use crate::ability::Ability;
use crate::graph::{Factor, Gradient, Graph, Label, Psi, Table, TableRef};
use crate::math::{Scalar, simd};
use std::ops::Range;

/// A loss that is a sum of −log p(y_v | gold labels of other variables), in which
/// p(y_v | …) ∝ exp Σ_a ψ_a(y_v, gold labels of a's other variables)
/// over some of the factors a of v. Whoever says which factors, has a [`Loss`].
///
/// Costs O(labels) for each factor of each conditional, whatever the size of its table.
pub trait Conditionals: Send + Sync {
    /// The graphs it works on.
    type Graph: Graph;

    /// Calls `visit(c, factor, k)` for every factor of every conditional: conditional number c predicts the factor's k-th
    /// variable. Numbers are small; one that does not occur is no conditional.
    fn for_each(&self, graph: &Self::Graph, visit: impl FnMut(usize, &Factor, usize));
}

/// Scratch of a loss made of [`Conditionals`]: a row of scores each.
#[derive(Debug)]
pub struct Work<S> {
    rows: Rows<S>,
    /// The variable that each one predicts.
    variables: Vec<Option<usize>>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work { rows: Rows::default(), variables: Vec::new() }
    }
}

impl<C: Conditionals> Loss for C {
    type Graph = C::Graph;
    type Work<S: Scalar> = Work<S>;

    fn gives(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn loss<S: Scalar>(
        &self,
        graph: &Self::Graph,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Self::Work<S>,
    ) -> S {
        let Work { rows, variables } = work;
        let labels = (0..graph.vars()).map(|v| graph.card(v)).max().unwrap_or(0);
        variables.clear();
        self.for_each(graph, |c, factor, k| {
            let v = factor.vars[k];
            if c >= variables.len() {
                variables.resize(c + 1, None);
                rows.resize(c + 1, labels);
            }
            if variables[c].is_none() {
                variables[c] = Some(v);
                rows.clear(c, graph.card(v));
            }
            let fibre = Fibre::new(factor, k, gold.labels, graph.card(v));
            fibre.gather(psi, rows, c);
        });
        out.own.fill(0.0);
        if variables.is_empty() {
            return S::lift(0.0);
        }
        rows.exp(variables.len(), labels);
        let mut value = S::lift(0.0);
        for (c, v) in variables.iter().enumerate() {
            if let Some(v) = *v {
                value += rows.predict(c, gold.labels[v] as usize, gold.weight);
            }
        }
        self.for_each(graph, |c, factor, k| {
            let fibre = Fibre::new(factor, k, gold.labels, graph.card(factor.vars[k]));
            fibre.scatter(rows, c, psi, out);
        });
        value * S::lift(gold.weight)
    }
}

/// The entries of a factor's table in which one variable takes all its labels and the others have their gold labels: entry of
/// label j = `start + j·step`.
struct Fibre {
    table: TableRef,
    start: usize,
    step: usize,
    labels: usize,
}

impl Fibre {
    #[inline]
    fn new(factor: &Factor, k: usize, gold: &[Label], labels: usize) -> Self {
        let step = factor.strides[k];
        let start = factor.entry(gold) - gold[factor.vars[k]] as usize * step;
        Fibre { table: factor.table, start, step, labels }
    }

    /// Where the fibre lies in the transpose of a shared table, if it is a column of it. Padding is taken along.
    #[inline]
    fn column<S: Scalar>(&self, table: &Table<S>) -> Option<Range<usize>> {
        let (row, column) = (self.start / table.stride, self.start % table.stride);
        let across = simd::padded(table.rows);
        let start = column * across + row;
        let width = if self.labels == table.rows { across } else { self.labels };
        (self.step == table.stride && row + self.labels <= table.rows).then_some(start..start + width)
    }

    /// Where the fibre lies in a shared table, if it is a row of it. Padding is taken along.
    #[inline]
    fn row<S: Scalar>(&self, table: &Table<S>) -> Option<Range<usize>> {
        let width = if self.labels == table.labels { table.stride } else { self.labels };
        (self.step == 1).then_some(self.start..self.start + width)
    }

    /// Adds the fibre to row `c`.
    #[inline]
    fn gather<S: Scalar>(&self, psi: Psi<S>, rows: &mut Rows<S>, c: usize) {
        let (array, start) = match self.table {
            TableRef::Own(offset) => (psi.own, offset + self.start),
            TableRef::Shared(id) => {
                let table = &psi.shared[id];
                if let Some(row) = self.row(table) {
                    return rows.add(c, table.log.slice(row));
                } else if let Some(column) = self.column(table) {
                    return rows.add(c, table.log_t.slice(column));
                }
                (&table.log, self.start)
            }
        };
        if self.step == 1 {
            rows.add(c, array.slice(start..start + self.labels));
        } else {
            let mut row = rows.row(c);
            for j in 0..self.labels {
                row.add(j, array.get(start + j * self.step));
            }
        }
    }

    /// Adds row `c` to the gradient of the fibre.
    #[inline]
    fn scatter<S: Scalar>(&self, rows: &Rows<S>, c: usize, psi: Psi<S>, out: &mut Gradient<S>) {
        let labels = 0..self.labels;
        match self.table {
            TableRef::Own(offset) => {
                let start = offset + self.start;
                if self.step == 1 {
                    rows.add_to(c, out.own.part(start..start + self.labels));
                } else {
                    labels.for_each(|j| out.own.add(start + j * self.step, rows.gradient(c, j)));
                }
            }
            TableRef::Shared(id) => {
                let (table, sum) = (&psi.shared[id], &mut out.shared.0[id]);
                if let Some(row) = self.row(table) {
                    rows.add_to(c, sum.direct.slice_mut(row));
                } else if let Some(column) = self.column(table) {
                    rows.add_to(c, sum.transposed(table).slice_mut(column));
                } else {
                    labels.for_each(|j| sum.direct.add(self.start + j * self.step, rows.gradient(c, j)));
                }
            }
        }
    }
}
