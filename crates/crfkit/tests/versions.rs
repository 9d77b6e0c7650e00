//! Every released version of the model file stays readable, and says the same.

use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::text::{Encoding, Lines};
use crfkit::model::Model;
use crfkit::tag::Tagger;
use std::path::Path;
use std::sync::Arc;

#[test]
fn old_models_are_read_and_say_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut versions = 0;
    for file in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "crfkit") {
            check(&file);
            versions += 1;
        }
    }
    assert_eq!(versions, 2, "one file for every version that was ever written");
}

/// Tags the first column of the file's expected output and compares label and probability, its last two columns.
fn check(file: &Path) {
    let model = Arc::new(Model::from_bytes(&std::fs::read(file).unwrap()).unwrap());
    let mut tagger = Tagger::new(model.clone());
    let expected = std::fs::File::open(file.with_extension("tagged")).unwrap();
    let mut reader = ColumnReader::new(Lines::new(expected, "expected", Encoding::Utf8));
    let mut sequence = Columns::default();
    let mut tokens = 0;
    while reader.read(&mut sequence).unwrap() {
        tagger.columns(&sequence).unwrap();
        let labels = tagger.viterbi().to_vec();
        for (t, &label) in labels.iter().enumerate() {
            let last = sequence.columns() - 1;
            assert_eq!(model.labels[label as usize], sequence.field(t, last - 1), "{}", sequence.place(t));
            let probability: f64 = sequence.field(t, last).parse().unwrap();
            assert!((tagger.marginal(t, label) - probability).abs() < 2e-6, "{}", sequence.place(t));
            tokens += 1;
        }
    }
    assert!(tokens > 10);
}
