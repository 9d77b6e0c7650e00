//! A trained model.

use crate::Form;
use crate::errors::{data_error, raise, setting_error};
use crate::features::Converter;
use crate::labels::{Given, Partial};
use crate::paths::{FilePath, bytes_of};
use crate::tagger::PyTagger;
use crate::train::sequences;
use crfkit::any::AnyModel;
use crfkit::chain::{ChainModel, Sequence};
use crfkit::data::observer::Source;
use crfkit::files::write_atomically;
use crfkit::foreign::crfsuite;
use crfkit::model::WeightKind;
use crfkit::model::edit::{Edit, Others};
use crfkit::{Model, Place, Sequences};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::collections::{HashMap, HashSet};

/// A trained model. It never changes, so threads may share it; it can be pickled and copied.
///
/// Examples
/// --------
/// >>> import crfkit
/// >>> X = [[{"word": "Ada", "upper": True}, {"word": "sings"}]]
/// >>> model = crfkit.ChainCRF().fit(X, [["NAME", "O"]]).model_
/// >>> model.labels
/// ['NAME', 'O']
/// >>> crfkit.Model.from_bytes(model.to_bytes()).tagger().tag(X[0]).labels
/// ['NAME', 'O']
/// >>> model.evaluate(X, [["NAME", "O"]]).accuracy
/// 100.0
/// >>> model.calibrate(X, [["NAME", "O"]]).temperature < 1  # as sure as these few data are
/// True
#[pyclass(name = "Model", module = "crfkit", frozen)]
pub(crate) struct PyModel(pub(crate) Model);

/// Weights of observations: names, label numbers, positions of names, and values.
type Coefficients<'py> =
    (Vec<String>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// A weight: the kind of table, the observation, the labels, and the weight.
type NamedWeight = (String, Option<String>, Vec<String>, f64);

fn named_weight(weight: crfkit::model::NamedWeight) -> NamedWeight {
    (weight.part, weight.observation, weight.labels, weight.weight)
}

/// The weight of what is forbidden, as `Edit` has it.
const FORBIDDEN: f64 = -60_000.0;

/// A change of a weight.
type Change = (String, Option<String>, Vec<String>, NewWeight);

/// The new value of a weight.
#[derive(FromPyObject)]
enum NewWeight {
    Number(f64),
    Text(String),
}

#[pymethods]
impl PyModel {
    /// Read a model file, of crfkit, CRFsuite, CRF++ (as text) or Wapiti. The whole file is checked; a damaged one raises
    /// ``ModelFileError``.
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath) -> PyResult<Self> {
        py.detach(|| Model::open(path.0)).map(PyModel).map_err(|error| raise(py, error))
    }

    /// Write the model to a file. The file is written whole or not at all.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<()> {
        py.detach(|| self.0.save(path.0)).map_err(|error| raise(py, error))
    }

    /// Read a model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        model_from_bytes(data)
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(|error| raise(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model as a file of CRFsuite, for programs that read such files. ``labels`` names all labels in the order of the file, which
    /// decides between equally good labels; by default they have the model's order.
    ///
    /// A model that such a file cannot hold raises ``SettingError``, which says why.
    #[pyo3(signature = (labels=None))]
    fn to_crfsuite<'py>(
        &self,
        py: Python<'py>,
        labels: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = match self.0.any() {
            AnyModel::Chain(model) => py.detach(|| crfsuite::write(model, labels.as_deref())),
            _ => self.0.to_crfsuite(),
        };
        Ok(PyBytes::new(py, &bytes.map_err(|error| raise(py, error))?))
    }

    /// The kind of model, such as ``"chain"``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// Names of the labels, in the order of the columns of ``Tagged.marginals``.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.0.labels()
    }

    /// What the model labels: ``"features"`` or ``"rows"`` of fields, from which its template makes features.
    #[getter]
    fn takes(&self) -> &'static str {
        match self.form() {
            Form::Features => "features",
            Form::Rows => "rows",
        }
    }

    /// The settings that the model was trained with, as JSON.
    fn settings_json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.0.any().settings().map_err(|error| raise(py, error))?.to_string())
    }

    /// Number of weights, and the heaviest ``n`` of them: kind, observation, labels and weight of each. A model made of counts has none.
    fn heaviest(&self, n: usize) -> (usize, Vec<NamedWeight>) {
        let Some(names) = self.0.any().names() else { return (0, Vec::new()) };
        let top = names.top(n, |_| true, &[], None);
        (names.weights.len(), top.into_iter().map(named_weight).collect())
    }

    /// All weights of the model as tuples ``(part, feature, labels, weight)``, as ``heaviest`` gives them. A model made of counts has none.
    fn weights(&self) -> Vec<NamedWeight> {
        let names = self.0.any().names();
        names.iter().flat_map(|names| names.iter_where(|_| true)).map(named_weight).collect()
    }

    /// The same model with other weights. ``changes`` is a list of tuples ``(part, feature, labels, weight)`` as ``weights`` gives them; a weight of 0
    /// deletes it, and ``"forbid"`` makes what it belongs to impossible. With ``only``, all weights that ``changes`` does not name become 0.
    #[pyo3(signature = (changes, *, only=false))]
    fn edited(&self, py: Python<'_>, changes: Vec<Change>, only: bool) -> PyResult<Self> {
        let names = self.0.any().names();
        let dense = names.iter().flat_map(|names| names.iter_where(|_| true));
        let dense = dense.filter(|weight| weight.kind == WeightKind::Dense);
        let dense: HashSet<(String, Option<String>)> =
            dense.map(|weight| (weight.part, weight.observation)).collect();
        let edit = |(k, (part, observation, labels, weight)): (usize, Change)| {
            let weight = match weight {
                NewWeight::Number(weight) if weight.is_finite() => weight,
                NewWeight::Text(text) if text == "forbid" => FORBIDDEN,
                _ => {
                    let message = format!("changes[{k}] has no weight: give a finite number, or \"forbid\"");
                    return Err(data_error(py, message));
                }
            };
            let name = (part, observation);
            let kind = match &name {
                (_, None) => WeightKind::Table,
                name if dense.contains(name) => WeightKind::Dense,
                _ => WeightKind::Feature,
            };
            let (part, observation) = name;
            let weight = crfkit::model::NamedWeight { part, kind, observation, labels, weight };
            Ok(Edit { place: Place::new(format!("changes[{k}]"), 0), weight })
        };
        let edits = changes.into_iter().enumerate().map(edit).collect::<PyResult<Vec<Edit>>>()?;
        let others = if only { Others::Delete } else { Others::Keep };
        let edited = py.detach(|| self.0.any().edited(&edits, others)).map_err(|error| raise(py, error))?;
        Ok(PyModel(edited.into()))
    }

    /// A summary for a notebook: labels, sizes, settings and the heaviest weights.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("crfkit._html")?.getattr("model")?.call1((slf,))
    }

    /// A worker that labels sequences. Threads may share it.
    ///
    /// ``constraint`` replaces the model's rules on labels: ``"none"``, ``"iob2"``, ``"iobes"``, or rules of your own, one on a line, such as
    /// ``"forbid O I-*"``, ``"forbid begin I-*"`` or ``"only B-QTY -> I-QTY B-UNIT"``. Labels or types of chunks that ``at_most_once`` names
    /// occur at most once in a sequence. Labels, probabilities and n-best lists are exact under these rules.
    #[pyo3(signature = (*, constraint=None, at_most_once=None))]
    fn tagger(
        slf: &Bound<'_, Self>,
        constraint: Option<&str>,
        at_most_once: Option<Vec<String>>,
    ) -> PyResult<PyTagger> {
        PyTagger::of(slf.py(), vec![slf.get().0.clone()], constraint, at_most_once.unwrap_or_default())
    }

    /// The same model with a temperature at which its probabilities agree with labelled sequences, which should not be those of training.
    /// The best labels stay the same.
    ///
    /// With ``partial_labels``, ``None`` in ``y`` is a label that is not known, and a set is one of several.
    #[pyo3(signature = (x, y, *, partial_labels=false))]
    fn calibrate(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        partial_labels: bool,
    ) -> PyResult<Self> {
        let AnyModel::Chain(model) = self.0.any() else {
            return Err(setting_error(
                py,
                "only models of plain chains with weights have a temperature: other graphs have approximate probabilities, and \
                 counts are probabilities already"
                    .into(),
            ));
        };
        let sequences = self.labelled(x, y, Partial::of(partial_labels))?;
        let fit = if partial_labels { ChainModel::calibrate_partial } else { ChainModel::calibrate };
        let fitted = py.detach(|| fit(model, &sequences)).map_err(|error| raise(py, error))?;
        Ok(PyModel(AnyModel::from(fitted.model).into()))
    }

    /// The temperature that the log-potentials of a chain are divided by; 1 unless the model was calibrated.
    #[getter]
    fn temperature(&self) -> f64 {
        match self.0.any() {
            AnyModel::Chain(model) => model.settings.temperature.unwrap_or(1.0),
            _ => 1.0,
        }
    }

    /// Label sequences and compare with their labels: chunk scores as conlleval counts them, and accuracies. Chunk scores are ``None``
    /// where labels mark no chunks.
    ///
    /// With ``partial_labels``, tokens whose label is ``None`` in ``y``, or a set of several, are not compared.
    #[pyo3(signature = (x, y, *, partial_labels=false))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        partial_labels: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.0.any().member().is_none() {
            let kind = self.kind();
            let why =
                format!("a model of a {kind} does not label plain sequences: use the score of its estimator");
            return Err(setting_error(py, why));
        }
        let sequences = self.labelled(x, y, Partial::of(partial_labels))?;
        let evaluate = if partial_labels { Model::evaluate_partial } else { Model::evaluate };
        let score = py.detach(|| evaluate(&self.0, Sequences::new(sequences)));
        let score = score.map_err(|error| raise(py, error))?;
        let scores = score.scores();
        let of_chunks = |score: f64| scores.chunked.then_some(score);
        py.import("crfkit.scores")?.getattr("Scores")?.call1((
            of_chunks(scores.f1),
            of_chunks(scores.precision),
            of_chunks(scores.recall),
            scores.accuracy,
            scores.sequence_accuracy,
            scores.tokens,
            scores.sequences,
            score.to_string(),
        ))
    }

    /// The weights of observations in coordinate form: names, label numbers, positions of the names, values.
    fn coefficients<'py>(&self, py: Python<'py>) -> Coefficients<'py> {
        let (mut names, mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let labels = self.label_numbers();
        let weights = self.0.any().names();
        for weight in weights.iter().flat_map(|names| names.iter_where(|part| part.name == "node")) {
            let (Some(observation), [label]) = (weight.observation, &weight.labels[..]) else { continue };
            if names.last() != Some(&observation) {
                names.push(observation);
            }
            rows.push(labels[label]);
            columns.push(names.len() as i64 - 1);
            values.push(weight.weight);
        }
        (names, rows.into_pyarray(py), columns.into_pyarray(py), values.into_pyarray(py))
    }

    /// The weights of transitions: an array whose rows are the labels of tokens and whose columns are those of the next ones.
    fn transitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let labels = self.label_numbers();
        let size = labels.len();
        let mut table = vec![0.0; size * size];
        let weights = self.0.any().names();
        for weight in weights.iter().flat_map(|names| names.iter_where(|part| part.name == "transition")) {
            if let [from, to] = &weight.labels[..] {
                table[labels[from] as usize * size + labels[to] as usize] = weight.weight;
            }
        }
        table.into_pyarray(py).reshape([size, size])
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let read = py.import("crfkit._crfkit")?.getattr("model_from_bytes")?;
        Ok((read, PyTuple::new(py, [slf.get().to_bytes(py)?])?))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<crfkit.Model: {}, {} labels>", self.kind(), self.0.labels().len())
    }
}

/// The form of the sequences that a model labels.
pub(crate) fn form_of(model: &Model) -> Form {
    match model.any() {
        AnyModel::Chain(model) if matches!(model.domain.source, Source::Attributes) => Form::Features,
        _ => Form::Rows,
    }
}

impl PyModel {
    /// The form of the sequences that the model labels.
    pub(crate) fn form(&self) -> Form {
        form_of(&self.0)
    }

    /// Labelled sequences of the form that the model takes.
    fn labelled(
        &self,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        partial: Partial,
    ) -> PyResult<Vec<Sequence>> {
        let (tokens, labels) = (x.len()?, y.len()?);
        if tokens != labels {
            return Err(data_error(
                x.py(),
                format!("X has {tokens} sequences, but y has {labels}: give labels for each of them"),
            ));
        }
        let found =
            sequences(x, y, Given { partial, ..Given::plain(self.form()) }, &mut Converter::default())?;
        match found.is_empty() {
            true => Err(data_error(x.py(), "X has no token: give labelled sequences".into())),
            false => Ok(found),
        }
    }

    fn label_numbers(&self) -> HashMap<String, i64> {
        self.0.labels().into_iter().zip(0..).collect()
    }
}

/// The file that CRFsuite writes if it is given no data.
#[pyfunction]
pub(crate) fn empty_crfsuite(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &crfsuite::nothing())
}

/// Write a file whole or not at all.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: FilePath, data: &[u8]) -> PyResult<()> {
    py.detach(|| write_atomically(&path.0, data)).map_err(|error| raise(py, error))
}

/// Read a model from the bytes of its file. Pickled models are read by this function.
#[pyfunction]
pub(crate) fn model_from_bytes(data: &Bound<'_, PyAny>) -> PyResult<PyModel> {
    let (py, data) = (data.py(), bytes_of(data)?);
    py.detach(|| Model::from_bytes(&data)).map(PyModel).map_err(|error| raise(py, error))
}
