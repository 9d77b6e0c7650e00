//! Two-dimensional grids, for images.

use super::build::PairTables;
use super::{FactorGraph, FactorGraphBuilder, NODES, PieceHint};
use crate::error::GraphError;
use std::num::NonZeroUsize;

/// Which variables of a grid are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Neighbours {
    /// No neighbours: every variable is independent, as in logistic regression.
    None,
    /// Left and right, above and below.
    Four,
    /// Four neighbours and the diagonals.
    Eight,
}

/// A grid of `height` × `width` variables, row by row, over one set of labels.
///
/// Kinds of own tables: [`NODES`], then pairs. If `directions_tied` is set, all pairs have kind 1. Otherwise →, ↓, ↘
/// and ↙ have the kinds 1, 2, 3 and 4. Shared pair tables are numbered the same way, from 0. The first variable of a
/// pair is the upper one, or the left one if both are in the same row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Rows of the grid.
    pub height: usize,
    /// Columns of the grid.
    pub width: usize,
    /// Number of labels.
    pub labels: usize,
    /// Which variables are neighbours.
    pub neighbours: Neighbours,
    /// Which tables a pair reads.
    pub pairs: PairTables,
    /// Whether all directions share one set of weights.
    pub directions_tied: bool,
}

impl Grid {
    /// The number of the variable in this row and column.
    #[inline]
    pub fn var(&self, row: usize, column: usize) -> usize {
        row * self.width + column
    }

    /// Builds the graph: first all node tables, then all pairs, in the order of their first variables.
    pub fn build(&self) -> Result<FactorGraph, GraphError> {
        let mut builder = FactorGraphBuilder::new(vec![self.labels; self.height * self.width])?;
        for v in 0..self.height * self.width {
            builder.add_own(NODES, &[v])?;
        }
        for row in 0..self.height {
            for column in 0..self.width {
                let joined = self.neighbours != Neighbours::None;
                let (right, below) = (joined && column + 1 < self.width, joined && row + 1 < self.height);
                let left = column > 0;
                let diagonal = self.neighbours == Neighbours::Eight && below;
                let steps = [
                    (right, row, column + 1),
                    (below, row + 1, column),
                    (diagonal && right, row + 1, column + 1),
                    (diagonal && left, row + 1, column.wrapping_sub(1)),
                ];
                for (direction, (there, r, c)) in steps.into_iter().enumerate() {
                    if there {
                        let table = if self.directions_tied { 0 } else { direction };
                        let vars = [self.var(row, column), self.var(r, c)];
                        self.pairs.add(&mut builder, NODES + 1 + table, table, &vars)?;
                    }
                }
            }
        }
        builder.piece_hint(NonZeroUsize::new(self.width).map_or(PieceHint::Unknown, PieceHint::Grid));
        builder.build()
    }
}
