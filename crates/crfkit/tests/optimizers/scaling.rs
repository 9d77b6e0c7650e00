//! Iterative scaling and its triple jumps: counts by enumeration, literal transcriptions of the papers' equations, monotony and
//! fixed points.

use crate::objectives;
use crate::risks;

use crfkit::math::random::Random;
use crfkit::math::vector::{dot, norm};
use crfkit::model::Keep;
use crfkit::optim::{
    Control, FeatureCounts, Gis, Inner, Jump, Mean, Objective, Optimizer, Pgis, Prior, Problem, Progress,
    State, StoppingRule, TripleJump, jump_by_component, jump_by_length, wright_omega,
};
use objectives::{Look, distance, minimize, total};
use risks::{ChainRisk, SMALL, Shape, exact, labellings, risk};

/// No early stops but the number of passes.
fn passes(passes: f64) -> StoppingRule {
    StoppingRule { gradient_tolerance: 0.0, tolerance: 0.0, period: 1000, change: 0.0, passes }
}

/// A prior with a mean for each weight, and a σ of their own for label pairs.
fn uneven(risk: &ChainRisk) -> Prior {
    let mut rng = Random::new(17);
    let mean = Mean::Vector((0..risk.dim()).map(|_| rng.uniform() - 0.5).collect());
    Prior { sigma: 3.0, sigma_pairs: 0.7, first_pair: risk.features().first_pair_weight(), mean }
}

/// Weights at every report, and the objectives.
fn path(method: &dyn Optimizer, problem: &Problem, start: Vec<f64>) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (mut points, mut values) = (Vec::new(), Vec::new());
    let mut watch = Look(|progress: &Progress, _: &dyn Fn() -> State| {
        points.push(progress.theta.unwrap().to_vec());
        values.push(progress.objective.unwrap());
        Control::Continue
    });
    method.minimize(problem, State::start(start), &mut watch).unwrap();
    (points, values)
}

#[test]
fn counts_are_those_of_enumeration() {
    for keep in [Keep::All, Keep::Observed] {
        for values in [None, Some(0.0)] {
            let risk = risk(1, Shape { keep, values, ..SMALL });
            let FeatureCounts { observed, total } = risk.counts().unwrap();
            let (mut expected, mut most) = (vec![0.0; risk.dim()], 0.0f64);
            for (weight, all) in labellings(&risk) {
                expected.iter_mut().zip(&all[0]).for_each(|(count, phi)| *count += weight * phi);
                most = all.iter().map(|phi| phi.iter().sum()).fold(most, f64::max);
            }
            assert!(distance(&observed, &expected) < 1e-12, "{keep:?}");
            assert!(total > most - 1e-12, "{keep:?}: {total} is no bound on {most}");
            assert!(keep == Keep::Observed || total < most + 1e-12, "{keep:?}: {total} is more than {most}");
        }
    }
    assert_eq!(risk(1, Shape { values: Some(-0.1), ..SMALL }).counts(), None);
}

/// Ẽf, S and the labellings of a risk, for slow transcriptions.
struct Slow {
    examples: Vec<(f64, Vec<Vec<f64>>)>,
    prior: Prior,
    observed: Vec<f64>,
    total: f64,
}

impl Slow {
    fn new(risk: &ChainRisk, prior: &Prior) -> Self {
        let examples = labellings(risk);
        let count = |i: usize| examples.iter().map(|(weight, all)| weight * all[0][i]).sum();
        let observed = (0..risk.dim()).map(count).collect();
        Slow { observed, total: risk.counts().unwrap().total, prior: prior.clone(), examples }
    }

    /// Objective and Ef at θ.
    fn at(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut expected) = (self.prior.value(theta), vec![0.0; theta.len()]);
        for (weight, all) in &self.examples {
            let scores: Vec<f64> = all.iter().map(|phi| dot(phi, theta)).collect();
            let z: f64 = scores[1..].iter().map(|score| score.exp()).sum();
            value += weight * (z.ln() - scores[0]);
            for (phi, score) in all[1..].iter().zip(&scores[1..]) {
                let p = weight * score.exp() / z;
                expected.iter_mut().zip(phi).for_each(|(e, phi)| *e += p * phi);
            }
        }
        (value, expected)
    }

    /// M(θ): eq. 3 where it is defined (and wanted), else the root of Ẽ = E·exp(Sδ) + (θ + δ − m)/σ² by bisection.
    fn map(&self, inner: Inner, theta: &[f64]) -> Vec<f64> {
        let expected = self.at(theta).1;
        let step = |i: usize| {
            let (observed, expected, s) = (self.observed[i], expected[i], self.total);
            let (p, x) = (self.prior.precision(i), theta[i] - self.prior.mean(i));
            let denominator = expected + p * x;
            if inner == Inner::Paper && observed > 0.0 && denominator > 0.0 {
                return (observed / denominator).ln() / s;
            }
            let (mut low, mut high) = (-1e3, 1e3);
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                match expected * (s * middle).exp() + p * (x + middle) > observed {
                    true => high = middle,
                    false => low = middle,
                }
            }
            low
        };
        (0..theta.len()).map(|i| theta[i] + step(i)).collect()
    }
}

fn priors(risk: &ChainRisk) -> [Prior; 3] {
    [Prior::gaussian(1.0), Prior::gaussian(1e4), uneven(risk)]
}

#[test]
fn pgis_is_its_equation() {
    for shape in [SMALL, Shape { values: Some(0.0), ..SMALL }, Shape { keep: Keep::Observed, ..SMALL }] {
        let risk = risk(2, shape);
        for prior in priors(&risk) {
            let slow = Slow::new(&risk, &prior);
            assert_eq!(shape.keep == Keep::All, slow.observed.contains(&0.0), "Ẽ = 0 occurs");
            let problem = Problem { objective: &risk, prior: prior.clone(), l1: 0.0 };
            for inner in [Inner::Paper, Inner::Exact] {
                let method = Pgis { inner, until: passes(60.0) };
                let (points, _) = path(&method, &problem, vec![0.25; risk.dim()]);
                assert_eq!(points.len(), 60);
                let mut theta = points[0].clone();
                for (k, point) in points.iter().enumerate() {
                    let off = distance(&theta, point);
                    assert!(off < 1e-10, "{inner:?}, {prior:?}: step {k} is off by {off}");
                    theta = slow.map(inner, &theta);
                }
            }
        }
    }
}

/// One iteration of the triple jump, literally; also whether the jump was kept.
fn slow_jump(slow: &Slow, method: &TripleJump, theta: &[f64]) -> (Vec<f64>, bool) {
    let first = slow.map(method.inner, theta);
    let second = slow.map(method.inner, &first);
    let length = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let jump: Vec<f64> = (0..theta.len())
        .map(|p| {
            let gamma = match method.jump {
                Jump::Global => length(&second, &first) / length(&first, theta),
                _ => (second[p] - first[p]) / (first[p] - theta[p]),
            };
            first[p] + (second[p] - first[p]) / (1.0 - gamma.min(method.gamma_max))
        })
        .collect();
    let kept = slow.at(&jump).0 < slow.at(&first).0;
    (if kept { jump } else { second }, kept)
}

#[test]
fn triple_jumps_are_their_equations() {
    let mut seen = [false; 2];
    for shape in [SMALL, Shape { keep: Keep::Observed, ..SMALL }] {
        let risk = risk(3, shape);
        for prior in priors(&risk) {
            let slow = Slow::new(&risk, &prior);
            let problem = Problem { objective: &risk, prior: prior.clone(), l1: 0.0 };
            for jump in [Jump::Componentwise, Jump::Global] {
                for (gamma_max, inner) in [(0.9, Inner::Paper), (0.99, Inner::Exact), (1.5, Inner::Paper)] {
                    let method = TripleJump { jump, gamma_max, inner, until: passes(20.0) };
                    let (points, _) = path(&method, &problem, vec![0.25; risk.dim()]);
                    assert!(points.len() > 5);
                    for (k, pair) in points.windows(2).enumerate() {
                        let (theta, kept) = slow_jump(&slow, &method, &pair[0]);
                        seen[usize::from(kept)] = true;
                        // The jump magnifies rounding errors as it magnifies the step.
                        let off = distance(&theta, &pair[1]) / norm(&theta).max(1.0);
                        assert!(off < 1e-10, "{method:?}, {prior:?}: iteration {k} is off by {off}");
                    }
                }
            }
        }
    }
    assert_eq!(seen, [true; 2], "both kept and dropped jumps were compared");
}

#[test]
fn a_jump_of_a_linear_map_ends_at_its_fixed_point() {
    let mut rng = Random::new(4);
    let mut vector = || (0..30).map(|_| rng.uniform() * 2.0 - 1.0).collect::<Vec<f64>>();
    let (fixed, gammas, start) = (vector(), vector(), vector());
    // x ↦ x* + γ(x − x*), γ of each weight or one for all.
    let map = |gamma: &dyn Fn(usize) -> f64, x: &[f64]| -> Vec<f64> {
        (0..30).map(|i| fixed[i] + gamma(i) * (x[i] - fixed[i])).collect()
    };
    let jump = |gamma: &dyn Fn(usize) -> f64, gamma_max: f64, by: fn(f64, &mut [f64], &[f64], &[f64])| {
        let first = map(gamma, &start);
        let second = map(gamma, &first);
        let mut theta = start.clone();
        by(gamma_max, &mut theta, &first, &second);
        theta
    };
    assert!(distance(&jump(&|i| gammas[i], 1.0, jump_by_component), &fixed) < 1e-10);
    assert!(distance(&jump(&|_| 0.8, 1.0, jump_by_length), &fixed) < 1e-10);
    assert!(distance(&jump(&|_| 0.8, 1.0, jump_by_component), &fixed) < 1e-10);
    // Where the bound is active, the jump is as long as the bound allows.
    let (first, second) = (map(&|_| 0.8, &start), map(&|_| 0.8, &map(&|_| 0.8, &start)));
    let bounded: Vec<f64> =
        first.iter().zip(&second).map(|(first, second)| first + 2.0 * (second - first)).collect();
    for by in [jump_by_component, jump_by_length] {
        assert!(distance(&jump(&|_| 0.8, 0.5, by), &bounded) < 1e-12);
        // Weights that stand still stay.
        let mut still = fixed.clone();
        by(0.9, &mut still, &fixed, &fixed);
        assert_eq!(still, fixed);
    }
}

#[test]
fn the_objective_never_rises() {
    for seed in 10..13 {
        for keep in [Keep::All, Keep::Observed] {
            let risk = risk(seed, Shape { keep, values: Some(0.0), ..SMALL });
            let mut rng = Random::new(seed);
            let start: Vec<f64> = (0..risk.dim()).map(|_| 6.0 * rng.uniform() - 3.0).collect();
            for prior in priors(&risk) {
                let problem = Problem { objective: &risk, prior, l1: 0.0 };
                for inner in [Inner::Paper, Inner::Exact] {
                    let mut methods: Vec<Box<dyn Optimizer>> =
                        vec![Box::new(Pgis { inner, until: passes(200.0) })];
                    for (jump, gamma_max) in [
                        (Jump::Componentwise, 0.999),
                        (Jump::Componentwise, f64::INFINITY),
                        (Jump::Global, 0.999),
                        (Jump::Aitken, 0.0),
                    ] {
                        let until = passes(if jump == Jump::Aitken { 2000.0 } else { 200.0 });
                        methods.push(Box::new(TripleJump { jump, gamma_max, inner, until }));
                    }
                    for method in methods {
                        let (_, values) = path(&*method, &problem, start.clone());
                        assert!(values.len() > 3);
                        assert!(
                            values.windows(2).all(|pair| pair[1] <= pair[0]),
                            "{seed}, {inner:?}: {values:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn fixed_points_are_zeros_of_the_gradient() {
    let risk = risk(5, SMALL);
    for prior in [Prior::gaussian(1.0), uneven(&risk)] {
        let problem = Problem { objective: &risk, prior, l1: 0.0 };
        let best = minimize(&exact(), &problem).theta;
        let gradient = |theta: &[f64]| {
            let mut gradient = vec![0.0; theta.len()];
            problem.smooth(theta, &mut gradient);
            gradient
        };
        for inner in [Inner::Paper, Inner::Exact] {
            let method = Pgis { inner, until: passes(2.0) };
            let moved = path(&method, &problem, best.clone()).0;
            assert!(distance(&moved[0], &moved[moved.len() - 1]) < 1e-6, "the minimum stays");
            // Elsewhere every weight moves against its slope.
            let moved = path(&method, &problem, vec![0.25; risk.dim()]).0;
            for (i, g) in gradient(&moved[0]).iter().enumerate() {
                assert!(g.abs() > 1e-9 && (moved[1][i] - moved[0][i]) * g < 0.0, "weight {i}, slope {g}");
            }
        }
    }
}

#[test]
fn scaling_and_jumps_reach_the_optimum() {
    for (seed, keep) in [(6, Keep::All), (7, Keep::Observed)] {
        let risk = risk(seed, Shape { keep, ..SMALL });
        let problem = Problem { objective: &risk, prior: Prior::gaussian(1.0), l1: 0.0 };
        let best = total(&problem, &minimize(&exact(), &problem).theta);
        let until = StoppingRule { gradient_tolerance: 1e-6, ..passes(100_000.0) };
        for inner in [Inner::Paper, Inner::Exact] {
            let reach = |method: &dyn Optimizer| {
                let found = minimize(method, &problem);
                let gap = total(&problem, &found.theta) - best;
                assert!(gap.abs() < 1e-8, "{inner:?}: {gap} above L-BFGS");
                found.passes
            };
            let plain = reach(&Pgis { inner, until: until.clone() });
            let jumps = |jump, gamma_max| reach(&TripleJump { jump, gamma_max, inner, until: until.clone() });
            let by_component = jumps(Jump::Componentwise, 0.999);
            let by_length = jumps(Jump::Global, 0.999);
            assert!(by_component < plain && by_length < plain, "{plain} {by_component} {by_length}");
            // Each iteration with the whole Jacobian: as quick as Newton.
            assert!(jumps(Jump::Aitken, 0.0) < 10.0 * (risk.dim() as f64 + 3.0));
        }
    }
}

#[test]
fn gis_needs_no_prior_and_finite_weights() {
    // So many examples that every feature occurs.
    let shape = Shape { examples: 300, labels: 2, ..SMALL };
    let free = Prior::gaussian(f64::INFINITY);
    let all = risk(8, shape);
    assert!(all.counts().unwrap().observed.iter().all(|count| *count > 0.0));
    let problem = Problem { objective: &all, prior: free.clone(), l1: 0.0 };
    let until = StoppingRule { gradient_tolerance: 1e-5, ..passes(100_000.0) };
    let (points, values) = path(&Gis { until: until.clone() }, &problem, vec![0.0; all.dim()]);
    assert!(values.windows(2).all(|pair| pair[1] <= pair[0]));
    let gap =
        total(&problem, &points[points.len() - 1]) - total(&problem, &minimize(&exact(), &problem).theta);
    assert!(gap.abs() < 1e-8, "{gap} above L-BFGS after {} steps", points.len());
    let pgis = Pgis { inner: Inner::Paper, until: passes(50.0) };
    for (a, b) in path(&pgis, &problem, points[0].clone()).0.iter().zip(&points) {
        assert!(distance(a, b) < 1e-12, "PGIS without a prior is GIS");
    }
    let message = |objective: &ChainRisk, prior: Prior, method: &dyn Optimizer| {
        let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
        let start = State::start(vec![0.0; objective.dim()]);
        match method.minimize(&Problem { objective, prior, l1: 0.0 }, start, &mut watch).unwrap_err() {
            crfkit::Error::Setting(message) => message,
            other => panic!("{other}"),
        }
    };
    let gis = Gis { until };
    assert!(message(&all, Prior::gaussian(1.0), &gis).contains("pgis"));
    // Features that never occur, and negative ones.
    assert!(message(&risk(8, SMALL), free.clone(), &gis).contains("−∞"));
    assert!(message(&risk(8, Shape { values: Some(-1.0), ..SMALL }), free, &gis).contains("negative"));
    let bound = TripleJump { gamma_max: f64::NAN, ..TripleJump::default() };
    assert!(message(&all, Prior::gaussian(1.0), &bound).contains("`gamma_max` is NaN"));
}

#[test]
fn no_features_at_all_do_no_harm() {
    let risk = risk(9, Shape { examples: 0, ..SMALL });
    let problem = Problem { objective: &risk, prior: Prior::gaussian(2.0), l1: 0.0 };
    let (points, _) = path(&Pgis { until: passes(3.0), ..Pgis::default() }, &problem, vec![1.0; risk.dim()]);
    assert_eq!(norm(&points[1]), 0.0, "the prior alone decides");
}

#[test]
fn wright_omega_solves_its_equation() {
    let mut z = -700.0;
    while z < 1e12 {
        let omega = wright_omega(z);
        let residual = (omega + omega.ln() - z) / z.abs().max(1.0);
        assert!(residual.abs() < 1e-12, "ω({z}) = {omega}: residual {residual}");
        z += 0.037 + 1e-3 * f64::max(z, 0.0);
    }
    assert_eq!(wright_omega(f64::NEG_INFINITY), 0.0);
    assert!((wright_omega(1.0) - 1.0).abs() < 1e-15);
    assert!((wright_omega(0.0) - 0.567_143_290_409_783_8).abs() < 1e-15, "Ω");
}
