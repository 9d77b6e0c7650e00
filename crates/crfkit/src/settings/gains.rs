//! The steps of the online methods, and the gains of PSA.

use super::Settings;
use crate::optim::{Psa, Schedule};

impl Settings {
    /// The steps of the online methods; `default` is the method's own schedule.
    pub(super) fn schedule(&self, default: Schedule) -> Schedule {
        let given = &self.parameters;
        Schedule {
            batch: given.batch.unwrap_or(default.batch),
            passes: self.passes.unwrap_or(default.passes),
            seed: self.seed,
            gradient: given.gradient.unwrap_or(default.gradient),
            updates: given.updates.unwrap_or(default.updates),
        }
    }

    /// Makes PSA with its parameters, for ordinary data and for streams.
    pub(crate) fn psa(&self) -> Psa {
        let (given, default) = (&self.parameters, Psa::default());
        let [floor, ceiling] = default.gain_range;
        Psa {
            eta0: given.eta0.unwrap_or(default.eta0),
            adaptation: given.psa_rule.unwrap_or(default.adaptation),
            gain_factor: given.gain_factor.unwrap_or(default.gain_factor),
            gain_range: [given.gain_floor.unwrap_or(floor), given.gain_ceiling.unwrap_or(ceiling)],
            kappa: given.kappa.unwrap_or(default.kappa),
            alpha: given.alpha.unwrap_or(default.alpha),
            beta: given.beta.unwrap_or(default.beta),
            period: given.period.unwrap_or(default.period),
            schedule: self.schedule(default.schedule),
        }
    }
}
