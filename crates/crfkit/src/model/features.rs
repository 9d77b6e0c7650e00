//! ψ = A θ and its transpose: which weight is added to which entry of which table.
//!
//! θ is one vector: the rows of node observations, the rows of pair observations, then the shared tables. A row holds the
//! weights of one observation, one for each entry of the table (label, or label pair) that it may vote for.

use crate::data::dataset::Dataset;
use crate::graph::{BEGIN, Chain, END, Graph, NODES, PAIR, PAIRS, Shared, SharedSum, Sparse, Table};
use crate::math::{Scalar, simd};
use std::ops::Range;

/// Which (observation, label) combinations get a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Those seen in training, as in CRFsuite.
    Observed,
    /// All labels of every observation, as in CRF++.
    All,
}

/// The rows of the observations of one kind of table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Where the first row starts in θ.
    pub base: usize,
    /// Number of rows.
    pub len: usize,
    /// Shape of the table: lines × columns, a line every `stride` entries.
    pub lines: usize,
    /// Columns of the table in use.
    pub columns: usize,
    /// Where each row starts, counted from `base`, and the end; empty where every row has all entries.
    pub start: Vec<u32>,
    /// The table entry of each weight; empty where every row has all entries.
    pub entry: Vec<u32>,
}

impl Rows {
    /// All entries for each of `len` rows.
    pub fn all(base: usize, len: usize, lines: usize, columns: usize) -> Self {
        Rows { base, len, lines, columns, start: Vec::new(), entry: Vec::new() }
    }

    /// Has every row all entries?
    #[inline]
    pub fn complete(&self) -> bool {
        self.start.is_empty()
    }

    /// Number of weights.
    pub fn weights(&self) -> usize {
        if self.complete() { self.len * self.lines * self.columns } else { self.entry.len() }
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
            let width = self.lines * self.columns;
            self.base + row * width..self.base + (row + 1) * width
        } else {
            self.base + self.start[row] as usize..self.base + self.start[row + 1] as usize
        }
    }

    /// The table entries of a row that does not have all.
    #[inline]
    fn entries(&self, row: u32) -> &[u32] {
        &self.entry[self.start[row as usize] as usize..self.start[row as usize + 1] as usize]
    }

    /// Table entries of a row, in the order of its weights.
    pub fn entries_of(&self, row: u32) -> impl Iterator<Item = usize> + '_ {
        let (listed, width) =
            if self.complete() { (&[][..], self.lines * self.columns) } else { (self.entries(row), 0) };
        listed
            .iter()
            .map(|&e| e as usize)
            .chain((0..width).map(|k| k / self.columns * self.stride() + k % self.columns))
    }

    /// table ← table + value · row.
    #[inline]
    pub fn gather(&self, theta: &[f64], row: u32, value: f64, table: &mut [f64]) {
        let weights = &theta[self.range(row)];
        if self.complete() {
            for (line, weights) in weights.chunks_exact(self.columns).enumerate() {
                for (x, w) in table[line * self.stride()..].iter_mut().zip(weights) {
                    *x += value * w;
                }
            }
        } else {
            for (&entry, w) in self.entries(row).iter().zip(weights) {
                table[entry as usize] += value * w;
            }
        }
    }

    /// table ← the row whose weights are at `range` of θ; entries that it lacks stay.
    #[inline]
    pub fn spread(&self, theta: &[f64], range: Range<usize>, table: &mut [f64]) {
        if self.complete() {
            for (line, weights) in theta[range].chunks_exact(self.columns).enumerate() {
                table[line * self.stride()..][..self.columns].copy_from_slice(weights);
            }
        } else {
            let entries = &self.entry[range.start - self.base..range.end - self.base];
            for (&entry, w) in entries.iter().zip(&theta[range]) {
                table[entry as usize] = *w;
            }
        }
    }

    /// Appends the entries of a table that belong to the row whose weights are at `range`, in their order.
    #[inline]
    pub fn pick(&self, table: &[f64], range: Range<usize>, out: &mut Vec<f64>) {
        if self.complete() {
            for line in 0..self.lines {
                out.extend_from_slice(&table[line * self.stride()..][..self.columns]);
            }
        } else {
            let entries = &self.entry[range.start - self.base..range.end - self.base];
            out.extend(entries.iter().map(|&entry| table[entry as usize]));
        }
    }
}

/// The weights of one shared table: weight `base + k` stands at `entry[k]`; entries that are not listed are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWeights {
    /// Where they start in θ.
    pub base: usize,
    /// The entry of each.
    pub entry: Vec<u32>,
}

/// Below this many labels a dense product is as fast as a sparse one.
const SPARSE_LABELS: usize = 64;
/// A sparse product pays if at most one pair in this many has a weight.
const SPARSE_SHARE: usize = 6;

/// The map from θ to the tables of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// Number of labels.
    pub labels: usize,
    /// Rows by kind of table: [`NODES`], [`PAIRS`].
    pub rows: [Rows; 2],
    /// Weights of the shared tables: [`PAIR`], [`BEGIN`], [`END`].
    pub tables: [TableWeights; 3],
}

impl Features {
    /// The features of a corpus. `observations` are the numbers of node and pair observations; `label_bigram` and `boundaries`
    /// say whether label pairs, and first and last labels, have weights.
    pub fn new(
        data: &Dataset<Chain>,
        labels: usize,
        observations: [usize; 2],
        keep: Keep,
        label_bigram: bool,
        boundaries: bool,
    ) -> Self {
        let rows = match keep {
            Keep::All => {
                let nodes = Rows::all(0, observations[NODES], 1, labels);
                let pairs = Rows::all(nodes.weights(), observations[PAIRS], labels, labels);
                [nodes, pairs]
            }
            Keep::Observed => {
                let nodes = seen(data, labels, NODES, observations[NODES], 0);
                let pairs = seen(data, labels, PAIRS, observations[PAIRS], nodes.weights());
                [nodes, pairs]
            }
        };
        let mut base = rows[PAIRS].base + rows[PAIRS].weights();
        let stride = simd::padded(labels);
        let tables = [PAIR, BEGIN, END].map(|id| {
            let wanted = if id == PAIR { label_bigram } else { boundaries };
            let lines = if id == PAIR { labels } else { 1 };
            let mut used = vec![wanted && keep == Keep::All; lines * labels];
            if wanted && keep == Keep::Observed {
                for example in 0..data.len() {
                    let gold = data.gold(example);
                    match (id, gold) {
                        (PAIR, _) => {
                            for pair in gold.windows(2) {
                                used[pair[0] as usize * labels + pair[1] as usize] = true;
                            }
                        }
                        (BEGIN, [first, ..]) => used[*first as usize] = true,
                        (END, [.., last]) => used[*last as usize] = true,
                        _ => {}
                    }
                }
            }
            let entry: Vec<u32> = (0..used.len())
                .filter(|&k| used[k])
                .map(|k| (k / labels * stride + k % labels) as u32)
                .collect();
            let table = TableWeights { base, entry };
            base += table.entry.len();
            table
        });
        Features { labels, rows, tables }
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        let last = &self.tables[END];
        last.base + last.entry.len()
    }

    /// Weights from here on belong to label pairs (pair observations and shared tables): a σ of their own applies.
    pub fn first_pair_weight(&self) -> usize {
        self.rows[PAIRS].base
    }

    /// Shared tables of log-potential 0. The table of label pairs knows its pairs where they are few among many.
    pub fn empty_tables<S: Scalar>(&self) -> Shared<S> {
        let mut tables: Shared<S> = [PAIR, BEGIN, END]
            .map(|id| Table::new(if id == PAIR { self.labels } else { 1 }, self.labels))
            .into();
        let pairs = &self.tables[PAIR].entry;
        if self.labels >= SPARSE_LABELS && pairs.len() * SPARSE_SHARE <= self.labels * self.labels {
            let stride = tables[PAIR].stride;
            tables[PAIR].sparse = Some(Sparse::new(pairs, stride));
            tables[PAIR].update();
        }
        tables
    }

    /// Sets the shared tables to θ; `theta` has one vector a plane.
    pub fn fill_tables<S: Scalar>(&self, theta: &[&[f64]], shared: &mut [Table<S>]) {
        for (table, weights) in shared.iter_mut().zip(&self.tables) {
            for (plane, theta) in theta.iter().enumerate() {
                let log = table.log.plane_mut(plane);
                for (&entry, w) in weights.entry.iter().zip(&theta[weights.base..]) {
                    log[entry as usize] = *w;
                }
            }
            table.update();
        }
    }

    /// gradient ← gradient + the (finished) sums of the shared tables; `gradient` starts at weight `first`.
    pub fn scatter_tables<S: Scalar>(
        &self,
        sums: &SharedSum<S>,
        plane: usize,
        first: usize,
        gradient: &mut [f64],
    ) {
        for (sum, weights) in sums.0.iter().zip(&self.tables) {
            let direct = sum.direct.plane(plane);
            for (&entry, g) in weights.entry.iter().zip(&mut gradient[weights.base - first..]) {
                *g += direct[entry as usize];
            }
        }
    }
}

/// Rows with the entries that occur with the gold labels of `data`.
fn seen(data: &Dataset<Chain>, labels: usize, kind: usize, len: usize, base: usize) -> Rows {
    let stride = simd::padded(labels);
    let lines = if kind == NODES { 1 } else { labels };
    // Sort the occurrences by observation: count, then fill.
    let visit = |mut each: Box<dyn FnMut(u32, u32) + '_>| {
        for example in 0..data.len() {
            let (chain, gold) = (data.graph(example), data.gold(example));
            for (f, table) in data.tables(example).enumerate().filter(|(f, _)| chain.own_kind(*f) == kind) {
                let entry = match kind {
                    NODES => gold[f],
                    _ => {
                        let t = f - chain.len + 1;
                        gold[t - 1] * stride as u32 + gold[t]
                    }
                };
                for &id in data.observations(table).0 {
                    each(id, entry);
                }
            }
        }
    };
    let mut next = vec![0usize; len + 1];
    visit(Box::new(|id, _| next[id as usize + 1] += 1));
    for id in 0..len {
        next[id + 1] += next[id];
    }
    let mut entries = vec![0u32; next[len]];
    visit(Box::new(|id, entry| {
        entries[next[id as usize]] = entry;
        next[id as usize] += 1;
    }));
    // After filling, next[id] is the end of id's occurrences.
    let mut rows = Rows { base, len, lines, columns: labels, start: vec![0], entry: Vec::new() };
    let mut last_seen = vec![u32::MAX; lines * stride];
    let mut begin = 0;
    for id in 0..len {
        let from = rows.entry.len();
        for &entry in &entries[begin..next[id]] {
            if last_seen[entry as usize] != id as u32 {
                last_seen[entry as usize] = id as u32;
                rows.entry.push(entry);
            }
        }
        begin = next[id];
        rows.entry[from..].sort_unstable();
        rows.start.push(rows.entry.len() as u32);
    }
    rows.entry.shrink_to_fit();
    rows
}
