//! Labelling sequences.

use crate::errors::{data_error, raise};
use crate::features::{Converter, Input, labels};
use crate::workers::{PART, Workers};
use crate::{Form, threads};
use crfkit::any::{AnyModel, Ensemble};
use crfkit::chain::Sequence;
use crfkit::eval::{ChunkLabels, chunks, is_chunked};
use crfkit::tag::Tagger;
use crfkit::{Error, Model};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString};
use std::ops::Range;
use std::sync::Arc;

/// A worker of the library.
type Worker = Tagger<Ensemble>;

/// What a tagger and its answers share.
struct Shared {
    workers: Workers<Ensemble>,
    /// The form of the sequences that the model labels.
    form: Form,
    /// Fields that a row may have at most, without the label if that is the last one.
    columns: Option<usize>,
    /// Names of the labels, as Python's strings.
    names: Vec<Py<PyString>>,
}

impl Shared {
    /// The best labelling of a sequence.
    fn label(&self, worker: &mut Worker, input: &Input) -> crfkit::Result<Vec<u32>> {
        if input.len() == 0 {
            return Ok(Vec::new());
        }
        if let Input::Rows(sequence) = input
            && let Some(most) = self.columns.filter(|most| sequence.columns() > *most)
        {
            let message = format!("{} fields, but the model was trained on {most}", sequence.columns());
            return Err(Error::input(sequence.place(0), message));
        }
        input.load(worker)?;
        Ok(worker.viterbi().to_vec())
    }
}

/// A worker that labels sequences with a model. Threads may share it; the interpreter's lock is released while it works.
///
/// Examples
/// --------
/// >>> import crfkit
/// >>> X = [[{"word": "Ada", "upper": True}, {"word": "sings"}]]
/// >>> tagger = crfkit.ChainCRF().fit(X, [["NAME", "O"]]).model_.tagger()
/// >>> tagger.tag(X[0]).labels
/// ['NAME', 'O']
/// >>> [tagged.labels for tagged in tagger.tag_many(X)]
/// [['NAME', 'O']]
#[pyclass(name = "Tagger", module = "crfkit", frozen)]
pub(crate) struct PyTagger(Arc<Shared>);

impl PyTagger {
    pub(crate) fn of(py: Python<'_>, model: &Model, form: Form) -> PyResult<Self> {
        let member = model.any().member().ok_or_else(|| {
            let kind = model.kind().name();
            raise(py, Error::Setting(format!("a model of a {kind} does not label plain sequences")))
        })?;
        let columns = match model.any() {
            AnyModel::Chain(model) => {
                model.domain.columns.map(|layout| layout.columns - usize::from(layout.label_is_last()))
            }
            _ => None,
        };
        let workers = py.detach(|| Workers::new(Arc::new(Ensemble::from(member))));
        let names = model.labels().iter().map(|name| PyString::intern(py, name).unbind()).collect();
        Ok(PyTagger(Arc::new(Shared { workers, form, columns, names })))
    }

    /// Converts and labels many sequences.
    fn label_many(&self, xs: &Bound<'_, PyAny>, given: Option<usize>) -> PyResult<Vec<(Input, Vec<u32>)>> {
        let (shared, mut converter) = (&self.0, Converter::default());
        let inputs =
            xs.try_iter()?.enumerate().map(|(number, x)| converter.input(&x?, shared.form, Some(number)));
        let label = |worker: &mut Worker, input: &Input| shared.label(worker, input);
        // A thread must be worth its start.
        let parts = xs.len().map_or(usize::MAX, |count| count.div_ceil(PART).max(1));
        shared.workers.as_they_come(xs.py(), inputs, threads(given).min(parts), label)
    }
}

#[pymethods]
impl PyTagger {
    #[new]
    fn new(py: Python<'_>, model: &Bound<'_, crate::model::PyModel>) -> PyResult<Self> {
        let model = model.get();
        PyTagger::of(py, &model.0, model.form())
    }

    /// Label a sequence: a list with an entry per token.
    fn tag(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<PyTagged> {
        let input = Converter::default().input(x, self.0.form, None)?;
        let shared = &self.0;
        let labels = py.detach(|| shared.workers.with(|worker| shared.label(worker, &input)));
        let labels = labels.map_err(|error| raise(py, error))?;
        Ok(PyTagged { shared: self.0.clone(), input, labels })
    }

    /// Label many sequences, on all cores or on ``threads`` of them. The answers do not depend on their number.
    #[pyo3(signature = (xs, *, threads=None))]
    fn tag_many(&self, xs: &Bound<'_, PyAny>, threads: Option<usize>) -> PyResult<Vec<PyTagged>> {
        let tagged = |(input, labels)| PyTagged { shared: self.0.clone(), input, labels };
        Ok(self.label_many(xs, threads)?.into_iter().map(tagged).collect())
    }

    /// The labels of many sequences as plain lists.
    #[pyo3(signature = (xs, *, threads=None))]
    fn label_lists<'py>(
        &self,
        py: Python<'py>,
        xs: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyList>>> {
        self.label_many(xs, threads)?.iter().map(|(_, labels)| named(py, &self.0, labels)).collect()
    }

    /// Names of the labels, in the order of the columns of ``Tagged.marginals``.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.0.names)
    }
}

fn named<'py>(py: Python<'py>, shared: &Shared, labels: &[u32]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, labels.iter().map(|&label| &shared.names[label as usize]))
}

/// A labelled sequence. It behaves as a sequence of labels, and computes everything else when it is asked for.
///
/// Examples
/// --------
/// >>> import crfkit
/// >>> X = [[{"word": "Ada", "upper": True}, {"word": "sings"}]]
/// >>> tagged = crfkit.ChainCRF().fit(X, [["NAME", "O"]]).model_.tagger().tag(X[0])
/// >>> list(tagged)
/// ['NAME', 'O']
/// >>> tagged.marginals.shape
/// (2, 2)
/// >>> [labels for labels, probability in tagged.nbest(2)][0]
/// ['NAME', 'O']
#[pyclass(name = "Tagged", module = "crfkit", frozen, sequence)]
pub(crate) struct PyTagged {
    shared: Arc<Shared>,
    input: Input,
    labels: Vec<u32>,
}

impl PyTagged {
    /// Loads the sequence into a worker and asks it.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&mut Worker) -> crfkit::Result<T> + Send,
    ) -> PyResult<T> {
        let workers = &self.shared.workers;
        let answer = py.detach(|| {
            workers.with(|worker| {
                self.input.load(worker)?;
                question(worker)
            })
        });
        answer.map_err(|error| raise(py, error))
    }
}

#[pymethods]
impl PyTagged {
    /// The best labelling, as a list of names.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        named(py, &self.shared, &self.labels)
    }

    /// The probability of every label at every token, given the whole sequence: an array with a row per token.
    #[getter]
    fn marginals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (tokens, labels) = (self.labels.len(), self.shared.names.len());
        let values = match tokens {
            0 => Vec::new(),
            _ => self.ask(py, |worker| {
                let of_token = |t| (0..labels as u32).map(move |label| (t, label));
                Ok((0..tokens).flat_map(of_token).map(|(t, label)| worker.marginal(t, label)).collect())
            })?,
        };
        values.into_pyarray(py).reshape([tokens, labels])
    }

    /// The probability of every pair of labels at every two neighbouring tokens: an array (tokens − 1, labels, labels), whose entry
    /// ``[t, i, j]`` is for label ``i`` at token ``t`` and label ``j`` at the next one.
    #[getter]
    fn pair_marginals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (pairs, labels) = (self.labels.len().saturating_sub(1), self.shared.names.len() as u32);
        let values: Vec<f64> = match pairs {
            0 => Vec::new(),
            _ => self.ask(py, |worker| {
                let all = (1..=pairs).flat_map(|t| (0..labels).map(move |i| (t, i)));
                let all = all.flat_map(|(t, i)| (0..labels).map(move |j| (t, i, j)));
                let answers = worker.answers();
                Ok(all.map(|(t, i, j)| answers.pair_marginal(t, i, j)).collect())
            })?,
        };
        values.into_pyarray(py).reshape([pairs, labels as usize, labels as usize])
    }

    /// The chunks that the labels mark (``B-NAME I-NAME`` is one of type ``NAME``), each with the probability that exactly these tokens are
    /// such a chunk. Where labels mark no chunks, every token is a span of its label.
    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let names: Vec<&str> =
            self.shared.names.iter().map(|name| name.bind(py).to_str()).collect::<PyResult<_>>()?;
        let labels: Vec<&str> = self.labels.iter().map(|&label| names[label as usize]).collect();
        let chunked = is_chunked(names.iter().copied());
        let found: Vec<(Range<usize>, &str)> = match chunked {
            true => chunks(&labels),
            false => labels.iter().enumerate().map(|(token, label)| (token..token + 1, *label)).collect(),
        };
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let sure: Vec<f64> = self.ask(py, |worker| {
            let marks = ChunkLabels::new(worker.model().labels());
            let sure = |(part, kind): &(Range<usize>, &str)| match chunked {
                true => worker.chunk_probability(&marks, part.clone(), kind),
                false => worker.marginal(part.start, self.labels[part.start]),
            };
            Ok(found.iter().map(sure).collect())
        })?;
        let class = py.import("crfkit.spans")?.getattr("Span")?;
        let span =
            |((part, kind), p): ((Range<usize>, &str), f64)| class.call1((part.start, part.end, kind, p));
        found.into_iter().zip(sure).map(span).collect()
    }

    /// The words that were labelled: the first field of every token, or its number where there are only features.
    #[getter]
    fn words(&self) -> Vec<String> {
        let word = |t: usize| match &self.input {
            Input::Rows(Sequence::Columns { rows, .. }) => rows.field(t, 0).to_owned(),
            _ => (t + 1).to_string(),
        };
        (0..self.labels.len()).map(word).collect()
    }

    /// The labelled words for a notebook: coloured spans, with probabilities where the pointer is.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("crfkit._html")?.getattr("tagged")?.call1((slf,))
    }

    /// The logarithm of the partition function.
    #[getter]
    fn log_z(&self, py: Python<'_>) -> PyResult<f64> {
        match self.labels.is_empty() {
            true => Ok(0.0),
            false => self.ask(py, |worker| Ok(worker.log_z())),
        }
    }

    /// The log-probability of a labelling, by default of the best one.
    #[pyo3(signature = (y=None))]
    fn log_probability(&self, py: Python<'_>, y: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let numbers = match y {
            None => self.labels.clone(),
            Some(y) => self.numbers(py, &labels(y, 0)?)?,
        };
        match numbers.is_empty() {
            true => Ok(0.0),
            false => self.ask(py, |worker| Ok(worker.log_probability(&numbers))),
        }
    }

    /// The ``n`` best labellings with their probabilities, best first; fewer where there are fewer.
    fn nbest<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<(Bound<'py, PyList>, f64)>> {
        if n == 0 {
            return Err(PyValueError::new_err("n is 0: ask for at least 1 labelling"));
        }
        if self.labels.is_empty() {
            return Ok(vec![(PyList::empty(py), 1.0)]);
        }
        let ranked = self.ask(py, |worker| {
            let ranked = worker.nbest(n)?;
            let sure = |labels: Vec<u32>, worker: &mut Worker| (worker.probability(&labels), labels);
            Ok(ranked.into_iter().map(|found| sure(found.labels, worker)).collect::<Vec<_>>())
        })?;
        ranked.iter().map(|(sure, labels)| Ok((named(py, &self.shared, labels)?, *sure))).collect()
    }

    fn __len__(&self) -> usize {
        self.labels.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.labels(py)?.as_any().get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.labels(py)?.try_iter()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mine = self.labels(py)?;
        match other.cast::<PyTagged>() {
            Ok(other) => mine.eq(other.get().labels(py)?),
            Err(_) => mine.eq(other),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<crfkit.Tagged: {}>", self.labels(py)?.repr()?))
    }
}

impl PyTagged {
    /// The numbers of labels that are given by name, one for each token.
    fn numbers(&self, py: Python<'_>, given: &[String]) -> PyResult<Vec<u32>> {
        if given.len() != self.labels.len() {
            let (tokens, labels) = (self.labels.len(), given.len());
            return Err(data_error(
                py,
                format!("the sequence has {tokens} tokens, but {labels} labels are given"),
            ));
        }
        let names: Vec<&str> =
            self.shared.names.iter().map(|name| name.bind(py).to_str()).collect::<PyResult<_>>()?;
        let number = |label: &String| {
            let found = names.iter().position(|name| name == label).map(|at| at as u32);
            found.ok_or_else(|| data_error(py, format!("the model has no label {label:?}; it has {names:?}")))
        };
        given.iter().map(number).collect()
    }
}
