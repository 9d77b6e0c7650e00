//! The rows that a batch touches, spread out to whole tables.

use crate::data::dataset::Dataset;
use crate::graph::{Chain, Graph};
use crate::math::{Array, Scalar, simd};
use crate::model::Features;
use crate::optim::Touched;

/// Touched rows by number: their weights and their gradients as padded tables.
#[derive(Default)]
pub struct Local {
    /// Where the table of each touched row starts.
    offsets: Vec<usize>,
    weights: [Vec<f64>; 2],
    gradient: [Vec<f64>; 2],
}

/// Kind and number of a touched row; the last one stands for the shared tables and has none.
fn row(features: &Features, row: u32) -> Option<(usize, u32)> {
    let (nodes, pairs) = (features.rows[0].len as u32, features.rows[1].len as u32);
    match row {
        row if row < nodes => Some((0, row)),
        row if row < nodes + pairs => Some((1, row - nodes)),
        _ => None,
    }
}

impl Local {
    /// Spreads the weights of the touched rows out and sets their gradients to zero.
    pub fn spread(&mut self, features: &Features, touched: &Touched, theta: &[&[f64]]) {
        self.offsets.clear();
        let mut len = 0;
        for &touched in touched.rows() {
            self.offsets.push(len);
            len += row(features, touched)
                .map_or(0, |(kind, _)| features.rows[kind].lines * features.rows[kind].stride());
        }
        for (plane, theta) in theta.iter().enumerate() {
            for table in [&mut self.weights[plane], &mut self.gradient[plane]] {
                table.clear();
                table.resize(len, 0.0);
            }
            for (&touched, &offset) in touched.rows().iter().zip(&self.offsets) {
                if let Some((kind, id)) = row(features, touched) {
                    features.rows[kind].gather(theta, id, 1.0, &mut self.weights[plane][offset..]);
                }
            }
        }
    }

    /// ψ of an example: the sum of its rows. `occurrences` starts with the example's; returns how many are its own.
    pub fn add_rows<S: Scalar>(
        &self,
        data: &Dataset<Chain>,
        example: usize,
        occurrences: &[u32],
        own: &mut Array<S>,
    ) -> usize {
        let graph = data.graph(example);
        let mut used = 0;
        for plane in 0..S::PLANES {
            let psi = &mut own.plane_mut(plane)[..graph.own_len()];
            match plane {
                0 => graph.clear_own(psi),
                _ => psi.fill(0.0),
            }
            used = 0;
            for (f, table) in data.tables(example).enumerate() {
                let (observations, values) = data.observations(table);
                let psi = &mut psi[graph.own_offset(f)..][..graph.own_size(f)];
                let mine = &occurrences[used..used + observations.len()];
                used += observations.len();
                simd::add_tables(&self.weights[plane], &self.offsets, mine, values, psi);
            }
        }
        used
    }

    /// Adds dψ of an example to the gradients of its rows.
    pub fn take_rows<S: Scalar>(
        &mut self,
        data: &Dataset<Chain>,
        example: usize,
        occurrences: &[u32],
        dpsi: &Array<S>,
    ) {
        let graph = data.graph(example);
        for plane in 0..S::PLANES {
            let dpsi = dpsi.plane(plane);
            let mut used = 0;
            for (f, table) in data.tables(example).enumerate() {
                let (observations, values) = data.observations(table);
                let dpsi = &dpsi[graph.own_offset(f)..][..graph.own_size(f)];
                let mine = &occurrences[used..used + observations.len()];
                used += observations.len();
                simd::add_to_tables(dpsi, &self.offsets, mine, values, &mut self.gradient[plane]);
            }
        }
    }

    /// Appends the gradients of the touched rows, side by side.
    pub fn pack(&self, features: &Features, touched: &Touched, plane: usize, out: &mut Vec<f64>) {
        for (&touched, &offset) in touched.rows().iter().zip(&self.offsets) {
            if let Some((kind, id)) = row(features, touched) {
                features.rows[kind].pick(&self.gradient[plane][offset..], id, out);
            }
        }
    }
}
