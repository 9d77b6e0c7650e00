//! Graphs from a file: nodes and factors of declared types. Members of one type share their weights.
//!
//! `docs/GRAPHS.md` describes the format. Losses, optimisers and risk are the same as for other graphs.

mod arrays;
mod builder;
mod label_table;
mod line;
mod memory;
mod types;

#[doc(hidden)]
pub use crate::decode::Decode;
#[doc(hidden)]
pub use crate::infer::Engine;
pub use arrays::{EdgeArrays, GraphArrays, Matrix};
pub(crate) use builder::Structures;
pub use builder::TypedBuilder;
pub use label_table::LabelTable;
pub use line::{Line, TypedGraph};
pub use memory::{FeatureValues, TypedGraphBuilder};
pub use types::{Declaration, Type, Types};

use super::alone::logistic;
use super::stored::parse_head;
use super::{Digest, Domain, FORMAT, Fit, WeightedModel, unknown_start};
use crate::data::dataset::Dataset;
use crate::data::strings::Strings;
use crate::data::text::excerpt;
use crate::eval::Scores;
use crate::graph::{FIRST_SET, FactorGraph, Graph, LabelBits};
use crate::model::sections::{Reader, Writer};
use crate::model::{Features, Keep, LabelSet, Names, TableShapes, WeightPart, is_text, kept_names};
use crate::settings::{Init, Kind, Settings};
use crate::tag::{Judgement, Truth};
use crate::{Error, Place, Result};
use builder::{check_same, observe};
use line::names;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A training corpus of typed graphs. Observation 0 of a table is a constant; the dense features follow, then the named
/// ones.
pub type TypedCorpus = super::Corpus<TypedDomain>;
/// A model of typed graphs.
pub type TypedModel = WeightedModel<TypedDomain>;
/// A worker that labels typed graphs.
pub type TypedTagger = crate::tag::Tagger<TypedModel>;

/// The domain of typed graphs: the types, and the named features of each type.
#[derive(Clone, Debug)]
pub struct TypedDomain {
    /// The types of nodes and factors.
    pub types: Types,
    /// The named features of each type, most frequent first.
    pub names: Vec<Strings>,
}

impl TypedDomain {
    /// Number of named features of each type.
    fn name_counts(&self) -> Vec<usize> {
        self.names.iter().map(Strings::len).collect()
    }

    /// Reads a line of a graph file; `None` if it does not hold a graph. Types may be declared again, but must be the
    /// same.
    pub fn read_line(&self, text: &str, place: &Place) -> Result<Option<TypedGraph>> {
        match Line::read(text, place, Some(&self.types))? {
            Line::Blank => Ok(None),
            Line::Types(declared) => check_same(&declared, &self.types, place).map(|()| None),
            Line::Graph(graph) => Ok(Some(graph)),
        }
    }
}

/// The part of the file's head that only typed graphs have.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    types: Types,
}

/// Names of the sections that hold the feature names of one type.
const NAMES: [&str; 3] = ["names.text", "names.ends", "names.slots"];

impl Domain for TypedDomain {
    type Input = TypedGraph;
    type Graph = FactorGraph;
    type Scratch = Structures;
    const KIND: Kind = Kind::Graph;
    const DECODE: Decode = Decode::MaxMarginal;

    /// Adds the observations of a graph. Named features not seen in training are ignored.
    fn observe(
        &self,
        graph: &TypedGraph,
        structures: &mut Structures,
        data: &mut Dataset<FactorGraph>,
    ) -> Result<()> {
        let structure = structures.of(graph, &self.types)?;
        let number = |kind: usize, name: &str| self.names[kind].find(name.as_bytes());
        let members = graph.members().map(|(kind, features)| (kind, Some(features)));
        observe(members, &self.types, number, data);
        data.finish_example(structure, [], 1.0);
        Ok(())
    }

    fn place(graph: &TypedGraph) -> Place {
        graph.place.clone()
    }

    fn allowed(graph: &TypedGraph) -> Cow<'_, [(usize, LabelBits)]> {
        Cow::Borrowed(&graph.allowed)
    }

    fn truth<'a>(&'a self, graph: &'a TypedGraph) -> Result<Truth<'a>> {
        let name = |(&kind, &label): (&usize, &u32)| {
            // One of several is not scored, like one that is not known.
            (label < FIRST_SET)
                .then(|| Cow::Borrowed(self.types.nodes()[kind].labels[label as usize].as_str()))
        };
        Ok(Truth { labels: graph.nodes.iter().zip(&graph.gold).map(name).collect(), known: Vec::new() })
    }

    fn label_sets(&self) -> Vec<LabelSet<'_>> {
        let sets = self.types.nodes().iter();
        sets.map(|of| LabelSet { name: Some(of.name.clone()), labels: (&of.labels).into() }).collect()
    }

    /// The label set of a node is its type. Every node has its own table, in the order of the nodes, and its kind is
    /// the node's type.
    fn label_set_of(&self, graph: &FactorGraph, variable: usize) -> usize {
        graph.own_kind(variable)
    }

    /// All observations, each with all labellings.
    fn features(&self, data: &Dataset<FactorGraph>, _settings: &Settings) -> Features {
        let mut shapes = self.shapes().expect("too many weights are rejected when the corpus is read");
        data.dense().iter().for_each(|dense| shapes.kinds[dense.kind()].dense = dense.width());
        Features::new(&Dataset::<FactorGraph>::new(), shapes, Keep::All)
    }

    fn names<'a>(&'a self, features: &'a Features, weights: &'a [f64]) -> Names<'a> {
        let parts = self.types.all().iter().zip(&self.names).zip(&features.rows);
        let parts = parts.map(|((of, names), rows)| {
            let named = |id| String::from_utf8_lossy(names.get(id)).into_owned();
            WeightPart::described(&*of.name, of.over.clone(), of.tables, Cow::Borrowed(rows), of.dense, named)
        });
        Names { sets: self.label_sets(), parts: parts.collect(), weights }
    }

    fn engine(&self) -> Engine {
        Engine::default()
    }

    /// σ of each type, relative to the common one.
    ///
    /// A prior on θ with its own σ is the common prior on θ′ = θ/s, s = σ_type/σ, if features are multiplied by s:
    /// θᵀh = θ′ᵀ(s·h). So optimisers need not know about types.
    fn scales(&self, settings: &Settings) -> Result<Option<Vec<f64>>> {
        if settings.sigma_of.is_empty() {
            return Ok(None);
        }
        let mut scales = vec![1.0; self.types.all().len()];
        for (name, sigma_of) in &settings.sigma_of {
            let Some(kind) = self.types.index_of(name) else {
                let known = names(self.types.all().iter().map(|of| &of.name));
                return Err(Error::Setting(format!(
                    "`sigma_of` {}: there is no such type; {known}",
                    excerpt(name)
                )));
            };
            let nodes = kind < self.types.nodes().len();
            let common = if nodes { settings.sigma } else { settings.sigma_pairs.unwrap_or(settings.sigma) };
            scales[kind] = sigma_of / common;
        }
        Ok(Some(scales))
    }

    /// The first weights of [`Init::Logistic`].
    fn initial_weights(
        &self,
        data: &Dataset<FactorGraph>,
        _features: &Features,
        settings: &Settings,
        fit: Fit<'_, Self>,
    ) -> Result<Vec<f64>> {
        match settings.init {
            Init::Logistic => logistic(self, data, settings, fit),
            other => Err(unknown_start(other, Self::KIND)),
        }
    }

    /// The accuracy over all nodes, and over whole graphs.
    fn scores(&self, judgement: &Judgement) -> Scores {
        let (nodes, graphs) = (judgement.overall(), judgement.joint);
        Scores {
            accuracy: nodes.percent(),
            sequence_accuracy: graphs.percent(),
            tokens: nodes.total,
            sequences: graphs.total,
            ..Scores::default()
        }
    }

    fn head(&self) -> Result<serde_json::Value> {
        serde_json::to_value(Head { types: self.types.clone() })
            .map_err(|error| Error::Setting(error.to_string()))
    }

    fn write<'a>(&'a self, file: &mut Writer<'a>, slots: bool) {
        self.names.iter().for_each(|names| file.strings(NAMES, names, slots));
    }

    fn read(head: serde_json::Value, file: &mut Reader) -> Result<Self> {
        let Head { types } = parse_head(head)?;
        let names = (0..types.all().len()).map(|_| file.strings(NAMES));
        let names = names.collect::<Result<Vec<Strings>>>()?;
        match names.iter().all(is_text) {
            true => Ok(TypedDomain { types, names }),
            false => Err(FORMAT.damaged("a name is no UTF-8")),
        }
    }

    fn shapes(&self) -> Result<TableShapes> {
        let kinds = self.types.kinds(&self.name_counts())?;
        Ok(TableShapes { kinds, node_kinds: self.types.nodes().len(), shared: Vec::new() })
    }

    /// The constant and the dense features are always kept.
    fn without_unused(&self, mut used: Vec<Vec<bool>>) -> Option<(Self, Vec<Vec<bool>>)> {
        let first = |kind: usize| self.types.first_named(kind);
        used.iter_mut().enumerate().for_each(|(kind, used)| used[..first(kind)].fill(true));
        let names = self.names.iter().enumerate();
        let names = names.map(|(kind, names)| kept_names(names, &used[kind][first(kind)..])).collect();
        Some((TypedDomain { types: self.types.clone(), names }, used))
    }

    fn digest(&self, digest: &mut Digest) {
        digest.debug(&self.types.all());
        self.names.iter().for_each(|names| digest.strings(names));
    }
}
