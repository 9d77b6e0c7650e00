//! What is asked of a tagger besides the best labels: labels that tokens may have, and explanations.

use crate::errors::{data_error, raise};
use crate::lists::iterator;
use crate::tagger::PyTagger;
use crate::walk::{not_text, shown, text_of};
use crfkit::Place;
use crfkit::explain::{Contribution, Explanation};
use crfkit::graph::{Label, LabelBits};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyMapping, PySet, PyTuple};

impl PyTagger {
    /// The labels that tokens may have, as Python gives them: a mapping from numbers of tokens, or an entry for each token. `None` stands for
    /// all labels.
    pub(crate) fn allowed(
        &self,
        given: &Bound<'_, PyAny>,
        tokens: usize,
    ) -> PyResult<Vec<(usize, LabelBits)>> {
        let py = given.py();
        let entries: Vec<(usize, Bound<'_, PyAny>)> = match given.cast::<PyMapping>() {
            Ok(mapping) => {
                let number = |token: &Bound<'_, PyAny>| {
                    let found = token.extract::<usize>().ok().filter(|token| *token < tokens);
                    found.ok_or_else(|| {
                        let what = token.repr().map_or_else(|_| "?".into(), |text| text.to_string());
                        let why = format!("the sequence has {tokens}: tokens count from 0");
                        data_error(py, format!("allowed has token {what}, but {why}"))
                    })
                };
                let items = mapping.items()?;
                let mut entries = Vec::with_capacity(items.len());
                for item in items {
                    let (token, labels): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
                    entries.push((number(&token)?, labels));
                }
                entries
            }
            Err(_) => list_of(given, tokens)?.into_iter().enumerate().collect(),
        };
        let some = entries.iter().filter(|(_, labels)| !labels.is_none());
        some.map(|(token, labels)| Ok((*token, self.label_set(*token, labels)?))).collect()
    }

    /// The labels that a token may have: a label, or several.
    fn label_set(&self, token: usize, labels: &Bound<'_, PyAny>) -> PyResult<LabelBits> {
        let py = labels.py();
        let wrong = || {
            PyTypeError::new_err(format!("allowed has {}: give a label or a list of labels", shown(labels)))
        };
        let names: Vec<String> = match text_of(labels) {
            Some(label) => vec![label.map_err(|_| not_text(labels, "allowed"))?.to_owned()],
            None => {
                let items = iterator(labels, wrong)?;
                items.map(|item| item?.extract::<String>().map_err(|_| wrong())).collect::<PyResult<_>>()?
            }
        };
        if names.is_empty() {
            let message = format!("allowed has no label for token {token}: give one, or None for all labels");
            return Err(data_error(py, message));
        }
        let place = || Place::new("allowed", 0);
        let model = self.workers.model();
        model.label_bits(names.iter().map(String::as_str), place).map_err(|error| raise(py, error))
    }

    /// An explanation, in Python's types.
    pub(crate) fn explained<'py>(&self, py: Python<'py>, found: &Explanation) -> PyResult<Bound<'py, PyAny>> {
        let types = py.import("crfkit.explain")?;
        let name = |label: Label| self.names[label as usize].clone_ref(py);
        let names = |labels: &[Label]| PyTuple::new(py, labels.iter().map(|&label| name(label)));
        let contribution = types.getattr("Contribution")?;
        let part = |part: &Contribution| {
            let [best, rival] = &part.labels;
            contribution.call1((
                &part.part,
                part.observation.as_deref(),
                PyTuple::new(py, &part.variables)?,
                names(best)?,
                names(rival)?,
                part.amount,
                part.without.map(name),
            ))
        };
        let parts = found.rival.iter().flat_map(|rival| &rival.contributions);
        let parts = parts.map(part).collect::<PyResult<Vec<_>>>()?;
        let rival = found.rival.as_ref();
        let difference = rival.map_or(f64::INFINITY, |rival| rival.difference);
        let (label, rival) = (name(found.label), rival.map(|rival| name(rival.label)));
        types.getattr("Explanation")?.call1((found.variable, label, rival, difference, parts))
    }
}

/// The entries of a list that has one for each token. Sets have no order.
fn list_of<'py>(given: &Bound<'py, PyAny>, tokens: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let wrong = || {
        PyTypeError::new_err(format!(
            "allowed is {}: give a dict, or a list with an entry per token",
            shown(given)
        ))
    };
    let set = given.is_instance_of::<PySet>() || given.is_instance_of::<PyFrozenSet>();
    if set || text_of(given).is_some() {
        return Err(wrong());
    }
    let items = iterator(given, wrong)?.collect::<PyResult<Vec<_>>>()?;
    if items.len() != tokens {
        let count = items.len();
        let message = format!(
            "allowed has {count} entries, but the sequence has {tokens} tokens: give None for those that may have any label"
        );
        return Err(data_error(given.py(), message));
    }
    Ok(items)
}
