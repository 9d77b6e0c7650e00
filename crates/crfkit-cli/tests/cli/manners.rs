//! Mistakes and how they are met: a clear message, the right status, no panic.

use crate::common;

use common::{crfkit, demo, failure, json_lines, output, scratch};
use std::fs;
use std::path::Path;

fn train(data: &Path, model: &Path) -> assert_cmd::Command {
    let mut command = crfkit();
    command.arg("train").arg(data).arg("-m").arg(model).args(["--quiet", "--passes", "1"]);
    command
}

#[test]
fn bad_data_is_refused_with_file_and_line() {
    let directory = scratch();
    let (data, model) = (directory.path().join("data"), directory.path().join("m"));
    let cases: [(&[u8], &[&str], &str); 8] = [
        (b"a X\nb Y\n\nc\n", &[], "data:4: 1 column, but 2 in line 1"),
        (b"a X\n\xff Y\n", &[], "data:2: byte 1 of the line (0xFF) is not valid UTF-8"),
        (b"", &[], "data: no sequence in it"),
        (b"\n\n", &[], "data: no sequence in it"),
        (b"a\nb\n", &[], "data:1: one column"),
        (b"a X\n\0 Y\n", &[], "data:2: a NUL byte"),
        (b"X\tw:nan\n", &["--format", "attributes"], "data:1: the value `nan` of attribute `w`"),
        (b"a X\n", &["--preset", "chunking"], "preset chunking:"),
    ];
    for (text, arguments, expected) in cases {
        fs::write(&data, text).unwrap();
        let message = failure(train(&data, &model).args(arguments), 1);
        assert!(message.starts_with("crfkit: ") && message.contains(expected), "{message}");
        assert!(!model.exists());
    }
    fs::write(&data, b"a X\n\xff Y\n").unwrap();
    train(&data, &model).args(["--encoding", "latin-1"]).assert().success();
}

#[test]
fn all_files_need_the_same_columns() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("two"), "a X\n").unwrap();
    fs::write(path("three"), "a b X\n").unwrap();
    let message = failure(train(&path("two"), &path("m")).arg(path("three")), 1);
    assert!(message.contains("three:1: 3 columns, but the training data begins with 2"), "{message}");
    let message = failure(train(&path("two"), &path("m")).arg("--dev").arg(path("three")), 1);
    assert!(message.contains("three:1: 3 columns"), "{message}");
}

#[test]
fn a_template_out_of_range_is_refused() {
    let directory = scratch();
    let (template, model) = (directory.path().join("template"), directory.path().join("m"));
    fs::write(&template, "U0:%x[0,0]\nU1:%x[0,1]\n").unwrap();
    let message = failure(train(&demo().join("small.tsv"), &model).arg("--template").arg(&template), 1);
    assert!(message.contains("template:2: column 1 is used"), "{message}");
    fs::write(&template, "U0:%x[0,0\n").unwrap();
    let message = failure(train(&demo().join("small.tsv"), &model).arg("--template").arg(&template), 1);
    assert!(message.contains("template:1: "), "{message}");
}

#[test]
fn targets_that_cannot_be_written_are_refused_before_training() {
    let directory = scratch();
    let data = demo().join("small.tsv");
    let message = failure(&mut train(&data, &directory.path().join("no/such/model")), 1);
    assert!(message.contains("no/such/model: "), "{message}");
    failure(&mut train(&data, directory.path()), 1);
    // It is found before the data is read: even data that is not there.
    let message = failure(&mut train(Path::new("no-data"), &directory.path().join("no/model")), 1);
    assert!(message.contains("no/model"), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_the_device_stays() {
    let message = failure(&mut train(&demo().join("small.tsv"), Path::new("/dev/full")), 1);
    assert!(message.contains("/dev/full: "), "{message}");
    assert!(!fs::metadata("/dev/full").unwrap().is_file());
}

#[test]
fn wrong_usage_ends_with_2() {
    let model = demo().join("small.tsv");
    let cases: [&[&str]; 12] = [
        &[],
        &["fly"],
        &["train"],
        &["train", "x"],
        &["train", "x", "-m", "m", "--sigma", "-1"],
        &["train", "x", "-m", "m", "--sigma", "nan"],
        &["train", "x", "-m", "m", "--l1", "-1"],
        &["train", "x", "-m", "m", "--passes", "0"],
        &["train", "x", "-m", "m", "--preset", "none"],
        &["train", "-", "-", "-m", "m"],
        &["eval", "x"],
        &["tag", "x"],
    ];
    for arguments in cases {
        failure(crfkit().args(arguments), 2);
    }
    let mut attributes = train(&model, Path::new("m"));
    failure(attributes.args(["--format", "attributes", "--template", "t"]), 2);
}

#[test]
fn files_that_are_no_models_are_refused() {
    for command in ["tag", "eval"] {
        let mut command_line = crfkit();
        command_line.args([command, "-m"]).arg(demo().join("small.tsv")).arg(demo().join("test.tsv"));
        let message = failure(&mut command_line, 1);
        assert!(message.contains("small.tsv: "), "{message}");
    }
    let message = failure(crfkit().args(["inspect", "no-such-model"]), 1);
    assert!(message.contains("no-such-model: "), "{message}");
    let message = failure(crfkit().args(["tag", "-m"]).arg(demo().join("model")).arg("no-such-file"), 1);
    assert!(message.contains("no-such-file: "), "{message}");
}

#[test]
fn bad_input_to_tag_is_an_error_after_what_was_good() {
    for threads in ["1", "2"] {
        let mut command = crfkit();
        command.args(["tag", "--threads", threads, "-m"]).arg(demo().join("model"));
        let message = failure(command.write_stdin("a b\n\nc\n"), 1);
        assert!(message.contains("standard input:3: 1 column, but 2"), "{message}");
    }
    let empty = output(crfkit().args(["tag", "-m"]).arg(demo().join("model")).write_stdin(""));
    assert_eq!(empty, "");
    let mut command = crfkit();
    command.args(["eval", "-m"]).arg(demo().join("model")).arg("-");
    assert!(failure(command.write_stdin(""), 1).contains("no sequence"));
}

#[test]
fn version_help_completions_and_manual() {
    let version = output(crfkit().arg("--version"));
    assert!(version.starts_with(&format!("crfkit {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    let baseline = output(crfkit().env("CRFKIT_SIMD", "baseline").arg("--version"));
    assert!(baseline.ends_with("(baseline)\n"), "{baseline}");
    assert!(
        failure(crfkit().env("CRFKIT_SIMD", "abacus").arg("--version"), 1).contains("CRFKIT_SIMD=abacus")
    );
    for shell in ["bash", "zsh", "fish"] {
        assert!(output(crfkit().args(["completions", shell])).contains("prior-mean"), "{shell}");
    }
    assert!(output(crfkit().arg("man")).starts_with(".ie"), "troff");
    assert!(output(crfkit().args(["man", "train"])).contains("sigma"));
    failure(crfkit().args(["man", "fly"]), 2);
}

#[test]
fn help_comes_by_topic() {
    let short = output(crfkit().args(["train", "-h"]));
    assert!(
        short.lines().count() <= 40 && short.contains("--sigma") && !short.contains("--gain-floor"),
        "{short}"
    );
    let long = output(crfkit().args(["train", "--help"]));
    let at = |piece: &str| long.find(piece).unwrap_or_else(|| panic!("{piece} in {long}"));
    assert!(at("\nFeatures:") < at("\nObjective:") && at("\nOptimisation:") < at("\nImages:"));
    assert!(at("--template") < at("--masks") && long.contains("--gain-floor"));
    let lines = long.lines().count();
    assert!(
        lines < 310,
        "`crfkit train --help` has {lines} lines: shorten the texts of its flags, or raise the limit"
    );
    for (topic, pieces) in [
        ("templates", &["%M[row,column,\"pattern\"]", "`*`"][..]),
        ("formats", &["--fields", "\"tokens\""]),
        ("migrating", &["--c2 X", "crf_learn", "wapiti train"]),
        ("images", &["--patch", "--neighbours"]),
        ("optimisation", &["--passes"]),
        ("tag", &["--line-buffered", "Usage"]),
    ] {
        let text = output(crfkit().args(["help", topic]));
        assert!(pieces.iter().all(|piece| text.contains(piece)), "{topic}: {text}");
    }
    assert!(output(crfkit().arg("help")).contains("migrating"));
    assert!(failure(crfkit().args(["help", "cooking"]), 2).contains("the topics are templates, "));
}

#[test]
fn a_preset_is_printed_as_a_template() {
    let directory = scratch();
    let text = output(crfkit().args(["list", "presets", "ner"]));
    let template = directory.path().join("ner.tpl");
    let train = |arguments: &[&str], model: &str| {
        let model = directory.path().join(model);
        let mut command = crfkit();
        command
            .args(["train", "--optimizer", "lbfgs", "--passes", "3", "--quiet", "-m"])
            .arg(&model)
            .args(arguments);
        command.arg(demo().join("small.tsv")).assert().success();
        output(crfkit().args(["eval", "-m"]).arg(&model).arg(demo().join("test.tsv")))
    };
    // The demo's data has no column 1 besides the label, which the text mentions as an example.
    let without: String = text.split_inclusive('\n').filter(|line| !line.contains(":c1[")).collect();
    fs::write(&template, without).unwrap();
    assert_eq!(train(&["--preset", "ner"], "a"), train(&["--template", template.to_str().unwrap()], "b"));
    assert!(output(crfkit().args(["list", "optimizers", "sgd"])).starts_with("sgd "));
    failure(crfkit().args(["list", "presets", "cooking"]), 2);
    failure(crfkit().args(["list", "objectives", "cooking"]), 2);
}

#[test]
fn c1_and_c2_are_those_of_crfsuite() {
    let directory = scratch();
    let train = |name: &str, arguments: &[&str]| {
        let model = directory.path().join(name);
        let mut command = crfkit();
        command
            .args(["train", "--optimizer", "lbfgs", "--passes", "3", "--quiet", "-m"])
            .arg(&model)
            .args(arguments);
        command.arg(demo().join("small.tsv")).assert().success();
        fs::read(&model).unwrap()
    };
    assert!(train("a", &["--c2", "2", "--c1", "0.1"]) == train("b", &["--sigma", "0.5", "--l1", "0.1"]));
    assert!(train("c", &["--c2", "0"]) == train("d", &["--sigma", "inf"]));
    for wrong in
        [&["--c2", "-1"][..], &["--c2", "1", "--sigma", "1"], &["--c1", "1", "--l1", "1"], &["--c1", "-1"]]
    {
        failure(crfkit().args(["train", "-m", "x"]).args(wrong).arg(demo().join("small.tsv")), 2);
    }
}

#[test]
fn the_demo_works_and_says_what_is_next() {
    let text = output(crfkit().arg("demo"));
    for piece in ["Trained on 2000 lines", "F1 9", "parsley", "100%", "crfkit demo --write demo"] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
}

#[test]
fn what_a_method_remembers_and_its_gap_are_told() {
    let directory = scratch();
    let log = directory.path().join("log");
    let mut command = crfkit();
    command.args(["train", "--optimizer", "sdca", "--passes", "3", "--log"]).arg(&log).arg("-m");
    command.arg(directory.path().join("model")).arg(demo().join("small.tsv"));
    let told = String::from_utf8(command.assert().success().get_output().stderr.clone()).unwrap();
    assert!(told.contains("MB about single examples") && told.contains("duality gap"), "{told}");
    let events = json_lines(&fs::read_to_string(&log).unwrap());
    let stores = events.iter().find(|event| event["event"] == "stores").unwrap();
    assert!(stores["bytes"].as_u64().unwrap() > 10_000);
    let gaps: Vec<f64> = events.iter().filter_map(|event| event["gap"].as_f64()).collect();
    assert!(gaps.len() >= 2 && gaps.iter().all(|gap| *gap >= 0.0) && gaps.last() < gaps.first(), "{gaps:?}");
    command.args(["--init", "random"]);
    assert!(failure(&mut command, 2).contains("--init"));
}

#[test]
fn messages_name_what_was_given() {
    let directory = scratch();
    let model = directory.path().join("m");
    let train = || train(&demo().join("small.tsv"), &model);
    let message = failure(
        train().args(["--objective", "memm-backward", "--graph", "skip-chain", "--skip", "same(0)"]),
        2,
    );
    assert!(message.contains("--objective memm-backward predicts one token from the next"), "{message}");
    let message = failure(train().args(["--sigma", "1e-300"]), 2);
    assert!(message.contains("--sigma is 1e-300, but it must be a larger number"), "{message}");
    // Ten thousand threads would wait for one another for minutes.
    let message = failure(train().args(["--threads", "10000"]), 2);
    assert!(message.contains("--threads <N>': give a whole number from 1 to 1024"), "{message}");
    let data = directory.path().join("data");
    fs::write(&data, "a X\nb Y\n").unwrap();
    crfkit().arg("train").arg(&data).arg("-m").arg(&model).arg("--quiet").assert().success();
    let message = failure(crfkit().args(["tag", "--at-most-once", "Q"]).arg("-m").arg(&model).arg(&data), 1);
    assert!(message.trim_end().ends_with("choose among X, Y"), "{message}");
    // A label that the new data does not have is lost, and that is said.
    fs::write(&data, "a X\nb Z\n").unwrap();
    let again = directory.path().join("again");
    let ran =
        crfkit().arg("train").arg(&data).arg("--init").arg(&model).arg("-m").arg(&again).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success() && said.contains("the new model will not know them: Y\n"), "{said}");
    // So is a model that shares no weight with the new one.
    fs::write(&data, "c P\nd Q\n").unwrap();
    for flag in ["--init", "--prior-mean"] {
        let ran =
            crfkit().arg("train").arg(&data).arg(flag).arg(&model).arg("-m").arg(&again).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.success() && said.contains(&format!("note: {flag}: ")), "{said}");
        assert!(said.contains("so it has no effect"), "{said}");
    }
}

#[test]
fn values_that_are_no_numbers_are_rejected_in_plain_words() {
    let (small, directory) = (demo().join("small.tsv"), scratch());
    let model = directory.path().join("m");
    for (flag, value, expected) in [
        ("--passes", "-3", "invalid value '-3' for '--passes <N>': give a whole number, not below 0"),
        ("--passes", "0", "invalid value '0' for '--passes <N>': give a whole number of at least 1"),
        ("--seed", "x", "invalid value 'x' for '--seed <N>': give a whole number, not below 0"),
        ("--min-count", "99999999999", "give a whole number from 0 to 4294967295"),
        ("--eta0", "much", "invalid value 'much' for '--eta0 <X>': give a number"),
        ("--segments", "0", "invalid value '0' for '--segments <N>': give a whole number from 1 to 1000"),
        ("--seconds", "-1", "--seconds must be a positive number"),
    ] {
        let mut command = crfkit();
        let message = failure(command.arg("train").arg(&small).arg("-m").arg(&model).args([flag, value]), 2);
        assert!(message.contains(expected), "{flag} {value}: {message}");
    }
}

#[test]
fn flags_that_would_be_ignored_are_rejected() {
    let (demo, directory) = (demo(), scratch());
    let (model, test) = (demo.join("model"), demo.join("test.tsv"));
    let run = |verb: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command.arg(verb).arg("-m").arg(&model).args(arguments).arg(&test);
        failure(&mut command, 2)
    };
    let other = test.to_str().unwrap();
    assert!(run("eval", &["--against", other]).contains("'--against <FILE>'"));
    assert!(run("eval", &["--seed", "3"]).contains("'--seed <N>'"));
    assert!(run("tag", &["--sentences", "--format", "columns"]).contains("'--sentences'"));
    assert!(run("tag", &["--sentences", "--allowed", "1"]).contains("'--sentences'"));
    // No advice that leads to the next error.
    let two = model.to_str().unwrap();
    for flags in [&["--nbest", "2"][..], &["--nbest", "2", "--decode", "viterbi"], &["--confidence"]] {
        let message = run("tag", &[&["-m", two], flags].concat());
        assert!(message.contains(&format!("{} needs a single model", flags[0])), "{message}");
    }
    // A file of another kind in place of a model, and data without sequences.
    let message = failure(crfkit().arg("inspect").arg(&test), 1);
    let told = "test.tsv: this is not a model of crfkit, CRFsuite, Wapiti or CRF++ (as text): give a file";
    assert!(message.contains(told), "{message}");
    let empty = directory.path().join("empty");
    fs::write(&empty, "").unwrap();
    let mut calibrate = crfkit();
    calibrate.arg("calibrate").arg("-m").arg(&model).arg(&empty).arg("-o").arg(directory.path().join("c"));
    assert!(failure(&mut calibrate, 1).contains("empty: no sequence in it"));
    // Nothing to explain is said.
    let explained =
        crfkit().args(["explain", "--token", "999", "-m"]).arg(&model).arg(&test).assert().success();
    let told = String::from_utf8_lossy(&explained.get_output().stderr).into_owned();
    assert!(told.contains("no sequence has token 999 (tokens count from 0)"), "{told}");
}

#[test]
fn one_thing_is_not_several() {
    let directory = scratch();
    let (data, model) = (directory.path().join("data"), directory.path().join("m"));
    fs::write(&data, "a X\n").unwrap();
    let mut command = crfkit();
    command.arg("train").arg(&data).args(["--label-column", "-1", "-m"]).arg(&model);
    let told = String::from_utf8(command.assert().success().get_output().stderr.clone()).unwrap();
    assert!(told.starts_with("1 sequence, 1 token, 1 label, "), "{told}");
    let message = failure(crfkit().arg("tag").arg("-m").arg(&model).args(["--allowed", "7"]).arg(&data), 1);
    assert!(
        message.contains("the allowed labels should be in column 7, but there are only 2 columns"),
        "{message}"
    );
    let words = directory.path().join("words");
    fs::write(&words, "a\n").unwrap();
    let message = failure(crfkit().arg("tag").arg("-m").arg(&model).args(["--allowed", "1"]).arg(&words), 1);
    assert!(message.contains("but there is only 1 column: 0 is the first"), "{message}");
}

#[test]
fn flags_without_effect_are_rejected() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("columns"), "a X\nb Y\n").unwrap();
    fs::write(path("attributes"), "X\ta\nY\tb\n").unwrap();
    let train = |data: &str, flags: &[&str]| {
        let mut command = crfkit();
        command.arg("train").arg(path(data)).arg("-m").arg(path("m")).arg("--quiet").args(flags);
        command
    };
    let lists = ["--format", "attributes"];
    for (data, flags) in [
        ("columns", &["--patience", "3"][..]),
        ("columns", &["--template-dialect", "wapiti"]),
        ("columns", &["--fields", "form,upos"]),
        ("attributes", &["--preset", "ner"]),
        ("attributes", &["--label-column", "0"]),
    ] {
        let format = if data == "attributes" { &lists[..] } else { &[] };
        let message = failure(train(data, flags).args(format), 2);
        assert!(message.starts_with(&format!("crfkit: {} ", flags[0])), "{message}");
        let message =
            failure(crfkit().args(["cv", "--folds", "2"]).arg(path(data)).args(flags).args(format), 2);
        assert!(message.starts_with(&format!("crfkit: {} ", flags[0])), "{message}");
    }
    train("columns", &[]).assert().success();
    let message = failure(
        crfkit().arg("tag").arg("-m").arg(path("m")).args(["--fields", "form"]).arg(path("columns")),
        1,
    );
    assert!(message.contains("columns: --fields is for CoNLL-U"), "{message}");
    train("attributes", &lists).assert().success();
    let mut eval = crfkit();
    let message = failure(
        eval.arg("eval").arg("-m").arg(path("m")).args(["--label-column", "1"]).arg(path("attributes")),
        1,
    );
    assert!(message.contains("--label-column is for columns"), "{message}");
}
