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
//! pair (from the second token on), `*` both. `%x[row,column]` is the value of a column, with rows counted from the
//! token; the rest of the line is literal text. Rows outside the sequence have padding strings as values; functions
//! (`%t`, `%m`, lower-casing) apply to them as to any other value. A `U` line without macros is a bias: it fires at
//! every token. A `B` line without macros is the plain label bigram.
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

pub use super::dialect::Dialect;
use super::pattern::Pattern;
use crate::error::{Error, Place, Result};

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
    /// Whether label pairs have a weight without observations.
    pub label_bigram: bool,
    /// Largest column used, plus one.
    pub columns_needed: usize,
    /// The literal texts of an observation, by skeleton. There is one more text than there are macros.
    pub skeletons: Vec<Vec<String>>,
    /// The dialect of the source.
    pub dialect: Dialect,
    /// The template's name in errors, such as a file name.
    pub name: String,
    /// The text that was compiled.
    pub source: String,
}

/// A template: one kind of observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Index into [`Templates::skeletons`]. Templates with equal literal texts share it.
    pub skeleton: u32,
    /// The macros that give the values.
    pub macros: Vec<Macro>,
    /// 1-based line of the source.
    pub line: u64,
}

/// A macro: one value of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macro {
    /// Index into [`Templates::extractors`].
    pub extractor: usize,
    /// The row that the extractor is applied to.
    pub row: Row,
}

/// A row of the sequence, as seen from a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
pub enum Cell {
    /// This row of the sequence, counted from 0.
    Inside(usize),
    /// This many rows, at least 1, before the first. The value is [`Dialect::left`].
    Left(usize),
    /// This many rows, at least 1, after the last. The value is [`Dialect::right`].
    Right(usize),
}

impl Row {
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

/// A way to turn a row into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extractor {
    /// The column that it reads.
    pub column: usize,
    /// The function that it applies to the column's value.
    pub function: Function,
    /// Whether the result is lower-cased.
    pub lower_case: bool,
}

/// The function of a macro, applied to a column's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// `%x`: the value itself.
    Raw,
    /// `%t`: `true` if the pattern is found in the value, else `false`.
    Test(Pattern),
    /// `%m`: the first match of the pattern; empty if there is none.
    Match(Pattern),
}

impl Extractor {
    /// The value for `field`, which is a padding string or the text in the extractor's column. `scratch` is written
    /// only if lower-casing changes something.
    pub fn value<'a>(&'a self, field: &'a str, scratch: &'a mut String) -> &'a str {
        let value = match &self.function {
            Function::Raw => field,
            Function::Test(pattern) => return if pattern.find(field).is_some() { "true" } else { "false" },
            Function::Match(pattern) => pattern.find(field).map_or("", |(start, end)| &field[start..end]),
        };
        if !self.lower_case || value.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
            return value;
        }
        scratch.clear();
        if value.is_ascii() {
            scratch.push_str(value);
            scratch.make_ascii_lowercase();
        } else {
            scratch.extend(value.chars().flat_map(char::to_lowercase));
        }
        scratch
    }
}

impl Templates {
    /// Compiles a template file. `name` is its name in errors.
    pub fn compile(source: &str, dialect: Dialect, name: &str) -> Result<Templates> {
        let mut templates = Templates {
            extractors: Vec::new(),
            unigram: Vec::new(),
            bigram: Vec::new(),
            label_bigram: false,
            columns_needed: 0,
            skeletons: Vec::new(),
            dialect,
            name: name.to_owned(),
            source: source.to_owned(),
        };
        for (line, text) in (1..).zip(source.trim_start_matches('\u{feff}').lines()) {
            if let Some(pattern) = dialect.without_comment(text) {
                templates
                    .add(pattern, line)
                    .map_err(|message| Error::input(Place::new(name, line), message))?;
            }
        }
        if templates.unigram.is_empty() && templates.bigram.is_empty() && !templates.label_bigram {
            let message = "no template in it; a line such as `U00:%x[0,0]` is needed";
            return Err(Error::input(Place::new(name, 0), message));
        }
        Ok(templates)
    }

    /// Compiles one line into the lists that its first character names.
    fn add(&mut self, text: &str, line: u64) -> std::result::Result<(), String> {
        let (unigram, bigram) = match text.as_bytes()[0] {
            b'U' | b'u' => (true, false),
            b'B' | b'b' => (false, true),
            b'*' => (true, true),
            _ => return Err(format!("a template starts with U, B or *, not with `{}`", excerpt(text))),
        };
        let mut literals = Vec::new();
        let mut macros = Vec::new();
        let mut rest = text;
        while let Some((literal, command)) = rest.split_once('%') {
            let (extractor, row, after) = read_macro(command, self.dialect)
                .map_err(|why| format!("`{}`: {why}", excerpt(&rest[literal.len()..])))?;
            literals.push(literal.to_owned());
            self.columns_needed = self.columns_needed.max(extractor.column + 1);
            macros.push(Macro { extractor: index_of(&mut self.extractors, extractor), row });
            rest = after;
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
        let template = Template { skeleton, macros, line };
        if bigram && !plain_pair {
            self.bigram.push(template.clone());
        }
        if unigram {
            self.unigram.push(template);
        }
        Ok(())
    }

    /// Rejects data with too few columns. `available` counts the columns that are not labels.
    pub fn check_columns(&self, available: usize) -> Result<()> {
        let column = |part: &Macro| self.extractors[part.extractor].column;
        let too_large = |template: &&Template| template.macros.iter().any(|part| column(part) >= available);
        let templates = self.unigram.iter().chain(&self.bigram);
        let Some(first) = templates.filter(too_large).min_by_key(|template| template.line) else {
            return Ok(());
        };
        let largest = first.macros.iter().map(column).max().unwrap_or(0);
        let message = format!(
            "column {largest} is used (columns count from 0), but the data has {available} besides the label; use \
             smaller numbers, another template, or data with the column"
        );
        Err(Error::input(Place::new(&self.name, first.line), message))
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

/// The start of a text, for messages.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Reads a macro after its `%`. Returns its extractor, its row and the text after it.
fn read_macro(text: &str, dialect: Dialect) -> std::result::Result<(Extractor, Row, &str), String> {
    const SHAPES: &str = "write %x[row,column], %t[row,column,\"pattern\"] or %m[row,column,\"pattern\"]";
    let malformed = |what: &str| format!("{what}; {SHAPES}");

    let command = text.chars().next().filter(|c| "xXtTmM".contains(*c));
    let command = command.ok_or_else(|| malformed("`%` starts a macro and cannot be literal text"))?;
    let rest = text[1..].strip_prefix('[').ok_or_else(|| malformed("`[` is missing"))?;
    let (row, rest) = read_row(rest, dialect).ok_or_else(|| malformed("the row is not a number"))?;
    let row = row.map_err(str::to_owned)?;
    let rest = rest.strip_prefix(',').ok_or_else(|| malformed("`,` is missing after the row"))?;
    let column = read_number(rest, dialect).filter(|(column, _)| *column >= 0);
    let (column, rest) = column.ok_or_else(|| malformed("the column is not a number of at least 0"))?;

    let (function, rest) = if command.eq_ignore_ascii_case(&'x') {
        (Function::Raw, rest)
    } else {
        let quoted = rest.strip_prefix(",\"").ok_or_else(|| malformed("the quoted pattern is missing"))?;
        let end = closing_quote(quoted).ok_or_else(|| match dialect {
            Dialect::Crfpp => "the pattern has no closing `\"`".to_owned(),
            Dialect::Wapiti => {
                "the pattern has no closing `\"` (in this dialect a `#` cuts it off)".to_owned()
            }
        })?;
        let pattern = quoted[..end].parse().map_err(|error: Error| error.to_string())?;
        let function = if command.eq_ignore_ascii_case(&'t') { Function::Test } else { Function::Match };
        (function(pattern), &quoted[end + 1..])
    };
    let rest = rest.strip_prefix(']').ok_or_else(|| malformed("`]` is missing"))?;
    // The result of a test is in lower case already, so `%T` is `%t`.
    let lower_case = command.is_ascii_uppercase() && command != 'T';
    Ok((Extractor { column: column as usize, function, lower_case }, row, rest))
}

/// The row at the start of `text`, or why it cannot be used; and the text after it.
fn read_row(text: &str, dialect: Dialect) -> Option<(std::result::Result<Row, &'static str>, &str)> {
    let absolute = text.strip_prefix('@');
    let (number, rest) = read_number(absolute.unwrap_or(text), dialect)?;
    let row = match (absolute, number) {
        (Some(_), 0) => Err("there is no row @0; @1 is the first and @-1 the last"),
        (Some(_), 1..) => Ok(Row::FromStart(number as u32 - 1)),
        (Some(_), _) => Ok(Row::FromEnd(number.unsigned_abs() - 1)),
        (None, -8..=8) => Ok(Row::Relative(number)),
        (None, _) if dialect == Dialect::Wapiti => Ok(Row::Relative(number)),
        (None, _) => {
            Err("the row is outside -8 to 8; use one inside, or the dialect wapiti, which has no limit")
        }
    };
    Some((row, rest))
}

/// The number at the start of `text`, and the text after it. Wapiti reads it with `scanf`, so blanks and `+` may come
/// before it.
fn read_number(text: &str, dialect: Dialect) -> Option<(i32, &str)> {
    let (text, signs) = match dialect {
        Dialect::Crfpp => (text, "-"),
        Dialect::Wapiti => (text.trim_ascii_start(), "+-"),
    };
    let sign = text.chars().next().filter(|c| signs.contains(*c)).map_or(0, char::len_utf8);
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(sign + digits);
    Some((number.parse().ok()?, rest))
}

/// Position of the first `"` that is not escaped by a `\`.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}
