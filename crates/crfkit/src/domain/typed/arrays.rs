//! Graphs as arrays: nodes and edges of one type each with their numbers, or a table of rows and their labels.

use super::line::check_weight;
use super::{FeatureValues, LabelTable, TypedGraph, Types, line};
use crate::data::label_masks::LabelMask;
use crate::data::numpy::{self, ArrayArchive, NumberArray};
use crate::graph::{Label, LabelBits, UNLABELLED};
use crate::model::Tables;
use crate::{Error, Place, Result};
use std::ops::Range;

/// A matrix of numbers, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The numbers, `[rows][columns]`.
    pub values: Vec<f64>,
}

impl Matrix {
    /// A row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }
}

/// Graphs whose nodes have one type and whose edges have one type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeArrays {
    /// The features of nodes: a row for each node of each graph.
    pub nodes: Matrix,
    /// The two nodes of each edge, as rows of `nodes`. Both must be in one graph.
    pub edges: Vec<[usize; 2]>,
    /// The features of edges: a row for each edge. It has no columns if edges have no features.
    pub edge_features: Matrix,
    /// The gold label of each node, or [`UNLABELLED`]; empty if none is known.
    pub labels: Vec<Label>,
    /// Instead of `labels`, the labels that each node may have: (nodes, labels). Its label is one of them.
    pub sets: Option<LabelMask>,
    /// The labels that each node may have when its graph is labelled: (nodes, labels). `None` if all are possible. Training and
    /// development data may not restrict answers.
    pub allowed: Option<LabelMask>,
    /// The weight of each node in training; empty if all are 1.
    pub weights: Vec<f64>,
    /// The first node of each graph, in ascending order, and the number of nodes; empty if there is one graph.
    pub offsets: Vec<usize>,
}

/// Graphs in arrays, as an archive (`.npz`) has them.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphArrays {
    /// `nodes`, `edges` and their like.
    Edges(EdgeArrays),
    /// `X` and `Y`.
    Labels(LabelTable),
}

/// Names of the arrays of an archive.
const EDGES: [&str; 7] = ["nodes", "edges", "edge_features", "labels", "weights", "offsets", "allowed"];
const LABELS: [&str; 3] = ["X", "Y", "allowed"];

pub(super) type Checked<T> = std::result::Result<T, String>;

impl GraphArrays {
    /// Reads an archive. It has `nodes` (N, D), `edges` (E, 2), and perhaps `edge_features` (E, K), `labels` (N), where
    /// negative numbers are unknown labels, or (N, L), the sets of possible labels as 0 and 1, `weights` (N), `offsets` (G + 1) and
    /// `allowed` (N, L); or `X` (N, D) and perhaps `Y` (N, L) and `allowed` (N, L, 2).
    pub fn read(bytes: &[u8], name: &str) -> Result<Self> {
        let parse = || {
            if !bytes.starts_with(numpy::ARCHIVE) {
                return Err("not an archive of arrays, as numpy.savez writes it".to_owned());
            }
            let archive = ArrayArchive::open(bytes)?;
            let table = archive.names().any(|name| LABELS[..2].contains(&name));
            let names: &[&str] = if table { &LABELS } else { &EDGES };
            if let Some(other) = archive.names().find(|name| !names.contains(name)) {
                return Err(format!("unknown array `{other}`: choose among {}", names.join(", ")));
            }
            let arrays = match table {
                true => GraphArrays::Labels(LabelTable::parse(&archive)?),
                false => GraphArrays::Edges(EdgeArrays::parse(&archive)?),
            };
            arrays.check().map(|()| arrays)
        };
        parse().map_err(|why| Error::input(Place::new(name, 0), why))
    }

    /// Number of graphs.
    pub fn len(&self) -> usize {
        match self {
            GraphArrays::Edges(arrays) => arrays.offsets.len().saturating_sub(1).max(1),
            GraphArrays::Labels(table) => table.x.rows,
        }
    }

    /// Whether there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of labels: of each node, or of each row.
    pub fn labels(&self) -> usize {
        match self {
            GraphArrays::Edges(EdgeArrays { sets: Some(sets), .. }) => sets.labels(),
            GraphArrays::Edges(arrays) => {
                let known = arrays.labels.iter().filter(|label| **label != UNLABELLED);
                known.max().map_or(0, |label| *label as usize + 1)
            }
            GraphArrays::Labels(table) => table.labels,
        }
    }

    /// The types of such graphs, with this number of labels.
    pub fn types(&self, labels: usize, tables: Tables) -> Result<Types> {
        match self {
            GraphArrays::Edges(arrays) => {
                Types::of_edges(labels, [arrays.nodes.columns, arrays.edge_features.columns], tables)
            }
            GraphArrays::Labels(table) => Types::of_labels(labels, table.x.columns, tables),
        }
    }

    /// Rejects arrays that do not fit each other, and numbers that are not finite or too large.
    pub fn check(&self) -> Checked<()> {
        match self {
            GraphArrays::Edges(arrays) => arrays.check(),
            GraphArrays::Labels(table) => table.check(),
        }
    }

    /// All graphs, one after the other, which come from `name`. They must fit the types. The arrays must have been checked.
    pub fn into_graphs(
        self,
        types: &Types,
        name: &str,
    ) -> Result<Box<dyn Iterator<Item = TypedGraph> + Send>> {
        let refuse = |why: String| Error::input(Place::new(name, 0), why);
        Ok(match self {
            GraphArrays::Edges(arrays) => Box::new(arrays.graphs(types, name).map_err(refuse)?.into_iter()),
            GraphArrays::Labels(table) => Box::new(table.into_graphs(types, name).map_err(refuse)?),
        })
    }
}

impl EdgeArrays {
    fn parse(archive: &ArrayArchive) -> Checked<Self> {
        let nodes =
            matrix(archive, "nodes")?.ok_or("it has no array `nodes` of the shape (nodes, numbers)")?;
        let edges = archive.array("edges")?.ok_or("it has no array `edges` of the shape (edges, 2)")?;
        let edges = match edges.shape[..] {
            [_, 2] => whole(&edges, "edges")?,
            [0] => Vec::new(),
            _ => return Err(format!("`edges` has the shape {:?}, but must have (edges, 2)", edges.shape)),
        };
        let position =
            |at: i64| usize::try_from(at).map_err(|_| format!("`edges` has {at}: nodes count from 0"));
        let edges = edges.as_chunks::<2>().0.iter();
        let edges = edges.map(|&[i, j]| Ok([position(i)?, position(j)?])).collect::<Checked<Vec<_>>>()?;
        let none = Matrix { rows: edges.len(), ..Matrix::default() };
        let list =
            |name: &str| archive.array(name).map(|array| array.filter(|array| !array.values.is_empty()));
        let (mut labels, mut sets) = (Vec::new(), None);
        if let Some(array) = list("labels")? {
            match array.shape[..] {
                [_] | [_, 1] => labels = known(&array, "labels")?,
                [_, _] => sets = Some(mask(array, "labels")?),
                _ => {
                    let shape = &array.shape;
                    return Err(format!(
                        "`labels` has the shape {shape:?}, but must have (nodes) or (nodes, labels)"
                    ));
                }
            }
        }
        let offsets = match list("offsets")? {
            Some(array) => whole(&array, "offsets")?,
            None => Vec::new(),
        };
        let offset =
            |at: i64| usize::try_from(at).map_err(|_| format!("`offsets` has {at}: nodes count from 0"));
        Ok(EdgeArrays {
            nodes,
            edges,
            edge_features: matrix(archive, "edge_features")?.unwrap_or(none),
            labels,
            sets,
            allowed: list("allowed")?.map(|array| mask(array, "allowed")).transpose()?,
            weights: list("weights")?.map(|array| array.values).unwrap_or_default(),
            offsets: offsets.into_iter().map(offset).collect::<Checked<_>>()?,
        })
    }

    fn check(&self) -> Checked<()> {
        let count = self.nodes.rows;
        check_matrix("nodes", &self.nodes)?;
        check_matrix("edge_features", &self.edge_features)?;
        if self.edge_features.rows != self.edges.len() {
            let (rows, edges) = (self.edge_features.rows, self.edges.len());
            return Err(format!("`edge_features` has {rows} rows, but there are {edges} edges"));
        }
        for (name, length) in [("labels", self.labels.len()), ("weights", self.weights.len())] {
            if length != 0 && length != count {
                return Err(format!("`{name}` has {length} numbers, but there are {count} nodes"));
            }
        }
        if self.sets.is_some() && !self.labels.is_empty() {
            return Err("the nodes have labels and sets of labels: give one of both".into());
        }
        for (name, mask) in [("labels", &self.sets), ("allowed", &self.allowed)] {
            mask.iter().try_for_each(|mask| mask.check(name, &[count], mask.labels()))?;
        }
        if let Some([i, j]) = self.edges.iter().find(|[i, j]| i.max(j) >= &count) {
            return Err(format!("`edges` joins {i} and {j}, but there are {count} nodes, counted from 0"));
        }
        self.weights.iter().try_for_each(|&weight| check_weight(weight))?;
        let offsets = &self.offsets;
        let ends = offsets.first() == Some(&0) && offsets.last() == Some(&count);
        match offsets.is_empty() || ends && offsets.is_sorted() {
            true => Ok(()),
            false => Err(format!(
                "`offsets` must begin with 0 and end with the number of nodes, {count}, and never fall"
            )),
        }
    }

    /// The first node and the end of each graph.
    fn ranges(&self) -> Vec<(usize, usize)> {
        match self.offsets.is_empty() {
            true => vec![(0, self.nodes.rows)],
            false => self.offsets.windows(2).map(|pair| (pair[0], pair[1])).collect(),
        }
    }

    fn graphs(&self, types: &Types, name: &str) -> Checked<Vec<TypedGraph>> {
        let [node] = types.nodes() else { return Err(other_types()) };
        let [edge] = types.factors() else { return Err(other_types()) };
        for (what, found, expected) in [
            ("nodes", self.nodes.columns, node.dense),
            ("edge_features", self.edge_features.columns, edge.dense),
        ] {
            if found != expected {
                return Err(format!(
                    "`{what}` has {found} columns, but those of other files have {expected}"
                ));
            }
        }
        if let Some(label) =
            self.labels.iter().find(|l| **l != UNLABELLED && **l as usize >= node.labels.len())
        {
            return Err(format!("a node has the label {label}, but there are {} labels", node.labels.len()));
        }
        for (name, mask) in [("labels", &self.sets), ("allowed", &self.allowed)] {
            let fits = |mask: &LabelMask| mask.check(name, &[self.nodes.rows], node.labels.len());
            mask.iter().try_for_each(fits)?;
        }
        let ranges = self.ranges();
        let of = |v: usize| ranges.partition_point(|(_, end)| *end <= v);
        let mut edges = vec![Vec::new(); ranges.len()];
        for (number, &[i, j]) in self.edges.iter().enumerate() {
            if of(i) != of(j) || i == j {
                let why = if i == j { "it must join two nodes" } else { "they are in different graphs" };
                return Err(format!("edge {number} joins the nodes {i} and {j}: {why}"));
            }
            edges[of(i)].push(number);
        }
        let graph = |(number, (&(first, end), edges)): (usize, (&(usize, usize), &Vec<usize>))| {
            let row = |dense: &[f64]| FeatureValues { named: Vec::new(), dense: dense.into() };
            let features = (first..end).map(|v| row(self.nodes.row(v)));
            let joins = edges.iter().map(|&e| row(self.edge_features.row(e)));
            let pair = |&e: &usize| (1, self.edges[e].iter().map(|v| v - first).collect());
            let gold = match self.labels.is_empty() {
                true => vec![UNLABELLED; end - first],
                false => self.labels[first..end].to_vec(),
            };
            let mut graph = TypedGraph {
                place: Place::new(name, number as u64 + 1),
                nodes: vec![0; end - first],
                gold,
                sets: Vec::new(),
                allowed: restrictions(&self.allowed, first..end),
                weights: match self.weights.is_empty() {
                    true => vec![1.0; end - first],
                    false => self.weights[first..end].to_vec(),
                },
                weight: 1.0,
                factors: edges.iter().map(pair).collect(),
                pieces: vec![None; edges.len()],
                features: features.chain(joins).collect(),
                shared: false,
            };
            let sets = restrictions(&self.sets, first..end);
            sets.into_iter().for_each(|(v, set)| graph.set_gold(v, set, types));
            graph.check_size(types).map(|()| graph)
        };
        ranges.iter().zip(&edges).enumerate().map(graph).collect()
    }
}

pub(super) fn other_types() -> String {
    "the model has other types of nodes and factors than these arrays: apply it to a file like those it was trained on"
        .into()
}

/// The matrix of this name; a list of numbers has one column.
pub(super) fn matrix(archive: &ArrayArchive, name: &str) -> Checked<Option<Matrix>> {
    let Some(NumberArray { shape, values, .. }) = archive.array(name)? else { return Ok(None) };
    match shape[..] {
        [rows, columns] => Ok(Some(Matrix { rows, columns, values })),
        [rows] => Ok(Some(Matrix { rows, columns: 1, values })),
        _ => Err(format!("`{name}` has the shape {shape:?}, but must have (rows, columns)")),
    }
}

/// The whole numbers of an array.
fn whole(array: &NumberArray, name: &str) -> Checked<Vec<i64>> {
    match array.values.iter().find(|value| value.fract() != 0.0 || !value.is_finite()) {
        Some(value) => Err(format!("`{name}` has {value}, but its numbers must be whole")),
        None => Ok(array.values.iter().map(|&value| value as i64).collect()),
    }
}

/// A mask of labels.
pub(super) fn mask(array: NumberArray, name: &str) -> Checked<LabelMask> {
    LabelMask::from_array(array).map_err(|why| format!("`{name}`: {why}"))
}

/// The nodes among `nodes` that may not have all labels, counted from the first of them.
pub(super) fn restrictions(mask: &Option<LabelMask>, nodes: Range<usize>) -> Vec<(usize, LabelBits)> {
    mask.as_ref().map(|mask| mask.restrictions(nodes)).unwrap_or_default()
}

/// Labels; negative numbers are unknown ones.
pub(super) fn known(array: &NumberArray, name: &str) -> Checked<Vec<Label>> {
    let label = |value: i64| match u32::try_from(value) {
        Ok(label) if label < line::MAX_LABEL => Ok(label),
        Ok(label) => Err(format!("`{name}` has {label}, which is too large for a label")),
        Err(_) if value < 0 => Ok(UNLABELLED),
        Err(_) => Err(format!("`{name}` has {value}, which is too large for a label")),
    };
    whole(array, name)?.into_iter().map(label).collect()
}

/// Rejects numbers that are not finite or too large.
pub(super) fn check_matrix(name: &str, matrix: &Matrix) -> Checked<()> {
    if matrix.values.len() != matrix.rows * matrix.columns {
        let (found, expected) = (matrix.values.len(), matrix.rows * matrix.columns);
        return Err(format!("`{name}` has {found} numbers, but its shape needs {expected}"));
    }
    let wrong = |value: &f64| value.is_nan() || value.abs() > line::MAX_VALUE;
    match matrix.values.iter().position(wrong) {
        None => Ok(()),
        Some(at) => {
            let (row, column, value) = (at / matrix.columns, at % matrix.columns, matrix.values[at]);
            let most = line::MAX_VALUE;
            Err(format!(
                "`{name}` has {value} in row {row}, column {column}: numbers are finite and at most {most}"
            ))
        }
    }
}
