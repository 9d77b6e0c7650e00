//! Functions of the spelling of a word, for templates: affixes, n-grams, shape, and the marks at its ends.

/// The longest shape in characters. Longer ones are cut, because nearly every such word would have a shape of its own.
const MAX_SHAPE: usize = 32;
/// The n-grams of a word come from this many characters at its start.
pub(crate) const MAX_GRAMS: usize = 100;

/// The first `length` characters; `None` if there are fewer.
pub(crate) fn prefix(word: &str, length: usize) -> Option<&str> {
    if length == 0 {
        return Some("");
    }
    let (start, last) = word.char_indices().nth(length - 1)?;
    Some(&word[..start + last.len_utf8()])
}

/// The last `length` characters; `None` if there are fewer.
pub(crate) fn suffix(word: &str, length: usize) -> Option<&str> {
    if length == 0 {
        return Some("");
    }
    let (start, _) = word.char_indices().rev().nth(length - 1)?;
    Some(&word[start..])
}

/// Calls `visit` with the strings of `length` successive characters, from left to right.
pub(crate) fn ngrams<'a>(word: &'a str, length: usize, mut visit: impl FnMut(&'a str)) {
    let word = prefix(word, MAX_GRAMS).unwrap_or(word);
    for (start, _) in word.char_indices() {
        let Some(gram) = prefix(&word[start..], length) else { return };
        visit(gram);
    }
}

/// Writes the shape of a word: `A` for a capital, `a` for a small letter, `x` for another letter, `0` for a digit, and other characters as
/// they are. Of several equal signs in a row, `run` are written.
pub(crate) fn shape(word: &str, run: usize, out: &mut String) {
    out.clear();
    let (mut last, mut times, mut written) = ('\0', 0, 0);
    for c in word.chars() {
        let sign = match c {
            'a'..='z' => 'a',
            'A'..='Z' => 'A',
            '0'..='9' => '0',
            _ if c.is_ascii() => c,
            _ if c.is_uppercase() => 'A',
            _ if c.is_lowercase() => 'a',
            _ if c.is_numeric() => '0',
            _ if c.is_alphabetic() => 'x',
            _ => c,
        };
        times = if sign == last { times + 1 } else { 1 };
        last = sign;
        if times <= run {
            out.push(sign);
            written += 1;
            if written == MAX_SHAPE {
                return;
            }
        }
    }
}

fn is_mark(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control()
}

/// The word without the punctuation marks at its ends. A word made of marks alone stays as it is.
pub(crate) fn strip(word: &str) -> &str {
    let stripped = word.trim_matches(is_mark);
    if stripped.is_empty() { word } else { stripped }
}

/// The marks at the start of a word; `None` if there are none, or nothing else.
pub(crate) fn head(word: &str) -> Option<&str> {
    let marks = word.len() - word.trim_start_matches(is_mark).len();
    (0 < marks && marks < word.len()).then(|| &word[..marks])
}

/// The marks at the end of a word; `None` if there are none, or nothing else.
pub(crate) fn tail(word: &str) -> Option<&str> {
    let rest = word.trim_end_matches(is_mark).len();
    (0 < rest && rest < word.len()).then(|| &word[rest..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affixes_count_characters() {
        assert_eq!([prefix("né", 1), prefix("né", 2), prefix("né", 3)], [Some("n"), Some("né"), None]);
        assert_eq!([suffix("né", 1), suffix("né", 2), suffix("né", 3)], [Some("é"), Some("né"), None]);
        assert_eq!((prefix("", 1), suffix("", 1)), (None, None));
    }

    #[test]
    fn ngrams_are_those_of_the_start_of_the_word() {
        let grams = |word: &str, length| {
            let mut all = Vec::new();
            ngrams(word, length, |gram| all.push(gram.to_owned()));
            all
        };
        assert_eq!(grams("anaé", 2), ["an", "na", "aé"]);
        assert_eq!(grams("ana", 3), ["ana"]);
        assert!(grams("ana", 4).is_empty() && grams("", 1).is_empty());
        assert_eq!(grams(&"ab".repeat(1000), 2).len(), MAX_GRAMS - 1);
    }

    #[test]
    fn shapes_have_short_runs() {
        let shape = |word: &str, run| {
            let mut out = String::from("old");
            shape(word, run, &mut out);
            out
        };
        assert_eq!(shape("McDonald's", 1), "AaAa'a");
        assert_eq!(shape("McDonald's", 2), "AaAaa'a");
        assert_eq!(shape("1998--É中é", 1), "0-Axa");
        assert_eq!(shape("", 1), "");
        assert_eq!(shape(&"aB".repeat(100), 9).len(), MAX_SHAPE);
    }

    #[test]
    fn marks_at_the_ends() {
        for (word, stripped, front, back) in [
            ("(1998).", "1998", Some("("), Some(").")),
            ("\u{201c}A\u{201d}", "A", Some("\u{201c}"), Some("\u{201d}")),
            ("don't", "don't", None, None),
            ("--", "--", None, None),
            ("", "", None, None),
        ] {
            assert_eq!((strip(word), head(word), tail(word)), (stripped, front, back), "{word}");
        }
    }
}
