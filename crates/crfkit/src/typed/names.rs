//! What the weights of typed graphs are called.

use super::{TypedCorpus, TypedModel, Types};
use crate::Result;
use crate::data::strings::Strings;
use crate::model::{Features, LabelSet, Names, Part};
use std::borrow::Cow;

fn of<'a>(types: &'a Types, names: &'a [Strings], features: &'a Features, weights: &'a [f64]) -> Names<'a> {
    let sets = types.nodes().iter();
    let sets = sets.map(|of| LabelSet { name: Some(of.name.clone()), labels: (&of.labels).into() });
    let parts = types.all().iter().zip(names).zip(&features.rows).map(|((of, names), rows)| {
        let named = |id| String::from_utf8_lossy(names.get(id)).into_owned();
        Part::described(&*of.name, of.over.clone(), of.tables, Cow::Borrowed(rows), of.dense, named)
    });
    Names { sets: sets.collect(), parts: parts.collect(), weights }
}

impl TypedModel {
    /// Its weights by name.
    pub fn names(&self) -> Names<'_> {
        of(&self.types, &self.names, &self.features, &self.weights)
    }

    /// This model's weights, arranged for `features` of `corpus`; what it does not know gets 0.
    pub fn weights_for(&self, corpus: &TypedCorpus, features: &Features) -> Result<Vec<f64>> {
        self.names().weights_for(&of(&corpus.types, &corpus.names, features, &[]), features.dim())
    }
}
