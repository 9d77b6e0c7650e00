//! Wapiti's small regular expressions, with a few additions, for the macros of templates and for rules.
//!
//! | written | matches one character that is |
//! |---|---|
//! | `.` | anything |
//! | `\a` `\d` `\w` | alphabetic; numeric; either |
//! | `\l` `\u` | lower case; upper case |
//! | `\s` `\p` | white space; neither white space nor control nor `\w` (C's `ispunct`, carried to Unicode) |
//! | `\A` `\D` `\W` `\L` `\U` `\S` `\P` | not in that class |
//! | `[a-z\d_]` `[^,;]` | one of these characters, ranges and classes; none of them (an addition) |
//! | `\` and another character | that character |
//! | another character | itself |
//!
//! After one of these, `*` matches any number of them, as few as possible, and `?` matches one of them if possible,
//! otherwise none. `+` is at least one of them, as few as possible (an addition). `^` at the very start and `$` at the very end tie the match to the
//! ends of the text; elsewhere they are ordinary characters. The leftmost start wins. So `.?.?.?$` finds the longest suffix of at most three
//! characters, `...$` one of exactly three, and a `*` at the very end matches nothing.
//!
//! Two more additions: `one|two` matches either, and `( )` around a part of the pattern says which part of the match is the value of
//! `%m`; the alternatives may stand in the brackets. [`Grammar::Wapiti`] has none of the additions: their signs are ordinary characters.
//!
//! Departures from Wapiti: Wapiti works on bytes in the C locale. crfkit works on characters with Unicode's classes, so
//! `...$` never cuts a letter in two and `\u` knows `É`. When a `?` must give its character back, Wapiti can report a
//! match longer than the text matched; crfkit reports the text matched. A doubled or leading `*` or `?`, a final lone
//! `\`, and patterns of more than `MAX_ITEMS` characters to match are rejected when the pattern is compiled.

use std::str::FromStr;

use crate::error::{Error, Result};

mod parse;
#[cfg(test)]
mod tests;

/// The largest number of characters, classes and dots in a pattern, or in one of its alternatives. One machine word of marks for each
/// position of the text is then enough to keep matching linear in the text.
pub(crate) const MAX_ITEMS: usize = 64;
/// The largest number of alternatives.
pub(crate) const MAX_ALTERNATIVES: usize = 64;

/// The signs that have a meaning in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// Wapiti's, with sets, `+`, alternatives and a group.
    Full,
    /// Only Wapiti's.
    Wapiti,
}

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// At least one.
    alternatives: Vec<Alternative>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    items: Vec<Item>,
    at_start: bool,
    at_end: bool,
    /// The items before which the group begins and ends.
    group: Option<(usize, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    class: Class,
    negated: bool,
    repeat: Repeat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Class {
    Any,
    Exactly(char),
    Alphabetic,
    Numeric,
    Alphanumeric,
    Lower,
    Upper,
    Space,
    Punctuation,
    /// All characters from the first to the last.
    Between(char, char),
    /// The characters of any of these, or not of those that are negated.
    OneOf(Vec<(Class, bool)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    Once,
    Optional,
    Star,
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(source: &str) -> Result<Self> {
        Pattern::compile(source, Grammar::Full)
    }
}

/// The start and the end of a match or of its group, in bytes.
type Span = (usize, usize);

impl Pattern {
    /// Compiles a pattern.
    pub fn compile(source: &str, grammar: Grammar) -> Result<Self> {
        let refuse = |why| Error::Setting(format!("pattern \"{source}\": {why}"));
        Ok(Pattern { alternatives: parse::alternatives(source, grammar).map_err(refuse)? })
    }

    /// The first match in `text`, as byte positions of its start and end.
    ///
    /// It takes time of at most items × characters. It allocates only if the pattern has a `*` or `?` and the text has
    /// 64 bytes or more.
    pub fn find(&self, text: &str) -> Option<Span> {
        self.first(|alternative| Some((alternative.find::<false>(text)?, (0, 0)))).map(|found| found.0)
    }

    /// The part of the first match that is in the pattern's `( )`, or the whole match if the pattern has none.
    pub fn find_group(&self, text: &str) -> Option<Span> {
        self.first(|alternative| {
            if alternative.group.is_none() {
                let whole = alternative.find::<false>(text)?;
                return Some((whole, whole));
            }
            let mut group = (0, 0);
            let whole = alternative.find_with::<true>(text, &mut group)?;
            Some((whole, group))
        })
        .map(|found| found.1)
    }

    /// The match that starts first; of several, that of the first alternative.
    #[inline]
    fn first(&self, find: impl Fn(&Alternative) -> Option<(Span, Span)>) -> Option<(Span, Span)> {
        match &self.alternatives[..] {
            [only] => find(only),
            all => all.iter().filter_map(find).min_by_key(|found| found.0.0),
        }
    }
}

impl Alternative {
    fn find<const GROUP: bool>(&self, text: &str) -> Option<Span> {
        self.find_with::<GROUP>(text, &mut (0, 0))
    }

    fn find_with<const GROUP: bool>(&self, text: &str, group: &mut Span) -> Option<Span> {
        const SHORT: usize = 64;
        if self.items.iter().all(|item| item.repeat == Repeat::Once) {
            self.search::<GROUP>(text, &mut Visited(&mut []), group)
        } else if text.len() < SHORT {
            self.search::<GROUP>(text, &mut Visited(&mut [0; SHORT]), group)
        } else {
            self.search::<GROUP>(text, &mut Visited(&mut vec![0; text.len() + 1]), group)
        }
    }

    fn search<const GROUP: bool>(&self, text: &str, visited: &mut Visited, group: &mut Span) -> Option<Span> {
        let mut start = if self.at_start { 0 } else { self.first_start(text) };
        loop {
            if let Some(end) = self.match_from::<GROUP>((0, start), text, visited, group) {
                return Some((start, end));
            }
            if self.at_start {
                return None;
            }
            start += text[start..].chars().next()?.len_utf8();
        }
    }

    /// The first position at which a match can start. Without a star, a match has at most one character per item, so
    /// one that must reach the end starts close to it.
    fn first_start(&self, text: &str) -> usize {
        if !self.at_end || self.items.iter().any(|item| item.repeat == Repeat::Star) {
            return 0;
        }
        let last_chars = text.char_indices().rev().take(self.items.len());
        last_chars.last().map_or(text.len(), |(start, _)| start)
    }

    /// The end of a match of the items from `first` on with `text` from `at` on.
    ///
    /// This is a backtracking search that enters no state (item, position) twice. Whether the rest matches depends only
    /// on the state, so a state seen before has failed. Recursion is as deep as there are repeated items. The last visit of the two ends of the group is that of the match.
    fn match_from<const GROUP: bool>(
        &self,
        (first, mut at): (usize, usize),
        text: &str,
        visited: &mut Visited,
        group: &mut Span,
    ) -> Option<usize> {
        for (index, item) in self.items.iter().enumerate().skip(first) {
            if GROUP {
                self.pass(index, at, group);
            }
            match item.repeat {
                Repeat::Once => at = item.step(text, at)?,
                Repeat::Optional => {
                    visited.enter(index, at)?;
                    if let Some(after) = item.step(text, at)
                        && let Some(end) = self.match_from::<GROUP>((index + 1, after), text, visited, group)
                    {
                        return Some(end);
                    }
                }
                Repeat::Star => loop {
                    visited.enter(index, at)?;
                    if let Some(end) = self.match_from::<GROUP>((index + 1, at), text, visited, group) {
                        return Some(end);
                    }
                    at = item.step(text, at)?;
                },
            }
        }
        if GROUP {
            self.pass(self.items.len(), at, group);
        }
        (!self.at_end || at == text.len()).then_some(at)
    }

    /// Notes where the group begins or ends, if it does so before item `index`.
    fn pass(&self, index: usize, at: usize, group: &mut Span) {
        let (open, close) = self.group.unwrap_or_default();
        if index == open {
            group.0 = at;
        }
        if index == close {
            group.1 = at;
        }
    }
}

impl Item {
    /// The position after the character at `at`, if there is one and it matches.
    #[inline]
    fn step(&self, text: &str, at: usize) -> Option<usize> {
        let c = text[at..].chars().next()?;
        (self.class.contains(c) != self.negated).then(|| at + c.len_utf8())
    }
}

impl Class {
    /// The class that `\c` stands for, and whether it is the complement.
    fn escaped(c: char) -> (Class, bool) {
        let class = match c.to_ascii_lowercase() {
            'a' => Class::Alphabetic,
            'd' => Class::Numeric,
            'w' => Class::Alphanumeric,
            'l' => Class::Lower,
            'u' => Class::Upper,
            's' => Class::Space,
            'p' => Class::Punctuation,
            _ => return (Class::Exactly(c), false),
        };
        (class, c.is_ascii_uppercase())
    }

    fn contains(&self, c: char) -> bool {
        match self {
            Class::Any => true,
            Class::Exactly(own) => c == *own,
            Class::Alphabetic => c.is_alphabetic(),
            Class::Numeric => c.is_numeric(),
            Class::Alphanumeric => c.is_alphanumeric(),
            Class::Lower => c.is_lowercase(),
            Class::Upper => c.is_uppercase(),
            Class::Space => c.is_whitespace(),
            Class::Between(first, last) => (*first..=*last).contains(&c),
            Class::OneOf(parts) => parts.iter().any(|(class, negated)| class.contains(c) != *negated),
            Class::Punctuation => !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control(),
        }
    }
}

/// For every byte position of the text, the set of repeated items that were tried there.
struct Visited<'a>(&'a mut [u64]);

impl Visited<'_> {
    /// Marks the state; `None` if it was marked before.
    fn enter(&mut self, item: usize, at: usize) -> Option<()> {
        let bit = 1 << item;
        let new = self.0[at] & bit == 0;
        self.0[at] |= bit;
        new.then_some(())
    }
}
