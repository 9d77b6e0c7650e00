//! Rules that say which two tokens of a sequence are linked: a small language of tests on columns.
//!
//! ```text
//! rule = term { "or" term }
//! term = part { "and" part }
//! part = "not" part | "(" rule ")" | test
//! test = same(COLUMN)                    both tokens have the same text there
//!      | capitalised(COLUMN)             both begin with an upper-case letter
//!      | equals(COLUMN, "TEXT")          both have just this text
//!      | matches(COLUMN, "PATTERN")      the pattern (`pattern`) is found in both
//! ```
//!
//! Columns count from 0. Inside quotes, write a `\` before a `"` or `\` that would otherwise end the text; pattern
//! escapes such as `\u` stay as they are. `same(0) and capitalised(0)` links the occurrences of a name, as in the skip
//! chains of Sutton and McCallum.

use super::columns::Columns;
use super::pattern::Pattern;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The largest number of later tokens that a token is linked to, nearest first. Without it, a word that fills a page
/// would make a pair of every two of its occurrences.
pub const MAX_LINKS: usize = 16;
/// The largest distance between linked tokens. It keeps the time linear in the length of a sequence.
pub const MAX_DISTANCE: usize = 1000;
/// The largest nesting depth of brackets and `not`s.
const MAX_DEPTH: usize = 64;

/// A compiled rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LinkRule {
    text: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Same(usize),
    Capitalised(usize),
    Equals(usize, String),
    Matches(usize, Pattern),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
}

impl Test {
    fn links(&self, sequence: &Columns, s: usize, t: usize) -> bool {
        let both = |column: usize, holds: &dyn Fn(&str) -> bool| {
            holds(sequence.field(s, column)) && holds(sequence.field(t, column))
        };
        match self {
            Test::Same(column) => sequence.field(s, *column) == sequence.field(t, *column),
            Test::Capitalised(column) => {
                both(*column, &|field| field.chars().next().is_some_and(char::is_uppercase))
            }
            Test::Equals(column, text) => both(*column, &|field| field == text),
            Test::Matches(column, pattern) => both(*column, &|field| pattern.find(field).is_some()),
            Test::Not(test) => !test.links(sequence, s, t),
            Test::And(tests) => tests.iter().all(|test| test.links(sequence, s, t)),
            Test::Or(tests) => tests.iter().any(|test| test.links(sequence, s, t)),
        }
    }

    /// Calls `visit` with every column that the rule reads.
    fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        match self {
            Test::Same(column) | Test::Capitalised(column) => visit(*column),
            Test::Equals(column, _) | Test::Matches(column, _) => visit(*column),
            Test::Not(test) => test.for_each_column(visit),
            Test::And(tests) | Test::Or(tests) => tests.iter().for_each(|test| test.for_each_column(visit)),
        }
    }
}

impl LinkRule {
    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The columns that the rule reads, in order.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.test.for_each_column(&mut |column| columns.push(column));
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The pairs of tokens (s, t), s + 1 < t, that the rule links, within [`MAX_LINKS`] and [`MAX_DISTANCE`].
    /// Neighbours are left out, because a chain links them already. The sequence must have the rule's columns.
    pub fn pairs(&self, sequence: &Columns) -> Vec<(usize, usize)> {
        let len = sequence.len();
        let mut pairs = Vec::new();
        for s in 0..len {
            let end = len.min(s + MAX_DISTANCE + 1);
            let linked = (s + 2..end).filter(|&t| self.test.links(sequence, s, t));
            pairs.extend(linked.take(MAX_LINKS).map(|t| (s, t)));
        }
        pairs
    }
}

impl From<LinkRule> for String {
    fn from(rule: LinkRule) -> String {
        rule.text
    }
}

impl TryFrom<String> for LinkRule {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl FromStr for LinkRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let parsed = parser.rule().and_then(|test| match parser.rest() {
            "" => Ok(test),
            rest if rest.starts_with(')') => Err("a `)` without its `(`".into()),
            _ => Err("`and` or `or` is missing".into()),
        });
        let place = |at: usize| match &text[at..] {
            "" => "at its end".to_owned(),
            rest => format!("at `{}`", super::text::excerpt(rest)),
        };
        match parsed {
            Ok(test) => Ok(LinkRule { text: text.to_owned(), test }),
            Err(why) => Err(Error::Setting(format!("the rule `{text}`, {}: {why}", place(parser.at)))),
        }
    }
}

/// Parses a rule from left to right. `at` is the position of the next error.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Parsed<T> = std::result::Result<T, String>;

impl<'a> Parser<'a> {
    /// The rest of the text, after any blanks.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// Consumes a sign if it is next.
    fn take(&mut self, sign: char) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len_utf8() } else { 0 };
        found
    }

    fn need(&mut self, sign: char, why: &str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { Err(format!("`{sign}` is missing {why}")) }
    }

    /// The next word.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())]
    }

    /// Consumes a word if it is next.
    fn take_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn rule(&mut self) -> Parsed<Test> {
        let mut terms = vec![self.term()?];
        while self.take_word("or") {
            terms.push(self.term()?);
        }
        Ok(if terms.len() == 1 { terms.remove(0) } else { Test::Or(terms) })
    }

    fn term(&mut self) -> Parsed<Test> {
        let mut parts = vec![self.part()?];
        while self.take_word("and") {
            parts.push(self.part()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Test::And(parts) })
    }

    fn part(&mut self) -> Parsed<Test> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} nested brackets"));
        }
        let part = if self.take_word("not") {
            Test::Not(Box::new(self.part()?))
        } else if self.take('(') {
            let inner = self.rule()?;
            self.need(')', "after the expression in brackets")?;
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(part)
    }

    fn test(&mut self) -> Parsed<Test> {
        const TESTS: &str = "write same(COLUMN), capitalised(COLUMN), equals(COLUMN, \"TEXT\") or matches(COLUMN, \"PATTERN\")";
        let name = self.word();
        if !["same", "capitalised", "equals", "matches"].contains(&name) {
            return Err(format!("a test is missing; {TESTS}"));
        }
        self.at += name.len();
        self.need('(', "after the name of the test")?;
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let column: usize =
            rest[..digits].parse().map_err(|_| "a column is a whole number, from 0".to_owned())?;
        self.at += digits;
        let test = match name {
            "same" => Test::Same(column),
            "capitalised" => Test::Capitalised(column),
            "equals" => Test::Equals(column, self.quoted()?),
            _ => Test::Matches(column, self.quoted()?.parse().map_err(|error: Error| error.to_string())?),
        };
        self.need(')', "after the test")?;
        Ok(test)
    }

    /// Parses `, "text"`. `\"` stands for a quote; `\\` stays as it is, because it has the same meaning in patterns.
    fn quoted(&mut self) -> Parsed<String> {
        self.need(',', "after the column")?;
        self.need('"', "before the text")?;
        let (mut text, mut escaped) = (String::new(), false);
        for (i, c) in self.text[self.at..].char_indices() {
            match c {
                '"' if !escaped => {
                    self.at += i + 1;
                    return Ok(text);
                }
                '"' => {
                    text.pop();
                    text.push(c);
                }
                _ => text.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
        Err("the text has no closing `\"`".into())
    }
}
