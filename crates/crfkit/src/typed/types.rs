//! The types of nodes and factors: what the first line of a file of graphs declares.

use crate::data::dataset::Dataset;
use crate::data::strings::Strings;
use crate::data::text::excerpt;
use crate::graph::{FactorGraph, Label, Shape};
use crate::math::simd;
use crate::model::{Features, Keep, Kind, Tables};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Types at most.
const MAX_TYPES: usize = 1000;
/// Labels of a node type at most, and of all of them together.
const MAX_LABELS: usize = 1 << 14;
const MAX_ALL_LABELS: usize = 1 << 20;
/// Nodes of a factor at most; those with two labels and more are further bound by the size of the table.
const MAX_ARITY: usize = 64;
/// Entries of one table at most, padding included, and of one table of every type together.
const MAX_ENTRIES: usize = 1 << 20;
const MAX_ALL_ENTRIES: usize = 1 << 24;
/// Dense features at most.
const MAX_DENSE: usize = 1 << 20;
/// Weights of a model at most: 2 GiB of them.
const MAX_WEIGHTS: usize = 1 << 28;

/// A type of nodes or of factors: its members share one set of weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Its name.
    pub name: String,
    /// Names of the labels, as declared; empty for factors.
    pub labels: Vec<String>,
    /// Numbers of the node types that its members are over; a node type is over itself.
    pub over: Vec<usize>,
    /// What its tables are made of.
    pub tables: Tables,
    /// Length of the lists of dense features.
    pub dense: usize,
}

/// All types: those of nodes first, each in the order of their names. The number of a type is the kind of its tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Declared", into = "Declared")]
pub struct Types {
    types: Vec<Type>,
    nodes: usize,
    /// The labels of each node type, to look up.
    labels: Vec<Strings>,
}

impl PartialEq for Types {
    fn eq(&self, other: &Types) -> bool {
        self.types == other.types
    }
}

/// The types as they are written.
pub(super) type Declared = BTreeMap<String, Declaration>;

/// One type as it is written: `labels` for nodes, `over` for factors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declaration {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Labels>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<Vec<String>>,
    #[serde(default = "full")]
    table: Tables,
    #[serde(default)]
    dense: usize,
}

fn full() -> Tables {
    Tables::Full
}

/// How many labels, called 0, 1, …; or their names.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "labels must be a number or a list of names")]
enum Labels {
    Count(usize),
    Names(Vec<String>),
}

impl TryFrom<Declared> for Types {
    type Error = String;

    fn try_from(declared: Declared) -> std::result::Result<Self, String> {
        let wrong = |name: &str, why: String| Err(format!("type `{}`: {why}", excerpt(name)));
        if declared.len() > MAX_TYPES {
            return Err(format!("{} types, more than {MAX_TYPES}", declared.len()));
        }
        let (mut nodes, mut factors, mut all_labels) = (Vec::new(), Vec::new(), 0);
        for (name, Declaration { labels, over, table: tables, dense }) in declared {
            if dense > MAX_DENSE {
                return wrong(&name, format!("{dense} dense features, more than {MAX_DENSE}"));
            }
            match (labels, over) {
                (Some(labels), None) => {
                    let count = match &labels {
                        Labels::Count(count) => *count,
                        Labels::Names(names) => names.len(),
                    };
                    if count == 0 || count > MAX_LABELS {
                        return wrong(&name, format!("{count} labels, but it must have 1 to {MAX_LABELS}"));
                    }
                    all_labels += count;
                    if all_labels > MAX_ALL_LABELS {
                        return Err(format!("more than {MAX_ALL_LABELS} labels in all types: use fewer"));
                    }
                    let labels = match labels {
                        Labels::Count(count) => (0..count).map(|label| label.to_string()).collect(),
                        Labels::Names(names) => names,
                    };
                    nodes.push(Type { name, labels, over: vec![nodes.len()], tables, dense });
                }
                (None, Some(over)) if over.is_empty() || over.len() > MAX_ARITY => {
                    let nodes = over.len();
                    return wrong(
                        &name,
                        format!("it is over {nodes} nodes, but that must be 1 to {MAX_ARITY}"),
                    );
                }
                (None, Some(over)) => factors.push((name, over, tables, dense)),
                _ => {
                    return wrong(&name, "give it either `labels` (nodes) or `over` (factors)".into());
                }
            }
        }
        let count = nodes.len();
        let mut types = nodes;
        for (name, over, tables, dense) in factors {
            let find = |of: &String| types[..count].iter().position(|node| node.name == *of);
            if let Some(of) = over.iter().find(|of| find(of).is_none()) {
                return wrong(&name, format!("it is over `{}`, which is no type of nodes", excerpt(of)));
            }
            let over = over.iter().filter_map(find).collect();
            types.push(Type { name, labels: Vec::new(), over, tables, dense });
        }
        let labels = types[..count].iter().map(intern).collect::<std::result::Result<_, String>>()?;
        let types = Types { types, nodes: count, labels };
        types.check()?;
        Ok(types)
    }
}

/// Entries of a table of variables with these numbers of labels, padding included; `None` for more than can be counted.
fn table_size(cards: &[usize]) -> Option<usize> {
    let (&columns, others) = cards.split_last()?;
    others.iter().try_fold(simd::padded(columns), |size, &card| size.checked_mul(card))
}

/// The labels of a node type; a name that is there twice is refused.
fn intern(node: &Type) -> std::result::Result<Strings, String> {
    let mut strings = Strings::default();
    for (k, label) in node.labels.iter().enumerate() {
        if strings.intern(label.as_bytes()) as usize != k {
            return Err(format!(
                "type `{}`: the label `{}` is there twice",
                excerpt(&node.name),
                excerpt(label)
            ));
        }
    }
    Ok(strings)
}

impl From<Types> for Declared {
    fn from(types: Types) -> Declared {
        let name = |kind: &usize| types.types[*kind].name.clone();
        let declaration = |(kind, of): (usize, &Type)| {
            let node = kind < types.nodes;
            let declaration = Declaration {
                labels: node.then(|| Labels::Names(of.labels.clone())),
                over: (!node).then(|| of.over.iter().map(name).collect()),
                table: of.tables,
                dense: of.dense,
            };
            (of.name.clone(), declaration)
        };
        types.types.iter().enumerate().map(declaration).collect()
    }
}

impl Types {
    /// Refuses tables that cannot be.
    fn check(&self) -> std::result::Result<(), String> {
        if self.nodes == 0 {
            return Err("there is no type of nodes: declare one with `labels`".into());
        }
        let mut all = 0;
        for (kind, of) in self.types.iter().enumerate() {
            let cards = self.cards(kind);
            let wrong = |why: String| Err(format!("type `{}`: {why}", excerpt(&of.name)));
            let size = table_size(&cards).filter(|&size| size <= MAX_ENTRIES);
            all += size.unwrap_or(0);
            if size.is_none() || all > MAX_ALL_ENTRIES {
                return wrong(format!(
                    "its tables have more than {MAX_ENTRIES} entries, or those of all types more than {MAX_ALL_ENTRIES}: use \
                     factors of fewer nodes, or fewer labels"
                ));
            }
            match of.tables {
                Tables::Ising if cards.iter().any(|&card| card != 2) => {
                    return wrong("an Ising table is for nodes of two labels: use potts or full".into());
                }
                Tables::Potts if cards.len() == 1 => {
                    return wrong("a Potts table compares labels of several nodes: use full".into());
                }
                Tables::Potts if cards.iter().any(|&card| card != cards[0]) => {
                    return wrong(
                        "a Potts table is for nodes with the same number of labels: use full".into(),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// All types, those of nodes first.
    pub fn all(&self) -> &[Type] {
        &self.types
    }

    /// The types of nodes.
    pub fn nodes(&self) -> &[Type] {
        &self.types[..self.nodes]
    }

    /// The types of factors.
    pub fn factors(&self) -> &[Type] {
        &self.types[self.nodes..]
    }

    /// The number of a type.
    pub fn kind(&self, name: &str) -> Option<usize> {
        self.types.iter().position(|of| of.name == name)
    }

    /// Labels of each node that a member of this type is over.
    pub fn cards(&self, kind: usize) -> Vec<usize> {
        self.types[kind].over.iter().map(|&node| self.types[node].labels.len()).collect()
    }

    /// Shape of its tables.
    pub(super) fn shape(&self, kind: usize) -> Shape {
        let cards = self.cards(kind);
        let (columns, rows) =
            cards.split_last().map_or((0, 0), |(last, others)| (*last, others.iter().product()));
        Shape { rows, columns }
    }

    /// The number of a label of a node type.
    pub fn label(&self, kind: usize, name: &str) -> Option<Label> {
        self.labels[kind].find(name.as_bytes())
    }

    /// Features that a member of this type has before the named ones: a constant and the dense ones.
    pub(super) fn first_named(&self, kind: usize) -> usize {
        1 + self.types[kind].dense
    }

    /// Which weight stands where, for models with `names[kind]` named features of each type: all labellings of every feature.
    pub fn features(&self, names: &[usize]) -> Result<Features> {
        let (kinds, data) = (self.kinds(names)?, Dataset::<FactorGraph>::new());
        Ok(Features::new(&data, kinds, self.nodes, &[], Keep::All))
    }

    /// What the tables of each type are made of; refused if they would have too many weights.
    pub(super) fn kinds(&self, names: &[usize]) -> Result<Vec<Kind>> {
        let kind = |(kind, of): (usize, &Type)| {
            let Shape { rows: lines, columns } = self.shape(kind);
            let observations = self.first_named(kind) + names[kind];
            Kind { observations, lines, columns, basis: of.tables.basis(&self.cards(kind)) }
        };
        let kinds: Vec<Kind> = self.types.iter().enumerate().map(kind).collect();
        let width = |kind: &Kind| match kind.basis.len() {
            0 => kind.lines * kind.columns,
            functions => functions,
        };
        let weights = kinds.iter().try_fold(0usize, |sum, kind| {
            kind.observations.checked_mul(width(kind)).and_then(|weights| sum.checked_add(weights))
        });
        match weights.is_some_and(|weights| weights <= MAX_WEIGHTS) {
            true => Ok(kinds),
            false => Err(Error::Setting(format!(
                "the model would have more than {MAX_WEIGHTS} weights: use Potts tables, fewer labels, or a larger --min-count"
            ))),
        }
    }
}
