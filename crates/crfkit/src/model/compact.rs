//! Shrinking: features without the weights that are zero.

use super::precision::Precision;
use super::{Features, Rows, TableWeights};
use crate::data::strings::Strings;

/// The weights, with those of at most `threshold` in absolute value set to 0.
pub(crate) fn above(threshold: f64, weights: &[f64]) -> Vec<f64> {
    weights.iter().map(|w| if w.abs() <= threshold { 0.0 } else { *w }).collect()
}

/// The names of the rows that are kept, one for each row: in a damaged file, two rows may have the same name.
pub(crate) fn kept_names(names: &Strings, kept: &[bool]) -> Strings {
    let order: Vec<u32> = (0..names.len() as u32).filter(|&id| kept[id as usize]).collect();
    names.reordered(&order)
}

impl Features {
    /// Which rows of a kind have a weight other than zero.
    pub(crate) fn used_rows(&self, kind: usize, weights: &[f64]) -> Vec<bool> {
        let rows = &self.rows[kind];
        (0..rows.len as u32).map(|row| weights[rows.range(row)].iter().any(|w| *w != 0.0)).collect()
    }

    /// The features of the weights that are not zero, and these weights. For each kind, rows that are not `kept` are
    /// removed. Rows with a basis stay complete.
    pub(crate) fn without_zeros(&self, weights: &[f64], kept: &[Vec<bool>]) -> (Features, Vec<f64>) {
        let mut left = Vec::with_capacity(weights.iter().filter(|w| **w != 0.0).count());
        let rows = self.rows.iter().zip(kept).map(|(old, kept)| compact_rows(old, kept, weights, &mut left));
        let rows = rows.collect();
        let tables = self.tables.iter().map(|old| {
            let mut new = TableWeights { base: left.len(), entry: Vec::new(), ..*old };
            for (&entry, &w) in old.entry.iter().zip(&weights[old.base..]).filter(|(_, w)| **w != 0.0) {
                new.entry.push(entry);
                left.push(w);
            }
            new
        });
        let tables = tables.collect();
        (Features::of(rows, self.node_kinds, tables, self.lattice.clone()), left)
    }
}

/// The rows that are `kept`, without their zero weights. Their other weights are appended to `left`.
fn compact_rows(old: &Rows, kept: &[bool], weights: &[f64], left: &mut Vec<f64>) -> Rows {
    let ids = || (0..old.len as u32).zip(kept).filter(|(_, kept)| **kept).map(|(id, _)| id);
    let (len, dense) = (ids().count(), kept[..old.dense].iter().filter(|kept| **kept).count());
    let mut rows = Rows { len, dense, ..Rows::all(left.len(), 0, old.lines, old.columns) };
    if !old.basis.is_empty() {
        ids().for_each(|id| left.extend_from_slice(&weights[old.range(id)]));
        rows.basis.clone_from(&old.basis);
        return rows;
    }
    let (mut start, mut listed) = (vec![0], Vec::new());
    for id in ids() {
        for (&w, entry) in weights[old.range(id)].iter().zip(old.entries_of(id)).filter(|(w, _)| **w != 0.0) {
            listed.push(entry as u32);
            left.push(w);
        }
        start.push(listed.len() as u32);
    }
    (rows.start, rows.entry) = (start.into(), listed.into());
    rows
}

/// Whether a list of the nonzero weights takes less space than complete rows. The list costs four bytes for each weight
/// and complete rows need no list, so complete rows are smaller if there are only a few zeros.
pub(crate) fn compact_is_smaller(features: &Features, weights: &[f64], precision: Precision) -> bool {
    let zeros = |part: &[f64]| part.iter().filter(|w| **w == 0.0).count();
    let mut saved = zeros(&weights[features.first_shared_weight()..]) * precision.bytes();
    let mut newly_listed = 0;
    for rows in features.rows.iter().filter(|rows| rows.basis.is_empty()) {
        let part = &weights[rows.base..][..rows.weights()];
        let zeros = zeros(part);
        saved += zeros * precision.bytes();
        if rows.complete() {
            newly_listed += (part.len() - zeros + rows.len) * size_of::<u32>();
        }
    }
    saved > newly_listed
}
