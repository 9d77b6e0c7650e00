//! The rows whose values are a matrix: ψ by a matrix product, and its transpose.

use super::{Features, Rows};
use crate::math::product::{Factor, RowsOf, add_outer, add_products};
use crate::math::{Real, simd};

/// Rows of the matrix that are handled at a time where tables are combinations of a basis.
const STRIP: usize = 256;

impl Rows {
    /// The numbers that a row of the matrix is multiplied by, padding included: a table, or the weights of the basis functions.
    #[inline]
    pub(crate) fn dense_size(&self) -> usize {
        if self.basis.is_empty() { self.size() } else { simd::padded(self.basis.len()) }
    }

    /// out ← the weights of dense row `row`, in [`Rows::dense_size`] numbers or more.
    pub(crate) fn spread_dense<R: Real>(&self, theta: &[f64], row: u32, out: &mut [R]) {
        let weights = self.range(row);
        out.fill(R::default());
        match self.basis.is_empty() {
            true => self.gather_at(theta, weights, 1.0, out),
            false => out.iter_mut().zip(&theta[weights]).for_each(|(out, w)| *out = R::of(*w)),
        }
    }

    /// gradient ← gradient + what [`Rows::add_outer`] has summed up for dense row `row`; `gradient` is that of its weights.
    pub(crate) fn take_dense(&self, sum: &[f64], row: u32, gradient: &mut [f64]) {
        match self.basis.is_empty() {
            true => self.scatter_at(sum, self.range(row), 1.0, gradient),
            false => gradient.iter_mut().zip(sum).for_each(|(g, x)| *g += x),
        }
    }

    /// ψ ← ψ + x·W at the table of every row x. `w` is a matrix of [`DenseWeights`].
    pub(crate) fn add_products<R: Factor>(&self, x: RowsOf, w: &[R], psi: &mut [R]) {
        let size = self.dense_size();
        let w = (w, R::padded(size));
        if self.basis.is_empty() {
            return add_products(x, w, size, psi);
        }
        let (mut amounts, tables) = strip(size);
        for first in (0..x.tables.len()).step_by(STRIP) {
            let part = x.part(first..x.tables.len().min(first + STRIP));
            amounts.fill(R::default());
            add_products(RowsOf { tables: &tables[..part.tables.len()], ..part }, w, size, &mut amounts);
            for (amounts, &table) in amounts.chunks_exact(size).zip(part.tables) {
                self.combine(amounts, 1.0, &mut psi[table as usize..]);
            }
        }
    }

    /// [`Rows::add_products`] with the weights of θ, for a few rows: their matrix is read in place if it can be, and otherwise made in `w`. What
    /// follows a row in θ falls on padding, which is so low that nothing changes it.
    pub(crate) fn add_products_at(&self, x: RowsOf, theta: &[f64], w: &mut Vec<f64>, psi: &mut [f64]) {
        let (size, used) = (self.dense_size(), self.dense * self.columns);
        let in_place = self.basis.is_empty()
            && self.lines == 1
            && self.range(self.dense as u32 - 1).end == self.base + used;
        match theta[self.base..].get(..used - self.columns + size).filter(|_| in_place) {
            Some(theta) => add_products(x, (theta, self.columns), size, psi),
            None => {
                w.resize(self.dense * size, 0.0);
                w.chunks_exact_mut(size)
                    .enumerate()
                    .for_each(|(row, w)| self.spread_dense(theta, row as u32, w));
                self.add_products(x, w, psi);
            }
        }
    }

    /// Appends what [`Rows::add_outer`] has summed up for dense row `row` to a gradient.
    pub(crate) fn append_dense(&self, sum: &[f64], row: u32, out: &mut Vec<f64>) {
        match self.basis.is_empty() {
            true => self.pick(sum, self.range(row), out),
            false => out.extend_from_slice(&sum[..self.basis.len()]),
        }
    }

    /// sums ← sums + Σ xᵀ·dψ over the rows x: the transpose of [`Rows::add_products`]. Behind dψ are [`LANES`](simd::LANES) numbers more if those are
    /// single-precision ones.
    pub(crate) fn add_outer<R: Factor>(&self, x: RowsOf, dpsi: &[R], sums: &mut [f64]) {
        let size = self.dense_size();
        if self.basis.is_empty() {
            return add_outer(x, dpsi, size, sums);
        }
        let (mut amounts, tables) = strip(size);
        for first in (0..x.tables.len()).step_by(STRIP) {
            let part = x.part(first..x.tables.len().min(first + STRIP));
            for (amounts, &table) in amounts.chunks_exact_mut(size).zip(part.tables) {
                self.project_to(&dpsi[table as usize..], amounts);
            }
            add_outer(RowsOf { tables: &tables[..part.tables.len()], ..part }, &amounts, size, sums);
        }
    }
}

/// Memory for the products of a strip, and where they begin.
fn strip<R: Factor>(size: usize) -> (Vec<R>, Vec<u32>) {
    (vec![R::default(); STRIP * size + R::LANES], (0..STRIP as u32).map(|k| k * size as u32).collect())
}

/// The weights of dense rows, spread out to matrices for each kind of table: `[width][dense_size]`, rows padded to whole vectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct DenseWeights<R = f64> {
    /// For each kind, one matrix for each component of a scalar; empty where a kind has no dense rows.
    kinds: Vec<[Vec<R>; 2]>,
}

impl<R: Factor> DenseWeights<R> {
    /// The weights at θ.
    pub(crate) fn of(features: &Features, theta: &[f64]) -> Self {
        let mut weights = DenseWeights::default();
        weights.set(features, &[theta]);
        weights
    }

    /// Takes the weights of θ (one vector per plane).
    pub(crate) fn set(&mut self, features: &Features, theta: &[&[f64]]) {
        self.kinds.resize_with(features.rows.len(), Default::default);
        for (rows, planes) in features.rows.iter().zip(&mut self.kinds).filter(|(rows, _)| rows.dense > 0) {
            let size = R::padded(rows.dense_size());
            for (theta, w) in theta.iter().zip(planes) {
                w.resize(rows.dense * size, R::default());
                for (row, w) in w.chunks_exact_mut(size).enumerate() {
                    rows.spread_dense(theta, row as u32, w);
                }
            }
        }
    }

    /// The matrix of a kind.
    #[inline]
    pub(crate) fn matrix(&self, kind: usize, plane: usize) -> &[R] {
        &self.kinds[kind][plane]
    }
}
