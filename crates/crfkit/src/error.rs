//! Everything that can go wrong, with the place and the remedy in the message.

use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Where in an input something was found: a name (file path, `<stdin>`, a template's name) and a 1-based line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File name or another name of the input.
    pub name: String,
    /// 1-based line number; 0 where no single line is to blame.
    pub line: u64,
}

impl Place {
    /// A place in the input called `name`.
    pub fn new(name: impl Into<String>, line: u64) -> Self {
        Place { name: name.into(), line }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.name),
            line => write!(f, "{}:{line}", self.name),
        }
    }
}

/// The one error type of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user's text (data, template) is wrong at a place. The message names the remedy.
    #[error("{place}: {message}")]
    Input {
        /// File and line.
        place: Place,
        /// What is wrong and what to do about it.
        message: String,
    },
    /// A setting cannot be used; refused before any work starts.
    #[error("{0}")]
    Setting(String),
    /// A method that cannot minimise an objective.
    #[error(
        "--optimizer {optimizer} needs {need}, which --objective {objective} does not give; this objective works with \
         --optimizer {optimizers}; this method with --objective {objectives}"
    )]
    Pair {
        /// The method.
        optimizer: &'static str,
        /// The objective.
        objective: &'static str,
        /// What the method needs.
        need: &'static str,
        /// Methods that work with the objective.
        optimizers: String,
        /// Objectives that work with the method.
        objectives: String,
    },
    /// A model or checkpoint file cannot be used.
    #[error("{name}: {message}")]
    File {
        /// Name of the file.
        name: String,
        /// What is wrong and what to do about it.
        message: String,
    },
    /// Reading or writing failed.
    #[error("{name}: {error}")]
    Io {
        /// Name of the file or stream.
        name: String,
        /// The operating system's own words. Not a `source`: the message has them already.
        error: std::io::Error,
    },
    /// Training left the finite numbers.
    #[error("training diverged after {passes:.2} passes: {message}")]
    Diverged {
        /// Passes over the data until then.
        passes: f64,
        /// What to change.
        message: String,
    },
}

impl Error {
    /// An [`Error::Input`].
    pub fn input(place: Place, message: impl Into<String>) -> Self {
        Error::Input { place, message: message.into() }
    }

    /// An [`Error::Io`] on the input or output called `name`.
    pub fn io(name: impl Into<String>, error: std::io::Error) -> Self {
        Error::Io { name: name.into(), error }
    }
}
