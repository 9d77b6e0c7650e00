//! Examples in flat arrays.

mod labels;
mod matrix;
mod tables;
mod weights;
mod zeros;

pub(crate) use super::dense::DenseNumbers;
use crate::graph::{Graph, Label, LabelBits};
use std::sync::Arc;

/// Training examples. Each example has a graph and a weight. Each own table of the graph has observations (with values,
/// or 1 if none are stored). Each variable has its gold label.
#[derive(Clone, Debug, Default)]
pub struct Dataset<G> {
    graphs: Vec<G>,
    /// First own table of each example, and the end of the last.
    first_table: Vec<usize>,
    /// First label of each example, and the end of the last.
    first_label: Vec<usize>,
    gold: Vec<Label>,
    /// The sets of labels that gold labels may stand for ([`FIRST_SET`](crate::graph::FIRST_SET)).
    sets: Arc<[LabelBits]>,
    /// First observation of each own table, and the end of the last.
    first_observation: Vec<usize>,
    observations: Vec<u32>,
    /// Values of the observations; empty while all are 1.
    values: Vec<f64>,
    /// Weights of the examples; empty while all are 1.
    weights: Vec<f64>,
    /// The values of dense observations, for each kind of table that has them.
    dense: Vec<DenseNumbers>,
    /// Weights of the variables, in the order of `gold`; empty while all are 1.
    variable_weights: Vec<f64>,
}

impl<G: Graph> Dataset<G> {
    /// A set without examples.
    pub fn new() -> Self {
        Dataset {
            graphs: Vec::new(),
            first_table: vec![0],
            first_label: vec![0],
            gold: Vec::new(),
            sets: Arc::default(),
            first_observation: vec![0],
            observations: Vec::new(),
            values: Vec::new(),
            weights: Vec::new(),
            dense: Vec::new(),
            variable_weights: Vec::new(),
        }
    }

    /// Removes all examples, but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.graphs.clear();
        self.first_table.truncate(1);
        self.first_label.truncate(1);
        self.gold.clear();
        self.first_observation.truncate(1);
        self.observations.clear();
        self.values.clear();
        self.weights.clear();
        self.dense.iter_mut().for_each(DenseNumbers::clear);
        self.variable_weights.clear();
    }

    /// Replaces the graphs by others of the same shape.
    pub(crate) fn set_graphs(&mut self, graph: impl Fn(&G) -> G) {
        self.graphs.iter_mut().for_each(|old| *old = graph(old));
    }

    /// Adds an observation to the table that is being built.
    #[inline]
    pub fn push_observation(&mut self, observation: u32, value: f64) {
        if value != 1.0 && self.values.is_empty() {
            self.values = vec![1.0; self.observations.len()];
        }
        self.observations.push(observation);
        if !self.values.is_empty() || value != 1.0 {
            self.values.push(value);
        }
    }

    /// Makes the first `width` observations of a kind of table dense: every such table has all of them, and their values are in one matrix.
    /// The other observations of the kind have numbers from `width` on. Call it before adding examples with such tables.
    pub fn set_dense(&mut self, kind: usize, width: usize) {
        if width > 0 {
            self.dense.push(DenseNumbers::new(kind, width, self.graphs.len()));
        }
    }

    /// Adds the values of dense observations of the next tables of a kind, which must have been [made dense](Self::set_dense).
    pub fn push_dense(&mut self, kind: usize, values: impl IntoIterator<Item = f32>) {
        if let Some(dense) = self.dense.iter_mut().find(|dense| dense.kind() == kind) {
            dense.push(values.into_iter());
        }
    }

    /// The values of dense observations, kind by kind.
    #[doc(hidden)]
    pub fn dense(&self) -> &[DenseNumbers] {
        &self.dense
    }

    /// Takes the dense numbers of `other`, whose examples have the same tables of the kinds that `same` names, and none of other
    /// kinds. Call it last.
    pub(crate) fn share_dense(&mut self, other: &Self, same: impl Fn(usize) -> bool) {
        let examples = self.graphs.len();
        let take = |dense: &DenseNumbers| match same(dense.kind()) {
            true => dense.clone(),
            false => DenseNumbers::new(dense.kind(), dense.width(), examples),
        };
        self.dense = other.dense.iter().map(take).collect();
    }

    /// Makes the same kinds of table dense as in `other`.
    pub(crate) fn set_dense_like(&mut self, other: &Self) {
        self.dense = other.dense.iter().map(DenseNumbers::empty).collect();
    }

    /// For each own table of an example, its place among those of its kind; nothing if no kind is dense.
    pub(crate) fn dense_places(&self, example: usize) -> Vec<usize> {
        let graph = &self.graphs[example];
        let mut next = Vec::new();
        let place = |f: usize| {
            let kind = graph.own_kind(f);
            next.resize(next.len().max(kind + 1), 0);
            next[kind] += 1;
            next[kind] - 1
        };
        if self.dense.is_empty() { Vec::new() } else { (0..graph.own_tables()).map(place).collect() }
    }

    /// Adds the dense numbers of own table `f` of an example of `other`, which has the same dense kinds. `places` is
    /// [`Dataset::dense_places`] of the example.
    pub(crate) fn push_dense_of(&mut self, other: &Self, example: usize, f: usize, places: &[usize]) {
        let kind = other.graphs[example].own_kind(f);
        for (mine, dense) in self.dense.iter_mut().zip(&other.dense).filter(|(_, dense)| dense.kind() == kind)
        {
            mine.push(dense.of(example)[places[f] * dense.width()..][..dense.width()].iter().copied());
        }
    }

    /// Ends the own table that is being built.
    #[inline]
    pub fn finish_table(&mut self) {
        self.first_observation.push(self.observations.len());
    }

    /// Ends the example that is being built. Its own tables must have been pushed in the graph's order.
    pub fn finish_example(&mut self, graph: G, gold: impl IntoIterator<Item = Label>, weight: f64) {
        self.gold.extend(gold);
        if weight != 1.0 && self.weights.is_empty() {
            self.weights = vec![1.0; self.graphs.len()];
        }
        if !self.weights.is_empty() || weight != 1.0 {
            self.weights.push(weight);
        }
        self.weigh_to_end();
        self.first_label.push(self.gold.len());
        self.first_table.push(self.first_observation.len() - 1);
        self.dense.iter_mut().for_each(DenseNumbers::finish_example);
        debug_assert_eq!(self.tables(self.graphs.len()).len(), graph.own_tables());
        self.graphs.push(graph);
    }

    /// Sets the gold labels of the last example, which must have none yet.
    pub(crate) fn set_last_gold(&mut self, gold: &[Label]) {
        self.gold.extend_from_slice(gold);
        self.weigh_to_end();
        if let Some(end) = self.first_label.last_mut() {
            *end = self.gold.len();
        }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// Number of labelled variables (tokens) in all examples.
    pub fn variables(&self) -> usize {
        self.gold.len()
    }

    /// The graph of an example.
    #[inline]
    pub fn graph(&self, example: usize) -> &G {
        &self.graphs[example]
    }

    /// The own tables of an example, numbered over the whole set.
    #[inline]
    pub fn tables(&self, example: usize) -> std::ops::Range<usize> {
        self.first_table[example]..self.first_table[example + 1]
    }

    /// The observations of an own table, and their values (empty if all are 1).
    #[inline]
    pub fn observations(&self, table: usize) -> (&[u32], &[f64]) {
        let range = self.first_observation[table]..self.first_observation[table + 1];
        let values = if self.values.is_empty() { &[] } else { &self.values[range.clone()] };
        (&self.observations[range], values)
    }

    /// The number of observations of an example.
    #[inline]
    pub(crate) fn observed(&self, example: usize) -> usize {
        let tables = self.tables(example);
        self.first_observation[tables.end] - self.first_observation[tables.start]
    }

    /// The gold labels of an example.
    #[inline]
    pub fn gold(&self, example: usize) -> &[Label] {
        &self.gold[self.first_label[example]..self.first_label[example + 1]]
    }

    /// The weight of an example.
    #[inline]
    pub fn weight(&self, example: usize) -> f64 {
        if self.weights.is_empty() { 1.0 } else { self.weights[example] }
    }

    /// The examples for which `keep` is true.
    pub(crate) fn select(&self, keep: impl Fn(usize) -> bool) -> Self
    where
        G: Clone,
    {
        let mut part = Dataset { sets: self.sets.clone(), ..Dataset::new() };
        part.dense.extend(self.dense.iter().map(DenseNumbers::empty));
        for example in (0..self.len()).filter(|&example| keep(example)) {
            part.push_example_of(self, example, |label| label, |_, id| id);
        }
        part
    }

    /// Adds an example of another set, with its labels and, by the kind of table, its observations renumbered.
    pub(crate) fn push_example_of(
        &mut self,
        other: &Self,
        example: usize,
        label: impl Fn(Label) -> Label,
        observation: impl Fn(usize, u32) -> u32,
    ) where
        G: Clone,
    {
        let graph = &other.graphs[example];
        for (f, table) in other.tables(example).enumerate() {
            let kind = graph.own_kind(f);
            let (observations, values) = other.observations(table);
            for (k, &id) in observations.iter().enumerate() {
                self.push_observation(observation(kind, id), values.get(k).copied().unwrap_or(1.0));
            }
            self.finish_table();
        }
        for (mine, dense) in self.dense.iter_mut().zip(&other.dense) {
            mine.push(dense.of(example).iter().copied());
        }
        let gold = other.gold(example).iter().map(|&gold| label(gold));
        self.finish_example(graph.clone(), gold, other.weight(example));
        if other.uses_variable_weights() {
            self.set_variable_weights(other.variable_weights(example));
        }
    }

    /// Makes room for all examples of other sets.
    pub(crate) fn reserve<'a>(&mut self, others: impl Iterator<Item = &'a Self> + Clone)
    where
        G: 'a,
    {
        let sum = |of: fn(&Self) -> usize| others.clone().map(of).sum::<usize>();
        self.graphs.reserve_exact(sum(|set| set.graphs.len()));
        self.first_table.reserve_exact(sum(|set| set.graphs.len()));
        self.first_label.reserve_exact(sum(|set| set.graphs.len()));
        self.gold.reserve_exact(sum(|set| set.gold.len()));
        self.first_observation.reserve_exact(sum(|set| set.first_observation.len()));
        self.observations.reserve_exact(sum(|set| set.observations.len()));
    }

    /// Prefetches the data of some examples. Examples come in random order, so their reads would wait for one another,
    /// one line of 64 bytes at a time. Here the reads overlap.
    pub(crate) fn expect(&self, examples: &[u32]) {
        let examples = || examples.iter().map(|&example| example as usize);
        let mut sum = 0;
        for example in examples() {
            sum += self.first_table[example] + self.first_label[example] + self.graphs[example].own_len();
        }
        for example in examples() {
            sum += self.first_observation[self.tables(example)].iter().step_by(8).sum::<usize>();
            sum += self.gold(example).iter().step_by(16).map(|&label| label as usize).sum::<usize>();
        }
        for example in examples() {
            let tables = self.tables(example);
            let range = self.first_observation[tables.start]..self.first_observation[tables.end];
            sum += self.observations[range].iter().step_by(16).map(|&id| id as usize).sum::<usize>();
        }
        std::hint::black_box(sum);
    }

    /// Total number of observations in all tables.
    pub fn occurrences(&self) -> usize {
        self.observations.len()
    }

    /// Replaces every value x of the observations by `new`(kind of table, observation, x), which must be affine in x.
    pub(crate) fn change_values(&mut self, new: impl Fn(usize, u32, f64) -> f64) {
        self.change_matrices(&new);
        for example in 0..self.graphs.len() {
            for (f, table) in self.tables(example).enumerate() {
                let kind = self.graphs[example].own_kind(f);
                let range = self.first_observation[table]..self.first_observation[table + 1];
                if self.values.is_empty()
                    && self.observations[range.clone()].iter().any(|&id| new(kind, id, 1.0) != 1.0)
                {
                    self.values = vec![1.0; self.observations.len()];
                }
                if !self.values.is_empty() {
                    let observations = self.values[range.clone()].iter_mut().zip(&self.observations[range]);
                    observations.for_each(|(value, &id)| *value = new(kind, id, *value));
                }
            }
        }
    }

    /// Renumbers labels and observations, and replaces the graphs by ones of the same shape. Observations that
    /// `observation` (given the kind of table) maps to `None` are dropped.
    #[doc(hidden)]
    pub fn renumber(
        &mut self,
        label: impl Fn(Label) -> Label,
        observation: impl Fn(usize, u32) -> Option<u32>,
        graph: impl Fn(&G) -> G,
    ) {
        for gold in &mut self.gold {
            *gold = label(*gold);
        }
        let mut kept = 0;
        for example in 0..self.graphs.len() {
            self.graphs[example] = graph(&self.graphs[example]);
            for (f, table) in self.tables(example).enumerate() {
                let kind = self.graphs[example].own_kind(f);
                let (start, end) = (self.first_observation[table], self.first_observation[table + 1]);
                self.first_observation[table] = kept;
                for i in start..end {
                    if let Some(new) = observation(kind, self.observations[i]) {
                        self.observations[kept] = new;
                        if !self.values.is_empty() {
                            self.values[kept] = self.values[i];
                        }
                        kept += 1;
                    }
                }
            }
        }
        if let Some(last) = self.first_observation.last_mut() {
            *last = kept;
        }
        self.observations.truncate(kept);
        self.observations.shrink_to_fit();
        self.values.truncate(kept);
        self.values.shrink_to_fit();
    }
}
