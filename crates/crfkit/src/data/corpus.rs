//! A training corpus: all sequences as observations, with the alphabets that they brought along.

use super::attributes::Attributes;
use super::columns::Columns;
use super::dataset::Dataset;
use super::observer::{Alphabet, Observer, Sink, Source};
use super::strings::Strings;
use crate::graph::{Chain, Graph, Label, NODES};
use crate::{Error, Result};

/// Everything that reading a training corpus gives.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// What made the observations.
    pub source: Source,
    /// The examples.
    pub data: Dataset<Chain>,
    /// The labels, sorted by name.
    pub labels: Vec<String>,
    /// The observations, most frequent first: the weights of frequent ones lie together in the cache.
    pub alphabet: Alphabet,
    /// Words seen in training (the first column that is not the label), as a set of value numbers: one bit each. Empty with
    /// attributes.
    pub words: Vec<u64>,
}

/// Reads a corpus sequence by sequence.
#[derive(Debug)]
pub struct CorpusBuilder {
    source: Source,
    observer: Observer,
    alphabet: Alphabet,
    labels: Strings,
    data: Dataset<Chain>,
    gold: Vec<Label>,
    words: Vec<u64>,
}

impl Sink for Dataset<Chain> {
    fn table(&mut self, ids: &[u32], values: &[f64]) {
        for (k, &id) in ids.iter().enumerate() {
            self.push_observation(id, values.get(k).copied().unwrap_or(1.0));
        }
        self.finish_table();
    }
}

impl CorpusBuilder {
    /// Nothing read yet.
    pub fn new(source: Source) -> Self {
        CorpusBuilder {
            source,
            observer: Observer::default(),
            alphabet: Alphabet::default(),
            labels: Strings::default(),
            data: Dataset::new(),
            gold: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Adds a column sequence whose labels are in column `label_column`; the templates must fit its columns. The word is the
    /// first column that is not the label, so there must be one.
    pub fn add_columns(&mut self, sequence: &Columns, label_column: usize) -> Result<()> {
        let Source::Templates(templates) = &self.source else {
            return Err(Error::Setting("columns need templates".into()));
        };
        let word_column = usize::from(label_column == 0);
        self.gold.clear();
        for row in 0..sequence.len() {
            self.gold.push(self.labels.intern(sequence.field(row, label_column).as_bytes()));
            let word = self.alphabet.values.intern(sequence.field(row, word_column).as_bytes()) as usize;
            if self.words.len() <= word / 64 {
                self.words.resize(word / 64 + 1, 0);
            }
            self.words[word / 64] |= 1 << (word % 64);
        }
        let own_pairs = !templates.bigram.is_empty();
        self.observer.columns(templates, sequence, &mut self.alphabet, &mut self.data);
        let chain = Chain { len: sequence.len(), labels: 0, own_pairs };
        self.data.finish_example(chain, self.gold.iter().copied(), 1.0);
        Ok(())
    }

    /// Adds an attribute instance.
    pub fn add_attributes(&mut self, instance: &Attributes) {
        self.gold.clear();
        for row in 0..instance.len() {
            self.gold.push(self.labels.intern(instance.label(row).as_bytes()));
        }
        self.observer.attributes(instance, &mut self.alphabet, &mut self.data);
        let chain = Chain { len: instance.len(), labels: 0, own_pairs: false };
        self.data.finish_example(chain, self.gold.iter().copied(), instance.weight());
    }

    /// How many sequences so far.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// No sequences so far?
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The labels so far, in the order of their arrival.
    pub fn labels(&self) -> &Strings {
        &self.labels
    }

    /// The observations so far, in the order of their arrival.
    pub fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    /// What makes the observations.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Hands out the sequences so far, with labels and observations as they are numbered now, and goes on without them;
    /// `memory` is overwritten and used for the next ones.
    pub fn take_examples(&mut self, mut memory: Dataset<Chain>) -> Dataset<Chain> {
        memory.clear();
        let labels = self.labels.len();
        self.data.set_graphs(|chain| Chain { labels, ..*chain });
        std::mem::replace(&mut self.data, memory)
    }

    /// Alphabet and words, at the end of a stream.
    pub fn into_alphabet(self) -> (Source, Alphabet, Vec<u64>) {
        (self.source, self.alphabet, self.words)
    }

    /// Drops observations that occur fewer than `min_count` times, sorts the others by frequency and the labels by name.
    pub fn finish(mut self, min_count: u32) -> Result<Corpus> {
        if self.data.is_empty() {
            return Err(Error::Setting("the training data holds no sequence".into()));
        }
        let mut counts = [vec![0u32; self.alphabet.node.len()], vec![0u32; self.alphabet.pair.len()]];
        for example in 0..self.data.len() {
            for (f, table) in self.data.tables(example).enumerate() {
                let counts = &mut counts[self.data.graph(example).own_kind(f)];
                for &id in self.data.observations(table).0 {
                    counts[id as usize] = counts[id as usize].saturating_add(1);
                }
            }
        }
        let (node, node_ids) = by_frequency(&self.alphabet.node, &counts[0], min_count);
        let (pair, pair_ids) = by_frequency(&self.alphabet.pair, &counts[1], min_count);
        drop(counts);
        self.alphabet.node = node;
        self.alphabet.pair = pair;
        let (labels, label_ids) = sorted_labels(&self.labels);
        self.data.renumber(
            |label| label_ids[label as usize],
            |kind, id| if kind == NODES { node_ids[id as usize] } else { pair_ids[id as usize] },
            |chain| Chain { labels: labels.len(), ..*chain },
        );
        let Self { source, alphabet, data, words, .. } = self;
        Ok(Corpus { source, data, labels, alphabet, words })
    }
}

impl Corpus {
    /// Adds the observations of a further sequence to `data`, by this corpus' alphabet: unseen ones are left out. Gold labels
    /// are not set.
    pub fn observe_columns(&self, sequence: &Columns, observer: &mut Observer, data: &mut Dataset<Chain>) {
        if let Source::Templates(templates) = &self.source {
            observer.columns(templates, sequence, &self.alphabet, data);
            data.finish_example(self.chain(sequence.len()), [], 1.0);
        }
    }

    /// The same for an attribute instance.
    pub fn observe_attributes(
        &self,
        instance: &Attributes,
        observer: &mut Observer,
        data: &mut Dataset<Chain>,
    ) {
        observer.attributes(instance, &self.alphabet, data);
        data.finish_example(self.chain(instance.len()), [], 1.0);
    }

    fn chain(&self, len: usize) -> Chain {
        let own_pairs = matches!(&self.source, Source::Templates(t) if !t.bigram.is_empty());
        Chain { len, labels: self.labels.len(), own_pairs }
    }
}

/// Labels in the order of their names, and the new number of each old one.
pub(crate) fn sorted_labels(labels: &Strings) -> (Vec<String>, Vec<Label>) {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    order.sort_by_key(|&id| labels.get(id));
    let mut ids = vec![0; labels.len()];
    for (new, &old) in order.iter().enumerate() {
        ids[old as usize] = new as Label;
    }
    (order.iter().map(|&id| String::from_utf8_lossy(labels.get(id)).into_owned()).collect(), ids)
}

/// The strings that occur often enough, most frequent first (ties: first seen first), and the new number of each old one.
pub(crate) fn by_frequency(strings: &Strings, counts: &[u32], min_count: u32) -> (Strings, Vec<Option<u32>>) {
    let mut order: Vec<u32> =
        (0..counts.len() as u32).filter(|&id| counts[id as usize] >= min_count).collect();
    order.sort_by_key(|&id| std::cmp::Reverse(counts[id as usize])); // stable
    let mut sorted = Strings::default();
    let mut ids = vec![None; counts.len()];
    for &old in &order {
        ids[old as usize] = Some(sorted.intern(strings.get(old)));
    }
    (sorted, ids)
}
