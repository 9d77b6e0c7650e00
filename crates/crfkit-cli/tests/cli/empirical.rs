//! `crfkit train --method` and `--init empirical`: models made of counts, from training to inspection.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use std::fs;
use std::path::Path;

/// Trains on the small part of the demo.
fn train(model: &Path, options: &[&str]) -> assert_cmd::Command {
    let mut command = crfkit();
    command.arg("train").arg(demo().join("small.tsv")).arg("-m").arg(model).args(options);
    command
}

/// The scores of a model on the demo's test data.
fn scores(model: &Path) -> serde_json::Value {
    let text = output(crfkit().args(["eval", "--json", "-m"]).arg(model).arg(demo().join("test.tsv")));
    serde_json::from_str(&text).unwrap()
}

/// A file with this text.
fn file(directory: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn all_methods_learn_and_are_the_same_for_any_number_of_threads() {
    let directory = scratch();
    for method in ["ep1", "ep2"] {
        for pairs in ["tags", "lexical"] {
            let models: Vec<Vec<u8>> = ["1", "2", "3"]
                .iter()
                .map(|threads| {
                    let model = directory.path().join(format!("{method}{pairs}{threads}"));
                    // Four blocks' worth of sequences, so that every thread gets some.
                    let mut command = crfkit();
                    command.arg("train").arg(demo().join("train.tsv")).arg("-m").arg(&model);
                    command.args(["--method", method, "--pairs", pairs, "--threads", threads, "--quiet"]);
                    command.assert().success().stderr("").stdout("");
                    fs::read(model).unwrap()
                })
                .collect();
            assert!(models[0] == models[1] && models[0] == models[2], "{method} {pairs}");
            let scores = scores(&directory.path().join(format!("{method}{pairs}1")));
            let [known, unknown] = ["known_accuracy", "unknown_accuracy"].map(|key| scores[key].as_f64());
            assert!(known.unwrap() > 90.0 && unknown.unwrap() > 45.0, "{method} {pairs}: {scores}");
        }
    }
}

#[test]
fn held_out_data_choose_and_the_log_says_what_was_tried() {
    let directory = scratch();
    let [model, plain, log] = ["m", "plain", "run.jsonl"].map(|name| directory.path().join(name));
    let mut command = train(&model, &["--method", "ep1", "--heldout"]);
    let shown = command.arg(demo().join("test.tsv")).arg("--log").arg(&log).assert().success();
    let shown = String::from_utf8(shown.get_output().stderr.clone()).unwrap();
    assert!(
        shown.contains("300 sequences") && shown.contains("(chosen)") && shown.contains("next: "),
        "{shown}"
    );
    let events = json_lines(&fs::read_to_string(&log).unwrap());
    assert_eq!((&events[0]["event"], &events[0]["format"]), (&"settings".into(), &1.into()));
    assert_eq!((&events[0]["sequences"], &events[0]["labels"]), (&300.into(), &13.into()));
    assert_eq!(events[0]["settings"]["method"], "ep1");
    let trials: Vec<_> = events.iter().filter(|event| event["event"] == "trial").collect();
    let accuracy = |event: &serde_json::Value| event["accuracy"].as_f64().unwrap();
    let best = trials.iter().map(|event| accuracy(event)).fold(0.0, f64::max);
    let chosen: Vec<_> = trials.iter().filter(|event| event["best"] == true).collect();
    assert!(trials.len() > 5 && chosen.len() == 1 && accuracy(chosen[0]) == best, "{trials:?}");
    let stop = events.last().unwrap();
    assert_eq!(
        (&stop["event"], &stop["reason"], &stop["passes"]),
        (&"stop".into(), &"counted".into(), &1.0.into())
    );
    assert!(stop["seconds"].is_f64() && stop["objective"].is_null());
    assert_eq!(stop["model_bytes"], fs::metadata(&model).unwrap().len());
    // What was chosen on these data is at least as good on them.
    train(&plain, &["--method", "ep1", "--quiet"]).assert().success();
    let accuracy = |model: &Path| scores(model)["accuracy"].as_f64().unwrap();
    assert!(accuracy(&model) >= accuracy(&plain));
    // A page can be made of the log.
    let page = directory.path().join("page.html");
    crfkit().arg("report").arg(&log).arg("-o").arg(&page).assert().success();
}

#[test]
fn counts_of_two_halves_make_the_model_of_the_whole() {
    let directory = scratch();
    let text = fs::read_to_string(demo().join("small.tsv")).unwrap();
    let half = text.match_indices("\n\n").nth(120).unwrap().0 + 2;
    let parts = [&text[..half], &text[half..]];
    let [first, second] = [0, 1].map(|k| file(directory.path(), &format!("part{k}.tsv"), parts[k]));
    for pairs in ["tags", "lexical"] {
        let [whole, files, begun, both] = ["w", "f", "b", "bb"].map(|name| directory.path().join(name));
        let options = ["--method", "ep2", "--pairs", pairs, "--quiet"];
        train(&whole, &options).assert().success();
        let train_on = |model: &Path| {
            let mut command = crfkit();
            command.args(["train", "-m"]).arg(model).args(options);
            command
        };
        train_on(&files).args([&first, &second]).assert().success();
        train_on(&begun).arg(&first).assert().success();
        train_on(&both).arg(&second).arg("--init").arg(&begun).assert().success();
        let bytes = fs::read(&whole).unwrap();
        assert!(bytes == fs::read(&files).unwrap() && bytes == fs::read(&both).unwrap(), "{pairs}");
        assert!(bytes != fs::read(&begun).unwrap());
    }
}

#[test]
fn tags_like_any_other_model() {
    let directory = scratch();
    // P̃(A|x) = 3/4; both labels go with both neighbours equally often, so x is A with probability 3/4.
    let data = file(directory.path(), "d", "x A\n\nx A\n\nx A\n\nx B\n\ny B\n\ny B\n\n");
    let model = directory.path().join("m");
    crfkit().arg("train").arg(&data).args(["--method", "ep1", "-m"]).arg(&model).assert().success();
    let tag = |options: &[&str], text: &str| {
        output(crfkit().args(["tag", "-m"]).arg(&model).args(options).write_stdin(text))
    };
    assert_eq!(tag(&[], "x more\n\ny\tmore\n"), "x\tmore\tA\n\ny\tmore\tB\n\n");
    assert_eq!(tag(&["--marginals"], "x\n"), "x\tA\t0.750000\n\n");
    assert_eq!(tag(&["--nbest", "2"], "x\n"), "# 0 0.750000\nx\tA\n\n# 1 0.250000\nx\tB\n\n");
    assert_eq!(
        tag(&["--decode", "max-marginal", "--output", "crfpp", "--marginals"], "x\n"),
        "# 0.750000\nx\tA/0.750000\n\n"
    );
    let json =
        &json_lines(&tag(&["--output", "json", "--probability", "--marginals", "--nbest", "1"], "x\n"))[0];
    assert_eq!(json["labels"], serde_json::json!(["A"]));
    for p in [&json["probability"], &json["marginals"][0], &json["nbest"][0]["probability"]] {
        assert!((p.as_f64().unwrap() - 0.75).abs() < 1e-12, "{json}");
    }
    // An unknown word without spelling features: P̃(A) = 1/2.
    assert!(tag(&["--marginals"], "new\n").ends_with("\t0.500000\n\n"));
    let message =
        failure(crfkit().args(["tag", "--format", "attributes", "-m"]).arg(&model).write_stdin("A\tx\n"), 1);
    assert!(message.contains("--format columns"), "{message}");
}

#[test]
fn the_label_may_stand_in_front() {
    let directory = scratch();
    let data = file(directory.path(), "d.tsv", "A x\nB y\n\nA x\nB y\n\n");
    for column in ["0", "-2"] {
        let model = directory.path().join("m");
        let mut command = crfkit();
        command.arg("train").arg(&data).args(["--method", "ep1", "--quiet", "--label-column", column, "-m"]);
        command.arg(&model).assert().success();
        assert_eq!(output(crfkit().args(["tag", "-m"]).arg(&model).write_stdin("? y\n")), "?\ty\tB\n\n");
        let json = output(crfkit().args(["eval", "--json", "-m"]).arg(&model).arg(&data));
        assert!(json.contains(r#""accuracy":100.0"#) && json.contains(r#""known_accuracy":100.0"#), "{json}");
        let message = failure(crfkit().args(["tag", "-m"]).arg(&model).write_stdin("y\n"), 1);
        assert!(message.contains("column 1"), "{message}");
    }
}

#[test]
fn inspection_shows_counts_rates_and_words() {
    let directory = scratch();
    let data = file(directory.path(), "d", "the D\ncat N\n\nthe D\ndog N\n\na\\b D\ndog N\n\n");
    let model = directory.path().join("m");
    crfkit().arg("train").arg(&data).args(["--method", "ep2", "-m"]).arg(&model).assert().success();
    let inspect = |options: &[&str]| output(crfkit().arg("inspect").arg(&model).args(options));
    let all = inspect(&[]);
    assert!(
        all.contains("labels        2: D N")
            && all.contains("words         4")
            && all.contains("tokens        6")
    );
    // P̃(D, N) = 1, P̃(D) = P̃(N) = 1/2: ln 4.
    assert!(all.contains("1.3863         3  D → N"), "{all}");
    assert!(
        all.contains(
            "most frequent words of N (50.00 % of the tokens)\n           2  dog\n           1  cat"
        ),
        "{all}"
    );
    let label = inspect(&["--label", "D", "--top", "1"]);
    assert!(label.contains("  the") && !label.contains("dog"), "{label}");
    assert_eq!(inspect(&["--observation", "dog"]), "labels of dog (known)\n      1.0000  N\n");
    assert!(
        inspect(&["--observation", "bird"])
            .starts_with("labels of bird (unknown: by its spelling)\n      0.5")
    );
    assert!(failure(crfkit().arg("inspect").arg(&model).args(["--label", "X"]), 1).contains("D, N"));
    let dump = inspect(&["--dump"]);
    for line in ["label\tD", "word\ta\\\\b\tD\t1", "word\tdog\tN\t2", "pair\tD\tN\t3"] {
        assert!(dump.lines().any(|found| found == line), "{line}: {dump}");
    }
    // Weights of u: every label with the feature that all words have, and with each spelling feature.
    assert_eq!(dump.lines().filter(|line| line.starts_with("u\t")).count(), 2 * 13);
    assert_eq!(dump.lines().filter(|line| line.starts_with("v-pair\t")).count(), 4);
}

#[test]
fn what_makes_no_sense_is_refused_before_the_work() {
    let directory = scratch();
    let model = directory.path().join("m");
    let counting: [&[&str]; 14] = [
        &["--template", "t"],
        &["--preset", "ner"],
        &["--features", "all"],
        &["--sigma", "2"],
        &["--l1", "1"],
        &["--objective", "piecewise"],
        &["--optimizer", "lbfgs"],
        &["--eta0", "0.1"],
        &["--passes", "3"],
        &["--dev", "d"],
        &["--shrink", "0.1"],
        &["--checkpoint", "c"],
        &["--init", "random"],
        &["--format", "attributes"],
    ];
    for options in counting {
        let message = failure(train(&model, &["--method", "ep1"]).args(options), 2);
        assert!(message.contains("--method") || message.contains(options[0]), "{options:?}: {message}");
    }
    for options in [["--floor", "1"], ["--smoothing", "-1"], ["--sigma", "0"], ["--sigma", "inf"]] {
        let message = failure(train(&model, &["--method", "ep2"]).args(options), 2);
        assert!(message.contains("must be"), "{message}");
    }
    for options in [["--heldout", "h"], ["--pairs", "tags"], ["--smoothing", "1"], ["--floor", "-1"]] {
        let message = failure(&mut train(&model, &options), 2);
        assert!(message.contains("--method"), "{message}");
    }
    assert!(!model.exists());
    let empty = file(directory.path(), "empty", "\n\n");
    let ragged = file(directory.path(), "three", "a b C\n");
    for (path, why) in [(&empty, "no sequence"), (&ragged, "3 columns")] {
        let message = failure(train(&model, &["--method", "ep1", "--heldout"]).arg(path), 1);
        assert!(message.contains(why) && message.contains(path.to_str().unwrap()), "{message}");
        assert!(failure(train(&model, &["--method", "ep1"]).arg(path), 1).contains(why));
    }
}

#[test]
fn the_two_kinds_of_models_are_not_mixed_up() {
    let directory = scratch();
    let [weights, counts, other] = ["w", "c", "o"].map(|name| directory.path().join(name));
    train(&weights, &["--passes", "1", "--quiet"]).assert().success();
    train(&counts, &["--method", "ep1", "--quiet"]).assert().success();
    let message = failure(train(&other, &["--method", "ep1", "--init"]).arg(&weights), 1);
    assert!(message.contains("counts") && message.contains("--init"), "{message}");
    for option in ["--init", "--prior-mean"] {
        let message = failure(train(&other, &[option]).arg(&counts), 1);
        assert!(message.contains("with weights is needed") && message.contains(option), "{message}");
    }
    let message =
        failure(train(&other, &["--method", "ep1", "--pairs", "lexical", "--init"]).arg(&counts), 1);
    assert!(message.contains("--pairs"), "{message}");
    // A damaged file is an error, not a model of the other kind.
    let mut bytes = fs::read(&counts).unwrap();
    bytes[100] ^= 1;
    fs::write(&counts, bytes).unwrap();
    assert!(failure(crfkit().arg("inspect").arg(&counts), 1).contains("the file is damaged"));
}

/// Passes until the objective is within 1 % of `optimum`.
fn passes(log: &Path, optimum: f64) -> f64 {
    let events = json_lines(&fs::read_to_string(log).unwrap());
    let near =
        |event: &&serde_json::Value| event["objective"].as_f64().is_some_and(|value| value <= 1.01 * optimum);
    events.iter().find(near).unwrap()["passes"].as_f64().unwrap()
}

#[test]
fn rates_are_a_better_start_than_zeros_where_words_are_all() {
    let directory = scratch();
    let template = file(directory.path(), "words", "U:%x[0,0]\nB\n");
    let mut logs = Vec::new();
    for init in ["zero", "empirical"] {
        let [model, log] = ["m", init].map(|name| directory.path().join(name));
        let options =
            ["--optimizer", "lbfgs", "--tolerance", "1e-6", "--quiet", "--init", init, "--template"];
        train(&model, &options).arg(&template).arg("--log").arg(&log).assert().success();
        logs.push(log);
    }
    let events = json_lines(&fs::read_to_string(&logs[0]).unwrap());
    let optimum = events.last().unwrap()["objective"].as_f64().unwrap();
    let [zero, empirical] = [0, 1].map(|k| passes(&logs[k], optimum));
    assert!(empirical < zero, "{empirical} {zero}");
    assert_eq!(json_lines(&fs::read_to_string(&logs[1]).unwrap())[0]["settings"]["init"], "empirical");
    // Attributes need no words.
    let attributes = file(directory.path(), "a", "A\tx\n\n");
    let mut command = crfkit();
    command.arg("train").arg(&attributes).args(["--format", "attributes", "--init", "empirical", "-m", "m"]);
    command.current_dir(directory.path()).assert().success();
}
