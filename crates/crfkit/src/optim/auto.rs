//! The default method: nothing to tune.

use super::{AdaGrad, Control, Lbfgs, Minimum, Optimizer, Problem, Progress, State, Stop, Watch};
use crate::Result;
use crate::ability::Ability;

/// A few passes of AdaGrad, which come near the optimum quickly, then L-BFGS, which reaches it and knows when to stop.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The online passes, at most [`Auto::PASSES`].
    pub online: AdaGrad,
    /// The finish.
    pub finish: Lbfgs,
}

impl Auto {
    /// More online passes than this are not worth their time: the finish is quicker.
    pub const PASSES: usize = 5;
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
            let mut online = self.online.clone();
            online.schedule.passes = online.schedule.passes.min(Auto::PASSES);
            let near = online.minimize(problem, state, &mut Phase { number: 0.0, watch })?;
            if near.stop == Stop::Watch || (self.finish.passes > 0.0 && near.passes >= self.finish.passes) {
                return Ok(near);
            }
            state = State::start(near.theta);
            state.numbers.insert("passes".into(), near.passes);
        }
        self.finish.minimize(problem, state, &mut Phase { number: 1.0, watch })
    }
}
