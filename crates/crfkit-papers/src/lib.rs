//! Reruns the tables, figures and claims of the papers that crfkit implements. Each is one experiment with the
//! paper's settings. It puts our numbers beside the paper's, has a tolerance that was fixed before the first run, and
//! ends in a verdict.
//!
//! ```text
//! experiments/*.rs ─run→ Outcome ─store→ reproduction/ID.json ─document→ reproduction.json, REPRODUCTION.md, images/*.svg
//! ```

mod cells;
pub mod chart;
pub mod clock;
pub mod corpora;
pub mod document;
pub mod experiment;
mod experiments;
pub mod graph_learning;
pub mod learning;
pub mod picture;
pub mod store;

pub use corpora::Corpora;
pub use experiment::{Experiment, Form, Outcome, Record, Verdict};
pub use store::{Done, Store};

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
