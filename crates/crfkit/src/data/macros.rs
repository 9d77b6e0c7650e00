//! The macros of a template line, as they are written: `%x[row,column]` and the like.

use super::dialect::Dialect;
use super::extractor::{End, Extractor, Function};
use super::lexicon::{Case, LexiconFile, WordList, WordMap};
use super::pattern::{Grammar, Pattern};
use super::template::{Row, Templates};
use crate::error::{Error, Result};
use std::sync::Arc;

/// The longest affix or n-gram.
const MAX_LENGTH: u32 = 100;
/// The largest number of columns of numbers that one macro reads.
const MAX_COLUMNS: i32 = 1 << 16;
/// The largest number of parts of a sequence.
const MAX_PARTS: u32 = 1000;

/// Why a line cannot be compiled.
pub(super) enum Fault {
    /// Something is wrong with the macro itself.
    Macro(String),
    /// Something is wrong with a file that it names.
    File(Error),
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Fault::Macro(why)
    }
}

impl From<&str> for Fault {
    fn from(why: &str) -> Self {
        Fault::Macro(why.to_owned())
    }
}

pub(super) type Read<T> = std::result::Result<T, Fault>;

/// A macro: several extractors if it stands for several lengths.
pub(super) struct Written<'a> {
    pub(super) extractors: Vec<Extractor>,
    pub(super) row: Row,
    /// The text after the macro.
    pub(super) rest: &'a str,
}

const SHAPES: &str = "write %x[row,column], %t[row,column,\"pattern\"], %m[row,column,\"pattern\"], %prefix[row,column,length], \
                      %suffix[row,column,length], %ngrams[row,column,length], %shape[row,column], %strip[row,column], \
                      %head[row,column], %tail[row,column], %list[row,column,\"file\"], %map[row,column,\"file\"], %index[row], \
                      %part[row,parts], %edge[row], %seen[row,column], %number[row,column] or %number[row,first-last], and in lines \
                      of segments %length[0]";

fn malformed(what: &str) -> Fault {
    Fault::Macro(format!("{what}; {SHAPES}"))
}

/// Reads a macro after its `%`.
pub(super) fn read_macro<'a>(text: &'a str, dialect: Dialect, lexicons: &mut Opened) -> Read<Written<'a>> {
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (name, rest) = text.split_at(length);
    // A capital stands for lower case, of the value or in the look-up.
    let lower_case = name.starts_with(|c: char| c.is_ascii_uppercase());
    let plain = match lower_case {
        true => name[..1].to_ascii_lowercase() + &name[1..],
        false => name.to_owned(),
    };
    const NAMES: [&str; 18] = [
        "x", "t", "m", "prefix", "suffix", "ngrams", "shape", "strip", "head", "tail", "list", "map",
        "index", "part", "edge", "seen", "length", "number",
    ];
    let positional = ["index", "part", "edge", "length"].contains(&&*plain);
    if !NAMES.contains(&&*plain) {
        return Err(malformed("`%` starts a macro and cannot be literal text"));
    }
    if lower_case && (positional || ["shape", "head", "tail", "number"].contains(&&*plain)) {
        return Err(malformed("a capital letter asks for lower case, which this macro does not support"));
    }
    let rest = rest.strip_prefix('[').ok_or_else(|| malformed("`[` is missing"))?;
    let (row, rest) = read_row(rest, dialect).ok_or_else(|| malformed("the row is not a number"))?;
    let row = row?;
    let (column, rest) = match positional {
        true => (0, rest),
        false => {
            let rest = rest.strip_prefix(',').ok_or_else(|| malformed("`,` is missing after the row"))?;
            let column = read_number(rest, dialect).filter(|(column, _)| *column >= 0);
            column.ok_or_else(|| malformed("the column is not a whole number from 0"))?
        }
    };
    if plain == "number" {
        return numbers(rest, dialect, row, column);
    }
    let case = if lower_case { Case::Folded } else { Case::Exact };
    let (functions, rest) = match &*plain {
        "x" => (vec![Function::Raw], rest),
        "t" | "m" => {
            let (pattern, rest) = read_quoted(rest, dialect, "pattern")?;
            let grammar = if dialect == Dialect::Wapiti { Grammar::Wapiti } else { Grammar::Full };
            let pattern = Pattern::compile(pattern, grammar).map_err(|error| error.to_string())?;
            (vec![if plain == "t" { Function::Test(pattern) } else { Function::Match(pattern) }], rest)
        }
        "prefix" => lengths(rest, Function::Prefix)?,
        "suffix" => lengths(rest, Function::Suffix)?,
        "ngrams" => lengths(rest, Function::Ngrams)?,
        "shape" if rest.starts_with(',') => lengths(rest, Function::Shape)?,
        "shape" => (vec![Function::Shape(1)], rest),
        "strip" => (vec![Function::Strip], rest),
        "head" => (vec![Function::Head], rest),
        "tail" => (vec![Function::Tail], rest),
        "list" => {
            let (name, rest) = read_quoted(rest, dialect, "file name")?;
            (vec![Function::List(lexicons.list(name, case)?)], rest)
        }
        "map" => {
            let (name, rest) = read_quoted(rest, dialect, "file name")?;
            let map = lexicons.map(name, case)?;
            match rest.starts_with(',') {
                true => lengths(rest, |length| Function::Map(map.clone(), Some(length)))?,
                false => (vec![Function::Map(map, None)], rest),
            }
        }
        "index" => match rest.strip_prefix(",last") {
            Some(rest) => (vec![Function::Index(End::Last)], rest),
            None => (vec![Function::Index(End::First)], rest),
        },
        "part" => {
            let (parts, rest) = read_count(rest, MAX_PARTS)
                .ok_or_else(|| malformed("the number of parts is not from 1 to 1000"))?;
            (vec![Function::Part(parts)], rest)
        }
        "seen" => (vec![Function::Seen], rest),
        "length" => (vec![Function::Length], rest),
        _ => (vec![Function::Edge], rest),
    };
    let rest = rest.strip_prefix(']').ok_or_else(|| malformed("`]` is missing"))?;
    // The result of a test is in lower case already, so `%T` is `%t`; lists and maps look up in lower case.
    let lower_case = lower_case && !["t", "list", "map"].contains(&&*plain);
    let extractor = |function| Extractor { column: column as usize, function, lower_case };
    Ok(Written { extractors: functions.into_iter().map(extractor).collect(), row, rest })
}

/// The rest of `%number`, after its first column.
fn numbers(text: &str, dialect: Dialect, row: Row, first: i32) -> Read<Written<'_>> {
    let (last, rest) = match text.strip_prefix('-') {
        Some(rest) => read_number(rest, dialect)
            .filter(|(last, _)| (first..first.saturating_add(MAX_COLUMNS)).contains(last))
            .ok_or_else(|| {
                malformed(
                    "the last column must be a number no smaller than the first, with at most 65536 columns",
                )
            })?,
        None => (first, text),
    };
    let rest = rest.strip_prefix(']').ok_or_else(|| malformed("`]` is missing"))?;
    let extractor = |column: i32| {
        let function = Function::Number(column.to_string());
        Extractor { column: column as usize, function, lower_case: false }
    };
    Ok(Written { extractors: (first..=last).map(extractor).collect(), row, rest })
}

/// The functions for `,length` or `,first-last`, and the text after it.
fn lengths(text: &str, function: impl Fn(usize) -> Function) -> Read<(Vec<Function>, &str)> {
    let bad = || malformed("a length is a number from 1 to 100, or two such as 1-4");
    let (first, rest) = read_count(text, MAX_LENGTH).ok_or_else(bad)?;
    let (last, rest) = match rest.strip_prefix('-') {
        Some(rest) => {
            read_digits(rest).filter(|(last, _)| (first..=MAX_LENGTH).contains(last)).ok_or_else(bad)?
        }
        None => (first, rest),
    };
    Ok(((first..=last).map(|length| function(length as usize)).collect(), rest))
}

/// The number after a `,`, from 1 to `largest`, and the text after it.
fn read_count(text: &str, largest: u32) -> Option<(u32, &str)> {
    read_digits(text.strip_prefix(',')?).filter(|(count, _)| (1..=largest).contains(count))
}

fn read_digits(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    Some((digits.parse().ok()?, rest))
}

/// The text in quotes after a `,`, and the text after it.
fn read_quoted<'a>(text: &'a str, dialect: Dialect, what: &str) -> Read<(&'a str, &'a str)> {
    let quoted =
        text.strip_prefix(",\"").ok_or_else(|| malformed(&format!("the quoted {what} is missing")))?;
    let end = closing_quote(quoted).ok_or_else(|| match dialect {
        Dialect::Crfpp => format!("the {what} has no closing `\"`"),
        Dialect::Wapiti => format!("the {what} has no closing `\"` (in this dialect a `#` cuts it off)"),
    })?;
    Ok((&quoted[..end], &quoted[end + 1..]))
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
        (None, _) => Err(
            "the row is outside -8 to 8; use a row in this range, or the dialect wapiti, which has no limit",
        ),
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

/// The lists and maps of the template that is being compiled.
pub(super) struct Opened<'a> {
    pub(super) templates: &'a mut Templates,
    pub(super) open: &'a mut dyn FnMut(&str) -> Result<String>,
}

impl Opened<'_> {
    fn file(&mut self, name: &str) -> Read<&LexiconFile> {
        let files = &mut self.templates.files;
        let known = files.iter().position(|file| file.name == name);
        let at = match known {
            Some(at) => at,
            None => {
                let text = (self.open)(name).map_err(|error| match error {
                    Error::Io { .. } => Fault::Macro(format!(
                        "{error}; file names are relative to the folder of the template"
                    )),
                    other => Fault::File(other),
                })?;
                files.push(LexiconFile { name: name.to_owned(), text });
                files.len() - 1
            }
        };
        Ok(&files[at])
    }
}

impl Opened<'_> {
    fn list(&mut self, name: &str, case: Case) -> Read<Arc<WordList>> {
        let known = self.templates.all_extractors().find_map(|extractor| match &extractor.function {
            Function::List(list) if list.is(name, case) => Some(list.clone()),
            _ => None,
        });
        match known {
            Some(list) => Ok(list),
            None => Ok(Arc::new(WordList::new(self.file(name)?, case).map_err(Fault::File)?)),
        }
    }

    fn map(&mut self, name: &str, case: Case) -> Read<Arc<WordMap>> {
        let known = self.templates.all_extractors().find_map(|extractor| match &extractor.function {
            Function::Map(map, _) if map.is(name, case) => Some(map.clone()),
            _ => None,
        });
        match known {
            Some(map) => Ok(map),
            None => Ok(Arc::new(WordMap::new(self.file(name)?, case).map_err(Fault::File)?)),
        }
    }
}
