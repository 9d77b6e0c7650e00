//! Labels that are not known, or of which several are possible.

use crate::data::strings::Strings;
use crate::domain::chain::segments::Role;
use crate::domain::label_sets::{is_unknown, names_of};
use crate::graph::{FIRST_SET, Label, UNLABELLED};
use std::collections::HashMap;

/// Sets of labels, as they are written and as numbers.
#[derive(Debug, Default)]
pub(super) struct Sets {
    pub(super) numbers: HashMap<String, Label>,
    pub(super) labels: Vec<Vec<Label>>,
}

impl Sets {
    /// Adds a set, which must be new, and returns its number.
    pub(super) fn insert(&mut self, text: String, labels: Vec<Label>) -> Label {
        let number = FIRST_SET + self.labels.len() as Label;
        self.labels.push(labels);
        self.numbers.insert(text, number);
        number
    }
}

/// What a token with this label can be in a segment.
pub(super) fn role_of(text: &str, sets: &Option<Sets>) -> Role {
    match sets {
        Some(_) if is_unknown(text) => Role { begins: true, goes_on: true },
        Some(_) => Role::of(names_of(text)),
        None => Role::of(std::iter::once(text)),
    }
}

/// The number of a label, or of what is known about it.
pub(super) fn gold_of(text: &str, labels: &mut Strings, sets: &mut Option<Sets>) -> Label {
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
