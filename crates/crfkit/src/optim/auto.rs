//! The default method, with nothing to tune.

use super::guard;
use super::restored::Restored;
use super::{
    AdaGrad, Control, Lbfgs, Minimum, Optimizer, Prior, Problem, Progress, Restart, Saga, State, Stop, Watch,
};
use crate::Result;
use crate::ability::Ability;

/// Chooses a method for the problem; [`Auto::choice`] says which one.
///
/// [`Saga`] is used if the objective provides the exact marginals of single examples and σ is finite. It reaches the
/// optimum by itself, with an L1 penalty too. L-BFGS takes over only if it has
/// not converged after 20 passes, or for a tolerance below 10⁻⁶. Otherwise a few passes
/// of [`AdaGrad`] come near the optimum, and L-BFGS reaches it. With at most 100 weights, L-BFGS is
/// used alone. An objective that is not smooth has AdaGrad alone, with as many passes as AdaGrad has by itself.
///
/// Neither phase ends above its start, if the value of the objective measures progress, as that of a perceptron does not. If the first one would, it is repeated with a smaller gain or left out, and the
/// watch is told ([`Watch::restarts`]).
///
/// Parameters: `tolerance`, by default [`Auto::TOLERANCE`]; `memory_limit` of SAGA, by default none; and those of the
/// methods. Needs: nothing besides gradients.
#[derive(Clone, Debug)]
pub struct Auto {
    /// The online phase, at most [`Auto::PASSES`] passes; SAGA uses its seed.
    pub online: AdaGrad,
    /// The final phase; SAGA uses its limit on passes.
    pub finish: Lbfgs,
    /// SAGA stops when about this share of the objective is left to gain. The whole method then stops too, unless the
    /// tolerance is below 10⁻⁶.
    pub tolerance: f64,
    /// How to begin; with `None`, [`Auto::choice`] decides.
    pub begin: Option<Choice>,
    /// The largest number of bytes that SAGA may store; see [`Saga::memory_limit`].
    pub memory_limit: u64,
}

/// How [`Auto`] begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// With [`Saga`].
    Saga,
    /// With [`AdaGrad`].
    AdaGrad,
    /// With [`Lbfgs`], which then runs alone.
    Lbfgs,
    /// With [`AdaGrad`], which then runs alone.
    AdaGradAlone,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Choice::Saga => "saga, then lbfgs",
            Choice::AdaGrad => "adagrad, then lbfgs",
            Choice::Lbfgs => "lbfgs",
            Choice::AdaGradAlone => "adagrad",
        })
    }
}

impl Auto {
    /// The default tolerance of SAGA. It ends 0.2 to 0.4 % above the optimum, where scores on new data no longer
    /// change.
    pub const TOLERANCE: f64 = 1e-2;
    /// The largest number of AdaGrad passes: after that, the final phase is quicker.
    pub const PASSES: usize = 5;
    /// With this few weights (as on a grid), L-BFGS needs hardly more passes than AdaGrad would get.
    pub(crate) const FEW_WEIGHTS: usize = 100;
    /// The largest number of SAGA passes: more are not worth their time.
    pub(crate) const SAGA_PASSES: f64 = 20.0;
    /// Closer to the optimum than this share of the objective, L-BFGS is as quick and has the better stopping rule.
    pub(crate) const NEAR: f64 = 1e-6;

    /// The method for this problem. It depends on what the objective provides, on the prior and on the number of
    /// weights.
    pub fn choice(problem: &Problem) -> Choice {
        let gaussian = problem.prior.sigma.is_finite() && problem.prior.sigma_pairs.is_finite();
        let marginals = problem.objective.gives().contains(&Ability::Marginals);
        if !is_smooth(problem) {
            return Choice::AdaGradAlone;
        }
        match gaussian && marginals {
            true => Choice::Saga,
            false if problem.objective.dim() <= Auto::FEW_WEIGHTS => Choice::Lbfgs,
            false => Choice::AdaGrad,
        }
    }

    /// The phase before L-BFGS, if there is one.
    fn beginning(&self, problem: &Problem) -> Option<Box<dyn Optimizer>> {
        let limit = self.finish.passes;
        let begin = self.begin.filter(|_| is_smooth(problem));
        Some(match begin.unwrap_or_else(|| Auto::choice(problem)) {
            Choice::Saga => Box::new(Saga {
                passes: if limit > 0.0 { limit.min(Auto::SAGA_PASSES) } else { Auto::SAGA_PASSES },
                seed: self.online.schedule.seed,
                tolerance: self.tolerance.max(Auto::NEAR),
                memory_limit: self.memory_limit,
            }),
            Choice::AdaGrad => {
                let mut online = self.online.clone();
                online.schedule.passes = online.schedule.passes.min(Auto::PASSES);
                Box::new(online)
            }
            Choice::AdaGradAlone => {
                let mut online = self.online.clone();
                online.schedule.passes = if limit > 0.0 { limit as usize } else { AdaGrad::PASSES };
                Box::new(online)
            }
            Choice::Lbfgs => return None,
        })
    }
}

fn is_smooth(problem: &Problem) -> bool {
    problem.objective.gives().contains(&Ability::Smooth)
}

/// Records in the state which phase it belongs to.
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

    fn stores(&mut self, bytes: u64) -> Result<()> {
        self.watch.stores(bytes)
    }

    fn reset(&mut self, passes: f64, weights: usize) -> Result<()> {
        self.watch.reset(passes, weights)
    }

    fn restarts(&mut self, passes: f64, next: Restart) -> Result<()> {
        self.watch.restarts(passes, next)
    }
}

impl Optimizer for Auto {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn check(&self, prior: &Prior, l1: f64) -> Result<()> {
        self.online.check(prior, l1)?;
        self.finish.check(prior, l1)
    }

    fn minimize(&self, problem: &Problem, mut state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let restored = Restored::new(state, problem.objective.dim())?;
        let first_phase = restored.count("phase", 1)? == 0;
        state = restored.into_state();
        let beginning = if first_phase { self.beginning(problem) } else { None };
        if let Some(beginning) = beginning {
            let near = guard::minimize(beginning, problem, state, &mut Phase { number: 0.0, watch })?;
            let at_limit = self.finish.passes > 0.0 && near.passes >= self.finish.passes;
            let settled = near.stop == Stop::Gap && self.tolerance >= Auto::NEAR;
            if near.stop == Stop::Watch || at_limit || settled || !is_smooth(problem) {
                return Ok(near);
            }
            state = State::start(near.theta);
            state.numbers.insert("passes".into(), near.passes);
        }
        self.finish.minimize(problem, state, &mut Phase { number: 1.0, watch })
    }
}
