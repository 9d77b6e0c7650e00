//! A labelled sequence.

use crate::errors::{data_error, raise};
use crate::features::{Input, Tokens};
use crate::labels::{Partial, labels};
use crate::stored::{Stored, restored, stored};
use crate::tagger::{PyTagger, Worker};
use crate::walk::Name;
use crate::whole::positive;
use crate::workers::Workers;
use crfkit::any::Ensemble;
use crfkit::chain::Sequence;
use crfkit::eval::{ChunkLabels, chunks, is_chunked};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyTuple};
use std::ops::Range;

/// A labelled sequence. It behaves as a sequence of labels, and computes everything else when it is asked for. When it is pickled, it takes
/// its model with it for that purpose; if the labels are enough, pickle ``labels`` instead.
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
    pub(crate) tagger: Py<PyTagger>,
    pub(crate) input: Input,
    pub(crate) labels: Vec<u32>,
}

impl PyTagged {
    /// Loads the sequence into a worker and asks it.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&mut Worker) -> crfkit::Result<T> + Send,
    ) -> PyResult<T> {
        self.ask_of(py, &self.tagger.get().workers, question)
    }

    /// The same of other workers.
    fn ask_of<T: Send>(
        &self,
        py: Python<'_>,
        workers: &Workers<Ensemble>,
        question: impl FnOnce(&mut Worker) -> crfkit::Result<T> + Send,
    ) -> PyResult<T> {
        let answer = py.detach(|| {
            workers.with(|worker| {
                self.input.load(worker)?;
                question(worker)
            })
        });
        answer.map_err(|error| raise(py, error))
    }

    /// Probabilities; if there are several models, the means of theirs.
    fn mean(
        &self,
        py: Python<'_>,
        question: impl Fn(&mut Worker) -> Vec<f64> + Send + Sync,
    ) -> PyResult<Vec<f64>> {
        let models = self.tagger.get().each_model(py)?;
        let mut sum: Vec<f64> = Vec::new();
        for workers in models {
            let found = self.ask_of(py, workers, |worker| Ok(question(worker)))?;
            sum.resize(found.len(), 0.0);
            sum.iter_mut().zip(&found).for_each(|(sum, p)| *sum += p);
        }
        sum.iter_mut().for_each(|p| *p /= models.len() as f64);
        Ok(sum)
    }
}

#[pymethods]
impl PyTagged {
    /// The best labelling, as a list of names.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.tagger.get().named(py, &self.labels)
    }

    /// The probability of every label at every token, given the whole sequence: an array with a row per token.
    #[getter]
    fn marginals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (tokens, labels) = (self.labels.len(), self.tagger.get().names.len());
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
        let (pairs, labels) = (self.labels.len().saturating_sub(1), self.tagger.get().names.len() as u32);
        let values: Vec<f64> = match pairs {
            0 => Vec::new(),
            _ => self.mean(py, |worker| {
                let all = (1..=pairs).flat_map(|t| (0..labels).map(move |i| (t, i)));
                let all = all.flat_map(|(t, i)| (0..labels).map(move |j| (t, i, j)));
                let answers = worker.answers();
                all.map(|(t, i, j)| answers.pair_marginal(t, i, j)).collect()
            })?,
        };
        values.into_pyarray(py).reshape([pairs, labels as usize, labels as usize])
    }

    /// The chunks that the labels mark (``B-NAME I-NAME`` is one of type ``NAME``), each with the probability that exactly these tokens are
    /// such a chunk. Where labels mark no chunks, every token is a span of its label.
    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let names: Vec<&str> =
            self.tagger.get().names.iter().map(|name| name.bind(py).to_str()).collect::<PyResult<_>>()?;
        let labels: Vec<&str> = self.labels.iter().map(|&label| names[label as usize]).collect();
        let chunked = is_chunked(names.iter().copied());
        let found: Vec<(Range<usize>, &str)> = match chunked {
            true => chunks(&labels),
            false => labels.iter().enumerate().map(|(token, label)| (token..token + 1, *label)).collect(),
        };
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let sure = self.mean(py, |worker| {
            let marks = ChunkLabels::new(worker.model().labels());
            let sure = |(part, kind): &(Range<usize>, &str)| match chunked {
                true => worker.chunk_probability(&marks, part.clone(), kind),
                false => worker.marginal(part.start, self.labels[part.start]),
            };
            found.iter().map(sure).collect()
        })?;
        let class = py.import("crfkit.spans")?.getattr("Span")?;
        let span =
            |((part, kind), p): ((Range<usize>, &str), f64)| class.call1((part.start, part.end, kind, p));
        found.into_iter().zip(sure).map(span).collect()
    }

    /// The words that were labelled: the first field of every token, or its number where there are only features.
    #[getter]
    fn words(&self) -> Vec<String> {
        let word = |t: usize| match &self.input.tokens {
            Tokens::Named(Sequence::Columns { rows, .. }) => rows.field(t, 0).to_owned(),
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
        self.tagger.get().check_single(py, "partition function")?;
        match self.labels.is_empty() {
            true => Ok(0.0),
            false => self.ask(py, |worker| Ok(worker.log_z())),
        }
    }

    /// How unsure the model is of the labelling: its entropy in nats, 0 if only one is possible. To choose what to label next, take the
    /// sequences with the largest.
    #[getter]
    fn entropy(&self, py: Python<'_>) -> PyResult<f64> {
        self.tagger.get().check_single(py, "entropy")?;
        match self.labels.is_empty() {
            true => Ok(0.0),
            false => self.ask(py, |worker| Ok(worker.entropy())),
        }
    }

    /// The lead of the best labelling over the second best, as a difference of log-probabilities; infinite where there is no second.
    #[getter]
    fn margin(&self, py: Python<'_>) -> PyResult<f64> {
        self.tagger.get().check_single(py, "probability of whole labellings")?;
        match self.labels.is_empty() {
            true => Ok(f64::INFINITY),
            false => self.ask(py, Worker::margin),
        }
    }

    /// The log-probability of a labelling, by default of the best one.
    #[pyo3(signature = (y=None))]
    fn log_probability(&self, py: Python<'_>, y: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        self.tagger.get().check_single(py, "probability of whole labellings")?;
        let numbers = match y {
            None => self.labels.clone(),
            Some(y) => self.numbers(py, &labels(y, Name { of: "y", number: None }, Partial::No)?)?,
        };
        match numbers.is_empty() {
            true => Ok(0.0),
            false => self.ask(py, |worker| Ok(worker.log_probability(&numbers))),
        }
    }

    /// The ``n`` best labellings with their probabilities, best first; fewer where there are fewer.
    fn nbest<'py>(&self, py: Python<'py>, n: isize) -> PyResult<Vec<(Bound<'py, PyList>, f64)>> {
        self.tagger.get().check_single(py, "probability of whole labellings")?;
        let n = positive(n)?;
        if self.labels.is_empty() {
            return Ok(vec![(PyList::empty(py), 1.0)]);
        }
        let ranked = self.ask(py, |worker| {
            let ranked = worker.nbest(n)?;
            let sure = |labels: Vec<u32>, worker: &mut Worker| (worker.probability(&labels), labels);
            Ok(ranked.into_iter().map(|found| sure(found.labels, worker)).collect::<Vec<_>>())
        })?;
        ranked.iter().map(|(sure, labels)| Ok((self.tagger.get().named(py, labels)?, *sure))).collect()
    }

    /// The number of the first token from ``start`` to ``stop`` that has a label.
    #[pyo3(signature = (label, start=0, stop=isize::MAX))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        label: &Bound<'py, PyAny>,
        start: isize,
        stop: isize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.labels(py)?.call_method1("index", (label, start, stop))
    }

    /// The number of tokens that have a label.
    fn count<'py>(&self, py: Python<'py>, label: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.labels(py)?.call_method1("count", (label,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let make = py.import("crfkit._crfkit")?.getattr("tagged_of")?;
        let state =
            (this.tagger.clone_ref(py), stored(&this.input, this.tagger.get().names.len()), &this.labels);
        Ok((make, state.into_pyobject(py)?))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
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
                format!(
                    "the sequence has length {tokens}, but y has length {labels}: give one label for each token"
                ),
            ));
        }
        let names: Vec<&str> =
            self.tagger.get().names.iter().map(|name| name.bind(py).to_str()).collect::<PyResult<_>>()?;
        let number = |label: &String| {
            let found = names.iter().position(|name| name == label).map(|at| at as u32);
            found.ok_or_else(|| data_error(py, format!("the model has no label {label:?}; it has {names:?}")))
        };
        given.iter().map(number).collect()
    }
}

/// A labelled sequence of a tagger. Pickled ones are read by this function.
#[pyfunction]
pub(crate) fn tagged_of(
    tagger: Py<PyTagger>,
    input: Stored,
    labels: Vec<u32>,
    py: Python<'_>,
) -> PyResult<PyTagged> {
    let of = tagger.get();
    let input = restored(py, input, of.names.len())?;
    if input.len() != labels.len() || labels.iter().any(|&label| label as usize >= of.names.len()) {
        return Err(data_error(py, "the labels do not belong to this sequence and tagger".into()));
    }
    Ok(PyTagged { tagger, input, labels })
}
