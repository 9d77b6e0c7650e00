//! Stochastic variance-reduced gradient.

use super::checks::{refuse_l1, require_gain};
use super::finite::diverged;
use super::lazy::Lazy;
use super::restored::{MOST, Restored, finite, positive};
use super::{Control, Minimum, Optimizer, Prior, Problem, Progress, State, Stop, Touched, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::random::Random;
use crate::math::vector::{dot, norm};

/// Stochastic steps whose noise vanishes at the optimum, without memory for single examples.
///
/// Idea: from time to time compute the gradient of the whole set at a snapshot θ̃. Each of the next n steps picks an
/// example at random and moves θ ← θ − η (gᵢ(θ) − gᵢ(θ̃) + (1/n) Σⱼ gⱼ(θ̃) + (θ − mean)/nσ²). On average this is the
/// right direction, and its noise shrinks as θ approaches θ̃. The last iterate becomes the next snapshot. A step
/// costs the weights that it touches; the iterates are those of the dense recursion. One snapshot with its steps
/// costs three passes.
///
/// Needs: values of the whole set and gradients of single examples, no L1 penalty. Parameters: η, by default 1/4L
/// with L the largest Lipschitz constant that doubling finds among [`Svrg::SAMPLE`] examples at the first snapshot.
/// Stops when the gradient at a snapshot is practically zero. Reference: Johnson and Zhang, Accelerating stochastic
/// gradient descent using predictive variance reduction, 2013.
#[derive(Clone, Debug)]
pub struct Svrg {
    /// η; `None` derives it from Lipschitz constants.
    pub eta: Option<f64>,
    /// The largest number of passes.
    pub passes: usize,
    /// The seed for the order of visits.
    pub seed: u64,
    /// Stop when ‖g‖ ≤ `gradient_tolerance` · max(1, ‖θ‖) at a snapshot.
    pub gradient_tolerance: f64,
}

impl Default for Svrg {
    fn default() -> Self {
        Svrg { eta: None, passes: Svrg::PASSES, seed: 1, gradient_tolerance: 1e-5 }
    }
}

impl Svrg {
    /// The default number of passes.
    pub const PASSES: usize = 150;
    /// The number of examples whose Lipschitz constants determine η.
    pub const SAMPLE: usize = 100;
}

struct SvrgRun<'a> {
    problem: &'a Problem<'a>,
    theta: Vec<f64>,
    /// θ of untouched weights; its drift is the gradient of all losses at the snapshot.
    lazy: Lazy<'a>,
    /// θ̃; empty before the first snapshot.
    snapshot: Vec<f64>,
    /// Losses and prior at θ̃.
    value: f64,
    eta: f64,
    /// The number of steps since the snapshot, and in all.
    since: u64,
    steps: u64,
    /// The number of single losses computed so far.
    evaluations: u64,
    touched: Touched,
    gradient: Vec<f64>,
    gradient_before: Vec<f64>,
}

impl Optimizer for Svrg {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        self.eta.map_or(Ok(()), require_gain)?;
        refuse_l1("svrg", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let examples = problem.objective.examples().max(1) as u64;
        let mut run = SvrgRun::new(problem, state)?;
        let stop = loop {
            let mut progress =
                Progress { passes: 0.0, objective: None, gradient_norm: None, gap: None, theta: None };
            let gradient_norm;
            if run.snapshot.is_empty() || run.since == examples {
                if !run.take_snapshot(self)? {
                    let passes = run.evaluations as f64 / examples as f64;
                    return Ok(Minimum { theta: run.theta, stop: Stop::Watch, passes });
                }
                gradient_norm = run.gradient_norm();
                progress.objective = Some(run.value);
                progress.gradient_norm = Some(gradient_norm);
                progress.theta = Some(&run.theta);
            } else {
                if run.since == 0
                    && run.gradient_norm() <= self.gradient_tolerance * norm(&run.theta).max(1.0)
                {
                    break Stop::Gradient;
                }
                // With few examples, the sample that determines η may have used up all passes: one round of steps is
                // always made.
                if run.steps >= examples && run.evaluations >= self.passes as u64 * examples {
                    break Stop::Passes;
                }
                run.step(self.seed)?;
            }
            progress.passes = run.evaluations as f64 / examples as f64;
            if watch.step(&progress, &|| run.state())? == Control::Stop {
                break Stop::Watch;
            }
        };
        run.lazy.settle(&mut run.theta);
        Ok(Minimum { theta: run.theta, stop, passes: run.evaluations as f64 / examples as f64 })
    }
}

impl<'a> SvrgRun<'a> {
    fn new(problem: &'a Problem, state: State) -> Result<Self> {
        let (dim, examples) = (problem.objective.dim(), problem.objective.examples().max(1) as u64);
        let mut state = Restored::new(state, dim)?;
        let snapshot = match state.resumed() {
            true => state.vector("snapshot", dim, 0.0, finite)?,
            false => Vec::new(),
        };
        Ok(SvrgRun {
            problem,
            lazy: Lazy::new(problem, &mut state)?,
            snapshot,
            value: state.number("value", 0.0, finite)?,
            eta: state.number("eta", 0.0, positive)?,
            since: state.count("since", examples)?,
            steps: state.count("steps", MOST)?,
            evaluations: state.count("evaluations", MOST)?,
            touched: Touched::default(),
            gradient: Vec::new(),
            gradient_before: Vec::new(),
            theta: state.take_theta(),
        })
    }

    fn state(&self) -> State {
        let mut state = State::start(self.theta.clone());
        self.lazy.save(&mut state);
        state.vectors.insert("snapshot".into(), self.snapshot.clone());
        for (name, number) in [
            ("value", self.value),
            ("eta", self.eta),
            ("since", self.since as f64),
            ("steps", self.steps as f64),
            ("evaluations", self.evaluations as f64),
        ] {
            state.numbers.insert(name.into(), number);
        }
        state
    }

    /// Computes the value and the whole gradient at θ. Returns false if the run is stopped meanwhile.
    fn take_snapshot(&mut self, method: &Svrg) -> Result<bool> {
        let objective = self.problem.objective;
        self.lazy.settle(&mut self.theta);
        self.lazy.drift.fill(0.0);
        let loss = objective.value_grad(&self.theta, &mut self.lazy.drift);
        self.value = loss + self.problem.prior.value(&self.theta);
        if objective.stopped() && !self.value.is_finite() {
            return Ok(false);
        }
        self.evaluations += objective.examples() as u64;
        if !self.value.is_finite() {
            return Err(self.diverged());
        }
        if self.snapshot.is_empty() {
            self.eta = method.eta.unwrap_or_else(|| self.quarter_of_smallest_step(method.seed));
        }
        self.snapshot.clone_from(&self.theta);
        self.since = 0;
        Ok(true)
    }

    /// 1/4(L + λ): a step 1/L along −gᵢ decreases the loss of every example of a sample by at least ‖gᵢ‖²/2L.
    fn quarter_of_smallest_step(&mut self, seed: u64) -> f64 {
        let objective = self.problem.objective;
        let mut random = Random::stream(seed, u64::MAX);
        let mut l = 1e-6;
        for _ in 0..Svrg::SAMPLE.min(objective.examples()) {
            let batch = [random.below(objective.examples()) as u32];
            objective.touched(&batch, &mut self.touched);
            let loss = objective.batch_grad(&batch, &self.theta, &self.touched, &mut self.gradient);
            self.evaluations += 1;
            let squared = dot(&self.gradient, &self.gradient);
            let weights = || self.touched.weights();
            let before: Vec<f64> = weights().map(|i| self.theta[i]).collect();
            while squared > 0.0 && l < f64::MAX {
                weights().zip(&self.gradient).for_each(|(i, g)| self.theta[i] -= g / l);
                let trial =
                    objective.batch_grad(&batch, &self.theta, &self.touched, &mut self.gradient_before);
                self.evaluations += 1;
                weights().zip(&before).for_each(|(i, x)| self.theta[i] = *x);
                if trial <= loss - squared / (2.0 * l) {
                    break;
                }
                l *= 2.0;
            }
        }
        let prior = &self.problem.prior;
        let lambda = prior.precision(0).max(prior.precision(self.theta.len() - 1));
        0.25 / (l + lambda / objective.examples() as f64)
    }

    fn step(&mut self, seed: u64) -> Result<()> {
        let objective = self.problem.objective;
        let examples = objective.examples();
        let batch = [Random::stream(seed, self.steps).below(examples) as u32];
        objective.touched(&batch, &mut self.touched);
        self.lazy.refresh(&mut self.theta, &self.touched);
        let loss = objective.batch_grad(&batch, &self.theta, &self.touched, &mut self.gradient);
        objective.batch_grad(&batch, &self.snapshot, &self.touched, &mut self.gradient_before);
        self.steps += 1;
        self.since += 1;
        self.evaluations += 2;
        if !loss.is_finite() {
            return Err(self.diverged());
        }
        self.lazy.step(self.eta, self.eta / examples as f64, &mut self.theta);
        let weights = self.touched.weights();
        for (i, (new, old)) in weights.zip(self.gradient.iter().zip(&self.gradient_before)) {
            self.lazy.add(i, -self.eta * (new - old));
        }
        Ok(())
    }

    /// The norm of the gradient at the snapshot.
    fn gradient_norm(&self) -> f64 {
        let mut gradient = self.lazy.drift.clone();
        self.problem.prior.add(&self.snapshot, &mut gradient);
        norm(&gradient)
    }

    fn diverged(&self) -> crate::Error {
        diverged(self.evaluations as f64 / self.problem.objective.examples() as f64, &self.problem.prior)
    }
}
