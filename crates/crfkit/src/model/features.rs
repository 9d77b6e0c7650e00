//! ψ = A θ and its transpose: which weight is added to which entry of which table.
//!
//! θ is one vector. The rows of the observations come first, kind by kind (on a chain: node observations, then pair
//! observations), and then the shared tables. A row holds the weights of one observation. It has one weight for each
//! entry of the table (label, or label pair) that the observation may vote for; or, if the table is a combination of
//! basis functions, one for each function.

use super::rows::{Rows, keep_seen};
use crate::data::dataset::Dataset;
use crate::graph::{
    BEGIN, Chain, END, Graph, LabelRules, Lattice, NODES, PAIR, PAIRS, Shared, SharedSum, Sparse, States,
    TRIPLE, Table, TableRef,
};
use crate::math::{Scalar, simd};
use crate::{Error, Result};
use std::sync::Arc;

/// Which (observation, label) pairs get a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Keep {
    /// The pairs seen in training, as in CRFsuite.
    Observed,
    /// Every observation with all labels, as in CRF++.
    All,
}

/// Which pairs get a weight: those of observations and labels, and those of labels alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepRules {
    /// The choice for (observation, label) pairs.
    pub observations: Keep,
    /// The choice for shared tables: transitions, first and last labels.
    #[doc(hidden)]
    pub tables: Keep,
}

impl From<Keep> for KeepRules {
    fn from(keep: Keep) -> Self {
        KeepRules { observations: keep, tables: keep }
    }
}

/// The weights of one shared table. Weight `base + k` is at `entry[k]`; entries that are not listed are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWeights {
    /// Position of the first weight in θ.
    pub base: usize,
    /// Lines of the table. A line takes a padded number of columns.
    pub(crate) lines: usize,
    /// Columns of the table that are in use.
    pub(crate) columns: usize,
    /// The table entry of each weight.
    pub entry: Vec<u32>,
}

/// Shape and features of one kind of own table.
#[derive(Clone, Debug, Default)]
pub struct TableKind {
    /// Number of observations, dense ones included.
    pub observations: usize,
    /// Number of dense observations; they come first. Their rows have all entries.
    pub dense: usize,
    /// Lines of the table.
    pub lines: usize,
    /// Columns of the table.
    pub columns: usize,
    /// The basis functions (`Rows::basis`). Rows with a basis are always complete.
    pub basis: Vec<Vec<f64>>,
}

/// Shape of a shared table, and whether it has weights at all.
#[derive(Clone, Copy, Debug)]
pub struct SharedShape {
    /// Lines of the table.
    pub(crate) lines: usize,
    /// Columns of the table.
    pub(crate) columns: usize,
    /// Whether the table has weights. Without weights it stays 0.
    pub(crate) weighted: bool,
}

/// The shapes of all tables of a kind of model.
#[derive(Clone, Debug)]
pub struct TableShapes {
    /// The own tables, kind by kind.
    pub kinds: Vec<TableKind>,
    /// How many kinds are over single variables. They come first; the others are over pairs or more.
    pub node_kinds: usize,
    /// The shared tables.
    pub shared: Vec<SharedShape>,
}

/// With fewer labels than this, a dense product is as fast as a sparse one.
const SPARSE_LABELS: usize = 64;
/// A sparse product pays if at most one pair in this many has a weight.
const SPARSE_SHARE: usize = 6;

/// The map from θ to the tables of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Rows for each kind of own table; on a chain [`NODES`], [`PAIRS`].
    #[doc(hidden)]
    pub rows: Vec<Rows>,
    /// How many kinds are over single variables. They come first; the others are over pairs or more.
    pub(crate) node_kinds: usize,
    /// Weights of the shared tables; on a chain [`crate::graph::PAIR`], [`crate::graph::BEGIN`],
    /// [`crate::graph::END`].
    pub tables: Vec<TableWeights>,
    /// The labellings of chains. What its rules forbid has no weight.
    pub(crate) lattice: Lattice,
    /// The number of the first row of each kind, and the number of all rows.
    first: Vec<usize>,
}

impl TableShapes {
    /// The table shapes of chains.
    pub(crate) fn chain(
        labels: usize,
        observations: [usize; 2],
        label_bigram: bool,
        boundaries: bool,
        lattice: &Lattice,
    ) -> Self {
        let columns = labels;
        let kind = |kind: usize, lines: usize| TableKind {
            observations: observations[kind],
            dense: 0,
            lines,
            columns,
            basis: Vec::new(),
        };
        let boundary = SharedShape { lines: 1, columns, weighted: boundaries };
        let pair = SharedShape { lines: labels, columns, weighted: label_bigram };
        let kinds = vec![kind(NODES, 1), kind(PAIRS, labels)];
        let triple = lattice.triples.then_some(SharedShape {
            lines: labels * labels,
            columns,
            weighted: label_bigram,
        });
        let lengths = lattice.segments.as_ref();
        let lengths =
            lengths.map(|segments| SharedShape { lines: segments.longest + 1, columns, weighted: true });
        let shared = [pair, boundary, boundary].into_iter().chain(triple).chain(lengths).collect();
        TableShapes { kinds, node_kinds: PAIRS, shared }
    }
}

impl Features {
    /// The features of chains. `observations` holds the numbers of node and pair observations, dense ones included. `label_bigram` says
    /// whether label pairs have weights, `boundaries` whether first and last labels have.
    pub fn chain(
        data: &Dataset<Chain>,
        labels: usize,
        observations: [usize; 2],
        keep: impl Into<KeepRules>,
        label_bigram: bool,
        boundaries: bool,
    ) -> Self {
        let mut shapes =
            TableShapes::chain(labels, observations, label_bigram, boundaries, &Lattice::default());
        data.dense().iter().for_each(|dense| shapes.kinds[dense.kind()].dense = dense.width());
        Features::new(data, shapes, keep)
    }

    /// The same features of chains with these labellings. What their rules forbid loses its weight.
    pub(crate) fn within(mut self, lattice: Lattice) -> Self {
        if let Some(rules) = &lattice.rules {
            let mut base = self.first_shared_weight();
            for (id, table) in self.tables.iter_mut().enumerate() {
                let stride = simd::padded(table.columns);
                table.entry.retain(|&entry| {
                    allows(&lattice, rules, id, entry as usize / stride, entry as usize % stride)
                });
                table.base = base;
                base += table.entry.len();
            }
        }
        Features { lattice, ..self }
    }

    /// The features of graphs whose tables have these shapes.
    pub fn new<G: Graph>(data: &Dataset<G>, shapes: TableShapes, keep: impl Into<KeepRules>) -> Self {
        let keep = keep.into();
        let TableShapes { kinds, node_kinds, shared } = shapes;
        let mut base = 0;
        let mut rows = Vec::with_capacity(kinds.len());
        for (number, kind) in kinds.into_iter().enumerate() {
            let mut new = Rows::all(base, kind.observations, kind.lines, kind.columns);
            new.dense = kind.dense;
            if keep.observations == Keep::Observed && kind.basis.is_empty() {
                keep_seen(&mut new, data, number);
            }
            new.basis = kind.basis;
            base += new.weights();
            rows.push(new);
        }
        let mut tables = Vec::with_capacity(shared.len());
        for (id, &SharedShape { lines, columns, weighted }) in shared.iter().enumerate() {
            let stride = simd::padded(columns);
            let mut used = vec![weighted && keep.tables == Keep::All; lines * stride];
            if weighted && keep.tables == Keep::Observed {
                for example in 0..data.len() {
                    data.graph(example).for_each_entry(data.gold(example), |table, entry| {
                        if table == TableRef::Shared(id) {
                            used[entry] = true;
                        }
                    });
                }
            }
            let entry: Vec<u32> =
                (0..used.len()).filter(|&k| used[k] && k % stride < columns).map(|k| k as u32).collect();
            tables.push(TableWeights { base, lines, columns, entry });
            base += tables[id].entry.len();
        }
        Features::of(rows, node_kinds, tables, Lattice::default())
    }

    /// The features of these rows, of which the first `nodes` kinds are over single variables, and shared tables.
    pub(crate) fn of(rows: Vec<Rows>, nodes: usize, tables: Vec<TableWeights>, lattice: Lattice) -> Self {
        let mut first = vec![0usize];
        rows.iter().for_each(|rows| first.push(first[first.len() - 1].saturating_add(rows.len)));
        Features { rows, node_kinds: nodes, tables, lattice, first }
    }

    /// The features of a model file, with the labellings that the file names. It is an error if something that is forbidden has a weight.
    pub(crate) fn restored(self, lattice: Lattice) -> std::result::Result<Self, &'static str> {
        let count =
            |features: &Features| features.tables.iter().map(|table| table.entry.len()).sum::<usize>();
        let weights = count(&self);
        let restored = self.within(lattice);
        match count(&restored) == weights {
            true => Ok(restored),
            false => Err("a weight belongs to labels that may not follow each other"),
        }
    }

    /// Whether the rules allow an entry of a shared table.
    pub(crate) fn permits(&self, table: usize, entry: usize) -> bool {
        let stride = simd::padded(self.tables[table].columns);
        self.lattice
            .rules
            .as_ref()
            .is_none_or(|rules| allows(&self.lattice, rules, table, entry / stride, entry % stride))
    }

    /// Returns an error if there are more examples, rows or listed weights than 32-bit numbers can count.
    pub(crate) fn check_size(&self, examples: usize) -> Result<()> {
        const MOST: usize = u32::MAX as usize;
        let rows = self.rows.iter().fold(0, |sum: usize, rows| sum.saturating_add(rows.len));
        let listed = self.rows.iter().map(|rows| rows.entry.len()).max().unwrap_or(0);
        for (count, what) in [(examples, "examples"), (rows, "observations"), (listed, "weights")] {
            if count > MOST {
                return Err(Error::Setting(format!(
                    "there are {count} {what}, more than the 2³² that can be numbered: train on fewer sequences, or leave out rare \
                     observations by a larger `min_count`"
                )));
            }
        }
        Ok(())
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        let rows = self.rows.last().map_or(0, |rows| rows.base + rows.weights());
        self.tables.last().map_or(rows, |last| last.base + last.entry.len())
    }

    /// The first weight that belongs to label pairs (pair observations and shared tables). A separate σ applies from
    /// here on.
    #[doc(hidden)]
    pub fn first_pair_weight(&self) -> usize {
        self.rows.get(self.node_kinds).map_or(self.first_shared_weight(), |rows| rows.base)
    }

    /// The first weight that belongs to the shared tables.
    pub(crate) fn first_shared_weight(&self) -> usize {
        self.rows.last().map_or(0, |rows| rows.base + rows.weights())
    }

    /// Number of the first row of a kind, if the rows of all kinds are numbered consecutively.
    #[inline]
    pub(crate) fn first_row(&self, kind: usize) -> usize {
        self.first[kind]
    }

    /// Number of rows of all kinds whose values are a matrix.
    #[inline]
    pub(crate) fn dense_rows(&self) -> usize {
        self.rows.iter().map(|rows| rows.dense).sum()
    }

    /// The weights of a row, if every row has one weight for each column of a single line.
    #[inline]
    pub(crate) fn line_width(&self) -> Option<usize> {
        let mut rows = self.rows.iter().filter(|rows| rows.len > 0);
        let width = rows.next().filter(|rows| rows.is_single_line())?.columns;
        rows.all(|rows| rows.is_single_line() && rows.columns == width).then_some(width)
    }

    /// Kind and number within its kind of a row that is numbered across all kinds; `None` past the last row.
    #[inline]
    pub(crate) fn row(&self, number: u32) -> Option<(usize, u32)> {
        let kind = self.first.partition_point(|&first| first <= number as usize) - 1;
        (kind < self.rows.len()).then(|| (kind, number - self.first[kind] as u32))
    }

    /// Shared tables with log-potential 0. A table of label pairs lists its pairs if only a few of many have weights.
    pub fn empty_tables<S: Scalar>(&self) -> Shared<S> {
        let empty = |weights: &TableWeights| {
            let mut table = Table::new(weights.lines, weights.columns);
            let few = weights.entry.len() * SPARSE_SHARE <= weights.lines * weights.columns;
            if few && weights.lines >= SPARSE_LABELS && weights.lines == weights.columns {
                table.sparse = Some(Sparse::new(&weights.entry, table.stride));
                table.update();
            }
            table
        };
        let Lattice { rules, triples, segments } = &self.lattice;
        let plain = if *triples || segments.is_some() { TRIPLE } else { self.tables.len() };
        let mut tables: Shared<S> = self.tables[..plain].iter().map(empty).collect();
        for other in &self.tables[plain..] {
            tables.push(match segments {
                Some(segments) => Table::lengths(segments, other.columns),
                None => Table::triples(&Arc::new(States::new(other.columns, rules.as_deref()))),
            });
        }
        if let Some(rules) = rules {
            rules.impose(&mut tables);
        }
        tables
    }

    /// Sets the shared tables to θ. `theta` has one vector per plane.
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

    /// gradient ← gradient + the (finished) sums of the shared tables. `gradient` starts at weight `first`.
    pub(crate) fn scatter_tables<S: Scalar>(
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

/// Whether the rules allow an entry (line, label) of a shared table of chains.
fn allows(lattice: &Lattice, rules: &LabelRules, table: usize, line: usize, label: usize) -> bool {
    let labels = rules.labels();
    match (table, &lattice.segments) {
        (PAIR, _) => rules.allows(Some(line), Some(label)),
        (BEGIN, _) => rules.allows(None, Some(label)),
        (END, _) => rules.allows(Some(label), None),
        (_, Some(segments)) => line < segments.longest && !segments.inner.contains(&label),
        _ => {
            rules.allows(Some(line / labels), Some(line % labels))
                && rules.allows(Some(line % labels), Some(label))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_numbered_is_an_error() {
        let of = |rows: [usize; 2]| {
            Features::of(rows.map(|len| Rows::all(0, len, 1, 2)).into(), 1, Vec::new(), Lattice::default())
        };
        let half = 1 << 31;
        assert!(of([half, half - 1]).check_size(half).is_ok());
        let message = of([half, half]).check_size(1).unwrap_err().to_string();
        assert!(message.starts_with("there are 4294967296 observations"), "{message}");
        assert!(of([usize::MAX, 2]).check_size(1).is_err(), "the sum does not wrap");
        let message = of([1, 1]).check_size(1 << 32).unwrap_err().to_string();
        assert!(message.starts_with("there are 4294967296 examples"), "{message}");
    }
}
