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
    assert!(message.contains("1 column, but the model needs 2"), "{message}");
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
        [(&["--output", "crfpp"][..], "plain chains"), (&["--format", "attributes"], "columns")]
    {
        let mut command = crfkit();
        command.arg("tag").arg("-m").arg(path.join("m")).args(options).write_stdin("Bo\n");
        let message = failure(&mut command, 2);
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

/// The probabilities of restricted answers, lists and chunks of both kinds of chain agree with each other.
#[test]
fn restricted_answers_and_lists_of_the_best() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let input = "Ana\t?\tB-LOC|O\nsaw\tV|N\t?\nRome\tN\t?\n";
    let tag = |arguments: &[&str], input: &str| {
        let mut command = crfkit();
        command.args(["tag", "-m"]).arg(path("m")).args(arguments).write_stdin(input.to_owned());
        command
    };
    let json = |arguments: &[&str], input: &str| {
        json_lines(&output(&mut tag(&[&["--output", "json"], arguments].concat(), input))).remove(0)
    };
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    for (graph, allowed, engine) in [
        (&["--graph", "factorial", "--label-column", "1,2"][..], "1,2", &[][..]),
        (&["--graph", "skip-chain", "--skip", "same(0) and capitalised(0)"], "2", &["--inference", "exact"]),
    ] {
        output(&mut train(directory.path(), &[graph, &["--quiet", "--sigma", "0.5"]].concat()));
        let columns = if allowed == "2" { 1 } else { 2 };
        let names = json(&[&["--marginals=all"], engine].concat(), input);
        let free = json(&[&["--nbest", "100000", "--probability"], engine].concat(), input);
        let list = free["nbest"].as_array().unwrap();
        let per_token: Vec<usize> =
            (0..columns).map(|c| names["marginals"][c][0].as_object().unwrap().len()).collect();
        assert_eq!(list.len(), per_token.iter().product::<usize>().pow(3));
        assert_eq!((&free["labels"], &free["probability"]), (&list[0]["labels"], &list[0]["probability"]));
        let sum: f64 = list.iter().map(|ranked| number(&ranked["probability"])).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        // Restricted: the same list without what is forbidden, and the probabilities given the restriction.
        let last = columns - 1;
        let obeys = |labels: &serde_json::Value| {
            let first = labels[last][0].as_str().unwrap();
            let rest =
                columns == 1 || ["V", "N"].contains(&labels[0][1].as_str().unwrap()) && labels[0][2] == "N";
            ["B-LOC", "O"].contains(&first) && rest
        };
        let kept: Vec<_> = list.iter().filter(|ranked| obeys(&ranked["labels"])).collect();
        let z: f64 = kept.iter().map(|ranked| number(&ranked["probability"])).sum();
        let limited = [&["--allowed", allowed, "--marginals=all", "--confidence"], engine].concat();
        let answer = json(&limited, input);
        assert_eq!(answer["labels"], kept[0]["labels"]);
        assert!((number(&answer["probability"]) - number(&kept[0]["probability"]) / z).abs() < 1e-9);
        let entropy: f64 =
            kept.iter().map(|ranked| number(&ranked["probability"]) / z).map(|p| -p * p.ln()).sum();
        assert!((number(&answer["entropy"]) - entropy).abs() < 1e-6);
        for (label, p) in answer["marginals"][last][1].as_object().unwrap() {
            let with = kept.iter().filter(|ranked| ranked["labels"][last][1] == **label);
            let expected = with.map(|ranked| number(&ranked["probability"])).sum::<f64>() / z;
            assert!((number(p) - expected).abs() < 1e-9, "{label}: {p} against {expected}");
        }
        // All chunks here are single tokens, so each is as probable as its label.
        let chunks = answer["chunks"][last].as_array().unwrap();
        assert!(!chunks.is_empty() && answer["chunks"].as_array().unwrap().len() == columns);
        for chunk in chunks {
            let token = number(&chunk["start"]) as usize;
            let label = format!("B-{}", chunk["label"].as_str().unwrap());
            let expected = number(&answer["marginals"][last][token][&label]);
            assert!((number(&chunk["probability"]) - expected).abs() < 1e-9);
        }
        // In columns.
        let text = output(&mut tag(&[&["--allowed", allowed, "--nbest", "2"], engine].concat(), input));
        let headers: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
        assert!(headers.len() == 2 && headers[1].starts_with("# 1 0."), "{text}");
        assert_eq!(headers[0], format!("# 0 {:.6}", number(&answer["probability"])));
        let text = output(&mut tag(&[&["--confidence"], engine].concat(), input));
        let fields: Vec<&str> = text.lines().nth(1).unwrap().split('\t').collect();
        assert_eq!(fields.len(), 3 + 2 * columns, "{text}");
        assert!(text.starts_with("# 0."));
        let threads = ["--threads", "3", "--nbest", "4"];
        let repeated = format!("{input}\n").repeat(50);
        let one = output(&mut tag(&[&["--nbest", "4"], engine].concat(), &repeated));
        assert_eq!(output(&mut tag(&[&threads, engine].concat(), &repeated)), one);
        // Mistakes.
        for (arguments, input, expected) in [
            (&["--allowed", allowed][..], "Ana\tQ\tQ\n", ":1: the model has no label `Q`"),
            (&["--allowed", "1,2,1"], input, "tokens have"),
        ] {
            let message = failure(&mut tag(&[arguments, engine].concat(), input), 1);
            assert!(message.contains(expected), "{message}");
        }
    }
    // Skip chains are approximate by default.
    for question in [&["--nbest", "2"][..], &["--probability"], &["--confidence"]] {
        let message = failure(&mut tag(question, input), 1);
        assert!(message.contains("standard input:1: ") && message.contains("`inference` exact"), "{message}");
    }
    output(&mut tag(&["--allowed", "2"], input));
}
