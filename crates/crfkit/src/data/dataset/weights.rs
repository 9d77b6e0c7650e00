//! The weights of single variables.

use super::Dataset;
use crate::graph::{FIRST_SET, Graph};

impl<G: Graph> Dataset<G> {
    /// Gives the variables of the last example these weights. Losses that are not sums over variables ignore them.
    ///
    /// # Panics
    /// If there is not one weight for each gold label of the example.
    pub fn set_variable_weights(&mut self, weights: &[f64]) {
        let last = self.gold(self.graphs.len() - 1).len();
        assert_eq!(weights.len(), last, "one weight per gold label");
        if self.variable_weights.is_empty() && weights.iter().all(|weight| *weight == 1.0) {
            return;
        }
        self.variable_weights.resize(self.gold.len() - last, 1.0);
        self.variable_weights.extend_from_slice(weights);
    }

    /// Multiplies the weight of every variable with a known label by a factor.
    pub(crate) fn scale_variable_weights(&mut self, factor: impl Fn(&G, usize, usize) -> f64) {
        self.variable_weights.resize(self.gold.len(), 1.0);
        for (example, graph) in self.graphs.iter().enumerate() {
            for (v, at) in (self.first_label[example]..self.first_label[example + 1]).enumerate() {
                if self.gold[at] < FIRST_SET {
                    self.variable_weights[at] *= factor(graph, v, self.gold[at] as usize);
                }
            }
        }
        if self.variable_weights.iter().all(|weight| *weight == 1.0) {
            self.variable_weights.clear();
        }
    }

    /// Gives variables without a weight the weight 1, if others have one.
    pub(super) fn weigh_to_end(&mut self) {
        if !self.variable_weights.is_empty() {
            self.variable_weights.resize(self.gold.len(), 1.0);
        }
    }

    /// The weights of the variables of an example; empty if all weights of the set are 1.
    #[inline]
    pub fn variable_weights(&self, example: usize) -> &[f64] {
        let range = self.first_label[example]..self.first_label[example + 1];
        if self.variable_weights.is_empty() { &[] } else { &self.variable_weights[range] }
    }

    /// Whether some variable has a weight other than 1.
    pub(crate) fn uses_variable_weights(&self) -> bool {
        !self.variable_weights.is_empty()
    }
}
