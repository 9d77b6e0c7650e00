//! Pictures: `crfkit demo grid`, and models of pictures from the command line.

mod common;

use common::{crfkit, failure, output, scratch};
use crfkit::data::images::{Image, Mask};
use crfkit::math::random::Random;
use std::fs::{self, File};
use std::path::Path;

#[test]
fn the_demo_cleans_pictures_and_says_how_well() {
    let directory = scratch();
    let text = output(crfkit().args(["demo", "grid"]).current_dir(directory.path()));
    let last = text.lines().last().unwrap();
    let words: Vec<&str> = last.split_whitespace().collect();
    let [logistic, mean_field, loopy_bp] = [2, 5, 8].map(|k| words[k].parse::<f64>().unwrap());
    assert_eq!(
        last,
        format!("error: logistic {logistic:.1} %  mean-field {mean_field:.1} %  loopy-bp {loopy_bp:.1} %")
    );
    assert!(loopy_bp <= mean_field + 0.1 && mean_field < 0.3 * logistic && logistic < 20.0, "{last}");
    let picture = directory.path().join("crfkit-demo-grid.png");
    let picture = Image::read(File::open(picture).unwrap(), "picture").unwrap();
    assert_eq!((picture.channels, picture.width), (1, 5 * (2 * 64 + 4) + 4));
}

#[test]
fn the_flags_of_one_demo_are_not_for_the_other() {
    assert!(failure(crfkit().args(["demo", "grid", "--write", "x"]), 2).contains("-o FILE"));
    assert!(failure(crfkit().args(["demo", "-o", "x.png"]), 2).contains("crfkit demo grid"));
}

/// Pictures and masks of 16 × 16 pixels, grey files with a block in each; one pixel of the first mask has the value 7.
fn draw(directory: &Path) {
    let mut random = Random::new(3);
    for name in ["images", "masks"] {
        fs::create_dir(directory.join(name)).unwrap();
    }
    for number in 0..6 {
        let (row, column) = (2 + random.below(8), 2 + random.below(8));
        let inside =
            |k: usize| (row..row + 6).contains(&(k / 16)) && (column..column + 6).contains(&(k % 16));
        let mut values: Vec<u8> = (0..256).map(|k| if inside(k) { 2 } else { 1 }).collect();
        let noisy = |v: &u8| (60 * u64::from(*v) + random.next_u64() % 110) as u8;
        let image = Mask { height: 16, width: 16, values: values.iter().map(noisy).collect() };
        if number == 0 {
            values[5] = 7;
        }
        let mask = Mask { height: 16, width: 16, values };
        fs::write(directory.join(format!("images/{number}.png")), image.to_png().unwrap()).unwrap();
        fs::write(directory.join(format!("masks/{number}.png")), mask.to_png().unwrap()).unwrap();
    }
}

#[test]
fn a_model_of_pictures_is_trained_applied_and_judged() {
    let directory = scratch();
    draw(directory.path());
    let run = |arguments: &[&str]| {
        let mut command = crfkit();
        command.current_dir(directory.path()).args(arguments);
        command
    };
    let train = ["train", "--graph", "grid", "--images", "images", "--masks", "masks", "--quiet"];
    let with = |more: &[&'static str]| -> Vec<&'static str> { [&train[..], more].concat() };
    let unlabelled = [
        "--unlabelled",
        "7",
        "--optimizer",
        "lbfgs",
        "--passes",
        "8",
        "--log",
        "log",
        "--checkpoint",
        "saved",
        "-m",
    ];
    run(&with(&[&unlabelled[..], &["model"]].concat())).assert().success();
    run(&with(&[&unlabelled[..], &["alone", "--neighbours", "none"]].concat())).assert().success();
    let log = fs::read_to_string(directory.path().join("log")).unwrap();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "stop", "{log}");
    assert!(!fs::exists(directory.path().join("saved")).unwrap(), "a finished run removes it");
    let eval = |model: &str, more: &[&str]| -> serde_json::Value {
        let arguments = ["eval", "-m", model, "--images", "images", "--masks", "masks", "--json"];
        serde_json::from_str(&output(&mut run(&[&arguments[..], more].concat()))).unwrap()
    };
    let (joined, alone) = (eval("model", &[]), eval("alone", &[]));
    assert_eq!((joined["pixels"].as_u64(), joined["images"].as_u64()), (Some(6 * 256 - 1), Some(6)));
    let error = |scores: &serde_json::Value| scores["pixel_error"].as_f64().unwrap();
    assert!(error(&joined) < 0.8 * error(&alone), "{joined} {alone}");
    assert!(error(&eval("model", &["--decode", "graph-cut"])) < error(&alone));
    assert_eq!(eval("model", &["--inference", "mean-field"])["pixels"], joined["pixels"]);

    let tag = ["tag", "-m", "model", "--images", "images", "--output-dir", "out", "--marginals"];
    run(&tag).assert().success();
    let read = |path: &str| Mask::read(File::open(directory.path().join(path)).unwrap(), path).unwrap();
    let (labels, probability, other) = (read("out/3.png"), read("out/3.p2.png"), read("out/3.p1.png"));
    for k in 0..256 {
        assert!(u16::from(probability.values[k]) + u16::from(other.values[k]) >= 254);
        assert_eq!(labels.values[k] == 2, probability.values[k] > 127, "{k}");
    }

    let refused = |arguments: &[&str], status: i32| failure(&mut run(arguments), status);
    assert!(refused(&with(&["-m", "m", "--preset", "ner"]), 2).contains("--preset is for --graph chain"));
    assert!(refused(&with(&["-m", "m", "--objective", "memm"]), 2).contains("for chains"));
    assert!(refused(&with(&["-m", "m", "--tables", "ising"]), 1).contains("two labels, but there are 3"));
    assert!(refused(&["train", "--graph", "grid", "x", "-m", "m"], 2).contains("--images DIR"));
    assert!(
        refused(&["train", "--images", "images", "--masks", "masks", "-m", "m"], 2).contains("--graph grid")
    );
    assert!(refused(&["tag", "-m", "model", "--images", "images"], 2).contains("--output-dir"));
    assert!(refused(&["tag", "-m", "model"], 1).contains("a model of pictures"));
    fs::remove_file(directory.path().join("masks/4.png")).unwrap();
    assert!(refused(&with(&["-m", "m"]), 1).contains("no mask called 4"));
}
