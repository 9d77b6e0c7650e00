//! What is asked of a tagger besides the best labels: labels that tokens may have, and explanations.

use crate::errors::{data_error, raise};
use crate::tagger::PyTagger;
use crate::walk::{not_text, shown, text_of};
use crfkit::Place;
use crfkit::explain::{Contribution, Explanation};
use crfkit::graph::{Label, LabelBits};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

impl PyTagger {
    /// The labels that tokens may have, as Python gives them.
    pub(crate) fn allowed(
        &self,
        given: &Bound<'_, PyAny>,
        tokens: usize,
    ) -> PyResult<Vec<(usize, LabelBits)>> {
        let py = given.py();
        let model = self.workers.model();
        let wrong = |label: &Bound<'_, PyAny>| {
            PyTypeError::new_err(format!("allowed has {}: give a label or a list of labels", shown(label)))
        };
        let set = |token: usize, labels: &Bound<'_, PyAny>| -> PyResult<(usize, LabelBits)> {
            let names: Vec<String> = match text_of(labels) {
                Some(label) => vec![label.map_err(|_| not_text(labels, "allowed"))?.to_owned()],
                None => {
                    let items = labels.try_iter().map_err(|_| wrong(labels))?;
                    items
                        .map(|item| item?.extract::<String>().map_err(|_| wrong(labels)))
                        .collect::<PyResult<_>>()?
                }
            };
            let place = || Place::new("allowed", 0);
            let bits = model.label_bits(names.iter().map(String::as_str), place);
            Ok((token, bits.map_err(|error| raise(py, error))?))
        };
        if let Ok(dict) = given.cast::<PyDict>() {
            let entry = |(token, labels): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                let found = token.extract::<usize>().ok().filter(|token| *token < tokens);
                match found {
                    Some(token) => set(token, &labels),
                    None => Err(data_error(
                        py,
                        format!(
                            "allowed has token {token}, but the sequence has {tokens}: tokens count from 0"
                        ),
                    )),
                }
            };
            return dict.iter().map(entry).collect();
        }
        let no_list = || {
            PyTypeError::new_err(format!(
                "allowed is {}: give a dict, or a list with an entry per token",
                shown(given)
            ))
        };
        if given.is_instance_of::<PyString>() {
            return Err(no_list());
        }
        let items = given.try_iter().map_err(|_| no_list())?.collect::<PyResult<Vec<_>>>()?;
        if items.len() != tokens {
            let count = items.len();
            return Err(data_error(
                py,
                format!(
                    "allowed has {count} entries, but the sequence has {tokens} tokens: give None for those that may have any label"
                ),
            ));
        }
        items
            .iter()
            .enumerate()
            .filter(|(_, labels)| !labels.is_none())
            .map(|(t, labels)| set(t, labels))
            .collect()
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
