//! A simple tokeniser: from running text to tokens and sentences, as ranges of bytes.
//!
//! A *word* is a run of letters, digits and combining marks. These characters belong to a word if they stand between two
//! characters of it: `'`, `’`, `-`, `_`, `.`, `@`, `&` and `/`; and `,` and `:` between two digits. So `don't`, `well-known`,
//! `3.5`, `1/2`, `1,000`, `10:30` and `ann@example.org` are single tokens. Any other character is a token of its own; several of the same
//! in a row, as in `...` or `--`, are one. White space only separates.
//!
//! A *sentence* ends after a token made of `.`, `!`, `?`, `…` or `。`, and the closing quotes and brackets that follow it, if white space
//! comes next and then no lower-case letter. A full stop after a single letter or one of a few English abbreviations ends no sentence.
//!
//! The rules are the same for all languages. If a model was trained on text that was split differently, split new text in the same way instead.

use std::ops::Range;

/// Abbreviations whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 20] = [
    "Mr", "Mrs", "Ms", "Dr", "Prof", "Sr", "Jr", "St", "Lt", "Col", "Gen", "Capt", "Sen", "Rep", "vs", "e.g",
    "i.e", "cf", "No", "Fig",
];

/// The tokens of a text, as ranges of bytes.
///
/// ```
/// use crfkit::data::tokens::tokens;
///
/// let text = "2 cups of flour, sifted";
/// let words: Vec<&str> = tokens(text).map(|range| &text[range]).collect();
/// assert_eq!(words, ["2", "cups", "of", "flour", ",", "sifted"]);
/// ```
pub fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].find(|c: char| !c.is_whitespace())?;
        let start = at;
        at += token_length(&text[at..]);
        Some(start..at)
    })
}

/// The length of the token that `text` begins with.
fn token_length(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    let Some((_, first)) = characters.next() else { return 0 };
    if !in_word(first) {
        return characters.find(|&(_, c)| c != first).map_or(text.len(), |(at, _)| at);
    }
    let mut before = first;
    while let Some((at, c)) = characters.next() {
        let joined = in_word(c) || characters.peek().is_some_and(|&(_, after)| joins(before, c, after));
        if !joined {
            return at;
        }
        before = c;
    }
    text.len()
}

/// Whether words are made of this character: a letter, a digit, or a mark that combines with one.
fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36F}' | '\u{200C}' | '\u{200D}')
}

/// Whether a character between these two belongs to their word.
fn joins(before: char, c: char, after: char) -> bool {
    match c {
        '\'' | '’' | '-' | '_' | '.' | '@' | '&' | '/' => in_word(before) && in_word(after),
        ',' | ':' => before.is_numeric() && after.is_numeric(),
        _ => false,
    }
}

/// The sentences of a text, as ranges of bytes without white space at their ends.
///
/// ```
/// use crfkit::data::tokens::sentences;
///
/// let text = "Mr. Lee left. \"Why?\" Nobody knew.";
/// let found: Vec<&str> = sentences(text).map(|range| &text[range]).collect();
/// assert_eq!(found, ["Mr. Lee left.", "\"Why?\"", "Nobody knew."]);
/// ```
pub fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = tokens(text).peekable();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        let (mut end, mut last, mut closing) = (first.end, first.clone(), ends(&text[first.clone()], ""));
        while let Some(next) = rest.peek() {
            let apart = next.start > end;
            let lower = text[next.clone()].starts_with(char::is_lowercase);
            if closing && apart && !lower {
                break;
            }
            let token = &text[next.clone()];
            closing = ends(token, if next.start == end { &text[last] } else { "" })
                || (closing && !apart && closes(token));
            last = next.clone();
            end = next.end;
            rest.next();
        }
        Some(first.start..end)
    })
}

/// Whether a sentence may end at this token; `before` is the token that it touches.
fn ends(token: &str, before: &str) -> bool {
    let abbreviated = || {
        ABBREVIATIONS.contains(&before)
            || (before.chars().count() == 1 && before.starts_with(char::is_alphabetic))
    };
    match token {
        "." => !abbreviated(),
        _ => token.chars().all(|c| matches!(c, '.' | '!' | '?' | '…' | '。')),
    }
}

/// Whether a token closes what another has opened.
fn closes(token: &str) -> bool {
    token.chars().all(|c| matches!(c, '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        tokens(text).map(|range| &text[range]).collect()
    }

    fn parts(text: &str) -> Vec<&str> {
        sentences(text).map(|range| &text[range]).collect()
    }

    #[test]
    fn words_keep_what_joins_them() {
        for word in [
            "don't",
            "l’eau",
            "well-known",
            "3.5",
            "1/2",
            "1,000",
            "10:30",
            "ann@example.org",
            "AT&T",
            "U.S",
            "cafe\u{301}s",
            "½",
        ] {
            assert_eq!(split(word), [word]);
        }
        assert_eq!(
            split("a, b:c 1,x -2 x- 'quoted'"),
            ["a", ",", "b", ":", "c", "1", ",", "x", "-", "2", "x", "-", "'", "quoted", "'"]
        );
        assert_eq!(split("wait... what?! (no)--"), ["wait", "...", "what", "?", "!", "(", "no", ")", "--"]);
        assert_eq!(split(" \u{a0}two\tlines\r\n"), ["two", "lines"]);
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("日本 – €5"), ["日本", "–", "€", "5"]);
    }

    #[test]
    fn tokens_are_the_text_without_white_space() {
        let text = "“Tom's ½-cup”: 3.5e-7;  a.b..c,d";
        let joined: String = split(text).concat();
        assert_eq!(joined, text.split_whitespace().collect::<String>());
    }

    #[test]
    fn sentences_end_where_a_new_one_begins() {
        assert_eq!(
            parts("One two. Three four! 5 six? seven. (Eight.) Nine"),
            ["One two.", "Three four!", "5 six? seven.", "(Eight.)", "Nine"]
        );
        assert_eq!(
            parts("Dr. J. Smith vs. Prof. Lee came. It was 3.5 p.m. sharp."),
            ["Dr. J. Smith vs. Prof. Lee came.", "It was 3.5 p.m. sharp."]
        );
        assert_eq!(parts("No end.Here it is... Well"), ["No end.Here it is...", "Well"]);
        assert_eq!(parts("   "), [""; 0]);
        assert_eq!(parts("... Ja."), ["...", "Ja."]);
    }
}
