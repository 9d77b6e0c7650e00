//! AdaGrad.

use super::online::{self, Rule, Schedule};
use super::{Minimum, Optimizer, Problem, State, Touched, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::simd;
use std::ops::Range;

/// Gradient steps with a gain of its own for each weight, η₀/√Σg².
///
/// Idea: rare weights move far, frequent ones little: what sparse features need. The prior is applied when a weight is
/// touched, weighted by the steps since: g ← g + k·(b/m)·(θ − mean)/σ² with k the steps since the last touch. L1 by
/// soft thresholding with the same weight and gain.
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
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        let mut rule = AdaGradRule::new(self, problem);
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

pub(super) struct AdaGradRule<'a> {
    problem: &'a Problem<'a>,
    eta0: f64,
    /// Examples in a batch, and in all.
    batch: u64,
    examples: u64,
    /// Σ g² of each weight.
    pub squares: Vec<f64>,
    packed: [Vec<f64>; 3],
}

impl<'a> AdaGradRule<'a> {
    pub fn new(method: &AdaGrad, problem: &'a Problem<'a>) -> Self {
        let examples = problem.objective.examples().max(1);
        AdaGradRule {
            problem,
            eta0: method.eta0,
            batch: method.schedule.batch.clamp(1, examples) as u64,
            examples: examples as u64,
            squares: Vec::new(),
            packed: Default::default(),
        }
    }
}

/// Examples seen after so many batches: the last one of a pass may be small.
#[derive(Clone, Copy)]
struct Clock {
    batch: u64,
    /// By how much the last batch of a pass is smaller, and 1 / batches in a pass.
    missing: u64,
    passes: f64,
}

impl Clock {
    fn new(batch: u64, examples: u64) -> Self {
        let batches = examples.div_ceil(batch);
        Clock { batch, missing: batches * batch - examples, passes: 1.0 / batches as f64 }
    }

    #[inline]
    fn examples(self, batches: u32) -> u64 {
        // Half a batch more keeps rounding away from whole passes.
        let passes = ((f64::from(batches) + 0.5) * self.passes) as u64;
        u64::from(batches) * self.batch - passes * self.missing
    }
}

impl Rule for AdaGradRule<'_> {
    fn refresh(&mut self, _theta: &mut [f64], _touched: &Touched) {}

    fn update(&mut self, theta: &mut [f64], touched: &Touched, gradient: &[f64], seen: Range<u64>) {
        let prior = &self.problem.prior;
        // What each row has missed of the penalty, as a share of the whole.
        let (clock, share) = (Clock::new(self.batch, self.examples), 1.0 / self.examples as f64);
        let missed = |last: u32| (seen.end - clock.examples(last)) as f64 * share;
        // Weights, squares and gradients (with the prior's pull) side by side, so that the arithmetic runs by vectors.
        let [mut x, mut square, mut g] = std::mem::take(&mut self.packed);
        touched.expect_rows(&self.squares, 0);
        g.clear();
        g.extend_from_slice(gradient);
        x.resize(g.len(), 0.0);
        square.resize(g.len(), 0.0);
        let mut start = 0;
        for (range, &last) in touched.ranges().iter().zip(touched.last()) {
            let mine = start..start + range.len();
            start = mine.end;
            let (weights, x) = (&theta[range.clone()], &mut x[mine.clone()]);
            prior.pull(missed(last), range.start, weights, &mut g[mine.clone()]);
            for ((x, square), (weight, old)) in
                x.iter_mut().zip(&mut square[mine]).zip(weights.iter().zip(&self.squares[range.clone()]))
            {
                (*x, *square) = (*weight, *old);
            }
        }
        simd::adagrad(self.eta0, &mut x, &mut square, &mut g);
        let mut start = 0;
        for (range, &last) in touched.ranges().iter().zip(touched.last()) {
            let mine = start..start + range.len();
            start = mine.end;
            if self.problem.l1 > 0.0 {
                let shrink = missed(last) * self.problem.l1;
                for (x, eta) in x[mine.clone()].iter_mut().zip(&g[mine.clone()]) {
                    *x = soft_threshold(*x, eta * shrink);
                }
            }
            let weights = theta[range.clone()].iter_mut().zip(&mut self.squares[range.clone()]);
            for ((weight, old), (x, square)) in weights.zip(x[mine.clone()].iter().zip(&square[mine])) {
                (*weight, *old) = (*x, *square);
            }
        }
        self.packed = [x, square, g];
    }

    fn settle(&mut self, _theta: &mut [f64]) {}

    fn save(&self, state: &mut State) {
        state.vectors.insert("squares".into(), self.squares.clone());
    }

    fn restore(&mut self, state: &mut State) {
        self.squares = state.take("squares");
        self.squares.resize(state.theta.len(), 0.0);
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
