//! A run that goes on from any of its states ends as if nothing had happened, to the last bit.

use crate::corpora;
use crate::objectives;
use crate::risks;

use corpora::{made_up, parameters};
use crfkit::decode::Viterbi;
use crfkit::infer::ForwardBackward;
use crfkit::loss::{Likelihood, Margin, MarginPerceptron};
use crfkit::optim::{
    AdaGrad, Adam, Adaptation, Arow, Auto, AutoChoice, BatchGradient, Bfgs, Cg, Control, Jump, Lbfgs,
    Minimum, Newton, NewtonCg, Optimizer, PassiveAggressive, Pgis, Prior, Problem, Progress, Psa, Sag, Saga,
    Schedule, Sdca, Sgd, Smd, State, StoppingRule, Svrg, TripleJump, Updates,
};
use crfkit::risk::Risk;
use crfkit::train::{self, Checkpoint, Event, Listener, Method, Parameters, Settings, TrainOptions};
use crfkit::{Error, Result};
use objectives::{Look, Losses, minimize_from, problem};
use risks::{SMALL, risk};

/// Passes, objective and gradient norm of a report, to the bit.
type Report = (u64, Option<u64>, Option<u64>);

fn bits(theta: &[f64]) -> Vec<u64> {
    theta.iter().map(|x| x.to_bits()).collect()
}

fn outcome(minimum: &Minimum) -> (Vec<u64>, u64, String) {
    (bits(&minimum.theta), minimum.passes.to_bits(), minimum.stop.to_string())
}

/// Runs from `state`; reports, and the state after each report if `build`.
fn run(
    method: &dyn Optimizer,
    problem: &Problem,
    state: State,
    build: bool,
) -> (Minimum, Vec<Report>, Vec<State>) {
    let (mut reports, mut states) = (Vec::new(), Vec::new());
    let mut watch = Look(|progress: &Progress, state: &dyn Fn() -> State| {
        let number = |x: Option<f64>| x.map(f64::to_bits);
        reports.push((progress.passes.to_bits(), number(progress.objective), number(progress.gradient_norm)));
        if build {
            states.push(state());
        }
        Control::Continue
    });
    let minimum = method.minimize(problem, state, &mut watch).unwrap();
    (minimum, reports, states)
}

/// Stops a run at each of its states, and goes on.
fn goes_on_from_every_state(name: &str, method: &dyn Optimizer, problem: &Problem) {
    let fresh = || State::start(vec![0.125; problem.objective.dim()]);
    let (undisturbed, reports, _) = run(method, problem, fresh(), false);
    let (built, again, states) = run(method, problem, fresh(), true);
    assert_eq!(outcome(&built), outcome(&undisturbed), "{name}: building a state changes the run");
    assert_eq!(again, reports);
    assert!(states.len() > 5, "{name}: {} states", states.len());
    for (k, state) in states.into_iter().enumerate() {
        let (end, rest, _) = run(method, problem, state, false);
        assert_eq!(rest, reports[k + 1..], "{name}: reports after state {k}");
        assert_eq!(outcome(&end), outcome(&undisturbed), "{name}: from state {k}");
    }
}

#[test]
fn every_method_goes_on_from_every_state() {
    let losses = Losses::logistic(1, 26, 14);
    let schedule = Schedule { batch: 4, passes: 3, seed: 5, ..Schedule::default() };
    let lbfgs = Lbfgs { memory: 3, ..Lbfgs::default() };
    // So exact that the line search fails in the end, also with its history forgotten.
    let endless = Lbfgs { gradient_tolerance: 0.0, tolerance: 0.0, passes: 300.0, ..lbfgs.clone() };
    let online = AdaGrad { eta0: 0.3, schedule };
    let mean = Schedule { batch: 1, gradient: BatchGradient::Mean, ..schedule };
    let dense = Schedule { updates: Updates::Dense, ..schedule };
    // So long that the run returns to its start, twice.
    let long = AdaGrad { eta0: 1e4, schedule };
    let methods: [(&str, Box<dyn Optimizer>); 18] = [
        ("L-BFGS", Box::new(lbfgs.clone())),
        ("endless L-BFGS", Box::new(endless)),
        ("SGD", Box::new(Sgd::bottou(Some(0.1), schedule))),
        ("calibrated SGD", Box::new(Sgd::bottou(None, schedule))),
        ("fixed SGD", Box::new(Sgd::fixed(Some(0.1), mean))),
        ("ASG", Box::new(Sgd::annealed(Some(0.5), schedule))),
        ("averaged SGD", Box::new(Sgd { average_from: Some(0.4), ..Sgd::averaged(Some(0.1), schedule) })),
        ("dense averaged SGD", Box::new(Sgd::averaged(None, dense))),
        ("SMD", Box::new(Smd { lambda: 0.9, schedule, ..Smd::default() })),
        ("dense SMD", Box::new(Smd { schedule: dense, ..Smd::default() })),
        ("PSA", Box::new(Psa { period: 2, schedule: mean, ..Psa::default() })),
        (
            "printed PSA",
            Box::new(Psa { adaptation: Adaptation::Printed, period: 2, schedule: mean, ..Psa::default() }),
        ),
        ("Adam", Box::new(Adam { eta0: 0.1, schedule, ..Adam::default() })),
        ("dense AdaGrad", Box::new(AdaGrad { schedule: dense, ..online.clone() })),
        ("AdaGrad", Box::new(online.clone())),
        ("auto", auto(Some(AutoChoice::AdaGrad), online.clone(), lbfgs.clone())),
        ("auto with steps too long", auto(Some(AutoChoice::AdaGrad), long, lbfgs.clone())),
        ("auto that ends online", auto(Some(AutoChoice::AdaGrad), online, Lbfgs { passes: 3.0, ..lbfgs })),
    ];
    for (name, method) in &methods {
        for l1 in [0.0, 0.5] {
            let problem = Problem { l1, ..problem(&losses, 1.0) };
            if l1 > 0.0
                && ["averaged SGD", "dense averaged SGD", "SMD", "dense SMD", "PSA", "printed PSA"]
                    .contains(name)
            {
                let refused = minimize_from(&**method, &problem, &[0.125; 14]);
                assert!(matches!(refused, Err(Error::Setting(_))), "{name}: {refused:?}");
                continue;
            }
            goes_on_from_every_state(&format!("{name}, l1 {l1}"), &**method, &problem);
        }
    }
    for (name, method) in finite_sum_methods(Sag { gradient_tolerance: 1e-3, ..Sag::default() }) {
        goes_on_from_every_state(name, &*method, &problem(&losses, 1.0));
    }
}

fn auto(begin: Option<AutoChoice>, online: AdaGrad, finish: Lbfgs) -> Box<dyn Optimizer> {
    let memory_limit = u64::MAX;
    Box::new(Auto { online, finish, begin, tolerance: 0.01, memory_limit })
}

/// SAG as it is given, and SVRG like it.
fn finite_sum_methods(sag: Sag) -> [(&'static str, Box<dyn Optimizer>); 2] {
    let Sag { passes, gradient_tolerance, .. } = sag;
    [("SAG", Box::new(sag)), ("SVRG", Box::new(Svrg { passes, gradient_tolerance, ..Svrg::default() }))]
}

#[test]
fn methods_on_marginals_go_on_from_every_state() {
    let (corpus, _) = made_up(2, 12);
    let features = train::features(&corpus, &Settings::default());
    let risk = Risk::new(Likelihood(ForwardBackward), features, corpus.data, 1).unwrap();
    let problem = Problem { objective: &risk, prior: Prior::gaussian(1.0), l1: 0.0 };
    assert_eq!(Auto::choice(&problem), AutoChoice::Saga);
    let lbfgs = Lbfgs { memory: 3, passes: 12.0, ..Lbfgs::default() };
    let online =
        AdaGrad { eta0: 0.3, schedule: Schedule { batch: 4, passes: 3, seed: 5, ..Schedule::default() } };
    let methods: [(&str, Box<dyn Optimizer>); 5] = [
        ("SDCA", Box::new(Sdca { passes: 7, ..Sdca::default() })),
        ("SDCA to its end", Box::new(Sdca { gap_tolerance: 0.05, ..Sdca::default() })),
        ("SAGA", Box::new(Saga { passes: 4.5, ..Saga::default() })),
        ("SAGA to its end", Box::new(Saga { tolerance: 0.02, ..Saga::default() })),
        ("auto", auto(None, online.clone(), lbfgs.clone())),
    ];
    let few = Sag { passes: 12, ..Sag::default() };
    for (name, method) in methods.into_iter().chain(finite_sum_methods(few)) {
        goes_on_from_every_state(name, &*method, &problem);
    }
    let sparse = Problem { l1: 0.1, ..problem };
    goes_on_from_every_state("SAGA, L1", &Saga { passes: 4.5, ..Saga::default() }, &sparse);
    let auto = auto(None, online, Lbfgs { passes: 30.0, ..lbfgs });
    for (sigma, l1) in [(10.0, 0.0), (10.0, 0.1), (f64::INFINITY, 0.1)] {
        let wide = Problem { objective: &risk, prior: Prior::gaussian(sigma), l1 };
        goes_on_from_every_state(&format!("auto, σ {sigma}, L1 {l1}"), &*auto, &wide);
    }
}

#[test]
fn methods_with_a_margin_go_on_from_every_state() {
    let (corpus, _) = made_up(2, 12);
    let features = train::features(&corpus, &Settings::default());
    let loss = MarginPerceptron { decoder: Viterbi, margin: Margin::Errors };
    let risk = Risk::new(loss, features, corpus.data, 1).unwrap();
    let problem = Problem { objective: &risk, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
    let schedule = Schedule { batch: 1, passes: 3, seed: 5, ..Schedule::default() };
    goes_on_from_every_state("PA", &PassiveAggressive { schedule, ..PassiveAggressive::default() }, &problem);
    goes_on_from_every_state("AROW", &Arow { schedule, ..Arow::default() }, &problem);
}

#[test]
fn every_batch_method_goes_on_from_every_state() {
    let risk = risk(1, SMALL);
    let until =
        StoppingRule { gradient_tolerance: 0.0, tolerance: 0.0, passes: 1000.0, ..StoppingRule::default() };
    let short = StoppingRule { passes: 40.0, ..until.clone() };
    let methods: [(&str, Box<dyn Optimizer>); 7] = [
        ("BFGS", Box::new(Bfgs { until: until.clone(), ..Bfgs::default() })),
        ("CG", Box::new(Cg { until: until.clone(), ..Cg::default() })),
        ("Newton", Box::new(Newton { until: until.clone() })),
        ("Newton-CG", Box::new(NewtonCg { until, ..NewtonCg::default() })),
        ("PGIS", Box::new(Pgis { until: short.clone(), ..Pgis::default() })),
        ("CTJPGIS", Box::new(TripleJump { until: short.clone(), ..TripleJump::default() })),
        ("TJPGIS", Box::new(TripleJump { jump: Jump::Global, until: short, ..TripleJump::default() })),
    ];
    for (name, method) in &methods {
        let problem = Problem { objective: &risk, prior: Prior::gaussian(1.0), l1: 0.0 };
        goes_on_from_every_state(name, &**method, &problem);
    }
}

/// Takes a checkpoint at every step, or none.
#[derive(Default)]
struct Keeper {
    take: bool,
    checkpoints: Vec<Checkpoint>,
    events: Vec<String>,
}

impl Listener for Keeper {
    fn event(&mut self, event: &Event) -> Result<Control> {
        self.events.push(format!("{event:?}"));
        Ok(Control::Continue)
    }

    fn checkpoint_due(&mut self) -> bool {
        self.take
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.checkpoints.push(Checkpoint::from_bytes(&checkpoint.to_bytes(1), 1)?);
        Ok(())
    }
}

#[test]
fn training_goes_on_from_every_checkpoint_file() {
    for optimizer in [Method::Auto, Method::Lbfgs, Method::Sgd, Method::Adagrad] {
        for l1 in [0.0, 0.05] {
            let settings = Settings {
                optimizer,
                l1,
                passes: Some(9),
                parameters: parameters(optimizer, Parameters { batch: Some(4), ..Parameters::default() }),
                patience: 2,
                ..Settings::default()
            };
            let run = |resume: Option<Checkpoint>, take: bool| {
                let (corpus, dev) = made_up(1, 14);
                let features = train::features(&corpus, &settings);
                let start = TrainOptions { dev: Some(dev), resume, threads: 1, ..TrainOptions::default() };
                let mut keeper = Keeper { take, ..Keeper::default() };
                let trained = train::train(corpus, features, &settings, start, &mut keeper).unwrap();
                let bytes = trained.model.to_bytes(Default::default()).unwrap();
                ((bytes, trained.passes.to_bits(), trained.stop.to_string()), keeper)
            };
            let (undisturbed, silent) = run(None, false);
            let (built, keeper) = run(None, true);
            assert!(built == undisturbed, "{optimizer:?}, l1 {l1}: checkpoints change the model");
            assert_eq!(keeper.events, silent.events);
            assert!(keeper.checkpoints.len() > 3, "{optimizer:?}: {}", keeper.checkpoints.len());
            for (k, checkpoint) in keeper.checkpoints.into_iter().enumerate() {
                let (end, rest) = run(Some(checkpoint), false);
                assert!(silent.events.ends_with(&rest.events), "{optimizer:?}, l1 {l1}: events after {k}");
                assert_eq!(end.2, undisturbed.2, "{optimizer:?}, l1 {l1}: end after checkpoint {k}");
                assert!(end == undisturbed, "{optimizer:?}, l1 {l1}: model after checkpoint {k}");
            }
        }
    }
}
