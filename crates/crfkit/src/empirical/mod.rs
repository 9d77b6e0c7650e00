//! Empirical training: a CRF in closed form, estimated by counting (empirical-training-2013).
//!
//! A chain is a product of co-occurrence rates of neighbours and of single probabilities (eq. 4),
//! P(y|x) = Π CR(y_t; y_{t+1}|x) · Π P(y_t|x). Each of these is estimated separately from counts:
//!
//! ```text
//! ψ̂(y, x) = P̃(y|x)                                              eq. 12
//! φ̂(y, y', x, x') = P̃(y, y'|x, x') / (P̃(y|x) · P̃(y'|x'))       eq. 13
//! ```
//!
//! ln ψ̂ and ln φ̂ are the log-potentials of a [`crate::graph::Chain`], so labellings and marginals are computed as for
//! any other chain. Training takes one pass over the data and no iterations: [`Counts`] → [`train`] →
//! [`EmpiricalModel`] → [`EmpiricalTagger`].
//!
//! ```
//! use crfkit::empirical::{Counts, EmpiricalTagger, EmpiricalSettings, train};
//! use std::sync::Arc;
//!
//! fn main() -> crfkit::Result<()> {
//!     let settings = EmpiricalSettings::default();
//!     let mut counts = Counts::new(settings.pairs);
//!     counts.add([("the", "DET"), ("cat", "NOUN"), ("jumped", "VERB")]);
//!     counts.add([("a", "DET"), ("dog", "NOUN"), ("walked", "VERB")]);
//!     let model = train(&counts, &settings, None)?.model;
//!     let mut tagger = EmpiricalTagger::new(Arc::new(model));
//!     tagger.load_words(["the", "dog", "barked"]); // -ed, as in jumped and walked
//!     let labels = tagger.viterbi().to_vec();
//!     let names: Vec<&str> = labels.iter().map(|&y| tagger.model().labels()[y as usize].as_str()).collect();
//!     assert_eq!(names, ["DET", "NOUN", "VERB"]);
//!     Ok(())
//! }
//! ```
//!
//! Where the paper's claims need a correction:
//!
//! - Theorem 1 says that ψ̂ and φ̂ also maximise the likelihood. It needs Σ_{y'} P̃(y, y'|x, x') = P̃(y|x): the label
//!   of a word must not depend on its neighbour. This holds for the five instances of section 4.1. The paper claims the
//!   same with the three further instances of section 3.4.3, but there it does not hold: the negative log-likelihood is
//!   3.05721, and its minimum is below 2.5061.
//! - μ_oov of section 3.7.1 multiplies all labels of a position by the same number, so it changes no labelling.
//!   [`UnknownWords::Power`] and [`UnknownWords::Mix`] do change labellings; [`train`] chooses among them on held-out data.
//! - Eq. 24 with a normalised exponential v is eq. 25: EP2 fits what piecewise training fits. EP2 differs in that it
//!   fits the single probabilities separately, and divides them out of the pairs when it labels.

mod counts;
mod dump;
mod explain;
mod exponential;
mod file;
mod fit;
mod model;
mod pairs;
#[doc(hidden)]
pub mod spelling;
#[doc(hidden)]
pub mod studies;
mod tagger;
mod train;

pub use counts::Counts;
pub use dump::dump;
#[doc(hidden)]
pub use fit::CountedChains;
pub use model::EmpiricalModel;
pub(crate) use model::Word;
#[doc(hidden)]
pub use pairs::PairWork;
pub(crate) use tagger::EmpiricalScratch;
pub use tagger::EmpiricalTagger;
pub use train::{HeldOut, TrainedEmpirical, Trial, train};

use crate::data::conllu::Fields;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The method of estimation: how words not seen in training are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EmpiricalMethod {
    /// The mean of P̃(y|f) over the word's spelling features f; P̃(y) if it has none (section 3.7.1).
    #[default]
    Ep1,
    /// Exponential functions of the features, fitted to the counts (section 3.7.2). They also give estimates for label
    /// pairs that were never seen.
    Ep2,
}

/// What the pair factors depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PairKind {
    /// The two labels: φ̂(y, y') = P̃(y, y')/(P̃(y)·P̃(y')), as in the paper's experiments with text (section 4.5).
    #[default]
    Tags,
    /// The two labels and the two words (eq. 13). Word pairs that were never seen back off to their spellings.
    Lexical,
}

/// How the estimate p for an unknown word becomes ψ̂.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum UnknownWords {
    /// μ·p, the paper's μ_oov. It changes no labelling and no marginal.
    Scale(f64),
    /// p^κ, normalised. With κ below 1 the neighbours have more influence, above 1 less.
    Power(f64),
    /// λ·p + (1 − λ)·P̃(y).
    Mix(f64),
}

/// The settings of empirical training. The default is the paper's EP1 for text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmpiricalSettings {
    /// The method of estimation: EP1 or EP2.
    pub method: EmpiricalMethod,
    /// What the pair factors depend on. The counts must have been made with the same value.
    pub pairs: PairKind,
    /// How unknown words are treated; the default is μ = 1. With held-out data, training replaces it by the best
    /// choice.
    pub unknown: UnknownWords,
    /// s in P(y|x) = (#(y, x) + s·q(y))/(#(x) + s), where q is the estimate from the spelling of x. The default 0 gives
    /// eq. 12; a word then never gets a label that it did not have in training.
    pub smoothing: f64,
    /// Words that occur fewer times than this count as unknown; 1 keeps all words. Larger values make the model
    /// smaller.
    pub min_count: u64,
    /// The smallest log co-occurrence rate, −12 by default. Eq. 13 gives −∞ to pairs that were never seen, and a
    /// sequence might then have no labelling at all.
    pub floor: f64,
    /// σ of the Gaussian prior on the weights of EP2; 1 by default.
    pub sigma: f64,
    /// The column of the word in column files, counted from 0. The estimates do not depend on it; it is stored so that
    /// more files can be read in the same way.
    pub word_column: usize,
    /// The column of the label; −1 for the last.
    pub label_column: i32,
    /// The fields of CoNLL-U that the columns are, if the data was in this format and they are not the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Fields>,
}

impl Default for EmpiricalSettings {
    fn default() -> Self {
        EmpiricalSettings {
            method: EmpiricalMethod::Ep1,
            pairs: PairKind::Tags,
            unknown: UnknownWords::Scale(1.0),
            smoothing: 0.0,
            min_count: 1,
            floor: -12.0,
            sigma: 1.0,
            word_column: 0,
            label_column: -1,
            fields: None,
        }
    }
}

impl EmpiricalSettings {
    /// Rejects numbers that make no sense.
    pub fn check(&self) -> Result<()> {
        let (name, value, range) = match *self {
            EmpiricalSettings { smoothing, .. } if !(smoothing >= 0.0 && smoothing.is_finite()) => {
                ("smoothing", smoothing, "0 or above")
            }
            EmpiricalSettings { floor, .. } if !(MIN_FLOOR..=0.0).contains(&floor) => {
                ("floor", floor, "from -100 to 0")
            }
            EmpiricalSettings { sigma, .. } if !(sigma > 0.0 && sigma.is_finite()) => {
                ("sigma", sigma, "above 0 and finite")
            }
            EmpiricalSettings { unknown: UnknownWords::Scale(mu), .. } if !(mu > 0.0 && mu.is_finite()) => {
                ("the factor of unknown words", mu, "above 0")
            }
            EmpiricalSettings { unknown: UnknownWords::Power(kappa), .. }
                if !(0.0..=100.0).contains(&kappa) =>
            {
                ("the exponent of unknown words", kappa, "from 0 to 100")
            }
            EmpiricalSettings { unknown: UnknownWords::Mix(lambda), .. }
                if !(0.0..=1.0).contains(&lambda) =>
            {
                ("the mixing weight of unknown words", lambda, "from 0 to 1")
            }
            _ => return Ok(()),
        };
        Err(Error::Setting(format!("{name} is {value}, but must be {range}")))
    }
}

/// The lowest floor that can be set. With a lower one, unseen pairs would be less likely than labels that a word never
/// had.
const MIN_FLOOR: f64 = -100.0;

impl fmt::Display for UnknownWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownWords::Scale(mu) => write!(f, "scale {mu}"),
            UnknownWords::Power(kappa) => write!(f, "power {kappa}"),
            UnknownWords::Mix(lambda) => write!(f, "mix {lambda}"),
        }
    }
}

impl FromStr for EmpiricalMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "ep1" => Ok(EmpiricalMethod::Ep1),
            "ep2" => Ok(EmpiricalMethod::Ep2),
            _ => Err(Error::Setting(format!("unknown method `{name}`; choose ep1 or ep2"))),
        }
    }
}

impl FromStr for PairKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "tags" => Ok(PairKind::Tags),
            "lexical" => Ok(PairKind::Lexical),
            _ => Err(Error::Setting(format!("unknown pairs `{name}`; choose tags or lexical"))),
        }
    }
}
