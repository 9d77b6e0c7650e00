//! Checkpoints: a run that resumes from one ends, or says that it cannot.

use crate::{Target, mutate, sections};
use crfkit::Result;
use crfkit::chain::{ChainCorpus, ChainDomain, CorpusBuilder, Sequence};
use crfkit::checkpoint::fingerprint;
use crfkit::data::observer::Source as Observations;
use crfkit::domain::Corpus;
use crfkit::optim::{Adaptation, Control};
use crfkit::train::{self, Checkpoint, Criterion, Event, Listener, Method, Settings, TrainOptions};
use std::sync::OnceLock;

pub const CHECKPOINT: Target = Target {
    name: "checkpoint",
    promise: "a checkpoint of any method is rejected, or the run that resumes from it ends",
    run: |data| {
        let Some((&first, file)) = data.split_first() else { return };
        let settings = &cases()[first as usize % cases().len()];
        let mut file = file.to_vec();
        sections::repair(&mut file);
        let corpus = corpus();
        let start = TrainOptions { threads: 1, ..TrainOptions::default() };
        let run = fingerprint(&corpus, settings, &start);
        // The fingerprint is a number of the head, which no change would guess: it is put in its place.
        let Some(file) = with_fingerprint(&file, run) else { return };
        if let Ok(checkpoint) = Checkpoint::from_bytes(&file, run) {
            resume(corpus, settings, TrainOptions { resume: Some(checkpoint), ..start });
        }
    },
    seeds: || (0..cases().len()).flat_map(|case| seeds(case as u8)).collect(),
    mutate: |input, random| {
        if input.is_empty() || random.below(16) == 0 {
            return mutate::bytes(input, random);
        }
        let mut file = input.split_off(1);
        mutate::sections(&mut file, random);
        input.extend(file);
    },
};

/// Settings of every method that resumes, each with an objective that it takes.
fn cases() -> &'static [Settings] {
    static CASES: OnceLock<Vec<Settings>> = OnceLock::new();
    CASES.get_or_init(|| {
        let mut all: Vec<Settings> = Method::ALL.into_iter().map(settings).collect();
        let mut printed = settings(Method::Psa);
        printed.parameters.psa_rule = Some(Adaptation::Printed);
        printed.parameters.period = Some(1);
        let l1 = |method| Settings { l1: 0.1, ..settings(method) };
        all.extend([printed, l1(Method::Lbfgs), l1(Method::Saga), l1(Method::Adagrad)]);
        all
    })
}

fn settings(optimizer: Method) -> Settings {
    let default = Settings::default();
    let (objective, sigma) = match optimizer {
        Method::Pa | Method::Arow => (Criterion::Perceptron, f64::INFINITY),
        Method::Gis => (Criterion::Likelihood, f64::INFINITY),
        _ => (default.objective, default.sigma),
    };
    Settings { optimizer, objective, sigma, passes: Some(4), ..default }
}

fn corpus() -> ChainCorpus {
    let mut builder = CorpusBuilder::new(Observations::Attributes);
    for tokens in [vec![("A", "x"), ("B", "y"), ("A", "x")], vec![("B", "x")], vec![("B", "y"), ("B", "z")]] {
        let features = tokens.into_iter().map(|(label, name)| (label, [(name, 1.0)]));
        builder
            .add(&Sequence::from_features(features).expect("these are features"))
            .expect("they can be added");
    }
    builder.finish(1).expect("a corpus")
}

/// Stops after some steps, and takes checkpoints on the way.
struct Steps {
    left: usize,
    taken: Vec<Checkpoint>,
}

impl Listener for Steps {
    fn event(&mut self, _: &Event) -> Result<Control> {
        self.left = self.left.saturating_sub(1);
        Ok(if self.left == 0 { Control::Stop } else { Control::Continue })
    }

    fn checkpoint_due(&mut self) -> bool {
        true
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        if self.taken.len() < 3 {
            self.taken.push(checkpoint.clone());
        }
        Ok(())
    }
}

fn resume(
    corpus: Corpus<ChainDomain>,
    settings: &Settings,
    start: TrainOptions<ChainDomain>,
) -> Vec<Checkpoint> {
    let features = train::features(&corpus, settings);
    let mut steps = Steps { left: 40, taken: Vec::new() };
    let _ = train::train(corpus, features, settings, start, &mut steps);
    steps.taken
}

fn seeds(case: u8) -> Vec<Vec<u8>> {
    let settings = &cases()[case as usize];
    let taken = resume(corpus(), settings, TrainOptions { threads: 1, ..TrainOptions::default() });
    assert!(!taken.is_empty(), "{:?} takes no checkpoint", settings.optimizer);
    taken.iter().map(|checkpoint| [&[case][..], &checkpoint.to_bytes(0)].concat()).collect()
}

fn with_fingerprint(file: &[u8], fingerprint: u64) -> Option<Vec<u8>> {
    let mut all = sections::split(file)?;
    let mut head: serde_json::Value = serde_json::from_slice(&all.first()?.1).ok()?;
    *head.get_mut("fingerprint")? = fingerprint.into();
    all[0].1 = serde_json::to_vec(&head).expect("a value can be written");
    Some(sections::join(file, &all))
}
