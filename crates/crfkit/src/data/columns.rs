//! CoNLL columns: one token per line, with fields separated by runs of spaces and tabs, as CRF++ reads them.
//!
//! ```text
//! Ana    NNP  B-PER
//! ate    VBD  O
//!
//! Rome   NNP  B-LOC
//! ```
//!
//! A sequence ends at an empty line. By CRF++'s rule it also ends at any line that begins with a space or a tab,
//! whatever follows on that line. Several such lines in a row make no empty sequence. `#` is not special. Every row of
//! a file has the same number of columns. The caller says which of them is the label.

mod memory;

pub(super) use memory::check_token_weights;
pub(crate) use memory::wrong_weight;

use std::io::Read;
use std::ops::Range;

use super::conllu;
use super::text::{Lines, holds_sequence};
use super::vectors::Vectors;
use crate::error::{Error, Place, Result};

/// The largest number of columns, as in CRF++. A row with more is probably not in columns at all.
#[doc(hidden)]
pub const MAX_COLUMNS: usize = 1024;

/// The largest number of tokens in a sequence, in any format. A longer one is probably a text without empty lines, and the tables of one that long
/// would not fit into memory.
pub(crate) const MAX_TOKENS: usize = 1 << 24;

/// The message about a sequence of more tokens than `most`.
pub(super) fn too_long(most: usize) -> String {
    format!("more than {most} tokens in one sequence: put an empty line between sequences")
}

/// One sequence: rows of fields in flat buffers that are used again for the next sequence.
///
/// Rows and columns are numbered from 0. A number out of range panics.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    name: String,
    /// The lines of the rows, one after the other.
    text: String,
    rows: Vec<Row>,
    /// The range of each field in `text`, `[rows][columns]`.
    fields: Vec<Range<usize>>,
    columns: usize,
    /// The fields of CoNLL-U that the columns are.
    named: Option<conllu::Fields>,
    offset: usize,
    /// The weight of the sequence; `None` if none was given, which counts as 1.
    weight: Option<f64>,
    /// A weight for each row, or none at all.
    token_weights: Vec<f64>,
    /// A vector for each row, or none at all.
    pub(crate) vectors: Vectors,
}

#[derive(Clone, Debug)]
struct Row {
    text: Range<usize>,
    line: u64,
}

impl Columns {
    /// Number of rows (tokens).
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of columns, the same in every row; 0 if there are no rows.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The field of a row in a column.
    pub fn field(&self, row: usize, column: usize) -> &str {
        &self.text[self.fields_of(row)[column].clone()]
    }

    /// The fields of a row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = &str> {
        self.fields_of(row).iter().map(|field| &self.text[field.clone()])
    }

    /// The line of a row as it was read, with its own spaces and tabs but without the line ending.
    #[doc(hidden)]
    pub fn row_text(&self, row: usize) -> &str {
        &self.text[self.rows[row].text.clone()]
    }

    /// The text that the fields are parts of: the line or sentence of running text, otherwise the rows one after the other.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a field is in [`text`](Columns::text), in bytes.
    #[doc(hidden)]
    pub fn span(&self, row: usize, column: usize) -> Range<usize> {
        self.fields_of(row)[column].clone()
    }

    /// Where a sentence begins in its line, in characters; 0 unless running text is cut into sentences.
    #[doc(hidden)]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The 1-based line number of a row.
    pub fn line(&self, row: usize) -> u64 {
        self.rows[row].line
    }

    /// The name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The place where a row was read, for messages.
    pub fn place(&self, row: usize) -> Place {
        Place::new(&self.name, self.line(row))
    }

    /// Replaces the fields of a column, one for each row.
    #[doc(hidden)]
    pub fn set_column(&mut self, column: usize, values: &[String]) {
        for (row, value) in values.iter().enumerate() {
            let start = self.text.len();
            self.text.push_str(value);
            self.fields[row * self.columns + column] = start..self.text.len();
        }
    }

    /// Removes the rows, but keeps the memory.
    pub fn clear(&mut self) {
        self.vectors.reset(0);
        self.text.clear();
        self.rows.clear();
        self.fields.clear();
        self.columns = 0;
        self.named = None;
        self.offset = 0;
        self.weight = None;
        self.token_weights.clear();
    }

    /// Removes the rows and sets the name of the input.
    pub(super) fn begin(&mut self, name: &str) {
        self.clear();
        self.name.clear();
        self.name.push_str(name);
    }

    /// Appends a row of these fields. Every row must have the same number of fields.
    pub(super) fn push_row<'a>(&mut self, fields: impl Iterator<Item = &'a str>, line: u64) {
        let (base, before) = (self.text.len(), self.fields.len());
        for field in fields {
            let start = self.text.len();
            self.text.push_str(field);
            self.fields.push(start..self.text.len());
        }
        self.columns = self.fields.len() - before;
        self.rows.push(Row { text: base..self.text.len(), line });
    }

    /// Sets the text of an empty sequence, which begins at this character of its line.
    pub(super) fn set_text(&mut self, text: &str, offset: usize) {
        self.text.push_str(text);
        self.offset = offset;
    }

    /// Appends a row of one field, which is a part of the text.
    pub(super) fn push_span(&mut self, span: Range<usize>, line: u64) {
        self.rows.push(Row { text: span.clone(), line });
        self.fields.push(span);
        self.columns = 1;
    }

    fn fields_of(&self, row: usize) -> &[Range<usize>] {
        &self.fields[row * self.columns..][..self.columns]
    }

    /// Appends a row and returns its number of fields. At most one field more than the limit is split off.
    fn push(&mut self, line: &str, number: u64) -> usize {
        let before = self.fields.len();
        let base = self.text.len();
        self.text.push_str(line);
        self.rows.push(Row { text: base..self.text.len(), line: number });
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.fields.len() - before <= MAX_COLUMNS {
            let start = at;
            while at < bytes.len() && !is_blank(bytes[at]) {
                at += 1;
            }
            self.fields.push(base + start..base + at);
            while at < bytes.len() && is_blank(bytes[at]) {
                at += 1;
            }
        }
        self.fields.len() - before
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Checks that every row of a file has as many columns as the first one.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// The number of columns of the file's first row, and its line.
    expected: Option<(usize, u64)>,
}

impl Rows {
    /// Rejects a row of `count` fields if the first one has another number, or if there are too many. Otherwise returns the number.
    pub(crate) fn check(&mut self, count: usize, line: u64, place: impl Fn() -> Place) -> Result<usize> {
        let (columns, first) = *self.expected.get_or_insert((count, line));
        match count > MAX_COLUMNS || count != columns {
            true => Err(wrong_count(place(), count, columns, first)),
            false => Ok(columns),
        }
    }
}

/// Reads the sequences of one file.
pub struct ColumnReader<R> {
    lines: Lines<R>,
    rows: Rows,
    /// Tokens of a sequence at most.
    most: usize,
}

impl<R: Read> ColumnReader<R> {
    /// A reader of the sequences in `lines`.
    pub fn new(lines: Lines<R>) -> Self {
        ColumnReader { lines, rows: Rows::default(), most: MAX_TOKENS }
    }

    /// Whether the next sequence can be read without waiting for input; see [`Lines::gather`].
    #[doc(hidden)]
    pub fn ready(&mut self, at_hand: impl Fn() -> bool) -> Result<bool> {
        self.lines.gather(holds_sequence, at_hand)
    }

    /// Overwrites `sequence` with the next one, which has at least one row. At the end it returns false, and `sequence`
    /// has no rows.
    ///
    /// It is an error, with file and line, if a row has another number of columns than the first row of the file,
    /// if it has more than [`MAX_COLUMNS`], or if a sequence has more than 16,777,216 tokens.
    pub fn read(&mut self, sequence: &mut Columns) -> Result<bool> {
        sequence.begin(self.lines.name());
        while let Some((text, line)) = self.lines.next_line()? {
            match text.bytes().next() {
                Some(byte) if !is_blank(byte) => {
                    let count = sequence.push(text, line);
                    let columns = self.rows.check(count, line, || sequence.place(sequence.len() - 1))?;
                    if sequence.len() > self.most {
                        return Err(Error::input(Place::new(self.lines.name(), line), too_long(self.most)));
                    }
                    sequence.columns = columns;
                }
                _ if sequence.is_empty() => continue,
                _ => return Ok(true),
            }
        }
        Ok(!sequence.is_empty())
    }
}

fn wrong_count(place: Place, count: usize, columns: usize, first: u64) -> Error {
    if count > MAX_COLUMNS {
        return Error::input(
            place,
            format!("more than {MAX_COLUMNS} columns: a line must have one token and its columns"),
        );
    }
    let plural = if count == 1 { "" } else { "s" };
    let message = format!(
        "{count} column{plural}, but {columns} in line {first}, the first row of this file: every row needs the \
         same number (fields are split at spaces and tabs; an empty line ends a sequence)"
    );
    Error::input(place, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::Encoding;

    fn reader(text: &str) -> ColumnReader<&[u8]> {
        ColumnReader::new(Lines::new(text.as_bytes(), "data.txt", Encoding::Utf8))
    }

    /// The sequences of a text, with the fields of each row joined by `|`.
    fn sequences(text: &str) -> Result<Vec<Vec<String>>> {
        let mut reader = reader(text);
        let mut sequence = Columns::default();
        let mut all = Vec::new();
        while reader.read(&mut sequence)? {
            all.push(
                (0..sequence.len()).map(|row| sequence.row(row).collect::<Vec<_>>().join("|")).collect(),
            );
        }
        assert!(sequence.is_empty());
        Ok(all)
    }

    fn refusal(text: &str) -> String {
        sequences(text).unwrap_err().to_string()
    }

    #[test]
    fn fields_are_split_at_runs_of_spaces_and_tabs() {
        let text = "Ana \t NNP  B-PER \t\nate\tVBD\tO\n\nRome NNP #\u{a0}x\n";
        assert_eq!(sequences(text).unwrap(), [vec!["Ana|NNP|B-PER", "ate|VBD|O"], vec!["Rome|NNP|#\u{a0}x"]]);
    }

    #[test]
    fn a_sequence_ends_at_an_empty_line_or_a_leading_blank() {
        for pause in ["\n", "\r\n", "  \n", "\t\n", " ignored by CRF++ too\n", "\n \n\n\t\n"] {
            for end in ["", "\n", "\r\n\n"] {
                let text = format!("{pause}a b\n{pause}c d{end}");
                assert_eq!(sequences(&text).unwrap(), [["a|b"], ["c|d"]], "{text:?}");
            }
        }
        assert!(sequences("").unwrap().is_empty());
        assert!(sequences(" \n\n\t\n").unwrap().is_empty());
    }

    #[test]
    fn a_sequence_knows_its_rows_and_their_places() {
        let mut reader = reader("\n#é  x \r\nb y\n\nlast z");
        let mut sequence = Columns::default();
        assert!(reader.read(&mut sequence).unwrap());
        assert_eq!((sequence.len(), sequence.columns()), (2, 2));
        assert_eq!((sequence.field(0, 0), sequence.field(1, 1)), ("#é", "y"));
        assert_eq!((sequence.row_text(0), sequence.row_text(1)), ("#é  x ", "b y"));
        assert_eq!((sequence.name(), sequence.line(0)), ("data.txt", 2));
        assert_eq!(sequence.place(1).to_string(), "data.txt:3");
        assert!(reader.read(&mut sequence).unwrap());
        assert_eq!((sequence.len(), sequence.field(0, 0), sequence.line(0)), (1, "last", 5));
        assert!(!reader.read(&mut sequence).unwrap());
        assert!(!reader.read(&mut sequence).unwrap(), "the end stays the end");
        assert_eq!((sequence.len(), sequence.columns()), (0, 0));
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_column_too_far_does_not_read_the_next_row() {
        let mut sequence = Columns::default();
        reader("a b\nc d\n").read(&mut sequence).unwrap();
        sequence.field(0, 2);
    }

    #[test]
    fn ragged_rows_are_refused_across_the_whole_file() {
        let message = refusal("\na b c\nd e f\n\ng h\n");
        assert!(message.starts_with("data.txt:5: 2 columns, but 3 in line 2"), "{message}");
        let message = refusal("a b\nc\n");
        assert!(message.starts_with("data.txt:2: 1 column, but 2 in line 1"), "{message}");
    }

    #[test]
    fn the_length_of_a_sequence_is_limited() {
        let mut sequence = Columns::default();
        let mut short = ColumnReader { most: 3, ..reader("a\nb\nc\n\nd\ne\nf\ng\n") };
        assert!(short.read(&mut sequence).unwrap());
        assert_eq!(sequence.len(), 3);
        let message = short.read(&mut sequence).unwrap_err().to_string();
        assert!(message.starts_with("data.txt:8: more than 3 tokens in one sequence"), "{message}");
    }

    #[test]
    fn the_number_of_columns_is_limited() {
        let row = "x ".repeat(MAX_COLUMNS);
        let mut sequence = Columns::default();
        assert!(reader(&row).read(&mut sequence).unwrap());
        assert_eq!(sequence.columns(), MAX_COLUMNS);
        assert!(refusal(&format!("{row}y")).starts_with("data.txt:1: more than 1024 columns"));
        assert!(refusal(&format!("a b\n{row}y")).starts_with("data.txt:2: more than 1024 columns"));
    }
}
