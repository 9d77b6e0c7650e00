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
    /// A graph cannot be built, or an engine or decoder cannot work on it.
    #[error(transparent)]
    Graph(#[from] GraphError),
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

/// What is wrong with a graph, or why an engine or decoder refuses it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A variable without labels.
    #[error("variable {var} has no labels: every variable needs at least one")]
    NoLabels {
        /// Its number.
        var: usize,
    },
    /// A factor without variables.
    #[error("a factor needs at least one variable")]
    NoVariables,
    /// A factor names a variable that does not exist.
    #[error("a factor is over variable {var}, but the graph has {vars} variables (numbered from 0)")]
    NoSuchVariable {
        /// The number that was named.
        var: usize,
        /// How many there are.
        vars: usize,
    },
    /// A piece names a factor that does not exist.
    #[error("a piece has factor {factor}, but the graph has {factors} factors (numbered from 0)")]
    NoSuchFactor {
        /// The number that was named.
        factor: usize,
        /// How many there are.
        factors: usize,
    },
    /// A graph has no such pieces.
    #[error("--pieces {pieces} needs {needs}: choose other pieces, as edge or trees")]
    NoSuchPieces {
        /// The pieces that were asked for.
        pieces: String,
        /// What they are for.
        needs: &'static str,
    },
    /// A factor names a variable twice.
    #[error("a factor names variable {var} twice: name each variable once")]
    RepeatedVariable {
        /// Its number.
        var: usize,
    },
    /// A table that cannot be held.
    #[error("a factor's table would have more than {limit} entries: use smaller factors")]
    TableTooLarge {
        /// Entries at most.
        limit: usize,
    },
    /// Tables that are tied must have one shape.
    #[error("{table} is {}×{} elsewhere, but {}×{} here", expected.0, expected.1, found.0, found.1)]
    WrongShape {
        /// Which table, in words.
        table: String,
        /// Rows and columns as first seen.
        expected: (usize, usize),
        /// Rows and columns now.
        found: (usize, usize),
    },
    /// An array of log-potentials that does not fit the graph.
    #[error("the example's own tables have {expected} numbers, but {found} are given")]
    WrongLength {
        /// What the graph says.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// Exact propagation on a graph that is no forest.
    #[error("the factor over variables {vars:?} closes a loop: use a junction tree or an approximate engine")]
    Loop {
        /// Variables of the factor.
        vars: Vec<usize>,
    },
    /// A junction tree that would not fit.
    #[error(
        "exact inference needs tables over {width} variables and at least {bytes} bytes, more than the {limit} allowed: use an \
         approximate engine, or allow more memory"
    )]
    TooWide {
        /// Variables in the largest table.
        width: usize,
        /// Memory for all tables.
        bytes: u128,
        /// Memory allowed.
        limit: usize,
    },
    /// A factor over more than two variables.
    #[error("the factor over variables {vars:?} has more than two: {engine} works on nodes and pairs only")]
    NotPairwise {
        /// Who refuses.
        engine: &'static str,
        /// Variables of the factor.
        vars: Vec<usize>,
    },
    /// A variable that is not binary.
    #[error("variable {var} has {card} labels: graph cuts need two (use α-expansion for more)")]
    NotBinary {
        /// Its number.
        var: usize,
        /// How many labels it has.
        card: usize,
    },
    /// A pair of variables that prefers to differ.
    #[error(
        "the pair of variables {vars:?} is not submodular: it prefers unequal labels; use another decoder"
    )]
    NotSubmodular {
        /// The two variables.
        vars: [usize; 2],
    },
}
