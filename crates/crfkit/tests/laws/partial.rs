//! The likelihood of partly known labels of chains equals enumeration: the value, the gradient and the product with the Hessian.

use crate::common;

use common::{Problem, chains, difference, second_order_chains};
use crfkit::graph::{FIRST_SET, Graph, Label, LabelBits, TableRef, UNLABELLED};
use crfkit::infer::ForwardBackward;
use crfkit::infer::enumerate::enumerate;
use crfkit::loss::PartialLikelihood;
use crfkit::math::random::Random;
use crfkit::math::{Dual, Scalar};
use std::sync::Arc;

/// Sets of labels, and gold labels of which some are sets and some are not known.
fn partial(rng: &mut Random, problem: &mut Problem) -> Arc<[LabelBits]> {
    let (mut sets, labels) = (Vec::new(), problem.chain.labels);
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
    sets.into()
}

#[test]
fn partly_known_labels_equal_enumeration() {
    let mut rng = Random::new(21);
    for chain in chains().into_iter().chain(second_order_chains()) {
        for range in [0.0, 2.0, 30.0, 700.0] {
            let mut problem = Problem::random(&mut rng, chain, range);
            let sets = partial(&mut rng, &mut problem);
            let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            let all = enumerate(&chain, &shared, &own);
            let agrees = |labels: &[Label]| {
                labels.iter().zip(&problem.gold).all(|(label, gold)| match gold.checked_sub(FIRST_SET) {
                    None => label == gold,
                    Some(_) if *gold == UNLABELLED => true,
                    Some(set) => sets[set as usize].contains(*label as usize),
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
            let loss = PartialLikelihood::with_sets(ForwardBackward, sets.clone());
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
        let sets = partial(&mut rng, &mut problem);
        let (d, e) = (Problem::random(&mut rng, chain, 1.0), Problem::random(&mut rng, chain, 1.0));
        let loss = PartialLikelihood::with_sets(ForwardBackward, sets);
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
