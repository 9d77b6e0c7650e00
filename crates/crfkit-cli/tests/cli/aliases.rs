//! No output replaces an input or another output, whatever it is called.

use crate::common::*;
use crate::reliability::{DATA, place, train_in};
use std::fs;
use std::path::Path;

/// Each of these fails with status 2, names both, and changes no file.
#[test]
fn no_output_of_training_replaces_an_input_or_another_output() {
    let (directory, at) = place();
    for name in ["dev", "heldout", "old"] {
        fs::write(at(name), DATA).unwrap();
    }
    fs::write(at("template"), "U0:%x[0,0]\n").unwrap();
    fs::hard_link(at("data"), at("hard")).unwrap();
    let names = || {
        let entries = fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for (arguments, said) in [
        (&["data", "-m", "data"][..], ["-m", "data"]),
        (&["data", "-m", "./data"], ["-m", "data"]),
        (&["data", "-m", "hard"], ["-m", "data"]),
        (&["data", "-m", "m", "--log", "data"], ["--log", "training data"]),
        (&["data", "-m", "m", "--report", "hard"], ["--report", "training data"]),
        (&["data", "-m", "m", "--checkpoint", "data"], ["--checkpoint", "training data"]),
        (&["data", "-m", "dev", "--dev", "dev"], ["-m", "development data"]),
        (&["data", "-m", "m", "--log", "dev", "--dev", "dev"], ["--log", "development data"]),
        (&["data", "-m", "template", "--template", "template"], ["-m", "template"]),
        (&["data", "--method", "ep1", "--heldout", "heldout", "-m", "heldout"], ["-m", "held-out"]),
        (&["data", "-m", "m", "--log", "m"], ["-m and --log", "same file"]),
        (&["data", "-m", "m", "--report", "./m"], ["-m and --report", "same file"]),
        (&["data", "-m", "m", "--log", "x", "--checkpoint", "x"], ["--checkpoint and --log", "same"]),
        (&["data", "-m", "m", "--init", "old", "--log", "old"], ["--log", "--init"]),
        (&["data", "-m", "m", "--prior-mean", "old", "--report", "old"], ["--report", "--prior-mean"]),
    ] {
        let message = failure(&mut train_in(directory.path(), arguments), 2);
        assert!(said.iter().all(|said| message.contains(said)), "{arguments:?}: {message}");
        assert_eq!(names(), before, "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(at("data")).unwrap(), DATA);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("data", at("soft")).unwrap();
        failure(&mut train_in(directory.path(), &["data", "-m", "soft"]), 2);
        failure(&mut train_in(directory.path(), &["soft", "-m", "m", "--log", "data"]), 2);
        let mut shell = assert_cmd::Command::new("sh");
        shell.current_dir(directory.path()).arg("-c");
        shell.arg(format!("{} train - -m data < data", env!("CARGO_BIN_EXE_crfkit")));
        assert!(failure(&mut shell, 2).contains("standard input"));
        assert_eq!(fs::read_to_string(at("data")).unwrap(), DATA);
    }
}

/// Only a directory can have such a name, which is found out before the work.
#[test]
fn an_output_is_no_directory_that_is_not_there() {
    let (directory, at) = place();
    for arguments in [
        &["data", "-m", "new/"][..],
        &["data", "-m", "m", "--log", "new/"],
        &["data", "-m", "m", "--report", "new/"],
        &["data", "-m", "m", "--checkpoint", "new/"],
    ] {
        let message = failure(&mut train_in(directory.path(), arguments), 2);
        assert!(message.contains("new/: this names a directory"), "{message}");
        assert!(!at("m").exists());
    }
}

#[test]
fn a_model_may_take_the_place_of_the_one_it_starts_from_and_devices_may_repeat() {
    let (directory, _) = place();
    let run = |arguments: &[&str]| train_in(directory.path(), arguments).assert().success();
    run(&["data", "-m", "m"]);
    run(&["data", "-m", "m", "--init", "m"]);
    run(&["data", "-m", "m", "--prior-mean", "m"]);
    #[cfg(unix)]
    run(&["data", "-m", "/dev/null", "--log", "/dev/null"]);
}

#[test]
fn a_page_replaces_neither_log_nor_model_nor_data() {
    let (directory, at) = place();
    train_in(directory.path(), &["data", "-m", "m", "--log", "log"]).assert().success();
    let contents = || ["m", "log", "data"].map(|name| fs::read(at(name)).unwrap());
    let before = contents();
    for (arguments, said) in [
        (&["log", "-o", "log"][..], "a log"),
        (&["log", "-m", "m", "-o", "./m"], "the model"),
        (&["log", "-m", "m", "--test", "data", "-o", "data"], "labelled data"),
    ] {
        let message = failure(crfkit().current_dir(directory.path()).arg("report").args(arguments), 2);
        assert!(message.contains(said), "{message}");
        assert!(contents() == before, "{arguments:?}");
    }
}

#[test]
fn label_images_and_models_replace_no_image() {
    let (directory, at) = place();
    for name in ["images", "masks", "out"] {
        fs::create_dir(at(name)).unwrap();
    }
    let image: &[u8] = b"P5 2 2 255\n\x00\x00\xff\xff";
    fs::write(at("images/a.pgm"), image).unwrap();
    fs::write(at("images/b.pgm"), image).unwrap();
    fs::write(at("masks/a.pgm"), image).unwrap();
    fs::write(at("masks/b.pgm"), image).unwrap();
    let train = ["--graph", "grid", "--images", "images", "--masks", "masks", "-m"];
    let run = |more: &[&str]| train_in(directory.path(), &[&train, more].concat());
    assert!(failure(&mut run(&["images/a.pgm"]), 2).contains("training images"));
    assert!(failure(&mut run(&["m", "--log", "masks/b.pgm"]), 2).contains("training masks"));
    run(&["images/model"]).assert().success();
    let tag = |out: &str| {
        let mut command = crfkit();
        command.current_dir(directory.path()).args(["tag", "-m", "images/model", "--images", "images"]);
        command.args(["--output-dir", out]);
        command
    };
    assert!(failure(&mut tag("images/../images"), 2).contains("the directory of images"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../images/b.pgm", at("out/a.png")).unwrap();
        failure(&mut tag("out"), 2);
        fs::remove_file(at("out/a.png")).unwrap();
    }
    tag("out").assert().success();
    tag("out").assert().success();
    assert_eq!(fs::read(at("images/b.pgm")).unwrap(), image);
}

#[test]
fn the_demo_replaces_only_its_own_files() {
    let write = |directory: &Path| {
        let mut command = crfkit();
        command.arg("demo").arg("--write").arg(directory);
        command
    };
    for name in ["train.tsv", "test.tsv", "model"] {
        let directory = scratch();
        fs::write(directory.path().join(name), "mine").unwrap();
        let message = failure(&mut write(directory.path()), 2);
        assert!(message.contains(name) && message.contains("another directory"), "{message}");
        assert_eq!(fs::read_to_string(directory.path().join(name)).unwrap(), "mine");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    let directory = scratch();
    write(directory.path()).assert().success();
    write(directory.path()).assert().success();
}

/// Vectors, rules and the lists of a template are inputs like others.
#[test]
fn nothing_replaces_what_stands_beside_the_data() {
    use crfkit::data::npz::npy;
    let (directory, at) = place();
    let four = [1.0f64, -1.0, 0.5, 2.0].map(f64::to_le_bytes).concat();
    fs::write(at("v.npy"), npy("<f8", &[4, 1], &four)).unwrap();
    fs::write(at("dev.npy"), npy("<f8", &[4, 1], &four)).unwrap();
    fs::write(at("rules"), "forbid N D\n").unwrap();
    fs::write(at("list"), "dog\n").unwrap();
    fs::write(at("map"), "cat\tpet\n").unwrap();
    fs::write(at("template"), "U0:%x[0,0]\nU1:%list[0,0,\"list\"]\nU2:%map[0,0,\"map\"]\nB\n").unwrap();
    fs::write(at("other"), "U0:%x[0,0]\n").unwrap();
    train_in(directory.path(), &["data", "-m", "m", "--vectors", "v.npy", "--log", "log"]).assert().success();
    let contents = || {
        ["data", "v.npy", "dev.npy", "rules", "list", "map", "template", "other", "m", "log"]
            .map(|name| fs::read(at(name)).unwrap())
    };
    let before = contents();
    let vectors = ["--vectors", "v.npy", "--dev", "data", "--dev-vectors", "dev.npy"];
    for (verb, arguments, said) in [
        ("train", &["data", "-m", "v.npy"][..], "the vectors of the training data"),
        ("train", &["data", "-m", "n", "--log", "dev.npy"], "the vectors of the development data"),
        ("search", &["data", "-m", "v.npy"], "the vectors of the training data"),
        ("search", &["data", "-m", "n", "--points", "dev.npy"], "the vectors of the development data"),
    ] {
        let mut command = crfkit();
        command.current_dir(directory.path()).arg(verb).args(arguments).args(vectors);
        let message = failure(&mut command, 2);
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
    for (arguments, said) in [
        (&["train", "data", "-m", "rules", "--constraint", "rules"][..], "the file of rules"),
        (&["train", "data", "-m", "n", "--log", "list", "--template", "template"], "a list of the template"),
        (&["train", "data", "-m", "map", "--template", "template"], "a list of the template"),
        (
            &[
                "train",
                "data",
                "-m",
                "list",
                "--template",
                "template",
                "--graph",
                "skip-chain",
                "--skip",
                "same(0)",
            ],
            "a list",
        ),
        (
            &["train", "data", "-m", "list", "--template", "template", "--stream", "--optimizer", "psa"],
            "a list",
        ),
        (&["search", "data", "-m", "other", "--template", "template", "--template", "other"], "the template"),
        (&["search", "data", "-m", "n", "--points", "n"], "the same file"),
        (&["calibrate", "data", "-m", "m", "-o", "v.npy", "--vectors", "v.npy"], "the vectors"),
        (&["report", "log", "-m", "m", "--test", "data", "--vectors", "v.npy", "-o", "v.npy"], "the vectors"),
    ] {
        let message = failure(crfkit().current_dir(directory.path()).args(arguments), 2);
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
    assert!(contents() == before);
    assert!(!at("n").exists());
}
