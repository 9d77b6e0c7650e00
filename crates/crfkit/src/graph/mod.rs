//! Who touches which table: the structure of one example, without any numbers.

pub mod build;
mod chain;
mod clique_tree;
mod cliques;
mod factor_graph;
mod fields;
mod forest;
mod grid;
mod pieces;
mod scopes;
mod slices;
mod sparse;
mod tables;

pub use chain::{BEGIN, Chain, END, NODES, PAIR, PAIRS};
pub use clique_tree::{Bag, CliqueTree, Home};
pub use cliques::{Cliques, Source};
pub use factor_graph::{FactorGraph, FactorGraphBuilder};
pub use fields::{Fields, Potts};
pub use forest::{Forest, SpanningForests};
pub use grid::{Grid, Neighbours};
pub use pieces::{NodeSplit, Parts, Pieces};
pub use scopes::{Scopes, Shape, for_each_row_label};
pub use slices::Slices;
pub use sparse::Sparse;
pub use tables::{Gradient, Psi, Shared, SharedSum, Table, TableSum};

/// Index of a label in the alphabet of labels.
pub type Label = u32;

/// In place of a gold label: it is not known. Only [`crate::loss::PartialLikelihood`] takes it.
pub const UNLABELLED: Label = Label::MAX;

/// Which table a factor reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableRef {
    /// Number of a table that all examples share: it depends on θ alone.
    Shared(usize),
    /// Offset of a table in the example's own array: it depends on its observations too.
    Own(usize),
}

/// A factor: a table over a few variables. The entry of a labelling y is at `Σ_k strides[k]·y[vars[k]]`.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    /// Its table.
    pub table: TableRef,
    /// Its variables.
    pub vars: &'a [usize],
    /// How far apart the labels of each variable lie in the table.
    pub strides: &'a [usize],
}

impl Factor<'_> {
    /// Where the entry of this labelling is, counted from the start of the table.
    #[inline]
    pub fn entry(&self, labels: &[Label]) -> usize {
        self.vars.iter().zip(self.strides).map(|(&v, &s)| labels[v] as usize * s).sum()
    }
}

/// The structure of an example: discrete variables and factors over them.
pub trait Graph: Clone + Send + Sync {
    /// How many variables.
    fn vars(&self) -> usize;
    /// How many labels variable `v` has.
    fn card(&self, v: usize) -> usize;
    /// Calls `visit` with every factor.
    fn for_each_factor(&self, visit: impl FnMut(Factor));

    /// Does every graph of this kind have [`Graph::with_own_pairs`]?
    const OWN_PAIRS: bool = false;

    /// The same graph with an own table for every pair of neighbours, where it is a forest of pairs: the marginals of its own
    /// tables then tell the entropy of a distribution over its labellings. `None` for other graphs.
    fn with_own_pairs(&self) -> Option<Self> {
        None
    }

    /// How many own tables the example has: the factors that observations speak of.
    fn own_tables(&self) -> usize;
    /// Offset of own table `f` in the example's array.
    fn own_offset(&self, f: usize) -> usize;
    /// Length of own table `f`, padding included.
    fn own_size(&self, f: usize) -> usize;
    /// Kind of own table `f`: tables of one kind have the same shape, and their observations share one set of weights.
    fn own_kind(&self, f: usize) -> usize;
    /// Length of the example's own array.
    fn own_len(&self) -> usize;
    /// Writes what an empty own array looks like: zeros, and padding where rows are padded.
    fn clear_own(&self, own: &mut [f64]);
}
