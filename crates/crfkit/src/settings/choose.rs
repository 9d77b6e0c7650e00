//! Penalties that training chooses itself.

use serde::{Deserialize, Serialize};

/// Which penalties training chooses itself, by the score on held-out data: the development set if there is one, otherwise
/// a tenth of the training data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tuning {
    /// σ of the Gaussian prior; the search begins at [`Settings::sigma`](super::Settings::sigma).
    pub sigma: bool,
    /// The weight of the L1 penalty; the search begins at 0.
    pub l1: bool,
}

impl Tuning {
    /// Whether there is anything to choose.
    pub fn any(&self) -> bool {
        self.sigma || self.l1
    }

    pub(super) fn none(&self) -> bool {
        !self.any()
    }
}

/// Penalties that were tried, and their score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningTrial {
    /// σ of the Gaussian prior.
    pub sigma: f64,
    /// The weight of the L1 penalty.
    pub l1: f64,
    /// Evaluations of the training set.
    pub passes: f64,
    /// The score on held-out data, in per cent: F1 where labels are chunks, accuracy elsewhere.
    pub score: f64,
    /// Whether training has chosen them.
    pub chosen: bool,
}
