//! A checkpoint is a file: whatever it holds, a run that goes on from it ends, or says that it cannot.

use crate::corpora::made_up;
use crate::objectives::{Look, Losses, problem};
use crate::risks::{SMALL, Shape, risk};

use crfkit::Error;
use crfkit::decode::Viterbi;
use crfkit::infer::ForwardBackward;
use crfkit::loss::{Likelihood, Margin, MarginPerceptron};
use crfkit::math::random::Random;
use crfkit::optim::{
    AdaGrad, Adam, Adaptation, Arow, Auto, AutoChoice, BatchGradient, Bfgs, Cg, Control, Gis, Jump, Lbfgs,
    Newton, NewtonCg, Optimizer, PassiveAggressive, Pgis, Prior, Problem, Progress, Psa, Sag, Saga, Schedule,
    Sdca, Sgd, Smd, State, StoppingRule, Svrg, TripleJump, Updates,
};
use crfkit::risk::Risk;
use crfkit::train::{self, Settings};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Steps that a run may go on for.
const STEPS: usize = 40;

/// How a run from a state ends: nothing but an error matters. Panics name `what`.
fn resume(what: &str, method: &dyn Optimizer, problem: &Problem, state: State) -> Result<(), Error> {
    let mut left = STEPS;
    let mut watch = Look(|_: &Progress, state: &dyn Fn() -> State| {
        left -= 1;
        state();
        if left == 0 { Control::Stop } else { Control::Continue }
    });
    let run = || method.minimize(problem, state, &mut watch).map(|_| ());
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| panic!("{what}: a panic"))
}

/// The states of a run: after its first step, in its middle, at its end.
fn states(method: &dyn Optimizer, problem: &Problem) -> Vec<State> {
    let mut states = Vec::new();
    let mut watch = Look(|_: &Progress, state: &dyn Fn() -> State| {
        states.push(state());
        Control::Continue
    });
    let start = State::start(vec![0.125; problem.objective.dim()]);
    method.minimize(problem, start, &mut watch).unwrap();
    let [first, middle, last] = [0, states.len() / 2, states.len() - 1];
    vec![states[first].clone(), states[middle].clone(), states[last].clone()]
}

/// What is done to a vector, and whether it must be refused.
type Damage = (&'static str, bool, fn(&mut Vec<f64>));

fn middle(vector: &mut [f64]) -> &mut f64 {
    let at = vector.len() / 2;
    &mut vector[at]
}

const VECTORS: [Damage; 15] = [
    ("one too few", true, |v| v.truncate(v.len().saturating_sub(1))),
    ("one too many", true, |v| v.push(0.0)),
    ("empty", false, |v| v.clear()), // what some methods have where there is nothing to remember
    ("far too long", true, |v| v.resize(10 * v.len() + 100, 0.0)),
    ("NaN", true, |v| *middle(v) = f64::NAN),
    ("∞ at the start", true, |v| v[0] = f64::INFINITY),
    ("−∞ at the end", true, |v| *v.last_mut().unwrap() = f64::NEG_INFINITY),
    ("negative", false, |v| *middle(v) = -1.0),
    ("all negative", false, |v| v.iter_mut().for_each(|x| *x = -x.abs() - 0.5)),
    ("huge", false, |v| *middle(v) = 1e308),
    ("all huge", false, |v| v.fill(1e300)),
    ("large", false, |v| v[0] = 1e18),
    ("a fraction", false, |v| v[0] += 0.5),
    ("tiny", false, |v| v[0] = 5e-324),
    ("all zero", false, |v| v.fill(0.0)),
];

const NUMBERS: [f64; 14] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -1.0,
    -0.0,
    0.0,
    0.5,
    1.0,
    7.0,
    4_294_967_296.0,
    1e18,
    1e308,
    -1e308,
    5e-324,
];

fn is_refused(outcome: &Result<(), Error>) -> bool {
    matches!(outcome, Err(Error::File { name, message }) if name == "checkpoint" && message.contains("remove it"))
}

/// Damages each part of a state in each way, then several at once.
fn survives(name: &str, method: &dyn Optimizer, problem: &Problem) {
    for (at, state) in states(method, problem).into_iter().enumerate() {
        let whole = format!("{name}, state {at}");
        let undamaged = resume(&whole, method, problem, state.clone());
        assert!(undamaged.is_ok(), "{whole}: {undamaged:?}");
        let vectors: Vec<String> = state.vectors.keys().cloned().chain(["theta".into()]).collect();
        for vector in &vectors {
            let change = |damage: &dyn Fn(&mut Vec<f64>)| {
                let mut damaged = state.clone();
                match damaged.vectors.get_mut(vector) {
                    Some(vector) => damage(vector),
                    None => damage(&mut damaged.theta),
                }
                damaged
            };
            for (what, refused, damage) in VECTORS {
                let length = what.contains("too");
                let empty = state.vectors.get(vector).is_some_and(|v| v.is_empty());
                if empty && !length {
                    continue;
                }
                let what = format!("{whole}: {vector} {what}");
                let outcome = resume(&what, method, problem, change(&damage));
                assert!(
                    !refused || is_refused(&outcome) || empty && !what.contains("many"),
                    "{what}: {outcome:?}"
                );
            }
            let mut damaged = state.clone();
            if damaged.vectors.remove(vector).is_some() {
                let what = format!("{whole}: without {vector}");
                let alone = damaged.vectors.is_empty(); // then it is a fresh start from these weights
                assert!(is_refused(&resume(&what, method, problem, damaged)) || alone, "{what}");
            }
        }
        for number in state.numbers.keys() {
            for x in NUMBERS {
                let mut damaged = state.clone();
                damaged.numbers.insert(number.clone(), x);
                let what = format!("{whole}: {number} {x}");
                let outcome = resume(&what, method, problem, damaged);
                assert!(x.is_finite() || is_refused(&outcome), "{what}: {outcome:?}");
            }
            let mut damaged = state.clone();
            damaged.numbers.remove(number);
            let passes = number.starts_with("passes"); // a fresh start has none
            let what = format!("{whole}: without {number}");
            assert!(is_refused(&resume(&what, method, problem, damaged)) || passes, "{what}");
        }
        let mut rng = Random::new(at as u64);
        for round in 0..60 {
            let mut damaged = state.clone();
            for x in damaged.numbers.values_mut() {
                if rng.below(4) == 0 {
                    *x = NUMBERS[3 + rng.below(11)];
                }
            }
            for vector in damaged.vectors.values_mut().filter(|v| !v.is_empty()) {
                // Only what may pass the checks of a single vector.
                let x = [0.0, 1.0, 0.5, 1e300, 5e-324][rng.below(5)];
                let from = rng.below(8 * vector.len()).min(vector.len());
                vector[from..].fill(x);
            }
            let _ = resume(&format!("{whole}: round {round}"), method, problem, damaged);
        }
    }
}

#[test]
fn online_methods_survive_any_state() {
    let losses = Losses::logistic(1, 26, 14);
    let schedule = Schedule { batch: 4, passes: 3, seed: 5, ..Schedule::default() };
    let mean = Schedule { batch: 1, gradient: BatchGradient::Mean, ..schedule };
    let dense = Schedule { updates: Updates::Dense, ..schedule };
    let methods: [(&str, Box<dyn Optimizer>); 13] = [
        ("SGD", Box::new(Sgd::bottou(Some(0.1), schedule))),
        ("calibrated SGD", Box::new(Sgd::fixed(None, mean))),
        ("ASG", Box::new(Sgd::annealed(Some(0.5), schedule))),
        ("averaged SGD", Box::new(Sgd { average_from: Some(0.4), ..Sgd::averaged(Some(0.1), schedule) })),
        ("dense averaged SGD", Box::new(Sgd::averaged(None, dense))),
        ("SMD", Box::new(Smd { lambda: 0.9, schedule, ..Smd::default() })),
        ("PSA", Box::new(Psa { period: 2, schedule: mean, ..Psa::default() })),
        (
            "printed PSA",
            Box::new(Psa { adaptation: Adaptation::Printed, period: 2, schedule: mean, ..Psa::default() }),
        ),
        ("PSA, large gains", Box::new(Psa { eta0: 5.0, period: 2, schedule: mean, ..Psa::default() })),
        ("Adam", Box::new(Adam { eta0: 0.1, schedule, ..Adam::default() })),
        ("dense AdaGrad", Box::new(AdaGrad { eta0: 0.3, schedule: dense })),
        ("AdaGrad", Box::new(AdaGrad { eta0: 0.3, schedule })),
        ("auto", auto(Some(AutoChoice::AdaGrad))),
    ];
    for (name, method) in &methods {
        survives(name, &**method, &problem(&losses, 1.0));
        if ["SGD", "Adam", "AdaGrad", "auto"].contains(name) {
            survives(&format!("{name}, L1"), &**method, &Problem { l1: 0.5, ..problem(&losses, 1.0) });
        }
    }
}

fn auto(begin: Option<AutoChoice>) -> Box<dyn Optimizer> {
    let schedule = Schedule { batch: 4, passes: 2, seed: 5, ..Schedule::default() };
    let online = AdaGrad { eta0: 0.3, schedule };
    let finish = Lbfgs { memory: 3, ..Lbfgs::default() };
    Box::new(Auto { online, finish, begin, tolerance: 1e-9, memory_limit: u64::MAX })
}

#[test]
fn methods_of_finite_sums_survive_any_state() {
    let (corpus, _) = made_up(2, 12);
    let features = train::features(&corpus, &Settings::default());
    let risk = Risk::new(Likelihood(ForwardBackward), features, corpus.data, 1).unwrap();
    let problem = Problem { objective: &risk, prior: Prior::gaussian(1.0), l1: 0.0 };
    let methods: [(&str, Box<dyn Optimizer>); 6] = [
        ("SDCA", Box::new(Sdca { passes: 7, ..Sdca::default() })),
        ("SAGA", Box::new(Saga { passes: 4.5, ..Saga::default() })),
        ("SAG", Box::new(Sag { passes: 8, ..Sag::default() })),
        ("SVRG", Box::new(Svrg { passes: 12, ..Svrg::default() })),
        ("AdaGrad on chains", Box::new(AdaGrad::default())),
        ("auto", auto(None)),
    ];
    for (name, method) in &methods {
        survives(name, &**method, &problem);
    }
    let sparse = Problem { l1: 0.1, ..problem };
    survives("SAGA, L1", &Saga { passes: 4.5, ..Saga::default() }, &sparse);
}

#[test]
fn methods_with_a_margin_survive_any_state() {
    let (corpus, _) = made_up(2, 12);
    let features = train::features(&corpus, &Settings::default());
    let loss = MarginPerceptron { decoder: Viterbi, margin: Margin::Errors };
    let risk = Risk::new(loss, features, corpus.data, 1).unwrap();
    let free = Problem { objective: &risk, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    let schedule = Schedule { batch: 1, passes: 3, seed: 5, ..Schedule::default() };
    survives("PA", &PassiveAggressive { schedule, ..PassiveAggressive::default() }, &free);
    survives("AROW", &Arow { schedule, ..Arow::default() }, &free);
}

#[test]
fn batch_methods_survive_any_state() {
    let chains = risk(1, SMALL);
    let all = risk(8, Shape { examples: 300, labels: 2, ..SMALL });
    let until =
        StoppingRule { gradient_tolerance: 0.0, tolerance: 0.0, passes: 300.0, ..StoppingRule::default() };
    let short = StoppingRule { passes: 20.0, ..until.clone() };
    let methods: [(&str, Box<dyn Optimizer>); 9] = [
        ("L-BFGS", Box::new(Lbfgs { memory: 3, passes: 20.0, ..Lbfgs::default() })),
        ("BFGS", Box::new(Bfgs { until: short.clone(), ..Bfgs::default() })),
        ("CG", Box::new(Cg { until: short.clone(), ..Cg::default() })),
        ("Newton", Box::new(Newton { until: until.clone() })),
        ("Newton-CG", Box::new(NewtonCg { until, ..NewtonCg::default() })),
        ("PGIS", Box::new(Pgis { until: short.clone(), ..Pgis::default() })),
        ("CTJPGIS", Box::new(TripleJump { until: short.clone(), ..TripleJump::default() })),
        (
            "TJPGIS",
            Box::new(TripleJump { jump: Jump::Global, until: short.clone(), ..TripleJump::default() }),
        ),
        (
            "Aitken",
            Box::new(TripleJump { jump: Jump::Aitken, until: short.clone(), ..TripleJump::default() }),
        ),
    ];
    for (name, method) in &methods {
        survives(name, &**method, &Problem { objective: &chains, prior: Prior::gaussian(1.0), l1: 0.0 });
    }
    survives("OWL-QN", &*methods[0].1, &Problem { objective: &chains, prior: Prior::gaussian(1.0), l1: 0.5 });
    let free = Problem { objective: &all, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    survives("GIS", &Gis { until: short }, &free);
}

#[test]
fn a_start_with_other_weights_is_refused() {
    let losses = Losses::logistic(1, 26, 14);
    for theta in [vec![], vec![0.0; 13], vec![0.0; 15]] {
        let outcome = resume("start", &AdaGrad::default(), &problem(&losses, 1.0), State::start(theta));
        assert!(matches!(outcome, Err(Error::Setting(_))), "{outcome:?}");
    }
}
