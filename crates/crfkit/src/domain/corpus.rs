//! A training corpus of any kind.

use super::Domain;
use super::label_weights::LabelWeights;
use crate::Result;
use crate::data::dataset::Dataset;
use crate::graph::{FIRST_SET, UNLABELLED};
use crate::model::Features;
use crate::settings::Settings;

/// A training corpus: everything that is known after reading the training data.
#[derive(Clone, Debug)]
pub struct Corpus<D: Domain> {
    /// The domain: labels, alphabets and the like.
    pub domain: D,
    /// The examples.
    pub data: Dataset<D::Graph>,
}

impl<D: Domain> Corpus<D> {
    /// The features that the corpus has under these settings.
    pub fn features(&self, settings: &Settings) -> Features {
        self.domain.features(&self.data, settings)
    }

    /// Adds an input to the examples. The alphabets do not change.
    pub fn observe(
        &self,
        input: &D::Input,
        scratch: &mut D::Scratch,
        data: &mut Dataset<D::Graph>,
    ) -> Result<()> {
        self.domain.observe(input, scratch, data)
    }

    /// Multiplies the weight of each variable by the weight of its gold label, for objectives that weigh single variables
    /// ([`Criterion::uses_variable_weights`](crate::settings::Criterion::uses_variable_weights)). Labels that are not named have weight 1.
    /// It is an error if a weight is negative or not finite, or if nothing has the label.
    pub fn set_label_weights(&mut self, weights: impl IntoIterator<Item = (String, f64)>) -> Result<()> {
        let mut weights = LabelWeights::new(weights)?;
        let sets = self.domain.label_sets();
        let mut of: Vec<Vec<Option<f64>>> = sets.iter().map(|set| vec![None; set.labels.len()]).collect();
        for example in 0..self.data.len() {
            let (graph, gold) = (self.data.graph(example), self.data.gold(example));
            for (v, label) in gold.iter().enumerate().filter(|(_, label)| **label < FIRST_SET) {
                let (set, label) = (self.domain.label_set_of(graph, v), *label as usize);
                of[set][label].get_or_insert_with(|| weights.of_label(&sets[set].labels[label]));
            }
        }
        weights.check()?;
        let domain = &self.domain;
        self.data.scale_variable_weights(|graph, v, label| {
            of[domain.label_set_of(graph, v)][label].unwrap_or(1.0)
        });
        Ok(())
    }

    /// Number of variables that have a gold label.
    pub fn labelled(&self) -> usize {
        let of = |example| self.data.gold(example).iter().filter(|&&label| label != UNLABELLED).count();
        (0..self.data.len()).map(of).sum()
    }
}
