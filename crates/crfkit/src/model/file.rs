//! The model file: one file, complete, the same bytes for the same model.
//!
//! Small things (labels, templates, settings) are a JSON section; everything whose size grows with the training data is an
//! array. Names, their hash tables and 64-bit weights are used where they are in the file's bytes, the rest is copied. Where
//! weights and rows start is not stored but follows from their numbers.
//!
//! Version 1 lacks the hash tables (sections ending in `.slots`). Where there are none, they are built on loading.
//!
//! A file whose checksum is right may still come from a hostile hand. Whatever the rest of the library relies on (numbers
//! in range, arrays that fit each other) is checked here, in one pass over each array.

use super::compact::compact_is_smaller;
use super::precision::{Precision, WEIGHTS};
use super::sections::{Format, Reader, Writer};
use super::stored::{check_rows, entries_fit};
use super::{Features, Model, Rows, TableWeights};
use crate::data::bytes::{Bytes, Numbers};
use crate::data::observer::{Alphabet, Source};
use crate::data::strings::{Slot, Strings};
use crate::data::template::{Dialect, Templates};
use crate::graph::{BEGIN, END, NODES, PAIR, PAIRS};
use crate::{Error, Result};
use bytemuck::Pod;
use serde::{Deserialize, Serialize};

static FORMAT: Format = Format {
    magic: *b"crfkit\0M",
    version: 2,
    name: "model",
    remedy: "take another copy of it or train it again",
};

/// A bound on the label-pair table, so that no small file can ask for all memory: its square times 8 bytes is 2 GiB.
const MAX_LABELS: usize = 1 << 14;

/// The section of small things.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    labels: Vec<String>,
    source: Origin,
    precision: Precision,
    settings: serde_json::Value,
}

/// A [`Source`] before it is compiled.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Origin {
    Attributes,
    Templates { name: String, dialect: String, text: String },
}

impl Origin {
    pub(crate) fn of(source: &Source) -> Self {
        match source {
            Source::Attributes => Origin::Attributes,
            Source::Templates(Templates { name, dialect, source, .. }) => {
                Origin::Templates { name: name.clone(), dialect: dialect.to_string(), text: source.clone() }
            }
        }
    }

    pub(crate) fn compile(self) -> Result<Source> {
        match self {
            Origin::Attributes => Ok(Source::Attributes),
            Origin::Templates { name, dialect, text } => {
                Ok(Source::Templates(Templates::compile(&text, dialect.parse::<Dialect>()?, &name)?))
            }
        }
    }
}

impl Model {
    /// The model file, without zero weights (see [`Model::compact`]).
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>> {
        check_labels(&self.labels).map_err(Error::Setting)?;
        let weights = precision.round(&self.weights)?;
        Ok(if compact_is_smaller(&self.features, &weights, precision) {
            let compact = self.compact_at(&weights);
            compact.write(&compact.weights, precision)
        } else {
            self.write(&weights, precision)
        })
    }

    fn write(&self, weights: &[f64], precision: Precision) -> Vec<u8> {
        let mut file = Writer::default();
        let source = Origin::of(&self.source);
        let head = Head { labels: self.labels.clone(), source, precision, settings: self.settings.clone() };
        file.json("head", &head);
        precision.write(weights, &mut file);
        write_strings(&mut file, VALUES, &self.alphabet.values, precision);
        write_strings(&mut file, NODE_NAMES, &self.alphabet.node, precision);
        write_strings(&mut file, PAIR_NAMES, &self.alphabet.pair, precision);
        file.numbers("words", self.words.iter().map(|bits| bits.to_le_bytes()));
        write_u32s(&mut file, "nodes.start", &self.features.rows[NODES].start);
        write_u32s(&mut file, "nodes.entry", &self.features.rows[NODES].entry);
        write_u32s(&mut file, "pairs.start", &self.features.rows[PAIRS].start);
        write_u32s(&mut file, "pairs.entry", &self.features.rows[PAIRS].entry);
        write_u32s(&mut file, "transition.entry", &self.features.tables[PAIR].entry);
        write_u32s(&mut file, "begin.entry", &self.features.tables[BEGIN].entry);
        write_u32s(&mut file, "end.entry", &self.features.tables[END].entry);
        file.finish(&FORMAT)
    }

    /// Reads a model file, after verifying its checksum and that its parts fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        let copy = Bytes::read(bytes, bytes.len()).map_err(|error| Error::io(FORMAT.name, error))?;
        Model::from_memory(&copy)
    }

    /// The same without a copy of weights and names: the model keeps the bytes.
    pub fn from_memory(bytes: &Bytes) -> Result<Model> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let Head { labels, source, precision, settings } = file.json("head")?;
        check_labels(&labels).map_err(|why| FORMAT.damaged(why))?;
        let source = source.compile().map_err(|error| FORMAT.damaged(error))?;
        let weights = match precision {
            Precision::F64 => numbers(&mut file, bytes, WEIGHTS, f64::from_le_bytes)?,
            Precision::F32 | Precision::F16 => precision.read(&mut file)?.into(),
        };
        if !weights.iter().all(|w| w.is_finite()) {
            return Err(FORMAT.damaged("a weight is not a finite number"));
        }
        let values = read_strings(&mut file, VALUES, bytes)?;
        let node = read_strings(&mut file, NODE_NAMES, bytes)?;
        let pair = read_strings(&mut file, PAIR_NAMES, bytes)?;
        let alphabet = Alphabet { values, node, pair };
        check_alphabet(&alphabet, &source).map_err(|why| FORMAT.damaged(why))?;
        let words: Vec<u64> = file.numbers("words", u64::from_le_bytes)?;
        if words.len() > alphabet.values.len().div_ceil(64) {
            return Err(FORMAT.damaged("it knows more words than it has values"));
        }
        let features = read_features(&mut file, labels.len(), &alphabet, weights.len())?;
        file.finish()?;
        Ok(Model { labels, source, alphabet, words, features, weights, settings })
    }
}

/// Labels must be there, sorted, distinct, and not too many for a table of their pairs.
pub(crate) fn check_labels(labels: &[String]) -> std::result::Result<(), String> {
    match labels.len() {
        0 => Err("it has no labels".into()),
        n if n > MAX_LABELS => Err(format!("it has {n} labels, more than {MAX_LABELS}")),
        _ if !labels.is_sorted_by(|a, b| a < b) => Err("its labels are not sorted and distinct".into()),
        _ => Ok(()),
    }
}

pub(crate) fn write_u32s(file: &mut Writer, name: &'static str, numbers: &[u32]) {
    file.numbers(name, numbers.iter().map(|n| n.to_le_bytes()));
}

/// Is every one of the strings UTF-8?
pub(crate) fn is_text(strings: &Strings) -> bool {
    let (text, ends) = strings.parts();
    let text = std::str::from_utf8(text);
    text.is_ok_and(|text| ends.iter().all(|&end| text.is_char_boundary(end as usize)))
}

/// The sections of a table of strings: text, the end of each, hash slots.
type StringSections = [&'static str; 3];
const VALUES: StringSections = ["values.text", "values.ends", "values.slots"];
const NODE_NAMES: StringSections = ["nodes.text", "nodes.ends", "nodes.slots"];
const PAIR_NAMES: StringSections = ["pairs.text", "pairs.ends", "pairs.slots"];

/// Where weights are stored in fewer bytes the file is to be small: slots are left out, and built on loading.
fn write_strings(
    file: &mut Writer,
    [text, ends, slots]: StringSections,
    strings: &Strings,
    precision: Precision,
) {
    let parts = strings.parts();
    file.bytes(text, parts.0.to_vec());
    write_u32s(file, ends, parts.1);
    let packed = if precision == Precision::F64 { strings.packed_slots() } else { Vec::new() };
    write_u32s(file, slots, packed.as_flattened());
}

fn read_strings(file: &mut Reader, [text, ends, slots]: StringSections, bytes: &Bytes) -> Result<Strings> {
    let arena = numbers(file, bytes, text, u8::from_le_bytes)?;
    let ends = numbers(file, bytes, ends, u32::from_le_bytes)?;
    let slots = match file.version() {
        1 => None,
        _ => Some(numbers(file, bytes, slots, slot)?).filter(|slots| !slots.is_empty()),
    };
    Strings::from_parts(arena, ends, slots, text).map_err(|error| FORMAT.damaged(error))
}

fn slot(bytes: [u8; 12]) -> Slot {
    let (numbers, _) = bytes.as_chunks();
    [numbers[0], numbers[1], numbers[2]].map(u32::from_le_bytes)
}

/// The next section of numbers: where they are, or made one by one on a machine that has its bytes the other way round.
fn numbers<const N: usize, T: Pod>(
    file: &mut Reader,
    bytes: &Bytes,
    name: &str,
    number: impl Fn([u8; N]) -> T,
) -> Result<Numbers<T>> {
    match cfg!(target_endian = "little") {
        true => {
            let part = Numbers::part(bytes, file.range(name)?);
            part.ok_or_else(|| FORMAT.damaged(format!("the section `{name}` has half a number")))
        }
        false => Ok(file.numbers(name, number)?.into()),
    }
}

/// Names must be text; with templates, the names of observations must be keys of values that exist.
pub(crate) fn check_alphabet(alphabet: &Alphabet, source: &Source) -> std::result::Result<(), &'static str> {
    let are_keys = |strings: &Strings, templates: &Templates| {
        let values = alphabet.values.len();
        strings.iter().all(|key| {
            let (numbers, rest) = key.as_chunks();
            let mut numbers = numbers.iter().map(|&bytes| u32::from_le_bytes(bytes) as usize);
            let skeleton = numbers.next().and_then(|skeleton| templates.skeletons.get(skeleton));
            // A skeleton has one literal text more than values.
            rest.is_empty()
                && skeleton.is_some_and(|literals| literals.len() == numbers.len() + 1)
                && numbers.all(|value| value < values)
        })
    };
    let names_fit = match source {
        Source::Attributes => is_text(&alphabet.node) && is_text(&alphabet.pair),
        Source::Templates(templates) => {
            are_keys(&alphabet.node, templates) && are_keys(&alphabet.pair, templates)
        }
    };
    match is_text(&alphabet.values) && names_fit {
        true => Ok(()),
        false => Err("a name is neither text nor made by its templates"),
    }
}

/// Reads the map from weights to tables; it must use every one of the weights.
fn read_features(file: &mut Reader, labels: usize, alphabet: &Alphabet, weights: usize) -> Result<Features> {
    let nodes = Rows {
        start: file.numbers("nodes.start", u32::from_le_bytes)?,
        entry: file.numbers("nodes.entry", u32::from_le_bytes)?,
        ..Rows::all(0, alphabet.node.len(), 1, labels)
    };
    check_rows(&nodes, weights).map_err(|why| FORMAT.damaged(why))?;
    let pairs = Rows {
        start: file.numbers("pairs.start", u32::from_le_bytes)?,
        entry: file.numbers("pairs.entry", u32::from_le_bytes)?,
        ..Rows::all(nodes.weights(), alphabet.pair.len(), labels, labels)
    };
    check_rows(&pairs, weights).map_err(|why| FORMAT.damaged(why))?;
    let mut base = pairs.base + pairs.weights();
    let mut table = |name: &str, lines: usize| {
        let entry = file.numbers(name, u32::from_le_bytes)?;
        let table = TableWeights { base, lines, columns: labels, entry };
        base += table.entry.len();
        match entries_fit(&table.entry, lines, labels) {
            true => Ok(table),
            false => Err(FORMAT.damaged(format!("section `{name}` points outside its table"))),
        }
    };
    let tables = vec![table("transition.entry", labels)?, table("begin.entry", 1)?, table("end.entry", 1)?];
    match base == weights {
        true => Ok(Features { rows: vec![nodes, pairs], node_kinds: PAIRS, tables }),
        false => Err(FORMAT.damaged(format!("it has {weights} weights, but its features need {base}"))),
    }
}
