//! Checkpoints of every method that were forged: a byte is another one, and the checksum is right. Such a file is rejected with an error, or
//! the run that resumes from it ends; it neither panics nor hangs, and no number in the file decides how much memory is taken.
//!
//! `./test` tries some bytes of each file. `CRFKIT_FORGE=all cargo test -p crfkit --test training forged::` tries all of them.

use crate::corpora::made_up;

use crfkit::chain::{ChainCorpus, ChainDev, ChainDomain};
use crfkit::checkpoint::fingerprint;
use crfkit::math::random::Random;
use crfkit::optim::{Adaptation, Control};
use crfkit::settings::{Criterion, Tuning};
use crfkit::train::{self, Checkpoint, Event, Listener, Method, Settings, TrainOptions, Trained};
use crfkit::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Steps that a resumed run may make before it is stopped.
const STEPS: usize = 25;
/// Bytes of each file that `./test` tries.
const SAMPLE: usize = 60;
/// What a byte is combined with: its lowest bit, its sign, all of it.
const PATTERNS: [u8; 3] = [0x01, 0x80, 0xFF];
/// What all runs may take together: none needs more than a few MB.
const MEMORY: u64 = 1 << 30;

/// A method, and settings that go with it.
fn cases() -> Vec<(String, Settings)> {
    let settings = |optimizer| {
        let (objective, sigma) = match optimizer {
            Method::Pa | Method::Arow => (Criterion::Perceptron, f64::INFINITY),
            Method::Gis => (Criterion::Likelihood, f64::INFINITY),
            _ => (Criterion::Likelihood, 1.0),
        };
        Settings { optimizer, objective, sigma, passes: Some(3), min_count: 2, ..Settings::default() }
    };
    let mut all: Vec<_> =
        Method::ALL.into_iter().map(|method| (method.name().to_owned(), settings(method))).collect();
    let mut printed = settings(Method::Psa);
    printed.parameters.psa_rule = Some(Adaptation::Printed);
    printed.parameters.period = Some(2);
    all.push(("psa, printed".into(), printed));
    for method in [Method::Lbfgs, Method::Saga, Method::Adagrad, Method::Auto] {
        all.push((format!("{}, L1", method.name()), Settings { l1: 0.1, ..settings(method) }));
    }
    let choose = Tuning { sigma: true, l1: false };
    all.push(("lbfgs, chosen sigma".into(), Settings { choose, ..settings(Method::Lbfgs) }));
    all
}

/// Stops after some steps, and keeps the checkpoint of the third.
struct Steps {
    left: usize,
    seen: usize,
    kept: Option<Checkpoint>,
}

impl Listener for Steps {
    fn event(&mut self, event: &Event) -> Result<Control> {
        if matches!(event, Event::Progress { .. }) {
            self.left = self.left.saturating_sub(1);
        }
        Ok(if self.left == 0 { Control::Stop } else { Control::Continue })
    }

    fn checkpoint_due(&mut self) -> bool {
        self.seen += 1;
        self.seen == 3 || self.kept.is_none()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.kept = Some(checkpoint.clone());
        Ok(())
    }
}

/// A run on little data, with development data.
struct Run {
    settings: Settings,
    corpus: ChainCorpus,
    dev: ChainDev,
}

impl Run {
    fn new(settings: Settings) -> Self {
        let (corpus, dev) = made_up(3, 4);
        Run { settings, corpus, dev }
    }

    fn start(&self, resume: Option<Checkpoint>) -> TrainOptions<ChainDomain> {
        TrainOptions { dev: Some(self.dev.clone()), resume, threads: 1, ..TrainOptions::default() }
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(&self.corpus, &self.settings, &self.start(None))
    }

    fn go(&self, resume: Option<Checkpoint>, steps: &mut Steps) -> Result<Trained<ChainDomain>> {
        let features = train::features(&self.corpus, &self.settings);
        train::train(self.corpus.clone(), features, &self.settings, self.start(resume), steps)
    }

    /// Resumes from a file. The number of the run is in the file's head, where a change may have hit it.
    fn resume(&self, file: &[u8], fingerprint: u64) -> Result<()> {
        let checkpoint = Checkpoint::from_bytes(file, fingerprint)?;
        self.go(Some(checkpoint), &mut Steps { left: STEPS, seen: 9, kept: Some(Checkpoint::default()) })
            .map(drop)
    }
}

fn repair(file: &mut [u8]) {
    let end = file.len() - 8;
    let checksum = xxh3_64(&file[..end]);
    file[end..].copy_from_slice(&checksum.to_le_bytes());
}

/// The most memory that the process has ever asked for; `None` where the system does not say.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[test]
fn a_forged_checkpoint_of_any_method_is_rejected_or_its_run_ends() {
    let all = std::env::var("CRFKIT_FORGE").is_ok_and(|what| what == "all");
    let (mut forged, mut rejected, mut failed, mut bytes) = (0, 0, 0, 0);
    let before = peak();
    let mut random = Random::new(1);
    for (name, settings) in cases() {
        let run = Run::new(settings);
        let mut steps = Steps { left: 5, seen: 0, kept: None };
        run.go(None, &mut steps).unwrap_or_else(|error| panic!("{name}: {error}"));
        let fingerprint = run.fingerprint();
        let file = steps.kept.expect("a checkpoint").to_bytes(fingerprint);
        run.resume(&file, fingerprint).unwrap_or_else(|error| panic!("{name} does not resume: {error}"));
        bytes += file.len();
        let places: Vec<usize> = match all {
            true => (0..file.len() - 8).collect(),
            false => (0..SAMPLE).map(|_| random.below(file.len() - 8)).collect(),
        };
        for at in places {
            for pattern in if all { &PATTERNS[..] } else { &PATTERNS[at % 3..at % 3 + 1] } {
                let mut copy = file.clone();
                copy[at] ^= pattern;
                repair(&mut copy);
                let begun = Instant::now();
                let outcome = catch_unwind(AssertUnwindSafe(|| run.resume(&copy, fingerprint)));
                let what = format!("{name}: byte {at} of {} changed by {pattern:#x}", file.len());
                assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {:?}", begun.elapsed());
                forged += 1;
                match outcome.unwrap_or_else(|_| panic!("{what}: a panic")) {
                    Ok(()) => {}
                    Err(Error::File { name, message }) => {
                        assert!(name == "checkpoint" && !message.is_empty(), "{what}: {name}: {message}");
                        rejected += 1;
                    }
                    Err(Error::Diverged { .. } | Error::Setting(_)) => failed += 1,
                    Err(other) => panic!("{what}: {other}"),
                }
            }
        }
    }
    println!(
        "{forged} forgeries of files of {bytes} bytes: {rejected} rejected, {failed} runs failed, the others ended"
    );
    assert!(rejected > forged / 10 && rejected < forged, "{rejected} of {forged} rejected");
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after < before + MEMORY, "{before} bytes before, {after} afterwards");
    }
}
