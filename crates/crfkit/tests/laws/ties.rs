//! The n best labellings where many are equally good: those of the enumeration, in the documented order, for no more work.

use crate::common::{Problem, chains};
use crfkit::decode::{Decoder, NBEST_MEMORY, Viterbi, nbest, nbest_within};
use crfkit::graph::{Chain, Label, Psi};
use crfkit::infer::enumerate::enumerate;
use crfkit::math::random::Random;

/// A problem whose scores are few whole numbers: sums are exact, and ties are many.
fn tied(rng: &mut Random, chain: Chain, values: usize) -> Problem {
    let mut problem = Problem::random(rng, chain, 0.0);
    let mut draw = |x: &mut f64| *x = rng.below(values) as f64 - 1.0;
    problem.own.iter_mut().for_each(&mut draw);
    problem.shared.iter_mut().flatten().for_each(&mut draw);
    problem
}

/// By score, then by the labels from the last one to the first.
fn sorted(mut all: Vec<(f64, Vec<Label>)>) -> Vec<(f64, Vec<Label>)> {
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.iter().rev().cmp(b.1.iter().rev())));
    all
}

#[test]
fn ties_are_listed_as_the_enumeration_has_them() {
    let mut rng = Random::new(11);
    for chain in chains() {
        for values in [1, 2, 3] {
            for _ in 0..4 {
                let problem = tied(&mut rng, chain, values);
                let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
                let psi = Psi { shared: &shared, own: &own };
                let truth = sorted(enumerate(&chain, &shared, &own).ranked);
                for n in [1, 2, 7, truth.len(), truth.len() + 3] {
                    let found = nbest(&chain, psi, n);
                    let expected = &truth[..n.min(truth.len())];
                    assert!(
                        found.iter().map(|r| (r.score, &r.labels)).eq(expected.iter().map(|(s, y)| (*s, y)))
                    );
                    assert_eq!(nbest_within(&chain, psi, n, NBEST_MEMORY).unwrap(), found);
                }
                let mut best = Vec::new();
                Viterbi.argmax(&chain, psi, &mut best, &mut Default::default());
                assert_eq!(best, truth[0].1, "the first one is Viterbi's");
            }
        }
    }
}

/// Words that a model does not know give every labelling the same score.
#[test]
fn a_long_chain_of_ties_is_no_burden() {
    let chain = Chain { len: 5000, labels: 3, own_pairs: false, triples: false, segments: None };
    let problem = Problem::random(&mut Random::new(1), chain, 0.0);
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let best = nbest(&chain, Psi { shared: &shared, own: &own }, 100);
    assert_eq!(best.len(), 100);
    // The order of the enumeration: the first label moves fastest.
    for (rank, found) in best.iter().enumerate() {
        let digits = [rank % 3, rank / 3 % 3, rank / 9 % 3, rank / 27 % 3, rank / 81].map(|y| y as Label);
        assert_eq!((found.score, &found.labels[..5]), (0.0, &digits[..]));
        assert!(found.labels[5..].iter().all(|&y| y == 0));
    }
}

#[test]
fn labellings_beyond_the_memory_are_refused() {
    let problem = |len, labels| {
        let chain = Chain { len, labels, own_pairs: false, triples: false, segments: None };
        Problem::random(&mut Random::new(2), chain, 1.0)
    };
    let ask = |problem: &Problem, n, limit| {
        let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        nbest_within(&problem.chain, Psi { shared: &shared, own: &own }, n, limit)
    };
    let (long, short) = (problem(1000, 3), problem(3, 3));
    let error = ask(&long, usize::MAX, NBEST_MEMORY).unwrap_err().to_string();
    assert!(error.contains("1000 tokens") && error.contains("ask for fewer"), "{error}");
    assert!(ask(&long, 1000, 1 << 20).is_err(), "the answer alone takes four megabytes");
    assert!(ask(&long, 200, 1 << 20).is_err(), "the answer would fit, the search does not");
    assert_eq!(ask(&long, 20, 1 << 20).unwrap().len(), 20);
    assert_eq!(ask(&short, usize::MAX, 1 << 20).unwrap().len(), 27, "there are no more");
}
