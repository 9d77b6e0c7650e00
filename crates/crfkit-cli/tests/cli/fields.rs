//! The fields of CoNLL-U that a model was trained on, which it keeps.

use crate::common;

use common::{crfkit, demo, failure, output, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The demo's columns as CoNLL-U: the labels are XPOS, and UPOS misleads.
fn as_conllu(columns: &str) -> String {
    let mut text = String::new();
    for sequence in columns.split_terminator("\n\n") {
        for (number, line) in sequence.lines().enumerate() {
            let (word, label) = line.split_once('\t').unwrap();
            let (lemma, upos) = (word.to_lowercase(), if number % 2 == 0 { "X" } else { "Y" });
            text += &format!("{}\t{word}\t{lemma}\t{upos}\t{label}\t_\t0\troot\t_\t2\n", number + 1);
        }
        text += "\n";
    }
    text
}

/// The same with three columns of the fields form, lemma and XPOS.
fn as_columns(conllu: &str) -> String {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields.len() < 10 { "\n".into() } else { format!("{}\t{}\t{}\n", fields[1], fields[2], fields[4]) }
    };
    conllu.lines().map(row).collect()
}

struct Data {
    directory: TempDir,
}

impl Data {
    fn new() -> Self {
        let directory = scratch();
        for (name, from) in [("train", "small.tsv"), ("test", "test.tsv")] {
            let text = as_conllu(&fs::read_to_string(demo().join(from)).unwrap());
            let text: String = text.split_inclusive("\n\n").take(60).collect();
            fs::write(directory.path().join(format!("{name}.tsv")), as_columns(&text)).unwrap();
            fs::write(directory.path().join(format!("{name}.conllu")), text).unwrap();
        }
        Data { directory }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn train(&self, model: &str, data: &str, arguments: &[&str]) -> PathBuf {
        let data = self.at(data);
        crfkit()
            .args(["train", "--quiet", "-m"])
            .arg(self.at(model))
            .args(arguments)
            .arg(data)
            .assert()
            .success();
        self.at(model)
    }
}

fn run(verb: &[&str], model: &Path, arguments: &[&str], file: &Path) -> String {
    output(crfkit().args(verb).arg("-m").arg(model).args(arguments).arg(file))
}

fn refused(verb: &[&str], model: &Path, arguments: &[&str], file: &Path) -> String {
    failure(crfkit().args(verb).arg("-m").arg(model).args(arguments).arg(file), 1)
}

const FIELDS: [&str; 2] = ["--fields", "form,lemma,xpos"];

/// Without the flag, a model reads the fields that it was trained on, whatever its kind and the command.
#[test]
fn a_model_keeps_its_fields() {
    let data = Data::new();
    let test = data.at("test.conllu");
    let passes = ["--optimizer", "lbfgs", "--passes", "3"];
    for (name, arguments) in [
        ("chain", &passes[..]),
        ("stream", &["--stream", "--optimizer", "psa"]),
        ("counts", &["--method", "ep1"]),
        ("skip", &["--graph", "skip-chain", "--skip", "same(0)", "--optimizer", "lbfgs", "--passes", "3"]),
    ] {
        let model = data.train(name, "train.conllu", &[&FIELDS[..], arguments].concat());
        let plain = data.train("plain", "train.tsv", arguments);
        for verb in ["tag", "eval", "rank"] {
            let found = run(&[verb], &model, &[], &test);
            assert!(found == run(&[verb], &model, &FIELDS, &test), "{name} {verb}");
            // The rows of columns are those of these fields.
            assert!(found == run(&[verb], &plain, &FIELDS, &test), "{name} {verb}");
            let columns = run(&[verb], &plain, &[], &data.at("test.tsv"));
            assert!(found == columns.replace("test.tsv", "test.conllu"), "{name} {verb}");
            let message = refused(&[verb], &model, &["--fields", "form,upos"], &test);
            assert!(
                message.contains("names 2 fields, but the model was trained on 3: form,lemma,xpos"),
                "{message}"
            );
        }
        // As many other fields are read: the flag wins.
        let other = run(&["tag"], &model, &["--fields", "form,form,upos"], &test);
        assert!(other != run(&["tag"], &model, &[], &test), "{name}");
        let shown = output(crfkit().arg("inspect").arg(&model));
        assert!(shown.contains("form,lemma,xpos"), "{shown}");
    }
    let chain = data.at("chain");
    for verb in [&["explain"][..], &["eval", "--calibration"]] {
        assert_eq!(run(verb, &chain, &[], &test), run(verb, &chain, &FIELDS, &test), "{verb:?}");
    }
    // So do two models that label together.
    let together = |arguments: &[&str]| {
        output(crfkit().args(["tag", "-m"]).arg(&chain).arg("-m").arg(&chain).args(arguments).arg(&test))
    };
    assert_eq!(together(&[]), together(&FIELDS));
    let factorial = ["--graph", "factorial", "--label-column", "2,3", "--fields", "form,lemma,upos,xpos"];
    let factorial = data.train("factorial", "train.conllu", &[&factorial[..], &passes].concat());
    let named = ["--fields", "form,lemma,upos,xpos"];
    for verb in ["tag", "eval"] {
        assert_eq!(
            run(&[verb], &factorial, &[], &test),
            run(&[verb], &factorial, &named, &test),
            "factorial {verb}"
        );
        refused(&[verb], &factorial, &FIELDS, &test);
    }
}

/// A model that does not say which fields its three columns were needs the flag: two others would be read in silence.
#[test]
fn columns_without_fields_need_the_flag() {
    let data = Data::new();
    let passes = ["--optimizer", "lbfgs", "--passes", "3"];
    let (plain, test) = (data.train("plain", "train.tsv", &passes), data.at("test.conllu"));
    for verb in ["tag", "eval"] {
        let message = refused(&[verb], &plain, &[], &test);
        assert!(
            message.contains("was trained on 3 columns") && message.contains("name them with --fields"),
            "{message}"
        );
    }
    let found = run(&["tag"], &plain, &FIELDS, &test);
    assert_eq!(found, run(&["tag"], &plain, &[], &data.at("test.tsv")));
    // Without the label: data that has none.
    run(&["tag"], &plain, &["--fields", "form,lemma"], &test);
}

/// The default fields are not stored, so that such a model is the same as one trained on the columns; neither are weights.
#[test]
fn what_needs_no_fields_stores_none() {
    let data = Data::new();
    let passes = ["--optimizer", "lbfgs", "--passes", "3"];
    let bytes = |arguments: &[&str]| {
        fs::read(data.train("model", "train.conllu", &[arguments, &passes].concat())).unwrap()
    };
    let usual = bytes(&[]);
    assert!(usual == bytes(&["--fields", "form,upos"]));
    // Weights of 2 are no fields of the model either.
    let weighted = bytes(&["--fields", "form,misc,upos", "--weight-column", "1", "--sigma", "1"]);
    assert_eq!(weighted.len(), bytes(&["--sigma", "1"]).len());
    // A column of weights is none of the model's, and data that is labelled needs none.
    let weights = ["--fields", "form,lemma,misc,xpos", "--weight-column", "2"];
    let weighted = data.train("weighted", "train.conllu", &[&weights[..], &passes].concat());
    let test = data.at("test.conllu");
    let scores = run(&["eval"], &weighted, &[], &test);
    assert_eq!(scores, run(&["eval"], &weighted, &FIELDS, &test));
    assert_eq!(scores, run(&["eval"], &weighted, &weights, &test));
    let message = refused(&["eval"], &weighted, &["--weight-column", "1"], &test);
    assert!(message.contains("none is a weight"), "{message}");
}
