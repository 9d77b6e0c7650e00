//! A training corpus of any kind.

use super::Domain;
use crate::Result;
use crate::data::dataset::Dataset;
use crate::graph::UNLABELLED;
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

    /// Number of variables that have a gold label.
    pub fn labelled(&self) -> usize {
        let of = |example| self.data.gold(example).iter().filter(|&&label| label != UNLABELLED).count();
        (0..self.data.len()).map(of).sum()
    }
}
