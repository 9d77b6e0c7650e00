//! Answers under a constraint equal enumeration of the labellings that obey it.

use crate::common;

use common::{Problem, chains, difference};
use crfkit::answers::ChainAnswers;
use crfkit::graph::{Chain, Graph as _, Label, LabelBits, LabelRules};
use crfkit::infer::enumerate::enumerate;
use crfkit::math::random::Random;
use crfkit::{Place, Result};
use std::sync::Arc;

type Masks = Vec<(usize, LabelBits)>;

/// Some label sets at some positions; sometimes none.
fn masks(rng: &mut Random, chain: &Chain, share: f64) -> Masks {
    let mut masks = Vec::new();
    for t in 0..chain.len {
        if rng.uniform() < share {
            let mut set = LabelBits::none(chain.labels);
            set.insert(rng.below(chain.labels));
            (0..chain.labels).filter(|_| rng.uniform() < 0.3).for_each(|label| set.insert(label));
            masks.push((t, set));
        }
    }
    masks
}

fn rules(rng: &mut Random, labels: usize, share: f64) -> LabelRules {
    let forbidden: Vec<bool> = (0..(labels + 1) * (labels + 1)).map(|_| rng.uniform() < share).collect();
    let at = |label: Option<usize>| label.map_or(labels, |label| label);
    LabelRules::from_fn(labels, |i, j| !forbidden[at(i) * (labels + 1) + at(j)])
}

fn load(problem: &Problem, answers: &mut ChainAnswers, masks: &Masks) -> Result<()> {
    let place = || Place::new("here", 3);
    let own = answers.start(problem.chain);
    own.copy_from_slice(&problem.own_array::<f64>(None, 0.0).plane(0)[..problem.chain.own_len()]);
    answers.finish(place)?;
    if masks.is_empty() { Ok(()) } else { answers.allow(masks, place) }
}

/// Compares all answers with sums over the labellings that are allowed. Says whether there was one.
fn check(problem: &Problem, rules: Option<LabelRules>, masks: &Masks) -> bool {
    let chain = problem.chain;
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let allowed = |labels: &[Label]| {
        rules.as_ref().is_none_or(|rules| rules.is_satisfied_by(labels))
            && masks.iter().all(|(t, set)| set.contains(labels[*t] as usize))
    };
    let (kept, others): (Vec<_>, Vec<_>) =
        enumerate(&chain, &shared, &own).ranked.into_iter().partition(|(_, labels)| allowed(labels));
    let mut answers = ChainAnswers::new(Arc::new(shared), None);
    answers.obey(rules.clone().map(Arc::new));
    if let Err(error) = load(problem, &mut answers, masks) {
        assert!(kept.is_empty(), "{error}");
        assert!(error.to_string().starts_with("here:3: no labelling of this sequence"), "{error}");
        return false;
    }
    assert!(!kept.is_empty(), "impossible, and not said so: {chain:?}");
    let best = kept[0].0;
    let log_z = best + kept.iter().map(|(score, _)| (score - best).exp()).sum::<f64>().ln();
    let close = |a: f64, b: f64| difference(a, b) < 1e-11;
    assert!(close(answers.log_z(), log_z), "{} instead of {log_z} on {chain:?}", answers.log_z());
    for t in 0..chain.len {
        for label in 0..chain.labels as Label {
            let those = kept.iter().filter(|(_, labels)| labels[t] == label);
            let p: f64 = those.map(|(score, _)| (score - log_z).exp()).sum();
            let found = answers.marginal(t, label);
            assert!((found - p).abs() < 1e-11, "P = {p}, not {found}, at {t} on {chain:?}");
        }
    }
    let labels = answers.viterbi().to_vec();
    assert!(allowed(&labels) && close(answers.psi().score(&chain, &labels), best));
    assert!(answers.max_marginal().len() == chain.len);
    let ranked = answers.nbest(kept.len() + 5).unwrap();
    assert_eq!(ranked.len(), kept.len(), "all that are allowed, and no other");
    for (found, (score, _)) in ranked.iter().zip(&kept) {
        assert!(close(found.score, *score) && allowed(&found.labels));
        assert!((answers.probability(&found.labels) - (score - log_z).exp()).abs() < 1e-11);
    }
    for (_, labels) in others.iter().take(20) {
        assert_eq!(answers.probability(labels), 0.0);
        assert_eq!(answers.log_probability(labels), f64::NEG_INFINITY);
    }
    true
}

#[test]
fn answers_under_rules_and_masks_equal_enumeration() {
    let mut rng = Random::new(11);
    let mut seen = [0, 0];
    for chain in chains().into_iter().filter(|chain| chain.len > 0) {
        for range in [0.0, 2.0, 30.0, 700.0] {
            for (share, masked) in [(0.0, 0.6), (0.2, 0.0), (0.5, 0.0), (0.2, 0.4)] {
                let problem = Problem::random(&mut rng, chain, range);
                let rules = (share > 0.0).then(|| rules(&mut rng, chain.labels, share));
                let masks = masks(&mut rng, &chain, masked);
                seen[usize::from(check(&problem, rules, &masks))] += 1;
            }
        }
    }
    assert!(seen[0] > 10 && seen[1] > 50, "{seen:?} impossible and possible");
}

/// A label that the scores leave further behind with every token, and that a token far away needs.
#[test]
fn a_long_detour_is_found() {
    let len = 400;
    let chain = Chain { len, labels: 2, own_pairs: false, triples: false, segments: None };
    let mut problem = Problem::random(&mut Random::new(1), chain, 0.0);
    for t in 0..len {
        problem.own[t * chain.stride()] = 5.0;
    }
    let rules = LabelRules::from_fn(2, |i, j| i.is_none() || j.is_none() || i == j);
    let mut answers = ChainAnswers::new(Arc::new(problem.tables(None, 0.0)), None);
    answers.obey(Some(Arc::new(rules)));
    let mut last = LabelBits::none(2);
    last.insert(1);
    load(&problem, &mut answers, &vec![(len - 1, last)]).unwrap();
    assert!(answers.log_z().abs() < 1e-9 && answers.viterbi().iter().all(|label| *label == 1));
    assert!((0..len).all(|t| (answers.marginal(t, 1) - 1.0).abs() < 1e-12));
}

/// The constraint that training finds, IOB2, on more labels than fit into a vector.
#[test]
fn iob2_equals_enumeration() {
    let labels = 13;
    let rules =
        LabelRules::from_fn(labels, |i, j| j.is_none_or(|j| j < 7 || i == Some(j) || i == Some(j - 6)));
    assert_eq!(rules.steps(), Some(2));
    let chain = Chain { len: 3, labels, own_pairs: false, triples: false, segments: None };
    let mut rng = Random::new(5);
    for own_pairs in [false, true] {
        let problem = Problem::random(&mut rng, Chain { own_pairs, ..chain }, 5.0);
        assert!(check(&problem, Some(rules.clone()), &Vec::new()));
    }
}
