//! Formats of sequences: JSON lines, CoNLL-U, running text, and rows with more columns than expected.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use serde_json::json;
use std::fs;
use std::path::Path;

fn tag(arguments: &[&str], input: &str) -> String {
    output(crfkit().args(["tag", "-m"]).arg(demo().join("model")).args(arguments).write_stdin(input))
}

fn refused(arguments: &[&str], input: &str, status: i32) -> String {
    failure(crfkit().args(["tag", "-m"]).arg(demo().join("model")).args(arguments).write_stdin(input), status)
}

/// The demo's columns as JSON lines.
fn as_json(columns: &str) -> String {
    let mut text = String::new();
    for sequence in columns.split_terminator("\n\n") {
        let (tokens, labels): (Vec<&str>, Vec<&str>) =
            sequence.lines().map(|line| line.split_once('\t').unwrap()).unzip();
        text += &json!({ "tokens": tokens, "labels": labels }).to_string();
        text += "\n";
    }
    text
}

/// The demo's columns as CoNLL-U, with the labels as UPOS.
fn as_conllu(columns: &str) -> String {
    let mut text = String::new();
    for sequence in columns.split_terminator("\n\n") {
        text += "# a comment\n1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n";
        for (number, line) in sequence.lines().enumerate() {
            let (word, label) = line.split_once('\t').unwrap();
            text += &format!("{}\t{word}\t_\t{label}\t_\t_\t0\troot\t_\t_\n", number + 1);
        }
        text += "\n";
    }
    text
}

#[test]
fn a_sentence_in_one_row_is_rejected_with_the_way_out() {
    let message = refused(&[], "2 cups of flour, sifted\n", 1);
    assert!(message.contains("standard input:1: 5 columns, but the model was trained on 2"), "{message}");
    assert!(message.contains("--text") && message.contains("--extra-columns ignore"), "{message}");
    let message = refused(&[], "{\"tokens\": [\"a\", \"b\", \"c\"]}\n", 1);
    assert!(message.contains("--format json"), "{message}");
    // With or without the label's column.
    assert_eq!(tag(&[], "cups\n").lines().next().unwrap().split('\t').count(), 2);
    assert_eq!(tag(&[], "cups X\n").lines().next().unwrap().split('\t').count(), 3);
    assert_eq!(
        tag(&["--extra-columns", "ignore"], "cups a b X\n").lines().next().unwrap().split('\t').count(),
        5
    );
    let directory = scratch();
    let wide = directory.path().join("wide");
    fs::write(&wide, "cups B-UNIT x\n\n").unwrap();
    let eval = |arguments: &[&str]| {
        let mut command = crfkit();
        command.args(["eval", "-m"]).arg(demo().join("model")).args(arguments).arg(&wide);
        command
    };
    assert!(failure(&mut eval(&[]), 1).contains("wide:1: 3 columns"));
    // A command names only flags that it has.
    let mut explain = crfkit();
    explain.args(["explain", "-m"]).arg(demo().join("model")).arg(&wide);
    let message = failure(&mut explain, 1);
    assert!(message.contains("tag --text") && !message.contains("--extra-columns"), "{message}");
    output(&mut eval(&["--label-column", "1"]));
    output(&mut eval(&["--extra-columns", "ignore"]));
}

/// Words are no gold labels.
#[test]
fn data_without_labels_is_not_scored() {
    let directory = scratch();
    let words = directory.path().join("words");
    fs::write(&words, "2\ncups\nflour\n\n").unwrap();
    for arguments in [&["eval"][..], &["explain", "--only-wrong"]] {
        let mut command = crfkit();
        command.args(arguments).arg("-m").arg(demo().join("model")).arg(&words);
        let message = failure(&mut command, 1);
        assert!(
            message.contains("words:1: 1 column, but the model's features use 1, so there are no gold"),
            "{message}"
        );
    }
    assert_eq!(tag(&[], "2\ncups\n").lines().count(), 3);
}

#[test]
fn running_text_has_tokens_spans_and_brackets() {
    let text = "2 cups of flour, sifted\n\n1 – red   onion\n";
    let rows = tag(&["--text"], text);
    let words: Vec<&str> = rows.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(words, ["2", "cups", "of", "flour", ",", "sifted", "", "1", "–", "red", "onion", ""]);
    let objects = json_lines(&tag(&["--text", "--output", "json"], text));
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["text"], "2 cups of flour, sifted");
    for object in &objects {
        let characters: Vec<char> = object["text"].as_str().unwrap().chars().collect();
        assert_eq!(object["tokens"].as_array().unwrap().len(), object["labels"].as_array().unwrap().len());
        let spans = object["spans"].as_array().unwrap();
        assert!(!spans.is_empty());
        for span in spans {
            let range = span["start"].as_u64().unwrap() as usize..span["end"].as_u64().unwrap() as usize;
            assert_eq!(characters[range].iter().collect::<String>(), span["text"].as_str().unwrap());
        }
    }
    assert_eq!(objects[0]["spans"][0], json!({"start": 0, "end": 1, "label": "QTY", "text": "2"}));
    let brackets = tag(&["--text", "--output", "brackets"], text);
    assert!(brackets.starts_with("[QTY 2] [UNIT cups] of [NAME flour]"), "{brackets}");
    let plain = |line: &str| {
        let part = |part: &str| match part.split_once(']') {
            Some((labelled, rest)) => [labelled.split_once(' ').unwrap().1, rest].concat(),
            None => part.to_owned(),
        };
        line.split('[').map(part).collect::<String>()
    };
    assert!(brackets.lines().map(plain).eq(text.lines().filter(|line| !line.is_empty()).map(str::to_owned)));
    let message = refused(&["--text", "--output", "brackets", "--marginals"], text, 2);
    assert!(message.contains("brackets shows labels alone"), "{message}");
}

#[test]
fn sentences_know_their_line() {
    let text = "Mix 2 cups. Then add ½ onion!\nServe.\n";
    let objects = json_lines(&tag(&["--text", "--sentences", "--output", "json"], text));
    let places: Vec<_> =
        objects.iter().map(|o| (o["line"].as_u64().unwrap(), o["offset"].as_u64().unwrap())).collect();
    assert_eq!(places, [(1, 0), (1, 12), (2, 0)]);
    assert_eq!(objects[1]["text"], "Then add ½ onion!");
    refused(&["--sentences"], text, 2);
}

#[test]
fn json_lines_and_conllu_are_columns_in_other_clothes() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let (train, test) = (
        fs::read_to_string(demo().join("small.tsv")).unwrap(),
        fs::read_to_string(demo().join("test.tsv")).unwrap(),
    );
    for (name, text) in [
        ("train.tsv", train.clone()),
        ("test.tsv", test.clone()),
        ("train.jsonl", as_json(&train)),
        ("test.jsonl", as_json(&test)),
        ("train.conllu", as_conllu(&train)),
        ("test.conllu", as_conllu(&test)),
        ("test.data", as_json(&test)),
    ] {
        fs::write(at(name), text).unwrap();
    }
    for name in ["tsv", "jsonl", "conllu"] {
        crfkit()
            .args(["train", "--optimizer", "lbfgs", "--passes", "5", "--quiet", "-m"])
            .arg(at(name))
            .arg(at(&format!("train.{name}")))
            .assert()
            .success();
    }
    assert_eq!(fs::read(at("tsv")).unwrap(), fs::read(at("jsonl")).unwrap());
    assert_eq!(fs::read(at("tsv")).unwrap(), fs::read(at("conllu")).unwrap());
    let run = |verb: &str, arguments: &[&str], file: &Path| {
        output(crfkit().args([verb, "-m"]).arg(at("tsv")).args(arguments).arg(file))
    };
    for verb in ["eval", "tag"] {
        let expected = run(verb, &[], &at("test.tsv"));
        assert_eq!(run(verb, &[], &at("test.jsonl")), expected);
        assert_eq!(run(verb, &[], &at("test.conllu")), expected);
        assert_eq!(run(verb, &["--format", "json"], &at("test.data")), expected);
    }
    // What tag writes about JSON lines can be read again, with its labels as gold labels.
    let tagged = run("tag", &["--output", "json"], &at("test.jsonl"));
    fs::write(at("tagged.jsonl"), &tagged).unwrap();
    let scores = json_lines(&run("eval", &["--json"], &at("tagged.jsonl")));
    assert_eq!(scores[0]["accuracy"], 100.0);
    assert_eq!(json_lines(&tagged)[0]["tokens"], json_lines(&as_json(&test))[0]["tokens"]);
}

#[test]
fn tokens_of_several_columns_and_several_label_columns() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let line = r#"{"tokens": [["a", "N"], ["b", "V"]], "labels": ["A", "B"]}"#;
    fs::write(at("two.jsonl"), format!("{line}\n{line}\n")).unwrap();
    crfkit().args(["train", "--quiet", "-m"]).arg(at("two")).arg(at("two.jsonl")).assert().success();
    let tagged = output(crfkit().args(["tag", "--output", "json", "-m"]).arg(at("two")).arg(at("two.jsonl")));
    assert_eq!(json_lines(&tagged)[0], json!({"tokens": [["a", "N"], ["b", "V"]], "labels": ["A", "B"]}));
    let message = failure(crfkit().args(["tag", "--text", "-m"]).arg(at("two")).write_stdin("a b\n"), 1);
    assert!(message.contains("trained on 3 columns, the label included, and reads column 1"), "{message}");

    let line = r#"{"tokens": ["a", "b"], "labels": [["A", "B"], ["x", "y"]]}"#;
    fs::write(at("linked.jsonl"), format!("{line}\n{line}\n")).unwrap();
    let train = ["train", "--graph", "factorial", "--label-column", "1,2", "--quiet", "-m"];
    crfkit().args(train).arg(at("linked")).arg(at("linked.jsonl")).assert().success();
    let tagged =
        output(crfkit().args(["tag", "--output", "json", "-m"]).arg(at("linked")).arg(at("linked.jsonl")));
    assert_eq!(json_lines(&tagged)[0], json!({"tokens": ["a", "b"], "labels": [["A", "B"], ["x", "y"]]}));
    let text = output(
        crfkit().args(["tag", "--output", "json", "--text", "-m"]).arg(at("linked")).write_stdin("a b\n"),
    );
    assert_eq!(json_lines(&text)[0]["spans"][1][1], json!({"start": 2, "end": 3, "label": "y", "text": "b"}));
    let both = output(
        crfkit()
            .args(["tag", "--output", "json", "--marginals", "all", "-m"])
            .arg(at("linked"))
            .arg(at("linked.jsonl")),
    );
    assert!(json_lines(&both)[0]["marginals"][1][0]["x"].as_f64().unwrap() > 0.5);
}

#[test]
fn formats_that_do_not_fit_are_rejected() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("first"), "A a\nB b\n\n").unwrap();
    fs::write(at("template"), "U:%x[0,1]\nB\n").unwrap();
    let train = ["train", "--label-column", "0", "--quiet", "--template"];
    crfkit().args(train).arg(at("template")).arg("-m").arg(at("model")).arg(at("first")).assert().success();
    let message = failure(crfkit().args(["tag", "--text", "-m"]).arg(at("model")).write_stdin("a b\n"), 1);
    assert!(message.contains("before other columns"), "{message}");
    let message = refused(&["--format", "attributes"], "A\tb\n", 1);
    assert!(message.contains("trained on columns"), "{message}");
    let message = failure(crfkit().args(["train", "--fields", "form,pos", "-m", "x", "y"]), 2);
    assert!(message.contains("choose from id,form"), "{message}");
    refused(&["--text", "--format", "json"], "", 2);
}

#[test]
fn notations_of_chunks_are_converted() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let (iob2, iobes) = ("2 B-QTY\nred B-NAME\nonions I-NAME\n\n", "2 S-QTY\nred B-NAME\nonions E-NAME\n\n");
    fs::write(at("iob2"), iob2).unwrap();
    fs::write(at("iobes"), iobes).unwrap();
    fs::write(at("attributes"), "B-QTY\tw=2\nB-NAME\tw=red\nI-NAME\tw=onions\n\n").unwrap();
    let train = |data: &str, arguments: &[&str], model: &str| {
        crfkit()
            .args(["train", "--quiet", "-m"])
            .arg(at(model))
            .args(arguments)
            .arg(at(data))
            .assert()
            .success();
        fs::read(at(model)).unwrap()
    };
    assert!(train("iob2", &["--scheme", "iobes"], "a") == train("iobes", &[], "b"));
    assert!(train("iobes", &["--scheme", "iob2"], "c") == train("iob2", &[], "d"));
    let run = |verb: &str, model: &str, arguments: &[&str], data: &str| {
        output(crfkit().args([verb, "-m"]).arg(at(model)).args(arguments).arg(at(data)))
    };
    assert!(run("eval", "a", &["--scheme", "iobes"], "iob2").contains("accuracy: 100.00%"));
    assert_eq!(run("eval", "a", &["--scheme", "iobes"], "iob2"), run("eval", "a", &[], "iobes"));
    let labels = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| Some(line.rsplit_once('\t')?.1.to_owned())).collect()
    };
    assert_eq!(labels(&run("tag", "a", &[], "iob2")), ["S-QTY", "B-NAME", "E-NAME"]);
    assert_eq!(labels(&run("tag", "a", &["--scheme", "iob2"], "iob2")), ["B-QTY", "B-NAME", "I-NAME"]);
    let json = run("tag", "a", &["--scheme", "iob1", "--output", "json"], "iob2");
    assert_eq!(json_lines(&json)[0]["labels"], json!(["I-QTY", "I-NAME", "I-NAME"]));

    train("attributes", &["--format", "attributes", "--scheme", "iobes"], "e");
    assert_eq!(run("tag", "e", &[], "attributes"), "S-QTY\nB-NAME\nE-NAME\n\n");
    // Each label column of linked chains.
    fs::write(at("two"), "2 B-QTY B-X\nred B-NAME I-X\n\n").unwrap();
    let factorial = ["--graph", "factorial", "--label-column", "1,2", "--scheme", "iobes"];
    train("two", &factorial, "f");
    let rows = run("tag", "f", &[], "two");
    assert!(rows.starts_with("2\tB-QTY\tB-X\tS-QTY\tB-X\nred\tB-NAME\tI-X\tS-NAME\tE-X\n"), "{rows}");
    assert!(run("tag", "f", &["--scheme", "iob2"], "two").contains("\tB-NAME\tI-X\n"));
    assert!(run("eval", "f", &["--scheme", "iobes"], "two").contains("joint accuracy:        100.00%"));
}
