//! Feature counts, for iterative scaling.

use super::{Risk, potentials};
use crate::graph::{Gradient, Graph, SharedSum, TableRef};
use crate::math::Array;
use crate::optim::FeatureCounts;

impl<G: Graph> Risk<G> {
    /// Ẽf = Aᵀ·Σ weight·1[y] over the gold labellings, and S, the greatest number of features that a labelling of an example can
    /// have. With θ = 1 the score of a labelling *is* its number of features; S adds up the greatest entry of every factor, which
    /// is exact where all labels of an observation have weights, and a bound elsewhere.
    ///
    /// `None` if a value or a weight is negative, or if tables are combinations of a basis (such as Ising tables, of
    /// either sign): then the number of features is not a bound. The cost is about one pass.
    pub(super) fn feature_counts(&self) -> Option<FeatureCounts> {
        if self.features.rows.iter().any(|rows| !rows.basis.is_empty()) {
            return None;
        }
        let mut observed = vec![0.0; self.features.dim()];
        let ones = vec![1.0; observed.len()];
        let mut shared = self.features.empty_tables();
        self.features.fill_tables(&[&ones], &mut shared);
        let mut sum = SharedSum::new(&shared);
        let (mut own, mut gold, mut total) = (Array::default(), Array::<f64>::default(), 0.0f64);
        for example in 0..self.data.len() {
            let (graph, weight) = (self.data.graph(example), self.data.weight(example));
            gold.reset(graph.own_len(), 0.0);
            Gradient { own: gold.slice_mut(0..graph.own_len()), shared: &mut sum }.add_labelling(
                graph,
                self.data.gold(example),
                weight,
            );
            for (f, table) in self.data.tables(example).enumerate() {
                let rows = &self.features.rows[graph.own_kind(f)];
                let gold = &gold.plane(0)[graph.own_offset(f)..];
                let (observations, values) = self.data.observations(table);
                if weight < 0.0 || values.iter().any(|value| *value < 0.0) {
                    return None;
                }
                for (k, &id) in observations.iter().enumerate() {
                    let value = values.get(k).copied().unwrap_or(1.0);
                    for (count, entry) in observed[rows.range(id)].iter_mut().zip(rows.entries_of(id)) {
                        *count += value * gold[entry];
                    }
                }
            }
            for dense in self.data.dense() {
                let rows = &self.features.rows[dense.kind()];
                for (f, x) in dense.tables(graph).zip(dense.of(example).chunks_exact(dense.width())) {
                    if x.iter().any(|x| *x < 0.0) {
                        return None;
                    }
                    let gold = &gold.plane(0)[graph.own_offset(f)..];
                    for (id, &x) in x.iter().enumerate() {
                        rows.scatter_at(
                            gold,
                            rows.range(id as u32),
                            x.into(),
                            &mut observed[rows.range(id as u32)],
                        );
                    }
                }
            }
            potentials(&self.features, &self.data, example, &ones, &mut own);
            let mut most = 0.0;
            graph.for_each_factor(|factor| {
                most += match factor.table {
                    TableRef::Shared(id) => shared[id].shift,
                    TableRef::Own(offset) => {
                        let last =
                            factor.vars.iter().zip(factor.strides).map(|(&v, s)| (graph.card(v) - 1) * s);
                        let table = &own.plane(0)[offset..=offset + last.sum::<usize>()];
                        table.iter().copied().fold(0.0, f64::max)
                    }
                };
            });
            total = total.max(most);
        }
        self.features.scatter_tables(&sum, 0, 0, &mut observed);
        Some(FeatureCounts { observed, total })
    }
}
