//! How columns write what is known of a label: the label, `?` for any, or several joined by `|`, of which one is right.

/// The label of a token of which nothing is known.
const UNKNOWN: &str = "?";

/// The names in a set.
pub(crate) fn names_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('|').filter(|name| !name.is_empty())
}

/// Whether any label is possible: alone, or as one of several.
pub(crate) fn is_unknown(text: &str) -> bool {
    names_of(text).any(|name| name == UNKNOWN)
}

/// The label, if only one is possible.
pub fn sole_label(text: &str) -> Option<&str> {
    if !text.contains('|') {
        return (text != UNKNOWN).then_some(text);
    }
    let first = names_of(text).next().filter(|name| *name != UNKNOWN)?;
    names_of(text).all(|name| name == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_label_is_known() {
        for (text, label) in [("X", "X"), ("", ""), ("X|", "X"), ("X|X", "X"), ("??", "??")] {
            assert_eq!(sole_label(text), Some(label), "{text}");
        }
        for text in ["?", "?|?", "X|?", "?|X", "X|Y", "|"] {
            assert_eq!(sole_label(text), None, "{text}");
        }
    }
}
