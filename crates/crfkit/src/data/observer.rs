//! Turns the rows of a sequence into the numbers of its observations.

use super::attributes::{Attributes, HashedAttributes};
use super::columns::Columns;
use super::frame::{Frame, Step};
use super::lookup::{BATCH, Batch, Keys};
use super::memo::Memo;
use super::segments::SegmentObserver;
use super::strings::{Finder, Strings, hash_of};
use super::template::{Extractor, Function, Templates, read_finite};
use crate::Result;
use std::ops::Range;

/// The source of observations: what turns a row into observations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a model has one")]
pub enum Source {
    /// CRFsuite attribute lines. Each attribute is an observation by itself.
    Attributes,
    /// Columns, from which templates make observations.
    Templates(Templates),
}

impl Source {
    /// Whether label pairs have a weight without observations.
    pub(crate) fn label_bigram(&self) -> bool {
        match self {
            Source::Attributes => true,
            Source::Templates(templates) => templates.label_bigram,
        }
    }
}

/// The alphabet of observations: their names by number.
///
/// With attributes, a node observation is the attribute's name. With templates it is a key: the skeleton's number and
/// the numbers of the values, four bytes each. A token's values are then hashed once, and not once for each template.
#[derive(Clone, Debug, Default)]
pub struct Alphabet {
    /// Values of columns and of functions of columns; only with templates.
    pub values: Strings,
    /// Observations paired with a label.
    pub node: Strings,
    /// Observations paired with a label pair.
    pub pair: Strings,
}

impl Alphabet {
    /// The readable name of an observation. `pair` is for observations paired with a label pair.
    pub fn name(&self, source: &Source, pair: bool, id: u32) -> String {
        match source {
            Source::Attributes => String::from_utf8_lossy(self.key(pair, id)).into_owned(),
            Source::Templates(templates) => self.expand(templates, pair, id),
        }
    }

    /// The readable name of an observation made by templates.
    pub(crate) fn expand(&self, templates: &Templates, pair: bool, id: u32) -> String {
        let numbers = self.key(pair, id).chunks_exact(4);
        let mut numbers = numbers.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let skeleton = numbers.next().unwrap_or(0);
        let values: Vec<_> = numbers.map(|value| String::from_utf8_lossy(self.values.get(value))).collect();
        templates.expand(skeleton, &values.iter().map(|v| v.as_ref()).collect::<Vec<_>>())
    }

    /// Returns an error if names were left out because there are too many.
    pub(crate) fn check_room(&self) -> Result<()> {
        self.values.check_room("the values of the columns")?;
        self.node.check_room("the observations")?;
        self.pair.check_room("the observations of label pairs")
    }

    fn key(&self, pair: bool, id: u32) -> &[u8] {
        if pair { self.pair.get(id) } else { self.node.get(id) }
    }

    /// The alphabet for labelling, which adds no names.
    pub(crate) fn frozen(&self) -> Frozen<'_> {
        Frozen { values: self.values.finder(), node: self.node.finder(), pair: self.pair.finder() }
    }
}

/// An alphabet to which no names are added: unknown strings have no number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frozen<'a> {
    values: Finder<'a>,
    node: Finder<'a>,
    pair: Finder<'a>,
}

impl<'a> Frozen<'a> {
    fn names(&self, pair: bool) -> Finder<'a> {
        if pair { self.pair } else { self.node }
    }
}

/// How strings get their numbers. In training, new strings are added; in labelling, unknown strings have no number.
pub(crate) trait Numbering {
    /// The number of a value.
    fn value(&mut self, value: &str) -> u32;
    /// Appends the numbers of observations to `ids`.
    fn observations(&mut self, pair: bool, keys: &mut Keys, ids: &mut Vec<u32>);
    /// The number of one observation.
    fn observation(&mut self, pair: bool, key: &[u8]) -> Option<u32>;
    /// The names of the observations, if none are added: they can then be looked up by their hashes, for many tables at once.
    fn finder(&self, pair: bool) -> Option<Finder<'_>>;
}

/// The number of all values never seen in training, and of no value at all. No observation has it.
pub(super) const UNSEEN: u32 = u32::MAX;

/// The number of a value, if there is one.
#[inline]
pub(super) fn number(value: Option<&str>, numbers: &mut impl Numbering) -> u32 {
    value.map_or(UNSEEN, |value| numbers.value(value))
}

impl Numbering for Frozen<'_> {
    #[inline]
    fn value(&mut self, value: &str) -> u32 {
        self.values.find(hash_of(value.as_bytes())).unwrap_or(UNSEEN)
    }
    fn observations(&mut self, pair: bool, keys: &mut Keys, ids: &mut Vec<u32>) {
        ids.extend(keys.iter().filter_map(|key| self.names(pair).find(hash_of(key))));
    }
    fn observation(&mut self, pair: bool, key: &[u8]) -> Option<u32> {
        self.names(pair).find(hash_of(key))
    }
    fn finder(&self, pair: bool) -> Option<Finder<'_>> {
        Some(self.names(pair))
    }
}

impl Numbering for &mut Alphabet {
    fn value(&mut self, value: &str) -> u32 {
        self.values.intern(value.as_bytes())
    }
    fn observations(&mut self, pair: bool, keys: &mut Keys, ids: &mut Vec<u32>) {
        let names = if pair { &mut self.pair } else { &mut self.node };
        names.intern_all(&keys.text, &keys.ends, &mut keys.hashes, |id| ids.push(id));
    }
    fn observation(&mut self, pair: bool, key: &[u8]) -> Option<u32> {
        Some(if pair { self.pair.intern(key) } else { self.node.intern(key) })
    }
    fn finder(&self, _pair: bool) -> Option<Finder<'_>> {
        None
    }
}

/// A receiver of observations.
pub trait Sink {
    /// Receives all observations of the next table, with their values (empty if all are 1). All node tables come first; then, if there are
    /// segments and templates of them, the tables of all segments; then, if there are bigram templates, all pair tables.
    fn table(&mut self, ids: &[u32], values: &[f64]);
    /// Receives the observations of the next tables in advance, to prefetch what it needs for them.
    fn expect(&mut self, _ids: &[u32]) {}
}

/// Applies a [`Source`] to sequences. It owns the working memory.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    /// Value numbers [padding + T + padding][extractors].
    values: Vec<u32>,
    keys: Keys,
    steps: Vec<Step>,
    batch: Batch,
    /// The memo of tokens, and that of pairs.
    memos: [Memo; 2],
    ids: Vec<u32>,
    amounts: Vec<f64>,
    text: String,
    /// The values of macros that have several: the number of them, then the values. `values` has where they begin.
    several: Vec<u32>,
    /// The numbers of macros that read them; `values` has where they are.
    measured: Vec<f64>,
    segments: SegmentObserver,
}

impl Observer {
    /// Sends the observations of a column sequence to `sink`, those of segments of up to `longest` tokens among them.
    pub(crate) fn columns<N: Numbering, K: Sink>(
        &mut self,
        templates: &Templates,
        sequence: &Columns,
        longest: usize,
        mut numbers: N,
        sink: &mut K,
    ) {
        let len = sequence.len();
        let padding = self.extract(templates, sequence, &mut numbers);
        let Observer { values, keys, steps, memos, ids, amounts, several, measured, segments, .. } = self;
        let extractors = templates.extractors.len();
        let rows = values.len() / extractors.max(1);
        let plain = !templates.extractors.iter().any(Extractor::is_wider);
        let frame = Frame { values, several, extractors, padding, len, rows, plain };
        let has_numbers = !plain && templates.has_numbers();
        // The first token has no pair, and without bigram templates there are no tables for pairs.
        let pairs = if templates.bigram.is_empty() { 0..0 } else { 1..len.max(1) };
        for (pair, lines, tokens) in [(false, &templates.unigram, 0..len), (true, &templates.bigram, pairs)] {
            if pair && longest > 0 && !templates.segment.is_empty() {
                segments.all(templates, sequence, longest, &mut numbers, sink);
            }
            if has_numbers {
                for t in tokens {
                    frame.keys(lines, t, keys);
                    ids.clear();
                    numbers.observations(pair, keys, ids);
                    amounts.clear();
                    amounts.resize(ids.len(), 1.0);
                    for template in lines {
                        let Some((name, amount)) = frame.number(template, t, measured, keys) else {
                            continue;
                        };
                        if let Some(id) = numbers.observation(pair, name) {
                            ids.push(id);
                            amounts.push(amount);
                        }
                    }
                    keys.clear();
                    sink.table(ids, amounts);
                }
            } else if let Some(names) = numbers.finder(pair) {
                frame.steps(lines, steps);
                memos[usize::from(pair)].send(&frame, (steps, lines), tokens, names, (keys, sink));
            } else {
                amounts.clear();
                for t in tokens {
                    frame.keys(lines, t, keys);
                    keys.finish_table();
                    if keys.ends.len() >= BATCH {
                        keys.send(pair, &mut numbers, (ids, amounts), sink);
                    }
                }
                keys.send(pair, &mut numbers, (ids, amounts), sink);
            }
        }
    }

    /// Makes the observations of one segment known.
    pub(crate) fn learn_segment(
        &mut self,
        templates: &Templates,
        sequence: &Columns,
        tokens: Range<usize>,
        alphabet: &mut Alphabet,
    ) {
        self.segments.one(templates, sequence, tokens, &mut &mut *alphabet);
    }

    /// Sends the observations of all possible segments of up to `longest` tokens to `sink`.
    pub(crate) fn segments(
        &mut self,
        templates: &Templates,
        sequence: &Columns,
        longest: usize,
        alphabet: &Alphabet,
        sink: &mut impl Sink,
    ) {
        self.segments.all(templates, sequence, longest, &mut alphabet.frozen(), sink);
    }

    /// Fills `values` and returns the number of padding rows on each side.
    fn extract(&mut self, templates: &Templates, sequence: &Columns, numbers: &mut impl Numbering) -> usize {
        let [before, after] = templates.reach;
        let left = &templates.dialect.left_padding()[..before];
        let right = &templates.dialect.right_padding()[..after];
        self.values.clear();
        self.several.clear();
        self.measured.clear();
        for padding in left.iter().rev() {
            for extractor in &templates.extractors {
                self.values.push(number(extractor.padding(padding, &mut self.text), numbers));
            }
        }
        for row in 0..sequence.len() {
            for extractor in &templates.extractors {
                let field = sequence.field(row, extractor.column);
                self.values.push(number(extractor.value(field, &mut self.text), numbers));
            }
        }
        for padding in right {
            for extractor in &templates.extractors {
                self.values.push(number(extractor.padding(padding, &mut self.text), numbers));
            }
        }
        let padding = left.len();
        for (e, extractor) in templates.extractors.iter().enumerate().filter(|(_, one)| one.is_wider()) {
            self.extract_wider((e, extractor), templates.extractors.len(), padding, sequence, numbers);
        }
        padding
    }

    /// Fills in the values of an extractor that depends on more than one field, or has several values.
    fn extract_wider(
        &mut self,
        (e, extractor): (usize, &Extractor),
        extractors: usize,
        padding: usize,
        sequence: &Columns,
        numbers: &mut impl Numbering,
    ) {
        let at = |row: usize| (padding + row) * extractors + e;
        match &extractor.function {
            Function::List(list) => {
                let word = |row| sequence.field(row, extractor.column);
                list.find(sequence.len(), word, &mut self.text, |row, value| {
                    self.values[at(row)] = numbers.value(value);
                });
            }
            Function::Index(_) | Function::Part(_) | Function::Edge => {
                for row in 0..sequence.len() {
                    let value = extractor.position(row, sequence.len(), &mut self.text);
                    self.values[at(row)] = number(value, numbers);
                }
            }
            Function::Seen => {
                let fields = (0..sequence.len()).map(|row| sequence.field(row, extractor.column));
                extractor.for_each_seen(fields, &mut self.text, |row, value| {
                    self.values[at(row)] = numbers.value(value);
                });
            }
            Function::Ngrams(_) => {
                for row in 0..sequence.len() {
                    let start = self.several.len();
                    self.several.push(0);
                    extractor.for_each_gram(sequence.field(row, extractor.column), &mut self.text, |gram| {
                        let value = numbers.value(gram);
                        if value != UNSEEN && !self.several[start + 1..].contains(&value) {
                            self.several.push(value);
                        }
                    });
                    self.several[start] = (self.several.len() - start - 1) as u32;
                    self.values[at(row)] = start as u32;
                }
            }
            Function::Number(name) => {
                let name = numbers.value(name);
                for row in 0..sequence.len() {
                    let amount = read_finite(sequence.field(row, extractor.column)).unwrap_or(0.0);
                    self.values[at(row)] = self.several.len() as u32;
                    self.several.extend([name, self.measured.len() as u32]);
                    self.measured.push(amount);
                }
            }
            _ => {}
        }
    }

    /// Sends the attributes of an instance to `sink`, for training.
    pub(crate) fn new_attributes(
        &mut self,
        instance: &Attributes,
        mut alphabet: &mut Alphabet,
        sink: &mut impl Sink,
    ) {
        let Observer { keys, ids, amounts, .. } = self;
        amounts.clear();
        for row in 0..instance.len() {
            for (name, value) in instance.items(row) {
                keys.push(name.as_bytes());
                amounts.push(value);
            }
            keys.finish_table();
            if keys.ends.len() >= BATCH {
                keys.send(false, &mut alphabet, (ids, amounts), sink);
            }
        }
        keys.send(false, &mut alphabet, (ids, amounts), sink);
    }

    /// Sends the attributes of an instance to `sink`, for labelling.
    pub(crate) fn attributes(&mut self, instance: &Attributes, alphabet: &Alphabet, sink: &mut impl Sink) {
        let names = alphabet.node.finder();
        for row in 0..instance.len() {
            for (name, value) in instance.items(row) {
                self.batch.push_valued(hash_of(name.as_bytes()), value);
            }
            self.batch.finish_table(names, sink);
        }
        self.batch.send(names, sink);
    }

    /// Sends the observations of attributes that are known by their hashes to `sink`.
    pub(crate) fn hashed(&mut self, sequence: &HashedAttributes, alphabet: &Alphabet, sink: &mut impl Sink) {
        let names = alphabet.node.finder();
        for (hashes, values) in sequence.tokens() {
            self.batch.extend(hashes, values);
            self.batch.finish_table(names, sink);
        }
        self.batch.send(names, sink);
    }
}
