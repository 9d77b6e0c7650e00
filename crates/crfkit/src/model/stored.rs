//! The map from weights to tables, in model files.
//!
//! The shapes follow from the rest of the model. A file stores only which weights exist: for each kind of table the
//! starts and entries of the rows (nothing if every row has all entries), and for each shared table its entries.

use super::sections::{Format, Reader, Writer};
use super::{Features, Rows, SharedShape, TableKind, TableShapes, TableWeights};
use crate::Result;
use crate::data::strings::Strings;
use crate::graph::Lattice;
use crate::math::simd;

/// Adds the sections of `features`.
pub(crate) fn write_features<'a>(features: &'a Features, file: &mut Writer<'a>) {
    for rows in &features.rows {
        file.array("rows.start", &rows.start, u32::to_le_bytes);
        file.array("rows.entry", &rows.entry, u32::to_le_bytes);
    }
    for table in &features.tables {
        file.array("table.entry", &table.entry, u32::to_le_bytes);
    }
}

/// Reads the features of tables with these shapes. Together they must use every weight.
pub(crate) fn read_features(
    file: &mut Reader,
    format: &Format,
    TableShapes { kinds, node_kinds, shared }: TableShapes,
    weights: usize,
) -> Result<Features> {
    let mut base = 0;
    let mut rows = Vec::new();
    for TableKind { observations, dense, lines, columns, basis } in kinds {
        let new = Rows {
            start: file.array("rows.start", u32::from_le_bytes)?,
            entry: file.array("rows.entry", u32::from_le_bytes)?,
            basis,
            dense,
            ..Rows::all(base, observations, lines, columns)
        };
        check_rows(&new, weights).map_err(|why| format.damaged(why))?;
        base += new.weights();
        rows.push(new);
    }
    let mut tables = Vec::new();
    for SharedShape { lines, columns, .. } in shared {
        let entry = file.numbers("table.entry", u32::from_le_bytes)?;
        if !entries_fit(&entry, lines, columns) {
            return Err(format.damaged("a weight points outside its shared table"));
        }
        tables.push(TableWeights { base, lines, columns, entry });
        base += tables[tables.len() - 1].entry.len();
    }
    match base == weights {
        true => Ok(Features::of(rows, node_kinds, tables, Lattice::default())),
        false => Err(format.damaged(format!("it has {weights} weights, but its features need {base}"))),
    }
}

/// Whether all strings are valid UTF-8.
pub(crate) fn is_text(strings: &Strings) -> bool {
    let (text, ends) = strings.parts();
    // Most names are ASCII, where every end is one of a character.
    if text.is_ascii() {
        return true;
    }
    let text = std::str::from_utf8(text);
    text.is_ok_and(|text| ends.iter().all(|&end| text.is_char_boundary(end as usize)))
}

/// Checks that the rows fit their observations and the number of weights.
fn check_rows(rows: &Rows, weights: usize) -> std::result::Result<(), &'static str> {
    if rows.complete() {
        let needed = rows.width().checked_mul(rows.len);
        return match needed.is_some_and(|needed| needed <= weights) && rows.entry.is_empty() {
            true => Ok(()),
            false => Err("it has too few weights for all labels of its observations"),
        };
    }
    if !rows.basis.is_empty() {
        return Err("it lists the entries of weights that have none");
    }
    let (first, last) = (rows.start.first().copied(), rows.start.last().copied());
    if rows.start.len() != rows.len + 1
        || first != Some(0)
        || last.map(|end| end as usize) != Some(rows.entry.len())
        || !rows.start.is_sorted()
    {
        return Err("its rows do not match its observations");
    }
    match entries_fit(&rows.entry, rows.lines, rows.columns) {
        true => Ok(()),
        false => Err("a weight points outside its table"),
    }
}

/// Whether every entry lies in one of the lines, and in a column that is in use.
fn entries_fit(entries: &[u32], lines: usize, columns: usize) -> bool {
    // There are at most MAX_LABELS² entries, so these numbers fit.
    let (stride, columns, end) =
        (simd::padded(columns) as u32, columns as u32, lines * simd::padded(columns));
    match lines {
        1 => entries.iter().fold(0, |max, &entry| max.max(entry)) < columns || entries.is_empty(),
        _ => entries.iter().all(|&entry| (entry as usize) < end && entry % stride < columns),
    }
}
