//! Empirical training as software: counting, adding counts, pruning, files, held-out data, refusals.

use crate::corpora;

use corpora::{made_up_columns, models::columns};
use crfkit::chain::ChainModel;
use crfkit::empirical::spelling::spelling;
use crfkit::empirical::{
    Counts, EmpiricalMethod, EmpiricalModel, EmpiricalSettings, EmpiricalTagger, HeldOut, PairKind, PairWork,
    UnknownWords, train,
};
use std::sync::Arc;

/// Word and label of ingredient lines; the column of lengths is not looked at.
fn counted(text: &str, pairs: PairKind) -> Counts {
    let mut counts = Counts::new(pairs);
    columns(text).iter().for_each(|sequence| counts.add_columns(sequence, 2).unwrap());
    counts
}

fn held_out(text: &str) -> HeldOut {
    let mut held_out = HeldOut::default();
    columns(text).iter().for_each(|sequence| held_out.add_columns(sequence, 2).unwrap());
    held_out
}

/// Every method with every kind of pairs.
fn all_settings() -> Vec<EmpiricalSettings> {
    let mut all = Vec::new();
    for method in [EmpiricalMethod::Ep1, EmpiricalMethod::Ep2] {
        for pairs in [PairKind::Tags, PairKind::Lexical] {
            all.push(EmpiricalSettings { method, pairs, ..EmpiricalSettings::default() });
            all.push(EmpiricalSettings {
                method,
                pairs,
                smoothing: 0.1 + 0.2,
                min_count: 3,
                ..EmpiricalSettings::default()
            });
        }
    }
    all
}

fn model(counts: &Counts, settings: &EmpiricalSettings) -> EmpiricalModel {
    train(counts, settings, None).unwrap().model
}

/// What a model says about sequences with known, rare and unknown words.
fn answers(model: EmpiricalModel) -> Vec<(Vec<u32>, Vec<f64>)> {
    let labels = model.labels().len() as u32;
    let mut tagger = EmpiricalTagger::new(Arc::new(model));
    let sequences: [&[&str]; 5] = [
        &["two", "cups", "sugar"],
        &["Seven", "boxes", "of", "red", "onion"],
        &["sliced"],
        &[],
        &["7-ing", "xyz", "xyz", "one", "xyz"],
    ];
    let ask = |words: &&[&str]| {
        tagger.load_words(words.iter().copied());
        let mut numbers = vec![tagger.log_z()];
        for t in 0..tagger.len() {
            numbers.extend((0..labels).map(|label| tagger.marginal(t, label)));
        }
        (tagger.viterbi().to_vec(), numbers)
    };
    sequences.iter().map(ask).collect()
}

#[test]
fn counts_of_parts_add_up_to_those_of_the_whole() {
    let text = made_up_columns(1, 60);
    let (first, second) = text.split_at(text[text.len() / 2..].find("\n\n").unwrap() + text.len() / 2 + 2);
    for settings in all_settings() {
        let whole = counted(&text, settings.pairs);
        let [a, b] = [first, second].map(|part| counted(part, settings.pairs));
        let expected = model(&whole, &settings).to_bytes().unwrap();
        for (one, other) in [(&a, &b), (&b, &a)] {
            let mut sum = one.clone();
            sum.merge(other).unwrap();
            assert_eq!((sum.tokens(), sum.words()), (whole.tokens(), whole.words()));
            assert_eq!(model(&sum, &settings).to_bytes().unwrap(), expected, "{settings:?}");
        }
    }
    let mixed =
        counted(first, PairKind::Tags).merge(&counted(second, PairKind::Lexical)).unwrap_err().to_string();
    assert!(mixed.contains("with and without word pairs"), "{mixed}");
}

#[test]
fn a_model_is_updated_with_new_data() {
    let (old, new) = (made_up_columns(2, 30), made_up_columns(3, 30));
    let settings = EmpiricalSettings::default();
    let mut counts = model(&counted(&old, settings.pairs), &settings).counts().clone();
    columns(&new).iter().for_each(|sequence| counts.add_columns(sequence, 2).unwrap());
    let together = model(&counted(&format!("{old}{new}"), settings.pairs), &settings);
    assert_eq!(model(&counts, &settings).to_bytes().unwrap(), together.to_bytes().unwrap());
}

#[test]
fn pruned_words_live_on_in_their_spellings() {
    let mut counts = Counts::new(PairKind::Tags);
    for _ in 0..3 {
        counts.add([("the", "D"), ("cat", "N")]);
    }
    counts.add([("the", "D"), ("walking", "V")]);
    let settings = EmpiricalSettings { min_count: 2, ..EmpiricalSettings::default() };
    let pruned = model(&counts, &settings);
    assert!(pruned.knows("cat") && !pruned.knows("walking"));
    assert_eq!((pruned.counts().words(), pruned.counts().tokens()), (2, 8));
    let mut psi = [0.0; 3];
    pruned.log_psi(pruned.word("barking"), &mut psi);
    assert!(psi[2].abs() < 1e-12, "all words in -ing were verbs: {psi:?}");
    assert_ne!(spelling("barking"), spelling("bark"));
    pruned.log_psi(pruned.word("bark"), &mut psi);
    assert!((psi[0] - 0.5f64.ln()).abs() < 1e-12, "no feature was seen, so P̃(y): {psi:?}");
    let mut phi = [0.0; 3 * 8];
    pruned.log_phi(pruned.word("the"), pruned.word("walking"), &mut phi, &mut PairWork::default());
    assert!((phi[2] - (0.25f64 / (0.5 * 0.125)).ln()).abs() < 1e-12, "pairs keep their labels: {phi:?}");
}

#[test]
fn estimates_of_unknown_words_are_the_papers() {
    let mut counts = Counts::new(PairKind::Tags);
    counts.add([("Dogs", "N"), ("running", "V"), ("Ana", "P"), ("runs", "V")]);
    let psi = |unknown| {
        let model = model(&counts, &EmpiricalSettings { unknown, ..EmpiricalSettings::default() });
        let mut psi = [0.0; 3];
        model.log_psi(model.word("Cats"), &mut psi);
        psi.map(f64::exp)
    };
    let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    // capital: N, P; -s: N, V. Their mean, and P̃(y).
    let (mean, prior) = ([0.5, 0.25, 0.25], [0.25, 0.25, 0.5]);
    assert!(close(psi(UnknownWords::Scale(1.0)), mean));
    assert!(close(psi(UnknownWords::Scale(3.0)), mean.map(|p| 3.0 * p)));
    assert!(close(psi(UnknownWords::Power(2.0)), [4.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0]));
    assert!(close(psi(UnknownWords::Mix(0.25)), [0, 1, 2].map(|y| 0.25 * mean[y] + 0.75 * prior[y])));
    // Smoothing lends a known word what its spelling says: -ing was V only, so nothing new; Ana is a capital.
    let model = model(&counts, &EmpiricalSettings { smoothing: 1.0, ..EmpiricalSettings::default() });
    let mut psi = [0.0; 3];
    model.log_psi(model.word("Ana"), &mut psi);
    assert!(close(psi.map(f64::exp), [0.25, 0.75, 0.0]), "{psi:?}");
}

#[test]
fn files_come_back_as_they_were() {
    let text = made_up_columns(4, 80);
    for settings in all_settings() {
        let model = model(&counted(&text, settings.pairs), &settings);
        let bytes = model.to_bytes().unwrap();
        let message = ChainModel::from_bytes(&bytes).unwrap_err().to_string();
        assert!(message.contains("another kind (empirical chain)"), "{message}");
        let again = EmpiricalModel::from_bytes(&bytes).unwrap();
        assert_eq!(again.settings(), &settings);
        assert_eq!(again.to_bytes().unwrap(), bytes);
        assert_eq!(answers(again), answers(model), "{settings:?}");
    }
}

#[test]
fn damaged_files_are_refused() {
    let text = made_up_columns(4, 20);
    let settings = EmpiricalSettings {
        pairs: PairKind::Lexical,
        method: EmpiricalMethod::Ep2,
        min_count: 2,
        ..EmpiricalSettings::default()
    };
    let bytes = model(&counted(&text, settings.pairs), &settings).to_bytes().unwrap();
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(EmpiricalModel::from_bytes(&damaged).is_err(), "byte {at}");
    }
    for length in [0, 7, 8, 71, bytes.len() / 2, bytes.len() - 1] {
        assert!(EmpiricalModel::from_bytes(&bytes[..length]).is_err());
    }
    // A right checksum over wrong content: no panic, and no model that does not hold together.
    let end = bytes.len() - 8;
    for at in (64..end).step_by(13) {
        let mut forged = bytes.clone();
        forged[at] ^= 0x05;
        let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..end]);
        forged[end..].copy_from_slice(&checksum.to_le_bytes());
        if let Ok(model) = EmpiricalModel::from_bytes(&forged) {
            assert!(answers(model).iter().all(|(_, numbers)| numbers.iter().all(|x| x.is_finite())));
        }
    }
}

#[test]
fn held_out_data_choose_what_is_done_about_unknown_words() {
    // Words in -s were N four times of five. With a large exponent that decides alone, otherwise neighbours have their say.
    let mut counts = Counts::new(PairKind::Tags);
    for k in 0..20 {
        let (dogs, runs) = (format!("dog{k}s"), format!("run{k}s"));
        counts.add([("the", "D"), (dogs.as_str(), "N"), ("must", "M"), ("go", "V")]);
        if k % 4 == 0 {
            counts.add([("must", "M"), (runs.as_str(), "V"), ("the", "D"), ("dog", "N")]);
        }
    }
    let mut test = HeldOut::default();
    test.add([("the", "D"), ("cats", "N"), ("must", "M"), ("naps", "V")]);
    let settings = EmpiricalSettings { unknown: UnknownWords::Power(20.0), ..EmpiricalSettings::default() };
    let trained = train(&counts, &settings, Some(&test)).unwrap();
    assert_eq!(trained.trials[0].unknown, settings.unknown);
    let best = trained.trials.iter().map(|trial| trial.accuracy).fold(0.0, f64::max);
    assert!(best > trained.trials[0].accuracy, "{:?}", trained.trials);
    let chosen = trained.trials.iter().find(|trial| trial.accuracy == best).unwrap();
    assert_eq!(trained.model.settings().unknown, chosen.unknown, "the first of the best");
    let evaluation = test.evaluate(&mut EmpiricalTagger::new(Arc::new(trained.model)));
    assert_eq!(evaluation.scores().accuracy, best);
    assert_eq!(evaluation.scores().unknown_accuracy, Some(100.0));
}

#[test]
fn made_up_text_is_labelled_well() {
    let (text, test) = (made_up_columns(5, 400), held_out(&made_up_columns(6, 200)));
    for settings in all_settings() {
        let model = model(&counted(&text, settings.pairs), &settings);
        let scores = test.evaluate(&mut EmpiricalTagger::new(Arc::new(model))).scores();
        assert!(scores.accuracy > 80.0, "{settings:?}: {scores:?}");
    }
}

#[test]
fn mistakes_are_refused_with_their_remedy() {
    let refusal = |counts: &Counts, settings: EmpiricalSettings| {
        train(counts, &settings, None).unwrap_err().to_string()
    };
    let counts = counted(&made_up_columns(1, 5), PairKind::Tags);
    assert!(refusal(&Counts::new(PairKind::Tags), EmpiricalSettings::default()).contains("no token"));
    let lexical = EmpiricalSettings { pairs: PairKind::Lexical, ..EmpiricalSettings::default() };
    assert!(refusal(&counts, lexical).contains("another kind of pairs"));
    for (settings, word) in [
        (EmpiricalSettings { smoothing: -1.0, ..EmpiricalSettings::default() }, "smoothing"),
        (EmpiricalSettings { smoothing: f64::NAN, ..EmpiricalSettings::default() }, "smoothing"),
        (EmpiricalSettings { floor: 1.0, ..EmpiricalSettings::default() }, "floor"),
        (EmpiricalSettings { sigma: 0.0, ..EmpiricalSettings::default() }, "sigma"),
        (EmpiricalSettings { unknown: UnknownWords::Scale(0.0), ..EmpiricalSettings::default() }, "factor"),
        (
            EmpiricalSettings { unknown: UnknownWords::Power(-1.0), ..EmpiricalSettings::default() },
            "exponent",
        ),
        (EmpiricalSettings { unknown: UnknownWords::Mix(1.5), ..EmpiricalSettings::default() }, "mixing"),
    ] {
        assert!(refusal(&counts, settings).contains(word), "{word}");
    }
    let empty = train(&counts, &EmpiricalSettings::default(), Some(&HeldOut::default())).unwrap_err();
    assert!(empty.to_string().contains("no sequence"));
    let narrow = &columns("word\nother\n")[0];
    let message = Counts::new(PairKind::Tags).add_columns(narrow, 0).unwrap_err().to_string();
    assert!(message.contains("columns:1: 1 column"), "{message}");
    assert!("ep3".parse::<EmpiricalMethod>().unwrap_err().to_string().contains("ep1 or ep2"));
    assert!("words".parse::<PairKind>().unwrap_err().to_string().contains("tags or lexical"));
}
