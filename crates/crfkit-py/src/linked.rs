//! Factorial and skip chains, and models made of counts: sequences of words, with or without further fields.

use crate::errors::{data_error, raise, setting_error};
use crate::features::Converter;
use crate::labels::{DEV_NAMES, Given, NAMES};
use crate::model::PyModel;
use crate::paths::FilePath;
use crate::reading::with_template;
use crate::settings::{parse, read_settings};
use crate::train::{Begin, PART, pairs, train_corpus};
use crate::vectors::{split, without};
use crate::walk::{Name, each_sequence};
use crate::workers::Workers;
use crate::{Form, Threads};
use crfkit::Trainer;
use crfkit::answers::GraphAnswers;
use crfkit::any::AnyModel;
use crfkit::chain::Sequence;
use crfkit::data::columns::Columns;
use crfkit::domain::Dev;
use crfkit::empirical::{Counts, EmpiricalSettings, HeldOut, train};
use crfkit::linked::{LinkedBuilder, LinkedModel, Links};
use crfkit::settings::{Kind, Scaling};
use crfkit::tag::{Labeller as _, Tagger};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The labels of each token of each sequence.
type Labels = Vec<Vec<Vec<String>>>;

/// How linked chains are read, as the package's estimators say it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LinkedReading {
    template: Option<String>,
    /// The weight of each sequence.
    weights: Option<Vec<f64>>,
    /// The weights of the tokens of each sequence.
    token_weights: Option<Vec<Vec<f64>>>,
    /// Whether labels may be missing, or be one of several.
    partial_labels: bool,
    standardise: bool,
    /// The rule of a skip chain, and whether its links have the features of both ends.
    skip: Option<(String, bool)>,
}

impl LinkedReading {
    fn links(&self) -> crfkit::Result<Links> {
        let Some((rule, observed)) = &self.skip else { return Ok(Links::Factorial) };
        Ok(Links::SkipChain { rule: rule.parse()?, observed: *observed })
    }
}

/// Sequences of rows, with the labels of each token behind its fields. Either all have words or none has.
fn rows(
    x: &Bound<'_, PyAny>,
    y: &[Vec<Vec<String>>],
    words: bool,
    reading: Option<&LinkedReading>,
) -> PyResult<Vec<Columns>> {
    let (mut converter, mut all) = (Converter::default(), Vec::with_capacity(y.len()));
    // Development data has no weights.
    let names = if reading.is_some() { NAMES } else { DEV_NAMES };
    for (k, (x, labels)) in each_sequence(x)?.zip(y).enumerate() {
        let x = x?;
        let [name, of_labels] = names.map(|of| Name { of, number: Some(k) });
        if has_words(&x, name)? != words {
            let why = match words {
                true => {
                    "is an array: with a template, or where other sequences have words, give a tuple of words and an array"
                }
                false => {
                    "has words, but the first sequence is an array: give arrays alone, or words everywhere"
                }
            };
            return Err(data_error(x.py(), format!("{name} {why}")));
        }
        let mut rows = converter.columns(&x, Some((&labels[..], of_labels)), name)?;
        if let Some(reading) = reading {
            let weigh = |rows: &mut Columns| -> crfkit::Result<()> {
                if let Some(weights) = &reading.weights {
                    rows.set_weight(weights[k])?;
                }
                if let Some(weights) = &reading.token_weights {
                    rows.set_token_weights(&weights[k])?;
                }
                Ok(())
            };
            weigh(&mut rows).map_err(|error| raise(x.py(), error))?;
        }
        if rows.is_empty() {
            continue;
        }
        let columns = all.first().map_or(rows.columns(), Columns::columns);
        if rows.columns() != columns {
            let labels = labels[0].len();
            let (found, expected) = (count_of(rows.columns() - labels), count_of(columns - labels));
            let message = format!("{name} has tokens of {found}, but those before it have {expected}");
            return Err(data_error(x.py(), message));
        }
        all.push(rows);
    }
    Ok(all)
}

/// A number of fields, in a message.
fn count_of(fields: usize) -> String {
    if fields == 1 { "1 field".into() } else { format!("{fields} fields") }
}

/// Train a model of factorial chains, which have several labels at each token, or of skip chains, which link distant tokens. The package's
/// estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, y, settings, reading, *, dev=None, start=None, checkpoint=None, threads=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn train_linked<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: Labels,
    settings: &str,
    reading: LinkedReading,
    dev: Option<(Bound<'py, PyAny>, Labels)>,
    start: Option<&Bound<'py, PyModel>>,
    checkpoint: Option<FilePath>,
    threads: Option<Threads>,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = read_settings(py, settings, Kind::Linked)?;
    // Arrays alone have nothing that a template could read.
    let words = match x.try_iter()?.next() {
        Some(first) if reading.template.is_none() && reading.skip.is_none() => {
            has_words(&first?, Name::x(0))?
        }
        _ => true,
    };
    let sequences = rows(x, &y, words, Some(&reading))?;
    let dev = dev.map(|(x, y)| rows(&x, &y, words, None)).transpose()?;
    let Some(labels) = y.iter().flatten().map(Vec::len).next().filter(|_| !sequences.is_empty()) else {
        return Err(data_error(py, "X has no token: there is nothing to learn from".into()));
    };
    let columns = sequences[0].columns();
    let template = if words { reading.template.as_deref() } else { Some(PAIRS_OF_LABELS) };
    let templates = with_template(Trainer::new(), template).templates(columns - labels);
    let build = || {
        let mut builder =
            LinkedBuilder::new(reading.links()?, templates?, columns, (columns - labels..columns).collect())?;
        builder = match settings.scaling {
            _ if reading.standardise => builder.standardise(),
            Scaling::None => builder.without_centring(),
            _ => builder,
        };
        if reading.partial_labels {
            builder = builder.with_partial_labels();
        }
        sequences.iter().try_for_each(|sequence| builder.add(sequence))?;
        let corpus = builder.finish(settings.min_count)?;
        let dev = dev.as_ref().map(|dev| Dev::from_inputs(&corpus.domain, dev)).transpose()?;
        Ok((corpus, dev))
    };
    let (corpus, dev) = py.detach(build).map_err(|error| raise(py, error))?;
    let start = start.map(|model| model.get().0.clone());
    let begin = Begin {
        settings,
        start,
        checkpoint: checkpoint.map(|path| path.0),
        threads: Threads::count(threads),
    };
    train_corpus(py, corpus, dev, begin, callback)
}

/// The template that makes no observations of fields.
const PAIRS_OF_LABELS: &str = "B\n";

/// Whether a sequence has words, beside an array or alone.
fn has_words(x: &Bound<'_, PyAny>, name: Name<'_>) -> PyResult<bool> {
    Ok(split(x, &name.to_string())?.0.is_some())
}

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
        let model = self.0.model();
        let names = &model.domain.labels;
        let name = |(column, &label): (usize, &u32)| names[column][label as usize].clone();
        let named = |labels: Vec<u32>| -> Vec<Vec<String>> {
            labels.chunks(names.len()).map(|token| token.iter().enumerate().map(name).collect()).collect()
        };
        let labels = |rows: &Columns| {
            if rows.is_empty() { Vec::new() } else { found.next().map(named).unwrap_or_default() }
        };
        Ok(inputs.iter().map(labels).collect())
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

/// Make a model of the counts of words and labels, and those of an earlier model. The package's estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, y, settings, *, held_out=None, start=None))]
pub(crate) fn train_empirical(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    settings: &str,
    held_out: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    start: Option<&Bound<'_, PyModel>>,
) -> PyResult<PyModel> {
    let settings: EmpiricalSettings = parse(py, settings)?;
    settings.check().map_err(|error| raise(py, error))?;
    let mut counts = Counts::new(settings.pairs);
    each_row(x, y, |rows, label| counts.add_columns(rows, label))?;
    let held_out = match held_out {
        None => None,
        Some((x, y)) => {
            let mut held_out = HeldOut::default();
            each_row(&x, &y, |rows, label| held_out.add_columns(rows, label))?;
            Some(held_out)
        }
    };
    if let Some(start) = start {
        match start.get().0.any() {
            AnyModel::Empirical(model) => counts.merge(model.counts()).map_err(|error| raise(py, error))?,
            _ => return Err(setting_error(py, "counts can only be added to a model made of counts".into())),
        }
    }
    let made = py.detach(|| train(&counts, &settings, held_out.as_ref()));
    let model = made.map_err(|error| raise(py, error))?.model;
    Ok(PyModel(AnyModel::from(model).into()))
}

/// Calls `each` with the rows of each sequence and the column of the labels.
fn each_row(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    mut each: impl FnMut(&Columns, usize) -> crfkit::Result<()> + Send,
) -> PyResult<()> {
    let (mut converter, mut part) = (Converter::default(), Vec::with_capacity(PART));
    // The interpreter's lock is released while many are counted, which would cost more than counting one.
    let mut all = |part: &mut Vec<Columns>| {
        let counted = x.py().detach(|| part.drain(..).try_for_each(|rows| each(&rows, rows.columns() - 1)));
        counted.map_err(|error| raise(x.py(), error))
    };
    for (k, pair) in pairs(x, y)? {
        let (tokens, labels) = pair?;
        let sequence = Given::plain(Form::Rows).labelled(&mut converter, &tokens, &labels, k)?;
        let sequence = without(sequence, x.py(), Name::x(k))?;
        if let Sequence::Columns { rows, .. } = sequence
            && !rows.is_empty()
        {
            part.push(rows);
        }
        if part.len() == PART {
            all(&mut part)?;
            x.py().check_signals()?;
        }
    }
    all(&mut part)
}
