//! Factorial and skip chains through the program: train, tag, eval, and what is refused.

use crate::common;

use common::{crfkit, failure, json_lines, output, page_data, scratch};
use crfkit::model::dump::read_dump;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Word, kind of word, chunk: both labels follow from the word, and from each other.
fn data(sequences: usize) -> String {
    let mut text = String::new();
    for k in 0..sequences {
        let name = ["Ana", "Bo", "Rome"][k % 3];
        let kind = if name == "Rome" { "LOC" } else { "PER" };
        write!(text, "{name} N B-{kind}\nsaw V O\nthe D O\ncat N O\n{name} N B-{kind}\n\n").unwrap();
    }
    text
}

fn train(directory: &Path, options: &[&str]) -> assert_cmd::Command {
    fs::write(directory.join("data"), data(12)).unwrap();
    let mut command = crfkit();
    command.arg("train").arg(directory.join("data")).arg("-m").arg(directory.join("m")).args(options);
    command.args(["--passes", "15"]);
    command
}

#[test]
fn a_factorial_chain_from_file_to_scores() {
    let directory = scratch();
    let (model, file) = (directory.path().join("m"), directory.path().join("data"));
    let log = directory.path().join("log");
    let options = ["--graph", "factorial", "--label-column", "1,2", "--preset", "factorial"];
    for more in [&["--objective", "piecewise-pseudo"][..], &["--inference", "loopy-bp"], &[]] {
        train(directory.path(), &[&options, more].concat()).arg("--log").arg(&log).assert().success();
        let scores = output(crfkit().args(["eval", "--json", "-m"]).arg(&model).arg(&file));
        let scores: serde_json::Value = serde_json::from_str(&scores).unwrap();
        assert_eq!(scores["joint_accuracy"], 100.0, "{scores}");
        assert_eq!(
            (&scores["columns"][0]["column"], &scores["columns"][1]["f1"]),
            (&1.into(), &100.0.into())
        );
        assert_eq!(scores["columns"][1]["token_f1"]["PER"]["f1"], 100.0);
    }
    assert!(fs::read_to_string(&log).unwrap().lines().count() > 3);
    let text = output(crfkit().args(["eval", "--decode", "max-marginal", "-m"]).arg(&model).arg(&file));
    assert!(text.contains("label column 1") && text.contains("joint accuracy:        100.00%"), "{text}");
    // A smaller model says what it costs.
    let size = fs::metadata(&model).unwrap().len();
    let smaller = [&options[..], &["--shrink", "0.01", "--precision", "f16"]].concat();
    let assert = train(directory.path(), &smaller).assert().success();
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(text.contains("smaller model: ") && text.contains("accuracy 100.00 → "), "{text}");
    assert!(fs::metadata(&model).unwrap().len() < size);
    let options = [&options[..], &["--optimizer", "lbfgs"]].concat();
    let objectives = |more: &[&str]| -> Vec<f64> {
        let log_option = ["--quiet", "--log", log.to_str().unwrap()];
        train(directory.path(), &[&options[..], &log_option, more].concat()).assert().success();
        let events = json_lines(&fs::read_to_string(&log).unwrap());
        events
            .iter()
            .filter(|event| event["event"] == "progress")
            .map(|e| e["objective"].as_f64().unwrap())
            .collect()
    };
    // A run starts at the weights of another, and a narrow prior around them holds them where they are.
    let before = objectives(&[]);
    fs::copy(&model, directory.path().join("first")).unwrap();
    let first = directory.path().join("first").to_str().unwrap().to_owned();
    let after = objectives(&["--init", &first]);
    assert!(
        (after[0] - before[before.len() - 1]).abs() < 1e-9 && after[0] < 0.9 * before[0],
        "{before:?} {after:?}"
    );
    let weights = |model: &Path| -> Vec<f64> {
        let dump = output(crfkit().args(["inspect", "--dump"]).arg(model));
        read_dump(dump.as_bytes(), "dump").unwrap().weights.into_iter().map(|w| w.weight).collect()
    };
    objectives(&["--prior-mean", &first, "--sigma", "0.0001"]);
    assert!(weights(Path::new(&first)).iter().zip(weights(&model)).all(|(a, b)| (a - b).abs() < 1e-3));
    let chain = directory.path().join("chain");
    crfkit().args(["train", "--quiet", "--passes", "1", "-m"]).arg(&chain).arg(&file).assert().success();
    let message = failure(
        &mut train(directory.path(), &[&options[..], &["--init", chain.to_str().unwrap()]].concat()),
        1,
    );
    assert!(message.contains("one of factorial or skip chains is needed"), "{message}");
    let message = failure(crfkit().arg("train").arg(&file).arg("-m").arg(&chain).args(["--init", &first]), 1);
    assert!(message.contains("one of plain chains"), "{message}");
    // As a page: the run, what was learned, and each label column with its samples.
    let (page, dev) = (directory.path().join("page.html"), file.to_str().unwrap());
    objectives(&["--dev", dev, "--report", page.to_str().unwrap()]);
    let written = page_data(&page);
    assert!(written["runs"].as_array().unwrap().len() == 1 && written["model"]["all_labels"] == 6);
    let evaluations = written["evaluations"].as_array().unwrap();
    assert_eq!((evaluations.len(), &evaluations[1]["scores"]["f1"]), (2, &100.0.into()));
    assert!(evaluations[1]["name"].as_str().unwrap().ends_with("label column 2"));
    assert_eq!(evaluations[0]["samples"][0]["tokens"][1]["text"], "saw");
    let of = |k: usize| written["model"]["features"][k]["of"].as_str().unwrap();
    assert_eq!((of(0), of(6)), ("D (column 1)", "transition of column 1"));
    output(crfkit().args(["report", "--test", dev, "-m"]).arg(&model).arg("-o").arg(&page));
    let again = page_data(&page);
    assert_eq!(
        (&again["model"]["features"], &again["evaluations"]),
        (&written["model"]["features"], &written["evaluations"])
    );
    fs::copy(&first, &model).unwrap();
    // What was learned, to read and for programs.
    let inspect = |options: &[&str]| output(crfkit().arg("inspect").arg(&model).args(options));
    let text = inspect(&["--top", "2"]);
    for piece in [
        "labels        column 2: 3: B-LOC B-PER O",
        "graph         factorial chain",
        "inference",
        "heaviest weights of transition of column 1",
        "heaviest weights of columns 1 and 2",
        "heaviest observations of N (column 1)",
    ] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    assert!(inspect(&["--label", "B-LOC"]).contains("columns 1 and 2: N, B-LOC"));
    assert!(inspect(&["--observation", "U:w[0]=Rome"]).contains("B-LOC"));
    let dump = read_dump(inspect(&["--dump"]).as_bytes(), "dump").unwrap();
    assert!(dump.parts.len() == 5 && dump.labels.len() == 6, "{:?}", dump.parts);
    failure(crfkit().arg("inspect").arg(&model).args(["--label", "nope"]), 1);
    // New text has no labels.
    let tag = |options: &[&str]| {
        output(crfkit().arg("tag").arg("-m").arg(&model).args(options).write_stdin("Rome\nsaw\n"))
    };
    assert_eq!(tag(&[]), "Rome\tN\tB-LOC\nsaw\tV\tO\n\n");
    assert_eq!(tag(&["--decode", "max-marginal", "--inference", "trw"]), tag(&[]));
    assert_eq!(tag(&["--output", "json"]), "{\"labels\":[[\"N\",\"V\"],[\"B-LOC\",\"O\"]]}\n");
    assert_eq!(json_lines(&tag(&["--output", "json", "--marginals"]))[0]["converged"], true);
    let row: Vec<f64> = tag(&["--marginals"]).split('\t').filter_map(|field| field.parse().ok()).collect();
    assert!(row.len() >= 2 && row.iter().all(|p| (0.5..=1.0).contains(p)), "{row:?}");
}

#[test]
fn a_skip_chain_from_file_to_scores() {
    let directory = scratch();
    let (model, file) = (directory.path().join("m"), directory.path().join("data"));
    let options = ["--graph", "skip-chain", "--skip", "same(0) and capitalised(0)", "--quiet"];
    for more in [
        &[][..],
        &["--bp-iterations", "50", "--damping", "0.3", "--bp-tolerance", "1e-6", "--restarts", "1"],
        &["--schedule", "residual"],
        &["--inference", "double-loop"],
        &["--skip-observations", "--inference", "exact"],
        &["--objective", "pseudolikelihood"],
    ] {
        train(directory.path(), &[&options, more].concat()).assert().success();
        let text = output(crfkit().arg("eval").arg("-m").arg(&model).arg(&file));
        assert!(text.contains("LOC: token precision 100.00%") && !text.contains("joint"), "{text}");
    }
    let text = output(crfkit().arg("inspect").arg(&model));
    for piece in
        ["skips: same(0) and capitalised(0)", "heaviest weights of skip", "heaviest observations of B-LOC"]
    {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    let message = failure(crfkit().arg("tag").arg("-m").arg(&model).write_stdin("a\n"), 1);
    assert!(message.contains("1 columns, but the model needs 2"), "{message}");
}

/// With --dev the best model is kept, and --checkpoint leaves nothing behind when the run is over.
#[test]
fn development_data_and_checkpoints_are_for_linked_chains_too() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (dev, checkpoint, log) = (path("data"), path("checkpoint"), path("log"));
    let options = ["--graph", "factorial", "--label-column", "1,2", "--quiet", "--optimizer", "lbfgs"];
    let more = ["--dev", &dev, "--patience", "2", "--checkpoint", &checkpoint, "--log", &log];
    train(directory.path(), &[&options[..], &more].concat()).assert().success();
    assert!(!fs::exists(&checkpoint).unwrap(), "a finished run removes it");
    let text = fs::read_to_string(&log).unwrap();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let best = events.iter().rfind(|event| event["event"] == "eval" && event["best"] == true);
    let best = best.expect("an evaluation");
    assert_eq!((&best["accuracy"], &best["f1"]), (&100.0.into(), &serde_json::Value::Null));
    assert!(text.contains("development score no longer improves"), "{text}");
    fs::write(&checkpoint, "no checkpoint").unwrap();
    let message = failure(&mut train(directory.path(), &[&options[..], &more].concat()), 1);
    assert!(message.contains("checkpoint"), "{message}");
}

#[test]
fn options_that_do_not_fit_are_refused_with_a_remedy() {
    let directory = scratch();
    let path = directory.path();
    for (options, remedy) in [
        (&["--label-column", "1,2"][..], "--graph factorial"),
        (&["--graph", "skip-chain"], "--skip 'same(0)"),
        (&["--graph", "factorial", "--skip", "same(0)"], "--graph skip-chain"),
        (&["--inference", "trw"], "solved exactly"),
        (&["--restarts", "2"], "solved exactly"),
        (&["--graph", "skip-chain", "--skip", "same(0)", "--damping", "1"], "--damping must be at least 0"),
        (
            &[
                "--graph",
                "skip-chain",
                "--skip",
                "same(0)",
                "--inference",
                "mean-field",
                "--schedule",
                "residual",
            ],
            "--schedule does not apply to --inference mean-field, only to loopy-bp",
        ),
        (&["--graph", "skip-chain", "--skip", "some(0)"], "write same(COLUMN)"),
        (
            &["--graph", "factorial", "--label-column", "1,2", "--shrink", "-1"],
            "--shrink is -1, but it must be 0",
        ),
        (&["--graph", "factorial", "--label-column", "1,2", "--format", "attributes"], "columns"),
    ] {
        let message = failure(&mut train(path, options), 2);
        assert!(message.contains(remedy), "{message}");
    }
    let message = failure(&mut train(path, &["--graph", "factorial"]), 2);
    assert!(message.contains("--label-column 1,2"), "{message}");
    train(path, &["--graph", "factorial", "--label-column", "1,2", "--quiet"]).assert().success();
    for (options, remedy) in
        [(&["--nbest", "2"][..], "only plain chains"), (&["--format", "attributes"], "columns")]
    {
        let message = failure(crfkit().arg("tag").arg("-m").arg(path.join("m")).args(options), 2);
        assert!(message.contains(remedy), "{message}");
    }
}

/// `?` and `A|B` in any label column; without the flag they are labels like any other.
#[test]
fn labels_may_be_missing() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let text = "a X p\nb X|Y ?\nc Y q\n\na X p|q\nb X|Z r\nc ? q\n\n";
    fs::write(path("data"), text.repeat(10)).unwrap();
    fs::write(path("U.tpl"), "U0:%x[0,0]\nB\n").unwrap();
    let train = |options: &[&str]| {
        let mut command = crfkit();
        command.args(["train", "--quiet", "-m"]).arg(path("m")).arg(path("data")).args(options);
        command.args(["--sigma", "5", "--template"]).arg(path("U.tpl"));
        command
    };
    let tag = || output(crfkit().args(["tag", "-m"]).arg(path("m")).write_stdin("a ? ?\nb ? ?\nc ? ?\n"));
    let factorial = ["--graph", "factorial", "--label-column", "1,2"];
    let skip = ["--graph", "skip-chain", "--skip", "same(0)", "--label-column", "1"];
    for (options, expected) in [
        (&factorial[..], "a\t?\t?\tX\tp\nb\t?\t?\tX\tr\nc\t?\t?\tY\tq\n\n"),
        (&skip, "a\t?\t?\tX\nb\t?\t?\tX\nc\t?\t?\tY\n\n"),
    ] {
        output(&mut train(&[options, &["--partial-labels"]].concat()));
        assert_eq!(tag(), expected);
        output(&mut train(&[options, &["--partial-labels", "--objective", "pseudolikelihood"]].concat()));
        output(&mut train(options));
        assert!(tag().contains("X|"), "{}", tag());
    }
    let refused = |options: &[&str], status| {
        failure(&mut train(&[&factorial, &["--partial-labels"][..], options].concat()), status)
    };
    assert!(refused(&["--scheme", "iob2"], 2).contains("--scheme"));
    assert!(refused(&["--optimizer", "saga"], 1).contains("--optimizer saga needs"));
    assert!(refused(&["--pieces", "bethe", "--objective", "piecewise"], 1).contains("--pieces bethe needs"));
    let mut grid = crfkit();
    grid.args(["train", "--graph", "grid", "--images", ".", "--masks", ".", "-m", "m", "--partial-labels"]);
    assert!(failure(&mut grid, 2).contains("--unlabelled"));
}
