//! The safeguard of a method that prepares the ground for another one: it must not end above its start.

use super::restored::{Restored, finite, not_negative};
use super::{Control, Minimum, Optimizer, Problem, Progress, Restart, State, Stop, Watch};
use crate::{Error, Result};

/// An attempt is given up at the end of a pass whose estimated objective is this many times that of the start. The
/// estimate of a healthy run may be slightly above it, because the first steps are the longest.
const EXPLODED: f64 = 2.0;

/// A pass that ends above the one before it by more than this factor had steps that were too long.
const RISEN: f64 = 1.01;

/// How often a method is tried again with a smaller gain.
const RETRIES: usize = 1;

/// Losses plus penalties, and the number of impossible losses.
#[derive(Clone, Copy)]
struct Height {
    value: f64,
    /// The value, or ∞ if it is no measure of progress.
    limit: f64,
    impossible: usize,
}

impl Height {
    fn of(problem: &Problem, theta: &[f64]) -> Self {
        let (value, impossible) = problem.value_checked(theta);
        let value = value + problem.l1_penalty(theta);
        Height { value, limit: if measures_progress(problem) { value } else { f64::INFINITY }, impossible }
    }

    fn below(&self, start: &Height) -> bool {
        self.value <= start.limit && self.impossible <= start.impossible
    }
}

/// Runs a method that comes near the optimum, so that another one finishes the work.
///
/// If it ends above its start, the run returns to the first weights. The method is tried again with a smaller gain
/// ([`Optimizer::gentler`]); if that does not help or there is none, the first weights are the result. Above means that
/// losses plus penalties are higher, or that more losses are below 0, which is impossible
/// ([`super::Objective::value_grad_checked`]). The values cost a pass each, so they are not computed where a method has converged by its
/// own measure and its last estimate of the objective is far below the start. Evaluations for the comparison are not counted as passes.
///
/// If the value of an objective is no measure of progress, impossible losses alone decide.
///
/// A run that is stopped during the comparison keeps the weights that the method has found, and nothing is tried again.
pub(super) fn minimize(
    mut method: Box<dyn Optimizer>,
    problem: &Problem,
    state: State,
    watch: &mut dyn Watch,
) -> Result<Minimum> {
    let dim = problem.objective.dim();
    let mut restored = Restored::new(state, dim)?;
    let resumed = restored.resumed();
    let start = match restored.vector_or_none("start", dim, finite)? {
        _ if !resumed => restored.theta().to_vec(),
        zeros if zeros.is_empty() => vec![0.0; dim],
        start => start,
    };
    let mut attempt = restored.count("attempt", RETRIES as u64)? as usize;
    // A checkpoint may have been taken just when the attempt was given up.
    let mut given_up = restored.number("exploded", 0.0, not_negative)?;
    let mut seen = Passes {
        risen: restored.flag("risen")?,
        last: restored.number("last_pass", f64::MAX, finite)?,
        level: restored.number("level", f64::MIN, finite)?,
    };
    let mut state = restored.into_state();
    for _ in 0..attempt {
        method = method.gentler().map_or(method, |(_, gentler)| gentler);
    }
    let mut height = method.gentler().map(|_| Height::of(problem, &start));
    loop {
        let limit = height.map_or(f64::INFINITY, |start: Height| start.limit.abs());
        let before = state.numbers.get("passes_before").copied().unwrap_or(0.0);
        let mut guarded = Guarded { watch, attempt, start: &start, before, limit, exploded: false, seen };
        let ended = match given_up > 0.0 {
            true => Err(Error::Diverged { passes: std::mem::take(&mut given_up), message: String::new() }),
            false => method.minimize(problem, state, &mut guarded),
        };
        let exploded = guarded.exploded;
        seen = guarded.seen;
        let passes = match ended {
            Ok(near) if exploded => near.passes,
            Ok(near) if near.stop == Stop::Watch => return Ok(near),
            Ok(near) if near.stop == Stop::Gap && !seen.risen && problem.is_far_below(seen.last, &start) => {
                return Ok(near);
            }
            Ok(near) => {
                let start = *height.get_or_insert_with(|| Height::of(problem, &start));
                let end = Height::of(problem, &near.theta);
                if problem.objective.stopped() && !(start.value + end.value).is_finite() {
                    // A pass was cut short, so nothing is known against these weights.
                    return Ok(Minimum { stop: Stop::Watch, ..near });
                }
                if end.below(&start) {
                    // The gap of a method is an estimate. After steps that were too long it may be wrong, so the next method goes on.
                    let stop = if near.stop == Stop::Gap && seen.risen { Stop::Passes } else { near.stop };
                    return Ok(Minimum { stop, ..near });
                }
                near.passes
            }
            Err(Error::Diverged { passes, .. }) => passes,
            Err(other) => return Err(other),
        };
        if problem.objective.stopped() {
            return Ok(Minimum { theta: start, stop: Stop::Watch, passes });
        }
        match method.gentler().filter(|_| attempt < RETRIES) {
            Some((gain, gentler)) => {
                watch.restarts(passes, Restart::Gain(gain))?;
                method = gentler;
            }
            None => {
                watch.restarts(passes, Restart::Finish)?;
                return Ok(Minimum { theta: start, stop: Stop::Passes, passes });
            }
        }
        attempt += 1;
        seen = Passes::default();
        state = State::start(start.clone());
        state.numbers.insert("passes_before".into(), passes);
    }
}

/// Whether a smaller value means better weights. A perceptron's losses are 0, and so the least possible, at weights of zero, which know
/// nothing.
fn measures_progress(problem: &Problem) -> bool {
    let zeros = vec![0.0; problem.objective.dim()];
    problem.is_smooth() || problem.objective.value_grad(&zeros, &mut zeros.clone()) > 0.0
}

/// What the passes of an attempt have shown.
#[derive(Clone, Copy)]
struct Passes {
    /// Whether one has ended above the one before it, and the next one not below both.
    risen: bool,
    /// The objective at the end of the last one; the largest number before.
    last: f64,
    /// Where the last one began if it was the first to rise; the least number otherwise.
    level: f64,
}

impl Passes {
    /// A pass ends at this objective.
    fn end(&mut self, value: f64) {
        if value < self.level {
            self.risen = false;
        }
        let rises = value > RISEN * self.last;
        self.level = if rises && !self.risen { self.last } else { f64::MIN };
        self.risen |= rises;
        self.last = if value.is_finite() { value } else { f64::MAX };
    }
}

impl Default for Passes {
    fn default() -> Self {
        Passes { risen: false, last: f64::MAX, level: f64::MIN }
    }
}

/// Adds to the state which attempt it belongs to, and gives up an attempt that explodes.
struct Guarded<'a> {
    watch: &'a mut dyn Watch,
    attempt: usize,
    start: &'a [f64],
    /// The passes of earlier attempts.
    before: f64,
    /// The objective at the start.
    limit: f64,
    exploded: bool,
    seen: Passes,
}

impl Watch for Guarded<'_> {
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control> {
        // Within a pass, the estimate is the losses so far, scaled to a whole pass. One example may be larger than many others, so the losses
        // themselves must be too high: then the rest of the pass cannot make up for them.
        let seen = if progress.theta.is_some() { 1.0 } else { (progress.passes - self.before).fract() };
        let exploded = progress
            .objective
            .is_some_and(|value| value.is_nan() || seen * value.abs() > EXPLODED * self.limit);
        if let Some(value) = progress.objective.filter(|_| progress.theta.is_some()) {
            self.seen.end(value);
        }
        let control = self.watch.step(progress, &|| {
            let mut state = state();
            state.numbers.insert("risen".into(), f64::from(u8::from(self.seen.risen)));
            state.numbers.insert("last_pass".into(), self.seen.last);
            state.numbers.insert("level".into(), self.seen.level);
            state.numbers.insert("attempt".into(), self.attempt as f64);
            state.numbers.insert("exploded".into(), if exploded { progress.passes } else { 0.0 });
            let zeros = self.start.iter().all(|x| *x == 0.0);
            let start = if zeros { Vec::new() } else { self.start.to_vec() };
            state.vectors.insert("start".into(), start);
            state
        })?;
        self.exploded = control == Control::Continue && exploded;
        Ok(if self.exploded { Control::Stop } else { control })
    }

    fn stores(&mut self, bytes: u64) -> Result<()> {
        self.watch.stores(bytes)
    }

    fn reset(&mut self, passes: f64, weights: usize) -> Result<()> {
        self.watch.reset(passes, weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_rise_that_the_next_pass_makes_good_is_forgiven() {
        let risen = |values: &[f64]| {
            let mut seen = Passes::default();
            values.iter().for_each(|value| seen.end(*value));
            seen.risen
        };
        assert!(!risen(&[9.0, 5.0, 5.01, 4.0]));
        assert!(risen(&[9.0, 5.0, 6.0]));
        assert!(!risen(&[9.0, 5.0, 6.0, 4.0]) && !risen(&[9.0, 5.0, 6.0, 4.0, 3.0]));
        assert!(risen(&[9.0, 5.0, 6.0, 5.5, 4.0]), "too late");
        assert!(risen(&[9.0, 5.0, 6.0, 7.0, 4.0]) && risen(&[9.0, 5.0, 6.0, 4.0, 5.0]));
    }
}
