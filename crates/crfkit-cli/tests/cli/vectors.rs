//! Vectors of tokens: files of NumPy and JSON lines, through every verb, and files that do not fit.

use crate::common::{crfkit, failure, output, scratch};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Tokens of two labels, whose vectors of three numbers tell them apart; as columns, as a matrix, and as JSON lines.
fn write(directory: &Path, name: &str, sequences: usize) {
    let (mut text, mut json, mut numbers) = (String::new(), String::new(), Vec::new());
    for n in 0..sequences {
        let (mut tokens, mut labels, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..2 + n % 3 {
            let label = if (n + t) % 3 == 0 { "A" } else { "B" };
            let sign = if label == "A" { 1.0f32 } else { -1.0 };
            let row = [sign + (n % 7) as f32 / 10.0, 100.0 + t as f32, sign * 0.5 - (n % 5) as f32 / 9.0];
            writeln!(text, "w\t{label}").unwrap();
            tokens.push("\"w\"".to_owned());
            labels.push(format!("\"{label}\""));
            vectors.push(format!("{row:?}"));
            numbers.extend(row);
        }
        text.push('\n');
        let lists = [tokens, labels, vectors].map(|list| list.join(", "));
        let [tokens, labels, vectors] = lists;
        writeln!(json, "{{\"tokens\": [{tokens}], \"labels\": [{labels}], \"vectors\": [{vectors}]}}")
            .unwrap();
    }
    fs::write(directory.join(format!("{name}.tsv")), text).unwrap();
    fs::write(directory.join(format!("{name}.jsonl")), json).unwrap();
    let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    fs::write(directory.join(format!("{name}.npy")), array("<f4", "False", &[numbers.len() / 3, 3], &bytes))
        .unwrap();
}

/// A file as NumPy writes it.
fn array(descr: &str, fortran: &str, shape: &[usize], numbers: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({shape}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers);
    bytes
}

/// Without development data, the sequences that are held out have the vectors of the training data.
#[test]
fn calibration_holds_out_sequences_with_their_vectors() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    write(directory.path(), "one", 15);
    write(directory.path(), "two", 25);
    let mut train = crfkit();
    train.arg("train").arg(path("one.tsv")).arg(path("two.tsv")).arg("-m").arg(path("model"));
    train.arg("--vectors").arg(path("one.npy")).arg("--vectors").arg(path("two.npy"));
    let run = train.args(["--standardise", "--calibrate"]).assert().success();
    let said = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(said.contains("temperature ") && said.contains(" of 4 sequences"), "{said}");
}

#[test]
fn vectors_come_from_arrays_and_json_lines() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    write(directory.path(), "train", 30);
    write(directory.path(), "test", 9);
    let train = |model: &str, threads: &str| {
        let mut command = crfkit();
        command.arg("train").arg(path("train.tsv")).arg("--vectors").arg(path("train.npy"));
        command.arg("--dev").arg(path("test.tsv")).arg("--dev-vectors").arg(path("test.npy"));
        command.args(["--standardise", "--quiet", "--threads", threads, "-m"]).arg(path(model));
        command
    };
    output(&mut train("model", "1"));
    output(&mut train("again", "2"));
    assert!(fs::read(path("model")).unwrap() == fs::read(path("again")).unwrap());
    let dump = output(crfkit().arg("inspect").arg(path("model")).arg("--dump"));
    assert!(dump.contains("node\tvector[2]\t"), "{dump}");
    let on = |verb: &str, text: &str, vectors: Option<&str>| {
        let mut command = crfkit();
        command.arg(verb).arg(path(text)).arg("-m").arg(path("model"));
        if let Some(vectors) = vectors {
            command.arg("--vectors").arg(path(vectors));
        }
        command
    };
    let scores = output(&mut on("eval", "test.tsv", Some("test.npy")));
    assert!(scores.contains("100.00"), "{scores}");
    assert_eq!(scores, output(&mut on("eval", "test.jsonl", None)));
    let tags = output(&mut on("tag", "test.tsv", Some("test.npy")));
    assert!(
        tags.lines()
            .filter(|line| !line.is_empty())
            .all(|line| line.split('\t').nth(1) == line.split('\t').nth(2))
    );
    let why = output(on("explain", "test.tsv", Some("test.npy")).args(["--token", "1"]));
    assert!(why.contains("vector["), "{why}");
    output(crfkit().arg("train").arg(path("train.jsonl")).args(["--quiet", "-m"]).arg(path("json")));
}

#[test]
fn vectors_that_do_not_fit_are_rejected() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    write(directory.path(), "train", 12);
    write(directory.path(), "few", 3);
    let train = |vectors: &Path| {
        let mut command = crfkit();
        command
            .arg("train")
            .arg(path("train.tsv"))
            .arg("--vectors")
            .arg(vectors)
            .args(["--quiet", "-m"])
            .arg(path("model"));
        command
    };
    let tokens =
        fs::read_to_string(path("train.tsv")).unwrap().lines().filter(|line| !line.is_empty()).count();
    let zeros = vec![0; 4 * tokens * 3];
    let mut nan = zeros.clone();
    nan[4 * (5 * 3 + 1)..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    let more = vec![0; 4 * (tokens + 1) * 3];
    for (bytes, why) in [
        (array("<f4", "False", &[tokens, 3], &nan), ":6: number 1 of the vector is NaN"),
        (array("<f4", "False", &[tokens + 1, 3], &more), "vectors, but"),
        (array("<f4", "True", &[tokens, 3], &zeros), "ascontiguousarray"),
        (array("<f4", "False", &[tokens, 3, 1], &zeros), "shape (tokens, numbers)"),
        (array("<f4", "False", &[tokens * 3], &zeros), "shape (tokens, numbers)"),
        (array("<c8", "False", &[tokens, 3], &zeros), "float32"),
        (array("<f4", "False", &[tokens, 0], &[]), "rows of 0 numbers"),
        (array("<f4", "False", &[tokens, 3], &zeros[..100]), "vectors are complete: it is damaged"),
        (array("<f4", "False", &[tokens, 1 << 16], &zeros), "vectors are complete: it is damaged"),
        (b"not an array".to_vec(), "not an array saved by NumPy"),
        (b"\x93NUM".to_vec(), "ends in its header"),
    ] {
        fs::write(path("bad.npy"), bytes).unwrap();
        let message = failure(&mut train(&path("bad.npy")), 1);
        assert!(message.contains(why), "{why}: {message}");
        assert!(!path("model").exists());
    }
    let message = failure(&mut train(&path("few.npy")), 1);
    assert!(message.contains("but there are more tokens"), "{message}");
    assert!(failure(&mut train(&path("missing.npy")), 1).contains("missing.npy"));
    output(&mut train(&path("train.npy")));
    let tag = |file: &str| {
        let mut command = crfkit();
        command.arg("tag").arg("-m").arg(path("model")).arg(path(file));
        command
    };
    assert!(failure(&mut tag("few.tsv"), 1).contains("tokens without vectors"));
    let message =
        failure(crfkit().arg("train").arg(path("train.tsv")).args(["--standardise", "-m"]).arg(path("x")), 2);
    assert!(message.contains("--standardise is for numbers"), "{message}");
    let two = failure(train(&path("train.npy")).arg("--vectors").arg(path("few.npy")), 2);
    assert!(two.contains("give one for each file"), "{two}");
    let dev = failure(train(&path("train.npy")).arg("--dev").arg(path("few.tsv")), 2);
    assert!(dev.contains("--dev-vectors"), "{dev}");
    fs::write(
        path("bad.jsonl"),
        "{\"tokens\": [\"a\", \"b\"], \"labels\": [\"A\", \"B\"], \"vectors\": [[1, 2]]}\n",
    )
    .unwrap();
    let message = failure(crfkit().arg("train").arg(path("bad.jsonl")).args(["-m"]).arg(path("x")), 1);
    assert!(message.contains("2 tokens, but 1 vector:"), "{message}");
}

/// Skip chains and factorial chains take vectors through every verb; `inspect` tells of them.
#[test]
fn linked_chains_take_vectors() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    write(directory.path(), "train", 30);
    write(directory.path(), "test", 9);
    // A second label column, for factorial chains.
    for name in ["train", "test"] {
        let text = fs::read_to_string(path(&format!("{name}.tsv"))).unwrap();
        let two = text.lines().map(|line| match line.rsplit_once('\t') {
            Some((_, label)) => format!("{line}\t{}\n", label.to_lowercase()),
            None => "\n".into(),
        });
        fs::write(path(&format!("{name}.two")), two.collect::<String>()).unwrap();
    }
    let kinds = [
        ("tsv", &["--graph", "skip-chain", "--skip", "equals(0, \"none\")"][..]),
        ("two", &["--graph", "factorial", "--label-column", "1,2"]),
    ];
    for (ending, kind) in kinds {
        let (train, test) = (path(&format!("train.{ending}")), path(&format!("test.{ending}")));
        let mut command = crfkit();
        command.arg("train").arg(&train).args(kind).arg("--vectors").arg(path("train.npy"));
        command.arg("--dev").arg(&test).arg("--dev-vectors").arg(path("test.npy"));
        output(command.args(["--standardise", "--quiet", "-m"]).arg(path("model")));
        let about = output(crfkit().arg("inspect").arg(path("model")));
        assert!(about.contains("3 in vectors, standardised"), "{about}");
        let on = |verb: &str| {
            let mut command = crfkit();
            command.arg(verb).arg(&test).arg("-m").arg(path("model"));
            command
        };
        let scores = output(on("eval").arg("--vectors").arg(path("test.npy")));
        assert!(scores.contains("100.00"), "{scores}");
        let tags = output(on("tag").arg("--vectors").arg(path("test.npy")));
        assert_eq!(tags.lines().next().unwrap().split('\t').nth(1), Some("A"), "{tags}");
        assert!(failure(&mut on("tag"), 1).contains("tokens without vectors"));
        let why = output(on("explain").arg("--vectors").arg(path("test.npy")).args(["--token", "1"]));
        assert!(why.contains("vector["), "{why}");
    }
    let mut command = crfkit();
    command.arg("train").arg(path("train.tsv")).args([
        "--graph",
        "skip-chain",
        "--skip",
        "same(0)",
        "--standardise",
        "-m",
    ]);
    assert!(failure(command.arg(path("x")), 2).contains("--standardise is for numbers"));
}

/// The examples that a model is judged on have the vectors of their own file.
#[test]
fn cross_validation_and_search_read_vectors_too() {
    let directory = scratch();
    write(directory.path(), "one", 20);
    write(directory.path(), "two", 13);
    let run = |verb: &str, files: &[&str], more: &[&str]| {
        let mut command = crfkit();
        command.current_dir(directory.path()).arg(verb).args(files).args(["--output", "json"]).args(more);
        output(&mut command)
    };
    let arrays = ["one.tsv", "two.tsv", "--vectors", "one.npy", "--vectors", "two.npy"];
    for (verb, more) in [("cv", &["--folds", "3"][..]), ("search", &["--sigma", "1,3"])] {
        let lines = run(verb, &["one.jsonl", "two.jsonl"], more);
        assert!(lines.contains("accuracy"), "{lines}");
        let scores = |text: &str| {
            let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
            text.lines()
                .map(line)
                .map(|line| (line["accuracy"].clone(), line["score"].clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(scores(&run(verb, &arrays, more)), scores(&lines), "{verb}");
    }
}
