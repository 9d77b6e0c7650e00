//! From the rows of a sequence to the numbers of its observations.

use super::attributes::Attributes;
use super::columns::Columns;
use super::strings::Strings;
use super::template::{Row, Template, Templates};

/// What turns a row into observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// CRFsuite attribute lines: each attribute is an observation by itself.
    Attributes,
    /// Columns, through templates.
    Templates(Templates),
}

/// The names behind the numbers.
///
/// With attributes, a node observation is the attribute's name. With templates it is a key: the skeleton's number and the
/// numbers of the values, four bytes each, so that a token's values are hashed once and not once per template.
#[derive(Clone, Debug, Default)]
pub struct Alphabet {
    /// Values of columns and of functions of columns (templates only).
    pub values: Strings,
    /// Observations paired with a label.
    pub node: Strings,
    /// Observations paired with a label pair.
    pub pair: Strings,
}

impl Alphabet {
    /// The readable name of an observation: `pair` for one that goes with label pairs.
    pub fn name(&self, source: &Source, pair: bool, id: u32) -> String {
        let key = if pair { self.pair.get(id) } else { self.node.get(id) };
        match source {
            Source::Attributes => String::from_utf8_lossy(key).into_owned(),
            Source::Templates(templates) => {
                let mut numbers = key.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                let skeleton = numbers.next().unwrap_or(0);
                let values: Vec<_> =
                    numbers.map(|value| String::from_utf8_lossy(self.values.get(value))).collect();
                templates.expand(skeleton, &values.iter().map(|v| v.as_ref()).collect::<Vec<_>>())
            }
        }
    }
}

/// How strings become numbers: new ones are added while training and have none while tagging.
pub trait Numbering {
    /// The number of a value.
    fn value(&mut self, value: &str) -> u32;
    /// The number of an observation that goes with a label.
    fn node(&mut self, key: &[u8]) -> Option<u32>;
    /// The number of an observation that goes with a label pair.
    fn pair(&mut self, key: &[u8]) -> Option<u32>;
}

/// A value that was never seen in training: no observation has it.
const UNSEEN: u32 = u32::MAX;

impl Numbering for &Alphabet {
    #[inline]
    fn value(&mut self, value: &str) -> u32 {
        self.values.find(value.as_bytes()).unwrap_or(UNSEEN)
    }
    #[inline]
    fn node(&mut self, key: &[u8]) -> Option<u32> {
        self.node.find(key)
    }
    #[inline]
    fn pair(&mut self, key: &[u8]) -> Option<u32> {
        self.pair.find(key)
    }
}

impl Numbering for &mut Alphabet {
    fn value(&mut self, value: &str) -> u32 {
        self.values.intern(value.as_bytes())
    }
    fn node(&mut self, key: &[u8]) -> Option<u32> {
        Some(self.node.intern(key))
    }
    fn pair(&mut self, key: &[u8]) -> Option<u32> {
        Some(self.pair.intern(key))
    }
}

/// Where observations go.
pub trait Sink {
    /// An observation of the table that is being filled.
    fn observation(&mut self, id: u32, value: f64);
    /// The table is complete: first all node tables, then, where there are bigram templates, all pair tables.
    fn finish_table(&mut self);
}

/// Applies a [`Source`] to sequences; owns the scratch memory.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    /// Value numbers [padding + T + padding][extractors].
    values: Vec<u32>,
    key: Vec<u8>,
    text: String,
}

impl Observer {
    /// Sends the observations of a column sequence to `sink`.
    pub fn columns(
        &mut self,
        templates: &Templates,
        sequence: &Columns,
        mut numbers: impl Numbering,
        sink: &mut impl Sink,
    ) {
        let len = sequence.len();
        let padding = self.extract(templates, sequence, &mut numbers);
        let rows = self.values.len() / templates.extractors.len().max(1);
        let frame =
            Frame { values: &self.values, extractors: templates.extractors.len(), padding, len, rows };
        for t in 0..len {
            for template in &templates.unigram {
                if frame.key(template, t, &mut self.key)
                    && let Some(id) = numbers.node(&self.key)
                {
                    sink.observation(id, 1.0);
                }
            }
            sink.finish_table();
        }
        if templates.bigram.is_empty() {
            return;
        }
        for t in 1..len {
            for template in &templates.bigram {
                if frame.key(template, t, &mut self.key)
                    && let Some(id) = numbers.pair(&self.key)
                {
                    sink.observation(id, 1.0);
                }
            }
            sink.finish_table();
        }
    }

    /// Fills `values`; returns the number of padding rows on each side.
    fn extract(&mut self, templates: &Templates, sequence: &Columns, numbers: &mut impl Numbering) -> usize {
        let (left, right) = (templates.dialect.left_padding(), templates.dialect.right_padding());
        self.values.clear();
        for padding in left.iter().rev() {
            for extractor in &templates.extractors {
                self.values.push(numbers.value(extractor.value(padding, &mut self.text)));
            }
        }
        for row in 0..sequence.len() {
            for extractor in &templates.extractors {
                let field = sequence.field(row, extractor.column);
                self.values.push(numbers.value(extractor.value(field, &mut self.text)));
            }
        }
        for padding in right {
            for extractor in &templates.extractors {
                self.values.push(numbers.value(extractor.value(padding, &mut self.text)));
            }
        }
        left.len()
    }

    /// Sends the attributes of an instance to `sink`.
    pub fn attributes(&mut self, instance: &Attributes, mut numbers: impl Numbering, sink: &mut impl Sink) {
        for row in 0..instance.len() {
            for (name, value) in instance.items(row) {
                if let Some(id) = numbers.node(name.as_bytes()) {
                    sink.observation(id, value);
                }
            }
            sink.finish_table();
        }
    }
}

/// The values of one sequence, padding included.
struct Frame<'a> {
    values: &'a [u32],
    extractors: usize,
    padding: usize,
    len: usize,
    rows: usize,
}

impl Frame<'_> {
    /// Writes the key of a template at position t; false if a value is unknown. Rows beyond the padding are as the last of
    /// it.
    #[inline]
    fn key(&self, template: &Template, t: usize, key: &mut Vec<u8>) -> bool {
        key.clear();
        key.extend_from_slice(&template.skeleton.to_le_bytes());
        for one in &template.macros {
            let row = match one.row {
                Row::Relative(offset) => (self.padding + t) as i64 + i64::from(offset),
                Row::FromStart(after) => self.padding as i64 + i64::from(after),
                Row::FromEnd(before) => (self.padding + self.len) as i64 - 1 - i64::from(before),
            };
            let row = row.clamp(0, self.rows as i64 - 1) as usize;
            let value = self.values[row * self.extractors + one.extractor];
            if value == UNSEEN {
                return false;
            }
            key.extend_from_slice(&value.to_le_bytes());
        }
        true
    }
}
