//! What the macros of templates make of tokens.

use super::lexicon::{WordList, WordMap};
use super::pattern::Pattern;
use super::spelling;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

/// A way to turn a row into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extractor {
    /// The column that it reads, if its function [reads](Extractor::reads) one.
    pub column: usize,
    /// The function that it applies to the column's value.
    pub function: Function,
    /// Whether the result is lower-cased.
    pub(crate) lower_case: bool,
}

/// The function of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// `%x`: the value of the column itself.
    Raw,
    /// `%t`: `true` if the pattern is found in the value, else `false`.
    Test(Pattern),
    /// `%m`: the first match of the pattern, or its group; empty if there is none.
    Match(Pattern),
    /// `%prefix`: this many characters at the start; no value if there are fewer.
    Prefix(usize),
    /// `%suffix`: this many characters at the end; no value if there are fewer.
    Suffix(usize),
    /// `%ngrams`: all strings of this many successive characters, each once. The only function with several values.
    Ngrams(usize),
    /// `%shape`: capitals, small letters, digits and marks, with runs of at most this length.
    Shape(usize),
    /// `%strip`: the word without the marks at its ends.
    Strip,
    /// `%head`: the marks at the start; no value if there are none.
    Head,
    /// `%tail`: the marks at the end; no value if there are none.
    Tail,
    /// `%list`: `B` at the first and `I` at the other tokens of an entry; no value elsewhere.
    List(Arc<WordList>),
    /// `%map`: the value that a file has for the word, or this many characters of it; no value if it has none, or fewer.
    Map(Arc<WordMap>, Option<usize>),
    /// `%index`: the distance from an end of the sequence.
    Index(End),
    /// `%part`: the part that the token is in, of this many equal parts of the sequence.
    Part(u32),
    /// `%edge`: `first`, `last`, `only` or `inner`.
    Edge,
    /// `%seen`: `true` if an earlier token of the sequence has the same text in the column, else `false`.
    Seen,
    /// `%length`: the number of tokens of a segment. Only lines of segments have it.
    Length,
    /// `%number`: the number in the column is the value of the feature. The text is the column's number, for the feature's name.
    Number(String),
}

/// An end of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first token.
    First,
    /// The last token.
    Last,
}

impl Extractor {
    /// The column that it reads. Positions read none.
    pub fn reads(&self) -> Option<usize> {
        let reads = !matches!(
            self.function,
            Function::Index(_) | Function::Part(_) | Function::Edge | Function::Length
        );
        reads.then_some(self.column)
    }

    /// Whether lines of segments may use it: its value depends on the text of a segment or of a token, or is its length.
    pub(super) fn suits_segments(&self) -> bool {
        matches!(self.function, Function::List(_)) || !self.is_wider()
    }

    /// Whether it depends on more than one field, has several values, or has a number as its value.
    pub(crate) fn is_wider(&self) -> bool {
        use Function::{Edge, Index, List, Ngrams, Number, Part, Seen};
        matches!(self.function, List(_) | Index(_) | Part(_) | Edge | Seen | Ngrams(_) | Number(_))
    }

    /// The value for `field`, the text in the extractor's column. `scratch` is written only if a value is not a part of the field. Functions
    /// that depend on more than the field, and those of several values, have no value here.
    #[inline]
    pub fn value<'a>(&'a self, field: &'a str, scratch: &'a mut String) -> Option<&'a str> {
        let value = match &self.function {
            Function::Raw => field,
            Function::Test(pattern) => {
                return Some(if pattern.find(field).is_some() { "true" } else { "false" });
            }
            Function::Match(pattern) => {
                pattern.find_group(field).map_or("", |(start, end)| &field[start..end])
            }
            other => return self.rarer(other, field, scratch),
        };
        Some(self.cased(value, scratch))
    }

    /// The values of the functions that CRF++ and Wapiti do not have.
    fn rarer<'a>(
        &'a self,
        function: &'a Function,
        field: &'a str,
        scratch: &'a mut String,
    ) -> Option<&'a str> {
        let value = match function {
            Function::Prefix(length) => spelling::prefix(field, *length)?,
            Function::Suffix(length) => spelling::suffix(field, *length)?,
            Function::Strip => spelling::strip(field),
            Function::Head => spelling::head(field)?,
            Function::Tail => spelling::tail(field)?,
            Function::Shape(run) => {
                spelling::shape(field, *run, scratch);
                return Some(scratch);
            }
            Function::Map(map, length) => {
                let value = map.value(field, scratch)?;
                return match length {
                    Some(length) => spelling::prefix(value, *length),
                    None => Some(value),
                };
            }
            _ => return None,
        };
        Some(self.cased(value, scratch))
    }

    /// The value for a row outside the sequence, which has the padding string `padding`.
    pub fn padding<'a>(&'a self, padding: &'a str, scratch: &'a mut String) -> Option<&'a str> {
        match &self.function {
            Function::Raw | Function::Test(_) | Function::Match(_) => self.value(padding, scratch),
            Function::Shape(_) | Function::Strip => Some(padding),
            Function::Index(_) | Function::Part(_) | Function::Edge => Some(padding),
            _ => None,
        }
    }

    /// The value of a position, for the token at `row` of `len`.
    pub(crate) fn position<'a>(&self, row: usize, len: usize, scratch: &'a mut String) -> Option<&'a str> {
        match &self.function {
            Function::Index(End::First) => Some(bucket(row)),
            Function::Index(End::Last) => Some(bucket(len - 1 - row)),
            Function::Part(parts) => {
                let part = row as u64 * u64::from(*parts) / len as u64 + 1;
                scratch.clear();
                write!(scratch, "{part}/{parts}").expect("writing to a string succeeds");
                Some(scratch)
            }
            Function::Edge => Some(match (row == 0, row + 1 == len) {
                (true, true) => "only",
                (true, false) => "first",
                (false, true) => "last",
                (false, false) => "inner",
            }),
            _ => None,
        }
    }

    /// Calls `visit` with the row of every token and whether an earlier one has the same text.
    pub(crate) fn for_each_seen<'a>(
        &self,
        fields: impl Iterator<Item = &'a str>,
        scratch: &mut String,
        mut visit: impl FnMut(usize, &'static str),
    ) {
        let mut seen = HashSet::new();
        for (row, field) in fields.enumerate() {
            let new = match self.lower_case {
                true => seen.insert(Cow::Owned(self.cased(field, scratch).to_owned())),
                false => seen.insert(Cow::Borrowed(field)),
            };
            visit(row, if new { "false" } else { "true" });
        }
    }

    /// The n-grams of a field, each once.
    pub(crate) fn for_each_gram(&self, field: &str, scratch: &mut String, visit: impl FnMut(&str)) {
        if let Function::Ngrams(length) = self.function {
            spelling::ngrams(self.cased(field, scratch), length, visit);
        }
    }

    /// The text, in lower case if the extractor asks for that.
    #[inline]
    fn cased<'a>(&self, text: &'a str, scratch: &'a mut String) -> &'a str {
        if !self.lower_case || text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
            return text;
        }
        scratch.clear();
        push_lower(text, scratch);
        scratch
    }
}

/// Appends a text in lower case.
pub(crate) fn push_lower(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        out[start..].make_ascii_lowercase();
    } else {
        out.extend(text.chars().flat_map(char::to_lowercase));
    }
}

/// A distance, exact if it is small.
fn bucket(distance: usize) -> &'static str {
    match distance {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        4 => "4",
        5..=6 => "5-6",
        7..=9 => "7-9",
        10..=14 => "10-14",
        15..=19 => "15-19",
        20..=29 => "20-29",
        30..=49 => "30-49",
        50..=99 => "50-99",
        _ => "100+",
    }
}
