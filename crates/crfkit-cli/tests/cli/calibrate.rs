//! `train --calibrate`: the temperature that `crfkit calibrate` would fit, at the end of a run.

use crate::common;

use common::{crfkit, failure, output, scratch};
use std::fs;

/// Sequences of two words whose labels are noisy, so that a model without a prior is too sure of itself.
fn text(seed: u64, sequences: usize) -> String {
    let mut state = seed;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let mut text = String::new();
    for _ in 0..sequences {
        for _ in 0..3 {
            let word = next(30);
            let label = if next(4) == 0 { next(2) } else { word % 2 };
            text += &format!("w{word}\t{}\n", ["X", "Y"][label as usize]);
        }
        text += "\n";
    }
    text
}

#[test]
fn train_fits_the_temperature_that_calibrate_would() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("train.tsv"), text(1, 60)).unwrap();
    fs::write(path("dev.tsv"), text(2, 60)).unwrap();
    let train = |model: &str, arguments: &[&str]| {
        let mut command = crfkit();
        command.arg("train").arg(path("train.tsv")).arg("-m").arg(path(model));
        command.args(["--optimizer", "lbfgs", "--sigma", "20"]).args(arguments);
        command
    };
    let dev = path("dev.tsv");
    let with_dev = ["--dev", dev.to_str().unwrap()];
    train("plain", &with_dev).assert().success();
    output(crfkit().arg("calibrate").arg("-m").arg(path("plain")).arg(&dev).arg("-o").arg(path("after")));
    let run = train("at-once", &[&with_dev[..], &["--calibrate"]].concat()).assert().success();
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(said.contains("temperature ") && said.contains("60 sequences"), "{said}");
    assert_eq!(fs::read(path("at-once")).unwrap(), fs::read(path("after")).unwrap(), "to the byte");
    assert_ne!(fs::read(path("plain")).unwrap(), fs::read(path("after")).unwrap());

    // Without development data: the weights of all data, and a temperature above 1 from a tenth.
    train("plain", &[]).assert().success();
    let run = train("held-out", &["--calibrate"]).assert().success();
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let number = said.split("temperature ").nth(1).unwrap().split(';').next().unwrap();
    assert!(number.parse::<f64>().unwrap() > 1.0 && said.contains("6 sequences"), "{said}");
    let dump = |model: &str| output(crfkit().args(["inspect", "--dump"]).arg(path(model)));
    assert_eq!(dump("held-out"), dump("plain"));
    train("twice", &["--calibrate", "--threads", "1"]).assert().success();
    assert_eq!(fs::read(path("twice")).unwrap(), fs::read(path("held-out")).unwrap());

    let refused = |arguments: &[&str], message: &str| {
        let found = failure(&mut train("refused", arguments), 2);
        assert!(found.contains(message), "{found}");
    };
    refused(&["--calibrate", "--seconds", "1"], "give --dev FILE");
    refused(&["--calibrate", "--dev", "-"], "not standard input");
    refused(&["--calibrate", "--graph", "skip-chain", "--skip", "same(0)"], "--calibrate");
    fs::write(path("train.tsv"), text(1, 5)).unwrap();
    refused(&["--calibrate"], "there are only 5: give development data");
    assert!(!path("refused").exists());
    // Time that is up ends the training, and the model gets its temperature.
    fs::write(path("train.tsv"), text(1, 60)).unwrap();
    let run =
        train("timed", &[&with_dev[..], &["--calibrate", "--seconds", "1e-6"]].concat()).assert().success();
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(said.contains("number of seconds reached") && said.contains("temperature "), "{said}");
    // What cannot be fitted costs the temperature, not the model.
    fs::write(&dev, "w1\tZ\n\n").unwrap();
    let found = failure(&mut train("whole", &[&with_dev[..], &["--calibrate"]].concat()), 1);
    assert!(found.contains("the model is written, but has no temperature"), "{found}");
    assert!(path("whole").exists());
}
