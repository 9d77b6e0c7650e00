//! The batch methods on classical functions and on a small random field, and against slow transcriptions of their definitions.

use crate::objectives;
use crate::risks;

use crfkit::math::random::Random;
use crfkit::math::vector::dot;
use crfkit::model::Keep;
use crfkit::optim::Ability;
use crfkit::optim::{
    Bfgs, Cg, Control, Differences, Gis, Lbfgs, Newton, NewtonCg, Objective, Optimizer, Pgis, Prior, Problem,
    Progress, State, Stop, StoppingRule, Touched, TripleJump, hessian,
};
use objectives::{Look, Losses, distance, minimize, problem, total};
use risks::{SMALL, Shape, exact, labellings, risk};

/// No early stops.
fn endless() -> StoppingRule {
    StoppingRule { gradient_tolerance: 1e-14, tolerance: 0.0, passes: 50_000.0, ..StoppingRule::default() }
}

fn methods() -> [(&'static str, Box<dyn Optimizer>); 4] {
    let until = endless();
    [
        ("BFGS", Box::new(Bfgs { until: until.clone(), ..Bfgs::default() })),
        ("CG", Box::new(Cg { until: until.clone(), ..Cg::default() })),
        ("Newton", Box::new(Newton { until: until.clone() })),
        ("Newton-CG", Box::new(NewtonCg { until, ..NewtonCg::default() })),
    ]
}

#[test]
fn least_squares_of_any_conditioning() {
    for condition in [1.0, 1e2, 1e4, 1e6] {
        for (noise, sigma) in [(0.0, f64::INFINITY), (2.0, f64::INFINITY), (2.0, 3.0)] {
            let losses = Losses::least_squares(1, 60, 12, condition, noise);
            let differences = Differences::new(&losses);
            let problem = Problem { objective: &differences, ..problem(&losses, sigma) };
            let best = total(&problem, &minimize(&exact(), &problem).theta);
            for (name, method) in methods() {
                let gap = total(&problem, &minimize(&*method, &problem).theta) - best;
                assert!(gap.abs() < 1e-8, "{name}, condition {condition}, noise {noise}, σ {sigma}: {gap}");
            }
        }
    }
}

#[test]
fn a_curved_valley() {
    let losses = Losses::rosenbrock();
    let differences = Differences::new(&losses);
    let problem = Problem { objective: &differences, ..problem(&losses, f64::INFINITY) };
    // The Hessian is indefinite at the last one.
    for start in [[-1.2, 1.0], [0.0, 0.0], [3.0, -4.0], [0.0, 1.0]] {
        for (name, method) in methods() {
            let mut last = f64::INFINITY;
            let mut watch = Look(|progress: &Progress, _: &dyn Fn() -> State| {
                let value = progress.objective.unwrap();
                assert!(value < last, "{name}: the objective rises from {last} to {value}");
                last = value;
                Control::Continue
            });
            let found = method.minimize(&problem, State::start(start.to_vec()), &mut watch).unwrap();
            assert!(distance(&found.theta, &[1.0, 1.0]) < 1e-7, "{name} from {start:?}: {found:?}");
            assert!(found.passes < 300.0, "{name} from {start:?}: {} evaluations", found.passes);
        }
    }
}

/// (θ − 3)², in which approximate inference fails beyond 1.
struct Cliff;

impl Objective for Cliff {
    fn dim(&self) -> usize {
        1
    }
    fn examples(&self) -> usize {
        1
    }
    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }
    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        gradient[0] += 2.0 * (theta[0] - 3.0);
        (theta[0] - 3.0).powi(2)
    }
    fn value_grad_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        (self.value_grad(theta, gradient), usize::from(theta[0] > 1.0))
    }
    fn hess_vec(&self, _: &[f64], _: &[f64], _: &mut [f64], _: &mut [f64]) -> f64 {
        unreachable!("it is not given")
    }
    fn touched(&self, _: &[u32], _: &mut Touched) {
        unreachable!("batch methods take all examples")
    }
    fn batch_grad(&self, _: &[u32], _: &[f64], _: &Touched, _: &mut Vec<f64>) -> f64 {
        unreachable!("batch methods take all examples")
    }
    fn batch_hess_vec(
        &self,
        _: &[u32],
        _: [&[f64]; 2],
        _: &Touched,
        _: &mut Vec<f64>,
        _: &mut Vec<f64>,
    ) -> f64 {
        unreachable!("batch methods take all examples")
    }
}

#[test]
fn nobody_steps_to_where_inference_fails() {
    let methods: [(&str, Box<dyn Optimizer>); 3] = [
        ("L-BFGS", Box::new(Lbfgs { tolerance: 0.0, ..Lbfgs::default() })),
        ("BFGS", Box::new(Bfgs { until: endless(), ..Bfgs::default() })),
        ("CG", Box::new(Cg { until: endless(), ..Cg::default() })),
    ];
    let problem = Problem { objective: &Cliff, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    for (name, method) in methods {
        let found = minimize(&*method, &problem);
        assert!((0.99..=1.0).contains(&found.theta[0]), "{name}: {found:?}");
        assert_eq!(found.stop, Stop::Inference, "{name}");
        // Who starts where it fails may go on there, and gets out.
        let start = State::start(vec![9.0]);
        let found = method.minimize(
            &problem,
            start,
            &mut Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue),
        );
        assert!((found.unwrap().theta[0] - 3.0).abs() < 1e-6, "{name}");
    }
}

#[test]
fn a_small_random_field() {
    for (seed, shape) in [(1, SMALL), (2, Shape { values: Some(-0.5), keep: Keep::Observed, ..SMALL })] {
        let risk = risk(seed, shape);
        let prior = Prior {
            sigma_pairs: 0.5,
            first_pair: risk.features().first_pair_weight(),
            ..Prior::gaussian(2.0)
        };
        let problem = Problem { objective: &risk, prior, l1: 0.0 };
        let best = minimize(&exact(), &problem);
        for (name, method) in methods() {
            let found = minimize(&*method, &problem);
            let gap = total(&problem, &found.theta) - total(&problem, &best.theta);
            assert!(gap.abs() < 1e-8, "{name}: {gap} above L-BFGS");
            assert!(distance(&found.theta, &best.theta) < 1e-6, "{name}");
            // Newton doubles its digits: a handful of iterations, each with the whole Hessian.
            let most = if name == "Newton" { 15.0 * (risk.dim() as f64 + 20.0) } else { 2000.0 };
            assert!(found.passes < most, "{name}: {} passes", found.passes);
        }
    }
}

#[test]
fn the_rules_stop_every_method() {
    let risk = risk(3, SMALL);
    let problem = Problem { objective: &risk, prior: Prior::gaussian(1.0), l1: 0.0 };
    let rules = [
        (Stop::Gradient, StoppingRule { gradient_tolerance: 1e-2, ..endless() }),
        (Stop::Change, StoppingRule { tolerance: 0.9, period: 1, ..endless() }),
        (Stop::Change, StoppingRule { change: 10.0, ..endless() }),
        (Stop::Passes, StoppingRule { passes: 2.0, ..endless() }),
    ];
    for (stop, until) in rules {
        let methods: [Box<dyn Optimizer>; 6] = [
            Box::new(Bfgs { until: until.clone(), ..Bfgs::default() }),
            Box::new(Cg { until: until.clone(), ..Cg::default() }),
            Box::new(Newton { until: until.clone() }),
            Box::new(NewtonCg { until: until.clone(), ..NewtonCg::default() }),
            Box::new(Pgis { until: until.clone(), ..Pgis::default() }),
            Box::new(TripleJump { until, ..TripleJump::default() }),
        ];
        for method in &methods {
            assert_eq!(minimize(&**method, &problem).stop, stop);
        }
    }
}

type Matrix = Vec<Vec<f64>>;

#[test]
fn a_search_that_is_lost_in_noise_is_the_end() {
    // x² + 3y² + 1, as well as an inference can tell that ends at a tolerance of 1e-7.
    let noisy = Losses::new(2, vec![vec![0, 1]], |_, theta, gradient| {
        let [x, y] = [theta[0], theta[1]];
        gradient[0] += 2.0 * x + 1e-3 * (1e6 * y).sin();
        gradient[1] += 6.0 * y + 1e-3 * (1e6 * x).sin();
        x * x + 3.0 * y * y + 1.0 + 1e-7 * (1e9 * (x + y)).sin()
    });
    let problem = Problem { objective: &noisy, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    let method = Lbfgs { gradient_tolerance: 0.0, tolerance: 1e-4, ..Lbfgs::default() };
    let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
    let found = method.minimize(&problem, State::start(vec![3.0, -2.0]), &mut watch).unwrap();
    assert_eq!(found.stop, Stop::Change);
    assert!(found.passes < 60.0, "{} passes", found.passes);
    assert!(distance(&found.theta, &[0.0, 0.0]) < 1e-2, "{:?}", found.theta);
}

fn identity(n: usize, scale: f64) -> Matrix {
    (0..n).map(|i| (0..n).map(|j| if i == j { scale } else { 0.0 }).collect()).collect()
}

fn times(m: &Matrix, x: &[f64]) -> Vec<f64> {
    m.iter().map(|row| dot(row, x)).collect()
}

/// Matlab's `cholupdate`: the upper triangular R′ with R′ᵀR′ = RᵀR ± x xᵀ.
fn cholupdate(r: &mut Matrix, mut x: Vec<f64>, sign: f64) {
    for k in 0..x.len() {
        let new = (r[k][k] * r[k][k] + sign * x[k] * x[k]).sqrt();
        let (c, s) = (new / r[k][k], x[k] / r[k][k]);
        r[k][k] = new;
        for j in k + 1..x.len() {
            r[k][j] = (r[k][j] + sign * s * x[j]) / c;
            x[j] = c * x[j] - s * r[k][j];
        }
    }
}

/// The slides' `lbfgs(s, y, g)`: H⁻¹ g from all pairs, started from γ·I (there 1).
fn slides_lbfgs(pairs: &[(Vec<f64>, Vec<f64>)], g: &[f64], gamma: f64) -> Vec<f64> {
    let mut al = vec![0.0; pairs.len()];
    let mut q = g.to_vec();
    for (i, (s, y)) in pairs.iter().enumerate().rev() {
        al[i] = dot(s, &q) / dot(y, s);
        q = q.iter().zip(y).map(|(q, y)| q - al[i] * y).collect();
    }
    let mut r: Vec<f64> = q.iter().map(|q| gamma * q).collect();
    for (i, (s, y)) in pairs.iter().enumerate() {
        let be = dot(y, &r) / dot(y, s);
        r = r.iter().zip(s).map(|(r, s)| r + s * (al[i] - be)).collect();
    }
    r
}

#[test]
fn bfgs_is_its_direct_factored_and_limited_forms() {
    let losses = Losses::logistic(4, 30, 8);
    let problem = problem(&losses, 2.0);
    let mut states: Vec<State> = Vec::new();
    let mut watch = Look(|_: &Progress, state: &dyn Fn() -> State| {
        states.push(state());
        Control::Continue
    });
    let method = Bfgs { until: StoppingRule { gradient_tolerance: 1e-4, ..endless() }, ..Bfgs::default() };
    method.minimize(&problem, State::start(vec![0.5; 8]), &mut watch).unwrap();
    assert!(states.len() > 8, "{} states", states.len());
    assert!(states[0].vectors["inverse"].is_empty());
    let (mut pairs, mut gamma) = (Vec::new(), 1.0);
    let (mut b, mut r) = (identity(8, 1.0), identity(8, 1.0));
    for pair in states.windows(2) {
        let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let s = minus(&pair[1].theta, &pair[0].theta);
        let y = minus(&pair[1].vectors["gradient"], &pair[0].vectors["gradient"]);
        let ys = dot(&y, &s);
        assert!(ys > 0.0);
        if pairs.is_empty() {
            gamma = ys / dot(&y, &y);
            (b, r) = (identity(8, 1.0 / gamma), identity(8, gamma.sqrt().recip()));
        }
        // B ← B + y yᵀ/yᵀs − B s sᵀB/sᵀB s
        let bs = times(&b, &s);
        let sbs = dot(&s, &bs);
        for i in 0..8 {
            for j in 0..8 {
                b[i][j] += y[i] * y[j] / ys - bs[i] * bs[j] / sbs;
            }
        }
        // R = cholupdate(cholupdate(R, y/√yᵀs), RᵀR s/√sᵀRᵀR s, '-')
        let rs = times(&r, &s);
        let rrs: Vec<f64> = (0..8).map(|j| (0..8).map(|i| r[i][j] * rs[i]).sum()).collect();
        let root = dot(&s, &rrs).sqrt();
        cholupdate(&mut r, y.iter().map(|y| y / ys.sqrt()).collect(), 1.0);
        cholupdate(&mut r, rrs.iter().map(|x| x / root).collect(), -1.0);
        pairs.push((s, y));
        let h: Matrix = pair[1].vectors["inverse"].chunks(8).map(<[f64]>::to_vec).collect();
        for i in 0..8 {
            for j in 0..8 {
                let rr: f64 = (0..8).map(|k| r[k][i] * r[k][j]).sum();
                assert!((rr - b[i][j]).abs() < 1e-8, "RᵀR = B at {i}, {j}");
                let bh: f64 = (0..8).map(|k| b[i][k] * h[k][j]).sum();
                assert!((bh - f64::from(i == j)).abs() < 1e-8, "B H⁻¹ = I at {i}, {j}");
            }
        }
        let gradient = &pair[1].vectors["gradient"];
        let (two_loops, dense) = (slides_lbfgs(&pairs, gradient, gamma), times(&h, gradient));
        assert!(distance(&two_loops, &dense) < 1e-10 * dot(&dense, &dense).sqrt().max(1.0));
    }
    // And the next step goes along −H⁻¹ g.
    let (last, end) = (&states[states.len() - 2], &states[states.len() - 1]);
    let h: Matrix = last.vectors["inverse"].chunks(8).map(<[f64]>::to_vec).collect();
    let d = times(&h, &last.vectors["gradient"]);
    let step: Vec<f64> = last.theta.iter().zip(&end.theta).map(|(a, b)| a - b).collect();
    let cosine = dot(&d, &step) / (dot(&d, &d) * dot(&step, &step)).sqrt();
    assert!(cosine > 1.0 - 1e-10, "{cosine}");
}

#[test]
fn the_hessian_is_the_covariance_of_the_features() {
    let mut rng = Random::new(5);
    for values in [None, Some(-0.5)] {
        let risk = risk(6, Shape { examples: 4, values, ..SMALL });
        let n = risk.dim();
        let problem = Problem { objective: &risk, prior: Prior::gaussian(2.0), l1: 0.0 };
        let theta: Vec<f64> = (0..n).map(|_| rng.uniform() - 0.5).collect();
        // smd-crf-2006 eq. 10 by enumeration.
        let mut expected = identity(n, 0.25);
        for (weight, all) in labellings(&risk) {
            let p: Vec<f64> = all[1..].iter().map(|phi| dot(phi, &theta).exp()).collect();
            let z: f64 = p.iter().sum();
            let mean: Vec<f64> =
                (0..n).map(|i| all[1..].iter().zip(&p).map(|(f, p)| p / z * f[i]).sum()).collect();
            for (phi, p) in all[1..].iter().zip(&p) {
                for i in 0..n {
                    for j in 0..n {
                        expected[i][j] += weight * p / z * (phi[i] - mean[i]) * (phi[j] - mean[j]);
                    }
                }
            }
        }
        assert!(distance(&hessian(&problem, &theta), &expected.concat()) < 1e-10);
    }
}

#[test]
fn differences_are_nearly_exact() {
    let risk = risk(7, Shape { values: Some(-0.5), ..SMALL });
    let differences = Differences::new(&risk);
    let (mut rng, n) = (Random::new(8), risk.dim());
    let mut vector = || (0..n).map(|_| rng.uniform() * 2.0 - 1.0).collect::<Vec<f64>>();
    let (theta, direction) = (vector(), vector());
    for scale in [1.0, 1e-6, 1e6, 0.0] {
        let v: Vec<f64> = direction.iter().map(|v| scale * v).collect();
        let close = |a: &[f64], b: &[f64]| distance(a, b) <= 1e-8 * dot(&v, &v).sqrt();
        let all = |objective: &dyn Objective| {
            let (mut g, mut hv) = (vec![0.0; n], vec![0.0; n]);
            let value = objective.hess_vec(&theta, &v, &mut g, &mut hv);
            (value, g, hv)
        };
        let (exact, numeric) = (all(&risk), all(&differences));
        assert!((exact.0 - numeric.0).abs() < 1e-10 && distance(&exact.1, &numeric.1) < 1e-10);
        assert!(close(&exact.2, &numeric.2), "scale {scale}: {}", distance(&exact.2, &numeric.2));
        for batch in [&[3][..], &[0, 5, 7]] {
            let some = |objective: &dyn Objective| {
                let (mut touched, mut g, mut hv) = (Touched::default(), Vec::new(), Vec::new());
                objective.touched(batch, &mut touched);
                let value = objective.batch_hess_vec(batch, [&theta, &v], &touched, &mut g, &mut hv);
                (value, g, hv)
            };
            let (exact, numeric) = (some(&risk), some(&differences));
            assert!((exact.0 - numeric.0).abs() < 1e-10 && distance(&exact.1, &numeric.1) < 1e-10);
            assert!(close(&exact.2, &numeric.2), "batch {batch:?}, scale {scale}");
        }
    }
}

/// Only a gradient: neither a slope nor anything else.
struct Bare<'a>(&'a Losses, &'static [Ability]);

impl Objective for Bare<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn examples(&self) -> usize {
        self.0.examples()
    }

    fn provides(&self) -> &'static [Ability] {
        self.1
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.0.value_grad(theta, gradient)
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        self.0.hess_vec(theta, v, gradient, hess_vec)
    }

    fn touched(&self, batch: &[u32], touched: &mut Touched) {
        self.0.touched(batch, touched);
    }

    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64 {
        self.0.batch_grad(batch, theta, touched, gradient)
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        point: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        self.0.batch_hess_vec(batch, point, touched, gradient, hess_vec)
    }
}

#[test]
fn differences_make_slopes_of_gradients_alone() {
    let losses = Losses::logistic(9, 20, 5);
    for (gives, products) in [(&[Ability::Smooth][..], true), (&[], false), (&Ability::ALL, true)] {
        let bare = Bare(&losses, gives);
        let differences = Differences::new(&bare);
        assert_eq!(differences.provides().contains(&Ability::HessVec), products, "{gives:?}");
    }
    assert_eq!(Differences::new(&Bare(&losses, &Ability::ALL)).provides(), Ability::ALL);
}

/// The message of a run that must not start.
fn refusal(method: &dyn Optimizer, problem: &Problem) -> String {
    let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| panic!("refused before any work"));
    let start = State::start(vec![0.0; problem.objective.dim()]);
    match method.minimize(problem, start, &mut watch).unwrap_err() {
        crfkit::Error::Setting(message) => message,
        other => panic!("{other}"),
    }
}

#[test]
fn what_a_method_cannot_do_is_refused_with_a_way_out() {
    let risk = risk(10, SMALL);
    let l1 = Problem { objective: &risk, prior: Prior::gaussian(1.0), l1: 0.5 };
    let scaling: [Box<dyn Optimizer>; 2] = [Box::new(Pgis::default()), Box::new(TripleJump::default())];
    for method in methods().iter().map(|(_, method)| method).chain(&scaling) {
        assert!(refusal(&**method, &l1).contains("lbfgs"));
    }
    let free = Problem { prior: Prior::gaussian(f64::INFINITY), l1: 0.5, ..l1 };
    assert!(refusal(&Gis::default(), &free).contains("lbfgs"));
    let many = Losses::new(2001, vec![vec![0]], |_, _, _| 0.0);
    assert!(refusal(&Newton::default(), &problem(&many, 1.0)).contains("2000 weights"));
    let small = Bfgs { memory_limit: 8 * 2000 * 2000, ..Bfgs::default() };
    assert!(refusal(&small, &problem(&many, 1.0)).contains("2001 × 2001"));
    let huge = Losses::new(1 << 40, vec![vec![0]], |_, _, _| 0.0);
    let start = State::start(Vec::new());
    let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
    assert!(Bfgs::default().minimize(&problem(&huge, 1.0), start, &mut watch).is_err());
}

#[test]
fn divergence_is_an_error_with_a_hint() {
    // Finite at first, but the Hessian and everything to the left is not.
    let losses = Losses::new(1, vec![vec![0]], |_, theta, gradient| {
        gradient[0] += if theta[0] == 0.0 { 1.0 } else { f64::NAN };
        if theta[0] == 0.0 { 0.0 } else { f64::NAN }
    });
    let differences = Differences::new(&losses);
    let problem = Problem { objective: &differences, ..problem(&losses, f64::INFINITY) };
    let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
    for method in [&Newton::default() as &dyn Optimizer, &Lbfgs::default(), &Bfgs::default(), &Cg::default()]
    {
        let result = method.minimize(&problem, State::start(vec![1.0]), &mut watch);
        let message = result.unwrap_err().to_string();
        assert!(message.contains("diverged after 1.00 passes") && message.contains("`sigma`"), "{message}");
    }
    let newton = Newton::default().minimize(&problem, State::start(vec![0.0]), &mut watch);
    assert!(newton.unwrap_err().to_string().contains("diverged"));
}
