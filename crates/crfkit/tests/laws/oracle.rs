//! First law on chains: forward-backward, Viterbi, n-best lists and max-marginals agree with enumeration. Constants,
//! weights and ties have the effects that they must have.

use crate::common;

use common::{Problem, chains, difference};
use crfkit::decode::{Decoder, Viterbi, max_marginal, nbest};
use crfkit::graph::{Chain, Graph, Psi};
use crfkit::infer::ForwardBackward;
use crfkit::infer::enumerate::enumerate;
use crfkit::loss::Likelihood;
use crfkit::math::random::Random;

/// The ranges of scores: ordinary, and far beyond what probability space can hold.
const RANGES: [f64; 4] = [0.0, 2.0, 30.0, 700.0];

#[test]
fn forward_backward_equals_enumeration() {
    let mut rng = Random::new(1);
    for chain in chains() {
        for range in RANGES {
            for _ in 0..5 {
                let problem = Problem::random(&mut rng, chain, range);
                check_marginals(&problem);
            }
        }
    }
}

#[test]
fn pairs_with_the_same_scores_are_no_exception() {
    let mut rng = Random::new(4);
    let chain = Chain { len: 6, labels: 3, own_pairs: true, triples: false, segments: None };
    for range in RANGES {
        let mut problem = Problem::random(&mut rng, chain, range);
        for (from, to) in [(1, 2), (1, 3), (4, 5)] {
            let table = chain.pair_offset(from)..chain.pair_offset(from + 1);
            problem.own.copy_within(table, chain.pair_offset(to));
        }
        check_marginals(&problem);
    }
}

fn check_marginals(problem: &Problem) {
    let chain = &problem.chain;
    let truth = enumerate(chain, &problem.tables(None, 0.0), &problem.own_array(None, 0.0));
    let (value, own, shared) = problem.evaluate::<f64, _>(&Likelihood(ForwardBackward), None, 0.0);
    let (tables, array) = (problem.tables::<f64>(None, 0.0), problem.own_array(None, 0.0));
    let gold_score = Psi { shared: &tables, own: &array }.score(chain, &problem.gold);
    assert!(difference(value, truth.log_z - gold_score) < 1e-12, "log Z on {chain:?}");
    // The gradient of the likelihood is marginals − gold: compare with the oracle's, gold removed.
    let mut expected_own = truth.own.clone();
    let mut expected_shared = truth.shared.clone();
    chain.for_each_factor(|factor| match factor.table {
        crfkit::graph::TableRef::Shared(id) => expected_shared[id][factor.entry(&problem.gold)] -= 1.0,
        crfkit::graph::TableRef::Own(at) => expected_own[at + factor.entry(&problem.gold)] -= 1.0,
    });
    let stride = chain.stride();
    for i in (0..chain.own_len()).filter(|i| i % stride < chain.labels) {
        assert!((own.get(i) - expected_own[i]).abs() < 1e-12, "own marginal {i} on {chain:?}");
    }
    for (sum, expected) in shared.0.iter().zip(&expected_shared) {
        for i in (0..expected.len()).filter(|i| i % stride < chain.labels) {
            assert!((sum.direct.get(i) - expected[i]).abs() < 1e-11, "shared marginal {i} on {chain:?}");
        }
    }
}

#[test]
fn decoders_equal_enumeration() {
    let mut rng = Random::new(2);
    for chain in chains() {
        for range in RANGES {
            let problem = Problem::random(&mut rng, chain, range);
            let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            let psi = Psi { shared: &shared, own: &own };
            let truth = enumerate(&chain, &shared, &own);
            let mut labels = Vec::new();
            let score = Viterbi.argmax(&chain, psi, &mut labels, &mut Default::default());
            assert!(difference(score, truth.ranked[0].0) < 1e-12);
            assert!(difference(psi.score(&chain, &labels), score) < 1e-12, "labels have the score");
            let n = 12.min(truth.ranked.len());
            let best = nbest(&chain, psi, 12);
            assert_eq!(best.len(), n);
            for (found, (score, _)) in best.iter().zip(&truth.ranked) {
                assert!(difference(found.score, *score) < 1e-12);
                assert!(difference(psi.score(&chain, &found.labels), *score) < 1e-12);
            }
            let mut distinct: Vec<_> = best.iter().map(|r| &r.labels).collect();
            distinct.sort();
            distinct.dedup();
            assert_eq!(distinct.len(), n, "no labelling twice");
        }
    }
}

#[test]
fn ties_go_to_the_smallest_label() {
    let chain = Chain { len: 4, labels: 3, own_pairs: false, triples: false, segments: None };
    let problem = Problem::random(&mut Random::new(3), chain, 0.0);
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let psi = Psi { shared: &shared, own: &own };
    let mut labels = Vec::new();
    Viterbi.argmax(&chain, psi, &mut labels, &mut Default::default());
    assert_eq!(labels, [0, 0, 0, 0]);
    let again: Vec<_> = (0..3).map(|_| nbest(&chain, psi, 81)).collect();
    assert_eq!(again[0], again[1]);
    assert_eq!(again[0].len(), 81);
}

#[test]
fn uniform_scores_give_log_z_of_t_log_l() {
    let chain = Chain { len: 7, labels: 5, own_pairs: false, triples: false, segments: None };
    let problem = Problem::random(&mut Random::new(4), chain, 0.0);
    let (value, ..) = problem.evaluate::<f64, _>(&Likelihood(ForwardBackward), None, 0.0);
    assert!(difference(value, 7.0 * 5f64.ln()) < 1e-14);
}

#[test]
fn a_constant_on_one_node_moves_log_z_and_nothing_else() {
    let chain = Chain { len: 5, labels: 3, own_pairs: false, triples: false, segments: None };
    let problem = Problem::random(&mut Random::new(5), chain, 3.0);
    let mut shifted = problem.moved(&problem, 0.0);
    for j in 0..3 {
        shifted.own[2 * chain.stride() + j] += 100.0;
    }
    let (a, own_a, _) = problem.evaluate::<f64, _>(&Likelihood(ForwardBackward), None, 0.0);
    let (b, own_b, _) = shifted.evaluate::<f64, _>(&Likelihood(ForwardBackward), None, 0.0);
    assert!(difference(a, b) < 1e-12, "the gold score moves with log Z");
    for i in 0..chain.own_len() {
        assert!((own_a.get(i) - own_b.get(i)).abs() < 1e-12);
    }
}

#[test]
fn an_example_weight_multiplies_value_and_gradient() {
    let chain = Chain { len: 4, labels: 3, own_pairs: true, triples: false, segments: None };
    let mut problem = Problem::random(&mut Random::new(6), chain, 2.0);
    let (value, own, shared) = problem.evaluate::<f64, _>(&Likelihood(ForwardBackward), None, 0.0);
    problem.weight = 2.5;
    let (value2, own2, shared2) = problem.evaluate::<f64, _>(&Likelihood(ForwardBackward), None, 0.0);
    assert!(difference(2.5 * value, value2) < 1e-14);
    for i in 0..chain.own_len() {
        assert!((2.5 * own.get(i) - own2.get(i)).abs() < 1e-14);
    }
    for (a, b) in shared.0.iter().zip(&shared2.0) {
        for i in 0..a.direct.len() {
            assert!((2.5 * a.direct.get(i) - b.direct.get(i)).abs() < 1e-13);
        }
    }
}

/// Best path 1-1, but label 0 is the likelier one at the first position: it has two good continuations.
#[test]
fn max_marginals_can_differ_from_viterbi() {
    let chain = Chain { len: 2, labels: 3, own_pairs: false, triples: false, segments: None };
    let mut problem = Problem::random(&mut Random::new(7), chain, 0.0);
    let p: [[f64; 3]; 3] = [[0.0, 0.3, 0.3], [0.0, 0.4, 0.0], [0.0, 0.0, 0.0]];
    for i in 0..3 {
        for j in 0..3 {
            problem.shared[0][i * 3 + j] = (p[i][j] + 1e-9).ln();
        }
    }
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let psi = Psi { shared: &shared, own: &own };
    let mut best = Vec::new();
    Viterbi.argmax(&chain, psi, &mut best, &mut Default::default());
    assert_eq!(best, [1, 1]);
    let truth = enumerate(&chain, &shared, &own);
    let mut labels = Vec::new();
    max_marginal(&chain, &truth.own, &mut labels);
    assert_eq!(labels, [0, 1]);
}
