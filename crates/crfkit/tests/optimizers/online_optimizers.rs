//! The online methods against literal transcriptions, with dense and with lazy updates.

use crate::literal;
use crate::objectives;

use crfkit::optim::{
    AdaGrad, Adam, Adaptation, BatchGradient, Gain, Lbfgs, Mean, Optimizer, Prior, Problem, Psa, Schedule,
    Sgd, Smd, Updates,
};
use literal::Run;
use objectives::{Losses, distance, minimize, minimize_from, problem, total, uneven};

const DIM: usize = 60;

/// More weights than examples use: some are never touched.
fn losses() -> Losses {
    Losses::logistic(9, 30, DIM)
}

fn start() -> Vec<f64> {
    (0..DIM).map(|i| 0.1 * (i % 7) as f64 - 0.3).collect()
}

/// From strong ones to none: PSA's series have three lengths.
fn priors() -> [Prior; 6] {
    let constant = Prior { mean: Mean::Value(0.25), ..Prior::gaussian(0.4) };
    let [five, twenty, none] = [5.0, 20.0, f64::INFINITY].map(Prior::gaussian);
    [Prior::gaussian(1.0), constant, uneven(DIM, 0.5, 0.2), five, twenty, none]
}

fn schedules(updates: Updates) -> Vec<Schedule> {
    let mut all = Vec::new();
    for gradient in [BatchGradient::Sum, BatchGradient::Mean] {
        for batch in [1, 4, 30] {
            all.push(Schedule { batch, passes: 8, seed: 3, gradient, updates });
        }
    }
    all
}

/// Runs `method` and `literal` on all priors and schedules; their weights must agree.
fn compare(
    name: &str,
    updates: Updates,
    l1: f64,
    method: impl Fn(Schedule) -> Box<dyn Optimizer>,
    literal: impl Fn(&Run) -> Vec<f64>,
) {
    let losses = losses();
    for prior in &priors() {
        for schedule in schedules(updates) {
            let problem = Problem { objective: &losses, prior: prior.clone(), l1 };
            let found = minimize_from(&*method(schedule), &problem, &start()).unwrap().theta;
            let run = Run { losses: &losses, prior, l1, schedule, start: start() };
            let expected = literal(&run);
            let off = distance(&found, &expected);
            // NaN is no agreement.
            assert!(
                off < 1e-10,
                "{name}, l1 {l1}, {schedule:?}, σ {} and {}: off by {off}",
                prior.sigma,
                prior.sigma_pairs
            );
            assert!(distance(&found, &start()) > 1e-3, "{name} does not move");
        }
    }
}

const BOTH: [Updates; 2] = [Updates::Lazy, Updates::Dense];

#[test]
fn gains_of_sgd_are_their_formulas() {
    for updates in BOTH {
        let fixed = |schedule| Box::new(Sgd::fixed(Some(0.03), schedule)) as Box<dyn Optimizer>;
        compare("SGD", updates, 0.0, fixed, |run| run.sgd(|_, _| 0.03, None));
        let annealed = |schedule| Box::new(Sgd::annealed(Some(0.03), schedule)) as Box<dyn Optimizer>;
        compare("ASG", updates, 0.0, annealed, |run| run.sgd(|t, _| 0.03 / t, None));
        let bottou = |schedule| Box::new(Sgd::bottou(Some(0.03), schedule)) as Box<dyn Optimizer>;
        compare("Bottou", updates, 0.0, bottou, |run| {
            run.sgd(|_, before| 0.03 / (1.0 + 0.03 * before * run.prior.precision(0)), None)
        });
    }
    let fixed = |schedule| Box::new(Sgd::fixed(Some(0.03), schedule)) as Box<dyn Optimizer>;
    compare("SGD", Updates::Dense, 0.7, fixed, |run| run.sgd(|_, _| 0.03, None));
}

#[test]
fn averages_are_means_of_iterates() {
    for updates in BOTH {
        for passes in [0.0, 1.0, 2.5] {
            for (gain, eta0) in [(Gain::Fixed, 0.03), (Gain::Annealed, 0.03), (Gain::Bottou, 0.03)] {
                let method = |schedule| -> Box<dyn Optimizer> {
                    Box::new(Sgd { eta0: Some(eta0), gain, average_from: Some(passes), schedule })
                };
                compare("averaged SGD", updates, 0.0, method, |run| {
                    let steps_a_pass = 30usize.div_ceil(run.schedule.batch);
                    let first = (passes * steps_a_pass as f64).ceil() as usize;
                    let eta = |t: f64, before: f64| match gain {
                        Gain::Fixed => eta0,
                        Gain::Annealed => eta0 / t,
                        Gain::Bottou => eta0 / (1.0 + eta0 * before * run.prior.precision(0)),
                    };
                    run.sgd(eta, Some(first))
                });
            }
        }
    }
}

#[test]
fn a_long_past_is_forgotten_without_a_trace() {
    // More steps than SGD remembers, under a prior so weak that nothing else makes it forget.
    let (losses, prior) = (losses(), Prior::gaussian(100.0));
    let schedule = Schedule { batch: 1, passes: 2400, seed: 3, ..Schedule::default() };
    let method = Sgd { average_from: Some(2000.0), ..Sgd::fixed(Some(0.01), schedule) };
    let problem = Problem { objective: &losses, prior: prior.clone(), l1: 0.0 };
    let found = minimize_from(&method, &problem, &start()).unwrap().theta;
    let run = Run { losses: &losses, prior: &prior, l1: 0.0, schedule, start: start() };
    let expected = run.sgd(|_, _| 0.01, Some(2000 * 30));
    let off = distance(&found, &expected);
    assert!(off < 1e-10, "off by {off}");
}

#[test]
fn averages_keep_their_digits_under_a_strong_prior() {
    // Each step takes most of every weight away: products of all decays would be far below the smallest number.
    let losses = losses();
    let prior = Prior { mean: Mean::Value(0.25), ..Prior::gaussian(0.05) };
    for average_from in [None, Some(0.5)] {
        let schedule = Schedule { batch: 1, passes: 8, seed: 3, ..Schedule::default() };
        let method = Sgd { average_from, ..Sgd::fixed(Some(0.06), schedule) };
        let problem = Problem { objective: &losses, prior: prior.clone(), l1: 0.0 };
        let found = minimize_from(&method, &problem, &start()).unwrap().theta;
        let run = Run { losses: &losses, prior: &prior, l1: 0.0, schedule, start: start() };
        let expected = run.sgd(|_, _| 0.06, average_from.map(|_| 15));
        let off = distance(&found, &expected);
        assert!(off < 1e-10, "off by {off}");
    }
}

#[test]
fn smd_is_the_papers_iteration_and_its_lazy_recursion() {
    for (mu, lambda, gain_factor, gain_floor) in
        [(0.1, 1.0, [0.5, 1.1], 1e-8), (0.5, 0.9, [0.5, f64::INFINITY], 0.0), (0.2, 0.0, [0.7, 1.5], 0.5)]
    {
        let method = |schedule| -> Box<dyn Optimizer> {
            Box::new(Smd { eta0: 0.05, mu, lambda, gain_factor, gain_floor, schedule })
        };
        let floor = 0.05 * gain_floor;
        let dense = |run: &Run| run.smd(0.05, mu, lambda, gain_factor, floor);
        compare("SMD", Updates::Dense, 0.0, method, dense);
        let lazy = |run: &Run| run.lazy_smd(0.05, mu, lambda, gain_factor, floor);
        compare("lazy SMD", Updates::Lazy, 0.0, method, lazy);
    }
}

/// Compares PSA in both forms with the paper's periods and steps, in which `adapt` makes the next gain of a gain and a rate.
fn compare_psa(psa: &Psa, adapt: impl Fn(f64, f64) -> f64) {
    // A last batch that is smaller has the same share of the penalty.
    let even = |schedule: Schedule| {
        let batch = if schedule.batch == 4 { 3 } else { schedule.batch };
        Schedule { batch, passes: 20, ..schedule }
    };
    for updates in BOTH {
        let method = |schedule| -> Box<dyn Optimizer> {
            Box::new(Psa { eta0: 0.03, schedule: even(schedule), ..psa.clone() })
        };
        compare("PSA", updates, 0.0, method, |run| {
            Run { schedule: even(run.schedule), start: start(), ..*run }.psa(0.03, psa.period, &adapt)
        });
    }
}

#[test]
fn psa_is_the_papers_iteration() {
    for (period, gain_factor, gain_range) in [
        (10, [0.9, 1.1], [1e-4, 10.0]),
        (2, [0.5, 2.0], [0.1, 4.0]),
        (1, [0.25, f64::INFINITY], [0.01, 3.0]),
        (3, [0.99, 1.0], [0.5, 1.0]),
    ] {
        let adaptation = Adaptation::Printed;
        let psa = Psa { adaptation, gain_factor, gain_range, period, ..Psa::default() };
        let limits = gain_range.map(|multiple| 0.03 * multiple);
        compare_psa(&psa, |eta, gamma| literal::printed(eta, gamma, gain_factor, limits));
    }
}

#[test]
fn psa_with_gains_that_shrink_is_its_dense_iteration() {
    for (period, bounds) in
        [(10, [0.9, 0.9999, 0.99]), (2, [0.9, 0.9999, 0.99]), (1, [0.5, 0.99, 0.8]), (3, [0.9, 1.0, 0.9])]
    {
        let [kappa, alpha, beta] = bounds;
        let psa = Psa { kappa, alpha, beta, period, ..Psa::default() };
        compare_psa(&psa, |eta, gamma| literal::shrinking(eta, gamma, bounds));
    }
}

#[test]
fn adagrad_and_adam_are_the_papers_iterations() {
    for l1 in [0.0, 0.7] {
        let adagrad = |schedule| Box::new(AdaGrad { eta0: 0.3, schedule }) as Box<dyn Optimizer>;
        compare("AdaGrad", Updates::Dense, l1, adagrad, |run| run.adagrad(0.3));
        for betas in [[0.9, 0.999], [0.0, 0.9], [0.5, 0.6]] {
            let [beta1, beta2] = betas;
            let adam = |schedule| -> Box<dyn Optimizer> {
                Box::new(Adam { eta0: 0.02, beta1, beta2, epsilon: 0.1, schedule })
            };
            compare("Adam", Updates::Dense, l1, adam, |run| run.adam(0.02, betas, 0.1, false));
            compare("lazy Adam", Updates::Lazy, l1, adam, |run| run.adam(0.02, betas, 0.1, true));
        }
    }
}

#[test]
fn every_method_comes_near_the_optimum() {
    let (squares, logistic) = (Losses::least_squares(11, 203, 12, 10.0, 2.0), Losses::logistic(12, 203, 12));
    for losses in [&squares, &logistic] {
        for (sigma, l1) in [(1.0, 0.0), (0.5, 0.0), (1.0, 2.0)] {
            let problem = Problem { l1, ..problem(losses, sigma) };
            let exact = Lbfgs { gradient_tolerance: 1e-12, tolerance: 0.0, ..Lbfgs::default() };
            let best = total(&problem, &minimize(&exact, &problem).theta);
            for batch in [1, 8] {
                let schedule = Schedule { batch, passes: 60, seed: 3, ..Schedule::default() };
                let mean = Schedule { gradient: BatchGradient::Mean, ..schedule };
                // A fixed gain ends in a ball around the optimum, the others go on towards it.
                let methods: [(&str, f64, Box<dyn Optimizer>); 6] = [
                    ("SGD", 5e-3, Box::new(Sgd::fixed(Some(0.01), schedule))),
                    ("ASG", 2e-2, Box::new(Sgd::annealed(Some(4.0), schedule))),
                    ("averaged SGD", 5e-3, Box::new(Sgd::averaged(Some(0.05), schedule))),
                    ("SMD", 1e-3, Box::new(Smd { eta0: 0.01, mu: 0.02, schedule, ..Smd::default() })),
                    ("PSA", 5e-3, Box::new(Psa { schedule: mean, ..Psa::default() })),
                    ("Adam", 1e-3, Box::new(Adam { eta0: 0.005, schedule, ..Adam::default() })),
                ];
                for (name, allowed, method) in methods {
                    if l1 > 0.0 && !["SGD", "ASG", "Adam"].contains(&name) {
                        let refused = minimize_from(&*method, &problem, &[0.0; 12]).unwrap_err().to_string();
                        assert!(refused.contains("`l1`"), "{name}: {refused}");
                        continue;
                    }
                    // η₀/t needs η₀ above 1/curvature, where the first steps on squares explode.
                    if name == "ASG" && std::ptr::eq(losses, &squares) {
                        continue;
                    }
                    let left = total(&problem, &minimize(&*method, &problem).theta) / best - 1.0;
                    assert!(
                        (-1e-12..allowed).contains(&left),
                        "{name}, batch {batch}, σ {sigma}, l1 {l1}: {left}"
                    );
                }
            }
        }
    }
}
