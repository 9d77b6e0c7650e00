//! The weights that one batch touches.

use std::ops::Range;

/// The rows of a batch, numbered in the order of their arrival, without repetition and without clearing memory between
/// batches. A gradient of the batch is laid out as these rows side by side.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Batch in which each row was last seen, counted from 1, and its number there.
    seen: Vec<(u32, u32)>,
    batch: u32,
    rows: Vec<u32>,
    ranges: Vec<Range<usize>>,
    last: Vec<u32>,
    occurrences: Vec<u32>,
    len: usize,
}

impl Touched {
    /// Starts a new batch over `rows` rows.
    pub fn start(&mut self, rows: usize) {
        self.seen.resize(rows, (0, 0));
        self.batch += 1;
        self.rows.clear();
        self.ranges.clear();
        self.last.clear();
        self.occurrences.clear();
        self.len = 0;
    }

    /// Notes an occurrence of a row; `range` tells where its weights are.
    #[inline]
    pub fn add(&mut self, row: usize, range: impl FnOnce() -> Range<usize>) {
        let (batch, number) = &mut self.seen[row];
        if *batch != self.batch {
            *number = self.rows.len() as u32;
            let range = range();
            self.len += range.len();
            self.rows.push(row as u32);
            self.ranges.push(range);
            self.last.push(*batch);
            *batch = self.batch;
        }
        self.occurrences.push(*number);
    }

    /// The rows.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The weights of each row.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The batch that touched each row before this one, counted from 1; 0 for none.
    pub fn last(&self) -> &[u32] {
        &self.last
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

    /// When each row was last touched, for a checkpoint.
    pub fn last_of_all(&self) -> Vec<f64> {
        self.seen.iter().map(|&(batch, _)| batch.into()).collect()
    }

    /// Goes on after `batch` batches in which rows were touched as [`Touched::last_of_all`] told.
    pub fn resume(batch: u64, last: &[f64]) -> Self {
        Touched {
            seen: last.iter().map(|&batch| (batch as u32, 0)).collect(),
            batch: batch as u32,
            ..Touched::default()
        }
    }
}
