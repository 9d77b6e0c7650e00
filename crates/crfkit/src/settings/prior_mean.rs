//! The mean of the Gaussian prior.

use serde::{Deserialize, Serialize};

/// Mean of the Gaussian prior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriorMean {
    /// One number for all weights.
    Value(f64),
    /// The weights of a model, which is given to the run. Stored as the word `model`.
    Model,
}

impl Default for PriorMean {
    fn default() -> Self {
        PriorMean::Value(0.0)
    }
}

impl PriorMean {
    /// The number; 0 if the mean is a model's weights.
    pub fn value(self) -> f64 {
        match self {
            PriorMean::Value(mean) => mean,
            PriorMean::Model => 0.0,
        }
    }
}

impl From<f64> for PriorMean {
    fn from(mean: f64) -> Self {
        PriorMean::Value(mean)
    }
}

impl Serialize for PriorMean {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            PriorMean::Value(mean) => serializer.serialize_f64(*mean),
            PriorMean::Model => serializer.serialize_str("model"),
        }
    }
}

impl<'de> Deserialize<'de> for PriorMean {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Number(f64),
            Word(String),
        }
        match Stored::deserialize(deserializer)? {
            Stored::Number(mean) => Ok(PriorMean::Value(mean)),
            Stored::Word(word) if word == "model" => Ok(PriorMean::Model),
            Stored::Word(word) => {
                Err(serde::de::Error::custom(format!("`{word}` is neither a number nor `model`")))
            }
        }
    }
}
