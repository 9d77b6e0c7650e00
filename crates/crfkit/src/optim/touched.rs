//! The weights that one batch touches.

use std::ops::Range;

/// The rows of a batch, numbered in the order of their arrival, without repetition and without clearing memory between
/// batches. A gradient of the batch is laid out as these rows side by side.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Batch in which a row was last seen, and its number there.
    seen: Vec<(u32, u32)>,
    batch: u32,
    ranges: Vec<Range<usize>>,
    occurrences: Vec<u32>,
    rows: Vec<u32>,
    len: usize,
}

impl Touched {
    /// Starts a new batch over `rows` rows.
    pub fn start(&mut self, rows: usize) {
        if self.seen.len() < rows || self.batch == u32::MAX {
            self.seen.clear();
            self.seen.resize(rows, (0, 0));
            self.batch = 0;
        }
        self.batch += 1;
        self.ranges.clear();
        self.occurrences.clear();
        self.rows.clear();
        self.len = 0;
    }

    /// Notes an occurrence of a row; `range` tells where its weights are.
    #[inline]
    pub fn add(&mut self, row: usize, range: impl FnOnce() -> Range<usize>) {
        let (batch, number) = &mut self.seen[row];
        if *batch != self.batch {
            *batch = self.batch;
            *number = self.rows.len() as u32;
            let range = range();
            self.len += range.len();
            self.ranges.push(range);
            self.rows.push(row as u32);
        }
        self.occurrences.push(*number);
    }

    /// The weights of each row.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The rows.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The number of the row of each occurrence, in the order of arrival.
    pub fn occurrences(&self) -> &[u32] {
        &self.occurrences
    }

    /// How many weights.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No weights at all?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
