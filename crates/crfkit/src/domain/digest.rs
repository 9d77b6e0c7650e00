//! The fingerprint of a training run.

use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Source};
use crate::data::strings::Strings;
use crate::data::template::Templates;
use crate::graph::Graph;
use crate::math::simd;
use crate::model::Precision;
use crate::settings::Settings;
use std::fmt::Debug;
use xxhash_rust::xxh3::Xxh3Default;

/// Computes the fingerprint of a run. Lists are hashed with their lengths, so that no two sequences of lists look the
/// same.
pub struct Digest {
    hash: Xxh3Default,
    scratch: Vec<u8>,
}

impl Digest {
    /// Begins with the version, the vector unit and the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut digest = Digest { hash: Xxh3Default::default(), scratch: Vec::new() };
        digest.text(concat!(env!("CARGO_PKG_VERSION"), ", states 3")); // another number where a method's state has another meaning
        digest.text(simd::unit());
        // Settings that act on the weights after training do not change it. They are not hashed as JSON, which has no
        // infinity.
        digest.debug(&Settings { precision: Precision::default(), shrink: None, ..settings.clone() });
        digest
    }

    /// The fingerprint.
    pub(crate) fn finish(self) -> u64 {
        self.hash.digest()
    }

    /// Adds a small value in the form in which it is printed.
    pub(crate) fn debug(&mut self, thing: &impl Debug) {
        self.text(&format!("{thing:?}"));
    }

    /// Adds the source of observations.
    pub(crate) fn source(&mut self, source: &Source) {
        match source {
            Source::Attributes => self.text("attributes"),
            Source::Templates(templates) => self.templates(templates),
        }
    }

    pub(crate) fn templates(&mut self, templates: &Templates) {
        self.text(&templates.dialect.to_string());
        self.text(&templates.source);
        for file in &templates.files {
            self.text(&file.name);
            self.text(&file.text);
        }
    }

    pub(crate) fn alphabet(&mut self, alphabet: &Alphabet) {
        for strings in [&alphabet.values, &alphabet.node, &alphabet.pair] {
            self.strings(strings);
        }
    }

    pub(crate) fn weights(&mut self, weights: &[f64]) {
        self.numbers(weights.iter().map(|x| x.to_le_bytes()));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.hash.update(&(bytes.len() as u64).to_le_bytes());
        self.hash.update(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn texts(&mut self, texts: &[String]) {
        self.numbers([(texts.len() as u64).to_le_bytes()].into_iter());
        texts.iter().for_each(|text| self.text(text));
    }

    pub(crate) fn numbers<const N: usize>(&mut self, numbers: impl Iterator<Item = [u8; N]>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        numbers.for_each(|number| scratch.extend_from_slice(&number));
        self.bytes(&scratch);
        self.scratch = scratch;
    }

    pub(crate) fn strings(&mut self, strings: &Strings) {
        let (text, ends) = strings.parts();
        self.bytes(text);
        self.numbers(ends.iter().map(|end| end.to_le_bytes()));
    }

    pub(crate) fn dataset<G: Graph>(&mut self, data: &Dataset<G>) {
        self.numbers([(data.len() as u64).to_le_bytes()].into_iter());
        if !data.sets().is_empty() {
            self.debug(data.sets());
        }
        for dense in data.dense() {
            self.debug(&(dense.kind(), dense.width()));
            self.numbers(dense.values().iter().map(|x| x.to_le_bytes()));
        }
        for example in 0..data.len() {
            let graph = data.graph(example);
            let mut shape = vec![graph.vars() as u64, data.weight(example).to_bits()];
            shape.extend((0..graph.vars()).map(|v| graph.card(v) as u64));
            graph.for_each_factor(|factor| shape.extend(factor.vars.iter().map(|&v| v as u64)));
            self.numbers(shape.into_iter().map(u64::to_le_bytes));
            self.numbers(data.gold(example).iter().map(|label| label.to_le_bytes()));
            if data.uses_variable_weights() {
                self.weights(data.variable_weights(example));
            }
            for table in data.tables(example) {
                let (observations, values) = data.observations(table);
                self.numbers(observations.iter().map(|id| id.to_le_bytes()));
                self.numbers(values.iter().map(|x| x.to_le_bytes()));
            }
        }
    }
}
