//! Adam.

use super::adagrad::soft_threshold;
use super::online::{self, Rule, Schedule, Step, require, stretch};
use super::{Minimum, Optimizer, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::simd;
use std::ops::Range;

/// Gradient steps along a running mean of gradients, divided by the root of a running mean of their squares.
///
/// Idea: step t takes m ← β₁m + (1 − β₁)g, s ← β₂s + (1 − β₂)g², θ ← θ − η₀·m̂/(√ŝ + ε) with m̂ = m/(1 − β₁ᵗ) and
/// ŝ = s/(1 − β₂ᵗ).
///
/// Lazy updates: in k steps without a touch a weight coasts: m and s shrink by β₁ and β₂ a step, so that the missed steps sum up to
/// r + r² + … + rᵏ times the one at the last touch, r = β₁/√β₂ (with ε and the corrections of that time). When it is touched
/// again, it makes that move, m ← β₁ᵏm, s ← β₂ᵏs; and its gradient takes the prior's pull of all steps since the last touch at
/// once: g ← g + share·(θ − mean)/σ², with their share of the penalty. L1 by soft thresholding with the gain η₀/(√ŝ + ε), after
/// each step and after each coasting, with the share of the steps in it.
///
/// Needs: gradients of batches. Parameters: η₀ = 0.01, β₁ = 0.9, β₂ = 0.999, ε = 1e-8, b = 8. Reference: Kingma and Ba 2015,
/// algorithm 1.
#[derive(Clone, Debug)]
pub struct Adam {
    /// η₀.
    pub eta0: f64,
    /// β₁, the memory of gradients.
    pub beta1: f64,
    /// β₂, the memory of their squares.
    pub beta2: f64,
    /// ε, what keeps divisors from 0.
    pub epsilon: f64,
    /// Batches and passes.
    pub schedule: Schedule,
}

impl Default for Adam {
    fn default() -> Self {
        let schedule = Schedule { passes: Adam::PASSES, ..Schedule::default() };
        Adam { eta0: 0.01, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, schedule }
    }
}

impl Adam {
    /// Passes where none are asked for.
    pub const PASSES: usize = 20;
}

impl Optimizer for Adam {
    fn needs(&self) -> &'static [Ability] {
        &[]
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        let &Adam { eta0, beta1, beta2, epsilon, .. } = self;
        require(eta0 > 0.0 && eta0.is_finite(), "eta0", eta0, "a positive number")?;
        require((0.0..1.0).contains(&beta1), "beta1", beta1, "at least 0 and below 1")?;
        require((0.0..1.0).contains(&beta2), "beta2", beta2, "at least 0 and below 1")?;
        require(beta1 * beta1 < beta2, "beta2", beta2, "above the square of beta1")?;
        require(epsilon > 0.0 && epsilon.is_finite(), "epsilon", epsilon, "a positive number")?;
        let mut rule = AdamRule {
            problem,
            method: self,
            m: Vec::new(),
            s: Vec::new(),
            age: Vec::new(),
            packed: Default::default(),
        };
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

struct AdamRule<'a> {
    problem: &'a Problem<'a>,
    method: &'a Adam,
    /// Running means of gradients and of their squares.
    m: Vec<f64>,
    s: Vec<f64>,
    /// The steps that each weight has seen; weights of a row have seen the same.
    age: Vec<u32>,
    /// Touched rows of θ, m, s and the gradient, side by side.
    packed: [Vec<f64>; 4],
}

impl AdamRule<'_> {
    /// η₀/(1 − β₁ᵗ), 1/(1 − β₂ᵗ) and ε.
    fn rates(&self, t: u32) -> [f64; 3] {
        let &Adam { eta0, beta1, beta2, epsilon, .. } = self.method;
        let correction = |beta: f64| 1.0 - beta.powi(t as i32);
        [eta0 / correction(beta1), 1.0 / correction(beta2), epsilon]
    }

    /// Lets the weights in `range`, all of one age, coast until `step`.
    fn coast(&mut self, theta: &mut [f64], range: Range<usize>, step: &Step) {
        let age = self.age[range.start];
        if age == step.done {
            return;
        }
        self.age[range.clone()].fill(step.done);
        let &Adam { eta0, beta1, beta2, .. } = self.method;
        let [eta, growth, epsilon] = self.rates(age.max(1));
        let power = |x: f64| x.powi((step.done - age) as i32);
        let (keep_m, keep_s, r) = (power(beta1), power(beta2), beta1 / beta2.sqrt());
        let moves = eta * r * (1.0 - power(r)) / (1.0 - r);
        let shrink = eta0 * step.since(age) * self.problem.l1;
        let moments = self.m[range.clone()].iter_mut().zip(&mut self.s[range.clone()]);
        for (x, (m, s)) in theta[range].iter_mut().zip(moments) {
            let divisor = (*s * growth).sqrt() + epsilon;
            *x -= moves * *m / divisor;
            if shrink > 0.0 {
                *x = soft_threshold(*x, shrink / divisor);
            }
            *m *= keep_m;
            *s *= keep_s;
        }
    }
}

impl Rule for AdamRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        for range in step.touched.ranges() {
            self.coast(theta, range.clone(), step);
        }
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        let (touched, prior) = (step.touched, &self.problem.prior);
        let [mut x, mut m, mut s, mut g] = std::mem::take(&mut self.packed);
        touched.gather(theta, &mut x);
        touched.gather(&self.m, &mut m);
        touched.gather(&self.s, &mut s);
        g.clear();
        g.extend_from_slice(gradient);
        for ((range, &last), mine) in touched.ranges().iter().zip(touched.last()).zip(touched.places()) {
            prior.pull(step.due(last), range.start, &x[mine.clone()], &mut g[mine]);
            self.age[range.clone()].fill(step.done + 1);
        }
        let betas = [self.method.beta1, self.method.beta2];
        simd::adam(betas, self.rates(step.done + 1), [&mut x, &mut m, &mut s], &mut g);
        if self.problem.l1 > 0.0 {
            // The threshold's gain has no correction of m.
            let correction = 1.0 - self.method.beta1.powi(step.done as i32 + 1);
            let shrink = step.share() * self.problem.l1 * correction;
            x.iter_mut().zip(&g).for_each(|(x, eta)| *x = soft_threshold(*x, eta * shrink));
        }
        touched.scatter(&x, theta);
        touched.scatter(&m, &mut self.m);
        touched.scatter(&s, &mut self.s);
        self.packed = [x, m, s, g];
    }

    fn settle(&mut self, theta: &mut [f64], step: &Step) {
        let mut start = 0;
        while start < theta.len() {
            let range = stretch(&self.age, start, usize::MAX);
            start = range.end;
            self.coast(theta, range, step);
        }
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("m".into(), self.m.clone());
        state.vectors.insert("s".into(), self.s.clone());
        state.vectors.insert("age".into(), self.age.iter().map(|&age| age.into()).collect());
    }

    fn restore(&mut self, state: &mut State) {
        let dim = state.theta.len();
        for (name, vector) in [("m", &mut self.m), ("s", &mut self.s)] {
            *vector = state.take(name);
            vector.resize(dim, 0.0);
        }
        self.age = state.take("age").iter().map(|&age| age as u32).collect();
        self.age.resize(dim, 0);
    }
}
