//! Vectors of numbers beside the tokens of a sequence: embeddings, pixels, measurements.

use crate::{Error, Place, Result};

/// Numbers in a vector at most.
pub(crate) const MAX_WIDTH: usize = 1 << 16;

/// A matrix of numbers, one row for each token of a sequence.
///
/// ```
/// # use crfkit::data::vectors::Vectors;
/// let vectors = Vectors::new(2, vec![0.5, -1.0, 0.25, 2.0])?;
/// assert_eq!((vectors.rows(), vectors.row(1)), (2, &[0.25, 2.0][..]));
/// # Ok::<(), crfkit::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    width: usize,
    values: Vec<f32>,
}

impl Vectors {
    /// Vectors of `width` numbers, row after row. It is an error if a number is not finite, or if a row is not complete.
    pub fn new(width: usize, values: Vec<f32>) -> Result<Self> {
        let vectors = Vectors { width, values };
        vectors.check(|row| Place::new("vectors", row as u64 + 1))?;
        Ok(vectors)
    }

    /// The same from double precision. The numbers are stored in single precision.
    pub fn from_f64(width: usize, values: impl IntoIterator<Item = f64>) -> Result<Self> {
        Vectors::new(width, values.into_iter().map(|x| x as f32).collect())
    }

    /// Checks the numbers; `place` gives the place of a row.
    pub(crate) fn check(&self, place: impl Fn(usize) -> Place) -> Result<()> {
        if self.values.is_empty() && self.width <= MAX_WIDTH {
            return Ok(());
        }
        if self.width == 0 || self.width > MAX_WIDTH || !self.values.len().is_multiple_of(self.width) {
            let (count, width) = (self.values.len(), self.width);
            let message = format!(
                "{count} numbers do not make vectors of {width}: give a matrix with one row per token and 1 to {MAX_WIDTH} columns"
            );
            return Err(Error::input(place(0), message));
        }
        // Without a branch for each number, so that vectors of them are compared at once.
        if self.values.iter().fold(true, |all, x| all & x.is_finite()) {
            return Ok(());
        }
        let at = self.values.iter().position(|x| !x.is_finite()).unwrap_or(0);
        let (row, column, x) = (at / self.width, at % self.width, self.values[at]);
        let message = format!(
            "number {column} of the vector is {x}: vectors have finite numbers below 3.4e38; write 0 where nothing is known"
        );
        Err(Error::input(place(row), message))
    }

    /// Rejects vectors of another number of tokens.
    pub(crate) fn check_rows(&self, tokens: usize, place: impl FnOnce() -> Place) -> Result<()> {
        if self.rows() == tokens {
            return Ok(());
        }
        let rows = self.rows();
        let message =
            format!("{rows} vectors for {tokens} tokens: there must be one for each token, in order");
        Err(Error::input(place(), message))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Numbers in a row; 0 if there are no vectors.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The vector of a token.
    pub fn row(&self, token: usize) -> &[f32] {
        &self.values[token * self.width..(token + 1) * self.width]
    }

    /// Removes the rows, and takes rows of this width from now on. Keeps the memory.
    pub fn reset(&mut self, width: usize) {
        self.width = width;
        self.values.clear();
    }

    /// Adds numbers.
    pub fn extend(&mut self, values: impl IntoIterator<Item = f32>) {
        self.values.extend(values);
    }
}
