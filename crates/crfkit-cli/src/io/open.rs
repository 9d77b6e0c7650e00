//! Opening files of text and models.

use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::any::AnyModel;
use crfkit::data::text::{Encoding, Lines, decompress};
use crfkit::model;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;

/// Whether this is standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of an input in messages.
pub fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// Opens a file, or standard input for `-`, to read it line by line; compressed data is decompressed.
pub fn open_lines(path: &Path, encoding: Encoding) -> crfkit::Result<Lines<Box<dyn Read + Send>>> {
    let failed = |error| Error::io(name(path), error);
    let raw: Box<dyn Read + Send> =
        if is_stdin(path) { Box::new(std::io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
    Ok(Lines::new(decompress(raw).map_err(failed)?, &name(path), encoding))
}

/// Opens the model in a file.
pub fn open_model(path: &Path) -> Result<AnyModel> {
    let bytes = File::open(path).and_then(|file| model::open(&file));
    let bytes = bytes.map_err(|error| Error::io(name(path), error))?;
    AnyModel::from_memory(&bytes).with_context(|| name(path))
}

/// Whether somebody types the input and waits for answers.
pub(super) fn interactive(path: &Path) -> bool {
    is_stdin(path) && std::io::stdin().is_terminal()
}
