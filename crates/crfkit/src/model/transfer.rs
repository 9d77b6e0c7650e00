//! The weights of one model, carried over to the features of another corpus.

use super::{Features, Model, Rows};
use crate::data::corpus::Corpus;
use crate::graph::{NODES, PAIR, PAIRS};
use crate::math::simd;
use std::collections::HashMap;

impl Model {
    /// This model's weights, arranged for `features` of `corpus`: observations and labels are matched by name, and what
    /// this model does not know gets 0.
    pub fn weights_for(&self, corpus: &Corpus, features: &Features) -> Vec<f64> {
        let labels: Vec<Option<usize>> =
            corpus.labels.iter().map(|name| self.label(name).map(|label| label as usize)).collect();
        let map =
            EntryMap { labels, from: simd::padded(self.labels.len()), to: features.rows[NODES].stride() };
        let mut theta = vec![0.0; features.dim()];
        for kind in [NODES, PAIRS] {
            self.carry_rows(corpus, &features.rows[kind], kind, &map, &mut theta);
        }
        for (id, (old, new)) in self.features.tables.iter().zip(&features.tables).enumerate() {
            let weights: HashMap<u32, f64> =
                old.entry.iter().copied().zip(self.weights[old.base..].iter().copied()).collect();
            for (&entry, w) in new.entry.iter().zip(&mut theta[new.base..]) {
                let entry = map.entry(entry as usize, id == PAIR).and_then(|entry| u32::try_from(entry).ok());
                *w = entry.and_then(|entry| weights.get(&entry)).copied().unwrap_or(0.0);
            }
        }
        theta
    }

    /// Carries over the rows of the observations of one kind.
    fn carry_rows(&self, corpus: &Corpus, new: &Rows, kind: usize, map: &EntryMap, theta: &mut [f64]) {
        let (old, pairs) = (&self.features.rows[kind], kind == PAIRS);
        let name = |id| self.alphabet.name(&self.source, pairs, id);
        let known: HashMap<String, u32> = (0..old.len as u32).map(|id| (name(id), id)).collect();
        // The weights of one old row, by entry of its table.
        let mut table = vec![0.0; old.lines * old.stride()];
        for id in 0..new.len as u32 {
            let Some(&old_id) = known.get(&corpus.alphabet.name(&corpus.source, pairs, id)) else { continue };
            table.fill(0.0);
            for (entry, w) in old.entries_of(old_id).zip(&self.weights[old.range(old_id)]) {
                table[entry] = *w;
            }
            for (entry, w) in new.entries_of(id).zip(&mut theta[new.range(id)]) {
                *w = map.entry(entry, pairs).map_or(0.0, |entry| table[entry]);
            }
        }
    }
}

/// Where an entry of a new table stands in the old one.
struct EntryMap {
    /// Old number of each new label.
    labels: Vec<Option<usize>>,
    /// Distance between the lines of an old table of label pairs.
    from: usize,
    /// The same for a new one.
    to: usize,
}

impl EntryMap {
    /// The old place of a new entry: a label, or (`pair`) a line of previous labels; `None` where a label is new.
    fn entry(&self, entry: usize, pair: bool) -> Option<usize> {
        if !pair {
            return self.labels[entry];
        }
        Some(self.labels[entry / self.to]? * self.from + self.labels[entry % self.to]?)
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
