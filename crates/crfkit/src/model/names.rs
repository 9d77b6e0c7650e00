//! Weights by name, for any kind of model: the table, the observation and the labels of each weight.
//!
//! A model of any kind provides its [`Names`]. Code that shows, writes or transfers weights needs nothing else from it.

use super::{Features, Rows, TableWeights, Tables};
use crate::graph::{BEGIN, END, LENGTH, NODES, PAIR, PAIRS, TRIPLE};
use crate::math::simd;
use crate::{Error, Result};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The weights of a model, with their names.
pub struct Names<'a> {
    /// The label sets: one for each label column or node type.
    pub sets: Vec<LabelSet<'a>>,
    /// The parts with weights, in the order of θ: kinds of tables with observations, then tables of labels alone.
    pub parts: Vec<WeightPart<'a>>,
    /// θ; empty if only the names are available.
    pub weights: &'a [f64],
}

/// A set of labels that some variables share.
#[derive(Clone, Debug)]
pub struct LabelSet<'a> {
    /// Name of the set; `None` on plain chains, which have one set.
    pub name: Option<String>,
    /// Names of the labels.
    pub labels: Cow<'a, [String]>,
}

/// Tables that share their weights.
pub struct WeightPart<'a> {
    /// Name of the part.
    pub name: String,
    /// The label set of each of its variables.
    pub over: Vec<usize>,
    /// The form of its tables.
    pub tables: Tables,
    /// Positions of its weights.
    pub(crate) entries: Entries<'a>,
    /// Returns the kind and the name of a row's observation.
    pub(crate) observation: Box<dyn Fn(u32) -> (WeightKind, Option<String>) + 'a>,
}

/// The positions of a part's weights.
pub(crate) enum Entries<'a> {
    /// A row for each observation.
    Rows(Cow<'a, Rows>),
    /// A table of labels alone.
    Table(&'a TableWeights),
}

/// What a weight is about, besides labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightKind {
    /// An observation with a name.
    Feature,
    /// An observation with a number: one of a list of values.
    Dense,
    /// No observation: labels alone.
    Table,
}

impl WeightKind {
    /// All kinds.
    pub(crate) const ALL: [WeightKind; 3] = [WeightKind::Feature, WeightKind::Dense, WeightKind::Table];

    /// The word for this kind in a dump.
    pub(crate) fn word(self) -> &'static str {
        match self {
            WeightKind::Feature => "feature",
            WeightKind::Dense => "dense",
            WeightKind::Table => "table",
        }
    }
}

/// A weight with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWeight {
    /// The part of the model that it belongs to.
    pub part: String,
    /// What the weight is about, besides labels.
    pub kind: WeightKind,
    /// The observation; `None` for [`WeightKind::Table`].
    pub observation: Option<String>,
    /// The labels, one for each variable; none in Potts and Ising tables.
    pub labels: Vec<String>,
    /// The value of the weight.
    pub weight: f64,
}

/// A label: the number of its set, and its number within the set.
pub type SetLabel = (usize, usize);

impl<'a> Names<'a> {
    /// The names of plain chains. `observation` gives the kind and the name of a row of a kind of table.
    pub(crate) fn chain(
        labels: &'a [String],
        features: &'a Features,
        weights: &'a [f64],
        observation: impl Fn(usize, u32) -> (WeightKind, String) + Clone + 'a,
    ) -> Self {
        let rows = |name: &str, kind: usize, over: Vec<usize>| {
            let observation = observation.clone();
            WeightPart::kinds_of(name, over, &features.rows[kind], move |row| observation(kind, row))
        };
        let table =
            |name: &str, id: usize, over: Vec<usize>| WeightPart::table(name, over, &features.tables[id]);
        let mut parts = vec![
            rows("node", NODES, vec![0]),
            rows("pair", PAIRS, vec![0, 0]),
            table("transition", PAIR, vec![0, 0]),
            table("begin", BEGIN, vec![0]),
            table("end", END, vec![0]),
        ];
        if features.lattice.triples {
            parts.push(table("triple", TRIPLE, vec![0, 0, 0]));
        }
        if features.lattice.segments.is_some() {
            parts.push(WeightPart::lengths("length", &features.tables[LENGTH]));
        }
        Names { sets: vec![LabelSet { name: None, labels: labels.into() }], parts, weights }
    }

    /// Whether these are the names of a plain chain.
    pub fn is_chain(&self) -> bool {
        self.sets.iter().all(|set| set.name.is_none())
    }

    /// Whether the weights of a part are about single labels. On chains, all weights of observations count as such; on
    /// other graphs, those of observations of one variable.
    #[doc(hidden)]
    pub fn is_by_label(&self, part: &WeightPart) -> bool {
        !part.is_table() && part.tables == Tables::Full && (self.is_chain() || part.over.len() == 1)
    }

    /// The names of the parts whose weights are not about single labels, each once.
    #[doc(hidden)]
    pub fn other_parts(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for part in self.parts.iter().filter(|part| !self.is_by_label(part)) {
            if !names.contains(&&*part.name) {
                names.push(&part.name);
            }
        }
        names
    }

    /// All labels with this name. Different sets may each have one.
    #[doc(hidden)]
    pub fn labels_called(&self, name: &str) -> Result<Vec<SetLabel>> {
        let find = |set: &LabelSet| set.labels.iter().position(|label| label == name);
        let found = self.sets.iter().enumerate().filter_map(|(k, set)| find(set).map(|label| (k, label)));
        let found: Vec<SetLabel> = found.collect();
        if found.is_empty() {
            let all: Vec<&str> =
                self.sets.iter().flat_map(|set| set.labels.iter()).map(String::as_str).collect();
            let all = all.join(", ");
            return Err(Error::Setting(format!("the model has no label `{name}`; its labels are {all}")));
        }
        Ok(found)
    }

    /// The name of the part that a weight belongs to, and its observation; `None` past the last weight.
    pub(crate) fn owner(&self, weight: usize) -> Option<(String, Option<String>)> {
        let found = self.parts.iter().find_map(|part| Some((part, part.row_of(weight)?)));
        found.map(|(part, row)| (part.name.clone(), (part.observation)(row).1))
    }

    /// All weights with their names, in the order of θ.
    pub fn iter(&self) -> impl Iterator<Item = NamedWeight> + '_ {
        self.iter_where(|_| true)
    }

    /// All weights with their names, of the parts that are `wanted`.
    pub fn iter_where<'b>(
        &'b self,
        wanted: impl Fn(&WeightPart) -> bool + 'b,
    ) -> impl Iterator<Item = NamedWeight> + 'b {
        self.parts.iter().filter(move |part| wanted(part)).flat_map(move |part| {
            (0..part.rows()).flat_map(move |row| {
                let (kind, observation) = (part.observation)(row);
                part.range(row).enumerate().map(move |(k, weight)| NamedWeight {
                    part: part.name.clone(),
                    kind,
                    observation: observation.clone(),
                    labels: part.labels(row, k, &self.sets),
                    weight: self.weights[weight],
                })
            })
        })
    }

    /// The `n` weights with the largest absolute values, largest first, among the parts that are `wanted`. They can be
    /// restricted to some labels, to one observation, or to both. Weights of 0 do not count.
    pub fn top(
        &self,
        n: usize,
        wanted: impl Fn(&WeightPart) -> bool,
        labels: &[SetLabel],
        observation: Option<&str>,
    ) -> Vec<NamedWeight> {
        // The smallest of the weights chosen so far is on top.
        let mut chosen = BinaryHeap::new();
        for (number, part) in self.parts.iter().enumerate().filter(|(_, part)| wanted(part)) {
            for row in 0..part.rows() {
                if observation.is_some_and(|name| (part.observation)(row).1.as_deref() != Some(name)) {
                    continue;
                }
                for (k, weight) in part.range(row).enumerate() {
                    let size = self.weights[weight].abs().to_bits();
                    let fits = || part.label_numbers(row, k, &self.sets).any(|found| labels.contains(&found));
                    if size == 0 || !(labels.is_empty() || fits()) {
                        continue;
                    }
                    let item = Reverse(Candidate { size, weight: Reverse(weight), part: number, row, k });
                    if chosen.len() < n {
                        chosen.push(item);
                    } else if let Some(mut lightest) = chosen.peek_mut().filter(|lightest| item < **lightest)
                    {
                        *lightest = item;
                    }
                }
            }
        }
        let named = |Reverse(Candidate { part, row, k, .. }): Reverse<Candidate>| {
            self.named_in(&self.parts[part], row, k)
        };
        chosen.into_sorted_vec().into_iter().map(named).collect()
    }
}

/// A weight in the order of [`Names::top`]: by absolute value; among equal ones, the earlier comes first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of the absolute value. They compare in the same order as the numbers.
    size: u64,
    weight: Reverse<usize>,
    part: usize,
    row: u32,
    k: usize,
}

impl<'a> WeightPart<'a> {
    /// A part of full tables with a row for each observation, of which `observation` gives kind and name.
    pub(crate) fn kinds_of(
        name: impl Into<String>,
        over: Vec<usize>,
        rows: &'a Rows,
        observation: impl Fn(u32) -> (WeightKind, String) + 'a,
    ) -> Self {
        let observation = move |row| {
            let (kind, name) = observation(row);
            (kind, Some(name))
        };
        let entries = Entries::Rows(Cow::Borrowed(rows));
        WeightPart {
            name: name.into(),
            over,
            tables: Tables::Full,
            entries,
            observation: Box::new(observation),
        }
    }

    /// A part that is a full table of labels alone.
    pub(crate) fn table(name: impl Into<String>, over: Vec<usize>, table: &'a TableWeights) -> Self {
        let observation = Box::new(|_| (WeightKind::Table, None));
        WeightPart {
            name: name.into(),
            over,
            tables: Tables::Full,
            entries: Entries::Table(table),
            observation,
        }
    }

    /// A part that is a table of lengths and labels: a row for each length, named by it.
    pub(crate) fn lengths(name: impl Into<String>, table: &'a TableWeights) -> Self {
        let stride = simd::padded(table.columns) as u32;
        let mut rows = Rows::all(table.base, table.lines, 1, table.columns);
        let end = |line: usize| table.entry.partition_point(|entry| (entry / stride) < line as u32) as u32;
        rows.start = (0..=table.lines).map(end).collect::<Vec<_>>().into();
        rows.entry = table.entry.iter().map(|entry| entry % stride).collect::<Vec<_>>().into();
        WeightPart {
            name: name.into(),
            over: vec![0],
            tables: Tables::Full,
            entries: Entries::Rows(Cow::Owned(rows)),
            observation: Box::new(|row| (WeightKind::Feature, Some((row + 1).to_string()))),
        }
    }

    /// A part whose first row is about labels alone. `dense` numbered rows follow, and then those that `named` gives a
    /// name.
    pub(crate) fn described(
        name: impl Into<String>,
        over: Vec<usize>,
        tables: Tables,
        rows: Cow<'a, Rows>,
        dense: usize,
        named: impl Fn(u32) -> String + 'a,
    ) -> Self {
        let observation = move |row: u32| match row as usize {
            0 => (WeightKind::Table, None),
            k if k <= dense => (WeightKind::Dense, Some((k - 1).to_string())),
            k => (WeightKind::Feature, Some(named((k - 1 - dense) as u32))),
        };
        let entries = Entries::Rows(rows);
        WeightPart { name: name.into(), over, tables, entries, observation: Box::new(observation) }
    }

    /// Whether the part is a table of labels alone.
    pub fn is_table(&self) -> bool {
        matches!(self.entries, Entries::Table(_))
    }

    /// Number of rows. A table of labels alone has one.
    pub fn rows(&self) -> u32 {
        match &self.entries {
            Entries::Rows(rows) => rows.len as u32,
            Entries::Table(_) => 1,
        }
    }

    /// The weights of a row, as a range of θ.
    pub fn range(&self, row: u32) -> Range<usize> {
        match &self.entries {
            Entries::Rows(rows) => rows.range(row),
            Entries::Table(table) => table.base..table.base + table.entry.len(),
        }
    }

    /// The row that a weight of θ belongs to; `None` if it is in another part.
    pub(super) fn row_of(&self, weight: usize) -> Option<u32> {
        let last = self.rows().checked_sub(1)?;
        if !(self.range(0).start..self.range(last).end).contains(&weight) {
            return None;
        }
        // The rows of a part follow each other; the first that ends behind the weight has it.
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.range(middle).end <= weight {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Some(low)
    }

    /// The entry of weight `k` of a row in its table; `None` if the weight belongs to the whole table.
    pub(super) fn entry(&self, row: u32, k: usize) -> Option<usize> {
        match &self.entries {
            Entries::Rows(rows) => rows.entry_at(row, k),
            Entries::Table(table) => Some(table.entry[k] as usize),
        }
    }

    /// The labels of weight `k` of a row, beginning with that of the last variable.
    #[doc(hidden)]
    pub fn label_numbers<'b>(
        &'b self,
        row: u32,
        k: usize,
        sets: &'b [LabelSet],
    ) -> impl Iterator<Item = SetLabel> + 'b {
        let entry = self.entry(row, k);
        let mut rest = entry.unwrap_or(0);
        self.over.iter().rev().enumerate().take_while(move |_| entry.is_some()).map(move |(place, &set)| {
            let distance = match place {
                0 => simd::padded(sets[set].labels.len()),
                _ => sets[set].labels.len(),
            };
            let label = rest % distance;
            rest /= distance;
            (set, label)
        })
    }

    /// The names of the labels of weight `k` of a row.
    pub(super) fn labels(&self, row: u32, k: usize, sets: &[LabelSet]) -> Vec<String> {
        let mut names: Vec<String> =
            self.label_numbers(row, k, sets).map(|(set, label)| sets[set].labels[label].clone()).collect();
        names.reverse();
        names
    }
}
