//! The weights that one batch touches, as ranges of θ without repetition.

use std::ops::Range;

/// A set of rows, gathered batch by batch without clearing memory.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Batch in which a row was last seen.
    stamp: Vec<u32>,
    batch: u32,
    ranges: Vec<Range<usize>>,
}

impl Touched {
    /// Starts a new batch over `rows` numbered rows.
    pub fn start(&mut self, rows: usize) {
        if self.stamp.len() < rows || self.batch == u32::MAX {
            self.stamp.clear();
            self.stamp.resize(rows, 0);
            self.batch = 0;
        }
        self.batch += 1;
        self.ranges.clear();
    }

    /// Adds a row and its range, unless this batch has it already.
    #[inline]
    pub fn add(&mut self, row: usize, range: impl FnOnce() -> Range<usize>) {
        if self.stamp[row] != self.batch {
            self.stamp[row] = self.batch;
            self.ranges.push(range());
        }
    }

    /// The ranges of this batch, in the order of arrival.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }
}
