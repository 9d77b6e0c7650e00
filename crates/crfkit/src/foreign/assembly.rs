//! Putting a model of chains together from the weights of another toolkit.

use super::Toolkit;
use crate::Result;
use crate::data::observer::{Alphabet, Source};
use crate::domain::chain::{ChainDomain, ChainModel, ColumnLayout};
use crate::domain::{MAX_WEIGHT, WeightedModel, check_label_names};
use crate::graph::PAIRS;
use crate::math::simd;
use crate::model::{Features, Rows, TableWeights};
use crate::settings::{Constraint, Settings};

/// The parts of a model, as they are found in a file.
#[derive(Debug)]
pub(super) struct Assembly {
    toolkit: Toolkit,
    /// Names of the labels, in the order of the other toolkit: among equally good labels the first wins.
    pub(super) labels: Vec<String>,
    /// What makes observations from input.
    pub(super) source: Source,
    /// Names of the observations.
    pub(super) alphabet: Alphabet,
    /// The column layout; `None` with attributes.
    pub(super) columns: Option<ColumnLayout>,
    /// Entries and weights of single labels, row by row.
    nodes: Listed,
    /// Entries and weights of label pairs with observations, row by row.
    pairs: Listed,
    /// Entries and weights of label pairs alone.
    transitions: Vec<(u32, f64)>,
}

/// The rows of one kind of table.
#[derive(Debug)]
struct Listed {
    start: Vec<u32>,
    entry: Vec<u32>,
    weight: Vec<f64>,
}

impl Default for Listed {
    fn default() -> Self {
        Listed { start: vec![0], entry: Vec::new(), weight: Vec::new() }
    }
}

impl Listed {
    /// Adds a row. Weights of one entry are added up.
    fn push(&mut self, row: &mut [(u32, f64)]) {
        row.sort_by_key(|(entry, _)| *entry);
        let first = self.entry.len();
        for &(entry, weight) in row.iter() {
            if self.entry.len() > first && self.entry.last() == Some(&entry) {
                *self.weight.last_mut().expect("one for each entry") += weight;
            } else {
                self.entry.push(entry);
                self.weight.push(weight);
            }
        }
        self.start.push(self.entry.len() as u32);
    }
}

impl Assembly {
    pub(super) fn new(toolkit: Toolkit, labels: Vec<String>, source: Source) -> Result<Self> {
        check_label_names(&labels).map_err(|why| toolkit.damaged(why))?;
        Ok(Assembly {
            toolkit,
            labels,
            source,
            alphabet: Alphabet::default(),
            columns: None,
            nodes: Listed::default(),
            pairs: Listed::default(),
            transitions: Vec::new(),
        })
    }

    /// The weights of the next observation, each with its label.
    pub(super) fn node(&mut self, row: &mut [(u32, f64)]) {
        self.nodes.push(row);
    }

    /// The weight of two neighbouring labels.
    pub(super) fn transition(&mut self, from: usize, to: usize, weight: f64) {
        self.transitions.push((self.pair_entry(from, to), weight));
    }

    /// The place of a pair of labels in a table.
    pub(super) fn pair_entry(&self, from: usize, to: usize) -> u32 {
        (from * simd::padded(self.labels.len()) + to) as u32
    }

    /// The model.
    pub(super) fn finish(mut self) -> Result<ChainModel> {
        let labels = self.labels.len();
        let mut weights = Vec::new();
        let mut rows = Vec::new();
        for (lines, Listed { start, entry, weight }) in [(1, self.nodes), (labels, self.pairs)] {
            let len = start.len() - 1;
            rows.push(Rows { start, entry, ..Rows::all(weights.len(), len, lines, labels) });
            weights.extend(weight);
        }
        // Of two weights for one pair, the later counts.
        self.transitions.reverse();
        self.transitions.sort_by_key(|(entry, _)| *entry);
        self.transitions.dedup_by_key(|(entry, _)| *entry);
        let table = |base, lines, entry| TableWeights { base, lines, columns: labels, entry };
        let entry: Vec<u32> = self.transitions.iter().map(|(entry, _)| *entry).collect();
        let pair = table(weights.len(), labels, entry);
        weights.extend(self.transitions.iter().map(|(_, weight)| *weight));
        let tables = vec![pair, table(weights.len(), 1, Vec::new()), table(weights.len(), 1, Vec::new())];
        if !weights.iter().all(|w| w.abs() <= MAX_WEIGHT) {
            return Err(self.toolkit.damaged("a weight is not a finite number, or far too large"));
        }
        let settings = Settings {
            constraint: Some(Constraint::None),
            origin: Some(self.toolkit.name().into()),
            ..Settings::default()
        };
        let Assembly { labels, source, alphabet, columns, .. } = self;
        let domain = ChainDomain { labels, source, alphabet, words: Vec::new(), columns };
        let features = Features { rows, node_kinds: PAIRS, tables };
        Ok(WeightedModel { domain, features: features.into(), weights: weights.into(), settings })
    }
}
