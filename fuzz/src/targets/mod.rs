//! The targets, one file a theme.

mod arrays;
mod checkpoints;
mod doors;
mod edits;
mod inference;
mod models;
mod numbers;
mod propagation;
mod requests;
mod resumption;
mod tables;
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
    propagation::PAIRS,
    resumption::RESUME,
    tables::ARRAYS,
    tables::TABLE,
];

/// The target of this name. At compile time, what no other target needs can be left out.
pub const fn target(name: &str) -> Option<&'static Target> {
    let mut at = 0;
    while at < TARGETS.len() {
        if equal(TARGETS[at].name.as_bytes(), name.as_bytes()) {
            return Some(&TARGETS[at]);
        }
        at += 1;
    }
    None
}

/// Whether two texts are equal, which `==` does not say at compile time.
const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
