//! How it is minimised, by name: one declaration of every method, its parameters and what it needs.

use super::{Criterion, Settings};
use crate::ability::Ability;
use crate::optim::{AdaGrad, Auto, Lbfgs, Optimizer, Schedule, Sgd};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// A method of `optim`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A few online passes, then a finish that reaches the optimum.
    #[default]
    Auto,
    /// L-BFGS, or OWL-QN with L1.
    Lbfgs,
    /// Stochastic gradient descent.
    Sgd,
    /// AdaGrad.
    Adagrad,
}

/// Where batch methods stop unless told otherwise: about 0.01 % above the optimum.
const TOLERANCE: f64 = 1e-4;

/// What the world is told of a method.
pub struct Declaration {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The parameters it uses; a setting of any other is refused.
    pub parameters: &'static [&'static str],
}

/// Parameters of the loop that all online methods share.
macro_rules! online {
    ($($own:literal),*) => { &["batch", $($own),*] };
}

impl Method {
    /// All of them.
    pub const ALL: [Method; 4] = [Method::Auto, Method::Lbfgs, Method::Sgd, Method::Adagrad];

    /// Name, description and parameters.
    pub fn declaration(self) -> Declaration {
        let (name, about, parameters): (_, _, &[&str]) = match self {
            Method::Auto => (
                "auto",
                "a few online passes, then L-BFGS until it has converged",
                online!("eta0", "memory", "tolerance"),
            ),
            Method::Lbfgs => ("lbfgs", "L-BFGS; OWL-QN with L1", &["memory", "tolerance"]),
            Method::Sgd => ("sgd", "stochastic gradient descent", online!("eta0")),
            Method::Adagrad => ("adagrad", "a gain for each weight, by its past gradients", online!("eta0")),
        };
        Declaration { name, about, parameters }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// What it needs of an objective besides the gradient of a batch.
    pub fn needs(self) -> &'static [Ability] {
        self.optimizer(&Settings::default()).needs()
    }

    /// Does it minimise such a criterion?
    pub fn fits(self, criterion: Criterion) -> bool {
        self.needs().iter().all(|need| criterion.gives().contains(need))
    }

    /// The method with its parameters.
    pub fn optimizer(self, settings: &Settings) -> Box<dyn Optimizer> {
        let given = &settings.parameters;
        let default = Lbfgs::default();
        let lbfgs = Lbfgs {
            memory: given.memory.unwrap_or(default.memory),
            tolerance: given.tolerance.unwrap_or(TOLERANCE),
            passes: settings.passes.unwrap_or(0) as f64,
            ..default
        };
        let schedule = |batch: usize, passes: usize| Schedule {
            batch: given.batch.unwrap_or(batch),
            passes: settings.passes.unwrap_or(passes),
            seed: settings.seed,
            ..Schedule::default()
        };
        let adagrad = |passes: usize| AdaGrad {
            eta0: given.eta0.unwrap_or(AdaGrad::ETA0),
            schedule: schedule(8, passes),
        };
        match self {
            Method::Auto => Box::new(Auto { online: adagrad(Auto::PASSES), finish: lbfgs }),
            Method::Lbfgs => Box::new(lbfgs),
            Method::Sgd => Box::new(Sgd::bottou(given.eta0, schedule(8, Sgd::PASSES))),
            Method::Adagrad => Box::new(adagrad(AdaGrad::PASSES)),
        }
    }

    /// Refuses a method that cannot minimise the criterion, and names the pairs that work.
    pub(super) fn check(self, criterion: Criterion) -> Result<()> {
        let names = |names: Vec<&'static str>| names.join(", ");
        match self.needs().iter().find(|need| !criterion.gives().contains(need)) {
            None => Ok(()),
            Some(need) => Err(Error::Pair {
                optimizer: self.name(),
                objective: criterion.name(),
                need: need.name(),
                optimizers: names(
                    Method::ALL.into_iter().filter(|m| m.fits(criterion)).map(Method::name).collect(),
                ),
                objectives: names(
                    Criterion::ALL.into_iter().filter(|c| self.fits(*c)).map(Criterion::name).collect(),
                ),
            }),
        }
    }
}

/// The methods with their parameters, and the table of objectives and methods, in Markdown.
pub fn tables() -> String {
    let mut text = String::from("| method | what it is | parameters |\n|---|---|---|\n");
    for Declaration { name, about, parameters } in Method::ALL.map(Method::declaration) {
        let parameters: Vec<String> = parameters.iter().map(|name| format!("`--{name}`")).collect();
        text += &format!("| `{name}` | {about} | {} |\n", parameters.join(" "));
    }
    text += "\n| |";
    for criterion in Criterion::ALL {
        text += &format!(" {} |", criterion.name());
    }
    text += "\n|---|";
    text += &"---|".repeat(Criterion::ALL.len());
    for method in Method::ALL {
        text += &format!("\n| `{}` |", method.name());
        for criterion in Criterion::ALL {
            text += if method.fits(criterion) { " ✓ |" } else { " – |" };
        }
    }
    text + "\n"
}
