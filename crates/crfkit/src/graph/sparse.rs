//! A table that is 1 almost everywhere.

use super::Table;
use crate::math::{Array, Scalar, Slice, SliceMut};

/// The exponential of a square table in which most log-potentials are 0: M = c·1·1ᵀ + D, with D as sparse as the pairs that
/// have a weight. A product with M costs O(labels + pairs) instead of O(labels²).
///
/// Where a weight w is very negative, c + D cancels and the relative error is about 2⁻⁵²·e^−w. So a line with a weight below
/// [`DENSE_BELOW`] is multiplied densely.
#[derive(Clone, Debug)]
pub struct Sparse<S> {
    /// exp(0 − shift).
    constant: f64,
    /// The pairs by column: for products from the left.
    columns: Lines<S>,
    /// The pairs by row: for products from the right.
    rows: Lines<S>,
}

/// e^12·2⁻⁵² ≈ 4e-11: the largest relative error of a sparse product.
const DENSE_BELOW: f64 = -12.0;

/// The nonzero entries of D along one direction.
#[derive(Clone, Debug)]
struct Lines<S> {
    /// First entry of each line, and the end.
    start: Vec<u32>,
    /// Position across the line.
    across: Vec<u32>,
    /// exp(w − shift) − constant.
    d: Array<S>,
    /// Lines that are multiplied densely.
    dense: Vec<bool>,
}

impl<S: Scalar> Sparse<S> {
    /// The structure of `entries` (positions in a table of `labels` rows of `stride`, ascending); [`Sparse::update`] fills it.
    pub fn new(entries: &[u32], labels: usize, stride: usize) -> Self {
        let pairs = |swap: bool| {
            let mut pairs: Vec<(u32, u32)> = entries
                .iter()
                .map(|&e| (e / stride as u32, e % stride as u32))
                .map(|(i, j)| if swap { (j, i) } else { (i, j) })
                .collect();
            pairs.sort_unstable();
            let mut start = vec![0; labels + 1];
            for &(line, _) in &pairs {
                start[line as usize + 1] += 1;
            }
            for line in 0..labels {
                start[line + 1] += start[line];
            }
            let across = pairs.iter().map(|&(_, across)| across).collect();
            Lines { start, across, d: Array::zeros(pairs.len()), dense: vec![false; labels] }
        };
        Sparse { constant: 1.0, columns: pairs(true), rows: pairs(false) }
    }

    /// Brings D in line with the table.
    pub fn update(&mut self, log: &Array<S>, exp: &Array<S>, stride: usize, shift: f64) {
        self.constant = (-shift).exp();
        for (lines, by_column) in [(&mut self.columns, true), (&mut self.rows, false)] {
            for line in 0..lines.dense.len() {
                lines.dense[line] = false;
                for k in lines.start[line] as usize..lines.start[line + 1] as usize {
                    let across = lines.across[k] as usize;
                    let entry = if by_column { across * stride + line } else { line * stride + across };
                    lines.d.set(k, exp.get(entry) - S::lift(self.constant));
                    lines.dense[line] |= log.get(entry).re() < DENSE_BELOW;
                }
            }
        }
    }

    /// out ← a M.
    pub fn from_left(&self, table: &Table<S>, a: Slice<S>, out: SliceMut<S>) {
        // Row j of the transpose is column j of M.
        self.columns.product(self.constant, &table.exp_t, table.stride, a, out);
    }

    /// out ← M g.
    pub fn from_right(&self, table: &Table<S>, g: Slice<S>, out: SliceMut<S>) {
        self.rows.product(self.constant, &table.exp, table.stride, g, out);
    }

    /// How many pairs.
    pub fn len(&self) -> usize {
        self.columns.across.len()
    }

    /// No pairs at all?
    pub fn is_empty(&self) -> bool {
        self.columns.across.is_empty()
    }

    /// sums[k] += weight · Σ_t a[t][i] · g[t][j] over the pairs (i, j), in the order of columns.
    pub fn outer_add(&self, weight: f64, a: Slice<S>, g: Slice<S>, stride: usize, sums: &mut Array<S>) {
        for t in 0..a.re.len() / stride {
            for j in 0..self.columns.dense.len() {
                let gj = g.at(t * stride + j) * S::lift(weight);
                let range = self.columns.start[j] as usize..self.columns.start[j + 1] as usize;
                for k in range {
                    sums.add(k, a.at(t * stride + self.columns.across[k] as usize) * gj);
                }
            }
        }
    }

    /// direct[i][j] += sums[k] · M[i][j] over the pairs, then sums ← 0.
    pub fn finish(&self, table: &Table<S>, sums: &mut Array<S>, direct: &mut Array<S>) {
        for j in 0..self.columns.dense.len() {
            for k in self.columns.start[j] as usize..self.columns.start[j + 1] as usize {
                let entry = self.columns.across[k] as usize * table.stride + j;
                direct.add(entry, sums.get(k) * table.exp.get(entry));
            }
        }
        sums.reset(self.len(), 0.0);
    }
}

impl<S: Scalar> Lines<S> {
    /// out[line] ← Σ_across M[line][across] · x[across]; `m` holds M densely, line by line.
    fn product(&self, constant: f64, m: &Array<S>, stride: usize, x: Slice<S>, mut out: SliceMut<S>) {
        let labels = self.dense.len();
        let mut sum = S::lift(0.0);
        for i in 0..labels {
            sum += x.at(i);
        }
        let base = sum * S::lift(constant);
        for line in 0..labels {
            let mut y = base;
            if self.dense[line] {
                y = S::lift(0.0);
                let row = m.slice(line * stride..line * stride + labels);
                for i in 0..labels {
                    y += row.at(i) * x.at(i);
                }
            } else {
                let range = self.start[line] as usize..self.start[line + 1] as usize;
                let d = self.d.slice(range.clone());
                for (k, &i) in self.across[range].iter().enumerate() {
                    y += d.at(k) * x.at(i as usize);
                }
            }
            out.set(line, y);
        }
        for pad in labels..out.re.len() {
            out.set(pad, S::lift(0.0));
        }
    }
}
