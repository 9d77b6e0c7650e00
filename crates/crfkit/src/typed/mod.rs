//! Graphs from a file: nodes and factors of declared types, whose members share their weights.
//!
//! ```text
//! JSON lines ─types→ TypedGraph → TypedCorpus ─train→ TypedModel ─file→ bytes
//! JSON lines ─the model's types→ TypedGraph → TypedTagger → labels, marginals
//! ```
//!
//! `docs/GRAPHS.md` describes the format. The losses, the optimisers and the risk are those of all graphs.

mod corpus;
mod line;
mod model;
mod names;
mod scores;
mod tagger;
mod train;
mod types;

pub use crate::decode::Decode;
pub use crate::infer::Engine;
pub use corpus::{TypedBuilder, TypedCorpus};
pub use line::{Line, TypedGraph};
pub use model::TypedModel;
pub use scores::{Share, TypedScores};
pub use tagger::TypedTagger;
pub use train::{Settings, TypedStart, TypedTrained, features, fingerprint, train};
pub use types::{Type, Types};
