//! Why a label beat the runner-up, in words.

use serde::Serialize;

/// Why a label beat the runner-up: the largest parts of the difference of their scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// The label of the runner-up.
    pub rival: String,
    /// The score of the best labelling minus that of the runner-up.
    pub difference: f64,
    /// The largest parts of the difference.
    pub parts: Vec<ReasonPart>,
    /// The number of other parts.
    pub others: usize,
    /// The sum of the other parts.
    pub rest: f64,
}

/// A part of the difference of two scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReasonPart {
    /// How much it adds to the difference: above 0 if it speaks for the best labelling.
    pub amount: f64,
    /// The observation, or the part of the model if only labels matter.
    pub what: String,
    /// The labels that matter, in the best labelling and in the runner-up; empty if there are none.
    pub labels: String,
    /// The tokens that they belong to.
    pub tokens: String,
    /// The label that the token would have without this observation; empty if that was not asked for.
    pub without: String,
}
