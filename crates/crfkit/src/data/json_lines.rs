//! Sequences as JSON lines: one object per line, with its tokens and, where they are known, their labels.
//!
//! ```text
//! {"tokens": ["2", "cups", "flour"], "labels": ["B-QTY", "B-UNIT", "B-NAME"]}
//! {"tokens": [["Ana", "NNP"], ["ate", "VBD"]], "labels": ["B-PER", "O"]}
//! {"tokens": ["Ana", "ate"], "labels": [["B-PER", "O"], ["NNP", "VBD"]]}
//! ```
//!
//! A token is a string, or a list of the values of its columns, which are strings or numbers. Labels are a list with one label per
//! token; for several label columns, a list of such lists. A member `"weight"` is the weight of the sequence in training, `"weights"` is a list
//! with a weight for each token, and `"vectors"` is a list with a vector of numbers for each token.
//! A row then consists of the token's values, followed by its labels. All objects of a file have the
//! same columns, and either all have labels or none has. Other members of an object are ignored, so the output of `crfkit tag --output
//! json` for such input can be read again. Lines of white space and objects without tokens are skipped.

use crate::error::counted;
use std::fmt;
use std::io::Read;
use std::ops::Range;

use serde::de::{self, DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::columns::{Columns, MAX_TOKENS, Rows, too_long};
use super::text::{Lines, holds_line};
use super::vectors::Vectors;
use crate::error::{Error, Place, Result};

/// Reads the sequences of one file.
pub struct JsonReader<R> {
    lines: Lines<R>,
    rows: Rows,
    line: Line,
}

/// The contents of a line: its texts, and the role of each. The memory is reused.
#[derive(Debug, Default)]
struct Line {
    text: String,
    /// The values of the tokens, `[tokens][columns]`.
    tokens: Vec<Range<usize>>,
    /// The number of values of each token.
    columns: usize,
    /// The labels, `[label columns][tokens]`.
    labels: Vec<Range<usize>>,
    /// The number of labels in each list.
    lists: Vec<usize>,
    weight: Option<f64>,
    weights: Option<Vec<f64>>,
    vectors: Option<Vec<Vec<f32>>>,
}

impl<R: Read> JsonReader<R> {
    /// A reader of the sequences in `lines`.
    pub fn new(lines: Lines<R>) -> Self {
        JsonReader { lines, rows: Rows::default(), line: Line::default() }
    }

    /// Whether the next sequence can be read without waiting for input; see [`Lines::gather`].
    #[doc(hidden)]
    pub fn ready(&mut self, at_hand: impl Fn() -> bool) -> Result<bool> {
        self.lines.gather(holds_line, at_hand)
    }

    /// Overwrites `sequence` with the next one, which has at least one row. At the end it returns false, and `sequence` has no rows.
    pub fn read(&mut self, sequence: &mut Columns) -> Result<bool> {
        sequence.begin(self.lines.name());
        while let Some((text, number)) = self.lines.next_line()? {
            if text.trim_ascii().is_empty() {
                continue;
            }
            let place = || Place::new(sequence.name(), number);
            self.line.parse(text).map_err(|message| Error::input(place(), message))?;
            if self.line.tokens.is_empty() {
                continue;
            }
            let (tokens, columns) = (self.line.tokens.len() / self.line.columns, self.line.columns);
            if tokens > MAX_TOKENS {
                return Err(Error::input(place(), too_long(MAX_TOKENS)));
            }
            if let Some(wrong) = self.line.lists.iter().find(|labels| **labels != tokens) {
                let message = format!(
                    "{}, but {}: every token needs one",
                    counted(tokens, "token"),
                    counted(*wrong, "label")
                );
                return Err(Error::input(place(), message));
            }
            self.rows.check(columns + self.line.lists.len(), number, place)?;
            for token in 0..tokens {
                let values = &self.line.tokens[token * columns..][..columns];
                let labels = self.line.labels.iter().skip(token).step_by(tokens);
                sequence.push_row(
                    values.iter().chain(labels).map(|range| &self.line.text[range.clone()]),
                    number,
                );
            }
            if let Some(weight) = self.line.weight {
                sequence.set_weight(weight)?;
            }
            if let Some(weights) = &self.line.weights {
                sequence.set_token_weights(weights)?;
            }
            if let Some(vectors) = &self.line.vectors {
                sequence.vectors =
                    flat(vectors, tokens).map_err(|message| Error::input(place_of(sequence), message))?;
                sequence.vectors.check(|_| place_of(sequence))?;
            }
            return Ok(true);
        }
        Ok(false)
    }
}

impl Line {
    fn parse(&mut self, text: &str) -> std::result::Result<(), String> {
        self.text.clear();
        self.tokens.clear();
        self.labels.clear();
        self.lists.clear();
        self.columns = 0;
        self.weight = None;
        self.weights = None;
        self.vectors = None;
        let mut parser = serde_json::Deserializer::from_str(text);
        let read = parser.deserialize_map(Object(self)).and_then(|()| parser.end());
        read.map_err(|error| {
            let message = error.to_string();
            let message = message.split(" at line 1 column").next().unwrap_or_default();
            format!(
                "column {}: {message}; a line is an object such as {{\"tokens\": [\"a\", \"b\"], \"labels\": [\"A\", \"B\"]}}",
                error.column()
            )
        })
    }
}

/// The place of a sequence.
fn place_of(sequence: &Columns) -> Place {
    sequence.place(0)
}

/// The vectors of a line. The error says why they do not fit its tokens.
fn flat(rows: &[Vec<f32>], tokens: usize) -> std::result::Result<Vectors, String> {
    let width = rows.first().map_or(0, Vec::len);
    if rows.len() != tokens {
        return Err(format!(
            "{}, but {}: every token needs one",
            counted(tokens, "token"),
            counted(rows.len(), "vector")
        ));
    }
    if let Some(other) = rows.iter().position(|row| row.len() != width || row.is_empty()) {
        let found = rows[other].len();
        return Err(format!(
            "vector {} has {}, but the first one has {width}: give all the same",
            other + 1,
            counted(found, "number")
        ));
    }
    let mut vectors = Vectors::default();
    vectors.reset(width);
    vectors.extend(rows.iter().flatten().copied());
    Ok(vectors)
}

/// Reads the object of a line.
struct Object<'a>(&'a mut Line);

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with tokens")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let Line { text, tokens, columns, labels, lists, weight, weights, vectors } = self.0;
        let (mut found, mut labelled) = (false, false);
        while let Some(key) = map.next_key::<std::borrow::Cow<str>>()? {
            match &*key {
                "tokens" if found => return Err(de::Error::duplicate_field("tokens")),
                "weight" if weight.is_some() => return Err(de::Error::duplicate_field("weight")),
                "weight" => *weight = Some(map.next_value()?),
                "weights" if weights.is_some() => return Err(de::Error::duplicate_field("weights")),
                "weights" => *weights = map.next_value()?,
                "vectors" if vectors.is_some() => return Err(de::Error::duplicate_field("vectors")),
                "vectors" => *vectors = map.next_value()?,
                "labels" if labelled => return Err(de::Error::duplicate_field("labels")),
                "tokens" => {
                    found = true;
                    let mut sizes = Vec::new();
                    map.next_value_seed(Elements { text, found: tokens, sizes: &mut sizes })?;
                    *columns = sizes.first().copied().unwrap_or(0);
                    if let Some(other) = sizes.iter().position(|size| size != columns || *size == 0) {
                        return Err(de::Error::custom(format!(
                            "token {} has {}, but the first one has {columns}: every token needs the same number",
                            other + 1,
                            counted(sizes[other], "value")
                        )));
                    }
                }
                "labels" => {
                    labelled = true;
                    let mut sizes = Vec::new();
                    let lists_of =
                        map.next_value_seed(Elements { text, found: labels, sizes: &mut sizes })?;
                    *lists = if lists_of { sizes } else { vec![labels.len()] };
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if found { Ok(()) } else { Err(de::Error::missing_field("tokens")) }
    }
}

/// Reads a list of strings, or a list of lists of strings; says whether it was the latter. `sizes` gets the number of strings of each
/// element.
struct Elements<'a> {
    text: &'a mut String,
    found: &'a mut Vec<Range<usize>>,
    sizes: &'a mut Vec<usize>,
}

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = bool;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> std::result::Result<bool, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<bool, A::Error> {
        let mut lists = None;
        while let Some(is_list) =
            list.next_element_seed(Element { text: self.text, found: self.found, sizes: self.sizes })?
        {
            if *lists.get_or_insert(is_list) != is_list {
                return Err(de::Error::custom("strings and lists are mixed"));
            }
        }
        Ok(lists == Some(true))
    }
}

/// Reads a string or a list of strings; says whether it was a list.
struct Element<'a> {
    text: &'a mut String,
    found: &'a mut Vec<Range<usize>>,
    sizes: &'a mut Vec<usize>,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = bool;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> std::result::Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string or a list of strings")
    }

    fn visit_str<E: de::Error>(self, value: &str) -> std::result::Result<bool, E> {
        Field { text: self.text, found: self.found }.visit_str(value)?;
        self.sizes.push(1);
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<bool, A::Error> {
        let mut size = 0;
        while list.next_element_seed(Field { text: self.text, found: self.found })?.is_some() {
            size += 1;
        }
        self.sizes.push(size);
        Ok(true)
    }
}

/// Reads one string, or the text of a number.
struct Field<'a> {
    text: &'a mut String,
    found: &'a mut Vec<Range<usize>>,
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Field<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<(), E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<(), E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<(), E> {
        self.visit_str(&value.to_string())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> std::result::Result<(), E> {
        if value.contains(['\n', '\r', '\t']) || value.is_empty() {
            return Err(E::custom("a token or label is empty, or contains a tab or a line break"));
        }
        let start = self.text.len();
        self.text.push_str(value);
        self.found.push(start..self.text.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::Encoding;

    fn sequences(text: &str) -> Result<Vec<Vec<String>>> {
        let mut reader = JsonReader::new(Lines::new(text.as_bytes(), "data.jsonl", Encoding::Utf8));
        let (mut sequence, mut all) = (Columns::default(), Vec::new());
        while reader.read(&mut sequence)? {
            all.push(
                (0..sequence.len()).map(|row| sequence.row(row).collect::<Vec<_>>().join("|")).collect(),
            );
        }
        Ok(all)
    }

    fn refusal(text: &str) -> String {
        sequences(text).unwrap_err().to_string()
    }

    #[test]
    fn tokens_come_first_and_labels_behind_them() {
        let text = "{\"labels\": [\"A\", \"B\"], \"id\": {\"tokens\": 7}, \"tokens\": [\"x \\u00e9\", \"y\"]}\n\n{\"tokens\":[]}\n{\"tokens\":[\"z\"],\"labels\":[\"A\"]}\n";
        assert_eq!(sequences(text).unwrap(), [vec!["x é|A", "y|B"], vec!["z|A"]]);
        assert_eq!(sequences(r#"{"tokens": [["a", "N"], ["b", "V"]]}"#).unwrap(), [["a|N", "b|V"]]);
        assert_eq!(
            sequences(r#"{"tokens": [["a", 0.5, 7], ["b", -2, 1e3]]}"#).unwrap(),
            [["a|0.5|7", "b|-2|1000"]]
        );
        let two = r#"{"tokens": ["a", "b"], "labels": [["1", "2"], ["x", "y"]]}"#;
        assert_eq!(sequences(two).unwrap(), [["a|1|x", "b|2|y"]]);
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        for (line, why) in [
            (r#"["a"]"#, "expected an object with tokens"),
            (r#"{"words": ["a"]}"#, "missing field `tokens`"),
            (r#"{"tokens": [2]}"#, "expected a string or a list"),
            (r#"{"tokens": "a b"}"#, "expected a list of strings"),
            (r#"{"tokens": ["a", ["b"]]}"#, "strings and lists are mixed"),
            (r#"{"tokens": [["a", "b"], ["c"]]}"#, "token 2 has 1 value,"),
            (r#"{"tokens": [["a", null]]}"#, "expected a string or a number"),
            (r#"{"tokens": [[]]}"#, "token 1 has 0 values"),
            (r#"{"tokens": ["a"], "labels": ["A", "B"]}"#, "1 token, but 2 labels"),
            (r#"{"tokens": ["a"], "labels": null}"#, "expected a list of strings"),
            (r#"{"tokens": ["a\tb"]}"#, "contains a tab"),
            (r#"{"tokens": [""]}"#, "is empty"),
            (r#"{"tokens": ["a"], "tokens": ["b"]}"#, "duplicate field"),
            (r#"{"tokens": ["a"]} x"#, "trailing characters"),
            ("a\tB", "expected value"),
            (r#"{"tokens": ["a"], "labels": ["A"]}"#, "2 columns, but 1 in line 1"),
        ] {
            let message = refusal(&format!("{{\"tokens\": [\"ok\"]}}\n{line}\n"));
            assert!(message.starts_with("data.jsonl:2: ") && message.contains(why), "{line}: {message}");
        }
    }
}
