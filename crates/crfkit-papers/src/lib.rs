//! Reruns the tables, figures and claims of the papers that crfkit implements. Each is one experiment with the
//! paper's settings. It puts our numbers beside the paper's with a tolerance, and ends in a verdict.
//!
//! ```text
//! experiments/*.rs ─run→ Outcome ─store→ reproduction/ID.json ─book→ verdicts ─document→ reproduction.json, REPRODUCTION.md, images/*.svg
//!                                                                      └──────audit→ findings: is all of that in order?
//! ```

pub mod audit;
pub mod book;
mod cells;
pub mod chart;
pub mod checklist;
pub mod clock;
pub mod code;
pub mod confirm;
pub mod corpora;
pub mod date;
pub mod document;
pub mod experiment;
mod experiments;
pub mod graph_learning;
pub mod learning;
pub mod picture;
pub mod store;
pub mod verdict;

pub use corpora::Corpora;
pub use experiment::{Experiment, Form, Outcome, Part, Record};
pub use store::{Done, Needed, Store};
pub use verdict::Verdict;

use crfkit::{Error, Result};

/// All experiments; those whose results others use come first.
pub fn experiments() -> &'static [Experiment] {
    experiments::ALL
}

/// The experiment called `id`.
pub fn find(id: &str) -> Result<&'static Experiment> {
    let found = experiments().iter().find(|experiment| experiment.id == id);
    found.ok_or_else(|| Error::Setting(format!("no experiment is called `{id}`: `list` prints all names")))
}
