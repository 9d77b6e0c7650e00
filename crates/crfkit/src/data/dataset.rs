//! Examples in flat arrays.

use crate::graph::{Graph, Label};

/// Training examples. Each has a graph; each own table of the graph has observations (with values, 1 where none are stored);
/// each variable has its gold label; each example has a weight.
#[derive(Clone, Debug, Default)]
pub struct Dataset<G> {
    graphs: Vec<G>,
    /// First own table of each example, and the end.
    first_table: Vec<usize>,
    /// First label of each example, and the end.
    first_label: Vec<usize>,
    gold: Vec<Label>,
    /// First observation of each own table, and the end.
    first_observation: Vec<usize>,
    observations: Vec<u32>,
    /// Empty while all values are 1.
    values: Vec<f64>,
    /// Empty while all weights are 1.
    weights: Vec<f64>,
}

impl<G: Graph> Dataset<G> {
    /// No examples yet.
    pub fn new() -> Self {
        Dataset {
            graphs: Vec::new(),
            first_table: vec![0],
            first_label: vec![0],
            gold: Vec::new(),
            first_observation: vec![0],
            observations: Vec::new(),
            values: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Forgets all examples and keeps the memory.
    pub fn clear(&mut self) {
        self.graphs.clear();
        self.first_table.truncate(1);
        self.first_label.truncate(1);
        self.gold.clear();
        self.first_observation.truncate(1);
        self.observations.clear();
        self.values.clear();
        self.weights.clear();
    }

    /// Replaces the graphs by others of the same shape.
    pub fn set_graphs(&mut self, graph: impl Fn(&G) -> G) {
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

    /// Ends an own table.
    #[inline]
    pub fn finish_table(&mut self) {
        self.first_observation.push(self.observations.len());
    }

    /// Ends an example. Its own tables must have been pushed in the graph's order.
    pub fn finish_example(&mut self, graph: G, gold: impl IntoIterator<Item = Label>, weight: f64) {
        self.gold.extend(gold);
        if weight != 1.0 && self.weights.is_empty() {
            self.weights = vec![1.0; self.graphs.len()];
        }
        if !self.weights.is_empty() || weight != 1.0 {
            self.weights.push(weight);
        }
        self.first_label.push(self.gold.len());
        self.first_table.push(self.first_observation.len() - 1);
        debug_assert_eq!(self.tables(self.graphs.len()).len(), graph.own_tables());
        self.graphs.push(graph);
    }

    /// How many examples.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// No examples at all?
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// Number of labelled variables (tokens) in all examples.
    pub fn variables(&self) -> usize {
        self.gold.len()
    }

    /// The structure of an example.
    #[inline]
    pub fn graph(&self, example: usize) -> &G {
        &self.graphs[example]
    }

    /// Numbers of the own tables of an example, counted over the whole set.
    #[inline]
    pub fn tables(&self, example: usize) -> std::ops::Range<usize> {
        self.first_table[example]..self.first_table[example + 1]
    }

    /// The observations of an own table, and their values (empty: all 1).
    #[inline]
    pub fn observations(&self, table: usize) -> (&[u32], &[f64]) {
        let range = self.first_observation[table]..self.first_observation[table + 1];
        let values = if self.values.is_empty() { &[] } else { &self.values[range.clone()] };
        (&self.observations[range], values)
    }

    /// The gold labels of an example.
    #[inline]
    pub fn gold(&self, example: usize) -> &[Label] {
        &self.gold[self.first_label[example]..self.first_label[example + 1]]
    }

    /// How much an example counts.
    #[inline]
    pub fn weight(&self, example: usize) -> f64 {
        if self.weights.is_empty() { 1.0 } else { self.weights[example] }
    }

    /// Reads ahead what is known of some examples: they come in random order, and their reads would wait for one another, a line
    /// of 64 bytes at a time; here they overlap.
    pub fn expect(&self, examples: &[u32]) {
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

    /// Multiplies the values of the observations of each kind of table.
    pub fn scale_values(&mut self, factor: impl Fn(usize) -> f64) {
        if self.values.is_empty() {
            self.values = vec![1.0; self.observations.len()];
        }
        for example in 0..self.graphs.len() {
            for (f, table) in self.tables(example).enumerate() {
                let factor = factor(self.graphs[example].own_kind(f));
                let range = self.first_observation[table]..self.first_observation[table + 1];
                self.values[range].iter_mut().for_each(|value| *value *= factor);
            }
        }
    }

    /// Renumbers labels and observations, drops the observations that `observation` (of a kind of table) maps to
    /// `None`, and replaces the graphs by ones of the same shape.
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
