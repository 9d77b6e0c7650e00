//! `auto` where the prior is wide or missing: a proximal step of SAGA, then L-BFGS with scaled steps.

use crate::corpora::attribute_corpus;
use crate::finite_sum::{crf, exact, prior};
use crate::objectives::{Look, minimize, total};
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::math::random::Random;
use crfkit::optim::{
    AdaGrad, Auto, AutoChoice, Control, Lbfgs, Mean, Optimizer, Prior, Problem, Progress, State, Stop,
};
use crfkit::risk::Risk;
use crfkit::train::{self, Settings};

fn auto(tolerance: f64) -> Auto {
    let finish = Lbfgs { gradient_tolerance: 1e-9, ..Lbfgs::default() };
    Auto { online: AdaGrad::default(), finish, begin: None, tolerance, memory_limit: u64::MAX }
}

/// Within half of the tolerance, by a rule, at every σ and with L1; σ of label pairs and the mean of the prior count too.
#[test]
fn it_ends_near_the_optimum() {
    for attributes in [false, true] {
        let crf = crf(attributes, 60);
        let with = |sigma: f64, sigma_pairs: f64, mean: f64| Prior {
            sigma,
            sigma_pairs,
            mean: Mean::Value(mean),
            ..prior(&crf)
        };
        for (prior, l1) in [
            (with(2.6, 2.6, 0.0), 0.0),
            (with(4.0, 4.0, 0.0), 0.0),
            (with(10.0, 10.0, 0.0), 0.0),
            (with(10.0, 0.5, 0.3), 0.0),
            (with(30.0, 30.0, 0.0), 0.0),
            (with(100.0, 100.0, 0.0), 0.0),
            (with(10.0, 10.0, 0.0), 0.1),
            (with(f64::INFINITY, f64::INFINITY, 0.0), 0.3),
            (with(f64::INFINITY, 1.0, 0.0), 1.0),
        ] {
            let problem = Problem { objective: &crf, prior, l1 };
            assert_eq!(Auto::choice(&problem), AutoChoice::Saga);
            let best = total(&problem, &minimize(&exact(), &problem).theta);
            let found = minimize(&auto(Auto::TOLERANCE), &problem);
            let left = total(&problem, &found.theta) / best - 1.0;
            let name = format!("σ {} and {}, l1 {l1}", problem.prior.sigma, problem.prior.sigma_pairs);
            assert!(left < 0.005, "{name}: {left} above the optimum after {} passes", found.passes);
            assert!(found.passes < 600.0, "{name}: {} passes", found.passes);
            assert!(matches!(found.stop, Stop::Change | Stop::Gradient), "{name}: {}", found.stop);
        }
    }
}

/// With an L1 penalty, weights that say the same make many edges, at which steps are short because their direction is poor. That is no reason
/// to stop.
#[test]
fn short_steps_at_edges_are_no_end() {
    use std::fmt::Write;
    let constant: String = (0..200).map(|k| format!("\tb{k}")).collect();
    for seed in 1..=3 {
        let (mut random, mut text) = (Random::new(seed), String::new());
        for t in 0..60 {
            let label = t / 5 % 3;
            let x = f64::from(label) + 4.0 * (random.uniform() - 0.5);
            let end = if t % 20 == 19 { "\n" } else { "" };
            writeln!(text, "L{label}\tx:{x:.3}{constant}{end}").unwrap();
        }
        let corpus = attribute_corpus(&text, 1);
        let features = train::features(&corpus, &Settings::default());
        let crf = Risk::new(Likelihood(ForwardBackward), features, corpus.data, 1).unwrap();
        let problem = Problem { objective: &crf, prior: Prior::gaussian(2.0), l1: 0.1 };
        let best = total(&problem, &minimize(&Lbfgs { tolerance: 1e-10, ..exact() }, &problem).theta);
        for method in [&Lbfgs::default() as &dyn Optimizer, &auto(Auto::TOLERANCE)] {
            let found = minimize(method, &problem);
            let left = total(&problem, &found.theta) / best - 1.0;
            assert!(left < 0.002, "seed {seed}: {left} above the optimum after {} passes", found.passes);
        }
    }
}

/// Without any penalty some weights of this CRF grow for ever; the run ends by the rule on the gradient or that on the change.
#[test]
fn it_ends_without_a_penalty() {
    let crf = crf(false, 40);
    let problem = Problem { objective: &crf, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    let found = minimize(&auto(Auto::TOLERANCE), &problem);
    assert!(matches!(found.stop, Stop::Gradient | Stop::Change), "{}", found.stop);
    let further = minimize(&Lbfgs { passes: 1000.0, ..exact() }, &problem);
    let left = total(&problem, &found.theta) / total(&problem, &further.theta) - 1.0;
    assert!(left < 0.005 && found.passes < 200.0, "{left} left after {} passes", found.passes);
}

/// The step is centred at the start, so a run that begins at the optimum does not leave it; and what is reported is the
/// objective of the problem, not that of the step.
#[test]
fn good_weights_are_kept_and_reports_are_of_the_problem() {
    let crf = crf(false, 40);
    let problem = Problem { objective: &crf, prior: Prior { sigma: 10.0, ..prior(&crf) }, l1: 0.0 };
    let best = minimize(&exact(), &problem).theta;
    let lowest = total(&problem, &best);
    let mut worst: f64 = 0.0;
    let mut look = Look(|progress: &Progress, _: &dyn Fn() -> State| {
        if let (Some(theta), Some(objective)) = (progress.theta, progress.objective) {
            let exact = total(&problem, theta);
            worst = worst.max(exact);
            assert!((objective / exact - 1.0).abs() < 0.1, "{objective} is reported for {exact}");
        }
        Control::Continue
    });
    auto(Auto::TOLERANCE).minimize(&problem, State::start(best), &mut look).unwrap();
    assert!(worst < 1.01 * lowest, "{worst} above {lowest}");
}
