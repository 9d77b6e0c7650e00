//! The numbers in which an objective computes, and what decides it.

use serde::{Deserialize, Serialize};

/// The numbers in which ψ, inference and dψ are computed. Weights, and sums over examples, are always `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Compute {
    /// Single precision far from the optimum, double precision near it.
    #[default]
    Auto,
    /// Single precision wherever it is safe.
    F32,
    /// Double precision.
    F64,
}

/// How far a method is from the optimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// So far that rounding in single precision (about 1e-6 of the objective) does not matter.
    Far,
    /// Near, or not known.
    Near,
}
