//! A run that is stopped between two steps, where passes over all examples are cut short, keeps its weights.

use crate::corpora::made_up;
use crate::objectives::{minimize, total};
use crfkit::Result;
use crfkit::infer::ForwardBackward;
use crfkit::loss::Likelihood;
use crfkit::optim::{
    AdaGrad, Auto, AutoChoice, Control, Lbfgs, Objective, Optimizer, Prior, Problem, Progress, Restart, Saga,
    Schedule, Sdca, Sgd, State, Stop, Svrg, Watch,
};
use crfkit::risk::Risk;
use crfkit::train::{self, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the flag just after a step, so that the method hears of it only at the next one.
struct StopsAfter {
    steps: usize,
    flag: Arc<AtomicBool>,
    /// The last weights that were reported.
    theta: Option<Vec<f64>>,
}

impl Watch for StopsAfter {
    fn step(&mut self, progress: &Progress, _: &dyn Fn() -> State) -> Result<Control> {
        if let Some(theta) = progress.theta {
            self.theta = Some(theta.to_vec());
        }
        if self.flag.load(Ordering::SeqCst) {
            return Ok(Control::Stop);
        }
        self.steps -= 1;
        self.flag.store(self.steps == 0, Ordering::SeqCst);
        Ok(Control::Continue)
    }

    fn restarts(&mut self, _: f64, next: Restart) -> Result<()> {
        assert!(!self.flag.load(Ordering::SeqCst), "a run that is stopped begins {next}");
        Ok(())
    }
}

#[test]
fn a_stop_between_two_steps_loses_no_weights() {
    let (corpus, _) = made_up(2, 12);
    let features = train::features(&corpus, &Settings::default());
    let risk = Risk::new(Likelihood(ForwardBackward), features, corpus.data, 1).unwrap();
    let problem = Problem { objective: &risk, prior: Prior::gaussian(1.0), l1: 0.0 };
    let schedule = Schedule { batch: 4, passes: 2, ..Schedule::default() };
    let online = AdaGrad { eta0: 0.3, schedule };
    let finish = Lbfgs { passes: 6.0, ..Lbfgs::default() };
    let auto = |begin: AutoChoice, online: &AdaGrad| {
        let (online, finish) = (online.clone(), finish.clone());
        Box::new(Auto { online, finish, begin: Some(begin), tolerance: 1e-7, memory_limit: u64::MAX })
    };
    // So long that the run returns to its start.
    let long = AdaGrad { eta0: 1e4, schedule };
    let methods: [(&str, Box<dyn Optimizer>); 8] = [
        ("AdaGrad, then L-BFGS", auto(AutoChoice::AdaGrad, &online)),
        ("steps too long, then L-BFGS", auto(AutoChoice::AdaGrad, &long)),
        ("SAGA, then L-BFGS", auto(AutoChoice::Saga, &online)),
        ("SAGA", Box::new(Saga { passes: 4.5, ..Saga::default() })),
        ("SVRG", Box::new(Svrg { passes: 6, ..Svrg::default() })),
        ("SDCA", Box::new(Sdca { passes: 6, ..Sdca::default() })),
        ("SGD", Box::new(Sgd::bottou(None, schedule))),
        ("L-BFGS", Box::new(finish.clone())),
    ];
    let zero = total(&problem, &vec![0.0; risk.dim()]);
    for (name, method) in &methods {
        let whole = minimize(&**method, &problem);
        for steps in 1.. {
            let flag = Arc::new(AtomicBool::new(false));
            risk.stop_when(Some(flag.clone()));
            let mut watch = StopsAfter { steps, flag: flag.clone(), theta: None };
            let ended = method.minimize(&problem, State::start(vec![0.0; risk.dim()]), &mut watch);
            risk.stop_when(None);
            let found = ended.unwrap_or_else(|error| panic!("{name}, after step {steps}: {error}"));
            if !flag.load(Ordering::SeqCst) {
                assert_eq!((found.stop, found.theta), (whole.stop, whole.theta), "{name}");
                break;
            }
            // A stop after the last step changes nothing, unless something was to follow.
            assert!(found.stop == Stop::Watch || found.stop == whole.stop, "{name}, after step {steps}");
            let reported = watch.theta.map_or(zero, |theta| total(&problem, &theta));
            let value = total(&problem, &found.theta);
            assert!(value <= 1.001 * reported.max(zero), "{name}, after step {steps}: {value} of {reported}");
            if *name == "AdaGrad, then L-BFGS" {
                let best = total(&problem, &whole.theta);
                let online = steps >= 6;
                assert!(!online || value < 0.5 * (zero + best), "after step {steps}: {value}, start {zero}");
            }
        }
    }
}
