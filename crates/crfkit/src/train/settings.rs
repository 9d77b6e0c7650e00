//! What shapes the weights besides the data.

use super::{Criterion, Method, Parameters};
use crate::loss::Pieces;
use crate::model::{Features, Keep};
use crate::optim::{Mean, Prior};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Everything that shapes the weights besides the data. Stored in the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// σ of the Gaussian prior; ∞ (stored as null) for none.
    #[serde(with = "infinite")]
    pub sigma: f64,
    /// σ of the weights of label pairs, where it differs (∞ is stored as null, no difference not at all).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "infinite_option")]
    pub sigma_pairs: Option<f64>,
    /// Mean of the prior where it is one number.
    pub prior_mean: f64,
    /// Weight of the L1 penalty.
    pub l1: f64,
    /// Observations that occur more rarely are dropped.
    pub min_count: u32,
    /// Which features get a weight.
    pub features: Keep,
    /// Whether the first and the last label of a sequence have weights.
    pub boundaries: bool,
    /// What is minimised.
    #[serde(default)]
    pub objective: Criterion,
    /// What a piece is, for the criteria that have pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<Pieces>,
    /// What the examples are that a method takes a few of at a time.
    #[serde(default, skip_serializing_if = "BatchOf::is_graphs")]
    pub batch_of: BatchOf,
    /// How.
    pub optimizer: Method,
    /// The parameters of the method.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// Passes at most; `None` leaves it to the method.
    pub passes: Option<usize>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Evaluations on the development data without a better one before training stops.
    pub patience: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            sigma: 1.0,
            sigma_pairs: None,
            prior_mean: 0.0,
            l1: 0.0,
            min_count: 1,
            features: Keep::Observed,
            boundaries: false,
            objective: Criterion::default(),
            pieces: None,
            batch_of: BatchOf::Graphs,
            optimizer: Method::default(),
            parameters: Parameters::default(),
            passes: None,
            seed: 1,
            patience: 5,
        }
    }
}

/// What the examples of the sum are, for methods that take a few at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchOf {
    /// Whole graphs.
    #[default]
    Graphs,
    /// The pieces of all graphs, each for itself: then one large graph is enough for an online method.
    Pieces,
}

impl BatchOf {
    fn is_graphs(&self) -> bool {
        *self == BatchOf::Graphs
    }
}

/// σ = ∞ as null: JSON has no infinity.
mod infinite {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
        if x.is_finite() { s.serialize_some(x) } else { s.serialize_none() }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::INFINITY))
    }
}

/// The same where there may be no number: then the field is left out.
pub(super) mod infinite_option {
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(x: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
        super::infinite::serialize(&x.unwrap_or(f64::INFINITY), s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
        super::infinite::deserialize(d).map(Some)
    }
}

impl Settings {
    /// Collins' perceptron: his loss, gradient steps of length 1 on one example at a time, no prior; the mean of the weights
    /// where `average` is wished.
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

    /// The Gaussian prior of these settings; `mean` by weight, empty where it is one number.
    pub(crate) fn prior(&self, features: &Features, mean: Vec<f64>) -> Prior {
        let [sigma, sigma_pairs] = self.sigmas();
        Prior {
            sigma,
            sigma_pairs,
            first_pair: features.first_pair_weight(),
            mean: match mean.is_empty() {
                true => Mean::Value(self.prior_mean),
                false => Mean::Vector(mean),
            },
        }
    }

    /// Refuses values that make no sense, before any work starts.
    pub fn check(&self) -> Result<()> {
        let refuse = |what: &str, value: f64, need: &str| {
            Err(Error::Setting(format!("{what} is {value}, but it must be {need}")))
        };
        if self.sigma.is_nan() || self.sigma <= 0.0 {
            return refuse("--sigma", self.sigma, "a positive number (inf for no prior)");
        }
        match self.sigma_pairs {
            Some(sigma) if sigma.is_nan() || sigma <= 0.0 => {
                return refuse("--sigma-pairs", sigma, "a positive number (inf for no prior)");
            }
            _ => {}
        }
        if !(self.l1 >= 0.0 && self.l1.is_finite()) {
            return refuse("--l1", self.l1, "0 or a positive number");
        }
        if !self.prior_mean.is_finite() {
            return refuse("--prior-mean", self.prior_mean, "a finite number");
        }
        if self.passes == Some(0) {
            return refuse("--passes", 0.0, "at least 1");
        }
        if self.pieces.is_some() && !self.objective.has_pieces() {
            return Err(Error::Setting(format!(
                "--pieces is not a setting of --objective {}, only of piecewise and piecewise-pseudo",
                self.objective.name()
            )));
        }
        if self.batch_of == BatchOf::Pieces && !self.objective.has_pieces() {
            return Err(Error::Setting(format!(
                "--batch-of pieces is not for --objective {}, only for piecewise and piecewise-pseudo",
                self.objective.name()
            )));
        }
        self.optimizer.check(self.objective)?;
        self.parameters.check(self.optimizer)?;
        let [sigma, sigma_pairs] = self.sigmas();
        let prior = Prior { sigma_pairs, ..Prior::gaussian(sigma) };
        self.optimizer.optimizer(self).check(&prior, self.l1)
    }

    /// The same, and refuses what chains have no use for.
    pub fn check_for_chains(&self) -> Result<()> {
        self.check()?;
        Criterion::check_pieces(self.pieces.unwrap_or_default())?;
        match self.batch_of {
            BatchOf::Graphs => Ok(()),
            BatchOf::Pieces => {
                Err(Error::Setting("--batch-of pieces is for other graphs than chains: leave it out".into()))
            }
        }
    }

    /// σ of the weights of single labels, and of label pairs.
    fn sigmas(&self) -> [f64; 2] {
        [self.sigma, self.sigma_pairs.unwrap_or(self.sigma)]
    }
}
