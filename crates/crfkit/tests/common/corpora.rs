//! Corpora to train on: made-up ones of any size, and real ones where `CRFKIT_DATA` tells where they are.
#![allow(dead_code)] // each test file uses a part of it

#[path = "models.rs"]
pub mod models;

use crfkit::Result;
use crfkit::chain::{ChainCorpus, ChainDev, ChainDomain, CorpusBuilder, Sequence};
use crfkit::data::observer::Source;
use crfkit::data::text::decompress;
use crfkit::domain::{Dev, Domain, WeightedModel};
use crfkit::eval::Scores;
use crfkit::math::random::Random;
use crfkit::optim::Control;
use crfkit::train::{self, Checkpoint, Event, Listener, Method, Parameters, Settings, TrainOptions, Trained};
use models::{attributes, columns};
use std::fmt::Write;
use std::io::{Read as _, Write as _};

const AMOUNTS: &[&str] = &["one", "two", "1/2", "some"];
const UNITS: &[&str] = &["cups", "cup", "ounces", "red"];
const FOODS: &[&str] = &["red", "sugar", "onion", "peppers", "salt", "cup"];
const REST: &[&str] = &[",", "sliced", "to", "taste", "red", "one"];

/// Ingredient lines in columns: word, its length, chunk label. Words are ambiguous and now and then misplaced.
pub fn made_up_columns(seed: u64, sequences: usize) -> String {
    let mut rng = Random::new(seed);
    let mut text = String::new();
    for _ in 0..sequences {
        let mut chunk = |chance: usize, label: &str, words: &[&str], more: usize| {
            if rng.below(10) >= chance {
                return;
            }
            for k in 0..1 + rng.below(more) {
                let words = if rng.below(12) == 0 { REST } else { words };
                let word = words[rng.below(words.len())];
                let label = match (label, k) {
                    ("O", _) => "O".to_owned(),
                    (_, 0) => format!("B-{label}"),
                    _ => format!("I-{label}"),
                };
                writeln!(text, "{word} {} {label}", word.len()).unwrap();
            }
        };
        chunk(8, "AMOUNT", AMOUNTS, 2);
        chunk(6, "UNIT", UNITS, 1);
        chunk(10, "FOOD", FOODS, 3);
        chunk(5, "O", REST, 3);
        text.push('\n');
    }
    text
}

/// The same as attributes: some have values, some instances weights.
pub fn made_up_attributes(seed: u64, sequences: usize) -> String {
    let mut text = String::new();
    for (k, sequence) in columns(&made_up_columns(seed, sequences)).iter().enumerate() {
        if k % 3 == 1 {
            writeln!(text, "@weight:{}", 0.5 + 0.25 * (k % 4) as f64).unwrap();
        }
        for row in 0..sequence.len() {
            let (word, length) = (sequence.field(row, 0), sequence.field(row, 1));
            write!(text, "{}\tw={word}\tlength:0.{length}", sequence.field(row, 2)).unwrap();
            if row > 0 {
                write!(text, "\tbefore={}", sequence.field(row - 1, 0)).unwrap();
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

pub fn column_corpus(text: &str, source: Source, min_count: u32) -> ChainCorpus {
    let mut builder = CorpusBuilder::new(source);
    for sequence in columns(text) {
        builder.add_columns(&sequence, sequence.columns() - 1).unwrap();
    }
    builder.finish(min_count).unwrap()
}

pub fn attribute_corpus(text: &str, min_count: u32) -> ChainCorpus {
    let mut builder = CorpusBuilder::new(Source::Attributes);
    attributes(text).iter().for_each(|instance| builder.add_attributes(instance).unwrap());
    builder.finish(min_count).unwrap()
}

/// Development data in columns.
pub fn column_dev(corpus: &ChainCorpus, text: &str) -> ChainDev {
    let sequences: Vec<Sequence> = columns(text).into_iter().map(Sequence::from).collect();
    ChainDev::from_inputs(&corpus.domain, &sequences).unwrap()
}

/// The scores of a model on development data.
pub fn scores<D: Domain>(model: &WeightedModel<D>, dev: &Dev<D>) -> Scores {
    let WeightedModel { domain, features, weights, settings } = model;
    domain.scores(&dev.judge(domain, features, weights, settings, 1).unwrap())
}

/// A made-up corpus in columns, and development data from the same source.
pub fn made_up(seed: u64, sequences: usize) -> (ChainCorpus, ChainDev) {
    let corpus = column_corpus(&made_up_columns(seed, sequences), models::templates(), 1);
    let dev = column_dev(&corpus, &made_up_columns(seed + 1000, sequences));
    (corpus, dev)
}

/// Writes down what happens, and stops after a number of events.
#[derive(Default)]
pub struct Record {
    pub stop_after: Option<usize>,
    pub events: usize,
    /// (passes, objective) of every report.
    pub progress: Vec<(f64, f64)>,
    /// Scores of every evaluation, and whether it was the best so far.
    pub evaluations: Vec<(Scores, bool)>,
    /// A checkpoint of every step, where they are wanted.
    pub checkpoints: Option<Vec<Checkpoint>>,
}

impl Listener for Record {
    fn event(&mut self, event: &Event) -> Result<Control> {
        match *event {
            Event::Progress { passes, objective: Some(objective), .. } => {
                self.progress.push((passes, objective))
            }
            Event::Evaluation { scores, best, .. } => self.evaluations.push((scores.clone(), best)),
            _ => return Ok(Control::Continue), // choices, resets, steps between two reports
        }
        self.events += 1;
        Ok(if self.stop_after == Some(self.events) { Control::Stop } else { Control::Continue })
    }

    fn checkpoint_due(&mut self) -> bool {
        self.checkpoints.is_some()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.checkpoints.iter_mut().for_each(|all| all.push(checkpoint.clone()));
        Ok(())
    }
}

/// Trains with one thread.
pub fn train(
    corpus: ChainCorpus,
    settings: &Settings,
    start: TrainOptions<ChainDomain>,
) -> (Trained<ChainDomain>, Record) {
    let mut record = Record::default();
    let features = train::features(&corpus, settings);
    let start = TrainOptions { threads: start.threads.max(1), ..start };
    let trained = train::train(corpus, features, settings, start, &mut record).unwrap();
    (trained, record)
}

/// The text of a file of the real corpora, which may be compressed. Without them the test is skipped, loudly: its name goes to the file that
/// `CRFKIT_SKIPPED` names, if any.
pub fn real_text(test: &str, file: &str) -> Option<String> {
    let Some(data) = std::env::var_os("CRFKIT_DATA") else {
        eprintln!("skipped: CRFKIT_DATA is not set");
        if let Some(list) = std::env::var_os("CRFKIT_SKIPPED") {
            let mut list = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
            // In one piece: other tests append at the same time.
            list.write_all(format!("{test}\n").as_bytes()).unwrap();
        }
        return None;
    };
    let path = std::path::Path::new(&data).join(file);
    let mut text = String::new();
    let file = std::fs::File::open(&path).and_then(|file| decompress(Box::new(file)));
    let read = file.and_then(|mut file| file.read_to_string(&mut text));
    read.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(text)
}

/// Those of the given parameters that the method has.
pub fn parameters(method: Method, given: Parameters) -> Parameters {
    let uses = |name: &str| method.declaration().parameters.contains(&name);
    Parameters {
        batch: given.batch.filter(|_| uses("batch")),
        eta0: given.eta0.filter(|_| uses("eta0")),
        memory: given.memory.filter(|_| uses("memory")),
        tolerance: given.tolerance.filter(|_| uses("tolerance")),
        ..given
    }
}

/// η₀, where the method has one.
pub fn gain(method: Method, eta0: f64) -> Parameters {
    parameters(method, Parameters { eta0: Some(eta0), ..Parameters::default() })
}
