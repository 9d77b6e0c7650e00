//! Values of flags that are more than a name or a number.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use crfkit::data::presets::PRESETS;
use crfkit::train::{self, Criterion, Method};
use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

/// Mean of the prior.
#[derive(Clone, Debug, PartialEq)]
pub enum PriorMean {
    /// One number for all weights.
    Value(f64),
    /// The weights of the model in this file.
    Model(PathBuf),
}

impl FromStr for PriorMean {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| PriorMean::Model(text.into()), PriorMean::Value))
    }
}

/// A penalty: a number, or `auto` for the one that is best on held-out data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Penalty {
    /// This number.
    Value(f64),
    /// Training chooses it.
    Auto,
}

impl Penalty {
    /// The number, if one was given.
    pub fn value(self) -> Option<f64> {
        match self {
            Penalty::Value(value) => Some(value),
            Penalty::Auto => None,
        }
    }
}

impl FromStr for Penalty {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Penalty::Auto),
            _ => text.parse().map(Penalty::Value).map_err(|_| "give a number, or auto".into()),
        }
    }
}

/// Weights to start from.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// All 0.
    Zero,
    /// Small random numbers.
    Random,
    /// Co-occurrence rates of words and labels.
    Empirical,
    /// Those of logistic regression, and 0.5 for equal neighbours; for images.
    Logistic,
    /// The weights of the model in this file.
    Model(PathBuf),
}

impl Init {
    /// The corresponding value of the settings.
    pub fn setting(&self) -> train::Init {
        match self {
            Init::Zero => train::Init::Zero,
            Init::Random => train::Init::Random,
            Init::Empirical => train::Init::Empirical,
            Init::Logistic => train::Init::Logistic,
            Init::Model(_) => train::Init::Model,
        }
    }
}

impl FromStr for Init {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "zero" => Init::Zero,
            "random" => Init::Random,
            "empirical" => Init::Empirical,
            "logistic" => Init::Logistic,
            path => Init::Model(path.into()),
        })
    }
}

/// A method, or the preset `perceptron`, which is chosen like a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chosen {
    /// A method.
    Method(Method),
    /// Collins' perceptron: `--objective perceptron --optimizer sgd --eta0 1 --batch 1`, no prior.
    Perceptron,
}

/// The values of the flag.
pub fn methods() -> impl TypedValueParser<Value = Chosen> {
    let preset = PossibleValue::new("perceptron")
        .help("Collins' perceptron: its objective, sgd, --eta0 1, --batch 1, no prior");
    let value = |method: Method| PossibleValue::new(method.name()).help(method.declaration().about);
    PossibleValuesParser::new(Method::ALL.into_iter().map(value).chain([preset])).map(|name| {
        Method::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .map_or(Chosen::Perceptron, Chosen::Method)
    })
}

/// The values of the flag.
pub fn objectives() -> impl TypedValueParser<Value = Criterion> {
    let value = |criterion: Criterion| PossibleValue::new(criterion.name()).help(criterion.description());
    PossibleValuesParser::new(Criterion::ALL.map(value))
        .try_map(|name| serde_json::from_value::<Criterion>(name.into()))
}

/// A type and its σ.
pub fn sigma_of(text: &str) -> Result<(String, f64), String> {
    let parts = text.rsplit_once('=').and_then(|(name, sigma)| Some((name.to_owned(), sigma.parse().ok()?)));
    parts.ok_or_else(|| "write TYPE=S, a type and a number, such as cites=0.5".into())
}

/// The values of the flag.
pub fn presets() -> PossibleValuesParser {
    PRESETS
        .iter()
        .map(|preset| PossibleValue::new(preset.name).help(preset.description))
        .collect::<Vec<_>>()
        .into()
}
