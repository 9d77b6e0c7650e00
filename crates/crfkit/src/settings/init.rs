//! The weights that training starts from.

use serde::{Deserialize, Serialize};

/// The weights that training starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Init {
    /// All weights are zero.
    #[default]
    Zero,
    /// Small random numbers.
    Random,
    /// Logarithms of the co-occurrence rates of observations and labels. For chains only.
    Empirical,
    /// The weights of single nodes from logistic regression; in images also 0.5 for the constant feature of pairs with
    /// equal labels (smd-crf-2006 section 5). For images and graphs from a file.
    Logistic,
    /// Weights given to the run, such as those of another model.
    Model,
}
