//! Graphs from a file of whose labels something is known: sets of labels in training, and restricted answers.

use crate::corpora;

use corpora::Record;
use crfkit::answers::Answers;
use crfkit::domain::Dev;
use crfkit::graph::{Label, UNLABELLED};
use crfkit::loss::Pieces;
use crfkit::math::random::Random;
use crfkit::tag::{Judgement, Tagger};
use crfkit::train::{Criterion, Method, Scaling, Settings, TrainOptions, TrainingObjective, features};
use crfkit::typed::{
    Decode, Engine, TypedBuilder, TypedCorpus, TypedDomain, TypedGraph, TypedModel, TypedTagger,
};
use crfkit::{Place, Result};
use std::num::NonZeroUsize;
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

/// Writes a graph with a further field of each node.
type Make = fn([&str; 4]) -> String;

/// The same graph with two factors in one piece.
fn pieced(more: [&str; 4]) -> String {
    let name = |text: String, factor: &str| text.replace(factor, &format!(r#"{factor}, "piece": "p""#));
    name(name(graph(more), r#""type": "e", "nodes": [0, 1]"#), r#""nodes": [1, 3]"#)
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

/// Every objective takes sets of labels, and learns from them: the model is not that of graphs of whose nodes with a set nothing is known.
/// Sets are not scored.
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
        assert!(model.weights != without.weights, "{objective:?}");
    }
    let model = Arc::new(model(&mut Random::new(1), false));
    let mut judgement = Judgement::new(2);
    let known = read(&model, &graphs[0]);
    assert_eq!((known.gold[0], known.gold[2..].to_vec()), (0, vec![UNLABELLED; 2]));
    TypedTagger::new(model).judge(&known, Decode::MaxMarginal, &mut judgement).unwrap();
    assert_eq!(judgement.overall().total, 1);
}

/// Piecewise training is Σ (log Z of a piece − log Z of what is known of it) by enumeration, over the pieces without the factors over nodes of
/// which nothing is known. The gradient is its slope, and H·v that of the gradient; of the piecewise pseudolikelihood too.
#[test]
fn pieces_sum_over_sets() {
    let mut random = Random::new(33);
    let trees: &[Pieces] = &[
        Pieces::Factor,
        Pieces::Edge,
        Pieces::SharedUnary,
        Pieces::Trees,
        Pieces::Window(NonZeroUsize::MIN),
    ];
    for round in 0..4 {
        let model = Arc::new(model(&mut random, round % 2 == 0));
        let makes: [(Make, &[Pieces]); 3] =
            [(graph, &[Pieces::Factor]), (pieced, &[Pieces::File]), (chain, trees)];
        for (make, pieces) in makes {
            let graphs = KNOWN.map(|(known, _)| with("label", known, make));
            for &pieces in pieces {
                let settings = |objective: Criterion| Settings {
                    objective,
                    pieces: Some(pieces),
                    optimizer: Method::Lbfgs,
                    sigma: f64::INFINITY,
                    scaling: Scaling::None,
                    ..Settings::default()
                };
                let of = |objective| {
                    TrainingObjective::new(corpus(&graphs).unwrap(), &settings(objective), 1).unwrap()
                };
                let objective = of(Criterion::Piecewise);
                let expected: f64 = (0..4).map(|k| of_pieces(&model, &graphs[k], pieces, KNOWN[k].1)).sum();
                let found = objective.value_grad(&model.weights).unwrap().0;
                assert!((found - expected).abs() < 1e-9, "{pieces:?}: {found} against {expected}");
                slopes(&objective, &model.weights, &mut random);
                slopes(&of(Criterion::PiecewisePseudo), &model.weights, &mut random);
            }
        }
    }
}

/// Σ (log Z of a piece − log Z of what is known of it), where `agrees` says which labellings of the graph agree with what is known.
fn of_pieces(model: &Arc<TypedModel>, text: &str, pieces: Pieces, agrees: fn(&[Label]) -> bool) -> f64 {
    let typed = read(model, text);
    let known = |v: &usize| typed.gold[*v] != UNLABELLED;
    let mut tagger = Tagger::new(model.clone());
    let answers = tagger.load(&typed).unwrap();
    let (graph, psi) = (answers.graph(), answers.psi());
    let all: Vec<Vec<Label>> = (0..36u32).map(|k| vec![k / 18, k / 6 % 3, k / 3 % 2, k % 3]).collect();
    // Nodes outside of the piece keep one labelling that agrees.
    let other = all.iter().find(|labels| agrees(labels)).unwrap();
    let mut sum = 0.0;
    for piece in pieces.factors(graph).unwrap() {
        let factors: Vec<usize> =
            piece.into_iter().filter(|f| graph.factor(*f).vars.iter().all(known)).collect();
        let inside = |v: usize| factors.iter().any(|&f| graph.factor(f).vars.contains(&v));
        let of_piece = |labels: &&Vec<Label>| (0..4).all(|v| inside(v) || labels[v] == other[v]);
        let score = |labels: &Vec<Label>| -> f64 {
            factors.iter().map(|&f| psi.value(&graph.factor(f), labels)).sum()
        };
        let free = log_sum(all.iter().filter(of_piece).map(score));
        sum += free - log_sum(all.iter().filter(of_piece).filter(|labels| agrees(labels)).map(score));
    }
    sum
}

/// The gradient is the slope of the value, and H·v that of the gradient.
fn slopes(objective: &TrainingObjective<TypedDomain>, weights: &[f64], random: &mut Random) {
    let direction: Vec<f64> = weights.iter().map(|_| random.uniform() - 0.5).collect();
    let moved = |h: f64| {
        let theta: Vec<f64> = weights.iter().zip(&direction).map(|(x, d)| x + h * d).collect();
        objective.value_grad(&theta).unwrap()
    };
    let along = |x: &[f64]| -> f64 { x.iter().zip(&direction).map(|(x, d)| x * d).sum() };
    let ((up, up_slope), (down, down_slope)) = (moved(1e-5), moved(-1e-5));
    let slope = along(&objective.value_grad(weights).unwrap().1);
    assert!((slope - (up - down) / 2e-5).abs() < 1e-6 * slope.abs().max(1.0));
    let curvature = along(&objective.hess_vec(weights, &direction).unwrap());
    let numeric = (along(&up_slope) - along(&down_slope)) / 2e-5;
    assert!((curvature - numeric).abs() < 1e-5 * curvature.abs().max(1.0), "{curvature} against {numeric}");
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

/// Data of which no label is known teaches nothing, and neither do graphs without nodes.
#[test]
fn training_needs_a_label() {
    let empty = r#"{"nodes": []}"#.to_owned();
    for graphs in [vec![graph([""; 4])], vec![empty.clone()], vec![empty.clone(), graph([""; 4])]] {
        let data = corpus(&graphs).unwrap();
        let of_data = features(&data, &Settings::default());
        let start = TrainOptions { threads: 1, ..TrainOptions::default() };
        let trained =
            crfkit::train::train(data, of_data, &Settings::default(), start, &mut Record::default());
        assert!(trained.unwrap_err().to_string().contains("holds no label: there is nothing to learn from"));
    }
    // Beside others they do no harm, and an empty graph has an empty answer.
    let data = corpus(&[empty.clone(), with("label", KNOWN[0].0, graph)]).unwrap();
    let of_data = features(&data, &Settings::default());
    let settings = Settings { passes: Some(2), ..Settings::default() };
    let start = TrainOptions { threads: 1, ..TrainOptions::default() };
    let model = crfkit::train::train(data, of_data, &settings, start, &mut Record::default()).unwrap().model;
    let mut tagger = TypedTagger::new(Arc::new(model.clone()));
    tagger.load(&read(&model, &empty)).unwrap();
    assert!(tagger.labels(Decode::MaxMarginal).unwrap().is_empty());
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
