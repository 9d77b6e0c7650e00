//! What the methods that remember something of every example have in common.

use super::{Dual, Entropy, Problem, Watch};
use crate::ability::Ability;
use crate::math::random::Random;
use crate::{Error, Result};

/// Bytes that a method may remember where no limit is given.
pub(super) const MEMORY_LIMIT: u64 = 1 << 30;

/// Refuses to remember more than `limit` bytes, or says how many they are.
pub(super) fn check_storage(method: &str, bytes: u64, limit: u64, watch: &mut dyn Watch) -> Result<()> {
    match bytes > limit {
        true => Err(Error::Setting(format!(
            "{method} would remember {bytes} bytes, but the limit is {limit}; raise --memory-limit, or use --optimizer lbfgs, \
             which remembers nothing of single examples"
        ))),
        false => watch.stores(bytes),
    }
}

/// The dual side of the problem.
pub(super) fn dual_of<'a>(
    method: &str,
    problem: &Problem<'a>,
    entropy: Entropy,
) -> Result<Box<dyn Dual + 'a>> {
    problem.objective.dual(entropy).ok_or_else(|| {
        Error::Setting(format!(
            "{method} needs {}, which this objective does not give; use --optimizer lbfgs",
            Ability::Dual.name()
        ))
    })
}

/// All examples in random order: the first visits.
pub(super) fn visits(seed: u64, examples: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..examples as u32).collect();
    Random::stream(seed, u64::MAX).shuffle(&mut order);
    order
}

/// A loss is no longer a number.
pub(super) fn diverged(passes: f64) -> Error {
    Error::Diverged {
        passes,
        message: "an example has an infinite loss; use a smaller --sigma, or --optimizer lbfgs".into(),
    }
}
