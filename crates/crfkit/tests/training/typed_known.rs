//! Graphs from a file of whose labels something is known: sets of labels in training, and restricted answers.

use crate::corpora;

use corpora::Record;
use crfkit::answers::Answers;
use crfkit::domain::Dev;
use crfkit::graph::{Label, UNLABELLED};
use crfkit::math::random::Random;
use crfkit::tag::{Judgement, Tagger};
use crfkit::train::{Criterion, Method, Scaling, Settings, TrainOptions, TrainingObjective, features};
use crfkit::typed::{Decode, Engine, TypedBuilder, TypedCorpus, TypedGraph, TypedModel, TypedTagger};
use crfkit::{Place, Result};
use std::sync::Arc;

const TYPES: &str = r#"{"types": {"a": {"labels": ["x", "y"], "dense": 1}, "b": {"labels": 3},
    "e": {"over": ["a", "b"], "dense": 1}, "f": {"over": ["b", "b"], "table": "potts"}, "t": {"over": ["a", "b", "a"]}}}"#;

/// A loop of four nodes with a factor of three; `more` has a further field of each node.
fn graph(more: [&str; 4]) -> String {
    let [a, b, c, d] = more;
    format!(
        r#"{{"nodes": [{{"type": "a", "dense": [0.5]{a}}}, {{"type": "b"{b}}}, {{"type": "a", "dense": [-1]{c}}},
        {{"type": "b", "features": ["u"]{d}}}], "factors": [{{"type": "e", "nodes": [0, 1], "dense": [1]}},
        {{"type": "e", "nodes": [2, 3], "dense": [0.25]}}, {{"type": "f", "nodes": [1, 3]}}, {{"type": "t", "nodes": [0, 1, 2]}}]}}"#
    )
    .replace('\n', " ")
}

/// The same nodes in a chain.
fn chain(more: [&str; 4]) -> String {
    graph(more).replace(r#", {"type": "t", "nodes": [0, 1, 2]}"#, "")
}

fn place(line: u64) -> Place {
    Place::new("graphs", line)
}

fn corpus(graphs: &[String]) -> Result<TypedCorpus> {
    let mut builder = TypedBuilder::default();
    builder.add(&TYPES.replace('\n', " "), &place(1))?;
    (2..).zip(graphs).try_for_each(|(line, graph)| builder.add(graph, &place(line)))?;
    builder.finish(1)
}

fn model(random: &mut Random, round: bool) -> TypedModel {
    let corpus = corpus(&[graph([""; 4])]).unwrap();
    let settings = Settings::default();
    let features = features(&corpus, &settings);
    let draw = |random: &mut Random| 3.0 * random.uniform() - 1.5;
    let weights: Vec<f64> = (0..features.dim()).map(|_| draw(random)).collect();
    let weights: Vec<f64> = if round { weights.iter().map(|w| w.round()).collect() } else { weights };
    TypedModel { domain: corpus.domain, features: features.into(), weights: weights.into(), settings }
}

fn read(model: &TypedModel, text: &str) -> TypedGraph {
    model.domain.read_line(text, &place(7)).unwrap().unwrap()
}

/// All labellings of four nodes with their scores.
fn ranked(model: &Arc<TypedModel>, text: &str) -> Vec<(Vec<Label>, f64)> {
    let mut tagger = Tagger::new(model.clone());
    let answers = tagger.load(&read(model, text)).unwrap();
    let all = (0..36u32).map(|k| vec![k / 18, k / 6 % 3, k / 3 % 2, k % 3]);
    all.map(|labels| (labels.clone(), answers.score(&labels))).collect()
}

fn log_sum(scores: impl Iterator<Item = f64>) -> f64 {
    scores.map(f64::exp).sum::<f64>().ln()
}

/// What is known of the nodes, as it is written with `label` or `allowed`, and which labels agree with it.
type Known = ([&'static str; 4], fn(&[Label]) -> bool);
const KNOWN: [Known; 4] = [
    ([r#""x""#, "[0,2]", "", ""], |y| y[0] == 0 && y[1] != 1),
    ([r#"["y","x"]"#, "[1]", r#"["y"]"#, "[2,1,2]"], |y| y[1] == 1 && y[2] == 1 && y[3] != 0),
    (["", "", "", r#"["0","1"]"#], |y| y[3] != 2),
    (["", "[0,1]", "", "[0,1]"], |y| y[1] != 2 && y[3] != 2),
];

fn fields(name: &str, known: [&str; 4]) -> [String; 4] {
    known.map(|value| if value.is_empty() { String::new() } else { format!(r#","{name}":{value}"#) })
}

fn with(name: &str, known: [&str; 4], make: impl Fn([&str; 4]) -> String) -> String {
    let fields = fields(name, known);
    make([&fields[0], &fields[1], &fields[2], &fields[3]])
}

/// The objective is Σ (log Z − log Z of what is known) by enumeration, and its gradient is its slope.
#[test]
fn sets_of_labels_are_summed_over() {
    let mut random = Random::new(31);
    let settings = Settings {
        optimizer: Method::Lbfgs,
        inference: Some(Engine::Exact),
        sigma: f64::INFINITY,
        scaling: Scaling::None,
        ..Settings::default()
    };
    for round in 0..6 {
        let model = Arc::new(model(&mut random, round % 2 == 0));
        let graphs = KNOWN.map(|(known, _)| with("label", known, graph));
        let mut expected = 0.0;
        for (text, (_, agrees)) in graphs.iter().zip(KNOWN) {
            let all = ranked(&model, text);
            let known = all.iter().filter(|(labels, _)| agrees(labels));
            expected +=
                log_sum(all.iter().map(|(_, score)| *score)) - log_sum(known.map(|(_, score)| *score));
        }
        let objective = TrainingObjective::new(corpus(&graphs).unwrap(), &settings, 1).unwrap();
        let (value, gradient) = objective.value_grad(&model.weights).unwrap();
        assert!((value - expected).abs() < 1e-9, "{value} against {expected}");
        let direction: Vec<f64> = gradient.iter().map(|_| random.uniform() - 0.5).collect();
        let moved = |h: f64| {
            let theta: Vec<f64> = model.weights.iter().zip(&direction).map(|(x, d)| x + h * d).collect();
            objective.value_grad(&theta).unwrap().0
        };
        let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        assert!((slope - (moved(1e-5) - moved(-1e-5)) / 2e-5).abs() < 1e-6 * slope.abs().max(1.0));
    }
}

/// Every objective takes sets of labels. Those without inference leave such nodes out, as if nothing were known of them. Sets are not
/// scored.
#[test]
fn every_objective_takes_sets_of_labels() {
    let graphs = KNOWN.map(|(known, _)| with("label", known, graph));
    let bare = KNOWN.map(|(known, _)| {
        let single = |value: &'static str| if value.contains(',') { "" } else { value };
        with("label", known.map(single), graph)
    });
    for objective in Criterion::ALL.into_iter().filter(|objective| objective.direction().is_none()) {
        let train = |graphs: &[String]| {
            let data = corpus(graphs).unwrap();
            let settings = Settings {
                objective,
                passes: Some(5),
                inference: Some(Engine::Exact),
                ..Settings::default()
            };
            let of_data = features(&data, &settings);
            let start = TrainOptions { threads: 1, ..TrainOptions::default() };
            crfkit::train::train(data, of_data, &settings, start, &mut Record::default()).unwrap().model
        };
        let (model, without) = (train(&graphs), train(&bare));
        let local = matches!(
            objective,
            Criterion::Pseudolikelihood | Criterion::Piecewise | Criterion::PiecewisePseudo
        );
        assert_eq!(model.weights == without.weights, local, "{objective:?}");
    }
    let model = Arc::new(model(&mut Random::new(1), false));
    let mut judgement = Judgement::new(2);
    let known = read(&model, &graphs[0]);
    assert_eq!((known.gold[0], known.gold[2..].to_vec()), (0, vec![UNLABELLED; 2]));
    TypedTagger::new(model).judge(&known, Decode::MaxMarginal, &mut judgement).unwrap();
    assert_eq!(judgement.overall().total, 1);
}

/// Exact answers are those given the restriction, by enumeration; all decoders obey it, and belief propagation on a chain is exact.
#[test]
fn restricted_answers_equal_enumeration() {
    let mut random = Random::new(32);
    for round in 0..20 {
        let model = Arc::new(model(&mut random, round % 2 == 0));
        for (known, agrees) in KNOWN {
            for (text, engines) in [
                (with("allowed", known, graph), &[Engine::Exact][..]),
                (with("allowed", known, chain), &Engine::ALL[..4]),
            ] {
                let free = text.replace("allowed", "label");
                let all = ranked(&model, &free);
                let kept: Vec<_> = all.iter().filter(|(labels, _)| agrees(labels)).collect();
                let log_z = log_sum(kept.iter().map(|(_, score)| *score));
                let best = kept.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
                for &engine in engines {
                    let mut tagger = TypedTagger::with_engine(model.clone(), engine);
                    tagger.load(&read(&model, &text)).unwrap();
                    let answers = tagger.answers();
                    for v in (0..4).filter(|_| engine != Engine::MeanField) {
                        for label in 0..[2, 3, 2, 3][v] {
                            let with = kept.iter().filter(|(labels, _)| labels[v] == label);
                            let p: f64 = with.map(|(_, score)| (score - log_z).exp()).sum();
                            let found = answers.probability_of(v, label).unwrap();
                            assert!((found - p).abs() < 1e-6, "{engine:?}: {found} against {p}");
                        }
                    }
                    let labels = answers.labels(Decode::Best).unwrap().to_vec();
                    assert!(agrees(&labels) && (answers.score(&labels) - best).abs() < 1e-9, "{engine:?}");
                    for decode in [Decode::MaxMarginal, Decode::Exact, Decode::MaxProduct, Decode::Icm] {
                        assert!(agrees(answers.labels(decode).unwrap()), "{engine:?} {decode:?}");
                    }
                }
            }
            // Loops and an approximate engine: what is forbidden stays forbidden.
            for engine in Engine::ALL {
                let mut tagger = TypedTagger::with_engine(model.clone(), engine);
                tagger.load(&read(&model, &with("allowed", known, graph))).unwrap();
                for decode in [Decode::Best, Decode::MaxMarginal, Decode::Icm, Decode::MaxProduct] {
                    assert!(agrees(tagger.labels(decode).unwrap()), "{engine:?} {decode:?}");
                }
                // The next graph is free again.
                tagger.load(&read(&model, &graph([""; 4]))).unwrap();
                assert!(tagger.answers().probability_of(0, 1).unwrap() > 0.0);
            }
        }
    }
}

#[test]
fn what_is_wrong_with_sets_is_named() {
    let model = model(&mut Random::new(2), false);
    for (name, value, message) in [
        ("label", "[]", "node 1: an empty list of labels"),
        ("label", "[0,7]", "node 1: `7` is not a label of `b`"),
        ("label", "[0,null]", "expected a name or a number"),
        ("label", "{}", "expected a name or a number, or a list of them"),
        ("allowed", "[]", "node 1: an empty list of labels"),
        ("allowed", r#""z""#, "node 1: `z` is not a label of `b`"),
    ] {
        let text = with(name, ["", value, "", ""], graph);
        let found = model.domain.read_line(&text, &place(3)).unwrap_err().to_string();
        assert!(found.starts_with("graphs:3: ") && found.contains(message), "{found}");
    }
    // Restrictions are for answers.
    let restricted = with("allowed", ["", "[0,1]", "", ""], graph);
    let message = corpus(std::slice::from_ref(&restricted)).unwrap_err().to_string();
    assert!(message.starts_with("graphs:2: node 1: `allowed` restricts the answers"), "{message}");
    let message = Dev::from_inputs(&model.domain, &[read(&model, &restricted)]).unwrap_err().to_string();
    assert!(message.starts_with("graphs:7: `allowed` restricts the answers"), "{message}");
}
