//! A trained model of linked chains.

use super::{Engine, Links};
use crate::data::observer::Alphabet;
use crate::data::template::Templates;
use crate::graph::{Label, Shared};
use crate::model::Features;
use std::sync::Arc;

/// A model of linked chains. Nothing in it changes after training, so one model serves any number of
/// [`LinkedTagger`](super::LinkedTagger)s.
#[derive(Clone, Debug)]
pub struct LinkedModel {
    /// What links the labels.
    pub links: Links,
    /// What makes observations from input.
    pub templates: Templates,
    /// Number of columns of the training data.
    pub columns: usize,
    /// Which of them are labels.
    pub label_columns: Vec<usize>,
    /// Names of the labels of each of those columns, sorted.
    pub labels: Vec<Vec<String>>,
    /// Names of the observations.
    pub alphabet: Alphabet,
    /// Which weight stands where.
    pub features: Arc<Features>,
    /// θ.
    pub weights: Vec<f64>,
    /// The inference that it was trained with, and labels with unless told otherwise.
    pub engine: Engine,
    /// Every setting that shaped the weights.
    pub settings: serde_json::Value,
}

impl LinkedModel {
    /// The number of a label of label column `column`.
    pub fn label(&self, column: usize, name: &str) -> Option<Label> {
        self.labels[column].binary_search_by(|l| l.as_str().cmp(name)).ok().map(|i| i as Label)
    }

    /// How many labels each label column has.
    pub fn cards(&self) -> Vec<usize> {
        self.labels.iter().map(Vec::len).collect()
    }

    /// The shared tables of the model's weights.
    pub fn tables(&self) -> Shared<f64> {
        let mut shared = self.features.empty_tables();
        self.features.fill_tables(&[&self.weights], &mut shared);
        shared
    }

    /// Columns that new data needs: those that templates and rule read, and all where a label stands in front of one of them.
    pub fn columns_needed(&self) -> usize {
        let rule = match &self.links {
            Links::Factorial => None,
            Links::SkipChain { rule, .. } => rule.columns().last().copied(),
        };
        let read = self.templates.columns_needed.max(rule.map_or(0, |column| column + 1));
        let labels_are_last = self.label_columns.iter().all(|&column| column >= read);
        if labels_are_last { read } else { self.columns }
    }
}
