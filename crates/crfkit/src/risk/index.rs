//! The occurrences of a data set, sorted by observation within each block.

use super::potentials::dense_rows;
use crate::data::dataset::Dataset;
use crate::graph::Graph;
use crate::math::simd;
use crate::model::Features;
use std::ops::Range;

/// The number of tasks into which the examples of a block are divided.
pub(super) const SLOTS: usize = 8;
/// The number of tasks into which the rows of a block are divided.
const PARTS: usize = 16;
/// The length of dψ in a block: 4 MB, which stay in the cache between the two halves of a block.
const BLOCK: usize = 1 << 19;

/// All blocks of a data set.
pub(super) struct Index {
    /// The blocks, in the order of the examples.
    pub blocks: Vec<Block>,
    /// Length of the largest block's dψ.
    pub buffer: usize,
    /// Node rows with numbers below this are spread out.
    pub dense_rows: usize,
}

/// Some consecutive examples.
pub(super) struct Block {
    /// Length of their dψ.
    pub own_len: usize,
    /// The examples of each slot.
    pub slots: Vec<Range<usize>>,
    /// The rows of each part.
    pub parts: Vec<Part>,
    /// The rows that occur, in ascending order; rows of all kinds are numbered consecutively.
    rows: Vec<u32>,
    /// The first occurrence of each row, and the end.
    first: Vec<u32>,
    /// For each occurrence, the offset of its table in dψ.
    tables: Vec<u32>,
    /// The value of each occurrence; empty if all are 1.
    values: Vec<f64>,
}

/// Some of the rows of a block.
pub(super) struct Part {
    /// Positions in the block's list of rows.
    pub rows: Range<usize>,
    /// Weights up to this index of θ belong to this part or an earlier one.
    pub end: usize,
}

impl Index {
    pub(super) fn new(features: &Features, data: &Dataset<impl Graph>) -> Self {
        let mut blocks = Vec::new();
        let mut begin = 0;
        let mut counter = vec![0u32; features.first_row(features.rows.len())];
        while begin < data.len() {
            let (mut end, mut own_len) = (begin, 0);
            while end < data.len() && (end == begin || own_len + data.graph(end).own_len() <= BLOCK) {
                own_len += data.graph(end).own_len();
                end += 1;
            }
            blocks.push(Block::new(features, data, begin..end, own_len, &mut counter));
            begin = end;
        }
        let buffer = blocks.iter().map(|b| b.own_len).max().unwrap_or(0);
        Index { blocks, buffer, dense_rows: dense_rows(features, data) }
    }
}

impl Block {
    /// `counter` holds a zero for each row, and does so again when this returns.
    fn new(
        features: &Features,
        data: &Dataset<impl Graph>,
        examples: Range<usize>,
        own_len: usize,
        counter: &mut [u32],
    ) -> Self {
        let visit = |each: &mut dyn FnMut(usize, u32, f64)| {
            let mut offset = 0;
            for example in examples.clone() {
                let graph = data.graph(example);
                for (f, table) in data.tables(example).enumerate() {
                    let at = (offset + graph.own_offset(f)) as u32;
                    let first = features.first_row(graph.own_kind(f));
                    let (observations, values) = data.observations(table);
                    for (k, &id) in observations.iter().enumerate() {
                        each(first + id as usize, at, values.get(k).copied().unwrap_or(1.0));
                    }
                }
                offset += graph.own_len();
            }
        };
        // Counting sort of the occurrences by row.
        let (mut total, mut valued) = (0, false);
        let mut rows = Vec::new();
        visit(&mut |row, _, value| {
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
        visit(&mut |row, at, value| {
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
        let mut block = Block { own_len, slots: Vec::new(), parts: Vec::new(), rows, first, tables, values };
        block.slots = cut(examples, SLOTS, own_len, |e| data.graph(e).own_len());
        let work = |r: usize| (block.first[r + 1] - block.first[r]) as usize + 4;
        let all: usize = (0..block.rows.len()).map(work).sum();
        let parts = cut(0..block.rows.len(), PARTS, all, work);
        block.parts = parts
            .into_iter()
            .filter(|rows| !rows.is_empty())
            .map(|rows| Part { end: block.weights(features, rows.end - 1).end, rows })
            .collect();
        block
    }

    /// The weights of the row at `position`.
    fn weights(&self, features: &Features, position: usize) -> Range<usize> {
        let (kind, id) = self.row(features, position);
        features.rows[kind].range(id)
    }

    #[inline]
    fn row(&self, features: &Features, position: usize) -> (usize, u32) {
        features.row(self.rows[position]).expect("the index lists rows that the features have")
    }

    /// gradient ← gradient + Σ over the occurrences of each row of value × its entries of dψ. `gradient` starts at
    /// weight `first`.
    pub(super) fn add_rows(
        &self,
        positions: Range<usize>,
        features: &Features,
        dpsi: &[f64],
        gradient: &mut [f64],
        first: usize,
    ) {
        let widest = features.rows.iter().map(|rows| rows.size()).max().unwrap_or(0);
        let mut sum = vec![0.0; widest];
        for position in positions {
            let (kind, id) = self.row(features, position);
            let rows = &features.rows[kind];
            let range = rows.range(id);
            let gradient = &mut gradient[range.start - first..range.end - first];
            let occurrences = self.first[position] as usize..self.first[position + 1] as usize;
            let tables = &self.tables[occurrences.clone()];
            let values = if self.values.is_empty() { &[] } else { &self.values[occurrences] };
            let value = |k: usize| values.get(k).copied().unwrap_or(1.0);
            let wide = rows.lines == 1 && range.len() * simd::LANES >= rows.stride();
            if !rows.basis.is_empty() {
                let sum = &mut sum[..rows.size()];
                sum.fill(0.0);
                for (k, &table) in tables.iter().enumerate() {
                    for (sum, x) in sum.iter_mut().zip(&dpsi[table as usize..]) {
                        *sum += value(k) * x;
                    }
                }
                rows.scatter_at(sum, range, 1.0, gradient);
            } else if wide && values.is_empty() {
                // Adds whole tables by vectors, then picks the labels that have a weight.
                let sum = &mut sum[..rows.size()];
                simd::sum_tables(dpsi, tables, sum);
                rows.scatter_at(sum, range, 1.0, gradient);
            } else {
                for (g, entry) in gradient.iter_mut().zip(rows.entries_of(id)) {
                    let mut sum = 0.0;
                    for (k, &table) in tables.iter().enumerate() {
                        sum += value(k) * dpsi[table as usize + entry];
                    }
                    *g += sum;
                }
            }
        }
    }
}

/// Divides `items` into at most `pieces` consecutive ranges of about equal `weight`.
fn cut(
    items: Range<usize>,
    pieces: usize,
    total: usize,
    weight: impl Fn(usize) -> usize,
) -> Vec<Range<usize>> {
    let mut cuts = Vec::with_capacity(pieces);
    let (mut begin, mut sum) = (items.start, 0);
    for item in items.clone() {
        sum += weight(item);
        if sum * pieces >= total * (cuts.len() + 1) && cuts.len() + 1 < pieces {
            cuts.push(begin..item + 1);
            begin = item + 1;
        }
    }
    cuts.push(begin..items.end);
    cuts
}
