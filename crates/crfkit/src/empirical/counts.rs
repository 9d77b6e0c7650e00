//! Counting: one pass over labelled sequences. Counts can be added up.

use super::PairKind;
use super::spelling::{Spelling, spelling};
use crate::data::columns::Columns;
use crate::data::strings::Strings;
use crate::error::counted;
use crate::graph::Label;
use crate::{Error, Result};
use std::collections::HashMap;

/// How often each tuple of numbers occurred.
pub(super) type Tally<const N: usize> = HashMap<[u32; N], u64>;

/// All the counts that empirical training needs.
///
/// The counts of two parts of a corpus, added by [`Counts::merge`], are the counts of the whole. So parts can be
/// counted anywhere, and new data can be added to the counts of a model. Spelling features are not counted; they are
/// added up from the words.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub(super) pairs: PairKind,
    pub(super) labels: Strings,
    pub(super) words: Strings,
    /// The spelling of each word.
    pub(super) spellings: Vec<Spelling>,
    /// Counts of (word, label).
    pub(super) word_labels: Tally<2>,
    /// Counts of (label, next label).
    pub(super) label_pairs: Tally<2>,
    /// Counts of (word, next word, label, next label); only with [`PairKind::Lexical`].
    pub(super) word_pairs: Tally<4>,
    /// Counts of (spelling, label) for the words that were pruned.
    pub(super) rare_labels: Tally<2>,
    /// Counts of (spelling, next spelling, label, next label) for the word pairs that lost a word by pruning.
    pub(super) rare_pairs: Tally<4>,
}

impl Counts {
    /// Counts with nothing counted yet. `pairs` says whether word pairs are counted too; they take most of the memory.
    pub fn new(pairs: PairKind) -> Self {
        Counts { pairs, ..Counts::default() }
    }

    /// Adds a sequence of words with their labels.
    pub fn add<'a>(&mut self, sequence: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let mut before = None;
        for (word, label) in sequence {
            let (word, label) = (self.word(word), self.labels.intern(label.as_bytes()));
            *self.word_labels.entry([word, label]).or_default() += 1;
            if let Some((word_before, label_before)) = before {
                *self.label_pairs.entry([label_before, label]).or_default() += 1;
                if self.pairs == PairKind::Lexical {
                    *self.word_pairs.entry([word_before, word, label_before, label]).or_default() += 1;
                }
            }
            before = Some((word, label));
        }
    }

    /// Adds a sequence in columns. The label is in `label_column`, and the word in the first other column.
    pub fn add_columns(&mut self, sequence: &Columns, label_column: usize) -> Result<()> {
        if sequence.weight() != 1.0 {
            let message = format!(
                "a sequence of weight {}: a model made from counts counts every sequence once; leave the weights out",
                sequence.weight()
            );
            return Err(Error::input(sequence.place(0), message));
        }
        if let Some(row) = sequence.token_weights().iter().position(|weight| *weight != 1.0) {
            let message = format!(
                "a token of weight {}: a model made from counts counts every token once; leave the weights out",
                sequence.token_weights()[row]
            );
            return Err(Error::input(sequence.place(row), message));
        }
        let [word, label] = token_columns(sequence, label_column)?;
        self.add((0..sequence.len()).map(|row| (sequence.field(row, word), sequence.field(row, label))));
        self.words.check_room("the words")
    }

    /// The number of a word. A new word is added.
    fn word(&mut self, word: &str) -> u32 {
        let id = self.words.intern(word.as_bytes());
        if id as usize == self.spellings.len() {
            self.spellings.push(spelling(word));
        }
        id
    }

    /// Adds everything that `other` has counted. Both must count the same kind of pairs.
    pub fn merge(&mut self, other: &Counts) -> Result<()> {
        if self.pairs != other.pairs {
            return Err(Error::Setting(
                "counts with and without word pairs cannot be added; count both with the same `pairs`".into(),
            ));
        }
        let labels: Vec<u32> = other.labels.iter().map(|label| self.labels.intern(label)).collect();
        let words: Vec<u32> = other.words.iter().map(|word| self.words.intern(word)).collect();
        for (&word, &spelling) in words.iter().zip(&other.spellings) {
            if word as usize == self.spellings.len() {
                self.spellings.push(spelling);
            }
        }
        self.add_renumbered(other, &words, &labels);
        Ok(())
    }

    /// Adds the counts of `other`, with its words and labels renumbered.
    fn add_renumbered(&mut self, other: &Counts, words: &[u32], labels: &[u32]) {
        let (word, label) = (|id: u32| words[id as usize], |id: u32| labels[id as usize]);
        add(&mut self.word_labels, &other.word_labels, |[x, y]| [word(x), label(y)]);
        add(&mut self.label_pairs, &other.label_pairs, |[i, j]| [label(i), label(j)]);
        add(&mut self.word_pairs, &other.word_pairs, |[a, b, i, j]| [word(a), word(b), label(i), label(j)]);
        add(&mut self.rare_labels, &other.rare_labels, |[s, y]| [s, label(y)]);
        add(&mut self.rare_pairs, &other.rare_pairs, |[a, b, i, j]| [a, b, label(i), label(j)]);
    }

    /// Removes the words that occur fewer than `min_count` times. Their counts live on in those of their spellings and
    /// of the labels.
    pub(crate) fn prune(&mut self, min_count: u64) {
        let mut totals = vec![0; self.words.len()];
        self.word_labels.iter().for_each(|([word, _], n)| totals[*word as usize] += n);
        if totals.iter().all(|&n| n >= min_count) {
            return;
        }
        let mut kept = Counts {
            pairs: self.pairs,
            labels: std::mem::take(&mut self.labels),
            label_pairs: std::mem::take(&mut self.label_pairs),
            rare_labels: std::mem::take(&mut self.rare_labels),
            rare_pairs: std::mem::take(&mut self.rare_pairs),
            ..Counts::default()
        };
        let mut ids = vec![None; totals.len()];
        for (old, word) in self.words.iter().enumerate().filter(|&(old, _)| totals[old] >= min_count) {
            ids[old] = Some(kept.words.intern(word));
            kept.spellings.push(self.spellings[old]);
        }
        let (id, spelling) = (|word: u32| ids[word as usize], |word: u32| self.spellings[word as usize]);
        for (&[word, label], n) in &self.word_labels {
            *match id(word) {
                Some(word) => kept.word_labels.entry([word, label]),
                None => kept.rare_labels.entry([spelling(word), label]),
            }
            .or_default() += n;
        }
        for (&[a, b, i, j], n) in &self.word_pairs {
            *match (id(a), id(b)) {
                (Some(a), Some(b)) => kept.word_pairs.entry([a, b, i, j]),
                _ => kept.rare_pairs.entry([spelling(a), spelling(b), i, j]),
            }
            .or_default() += n;
        }
        *self = kept;
    }

    /// The counts with words and labels numbered in the order of their names. Equal counts then have equal numbers,
    /// whatever the order in which the data came.
    pub(super) fn sorted(&self) -> Counts {
        let (labels, label_ids) = sorted(&self.labels);
        let (words, word_ids) = sorted(&self.words);
        let mut spellings = vec![0; self.spellings.len()];
        for (old, &new) in word_ids.iter().enumerate() {
            spellings[new as usize] = self.spellings[old];
        }
        let mut counts = Counts { pairs: self.pairs, labels, words, spellings, ..Counts::default() };
        counts.add_renumbered(self, &word_ids, &label_ids);
        counts
    }

    /// Counts of (spelling, label) over all tokens.
    pub(super) fn spelling_labels(&self) -> Tally<2> {
        let mut tally = self.rare_labels.clone();
        add(&mut tally, &self.word_labels, |[word, label]| [self.spellings[word as usize], label]);
        tally
    }

    /// Counts of (spelling, next spelling, label, next label) over all neighbours; only with [`PairKind::Lexical`].
    pub(super) fn spelling_pairs(&self) -> Tally<4> {
        let spelling = |word: u32| self.spellings[word as usize];
        let mut tally = self.rare_pairs.clone();
        add(&mut tally, &self.word_pairs, |[a, b, i, j]| [spelling(a), spelling(b), i, j]);
        tally
    }

    /// The label distribution P̃(y) over all tokens.
    pub(super) fn prior(&self) -> Vec<f64> {
        let mut totals = vec![0u64; self.labels.len()];
        let tokens = self.word_labels.iter().chain(&self.rare_labels);
        tokens.for_each(|([_, label], n)| totals[*label as usize] += n);
        let all = totals.iter().sum::<u64>() as f64;
        totals.iter().map(|&n| n as f64 / all).collect()
    }

    /// The kind of pairs that are counted.
    pub fn pairs(&self) -> PairKind {
        self.pairs
    }

    /// Number of different words.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels.len()
    }

    /// Number of different tuples that were counted.
    pub fn tuples(&self) -> usize {
        let [pairs, rare] = [&self.word_pairs, &self.rare_pairs].map(|tally| tally.len());
        self.word_labels.len() + self.label_pairs.len() + self.rare_labels.len() + pairs + rare
    }

    /// Every word with each of its labels and their count, in the order of the numbers. In a model that is the order of
    /// the names.
    pub fn word_labels(&self) -> impl Iterator<Item = (&str, Label, u64)> {
        ordered(&self.word_labels).into_iter().map(|([word, label], n)| (self.word_text(word), label, n))
    }

    /// Every pair of neighbouring labels with its count, in the order of the numbers.
    pub fn label_pairs(&self) -> impl Iterator<Item = ([Label; 2], u64)> {
        ordered(&self.label_pairs).into_iter()
    }

    /// The text of a word; empty if its bytes are not UTF-8, which no reader produces.
    pub(super) fn word_text(&self, word: u32) -> &str {
        std::str::from_utf8(self.words.get(word)).unwrap_or_default()
    }

    /// Number of tokens.
    pub fn tokens(&self) -> u64 {
        self.word_labels.values().chain(self.rare_labels.values()).sum()
    }
}

/// The columns of the word and of the label. The word is in the first column that is not the label's.
pub(super) fn token_columns(sequence: &Columns, label_column: usize) -> Result<[usize; 2]> {
    if !sequence.is_empty() && (sequence.columns() < 2 || label_column >= sequence.columns()) {
        let message = format!(
            "{}: a word and, in column {label_column} (counted from 0), its label are needed",
            counted(sequence.columns(), "column")
        );
        return Err(Error::input(sequence.place(0), message));
    }
    Ok([usize::from(label_column == 0), label_column])
}

/// Adds `from` to `to`, with its tuples renumbered.
fn add<const N: usize>(to: &mut Tally<N>, from: &Tally<N>, renumber: impl Fn([u32; N]) -> [u32; N]) {
    for (&key, n) in from {
        *to.entry(renumber(key)).or_default() += n;
    }
}

/// The strings in sorted order, and the new number of each old one.
fn sorted(strings: &Strings) -> (Strings, Vec<u32>) {
    let mut order: Vec<u32> = (0..strings.len() as u32).collect();
    order.sort_unstable_by_key(|&id| strings.get(id));
    let mut sorted = Strings::default();
    let mut ids = vec![0; strings.len()];
    for old in order {
        ids[old as usize] = sorted.intern(strings.get(old));
    }
    (sorted, ids)
}

/// The tuples with their counts, in the order of the numbers, so that sums over them always have the same order.
pub(super) fn ordered<const N: usize>(tally: &Tally<N>) -> Vec<([u32; N], u64)> {
    let mut entries: Vec<_> = tally.iter().map(|(&key, &n)| (key, n)).collect();
    entries.sort_unstable();
    entries
}
