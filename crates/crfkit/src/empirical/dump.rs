//! Dumps of models in closed form, as text for scripts: one line per count or weight, fields separated by tabs.
//!
//! ```text
//! label      NAME
//! word       WORD  LABEL  COUNT
//! pair       LABEL  NEXT-LABEL  COUNT
//! word-pair  WORD  NEXT-WORD  LABEL  NEXT-LABEL  COUNT            lexical pairs only
//! rare       SPELLING  LABEL  COUNT                               words below the minimum count
//! rare-pair  SPELLING  NEXT-SPELLING  LABEL  NEXT-LABEL  COUNT
//! u          FEATURE  LABEL  WEIGHT                               EP2 only
//! v          FEATURE  LABEL  WEIGHT
//! v-next     FEATURE  NEXT-LABEL  WEIGHT
//! v-pair     LABEL  NEXT-LABEL  WEIGHT
//! ```
//!
//! A spelling is written as the names of its features with spaces between them. The feature that every word has is
//! called `any`. Names are escaped as in the dumps of other models ([`crate::model::dump`]).

use super::EmpiricalModel;
use super::counts::ordered;
use super::exponential::Exponential;
use super::spelling::{NAMES, Spelling, features};
use crate::model::dump::escape;
use std::io::{self, Write};

/// Writes all labels, counts and weights of a model.
pub fn dump(model: &EmpiricalModel, out: &mut impl Write) -> io::Result<()> {
    let counts = model.counts();
    let labels: Vec<String> = model.labels().iter().map(|label| escape(label)).collect();
    let (label, word) = (|id: u32| &labels[id as usize], |id: u32| escape(counts.word_text(id)));
    for label in &labels {
        writeln!(out, "label\t{label}")?;
    }
    for ([x, y], n) in ordered(&counts.word_labels) {
        writeln!(out, "word\t{}\t{}\t{n}", word(x), label(y))?;
    }
    for ([i, j], n) in ordered(&counts.label_pairs) {
        writeln!(out, "pair\t{}\t{}\t{n}", label(i), label(j))?;
    }
    for ([a, b, i, j], n) in ordered(&counts.word_pairs) {
        writeln!(out, "word-pair\t{}\t{}\t{}\t{}\t{n}", word(a), word(b), label(i), label(j))?;
    }
    for ([s, y], n) in ordered(&counts.rare_labels) {
        writeln!(out, "rare\t{}\t{}\t{n}", names(s), label(y))?;
    }
    for ([a, b, i, j], n) in ordered(&counts.rare_pairs) {
        writeln!(out, "rare-pair\t{}\t{}\t{}\t{}\t{n}", names(a), names(b), label(i), label(j))?;
    }
    model.exponential().map_or(Ok(()), |exponential| weights(exponential, &labels, out))
}

/// Writes the weights of EP2.
fn weights(exponential: &Exponential, labels: &[String], out: &mut impl Write) -> io::Result<()> {
    let feature_names = || std::iter::once("any").chain(NAMES);
    let mut rows = |kind: &str, weights: &[f64]| {
        feature_names().zip(weights.chunks_exact(labels.len())).try_for_each(|(name, row)| {
            labels.iter().zip(row).try_for_each(|(label, w)| writeln!(out, "{kind}\t{name}\t{label}\t{w}"))
        })
    };
    let (left, right, theta) = exponential.parts_of_v(labels.len());
    rows("u", &exponential.u)?;
    rows("v", left)?;
    rows("v-next", right)?;
    for (before, row) in labels.iter().zip(theta.chunks_exact(labels.len())) {
        for (label, w) in labels.iter().zip(row) {
            writeln!(out, "v-pair\t{before}\t{label}\t{w}")?;
        }
    }
    Ok(())
}

fn names(spelling: Spelling) -> String {
    features(spelling).map(|f| NAMES[f]).collect::<Vec<_>>().join(" ")
}
