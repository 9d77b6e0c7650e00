//! AdaGrad.

use super::online::{self, Rule, Schedule};
use super::{Minimum, Optimizer, Problem, State, Touched, Watch};
use crate::Result;
use std::ops::Range;

/// Gradient steps with a gain of its own for each weight, η₀/√Σg².
///
/// Idea: rare weights move far, frequent ones little: what sparse features need. The prior is applied when a weight is
/// touched, weighted by what it has missed: g ← g + (n/m)·(θ − mean)/σ² with n the examples since its last touch, m all of
/// them. L1 by soft thresholding with the same share and the weight's gain.
///
/// Needs: gradients of batches. Parameters: η₀ = 0.3, b = 8. Reference: Duchi, Hazan and Singer 2011.
#[derive(Clone, Debug)]
pub struct AdaGrad {
    /// η₀.
    pub eta0: f64,
    /// Batches and passes.
    pub schedule: Schedule,
}

impl AdaGrad {
    /// η₀ where none is given.
    pub const ETA0: f64 = 0.3;
    /// Passes where none are asked for.
    pub const PASSES: usize = 20;
}

impl Optimizer for AdaGrad {
    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        let mut rule = AdaGradRule::new(self, problem);
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

pub(super) struct AdaGradRule<'a> {
    problem: &'a Problem<'a>,
    eta0: f64,
    /// m.
    examples: f64,
    /// Σ g² of each weight.
    pub squares: Vec<f64>,
    /// Examples seen at the last touch of each row.
    last: Vec<f64>,
}

impl<'a> AdaGradRule<'a> {
    pub fn new(method: &AdaGrad, problem: &'a Problem<'a>) -> Self {
        let examples = problem.objective.examples().max(1) as f64;
        AdaGradRule { problem, eta0: method.eta0, examples, squares: Vec::new(), last: Vec::new() }
    }
}

impl Rule for AdaGradRule<'_> {
    fn refresh(&mut self, _theta: &mut [f64], _touched: &Touched) {}

    fn update(&mut self, theta: &mut [f64], touched: &Touched, gradient: &[f64], seen: Range<u64>) {
        let now = seen.end as f64;
        let prior = &self.problem.prior;
        let (mut gradient, l1) = (gradient, self.problem.l1);
        for (range, &row) in touched.ranges().iter().zip(touched.rows()) {
            let (mine, rest) = gradient.split_at(range.len());
            gradient = rest;
            // All weights of a row are touched together, so the row has one time of its last touch.
            if self.last.len() <= row as usize {
                self.last.resize(row as usize + 1, 0.0);
            }
            let share = (now - self.last[row as usize]) / self.examples;
            self.last[row as usize] = now;
            let pull = share * prior.precision(range.start);
            let squares = &mut self.squares[range.clone()];
            let mean = |k: usize| prior.mean(range.start + k);
            for (k, ((x, g), square)) in theta[range.clone()].iter_mut().zip(mine).zip(squares).enumerate() {
                let g = g + pull * (*x - mean(k));
                *square += g * g;
                // The smallest positive number keeps 0/0 away where a gradient is exactly 0.
                let eta = self.eta0 / (*square + f64::MIN_POSITIVE).sqrt();
                *x -= eta * g;
                if l1 > 0.0 {
                    *x = soft_threshold(*x, eta * share * l1);
                }
            }
        }
    }

    fn settle(&mut self, _theta: &mut [f64]) {}

    fn save(&self, state: &mut State) {
        state.vectors.insert("squares".into(), self.squares.clone());
        state.vectors.insert("last".into(), self.last.clone());
    }

    fn restore(&mut self, state: &mut State) {
        self.squares = state.take("squares");
        self.squares.resize(state.theta.len(), 0.0);
        self.last = state.take("last");
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
