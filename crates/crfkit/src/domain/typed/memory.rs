//! Graphs that are built in memory, and what both these and lines of a file must obey.

use super::line::{MAX_NUMBERS, MAX_VALUE};
use super::{TypedGraph, Types};
use crate::data::columns::wrong_weight;
use crate::data::text::excerpt;
use crate::domain::partial::plain_label;
use crate::graph::{FIRST_SET, Label, LabelBits, UNLABELLED};
use crate::{Error, Place, Result};

/// The features of a node or factor.
#[derive(Clone, Debug, Default)]
pub struct FeatureValues {
    /// Names of features with their values.
    pub named: Vec<(String, f64)>,
    /// As many numbers as its type has dense features.
    pub dense: Vec<f64>,
}

/// A graph in the making.
///
/// ```
/// use crfkit::typed::{Declaration, TypedGraphBuilder, FeatureValues, TypedBuilder, Types};
///
/// let types = Types::declare([
///     ("person".to_owned(), Declaration::nodes(["shy", "loud"]).dense(1)),
///     ("friends".to_owned(), Declaration::factors(["person", "person"])),
/// ])?;
/// let mut graph = TypedGraphBuilder::new(&types, "the first graph");
/// let (person, friends) = (types.index_of("person").unwrap(), types.index_of("friends").unwrap());
/// let numbers = |x: f64| FeatureValues { dense: vec![x], ..FeatureValues::default() };
/// let ada = graph.node(person, Some(0), numbers(0.3))?;
/// let bob = graph.node(person, Some(1), numbers(2.0))?;
/// graph.factor(friends, vec![ada, bob], FeatureValues::default())?;
/// let graph = graph.finish()?;
/// let mut builder = TypedBuilder::new(types);
/// builder.add_graph(graph)?;
/// assert_eq!(builder.finish(1)?.labelled(), 2);
/// # Ok::<(), crfkit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TypedGraphBuilder<'a> {
    types: &'a Types,
    graph: TypedGraph,
}

impl<'a> TypedGraphBuilder<'a> {
    /// A graph without nodes. Messages call it `name`.
    pub fn new(types: &'a Types, name: &str) -> Self {
        TypedGraphBuilder { types, graph: TypedGraph::empty(Place::new(name, 0)) }
    }

    /// Adds a node of a type, with a label of that type if it is known, and returns its number.
    pub fn node(&mut self, kind: usize, label: Option<Label>, features: FeatureValues) -> Result<usize> {
        let number = self.graph.nodes.len();
        let added = self.graph.push_node(kind, label, features, self.types);
        added.map(|()| number).map_err(|why| self.refuse(format!("node {number}: {why}")))
    }

    /// Says that the label of a node is one of these; one of them if it is known, and all if nothing is known. None is an error.
    pub fn labels(&mut self, node: usize, labels: &[Label]) -> Result<()> {
        let set = match node < self.graph.nodes.len() {
            true => self.graph.set_labels(node, labels, self.types),
            false => Err(format!("there is no such node: there are {}", self.graph.nodes.len())),
        };
        set.map_err(|why| self.refuse(format!("node {node}: {why}")))
    }

    /// Restricts a node to these labels when the graph is labelled: labels and probabilities are then conditional on them. A single label
    /// fixes it; none is an error.
    pub fn allow(&mut self, node: usize, labels: &[Label]) -> Result<()> {
        let set = match node < self.graph.nodes.len() {
            true => self.graph.restrict(node, labels, self.types),
            false => Err(format!("there is no such node: there are {}", self.graph.nodes.len())),
        };
        set.map_err(|why| self.refuse(format!("node {node}: {why}")))
    }

    /// Adds a factor of a type over nodes of the types that it is declared over.
    pub fn factor(&mut self, kind: usize, nodes: Vec<usize>, features: FeatureValues) -> Result<()> {
        let number = self.graph.factors.len();
        self.graph.pieces.push(None);
        let added = self.graph.push_factor(kind, nodes, features, self.types);
        added.map_err(|why| self.refuse(format!("factor {number}: {why}")))
    }

    /// Returns the graph. It is an error if its tables are too large.
    pub fn finish(self) -> Result<TypedGraph> {
        self.graph.check_size(self.types).map_err(|why| self.refuse(why))?;
        Ok(self.graph)
    }

    fn refuse(&self, why: String) -> Error {
        Error::input(self.graph.place.clone(), why)
    }
}

impl TypedGraph {
    /// The same graph with a weight in training: 2 counts as two such graphs, and 0 leaves it out. It is an error if it is negative or not
    /// finite.
    pub fn with_weight(self, weight: f64) -> Result<Self> {
        match weight.is_finite() && weight >= 0.0 {
            true => Ok(TypedGraph { weight, ..self }),
            false => Err(Error::input(self.place, wrong_weight(weight))),
        }
    }

    /// The same graph with a weight for each node, for objectives that are sums over nodes
    /// ([`Criterion::uses_variable_weights`](crate::settings::Criterion::uses_variable_weights)). It is an error if there is not one for each, or if
    /// one is negative or not finite.
    pub fn with_node_weights(mut self, weights: &[f64]) -> Result<Self> {
        let refuse = |why: String| Err(Error::input(self.place.clone(), why));
        if weights.len() != self.nodes.len() {
            return refuse(format!(
                "{} nodes, but {} weights: every node needs one",
                self.nodes.len(),
                weights.len()
            ));
        }
        if let Some(node) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return refuse(format!("node {node}: {}", wrong_weight(weights[node])));
        }
        self.weights.copy_from_slice(weights);
        Ok(self)
    }

    /// A graph without nodes, which was read at `place`.
    pub(super) fn empty(place: Place) -> Self {
        TypedGraph {
            place,
            nodes: Vec::new(),
            gold: Vec::new(),
            sets: Vec::new(),
            allowed: Vec::new(),
            weights: Vec::new(),
            weight: 1.0,
            factors: Vec::new(),
            pieces: Vec::new(),
            features: Vec::new(),
            shared: false,
        }
    }

    /// Adds a node, if its label and features are such as its type has.
    pub(super) fn push_node(
        &mut self,
        kind: usize,
        label: Option<Label>,
        features: FeatureValues,
        types: &Types,
    ) -> std::result::Result<(), String> {
        if kind >= types.nodes().len() {
            return Err(format!("there is no type {kind} of nodes"));
        }
        if let Some(label) = label {
            types.label_bits(kind, &[label])?;
        }
        self.nodes.push(kind);
        self.gold.push(label.unwrap_or(UNLABELLED));
        self.weights.push(1.0);
        self.observe(kind, features, types)
    }

    /// Says that the label of a node is one of these, if its type has them.
    pub(super) fn set_labels(
        &mut self,
        node: usize,
        labels: &[Label],
        types: &Types,
    ) -> std::result::Result<(), String> {
        let set = types.label_bits(self.nodes[node], labels)?;
        self.set_gold(node, set, types);
        Ok(())
    }

    /// Says that the label of a node is in a set, which must be one of its type's labels.
    pub(super) fn set_gold(&mut self, node: usize, set: LabelBits, types: &Types) {
        let labels = types.nodes()[self.nodes[node]].labels.len();
        self.gold[node] = plain_label(&set, labels).unwrap_or_else(|| {
            self.sets.push(set);
            FIRST_SET + self.sets.len() as Label - 1
        });
    }

    /// Restricts a node to these labels, if its type has them.
    pub(super) fn restrict(
        &mut self,
        node: usize,
        labels: &[Label],
        types: &Types,
    ) -> std::result::Result<(), String> {
        let mut set = types.label_bits(self.nodes[node], labels)?;
        let before = self.allowed.iter().filter(|(other, _)| *other == node);
        before.for_each(|(_, other)| set.meet(other));
        if set.is_empty() {
            return Err("no label is allowed both times: restrict it once".into());
        }
        self.allowed.push((node, set));
        Ok(())
    }

    /// Rejects a graph whose labels are restricted, as one to learn from: only answers can be restricted.
    pub(super) fn check_free(&self) -> Result<()> {
        match self.allowed.first() {
            None => Ok(()),
            Some((node, _)) => Err(Error::input(
                self.place.clone(),
                format!(
                    "node {node}: `allowed` restricts the answers of a model: in training data, give what is known as `label`"
                ),
            )),
        }
    }

    /// Adds a factor, if its nodes and features are such as its type has. Its piece is added by the caller.
    pub(super) fn push_factor(
        &mut self,
        kind: usize,
        nodes: Vec<usize>,
        features: FeatureValues,
        types: &Types,
    ) -> std::result::Result<(), String> {
        let Some(of) = types.all().get(kind).filter(|_| kind >= types.nodes().len()) else {
            return Err(format!("there is no type {kind} of factors"));
        };
        if nodes.len() != of.over.len() {
            let (found, name, over) = (nodes.len(), excerpt(&of.name), of.over.len());
            return Err(format!("{found} nodes, but a `{name}` is over {over}"));
        }
        for (k, (&node, &expected)) in nodes.iter().zip(&of.over).enumerate() {
            let Some(&found) = self.nodes.get(node) else {
                return Err(format!(
                    "there is no node {node}: there are {}, counted from 0",
                    self.nodes.len()
                ));
            };
            if found != expected {
                let [found, expected] = [found, expected].map(|kind| excerpt(&types.all()[kind].name));
                return Err(format!("node {node} is a `{found}`, but a `{expected}` is expected"));
            }
            if nodes[..k].contains(&node) {
                return Err(format!("node {node} occurs twice: name each node once"));
            }
        }
        self.factors.push((kind, nodes));
        self.observe(kind, features, types)
    }

    fn observe(
        &mut self,
        kind: usize,
        features: FeatureValues,
        types: &Types,
    ) -> std::result::Result<(), String> {
        let of = &types.all()[kind];
        if features.dense.len() != of.dense {
            let (found, expected, name) = (features.dense.len(), of.dense, excerpt(&of.name));
            return Err(format!("{found} dense features, but the type `{name}` declares {expected}"));
        }
        let mut values = features.named.iter().map(|(_, value)| value).chain(&features.dense);
        // Not a number is not small either.
        if let Some(value) = values.find(|value| value.is_nan() || value.abs() > MAX_VALUE) {
            return Err(format!("a feature of {value}: scale it to at most {MAX_VALUE}"));
        }
        self.features.push(features);
        Ok(())
    }

    /// Rejects a graph whose tables would not fit into memory.
    pub(super) fn check_size(&self, types: &Types) -> std::result::Result<(), String> {
        let kinds = self.nodes.iter().copied().chain(self.factors.iter().map(|(kind, _)| *kind));
        let numbers = kinds.fold(0usize, |sum, kind| sum.saturating_add(types.shape(kind).size()));
        match numbers > MAX_NUMBERS {
            true => Err(format!(
                "the tables of this graph have {numbers} numbers, more than {MAX_NUMBERS}: split it, or use smaller factors"
            )),
            false => Ok(()),
        }
    }
}

impl Types {
    /// The set of these labels of a node type. It is an error if it does not have one of them, or if there are none.
    pub(super) fn label_bits(&self, kind: usize, labels: &[Label]) -> std::result::Result<LabelBits, String> {
        let of = &self.nodes()[kind];
        let mut bits = LabelBits::none(of.labels.len());
        if labels.is_empty() {
            return Err(
                "an empty list of labels: name at least one, or leave it out if nothing is known".into()
            );
        }
        for &label in labels {
            if label as usize >= of.labels.len() {
                return Err(format!("label {label}, but `{}` has {}", excerpt(&of.name), of.labels.len()));
            }
            bits.insert(label as usize);
        }
        Ok(bits)
    }
}
