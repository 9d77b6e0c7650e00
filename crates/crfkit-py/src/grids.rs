//! Grids: from arrays to images of the library, and from its answers to arrays.

use crate::Threads;
use crate::errors::{data_error, raise, setting_error};
use crate::model::PyModel;
use crate::paths::FilePath;
use crate::settings::read_settings;
use crate::train::{Begin, train_corpus};
use crate::workers::Workers;
use crfkit::any::AnyModel;
use crfkit::data::images::{Image, Mask};
use crfkit::data::label_masks::LabelMask;
use crfkit::data::sites::{PairFeatures, Sites};
use crfkit::decode::Decode;
use crfkit::domain::Dev;
use crfkit::graph::Neighbours;
use crfkit::grid::{
    Directions, GridBuilder, GridCorpus, GridDomain, GridImage, GridModel, SiteFeatures, Tables,
};
use crfkit::settings::Kind;
use numpy::{
    IntoPyArray, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyReadonlyArray3,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The numbers of an image, (height, width, numbers): those of sites, those that neighbours compare, and those given for horizontal and
/// vertical pairs. And, for answers, the labels that pixels may have, (height, width, labels).
pub(crate) type GridInput<'py> = (
    PyReadonlyArray3<'py, f64>,
    Option<PyReadonlyArray3<'py, f64>>,
    Option<PyReadonlyArray3<'py, f64>>,
    Option<PyReadonlyArray3<'py, f64>>,
    Option<PyReadonlyArray3<'py, bool>>,
);

/// What is known of the labels of an image: the label of each pixel, or those that it may have, (height, width, labels).
#[derive(FromPyObject)]
pub(crate) enum MaskInput<'py> {
    Labels(PyReadonlyArray2<'py, u16>),
    Sets(PyReadonlyArray3<'py, bool>),
}

/// What the images of a model share: labels, the value of pixels without one, the number of neighbours, the form of pair tables, and whether
/// directions share weights.
pub(crate) type GridLayout = (Vec<u16>, Option<u16>, usize, String, String);

/// The weights of images, of their pixels, and of labels by name.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub(crate) struct GridWeights<'py> {
    examples: Option<Vec<f64>>,
    pixels: Option<Vec<PyReadonlyArray2<'py, f64>>>,
    labels: Option<Vec<(String, f64)>>,
}

/// The decoder of this name.
pub(crate) fn decode_of(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Decode>> {
    Ok(Some(match name {
        None => return Ok(None),
        Some("max-marginal") => Decode::MaxMarginal,
        Some("best") => Decode::Best,
        Some("exact") => Decode::Exact,
        Some("max-product") => Decode::MaxProduct,
        Some("icm") => Decode::Icm,
        Some("graph-cut") => Decode::GraphCut,
        Some("alpha-expansion") => Decode::AlphaExpansion,
        Some(other) => {
            return Err(setting_error(
                py,
                format!(
                    "decode is {other:?}: choose max-marginal, best, exact, max-product, icm, graph-cut or alpha-expansion"
                ),
            ));
        }
    }))
}

pub(crate) fn tables_of(py: Python<'_>, name: &str) -> PyResult<Tables> {
    match name {
        "potts" => Ok(Tables::Potts),
        "ising" => Ok(Tables::Ising),
        "full" => Ok(Tables::Full),
        _ => Err(setting_error(py, format!("the table is {name:?}: choose potts, ising or full"))),
    }
}

fn image(array: &PyReadonlyArray3<'_, f64>) -> Image {
    let [height, width, channels] = [0, 1, 2].map(|axis| array.shape()[axis]);
    Image { height, width, channels, values: array.as_array().iter().copied().collect() }
}

fn label_mask(py: Python<'_>, array: &PyReadonlyArray3<'_, bool>, name: String) -> PyResult<LabelMask> {
    let mask = LabelMask::new(array.shape(), array.as_array().iter().copied().collect());
    mask.map_err(|why| data_error(py, format!("{name}: {why}")))
}

/// The pictures, with their masks if there are any.
fn pictures(
    py: Python<'_>,
    x: &[GridInput<'_>],
    y: Option<&[MaskInput<'_>]>,
    weights: Option<&[PyReadonlyArray2<'_, f64>]>,
) -> PyResult<Vec<GridImage>> {
    let mut all = Vec::with_capacity(x.len());
    for (k, (nodes, compare, horizontal, vertical, allowed)) in x.iter().enumerate() {
        let pairs = match (compare, horizontal, vertical) {
            (None, None, None) => PairFeatures::Differences,
            (Some(compare), None, None) => PairFeatures::Compared(image(compare)),
            (None, Some(horizontal), Some(vertical)) => {
                PairFeatures::Given { horizontal: image(horizontal), vertical: image(vertical) }
            }
            _ => {
                return Err(data_error(
                    py,
                    format!("X[{k}]: pairs have either \"compare\", or \"horizontal\" and \"vertical\""),
                ));
            }
        };
        let (mask, sets) = match y.and_then(|y| y.get(k)) {
            None => (None, None),
            Some(MaskInput::Labels(mask)) => {
                let [height, width] = [0, 1].map(|axis| mask.shape()[axis]);
                (Some(Mask { height, width, values: mask.as_array().iter().copied().collect() }), None)
            }
            Some(MaskInput::Sets(sets)) => (None, Some(label_mask(py, sets, format!("y[{k}]"))?)),
        };
        let allowed =
            allowed.as_ref().map(|mask| label_mask(py, mask, format!("allowed[{k}]"))).transpose()?;
        let weights = weights.and_then(|all| all.get(k)).map(|of| of.as_array().iter().copied().collect());
        let sites = Sites { nodes: image(nodes), pairs };
        all.push(GridImage { mask, sets, allowed, weights, ..GridImage::new(sites, &format!("X[{k}]")) });
    }
    Ok(all)
}

/// The corpus of images with their labels.
pub(crate) fn grid_corpus(
    py: Python<'_>,
    x: &[GridInput<'_>],
    y: &[MaskInput<'_>],
    (labels, unlabelled, neighbours, table, directions): GridLayout,
    weights: &GridWeights<'_>,
) -> PyResult<GridCorpus> {
    let neighbours = match neighbours {
        0 => Neighbours::None,
        4 => Neighbours::Four,
        8 => Neighbours::Eight,
        other => {
            return Err(setting_error(py, format!("neighbours is {other}: choose 0, 4 or 8")));
        }
    };
    let tables = tables_of(py, &table)?;
    let directions = match &*directions {
        "shared" => Directions::Shared,
        "separate" => Directions::Separate,
        other => {
            return Err(setting_error(py, format!("directions is {other:?}: choose shared or separate")));
        }
    };
    let pictures = pictures(py, x, Some(y), weights.pixels.as_deref())?;
    let (examples, of_labels) = (weights.examples.as_deref(), weights.labels.as_deref().unwrap_or_default());
    let build = || {
        let mut builder: Option<GridBuilder> = None;
        for (k, picture) in pictures.iter().enumerate() {
            let builder = match &mut builder {
                Some(builder) => builder,
                none => none.insert(GridBuilder::new(GridDomain {
                    unlabelled,
                    neighbours,
                    tables,
                    directions,
                    ..GridDomain::new(labels.clone(), SiteFeatures::default(), &picture.sites, &picture.name)?
                })?),
            };
            builder.add_weighted(picture, examples.map_or(1.0, |weights| weights[k]))?;
        }
        let nothing = || crfkit::Error::Setting("there is no image to learn from".into());
        let mut corpus = builder.ok_or_else(nothing)?.finish()?;
        if !of_labels.is_empty() {
            corpus.set_label_weights(of_labels.iter().cloned())?;
        }
        Ok(corpus)
    };
    py.detach(build).map_err(|error| raise(py, error))
}

/// Train a model of images. The package's estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, y, layout, settings, *, weights=None, dev=None, start=None, checkpoint=None, threads=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn train_grid<'py>(
    py: Python<'py>,
    x: Vec<GridInput<'py>>,
    y: Vec<MaskInput<'py>>,
    layout: GridLayout,
    settings: &str,
    weights: Option<GridWeights<'py>>,
    dev: Option<(Vec<GridInput<'py>>, Vec<MaskInput<'py>>)>,
    start: Option<&Bound<'py, PyModel>>,
    checkpoint: Option<FilePath>,
    threads: Option<Threads>,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = read_settings(py, settings, Kind::Grid)?;
    let corpus = grid_corpus(py, &x, &y, layout, &weights.unwrap_or_default())?;
    let dev = match &dev {
        None => None,
        Some((x, y)) => {
            let inputs = pictures(py, x, Some(y), None)?;
            let dev = py.detach(|| Dev::from_inputs(&corpus.domain, &inputs));
            Some(dev.map_err(|error| raise(py, error))?)
        }
    };
    let start = start.map(|model| model.get().0.clone());
    let begin = Begin {
        settings,
        start,
        checkpoint: checkpoint.map(|path| path.0),
        threads: Threads::count(threads),
    };
    train_corpus(py, corpus, dev, begin, callback)
}

/// A worker that labels images. Threads may share it.
#[pyclass(name = "GridTagger", module = "crfkit._crfkit", frozen)]
pub(crate) struct PyGridTagger(Workers<GridModel>);

#[pymethods]
impl PyGridTagger {
    #[new]
    fn new(py: Python<'_>, model: &Bound<'_, PyModel>) -> PyResult<Self> {
        match model.get().0.any() {
            AnyModel::Grid(model) => Ok(PyGridTagger(py.detach(|| Workers::new(model.clone())))),
            other => Err(other_kind(py, other, "images")),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (PyModel,)) {
        (slf.get_type(), (PyModel(AnyModel::Grid(slf.get().0.model()).into()),))
    }

    /// The labels of images: an array (height, width) for each.
    #[pyo3(signature = (x, *, decode=None, threads=None))]
    fn labels<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GridInput<'py>>,
        decode: Option<&str>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Bound<'py, PyArray2<u16>>>> {
        let (inputs, decode) = (pictures(py, &x, None, None)?, decode_of(py, decode)?);
        let found = self.0.labels(py, &inputs, decode, Threads::count(threads))?;
        let names = &self.0.model().domain.labels;
        let array = |(picture, labels): (&GridImage, Vec<u32>)| {
            let values: Vec<u16> = labels.iter().map(|&label| names[label as usize]).collect();
            values.into_pyarray(py).reshape([picture.sites.nodes.height, picture.sites.nodes.width])
        };
        inputs.iter().zip(found).map(array).collect()
    }

    /// The probability of every label at every pixel: an array (height, width, labels) for each image.
    #[pyo3(signature = (x, *, threads=None))]
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GridInput<'py>>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Bound<'py, PyArray3<f64>>>> {
        let inputs = pictures(py, &x, None, None)?;
        let found = self.0.each(py, &inputs, Threads::count(threads), |worker, input| {
            Ok(worker.load(input)?.marginals()?.flatten().copied().collect::<Vec<f64>>())
        })?;
        let labels = self.0.model().domain.labels.len();
        let array = |(picture, values): (&GridImage, Vec<f64>)| {
            values.into_pyarray(py).reshape([picture.sites.nodes.height, picture.sites.nodes.width, labels])
        };
        inputs.iter().zip(found).map(array).collect()
    }

    /// The mask values of the labels, in the order of the last axis of the marginals.
    #[getter]
    fn values(&self) -> Vec<u16> {
        self.0.model().domain.labels.clone()
    }
}

pub(crate) fn other_kind(py: Python<'_>, model: &AnyModel, what: &str) -> PyErr {
    setting_error(py, format!("a model of kind {} does not label {what}", model.kind().name()))
}
