//! Belief propagation with several fixed points, and the double loop, which always reaches one.

use crate::graphs::{Problem, random_graph};
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Gradient, Graph, Label, Psi, SharedSum};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{DoubleLoop, Inference, LoopyBp, MessageSchedule, Near, Outcome};
use crfkit::loss::Likelihood;
use crfkit::math::random::Random;
use crfkit::math::{Array, Complex64, Dual};

/// A complete graph with two labels.
fn complete(vars: usize) -> FactorGraph {
    let mut builder = FactorGraphBuilder::new(vec![2; vars]).unwrap();
    for v in 0..vars {
        builder.add_own(0, &[v]).unwrap();
    }
    for v in 0..vars {
        for w in v + 1..vars {
            builder.add_own(1, &[v, w]).unwrap();
        }
    }
    builder.build().unwrap()
}

/// ψ of a complete graph: `node(v)` is the difference of the labels of a variable, `equal` the potentials of two 0s and two 1s.
fn problem(vars: usize, node: impl Fn(usize) -> f64, mut equal: impl FnMut() -> [f64; 2]) -> Problem {
    let graph = complete(vars);
    let mut own = vec![0.0; graph.own_len()];
    graph.for_each_factor(|factor| {
        let crfkit::graph::TableRef::Own(at) = factor.table else { unreachable!("all tables are own") };
        match factor.vars {
            [v] => own[at] = node(*v),
            _ => {
                let [zeros, ones] = equal();
                (own[at], own[at + factor.strides[0] + factor.strides[1]]) = (zeros, ones);
            }
        }
    });
    Problem {
        graph,
        shared: Vec::new(),
        own,
        gold: vec![1; vars],
        sets: Vec::new(),
        weight: 1.0,
        variables: Vec::new(),
    }
}

/// Single labels prefer 0, and lead uniform messages there; pairs prefer 1, and the labelling of 1s is the best.
fn trap() -> (Problem, [Label; 4]) {
    (problem(4, |_| 4.0, || [7.0, 10.0]), [1; 4])
}

fn run(problem: &Problem, engine: &LoopyBp, near: Option<&[Label]>) -> (Outcome<f64>, Vec<f64>) {
    let (shared, own) = (problem.tables(None, 0.0), problem.own_array(None, 0.0));
    let psi = Psi { shared: &shared, own: &own };
    let mut sum = SharedSum::new(&shared);
    let mut gradient: Array<f64> = Array::zeros(problem.graph.own_len());
    let all = 0..problem.graph.own_len();
    let mut out = Gradient { own: gradient.slice_mut(all), shared: &mut sum };
    let outcome = match near {
        Some(labels) => {
            let near = Near { labels, weight: 1.0 };
            engine.log_z_near(&problem.graph, psi, near, &mut out, &mut Default::default())
        }
        None => engine.log_z(&problem.graph, psi, 1.0, &mut out, &mut Default::default()),
    };
    (outcome, gradient.plane(0).to_vec())
}

/// Uniform messages lead to a fixed point whose log Z is below the score of a labelling: the Bethe approximation, which
/// is the largest, cannot be there. Known labels or random starts find the better one, in both spaces.
#[test]
fn a_false_fixed_point_is_left_by_another_start() {
    let (problem, best) = trap();
    let score = 6.0 * 10.0;
    let truth = enumerate(&problem.graph, &problem.tables(None, 0.0), &problem.own_array(None, 0.0));
    for schedule in [MessageSchedule::Parallel, MessageSchedule::Residual] {
        let engine = LoopyBp { schedule, ..LoopyBp::default() };
        let (alone, _) = run(&problem, &engine, None);
        assert!(alone.converged && alone.log_z < score - 1.0, "the trap works: {alone:?}");
        let (near, beliefs) = run(&problem, &engine, Some(&best));
        assert!(near.converged && near.log_z >= score, "{near:?}");
        assert!((near.log_z - truth.log_z).abs() < 0.2, "{near:?} against {}", truth.log_z);
        assert!((beliefs[1] - 1.0).abs() < 0.1, "the first variable has label 1: {beliefs:?}");
        let (restarted, _) = run(&problem, &LoopyBp { restarts: 8, ..engine }, None);
        assert!((restarted.log_z - near.log_z).abs() < 1e-6, "{restarted:?}");
        let (zeros, _) = run(&problem, &engine, Some(&[0; 4]));
        assert_eq!(zeros.log_z, alone.log_z, "labels that fit the first answer change nothing");
    }
}

/// The likelihood by belief propagation is at least 0 in the trap, and its gradient is its slope there.
#[test]
fn the_loss_of_a_trapped_example_is_possible_and_smooth() {
    let (problem, _) = trap();
    let loss = Likelihood(LoopyBp { tolerance: 1e-11, max_iterations: 2000, ..LoopyBp::default() });
    let mut rng = Random::new(3);
    let direction = Problem::random(&mut rng, &problem.graph, 1.0);
    let value = |h: f64| problem.moved(&direction, h).evaluate::<f64, _>(&loss, None, 0.0).0;
    assert!(value(0.0) >= 0.0, "{}", value(0.0));
    let (dual, _, _) = problem.evaluate::<Dual, _>(&loss, Some(&direction), 1.0);
    let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
    assert!((dual.eps - slope).abs() < 1e-6, "{} against {slope}", dual.eps);
    let (complex, _, _) = problem.evaluate::<Complex64, _>(&loss, Some(&direction), 1e-100);
    assert!((complex.eps / 1e-100 - dual.eps).abs() < 1e-9, "{complex:?} against {dual:?}");
}

#[test]
fn the_double_loop_is_exact_on_forests() {
    let engine = DoubleLoop { tolerance: 1e-10, ..DoubleLoop::default() };
    let mut rng = Random::new(31);
    for k in 0..120 {
        let graph = random_graph(&mut rng, 6, 2 + k % 2, true);
        let problem = Problem::random(&mut rng, &graph, [0.0, 1.0, 3.0][k % 3]);
        let truth = enumerate(&problem.graph, &problem.tables(None, 0.0), &problem.own_array(None, 0.0));
        let answer = problem.infer::<f64, _>(&engine, None, 0.0);
        assert!(answer.outcome.converged, "{:?}", answer.outcome);
        assert!((answer.outcome.log_z - truth.log_z).abs() < 1e-7, "{:?} {}", answer.outcome, truth.log_z);
        for (i, entry) in problem.own_entries().into_iter().enumerate() {
            let expected = if entry { truth.own[i] } else { 0.0 };
            assert!((answer.own.get(i) - expected).abs() < 1e-6, "{i} on {graph:?}");
        }
    }
}

/// Pairs of random signs frustrate each other: plain messages go round for ever on some of these graphs, the double loop
/// never does. Where both converge to one point they agree, and where the double loop ends, a sweep changes nothing.
#[test]
fn the_double_loop_converges_where_plain_messages_do_not() {
    let plain = LoopyBp { damping: 0.0, max_iterations: 1000, ..LoopyBp::default() };
    let double = DoubleLoop { max_iterations: 20_000, ..DoubleLoop::default() };
    let mut rng = Random::new(32);
    let (mut lost, mut same) = (0, 0);
    for _ in 0..40 {
        let mut sign = Random::new(rng.next_u64());
        let strength = if sign.uniform() < 0.5 { 0.5 } else { 3.0 };
        let fields: Vec<f64> = (0..6).map(|_| sign.uniform() - 0.5).collect();
        let mut pair = || [strength * if sign.uniform() < 0.5 { 1.0 } else { -1.0 }; 2];
        let problem = problem(6, |v| fields[v], &mut pair);
        let (bp, _) = run(&problem, &plain, None);
        let answer = problem.infer::<f64, _>(&double, None, 0.0);
        assert!(answer.outcome.converged, "strength {strength}: {:?}", answer.outcome);
        lost += usize::from(!bp.converged);
        same += usize::from(bp.converged && (bp.log_z - answer.outcome.log_z).abs() < 1e-5);
    }
    assert!(lost > 0, "plain messages always converged: the test shows nothing");
    assert!(same >= 10, "they agree on {same} graphs only");
}

/// The beliefs of the double loop are the slope of its log Z, and dual numbers go through both loops.
#[test]
fn the_gradient_of_the_double_loop_is_its_slope() {
    let engine = DoubleLoop { tolerance: 1e-12, max_iterations: 5000 };
    let mut rng = Random::new(33);
    for _ in 0..10 {
        let graph = random_graph(&mut rng, 5, 2, false);
        let problem = Problem::random(&mut rng, &graph, 1.0);
        let direction = Problem::random(&mut rng, &graph, 1.0);
        let at = |h: f64| problem.moved(&direction, h).infer::<f64, _>(&engine, None, 0.0).outcome.log_z;
        let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
        let answer = problem.infer::<f64, _>(&engine, None, 0.0);
        let gradient = problem.slope(&answer.own, &answer.shared, &direction);
        assert!((gradient - slope).abs() < 1e-5, "{gradient} against {slope}");
        let dual = problem.infer::<Dual, _>(&engine, Some(&direction), 1.0);
        assert!((dual.outcome.log_z.eps - slope).abs() < 1e-5, "{} against {slope}", dual.outcome.log_z.eps);
    }
}
