//! Sequences in the form in which they were read.

use anyhow::Result;
use crfkit::Error;
use crfkit::data::attributes::Attributes;
use crfkit::data::columns::Columns;
use std::io::Write;

/// Appends the rows of a sequence, fields separated by tabs, and an empty line.
pub fn repeat_rows(rows: &Columns, out: &mut Vec<u8>) -> Result<()> {
    for row in 0..rows.len() {
        for (k, field) in rows.row(row).enumerate() {
            if k > 0 {
                out.push(b'\t');
            }
            if field.is_empty() || field.contains([' ', '\t', '\n', '\r']) {
                let message =
                    "a field is empty or has white space in it, which columns cannot hold: use --output json";
                return Err(Error::input(rows.place(row), message).into());
            }
            out.extend_from_slice(field.as_bytes());
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    Ok(())
}

/// Appends an instance of attributes as CRFsuite writes it, and an empty line.
pub fn repeat_attributes(instance: &Attributes, out: &mut Vec<u8>) -> Result<()> {
    let escaped = |name: &str| name.replace('\\', "\\\\").replace(':', "\\:");
    if instance.weight() != 1.0 {
        writeln!(out, "@weight:{}", instance.weight())?;
    }
    for row in 0..instance.len() {
        write!(out, "{}", escaped(instance.label(row)))?;
        for (name, value) in instance.items(row) {
            match value == 1.0 {
                true => write!(out, "\t{}", escaped(name))?,
                false => write!(out, "\t{}:{value}", escaped(name))?,
            }
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    Ok(())
}
