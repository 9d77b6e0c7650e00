//! Observations that most tables have, as a matrix.

use super::{Dataset, DenseNumbers};
use crate::graph::Graph;

/// The part of the values that must differ from 0. A number takes 4 bytes in a matrix, and 12 as an observation with a value.
const FILLED: f64 = 0.25;

impl<G: Graph> Dataset<G> {
    /// Makes the first `width` observations of the tables of a kind dense, if that saves memory and work: enough of the values differ
    /// from 0, and single precision can hold all of them.
    pub(crate) fn make_matrix(&mut self, kind: usize, width: usize) {
        let mut dense = DenseNumbers::new(kind, width, 0);
        let (mut tables, mut filled, mut finite) = (0usize, 0usize, true);
        self.each_of(kind, |ids, values| {
            tables += 1;
            for (k, _) in ids.iter().enumerate().filter(|(_, id)| (**id as usize) < width) {
                filled += 1;
                finite &= values.get(k).is_none_or(|&x| (x as f32).is_finite());
            }
        });
        if !finite || (filled as f64) < FILLED * tables as f64 * width as f64 {
            return;
        }
        let old = (std::mem::take(&mut self.observations), std::mem::take(&mut self.values));
        let old_first = std::mem::replace(&mut self.first_observation, vec![0]);
        let mut row = vec![0.0f32; width];
        for example in 0..self.graphs.len() {
            for (f, table) in self.tables(example).enumerate() {
                let range = old_first[table]..old_first[table + 1];
                let matrix = self.graphs[example].own_kind(f) == kind;
                row.fill(0.0);
                for k in range {
                    let (id, value) = (old.0[k], old.1.get(k).copied().unwrap_or(1.0));
                    match matrix && (id as usize) < width {
                        true => row[id as usize] += value as f32,
                        false => self.push_observation(id, value),
                    }
                }
                if matrix {
                    dense.push(row.iter().copied());
                }
                self.finish_table();
            }
            dense.finish_example();
        }
        self.dense.push(dense);
    }

    /// Visits the observations and values of all tables of a kind.
    fn each_of(&self, kind: usize, mut visit: impl FnMut(&[u32], &[f64])) {
        for example in 0..self.graphs.len() {
            for (f, table) in self.tables(example).enumerate() {
                if self.graphs[example].own_kind(f) == kind {
                    let (ids, values) = self.observations(table);
                    visit(ids, values);
                }
            }
        }
    }
}
