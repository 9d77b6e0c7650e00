//! The settings of methods that keep a margin between labellings: passive-aggressive steps and AROW.

use super::{Criterion, Kind, Method, Settings};
use crate::loss::Margin;
use crate::optim::{Arow, PassiveAggressive, Schedule};
use crate::{Error, Result};

impl Settings {
    /// The usual settings of `optimizer` pa or arow: the objective `perceptron`, to which they add a margin, and no prior. For other
    /// methods these are the settings of the perceptron's objective without a prior.
    pub fn for_margin_method(optimizer: Method) -> Self {
        Settings { sigma: f64::INFINITY, objective: Criterion::Perceptron, optimizer, ..Settings::default() }
    }

    /// The margin that the method needs; `None` for methods without one.
    pub(crate) fn margin(&self) -> Option<Margin> {
        match self.optimizer {
            Method::Pa => Some(self.parameters.margin.unwrap_or_default()),
            Method::Arow => Some(Margin::Errors),
            _ => None,
        }
    }

    /// Rejects methods with a margin where labellings are not found exactly.
    pub(super) fn check_margin(&self, kind: Kind) -> Result<()> {
        match self.margin().is_some() && kind != Kind::Chain {
            true => Err(Error::Setting(format!(
                "`optimizer` {} is for chains only: with `objective` perceptron use `optimizer` sgd",
                self.optimizer.name()
            ))),
            false => Ok(()),
        }
    }

    /// Passes and seed of methods that take one example at a time.
    fn single(&self, default: Schedule) -> Schedule {
        Schedule { passes: self.passes.unwrap_or(default.passes), seed: self.seed, ..default }
    }

    pub(super) fn passive_aggressive(&self) -> PassiveAggressive {
        let (given, default) = (&self.parameters, PassiveAggressive::default());
        PassiveAggressive {
            aggressiveness: given.aggressiveness.unwrap_or(default.aggressiveness),
            slack: given.slack.unwrap_or(default.slack),
            average: given.average.unwrap_or(default.average),
            schedule: self.single(default.schedule),
        }
    }

    pub(super) fn arow(&self) -> Arow {
        let (given, default) = (&self.parameters, Arow::default());
        Arow {
            variance: given.variance.unwrap_or(default.variance),
            gamma: given.gamma.unwrap_or(default.gamma),
            schedule: self.single(default.schedule),
        }
    }
}
