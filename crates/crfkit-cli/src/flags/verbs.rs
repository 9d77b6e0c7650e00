//! The flags of commands that look into models, by kind of model.

use super::ModelKind::{Chain, Counts, Grid};
use super::{EXACT_CHAINS, FILES, Flag, IMAGES, LOOPY, SEQUENCES, flag};

/// Flags of `crfkit explain` that only some kinds of model take.
pub(super) const EXPLAIN: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("masks", &[Grid], IMAGES),
    flag("label-column", &[Chain, Counts], "the labels are where they were in the training data"),
    flag("constraint", &[Chain, Counts], "only plain chains have rules on neighbouring labels"),
    flag("at-most-once", &[Chain, Counts], "only plain chains support it"),
];

/// Flags of `crfkit diff` that only some kinds of model take.
pub(super) const DIFF: &[Flag] =
    &[flag("images", &[Grid], IMAGES), flag("on", FILES, "images are given by --images")];

/// Flags of `crfkit rank` that only some kinds of model take.
pub(super) const RANK: &[Flag] = &[
    flag("images", &[Grid], IMAGES),
    flag("inference", LOOPY, EXACT_CHAINS),
    flag("extra-columns", SEQUENCES, "only sequences have columns"),
];

/// The flags of `train` that a command which trains several models rejects. Its help does not show them.
pub fn single_run(command: &str) -> impl Iterator<Item = &'static str> + use<> {
    let single: &'static [&'static str] = &["log", "report", "checkpoint", "seconds", "calibrate"];
    let more: &'static [&'static str] = if command == "cv" { &["model", "shrink", "precision"] } else { &[] };
    single.iter().chain(more).copied()
}
