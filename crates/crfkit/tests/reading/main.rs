//! Readers, templates, rules and scores.

#[path = "../common/corpora.rs"]
mod corpora;

mod eval;
mod readers;
mod rule;
mod sites;
mod template;
