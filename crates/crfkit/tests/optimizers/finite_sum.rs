//! The methods for finite sums: the same optimum as L-BFGS, the trajectories of their papers, honest certificates.

use crate::corpora;
use crate::objectives;

use corpora::{attribute_corpus, column_corpus, made_up_attributes, made_up_columns, models};
use crfkit::graph::Chain;
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::math::random::Random;
use crfkit::optim::Ability;
use crfkit::optim::{
    AdaGrad, Auto, AutoChoice, Control, Lbfgs, Mean, Objective, Optimizer, Prior, Problem, Progress, Sag,
    Saga, Schedule, Sdca, State, Stop, Svrg, Touched,
};
use crfkit::risk::Risk;
use crfkit::train::{self, Settings};
use objectives::{Look, Losses, distance, minimize, problem, total};

pub(super) type Crf = Risk<Chain>;

/// A small CRF: with values and example weights (attributes), or with observations of label pairs (templates).
pub(super) fn crf(attributes: bool, sequences: usize) -> Crf {
    let corpus = match attributes {
        true => attribute_corpus(&made_up_attributes(3, sequences), 1),
        false => column_corpus(&made_up_columns(4, sequences), models::templates(), 1),
    };
    let settings = Settings { boundaries: true, ..Settings::default() };
    let features = train::features(&corpus, &settings);
    Risk::new(Likelihood(ForwardBackward), features, corpus.data, 1).unwrap()
}

/// A prior with a mean and a σ of its own for label pairs.
pub(super) fn prior(crf: &Crf) -> Prior {
    let first_pair = crf.features().first_pair_weight();
    Prior { sigma: 1.0, sigma_pairs: 0.7, first_pair, mean: Mean::Value(0.1) }
}

pub(super) fn exact() -> Lbfgs {
    Lbfgs { gradient_tolerance: 1e-13, tolerance: 0.0, passes: 20000.0, ..Lbfgs::default() }
}

/// Above the minimum by this much at most: the curvature is at least 1/σ² everywhere.
fn gap(problem: &Problem, theta: &[f64]) -> f64 {
    let sigma = problem.prior.sigma.max(problem.prior.sigma_pairs);
    let mut gradient = vec![0.0; theta.len()];
    problem.smooth(theta, &mut gradient);
    0.5 * sigma * sigma * gradient.iter().map(|g| g * g).sum::<f64>()
}

#[test]
fn all_find_the_optimum_of_a_small_crf() {
    for attributes in [false, true] {
        let crf = crf(attributes, 30);
        let problem = Problem { objective: &crf, prior: prior(&crf), l1: 0.0 };
        let lbfgs = total(&problem, &minimize(&exact(), &problem).theta);
        let methods: [(&str, Box<dyn Optimizer>); 4] = [
            ("SAG", Box::new(Sag { gradient_tolerance: 1e-11, passes: 3000, ..Sag::default() })),
            ("SVRG", Box::new(Svrg { gradient_tolerance: 1e-11, passes: 9000, ..Svrg::default() })),
            ("SDCA", Box::new(Sdca { gap_tolerance: -1.0, passes: 600, ..Sdca::default() })),
            ("SAGA", Box::new(Saga { tolerance: 1e-24, passes: 600.0, ..Saga::default() })),
        ];
        let mut first = Vec::new();
        for (name, method) in methods {
            let found = minimize(&*method, &problem);
            let (gap, left) = (gap(&problem, &found.theta), total(&problem, &found.theta) - lbfgs);
            assert!(gap < 1e-8 && left.abs() < 1e-8, "{name}: {gap}, {left} after {} passes", found.passes);
            // Where gradients decide and not values, the weights themselves are exact.
            if first.is_empty() {
                first.clone_from(&found.theta);
            }
            let off = distance(&found.theta, &first);
            // SAGA stores what it remembers in single precision.
            let exact = if name == "SAGA" { 1e-5 } else { 1e-8 };
            assert!(off < exact, "{name}: off by {off} after {} passes: {}", found.passes, found.stop);
        }
    }
}

#[test]
fn sag_and_svrg_find_the_optimum_of_convex_problems() {
    let (squares, logistic) = (Losses::least_squares(1, 60, 12, 10.0, 2.0), Losses::logistic(2, 80, 15));
    for losses in [&squares, &logistic] {
        for sigma in [0.3, 1.0, 5.0] {
            let problem = problem(losses, sigma);
            let lbfgs = total(&problem, &minimize(&exact(), &problem).theta);
            let sag = Sag { gradient_tolerance: 1e-11, passes: 20000, ..Sag::default() };
            let svrg = Svrg { gradient_tolerance: 1e-11, passes: 30000, ..Svrg::default() };
            for (name, method) in [("SAG", &sag as &dyn Optimizer), ("SVRG", &svrg)] {
                let found = minimize(method, &problem);
                let (gap, left) = (gap(&problem, &found.theta), total(&problem, &found.theta) - lbfgs);
                assert!(gap < 1e-12 && left.abs() < 1e-8, "{name}, σ {sigma}: {gap}, {left}");
                assert_eq!(found.stop, Stop::Gradient, "{name}, σ {sigma}");
            }
        }
    }
}

/// A prior with a mean for each weight and a σ of its own from weight 10 on.
fn uneven(dim: usize) -> Prior {
    let mut rng = Random::new(17);
    let mean = Mean::Vector((0..dim).map(|_| rng.uniform() - 0.5).collect());
    Prior { sigma: 0.5, sigma_pairs: 0.2, first_pair: 10, mean }
}

/// λ of the step lengths: the largest share of one example in the curvature of the prior.
fn lambda(prior: &Prior, dim: usize, examples: usize) -> f64 {
    prior.precision(0).max(prior.precision(dim - 1)) / examples as f64
}

/// Loss of one example.
fn loss(losses: &Losses, example: u32, theta: &[f64]) -> f64 {
    let mut touched = Touched::default();
    losses.touched(&[example], &mut touched);
    losses.batch_grad(&[example], theta, &touched, &mut Vec::new())
}

#[test]
fn lazy_sag_is_dense_sag() {
    let (examples, dim) = (30, 15);
    let losses = Losses::logistic(9, examples, dim);
    for prior in [Prior::gaussian(0.5), uneven(dim), Prior::gaussian(f64::INFINITY), Prior::gaussian(0.003)] {
        let problem = Problem { objective: &losses, prior: prior.clone(), l1: 0.0 };
        let (mut theta, mut memory) = (vec![0.1; dim], vec![vec![0.0; dim]; examples]);
        let mut l: Vec<f64> = vec![0.0; examples];
        let (mut successes, mut rest) = (vec![0; examples], vec![0; examples]);
        let (mut known, mut visits) = (0.0, 0);
        losses.batches.lock().unwrap().clear();
        let mut look = Look(|_: &Progress, state: &dyn Fn() -> State| {
            // The first call since the last report is the visit, the others are trials.
            let calls: Vec<Vec<u32>> = std::mem::take(&mut *losses.batches.lock().unwrap());
            let example = calls[0][0];
            let e = example as usize;
            let g = losses.batch_gradient(&[example], &theta);
            let squared: f64 = g.iter().map(|g| g * g).sum();
            let mut trials = 0;
            if l[e] == 0.0 {
                l[e] = if known == 0.0 { 1.0 } else { l.iter().sum::<f64>() / known };
                known += 1.0;
            }
            if rest[e] > 0 {
                rest[e] -= 1;
            } else if squared > 1e-8 {
                let now = loss(&losses, example, &theta);
                loop {
                    trials += 1;
                    let there: Vec<f64> = theta.iter().zip(&g).map(|(x, g)| x - g / l[e]).collect();
                    if loss(&losses, example, &there) <= now - squared / (2.0 * l[e]) {
                        break;
                    }
                    l[e] *= 2.0;
                }
                successes[e] = if trials == 1 { successes[e] + 1 } else { 0 };
                if trials == 1 {
                    l[e] *= 0.9;
                    rest[e] = 1 << (successes[e] - 1);
                }
            }
            assert_eq!(calls, vec![vec![example]; 1 + trials], "visit {visits}");
            let constants = &state().vectors["lipschitz"];
            assert!(distance(constants, &l) < 1e-10, "visit {visits}: {constants:?} {l:?}");
            memory[e] = g;
            let lambda = lambda(&prior, dim, examples);
            let (largest, mean) = (l.iter().copied().fold(0.0, f64::max), l.iter().sum::<f64>() / known);
            let alpha = 0.5 * (1.0 / (largest + lambda) + 1.0 / (mean + lambda));
            for i in 0..dim {
                let d: f64 = memory.iter().map(|g| g[i]).sum();
                let pull = prior.precision(i) / examples as f64 * (theta[i] - prior.mean(i));
                theta[i] -= alpha * (d / known + pull);
            }
            losses.batches.lock().unwrap().clear();
            visits += 1;
            Control::Continue
        });
        let method = Sag { passes: 12, gradient_tolerance: 0.0, ..Sag::default() };
        let lazy = method.minimize(&problem, State::start(vec![0.1; dim]), &mut look).unwrap();
        let off = distance(&lazy.theta, &theta);
        assert!(off < 1e-10, "{prior:?}: off by {off}");
        assert!(visits > 150, "{visits}");
    }
}

#[test]
fn lazy_svrg_is_dense_svrg() {
    let (examples, dim) = (30, 15);
    let losses = Losses::logistic(9, examples, dim);
    for prior in [Prior::gaussian(0.5), uneven(dim), Prior::gaussian(f64::INFINITY)] {
        let problem = Problem { objective: &losses, prior: prior.clone(), l1: 0.0 };
        let eta = 0.3;
        let (mut theta, mut snapshot, mut full) = (vec![0.1; dim], Vec::new(), Vec::new());
        losses.batches.lock().unwrap().clear();
        let all: Vec<u32> = (0..examples as u32).collect();
        let mut look = Look(|_: &Progress, _: &dyn Fn() -> State| {
            let calls: Vec<Vec<u32>> = std::mem::take(&mut *losses.batches.lock().unwrap());
            let Some(batch) = calls.first() else {
                snapshot = theta.clone();
                full = losses.batch_gradient(&all, &theta);
                return Control::Continue;
            };
            let (new, old) = (losses.batch_gradient(batch, &theta), losses.batch_gradient(batch, &snapshot));
            for i in 0..dim {
                let pull = prior.precision(i) * (theta[i] - prior.mean(i));
                theta[i] -= eta * (new[i] - old[i] + (full[i] + pull) / examples as f64);
            }
            Control::Continue
        });
        let method = Svrg { eta: Some(eta), passes: 20, gradient_tolerance: 0.0, ..Svrg::default() };
        let lazy = method.minimize(&problem, State::start(vec![0.1; dim]), &mut look).unwrap();
        let off = distance(&lazy.theta, &theta);
        assert!(off < 1e-10, "{prior:?}: off by {off}");
    }
}

#[test]
fn the_memory_of_sag_is_the_sum_of_its_gradients() {
    let crf = crf(true, 20);
    let problem = Problem { objective: &crf, prior: prior(&crf), l1: 0.0 };
    let mut look = Look(|progress: &Progress, state: &dyn Fn() -> State| {
        if progress.theta.is_some() {
            let state = state();
            let mut rest = &state.vectors["memory"][..];
            let (mut sum, mut touched) = (vec![0.0; crf.dim()], Touched::default());
            for example in 0..crf.examples() as u32 {
                crf.touched(&[example], &mut touched);
                let (mine, others) = rest.split_at(touched.len());
                rest = others;
                let weights = touched.weights();
                weights.zip(mine).for_each(|(i, g)| sum[i] += g);
            }
            assert!(rest.is_empty());
            assert!(distance(&state.vectors["drift"], &sum) < 1e-12);
            assert!(sum.iter().any(|g| g.abs() > 0.01));
        }
        Control::Continue
    });
    let start = State::start(vec![0.0; crf.dim()]);
    Sag { passes: 10, ..Sag::default() }.minimize(&problem, start, &mut look).unwrap();
}

#[test]
fn the_gap_of_sdca_bounds_what_is_left() {
    for attributes in [false, true] {
        let crf = crf(attributes, 20);
        let problem = Problem { objective: &crf, prior: prior(&crf), l1: 0.0 };
        let best = total(&problem, &minimize(&exact(), &problem).theta);
        let mut gaps = Vec::new();
        let mut look = Look(|progress: &Progress, state: &dyn Fn() -> State| {
            if let Some(theta) = progress.theta {
                let gap = state().numbers["gap"];
                let left = total(&problem, theta) - best;
                assert!(gap >= -1e-11, "the gap is {gap}");
                assert!(left <= gap + 1e-11, "{left} is left, but the gap is {gap}");
                gaps.push(gap);
            }
            Control::Continue
        });
        let start = State::start(vec![0.0; crf.dim()]);
        let method = Sdca { gap_tolerance: 1e-10, ..Sdca::default() };
        let found = method.minimize(&problem, start, &mut look).unwrap();
        assert_eq!(found.stop, Stop::Gap);
        assert!(gaps[0] > 1.0 && gaps[gaps.len() - 1] <= 1e-10 * best, "{gaps:?}");
    }
}

#[test]
fn dual_ascent_ascends_at_every_step() {
    let crf = crf(true, 15);
    let problem = Problem { objective: &crf, prior: prior(&crf), l1: 0.0 };
    let mut last = f64::NEG_INFINITY;
    let mut look = Look(|_: &Progress, state: &dyn Fn() -> State| {
        let state = state();
        let entropy: f64 = state.vectors["entropies"].iter().sum();
        let weights = state.theta.iter().enumerate();
        let prior = &problem.prior;
        let penalty: f64 =
            weights.map(|(i, x)| 0.5 * prior.precision(i) * (x * x - prior.mean(i).powi(2))).sum();
        assert!(entropy - penalty >= last - 1e-11, "{} after {last}", entropy - penalty);
        last = entropy - penalty;
        Control::Continue
    });
    let start = State::start(vec![0.0; crf.dim()]);
    Sdca { passes: 20, ..Sdca::default() }.minimize(&problem, start, &mut look).unwrap();
}

#[test]
fn marginals_are_the_gradient_and_the_entropy_is_the_loss() {
    for attributes in [false, true] {
        let crf = crf(attributes, 12);
        let mut rng = Random::new(5);
        let theta: Vec<f64> = (0..crf.dim()).map(|_| rng.uniform() - 0.5).collect();
        let mut dual = crf.dual().unwrap();
        for example in 0..crf.examples() as u32 {
            let (mut touched, mut gradient, mut rows) = (Touched::default(), Vec::new(), Vec::new());
            crf.touched(&[example], &mut touched);
            let loss = crf.batch_grad(&[example], &theta, &touched, &mut gradient);
            let [mut answer, mut at, mut counting] = [(); 3].map(|()| vec![0.0; dual.size(example)]);
            dual.gold_marginals(example, &mut answer);
            assert!((dual.marginals(example, &theta, &touched, &mut at) - loss).abs() < 1e-10);
            dual.counting_numbers(example, &mut counting);
            let change: Vec<f64> = at.iter().zip(&answer).map(|(x, y)| x - y).collect();
            dual.project(example, &change, &touched, &mut rows);
            assert!(distance(&rows, &gradient) < 1e-12, "example {example}");
            // H(μ) = log Z − ⟨ψ, μ⟩, and the loss is log Z − ⟨ψ, 1[y]⟩.
            let weights = touched.weights();
            let score: f64 = weights.zip(&rows).map(|(i, u)| theta[i] * u).sum();
            let terms = at.iter().zip(&counting).filter(|(p, _)| **p > 0.0);
            let entropy = -terms.map(|(p, c)| c * p * p.ln()).sum::<f64>();
            let (h, exact) = (dual.weight(example) * entropy, loss - score);
            assert!((h - exact).abs() < 1e-10, "example {example}: {h} {exact}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let crf = crf(true, 10);
    let losses = Losses::logistic(1, 10, 6);
    let refused = |method: &dyn Optimizer, problem: &Problem| {
        let mut look = Look(|_: &Progress, _: &dyn Fn() -> State| panic!("a step before the refusal"));
        let start = State::start(vec![0.0; problem.objective.dim()]);
        method.minimize(problem, start, &mut look).unwrap_err().to_string()
    };
    let good = Problem { objective: &crf, prior: prior(&crf), l1: 0.0 };
    let bytes = [Sag::storage(&good), Sdca::storage(&good).unwrap()];
    let limited: [(&str, Box<dyn Optimizer>); 2] = [
        ("sag", Box::new(Sag { memory_limit: bytes[0] - 1, ..Sag::default() })),
        ("sdca", Box::new(Sdca { memory_limit: bytes[1] - 1, ..Sdca::default() })),
    ];
    for ((name, method), bytes) in limited.into_iter().zip(bytes) {
        let message = refused(&*method, &good);
        let figures = format!("{name} would remember {bytes} bytes, but the limit is {}", bytes - 1);
        assert!(message.starts_with(&figures) && message.contains("`memory_limit`"), "{message}");
    }
    let fitting = Sag { memory_limit: bytes[0], passes: 1, ..Sag::default() };
    assert_eq!(minimize(&fitting, &good).stop, Stop::Passes);
    let methods: [(&str, Box<dyn Optimizer>); 4] = [
        ("sag", Box::new(Sag::default())),
        ("svrg", Box::new(Svrg::default())),
        ("sdca", Box::new(Sdca::default())),
        ("saga", Box::new(Saga::default())),
    ];
    for (name, method) in methods {
        if name != "saga" {
            let message = refused(&*method, &Problem { objective: &crf, prior: prior(&crf), l1: 0.5 });
            assert!(message.starts_with(name) && message.contains("lbfgs"), "{message}");
        }
        let on_marginals =
            [Ability::Dual, Ability::Marginals].iter().any(|need| method.needs().contains(need));
        if on_marginals {
            let wide = Problem { objective: &crf, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
            let message = refused(&*method, &wide);
            assert!(message.contains("`sigma`"), "{message}");
            let message = refused(&*method, &problem(&losses, 1.0));
            assert!(
                message.contains("of single examples, which this objective does not provide"),
                "{message}"
            );
        }
    }
}

#[test]
fn auto_picks_by_what_there_is_and_ends_at_the_optimum() {
    let (crf, many, few) = (crf(false, 60), Losses::logistic(1, 40, 120), Losses::logistic(1, 40, 12));
    let online = AdaGrad { eta0: 0.3, schedule: Schedule { passes: 5, ..Schedule::default() } };
    let auto = |tolerance: f64, passes: f64| Auto {
        online: online.clone(),
        finish: Lbfgs { tolerance, passes, gradient_tolerance: 1e-9, ..Lbfgs::default() },
        begin: None,
        tolerance,
        memory_limit: u64::MAX,
    };
    let likelihood = |sigma: f64, l1: f64| Problem { objective: &crf, prior: Prior::gaussian(sigma), l1 };
    for (problem, choice) in [
        (likelihood(1.0, 0.0), AutoChoice::Saga),
        (likelihood(0.1, 0.0), AutoChoice::Saga),
        (likelihood(10.0, 0.0), AutoChoice::Saga),
        (likelihood(1.0, 0.1), AutoChoice::Saga),
        (likelihood(f64::INFINITY, 0.0), AutoChoice::Saga),
        (problem(&many, 1.0), AutoChoice::AdaGrad),
        (problem(&few, 1.0), AutoChoice::Lbfgs),
    ] {
        assert_eq!(Auto::choice(&problem), choice);
        if problem.prior.sigma.is_infinite() {
            continue; // without a prior this CRF has no optimum
        }
        let best = total(&problem, &minimize(&exact(), &problem).theta);
        let left = |auto: Auto| {
            let found = minimize(&auto, &problem);
            (total(&problem, &found.theta) / best - 1.0, found)
        };
        let name = format!("σ {}, l1 {}", problem.prior.sigma, problem.l1);
        for tolerance in [1e-2, 1e-4] {
            let (rough, found) = left(auto(tolerance, 0.0));
            assert!(rough < tolerance, "{name}: {rough} above the optimum after {} passes", found.passes);
        }
        let (fine, found) = left(auto(1e-12, 0.0));
        assert!(fine < 1e-9, "{name}: {fine} above the optimum after {} passes", found.passes);
        if choice == AutoChoice::Saga {
            let (_, limited) = left(auto(1e-12, 3.0));
            assert!(limited.passes < 3.1, "{name}: {} passes", limited.passes);
            assert_eq!(limited.stop, Stop::Passes, "{name}");
        }
    }
}
