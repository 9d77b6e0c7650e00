//! The weights of one model, carried over to the features of other data.

use super::names::{LabelSet, Names, Part, WeightKind};
use super::{Features, Model};
use crate::data::corpus::Corpus;
use crate::math::simd;
use crate::{Error, Result};
use std::collections::HashMap;

impl Model {
    /// This model's weights, arranged for `features` of `corpus`: observations and labels are matched by name, and what
    /// this model does not know gets 0.
    pub fn weights_for(&self, corpus: &Corpus, features: &Features) -> Vec<f64> {
        let Corpus { labels, source, alphabet, .. } = corpus;
        let new = Names::chain(labels, source, alphabet, features, &[]);
        self.names().weights_for(&new, features.dim()).expect("chains have the same parts")
    }
}

impl Names<'_> {
    /// These weights, arranged for the `dim` weights that `new` names: parts, observations and labels are matched by name, and what
    /// is unknown here gets 0. Refused: parts of one name that differ in their variables or tables, and nothing in common.
    pub fn weights_for(&self, new: &Names, dim: usize) -> Result<Vec<f64>> {
        let old_set = |set: &LabelSet| self.sets.iter().position(|old| old.name == set.name);
        let old_labels = |set: &LabelSet| -> Vec<Option<usize>> {
            let Some(old) = old_set(set) else { return vec![None; set.labels.len()] };
            let numbers: HashMap<&String, usize> = self.sets[old].labels.iter().zip(0..).collect();
            set.labels.iter().map(|label| numbers.get(label).copied()).collect()
        };
        let labels: Vec<Vec<Option<usize>>> = new.sets.iter().map(old_labels).collect();
        let mut theta = vec![0.0; dim];
        let mut known = false;
        for part in &new.parts {
            let same = |old: &&Part| old.name == part.name && old.is_table() == part.is_table();
            let Some(old) = self.parts.iter().find(same) else { continue };
            let set_names = |names: &Names, part: &Part| -> Vec<Option<String>> {
                part.over.iter().map(|&set| names.sets[set].name.clone()).collect()
            };
            if old.tables != part.tables || set_names(self, old) != set_names(new, part) {
                return Err(Error::Setting(format!(
                    "the model has other tables for `{}` ({}, not {}), or has it over other variables: its weights cannot be used \
                     here",
                    part.name,
                    old.tables.name(),
                    part.tables.name()
                )));
            }
            known = true;
            self.carry(old, new, part, &labels, &mut theta);
        }
        match known {
            true => Ok(theta),
            false => {
                let names = |names: &Names| {
                    names.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(", ")
                };
                let (old, new) = (names(self), names(new));
                Err(Error::Setting(format!(
                    "the model has nothing in common with the data: it has weights of {old}, but weights of {new} are needed"
                )))
            }
        }
    }

    /// Carries over the rows of a part; `labels` are the old numbers of the new labels, set by set.
    fn carry(&self, old: &Part, new: &Names, part: &Part, labels: &[Vec<Option<usize>>], theta: &mut [f64]) {
        let known: HashMap<(WeightKind, Option<String>), u32> =
            (0..old.rows()).map(|row| ((old.observation)(row), row)).collect();
        // The weights of one old row, by entry of its table.
        let mut table = HashMap::new();
        for row in 0..part.rows() {
            let Some(&old_row) = known.get(&(part.observation)(row)) else { continue };
            let weights = self.weights[old.range(old_row)].iter().enumerate();
            table.clear();
            table.extend(weights.map(|(k, w)| (old.entry(old_row, k).unwrap_or(k), *w)));
            for (k, weight) in part.range(row).enumerate() {
                let entry = match part.entry(row, k) {
                    None => Some(k),
                    Some(_) => self.old_entry(part.label_numbers(row, k, &new.sets), old, labels),
                };
                theta[weight] = entry.and_then(|entry| table.get(&entry)).copied().unwrap_or(0.0);
            }
        }
    }

    /// Where the old table has the entry of these new labels, which begin with that of the last variable; `None` where one is new.
    fn old_entry(
        &self,
        new: impl Iterator<Item = (usize, usize)>,
        old: &Part,
        labels: &[Vec<Option<usize>>],
    ) -> Option<usize> {
        let (mut entry, mut distance) = (0, 1);
        for (place, ((set, label), &old_set)) in new.zip(old.over.iter().rev()).enumerate() {
            entry += labels[set][label]? * distance;
            let card = self.sets[old_set].labels.len();
            distance *= if place == 0 { simd::padded(card) } else { card };
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::columns::{ColumnReader, Columns};
    use crate::data::corpus::CorpusBuilder;
    use crate::data::observer::Source;
    use crate::data::template::{Dialect, Templates};
    use crate::data::text::{Encoding, Lines};
    use crate::graph::{NODES, PAIR, PAIRS};
    use crate::model::Keep;
    use crate::train::{Settings, features};

    fn corpus(template: &str, text: &str) -> Corpus {
        let templates = Templates::compile(template, Dialect::Crfpp, "template").unwrap();
        let mut builder = CorpusBuilder::new(Source::Templates(templates));
        let mut reader = ColumnReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8));
        let mut sequence = Columns::default();
        while reader.read(&mut sequence).unwrap() {
            builder.add_columns(&sequence, sequence.columns() - 1).unwrap();
        }
        builder.finish(1).unwrap()
    }

    /// A model whose weight number k is k + 1.
    fn model(corpus: Corpus, settings: &Settings) -> Model {
        let features = features(&corpus, settings);
        let weights: Vec<f64> = (1..=features.dim()).map(|k| k as f64).collect();
        let Corpus { source, labels, alphabet, words, .. } = corpus;
        Model {
            labels,
            source,
            alphabet,
            words,
            features,
            weights: weights.into(),
            settings: serde_json::Value::Null,
        }
    }

    /// Weights by observation and labels, all by name.
    fn named(corpus: &Corpus, features: &Features, theta: &[f64]) -> HashMap<String, f64> {
        let stride = features.rows[NODES].stride();
        let labels = |entry: usize, pair: bool| match pair {
            true => format!("{} {}", corpus.labels[entry / stride], corpus.labels[entry % stride]),
            false => corpus.labels[entry].clone(),
        };
        let mut weights = HashMap::new();
        for (kind, rows) in features.rows.iter().enumerate() {
            for id in 0..rows.len as u32 {
                let name = corpus.alphabet.name(&corpus.source, kind == PAIRS, id);
                for (entry, w) in rows.entries_of(id).zip(&theta[rows.range(id)]) {
                    weights.insert(format!("{name} {}", labels(entry, kind == PAIRS)), *w);
                }
            }
        }
        for (id, table) in features.tables.iter().enumerate() {
            for (&entry, w) in table.entry.iter().zip(&theta[table.base..]) {
                weights.insert(format!("table {id} {}", labels(entry as usize, id == PAIR)), *w);
            }
        }
        weights
    }

    #[test]
    fn weights_follow_their_names() {
        let template = "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB1:%x[0,0]\n";
        let old = corpus(template, "a X\nb Y\n\nb Y\nc Z\na X\n");
        // Other words, another order of templates, one label gone and eight new ones: every number changes.
        let more: String = (0..8).map(|k| format!("n{k} A{k}\n")).collect();
        let new =
            corpus("U1:%x[-1,0]\nU0:%x[0,0]\nB1:%x[0,0]\nB\n", &format!("{more}\nc Z\na X\nb X\na X\n"));
        for keep in [Keep::Observed, Keep::All] {
            let settings = Settings { features: keep, boundaries: true, ..Settings::default() };
            let (of_old, of_new) = (features(&old, &settings), features(&new, &settings));
            let model = model(old.clone(), &settings);
            let theta = model.weights_for(&new, &of_new);
            let before = named(&old, &of_old, &model.weights);
            let after = named(&new, &of_new, &theta);
            assert!(after.values().filter(|w| **w != 0.0).count() > 5);
            for (name, w) in &after {
                assert_eq!(*w, before.get(name).copied().unwrap_or(0.0), "{name}");
            }
            assert_eq!(model.weights_for(&old, &of_old), *model.weights, "onto itself");
        }
    }
}
