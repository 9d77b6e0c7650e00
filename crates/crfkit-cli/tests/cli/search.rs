//! `crfkit rank`, `cv`, `search` and `calibrate`, and `eval --against`.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use serde_json::json;
use std::fs;

/// The most doubtful come first, whatever the number of threads and of those that are kept.
#[test]
fn doubtful_sequences_come_first() {
    let rank = |arguments: &[&str]| {
        let mut command = crfkit();
        command.args(["rank", "-m"]).arg(demo().join("model")).args(arguments).arg(demo().join("test.tsv"));
        output(&mut command)
    };
    for by in ["entropy", "margin", "token-entropy", "total-token-entropy"] {
        let all = json_lines(&rank(&["--by", by, "--top", "0", "--output", "json"]));
        assert_eq!(all.len(), 500);
        let scores: Vec<f64> = all.iter().map(|object| object["score"].as_f64().unwrap()).collect();
        match by {
            "margin" => assert!(scores.is_sorted()),
            _ => assert!(scores.is_sorted_by(|a, b| a >= b)),
        }
        let few = json_lines(&rank(&["--by", by, "--top", "7", "--output", "json", "--threads", "3"]));
        assert_eq!(few[..], all[..7]);
    }
    // The sequences themselves: the first is the one that JSON has first.
    let columns = rank(&["--top", "2", "--output", "columns"]);
    assert_eq!(columns.matches("\n\n").count(), 2);
    let first = &json_lines(&rank(&["--top", "1", "--output", "json"]))[0];
    let words: Vec<&str> = columns.lines().take_while(|line| !line.is_empty()).collect();
    let words: Vec<&str> = words.iter().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(serde_json::json!(words), first["tokens"]);
    let mut command = crfkit();
    command.args(["rank", "-m"]).arg(demo().join("model"));
    assert_eq!(output(command.write_stdin("")), "");
    command.args(["--output", "columns", "--format", "json"]);
    let message = failure(command.write_stdin("{\"tokens\": [\"a b\"]}\n"), 1);
    assert!(message.contains("standard input:1: a field is empty or has white space"), "{message}");
}

#[test]
fn folds_are_the_same_for_any_number_of_threads() {
    let directory = scratch();
    let small = demo().join("small.tsv");
    let cv = |arguments: &[&str]| {
        let mut command = crfkit();
        command.arg("cv").arg(&small).args(["--folds", "3", "--quiet", "--passes", "5"]).args(arguments);
        command
    };
    let one = output(&mut cv(&["--output", "json", "--threads", "1"]));
    assert_eq!(one, output(&mut cv(&["--output", "json", "--threads", "3"])));
    assert_ne!(one, output(&mut cv(&["--output", "json", "--seed", "2"])));
    let object = &json_lines(&one)[0];
    let folds = object["folds"].as_array().unwrap();
    let sequences: u64 = folds.iter().map(|fold| fold["sequences"].as_u64().unwrap()).sum();
    assert_eq!((folds.len(), sequences), (3, 300), "every sequence is tested once");
    let f1 = |value: &serde_json::Value| value["f1"].as_f64().unwrap();
    let mean = folds.iter().map(f1).sum::<f64>() / 3.0;
    assert!((f1(&object["mean"]) - mean).abs() < 1e-9);
    assert!(object["interval"]["f1"][0].as_f64().unwrap() < mean);
    let text = output(&mut cv(&[]));
    assert!(text.lines().count() == 6 && text.contains("95 %"), "{text}");
    // What makes no sense is rejected.
    let few = directory.path().join("few.tsv");
    fs::write(&few, "a\tA\nb\tB\n\na\tA\n\n").unwrap();
    let mut command = crfkit();
    command.arg("cv").arg(&few).args(["--folds", "3", "--quiet"]);
    assert!(failure(&mut command, 2).contains("fewer sequences than folds"));
    for (arguments, message) in [
        (&["--log", "x"][..], "--log is for a single run"),
        (&["-m", "x"], "--model is for a single run"),
        (&["--method", "ep1"], "--method"),
        (&["--sigma", "-1"], "--sigma is -1"),
    ] {
        let found = failure(&mut cv(arguments), 2);
        assert!(found.contains(message), "{found}");
    }
    assert!(failure(crfkit().args(["cv", "-"]), 2).contains("not standard input"));
}

/// Every kind of model is cut into folds.
/// Flags that a command rejects are not in its help.
#[test]
fn the_help_has_no_flags_of_a_single_run() {
    for (command, absent) in [("cv", "--precision"), ("search", "--checkpoint")] {
        let help = output(crfkit().args([command, "--help"]));
        for flag in ["--log", "--report <", "--seconds", "--calibrate", absent] {
            assert!(!help.contains(&format!("  {flag}")), "{command} {flag}");
        }
        assert!(help.contains("--sigma") && !help.contains("[not: ]"), "{command}");
    }
}

#[test]
fn other_kinds_are_cross_validated_too() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let text: String = (0..12).map(|k| format!("w{}\tA\tx\nv\tB\ty\n\n", k % 3)).collect();
    fs::write(path("two.tsv"), text).unwrap();
    let mut command = crfkit();
    command.arg("cv").arg(path("two.tsv")).args([
        "--graph",
        "factorial",
        "--label-column",
        "1,2",
        "--folds",
        "2",
        "--quiet",
    ]);
    command.args(["--preset", "factorial", "--output", "json"]);
    assert_eq!(json_lines(&output(&mut command))[0]["folds"].as_array().unwrap().len(), 2);
    let mut graphs = "{\"types\": {\"n\": {\"labels\": [\"A\", \"B\"]}}}\n".to_owned();
    for k in 0..8 {
        let label = ["A", "B"][k % 2];
        graphs += &format!(
            "{{\"nodes\": [{{\"type\": \"n\", \"label\": \"{label}\", \"features\": [\"f{label}\"]}}]}}\n"
        );
    }
    fs::write(path("graphs.jsonl"), graphs).unwrap();
    let mut command = crfkit();
    command
        .arg("cv")
        .arg(path("graphs.jsonl"))
        .args(["--graph", "file", "--folds", "4", "--quiet", "--output", "json"]);
    let object = &json_lines(&output(&mut command))[0];
    assert_eq!(object["mean"]["accuracy"], 100.0, "{object}");
}

#[test]
fn a_search_finds_the_best_and_resumes() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let search = |sigmas: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command.arg("search").arg(demo().join("small.tsv")).args(["--sigma", sigmas, "--passes", "5", "-m"]);
        command
            .arg(path("best"))
            .arg("--points")
            .arg(path("points"))
            .args(["--output", "json"])
            .args(arguments);
        command
    };
    let errors = |command: &mut assert_cmd::Command| {
        String::from_utf8(command.assert().success().get_output().stderr.clone()).unwrap()
    };
    let first = errors(&mut search("0.1,1", &["--min-count", "1,2"]));
    assert_eq!(first.matches("from the file").count(), 0, "{first}");
    let kept = fs::read(path("best")).unwrap();
    // A rerun trains nothing, also with a last line that was cut off.
    let mut text = fs::read_to_string(path("points")).unwrap();
    assert_eq!(text.lines().count(), 4);
    text.push_str("{\"sigma\": \"0.");
    fs::write(path("points"), &text).unwrap();
    let again = errors(&mut search("0.1,1", &["--min-count", "1,2"]));
    assert_eq!(again.matches("from the file").count(), 4, "{again}");
    assert_eq!(fs::read(path("best")).unwrap(), kept);
    // One more point; other data is trained anew.
    let more = json_lines(&output(&mut search("0.1,1,3", &["--quiet"])));
    let best: Vec<_> = more.iter().filter(|point| point["best"] == true).collect();
    assert_eq!((more.len(), best.len()), (3, 1));
    let highest = more.iter().map(|point| point["score"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(best[0]["score"], highest);
    assert_eq!(fs::read_to_string(path("points")).unwrap().lines().count(), 5);
    let other = errors(&mut search("1", &["--dev", demo().join("test.tsv").to_str().unwrap()]));
    assert_eq!(other.matches("from the file").count(), 0, "{other}");
    // The model of the best point has its score.
    let point = &json_lines(&output(&mut search(
        "1",
        &["--quiet", "--dev", demo().join("test.tsv").to_str().unwrap()],
    )))[0];
    let mut command = crfkit();
    command.args(["eval", "--json", "-m"]).arg(path("best")).arg(demo().join("test.tsv"));
    assert_eq!(json_lines(&output(&mut command))[0]["f1"], point["score"]);
    fs::write(path("points"), "nothing\n").unwrap();
    assert!(failure(&mut search("1", &[]), 1).contains("points:1: this is not a point of a search"));
}

#[test]
fn two_predictions_are_compared() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a"), "x\tB-A\tB-A\ny\tO\tO\n\nz\tB-B\tB-B\n\n").unwrap();
    fs::write(path("b"), "x\tB-A\tO\ny\tO\tO\n\nz\tB-B\tB-B\n\n").unwrap();
    let eval = |against: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command
            .args(["eval", "--predicted"])
            .arg(path("a"))
            .arg("--against")
            .arg(path(against))
            .args(arguments);
        command
    };
    let text = output(&mut eval("b", &[]));
    assert!(text.starts_with("F1        100.00 −  66.67 = +33.33, 95 % interval +0.00 to "), "{text}");
    let object = &json_lines(&output(&mut eval("a", &["--json", "--seed", "7"])))[0];
    assert_eq!((object["f1"]["difference"].as_f64(), object["f1"]["p"].as_f64()), (Some(0.0), Some(1.0)));
    for (text, message) in [
        ("x\tB-A\tO\ny\tO\tO\n\n", "has no more sequences"),
        ("x\tB-B\tO\ny\tO\tO\n\nz\tB-B\tB-B\n\n", "a:1: the gold label is `B-A` here, but `B-B` at "),
        ("x\tB-A\tO\n\nz\tB-B\tB-B\n\n", "a:1: 2 tokens, but 1 at "),
    ] {
        fs::write(path("b"), text).unwrap();
        let found = failure(&mut eval("b", &[]), 1);
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn a_temperature_is_fitted() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let mut command = crfkit();
    command
        .arg("train")
        .arg(demo().join("small.tsv"))
        .args(["--sigma", "10", "--quiet", "-m"])
        .arg(path("model"));
    output(&mut command);
    let test = demo().join("test.tsv");
    let calibrate = |model: &str, out: &str| {
        let mut command = crfkit();
        command.args(["calibrate", "-m"]).arg(path(model)).arg(&test).arg("-o").arg(path(out));
        command
    };
    output(&mut calibrate("model", "calibrated"));
    let tagged = |model: &str, more: &[&str]| {
        output(crfkit().arg("tag").arg("-m").arg(path(model)).args(more).arg(&test))
    };
    assert_eq!(tagged("model", &[]), tagged("calibrated", &[]));
    assert_ne!(tagged("model", &["--marginals"]), tagged("calibrated", &["--marginals"]));
    let eval = |model: &str| {
        let mut command = crfkit();
        command.args(["eval", "--calibration", "--json", "-m"]).arg(path(model)).arg(&test);
        json_lines(&output(&mut command))[0]["calibration"].clone()
    };
    let (before, after) = (eval("model"), eval("calibrated"));
    assert_eq!(after["without_temperature"]["labels"], before["labels"]);
    assert!(after["labels"]["error"].as_f64() < before["labels"]["error"].as_f64(), "{before} {after}");
    assert!(failure(&mut calibrate("model", "model"), 2).contains("the model"));
    let mut command = crfkit();
    output(
        command
            .arg("train")
            .arg(demo().join("small.tsv"))
            .args(["--method", "ep1", "--quiet", "-m"])
            .arg(path("counts")),
    );
    assert!(failure(&mut calibrate("counts", "x"), 1).contains("only models of plain chains with weights"));
}

/// Labels may be missing: models learn from what is known, and are compared on the tokens that have exactly one label.
#[test]
fn missing_labels_are_not_compared() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let text = fs::read_to_string(demo().join("small.tsv")).unwrap();
    let (mut known, mut partial, mut number) = (0u64, String::new(), 0);
    for line in text.split_inclusive("\n\n").take(80).flat_map(str::lines) {
        let Some((word, label)) = line.split_once('\t') else {
            partial.push('\n');
            continue;
        };
        number += 1;
        known += u64::from(number % 5 > 1);
        let label = match number % 5 {
            0 => "?".into(),
            1 => format!("{label}|OTHER"),
            2 => format!("{label}|{label}"),
            _ => label.to_owned(),
        };
        partial += &format!("{word}\t{label}\n");
    }
    fs::write(path("partial.tsv"), partial).unwrap();
    let train = ["--partial-labels", "--optimizer", "lbfgs", "--passes", "8", "--quiet", "--output", "json"];
    let mut cv = crfkit();
    let scores =
        &json_lines(&output(cv.args(["cv", "--folds", "4"]).args(train).arg(path("partial.tsv"))))[0];
    let tokens = scores["folds"].as_array().unwrap().iter().map(|fold| fold["tokens"].as_u64().unwrap());
    assert_eq!(tokens.sum::<u64>(), known);
    // The score of search is that of eval.
    let mut search = crfkit();
    search.args(["search", "-m"]).arg(path("model")).args(train).args(["--sigma", "1"]).arg("--dev");
    search.arg(path("partial.tsv")).arg(path("partial.tsv"));
    let point = &json_lines(&output(&mut search))[0];
    let eval = |arguments: &[&str]| {
        let mut eval = crfkit();
        eval.args(["eval", "--json", "-m"]).arg(path("model")).args(arguments).arg(path("partial.tsv"));
        json_lines(&output(&mut eval))[0].clone()
    };
    let partial = eval(&["--partial-labels"]);
    assert_eq!((&partial["tokens"], &partial["f1"]), (&json!(known), &point["score"]));
    assert!(eval(&[])["f1"].as_f64() < partial["f1"].as_f64());
    // Of data without any label there are no scores.
    fs::write(path("none.tsv"), "cups\t?\n\n".repeat(3)).unwrap();
    let mut search = crfkit();
    search.arg("search").args(train).arg("--dev").arg(path("none.tsv")).arg(path("partial.tsv"));
    assert!(failure(&mut search, 2).contains("no gold label to compare with"));
}
