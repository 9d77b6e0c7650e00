//! Readers, templates, rules and scores.

#[path = "../common/corpora.rs"]
mod corpora;

mod archives;
mod eval;
mod macros;
mod pictures;
mod readers;
mod rule;
mod sites;
mod template;
