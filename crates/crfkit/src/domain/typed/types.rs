//! The types of nodes and factors, as declared by the first line of a graph file.

use crate::data::strings::Strings;
use crate::data::text::excerpt;
use crate::graph::{Label, Shape};
use crate::math::simd;
use crate::model::{TableKind, Tables};
use crate::{Error, Result};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The largest number of types: enough for the pairs of 255 labels.
const MAX_TYPES: usize = 1 << 15;
/// The largest number of labels of one node type, and of all node types together.
const MAX_LABELS: usize = 1 << 14;
const MAX_ALL_LABELS: usize = 1 << 20;
/// The largest number of nodes of a factor. If nodes have two or more labels, the size of the table limits it further.
const MAX_ARITY: usize = 64;
/// The largest number of entries in one table, padding included, and in one table of every type together.
const MAX_ENTRIES: usize = 1 << 20;
const MAX_ALL_ENTRIES: usize = 1 << 24;
/// The largest number of dense features.
const MAX_DENSE: usize = 1 << 20;
/// The largest number of weights of a model: 2 GiB of them.
const MAX_WEIGHTS: usize = 1 << 28;

/// A type of nodes or factors. Its members share one set of weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Name of the type.
    pub name: String,
    /// Names of the labels, as declared; empty for factors.
    pub labels: Vec<String>,
    /// Numbers of the node types that its members are over. A node type is over itself.
    pub over: Vec<usize>,
    /// The form of its tables.
    pub tables: Tables,
    /// Length of the lists of dense features.
    pub dense: usize,
}

/// All types: node types first, then factor types, each in the order of their names. The number of a type is the kind
/// of its tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Declared", into = "Declared")]
pub struct Types {
    types: Vec<Type>,
    nodes: usize,
    /// The labels of each node type, for looking them up.
    labels: Vec<Strings>,
}

impl PartialEq for Types {
    fn eq(&self, other: &Types) -> bool {
        self.types == other.types
    }
}

/// The types as they are written, each once.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Declared(BTreeMap<String, Declaration>);

impl<'de> Deserialize<'de> for Declared {
    /// JSON allows a name twice, and maps keep the last one silently: here that is an error.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Declared;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("types by their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Declared, A::Error> {
                let mut declared = BTreeMap::new();
                while let Some((name, declaration)) = map.next_entry::<String, Declaration>()? {
                    if declared.insert(name.clone(), declaration).is_some() {
                        let name = excerpt(&name);
                        return Err(A::Error::custom(format!("type `{name}` is declared twice: rename one")));
                    }
                }
                Ok(Declared(declared))
            }
        }
        deserializer.deserialize_map(Once)
    }
}

/// The declaration of a type, in memory or in a file: `labels` for nodes, `over` for factors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Labels>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<Vec<String>>,
    #[serde(default = "full")]
    table: Tables,
    #[serde(default)]
    dense: usize,
}

impl Declaration {
    /// A type of nodes with these labels.
    pub fn nodes<L: Into<String>>(labels: impl IntoIterator<Item = L>) -> Self {
        let labels = Labels::Names(labels.into_iter().map(Into::into).collect());
        Declaration { labels: Some(labels), over: None, table: full(), dense: 0 }
    }

    /// A type of factors over nodes of these types.
    pub fn factors<N: Into<String>>(over: impl IntoIterator<Item = N>) -> Self {
        let over = over.into_iter().map(Into::into).collect();
        Declaration { labels: None, over: Some(over), table: full(), dense: 0 }
    }

    /// The same type with tables of this form instead of full ones.
    pub fn tables(mut self, tables: Tables) -> Self {
        self.table = tables;
        self
    }

    /// The same type with this many dense features.
    pub fn dense(mut self, dense: usize) -> Self {
        self.dense = dense;
        self
    }
}

fn full() -> Tables {
    Tables::Full
}

/// The labels of a node type as they are written: their number (they are then called 0, 1, …), or their names.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "labels must be a number or a list of names")]
enum Labels {
    Count(usize),
    Names(Vec<String>),
}

impl TryFrom<Declared> for Types {
    type Error = String;

    fn try_from(Declared(declared): Declared) -> std::result::Result<Self, String> {
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
            let find = |of: &String| types[..count].binary_search_by(|node: &Type| node.name.cmp(of)).ok();
            if let Some(of) = over.iter().find(|of| find(of).is_none()) {
                return wrong(&name, format!("it is over `{}`, which is not a type of nodes", excerpt(of)));
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

/// Number of entries of a table, padding included; `None` if it overflows. `cards` has the number of labels of each
/// variable.
fn table_size(cards: &[usize]) -> Option<usize> {
    let (&columns, others) = cards.split_last()?;
    others.iter().try_fold(simd::padded(columns), |size, &card| size.checked_mul(card))
}

/// The labels of a node type. It is an error if a name occurs twice.
fn intern(node: &Type) -> std::result::Result<Strings, String> {
    let mut strings = Strings::default();
    for (k, label) in node.labels.iter().enumerate() {
        if strings.intern(label.as_bytes()) as usize != k {
            return Err(format!(
                "type `{}`: the label `{}` occurs twice",
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
        Declared(types.types.iter().enumerate().map(declaration).collect())
    }
}

/// The name of a label's node in a table of rows and labels. Names have one length, so that their order is that of the labels.
fn of_label(label: usize) -> String {
    format!("label {label:04}")
}

impl Types {
    /// One type of nodes with `labels` labels, called `node`, and one of pairs of them, called `edge`, with so many numbers
    /// each.
    pub(super) fn of_edges(labels: usize, [nodes, edges]: [usize; 2], tables: Tables) -> Result<Self> {
        let node = Declaration::nodes((0..labels).map(|label| label.to_string())).dense(nodes);
        let edge = Declaration::factors(["node", "node"]).tables(tables).dense(edges);
        Types::declare([("node".to_owned(), node), ("edge".to_owned(), edge)])
    }

    /// A type of nodes of two labels for each of `labels` labels, with so many numbers, and a type for each pair of them.
    pub(super) fn of_labels(labels: usize, dense: usize, tables: Tables) -> Result<Self> {
        let most = (1..).take_while(|n| n + n * (n - 1) / 2 <= MAX_TYPES).last().unwrap_or(0);
        if !(1..=most).contains(&labels) {
            return Err(Error::Setting(format!("{labels} labels, but a row can have between 1 and {most}")));
        }
        let mut declared = Vec::new();
        for i in 0..labels {
            declared.push((of_label(i), Declaration::nodes(["0", "1"]).dense(dense)));
            for j in i + 1..labels {
                let pair = Declaration::factors([of_label(i), of_label(j)]).tables(tables);
                declared.push((format!("pair {i:04} {j:04}"), pair));
            }
        }
        Types::declare(declared)
    }

    /// Number of labels, if these are the types of a table of rows and labels.
    pub fn label_table(&self) -> Option<usize> {
        let labels = self.nodes;
        let named =
            self.nodes().iter().enumerate().all(|(k, of)| of.name == of_label(k) && of.labels.len() == 2);
        (named && self.factors().len() == labels * (labels - 1) / 2).then_some(labels)
    }

    /// Declares types by their names. It is an error if a name occurs twice or a declaration is impossible.
    pub fn declare(types: impl IntoIterator<Item = (String, Declaration)>) -> Result<Self> {
        let mut declared = BTreeMap::new();
        for (name, declaration) in types {
            if let Some(name) = declared.contains_key(&name).then(|| excerpt(&name)) {
                return Err(Error::Setting(format!("type `{name}` is declared twice: rename one")));
            }
            declared.insert(name, declaration);
        }
        Types::try_from(Declared(declared)).map_err(Error::Setting)
    }

    /// Rejects declarations whose tables are impossible.
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

    /// All types, node types first.
    pub fn all(&self) -> &[Type] {
        &self.types
    }

    /// The node types.
    pub fn nodes(&self) -> &[Type] {
        &self.types[..self.nodes]
    }

    /// The factor types.
    pub fn factors(&self) -> &[Type] {
        &self.types[self.nodes..]
    }

    /// The number of a type.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        // Node types and factor types each have the order of their names.
        let among = |types: &[Type]| types.binary_search_by(|of| of.name.as_str().cmp(name)).ok();
        among(self.nodes()).or_else(|| among(self.factors()).map(|factor| self.nodes + factor))
    }

    /// Number of labels of each node that a member of this type is over.
    pub(crate) fn cards(&self, kind: usize) -> Vec<usize> {
        self.types[kind].over.iter().map(|&node| self.types[node].labels.len()).collect()
    }

    /// Shape of a type's tables.
    pub(super) fn shape(&self, kind: usize) -> Shape {
        let cards = self.cards(kind);
        let (columns, rows) =
            cards.split_last().map_or((0, 0), |(last, others)| (*last, others.iter().product()));
        Shape { rows, columns }
    }

    /// The number of a label of a node type.
    pub(crate) fn label(&self, kind: usize, name: &str) -> Option<Label> {
        self.labels[kind].find(name.as_bytes())
    }

    /// Number of features of this type that come before the named ones: a constant and the dense features.
    pub(super) fn first_named(&self, kind: usize) -> usize {
        1 + self.types[kind].dense
    }

    /// The shape and features of each type's tables. It is an error if they would have too many weights.
    pub(super) fn kinds(&self, names: &[usize]) -> Result<Vec<TableKind>> {
        let kind = |(kind, of): (usize, &Type)| {
            let Shape { rows: lines, columns } = self.shape(kind);
            let observations = self.first_named(kind) + names[kind];
            TableKind { observations, dense: 0, lines, columns, basis: of.tables.basis(&self.cards(kind)) }
        };
        let kinds: Vec<TableKind> = self.types.iter().enumerate().map(kind).collect();
        let width = |kind: &TableKind| match kind.basis.len() {
            0 => kind.lines * kind.columns,
            functions => functions,
        };
        let weights = kinds.iter().try_fold(0usize, |sum, kind| {
            kind.observations.checked_mul(width(kind)).and_then(|weights| sum.checked_add(weights))
        });
        match weights.is_some_and(|weights| weights <= MAX_WEIGHTS) {
            true => Ok(kinds),
            false => Err(Error::Setting(format!(
                "the model would have more than {MAX_WEIGHTS} weights: use Potts tables, fewer labels, or a larger `min_count`"
            ))),
        }
    }
}
