//! Temperatures: fitted to labelled data, stored in the model, and refused where they make no sense.

use crfkit::any::AnyModel;
use crfkit::chain::{ChainModel, Sequence};
use crfkit::model::Precision;
use crfkit::tag::Tagger;
use crfkit::train::{Kind, Settings};
use crfkit::{Sequences, Trainer};
use std::sync::Arc;

const TRAINING: &str = "a\tX\nb\tY\n\nb\tX\na\tY\n\na\tX\na\tX\n\nb\tY\nb\tY\n\n";
const DEV: &str = "a\tX\nb\tY\n\nb\tX\nb\tY\n\na\tY\na\tX\n\n";

fn model() -> ChainModel {
    let model = Trainer::new()
        .sigma(10.0)
        .train(Sequences::read_columns(TRAINING.as_bytes(), "text").unwrap())
        .unwrap();
    let AnyModel::Chain(model) = model.any().clone() else { unreachable!("it is a chain") };
    (*model).clone()
}

fn sequences(text: &str) -> Vec<Sequence> {
    let rows = |text: &str| {
        Sequence::from_rows(text.lines().map(|line| line.split('\t').collect::<Vec<_>>())).unwrap()
    };
    text.trim_end().split("\n\n").map(rows).collect()
}

/// A model with all weights three times as large is the same model at three times the temperature.
#[test]
fn the_temperature_makes_up_for_the_size_of_weights() {
    let (model, dev) = (model(), sequences(DEV));
    let fitted = model.calibrate(&dev).unwrap();
    assert!(fitted.losses[1] < fitted.losses[0] && fitted.temperature > 1.0, "{fitted:?}");
    assert_eq!((fitted.sequences, fitted.left_out), (3, 0));
    let mut larger = model.clone();
    larger.weights = model.weights.iter().map(|w| 3.0 * w).collect::<Vec<f64>>().into();
    let again = larger.calibrate(&dev).unwrap();
    assert!((again.temperature / fitted.temperature - 3.0).abs() < 1e-2, "{again:?}");
    // A second fit changes nothing.
    let same = fitted.model.calibrate(&dev).unwrap();
    assert!((same.temperature - fitted.temperature).abs() < 1e-9);
}

#[test]
fn the_file_keeps_the_temperature() {
    let plain = model().to_bytes(Precision::F64).unwrap();
    let has = |bytes: &[u8]| bytes.windows(11).any(|word| word == b"temperature");
    assert!(!has(&plain), "models without a temperature are stored as before");
    let fitted = model().calibrate(&sequences(DEV)).unwrap();
    let bytes = fitted.model.to_bytes(Precision::F64).unwrap();
    assert!(has(&bytes));
    let read = ChainModel::from_bytes(&bytes).unwrap();
    assert_eq!(read.settings.temperature, Some(fitted.temperature));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let settings = Settings { temperature: Some(wrong), ..Settings::default() };
        assert!(settings.check(Kind::Chain).unwrap_err().to_string().contains("temperature"), "{wrong}");
    }
    let settings = Settings { temperature: Some(2.0), ..Settings::for_kind(Kind::Linked) };
    assert!(settings.check(Kind::Linked).unwrap_err().to_string().contains("for chains only"));
}

/// Unknown labels are left out, and nothing else is not enough.
#[test]
fn labels_must_be_known() {
    let dev = sequences(&format!("{DEV}a\tNEW\n\n"));
    let fitted = model().calibrate(&dev).unwrap();
    assert_eq!((fitted.sequences, fitted.left_out), (3, 1));
    for nothing in [&dev[3..], &[]] {
        let message = model().calibrate(nothing).unwrap_err().to_string();
        assert!(message.contains("no sequence has labels that the model can give"), "{message}");
    }
}

/// With partial labels, the loss is −ln P of what is known, by enumeration, and its minimum is found.
#[test]
fn what_is_known_of_labels_is_enough() {
    let (model, text) =
        (model(), "a\tX\nb\t?\nb\tY|X\na\tY|NEW\n\nb\t?\nb\tX|X\n\na\tX\na\tX\n\na\t?\n\na\tNEW\nb\t?\n\n");
    let dev = sequences(text);
    let fitted = model.calibrate_partial(&dev).unwrap();
    assert_eq!(
        (fitted.sequences, fitted.left_out),
        (3, 2),
        "nothing is known of one, and one has an unknown label"
    );
    let possible: [&[&[u32]]; 3] =
        [&[&[0, 0, 0, 1], &[0, 0, 1, 1], &[0, 1, 0, 1], &[0, 1, 1, 1]], &[&[0, 0], &[1, 0]], &[&[0, 0]]];
    let loss = |temperature: f64| {
        let mut tagger = Tagger::new(Arc::new(model.with_temperature(Some(temperature))));
        let of = |(sequence, labellings): (&Sequence, &&[&[u32]])| -> f64 {
            tagger.load(sequence).unwrap();
            -labellings.iter().map(|labels| tagger.log_probability(labels).exp()).sum::<f64>().ln()
        };
        dev.iter().zip(&possible).map(of).sum::<f64>() / 3.0
    };
    assert!((fitted.losses[0] - loss(1.0)).abs() < 1e-9, "{} against {}", fitted.losses[0], loss(1.0));
    assert!((fitted.losses[1] - loss(fitted.temperature)).abs() < 1e-9);
    for k in -100..=100 {
        assert!(loss((f64::from(k) / 20.0).exp()) >= fitted.losses[1] - 1e-6, "{k}");
    }
    // Complete labels mean the same either way.
    let [complete, partial] = [ChainModel::calibrate, ChainModel::calibrate_partial]
        .map(|fit| fit(&model, &sequences(DEV)).unwrap().temperature);
    assert_eq!(complete, partial);
}
