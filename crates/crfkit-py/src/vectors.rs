//! Arrays of numbers, alone or beside the tokens of a sequence.

use crate::errors::{data_error, raise};
use crate::walk::Name;
use crfkit::chain::Sequence;
use crfkit::data::vectors::Vectors;
use numpy::{PyArray2, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// An array of numbers.
pub(crate) type Matrix<'py> = Bound<'py, PyUntypedArray>;

/// A sequence, split into its tokens and the array beside them: a list is tokens, an array (tokens, numbers) is alone, and a tuple of tokens
/// and such an array is both.
pub(crate) fn split<'py>(
    given: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<(Option<Bound<'py, PyAny>>, Option<Matrix<'py>>)> {
    if given.is_instance_of::<PyList>() {
        return Ok((Some(given.clone()), None));
    }
    if let Ok(pair) = given.cast::<PyTuple>()
        && pair.len() == 2
        && let Some(array) = matrix(&pair.get_item(1)?, name)?
    {
        return Ok((Some(pair.get_item(0)?), Some(array)));
    }
    Ok(match matrix(given, name)? {
        Some(array) => (None, Some(array)),
        None => (Some(given.clone()), None),
    })
}

/// The array of numbers that an object is; `None` if it is no such array.
fn matrix<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Matrix<'py>>> {
    let Ok(array) = object.cast::<PyUntypedArray>() else { return Ok(None) };
    if !matches!(array.dtype().kind(), b'f' | b'i' | b'u' | b'b') {
        return Ok(None);
    }
    if !array.is_exact_instance_of::<PyUntypedArray>()
        && object.py().import("numpy.ma")?.getattr("is_masked")?.call1((object,))?.is_truthy()?
    {
        return Err(data_error(
            object.py(),
            format!(
                "{name} has an array with masked values, which are not known: fill them, as numpy.ma.filled does"
            ),
        ));
    }
    if matches!(array.shape(), [_, numbers] if *numbers > 0) {
        return Ok(Some(array.clone()));
    }
    let shape = array.getattr("shape")?;
    Err(data_error(
        object.py(),
        format!(
            "{name} has an array of the shape {shape}: give one of (tokens, numbers), with at least 1 number"
        ),
    ))
}

/// The numbers of an array. It is an error if one is not finite.
fn vectors(array: &Matrix<'_>, name: &str) -> PyResult<Vectors> {
    let py = array.py();
    let width = array.shape()[1];
    let values: Vec<f32> = match array.cast::<PyArray2<f32>>() {
        Ok(array) => array.try_readonly()?.as_array().iter().copied().collect(),
        Err(_) => {
            let wide = array.call_method1("astype", ("float64",))?;
            let wide = wide.cast::<PyArray2<f64>>()?;
            wide.try_readonly()?.as_array().iter().map(|x| *x as f32).collect()
        }
    };
    if let Some(at) = values.iter().position(|x| !x.is_finite()) {
        let (token, column, x) = (at / width, at % width, values[at]);
        return Err(data_error(
            py,
            format!(
                "{name} has {x} in row {token}, column {column} of its array: give finite numbers below 3.4e38, 0 where nothing is known"
            ),
        ));
    }
    Vectors::new(width, values).map_err(|error| raise(py, error))
}

/// The numbers of an array beside this many tokens.
pub(crate) fn vectors_for(tokens: usize, array: &Matrix<'_>, name: &str) -> PyResult<Vectors> {
    match array.shape()[0] {
        rows if rows == tokens => vectors(array, name),
        rows => Err(data_error(
            array.py(),
            format!("{name} has {tokens} tokens, but its array has {rows} rows: give one for each token"),
        )),
    }
}

/// Adds an array to a sequence of as many tokens.
pub(crate) fn beside(mut sequence: Sequence, array: &Matrix<'_>, name: &str) -> PyResult<Sequence> {
    let vectors = vectors_for(sequence.len(), array, name)?;
    sequence.set_vectors(vectors).map_err(|error| raise(array.py(), error))?;
    Ok(sequence)
}

/// The sequence, which may have no array: this kind of model takes none.
pub(crate) fn without(mut sequence: Sequence, py: Python<'_>, name: Name<'_>) -> PyResult<Sequence> {
    match sequence.take_vectors().width() {
        0 => Ok(sequence),
        _ => Err(data_error(py, format!("{name} has an array, but this kind of model takes words only"))),
    }
}
