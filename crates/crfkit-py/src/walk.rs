//! The features of a token, as Python gives them: dicts, lists of names, and what is nested in them.

use crate::errors::data_error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::fmt;

/// Stands between a key and its text, and between the names of nested features, as in python-crfsuite's own code. (Its
/// documentation has `=` for texts.)
const SEPARATOR: &str = ":";

/// Receives features.
pub(crate) trait Receiver {
    /// Receives a feature. Its name is made of these parts: prefix, name, and perhaps a separator and a text.
    fn feature(&mut self, parts: [&str; 4], value: f64);
}

/// A place in Python's terms, for messages.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    of: Whole<'a>,
    number: usize,
}

/// What the place is a part of.
#[derive(Clone, Copy)]
enum Whole<'a> {
    /// The only sequence.
    Sequence,
    /// The sequence of this number.
    Numbered(usize),
    /// The members of a type of a graph.
    Members(&'a str),
}

impl<'a> At<'a> {
    /// A token of a sequence, which has a number unless there is only one: `X[3][5]`.
    pub(crate) fn token(sequence: Option<usize>, token: usize) -> Self {
        At { of: sequence.map_or(Whole::Sequence, Whole::Numbered), number: token }
    }

    /// A node or factor of a type, as `what` calls them.
    pub(crate) fn member(what: &'a str, number: usize) -> Self {
        At { of: Whole::Members(what), number }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Whole::Numbered(sequence) => write!(f, "X[{sequence}][{}]", self.number),
            Whole::Sequence => write!(f, "token {}", self.number),
            Whole::Members(what) => write!(f, "{what}[{}]", self.number),
        }
    }
}

/// Sends the features of a token, or those of a nested value whose names begin with `prefix`.
pub(crate) fn walk(
    item: &Bound<'_, PyAny>,
    prefix: &str,
    at: At<'_>,
    out: &mut impl Receiver,
) -> PyResult<()> {
    if let Ok(dict) = item.cast::<PyDict>() {
        for (key, value) in dict {
            pair(&key, &value, prefix, at, out)?;
        }
        return Ok(());
    }
    if item.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!(
            "{at} is a string: give a dict or a list of features, or words and a template"
        )));
    }
    // Whether it is another mapping is a question that takes long.
    let plain = item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>();
    if !plain && let Ok(mapping) = item.cast::<PyMapping>() {
        for entry in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            pair(&key, &value, prefix, at, out)?;
        }
        return Ok(());
    }
    let items = item.try_iter().map_err(|_| {
        PyTypeError::new_err(format!("{at} is {}: give a dict or a list of strings", type_name(item)))
    })?;
    for name in items {
        let name = name?;
        let text = text_of(&name).ok_or_else(|| {
            PyTypeError::new_err(format!("{at} has the feature {}: a feature is a string", shown(&name)))
        })?;
        send([prefix, text?, "", ""], 1.0, at, item.py(), out)?;
    }
    Ok(())
}

/// Sends one entry of a dict: `key:text` for a string, `key` with its value for a number, `key:...` for what is nested.
fn pair(
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    prefix: &str,
    at: At<'_>,
    out: &mut impl Receiver,
) -> PyResult<()> {
    let py = key.py();
    let name = text_of(key).ok_or_else(|| {
        PyTypeError::new_err(format!("{at} has the key {}: the name of a feature is a string", shown(key)))
    })??;
    // The cheapest question first.
    if let Ok(truth) = value.cast::<PyBool>() {
        return send([prefix, name, "", ""], f64::from(u8::from(truth.is_true())), at, py, out);
    }
    if let Some(text) = text_of(value) {
        return send([prefix, name, SEPARATOR, text?], 1.0, at, py, out);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return send([prefix, name, "", ""], number.value(), at, py, out);
    }
    let is_number = value.is_instance_of::<PyInt>() || is_scalar(value);
    if is_number && let Ok(number) = value.extract::<f64>() {
        return send([prefix, name, "", ""], number, at, py, out);
    }
    let nested = !value.is_none() && value.try_iter().is_ok();
    if !nested {
        return Err(PyTypeError::new_err(format!(
            "{at}['{prefix}{name}'] is {}: give a string, a number, a boolean, or a dict or list of these",
            shown(value)
        )));
    }
    walk(value, &format!("{prefix}{name}{SEPARATOR}"), at, out)
}

/// Sends a feature, unless it has no name or no finite value.
#[inline]
fn send(parts: [&str; 4], value: f64, at: At<'_>, py: Python<'_>, out: &mut impl Receiver) -> PyResult<()> {
    let [prefix, name, ..] = parts;
    let refuse = |what: &str| Err(data_error(py, format!("{at}['{prefix}{name}'] {what}")));
    if name.is_empty() && parts.iter().all(|part| part.is_empty()) {
        return refuse("has no name: give every feature one");
    }
    if !value.is_finite() {
        return refuse(&format!("is {value}: give a finite number"));
    }
    out.feature(parts, value);
    Ok(())
}

/// The tokens of a sequence. A string is not a sequence of tokens.
pub(crate) fn each_token<'py>(
    tokens: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Box<dyn Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'py>> {
    let wrong =
        || PyTypeError::new_err(format!("{name} is {}: give a list with an entry per token", shown(tokens)));
    if tokens.is_instance_of::<PyString>() || tokens.is_instance_of::<PyDict>() {
        return Err(wrong());
    }
    Ok(Box::new(tokens.try_iter().map_err(|_| wrong())?))
}

/// The text of a string, or of bytes in UTF-8; `None` for any other object.
pub(crate) fn text_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<PyResult<&'a str>> {
    if let Ok(text) = object.cast::<PyString>() {
        return Some(text.to_str());
    }
    let bytes = object.cast::<PyBytes>().ok()?;
    Some(
        std::str::from_utf8(bytes.as_bytes()).map_err(|error| {
            data_error(object.py(), format!("{} is not text in UTF-8: {error}", shown(object)))
        }),
    )
}

/// Whether it is a number that is no `int` or `float`, as those of NumPy.
fn is_scalar(value: &Bound<'_, PyAny>) -> bool {
    let has = |name: &str| value.hasattr(name).unwrap_or(false);
    (has("__float__") || has("__index__")) && !has("__len__")
        || value.getattr("ndim").and_then(|ndim| ndim.extract::<usize>()).is_ok_and(|ndim| ndim == 0)
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or("?".into(), |name| name.to_string())
}

/// An object in a message: its type, and the beginning of its text.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map_or(String::new(), |text| text.to_string());
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{dots} ({})", type_name(object))
}
