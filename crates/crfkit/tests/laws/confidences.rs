//! Probabilities of spans and chunks, and entropies, equal sums over all labellings.

use crate::common;

use common::{Problem, chains, difference};
use crfkit::answers::ChainAnswers;
use crfkit::eval::{ChunkLabels, chunks};
use crfkit::graph::{Chain, Graph, Label, LabelRules};
use crfkit::infer::enumerate::enumerate;
use crfkit::math::random::Random;
use crfkit::tag::chunk_probability;
use std::sync::Arc;

/// Answers about a problem, and every labelling with its probability.
fn loaded(problem: &Problem, rules: Option<LabelRules>) -> (ChainAnswers, Vec<(f64, Vec<Label>)>) {
    let chain = problem.chain;
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let mut all = enumerate(&chain, &shared, &own).ranked;
    all.retain(|(_, labels)| rules.as_ref().is_none_or(|rules| rules.is_satisfied_by(labels)));
    let best = all[0].0;
    let log_z = best + all.iter().map(|(score, _)| (score - best).exp()).sum::<f64>().ln();
    let all = all.into_iter().map(|(score, labels)| ((score - log_z).exp(), labels)).collect();
    let mut answers = ChainAnswers::new(Arc::new(shared), None);
    answers.obey(rules.map(Arc::new));
    answers.start(chain).copy_from_slice(&own.plane(0)[..chain.own_len()]);
    answers.finish(|| unreachable!("there are labellings")).unwrap();
    (answers, all)
}

#[test]
fn spans_and_entropies_equal_enumeration() {
    let mut rng = Random::new(3);
    for chain in chains() {
        for range in [0.0, 2.0, 30.0, 700.0] {
            let problem = Problem::random(&mut rng, chain, range);
            let (mut answers, all) = loaded(&problem, None);
            let entropy: f64 = all.iter().filter(|(p, _)| *p > 0.0).map(|(p, _)| -p * p.ln()).sum();
            assert!(difference(answers.entropy(), entropy) < 1e-9, "{} is not {entropy}", answers.entropy());
            for (start, end) in (0..chain.len).flat_map(|a| (a + 1..=chain.len).map(move |b| (a, b))) {
                let labels: Vec<Label> = (start..end).map(|_| rng.below(chain.labels) as Label).collect();
                let those = all.iter().filter(|(_, all)| all[start..end] == labels);
                let p: f64 = those.map(|(p, _)| p).sum();
                let found = answers.span_probability(start, &labels);
                assert!((found - p).abs() < 1e-10, "{found} is not {p} for {start}..{end} of {chain:?}");
                if let [before, after] = labels[..] {
                    let pair = answers.pair_marginal(start + 1, before, after);
                    assert!(
                        (pair - p).abs() < 1e-10,
                        "{pair} is not {p} for the pair at {start} of {chain:?}"
                    );
                }
            }
        }
    }
}

/// In every notation, with and without rules: each chunk that any labelling has.
#[test]
fn chunks_equal_enumeration() {
    let mut rng = Random::new(7);
    for names in [
        &["B-X", "B-Y", "I-X", "I-Y", "O"][..],
        &["I-X", "O", "B-X"],
        &["B-X", "E-X", "I-X", "O", "S-X"],
        &["B", "I", "O"],
    ] {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let marks = ChunkLabels::new(&names);
        for (own_pairs, constrained) in [(false, false), (true, false), (false, true)] {
            let chain = Chain { len: 4, labels: names.len(), own_pairs, triples: false, segments: None };
            let problem = Problem::random(&mut rng, chain, 2.0);
            let rules = constrained.then(|| {
                let name = |label: Option<usize>| label.map(|label| names[label].as_str());
                LabelRules::from_fn(names.len(), |i, j| crfkit::eval::Scheme::Iob2.permits(name(i), name(j)))
            });
            let (mut answers, all) = loaded(&problem, rules);
            let labels_of = |labels: &[Label]| -> Vec<&str> {
                labels.iter().map(|&label| names[label as usize].as_str()).collect()
            };
            let mut seen = 0;
            let kinds: &[&str] = if names.len() == 3 && names[0] == "B" { &[""] } else { &["X", "Y"] };
            for (start, end) in (0..4).flat_map(|a| (a + 1..=4).map(move |b| (a, b))) {
                for &kind in kinds {
                    let has = |labels: &[Label]| chunks(&labels_of(labels)).contains(&(start..end, kind));
                    let p: f64 = all.iter().filter(|(_, labels)| has(labels)).map(|(p, _)| p).sum();
                    let found = chunk_probability(&mut answers, &marks, start..end, kind);
                    assert!(
                        (found - p).abs() < 1e-10,
                        "{found} is not {p}: {start}..{end} {kind} of {names:?}"
                    );
                    seen += usize::from(p > 0.0);
                }
            }
            assert!(seen >= 10, "{seen} chunks of {names:?}");
        }
    }
}

/// The lead of the best labelling, and the entropies of single labels.
#[test]
fn margins_and_label_entropies_equal_enumeration() {
    let mut rng = Random::new(11);
    for chain in chains() {
        for range in [0.0, 2.0, 30.0] {
            let problem = Problem::random(&mut rng, chain, range);
            let (mut answers, all) = loaded(&problem, None);
            let margin = match &all[..] {
                [(best, _), (second, _), ..] => best.ln() - second.ln(),
                _ => f64::INFINITY,
            };
            let found = answers.margin().unwrap();
            assert!(found == margin || difference(found, margin) < 1e-9, "{found} is not {margin}");
            for t in 0..chain.len {
                for label in 0..chain.labels as Label {
                    let p: f64 = all.iter().filter(|(_, labels)| labels[t] == label).map(|(p, _)| p).sum();
                    assert!((answers.marginal(t, label) - p).abs() < 1e-10);
                }
            }
        }
    }
}

/// At a temperature, probabilities are those of the scores divided by it, and the best labelling stays.
#[test]
fn temperatures_equal_enumeration() {
    let mut rng = Random::new(13);
    for chain in chains().into_iter().filter(|chain| chain.len > 0) {
        let problem = Problem::random(&mut rng, chain, 3.0);
        for temperature in [0.25, 1.0, 4.0] {
            let (mut answers, all) = loaded(&problem, None);
            let best = answers.viterbi().to_vec();
            answers = answers.with_temperature(temperature);
            let own = problem.own_array::<f64>(None, 0.0);
            answers.start(chain).copy_from_slice(&own.plane(0)[..chain.own_len()]);
            answers.finish(|| unreachable!("there are labellings")).unwrap();
            assert_eq!(answers.viterbi(), best);
            let powers: Vec<f64> = all.iter().map(|(p, _)| (p.ln() / temperature).exp()).collect();
            let sum: f64 = powers.iter().sum();
            for ((_, labels), power) in all.iter().zip(&powers) {
                assert!((answers.probability(labels) - power / sum).abs() < 1e-9);
            }
            for t in 0..chain.len {
                let those = all.iter().zip(&powers).filter(|((_, labels), _)| labels[t] == best[t]);
                let p: f64 = those.map(|(_, power)| power / sum).sum();
                assert!((answers.marginal(t, best[t]) - p).abs() < 1e-9);
            }
        }
    }
}
