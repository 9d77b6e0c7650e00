//! Observations that most tables have, as a matrix.

use super::{Dataset, DenseNumbers};
use crate::graph::Graph;
use std::ops::Range;

/// The part of the values that must differ from 0. A number takes 4 bytes in a matrix, and 12 as an observation with a value.
const FILLED: f64 = 0.25;

impl<G: Graph> Dataset<G> {
    /// Makes observations of some kinds of tables dense, in one pass over the data, however many kinds there are. Of each group, the first
    /// `width` observations of its kinds become a matrix if that saves memory and work: enough of the values differ from 0, and single
    /// precision can hold all of them. The kinds of all groups ascend.
    ///
    /// The kinds of a group share the observations of the first of them: an example has a table of each kind, that of the first kind before the
    /// others, which are still empty. If a matrix is made, it serves all of them; otherwise the others get copies.
    pub(crate) fn make_matrices(&mut self, groups: &[(Range<usize>, usize)]) {
        let mut group_of = vec![None; groups.last().map_or(0, |(kinds, _)| kinds.end)];
        for (group, (kinds, _)) in groups.iter().enumerate() {
            group_of[kinds.clone()].fill(Some(group));
        }
        let group_of = |kind: usize| group_of.get(kind).copied().flatten();
        let worth = self.worth_a_matrix(groups, group_of);
        if groups.iter().zip(&worth).all(|((kinds, _), worth)| !worth && kinds.len() == 1) {
            return;
        }
        let old = (std::mem::take(&mut self.observations), std::mem::take(&mut self.values));
        let old_first = std::mem::replace(&mut self.first_observation, vec![0]);
        let mut matrices: Vec<Option<DenseNumbers>> = groups
            .iter()
            .zip(&worth)
            .map(|((kinds, width), worth)| worth.then(|| DenseNumbers::new(kinds.start, *width, 0)))
            .collect();
        let mut row = vec![0.0f32; groups.iter().map(|(_, width)| *width).max().unwrap_or(0)];
        // The observations of the last table of the first kind of each group.
        let mut shared = vec![0..0; groups.len()];
        for example in 0..self.graphs.len() {
            for (f, table) in self.tables(example).enumerate() {
                let kind = self.graphs[example].own_kind(f);
                let mut range = old_first[table]..old_first[table + 1];
                let mut matrix = None;
                if let Some(group) = group_of(kind) {
                    let (kinds, width) = &groups[group];
                    match &mut matrices[group] {
                        Some(made) if kind == kinds.start => matrix = Some((made, *width)),
                        Some(_) => {}
                        None if kind == kinds.start => shared[group] = range.clone(),
                        None => range = shared[group].clone(),
                    }
                }
                let width = matrix.as_ref().map_or(0, |(_, width)| *width);
                row[..width].fill(0.0);
                for k in range {
                    let (id, value) = (old.0[k], old.1.get(k).copied().unwrap_or(1.0));
                    match (id as usize) < width {
                        true => row[id as usize] += value as f32,
                        false => self.push_observation(id, value),
                    }
                }
                if let Some((made, width)) = matrix {
                    made.push(row[..width].iter().copied());
                }
                self.finish_table();
            }
            matrices.iter_mut().flatten().for_each(DenseNumbers::finish_example);
        }
        for ((kinds, _), made) in groups.iter().zip(matrices) {
            if let Some(made) = made {
                self.dense.extend(kinds.clone().map(|kind| made.for_kind(kind)));
            }
        }
    }

    /// Whether a matrix is worth its memory, for each group of [`Dataset::make_matrices`].
    fn worth_a_matrix(
        &self,
        groups: &[(Range<usize>, usize)],
        group_of: impl Fn(usize) -> Option<usize>,
    ) -> Vec<bool> {
        // Tables, values that are given, and whether single precision can hold them.
        let mut found = vec![(0usize, 0usize, true); groups.len()];
        for example in 0..self.graphs.len() {
            for (f, table) in self.tables(example).enumerate() {
                let kind = self.graphs[example].own_kind(f);
                let Some(group) = group_of(kind).filter(|group| groups[*group].0.start == kind) else {
                    continue;
                };
                let (tables, filled, finite) = &mut found[group];
                *tables += 1;
                let (ids, values) = self.observations(table);
                for (k, _) in ids.iter().enumerate().filter(|(_, id)| (**id as usize) < groups[group].1) {
                    *filled += 1;
                    *finite &= values.get(k).is_none_or(|&x| (x as f32).is_finite());
                }
            }
        }
        let worth =
            |((kinds, width), (tables, filled, finite)): (&(Range<usize>, usize), (usize, usize, bool))| {
                finite && (filled * kinds.len()) as f64 >= FILLED * tables as f64 * *width as f64
            };
        groups.iter().zip(found).map(worth).collect()
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Chain, NODES, PAIRS};

    #[test]
    fn several_kinds_get_the_matrices_that_they_would_get_one_after_the_other() {
        let data = || {
            let mut data = Dataset::new();
            for example in 0..3 {
                let chain = Chain { own_pairs: true, ..Chain::first_order(3, 2) };
                for table in 0..chain.own_tables() as u32 {
                    data.push_observation(0, 1.0);
                    data.push_observation(1 + table % 2, f64::from(table + 10 * example));
                    data.push_observation(3 + table, 0.5);
                    data.finish_table();
                }
                data.finish_example(chain, [0, 1, 0], 1.0);
            }
            data
        };
        let groups = [(NODES..NODES + 1, 3), (PAIRS..PAIRS + 1, 2)];
        let (mut together, mut apart) = (data(), data());
        together.make_matrices(&groups);
        groups.chunks(1).for_each(|group| apart.make_matrices(group));
        let found = |data: &Dataset<Chain>| {
            let dense = data.dense.iter().map(|of| (of.kind(), (0..3).map(|e| of.of(e).to_vec()).collect()));
            let dense: Vec<(usize, Vec<Vec<f32>>)> = dense.collect();
            (dense, data.observations.clone(), data.values.clone(), data.first_observation.clone())
        };
        assert_eq!(found(&together), found(&apart));
        assert_eq!(together.dense.len(), 2);
        assert_eq!(together.dense[0].of(0), [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 2.0, 0.0]);
    }

    /// A matrix is the largest part of such data: it exists once.
    #[test]
    fn a_matrix_is_changed_in_place() {
        let mut data = Dataset::new();
        data.set_dense(NODES, 2);
        data.push_dense(NODES, [1.0, 2.0, 3.0, 4.0]);
        let chain = Chain::first_order(2, 2);
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
