//! The optimisers on classical functions, and against slow transcriptions of their own definitions.

use crate::objectives;

use crfkit::optim::{
    AdaGrad, Control, Lbfgs, Mean, Optimizer, Prior, Problem, Progress, Schedule, Sgd, State,
};
use objectives::{Look, Losses, batches, distance, minimize, problem, total, uneven};

/// L-BFGS without early stops.
fn exact() -> Lbfgs {
    Lbfgs { gradient_tolerance: 1e-14, tolerance: 0.0, passes: 20000.0, ..Lbfgs::default() }
}

fn schedule(batch: usize, passes: usize) -> Schedule {
    Schedule { batch, passes, seed: 3, ..Schedule::default() }
}

/// Gradient of losses and Gaussian prior.
fn gradient(problem: &Problem, theta: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; theta.len()];
    problem.smooth(theta, &mut gradient);
    gradient
}

/// The minimum of a quadratic: its gradient is H·θ − c, so H and c can be read off and solved by elimination.
fn solve_quadratic(problem: &Problem) -> Vec<f64> {
    let n = problem.objective.dim();
    let minus_c = gradient(problem, &vec![0.0; n]);
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut unit = vec![0.0; n];
            unit[i] = 1.0;
            // H is symmetric: its column is its row.
            let mut row: Vec<f64> =
                gradient(problem, &unit).iter().zip(&minus_c).map(|(g, c)| g - c).collect();
            row.push(-minus_c[i]);
            row
        })
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs())).unwrap();
        rows.swap(k, pivot);
        let row = rows[k].clone();
        for other in rows.iter_mut().skip(k + 1) {
            let factor = other[k] / row[k];
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| rows[k][j] * x[j]).sum();
        x[k] = (rows[k][n] - known) / rows[k][k];
    }
    x
}

#[test]
fn lbfgs_solves_least_squares_of_any_conditioning() {
    for condition in [1.0, 1e2, 1e4, 1e6] {
        // Where the minimum is 0, the weights are as exact as the arithmetic.
        let losses = Losses::least_squares(1, 60, 12, condition, 0.0);
        let free = problem(&losses, f64::INFINITY);
        let off = distance(&minimize(&exact(), &free).theta, &solve_quadratic(&free));
        assert!(off < 1e-8, "condition {condition}: off by {off}");
        // Elsewhere the value is: near the minimum it changes with the square of the distance.
        let losses = Losses::least_squares(1, 60, 12, condition, 2.0);
        for prior in [Prior::gaussian(f64::INFINITY), Prior::gaussian(3.0), uneven(12, 2.0, 0.3)] {
            let problem = Problem { objective: &losses, prior, l1: 0.0 };
            let (found, best) = (minimize(&exact(), &problem).theta, solve_quadratic(&problem));
            let gap = total(&problem, &found) - total(&problem, &best);
            assert!(gap < 1e-8, "condition {condition}, {:?}: {gap} above the minimum", problem.prior);
        }
    }
}

#[test]
fn lbfgs_solves_logistic_regression() {
    let losses = Losses::logistic(2, 80, 15);
    for prior in [Prior::gaussian(1.0), Prior::gaussian(10.0), uneven(15, 1.0, 5.0)] {
        let sigma = prior.sigma.max(prior.sigma_pairs);
        let problem = Problem { objective: &losses, prior, l1: 0.0 };
        let found = minimize(&exact(), &problem).theta;
        // The curvature is at least 1/σ² everywhere, so the minimum lies no deeper than σ²‖g‖²/2.
        let squared = gradient(&problem, &found).iter().map(|g| g * g).sum::<f64>();
        assert!(0.5 * sigma * sigma * squared < 1e-10, "{squared}");
    }
}

#[test]
fn lbfgs_follows_a_curved_valley() {
    let losses = Losses::rosenbrock();
    for start in [[-1.2, 1.0], [0.0, 0.0], [3.0, -4.0]] {
        let problem = problem(&losses, f64::INFINITY);
        let mut last = f64::INFINITY;
        let mut watch = Look(|progress: &Progress, _: &dyn Fn() -> State| {
            let value = progress.objective.unwrap();
            assert!(value < last, "the objective rises from {last} to {value}");
            last = value;
            Control::Continue
        });
        let found = exact().minimize(&problem, State::start(start.to_vec()), &mut watch).unwrap();
        assert!(distance(&found.theta, &[1.0, 1.0]) < 1e-8, "{found:?}");
        assert!(found.passes < 120.0, "{} evaluations", found.passes);
    }
}

/// H by the inverse BFGS update over all pairs from γ·I, as a dense matrix; returns −H g.
fn dense_bfgs(pairs: &[(Vec<f64>, Vec<f64>)], gradient: &[f64]) -> Vec<f64> {
    let n = gradient.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let gamma = pairs.last().map_or(1.0, |(s, y)| dot(s, y) / dot(y, y));
    let mut h: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { gamma } else { 0.0 }).collect()).collect();
    for (s, y) in pairs {
        // H ← (I − ρ s yᵀ) H (I − ρ y sᵀ) + ρ s sᵀ
        let rho = 1.0 / dot(s, y);
        let left = |i: usize, k: usize| f64::from(i == k) - rho * s[i] * y[k];
        let half: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| (0..n).map(|k| left(i, k) * h[k][j]).sum()).collect()).collect();
        h = (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| (0..n).map(|k| half[i][k] * left(j, k)).sum::<f64>() + rho * s[i] * s[j])
                    .collect()
            })
            .collect();
    }
    h.iter().map(|row| -dot(row, gradient)).collect()
}

#[test]
fn two_loops_with_full_history_are_dense_bfgs() {
    let losses = Losses::least_squares(4, 30, 8, 100.0, 2.0);
    let problem = problem(&losses, 2.0);
    let method = Lbfgs { memory: 100, gradient_tolerance: 1e-4, ..exact() };
    let mut points: Vec<Vec<f64>> = Vec::new();
    let mut watch = Look(|_: &Progress, state: &dyn Fn() -> State| {
        points.push(state().theta);
        Control::Continue
    });
    method.minimize(&problem, State::start(vec![0.5; 8]), &mut watch).unwrap();
    assert!(points.len() > 10, "{} points", points.len());
    let slopes: Vec<Vec<f64>> = points.iter().map(|point| gradient(&problem, point)).collect();
    let change =
        |v: &[Vec<f64>], k: usize| v[k + 1].iter().zip(&v[k]).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let mut pairs = Vec::new();
    for k in 0..points.len() - 1 {
        let direction = dense_bfgs(&pairs, &slopes[k]);
        let step = change(&points, k);
        // The line search chose the length: compare directions.
        let squared: f64 = direction.iter().map(|d| d * d).sum();
        let t = step.iter().zip(&direction).map(|(s, d)| s * d).sum::<f64>() / squared;
        assert!(t > 0.0);
        let expected: Vec<f64> = points[k].iter().zip(&direction).map(|(x, d)| x + t * d).collect();
        assert!(distance(&expected, &points[k + 1]) < 1e-10, "iterate {k}");
        assert!(distance(&expected, &points[k + 1]) < 1e-6 * squared.sqrt(), "direction {k}");
        let (s, y) = (step, change(&slopes, k));
        assert!(s.iter().zip(&y).map(|(s, y)| s * y).sum::<f64>() > 0.0, "curvature {k}");
        pairs.push((s, y));
    }
}

/// Proximal gradient descent with a safe step length: slow, obvious.
fn proximal_gradient(problem: &Problem, curvature: f64) -> Vec<f64> {
    let mut theta = vec![0.0; problem.objective.dim()];
    for _ in 0..100_000 {
        let slope = gradient(problem, &theta);
        for (x, g) in theta.iter_mut().zip(&slope) {
            let moved = *x - g / curvature;
            *x = moved.signum() * (moved.abs() - problem.l1 / curvature).max(0.0);
        }
    }
    theta
}

/// How far θ is from optimal under L1: 0 ∈ gᵢ + l1·∂|θᵢ|.
fn subgradient_error(problem: &Problem, theta: &[f64]) -> f64 {
    let error = |(&x, g): (&f64, f64)| match x {
        0.0 => (g.abs() - problem.l1).max(0.0),
        x => (g + problem.l1 * x.signum()).abs(),
    };
    theta.iter().zip(gradient(problem, theta)).map(error).fold(0.0, f64::max)
}

#[test]
fn owlqn_is_optimal_with_exact_zeros() {
    let (squares, logistic) = (Losses::least_squares(5, 60, 12, 10.0, 2.0), Losses::logistic(6, 60, 12));
    for losses in [&squares, &logistic] {
        for (sigma, l1) in [(f64::INFINITY, 2.0), (1.0, 1.0), (1.0, 4.0), (0.5, 0.1)] {
            let problem = Problem { l1, ..problem(losses, sigma) };
            let found = minimize(&exact(), &problem).theta;
            let error = subgradient_error(&problem, &found);
            assert!(error < 1e-6, "σ {sigma}, l1 {l1}: subgradient {error}");
            let reference = proximal_gradient(&problem, 250.0 + 1.0 / (sigma * sigma));
            let off = distance(&found, &reference);
            assert!(off < 1e-6, "σ {sigma}, l1 {l1}: off by {off}");
            let zeros = |theta: &[f64]| theta.iter().map(|x| *x == 0.0).collect::<Vec<bool>>();
            assert_eq!(zeros(&found), zeros(&reference), "σ {sigma}, l1 {l1}");
            assert!(l1 < 1.0 || zeros(&found).contains(&true), "σ {sigma}, l1 {l1}: no zeros");
        }
    }
}

#[test]
fn elastic_net_has_its_limits() {
    let losses = Losses::least_squares(7, 60, 12, 10.0, 2.0);
    let at = |sigma: f64, l1: f64| {
        let problem = Problem { l1, ..problem(&losses, sigma) };
        minimize(&exact(), &problem).theta
    };
    let ridge = solve_quadratic(&problem(&losses, 1.5));
    assert!(distance(&at(1.5, 1e-10), &ridge) < 1e-7, "no L1: ridge regression");
    assert!(distance(&at(1e7, 3.0), &at(f64::INFINITY, 3.0)) < 1e-7, "wide prior: the lasso");
    // From the largest slope at 0 on, L1 holds all weights at 0; just below, it lets go of that one.
    let slopes = gradient(&problem(&losses, 1.5), &[0.0; 12]);
    let largest = slopes.iter().map(|g| g.abs()).fold(0.0, f64::max);
    assert_eq!(at(1.5, largest), [0.0; 12]);
    let some: Vec<usize> = (0..12).filter(|&i| at(1.5, 0.999 * largest)[i] != 0.0).collect();
    assert_eq!(some, [slopes.iter().position(|g| g.abs() == largest).unwrap()]);
}

#[test]
fn the_order_of_examples_depends_on_seed_and_pass_alone() {
    let losses = Losses::logistic(8, 23, 6);
    for batch in [1, 4, 23, 100] {
        for seed in [1, 2] {
            let schedule = Schedule { seed, ..schedule(batch, 3) };
            let methods: [&dyn Optimizer; 2] =
                [&AdaGrad { eta0: 0.1, schedule }, &Sgd::bottou(Some(0.1), schedule)];
            for method in methods {
                losses.batches.lock().unwrap().clear();
                minimize(method, &problem(&losses, 1.0));
                assert_eq!(*losses.batches.lock().unwrap(), batches(23, &schedule), "batch {batch}");
            }
        }
    }
    let orders = batches(23, &schedule(23, 2));
    assert_ne!(orders[0], orders[1]);
    assert_ne!(orders, batches(23, &Schedule { seed: 4, ..schedule(23, 2) }));
}

#[test]
fn lazy_sgd_is_dense_sgd() {
    let losses = Losses::logistic(9, 30, 15);
    let constant = Prior { mean: Mean::Value(0.25), ..Prior::gaussian(0.4) };
    let cases = [
        (Prior::gaussian(0.5), 0.0),
        (constant, 0.0),
        (uneven(15, 0.5, 0.2), 0.0),
        (Prior::gaussian(f64::INFINITY), 0.0),
        (Prior::gaussian(f64::INFINITY), 1.5),
    ];
    for (prior, l1) in cases {
        for batch in [1, 4, 8, 30] {
            let problem = Problem { objective: &losses, prior: prior.clone(), l1 };
            let (eta0, schedule) = (0.03, schedule(batch, 30));
            let lazy = minimize(&Sgd::bottou(Some(eta0), schedule), &problem).theta;
            let (mut theta, mut seen) = (vec![0.0; 15], 0.0);
            for examples in batches(30, &schedule) {
                let g = losses.batch_gradient(&examples, &theta);
                // The batch's share of the data has the same share in the penalty; the last batch of a pass may be small.
                let (eta, share) =
                    (eta0 / (1.0 + eta0 * seen / 30.0 * prior.precision(0)), examples.len() as f64 / 30.0);
                for i in 0..15 {
                    theta[i] -= eta * (g[i] + share * prior.precision(i) * (theta[i] - prior.mean(i)));
                    theta[i] = theta[i].signum() * (theta[i].abs() - eta * share * l1).max(0.0);
                }
                seen += examples.len() as f64;
            }
            let off = distance(&lazy, &theta);
            assert!(off < 1e-10, "batch {batch}, l1 {l1}, {prior:?}: off by {off}");
            let zeros = |theta: &[f64]| theta.iter().filter(|x| **x == 0.0).count();
            assert_eq!(zeros(&lazy), zeros(&theta), "batch {batch}, l1 {l1}");
            assert!(l1 == 0.0 || zeros(&lazy) > 0, "batch {batch}: L1 gives no zeros");
        }
    }
}

#[test]
fn no_gain_throws_a_weight_beyond_the_mean_of_its_prior() {
    let flat = Losses::new(2, vec![vec![0]], |_, _, _| 0.0);
    let prior = Prior { mean: Mean::Value(0.25), ..Prior::gaussian(0.4) };
    let problem = Problem { objective: &flat, prior, l1: 0.0 };
    let found = minimize(&Sgd::bottou(Some(100.0), schedule(1, 1)), &problem).theta;
    assert!(distance(&found, &[0.25; 2]) < 1e-8, "{found:?}");
}

#[test]
fn adagrad_is_its_recursion() {
    let losses = Losses::logistic(10, 30, 15);
    for (prior, l1) in [(Prior::gaussian(0.5), 0.0), (uneven(15, 0.5, 0.2), 0.0), (uneven(15, 1.0, 2.0), 0.3)]
    {
        for batch in [1, 4, 8, 30] {
            let problem = Problem { objective: &losses, prior: prior.clone(), l1 };
            let (eta0, schedule) = (0.3, schedule(batch, 5));
            let found = minimize(&AdaGrad { eta0, schedule }, &problem).theta;
            let (mut theta, mut squares, mut last) = (vec![0.0f64; 15], vec![0.0; 15], vec![0.0; 15]);
            let mut seen = 0.0;
            for examples in batches(30, &schedule) {
                let gradient = losses.batch_gradient(&examples, &theta);
                seen += examples.len() as f64;
                for i in losses.touched_rows(&examples).into_iter().flatten() {
                    // All examples since the last touch have their share in the penalty.
                    let share = (seen - last[i]) / 30.0;
                    last[i] = seen;
                    let g = gradient[i] + share * prior.precision(i) * (theta[i] - prior.mean(i));
                    squares[i] += g * g;
                    if squares[i] > 0.0 {
                        let eta = eta0 / f64::sqrt(squares[i]);
                        theta[i] -= eta * g;
                        theta[i] = theta[i].signum() * (theta[i].abs() - eta * share * l1).max(0.0);
                    }
                }
            }
            let off = distance(&found, &theta);
            assert!(off < 1e-10, "batch {batch}, l1 {l1}, {prior:?}: off by {off}");
        }
    }
}

#[test]
fn online_methods_end_near_the_optimum() {
    let (squares, logistic) = (Losses::least_squares(11, 203, 12, 10.0, 2.0), Losses::logistic(12, 203, 12));
    for losses in [&squares, &logistic] {
        for (sigma, l1) in [(1.0, 0.0), (0.5, 0.0), (1.0, 2.0)] {
            let problem = Problem { l1, ..problem(losses, sigma) };
            let best = total(&problem, &minimize(&exact(), &problem).theta);
            for batch in [1, 8] {
                let methods: [(&str, &dyn Optimizer); 3] = [
                    ("AdaGrad", &AdaGrad { eta0: 0.3, schedule: schedule(batch, 60) }),
                    ("SGD", &Sgd::bottou(Some(0.05), schedule(batch, 60))),
                    ("calibrated SGD", &Sgd::bottou(None, schedule(batch, 60))),
                ];
                for (name, method) in methods {
                    let end = total(&problem, &minimize(method, &problem).theta);
                    let left = end / best - 1.0;
                    assert!(
                        (-1e-12..1e-3).contains(&left),
                        "{name}, batch {batch}, σ {sigma}, l1 {l1}: {left}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_small_last_batch_does_not_bias_the_optimum() {
    // Nine equal examples in batches of eight: the ninth stands alone, with a ninth of the penalty.
    let losses = Losses::new(1, vec![vec![0]; 9], |_, theta, gradient| {
        gradient[0] += theta[0] - 1.0;
        0.5 * (theta[0] - 1.0).powi(2)
    });
    let problem = problem(&losses, 1.0 / 3.0);
    let best = solve_quadratic(&problem); // (9·1 + 9·0)/18
    let found = minimize(&Sgd::bottou(Some(0.05), schedule(8, 400)), &problem).theta;
    assert!(distance(&found, &best) < 0.01, "{found:?} {best:?}");
}

#[test]
fn calibration_finds_a_gain_where_the_first_one_explodes() {
    let steep = Losses::new(1, vec![vec![0]; 100], |_, theta, gradient| {
        gradient[0] += 1e4 * (theta[0] - 1.0);
        0.5e4 * (theta[0] - 1.0).powi(2)
    });
    let problem = problem(&steep, 1.0);
    let found = minimize(&Sgd::bottou(None, schedule(1, 5)), &problem).theta;
    assert!((found[0] - 1.0).abs() < 0.01, "{found:?}");
}

/// Σ ln(1 + exp(−y a θ)) with a large |a|, whose sign says y for three examples of four. Long steps make it large, but never infinite.
fn steep_logistic() -> Losses {
    Losses::new(1, vec![vec![0]; 100], |example, theta, gradient| {
        let a = if example % 4 == 0 { -1e4 } else { 1e4 };
        gradient[0] -= a / (1.0 + (a * theta[0]).exp());
        (-a * theta[0]).max(0.0) + (-(a * theta[0]).abs()).exp().ln_1p()
    })
}

#[test]
fn calibration_does_not_take_a_gain_for_good_because_its_neighbours_are_as_bad() {
    let losses = steep_logistic();
    let problem = problem(&losses, 1.0);
    let value = |theta: f64| problem.smooth(&[theta], &mut [0.0]);
    let (start, best) = (value(0.0), value(1e-4 * 3f64.ln()));
    for method in [Sgd::bottou(None, schedule(1, 5)), Sgd::fixed(None, schedule(1, 5))] {
        let found = value(minimize(&method, &problem).theta[0]);
        assert!(found < 0.5 * (start + best), "{start} {best} {found}");
    }
}

#[test]
fn losses_that_grow_without_becoming_infinite_are_divergence_too() {
    let losses = steep_logistic();
    let problem = problem(&losses, 1.0);
    let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
    let method = Sgd::fixed(Some(0.1), schedule(1, 5));
    let message = method.minimize(&problem, State::start(vec![0.0]), &mut watch).unwrap_err().to_string();
    assert!(message.starts_with("training diverged after 1.00 passes"), "{message}");
    assert!(message.contains("`eta0`"), "{message}");
}

#[test]
fn divergence_is_an_error_that_says_when() {
    let steep = Losses::new(1, vec![vec![0]; 100], |_, theta, gradient| {
        gradient[0] += 1e4 * (theta[0] - 1.0);
        0.5e4 * (theta[0] - 1.0).powi(2)
    });
    let problem = problem(&steep, 1.0);
    let method = Sgd::bottou(Some(1.0), schedule(1, 5));
    let mut watch = Look(|_: &Progress, _: &dyn Fn() -> State| Control::Continue);
    let message = method.minimize(&problem, State::start(vec![0.0]), &mut watch).unwrap_err().to_string();
    assert!(message.starts_with("training diverged after 0."), "{message}");
    assert!(message.contains("`eta0`"), "{message}");
}
