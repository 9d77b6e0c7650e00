//! Files whose tokens are rows of fields: how they are read, and the source of their sequences.

use super::{Feed, name};
use crate::args::{ExtraColumns, Format};
use crate::pipeline::Pace;
use crfkit::data::columns::Columns;
use crfkit::data::conllu::Fields;
use crfkit::data::numpy::MatrixReader;
use crfkit::data::rows::{RowFormat, RowReader};
use crfkit::data::text::{Encoding, decompress};
use crfkit::data::vectors::Vectors;
use crfkit::eval::Scheme;
use crfkit::{Error, Place, Result};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// How a text is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The format that was asked for.
    pub format: Option<Format>,
    /// The fields of CoNLL-U that make columns; `None` for those of the model, and in training for the default ones.
    pub fields: Option<Fields>,
    /// Character encoding.
    pub encoding: Encoding,
    /// The notation that chunk labels are converted to.
    pub scheme: Option<Scheme>,
    /// Column of the label; `None` for that of the model's training data.
    pub label_column: Option<i32>,
    /// Column of the weight, which is taken out.
    pub weight_column: Option<i32>,
    /// Column of the weights of tokens, which is taken out.
    pub token_weight_column: Option<i32>,
    /// File of the vectors of the tokens.
    pub vectors: Option<PathBuf>,
    /// What makes a sequence of running text; `None` for other formats.
    pub text: Option<TextCut>,
    /// What to do with columns that the training data did not have; `None` if the command has no flag for it.
    pub extra_columns: Option<ExtraColumns>,
    /// How many columns there may be besides those of the training data.
    pub more_columns: usize,
    /// Whether every item is answered before the next one is read.
    pub line_buffered: bool,
}

/// What makes a sequence of running text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextCut {
    /// A line.
    Lines,
    /// A sentence.
    Sentences,
}

impl Reading {
    /// The format of a file: the one that was asked for, or by the file's name, or the usual one.
    pub fn format_of(&self, path: &Path, usual: Format) -> Format {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let plain = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        match self.format {
            Some(format) => format,
            None if usual != Format::Columns || self.text.is_some() => usual,
            None if plain.ends_with(".jsonl") || plain.ends_with(".ndjson") => Format::Json,
            None if plain.ends_with(".conllu") => Format::Conllu,
            None => usual,
        }
    }

    /// How the data of a model is read: CoNLL-U with the fields that the model was trained on, unless others are named. As many must be
    /// named, because templates know columns by their numbers only.
    pub fn of_model(&self, path: &Path, trained: &Trained) -> Result<Self> {
        let weights = [self.weight_column, self.token_weight_column].into_iter().flatten().count();
        let free = self.more_columns > 0 || self.label_column.is_some() || self.ignores_more();
        let wrong = match (self.fields, trained.fields) {
            (named, _) if self.format_of(path, Format::Columns) != Format::Conllu => named.map(|_| {
                let text = "--fields is for CoNLL-U, but this data is in another format: leave it out";
                format!("{}: {text}", name(path))
            }),
            (Some(named), Some(fields)) => {
                let (found, count) = (named.count().saturating_sub(weights), fields.count());
                let fits = found == count || free && found > count;
                (!fits).then(|| {
                    format!(
                        "--fields names {found} fields, but the model was trained on {count}: {fields}; leave it out, or name as many"
                    )
                })
            }
            (None, Some(fields)) => (weights > 0).then(|| {
                format!(
                    "the model was trained on the fields {fields}, of which none is a weight: name the fields of this data with --fields"
                )
            }),
            (None, None) => trained.columns.filter(|&columns| columns != Fields::default().count()).map(|columns| {
                format!(
                    "{}: the model was trained on {columns} columns, and does not say which fields of CoNLL-U they are: name them with --fields",
                    name(path)
                )
            }),
            (Some(_), None) => None,
        };
        match wrong {
            Some(message) => Err(Error::Setting(message)),
            None => Ok(Reading { fields: self.fields.or(trained.fields), ..self.clone() }),
        }
    }

    /// Whether columns that the training data did not have are accepted.
    fn ignores_more(&self) -> bool {
        self.extra_columns == Some(ExtraColumns::Ignore)
    }

    /// The format of a file whose tokens are rows; `None` for attribute lists.
    pub fn rows_of(&self, path: &Path, usual: Format) -> Option<RowFormat> {
        match (self.text, self.format_of(path, usual)) {
            (_, Format::Attributes) => None,
            (Some(TextCut::Lines), _) => Some(RowFormat::Lines),
            (Some(TextCut::Sentences), _) => Some(RowFormat::Sentences),
            (None, Format::Columns) => Some(RowFormat::Columns),
            (None, Format::Json) => Some(RowFormat::Json),
            (None, Format::Conllu) => Some(RowFormat::Conllu(self.fields.unwrap_or_default())),
        }
    }
}

/// What a model knows of the columns of its training data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trained {
    /// The fields of CoNLL-U that they are.
    pub fields: Option<Fields>,
    /// Their number.
    pub columns: Option<usize>,
}

/// The sequences of a file whose tokens are rows.
pub struct RowFile {
    rows: RowReader<Box<dyn Read + Send>>,
    feed: Feed,
    /// The most columns that rows may have.
    most: usize,
    /// Whether the command has a flag that accepts more.
    free_on_request: bool,
    /// The notation that labels are converted to.
    scheme: Option<Scheme>,
    /// The columns of labels, negative if counted from the end.
    labels: Vec<i32>,
    /// The vectors of the tokens.
    vectors: Option<VectorFile>,
    /// The columns of the weights of sequences and of tokens.
    weights: [Option<i32>; 2],
    /// Whether the rows say which fields of CoNLL-U they are: in training.
    named: bool,
}

/// The vectors of a file of tokens, in the same order.
pub struct VectorFile {
    matrix: MatrixReader<Box<dyn Read + Send>>,
    /// The name of the text.
    text: String,
}

impl VectorFile {
    /// Opens the vectors of a text.
    pub fn open(path: &Path, text: &Path) -> Result<Self> {
        let failed = |error| Error::io(name(path), error);
        let file = BufReader::with_capacity(1 << 18, File::open(path).map_err(failed)?);
        let matrix = MatrixReader::new(decompress(Box::new(file)).map_err(failed)?, &name(path))?;
        Ok(VectorFile { matrix, text: name(text) })
    }

    /// Overwrites `vectors` with those of the next sequence. After the last one there must be none left; returns whether there are any.
    pub fn read(
        &mut self,
        more: bool,
        tokens: usize,
        vectors: &mut Vectors,
        place: impl Fn() -> Place,
    ) -> Result<bool> {
        match more {
            true => self.matrix.read(tokens, vectors, place)?,
            false => self.matrix.finish(&self.text)?,
        }
        Ok(more)
    }
}

impl RowFile {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, reading: &Reading, format: &RowFormat) -> Result<Self> {
        let (lines, feed) = Feed::open(path, reading)?;
        let labels = reading.label_column.into_iter().collect();
        Ok(RowFile {
            rows: RowReader::new(lines, format),
            feed,
            most: usize::MAX,
            free_on_request: reading.extra_columns.is_some(),
            scheme: reading.scheme,
            labels,
            vectors: reading.vectors.as_deref().map(|vectors| VectorFile::open(vectors, path)).transpose()?,
            weights: [reading.weight_column, reading.token_weight_column],
            named: true,
        })
    }

    /// For a model: rejects rows with more columns than the training data had, unless they are wanted. Which fields of CoNLL-U they are has
    /// been settled by [`Reading::of_model`].
    pub fn at_most(self, columns: Option<usize>, reading: &Reading) -> Self {
        let free = reading.ignores_more() || reading.label_column.is_some();
        let most = columns.filter(|_| !free).map_or(usize::MAX, |columns| columns + reading.more_columns);
        RowFile { most, named: false, ..self }
    }

    /// Says where labels are, for their conversion; what was said before holds.
    pub fn labelled(self, columns: impl IntoIterator<Item = i32>) -> Self {
        match self.labels.is_empty() {
            true => RowFile { labels: columns.into_iter().collect(), ..self },
            false => self,
        }
    }

    /// Overwrites a sequence with the next one; false at the end.
    pub fn read(&mut self, rows: &mut Columns) -> Result<bool> {
        let mut memory = if self.vectors.is_some() { rows.take_vectors() } else { Vectors::default() };
        let read = self.rows.read(rows)?;
        if !self.named {
            rows.set_fields(None);
        }
        if let Some(vectors) = &mut self.vectors
            && vectors.read(read, rows.len(), &mut memory, || rows.place(0))?
        {
            rows.set_vectors(memory)?;
        }
        let [weight, token_weights] = self.weights;
        rows.take_weights(weight, token_weights)?;
        if rows.columns() > self.most {
            return Err(self.too_many(rows));
        }
        if let Some(scheme) = self.scheme {
            for &label in &self.labels {
                let column = if label < 0 { rows.columns() as i64 + i64::from(label) } else { label.into() };
                let Some(column) = usize::try_from(column).ok().filter(|column| *column < rows.columns())
                else {
                    continue;
                };
                let labels: Vec<&str> = (0..rows.len()).map(|row| rows.field(row, column)).collect();
                let converted = scheme.labels(&labels);
                rows.set_column(column, &converted);
            }
        }
        Ok(read)
    }

    /// How the file comes.
    pub fn pace(&self) -> Pace {
        self.feed.pace()
    }

    /// Whether the next sequence can be read without waiting for input.
    pub fn ready(&mut self) -> Result<bool> {
        self.rows.ready(|| self.feed.at_hand())
    }

    fn too_many(&self, rows: &Columns) -> Error {
        let (found, most) = (rows.columns(), self.most);
        let hint = match rows.text().trim_start().starts_with("{\"") {
            true => "for JSON lines there is --format json",
            false => "give one token per line; crfkit tag --text reads running text",
        };
        let flag = if self.free_on_request { "; --extra-columns ignore accepts further columns" } else { "" };
        Error::input(
            rows.place(0),
            format!(
                "{found} columns, but the model was trained on {most}, including the label: {hint}{flag}"
            ),
        )
    }
}
