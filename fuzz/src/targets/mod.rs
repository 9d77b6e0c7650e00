//! The targets, one file a theme.

mod arrays;
mod checkpoints;
mod doors;
mod edits;
mod inference;
mod models;
mod numbers;
mod requests;
mod texts;

use crate::Target;

/// All targets.
pub const TARGETS: &[Target] = &[
    models::MODEL,
    models::CRFSUITE,
    models::CRFPP,
    models::WAPITI,
    checkpoints::CHECKPOINT,
    texts::COLUMNS,
    texts::ATTRIBUTES,
    texts::JSON,
    texts::CONLLU,
    texts::TEXT,
    texts::TEMPLATE,
    texts::LEXICON,
    texts::LINKS,
    texts::RULES,
    texts::GRAPHS,
    texts::LOG,
    arrays::SITES,
    arrays::IMAGE,
    inference::CHAIN,
    inference::GRAPH,
    doors::DOORS,
    doors::GROWTH,
    requests::REQUEST,
    edits::EDIT,
    numbers::VECTORS,
    numbers::WEIGHTS,
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
