//! Linked chains from column files: factorial chains (several label columns) and skip chains (links between distant
//! tokens).

mod builder;
mod links;
mod names;
mod words;

pub use crate::data::rule::LinkRule;
#[doc(hidden)]
pub use crate::infer::Engine;
pub use builder::LinkedBuilder;
pub use links::Links;

use super::chain::{StoredVectors, VectorLayout, numbers_of_rows};
use super::stored::{Origin, check_labels, parse_head, read_alphabet, write_alphabet};
use super::{Digest, Domain, FORMAT, WeightedModel, allowed_in};
use crate::data::columns::Columns;
use crate::data::conllu::Fields;
use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Observer, Source};
use crate::data::template::Templates;
use crate::decode::Decode;
use crate::error::counted;
use crate::eval::Scores;
use crate::graph::{FactorGraph, Label, LabelBits};
use crate::model::sections::{Reader, Writer};
use crate::model::{Features, Keep, LabelSet, Names, TableShapes, kept_names};
use crate::settings::{Kind, Settings};
use crate::tag::{Judgement, Truth};
use crate::{Error, Place, Result};
use builder::check;
use links::{Graphs, Observed};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A training corpus of linked chains. The label of token t in label column c belongs to variable t·C + c.
pub type LinkedCorpus = super::Corpus<LinkedDomain>;
/// A model of linked chains.
pub type LinkedModel = WeightedModel<LinkedDomain>;
/// A worker that labels linked chains.
pub type LinkedTagger = crate::tag::Tagger<LinkedModel>;

/// The domain of linked chains: the labels of every label column, templates, alphabets and links.
#[derive(Clone, Debug)]
pub struct LinkedDomain {
    /// What links the labels.
    pub links: Links,
    /// The templates that make observations from input.
    pub templates: Templates,
    /// Number of columns of the training data.
    pub columns: usize,
    /// The fields of CoNLL-U that the columns are, if the data was in this format and they are not the default ones.
    pub fields: Option<Fields>,
    /// The label columns.
    pub label_columns: Vec<usize>,
    /// Names of the labels of each label column, sorted.
    pub labels: Vec<Vec<String>>,
    /// Names of the observations, most frequent first.
    pub alphabet: Alphabet,
    /// The numbers that every token has, in columns or as a vector. They are the first observations of every label of the token.
    pub vectors: Option<VectorLayout>,
}

/// Working memory for observing sequences.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct LinkedScratch {
    observer: Observer,
    graphs: Option<Graphs>,
}

impl LinkedDomain {
    /// Number of labels of each label column.
    pub(crate) fn cards(&self) -> Vec<usize> {
        self.labels.iter().map(Vec::len).collect()
    }

    /// Numbers that every token has.
    pub fn dims(&self) -> usize {
        self.vectors.as_ref().map_or(0, VectorLayout::dims)
    }

    /// The numbers of a sequence, token by token.
    fn numbers(&self, sequence: &Columns) -> Result<Vec<f32>> {
        let (none, mut numbers) = (VectorLayout::default(), Vec::new());
        let layout = self.vectors.as_ref().unwrap_or(&none);
        numbers_of_rows(sequence, |from| layout.read(from, &mut numbers))?;
        Ok(numbers)
    }

    /// The column of the words: the first one that is not a label column.
    pub fn word_column(&self) -> usize {
        (0..self.columns).find(|column| !self.label_columns.contains(column)).unwrap_or(0)
    }

    /// Number of columns that new data needs: those that templates and rule read, and all if a label column comes
    /// before one of them.
    pub(crate) fn columns_needed(&self) -> usize {
        let rule = match &self.links {
            Links::Factorial => None,
            Links::SkipChain { rule, .. } => rule.columns().last().copied(),
        };
        let numbers = self.vectors.as_ref().and_then(|vectors| vectors.columns.last().copied());
        let read = [rule, numbers].into_iter().flatten().map(|column| column + 1);
        let read = read.fold(self.templates.columns_needed, usize::max);
        let labels_are_last = self.label_columns.iter().all(|&column| column >= read);
        if labels_are_last { read } else { self.columns }
    }

    /// The labels that columns of a sequence allow its variables, where they do not allow all: for each label column a column with `?`,
    /// a label, or several joined by `|`. Negative columns are counted from the end. It goes to
    /// [`GraphAnswers::allow`](crate::answers::GraphAnswers::allow).
    pub fn allowed_in(&self, sequence: &Columns, columns: &[i32]) -> Result<Vec<(usize, LabelBits)>> {
        let (given, count) = (columns.len(), self.label_columns.len());
        if given != count {
            return Err(Error::Setting(format!(
                "`allowed` names {given} columns, but tokens have {count} labels: name a column for each, in the order of the label columns"
            )));
        }
        let mut sets = Vec::new();
        for (c, (&column, labels)) in columns.iter().zip(&self.labels).enumerate() {
            let find = |name: &str| labels.binary_search_by(|label| label.as_str().cmp(name)).ok();
            let of_column =
                allowed_in(sequence, column, labels.len(), |name| find(name).map(|k| k as Label))?;
            sets.extend(of_column.into_iter().map(|(t, set)| (t * count + c, set)));
        }
        Ok(sets)
    }

    /// The shapes of all tables.
    fn table_shapes(&self) -> TableShapes {
        let mut shapes = self.links.shapes(&self.cards(), &self.templates, &self.alphabet);
        for kind in &mut shapes.kinds[..self.labels.len()] {
            (kind.dense, kind.observations) = (self.dims(), kind.observations + self.dims());
        }
        shapes
    }

    fn sets(&self) -> Vec<LabelSet<'_>> {
        let set = |(column, labels)| LabelSet {
            name: Some(format!("column {column}")),
            labels: Cow::Borrowed(labels as &[String]),
        };
        self.label_columns.iter().zip(&self.labels).map(|(column, labels)| set((column, labels))).collect()
    }
}

/// The part of the file's head that only linked chains have.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    links: Links,
    source: Origin,
    columns: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fields: Option<Fields>,
    label_columns: Vec<usize>,
    labels: Vec<Vec<String>>,
    /// Models without vectors have no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vectors: Option<StoredVectors>,
}

impl Domain for LinkedDomain {
    type Input = Columns;
    type Graph = FactorGraph;
    type Scratch = LinkedScratch;
    const KIND: Kind = Kind::Linked;
    const DECODE: Decode = Decode::Best;

    fn observe(
        &self,
        sequence: &Columns,
        scratch: &mut LinkedScratch,
        data: &mut Dataset<FactorGraph>,
    ) -> Result<()> {
        Fields::check(self.fields, sequence)?;
        let needed = self.columns_needed();
        if !sequence.is_empty() && sequence.columns() < needed {
            let message = format!(
                "{}, but the model needs {needed}: give all columns that the training data had (labels may be any text)",
                counted(sequence.columns(), "column")
            );
            return Err(Error::input(sequence.place(0), message));
        }
        let LinkedScratch { observer, graphs } = scratch;
        let graphs = graphs.get_or_insert_with(|| Graphs::new(&self.links, self.cards(), &self.templates));
        let skips = self.links.skips(sequence);
        let graph = graphs.graph(sequence.len(), &skips)?;
        let mut observed = Observed::new(sequence.len(), &self.templates);
        (observed.numbers, observed.dims) = (self.numbers(sequence)?, self.dims());
        if data.is_empty() && data.dense().is_empty() {
            (0..self.labels.len()).for_each(|kind| data.set_dense(kind, self.dims()));
        }
        observer.columns(&self.templates, sequence, 0, self.alphabet.frozen(), &mut observed);
        self.links.add(graph, &observed, &skips, (&[], 1.0), data);
        Ok(())
    }

    fn place(sequence: &Columns) -> Place {
        if sequence.is_empty() { Place::new("input", 0) } else { sequence.place(0) }
    }

    fn truth<'a>(&'a self, sequence: &'a Columns) -> Result<Truth<'a>> {
        if sequence.columns() != self.columns {
            let message = format!(
                "{}, but {} in training: gold labels are needed for the comparison",
                counted(sequence.columns(), "column"),
                self.columns
            );
            return Err(Error::input(Self::place(sequence), message));
        }
        let of_row =
            |row| self.label_columns.iter().map(move |&c| Some(Cow::Borrowed(sequence.field(row, c))));
        Ok(Truth { labels: (0..sequence.len()).flat_map(of_row).collect(), known: Vec::new() })
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        self.sets()
    }

    fn label_set_of(&self, _graph: &FactorGraph, variable: usize) -> usize {
        variable % self.labels.len()
    }

    /// The labels of one token form a group.
    fn group(&self) -> usize {
        self.labels.len()
    }

    fn features(&self, data: &Dataset<FactorGraph>, settings: &Settings) -> Features {
        // A token whose label is not known may have any.
        let kept = if data.is_complete() { settings.kept() } else { Keep::All.into() };
        Features::new(data, self.table_shapes(), kept)
    }

    fn names<'a>(&'a self, features: &'a Features, weights: &'a [f64]) -> Names<'a> {
        names::names(self, features, weights)
    }

    fn engine(&self) -> Engine {
        match self.links {
            Links::Factorial => Engine::Exact,
            Links::SkipChain { .. } => Engine::LoopyBp,
        }
    }

    /// The scores of the label column if there is one; otherwise the fraction of tokens whose labels are all correct.
    fn scores(&self, judgement: &Judgement) -> Scores {
        let first = judgement.sets[0].scores();
        match judgement.sets.len() {
            1 => first,
            _ => Scores {
                accuracy: judgement.joint.percent(),
                tokens: first.tokens,
                sequences: first.sequences,
                ..Scores::default()
            },
        }
    }

    fn head(&self) -> Result<serde_json::Value> {
        self.labels.iter().try_for_each(|labels| check_labels(labels)).map_err(Error::Setting)?;
        let head = Head {
            links: self.links.clone(),
            source: Origin::of(&Source::Templates(self.templates.clone())),
            columns: self.columns,
            fields: self.fields,
            label_columns: self.label_columns.clone(),
            labels: self.labels.clone(),
            vectors: self.vectors.as_ref().map(StoredVectors::of),
        };
        serde_json::to_value(head).map_err(|error| Error::Setting(error.to_string()))
    }

    fn write<'a>(&'a self, file: &mut Writer<'a>, slots: bool) {
        write_alphabet(&self.alphabet, file, slots);
        if let Some(vectors) = &self.vectors {
            vectors.write(file);
        }
    }

    fn read(head: serde_json::Value, file: &mut Reader) -> Result<Self> {
        let Head { links, source, columns, fields, label_columns, labels, vectors } = parse_head(head)?;
        let source = source.compile().map_err(|error| FORMAT.damaged(error))?;
        let alphabet = read_alphabet(file, &source)?;
        let Source::Templates(templates) = source else {
            return Err(FORMAT.damaged("it has no templates"));
        };
        check(&links, &templates, columns, &label_columns).map_err(|why| FORMAT.damaged(why))?;
        if fields.is_some_and(|fields| fields.count() != columns) {
            return Err(FORMAT.damaged("its columns are not those of its fields"));
        }
        if labels.len() != label_columns.len() {
            return Err(FORMAT.damaged("its labels are not those of its columns"));
        }
        labels.iter().try_for_each(|labels| check_labels(labels)).map_err(|why| FORMAT.damaged(why))?;
        let vectors = vectors.map(|stored| stored.read(file)).transpose()?;
        Ok(LinkedDomain { links, templates, columns, fields, label_columns, labels, alphabet, vectors })
    }

    fn shapes(&self) -> Result<TableShapes> {
        Ok(self.table_shapes())
    }

    /// An observation is kept if any kind of table needs it.
    fn without_unused(&self, used: Vec<Vec<bool>>) -> Option<(Self, Vec<Vec<bool>>)> {
        let Alphabet { values, node, pair } = &self.alphabet;
        let of_node = |kind: usize| self.links.sees_nodes(kind, self.labels.len());
        let dense = |kind: usize| if kind < self.labels.len() { self.dims() } else { 0 };
        let (mut nodes, mut pairs) = (vec![false; node.len()], vec![false; pair.len()]);
        for (kind, used) in used.iter().enumerate() {
            let all = if of_node(kind) { &mut nodes } else { &mut pairs };
            all.iter_mut().zip(&used[dense(kind)..]).for_each(|(all, used)| *all |= used);
        }
        let kept = used.iter().enumerate().map(|(kind, rows)| {
            let all = if of_node(kind) { &nodes } else { &pairs };
            // A vector keeps its length, and a kind may have no named observations at all.
            [&vec![true; dense(kind)][..], &all[..rows.len() - dense(kind)]].concat()
        });
        let kept = kept.collect();
        let (values, node, pair) = (values.clone(), kept_names(node, &nodes), kept_names(pair, &pairs));
        Some((LinkedDomain { alphabet: Alphabet { values, node, pair }, ..self.clone() }, kept))
    }

    fn digest(&self, digest: &mut Digest) {
        let LinkedDomain { links, templates, columns, fields, label_columns, labels, alphabet, vectors } =
            self;
        digest.debug(&(links, columns, fields, label_columns));
        digest.templates(templates);
        labels.iter().for_each(|labels| digest.texts(labels));
        digest.alphabet(alphabet);
        if vectors.is_some() {
            digest.debug(vectors);
        }
    }
}
