//! The likelihood of partly known labels of chains and graphs equals enumeration: the value, the gradient and the product with the Hessian.

use crate::common;
use crate::costs::{self, agrees, log_sum};
use crate::graph_derivatives::{gradient_is_slope, hessian_vector_is_slope_of_gradient};
use crate::graphs;

use common::{Problem, chains, difference, second_order_chains};
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{FIRST_SET, Graph, Label, LabelBits, TableRef, UNLABELLED};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{DoubleLoop, Exact, ForwardBackward, LoopyBp, MeanField, NodeMarginals, TreeReweighted};
use crfkit::loss::PartialLikelihood;
use crfkit::math::random::Random;
use crfkit::math::{Dual, Scalar};

/// Makes some gold labels sets of labels, and some unknown.
fn partial(rng: &mut Random, problem: &mut Problem) {
    let (sets, labels) = (&mut problem.sets, problem.chain.labels);
    for gold in &mut problem.gold {
        match rng.below(3) {
            0 => *gold = UNLABELLED,
            1 => {
                let mut set = LabelBits::none(labels);
                set.insert(*gold as usize);
                set.insert(rng.below(labels));
                *gold = FIRST_SET + sets.len() as Label;
                sets.push(set);
            }
            _ => {}
        }
    }
}

#[test]
fn partly_known_labels_equal_enumeration() {
    let mut rng = Random::new(21);
    for chain in chains().into_iter().chain(second_order_chains()) {
        for range in [0.0, 2.0, 30.0, 700.0] {
            let mut problem = Problem::random(&mut rng, chain, range);
            partial(&mut rng, &mut problem);
            let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            let all = enumerate(&chain, &shared, &own);
            let agrees = |labels: &[Label]| {
                labels.iter().zip(&problem.gold).all(|(label, gold)| match gold.checked_sub(FIRST_SET) {
                    None => label == gold,
                    Some(_) if *gold == UNLABELLED => true,
                    Some(set) => problem.sets[set as usize].contains(*label as usize),
                })
            };
            let kept: Vec<_> = all.ranked.iter().filter(|(_, labels)| agrees(labels)).collect();
            let best = kept[0].0;
            let log_z = best + kept.iter().map(|(score, _)| (score - best).exp()).sum::<f64>().ln();
            let mut expected = all.own.clone();
            let mut expected_shared = all.shared.clone();
            for (score, labels) in kept {
                let p = (score - log_z).exp();
                chain.for_each_factor(|factor| match factor.table {
                    TableRef::Shared(id) => expected_shared[id][factor.entry(labels)] -= p,
                    TableRef::Own(at) => expected[at + factor.entry(labels)] -= p,
                });
            }
            let loss = PartialLikelihood::new(ForwardBackward);
            let (value, own, sums) = problem.evaluate::<f64, _>(&loss, None, 0.0);
            assert!(difference(value, all.log_z - log_z) < 1e-11, "{value} on {chain:?}, range {range}");
            let used = |i: &usize| i % chain.stride() < chain.labels;
            for i in (0..chain.own_len()).filter(used) {
                assert!((own.get(i) - expected[i]).abs() < 1e-11, "own {i} on {chain:?}");
            }
            for (sum, expected) in sums.0.iter().zip(&expected_shared) {
                for i in (0..expected.len()).filter(used) {
                    assert!((sum.direct.get(i) - expected[i]).abs() < 1e-10, "shared {i} on {chain:?}");
                }
            }
        }
    }
}

/// The derivative of the gradient along a direction, by dual numbers and by differences.
#[test]
fn hessian_products_are_slopes_of_gradients() {
    let mut rng = Random::new(22);
    for chain in chains().into_iter().filter(|chain| chain.len > 0) {
        let mut problem = Problem::random(&mut rng, chain, 2.0);
        partial(&mut rng, &mut problem);
        let (d, e) = (Problem::random(&mut rng, chain, 1.0), Problem::random(&mut rng, chain, 1.0));
        let loss = PartialLikelihood::new(ForwardBackward);
        let (value, own, shared) = problem.evaluate::<Dual, _>(&loss, Some(&d), 1.0);
        let curvature = problem.slope(&own, &shared, &e).eps();
        let slope = |h: f64| {
            let moved = problem.moved(&d, h);
            let (value, own, shared) = moved.evaluate::<f64, _>(&loss, None, 0.0);
            (value, moved.slope(&own, &shared, &e))
        };
        let h = 1e-5;
        let ((up, up_slope), (down, down_slope)) = (slope(h), slope(-h));
        assert!((value.eps() - (up - down) / (2.0 * h)).abs() < 1e-7, "{chain:?}");
        assert!((curvature - (up_slope - down_slope) / (2.0 * h)).abs() < 1e-7, "{chain:?}");
    }
}

/// The negative logarithm of the probability of what is known, by enumeration.
fn surprise(x: &graphs::Problem) -> f64 {
    let all = enumerate(&x.graph, &x.tables(None, 0.0), &x.own_array(None, 0.0));
    let kept = all.ranked.iter().filter(|(_, labels)| agrees(x, labels)).map(|(score, _)| *score);
    x.weight * (all.log_z - log_sum(kept))
}

fn laws<I: NodeMarginals + Copy>(engine: I, x: &graphs::Problem, d: &graphs::Problem) {
    let loss = PartialLikelihood::new(engine);
    let (value, ..) = x.evaluate::<f64, _>(&loss, None, 0.0);
    assert!(graphs::difference(value, surprise(x)) < 1e-7, "{value} against {}", surprise(x));
    gradient_is_slope(&loss, x, d);
    hessian_vector_is_slope_of_gradient(&loss, x, d);
}

/// Exact engines on graphs with loops, factorial chains and skip chains; with ties too.
#[test]
fn partly_known_labels_of_graphs_equal_enumeration() {
    let mut rng = Random::new(23);
    for round in 0..120 {
        let graph = match round % 4 {
            0 => build::factorial_chain(1 + round % 3, &[2, 3], PairTables::Both).unwrap(),
            1 => build::skip_chain(4, 2, &[(0, 2), (1, 3)], [PairTables::Shared, PairTables::Own]).unwrap(),
            _ => costs::graph(&mut rng),
        };
        let mut x = costs::problem(&mut rng, &graph, [2.0, 20.0][round % 2]);
        x.variables.clear();
        if round % 3 == 0 {
            x.own.iter_mut().chain(x.shared.iter_mut().flatten()).for_each(|x| *x = x.round());
        }
        laws(Exact::default(), &x, &graphs::Problem::random(&mut rng, &graph, 1.0));
    }
}

/// Approximate engines are exact on chains; elsewhere their gradient is the slope of their value.
#[test]
fn partly_known_labels_by_approximate_engines() {
    let mut rng = Random::new(24);
    let belief = LoopyBp { tolerance: 1e-12, max_iterations: 3000, ..LoopyBp::default() };
    let weighted = TreeReweighted { tolerance: 1e-12, max_iterations: 3000, ..TreeReweighted::default() };
    let double = DoubleLoop { tolerance: 1e-12, ..DoubleLoop::default() };
    let field = MeanField { tolerance: 1e-13, max_iterations: 3000, ..MeanField::default() };
    for _ in 0..20 {
        let chain = build::skip_chain(4, 3, &[], [PairTables::Both; 2]).unwrap();
        let x = costs::problem(&mut rng, &chain, 2.0);
        let x = graphs::Problem { variables: Vec::new(), ..x };
        let d = graphs::Problem::random(&mut rng, &chain, 1.0);
        laws(belief, &x, &d);
        laws(weighted, &x, &d);
        let (value, ..) = x.evaluate::<f64, _>(&PartialLikelihood::new(double), None, 0.0);
        assert!(graphs::difference(value, surprise(&x)) < 1e-6);
        let graph = build::factorial_chain(3, &[2, 3], PairTables::Shared).unwrap();
        let x = costs::problem(&mut rng, &graph, 0.5);
        let x = graphs::Problem { variables: Vec::new(), ..x };
        let d = graphs::Problem::random(&mut rng, &graph, 1.0);
        gradient_is_slope(&PartialLikelihood::new(belief), &x, &d);
        gradient_is_slope(&PartialLikelihood::new(weighted), &x, &d);
        gradient_is_slope(&PartialLikelihood::new(field), &x, &d);
    }
}
