//! Linked chains from column files: factorial chains (several label columns) and skip chains (further pairs of tokens).
//!
//! ```text
//! columns ─templates, rule→ LinkedCorpus ─train→ LinkedModel ─file→ bytes
//! columns ─frozen alphabet→ LinkedTagger → labels of every column, marginals
//! ```
//!
//! The same road as that of plain chains, on [`FactorGraph`](crate::graph::FactorGraph)s: the losses, the optimisers and the risk
//! are theirs.

mod corpus;
mod file;
mod links;
mod model;
mod names;
mod tagger;
mod train;

pub use crate::infer::Engine;
pub use corpus::{LinkedBuilder, LinkedCorpus};
pub use links::Links;
pub use model::LinkedModel;
pub use tagger::LinkedTagger;
pub use train::{LinkedJudge, LinkedStart, LinkedTrained, features, fingerprint, train};
