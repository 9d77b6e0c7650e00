//! AdaGrad.

use super::checks::require_gain;
use super::fours::{FOUR, four, in_fours, put_four};
use super::online::{self, Rule, Schedule, Step};
use super::restored::{Restored, not_negative};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use fearless_simd::prelude::*;

/// Gradient steps with a separate gain for each weight, η₀/√Σg².
///
/// Idea: rarely touched weights move far, frequently touched ones little, which suits sparse features. The prior is
/// applied when a weight is touched, weighted by the number of steps since the last touch, k: g ← g + k·(b/m)·(θ −
/// mean)/σ². L1 is applied by soft thresholding with the same weight and gain.
///
/// Needs: gradients of batches. Parameters: η₀ = 0.3, b = 8. Reference: Duchi, Hazan and Singer 2011.
#[derive(Clone, Debug)]
pub struct AdaGrad {
    /// η₀.
    pub eta0: f64,
    /// Batches and passes.
    pub schedule: Schedule,
}

impl Default for AdaGrad {
    fn default() -> Self {
        let schedule = Schedule { passes: AdaGrad::PASSES, ..Schedule::default() };
        AdaGrad { eta0: AdaGrad::ETA0, schedule }
    }
}

impl AdaGrad {
    /// The default η₀.
    pub const ETA0: f64 = 0.3;
    /// The default number of passes.
    pub const PASSES: usize = 20;
}

/// The factor of the gain where steps were too long.
const GENTLER: f64 = 0.1;

impl Optimizer for AdaGrad {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn check(&self, _prior: &Prior, _l1: f64) -> Result<()> {
        require_gain(self.eta0)
    }

    fn gentler(&self) -> Option<(f64, Box<dyn Optimizer>)> {
        let eta0 = GENTLER * self.eta0;
        Some((eta0, Box::new(AdaGrad { eta0, ..self.clone() })))
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut rule = AdaGradRule::new(self, problem);
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

pub(super) struct AdaGradRule<'a> {
    problem: &'a Problem<'a>,
    eta0: f64,
    /// Σ g² of each weight.
    pub squares: Vec<f64>,
}

impl<'a> AdaGradRule<'a> {
    pub(super) fn new(method: &AdaGrad, problem: &'a Problem<'a>) -> Self {
        AdaGradRule { problem, eta0: method.eta0, squares: Vec::new() }
    }
}

impl Rule for AdaGradRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        step.touched.expect_with(|row| theta[row.start] + self.squares[row.start]);
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let (touched, prior) = (step.touched, &self.problem.prior);
        let (eta0, l1, squares) = (self.eta0, self.problem.l1, &mut self.squares);
        let precisions = prior.precisions();
        dispatch!(simd::level(), simd => for (row, mine, last) in touched.filled() {
            let due = step.due(last);
            let pull = due * precisions[prior.kind(row.start)];
            for (part, mine) in in_fours(row).zip(in_fours(mine)) {
                let (theta, squares) = (&mut theta[part.clone()], &mut squares[part.clone()]);
                let x = four(simd, theta);
                let g = four(simd, &gradient[mine]) + (x - prior.four_means(simd, part)) * pull;
                let square = four(simd, squares) + g * g;
                put_four(square, squares);
                // The smallest positive number avoids 0/0 where a gradient is exactly 0.
                let eta = eta0 / (square + f64::MIN_POSITIVE).sqrt();
                put_four(x - eta * g, theta);
                if l1 > 0.0 {
                    let gains: [f64; FOUR] = eta.into();
                    theta.iter_mut().zip(gains).for_each(|(x, eta)| *x = soft_threshold(*x, eta * due * l1));
                }
            }
        });
    }

    fn settle(&mut self, _theta: &mut [f64], _step: &Step) {}

    fn save(&self, state: &mut State) {
        state.vectors.insert("squares".into(), self.squares.clone());
    }

    fn restore(&mut self, _steps: u32, state: &mut Restored) -> Result<()> {
        self.squares = state.vector("squares", state.theta().len(), 0.0, not_negative)?;
        Ok(())
    }
}

/// The proximal step of t·|x|.
#[inline]
pub(super) fn soft_threshold(x: f64, t: f64) -> f64 {
    if x > t {
        x - t
    } else if x < -t {
        x + t
    } else {
        0.0
    }
}
