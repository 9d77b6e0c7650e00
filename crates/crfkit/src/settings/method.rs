//! The optimisation methods, selected by name: one declaration of every method, its parameters and what it needs.

use super::{Criterion, Settings};
use crate::ability::Ability;
use crate::optim::{
    AdaGrad, Adam, Auto, AutoChoice, Bfgs, Cg, Gis, Jump, Lbfgs, Newton, NewtonCg, Optimizer, Pgis, Sag,
    Saga, Schedule, Sdca, Sgd, Smd, StoppingRule, Svrg, TripleJump,
};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// An optimisation method from [`optim`](crate::optim).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// SAGA; if SAGA cannot work, AdaGrad and then L-BFGS, or L-BFGS alone.
    #[default]
    Auto,
    /// L-BFGS; with L1, a form of OWL-QN.
    Lbfgs,
    /// BFGS with the full matrix.
    Bfgs,
    /// Nonlinear conjugate gradients.
    Cg,
    /// Newton's method with the explicit Hessian.
    Newton,
    /// Truncated Newton: conjugate gradients on Hessian-vector products.
    NewtonCg,
    /// Generalised iterative scaling.
    Gis,
    /// Penalised generalised iterative scaling.
    Pgis,
    /// PGIS with triple jumps of one common length.
    Tjpgis,
    /// PGIS with componentwise triple jumps.
    Ctjpgis,
    /// Stochastic gradient descent with a fixed gain.
    Sgd,
    /// Stochastic gradient descent with an annealed gain, η₀/t.
    Asg,
    /// Stochastic gradient descent with Bottou's gain.
    Bottou,
    /// The mean of the iterates of `Bottou`.
    Asgd,
    /// Stochastic meta-descent.
    Smd,
    /// Periodic step-size adaptation.
    Psa,
    /// AdaGrad.
    Adagrad,
    /// Adam.
    Adam,
    /// Stochastic average gradient with non-uniform sampling.
    Sag,
    /// SAGA: average gradients through stored marginals, with damped steps.
    Saga,
    /// Stochastic variance-reduced gradient.
    Svrg,
    /// Stochastic dual coordinate ascent.
    Sdca,
    /// Passive-aggressive steps.
    Pa,
    /// Adaptive regularisation of weights.
    Arow,
}

/// How a method describes itself in `--help` and in the documentation.
pub struct Declaration {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The parameters that it uses; any other parameter is rejected with an error.
    pub parameters: &'static [&'static str],
}

/// The default tolerance of batch methods: they stop about 0.01 % above the optimum.
const TOLERANCE: f64 = 1e-4;

/// Parameters of batch methods: the stopping rules that they share, and the method's own.
macro_rules! batch {
    ($($own:literal),*) => { &["tolerance", "gradient-tolerance", "change", $($own),*] };
}

/// Parameters of online methods: those of the loop that they share, and the method's own.
macro_rules! online {
    ($($own:literal),*) => { &["batch", "eta0", "gradient", "updates", $($own),*] };
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 24] = [
        Method::Auto,
        Method::Lbfgs,
        Method::Bfgs,
        Method::Cg,
        Method::Newton,
        Method::NewtonCg,
        Method::Gis,
        Method::Pgis,
        Method::Tjpgis,
        Method::Ctjpgis,
        Method::Sgd,
        Method::Asg,
        Method::Bottou,
        Method::Asgd,
        Method::Smd,
        Method::Psa,
        Method::Adagrad,
        Method::Adam,
        Method::Sag,
        Method::Saga,
        Method::Svrg,
        Method::Sdca,
        Method::Pa,
        Method::Arow,
    ];

    /// The method's name, description and parameters.
    #[doc(hidden)]
    pub fn declaration(self) -> Declaration {
        let (name, about, parameters): (_, _, &[&str]) = match self {
            Method::Auto => (
                "auto",
                "saga where possible, otherwise adagrad and then lbfgs (lbfgs alone with few weights); runs until it has converged",
                batch!("batch", "eta0", "memory", "memory-limit"),
            ),
            Method::Lbfgs => ("lbfgs", "limited-memory BFGS; with L1, a form of OWL-QN", batch!("memory")),
            Method::Bfgs => ("bfgs", "BFGS with the full inverse Hessian", batch!("memory-limit")),
            Method::Cg => ("cg", "nonlinear conjugate gradients, Polak-Ribière", batch!("nu")),
            Method::Newton => (
                "newton",
                "Newton's method with the explicit Hessian, up to 2,000 weights",
                batch!("hess-vec"),
            ),
            Method::NewtonCg => (
                "newton-cg",
                "truncated Newton with exact Hessian-vector products",
                batch!("products", "hess-vec"),
            ),
            Method::Gis => ("gis", "generalised iterative scaling, without a prior", batch!()),
            Method::Pgis => ("pgis", "penalised iterative scaling", batch!("inner")),
            Method::Tjpgis => {
                ("tjpgis", "PGIS with triple jumps of one length", batch!("inner", "gamma-max"))
            }
            Method::Ctjpgis => {
                ("ctjpgis", "PGIS with componentwise triple jumps", batch!("inner", "gamma-max"))
            }
            Method::Sgd => ("sgd", "stochastic gradient descent, fixed gain", online!("average")),
            Method::Asg => ("asg", "stochastic gradient descent, gain η₀/t", online!("average")),
            Method::Bottou => (
                "bottou",
                "stochastic gradient descent, Bottou's gain: it decreases at a rate set by the prior",
                online!("average"),
            ),
            Method::Asgd => {
                ("asgd", "averaged SGD: the mean of bottou's iterates after the first pass", online!())
            }
            Method::Smd => (
                "smd",
                "stochastic meta-descent: a gain for each weight, adapted by Hessian-vector products",
                online!("mu", "lambda", "gain-factor", "gain-floor", "hess-vec"),
            ),
            Method::Psa => (
                "psa",
                "periodic step-size adaptation: a gain for each weight, adapted to how the weight moves",
                online!(
                    "psa-rule",
                    "kappa",
                    "alpha",
                    "beta",
                    "gain-factor",
                    "gain-floor",
                    "gain-ceiling",
                    "period"
                ),
            ),
            Method::Adagrad => ("adagrad", "a gain for each weight, from its past gradients", online!()),
            Method::Adam => (
                "adam",
                "steps along running means of gradients, scaled by running means of their squares",
                online!("beta1", "beta2", "epsilon"),
            ),
            Method::Sag => (
                "sag",
                "stochastic average gradient with non-uniform sampling; stores the gradient of every example",
                &["gradient-tolerance", "memory-limit"],
            ),
            Method::Saga => (
                "saga",
                "damped steps with stored marginals; close to the optimum in a few passes",
                &["tolerance", "memory-limit"],
            ),
            Method::Svrg => (
                "svrg",
                "stochastic variance-reduced gradient; stores one snapshot of the weights",
                &["eta0", "gradient-tolerance"],
            ),
            Method::Sdca => (
                "sdca",
                "stochastic dual coordinate ascent; stops when the duality gap is small",
                &["gap-tolerance", "memory-limit"],
            ),
            Method::Pa => (
                "pa",
                "passive-aggressive: steps just long enough to correct an example; without a prior",
                &["aggressiveness", "slack", "margin", "average"],
            ),
            Method::Arow => (
                "arow",
                "passive-aggressive with a variance for each weight; without a prior",
                &["variance", "gamma"],
            ),
        };
        Declaration { name, about, parameters }
    }

    /// The method's name on the command line.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// What the method needs from an objective, besides the gradient of a batch.
    pub fn needs(self) -> &'static [Ability] {
        self.optimizer(&Settings::default()).needs()
    }

    /// Whether it scales weights by counts of features, which must not be negative.
    pub(crate) fn needs_counts(self) -> bool {
        self.needs().contains(&Ability::Counts)
    }

    /// Whether the method can minimise this criterion on chains.
    pub fn supports(self, criterion: Criterion) -> bool {
        self.needs().iter().all(|need| criterion.provides().contains(need))
    }

    /// Makes the optimiser with its parameters.
    pub fn optimizer(self, settings: &Settings) -> Box<dyn Optimizer> {
        let given = &settings.parameters;
        let until = StoppingRule {
            tolerance: given.tolerance.unwrap_or(TOLERANCE),
            gradient_tolerance: given
                .gradient_tolerance
                .unwrap_or(StoppingRule::default().gradient_tolerance),
            change: given.change.unwrap_or(0.0),
            passes: settings.passes.unwrap_or(0) as f64,
            ..StoppingRule::default()
        };
        let schedule = |default: Schedule| settings.schedule(default);
        let lbfgs = Lbfgs {
            memory: given.memory.unwrap_or(Lbfgs::default().memory),
            tolerance: until.tolerance,
            gradient_tolerance: until.gradient_tolerance,
            change: until.change,
            passes: until.passes,
            ..Lbfgs::default()
        };
        let adagrad = |passes: usize| AdaGrad {
            eta0: given.eta0.unwrap_or(AdaGrad::ETA0),
            schedule: schedule(Schedule { passes, ..Schedule::default() }),
        };
        let sgd = |sgd: Sgd| Sgd {
            average_from: if given.average == Some(true) { Some(0.0) } else { sgd.average_from },
            ..sgd
        };
        let plain = schedule(Schedule { passes: Sgd::PASSES, ..Schedule::default() });
        let inner = given.inner.unwrap_or_default();
        let gamma_max = given.gamma_max.unwrap_or(TripleJump::default().gamma_max);
        match self {
            Method::Auto => {
                let begin = given.wants_online_steps().then_some(AutoChoice::AdaGrad);
                let tolerance = given.tolerance.unwrap_or(Auto::TOLERANCE);
                let memory_limit = given.memory_limit.unwrap_or(Saga::default().memory_limit);
                Box::new(Auto {
                    online: adagrad(Auto::PASSES),
                    finish: lbfgs,
                    begin,
                    tolerance,
                    memory_limit,
                })
            }
            Method::Lbfgs => Box::new(lbfgs),
            Method::Bfgs => {
                let memory_limit = given.memory_limit.unwrap_or(Bfgs::default().memory_limit);
                Box::new(Bfgs { memory_limit, until })
            }
            Method::Cg => Box::new(Cg { nu: given.nu.unwrap_or(Cg::default().nu), until }),
            Method::Newton => Box::new(Newton { until }),
            Method::NewtonCg => {
                Box::new(NewtonCg { products: given.products.unwrap_or(NewtonCg::default().products), until })
            }
            Method::Gis => Box::new(Gis { until }),
            Method::Pgis => Box::new(Pgis { inner, until }),
            Method::Tjpgis => Box::new(TripleJump { jump: Jump::Global, inner, gamma_max, until }),
            Method::Ctjpgis => Box::new(TripleJump { jump: Jump::Componentwise, inner, gamma_max, until }),
            Method::Sgd => Box::new(sgd(Sgd::fixed(given.eta0, plain))),
            Method::Asg => Box::new(sgd(Sgd::annealed(given.eta0.or(Some(Sgd::ETA0)), plain))),
            Method::Bottou => Box::new(sgd(Sgd::bottou(given.eta0, plain))),
            Method::Asgd => Box::new(Sgd::averaged(given.eta0, plain)),
            Method::Smd => {
                let default = Smd::default();
                Box::new(Smd {
                    eta0: given.eta0.unwrap_or(default.eta0),
                    mu: given.mu.unwrap_or(default.mu),
                    lambda: given.lambda.unwrap_or(default.lambda),
                    gain_factor: given.gain_factor.unwrap_or(default.gain_factor),
                    gain_floor: given.gain_floor.unwrap_or(default.gain_floor),
                    schedule: schedule(default.schedule),
                })
            }
            Method::Psa => Box::new(settings.psa()),
            Method::Adagrad => Box::new(adagrad(AdaGrad::PASSES)),
            Method::Adam => {
                let default = Adam::default();
                Box::new(Adam {
                    eta0: given.eta0.unwrap_or(default.eta0),
                    beta1: given.beta1.unwrap_or(default.beta1),
                    beta2: given.beta2.unwrap_or(default.beta2),
                    epsilon: given.epsilon.unwrap_or(default.epsilon),
                    schedule: schedule(default.schedule),
                })
            }
            Method::Sag => {
                let default = Sag::default();
                Box::new(Sag {
                    passes: settings.passes.unwrap_or(default.passes),
                    seed: settings.seed,
                    gradient_tolerance: given.gradient_tolerance.unwrap_or(default.gradient_tolerance),
                    memory_limit: given.memory_limit.unwrap_or(default.memory_limit),
                })
            }
            Method::Saga => {
                let default = Saga::default();
                Box::new(Saga {
                    passes: settings.passes.map_or(default.passes, |passes| passes as f64),
                    seed: settings.seed,
                    tolerance: given.tolerance.unwrap_or(default.tolerance),
                    memory_limit: given.memory_limit.unwrap_or(default.memory_limit),
                })
            }
            Method::Svrg => {
                let default = Svrg::default();
                Box::new(Svrg {
                    eta: given.eta0,
                    passes: settings.passes.unwrap_or(default.passes),
                    seed: settings.seed,
                    gradient_tolerance: given.gradient_tolerance.unwrap_or(default.gradient_tolerance),
                })
            }
            Method::Pa => Box::new(settings.passive_aggressive()),
            Method::Arow => Box::new(settings.arow()),
            Method::Sdca => {
                let default = Sdca::default();
                Box::new(Sdca {
                    passes: settings.passes.unwrap_or(default.passes),
                    seed: settings.seed,
                    gap_tolerance: given.gap_tolerance.unwrap_or(default.gap_tolerance),
                    memory_limit: given.memory_limit.unwrap_or(default.memory_limit),
                })
            }
        }
    }

    /// Rejects a method that cannot minimise the criterion. The error names the pairs that work.
    pub(super) fn check(self, criterion: Criterion) -> Result<()> {
        let names = |names: Vec<&'static str>| names.join(", ");
        match self.needs().iter().find(|need| !criterion.provides().contains(need)) {
            None => Ok(()),
            Some(need) => Err(Error::Incompatible {
                optimizer: self.name(),
                objective: criterion.name(),
                need: need.name(),
                optimizers: names(
                    Method::ALL.into_iter().filter(|m| m.supports(criterion)).map(Method::name).collect(),
                ),
                objectives: names(
                    Criterion::ALL.into_iter().filter(|c| self.supports(*c)).map(Criterion::name).collect(),
                ),
            }),
        }
    }
}
