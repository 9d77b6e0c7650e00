//! Conjugate gradients, Newton and truncated Newton are their recursions: on a small random field, where everything is enumerated, every
//! iterate is the one of a slow transcription. Only the length of a step is taken from the run, and it must be one that the rules of
//! the line search allow: the first that is tried, if that satisfies the strong Wolfe conditions.

use crate::enumerated;
use crate::objectives;
use crate::risks;

use crfkit::math::vector::{dot, norm};
use crfkit::model::Keep;
use crfkit::optim::{
    Cg, Control, Mean, Newton, NewtonCg, Objective, Optimizer, Prior, Problem, Progress, State, StoppingRule,
};
use enumerated::{Enumerated, solve};
use objectives::{Look, distance};
use risks::{ChainRisk, SMALL, Shape, risk};

fn prior(risk: &ChainRisk, sigma: f64) -> Prior {
    let first_pair = risk.features().first_pair_weight();
    Prior { sigma, sigma_pairs: 0.7 * sigma, first_pair, mean: Mean::Value(0.1) }
}

fn until() -> StoppingRule {
    StoppingRule { gradient_tolerance: 1e-4, tolerance: 0.0, passes: 20_000.0, ..StoppingRule::default() }
}

/// All iterates of a run from `start`.
fn iterates(method: &dyn Optimizer, problem: &Problem, start: &[f64]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    let mut watch = Look(|progress: &Progress, _: &dyn Fn() -> State| {
        all.push(progress.theta.unwrap().to_vec());
        Control::Continue
    });
    method.minimize(problem, State::start(start.to_vec()), &mut watch).unwrap();
    all
}

/// Where the transcription is.
struct Slow {
    theta: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl Slow {
    fn new(truth: &Enumerated, theta: Vec<f64>) -> Self {
        let (value, gradient) = truth.value_grad(&theta);
        Slow { theta, value, gradient }
    }

    /// Goes along `direction` as far as the run went, which is now at `there`. Says if that was the first trial.
    fn follow(
        &self,
        truth: &Enumerated,
        direction: &[f64],
        first: f64,
        c2: f64,
        there: &[f64],
    ) -> (Slow, bool) {
        let moved: Vec<f64> = there.iter().zip(&self.theta).map(|(new, old)| new - old).collect();
        let step = dot(&moved, direction) / dot(direction, direction);
        let at = |step: f64| {
            let theta: Vec<f64> = self.theta.iter().zip(direction).map(|(x, d)| x + step * d).collect();
            Slow::new(truth, theta)
        };
        let slope = dot(&self.gradient, direction);
        let wolfe = |point: &Slow, step: f64| {
            let enough = point.value <= self.value + 1e-4 * step * slope;
            enough && dot(&point.gradient, direction).abs() <= -c2 * slope
        };
        let (tried, new) = (at(first), at(step));
        let is_first = (step - first).abs() < 1e-7 * first;
        assert!(wolfe(&new, step * (1.0 - 1e-9)), "the step {step} satisfies the strong Wolfe conditions");
        // Rounding of values decides near the end.
        let clear = self.value - tried.value > 1e-12 * self.value;
        assert!(is_first || !clear || !wolfe(&tried, first), "{step} though {first} would do");
        let off = distance(&new.theta, there);
        assert!(off < 1e-10, "off by {off}");
        if is_first {
            let off = distance(&tried.theta, there);
            assert!(off < 1e-9, "off by {off} with the step {first}");
        }
        (new, is_first)
    }
}

fn problems() -> Vec<(ChainRisk, f64)> {
    let shape = Shape { examples: 8, ..SMALL };
    vec![
        (risk(1, shape), 2.0),
        (risk(2, Shape { values: Some(-0.5), keep: Keep::Observed, ..shape }), 2.0),
        (risk(3, Shape { labels: 2, own_pairs: false, ..shape }), 0.8),
    ]
}

/// Runs a method and hands each pair of iterates to its transcription.
fn compare(method: &dyn Optimizer, least: usize, mut next: impl FnMut(&Enumerated, Slow, &[f64]) -> Slow) {
    for (risk, sigma) in problems() {
        let prior = prior(&risk, sigma);
        let truth = Enumerated::new(&risk, &prior);
        let problem = Problem { objective: &risk, prior, l1: 0.0 };
        let start: Vec<f64> = (0..risk.dim()).map(|i| 0.3 * (i as f64).sin()).collect();
        let all = iterates(method, &problem, &start);
        assert!(all.len() > least, "{} iterates", all.len());
        assert_eq!(all[0], start);
        let mut slow = Slow::new(&truth, start);
        for there in &all[1..] {
            slow = next(&truth, slow, there);
        }
    }
}

#[test]
fn conjugate_gradients_are_polak_and_ribieres() {
    let nu = 0.2;
    // Direction, gain of the last step; none at the start of a run.
    let mut memory: Option<(Vec<f64>, f64)> = None;
    let (mut restarts, mut bent, mut firsts) = (0, 0, 0);
    compare(&Cg { nu, until: until() }, 8, |truth, slow, there| {
        // A new run starts with no memory.
        let fresh = slow.theta.iter().enumerate().all(|(i, x)| *x == 0.3 * (i as f64).sin());
        let (d, gain) = memory.take().filter(|_| !fresh).unwrap_or_default();
        let steepest: Vec<f64> = slow.gradient.iter().map(|g| -g).collect();
        let d = if d.is_empty() { steepest } else { d };
        let slope = dot(&d, &slow.gradient);
        // As much gain as last time, or a step of length 1.
        let first = if gain < 0.0 { gain / slope } else { 1.0 / norm(&d) };
        let (new, is_first) = slow.follow(truth, &d, first, 0.1, there);
        firsts += usize::from(is_first);
        let moved: Vec<f64> = new.theta.iter().zip(&slow.theta).map(|(new, old)| new - old).collect();
        let gain = dot(&moved, &slow.gradient);
        // β = gᵀ(g − g')/g'ᵀg'.
        let (g, last) = (&new.gradient, &slow.gradient);
        let change: Vec<f64> = g.iter().zip(last).map(|(g, last)| g - last).collect();
        let beta = dot(g, &change) / dot(last, last);
        let next: Vec<f64> = g.iter().zip(&d).map(|(g, d)| -g + beta * d).collect();
        let far = dot(g, last).abs() >= nu * dot(g, g);
        let anew = beta <= 0.0 || far || dot(&next, g) >= 0.0;
        if anew {
            restarts += 1;
        } else {
            bent += 1;
        }
        memory = Some((if anew { Vec::new() } else { next }, gain));
        new
    });
    assert!(restarts > 3 && bent > 10 && firsts > 0, "{restarts} {bent} {firsts}");
}

#[test]
fn newton_steps_to_the_minimum_of_the_quadratic() {
    let (mut whole, mut all) = (0, 0);
    compare(&Newton { until: until() }, 3, |truth, slow, there| {
        let minus: Vec<f64> = slow.gradient.iter().map(|g| -g).collect();
        let d = solve(truth.hessian(&slow.theta), minus);
        let (new, is_first) = slow.follow(truth, &d, 1.0, 0.9, there);
        whole += usize::from(is_first);
        all += 1;
        new
    });
    assert!(whole > 8 && whole + 3 > all, "{whole} of {all} steps of length 1");
}

#[test]
fn truncated_newton_is_dembo_and_steihaugs() {
    for products in [100, 3] {
        let (mut whole, mut most) = (0, 0);
        compare(&NewtonCg { products, until: until() }, 3, |truth, slow, there| {
            let hessian = truth.hessian(&slow.theta);
            let times = |v: &[f64]| hessian.iter().map(|row| dot(row, v)).collect::<Vec<f64>>();
            let size = norm(&slow.gradient);
            let enough = f64::min(0.5, size.sqrt()) * size;
            // Algorithm 7.1 of Nocedal and Wright (2006): z, r, d with r = H z + g.
            let mut z = vec![0.0; slow.theta.len()];
            let mut r = slow.gradient.clone();
            let mut d: Vec<f64> = r.iter().map(|r| -r).collect();
            for k in 1..=products {
                let hd = times(&d);
                assert!(dot(&d, &hd) > 0.0, "convex");
                let alpha = dot(&r, &r) / dot(&d, &hd);
                let old = dot(&r, &r);
                z.iter_mut().zip(&d).for_each(|(z, d)| *z += alpha * d);
                r.iter_mut().zip(&hd).for_each(|(r, hd)| *r += alpha * hd);
                most = most.max(k);
                if norm(&r) <= enough {
                    break;
                }
                let beta = dot(&r, &r) / old;
                d.iter_mut().zip(&r).for_each(|(d, r)| *d = -r + beta * *d);
            }
            let (new, is_first) = slow.follow(truth, &z, 1.0, 0.9, there);
            whole += usize::from(is_first);
            new
        });
        assert!(whole > 8 && most >= products.min(6), "{whole} steps of length 1, {most} products");
    }
}
