//! Graphs from a file through the program: the example of docs/GRAPHS.md, streams, refusals.

use crate::common;

use common::{crfkit, failure, json_lines, output, page_data, scratch};
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
        (&["--objective", "memm"], "only chains have it"),
        (&["--sigma-of", "cites"], "TYPE=S"),
        (&["--sigma-of", "cites=-1"], "positive"),
        (&["--optimizer", "gis", "--objective", "piecewise"], "lbfgs"),
    ] {
        let message = failure(&mut run(path, &[&train, options].concat()), 2);
        assert!(message.contains(remedy), "{message}");
    }
    for (options, words) in [
        (&["--sigma-of", "cite=1"][..], "types are paper, venue, at, cites"),
        (&["--objective", "piecewise"], "needs the label of every node"),
        (&["empty"], "empty: no graph in it"),
        (&["wrong"], "wrong:1: these types are not those"),
    ] {
        let message = failure(&mut run(path, &[&train, options].concat()), 1);
        assert!(message.contains(words), "{message}");
    }
    let message = failure(&mut run(path, &["train", "g", "-m", "m", "--sigma-of", "cites=1"]), 2);
    assert!(message.contains("--graph file"), "{message}");
    let message = failure(&mut run(path, &["train", "--graph", "file", "wrong", "-m", "m"]), 1);
    assert!(message.contains("wrong:3: node 0: `2` is no label of `n`: choose 0|1"), "{message}");
    run(path, &train).assert().success();
    for (arguments, status, words) in [
        (&["tag", "-m", "m", "--nbest", "2", "g"][..], 2, "their best labellings; leave it out"),
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
