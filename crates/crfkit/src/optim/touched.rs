//! The weights that one batch touches.

use super::restored::Restored;
use super::{Objective, State};
use crate::Result;
use std::ops::Range;

/// The rows of a batch, numbered in order of first occurrence, without repetition and without clearing memory between
/// batches. A gradient of the batch holds these rows one after another.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    seen: Vec<Seen>,
    batch: u32,
    /// The first `count` rows belong to this batch.
    rows: Vec<Row>,
    count: usize,
    occurrences: Vec<u32>,
    len: usize,
}

/// A row that a batch or a block touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its number among all rows.
    pub row: u32,
    /// The previous batch that touched it, counted from 1; 0 if there is none.
    pub last: u32,
    /// Its weights.
    start: u32,
    len: u32,
    /// Their start in a vector that holds the rows one after another.
    place: u32,
}

impl Row {
    /// Row number `row` with these weights, at `place` in a vector that holds the rows one after another.
    #[inline]
    pub fn new(row: u32, weights: Range<usize>, place: usize) -> Self {
        Row { row, last: 0, start: weights.start as u32, len: weights.len() as u32, place: place as u32 }
    }

    /// Its weights, as a range of θ.
    #[inline]
    pub fn weights(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }

    /// Their position in a vector that holds the rows one after another.
    #[inline]
    pub fn place(&self) -> Range<usize> {
        self.place as usize..self.place as usize + self.len as usize
    }
}

/// The data of a row, in one piece of memory because rows are visited in random order.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The batch in which it was last seen, counted from 1; 0 if there is none.
    batch: u32,
    /// Its number in that batch.
    number: u32,
    /// Its weights, known once it has been seen.
    start: u32,
    len: u32,
}

impl Touched {
    /// Starts a new batch over `rows` rows.
    pub fn start(&mut self, rows: usize) {
        self.seen.resize(rows, Seen::default());
        self.batch += 1;
        self.count = 0;
        self.occurrences.clear();
        self.len = 0;
    }

    /// Prefetches what [`Touched::add`] will need for these rows. Its branch cannot be predicted, so its reads would
    /// wait for one another; here they overlap.
    #[doc(hidden)]
    pub fn expect(&self, rows: impl Iterator<Item = usize>) {
        std::hint::black_box(rows.fold(0, |sum: u32, row| sum.wrapping_add(self.seen[row].batch)));
    }

    /// Prefetches the beginning of each row of `x`, a vector over θ that starts at weight `base`.
    pub(crate) fn expect_rows<T: Copy + Into<f64>>(&self, x: &[T], base: usize) {
        self.expect_with(|row| x.get(row.start.wrapping_sub(base)).map_or(0.0, |&x| x.into()));
    }

    /// Prefetches whatever `read` reads for each row that has weights.
    #[inline]
    pub(crate) fn expect_with(&self, read: impl Fn(Range<usize>) -> f64) {
        std::hint::black_box(self.filled().fold(0.0, |sum, (row, ..)| sum + read(row)));
    }

    /// The rows that have weights: the range of weights, their position in a vector that holds the rows one after
    /// another, and the previous batch that touched them, as in [`Row::last`].
    #[doc(hidden)]
    pub fn filled(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>, u32)> {
        self.rows().iter().filter(|row| row.len > 0).map(|row| (row.weights(), row.place(), row.last))
    }

    /// Overwrites `rows` with the rows of `x`, a vector over θ, one after another.
    #[doc(hidden)]
    pub fn gather(&self, x: &[f64], rows: &mut Vec<f64>) {
        self.expect_rows(x, 0);
        rows.resize(self.len, 0.0);
        for row in self.rows() {
            // A row has only a few weights, so a loop is faster than a call that copies.
            rows[row.place()].iter_mut().zip(&x[row.weights()]).for_each(|(row, x)| *row = *x);
        }
    }

    /// Writes `rows` back to where [`Touched::gather`] read them.
    pub fn scatter(&self, rows: &[f64], x: &mut [f64]) {
        for row in self.rows() {
            x[row.weights()].iter_mut().zip(&rows[row.place()]).for_each(|(x, row)| *x = *row);
        }
    }

    /// Records an occurrence of a row; `range` returns the range of its weights.
    pub fn add(&mut self, row: usize, range: impl Fn() -> Range<usize>) {
        self.add_all(row, &[0], |_| range());
    }

    /// Records occurrences of the rows `first` + id; `range` returns the range of weights of an id.
    #[inline]
    pub(crate) fn add_all(&mut self, first: usize, ids: &[u32], range: impl Fn(u32) -> Range<usize>) {
        let (seen, batch) = (&mut self.seen[first..], self.batch);
        // Makes room for as many rows as may be new, so that the loop keeps its counters in registers.
        let (mut count, mut place) = (self.count, self.len as u32);
        if self.rows.len() < count + ids.len() {
            self.rows.resize(2 * (count + ids.len()), Row::default());
        }
        let rows = &mut self.rows[..count + ids.len()];
        self.occurrences.extend(ids.iter().map(|&id| {
            let seen = &mut seen[id as usize];
            if seen.batch != batch {
                if seen.batch == 0 || seen.len == 0 {
                    let range = range(id);
                    (seen.start, seen.len) = (range.start as u32, range.len() as u32);
                }
                let last = std::mem::replace(&mut seen.batch, batch);
                seen.number = count as u32;
                rows[count] = Row { row: first as u32 + id, last, start: seen.start, len: seen.len, place };
                count += 1;
                place += seen.len;
            }
            seen.number
        }));
        (self.count, self.len) = (count, place as usize);
    }

    /// The rows.
    #[doc(hidden)]
    pub fn rows(&self) -> &[Row] {
        &self.rows[..self.count]
    }

    /// The weights of all rows, one after another.
    pub fn weights(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows().iter().flat_map(|row| row.weights())
    }

    /// The row number of each occurrence, in order of arrival.
    #[doc(hidden)]
    pub fn occurrences(&self) -> &[u32] {
        &self.occurrences
    }

    /// The number of weights.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no weights.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// For each of `dim` weights, the batch that last touched it, counted from 1; 0 if there is none.
    pub(super) fn last_by_weight(&self, dim: usize) -> Vec<u32> {
        let mut last = vec![0; dim];
        for seen in &self.seen {
            if let Some(row) = last.get_mut(seen.start as usize..(seen.start + seen.len) as usize) {
                row.fill(seen.batch);
            }
        }
        last
    }

    /// Adds the data of all rows to the state of a method.
    pub(super) fn save(&self, state: &mut State) {
        let mut save = |name: &str, number: fn(&Seen) -> u32| {
            state.vectors.insert(name.into(), self.seen.iter().map(|seen| number(seen).into()).collect());
        };
        save("row_last", |seen| seen.batch);
        save("row_start", |seen| seen.start);
        save("row_len", |seen| seen.len);
    }

    /// Resumes after `batch` batches, none of which is known.
    pub(super) fn after(batch: u32) -> Self {
        Touched { batch, ..Touched::default() }
    }

    /// Resumes after `batch` batches with what [`Touched::save`] has stored. The examples determine where the rows are; a state that says
    /// otherwise is rejected.
    pub(super) fn restore(batch: u32, objective: &dyn Objective, state: &mut Restored) -> Result<Self> {
        if !state.resumed() {
            return Ok(Touched::after(batch));
        }
        let mut known = Touched::default();
        let examples: Vec<u32> = (0..objective.examples() as u32).collect();
        for examples in examples.chunks(AT_ONCE) {
            objective.touched(examples, &mut known);
        }
        let mut seen = known.seen;
        let last = state.counts("row_last", seen.len(), batch.into())?;
        let start = state.counts("row_start", seen.len(), u32::MAX.into())?;
        let len = state.counts("row_len", seen.len(), u32::MAX.into())?;
        for (((seen, last), start), len) in seen.iter_mut().zip(last).zip(start).zip(len) {
            let place = [seen.start, seen.len].map(f64::from);
            if last > 0.0 && (seen.batch == 0 || [start, len] != place) {
                return Err(Restored::disagrees("row_start"));
            }
            *seen = match last > 0.0 {
                true => Seen { batch: last as u32, number: 0, ..*seen },
                false => Seen::default(),
            };
        }
        Ok(Touched { seen, ..Touched::after(batch) })
    }
}

/// Examples whose rows are looked up at once when a run resumes.
const AT_ONCE: usize = 1024;
