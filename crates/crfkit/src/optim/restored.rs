//! What a method restores from the state of an interrupted run. A checkpoint is a file: its sizes and numbers are checked here before
//! anything is made of them.

use super::State;
use crate::{Error, Result};

/// The state to start from: fresh weights, or the state of an interrupted run. A fresh state gets defaults; in the other one, a value that
/// is missing, has another length or is out of range is an error.
pub(super) struct Restored {
    state: State,
    resumed: bool,
}

/// The largest count that a number of a state holds exactly.
pub(super) const MOST: u64 = 1 << 53;

/// Any number that is one.
pub(super) fn finite(x: f64) -> bool {
    x.is_finite()
}

/// 0 or more.
pub(super) fn not_negative(x: f64) -> bool {
    x.is_finite() && x >= 0.0
}

/// More than 0.
pub(super) fn positive(x: f64) -> bool {
    x.is_finite() && x > 0.0
}

/// 0 or more, as rounding leaves it: a probability, or a sum of them where an example uses a table several times.
pub(super) fn expectation(x: f64) -> bool {
    x.is_finite() && x > -1e-6
}

/// A whole number up to `most`.
fn whole(x: f64, most: u64) -> bool {
    x >= 0.0 && x <= most as f64 && x.fract() == 0.0
}

/// The state of a checkpoint cannot be used.
fn unusable(name: &str, problem: impl std::fmt::Display) -> Error {
    Error::File {
        name: "checkpoint".into(),
        message: format!(
            "no run can resume from it: its \"{name}\" {problem}; remove it to start training again"
        ),
    }
}

impl Restored {
    /// Of a problem with `dim` weights.
    pub(super) fn new(state: State, dim: usize) -> Result<Self> {
        let restored = Restored { resumed: !state.vectors.is_empty(), state };
        let found = restored.state.theta.len();
        match restored.resumed {
            false if found != dim => Err(Error::Setting(format!(
                "the weights to start from are {found}, but there are {dim} to find: start from a model with the same features"
            ))),
            false => Ok(restored),
            true => {
                check("theta", &restored.state.theta, dim, finite)?;
                Ok(restored)
            }
        }
    }

    /// Fresh weights.
    pub(super) fn fresh(theta: Vec<f64>) -> Self {
        Restored { state: State::start(theta), resumed: false }
    }

    /// Whether this is the state of an interrupted run.
    pub(super) fn resumed(&self) -> bool {
        self.resumed
    }

    /// The weights.
    pub(super) fn theta(&self) -> &[f64] {
        &self.state.theta
    }

    /// Takes the weights out.
    pub(super) fn take_theta(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.state.theta)
    }

    /// The state as it came.
    pub(super) fn into_state(self) -> State {
        self.state
    }

    /// Takes out a vector of `len` numbers that `fits` accepts; all `fresh` at a fresh start.
    pub(super) fn vector(
        &mut self,
        name: &str,
        len: usize,
        fresh: f64,
        fits: fn(f64) -> bool,
    ) -> Result<Vec<f64>> {
        match self.resumed {
            false => Ok(vec![fresh; len]),
            true => {
                let vector = self.take(name)?;
                check(name, &vector, len, fits)?;
                Ok(vector)
            }
        }
    }

    /// The same, but it may be empty, and is at a fresh start.
    pub(super) fn vector_or_none(
        &mut self,
        name: &str,
        len: usize,
        fits: fn(f64) -> bool,
    ) -> Result<Vec<f64>> {
        if !self.resumed {
            return Ok(Vec::new());
        }
        let vector = self.take(name)?;
        if !vector.is_empty() {
            check(name, &vector, len, fits)?;
        }
        Ok(vector)
    }

    /// The same with whole numbers up to `most`.
    pub(super) fn counts(&mut self, name: &str, len: usize, most: u64) -> Result<Vec<f64>> {
        let vector = self.vector(name, len, 0.0, finite)?;
        match vector.iter().find(|&&x| !whole(x, most)) {
            Some(x) => Err(unusable(name, format_args!("has {x}, which is not a count up to {most}"))),
            None => Ok(vector),
        }
    }

    fn take(&mut self, name: &str) -> Result<Vec<f64>> {
        self.state.vectors.remove(name).ok_or_else(|| unusable(name, "is missing"))
    }

    /// A number that `fits` accepts; `fresh` at a fresh start.
    pub(super) fn number(&self, name: &str, fresh: f64, fits: fn(f64) -> bool) -> Result<f64> {
        match (self.resumed, self.state.numbers.get(name)) {
            (false, _) => Ok(fresh),
            (true, None) => Err(unusable(name, "is missing")),
            (true, Some(&x)) if fits(x) => Ok(x),
            (true, Some(x)) => Err(unusable(name, format_args!("is {x}, which is out of range"))),
        }
    }

    /// A whole number up to `most`; 0 at a fresh start.
    pub(super) fn count(&self, name: &str, most: u64) -> Result<u64> {
        match self.number(name, 0.0, finite)? {
            x if whole(x, most) => Ok(x as u64),
            x => Err(unusable(name, format_args!("is {x}, which is not a count up to {most}"))),
        }
    }

    /// Yes or no; no at a fresh start.
    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.count(name, 1)? == 1)
    }

    /// Passes that were made before this method began, which a fresh start may have too.
    pub(super) fn passes(&self, name: &str) -> Result<f64> {
        match self.state.numbers.get(name) {
            None => Ok(0.0),
            Some(&x) if not_negative(x) => Ok(x),
            Some(x) => Err(unusable(name, format_args!("is {x}, which is not a number of passes"))),
        }
    }

    /// Adds to the passes that were made before this method began.
    pub(super) fn add_passes(&mut self, name: &str, passes: f64) {
        *self.state.numbers.entry(name.into()).or_insert(0.0) += passes;
    }

    /// The error for a vector or number that does not agree with the others.
    pub(super) fn disagrees(name: &str) -> Error {
        unusable(name, "does not agree with the rest")
    }
}

/// Rejects the best weights so far and their score, as a checkpoint has them, if no run of `dim` weights can have left them.
pub(crate) fn check_best(best: &Option<(f64, Vec<f64>)>, dim: usize) -> Result<()> {
    let Some((score, theta)) = best else { return Ok(()) };
    check("best score", &[*score], 1, finite)?;
    check("best", theta, dim, finite)
}

/// Rejects a vector of another length than `len`, or with a number that `fits` does not accept.
fn check(name: &str, vector: &[f64], len: usize, fits: fn(f64) -> bool) -> Result<()> {
    if vector.len() != len {
        return Err(unusable(name, format_args!("has {} numbers instead of {len}", vector.len())));
    }
    match vector.iter().position(|&x| !fits(x)) {
        Some(i) => Err(unusable(name, format_args!("has {} at place {i}, which is out of range", vector[i]))),
        None => Ok(()),
    }
}
