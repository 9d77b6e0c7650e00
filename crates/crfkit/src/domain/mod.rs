//! What differs between kinds of model, and what they share.
//!
//! A [`Domain`] holds everything that is known about the inputs of a kind of model besides the weights: labels,
//! templates, alphabets, types, layouts. It defines what an input is, which graph it becomes, what its observations
//! are, and the names of the weights. Everything else exists once, for any domain:
//!
//! ```text
//! inputs ─builder→ Corpus<D> ─train→ WeightedModel<D> ─file→ bytes
//! input  ─observe→ graph, ψ  ─Tagger→ answers: labels, marginals
//! ```
//!
//! To add a kind of model, add a folder here that implements [`Domain`], with a builder that reads its training data.

pub mod chain;
pub mod grid;
pub mod linked;
pub mod typed;

mod alone;
mod corpus;
mod dev;
mod digest;
mod file;
mod label_weights;
mod model;
mod objective;
mod partial;
mod stored;
mod words;

pub use corpus::Corpus;
pub use dev::Dev;
pub(crate) use digest::Digest;
pub use file::StoredKind;
pub(crate) use file::{FORMAT, MAX_WEIGHT, StoredHead, read_file};
pub use model::WeightedModel;
pub use objective::ModelGraph;
pub(crate) use objective::{AnswersOf, Sum};
pub(crate) use partial::{allowed_in, label_bits};
pub(crate) use stored::{check_label_names, check_labels, check_trained_labels, too_many_labels};
pub(crate) use words::words_alone;

use crate::answers::Answers;
use crate::data::dataset::Dataset;
use crate::decode::Decode;
use crate::eval::Scores;
use crate::graph::{LabelBits, LabelRules, Lattice, Shared};
use crate::infer::Engine;
use crate::model::sections::{Reader, Writer};
use crate::model::{Dense, DenseWeights, Features, LabelSet, Names, TableShapes};
use crate::optim::Objective;
use crate::risk::potentials_with;
use crate::settings::{Constraint, Init, Kind, Settings};
use crate::tag::{Judgement, Truth};
use crate::{Error, Place, Result};
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

/// A kind of model: its inputs, graphs, observations, features and names, and its part of the model file.
pub trait Domain: Clone + Debug + Send + Sync + Sized + 'static {
    /// One example, as it is read, with or without labels.
    type Input: Debug + Send;
    /// The graph of an example.
    type Graph: ModelGraph;
    /// Working memory for observing an input, kept from one input to the next.
    type Scratch: Clone + Default + Debug + Send + Sync;

    /// The kind of model.
    const KIND: Kind;
    /// The decoder that is used unless another one is asked for.
    const DECODE: Decode;
    /// The tolerance at which iterative engines stop.
    const TOLERANCE: f64 = Engine::TOLERANCE;

    // Inputs.

    /// Adds an input to `data` without its labels. Observations that training has not seen are left out.
    fn observe(
        &self,
        input: &Self::Input,
        scratch: &mut Self::Scratch,
        data: &mut Dataset<Self::Graph>,
    ) -> Result<()>;
    /// The place where the input was read.
    fn place(input: &Self::Input) -> Place;
    /// The labels that the input restricts some variables to, when it is labelled.
    #[doc(hidden)]
    fn allowed(_input: &Self::Input) -> Cow<'_, [(usize, LabelBits)]> {
        Cow::default()
    }
    /// The gold labels of an input, one for each variable. It is an error if it has none.
    fn truth<'a>(&'a self, input: &'a Self::Input) -> Result<Truth<'a>>;

    // Labels and weights.

    /// The label sets.
    fn label_sets(&self) -> Vec<LabelSet<'_>>;
    /// The label set of a variable.
    fn label_set_of(&self, graph: &Self::Graph, variable: usize) -> usize;
    /// How many consecutive variables form a group whose labels should all be correct, such as the labels of one token;
    /// 0 for the whole graph.
    fn group(&self) -> usize {
        0
    }
    /// The features that get weights: those seen in `data`, or all.
    fn features(&self, data: &Dataset<Self::Graph>, settings: &Settings) -> Features;
    /// The names of the weights.
    fn names<'a>(&'a self, features: &'a Features, weights: &'a [f64]) -> Names<'a>;
    /// Rejects weights of a model whose inputs have other features.
    fn check_transfer(&self, _from: &Self) -> Result<()> {
        Ok(())
    }

    // Training.

    /// Rejects settings that ask for another kind of chain than the corpus was made for.
    fn check_settings(&self, _settings: &Settings) -> Result<()> {
        Ok(())
    }
    /// The engine that is used unless another one is asked for.
    fn engine(&self) -> Engine;
    /// The sum of the losses over `data`.
    fn objective(
        &self,
        settings: &Settings,
        features: Arc<Features>,
        data: Dataset<Self::Graph>,
        threads: usize,
    ) -> Result<Box<dyn Objective>> {
        let engine = settings.inference.unwrap_or_else(|| self.engine());
        let sum = Sum::new(features, data, threads, settings);
        Self::Graph::objective(sum, settings, engine, Self::TOLERANCE)
    }
    /// The factor by which the features of each kind of table are multiplied, if some of them have their own prior.
    fn scales(&self, _settings: &Settings) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    /// The weights that training starts from, other than zeros, random ones and those of a model. `fit` trains on other
    /// examples.
    #[doc(hidden)]
    fn initial_weights(
        &self,
        _data: &Dataset<Self::Graph>,
        _features: &Features,
        settings: &Settings,
        _fit: Fit<'_, Self>,
    ) -> Result<Vec<f64>> {
        Err(unknown_start(settings.init, Self::KIND))
    }
    /// The rules on labels that these settings ask for.
    fn rules(&self, _settings: &Settings) -> Option<Arc<LabelRules>> {
        None
    }
    /// The constraint that all training examples obey, if there is one that labellings should obey too.
    fn observed_constraint(&self, _data: &Dataset<Self::Graph>) -> Option<Constraint> {
        None
    }
    /// The labellings of chains that the model knows.
    #[doc(hidden)]
    fn lattice(&self) -> Lattice {
        Lattice::default()
    }
    /// The scores by which models are compared on a development set.
    fn scores(&self, judgement: &Judgement) -> Scores;

    // Labelling.

    /// The tables computed from the weights once, for all workers.
    #[doc(hidden)]
    fn tables(features: &Features, weights: &[f64]) -> ReadyTables {
        let mut shared = features.empty_tables();
        features.fill_tables(&[weights], &mut shared);
        ReadyTables {
            shared: Arc::new(shared),
            dense: Dense::default(),
            weights: DenseWeights::of(features, weights),
        }
    }
    /// Loads an input.
    #[doc(hidden)]
    fn load(
        model: &WeightedModel<Self>,
        tables: &ReadyTables,
        input: &Self::Input,
        scratch: &mut Self::Scratch,
        answers: &mut AnswersOf<Self>,
    ) -> Result<()> {
        let mut data = Dataset::new();
        model.domain.observe(input, scratch, &mut data)?;
        let at = (&model.weights[..], &tables.weights);
        let fill = &mut |own: &mut _| potentials_with(&model.features, &data, 0, at, own);
        answers.load(data.graph(0), Self::place(input), fill)?;
        answers.allow(&Self::allowed(input))
    }

    // Files.

    /// The small parts of the domain, as JSON.
    #[doc(hidden)]
    fn head(&self) -> Result<serde_json::Value>;
    /// Adds the sections whose size grows with the data. Slots of hash tables are stored only with `slots`.
    #[doc(hidden)]
    fn write<'a>(&'a self, file: &mut Writer<'a>, slots: bool);
    /// Reads the head and the sections, and checks everything that the rest of the library relies on.
    #[doc(hidden)]
    fn read(head: serde_json::Value, file: &mut Reader) -> Result<Self>;
    /// The shapes of all tables.
    #[doc(hidden)]
    fn shapes(&self) -> Result<TableShapes>;
    /// The domain without the observations that no kind of table uses, and which rows each kind keeps. `None` if models
    /// are too small for this to be worthwhile.
    fn without_unused(&self, used: Vec<Vec<bool>>) -> Option<(Self, Vec<Vec<bool>>)>;
    /// Adds the whole domain to the fingerprint of a run.
    #[doc(hidden)]
    fn digest(&self, digest: &mut Digest);
}

/// A function that trains on a corpus with some settings, and returns the weights.
#[doc(hidden)]
pub type Fit<'a, D> = &'a mut dyn FnMut(Corpus<D>, &Settings) -> Result<Vec<f64>>;

/// The tables computed from a model's weights once, for all workers.
#[derive(Debug)]
#[doc(hidden)]
pub struct ReadyTables {
    /// The tables that all inputs share.
    pub(crate) shared: Arc<Shared<f64>>,
    /// The rows of frequent observations, spread out to whole tables.
    pub(crate) dense: Dense,
    /// The weights of dense observations, as matrices.
    pub(crate) weights: DenseWeights,
}

/// The error for first weights that a kind of model does not have.
fn unknown_start(init: Init, kind: Kind) -> Error {
    Error::Setting(match init {
        Init::Model => "training is to start from weights that are not given".into(),
        _ => format!("a model of a {} cannot start from {init:?} weights", kind.name()),
    })
}
