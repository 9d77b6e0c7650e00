//! The functions u and v of EP2 (empirical-training-2013 section 3.7.2) against counts made by hand and a fit written out.

use crfkit::empirical::{
    Counts, EmpiricalMethod, EmpiricalModel, EmpiricalSettings, PairKind, PairWork, train,
};

fn model(sequences: &[&[(&str, &str)]], pairs: PairKind, sigma: f64) -> EmpiricalModel {
    let settings =
        EmpiricalSettings { method: EmpiricalMethod::Ep2, pairs, sigma, ..EmpiricalSettings::default() };
    let mut counts = Counts::new(pairs);
    sequences.iter().for_each(|sequence| counts.add(sequence.iter().copied()));
    train(&counts, &settings, None).unwrap().model
}

/// ln ψ̂ of a word that was never seen: ln u.
fn log_u(model: &EmpiricalModel, word: &str) -> Vec<f64> {
    assert!(!model.knows(word));
    let mut psi = vec![0.0; model.labels().len()];
    model.log_psi(model.word(word), &mut psi);
    psi
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 5e-3, "{what}: {found}, expected {expected}");
}

/// A weight for each spelling and label makes u saturated: without a prior it is the share of the label among the tokens of the
/// spelling, and the words of one spelling share it.
#[test]
fn u_is_the_share_of_labels_of_a_spelling() {
    let sequences: [&[(&str, &str)]; 4] = [
        &[("cat", "N"), ("jumped", "V"), ("cat", "N")],
        &[("bed", "N"), ("waited", "V"), ("dog", "N")],
        &[("run", "V"), ("jumped", "V"), ("lamp", "N")],
        &[("wanted", "N"), ("jumped", "V")],
    ];
    let model = model(&sequences, PairKind::Tags, 1e4);
    assert_eq!(model.labels(), ["N", "V"]);
    // -ed: bed, wanted are N; jumped three times and waited are V. No feature: cat twice, dog, lamp are N; run is V.
    for (word, shares) in [("walked", [2.0 / 6.0, 4.0 / 6.0]), ("tram", [4.0 / 5.0, 1.0 / 5.0])] {
        for (found, share) in log_u(&model, word).into_iter().zip(shares) {
            close(found, f64::ln(share), word);
        }
    }
}

/// exp of scores, normalised.
fn softmax(scores: &[f64]) -> Vec<f64> {
    let total: f64 = scores.iter().map(|x| x.exp()).sum();
    scores.iter().map(|x| x.exp() / total).collect()
}

/// One group of observations for a penalised regression: the weights of each outcome, and how often it was seen.
type Group = Vec<(Vec<usize>, f64)>;

/// The weights that minimise Σ −n ln p + Σ (w − mean)²/2σ², by plain gradient steps.
fn fit(groups: &[Group], mean: &[f64], sigma: f64) -> Vec<f64> {
    let (mut w, total) = (mean.to_vec(), groups.iter().flatten().map(|(_, n)| n).sum::<f64>());
    let step = 1.0 / (2.0 * total + 1.0 / (sigma * sigma));
    for _ in 0..20_000 {
        let mut gradient: Vec<f64> =
            w.iter().zip(mean).map(|(w, mean)| (w - mean) / (sigma * sigma)).collect();
        for group in groups {
            let p = predict(group, &w);
            let seen: f64 = group.iter().map(|(_, n)| n).sum();
            for ((weights, n), p) in group.iter().zip(p) {
                weights.iter().for_each(|&k| gradient[k] += seen * p - n);
            }
        }
        w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= step * g);
    }
    w
}

fn predict(group: &Group, w: &[f64]) -> Vec<f64> {
    let scores: Vec<f64> = group.iter().map(|(weights, _)| weights.iter().map(|&k| w[k]).sum()).collect();
    softmax(&scores)
}

/// With pairs of labels, v(y, y') ∝ exp(α(y) + β(y') + θ(y, y')), with ln P̃ as the prior's mean of α and β. A pair that was never seen
/// has ln v/(P̃·P̃) as its rate, a pair that was seen the rate of its counts.
#[test]
fn v_is_the_penalised_fit_and_replaces_pairs_never_seen() {
    // N N once, N V three times, V N twice, V V never; five N and four V.
    let sequences: [&[(&str, &str)]; 3] = [
        &[("cat", "N"), ("run", "V"), ("dog", "N"), ("hid", "V")],
        &[("lamp", "N"), ("oven", "N"), ("cook", "V")],
        &[("walk", "V"), ("cat", "N")],
    ];
    let (pairs, tokens) = ([1.0, 3.0, 2.0, 0.0], [5.0, 4.0]);
    for sigma in [0.5, 1.0, 3.0] {
        let model = model(&sequences, PairKind::Tags, sigma);
        let prior = tokens.map(|n| n / 9.0);
        for (found, expected) in model.label_frequencies().iter().zip(prior) {
            close(*found, expected, "P̃");
        }
        // α 0–1, β 2–3, θ 4–7.
        let outcome = |k: usize| (vec![k / 2, 2 + k % 2, 4 + k], pairs[k]);
        let group: Group = (0..4).map(outcome).collect();
        let mut mean = vec![0.0; 8];
        (0..4).for_each(|k| mean[k] = f64::ln(prior[k % 2]));
        let v = predict(&group, &fit(std::slice::from_ref(&group), &mean, sigma));
        assert!(v[3] > 0.01, "{v:?}");
        for k in 0..4 {
            let p = if k == 3 { v[3] } else { pairs[k] / 6.0 };
            let rate = p / (prior[k / 2] * prior[k % 2]);
            close(model.log_rate([k as u32 / 2, k as u32 % 2]), rate.ln(), &format!("σ {sigma}, pair {k}"));
        }
    }
}

/// With lexical pairs, two words that were never side by side have φ̂ = v/(u·u), u and v of their spellings: rows of weights for all
/// words and for -ed. It is the same whether a word is known or not.
#[test]
fn unseen_word_pairs_have_v_over_u_and_u() {
    let sequences: [&[(&str, &str)]; 5] = [
        &[("cat", "N"), ("jumped", "V"), ("dog", "N")],
        &[("bed", "N"), ("waited", "V")],
        &[("run", "V"), ("jumped", "N"), ("lamp", "N")],
        &[("run", "V"), ("cat", "N")],
        &[("hid", "V"), ("dog", "V")],
    ];
    let sigma = 2.0;
    let model = model(&sequences, PairKind::Lexical, sigma);
    let ed = |word: &str| usize::from(word.ends_with("ed"));
    let label = |name: &str| usize::from(name == "V");
    let tokens: Vec<(usize, usize)> =
        sequences.iter().flat_map(|s| s.iter().map(|(word, name)| (ed(word), label(name)))).collect();
    let share = |y: usize| tokens.iter().filter(|token| token.1 == y).count() as f64 / tokens.len() as f64;
    let log_prior = [share(0).ln(), share(1).ln()];
    // u: λ of all words 0–1, of -ed 2–3. A spelling has the rows of its features.
    let rows = |base: usize, spelling: usize, y: usize| {
        (0..=spelling).map(move |row| base + 2 * row + y).collect::<Vec<usize>>()
    };
    let single = |spelling: usize| -> Group {
        let count = |y: usize| tokens.iter().filter(|token| **token == (spelling, y)).count() as f64;
        (0..2).map(|y| (rows(0, spelling, y), count(y))).collect()
    };
    let u = fit(&[single(0), single(1)], &[log_prior[0], log_prior[1], 0.0, 0.0], sigma);
    // v: α 0–3, β 4–7, θ 8–11.
    let seen: Vec<([usize; 2], usize)> = sequences
        .iter()
        .flat_map(|s| s.windows(2))
        .map(|w| ([ed(w[0].0), ed(w[1].0)], 2 * label(w[0].1) + label(w[1].1)))
        .collect();
    let double = |spellings: [usize; 2]| -> Group {
        let outcome = |k: usize| {
            let weights = [rows(0, spellings[0], k / 2), rows(4, spellings[1], k % 2), vec![8 + k]].concat();
            (weights, seen.iter().filter(|pair| **pair == (spellings, k)).count() as f64)
        };
        (0..4).map(outcome).collect()
    };
    let spellings = [[0, 0], [0, 1], [1, 0], [1, 1]];
    let mut mean = vec![0.0; 12];
    (0..2).for_each(|y| (mean[y], mean[4 + y]) = (log_prior[y], log_prior[y]));
    let v = fit(&spellings.map(double), &mean, sigma);
    let mut phi = vec![0.0; 2 * 8];
    let mut seen_none = 0;
    for (before, word) in [("mug", "walked"), ("dog", "tram"), ("waited", "cat"), ("jumped", "waited")] {
        model.log_phi(model.word(before), model.word(word), &mut phi, &mut PairWork::default());
        seen_none += usize::from(!model.knows(before) && !model.knows(word));
        let [a, b] = [ed(before), ed(word)];
        let joint = predict(&double([a, b]), &v);
        let [left, right] = [a, b].map(|spelling| predict(&single(spelling), &u));
        for k in 0..4 {
            let expected = joint[k] / (left[k / 2] * right[k % 2]);
            close(phi[k / 2 * 8 + k % 2], expected.ln(), &format!("{before} {word}, pair {k}"));
        }
    }
    assert_eq!(seen_none, 1, "known and unknown words");
}
