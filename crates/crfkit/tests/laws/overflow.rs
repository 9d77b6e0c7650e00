//! Scores at and beyond the end of the numbers: decoders end, and say what they cannot do.

use crate::graphs::{Problem, random_graph};
use crfkit::Error;
use crfkit::decode::{AlphaExpansion, Decoder, GraphCut};
use crfkit::graph::build::PairTables;
use crfkit::graph::{FactorGraph, Graph, Grid, Label, Neighbours, Psi};
use crfkit::math::random::Random;

fn grid(labels: usize) -> FactorGraph {
    let neighbours = Neighbours::Four;
    Grid { height: 6, width: 7, labels, neighbours, pairs: PairTables::Own, directions_tied: true }
        .build()
        .unwrap()
}

fn decode<D: Decoder<Graph = FactorGraph>>(decoder: &D, problem: &Problem) -> (Vec<Label>, f64) {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let mut labels = Vec::new();
    let score = decoder.argmax(
        &problem.graph,
        Psi { shared: &shared, own: &own },
        &mut labels,
        &mut Default::default(),
    );
    let in_range = labels.iter().enumerate().all(|(v, &y)| (y as usize) < problem.graph.card(v));
    assert!(labels.len() == problem.graph.vars() && in_range);
    (labels, score)
}

fn refused(problem: &Problem) -> [bool; 2] {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let psi = Psi { shared: &shared, own: &own };
    let graph = &problem.graph;
    [GraphCut.check(graph, psi), AlphaExpansion::default().check_scores(graph, psi)]
        .map(|outcome| matches!(outcome, Err(Error::Setting(message)) if message.contains("not finite")))
}

#[test]
fn cuts_end_at_any_score() {
    let extremes = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e308, -1e308, 1e-308, 0.0, 1.0, -1.0];
    let mut rng = Random::new(1);
    for round in 0..200 {
        let graph =
            if round % 2 == 0 { grid(2 + round % 4 / 2) } else { random_graph(&mut rng, 8, 2, false) };
        let mut problem = Problem::random(&mut rng, &graph, 1.0);
        let share = [2, 5, 50][round % 3];
        let mut spoil = |x: &mut f64| {
            if rng.below(share) == 0 {
                *x = extremes[rng.below(extremes.len())];
            }
        };
        problem.own.iter_mut().for_each(&mut spoil);
        problem.shared.iter_mut().flatten().for_each(&mut spoil);
        if graph.cards().iter().all(|&card| card <= 2) {
            decode(&GraphCut, &problem);
        }
        decode(&AlphaExpansion::default(), &problem);
    }
}

#[test]
fn cuts_end_where_sizes_differ_by_all_orders() {
    let mut rng = Random::new(2);
    for _ in 0..100 {
        let graph = grid(2);
        let mut problem = Problem::random(&mut rng, &graph, 1.0);
        problem.own.iter_mut().for_each(|x| *x *= f64::powi(10.0, rng.below(600) as i32 - 300));
        decode(&GraphCut, &problem);
        decode(&AlphaExpansion::default(), &problem);
    }
}

/// A score of 1e308 is a number: the cut is exact where its own bound on scores is not reached, and sensible beyond.
#[test]
fn large_scores_decide() {
    let graph = grid(2);
    for size in [1e280, 1e300, 1e308] {
        let mut problem = Problem::random(&mut Random::new(3), &graph, 0.0);
        for v in 0..graph.vars() {
            problem.own[graph.own_offset(v) + v % 2] = size;
        }
        let expected: Vec<Label> = (0..graph.vars()).map(|v| (v % 2) as Label).collect();
        assert_eq!(decode(&GraphCut, &problem).0, expected);
        assert_eq!(decode(&AlphaExpansion::default(), &problem).0, expected);
        assert_eq!(refused(&problem), [false; 2]);
    }
}

#[test]
fn scores_that_are_no_numbers_are_refused() {
    let graph = grid(2);
    for wrong in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for table in [0, graph.own_tables() - 1] {
            let mut problem = Problem::random(&mut Random::new(4), &graph, 0.0);
            assert_eq!(refused(&problem), [false; 2]);
            problem.own[graph.own_offset(table) + 1] = wrong;
            assert_eq!(refused(&problem), [true; 2], "{wrong} in table {table}");
        }
    }
}
