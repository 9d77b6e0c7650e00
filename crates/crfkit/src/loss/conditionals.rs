//! The common part of pseudolikelihoods and maximum-entropy Markov models: products of conditionals p(y_v | other
//! gold labels).

use super::rows::Rows;
use super::{Gold, Loss};
use crate::ability::Ability;
use crate::graph::{FIRST_SET, Factor, Gradient, Graph, Label, Psi, Table, TableRef};
use crate::math::{Scalar, simd};
use std::ops::Range;

/// A loss that is a sum of −log p(y_v | gold labels of other variables), in which
///
/// p(y_v | …) ∝ exp Σ_a ψ_a(y_v, gold labels of a's other variables)
///
/// over some of the factors a of v. A type that lists these factors is a [`Loss`].
///
/// Each conditional counts as much as its variable weighs. If a set of labels is known of v, its term is −log p(y_v is in the set | …).
/// Variables of which nothing is known have no conditional. A conditional is left without the factors over other variables whose label
/// is not known, as if the graph had no such factors: to sum over their labels would take inference.
///
/// The cost is O(labels) for each factor of each conditional, whatever the size of its table.
pub trait Conditionals: Send + Sync {
    /// The graphs that it works on.
    type Graph: Graph;

    /// Calls `visit(row, factor, k)` for every factor of every conditional; conditional number `row` predicts the
    /// factor's k-th variable. Row numbers are small; a number that does not occur is not a conditional.
    fn for_each(&self, graph: &Self::Graph, visit: impl FnMut(usize, &Factor, usize));
}

/// Scratch for a loss made of [`Conditionals`], with one row of scores per conditional.
#[derive(Debug)]
pub struct Work<S> {
    rows: Rows<S>,
    /// The variable that each conditional predicts.
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

    fn provides(&self) -> &'static [Ability] {
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
        let complete = gold.is_complete();
        let labels = (0..graph.vars()).map(|v| graph.card(v)).max().unwrap_or(0);
        variables.clear();
        self.for_each(graph, |row, factor, k| {
            if !complete && !gold.predicts(factor, k) {
                return;
            }
            let v = factor.vars[k];
            if row >= variables.len() {
                variables.resize(row + 1, None);
                rows.resize(row + 1, labels);
            }
            if variables[row].is_none() {
                variables[row] = Some(v);
                rows.clear(row, graph.card(v));
            }
            let fibre = Fibre::new(factor, k, gold.labels, graph.card(v));
            fibre.gather(psi, rows, row);
        });
        out.own.fill(0.0);
        if variables.is_empty() {
            return S::lift(0.0);
        }
        rows.exp(variables.len(), labels);
        let mut value = S::lift(0.0);
        for (row, v) in variables.iter().enumerate() {
            if let Some(v) = *v {
                let weight = gold.variable_weight(v);
                let term = match gold.labels[v] < FIRST_SET {
                    true => rows.predict(row, gold.labels[v] as usize, gold.weight * weight),
                    false => {
                        let among = |label: usize| gold.allows(v, label);
                        rows.predict_one_of(row, graph.card(v), among, gold.weight * weight)
                    }
                };
                value += term * S::lift(weight);
            }
        }
        self.for_each(graph, |row, factor, k| {
            if !complete && !gold.predicts(factor, k) {
                return;
            }
            let fibre = Fibre::new(factor, k, gold.labels, graph.card(factor.vars[k]));
            fibre.scatter(rows, row, psi, out);
        });
        value * S::lift(gold.weight)
    }
}

/// The entries of a factor's table in which one variable takes all its labels and the others have their gold labels. That of the variable
/// may be a set.
/// The entry of label j is at `start + j·step`.
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

    /// The position of the fibre in a shared table, if it is a row of the table. Padding is included.
    #[inline]
    fn as_row<S: Scalar>(&self, table: &Table<S>) -> Option<Range<usize>> {
        let width = if self.labels == table.labels { table.stride } else { self.labels };
        (self.step == 1).then_some(self.start..self.start + width)
    }

    /// The position of the fibre in the transpose of a shared table, if it is a column of the table. Padding is
    /// included.
    #[inline]
    fn as_column<S: Scalar>(&self, table: &Table<S>) -> Option<Range<usize>> {
        let first = if self.start < table.stride { 0 } else { self.start / table.stride };
        if self.step != table.stride || first + self.labels > table.rows || table.triples.is_some() {
            return None;
        }
        let across = simd::padded(table.rows);
        let start = (self.start - first * table.stride) * across + first;
        let width = if self.labels == table.rows { across } else { self.labels };
        Some(start..start + width)
    }

    /// Adds the fibre to a row.
    #[inline]
    fn gather<S: Scalar>(&self, psi: Psi<S>, rows: &mut Rows<S>, row: usize) {
        let (array, start) = match self.table {
            TableRef::Own(offset) => (psi.own, offset + self.start),
            TableRef::Shared(id) => {
                let table = &psi.shared[id];
                if let Some(range) = self.as_row(table) {
                    return rows.add(row, table.log.slice(range));
                } else if let Some(range) = self.as_column(table) {
                    return rows.add(row, table.log_t.slice(range));
                }
                (&table.log, self.start)
            }
        };
        if self.step == 1 {
            rows.add(row, array.slice(start..start + self.labels));
        } else {
            let mut row = rows.row(row);
            (0..self.labels).for_each(|j| row.add(j, array.get(start + j * self.step)));
        }
    }

    /// Adds a row to the gradient of the fibre.
    #[inline]
    fn scatter<S: Scalar>(&self, rows: &Rows<S>, row: usize, psi: Psi<S>, out: &mut Gradient<S>) {
        let labels = 0..self.labels;
        match self.table {
            TableRef::Own(offset) => {
                let start = offset + self.start;
                if self.step == 1 {
                    rows.add_to(row, out.own.part(start..start + self.labels));
                } else {
                    labels.for_each(|j| out.own.add(start + j * self.step, rows.gradient(row, j)));
                }
            }
            TableRef::Shared(id) => {
                let (table, sum) = (&psi.shared[id], &mut out.shared.0[id]);
                if let Some(range) = self.as_row(table) {
                    rows.add_to(row, sum.direct.slice_mut(range));
                } else if let Some(range) = self.as_column(table) {
                    rows.add_to(row, sum.transposed(table).slice_mut(range));
                } else {
                    labels.for_each(|j| sum.direct.add(self.start + j * self.step, rows.gradient(row, j)));
                }
            }
        }
    }
}
