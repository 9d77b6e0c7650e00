//! The default method, with nothing to tune.

use super::restored::Restored;
use super::{
    AdaGrad, Control, Lbfgs, Mean, Minimum, Optimizer, Prior, Problem, Progress, Restart, Saga, State, Stop,
    Watch,
};
use super::{curvature, guard};
use crate::Result;
use crate::ability::Ability;

/// Chooses a method for the problem; [`Auto::choice`] says which one.
///
/// [`Saga`] is used if the objective provides the exact marginals of single examples. Up to σ = 2.5 it reaches the optimum by
/// itself, with an L1 penalty too, and L-BFGS takes over only if it has not converged after 30 passes, or for a tolerance below 10⁻⁶.
///
/// With a wider prior or none, weights bend too little for SAGA's steps. There it takes a proximal step (Rockafellar 1976): a few
/// passes minimise the objective plus κ/2·|θ − θ₀|², where θ₀ is the start and κ makes up for what 1/σ² lacks to that of σ = 2, up to a tenth of the
/// objective. L-BFGS finishes, with steps scaled by the curvature of each weight, which takes a pass to measure. After SAGA,
/// L-BFGS stops when ten iterations have gained less than a twentieth of the tolerance.
///
/// If a pass of SAGA has ended above the one before it, and the next one has not ended below both, its estimate of what is left to gain is
/// not trusted, and L-BFGS finishes.
///
/// Without marginals, a few passes of [`AdaGrad`] come near the optimum, and L-BFGS reaches it. With at most 100 weights, L-BFGS is
/// then used alone. An objective that is not smooth has AdaGrad alone, with as many passes as AdaGrad has by itself.
///
/// Neither phase ends above its start if the value of the objective measures progress (that of a perceptron does not). If the first one would, it is repeated with a smaller gain or left out, and the
/// watch is notified ([`Watch::restarts`]).
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
    /// tolerance is below 10⁻⁶ or SAGA has taken a proximal step.
    pub tolerance: f64,
    /// How to begin; with `None`, [`Auto::choice`] decides.
    pub begin: Option<AutoChoice>,
    /// The largest number of bytes that SAGA may store; see [`Saga::memory_limit`].
    pub memory_limit: u64,
}

/// How [`Auto`] begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoChoice {
    /// With [`Saga`].
    Saga,
    /// With [`AdaGrad`].
    AdaGrad,
    /// With [`Lbfgs`], which then runs alone.
    Lbfgs,
    /// With [`AdaGrad`], which then runs alone.
    AdaGradAlone,
}

impl std::fmt::Display for AutoChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AutoChoice::Saga => "saga, then lbfgs",
            AutoChoice::AdaGrad => "adagrad, then lbfgs",
            AutoChoice::Lbfgs => "lbfgs",
            AutoChoice::AdaGradAlone => "adagrad",
        })
    }
}

impl Auto {
    /// The default tolerance. On text, the method ends 0.1 to 0.9 % above the optimum, where scores on new data no longer change; up to about 1 % where
    /// labels are noise or most features occur once.
    pub const TOLERANCE: f64 = 1e-2;
    /// The largest number of AdaGrad passes: after that, the final phase is quicker.
    pub const PASSES: usize = 5;
    /// With this few weights (as on a grid), L-BFGS needs hardly more passes than AdaGrad would get.
    pub(crate) const FEW_WEIGHTS: usize = 100;
    /// The largest number of SAGA passes: more are not worth their time.
    pub(crate) const SAGA_PASSES: f64 = 30.0;
    /// Closer to the optimum than this share of the objective, L-BFGS is as quick and has the better stopping rule.
    pub(crate) const NEAR: f64 = 1e-6;

    /// The largest σ with which SAGA reaches the optimum by itself.
    const WIDE: f64 = 2.5;
    /// σ of a proximal step.
    const STEP: f64 = 2.0;
    /// A proximal step ends when about this share of its objective is left to gain, or after so many passes: it is a start, not a result.
    const ROUGH: f64 = 0.1;
    const ROUGH_PASSES: f64 = 8.0;
    /// After SAGA, L-BFGS stops when ten iterations have gained less than this share of the tolerance: it gains slowly, and more is left.
    const SETTLED: f64 = 0.05;
    /// With fewer weights than this, passes are cheap, and L-BFGS goes on until its gains are smaller in proportion, down to a fiftieth.
    const MANY_WEIGHTS: f64 = 1e5;
    const FIFTIETH: f64 = 0.02;

    /// The method for this problem. It depends on what the objective provides and on the number of weights.
    pub fn choice(problem: &Problem) -> AutoChoice {
        if !is_smooth(problem) {
            return AutoChoice::AdaGradAlone;
        }
        match problem.objective.provides().contains(&Ability::Marginals) {
            true => AutoChoice::Saga,
            false if problem.objective.dim() <= Auto::FEW_WEIGHTS => AutoChoice::Lbfgs,
            false => AutoChoice::AdaGrad,
        }
    }

    /// The phase before L-BFGS, if there is one.
    fn beginning(&self, begin: AutoChoice, proximal: bool) -> Option<Box<dyn Optimizer>> {
        let limit = self.finish.passes;
        Some(match begin {
            AutoChoice::Saga => {
                let (most, tolerance) = match proximal {
                    true => (Auto::ROUGH_PASSES, self.tolerance.max(Auto::ROUGH)),
                    false => (Auto::SAGA_PASSES, self.tolerance.max(Auto::NEAR)),
                };
                Box::new(Saga {
                    passes: if limit > 0.0 { limit.min(most) } else { most },
                    seed: self.online.schedule.seed,
                    tolerance,
                    memory_limit: self.memory_limit,
                })
            }
            AutoChoice::AdaGrad => {
                let mut online = self.online.clone();
                online.schedule.passes = online.schedule.passes.min(Auto::PASSES);
                Box::new(online)
            }
            AutoChoice::AdaGradAlone => {
                let mut online = self.online.clone();
                online.schedule.passes = if limit > 0.0 { limit as usize } else { AdaGrad::PASSES };
                Box::new(online)
            }
            AutoChoice::Lbfgs => return None,
        })
    }
}

/// The prior of a proximal step from `start`, if σ is so wide that one is needed: it adds κ/2·(θ − start)², so that σ becomes [`Auto::STEP`].
fn proximal(prior: &Prior, start: &[f64]) -> Option<Prior> {
    if prior.sigma.max(prior.sigma_pairs) <= Auto::WIDE {
        return None;
    }
    let centred = prior.mean == Mean::Value(0.0) && start.iter().all(|x| *x == 0.0);
    let mean = |(i, x): (usize, &f64)| {
        let precision = prior.precision(i);
        let all = precision.max(1.0 / (Auto::STEP * Auto::STEP));
        (precision * prior.mean(i) + (all - precision) * x) / all
    };
    Some(Prior {
        sigma: prior.sigma.min(Auto::STEP),
        sigma_pairs: prior.sigma_pairs.min(Auto::STEP),
        first_pair: prior.first_pair,
        mean: if centred {
            Mean::Value(0.0)
        } else {
            Mean::Vector(start.iter().enumerate().map(mean).collect())
        },
    })
}

fn is_smooth(problem: &Problem) -> bool {
    problem.objective.provides().contains(&Ability::Smooth)
}

/// Records in the state which phase it belongs to.
struct Phase<'a> {
    number: f64,
    /// The prior of the problem and that of a proximal step.
    priors: Option<[&'a Prior; 2]>,
    watch: &'a mut dyn Watch,
}

impl Watch for Phase<'_> {
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control> {
        // What a proximal step adds to the objective is not told. Without the weights it is not known; in the first round it is small.
        let objective = match (self.priors, progress.theta) {
            (Some([prior, step]), Some(theta)) => {
                progress.objective.map(|value| value + prior.value(theta) - step.value(theta))
            }
            _ => progress.objective,
        };
        self.watch.step(&Progress { objective, ..*progress }, &|| {
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
        let dim = problem.objective.dim();
        let restored = Restored::new(state, dim)?;
        let first_phase = restored.count("phase", 1)? == 0;
        state = restored.into_state();
        let begin = self.begin.filter(|_| is_smooth(problem)).unwrap_or_else(|| Auto::choice(problem));
        let mut finish = self.finish.clone();
        if begin == AutoChoice::Saga && self.tolerance >= Auto::NEAR {
            let size = (dim as f64 / Auto::MANY_WEIGHTS).clamp(Auto::FIFTIETH, 1.0);
            finish.tolerance = finish.tolerance.max(Auto::SETTLED * self.tolerance * size);
        }
        let mut curvature = None;
        if first_phase {
            // The guard keeps the start of an interrupted run, unless it is 0.
            let start = match state.vectors.get("start") {
                None if state.vectors.is_empty() => state.theta.clone(),
                Some(start) if start.len() == dim => start.clone(),
                _ => vec![0.0; dim],
            };
            let step = if begin == AutoChoice::Saga { proximal(&problem.prior, &start) } else { None };
            if let Some(beginning) = self.beginning(begin, step.is_some()) {
                let Problem { objective, prior, l1 } = problem;
                let near =
                    Problem { objective: *objective, prior: step.as_ref().unwrap_or(prior).clone(), l1: *l1 };
                let priors = step.as_ref().map(|step| [prior, step]);
                let near =
                    guard::minimize(beginning, &near, state, &mut Phase { number: 0.0, priors, watch })?;
                let at_limit = self.finish.passes > 0.0 && near.passes >= self.finish.passes;
                let settled = near.stop == Stop::Gap && self.tolerance >= Auto::NEAR && step.is_none();
                if near.stop == Stop::Watch || at_limit || settled || !is_smooth(problem) {
                    return Ok(near);
                }
                let mut passes = near.passes;
                let worthwhile = self.finish.passes == 0.0 || passes + 2.0 <= self.finish.passes;
                if begin == AutoChoice::Saga && worthwhile {
                    curvature = curvature::curvature(problem, &near.theta);
                    passes += 1.0;
                }
                state = State::start(near.theta);
                state.numbers.insert("passes".into(), passes);
            }
        }
        finish.minimize_scaled(problem, state, curvature, &mut Phase { number: 1.0, priors: None, watch })
    }
}
