//! Pictures: `crfkit demo grid`, and models of pictures from the command line.

use crate::common;

use common::{crfkit, failure, output, scratch};
use crfkit::data::images::{Image, Mask};
use crfkit::data::npz::{npy as array_file, npz};
use crfkit::data::numpy::ArrayArchive;
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
        let mut values: Vec<u16> = (0..256).map(|k| if inside(k) { 2 } else { 1 }).collect();
        let noisy = |v: &u16| (60 * u64::from(*v) + random.next_u64() % 110) as u16;
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

    let tag = ["tag", "-m", "model", "--images", "images", "--output-dir", "out", "--marginals", "all"];
    run(&tag).assert().success();
    run(&tag[..tag.len() - 1]).assert().success();
    let read = |path: &str| Mask::read(File::open(directory.path().join(path)).unwrap(), path).unwrap();
    let (labels, probability, other) = (read("out/3.png"), read("out/3.p2.png"), read("out/3.p1.png"));
    let chosen = read("out/3.p.png");
    for k in 0..256 {
        assert!(probability.values[k] + other.values[k] >= 254);
        assert_eq!(labels.values[k] == 2, probability.values[k] > 127, "{k}");
        assert_eq!(chosen.values[k], probability.values[k].max(other.values[k]), "{k}");
    }

    run(&with(&[
        "--unlabelled",
        "7",
        "--optimizer",
        "lbfgs",
        "--passes",
        "1",
        "-m",
        "small",
        "--init",
        "model",
        "--precision",
        "f16",
    ]))
    .assert()
    .success();
    assert!(error(&eval("small", &[])) < 0.8 * error(&alone));
    let text = output(&mut run(&["inspect", "model"]));
    for piece in [
        "labels        label: 2: 1 2",
        "tables        \"potts\"",
        "equal labels",
        "heaviest observations of 2",
    ] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    let dump = output(&mut run(&["inspect", "model", "--dump"]));
    assert!(
        dump.contains("\npart\tpair\tpotts\tlabel\tlabel\n") && dump.contains("\ndense\tsite\t0\t2\t"),
        "{dump}"
    );

    let refused = |arguments: &[&str], status: i32| failure(&mut run(arguments), status);
    assert!(
        refused(&with(&["-m", "m", "--preset", "ner"]), 2).contains("--preset does not go with --graph grid")
    );
    assert!(refused(&with(&["-m", "m", "--objective", "memm"]), 2).contains("for chains only"));
    assert!(refused(&with(&["-m", "m", "--tables", "ising"]), 1).contains("two labels, but there are 3"));
    assert!(refused(&["train", "--graph", "grid", "x", "-m", "m"], 2).contains("--images DIR"));
    assert!(
        refused(&["train", "--images", "images", "--masks", "masks", "-m", "m"], 2).contains("--graph grid")
    );
    assert!(refused(&["tag", "-m", "model", "--images", "images"], 2).contains("--output-dir"));
    assert!(refused(&["tag", "-m", "model"], 1).contains("a model of images"));
    fs::remove_file(directory.path().join("masks/4.png")).unwrap();
    assert!(refused(&with(&["-m", "m"]), 1).contains("no mask called 4"));
}

/// A file as `numpy.save` writes it, float64 or uint8 by the size of a number.
#[test]
fn development_pictures_decide_which_weights_are_kept() {
    let (directory, others) = (scratch(), scratch());
    draw(directory.path());
    draw(others.path());
    // Masks that are right where those of the training are wrong: the more is learnt, the worse it gets.
    for entry in fs::read_dir(others.path().join("masks")).unwrap() {
        let path = entry.unwrap().path();
        let mask = Mask::read(File::open(&path).unwrap(), "mask").unwrap();
        let swapped = mask.values.iter().map(|value| if *value == 2 { 1 } else { 2 }).collect();
        fs::write(&path, Mask { values: swapped, ..mask }.to_png().unwrap()).unwrap();
    }
    let run = |arguments: &[&str]| {
        let mut command = crfkit();
        command.current_dir(directory.path()).arg("train").args(arguments);
        command
    };
    let grid = ["--graph", "grid", "--images", "images", "--masks", "masks", "--unlabelled", "7", "--quiet"];
    let [images, masks] = ["images", "masks"].map(|name| others.path().join(name).display().to_string());
    let dev = ["--dev-images", &images, "--dev-masks", &masks, "--patience", "3", "--log", "log", "-m", "m"];
    run(&[&grid[..], &dev].concat()).assert().success();
    let log = fs::read_to_string(directory.path().join("log")).unwrap();
    let events: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let judged: Vec<_> = events.iter().filter(|event| event["event"] == "eval").collect();
    assert!(judged.len() >= 4 && judged.iter().all(|event| event["data"] == "dev"), "{log}");
    let best = |event: &serde_json::Value| event["best"] == true;
    assert!(judged.iter().rev().take(3).all(|event| !best(event)), "{log}");
    let reason = events.last().unwrap()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("development score no longer improves"), "{reason}");

    run(&[&grid[..], &["--dev-images", &images, "-m", "m"]].concat()).assert().code(2);
    run(&[&grid[..], &["--dev", "file", "-m", "m"]].concat()).assert().code(2);
}

fn npy(shape: &str, numbers: &[u8], descr: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), numbers].concat()
}

#[test]
fn arrays_and_patches_are_trained_on_and_labelled() {
    let directory = scratch();
    let run = |arguments: &[&str]| {
        let mut command = crfkit();
        command.args(arguments).current_dir(directory.path());
        command
    };
    let mut random = Random::new(4);
    for name in ["arrays", "pictures", "masks"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    for number in 0..5 {
        // 5 × 4 sites of two numbers, and the same as patches of 8 × 8 pixels with stripes where the label is 1.
        let labels: Vec<u8> = (0..20).map(|k| u8::from(k % 5 > number % 4)).collect();
        let numbers =
            labels.iter().flat_map(|&label| [f64::from(label) + random.uniform(), random.uniform()]);
        let numbers: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
        let stripes = |k: usize| match labels[k / 40 / 8 * 5 + k % 40 / 8] {
            1 if k % 4 < 2 => 250,
            _ => 100 + (random.next_u64() % 16) as u16,
        };
        let picture = Mask { height: 32, width: 40, values: (0..32 * 40).map(stripes).collect() };
        let write = |name: String, bytes: Vec<u8>| fs::write(directory.path().join(name), bytes).unwrap();
        write(format!("arrays/{number}.npy"), npy("(4, 5, 2)", &numbers, "<f8"));
        write(format!("masks/{number}.npy"), npy("(4, 5)", &labels, "|u1"));
        write(format!("pictures/{number}.png"), picture.to_png().unwrap());
    }
    let error = |model: &str, images: &str| -> f64 {
        let arguments = ["eval", "-m", model, "--images", images, "--masks", "masks", "--json"];
        let scores: serde_json::Value = serde_json::from_str(&output(&mut run(&arguments))).unwrap();
        assert_eq!(scores["pixels"].as_u64(), Some(100));
        scores["pixel_error"].as_f64().unwrap()
    };
    let train = |model: &str, images: &str, more: &[&str]| {
        let arguments =
            ["train", "--graph", "grid", "--images", images, "--masks", "masks", "--quiet", "-m", model];
        run(&[&arguments[..], &["--objective", "likelihood", "--optimizer", "lbfgs", "--passes", "20"], more]
            .concat())
    };
    train("arrays.model", "arrays", &["--quadratic"]).assert().success();
    assert!(error("arrays.model", "arrays") < 5.0);
    // The model file has the features of patches.
    train("patches.model", "pictures", &["--image-features", "orientations", "--patch", "8"])
        .assert()
        .success();
    assert!(error("patches.model", "pictures") < 5.0);
    run(&["tag", "-m", "patches.model", "--images", "pictures", "--output-dir", "out"]).assert().success();
    let tagged = Mask::read(File::open(directory.path().join("out/3.png")).unwrap(), "3").unwrap();
    assert_eq!((tagged.height, tagged.width), (4, 5));

    // Pages: of the run, and of the model alone.
    train("m", "pictures", &["--image-features", "orientations", "--patch", "8", "--report", "run.html"])
        .args(["--log", "run.jsonl"])
        .assert()
        .success();
    let report =
        ["report", "-m", "patches.model", "--images", "pictures", "--masks", "masks", "-o", "model.html"];
    run(&report).assert().success().stderr("");
    for (page, runs) in [("run.html", 1), ("model.html", 0)] {
        let html = fs::read_to_string(directory.path().join(page)).unwrap();
        let data =
            html.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["runs"].as_array().unwrap().len(), runs);
        let images = data["images"].as_array().unwrap();
        assert_eq!(images.len(), 5);
        for kind in ["input", "truth", "prediction", "marginals"] {
            assert!(images[4][kind].as_str().unwrap().starts_with("data:image/png;base64,"), "{kind}");
        }
        let name = images[0]["name"].as_str().unwrap();
        assert!(name.ends_with(" of 20 wrong"), "{name}");
    }
    let log = fs::read_to_string(directory.path().join("run.jsonl")).unwrap();
    assert!(log.contains("\"orientations\"") && log.lines().last().unwrap().contains("\"stop\""), "{log}");

    let refused = |mut command: assert_cmd::Command, status: i32| failure(&mut command, status);
    assert!(
        refused(train("m", "pictures", &[]), 1)
            .contains("40 × 32 sites (pixels or patches), but its mask has 5 × 4")
    );
    assert!(refused(train("m", "arrays", &["--patch", "0"]), 2).contains("a patch of 0 pixels"));
    assert!(
        refused(train("m", "arrays", &["--image-features", "intensity"]), 1)
            .contains("0.npy: pixels with 2 numbers")
    );
    let file = directory.path().join("arrays/4.npy");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert!(refused(train("m", "arrays", &[]), 1).contains("4.npy: 319 bytes of numbers"));
}

/// Images of horizontal stripes under noise, with masks 1 and 2 as arrays, and some void pixels of value 255.
fn draw_stripes(directory: &Path) {
    let mut random = Random::new(8);
    for name in ["images", "masks"] {
        fs::create_dir(directory.join(name)).unwrap();
    }
    for number in 0..6 {
        let mut values: Vec<u16> = (0..144).map(|k| 1 + (k / 12 % 2) as u16).collect();
        let noisy = |v: &u16| (60 * u64::from(*v) + random.next_u64() % 130) as u16;
        let image = Mask { height: 12, width: 12, values: values.iter().map(noisy).collect() };
        (0..144).filter(|k| k % 7 == number).for_each(|k| values[k] = 255);
        let mask = Mask { height: 12, width: 12, values };
        fs::write(directory.join(format!("images/{number}.png")), image.to_png().unwrap()).unwrap();
        fs::write(directory.join(format!("masks/{number}.png")), mask.to_png().unwrap()).unwrap();
    }
}

/// Every objective takes void pixels, directions may have weights of their own, and the scores are those of the labels that
/// `tag` writes.
#[test]
fn void_pixels_directions_and_costs() {
    let directory = scratch();
    draw_stripes(directory.path());
    let run = |arguments: &[&str]| {
        let mut command = crfkit();
        command.current_dir(directory.path()).args(arguments);
        command
    };
    let train =
        ["train", "--graph", "grid", "--images", "images", "--masks", "masks", "--void", "255", "-m", "m"];
    let error = |more: &[&str]| {
        run(&[&train[..], &["--quiet"], more].concat()).assert().success();
        let text = output(&mut run(&["eval", "-m", "m", "--images", "images", "--masks", "masks", "--json"]));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    for objective in [
        "likelihood",
        "pseudolikelihood",
        "piecewise",
        "piecewise-pseudo",
        "marginal",
        "perceptron",
        "max-margin",
    ] {
        let scores = error(&["--objective", objective, "--passes", "10"]);
        assert_eq!(scores["pixels"], 6 * 144 - 124, "{scores}");
        assert!(scores["pixel_error"].as_f64().unwrap() < 45.0, "{objective}: {scores}");
    }
    let shared = error(&["--objective", "softmax-margin"]);
    let separate = error(&["--objective", "softmax-margin", "--directions", "separate"]);
    let wrong = |scores: &serde_json::Value| scores["pixel_error"].as_f64().unwrap();
    assert!(wrong(&separate) < 0.5 * wrong(&shared), "{separate} {shared}");
    let summary = output(&mut run(&["inspect", "m"]));
    for words in ["directions", "weights of horizontal", "weights of vertical"] {
        assert!(summary.contains(words), "{words} in {summary}");
    }

    // A label that weighs more is found more often.
    let found = |weight: &str| {
        let more = ["--objective", "pseudolikelihood", "--neighbours", "none", "--label-weight", weight];
        error(&more)["labels"]["1"]["predicted"].as_u64().unwrap()
    };
    assert!(found("1=6") > found("1=1") && found("1=1") > found("1=0.1"));
    let message = failure(&mut run(&[&train[..], &["--label-weight", "1=2"]].concat()), 2);
    assert!(message.contains("use one of pseudolikelihood, piecewise-pseudo, marginal"), "{message}");
    let more = ["--label-weight", "3=2", "--objective", "marginal"];
    let message = failure(&mut run(&[&train[..], &more].concat()), 1);
    assert!(message.contains("nothing has this label"), "{message}");

    // Arrays in place of images.
    let arrays =
        ["tag", "-m", "m", "--images", "images", "--output-dir", "arrays", "--arrays", "--marginals=all"];
    run(&arrays).assert().success();
    run(&["tag", "-m", "m", "--images", "images", "--output-dir", "drawn"]).assert().success();
    let bytes = fs::read(directory.path().join("arrays/2.npz")).unwrap();
    let archive = ArrayArchive::open(&bytes).unwrap();
    let values = |name: &str| archive.array(name).unwrap().unwrap().values;
    let drawn = Mask::read(File::open(directory.path().join("drawn/2.png")).unwrap(), "drawn").unwrap();
    assert!(values("labels").iter().zip(&drawn.values).all(|(a, b)| *a == f64::from(*b)));
    assert!(values("marginals").chunks(2).zip(&drawn.values).all(|(p, v)| (p[1] > p[0]) == (*v == 2)));

    // A mask with weights: pixels that count nothing are as void ones.
    let mask = Mask::read(File::open(directory.path().join("masks/0.png")).unwrap(), "mask").unwrap();
    let labels: Vec<u8> = mask.values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let labels = array_file("<u2", &[12, 12], &labels);
    let weights: Vec<u8> = mask.values.iter().flat_map(|_| 0.0f64.to_le_bytes()).collect();
    let weighted = npz(&[("labels", labels), ("weights", array_file("<f8", &[12, 12], &weights))]).unwrap();
    fs::remove_file(directory.path().join("masks/0.png")).unwrap();
    fs::write(directory.path().join("masks/0.npz"), weighted).unwrap();
    error(&["--objective", "marginal"]);
    let message = failure(&mut run(&train), 1);
    assert!(message.contains("single tokens and nodes cannot have weights"), "{message}");
    fs::remove_file(directory.path().join("masks/0.npz")).unwrap();
    fs::write(directory.path().join("masks/0.png"), mask.to_png().unwrap()).unwrap();

    // The scores, computed again from the label images.
    let scores = error(&["--objective", "pseudolikelihood"]);
    run(&["tag", "-m", "m", "--images", "images", "--output-dir", "out"]).assert().success();
    let read = |path: String| Mask::read(File::open(directory.path().join(&path)).unwrap(), &path).unwrap();
    let (mut table, mut exact) = ([[0u64; 3]; 3], 0);
    for number in 0..6 {
        let (gold, found) = (read(format!("masks/{number}.png")), read(format!("out/{number}.png")));
        let pairs = || gold.values.iter().zip(&found.values).filter(|(gold, _)| **gold != 255);
        pairs().for_each(|(gold, found)| table[*gold as usize][*found as usize] += 1);
        exact += u64::from(pairs().all(|(gold, found)| gold == found));
    }
    let close = |value: &serde_json::Value, expected: f64| {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-9, "{value} {expected} in {scores}");
    };
    let recall = |label: usize| table[label][label] as f64 / (table[label][1] + table[label][2]) as f64;
    close(&scores["labels"]["2"]["accuracy"], 100.0 * recall(2));
    close(&scores["mean_class_accuracy"], 50.0 * (recall(1) + recall(2)));
    close(&scores["hamming_loss"], (table[1][2] + table[2][1]) as f64 / (6.0 * 144.0 - 124.0));
    close(&scores["exact_match"], 100.0 * exact as f64 / 6.0);
    let iou =
        |label: usize| table[label][label] as f64 / (table[1][2] + table[2][1] + table[label][label]) as f64;
    close(&scores["mean_iou"], 50.0 * (iou(1) + iou(2)));
    if table[1][2] > 0 {
        assert_eq!(scores["confusion"]["1"]["2"], table[1][2]);
    }
    let text = output(&mut run(&["eval", "-m", "m", "--images", "images", "--masks", "masks"]));
    for words in ["pixel error: ", "mean-class accuracy: ", "Hamming loss: ", "exact match: ", "taken for"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}
