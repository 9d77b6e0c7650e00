//! Labelling sequences.

use crate::errors::{data_error, raise};
use crate::features::{Converter, Input, Tokens};
use crate::model::PyModel;
use crate::settings::Rules;
use crate::tagged::PyTagged;
use crate::walk::{Name, each_sequence, not_text, shown, text_of};
use crate::workers::{PART, Workers};
use crate::{Form, threads};
use crfkit::any::{AnyModel, Ensemble};
use crfkit::data::{label_rules, tokens};
use crfkit::explain::{Contribution, Explanation, Question};
use crfkit::graph::{Label, LabelBits};
use crfkit::tag::Tagger;
use crfkit::{Error, Model, Place};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::sync::Arc;

/// A worker of the library.
pub(crate) type Worker = Tagger<Ensemble>;

/// What a tagger and its answers share.
pub(crate) struct Shared {
    pub(crate) workers: Workers<Ensemble>,
    /// The form of the sequences that the model labels.
    form: Form,
    /// Fields that a row may have at most, without the label if that is the last one.
    columns: Option<usize>,
    /// Names of the labels, as Python's strings.
    pub(crate) names: Vec<Py<PyString>>,
}

impl Shared {
    /// The best labelling of a sequence.
    fn label(&self, worker: &mut Worker, input: &Input) -> crfkit::Result<Vec<u32>> {
        if input.len() == 0 {
            return Ok(Vec::new());
        }
        if let Tokens::Rows(sequence) = &input.tokens
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
/// >>> tagger.tag(X[0], allowed={1: "NAME"}).labels
/// ['NAME', 'NAME']
/// >>> [why] = tagger.explain(X[0], 0)
/// >>> why.label, why.rival, "word:Ada" in [part.feature for part in why.contributions]
/// ('NAME', 'O', True)
/// >>> crfkit.Tagger(tagger.model, constraint="forbid O end").tag(X[0]).labels
/// ['NAME', 'NAME']
#[pyclass(name = "Tagger", module = "crfkit", frozen)]
pub(crate) struct PyTagger {
    shared: Arc<Shared>,
    model: Model,
    constraint: Option<String>,
    at_most_once: Vec<String>,
}

impl PyTagger {
    /// A tagger whose labellings obey these rules instead of the model's, and have some labels or types of chunks at most once.
    pub(crate) fn of(
        model: &Bound<'_, PyModel>,
        constraint: Option<&str>,
        at_most_once: &[String],
    ) -> PyResult<Self> {
        let (py, form) = (model.py(), model.get().form());
        let model = &model.get().0;
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
        let ensemble = Ensemble::from(member);
        let ensemble = match constraint.map(|given| Rules::of(py, given)).transpose()? {
            None => ensemble,
            Some(Rules::Notation(notation)) => ensemble.with_constraint(notation),
            Some(Rules::Text(text)) => {
                let rules = label_rules::parse(&text, "constraint", ensemble.labels());
                ensemble.with_rules(Some(rules.map_err(|error| raise(py, error))?))
            }
        };
        let ensemble = match at_most_once.is_empty() {
            true => ensemble,
            false => ensemble.with_at_most_once(at_most_once).map_err(|error| raise(py, error))?,
        };
        let workers = py.detach(|| Workers::new(Arc::new(ensemble)));
        let names = model.labels().iter().map(|name| PyString::intern(py, name).unbind()).collect();
        Ok(PyTagger {
            shared: Arc::new(Shared { workers, form, columns, names }),
            model: model.clone(),
            constraint: constraint.map(str::to_owned),
            at_most_once: at_most_once.to_vec(),
        })
    }

    /// Converts and labels many sequences.
    fn label_many(&self, xs: &Bound<'_, PyAny>, given: Option<usize>) -> PyResult<Vec<(Input, Vec<u32>)>> {
        let (shared, mut converter) = (&self.shared, Converter::default());
        // A thread must be worth its start.
        let parts = xs.len().map_or(usize::MAX, |count| count.div_ceil(PART).max(1));
        let threads = threads(given).min(parts);
        let inputs = each_sequence(xs)?
            .enumerate()
            .map(|(number, x)| converter.input(&x?, shared.form, Name::x(number)));
        let label =
            |worker: &mut Worker, input: Input| shared.label(worker, &input).map(|labels| (input, labels));
        shared.workers.as_they_come(xs.py(), inputs, threads, label)
    }
}

#[pymethods]
impl PyTagger {
    #[new]
    #[pyo3(signature = (model, *, constraint=None, at_most_once=None))]
    fn new(
        model: &Bound<'_, PyModel>,
        constraint: Option<&str>,
        at_most_once: Option<Vec<String>>,
    ) -> PyResult<Self> {
        PyTagger::of(model, constraint, &at_most_once.unwrap_or_default())
    }

    /// Label a sequence: a list with an entry per token.
    ///
    /// ``allowed`` names the labels that tokens may have: a dict from the numbers of tokens to a label or a list of labels, or a list
    /// with an entry per token, ``None`` for all labels. Everything that is asked of the answer is then given that the other labels are
    /// impossible.
    #[pyo3(signature = (x, *, allowed=None))]
    fn tag(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        allowed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTagged> {
        let mut input = Converter::default().input(x, self.shared.form, Name::ONLY)?;
        if let Some(allowed) = allowed {
            input.allowed = self.allowed(allowed, input.len())?;
        }
        let shared = &self.shared;
        let labels = py.detach(|| shared.workers.with(|worker| shared.label(worker, &input)));
        let labels = labels.map_err(|error| raise(py, error))?;
        Ok(PyTagged { shared: shared.clone(), input, labels })
    }

    /// Say why tokens have their labels: what each feature and each pair of labels adds to the lead of the best labelling over the
    /// best one in which the token has another label.
    ///
    /// ``tokens`` is the number of a token or a list of numbers; by default all tokens are explained. With ``removals``, the contributions of so
    /// many features of each token, the largest, say which label the token would have without them.
    #[pyo3(signature = (x, tokens=None, *, removals=0))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        tokens: Option<&Bound<'py, PyAny>>,
        removals: usize,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let sequence = Converter::default().sequence(x, None, 1.0, self.shared.form, Name::ONLY)?;
        let variables: Vec<usize> = match tokens {
            None => (0..sequence.len()).collect(),
            Some(given) => {
                let wrong = || {
                    PyTypeError::new_err(format!(
                        "tokens is {}: give the number of a token, counted from 0, or a list of them",
                        shown(given)
                    ))
                };
                let numbers = given.extract::<usize>().map(|token| vec![token]);
                numbers.or_else(|_| given.extract::<Vec<usize>>()).map_err(|_| wrong())?
            }
        };
        if sequence.is_empty() && variables.is_empty() {
            return Ok(Vec::new());
        }
        let question = Question { variables: &variables, removals };
        let found = py.detach(|| self.shared.workers.with(|worker| worker.explain(&sequence, question)));
        let found = found.map_err(|error| raise(py, error))?;
        found.iter().map(|explanation| self.explained(py, explanation)).collect()
    }

    /// The model.
    #[getter]
    fn model(&self) -> PyModel {
        PyModel(self.model.clone())
    }

    /// Label many sequences, on all cores or on ``threads`` of them. The answers do not depend on their number.
    #[pyo3(signature = (xs, *, threads=None))]
    fn tag_many(&self, xs: &Bound<'_, PyAny>, threads: Option<usize>) -> PyResult<Vec<PyTagged>> {
        let tagged = |(input, labels)| PyTagged { shared: self.shared.clone(), input, labels };
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
        self.label_many(xs, threads)?.iter().map(|(_, labels)| named(py, &self.shared, labels)).collect()
    }

    /// Cut running text into words, label them, and return the chunks as spans whose ``start`` and ``end`` count characters: ``text[start:end]``. Where labels
    /// mark no chunks, every word is a span. Each line is a sequence or, with ``sentences``, each sentence of a line.
    ///
    /// The model must have been trained on words by a template. ``crfkit.text`` says how text is cut.
    #[pyo3(signature = (text, *, sentences=false))]
    fn tag_text<'py>(slf: &Bound<'py, Self>, text: &str, sentences: bool) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("crfkit.text")?.getattr("spans")?.call1((slf, text, sentences))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let make = py.import("crfkit._crfkit")?.getattr("tagger_of")?;
        let model = Py::new(py, this.model())?.into_bound(py);
        Ok((make, (model, this.constraint.as_deref(), this.at_most_once.clone()).into_pyobject(py)?))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<crfkit.Tagger: {}, {} labels>", self.model.kind().name(), self.shared.names.len())
    }

    /// Names of the labels, in the order of the columns of ``Tagged.marginals``.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.shared.names)
    }
}

/// The tokens of a text, or its sentences, as pairs of places in it, counted in characters.
#[pyfunction]
pub(crate) fn text_parts(text: &str, sentences: bool) -> Vec<(usize, usize)> {
    let parts: Vec<_> =
        if sentences { tokens::sentences(text).collect() } else { tokens::tokens(text).collect() };
    let (mut bytes, mut characters) = (0, 0);
    let mut place = |to: usize| {
        characters += text[bytes..to].chars().count();
        bytes = to;
        characters
    };
    parts.into_iter().map(|part| (place(part.start), place(part.end))).collect()
}

/// A tagger of a model. Pickled taggers are read by this function.
#[pyfunction]
pub(crate) fn tagger_of(
    model: &Bound<'_, PyModel>,
    constraint: Option<&str>,
    at_most_once: Vec<String>,
) -> PyResult<PyTagger> {
    PyTagger::of(model, constraint, &at_most_once)
}

pub(crate) fn named<'py>(py: Python<'py>, shared: &Shared, labels: &[u32]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, labels.iter().map(|&label| &shared.names[label as usize]))
}

impl PyTagger {
    /// The labels that tokens may have, as Python gives them.
    fn allowed(&self, given: &Bound<'_, PyAny>, tokens: usize) -> PyResult<Vec<(usize, LabelBits)>> {
        let py = given.py();
        let model = self.shared.workers.model();
        let wrong = |label: &Bound<'_, PyAny>| {
            PyTypeError::new_err(format!("allowed has {}: give a label or a list of labels", shown(label)))
        };
        let set = |token: usize, labels: &Bound<'_, PyAny>| -> PyResult<(usize, LabelBits)> {
            let names: Vec<String> = match text_of(labels) {
                Some(label) => vec![label.map_err(|_| not_text(labels, "allowed"))?.to_owned()],
                None => {
                    let items = labels.try_iter().map_err(|_| wrong(labels))?;
                    items
                        .map(|item| item?.extract::<String>().map_err(|_| wrong(labels)))
                        .collect::<PyResult<_>>()?
                }
            };
            let place = || Place::new("allowed", 0);
            let bits = model.label_bits(names.iter().map(String::as_str), place);
            Ok((token, bits.map_err(|error| raise(py, error))?))
        };
        if let Ok(dict) = given.cast::<PyDict>() {
            let entry = |(token, labels): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                let found = token.extract::<usize>().ok().filter(|token| *token < tokens);
                match found {
                    Some(token) => set(token, &labels),
                    None => Err(data_error(
                        py,
                        format!(
                            "allowed has token {token}, but the sequence has {tokens}: tokens count from 0"
                        ),
                    )),
                }
            };
            return dict.iter().map(entry).collect();
        }
        if given.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "allowed is a string: give a dict, or a list with an entry per token",
            ));
        }
        let items = given.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        if items.len() != tokens {
            let count = items.len();
            return Err(data_error(
                py,
                format!(
                    "allowed has {count} entries, but the sequence has {tokens} tokens: give None for those that may have any label"
                ),
            ));
        }
        items
            .iter()
            .enumerate()
            .filter(|(_, labels)| !labels.is_none())
            .map(|(t, labels)| set(t, labels))
            .collect()
    }

    /// An explanation, in Python's types.
    fn explained<'py>(&self, py: Python<'py>, found: &Explanation) -> PyResult<Bound<'py, PyAny>> {
        let types = py.import("crfkit.explain")?;
        let name = |label: Label| self.shared.names[label as usize].clone_ref(py);
        let names = |labels: &[Label]| PyTuple::new(py, labels.iter().map(|&label| name(label)));
        let contribution = types.getattr("Contribution")?;
        let part = |part: &Contribution| {
            let [best, rival] = &part.labels;
            contribution.call1((
                &part.part,
                part.observation.as_deref(),
                PyTuple::new(py, &part.variables)?,
                names(best)?,
                names(rival)?,
                part.amount,
                part.without.map(name),
            ))
        };
        let parts = found.rival.iter().flat_map(|rival| &rival.contributions);
        let parts = parts.map(part).collect::<PyResult<Vec<_>>>()?;
        let rival = found.rival.as_ref();
        let difference = rival.map_or(f64::INFINITY, |rival| rival.difference);
        let (label, rival) = (name(found.label), rival.map(|rival| name(rival.label)));
        types.getattr("Explanation")?.call1((found.variable, label, rival, difference, parts))
    }
}
