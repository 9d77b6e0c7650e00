//! Observations that most tables have, as a matrix.

use super::{Dataset, DenseNumbers};
use crate::graph::Graph;
use std::ops::Range;

/// The part of the values that must differ from 0. A number takes 4 bytes in a matrix, and 12 as an observation with a value.
const FILLED: f64 = 0.25;

impl<G: Graph> Dataset<G> {
    /// Makes the first `width` observations of the tables of a kind dense, if that saves memory and work: enough of the values differ
    /// from 0, and single precision can hold all of them.
    ///
    /// Several kinds share the observations of the first of them: an example has a table of each kind, that of the first kind before the
    /// others, which are still empty. If a matrix is made, it serves all of them; otherwise the others get copies.
    pub(crate) fn make_matrix(&mut self, kinds: Range<usize>, width: usize) {
        let first_kind = kinds.start;
        let (mut tables, mut filled, mut finite) = (0usize, 0usize, true);
        self.each_of(first_kind, |ids, values| {
            tables += 1;
            for (k, _) in ids.iter().enumerate().filter(|(_, id)| (**id as usize) < width) {
                filled += 1;
                finite &= values.get(k).is_none_or(|&x| (x as f32).is_finite());
            }
        });
        let dense = finite && (filled * kinds.len()) as f64 >= FILLED * tables as f64 * width as f64;
        if !dense && kinds.len() == 1 {
            return;
        }
        let old = (std::mem::take(&mut self.observations), std::mem::take(&mut self.values));
        let old_first = std::mem::replace(&mut self.first_observation, vec![0]);
        let mut matrix = DenseNumbers::new(first_kind, width, 0);
        let mut row = vec![0.0f32; width];
        for example in 0..self.graphs.len() {
            let mut shared = 0..0;
            for (f, table) in self.tables(example).enumerate() {
                let kind = self.graphs[example].own_kind(f);
                let mut range = old_first[table]..old_first[table + 1];
                if kind == first_kind {
                    shared = range.clone();
                } else if kinds.contains(&kind) && !dense {
                    range = shared.clone();
                }
                row.fill(0.0);
                for k in range {
                    let (id, value) = (old.0[k], old.1.get(k).copied().unwrap_or(1.0));
                    match dense && kind == first_kind && (id as usize) < width {
                        true => row[id as usize] += value as f32,
                        false => self.push_observation(id, value),
                    }
                }
                if dense && kind == first_kind {
                    matrix.push(row.iter().copied());
                }
                self.finish_table();
            }
            matrix.finish_example();
        }
        if dense {
            self.dense.extend(kinds.map(|kind| matrix.for_kind(kind)));
        }
    }

    /// Replaces every dense number x by `new`(kind of table, column, x), which must be affine in x. Kinds that share a matrix and change in
    /// the same way share it afterwards, too.
    pub(super) fn change_matrices(&mut self, new: &impl Fn(usize, u32, f64) -> f64) {
        let old = self.dense.clone();
        for k in 0..old.len() {
            let same = |j: &usize| {
                let ends = |k: usize, d: usize| [0.0, 1.0].map(|x| new(old[k].kind(), d as u32, x));
                old[*j].shares_with(&old[k]) && (0..old[k].width()).all(|d| ends(*j, d) == ends(k, d))
            };
            match (0..k).find(same) {
                Some(j) => self.dense[k] = self.dense[j].for_kind(old[k].kind()),
                None => self.dense[k].change(|d, x| new(old[k].kind(), d as u32, x)),
            }
        }
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
