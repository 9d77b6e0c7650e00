//! Errors of the library as exceptions of the package, which `crfkit/errors.py` defines.

use crfkit::Error;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The exception for an error of the library.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Input { .. } => exception(py, "DataError", error.to_string()),
        Error::File { .. } => exception(py, "ModelFileError", error.to_string()),
        Error::Diverged { .. } => exception(py, "DivergedError", error.to_string()),
        Error::Io { name, error } => match error.raw_os_error() {
            // With an error number, Python chooses the subclass: FileNotFoundError, PermissionError, ...
            Some(number) => PyOSError::new_err((number, error.to_string(), name)),
            None => PyOSError::new_err(format!("{name}: {error}")),
        },
        _ => exception(py, "SettingError", error.to_string()),
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

fn exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    let made = || py.import("crfkit.errors")?.getattr(class)?.call1((message,));
    made().map_or_else(|error| error, PyErr::from_value)
}
