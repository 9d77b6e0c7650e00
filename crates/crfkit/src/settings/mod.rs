//! The settings of training: everything besides the data that shapes the weights.
//!
//! One struct serves every kind of model. It is stored in the model file. [`Settings::check`] is the one place that
//! rejects settings that a kind of model cannot use.

mod check;
mod choose;
mod constraint;
mod criterion;
mod gains;
mod init;
mod kind;
mod margins;
mod method;
mod parameters;
mod prior_mean;
mod scaling;
mod tables;

pub use crate::optim::Compute;
pub use choose::{Tuning, TuningTrial};
pub use constraint::Constraint;
pub use criterion::Criterion;
pub(crate) use criterion::WithLoss;
pub use init::Init;
pub use kind::Kind;
#[doc(hidden)]
pub use method::Declaration;
pub use method::Method;
pub use parameters::{HessVec, Parameters};
pub use prior_mean::PriorMean;
pub use scaling::Scaling;
#[doc(hidden)]
pub use tables::tables;

use crate::graph::EXACT_MEMORY;
use crate::infer::{Engine, Propagation};
use crate::loss::Pieces;
use crate::model::{Features, Keep, KeepRules, Precision};
use crate::optim::{Mean, Prior};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything besides the data that shapes the weights. It is stored in the model file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// σ of the Gaussian prior; ∞ (stored as null) means no prior.
    #[serde(with = "infinite")]
    pub sigma: f64,
    /// σ for the weights of label pairs, if it differs from `sigma`. ∞ is stored as null; no value is not stored at
    /// all.
    #[serde(skip_serializing_if = "Option::is_none", with = "infinite_option")]
    pub sigma_pairs: Option<f64>,
    /// σ for the weights of single types in graphs from a file, by type name. All other types use the common σ.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sigma_of: BTreeMap<String, f64>,
    /// Mean of the Gaussian prior.
    pub prior_mean: PriorMean,
    /// Weight of the L1 penalty.
    pub l1: f64,
    /// Which of `sigma` and `l1` training chooses itself.
    #[serde(skip_serializing_if = "Tuning::none")]
    pub choose: Tuning,
    /// The penalties that training has tried to choose them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TuningTrial>,
    /// Whether features that have values are scaled to a common size for training.
    #[serde(skip_serializing_if = "Scaling::is_unit")]
    pub scaling: Scaling,
    /// Observations that occur fewer times than this are ignored.
    pub min_count: u32,
    /// Which (observation, label) pairs get a weight.
    pub features: Keep,
    /// Which pairs of neighbouring labels get a weight; `None` for the same choice as `features`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transitions: Option<Keep>,
    /// The order of chains: 1, or 2 if three neighbouring labels have weights too. With order 2, only the label pairs that get a weight by
    /// `transitions` are possible.
    #[serde(skip_serializing_if = "is_one")]
    pub order: u8,
    /// The largest number of tokens in a segment, if whole segments have weights (semi-Markov chains). The labels must be chunk labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<usize>,
    /// Whether the first and the last label of a sequence have weights.
    pub boundaries: bool,
    /// The objective to minimise.
    pub objective: Criterion,
    /// The pieces, for criteria that have pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pieces: Option<Pieces>,
    /// The examples that online methods draw: whole graphs or single pieces.
    #[serde(skip_serializing_if = "BatchOf::is_graphs")]
    pub batch_of: BatchOf,
    /// The engine that computes marginals on graphs with loops; `None` for the usual engine of the kind of model.
    /// Chains are always solved exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inference: Option<Engine>,
    /// How iterative engines pass messages, in training and when the model is applied.
    #[serde(skip_serializing_if = "Propagation::is_default")]
    pub propagation: Propagation,
    /// The notation of chunks that labellings of chains obey. `None` leaves it to training, which chooses IOB2 if the labels are in that
    /// notation in every training sequence. A model without this setting has no constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// The temperature of the probabilities of a chain: log-potentials are divided by it before inference. It is fitted after training;
    /// `None` is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The weights that training starts from.
    pub init: Init,
    /// The method that minimises the objective.
    pub optimizer: Method,
    /// The parameters of the method.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// The largest number of passes; `None` leaves it to the method.
    pub passes: Option<usize>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Training stops after this number of evaluations on the development set without improvement; 0 means never.
    pub patience: usize,
    /// The numbers in which passes over chains compute. Models without this setting were trained in double precision.
    #[serde(default = "double", skip_serializing_if = "is_double")]
    pub compute: Compute,
    /// Number format of the weights in the model file.
    pub precision: Precision,
    /// Weights of at most this absolute value were set to zero after training; ∞ (all of them) is stored as null.
    #[serde(skip_serializing_if = "Option::is_none", with = "infinite_option")]
    pub shrink: Option<f64>,
    /// How many sequences the model was trained on, if they came from a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<u64>,
    /// The toolkit that the weights come from, if it is another one. The other settings then say nothing about their training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The stated length of the whole stream, in sequences. It determined the share of the prior in each step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examples: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            sigma: 1.0,
            sigma_pairs: None,
            sigma_of: BTreeMap::new(),
            prior_mean: PriorMean::default(),
            l1: 0.0,
            choose: Tuning::default(),
            tried: Vec::new(),
            scaling: Scaling::default(),
            min_count: 1,
            features: Keep::Observed,
            transitions: None,
            order: 1,
            segments: None,
            boundaries: false,
            objective: Criterion::default(),
            pieces: None,
            batch_of: BatchOf::Graphs,
            inference: None,
            propagation: Propagation::default(),
            constraint: None,
            temperature: None,
            init: Init::default(),
            optimizer: Method::default(),
            parameters: Parameters::default(),
            passes: None,
            seed: 1,
            patience: 5,
            compute: Compute::default(),
            precision: Precision::default(),
            shrink: None,
            stream: None,
            origin: None,
            examples: None,
        }
    }
}

/// What counts as one example for methods that take a few examples at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BatchOf {
    /// Each example is a whole graph.
    #[default]
    Graphs,
    /// Each example is one piece of a graph. One large graph is then enough for an online method.
    Pieces,
}

impl BatchOf {
    fn is_graphs(&self) -> bool {
        *self == BatchOf::Graphs
    }
}

fn double() -> Compute {
    Compute::F64
}

fn is_double(compute: &Compute) -> bool {
    *compute == Compute::F64
}

fn is_one(order: &u8) -> bool {
    *order == 1
}

/// Stores σ = ∞ as null, because JSON has no infinity.
mod infinite {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
        if x.is_finite() { s.serialize_some(x) } else { s.serialize_none() }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::INFINITY))
    }
}

/// Stores ∞ as null and leaves the field out if there is no number.
pub(super) mod infinite_option {
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(x: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
        super::infinite::serialize(&x.unwrap_or(f64::INFINITY), s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
        super::infinite::deserialize(d).map(Some)
    }
}

impl Settings {
    /// The most tokens that `segments` may allow.
    pub(crate) const MOST_TOKENS: usize = 1000;

    /// Collins' perceptron: his loss, gradient steps of length 1 on one example at a time, and no prior. With
    /// `average`, the result is the mean of the weights.
    pub fn perceptron(average: bool) -> Self {
        Settings {
            sigma: f64::INFINITY,
            objective: Criterion::Perceptron,
            optimizer: Method::Sgd,
            parameters: Parameters {
                eta0: Some(1.0),
                batch: Some(1),
                average: average.then_some(true),
                ..Parameters::default()
            },
            ..Settings::default()
        }
    }

    /// The default settings for a kind of model.
    ///
    /// One task has one default, whether its data comes as images, as arrays or as graphs from a file: the likelihood,
    /// which is as accurate as the marginal loss on images in a fifth of the time. Under approximate inference it has
    /// false minima, where pairs decide everything. So such graphs start from logistic regression, where nodes decide
    /// everything.
    pub fn for_kind(kind: Kind) -> Self {
        match kind {
            Kind::Grid | Kind::Graph => {
                Settings { init: Init::Logistic, compute: Compute::F64, ..Settings::default() }
            }
            Kind::Linked => Settings { compute: Compute::F64, ..Settings::default() },
            Kind::Chain => Settings::default(),
        }
    }

    /// The Gaussian prior of these settings. `mean` has one entry for each weight, or is empty if the mean is one
    /// number.
    pub(crate) fn prior(&self, features: &Features, mean: Vec<f64>) -> Prior {
        let [sigma, sigma_pairs] = self.sigmas();
        Prior {
            sigma,
            sigma_pairs,
            first_pair: features.first_pair_weight(),
            mean: match mean.is_empty() {
                true => Mean::Value(self.prior_mean.value()),
                false => Mean::Vector(mean),
            },
        }
    }

    /// Which pairs get a weight.
    pub(crate) fn kept(&self) -> KeepRules {
        KeepRules { observations: self.features, tables: self.transitions.unwrap_or(self.features) }
    }

    /// Bytes that the tables of exact inference may take.
    pub(crate) fn exact_memory(&self) -> usize {
        let limit = self.parameters.memory_limit;
        limit.map_or(EXACT_MEMORY, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// σ for the weights of single labels, and σ for those of label pairs.
    fn sigmas(&self) -> [f64; 2] {
        [self.sigma, self.sigma_pairs.unwrap_or(self.sigma)]
    }
}
