//! `train --segments`: every verb on such models.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
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
fn every_verb_takes_a_chain_with_segments() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let (model, log) = (path("model"), path("log"));
    train(&model, &["--segments", "9", "--log", log.to_str().unwrap()]);
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
    assert!(!run("tag", &model, &["--confidence"], "test.tsv").is_empty());
    let inspected = output(crfkit().arg("inspect").arg(&model));
    assert!(inspected.contains("segments") && inspected.contains("of up to 9 tokens"), "{inspected}");
    assert!(inspected.lines().any(|line| line.contains("  length 1  B-")), "{inspected}");
    let dump = output(crfkit().args(["inspect", "--dump"]).arg(&model));
    let has = |start: &str| dump.lines().any(|line| line.starts_with(start));
    assert!(has("length\t") && dump.contains("S:text="), "{dump}");
    // A dump is a file of edits.
    fs::write(path("edits"), &dump).unwrap();
    let mut command = crfkit();
    command.arg("edit").arg("-m").arg(&model).arg(path("edits")).arg("-o").arg(path("edited"));
    output(&mut command);
    assert_eq!(output(crfkit().args(["inspect", "--dump"]).arg(path("edited"))), dump);
    let explained = run("explain", &model, &["--top", "100"], "test.tsv");
    assert!(explained.contains("S:text=") && explained.contains("  length "), "{explained}");
    assert!(!run("rank", &model, &[], "test.tsv").is_empty());
    assert!(!run("tag", &model, &["--at-most-once", "NAME"], "test.tsv").is_empty());
    output(crfkit().arg("report").arg(&log).arg("--model").arg(&model).arg("-o").arg(path("page.html")));
    // A plain model has other answers, and the two label together.
    let plain = path("plain");
    train(&plain, &[]);
    let mut both = crfkit();
    both.arg("tag").arg("-m").arg(&model).arg("-m").arg(&plain).arg(demo().join("test.tsv"));
    assert!(!output(&mut both).is_empty());
}

#[test]
fn it_resumes_and_repeats() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let arguments = ["--segments", "9", "--optimizer", "lbfgs", "--sigma", "2"];
    train(&path("whole"), &[&arguments[..], &["--passes", "9", "--threads", "2"]].concat());
    let checkpoint = path("state");
    let checkpoint = ["--checkpoint", checkpoint.to_str().unwrap()];
    train(&path("half"), &[&arguments[..], &["--passes", "4"], &checkpoint].concat());
    let again = [&arguments[..], &["--passes", "9", "--threads", "1"], &checkpoint].concat();
    train(&path("again"), &again);
    let read = |name: &str| fs::read(path(name)).unwrap();
    assert!(read("whole") == read("again"));
}

#[test]
fn what_does_not_go_together_is_an_error() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("lines.tpl"), "U:%x[0,0]\nS:%x[0,0]\nB\n").unwrap();
    let template = path("lines.tpl");
    let template = template.to_str().unwrap();
    for (arguments, code, why) in [
        (&["--segments", "0"][..], 2, "0"),
        (&["--segments", "2"], 1, "train with segments of up to"),
        (&["--segments", "9", "--order", "2"], 2, "--segments is for chains of order 1"),
        (&["--segments", "9", "--objective", "memm"], 2, "--objective memm does not support segments"),
        (&["--segments", "9", "--optimizer", "sdca"], 2, "--optimizer sdca does not support segments"),
        (&["--segments", "9", "--compute", "f32"], 2, "--compute f32 does not support segments"),
        (&["--segments", "9", "--graph", "skip-chain", "--skip", "same(0)"], 2, "--segments"),
        (&["--template", template], 1, "template file:2: a line of segments"),
        (
            &["--template", template, "--graph", "skip-chain", "--skip", "same(0)"],
            1,
            "template file:2: a line of segments",
        ),
    ] {
        let mut command = crfkit();
        command.arg("train").arg(demo().join("small.tsv")).arg("-m").arg(path("none")).args(arguments);
        let message = failure(&mut command, code);
        assert!(message.contains(why), "{arguments:?}: {message}");
    }
}
