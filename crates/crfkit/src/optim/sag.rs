//! Stochastic average gradient.

use super::checks::refuse_l1;
use super::finite::{MEMORY_LIMIT, check_storage, diverged, visits};
use super::lazy::Lazy;
use super::restored::{MOST, Restored, finite, not_negative};
use super::sampler::Sampler;
use super::{Control, Minimum, Optimizer, Prior, Problem, Progress, State, Stop, Touched, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::random::Random;
use crate::math::vector::{dot, norm};

/// Steps along the average of the latest known gradients of all examples. A step costs one example; convergence is
/// linear, as for a method on the whole set.
///
/// Idea: store the gradient gᵢ of every example at its last visit. A step takes an example, replaces its gᵢ, and
/// moves θ ← θ − α (d/k + (θ − mean)/nσ²), where d is the sum of the k stored gradients. Examples whose gradient
/// changes fast are visited more often: half of the visits are uniform, half are drawn in proportion to estimates Lᵢ
/// of the Lipschitz constants. α = ½ (1/(max L + λ) + 1/(mean L + λ)) with λ = 1/nσ². Lᵢ is doubled until a step 1/Lᵢ
/// along −gᵢ decreases the loss by ‖gᵢ‖²/2Lᵢ, and multiplied by 0.9 if the first trial does. After s such successes
/// in a row the next 2^(s−1) visits make no trial. The first pass visits every example once. A step costs the weights
/// that it touches; the iterates are those of the dense recursion.
///
/// Parameters: `passes` = 100, `gradient_tolerance` = 1e-5, `memory_limit` = 1 GiB. Needs: gradients of single
/// examples, no L1 penalty, and memory for all of them on the weights they touch ([`Sag::storage`]). Stops when the
/// stored gradient is practically zero. Reference: Schmidt, Babanezhad, Ahmed, Defazio, Clifton and Sarkar,
/// Non-uniform stochastic average gradient method for training conditional random fields, 2015.
#[derive(Clone, Debug)]
pub struct Sag {
    /// The largest number of passes, including trials of the line search.
    pub passes: usize,
    /// The seed for the order of visits.
    pub seed: u64,
    /// Stop when ‖d + (θ − mean)/σ²‖ ≤ `gradient_tolerance` · max(1, ‖θ‖); tested once per pass.
    pub gradient_tolerance: f64,
    /// The largest number of bytes to store; a larger problem is rejected with an error.
    pub memory_limit: u64,
}

impl Default for Sag {
    fn default() -> Self {
        Sag { passes: Sag::PASSES, seed: 1, gradient_tolerance: 1e-5, memory_limit: MEMORY_LIMIT }
    }
}

/// The factor of Lᵢ if the first trial succeeds.
const SHRINK: f64 = 0.9;
/// If the squared gradient is below this, no trial is made.
const FLAT: f64 = 1e-8;
/// The share of uniform visits.
const UNIFORM: f64 = 0.5;

impl Sag {
    /// The default number of passes.
    pub const PASSES: usize = 100;

    /// The number of bytes that it stores: the gradients of all examples.
    #[doc(hidden)]
    pub fn storage(problem: &Problem) -> u64 {
        8 * *offsets(problem).last().unwrap_or(&0) as u64
    }
}

/// The start of each example's gradient in memory, and the end.
fn offsets(problem: &Problem) -> Vec<usize> {
    let mut touched = Touched::default();
    let mut offsets = vec![0];
    for example in 0..problem.objective.examples() as u32 {
        problem.objective.touched(&[example], &mut touched);
        offsets.push(offsets[example as usize] + touched.len());
    }
    offsets
}

struct SagRun<'a> {
    problem: &'a Problem<'a>,
    seed: u64,
    /// The order of the first visits.
    order: Vec<u32>,
    theta: Vec<f64>,
    /// θ of untouched weights; d is its drift.
    lazy: Lazy<'a>,
    offsets: Vec<usize>,
    /// gᵢ.
    memory: Vec<f64>,
    /// The loss of each example at its last visit.
    losses: Vec<f64>,
    /// Lᵢ; 0 before the first visit.
    lipschitz: Sampler,
    /// For each example, the number of successive successful trials, and the number of visits until the next trial.
    successes: Vec<f64>,
    rest: Vec<f64>,
    steps: u64,
    /// The number of single losses computed so far.
    evaluations: u64,
    touched: Touched,
    gradient: Vec<f64>,
    scratch: Vec<f64>,
}

impl Optimizer for Sag {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("sag", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        check_storage("sag", Sag::storage(problem), self.memory_limit, watch)?;
        let mut run = SagRun::new(problem, self.seed, state)?;
        let examples = problem.objective.examples().max(1) as u64;
        let stop = loop {
            let whole = run.steps > 0 && run.steps.is_multiple_of(examples);
            if whole && run.gradient_norm() <= self.gradient_tolerance * norm(&run.theta).max(1.0) {
                break Stop::Gradient;
            }
            if run.evaluations >= self.passes as u64 * examples {
                break Stop::Passes;
            }
            run.step()?;
            let whole = run.steps.is_multiple_of(examples);
            if whole {
                run.lazy.settle(&mut run.theta);
            }
            let progress = Progress {
                passes: run.evaluations as f64 / examples as f64,
                objective: whole.then(|| run.losses.iter().sum::<f64>() + problem.prior.value(&run.theta)),
                gradient_norm: whole.then(|| run.gradient_norm()),
                gap: None,
                theta: whole.then_some(&run.theta),
            };
            if watch.step(&progress, &|| run.state())? == Control::Stop {
                break Stop::Watch;
            }
        };
        run.lazy.settle(&mut run.theta);
        Ok(Minimum { theta: run.theta, stop, passes: run.evaluations as f64 / examples as f64 })
    }
}

impl<'a> SagRun<'a> {
    fn new(problem: &'a Problem, seed: u64, state: State) -> Result<Self> {
        let mut state = Restored::new(state, problem.objective.dim())?;
        let lazy = Lazy::new(problem, &mut state)?;
        let offsets = offsets(problem);
        let examples = offsets.len() - 1;
        let (order, steps) = (visits(seed, examples), state.count("steps", MOST)?);
        let lipschitz = state.vector("lipschitz", examples, 0.0, not_negative)?;
        // From L = 0 no doubling would ever lead away.
        if order.iter().take(steps as usize).any(|&e| lipschitz[e as usize] == 0.0) {
            return Err(Restored::disagrees("lipschitz"));
        }
        Ok(SagRun {
            problem,
            seed,
            order,
            lazy,
            memory: state.vector("memory", offsets[examples], 0.0, finite)?,
            losses: state.vector("losses", examples, 0.0, finite)?,
            lipschitz: Sampler::new(&lipschitz),
            successes: state.counts("successes", examples, MOST)?,
            rest: state.vector("rest", examples, 0.0, not_negative)?,
            steps,
            evaluations: state.count("evaluations", MOST)?,
            offsets,
            touched: Touched::default(),
            gradient: Vec::new(),
            scratch: Vec::new(),
            theta: state.take_theta(),
        })
    }

    fn state(&self) -> State {
        let mut state = State::start(self.theta.clone());
        self.lazy.save(&mut state);
        for (name, vector) in [
            ("memory", &self.memory[..]),
            ("losses", &self.losses),
            ("lipschitz", self.lipschitz.weights()),
            ("successes", &self.successes),
            ("rest", &self.rest),
        ] {
            state.vectors.insert(name.into(), vector.to_vec());
        }
        state.numbers.insert("steps".into(), self.steps as f64);
        state.numbers.insert("evaluations".into(), self.evaluations as f64);
        state
    }

    /// The next example: first all of them in random order, then by Lᵢ. It depends only on the seed and the step.
    fn choose(&self) -> u32 {
        let by_lipschitz = || self.lipschitz.draw(UNIFORM, &mut Random::stream(self.seed, self.steps)) as u32;
        self.order.get(self.steps as usize).copied().unwrap_or_else(by_lipschitz)
    }

    fn step(&mut self) -> Result<()> {
        let example = self.choose();
        let e = example as usize;
        let objective = self.problem.objective;
        objective.touched(&[example], &mut self.touched);
        self.lazy.refresh(&mut self.theta, &self.touched);
        let mut gradient = std::mem::take(&mut self.gradient);
        let loss = objective.batch_grad(&[example], &self.theta, &self.touched, &mut gradient);
        self.steps += 1;
        self.evaluations += 1;
        if !loss.is_finite() {
            return Err(diverged(self.evaluations as f64 / self.losses.len() as f64, &self.problem.prior));
        }
        self.losses[e] = loss;
        self.update_lipschitz(example, loss, &gradient);
        let memory = &mut self.memory[self.offsets[e]..self.offsets[e + 1]];
        self.lazy.exchange(&self.touched, memory, &gradient);
        let (examples, known) = (self.losses.len() as f64, (self.steps as f64).min(self.losses.len() as f64));
        let prior = &self.problem.prior;
        let lambda = prior.precision(0).max(prior.precision(self.theta.len() - 1)) / examples;
        let (largest, mean) = (self.lipschitz.max(), self.lipschitz.total() / known);
        let alpha = 0.5 / (largest + lambda) + 0.5 / (mean + lambda);
        self.lazy.step(alpha, alpha / known, &mut self.theta);
        self.gradient = gradient;
        Ok(())
    }

    /// Tries a step 1/Lᵢ along −gᵢ, if a trial is due.
    fn update_lipschitz(&mut self, example: u32, loss: f64, gradient: &[f64]) {
        let e = example as usize;
        let squared = dot(gradient, gradient);
        let known = (self.steps - 1).min(self.losses.len() as u64) as f64;
        let mut l = match self.lipschitz.weights()[e] {
            // Starts with the mean of the known values.
            0.0 if known > 0.0 => self.lipschitz.total() / known,
            0.0 => 1.0,
            l => l,
        };
        if self.rest[e] > 0.0 {
            self.rest[e] -= 1.0;
        } else if squared > FLAT {
            let mut trials = 1;
            while l.is_finite() && !self.decreases(example, loss, gradient, squared, l) {
                l *= 2.0;
                trials += 1;
            }
            self.successes[e] = if trials == 1 { self.successes[e] + 1.0 } else { 0.0 };
            if trials == 1 {
                l *= SHRINK;
                self.rest[e] = f64::exp2(self.successes[e] - 1.0);
            }
        }
        self.lipschitz.set(e, l);
    }

    /// Whether f(θ − g/L) ≤ f(θ) − ‖g‖²/2L.
    fn decreases(&mut self, example: u32, loss: f64, gradient: &[f64], squared: f64, l: f64) -> bool {
        let weights = || self.touched.weights();
        weights().zip(gradient).for_each(|(i, g)| self.theta[i] -= g / l);
        let trial =
            self.problem.objective.batch_grad(&[example], &self.theta, &self.touched, &mut self.scratch);
        self.lazy.refresh(&mut self.theta, &self.touched);
        self.evaluations += 1;
        trial <= loss - squared / (2.0 * l)
    }

    /// ‖d + (θ − mean)/σ²‖; the weights must be settled.
    fn gradient_norm(&self) -> f64 {
        let mut gradient = self.lazy.drift.clone();
        self.problem.prior.add(&self.theta, &mut gradient);
        norm(&gradient)
    }
}
