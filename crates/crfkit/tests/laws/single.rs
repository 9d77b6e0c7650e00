//! Passes in single precision against passes in double precision: value, gradient and residuals, on all kinds of chains.

use crfkit::data::dataset::Dataset;
use crfkit::graph::{Chain, Graph, Label, NODES};
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::math::random::Random;
use crfkit::model::{Features, Keep};
use crfkit::optim::{Compute, Distance, Objective};
use crfkit::risk::Risk;

const OBSERVATIONS: usize = 60;

/// Dense numbers of a token, if it has any: several of the vectors in which they are multiplied, and some over.
const DENSE: usize = 37;

/// What tokens have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    /// Observations have values, and sequences have weights.
    Valued,
    /// Tokens have dense numbers too.
    Dense,
    /// Those numbers are huge.
    Huge,
}
use Kind::{Dense, Huge, Plain, Valued};

/// Chains of these lengths, with random observations and weights.
fn data(seed: u64, labels: usize, lengths: &[usize], kind: Kind) -> Dataset<Chain> {
    let mut rng = Random::new(seed);
    let mut data = Dataset::new();
    let (dense, valued) = (if [Dense, Huge].contains(&kind) { DENSE } else { 0 }, kind == Valued);
    let size = if kind == Huge { 1e37 } else { 1.0 };
    if dense > 0 {
        data.set_dense(NODES, dense);
    }
    for &len in lengths {
        let chain = Chain { len, labels, own_pairs: false, triples: false, segments: None };
        for _ in 0..chain.own_tables() {
            for _ in 0..rng.below(5) {
                let id = rng.below(OBSERVATIONS).min(rng.below(OBSERVATIONS)) as u32;
                data.push_observation(
                    id + dense as u32,
                    if valued { rng.uniform() * 2.0 - 0.5 } else { 1.0 },
                );
            }
            if dense > 0 {
                data.push_dense(NODES, (0..dense).map(|_| size * (rng.uniform() as f32 - 0.5)));
            }
            data.finish_table();
        }
        // Neighbours are often alike, so that few pairs of many labels are seen.
        let mut label = rng.below(labels);
        let gold: Vec<Label> = (0..len)
            .map(|_| {
                label = (label + rng.below(3)) % labels;
                label as Label
            })
            .collect();
        data.finish_example(chain, gold, if valued { 0.5 + rng.uniform() } else { 1.0 });
    }
    data
}

fn risk(data: Dataset<Chain>, labels: usize, keep: Keep, threads: usize) -> Risk<Chain> {
    let dense: usize = data.dense().iter().map(|dense| dense.width()).sum();
    let features = Features::chain(&data, labels, [OBSERVATIONS + dense, 0], keep, true, true);
    Risk::new(Likelihood(ForwardBackward), features, data, threads).unwrap()
}

/// Lengths of a few hundred sequences: empty, short, one long.
fn lengths(seed: u64) -> Vec<usize> {
    let mut rng = Random::new(seed);
    (0..300).map(|k| if k == 7 { 150 } else { rng.below(12) }).collect()
}

fn weights(risk: &Risk<Chain>, seed: u64, size: f64) -> Vec<f64> {
    let mut rng = Random::new(seed);
    (0..risk.dim()).map(|_| size * (rng.uniform() * 2.0 - 1.0)).collect()
}

fn value_grad(risk: &Risk<Chain>, theta: &[f64], compute: Compute) -> (f64, Vec<f64>) {
    risk.compute(compute);
    let mut gradient = vec![0.0; theta.len()];
    (risk.value_grad(theta, &mut gradient), gradient)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Relative errors of value and gradient.
fn errors(risk: &Risk<Chain>, theta: &[f64]) -> [f64; 2] {
    let (exact, gradient) = value_grad(risk, theta, Compute::F64);
    let (value, mut single) = value_grad(risk, theta, Compute::F32);
    single.iter_mut().zip(&gradient).for_each(|(x, y)| *x -= y);
    [(value - exact).abs() / exact.abs().max(1.0), norm(&single) / norm(&gradient).max(10.0)]
}

#[test]
fn single_precision_is_near_double_precision() {
    for labels in [1, 2, 8, 22, 70, 200, 500] {
        let kinds = [Plain, Valued, Dense].map(|kind| (Keep::Observed, kind));
        for (keep, kind) in kinds.into_iter().chain([(Keep::All, Plain), (Keep::All, Dense)]) {
            if labels == 500 && keep == Keep::All {
                continue; // a quarter of a million pairs take seconds
            }
            let risk = risk(data(labels as u64, labels, &lengths(3), kind), labels, keep, 1);
            for size in [0.0, 0.1, 1.0, 3.0] {
                let [value, gradient] = errors(&risk, &weights(&risk, 5, size));
                let what = format!(
                    "{labels} labels, {keep:?}, {kind:?}, weights up to {size}: {value:e} {gradient:e}"
                );
                assert!(value < 1e-6 && gradient < 4e-6, "{what}");
                assert!(
                    labels < 8 || size == 0.0 || value + gradient > 0.0,
                    "{what}: not computed in single precision"
                );
            }
        }
    }
}

#[test]
fn errors_do_not_grow_with_the_length() {
    for len in [2, 10, 190] {
        let risk = risk(data(1, 5, &[len; 200], Plain), 5, Keep::All, 1);
        let [value, gradient] = errors(&risk, &weights(&risk, 2, 1.0));
        assert!(value > 0.0 && value < 3e-7 && gradient < 1e-6, "length {len}: {value:e} {gradient:e}");
    }
    // Too long to fill lanes: double precision.
    let risk = risk(data(1, 5, &[3000; 8], Plain), 5, Keep::All, 1);
    assert_eq!(errors(&risk, &weights(&risk, 2, 1.0)), [0.0, 0.0]);
}

#[test]
fn scores_too_far_apart_are_computed_in_double_precision() {
    for size in [20.0, 300.0, 1e5] {
        for (labels, kind) in [(3, Plain), (80, Plain), (3, Dense), (80, Dense)] {
            let risk = risk(data(4, labels, &lengths(8), kind), labels, Keep::Observed, 1);
            let [value, gradient] = errors(&risk, &weights(&risk, 9, size));
            assert!(
                value < 1e-6 && gradient < 1e-6,
                "{labels} labels, {kind:?}, {size}: {value:e} {gradient:e}"
            );
        }
    }
    let risk = risk(data(4, 3, &lengths(8), Plain), 3, Keep::All, 1);
    let mut theta = weights(&risk, 9, 1.0);
    theta[4] = f64::NAN;
    assert!(value_grad(&risk, &theta, Compute::F32).0.is_nan());
}

#[test]
fn pairs_far_below_the_others_do_not_cancel() {
    let risk = risk(data(6, 90, &lengths(2), Plain), 90, Keep::Observed, 1);
    for low in [-3.0, -5.0, -8.0, -20.0] {
        let mut theta = weights(&risk, 1, 0.5);
        let pairs = risk.features().tables[0].base;
        let mut rng = Random::new(3);
        theta[pairs..].iter_mut().filter(|_| rng.below(3) == 0).for_each(|w| *w = low);
        let [value, gradient] = errors(&risk, &theta);
        assert!(value < 1e-5 && gradient < 2e-5, "{low}: {value:e} {gradient:e}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (labels, kind) in [(5, Valued), (100, Valued), (5, Dense), (100, Dense)] {
        let results: Vec<_> = [1, 2, 3]
            .map(|threads| {
                let risk = risk(data(2, labels, &lengths(4), kind), labels, Keep::Observed, threads);
                value_grad(&risk, &weights(&risk, 7, 1.0), Compute::F32)
            })
            .into();
        assert!(results[1] == results[0] && results[2] == results[0], "{labels} labels, {kind:?}");
    }
}

#[test]
fn residuals_of_blocks_are_near_those_in_double_precision() {
    for (labels, kind) in [(70, Valued), (90, Valued), (90, Dense)] {
        let risk = risk(data(3, labels, &lengths(6), kind), labels, Keep::Observed, 1);
        let theta = weights(&risk, 8, 1.0);
        let residuals = |compute: Compute| {
            risk.compute(compute);
            let blocks = risk.blocks(80, 1, 1).unwrap();
            let mut worker = blocks.worker();
            (0..blocks.len())
                .map(|block| {
                    let mut out = vec![0.0; blocks.size(block)];
                    let value = worker.residuals(block, &theta, &mut out);
                    (value, out)
                })
                .collect::<Vec<_>>()
        };
        let (exact, single) = (residuals(Compute::F64), residuals(Compute::F32));
        assert_eq!(exact.len(), single.len());
        let mut differ = false;
        for ((value, residuals), (near, near_residuals)) in exact.iter().zip(&single) {
            assert!((value - near).abs() < 1e-5 * value.max(1.0), "{value} {near}");
            for (x, y) in residuals.iter().zip(near_residuals).filter(|(x, _)| x.abs() < 1e3) {
                assert!((x - y).abs() < 3e-6, "{x} {y}");
                differ |= x != y;
            }
        }
        assert!(differ, "not computed in single precision");
    }
}

#[test]
fn auto_changes_its_numbers_near_the_optimum() {
    let risk = risk(data(3, 6, &lengths(6), Plain), 6, Keep::Observed, 1);
    let theta = weights(&risk, 8, 1.0);
    let exact = value_grad(&risk, &theta, Compute::F64);
    assert!(!risk.approach(Distance::Far), "double precision is double precision");
    assert!(value_grad(&risk, &theta, Compute::F64) == exact);
    let far = value_grad(&risk, &theta, Compute::Auto);
    assert!(far != exact);
    assert!(risk.approach(Distance::Near));
    assert!(value_grad(&risk, &theta, Compute::Auto) == exact);
    assert!(!risk.approach(Distance::Near), "nothing has changed");
    assert!(value_grad(&risk, &theta, Compute::F32) == far);
    assert!(!risk.approach(Distance::Far), "single precision is single precision");
}

#[test]
fn bigram_observations_are_computed_in_double_precision() {
    let mut data = Dataset::new();
    for _ in 0..20 {
        let chain = Chain { len: 4, labels: 3, own_pairs: true, triples: false, segments: None };
        for f in 0..chain.own_tables() {
            data.push_observation((f % 3) as u32, 1.0);
            data.finish_table();
        }
        data.finish_example(chain, vec![0, 1, 2, 1], 1.0);
    }
    assert_eq!(data.graph(0).own_tables(), 7);
    let features = Features::chain(&data, 3, [3, 3], Keep::All, true, true);
    let risk = Risk::new(Likelihood(ForwardBackward), features, data, 1).unwrap();
    let theta = weights(&risk, 1, 1.0);
    assert!(value_grad(&risk, &theta, Compute::F32) == value_grad(&risk, &theta, Compute::F64));
}

#[test]
fn huge_numbers_are_multiplied_in_double_precision() {
    let risk = risk(data(3, 4, &lengths(6), Huge), 4, Keep::Observed, 1);
    let mut theta = weights(&risk, 1, 1.0);
    theta[..4 * DENSE].iter_mut().for_each(|w| *w *= 1e-37);
    let (value, gradient) = value_grad(&risk, &theta, Compute::F32);
    assert!(value.is_finite() && gradient.iter().all(|x| x.is_finite()));
    assert!((value, gradient) == value_grad(&risk, &theta, Compute::F64));
}
