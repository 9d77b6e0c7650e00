//! Sequences from files, readers and memory.

use crate::data::attributes::{AttributeReader, Attributes};
use crate::data::columns::Columns;
use crate::data::conllu::Fields;
use crate::data::rows::{RowFormat, RowReader};
use crate::data::text::{Encoding, Lines, decompress};
use crate::domain::chain::Sequence;
use crate::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// An iterator over sequences. Reading may fail, so each item is a [`Result`].
///
/// Make one from a file with [`columns`], [`json`], [`conllu`] or [`attributes`], from any reader, or from memory with [`Sequences::new`].
///
/// ```
/// use crfkit::Sequences;
///
/// let text = "2 B-QTY\ncups B-UNIT\n\nflour B-NAME\n";
/// let sequences = Sequences::read_columns(text.as_bytes(), "text")?;
/// let lengths: Vec<usize> = sequences.map(|sequence| Ok(sequence?.len())).collect::<crfkit::Result<_>>()?;
/// assert_eq!(lengths, [2, 1]);
/// # Ok::<(), crfkit::Error>(())
/// ```
pub struct Sequences {
    next: Box<dyn Iterator<Item = Result<Sequence>> + Send>,
}

/// The sequences of a file of CoNLL columns: one token per line, fields separated by spaces or tabs, a blank line between
/// sequences. Files in `.gz` (and `.zst`, with the feature `zstd`) are decompressed. Labels are in the last column
/// unless [`Sequences::label_column`] says otherwise.
pub fn columns(path: impl AsRef<Path>) -> Result<Sequences> {
    let (file, name) = open(path.as_ref())?;
    Sequences::read_columns(file, &name)
}

/// The sequences of an attribute file in CRFsuite's format: each line has a label and then attributes, split at tabs.
pub fn attributes(path: impl AsRef<Path>) -> Result<Sequences> {
    let (file, name) = open(path.as_ref())?;
    Sequences::read_attributes(file, &name)
}

/// The sequences of a file of [JSON lines](crate::data::json_lines): `{"tokens": [...], "labels": [...]}`.
pub fn json(path: impl AsRef<Path>) -> Result<Sequences> {
    Sequences::open(path.as_ref(), &RowFormat::Json)
}

/// The sequences of a file of [CoNLL-U](crate::data::conllu). Each row has the words and the parts of speech (UPOS), which are the labels;
/// [`Sequences::read_rows`] takes other fields, and [`Model::conllu`](crate::Model::conllu) those of a model.
pub fn conllu(path: impl AsRef<Path>) -> Result<Sequences> {
    Sequences::open(path.as_ref(), &RowFormat::Conllu(Fields::default()))
}

fn open(path: &Path) -> Result<(File, String)> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Error::io(&*name, error))?;
    Ok((file, name))
}

impl Sequences {
    /// The sequences of a file in a format whose tokens are rows.
    pub(super) fn open(path: &Path, format: &RowFormat) -> Result<Self> {
        let (file, name) = open(path)?;
        Sequences::read_rows(file, &name, format)
    }

    /// Sequences that are already in memory.
    pub fn new<I>(sequences: I) -> Self
    where
        I: IntoIterator<Item = Sequence, IntoIter: Send + 'static>,
    {
        Sequences { next: Box::new(sequences.into_iter().map(Ok)) }
    }

    /// Sequences from an iterator whose items may be errors.
    pub fn try_new<I>(sequences: I) -> Self
    where
        I: IntoIterator<Item = Result<Sequence>, IntoIter: Send + 'static>,
    {
        Sequences { next: Box::new(sequences.into_iter()) }
    }

    /// Reads CoNLL columns from any reader. `name` is the input's name in error messages.
    pub fn read_columns(reader: impl Read + Send + 'static, name: &str) -> Result<Self> {
        Sequences::read_rows(reader, name, &RowFormat::Columns)
    }

    /// Reads any format whose tokens are rows of fields: columns, JSON lines, CoNLL-U or running text.
    pub fn read_rows(reader: impl Read + Send + 'static, name: &str, format: &RowFormat) -> Result<Self> {
        let mut reader = RowReader::new(lines(reader, name)?, format);
        Ok(Sequences::read(move || {
            let mut rows = Columns::default();
            Ok(reader.read(&mut rows)?.then(|| rows.into()))
        }))
    }

    /// Reads CRFsuite attributes from any reader. `name` is the input's name in error messages.
    pub fn read_attributes(reader: impl Read + Send + 'static, name: &str) -> Result<Self> {
        let mut reader = AttributeReader::new(lines(reader, name)?);
        Ok(Sequences::read(move || {
            let mut instance = Attributes::default();
            Ok(reader.read(&mut instance)?.then(|| instance.into()))
        }))
    }

    /// Calls `next` until it returns nothing or fails.
    fn read(mut next: impl FnMut() -> Result<Option<Sequence>> + Send + 'static) -> Self {
        let mut ended = false;
        Sequences {
            next: Box::new(std::iter::from_fn(move || {
                if ended {
                    return None;
                }
                let read = next().transpose();
                ended = !matches!(read, Some(Ok(_)));
                read
            })),
        }
    }

    /// Takes the labels from another column. Columns count from 0, or from the end if the number is negative.
    pub fn label_column(self, column: i32) -> Self {
        let set = move |sequence: Result<Sequence>| {
            sequence.map(|sequence| match sequence {
                Sequence::Columns { rows, .. } => Sequence::Columns { rows, label_column: Some(column) },
                other => other,
            })
        };
        Sequences { next: Box::new(self.next.map(set)) }
    }
}

fn lines(reader: impl Read + Send + 'static, name: &str) -> Result<Lines<Box<dyn Read + Send>>> {
    let plain = decompress(Box::new(reader)).map_err(|error| Error::io(name, error))?;
    Ok(Lines::new(plain, name, Encoding::Utf8))
}

impl Iterator for Sequences {
    type Item = Result<Sequence>;

    fn next(&mut self) -> Option<Result<Sequence>> {
        self.next.next()
    }
}

impl std::fmt::Debug for Sequences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sequences")
    }
}
