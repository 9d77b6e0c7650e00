//! Feature templates: which columns of which rows around a token make its observations.
//!
//! ```text
//! # CRF++                        # Wapiti
//! U01:%x[0,0]                    u:w=%x[0,0]
//! U02:%x[-1,0]/%x[0,1]           u:low=%X[-1,0]              # lower-cased
//! B                              *:cap=%t[0,0,"^\u"]         # true or false; with the label and with the pair
//! B01:%x[0,1]                    u:pre=%m[0,0,"^.?.?.?"]     # the matched text, may be empty
//!                                u:last=%x[@-1,0]            # absolute row: @1 first, @-1 last
//! ```
//!
//! One line is one template. Its first character says what its observation is paired with: `U` the label, `B` the label
//! pair (from the second token on), `*` both, `S` the label of a whole segment. `%x[row,column]` is the value of a column, with rows counted from the
//! token; the rest of the line is literal text. Rows outside the sequence have padding strings as values; functions
//! (`%t`, `%m`, lower-casing) apply to them as to any other value. A `U` line without macros is a bias: it fires at
//! every token. A `B` line without macros is the plain label bigram.
//!
//! Macros of crfkit's own have names: affixes, n-grams, shapes, marks, positions ([`Function`]), and the lists and maps of
//! [`lexicon`](super::lexicon). A macro may have no value at a token; its line then makes no observation there. One macro of a line may have
//! several values, which make an observation each, or a number, which is the value of the observation.
//!
//! An observation is never expanded to a string in training or labelling. It is the pair (skeleton, values): the
//! literal text, interned here, and the interned values of the macros. Each value is computed once per token by an
//! [`Extractor`]. The values of all extractors share one table, so equal values from different columns make equal
//! observations if the literal text is the same. [`Templates::expand`] gives the string back.
//!
//! The dialects differ in comments (CRF++: a line that starts with `#`; Wapiti: from any `#` to the end of the line,
//! even inside a pattern), trailing blanks (literal text in CRF++, dropped in Wapiti), padding ([`Dialect::left`]),
//! rows (CRF++: -8 to 8) and the first character (Wapiti: any case, read as lower case). [`Dialect::Crfpp`] accepts
//! Wapiti's commands too.
//!
//! Departures:
//! - In CRF++ and Wapiti, observations are the same if their strings are. Here they are the same if literal text and
//!   values are. Strings that agree only because text was cut differently (`U:a%x[0,0]` on `b`, `U:%x[0,0]` on `ab`)
//!   stay different.
//! - Several `B` lines without macros would be several weights for one role; they make one label bigram.
//! - Lower-casing and patterns use Unicode (see [`pattern`](super::pattern)).
//! - Numbers are decimal (Wapiti also reads octal and hexadecimal). `@0` (always padding in Wapiti) and Wapiti's
//!   undocumented indirect row `%x[*n,column]` are rejected.
//! - Lines of only blanks are skipped; CRF++ rejects them.

use super::columns::Columns;
pub use super::dialect::Dialect;
use super::lexicon::read_text;
use super::macros::{Fault, Opened, Read, read_macro};
use super::text::excerpt;
#[doc(hidden)]
pub use super::{
    extractor::{End, Extractor, Function},
    lexicon::LexiconFile,
};
use crate::error::{Error, Place, Result};
use std::path::Path;

/// A compiled template file. Compiling the same source in the same dialect gives the same numbers everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    /// The distinct ways to turn a row into a value.
    pub extractors: Vec<Extractor>,
    /// Observations paired with the label. Two of them may coincide at a token (`U:%x[-1,0]` and `U:%x[0,0]` on a
    /// repeated word). The observation then counts twice, as in CRF++.
    pub unigram: Vec<Template>,
    /// Observations paired with the previous and the current label, from the second token on.
    pub bigram: Vec<Template>,
    /// Observations of whole segments, paired with their first label.
    pub segment: Vec<Template>,
    /// The extractors of these, which read the text of a segment.
    pub(crate) segment_extractors: Vec<Extractor>,
    /// Whether label pairs have a weight without observations.
    pub label_bigram: bool,
    /// Largest column used, plus one.
    pub columns_needed: usize,
    /// How many rows of different padding macros can read before the first and after the last token.
    pub reach: [usize; 2],
    /// The literal texts of an observation, by skeleton. There is one more text than there are macros.
    pub skeletons: Vec<Vec<String>>,
    /// The dialect of the source.
    pub dialect: Dialect,
    /// The template's name in errors, such as a file name.
    pub name: String,
    /// The text that was compiled.
    pub source: String,
    /// The lists and maps that it names.
    pub files: Vec<LexiconFile>,
}

/// A template: one kind of observation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Template {
    /// Index into [`Templates::skeletons`]. Templates with equal literal texts share it.
    pub skeleton: u32,
    /// The macros that give the values.
    pub macros: Vec<Macro>,
    /// The macro that has several values, each of which makes an observation.
    pub many: Option<usize>,
    /// The macro whose number is the value of the observation; without one, the value is 1.
    pub number: Option<usize>,
    /// 1-based line of the source.
    pub line: u64,
}

/// A macro: one value of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Macro {
    /// Index into [`Templates::extractors`].
    pub extractor: usize,
    /// The row that the extractor is applied to.
    pub row: Row,
}

/// A row of the sequence, as seen from a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Row {
    /// This many rows after the token's own.
    Relative(i32),
    /// This many rows after the first.
    FromStart(u32),
    /// This many rows before the last.
    FromEnd(u32),
}

/// The position of a [`Row`] for one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Cell {
    /// This row of the sequence, counted from 0.
    Inside(usize),
    /// This many rows, at least 1, before the first. The value is [`Dialect::left`].
    Left(usize),
    /// This many rows, at least 1, after the last. The value is [`Dialect::right`].
    Right(usize),
}

impl Row {
    /// How far it can be before the first and after the last row of a sequence that is not empty.
    fn reach(self) -> [usize; 2] {
        match self {
            Row::Relative(offset) if offset < 0 => [offset.unsigned_abs() as usize, 0],
            Row::Relative(offset) => [0, offset.unsigned_abs() as usize],
            Row::FromStart(after) => [0, after as usize],
            Row::FromEnd(before) => [before as usize, 0],
        }
    }

    /// The cell of this row, seen from the token at `position` of a sequence of `length`.
    #[inline]
    pub fn at(self, position: usize, length: usize) -> Cell {
        let row = match self {
            Row::Relative(offset) => position as i64 + i64::from(offset),
            Row::FromStart(after) => i64::from(after),
            Row::FromEnd(before) => length as i64 - 1 - i64::from(before),
        };
        if row < 0 {
            Cell::Left(row.unsigned_abs() as usize)
        } else if row >= length as i64 {
            Cell::Right((row - length as i64) as usize + 1)
        } else {
            Cell::Inside(row as usize)
        }
    }
}

impl Templates {
    /// Compiles a template file. `name` is its name in errors. A template that names files is rejected.
    pub fn compile(source: &str, dialect: Dialect, name: &str) -> Result<Templates> {
        Templates::compile_with(source, dialect, name, &mut |file| {
            let message =
                format!("the template names the file `{file}`: compile it with `Templates::compile_with`");
            Err(Error::Setting(message))
        })
    }

    /// Compiles a template that may name lists and maps. `open` gives the text of a file; it is called once for each.
    pub fn compile_with(
        source: &str,
        dialect: Dialect,
        name: &str,
        open: &mut dyn FnMut(&str) -> Result<String>,
    ) -> Result<Templates> {
        let mut templates = Templates {
            extractors: Vec::new(),
            unigram: Vec::new(),
            bigram: Vec::new(),
            segment: Vec::new(),
            segment_extractors: Vec::new(),
            label_bigram: false,
            columns_needed: 0,
            reach: [0, 0],
            skeletons: Vec::new(),
            dialect,
            name: name.to_owned(),
            source: source.to_owned(),
            files: Vec::new(),
        };
        for (line, text) in (1..).zip(source.trim_start_matches('\u{feff}').lines()) {
            if let Some(pattern) = dialect.without_comment(text) {
                templates.add(pattern, line, open).map_err(|fault| match fault {
                    Fault::Macro(message) => Error::input(Place::new(name, line), message),
                    Fault::File(error) => error,
                })?;
            }
        }
        let lists = [&templates.unigram, &templates.bigram, &templates.segment];
        if lists.iter().all(|list| list.is_empty()) && !templates.label_bigram {
            let message = "it has no template; add a line such as `U00:%x[0,0]`";
            return Err(Error::input(Place::new(name, 0), message));
        }
        Ok(templates)
    }

    /// Compiles a template whose file names are relative to `folder`.
    pub fn compile_in(source: &str, dialect: Dialect, name: &str, folder: &Path) -> Result<Templates> {
        Templates::compile_with(source, dialect, name, &mut |file| read_text(&folder.join(file)))
    }

    /// Compiles one line into the lists that its first character names.
    fn add(&mut self, text: &str, line: u64, open: &mut dyn FnMut(&str) -> Result<String>) -> Read<()> {
        let (unigram, bigram, segment) = match text.as_bytes()[0] {
            b'U' | b'u' => (true, false, false),
            b'B' | b'b' => (false, true, false),
            b'*' => (true, true, false),
            b'S' | b's' => (false, false, true),
            _ => {
                return Err(
                    format!("a template starts with U, B, S or *, not with `{}`", excerpt(text)).into()
                );
            }
        };
        let mut literals = Vec::new();
        let mut macros = Vec::new();
        // The macro that stands for several, and their extractors.
        let mut several: Option<(usize, Vec<usize>)> = None;
        let (mut many, mut number) = (None, None);
        let mut rest = text;
        while let Some((literal, command)) = rest.split_once('%') {
            let place = &rest[literal.len()..];
            let here = |why| format!("`{}`: {why}", excerpt(place));
            let written = read_macro(command, self.dialect, &mut Opened { templates: self, open }).map_err(
                |fault| match fault {
                    Fault::Macro(why) => Fault::Macro(here(why)),
                    other => other,
                },
            )?;
            literals.push(literal.to_owned());
            let about_segments = written.extractors[0].function == Function::Length;
            if segment
                && (!written.extractors[0].suits_segments()
                    || about_segments && written.row != Row::Relative(0))
            {
                return Err(here(
                    "not in a line of segments: write %length[0], or a macro that makes one value of one text".into(),
                )
                .into());
            }
            if !segment && about_segments {
                return Err(here("only a line of segments, which begins with S, has a length".into()).into());
            }
            let grams = matches!(written.extractors[0].function, Function::Ngrams(_));
            let numbers = matches!(written.extractors[0].function, Function::Number(_));
            if grams || numbers || written.extractors.len() > 1 {
                if several.is_some() || many.is_some() || number.is_some() {
                    return Err(
                        here("a second macro with several values; give it a line of its own".into()).into()
                    );
                }
                many = grams.then_some(macros.len());
                number = numbers.then_some(macros.len());
            }
            let mut indices = Vec::new();
            for extractor in written.extractors {
                self.columns_needed =
                    self.columns_needed.max(extractor.reads().map_or(0, |column| column + 1));
                let list = if segment { &mut self.segment_extractors } else { &mut self.extractors };
                indices.push(index_of(list, extractor));
            }
            macros.push(Macro { extractor: indices[0], row: written.row });
            let [before, after] = if segment { [0, 0] } else { written.row.reach() };
            self.reach[0] = self.reach[0].max(before.min(self.dialect.left_padding().len()));
            self.reach[1] = self.reach[1].max(after.min(self.dialect.right_padding().len()));
            if indices.len() > 1 {
                several = Some((macros.len() - 1, indices));
            }
            rest = written.rest;
        }
        let plain_pair = bigram && macros.is_empty();
        self.label_bigram |= plain_pair;
        if plain_pair && !unigram {
            return Ok(());
        }
        literals.push(rest.to_owned());
        if self.dialect == Dialect::Wapiti {
            literals[0][..1].make_ascii_lowercase();
        }
        let skeleton = index_of(&mut self.skeletons, literals) as u32;
        let (at, extractors) =
            several.unwrap_or((0, Vec::from_iter(macros.first().map(|first| first.extractor))));
        for copy in 0..extractors.len().max(1) {
            if let Some(part) = macros.get_mut(at) {
                part.extractor = extractors[copy];
            }
            let template = Template { skeleton, macros: macros.clone(), many, number, line };
            if bigram && !plain_pair {
                self.bigram.push(template.clone());
            }
            match segment {
                true => self.segment.push(template),
                false if unigram => self.unigram.push(template),
                false => {}
            }
        }
        Ok(())
    }

    /// Rejects data with too few columns. `available` counts the columns that are not labels.
    pub fn check_columns(&self, available: usize) -> Result<()> {
        let largest = |template: &Template, extractors: &[Extractor]| {
            template.macros.iter().filter_map(|part| extractors[part.extractor].reads()).max()
        };
        let tokens =
            self.unigram.iter().chain(&self.bigram).map(|one| (one.line, largest(one, &self.extractors)));
        let segments = self.segment.iter().map(|one| (one.line, largest(one, &self.segment_extractors)));
        let too_large = tokens.chain(segments).filter(|(_, column)| *column >= Some(available));
        let Some((line, Some(largest))) = too_large.min_by_key(|(line, _)| *line) else { return Ok(()) };
        let message = format!(
            "column {largest} is used (columns count from 0), but the data has {available} besides the label; use \
             smaller numbers, another template, or data with the column"
        );
        Err(Error::input(Place::new(&self.name, line), message))
    }

    /// The extractors of all lines.
    pub(super) fn all_extractors(&self) -> impl Iterator<Item = &Extractor> {
        self.extractors.iter().chain(&self.segment_extractors)
    }

    /// Rejects lines of segments, for models without segments.
    pub(crate) fn refuse_segments(&self) -> Result<()> {
        let Some(line) = self.segment.first() else { return Ok(()) };
        let message = "a line of segments, but this model has none: train a plain chain with segments, or leave the line out";
        Err(Error::input(Place::new(&self.name, line.line), message))
    }

    /// Whether observations have numbers as values.
    pub(crate) fn has_numbers(&self) -> bool {
        self.unigram.iter().chain(&self.bigram).any(|template| template.number.is_some())
    }

    /// Rejects a sequence with a field that should be a number and is not.
    pub(crate) fn check_dense_columns(&self, sequence: &Columns) -> Result<()> {
        for extractor in self.extractors.iter().filter(|one| matches!(one.function, Function::Number(_))) {
            for row in 0..sequence.len() {
                let field = sequence.field(row, extractor.column);
                if read_finite(field).is_none() {
                    let message = format!(
                        "`{}` in column {} is not a number, but the template reads it as one (%number): write a number there, or 0 if there is none",
                        excerpt(field),
                        extractor.column
                    );
                    return Err(Error::input(sequence.place(row), message));
                }
            }
        }
        Ok(())
    }

    /// The full name of an observation, for example `U02:ate/VBD`.
    ///
    /// # Panics
    /// If there is no such skeleton, or the number of values is not its number of macros.
    pub fn expand(&self, skeleton: u32, values: &[&str]) -> String {
        let literals = &self.skeletons[skeleton as usize];
        assert_eq!(literals.len(), values.len() + 1, "an observation has one value for every macro");
        let mut name = literals[0].clone();
        for (value, literal) in values.iter().zip(&literals[1..]) {
            name += value;
            name += literal;
        }
        name
    }
}

/// Index of `item` in `list`. A missing item is added. Templates are short, so a linear search is fast enough.
fn index_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|other| *other == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// The number that a field holds.
pub(crate) fn read_finite(field: &str) -> Option<f64> {
    field.parse::<f64>().ok().filter(|number| number.is_finite())
}
