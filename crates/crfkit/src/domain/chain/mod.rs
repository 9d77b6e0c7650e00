//! Chains: sequences of tokens, each label joined with the next.

mod builder;
mod co_occurrence;
mod constraint;
mod crew;
mod joined;
mod lattice;
mod objective;
mod potentials;
mod segments;
mod sequence;
mod temperature;
mod vectors;
mod words;

pub use crate::data::observer::Source;
pub use builder::CorpusBuilder;
#[doc(hidden)]
pub use co_occurrence::initial_weights;
pub(crate) use co_occurrence::log_rate;
pub(crate) use constraint::scheme_rules;
#[doc(hidden)]
pub use crew::CorpusCrew;
pub use sequence::{ColumnLayout, Sequence};
pub use temperature::TemperatureFit;
#[doc(hidden)]
pub use vectors::VectorLayout;
pub(super) use vectors::{Numbers, Standard, StoredVectors, numbers_of_rows};

use super::stored::{Origin, check_label_names, parse_head, read_alphabet, write_alphabet};
use super::{Digest, Domain, FORMAT, Fit, ReadyTables, WeightedModel, unknown_start};
use crate::answers::ChainAnswers;
use crate::data::columns::Columns;
use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Observer, Sink};
use crate::decode::Decode;
use crate::error::counted;
use crate::eval::{Scores, is_chunked};
use crate::graph::{Chain, LabelRules, Lattice, NODES, PAIRS};
use crate::infer::Engine;
use crate::model::sections::{Reader, Writer};
use crate::model::{
    Dense, DenseWeights, Features, Keep, LabelSet, Names, TableShapes, WeightKind, kept_names,
};
use crate::settings::{Constraint, Init, Kind, Settings};
use crate::tag::{Judgement, Truth};
use crate::{Error, Place, Result};
use lattice::StoredLattice;
use potentials::Potentials;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use vectors::{Behind, NumbersOf, numbers_of};

/// A training corpus of chains.
pub type ChainCorpus = super::Corpus<ChainDomain>;
/// A model of chains.
pub type ChainModel = WeightedModel<ChainDomain>;
/// A development set of chains.
pub type ChainDev = super::Dev<ChainDomain>;

/// The domain of sequences: labels, templates and alphabets.
#[derive(Clone, Debug)]
pub struct ChainDomain {
    /// Names of the labels: sorted, or in the order of the toolkit that the model comes from.
    pub labels: Vec<String>,
    /// The source that makes observations from input.
    pub source: Source,
    /// Names of the observations, most frequent first, so that the weights of frequent ones lie together in the cache.
    pub alphabet: Alphabet,
    /// Words seen in training (the first column that is not the label's), one bit for each value number; empty if the
    /// input has no words (attributes).
    pub words: Vec<u64>,
    /// The column layout of the training data; `None` with attributes.
    pub columns: Option<ColumnLayout>,
    /// The numbers that every token has, in columns or as a vector. They are the first node observations.
    pub vectors: Option<VectorLayout>,
    /// The labellings that the model knows: their rules, whether it is a second-order chain, and its segments.
    pub lattice: Lattice,
}

impl ChainDomain {
    /// Numbers that every token has.
    pub fn dims(&self) -> usize {
        self.vectors.as_ref().map_or(0, VectorLayout::dims)
    }

    /// Checks the numbers of a sequence, and overwrites `out` with them.
    fn read_numbers(&self, from: &NumbersOf, out: &mut Vec<f32>) -> Result<()> {
        match &self.vectors {
            Some(layout) => layout.read(from, out),
            None => VectorLayout::default().read(from, out),
        }
    }

    /// The column layout of a sequence: where its label and its words are. `None` with attributes.
    pub fn layout_of(&self, sequence: &Sequence) -> Result<Option<ColumnLayout>> {
        match sequence {
            Sequence::Attributes(_) => Ok(None),
            Sequence::Columns { rows, label_column: Some(label) } => {
                ColumnLayout::new(*label, rows.columns(), || sequence.place(0)).map(Some)
            }
            Sequence::Columns { rows, label_column: None } => {
                Ok(self.columns.map(|layout| layout.in_data(rows.columns())))
            }
        }
    }

    /// Checks that the input has the columns that the templates read.
    fn check_columns(&self, sequence: &Columns) -> Result<()> {
        let Source::Templates(templates) = &self.source else {
            return Err(Error::Setting(
                "this model was trained on attributes: give attributes, not columns".into(),
            ));
        };
        if sequence.is_empty() {
            return Ok(());
        }
        ColumnLayout::check_fields(self.columns, sequence)?;
        let found = sequence.columns();
        let wrong = |why| Error::input(sequence.place(0), format!("{}, but {why}", counted(found, "column")));
        // If the label was not the last column in training, leaving it out would silently shift the columns after it.
        if let Some(layout) = self.columns.filter(|layout| !layout.label_is_last() && found < layout.columns)
        {
            return Err(wrong(format!(
                "{} in training, with the label in column {}, before others: give all columns (the label may be any text)",
                layout.columns, layout.label
            )));
        }
        if found < templates.columns_needed {
            return Err(wrong(format!(
                "the model's templates use {}: give all columns that the training data had before the label",
                templates.columns_needed
            )));
        }
        templates.check_dense_columns(sequence)
    }

    fn check_attributes(&self, place: impl FnOnce() -> Place) -> Result<()> {
        match &self.source {
            Source::Attributes => Ok(()),
            Source::Templates(_) => {
                Err(Error::input(place(), "this model was trained on columns: give columns, not attributes"))
            }
        }
    }

    /// Sends the observations of a sequence to `sink`.
    fn send(&self, sequence: &Sequence, observer: &mut Observer, sink: &mut impl Sink) {
        match (sequence, &self.source) {
            (Sequence::Columns { rows, .. }, Source::Templates(templates)) => {
                observer.columns(templates, rows, self.longest(), self.alphabet.frozen(), sink);
            }
            (Sequence::Attributes(attributes), _) => observer.attributes(attributes, &self.alphabet, sink),
            (Sequence::Columns { .. }, Source::Attributes) => {}
        }
    }

    fn check_input(&self, sequence: &Sequence) -> Result<()> {
        match sequence {
            Sequence::Columns { rows, .. } => self.check_columns(rows),
            Sequence::Attributes(_) => self.check_attributes(|| sequence.place(0)),
        }
    }
}

/// The part of the file's head that only chains have.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    labels: Vec<String>,
    source: Origin,
    columns: Option<ColumnLayout>,
    /// Models without vectors have no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<StoredVectors>,
    /// The lattice, unless it is the plain one of all labellings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lattice: Option<StoredLattice>,
}

impl Domain for ChainDomain {
    type Input = Sequence;
    type Graph = Chain;
    type Scratch = Observer;
    const KIND: Kind = Kind::Chain;
    const DECODE: Decode = Decode::Best;

    fn observe(&self, sequence: &Sequence, observer: &mut Observer, data: &mut Dataset<Chain>) -> Result<()> {
        self.check_input(sequence)?;
        let (dims, mut numbers) = (self.dims(), Vec::new());
        numbers_of(sequence, |from| self.read_numbers(from, &mut numbers))?;
        if data.is_empty() && data.dense().is_empty() {
            data.set_dense(NODES, dims);
        }
        data.push_dense(NODES, numbers);
        let own_pairs = matches!(&self.source, Source::Templates(t) if !t.bigram.is_empty());
        let chain = self.chain(sequence.len(), own_pairs);
        self.send(sequence, observer, &mut Behind::new(data, dims, chain));
        data.finish_example(chain, [], 1.0);
        Ok(())
    }

    fn place(sequence: &Sequence) -> Place {
        sequence.place(0)
    }

    fn truth<'a>(&'a self, sequence: &'a Sequence) -> Result<Truth<'a>> {
        let layout = self.layout_of(sequence)?;
        if let (Sequence::Columns { .. }, None) = (sequence, layout) {
            return Err(Error::input(sequence.place(0), "it is not known which column is the label"));
        }
        let label = layout.map_or(0, |layout| layout.label);
        let labels = (0..sequence.len()).map(|t| Some(Cow::Borrowed(sequence.label(t, label)))).collect();
        let known = layout.into_iter().flat_map(|layout| {
            (0..sequence.len()).map_while(move |t| self.knows(sequence.word(t, layout.word())))
        });
        Ok(Truth { labels, known: known.collect() })
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        vec![LabelSet { name: None, labels: (&self.labels).into() }]
    }

    fn label_set_of(&self, _chain: &Chain, _variable: usize) -> usize {
        0
    }

    fn features(&self, data: &Dataset<Chain>, settings: &Settings) -> Features {
        let observations = [self.dims() + self.alphabet.node.len(), self.alphabet.pair.len()];
        let (bigram, boundaries) = (self.source.label_bigram(), settings.boundaries);
        // A token whose label is not known may have any.
        let kept = if data.is_complete() { settings.kept() } else { Keep::All.into() };
        let mut shapes =
            TableShapes::chain(self.labels.len(), observations, bigram, boundaries, &self.lattice);
        data.dense().iter().for_each(|dense| shapes.kinds[dense.kind()].dense = dense.width());
        Features::new(data, shapes, kept).within(self.lattice.clone())
    }

    fn names<'a>(&'a self, features: &'a Features, weights: &'a [f64]) -> Names<'a> {
        let dims = self.dims() as u32;
        Names::chain(&self.labels, features, weights, move |kind, row| match &self.vectors {
            Some(vectors) if kind == NODES && row < dims => (WeightKind::Dense, vectors.name(row as usize)),
            _ => {
                let row = if kind == NODES { row - dims } else { row };
                (WeightKind::Feature, self.alphabet.name(&self.source, kind == PAIRS, row))
            }
        })
    }

    fn check_settings(&self, settings: &Settings) -> Result<()> {
        lattice::check_settings(&self.lattice, settings)
    }

    fn engine(&self) -> Engine {
        Engine::Exact
    }

    fn initial_weights(
        &self,
        data: &Dataset<Chain>,
        features: &Features,
        settings: &Settings,
        _fit: Fit<'_, Self>,
    ) -> Result<Vec<f64>> {
        match settings.init {
            Init::Empirical if !data.is_complete() => Err(Error::Setting(
                "`init` empirical counts labels, but some are not known: start from zero".into(),
            )),
            Init::Empirical => Ok(initial_weights(data, self.labels.len(), features)),
            other => Err(unknown_start(other, Self::KIND)),
        }
    }

    fn rules(&self, settings: &Settings) -> Option<Arc<LabelRules>> {
        let scheme = settings.constraint.and_then(Constraint::scheme)?;
        Some(Arc::new(scheme_rules(&self.labels, scheme)))
    }

    fn observed_constraint(&self, data: &Dataset<Chain>) -> Option<Constraint> {
        constraint::observed(&self.labels, data)
    }

    fn scores(&self, judgement: &Judgement) -> Scores {
        let chunked = is_chunked(self.labels.iter().map(String::as_str));
        Scores { chunked, ..judgement.sets[0].scores() }
    }

    /// Also spreads out the rows of frequent observations: as many as fit into the second-level cache.
    fn tables(features: &Features, weights: &[f64]) -> ReadyTables {
        const DENSE_BYTES: usize = 1 << 20;
        let mut shared = features.empty_tables();
        features.fill_tables(&[weights], &mut shared);
        let mut dense = Dense::default();
        let rows = &features.rows[NODES];
        dense.spread(rows, Dense::<f64>::fitting(rows, DENSE_BYTES), &[weights], |tables, size, task| {
            tables.chunks_mut(size).enumerate().for_each(|(k, tables)| task(k, tables));
        });
        ReadyTables { shared: Arc::new(shared), dense, weights: DenseWeights::of(features, weights) }
    }

    /// Adds the weights of each observation directly to the log-potentials.
    fn load(
        model: &ChainModel,
        tables: &ReadyTables,
        sequence: &Sequence,
        observer: &mut Observer,
        answers: &mut ChainAnswers,
    ) -> Result<()> {
        model.domain.check_input(sequence)?;
        let mut sink = Potentials::new(model, tables, sequence.len(), answers);
        numbers_of(sequence, |numbers| sink.multiply(&model.domain, numbers))?;
        model.domain.send(sequence, observer, &mut sink);
        answers.finish(|| sequence.place(0))
    }

    fn head(&self) -> Result<serde_json::Value> {
        check_label_names(&self.labels).map_err(Error::Setting)?;
        let vectors = self.vectors.as_ref().map(StoredVectors::of);
        let (labels, source) = (self.labels.clone(), Origin::of(&self.source));
        let lattice = StoredLattice::of(&self.lattice);
        let head = Head { labels, source, columns: self.columns, vectors, lattice };
        serde_json::to_value(head).map_err(|error| Error::Setting(error.to_string()))
    }

    fn write<'a>(&'a self, file: &mut Writer<'a>, slots: bool) {
        write_alphabet(&self.alphabet, file, slots);
        file.array("words", &self.words, u64::to_le_bytes);
        if let Some(vectors) = &self.vectors {
            vectors.write(file);
        }
    }

    fn read(head: serde_json::Value, file: &mut Reader) -> Result<Self> {
        let Head { labels, source, columns, vectors, lattice } = parse_head(head)?;
        check_label_names(&labels).map_err(|why| FORMAT.damaged(why))?;
        if columns.is_some_and(|layout| !layout.is_sound()) {
            return Err(FORMAT.damaged("its label is in a column that does not exist"));
        }
        let source = source.compile().map_err(|error| FORMAT.damaged(error))?;
        let alphabet = read_alphabet(file, &source)?;
        let words: Vec<u64> = file.numbers("words", u64::from_le_bytes)?;
        if words.len() > alphabet.values.len().div_ceil(64) {
            return Err(FORMAT.damaged("it knows more words than it has values"));
        }
        let lattice = match lattice {
            Some(stored) => stored.lattice(&labels).map_err(|why| FORMAT.damaged(why))?,
            None => Lattice::default(),
        };
        let vectors = vectors.map(|stored| stored.read(file)).transpose()?;
        Ok(ChainDomain { labels, source, alphabet, words, columns, vectors, lattice })
    }

    fn shapes(&self) -> Result<TableShapes> {
        let observations = [self.dims() + self.alphabet.node.len(), self.alphabet.pair.len()];
        let mut shapes = TableShapes::chain(self.labels.len(), observations, true, true, &self.lattice);
        shapes.kinds[NODES].dense = self.dims();
        Ok(shapes)
    }

    fn lattice(&self) -> Lattice {
        self.lattice.clone()
    }

    fn without_unused(&self, mut used: Vec<Vec<bool>>) -> Option<(Self, Vec<Vec<bool>>)> {
        // A vector keeps its length.
        used[NODES][..self.dims()].fill(true);
        let Alphabet { values, node, pair } = &self.alphabet;
        let alphabet = Alphabet {
            values: values.clone(),
            node: kept_names(node, &used[NODES][self.dims()..]),
            pair: kept_names(pair, &used[PAIRS]),
        };
        Some((ChainDomain { alphabet, ..self.clone() }, used))
    }

    fn digest(&self, digest: &mut Digest) {
        let ChainDomain { labels, source, alphabet, words, columns, vectors, lattice } = self;
        digest.source(source);
        digest.texts(labels);
        digest.alphabet(alphabet);
        digest.numbers(words.iter().map(|bits| bits.to_le_bytes()));
        digest.debug(columns);
        if vectors.is_some() {
            digest.debug(vectors);
        }
        if *lattice != Lattice::default() {
            digest.debug(lattice);
        }
    }
}
