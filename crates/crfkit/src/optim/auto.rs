//! The default method: nothing to tune.

use super::{AdaGrad, Control, Lbfgs, Minimum, Optimizer, Problem, Progress, Schedule, State, Stop, Watch};
use crate::Result;

/// A few passes of AdaGrad, which come near the optimum quickly, then L-BFGS, which reaches it and knows when to stop.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The online passes.
    pub online: Schedule,
    /// The finish.
    pub finish: Lbfgs,
}

impl Auto {
    /// Online passes where no number of passes is asked for.
    pub const PASSES: usize = 7;
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
    fn minimize(&self, problem: &Problem, mut state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        if state.number("phase") == 0.0 {
            let passes = self.online.passes.min(Auto::PASSES);
            let online = AdaGrad { eta0: AdaGrad::ETA0, schedule: Schedule { passes, ..self.online } };
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
