//! Runs that would go wrong: they say so, and leave no model behind; limits hold in every phase.

use crate::common;

use common::{crfkit, failure, json_lines, output, scratch};
use crfkit::math::random::Random;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Arrays of one-hot windows of colours in `count` squares of `side` cells, as a puzzle has them, times `unit`.
fn puzzle(directory: &Path, count: usize, side: usize, unit: f64) {
    const COLOURS: usize = 4;
    let mut random = Random::new(11);
    for name in ["images", "masks"] {
        fs::create_dir(directory.join(name)).unwrap();
    }
    let array = |kind: &str, shape: String, body: Vec<u8>| {
        let head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
        let head = format!("{head:<117}\n");
        [b"\x93NUMPY\x01\x00".to_vec(), (head.len() as u16).to_le_bytes().into(), head.into(), body].concat()
    };
    for number in 0..count {
        let edge = random.below(side);
        let colours: Vec<usize> =
            (0..side * side).map(|k| (k / side / 2 + usize::from(k % side > edge)) % COLOURS).collect();
        let mut numbers = Vec::new();
        for k in 0..side * side {
            let window = [0, 1, side, side + 1].map(|step| colours[(k + step) % (side * side)]);
            let hot =
                window.iter().flat_map(|&colour| (0..COLOURS).map(move |c| f64::from(u8::from(c == colour))));
            numbers.extend(hot.flat_map(|x| (x * unit).to_le_bytes()));
        }
        let labels = colours.iter().map(|&colour| ((colour + 1) % COLOURS) as u8).collect();
        let features = array("<f8", format!("{side}, {side}, {}", 4 * COLOURS), numbers);
        fs::write(directory.join(format!("images/{number}.npy")), features).unwrap();
        let mask = array("|u1", format!("{side}, {side}"), labels);
        fs::write(directory.join(format!("masks/{number}.npy")), mask).unwrap();
    }
}

fn train(directory: &Path, more: &[&str]) -> assert_cmd::Command {
    let mut command = crfkit();
    let grid = ["train", "--graph", "grid", "--tables", "full", "--images", "images", "--masks", "masks"];
    command.args(grid).args(["-m", "model", "--log", "log"]).args(more).current_dir(directory);
    command
}

fn error(directory: &Path) -> f64 {
    let eval = ["eval", "-m", "model", "--images", "images", "--masks", "masks"];
    let text = output(crfkit().args(eval).current_dir(directory));
    let percent = text.split_whitespace().find_map(|word| word.parse().ok());
    percent.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn one_hot_windows_are_learned_by_the_defaults() {
    for (unit, more) in [(1.0, &[][..]), (1000.0, &[]), (1.0, &["--objective", "marginal"])] {
        let directory = scratch();
        puzzle(directory.path(), 6, 7, unit);
        output(&mut train(directory.path(), more));
        let error = error(directory.path());
        assert!(error < 5.0, "{unit} {more:?}: {error} %");
        let log = json_lines(&fs::read_to_string(directory.path().join("log")).unwrap());
        let last = log.last().unwrap()["objective"].as_f64().unwrap();
        assert!(last < 0.5 * (6.0 * 49.0) * 4f64.ln(), "{last}");
        // The run that computes the first weights is on record too.
        let first = log.iter().filter(|event| event["event"] == "first").count();
        assert!(first > 0);
    }
}

#[test]
fn a_run_that_diverges_leaves_no_model() {
    let directory = scratch();
    puzzle(directory.path(), 6, 7, 1.0);
    let online = ["--optimizer", "adagrad", "--eta0", "300", "--sigma", "100", "--passes", "1"];
    let message = failure(&mut train(directory.path(), &online), 1);
    assert!(message.contains("training diverged") && message.contains("eta0"), "{message}");
    assert!(!directory.path().join("model").exists());
    // The default method is given the same gain, and finds its way.
    let run = train(directory.path(), &["--objective", "marginal", "--eta0", "3000"]).assert().success();
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(text.contains("rose above its start"), "{text}");
    assert!(error(directory.path()) < 5.0);
}

#[test]
fn seconds_hold_in_every_phase() {
    let directory = scratch();
    puzzle(directory.path(), 60, 12, 1.0);
    for more in [&[][..], &["--init", "zero", "--optimizer", "lbfgs"], &["--init", "zero"]] {
        let begun = Instant::now();
        let run = train(directory.path(), &[&["--seconds", "0.2"], more].concat()).assert().success();
        let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(text.contains("number of seconds reached"), "{more:?}: {text}");
        // A machine may be busy; without the limit these runs take minutes.
        assert!(begun.elapsed().as_secs_f64() < 20.0, "{more:?}");
    }
}
