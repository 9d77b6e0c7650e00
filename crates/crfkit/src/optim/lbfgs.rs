//! Limited-memory BFGS, with or without an L1 penalty.

use super::descent::{self, Descent, Iterate, StoppingRule, curved};
use super::free::Free;
use super::line_search::{NEWTON_C2, backtrack};
use super::restored::{Restored, finite, positive};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::vector::dot;
use std::collections::VecDeque;

/// Quasi-Newton steps from the last few changes of weights and gradient.
///
/// Idea: the direction −H⁻¹ g comes from the two-loop recursion over the last `memory` pairs s = Δθ, y = Δg, started
/// from γ·I. The step satisfies the strong Wolfe conditions. With L1 > 0 the pseudo-gradient takes the place of the gradient, and
/// the step stays inside one orthant, as in OWL-QN; but only weights that are not 0 have a quasi-Newton direction, and the others go along the
/// gradient (projected scaled sub-gradients).
///
/// Parameters: `memory` = 5, `gradient_tolerance` = 1e-5, `tolerance` = 1e-6, `period` = 10, no limit on passes.
/// Needs: exact values and gradients of the whole set. References: Nocedal 1980; Andrew and Gao 2007; Schmidt 2010.
#[derive(Clone, Debug)]
pub struct Lbfgs {
    /// The number of pairs that are kept (smd-crf-2006 section 4 uses 5).
    pub memory: usize,
    /// Stop when ‖g‖ ≤ `gradient_tolerance` · max(1, ‖θ‖).
    pub gradient_tolerance: f64,
    /// Stop when the objective has changed by less than this share over the last `period` iterations; see [`StoppingRule::tolerance`].
    pub tolerance: f64,
    /// The number of iterations in `tolerance`.
    pub period: usize,
    /// Also stop, as CRF++ does, when each of three successive iterations has changed the objective by less than this
    /// share; 0 disables it.
    pub change: f64,
    /// The largest number of evaluations, including those of earlier methods in the same run; 0 for no limit.
    pub passes: f64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Lbfgs { memory: 5, gradient_tolerance: 1e-5, tolerance: 1e-6, period: 10, change: 0.0, passes: 0.0 }
    }
}

/// A pair s = Δθ, y = Δg with 1/sᵀy.
pub(super) struct Pair {
    pub(super) s: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) rho: f64,
}

impl Optimizer for Lbfgs {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn check(&self, _prior: &Prior, _l1: f64) -> Result<()> {
        Ok(())
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.minimize_scaled(problem, state, None, watch)
    }
}

impl Lbfgs {
    /// Like [`Optimizer::minimize`]. With the curvature of each weight, the recursion starts from γ/√curvature instead of γ·I: the root is a
    /// compromise between weights that bend much by themselves and those that bend only together. A resumed run has it in its state.
    pub(super) fn minimize_scaled(
        &self,
        problem: &Problem,
        state: State,
        curvature: Option<Vec<f64>>,
        watch: &mut dyn Watch,
    ) -> Result<Minimum> {
        let until = StoppingRule {
            gradient_tolerance: self.gradient_tolerance,
            tolerance: self.tolerance,
            period: self.period,
            change: self.change,
            passes: self.passes,
        };
        let mut state = Restored::new(state, problem.objective.dim())?;
        let mut run = LbfgsRun::restore(self.memory, &mut state)?;
        if let Some(curvature) = curvature {
            run.scales = curvature.into_iter().map(|x| x.sqrt().recip()).collect();
        }
        descent::run(problem, &until, &mut run, state, watch)
    }
}

struct LbfgsRun {
    memory: usize,
    /// The factors of the weights in the recursion's start; empty if all are 1.
    scales: Vec<f64>,
    history: VecDeque<Pair>,
    /// The pseudo-gradient and the weights that are not 0 (with L1 only), and the search direction; reused memory.
    pseudo: Vec<f64>,
    free: Free,
    direction: Vec<f64>,
}

impl LbfgsRun {
    fn restore(memory: usize, state: &mut Restored) -> Result<Self> {
        let (mut history, dim) = (VecDeque::new(), state.theta().len());
        for k in 0..state.count("pairs", memory.max(1) as u64)? {
            let s = state.vector(&format!("s.{k}"), dim, 0.0, finite)?;
            let y = state.vector(&format!("y.{k}"), dim, 0.0, finite)?;
            history.push_back(Pair { rho: state.number(&format!("rho.{k}"), 0.0, positive)?, s, y });
        }
        let scales = state.vector_or_none("scales", dim, positive)?;
        Ok(LbfgsRun {
            memory,
            scales,
            history,
            pseudo: Vec::new(),
            free: Free::default(),
            direction: Vec::new(),
        })
    }

    /// direction ← −H⁻¹ g by the two-loop recursion. Each pass over the direction subtracts one vector and multiplies with the next.
    fn update_direction(&mut self, at: &Descent) {
        let problem = at.problem;
        let (g, q) = (&at.now.gradient, &mut self.direction);
        if problem.l1 > 0.0 {
            return self.free.direction(problem, &self.history, &self.scales, &at.now.theta, &self.pseudo, q);
        }
        problem.fill(q, g.len(), |i| -g[i]);
        let scales = &self.scales;
        let scale = |first: usize, q: &mut [f64], gamma: f64| match scales.is_empty() {
            true => q.iter_mut().for_each(|q| *q *= gamma),
            false => q.iter_mut().zip(&scales[first..]).for_each(|(q, scale)| *q *= gamma * scale),
        };
        let Some(newest) = self.history.back() else {
            problem.by_stretches(q, |range, q| {
                scale(range.start, q, 1.0);
                0.0
            });
            return;
        };
        let mut a = vec![0.0; self.history.len()];
        let mut product = problem.dot(&newest.s, q);
        for k in (0..a.len()).rev() {
            let Pair { rho, y, .. } = &self.history[k];
            a[k] = rho * product;
            let next = k.checked_sub(1).map(|next| &self.history[next].s[..]);
            product = problem.add(-a[k], y, q, next);
        }
        let y = &newest.y;
        let size = match scales.is_empty() {
            true => problem.dot(y, y),
            false => problem.sum(y.len(), |i| y[i] * scales[i] * y[i]),
        };
        let gamma = 1.0 / (newest.rho * size);
        product = problem.by_stretches(q, |range, q| {
            scale(range.start, q, gamma);
            dot(&self.history[0].y[range], q)
        });
        for k in 0..a.len() {
            let Pair { rho, s, .. } = &self.history[k];
            let next = self.history.get(k + 1).map(|next| &next.y[..]);
            product = problem.add(a[k] - rho * product, s, q, next);
        }
    }

    /// The step length to try first.
    fn first_step(&self, at: &Descent) -> f64 {
        if self.history.is_empty() { 1.0 / at.problem.norm(&self.direction) } else { 1.0 }
    }

    /// With L1: one step along the direction inside an orthant. Returns false if no step decreases the objective.
    fn orthant_step(&mut self, at: &mut Descent) -> bool {
        let problem = at.problem;
        let pseudo = &self.pseudo;
        let slope = problem.dot(&self.direction, pseudo);
        if slope >= 0.0 {
            return false;
        }
        let direction = &self.direction;
        let step = backtrack(self.first_step(at), |t| {
            let now = &at.now.theta;
            let decrease = problem.by_stretches(&mut at.other.theta, |range, out| {
                let mut decrease = 0.0;
                for (i, out) in range.zip(out) {
                    let (old, g) = (now[i], pseudo[i]);
                    let orthant = if old != 0.0 { old } else { -g };
                    let x = old + t * direction[i];
                    let x = if x * orthant > 0.0 { x } else { 0.0 };
                    *out = x;
                    decrease += g * (x - old);
                }
                decrease
            });
            at.evaluate_other();
            at.other.value <= at.now.value + 1e-4 * decrease
        });
        let better = step.is_some() && at.other.value < at.now.value;
        if better {
            at.accept();
        }
        better
    }

    /// Stores the last change, in the memory of the pair that it replaces.
    fn remember(&mut self, at: &Descent) {
        let (mut s, mut y) = match self.history.len() >= self.memory {
            true => self.history.pop_front().map(|p| (p.s, p.y)).unwrap_or_default(),
            false => (Vec::new(), Vec::new()),
        };
        at.last_step(&mut s, &mut y);
        let sy = at.problem.dot(&s, &y);
        if curved(sy, at.problem.dot(&y, &y)) {
            self.history.push_back(Pair { rho: 1.0 / sy, s, y });
        }
    }
}

impl Iterate for LbfgsRun {
    fn iterate(&mut self, at: &mut Descent) -> Result<bool> {
        self.update_direction(at);
        let better = match at.problem.l1 > 0.0 {
            true => self.orthant_step(at),
            false => at.search(&self.direction, self.first_step(at), NEWTON_C2).is_some(),
        };
        if better {
            self.remember(at);
        }
        Ok(better)
    }

    fn forget(&mut self) -> bool {
        let some = !self.history.is_empty();
        self.history.clear();
        some
    }

    /// With L1: pseudo ← the subgradient of steepest descent. Returns its norm.
    fn gradient_norm(&mut self, at: &Descent) -> f64 {
        let l1 = at.problem.l1;
        if l1 > 0.0 {
            let Descent { now, problem, .. } = at;
            problem.fill(&mut self.pseudo, now.theta.len(), |i| match (now.gradient[i], now.theta[i]) {
                (g, x) if x > 0.0 => g + l1,
                (g, x) if x < 0.0 => g - l1,
                (g, _) if g < -l1 => g + l1,
                (g, _) if g > l1 => g - l1,
                _ => 0.0,
            });
            return problem.norm(&self.pseudo);
        }
        at.problem.norm(&at.now.gradient)
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("scales".into(), self.scales.clone());
        state.numbers.insert("pairs".into(), self.history.len() as f64);
        for (k, pair) in self.history.iter().enumerate() {
            state.vectors.insert(format!("s.{k}"), pair.s.clone());
            state.vectors.insert(format!("y.{k}"), pair.y.clone());
            state.numbers.insert(format!("rho.{k}"), pair.rho);
        }
    }
}
