//! CoNLL-U, the format of Universal Dependencies: ten fields per token, separated by tabs, and comments.
//!
//! ```text
//! # text = They buy books.
//! 1   They    they    PRON    PRP  Case=Nom|Number=Plur   2   nsubj   2:nsubj   _
//! ```
//!
//! A row has the fields that the caller names, in that order. Lines that begin with `#` are comments. Tokens that stand for several words
//! (`1-2`) and empty nodes (`8.1`) are skipped, as the words themselves have rows of their own. An empty line ends a sequence.

use crate::error::counted;
use std::fmt;
use std::io::Read;
use std::str::FromStr;

use super::columns::{Columns, MAX_TOKENS, too_long};
use super::text::{Lines, holds_rows};
use crate::error::{Error, Place, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The names of the ten fields.
const NAMES: [&str; 10] = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"];

/// The most fields that can make columns: more than there are, because one may make several.
const MAX_FIELDS: usize = 16;

/// Which fields make the columns of a row. The default is `form,upos`: words with their parts of speech.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// The numbers of the fields; 0 beyond the last one.
    numbers: [u8; MAX_FIELDS],
    len: usize,
}

impl Default for Fields {
    fn default() -> Self {
        [1, 3].into_iter().collect()
    }
}

/// Takes the first 16 numbers at most.
impl FromIterator<u8> for Fields {
    fn from_iter<I: IntoIterator<Item = u8>>(of: I) -> Self {
        let mut fields = Fields { numbers: [0; MAX_FIELDS], len: 0 };
        for (place, number) in fields.numbers.iter_mut().zip(of) {
            *place = number;
            fields.len += 1;
        }
        fields
    }
}

impl Fields {
    /// Number of fields.
    pub fn count(&self) -> usize {
        self.len
    }

    fn numbers(&self) -> impl Iterator<Item = u8> {
        self.numbers.into_iter().take(self.len)
    }

    /// The others, if one of them holds weights.
    pub(super) fn without(&self, column: usize) -> Self {
        self.numbers().enumerate().filter(|(k, _)| *k != column).map(|(_, number)| number).collect()
    }

    /// What a model stores of the fields of its training data: nothing for the default.
    pub(crate) fn stored(fields: Option<Fields>) -> Option<Fields> {
        fields.filter(|fields| *fields != Fields::default())
    }

    /// Rejects rows of other fields than those that the model was trained on.
    pub(crate) fn check(trained: Option<Fields>, rows: &Columns) -> Result<()> {
        match (trained, rows.fields()) {
            (Some(trained), Some(found)) if trained != found => {
                let message = format!(
                    "the fields {found} of CoNLL-U, but the model was trained on {trained}: read the same ones, as Model::conllu does"
                );
                Err(Error::input(rows.place(0), message))
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Fields {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |name: &str| {
            let unknown =
                || Error::Setting(format!("unknown field `{name}`: choose from {}", NAMES.join(",")));
            NAMES.iter().position(|known| *known == name).map(|number| number as u8).ok_or_else(unknown)
        };
        let found = text.split(',').count();
        if found > MAX_FIELDS {
            return Err(Error::Setting(format!("{found} fields: name at most {MAX_FIELDS}")));
        }
        text.split(',').map(number).collect()
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.numbers().map(|number| NAMES[usize::from(number)]).collect();
        f.write_str(&names.join(","))
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fields({self})")
    }
}

/// Reads the sequences of one file.
pub struct ConlluReader<R> {
    lines: Lines<R>,
    fields: Fields,
}

impl<R: Read> ConlluReader<R> {
    /// A reader of the sequences in `lines`, with these fields as columns.
    pub fn new(lines: Lines<R>, fields: Fields) -> Self {
        ConlluReader { lines, fields }
    }

    /// Whether the next sequence can be read without waiting for input; see [`Lines::gather`].
    #[doc(hidden)]
    pub fn ready(&mut self, at_hand: impl Fn() -> bool) -> Result<bool> {
        self.lines.gather(|text| holds_rows(text, |line| line[0] != b'#'), at_hand)
    }

    /// Overwrites `sequence` with the next one, which has at least one row. At the end it returns false, and `sequence` has no rows.
    pub fn read(&mut self, sequence: &mut Columns) -> Result<bool> {
        sequence.begin(self.lines.name());
        sequence.set_fields(Some(self.fields));
        while let Some((text, number)) = self.lines.next_line()? {
            if text.trim_ascii().is_empty() {
                match sequence.is_empty() {
                    true => continue,
                    false => return Ok(true),
                }
            }
            if text.starts_with('#') {
                continue;
            }
            let mut fields = [""; 10];
            let mut found = 0;
            for field in text.split('\t') {
                if let Some(place) = fields.get_mut(found) {
                    *place = field;
                }
                found += 1;
            }
            let refuse = |message: String| Err(Error::input(Place::new(sequence.name(), number), message));
            if found != 10 || fields.contains(&"") {
                return refuse(format!(
                    "{}, but a row of CoNLL-U has 10, none of them empty, separated by tabs: is this file in another format?",
                    counted(found, "field")
                ));
            }
            if fields[0].contains(['-', '.']) {
                continue;
            }
            if sequence.len() == MAX_TOKENS {
                return refuse(too_long(MAX_TOKENS));
            }
            sequence.push_row(self.fields.numbers().map(|field| fields[usize::from(field)]), number);
        }
        Ok(!sequence.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::Encoding;

    fn sequences(text: &str, fields: &str) -> Result<Vec<Vec<String>>> {
        let lines = Lines::new(text.as_bytes(), "data.conllu", Encoding::Utf8);
        let mut reader = ConlluReader::new(lines, fields.parse()?);
        let (mut sequence, mut all) = (Columns::default(), Vec::new());
        while reader.read(&mut sequence)? {
            all.push(
                (0..sequence.len()).map(|row| sequence.row(row).collect::<Vec<_>>().join("|")).collect(),
            );
        }
        Ok(all)
    }

    const TEXT: &str = "# text = Vámonos al mar\n1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n1\tVamos\tir\tVERB\tv\t_\t0\troot\t_\t_\n\
                        2\tnos\tnosotros\tPRON\tp\t_\t1\tobj\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n\n# sent_id = 2\n\
                        1\tNew York\tNew York\tPROPN\tn\t_\t0\troot\t_\tSpaceAfter=No";

    #[test]
    fn words_are_rows_and_fields_are_columns() {
        assert_eq!(
            sequences(TEXT, "form,upos").unwrap(),
            [vec!["Vamos|VERB", "nos|PRON"], vec!["New York|PROPN"]]
        );
        assert_eq!(sequences(TEXT, "upos,id,misc").unwrap()[1], ["PROPN|1|SpaceAfter=No"]);
        assert_eq!(Fields::default().to_string().parse::<Fields>().unwrap(), Fields::default());
    }

    #[test]
    fn rows_know_their_fields() {
        let lines = Lines::new(TEXT.as_bytes(), "data.conllu", Encoding::Utf8);
        let mut reader = ConlluReader::new(lines, "form,lemma,id,xpos".parse().unwrap());
        let mut sequence = Columns::default();
        reader.read(&mut sequence).unwrap();
        assert_eq!(sequence.fields(), "form,lemma,id,xpos".parse().ok());
        sequence.take_token_weights(2).unwrap();
        assert_eq!(sequence.fields(), "form,lemma,xpos".parse().ok());
        sequence.clear();
        assert_eq!(sequence.fields(), None);
    }

    #[test]
    fn other_formats_and_fields_are_refused() {
        let message = sequences("# a comment\nAna\tNNP\n", "form").unwrap_err().to_string();
        assert!(message.starts_with("data.conllu:2: 2 fields, but"), "{message}");
        let message = sequences("", "form,pos").unwrap_err().to_string();
        assert!(message.contains("`pos`: choose from id,form"), "{message}");
        let message = sequences("", &["form"; 17].join(",")).unwrap_err().to_string();
        assert!(message.contains("17 fields: name at most 16"), "{message}");
    }
}
