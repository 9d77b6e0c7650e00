//! Weights of sequences and of labels.

use crate::common;

use common::{crfkit, failure, output, scratch};
use std::fs;

/// A column of weights, a member of JSON lines and repeated sequences give the same objective; the column is no feature.
#[test]
fn weights_come_by_every_door() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let (first, second) = ("a\tX\nb\tY\n", "b\tX\nc\tY\n");
    fs::write(path("twice.tsv"), format!("{first}\n{first}\n{second}\n")).unwrap();
    let heavy = first.replace('\n', "\t2\n") + "\n" + &second.replace('\n', "\t1\n") + "\nz\tQ\t0\n\n";
    fs::write(path("column.tsv"), heavy).unwrap();
    let line = |a: &str, b: &str, weight: u32| {
        format!("{{\"tokens\": [\"{a}\", \"{b}\"], \"labels\": [\"X\", \"Y\"], \"weight\": {weight}}}\n")
    };
    fs::write(path("lines.jsonl"), line("a", "b", 2) + &line("b", "c", 1)).unwrap();
    fs::write(path("labels.tsv"), "a\tX\nb\tY\n\na\tX\nb\tY\n\n").unwrap();
    let train = |data: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command
            .arg("train")
            .arg(path(data))
            .args(["--optimizer", "lbfgs", "-m"])
            .arg(path("model"))
            .args(arguments);
        command
    };
    let objective = |data: &str, arguments: &[&str]| {
        let run = train(data, arguments).assert().success().get_output().stderr.clone();
        let text = String::from_utf8(run).unwrap();
        text.split("objective ").last().unwrap().split(' ').next().unwrap().to_owned()
    };
    let twice = objective("twice.tsv", &[]);
    assert_eq!(objective("column.tsv", &["--weight-column", "-1"]), twice);
    let inspected = output(crfkit().arg("inspect").arg(path("model")));
    assert!(!inspected.contains("Q"), "a sequence of weight 0 is left out: {inspected}");
    output(
        crfkit()
            .arg("eval")
            .arg("-m")
            .arg(path("model"))
            .arg(path("column.tsv"))
            .args(["--weight-column", "2"]),
    );
    assert_eq!(objective("lines.jsonl", &[]), twice);
    assert_ne!(objective("labels.tsv", &["--label-weight", "Y=2"]), objective("labels.tsv", &[]));
    for (data, arguments, status, message) in [
        ("column.tsv", &["--weight-column", "0"][..], 1, "column.tsv:2: the weight is"),
        ("labels.tsv", &["--label-weight", "Q=2"], 1, "nothing has this label"),
        ("labels.tsv", &["--label-weight", "X=-1"], 2, "at least 0"),
        ("labels.tsv", &["--label-weight", "X"], 2, "as in B-PER=2"),
        ("labels.tsv", &["--weight-column", "1", "--format", "attributes"], 1, "@weight:NUMBER"),
    ] {
        let mut command = train(data, arguments);
        let found = failure(&mut command, status);
        assert!(found.contains(message), "{found}");
    }
    let mut command = crfkit();
    command.arg("train").arg(path("lines.jsonl")).args(["--method", "ep1", "-m"]).arg(path("model"));
    assert!(failure(&mut command, 1).contains("counts every sequence once"));
}

/// Weights of tokens by column and by JSON lines are the same model; the column is no feature, and `eval` takes it out.
#[test]
fn weights_of_tokens_come_by_every_door() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("tokens.tsv"), "a\t2\tX\nb\t0\tY\n\nb\t1\tX\nc\t1\tY\n\n").unwrap();
    let lines = "{\"tokens\": [\"a\", \"b\"], \"labels\": [\"X\", \"Y\"], \"weights\": [2, 0]}\n\
                 {\"tokens\": [\"b\", \"c\"], \"labels\": [\"X\", \"Y\"]}\n";
    fs::write(path("tokens.jsonl"), lines).unwrap();
    let train = |data: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command.arg("train").arg(path(data)).args(["--objective", "marginal", "-m"]).arg(path("model"));
        command.args(["--quiet"]).args(arguments);
        command
    };
    let column = ["--token-weight-column", "1"];
    train("tokens.tsv", &column).assert().success();
    let by_column = output(crfkit().args(["inspect", "--dump"]).arg(path("model")));
    train("tokens.jsonl", &[]).assert().success();
    assert_eq!(output(crfkit().args(["inspect", "--dump"]).arg(path("model"))), by_column);
    let scores =
        output(crfkit().args(["eval", "-m"]).arg(path("model")).arg(path("tokens.tsv")).args(column));
    assert!(scores.contains("accuracy"), "{scores}");
    let tagged = output(crfkit().args(["tag", "-m"]).arg(path("model")).arg(path("tokens.tsv")).args(column));
    assert_eq!(tagged.lines().next(), Some("a\tX\tX"), "without the weights");
    for (data, arguments, status, message) in [
        (
            "tokens.tsv",
            &["--token-weight-column", "1", "--objective", "likelihood"][..],
            1,
            "cannot have weights",
        ),
        ("tokens.tsv", &["--token-weight-column", "0"], 1, "tokens.tsv:1: the weight `a`"),
        ("tokens.tsv", &["--token-weight-column", "1", "--format", "attributes"], 1, "no weights of tokens"),
        ("tokens.tsv", &["--token-weight-column", "1", "--stream"], 2, "--token-weight-column"),
    ] {
        let mut command = crfkit();
        command.arg("train").arg(path(data)).arg("-m").arg(path("model")).args(arguments);
        let found = failure(&mut command, status);
        assert!(found.contains(message), "{found}");
    }
}
