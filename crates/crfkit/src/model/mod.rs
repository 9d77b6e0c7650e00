//! The trained model: alphabets, features and weights. Immutable, shared between threads.

mod compact;
mod dense;
pub mod dump;
mod features;
mod file;
mod map;
mod names;
mod precision;
mod rows;
pub(crate) mod sections;
mod stored;
mod tables;
mod transfer;

pub(crate) use compact::{above, compact_is_smaller, kept_names};
pub use dense::Dense;
pub use features::{Features, Keep, Kind, SharedShape, TableWeights};
pub(crate) use file::{Origin, check_alphabet, check_labels, is_text};
pub use map::open;
pub use names::{Entries, LabelSet, NamedWeight, Names, Part, SetLabel, WeightKind};
pub use precision::Precision;
pub use rows::Rows;
pub(crate) use stored::{read_features, write_features};
pub use tables::Tables;

use crate::data::bytes::Numbers;
use crate::data::observer::{Alphabet, Source};
use crate::graph::{Chain, Label, PAIRS, Shared};

/// A linear-chain model. Nothing in it changes after training, so one model serves any number of [`crate::tag::Tagger`]s.
#[derive(Clone, Debug)]
pub struct Model {
    /// Names of the labels, sorted.
    pub labels: Vec<String>,
    /// What makes observations from input.
    pub source: Source,
    /// Names of the observations.
    pub alphabet: Alphabet,
    /// Words seen in training, one bit for each value number; empty where the input has no words (attributes).
    pub words: Vec<u64>,
    /// Which weight stands where.
    pub features: Features,
    /// θ.
    pub weights: Numbers<f64>,
    /// Every setting that shaped the weights.
    pub settings: serde_json::Value,
}

impl Model {
    /// The number of a label.
    pub fn label(&self, name: &str) -> Option<Label> {
        self.labels.binary_search_by(|l| l.as_str().cmp(name)).ok().map(|i| i as Label)
    }

    /// Was this word seen in training? `None` if the model knows no words.
    pub fn knows(&self, word: &str) -> Option<bool> {
        if self.words.is_empty() {
            return None;
        }
        let value = self.alphabet.values.find(word.as_bytes()).map(|id| id as usize);
        Some(value.is_some_and(|id| self.words.get(id / 64).is_some_and(|bits| bits >> (id % 64) & 1 == 1)))
    }

    /// The chain of a sequence of `len` tokens.
    pub fn chain(&self, len: usize) -> Chain {
        Chain { len, labels: self.labels.len(), own_pairs: self.features.rows[PAIRS].len > 0 }
    }

    /// The shared tables of the model's weights.
    pub fn tables(&self) -> Shared<f64> {
        let mut shared = self.features.empty_tables();
        self.features.fill_tables(&[&self.weights], &mut shared);
        shared
    }
}
