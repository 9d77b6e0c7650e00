//! Temperatures: fitted to labelled data, stored in the model, and refused where they make no sense.

use crfkit::any::AnyModel;
use crfkit::chain::{ChainModel, Sequence};
use crfkit::model::Precision;
use crfkit::train::{Kind, Settings};
use crfkit::{Sequences, Trainer};

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
