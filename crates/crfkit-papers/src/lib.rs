//! The tables, figures and claims of the papers that crfkit implements, run again: one experiment each, with the paper's
//! settings, our numbers beside the paper's, a tolerance that was fixed before the first run, and a verdict.
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

/// All experiments, those that others look at before those that look.
pub fn experiments() -> &'static [Experiment] {
    experiments::ALL
}

/// The experiment called `id`.
pub fn find(id: &str) -> Result<&'static Experiment> {
    let found = experiments().iter().find(|experiment| experiment.id == id);
    found.ok_or_else(|| Error::Setting(format!("no experiment is called `{id}`: `list` prints all names")))
}
