//! What exact inference says about graphs equals enumeration: restricted answers, n-best lists, probabilities of labellings and of parts,
//! entropies. With ties too.

use crate::graphs;

use crfkit::Place;
use crfkit::answers::{Answers, GraphAnswers};
use crfkit::decode::{Decode, NBEST_MEMORY, graph_nbest};
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Graph, Label, LabelBits, Psi};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{Engine, Propagation};
use crfkit::math::random::Random;
use graphs::{Problem, difference, empty_graph, random_graph};
use std::sync::Arc;

/// A graph in which each variable has an own table over it alone: a factorial chain, a skip chain, or any.
fn graph(rng: &mut Random, round: usize) -> FactorGraph {
    match round % 4 {
        0 => build::factorial_chain(
            1 + round % 3,
            &[2, 3],
            [PairTables::Both, PairTables::Shared][round / 4 % 2],
        )
        .unwrap(),
        1 => build::skip_chain(5, 2, &[(0, 2), (1, 4)], [PairTables::Shared, PairTables::Own]).unwrap(),
        _ => {
            let other = random_graph(rng, 5, 3, round % 4 == 2);
            let mut builder = FactorGraphBuilder::new(other.cards().to_vec()).unwrap();
            for v in 0..other.vars() {
                builder.add_own(v, &[v]).unwrap();
            }
            for (f, kind) in (0..other.factors()).zip(other.vars()..) {
                builder.add_own(kind, other.factor(f).vars).unwrap();
            }
            builder.build().unwrap()
        }
    }
}

fn problem(rng: &mut Random, graph: &FactorGraph, round: usize) -> Problem {
    let mut x = Problem::random(rng, graph, [1.5, 3.0, 60.0][round % 3]);
    if round.is_multiple_of(2) {
        x.own.iter_mut().chain(x.shared.iter_mut().flatten()).for_each(|x| *x = x.round());
    }
    x
}

fn answers(x: &Problem, engine: Engine) -> GraphAnswers {
    let mut answers = GraphAnswers::new(Arc::new(x.tables(None, 0.0)), engine, Propagation::default());
    let own = x.own_array::<f64>(None, 0.0);
    answers.load(&x.graph, Place::new("graph", 1), &mut |to| *to = own.clone()).unwrap();
    answers
}

/// Some labels of some variables.
fn restriction(rng: &mut Random, graph: &FactorGraph) -> Vec<(usize, LabelBits)> {
    let chosen = (0..graph.vars()).filter(|_| rng.below(2) == 0).collect::<Vec<_>>();
    chosen
        .into_iter()
        .map(|v| {
            let mut set = LabelBits::none(graph.card(v));
            (0..2).for_each(|_| set.insert(rng.below(graph.card(v))));
            (v, set)
        })
        .collect()
}

#[test]
fn answers_equal_enumeration() {
    let mut rng = Random::new(51);
    for round in 0..240 {
        let graph = graph(&mut rng, round);
        let x = problem(&mut rng, &graph, round);
        let allowed = if round % 3 > 0 { restriction(&mut rng, &graph) } else { Vec::new() };
        let obeys = |labels: &[Label]| allowed.iter().all(|(v, set)| set.contains(labels[*v] as usize));
        let all = enumerate(&graph, &x.tables(None, 0.0), &x.own_array(None, 0.0)).ranked;
        let kept: Vec<_> = all.iter().filter(|(_, labels)| obeys(labels)).collect();
        let log_z = kept[0].0 + kept.iter().map(|(score, _)| (score - kept[0].0).exp()).sum::<f64>().ln();
        let p = |score: f64| (score - log_z).exp();

        let mut answers = answers(&x, Engine::Exact);
        answers.allow(&allowed).unwrap();
        assert!(difference(answers.log_z().unwrap(), log_z) < 1e-11);
        let entropy: f64 = kept.iter().map(|(score, _)| p(*score) * (log_z - score)).sum();
        let found = answers.entropy().unwrap();
        assert!((found - entropy).abs() < 1e-7 * entropy.max(1.0), "{found} against {entropy}");
        for v in 0..graph.vars() {
            for label in 0..graph.card(v) as Label {
                let with = kept.iter().filter(|(_, labels)| labels[v] == label);
                let expected: f64 = with.map(|(score, _)| p(*score)).sum();
                assert!((answers.probability_of(v, label).unwrap() - expected).abs() < 1e-9);
            }
        }
        for n in [1, 2, 7, 10_000] {
            let ranked = answers.nbest(n).unwrap();
            assert_eq!(ranked.len(), n.min(kept.len()));
            let mut labellings: Vec<_> = ranked.iter().map(|ranked| ranked.labels.clone()).collect();
            for (ranked, (score, _)) in ranked.iter().zip(&kept) {
                assert!(difference(ranked.score, *score) < 1e-12, "{} against {score}", ranked.score);
                assert!(obeys(&ranked.labels));
                assert!((answers.probability(&ranked.labels).unwrap() - p(*score)).abs() < 1e-9);
            }
            labellings.sort();
            labellings.dedup();
            assert_eq!(labellings.len(), ranked.len(), "each labelling once");
            assert_eq!(answers.nbest(n).unwrap(), ranked, "the same order every time");
        }
        if let Some((_, labels)) = all.iter().find(|(_, labels)| !obeys(labels)) {
            assert_eq!(answers.log_probability(labels).unwrap(), f64::NEG_INFINITY);
        }
        let best = answers.labels(Decode::Best).unwrap().to_vec();
        for n in [1, 2, 7, 10_000] {
            assert_eq!(answers.nbest(n).unwrap()[0].labels, best, "of equally good ones, too");
        }
        let lead = kept.get(1).map_or(f64::INFINITY, |second| kept[0].0 - second.0);
        let margin = answers.margin().unwrap();
        assert!(
            margin == lead || (margin - lead).abs() < 1e-9 * kept[0].0.abs().max(1.0),
            "{margin} against {lead}"
        );
        assert!(obeys(&best) && difference(answers.score(&best), kept[0].0) < 1e-12);
    }
}

/// Many variables, and nothing but ties: a list costs little more than its length.
#[test]
fn long_lists_of_equal_labellings_are_found() {
    let graph = build::factorial_chain(300, &[3, 4], PairTables::Shared).unwrap();
    let mut x = Problem::random(&mut Random::new(1), &graph, 1.0);
    x.own.iter_mut().chain(x.shared.iter_mut().flatten()).for_each(|x| *x = 0.0);
    let mut tied = answers(&x, Engine::Exact);
    let ranked = tied.nbest(200).unwrap();
    assert_eq!((ranked.len(), ranked[199].score), (200, 0.0));
    assert_eq!(tied.labels(Decode::Best).unwrap(), ranked[0].labels);
    assert_eq!(tied.margin().unwrap(), 0.0);
    // The limit is of memory, and an error says so.
    let (shared, own) = (x.tables::<f64>(None, 0.0), x.own_array::<f64>(None, 0.0));
    let psi = Psi { shared: &shared, own: &own };
    let message = graph_nbest(&graph, psi, 1000, f64::NEG_INFINITY, 1 << 20).unwrap_err().to_string();
    assert!(message.contains("need more than 1048576 bytes"), "{message}");
    // The graph without variables has one labelling.
    let empty = Problem::random(&mut Random::new(1), &empty_graph(), 1.0);
    let ranked = answers(&empty, Engine::Exact).nbest(5).unwrap();
    assert_eq!((ranked.len(), ranked[0].score, ranked[0].labels.len()), (1, 0.0, 0));
    let (shared, own) = (empty.tables::<f64>(None, 0.0), empty.own_array::<f64>(None, 0.0));
    let psi = Psi { shared: &shared, own: &own };
    assert_eq!(graph_nbest(&empty.graph, psi, 0, f64::NEG_INFINITY, NBEST_MEMORY).unwrap(), []);
}

/// The probability that some steps along a path of variables are allowed.
#[test]
fn probabilities_of_parts_equal_enumeration() {
    let mut rng = Random::new(52);
    for round in 0..120 {
        let (graph, columns) = match round % 2 {
            0 => (build::factorial_chain(3, &[2, 3], PairTables::Shared).unwrap(), 2),
            _ => (build::skip_chain(4, 3, &[(0, 2), (0, 3)], [PairTables::Both; 2]).unwrap(), 1),
        };
        let x = problem(&mut rng, &graph, round);
        let restricted = if round % 3 == 0 { restriction(&mut rng, &graph) } else { Vec::new() };
        let column = rng.below(columns);
        let path: Vec<usize> = (column..graph.vars()).step_by(columns).collect();
        let start = rng.below(path.len());
        let tokens = start..start + 1 + rng.below(path.len() - start);
        let labels = graph.card(column) as Label;
        let draw: Vec<bool> = (0..5 * 16).map(|_| rng.below(3) > 0).collect();
        let number = |label: Option<Label>| label.map_or(labels, |label| label) as usize;
        let allowed = |t: usize, before: Option<Label>, after: Option<Label>| {
            draw[t * 16 + number(before) * 4 + number(after)]
        };
        let all = enumerate(&graph, &x.tables(None, 0.0), &x.own_array(None, 0.0)).ranked;
        let obeys = |labels: &[Label]| restricted.iter().all(|(v, set)| set.contains(labels[*v] as usize));
        let kept: Vec<_> = all.iter().filter(|(_, labels)| obeys(labels)).collect();
        let fits = |labels: &[Label]| {
            let label = |t: usize| path.get(t).map(|&v| labels[v]);
            (tokens.start..=tokens.end).all(|t| allowed(t, t.checked_sub(1).and_then(label), label(t)))
        };
        let weight = |(score, _): &&(f64, Vec<Label>)| (score - kept[0].0).exp();
        let z: f64 = kept.iter().copied().map(|ranked| weight(&ranked)).sum();
        let fitting: f64 =
            kept.iter().copied().filter(|(_, labels)| fits(labels)).map(|ranked| weight(&ranked)).sum();
        let mut answers = answers(&x, Engine::Exact);
        answers.allow(&restricted).unwrap();
        let found = answers.probability_where(&path, tokens.clone(), allowed).unwrap();
        assert!((found - fitting / z).abs() < 1e-9, "{found} against {}", fitting / z);
        // It leaves no trace.
        assert!((answers.probability(&kept[0].1).unwrap() - 1.0 / z).abs() < 1e-9);
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let graph = build::skip_chain(4, 3, &[(0, 2)], [PairTables::Shared; 2]).unwrap();
    let x = Problem::random(&mut Random::new(3), &graph, 1.0);
    for engine in Engine::ALL.into_iter().filter(|engine| !engine.is_exact()) {
        let mut answers = answers(&x, engine);
        for message in [
            answers.nbest(2).unwrap_err().to_string(),
            answers.probability(&[0; 4]).unwrap_err().to_string(),
            answers.entropy().unwrap_err().to_string(),
            answers.margin().unwrap_err().to_string(),
        ] {
            assert!(message.starts_with("graph:1: ") && message.contains("`inference` exact"), "{message}");
        }
    }
    let mut answers = answers(&x, Engine::Exact);
    let message = answers.allow(&[(2, LabelBits::none(3))]).unwrap_err().to_string();
    assert!(message.contains("variable 2: no label is allowed"), "{message}");
    let mut builder = FactorGraphBuilder::new(vec![2, 2]).unwrap();
    builder.add_own(0, &[0, 1]).unwrap();
    let bare = Problem::random(&mut Random::new(3), &builder.build().unwrap(), 1.0);
    let message =
        self::answers(&bare, Engine::Exact).allow(&[(1, LabelBits::all(2))]).unwrap_err().to_string();
    assert!(message.contains("variable 1: no table of the graph's own"), "{message}");
}
