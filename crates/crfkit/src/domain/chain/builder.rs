//! The builder of a training corpus of chains.

mod known;
mod merge;
mod plan;

use super::lattice::LatticePlan;
use super::segments;
use super::vectors::{Numbers, NumbersOf, Standard, numbers_of_attributes, numbers_of_rows};
use super::{ChainCorpus, ChainDomain, ColumnLayout, Sequence, VectorLayout};
use crate::data::attributes::Attributes;
use crate::data::columns::Columns;
use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Observer, Sink, Source};
use crate::data::sorting::{by_frequency, sorted_labels};
use crate::data::strings::Strings;
use crate::domain::check_trained_labels;
use crate::domain::label_weights::LabelWeights;
use crate::domain::partial::{Sets, gold_of};
use crate::graph::{Chain, FIRST_SET, Graph, Label, Lattice, NODES};
use crate::{Error, Place, Result};
use known::Known;
pub(super) use known::renumbered;
use std::sync::Arc;

/// Builds a corpus, one sequence after the other.
#[derive(Debug)]
pub struct CorpusBuilder {
    source: Source,
    observer: Observer,
    alphabet: Alphabet,
    labels: Strings,
    data: Dataset<Chain>,
    gold: Vec<Label>,
    words: Vec<u64>,
    columns: Option<ColumnLayout>,
    /// The sets of labels by their text, if labels may be sets.
    sets: Option<Sets>,
    label_weights: LabelWeights,
    /// The numbers of every token; known from the first sequence on.
    vectors: VectorLayout,
    numbers_known: bool,
    numbers_as: Numbers,
    numbers: Vec<f32>,
    plan: LatticePlan,
    known: Known,
}

/// How much a builder holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    values: usize,
    node: usize,
    pair: usize,
    labels: usize,
    sets: usize,
}

fn set_bit(bits: &mut Vec<u64>, k: usize) {
    if bits.len() <= k / 64 {
        bits.resize(k / 64 + 1, 0);
    }
    bits[k / 64] |= 1 << (k % 64);
}

fn bit(bits: &[u64], k: usize) -> bool {
    bits.get(k / 64).is_some_and(|word| word >> (k % 64) & 1 == 1)
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
    /// A builder without sequences.
    pub fn new(source: Source) -> Self {
        CorpusBuilder {
            source,
            observer: Observer::default(),
            alphabet: Alphabet::default(),
            labels: Strings::default(),
            data: Dataset::new(),
            gold: Vec::new(),
            words: Vec::new(),
            columns: None,
            sets: None,
            label_weights: LabelWeights::default(),
            vectors: VectorLayout::default(),
            numbers_known: false,
            numbers_as: Numbers::default(),
            numbers: Vec::new(),
            plan: LatticePlan::default(),
            known: Known::default(),
        }
    }

    /// An empty builder with the same source and choices.
    pub(super) fn like_this(&self) -> Self {
        CorpusBuilder {
            sets: self.sets.as_ref().map(|_| Sets::default()),
            label_weights: self.label_weights.clone(),
            vectors: self.vectors.clone(),
            numbers_as: self.numbers_as,
            plan: self.plan.like_this(),
            known: self.known.clone(),
            ..CorpusBuilder::new(self.source.clone())
        }
    }

    /// The same builder, for data in which labels may be missing: `?` is any label, and `A|B` is A or B.
    pub fn with_partial_labels(self) -> Self {
        CorpusBuilder { sets: Some(Sets::default()), ..self }
    }

    /// The same builder, for data with numbers in these columns, counted from 0, which are features.
    pub fn with_dense_columns(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.vectors.columns = columns.into_iter().collect();
        self.vectors.columns.sort_unstable();
        self.vectors.columns.dedup();
        self
    }

    /// The same builder, which standardises the numbers of columns and vectors: each has mean 0 and standard deviation 1 in the training
    /// data, and the model treats new data in the same way.
    pub fn standardise(self) -> Self {
        CorpusBuilder { numbers_as: Numbers::Standardised, ..self }
    }

    /// The same builder, which takes numbers as they are. Otherwise those whose mean is more than ten standard deviations from 0 in the
    /// training data are centred, and the model treats new data in the same way.
    pub fn without_centring(self) -> Self {
        CorpusBuilder { numbers_as: Numbers::AsTheyAre, ..self }
    }

    /// Adds the numbers of a sequence.
    fn add_numbers(&mut self, of: &NumbersOf) -> Result<()> {
        if of.len > 0 && !std::mem::replace(&mut self.numbers_known, true) {
            self.known.check_width(of)?;
            self.vectors.width = of.vectors.width();
            self.data.set_dense(NODES, self.vectors.dims());
        }
        self.vectors.read(of, &mut self.numbers)?;
        self.data.push_dense(NODES, self.numbers.iter().copied());
        Ok(())
    }

    /// The same builder, with weights of labels: the weight of a sequence is multiplied by the largest weight of its labels. Labels that
    /// are not named have weight 1.
    pub fn with_label_weights(self, weights: impl IntoIterator<Item = (String, f64)>) -> Result<Self> {
        Ok(CorpusBuilder { label_weights: LabelWeights::new(weights)?, ..self })
    }

    /// Adds a column sequence whose labels are in column `label_column`. It is an error if the templates read more columns than there
    /// are, or if there is no other column: the word is in the first that is not the label's.
    pub fn add_columns(&mut self, sequence: &Columns, label_column: usize) -> Result<()> {
        let Source::Templates(templates) = &self.source else {
            return Err(Error::Setting("columns need templates".into()));
        };
        if !sequence.is_empty() && sequence.columns() <= usize::from(label_column == 0).max(label_column) {
            let message =
                format!("column {label_column} is the label, but there is no other column with a word");
            return Err(Error::input(sequence.place(0), message));
        }
        if !sequence.is_empty() && templates.columns_needed > sequence.columns() {
            templates.check_columns(sequence.columns())?;
        }
        templates.check_dense_columns(sequence)?;
        if self.plan.segments.is_none() {
            templates.refuse_segments()?;
        }
        let labels = (0..sequence.len()).map(|row| sequence.field(row, label_column));
        let weight = self.label_weights.of(sequence.weight(), labels);
        // A weight of 0 means that the sequence is left out.
        if weight == 0.0 {
            return Ok(());
        }
        if let Some(column) = self.vectors.columns.iter().find(|column| **column == label_column) {
            let message = format!("column {column} is the label: it cannot be one of the columns of numbers");
            return Err(Error::Setting(message));
        }
        numbers_of_rows(sequence, |numbers| self.add_numbers(numbers))?;
        let Source::Templates(templates) = &self.source else {
            return Err(Error::Setting("columns need templates".into()));
        };
        let word_column = usize::from(label_column == 0);
        if !sequence.is_empty() {
            self.columns.get_or_insert(ColumnLayout::of(label_column as i32, sequence)?);
        }
        self.gold.clear();
        for row in 0..sequence.len() {
            let label = gold_of(sequence.field(row, label_column), &mut self.labels, &mut self.sets);
            self.gold.push(label);
            let word = self.alphabet.values.intern(sequence.field(row, word_column).as_bytes()) as usize;
            set_bit(&mut self.words, word);
        }
        let own_pairs = !templates.bigram.is_empty();
        self.observer.columns(templates, sequence, 0, &mut self.alphabet, &mut self.data);
        if !templates.segment.is_empty() {
            let labels = (0..sequence.len()).map(|row| sequence.field(row, label_column));
            let roles: Vec<_> =
                labels.map(|label| segments::Role::of_gold(label, self.sets.is_some())).collect();
            for tokens in segments::spans(&roles, self.plan.segments.unwrap_or(1)) {
                self.observer.learn_segment(templates, sequence, tokens, &mut self.alphabet);
            }
            self.plan.columns.push(Arc::new(sequence.clone()));
        }
        let chain = Chain { own_pairs, ..Chain::first_order(sequence.len(), 0) };
        self.data.finish_example(chain, self.gold.iter().copied(), weight);
        if !sequence.token_weights().is_empty() {
            self.data.set_variable_weights(sequence.token_weights());
        }
        self.plan.add(|| if sequence.is_empty() { Place::new("input", 0) } else { sequence.place(0) });
        self.alphabet.check_room()
    }

    /// Adds a sequence in either format. If columns do not say where the label is, it is in the last column.
    pub fn add(&mut self, sequence: &Sequence) -> Result<()> {
        match sequence {
            Sequence::Columns { rows, label_column } => {
                let label = label_column.unwrap_or(-1);
                let layout = ColumnLayout::new(label, rows.columns(), || sequence.place(0))?;
                self.add_columns(rows, layout.label)
            }
            Sequence::Attributes(attributes) => {
                self.add_attributes(attributes)?;
                self.alphabet.check_room()
            }
        }
    }

    /// Adds an attribute instance.
    pub fn add_attributes(&mut self, instance: &Attributes) -> Result<()> {
        let labels = (0..instance.len()).map(|row| instance.label(row));
        let weight = self.label_weights.of(instance.weight(), labels);
        if weight == 0.0 {
            return Ok(());
        }
        numbers_of_attributes(instance, |numbers| self.add_numbers(numbers))?;
        self.gold.clear();
        for row in 0..instance.len() {
            let label = gold_of(instance.label(row), &mut self.labels, &mut self.sets);
            self.gold.push(label);
        }
        self.observer.new_attributes(instance, &mut self.alphabet, &mut self.data);
        let chain = Chain::first_order(instance.len(), 0);
        self.data.finish_example(chain, self.gold.iter().copied(), weight);
        if !instance.token_weights().is_empty() {
            self.data.set_variable_weights(instance.token_weights());
        }
        self.plan.add(|| if instance.is_empty() { Place::new("input", 0) } else { instance.place(0) });
        Ok(())
    }

    /// Whether tokens have weights other than 1.
    pub(crate) fn weighs_tokens(&self) -> bool {
        self.data.uses_variable_weights()
    }

    /// Whether tokens have numbers.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.data.dense().is_empty()
    }

    /// Number of sequences so far.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are no sequences yet.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The labels so far, in the order of first occurrence.
    pub(crate) fn labels(&self) -> &Strings {
        &self.labels
    }

    /// The observations so far, in the order of first occurrence.
    pub(crate) fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    /// The source that makes the observations.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Takes the sequences out of the builder, with labels and observations numbered as they are now. The builder
    /// continues without them; it overwrites `memory` and uses it for the next ones.
    pub(crate) fn take_examples(&mut self, mut memory: Dataset<Chain>) -> Dataset<Chain> {
        memory.clear();
        let labels = self.labels.len();
        self.data.set_graphs(|chain| Chain { labels, ..*chain });
        std::mem::replace(&mut self.data, memory)
    }

    /// The domain at the end of a stream. `labels` must be sorted.
    pub(crate) fn into_domain(self, labels: Vec<String>) -> ChainDomain {
        let Self { source, alphabet, words, columns, .. } = self;
        ChainDomain { labels, source, alphabet, words, columns, vectors: None, lattice: Lattice::default() }
    }

    /// Takes the sequences out of the builder, with labels and observations numbered as they are now, in as little memory as they need.
    pub(super) fn take_batch(&mut self) -> Dataset<Chain> {
        let batch = self.data.clone();
        self.data.clear();
        batch
    }

    pub(super) fn sizes(&self) -> Sizes {
        Sizes {
            values: self.alphabet.values.len(),
            node: self.alphabet.node.len(),
            pair: self.alphabet.pair.len(),
            labels: self.labels.len(),
            sets: self.sets.as_ref().map_or(0, |sets| sets.labels.len()),
        }
    }

    /// Returns an error if there are more labels than training can hold in memory.
    pub(crate) fn check_labels(&self) -> Result<()> {
        check_trained_labels(&self.labels, self.label_column())
    }

    /// The column of the label, where there are columns.
    pub(crate) fn label_column(&self) -> Option<i32> {
        self.columns.map(|layout| layout.label as i32)
    }

    /// Drops observations that occur fewer than `min_count` times, sorts the others by frequency and the labels by name.
    pub fn finish(mut self, min_count: u32) -> Result<ChainCorpus> {
        self.label_weights.check()?;
        if self.data.is_empty() {
            return Err(Error::Setting("the training data holds no sequence whose weight is above 0".into()));
        }
        let known = self.recall()?;
        self.check_labels()?;
        self.plan.prepare(&mut self.data)?;
        self.alphabet.check_room()?;
        if let (Source::Templates(templates), Some(longest)) = (&self.source, self.plan.segments)
            && !templates.segment.is_empty()
        {
            let columns = std::mem::take(&mut self.plan.columns);
            self.data = segments::observed(templates, &columns, longest, &self.alphabet, &self.data);
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
        for (counts, known) in counts.iter_mut().zip(known) {
            known.iter().for_each(|&id| counts[id as usize] = counts[id as usize].max(min_count));
        }
        let (node, node_ids) = by_frequency(&self.alphabet.node, &counts[0], min_count);
        let (pair, pair_ids) = by_frequency(&self.alphabet.pair, &counts[1], min_count);
        drop(counts);
        self.alphabet.node = node;
        self.alphabet.pair = pair;
        let (labels, label_ids) = sorted_labels(&self.labels);
        let dims = self.vectors.dims() as u32; // the numbers of named observations come after those of dense ones
        self.data.renumber(
            |label| if label < FIRST_SET { label_ids[label as usize] } else { label },
            |kind, id| match kind {
                NODES => node_ids[id as usize].map(|id| id + dims),
                _ => pair_ids[id as usize],
            },
            |chain| Chain { labels: labels.len(), ..*chain },
        );
        if labels.is_empty() {
            return Err(Error::Setting("no token of the training data has a label".into()));
        }
        self.data.set_sets(self.sets.iter().flat_map(|sets| sets.bits(&label_ids, labels.len())).collect());
        let lattice = self.plan.lattice(&labels, &mut self.data)?;
        if let Some(standard) = Standard::fit(&mut self.data, self.numbers_as) {
            self.vectors.standard = Some(standard); // otherwise that of a known model stays
        }
        let Self { source, alphabet, data, words, columns, vectors, .. } = self;
        let vectors = (vectors.dims() > 0).then_some(vectors);
        let domain = ChainDomain { labels, source, alphabet, words, columns, vectors, lattice };
        Ok(ChainCorpus { domain, data })
    }
}
