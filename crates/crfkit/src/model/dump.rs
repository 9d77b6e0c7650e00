//! Weights by name: the dump that scripts read, and the heaviest features for people.
//!
//! A dump is text, a line a label and then a line a weight, fields separated by tabs:
//!
//! ```text
//! label       NAME
//! node        OBSERVATION  LABEL  WEIGHT
//! pair        OBSERVATION  PREVIOUS  LABEL  WEIGHT
//! transition  PREVIOUS  LABEL  WEIGHT
//! begin       LABEL  WEIGHT
//! end         LABEL  WEIGHT
//! ```
//!
//! In names, tab, newline, carriage return, backslash and NUL are written `\t`, `\n`, `\r`, `\\` and `\0`. A weight has as
//! many digits as it takes to read the same number back.

use super::Model;
use crate::graph::{BEGIN, END, Label, NODES, PAIR, PAIRS};
use crate::math::simd;
use crate::{Error, Place, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufRead, Write};

/// What a weight belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An observation and a label.
    Node,
    /// An observation and a pair of labels.
    Pair,
    /// A pair of labels.
    Transition,
    /// The first label of a sequence.
    Begin,
    /// The last label of a sequence.
    End,
}

impl Kind {
    /// Its word in a dump.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Node => "node",
            Kind::Pair => "pair",
            Kind::Transition => "transition",
            Kind::Begin => "begin",
            Kind::End => "end",
        }
    }
}

/// A weight, and what it is the weight of.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWeight {
    /// What it belongs to.
    pub kind: Kind,
    /// The observation, for [`Kind::Node`] and [`Kind::Pair`].
    pub observation: Option<String>,
    /// The label before, for [`Kind::Pair`] and [`Kind::Transition`].
    pub previous: Option<String>,
    /// The label.
    pub label: String,
    /// The weight.
    pub weight: f64,
}

/// What a dump says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump {
    /// The labels.
    pub labels: Vec<String>,
    /// The weights, in the order of their lines.
    pub weights: Vec<NamedWeight>,
}

/// Writes all labels and weights of a model.
pub fn dump(model: &Model, out: &mut impl Write) -> io::Result<()> {
    let labels: Vec<String> = model.labels.iter().map(|label| escape(label)).collect();
    for label in &labels {
        writeln!(out, "label\t{label}")?;
    }
    let stride = simd::padded(labels.len());
    for kind in [NODES, PAIRS] {
        let rows = &model.features.rows[kind];
        for row in 0..rows.len as u32 {
            let name = escape(&model.alphabet.name(&model.source, kind == PAIRS, row));
            for (weight, entry) in model.weights[rows.range(row)].iter().zip(rows.entries_of(row)) {
                let label = &labels[entry % stride];
                match kind {
                    NODES => writeln!(out, "node\t{name}\t{label}\t{weight}")?,
                    _ => writeln!(out, "pair\t{name}\t{}\t{label}\t{weight}", labels[entry / stride])?,
                }
            }
        }
    }
    for NamedWeight { kind, previous, label, weight, .. } in transitions(model) {
        write!(out, "{}\t", kind.word())?;
        if let Some(previous) = previous {
            write!(out, "{}\t", escape(&previous))?;
        }
        writeln!(out, "{}\t{weight}", escape(&label))?;
    }
    Ok(())
}

/// Reads a dump; `name` is what errors call it.
pub fn read_dump(input: impl BufRead, name: &str) -> Result<Dump> {
    let mut dump = Dump::default();
    for (number, line) in (1..).zip(input.lines()) {
        let line = line.map_err(|error| Error::io(name, error))?;
        let read = match line.split_once('\t') {
            Some(("label", label)) => unescape(label).map(|label| dump.labels.push(label)),
            _ => read_weight(&line).map(|weight| dump.weights.push(weight)),
        };
        read.ok_or_else(|| {
            let message = "this is no line of a dump: it must be label, node, pair, transition, begin or end with its \
                           names and a weight, separated by tabs, with only \\t \\n \\r \\\\ \\0 behind a backslash";
            Error::input(Place::new(name, number), message)
        })?;
    }
    Ok(dump)
}

fn read_weight(line: &str) -> Option<NamedWeight> {
    let fields: Vec<&str> = line.split('\t').collect();
    let (kind, observation, previous, label, weight) = match fields[..] {
        ["node", observation, label, weight] => (Kind::Node, Some(observation), None, label, weight),
        ["pair", observation, previous, label, weight] => {
            (Kind::Pair, Some(observation), Some(previous), label, weight)
        }
        ["transition", previous, label, weight] => (Kind::Transition, None, Some(previous), label, weight),
        ["begin", label, weight] => (Kind::Begin, None, None, label, weight),
        ["end", label, weight] => (Kind::End, None, None, label, weight),
        _ => return None,
    };
    // The outer option says whether the name can be read, the inner one whether there is one.
    let name = |field: Option<&str>| field.map_or(Some(None), |field| unescape(field).map(Some));
    Some(NamedWeight {
        kind,
        observation: name(observation)?,
        previous: name(previous)?,
        label: unescape(label)?,
        weight: weight.parse().ok().filter(|weight: &f64| weight.is_finite())?,
    })
}

/// The weights of label pairs and of first and last labels.
pub fn transitions(model: &Model) -> Vec<NamedWeight> {
    let stride = simd::padded(model.labels.len());
    let mut all = Vec::new();
    for (id, kind) in [(PAIR, Kind::Transition), (BEGIN, Kind::Begin), (END, Kind::End)] {
        let table = &model.features.tables[id];
        for (&entry, &weight) in table.entry.iter().zip(&model.weights[table.base..]) {
            let (line, column) = (entry as usize / stride, entry as usize % stride);
            let previous = (id == PAIR).then(|| model.labels[line].clone());
            let label = model.labels[column].clone();
            all.push(NamedWeight { kind, observation: None, previous, label, weight });
        }
    }
    all
}

/// The `n` heaviest weights of observations, by absolute value, heaviest first: of all, or of one label, one observation, or
/// both. Weights of 0 do not count.
pub fn top(
    model: &Model,
    n: usize,
    label: Option<&str>,
    observation: Option<&str>,
) -> Result<Vec<NamedWeight>> {
    let label = label.map(|name| known_label(model, name)).transpose()?;
    let stride = simd::padded(model.labels.len());
    // The lightest of those chosen so far is on top.
    let mut chosen = BinaryHeap::new();
    for kind in [NODES, PAIRS] {
        let rows = &model.features.rows[kind];
        for row in 0..rows.len as u32 {
            if observation.is_some_and(|name| model.alphabet.name(&model.source, kind == PAIRS, row) != name)
            {
                continue;
            }
            for (weight, entry) in rows.range(row).zip(rows.entries_of(row)) {
                let size = model.weights[weight].abs().to_bits();
                if size == 0 || label.is_some_and(|label| entry % stride != label as usize) {
                    continue;
                }
                let item = Reverse(Candidate { size, weight: Reverse(weight), kind, row, entry });
                if chosen.len() < n {
                    chosen.push(item);
                } else if let Some(mut lightest) = chosen.peek_mut().filter(|lightest| item < **lightest) {
                    *lightest = item;
                }
            }
        }
    }
    let named = |Reverse(Candidate { weight, kind, row, entry, .. }): Reverse<Candidate>| NamedWeight {
        kind: if kind == NODES { Kind::Node } else { Kind::Pair },
        observation: Some(model.alphabet.name(&model.source, kind == PAIRS, row)),
        previous: (kind == PAIRS).then(|| model.labels[entry / stride].clone()),
        label: model.labels[entry % stride].clone(),
        weight: model.weights[weight.0],
    };
    Ok(chosen.into_sorted_vec().into_iter().map(named).collect())
}

/// A weight in the order of [`top`]: by size, then the earlier one first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of the absolute value: they compare as the numbers do.
    size: u64,
    weight: Reverse<usize>,
    kind: usize,
    row: u32,
    entry: usize,
}

fn known_label(model: &Model, name: &str) -> Result<Label> {
    model.label(name).ok_or_else(|| {
        let labels = model.labels.join(", ");
        Error::Setting(format!("the model has no label `{name}`; its labels are {labels}"))
    })
}

/// The characters that stand for something else behind a backslash.
const ESCAPES: [(char, char); 5] = [('\t', 't'), ('\n', 'n'), ('\r', 'r'), ('\\', '\\'), ('\0', '0')];

/// A name as a field of a dump.
pub(crate) fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match ESCAPES.iter().find(|(plain, _)| *plain == c) {
            Some((_, letter)) => escaped.extend(['\\', *letter]),
            None => escaped.push(c),
        }
    }
    escaped
}

/// The name behind a field; `None` if it could not have been written.
fn unescape(field: &str) -> Option<String> {
    let mut name = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let letter = chars.next()?;
                name.push(ESCAPES.iter().find(|(_, escaped)| *escaped == letter)?.0);
            }
            '\t' => return None,
            _ => name.push(c),
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_name_survives(name in "[\\PC\t\n\r\\\\\0tnr0]*") {
            let escaped = escape(&name);
            prop_assert!(!escaped.contains(['\t', '\n', '\r', '\0']));
            prop_assert_eq!(unescape(&escaped), Some(name));
        }
    }

    #[test]
    fn lines_that_no_dump_has_are_refused_with_their_number() {
        for line in [
            "",
            "node",
            "node\tx\tA",
            "node\tx\tA\tB\t1",
            "pair\tx\tA\t1",
            "begin\tA\tone",
            "begin\tA\tNaN",
            "end\t\\x\t1",
            "end\tA\\\t1",
            "label\tA\tB",
            "edge\tA\t1",
        ] {
            let text = format!("label\tA\n{line}\n");
            let message = read_dump(text.as_bytes(), "d.tsv").unwrap_err().to_string();
            assert!(message.starts_with("d.tsv:2: this is no line of a dump"), "{line:?}: {message}");
        }
        assert_eq!(read_dump(&b"label\t\n"[..], "d.tsv").unwrap().labels, [""]);
    }
}
