//! First law for decoders on general graphs: the score is the one of the labels, and the best one where the decoder is exact.

use crate::graphs;

use crfkit::GraphError;
use crfkit::decode::{AlphaExpansion, Decoder, ExactArgmax, GraphCut, Icm, MaxProduct, max_node_marginal};
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Graph, Grid, Label, Neighbours, Psi, TableRef};
use crfkit::infer::JunctionTree;
use crfkit::infer::enumerate::enumerate;
use crfkit::math::random::Random;
use graphs::{Problem, difference, empty_graph, random_graph};

/// The decoder's labelling, after checking that its score is the one it claims.
fn decode(decoder: &impl Decoder<Graph = FactorGraph>, problem: &Problem) -> (Vec<Label>, f64) {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let psi = Psi { shared: &shared, own: &own };
    let mut labels = vec![9; 3]; // garbage
    let score = decoder.argmax(&problem.graph, psi, &mut labels, &mut Default::default());
    assert_eq!(labels.len(), problem.graph.vars());
    assert!(labels.iter().enumerate().all(|(v, &y)| (y as usize) < problem.graph.card(v)));
    assert!(difference(score, psi.score(&problem.graph, &labels)) < 1e-12);
    (labels, score)
}

fn best(problem: &Problem) -> f64 {
    enumerate(&problem.graph, &problem.tables(None, 0.0), &problem.own_array(None, 0.0)).ranked[0].0
}

fn assert_exact(decoder: &impl Decoder<Graph = FactorGraph>, problem: &Problem) {
    let (found, best) = (decode(decoder, problem).1, best(problem));
    assert!(difference(found, best) < 1e-12, "{found} against {best} on {:?}", problem.graph);
}

#[test]
fn exact_decoders_equal_enumeration() {
    let mut rng = Random::new(1);
    for range in [0.0, 2.0, 700.0] {
        for k in 0..100 {
            let forest = random_graph(&mut rng, 6, 2 + k % 3, true);
            assert_exact(&MaxProduct::default(), &Problem::random(&mut rng, &forest, range));
            let loopy = random_graph(&mut rng, 6, 2 + k % 3, false);
            assert_exact(&ExactArgmax::default(), &Problem::random(&mut rng, &loopy, range));
        }
    }
}

/// Factorial chains go by product states, with and without ties.
#[test]
fn product_states_equal_enumeration() {
    let mut rng = Random::new(12);
    for cards in [&[2][..], &[3, 2], &[2, 1, 3], &[2, 2, 2]] {
        for (k, tables) in [PairTables::Own, PairTables::Shared, PairTables::Both].into_iter().enumerate() {
            for len in 1..=4 {
                let graph = build::factorial_chain(len, cards, tables).unwrap();
                assert!(graph.slices().is_some() || len < 3);
                let mut problem = Problem::random(&mut rng, &graph, [1.5, 2.0, 700.0][k]);
                assert_exact(&ExactArgmax::default(), &problem);
                problem.own.iter_mut().for_each(|x| *x = x.round());
                problem.shared.iter_mut().flatten().for_each(|x| *x = x.round());
                assert_exact(&ExactArgmax::default(), &problem);
            }
        }
    }
    // Long enough that the junction tree would be the larger; the scratch of one graph does not harm the next.
    let mut work = Default::default();
    for len in [9, 5, 7] {
        let graph = build::factorial_chain(len, &[3, 4], PairTables::Shared).unwrap();
        let problem = Problem::random(&mut rng, &graph, 2.0);
        let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        let psi = Psi { shared: &shared, own: &own };
        let (mut labels, mut again) = (Vec::new(), Vec::new());
        let score = ExactArgmax::default().argmax(&graph, psi, &mut labels, &mut work);
        assert_eq!(score, ExactArgmax::default().argmax(&graph, psi, &mut again, &mut Default::default()));
        assert_eq!(labels, again);
        // No change of all labels of one slice is better.
        for t in 0..len {
            for state in 0..12 {
                let mut other = labels.clone();
                (other[2 * t], other[2 * t + 1]) = (state / 4, state % 4);
                assert!(psi.score(&graph, &other) <= score + 1e-9);
            }
        }
    }
}

/// Whole numbers make many labellings equal: labels must come from one of them, not from a mixture.
#[test]
fn ties_are_broken_consistently() {
    let mut rng = Random::new(2);
    for _ in 0..200 {
        let graph = random_graph(&mut rng, 6, 3, true);
        let mut problem = Problem::random(&mut rng, &graph, 1.5);
        problem.own.iter_mut().for_each(|x| *x = x.round());
        problem.shared.iter_mut().flatten().for_each(|x| *x = x.round());
        assert_exact(&MaxProduct::default(), &problem);
        assert_exact(&ExactArgmax::default(), &problem);
        assert_eq!(decode(&MaxProduct::default(), &problem), decode(&MaxProduct::default(), &problem));
    }
}

#[test]
fn approximate_decoders_never_claim_too_much_and_stay_sane() {
    let mut rng = Random::new(3);
    for k in 0..300 {
        let graph = random_graph(&mut rng, 6, 2 + k % 3, false);
        let problem = Problem::random(&mut rng, &graph, [1.0, 700.0][k % 2]);
        let best = best(&problem);
        let tolerance = 1e-9 * best.abs().max(1.0);
        let (icm, score) = decode(&Icm::default(), &problem);
        assert!(score <= best + tolerance);
        assert!(decode(&MaxProduct::default(), &problem).1 <= best + tolerance);
        // No change of one label improves the labelling of ICM.
        let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        let psi = Psi { shared: &shared, own: &own };
        for v in 0..graph.vars() {
            for y in 0..graph.card(v) {
                let mut other = icm.clone();
                other[v] = y as Label;
                assert!(psi.score(&graph, &other) <= score + tolerance);
            }
        }
    }
    for graph in [empty_graph(), build::skip_chain(3, 1, &[(0, 2)], [PairTables::Own; 2]).unwrap()] {
        let problem = Problem::random(&mut rng, &graph, 1.0);
        assert_exact(&Icm::default(), &problem);
        assert_exact(&MaxProduct::default(), &problem);
        assert_exact(&ExactArgmax::default(), &problem);
        assert_exact(&GraphCut, &problem);
        assert_exact(&AlphaExpansion::default(), &problem);
    }
}

/// Every pair of variables prefers equal labels: ψ(0,0) + ψ(1,1) ≥ ψ(0,1) + ψ(1,0).
fn make_submodular(problem: &mut Problem) {
    let graph = problem.graph.clone();
    graph.for_each_factor(|factor| {
        if let ([a, b], [s, t]) = (factor.vars, factor.strides)
            && graph.card(*a) == 2
            && graph.card(*b) == 2
        {
            let table = match factor.table {
                TableRef::Own(at) => &mut problem.own[at..],
                TableRef::Shared(id) => &mut problem.shared[id][..],
            };
            let lack = table[*t] + table[*s] - table[0] - table[s + t];
            if lack > 0.0 {
                table[0] += lack;
            }
        }
    });
}

/// A random pairwise graph of one or two labels a variable.
fn binary_graph(rng: &mut Random, vars: usize) -> FactorGraph {
    let n = rng.below(vars) + 2;
    let cards = (0..n).map(|_| if rng.below(10) == 0 { 1 } else { 2 }).collect();
    let mut builder = FactorGraphBuilder::new(cards).unwrap();
    let mut kinds = 0;
    for v in 0..n {
        builder.add_own(kinds, &[v]).unwrap();
        kinds += 1;
    }
    for _ in 0..2 * n {
        let (a, b) = (rng.below(n), rng.below(n));
        if a != b {
            builder.add_own(kinds, &[a, b]).unwrap();
            kinds += 1;
        }
    }
    builder.build().unwrap()
}

#[test]
fn graph_cuts_equal_enumeration_on_submodular_models() {
    let mut rng = Random::new(4);
    for range in [0.3, 2.0, 700.0] {
        for k in 0..400 {
            let graph = binary_graph(&mut rng, 9);
            let mut problem = Problem::random(&mut rng, &graph, range);
            if k % 4 == 0 {
                problem.own.iter_mut().for_each(|x| *x = x.round()); // ties and empty capacities
            }
            make_submodular(&mut problem);
            check_cut(&problem).unwrap();
            assert_exact(&GraphCut, &problem);
            assert_exact(&AlphaExpansion::default(), &problem);
        }
    }
}

fn check_cut(problem: &Problem) -> crfkit::Result<()> {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    GraphCut.check(&problem.graph, Psi { shared: &shared, own: &own })
}

fn grid(height: usize, width: usize, labels: usize, neighbours: Neighbours) -> FactorGraph {
    Grid { height, width, labels, neighbours, pairs: PairTables::Own, directions_tied: true }.build().unwrap()
}

/// Larger than enumeration can reach: a cut against the exact maximum of the clique tree.
#[test]
fn graph_cuts_equal_the_clique_tree_on_grids() {
    let mut rng = Random::new(5);
    for (height, width, neighbours) in [(7, 30, Neighbours::Four), (5, 20, Neighbours::Eight)] {
        for range in [0.5, 2.0, 8.0] {
            let mut problem = Problem::random(&mut rng, &grid(height, width, 2, neighbours), range);
            make_submodular(&mut problem);
            let (a, b) = (decode(&GraphCut, &problem), decode(&ExactArgmax::default(), &problem));
            assert!(difference(a.1, b.1) < 1e-12);
            assert_eq!(a.0, b.0);
        }
    }
}

#[test]
fn what_cuts_cannot_do_is_refused() {
    let mut rng = Random::new(6);
    let refusal = |problem: &Problem| match check_cut(problem) {
        Err(crfkit::Error::Graph(error)) => error,
        other => panic!("{other:?}"),
    };
    let three = Problem::random(&mut rng, &grid(2, 2, 3, Neighbours::Four), 1.0);
    assert_eq!(refusal(&three), GraphError::NotBinary { var: 0, card: 3 });
    let mut problem = Problem::random(&mut rng, &grid(1, 2, 2, Neighbours::Four), 0.0);
    let pair = problem.graph.own_offset(2);
    problem.own[pair + 1] = 1.0;
    assert_eq!(refusal(&problem), GraphError::NotSubmodular { vars: [0, 1] });
    assert!(decode(&GraphCut, &problem).1 <= best(&problem), "asked all the same, it gives a labelling");
    let mut builder = FactorGraphBuilder::new(vec![2; 3]).unwrap();
    builder.add_own(0, &[0, 1, 2]).unwrap();
    let graph = builder.build().unwrap();
    let triple = Problem::random(&mut rng, &graph, 1.0);
    assert!(matches!(refusal(&triple), GraphError::NotPairwise { engine: "a graph cut", .. }));
    assert!(AlphaExpansion::default().check(&graph).is_err());
    let wide = ExactArgmax { max_bytes: 1000 };
    assert!(wide.check(&grid(9, 9, 2, Neighbours::Four)).is_err() && wide.check(&graph).is_ok());
}

/// Potts is a metric: the result is within a factor 2 of the best energy, and in practice the best itself most of the time.
#[test]
fn alpha_expansion_on_potts_grids() {
    let mut rng = Random::new(7);
    let (mut best_found, mut better_than_icm) = (0, 0);
    for _ in 0..40 {
        let mut problem = Problem::random(&mut rng, &grid(3, 4, 3, Neighbours::Four), 2.0);
        let start = problem.graph.own_offset(12);
        for (i, x) in problem.own[start..].iter_mut().enumerate() {
            *x = if i % 24 / 8 == i % 8 { 1.0 } else { 0.0 };
        }
        let found = decode(&AlphaExpansion::default(), &problem).1;
        let (best, icm) = (decode(&ExactArgmax::default(), &problem).1, decode(&Icm::default(), &problem).1);
        assert!(found <= best + 1e-12);
        best_found += usize::from(found >= best - 1e-12);
        better_than_icm += usize::from(found >= icm - 1e-12);
    }
    assert!(best_found >= 30 && better_than_icm >= 38, "{best_found} {better_than_icm}");
    // Tables that are no metric: safe truncation, a labelling all the same.
    for _ in 0..100 {
        let graph = random_graph(&mut rng, 6, 2, false);
        let problem = Problem::random(&mut rng, &graph, 3.0);
        let (found, start) = (decode(&AlphaExpansion::default(), &problem), Icm { max_sweeps: 0 });
        assert!(found.1 >= decode(&start, &problem).1 - 1e-12, "never worse than the start");
        assert!(found.1 <= best(&problem) + 1e-9);
    }
}

#[test]
fn max_marginals_of_any_engine() {
    let mut rng = Random::new(8);
    for _ in 0..50 {
        let graph = random_graph(&mut rng, 6, 3, false);
        let problem = Problem::random(&mut rng, &graph, 3.0);
        let nodes = problem.infer::<f64, _>(&JunctionTree::default(), None, 0.0).nodes;
        let mut labels = Vec::new();
        max_node_marginal(&graph, nodes.plane(0), &mut labels);
        for (v, &y) in labels.iter().enumerate() {
            let row = &nodes.plane(0)[graph.cliques().node(v)];
            assert!(row[..graph.card(v)].iter().all(|p| *p <= row[y as usize]));
        }
    }
}

/// Attractive grids with loops: max-product's memory finds labellings nearly as good as the cut's.
#[test]
fn loopy_max_product_is_useful() {
    let mut rng = Random::new(9);
    let mut reached = 0;
    for _ in 0..20 {
        let mut problem = Problem::random(&mut rng, &grid(6, 6, 2, Neighbours::Four), 1.0);
        make_submodular(&mut problem);
        let (found, best) = (decode(&MaxProduct::default(), &problem).1, decode(&GraphCut, &problem).1);
        assert!(found <= best + 1e-9);
        reached += usize::from(found >= best - 1e-9);
    }
    assert!(reached >= 12, "{reached}");
}
