//! ψ = A θ and its transpose: which weight is added to which entry of which table.
//!
//! θ is one vector: the rows of the observations, kind by kind (on a chain: node observations, then pair observations), then the
//! shared tables. A row holds the weights of one observation, one for each entry of the table (label, or label pair) that it
//! may vote for; or one for each function of a basis that the table is a combination of.

use super::rows::{Rows, keep_seen};
use crate::data::dataset::Dataset;
use crate::graph::{Chain, Graph, NODES, PAIRS, Shared, SharedSum, Sparse, Table, TableRef};
use crate::math::{Scalar, simd};

/// Which (observation, label) combinations get a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Those seen in training, as in CRFsuite.
    Observed,
    /// All labels of every observation, as in CRF++.
    All,
}

/// The weights of one shared table: weight `base + k` stands at `entry[k]`; entries that are not listed are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableWeights {
    /// Where they start in θ.
    pub base: usize,
    /// Shape of the table: lines × columns, a line every padded number of columns.
    pub lines: usize,
    /// Columns of the table in use.
    pub columns: usize,
    /// The entry of each.
    pub entry: Vec<u32>,
}

/// What the features of one kind of own table are made of.
#[derive(Clone, Debug, Default)]
pub struct Kind {
    /// Number of observations.
    pub observations: usize,
    /// Shape of the table.
    pub lines: usize,
    /// Shape of the table.
    pub columns: usize,
    /// The basis of [`Rows::basis`]; such rows are always complete.
    pub basis: Vec<Vec<f64>>,
}

/// Shape of a shared table, and whether it has weights at all.
#[derive(Clone, Copy, Debug)]
pub struct SharedShape {
    /// Lines.
    pub lines: usize,
    /// Columns.
    pub columns: usize,
    /// Has it weights? Otherwise it stays 0.
    pub weighted: bool,
}

/// Below this many labels a dense product is as fast as a sparse one.
const SPARSE_LABELS: usize = 64;
/// A sparse product pays if at most one pair in this many has a weight.
const SPARSE_SHARE: usize = 6;

/// The map from θ to the tables of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Rows by kind of own table; on a chain [`NODES`], [`PAIRS`].
    pub rows: Vec<Rows>,
    /// Kinds below this one are over single variables, the others over pairs or more.
    pub node_kinds: usize,
    /// Weights of the shared tables; on a chain [`crate::graph::PAIR`], [`crate::graph::BEGIN`],
    /// [`crate::graph::END`].
    pub tables: Vec<TableWeights>,
}

impl Features {
    /// The features of chains. `observations` are the numbers of node and pair observations; `label_bigram` and `boundaries`
    /// say whether label pairs, and first and last labels, have weights.
    pub fn chain(
        data: &Dataset<Chain>,
        labels: usize,
        observations: [usize; 2],
        keep: Keep,
        label_bigram: bool,
        boundaries: bool,
    ) -> Self {
        let columns = labels;
        let kind = |kind: usize, lines: usize| Kind {
            observations: observations[kind],
            lines,
            columns,
            basis: Vec::new(),
        };
        let boundary = SharedShape { lines: 1, columns, weighted: boundaries };
        let pair = SharedShape { lines: labels, columns, weighted: label_bigram };
        Features::new(
            data,
            vec![kind(NODES, 1), kind(PAIRS, labels)],
            PAIRS,
            &[pair, boundary, boundary],
            keep,
        )
    }

    /// The features of any graphs: `kinds` describes their own tables, `shared` their shared ones. Kinds below `node_kinds` are
    /// over single variables.
    pub fn new<G: Graph>(
        data: &Dataset<G>,
        kinds: Vec<Kind>,
        node_kinds: usize,
        shared: &[SharedShape],
        keep: Keep,
    ) -> Self {
        let mut base = 0;
        let mut rows = Vec::with_capacity(kinds.len());
        for (number, kind) in kinds.into_iter().enumerate() {
            let mut new = Rows::all(base, kind.observations, kind.lines, kind.columns);
            if keep == Keep::Observed && kind.basis.is_empty() {
                keep_seen(&mut new, data, number);
            }
            new.basis = kind.basis;
            base += new.weights();
            rows.push(new);
        }
        let mut tables = Vec::with_capacity(shared.len());
        for (id, &SharedShape { lines, columns, weighted }) in shared.iter().enumerate() {
            let stride = simd::padded(columns);
            let mut used = vec![weighted && keep == Keep::All; lines * stride];
            if weighted && keep == Keep::Observed {
                for example in 0..data.len() {
                    data.graph(example).for_each_factor(|factor| {
                        if factor.table == TableRef::Shared(id) {
                            used[factor.entry(data.gold(example))] = true;
                        }
                    });
                }
            }
            let entry: Vec<u32> =
                (0..used.len()).filter(|&k| used[k] && k % stride < columns).map(|k| k as u32).collect();
            tables.push(TableWeights { base, lines, columns, entry });
            base += tables[id].entry.len();
        }
        Features { rows, node_kinds, tables }
    }

    /// Number of weights.
    pub fn dim(&self) -> usize {
        let rows = self.rows.last().map_or(0, |rows| rows.base + rows.weights());
        self.tables.last().map_or(rows, |last| last.base + last.entry.len())
    }

    /// Weights from here on belong to label pairs (pair observations and shared tables): a σ of their own applies.
    pub fn first_pair_weight(&self) -> usize {
        self.rows.get(self.node_kinds).map_or(self.first_shared_weight(), |rows| rows.base)
    }

    /// Weights from here on belong to the shared tables.
    pub fn first_shared_weight(&self) -> usize {
        self.rows.last().map_or(0, |rows| rows.base + rows.weights())
    }

    /// Number of the first row of a kind, where the rows of all kinds are numbered through.
    #[inline]
    pub fn first_row(&self, kind: usize) -> usize {
        self.rows[..kind].iter().map(|rows| rows.len).sum()
    }

    /// The weights of a row, where every row has one for each column of one line.
    #[inline]
    pub fn line_width(&self) -> Option<usize> {
        let mut rows = self.rows.iter().filter(|rows| rows.len > 0);
        let width = rows.next().filter(|rows| rows.is_single_line())?.columns;
        rows.all(|rows| rows.is_single_line() && rows.columns == width).then_some(width)
    }

    /// Kind and number of the row with this number through all kinds; `None` past the last.
    #[inline]
    pub fn row(&self, mut number: u32) -> Option<(usize, u32)> {
        for (kind, rows) in self.rows.iter().enumerate() {
            if (number as usize) < rows.len {
                return Some((kind, number));
            }
            number -= rows.len as u32;
        }
        None
    }

    /// Shared tables of log-potential 0. A table of label pairs knows its pairs where they are few among many.
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
        self.tables.iter().map(empty).collect()
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
