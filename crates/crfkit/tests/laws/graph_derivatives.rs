//! Second and third law on general graphs: at converged points every gradient is the slope of its value, every Hessian-vector
//! product the slope of its gradient.

use crate::graphs;

use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{FactorGraph, Graph, Pieces, TableRef, UNLABELLED};
use crfkit::infer::NodeMarginals;
use crfkit::infer::{Exact, JunctionTree, LoopyBp, MeanField, MessageSchedule, Tree, TreeReweighted};
use crfkit::loss::{BethePieces, Likelihood, Loss, Marginal, OnPieces, Pseudolikelihood};
use crfkit::math::random::Random;
use crfkit::math::{Complex64, Dual, Scalar};
use graphs::{Problem, difference, random_graph};

/// The laws on random graphs. `range` is small enough for iterative engines to settle on most graphs; where they do not, nothing
/// is said. Returns how many graphs were looked at.
fn laws<I: NodeMarginals + Clone>(engine: &I, seed: u64, range: f64, forest: bool) -> usize {
    let mut rng = Random::new(seed);
    let loss = Likelihood(engine.clone());
    let mut looked = 0;
    for k in 0..40 {
        let graph = random_graph(&mut rng, 5, 2 + k % 2, forest);
        let mut x = Problem::random(&mut rng, &graph, range);
        x.weight = 1.5;
        let d = Problem::random(&mut rng, &graph, 1.0);
        if x.infer::<Dual, I>(engine, Some(&d), 1.0).outcome.converged {
            gradient_is_slope(&loss, &x, &d);
            hessian_vector_is_slope_of_gradient(&loss, &x, &d);
            looked += 1;
        }
    }
    looked
}

pub(crate) fn gradient_is_slope<L: Loss<Graph = FactorGraph>>(loss: &L, x: &Problem, d: &Problem) {
    let (_, own, shared) = x.evaluate::<f64, L>(loss, None, 0.0);
    let slope = x.slope(&own, &shared, d);
    let h = 1e-5;
    let value = |h: f64| x.moved(d, h).evaluate::<f64, L>(loss, None, 0.0).0;
    let numeric = (value(h) - value(-h)) / (2.0 * h);
    assert!(difference(slope, numeric) < 1e-6, "slope {slope} against {numeric} on {:?}", x.graph);
    let (dual, ..) = x.evaluate::<Dual, L>(loss, Some(d), 1.0);
    assert!(difference(slope, dual.eps()) < 1e-7, "{slope} {}", dual.eps());
}

pub(crate) fn hessian_vector_is_slope_of_gradient<L: Loss<Graph = FactorGraph>>(
    loss: &L,
    x: &Problem,
    d: &Problem,
) {
    let (value, own, shared) = x.evaluate::<Dual, L>(loss, Some(d), 1.0);
    let h = 1e-5;
    let (_, plus, plus_shared) = x.moved(d, h).evaluate::<f64, L>(loss, None, 0.0);
    let (_, minus, minus_shared) = x.moved(d, -h).evaluate::<f64, L>(loss, None, 0.0);
    for i in 0..own.len() {
        let numeric = (plus.get(i) - minus.get(i)) / (2.0 * h);
        assert!(
            (own.get(i).eps() - numeric).abs() < 1e-6,
            "H·v at {i}: {} against {numeric} on {:?}",
            own.get(i).eps(),
            x.graph
        );
    }
    for (id, sum) in shared.0.iter().enumerate() {
        for i in 0..sum.direct.len() {
            let numeric = (plus_shared.0[id].direct.get(i) - minus_shared.0[id].direct.get(i)) / (2.0 * h);
            assert!((sum.direct.get(i).eps() - numeric).abs() < 1e-6);
        }
    }
    // A second opinion: the complex step.
    let step = 1e-100;
    let (value_c, own_c, _) = x.evaluate::<Complex64, L>(loss, Some(d), step);
    assert!(difference(value.eps(), value_c.eps() / step) < 1e-7);
    for i in 0..own.len() {
        assert!((own.get(i).eps() - own_c.get(i).eps() / step).abs() < 1e-7);
    }
}

const TIGHT: f64 = 1e-12;

#[test]
fn exact_engines() {
    assert_eq!(laws(&Tree, 1, 3.0, true), 40);
    assert_eq!(laws(&JunctionTree::default(), 2, 3.0, false), 40);
    assert_eq!(laws(&JunctionTree::default(), 3, 300.0, false), 40);
}

/// Every kind of pieces, on graphs of pairs (in probability space), with factors of three variables, and with scores for log space.
#[test]
fn pieces() {
    let mut rng = Random::new(11);
    for k in 0..30 {
        let graph = random_graph(&mut rng, 6, 2 + k % 2, false);
        let mut x = Problem::random(&mut rng, &graph, [2.0, 300.0][k % 5 / 4]);
        x.weight = 1.5;
        let d = Problem::random(&mut rng, &graph, 1.0);
        for pieces in Pieces::ALL {
            let piecewise = OnPieces { pieces, loss: Likelihood(Tree) };
            gradient_is_slope(&piecewise, &x, &d);
            hessian_vector_is_slope_of_gradient(&piecewise, &x, &d);
            let pseudo = OnPieces { pieces, loss: Pseudolikelihood::default() };
            gradient_is_slope(&pseudo, &x, &d);
            hessian_vector_is_slope_of_gradient(&pseudo, &x, &d);
        }
        let corrected = BethePieces(OnPieces { pieces: Pieces::Bethe, loss: Likelihood(Tree) });
        gradient_is_slope(&corrected, &x, &d);
        hessian_vector_is_slope_of_gradient(&corrected, &x, &d);
    }
}

#[test]
fn product_states() {
    let mut rng = Random::new(12);
    for (cards, pairs) in [(vec![3, 2], PairTables::Both), (vec![2, 3, 2], PairTables::Shared)] {
        let graph = build::factorial_chain(3, &cards, pairs).unwrap();
        let (x, d) = (Problem::random(&mut rng, &graph, 2.0), Problem::random(&mut rng, &graph, 1.0));
        gradient_is_slope(&Likelihood(Exact::default()), &x, &d);
        hessian_vector_is_slope_of_gradient(&Likelihood(Exact::default()), &x, &d);
    }
}

#[test]
fn loopy_bp() {
    let engine = |schedule, damping| LoopyBp {
        schedule,
        damping,
        tolerance: TIGHT,
        max_iterations: 1000,
        restarts: 0,
    };
    assert!(laws(&engine(MessageSchedule::Parallel, 0.0), 4, 0.7, false) > 30);
    assert!(laws(&engine(MessageSchedule::Parallel, 0.3), 5, 0.7, false) > 30);
    assert!(laws(&engine(MessageSchedule::Residual, 0.0), 6, 0.7, false) > 30);
}

/// Rows of several vectors, and Potts tables, whose ε parts have that form too.
#[test]
fn loopy_bp_with_many_labels_and_with_potts_tables() {
    let loss = Likelihood(LoopyBp { tolerance: TIGHT, ..LoopyBp::default() });
    let mut rng = Random::new(10);
    for labels in [2, 5, 9] {
        let graph = build::skip_chain(4, labels, &[(0, 2), (1, 3)], [PairTables::Shared; 2]).unwrap();
        let (mut x, mut d) = (Problem::random(&mut rng, &graph, 0.5), Problem::random(&mut rng, &graph, 1.0));
        gradient_is_slope(&loss, &x, &d);
        hessian_vector_is_slope_of_gradient(&loss, &x, &d);
        let stride = graph.shared_shapes()[0].stride();
        for (problem, gain) in [(&mut x, 0.4), (&mut d, 1.0)] {
            for (i, entry) in problem.shared[0].iter_mut().enumerate() {
                *entry = if i / stride == i % stride { gain } else { 0.1 };
            }
        }
        gradient_is_slope(&loss, &x, &d);
        hessian_vector_is_slope_of_gradient(&loss, &x, &d);
    }
}

#[test]
fn tree_reweighting() {
    let engine = TreeReweighted { tolerance: TIGHT, max_iterations: 3000, ..TreeReweighted::default() };
    assert!(laws(&engine, 7, 0.7, false) > 30);
}

#[test]
fn mean_field() {
    let engine = MeanField { tolerance: TIGHT, max_iterations: 3000, ..MeanField::default() };
    assert!(laws(&engine, 8, 0.7, false) > 30);
}

/// The marginal loss is what it says, and its gradient, by one dual pass in the direction of its own slope, is the slope. Some labels are
/// not known.
fn marginal_laws<I: NodeMarginals + Clone>(engine: &I, seed: u64, range: f64) -> usize {
    let mut rng = Random::new(seed);
    let loss = Marginal(engine.clone());
    let mut looked = 0;
    for k in 0..40 {
        let graph = random_graph(&mut rng, 5, 2 + k % 2, false);
        let mut x = Problem::random(&mut rng, &graph, range);
        let d = Problem::random(&mut rng, &graph, 1.0);
        x.gold.iter_mut().filter(|_| rng.below(4) == 0).for_each(|label| *label = UNLABELLED);
        let answer = x.infer::<Dual, I>(engine, Some(&d), 1.0);
        if !answer.outcome.converged {
            continue;
        }
        let mut counts = vec![false; graph.vars()];
        graph.for_each_factor(|factor| {
            if let (TableRef::Own(_), &[v]) = (factor.table, factor.vars) {
                counts[v] = x.gold[v] != UNLABELLED;
            }
        });
        let mu = |v: usize| answer.nodes.get(graph.cliques().node(v).start + x.gold[v] as usize).re();
        let expected: f64 = (0..graph.vars()).filter(|&v| counts[v]).map(|v| -1.5 * mu(v).ln()).sum();
        x.weight = 1.5;
        let (value, ..) = x.evaluate::<f64, _>(&loss, None, 0.0);
        assert!(difference(value, expected) < 1e-9, "{value} {expected}");
        gradient_is_slope(&loss, &x, &d);
        looked += 1;
    }
    looked
}

#[test]
fn marginal_loss() {
    assert_eq!(marginal_laws(&JunctionTree::default(), 11, 3.0), 40);
    let (tolerance, max_iterations) = (TIGHT, 3000);
    let loopy = LoopyBp { tolerance, max_iterations, ..LoopyBp::default() };
    assert!(marginal_laws(&loopy, 12, 0.7) > 30);
    let trw = TreeReweighted { tolerance, max_iterations, ..TreeReweighted::default() };
    assert!(marginal_laws(&trw, 13, 0.7) > 30);
    let mean_field = MeanField { tolerance, max_iterations, ..MeanField::default() };
    assert!(marginal_laws(&mean_field, 14, 0.7) > 30);
}

/// Gold labels that the engine rules out altogether cost much, but value and gradient stay numbers.
#[test]
fn the_marginal_loss_stands_impossible_labels() {
    let graph = build::tree(3, &[None, Some(0), Some(1)], PairTables::Shared).unwrap();
    let mut rng = Random::new(15);
    for range in [300.0, 700.0, 3000.0] {
        let x = Problem::random(&mut rng, &graph, range);
        for gold in 0..3 {
            let x = Problem { gold: vec![gold; 3], ..x.clone() };
            let (value, own, shared) = x.evaluate::<f64, _>(&Marginal(LoopyBp::default()), None, 0.0);
            assert!(value.is_finite() && own.plane(0).iter().all(|g| g.is_finite()), "{range}: {value}");
            assert!(shared.0[0].direct.plane(0).iter().all(|g| g.is_finite()));
        }
    }
}

/// Stopping when the real parts have settled would leave the ε parts where they were after a few sweeps: with all messages at their
/// fixed point from the start (no node potentials, symmetric pairs), the direction still has to travel the whole chain.
#[test]
fn the_direction_settles_too() {
    let graph =
        build::tree(2, &[None, Some(0), Some(1), Some(2), Some(3), Some(4)], PairTables::Shared).unwrap();
    let mut rng = Random::new(9);
    let mut x = Problem::random(&mut rng, &graph, 0.0);
    for i in 0..2 {
        x.shared[0][i * 8 + i] = 1.0;
    }
    let mut d = Problem::random(&mut rng, &graph, 0.0);
    d.own[0] = 1.0;
    let parallel = LoopyBp { tolerance: 1e-10, ..LoopyBp::default() };
    let real = x.infer::<f64, _>(&parallel, None, 0.0);
    assert_eq!(real.outcome.iterations, 1, "nothing to do for the real parts");
    let exact = x.infer::<Dual, _>(&Tree, Some(&d), 1.0);
    for schedule in [MessageSchedule::Parallel, MessageSchedule::Residual] {
        let found = x.infer::<Dual, _>(&LoopyBp { schedule, ..parallel }, Some(&d), 1.0);
        for i in 0..found.own.len() {
            assert!((found.own.get(i).eps() - exact.own.get(i).eps()).abs() < 1e-9, "{i} {schedule:?}");
        }
    }
}
