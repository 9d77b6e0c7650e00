//! `train --order 2`, `--transitions` and `--constraint`: every verb on such models.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, page_data, scratch};
use std::fs;
use std::path::Path;

fn train(model: &Path, arguments: &[&str]) {
    let mut command = crfkit();
    command.arg("train").arg(demo().join("small.tsv")).arg("-m").arg(model).arg("--quiet").args(arguments);
    output(&mut command);
}

fn run(verb: &str, model: &Path, arguments: &[&str], file: &str) -> String {
    let mut command = crfkit();
    command.arg(verb).arg("-m").arg(model).args(arguments).arg(demo().join(file));
    output(&mut command)
}

#[test]
fn every_verb_takes_a_second_order_chain() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let model = path("model");
    let log = path("log");
    train(&model, &["--order", "2", "--log", log.to_str().unwrap()]);
    let scores = &json_lines(&run("eval", &model, &["--json"], "test.tsv"))[0];
    assert!(scores["accuracy"].as_f64().unwrap() > 80.0, "{scores}");
    // The answers agree with each other.
    let layout = ["--output", "json", "--marginals=all", "--probability", "--nbest", "3"];
    for object in json_lines(&run("tag", &model, &layout, "test.tsv")) {
        assert_eq!(object["labels"], object["nbest"][0]["labels"], "{object}");
        assert_eq!(object["probability"], object["nbest"][0]["probability"]);
        for row in object["marginals"].as_array().unwrap() {
            let sum: f64 = row.as_object().unwrap().values().map(|p| p.as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{row}");
        }
    }
    let inspected = output(crfkit().arg("inspect").arg(&model));
    assert!(inspected.contains("label pairs") && inspected.contains("order"), "{inspected}");
    let dump = output(crfkit().args(["inspect", "--dump"]).arg(&model));
    assert!(dump.lines().any(|line| line.starts_with("triple\t") && line.split('\t').count() == 5), "{dump}");
    // A dump is a file of edits.
    fs::write(path("edits"), &dump).unwrap();
    let mut command = crfkit();
    command.arg("edit").arg("-m").arg(&model).arg(path("edits")).arg("-o").arg(path("edited"));
    output(&mut command);
    assert_eq!(output(crfkit().args(["inspect", "--dump"]).arg(path("edited"))), dump);
    assert!(run("explain", &model, &[], "test.tsv").contains("triple"));
    assert!(!run("rank", &model, &[], "test.tsv").is_empty());
    let page = path("page.html");
    output(crfkit().arg("report").arg(&log).arg("--model").arg(&model).arg("-o").arg(&page));
    assert!(page_data(&page).to_string().contains("transitions"));
    // The first-order model has other answers, and the two label together.
    let first = path("first");
    train(&first, &["--order", "1"]);
    let mut both = crfkit();
    both.arg("tag").arg("-m").arg(&model).arg("-m").arg(&first).arg(demo().join("test.tsv"));
    assert!(!output(&mut both).is_empty());
}

#[test]
fn it_resumes_and_repeats() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let arguments = ["--order", "2", "--optimizer", "lbfgs", "--sigma", "2"];
    train(&path("whole"), &[&arguments[..], &["--passes", "12"]].concat());
    let checkpoint = path("state");
    let checkpoint = ["--checkpoint", checkpoint.to_str().unwrap()];
    train(&path("half"), &[&arguments[..], &["--passes", "5"], &checkpoint].concat());
    let mut command = crfkit();
    command
        .env("CRFKIT_CHECKPOINT_SECONDS", "0")
        .arg("train")
        .arg(demo().join("small.tsv"))
        .arg("-m")
        .arg(path("again"));
    output(command.args(arguments).args(["--passes", "12", "--threads", "1", "--quiet"]).args(checkpoint));
    let read = |name: &str| fs::read(path(name)).unwrap();
    assert!(read("whole") == read("again"));
}

#[test]
fn training_keeps_to_a_constraint() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    train(&path("held"), &["--constraint", "iob2"]);
    let held = run(
        "tag",
        &path("held"),
        &["--constraint", "none", "--marginals=all", "--output", "json"],
        "test.tsv",
    );
    assert!(json_lines(&held).iter().all(|object| object["marginals"][0]["I-NAME"] == 0.0));
    fs::write(path("rules"), "forbid begin I-*\nforbid B-QTY end\n").unwrap();
    let text = fs::read_to_string(demo().join("small.tsv")).unwrap();
    fs::write(path("broken"), format!("{text}flour\tO\nsalt\tI-NAME\n\n")).unwrap();
    let mut command = crfkit();
    command.arg("train").arg(path("broken")).arg("-m").arg(path("none")).args(["--constraint", "iob2"]);
    let message = failure(&mut command, 1);
    assert!(message.contains("broken:") && message.contains("`I-NAME` follows `O` at token 2"), "{message}");
    let mut command = crfkit();
    command.arg("train").arg(path("broken")).arg("-m").arg(path("none")).arg("--quiet");
    command.arg("--constraint").arg(path("rules"));
    output(&mut command);
    for (arguments, why) in [
        (&["--order", "3"][..], "3"),
        (&["--order", "2", "--objective", "piecewise"], "--objective piecewise is for chains of order 1"),
        (&["--order", "2", "--optimizer", "sdca"], "--optimizer sdca is for chains of order 1"),
        (&["--order", "2", "--compute", "f32"], "--compute f32 is for chains of order 1"),
        (&["--order", "2", "--graph", "skip-chain", "--skip", "same(0)"], "--order"),
    ] {
        let mut command = crfkit();
        command.arg("train").arg(demo().join("small.tsv")).arg("-m").arg(path("none")).args(arguments);
        let message = failure(&mut command, 2);
        assert!(message.contains(why), "{message}");
    }
}
