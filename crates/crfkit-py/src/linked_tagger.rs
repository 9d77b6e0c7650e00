//! Labelling factorial and skip chains.

use crate::Threads;
use crate::errors::{data_error, setting_error};
use crate::features::Converter;
use crate::linked::{Labels, count_of, has_words};
use crate::lists::each_sequence;
use crate::model::PyModel;
use crate::walk::Name;
use crate::whole::{self, Ranked, positive};
use crate::workers::Workers;
use crfkit::answers::GraphAnswers;
use crfkit::any::AnyModel;
use crfkit::data::columns::Columns;
use crfkit::linked::{LinkedModel, Links};
use crfkit::tag::{Labeller as _, Tagger};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The names of the labels of each token, and the probability of the labelling.
type RankedNames = (Vec<Vec<String>>, f64);

/// A worker that labels factorial or skip chains. Threads may share it.
#[pyclass(name = "LinkedTagger", module = "crfkit._crfkit", frozen)]
pub(crate) struct PyLinkedTagger(Workers<LinkedModel>);

#[pymethods]
impl PyLinkedTagger {
    #[new]
    fn new(py: Python<'_>, model: &Bound<'_, PyModel>) -> PyResult<Self> {
        match model.get().0.any() {
            AnyModel::Linked(model) => Ok(PyLinkedTagger(py.detach(|| Workers::new(model.clone())))),
            other => Err(setting_error(
                py,
                format!("a model of kind {} is not a factorial or skip chain", other.kind().name()),
            )),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (PyModel,)) {
        (slf.get_type(), (PyModel(AnyModel::Linked(slf.get().0.model()).into()),))
    }

    /// The labels of sequences: a list of tuples for each. ``allowed`` restricts the labels of tokens, as the library writes sets of labels.
    #[pyo3(signature = (x, *, allowed=None, threads=None))]
    fn labels(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        allowed: Option<Labels>,
        threads: Option<Threads>,
    ) -> PyResult<Labels> {
        let inputs = self.inputs(x, allowed.as_deref())?;
        let full: Vec<&Columns> = inputs.iter().filter(|rows| !rows.is_empty()).collect();
        let found = self.0.each(py, &full, Threads::count(threads), |worker, input| {
            load(worker, input, allowed.is_some())?;
            let decode = worker.model().decode();
            Ok(worker.labels(decode)?.to_vec())
        })?;
        let mut found = found.into_iter();
        let labels = |rows: &Columns| {
            let found = if rows.is_empty() { None } else { found.next() };
            self.named(&found.unwrap_or_default())
        };
        Ok(inputs.iter().map(labels).collect())
    }

    /// The ``n`` best labellings of sequences with their probabilities, best first.
    #[pyo3(signature = (x, n, *, allowed=None, threads=None))]
    fn nbest(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        n: isize,
        allowed: Option<Labels>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Vec<RankedNames>>> {
        let (n, inputs) = (positive(n)?, self.inputs(x, allowed.as_deref())?);
        let found =
            self.0.each(py, &inputs, Threads::count(threads), |worker, input| match input.is_empty() {
                true => Ok(vec![(Vec::new(), 1.0)]),
                false => whole::nbest(load(worker, input, allowed.is_some())?, n),
            })?;
        let named = |ranked: Vec<Ranked>| ranked.iter().map(|(labels, p)| (self.named(labels), *p)).collect();
        Ok(found.into_iter().map(named).collect())
    }

    /// The log-probabilities of labellings, by default of the best ones.
    #[pyo3(signature = (x, y=None, *, allowed=None, threads=None))]
    fn log_probability(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: Option<Labels>,
        allowed: Option<Labels>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<f64>> {
        let inputs = self.inputs(x, allowed.as_deref())?;
        let given = y.map(|y| self.numbers(py, &inputs, &y)).transpose()?;
        let asked: Vec<(&Columns, Option<&[u32]>)> = inputs
            .iter()
            .enumerate()
            .map(|(k, rows)| (rows, given.as_ref().map(|given| &given[k][..])))
            .collect();
        self.0.each(py, &asked, Threads::count(threads), |worker, (input, labels)| match input.is_empty() {
            true => Ok(0.0),
            false => whole::log_probability(load(worker, input, allowed.is_some())?, *labels),
        })
    }

    /// The entropies of the labellings of sequences, in nats.
    #[pyo3(signature = (x, *, allowed=None, threads=None))]
    fn entropy(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        allowed: Option<Labels>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<f64>> {
        let inputs = self.inputs(x, allowed.as_deref())?;
        self.0.each(py, &inputs, Threads::count(threads), |worker, input| match input.is_empty() {
            true => Ok(0.0),
            false => load(worker, input, allowed.is_some())?.entropy(),
        })
    }

    /// The probabilities of labels: for each sequence an array (tokens, labels) for each column of labels.
    #[pyo3(signature = (x, *, allowed=None, threads=None))]
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        allowed: Option<Labels>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Vec<Bound<'py, PyArray2<f64>>>>> {
        let inputs = self.inputs(x, allowed.as_deref())?;
        let model = self.0.model();
        let columns = model.domain.labels.len();
        let found = self.0.each(py, &inputs, Threads::count(threads), |worker, input| {
            let mut tables = vec![Vec::new(); columns];
            if !input.is_empty() {
                let rows = load(worker, input, allowed.is_some())?.marginals()?;
                rows.enumerate().for_each(|(v, row)| tables[v % columns].extend_from_slice(row));
            }
            Ok(tables)
        })?;
        let array = |tokens: usize, column: usize, values: Vec<f64>| {
            values.into_pyarray(py).reshape([tokens, model.domain.labels[column].len()])
        };
        let arrays = |(tables, input): (Vec<Vec<f64>>, &Columns)| {
            tables
                .into_iter()
                .enumerate()
                .map(|(column, values)| array(input.len(), column, values))
                .collect()
        };
        found.into_iter().zip(&inputs).map(arrays).collect()
    }

    /// Names of the labels of each column of labels.
    #[getter]
    fn names(&self) -> Vec<Vec<String>> {
        self.0.model().domain.labels.clone()
    }

    /// What links the labels: ``"factorial chain"`` or ``"skip chain"``.
    #[getter]
    fn links(&self) -> &'static str {
        match self.0.model().domain.links {
            Links::Factorial => "factorial chain",
            Links::SkipChain { .. } => "skip chain",
        }
    }
}

/// Loads a sequence whose last columns are the labels that its tokens may have, if they are restricted.
fn load<'a>(
    worker: &'a mut Tagger<LinkedModel>,
    rows: &Columns,
    restricted: bool,
) -> crfkit::Result<&'a mut GraphAnswers> {
    let model = worker.model().clone();
    let answers = worker.load(rows)?;
    if restricted {
        let columns: Vec<i32> = (-(model.domain.labels.len() as i32)..0).collect();
        answers.allow(&model.domain.allowed_in(rows, &columns)?)?;
    }
    Ok(answers)
}

impl PyLinkedTagger {
    /// The names of the labels of each token.
    fn named(&self, labels: &[u32]) -> Vec<Vec<String>> {
        let model = self.0.model();
        let names = &model.domain.labels;
        let name = |(column, &label): (usize, &u32)| names[column][label as usize].clone();
        labels.chunks(names.len()).map(|token| token.iter().enumerate().map(name).collect()).collect()
    }

    /// The numbers of labels that are given by name, which must be those of these sequences.
    fn numbers(&self, py: Python<'_>, inputs: &[Columns], y: &Labels) -> PyResult<Vec<Vec<u32>>> {
        let model = self.0.model();
        let names = &model.domain.labels;
        let number = |k: usize, t: usize, column: usize, label: &String| {
            let found = names[column].iter().position(|name| name == label).map(|number| number as u32);
            found.ok_or_else(|| {
                let of = &names[column];
                data_error(
                    py,
                    format!(
                        "y[{k}][{t}] has the label {label:?}, which the model does not have; it has {of:?}"
                    ),
                )
            })
        };
        let mut all = Vec::with_capacity(y.len());
        for (k, (rows, tokens)) in inputs.iter().zip(y).enumerate() {
            if rows.len() != tokens.len() {
                let (tokens, labels) = (rows.len(), tokens.len());
                return Err(data_error(
                    py,
                    format!("X[{k}] has {tokens} tokens, but y[{k}] has {labels} labels"),
                ));
            }
            let mut labels = Vec::with_capacity(tokens.len() * names.len());
            for (t, token) in tokens.iter().enumerate() {
                if token.len() != names.len() {
                    let (found, expected) = (token.len(), names.len());
                    let message = format!(
                        "y[{k}][{t}] has {found} labels, but the tokens of the training data have {expected}"
                    );
                    return Err(data_error(py, message));
                }
                for (column, label) in token.iter().enumerate() {
                    labels.push(number(k, t, column, label)?);
                }
            }
            all.push(labels);
        }
        Ok(all)
    }

    /// The rows of sequences; the labels that tokens may have, if they are restricted, are behind their fields.
    fn inputs(&self, x: &Bound<'_, PyAny>, allowed: Option<&[Vec<Vec<String>>]>) -> PyResult<Vec<Columns>> {
        let mut converter = Converter::default();
        let words = !self.0.model().domain.templates.extractors.is_empty();
        each_sequence(x)?
            .enumerate()
            .map(|(k, x)| {
                let x = x?;
                if words && !has_words(&x, Name::x(k))? {
                    let why =
                        "is an array, but the model was trained on words: give a tuple of words and an array";
                    return Err(data_error(x.py(), format!("X[{k}] {why}")));
                }
                let name = Name { of: "allowed", number: Some(k) };
                let none: &[Vec<String>] = &[];
                let sets = allowed.map(|allowed| (allowed.get(k).map_or(none, |sets| sets), name));
                let rows = converter.columns(&x, sets, Name::x(k))?;
                let domain = &self.0.model().domain;
                let labels = domain.label_columns.len();
                let expected = domain.columns - labels;
                let found = rows.columns().saturating_sub(if allowed.is_some() { labels } else { 0 });
                if words && !rows.is_empty() && found != expected {
                    let (found, expected) = (count_of(found), count_of(expected));
                    let why = format!(
                        "X[{k}] has tokens of {found}, but those of the training data have {expected}"
                    );
                    return Err(data_error(x.py(), why));
                }
                Ok(rows)
            })
            .collect()
    }
}
