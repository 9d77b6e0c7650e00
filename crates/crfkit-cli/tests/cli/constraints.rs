//! `--constraint`, `--allowed`, `--confidence`, `--calibration` and `--partial-labels`.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use std::fs;

const WORDS: &str = "2\ncups\nof\nflour\n";

fn tag(arguments: &[&str], input: &str) -> String {
    let mut command = crfkit();
    command.args(["tag", "-m"]).arg(demo().join("model")).args(arguments);
    output(command.write_stdin(input))
}

fn last_columns(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty()).map(|line| line.rsplit('\t').next().unwrap()).collect()
}

#[test]
fn rules_from_a_file_hold() {
    let directory = scratch();
    let free = tag(&[], WORDS);
    let free = last_columns(&free);
    let rules = directory.path().join("rules");
    fs::write(&rules, format!("# the answer is wrong\nforbid {} {}\nforbid begin {0}\n", free[0], free[1]))
        .unwrap();
    let rules = rules.to_str().unwrap();
    let tagged = tag(&["--constraint", rules], WORDS);
    assert_ne!(last_columns(&tagged)[0], free[0]);
    let object = &json_lines(&tag(
        &["--constraint", rules, "--output", "json", "--marginals=all", "--nbest", "4", "--probability"],
        WORDS,
    ))[0];
    assert_eq!(object["marginals"][0][free[0]], 0.0, "forbidden at the beginning");
    let sum: f64 = object["marginals"][0].as_object().unwrap().values().map(|p| p.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert_eq!(object["probability"], object["nbest"][0]["probability"]);
    for ranked in object["nbest"].as_array().unwrap() {
        assert_ne!(ranked["labels"][0], free[0]);
    }
    // Errors name the line, or the sequence.
    fs::write(rules, "forbid O NOWHERE\n").unwrap();
    let mut command = crfkit();
    command.args(["tag", "--constraint", rules, "-m"]).arg(demo().join("model"));
    assert!(failure(command.write_stdin(WORDS), 1).contains("rules:1: the model has no label `NOWHERE`"));
    fs::write(rules, "forbid begin *\n").unwrap();
    let mut command = crfkit();
    command.args(["tag", "--constraint", rules, "-m"]).arg(demo().join("model"));
    let message = failure(command.write_stdin(format!("{WORDS}\n{WORDS}")), 1);
    assert!(
        message.contains("standard input:1: no labelling of this sequence obeys the constraint"),
        "{message}"
    );
}

#[test]
fn training_finds_iob2_and_stores_it() {
    // O O O I-X is what the tokens say alone; the training data obeys IOB2.
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let sequence = "a\tO\nb\tB-X\nc\tI-X\nd\tO\n\n";
    fs::write(path("train.tsv"), sequence.repeat(20)).unwrap();
    fs::write(path("other.tsv"), sequence.repeat(20) + "c\tI-X\n\n").unwrap();
    fs::write(path("U.tpl"), "U0:%x[0,0]\n").unwrap();
    for (data, model) in [("train.tsv", "model"), ("other.tsv", "other")] {
        let mut command = crfkit();
        command.arg("train").arg(path(data)).arg("-m").arg(path(model)).arg("--template").arg(path("U.tpl"));
        output(command.args(["--sigma", "10", "--quiet"]));
    }
    let tag = |model: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command.args(["tag", "-m"]).arg(path(model)).args(arguments);
        output(command.write_stdin("a\nc\nd\n"))
    };
    let ended = |text: &str| last_columns(text).join(" ");
    assert_eq!(ended(&tag("other", &[])), "O I-X O");
    assert_eq!(ended(&tag("model", &["--constraint", "none"])), "O I-X O");
    let constrained = tag("model", &[]);
    assert!(!ended(&constrained).contains("O I-X"), "{constrained}");
    assert_eq!(tag("other", &["--constraint", "iob2"]).matches("O I-X").count(), 0);
    let eval = |arguments: &[&str]| {
        fs::write(path("test.tsv"), "a\tO\nc\tI-X\nd\tO\n").unwrap();
        let mut command = crfkit();
        output(
            command.args(["eval", "--json", "-m"]).arg(path("model")).args(arguments).arg(path("test.tsv")),
        )
    };
    assert!(eval(&[]) != eval(&["--constraint", "none"]));
    assert_eq!(json_lines(&eval(&["--constraint", "none"]))[0]["accuracy"], 100.0);
}

#[test]
fn allowed_labels_come_in_a_column() {
    let free = tag(&[], WORDS);
    let free = last_columns(&free);
    let input = "2\t?\ncups\tB-NAME\nof\tO|I-NAME\nflour\t?\n";
    let tagged = tag(&["--allowed", "1", "--marginals"], input);
    let rows: Vec<Vec<&str>> =
        tagged.lines().filter(|row| !row.is_empty()).map(|row| row.split('\t').collect()).collect();
    assert_eq!(rows[1][2..], ["B-NAME", "1.000000"]);
    assert!(["O", "I-NAME"].contains(&rows[2][2]));
    assert_eq!(tag(&["--allowed", "-1", "--marginals"], input), tagged);
    // All free is no constraint; a third column passes.
    let open = "2\tx\t?\ncups\tx\t?\nof\tx\t?\nflour\tx\t?\n";
    assert_eq!(last_columns(&tag(&["--allowed", "2"], open)), free);
    for (arguments, input, expected) in [
        (vec!["--allowed", "1"], "2\t?\ncups\tNONE\n", "standard input:2: the model has no label `NONE`"),
        (
            vec!["--allowed", "1"],
            "2\tI-NAME\n",
            "standard input:1: no labelling of this sequence obeys the constraint",
        ),
        (
            vec!["--allowed", "5"],
            "2\t?\n",
            "standard input:1: the allowed labels should be in column 5, but there are only 2 columns",
        ),
    ] {
        let mut command = crfkit();
        command.args(["tag", "-m"]).arg(demo().join("model")).args(arguments);
        let message = failure(command.write_stdin(input), 1);
        assert!(message.contains(expected), "{message}");
    }
}

/// The probability of a chunk is at most that of its first label, and the layouts agree.
#[test]
fn confidences_of_chunks() {
    let tag = |arguments: &[&str]| {
        let mut command = crfkit();
        command.args(["tag", "-m"]).arg(demo().join("model")).args(arguments).arg(demo().join("test.tsv"));
        output(&mut command)
    };
    let objects = json_lines(&tag(&["--confidence", "--marginals", "--output", "json"]));
    let columns = tag(&["--confidence"]);
    let mut chunks = 0;
    for (object, block) in objects.iter().zip(columns.split_terminator("\n\n")) {
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let header = format!("# {:.6} {:.6}", number(&object["probability"]), number(&object["entropy"]));
        assert_eq!(block.lines().next(), Some(&*header));
        let rows: Vec<&str> = block.lines().skip(1).map(|row| row.rsplit('\t').next().unwrap()).collect();
        for chunk in object["chunks"].as_array().unwrap() {
            let (start, end) =
                (chunk["start"].as_u64().unwrap() as usize, chunk["end"].as_u64().unwrap() as usize);
            let p = number(&chunk["probability"]);
            assert!(p > 0.0 && p <= number(&object["marginals"][start]) + 1e-9);
            assert!(rows[start..end].iter().all(|row| *row == format!("{p:.6}")));
            chunks += 1;
        }
    }
    assert!(chunks > 500);
    let message = failure(
        crfkit()
            .args(["tag", "--confidence", "--output", "crfpp", "-m"])
            .arg(demo().join("model"))
            .write_stdin("2\n"),
        2,
    );
    assert!(message.contains("--confidence is for --output columns and json"), "{message}");
}

#[test]
fn calibration_in_text_and_json() {
    let eval = |arguments: &[&str]| {
        let mut command = crfkit();
        command.args(["eval", "-m"]).arg(demo().join("model")).args(arguments).arg(demo().join("test.tsv"));
        output(&mut command)
    };
    let (plain, json) =
        (&json_lines(&eval(&["--json"]))[0], &json_lines(&eval(&["--json", "--calibration"]))[0]);
    let mut without = json.clone();
    without.as_object_mut().unwrap().remove("calibration");
    assert_eq!(&without, plain);
    let tokens: u64 = json["calibration"]["labels"]["bins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bin| bin["count"].as_u64().unwrap())
        .sum();
    assert_eq!(tokens, plain["tokens"].as_u64().unwrap());
    for what in ["labels", "chunks"] {
        let error = json["calibration"][what]["error"].as_f64().unwrap();
        assert!(error > 0.0 && error < 0.1, "{error}");
        let line = format!("calibration of {what}: expected calibration error {:.2}%", 100.0 * error);
        assert!(eval(&["--calibration"]).contains(&line), "{line}");
    }
    assert_eq!(eval(&["--calibration", "--threads", "1"]), eval(&["--calibration", "--threads", "3"]));
}

#[test]
fn partial_labels_are_for_those_who_ask() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let sequence = "a\tX\nb\tX|Y\nc\tY\n\na\tX\nb\tX|Z\nc\t?\n\n";
    fs::write(path("train.tsv"), sequence.repeat(10)).unwrap();
    fs::write(path("U.tpl"), "U0:%x[0,0]\nB\n").unwrap();
    let train = |arguments: &[&str]| {
        let mut command = crfkit();
        command
            .arg("train")
            .arg(path("train.tsv"))
            .arg("-m")
            .arg(path("m"))
            .arg("--template")
            .arg(path("U.tpl"));
        command.args(["--sigma", "5", "--quiet"]).args(arguments);
        command
    };
    let tag = || output(crfkit().args(["tag", "-m"]).arg(path("m")).write_stdin("a\nb\nc\n"));
    output(&mut train(&["--partial-labels"]));
    assert_eq!(last_columns(&tag()), ["X", "X", "Y"]);
    output(&mut train(&[]));
    assert!(last_columns(&tag())[1].contains('|'), "labels like any other: {}", tag());
    let message = failure(&mut train(&["--partial-labels", "--scheme", "iob2"]), 2);
    assert!(message.contains("--scheme"), "{message}");
    let message = failure(&mut train(&["--partial-labels", "--optimizer", "saga"]), 1);
    assert!(message.contains("--optimizer saga needs"), "{message}");
}

/// A type of chunks, or a label, at most once; with probabilities as long as that is exact.
#[test]
fn something_occurs_at_most_once() {
    let test = fs::read_to_string(demo().join("test.tsv")).unwrap();
    let names = |text: &str, label: &str| -> Vec<usize> {
        let count =
            |sequence: &str| sequence.lines().filter(|line| line.ends_with(&format!("\t{label}"))).count();
        text.trim_end().split("\n\n").map(count).collect()
    };
    assert!(names(&tag(&[], &test), "B-NAME").iter().any(|count| *count > 1));
    for arguments in [&["--at-most-once", "NAME"][..], &["--at-most-once", "NAME,B-QTY,O"]] {
        let tagged = tag(arguments, &test);
        assert!(names(&tagged, "B-NAME").iter().all(|count| *count <= 1));
        if arguments[1].ends_with(",O") {
            assert!(names(&tagged, "O").iter().chain(&names(&tagged, "B-QTY")).all(|count| *count <= 1));
        }
        assert_eq!(tag(&[arguments, &["--threads", "3"]].concat(), &test), tagged);
    }
    let arguments =
        ["--at-most-once", "NAME", "--output", "json", "--marginals=all", "--probability", "--nbest", "2"];
    for object in json_lines(&tag(&arguments, "salt\nand\npepper\n")) {
        let sum: f64 =
            object["marginals"][2].as_object().unwrap().values().map(|p| p.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        assert_eq!(object["probability"], object["nbest"][0]["probability"]);
    }
    let refused = |arguments: &[&str], status| {
        let mut command = crfkit();
        command.args(["tag", "-m"]).arg(demo().join("model")).args(arguments);
        failure(command.write_stdin(WORDS), status)
    };
    assert!(refused(&["--at-most-once", "NOTHING"], 1).contains("no label or chunk type `NOTHING`"));
    let many = "NAME,QTY,UNIT,PREP,NOTE,SIZE,B-QTY,B-NAME,B-UNIT";
    let many = ["--at-most-once", many];
    assert!(refused(&[&many[..], &["--marginals"]].concat(), 2).contains("6656 states here"));
    assert!(refused(&[&many[..], &["--decode", "max-marginal"]].concat(), 2).contains("--decode viterbi"));
    // The most probable label of each token, given that things occur at most once.
    let sure = ["--at-most-once", "NAME", "--output", "json", "--marginals=all", "--decode"];
    let [best, single] =
        ["viterbi", "max-marginal"].map(|decode| json_lines(&tag(&[&sure[..], &[decode]].concat(), &test)));
    for (best, single) in best.iter().zip(&single) {
        assert_eq!(best["marginals"], single["marginals"]);
        let labels = single["labels"].as_array().unwrap().iter();
        for (label, all) in labels.zip(single["marginals"].as_array().unwrap()) {
            let all = all.as_object().unwrap();
            let most = all.values().map(|p| p.as_f64().unwrap()).fold(0.0, f64::max);
            assert_eq!(all[label.as_str().unwrap()].as_f64().unwrap(), most);
        }
    }
    // Several models: each is restricted, and the mean of their marginals decides.
    let two = tag(
        &[&sure[..4], &["--marginals=all", "-m", demo().join("model").to_str().unwrap()]].concat(),
        &test,
    );
    assert_eq!(json_lines(&two), single);
    assert!(tag(&many, WORDS).starts_with("2\tB-QTY"));
}

/// Nearly all of the best labellings of a long sequence have a name twice; the list of those that have it once is still found at once.
#[test]
fn long_sequences_have_nbest_lists_of_what_occurs_at_most_once() {
    let directory = scratch();
    let counts = directory.path().join("counts");
    let mut train = crfkit();
    train
        .arg("train")
        .arg(demo().join("small.tsv"))
        .arg("-m")
        .arg(&counts)
        .args(["--method", "ep1", "--quiet"]);
    output(&mut train);
    let test = fs::read_to_string(demo().join("test.tsv")).unwrap();
    let words: Vec<&str> = test.lines().filter(|line| !line.is_empty()).take(40).collect();
    let layout = ["--output", "json", "--probability", "--nbest", "5"];
    for model in [demo().join("model"), counts] {
        for things in
            [&["--at-most-once", "NAME"][..], &["--at-most-once", "NAME,QTY", "--constraint", "iob2"]]
        {
            let mut command = crfkit();
            command.args(["tag", "-m"]).arg(&model).args(things).args(layout).write_stdin(words.join("\n"));
            let object = json_lines(&output(&mut command)).remove(0);
            let ranked = object["nbest"].as_array().unwrap();
            assert_eq!((ranked.len(), &ranked[0]["labels"]), (5, &object["labels"]));
            assert_eq!(ranked[0]["probability"], object["probability"]);
            let names = |labels: &serde_json::Value| {
                labels.as_array().unwrap().iter().filter(|label| *label == "B-NAME").count()
            };
            assert!(ranked.iter().all(|ranked| names(&ranked["labels"]) <= 1));
            for pair in ranked.windows(2) {
                assert!(pair[0]["probability"].as_f64() >= pair[1]["probability"].as_f64());
                assert_ne!(pair[0]["labels"], pair[1]["labels"]);
            }
        }
    }
}
