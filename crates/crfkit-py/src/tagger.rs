//! Labelling sequences.

use crate::errors::{raise, setting_error};
use crate::features::{Converter, Input, Tokens};
use crate::lists::iterator;
use crate::model::{PyModel, form_of};
use crate::settings::Rules;
use crate::tagged::PyTagged;
use crate::vectors::without;
use crate::walk::{Name, shown};
use crate::workers::{Workers, locked};
use crate::{Form, Threads};
use crfkit::any::{AnyModel, Ensemble, Member};
use crfkit::chain::Sequence;
use crfkit::data::label_rules;
use crfkit::explain::Question;
use crfkit::tag::Tagger;
use crfkit::{Error, Model};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use std::sync::{Arc, Mutex, OnceLock};

/// A worker of the library.
pub(crate) type Worker = Tagger<Ensemble>;

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
///
/// Several models label together: every token gets the label with the largest mean probability.
///
/// >>> other = crfkit.ChainCRF(sigma=3.0).fit(X, [["NAME", "O"]]).model_
/// >>> crfkit.Tagger([tagger.model, other]).tag(X[0]).labels
/// ['NAME', 'O']
#[pyclass(name = "Tagger", module = "crfkit", frozen)]
pub(crate) struct PyTagger {
    pub(crate) workers: Workers<Ensemble>,
    /// Those of each model alone, if there are several; see [`PyTagger::each_model`].
    alone: OnceLock<Vec<Workers<Ensemble>>>,
    /// The form of the sequences that the models label.
    form: Form,
    /// Whether features need no names.
    hashed: bool,
    /// Fields that a row may have at most, without the label if that is the last one.
    columns: Option<usize>,
    /// Names of the labels, as Python's strings.
    pub(crate) names: Vec<Py<PyString>>,
    /// Converters that no thread has at the moment.
    pub(crate) converters: Mutex<Vec<Converter>>,
    models: Vec<Model>,
    constraint: Option<String>,
    at_most_once: Vec<String>,
}

impl PyTagger {
    /// A tagger whose labellings obey these rules instead of the models', and have some labels or types of chunks at most once.
    pub(crate) fn of(
        py: Python<'_>,
        models: Vec<Model>,
        constraint: Option<&str>,
        at_most_once: Vec<String>,
    ) -> PyResult<Self> {
        let member = |model: &Model| {
            let kind = model.kind().name();
            let other = || Error::Setting(format!("a model of a {kind} does not label plain sequences"));
            model.any().member().ok_or_else(other)
        };
        let members = models.iter().map(member).collect::<crfkit::Result<Vec<_>>>();
        let members = members.map_err(|error| raise(py, error))?;
        let forms: Vec<Form> = models.iter().map(form_of).collect();
        if forms.iter().any(|form| *form != forms[0]) {
            let why = "models that label together must all take features, or all words by their templates";
            return Err(setting_error(py, why.into()));
        }
        let columns = models.iter().map(columns_of).collect::<Option<Vec<_>>>();
        let hashed = matches!(&members[..], [Member::Weighted(_)]);
        if members.len() > 1 && !at_most_once.is_empty() {
            let why = "at_most_once is about whole labellings, of which several models have no common probability: give one model";
            return Err(setting_error(py, why.into()));
        }
        let ensemble = Ensemble::new(members).map_err(|error| raise(py, error))?;
        let ensemble = obeying(py, ensemble, constraint)?;
        let ensemble = match at_most_once.is_empty() {
            true => ensemble,
            false => ensemble.with_at_most_once(&at_most_once).map_err(|error| raise(py, error))?,
        };
        let names = ensemble.labels().iter().map(|name| PyString::intern(py, name).unbind()).collect();
        Ok(PyTagger {
            workers: py.detach(|| Workers::new(Arc::new(ensemble))),
            alone: OnceLock::new(),
            form: forms[0],
            hashed,
            columns: columns.and_then(|columns| columns.into_iter().max()),
            names,
            converters: Mutex::default(),
            models,
            constraint: constraint.map(str::to_owned),
            at_most_once,
        })
    }

    /// Makes a sequence to be labelled of what Python gives.
    pub(crate) fn input(
        &self,
        converter: &mut Converter,
        x: &Bound<'_, PyAny>,
        of: Name<'_>,
    ) -> PyResult<Input> {
        match (self.form, self.hashed) {
            (Form::Features, true) => converter.hashed(x, of),
            (form, _) => {
                let named = converter.sequence(x, None, 1.0, form, of)?;
                let of_counts = matches!(self.models[0].any(), AnyModel::Empirical(_));
                let named = if of_counts { without(named, x.py(), of)? } else { named };
                Ok(Tokens::Named(named).into())
            }
        }
    }

    /// The best labelling of a sequence.
    pub(crate) fn label(&self, worker: &mut Worker, input: &Input) -> crfkit::Result<Vec<u32>> {
        if input.len() == 0 {
            return Ok(Vec::new());
        }
        if let Tokens::Named(Sequence::Columns { rows, .. }) = &input.tokens
            && let Some(most) = self.columns.filter(|most| rows.columns() > *most)
        {
            let message = format!("{} fields, but the model was trained on {most}", rows.columns());
            return Err(Error::input(rows.place(0), message));
        }
        input.load(worker)?;
        // Several models have only the probabilities of single labels in common.
        let found = if self.models.len() > 1 { worker.max_marginal() } else { worker.viterbi() };
        Ok(found.to_vec())
    }

    /// Workers of each model alone. What is linear in the probabilities of labellings is the mean of what they say, one after the other.
    pub(crate) fn each_model(&self, py: Python<'_>) -> PyResult<&[Workers<Ensemble>]> {
        if self.models.len() == 1 {
            return Ok(std::slice::from_ref(&self.workers));
        }
        if let Some(alone) = self.alone.get() {
            return Ok(alone);
        }
        let worker = |member: &Member| -> PyResult<Workers<Ensemble>> {
            let model = Arc::new(obeying(py, member.clone().into(), self.constraint.as_deref())?);
            Ok(py.detach(|| Workers::new(model)))
        };
        let made = self.workers.model().members().iter().map(worker).collect::<PyResult<_>>()?;
        Ok(self.alone.get_or_init(|| made))
    }

    /// Rejects questions about the probabilities of whole labellings if there are several models.
    pub(crate) fn check_single(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        if self.models.len() == 1 {
            return Ok(());
        }
        let message = format!(
            "several models have no {what} in common: ask for marginals, pair_marginals or spans, or give one model"
        );
        Err(setting_error(py, message))
    }

    /// Labels as a list of names.
    pub(crate) fn named<'py>(&self, py: Python<'py>, labels: &[u32]) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, labels.iter().map(|&label| &self.names[label as usize]))
    }
}

/// The models with the rules that Python gives, or else with their own.
fn obeying(py: Python<'_>, models: Ensemble, constraint: Option<&str>) -> PyResult<Ensemble> {
    Ok(match constraint.map(|given| Rules::of(py, given)).transpose()? {
        None => models,
        Some(Rules::Notation(notation)) => models.with_constraint(notation),
        Some(Rules::Text(text)) => {
            let rules = label_rules::parse(&text, "constraint", models.labels());
            models.with_rules(Some(rules.map_err(|error| raise(py, error))?))
        }
    })
}

/// The fields that a row may have at most, without the label if that is the last one.
fn columns_of(model: &Model) -> Option<usize> {
    let AnyModel::Chain(model) = model.any() else { return None };
    model.domain.columns.map(|layout| layout.columns - usize::from(layout.label_is_last()))
}

/// The models that Python gives: one, or a list of them.
fn models_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<Model>> {
    let wrong =
        || PyTypeError::new_err(format!("model is {}: give a Model, or a list of them", shown(given)));
    if let Ok(model) = given.cast::<PyModel>() {
        return Ok(vec![model.get().0.clone()]);
    }
    let model = |item: PyResult<Bound<'_, PyAny>>| {
        item?.cast::<PyModel>().map(|model| model.get().0.clone()).map_err(|_| wrong())
    };
    iterator(given, wrong)?.map(model).collect()
}

#[pymethods]
impl PyTagger {
    #[new]
    #[pyo3(signature = (model, *, constraint=None, at_most_once=None))]
    fn new(
        model: &Bound<'_, PyAny>,
        constraint: Option<&str>,
        at_most_once: Option<Vec<String>>,
    ) -> PyResult<Self> {
        PyTagger::of(model.py(), models_of(model)?, constraint, at_most_once.unwrap_or_default())
    }

    /// Label a sequence: a list with an entry per token.
    ///
    /// ``allowed`` names the labels that tokens may have: a mapping from the numbers of tokens to a label or a list of labels, or a list
    /// of these with an entry per token. ``None`` stands for all labels. Everything that is asked of the answer is then given that the other labels are
    /// impossible.
    #[pyo3(signature = (x, *, allowed=None))]
    fn tag(
        slf: &Bound<'_, Self>,
        x: &Bound<'_, PyAny>,
        allowed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyTagged> {
        let (py, this) = (slf.py(), slf.get());
        let idle = locked(&this.converters).pop();
        let mut converter = idle.unwrap_or_default();
        let input = this.input(&mut converter, x, Name::ONLY);
        locked(&this.converters).push(converter);
        let mut input = input?;
        if let Some(allowed) = allowed {
            input.allowed = this.allowed(allowed, input.len())?;
        }
        let labels = py.detach(|| this.workers.with(|worker| this.label(worker, &input)));
        let labels = labels.map_err(|error| raise(py, error))?;
        Ok(PyTagged { tagger: slf.clone().unbind(), input, labels })
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
        let sequence = Converter::default().sequence(x, None, 1.0, self.form, Name::ONLY)?;
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
        let found = py.detach(|| self.workers.with(|worker| worker.explain(&sequence, question)));
        let found = found.map_err(|error| raise(py, error))?;
        found.iter().map(|explanation| self.explained(py, explanation)).collect()
    }

    /// The model, or the first of several.
    #[getter]
    fn model(&self) -> PyModel {
        PyModel(self.models[0].clone())
    }

    /// The models, which label together.
    #[getter]
    fn models(&self) -> Vec<PyModel> {
        self.models.iter().cloned().map(PyModel).collect()
    }

    /// Label many sequences, on all cores or on ``threads`` of them. The answers do not depend on their number.
    #[pyo3(signature = (xs, *, threads=None))]
    fn tag_many(
        slf: &Bound<'_, Self>,
        xs: &Bound<'_, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<PyTagged>> {
        let tagged = |(input, labels)| PyTagged { tagger: slf.clone().unbind(), input, labels };
        Ok(slf.get().label_all(xs, threads)?.into_iter().map(tagged).collect())
    }

    /// Label the sequences of an iterable that may be long or endless, such as the lines of a pipe. Returns an iterator of ``Tagged``, in order.
    ///
    /// ``batch`` is the number of sequences that are read, and then labelled together on ``threads`` cores. By default, a list or tuple is labelled
    /// in batches of 1024; of any other iterable, each sequence is labelled as soon as it comes, before the next one is read. Where they
    /// come fast, a larger ``batch`` uses all cores. If the iterable raises an exception, the answers to the sequences before it come first.
    #[pyo3(signature = (xs, *, batch=None, threads=None))]
    fn tag_stream<'py>(
        slf: &Bound<'py, Self>,
        xs: &Bound<'py, PyAny>,
        batch: Option<&Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let threads = threads.map(|Threads(threads)| threads);
        slf.py().import("crfkit.stream")?.getattr("tagged")?.call1((slf, xs, batch, threads))
    }

    /// The labels of many sequences as plain lists.
    #[pyo3(signature = (xs, *, threads=None))]
    fn label_lists<'py>(
        &self,
        py: Python<'py>,
        xs: &Bound<'py, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Bound<'py, PyList>>> {
        self.label_all(xs, threads)?.iter().map(|(_, labels)| self.named(py, labels)).collect()
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
        let state = (this.models(), this.constraint.as_deref(), this.at_most_once.clone());
        Ok((make, state.into_pyobject(py)?))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<crfkit.Tagger: {}, {} labels>", self.models[0].kind().name(), self.names.len())
    }

    /// Names of the labels, in the order of the columns of ``Tagged.marginals``.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.names)
    }
}

/// A tagger of a model or several. Pickled taggers are read by this function.
#[pyfunction]
pub(crate) fn tagger_of(
    models: &Bound<'_, PyAny>,
    constraint: Option<&str>,
    at_most_once: Vec<String>,
) -> PyResult<PyTagger> {
    PyTagger::of(models.py(), models_of(models)?, constraint, at_most_once)
}
