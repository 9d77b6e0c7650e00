//! One line of a graph file: the types, or a graph.

use super::{FeatureValues, Types};
use crate::data::text::excerpt;
use crate::graph::{FactorGraph, FactorGraphBuilder, Label, LabelBits, PieceHint};
use crate::{Error, Place, Result};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;

/// The largest number of table entries in one graph: half a gigabyte of them.
pub(super) const MAX_NUMBERS: usize = 1 << 26;
/// The largest feature value. With larger values, scores might not be finite.
pub(super) const MAX_VALUE: f64 = 1e9;
/// Labels in arrays are below this number.
pub(super) const MAX_LABEL: u32 = 1 << 14;

/// The contents of a line.
#[derive(Clone, Debug)]
pub enum Line {
    /// A blank line.
    Blank,
    /// The types of the graphs that follow.
    Types(Types),
    /// A graph that fits the known types.
    Graph(TypedGraph),
}

/// A graph, as it was read. All names of types, labels and nodes have been checked.
#[derive(Clone, Debug)]
pub struct TypedGraph {
    /// The place where it was read.
    pub(crate) place: Place,
    /// The type of each node.
    pub nodes: Vec<usize>,
    /// The gold label of each node, or [`UNLABELLED`](crate::graph::UNLABELLED), or [`FIRST_SET`](crate::graph::FIRST_SET) + n if it is one
    /// of set n.
    pub gold: Vec<Label>,
    /// The sets of labels that some gold labels stand for.
    pub(crate) sets: Vec<LabelBits>,
    /// The labels that some nodes are restricted to when the graph is labelled.
    pub(crate) allowed: Vec<(usize, LabelBits)>,
    /// The weight of each node.
    pub weights: Vec<f64>,
    /// The weight of the graph.
    pub weight: f64,
    /// Type and nodes of each factor.
    pub(crate) factors: Vec<(usize, Vec<usize>)>,
    /// The piece of each factor, if it names one. Equal names have equal numbers.
    pub(crate) pieces: Vec<Option<usize>>,
    /// The features of each node, then of each factor.
    pub(super) features: Vec<FeatureValues>,
    /// Whether all nodes have the features of the first, which are stored once.
    pub(super) shared: bool,
}

impl Line {
    /// Reads a line. A graph must fit `types`, which must be known by then.
    pub(crate) fn read(text: &str, place: &Place, types: Option<&Types>) -> Result<Line> {
        let refuse = |why: String| Error::input(place.clone(), why);
        if text.trim().is_empty() {
            return Ok(Line::Blank);
        }
        let written: Written = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            // The place has the line number.
            let why = message.rsplit_once(" at line ").map_or(&*message, |(why, _)| why);
            refuse(format!("column {}: {why}", error.column()))
        })?;
        match (written, types) {
            (Written { types: Some(types), nodes: None, factors, weight: None }, _) if factors.is_empty() => {
                Ok(Line::Types(types))
            }
            (Written { types: None, nodes: Some(nodes), factors, weight }, Some(types)) => {
                let graph = TypedGraph::new(nodes, factors, place, types);
                let weigh = |graph| TypedGraph::weighed(graph, weight.unwrap_or(1.0));
                graph.and_then(weigh).map(Line::Graph).map_err(refuse)
            }
            (Written { types: None, nodes: Some(_), .. }, None) => Err(refuse(
                "a graph, but no types yet: the first line must declare them, as in {\"types\": {\"word\": {\"labels\": \
                 [\"N\", \"V\"]}}}"
                    .into(),
            )),
            _ => Err(refuse("a line has either \"types\", or \"nodes\" and perhaps \"factors\"".into())),
        }
    }
}

impl TypedGraph {
    fn new(
        nodes: Vec<WrittenNode>,
        factors: Vec<WrittenFactor>,
        place: &Place,
        types: &Types,
    ) -> std::result::Result<Self, String> {
        let mut graph = TypedGraph::empty(place.clone());
        for (number, node) in nodes.into_iter().enumerate() {
            graph.add_node(node, types).map_err(|why| format!("node {number}: {why}"))?;
        }
        let mut names = HashMap::new();
        for (number, factor) in factors.into_iter().enumerate() {
            graph.pieces.push(factor.piece.as_ref().map(|Name(name)| {
                let next = names.len();
                *names.entry(name.clone()).or_insert(next)
            }));
            graph.add_factor(factor, types).map_err(|why| format!("factor {number}: {why}"))?;
        }
        graph.check_size(types).map(|()| graph)
    }

    fn weighed(self, weight: f64) -> std::result::Result<Self, String> {
        check_weight(weight).map(|()| TypedGraph { weight, ..self })
    }

    fn add_node(&mut self, node: WrittenNode, types: &Types) -> std::result::Result<(), String> {
        let WrittenNode { of, label, allowed, weight, features, dense } = node;
        let weight = weight.unwrap_or(1.0);
        check_weight(weight)?;
        let kind = find(types, &of, 0..types.nodes().len())?;
        let find = |Name(name): Name| {
            types.label(kind, &name).ok_or_else(|| {
                let labels = names(types.nodes()[kind].labels.iter());
                format!("`{}` is not a label of `{}`: {labels}", excerpt(&name), excerpt(&of))
            })
        };
        let numbers = |names: Option<Names>| -> std::result::Result<Option<Vec<Label>>, String> {
            names.map(|Names(names)| names.into_iter().map(find).collect()).transpose()
        };
        let (labels, allowed) = (numbers(label)?, numbers(allowed)?);
        self.push_node(kind, None, FeatureValues { named: features.0, dense }, types)?;
        let node = self.nodes.len() - 1;
        self.weights[node] = weight;
        if let Some(labels) = labels {
            self.set_labels(node, &labels, types)?;
        }
        allowed.map_or(Ok(()), |allowed| self.restrict(node, &allowed, types))
    }

    fn add_factor(&mut self, factor: WrittenFactor, types: &Types) -> std::result::Result<(), String> {
        let WrittenFactor { of, nodes, features, dense, .. } = factor;
        let kind = find(types, &of, types.nodes().len()..types.all().len())?;
        self.push_factor(kind, nodes, FeatureValues { named: features.0, dense }, types)
    }

    /// The structure of the graph: an own table for each node, then one for each factor. The kind of a table is its
    /// type.
    pub(super) fn structure(&self, types: &Types) -> Result<FactorGraph> {
        let failed = |error: crate::GraphError| Error::input(self.place.clone(), error.to_string());
        let cards = self.nodes.iter().map(|&kind| types.nodes()[kind].labels.len()).collect();
        let mut builder = FactorGraphBuilder::new(cards).map_err(failed)?;
        for (node, &kind) in self.nodes.iter().enumerate() {
            builder.add_own(kind, &[node]).map_err(failed)?;
        }
        for (kind, nodes) in &self.factors {
            builder.add_own(*kind, nodes).map_err(failed)?;
        }
        if self.pieces.iter().any(Option::is_some) {
            let nodes = self.nodes.iter().map(|_| None);
            builder.piece_hint(PieceHint::Named(nodes.chain(self.pieces.iter().copied()).collect()));
        }
        builder.build().map_err(failed)
    }

    /// The type and the features of each node, then of each factor.
    pub(super) fn members(&self) -> impl Iterator<Item = (usize, &FeatureValues)> {
        let own = if self.shared { self.nodes.len().min(1) } else { self.nodes.len() };
        let (of_nodes, of_factors) = self.features.split_at(own);
        let node = move |(v, kind): (usize, &usize)| (*kind, &of_nodes[v.min(own - 1)]);
        let factors = self.factors.iter().map(|(kind, _)| *kind).zip(of_factors);
        self.nodes.iter().enumerate().map(node).chain(factors)
    }
}

/// Rejects weights that are negative or not finite.
pub(super) fn check_weight(weight: f64) -> std::result::Result<(), String> {
    match weight.is_finite() && weight >= 0.0 {
        true => Ok(()),
        false => Err(format!("its weight is {weight}, but it must be a finite number of at least 0")),
    }
}

/// The number of the type called `name`, which must be among `those`.
fn find(types: &Types, name: &str, those: std::ops::Range<usize>) -> std::result::Result<usize, String> {
    types.index_of(name).filter(|kind| those.contains(kind)).ok_or_else(|| {
        let known = names(types.all()[those].iter().map(|of| &of.name));
        format!("`{}` is not a declared type: {known}", excerpt(name))
    })
}

/// The first few names of a list, for messages.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    const SHOWN: usize = 10;
    let mut names: Vec<String> = names.take(SHOWN + 1).map(|name| excerpt(name)).collect();
    match names.len() {
        0 => "there is none".into(),
        count if count > SHOWN => {
            names[SHOWN] = "…".into();
            format!("choose {}", names.join("|"))
        }
        _ => format!("choose {}", names.join("|")),
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    types: Option<Types>,
    nodes: Option<Vec<WrittenNode>>,
    weight: Option<f64>,
    #[serde(default)]
    factors: Vec<WrittenFactor>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNode {
    #[serde(rename = "type")]
    of: String,
    label: Option<Names>,
    allowed: Option<Names>,
    weight: Option<f64>,
    #[serde(default)]
    features: Named,
    #[serde(default)]
    dense: Vec<f64>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFactor {
    #[serde(rename = "type")]
    of: String,
    nodes: Vec<usize>,
    piece: Option<Name>,
    #[serde(default)]
    features: Named,
    #[serde(default)]
    dense: Vec<f64>,
}

/// The name of a label or a piece. A number is read as the name that it spells.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Label;
        impl Visitor<'_> for Label {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a name or a number")
            }
            fn visit_str<E>(self, name: &str) -> std::result::Result<Name, E> {
                Ok(Name(name.into()))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Name, E> {
                Ok(Name(number.to_string()))
            }
        }
        from.deserialize_any(Label)
    }
}

/// A name, or a list of names.
struct Names(Vec<Name>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Labels;
        impl<'de> Visitor<'de> for Labels {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a name or a number, or a list of them")
            }
            fn visit_str<E>(self, name: &str) -> std::result::Result<Names, E> {
                Ok(Names(vec![Name(name.into())]))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Names, E> {
                Ok(Names(vec![Name(number.to_string())]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element::<Name>()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        from.deserialize_any(Labels)
    }
}

/// Named features: a list of names, whose values are 1, or an object of names and values.
#[derive(Default)]
struct Named(Vec<(String, f64)>);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Features;
        impl<'de> Visitor<'de> for Features {
            type Value = Named;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("features: a list of names, or an object of names and numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Named, A::Error> {
                let mut named = Vec::new();
                while let Some(name) = list.next_element::<String>()? {
                    named.push((name, 1.0));
                }
                Ok(Named(named))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> std::result::Result<Named, A::Error> {
                let mut named = Vec::new();
                while let Some((name, value)) = object.next_entry::<String, f64>()? {
                    if !value.is_finite() {
                        return Err(A::Error::custom(format!(
                            "the value of `{}` is not a number",
                            excerpt(&name)
                        )));
                    }
                    named.push((name, value));
                }
                Ok(Named(named))
            }
        }
        from.deserialize_any(Features)
    }
}
