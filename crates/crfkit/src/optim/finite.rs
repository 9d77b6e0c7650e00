//! The common part of the methods that remember something about every example.

use super::{DualProblem, Prior, Problem, Watch};
use crate::ability::Ability;
use crate::math::random::Random;
use crate::{Error, Result};

/// The default limit on the bytes that a method may store.
pub(super) const MEMORY_LIMIT: u64 = 1 << 30;

/// Returns an error if a method would store more than `limit` bytes; otherwise reports how many it stores.
pub(super) fn check_storage(method: &str, bytes: u64, limit: u64, watch: &mut dyn Watch) -> Result<()> {
    match bytes > limit {
        true => Err(Error::Setting(format!(
            "{method} would remember {bytes} bytes, but the limit is {limit}; raise `memory_limit`, or use `optimizer` lbfgs, \
             which remembers nothing of single examples"
        ))),
        false => watch.stores(bytes),
    }
}

/// The dual side of the problem, or an error if the objective does not provide it.
pub(super) fn dual_of<'a>(method: &str, problem: &Problem<'a>) -> Result<Box<dyn DualProblem + 'a>> {
    problem.objective.dual().ok_or_else(|| {
        Error::Setting(format!(
            "{method} needs {}, which this objective does not provide; use `optimizer` lbfgs",
            Ability::Dual.name()
        ))
    })
}

/// All examples in random order, for the first visits.
pub(super) fn visits(seed: u64, examples: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..examples as u32).collect();
    Random::stream(seed, u64::MAX).shuffle(&mut order);
    order
}

/// The error for a loss that is not a number.
pub(super) fn diverged(passes: f64, prior: &Prior) -> Error {
    let advice = prior.advice("use a smaller `sigma`, or `optimizer` lbfgs");
    Error::Diverged { passes, message: format!("an example has an infinite loss; {advice}") }
}
