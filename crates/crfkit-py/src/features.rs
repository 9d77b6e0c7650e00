//! Sequences made of Python's objects.

use crate::Form;
use crate::errors::{data_error, raise};
use crate::keys::{Key, Keys};
use crate::lists::{each_token, is_list, iterator};
use crate::vectors::{beside, split, vectors_for};
use crate::walk::{At, Name, Receiver, not_text, shown, text_of, walk};
use crfkit::Place;
use crfkit::any::Ensemble;
use crfkit::chain::Sequence;
use crfkit::data::attributes::{Attributes, HashedAttributes};
use crfkit::data::columns::Columns;
use crfkit::graph::LabelBits;
use crfkit::tag::Tagger;
use numpy::PyUntypedArrayMethods;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The label of tokens whose label is not known.
pub(crate) const UNKNOWN: &str = "?";

/// Bytes of a text whose memory is kept from one sequence to the next.
const ROOM: usize = 4096;

/// Turns Python's sequences into the library's, and keeps its memory between them.
#[derive(Default)]
pub(crate) struct Converter {
    keys: Keys,
    text: String,
    /// Features that a token of the last sequence had, rounded up: so much room is made for those of the next one.
    usual: usize,
}

/// A sequence to be labelled.
pub(crate) struct Input {
    pub(crate) tokens: Tokens,
    /// The labels that some of its tokens may have.
    pub(crate) allowed: Vec<(usize, LabelBits)>,
}

/// The tokens of a sequence to be labelled.
pub(crate) enum Tokens {
    /// Rows of fields, or features with their names.
    Named(Sequence),
    /// Features, whose names are needed only to be looked up.
    Hashed(HashedAttributes),
}

impl Input {
    /// Number of tokens.
    pub(crate) fn len(&self) -> usize {
        match &self.tokens {
            Tokens::Named(sequence) => sequence.len(),
            Tokens::Hashed(sequence) => sequence.len(),
        }
    }

    /// Loads it into a worker.
    pub(crate) fn load(&self, worker: &mut Tagger<Ensemble>) -> crfkit::Result<()> {
        match &self.tokens {
            Tokens::Named(sequence) => worker.load_constrained(sequence, &self.allowed).map(drop),
            Tokens::Hashed(sequence) if self.allowed.is_empty() => worker.take_in_hashed(sequence).map(drop),
            Tokens::Hashed(sequence) => {
                worker.take_in_hashed(sequence)?.allow(&self.allowed, || Place::new("x", 0))
            }
        }
    }
}

impl From<Tokens> for Input {
    fn from(tokens: Tokens) -> Self {
        Input { tokens, allowed: Vec::new() }
    }
}

/// The features of a node or factor of a graph.
impl Receiver for Vec<(String, f64)> {
    fn feature(&mut self, parts: [&str; 4], value: f64) {
        self.push((parts.concat(), value));
    }
}

/// The features of a sequence to be labelled.
struct Hashing {
    sequence: HashedAttributes,
    text: String,
}

impl Receiver for Hashing {
    #[inline]
    fn feature(&mut self, [prefix, name, joint, text]: [&str; 4], value: f64) {
        if value == 0.0 {
            return; // it adds nothing
        }
        if prefix.is_empty() && joint.is_empty() {
            return self.sequence.add(name, value);
        }
        self.text.clear();
        [prefix, name, joint, text].iter().for_each(|part| self.text.push_str(part));
        self.sequence.add(&self.text, value);
    }

    #[inline]
    fn names(&mut self, names: &[&str]) {
        self.sequence.add_all(names);
    }

    #[inline]
    fn number(&mut self, key: &Key, value: f64) {
        self.sequence.add_hash(key.hash(), value);
    }

    #[inline]
    fn text(&mut self, key: &mut Key, text: &str) {
        match key.with(text) {
            Some(name) => self.sequence.add(name, 1.0),
            None => self.feature([key.prefix(), text, "", ""], 1.0),
        }
    }
}

/// The features of a sequence to be learned from.
impl Receiver for Attributes {
    #[inline]
    fn feature(&mut self, parts: [&str; 4], value: f64) {
        self.push_feature(parts, value);
    }

    #[inline]
    fn names(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.push_feature([name], 1.0));
    }

    #[inline]
    fn number(&mut self, key: &Key, value: f64) {
        self.push_feature([key.name()], value);
    }

    #[inline]
    fn text(&mut self, key: &mut Key, text: &str) {
        self.push_feature([key.prefix(), text], 1.0);
    }
}

impl Converter {
    /// Makes a sequence of what Python gives. With `labels`, there must be one for each token.
    pub(crate) fn sequence(
        &mut self,
        given: &Bound<'_, PyAny>,
        labels: Option<&[String]>,
        weight: f64,
        form: Form,
        of: Name<'_>,
    ) -> PyResult<Sequence> {
        let name = of.to_string();
        let (tokens, array) = split(given, &name)?;
        let sequence = match (&tokens, form) {
            (Some(tokens), Form::Features) => self.attributes(tokens, labels, weight, of)?,
            (Some(tokens), Form::Rows) => self.rows(tokens, labels, weight, of)?,
            (None, Form::Features) => {
                let rows = array.as_ref().map_or(0, |array| array.shape()[0]);
                numbers_alone(given.py(), rows, labels, weight, &name)?
            }
            (None, Form::Rows) => {
                return Err(data_error(
                    given.py(),
                    format!("{name} is an array: with a template, give a tuple of words and an array"),
                ));
            }
        };
        match array {
            Some(array) if !sequence.is_empty() || array.shape()[0] > 0 => beside(sequence, &array, &name),
            _ => Ok(sequence),
        }
    }

    /// Makes a sequence of features to be labelled of what Python gives.
    pub(crate) fn hashed(&mut self, given: &Bound<'_, PyAny>, of: Name<'_>) -> PyResult<Input> {
        let (py, name) = (given.py(), of.to_string());
        let (tokens, array) = split(given, &name)?;
        let text = std::mem::take(&mut self.text);
        let mut hashing = Hashing { sequence: HashedAttributes::new(name), text };
        match &tokens {
            Some(tokens) => {
                // Neither number is to be trusted with much memory.
                hashing.sequence.reserve(tokens.len().unwrap_or(0).min(1024), self.usual.min(64));
                for (token, item) in each_token(tokens, &of)?.enumerate() {
                    walk(&item?, &At { of, number: token }, &mut self.keys, &mut hashing)?;
                    hashing.sequence.finish_token();
                }
                self.usual = hashing.sequence.per_token();
            }
            None => {
                let rows = array.as_ref().map_or(0, |array| array.shape()[0]);
                (0..rows).for_each(|_| hashing.sequence.finish_token());
            }
        }
        let Hashing { mut sequence, mut text } = hashing;
        text.clear();
        text.shrink_to(ROOM);
        self.text = text;
        if let Some(array) = array.filter(|array| !sequence.is_empty() || array.shape()[0] > 0) {
            let vectors = vectors_for(sequence.len(), &array, &of.to_string())?;
            sequence.set_vectors(vectors).map_err(|error| raise(py, error))?;
        }
        Ok(Tokens::Hashed(sequence).into())
    }

    fn attributes(
        &mut self,
        tokens: &Bound<'_, PyAny>,
        labels: Option<&[String]>,
        weight: f64,
        of: Name<'_>,
    ) -> PyResult<Sequence> {
        let (py, name) = (tokens.py(), of.to_string());
        let mut attributes = Attributes::new(&name, weight).map_err(|error| raise(py, error))?;
        for (token, item) in each_token(tokens, &name)?.enumerate() {
            walk(&item?, &At { of, number: token }, &mut self.keys, &mut attributes)?;
            let label = labels.and_then(|labels| labels.get(token)).map_or(UNKNOWN, String::as_str);
            attributes.finish_token(label).map_err(|error| raise(py, error))?;
        }
        Ok(attributes.into())
    }

    /// The rows of a sequence with the labels of each token, which become the last fields, and the array beside them. Where there is only
    /// an array, each token has one empty field.
    pub(crate) fn columns(
        &mut self,
        given: &Bound<'_, PyAny>,
        labels: Option<(&[Vec<String>], Name<'_>)>,
        of: Name<'_>,
    ) -> PyResult<Columns> {
        let (py, name) = (given.py(), of.to_string());
        let (tokens, array) = split(given, &name)?;
        let mut rows: Vec<Vec<String>> = match &tokens {
            Some(tokens) => fields_of(tokens, of)?,
            None => vec![vec![String::new()]; array.as_ref().map_or(0, |array| array.shape()[0])],
        };
        if let Some((labels, of_labels)) = labels {
            if rows.len() != labels.len() {
                let (tokens, labels) = (rows.len(), labels.len());
                return Err(data_error(
                    py,
                    format!(
                        "{name} has length {tokens}, but {of_labels} has length {labels}: give the labels of each token"
                    ),
                ));
            }
            rows.iter_mut().zip(labels).for_each(|(row, labels)| row.extend(labels.iter().cloned()));
        }
        let mut rows = Columns::from_rows(rows, &name).map_err(|error| raise(py, error))?;
        if let Some(array) = array.filter(|array| !rows.is_empty() || array.shape()[0] > 0) {
            let vectors = vectors_for(rows.len(), &array, &name)?;
            rows.set_vectors(vectors).map_err(|error| raise(py, error))?;
        }
        Ok(rows)
    }

    fn rows(
        &mut self,
        tokens: &Bound<'_, PyAny>,
        labels: Option<&[String]>,
        weight: f64,
        of: Name<'_>,
    ) -> PyResult<Sequence> {
        let (py, name) = (tokens.py(), of.to_string());
        let mut rows = fields_of(tokens, of)?;
        // The caller says what is wrong if there are more or fewer of them.
        if let Some(labels) = labels.filter(|labels| labels.len() == rows.len()) {
            rows.iter_mut().zip(labels).for_each(|(row, label)| row.push(label.clone()));
        }
        let mut rows = Columns::from_rows(rows, &name).map_err(|error| raise(py, error))?;
        rows.set_weight(weight).map_err(|error| raise(py, error))?;
        Ok(rows.into())
    }
}

/// A sequence of tokens without features.
fn numbers_alone(
    py: Python<'_>,
    tokens: usize,
    labels: Option<&[String]>,
    weight: f64,
    name: &str,
) -> PyResult<Sequence> {
    let mut attributes = Attributes::new(name, weight).map_err(|error| raise(py, error))?;
    for token in 0..tokens {
        let label = labels.and_then(|labels| labels.get(token)).map_or(UNKNOWN, String::as_str);
        attributes.add(label, std::iter::empty::<(&str, f64)>()).map_err(|error| raise(py, error))?;
    }
    Ok(attributes.into())
}

/// The fields of every token, all of which must have the same number of them.
fn fields_of(tokens: &Bound<'_, PyAny>, of: Name<'_>) -> PyResult<Vec<Vec<String>>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (number, item) in each_token(tokens, &of)?.enumerate() {
        let at = At { of, number };
        let row = fields(&item?, at)?;
        let usual = rows.first().map_or(row.len(), Vec::len);
        if row.is_empty() {
            return Err(data_error(
                tokens.py(),
                format!("{at} has no fields: give every token at least one"),
            ));
        }
        if row.len() != usual {
            let found = if row.len() == 1 { "1 field".to_owned() } else { format!("{} fields", row.len()) };
            let message =
                format!("{at} has {found}, but {of}[0] has {usual}: give all tokens the same number");
            return Err(data_error(tokens.py(), message));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The fields of a token: a word alone, or a list of strings.
fn fields(item: &Bound<'_, PyAny>, at: At<'_>) -> PyResult<Vec<String>> {
    if let Some(word) = text_of(item) {
        return Ok(vec![word.map_err(|_| not_text(item, at))?.to_owned()]);
    }
    let wrong = |what: &Bound<'_, PyAny>| {
        PyTypeError::new_err(format!(
            "{at} has {}: with a template, give a word or a list of strings for every token",
            shown(what)
        ))
    };
    if !is_list(item) {
        return Err(wrong(item));
    }
    let mut row = Vec::new();
    for field in iterator(item, || wrong(item))? {
        let field = field?;
        let text = text_of(&field).ok_or_else(|| wrong(&field))?;
        row.push(text.map_err(|_| not_text(&field, at))?.to_owned());
    }
    Ok(row)
}
