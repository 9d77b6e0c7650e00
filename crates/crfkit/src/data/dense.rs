//! The values of dense observations: a matrix of single-precision numbers.

use crate::graph::Graph;
use std::ops::Range;
use std::sync::Arc;

/// A mean of more standard deviations than this is far from 0 if there is a constant feature, whose weight can make up for the mean.
pub(crate) const FAR_FROM_ZERO: f64 = 2.0;
/// The same if there is no constant feature. Numbers with a smaller mean are not centred, because they serve as a constant feature.
pub(crate) const FAR_WITHOUT_CONSTANT: f64 = 10.0;

/// Whether numbers with this mean and standard deviation are so far from 0, by one of the measures above, that they have to be centred. A feature that
/// varies little for its size, such as a year or a temperature in kelvin, is almost a constant: it would need a large weight, which
/// the prior forbids. Numbers that differ only by the rounding of single precision count as equal.
pub(crate) fn are_far_from_zero(mean: f64, deviation: f64, far: f64) -> bool {
    mean.abs() > far * deviation && deviation > 1e-6 * mean.abs()
}

/// The values of the dense observations of one kind of table: a row for each own table of that kind
/// ([`Graph::own_is_dense`]), in order. Kinds whose tables have the same numbers share one matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenseNumbers {
    kind: usize,
    width: usize,
    rows: Arc<Rows>,
}

/// The rows of all examples.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rows {
    values: Vec<f32>,
    /// The first row of each example, and the end of the last.
    first: Vec<usize>,
}

impl DenseNumbers {
    /// No rows, for the tables of `examples` examples.
    pub(super) fn new(kind: usize, width: usize, examples: usize) -> Self {
        let rows = Rows { values: Vec::new(), first: vec![0; examples + 1] };
        DenseNumbers { kind, width, rows: rows.into() }
    }

    /// The same numbers for another kind of table, without a copy.
    pub(super) fn for_kind(&self, kind: usize) -> Self {
        DenseNumbers { kind, ..self.clone() }
    }

    /// Whether both are one matrix in memory.
    pub(super) fn shares_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows)
    }

    /// The same without examples.
    pub(super) fn empty(&self) -> Self {
        DenseNumbers::new(self.kind, self.width, 0)
    }

    pub(super) fn clear(&mut self) {
        let rows = Arc::make_mut(&mut self.rows);
        rows.values.clear();
        rows.first.truncate(1);
    }

    pub(super) fn push(&mut self, values: impl Iterator<Item = f32>) {
        Arc::make_mut(&mut self.rows).values.extend(values);
    }

    pub(super) fn finish_example(&mut self) {
        let rows = Arc::make_mut(&mut self.rows);
        debug_assert_eq!(rows.values.len() % self.width, 0);
        rows.first.push(rows.values.len() / self.width);
    }

    /// The kind of table.
    pub fn kind(&self) -> usize {
        self.kind
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The numbers of an example, row after row.
    pub fn of(&self, example: usize) -> &[f32] {
        self.of_all(example..example + 1)
    }

    /// The numbers of some examples, row after row.
    pub(crate) fn of_all(&self, examples: Range<usize>) -> &[f32] {
        let Rows { values, first } = &*self.rows;
        &values[first[examples.start] * self.width..first[examples.end] * self.width]
    }

    /// Appends the starts of the tables that the rows of a graph belong to, counted from `start`.
    pub(crate) fn add_tables(&self, graph: &impl Graph, start: usize, tables: &mut Vec<u32>) {
        tables.extend(self.tables(graph).map(|f| (start + graph.own_offset(f)) as u32));
    }

    /// The own tables of a graph that have a row.
    pub(crate) fn tables(&self, graph: &impl Graph) -> impl Iterator<Item = usize> {
        let has = |f: &usize| graph.own_kind(*f) == self.kind && graph.own_is_dense(*f);
        (0..graph.own_tables()).filter(has)
    }

    /// All numbers, row after row.
    pub(crate) fn values(&self) -> &[f32] {
        &self.rows.values
    }

    /// Replaces every number x of column d by `new`(d, x).
    pub(crate) fn change(&mut self, new: impl Fn(usize, f64) -> f64) {
        for row in Arc::make_mut(&mut self.rows).values.chunks_exact_mut(self.width) {
            row.iter_mut().enumerate().for_each(|(d, x)| *x = new(d, f64::from(*x)) as f32);
        }
    }
}
