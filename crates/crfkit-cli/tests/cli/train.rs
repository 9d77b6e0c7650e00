//! `crfkit train`: results, the log, interruption and resumption.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use crfkit::math::simd;
use std::fs;
use std::io::Write as _;
use std::path::Path;

fn train(model: &Path) -> assert_cmd::Command {
    let mut command = crfkit();
    command.arg("train").arg(demo().join("small.tsv")).arg("-m").arg(model);
    command
}

#[test]
fn the_number_of_threads_changes_no_byte_on_any_vector_unit() {
    let directory = scratch();
    for unit in simd::UNITS.into_iter().filter(|unit| simd::available(unit)) {
        for optimizer in ["auto", "lbfgs", "sgd", "adagrad"] {
            let models = ["1", "2", "3"].map(|threads| {
                let model = directory.path().join(format!("{unit}-{optimizer}-{threads}"));
                train(&model)
                    .env("CRFKIT_SIMD", unit)
                    .args(["--optimizer", optimizer, "--threads", threads, "--passes", "12", "--quiet"])
                    .assert()
                    .success()
                    .stderr("");
                fs::read(model).unwrap()
            });
            assert!(models[0] == models[1] && models[0] == models[2], "{unit}, {optimizer}");
        }
    }
}

/// On little data the first steps may be far too long, and their weights right on all development data.
#[test]
fn the_best_weights_on_development_data_are_not_those_of_steps_that_were_too_long() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let pair = |label: &str| format!("Ada\tNAME\nsings\t{label}\n\ndogs\tO\nbark\tO\n\n");
    fs::write(path("train"), pair("?") + &pair("O").repeat(2)).unwrap();
    fs::write(path("dev"), pair("O").repeat(3)).unwrap();
    for more in [
        &["--partial-labels"][..],
        &["--partial-labels", "--optimizer", "adagrad", "--eta0", "1", "--passes", "15"],
    ] {
        crfkit()
            .arg("train")
            .args([&path("train"), Path::new("--dev"), &path("dev"), Path::new("-m"), &path("model")])
            .args(more)
            .assert()
            .success();
        let scores = output(crfkit().arg("eval").arg("-m").args([path("model"), path("dev")]));
        assert!(scores.contains("100.00"), "{more:?}: {scores}");
    }
}

/// The first pass of a batch method is the value at the start, and a strong penalty leaves no weight.
#[test]
fn a_model_that_has_learned_nothing_is_named() {
    let directory = scratch();
    let model = directory.path().join("m");
    let told = "all weights of the model are 0, so it prefers no label to another";
    for (arguments, nothing) in [
        (["--optimizer", "lbfgs", "--passes", "1"], true),
        (["--l1", "1000000", "--passes", "3"], true),
        (["--optimizer", "lbfgs", "--passes", "3"], false),
    ] {
        let run = train(&model).args(arguments).assert().success();
        let printed = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert_eq!(printed.contains(told), nothing, "{arguments:?}: {printed}");
    }
    let single = directory.path().join("single.tsv");
    fs::write(&single, "a\tX\nb\tX\n\n").unwrap();
    let run = crfkit().arg("train").arg(&single).arg("-m").arg(&model).assert().success();
    assert!(!String::from_utf8_lossy(&run.get_output().stderr).contains(told));
}

#[test]
fn the_log_has_the_events_and_fields_of_its_description() {
    let directory = scratch();
    let (model, log) = (directory.path().join("m"), directory.path().join("run.jsonl"));
    train(&model)
        .args(["--dev"])
        .arg(demo().join("test.tsv"))
        .args(["--patience", "2", "--sigma", "inf", "--log"])
        .arg(&log)
        .assert()
        .success();
    let events = json_lines(&fs::read_to_string(&log).unwrap());
    let settings = &events[0];
    assert_eq!(settings["event"], "settings");
    assert_eq!(settings["format"], 1);
    assert_eq!(settings["sequences"], 300);
    assert_eq!(settings["labels"], 13);
    assert!(settings["settings"]["sigma"].is_null(), "infinity is null");
    assert_eq!(settings["settings"]["preset"], "default");
    assert_eq!(settings["model"], model.to_str().unwrap());
    for field in ["version", "vector_unit", "threads", "tokens", "observations", "features"] {
        assert!(!settings[field].is_null(), "{field}");
    }
    let of = |kind: &str| events.iter().filter(|e| e["event"] == kind).collect::<Vec<_>>();
    let progress = of("progress");
    // 300 sequences in batches of 8 are 38 steps: 1 and 2 % are the same step.
    assert!(progress.len() >= 6 && progress[0]["passes"].as_f64().unwrap() < 0.05);
    for event in &progress {
        assert!(event["seconds"].is_f64() && event["objective"].is_f64(), "{event}");
        assert!(event.get("gradient_norm").is_some(), "{event}");
        assert_eq!(event["estimate"], event["gradient_norm"].is_null(), "{event}");
    }
    let evaluations = of("eval");
    assert!(evaluations.len() >= 3, "one a pass");
    for event in &evaluations {
        assert_eq!(event["data"], "dev");
        assert!(event["f1"].as_f64().unwrap() > 50.0 && event["accuracy"].is_f64(), "{event}");
    }
    let stop = events.last().unwrap();
    assert_eq!(stop["event"], "stop");
    assert!(stop["reason"].as_str().unwrap().contains("development score no longer improves"), "{stop}");
    assert_eq!(stop["features"], settings["features"]);
    for field in ["passes", "seconds", "objective"] {
        assert!(stop[field].is_f64(), "{field}");
    }
}

#[test]
fn progress_is_plain_lines_and_quiet_is_quiet() {
    let directory = scratch();
    let model = directory.path().join("m");
    let assert = train(&model).args(["--optimizer", "lbfgs", "--passes", "5"]).assert().success().stdout("");
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    for piece in [
        "300 sequences",
        "pass 1.00  objective",
        "gradient",
        "tokens/s",
        "s left",
        "stopped: ",
        "crfkit tag -m",
    ] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    train(&model).args(["--passes", "1", "--quiet"]).assert().success().stdout("").stderr("");
}

#[test]
fn shrinking_and_rounding_report_what_they_cost() {
    let directory = scratch();
    let (full, small) = (directory.path().join("full"), directory.path().join("small"));
    train(&full).args(["--passes", "3", "--quiet"]).assert().success();
    for (arguments, on) in
        [(vec!["--shrink", "0.05"], "small.tsv"), (vec!["--precision", "f16"], "small.tsv")]
    {
        let assert = train(&small).args(["--passes", "3"]).args(&arguments).assert().success();
        let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(text.contains(on) && text.contains("accuracy ") && text.contains("F1 "), "{text}");
        assert!(fs::metadata(&small).unwrap().len() < fs::metadata(&full).unwrap().len());
        crfkit().args(["eval", "-m"]).arg(&small).arg(demo().join("test.tsv")).assert().success();
    }
}

#[test]
fn a_model_can_be_the_start_or_the_mean_of_the_prior() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    train(&path("first")).args(["--optimizer", "lbfgs", "--quiet"]).assert().success();
    let objective = |arguments: &[&str], passes: &str| {
        let log = path("log");
        train(&path("m"))
            .args(["--optimizer", "lbfgs", "--passes", passes, "--quiet", "--log"])
            .arg(&log)
            .args(arguments)
            .assert()
            .success();
        json_lines(&fs::read_to_string(log).unwrap()).last().unwrap()["objective"].as_f64().unwrap()
    };
    let first = path("first").display().to_string();
    let zero = objective(&[], "1");
    let random = objective(&["--init", "random"], "1");
    assert!(zero != random && (zero - random).abs() < 0.05 * zero, "{zero} {random}");
    let warm = objective(&["--init", &first], "1");
    assert!(warm < 0.2 * zero, "{warm} {zero}");
    // Pulled towards the weights that it already has, the penalty is gone.
    let centred = objective(&["--init", &first, "--prior-mean", &first], "1");
    assert!(centred < warm, "{centred} {warm}");
    failure(train(&path("m")).args(["--init", "no-such-file"]), 1);
}

#[test]
fn label_columns_other_than_the_last() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    let text = fs::read_to_string(demo().join("small.tsv")).unwrap();
    let swapped: String = text
        .lines()
        .map(|line| line.split_once('\t').map_or("\n".into(), |(word, label)| format!("{label} {word} x\n")))
        .collect();
    fs::write(path("data"), swapped).unwrap();
    fs::write(path("template"), "U:%x[0,1]\nU:%x[-1,1]\nB\n").unwrap();
    fs::write(path("cheat"), "U:%x[0,1]\nU:%x[0,0]\nB\n").unwrap();
    let train = |template: &str, label: &str| {
        let mut command = crfkit();
        command.arg("train").arg(path("data")).arg("-m").arg(path("m")).args(["--quiet", "--passes", "5"]);
        command.arg("--template").arg(path(template)).args(["--label-column", label]);
        command
    };
    train("template", "0").assert().success();
    train("template", "-3").assert().success();
    let message = failure(&mut train("cheat", "0"), 1);
    assert!(message.contains("cheat:2: column 0 is the label"), "{message}");
    assert!(
        failure(&mut train("template", "3"), 1).contains("data:1: the label should be in column 3"),
        "out of range"
    );
    assert!(failure(&mut train("template", "0,1"), 2).contains("several label columns"));
    let scores = output(crfkit().args(["eval", "--json", "-m"]).arg(path("m")).arg(path("data")));
    let scores: serde_json::Value = serde_json::from_str(&scores).unwrap();
    assert!(scores["f1"].as_f64().unwrap() > 70.0 && scores["known_accuracy"].is_f64(), "{scores}");
    // Without the label column everything would be shifted.
    let message = failure(crfkit().args(["tag", "-m"]).arg(path("m")).write_stdin("salt x\n"), 1);
    assert!(message.contains("standard input:1") && message.contains("label in column"), "{message}");
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused() {
    let directory = scratch();
    let (model, file) = (directory.path().join("m"), directory.path().join("checkpoint"));
    fs::write(&file, "no checkpoint").unwrap();
    let message = failure(train(&model).arg("--checkpoint").arg(&file), 1);
    assert!(message.contains("checkpoint"), "{message}");
    assert_eq!(fs::read(&file).unwrap(), b"no checkpoint");
    assert!(!model.exists());
}

#[test]
fn a_stream_may_be_a_file_a_compressed_one_or_standard_input() {
    let directory = scratch();
    let text = fs::read(demo().join("small.tsv")).unwrap();
    let compressed = directory.path().join("small.gz");
    let file = fs::File::create(&compressed).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(&text).unwrap();
    encoder.finish().unwrap();
    let models = [demo().join("small.tsv"), compressed, "-".into()].map(|input| {
        let model = directory.path().join("m");
        let mut command = crfkit();
        command.arg("train").arg(&input).args(["--optimizer", "psa", "--stream", "-m"]).arg(&model);
        let told = command.write_stdin(text.clone()).assert().success();
        let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert!(told.contains("300 sequences"), "{told}");
        fs::read(model).unwrap()
    });
    assert!(models[0] == models[1] && models[0] == models[2]);
    let scores = crfkit()
        .args(["eval", "--json", "-m"])
        .arg(directory.path().join("m"))
        .arg(demo().join("test.tsv"))
        .assert()
        .success();
    let scores: serde_json::Value = serde_json::from_slice(&scores.get_output().stdout).unwrap();
    assert!(scores["f1"].as_f64().unwrap() > 50.0, "{scores}");
}

#[test]
fn what_a_stream_has_no_use_for_is_refused() {
    let directory = scratch();
    let model = directory.path().join("m");
    let refused: [(&[&str], &str); 9] = [
        (&["--stream"], "psa"),
        (&["--stream", "--optimizer", "adagrad"], "psa"),
        (&["--stream", "--optimizer", "psa", "--dev", "x"], "--dev"),
        (&["--stream", "--optimizer", "psa", "--checkpoint", "x"], "--checkpoint"),
        (&["--stream", "--optimizer", "psa", "--init", "random"], "--init"),
        (&["--stream", "--optimizer", "psa", "--passes", "2"], "--passes"),
        (&["--stream", "--optimizer", "psa", "--min-count", "2"], "--min-count"),
        (&["--stream", "--method", "ep1"], "--method"),
        (&["--examples", "7"], "--stream"),
    ];
    for (arguments, word) in refused {
        let message = failure(train(&model).args(arguments), 2);
        assert!(message.contains(word), "{arguments:?}: {message}");
    }
}

#[test]
fn what_no_data_could_make_right_is_refused_before_any_is_read() {
    let directory = scratch();
    let model = directory.path().join("m");
    let refused: [(&[&str], &str); 19] = [
        (&["--optimizer", "smd", "--l1", "1"], "smd does not support an L1 penalty; with --l1, use one of"),
        (&["--optimizer", "newton", "--l1", "1"], "adagrad"),
        (&["--optimizer", "sdca", "--l1", "1"], "--l1"),
        (&["--optimizer", "asgd", "--l1", "1"], "drop the average or --l1"),
        (&["--optimizer", "saga", "--sigma", "inf"], "finite --sigma"),
        (&["--optimizer", "sdca", "--sigma-pairs", "inf"], "finite --sigma"),
        (&["--optimizer", "gis"], "use pgis, or --sigma inf"),
        (&["--optimizer", "adam", "--beta1", "0.9", "--beta2", "0.5"], "above the square of --beta1"),
        (
            &["--optimizer", "psa", "--alpha", "0.9"],
            "--beta is 0.99, but it must be above 0 and at most --alpha",
        ),
        (
            &["--optimizer", "psa", "--psa-rule", "printed", "--kappa", "0.5"],
            "--kappa has no effect with --psa-rule printed: drop it, or use --psa-rule shrinking",
        ),
        (
            &["--optimizer", "psa", "--gain-factor", "0.5,2"],
            "--gain-factor has no effect with --psa-rule shrinking",
        ),
        (
            &["--optimizer", "psa", "--psa-rule", "printed", "--gain-ceiling", "0.5"],
            "--gain-ceiling is 0.5, but it must be at least 1",
        ),
        (&["--optimizer", "svrg", "--eta0", "0"], "--eta0 is 0"),
        (&["--optimizer", "ctjpgis", "--gamma-max", "-1"], "--gamma-max is -1"),
        (&["--objective", "piecewise", "--pieces", "rows"], "not for chains"),
        (&["--objective", "piecewise", "--pieces", "file"], "not for chains"),
        (
            &["--objective", "piecewise-pseudo", "--pieces", "bethe"],
            "for --objective piecewise only: with piecewise-pseudo use shared-unary",
        ),
        (
            &["--objective", "piecewise", "--pieces", "bethe", "--batch-of", "pieces"],
            "leave out --batch-of pieces",
        ),
        (&["--objective", "piecewise", "--batch-of", "pieces"], "graphs other than chains"),
    ];
    for (arguments, words) in refused {
        let mut command = crfkit();
        command.args(["train", "there-is-no-such-file.tsv", "-m"]).arg(&model).args(arguments);
        let message = failure(&mut command, 2);
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
}

/// The papers' jump has no bound, and the model says that it was trained so.
#[test]
fn the_bound_on_jumps_can_be_lifted() {
    let directory = scratch();
    let model = directory.path().join("m");
    let log = directory.path().join("run.jsonl");
    train(&model)
        .args(["--optimizer", "ctjpgis", "--gamma-max", "inf", "--passes", "20", "--log"])
        .arg(&log)
        .assert()
        .success();
    let events = json_lines(&fs::read_to_string(&log).unwrap());
    let settings = events[0]["settings"].as_object().unwrap();
    assert!(settings["gamma_max"].is_null(), "infinity is null: {settings:?}");
    let stored = serde_json::from_value::<crfkit::train::Settings>(events[0]["settings"].clone()).unwrap();
    assert_eq!(stored.parameters.gamma_max, Some(f64::INFINITY));
}

/// The weights of a model trained on the small data set.
fn weights(arguments: &[&str]) -> String {
    let directory = scratch();
    let model = directory.path().join("m");
    train(&model).args(arguments).assert().success();
    output(crfkit().args(["inspect", "--dump"]).arg(&model))
}

/// Nodes that count once train another model than nodes that count in every piece, on chains and on graphs.
#[test]
fn pieces_of_bethe_train_on_chains_and_on_skip_chains() {
    for graph in [&[][..], &["--graph", "skip-chain", "--skip", "same(0)"]] {
        let trained = |pieces: &str| {
            weights(
                &[graph, &["--objective", "piecewise", "--pieces", pieces, "--optimizer", "lbfgs"]].concat(),
            )
        };
        let [shared, bethe] = ["shared-unary", "bethe"].map(trained);
        assert!(shared != bethe && bethe.lines().count() > 3, "{graph:?}: the correction changes nothing");
    }
}

/// Both rules of PSA train, to different weights; without a rule gains only fall.
#[test]
fn psa_adapts_its_gains_by_the_rule_that_is_asked_for() {
    let psa = |more: &[&str]| weights(&[&["--optimizer", "psa", "--period", "1"], more].concat());
    let printed = psa(&["--psa-rule", "printed", "--gain-factor", "0.5,2", "--gain-ceiling", "4"]);
    assert_eq!(psa(&[]), psa(&["--psa-rule", "shrinking"]));
    assert!(printed != psa(&[]), "the rule changes nothing");
    assert!(printed != psa(&["--psa-rule", "printed"]), "the bounds change nothing");
}

#[cfg(unix)]
mod interrupted {
    use super::*;
    use crfkit::math::random::Random;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// A training that has begun and would take long: no rule would stop it soon.
    fn long_run(model: &Path, more: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crfkit"));
        command.arg("train").arg(demo().join("train.tsv")).arg("-m").arg(model).args(more);
        command.env("CRFKIT_CHECKPOINT_SECONDS", "0.005").stderr(Stdio::null()).spawn().unwrap()
    }

    fn wait_for(file: &Path, text: &str) {
        let begun = Instant::now();
        while !fs::read_to_string(file).is_ok_and(|found| found.contains(text)) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} never had {text}", file.display());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn signal(child: &Child, name: &str) {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    }

    #[test]
    fn ctrl_c_saves_the_model_and_ends_with_130() {
        let directory = scratch();
        let (model, log) = (directory.path().join("m"), directory.path().join("log"));
        let name = log.display().to_string();
        let mut child =
            long_run(&model, &["--optimizer", "sgd", "--passes", "100000", "--threads", "1", "--log", &name]);
        wait_for(&log, "progress");
        assert!(!model.exists());
        signal(&child, "-INT");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let stop = json_lines(&fs::read_to_string(&log).unwrap()).pop().unwrap();
        assert_eq!((stop["event"].as_str(), stop["reason"].as_str()), (Some("stop"), Some("interrupted")));
        crfkit().args(["eval", "-m"]).arg(&model).arg(demo().join("test.tsv")).assert().success();
    }

    #[test]
    fn ctrl_c_saves_the_model_of_a_stream_that_waits_for_input() {
        let directory = scratch();
        let (model, told) = (directory.path().join("m"), directory.path().join("told"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_crfkit"));
        command.args(["train", "-", "--optimizer", "psa", "--stream", "-m"]).arg(&model);
        let mut child =
            command.stdin(Stdio::piped()).stderr(fs::File::create(&told).unwrap()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all("a A\nb B\n\n".repeat(1100).as_bytes()).unwrap();
        wait_for(&told, "1024 sequences");
        signal(&child, "-INT");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        drop(input);
        assert!(fs::read_to_string(&told).unwrap().contains("the model trained so far is saved"));
        crfkit().args(["inspect"]).arg(&model).assert().success();
    }

    /// Waits until a run, whose log begins at `start`, has got so far.
    fn wait_for_pass(log: &Path, start: usize, passes: f64) {
        let begun = Instant::now();
        let last = || {
            let text = fs::read_to_string(log).unwrap_or_default();
            let line = text.get(start..)?.lines().rfind(|line| line.contains("\"progress\""))?.to_owned();
            serde_json::from_str::<serde_json::Value>(&line).ok()?["passes"].as_f64()
        };
        while last().is_none_or(|last| last < passes) {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never came to pass {passes}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Trains to the end, interrupted at these passes; gives the model's bytes.
    fn through_interruptions(directory: &Path, settings: &[&str], passes: [f64; 3]) -> Vec<u8> {
        let path = |name: &str| directory.join(name).display().to_string();
        let (model, checkpoint, log) = (path("m"), path("checkpoint"), path("log"));
        let arguments = [settings, &["--checkpoint", &checkpoint, "--log", &log]].concat();
        let run = || long_run(model.as_ref(), &arguments);
        for (passes, name) in passes.into_iter().zip(["-KILL", "-INT", "-KILL"]) {
            let start = fs::read(&log).map_or(0, |log| log.len());
            let mut child = run();
            wait_for_pass(log.as_ref(), start, passes);
            while !fs::exists(&checkpoint).unwrap() {
                std::thread::sleep(Duration::from_millis(1));
            }
            signal(&child, name);
            let code = child.wait().unwrap().code();
            assert_eq!(code, if name == "-INT" { Some(130) } else { None }, "it ended before the signal");
        }
        // Other settings: another run.
        let mut other = crfkit();
        other.arg("train").arg(demo().join("train.tsv")).args(["-m", &model]).args(&arguments);
        failure(other.args(["--min-count", "2"]), 1);
        assert!(run().wait().unwrap().success());
        assert!(!fs::exists(&checkpoint).unwrap(), "a finished run removes it");
        fs::read(model).unwrap()
    }

    #[test]
    fn killed_runs_go_on_to_the_same_bytes() {
        let dev = demo().join("test.tsv").display().to_string();
        for (optimizer, passes, interruptions) in [
            (&["auto", "--batch", "8"][..], "30", [0.5, 3.0, 12.0]), // the last one is in its second phase
            (&["saga"], "6", [0.2, 1.0, 2.0]),
            (&["lbfgs"], "40", [3.0, 9.0, 15.0]),
            (&["sgd"], "5", [0.2, 1.0, 3.0]),
            (&["adagrad"], "5", [0.2, 1.0, 3.0]),
        ] {
            let directory = scratch();
            let settings = [
                &["--passes", passes, "--threads", "1", "--dev", &dev, "--patience", "100", "--optimizer"],
                optimizer,
            ]
            .concat();
            let model = directory.path().join("undisturbed");
            let mut command = crfkit();
            command.arg("train").arg(demo().join("train.tsv")).arg("-m").arg(&model).args(&settings);
            command.assert().success();
            let disturbed = through_interruptions(directory.path(), &settings, interruptions);
            assert!(fs::read(&model).unwrap() == disturbed, "{optimizer:?}");
        }
    }

    /// The same command, killed after random times and started again: however far each run came, the last one ends in the same
    /// model.
    #[test]
    fn ten_kills_at_random_moments_change_no_byte() {
        const KILLS: usize = 10;
        let directory = scratch();
        let path = |name: &str| directory.path().join(name);
        let run = |model: &Path| {
            let checkpoint = format!("{}.checkpoint", model.display());
            long_run(model, &["--passes", "25", "--threads", "1", "--checkpoint", &checkpoint])
        };
        let begun = Instant::now();
        assert!(run(&path("undisturbed")).wait().unwrap().success());
        let whole = begun.elapsed();
        let mut random = Random::new(1);
        // The last run is one that ends by itself, also where an earlier one did so before it was killed.
        let (mut kills, mut ended) = (0, false);
        while kills < KILLS || !ended {
            let mut child = run(&path("disturbed"));
            if kills < KILLS {
                std::thread::sleep(whole.mul_f64(random.uniform() / 4.0));
                child.kill().unwrap();
            }
            match child.wait().unwrap().code() {
                None => (kills, ended) = (kills + 1, false),
                Some(code) => {
                    assert_eq!(code, 0);
                    ended = true;
                    let models = ["undisturbed", "disturbed"].map(|name| fs::read(path(name)).unwrap());
                    assert!(models[0] == models[1], "after {kills} kills");
                }
            }
        }
        assert!(!fs::exists(path("disturbed.checkpoint")).unwrap(), "a finished run removes it");
    }
}

#[test]
fn the_log_has_the_template_and_progress_marks_estimates() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let text = "U:%x[0,0]\nB\n";
    fs::write(at("template"), text).unwrap();
    let mut command = train(&at("m"));
    command
        .arg("--template")
        .arg(at("template"))
        .args(["--optimizer", "sgd", "--passes", "2", "--log"])
        .arg(at("log"));
    let told = String::from_utf8(command.assert().success().get_output().stderr.clone()).unwrap();
    assert!(told.contains("  objective ≈ ") && told.contains("; objective "), "{told}");
    let settings = &json_lines(&fs::read_to_string(at("log")).unwrap())[0]["settings"];
    assert_eq!(settings["template"], at("template").to_str().unwrap());
    assert_eq!((&settings["template_text"], settings.get("preset")), (&text.into(), None));
    let mut exact = train(&at("m"));
    exact.args(["--optimizer", "lbfgs", "--passes", "2"]);
    let told = String::from_utf8(exact.assert().success().get_output().stderr.clone()).unwrap();
    assert!(told.contains("  objective ") && !told.contains('≈'), "{told}");
}
