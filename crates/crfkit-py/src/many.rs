//! Labelling many sequences.

use crate::Threads;
use crate::errors::raise;
use crate::features::{Converter, Input};
use crate::lists::each_sequence;
use crate::tagged::PyTagged;
use crate::tagger::{PyTagger, Worker};
use crate::walk::Name;
use crate::workers::{PART, locked};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// A sequence and the numbers of its labels.
type Labelled = (Input, Vec<u32>);

impl PyTagger {
    /// Converts and labels many sequences, of which the first one has this number in messages. Returns those before the first mistake, and
    /// that mistake, if there is one.
    fn label_many(
        &self,
        xs: &Bound<'_, PyAny>,
        first: usize,
        given: Option<Threads>,
    ) -> PyResult<(Vec<Labelled>, Option<PyErr>)> {
        let idle = locked(&self.converters).pop();
        let mut converter = idle.unwrap_or_default();
        if let Ok(list) = xs.cast::<PyList>()
            && list.len() == 1
        {
            let found = self.label_one(&mut converter, &list.get_item(0)?, Name::x(first));
            locked(&self.converters).push(converter);
            return Ok(found.map_or_else(|mistake| (Vec::new(), Some(mistake)), |one| (vec![one], None)));
        }
        // A thread must be worth its start.
        let parts = xs.len().map_or(usize::MAX, |count| count.div_ceil(PART).max(1));
        let threads = Threads::count(given).min(parts);
        let inputs = each_sequence(xs)?
            .enumerate()
            .map(|(number, x)| self.input(&mut converter, &x?, Name::x(first + number)));
        let label =
            |worker: &mut Worker, input: Input| self.label(worker, &input).map(|labels| (input, labels));
        let found = self.workers.as_they_come(xs.py(), inputs, threads, label);
        locked(&self.converters).push(converter);
        Ok(found)
    }

    /// The same for one sequence, which needs no line to other threads.
    fn label_one(&self, converter: &mut Converter, x: &Bound<'_, PyAny>, of: Name<'_>) -> PyResult<Labelled> {
        let input = self.input(converter, x, of)?;
        let labels = x.py().detach(|| self.workers.with(|worker| self.label(worker, &input)));
        Ok((input, labels.map_err(|error| raise(x.py(), error))?))
    }

    /// The same for many sequences, all of which must be in order.
    pub(crate) fn label_all(&self, xs: &Bound<'_, PyAny>, given: Option<Threads>) -> PyResult<Vec<Labelled>> {
        match self.label_many(xs, 0, given)? {
            (all, None) => Ok(all),
            (_, Some(mistake)) => Err(mistake),
        }
    }
}

/// The answers to sequences up to the first one that is wrong, and the exception for that one. The first sequence has the number ``first`` in
/// messages. The package's streams call this function.
#[pyfunction]
#[pyo3(signature = (tagger, xs, first, threads=None))]
pub(crate) fn tag_part<'py>(
    tagger: &Bound<'py, PyTagger>,
    xs: &Bound<'py, PyAny>,
    first: usize,
    threads: Option<Threads>,
) -> PyResult<(Vec<PyTagged>, Option<PyErr>)> {
    let (found, mistake) = tagger.get().label_many(xs, first, threads)?;
    let tagged = |(input, labels)| PyTagged { tagger: tagger.clone().unbind(), input, labels };
    Ok((found.into_iter().map(tagged).collect(), mistake))
}
