//! Closed-form empirical training.

#[path = "../common/corpora.rs"]
mod corpora;

mod counting;
mod equations;
mod exponential;
mod model;
mod real_corpora;
mod start;
