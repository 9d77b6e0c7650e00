//! Graphs from a file: that the format means what it says, that a chain in a file is the chain, files, refusals.

use crate::corpora;

use corpora::Record;
use crfkit::Place;
use crfkit::chain::{ChainModel, CorpusBuilder};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::graph::{Label, Pieces, UNLABELLED};
use crfkit::math::random::Random;
use crfkit::model::{Keep, Precision};
use crfkit::tag::{Judgement, Tagger};
use crfkit::train::{
    BatchOf, Criterion, Method, Parameters, Scaling, Settings, TrainOptions, Trained, features,
};
use crfkit::typed::{
    Declaration, Decode, Engine, TypedBuilder, TypedCorpus, TypedDomain, TypedGraph, TypedModel, TypedTagger,
    Types,
};
use std::fmt::Write;
use std::sync::Arc;

fn place(line: u64) -> Place {
    Place::new("graphs", line)
}

fn corpus(text: &str) -> crfkit::Result<TypedCorpus> {
    let mut builder = TypedBuilder::default();
    for (line, text) in (1..).zip(text.lines()) {
        builder.add(text, &place(line))?;
    }
    builder.finish(1)
}

fn train(corpus: TypedCorpus, settings: &Settings, engine: Engine) -> crfkit::Result<Trained<TypedDomain>> {
    train_with(corpus, &[], settings, engine)
}

/// With a σ of their own for some types.
fn train_with(
    corpus: TypedCorpus,
    sigmas: &[(&str, f64)],
    settings: &Settings,
    engine: Engine,
) -> crfkit::Result<Trained<TypedDomain>> {
    let sigma_of = sigmas.iter().map(|(name, sigma)| (name.to_string(), *sigma)).collect();
    let settings = Settings { sigma_of, inference: Some(engine), ..settings.clone() };
    let features = features(&corpus, &settings);
    let start = TrainOptions { threads: 1, ..TrainOptions::default() };
    crfkit::train::train(corpus, features, &settings, start, &mut Record::default())
}

fn lbfgs(tolerance: f64) -> Settings {
    let parameters = Parameters { tolerance: Some(tolerance), ..Parameters::default() };
    Settings { optimizer: Method::Lbfgs, parameters, ..Settings::default() }
}

fn read(tagger: &TypedTagger, text: &str) -> TypedGraph {
    tagger.model().domain.read_line(text, &place(1)).unwrap().unwrap()
}

/// Every form of table, dense and named features, a factor of three, two factors over the same nodes; nodes 1 and 4 have no gold.
const TYPES: &str = r#"{"types": {"a": {"labels": ["x", "y"], "table": "ising", "dense": 1}, "b": {"labels": 3},
    "f": {"over": ["a", "a"], "table": "ising"}, "p": {"over": ["b", "b", "b"], "table": "potts"},
    "t": {"over": ["a", "b", "a"], "dense": 2}}}"#;
const GRAPH: &str = r#"{"nodes": [{"type": "a", "label": "y", "dense": [0.5], "features": ["u", "v"]}, {"type": "b"},
    {"type": "a", "label": "x", "dense": [-1]}, {"type": "b", "label": 2, "features": {"u": 2, "w": -0.5}},
    {"type": "b", "label": null}],
    "factors": [{"type": "f", "nodes": [2, 0], "features": ["near"]}, {"type": "p", "nodes": [1, 3, 4]},
    {"type": "t", "nodes": [0, 1, 2], "dense": [1, 2], "features": {"u": 0.25}},
    {"type": "t", "nodes": [2, 1, 0], "dense": [0, -1]}]}"#;

fn line(text: &str) -> String {
    text.replace('\n', " ")
}

/// The score of a labelling of that graph, written out: θ by type, observation and labelling.
fn score(model: &TypedModel, y: &[usize]) -> f64 {
    let features = model.features.clone();
    let named = |kind: usize, name: &str| {
        1 + model.domain.types.all()[kind].dense as u32
            + model.domain.names[kind].find(name.as_bytes()).unwrap()
    };
    let theta = |kind: usize, observation: u32, entry: usize| {
        model.weights[features.rows[kind].range(observation)][entry]
    };
    let (a, b, f, p, t) = (0, 1, 2, 3, 4);
    let spin = |node: usize| 2.0 * y[node] as f64 - 1.0;
    let mut score = spin(0) * (theta(a, 0, 0) + 0.5 * theta(a, 1, 0));
    score += spin(0) * (theta(a, named(a, "u"), 0) + theta(a, named(a, "v"), 0));
    score += spin(2) * (theta(a, 0, 0) - theta(a, 1, 0));
    score += theta(b, 0, y[1]) + theta(b, 0, y[3]) + theta(b, 0, y[4]);
    score += 2.0 * theta(b, named(b, "u"), y[3]) - 0.5 * theta(b, named(b, "w"), y[3]);
    score += spin(2) * spin(0) * (theta(f, 0, 0) + theta(f, named(f, "near"), 0));
    if y[1] == y[3] && y[3] == y[4] {
        score += theta(p, 0, 0);
    }
    let entry = (y[0] * 3 + y[1]) * 2 + y[2];
    score += theta(t, 0, entry) + theta(t, 1, entry) + 2.0 * theta(t, 2, entry);
    score += 0.25 * theta(t, named(t, "u"), entry);
    let entry = (y[2] * 3 + y[1]) * 2 + y[0];
    score + theta(t, 0, entry) - theta(t, 2, entry)
}

/// All labellings of that graph.
fn labellings() -> Vec<[usize; 5]> {
    (0..2 * 3 * 2 * 3 * 3).map(|k| [k / 54, k / 18 % 3, k / 9 % 2, k / 3 % 3, k % 3]).collect()
}

#[test]
fn scores_are_what_the_format_says() {
    let corpus = corpus(&format!("{}\n{}\n", line(TYPES), line(GRAPH))).unwrap();
    let settings = Settings::default();
    let features = features(&corpus, &settings);
    let dim = features.dim();
    assert_eq!(dim, (1 + 1 + 2) + (1 + 2) * 3 + 2 + 1 + (1 + 2 + 1) * 12);
    let mut rng = Random::new(1);
    let weights = (0..dim).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    let weights: Vec<f64> = weights;
    let model = Arc::new(TypedModel {
        domain: corpus.domain,
        features: features.into(),
        weights: weights.into(),
        settings,
    });
    let mut tagger = TypedTagger::with_engine(model.clone(), Engine::Exact);
    let graph = read(&tagger, &line(GRAPH));
    assert_eq!(graph.gold, [1, UNLABELLED, 0, 2, UNLABELLED]);
    tagger.load(&graph).unwrap();
    let all: Vec<([usize; 5], f64)> =
        labellings().into_iter().map(|y| (y, score(&model, &y).exp())).collect();
    let z: f64 = all.iter().map(|(_, p)| p).sum();
    let marginals: Vec<Vec<f64>> = tagger.answers().marginals().unwrap().map(<[f64]>::to_vec).collect();
    for (node, row) in marginals.iter().enumerate() {
        for (label, p) in row.iter().enumerate() {
            let those = all.iter().filter(|(y, _)| y[node] == label);
            let expected = those.map(|(_, p)| p).sum::<f64>() / z;
            assert!((p - expected).abs() < 1e-12, "node {node}, label {label}: {p} against {expected}");
        }
    }
    let best = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    let found = tagger.labels(Decode::Exact).unwrap().iter().map(|&label| label as usize);
    assert_eq!(found.collect::<Vec<_>>(), best);
    assert_eq!(tagger.converged(), Some(true));
    // A name that training has not seen says nothing.
    let other = line(GRAPH).replace(r#"["near"]"#, r#"["near", "unheard"]"#);
    tagger.load(&read(&tagger, &other)).unwrap();
    assert!(tagger.answers().marginals().unwrap().zip(&marginals).all(|(a, b)| a == b));
    // What cuts cannot do is refused with the place.
    let message = tagger.labels(Decode::GraphCut).unwrap_err().to_string();
    assert!(message.starts_with("graphs:1: "), "{message}");
}

/// The objective at the end is −log p(known labels), unknown ones summed out, plus the penalty.
#[test]
fn missing_labels_are_summed_out() {
    let text = format!("{}\n{}\n", line(TYPES), line(GRAPH));
    let settings = Settings { sigma: 0.8, passes: Some(5), scaling: Scaling::None, ..lbfgs(1e-4) };
    let trained = train(corpus(&text).unwrap(), &settings, Engine::Exact).unwrap();
    let expected = penalised(&trained.model, [0.8; 5]);
    assert!((trained.objective - expected).abs() < 1e-9, "{} {expected}", trained.objective);
    assert!(trained.model.weights.iter().any(|weight| weight.abs() > 0.1));
    // Three labels by themselves, of 2, 2 and 3, at the start.
    let marginal = Settings { objective: Criterion::Marginal, ..settings.clone() };
    let trained = train(corpus(&text).unwrap(), &marginal, Engine::LoopyBp).unwrap();
    assert!(trained.objective < 0.8 * (2.0f64 * 2.0 * 3.0).ln(), "{}", trained.objective);
    for objective in Criterion::ALL.into_iter().filter(|objective| objective.direction().is_none()) {
        let settings = Settings { objective, passes: Some(5), ..Settings::default() };
        train(corpus(&text).unwrap(), &settings, Engine::Exact).unwrap();
    }
}

/// Nodes without a label, and factors over them, are no part of the objectives without inference: training is the same as on the
/// graph from which they are removed.
#[test]
fn objectives_without_inference_pass_over_nodes_without_a_label() {
    let types = r#"{"types": {"n": {"labels": 3, "dense": 2}, "e": {"over": ["n", "n"], "dense": 1}}}"#;
    let node = |label: &str, x: f64| {
        format!(r#"{{"type": "n", "label": {label}, "dense": [{x}, {}]}}"#, 1.0 - 0.3 * x * x)
    };
    let edge = |i: usize, j: usize| {
        format!(r#"{{"type": "e", "nodes": [{i}, {j}], "dense": [{}]}}"#, 0.5 + i as f64 - j as f64)
    };
    let graph = |nodes: [String; 4], edges: &[String]| {
        format!(r#"{{"nodes": [{}], "factors": [{}]}}"#, nodes.join(", "), edges.join(", "))
    };
    let nodes = |third: &str| [node("0", 0.4), node("2", -1.0), node(third, 0.9), node("1", 0.1)];
    let with = graph(nodes("null"), &[edge(0, 1), edge(0, 3), edge(1, 2), edge(2, 3)]);
    let without = format!(
        r#"{{"nodes": [{}], "factors": [{}, {}]}}"#,
        [node("0", 0.4), node("2", -1.0), node("1", 0.1)].join(", "),
        edge(0, 1),
        r#"{"type": "e", "nodes": [0, 2], "dense": [-2.5]}"#
    );
    for (objective, pieces, batch_of) in [
        (Criterion::Pseudolikelihood, None, BatchOf::Graphs),
        (Criterion::Piecewise, None, BatchOf::Graphs),
        (Criterion::PiecewisePseudo, None, BatchOf::Graphs),
        (Criterion::Piecewise, Some(Pieces::Edge), BatchOf::Graphs),
        (Criterion::Piecewise, Some(Pieces::Trees), BatchOf::Pieces),
        (Criterion::PiecewisePseudo, Some(Pieces::Edge), BatchOf::Graphs),
    ] {
        let settings = Settings { objective, pieces, batch_of, scaling: Scaling::None, ..lbfgs(1e-9) };
        let run = |graph: &str| {
            train(corpus(&format!("{types}\n{graph}\n")).unwrap(), &settings, Engine::Exact).unwrap()
        };
        let (void, removed) = (run(&with), run(&without));
        let difference = (void.objective - removed.objective).abs();
        assert!(difference < 1e-6, "{objective:?} {pieces:?}: {} {}", void.objective, removed.objective);
        let mut weights = void.model.weights.iter().zip(removed.model.weights.iter());
        assert!(weights.all(|(a, b)| (a - b).abs() < 1e-3), "{objective:?} {pieces:?}");
    }
}

/// The weight of a node is how often it counts, and so is the weight of its label.
#[test]
fn weights_of_nodes_and_labels_count_nodes() {
    let types = r#"{"types": {"n": {"labels": ["a", "b"], "dense": 1}}}"#;
    let node = |label: &str, x: f64, weight: &str| {
        format!(r#"{{"type": "n", "label": "{label}", "dense": [{x}]{weight}}}"#)
    };
    let graph = |nodes: &[String]| format!(r#"{{"nodes": [{}]}}"#, nodes.join(", "));
    let plain = [node("a", 1.0, ""), node("b", -0.5, ""), node("b", 0.2, "")];
    let twice = [plain[0].clone(), plain[0].clone(), plain[1].clone(), plain[2].clone()];
    let weighed = [node("a", 1.0, r#", "weight": 2"#), plain[1].clone(), plain[2].clone()];
    let settings =
        Settings { objective: Criterion::Pseudolikelihood, scaling: Scaling::None, ..lbfgs(1e-10) };
    let read = |nodes: &[String]| corpus(&format!("{types}\n{}\n", graph(nodes))).unwrap();
    let run = |corpus: TypedCorpus| train(corpus, &settings, Engine::Exact).unwrap().objective;
    let expected = run(read(&twice));
    assert!((run(read(&weighed)) - expected).abs() < 1e-8);
    let mut labels = read(&plain);
    labels.set_label_weights([("a".to_owned(), 2.0)]).unwrap();
    assert!((run(labels) - expected).abs() < 1e-8);
    assert!((run(read(&plain)) - expected).abs() > 1e-3);
    for (weights, words) in [(("c", 1.0), "nothing has this label"), (("a", -1.0), "at least 0")] {
        let message = read(&plain).set_label_weights([(weights.0.to_owned(), weights.1)]).unwrap_err();
        assert!(message.to_string().contains(words), "{message}");
    }
    // The likelihood is about all labels together.
    let message = train(read(&weighed), &lbfgs(1e-4), Engine::Exact).unwrap_err().to_string();
    assert!(
        message.contains("single tokens and nodes cannot have weights: use one of pseudolikelihood"),
        "{message}"
    );
}

/// −log p(known labels) plus the penalty with a σ for each type, by enumeration.
fn penalised(model: &TypedModel, sigmas: [f64; 5]) -> f64 {
    let sum = |known: bool| -> f64 {
        let fits = |y: &&[usize; 5]| !known || (y[0] == 1 && y[2] == 0 && y[3] == 2);
        labellings().iter().filter(fits).map(|y| score(model, y).exp()).sum()
    };
    let mut penalty = 0.0;
    for (rows, sigma) in model.features.clone().rows.iter().zip(sigmas) {
        let weights = &model.weights[rows.base..][..rows.weights()];
        penalty += weights.iter().map(|w| w * w).sum::<f64>() / (2.0 * sigma * sigma);
    }
    (sum(false) / sum(true)).ln() + penalty
}

/// The objective is the one with these priors, and the weights are its minimum.
#[test]
fn a_type_may_have_a_sigma_of_its_own() {
    let text = format!("{}\n{}\n", line(TYPES), line(GRAPH));
    let scaling = Scaling::None;
    let settings = Settings { sigma: 0.8, sigma_pairs: Some(0.5), scaling, ..lbfgs(1e-12) };
    let own = [("b", 2.0), ("t", 0.1)];
    let sigmas = [0.8, 2.0, 0.5, 0.5, 0.1];
    let trained = train_with(corpus(&text).unwrap(), &own, &settings, Engine::Exact).unwrap();
    let best = penalised(&trained.model, sigmas);
    assert!((trained.objective - best).abs() < 1e-9, "{} {best}", trained.objective);
    assert_eq!(trained.model.settings.sigma_of["t"], 0.1);
    let mut rng = Random::new(5);
    for _ in 0..20 {
        let mut moved = trained.model.clone();
        moved.weights.iter_mut().for_each(|w| *w += 0.01 * (2.0 * rng.uniform() - 1.0));
        assert!(penalised(&moved, sigmas) > best);
    }
    let refused = |own: &[(&str, f64)], settings: &Settings, words: &str| {
        let found = train_with(corpus(&text).unwrap(), own, settings, Engine::Exact);
        let message = found.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    refused(&[("c", 1.0)], &settings, "there is no such type; choose a|b|f|p|t");
    refused(&[("a", 0.0)], &settings, "`sigma_of` a=0");
    refused(&[("a", f64::NAN)], &settings, "`sigma_of` a=NaN");
    refused(&own, &Settings { l1: 1.0, ..settings.clone() }, "leave `l1`");
    refused(&own, &Settings { sigma: f64::INFINITY, ..settings.clone() }, "a finite `sigma`");
}

/// Sentences of made-up words; each label follows from the word and the label before.
fn sentences(count: usize) -> Vec<Vec<(String, usize)>> {
    let mut rng = Random::new(7);
    let sentence = |_| {
        let mut label = rng.below(3);
        (0..2 + rng.below(5))
            .map(|_| {
                label = (label + rng.below(2)) % 3;
                (format!("w{}", label * 2 + rng.below(3)), label)
            })
            .collect()
    };
    (0..count).map(sentence).collect()
}

fn as_graphs(sentences: &[Vec<(String, usize)>]) -> String {
    let types = r#"{"types": {"word": {"labels": 3}, "next": {"over": ["word", "word"]}}}"#;
    let mut text = format!("{types}\n\n");
    for sentence in sentences {
        let node = |(word, label): &(String, usize)| {
            format!(r#"{{"type":"word","label":{label},"features":["{word}"]}}"#)
        };
        let nodes: Vec<String> = sentence.iter().map(node).collect();
        let next = |t: usize| format!(r#"{{"type":"next","nodes":[{},{t}]}}"#, t - 1);
        let factors: Vec<String> = (1..sentence.len()).map(next).collect();
        writeln!(text, r#"{{"nodes":[{}],"factors":[{}]}}"#, nodes.join(","), factors.join(",")).unwrap();
    }
    text
}

#[test]
fn a_chain_in_a_file_is_the_chain() {
    let sentences = sentences(20);
    let mut text = String::new();
    for sentence in &sentences {
        sentence.iter().for_each(|(word, label)| writeln!(text, "{word} {label}").unwrap());
        text.push('\n');
    }
    let templates = Templates::compile("U:%x[0,0]\nU1\nB\n", Dialect::Crfpp, "words").unwrap();
    let mut builder = CorpusBuilder::new(Source::Templates(templates));
    let columns = corpora::models::columns(&text);
    columns.iter().for_each(|sequence| builder.add_columns(sequence, 1).unwrap());
    let chain = builder.finish(1).unwrap();
    let settings = Settings { features: Keep::All, ..lbfgs(1e-12) };
    let features = features(&chain, &settings);
    let start = TrainOptions { threads: 1, ..TrainOptions::default() };
    let chain = crfkit::train::train(chain, features, &settings, start, &mut Record::default()).unwrap();
    let mut tagger = Tagger::new(Arc::new(chain.model));
    tagger.load_columns(&columns[3]).unwrap();

    let graphs = as_graphs(&sentences);
    for engine in [Engine::Exact, Engine::LoopyBp, Engine::Trw] {
        let trained = train(corpus(&graphs).unwrap(), &settings, engine).unwrap();
        let relative = (trained.objective - chain.objective).abs() / chain.objective;
        assert!(relative < 1e-7, "{engine:?}: {} {}", trained.objective, chain.objective);
        let mut typed = TypedTagger::new(Arc::new(trained.model));
        typed.load(&read(&typed, graphs.lines().nth(2 + 3).unwrap())).unwrap();
        for (t, row) in typed.answers().marginals().unwrap().enumerate() {
            for (label, p) in row.iter().enumerate() {
                assert!((p - tagger.marginal(t, label as Label)).abs() < 1e-4, "{engine:?}");
            }
        }
    }
}

#[test]
fn every_objective_and_engine_learns_and_models_survive_their_files() {
    let text = as_graphs(&sentences(30));
    let ways = [
        (Criterion::Likelihood, Engine::MeanField),
        (Criterion::Likelihood, Engine::LoopyBp),
        (Criterion::Pseudolikelihood, Engine::LoopyBp),
        (Criterion::Piecewise, Engine::LoopyBp),
        (Criterion::PiecewisePseudo, Engine::LoopyBp),
        (Criterion::Perceptron, Engine::Exact),
        (Criterion::Perceptron, Engine::LoopyBp),
        (Criterion::Marginal, Engine::MeanField),
        (Criterion::Marginal, Engine::Trw),
    ];
    for (objective, engine) in ways {
        let settings = match objective {
            Criterion::Perceptron => Settings { passes: Some(10), ..Settings::perceptron(true) },
            _ => Settings { objective, sigma: 3.0, passes: Some(30), ..lbfgs(1e-4) },
        };
        let model = train(corpus(&text).unwrap(), &settings, engine).unwrap().model;
        let bytes = model.to_bytes(Precision::F64).unwrap();
        let read_back = TypedModel::from_bytes(&bytes).unwrap();
        let message = ChainModel::from_bytes(&bytes).unwrap_err().to_string();
        assert!(message.contains("another kind (graph)"), "{message}");
        assert_eq!((read_back.to_bytes(Precision::F64).unwrap(), read_back.engine()), (bytes, engine));
        let mut tagger = TypedTagger::new(Arc::new(read_back));
        let (mut right, mut nodes) = (0, 0);
        let mut judgement = Judgement::new(1);
        for line in text.lines() {
            if let Some(graph) = model.domain.read_line(line, &place(1)).unwrap() {
                let found = tagger.judge(&graph, Decode::MaxMarginal, &mut judgement).unwrap();
                right += graph.gold.iter().zip(&found).filter(|(gold, found)| gold == found).count();
                nodes += graph.gold.len();
            }
        }
        assert_eq!((judgement.joint.total, judgement.accuracies.len()), (30, 1));
        assert_eq!((judgement.overall().correct, judgement.overall().total), (right as u64, nodes as u64));
        let accuracy = judgement.overall().percent();
        assert!(accuracy > 70.0, "{objective:?} by {engine:?}: {accuracy}");
    }
}

#[test]
fn damaged_models_are_refused() {
    let model =
        train(corpus(&as_graphs(&sentences(3))).unwrap(), &lbfgs(1e-4), Engine::LoopyBp).unwrap().model;
    let bytes = model.to_bytes(Precision::F64).unwrap();
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(TypedModel::from_bytes(&damaged).is_err(), "byte {at}");
        assert!(TypedModel::from_bytes(&bytes[..at]).is_err());
    }
    let one_more = TypedModel { weights: [&model.weights[..], &[0.5]].concat().into(), ..model };
    let message =
        TypedModel::from_bytes(&one_more.to_bytes(Precision::F64).unwrap()).unwrap_err().to_string();
    assert!(message.contains("its features need"), "{message}");
}

/// Thirty graphs of three nodes and two edges with five numbers each, which `written` puts into words. One number in `every` is not 0.
fn numbered(every: usize, dense: usize, written: impl Fn(&[f64]) -> String) -> String {
    let mut random = Random::new(7);
    let pair = r#""over": ["n", "n"], "table": "potts""#;
    let mut text = format!(
        r#"{{"types": {{"n": {{"labels": 3, "dense": {dense}}}, "e": {{{pair}, "dense": {dense}}}}}}}"#
    );
    for graph in 0..30 {
        let mut row = || {
            let mut number = |k: usize| if k.is_multiple_of(every) { random.uniform() - 0.5 } else { 0.0 };
            written(&std::array::from_fn::<f64, 5, _>(|k| number(k + 1)))
        };
        let mut node = |k: usize| format!(r#"{{"type": "n", "label": {}, {}}}"#, (k * k + graph) % 3, row());
        let nodes = [node(0), node(1), node(2)].join(", ");
        let mut edge = |k: usize| format!(r#"{{"type": "e", "nodes": [{k}, {}], {}}}"#, k + 1, row());
        let edges = [edge(0), edge(1)].join(", ");
        write!(text, "\n{{\"nodes\": [{nodes}], \"factors\": [{edges}]}}").unwrap();
    }
    text
}

#[test]
fn numbers_in_a_matrix_are_features_with_values() {
    let list = |x: &[f64]| format!(r#""dense": {x:?}"#);
    let object = |x: &[f64]| {
        let features: Vec<String> = x.iter().enumerate().map(|(k, x)| format!(r#""x{k}": {x:?}"#)).collect();
        format!(r#""features": {{{}}}"#, features.join(", "))
    };
    let (lists, objects) = (numbered(1, 5, list), numbered(1, 0, object));
    let (matrix, named) = (corpus(&lists).unwrap(), corpus(&objects).unwrap());
    let kinds: Vec<_> = matrix.data.dense().iter().map(|dense| (dense.kind(), dense.width())).collect();
    assert_eq!(kinds, [(0, 6), (1, 6)], "a constant and five numbers of nodes and of edges");
    assert!(named.data.dense().is_empty());
    assert!(corpus(&numbered(9, 5, list)).unwrap().data.dense().is_empty(), "zeros are not worth their room");
    for optimizer in [Method::Lbfgs, Method::Auto, Method::NewtonCg] {
        let settings = Settings { optimizer, ..lbfgs(1e-9) };
        let models = [(&matrix, &lists), (&named, &objects)].map(|(corpus, text)| {
            let trained = train(corpus.clone(), &settings, Engine::Exact).unwrap();
            let mut tagger = TypedTagger::new(Arc::new(trained.model));
            tagger.load(&read(&tagger, text.lines().nth(3).unwrap())).unwrap();
            let marginals: Vec<f64> = tagger.answers().marginals().unwrap().flatten().copied().collect();
            (trained.objective, marginals)
        });
        let [(a, p), (b, q)] = &models;
        assert!((a - b).abs() < 1e-3 * b, "{optimizer:?}: {a} {b}");
        assert!(p.iter().zip(q).all(|(p, q)| (p - q).abs() < 5e-3), "{optimizer:?}: {p:?} {q:?}");
    }
}

#[test]
fn rare_names_are_dropped() {
    let text = r#"{"types": {"n": {"labels": 2}}}
{"nodes": [{"type": "n", "label": 1, "features": ["often", "once"]}, {"type": "n", "label": 0, "features": {"often": 3, "never": 0}}]}"#;
    let mut builder = TypedBuilder::default();
    (1..).zip(text.lines()).for_each(|(number, line)| builder.add(line, &place(number)).unwrap());
    let corpus = builder.finish(2).unwrap();
    assert_eq!(corpus.domain.names[0].iter().collect::<Vec<_>>(), [b"often"]);
    assert_eq!(corpus.data.occurrences(), 2 + 2);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let types = |text: &str| format!(r#"{{"types": {{{text}}}}}"#);
    let declared = line(TYPES);
    let graph = |nodes: &str, factors: &str| {
        format!(r#"{declared}{}{{"nodes":[{nodes}],"factors":[{factors}]}}"#, '\n')
    };
    let a = r#"{"type":"a","dense":[1]}"#;
    let b = r#"{"type":"b"}"#;
    let cases = [
        (String::new(), "there is no graph to learn from"),
        (declared.clone(), "there is no graph to learn from"),
        (r#"{"nodes":[]}"#.into(), "graphs:1: a graph, but no types yet"),
        ("{".into(), "graphs:1: column 1: EOF"),
        ("[1]".into(), "graphs:1: column"),
        ("[".repeat(100_000), "graphs:1: column"),
        (r#"{"types":{},"nodes":[]}"#.into(), "no type of nodes"),
        (r#"{"what":1}"#.into(), "unknown field `what`"),
        (types(r#""a":{}"#), "type `a`: give it either `labels`"),
        (types(r#""a":{"labels":0}"#), "0 labels"),
        (types(r#""a":{"labels":4000000000}"#), "4000000000 labels, but"),
        (types(r#""a":{"labels":-1}"#), "labels must be a number or a list of names"),
        (types(r#""a":{"labels":["x","x"]}"#), "the label `x` occurs twice"),
        (types(r#""a":{"labels":3,"table":"ising"}"#), "use potts or full"),
        (types(r#""a":{"labels":3,"table":"potts"}"#), "use full"),
        (types(r#""a":{"labels":3},"f":{"over":["b"]}"#), "over `b`, which is not a type of nodes"),
        (types(r#""a":{"labels":3},"f":{"over":["f"]}"#), "over `f`, which is not a type of nodes"),
        (types(r#""a":{"labels":3},"f":{"over":[]}"#), "over 0 nodes"),
        (
            types(&format!(r#""a":{{"labels":2}},"f":{{"over":["a"{}]}}"#, r#","a""#.repeat(40))),
            "more than 1048576 entries",
        ),
        (
            types(&format!(r#""a":{{"labels":1}},"f":{{"over":["a"{}]}}"#, r#","a""#.repeat(99))),
            "over 100 nodes",
        ),
        (types(r#""a":{"labels":2,"dense":9999999999}"#), "9999999999 dense features"),
        (
            types(r#""a":{"labels":9000,"dense":90000}"#) + "\n" + r#"{"nodes":[]}"#,
            "more than 268435456 weights",
        ),
        (graph(r#"{"type":"c"}"#, ""), "graphs:2: node 0: `c` is not a declared type: choose a|b"),
        (graph(r#"{"type":"f"}"#, ""), "node 0: `f` is not a declared type"),
        (graph(r#"{"type":"b","label":"z"}"#, ""), "`z` is not a label of `b`: choose 0|1|2"),
        (graph(r#"{"type":"b","label":3}"#, ""), "`3` is not a label of `b`"),
        (graph(r#"{"type":"b","label":1.5}"#, ""), "expected a name or a number"),
        (graph(r#"{"type":"b","features":{"x":1e999}}"#, ""), "number out of range"),
        (graph(r#"{"type":"b","features":{"x":NaN}}"#, ""), "expected value"),
        (graph(r#"{"type":"b","features":{"x":1e12}}"#, ""), "scale it"),
        (graph(r#"{"type":"b","features":"x"}"#, ""), "expected features: a list of names"),
        (graph(r#"{"type":"a"}"#, ""), "0 dense features, but the type `a` declares 1"),
        (graph(a, r#"{"type":"f","nodes":[0]}"#), "factor 0: 1 nodes, but a `f` is over 2"),
        (graph(a, r#"{"type":"f","nodes":[0,7]}"#), "there is no node 7: there are 1, counted from 0"),
        (graph(a, r#"{"type":"f","nodes":[0,0]}"#), "node 0 occurs twice"),
        (
            graph(&format!("{a},{b}"), r#"{"type":"f","nodes":[0,1]}"#),
            "node 1 is a `b`, but a `a` is expected",
        ),
        (graph(a, r#"{"type":"f","nodes":[0,-1]}"#), "graphs:2: column"),
        (format!("{declared}\n{}", types(r#""a":{"labels":2}"#)), "graphs:2: these types are not those"),
    ];
    for (text, expected) in cases {
        let found = corpus(&text).map(|corpus| features(&corpus, &Settings::default()));
        let message = found.expect_err(expected).to_string();
        assert!(message.contains(expected), "{message}, not {expected}");
    }
    // A graph whose tables would fill the memory.
    let wide = types(r#""a":{"labels":1000},"f":{"over":["a","a"]}"#);
    let factors = vec![r#"{"type":"f","nodes":[0,1]}"#; 70].join(",");
    let text = format!(
        r#"{wide}{}{{"nodes":[{},{}],"factors":[{factors}]}}"#,
        '\n', r#"{"type":"a"}"#, r#"{"type":"a"}"#
    );
    let message = corpus(&text).unwrap_err().to_string();
    assert!(message.contains("graphs:2: the tables of this graph have"), "{message}");
}

/// Whatever a line holds, it is read or refused.
#[test]
fn broken_lines_do_no_harm() {
    let (types, graph) = (line(TYPES), line(GRAPH));
    let mut rng = Random::new(3);
    for _ in 0..3000 {
        let mut text = [types.clone(), graph.clone()];
        let broken = &mut text[rng.below(2)];
        let mut characters: Vec<char> = broken.chars().collect();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(characters.len());
            match rng.below(3) {
                0 => drop(characters.remove(at)),
                1 => characters.insert(at, characters[rng.below(characters.len())]),
                _ => characters[at] = ['0', '9', '-', '"', '[', '}', 'e'][rng.below(7)],
            }
        }
        *broken = characters.into_iter().collect();
        let _ = corpus(&text.join("\n")).map(|corpus| features(&corpus, &Settings::default()));
    }
}

/// Graphs without nodes or factors, nodes with one label, strong features: all answers are numbers.
#[test]
fn odd_graphs_are_labelled() {
    let text = r#"{"types": {"n": {"labels": 2}, "one": {"labels": ["only"]}, "pair": {"over": ["n", "one"]}}}
{"nodes": [{"type": "n", "label": 1, "features": {"x": 1e9}}, {"type": "one", "label": "only"}], "factors": [{"type": "pair", "nodes": [0, 1]}]}
{"nodes": []}
{"nodes": [{"type": "one"}]}"#;
    for engine in Engine::ALL {
        let settings = Settings { sigma: 0.1, passes: Some(3), ..lbfgs(1e-4) };
        let Ok(trained) = train(corpus(text).unwrap(), &settings, engine) else {
            continue; // diverged, and said so
        };
        let mut tagger = TypedTagger::new(Arc::new(trained.model));
        for line in text.lines().skip(1) {
            tagger.load(&read(&tagger, line)).unwrap();
            for decode in [Decode::MaxMarginal, Decode::Exact, Decode::MaxProduct, Decode::Icm] {
                assert!(tagger.labels(decode).is_ok());
            }
            for row in tagger.answers().marginals().unwrap() {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{engine:?}: {row:?}");
            }
        }
    }
}

/// A file may say what the pieces are. All factors in one piece are the graph itself; one name each is each pair alone.
#[test]
fn factors_name_their_pieces() {
    const TYPES: &str = r#"{"types": {"n": {"labels": 2}, "e": {"over": ["n", "n"]}}}"#;
    let text = |piece: &dyn Fn(usize) -> String| {
        let mut text = format!("{TYPES}\n");
        for graph in 0..6 {
            let node = |v: usize| {
                let label = (graph + v / 2) % 2;
                format!(r#"{{"type": "n", "label": {label}, "features": ["w{}"]}}"#, (graph * v + label) % 3)
            };
            let edge =
                |(k, pair): (usize, [usize; 2])| format!(r#"{{"type": "e", "nodes": {pair:?}{}}}"#, piece(k));
            let nodes: Vec<String> = (0..4).map(node).collect();
            let edges: Vec<String> = (0..).zip([[0, 1], [1, 2], [2, 3], [3, 0]]).map(edge).collect();
            let _ =
                writeln!(text, r#"{{"nodes": [{}], "factors": [{}]}}"#, nodes.join(", "), edges.join(", "));
        }
        text
    };
    let fit = |text: &str, objective: Criterion, pieces: Option<&str>, batch_of: BatchOf| {
        let pieces = pieces.map(|name| name.parse().unwrap());
        let settings = Settings { objective, pieces, batch_of, passes: Some(6), ..lbfgs(1e-9) };
        train(corpus(text).unwrap(), &settings, Engine::Exact).map(|trained| trained.objective)
    };
    let (one, each) = (text(&|_| r#", "piece": "all""#.into()), text(&|k| format!(r#", "piece": {k}"#)));
    for batch_of in [BatchOf::Graphs, BatchOf::Pieces] {
        let by = |text: &str, objective, pieces| fit(text, objective, pieces, batch_of).unwrap();
        let likelihood = fit(&one, Criterion::Likelihood, None, BatchOf::Graphs).unwrap();
        let pseudo = fit(&one, Criterion::Pseudolikelihood, None, BatchOf::Graphs).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * a.abs(), "{a} {b}");
        close(by(&one, Criterion::Piecewise, Some("file")), likelihood);
        close(by(&one, Criterion::PiecewisePseudo, Some("file")), pseudo);
        // A node's table is with the first of its pairs, which is not always the one where it is on the right: no piece is an edge.
        let edges = by(&each, Criterion::Piecewise, Some("file"));
        assert!(edges > likelihood && edges != by(&each, Criterion::Piecewise, None));
    }
    let nothing = text(&|_| String::new());
    for (pieces, needs) in [("file", "file names them"), ("rows", "a grid")] {
        for batch_of in [BatchOf::Graphs, BatchOf::Pieces] {
            let refused = fit(&nothing, Criterion::Piecewise, Some(pieces), batch_of).unwrap_err();
            assert!(refused.to_string().contains(needs), "{refused}");
        }
    }
    let refused = fit(&one, Criterion::Likelihood, None, BatchOf::Pieces).unwrap_err();
    assert!(refused.to_string().contains("`batch_of`"), "{refused}");
}

#[test]
fn every_type_is_found_by_its_name() {
    let node = || Declaration::nodes(["0", "1"]);
    let factor = || Declaration::factors(["n07"]);
    let declared = (0..40).map(|k| (format!("n{k:02}"), node())).chain([("a".into(), factor())]);
    let types = Types::declare(declared.chain([("n07x".into(), factor()), ("z".into(), factor())])).unwrap();
    for (number, of) in types.all().iter().enumerate() {
        assert_eq!(types.index_of(&of.name), Some(number), "{}", of.name);
    }
    assert_eq!(["", "n", "n40", "b", "zz"].map(|name| types.index_of(name)), [None; 5]);
}

#[test]
fn an_unknown_type_is_answered_with_a_few_names() {
    let node = |k: usize| (format!("type{k}"), Declaration::nodes(["0", "1"]));
    let mut builder = TypedBuilder::new(Types::declare((0..1000).map(node)).unwrap());
    builder.add(r#"{"nodes": [{"type": "type7", "label": "1"}]}"#, &Place::new("graphs", 1)).unwrap();
    let corpus = builder.finish(1).unwrap();
    let sigma_of = [("other", 1.0)];
    let error = train_with(corpus, &sigma_of, &Settings::default(), Engine::Exact).unwrap_err().to_string();
    assert!(error.contains("there is no such type; choose type0|") && error.len() < 300, "{error}");
}
