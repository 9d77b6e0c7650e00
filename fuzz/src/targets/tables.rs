//! Graphs in arrays: archives of nodes and edges, and tables of rows and labels.

use super::arrays::repair_archive;
use super::models::ask;
use crate::source::Source;
use crate::{Target, mutate};
use crfkit::data::npz::{npy, npz};
use crfkit::domain::Corpus;
use crfkit::grid::Tables;
use crfkit::settings::{Criterion, Kind, Method, Settings};
use crfkit::train::{TrainOptions, features, train};
use crfkit::typed::{GraphArrays, TypedBuilder, TypedDomain, TypedGraph, TypedModel};
use crfkit::{Place, Result};
use std::sync::Arc;

pub const ARRAYS: Target = Target {
    name: "arrays",
    promise: "graphs in archives are rejected, or train a model that labels them",
    run: |data| {
        let Some((&first, file)) = data.split_first() else { return };
        let mut file = file.to_vec();
        repair_archive(&mut file);
        let Ok(arrays) = GraphArrays::read(&file, "fuzz") else { return };
        let tables = Tables::ALL[first as usize % 3];
        let Ok(types) = arrays.types(arrays.labels(), tables) else { return };
        let Ok(graphs) = arrays.into_graphs(&types, "fuzz") else { return };
        let graphs: Vec<TypedGraph> = graphs.collect();
        let mut builder = TypedBuilder::new(types);
        if graphs.iter().try_for_each(|graph| builder.add_graph(graph.clone())).is_err() {
            return;
        }
        let Ok(corpus) = builder.finish(1) else { return };
        if corpus.data.variables() <= 40
            && let Some(model) = learn(corpus, &settings(first as usize / 3))
        {
            ask(&Arc::new(model), &graphs);
        }
    },
    seeds: || {
        let floats = |shape: &[usize], k: usize| {
            let count = shape.iter().product();
            npy(
                "<f8",
                shape,
                &(0..count).flat_map(|i: usize| ((i * k % 7) as f64).to_le_bytes()).collect::<Vec<_>>(),
            )
        };
        let whole = |shape: &[usize], values: &[i8]| {
            npy("|i1", shape, &values.iter().map(|&x| x as u8).collect::<Vec<_>>())
        };
        let edges = [
            ("nodes", floats(&[4, 2], 3)),
            ("edges", whole(&[3, 2], &[0, 1, 1, 2, 2, 0])),
            ("edge_features", floats(&[3, 1], 2)),
            ("labels", whole(&[4], &[0, 1, -1, 2])),
            ("offsets", whole(&[3], &[0, 3, 4])),
        ];
        let table = [("X", floats(&[3, 2], 5)), ("Y", whole(&[3, 2], &[0, 1, 1, -1, 0, 0]))];
        let with = |how: u8, archive: &[(&str, Vec<u8>)]| {
            [&[how][..], &npz(archive).expect("a small archive")].concat()
        };
        (0..12).flat_map(|how| [with(how, &edges), with(how, &table)]).collect()
    },
    // Sizes stay right where a byte is replaced.
    mutate: |input, random| match random.below(4) {
        0 => mutate::bytes(input, random),
        1 => mutate::single(input, random),
        _ if input.is_empty() => {}
        _ => {
            let at = random.below(input.len());
            input[at] = [b'0' + random.below(10) as u8, random.below(256) as u8][random.below(2)];
        }
    },
};

pub const TABLE: Target = Target {
    name: "table",
    promise: "a table of rows and labels trains the model of the same graphs in lines, and answers alike",
    run: |data| {
        let mut source = Source(data);
        let [rows, columns, labels] = [4, 3, 4].map(|n| 1 + source.below(n));
        let tables = Tables::ALL[source.below(3)];
        let settings = settings(source.below(4));
        let x: Vec<f64> = (0..rows * columns).map(|_| source.score()).collect();
        let y: Vec<i8> = (0..rows * labels).map(|_| [0, 1, 0, 1, -1][source.below(5)]).collect();
        let archive = npz(&[
            ("X", npy("<f8", &[rows, columns], &x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())),
            ("Y", npy("|i1", &[rows, labels], &y.iter().map(|&y| y as u8).collect::<Vec<_>>())),
        ]);
        let arrays = GraphArrays::read(&archive.expect("it is small"), "fuzz").expect("these arrays fit");
        let types = arrays.types(labels, tables).expect("few labels");
        let graphs: Vec<TypedGraph> =
            arrays.into_graphs(&types, "fuzz").expect("graphs of these types").collect();
        let lines: Vec<String> = x.chunks(columns).zip(y.chunks(labels)).map(|(x, y)| line(x, y)).collect();
        let mut builders = [0; 2].map(|_| TypedBuilder::new(types.clone()));
        let mut taken: [Result<()>; 2] = [Ok(()), Ok(())];
        for (k, (graph, line)) in graphs.iter().zip(&lines).enumerate() {
            let place = Place::new("fuzz", k as u64 + 1);
            taken[0] = std::mem::replace(&mut taken[0], Ok(())).and(builders[0].add_graph(graph.clone()));
            taken[1] = std::mem::replace(&mut taken[1], Ok(())).and(builders[1].add(line, &place));
        }
        assert_eq!(taken[0].is_ok(), taken[1].is_ok(), "{taken:?}");
        if taken[0].is_err() {
            return;
        }
        let models =
            builders.map(|builder| builder.finish(1).ok().and_then(|corpus| learn(corpus, &settings)));
        let [first, second] = match models {
            [None, None] => return,
            models => models.map(|model| Arc::new(model.expect("a model, as through the other door"))),
        };
        assert_eq!(first.domain.types, second.domain.types);
        assert!(first.weights.iter().eq(second.weights.iter()), "other weights");
        ask(&first, &graphs);
    },
    seeds: || {
        (0..16).map(|k: usize| (0..50).map(|i| ((i + 1) * (2 * k + 3) % 251) as u8).collect()).collect()
    },
    mutate: mutate::bytes,
};

/// A row as the line of a file of graphs.
fn line(x: &[f64], y: &[i8]) -> String {
    let node = |(label, &gold): (usize, &i8)| {
        let gold = if gold < 0 { "null".into() } else { gold.to_string() };
        format!(r#"{{"type": "label {label:04}", "label": {gold}, "dense": {x:?}}}"#)
    };
    let nodes: Vec<String> = y.iter().enumerate().map(node).collect();
    let pairs = (0..y.len()).flat_map(|i| (i + 1..y.len()).map(move |j| (i, j)));
    let pairs: Vec<String> =
        pairs.map(|(i, j)| format!(r#"{{"type": "pair {i:04} {j:04}", "nodes": [{i}, {j}]}}"#)).collect();
    format!(r#"{{"nodes": [{}], "factors": [{}]}}"#, nodes.join(", "), pairs.join(", "))
}

/// One of four ways to train: exactly, by belief propagation, by conditionals, and by SAGA.
fn settings(way: usize) -> Settings {
    let of = Settings::for_kind(Kind::Graph);
    let of = Settings { optimizer: Method::Lbfgs, passes: Some(3), ..of };
    match way % 4 {
        0 => Settings { inference: Some(crfkit::typed::Engine::Exact), ..of },
        1 => Settings { inference: Some(crfkit::typed::Engine::LoopyBp), ..of },
        2 => Settings { objective: Criterion::Pseudolikelihood, ..of },
        _ => Settings { inference: Some(crfkit::typed::Engine::Exact), optimizer: Method::Saga, ..of },
    }
}

/// A model, stored and read again.
fn learn(corpus: Corpus<TypedDomain>, settings: &Settings) -> Option<TypedModel> {
    let features = features(&corpus, settings);
    let start = TrainOptions { threads: 1, ..TrainOptions::default() };
    let trained = train(corpus, features, settings, start, &mut ()).ok()?;
    let bytes = trained.model.to_bytes(Default::default()).expect("a trained model can be stored");
    Some(TypedModel::from_bytes(&bytes).expect("and read"))
}
