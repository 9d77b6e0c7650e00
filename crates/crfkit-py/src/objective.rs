//! The objective of training, as a function of a vector that NumPy holds.

use crate::Threads;
use crate::errors::{data_error, raise};
use crate::features::Converter;
use crate::graphs::{GraphInput, GraphWeights, TypesGiven, graph_corpus};
use crate::grids::{GridInput, GridLayout, GridWeights, MaskInput, grid_corpus};
use crate::model::PyModel;
use crate::reading::Reading;
use crate::settings::read_settings;
use crate::train::sequences;
use crfkit::any::AnyModel;
use crfkit::domain::{Domain, WeightedModel};
use crfkit::settings::Kind;
use crfkit::train::TrainingObjective;
use crfkit::{Model, Trainer};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// What Python sees of the objective of any kind of model.
trait AnyObjective: Send + Sync {
    fn dim(&self) -> usize;
    fn examples(&self) -> usize;
    fn value_grad(&self, theta: &[f64], batch: Option<&[u32]>) -> crfkit::Result<(f64, Vec<f64>)>;
    fn hess_vec(&self, theta: &[f64], v: &[f64], batch: Option<&[u32]>) -> crfkit::Result<Vec<f64>>;
    fn model(&self, theta: &[f64]) -> crfkit::Result<Model>;
}

impl<D: Domain> AnyObjective for TrainingObjective<D>
where
    AnyModel: From<WeightedModel<D>>,
{
    fn dim(&self) -> usize {
        TrainingObjective::dim(self)
    }

    fn examples(&self) -> usize {
        TrainingObjective::examples(self)
    }

    fn value_grad(&self, theta: &[f64], batch: Option<&[u32]>) -> crfkit::Result<(f64, Vec<f64>)> {
        match batch {
            None => TrainingObjective::value_grad(self, theta),
            Some(batch) => self.batch_grad(batch, theta),
        }
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], batch: Option<&[u32]>) -> crfkit::Result<Vec<f64>> {
        match batch {
            None => TrainingObjective::hess_vec(self, theta, v),
            Some(batch) => self.batch_hess_vec(batch, theta, v),
        }
    }

    fn model(&self, theta: &[f64]) -> crfkit::Result<Model> {
        Ok(AnyModel::from(TrainingObjective::model(self, theta)?).into())
    }
}

/// The objective of training. The package's ``Objective`` wraps it.
#[pyclass(name = "TrainingObjective", module = "crfkit._crfkit", frozen)]
pub(crate) struct PyObjective(Box<dyn AnyObjective>);

/// The numbers of examples, which come as integers of any sign.
fn batch_of(py: Python<'_>, batch: Option<PyReadonlyArray1<'_, i64>>) -> PyResult<Option<Vec<u32>>> {
    let Some(batch) = batch else { return Ok(None) };
    let number = |&example: &i64| {
        let message = || format!("the batch has example {example}: examples count from 0");
        u32::try_from(example).map_err(|_| data_error(py, message()))
    };
    batch.as_array().iter().map(number).collect::<PyResult<Vec<u32>>>().map(Some)
}

#[pymethods]
impl PyObjective {
    /// Number of weights.
    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    /// Number of training examples.
    #[getter]
    fn examples(&self) -> usize {
        self.0.examples()
    }

    /// The value at ``theta``, and the gradient.
    #[pyo3(signature = (theta, batch=None))]
    fn value_and_grad<'py>(
        &self,
        py: Python<'py>,
        theta: PyReadonlyArray1<'py, f64>,
        batch: Option<PyReadonlyArray1<'py, i64>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let (theta, batch) = (theta.as_array().to_vec(), batch_of(py, batch)?);
        let answer = py.detach(|| self.0.value_grad(&theta, batch.as_deref()));
        let (value, gradient) = answer.map_err(|error| raise(py, error))?;
        Ok((value, gradient.into_pyarray(py)))
    }

    /// The Hessian at ``theta`` times ``v``.
    #[pyo3(signature = (theta, v, batch=None))]
    fn hess_vec<'py>(
        &self,
        py: Python<'py>,
        theta: PyReadonlyArray1<'py, f64>,
        v: PyReadonlyArray1<'py, f64>,
        batch: Option<PyReadonlyArray1<'py, i64>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (theta, v, batch) = (theta.as_array().to_vec(), v.as_array().to_vec(), batch_of(py, batch)?);
        let product = py.detach(|| self.0.hess_vec(&theta, &v, batch.as_deref()));
        Ok(product.map_err(|error| raise(py, error))?.into_pyarray(py))
    }

    /// The model with these weights.
    fn model(&self, py: Python<'_>, theta: PyReadonlyArray1<'_, f64>) -> PyResult<PyModel> {
        let theta = theta.as_array().to_vec();
        py.detach(|| self.0.model(&theta)).map(PyModel).map_err(|error| raise(py, error))
    }
}

/// The objective of chains.
#[pyfunction]
#[pyo3(signature = (x, y, settings, reading, *, threads=None))]
pub(crate) fn chain_objective(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    settings: &str,
    reading: Reading,
    threads: Option<Threads>,
) -> PyResult<PyObjective> {
    let sequences = sequences(x, y, reading.given(reading.form()), &mut Converter::default())?;
    let (settings, choices) = (read_settings(py, settings, Kind::Chain)?, reading.choices(py)?);
    let objective = py.detach(|| {
        let trainer = Trainer::new().configure(|mine| *mine = settings).threads(Threads::count(threads));
        choices.of(trainer).training_objective(sequences.into_iter().map(Ok))
    });
    Ok(PyObjective(Box::new(objective.map_err(|error| raise(py, error))?)))
}

/// The objective of grids.
#[pyfunction]
#[pyo3(signature = (x, y, layout, settings, *, weights=None, threads=None))]
pub(crate) fn grid_objective<'py>(
    py: Python<'py>,
    x: Vec<GridInput<'py>>,
    y: Vec<MaskInput<'py>>,
    layout: GridLayout,
    settings: &str,
    weights: Option<GridWeights<'py>>,
    threads: Option<Threads>,
) -> PyResult<PyObjective> {
    let settings = read_settings(py, settings, Kind::Grid)?;
    let corpus = grid_corpus(py, &x, &y, layout, &weights.unwrap_or_default())?;
    let made = py.detach(|| TrainingObjective::new(corpus, &settings, Threads::count(threads)));
    Ok(PyObjective(Box::new(made.map_err(|error| raise(py, error))?)))
}

/// The objective of typed graphs.
#[pyfunction]
#[pyo3(signature = (x, types, settings, *, weights=None, threads=None))]
pub(crate) fn graph_objective(
    py: Python<'_>,
    x: Vec<GraphInput<'_>>,
    types: TypesGiven,
    settings: &str,
    weights: Option<GraphWeights>,
    threads: Option<Threads>,
) -> PyResult<PyObjective> {
    let settings = read_settings(py, settings, Kind::Graph)?;
    let corpus = graph_corpus(py, &x, types, &settings, weights.unwrap_or_default())?;
    let made = py.detach(|| TrainingObjective::new(corpus, &settings, Threads::count(threads)));
    Ok(PyObjective(Box::new(made.map_err(|error| raise(py, error))?)))
}
