//! Opening what the user names: data in either format, models, templates.

use crate::args::Format;
use crate::loaded::Loaded;
use crate::pipeline::Source as Stream;
use anyhow::{Context, Result};
use crfkit::data::attributes::{AttributeReader, Attributes};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::observer::Source;
use crfkit::data::text::{Encoding, Lines, decompress};
use crfkit::grid::GridModel;
use crfkit::linked::LinkedModel;
use crfkit::model::{self, Model};
use crfkit::typed::TypedModel;
use crfkit::{Error, Place};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;

/// Is this standard input?
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What messages call an input.
pub fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// Opens a file, or standard input for `-`; compressed data is decompressed.
fn open(path: &Path) -> crfkit::Result<Box<dyn Read + Send>> {
    let failed = |error| Error::io(name(path), error);
    let raw: Box<dyn Read + Send> =
        if is_stdin(path) { Box::new(std::io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
    decompress(raw).map_err(failed)
}

/// The model in a file, which must be one with weights.
pub fn read_model(path: &Path) -> Result<Arc<Model>> {
    match Loaded::read(path)? {
        Loaded::Weighted(model) => Ok(model),
        Loaded::Empirical(_) => {
            anyhow::bail!(
                "{}: a model made of counts (train --method), but one with weights is needed",
                name(path)
            )
        }
    }
}

/// A model of factor graphs.
pub enum GraphModel {
    /// Of factorial or skip chains.
    Linked(Arc<LinkedModel>),
    /// Of graphs from a file.
    Typed(Arc<TypedModel>),
    /// Of pictures.
    Grid(Arc<GridModel>),
}

/// The model of factor graphs in a file; `None` if it is of another kind.
pub fn read_graph_model(path: &Path) -> Result<Option<GraphModel>> {
    let bytes = File::open(path).and_then(|file| model::open(&file));
    let bytes = bytes.map_err(|error| Error::io(name(path), error))?;
    let model = if LinkedModel::is_file(&bytes) {
        LinkedModel::from_bytes(&bytes).map(|model| GraphModel::Linked(Arc::new(model)))
    } else if TypedModel::is_file(&bytes) {
        TypedModel::from_bytes(&bytes).map(|model| GraphModel::Typed(Arc::new(model)))
    } else if GridModel::is_file(&bytes) {
        GridModel::from_bytes(&bytes).map(|model| GraphModel::Grid(Arc::new(model)))
    } else {
        return Ok(None);
    };
    Ok(Some(model.with_context(|| name(path))?))
}

/// The format of the data that a model was trained on.
pub fn model_format(model: &Model) -> Format {
    match model.source {
        Source::Attributes => Format::Attributes,
        Source::Templates(_) => Format::Columns,
    }
}

/// A sequence in either format. Memory is kept from one sequence to the next.
#[derive(Debug)]
pub enum Sequence {
    /// CoNLL columns.
    Columns(Columns),
    /// CRFsuite attributes.
    Attributes(Attributes),
}

impl Sequence {
    /// Number of tokens.
    pub fn len(&self) -> usize {
        match self {
            Sequence::Columns(columns) => columns.len(),
            Sequence::Attributes(attributes) => attributes.len(),
        }
    }

    /// The label of a row; with columns, the field in column `label`.
    pub fn label(&self, row: usize, label: usize) -> &str {
        match self {
            Sequence::Columns(columns) => columns.field(row, label),
            Sequence::Attributes(attributes) => attributes.label(row),
        }
    }

    /// What stands for a row when it is shown: the field in column `word`, or the first attribute.
    pub fn word(&self, row: usize, word: usize) -> &str {
        match self {
            Sequence::Columns(columns) => columns.field(row, word),
            Sequence::Attributes(attributes) => attributes.items(row).next().map_or("", |(name, _)| name),
        }
    }

    /// Number of columns; 0 with attributes.
    pub fn columns(&self) -> usize {
        match self {
            Sequence::Columns(columns) => columns.columns(),
            Sequence::Attributes(_) => 0,
        }
    }

    /// Where a row was read.
    pub fn place(&self, row: usize) -> Place {
        match self {
            Sequence::Columns(columns) => columns.place(row),
            Sequence::Attributes(attributes) => attributes.place(row),
        }
    }
}

/// Reads the sequences of one file in either format.
pub struct Reader {
    lines: FormatReader,
    interactive: bool,
}

enum FormatReader {
    Columns(ColumnReader<Box<dyn Read + Send>>),
    Attributes(AttributeReader<Box<dyn Read + Send>>),
}

impl Reader {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, format: Format, encoding: Encoding) -> crfkit::Result<Self> {
        let lines = Lines::new(open(path)?, &name(path), encoding);
        let lines = match format {
            Format::Columns => FormatReader::Columns(ColumnReader::new(lines)),
            Format::Attributes => FormatReader::Attributes(AttributeReader::new(lines)),
        };
        Ok(Reader { lines, interactive: interactive(path) })
    }

    /// Overwrites `sequence`, which must be of the same format, with the next one; false at the end.
    pub fn read(&mut self, sequence: &mut Sequence) -> crfkit::Result<bool> {
        match (&mut self.lines, sequence) {
            (FormatReader::Columns(reader), Sequence::Columns(columns)) => reader.read(columns),
            (FormatReader::Attributes(reader), Sequence::Attributes(attributes)) => reader.read(attributes),
            _ => unreachable!("a sequence of the other format"),
        }
    }

    /// An empty sequence to read into.
    pub fn sequence(&self) -> Sequence {
        match self.lines {
            FormatReader::Columns(_) => Sequence::Columns(Columns::default()),
            FormatReader::Attributes(_) => Sequence::Attributes(Attributes::default()),
        }
    }
}

impl Stream for Reader {
    type Item = Sequence;

    fn item(&self) -> Sequence {
        self.sequence()
    }

    fn read(&mut self, sequence: &mut Sequence) -> crfkit::Result<bool> {
        Reader::read(self, sequence)
    }

    fn tokens(sequence: &Sequence) -> usize {
        sequence.len()
    }

    fn interactive(&self) -> bool {
        self.interactive
    }
}

/// Does somebody sit at a keyboard and wait for answers?
fn interactive(path: &Path) -> bool {
    is_stdin(path) && std::io::stdin().is_terminal()
}

/// Reads a file line by line.
pub struct LineReader {
    lines: Lines<Box<dyn Read + Send>>,
    interactive: bool,
}

/// A line, and where it was read.
#[derive(Debug)]
pub struct NumberedLine {
    /// Without its ending.
    pub text: String,
    /// File and line.
    pub place: Place,
}

impl LineReader {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, encoding: Encoding) -> crfkit::Result<Self> {
        let lines = Lines::new(open(path)?, &name(path), encoding);
        Ok(LineReader { lines, interactive: interactive(path) })
    }
}

impl Stream for LineReader {
    type Item = NumberedLine;

    fn item(&self) -> NumberedLine {
        NumberedLine { text: String::new(), place: Place::new(self.lines.name(), 0) }
    }

    fn read(&mut self, line: &mut NumberedLine) -> crfkit::Result<bool> {
        let Some((text, number)) = self.lines.next_line()? else { return Ok(false) };
        line.text.clear();
        line.text.push_str(text);
        line.place.line = number;
        Ok(true)
    }

    /// A node of a graph takes about so many bytes.
    fn tokens(line: &NumberedLine) -> usize {
        line.text.len() / 64 + 1
    }

    fn interactive(&self) -> bool {
        self.interactive
    }
}

/// The place of the label among `columns`; −1 is the last.
pub fn label_index(label_column: i32, columns: usize, place: impl Fn() -> Place) -> crfkit::Result<usize> {
    let index = if label_column < 0 { columns as i64 + i64::from(label_column) } else { label_column.into() };
    usize::try_from(index).ok().filter(|index| *index < columns).ok_or_else(|| {
        let message = format!(
            "--label-column {label_column}, but there are {columns} columns: 0 is the first, -1 the last"
        );
        Error::input(place(), message)
    })
}
