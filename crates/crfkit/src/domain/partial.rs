//! Labels of training data that are not known, or of which several are possible.

use crate::data::strings::Strings;
use crate::graph::{FIRST_SET, Label, LabelBits, UNLABELLED};
use std::collections::HashMap;

/// Sets of labels, as they are written and as numbers.
#[derive(Debug, Default)]
pub(in crate::domain) struct Sets {
    pub(in crate::domain) numbers: HashMap<String, Label>,
    pub(in crate::domain) labels: Vec<Vec<Label>>,
}

/// The label of a token of which nothing is known.
const UNKNOWN: &str = "?";

impl Sets {
    /// The sets as bits, of `labels` labels whose numbers are now `ids`.
    pub(in crate::domain) fn bits(&self, ids: &[Label], labels: usize) -> impl Iterator<Item = LabelBits> {
        self.labels.iter().map(move |set| {
            let mut bits = LabelBits::none(labels);
            set.iter().for_each(|label| bits.insert(ids[*label as usize] as usize));
            // A set without a name says nothing.
            if bits.is_empty() { LabelBits::all(labels) } else { bits }
        })
    }

    /// Adds a set, which must be new, and returns its number.
    pub(in crate::domain) fn insert(&mut self, text: String, labels: Vec<Label>) -> Label {
        let number = FIRST_SET + self.labels.len() as Label;
        self.labels.push(labels);
        self.numbers.insert(text, number);
        number
    }
}

/// The names in a set.
pub(in crate::domain) fn names_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('|').filter(|name| !name.is_empty())
}

/// Whether any label is possible: alone, or as one of several.
pub(in crate::domain) fn is_unknown(text: &str) -> bool {
    names_of(text).any(|name| name == UNKNOWN)
}

/// The number of a label, or of what is known about it.
pub(in crate::domain) fn gold_of(text: &str, labels: &mut Strings, sets: &mut Option<Sets>) -> Label {
    match sets {
        Some(_) if is_unknown(text) => UNLABELLED,
        Some(sets) if text.contains('|') => match sets.numbers.get(text) {
            Some(&number) => number,
            None => {
                let names = names_of(text).map(|name| labels.intern(name.as_bytes())).collect();
                sets.insert(text.to_owned(), names)
            }
        },
        _ => labels.intern(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_label_or_another_is_any_label() {
        let (mut labels, mut sets) = (Strings::default(), Some(Sets::default()));
        for text in ["?", "?|X", "X|?"] {
            assert_eq!(gold_of(text, &mut labels, &mut sets), UNLABELLED, "{text}");
        }
        assert_eq!(labels.len(), 0);
        assert_eq!(gold_of("X|Y", &mut labels, &mut sets), FIRST_SET);
        assert_eq!(gold_of("?", &mut labels, &mut None), 2);
    }
}
