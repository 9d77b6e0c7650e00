//! `crfkit convert`, and models of other toolkits in the other commands.

use crate::common;

use common::{crfkit, demo, failure, output, scratch};
use std::fs;
use std::path::PathBuf;

/// A stored model of another toolkit, or what goes with it.
fn stored(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crfkit/tests/models/foreign").join(name)
}

#[test]
fn a_model_of_crfsuite_goes_there_and_back() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let tag =
        |model: PathBuf| output(crfkit().arg("tag").arg("-m").arg(model).arg(stored("small.crfsuite.txt")));
    crfkit().arg("convert").arg(stored("small.crfsuite")).arg(at("own")).assert().success();
    crfkit().arg("convert").arg(at("own")).arg(at("back.crfsuite")).assert().success();
    assert!(fs::read(at("own")).unwrap().starts_with(b"crfkit\0"));
    assert!(fs::read(at("back.crfsuite")).unwrap().starts_with(b"lCRF"));
    let expected = tag(stored("small.crfsuite"));
    assert!(expected.contains("B-NP"), "{expected}");
    assert_eq!(tag(at("own")), expected);
    assert_eq!(tag(at("back.crfsuite")), expected);
    crfkit().arg("convert").arg(at("own")).arg(at("other")).args(["--to", "crfsuite"]).assert().success();
    assert_eq!(fs::read(at("other")).unwrap(), fs::read(at("back.crfsuite")).unwrap());
    let shown = output(crfkit().arg("inspect").arg(stored("small.crfsuite")));
    assert!(shown.contains("CRFsuite"), "{shown}");
}

#[test]
fn what_cannot_be_converted_is_said() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let convert = |from: PathBuf, to: PathBuf| failure(crfkit().arg("convert").arg(from).arg(to), 1);
    let message = convert(demo().join("model"), at("m.crfsuite"));
    assert!(message.contains("templates") && message.contains("train on attributes"), "{message}");
    assert!(!at("m.crfsuite").exists());
    fs::write(at("cut"), &fs::read(stored("small.crfsuite")).unwrap()[..1000]).unwrap();
    let message = convert(at("cut"), at("m"));
    assert!(message.contains("cut") && message.contains("damaged"), "{message}");
    fs::write(at("text"), "no model").unwrap();
    assert!(convert(at("text"), at("m")).contains("not a model"));
    let message = failure(crfkit().arg("convert").arg(at("text")).arg(at("text")), 2);
    assert!(message.contains("write over"), "{message}");
    assert!(!at("m").exists());
}
