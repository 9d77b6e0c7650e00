//! Checkpoints: exact to the bit, and only for the run that they belong to.

use crate::models;

use crfkit::Error;
use crfkit::checkpoint::fingerprint;
use crfkit::data::dataset::Dataset;
use crfkit::data::observer::{Observer, Source};
use crfkit::optim::State;
use crfkit::train::{Checkpoint, Dev, Settings};
use models::{columns, corpus, templates};
use std::collections::HashSet;

fn checkpoint() -> Checkpoint {
    let state = State {
        theta: vec![0.1, -0.0, f64::MIN_POSITIVE / 3.0, 1e300],
        vectors: [("permutation".into(), vec![2.0, 0.0, 1.0]), ("s\0é\"".into(), vec![])].into(),
        numbers: [("gain".into(), 0.1 + 0.2), ("worst".into(), f64::INFINITY), ("none".into(), f64::NAN)]
            .into(),
    };
    Checkpoint { state, best: Some((93.61, vec![1.5, -2.5])), since_best: 3 }
}

/// Every number as its bits: NaN is equal to itself here, and 0 is not −0.
fn bits(checkpoint: &Checkpoint) -> String {
    let all = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let State { theta, vectors, numbers } = &checkpoint.state;
    let vectors: Vec<_> = vectors.iter().map(|(name, xs)| (name, all(xs))).collect();
    let numbers: Vec<_> = numbers.iter().map(|(name, x)| (name, x.to_bits())).collect();
    let best = checkpoint.best.as_ref().map(|(score, xs)| (score.to_bits(), all(xs)));
    format!("{:?} {vectors:?} {numbers:?} {best:?} {}", all(theta), checkpoint.since_best)
}

fn refusal(bytes: &[u8], fingerprint: u64) -> String {
    match Checkpoint::from_bytes(bytes, fingerprint) {
        Err(Error::File { name, message }) if name == "checkpoint" => message,
        other => panic!("not the error of a checkpoint: {other:?}"),
    }
}

#[test]
fn checkpoints_come_back_to_the_bit() {
    for checkpoint in [checkpoint(), Checkpoint::default()] {
        let bytes = checkpoint.to_bytes(u64::MAX);
        assert_eq!(bits(&Checkpoint::from_bytes(&bytes, u64::MAX).unwrap()), bits(&checkpoint));
        assert_eq!(checkpoint.to_bytes(u64::MAX), bytes);
    }
}

#[test]
fn another_run_is_refused_with_a_remedy() {
    let message = refusal(&checkpoint().to_bytes(1), 2);
    assert!(message.contains("belongs to other data or settings"), "{message}");
    assert!(message.contains("remove it") && message.contains("--checkpoint"), "{message}");
}

#[test]
fn damage_is_refused() {
    let bytes = checkpoint().to_bytes(5);
    let mut damaged = bytes.clone();
    for at in 0..bytes.len() {
        damaged[at] ^= 0x10;
        refusal(&damaged, 5);
        damaged[at] = bytes[at];
        refusal(&bytes[..at], 5);
    }
    let model = models::models().swap_remove(0).to_bytes(Default::default()).unwrap();
    assert_eq!(refusal(&model, 5), "this is not a checkpoint of crfkit");
}

#[test]
fn a_fingerprint_tells_runs_apart() {
    let settings = Settings::default();
    let base = corpus(templates());
    let dev = || {
        let mut data = Dataset::new();
        let mut observer = Observer::default();
        let sequences = columns("two NUM B-AMOUNT\nsugar NOUN B-FOOD\n");
        sequences.iter().for_each(|s| base.observe_columns(s, &mut observer, &mut data));
        Dev { data, gold: vec![vec!["B-AMOUNT".into(), "B-FOOD".into()]] }
    };
    let mut other_gold = dev();
    other_gold.gold[0][1] = "O".into();
    let mut other_label = base.clone();
    other_label.labels[0].push('x');
    let mut other_data = base.clone();
    other_data.data.renumber(|l| l, |kind, id| (kind > 0 || id > 0).then_some(id), |g| *g);
    let mut other_gold_labels = base.clone();
    other_gold_labels.data.renumber(|l| l / 2, |_, id| Some(id), |g| *g);
    let mut other_names = base.clone();
    other_names.alphabet.values.intern(b"another");
    let with = |change: fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        fingerprint(&base, &settings, &[], &[], None)
    };
    let all = [
        fingerprint(&base, &settings, &[], &[], None),
        fingerprint(&base, &settings, &[0.5], &[], None),
        fingerprint(&base, &settings, &[], &[0.5], None),
        fingerprint(&base, &settings, &[], &[], Some(&dev())),
        fingerprint(&base, &settings, &[], &[], Some(&other_gold)),
        fingerprint(&corpus(Source::Attributes), &settings, &[], &[], None),
        fingerprint(&other_label, &settings, &[], &[], None),
        fingerprint(&other_data, &settings, &[], &[], None),
        fingerprint(&other_gold_labels, &settings, &[], &[], None),
        fingerprint(&other_names, &settings, &[], &[], None),
        with(|s| s.seed = 2),
        with(|s| s.sigma = f64::INFINITY),
        with(|s| s.sigma_pairs = Some(f64::INFINITY)),
        with(|s| s.passes = Some(3)),
    ];
    assert_eq!(HashSet::from(all).len(), all.len(), "{all:?}");
    assert_eq!(all[0], fingerprint(&corpus(templates()), &settings, &[], &[], None));
    assert_eq!(all[3], fingerprint(&base, &settings, &[], &[], Some(&dev())));
}
