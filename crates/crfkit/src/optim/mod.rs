//! Optimisers. They work on vectors and numbers, and know nothing about graphs or labels.

mod adagrad;
mod adam;
mod arow;
mod auto;
mod average;
mod bfgs;
#[doc(hidden)]
mod blocks;
mod calibrate;
mod cg;
mod checks;
mod cholesky;
mod curvature;
mod dense_updates;
mod descent;
mod differences;
mod dual;
mod finite;
mod fours;
mod free;
mod guard;
mod lazy;
mod lbfgs;
mod line_search;
mod newton;
mod newton_cg;
mod numbers;
mod online;
mod passive_aggressive;
mod prior;
mod problem;
mod psa;
mod psa_series;
mod remembered;
pub(crate) mod restored;
mod sag;
mod saga;
mod saga_damping;
mod saga_rounds;
mod saga_weights;
mod sampler;
mod scaling;
mod sdca;
mod sgd;
mod smd;
mod stream;
mod svrg;
mod touched;
mod triple_jump;
mod vectors;

pub use crate::ability::Ability;
pub use adagrad::AdaGrad;
pub use adam::Adam;
pub use arow::Arow;
pub use auto::{Auto, AutoChoice};
pub use bfgs::Bfgs;
#[doc(hidden)]
pub use blocks::Blocks;
pub(crate) use blocks::{BlockWorker, ExampleVisit, Single};
pub use cg::Cg;
pub use descent::StoppingRule;
pub use differences::Differences;
pub use dual::DualProblem;
pub use lbfgs::Lbfgs;
pub use newton::Newton;
#[doc(hidden)]
pub use newton::hessian;
pub use newton_cg::NewtonCg;
pub use numbers::Compute;
#[doc(hidden)]
pub use numbers::Distance;
pub use online::{BatchGradient, Schedule, Updates};
pub use passive_aggressive::{PassiveAggressive, Slack};
pub use prior::{Mean, Prior};
pub use problem::Problem;
pub use psa::{Adaptation, Psa};
pub use sag::Sag;
pub use saga::Saga;
#[doc(hidden)]
pub use scaling::wright_omega;
pub use scaling::{Gis, Inner, Pgis};
pub use sdca::Sdca;
pub use sgd::{Gain, Sgd};
pub use smd::Smd;
pub(crate) use stream::PsaStream;
pub use svrg::Svrg;
#[doc(hidden)]
pub use touched::Row;
pub use touched::Touched;
pub use triple_jump::{Jump, TripleJump};
#[doc(hidden)]
pub use triple_jump::{jump_by_component, jump_by_length};

use crate::Result;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A sum of losses over examples, as a function of θ. It does not include the penalty, which each optimiser treats in
/// its own way.
pub trait Objective: Send + Sync {
    /// Number of weights.
    fn dim(&self) -> usize;

    /// Number of examples.
    fn examples(&self) -> usize;

    /// What it provides besides the gradient of a batch.
    fn provides(&self) -> &'static [Ability];

    /// Returns the sum of all losses at θ and adds its gradient to `gradient`.
    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64;

    /// Like [`Objective::value_grad`]. Also returns the number of examples whose loss is below 0, which is
    /// impossible: approximate inference has failed there.
    fn value_grad_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        (self.value_grad(theta, gradient), 0)
    }

    /// Like [`Objective::value_grad_checked`], without the gradient.
    fn value_checked(&self, theta: &[f64]) -> (f64, usize) {
        self.value_grad_checked(theta, &mut vec![0.0; theta.len()])
    }

    /// Like [`Objective::value_grad`]. Also adds H·v to `hess_vec`, the exact derivative of the gradient in direction
    /// v.
    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64;

    /// Prefetches the data of the next batch's examples.
    #[doc(hidden)]
    fn expect(&self, _next: &[u32]) {}

    /// Finds the weights that the gradient of a batch can touch.
    fn touched(&self, batch: &[u32], touched: &mut Touched);

    /// Returns the sum of the losses of a batch at θ. Overwrites `gradient` with its gradient, the rows of `touched`
    /// one after another; `touched` must be this batch's. The cost depends on what the batch touches, never on the
    /// dimension.
    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64;

    /// Like [`Objective::batch_grad`]. Also overwrites `hess_vec` with H·v in the same layout.
    fn batch_hess_vec(
        &self,
        batch: &[u32],
        point: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64;

    /// Feature counts, if [`Ability::Counts`] is provided and the features allow it. Ef is then gradient + Ẽf.
    fn counts(&self) -> Option<FeatureCounts> {
        None
    }

    /// Calls `task` for every stretch of `size` numbers of `out`, with the index of the stretch, on all its threads.
    #[doc(hidden)]
    fn in_stretches(&self, out: &mut [f64], size: usize, task: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        out.chunks_mut(size).enumerate().for_each(|(k, out)| task(k, out));
    }

    /// Runs the tasks 0 to `tasks` − 1 on all its threads.
    #[doc(hidden)]
    fn in_parallel(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..tasks).for_each(task);
    }

    /// Runs `work` on one of its threads. Until it ends, the other threads do not sleep but wait for its tasks.
    #[doc(hidden)]
    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    /// The examples in blocks of at most `variables` variables or one example. If the data are few, blocks are smaller,
    /// so that there are about `least` of them. An objective with [`Ability::Marginals`] has blocks. The seed decides
    /// which examples share a block.
    #[doc(hidden)]
    fn blocks(&self, _variables: usize, _least: usize, _seed: u64) -> Option<Box<dyn Blocks + '_>> {
        None
    }

    /// From now on, passes over all examples end early once the flag is set: their values are NaN, and their gradients
    /// are not complete. `None` lets every pass run to its end again. An objective may ignore it.
    fn stop_when(&self, _flag: Option<Arc<AtomicBool>>) {}

    /// Whether the flag of [`Objective::stop_when`] is set.
    fn stopped(&self) -> bool {
        false
    }

    /// Chooses the numbers in which passes compute from now on. An objective may ignore it.
    #[doc(hidden)]
    fn compute(&self, _with: Compute) {}

    /// Says how far the optimum is; an objective that has [`Compute::Auto`] chooses its numbers by that. Returns whether they have
    /// changed, so that values and gradients differ by rounding from those before.
    #[doc(hidden)]
    fn approach(&self, _distance: Distance) -> bool {
        false
    }

    /// The dual side, if there is one: the marginals of single examples. An objective with [`Ability::Dual`] has one.
    fn dual(&self) -> Option<Box<dyn DualProblem + '_>> {
        None
    }
}

/// What iterative scaling needs to know about the features.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureCounts {
    /// Ẽf: how often the features of each weight occur in the training data.
    pub observed: Vec<f64>,
    /// S: a bound on the number of features of one example, whatever its labels.
    pub total: f64,
}

/// Everything that a run needs to resume. A checkpoint stores it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The weights, in the form that the method uses.
    pub theta: Vec<f64>,
    /// Other vectors of the method.
    pub vectors: BTreeMap<String, Vec<f64>>,
    /// Other numbers of the method.
    pub numbers: BTreeMap<String, f64>,
}

impl State {
    /// A fresh state that starts at these weights.
    pub fn start(theta: Vec<f64>) -> Self {
        State { theta, ..State::default() }
    }
}

/// What a method reports at a step boundary.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Evaluations of the whole training set so far; a fraction for online methods.
    pub passes: f64,
    /// The objective value, if the step knows it; for online methods an estimate from the batches of the pass.
    pub objective: Option<f64>,
    /// The norm of the (pseudo-)gradient, if the step knows it.
    pub gradient_norm: Option<f64>,
    /// The duality gap, if the step knows it: a bound on how far the value is above the optimum.
    pub gap: Option<f64>,
    /// The weights in plain form; only at the end of a pass.
    pub theta: Option<&'a [f64]>,
}

/// Whether a run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Continue.
    Continue,
    /// Stop here and keep the present weights.
    Stop,
}

/// Observes a run. `state` builds the whole state on demand; building it changes nothing.
pub trait Watch {
    /// Called at every step boundary.
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control>;

    /// Called when a method is about to begin, with the number of bytes that it will store for single examples.
    fn stores(&mut self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Called when a method has ended above its start, so that training returns to the first weights.
    fn restarts(&mut self, _passes: f64, _next: Restart) -> Result<()> {
        Ok(())
    }

    /// Called when a step has produced values that are not finite at this many weights, and the method has reset what
    /// it remembers about them.
    fn reset(&mut self, _passes: f64, _weights: usize) -> Result<()> {
        Ok(())
    }
}

/// What happens after a method has ended above its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Restart {
    /// The same method again from the first weights, with this smaller gain.
    Gain(f64),
    /// The method of the final phase, from the first weights.
    Finish,
}

impl std::fmt::Display for Restart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Restart::Gain(eta0) => write!(f, "again with the smaller gain {eta0:.2e}"),
            Restart::Finish => f.write_str("with the method of the final phase"),
        }
    }
}

/// Why a method ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The gradient is practically zero.
    Gradient,
    /// The objective hardly changes any more.
    Change,
    /// The duality gap is below its tolerance: almost nothing is left to gain.
    Gap,
    /// No step along the direction improves the objective: the limit of floating-point precision.
    LineSearch,
    /// All better points have losses below 0: approximate inference fails there, and its values are meaningless.
    Inference,
    /// The requested number of passes is done.
    Passes,
    /// The observer stopped the run.
    Watch,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stop::Gradient => "gradient norm below its tolerance",
            Stop::Change => "objective changes less than its tolerance",
            Stop::Gap => "duality gap below its tolerance",
            Stop::LineSearch => "no further decrease along the search direction",
            Stop::Inference => "approximate inference fails beyond this point: losses below 0",
            Stop::Passes => "number of passes reached",
            Stop::Watch => "stopped from outside",
        })
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The weights.
    pub theta: Vec<f64>,
    /// Why the run ended.
    pub stop: Stop,
    /// The number of evaluations of the whole training set.
    pub passes: f64,
}

/// An optimiser. Its public fields are its parameters.
pub trait Optimizer {
    /// What it needs from an objective besides the gradient of a batch.
    fn needs(&self) -> &'static [Ability];

    /// Returns an error for parameters out of range and for penalties that the method cannot treat: everything that
    /// is wrong regardless of the objective.
    fn check(&self, prior: &Prior, l1: f64) -> Result<()>;

    /// The same method with a smaller gain, and that gain, if it has one: what to try when steps are too long.
    #[doc(hidden)]
    fn gentler(&self) -> Option<(f64, Box<dyn Optimizer>)> {
        None
    }

    /// Runs from `state`: fresh weights, or the state of an interrupted run. A state is read from a file: lengths and ranges of all that
    /// is in it are checked, and one that cannot be used is an error.
    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum>;
}
