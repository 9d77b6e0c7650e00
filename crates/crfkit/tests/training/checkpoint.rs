//! Checkpoints: exact to the bit, and only for the run that they belong to.

use crate::models;

use crfkit::Error;
use crfkit::chain::{ChainCorpus, ChainDev, Sequence};
use crfkit::data::observer::Source;
use crfkit::optim::State;
use crfkit::train::{Checkpoint, Settings, TrainOptions, TuningTrial};
use models::{columns, corpus, templates};
use std::collections::HashSet;

fn checkpoint() -> Checkpoint {
    let state = State {
        theta: vec![0.1, -0.0, f64::MIN_POSITIVE / 3.0, 1e300],
        vectors: [("permutation".into(), vec![2.0, 0.0, 1.0]), ("s\0é\"".into(), vec![])].into(),
        numbers: [("gain".into(), 0.1 + 0.2), ("worst".into(), f64::INFINITY), ("none".into(), f64::NAN)]
            .into(),
    };
    Checkpoint {
        state,
        best: Some((93.61, vec![1.5, -2.5])),
        since_best: 3,
        tried: vec![TuningTrial { sigma: 0.1, l1: 0.3, passes: 2.5, score: 93.5, chosen: true }],
    }
}

/// Every number as its bits: NaN is equal to itself here, and 0 is not −0.
fn bits(checkpoint: &Checkpoint) -> String {
    let all = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let State { theta, vectors, numbers } = &checkpoint.state;
    let vectors: Vec<_> = vectors.iter().map(|(name, xs)| (name, all(xs))).collect();
    let numbers: Vec<_> = numbers.iter().map(|(name, x)| (name, x.to_bits())).collect();
    let best = checkpoint.best.as_ref().map(|(score, xs)| (score.to_bits(), all(xs)));
    format!(
        "{:?} {vectors:?} {numbers:?} {best:?} {} {:?}",
        all(theta),
        checkpoint.since_best,
        checkpoint.tried
    )
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
    assert!(message.contains("delete it") && message.contains("give another file"), "{message}");
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
    assert_eq!(refusal(&model, 5), "this is not a checkpoint of crfkit: give the checkpoint another path");
}

#[test]
fn a_fingerprint_tells_runs_apart() {
    let settings = Settings::default();
    let base = corpus(templates());
    let dev = |text: &str| {
        let sequences: Vec<Sequence> = columns(text).into_iter().map(Sequence::from).collect();
        TrainOptions {
            dev: Some(ChainDev::from_inputs(&base.domain, &sequences).unwrap()),
            ..TrainOptions::default()
        }
    };
    let gold = || dev("two NUM B-AMOUNT\nsugar NOUN B-FOOD\n");
    let fingerprint = |corpus: &ChainCorpus, settings: &Settings| {
        crfkit::checkpoint::fingerprint(corpus, settings, &TrainOptions::default())
    };
    let started = |start: TrainOptions<_>| crfkit::checkpoint::fingerprint(&base, &settings, &start);
    let mut other_label = base.clone();
    other_label.domain.labels[0].push('x');
    let mut other_data = base.clone();
    other_data.data.renumber(|l| l, |kind, id| (kind > 0 || id > 0).then_some(id), |g| *g);
    let mut other_gold_labels = base.clone();
    other_gold_labels.data.renumber(|l| l / 2, |_, id| Some(id), |g| *g);
    let mut other_names = base.clone();
    other_names.domain.alphabet.values.intern(b"another");
    let with = |change: fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        fingerprint(&base, &settings)
    };
    let all = [
        fingerprint(&base, &settings),
        started(TrainOptions { theta: vec![0.5], ..TrainOptions::default() }),
        started(TrainOptions { prior_mean: vec![0.5], ..TrainOptions::default() }),
        started(gold()),
        started(dev("two NUM B-AMOUNT\nsugar NOUN O\n")),
        started(dev("two NUM B-AMOUNT\nsugar NOUN unheard\n")),
        started(dev("two NUM B-AMOUNT\nsugar NOUN unseen\n")),
        fingerprint(&corpus(Source::Attributes), &settings),
        fingerprint(&other_label, &settings),
        fingerprint(&other_data, &settings),
        fingerprint(&other_gold_labels, &settings),
        fingerprint(&other_names, &settings),
        with(|s| s.seed = 2),
        with(|s| s.sigma = f64::INFINITY),
        with(|s| s.sigma_pairs = Some(f64::INFINITY)),
        with(|s| s.passes = Some(3)),
    ];
    assert_eq!(HashSet::from(all).len(), all.len(), "{all:?}");
    assert_eq!(all[0], fingerprint(&corpus(templates()), &settings));
    assert_eq!(all[3], started(gold()));
    let threads = TrainOptions { threads: 3, ..TrainOptions::default() };
    assert_eq!(all[0], started(threads), "threads change nothing");
}

/// The best weights so far become the model's without a further step, so they are checked like all others.
#[test]
fn best_weights_that_no_run_has_left_are_refused() {
    let settings = Settings { passes: Some(2), ..Settings::default() };
    let run = |best: Option<(f64, Vec<f64>)>| {
        let corpus = corpus(templates());
        let features = crfkit::train::features(&corpus, &settings);
        let state = State { theta: vec![0.0; features.dim()], ..State::default() };
        let resume =
            best.map(|best| Checkpoint { state, best: Some(best), since_best: 0, tried: Vec::new() });
        let start = TrainOptions { resume, ..TrainOptions::default() };
        crfkit::train::train(corpus, features, &settings, start, &mut ())
            .map(|trained| trained.model.weights.len())
    };
    let dim = run(None).unwrap();
    assert_eq!(run(Some((50.0, vec![0.5; dim]))).unwrap(), dim);
    for (best, said) in [
        ((50.0, vec![0.5; dim - 1]), "numbers instead of"),
        ((50.0, Vec::new()), "numbers instead of"),
        ((50.0, [vec![0.5; dim - 1], vec![f64::NAN]].concat()), "out of range"),
        ((f64::NAN, vec![0.5; dim]), "best score"),
    ] {
        let message = run(Some(best)).unwrap_err().to_string();
        assert!(message.contains(said) && message.contains("remove it"), "{message}");
    }
}
