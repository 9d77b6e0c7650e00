//! Nothing is lost and nothing is endless: whatever the paths, the disk, the signals and the data.

use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};

pub const DATA: &str = "the D\ndog N\n\na D\ncat N\n\n";

/// A directory with small training data called `data`.
pub fn place() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let directory = scratch();
    let path = directory.path().to_owned();
    fs::write(path.join("data"), DATA).unwrap();
    (directory, move |name: &str| path.join(name))
}

/// `crfkit train data -m model` with more arguments, all paths in one directory.
pub fn train_in(directory: &Path, arguments: &[&str]) -> assert_cmd::Command {
    let mut command = crfkit();
    command.current_dir(directory).arg("train").args(arguments);
    command
}

/// A full disk costs the file that does not fit, never the model.
#[cfg(target_os = "linux")]
mod full_disk {
    use super::*;

    /// Training that must save its model, warn once at the failure and once at the end, and give status 1.
    fn survives(directory: &Path, arguments: &[&str], warning: &str) {
        let mut command = train_in(directory, arguments);
        let message = failure(command.env("CRFKIT_CHECKPOINT_SECONDS", "0"), 1);
        assert_eq!(message.matches(warning).count(), 1, "{message}");
        assert_eq!(message.matches("but the model is complete").count(), 1, "{message}");
        let mut eval = crfkit();
        eval.current_dir(directory).args(["eval", "-m", "m", "data"]).assert().success();
        fs::remove_file(directory.join("m")).unwrap();
    }

    #[test]
    fn a_log_that_cannot_be_written_costs_no_model() {
        let (directory, _) = place();
        for more in [&[][..], &["--quiet"], &["--method", "ep1"], &["--report", "page"]] {
            let arguments = [&["data", "-m", "m", "--log", "/dev/full"], more].concat();
            survives(directory.path(), &arguments, "training continues");
        }
        assert_eq!(page_data(&directory.path().join("page"))["runs"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_page_that_cannot_be_written_costs_no_model() {
        let (directory, at) = place();
        let message =
            failure(&mut train_in(directory.path(), &["data", "-m", "m", "--report", "/dev/full"]), 1);
        assert!(message.contains("the model is written, but its page is not: /dev/full"), "{message}");
        crfkit().arg("inspect").arg(at("m")).assert().success();
    }

    #[test]
    fn help_that_cannot_be_written_is_no_success() {
        for arguments in ["--help", "--version", "train -h", "help tag"] {
            let mut shell = assert_cmd::Command::new("sh");
            shell.arg("-c").arg(format!("{} {arguments} > /dev/full", env!("CARGO_BIN_EXE_crfkit")));
            shell.assert().code(1);
        }
    }

    #[test]
    fn a_checkpoint_that_cannot_be_written_costs_no_model() {
        let (directory, at) = place();
        std::os::unix::fs::symlink("/dev/full", at("checkpoint")).unwrap();
        survives(directory.path(), &["data", "-m", "m", "--checkpoint", "checkpoint"], "training continues");
        assert!(at("checkpoint").is_symlink(), "a finished run removes only what it has written");
    }
}

#[cfg(unix)]
mod signals {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// A training that would take long, run by a shell after `first`; it has begun when this returns.
    fn long_run(directory: &Path, first: &str) -> Child {
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_crfkit");
        let data = demo().join("train.tsv");
        command.current_dir(directory).arg("-c").arg(format!(
            "{first}exec {program} train {} -m m --optimizer sgd --passes 100000 --log log --checkpoint checkpoint",
            data.display()
        ));
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        wait_for_progress(directory, 1);
        child
    }

    fn progress(directory: &Path) -> usize {
        fs::read_to_string(directory.join("log")).unwrap_or_default().matches("\"progress\"").count()
    }

    fn wait_for_progress(directory: &Path, steps: usize) {
        let begun = Instant::now();
        while progress(directory) < steps {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not go on");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn signal(child: &Child, name: &str) {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    }

    fn hanging_up_is_ignored() -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
    }

    #[test]
    fn termination_and_hanging_up_save_model_and_checkpoint() {
        // Under nohup, hanging up is ignored by the tests and by all that they start.
        let names = if hanging_up_is_ignored() { &["-TERM"][..] } else { &["-TERM", "-HUP"] };
        for name in names {
            let directory = scratch();
            let mut child = long_run(directory.path(), "");
            signal(&child, name);
            assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
            assert!(directory.path().join("checkpoint").is_file());
            let log = fs::read_to_string(directory.path().join("log")).unwrap();
            assert!(log.ends_with("}\n") && log.contains("\"interrupted\""), "{name}");
            crfkit().arg("inspect").arg(directory.path().join("m")).assert().success();
        }
    }

    #[test]
    fn a_run_under_nohup_outlives_its_terminal() {
        let directory = scratch();
        let mut child = long_run(directory.path(), "trap '' HUP; ");
        signal(&child, "-HUP");
        wait_for_progress(directory.path(), progress(directory.path()) + 3);
        assert!(child.try_wait().unwrap().is_none());
        signal(&child, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }

    #[test]
    fn a_log_that_another_run_writes_is_left_alone() {
        let directory = scratch();
        fs::write(directory.path().join("data"), DATA).unwrap();
        let mut child = long_run(directory.path(), "");
        let message = failure(&mut train_in(directory.path(), &["data", "-m", "other", "--log", "log"]), 1);
        assert!(message.contains("another run is writing this log"), "{message}");
        assert!(!directory.path().join("other").exists());
        assert!(progress(directory.path()) > 0, "nothing of it is lost");
        child.kill().unwrap();
        child.wait().unwrap();
        train_in(directory.path(), &["data", "-m", "other", "--log", "log"]).assert().success();
    }

    #[test]
    fn remains_of_a_killed_write_vanish_with_the_next_one() {
        let (directory, at) = place();
        fs::write(at(".m.0.tmp"), "half a model").unwrap();
        train_in(directory.path(), &["data", "-m", "m"]).assert().success();
        assert!(!at(".m.0.tmp").exists());
    }
}

/// More labels than memory: they are words.
mod labels {
    use super::*;
    use std::fmt::Write as _;

    fn text(labels: usize, row: impl Fn(usize) -> String) -> String {
        (0..labels).fold(String::new(), |mut text, i| {
            let _ = writeln!(text, "{}", row(i));
            text
        })
    }

    #[test]
    fn a_column_of_words_is_refused_with_the_likely_cause() {
        let (directory, at) = place();
        fs::write(at("columns"), text(8193, |i| format!("x A w{i}"))).unwrap();
        fs::write(at("attributes"), text(8193, |i| format!("w{i}\tx"))).unwrap();
        fs::write(at("template"), "U0:%x[0,0]\n").unwrap();
        let factorial = ["--graph", "factorial", "--label-column", "1,2", "--template", "template"];
        for (file, more, cause) in [
            ("columns", &[][..], "column 2"),
            ("columns", &factorial, "column 2"),
            ("columns", &["--method", "ep1"], "column -1"),
            ("columns", &["--stream", "--optimizer", "psa"], "column 2"),
            ("attributes", &["--format", "attributes"], "first field"),
        ] {
            let arguments = [&[file, "-m", "m"], more].concat();
            let message = failure(&mut train_in(directory.path(), &arguments), 1);
            for said in ["8193 different labels", "`w0`", cause] {
                assert!(message.contains(said), "{arguments:?}: {message}");
            }
            assert!(!at("m").exists());
        }
        // A stream sees them one by one.
        let words: String = (0..2000).map(|i| format!("x A w{i}\n\n")).collect();
        fs::write(at("words"), words).unwrap();
        let stream = ["words", "-m", "m", "--stream", "--optimizer", "psa"];
        let message = failure(&mut train_in(directory.path(), &stream), 1);
        assert!(message.contains("1025 different labels") && message.contains("column 2"), "{message}");
        fs::write(at("fewer"), text(600, |i| format!("x w{i}"))).unwrap();
        train_in(directory.path(), &["fewer", "-m", "m", "--passes", "1"]).assert().success();
    }
}

#[cfg(unix)]
mod endless {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_no_text_is_not_read_to_its_end() {
        let (directory, at) = place();
        train_in(directory.path(), &["data", "-m", "m"]).assert().success();
        for arguments in [
            &["train", "data", "-m", "n", "--template", "/dev/zero"][..],
            &["train", "data", "-m", "n", "--constraint", "/dev/zero"],
            &["search", "data", "-m", "n", "--points", "/dev/zero"],
            &["edit", "-m", "m", "-o", "n", "/dev/zero"],
            &["report", "/dev/zero", "-o", "n"],
        ] {
            let message = failure(crfkit().current_dir(directory.path()).args(arguments), 1);
            assert!(message.contains("/dev/zero: a NUL byte"), "{arguments:?}: {message}");
            assert!(!at("n").exists());
        }
    }

    #[test]
    fn what_is_no_model_is_not_read_to_its_end() {
        let mut command = crfkit();
        let message = failure(command.args(["inspect", "/dev/zero"]).timeout(Duration::from_secs(60)), 1);
        assert!(message.contains("not a model"), "{message}");
    }

    #[test]
    fn a_model_may_come_through_a_pipe() {
        let (directory, at) = place();
        train_in(directory.path(), &["data", "-m", "m"]).assert().success();
        let tag = |model: &str| {
            let mut command = crfkit();
            command.current_dir(directory.path()).args(["tag", "-m", model, "data"]);
            command
        };
        let piped = output(tag("/dev/stdin").write_stdin(fs::read(at("m")).unwrap()));
        assert_eq!(piped, output(&mut tag("m")));
        let cut = fs::read(at("m")).unwrap();
        failure(tag("/dev/stdin").write_stdin(&cut[..cut.len() / 2]), 1);
        // A model to start from, too.
        let from = |model: &str, to: &str| train_in(directory.path(), &["data", "-m", to, "--init", model]);
        from("/dev/stdin", "piped").write_stdin(cut).assert().success();
        from("m", "read").assert().success();
        assert!(fs::read(at("piped")).unwrap() == fs::read(at("read")).unwrap());
    }
}

#[test]
fn more_labellings_than_memory_are_an_error() {
    let (directory, at) = place();
    train_in(directory.path(), &["data", "-m", "m"]).assert().success();
    fs::write(at("long"), "dog N\n".repeat(60)).unwrap();
    for output in ["columns", "json"] {
        let mut command = crfkit();
        command.current_dir(directory.path()).args(["tag", "-m", "m", "--output", output]);
        let message = failure(command.args(["--nbest", "1000000000", "long"]), 1);
        assert!(message.contains("1000000000 best labellings"), "{message}");
    }
}

#[test]
fn a_type_that_is_declared_twice_is_refused() {
    let (directory, at) = place();
    let types = r#"{"types":{"word":{"labels":2},"link":{"over":["word","word"]},"word":{"labels":3}}}"#;
    fs::write(at("graphs"), format!("{types}\n")).unwrap();
    let message = failure(&mut train_in(directory.path(), &["graphs", "--graph", "file", "-m", "m"]), 1);
    assert!(message.contains("`word` is declared twice"), "{message}");
}

#[test]
fn a_prior_that_is_too_narrow_is_not_to_be_narrower() {
    let (directory, _) = place();
    let message = failure(&mut train_in(directory.path(), &["data", "-m", "m", "--sigma", "1e-300"]), 2);
    assert!(message.contains("--sigma") && message.contains("larger"), "{message}");
    for optimizer in ["lbfgs", "sgd", "saga", "cg"] {
        for sigma in ["1e-150", "1e-100", "1e-20"] {
            let arguments = ["data", "-m", "m", "--sigma", sigma, "--optimizer", optimizer];
            let ended = train_in(directory.path(), &arguments).output().unwrap();
            let message = String::from_utf8(ended.stderr).unwrap();
            assert!(!message.contains("smaller --sigma"), "{optimizer} {sigma}: {message}");
            assert!(!message.contains("panicked"), "{message}");
        }
    }
}
