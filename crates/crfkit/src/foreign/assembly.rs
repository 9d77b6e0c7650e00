//! Putting a model of chains together from the weights of another toolkit.

use super::{Toolkit, expanded};
use crate::Result;
use crate::data::observer::{Alphabet, Source};
use crate::data::template::{Dialect, Templates};
use crate::domain::chain::{ChainDomain, ChainModel, ColumnLayout};
use crate::domain::{MAX_WEIGHT, WeightedModel, check_label_names};
use crate::graph::{Lattice, PAIRS};
use crate::math::simd;
use crate::model::{Features, Rows, TableWeights};
use crate::settings::{Compute, Constraint, Settings};

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
    /// Entries and weights of single labels, row by row.
    nodes: Listed,
    /// Entries and weights of label pairs with observations, row by row.
    pairs: Listed,
    /// Entries and weights of label pairs alone.
    transitions: Vec<(u32, f64)>,
    /// How many weights were copied: those that stand here more often than in the file.
    copies: usize,
}

/// Weights that a file may make us copy, because its observations can be read in several ways.
const MOST_COPIES: usize = 1 << 26;

/// The numbers that are not 0, with their positions.
fn listed(weights: &[f64]) -> Vec<(u32, f64)> {
    (0..).zip(weights.iter().copied()).filter(|(_, weight)| *weight != 0.0).collect()
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
            nodes: Listed::default(),
            pairs: Listed::default(),
            transitions: Vec::new(),
            copies: 0,
        })
    }

    /// The weights of the next observation, each with its label.
    pub(super) fn node(&mut self, row: &mut [(u32, f64)]) {
        self.nodes.push(row);
    }

    /// An observation that templates have made, by its expanded name, with a weight for every label.
    pub(super) fn observation(&mut self, name: &str, weights: &[f64]) -> Result<()> {
        self.listed_observation(name, &listed(weights))
    }

    /// Like [`Assembly::observation`], with a weight for every pair of labels.
    pub(super) fn pair_observation(&mut self, name: &str, weights: &[f64]) -> Result<()> {
        self.listed_pair_observation(name, &listed(weights))
    }

    /// Like [`Assembly::observation`], with the weights of some labels.
    pub(super) fn listed_observation(&mut self, name: &str, weights: &[(u32, f64)]) -> Result<()> {
        let mut row = weights.to_vec();
        for _ in 0..self.add_keys(name, false, weights.len())? {
            self.nodes.push(&mut row);
        }
        Ok(())
    }

    /// Like [`Assembly::listed_observation`], for pairs, which are numbered row by row.
    pub(super) fn listed_pair_observation(&mut self, name: &str, weights: &[(u32, f64)]) -> Result<()> {
        let labels = self.labels.len() as u32;
        let entry = |at: u32| self.pair_entry((at / labels) as usize, (at % labels) as usize);
        let mut row: Vec<(u32, f64)> = weights.iter().map(|&(at, weight)| (entry(at), weight)).collect();
        // Without a macro, it is the plain pair of labels.
        if self.templates().label_bigram && self.plain_pair(name) {
            self.transitions.extend(row);
            return Ok(());
        }
        for _ in 0..self.add_keys(name, true, weights.len())? {
            self.pairs.push(&mut row);
        }
        Ok(())
    }

    fn templates(&self) -> &Templates {
        match &self.source {
            Source::Templates(templates) => templates,
            Source::Attributes => unreachable!("only observations of templates are expanded"),
        }
    }

    /// Whether a line of the templates is this name, without macros, and for pairs of labels.
    fn plain_pair(&self, name: &str) -> bool {
        let templates = self.templates();
        let same = |line: &str| match templates.dialect {
            Dialect::Crfpp => line == name,
            // Wapiti reads the first character in lower case.
            Dialect::Wapiti => line.eq_ignore_ascii_case(name) && line.get(1..) == name.get(1..),
        };
        templates.source.lines().any(same)
    }

    /// Adds the keys of an observation to the alphabet, one for each way to cut its name; their number. Each gets `weights` weights.
    fn add_keys(&mut self, name: &str, pair: bool, weights: usize) -> Result<usize> {
        let Source::Templates(templates) = &self.source else { return Ok(0) };
        let used = if pair { &templates.bigram } else { &templates.unigram };
        let mut skeletons: Vec<u32> = used.iter().map(|template| template.skeleton).collect();
        skeletons.sort_unstable();
        skeletons.dedup();
        let Alphabet { values, node, pair: pairs } = &mut self.alphabet;
        let keys = if pair { pairs } else { node };
        let mut added = 0usize;
        for skeleton in skeletons {
            let Some(ways) = expanded::values(name, &templates.skeletons[skeleton as usize]) else {
                return Err(self.toolkit.refuse(format!(
                    "the observation `{}` of this model can be read in more than {} ways, so crfkit cannot tell its values apart",
                    name.escape_debug(),
                    expanded::MOST
                )));
            };
            for way in ways {
                let mut key = skeleton.to_le_bytes().to_vec();
                way.iter().for_each(|value| key.extend(values.intern(value.as_bytes()).to_le_bytes()));
                let known = keys.len();
                if keys.intern(&key) as usize != known {
                    return Err(self.toolkit.damaged(format!("`{}` occurs twice", name.escape_debug())));
                }
                added += 1;
            }
        }
        self.copies += added.saturating_sub(1) * weights;
        if self.copies > MOST_COPIES {
            return Err(self
                .toolkit
                .refuse("too many observations of this model can be read in several ways"));
        }
        match added {
            0 => Err(self.toolkit.damaged(format!("no template makes `{}`", name.escape_debug()))),
            _ => Ok(added),
        }
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
            let (start, entry) = (start.into(), entry.into());
            rows.push(Rows { start, entry, ..Rows::all(weights.len(), len, lines, labels) });
            weights.extend(weight);
        }
        let mut pairs = Listed::default();
        pairs.push(&mut self.transitions);
        let table = |base, lines, entry| TableWeights { base, lines, columns: labels, entry };
        let pair = table(weights.len(), labels, pairs.entry);
        weights.extend(pairs.weight);
        let tables = vec![pair, table(weights.len(), 1, Vec::new()), table(weights.len(), 1, Vec::new())];
        if !weights.iter().all(|w| w.abs() <= MAX_WEIGHT) {
            return Err(self.toolkit.damaged("a weight is not a finite number, or far too large"));
        }
        let settings = Settings {
            constraint: Some(Constraint::None),
            origin: Some(self.toolkit.name().into()),
            compute: Compute::F64,
            ..Settings::default()
        };
        let columns = match &self.source {
            Source::Attributes => None,
            // The label follows the columns that templates read.
            Source::Templates(templates) => {
                let label = templates.columns_needed.max(1);
                Some(ColumnLayout { columns: label + 1, label, fields: None })
            }
        };
        let Assembly { labels, source, alphabet, .. } = self;
        let domain = ChainDomain {
            labels,
            source,
            alphabet,
            words: Vec::new(),
            columns,
            vectors: None,
            lattice: Lattice::default(),
        };
        let features = Features::of(rows, PAIRS, tables, Lattice::default());
        Ok(WeightedModel { domain, features: features.into(), weights: weights.into(), settings })
    }
}
