//! How it is minimised. Knows vectors and numbers, nothing of graphs or labels.

mod adagrad;
mod adam;
mod auto;
mod average;
mod bfgs;
mod calibrate;
mod cg;
mod checks;
mod cholesky;
mod dense_updates;
mod descent;
mod differences;
mod dual;
mod finite;
mod fours;
mod lazy;
mod lbfgs;
mod line_search;
mod newton;
mod newton_cg;
mod online;
mod prior;
mod psa;
mod psa_series;
mod sag;
mod saga;
mod sampler;
mod scaling;
mod sdca;
mod sgd;
mod smd;
mod stream;
mod svrg;
mod touched;
mod triple_jump;

pub use adagrad::AdaGrad;
pub use adam::Adam;
pub use auto::{Auto, Choice};
pub use bfgs::Bfgs;
pub use cg::Cg;
pub use descent::Until;
pub use differences::Differences;
pub use dual::{Dual, Entropy};
pub use lbfgs::Lbfgs;
pub use newton::{Newton, hessian};
pub use newton_cg::NewtonCg;
pub use online::{BatchGradient, Schedule, Updates};
pub use prior::{Mean, Prior};
pub use psa::Psa;
pub use sag::Sag;
pub use saga::Saga;
pub use scaling::{Gis, Inner, Pgis, wright_omega};
pub use sdca::Sdca;
pub use sgd::{Gain, Sgd};
pub use smd::Smd;
pub use stream::PsaStream;
pub use svrg::Svrg;
pub use touched::{Row, Touched};
pub use triple_jump::{Jump, TripleJump, jump_by_component, jump_by_length};

use crate::Result;
use crate::ability::Ability;
use std::collections::BTreeMap;

/// A sum of losses over examples, as a function of θ. The penalty is not part of it: each optimiser treats that its own way.
pub trait Objective: Sync {
    /// Number of weights.
    fn dim(&self) -> usize;

    /// Number of examples.
    fn examples(&self) -> usize;

    /// What it gives besides the gradient of a batch.
    fn gives(&self) -> &'static [Ability];

    /// Returns the sum of all losses at θ and adds its gradient to `gradient`.
    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64;

    /// The same, and the number of examples whose loss comes out below 0, where no loss can be: approximate inference has failed there.
    fn value_grad_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        (self.value_grad(theta, gradient), 0)
    }

    /// [`Objective::value_grad`], and adds H·v to `hess_vec`: the exact derivative of the gradient in direction v.
    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64;

    /// Reads ahead what it knows of the examples of the next batch.
    fn expect(&self, _next: &[u32]) {}

    /// Finds the weights that the gradient of a batch can touch.
    fn touched(&self, batch: &[u32], touched: &mut Touched);

    /// Returns the sum of the losses of a batch at θ and overwrites `gradient` with its gradient, the rows of `touched` side by
    /// side; `touched` must be this batch's. Costs what the batch touches, never the dimension.
    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64;

    /// The same, and overwrites `hess_vec` with H·v in the same layout.
    fn batch_hess_vec(
        &self,
        batch: &[u32],
        point: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64;

    /// Counts of features, where [`Ability::Counts`] is given and the features allow it. Ef is then gradient + Ẽf.
    fn counts(&self) -> Option<Counts> {
        None
    }

    /// Calls `task` for every stretch of `size` numbers of `out`, with its number, on all threads that it has.
    fn in_stretches(&self, out: &mut [f64], size: usize, task: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        out.chunks_mut(size).enumerate().for_each(|(k, out)| task(k, out));
    }

    /// Its other side, if it has one: the marginals of single examples. Whoever gives [`Ability::Dual`] has it.
    fn dual(&self, _entropy: Entropy) -> Option<Box<dyn Dual + '_>> {
        None
    }
}

/// What iterative scaling knows of the features.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Ẽf: how often the features of each weight occur in the training data.
    pub observed: Vec<f64>,
    /// S: a bound on the number of features of one example, whatever its labels.
    pub total: f64,
}

/// Σ losses + Σ (θᵢ − mᵢ)²/2σᵢ² + l1·Σ|θᵢ|.
pub struct Problem<'a> {
    /// The losses.
    pub objective: &'a dyn Objective,
    /// The Gaussian prior.
    pub prior: Prior,
    /// Weight of the L1 penalty; 0 for none.
    pub l1: f64,
}

impl Problem<'_> {
    /// Losses and Gaussian prior at θ, without the L1 part; overwrites `gradient`.
    pub fn smooth(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.smooth_checked(theta, gradient).0
    }

    /// The same, and the number of impossible losses ([`Objective::value_grad_checked`]).
    pub fn smooth_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        gradient.fill(0.0);
        let (loss, impossible) = self.objective.value_grad_checked(theta, gradient);
        (loss + self.prior.add(theta, gradient), impossible)
    }

    /// Both penalties at θ.
    pub fn penalty(&self, theta: &[f64]) -> f64 {
        self.prior.value(theta) + self.l1_penalty(theta)
    }

    /// The L1 penalty at θ.
    pub fn l1_penalty(&self, theta: &[f64]) -> f64 {
        match self.l1 {
            l1 if l1 > 0.0 => l1 * theta.iter().map(|x| x.abs()).sum::<f64>(),
            _ => 0.0,
        }
    }
}

/// All that a run needs to go on where it stopped: what a checkpoint holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The weights, as the method keeps them.
    pub theta: Vec<f64>,
    /// Other vectors of the method.
    pub vectors: BTreeMap<String, Vec<f64>>,
    /// Other numbers of the method.
    pub numbers: BTreeMap<String, f64>,
}

impl State {
    /// Start at these weights.
    pub fn start(theta: Vec<f64>) -> Self {
        State { theta, ..State::default() }
    }

    /// A number that must be there when a run goes on.
    fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }

    /// Takes a vector out; empty if it is not there.
    fn take(&mut self, name: &str) -> Vec<f64> {
        self.vectors.remove(name).unwrap_or_default()
    }
}

/// What a method reports at a step boundary.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Evaluations of the whole training set so far, fractions for online methods.
    pub passes: f64,
    /// Value of the problem, if the step knows it: for online methods an estimate from the batches of the pass.
    pub objective: Option<f64>,
    /// Norm of its (pseudo-)gradient, if the step knows it.
    pub gradient_norm: Option<f64>,
    /// The duality gap, a bound on how far the value is above the optimum, if the step knows it.
    pub gap: Option<f64>,
    /// The weights in plain form; only at the end of a pass.
    pub theta: Option<&'a [f64]>,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End here, with the weights as they are.
    Stop,
}

/// Looks on while a method runs. `state` builds the whole state on demand; building it changes nothing.
pub trait Watch {
    /// Called at every step boundary.
    fn step(&mut self, progress: &Progress, state: &dyn Fn() -> State) -> Result<Control>;

    /// The method is about to begin and will remember so many bytes of single examples.
    fn stores(&mut self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// A step has left the finite numbers at so many weights, and the method has set what it remembers of them anew.
    fn reset(&mut self, _passes: f64, _weights: usize) -> Result<()> {
        Ok(())
    }
}

/// Why a method ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The gradient is as good as zero.
    Gradient,
    /// The objective hardly moves any more.
    Change,
    /// The duality gap is below its tolerance: nearly nothing is left to gain.
    Gap,
    /// No step along the direction improves the objective: the limit of the arithmetic.
    LineSearch,
    /// All better points have losses below 0: approximate inference fails there, and its values mean nothing.
    Inference,
    /// The wished number of passes is done.
    Passes,
    /// The observer asked for it.
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

/// A result of a run.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The weights.
    pub theta: Vec<f64>,
    /// Why it ended.
    pub stop: Stop,
    /// Evaluations of the whole training set.
    pub passes: f64,
}

/// A method. Its public fields are its parameters.
pub trait Optimizer {
    /// What it needs of an objective besides the gradient of a batch.
    fn needs(&self) -> &'static [Ability];

    /// Refuses parameters out of range, and penalties that it cannot treat: all that is wrong whatever the objective.
    fn check(&self, prior: &Prior, l1: f64) -> Result<()>;

    /// Runs from `state`: fresh weights, or the state of an interrupted run.
    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum>;
}
