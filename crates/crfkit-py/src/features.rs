//! Sequences made of Python's objects.

use crate::Form;
use crate::errors::{data_error, raise};
use crfkit::chain::Sequence;
use crfkit::data::attributes::Attributes;
use crfkit::data::columns::Columns;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyMapping, PyString};
use std::fmt;
use std::ops::Range;

/// Stands between a key and its text, and between the names of nested features, as in python-crfsuite's own code. (Its
/// documentation has `=` for texts.)
const SEPARATOR: &str = ":";
/// The label of tokens whose label is not known.
const UNKNOWN: &str = "?";

/// Turns Python's sequences into the library's, and keeps its memory between them.
#[derive(Default)]
pub(crate) struct Converter {
    text: String,
    features: Vec<(Range<usize>, f64)>,
}

/// A token's place in Python's terms, for messages: `X[3][5]`.
#[derive(Clone, Copy)]
struct At {
    /// The number of the sequence; `None` where there is only one.
    sequence: Option<usize>,
    token: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sequence {
            Some(sequence) => write!(f, "X[{sequence}][{}]", self.token),
            None => write!(f, "token {}", self.token),
        }
    }
}

impl Converter {
    /// Makes a sequence of `tokens`, which is number `number` of the caller's list. With `labels`, there must be one for each token.
    pub(crate) fn sequence(
        &mut self,
        tokens: &Bound<'_, PyAny>,
        labels: Option<&[String]>,
        weight: f64,
        form: Form,
        number: Option<usize>,
    ) -> PyResult<Sequence> {
        match form {
            Form::Features => self.attributes(tokens, labels, weight, number),
            Form::Rows => self.rows(tokens, labels, weight, number),
        }
    }

    fn attributes(
        &mut self,
        tokens: &Bound<'_, PyAny>,
        labels: Option<&[String]>,
        weight: f64,
        number: Option<usize>,
    ) -> PyResult<Sequence> {
        let py = tokens.py();
        let name = number.map_or("the sequence".to_owned(), |number| format!("X[{number}]"));
        let mut attributes = Attributes::new(&name, weight).map_err(|error| raise(py, error))?;
        for (token, item) in each_token(tokens, &name)?.enumerate() {
            let at = At { sequence: number, token };
            self.text.clear();
            self.features.clear();
            self.add(&item?, "", at)?;
            let label = labels.and_then(|labels| labels.get(token)).map_or(UNKNOWN, String::as_str);
            let named = self.features.iter().map(|(name, value)| (&self.text[name.clone()], *value));
            attributes.add(label, named).map_err(|error| raise(py, error))?;
        }
        Ok(attributes.into())
    }

    /// Adds the features of a token, or those of a nested value whose names begin with `prefix`.
    fn add(&mut self, item: &Bound<'_, PyAny>, prefix: &str, at: At) -> PyResult<()> {
        if let Ok(dict) = item.cast::<PyDict>() {
            for (key, value) in dict {
                self.add_pair(&key, &value, prefix, at)?;
            }
            return Ok(());
        }
        if item.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!(
                "{at} is a string: give a dict or a list of features, or words and a template"
            )));
        }
        if let Ok(mapping) = item.cast::<PyMapping>() {
            for pair in mapping.items()? {
                let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
                self.add_pair(&key, &value, prefix, at)?;
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
            self.push(prefix, text?, "", "", 1.0, at, item.py())?;
        }
        Ok(())
    }

    /// Adds one entry of a dict: `key:text` for a string, `key` with its value for a number, `key:...` for what is nested.
    fn add_pair(
        &mut self,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        prefix: &str,
        at: At,
    ) -> PyResult<()> {
        let py = key.py();
        let name = text_of(key).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "{at} has the key {}: the name of a feature is a string",
                shown(key)
            ))
        })??;
        if let Some(text) = text_of(value) {
            return self.push(prefix, name, SEPARATOR, text?, 1.0, at, py);
        }
        if let Ok(number) = value.cast::<PyFloat>() {
            return self.push(prefix, name, "", "", number.value(), at, py);
        }
        if let Ok(truth) = value.cast::<PyBool>() {
            return self.push(prefix, name, "", "", f64::from(u8::from(truth.is_true())), at, py);
        }
        let is_number = value.is_instance_of::<PyInt>() || is_scalar(value);
        if is_number && let Ok(number) = value.extract::<f64>() {
            return self.push(prefix, name, "", "", number, at, py);
        }
        let nested = !value.is_none() && value.try_iter().is_ok();
        if !nested {
            return Err(PyTypeError::new_err(format!(
                "{at}['{prefix}{name}'] is {}: give a string, a number, a boolean, or a dict or list of these",
                shown(value)
            )));
        }
        self.add(value, &format!("{prefix}{name}{SEPARATOR}"), at)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a name are written into one buffer, not joined first"
    )]
    fn push(
        &mut self,
        prefix: &str,
        name: &str,
        joint: &str,
        text: &str,
        value: f64,
        at: At,
        py: Python<'_>,
    ) -> PyResult<()> {
        let start = self.text.len();
        for part in [prefix, name, joint, text] {
            self.text.push_str(part);
        }
        let refuse = |what: &str| Err(data_error(py, format!("{at}['{prefix}{name}'] {what}")));
        if start == self.text.len() {
            return refuse("has no name: give every feature one");
        }
        if !value.is_finite() {
            return refuse(&format!("is {value}: give a finite number"));
        }
        self.features.push((start..self.text.len(), value));
        Ok(())
    }

    /// The rows of a sequence with several labels at each token, which become the last fields.
    pub(crate) fn labelled_rows(
        &mut self,
        tokens: &Bound<'_, PyAny>,
        labels: &[Vec<String>],
        weight: f64,
        number: usize,
    ) -> PyResult<Columns> {
        let (py, name) = (tokens.py(), format!("X[{number}]"));
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (token, item) in each_token(tokens, &name)?.enumerate() {
            let mut row = fields(&item?, At { sequence: Some(number), token })?;
            row.extend(labels.get(token).into_iter().flatten().cloned());
            rows.push(row);
        }
        if rows.len() != labels.len() {
            let (tokens, labels) = (rows.len(), labels.len());
            return Err(data_error(
                py,
                format!("{name} has {tokens} tokens, but y[{number}] has {labels} labels"),
            ));
        }
        let mut rows = Columns::from_rows(rows, &name).map_err(|error| raise(py, error))?;
        rows.set_weight(weight).map_err(|error| raise(py, error))?;
        Ok(rows)
    }

    fn rows(
        &mut self,
        tokens: &Bound<'_, PyAny>,
        labels: Option<&[String]>,
        weight: f64,
        number: Option<usize>,
    ) -> PyResult<Sequence> {
        let py = tokens.py();
        let name = number.map_or("the sequence".to_owned(), |number| format!("X[{number}]"));
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (token, item) in each_token(tokens, &name)?.enumerate() {
            let (item, at) = (item?, At { sequence: number, token });
            let mut row = fields(&item, at)?;
            row.extend(labels.and_then(|labels| labels.get(token)).cloned());
            rows.push(row);
        }
        let mut rows = Columns::from_rows(rows, &name).map_err(|error| raise(py, error))?;
        rows.set_weight(weight).map_err(|error| raise(py, error))?;
        Ok(rows.into())
    }
}

/// The fields of a token: a word alone, or a list of strings.
fn fields(item: &Bound<'_, PyAny>, at: At) -> PyResult<Vec<String>> {
    if let Some(word) = text_of(item) {
        return Ok(vec![word?.to_owned()]);
    }
    let wrong = |what: &Bound<'_, PyAny>| {
        PyTypeError::new_err(format!(
            "{at} has {}: with a template, give a word or a list of strings for every token",
            shown(what)
        ))
    };
    if item.is_instance_of::<PyDict>() {
        return Err(wrong(item));
    }
    let mut row = Vec::new();
    for field in item.try_iter().map_err(|_| wrong(item))? {
        let field = field?;
        row.push(text_of(&field).ok_or_else(|| wrong(&field))??.to_owned());
    }
    Ok(row)
}

/// The tokens of a sequence. A string is not a sequence of tokens.
fn each_token<'py>(
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
fn text_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<PyResult<&'a str>> {
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
fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map_or(String::new(), |text| text.to_string());
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{dots} ({})", type_name(object))
}

/// The labels of a sequence, as strings.
pub(crate) fn labels(labels: &Bound<'_, PyAny>, number: usize) -> PyResult<Vec<String>> {
    let mut found = Vec::new();
    let wrong = |label: &Bound<'_, PyAny>| {
        PyTypeError::new_err(format!("y[{number}] has {}: labels are strings", shown(label)))
    };
    if labels.is_instance_of::<PyString>() {
        return Err(wrong(labels));
    }
    for label in labels.try_iter().map_err(|_| wrong(labels))? {
        let label = label?;
        let text = text_of(&label).ok_or_else(|| wrong(&label))??;
        if text.is_empty() {
            let token = found.len();
            return Err(data_error(
                label.py(),
                format!("y[{number}][{token}] is empty: give every token a label"),
            ));
        }
        found.push(text.to_owned());
    }
    Ok(found)
}

/// A training sequence: tokens with their labels, one for each.
pub(crate) fn labelled(
    converter: &mut Converter,
    tokens: &Bound<'_, PyAny>,
    given: &Bound<'_, PyAny>,
    weight: f64,
    form: Form,
    number: usize,
) -> PyResult<Sequence> {
    let labels = labels(given, number)?;
    let sequence = converter.sequence(tokens, Some(&labels), weight, form, Some(number))?;
    match sequence.len() == labels.len() {
        true => Ok(sequence),
        false => Err(data_error(
            tokens.py(),
            format!("X[{number}] has {} tokens, but y[{number}] has {} labels", sequence.len(), labels.len()),
        )),
    }
}
