//! The features of a token, as Python gives them: dicts, lists of names, and what is nested in them.

use crate::errors::data_error;
use crate::keys::{Key, Keys, SEPARATOR};
use crate::lists::iterator;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyMapping, PySet, PyString, PyTuple,
};
use std::fmt;

/// Receives features.
pub(crate) trait Receiver {
    /// Receives a feature. Its name is made of these parts: prefix, name, and perhaps a separator and a text.
    fn feature(&mut self, parts: [&str; 4], value: f64);

    /// Receives the feature that is a key.
    fn number(&mut self, key: &Key, value: f64) {
        self.feature(["", key.name(), "", ""], value);
    }

    /// Receives features that are names alone.
    fn names(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.feature(["", name, "", ""], 1.0));
    }

    /// Receives the feature that is a key with a text.
    fn text(&mut self, key: &mut Key, text: &str) {
        self.feature([key.prefix(), text, "", ""], 1.0);
    }
}

/// What the caller gave, as messages name it: `x`, or `X[3]` if it is one of many.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) of: &'a str,
    pub(crate) number: Option<usize>,
}

impl Name<'_> {
    /// The only sequence.
    pub(crate) const ONLY: Name<'static> = Name { of: "x", number: None };

    /// Number `number` of the sequences.
    pub(crate) fn x(number: usize) -> Self {
        Name { of: "X", number: Some(number) }
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}[{number}]", self.of),
            None => write!(f, "{}", self.of),
        }
    }
}

/// A token of a sequence, or a node or factor of a graph, as messages name it: `X[3][5]`.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) of: Name<'a>,
    pub(crate) number: usize,
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.of, self.number)
    }
}

/// Features may be nested this deep. A dict can contain itself.
const DEEPEST: usize = 100;

/// Where nested features stand: what their names begin with, and how many dicts and lists are around them.
#[derive(Clone, Copy)]
struct Nest<'a> {
    prefix: &'a str,
    depth: usize,
}

impl Nest<'static> {
    /// The features of a token itself.
    const OUTERMOST: Nest<'static> = Nest { prefix: "", depth: 0 };
}

/// A feature of a token, as messages name it: `X[3][5]['word']`, or the token itself before there is a name.
struct Feature<'a>(&'a At<'a>, [&'a str; 2]);

impl fmt::Display for Feature<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Feature(at, [prefix, name]) = self;
        // What is nested has a separator behind its name.
        let prefix = if name.is_empty() { prefix.strip_suffix(SEPARATOR).unwrap_or(prefix) } else { prefix };
        match prefix.is_empty() && name.is_empty() {
            true => write!(f, "{at}"),
            false => write!(f, "{at}['{prefix}{name}']"),
        }
    }
}

/// Sends the features of a token, node or factor.
pub(crate) fn walk(
    item: &Bound<'_, PyAny>,
    at: &At<'_>,
    keys: &mut Keys,
    out: &mut impl Receiver,
) -> PyResult<()> {
    let Ok(dict) = item.cast::<PyDict>() else {
        return match item.cast_exact::<PyTuple>() {
            Ok(tuple) => names(tuple, at, out),
            Err(_) => walk_into(item, Nest::OUTERMOST, at, out),
        };
    };
    for (place, (key, value)) in dict.iter().enumerate() {
        if keys.find(place, &key).is_some_and(|known| send_known(known, &value, out)) {
            continue;
        }
        if is_plain(&value) {
            pair(&key, &value, Nest::OUTERMOST, at, out)?;
            continue;
        }
        // Reading it may run Python code, which may change the dict.
        let rest: Vec<_> = dict.iter().skip(place).collect();
        for (place, (key, value)) in (place..).zip(&rest) {
            if !keys.find(place, key).is_some_and(|known| send_known(known, value, out)) {
                pair(key, value, Nest::OUTERMOST, at, out)?;
            }
        }
        break;
    }
    keys.finish(dict.len());
    Ok(())
}

/// Sends the features of a token that are names alone.
///
/// The names mostly lie far from the processor. Loops that do little else wait for the memory of many at once: so all texts are found before
/// the receiver reads them.
fn names(tuple: &Bound<'_, PyTuple>, at: &At<'_>, out: &mut impl Receiver) -> PyResult<()> {
    let mut texts = Vec::with_capacity(tuple.len());
    for name in tuple.iter_borrowed() {
        match <&str>::extract(name) {
            Ok(text) if !text.is_empty() => texts.push(text),
            // Nothing is sent yet.
            _ => return walk_into(tuple, Nest::OUTERMOST, at, out),
        }
    }
    out.names(&texts);
    Ok(())
}

/// Sends an entry of a dict whose key is known. False if its value is of a rarer type, and nothing was sent.
#[inline]
fn send_known(key: &mut Key, value: &Bound<'_, PyAny>, out: &mut impl Receiver) -> bool {
    if let Ok(text) = value.cast_exact::<PyString>() {
        let Ok(text) = text.to_str() else { return false };
        out.text(key, text);
        return true;
    }
    let number = match value.cast_exact::<PyBool>() {
        Ok(truth) => f64::from(u8::from(truth.is_true())),
        Err(_) => match value.cast_exact::<PyFloat>() {
            Ok(number) if number.value().is_finite() => number.value(),
            _ => return false,
        },
    };
    out.number(key, number);
    true
}

/// Whether it is a string, a boolean or a number of Python's own.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyInt>()
}

/// Sends the features of a token, or those of a nested value.
fn walk_into(item: &Bound<'_, PyAny>, nest: Nest<'_>, at: &At<'_>, out: &mut impl Receiver) -> PyResult<()> {
    let prefix = nest.prefix;
    if let Ok(dict) = item.cast::<PyDict>() {
        // A copy: reading a value may run Python code, which may change the dict.
        let entries: Vec<_> = dict.iter().collect();
        for (key, value) in &entries {
            pair(key, value, nest, at, out)?;
        }
        return Ok(());
    }
    if item.is_instance_of::<PyString>() || item.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!(
            "{at} is a string: give a dict or a list of features, or words and a template"
        )));
    }
    // Whether it is another mapping is a question that takes long.
    let plain = item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>();
    if !plain && matches!(&*type_name(item), "DataFrame" | "Series") {
        // The names of columns, or values without their names, would be the features.
        let place = Feature(at, [prefix, ""]);
        return Err(PyTypeError::new_err(format!(
            "{place} is {}: give a dict, as its to_dict makes one",
            shown(item)
        )));
    }
    if !plain && let Ok(mapping) = item.cast::<PyMapping>() {
        for entry in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            pair(&key, &value, nest, at, out)?;
        }
        return Ok(());
    }
    let items = iterator(item, || {
        let place = Feature(at, [prefix, ""]);
        PyTypeError::new_err(format!("{place} is {}: give a dict or a list of strings", type_name(item)))
    })?;
    let is_set = item.is_instance_of::<PySet>() || item.is_instance_of::<PyFrozenSet>();
    let mut names = Vec::new();
    for name in items {
        let name = name?;
        let Some(Ok(text)) = text_of(&name) else { return Err(no_name(&name, prefix, at)) };
        match is_set {
            true => names.push(text.to_owned()),
            false => send([prefix, text, "", ""], 1.0, at, item.py(), out)?,
        }
    }
    // The order of a set differs from one process to the next, and features are numbered as they come.
    names.sort_unstable();
    names.iter().try_for_each(|name| send([prefix, name, "", ""], 1.0, at, item.py(), out))
}

/// The exception for an entry of a list that is no name of a feature.
#[cold]
fn no_name(name: &Bound<'_, PyAny>, prefix: &str, at: &At<'_>) -> PyErr {
    let place = Feature(at, [prefix, ""]);
    if text_of(name).is_some() {
        return not_text(name, place);
    }
    let array = match name.extract::<f64>() {
        Ok(_) => "; for numbers alone, make the sequence an array (tokens, numbers)",
        Err(_) => "",
    };
    PyTypeError::new_err(format!("{place} has the feature {}: a feature is a string{array}", shown(name)))
}

/// Sends one entry of a dict: `key:text` for a string, `key` with its value for a number, `key:...` for what is nested.
fn pair(
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    nest: Nest<'_>,
    at: &At<'_>,
    out: &mut impl Receiver,
) -> PyResult<()> {
    let (py, prefix) = (key.py(), nest.prefix);
    let Some(Ok(name)) = text_of(key) else { return Err(no_key(key, prefix, at)) };
    // The cheapest question first.
    if let Ok(truth) = value.cast::<PyBool>() {
        return send([prefix, name, "", ""], f64::from(u8::from(truth.is_true())), at, py, out);
    }
    if let Some(text) = text_of(value) {
        let text = text.map_err(|_| not_text(value, Feature(at, [prefix, name])))?;
        return send([prefix, name, SEPARATOR, text], 1.0, at, py, out);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return send([prefix, name, "", ""], number.value(), at, py, out);
    }
    if value.is_instance_of::<PyInt>() || is_scalar(value)? {
        match value.extract::<f64>() {
            Ok(number) => return send([prefix, name, "", ""], number, at, py, out),
            Err(error) if is_no_number(&error, py) => {}
            Err(error) => return Err(error),
        }
    }
    let place = Feature(at, [prefix, name]);
    if value.is_instance_of::<PyInt>() {
        return Err(data_error(py, format!("{place} is {}: give a smaller number", shown(value))));
    }
    let wrong = || {
        PyTypeError::new_err(format!(
            "{place} is {}: give a string, a number, a boolean, or a dict or list of these",
            shown(value)
        ))
    };
    if value.is_none() {
        return Err(wrong());
    }
    iterator(value, wrong)?;
    if nest.depth == DEEPEST {
        // The name would be as long as the nest is deep.
        return Err(data_error(py, format!("{at} has features that are nested more than {DEEPEST} deep")));
    }
    walk_into(value, Nest { prefix: &format!("{prefix}{name}{SEPARATOR}"), depth: nest.depth + 1 }, at, out)
}

/// The exception for a key that is no name of a feature.
#[cold]
fn no_key(key: &Bound<'_, PyAny>, prefix: &str, at: &At<'_>) -> PyErr {
    let place = Feature(at, [prefix, ""]);
    match text_of(key) {
        Some(_) => not_text(key, place),
        None => PyTypeError::new_err(format!(
            "{place} has the key {}: the name of a feature is a string",
            shown(key)
        )),
    }
}

/// Sends a feature, unless it has no name or no finite value.
#[inline(always)]
fn send(parts: [&str; 4], value: f64, at: &At<'_>, py: Python<'_>, out: &mut impl Receiver) -> PyResult<()> {
    let nameless = parts[1].is_empty() && parts.iter().all(|part| part.is_empty());
    if nameless || !value.is_finite() {
        return Err(no_feature(parts, value, at, py));
    }
    out.feature(parts, value);
    Ok(())
}

/// The exception for a feature without a name or a finite value.
#[cold]
fn no_feature([prefix, name, ..]: [&str; 4], value: f64, at: &At<'_>, py: Python<'_>) -> PyErr {
    let what = match value.is_finite() {
        true => "has no name: give every feature one".into(),
        false => format!("is {value}: give a finite number"),
    };
    data_error(py, format!("{at}['{prefix}{name}'] {what}"))
}

/// The text of a string, or of bytes in UTF-8; `None` for any other object. See [`not_text`] for what has none.
#[inline(always)]
pub(crate) fn text_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<Result<&'a str, NotText>> {
    // The cheapest question first.
    if let Ok(text) = object.cast_exact::<PyString>() {
        return Some(text.to_str().map_err(|_| NotText));
    }
    rarer_text_of(object)
}

fn rarer_text_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<Result<&'a str, NotText>> {
    if let Ok(text) = object.cast::<PyString>() {
        return Some(text.to_str().map_err(|_| NotText));
    }
    let bytes = object.cast::<PyBytes>().ok()?;
    Some(std::str::from_utf8(bytes.as_bytes()).map_err(|_| NotText))
}

/// What a string or bytes are that have no text in UTF-8.
pub(crate) struct NotText;

/// The exception for a string or bytes at a place that have no text in UTF-8.
#[cold]
pub(crate) fn not_text(object: &Bound<'_, PyAny>, at: impl fmt::Display) -> PyErr {
    data_error(object.py(), format!("{at} has {}, which is not text in UTF-8", shown(object)))
}

/// Whether an exception says that an object is no number, or none that fits.
fn is_no_number(error: &PyErr, py: Python<'_>) -> bool {
    error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyOverflowError>(py)
}

/// Whether it is a number that is no `int` or `float`, as those of NumPy.
fn is_scalar(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if (value.hasattr("__float__")? || value.hasattr("__index__")?) && !value.hasattr("__len__")? {
        return Ok(true);
    }
    let axes = value.getattr_opt("ndim")?;
    Ok(axes.is_some_and(|axes| axes.extract::<usize>().is_ok_and(|axes| axes == 0)))
}

pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or("?".into(), |name| name.to_string())
}

/// Whether it is an element that NumPy masks.
pub(crate) fn is_masked(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name == "MaskedConstant")
}

/// An object in a message: its type, and the beginning of its text.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map_or(String::new(), |text| text.to_string_lossy().into_owned());
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("{short}{dots} ({})", type_name(object))
}
