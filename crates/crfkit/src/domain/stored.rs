//! Parts of model files that several kinds of model share.

use super::file::FORMAT;
use crate::data::observer::{Alphabet, Source};
use crate::data::strings::Strings;
use crate::data::template::{Dialect, LexiconFile, Templates};
use crate::data::text::excerpt;
use crate::model::is_text;
use crate::model::sections::{Reader, StringSections, Writer};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The largest number of labels. It bounds the label-pair table (its square times 8 bytes is 2 GiB), so that no small
/// file can ask for all memory.
pub(crate) const MAX_LABELS: usize = 1 << 14;

const VALUES: StringSections = ["values.text", "values.ends", "values.slots"];
const NODE_NAMES: StringSections = ["nodes.text", "nodes.ends", "nodes.slots"];
const PAIR_NAMES: StringSections = ["pairs.text", "pairs.ends", "pairs.slots"];

/// Reads the part of the head that belongs to one kind of model.
pub(super) fn parse_head<T: DeserializeOwned>(head: serde_json::Value) -> Result<T> {
    serde_json::from_value(head).map_err(|error| FORMAT.damaged(format!("section `head`: {error}")))
}

/// Adds the sections of an alphabet.
pub(super) fn write_alphabet<'a>(alphabet: &'a Alphabet, file: &mut Writer<'a>, slots: bool) {
    file.strings(VALUES, &alphabet.values, slots);
    file.strings(NODE_NAMES, &alphabet.node, slots);
    file.strings(PAIR_NAMES, &alphabet.pair, slots);
}

/// Reads an alphabet. Its names must be ones that `source` can make.
pub(super) fn read_alphabet(file: &mut Reader, source: &Source) -> Result<Alphabet> {
    let values = file.strings(VALUES)?;
    let node = file.strings(NODE_NAMES)?;
    let pair = file.strings(PAIR_NAMES)?;
    let alphabet = Alphabet { values, node, pair };
    check_alphabet(&alphabet, source).map_err(|why| FORMAT.damaged(why))?;
    Ok(alphabet)
}

/// A [`Source`] as it is stored, before it is compiled.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Origin {
    Attributes,
    Templates {
        name: String,
        dialect: String,
        text: String,
        /// The lists and maps that the text names. Models without them have no such field.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<StoredFile>,
    },
}

/// A list or map as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredFile {
    name: String,
    text: String,
}

impl Origin {
    pub(super) fn of(source: &Source) -> Self {
        match source {
            Source::Attributes => Origin::Attributes,
            Source::Templates(Templates { name, dialect, source, files, .. }) => Origin::Templates {
                name: name.clone(),
                dialect: dialect.to_string(),
                text: source.clone(),
                files: files
                    .iter()
                    .map(|LexiconFile { name, text }| StoredFile { name: name.clone(), text: text.clone() })
                    .collect(),
            },
        }
    }

    pub(super) fn compile(self) -> Result<Source> {
        match self {
            Origin::Attributes => Ok(Source::Attributes),
            Origin::Templates { name, dialect, text, files } => {
                let mut open = |wanted: &str| {
                    let file = files.iter().find(|file| file.name == wanted);
                    let missing =
                        || Error::Setting(format!("the file `{wanted}` of its templates is missing"));
                    file.map(|file| file.text.clone()).ok_or_else(missing)
                };
                let dialect = dialect.parse::<Dialect>()?;
                Ok(Source::Templates(Templates::compile_with(&text, dialect, &name, &mut open)?))
            }
        }
    }
}

/// Checks that there are labels, that they are sorted and distinct, and that there are not too many for a table of
/// their pairs.
pub(crate) fn check_labels(labels: &[String]) -> std::result::Result<(), String> {
    match labels.len() {
        0 => Err("it has no labels".into()),
        n if n > MAX_LABELS => Err(format!("it has {n} labels, more than {MAX_LABELS}")),
        _ if !labels.is_sorted_by(|a, b| a < b) => Err("its labels are not sorted and distinct".into()),
        _ => Ok(()),
    }
}

/// Like [`check_labels`], for labels in any order. The labels of a plain chain are sorted if crfkit trained it, and keep their order if another
/// toolkit did: of equally good labels the first wins, as in that toolkit.
pub(crate) fn check_label_names(labels: &[String]) -> std::result::Result<(), String> {
    match labels.len() {
        0 => Err("it has no labels".into()),
        n if n > MAX_LABELS => Err(format!("it has {n} labels, more than {MAX_LABELS}")),
        n if labels.iter().collect::<HashSet<_>>().len() < n => {
            Err("two of its labels have the same name".into())
        }
        _ => Ok(()),
    }
}

/// Bytes that a table of label pairs may take in training, which needs several such tables: its values and their exponentials in
/// two orders, the counts and the gradient.
const PAIR_TABLE: usize = 512 << 20;

/// Labels that training takes: 8192.
pub(crate) const MAX_TRAINED_LABELS: usize = (PAIR_TABLE / size_of::<f64>()).isqrt();

/// Rejects more labels than training can hold in memory, before it tries. So many labels are probably words: `column`, if the data has columns,
/// is then not the column of the labels.
pub(crate) fn check_trained_labels(labels: &Strings, column: Option<i32>) -> Result<()> {
    match labels.len() <= MAX_TRAINED_LABELS {
        true => Ok(()),
        false => Err(too_many_labels(
            labels,
            column,
            &format!("more than the {MAX_TRAINED_LABELS} whose pairs fit into memory"),
        )),
    }
}

/// The error about so many labels that they are probably words; `much` says what they are too many for.
pub(crate) fn too_many_labels(labels: &Strings, column: Option<i32>, much: &str) -> Error {
    let first: Vec<String> =
        (0..3).map(|id| format!("`{}`", excerpt(&String::from_utf8_lossy(labels.get(id))))).collect();
    let cause = match column {
        Some(column) => {
            format!(
                "is the label really in column {column} (from 0; -1 is the last)? `label_column` says where it is"
            )
        }
        None => "is the label really the first field of every line?".into(),
    };
    Error::Setting(format!(
        "the training data has {} different labels, such as {}, {much}: {cause}",
        labels.len(),
        first.join(", ")
    ))
}

/// Names must be text; with templates, the names of observations must be keys of values that exist.
fn check_alphabet(alphabet: &Alphabet, source: &Source) -> std::result::Result<(), &'static str> {
    let values = alphabet.values.len();
    let are_keys = |strings: &Strings, templates: &Templates| {
        // A skeleton has one more literal text than it has values, and its own number comes first.
        let lengths: Vec<usize> = templates.skeletons.iter().map(|literals| 4 * literals.len()).collect();
        let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let right = strings.iter().fold(true, |right, key| {
            let skeleton = key.first_chunk().map_or(u32::MAX, number) as usize;
            right & (lengths.get(skeleton) == Some(&key.len()))
        });
        // If even the numbers of skeletons are below that of values, nobody has to tell them apart, which takes most of the time.
        let below =
            |numbers: &[[u8; 4]]| (numbers.iter().map(number).fold(0, u32::max) as usize) < values.max(1);
        right
            && (below(strings.parts().0.as_chunks().0)
                || strings.iter().all(|key| below(&key.as_chunks().0[1..])))
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
