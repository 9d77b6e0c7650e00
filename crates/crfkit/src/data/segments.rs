//! The observations of whole segments, made by the lines of a template that begin with `S`.
//!
//! In such a line the segment stands where a token stands in other lines: row 0 is its text, the fields of its tokens with blanks between
//! them; rows below 0 are the tokens before it and rows above 0 those after it; `@1` is its first token and `@-1` its last.

use super::columns::Columns;
use super::extractor::{Extractor, Function};
use super::observer::{Numbering, Sink, UNSEEN};
use super::template::{Macro, Row, Template, Templates};
use std::fmt::Write;
use std::ops::Range;

/// Working memory for the observations of segments.
#[derive(Clone, Debug, Default)]
pub(super) struct SegmentObserver {
    /// The text of a segment, a value made of it, and a key.
    joined: String,
    text: String,
    key: Vec<u8>,
    ids: Vec<u32>,
}

impl SegmentObserver {
    /// Sends the observations of all possible segments of up to `longest` tokens to `sink`: by their last token, and then by their length.
    pub(super) fn all(
        &mut self,
        templates: &Templates,
        sequence: &Columns,
        longest: usize,
        numbers: &mut impl Numbering,
        sink: &mut impl Sink,
    ) {
        for end in 1..=sequence.len() {
            for length in 1..=longest.min(end) {
                self.one(templates, sequence, end - length..end, numbers);
                sink.table(&self.ids, &[]);
            }
        }
    }

    /// Finds the observations of one segment.
    pub(super) fn one(
        &mut self,
        templates: &Templates,
        sequence: &Columns,
        tokens: Range<usize>,
        numbers: &mut impl Numbering,
    ) {
        self.ids.clear();
        for template in &templates.segment {
            if self.write_key(templates, template, sequence, tokens.clone(), numbers) {
                self.ids.extend(numbers.observation(false, &self.key));
            }
        }
    }

    /// Writes the key of a template's observation. False if there is none.
    fn write_key(
        &mut self,
        templates: &Templates,
        template: &Template,
        sequence: &Columns,
        tokens: Range<usize>,
        numbers: &mut impl Numbering,
    ) -> bool {
        self.key.clear();
        self.key.extend_from_slice(&template.skeleton.to_le_bytes());
        for part in &template.macros {
            let value = self.value(templates, part, sequence, tokens.clone());
            let value = value.map_or(UNSEEN, |value| numbers.value(value));
            if value == UNSEEN {
                return false;
            }
            self.key.extend_from_slice(&value.to_le_bytes());
        }
        true
    }

    /// The value of a macro, if it has one.
    fn value<'a>(
        &'a mut self,
        templates: &'a Templates,
        part: &Macro,
        sequence: &'a Columns,
        tokens: Range<usize>,
    ) -> Option<&'a str> {
        let extractor = &templates.segment_extractors[part.extractor];
        let field = |row: usize| sequence.field(row, extractor.column);
        let row = match part.row {
            Row::Relative(0) => return self.whole(extractor, sequence, tokens),
            Row::Relative(offset) if offset < 0 => tokens.start as i64 + i64::from(offset),
            Row::Relative(offset) => tokens.end as i64 - 1 + i64::from(offset),
            Row::FromStart(after) => tokens.clone().nth(after as usize)? as i64,
            Row::FromEnd(before) => tokens.clone().rev().nth(before as usize)? as i64,
        };
        if row < 0 {
            return extractor.padding(templates.dialect.left(row.unsigned_abs() as usize), &mut self.text);
        }
        if row >= sequence.len() as i64 {
            let beyond = row as usize - sequence.len() + 1;
            return extractor.padding(templates.dialect.right(beyond), &mut self.text);
        }
        match &extractor.function {
            Function::List(list) => {
                list.has(std::iter::once(field(row as usize)), &mut self.text).then_some("true")
            }
            _ => extractor.value(field(row as usize), &mut self.text),
        }
    }

    /// The value for the whole segment.
    fn whole<'a>(
        &'a mut self,
        extractor: &'a Extractor,
        sequence: &Columns,
        tokens: Range<usize>,
    ) -> Option<&'a str> {
        let length = tokens.len();
        let fields = tokens.map(|row| sequence.field(row, extractor.column));
        match &extractor.function {
            Function::Length => {
                self.text.clear();
                write!(self.text, "{length}").expect("writing to a string succeeds");
                Some(&self.text)
            }
            Function::List(list) => list.has(fields, &mut self.text).then_some("true"),
            _ => {
                self.joined.clear();
                for (n, field) in fields.enumerate() {
                    if n > 0 {
                        self.joined.push(' ');
                    }
                    self.joined.push_str(field);
                }
                extractor.value(&self.joined, &mut self.text)
            }
        }
    }
}
