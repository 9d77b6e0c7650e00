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

    /// Gives tables of other kinds the dense numbers of those of the first kind, without a copy. Examples must have as many tables of each kind, in the
    /// same order.
    pub(crate) fn share_matrix(&mut self, kinds: Range<usize>) {
        if let Some(first) = self.dense.first().cloned() {
            self.dense.extend(kinds.map(|kind| first.for_kind(kind)));
        }
    }

    /// Replaces every dense number x by `new`(kind of table, column, x), which must be affine in x. Kinds that share a matrix and change in
    /// the same way share it afterwards, too. Matrices are changed in place, because a second one might not fit into memory.
    pub(crate) fn change_matrices(&mut self, new: &impl Fn(usize, u32, f64) -> f64) {
        let dense = &self.dense;
        let same = |j: &usize, k: usize| {
            let ends = |k: usize, d: usize| [0.0, 1.0].map(|x| new(dense[k].kind(), d as u32, x));
            dense[*j].shares_with(&dense[k]) && (0..dense[k].width()).all(|d| ends(*j, d) == ends(k, d))
        };
        let first: Vec<_> = (0..dense.len()).map(|k| (0..k).find(|j| same(j, k))).collect();
        for k in (0..first.len()).filter(|k| first[*k].is_some()) {
            self.dense[k] = self.dense[k].empty();
        }
        for (k, first) in first.into_iter().enumerate() {
            let kind = self.dense[k].kind();
            match first {
                Some(j) => self.dense[k] = self.dense[j].for_kind(kind),
                None => self.dense[k].change(|d, x| new(kind, d as u32, x)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Chain, NODES};

    /// A matrix is the largest part of such data: it exists once.
    #[test]
    fn a_matrix_is_changed_in_place() {
        let mut data = Dataset::new();
        data.set_dense(NODES, 2);
        data.push_dense(NODES, [1.0, 2.0, 3.0, 4.0]);
        let chain = Chain { len: 2, labels: 2, own_pairs: false, triples: false, segments: None };
        (0..chain.own_tables()).for_each(|_| data.finish_table());
        data.finish_example(chain, [0, 1], 1.0);
        let other = NODES + 1;
        data.share_matrix(other..other + 1);
        let place = data.dense[0].of(0).as_ptr();
        data.change_matrices(&|_, d, x| x * 10.0 + f64::from(d));
        assert_eq!(data.dense[0].of(0), [10.0, 21.0, 30.0, 41.0]);
        assert!(data.dense.iter().all(|dense| dense.of(0).as_ptr() == place));
        assert_eq!(data.dense[1].kind(), other);
        // Kinds that change in different ways have a matrix each.
        data.change_matrices(&|kind, _, x| if kind == NODES { x } else { -x });
        assert_eq!((data.dense[0].of(0)[0], data.dense[1].of(0)[0]), (10.0, -10.0));
    }
}
