//! The default method: nothing to tune.

use super::finite::MEMORY_LIMIT;
use super::{
    AdaGrad, Control, Entropy, Lbfgs, Minimum, Optimizer, Problem, Progress, Saga, State, Stop, Watch,
};
use crate::Result;
use crate::ability::Ability;

/// A few passes that come near the optimum quickly, then L-BFGS, which reaches it and knows when to stop.
///
/// The first passes are those of [`Saga`] where it can work: marginals of single examples, a finite σ, no L1, and at most
/// 1 GB to remember. Otherwise they are those of [`AdaGrad`]. [`Auto::choice`] tells which.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The online passes, at most [`Auto::PASSES`] if they are AdaGrad's; the seed is for both.
    pub online: AdaGrad,
    /// The finish.
    pub finish: Lbfgs,
}

/// How [`Auto`] begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// With [`Saga`].
    Saga,
    /// With [`AdaGrad`].
    AdaGrad,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Choice::Saga => "saga, then lbfgs",
            Choice::AdaGrad => "adagrad, then lbfgs",
        })
    }
}

impl Auto {
    /// More passes of AdaGrad than this are not worth their time: the finish is quicker.
    pub const PASSES: usize = 5;
    /// When the last visits of all examples have gained less than this share of the objective, the finish takes over.
    pub const NEAR: f64 = 0.01;

    /// What it picks for this problem: by what the objective gives, the penalties and the size of the data.
    pub fn choice(problem: &Problem) -> Choice {
        let gaussian = problem.prior.sigma.is_finite() && problem.prior.sigma_pairs.is_finite();
        let dual = problem.l1 == 0.0 && gaussian && problem.objective.dual(Entropy::Single).is_some();
        match dual && Saga::storage(problem).is_ok_and(|bytes| bytes <= MEMORY_LIMIT) {
            true => Choice::Saga,
            false => Choice::AdaGrad,
        }
    }

    /// The first phase.
    fn beginning(&self, problem: &Problem) -> Box<dyn Optimizer> {
        let limit = self.finish.passes;
        match Auto::choice(problem) {
            Choice::Saga => Box::new(Saga {
                passes: if limit > 0.0 { limit } else { Saga::PASSES as f64 },
                seed: self.online.schedule.seed,
                tolerance: Auto::NEAR,
                memory_limit: MEMORY_LIMIT,
            }),
            Choice::AdaGrad => {
                let mut online = self.online.clone();
                online.schedule.passes = online.schedule.passes.min(Auto::PASSES);
                Box::new(online)
            }
        }
    }
}

/// Marks the state with the phase it belongs to.
struct Phase<'a> {
    number: f64,
    watch: &'a mut dyn Watch,
}

impl Watch for Phase<'_> {
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control> {
        self.watch.step(progress, &|| {
            let mut state = state();
            state.numbers.insert("phase".into(), self.number);
            state
        })
    }
}

impl Optimizer for Auto {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn minimize(&self, problem: &Problem, mut state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        if state.number("phase") == 0.0 {
            let near = self.beginning(problem).minimize(problem, state, &mut Phase { number: 0.0, watch })?;
            if near.stop == Stop::Watch || (self.finish.passes > 0.0 && near.passes >= self.finish.passes) {
                return Ok(near);
            }
            state = State::start(near.theta);
            state.numbers.insert("passes".into(), near.passes);
        }
        self.finish.minimize(problem, state, &mut Phase { number: 1.0, watch })
    }
}
