//! Graphs from a file through the program: the example of docs/GRAPHS.md, streams, refusals.

use crate::common;

use common::{crfkit, failure, json_lines, output, page_data, scratch};
use crfkit::data::npz::{npy, npz};
use crfkit::data::numpy::ArrayArchive;
use crfkit::math::random::Random;
use std::fs;
use std::path::Path;

/// The blocks of docs/GRAPHS.md in one language, in their order.
fn blocks(language: &str) -> Vec<&'static str> {
    let page = include_str!("../../../../docs/GRAPHS.md");
    let fence = format!("```{language}\n");
    page.split(&*fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn run(directory: &Path, arguments: &[&str]) -> assert_cmd::Command {
    let mut command = crfkit();
    command.current_dir(directory).args(arguments);
    command
}

#[test]
fn the_example_of_the_page_does_what_the_page_says() {
    let directory = scratch();
    let (json, text) = (blocks("json"), blocks("text"));
    fs::write(directory.path().join("papers.jsonl"), json[0]).unwrap();
    let commands: Vec<Vec<&str>> =
        text[0].lines().map(|line| line.split_whitespace().skip(1).collect()).collect();
    output(&mut run(directory.path(), &commands[0]));
    assert_eq!(output(&mut run(directory.path(), &commands[1])), json[1]);
    assert_eq!(output(&mut run(directory.path(), &commands[2])), text[1]);
}

#[test]
fn a_model_of_graphs_is_trained_applied_and_judged() {
    let directory = scratch();
    let path = directory.path();
    let graphs = blocks("json")[0];
    let (types, lines) = graphs.split_once('\n').unwrap();
    fs::write(path.join("g"), graphs).unwrap();
    // The same types again, as in files that were joined.
    fs::write(path.join("twice"), format!("{graphs}\n{types}\n{lines}")).unwrap();
    let train = ["train", "--graph", "file", "--quiet", "-m", "m", "--log", "log"];
    for more in [
        &["g", "--inference", "exact", "--init", "random"][..],
        &[
            "twice",
            "g",
            "--min-count",
            "2",
            "--sigma-of",
            "cites=2",
            "--objective",
            "marginal",
            "--dev",
            "g",
            "--checkpoint",
            "c",
        ],
        &[
            "g",
            "--init",
            "m",
            "--prior-mean",
            "m",
            "--precision",
            "f32",
            "--shrink",
            "0.01",
            "--dev",
            "g",
            "--sigma-of",
            "cites=2",
        ],
    ] {
        run(path, &[&train, more].concat()).assert().success();
    }
    let log = json_lines(&fs::read_to_string(path.join("log")).unwrap());
    assert!(log.iter().any(|event| event["event"] == "eval" && event["tokens"] == 8), "{log:?}");
    assert!(!fs::exists(path.join("c")).unwrap(), "a finished run removes its checkpoint");
    let scores = |more: &[&str]| -> serde_json::Value {
        let arguments = [&["eval", "-m", "m", "--json", "g"], more].concat();
        serde_json::from_str(&output(&mut run(path, &arguments))).unwrap()
    };
    let found = scores(&[]);
    assert_eq!((&found["nodes"], &found["graphs"]), (&8.into(), &3.into()), "{found}");
    assert_eq!(found["types"]["venue"]["nodes"], 3);
    assert_eq!(scores(&["--decode", "exact", "--inference", "trw", "--threads", "3"])["graphs"], 3);

    output(&mut run(path, &["report", "log", "-m", "m", "--test", "g", "-o", "page.html"]));
    let page = page_data(&path.join("page.html"));
    let (papers, venues) = (&page["evaluations"][0], &page["evaluations"][1]);
    assert_eq!((&papers["scores"]["tokens"], &venues["scores"]["tokens"]), (&5.into(), &3.into()));
    assert_eq!(venues["confusion"]["labels"].as_array().unwrap().len(), 3);
    let parts = page["model"]["features"].as_array().unwrap();
    assert!(
        parts.iter().any(|part| part["of"] == "cites") && parts.iter().any(|part| part["of"] == "ml (paper)")
    );
    let text = output(&mut run(path, &["inspect", "m"]));
    for piece in
        ["type          cites: over paper, paper; ", "sigma_of", "heaviest weights of cites", "(venue)"]
    {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    let dump = output(&mut run(path, &["inspect", "m", "--dump"]));
    assert!(dump.lines().any(|line| line.starts_with("part\tcites\t")), "{dump}");

    // The order is kept, by any number of threads; no declaration is needed; standard input will do.
    let tag = |threads: &str, more: &[&str]| {
        let arguments = [&["tag", "-m", "m", "--marginals=all", "--threads", threads], more].concat();
        output(run(path, &arguments).write_stdin(lines.repeat(400)))
    };
    let one = tag("1", &[]);
    assert_eq!(one, tag("3", &[]));
    let answers = json_lines(&one);
    assert_eq!(answers.len(), 1200);
    for answer in &answers {
        assert_eq!(answer["converged"], true);
        for (label, row) in
            answer["labels"].as_array().unwrap().iter().zip(answer["marginals"].as_array().unwrap())
        {
            let row = row.as_object().unwrap();
            let sum: f64 = row.values().map(|p| p.as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-9);
            assert!(row.values().all(|p| p.as_f64() <= row[label.as_str().unwrap()].as_f64()), "{answer}");
        }
    }
    assert_eq!(json_lines(&tag("2", &["--decode", "icm"])).len(), 1200);
    let chosen = output(run(path, &["tag", "-m", "m", "--marginals"]).write_stdin(lines));
    for (few, all) in json_lines(&chosen).iter().zip(&answers) {
        let labels = all["labels"].as_array().unwrap().iter().zip(all["marginals"].as_array().unwrap());
        let expected: Vec<_> = labels.map(|(label, row)| row[label.as_str().unwrap()].clone()).collect();
        assert_eq!(few["marginals"], serde_json::json!(expected));
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_remedy() {
    let directory = scratch();
    let path = directory.path();
    fs::write(path.join("g"), blocks("json")[0]).unwrap();
    fs::write(path.join("empty"), "").unwrap();
    fs::write(
        path.join("wrong"),
        "{\"types\":{\"n\":{\"labels\":2}}}\n\n{\"nodes\":[{\"type\":\"n\",\"label\":2}]}\n",
    )
    .unwrap();
    let train = ["train", "--graph", "file", "--quiet", "-m", "m", "g"];
    for (options, remedy) in [
        (&["--preset", "ner"][..], "templates make features from columns"),
        (&["--label-column", "1"], "labels beside their nodes"),
        (&["--format", "columns"], "format of sequences"),
        (&["--objective", "memm"], "for chains only"),
        (&["--sigma-of", "cites"], "TYPE=S"),
        (&["--sigma-of", "cites=-1"], "positive"),
        (&["--optimizer", "gis", "--objective", "piecewise"], "lbfgs"),
    ] {
        let message = failure(&mut run(path, &[&train, options].concat()), 2);
        assert!(message.contains(remedy), "{message}");
    }
    for (options, words) in [
        (&["--sigma-of", "cite=1"][..], "choose paper|venue|at|cites"),
        (&["empty"], "empty: no graph in it"),
        (&["wrong"], "wrong:1: these types are not those"),
    ] {
        let message = failure(&mut run(path, &[&train, options].concat()), 1);
        assert!(message.contains(words), "{message}");
    }
    let message = failure(&mut run(path, &["train", "g", "-m", "m", "--sigma-of", "cites=1"]), 2);
    assert!(message.contains("--graph file"), "{message}");
    let message = failure(&mut run(path, &["train", "--graph", "file", "wrong", "-m", "m"]), 1);
    assert!(message.contains("wrong:3: node 0: `2` is not a label of `n`: choose 0|1"), "{message}");
    run(path, &train).assert().success();
    let restricted = r#"{"types": {"n": {"labels": 2}}}
{"nodes": [{"type": "n", "allowed": [1]}]}"#;
    fs::write(path.join("restricted"), restricted).unwrap();
    for (arguments, status, words) in [
        (&["tag", "-m", "m", "--nbest", "2", "g"][..], 1, "g:2: n-best lists, and"),
        (&["tag", "-m", "m", "--allowed", "1", "g"], 2, "have `allowed` themselves"),
        (&["tag", "-m", "m", "--confidence", "g"], 2, "only sequences have chunks"),
        (&["tag", "-m", "m", "--nbest", "2", "-o", "o.npz", "g"], 2, "arrays hold labels and marginals"),
        (
            &["train", "--graph", "file", "restricted", "-m", "n"],
            1,
            "restricted:2: node 0: `allowed` restricts",
        ),
        (&["tag", "-m", "m", "wrong"], 1, "wrong:1: these types are not those"),
        (&["tag", "-m", "m", "--decode", "graph-cut", "g"], 1, "g:2: variable 2 has 3 labels"),
        (&["eval", "-m", "m", "empty"], 1, "no graph in it has a label"),
        (
            &["report", "-m", "m", "--test", "g", "--label-column", "1", "-o", "p"],
            2,
            "the labels are where they were",
        ),
        (&["inspect", "m", "--label", "nope"], 1, "its labels are"),
    ] {
        let message = failure(&mut run(path, arguments), status);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn pieces_are_named_in_the_file_and_are_examples() {
    let directory = scratch();
    let path = directory.path();
    fs::write(path.join("cells"), blocks("json")[2]).unwrap();
    let train =
        ["train", "--graph", "file", "cells", "-m", "m", "--quiet", "--objective", "piecewise-pseudo"];
    for batch_of in ["graphs", "pieces"] {
        let options = ["--pieces", "file", "--optimizer", "adagrad", "--batch-of", batch_of];
        run(path, &[&train[..], &options].concat()).assert().success();
    }
    let refused =
        |options: &[&str], status: i32| failure(&mut run(path, &[&train[..], options].concat()), status);
    assert!(refused(&["--pieces", "lines"], 2).contains("window:N"));
    assert!(refused(&["--pieces", "rows"], 1).contains("example 1: --pieces rows needs a grid"));
}

/// An array of numbers for an archive.
fn numbers(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy("<f8", shape, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

/// The numbers of an array in an archive.
fn array(path: &Path, name: &str) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    ArrayArchive::open(&bytes).unwrap().array(name).unwrap().unwrap().values
}

#[test]
fn graphs_in_arrays_are_trained_on_tagged_and_judged() {
    let directory = scratch();
    let path = directory.path();
    // Rings of six nodes whose labels come in runs; the first number of a node is a noisy hint.
    let mut random = Random::new(4);
    let (mut nodes, mut edges, mut labels, mut offsets) = (Vec::new(), Vec::new(), Vec::new(), vec![0.0]);
    for ring in 0..30 {
        let first = (6 * ring) as f64;
        for k in 0..6 {
            let label = f64::from(u8::from((k + ring) % 6 < 3)) + f64::from(u8::from(ring % 5 == 0));
            labels.push(label);
            nodes.extend([label + 2.0 * random.uniform() - 1.0, 1.0]);
            edges.extend([first + k as f64, first + ((k + 1) % 6) as f64]);
        }
        offsets.push(first + 6.0);
    }
    let hints: Vec<f64> = edges.as_chunks::<2>().0.iter().map(|[i, j]| i + j).collect();
    let archive = |labels: Option<&[f64]>| {
        let mut arrays = vec![
            ("nodes", numbers(&[180, 2], &nodes)),
            ("edges", numbers(&[180, 2], &edges)),
            ("edge_features", numbers(&[180, 1], &hints)),
            ("offsets", numbers(&[31], &offsets)),
        ];
        arrays.extend(labels.map(|labels| ("labels", numbers(&[180], labels))));
        npz(&arrays).unwrap()
    };
    fs::write(path.join("g.npz"), archive(Some(&labels))).unwrap();
    fs::write(path.join("new.npz"), archive(None)).unwrap();
    let train = ["train", "--graph", "file", "--quiet", "-m", "m", "g.npz"];
    run(path, &[&train[..], &["--tables", "potts", "--objective", "max-margin", "--dev", "g.npz"]].concat())
        .assert()
        .success();
    run(path, &train).assert().success();
    let scores: serde_json::Value =
        serde_json::from_str(&output(&mut run(path, &["eval", "-m", "m", "--json", "g.npz"]))).unwrap();
    assert_eq!((&scores["graphs"], &scores["nodes"]), (&30.into(), &180.into()), "{scores}");
    assert!(scores["accuracy"].as_f64().unwrap() > 75.0, "{scores}");

    // The array of labels has those of the JSON lines, for any number of threads, and without gold labels.
    let lines = json_lines(&output(&mut run(path, &["tag", "-m", "m", "--marginals=all", "new.npz"])));
    let expected: Vec<f64> = lines
        .iter()
        .flat_map(|line| line["labels"].as_array().unwrap())
        .map(|label| label.as_str().unwrap().parse().unwrap())
        .collect();
    for threads in ["1", "3"] {
        let tag = ["tag", "-m", "m", "new.npz", "-o", "out.npz", "--marginals=all", "--threads", threads];
        assert_eq!(output(&mut run(path, &tag)), "");
        assert_eq!(array(&path.join("out.npz"), "labels"), expected);
        let marginals = array(&path.join("out.npz"), "marginals");
        assert_eq!(marginals.len(), 180 * 3);
        for (row, node) in
            marginals.chunks(3).zip(lines.iter().flat_map(|l| l["marginals"].as_array().unwrap()))
        {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert_eq!(node["2"].as_f64().unwrap(), row[2]);
        }
    }
    run(path, &["tag", "-m", "m", "g.npz", "-o", "labels.npy"]).assert().success();
    assert!(fs::read(path.join("labels.npy")).unwrap().starts_with(b"\x93NUMPY"));
    for (arguments, words) in [
        (&["tag", "-m", "m", "g.npz", "-o", "x.txt"][..], "FILE.npy or FILE.npz"),
        (&["tag", "-m", "m", "g.npz", "-o", "x.npy", "--marginals"], "name it FILE.npz"),
        (&["tag", "-m", "m", "g.npz", "-o", "g.npz"], "g.npz"),
    ] {
        let message = failure(&mut run(path, arguments), 2);
        assert!(message.contains(words), "{message}");
    }
    fs::write(path.join("lines"), blocks("json")[0]).unwrap();
    for (arguments, status, words) in [
        (&["lines"][..], 1, "lines: other files are archives"),
        (&["new.npz", "--dev", "nothing.npz"], 1, "nothing.npz"),
    ] {
        let message = failure(&mut run(path, &[&train[..], arguments].concat()), status);
        assert!(message.contains(words), "{message}");
    }
    let message = failure(&mut run(path, &["train", "--graph", "file", "-m", "n", "new.npz"]), 1);
    assert!(message.contains("no label in the arrays"), "{message}");
    let message =
        failure(&mut run(path, &["train", "--graph", "file", "-m", "n", "lines", "--tables", "full"]), 2);
    assert!(message.contains("declares the tables of its types"), "{message}");
    run(path, &["train", "--graph", "file", "-m", "n", "lines", "--quiet"]).assert().success();
    let message = failure(&mut run(path, &["tag", "-m", "n", "g.npz"]), 1);
    assert!(message.contains("g.npz: the model has other types"), "{message}");
    let message = failure(&mut run(path, &["tag", "-m", "n", "lines", "-o", "x.npz"]), 2);
    assert!(message.contains("several types"), "{message}");
}

/// Two labels that exclude each other: the full graph over the labels learns it, from one matrix of numbers.
#[test]
fn rows_with_several_labels() {
    let directory = scratch();
    let path = directory.path();
    let mut random = Random::new(9);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let first = random.below(2) as f64;
        x.extend([first + 0.8 * (random.uniform() - 0.5) * 2.0, random.uniform()]);
        y.extend([first, 1.0 - first, first]);
    }
    let arrays = [("X", numbers(&[200, 2], &x)), ("Y", numbers(&[200, 3], &y))];
    fs::write(path.join("d.npz"), npz(&arrays).unwrap()).unwrap();
    let train = ["train", "--graph", "file", "--quiet", "-m", "m", "d.npz", "--inference", "exact"];
    run(path, &train).assert().success();
    let scores: serde_json::Value =
        serde_json::from_str(&output(&mut run(path, &["eval", "-m", "m", "--json", "d.npz"]))).unwrap();
    assert_eq!(scores["graphs"], 200);
    // Labels that depend on each other are right together, or wrong together.
    let (exact, wrong) = (scores["exact_match"].as_f64().unwrap(), scores["hamming_loss"].as_f64().unwrap());
    assert!(exact > 70.0 && (100.0 * (1.0 - wrong) - exact).abs() < 1.0, "{scores}");
    fs::write(path.join("x.npz"), npz(&arrays[..1]).unwrap()).unwrap();
    run(path, &["tag", "-m", "m", "x.npz", "-o", "y.npz", "--marginals"]).assert().success();
    let explained = output(&mut run(path, &["explain", "-m", "m", "d.npz", "--top", "9"]));
    assert!(explained.contains("label 0000: dense 0  "), "{explained}");
    let found = array(&path.join("y.npz"), "labels");
    let right = found.iter().zip(&y).filter(|(found, y)| found == y).count();
    assert!((right as f64 / 600.0 - (1.0 - wrong)).abs() < 1e-9);
    assert_eq!(array(&path.join("y.npz"), "marginals").len(), 600);
}

/// Sets of labels in training, restricted nodes, and lists of the best labellings with their probabilities.
#[test]
fn labels_of_nodes_may_be_sets() {
    let directory = scratch();
    let path = directory.path();
    let types = r#"{"types": {"n": {"labels": ["x", "y", "z"]}, "e": {"over": ["n", "n"]}}}"#;
    let graph = |first: &str, second: &str| {
        format!(
            r#"{{"nodes": [{{"type": "n", "features": ["a"]{first}}}, {{"type": "n", "features": ["b"]{second}}}], "factors": [{{"type": "e", "nodes": [0, 1]}}]}}"#
        )
    };
    let known = [
        graph(r#", "label": "x""#, r#", "label": ["y", "z"]"#),
        graph(r#", "label": ["x", "z"]"#, r#", "label": "y""#),
    ];
    fs::write(path.join("g"), format!("{types}\n{}\n", known.join("\n"))).unwrap();
    let train = ["train", "--graph", "file", "g", "-m", "m", "--quiet", "--inference", "exact"];
    output(&mut run(path, &train));
    let tag = |more: &[&str], graph: String| -> serde_json::Value {
        let mut command = run(path, &[&["tag", "-m", "m"], more].concat());
        json_lines(&output(command.write_stdin(graph))).remove(0)
    };
    assert_eq!(tag(&[], graph("", ""))["labels"], serde_json::json!(["x", "y"]));
    let free = tag(&["--nbest", "20", "--probability"], graph("", ""));
    let list = free["nbest"].as_array().unwrap();
    assert_eq!((list.len(), &list[0]["labels"]), (9, &free["labels"]));
    assert_eq!(list[0]["probability"], free["probability"]);
    let sum = |list: &[&serde_json::Value]| {
        list.iter().map(|ranked| ranked["probability"].as_f64().unwrap()).sum::<f64>()
    };
    assert!((sum(&list.iter().collect::<Vec<_>>()) - 1.0).abs() < 1e-9);
    let kept: Vec<_> =
        list.iter().filter(|ranked| ranked["labels"][0] != "x" && ranked["labels"][1] == "z").collect();
    let limited = graph(r#", "allowed": ["y", "z"]"#, r#", "allowed": "z""#);
    let answer = tag(&["--nbest", "20", "--marginals=all"], limited.clone());
    assert_eq!(answer["nbest"].as_array().unwrap().len(), 2);
    assert_eq!(answer["labels"], kept[0]["labels"]);
    let p = answer["nbest"][0]["probability"].as_f64().unwrap();
    assert!((p - kept[0]["probability"].as_f64().unwrap() / sum(&kept)).abs() < 1e-9);
    assert_eq!((&answer["marginals"][0]["x"], &answer["marginals"][1]["z"]), (&0.0.into(), &1.0.into()));
    for decode in ["max-marginal", "viterbi", "exact", "max-product", "icm", "alpha-expansion"] {
        let labels = &tag(&["--decode", decode, "--inference", "loopy-bp"], limited.clone())["labels"];
        assert!(labels[0] != "x" && labels[1] == "z", "{decode}: {labels}");
    }
    // Sets are not scored.
    let scores = json_lines(&output(&mut run(path, &["eval", "--json", "-m", "m", "g"]))).remove(0);
    assert_eq!((&scores["nodes"], &scores["accuracy"]), (&2.into(), &100.0.into()));
}
