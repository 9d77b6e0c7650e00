//! The rows of observations: the weights of one observation and the table that they are added to.

use crate::data::bytes::Numbers;
use crate::data::dataset::Dataset;
use crate::graph::{Graph, TableRef};
use crate::math::{Real, simd};
use std::ops::Range;

/// The rows of the observations of one kind of table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Position of the first row in θ.
    pub base: usize,
    /// Number of rows.
    pub len: usize,
    /// Number of rows at the beginning whose values are a matrix.
    pub(crate) dense: usize,
    /// Lines of the table. A line takes `stride` entries.
    pub(crate) lines: usize,
    /// Columns of the table that are in use.
    pub(crate) columns: usize,
    /// Start of each row, counted from `base`, and the end of the last; empty if every row has all entries.
    pub start: Numbers<u32>,
    /// The table entry of each weight; empty if every row has all entries.
    pub entry: Numbers<u32>,
    /// Functions `c_k(y)` over the entries of the table, padding (0) included. Weight k of a row adds θ_k·c_k to the
    /// table, as in Potts and Ising tables. Empty if each weight has an entry of its own.
    pub(crate) basis: Vec<Vec<f64>>,
}

impl Rows {
    /// Rows of which each has all entries.
    pub(crate) fn all(base: usize, len: usize, lines: usize, columns: usize) -> Self {
        let (start, entry, basis) = Default::default();
        Rows { base, len, dense: 0, lines, columns, start, entry, basis }
    }

    /// Whether every row has all entries.
    #[inline]
    pub fn complete(&self) -> bool {
        self.start.is_empty()
    }

    /// Whether every row has one weight for each column of a single line.
    #[inline]
    pub(crate) fn is_single_line(&self) -> bool {
        self.complete() && self.lines == 1 && self.basis.is_empty()
    }

    /// Whether every row can be read in place as a whole table. θ then needs a little room behind it for the padding.
    #[inline]
    pub(crate) fn has_tables_in(&self, theta: &[f64]) -> bool {
        self.is_single_line() && self.base + self.weights() + self.stride() <= theta.len() + self.columns
    }

    /// Number of weights in each row, if every row has all entries.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        if self.basis.is_empty() { self.lines * self.columns } else { self.basis.len() }
    }

    /// Number of weights in all rows.
    pub fn weights(&self) -> usize {
        if self.complete() { self.len * self.width() } else { self.entry.len() }
    }

    /// Length of the table, padding included.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.lines * self.stride()
    }

    /// Distance between the lines of the table.
    #[inline]
    pub fn stride(&self) -> usize {
        simd::padded(self.columns)
    }

    /// The weights of a row, as a range of θ.
    #[inline]
    pub fn range(&self, row: u32) -> Range<usize> {
        let row = row as usize;
        if self.complete() {
            let width = self.width();
            self.base + row * width..self.base + (row + 1) * width
        } else {
            let start = &*self.start;
            self.base + start[row] as usize..self.base + start[row + 1] as usize
        }
    }

    /// The table entries of a row that does not have all entries.
    #[inline]
    fn entries(&self, row: u32) -> &[u32] {
        &self.entry[self.start[row as usize] as usize..self.start[row as usize + 1] as usize]
    }

    /// The table entries of the weights at `range`, if rows do not have all entries.
    #[inline]
    fn entries_at(&self, range: Range<usize>) -> &[u32] {
        &self.entry[range.start - self.base..range.end - self.base]
    }

    /// The table entries of a row, in the order of its weights. Rows with a basis have none.
    pub fn entries_of(&self, row: u32) -> impl Iterator<Item = usize> + '_ {
        let (listed, width) = if self.complete() {
            (&[][..], if self.basis.is_empty() { self.width() } else { 0 })
        } else {
            (self.entries(row), 0)
        };
        listed
            .iter()
            .map(|&e| e as usize)
            .chain((0..width).map(|k| k / self.columns * self.stride() + k % self.columns))
    }

    /// The table entry of weight `k` of a row; `None` if rows have a basis.
    pub(crate) fn entry_at(&self, row: u32, k: usize) -> Option<usize> {
        match (self.basis.is_empty(), self.complete()) {
            (false, _) => None,
            (true, true) => Some(k / self.columns * self.stride() + k % self.columns),
            (true, false) => Some(self.entries(row)[k] as usize),
        }
    }

    /// table ← table + value · row.
    #[inline]
    pub(crate) fn gather<R: Real>(&self, theta: &[f64], row: u32, value: f64, table: &mut [R]) {
        self.gather_at(theta, self.range(row), value, table);
    }

    /// table ← table + value · the row whose weights are at `range` of θ.
    #[inline]
    pub(crate) fn gather_at<R: Real>(&self, theta: &[f64], range: Range<usize>, value: f64, table: &mut [R]) {
        let weights = &theta[range.clone()];
        if !self.basis.is_empty() {
            self.combine(weights, value, table);
        } else if self.complete() {
            for line in 0..self.lines {
                let weights = &weights[line * self.columns..][..self.columns];
                for (x, w) in table[line * self.stride()..].iter_mut().zip(weights) {
                    *x += R::of(value * w);
                }
            }
        } else {
            for (&entry, w) in self.entries_at(range).iter().zip(weights) {
                table[entry as usize] += R::of(value * w);
            }
        }
    }

    /// table ← table + the sum of these rows.
    #[inline]
    pub(crate) fn gather_all(&self, theta: &[f64], rows: &[u32], table: &mut [f64]) {
        if self.complete() || !self.basis.is_empty() {
            return rows.iter().for_each(|&row| self.gather(theta, row, 1.0, table));
        }
        let (theta, start, entry) = (&theta[self.base..], &*self.start, &*self.entry);
        for &row in rows {
            let range = start[row as usize] as usize..start[row as usize + 1] as usize;
            for (&entry, w) in entry[range.clone()].iter().zip(&theta[range]) {
                table[entry as usize] += w;
            }
        }
    }

    /// Reads the beginning of rows that will be used. None of the reads waits for another one, as using them would.
    pub(crate) fn expect(&self, theta: &[f64], rows: impl Iterator<Item = u32> + Clone) {
        if self.complete() || !self.basis.is_empty() {
            return;
        }
        let (starts, entry) = (&*self.start, &*self.entry);
        let start = |row: u32| starts[row as usize];
        std::hint::black_box(rows.clone().fold(0, |sum: u32, row| sum.wrapping_add(start(row))));
        let theta = &theta[self.base..];
        let (mut sum, mut bits) = (0u32, 0u64);
        for first in rows.map(|row| start(row) as usize) {
            sum = sum.wrapping_add(entry.get(first).copied().unwrap_or(0));
            bits ^= theta.get(first).map_or(0, |w| w.to_bits());
        }
        std::hint::black_box((sum, bits));
    }

    /// table ← the row whose weights are at `range` of θ. Entries that the row lacks keep their values.
    #[inline]
    pub(crate) fn spread(&self, theta: &[f64], range: Range<usize>, table: &mut [f64]) {
        if !self.basis.is_empty() {
            table[..self.size()].fill(0.0);
            self.combine(&theta[range], 1.0, table);
        } else if self.complete() {
            for (line, weights) in theta[range].chunks_exact(self.columns).enumerate() {
                table[line * self.stride()..][..self.columns].copy_from_slice(weights);
            }
        } else {
            for (&entry, w) in self.entries_at(range.clone()).iter().zip(&theta[range]) {
                table[entry as usize] = *w;
            }
        }
    }

    /// gradient ← gradient + value · the table's contribution to the weights at `range`. This is the transpose of
    /// [`Rows::gather_at`].
    #[inline]
    pub(crate) fn scatter_at(&self, table: &[f64], range: Range<usize>, value: f64, gradient: &mut [f64]) {
        if !self.basis.is_empty() {
            for (g, c) in gradient.iter_mut().zip(&self.basis) {
                *g += value * project(c, table);
            }
        } else if self.complete() {
            for line in 0..self.lines {
                let gradient = &mut gradient[line * self.columns..][..self.columns];
                for (g, x) in gradient.iter_mut().zip(&table[line * self.stride()..]) {
                    *g += value * x;
                }
            }
        } else {
            for (g, &entry) in gradient.iter_mut().zip(self.entries_at(range)) {
                *g += value * table[entry as usize];
            }
        }
    }

    /// table ← table + value · Σ_k θ_k·c_k.
    pub(super) fn combine<R: Real>(&self, weights: &[impl Real], value: f64, table: &mut [R]) {
        for (c, w) in self.basis.iter().zip(weights) {
            for (x, c) in table.iter_mut().zip(c) {
                *x += R::of(value * (*w).into() * c);
            }
        }
    }

    /// out_k ← ⟨c_k, table⟩ for every basis function.
    pub(super) fn project_to<R: Real>(&self, table: &[R], out: &mut [R]) {
        out.iter_mut().zip(&self.basis).for_each(|(out, c)| *out = R::of(project(c, table)));
    }

    /// Appends the table entries of the row whose weights are at `range`, in the order of the weights.
    #[inline]
    pub(crate) fn pick(&self, table: &[f64], range: Range<usize>, out: &mut Vec<f64>) {
        if !self.basis.is_empty() {
            out.extend(self.basis.iter().map(|c| project(c, table)));
        } else if self.complete() {
            for line in 0..self.lines {
                out.extend_from_slice(&table[line * self.stride()..][..self.columns]);
            }
        } else {
            out.extend(self.entries_at(range).iter().map(|&entry| table[entry as usize]));
        }
    }
}

/// The inner product ⟨c, table⟩.
fn project(c: &[f64], table: &[impl Real]) -> f64 {
    c.iter().zip(table).map(|(c, x)| c * (*x).into()).sum()
}

/// Keeps only those entries of a kind's rows that occur with the gold labels of `data`.
pub(super) fn keep_seen<G: Graph>(rows: &mut Rows, data: &Dataset<G>, kind: usize) {
    let words = rows.size().div_ceil(64);
    match rows.len.saturating_mul(2 * words) <= data.occurrences() {
        true => keep_bits(rows, words, data, kind),
        false => keep_sorted(rows, data, kind),
    }
    rows.entry.to_mut().shrink_to_fit();
}

/// Calls `each` with every observation of a kind and the entry of its table that belongs to the gold labels.
fn for_each_seen<G: Graph>(data: &Dataset<G>, kind: usize, mut each: impl FnMut(u32, u32)) {
    let mut entry = Vec::new();
    for example in 0..data.len() {
        let (graph, gold) = (data.graph(example), data.gold(example));
        entry.clear();
        entry.resize(graph.own_len(), u32::MAX);
        graph.for_each_entry(gold, |table, seen| {
            if let TableRef::Own(offset) = table {
                entry[offset] = seen as u32;
            }
        });
        for (f, table) in data.tables(example).enumerate().filter(|(f, _)| graph.own_kind(*f) == kind) {
            // A table of a segment that is none has no entry.
            let entry = entry[graph.own_offset(f)];
            if entry != u32::MAX {
                data.observations(table).0.iter().for_each(|&id| each(id, entry));
            }
        }
    }
}

/// Has a bit for each entry of each row, which takes less memory than sorting where observations are frequent.
fn keep_bits<G: Graph>(rows: &mut Rows, words: usize, data: &Dataset<G>, kind: usize) {
    let mut seen = vec![0u64; rows.len * words];
    // The rows of a matrix have all entries.
    for row in seen.chunks_exact_mut(words).take(rows.dense) {
        rows.entries_of(0).for_each(|entry| row[entry / 64] |= 1 << (entry % 64));
    }
    for_each_seen(data, kind, |id, entry| {
        seen[id as usize * words + entry as usize / 64] |= 1 << (entry % 64);
    });
    let mut listed: Vec<u32> = Vec::new();
    listed.reserve_exact(seen.iter().map(|bits| bits.count_ones() as usize).sum());
    let mut start = Vec::with_capacity(rows.len + 1);
    start.push(0);
    for row in seen.chunks_exact(words) {
        for (word, &bits) in row.iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                listed.push(word as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        start.push(listed.len() as u32);
    }
    (rows.start, rows.entry) = (start.into(), listed.into());
}

/// Sorts the occurrences by observation.
fn keep_sorted<G: Graph>(rows: &mut Rows, data: &Dataset<G>, kind: usize) {
    // Count, then fill.
    let mut next = vec![0usize; rows.len + 1];
    for_each_seen(data, kind, |id, _| next[id as usize + 1] += 1);
    for id in 0..rows.len {
        next[id + 1] += next[id];
    }
    let mut entries = vec![0u32; next[rows.len]];
    for_each_seen(data, kind, |id, entry| {
        entries[next[id as usize]] = entry;
        next[id as usize] += 1;
    });
    // After filling, next[id] is the end of id's occurrences.
    let all: Vec<u32> = rows.entries_of(0).map(|entry| entry as u32).collect();
    let (mut start, mut listed) = (vec![0], Vec::new());
    let mut last_seen = vec![u32::MAX; rows.size()];
    let mut begin = 0;
    for id in 0..rows.len {
        let from = listed.len();
        if id < rows.dense {
            listed.extend(all.iter());
        }
        for &entry in &entries[begin..next[id]] {
            if last_seen[entry as usize] != id as u32 {
                last_seen[entry as usize] = id as u32;
                listed.push(entry);
            }
        }
        begin = next[id];
        listed[from..].sort_unstable();
        start.push(listed.len() as u32);
    }
    (rows.start, rows.entry) = (start.into(), listed.into());
}
