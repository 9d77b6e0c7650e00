//! Every released version of the model file stays readable, and says the same.

use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::text::{Encoding, Lines};
use crfkit::grid::GridModel;
use crfkit::linked::LinkedModel;
use crfkit::model::dump::read_dump;
use crfkit::model::{Model, Names};
use crfkit::tag::Tagger;
use crfkit::typed::TypedModel;
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

/// Models of graphs say the same by name.
#[test]
fn old_models_of_graphs_are_read_and_have_the_same_weights() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let read = |kind: &str| std::fs::read(folder.join(format!("v1.{kind}"))).unwrap();
    let check = |kind: &str, names: Names| {
        let expected = read_dump(&read(&format!("{kind}.tsv"))[..], kind).unwrap();
        assert_eq!(expected.weights, names.each().collect::<Vec<_>>(), "{kind}");
        assert!(expected.weights.len() > 5);
    };
    check("linked", LinkedModel::from_bytes(&read("linked")).unwrap().names());
    check("typed", TypedModel::from_bytes(&read("typed")).unwrap().names());
    check("grid", GridModel::from_bytes(&read("grid")).unwrap().names());
}
