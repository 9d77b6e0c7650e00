//! Things that occur at most once: the best labelling, n-best lists, log Z and marginals equal those of the enumeration.

use crate::common;

use common::{Problem, chains, difference};
use crfkit::answers::ChainAnswers;
use crfkit::decode::AtMostOnce;
use crfkit::graph::{Graph, Label, LabelRules};
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
