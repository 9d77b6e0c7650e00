//! The rows whose values are a matrix: ψ by a matrix product, and its transpose.

use super::{Features, Rows};
use crate::math::product::{RowsOf, add_outer, add_products};
use crate::math::simd;

/// Rows of the matrix that are handled at a time where tables are combinations of a basis.
const STRIP: usize = 256;

impl Rows {
    /// The numbers that a row of the matrix is multiplied by, padding included: a table, or the weights of the basis functions.
    #[inline]
    pub(crate) fn dense_size(&self) -> usize {
        if self.basis.is_empty() { self.size() } else { simd::padded(self.basis.len()) }
    }

    /// out ← the weights of dense row `row`, in [`Rows::dense_size`] numbers.
    pub(crate) fn spread_dense(&self, theta: &[f64], row: u32, out: &mut [f64]) {
        let weights = self.range(row);
        out.fill(0.0);
        match self.basis.is_empty() {
            true => self.gather_at(theta, weights, 1.0, out),
            false => out[..weights.len()].copy_from_slice(&theta[weights]),
        }
    }

    /// gradient ← gradient + what [`Rows::add_outer`] has summed up for dense row `row`; `gradient` is that of its weights.
    pub(crate) fn take_dense(&self, sum: &[f64], row: u32, gradient: &mut [f64]) {
        match self.basis.is_empty() {
            true => self.scatter_at(sum, self.range(row), 1.0, gradient),
            false => gradient.iter_mut().zip(sum).for_each(|(g, x)| *g += x),
        }
    }

    /// ψ ← ψ + x·W at the table of every row x. `w` is `[width][dense_size]`.
    pub(crate) fn add_products(&self, x: RowsOf, w: &[f64], psi: &mut [f64]) {
        let size = self.dense_size();
        if self.basis.is_empty() {
            return add_products(x, w, size, psi);
        }
        let (mut amounts, tables) = strip(size);
        for first in (0..x.tables.len()).step_by(STRIP) {
            let part = x.part(first..x.tables.len().min(first + STRIP));
            amounts.fill(0.0);
            add_products(RowsOf { tables: &tables[..part.tables.len()], ..part }, w, size, &mut amounts);
            for (amounts, &table) in amounts.chunks_exact(size).zip(part.tables) {
                self.combine(amounts, 1.0, &mut psi[table as usize..]);
            }
        }
    }

    /// sums ← sums + Σ xᵀ·dψ over the rows x: the transpose of [`Rows::add_products`].
    pub(crate) fn add_outer(&self, x: RowsOf, dpsi: &[f64], sums: &mut [f64]) {
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
fn strip(size: usize) -> (Vec<f64>, Vec<u32>) {
    (vec![0.0; STRIP * size], (0..STRIP as u32).map(|k| k * size as u32).collect())
}

/// The weights of dense rows, spread out to matrices `[width][dense_size]`, for each kind of table.
#[derive(Clone, Debug, Default)]
pub struct DenseWeights {
    /// For each kind, one matrix for each component of a scalar; empty where a kind has no dense rows.
    kinds: Vec<[Vec<f64>; 2]>,
}

impl DenseWeights {
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
            let size = rows.dense_size();
            for (theta, w) in theta.iter().zip(planes) {
                w.resize(rows.dense * size, 0.0);
                for (row, w) in w.chunks_exact_mut(size).enumerate() {
                    rows.spread_dense(theta, row as u32, w);
                }
            }
        }
    }

    /// The matrix of a kind.
    #[inline]
    pub(crate) fn matrix(&self, kind: usize, plane: usize) -> &[f64] {
        &self.kinds[kind][plane]
    }
}
