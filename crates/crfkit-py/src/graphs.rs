//! Grids and typed graphs: from arrays to inputs of the library, and from its answers to arrays.

use crate::errors::{data_error, raise, setting_error};
use crate::model::PyModel;
use crate::settings::read_settings;
use crate::train::{Begin, train_corpus};
use crate::workers::Workers;
use crfkit::any::AnyModel;
use crfkit::data::images::{Image, Mask};
use crfkit::data::sites::{Pairs, Sites};
use crfkit::decode::Decode;
use crfkit::domain::Dev;
use crfkit::graph::Neighbours;
use crfkit::grid::{GridBuilder, GridCorpus, GridDomain, GridModel, Picture, SiteFeatures, Tables};
use crfkit::settings::Kind;
use crfkit::typed::{
    Declaration, GraphMaker, Observed, TypedBuilder, TypedCorpus, TypedGraph, TypedModel, Types,
};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArray3, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The numbers of an image, (height, width, numbers): those of sites, those that neighbours compare, and those given for horizontal and
/// vertical pairs.
pub(crate) type GridInput<'py> = (
    PyReadonlyArray3<'py, f64>,
    Option<PyReadonlyArray3<'py, f64>>,
    Option<PyReadonlyArray3<'py, f64>>,
    Option<PyReadonlyArray3<'py, f64>>,
);

/// What the images of a model share: labels, the value of pixels without one, the number of neighbours, and the form of pair tables.
pub(crate) type GridLayout = (Vec<u16>, Option<u16>, usize, String);

/// The decoder of this name.
fn decode_of(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Decode>> {
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

fn tables_of(py: Python<'_>, name: &str) -> PyResult<Tables> {
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

/// The pictures, with their masks if there are any.
fn pictures(
    py: Python<'_>,
    x: &[GridInput<'_>],
    y: Option<&[PyReadonlyArray2<'_, u16>]>,
) -> PyResult<Vec<Picture>> {
    let mut all = Vec::with_capacity(x.len());
    for (k, (nodes, compare, horizontal, vertical)) in x.iter().enumerate() {
        let pairs = match (compare, horizontal, vertical) {
            (None, None, None) => Pairs::Differences,
            (Some(compare), None, None) => Pairs::Compared(image(compare)),
            (None, Some(horizontal), Some(vertical)) => {
                Pairs::Given { horizontal: image(horizontal), vertical: image(vertical) }
            }
            _ => {
                return Err(data_error(
                    py,
                    format!("X[{k}]: pairs have either \"compare\", or \"horizontal\" and \"vertical\""),
                ));
            }
        };
        let mask = y.and_then(|y| y.get(k)).map(|mask| Mask {
            height: mask.shape()[0],
            width: mask.shape()[1],
            values: mask.as_array().iter().copied().collect(),
        });
        all.push(Picture {
            sites: Sites { nodes: image(nodes), pairs },
            mask,
            weights: None,
            name: format!("X[{k}]"),
        });
    }
    Ok(all)
}

/// The corpus of images with their labels.
pub(crate) fn grid_corpus(
    py: Python<'_>,
    x: &[GridInput<'_>],
    y: &[PyReadonlyArray2<'_, u16>],
    (labels, unlabelled, neighbours, table): GridLayout,
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
    let pictures = pictures(py, x, Some(y))?;
    let build = || {
        let mut builder: Option<GridBuilder> = None;
        for picture in &pictures {
            let builder = match &mut builder {
                Some(builder) => builder,
                none => none.insert(GridBuilder::new(GridDomain {
                    unlabelled,
                    neighbours,
                    tables,
                    ..GridDomain::new(labels.clone(), SiteFeatures::default(), &picture.sites, &picture.name)?
                })?),
            };
            builder.add_picture(picture)?;
        }
        builder.ok_or_else(|| crfkit::Error::Setting("there is no image to learn from".into()))?.finish()
    };
    py.detach(build).map_err(|error| raise(py, error))
}

/// Train a model of images. The package's estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, y, layout, settings, *, dev=None, start=None, threads=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn train_grid<'py>(
    py: Python<'py>,
    x: Vec<GridInput<'py>>,
    y: Vec<PyReadonlyArray2<'py, u16>>,
    layout: GridLayout,
    settings: &str,
    dev: Option<(Vec<GridInput<'py>>, Vec<PyReadonlyArray2<'py, u16>>)>,
    start: Option<&Bound<'py, PyModel>>,
    threads: Option<usize>,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = read_settings(py, settings, Kind::Grid)?;
    let corpus = grid_corpus(py, &x, &y, layout)?;
    let dev = match &dev {
        None => None,
        Some((x, y)) => {
            let inputs = pictures(py, x, Some(y))?;
            Some(Dev::of(&corpus.domain, &inputs).map_err(|error| raise(py, error))?)
        }
    };
    let start = start.map(|model| model.get().0.clone());
    train_corpus(py, corpus, dev, Begin { settings, start, threads: crate::threads(threads) }, callback)
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

    /// The labels of images: an array (height, width) for each.
    #[pyo3(signature = (x, *, decode=None, threads=None))]
    fn labels<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GridInput<'py>>,
        decode: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyArray2<u16>>>> {
        let (inputs, decode) = (pictures(py, &x, None)?, decode_of(py, decode)?);
        let found = py.detach(|| self.0.labels(&inputs, decode, crate::threads(threads)));
        let names = &self.0.model().domain.labels;
        let array = |(picture, labels): (&Picture, Vec<u32>)| {
            let values: Vec<u16> = labels.iter().map(|&label| names[label as usize]).collect();
            values.into_pyarray(py).reshape([picture.sites.nodes.height, picture.sites.nodes.width])
        };
        inputs.iter().zip(found.map_err(|error| raise(py, error))?).map(array).collect()
    }

    /// The probability of every label at every pixel: an array (height, width, labels) for each image.
    #[pyo3(signature = (x, *, threads=None))]
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GridInput<'py>>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyArray3<f64>>>> {
        let inputs = pictures(py, &x, None)?;
        let found = py.detach(|| {
            self.0.each(&inputs, crate::threads(threads), |worker, input| {
                Ok(worker.take_in(input)?.marginals()?.flatten().copied().collect::<Vec<f64>>())
            })
        });
        let labels = self.0.model().domain.labels.len();
        let array = |(picture, values): (&Picture, Vec<f64>)| {
            values.into_pyarray(py).reshape([picture.sites.nodes.height, picture.sites.nodes.width, labels])
        };
        inputs.iter().zip(found.map_err(|error| raise(py, error))?).map(array).collect()
    }

    /// The mask values of the labels, in the order of the last axis of the marginals.
    #[getter]
    fn values(&self) -> Vec<u16> {
        self.0.model().domain.labels.clone()
    }
}

fn other_kind(py: Python<'_>, model: &AnyModel, what: &str) -> PyErr {
    setting_error(py, format!("a model of kind {} does not label {what}", model.kind().name()))
}

/// Nodes of a type: its name, their numbers (nodes, numbers), and the numbers of their labels, negative where there is none.
type NodesGiven<'py> = (String, PyReadonlyArray2<'py, f64>, Option<PyReadonlyArray1<'py, i64>>);
/// Factors of a type: its name, the nodes of each, counted within their types, and their numbers.
type FactorsGiven<'py> = (String, PyReadonlyArray2<'py, i64>, PyReadonlyArray2<'py, f64>);
/// A graph.
pub(crate) type GraphInput<'py> = (Vec<NodesGiven<'py>>, Vec<FactorsGiven<'py>>);
/// Types of nodes (name, labels, how many numbers) and of factors (name, types of nodes, form of tables, how many numbers).
pub(crate) type TypesGiven = (Vec<(String, Vec<String>, usize)>, Vec<(String, Vec<String>, String, usize)>);

fn types_of(py: Python<'_>, (nodes, factors): TypesGiven) -> PyResult<Types> {
    let mut declared = Vec::new();
    for (name, labels, dense) in nodes {
        declared.push((name, Declaration::nodes(labels).dense(dense)));
    }
    for (name, over, table, dense) in factors {
        let tables = tables_of(py, &table)?;
        declared.push((name, Declaration::factors(over).tables(tables).dense(dense)));
    }
    Types::declare(declared).map_err(|error| raise(py, error))
}

/// A graph of these types. Nodes are numbered in the order in which they are given, type by type.
fn graph_of(
    py: Python<'_>,
    types: &Types,
    (nodes, factors): &GraphInput<'_>,
    k: usize,
) -> PyResult<TypedGraph> {
    let name = format!("X[{k}]");
    let wrong = |why: String| data_error(py, format!("{name}: {why}"));
    let kind_of = |name: &String| types.kind(name).ok_or_else(|| wrong(format!("there is no type {name:?}")));
    let numbers =
        |row: numpy::ndarray::ArrayView1<'_, f64>| Observed { dense: row.to_vec(), named: Vec::new() };
    let mut graph = GraphMaker::new(types, &name);
    // The number of the first node of each type, and how many there are.
    let mut places = vec![(0, 0); types.all().len()];
    let mut count = 0;
    for (of, features, labels) in nodes {
        let (kind, features) = (kind_of(of)?, features.as_array());
        places[kind] = (count, features.nrows());
        count += features.nrows();
        for (v, row) in features.rows().into_iter().enumerate() {
            let label = labels.as_ref().and_then(|labels| labels.as_array().get(v).copied());
            let label = label.and_then(|label| u32::try_from(label).ok());
            graph.node(kind, label, numbers(row)).map_err(|error| raise(py, error))?;
        }
    }
    for (of, members, features) in factors {
        let (kind, members, features) = (kind_of(of)?, members.as_array(), features.as_array());
        let over = &types.all()[kind].over;
        for (f, (row, numbers_of)) in members.rows().into_iter().zip(features.rows()).enumerate() {
            let node = |(&node, &over): (&i64, &usize)| {
                let (first, count) = places[over];
                let node = usize::try_from(node).ok().filter(|node| *node < count);
                node.map(|node| first + node).ok_or_else(|| {
                    let name = &types.all()[over].name;
                    wrong(format!(
                        "factor {f} of type {of:?} has a node that is none of the {count} of type {name:?}"
                    ))
                })
            };
            let nodes = row.iter().zip(over).map(node).collect::<PyResult<Vec<usize>>>()?;
            graph.factor(kind, nodes, numbers(numbers_of)).map_err(|error| raise(py, error))?;
        }
    }
    graph.finish().map_err(|error| raise(py, error))
}

fn graphs_of(py: Python<'_>, types: &Types, x: &[GraphInput<'_>]) -> PyResult<Vec<TypedGraph>> {
    x.iter().enumerate().map(|(k, given)| graph_of(py, types, given, k)).collect()
}

/// The corpus of graphs with their labels.
pub(crate) fn graph_corpus(py: Python<'_>, x: &[GraphInput<'_>], types: TypesGiven) -> PyResult<TypedCorpus> {
    let types = types_of(py, types)?;
    let graphs = graphs_of(py, &types, x)?;
    let mut builder = TypedBuilder::new(types);
    py.detach(|| {
        graphs.into_iter().try_for_each(|graph| builder.add_graph(graph))?;
        builder.finish(1)
    })
    .map_err(|error| raise(py, error))
}

/// Train a model of graphs. The package's estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, types, settings, *, dev=None, start=None, threads=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn train_graph<'py>(
    py: Python<'py>,
    x: Vec<GraphInput<'py>>,
    types: TypesGiven,
    settings: &str,
    dev: Option<Vec<GraphInput<'py>>>,
    start: Option<&Bound<'py, PyModel>>,
    threads: Option<usize>,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = read_settings(py, settings, Kind::Graph)?;
    let corpus = graph_corpus(py, &x, types)?;
    let dev = match &dev {
        None => None,
        Some(x) => {
            let inputs = graphs_of(py, &corpus.domain.types, x)?;
            Some(Dev::of(&corpus.domain, &inputs).map_err(|error| raise(py, error))?)
        }
    };
    let start = start.map(|model| model.get().0.clone());
    train_corpus(py, corpus, dev, Begin { settings, start, threads: crate::threads(threads) }, callback)
}

/// The name of a type, with its labels or the types of its nodes.
type Named = (String, Vec<String>);

/// A worker that labels graphs. Threads may share it.
#[pyclass(name = "GraphTagger", module = "crfkit._crfkit", frozen)]
pub(crate) struct PyGraphTagger(Workers<TypedModel>);

#[pymethods]
impl PyGraphTagger {
    #[new]
    fn new(py: Python<'_>, model: &Bound<'_, PyModel>) -> PyResult<Self> {
        match model.get().0.any() {
            AnyModel::Graph(model) => Ok(PyGraphTagger(py.detach(|| Workers::new(model.clone())))),
            other => Err(other_kind(py, other, "graphs")),
        }
    }

    /// The numbers of the labels of graphs: for each graph an array over all nodes, type by type in the order in which they are given.
    #[pyo3(signature = (x, *, decode=None, threads=None))]
    fn labels<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GraphInput<'py>>,
        decode: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyArray1<i64>>>> {
        let decode = decode_of(py, decode)?;
        let inputs = graphs_of(py, &self.0.model().domain.types, &x)?;
        let found = py.detach(|| self.0.labels(&inputs, decode, crate::threads(threads)));
        let array =
            |labels: Vec<u32>| labels.into_iter().map(i64::from).collect::<Vec<i64>>().into_pyarray(py);
        Ok(found.map_err(|error| raise(py, error))?.into_iter().map(array).collect())
    }

    /// The probability of every label of every node: for each graph an array with the rows of all nodes, end to end.
    #[pyo3(signature = (x, *, threads=None))]
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GraphInput<'py>>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let inputs = graphs_of(py, &self.0.model().domain.types, &x)?;
        let found = py.detach(|| {
            self.0.each(&inputs, crate::threads(threads), |worker, input| {
                Ok(worker.take_in(input)?.marginals()?.flatten().copied().collect::<Vec<f64>>())
            })
        });
        Ok(found.map_err(|error| raise(py, error))?.into_iter().map(|row| row.into_pyarray(py)).collect())
    }

    /// The types of nodes with their labels, and the types of factors with the types of their nodes.
    #[getter]
    fn types(&self) -> (Vec<Named>, Vec<Named>) {
        let types = &self.0.model().domain.types;
        let nodes = types.nodes().iter().map(|of| (of.name.clone(), of.labels.clone())).collect();
        let name = |&kind: &usize| types.all()[kind].name.clone();
        let over = |of: &crfkit::typed::Type| (of.name.clone(), of.over.iter().map(name).collect());
        (nodes, types.factors().iter().map(over).collect())
    }
}
