//! Models without the weights that do nothing.

use super::{Model, Rows, TableWeights};
use crate::data::observer::Alphabet;
use crate::data::strings::Strings;
use crate::graph::{NODES, PAIRS};

impl Model {
    /// The same model without its zero weights, and without observations that have none left: same scores, less space.
    pub fn compact(&self) -> Model {
        self.compact_at(&self.weights)
    }

    /// The model with all weights of at most `threshold` in absolute value set to zero, and compacted.
    pub fn shrink(&self, threshold: f64) -> Model {
        let keep = |w: &f64| if w.abs() <= threshold { 0.0 } else { *w };
        self.compact_at(&self.weights.iter().map(keep).collect::<Vec<_>>())
    }

    /// The compacted model with other weights in place of its own.
    pub(super) fn compact_at(&self, weights: &[f64]) -> Model {
        let mut kept = Vec::with_capacity(weights.iter().filter(|w| **w != 0.0).count());
        let (nodes, node) = compact_rows(&self.features.rows[NODES], &self.alphabet.node, weights, &mut kept);
        let (pairs, pair) = compact_rows(&self.features.rows[PAIRS], &self.alphabet.pair, weights, &mut kept);
        let tables = self.features.tables.iter().map(|old| {
            let mut new = TableWeights { base: kept.len(), entry: Vec::new(), ..*old };
            for (&entry, &w) in old.entry.iter().zip(&weights[old.base..]) {
                if w != 0.0 {
                    new.entry.push(entry);
                    kept.push(w);
                }
            }
            new
        });
        let tables = tables.collect();
        Model {
            labels: self.labels.clone(),
            source: self.source.clone(),
            alphabet: Alphabet { values: self.alphabet.values.clone(), node, pair },
            words: self.words.clone(),
            features: super::Features { rows: vec![nodes, pairs], tables, ..self.features },
            weights: kept.into(),
            settings: self.settings.clone(),
        }
    }
}

/// The rows that have weights other than zero, with their names; these weights are appended to `kept`.
fn compact_rows(old: &Rows, names: &Strings, weights: &[f64], kept: &mut Vec<f64>) -> (Rows, Strings) {
    let mut rows = Rows { base: kept.len(), start: vec![0], entry: Vec::new(), basis: Vec::new(), ..*old };
    let mut kept_names = Strings::default();
    for id in 0..old.len as u32 {
        let before = rows.entry.len();
        for (&w, entry) in weights[old.range(id)].iter().zip(old.entries_of(id)) {
            if w != 0.0 {
                rows.entry.push(entry as u32);
                kept.push(w);
            }
        }
        if rows.entry.len() > before {
            rows.start.push(rows.entry.len() as u32);
            kept_names.intern(names.get(id));
        }
    }
    rows.len = kept_names.len();
    (rows, kept_names)
}
