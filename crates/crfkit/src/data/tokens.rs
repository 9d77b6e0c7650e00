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
    let mark = || {
        let at = MARKS.partition_point(|&(_, last)| last < c);
        MARKS.get(at).is_some_and(|&(first, _)| first <= c)
    };
    c.is_alphanumeric() || matches!(c, '\u{200C}' | '\u{200D}') || mark()
}

/// Ranges of marks, such as accents, vowel signs and tone marks. Between the marks of a range are only letters and digits, which words are made of
/// too, and characters without a meaning.
#[rustfmt::skip] // one pair a line would be a long page
const MARKS: &[(char, char)] = &[
    ('\u{300}', '\u{36F}'), ('\u{483}', '\u{489}'), ('\u{591}', '\u{5BD}'), ('\u{5BF}', '\u{5BF}'),
    ('\u{5C1}', '\u{5C2}'), ('\u{5C4}', '\u{5C5}'), ('\u{5C7}', '\u{5C7}'), ('\u{610}', '\u{61A}'),
    ('\u{64B}', '\u{65F}'), ('\u{670}', '\u{670}'), ('\u{6D6}', '\u{6DC}'), ('\u{6DF}', '\u{6E8}'),
    ('\u{6EA}', '\u{6ED}'), ('\u{711}', '\u{7F3}'), ('\u{7FD}', '\u{7FD}'), ('\u{816}', '\u{82D}'),
    ('\u{859}', '\u{85B}'), ('\u{898}', '\u{8E1}'), ('\u{8E3}', '\u{963}'), ('\u{981}', '\u{9E3}'),
    ('\u{9FE}', '\u{A75}'), ('\u{A81}', '\u{AE3}'), ('\u{AFA}', '\u{B63}'), ('\u{B82}', '\u{BD7}'),
    ('\u{C00}', '\u{C63}'), ('\u{C81}', '\u{C83}'), ('\u{CBC}', '\u{D4D}'), ('\u{D57}', '\u{D63}'),
    ('\u{D81}', '\u{DF3}'), ('\u{E31}', '\u{E3A}'), ('\u{E47}', '\u{E4E}'), ('\u{EB1}', '\u{ECD}'),
    ('\u{F18}', '\u{F19}'), ('\u{F35}', '\u{F35}'), ('\u{F37}', '\u{F37}'), ('\u{F39}', '\u{F39}'),
    ('\u{F3E}', '\u{F84}'), ('\u{F86}', '\u{FBC}'), ('\u{FC6}', '\u{FC6}'), ('\u{102B}', '\u{103E}'),
    ('\u{1056}', '\u{109D}'), ('\u{135D}', '\u{135F}'), ('\u{1712}', '\u{1734}'), ('\u{1752}', '\u{17D3}'),
    ('\u{17DD}', '\u{17DD}'), ('\u{180B}', '\u{180D}'), ('\u{180F}', '\u{193B}'), ('\u{1A17}', '\u{1A1B}'),
    ('\u{1A55}', '\u{1A7F}'), ('\u{1AB0}', '\u{1B44}'), ('\u{1B6B}', '\u{1B73}'), ('\u{1B80}', '\u{1BF3}'),
    ('\u{1C24}', '\u{1C37}'), ('\u{1CD0}', '\u{1CD2}'), ('\u{1CD4}', '\u{1DFF}'), ('\u{20D0}', '\u{20F0}'),
    ('\u{2CEF}', '\u{2CF1}'), ('\u{2D7F}', '\u{2DFF}'), ('\u{302A}', '\u{302F}'), ('\u{3099}', '\u{309A}'),
    ('\u{A66F}', '\u{A672}'), ('\u{A674}', '\u{A67D}'), ('\u{A69E}', '\u{A6F1}'), ('\u{A802}', '\u{A827}'),
    ('\u{A82C}', '\u{A82C}'), ('\u{A880}', '\u{A8C5}'), ('\u{A8E0}', '\u{A8F1}'), ('\u{A8FF}', '\u{A92D}'),
    ('\u{A947}', '\u{A953}'), ('\u{A980}', '\u{A9C0}'), ('\u{A9E5}', '\u{AA4D}'), ('\u{AA7B}', '\u{AAC1}'),
    ('\u{AAEB}', '\u{AAEF}'), ('\u{AAF5}', '\u{AAF6}'), ('\u{ABE3}', '\u{ABEA}'), ('\u{ABEC}', '\u{ABED}'),
    ('\u{FB1E}', '\u{FB1E}'), ('\u{FE00}', '\u{FE0F}'), ('\u{FE20}', '\u{FE2F}'),
    ('\u{101FD}', '\u{1037A}'), ('\u{10A01}', '\u{10A3F}'), ('\u{10AE5}', '\u{10AE6}'),
    ('\u{10D24}', '\u{10EAC}'), ('\u{10F46}', '\u{10F50}'), ('\u{10F82}', '\u{10F85}'),
    ('\u{11000}', '\u{11046}'), ('\u{11070}', '\u{110BA}'), ('\u{110C2}', '\u{110C2}'),
    ('\u{11100}', '\u{11134}'), ('\u{11145}', '\u{11173}'), ('\u{11180}', '\u{111C0}'),
    ('\u{111C9}', '\u{111CC}'), ('\u{111CE}', '\u{111CF}'), ('\u{1122C}', '\u{11237}'),
    ('\u{1123E}', '\u{1123E}'), ('\u{112DF}', '\u{11446}'), ('\u{1145E}', '\u{114C3}'),
    ('\u{115AF}', '\u{115C0}'), ('\u{115DC}', '\u{11640}'), ('\u{116AB}', '\u{116B7}'),
    ('\u{1171D}', '\u{1172B}'), ('\u{1182C}', '\u{1183A}'), ('\u{11930}', '\u{11943}'),
    ('\u{119D1}', '\u{119E0}'), ('\u{119E4}', '\u{11A3E}'), ('\u{11A47}', '\u{11A99}'),
    ('\u{11C2F}', '\u{11C3F}'), ('\u{11C92}', '\u{11EF6}'), ('\u{16AF0}', '\u{16AF4}'),
    ('\u{16B30}', '\u{16B36}'), ('\u{16F4F}', '\u{16F92}'), ('\u{16FE4}', '\u{16FF1}'),
    ('\u{1BC9D}', '\u{1BC9E}'), ('\u{1CF00}', '\u{1CF46}'), ('\u{1D165}', '\u{1D169}'),
    ('\u{1D16D}', '\u{1D172}'), ('\u{1D17B}', '\u{1D182}'), ('\u{1D185}', '\u{1D18B}'),
    ('\u{1D1AA}', '\u{1D1AD}'), ('\u{1D242}', '\u{1D244}'), ('\u{1DA00}', '\u{1DA36}'),
    ('\u{1DA3B}', '\u{1DA6C}'), ('\u{1DA75}', '\u{1DA75}'), ('\u{1DA84}', '\u{1DA84}'),
    ('\u{1DA9B}', '\u{1E136}'), ('\u{1E2AE}', '\u{1E2EF}'), ('\u{1E8D0}', '\u{1E94A}'),
    ('\u{E0100}', '\u{E01EF}'),
];

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
            "नमस्ते",
            "ที่นี่",
            "שָׁלוֹם",
            "கண்ணன்",
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
