//! Checks that methods make before they start.

use super::Prior;
use crate::{Error, Result};

/// Returns an error if a parameter is out of range; `name` is the name of its setting.
pub(super) fn require(holds: bool, name: &str, value: f64, need: &str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::Setting(format!("{name} is {value}, but it must be {need}"))),
    }
}

/// Returns an error if the first gain is not a positive number.
pub(super) fn require_gain(eta0: f64) -> Result<()> {
    require(eta0 > 0.0 && eta0.is_finite(), "`eta0`", eta0, "a positive number")
}

/// Returns an error if there is an L1 penalty and the method cannot handle it.
pub(super) fn refuse_l1(method: &str, l1: f64) -> Result<()> {
    match l1 > 0.0 {
        true => Err(Error::Setting(format!(
            "{method} does not support an L1 penalty; with `l1`, use one of the methods auto, saga, lbfgs, sgd, asg, bottou, adagrad, adam"
        ))),
        false => Ok(()),
    }
}

/// Returns an error if there is a prior: these methods have other bounds on the weights.
pub(super) fn refuse_prior(method: &str, prior: &Prior) -> Result<()> {
    match prior.sigma.is_infinite() && prior.sigma_pairs.is_infinite() {
        true => Ok(()),
        false => Err(Error::Setting(format!("{method} does not support a Gaussian prior: use `sigma` inf"))),
    }
}

/// Returns an error if there is no prior: given the marginals, these methods compute θ from the prior.
pub(super) fn require_prior(method: &str, prior: &Prior) -> Result<()> {
    match prior.sigma.is_finite() && prior.sigma_pairs.is_finite() {
        true => Ok(()),
        false => Err(Error::Setting(format!(
            "{method} needs a Gaussian prior: use a finite `sigma`, or `optimizer` lbfgs"
        ))),
    }
}
