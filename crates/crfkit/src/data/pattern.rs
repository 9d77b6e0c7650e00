//! Wapiti's small regular expressions, for the `%t` and `%m` macros of templates.
//!
//! | written | matches one character that is |
//! |---|---|
//! | `.` | anything |
//! | `\a` `\d` `\w` | alphabetic; numeric; either |
//! | `\l` `\u` | lower case; upper case |
//! | `\s` `\p` | white space; neither white space nor control nor `\w` (C's `ispunct`, carried to Unicode) |
//! | `\A` `\D` `\W` `\L` `\U` `\S` `\P` | not in that class |
//! | `\` and another character | that character |
//! | another character | itself |
//!
//! After one of these, `*` matches any number of them, as few as possible, and `?` matches one of them if possible,
//! otherwise none. `^` at the very start and `$` at the very end tie the match to the ends of the text; elsewhere they
//! are ordinary characters. The leftmost start wins. So `.?.?.?$` finds the longest suffix of at most three characters,
//! `...$` one of exactly three, and a `*` at the very end matches nothing.
//!
//! Departures from Wapiti: Wapiti works on bytes in the C locale. crfkit works on characters with Unicode's classes, so
//! `...$` never cuts a letter in two and `\u` knows `É`. When a `?` must give its character back, Wapiti can report a
//! match longer than the text matched; crfkit reports the text matched. A doubled or leading `*` or `?`, a final lone
//! `\`, and patterns of more than `MAX_ITEMS` characters to match are rejected when the pattern is compiled.

use std::str::FromStr;

use crate::error::{Error, Result};

/// The largest number of characters, classes and dots in a pattern. One machine word of marks for each position of the
/// text is then enough to keep matching linear in the text.
pub(crate) const MAX_ITEMS: usize = 64;

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    items: Vec<Item>,
    at_start: bool,
    at_end: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    class: Class,
    negated: bool,
    repeat: Repeat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let refuse = |why: &str| Err(Error::Setting(format!("pattern \"{source}\": {why}")));
        let at_start = source.starts_with('^');
        let mut chars = source[usize::from(at_start)..].chars().peekable();
        let mut items = Vec::new();
        let mut at_end = false;
        while let Some(c) = chars.next() {
            let (class, negated) = match c {
                '$' if chars.peek().is_none() => {
                    at_end = true;
                    break;
                }
                '*' | '?' => {
                    return refuse("`*` or `?` has nothing to repeat; write \\* or \\? for the character");
                }
                '.' => (Class::Any, false),
                '\\' => match chars.next() {
                    Some(escaped) => Class::escaped(escaped),
                    None => return refuse("ends in a lone `\\`; write \\\\ for the character"),
                },
                _ => (Class::Exactly(c), false),
            };
            let repeat = match chars.peek() {
                Some('*') => Repeat::Star,
                Some('?') => Repeat::Optional,
                _ => Repeat::Once,
            };
            if repeat != Repeat::Once {
                chars.next();
            }
            if items.len() == MAX_ITEMS {
                return refuse(&format!("has more than {MAX_ITEMS} characters to match; shorten it"));
            }
            items.push(Item { class, negated, repeat });
        }
        Ok(Pattern { items, at_start, at_end })
    }
}

impl Pattern {
    /// The first match in `text`, as byte positions of its start and end.
    ///
    /// It takes time of at most items × characters. It allocates only if the pattern has a `*` or `?` and the text has
    /// 64 bytes or more.
    pub fn find(&self, text: &str) -> Option<(usize, usize)> {
        const SHORT: usize = 64;
        if self.items.iter().all(|item| item.repeat == Repeat::Once) {
            self.search(text, &mut Visited(&mut []))
        } else if text.len() < SHORT {
            self.search(text, &mut Visited(&mut [0; SHORT]))
        } else {
            self.search(text, &mut Visited(&mut vec![0; text.len() + 1]))
        }
    }

    fn search(&self, text: &str, visited: &mut Visited) -> Option<(usize, usize)> {
        let mut start = if self.at_start { 0 } else { self.first_start(text) };
        loop {
            if let Some(end) = self.match_from(0, text, start, visited) {
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
    /// on the state, so a state seen before has failed. Recursion is as deep as there are repeated items.
    fn match_from(&self, first: usize, text: &str, mut at: usize, visited: &mut Visited) -> Option<usize> {
        for (index, item) in self.items.iter().enumerate().skip(first) {
            match item.repeat {
                Repeat::Once => at = item.step(text, at)?,
                Repeat::Optional => {
                    visited.enter(index, at)?;
                    if let Some(after) = item.step(text, at)
                        && let Some(end) = self.match_from(index + 1, text, after, visited)
                    {
                        return Some(end);
                    }
                }
                Repeat::Star => loop {
                    visited.enter(index, at)?;
                    if let Some(end) = self.match_from(index + 1, text, at, visited) {
                        return Some(end);
                    }
                    at = item.step(text, at)?;
                },
            }
        }
        (!self.at_end || at == text.len()).then_some(at)
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

    fn contains(self, c: char) -> bool {
        match self {
            Class::Any => true,
            Class::Exactly(own) => c == own,
            Class::Alphabetic => c.is_alphabetic(),
            Class::Numeric => c.is_numeric(),
            Class::Alphanumeric => c.is_alphanumeric(),
            Class::Lower => c.is_lowercase(),
            Class::Upper => c.is_uppercase(),
            Class::Space => c.is_whitespace(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(pattern: &str, text: &'a str) -> Option<&'a str> {
        let pattern: Pattern = pattern.parse().unwrap();
        pattern.find(text).map(|(start, end)| &text[start..end])
    }

    #[test]
    fn every_class_and_its_complement() {
        // One character of each kind, with the classes it belongs to.
        for (c, classes) in [
            ("a", "awl"),
            ("É", "awu"),
            ("7", "dw"),
            (" ", "s"),
            ("-", "p"),
            ("€", "p"),
            ("\u{1}", ""),
            ("中", "aw"),
        ] {
            for class in "adwlusp".chars() {
                let inside = classes.contains(class);
                assert_eq!(find(&format!("^\\{class}$"), c).is_some(), inside, "\\{class} on {c:?}");
                let complement = class.to_ascii_uppercase();
                assert_eq!(
                    find(&format!("^\\{complement}$"), c).is_some(),
                    !inside,
                    "\\{complement} on {c:?}"
                );
            }
        }
    }

    #[test]
    fn escapes_are_literal() {
        for c in [".", "*", "?", "^", "$", "\\", "\"", "x"] {
            assert_eq!(find(&format!("\\{c}"), &format!("ab{c}")), Some(c));
        }
        assert_eq!(find("\\.", "abc"), None);
    }

    #[test]
    fn star_takes_as_few_as_will_do() {
        assert_eq!(find("a*", "aaa"), Some(""));
        assert_eq!(find("a.*c", "abcbc"), Some("abc"));
        assert_eq!(find("a.*c$", "abcbc"), Some("abcbc"));
        assert_eq!(find("^\\u\\u*$", "NATO"), Some("NATO"));
        assert_eq!(find("^\\u\\u*$", "NaTO"), None);
        assert_eq!(find("b*c", "abbc"), Some("bbc"));
    }

    #[test]
    fn optional_takes_one_first_and_gives_it_back() {
        assert_eq!(find("^.?.?.?", "abcd"), Some("abc"));
        assert_eq!(find("^.?.?.?", "ab"), Some("ab"));
        assert_eq!(find(".?.?.?$", "abcd"), Some("bcd"));
        assert_eq!(find(".?.?.?$", "ab"), Some("ab"));
        assert_eq!(find(".?ab", "ab"), Some("ab"));
        assert_eq!(find("a?a?aa", "aa"), Some("aa"));
    }

    #[test]
    fn anchors_only_at_the_ends() {
        assert_eq!(find("^b", "ab"), None);
        assert_eq!(find("a$", "ab"), None);
        assert_eq!(find("a^b", "a^b"), Some("a^b"));
        assert_eq!(find("a$b", "a$b"), Some("a$b"));
        assert_eq!(find("^a$*b", "a$$b"), Some("a$$b"));
        assert_eq!(find("$", "ab"), Some(""));
        assert_eq!(find("^$", ""), Some(""));
        assert_eq!(find("^$", "a"), None);
        assert_eq!(find("", "ab"), Some(""));
        assert_eq!(find("\\$", "a$"), Some("$"));
    }

    #[test]
    fn fixed_suffixes_count_characters() {
        assert_eq!(find("...$", "naïveté"), Some("eté"));
        assert_eq!(find("...$", "té"), None);
        assert_eq!(find("\\a\\d$", "x9y1"), Some("y1"));
        assert_eq!(find("ab$", "abb"), None);
    }

    #[test]
    fn refused_patterns_say_why() {
        for (pattern, why) in [
            ("*a", "nothing to repeat"),
            ("^?", "nothing to repeat"),
            ("a**", "nothing to repeat"),
            ("a\\", "lone"),
        ] {
            let message = pattern.parse::<Pattern>().unwrap_err().to_string();
            assert!(message.contains(why), "{pattern}: {message}");
        }
        assert!("a".repeat(MAX_ITEMS).parse::<Pattern>().is_ok());
        assert!("a".repeat(MAX_ITEMS + 1).parse::<Pattern>().is_err());
    }

    #[test]
    fn hostile_patterns_stay_cheap() {
        let long = "a".repeat(50_000);
        assert_eq!(find("a*a*a*a*a*a*b", &long), None);
        assert_eq!(find(&format!("{}b", "a*".repeat(63)), &long[..5_000]), None);
        assert_eq!(find(&format!("^{}{}", "a?".repeat(32), "a".repeat(32)), &long[..32]), Some(&long[..32]));
        assert_eq!(find(&format!("{}b", "a?".repeat(63)), &long), None);
        assert_eq!(find(".*.*.*.*$", &long), Some(&long[..]));
    }
}
