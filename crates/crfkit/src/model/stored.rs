//! The map from weights to tables in the files of models of graphs.
//!
//! Shapes follow from the rest of the model; a file has which weights there are: for each kind of table the rows' starts and
//! entries (none where every row has all), for each shared table its entries.

use super::file::write_u32s;
use super::sections::{Format, Reader, Writer};
use super::{Features, Kind, Rows, SharedShape, TableWeights};
use crate::Result;
use crate::math::simd;

/// Adds the sections of `features`.
pub(crate) fn write_features(features: &Features, file: &mut Writer) {
    for rows in &features.rows {
        write_u32s(file, "rows.start", &rows.start);
        write_u32s(file, "rows.entry", &rows.entry);
    }
    for table in &features.tables {
        write_u32s(file, "table.entry", &table.entry);
    }
}

/// Reads the features of tables of these shapes, the first `node_kinds` of which are over single variables; they must use every
/// one of the weights.
pub(crate) fn read_features(
    file: &mut Reader,
    format: &Format,
    (kinds, node_kinds): (Vec<Kind>, usize),
    shared: &[SharedShape],
    weights: usize,
) -> Result<Features> {
    let mut base = 0;
    let mut rows = Vec::new();
    for Kind { observations, lines, columns, basis } in kinds {
        let new = Rows {
            start: file.numbers("rows.start", u32::from_le_bytes)?,
            entry: file.numbers("rows.entry", u32::from_le_bytes)?,
            basis,
            ..Rows::all(base, observations, lines, columns)
        };
        check_rows(&new, weights).map_err(|why| format.damaged(why))?;
        base += new.weights();
        rows.push(new);
    }
    let mut tables = Vec::new();
    for &SharedShape { lines, columns, .. } in shared {
        let entry = file.numbers("table.entry", u32::from_le_bytes)?;
        if !entries_fit(&entry, lines, columns) {
            return Err(format.damaged("a weight points outside its shared table"));
        }
        tables.push(TableWeights { base, lines, columns, entry });
        base += tables[tables.len() - 1].entry.len();
    }
    match base == weights {
        true => Ok(Features { rows, node_kinds, tables }),
        false => Err(format.damaged(format!("it has {weights} weights, but its features need {base}"))),
    }
}

/// Do the rows fit their observations and so many weights?
pub(super) fn check_rows(rows: &Rows, weights: usize) -> std::result::Result<(), &'static str> {
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

/// Does every entry stand in one of the lines, and in a column that is in use?
pub(super) fn entries_fit(entries: &[u32], lines: usize, columns: usize) -> bool {
    // At most MAX_LABELS² entries: they fit.
    let (stride, columns, end) =
        (simd::padded(columns) as u32, columns as u32, lines * simd::padded(columns));
    match lines {
        1 => entries.iter().fold(0, |max, &entry| max.max(entry)) < columns || entries.is_empty(),
        _ => entries.iter().all(|&entry| (entry as usize) < end && entry % stride < columns),
    }
}
