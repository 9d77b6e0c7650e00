//! Second-order chains against enumeration: inference, answers, constraints, and underflow.

use crate::common;

use common::{Problem, difference, second_order_chains, segment_chains};
use crfkit::Place;
use crfkit::answers::ChainAnswers;
use crfkit::decode::{AtMostOnce, Direction};
use crfkit::graph::{
    Chain, Gradient, Graph as _, Label, LabelBits, LabelRules, PAIR, Psi, SharedSum, TRIPLE,
};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{ForwardBackward, Inference};
use crfkit::math::Array;
use crfkit::math::random::Random;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

#[test]
fn inference_equals_enumeration() {
    let mut rng = Random::new(1);
    for chain in second_order_chains() {
        for range in [0.0, 1.0, 20.0, 80.0, 400.0] {
            let problem = Problem::random(&mut rng, chain, range);
            let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            let all = enumerate(&chain, &shared, &own);
            let (mut marginals, mut sums) = (Array::zeros(own.len()), SharedSum::new(&shared));
            let mut out = Gradient { own: marginals.slice_mut(0..own.len()), shared: &mut sums };
            let psi = Psi { shared: &shared, own: &own };
            let found = ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut Default::default());
            sums.finish(&shared);
            assert!(
                difference(found.log_z, all.log_z) < 1e-11,
                "{} against {} on {chain:?}",
                found.log_z,
                all.log_z
            );
            for i in (0..own.len()).filter(|i| i % chain.stride() < chain.labels) {
                assert!((marginals.get(i) - all.own[i]).abs() < 1e-10, "own {i} on {chain:?} at {range}");
            }
            for (id, sum) in sums.0.iter().enumerate() {
                for (i, mu) in sum.direct.plane(0).iter().enumerate() {
                    let right = all.shared[id][i];
                    assert!(
                        (mu - right).abs() < 1e-10,
                        "table {id}, {i} on {chain:?} at {range}: {mu} {right}"
                    );
                }
            }
        }
    }
}

fn rules(rng: &mut Random, labels: usize, share: f64) -> LabelRules {
    let forbidden: Vec<bool> = (0..(labels + 1) * (labels + 1)).map(|_| rng.uniform() < share).collect();
    let at = |label: Option<usize>| label.map_or(labels, |label| label);
    LabelRules::from_fn(labels, |i, j| !forbidden[at(i) * (labels + 1) + at(j)])
}

/// Everything that restricts the labellings of a problem.
struct Limits {
    rules: Option<LabelRules>,
    masks: Vec<(usize, LabelBits)>,
    once: Option<AtMostOnce>,
}

/// All answers under the limits, against sums over the labellings that they allow. Says whether there was one.
fn check(problem: &Problem, limits: &Limits, own_rules: Option<&LabelRules>) -> bool {
    let chain = problem.chain;
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let allowed = |labels: &[Label]| {
        [limits.rules.as_ref(), own_rules].into_iter().flatten().all(|rules| rules.is_satisfied_by(labels))
            && limits.masks.iter().all(|(t, set)| set.contains(labels[*t] as usize))
            && limits.once.as_ref().is_none_or(|once| once.is_satisfied_by(labels))
    };
    let (kept, others): (Vec<_>, Vec<_>) = enumerate(&chain, &shared, &own)
        .ranked
        .into_iter()
        .partition(|(score, labels)| *score > -1e11 && allowed(labels));
    // The rules of the model itself are in its tables already.
    let shared = match own_rules {
        Some(rules) => Arc::new(rules.clone()).imposed_on(&shared),
        None => shared,
    };
    let mut answers = ChainAnswers::new(Arc::new(shared), None);
    if let Some(rules) = &limits.rules {
        answers.obey(Some(Arc::new(rules.clone())));
    }
    answers.at_most_once(limits.once.clone().map(Arc::new));
    let place = || Place::new("here", 3);
    let tables = answers.start(chain);
    tables.copy_from_slice(&own.plane(0)[..chain.own_len()]);
    let mut loaded = answers.finish(place);
    if loaded.is_ok() && !limits.masks.is_empty() {
        loaded = answers.allow(&limits.masks, place);
    }
    if let Err(error) = loaded {
        assert!(kept.is_empty(), "{error}");
        return false;
    }
    assert!(!kept.is_empty(), "impossible, and not said so: {chain:?}");
    let best = kept[0].0;
    let log_z = best + kept.iter().map(|(score, _)| (score - best).exp()).sum::<f64>().ln();
    let close = |a: f64, b: f64| difference(a, b) < 1e-10;
    assert!(close(answers.log_z(), log_z), "{} instead of {log_z} on {chain:?}", answers.log_z());
    let share = |test: &dyn Fn(&[Label]) -> bool| -> f64 {
        kept.iter().filter(|(_, labels)| test(labels)).map(|(score, _)| (score - log_z).exp()).sum()
    };
    for t in 0..chain.len {
        for label in 0..chain.labels as Label {
            let (found, p) = (answers.marginal(t, label), share(&|labels| labels[t] == label));
            assert!((found - p).abs() < 1e-10, "P = {p}, not {found}, at {t} on {chain:?}");
        }
    }
    let labels = answers.viterbi().to_vec();
    assert!(allowed(&labels) && close(answers.psi().score(&chain, &labels), best), "{labels:?} on {chain:?}");
    let ranked = answers.nbest(kept.len() + 5).unwrap();
    assert_eq!(ranked.len(), kept.len(), "all that are allowed, and no other");
    let distinct: HashSet<_> = ranked.iter().map(|ranked| &ranked.labels).collect();
    assert_eq!(distinct.len(), kept.len(), "each of them once");
    for (found, (score, _)) in ranked.iter().zip(&kept) {
        assert!(close(found.score, *score) && allowed(&found.labels));
        assert!((answers.probability(&found.labels) - (score - log_z).exp()).abs() < 1e-10);
    }
    for (_, labels) in others.iter().take(20) {
        assert_eq!(answers.probability(labels), 0.0);
    }
    for tokens in [0..1, 0..chain.len, chain.len - 1..chain.len, chain.len / 2..chain.len]
        .into_iter()
        .filter(|r| !r.is_empty())
    {
        check_span(&mut answers, &labels, tokens, &share);
    }
    let entropy: f64 = kept.iter().map(|(score, _)| (log_z - score) * (score - log_z).exp()).sum();
    assert!(
        (answers.entropy() - entropy).abs() < 1e-8 * (1.0 + log_z.abs()),
        "{} {entropy}",
        answers.entropy()
    );
    true
}

/// The probability of the labellings that pass a test.
type Share<'a> = dyn Fn(&dyn Fn(&[Label]) -> bool) -> f64 + 'a;

/// P of the labels of some tokens, and of a step by which no two neighbours there are equal.
fn check_span(answers: &mut ChainAnswers, best: &[Label], tokens: Range<usize>, share: &Share) {
    let found = answers.span_probability(tokens.start, &best[tokens.clone()]);
    let p = share(&|labels| labels[tokens.clone()] == best[tokens.clone()]);
    assert!((found - p).abs() < 1e-10, "{found} instead of {p}");
    let found = answers.probability_where(tokens.clone(), |_, before, after| before != after);
    let p = share(&|labels| {
        (tokens.start..=tokens.end).all(|t| t.checked_sub(1).map(|t| labels[t]) != labels.get(t).copied())
    });
    assert!((found - p).abs() < 1e-10, "{found} instead of {p}");
}

#[test]
fn answers_equal_enumeration() {
    let mut rng = Random::new(2);
    let mut seen = [0, 0];
    // Chains of first order too: they answer about spans and entropies another way when things occur at most once.
    let first = second_order_chains().into_iter().map(|chain| Chain { triples: false, ..chain });
    let segments = segment_chains().into_iter();
    for chain in second_order_chains().into_iter().chain(first).chain(segments).filter(|chain| chain.len > 0)
    {
        for range in [0.0, 2.0, 30.0, 700.0] {
            for case in 0..8 {
                let problem = Problem::random(&mut rng, chain, range);
                let rule = |rng: &mut Random, share| Some(rules(rng, chain.labels, share));
                let masks = (0..chain.len)
                    .filter(|_| case % 4 == 3)
                    .map(|t| {
                        let mut set = LabelBits::none(chain.labels);
                        set.insert(rng.below(chain.labels));
                        (0..chain.labels).filter(|_| rng.uniform() < 0.5).for_each(|label| set.insert(label));
                        (t, set)
                    })
                    .collect();
                // Label 0, and a step from label 1 to another one.
                let begins = |thing, before: Option<usize>, after: usize| match thing {
                    0 => after == 0,
                    _ => before == Some(1) && after != 1,
                };
                let limits = Limits {
                    rules: if case % 2 == 1 { rule(&mut rng, 0.3) } else { None },
                    masks,
                    once: (case == 5 || case == 6).then(|| AtMostOnce::new(chain.labels, 2, begins)),
                };
                let own = if case >= 4 { rule(&mut rng, 0.2) } else { None };
                seen[usize::from(check(&problem, &limits, own.as_ref()))] += 1;
            }
        }
    }
    assert!(seen[0] > 50 && seen[1] > 300, "{seen:?}");
}

#[test]
fn a_state_that_underflows_and_matters_is_found_in_log_space() {
    // Label 0 leads nowhere but to itself, and the last position needs it; every position before speaks against it.
    let chain = Chain { len: 60, labels: 2, own_pairs: false, triples: true, segments: None };
    let rules =
        LabelRules::from_fn(2, |i, j| i != Some(0) && j != Some(0) || i == j || i.is_none() || j.is_none());
    let mut problem = Problem::random(&mut Random::new(3), chain, 1.0);
    for t in 0..chain.len - 1 {
        problem.own[t * chain.stride()] = -20.0;
    }
    let shared = Arc::new(rules).imposed_on(&problem.tables(None, 0.0));
    let mut answers = ChainAnswers::new(Arc::new(shared), None);
    let own = problem.own_array::<f64>(None, 0.0);
    answers.start(chain).copy_from_slice(&own.plane(0)[..chain.own_len()]);
    answers.finish(|| Place::new("here", 1)).unwrap();
    let mut last = LabelBits::none(2);
    last.insert(0);
    answers.allow(&[(chain.len - 1, last)], || Place::new("here", 1)).unwrap();
    // One labelling is left.
    let labels = vec![0; chain.len];
    assert!(difference(answers.log_z(), answers.psi().score(&chain, &labels)) < 1e-11);
    assert!((answers.marginal(30, 0) - 1.0).abs() < 1e-11 && answers.viterbi() == labels);
    assert!((answers.probability(&labels) - 1.0).abs() < 1e-9);
}

#[test]
fn without_weights_of_triples_it_is_a_first_order_chain() {
    let mut rng = Random::new(4);
    for len in [1, 2, 3, 7] {
        let chain = Chain { len, labels: 5, own_pairs: true, triples: true, segments: None };
        let mut problem = Problem::random(&mut rng, chain, 3.0);
        problem.shared[TRIPLE].fill(0.0);
        let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        let log_z = |chain: Chain, shared: &[_]| {
            let (mut marginals, mut sums) = (Array::zeros(own.len()), SharedSum::new(shared));
            let mut out = Gradient { own: marginals.slice_mut(0..own.len()), shared: &mut sums };
            let psi = Psi { shared, own: &own };
            let log_z = ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut Default::default()).log_z;
            sums.finish(shared);
            (log_z, marginals, sums.0.remove(PAIR).direct)
        };
        let (second, first) =
            (log_z(chain, &shared), log_z(Chain { triples: false, ..chain }, &shared[..TRIPLE]));
        assert!(difference(second.0, first.0) < 1e-12);
        for (a, b) in [(second.1, first.1), (second.2, first.2)] {
            a.plane(0).iter().zip(b.plane(0)).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        }
    }
}

/// Models that are normalised label by label: the probability of a labelling is the product of the conditionals, each summed by hand.
#[test]
fn local_models_are_products_of_conditionals() {
    let mut rng = Random::new(9);
    for chain in second_order_chains().into_iter().filter(|chain| chain.len > 0) {
        for direction in [Direction::Forward, Direction::Backward] {
            let problem = Problem::random(&mut rng, chain, 3.0);
            let (tables, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
            let (labels, last) = (chain.labels, chain.len - 1);
            let psi = Psi { shared: &tables, own: &own };
            // All terms that name a label, and of the others only those on the side that it is conditioned on.
            let conditional = |y: &[Label], t: usize| {
                let score = |label: usize| {
                    let mut y = y.to_vec();
                    y[t] = label as Label;
                    let mut sum = 0.0;
                    chain.for_each_factor(|factor| {
                        let k = if direction == Direction::Forward { factor.vars.len() - 1 } else { 0 };
                        if factor.vars[k] == t {
                            sum += psi.value(&factor, &y);
                        }
                    });
                    sum
                };
                let all: f64 = (0..labels).map(|label| score(label).exp()).sum();
                score(y[t] as usize).exp() / all
            };
            let mut answers = ChainAnswers::new(Arc::new(tables.clone()), Some(direction));
            answers.start(chain).copy_from_slice(own.plane(0));
            answers.finish(|| Place::new("test", 1)).unwrap();
            let mut total = 0.0;
            for number in 0..labels.pow(chain.len as u32) {
                let y: Vec<Label> =
                    (0..chain.len).map(|t| (number / labels.pow(t as u32) % labels) as Label).collect();
                let right: f64 = (0..=last).map(|t| conditional(&y, t)).product();
                let found = answers.probability(&y);
                assert!((found - right).abs() < 1e-11, "{found} {right} {y:?} {chain:?} {direction:?}");
                total += found;
            }
            assert!((total - 1.0).abs() < 1e-9);
        }
    }
}
