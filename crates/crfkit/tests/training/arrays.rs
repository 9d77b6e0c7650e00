//! Graphs in arrays: they are the graphs that a file of JSON lines would have, several in one archive or in one each, and what
//! does not fit is rejected with its place.

use crate::corpora::Record;
use crfkit::Place;
use crfkit::answers::Answers;
use crfkit::data::npz::{npy, npz};
use crfkit::grid::Tables;
use crfkit::math::random::Random;
use crfkit::model::Precision;
use crfkit::tag::Tagger;
use crfkit::train::{Criterion, Scaling, Settings, TrainOptions, features};
use crfkit::typed::{Engine, GraphArrays, TypedBuilder, TypedCorpus, TypedGraph, TypedModel};
use std::fmt::Write;
use std::sync::Arc;

fn numbers(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy("<f8", shape, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

fn whole(shape: &[usize], values: &[i64]) -> Vec<u8> {
    npy("<i8", shape, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

fn read(arrays: &[(&str, Vec<u8>)]) -> crfkit::Result<GraphArrays> {
    GraphArrays::read(&npz(arrays).unwrap(), "a.npz")
}

fn corpus_of(arrays: &GraphArrays, labels: usize, tables: Tables) -> TypedCorpus {
    let types = arrays.types(labels, tables).unwrap();
    let mut builder = TypedBuilder::new(types.clone());
    for graph in arrays.clone().into_graphs(&types, "a.npz").unwrap() {
        builder.add_graph(graph).unwrap();
    }
    builder.finish(1).unwrap()
}

fn corpus_of_lines(text: &str) -> TypedCorpus {
    let mut builder = TypedBuilder::default();
    for (line, text) in (1..).zip(text.lines()) {
        builder.add(text, &Place::new("lines", line)).unwrap();
    }
    builder.finish(1).unwrap()
}

fn train(corpus: TypedCorpus, objective: Criterion) -> TypedModel {
    let settings = Settings {
        objective,
        inference: Some(Engine::Exact),
        passes: Some(8),
        scaling: Scaling::None,
        ..Settings::default()
    };
    let features = features(&corpus, &settings);
    let start = TrainOptions { threads: 1, ..TrainOptions::default() };
    crfkit::train::train(corpus, features, &settings, start, &mut Record::default()).unwrap().model
}

fn same_model(arrays: TypedCorpus, lines: TypedCorpus, objective: Criterion) {
    let (arrays, lines) = (train(arrays, objective), train(lines, objective));
    assert_eq!(arrays.domain.types, lines.domain.types);
    assert!(arrays.weights.iter().eq(lines.weights.iter()), "{objective:?}");
    assert!(arrays.weights.iter().any(|weight| weight.abs() > 0.01));
}

#[test]
fn nodes_and_edges_are_those_of_a_file() {
    let mut rng = Random::new(5);
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| (rng.below(9) as f64) / 4.0 - 1.0).collect() };
    let (nodes, edge_features) = (draw(7 * 2), draw(5));
    let weights: Vec<f64> = draw(7).iter().map(|x| x.abs()).collect();
    let labels = [0, 2, -1, 1, 2, 2, 0];
    let edges = [[0, 1], [1, 2], [2, 0], [4, 3], [4, 6]];
    let flat: Vec<i64> = edges.iter().flatten().map(|&v| v as i64).collect();
    let arrays = read(&[
        ("nodes", numbers(&[7, 2], &nodes)),
        ("edges", whole(&[5, 2], &flat)),
        ("edge_features", numbers(&[5, 1], &edge_features)),
        ("labels", whole(&[7], &labels)),
        ("weights", numbers(&[7], &weights)),
        ("offsets", whole(&[3], &[0, 3, 7])),
    ])
    .unwrap();
    assert_eq!((arrays.len(), arrays.labels()), (2, 3));

    let types = r#"{"types": {"node": {"labels": 3, "dense": 2}, "edge": {"over": ["node", "node"], "dense": 1, "table": "TABLE"}}}"#;
    for (tables, name) in [(Tables::Full, "full"), (Tables::Potts, "potts")] {
        let mut text = types.replace("TABLE", name) + "\n";
        for (range, joins) in [(0..3, 0..3), (3..7, 3..5)] {
            let first = range.start;
            let node = |v: usize| {
                let label = if labels[v] < 0 { "null".into() } else { labels[v].to_string() };
                let (x, weight) = (&nodes[2 * v..2 * v + 2], weights[v]);
                format!(r#"{{"type": "node", "label": {label}, "weight": {weight}, "dense": {x:?}}}"#)
            };
            let edge = |e: usize| {
                let ([i, j], x) = (edges[e].map(|v| v - first), edge_features[e]);
                format!(r#"{{"type": "edge", "nodes": [{i}, {j}], "dense": [{x}]}}"#)
            };
            let members: Vec<String> = range.map(node).collect();
            let factors: Vec<String> = joins.map(edge).collect();
            let (members, factors) = (members.join(", "), factors.join(", "));
            writeln!(text, r#"{{"nodes": [{members}], "factors": [{factors}]}}"#).unwrap();
        }
        same_model(corpus_of(&arrays, 3, tables), corpus_of_lines(&text), Criterion::SoftmaxMargin);
        same_model(corpus_of(&arrays, 3, tables), corpus_of_lines(&text), Criterion::Pseudolikelihood);
    }
}

/// Sets of labels in training are those of a file, and restricted answers are.
#[test]
fn nodes_have_sets_of_labels_and_restricted_answers() {
    let mut rng = Random::new(6);
    let x: Vec<f64> = (0..5).map(|_| rng.below(9) as f64 / 4.0 - 1.0).collect();
    let sets = [[1, 0, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1], [0, 0, 1]];
    let flat: Vec<i64> = sets.iter().flatten().map(|&bit| i64::from(bit)).collect();
    let mask = || whole(&[5, 3], &flat);
    let archive = |more: (&str, Vec<u8>)| {
        let edges = whole(&[3, 2], &[0, 1, 2, 1, 3, 4]);
        read(&[("nodes", numbers(&[5, 1], &x)), ("edges", edges), ("offsets", whole(&[3], &[0, 3, 5])), more])
            .unwrap()
    };
    let types = r#"{"types": {"node": {"labels": 3, "dense": 1}, "edge": {"over": ["node", "node"]}}}"#;
    let lines = |field: &str| {
        let node = |v: usize| {
            let labels: Vec<usize> = (0..3).filter(|&label| sets[v][label] == 1).collect();
            format!(r#"{{"type": "node", "dense": [{}], "{field}": {labels:?}}}"#, x[v])
        };
        let nodes = [0..3, 3..5].map(|range| range.map(node).collect::<Vec<_>>().join(", "));
        let edge = |i: usize, j: usize| format!(r#"{{"type": "edge", "nodes": [{i}, {j}]}}"#);
        let edges = [[edge(0, 1), edge(2, 1)].join(", "), edge(0, 1)];
        [0, 1].map(|g| format!(r#"{{"nodes": [{}], "factors": [{}]}}"#, nodes[g], edges[g]))
    };
    let known = archive(("labels", mask()));
    assert_eq!(known.labels(), 3);
    let text = format!("{types}\n{}", lines("label").join("\n"));
    for objective in [Criterion::Likelihood, Criterion::Pseudolikelihood, Criterion::MaxMargin] {
        same_model(corpus_of(&known, 3, Tables::Full), corpus_of_lines(&text), objective);
    }

    let model = Arc::new(train(corpus_of(&known, 3, Tables::Full), Criterion::Likelihood));
    let restricted = archive(("allowed", mask()));
    let graphs = restricted.clone().into_graphs(&model.domain.types, "a.npz").unwrap();
    for (graph, line) in graphs.zip(lines("allowed")) {
        let line = model.domain.read_line(&line, &Place::new("lines", 1)).unwrap().unwrap();
        let marginals = |graph: &TypedGraph| -> Vec<f64> {
            let mut tagger = Tagger::new(model.clone());
            tagger.load(graph).unwrap().marginals().unwrap().flatten().copied().collect()
        };
        assert_eq!(marginals(&graph), marginals(&line));
        assert!(marginals(&graph).contains(&0.0));
    }
    let mut builder = TypedBuilder::new(model.domain.types.clone());
    let graph = restricted.into_graphs(&model.domain.types, "a.npz").unwrap().next().unwrap();
    let message = builder.add_graph(graph).unwrap_err().to_string();
    assert!(message.starts_with("a.npz:1: node 0: `allowed` restricts the answers"), "{message}");

    // Another number of labels, of nodes, and of axes.
    let two = archive(("allowed", whole(&[5, 2], &[1; 10])));
    let message = two.into_graphs(&model.domain.types, "a").err().unwrap().to_string();
    assert!(message.contains("`allowed` has the shape [5, 2], but [5, 3] is needed here"), "{message}");
    let rows = |more: (&str, Vec<u8>)| {
        let nodes = ("nodes", numbers(&[2, 1], &[0.0, 1.0]));
        read(&[nodes, ("edges", whole(&[0, 2], &[])), more]).unwrap_err().to_string()
    };
    for (name, shape, data, words) in [
        ("labels", &[3, 2][..], vec![1; 6], "`labels` has the shape [3, 2], but [2, 2] is needed here"),
        ("labels", &[2, 2], vec![1, 0, 0, 0], "`labels`: no label is possible at [1]"),
        ("labels", &[2, 2], vec![1, 0, 2, 0], "`labels`: it has 2 at [1, 0]"),
        ("labels", &[1, 2, 1], vec![1, 0], "must have (nodes) or (nodes, labels)"),
        ("allowed", &[2], vec![1, 0], "`allowed`: its shape is [2]"),
        ("allowed", &[2, 1], vec![1, 1], "two or more labels"),
    ] {
        let message = rows((name, whole(shape, &data)));
        assert!(message.starts_with("a.npz: ") && message.contains(words), "{message}");
    }
}

#[test]
fn labels_of_rows_can_be_fixed() {
    let y = [1, 0, 1, 1, 0, 1];
    let arrays = read(&[("X", numbers(&[2, 1], &[1.0, -1.0])), ("Y", whole(&[2, 3], &y))]).unwrap();
    let model = Arc::new(train(corpus_of(&arrays, 3, Tables::Ising), Criterion::Likelihood));
    let free = [1, 1];
    let allowed = [[free, [0, 1], free], [[1, 0], free, free]].concat().concat();
    let x = || ("X", numbers(&[2, 1], &[0.5, 0.25]));
    let arrays = read(&[x(), ("allowed", whole(&[2, 3, 2], &allowed))]).unwrap();
    let mut tagger = Tagger::new(model.clone());
    let graphs: Vec<_> = arrays.into_graphs(&model.domain.types, "a.npz").unwrap().collect();
    for (graph, (node, label)) in graphs.iter().zip([(1, 1), (0, 0)]) {
        let answers = tagger.load(graph).unwrap();
        assert_eq!(answers.probability_of(node, 1 - label).unwrap(), 0.0);
        assert!((0..3).filter(|v| *v != node).all(|v| answers.probability_of(v, 0).unwrap() < 0.999));
    }
    for (shape, count) in [(&[2, 2, 2][..], 8), (&[2, 3], 6), (&[2, 3, 3], 18)] {
        let arrays = read(&[x(), ("allowed", whole(shape, &vec![1; count]))]).unwrap();
        let message = arrays.into_graphs(&model.domain.types, "a").err().unwrap().to_string();
        assert!(message.contains("but [2, 3, 2] is needed here"), "{message}");
    }
}

#[test]
fn rows_and_labels_are_full_graphs() {
    rows_and_labels(2, &[0.5, -1.0, 0.0, 2.0, 1.0, 1.0]);
    // Hardly any number differs from 0, so that there is no matrix.
    let mut few = [0.0; 120];
    [few[3], few[43], few[84]] = [1.0, -2.0, 0.5];
    rows_and_labels(40, &few);
}

fn rows_and_labels(columns: usize, x: &[f64]) {
    let y = [1, 0, 1, 0, 0, -1, 1, 1, 0];
    let arrays = read(&[("X", numbers(&[3, columns], x)), ("Y", whole(&[3, 3], &y))]).unwrap();
    let types = arrays.types(3, Tables::Ising).unwrap();
    assert_eq!(types.label_table(), Some(3));
    let mut text = serde_json::json!({ "types": types }).to_string() + "\n";
    for row in 0..3 {
        let node = |label: usize| {
            let gold = y[3 * row + label];
            let gold = if gold < 0 { "null".into() } else { gold.to_string() };
            let dense = &x[columns * row..][..columns];
            format!(r#"{{"type": "label 000{label}", "label": {gold}, "dense": {dense:?}}}"#)
        };
        let pair = |[i, j]: [usize; 2]| format!(r#"{{"type": "pair 000{i} 000{j}", "nodes": [{i}, {j}]}}"#);
        let nodes = [0, 1, 2].map(node).join(", ");
        let pairs = [[0, 1], [0, 2], [1, 2]].map(pair).join(", ");
        writeln!(text, r#"{{"nodes": [{nodes}], "factors": [{pairs}]}}"#).unwrap();
    }
    same_model(corpus_of(&arrays, 3, Tables::Ising), corpus_of_lines(&text), Criterion::Likelihood);

    // The numbers of a row are there once, and all labels use them.
    let shared = corpus_of(&arrays, 3, Tables::Ising).data;
    let places: Vec<_> = shared.dense().iter().map(|of| of.of(1).as_ptr()).collect();
    assert_eq!(places.len(), if columns == 2 { 3 } else { 0 });
    assert!(places.iter().all(|place| *place == places[0]));

    // The stored form of the types is that of any types.
    let bytes =
        train(corpus_of(&arrays, 3, Tables::Ising), Criterion::Likelihood).to_bytes(Precision::F64).unwrap();
    assert_eq!(TypedModel::from_bytes(&bytes).unwrap().domain.types.label_table(), Some(3));
    let message = arrays.types(500, Tables::Full).unwrap_err().to_string();
    assert!(message.contains("between 1 and 255"), "{message}");
}

/// Common multi-label problems have more than 99 labels. They have many types, which the model file holds too.
#[test]
fn rows_may_have_more_than_a_hundred_labels() {
    let y: Vec<i64> = (0..240).map(|at| (at % 7 + at / 120) % 2).collect();
    let arrays = read(&[("X", numbers(&[2, 1], &[1.0, -1.0])), ("Y", whole(&[2, 120], &y))]).unwrap();
    let model = train(corpus_of(&arrays, 120, Tables::Ising), Criterion::Pseudolikelihood);
    let bytes = model.to_bytes(Precision::F64).unwrap();
    let types = TypedModel::from_bytes(&bytes).unwrap().domain.types;
    assert_eq!((types.label_table(), types.factors().len()), (Some(120), 7140));
    assert_eq!(types.factors()[7139].over, [118, 119]);
}

#[test]
fn arrays_that_do_not_fit_are_rejected() {
    let nodes = || ("nodes", numbers(&[2, 1], &[0.0, 1.0]));
    let edges = || ("edges", whole(&[1, 2], &[0, 1]));
    for (arrays, words) in [
        (vec![nodes()], "no array `edges`"),
        (vec![edges()], "no array `nodes`"),
        (vec![nodes(), edges(), ("node", numbers(&[1], &[0.0]))], "unknown array `node`"),
        (vec![nodes(), ("edges", whole(&[1, 2], &[0, 2]))], "joins 0 and 2, but there are 2 nodes"),
        (vec![nodes(), ("edges", whole(&[1, 2], &[-1, 0]))], "nodes count from 0"),
        (vec![nodes(), ("edges", numbers(&[1, 2], &[0.5, 1.0]))], "must be whole"),
        (vec![nodes(), edges(), ("labels", whole(&[3], &[0, 1, 0]))], "`labels` has 3 numbers"),
        (vec![nodes(), edges(), ("labels", whole(&[2], &[0, 1 << 40]))], "too large for a label"),
        (vec![nodes(), edges(), ("weights", numbers(&[2], &[1.0, -1.0]))], "at least 0"),
        (vec![nodes(), edges(), ("offsets", whole(&[2], &[0, 1]))], "end with the number of nodes, 2"),
        (vec![nodes(), edges(), ("edge_features", numbers(&[2, 1], &[1.0; 2]))], "there are 1 edges"),
        (vec![("nodes", numbers(&[2, 1], &[f64::NAN, 1.0])), edges()], "NaN in row 0, column 0"),
        (vec![("X", numbers(&[1, 1], &[1.0])), ("Y", whole(&[1, 2], &[0, 2]))], "`Y` has the value 2"),
        (vec![("X", numbers(&[2, 1], &[1.0; 2])), ("Y", whole(&[1, 2], &[0, 1]))], "`X` has 2 rows"),
        (vec![("Y", whole(&[1, 2], &[0, 1]))], "no array `X`"),
    ] {
        let message = read(&arrays).unwrap_err().to_string();
        assert!(message.starts_with("a.npz: ") && message.contains(words), "{message}");
    }
    let arrays = read(&[nodes(), ("edges", whole(&[1, 2], &[1, 1]))]).unwrap();
    let types = arrays.types(2, Tables::Full).unwrap();
    assert!(arrays.into_graphs(&types, "a").err().unwrap().to_string().contains("it must join two nodes"));
    let apart = read(&[nodes(), edges(), ("offsets", whole(&[3], &[0, 1, 2]))]).unwrap();
    assert!(apart.into_graphs(&types, "a").err().unwrap().to_string().contains("different graphs"));
    let labelled = read(&[nodes(), edges(), ("labels", whole(&[2], &[0, 2]))]).unwrap();
    assert!(labelled.into_graphs(&types, "a").err().unwrap().to_string().contains("there are 2 labels"));
    let rows = read(&[("X", numbers(&[1, 1], &[1.0]))]).unwrap();
    assert!(rows.into_graphs(&types, "a").err().unwrap().to_string().contains("other types of nodes"));
    assert!(GraphArrays::read(b"nothing", "a").unwrap_err().to_string().contains("numpy.savez"));
}
