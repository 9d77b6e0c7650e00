//! The error types. Every message says what is wrong, where, and what to do.

use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// `1 column`, `2 columns`: a number of things whose plural ends in `s`.
pub fn counted(count: impl fmt::Display, one: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {one}{ending}")
}

/// The end of `there is only 1 column`, `there are only 2 columns`.
pub(crate) fn only_columns(count: usize) -> String {
    format!("{} only {}", if count == 1 { "is" } else { "are" }, counted(count, "column"))
}

/// A place in an input: the input's name (a file path, `<stdin>` or a template's name) and a 1-based line number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's path, or another name for the input.
    pub name: String,
    /// The 1-based line number; 0 if no single line is to blame.
    pub line: u64,
}

impl Place {
    /// Line `line` of the input called `name`.
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

/// The library's error type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user's text (data or template) is wrong at some place. The message says how to put it right.
    #[error("{place}: {message}")]
    Input {
        /// File and line.
        place: Place,
        /// What is wrong and what to do about it.
        message: String,
    },
    /// A setting cannot be used. It is rejected before any work starts.
    #[error("{0}")]
    Setting(String),
    /// The chosen method cannot minimise the chosen objective.
    #[error(
        "`optimizer` {optimizer} needs {need}, which `objective` {objective} does not provide; this objective works with `optimizer` {optimizers}; this method works with `objective` {objectives}"
    )]
    Incompatible {
        /// Name of the method.
        optimizer: &'static str,
        /// Name of the objective.
        objective: &'static str,
        /// What the method needs and the objective does not provide.
        need: &'static str,
        /// Methods that can minimise the objective.
        optimizers: String,
        /// Objectives that the method can minimise.
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
        /// The operating system's error. It is not a `source`, because the message already contains its text.
        error: std::io::Error,
    },
    /// A graph cannot be built, or an engine or decoder cannot work on it.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The objective or the weights became infinite or NaN during training.
    #[error("training diverged after {passes:.2} passes: {message}")]
    Diverged {
        /// Passes over the training set up to that point.
        passes: f64,
        /// What to change before trying again.
        message: String,
    },
}

impl Error {
    /// Makes an [`Error::Input`].
    pub fn input(place: Place, message: impl Into<String>) -> Self {
        Error::Input { place, message: message.into() }
    }

    /// Makes an [`Error::Io`] for the input or output called `name`.
    pub fn io(name: impl Into<String>, error: std::io::Error) -> Self {
        Error::Io { name: name.into(), error }
    }
}

/// Why a graph cannot be built, or why an engine or decoder rejects it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A variable has no labels.
    #[error("variable {var} has no labels: every variable needs at least one")]
    NoLabels {
        /// Number of the variable.
        var: usize,
    },
    /// A factor has no variables.
    #[error("a factor needs at least one variable")]
    NoVariables,
    /// A factor names a variable that does not exist.
    #[error("a factor is over variable {var}, but the graph has {vars} variables (numbered from 0)")]
    NoSuchVariable {
        /// The variable number that the factor names.
        var: usize,
        /// How many variables the graph has.
        vars: usize,
    },
    /// A piece names a factor that does not exist.
    #[error("a piece has factor {factor}, but the graph has {factors} factors (numbered from 0)")]
    NoSuchFactor {
        /// The factor number that the piece names.
        factor: usize,
        /// How many factors the graph has.
        factors: usize,
    },
    /// The graph cannot be split into the requested pieces.
    #[error("`pieces` {pieces} needs {needs}: choose other pieces, such as edge or trees")]
    NoSuchPieces {
        /// The pieces that were requested.
        pieces: String,
        /// The graphs that such pieces need.
        needs: &'static str,
    },
    /// A factor names a variable twice.
    #[error("a factor names variable {var} twice: name each variable once")]
    RepeatedVariable {
        /// Number of the variable.
        var: usize,
    },
    /// A factor's table is too large to be held in memory.
    #[error("a factor's table would have more than {limit} entries: use smaller factors")]
    TableTooLarge {
        /// The largest number of entries allowed.
        limit: usize,
    },
    /// Two tables share their weights but differ in shape.
    #[error("{table} is {}×{} elsewhere, but {}×{} here", expected.0, expected.1, found.0, found.1)]
    WrongShape {
        /// Description of the table.
        table: String,
        /// Rows and columns where the table was first seen.
        expected: (usize, usize),
        /// Rows and columns of the table that differs.
        found: (usize, usize),
    },
    /// An array of log-potentials does not fit the graph.
    #[error("the example's own tables have {expected} numbers, but {found} are given")]
    WrongLength {
        /// How many numbers the graph needs.
        expected: usize,
        /// How many numbers were given.
        found: usize,
    },
    /// Exact propagation was asked for on a graph that is not a forest.
    #[error("the factor over variables {vars:?} closes a loop: use a junction tree or an approximate engine")]
    Loop {
        /// Variables of the factor that closes the loop.
        vars: Vec<usize>,
    },
    /// A junction tree would not fit into the memory allowed.
    #[error(
        "exact inference needs tables over {width} variables and at least {bytes} bytes, more than the {limit} allowed: use an \
         approximate engine, or allow more memory"
    )]
    TooWide {
        /// Variables in the largest table.
        width: usize,
        /// Memory needed for all tables, in bytes.
        bytes: u128,
        /// Memory allowed, in bytes.
        limit: usize,
    },
    /// A factor has more than two variables, and the engine works only on nodes and pairs.
    #[error("the factor over variables {vars:?} has more than two: {engine} works on nodes and pairs only")]
    NotPairwise {
        /// Name of the engine or decoder that rejects the factor.
        engine: &'static str,
        /// Variables of the factor.
        vars: Vec<usize>,
    },
    /// A variable is not binary, as graph cuts need it to be.
    #[error("variable {var} has {card} labels: graph cuts need two (use α-expansion for more)")]
    NotBinary {
        /// Number of the variable.
        var: usize,
        /// How many labels it has.
        card: usize,
    },
    /// A pair of variables prefers to have different labels, which graph cuts cannot handle.
    #[error(
        "the pair of variables {vars:?} is not submodular: it prefers unequal labels; use another decoder"
    )]
    NotSubmodular {
        /// The two variables.
        vars: [usize; 2],
    },
}
