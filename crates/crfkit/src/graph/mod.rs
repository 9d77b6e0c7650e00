//! The structure of one example, without numbers: its variables, its factors, and which table each factor reads.

pub mod build;
mod chain;
mod clique_tree;
mod cliques;
mod elimination;
mod factor_graph;
mod fields;
mod forest;
mod grid;
mod pieces;
mod rules;
mod scopes;
mod segments;
mod slices;
mod sparse;
mod tables;
mod triples;

pub use chain::{BEGIN, Chain, END, NODES, PAIR, PAIRS};
#[doc(hidden)]
pub use chain::{LENGTH, TRIPLE};
#[doc(hidden)]
pub use clique_tree::EXACT_MEMORY;
pub(crate) use clique_tree::{Bag, CliqueTree};
pub(crate) use cliques::{Cliques, Source};
pub use factor_graph::{FactorGraph, FactorGraphBuilder};
pub(crate) use fields::{Fields, Potts};
pub(crate) use forest::{Forest, SpanningForests};
pub use grid::{Grid, Neighbours};
pub use pieces::{NodeSplit, PieceHint, Pieces};
#[doc(hidden)]
pub use rules::Lattice;
pub(crate) use rules::{FORBIDDEN, allow_only};
pub use rules::{LabelBits, LabelRules};
pub(crate) use scopes::Scopes;
#[doc(hidden)]
pub use scopes::Shape;
pub(crate) use scopes::for_each_row_label;
#[doc(hidden)]
pub use segments::Segments;
pub(crate) use segments::lengths_stride;
#[doc(hidden)]
pub use segments::{LongSegment, SegmentLabels, SegmentType};
pub(crate) use slices::Slices;
#[doc(hidden)]
pub use sparse::Sparse;
pub use tables::{Gradient, Psi, Shared, SharedSum, Table};
#[doc(hidden)]
pub use triples::States;
pub(crate) use triples::Triples;

use std::ops::Range;

/// Index of a label in the alphabet of labels.
pub type Label = u32;

/// Stands for a gold label that is not known.
pub const UNLABELLED: Label = Label::MAX;

/// Gold labels from here on are numbers of sets of labels ([`crate::loss::Gold::sets`]), one of which is right; all below are known
/// labels.
#[doc(hidden)]
pub const FIRST_SET: Label = 1 << 31;

/// Which table a factor reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableRef {
    /// The number of a table that all examples share; it depends on θ alone.
    Shared(usize),
    /// The offset of a table in the example's own array; it depends on the observations too.
    Own(usize),
}

/// A factor: a table over a few variables. The entry of a labelling y is at `Σ_k strides[k]·y[vars[k]]`.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    /// The table that it reads.
    pub table: TableRef,
    /// The variables that it is over.
    pub vars: &'a [usize],
    /// How far apart the labels of each variable lie in the table.
    pub strides: &'a [usize],
}

impl Factor<'_> {
    /// The index of the entry for this labelling, counted from the start of the table.
    #[inline]
    pub fn entry(&self, labels: &[Label]) -> usize {
        self.vars.iter().zip(self.strides).map(|(&v, &s)| labels[v] as usize * s).sum()
    }
}

/// The structure of an example: discrete variables and factors over them.
pub trait Graph: Clone + Send + Sync {
    /// The number of variables.
    fn vars(&self) -> usize;
    /// The number of labels of variable `v`.
    fn card(&self, v: usize) -> usize;
    /// Calls `visit` with every factor.
    fn for_each_factor(&self, visit: impl FnMut(Factor));
    /// Calls `visit` with every segment of a labelling that has an entry in a table: the table, the entry, and the variables. Unlike
    /// factors, the segments depend on the labelling; most graphs have none.
    #[inline]
    #[doc(hidden)]
    fn for_each_segment(&self, _labels: &[Label], _visit: impl FnMut(TableRef, usize, Range<usize>)) {}
    /// Calls `visit` with every table that a labelling has an entry in, by a factor or a segment, and with that entry, counted from the start
    /// of the table.
    #[inline]
    fn for_each_entry(&self, labels: &[Label], mut visit: impl FnMut(TableRef, usize)) {
        self.for_each_factor(|factor| visit(factor.table, factor.entry(labels)));
        self.for_each_segment(labels, |table, entry, _| visit(table, entry));
    }
    /// The number of cliques around variable `v`: different sets of two or more variables with a factor, v among them.
    fn degree(&self, v: usize) -> usize;

    /// Whether every graph of this type supports [`Graph::with_own_pairs`].
    #[doc(hidden)]
    const OWN_PAIRS: bool = false;

    /// If the graph is a forest of pairs, the same graph with an own table for every pair of neighbours. The
    /// marginals of its own tables then determine the entropy of a distribution over labellings. `None` for other
    /// graphs.
    #[doc(hidden)]
    fn with_own_pairs(&self) -> Option<Self> {
        None
    }

    /// The number of own tables of the example: one for each factor that has observations.
    fn own_tables(&self) -> usize;
    /// Offset of own table `f` in the example's array.
    fn own_offset(&self, f: usize) -> usize;
    /// Length of own table `f`, padding included.
    fn own_size(&self, f: usize) -> usize;
    /// Kind of own table `f`. Tables of one kind have the same shape, and their observations share one set of
    /// weights.
    fn own_kind(&self, f: usize) -> usize;
    /// Whether own table `f` has a row of numbers, if tables of its kind are dense.
    fn own_is_dense(&self, _f: usize) -> bool {
        true
    }
    /// Length of the example's own array.
    fn own_len(&self) -> usize;
    /// Initialises an own array: zeros, and padding at the ends of padded rows.
    #[doc(hidden)]
    fn clear_own(&self, own: &mut [f64]);
}
