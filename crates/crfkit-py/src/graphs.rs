//! Typed graphs: from arrays and named features to graphs of the library, and from its answers to arrays.

use crate::Threads;
use crate::errors::{data_error, raise};
use crate::grids::{decode_of, other_kind, tables_of};
use crate::keys::Keys;
use crate::lists::each_token;
use crate::model::PyModel;
use crate::paths::FilePath;
use crate::settings::read_settings;
use crate::train::{Begin, train_corpus};
use crate::walk::{At, Name, walk};
use crate::whole::{self, Ranked, positive};
use crate::workers::Workers;
use crfkit::any::AnyModel;
use crfkit::domain::Dev;
use crfkit::settings::{Kind, Settings};
use crfkit::typed::{
    Declaration, FeatureValues, TypedBuilder, TypedCorpus, TypedGraph, TypedGraphBuilder, TypedModel, Types,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// Nodes of a type: its name, their features, the numbers of their labels, negative where there is none, their weights, and those that have a
/// set of labels.
type NodesGiven<'py> = (
    String,
    Features<'py>,
    Option<PyReadonlyArray1<'py, i64>>,
    Option<PyReadonlyArray1<'py, f64>>,
    Vec<(usize, Vec<u32>)>,
);
/// Factors of a type: its name, the nodes of each, counted within their types, and their features.
type FactorsGiven<'py> = (String, PyReadonlyArray2<'py, i64>, Features<'py>);
/// Features of nodes or factors: an array with a row of numbers for each, and perhaps a dict or list of named features for each.
type Features<'py> = (PyReadonlyArray2<'py, f64>, Option<Bound<'py, PyAny>>);
/// A graph.
pub(crate) type GraphInput<'py> = (Vec<NodesGiven<'py>>, Vec<FactorsGiven<'py>>);
/// Types of nodes (name, labels, how many numbers) and of factors (name, types of nodes, form of tables, how many numbers).
pub(crate) type TypesGiven = (Vec<(String, Vec<String>, usize)>, Vec<(String, Vec<String>, String, usize)>);

/// The weights of graphs, and of labels by name.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub(crate) struct GraphWeights {
    examples: Option<Vec<f64>>,
    labels: Option<Vec<(String, f64)>>,
}

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

/// The features of each node or factor of a type.
fn observed(
    (numbers, named): &Features<'_>,
    of: &str,
    graph: &str,
    keys: &mut Keys,
) -> PyResult<Vec<FeatureValues>> {
    let numbers = numbers.as_array();
    let mut all: Vec<FeatureValues> = numbers
        .rows()
        .into_iter()
        .map(|row| FeatureValues { dense: row.to_vec(), named: Vec::new() })
        .collect();
    let Some(given) = named else { return Ok(all) };
    let what = format!("{graph}: {of:?}");
    let mut count = 0;
    for item in each_token(given, &what)? {
        let mut features = Vec::new();
        walk(&item?, &At { of: Name { of: &what, number: None }, number: count }, keys, &mut features)?;
        if let Some(one) = all.get_mut(count) {
            one.named = features;
        }
        count += 1;
    }
    match count == all.len() {
        true => Ok(all),
        false => Err(data_error(
            given.py(),
            format!(
                "{what} has {count} sets of named features, but {} rows or members: give one for each",
                all.len()
            ),
        )),
    }
}

/// What a set of labels of a node says.
#[derive(Clone, Copy)]
enum Sets {
    /// Its label is one of these.
    Known,
    /// The answers are restricted to these.
    Allowed,
}

/// A graph of these types. Nodes are numbered in the order in which they are given, type by type.
fn graph_of(
    py: Python<'_>,
    types: &Types,
    (nodes, factors): &GraphInput<'_>,
    (k, sets_are): (usize, Sets),
) -> PyResult<TypedGraph> {
    let name = format!("X[{k}]");
    let wrong = |why: String| data_error(py, format!("{name}: {why}"));
    let kind_of =
        |name: &String| types.index_of(name).ok_or_else(|| wrong(format!("there is no type {name:?}")));
    let (mut graph, mut keys) = (TypedGraphBuilder::new(types, &name), Keys::default());
    // The number of the first node of each type, and how many there are.
    let mut places = vec![(0, 0); types.all().len()];
    let (mut count, mut weights) = (0, Vec::new());
    for (of, features, labels, weight_of, sets) in nodes {
        let (kind, features) = (kind_of(of)?, observed(features, of, &name, &mut keys)?);
        places[kind] = (count, features.len());
        count += features.len();
        for (v, features) in features.into_iter().enumerate() {
            let label = labels.as_ref().and_then(|labels| labels.as_array().get(v).copied());
            let label = label.and_then(|label| u32::try_from(label).ok());
            graph.node(kind, label, features).map_err(|error| raise(py, error))?;
        }
        for (node, set) in sets {
            let node = places[kind].0 + node;
            let said = match sets_are {
                Sets::Known => graph.labels(node, set),
                Sets::Allowed => graph.allow(node, set),
            };
            said.map_err(|error| raise(py, error))?;
        }
        if let Some(given) = weight_of {
            weights.extend(given.as_array().iter().copied());
        }
    }
    for (of, members, features) in factors {
        let (kind, members) = (kind_of(of)?, members.as_array());
        let over = &types.all()[kind].over;
        let features = observed(features, of, &name, &mut keys)?;
        for (f, (row, features)) in members.rows().into_iter().zip(features).enumerate() {
            let node = |(&given, &over): (&i64, &usize)| {
                let (first, count) = places[over];
                let node = usize::try_from(given).ok().filter(|node| *node < count);
                node.map(|node| first + node).ok_or_else(|| {
                    let name = &types.all()[over].name;
                    wrong(format!(
                        "factor {f} of type {of:?} has node {given}, but the type {name:?} has {count}, counted from 0"
                    ))
                })
            };
            let nodes = row.iter().zip(over).map(node).collect::<PyResult<Vec<usize>>>()?;
            graph.factor(kind, nodes, features).map_err(|error| raise(py, error))?;
        }
    }
    let graph = graph.finish().and_then(|graph| match weights.is_empty() {
        true => Ok(graph),
        false => graph.with_node_weights(&weights),
    });
    graph.map_err(|error| raise(py, error))
}

fn graphs_of(
    py: Python<'_>,
    types: &Types,
    x: &[GraphInput<'_>],
    sets_are: Sets,
) -> PyResult<Vec<TypedGraph>> {
    x.iter().enumerate().map(|(k, given)| graph_of(py, types, given, (k, sets_are))).collect()
}

/// The corpus of graphs with their labels.
pub(crate) fn graph_corpus(
    py: Python<'_>,
    x: &[GraphInput<'_>],
    types: TypesGiven,
    settings: &Settings,
    weights: GraphWeights,
) -> PyResult<TypedCorpus> {
    let types = types_of(py, types)?;
    let graphs = graphs_of(py, &types, x, Sets::Known)?;
    let mut builder = TypedBuilder::new(types);
    let build = || {
        for (k, graph) in graphs.into_iter().enumerate() {
            let weight = weights.examples.as_ref().map_or(1.0, |weights| weights[k]);
            builder.add_graph(graph.with_weight(weight)?)?;
        }
        let mut corpus = builder.finish(settings.min_count)?;
        if let Some(of_labels) = weights.labels {
            corpus.set_label_weights(of_labels)?;
        }
        Ok(corpus)
    };
    py.detach(build).map_err(|error| raise(py, error))
}

/// Train a model of graphs. The package's estimators call this function.
#[pyfunction]
#[pyo3(signature = (x, types, settings, *, weights=None, dev=None, start=None, checkpoint=None, threads=None, callback=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn train_graph<'py>(
    py: Python<'py>,
    x: Vec<GraphInput<'py>>,
    types: TypesGiven,
    settings: &str,
    weights: Option<GraphWeights>,
    dev: Option<Vec<GraphInput<'py>>>,
    start: Option<&Bound<'py, PyModel>>,
    checkpoint: Option<FilePath>,
    threads: Option<Threads>,
    callback: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = read_settings(py, settings, Kind::Graph)?;
    let corpus = graph_corpus(py, &x, types, &settings, weights.unwrap_or_default())?;
    let dev = match &dev {
        None => None,
        Some(x) => {
            let inputs = graphs_of(py, &corpus.domain.types, x, Sets::Known)?;
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

/// The numbers of the labels of a labelling, and its probability.
type RankedArray<'py> = (Bound<'py, PyArray1<i64>>, f64);

/// The numbers of labels as an array.
fn labels_array(py: Python<'_>, labels: Vec<u32>) -> Bound<'_, PyArray1<i64>> {
    labels.into_iter().map(i64::from).collect::<Vec<i64>>().into_pyarray(py)
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

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (PyModel,)) {
        (slf.get_type(), (PyModel(AnyModel::Graph(slf.get().0.model()).into()),))
    }

    /// The numbers of the labels of graphs: for each graph an array over all nodes, type by type in the order in which they are given.
    #[pyo3(signature = (x, *, decode=None, threads=None))]
    fn labels<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GraphInput<'py>>,
        decode: Option<&str>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Bound<'py, PyArray1<i64>>>> {
        let decode = decode_of(py, decode)?;
        let inputs = graphs_of(py, &self.0.model().domain.types, &x, Sets::Allowed)?;
        let found = self.0.labels(py, &inputs, decode, Threads::count(threads))?;
        Ok(found.into_iter().map(|labels| labels_array(py, labels)).collect())
    }

    /// The probability of every label of every node: for each graph an array with the rows of all nodes, end to end.
    #[pyo3(signature = (x, *, threads=None))]
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GraphInput<'py>>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let inputs = graphs_of(py, &self.0.model().domain.types, &x, Sets::Allowed)?;
        let found = self.0.each(py, &inputs, Threads::count(threads), |worker, input| {
            Ok(worker.load(input)?.marginals()?.flatten().copied().collect::<Vec<f64>>())
        })?;
        Ok(found.into_iter().map(|row| row.into_pyarray(py)).collect())
    }

    /// The ``n`` best labellings of graphs with their probabilities, best first; labels are arrays as those of ``labels``.
    #[pyo3(signature = (x, n, *, threads=None))]
    fn nbest<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GraphInput<'py>>,
        n: isize,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Vec<RankedArray<'py>>>> {
        let n = positive(n)?;
        let inputs = graphs_of(py, &self.0.model().domain.types, &x, Sets::Allowed)?;
        let found = self.0.each(py, &inputs, Threads::count(threads), |worker, input| {
            whole::nbest(worker.load(input)?, n)
        })?;
        let array = |(labels, p): Ranked| (labels_array(py, labels), p);
        Ok(found.into_iter().map(|ranked| ranked.into_iter().map(array).collect()).collect())
    }

    /// The log-probabilities of labellings of graphs, by default of the best ones; ``y`` has arrays as those of ``labels``.
    #[pyo3(signature = (x, y=None, *, threads=None))]
    fn log_probability<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GraphInput<'py>>,
        y: Option<Vec<PyReadonlyArray1<'py, i64>>>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<f64>> {
        let types = &self.0.model().domain.types;
        let inputs = graphs_of(py, types, &x, Sets::Allowed)?;
        let mut given = Vec::new();
        for (k, (graph, labels)) in inputs.iter().zip(y.iter().flatten()).enumerate() {
            let cards = graph.nodes.iter().map(|&kind| types.nodes()[kind].labels.len());
            let labels = labels.as_array();
            let number = |(&label, card): (&i64, usize)| {
                u32::try_from(label).ok().filter(|label| (*label as usize) < card)
            };
            let found: Option<Vec<u32>> = labels.iter().zip(cards).map(number).collect();
            let found = found.filter(|found| found.len() == graph.nodes.len() && found.len() == labels.len());
            given.push(found.ok_or_else(|| {
                data_error(py, format!("y[{k}] does not have one label for each node of X[{k}]"))
            })?);
        }
        let asked: Vec<_> = inputs.iter().enumerate().map(|(k, graph)| (graph, given.get(k))).collect();
        self.0.each(py, &asked, Threads::count(threads), |worker, (graph, labels)| {
            whole::log_probability(worker.load(graph)?, labels.map(|labels| &labels[..]))
        })
    }

    /// The entropies of the labellings of graphs, in nats.
    #[pyo3(signature = (x, *, threads=None))]
    fn entropy<'py>(
        &self,
        py: Python<'py>,
        x: Vec<GraphInput<'py>>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<f64>> {
        let inputs = graphs_of(py, &self.0.model().domain.types, &x, Sets::Allowed)?;
        self.0.each(py, &inputs, Threads::count(threads), |worker, input| worker.load(input)?.entropy())
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
