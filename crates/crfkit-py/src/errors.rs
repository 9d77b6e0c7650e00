//! Errors of the library as exceptions of the package, which `crfkit/errors.py` defines.

use crfkit::{Error, Place};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError};
use pyo3::prelude::*;

/// The exception for an error of the library.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Input { place, message } => {
            exception(py, "DataError", format!("{}: {message}", in_python(&place)))
        }
        Error::File { .. } => exception(py, "ModelFileError", error.to_string()),
        Error::Diverged { .. } => exception(py, "DivergedError", error.to_string()),
        Error::Io { name, .. } if name.is_empty() => {
            PyFileNotFoundError::new_err("the path is empty: give the name of a file")
        }
        Error::Io { name, error } => match error.raw_os_error() {
            // With an error number, Python chooses the subclass: FileNotFoundError, PermissionError, ...
            Some(number) => {
                let text = error.to_string();
                // Python adds the number itself.
                let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, text, name))
            }
            None if error.kind() == std::io::ErrorKind::NotFound => {
                PyFileNotFoundError::new_err(format!("{name}: {error}"))
            }
            None => PyOSError::new_err(format!("{name}: {error}")),
        },
        _ => exception(py, "SettingError", without_files(error.to_string())),
    }
}

/// The exception for data that cannot be used.
pub(crate) fn data_error(py: Python<'_>, message: String) -> PyErr {
    exception(py, "DataError", message)
}

/// The exception for a setting that cannot be used.
pub(crate) fn setting_error(py: Python<'_>, message: String) -> PyErr {
    exception(py, "SettingError", message)
}

/// A place as Python names it: lines of what Python gave are its tokens, counted from 0. The first may stand for the whole.
fn in_python(place: &Place) -> String {
    match (&place.name, place.line) {
        (name, 1) if name == "x" || name.ends_with(']') => name.clone(),
        (name, line) if line > 1 && (name == "x" || name.ends_with(']')) => format!("{name}[{}]", line - 1),
        _ => place.to_string(),
    }
}

/// The message, without advice about the columns and lines of files: labels from Python are in neither.
fn without_files(message: String) -> String {
    match message.split_once(": is the label really ") {
        Some((what, _)) => format!("{what}: are they labels, or words?"),
        None => message,
    }
}

fn exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    let made = || py.import("crfkit.errors")?.getattr(class)?.call1((message,));
    made().map_or_else(|error| error, PyErr::from_value)
}
