//! Paths and bytes, as Python gives them.

use crate::walk::shown;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use std::borrow::Cow;
use std::path::PathBuf;

/// The path of a file: a string, bytes, or an object with `__fspath__`.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for FilePath {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = given.py();
        let decoded = py.import("os")?.getattr("fsdecode")?.call1((given,)).map_err(|error| {
            let what = shown(&given);
            match error.is_instance_of::<PyTypeError>(py) {
                true => {
                    PyTypeError::new_err(format!("{what} is not a path: give a str, bytes or an os.PathLike"))
                }
                false => error,
            }
        })?;
        decoded.extract().map(FilePath)
    }
}

/// The bytes of an object that has some. Those of `bytes`, which nobody changes, are not copied.
pub(crate) fn bytes_of<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().into());
    }
    let view = PyMemoryView::from(given).map_err(|_| {
        let what = shown(given);
        PyTypeError::new_err(format!(
            "data is {what}: give the bytes of a model file, as Model.to_bytes returns them; Model.load takes a path"
        ))
    })?;
    Ok(view.call_method0("tobytes")?.extract::<Vec<u8>>()?.into())
}
