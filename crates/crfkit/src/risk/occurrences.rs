//! The occurrences of some examples, sorted by observation.

use crate::data::dataset::Dataset;
use crate::graph::Graph;
use crate::math::{Real, simd};
use crate::model::Features;
use std::ops::Range;

/// Where the observations of some examples occur, sorted by observation. The examples' tables lie in one array, example
/// after example.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Occurrences {
    /// The rows that occur, in ascending order; rows of all kinds are numbered consecutively.
    pub(super) rows: Vec<u32>,
    /// The first occurrence of each row, and the end.
    pub(super) first: Vec<u32>,
    /// For each occurrence, the offset of its table.
    pub(super) tables: Vec<u32>,
    /// The value of each occurrence; empty if all are 1.
    pub(super) values: Vec<f64>,
}

impl Occurrences {
    /// `counter` holds a zero for each row, and does so again when this returns.
    pub(crate) fn new(
        features: &Features,
        data: &Dataset<impl Graph>,
        examples: impl Iterator<Item = usize> + Clone,
        counter: &mut [u32],
    ) -> Self {
        // Counting sort by row.
        let (mut total, mut valued) = (0, false);
        let mut rows = Vec::new();
        for_each(features, data, examples.clone(), |row, _, value| {
            if counter[row] == 0 {
                rows.push(row as u32);
            }
            counter[row] += 1;
            total += 1;
            valued |= value != 1.0;
        });
        rows.sort_unstable();
        rows.shrink_to_fit();
        let mut first = Vec::with_capacity(rows.len() + 1);
        let mut next = 0;
        for &row in &rows {
            first.push(next);
            next += std::mem::replace(&mut counter[row as usize], next);
        }
        first.push(next);
        let mut tables = vec![0u32; total];
        let mut values = vec![1.0; if valued { total } else { 0 }];
        for_each(features, data, examples, |row, at, value| {
            let position = counter[row] as usize;
            tables[position] = at;
            if valued {
                values[position] = value;
            }
            counter[row] += 1;
        });
        for &row in &rows {
            counter[row as usize] = 0;
        }
        Occurrences { rows, first, tables, values }
    }

    /// The number of rows that occur.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// How often the row at `position` occurs.
    pub(crate) fn count(&self, position: usize) -> usize {
        (self.first[position + 1] - self.first[position]) as usize
    }

    /// The weights of the row at `position`.
    pub(crate) fn weights(&self, features: &Features, position: usize) -> Range<usize> {
        let (kind, id) = self.row(features, position);
        features.rows[kind].range(id)
    }

    /// The kind of the row at `position`, and its number among those of its kind.
    #[inline]
    fn row(&self, features: &Features, position: usize) -> (usize, u32) {
        features.row(self.rows[position]).expect("the index lists rows that the features have")
    }

    /// The tables in which the row at `position` occurs, and its values there (empty if all are 1).
    #[inline]
    pub(super) fn of(&self, position: usize) -> (&[u32], &[f64]) {
        let range = self.first[position] as usize..self.first[position + 1] as usize;
        let values = if self.values.is_empty() { &[] } else { &self.values[range.clone()] };
        (&self.tables[range], values)
    }

    /// gradient ← gradient + Σ over the occurrences of each row of value × its entries of dψ. `gradient` starts at
    /// weight `first`.
    pub(crate) fn add_rows<R: Real>(
        &self,
        positions: Range<usize>,
        features: &Features,
        dpsi: &[R],
        gradient: &mut [f64],
        first: usize,
    ) {
        let mut sum = vec![0.0; widest(features)];
        for position in positions {
            let range = self.weights(features, position);
            self.add_row(
                position,
                features,
                dpsi,
                &mut gradient[range.start - first..range.end - first],
                &mut sum,
            );
        }
    }

    /// The same for the row at `position` alone; `sum` is scratch memory for a table.
    #[inline]
    fn add_row<R: Real>(
        &self,
        position: usize,
        features: &Features,
        dpsi: &[R],
        gradient: &mut [f64],
        sum: &mut [f64],
    ) {
        let (kind, id) = self.row(features, position);
        let rows = &features.rows[kind];
        let range = rows.range(id);
        let (tables, values) = self.of(position);
        let value = |k: usize| values.get(k).copied().unwrap_or(1.0);
        let wide = rows.lines == 1 && range.len() * simd::LANES >= rows.stride();
        if !rows.basis.is_empty() {
            let sum = &mut sum[..rows.size()];
            sum.fill(0.0);
            for (k, &table) in tables.iter().enumerate() {
                for (sum, &x) in sum.iter_mut().zip(&dpsi[table as usize..]) {
                    *sum += value(k) * x.into();
                }
            }
            rows.scatter_at(sum, range, 1.0, gradient);
        } else if wide && values.is_empty() {
            // Adds whole tables by vectors, then picks the labels that have a weight.
            let sum = &mut sum[..rows.size()];
            R::sum_tables(dpsi, tables, sum);
            rows.scatter_at(sum, range, 1.0, gradient);
        } else {
            for (g, entry) in gradient.iter_mut().zip(rows.entries_of(id)) {
                let mut sum = 0.0;
                for (k, &table) in tables.iter().enumerate() {
                    sum += value(k) * dpsi[table as usize + entry].into();
                }
                *g += sum;
            }
        }
    }

    /// The position behind the last row of a kind.
    pub(crate) fn end_of(&self, features: &Features, kind: usize) -> usize {
        let end = features.first_row(kind + 1) as u32;
        self.rows.partition_point(|row| *row < end)
    }

    /// Calls `visit` with every row of a kind, which are at these positions: its number, its weights, and the tables in which it occurs with
    /// its values there (none if all are 1).
    pub(crate) fn for_each_row(
        &self,
        features: &Features,
        kind: usize,
        positions: Range<usize>,
        mut visit: impl FnMut(u32, Range<usize>, &[u32], &[f64]),
    ) {
        let (rows, first) = (&features.rows[kind], features.first_row(kind) as u32);
        for position in positions {
            let (row, (tables, values)) = (self.rows[position], self.of(position));
            visit(row, rows.range(row - first), tables, values);
        }
    }

    /// ψ ← ψ + the weights, at their occurrences, of every row that has all entries: the transpose of [`Occurrences::pack`].
    pub(crate) fn spread<R: Real>(
        &self,
        features: &Features,
        theta: &[f64],
        table: &mut [f64],
        psi: &mut [R],
    ) {
        let mut start = 0;
        for (kind, rows) in features.rows.iter().enumerate() {
            let end = self.end_of(features, kind);
            let first = features.first_row(kind) as u32;
            for position in if rows.complete() { start..end } else { end..end } {
                let range = rows.range(self.rows[position] - first);
                let (tables, values) = self.of(position);
                if rows.lines == 1 && tables.len() > 1 && rows.basis.is_empty() {
                    let table = &mut table[..rows.size()];
                    table.fill(0.0);
                    rows.spread(theta, range, table);
                    R::add_to_tables(table, tables, values, psi);
                } else {
                    for (k, &at) in tables.iter().enumerate() {
                        let value = values.get(k).copied().unwrap_or(1.0);
                        rows.gather_at(theta, range.clone(), value, &mut psi[at as usize..]);
                    }
                }
            }
            start = end;
        }
    }

    /// Appends the rows of the gradient at these positions to `out`; see [`Occurrences::add_rows`].
    pub(crate) fn pack(
        &self,
        features: &Features,
        positions: Range<usize>,
        dpsi: &[f64],
        table: &mut [f64],
        out: &mut Vec<f64>,
    ) {
        for position in positions {
            let place = out.len();
            out.resize(place + self.weights(features, position).len(), 0.0);
            self.add_row(position, features, dpsi, &mut out[place..], table);
        }
    }
}

/// Calls `each` with every occurrence in some examples: its row, the offset of its table and its value.
#[inline(always)]
fn for_each(
    features: &Features,
    data: &Dataset<impl Graph>,
    examples: impl Iterator<Item = usize>,
    mut each: impl FnMut(usize, u32, f64),
) {
    let mut offset = 0;
    for example in examples {
        let graph = data.graph(example);
        for (f, table) in data.tables(example).enumerate() {
            let at = (offset + graph.own_offset(f)) as u32;
            let first = features.first_row(graph.own_kind(f));
            match data.observations(table) {
                (observations, []) => observations.iter().for_each(|&id| each(first + id as usize, at, 1.0)),
                (observations, values) => {
                    observations
                        .iter()
                        .zip(values)
                        .for_each(|(&id, &value)| each(first + id as usize, at, value));
                }
            }
        }
        offset += graph.own_len();
    }
}

/// The size of the largest table.
pub(crate) fn widest(features: &Features) -> usize {
    features.rows.iter().map(|rows| rows.size()).max().unwrap_or(0)
}
