//! Training that is killed, or that cannot write, at many moments: what stands under the model's name is always a whole model, and the
//! same command, given again, ends in the same bytes.

use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Kinds of training, each with its arguments; [`data`] writes what they read.
const KINDS: [(&str, &[&str]); 4] = [
    ("chain", &["small.tsv", "--optimizer", "sgd", "--passes", "12"]),
    (
        "skip chain",
        &["skip.tsv", "--graph", "skip-chain", "--skip", "same(0)", "--optimizer", "lbfgs", "--passes", "8"],
    ),
    ("graphs", &["graphs", "--graph", "file", "--optimizer", "adagrad", "--passes", "20"]),
    (
        "grid",
        &[
            "--graph",
            "grid",
            "--images",
            "images",
            "--masks",
            "masks",
            "--optimizer",
            "lbfgs",
            "--passes",
            "30",
        ],
    ),
];

/// Writes the data of all kinds to a directory.
pub fn data(directory: &Path) {
    let at = |name: &str| directory.join(name);
    let small = fs::read_to_string(demo().join("small.tsv")).unwrap();
    let skip: String = small.split_inclusive("\n\n").take(40).collect();
    fs::write(at("small.tsv"), small).unwrap();
    fs::write(at("skip.tsv"), skip).unwrap();
    let types = r#"{"types": {"word": {"labels": ["N", "V"]}, "next": {"over": ["word", "word"]}}}"#;
    let graph = |k: usize| {
        let node = |i: usize| {
            let label = if (i * (k + 1)).is_multiple_of(3) { "N" } else { "V" };
            format!(r#"{{"type": "word", "label": "{label}", "features": ["w{}"]}}"#, (7 * i + k) % 20)
        };
        let nodes: Vec<_> = (0..9).map(node).collect();
        let next = |i: usize| format!(r#"{{"type": "next", "nodes": [{i}, {}]}}"#, i + 1);
        let factors: Vec<_> = (0..8).map(next).collect();
        format!("{{\"nodes\": [{}], \"factors\": [{}]}}\n", nodes.join(", "), factors.join(", "))
    };
    fs::write(at("graphs"), format!("{types}\n{}", (0..60).map(graph).collect::<String>())).unwrap();
    for name in ["images", "masks"] {
        fs::create_dir(at(name)).unwrap();
    }
    for k in 0..6u8 {
        let bright = |i: u8| i % 6 > k % 5;
        let image = (0..36).map(|i| u8::from(bright(i)) * 90 + (i % 7 * 17 + k * 3) % 120);
        let mask = (0..36).map(|i| u8::from(bright(i)) * 255);
        let write = |folder: &str, pixels: Vec<u8>| {
            let bytes = [&b"P5 6 6 255\n"[..], &pixels].concat();
            fs::write(at(folder).join(format!("{k}.pgm")), bytes).unwrap();
        };
        write("images", image.collect());
        write("masks", mask.collect());
    }
}

/// `crfkit train` of a kind with model, log, checkpoint and report, run by a shell after `limits`.
fn start(directory: &Path, arguments: &[&str], limits: &str) -> Child {
    let outputs = "-m model --log log --checkpoint checkpoint --report page --threads 1";
    let quoted: Vec<_> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
    let program = env!("CARGO_BIN_EXE_crfkit");
    let mut command = Command::new("sh");
    command
        .current_dir(directory)
        .env("CRFKIT_CHECKPOINT_SECONDS", "0.01")
        .env_remove("CRFKIT_SIMD")
        .arg("-c");
    command.arg(format!("{limits} exec '{program}' train {} {outputs}", quoted.join(" ")));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits, with a limit; gives the status and what was said.
fn end(mut child: Child) -> (ExitStatus, String) {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!message.contains("panicked"), "{message}");
    (ended.status, message)
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Every file under its own name is whole: the model opens, the lines of the log are JSON but perhaps the last, the page has its data.
fn assert_whole(directory: &Path, what: &str) {
    let model = directory.join("model");
    if model.exists() {
        crfkit().arg("inspect").arg(&model).assert().success();
    }
    if let Ok(log) = fs::read_to_string(directory.join("log")) {
        for line in log.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{what}: {line}");
        }
    }
    if directory.join("page").exists() {
        assert!(page_data(&directory.join("page"))["runs"].is_array(), "{what}");
    }
}

/// An undisturbed run: the bytes of its model, and how long it took.
fn undisturbed(arguments: &[&str]) -> (Vec<u8>, Duration) {
    let directory = scratch();
    data(directory.path());
    let begun = Instant::now();
    let (status, message) = end(start(directory.path(), arguments, ""));
    assert!(status.success(), "{arguments:?}: {message}");
    assert!(!directory.path().join("checkpoint").exists(), "a finished run removes it");
    (fs::read(directory.path().join("model")).unwrap(), begun.elapsed())
}

/// Five runs of each kind are killed, each at another moment of its life, and in turn by a signal that can be heard. The name of the
/// model holds an older model before; afterwards it holds that one, the one of an interrupted run, or the new one.
#[test]
fn killed_runs_leave_whole_files_and_resume_to_the_same_bytes() {
    let (mut interrupted, mut checkpoints) = (0, 0);
    for (kind, arguments) in KINDS {
        let (expected, whole) = undisturbed(arguments);
        let directory = scratch();
        let model = directory.path().join("model");
        data(directory.path());
        fs::write(directory.path().join("old.tsv"), "the D\ndog N\n\n").unwrap();
        crfkit().arg("train").arg(directory.path().join("old.tsv")).arg("-m").arg(&model).assert().success();
        let old = fs::read(&model).unwrap();
        for (share, name) in [(0.1, "-KILL"), (0.3, "-TERM"), (0.5, "-KILL"), (0.4, "-KILL"), (0.2, "-TERM")]
        {
            let before = fs::read(&model).unwrap();
            let child = start(directory.path(), arguments, "");
            std::thread::sleep(whole.mul_f64(share));
            signal(&child, name);
            let (status, message) = end(child);
            let what = format!("{kind}, {name} after {share} of the time: {message}");
            interrupted += usize::from(!status.success());
            checkpoints += usize::from(directory.path().join("checkpoint").exists());
            assert_whole(directory.path(), &what);
            let after = fs::read(&model).unwrap();
            match status.code() {
                Some(0) => assert!(after == expected, "{what}"),
                // It was killed, or it was asked to end before it could hear the signal.
                None => assert!(after == before || after == expected, "{what}"),
                // While data is read there is nothing to save, and nothing is said to be.
                Some(130) if !message.contains("is saved") => assert!(after == before, "{what}"),
                Some(130) => {
                    assert!(after != old, "{what}");
                    let resumes = message.contains("to resume from the checkpoint");
                    assert_eq!(resumes, directory.path().join("checkpoint").is_file(), "{what}");
                }
                Some(code) => panic!("{what}: status {code}"),
            }
        }
        let (status, message) = end(start(directory.path(), arguments, ""));
        assert!(status.success(), "{kind}: {message}");
        assert!(fs::read(&model).unwrap() == expected, "{kind}: resumed to other bytes");
        assert_whole(directory.path(), kind);
        let left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let remains = |name: &std::ffi::OsString| name.to_string_lossy().starts_with('.');
        assert!(
            !left.iter().any(remains) && !left.iter().any(|name| name == "checkpoint"),
            "{kind}: {left:?}"
        );
    }
    // If every run were over before its signal, nothing would be tested. A busy machine shifts the moments, so the bounds are low.
    assert!(
        interrupted >= 5 && checkpoints >= 1,
        "{interrupted} interrupted, {checkpoints} with a checkpoint"
    );
    println!("{interrupted} of 20 runs interrupted, {checkpoints} with a checkpoint");
}

/// In its first steps an online method may be above its start. Whoever stops it there gets its model and hears what it is worth.
#[test]
fn a_run_that_is_stopped_above_its_start_saves_its_model() {
    let arguments = ["noise.tsv", "--optimizer", "sgd", "--eta0", "20", "--batch", "1", "--passes", "60000"];
    let directory = scratch();
    // Labels that nothing tells apart: with such steps it never gets below its start.
    let label = |a: bool| if a { "A" } else { "B" };
    let sequence =
        |k: usize| format!("w {}\nw {}\n\n", label(!(k * k + k).is_multiple_of(3)), label(k % 2 == 1));
    fs::write(directory.path().join("noise.tsv"), (0..400).map(sequence).collect::<String>()).unwrap();
    let at = |name: &str| directory.path().join(name);
    let child = start(directory.path(), &arguments, "");
    let begun = Instant::now();
    while !at("checkpoint").exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "-TERM");
    let (status, message) = end(child);
    assert_eq!(status.code(), Some(130), "{message}");
    assert!(message.contains("too early to be useful") && message.contains("is saved"), "{message}");
    assert!(message.contains("to resume from the checkpoint"), "{message}");
    assert_whole(directory.path(), &message);
    let log = json_lines(&fs::read_to_string(at("log")).unwrap());
    let above = log.iter().find(|line| line["event"] == "above").expect("the log says so");
    assert!(above["objective"].as_f64() > above["zero"].as_f64(), "{above}");

    // Time that is up is no wish of the moment: a script must be able to tell such a model from one that was trained.
    fs::remove_file(at("checkpoint")).unwrap();
    fs::remove_file(at("model")).unwrap();
    let (status, message) =
        end(start(directory.path(), &[&arguments[..], &["--seconds", "1e-6"]].concat(), ""));
    assert_eq!(status.code(), Some(1), "{message}");
    assert!(message.contains("too early to be useful") && !message.contains("diverged"), "{message}");
    crfkit().arg("inspect").arg(at("model")).assert().success();
}

/// A run that is killed while it writes its log leaves half a line. The run that resumes takes it away, so that every line can be read.
#[test]
fn half_a_line_of_the_log_is_taken_away() {
    let arguments = ["small.tsv", "--optimizer", "sgd", "--passes", "30"];
    let directory = scratch();
    data(directory.path());
    let at = |name: &str| directory.path().join(name);
    let child = start(directory.path(), &arguments, "");
    let begun = Instant::now();
    while !at("checkpoint").exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "-KILL");
    end(child);
    let log = fs::read_to_string(at("log")).unwrap();
    fs::write(at("log"), format!("{log}{}", r#"{"event":"progress","passes":1.5,"sec"#)).unwrap();
    let (status, message) = end(start(directory.path(), &arguments, ""));
    assert!(status.success(), "{message}");
    let whole = fs::read_to_string(at("log")).unwrap();
    assert!(whole.starts_with(&log) && json_lines(&whole).last().unwrap()["event"] == "stop", "{whole}");
    assert_whole(directory.path(), &message);
}

/// What a killed write of a checkpoint has left is removed by the next run, even if that one ends before its first checkpoint.
#[test]
fn remains_of_a_checkpoint_vanish_with_the_next_run() {
    let directory = scratch();
    data(directory.path());
    let at = |name: &str| directory.path().join(name);
    for name in [".checkpoint.0.tmp", ".model.0.tmp", ".page.1.tmp"] {
        fs::write(at(name), "half").unwrap();
    }
    let mut command = crfkit();
    command.arg("train").args(["small.tsv", "--optimizer", "lbfgs", "--passes", "1", "-m", "model"]);
    command.args(["--checkpoint", "checkpoint", "--report", "page"]).current_dir(directory.path());
    command.assert().success();
    let hidden: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// A limit on the size of files makes writes fail in the middle, as a full disk does. No file is half written under its name, the error
/// is said, and without the limit the run ends in the same bytes.
#[test]
fn writes_that_fail_in_the_middle_leave_whole_files() {
    let arguments = ["small.tsv", "--optimizer", "lbfgs", "--passes", "6"];
    let (expected, _) = undisturbed(&arguments);
    let blocks = expected.len() / 512; // of the limit; in a POSIX shell a block has 512 bytes
    let mut failed = 0;
    for limit in [1, blocks / 4, blocks / 2, blocks - 1, blocks + 2, 4 * blocks] {
        let directory = scratch();
        data(directory.path());
        let model = directory.path().join("model");
        // Where the signal is ignored, the write gives an error instead of ending the process.
        let (status, message) =
            end(start(directory.path(), &arguments, &format!("trap '' XFSZ; ulimit -f {limit};")));
        let what = format!("{limit} blocks of {blocks}: {message}");
        assert!(matches!(status.code(), Some(0 | 1)), "{what}");
        if model.exists() {
            assert!(fs::read(&model).unwrap() == expected, "{what}");
        } else {
            failed += 1;
            assert_eq!(status.code(), Some(1), "{what}");
            assert!(message.contains("model: "), "{what}");
        }
        assert_whole(directory.path(), &what);
        let (status, message) = end(start(directory.path(), &arguments, ""));
        assert!(status.success() && fs::read(&model).unwrap() == expected, "{what}: afterwards {message}");
    }
    println!("{failed} of 6 runs could not write their model");
    assert!((1..6).contains(&failed), "{failed} of 6 runs failed to write the model");
}
