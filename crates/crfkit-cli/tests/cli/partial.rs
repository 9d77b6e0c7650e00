//! Data whose labels are partly known: scores, pages, calibration, and what is said without the flag.

use crate::common;

use common::{crfkit, failure, json_lines, output, page_data, scratch};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Word, kind of word, chunk, of which some are not known.
const TRAIN: &str = "\
Ana\tN\tB-PER
saw\tV\tO
the\tD|N\tO
cat\tN\t?

Rome\tN\tB-LOC
saw\t?\tO
Ana\tN\tB-PER|B-LOC

";
/// The same with one mistake in each column of labels.
const TEST: &str = "\
Ana\tN\tB-PER
saw\tN\tO
the\t?\tO
cat\tN|V\t?

Rome\tN\tB-PER
saw\t?\t?
Ana\t?|N\tB-PER|B-PER

";
const KINDS: [&[&str]; 3] = [
    &["--graph", "factorial", "--label-column", "1,2"],
    &["--graph", "skip-chain", "--skip", "same(0)", "--inference", "exact"],
    &[],
];

/// Trains with partial labels; the template reads the word alone.
fn train(directory: &Path, kind: &[&str], more: &[&str]) -> assert_cmd::Command {
    fs::write(directory.join("train"), TRAIN.repeat(6)).unwrap();
    fs::write(directory.join("test"), TEST).unwrap();
    fs::write(directory.join("tpl"), "U:%x[0,0]\nB\n").unwrap();
    let mut command = crfkit();
    command.current_dir(directory).args(["train", "train", "-m", "m", "--template", "tpl"]);
    command.args(["--partial-labels", "--sigma", "5", "--passes", "30"]).args(kind).args(more);
    command
}

/// Right and compared labels of each label column, counted from what `tag` says: a label counts if it is the only one that is possible.
fn counted(directory: &Path, columns: &[usize]) -> (Vec<(u64, u64)>, (u64, u64)) {
    let tagged = output(crfkit().current_dir(directory).args(["tag", "-m", "m", "test"]));
    let mut found = vec![(0, 0); columns.len()];
    let mut joint = (0, 0);
    for row in tagged.lines().filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = row.split('\t').collect();
        let mut all = None;
        for (c, &column) in columns.iter().enumerate() {
            let gold = match fields[column] {
                "B-PER|B-PER" => "B-PER",
                text if text.contains(['?', '|']) => continue,
                text => text,
            };
            let right = gold == fields[3 + c];
            found[c] = (found[c].0 + u64::from(right), found[c].1 + 1);
            all = Some(all.unwrap_or(true) && right);
        }
        if let Some(right) = all {
            joint = (joint.0 + u64::from(right), joint.1 + 1);
        }
    }
    (found, joint)
}

fn percent((right, all): (u64, u64)) -> f64 {
    100.0 * right as f64 / all as f64
}

#[test]
fn only_tokens_with_one_gold_label_are_compared() {
    let directory = scratch();
    let path = directory.path();
    let eval = |more: &[&str]| {
        let mut command = crfkit();
        command.current_dir(path).args(["eval", "-m", "m", "--json", "test"]).args(more);
        let assert = command.assert().success();
        let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        (serde_json::from_slice::<Value>(&assert.get_output().stdout).unwrap(), said)
    };
    for kind in KINDS {
        output(&mut train(path, kind, &["--quiet"]));
        let factorial = kind.contains(&"factorial");
        let (columns, joint) = counted(path, if factorial { &[1, 2] } else { &[2] });
        let (scores, said) = eval(&["--partial-labels"]);
        let of = |k: usize| if kind.is_empty() { &scores } else { &scores["columns"][k] };
        for (k, column) in columns.iter().enumerate() {
            assert!(column.0 < column.1 && column.0 > 0, "{column:?}");
            assert_eq!(
                (of(k)["accuracy"].as_f64(), of(k)["tokens"].as_u64()),
                (Some(percent(*column)), Some(column.1))
            );
        }
        if !kind.is_empty() {
            assert_eq!(
                (scores["joint_accuracy"].as_f64(), scores["tokens"].as_u64()),
                (Some(percent(joint)), Some(joint.1))
            );
        }
        assert_eq!(said, "");
        // Its calibration is of the same labels, and so is the page.
        let (calibrated, _) = eval(&["--partial-labels", "--calibration"]);
        let bins = calibrated["calibration"]["labels"]["bins"].as_array().unwrap();
        let compared: u64 = bins.iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
        assert_eq!(compared, columns.iter().map(|(_, all)| all).sum::<u64>());
        let report = ["report", "-m", "m", "--test", "test", "--partial-labels", "-o", "page.html"];
        crfkit().current_dir(path).args(report).assert().success().stderr("");
        let page = page_data(&path.join("page.html"));
        for (k, (right, all)) in columns.iter().enumerate() {
            let part = &page["evaluations"][k];
            assert_eq!(part["scores"]["tokens"].as_u64(), Some(*all));
            let samples = part["samples"].as_array().unwrap().iter();
            let tokens: Vec<&Value> =
                samples.flat_map(|sample| sample["tokens"].as_array().unwrap()).collect();
            let known = tokens.iter().filter(|token| !token["gold"].is_null());
            let wrong = known.clone().filter(|token| token["gold"] != token["predicted"]);
            assert_eq!((known.count() as u64, wrong.clone().count() as u64), (*all, all - right));
            assert!(wrong.clone().all(|token| !token["reason"].is_null()));
            assert!(tokens.iter().all(|token| !token["gold"].is_null() || token["reason"].is_null()));
        }
        // Without the flag, they count as errors, and a note says what helps.
        let (scores, said) = eval(&[]);
        let of = |k: usize| if kind.is_empty() { &scores } else { &scores["columns"][k] };
        assert_eq!(of(0)["tokens"], 7);
        assert!(
            said.contains("labels that the model does not know: ") && said.contains("--partial-labels"),
            "{said}"
        );
        let without = ["report", "-m", "m", "--test", "test", "-o", "page.html"];
        let run = crfkit().current_dir(path).args(without).assert().success();
        assert!(String::from_utf8(run.get_output().stderr.clone()).unwrap().contains("--partial-labels"));
        // Where all labels are known, the flag changes nothing; other unknown labels have no hint.
        fs::write(path.join("test"), "Ana\tN\tB-PER\nsaw\tV\tX\n").unwrap();
        let ((complete, said), (with, _)) = (eval(&[]), eval(&["--partial-labels"]));
        assert_eq!(complete, with);
        assert!(said.contains("does not know: X") && !said.contains("--partial-labels"), "{said}");
        // Nothing to compare.
        fs::write(path.join("test"), "Ana\tN\t?\nsaw\t?\tO|B-PER\n").unwrap();
        if !factorial {
            let mut command = crfkit();
            let message =
                failure(command.current_dir(path).args(["eval", "-m", "m", "test", "--partial-labels"]), 1);
            assert!(message.contains("test: no token in it has exactly one gold label"), "{message}");
        }
    }
}

/// What training says of its model at its end is about the same labels as its scores on the development data.
#[test]
fn the_end_of_training_compares_known_labels() {
    let directory = scratch();
    for kind in KINDS {
        let more = ["--dev", "train", "--shrink", "0.0001", "--report", "page.html"];
        let run = train(directory.path(), kind, &more).assert().success();
        let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(said.contains("on train: accuracy 100.00 → 100.00"), "{said}");
        let page = page_data(&directory.path().join("page.html"));
        assert_eq!(page["evaluations"][0]["scores"]["accuracy"], 100.0);
    }
}

#[test]
fn a_temperature_is_fitted_to_what_is_known() {
    let directory = scratch();
    let path = directory.path();
    output(&mut train(path, &[], &["--quiet"]));
    let calibrate = |more: &[&str]| {
        let mut command = crfkit();
        command.current_dir(path).args(["calibrate", "-m", "m", "test", "-o", "warm"]).args(more);
        command
    };
    let run = calibrate(&["--partial-labels"]).assert().success();
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(said.contains("-log p of 2 sequences") && !said.contains("left out"), "{said}");
    let temperature: f64 =
        said.split("temperature ").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    assert!(temperature > 1.0, "the model is sure of a mistake: {said}");
    let message = failure(&mut calibrate(&[]), 1);
    assert!(
        message.contains("the model does not know the label ?") && message.contains("--partial-labels"),
        "{message}"
    );
    // At the end of training, too.
    let run = train(path, &[], &["--dev", "test", "--calibrate"]).assert().success();
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(said.contains("-log p of 2 sequences"), "{said}");
}

/// Running text has words alone.
#[test]
fn text_is_for_models_of_words() {
    let directory = scratch();
    let path = directory.path();
    let tag = |more: &[&str]| {
        let mut command = crfkit();
        command.current_dir(path).args(["tag", "--text", "-m", "m"]).args(more).write_stdin("Ana saw Rome\n");
        command
    };
    for kind in KINDS {
        output(&mut train(path, kind, &["--quiet"]));
        assert!(output(&mut tag(&[])).starts_with("Ana\t"));
    }
    let more: [(&[&str], &str, &str); 4] = [
        (&[], "U:%x[0,0]\nU:%x[-1,1]\nB\n", "column 1 "),
        (&["--graph", "skip-chain", "--skip", "same(0)"], "U:%x[0,0]\nU:%x[-1,1]\nB\n", "column 1 "),
        (&["--graph", "skip-chain", "--skip", "same(1)"], "U:%x[0,0]\nB\n", "column 1 "),
        (&["--dense", "1"], "U:%x[0,0]\nB\n", "column 1 "),
    ];
    for (kind, template, column) in more {
        let mut command = train(path, kind, &["--quiet"]);
        fs::write(path.join("tpl"), template).unwrap();
        if kind.contains(&"--dense") {
            let numbers = TRAIN.replace("\tN\t", "\t1\t").replace("\tV\t", "\t2\t");
            fs::write(path.join("train"), numbers.replace("\tD|N\t", "\t3\t").replace("\t?\tO", "\t4\tO"))
                .unwrap();
        }
        output(&mut command);
        let message = failure(&mut tag(&[]), 1);
        let wanted = format!("trained on 3 columns, the label included, and reads {column}");
        assert!(
            message.contains(&wanted) && message.contains("train a model that reads the words alone"),
            "{message}"
        );
    }
    let graphs =
        crfkit().current_dir(path).args(["train", "--method", "ep1", "train", "-m", "m", "--quiet"]).assert();
    graphs.success();
    assert!(output(&mut tag(&[])).starts_with("Ana\t"));
}

/// The lead of the best labelling is that of the n-best list, for every kind of model with exact inference.
#[test]
fn inputs_are_ranked_by_whole_labellings() {
    let directory = scratch();
    let path = directory.path();
    let run = |arguments: &[&str]| {
        let mut command = crfkit();
        command.current_dir(path).args(arguments);
        command
    };
    let node = |feature: &str, label: &str| {
        format!(r#"{{"type": "n", "features": ["{feature}"], "label": "{label}"}}"#)
    };
    let edge = |a: usize, b: usize| format!(r#"{{"type": "e", "nodes": [{a}, {b}]}}"#);
    let graph = |nodes: &[String], edges: &[String]| {
        format!(r#"{{"nodes": [{}], "factors": [{}]}}"#, nodes.join(", "), edges.join(", "))
    };
    let types = r#"{"types": {"n": {"labels": ["A", "B"]}, "e": {"over": ["n", "n"]}}}"#;
    let triangle =
        graph(&[node("x", "A"), node("y", "B"), node("x", "A")], &[edge(0, 1), edge(1, 2), edge(0, 2)]);
    let pair = graph(&[node("y", "B"), node("z", "B")], &[edge(0, 1)]);
    let graphs = format!("{types}\n{triangle}\n{pair}\n");
    for (k, kind) in KINDS.iter().chain([&&["--graph", "file"][..]]).enumerate() {
        match k {
            3 => {
                fs::write(path.join("test"), &graphs).unwrap();
                output(&mut run(&["train", "--graph", "file", "test", "-m", "m", "--quiet"]));
            }
            _ => output(&mut train(path, kind, &["--quiet"])).clear(),
        }
        let exact: &[&str] = if k == 1 || k == 3 { &["--inference", "exact"] } else { &[] };
        let tag = ["tag", "-m", "m", "test", "--nbest", "2", "--output", "json"];
        let tag = if k == 3 { &tag[..6] } else { &tag };
        let answers = json_lines(&output(&mut run(&[tag, exact].concat())));
        let mut leads: Vec<f64> = Vec::new();
        for answer in answers.iter().filter(|answer| answer.get("nbest").is_some()) {
            let p = |k: usize| answer["nbest"][k]["probability"].as_f64().unwrap();
            assert_eq!(answer["labels"], answer["nbest"][0]["labels"]);
            leads.push(p(0).ln() - p(1).ln());
        }
        leads.sort_by(f64::total_cmp);
        for (by, sorted) in [("margin", true), ("entropy", false)] {
            let rank = ["rank", "-m", "m", "test", "--by", by, "--output", "json"];
            let found = json_lines(&output(&mut run(&[&rank[..], exact].concat())));
            let scores: Vec<f64> = found.iter().map(|object| object["score"].as_f64().unwrap()).collect();
            assert_eq!(scores.len(), 2, "{found:?}");
            match sorted {
                true => assert!(
                    scores.iter().zip(&leads).all(|(a, b)| (a - b).abs() < 1e-9),
                    "{scores:?} {leads:?}"
                ),
                false => assert!(scores[0] >= scores[1] && scores[1] > 0.0, "{scores:?}"),
            }
        }
        if k == 1 || k == 3 {
            let rank = ["rank", "-m", "m", "test", "--by", "margin", "--inference", "loopy-bp"];
            let message = failure(&mut run(&rank), 1);
            assert!(message.contains("need exact inference: use `inference` exact"), "{message}");
        }
    }
}
