//! CRFsuite's attribute lists ("IWA"): one item per line: its label and then its attributes, separated by tabs.
//!
//! ```text
//! @weight:2.0
//! B-NP    w=the   pos=DT  len:3   bias
//! I-NP    w=cat   pos=NN  len:3   ratio\:1:0.5    path\\a
//! ```
//!
//! `attr` alone has the value 1 (and so does `attr:`); `attr:value` gives the value. The only escapes are `\:` and `\\`, in
//! names and in labels. Any other backslash stands for itself, spaces are part of names, and `#` is not special. A
//! blank line ends an instance. `@weight:2.0` before the items gives the instance's weight. There is no other
//! declaration, so no label begins with `@`. Empty fields between the attributes are skipped.
//!
//! Deliberate departures from CRFsuite:
//! - Several blank lines in a row make no empty instances, and a line of only spaces and tabs is blank.
//! - Input that CRFsuite silently reads as 0, drops or shifts is rejected with file and line: a value that is not a
//!   finite number, a colon without backslash in a label, an empty label or name, and a `@weight` after or without
//!   items.

mod hashed;
mod memory;
mod split;

#[doc(hidden)]
pub use hashed::HashedAttributes;

use super::columns::{MAX_TOKENS, too_long};
use super::text::{Lines, excerpt, holds_sequence};
use super::vectors::Vectors;
use crate::error::{Error, Place, Result};
use memchr::memchr;
use split::Split;
use std::io::Read;
use std::ops::Range;

/// A result whose error is a message without its place.
type Fallible<T> = std::result::Result<T, String>;

/// One instance: labelled items with their attributes, in flat buffers that are reused for the next instance.
///
/// Items are called rows, as in [`Columns`](super::columns::Columns), and numbered from 0. A number out of range panics.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    name: String,
    weight: Option<f64>, // as declared
    /// The lines as they were read. Each is followed by those of its labels and names that had escapes, with the escapes resolved.
    text: String,
    rows: Vec<Row>,
    attributes: Vec<Attribute>,
    pub(crate) vectors: Vectors, // one for each row, or none at all
    token_weights: Vec<f64>,     // the same
}

#[derive(Clone, Debug)]
struct Row {
    label: Range<usize>,
    attributes: Range<usize>,
    line: u64,
}

#[derive(Clone, Debug)]
struct Attribute {
    name: Range<usize>,
    value: f64,
}

impl Attributes {
    /// Number of rows (items).
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The weight of the instance: finite, not negative, and 1 unless declared.
    pub fn weight(&self) -> f64 {
        self.weight.unwrap_or(1.0)
    }

    /// The label of a row. It is never empty.
    pub fn label(&self, row: usize) -> &str {
        &self.text[self.rows[row].label.clone()]
    }

    /// Names and values of a row's attributes, in order. A name may occur more than once.
    pub fn items(&self, row: usize) -> impl ExactSizeIterator<Item = (&str, f64)> {
        let attributes = &self.attributes[self.rows[row].attributes.clone()];
        attributes.iter().map(|attribute| (&self.text[attribute.name.clone()], attribute.value))
    }

    /// The 1-based line number of a row.
    pub fn line(&self, row: usize) -> u64 {
        self.rows[row].line
    }

    /// The name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The place where a row was read, for messages.
    pub fn place(&self, row: usize) -> Place {
        Place::new(&self.name, self.line(row))
    }

    /// Removes the rows and the weight, but keeps the memory.
    pub fn clear(&mut self) {
        self.weight = None;
        self.token_weights.clear();
        self.vectors.reset(0);
        self.text.clear();
        self.rows.clear();
        self.attributes.clear();
    }

    /// Reads a line that begins with `@`. The error says what is wrong with it.
    fn declare(&mut self, line: &str) -> Fallible<()> {
        let line = line.trim_end_matches('\t');
        let Some(weight) = line.strip_prefix("@weight:") else {
            let line = excerpt(line);
            return Err(format!(
                "`{line}` is not a declaration: only @weight:NUMBER is, and a label must not begin with @"
            ));
        };
        if !self.is_empty() {
            return Err("@weight inside an instance: put it before the first item".into());
        }
        if self.weight.is_some() {
            return Err("a second @weight for the same instance: keep one".into());
        }
        self.weight = finite(weight).filter(|&weight| weight >= 0.0);
        match self.weight {
            Some(_) => Ok(()),
            None => Err(format!("the weight `{}` is not a finite number of at least 0", excerpt(weight))),
        }
    }

    /// Appends a row. The error says what is wrong with its line.
    fn push(&mut self, line: &str, number: u64) -> Fallible<()> {
        let bytes = line.as_bytes();
        let base = self.text.len();
        self.text.push_str(line);
        let first = self.attributes.len();
        let mut end = memchr(b'\t', bytes).unwrap_or(line.len());
        let label = self.label_range(&line[..end], base)?;
        while end < line.len() {
            let start = end + 1;
            end = memchr(b'\t', &bytes[start..]).map_or(line.len(), |found| start + found);
            if start < end {
                let attribute = self.attribute(&line[start..end], base + start)?;
                self.attributes.push(attribute);
            }
        }
        self.rows.push(Row { label, attributes: first..self.attributes.len(), line: number });
        Ok(())
    }

    fn label_range(&mut self, field: &str, at: usize) -> Fallible<Range<usize>> {
        if field.is_empty() {
            return Err(
                "an empty label: the first field is the label; if it is unknown, write any word".into()
            );
        }
        let split = Split::of(field);
        if split.value.is_some() {
            return Err(format!("label `{}` has a colon without a backslash: write `\\:`", excerpt(field)));
        }
        Ok(self.unescaped(&split, at))
    }

    fn attribute(&mut self, field: &str, at: usize) -> Fallible<Attribute> {
        let split = Split::of(field);
        if split.name.is_empty() {
            let field = excerpt(field);
            return Err(format!(
                "attribute `{field}` has no name: write a colon that belongs to a name as `\\:`"
            ));
        }
        let value = match split.value {
            None | Some("") => 1.0,
            Some(value) => finite(value).ok_or_else(|| {
                let (name, value) = (excerpt(split.name), excerpt(value));
                format!(
                    "the value `{value}` of attribute `{name}` is not a finite number: write a colon that \
                     belongs to a name as `\\:`"
                )
            })?,
        };
        Ok(Attribute { name: self.unescaped(&split, at), value })
    }

    /// The position in `text` of a field's name without escapes. The field was read at `at`.
    fn unescaped(&mut self, split: &Split<'_>, at: usize) -> Range<usize> {
        if !split.escaped {
            return at..at + split.name.len();
        }
        let start = self.text.len();
        let mut characters = split.name.chars().peekable();
        while let Some(character) = characters.next() {
            let escaped = characters.next_if(|&next| character == '\\' && matches!(next, ':' | '\\'));
            self.text.push(escaped.unwrap_or(character));
        }
        start..self.text.len()
    }
}

/// Reads a number as C's `atof` does, with spaces around it, but only if it is finite and nothing follows it.
fn finite(text: &str) -> Option<f64> {
    text.trim_matches(' ').parse().ok().filter(|value: &f64| value.is_finite())
}

/// Reads the instances of one file.
pub struct AttributeReader<R> {
    lines: Lines<R>,
    most: usize, // rows of an instance
}

impl<R: Read> AttributeReader<R> {
    /// A reader of the instances in `lines`.
    pub fn new(lines: Lines<R>) -> Self {
        AttributeReader { lines, most: MAX_TOKENS }
    }

    /// Whether the next instance can be read without waiting for input; see [`Lines::gather`].
    #[doc(hidden)]
    pub fn ready(&mut self, at_hand: impl Fn() -> bool) -> Result<bool> {
        self.lines.gather(holds_sequence, at_hand)
    }

    /// Overwrites `instance` with the next one, of 1 to 16,777,216 rows; false, and no row, at the end.
    pub fn read(&mut self, instance: &mut Attributes) -> Result<bool> {
        instance.clear();
        self.lines.name().clone_into(&mut instance.name);
        let mut number = 0;
        while let Some((text, line)) = self.lines.next_line()? {
            number = line;
            if text.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
                match (instance.is_empty(), instance.weight) {
                    (true, None) => continue,
                    _ => break,
                }
            }
            let outcome = match text.starts_with('@') {
                true => instance.declare(text),
                false if instance.len() == self.most => Err(too_long(self.most)),
                false => instance.push(text, line),
            };
            outcome.map_err(|message| Error::input(Place::new(&instance.name, line), message))?;
        }
        if instance.is_empty() && instance.weight.is_some() {
            let message = "the instance has a @weight but no items: its items must begin on the next line, without a blank line between";
            return Err(Error::input(Place::new(&instance.name, number), message));
        }
        Ok(!instance.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::Encoding;

    fn reader(text: &str) -> AttributeReader<&[u8]> {
        AttributeReader::new(Lines::new(text.as_bytes(), "data.iwa", Encoding::Utf8))
    }

    /// The only instance of a text.
    fn instance(text: &str) -> Attributes {
        let mut reader = reader(text);
        let mut instance = Attributes::default();
        assert!(reader.read(&mut instance).unwrap());
        assert!(!reader.read(&mut Attributes::default()).unwrap());
        instance
    }

    fn items(instance: &Attributes, row: usize) -> Vec<(&str, f64)> {
        instance.items(row).collect()
    }

    fn refusal(text: &str) -> String {
        let mut reader = reader(text);
        let mut instance = Attributes::default();
        loop {
            match reader.read(&mut instance) {
                Ok(true) => continue,
                Ok(false) => panic!("{text:?} was accepted"),
                Err(error) => return error.to_string(),
            }
        }
    }

    #[test]
    fn the_length_of_an_instance_is_limited() {
        let mut short = AttributeReader { most: 2, ..reader("A\tx\nB\nA\n") };
        let message = short.read(&mut Attributes::default()).unwrap_err().to_string();
        assert!(message.starts_with("data.iwa:3: more than 2 tokens"), "{message}");
    }

    #[test]
    fn labels_names_and_values() {
        let text = "B-NP\tw=the\tlen:3\tbias\tempty:\n\nI-NP\t#a b\tx: -2.5e-1 \tx:.5\tx:5.\tx:+1\nO\n";
        let mut reader = reader(text);
        let mut instance = Attributes::default();
        assert!(reader.read(&mut instance).unwrap());
        assert_eq!((instance.len(), instance.label(0), instance.line(0)), (1, "B-NP", 1));
        assert_eq!(items(&instance, 0), [("w=the", 1.0), ("len", 3.0), ("bias", 1.0), ("empty", 1.0)]);
        assert!(reader.read(&mut instance).unwrap());
        assert_eq!((instance.len(), instance.label(0), instance.label(1)), (2, "I-NP", "O"));
        assert_eq!(items(&instance, 0), [("#a b", 1.0), ("x", -0.25), ("x", 0.5), ("x", 5.0), ("x", 1.0)]);
        assert_eq!(items(&instance, 1), []);
        assert_eq!((instance.place(1).to_string(), instance.name()), ("data.iwa:4".into(), "data.iwa"));
        assert!(!reader.read(&mut instance).unwrap() && instance.is_empty());
    }

    #[test]
    fn escapes() {
        let instance = instance(concat!(
            "a\\:\\\\b\tratio\\:1:0.5\tpath\\\\a\tplain\n",
            "\\@\tn\\n\t\\\\:2\t\\\\\\::3\tend\\\té\\:é\n",
        ));
        assert_eq!(instance.label(0), "a:\\b");
        assert_eq!(items(&instance, 0), [("ratio:1", 0.5), ("path\\a", 1.0), ("plain", 1.0)]);
        assert_eq!(instance.label(1), "\\@");
        let expected = [("n\\n", 1.0), ("\\", 2.0), ("\\:", 3.0), ("end\\", 1.0), ("é:é", 1.0)];
        assert_eq!(items(&instance, 1), expected);
    }

    #[test]
    fn empty_fields_and_repeated_blank_lines_are_skipped() {
        let instance = instance("\n\t\n\n \nO\t\ta\t\tb\t\r\n\n\n\t\n");
        assert_eq!(instance.len(), 1);
        assert_eq!(items(&instance, 0), [("a", 1.0), ("b", 1.0)]);
    }

    #[test]
    fn weights_hold_for_one_instance() {
        let mut reader = reader("@weight:2.5\nO\ta\n\nO\tb\n\n\n@weight:0\t\nO\tc\n");
        let mut instance = Attributes::default();
        assert_eq!(instance.weight(), 1.0);
        for weight in [2.5, 1.0, 0.0] {
            assert!(reader.read(&mut instance).unwrap());
            assert_eq!((instance.weight(), instance.len()), (weight, 1));
        }
        instance.clear();
        assert_eq!(instance.weight(), 1.0);
    }

    #[test]
    fn bad_weights_and_declarations_are_refused() {
        for weight in ["-1", "nan", "inf", "1e999", "", "two", "2\tO", "2:3"] {
            let message = refusal(&format!("O\ta\n\n@weight:{weight}\nO\ta\n"));
            assert!(message.starts_with("data.iwa:3: the weight `"), "{message}");
        }
        for line in ["@weight", "@weights:1", "@", "@label\ta", "@Weight:1"] {
            let message = refusal(&format!("{line}\nO\ta\n"));
            assert!(message.contains("data.iwa:1: ") && message.contains("only @weight:NUMBER"), "{message}");
        }
        assert!(refusal("O\ta\n@weight:2\n").starts_with("data.iwa:2: @weight inside an instance"));
        assert!(refusal("@weight:2\n@weight:3\nO\n").starts_with("data.iwa:2: a second @weight"));
        for (text, line) in [("@weight:2\n\nO\n", 2), ("@weight:2", 1)] {
            assert!(
                refusal(text)
                    .starts_with(&format!("data.iwa:{line}: the instance has a @weight but no items")),
                "{text:?}"
            );
        }
    }

    #[test]
    fn bad_values_labels_and_names_are_refused_with_the_remedy() {
        for value in ["nan", "-inf", "infinity", "1e999", "abc", "1x", "0x10", " ", "1:2", "\\:", "1,5"] {
            let message = refusal(&format!("O\ta\nO\tok:1\tw:{value}\n"));
            assert!(
                message.starts_with(&format!("data.iwa:2: the value `{value}` of attribute `w`")),
                "{message}"
            );
            assert!(message.contains("`\\:`"), "{message}");
        }
        assert!(refusal("O\t:1\n").starts_with("data.iwa:1: attribute `:1` has no name"));
        assert!(refusal("O\n\tw=a\n").starts_with("data.iwa:2: an empty label"));
        assert!(refusal("B:NP\tw=a\n").starts_with("data.iwa:1: label `B:NP` has a colon"));
    }
}
