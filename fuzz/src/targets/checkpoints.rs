//! Checkpoints: a run that resumes from one ends, or says that it cannot.

use crate::{Target, mutate, sections};
use crfkit::Result;
use crfkit::chain::{ChainCorpus, ChainDomain, CorpusBuilder, Sequence};
use crfkit::checkpoint::fingerprint;
use crfkit::data::observer::Source as Observations;
use crfkit::domain::Corpus;
use crfkit::optim::Control;
use crfkit::train::{self, Checkpoint, Event, Listener, Method, Settings, Start};

pub const CHECKPOINT: Target = Target {
    name: "checkpoint",
    promise: "a checkpoint of any method is rejected, or the run that resumes from it ends",
    run: |data| {
        let Some((&first, file)) = data.split_first() else { return };
        let method = METHODS[first as usize % METHODS.len()];
        let mut file = file.to_vec();
        sections::repair(&mut file);
        let (corpus, settings) = (corpus(), settings(method));
        let start = Start::default();
        let run = fingerprint(&corpus, &settings, &start);
        // The fingerprint is a number of the head, which no change would guess: it is put in its place.
        let Some(file) = with_fingerprint(&file, run) else { return };
        if let Ok(checkpoint) = Checkpoint::from_bytes(&file, run) {
            resume(corpus, &settings, Start { resume: Some(checkpoint), ..start });
        }
    },
    seeds: || (0..METHODS.len()).flat_map(|method| seeds(method as u8)).collect(),
    mutate: |input, random| {
        if input.is_empty() || random.below(16) == 0 {
            return mutate::bytes(input, random);
        }
        let mut file = input.split_off(1);
        mutate::sections(&mut file, random);
        input.extend(file);
    },
};

/// Every method that trains chains by the likelihood and resumes.
const METHODS: [Method; 17] = [
    Method::Auto,
    Method::Lbfgs,
    Method::Bfgs,
    Method::Cg,
    Method::NewtonCg,
    Method::Sgd,
    Method::Asg,
    Method::Smd,
    Method::Psa,
    Method::Adagrad,
    Method::Adam,
    Method::Sag,
    Method::Saga,
    Method::Svrg,
    Method::Sdca,
    Method::Gis,
    Method::Pgis,
];

fn settings(optimizer: Method) -> Settings {
    Settings { optimizer, passes: Some(4), ..Settings::default() }
}

fn corpus() -> ChainCorpus {
    let mut builder = CorpusBuilder::new(Observations::Attributes);
    for tokens in [vec![("A", "x"), ("B", "y"), ("A", "x")], vec![("B", "x")], vec![("B", "y"), ("B", "z")]] {
        let features = tokens.into_iter().map(|(label, name)| (label, [(name, 1.0)]));
        builder.add(&Sequence::features(features).expect("these are features")).expect("they can be added");
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

fn resume(corpus: Corpus<ChainDomain>, settings: &Settings, start: Start<ChainDomain>) -> Vec<Checkpoint> {
    let features = train::features(&corpus, settings);
    let mut steps = Steps { left: 40, taken: Vec::new() };
    let _ = train::train(corpus, features, settings, start, &mut steps);
    steps.taken
}

fn seeds(method: u8) -> Vec<Vec<u8>> {
    let (corpus, settings) = (corpus(), settings(METHODS[method as usize]));
    let taken = resume(corpus, &settings, Start::default());
    taken.iter().map(|checkpoint| [&[method][..], &checkpoint.to_bytes(0)].concat()).collect()
}

fn with_fingerprint(file: &[u8], fingerprint: u64) -> Option<Vec<u8>> {
    let mut all = sections::split(file)?;
    let mut head: serde_json::Value = serde_json::from_slice(&all.first()?.1).ok()?;
    *head.get_mut("fingerprint")? = fingerprint.into();
    all[0].1 = serde_json::to_vec(&head).expect("a value can be written");
    Some(sections::join(file, &all))
}
