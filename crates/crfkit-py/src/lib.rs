//! The extension module of the Python package: crfkit's front door, in Python's types.
//!
//! It holds no algorithm. `features`, `labels`, `reading`, `lists`, `walk`, `keys` and `vectors` turn Python's objects into sequences, `grids` and `graphs` arrays into images and graphs,
//! `train` runs the trainer, `model`, `tagger`, `tagged` and `objective` wrap their namesakes, `text` cuts text, `linked` and `linked_tagger` have factorial and skip chains, `empirical` models of counts, `whole` the best labellings of graphs, `asked`, `many` and `stored` belong to `tagger` and `tagged`, `workers` are
//! shared by threads, and `errors` maps errors to exceptions. The package in `python/crfkit` has the rest.

mod asked;
mod empirical;
mod errors;
mod features;
mod graphs;
mod grids;
mod keys;
mod labels;
mod linked;
mod linked_tagger;
mod lists;
mod many;
mod model;
mod objective;
mod paths;
mod reading;
mod settings;
mod stored;
mod tagged;
mod tagger;
mod text;
mod train;
mod vectors;
mod walk;
mod whole;
mod workers;

use crate::errors::setting_error;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

#[pymodule(gil_used = false)]
mod _crfkit {
    use pyo3::prelude::*;
    use pyo3::types::PySequence;

    #[pymodule_export]
    use super::empirical::train_empirical;
    #[pymodule_export]
    use super::graphs::{PyGraphTagger, train_graph};
    #[pymodule_export]
    use super::grids::{PyGridTagger, train_grid};
    #[pymodule_export]
    use super::linked::train_linked;
    #[pymodule_export]
    use super::linked_tagger::PyLinkedTagger;
    #[pymodule_export]
    use super::many::tag_part;
    #[pymodule_export]
    use super::model::{PyModel, empty_crfsuite, model_from_bytes, write_file};
    #[pymodule_export]
    use super::objective::{PyObjective, chain_objective, graph_objective, grid_objective};
    #[pymodule_export]
    use super::tagged::{PyTagged, tagged_of};
    #[pymodule_export]
    use super::tagger::{PyTagger, tagger_of};
    #[pymodule_export]
    use super::text::{check_text, text_parts};
    #[pymodule_export]
    use super::train::train;

    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");

    /// A labelled sequence is one of `collections.abc.Sequence`.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        PySequence::register::<super::tagged::PyTagged>(module.py())
    }
}

/// Whether a sequence consists of features or of rows of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Each token has features with values.
    Features,
    /// Each token is a row of fields, from which templates make features.
    Rows,
}

/// A number of threads, as Python gives it.
struct Threads(usize);

impl Threads {
    /// The number of threads to use: one for each core, or fewer if so many are given. More would only wait for each other.
    fn count(given: Option<Self>) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        given.map_or(cores, |Threads(threads)| threads.min(cores))
    }
}

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let number = match given.extract::<isize>() {
            Ok(number) if !given.is_instance_of::<PyBool>() => usize::try_from(number).ok(),
            // A number that is too large for its type is more than there are cores.
            Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
                given.gt(0)?.then_some(usize::MAX)
            }
            _ => None,
        };
        number.filter(|number| *number > 0).map(Threads).ok_or_else(|| {
            let what = given.repr().map_or_else(|_| "no number".into(), |text| text.to_string());
            let message =
                format!("threads is {what}: give a whole number of at least 1, or None for all cores");
            setting_error(given.py(), message)
        })
    }
}
