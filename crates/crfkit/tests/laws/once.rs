//! Things that occur at most once: the best labelling, n-best lists, log Z and marginals equal those of the enumeration.

use crate::common;

use common::{Problem, chains, difference, second_order_chains, segment_chains};
use crfkit::answers::ChainAnswers;
use crfkit::decode::{AtMostOnce, NBEST_MEMORY};
use crfkit::graph::{Chain, Graph, Label, LabelRules, Psi};
use crfkit::infer::enumerate::enumerate;
use crfkit::math::random::Random;
use std::sync::Arc;

/// Label 0 is a thing each time; labels 1 and 2 form chunks, of which a new one begins at label 1 and behind other labels.
fn things(labels: usize) -> AtMostOnce {
    let things = if labels > 2 { 2 } else { 1 };
    AtMostOnce::new(labels, things, |thing, before, after| match thing {
        0 => after == 0,
        _ => after == 1 || after == 2 && !matches!(before, Some(1 | 2)),
    })
}

/// The same, counted by hand.
fn obeys(labels: &[Label], count: usize) -> bool {
    let zeros = labels.iter().filter(|label| **label == 0).count();
    let begins = |t: usize| labels[t] == 1 || labels[t] == 2 && (t == 0 || !matches!(labels[t - 1], 1 | 2));
    zeros <= 1 && (count <= 2 || (0..labels.len()).filter(|&t| begins(t)).count() <= 1)
}

#[test]
fn at_most_once_equals_enumeration() {
    let mut rng = Random::new(17);
    let (mut seen, mut impossible) = (0, 0);
    for chain in chains() {
        for (range, most, constrained) in
            [(2.0, 4096, false), (2.0, 0, false), (2.0, 4096, true), (600.0, 4096, false)]
        {
            let problem = Problem::random(&mut rng, chain, range);
            let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            // Label 0 is never the first.
            let rules =
                constrained.then(|| LabelRules::from_fn(chain.labels, |i, j| i.is_some() || j != Some(0)));
            let mut all = enumerate(&chain, &shared, &own).ranked;
            all.retain(|(_, labels)| {
                obeys(labels, chain.labels)
                    && rules.as_ref().is_none_or(|rules| rules.is_satisfied_by(labels))
            });
            let mut answers = ChainAnswers::new(Arc::new(shared), None);
            answers.obey(rules.map(Arc::new));
            let once = things(chain.labels).within(most);
            assert_eq!(once.is_exact(), most > 0);
            answers.at_most_once(Some(Arc::new(once)));
            answers.start(chain).copy_from_slice(&own.plane(0)[..chain.own_len()]);
            let loaded = answers.finish(|| crfkit::Place::new("chain", 1));
            let Some((best, _)) = all.first() else {
                assert!(loaded.unwrap_err().to_string().contains("no labelling of this sequence obeys"));
                impossible += 1;
                continue;
            };
            loaded.unwrap();
            let found = answers.viterbi().to_vec();
            assert!(obeys(&found, chain.labels));
            assert!(difference(answers.psi().score(&chain, &found), *best) < 1e-9);
            let ranked = answers.nbest(4).unwrap();
            assert_eq!(ranked.len(), all.len().min(4));
            for (ranked, (score, _)) in ranked.iter().zip(&all) {
                assert!(difference(ranked.score, *score) < 1e-9 && obeys(&ranked.labels, chain.labels));
            }
            if most == 0 {
                continue;
            }
            let log_z = best + all.iter().map(|(score, _)| (score - best).exp()).sum::<f64>().ln();
            assert!(difference(answers.log_z(), log_z) < 1e-9, "{} is not {log_z}", answers.log_z());
            for t in 0..chain.len {
                for label in 0..chain.labels as Label {
                    let those = all.iter().filter(|(_, labels)| labels[t] == label);
                    let p: f64 = those.map(|(score, _)| (score - log_z).exp()).sum();
                    assert!((answers.marginal(t, label) - p).abs() < 1e-9);
                }
            }
            let p = answers.probability(&found);
            assert!((p - (best - log_z).exp()).abs() < 1e-9);
            if chain.len > 1 {
                assert_eq!(answers.probability(&vec![0; chain.len]), 0.0, "label 0 twice");
            }
            seen += 1;
        }
    }
    assert!(seen > 30 && impossible > 0, "{seen} seen, {impossible} impossible");
}

/// A problem whose scores are few whole numbers: sums are exact, and ties are many.
fn tied(rng: &mut Random, chain: Chain) -> Problem {
    let mut problem = Problem::random(rng, chain, 0.0);
    let finite = |x: &&mut f64| x.abs() < 1e6;
    problem.own.iter_mut().filter(finite).for_each(|x| *x = rng.below(3) as f64 - 1.0);
    problem.shared.iter_mut().flatten().filter(finite).for_each(|x| *x = rng.below(3) as f64 - 1.0);
    problem
}

/// One thing or two, with rules or without, on every kind of chain: each labelling is listed once, and on plain chains in the order that
/// lists without things have.
#[test]
fn ties_are_listed_as_the_enumeration_has_them() {
    let mut rng = Random::new(23);
    let (mut lists, mut ties) = (0, 0);
    let kinds = [chains(), second_order_chains(), segment_chains()];
    for chain in kinds.concat().into_iter().filter(|chain| chain.len > 0 && chain.labels > 1) {
        for case in 0..8 {
            let (problem, count) = (tied(&mut rng, chain), 1 + case % 2);
            let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            let forbidden = (rng.below(chain.labels), rng.below(chain.labels));
            let rules = (case / 2 % 2 == 1).then(|| {
                LabelRules::from_fn(chain.labels, |i, j| (i, j) != (Some(forbidden.0), Some(forbidden.1)))
            });
            let begins = |thing: usize, before: Option<usize>, after: usize| match thing {
                0 => after == 0,
                _ => after == 1 && before != Some(1),
            };
            let once = AtMostOnce::new(chain.labels, count, begins);
            let mut truth = enumerate(&chain, &shared, &own).ranked;
            truth.retain(|(score, labels)| {
                let all = || {
                    (0..labels.len())
                        .map(|t| (t.checked_sub(1).map(|t| labels[t] as usize), labels[t] as usize))
                };
                let most_once =
                    |thing| all().filter(|&(before, after)| begins(thing, before, after)).count() <= 1;
                *score > -1e6
                    && (0..count).all(most_once)
                    && rules.as_ref().is_none_or(|rules| rules.is_satisfied_by(labels))
            });
            truth.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.iter().rev().cmp(b.1.iter().rev())));
            let mut answers = ChainAnswers::new(Arc::new(shared), None);
            answers.obey(rules.map(Arc::new));
            answers.at_most_once(Some(Arc::new(once)));
            answers.start(chain).copy_from_slice(&own.plane(0)[..chain.own_len()]);
            if answers.finish(|| crfkit::Place::new("chain", 1)).is_err() {
                assert!(truth.is_empty());
                continue;
            }
            let best = answers.viterbi().to_vec();
            for n in [1, 2, 7, truth.len(), truth.len() + 3] {
                let mut found = answers.nbest(n).unwrap();
                assert_eq!(found[0].labels, best, "the first one is the best labelling");
                if chain.segments.is_some() {
                    // Equal scores are in the order of types, which only a whole list shows.
                    assert!(found.iter().map(|found| found.score).eq(truth.iter().take(n).map(|(s, _)| *s)));
                    if n < truth.len() {
                        continue;
                    }
                    found.sort_by(|a, b| {
                        let labels = || a.labels.iter().rev().cmp(b.labels.iter().rev());
                        b.score.total_cmp(&a.score).then_with(labels)
                    });
                }
                let expected = truth.iter().take(n).map(|(score, labels)| (*score, labels));
                assert!(found.iter().map(|found| (found.score, &found.labels)).eq(expected), "{chain:?}");
            }
            lists += 1;
            ties += usize::from(truth.windows(2).any(|pair| pair[0].0 == pair[1].0));
        }
    }
    assert!(lists > 100 && ties > 80, "{lists} lists, {ties} with ties");
}

/// The best labellings of a long chain have the thing at nearly all positions, or all labellings are equally good: neither costs more than
/// other lists.
#[test]
fn a_long_chain_is_no_burden() {
    for (values, range) in [([4.0, 1.0, 0.0], 1.0), ([0.0; 3], 0.0)] {
        for own_pairs in [false, true] {
            let chain = Chain { len: 1000, labels: 3, own_pairs, triples: false, segments: None };
            let mut problem = Problem::random(&mut Random::new(3), chain, range);
            for t in 0..chain.len {
                (0..3).for_each(|j| problem.own[t * chain.stride() + j] += values[j]);
            }
            let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            let psi = Psi { shared: &shared, own: &own };
            for count in [1, 2, 8] {
                let once = AtMostOnce::new(3, count, |thing, _, after| after == 0 && thing == 0);
                let found = once.nbest(&chain, psi, 50, 400 * 51 * chain.len).unwrap();
                assert_eq!(found.len(), 50);
                assert!(found.iter().all(|found| once.is_satisfied_by(&found.labels)));
                for pair in found.windows(2) {
                    assert!(pair[0].score >= pair[1].score && pair[0].labels != pair[1].labels);
                }
                let mut best = Vec::new();
                let score = once.argmax(&chain, psi, &mut best);
                assert_eq!((score, &best), (found[0].score, &found[0].labels));
                assert!(once.nbest(&chain, psi, 50, 100 * chain.len).is_err(), "the answer does not fit");
                assert!(once.nbest(&chain, psi, usize::MAX, NBEST_MEMORY).is_err());
            }
        }
    }
}
