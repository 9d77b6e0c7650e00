//! From the text of a pattern to its items.

use super::{Alternative, Class, Grammar, Item, MAX_ALTERNATIVES, MAX_ITEMS, Repeat};
use std::iter::Peekable;
use std::str::Chars;

type Parsed<T> = std::result::Result<T, String>;

/// The alternatives of a pattern.
pub(super) fn alternatives(source: &str, grammar: Grammar) -> Parsed<Vec<Alternative>> {
    if grammar == Grammar::Wapiti {
        return Ok(vec![alternative(source, grammar)?]);
    }
    let mut texts = Vec::new();
    for text in split(source)? {
        match group_of(text)? {
            // (one|two)x is (one)x|(two)x.
            Some((before, inside, behind)) => {
                let with = |one: &str| format!("{before}({one}){behind}");
                texts.extend(split(inside)?.into_iter().map(with));
            }
            None => texts.push(text.to_owned()),
        }
    }
    if texts.len() > MAX_ALTERNATIVES {
        return Err(format!("has more than {MAX_ALTERNATIVES} alternatives; use fewer, or a list of words"));
    }
    texts.iter().map(|text| alternative(text, grammar)).collect()
}

/// The text between the `|`s that are outside sets and groups.
fn split(source: &str) -> Parsed<Vec<&str>> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, sign) in signs(source) {
        match sign {
            '(' => depth += 1,
            ')' if depth == 0 => return Err("a `)` without its `(`; write \\) for the character".into()),
            ')' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&source[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("a `(` without its `)`; write \\( for the character".into());
    }
    parts.push(&source[start..]);
    Ok(parts)
}

/// The texts before, in and after the group of an alternative.
fn group_of(text: &str) -> Parsed<Option<(&str, &str, &str)>> {
    let mut brackets = signs(text).filter(|(_, sign)| "()".contains(*sign));
    let (Some((open, _)), Some((close, end))) = (brackets.next(), brackets.next()) else { return Ok(None) };
    if end == '(' || brackets.next().is_some() {
        return Err("has several groups `( )`; the value of a pattern is one part of it, so leave one".into());
    }
    let (inside, behind) = (&text[open + 1..close], &text[close + 1..]);
    if behind.starts_with(['*', '?', '+']) {
        return Err("a group `( )` cannot be repeated; repeat what is in it".into());
    }
    let (tied_start, tied_end) = (inside.starts_with('^'), inside.ends_with('$') && !inside.ends_with("\\$"));
    if tied_start || tied_end || split(inside)?.iter().any(|part| part.starts_with('^')) {
        return Err("`^` and `$` stand outside the group `( )`; write \\^ or \\$ for the character".into());
    }
    Ok(Some((&text[..open], inside, behind)))
}

/// The signs `(`, `)` and `|` with a meaning, and their places: those that are neither escaped nor in a set.
fn signs(source: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut escaped, mut in_set) = (false, false);
    source.char_indices().filter(move |&(_, c)| {
        if escaped {
            escaped = false;
            return false;
        }
        match c {
            '\\' => escaped = true,
            '[' => in_set = true,
            ']' => in_set = false,
            '(' | ')' | '|' => return !in_set,
            _ => {}
        }
        false
    })
}

/// One alternative.
fn alternative(source: &str, grammar: Grammar) -> Parsed<Alternative> {
    let at_start = source.starts_with('^');
    let mut chars = source[usize::from(at_start)..].chars().peekable();
    let full = grammar == Grammar::Full;
    let (mut items, mut at_end) = (Vec::new(), false);
    let (mut open, mut close) = (None, None);
    while let Some(c) = chars.next() {
        let (class, negated) = match c {
            '$' if chars.peek().is_none() => {
                at_end = true;
                break;
            }
            '*' | '?' => {
                return Err("`*` or `?` has nothing to repeat; write \\* or \\? for the character".into());
            }
            '+' if full => return Err("`+` has nothing to repeat; write \\+ for the character".into()),
            '(' if full => {
                open = Some(items.len());
                continue;
            }
            ')' if full => {
                close = Some(items.len());
                continue;
            }
            '[' if full => set(&mut chars)?,
            '.' => (Class::Any, false),
            '\\' => match chars.next() {
                Some(escaped) => Class::escaped(escaped),
                None => return Err("ends in a lone `\\`; write \\\\ for the character".into()),
            },
            _ => (Class::Exactly(c), false),
        };
        let sign = chars.next_if(|sign| "*?".contains(*sign) || (full && *sign == '+'));
        let item = |repeat| Item { class: class.clone(), negated, repeat };
        match sign {
            Some('*') => items.push(item(Repeat::Star)),
            Some('?') => items.push(item(Repeat::Optional)),
            Some(_) => items.extend([item(Repeat::Once), item(Repeat::Star)]),
            None => items.push(item(Repeat::Once)),
        }
        if items.len() > MAX_ITEMS {
            return Err(format!("has more than {MAX_ITEMS} characters to match; shorten it"));
        }
    }
    Ok(Alternative { items, at_start, at_end, group: open.zip(close) })
}

/// A set, after its `[`, and whether it is negated.
fn set(chars: &mut Peekable<Chars<'_>>) -> Parsed<(Class, bool)> {
    const OPEN: &str = "a `[` without its `]`; write \\[ for the character";
    let negated = chars.next_if_eq(&'^').is_some();
    let mut parts = Vec::new();
    loop {
        let first = match chars.next().ok_or(OPEN)? {
            ']' if parts.is_empty() => return Err("an empty set `[]`; write \\] for the character".into()),
            ']' => return Ok((Class::OneOf(parts), negated)),
            '\\' => Class::escaped(chars.next().ok_or(OPEN)?),
            c => (Class::Exactly(c), false),
        };
        let mut ahead = chars.clone();
        let range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        match first {
            (Class::Exactly(first), _) if range => {
                chars.next();
                let last = match chars.next().ok_or(OPEN)? {
                    '\\' => chars.next().ok_or(OPEN)?,
                    c => c,
                };
                if last < first {
                    return Err(format!("the range {first}-{last} of a set is empty; turn it round"));
                }
                parts.push((Class::Between(first, last), false));
            }
            part => parts.push(part),
        }
    }
}
