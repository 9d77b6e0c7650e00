//! Images of whose labels something is known, from the command line: masks with sets of labels, and images with restricted answers.

use crate::common;

use common::{crfkit, failure, output, scratch};
use crfkit::data::npz::{npy, npz};
use crfkit::data::numpy::ArrayArchive;
use std::fs;
use std::path::Path;

const PIXELS: usize = 5 * 6;

fn numbers(channels: usize, values: &[f64]) -> Vec<u8> {
    npy("<f8", &[5, 6, channels], &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

fn bits(labels: usize, allowed: impl Fn(usize, usize) -> bool) -> Vec<u8> {
    let bit = |at: usize| u8::from(allowed(at / labels, at % labels));
    npy("|b1", &[5, 6, labels], &(0..PIXELS * labels).map(bit).collect::<Vec<u8>>())
}

/// Three numbers for each pixel, of which the largest is that of its label.
fn image() -> Vec<f64> {
    let number = |at: usize| {
        let (pixel, label) = (at / 3, at % 3);
        f64::from(u8::from(label == pixel % 3)) + 0.1 * (7 * at % 5) as f64
    };
    (0..3 * PIXELS).map(number).collect()
}

fn array(path: &Path, name: &str) -> Vec<f64> {
    ArrayArchive::open(&fs::read(path).unwrap()).unwrap().array(name).unwrap().unwrap().values
}

#[test]
fn sets_are_learnt_from_and_restrictions_are_obeyed() {
    let directory = scratch();
    let path = directory.path();
    for name in ["images", "masks", "new"] {
        fs::create_dir(path.join(name)).unwrap();
    }
    let values = image();
    fs::write(path.join("images/a.npy"), numbers(3, &values)).unwrap();
    // Half of the pixels have their label, the others may have the next one too. Label 3 is nowhere possible.
    let possible =
        |pixel: usize, label: usize| label == pixel % 3 || pixel % 2 == 1 && label == (pixel + 1) % 3;
    fs::write(path.join("masks/a.npy"), bits(4, possible)).unwrap();
    let run = |args: &[&str]| {
        let mut command = crfkit();
        command.args(args).current_dir(path);
        command
    };
    let train = ["train", "--graph", "grid", "--images", "images", "--masks", "masks", "-m", "m", "--quiet"];
    output(&mut run(&[
        &train[..],
        &["--neighbours", "none", "--dev-images", "images", "--dev-masks", "masks"],
    ]
    .concat()));
    let eval = ["eval", "-m", "m", "--images", "images", "--masks", "masks", "--json"];
    let scores: serde_json::Value = serde_json::from_str(&output(&mut run(&eval))).unwrap();
    assert_eq!((&scores["pixels"], &scores["wrong"]), (&15.into(), &0.into()));
    let page = ["report", "-m", "m", "--images", "images", "--masks", "masks", "-o", "page.html"];
    output(&mut run(&page));

    // Only wrong labels are possible in the first row, and all in the others.
    let allowed = |pixel: usize, label: usize| pixel >= 6 || label == (pixel + 1) % 3 || label == 3;
    let archive = |labels: usize| {
        let arrays = [("nodes", numbers(3, &values)), ("allowed", bits(labels, allowed))];
        npz(&arrays).unwrap()
    };
    fs::write(path.join("new/a.npz"), archive(4)).unwrap();
    output(&mut run(&[
        "tag",
        "-m",
        "m",
        "--images",
        "new",
        "--output-dir",
        "out",
        "--arrays",
        "--marginals=all",
    ]));
    let labels = array(&path.join("out/a.npz"), "labels");
    let marginals = array(&path.join("out/a.npz"), "marginals");
    for pixel in 0..PIXELS {
        let row = &marginals[4 * pixel..][..4];
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        if pixel < 6 {
            assert!(allowed(pixel, labels[pixel] as usize));
            assert!((0..4).all(|label| allowed(pixel, label) == (row[label] > 0.0)));
        } else {
            assert_eq!(labels[pixel], (pixel % 3) as f64);
        }
    }

    fs::write(path.join("new/a.npz"), archive(3)).unwrap();
    let message = failure(&mut run(&["tag", "-m", "m", "--images", "new", "--output-dir", "out"]), 1);
    assert!(message.contains("`allowed` has the shape [5, 6, 3], but [5, 6, 4] is needed here"), "{message}");
    let message =
        failure(&mut run(&["train", "--graph", "grid", "--images", "new", "--masks", "masks", "-m", "n"]), 1);
    assert!(message.contains("`allowed` restricts the answers of a model"), "{message}");
    let message =
        failure(&mut run(&["tag", "-m", "m", "--images", "new", "--output-dir", "out", "--allowed", "1"]), 2);
    assert!(message.contains("arrays of images have `allowed` themselves"), "{message}");

    // Nothing known: there is nothing to learn from, and nothing to compare with.
    fs::write(path.join("masks/a.npy"), bits(4, |_, _| true)).unwrap();
    let message = failure(&mut run(&train), 1);
    assert!(message.contains("holds no label"), "{message}");
    assert!(failure(&mut run(&eval), 1).contains("no image in it has a pixel with a label"));
    fs::write(path.join("masks/a.npy"), bits(65, |_, _| true)).unwrap();
    assert!(failure(&mut run(&train), 1).contains("sets of 65 labels, but at most 64 are allowed"));
}

#[test]
fn images_with_other_pairs_are_rejected() {
    let directory = scratch();
    let path = directory.path();
    for name in ["plain", "masks", "compare"] {
        fs::create_dir(path.join(name)).unwrap();
    }
    let values = image();
    fs::write(path.join("plain/a.npy"), numbers(3, &values)).unwrap();
    let compare = npz(&[("nodes", numbers(3, &values)), ("compare", numbers(3, &values))]).unwrap();
    fs::write(path.join("compare/a.npz"), compare).unwrap();
    fs::write(path.join("masks/a.npy"), npy("|u1", &[5, 6], &(0..30).map(|k| k % 3).collect::<Vec<u8>>()))
        .unwrap();
    for (trained, other, remedy) in
        [("plain", "compare", "leave them out"), ("compare", "plain", "give them")]
    {
        let train =
            ["train", "--graph", "grid", "--images", trained, "--masks", "masks", "-m", "m", "--quiet"];
        output(crfkit().args(train).current_dir(path));
        let tag = |images: &str| {
            let mut command = crfkit();
            command.args(["tag", "-m", "m", "--images", images, "--output-dir", "out"]).current_dir(path);
            command
        };
        output(&mut tag(trained));
        let message = failure(&mut tag(other), 1);
        assert!(message.contains("in training") && message.contains(remedy), "{message}");
    }
}
