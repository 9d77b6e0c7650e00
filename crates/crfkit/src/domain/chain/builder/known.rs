//! What a builder knows before its first sequence: the labels and observations of a model that training continues from.

use super::{CorpusBuilder, bit, set_bit};
use crate::data::observer::{Alphabet, Source};
use crate::domain::chain::vectors::{Numbers, NumbersOf};
use crate::domain::chain::{ChainModel, VectorLayout};
use crate::{Error, Result};
use std::sync::Arc;

/// What a builder knows before its first sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    model: Option<Arc<ChainModel>>,
    labels: Vec<String>,
}

impl Known {
    /// Rejects vectors of another width than the model's.
    pub(super) fn check_width(&self, of: &NumbersOf) -> Result<()> {
        let Some(model) = &self.model else { return Ok(()) };
        let layout = model.domain.vectors.clone().unwrap_or_default();
        layout.check_width(of.vectors.width(), || (of.place)(0))
    }
}

impl CorpusBuilder {
    /// The same builder, whose corpus has these labels too, whether or not a sequence has them.
    pub fn with_labels(mut self, labels: impl IntoIterator<Item = String>) -> Self {
        self.known.labels.extend(labels);
        self
    }

    /// The same builder, whose corpus also has the labels and observations of a model, for training that continues from it
    /// ([`ChainCorpus::merge_features`](crate::chain::ChainCorpus::merge_features)). Numbers are standardised as in the model. It is an
    /// error if the model makes its observations in another way, is of second order, has segments, or was trained under a constraint.
    pub fn with_base_model(mut self, model: &Arc<ChainModel>) -> Result<Self> {
        let refuse =
            |why: &str| Err(Error::Setting(format!("training cannot continue from this model: {why}")));
        if model.domain.source != self.source {
            return refuse("it has another template; use the one that it was trained with");
        }
        if model.domain.lattice.triples || model.domain.lattice.rules.is_some() {
            return refuse(
                "it is of second order, has segments, or was trained under a constraint; train a new one on all data",
            );
        }
        if let Some(layout) = &model.domain.vectors {
            if self.vectors.columns != layout.columns {
                return refuse("it has other columns of numbers");
            }
            self.vectors = VectorLayout { width: 0, ..layout.clone() };
        }
        self.numbers_as = Numbers::AsTheyAre;
        self.known.model = Some(model.clone());
        Ok(self)
    }

    /// Adds what was known before the first sequence. Returns the numbers of the observations among it, by kind.
    pub(super) fn recall(&mut self) -> Result<[Vec<u32>; 2]> {
        for label in std::mem::take(&mut self.known.labels) {
            self.labels.intern(label.as_bytes());
        }
        let Some(model) = self.known.model.take() else { return Ok([Vec::new(), Vec::new()]) };
        let domain = &model.domain;
        if self.columns != domain.columns {
            let columns = |of: Option<super::ColumnLayout>| of.map_or(0, |layout| layout.columns);
            return Err(Error::Setting(format!(
                "rows have {} columns, but the model that training continues from had {}, or its label is in another column, or they are other fields of CoNLL-U",
                columns(self.columns),
                columns(domain.columns)
            )));
        }
        domain.labels.iter().for_each(|label| {
            self.labels.intern(label.as_bytes());
        });
        let values: Vec<u32> =
            domain.alphabet.values.iter().map(|v| self.alphabet.values.intern(v)).collect();
        let words = values.iter().enumerate().filter(|(old, _)| bit(&domain.words, *old));
        words.for_each(|(_, new)| set_bit(&mut self.words, *new as usize));
        let Alphabet { node, pair, .. } = &mut self.alphabet;
        let mut key = Vec::new();
        Ok([(node, &domain.alphabet.node), (pair, &domain.alphabet.pair)].map(|(mine, theirs)| {
            theirs.iter().map(|name| mine.intern(renumbered(name, &self.source, &values, &mut key))).collect()
        }))
    }
}

/// The key of an observation, with other numbers of its values. With attributes, names are keys.
pub(in crate::domain::chain) fn renumbered<'a>(
    name: &'a [u8],
    source: &Source,
    values: &[u32],
    key: &'a mut Vec<u8>,
) -> &'a [u8] {
    if matches!(source, Source::Attributes) {
        return name;
    }
    // The skeleton's number, and those of the values.
    key.clear();
    for (k, number) in name.as_chunks().0.iter().enumerate() {
        let number = u32::from_le_bytes(*number);
        let number = if k == 0 { number } else { values[number as usize] };
        key.extend_from_slice(&number.to_le_bytes());
    }
    key
}
