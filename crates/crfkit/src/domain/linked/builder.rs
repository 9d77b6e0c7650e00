//! The builder of a training corpus of linked chains.

use super::links::{Graphs, Observed};
use super::{LinkedCorpus, LinkedDomain, Links};
use crate::data::columns::Columns;
use crate::data::conllu::Fields;
use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Observer};
use crate::data::sorting::{by_frequency, sorted_labels};
use crate::data::strings::Strings;
use crate::data::template::Templates;
use crate::domain::chain::{Numbers, Standard, VectorLayout, numbers_of_rows};
use crate::domain::check_trained_labels;
use crate::domain::partial::{Sets, gold_of};
use crate::error::counted;
use crate::graph::{FIRST_SET, Label, UNLABELLED};
use crate::{Error, Result};

/// The largest number of label columns. No factorial chain with more could be solved.
pub(crate) const MAX_LABEL_COLUMNS: usize = 16;

/// Builds a corpus, one sequence after the other.
///
/// ```
/// use crfkit::Trainer;
/// use crfkit::data::columns::Columns;
/// use crfkit::linked::{LinkedBuilder, Links};
/// use crfkit::settings::Kind;
///
/// // A word and two labels: its part of speech and its chunk.
/// let sequence = Columns::from_rows([["the", "DET", "B-NP"], ["cat", "NOUN", "I-NP"], ["sleeps", "VERB", "O"]], "text")?;
/// let trainer = Trainer::for_kind(Kind::Linked);
/// let mut builder = LinkedBuilder::new(Links::Factorial, trainer.templates(1)?, 3, vec![1, 2])?;
/// builder.add(&sequence)?;
/// let model = trainer.train_corpus(builder.finish(1)?, None)?.model;
/// assert_eq!(model.domain.labels[1], ["B-NP", "I-NP", "O"]);
/// # Ok::<(), crfkit::Error>(())
/// ```
#[derive(Debug)]
pub struct LinkedBuilder {
    links: Links,
    templates: Templates,
    label_columns: Vec<usize>,
    columns: usize,
    fields: Option<Fields>,
    observer: Observer,
    alphabet: Alphabet,
    labels: Vec<Strings>,
    /// The sets of labels of each label column by their text, if labels may be sets.
    sets: Vec<Option<Sets>>,
    sequences: Vec<Sequence>,
    /// The numbers of every token; their width is known from the first sequence on.
    vectors: VectorLayout,
    numbers_as: Numbers,
}

/// What is stored of a sequence until all labels are known.
#[derive(Debug)]
struct Sequence {
    observed: Observed,
    skips: Vec<(usize, usize)>,
    gold: Vec<Label>,
    weight: f64,
    /// The weights of the tokens; empty if all are 1.
    token_weights: Vec<f64>,
}

impl LinkedBuilder {
    /// A builder without sequences, for files with this number of columns. Label columns that do not fit the links or
    /// the data, and templates and rules that read a label, are rejected with an error.
    pub fn new(
        links: Links,
        templates: Templates,
        columns: usize,
        label_columns: Vec<usize>,
    ) -> Result<Self> {
        check(&links, &templates, columns, &label_columns).map_err(Error::Setting)?;
        Ok(LinkedBuilder {
            links,
            templates,
            columns,
            fields: None,
            observer: Observer::default(),
            alphabet: Alphabet::default(),
            labels: vec![Strings::default(); label_columns.len()],
            sets: label_columns.iter().map(|_| None).collect(),
            label_columns,
            sequences: Vec::new(),
            vectors: VectorLayout::default(),
            numbers_as: Numbers::default(),
        })
    }

    /// The same builder, for data in which labels may be missing: `?` is any label of its column, and `A|B` is A or B.
    pub fn with_partial_labels(self) -> Self {
        let sets = self.sets.iter().map(|_| Some(Sets::default())).collect();
        LinkedBuilder { sets, ..self }
    }

    /// The same builder, for data with numbers in these columns, counted from 0, which are features. A column that the data does not have,
    /// or that holds labels, is an error.
    pub fn with_dense_columns(mut self, columns: impl IntoIterator<Item = usize>) -> Result<Self> {
        let mut numbers: Vec<usize> = columns.into_iter().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let wrong =
            numbers.iter().find(|column| **column >= self.columns || self.label_columns.contains(column));
        if let Some(column) = wrong {
            return Err(Error::Setting(format!(
                "column {column} (counted from 0) should hold numbers, but it is a label or beyond the {} columns of the data",
                self.columns
            )));
        }
        self.vectors.columns = numbers;
        Ok(self)
    }

    /// The same builder, which standardises the numbers of columns and vectors, as [`CorpusBuilder::standardise`] does.
    ///
    /// [`CorpusBuilder::standardise`]: crate::chain::CorpusBuilder::standardise
    pub fn standardise(self) -> Self {
        LinkedBuilder { numbers_as: Numbers::Standardised, ..self }
    }

    /// The same builder, which takes numbers as they are. Otherwise those whose mean is more than ten standard deviations from 0 in the
    /// training data are centred, and the model treats new data in the same way.
    pub fn without_centring(self) -> Self {
        LinkedBuilder { numbers_as: Numbers::AsTheyAre, ..self }
    }

    /// Adds a sequence, which must have the same columns as the others.
    pub fn add(&mut self, sequence: &Columns) -> Result<()> {
        if sequence.columns() != self.columns {
            let message = format!(
                "{}, but the training data begins with {}: all files need the same columns",
                counted(sequence.columns(), "column"),
                self.columns
            );
            return Err(Error::input(sequence.place(0), message));
        }
        self.templates.refuse_segments()?;
        // A weight of 0 means that the sequence is left out.
        if sequence.weight() == 0.0 {
            return Ok(());
        }
        let mut gold = Vec::with_capacity(sequence.len() * self.label_columns.len());
        for row in 0..sequence.len() {
            for (&column, (labels, sets)) in
                self.label_columns.iter().zip(self.labels.iter_mut().zip(&mut self.sets))
            {
                gold.push(gold_of(sequence.field(row, column), labels, sets));
            }
        }
        if self.sequences.is_empty() {
            self.vectors.width = sequence.vectors().width();
            self.fields = Fields::stored(sequence.fields());
        }
        let mut observed = Observed::new(sequence.len(), &self.templates);
        numbers_of_rows(sequence, |from| self.vectors.read(from, &mut observed.numbers))?;
        observed.dims = self.vectors.dims();
        self.observer.columns(&self.templates, sequence, 0, &mut self.alphabet, &mut observed);
        let (skips, weight) = (self.links.skips(sequence), sequence.weight());
        let token_weights = sequence.token_weights().to_vec();
        self.sequences.push(Sequence { observed, skips, gold, weight, token_weights });
        self.alphabet.check_room()
    }

    /// Drops observations that occur with fewer than `min_count` tokens, sorts the others by frequency and the labels
    /// by name, and returns the corpus.
    pub fn finish(mut self, min_count: u32) -> Result<LinkedCorpus> {
        if self.sequences.is_empty() {
            return Err(Error::Setting("the training data holds no sequence whose weight is above 0".into()));
        }
        for (labels, &column) in self.labels.iter().zip(&self.label_columns) {
            check_trained_labels(labels, Some(column as i32))?;
            if labels.is_empty() {
                return Err(Error::Setting(format!(
                    "no token of the training data has a label in column {column} (counted from 0): label some, or leave the column out"
                )));
            }
        }
        let mut nodes = vec![0u32; self.alphabet.node.len()];
        let mut pairs = vec![0u32; self.alphabet.pair.len()];
        let columns = self.label_columns.len();
        for Sequence { observed, gold, .. } in &self.sequences {
            for t in 0..gold.len() / columns {
                for (ids, counts) in [(observed.node(t), &mut nodes), (observed.pair(t), &mut pairs)] {
                    ids.iter().for_each(|&id| counts[id as usize] = counts[id as usize].saturating_add(1));
                }
            }
        }
        let (node, node_ids) = by_frequency(&self.alphabet.node, &nodes, min_count);
        let (pair, pair_ids) = by_frequency(&self.alphabet.pair, &pairs, min_count);
        self.alphabet.node = node;
        self.alphabet.pair = pair;
        let (labels, label_ids): (Vec<_>, Vec<_>) = self.labels.iter().map(sorted_labels).unzip();
        let cards: Vec<usize> = labels.iter().map(Vec::len).collect();
        // The sets of all columns are one list; `first` is where those of each column begin.
        let (mut first, mut sets) = (Vec::new(), Vec::new());
        for ((of_column, ids), &card) in self.sets.iter().zip(&label_ids).zip(&cards) {
            first.push(sets.len() as Label);
            sets.extend(of_column.iter().flat_map(|sets| sets.bits(ids, card)));
        }
        let mut graphs = Graphs::new(&self.links, cards, &self.templates);
        let mut data = Dataset::new();
        data.set_dense(0, self.vectors.dims());
        for Sequence { mut observed, skips, mut gold, weight, token_weights } in self.sequences {
            observed.renumber(&node_ids, &pair_ids);
            for (v, label) in gold.iter_mut().enumerate() {
                *label = match *label {
                    UNLABELLED => UNLABELLED,
                    set if set >= FIRST_SET => set + first[v % columns],
                    label => label_ids[v % columns][label as usize],
                };
            }
            let graph = graphs.graph(gold.len() / columns, &skips)?;
            self.links.add(graph, &observed, &skips, (&gold, weight), &mut data);
            // Every label of a token has its weight.
            let weights = token_weights.iter().flat_map(|&weight| std::iter::repeat_n(weight, columns));
            if !token_weights.is_empty() {
                data.set_variable_weights(&weights.collect::<Vec<f64>>());
            }
        }
        data.set_sets(sets);
        data.share_matrix(1..columns); // all labels of a token have its numbers
        self.vectors.standard = Standard::fit(&mut data, self.numbers_as);
        let LinkedBuilder { links, templates, columns, fields, label_columns, alphabet, vectors, .. } = self;
        let vectors = (vectors.dims() > 0).then_some(vectors);
        let domain =
            LinkedDomain { links, templates, columns, fields, label_columns, labels, alphabet, vectors };
        Ok(LinkedCorpus { domain, data })
    }
}

/// Checks that links, templates and columns fit each other.
pub(super) fn check(
    links: &Links,
    templates: &Templates,
    columns: usize,
    label_columns: &[usize],
) -> std::result::Result<(), String> {
    let count = label_columns.len();
    match links {
        Links::Factorial if !(2..=MAX_LABEL_COLUMNS).contains(&count) => {
            return Err(format!("a factorial chain has 2 to {MAX_LABEL_COLUMNS} label columns, not {count}"));
        }
        Links::SkipChain { .. } if count != 1 => {
            return Err(format!("a skip chain has one label column, not {count}"));
        }
        _ => {}
    }
    if let Some(column) = label_columns.iter().find(|&&column| column >= columns) {
        return Err(format!(
            "column {column} should be a label, but the data has only {columns} columns, counted from 0"
        ));
    }
    if (1..count).any(|k| label_columns[..k].contains(&label_columns[k])) {
        return Err("a label column is named twice".into());
    }
    if templates.has_numbers() {
        return Err(
            "a template with numbers as values (%number) is for plain chains: leave it out here".into()
        );
    }
    let read = templates.extractors.iter().filter_map(|extractor| Some(("a template", extractor.reads()?)));
    let rule = match links {
        Links::Factorial => Vec::new(),
        Links::SkipChain { rule, .. } => rule.columns(),
    };
    for (who, column) in read.chain(rule.into_iter().map(|column| ("the rule of the links", column))) {
        if label_columns.contains(&column) {
            return Err(format!(
                "{who} reads column {column}, which is a label column: read other columns only"
            ));
        }
        if column >= columns {
            return Err(format!(
                "{who} reads column {column}, but the data has only {columns} columns, counted from 0"
            ));
        }
    }
    Ok(())
}
