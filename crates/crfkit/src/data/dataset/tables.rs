//! Examples with more tables.

use super::Dataset;
use crate::graph::Graph;
use std::ops::Range;

impl<G: Graph> Dataset<G> {
    /// The same examples with additional tables: `insert` adds those of an example, which go to `place` among its tables.
    pub(crate) fn with_tables(
        &self,
        place: impl Fn(&G) -> usize,
        mut insert: impl FnMut(usize, &mut Self),
        graph: impl Fn(&G) -> G,
    ) -> Self {
        let mut all = Dataset { sets: self.sets.clone(), ..Dataset::new() };
        all.set_dense_like(self);
        for example in 0..self.len() {
            let (tables, old) = (self.tables(example), &self.graphs[example]);
            let middle = tables.start + place(old);
            all.push_tables_of(self, tables.start..middle);
            insert(example, &mut all);
            all.push_tables_of(self, middle..tables.end);
            for (mine, dense) in all.dense.iter_mut().zip(&self.dense) {
                mine.push(dense.of(example).iter().copied());
            }
            all.finish_example(graph(old), self.gold(example).iter().copied(), self.weight(example));
            if self.uses_variable_weights() {
                all.set_variable_weights(self.variable_weights(example));
            }
        }
        all
    }

    /// Adds tables of another set.
    fn push_tables_of(&mut self, other: &Self, tables: Range<usize>) {
        for table in tables {
            let (observations, values) = other.observations(table);
            for (k, &id) in observations.iter().enumerate() {
                self.push_observation(id, values.get(k).copied().unwrap_or(1.0));
            }
            self.finish_table();
        }
    }
}
