//! The features of new data together with those of a model that training continues from.

use super::builder::renumbered;
use super::{ChainCorpus, ChainModel};
use crate::graph::{NODES, PAIRS};
use crate::math::simd;
use crate::model::Features;

impl ChainCorpus {
    /// The features of this corpus together with those of `model`, and the weights of the model in their order; new weights are 0. The
    /// corpus must come from a builder that knew the model ([`CorpusBuilder::with_base_model`](super::CorpusBuilder::with_base_model)).
    pub fn merge_features(&self, features: &Features, model: &ChainModel) -> (Features, Vec<f64>) {
        let (new, old) = (&self.domain, &model.domain);
        let number = |label: &String| new.labels.binary_search(label).ok();
        let labels: Vec<Option<usize>> = old.labels.iter().map(number).collect();
        let [from, to] = [simd::padded(old.labels.len()), simd::padded(new.labels.len())];
        // A table has one line, or one for each label.
        let entry = |lines: usize, entry: usize| {
            let line = if lines > 1 { labels[entry / from]? } else { 0 };
            Some((line * to + labels[entry % from]?) as u32)
        };
        let values: Vec<u32> = old
            .alphabet
            .values
            .iter()
            .map(|value| new.alphabet.values.find(value).unwrap_or(u32::MAX))
            .collect();
        let mut key = Vec::new();
        let mut rows = vec![Vec::new(), Vec::new()];
        for (kind, mine, theirs) in
            [(NODES, &new.alphabet.node, &old.alphabet.node), (PAIRS, &new.alphabet.pair, &old.alphabet.pair)]
        {
            let dims = if kind == NODES { old.dims() as u32 } else { 0 };
            let known = &model.features.rows[kind];
            let named = theirs.iter().map(|name| {
                mine.find(renumbered(name, &old.source, &values, &mut key)).map(|row| row + dims)
            });
            for (row, place) in (0..dims).map(Some).chain(named).enumerate().take(known.len) {
                let Some(place) = place else { continue };
                let weights = &model.weights[known.range(row as u32)];
                let weights = known.entries_of(row as u32).zip(weights);
                rows[kind].extend(weights.filter_map(|(e, w)| Some((place, entry(known.lines, e)?, *w))));
            }
        }
        let tables = model.features.tables.iter().map(|table| {
            let weights = table.entry.iter().zip(&model.weights[table.base..]);
            weights.filter_map(|(e, w)| Some((0, entry(table.lines, *e as usize)?, *w))).collect()
        });
        features.joined(rows, tables.collect())
    }
}
