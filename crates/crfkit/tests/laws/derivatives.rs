//! Second and third law: every gradient is the slope of its value, every Hessian-vector product the slope of its gradient.

use crate::common;

use common::{Problem, chains, difference, second_order_chains, segment_chains};
use crfkit::decode::{Direction, Viterbi};
use crfkit::graph::Chain;
use crfkit::infer::ForwardBackward;
use crfkit::loss::{
    BethePieces, ChainPiecewise, ChainPiecewisePseudolikelihood, Likelihood, Loss, Marginal, MaxMargin, Memm,
    Perceptron, Pieces, Piecewise, PiecewisePseudolikelihood, Pseudolikelihood, SoftmaxMargin,
};
use crfkit::math::random::Random;
use crfkit::math::{Complex64, Dual, Scalar};

fn laws<L: Loss<Graph = Chain>>(loss: &L, seed: u64) {
    laws_on(&chains(), loss, seed);
}

fn laws_on<L: Loss<Graph = Chain>>(chains: &[Chain], loss: &L, seed: u64) {
    let mut rng = Random::new(seed);
    for &chain in chains {
        for range in [1.0, 5.0] {
            let problem = Problem::random(&mut rng, chain, range);
            let direction = Problem::random(&mut rng, chain, 1.0);
            gradient_is_slope(loss, &problem, &direction, 1e-12);
            hessian_vector_is_slope_of_gradient(loss, &problem, &direction);
        }
        // Scores that force log space.
        let problem = Problem::random(&mut rng, chain, 400.0);
        let direction = Problem::random(&mut rng, chain, 1.0);
        dual_equals_complex(loss, &problem, &direction);
    }
}

fn gradient_is_slope<L: Loss<Graph = Chain>>(loss: &L, x: &Problem, d: &Problem, rounding: f64) {
    let (_, own, shared) = x.evaluate::<f64, L>(loss, None, 0.0);
    let slope = x.slope(&own, &shared, d);
    let h = 1e-5;
    let value = |h: f64| x.moved(d, h).evaluate::<f64, L>(loss, None, 0.0).0;
    let numeric = (value(h) - value(-h)) / (2.0 * h);
    assert!(difference(slope, numeric) < 1e-6, "slope {slope} against {numeric} on {:?}", x.chain);
    // The ε part of the value is the slope too, exactly.
    let (dual, ..) = x.evaluate::<Dual, L>(loss, Some(d), 1.0);
    let slope_too = dual.eps();
    assert!(difference(slope, slope_too) < rounding, "{slope} against {slope_too} on {:?}", x.chain);
}

fn hessian_vector_is_slope_of_gradient<L: Loss<Graph = Chain>>(loss: &L, x: &Problem, d: &Problem) {
    let (_, own, shared) = x.evaluate::<Dual, L>(loss, Some(d), 1.0);
    let h = 1e-5;
    let (_, plus, plus_shared) = x.moved(d, h).evaluate::<f64, L>(loss, None, 0.0);
    let (_, minus, minus_shared) = x.moved(d, -h).evaluate::<f64, L>(loss, None, 0.0);
    let stride = x.chain.stride();
    for i in (0..own.len()).filter(|i| i % stride < x.chain.labels) {
        let numeric = (plus.get(i) - minus.get(i)) / (2.0 * h);
        assert!((own.get(i).eps() - numeric).abs() < 1e-7, "H·v at {i} on {:?}", x.chain);
    }
    for (id, sum) in shared.0.iter().enumerate() {
        for i in 0..sum.direct.len() {
            let numeric = (plus_shared.0[id].direct.get(i) - minus_shared.0[id].direct.get(i)) / (2.0 * h);
            assert!((sum.direct.get(i).eps() - numeric).abs() < 1e-7);
        }
    }
    dual_equals_complex(loss, x, d);
}

fn dual_equals_complex<L: Loss<Graph = Chain>>(loss: &L, x: &Problem, d: &Problem) {
    let step = 1e-100;
    // Segments are summed in log space, where scores of hundreds cost digits: complex logarithms round otherwise.
    let rounding = if x.chain.segments.is_some() { 1e-9 } else { 1e-12 };
    let (value, own, shared) = x.evaluate::<Dual, L>(loss, Some(d), 1.0);
    let (value_c, own_c, shared_c) = x.evaluate::<Complex64, L>(loss, Some(d), step);
    assert!(difference(value.eps(), value_c.eps() / step) < rounding);
    for i in 0..own.len() {
        let (a, b) = (own.get(i).eps(), own_c.get(i).eps() / step);
        assert!((a - b).abs() < rounding, "{a} against {b} at {i} on {:?}", x.chain);
    }
    for (a, b) in shared.0.iter().zip(&shared_c.0) {
        for i in 0..a.direct.len() {
            assert!((a.direct.get(i).eps() - b.direct.get(i).eps() / step).abs() < 10.0 * rounding);
        }
    }
}

#[test]
fn likelihood_by_forward_backward() {
    laws(&Likelihood(ForwardBackward), 11);
}

#[test]
fn pseudolikelihood() {
    laws(&Pseudolikelihood::default(), 12);
}

#[test]
fn piecewise() {
    laws(&Piecewise::default(), 13);
    for pieces in ["factor", "edge", "shared-unary", "window:2"].map(|name| name.parse().unwrap()) {
        laws(&ChainPiecewise { pieces }, 14);
    }
    laws(&BethePieces(ChainPiecewise { pieces: Pieces::Bethe }), 14);
}

#[test]
fn piecewise_pseudolikelihood() {
    laws(&PiecewisePseudolikelihood::default(), 15);
    for pieces in ["factor", "edge", "shared-unary", "window:2"].map(|name| name.parse().unwrap()) {
        laws(&ChainPiecewisePseudolikelihood { pieces }, 16);
    }
}

#[test]
fn maximum_entropy_markov_models() {
    laws(&Memm(Direction::Forward), 17);
    laws(&Memm(Direction::Backward), 18);
}

/// Piecewise linear: its subgradient is a slope, and the slope of that is 0, wherever the best labelling stays the same.
#[test]
fn perceptron() {
    laws(&Perceptron(Viterbi), 19);
}

/// It gives no Hessian-vector products: the second law only. Its second pass has directions as long as 1/μ, which cost digits.
#[test]
fn marginal_loss() {
    let mut rng = Random::new(20);
    for chain in chains() {
        for range in [1.0, 5.0] {
            let (x, d) = (Problem::random(&mut rng, chain, range), Problem::random(&mut rng, chain, 1.0));
            gradient_is_slope(&Marginal(ForwardBackward), &x, &d, 1e-10);
        }
    }
}

#[test]
fn losses_of_chains_with_segments() {
    laws_on(&segment_chains(), &Likelihood(ForwardBackward), 51);
    laws_on(&segment_chains(), &SoftmaxMargin(Likelihood(ForwardBackward)), 52);
    let mut rng = Random::new(53);
    for chain in segment_chains() {
        for loss in 0..3 {
            let problem = Problem::random(&mut rng, chain, 2.0);
            let direction = Problem::random(&mut rng, chain, 1.0);
            match loss {
                0 => gradient_is_slope(&Marginal(ForwardBackward), &problem, &direction, 1e-9),
                1 => gradient_is_slope(&MaxMargin(Viterbi), &problem, &direction, 1e-9),
                _ => gradient_is_slope(&Perceptron(Viterbi), &problem, &direction, 1e-9),
            }
        }
    }
}

#[test]
fn losses_of_second_order_chains() {
    laws_on(&second_order_chains(), &Likelihood(ForwardBackward), 41);
    laws_on(&second_order_chains(), &Pseudolikelihood::<Chain>::default(), 42);
    laws_on(&second_order_chains(), &Memm(Direction::Forward), 47);
    laws_on(&second_order_chains(), &Memm(Direction::Backward), 48);
    let mut rng = Random::new(43);
    for chain in second_order_chains() {
        for loss in 0..2 {
            let problem = Problem::random(&mut rng, chain, 2.0);
            let direction = Problem::random(&mut rng, chain, 1.0);
            match loss {
                0 => gradient_is_slope(&Marginal(ForwardBackward), &problem, &direction, 1e-9),
                _ => gradient_is_slope(&Perceptron(Viterbi), &problem, &direction, 1e-9),
            }
        }
    }
}
