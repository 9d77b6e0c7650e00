//! Labels that are not known, or of which several are possible: in training data, and as a restriction when sequences are labelled.

use crate::data::columns::Columns;
use crate::data::partial::{is_unknown, names_of};
use crate::data::strings::Strings;
use crate::error::only_columns;
use crate::graph::{FIRST_SET, Label, LabelBits, UNLABELLED};
use crate::{Error, Place, Result};
use std::collections::HashMap;

/// Sets of labels, as they are written and as numbers.
#[derive(Debug, Default)]
pub(in crate::domain) struct Sets {
    pub(in crate::domain) numbers: HashMap<String, Label>,
    pub(in crate::domain) labels: Vec<Vec<Label>>,
}

/// The numbers of the sets of labels that gold labels stand for.
#[derive(Clone, Debug, Default)]
pub(in crate::domain) struct SetNumbers(HashMap<LabelBits, Label>);

impl SetNumbers {
    /// The gold label that stands for a set. Equal sets have equal numbers.
    pub(in crate::domain) fn number(&mut self, set: &LabelBits) -> Label {
        let next = FIRST_SET + self.0.len() as Label;
        *self.0.entry(set.clone()).or_insert(next)
    }

    /// The sets, in the order of their numbers.
    pub(in crate::domain) fn into_sets(self) -> Vec<LabelBits> {
        let mut sets: Vec<(LabelBits, Label)> = self.0.into_iter().collect();
        sets.sort_unstable_by_key(|(_, number)| *number);
        sets.into_iter().map(|(set, _)| set).collect()
    }
}

/// The gold label of a variable with `labels` labels whose label is in a set: the only one, or an unknown one if all are in it. `None` if
/// the set itself has to be kept.
pub(in crate::domain) fn plain_label(set: &LabelBits, labels: usize) -> Option<Label> {
    let mut members = (0..labels).filter(|&label| set.contains(label));
    match (members.next(), members.next()) {
        (Some(label), None) => Some(label as Label),
        (_, Some(_)) if members.count() + 2 == labels => Some(UNLABELLED),
        _ => None,
    }
}

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

/// The set of the named labels, out of `labels` labels. `find` gives the number of a label; if it does not know a name, that is an error at
/// `place`.
pub(crate) fn label_bits<'a>(
    names: impl IntoIterator<Item = &'a str>,
    labels: usize,
    find: impl Fn(&str) -> Option<Label>,
    place: impl Fn() -> Place,
) -> Result<LabelBits> {
    let mut bits = LabelBits::none(labels);
    for name in names {
        let label = find(name).ok_or_else(|| {
            Error::input(place(), format!("the model has no label `{name}`: allow labels that it knows"))
        })?;
        bits.insert(label as usize);
    }
    Ok(bits)
}

/// The labels that a column allows each token, where it does not allow all: a label, or several joined by `|`. A negative column is counted
/// from the end.
pub(crate) fn allowed_in(
    rows: &Columns,
    column: i32,
    labels: usize,
    find: impl Fn(&str) -> Option<Label>,
) -> Result<Vec<(usize, LabelBits)>> {
    let (columns, mut sets) = (rows.columns(), Vec::new());
    if rows.is_empty() {
        return Ok(sets);
    }
    let index = if column < 0 { columns as i64 + i64::from(column) } else { column.into() };
    let index = usize::try_from(index).ok().filter(|index| *index < columns).ok_or_else(|| {
        let message = format!(
            "the allowed labels should be in column {column}, but there {}: 0 is the first, -1 the last",
            only_columns(columns)
        );
        Error::input(rows.place(0), message)
    })?;
    for row in 0..rows.len() {
        let text = rows.field(row, index);
        if !is_unknown(text) && names_of(text).next().is_some() {
            sets.push((row, label_bits(names_of(text), labels, &find, || rows.place(row))?));
        }
    }
    Ok(sets)
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
