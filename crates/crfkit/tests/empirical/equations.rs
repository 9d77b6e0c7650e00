//! Equations of empirical-training-2013 that hold whatever the data: co-occurrence rates of three (eq. 2–3), and the conditions of a
//! maximum of the likelihood (eq. 16–17), with every probability by enumeration.

use crfkit::empirical::studies::Sample;
use crfkit::empirical::{Counts, EmpiricalMethod, EmpiricalSettings, PairKind, PairWork, train};
use crfkit::graph::Label;
use crfkit::math::random::Random;
use crfkit::math::simd;
use crfkit::optim::{Lbfgs, Prior};
use std::collections::BTreeMap;

/// ln CR(x; y) of every pair of labels, as a model of a first and a second word that are always the same has it.
fn log_rates(pairs: &[(String, String, u64)]) -> BTreeMap<(String, String), f64> {
    let mut counts = Counts::new(PairKind::Lexical);
    for (x, y, n) in pairs {
        (0..*n).for_each(|_| counts.add([("first", x.as_str()), ("second", y.as_str())]));
    }
    let settings =
        EmpiricalSettings { pairs: PairKind::Lexical, floor: -100.0, ..EmpiricalSettings::default() };
    let model = train(&counts, &settings, None).unwrap().model;
    let stride = simd::padded(model.labels().len());
    let mut phi = vec![0.0; model.labels().len() * stride];
    model.log_phi(model.word("first"), model.word("second"), &mut phi, &mut PairWork::default());
    let at = |name: &str| model.label(name).unwrap() as usize;
    pairs.iter().map(|(x, y, _)| ((x.clone(), y.clone()), phi[at(x) * stride + at(y)])).collect()
}

/// Counts of x, y and z: three labels each.
type Three = [[[u64; 3]; 3]; 3];

/// The counts of two of the three, or of one and a pair; each with a name that tells what it stands for.
fn merged(
    three: &Three,
    names: impl Fn(usize, usize, usize) -> (String, String),
) -> Vec<(String, String, u64)> {
    let mut sums = BTreeMap::new();
    for (x, y, z) in (0..27).map(|k| (k / 9, k / 3 % 3, k % 3)) {
        *sums.entry(names(x, y, z)).or_insert(0) += three[x][y][z];
    }
    sums.into_iter().map(|((a, b), n)| (a, b, n)).collect()
}

fn check_rates(three: &Three, independent: bool) {
    let total = three.iter().flatten().flatten().sum::<u64>() as f64;
    let sum = |holds: &dyn Fn([usize; 3]) -> bool| {
        let all = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3]).filter(|&xyz| holds(xyz));
        all.map(|[x, y, z]| three[x][y][z]).sum::<u64>() as f64 / total
    };
    let [xn, yn, zn] = ["x", "y", "z"].map(|v| move |k: usize| format!("{v}{k}"));
    let x_yz = log_rates(&merged(three, |x, y, z| (xn(x), yn(y) + &zn(z))));
    let y_z = log_rates(&merged(three, |_, y, z| (yn(y), zn(z))));
    let x_z = log_rates(&merged(three, |x, _, z| (xn(x), zn(z))));
    let mut differ = false;
    for (x, y, z) in (0..27).map(|k| (k / 9, k / 3 % 3, k % 3)) {
        // Eq. 1 for three, by definition.
        let [px, py, pz] = [(0, x), (1, y), (2, z)].map(|(at, k)| sum(&|xyz| xyz[at] == k));
        let three_way = (three[x][y][z] as f64 / total / (px * py * pz)).ln();
        let pair = x_yz[&(xn(x), yn(y) + &zn(z))];
        let product = pair + y_z[&(yn(y), zn(z))];
        assert!((three_way - product).abs() < 1e-12, "eq. 2: {three_way} {product}");
        let alone = x_z[&(xn(x), zn(z))];
        differ |= (pair - alone).abs() > 0.05;
        assert!(!independent || (pair - alone).abs() < 1e-12, "eq. 3: {pair} {alone}");
    }
    assert_eq!(differ, !independent, "eq. 3 needs independence");
}

/// The co-occurrence rate of three variables is a product of rates of two (empirical-training-2013 eq. 2). If X and Y are
/// independent given Z, the rate of X and (Y, Z) is that of X and Z (eq. 3).
#[test]
fn rates_of_three_are_products_of_rates_of_two() {
    let mut rng = Random::new(1);
    for _ in 0..10 {
        // Any counts.
        let any: Three = [(); 3].map(|()| [(); 3].map(|()| [(); 3].map(|()| 1 + rng.below(30) as u64)));
        check_rates(&any, false);
        // X and Y independent given Z: n(x, y, z) = a(x, z)·b(y, z).
        let [a, b]: [[[u64; 3]; 3]; 2] =
            [(); 2].map(|()| [(); 3].map(|()| [(); 3].map(|()| 1 + rng.below(7) as u64)));
        let mut three = Three::default();
        (0..27).for_each(|k| three[k / 9][k / 3 % 3][k % 3] = a[k / 9][k % 3] * b[k / 3 % 3][k % 3]);
        check_rates(&three, true);
    }
}

/// P̂(y|x) or P̂(y, y'|x, x') at θ, summed over the data, and the same of the labels that were seen; by their place in θ. Labellings are
/// enumerated, each with its score from the definition of θ.
fn marginals(sample: &Sample, theta: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let labels = sample.labels.len();
    let (mut expected, mut seen) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
    for (words, gold) in &sample.sequences {
        let places = |y: &[usize]| {
            let nodes = words.iter().zip(y).map(|(&x, y)| sample.node(x) + y);
            let pairs = words.windows(2).zip(y.windows(2));
            let pairs = pairs.map(|(x, y)| sample.pair(x[0], x[1]) + y[0] * labels + y[1]);
            nodes.chain(pairs).collect::<Vec<usize>>()
        };
        let all: Vec<Vec<usize>> = (0..labels.pow(words.len() as u32))
            .map(|k| (0..words.len()).map(|t| k / labels.pow(t as u32) % labels).collect())
            .collect();
        let scores: Vec<f64> =
            all.iter().map(|y| places(y).iter().map(|&i| theta[i]).sum::<f64>().exp()).collect();
        let z: f64 = scores.iter().sum();
        for (y, score) in all.iter().zip(&scores) {
            places(y).into_iter().for_each(|i| expected[i] += score / z);
        }
        let gold: Vec<usize> = gold.iter().map(|&y| y as usize).collect();
        places(&gold).into_iter().for_each(|i| seen[i] += 1.0);
    }
    (expected, seen)
}

/// The largest |P̂ − P̃| of any word (eq. 16) and any pair of words (eq. 17).
fn off(sample: &Sample, theta: &[f64]) -> [f64; 2] {
    let (expected, seen) = marginals(sample, theta);
    let (labels, pairs) = (sample.labels.len(), sample.pair(0, 0));
    let worst = |range: std::ops::Range<usize>, width: usize| {
        let tables = expected[range.clone()].chunks(width).zip(seen[range].chunks(width));
        let table = |(expected, seen): (&[f64], &[f64])| {
            // #(x), or #(x, x'); both sides are the same number of tokens.
            let n: f64 = seen.iter().sum();
            assert!((expected.iter().sum::<f64>() - n).abs() < 1e-9 * n.max(1.0));
            let differences = expected.iter().zip(seen).map(|(a, b)| (a - b).abs() / n.max(1.0));
            differences.fold(0.0, f64::max)
        };
        tables.map(table).fold(0.0, f64::max)
    };
    [worst(0..pairs, labels), worst(pairs..theta.len(), labels * labels)]
}

/// Sequences of one to four words whose labels depend on words and neighbours, and all of which occur.
fn random_sample(seed: u64, labels: &'static [&'static str]) -> Sample {
    let mut rng = Random::new(seed);
    let words: &'static [&'static str] = &["a", "b", "c"];
    let mut draw = || {
        let x: Vec<usize> = (0..1 + rng.below(4)).map(|_| rng.below(words.len())).collect();
        let mut y: Vec<Label> = Vec::new();
        for &x in &x {
            let last = y.last().copied().unwrap_or(0) as usize;
            let own = if rng.below(3) == 0 { last + x } else { x };
            y.push(if rng.below(3) == 0 { rng.below(labels.len()) } else { own % labels.len() } as Label);
        }
        (x, y)
    };
    Sample { words, labels, sequences: (0..600).map(|_| draw()).collect() }
}

#[test]
fn at_a_maximum_of_the_likelihood_estimated_marginals_are_empirical_ones() {
    let method = Lbfgs { gradient_tolerance: 1e-12, tolerance: 0.0, passes: 20_000.0, ..Lbfgs::default() };
    let mut rng = Random::new(2);
    for (seed, labels) in [(1, &["0", "1"][..]), (2, &["0", "1", "2"])] {
        let sample = random_sample(seed, labels);
        let likelihood = sample.likelihood();
        let mut found = Vec::new();
        // A maximum from anywhere: there are many, all with these marginals.
        for scale in [0.0, 1.0] {
            let start: Vec<f64> = (0..sample.dim()).map(|_| scale * (rng.uniform() * 2.0 - 1.0)).collect();
            assert!(off(&sample, &start).iter().all(|off| *off > 0.05), "not so at the start");
            let theta = likelihood.fit(start, Prior::gaussian(f64::INFINITY), &method).unwrap();
            let [single, pair] = off(&sample, &theta);
            // As near as values tell the line search.
            assert!(single < 1e-6 && pair < 1e-6, "{labels:?}: {single} {pair}");
            found.push(theta);
        }
        let apart = found[0].iter().zip(&found[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart > 0.1, "two maxima");
        // A prior pulls them away.
        let pulled = likelihood.fit(vec![0.0; sample.dim()], Prior::gaussian(0.5), &method).unwrap();
        assert!(off(&sample, &pulled).iter().all(|off| *off > 1e-3));
    }
}

/// êp meets the conditions on the five instances, and fails them on the eight.
#[test]
fn the_estimate_in_closed_form_meets_the_conditions_where_it_is_a_maximum() {
    let settings = EmpiricalSettings {
        pairs: PairKind::Lexical,
        floor: -100.0,
        method: EmpiricalMethod::Ep1,
        ..EmpiricalSettings::default()
    };
    let theta = |sample: &Sample| {
        let model = train(&sample.counts(settings.pairs), &settings, None).unwrap().model;
        sample.theta_of(&model)
    };
    let (five, eight) = (Sample::five(), Sample::eight());
    assert!(off(&five, &theta(&five)).iter().all(|off| *off < 1e-12));
    assert!(off(&five, &Sample::test_time_problem()).iter().all(|off| *off < 1e-12));
    assert!(off(&eight, &theta(&eight)).iter().all(|off| *off > 0.01));
}
