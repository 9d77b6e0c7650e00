//! Checkpoints as bytes, bound to the data and settings of their run.

use crate::Result;
use crate::data::corpus::Corpus;
use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Source};
use crate::data::strings::Strings;
use crate::data::template::Templates;
use crate::graph::Graph;
use crate::math::simd;
use crate::model::sections::{Format, Reader, Writer};
use crate::optim::State;
use crate::train::{Checkpoint, Dev, Settings};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use xxhash_rust::xxh3::Xxh3Default;

static FORMAT: Format = Format {
    magic: *b"crfkit\0C",
    version: 1,
    name: "checkpoint",
    remedy: "remove it to start the training anew",
};

/// The section of small things: what the arrays in the others are. Numbers are stored as arrays, to the bit.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    fingerprint: u64,
    numbers: Vec<String>,
    vectors: Vec<String>,
    has_best: bool,
    since_best: u64,
}

impl Checkpoint {
    /// The checkpoint file of the run with this [`fingerprint`].
    pub fn to_bytes(&self, fingerprint: u64) -> Vec<u8> {
        let Checkpoint { state: State { theta, vectors, numbers }, best, since_best } = self;
        let head = Head {
            fingerprint,
            numbers: numbers.keys().cloned().collect(),
            vectors: vectors.keys().cloned().collect(),
            has_best: best.is_some(),
            since_best: *since_best as u64,
        };
        let mut file = Writer::default();
        file.json("head", &head);
        file.numbers("theta", theta.iter().map(|x| x.to_le_bytes()));
        file.numbers("numbers", numbers.values().map(|x| x.to_le_bytes()));
        for vector in vectors.values() {
            file.numbers("vector", vector.iter().map(|x| x.to_le_bytes()));
        }
        if let Some((score, weights)) = best {
            file.numbers("best score", [score.to_le_bytes()].into_iter());
            file.numbers("best weights", weights.iter().map(|x| x.to_le_bytes()));
        }
        file.finish(&FORMAT)
    }

    /// Reads a checkpoint file; one of a run with another fingerprint is refused.
    pub fn from_bytes(bytes: &[u8], fingerprint: u64) -> Result<Checkpoint> {
        let mut file = Reader::new(bytes, &FORMAT)?;
        let head: Head = file.json("head")?;
        if head.fingerprint != fingerprint {
            return Err(FORMAT.refuse(
                "this checkpoint belongs to other data or settings (or another version of crfkit or vector unit); remove \
                 it to start anew, or name another file with --checkpoint",
            ));
        }
        let theta = file.numbers("theta", f64::from_le_bytes)?;
        let numbers = file.numbers("numbers", f64::from_le_bytes)?;
        if numbers.len() != head.numbers.len() {
            return Err(FORMAT.damaged("its numbers do not match their names"));
        }
        let numbers = head.numbers.into_iter().zip(numbers).collect();
        let vector = |name| Ok((name, file.numbers("vector", f64::from_le_bytes)?));
        let vectors = head.vectors.into_iter().map(vector).collect::<Result<_>>()?;
        let best = match head.has_best {
            true => {
                let score = file.numbers("best score", f64::from_le_bytes)?;
                let &[score] = &score[..] else {
                    return Err(FORMAT.damaged("its best score is not one number"));
                };
                Some((score, file.numbers("best weights", f64::from_le_bytes)?))
            }
            false => None,
        };
        file.finish()?;
        let since_best = head.since_best as usize;
        Ok(Checkpoint { state: State { theta, vectors, numbers }, best, since_best })
    }
}

/// A number for everything that decides how a run goes: version, vector unit, settings, data, start and prior.
pub fn fingerprint(
    corpus: &Corpus,
    settings: &Settings,
    start_theta: &[f64],
    prior_mean: &[f64],
    dev: Option<&Dev>,
) -> u64 {
    let Corpus { source, data, labels, alphabet, words } = corpus;
    let mut digest = Digest::new(settings);
    match source {
        Source::Attributes => digest.text("attributes"),
        Source::Templates(templates) => digest.templates(templates),
    }
    digest.texts(labels);
    digest.alphabet(alphabet);
    digest.numbers(words.iter().map(|bits| bits.to_le_bytes()));
    digest.dataset(data);
    digest.weights(start_theta);
    digest.weights(prior_mean);
    if let Some(Dev { data, gold }) = dev {
        digest.dataset(data);
        gold.iter().for_each(|labels| digest.texts(labels));
    }
    digest.finish()
}

/// Makes the fingerprint of a run. Hashes lists with their lengths, so that no two sequences of lists look the same.
pub(crate) struct Digest {
    hash: Xxh3Default,
    scratch: Vec<u8>,
}

impl Digest {
    /// That of version, vector unit and settings.
    pub fn new(settings: &impl Debug) -> Self {
        let mut digest = Digest { hash: Xxh3Default::default(), scratch: Vec::new() };
        digest.text(concat!(env!("CARGO_PKG_VERSION"), ", states 2")); // another number where a method's state has another meaning
        digest.text(simd::unit());
        digest.debug(settings); // not as JSON, which has no infinity
        digest
    }

    /// The fingerprint.
    pub fn finish(self) -> u64 {
        self.hash.digest()
    }

    /// Something small, as it is printed.
    pub fn debug(&mut self, thing: &impl Debug) {
        self.text(&format!("{thing:?}"));
    }

    pub fn templates(&mut self, templates: &Templates) {
        self.text(&templates.dialect.to_string());
        self.text(&templates.source);
    }

    pub fn alphabet(&mut self, alphabet: &Alphabet) {
        for strings in [&alphabet.values, &alphabet.node, &alphabet.pair] {
            self.strings(strings);
        }
    }

    pub fn weights(&mut self, weights: &[f64]) {
        self.numbers(weights.iter().map(|x| x.to_le_bytes()));
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.hash.update(&(bytes.len() as u64).to_le_bytes());
        self.hash.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn texts(&mut self, texts: &[String]) {
        self.numbers([(texts.len() as u64).to_le_bytes()].into_iter());
        texts.iter().for_each(|text| self.text(text));
    }

    fn numbers<const N: usize>(&mut self, numbers: impl Iterator<Item = [u8; N]>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        numbers.for_each(|number| scratch.extend_from_slice(&number));
        self.bytes(&scratch);
        self.scratch = scratch;
    }

    pub fn strings(&mut self, strings: &Strings) {
        let (text, ends) = strings.parts();
        self.bytes(text);
        self.numbers(ends.iter().map(|end| end.to_le_bytes()));
    }

    pub fn dataset<G: Graph>(&mut self, data: &Dataset<G>) {
        self.numbers([(data.len() as u64).to_le_bytes()].into_iter());
        for example in 0..data.len() {
            let graph = data.graph(example);
            let mut shape = vec![graph.vars() as u64, data.weight(example).to_bits()];
            shape.extend((0..graph.vars()).map(|v| graph.card(v) as u64));
            graph.for_each_factor(|factor| shape.extend(factor.vars.iter().map(|&v| v as u64)));
            self.numbers(shape.into_iter().map(u64::to_le_bytes));
            self.numbers(data.gold(example).iter().map(|label| label.to_le_bytes()));
            for table in data.tables(example) {
                let (observations, values) = data.observations(table);
                self.numbers(observations.iter().map(|id| id.to_le_bytes()));
                self.numbers(values.iter().map(|x| x.to_le_bytes()));
            }
        }
    }
}
