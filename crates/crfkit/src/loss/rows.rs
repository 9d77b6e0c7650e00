//! Rows of scores and their exponentials: the scratch memory of all local losses.

use crate::math::{Array, Scalar, Slice, SliceMut, simd};
use std::ops::Range;

/// Rows of `stride` scores; each row is for the labels of one variable. Scores are first shifted by the largest one,
/// so that any finite scores work.
#[derive(Debug)]
pub(super) struct Rows<S> {
    stride: usize,
    /// Scores.
    x: Array<S>,
    /// exp(x − shift).
    e: Array<S>,
    /// The largest score of each row.
    shift: Vec<f64>,
    /// weight/Z: the factor by which the exponentials of a row still have to be multiplied.
    scale: Vec<S>,
}

impl<S> Default for Rows<S> {
    fn default() -> Self {
        Rows { stride: 0, x: Array::default(), e: Array::default(), shift: Vec::new(), scale: Vec::new() }
    }
}

impl<S: Scalar> Rows<S> {
    /// Makes room for `rows` rows of up to `labels` scores. Their content is undefined.
    pub(crate) fn resize(&mut self, rows: usize, labels: usize) {
        self.stride = simd::padded(labels);
        self.x.reserve(rows * self.stride);
        self.e.reserve(rows * self.stride);
        if self.shift.len() < rows {
            self.shift.resize(rows, 0.0);
            self.scale.resize(rows, S::lift(0.0));
        }
    }

    /// Sets a row to `labels` scores of 0, followed by padding.
    pub(crate) fn clear(&mut self, row: usize, labels: usize) {
        let mut x = self.row(row);
        x.part(0..labels).fill(0.0);
        let stride = x.re.len();
        x.part(labels..stride).fill(simd::PAD);
    }

    /// The scores of a row, mutably.
    pub(crate) fn row(&mut self, row: usize) -> SliceMut<'_, S> {
        self.x.slice_mut(row * self.stride..(row + 1) * self.stride)
    }

    /// Adds scores to a row. Adding [`simd::PAD`] to padding leaves padding.
    #[inline]
    pub(crate) fn add(&mut self, row: usize, x: Slice<S>) {
        let at = row * self.stride;
        S::axpy(S::lift(1.0), x, self.x.slice_mut(at..at + x.re.len()));
    }

    /// The scores of a row.
    pub(crate) fn scores(&self, row: usize) -> Slice<'_, S> {
        self.x.slice(row * self.stride..(row + 1) * self.stride)
    }

    /// One score.
    pub(crate) fn score(&self, row: usize, label: usize) -> S {
        self.x.get(row * self.stride + label)
    }

    /// The exponentials of some rows, after [`Rows::exp`].
    #[inline]
    pub(crate) fn exps(&self, rows: Range<usize>) -> Slice<'_, S> {
        self.e.slice(rows.start * self.stride..rows.end * self.stride)
    }

    /// The largest score of a row, after [`Rows::exp`].
    pub(crate) fn shift(&self, row: usize) -> f64 {
        self.shift[row]
    }

    /// Computes the exponentials of the first `rows` rows of `labels` scores. Returns the largest spread of a row.
    pub(crate) fn exp(&mut self, rows: usize, labels: usize) -> f64 {
        let all = 0..rows * self.stride;
        let out = self.e.slice_mut(all.clone());
        S::exp_rows(self.x.slice(all), labels, &mut self.shift[..rows], out)
    }

    /// Treats some rows as one table: returns log Σ exp of all its scores, and scales the exponentials to
    /// probabilities × `weight`. Call it after [`Rows::exp`].
    pub(crate) fn log_sum(&mut self, rows: Range<usize>, weight: f64) -> S {
        let shift = self.shift[rows.clone()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut z = S::lift(0.0);
        for row in rows.clone() {
            z += self.exps(row..row + 1).sum() * S::lift((self.shift[row] - shift).exp());
        }
        let scale = S::lift(weight) / z;
        for row in rows {
            self.scale[row] = scale * S::lift((self.shift[row] - shift).exp());
        }
        S::lift(shift) + z.ln()
    }

    /// Treats a row as p(label | …): returns −log p(`label`), and keeps its gradient, weight × (p − 1[label]), for
    /// [`Rows::add_to`]. Call it after [`Rows::exp`].
    pub(crate) fn predict(&mut self, row: usize, label: usize, weight: f64) -> S {
        let z = self.exps(row..row + 1).sum();
        self.scale[row] = S::lift(weight) / z;
        self.e.add(row * self.stride + label, -z);
        S::lift(self.shift[row]) + z.ln() - self.score(row, label)
    }

    /// Treats a row of `labels` scores as p(label | …): returns −log p(a label for which `among` is true), and keeps its gradient,
    /// weight × (p − p(label | among)), for [`Rows::add_to`]. One such label must exist. Call it after [`Rows::exp`].
    pub(crate) fn predict_one_of(
        &mut self,
        row: usize,
        labels: usize,
        among: impl Fn(usize) -> bool,
        weight: f64,
    ) -> S {
        let possible = || (0..labels).filter(|&label| among(label));
        // By their own largest score: the exponentials of all of them may be 0 beside those of other labels.
        let shift = possible().map(|label| self.score(row, label).re()).fold(f64::NEG_INFINITY, f64::max);
        let exp = |rows: &Self, label: usize| (rows.score(row, label) - S::lift(shift)).exp();
        let among = possible().fold(S::lift(0.0), |sum, label| sum + exp(self, label));
        let z = self.exps(row..row + 1).sum();
        self.scale[row] = S::lift(weight) / z;
        for label in possible() {
            let share = exp(self, label) / among;
            self.e.add(row * self.stride + label, -(z * share));
        }
        S::lift(self.shift[row]) + z.ln() - (S::lift(shift) + among.ln())
    }

    /// Adds to `out` the row that [`Rows::log_sum`] or [`Rows::predict`] left, up to the length of `out`.
    #[inline]
    pub(crate) fn add_to(&self, row: usize, out: SliceMut<S>) {
        let at = row * self.stride;
        S::axpy(self.scale[row], self.e.slice(at..at + out.re.len()), out);
    }

    /// One of the numbers that [`Rows::add_to`] adds.
    #[inline]
    pub(crate) fn gradient(&self, row: usize, label: usize) -> S {
        self.scale[row] * self.e.get(row * self.stride + label)
    }

    /// The sum of the numbers that [`Rows::add_to`] adds.
    pub(crate) fn total(&self, row: usize) -> S {
        self.scale[row] * self.exps(row..row + 1).sum()
    }
}
