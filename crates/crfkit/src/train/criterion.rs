//! What is minimised, by name.

use crate::ability::Ability;
use crate::infer::ForwardBackward;
use crate::loss::{Likelihood, Loss};
use serde::{Deserialize, Serialize};

/// The training criterion: the loss of one example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// The negative conditional log-likelihood.
    #[default]
    Likelihood,
}

impl Criterion {
    /// All of them.
    pub const ALL: [Criterion; 1] = [Criterion::Likelihood];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Likelihood => "likelihood",
        }
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Criterion::Likelihood => "negative conditional log-likelihood",
        }
    }

    /// What it gives to a method besides the gradient of a batch.
    pub fn gives(self) -> &'static [Ability] {
        match self {
            Criterion::Likelihood => Likelihood(ForwardBackward).gives(),
        }
    }
}
