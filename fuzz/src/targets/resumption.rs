//! Interrupted runs: resumed, they end in the model of a run without interruption.

use super::doors::{features, sentences};
use crate::source::Source;
use crate::{Target, mutate};
use crfkit::chain::Sequence;

use crfkit::settings::Criterion;
use crfkit::train::{Method, StopReason};
use crfkit::{Result, Trainer};
use std::path::PathBuf;

pub const RESUME: Target = Target {
    name: "resume",
    promise: "runs of any method that are stopped and resumed give the model of one that is not, on any number of threads",
    run: |data| {
        let mut source = Source(data);
        let method = Method::ALL[source.below(Method::ALL.len())];
        let l1 = source.below(4) == 0;
        let sigma = [1.0, 0.1, 10.0, f64::INFINITY][source.below(4)];
        let stops: Vec<usize> = (0..source.below(4)).map(|_| 1 + source.below(6)).collect();
        let passes = 1 + source.below(5);
        let sequences: Vec<Sequence> = sentences(&mut source).iter().map(features).collect();
        let trainer = |threads| {
            let trainer = Trainer::new().threads(threads).optimizer(method).passes(passes).sigma(sigma);
            let perceptron = matches!(method, Method::Pa | Method::Arow);
            let trainer = if perceptron { trainer.objective(Criterion::Perceptron) } else { trainer };
            if l1 { trainer.l1(0.1) } else { trainer }
        };
        let inputs = || sequences.iter().cloned().map(Ok);
        let bytes = |run: Result<crfkit::TrainingRun>| run.map(|run| run.model.to_bytes().expect("a model"));
        let whole = bytes(trainer(1).run(inputs()));
        let file = file();
        let _ = std::fs::remove_file(&file);
        let failed = |error: &crfkit::Error| panic!("a checkpoint cannot be written: {error}");
        for (k, &stop) in stops.iter().enumerate() {
            let mut left = stop;
            let stopping = trainer(1 + k % 2).checkpoint(&file, failed).on_progress(|_| {
                left -= 1;
                left > 0
            });
            match stopping.run(inputs()) {
                Ok(run) if run.stop == StopReason::Listener => {}
                // It has ended before.
                _ => break,
            }
        }
        let resumed = bytes(trainer(1 + stops.len() % 2).checkpoint(&file, failed).run(inputs()));
        match (whole, resumed) {
            (Ok(whole), Ok(resumed)) => {
                assert!(whole == resumed, "resumed, it is another model");
                assert!(!file.exists(), "a run that has ended leaves its checkpoint");
            }
            (Err(_), Err(_)) => {}
            (whole, resumed) => {
                panic!("{method:?}: a model, or none: {:?}, {:?}", whole.map(drop), resumed.map(drop))
            }
        }
    },
    seeds: || {
        let with = |method: usize| {
            let data = (0..60).map(move |k: usize| ((k + 3) * (29 + method) % 251) as u8);
            [&[method as u8, 1, 0, 2, 1, 3, 3][..], &data.collect::<Vec<_>>()].concat()
        };
        (0..Method::ALL.len()).map(with).collect()
    },
    mutate: mutate::bytes,
};

/// In memory, where the system has a folder for that.
fn file() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("crfkit-fuzz-{}.checkpoint", std::process::id()))
}
