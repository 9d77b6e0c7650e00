//! Stochastic dual coordinate ascent.

use super::checks::{refuse_l1, require_prior};
use super::dual::{DualProblem, best_step};
use super::finite::{MEMORY_LIMIT, check_storage, diverged, dual_of, visits};
use super::fours::weighted_squares;
use super::restored::{MOST, Restored, expectation, finite};
use super::sampler::Sampler;
use super::{Control, Minimum, Optimizer, Prior, Problem, Progress, State, Stop, Touched, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::entropy::{divergence, entropy};
use crate::math::random::Random;
use crate::math::vector::norm;

/// Exact steps on the dual problem, one example at a time, with a bound on the distance to the optimum.
///
/// Idea: store the marginals μᵢ of every example; they determine θ = mean − σ² Σ Aᵢᵀ(μᵢ − 1\[yᵢ\]). A step takes an
/// example, computes its marginals at θ, and moves μᵢ towards them by the γ ∈ [0, 1] that is best for the dual
/// objective D = Σ wᵢ H(μᵢ) − Σ (θ − mean)(θ + mean)/2σ². There is nothing to tune, and no step is too long. The
/// difference between the objective and D is never negative and bounds what is left to gain. An example with a large
/// share of it, KL(μᵢ ‖ marginals at θ), is visited more often: a fifth of the visits are uniform, the others are
/// drawn by these shares. The first pass visits every example once. The method starts at the mean of the prior,
/// whatever the state, with the gold labels as the first marginals.
///
/// Parameters: `passes` = 100, `gap_tolerance` = 1e-4, `memory_limit` = 1 GiB.
///
/// Needs: marginals of single examples with their joint entropy, a finite σ, no L1 penalty, and memory for them
/// ([`Sdca::storage`]). Stops when the gap is small; it is computed once per pass, which costs another pass.
/// Reference: Le Priol, Piché and Lacoste-Julien, Adaptive stochastic dual coordinate ascent for conditional random
/// fields, 2018; its predecessor is Collins, Globerson, Koo, Carreras and Bartlett 2008.
#[derive(Clone, Debug)]
pub struct Sdca {
    /// The largest number of passes, including those that compute the gap.
    pub passes: usize,
    /// The seed for the order of visits.
    pub seed: u64,
    /// Stop when the gap is at most this share of the objective.
    pub gap_tolerance: f64,
    /// The largest number of bytes to store; a larger problem is rejected with an error.
    pub memory_limit: u64,
}

impl Default for Sdca {
    fn default() -> Self {
        Sdca { passes: Sdca::PASSES, seed: 1, gap_tolerance: 1e-4, memory_limit: MEMORY_LIMIT }
    }
}

/// The share of uniform visits.
const UNIFORM: f64 = 0.2;

impl Sdca {
    /// The default number of passes.
    pub const PASSES: usize = 100;

    /// The number of bytes that it stores: the marginals of all examples. Returns an error if the objective does not
    /// provide them.
    #[doc(hidden)]
    pub fn storage(problem: &Problem) -> Result<u64> {
        let dual = dual_of("sdca", problem)?;
        Ok((0..problem.objective.examples() as u32).map(|e| 8 * dual.size(e) as u64).sum())
    }
}

struct SdcaRun<'a> {
    problem: &'a Problem<'a>,
    dual: Box<dyn DualProblem + 'a>,
    seed: u64,
    /// The order of the first visits.
    order: Vec<u32>,
    theta: Vec<f64>,
    offsets: Vec<usize>,
    /// μᵢ.
    marginals: Vec<f64>,
    /// H(μᵢ).
    entropies: Vec<f64>,
    /// Each example's share of the gap, at its last visit.
    gaps: Sampler,
    /// The objective, the norm of its gradient and the gap when they were last computed.
    look: [f64; 3],
    steps: u64,
    /// The number of single losses computed so far.
    evaluations: u64,
    touched: Touched,
    new: Vec<f64>,
    counting: Vec<f64>,
    change: Vec<f64>,
    rows: Vec<f64>,
    gradient: Vec<f64>,
}

impl Optimizer for Sdca {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::Dual]
    }

    fn check(&self, prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("sdca", l1)?;
        require_prior("sdca", prior)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        check_storage("sdca", Sdca::storage(problem)?, self.memory_limit, watch)?;
        let mut run = SdcaRun::new(problem, self.seed, state)?;
        let examples = problem.objective.examples().max(1) as u64;
        let stop = loop {
            let whole = run.steps > 0 && run.steps.is_multiple_of(examples);
            let [objective, _, gap] = run.look;
            if whole && gap <= self.gap_tolerance * objective {
                break Stop::Gap;
            }
            if run.evaluations >= self.passes as u64 * examples {
                break Stop::Passes;
            }
            run.step()?;
            let whole = run.steps.is_multiple_of(examples);
            if whole && !run.look()? {
                break Stop::Watch;
            }
            let progress = Progress {
                passes: run.evaluations as f64 / examples as f64,
                objective: whole.then_some(run.look[0]),
                gradient_norm: whole.then_some(run.look[1]),
                gap: whole.then_some(run.look[2]),
                theta: whole.then_some(&run.theta),
            };
            if watch.step(&progress, &|| run.state())? == Control::Stop {
                break Stop::Watch;
            }
        };
        Ok(Minimum { theta: run.theta, stop, passes: run.evaluations as f64 / examples as f64 })
    }
}

impl<'a> SdcaRun<'a> {
    fn new(problem: &'a Problem<'a>, seed: u64, state: State) -> Result<Self> {
        let mut state = Restored::new(state, problem.objective.dim())?;
        let mut dual = dual_of("sdca", problem)?;
        let examples = problem.objective.examples();
        let mut offsets = vec![0];
        for e in 0..examples {
            offsets.push(offsets[e] + dual.size(e as u32));
        }
        let mut marginals = state.vector("marginals", offsets[examples], 0.0, expectation)?;
        let mut theta = state.take_theta();
        if !state.resumed() {
            for e in 0..examples {
                dual.gold_marginals(e as u32, &mut marginals[offsets[e]..offsets[e + 1]]);
            }
            theta = (0..problem.objective.dim()).map(|i| problem.prior.mean(i)).collect();
        }
        let entropies = state.vector("entropies", examples, 0.0, finite)?;
        // Rounding may leave a divergence a little below 0.
        let gaps = Sampler::new(&state.vector("gaps", examples, 0.0, expectation)?);
        let mut look = [0.0; 3];
        for (look, name) in look.iter_mut().zip(["objective", "gradient_norm", "gap"]) {
            *look = state.number(name, 0.0, finite)?;
        }
        Ok(SdcaRun {
            problem,
            dual,
            seed,
            order: visits(seed, examples),
            offsets,
            marginals,
            entropies,
            gaps,
            look,
            steps: state.count("steps", MOST)?,
            evaluations: state.count("evaluations", MOST)?,
            touched: Touched::default(),
            new: Vec::new(),
            counting: Vec::new(),
            change: Vec::new(),
            rows: Vec::new(),
            gradient: Vec::new(),
            theta,
        })
    }

    fn state(&self) -> State {
        let mut state = State::start(self.theta.clone());
        for (name, vector) in [
            ("marginals", &self.marginals[..]),
            ("entropies", &self.entropies),
            ("gaps", self.gaps.weights()),
        ] {
            state.vectors.insert(name.into(), vector.to_vec());
        }
        for (name, number) in [
            ("objective", self.look[0]),
            ("gradient_norm", self.look[1]),
            ("gap", self.look[2]),
            ("steps", self.steps as f64),
            ("evaluations", self.evaluations as f64),
        ] {
            state.numbers.insert(name.into(), number);
        }
        state
    }

    fn step(&mut self) -> Result<()> {
        let SdcaRun { problem, dual, theta, offsets, touched, new, counting, change, rows, .. } = self;
        let by_gap = || self.gaps.draw(UNIFORM, &mut Random::stream(self.seed, self.steps)) as u32;
        let example = self.order.get(self.steps as usize).copied().unwrap_or_else(by_gap);
        let e = example as usize;
        let old = &mut self.marginals[offsets[e]..offsets[e + 1]];
        for vector in [&mut *new, &mut *counting] {
            vector.resize(old.len(), 0.0);
        }
        problem.objective.touched(&[example], touched);
        let loss = dual.marginals(example, theta, touched, new);
        self.steps += 1;
        self.evaluations += 1;
        if !loss.is_finite() {
            return Err(diverged(self.evaluations as f64 / self.entropies.len() as f64, &self.problem.prior));
        }
        dual.counting_numbers(example, counting);
        change.clear();
        change.extend(new.iter().zip(&*old).map(|(new, old)| new - old));
        dual.project(example, change, touched, rows);
        let variances =
            touched.filled().map(|(weights, place, _)| (place, problem.prior.variance(weights.start)));
        let curvature = weighted_squares(variances, rows);
        let weight = dual.weight(example);
        let gamma = best_step(weight, counting, old, new, curvature);
        self.gaps.set(e, weight * divergence(counting, old, new));
        old.iter_mut().zip(&*change).for_each(|(old, x)| *old += gamma * x);
        self.entropies[e] = weight * entropy(counting, old);
        for (weights, place, _) in touched.filled() {
            let step = gamma * problem.prior.variance(weights.start);
            theta[weights].iter_mut().zip(&rows[place]).for_each(|(x, u)| *x -= step * u);
        }
        Ok(())
    }

    /// Computes the objective, the norm of its gradient and the gap at θ. Returns false if the run is stopped meanwhile.
    fn look(&mut self) -> Result<bool> {
        let prior = &self.problem.prior;
        self.gradient.resize(self.theta.len(), 0.0);
        let objective = self.problem.smooth(&self.theta, &mut self.gradient);
        if self.problem.objective.stopped() && !objective.is_finite() {
            return Ok(false);
        }
        self.evaluations += self.entropies.len() as u64;
        if !objective.is_finite() {
            return Err(diverged(self.evaluations as f64 / self.entropies.len() as f64, &self.problem.prior));
        }
        let penalty =
            |(i, x): (usize, &f64)| 0.5 * prior.precision(i) * (x - prior.mean(i)) * (x + prior.mean(i));
        let dual =
            self.entropies.iter().sum::<f64>() - self.theta.iter().enumerate().map(penalty).sum::<f64>();
        self.look = [objective, norm(&self.gradient), objective - dual];
        Ok(true)
    }
}
