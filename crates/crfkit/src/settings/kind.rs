//! The kinds of model with weights.

use serde::{Deserialize, Serialize};

/// A kind of model, named after the shape of its examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Sequences: each label is joined with the next.
    Chain,
    /// Sequences with several label columns, or with links between distant tokens.
    Linked,
    /// Graphs of any shape, from a file that declares their types.
    Graph,
    /// Images: each pixel or patch is joined with its neighbours.
    Grid,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Chain, Kind::Linked, Kind::Graph, Kind::Grid];

    /// The name of this kind of model in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Chain => "chain",
            Kind::Linked => "factorial or skip chain",
            Kind::Graph => "graph",
            Kind::Grid => "image",
        }
    }
}
