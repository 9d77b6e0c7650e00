//! Python's lists: the sequences of a list, the tokens of a sequence, and other things in order.

use crate::walk::{shown, type_name};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyIterator, PyList, PySet, PyString, PyTuple};
use std::fmt;

/// Tokens whose lists are copied together.
const TOGETHER: usize = 32;

/// The tokens of a sequence. A string is not a sequence of tokens.
pub(crate) fn each_token<'py>(
    tokens: &Bound<'py, PyAny>,
    name: &impl fmt::Display,
) -> PyResult<Box<dyn Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'py>> {
    let wrong =
        || PyTypeError::new_err(format!("{name} is {}: give a list with an entry per token", shown(tokens)));
    if let Ok(list) = tokens.cast_exact::<PyList>() {
        let tokens = list.to_tuple();
        let parts = (0..tokens.len()).step_by(TOGETHER);
        return Ok(Box::new(parts.flat_map(move |start| copies(&tokens, start)).map(Ok)));
    }
    if !is_list(tokens) {
        return Err(wrong());
    }
    Ok(Box::new(iterator(tokens, wrong)?))
}

/// The next tokens. Those that are lists are copied: this reads the memory of all names at once, which then is at hand.
fn copies<'py>(tokens: &Bound<'py, PyTuple>, start: usize) -> Vec<Bound<'py, PyAny>> {
    let copy = |token: Bound<'py, PyAny>| match token.cast_exact::<PyList>() {
        Ok(list) => list.to_tuple().into_any(),
        Err(_) => token,
    };
    tokens.get_slice(start, start + TOGETHER).iter().map(copy).collect()
}

/// Whether an object may be a list of things in order: no text, no dict, no set, and no table, which would be a list of its columns.
pub(crate) fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || !(object.is_instance_of::<PyString>()
            || object.is_instance_of::<PyDict>()
            || object.is_instance_of::<PySet>()
            || object.is_instance_of::<PyFrozenSet>()
            || type_name(object) == "DataFrame")
}

/// The sequences of a list.
pub(crate) fn each_sequence<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    let wrong = || PyTypeError::new_err(format!("X is {}: give a list of sequences", shown(given)));
    if !is_list(given) {
        return Err(wrong());
    }
    iterator(given, wrong)
}

/// The iterator of an object, or this exception if it has none. Any other exception, such as Ctrl-C, is of the object's own code.
pub(crate) fn iterator<'py>(
    given: &Bound<'py, PyAny>,
    wrong: impl FnOnce() -> PyErr,
) -> PyResult<Bound<'py, PyIterator>> {
    let none = |error: &PyErr| error.is_instance_of::<PyTypeError>(given.py());
    given.try_iter().map_err(|error| if none(&error) { wrong() } else { error })
}
