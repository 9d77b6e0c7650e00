//! The labels of training sequences, and the weights of sequences and tokens.

use crate::Form;
use crate::errors::{data_error, raise};
use crate::features::{Converter, UNKNOWN};
use crate::lists::{is_list, iterator};
use crate::walk::{At, Name, is_masked, not_text, shown, text_of};
use crfkit::chain::Sequence;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// What callers call sequences and their labels.
pub(crate) const NAMES: [&str; 2] = ["X", "y"];
/// The same of development data.
pub(crate) const DEV_NAMES: [&str; 2] = ["X_dev", "y_dev"];
/// Stands between labels of which a token has one.
const OR: &str = "|";

/// The labels of a sequence, as strings. If they may be `partial`, `None` is a label that is not known, and a tuple, list or set is one of
/// several.
pub(crate) fn labels(labels: &Bound<'_, PyAny>, name: Name<'_>, partial: Partial) -> PyResult<Vec<String>> {
    let mut found = Vec::new();
    let wrong = |label: &Bound<'_, PyAny>, at: At<'_>| {
        let what = match partial {
            Partial::Yes => "labels are strings, None or sets of strings",
            Partial::OnRequest if is_missing(label) => {
                "labels are strings; where some are not known, set partial_labels=True"
            }
            Partial::No if is_missing(label) => "labels are strings, and every token needs one here",
            _ => "labels are strings",
        };
        PyTypeError::new_err(format!("{at} is {}: {what}", shown(label)))
    };
    let no_list =
        || PyTypeError::new_err(format!("{name} is {}: give a list with a label per token", shown(labels)));
    if !is_list(labels) {
        return Err(no_list());
    }
    for (number, label) in iterator(labels, no_list)?.enumerate() {
        let (label, at) = (label?, At { of: name, number });
        let text = match text_of(&label) {
            Some(text) => text.map_err(|_| not_text(&label, at))?.to_owned(),
            None if partial == Partial::Yes && is_missing(&label) => UNKNOWN.to_owned(),
            None if partial == Partial::Yes => one_of(&label).ok_or_else(|| wrong(&label, at))?,
            None => return Err(wrong(&label, at)),
        };
        if text.is_empty() {
            return Err(data_error(label.py(), format!("{at} is empty: give every token a label")));
        }
        found.push(text);
    }
    Ok(found)
}

/// Whether labels may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partial {
    /// They may.
    Yes,
    /// They may with `partial_labels=True`, which is not set.
    OnRequest,
    /// They may never.
    No,
}

impl Partial {
    /// As the parameter of an estimator says.
    pub(crate) fn of(partial_labels: bool) -> Self {
        if partial_labels { Partial::Yes } else { Partial::OnRequest }
    }
}

/// Whether it stands for no label: `None`, or an element that NumPy masks.
fn is_missing(label: &Bound<'_, PyAny>) -> bool {
    label.is_none() || is_masked(label)
}

/// Several labels as the library writes them. None of them may have the library's own signs in its name.
fn one_of(labels: &Bound<'_, PyAny>) -> Option<String> {
    let mut names = Vec::new();
    for label in labels.try_iter().ok()? {
        let name = text_of(&label.ok()?)?.ok()?.to_owned();
        if name.is_empty() || name == UNKNOWN || name.contains(OR) {
            return None;
        }
        names.push(name);
    }
    // A set has no order of its own.
    names.sort_unstable();
    Some(names.join(OR))
}

/// How the labels of training sequences are given, and the weights of tokens.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    /// What the caller calls the sequences and their labels.
    pub(crate) names: [&'static str; 2],
    pub(crate) form: Form,
    pub(crate) partial: Partial,
    /// The weight of each sequence.
    pub(crate) weights: Option<&'a [f64]>,
    /// The weights of the tokens of each sequence.
    pub(crate) token_weights: Option<&'a [Vec<f64>]>,
}

impl Given<'_> {
    /// Complete labels, and weights of 1.
    pub(crate) fn plain(form: Form) -> Self {
        Given { names: NAMES, form, partial: Partial::No, weights: None, token_weights: None }
    }

    /// A training sequence: tokens with their labels, one for each.
    pub(crate) fn labelled(
        &self,
        converter: &mut Converter,
        tokens: &Bound<'_, PyAny>,
        given: &Bound<'_, PyAny>,
        number: usize,
    ) -> PyResult<Sequence> {
        let [x, y] = self.names.map(|of| Name { of, number: Some(number) });
        let labels = labels(given, y, self.partial)?;
        let weight = self.weights.and_then(|weights| weights.get(number)).copied().unwrap_or(1.0);
        let sequence = converter.sequence(tokens, Some(&labels), weight, self.form, x)?;
        if sequence.len() != labels.len() {
            let (tokens, labels) = (sequence.len(), labels.len());
            return Err(data_error(
                given.py(),
                format!(
                    "{x} has length {tokens}, but {y} has length {labels}: give one label for each token"
                ),
            ));
        }
        match self.token_weights.and_then(|weights| weights.get(number)) {
            None => Ok(sequence),
            Some(weights) => sequence.with_token_weights(weights).map_err(|error| raise(given.py(), error)),
        }
    }
}
