//! The empirical risk: gradient and Hessian-vector product with respect to θ, batches, threads, and the kinds of features.

use crate::common;

use common::difference;
use crfkit::data::dataset::Dataset;
use crfkit::decode::{Direction, Viterbi};
use crfkit::graph::{Chain, Graph, Label};
use crfkit::infer::ForwardBackward;
use crfkit::loss::{
    BethePieces, ChainPiecewise, ChainPiecewisePseudolikelihood, Likelihood, Loss, MaxMargin, Memm,
    Perceptron, Pieces, Pseudolikelihood, SoftmaxMargin,
};
use crfkit::math::random::Random;
use crfkit::math::vector::dot;
use crfkit::model::{Features, Keep};
use crfkit::optim::Ability;
use crfkit::optim::{Objective, Touched};
use crfkit::risk::{Derivative, Risk};

const NODES: usize = 40;
const PAIRS: usize = 6;

/// Random chains with random observations: repeated ones, none at all, real values, weights, pair observations.
fn data(seed: u64, labels: usize, own_pairs: bool, valued: bool) -> Dataset<Chain> {
    let mut rng = Random::new(seed);
    let mut data = Dataset::new();
    // Enough that some observations are frequent and others rare.
    for example in 0..80 {
        let chain = Chain {
            len: rng.below(7) + usize::from(example % 5 != 0),
            labels,
            own_pairs,
            triples: false,
            segments: None,
        };
        for f in 0..chain.own_tables() {
            let observations = if f < chain.len { NODES } else { PAIRS };
            for _ in 0..rng.below(5) {
                let id = rng.below(observations).min(rng.below(observations)) as u32; // low numbers are frequent
                data.push_observation(id, if valued { rng.uniform() * 2.0 - 0.5 } else { 1.0 });
            }
            data.finish_table();
        }
        let gold: Vec<Label> = (0..chain.len).map(|_| rng.below(labels) as Label).collect();
        data.finish_example(chain, gold, if valued { 0.5 + rng.uniform() } else { 1.0 });
    }
    data
}

fn risk<L: Loss<Graph = Chain> + 'static>(
    loss: L,
    seed: u64,
    labels: usize,
    keep: Keep,
    [own_pairs, valued]: [bool; 2],
    threads: usize,
) -> Risk<Chain> {
    let data = data(seed, labels, own_pairs, valued);
    let features = Features::chain(&data, labels, [NODES, PAIRS], keep, true, true);
    Risk::new(loss, features, data, threads).unwrap()
}

/// Something that holds for every loss.
trait Law {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L);
}

fn each_loss(law: impl Law) {
    law.check(Likelihood(ForwardBackward));
    law.check(Pseudolikelihood::default());
    law.check(Perceptron(Viterbi));
    law.check(SoftmaxMargin(Likelihood(ForwardBackward)));
    law.check(MaxMargin(Viterbi));
    law.check(Memm(Direction::Forward));
    law.check(Memm(Direction::Backward));
    for pieces in [Pieces::Factor, Pieces::Edge, Pieces::SharedUnary] {
        law.check(ChainPiecewise { pieces });
        law.check(ChainPiecewisePseudolikelihood { pieces });
    }
    law.check(BethePieces(ChainPiecewise { pieces: Pieces::Bethe }));
}

fn vector(rng: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.uniform() * 2.0 - 1.0).collect()
}

fn each_kind<L: Loss<Graph = Chain> + Copy + 'static>(loss: L, mut check: impl FnMut(Risk<Chain>, &str)) {
    for labels in [1, 3, 9, 70] {
        for keep in [Keep::Observed, Keep::All] {
            for own_pairs in [false, true] {
                for valued in [false, true] {
                    let name = format!("{labels} labels, {keep:?}, pairs {own_pairs}, values {valued}");
                    check(risk(loss, 5, labels, keep, [own_pairs, valued], 1), &name);
                }
            }
        }
    }
}

struct Slopes;

impl Law for Slopes {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L) {
        let mut rng = Random::new(1);
        each_kind(loss, |risk, name| {
            let n = risk.dim();
            let (theta, v) = (vector(&mut rng, n), vector(&mut rng, n));
            let value_grad = |h: f64| {
                let moved: Vec<f64> = theta.iter().zip(&v).map(|(x, v)| x + h * v).collect();
                let mut gradient = vec![0.0; n];
                (risk.value_grad(&moved, &mut gradient), gradient)
            };
            let h = 1e-5;
            let ((plus, g_plus), (minus, g_minus), (_, gradient)) =
                (value_grad(h), value_grad(-h), value_grad(0.0));
            let slope = dot(&gradient, &v);
            assert!(difference(slope, (plus - minus) / (2.0 * h)) < 1e-6, "{name}: slope");
            let (mut again, mut hess_vec) = (vec![0.0; n], vec![0.0; n]);
            risk.hess_vec(&theta, &v, &mut again, &mut hess_vec);
            for i in 0..n {
                assert!((again[i] - gradient[i]).abs() < 1e-12, "{name}: the gradient beside H·v");
                let numeric = (g_plus[i] - g_minus[i]) / (2.0 * h);
                assert!(
                    (hess_vec[i] - numeric).abs() < 1e-6,
                    "{name}: H·v at {i}: {} {numeric}",
                    hess_vec[i]
                );
            }
        });
    }
}

#[test]
fn gradient_is_slope_and_hessian_vector_is_slope_of_gradient() {
    each_loss(Slopes);
}

struct Batches;

impl Law for Batches {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L) {
        let mut rng = Random::new(2);
        each_kind(loss, |risk, name| {
            let n = risk.dim();
            let (theta, v) = (vector(&mut rng, n), vector(&mut rng, n));
            let (mut gradient, mut hess_vec) = (vec![0.0; n], vec![0.0; n]);
            let value = risk.hess_vec(&theta, &v, &mut gradient, &mut hess_vec);
            let order: Vec<u32> = (0..risk.examples() as u32).rev().collect();
            let (mut sum, mut sum_gradient, mut sum_hess_vec) = (0.0, vec![0.0; n], vec![0.0; n]);
            let (mut touched, mut g, mut hv) = (Touched::default(), Vec::new(), Vec::new());
            // Rows hardly repeat in a single example, so that it reads weights in another way than a batch.
            let (single, together) = order.split_at(order.len() / 2);
            for batch in single.chunks(1).chain(together.chunks(4)) {
                risk.touched(batch, &mut touched);
                sum += risk.batch_grad(batch, &theta, &touched, &mut g);
                let plain = g.clone();
                risk.batch_hess_vec(batch, [&theta, &v], &touched, &mut g, &mut hv);
                assert_eq!(g.len(), touched.len());
                for (k, i) in touched.weights().enumerate() {
                    assert!((plain[k] - g[k]).abs() < 1e-12);
                    sum_gradient[i] += g[k];
                    sum_hess_vec[i] += hv[k];
                }
            }
            assert!(difference(sum, value) < 1e-12, "{name}");
            for i in 0..n {
                assert!((sum_gradient[i] - gradient[i]).abs() < 1e-11, "{name}: gradient {i}");
                assert!((sum_hess_vec[i] - hess_vec[i]).abs() < 1e-11, "{name}: H·v {i}");
            }
        });
    }
}

#[test]
fn batches_add_up_to_the_whole() {
    each_loss(Batches);
}

struct Threads;

impl Law for Threads {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L) {
        self.on(loss, Keep::All, true);
        self.on(loss, Keep::Observed, false);
    }
}

impl Threads {
    fn on<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L, keep: Keep, valued: bool) {
        let mut rng = Random::new(3);
        let theta = vector(&mut rng, risk(loss, 7, 5, keep, [true, valued], 1).dim());
        let bits: Vec<Vec<u64>> = [1, 2, 3, 7]
            .map(|threads| {
                let risk = risk(loss, 7, 5, keep, [true, valued], threads);
                let mut gradient = vec![0.0; risk.dim()];
                let mut values = vec![risk.value_grad(&theta, &mut gradient)];
                values.append(&mut gradient);
                // Below and above the size from which batches are divided, in equal parts and others.
                for size in [3, 8, 9, 17, 21] {
                    let batch: Vec<u32> = (0..size).rev().collect();
                    let mut touched = Touched::default();
                    risk.touched(&batch, &mut touched);
                    let (mut g, mut hv) = (Vec::new(), Vec::new());
                    values.push(risk.batch_grad(&batch, &theta, &touched, &mut g));
                    values.append(&mut g);
                    values.push(risk.batch_hess_vec(&batch, [&theta, &theta], &touched, &mut g, &mut hv));
                    values.extend(g.iter().chain(&hv));
                }
                values.iter().map(|x| x.to_bits()).collect()
            })
            .into();
        assert!(bits.iter().all(|b| *b == bits[0]));
    }
}

#[test]
fn the_complex_step_equals_dual_numbers() {
    let mut rng = Random::new(6);
    let mut same_bits = true;
    each_kind(Likelihood(ForwardBackward), |risk, name| {
        let n = risk.dim();
        let (theta, v) = (vector(&mut rng, n), vector(&mut rng, n));
        let batch = [3, 1, 11, 20];
        let mut touched = Touched::default();
        risk.touched(&batch, &mut touched);
        let every = |risk: &Risk<Chain>| {
            let (mut g, mut hv) = (vec![0.5; n], vec![0.25; n]); // both are added to
            let value = risk.hess_vec(&theta, &v, &mut g, &mut hv);
            let (mut batch_g, mut batch_hv) = (Vec::new(), Vec::new());
            let batch_value =
                risk.batch_hess_vec(&batch, [&theta, &v], &touched, &mut batch_g, &mut batch_hv);
            [vec![value, batch_value], g, hv, batch_g, batch_hv].concat()
        };
        let dual = every(&risk);
        let (features, data) = (risk.features().clone(), risk.data().clone());
        let loss = Likelihood(ForwardBackward);
        let complex = every(&Risk::with_derivative(loss, Derivative::Complex, features, data, 1).unwrap());
        assert_eq!(dual.len(), complex.len());
        same_bits &= dual == complex;
        for (i, (dual, complex)) in dual.iter().zip(&complex).enumerate() {
            assert!(difference(*dual, *complex) < 1e-12, "{name}: {dual} {complex} at {i} of {n}");
        }
    });
    assert!(!same_bits, "two ways of rounding");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    each_loss(Threads);
}

struct Hessian;

impl Law for Hessian {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L) {
        let risk = risk(loss, 9, 4, Keep::Observed, [true, false], 1);
        let mut rng = Random::new(4);
        let n = risk.dim();
        let (theta, u, v) = (vector(&mut rng, n), vector(&mut rng, n), vector(&mut rng, n));
        let times = |x: &[f64]| {
            let (mut g, mut hv) = (vec![0.0; n], vec![0.0; n]);
            risk.hess_vec(&theta, x, &mut g, &mut hv);
            hv
        };
        assert!(difference(dot(&u, &times(&v)), dot(&v, &times(&u))) < 1e-12);
        // Piecewise linear losses have no curvature.
        let curvature = dot(&u, &times(&u));
        let smooth = loss.provides().contains(&Ability::Smooth);
        assert!(if smooth { curvature > 0.0 } else { curvature == 0.0 });
    }
}

#[test]
fn hessian_is_symmetric_and_positive() {
    each_loss(Hessian);
}
