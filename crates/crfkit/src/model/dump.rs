//! Model dumps: all labels and weights of a model, by name, in a text format for scripts.
//!
//! A dump is text with fields separated by tabs. The dump of a plain chain has one line per label and then one line per
//! weight:
//!
//! ```text
//! label       NAME
//! node        OBSERVATION  LABEL  WEIGHT
//! pair        OBSERVATION  PREVIOUS  LABEL  WEIGHT
//! transition  PREVIOUS  LABEL  WEIGHT
//! triple  LAST BUT ONE  PREVIOUS  LABEL  WEIGHT
//! begin       LABEL  WEIGHT
//! end         LABEL  WEIGHT
//! length      TOKENS  FIRST LABEL  WEIGHT
//! ```
//!
//! On other graphs, labels come in sets. Tables that share weights form a part; a part lists the label set of each of
//! its variables:
//!
//! ```text
//! label    SET  NAME
//! part     PART  full|potts|ising  SET...
//! feature  PART  OBSERVATION  LABEL...  WEIGHT
//! dense    PART  NUMBER  LABEL...  WEIGHT
//! table    PART  LABEL...  WEIGHT
//! ```
//!
//! Weights of Potts and Ising tables have no labels. A `dense` line is about an observation that has a number (from 0)
//! instead of a name. A `table` line is about labels alone.
//!
//! In names, tab, newline, carriage return, backslash and NUL are written `\t`, `\n`, `\r`, `\\` and `\0`. A weight has
//! as many digits as it takes to read the same number back.

use super::Tables;
use super::names::{NamedWeight, Names, WeightKind};
use crate::{Error, Place, Result};
use std::io::{self, BufRead, Write};

/// The parts of plain chains: the name of each, whether it has observations, and its number of labels.
const CHAIN: [(&str, bool, usize); 7] = [
    ("node", true, 1),
    ("pair", true, 2),
    ("transition", false, 2),
    ("begin", false, 1),
    ("end", false, 1),
    ("triple", false, 3),
    ("length", true, 1),
];

/// The contents of a dump.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump {
    /// The labels. If there are several sets, each label has the name of its set.
    pub labels: Vec<(Option<String>, String)>,
    /// The parts; none for plain chains.
    pub parts: Vec<DumpedPart>,
    /// The weights, in the order of their lines.
    pub weights: Vec<NamedWeight>,
}

/// A part of a model, as its dump declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct DumpedPart {
    /// Name of the part.
    pub name: String,
    /// The form of its tables.
    pub tables: Tables,
    /// The label set of each of its variables.
    pub over: Vec<String>,
}

/// Writes all labels and weights of a model.
pub fn dump(names: &Names, out: &mut impl Write) -> io::Result<()> {
    let chain = names.is_chain();
    let sets: Vec<Option<String>> = names.sets.iter().map(|set| set.name.as_deref().map(escape)).collect();
    let labels: Vec<Vec<String>> =
        names.sets.iter().map(|set| set.labels.iter().map(|label| escape(label)).collect()).collect();
    for (set, labels) in sets.iter().zip(&labels) {
        let set = set.as_ref().map_or_else(String::new, |name| format!("{name}\t"));
        labels.iter().try_for_each(|label| writeln!(out, "label\t{set}{label}"))?;
    }
    for (k, part) in names.parts.iter().enumerate().filter(|_| !chain) {
        if names.parts[..k].iter().all(|before| before.name != part.name) {
            write!(out, "part\t{}\t{}", escape(&part.name), part.tables.name())?;
            part.over.iter().try_for_each(|&set| write!(out, "\t{}", sets[set].as_deref().unwrap_or("")))?;
            writeln!(out)?;
        }
    }
    let mut fields: Vec<&str> = Vec::new();
    for part in &names.parts {
        for row in 0..part.rows() {
            let (kind, observation) = (part.observation)(row);
            let word = if chain { None } else { Some(kind.word().to_owned()) };
            let begin = [word, Some(escape(&part.name)), observation.as_deref().map(escape)];
            let begin: String = begin.into_iter().flatten().map(|field| field + "\t").collect();
            for (k, weight) in part.range(row).enumerate() {
                fields
                    .extend(part.label_numbers(row, k, &names.sets).map(|(set, label)| &*labels[set][label]));
                write!(out, "{begin}")?;
                fields.drain(..).rev().try_for_each(|label| write!(out, "{label}\t"))?;
                writeln!(out, "{}", names.weights[weight])?;
            }
        }
    }
    Ok(())
}

/// Reads a dump. `name` is the input's name in error messages.
pub fn read_dump(input: impl BufRead, name: &str) -> Result<Dump> {
    let mut dump = Dump::default();
    for (number, line) in (1..).zip(input.lines()) {
        let line = line.map_err(|error| Error::io(name, error))?;
        dump.read_line(&line).ok_or_else(|| {
            let message = "this is not a line of a dump: it must be label, node, pair, transition, begin, end or triple (on graphs label, \
                           part, feature, dense or table) with its names and a weight, separated by tabs, with only \\t \\n \\r \
                           \\\\ \\0 behind a backslash";
            Error::input(Place::new(name, number), message)
        })?;
    }
    Ok(dump)
}

impl Dump {
    pub(super) fn read_line(&mut self, line: &str) -> Option<()> {
        let mut fields = line.split('\t').map(unescape).collect::<Option<Vec<String>>>()?.into_iter();
        let word = fields.next()?;
        match (&*word, fields.len()) {
            ("label", 1) => self.labels.push((None, fields.next()?)),
            ("label", 2) => self.labels.push((fields.next(), fields.next()?)),
            ("part", 3..) => {
                let (name, tables) = (fields.next()?, Tables::called(&fields.next()?)?);
                self.parts.push(DumpedPart { name, tables, over: fields.collect() });
            }
            _ => {
                let weight = self.weight(word, fields)?;
                self.weights.push(weight);
            }
        }
        Some(())
    }

    /// The weight on a line that begins with `word`.
    fn weight(&self, word: String, mut fields: std::vec::IntoIter<String>) -> Option<NamedWeight> {
        let (kind, part, labels) = match CHAIN.iter().find(|(part, ..)| *part == word) {
            Some((_, true, labels)) => (WeightKind::Feature, word, *labels),
            Some((_, false, labels)) => (WeightKind::Table, word, *labels),
            None => {
                let kind = WeightKind::ALL.into_iter().find(|kind| kind.word() == word)?;
                let name = fields.next()?;
                let part = self.parts.iter().find(|part| part.name == name)?;
                (kind, name, if part.tables == Tables::Full { part.over.len() } else { 0 })
            }
        };
        let observation = if kind == WeightKind::Table { None } else { Some(fields.next()?) };
        let weight = fields.next_back()?.parse().ok().filter(|weight: &f64| weight.is_finite())?;
        let found: Vec<String> = fields.collect();
        (found.len() == labels).then_some(NamedWeight { part, kind, observation, labels: found, weight })
    }
}

/// Pairs of a special character and the letter that stands for it after a backslash.
const ESCAPES: [(char, char); 5] = [('\t', 't'), ('\n', 'n'), ('\r', 'r'), ('\\', '\\'), ('\0', '0')];

/// Writes a name as a field of a dump.
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

/// Reads a name from a field; `None` if `escape` could not have written the field.
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
            "label\tA\tB\tC",
            "edge\tA\t1",
            "feature\tedge\tA\t1",
            "part\tedge\tfull",
            "part\tedge\tround\tA",
        ] {
            let text = format!("label\tA\n{line}\n");
            let message = read_dump(text.as_bytes(), "d.tsv").unwrap_err().to_string();
            assert!(message.starts_with("d.tsv:2: this is not a line of a dump"), "{line:?}: {message}");
        }
        assert_eq!(read_dump(&b"label\t\n"[..], "d.tsv").unwrap().labels, [(None, String::new())]);
    }
}
