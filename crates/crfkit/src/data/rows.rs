//! The formats whose tokens are rows of fields, behind one reader.

use std::io::Read;

use super::columns::{ColumnReader, Columns};
use super::conllu::{ConlluReader, Fields};
use super::json_lines::JsonReader;
use super::text::{Lines, holds_line};
use super::tokens::{sentences, tokens};
use crate::error::Result;

/// A format whose tokens are rows of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowFormat {
    /// CoNLL columns.
    #[default]
    Columns,
    /// [JSON lines](super::json_lines).
    Json,
    /// [CoNLL-U](super::conllu), with these fields as columns.
    Conllu(Fields),
    /// Running text, cut into [tokens](super::tokens): each line is a sequence.
    Lines,
    /// Running text, cut into tokens: each sentence of a line is a sequence.
    Sentences,
}

/// Reads the sequences of one file in any of these formats.
#[doc(hidden)]
pub struct RowReader<R>(Kind<R>);

enum Kind<R> {
    Columns(ColumnReader<R>),
    Json(JsonReader<R>),
    Conllu(ConlluReader<R>),
    Text(TextReader<R>),
}

impl<R: Read> RowReader<R> {
    /// A reader of the sequences in `lines`.
    pub fn new(lines: Lines<R>, format: &RowFormat) -> Self {
        RowReader(match format {
            RowFormat::Columns => Kind::Columns(ColumnReader::new(lines)),
            RowFormat::Json => Kind::Json(JsonReader::new(lines)),
            RowFormat::Conllu(fields) => Kind::Conllu(ConlluReader::new(lines, *fields)),
            RowFormat::Lines => Kind::Text(TextReader::new(lines, Cut::Lines)),
            RowFormat::Sentences => Kind::Text(TextReader::new(lines, Cut::Sentences)),
        })
    }

    /// Overwrites `sequence` with the next one, which has at least one row. At the end it returns false, and `sequence` has no rows.
    pub fn read(&mut self, sequence: &mut Columns) -> Result<bool> {
        match &mut self.0 {
            Kind::Columns(reader) => reader.read(sequence),
            Kind::Json(reader) => reader.read(sequence),
            Kind::Conllu(reader) => reader.read(sequence),
            Kind::Text(reader) => reader.read(sequence),
        }
    }

    /// Whether the next sequence can be read without waiting for input; see [`Lines::gather`].
    pub fn ready(&mut self, at_hand: impl Fn() -> bool) -> Result<bool> {
        match &mut self.0 {
            Kind::Columns(reader) => reader.ready(at_hand),
            Kind::Json(reader) => reader.ready(at_hand),
            Kind::Conllu(reader) => reader.ready(at_hand),
            Kind::Text(reader) => reader.ready(at_hand),
        }
    }
}

/// What makes a sequence of text.
enum Cut {
    Lines,
    Sentences,
}

/// Reads running text.
struct TextReader<R> {
    lines: Lines<R>,
    cut: Cut,
    /// The current line, its number, and how much of it has been handed out, in bytes and in characters.
    line: String,
    number: u64,
    done: usize,
    characters: usize,
}

impl<R: Read> TextReader<R> {
    fn new(lines: Lines<R>, cut: Cut) -> Self {
        TextReader { lines, cut, line: String::new(), number: 0, done: 0, characters: 0 }
    }

    fn ready(&mut self, at_hand: impl Fn() -> bool) -> Result<bool> {
        match self.line[self.done..].trim().is_empty() {
            true => self.lines.gather(holds_line, at_hand),
            false => Ok(true),
        }
    }

    fn read(&mut self, sequence: &mut Columns) -> Result<bool> {
        sequence.begin(self.lines.name());
        loop {
            let rest = &self.line[self.done..];
            let next = match self.cut {
                Cut::Sentences => sentences(rest).next(),
                Cut::Lines => (!rest.trim().is_empty()).then_some(0..rest.len()),
            };
            if let Some(range) = next {
                let text = &rest[range.clone()];
                let start = self.characters + rest[..range.start].chars().count();
                sequence.set_text(text, start);
                tokens(text).for_each(|token| sequence.push_span(token, self.number));
                self.characters = start + text.chars().count();
                self.done += range.end;
                return Ok(true);
            }
            let Some((text, number)) = self.lines.next_line()? else {
                self.line.clear();
                self.done = 0;
                return Ok(false);
            };
            self.line.clear();
            self.line.push_str(text);
            (self.number, self.done, self.characters) = (number, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::Encoding;

    fn read(text: &str, format: &RowFormat) -> Vec<(usize, String, Vec<String>, u64)> {
        let mut reader = RowReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8), format);
        let (mut sequence, mut all) = (Columns::default(), Vec::new());
        while reader.read(&mut sequence).unwrap() {
            let tokens = (0..sequence.len()).map(|row| sequence.field(row, 0).to_owned()).collect();
            all.push((sequence.offset(), sequence.text().to_owned(), tokens, sequence.line(0)));
        }
        assert!(!reader.read(&mut sequence).unwrap());
        all
    }

    #[test]
    fn a_line_or_a_sentence_is_a_sequence() {
        let text = "É so. Two!\n\n  \nThree.";
        let lines = read(text, &RowFormat::Lines);
        assert_eq!(lines[0].2, ["É", "so", ".", "Two", "!"]);
        assert_eq!((lines.len(), &*lines[0].1, lines[1].3), (2, "É so. Two!", 4));
        let sentences = read(text, &RowFormat::Sentences);
        let starts: Vec<_> =
            sentences.iter().map(|(start, text, _, line)| (*start, &**text, *line)).collect();
        assert_eq!(starts, [(0, "É so.", 1), (6, "Two!", 1), (0, "Three.", 4)]);
    }

    #[test]
    fn tokens_know_their_place_in_the_text() {
        let mut reader =
            RowReader::new(Lines::new("a  bé, c\n".as_bytes(), "text", Encoding::Utf8), &RowFormat::Lines);
        let mut sequence = Columns::default();
        reader.read(&mut sequence).unwrap();
        let spans: Vec<_> = (0..sequence.len()).map(|row| sequence.span(row, 0)).collect();
        assert_eq!(spans, [0..1, 3..6, 6..7, 8..9]);
        assert!(
            spans
                .iter()
                .enumerate()
                .all(|(row, span)| &sequence.text()[span.clone()] == sequence.field(row, 0))
        );
    }

    /// Whatever is complete is ready, and nothing else, in every format.
    #[test]
    fn complete_sequences_are_ready() {
        let conllu = "1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n\n";
        for (format, item) in [
            (RowFormat::Columns, "a\tB\n\n"),
            (RowFormat::Columns, "a B\r\n\r\n"),
            (RowFormat::Json, "{\"tokens\": [\"a\"]}\n"),
            (RowFormat::Conllu(Fields::default()), conllu),
            (RowFormat::Lines, "a b c\n"),
            (RowFormat::Sentences, "A b c.\n"),
        ] {
            for cut in 1..item.len() {
                let pieces = Pieces { parts: vec![item[..cut].into(), item[cut..].into()] };
                let mut reader = RowReader::new(Lines::new(pieces, "text", Encoding::Utf8), &format);
                let mut sequence = Columns::default();
                assert!(!reader.ready(|| false).unwrap(), "nothing is read yet");
                let asked = std::cell::Cell::new(0);
                let once = || asked.replace(asked.get() + 1) == 0;
                assert!(!reader.ready(once).unwrap(), "{format:?}: {:?}", &item[..cut]);
                assert!(reader.ready(|| true).unwrap(), "{format:?}");
                assert!(reader.read(&mut sequence).unwrap() && !sequence.is_empty());
            }
        }
    }

    /// What is skipped is not worth waiting for: an answer in front of it is due.
    #[test]
    fn empty_lines_and_comments_are_no_sequence() {
        for (format, nothing) in [
            (RowFormat::Columns, "\n\n"),
            (RowFormat::Json, "\n \n"),
            (RowFormat::Conllu(Fields::default()), "# a comment\n\n"),
            (RowFormat::Lines, "  \n\n"),
            (RowFormat::Sentences, "\n"),
        ] {
            let pieces = Pieces { parts: vec![nothing.into(), Vec::new()] };
            let mut reader = RowReader::new(Lines::new(pieces, "text", Encoding::Utf8), &format);
            let asked = std::cell::Cell::new(0);
            let once = || asked.replace(asked.get() + 1) == 0;
            assert!(!reader.ready(once).unwrap(), "{format:?}");
            assert!(reader.ready(|| true).unwrap(), "at the end");
            assert!(!reader.read(&mut Columns::default()).unwrap());
        }
    }

    /// Hands out one part at a time.
    struct Pieces {
        parts: Vec<Vec<u8>>,
    }

    impl Read for Pieces {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            if self.parts.is_empty() {
                return Ok(0);
            }
            let part = self.parts.remove(0);
            out[..part.len()].copy_from_slice(&part);
            Ok(part.len())
        }
    }
}
