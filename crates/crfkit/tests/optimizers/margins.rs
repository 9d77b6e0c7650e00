//! Passive-aggressive steps and AROW are what their papers and CRFsuite say, step by step.

use crate::corpora;
use crate::objectives;

use corpora::{made_up, train};
use crfkit::Error;
use crfkit::decode::Viterbi;
use crfkit::loss::{Margin, MarginPerceptron, Perceptron};
use crfkit::math::random::Random;
use crfkit::optim::{
    Arow, Objective, Optimizer, PassiveAggressive, Prior, Problem, Schedule, Slack, Touched,
};
use crfkit::risk::Risk;
use crfkit::settings::{Criterion, Kind, Method, Settings};
use crfkit::train::{TrainOptions, features};
use objectives::minimize_from;

const MARGINS: [Margin; 3] = [Margin::One, Margin::Root, Margin::Errors];

/// The sum of losses over made-up sequences, and the same without a margin.
fn risks(margin: Margin, threads: usize) -> [Risk<crfkit::graph::Chain>; 2] {
    let make = || {
        let (corpus, _) = made_up(3, 25);
        let features = features(&corpus, &Settings::default());
        (features, corpus.data)
    };
    let ((features, data), (same, again)) = (make(), make());
    [
        Risk::new(MarginPerceptron { decoder: Viterbi, margin }, features, data, threads).unwrap(),
        Risk::new(Perceptron(Viterbi), same, again, threads).unwrap(),
    ]
}

/// Loss and gradient of one example.
fn single(risk: &dyn Objective, example: u32, theta: &[f64]) -> (f64, Vec<f64>) {
    let (mut touched, mut rows, mut dense) = (Touched::default(), Vec::new(), vec![0.0; theta.len()]);
    risk.touched(&[example], &mut touched);
    let loss = risk.batch_grad(&[example], theta, &touched, &mut rows);
    touched.scatter(&rows, &mut dense);
    (loss, dense)
}

/// Runs `step(θ, loss, gradient, number)` over the examples in the order of the methods, and gives all iterates.
fn literal(
    risk: &dyn Objective,
    schedule: &Schedule,
    mut step: impl FnMut(&mut [f64], f64, &[f64]),
) -> Vec<Vec<f64>> {
    let mut theta = vec![0.0; risk.dim()];
    let mut iterates = vec![theta.clone()];
    for pass in 0..schedule.passes {
        let mut order: Vec<u32> = (0..risk.examples() as u32).collect();
        Random::stream(schedule.seed, pass as u64).shuffle(&mut order);
        for example in order {
            let (loss, gradient) = single(risk, example, &theta);
            step(&mut theta, loss, &gradient);
            iterates.push(theta.clone());
        }
    }
    iterates
}

fn minimize(method: &dyn Optimizer, risk: &dyn Objective) -> Vec<f64> {
    let problem = Problem { objective: risk, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    minimize_from(method, &problem, &vec![0.0; risk.dim()]).unwrap().theta
}

fn assert_near(found: &[f64], expected: &[f64], what: &str) {
    assert!(expected.iter().any(|x| *x != 0.0), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{what}: {a} {b}");
    }
}

#[test]
fn passive_aggressive_steps_are_their_formulas() {
    let schedule = Schedule { batch: 1, passes: 3, seed: 7, ..Schedule::default() };
    for (slack, c) in
        [(Slack::None, 1.0f64), (Slack::Linear, 0.05), (Slack::Linear, 1.0), (Slack::Squared, 0.3)]
    {
        for margin in MARGINS {
            let [risk, _] = risks(margin, 1);
            let iterates = literal(&risk, &schedule, |theta, loss, g| {
                let norm: f64 = g.iter().map(|g| g * g).sum();
                if norm == 0.0 {
                    return;
                }
                let tau = match slack {
                    Slack::None => loss / norm,
                    Slack::Linear => c.min(loss / norm),
                    Slack::Squared => loss / (norm + 0.5 / c),
                };
                theta.iter_mut().zip(g).for_each(|(x, g)| *x -= tau * g);
            });
            let what = format!("{slack:?} {c} {margin:?}");
            let mut method = PassiveAggressive { aggressiveness: c, slack, average: false, schedule };
            assert_near(&minimize(&method, &risk), iterates.last().unwrap(), &what);
            method.average = true;
            let mean: Vec<f64> = (0..risk.dim())
                .map(|i| iterates.iter().map(|theta| theta[i]).sum::<f64>() / iterates.len() as f64)
                .collect();
            assert_near(&minimize(&method, &risk), &mean, &what);
        }
    }
}

#[test]
fn arow_is_its_formulas() {
    let schedule = Schedule { batch: 1, passes: 3, seed: 7, ..Schedule::default() };
    for (variance, gamma) in [(1.0, 1.0), (0.1, 3.0)] {
        let [risk, _] = risks(Margin::Errors, 1);
        let mut v = vec![variance; risk.dim()];
        let iterates = literal(&risk, &schedule, |theta, loss, g| {
            if loss == 0.0 {
                return;
            }
            let spread: f64 = g.iter().zip(&v).map(|(g, v)| g * g * v).sum();
            for ((x, v), g) in theta.iter_mut().zip(&mut v).zip(g) {
                *x -= loss / (gamma + spread) * *v * g;
                *v = 1.0 / (1.0 / *v + g * g / gamma);
            }
        });
        let found = minimize(&Arow { variance, gamma, schedule }, &risk);
        assert_near(&found, iterates.last().unwrap(), &format!("{variance} {gamma}"));
    }
}

/// The margin is counted where labels are wrong, and the gradient has nothing of it.
#[test]
fn the_margin_is_a_constant_of_wrong_labellings() {
    for margin in MARGINS {
        let [with, without] = risks(margin, 1);
        let mut random = Random::new(5);
        let mut theta: Vec<f64> = (0..with.dim()).map(|_| random.uniform() - 0.5).collect();
        let mut counts = std::collections::BTreeSet::new();
        for example in (0..with.examples() as u32).chain(0..with.examples() as u32) {
            let ((a, g), (b, h)) = (single(&with, example, &theta), single(&without, example, &theta));
            assert_eq!(g, h);
            let wrong = ((a - b) * 1e6).round() / 1e6;
            let fits = |d: usize| (margin.required(d) - wrong).abs() < 1e-5;
            assert!((0..50).any(fits) && (wrong > 0.0) == g.iter().any(|g| *g != 0.0), "{margin:?} {wrong}");
            counts.insert((wrong * 1e3) as u64);
            theta.iter_mut().zip(&g).for_each(|(x, g)| *x -= 0.5 * g);
        }
        assert!(counts.len() > 1 && counts.contains(&0), "{margin:?}: {counts:?}");
    }
}

#[test]
fn training_separates_and_does_not_depend_on_threads() {
    for optimizer in [Method::Pa, Method::Arow] {
        let settings = Settings { passes: Some(10), ..Settings::for_margin_method(optimizer) };
        let run = |threads| {
            train(made_up(9, 30).0, &settings, TrainOptions { threads, ..TrainOptions::default() }).0
        };
        let (one, two) = (run(1), run(2));
        assert_eq!(*one.model.weights, *two.model.weights, "{optimizer:?}");
        let (corpus, _) = made_up(9, 30);
        let features = features(&corpus, &settings);
        let risk = Risk::new(Perceptron(Viterbi), features, corpus.data, 1).unwrap();
        let wrong =
            (0..30).filter(|&k| single(&risk, k, &one.model.weights).1.iter().any(|g| *g != 0.0)).count();
        assert!(wrong <= 3, "{optimizer:?}: {wrong} of 30 sequences are still wrong");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: fn(&mut Settings), words: &str| {
        for optimizer in [Method::Pa, Method::Arow] {
            let mut settings = Settings::for_margin_method(optimizer);
            settings.check(Kind::Chain).unwrap();
            change(&mut settings);
            let message = settings.check(Kind::Chain).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    };
    refused(|s| s.sigma = 1.0, "`sigma` inf");
    refused(|s| s.sigma_pairs = Some(1.0), "`sigma` inf");
    refused(|s| s.l1 = 1.0, "L1");
    refused(|s| s.objective = Criterion::Likelihood, "a margin between labellings");
    let check = |settings: Settings, kind| settings.check(kind);
    for kind in [Kind::Linked, Kind::Graph, Kind::Grid] {
        let error = check(
            Settings { init: Settings::for_kind(kind).init, ..Settings::for_margin_method(Method::Pa) },
            kind,
        );
        assert!(matches!(&error, Err(Error::Setting(why)) if why.contains("chains only")), "{error:?}");
    }
    let mut bad = Settings::for_margin_method(Method::Pa);
    bad.parameters.aggressiveness = Some(0.0);
    assert!(bad.check(Kind::Chain).unwrap_err().to_string().contains("`aggressiveness` is 0"));
    let mut bad = Settings::for_margin_method(Method::Arow);
    bad.parameters.gamma = Some(f64::NAN);
    assert!(bad.check(Kind::Chain).is_err());
}
