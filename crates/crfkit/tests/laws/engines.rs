//! First law on general graphs: every engine is compared with enumeration. Exact engines agree with it; loopy belief
//! propagation and tree reweighting agree with it on forests. Tree reweighting and the node-split graph bound log Z from
//! above, and mean field bounds it from below.

use crate::graphs;

use crfkit::GraphError;
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{Chain, Gradient, Label, Pieces, Psi, SharedSum};
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Graph, Grid, Neighbours};
use crfkit::infer::enumerate::{Enumeration, enumerate};
use crfkit::infer::{
    Exact, ForwardBackward, Inference, JunctionTree, LoopyBp, MeanField, MessageSchedule, NodeMarginals,
    Tree, TreeReweighted,
};
use crfkit::math::random::Random;
use crfkit::math::simd::LANES;
use crfkit::math::{Array, Dual, Scalar};
use graphs::{Answer, Problem, difference, empty_graph, random_graph};

/// The ranges of scores: ordinary, and far beyond what probability space can hold.
const RANGES: [f64; 4] = [0.0, 2.0, 30.0, 700.0];

fn truth(problem: &Problem) -> Enumeration {
    enumerate(&problem.graph, &problem.tables(None, 0.0), &problem.own_array(None, 0.0))
}

/// The true probability of each label of variable v.
fn true_marginal(problem: &Problem, truth: &Enumeration, v: usize) -> Vec<f64> {
    let mut p = vec![0.0; problem.graph.card(v)];
    for (score, labels) in &truth.ranked {
        p[labels[v] as usize] += (score - truth.log_z).exp();
    }
    p
}

/// Log Z and all marginals are the true ones.
fn assert_exact(problem: &Problem, answer: &Answer<f64>, tolerance: f64) {
    let truth = truth(problem);
    let graph = &problem.graph;
    assert!(answer.outcome.converged, "settled");
    assert!(
        difference(answer.outcome.log_z, truth.log_z) < tolerance,
        "{} against {} on {graph:?}",
        answer.outcome.log_z,
        truth.log_z
    );
    for (i, entry) in problem.own_entries().into_iter().enumerate() {
        let expected = if entry { truth.own[i] } else { 0.0 };
        assert!((answer.own.get(i) - expected).abs() < tolerance, "own {i} on {graph:?}");
    }
    for (id, sum) in answer.shared.0.iter().enumerate() {
        for i in 0..problem.shared[id].len() {
            assert!(
                (sum.direct.get(i) - truth.shared[id][i]).abs() < tolerance,
                "shared {id} {i}: {} {} {:?}",
                sum.direct.get(i),
                truth.shared[id][i],
                answer.outcome
            );
        }
    }
    for v in 0..graph.vars() {
        for (j, p) in true_marginal(problem, &truth, v).into_iter().enumerate() {
            let found = answer.nodes.get(graph.cliques().node(v).start + j);
            assert!((found - p).abs() < tolerance, "node {v} {j}");
        }
    }
}

/// Marginals are finite numbers between 0 and 1 that add up to 1 for every variable.
fn assert_sane(problem: &Problem, answer: &Answer<f64>) {
    assert!(answer.outcome.log_z.is_finite());
    assert!(answer.own.plane(0).iter().all(|p| (-1e-12..=1.0 + 1e-9).contains(p)));
    for v in 0..problem.graph.vars() {
        let total: f64 = answer.nodes.plane(0)[problem.graph.cliques().node(v)].iter().sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
    }
}

fn bp(schedule: MessageSchedule) -> LoopyBp {
    LoopyBp { schedule, damping: 0.0, tolerance: 1e-11, ..LoopyBp::default() }
}

fn on_random_forests(engine: &impl NodeMarginals, seed: u64) {
    let mut rng = Random::new(seed);
    for range in RANGES {
        for k in 0..60 {
            let graph = random_graph(&mut rng, 6, 2 + k % 2, true);
            let problem = Problem::random(&mut rng, &graph, range);
            assert_exact(&problem, &problem.infer(engine, None, 0.0), 1e-10);
        }
    }
}

#[test]
fn loopy_bp_is_exact_on_forests() {
    on_random_forests(&bp(MessageSchedule::Parallel), 1);
    on_random_forests(&bp(MessageSchedule::Residual), 2);
    on_random_forests(&LoopyBp { damping: 0.3, ..bp(MessageSchedule::Parallel) }, 3);
    on_random_forests(&LoopyBp { damping: 0.3, ..bp(MessageSchedule::Residual) }, 3);
}

#[test]
fn trees_and_junction_trees_are_exact_on_forests() {
    on_random_forests(&Tree, 21);
    on_random_forests(&JunctionTree::default(), 22);
    on_random_forests(&Exact::default(), 22);
}

#[test]
fn tree_reweighting_is_exact_on_forests() {
    on_random_forests(&TreeReweighted { tolerance: 1e-11, damping: 0.0, ..TreeReweighted::default() }, 23);
}

#[test]
fn junction_trees_are_exact_on_loopy_graphs() {
    let mut rng = Random::new(24);
    for range in RANGES {
        for k in 0..100 {
            let graph = random_graph(&mut rng, 7, 2 + k % 3, false);
            let problem = Problem::random(&mut rng, &graph, range);
            assert_exact(&problem, &problem.infer(&JunctionTree::default(), None, 0.0), 1e-10);
            assert_exact(&problem, &problem.infer(&Exact::default(), None, 0.0), 1e-10);
        }
    }
}

#[test]
fn loops_and_widths_are_refused_up_front() {
    let loopy = grid(2, 2, 2, PairTables::Own);
    let error = Tree.check(&loopy).unwrap_err();
    assert!(matches!(error, crfkit::Error::Graph(GraphError::Loop { .. })), "{error}");
    assert!(Tree.check(&grid(1, 9, 2, PairTables::Both)).is_ok(), "two factors over one pair are no loop");
    let engine = JunctionTree { max_bytes: 1 << 20 };
    assert!(engine.check(&grid(8, 8, 2, PairTables::Own)).is_ok());
    let error = engine.check(&grid(20, 20, 2, PairTables::Own)).unwrap_err();
    let crfkit::Error::Graph(GraphError::TooWide { width, bytes, .. }) = &error else { panic!("{error}") };
    assert!((20..=40).contains(width), "the width of a 20 × 20 grid is at least 20: {width}");
    assert!(*bytes > 1 << 24);
    assert!(error.to_string().contains(&width.to_string()) && error.to_string().contains(&bytes.to_string()));
    assert!(engine.check(&grid(60, 60, 3, PairTables::Own)).is_err(), "hopeless, and soon said");
    for size in [25, 60] {
        let error = JunctionTree::default().check(&grid(size, size, 3, PairTables::Own)).unwrap_err();
        let crfkit::Error::Graph(GraphError::TooWide { limit, .. }) = &error else { panic!("{error}") };
        assert_eq!(*limit, crfkit::graph::EXACT_MEMORY, "one limit, however hopeless");
    }
}

#[test]
fn tree_reweighting_is_an_upper_bound_at_any_iterate() {
    let mut rng = Random::new(25);
    for k in 0..2000 {
        let graph = random_graph(&mut rng, 5, 2 + k % 2, false);
        let problem = Problem::random(&mut rng, &graph, [0.5, 3.0, 30.0, 700.0][k % 4]);
        let exact = truth(&problem).log_z;
        for max_iterations in [1, 2, 5, 200] {
            let engine = TreeReweighted { max_iterations, ..TreeReweighted::default() };
            let answer = problem.infer(&engine, None, 0.0);
            assert_sane(&problem, &answer);
            let bound: f64 = answer.outcome.log_z;
            assert!(bound >= exact - 1e-9 * exact.abs().max(1.0), "{bound} below {exact}");
        }
    }
}

/// The chain engine's numbers, from the same arrays.
#[test]
fn a_chain_as_a_factor_graph() {
    let mut rng = Random::new(26);
    for own_pairs in [false, true] {
        let chain = Chain { len: 6, labels: 3, own_pairs, triples: false, segments: None };
        let problem = Problem::random(&mut rng, &build::chain(&chain).unwrap(), 3.0);
        let (tables, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        let (mut mu, mut shared) = (Array::zeros(own.len()), SharedSum::new(&tables));
        let mut out = Gradient { own: mu.slice_mut(0..own.len()), shared: &mut shared };
        let psi = Psi { shared: &tables, own: &own };
        let expected = ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut Default::default());
        shared.finish(&tables);
        let answers = [
            problem.infer(&Tree, None, 0.0),
            problem.infer(&JunctionTree::default(), None, 0.0),
            problem.infer(&bp(MessageSchedule::Parallel), None, 0.0),
        ];
        for answer in answers {
            assert!(difference(answer.outcome.log_z, expected.log_z) < 1e-10);
            for (i, entry) in problem.own_entries().into_iter().enumerate() {
                assert!(!entry || (answer.own.get(i) - mu.get(i)).abs() < 1e-10);
            }
            for (a, b) in answer.shared.0.iter().zip(&shared.0) {
                for i in 0..a.direct.len() {
                    assert!((a.direct.get(i) - b.direct.get(i)).abs() < 1e-10);
                }
            }
        }
    }
}

/// On chains of slices, product states give everything that the junction tree gives, ε parts included.
#[test]
fn product_states_equal_the_junction_tree() {
    let mut rng = Random::new(32);
    let shapes: [(usize, &[usize]); 7] = [
        (1, &[3, 2]),
        (2, &[2, 2]),
        (4, &[3, 2]),
        (3, &[2, 9, 3]),
        (3, &[10, 1]),
        (6, &[4]),
        (2, &[2, 3, 2, 2]),
    ];
    for (len, cards) in shapes {
        for pairs in [PairTables::Own, PairTables::Shared, PairTables::Both] {
            let graph = build::factorial_chain(len, cards, pairs).unwrap();
            assert!(
                len == 1 || graph.slices().is_some_and(|slices| slices.cards == cards && slices.len == len)
            );
            for range in [0.0, 2.0, 30.0, 700.0] {
                let (mut x, d) =
                    (Problem::random(&mut rng, &graph, range), Problem::random(&mut rng, &graph, 1.0));
                x.weight = 1.5;
                let found = x.infer::<Dual, _>(&Exact::default(), Some(&d), 1.0);
                let truth = x.infer::<Dual, _>(&JunctionTree::default(), Some(&d), 1.0);
                let close = |a: Dual, b: Dual| {
                    assert!(difference(a.re, b.re) < 1e-10 && difference(a.eps, b.eps) < 1e-9, "{a:?} {b:?}");
                };
                close(found.outcome.log_z, truth.outcome.log_z);
                (0..found.own.len()).for_each(|i| close(found.own.get(i), truth.own.get(i)));
                (0..found.nodes.len()).for_each(|i| close(found.nodes.get(i), truth.nodes.get(i)));
                for (a, b) in found.shared.0.iter().zip(&truth.shared.0) {
                    (0..a.direct.len()).for_each(|i| close(a.direct.get(i), b.direct.get(i)));
                }
            }
        }
    }
    // Pairs that run backwards, that are missing or that reach too far leave no slices.
    let no_slices = |cards: &[usize], pairs: &[[usize; 2]]| {
        let mut builder = FactorGraphBuilder::new(cards.to_vec()).unwrap();
        for (k, pair) in pairs.iter().enumerate() {
            builder.add_own(k, pair).unwrap();
        }
        assert!(builder.build().unwrap().slices().is_none());
    };
    no_slices(&[2, 2, 2], &[[1, 0], [1, 2]]);
    no_slices(&[2, 2, 2, 2], &[[0, 2]]);
    no_slices(&[2, 2, 2], &[[0, 1], [1, 2], [0, 2]]);
    no_slices(&[2, 3, 2], &[[0, 1], [1, 2]]);
    no_slices(&[2, 2, 2, 2], &[[0, 2], [1, 3], [1, 2]]);
}

#[test]
fn factorial_chains_by_junction_tree() {
    let mut rng = Random::new(27);
    for (len, cards) in [(1, vec![3, 2]), (4, vec![3, 2]), (3, vec![2, 3, 2]), (5, vec![4])] {
        for pairs in [PairTables::Own, PairTables::Shared, PairTables::Both] {
            let graph = build::factorial_chain(len, &cards, pairs).unwrap();
            let problem = Problem::random(&mut rng, &graph, 2.0);
            assert_exact(&problem, &problem.infer(&JunctionTree::default(), None, 0.0), 1e-11);
        }
    }
    // One column is a chain: forward-backward with nothing at the ends.
    let graph = build::factorial_chain(5, &[4], PairTables::Both).unwrap();
    let problem = Problem::random(&mut rng, &graph, 2.0);
    let mut tables = problem.tables::<f64>(None, 0.0);
    tables.extend([crfkit::graph::Table::new(1, 4), crfkit::graph::Table::new(1, 4)]);
    let (own, mut mu) = (problem.own_array::<f64>(None, 0.0), Array::zeros(graph.own_len()));
    let mut shared = SharedSum::new(&tables);
    let mut out = Gradient { own: mu.slice_mut(0..own.len()), shared: &mut shared };
    let chain = Chain { len: 5, labels: 4, own_pairs: true, triples: false, segments: None };
    let psi = Psi { shared: &tables, own: &own };
    let expected = ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut Default::default());
    let found: f64 = problem.infer(&JunctionTree::default(), None, 0.0).outcome.log_z;
    assert!(difference(found, expected.log_z) < 1e-12);
}

/// A message crosses one clique a sweep: a chain of n variables is done after n − 1, and one more sweep sees that.
#[test]
fn loopy_bp_settles_within_the_diameter_of_a_tree() {
    let mut rng = Random::new(4);
    for len in [2, 5, 9] {
        let graph = build::skip_chain(len, 3, &[], [PairTables::Own; 2]).unwrap();
        let problem = Problem::random(&mut rng, &graph, 3.0);
        let answer: Answer<f64> = problem.infer(&bp(MessageSchedule::Parallel), None, 0.0);
        assert!(answer.outcome.iterations <= len, "{} on {len}", answer.outcome.iterations);
    }
}

#[test]
fn mean_field_is_a_lower_bound_and_never_gets_worse() {
    let mut rng = Random::new(5);
    for k in 0..1000 {
        let graph = random_graph(&mut rng, 5, 2 + k % 2, false);
        let problem = Problem::random(&mut rng, &graph, [0.5, 3.0, 30.0, 700.0][k % 4]);
        let exact = truth(&problem).log_z;
        let mut last = f64::NEG_INFINITY;
        for max_iterations in [1, 2, 3, 5, 20, 200] {
            let engine = MeanField { max_iterations, ..MeanField::default() };
            let answer = problem.infer(&engine, None, 0.0);
            assert_sane(&problem, &answer);
            let bound: f64 = answer.outcome.log_z;
            assert!(bound <= exact + 1e-9 * exact.abs().max(1.0), "{bound} above {exact}");
            assert!(bound >= last - 1e-9 * last.abs().max(1.0), "{bound} after {last}");
            last = bound;
        }
        let restarted = problem.infer(&MeanField { restarts: 4, ..MeanField::default() }, None, 0.0);
        let bound: f64 = restarted.outcome.log_z;
        assert!(bound <= exact + 1e-9 * exact.abs().max(1.0));
        assert!(bound >= last - 1e-9 * last.abs().max(1.0), "a restart never hurts");
    }
}

#[test]
fn mean_field_is_exact_without_cliques() {
    let graph = build::skip_chain(1, 4, &[], [PairTables::Own; 2]).unwrap();
    for range in RANGES {
        let problem = Problem::random(&mut Random::new(6), &graph, range);
        assert_exact(&problem, &problem.infer(&MeanField::default(), None, 0.0), 1e-12);
    }
}

fn grid(height: usize, width: usize, labels: usize, pairs: PairTables) -> FactorGraph {
    let neighbours = Neighbours::Four;
    Grid { height, width, labels, neighbours, pairs, directions_tied: true }.build().unwrap()
}

#[test]
fn loopy_bp_is_exact_on_a_strip() {
    let mut rng = Random::new(7);
    for pairs in [PairTables::Own, PairTables::Shared, PairTables::Both] {
        let problem = Problem::random(&mut rng, &grid(1, 7, 3, pairs), 4.0);
        for schedule in [MessageSchedule::Parallel, MessageSchedule::Residual] {
            assert_exact(&problem, &problem.infer(&bp(schedule), None, 0.0), 1e-11);
        }
    }
}

#[test]
fn bounds_and_bethe_on_a_small_grid() {
    let mut rng = Random::new(8);
    for _ in 0..20 {
        let problem = Problem::random(&mut rng, &grid(3, 3, 2, PairTables::Own), 0.5);
        let exact = truth(&problem).log_z;
        let low: f64 = problem.infer(&MeanField::default(), None, 0.0).outcome.log_z;
        let bethe: f64 = problem.infer(&bp(MessageSchedule::Parallel), None, 0.0).outcome.log_z;
        let high: f64 = problem.infer(&TreeReweighted::default(), None, 0.0).outcome.log_z;
        assert!(low <= exact && exact <= high && high < exact + 0.3, "{low} {exact} {high}");
        assert!((bethe - exact).abs() < (low - exact).abs() + 0.02, "{bethe} {low} {exact}");
    }
}

/// In undamped sweeps the two colours of a chessboard never meet. Each settles on an answer of its own, beliefs go back and forth
/// between them, and log Z falls below the score of a single labelling; the default damping joins them.
#[test]
fn damping_joins_the_colours_of_a_chessboard() {
    let side = 24;
    let graph = grid(side, side, 2, PairTables::Own);
    let labels: Vec<Label> = (0..side * side).map(|v| Label::from(v % side >= side / 2)).collect();
    for seed in 31..34 {
        let mut random = Random::new(seed);
        let mut problem = Problem::random(&mut random, &graph, 0.0);
        for (v, &label) in labels.iter().enumerate() {
            let noise = 12.0 * (random.uniform() + random.uniform() + random.uniform() - 1.5);
            problem.own[graph.own_offset(v) + 1] = if label == 1 { 1.0 } else { -1.0 } + noise;
        }
        for pair in side * side..graph.own_tables() {
            let at = graph.own_offset(pair);
            (problem.own[at], problem.own[at + LANES + 1]) = (8.0, 8.0);
        }
        let score: f64 = Psi { shared: &[], own: &problem.own_array(None, 0.0) }.score(&graph, &labels);
        let found = |damping| {
            let engine = LoopyBp { damping, ..LoopyBp::default() };
            problem.infer::<f64, _>(&engine, None, 0.0).outcome
        };
        let [undamped, damped] = [0.0, LoopyBp::default().damping].map(found);
        assert!(!undamped.converged && undamped.log_z < score - 50.0, "{undamped:?} {score}");
        assert!(damped.converged && damped.log_z > score, "{damped:?} {score}");
    }
}

/// Rows of more than one vector, and rows of different lengths on the two sides of a pair.
#[test]
fn many_labels() {
    let mut rng = Random::new(28);
    for cards in [[9, 2, 17], [3, 16, 8], [20, 20, 1]] {
        let mut builder = FactorGraphBuilder::new(cards.to_vec()).unwrap();
        builder.add_own(0, &[0]).unwrap();
        builder.add_own(1, &[1, 0]).unwrap();
        builder.add_shared(0, &[1, 2]).unwrap();
        let problem = Problem::random(&mut rng, &builder.build().unwrap(), 3.0);
        for damping in [0.0, 0.2] {
            let engine = LoopyBp { damping, ..bp(MessageSchedule::Parallel) };
            assert_exact(&problem, &problem.infer(&engine, None, 0.0), 1e-10);
        }
        assert_exact(&problem, &problem.infer(&Tree, None, 0.0), 1e-11);
        assert_exact(&problem, &problem.infer(&JunctionTree::default(), None, 0.0), 1e-11);
    }
}

/// A number that is none ends in an answer that says so, not in a panic.
#[test]
fn nan_is_reported() {
    let mut problem = Problem::random(&mut Random::new(29), &grid(2, 3, 3, PairTables::Own), 1.0);
    problem.own[1] = f64::NAN;
    assert!(!problem.infer::<f64, _>(&JunctionTree::default(), None, 0.0).outcome.converged);
    assert!(!problem.infer::<f64, _>(&LoopyBp::default(), None, 0.0).outcome.converged);
    assert!(!problem.infer::<f64, _>(&bp(MessageSchedule::Residual), None, 0.0).outcome.converged);
    assert!(!problem.infer::<f64, _>(&TreeReweighted::default(), None, 0.0).outcome.converged);
    assert!(!problem.infer::<f64, _>(&MeanField::default(), None, 0.0).outcome.converged);
}

/// Without pair potentials every pixel is on its own: a softmax each.
#[test]
fn a_grid_without_coupling_is_logistic_regression() {
    let mut problem = Problem::random(&mut Random::new(30), &grid(3, 4, 3, PairTables::Own), 2.0);
    let pairs = problem.graph.own_offset(12);
    problem.own[pairs..].fill(0.0);
    let answers = [
        problem.infer::<f64, _>(&LoopyBp::default(), None, 0.0),
        problem.infer(&MeanField::default(), None, 0.0),
        problem.infer(&TreeReweighted::default(), None, 0.0),
    ];
    for answer in answers {
        for v in 0..12 {
            let u = &problem.own[v * 8..v * 8 + 3];
            let z: f64 = u.iter().map(|u| u.exp()).sum();
            for j in 0..3 {
                assert!((answer.nodes.get(v * 8 + j) - u[j].exp() / z).abs() < 1e-9);
            }
        }
    }
}

/// Piecewise training sums each factor on its own, which is exact inference on the node-split graph. The sum is an upper
/// bound: Σ_a log Z_a ≥ log Z.
#[test]
fn the_node_split_graph_bounds_log_z() {
    let mut rng = Random::new(31);
    for k in 0..200 {
        let graph = random_graph(&mut rng, 5, 2 + k % 2, false);
        let problem = Problem::random(&mut rng, &graph, 2.0);
        let split = graph.node_split(Pieces::Factor).unwrap();
        let pieces = Problem { graph: split.graph.clone(), ..problem.clone() };
        let bound: f64 = pieces.infer(&Tree, None, 0.0).outcome.log_z;
        let covered = (0..graph.vars()).all(|v| {
            let mut seen = false;
            graph.for_each_factor(|factor| seen |= factor.vars.contains(&v));
            seen
        });
        // A variable without any factor counts its labels in log Z and in no piece.
        assert!(!covered || bound >= truth(&problem).log_z - 1e-9);
    }
}

/// Two nodes and one pair: with ψ_ij alone in the pair's energy the unary terms would count d_i − 1 = 0 times.
#[test]
fn bethe_counts_unary_terms_once() {
    let problem = Problem::random(&mut Random::new(9), &grid(1, 2, 2, PairTables::Own), 2.0);
    let bethe: f64 = problem.infer(&bp(MessageSchedule::Parallel), None, 0.0).outcome.log_z;
    assert!((bethe - truth(&problem).log_z).abs() < 1e-12);
}

#[test]
fn probability_space_and_log_space_agree() {
    let mut rng = Random::new(10);
    for k in 0..60 {
        let graph = random_graph(&mut rng, 6, 2, false);
        let mut problem = Problem::random(&mut rng, &graph, 1.0);
        if k % 3 == 0 {
            make_potts(&mut problem, &mut rng);
        }
        let fast = problem.infer(&bp(MessageSchedule::Parallel), None, 0.0);
        let slow = problem.infer(&bp(MessageSchedule::Residual), None, 0.0);
        if fast.outcome.converged && slow.outcome.converged {
            assert!(difference(fast.outcome.log_z, slow.outcome.log_z) < 1e-10);
            for i in 0..fast.own.len() {
                assert!((fast.own.get(i) - slow.own.get(i)).abs() < 1e-9);
            }
        }
    }
}

/// log Z of the graph without variables: one labelling, score 0.
fn problem_of_nothing() -> [f64; 5] {
    let problem = Problem::random(&mut Random::new(0), &empty_graph(), 1.0);
    [
        problem.infer(&Tree, None, 0.0).outcome.log_z,
        problem.infer(&JunctionTree::default(), None, 0.0).outcome.log_z,
        problem.infer(&LoopyBp::default(), None, 0.0).outcome.log_z,
        problem.infer(&TreeReweighted::default(), None, 0.0).outcome.log_z,
        problem.infer(&MeanField::default(), None, 0.0).outcome.log_z,
    ]
}

/// Every pair of equal cardinalities asks for equality alone.
fn make_potts(problem: &mut Problem, rng: &mut Random) {
    let graph = problem.graph.clone();
    graph.for_each_factor(|factor| {
        if let ([a, b], crfkit::graph::TableRef::Own(at)) = (factor.vars, factor.table) {
            let (rows, columns) = (graph.card(*a), graph.card(*b));
            let [equal, unequal] = [rng.uniform() * 4.0 - 2.0, rng.uniform()];
            for i in 0..rows {
                for j in 0..columns {
                    problem.own[at + i * factor.strides[0] + j] = if i == j { equal } else { unequal };
                }
            }
        }
    });
}

#[test]
fn potts_messages_are_exact_on_trees() {
    let mut rng = Random::new(11);
    for gain in [-8.0, -3.0, 0.0, 2.0, 50.0] {
        let mut problem = Problem::random(&mut rng, &grid(1, 5, 4, PairTables::Shared), 2.0);
        for (i, x) in problem.shared[0].iter_mut().enumerate() {
            *x = if i / 8 == i % 8 { gain } else { 0.25 };
        }
        assert_exact(&problem, &problem.infer(&bp(MessageSchedule::Parallel), None, 0.0), 1e-11);
        let low: f64 = problem.infer(&MeanField::default(), None, 0.0).outcome.log_z;
        assert!(low <= truth(&problem).log_z);
    }
}

/// A triangle in which every pair wants to differ, isolated variables, single labels, no variables, enormous scores.
#[test]
fn strange_graphs_give_numbers_and_tell_when_they_do_not_settle() {
    let mut rng = Random::new(12);
    let frustrated = {
        let mut builder = FactorGraphBuilder::new(vec![2, 2, 2, 1, 3]).unwrap();
        for (a, b) in [(0, 1), (1, 2), (2, 0), (2, 3)] {
            builder.add_own(if b == 3 { 1 } else { 0 }, &[a, b]).unwrap();
        }
        builder.build().unwrap()
    };
    for graph in
        [empty_graph(), frustrated, grid(4, 4, 2, PairTables::Own), random_graph(&mut rng, 8, 4, false)]
    {
        for range in [0.0, 5.0, 700.0] {
            let problem = Problem::random(&mut rng, &graph, range);
            for damping in [0.0, 0.5] {
                for schedule in [MessageSchedule::Parallel, MessageSchedule::Residual] {
                    let engine = LoopyBp { damping, ..bp(schedule) };
                    assert_sane(&problem, &problem.infer(&engine, None, 0.0));
                }
            }
            assert_sane(&problem, &problem.infer(&MeanField::default(), None, 0.0));
            assert_sane(&problem, &problem.infer(&TreeReweighted::default(), None, 0.0));
            assert_sane(&problem, &problem.infer(&JunctionTree::default(), None, 0.0));
        }
    }
    assert_eq!(problem_of_nothing(), [0.0; 5]);
    // A strongly frustrated triangle with a field oscillates under parallel updates: that is said.
    let mut builder = FactorGraphBuilder::new(vec![2; 4]).unwrap();
    builder.add_own(1, &[0]).unwrap();
    for (a, b) in [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)] {
        builder.add_own(0, &[a, b]).unwrap();
    }
    let graph = builder.build().unwrap();
    let mut problem = Problem::random(&mut rng, &graph, 0.0);
    problem.own[0] = 0.3;
    for table in problem.own[8..].chunks_exact_mut(16) {
        (table[0], table[9]) = (-6.0, -6.0);
    }
    let outcome = problem.infer::<f64, _>(&bp(MessageSchedule::Parallel), None, 0.0).outcome;
    assert!(!outcome.converged);
    assert_eq!(outcome.iterations, 200);
}

/// Variables with two labels, whose messages are passed eight pairs at a time: numbers of pairs that fill no vector, tables that are
/// shared, own, or sums of both in either order. Messages in log space give the same.
#[test]
fn two_labels() {
    let mut rng = Random::new(31);
    for vars in [2, 3, 5, 7, 11] {
        let mut builder = FactorGraphBuilder::new(vec![2; vars]).unwrap();
        (0..vars).for_each(|v| assert!(builder.add_own(0, &[v]).is_ok()));
        let (mut pairs, mut tree) = (0, builder.clone());
        for (i, j) in (0..vars).flat_map(|i| (i + 1..vars).map(move |j| (i, j))) {
            pairs += 1;
            let along = j == i + 1;
            for builder in [Some(&mut builder), Some(&mut tree).filter(|_| along)].into_iter().flatten() {
                match pairs % 4 {
                    0 => builder.add_shared(0, &[i, j]).unwrap(),
                    1 => assert!(builder.add_own(1, &[j, i]).is_ok()),
                    2 => assert!(builder.add_own(1, &[i, j]).is_ok()),
                    _ => {
                        builder.add_own(1, &[j, i]).unwrap();
                        builder.add_shared(0, &[i, j]).unwrap();
                    }
                }
            }
        }
        let graph = builder.build().unwrap();
        let [x, d] = [0.5, 1.0].map(|range| Problem::random(&mut rng, &graph, range));
        for damping in [0.0, 0.2] {
            let engine = |schedule| LoopyBp { damping, max_iterations: 2000, ..bp(schedule) };
            let [found, expected] = [MessageSchedule::Parallel, MessageSchedule::Residual]
                .map(|schedule| x.infer::<Dual, _>(&engine(schedule), Some(&d), 1.0));
            assert!(found.outcome.converged && expected.outcome.converged, "{vars}");
            let near = |a: Dual, b: Dual| (a.re() - b.re()).abs() < 1e-9 && (a.eps() - b.eps()).abs() < 1e-8;
            assert!(near(found.outcome.log_z, expected.outcome.log_z), "{vars}");
            (0..found.own.len())
                .for_each(|i| assert!(near(found.own.get(i), expected.own.get(i)), "own {i} of {vars}"));
            for i in 0..found.nodes.len() {
                assert!(near(found.nodes.get(i), expected.nodes.get(i)), "node {i} of {vars}");
            }
            for (found, expected) in found.shared.0.iter().zip(&expected.shared.0) {
                for i in 0..found.direct.len() {
                    assert!(near(found.direct.get(i), expected.direct.get(i)), "shared {i} of {vars}");
                }
            }
        }
        // Strong pairs, up to where probability space ends and beyond.
        let tree = tree.build().unwrap();
        for range in [3.0, 40.0, 200.0] {
            let problem = Problem::random(&mut rng, &tree, range);
            assert_exact(&problem, &problem.infer(&bp(MessageSchedule::Parallel), None, 0.0), 1e-8);
        }
    }
}

/// A variable with two labels and so many strong pairs that the product of their messages is no number.
#[test]
fn two_labels_and_a_crowd_of_strong_pairs() {
    let mut rng = Random::new(32);
    for (range, field) in [(30.0, 0.0), (90.0, 0.0), (30.0, 1e6)] {
        let mut builder = FactorGraphBuilder::new(vec![2; 61]).unwrap();
        (0..61).for_each(|v| assert!(builder.add_own(0, &[v]).is_ok()));
        (1..61).for_each(|v| assert!(builder.add_own(1, &[0, v]).is_ok()));
        let graph = builder.build().unwrap();
        let [mut x, d] = [range, 1.0].map(|range| Problem::random(&mut rng, &graph, range));
        x.own[graph.own_offset(0)] -= field;
        let [found, expected] = [MessageSchedule::Parallel, MessageSchedule::Residual]
            .map(|schedule| x.infer::<Dual, _>(&bp(schedule), Some(&d), 1.0));
        assert!(found.outcome.converged && expected.outcome.converged, "{range}");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-8 * b.abs().max(1.0);
        let (z, true_z) = (found.outcome.log_z, expected.outcome.log_z);
        assert!(
            near(z.re(), true_z.re()) && near(z.eps(), true_z.eps()),
            "{range} {field}: {z:?} {true_z:?}"
        );
        for i in 0..found.own.len() {
            let (own, truth) = (found.own.get(i), expected.own.get(i));
            assert!(near(own.re(), truth.re()) && near(own.eps(), truth.eps()), "{range} {field} {i}");
        }
    }
}
