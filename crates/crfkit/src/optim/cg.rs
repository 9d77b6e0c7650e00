//! Nonlinear conjugate gradients.

use super::checks::refuse_l1;
use super::descent::{self, Descent, Iterate, StoppingRule};
use super::line_search::CONJUGATE_C2;
use super::restored::{Restored, finite};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;
use crate::math::vector::dot;

/// Each direction combines the steepest descent direction with the previous direction.
///
/// Idea: d ← −g + β d with Polak and Ribière's β = gᵀ(g − g')/g'ᵀg', where g' is the previous gradient. It restarts
/// from −g if β is negative, if two successive gradients are far from orthogonal (|gᵀg'| ≥ ν gᵀg, Powell's test), or
/// if d is not a descent direction. Steps satisfy the strong Wolfe conditions with a small second constant, 0.1, so
/// the searches are nearly exact.
///
/// Parameters: `nu` = 0.2. Needs: exact values and gradients of the whole set, no L1 penalty; keeps one vector.
/// References: Polak and Ribière 1969; Powell 1977; Nocedal and Wright, Numerical Optimization, section 5.2.
#[derive(Clone, Debug)]
pub struct Cg {
    /// ν: restart if |gᵀg'| ≥ ν gᵀg.
    pub nu: f64,
    /// When to stop.
    pub until: StoppingRule,
}

impl Default for Cg {
    fn default() -> Self {
        Cg { nu: 0.2, until: StoppingRule::default() }
    }
}

impl Optimizer for Cg {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("cg", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let dim = problem.objective.dim();
        let mut state = Restored::new(state, dim)?;
        let direction = state.vector_or_none("direction", dim, finite)?;
        let mut run = CgRun { nu: self.nu, direction, gain: state.number("gain", 0.0, finite)? };
        descent::run(problem, &self.until, &mut run, state, watch)
    }
}

struct CgRun {
    nu: f64,
    /// The next direction; empty for −g.
    direction: Vec<f64>,
    /// Step × slope of the last step, which the next step is expected to gain too; 0 before the first step.
    gain: f64,
}

impl Iterate for CgRun {
    fn iterate(&mut self, at: &mut Descent) -> Result<bool> {
        let problem = at.problem;
        let steepest = || at.now.gradient.iter().map(|g| -g).collect();
        let mut direction: Vec<f64> =
            if self.direction.is_empty() { steepest() } else { self.direction.clone() };
        let slope = problem.dot(&direction, &at.now.gradient);
        let first =
            if self.gain < 0.0 && slope < 0.0 { self.gain / slope } else { 1.0 / problem.norm(&direction) };
        let Some(step) = at.search(&direction, first, CONJUGATE_C2) else { return Ok(false) };
        self.gain = step * slope;
        // The next direction.
        let (g, last) = (&at.now.gradient, &at.other.gradient);
        let (gg, gl) = (problem.dot(g, g), problem.dot(g, last));
        let beta = (gg - gl) / problem.dot(last, last);
        let slope = problem.by_stretches(&mut direction, |range, direction| {
            let g = &g[range];
            direction.iter_mut().zip(g).for_each(|(d, g)| *d = beta * *d - g);
            dot(direction, g)
        });
        if beta <= 0.0 || gl.abs() >= self.nu * gg || slope >= 0.0 {
            direction.clear();
        }
        self.direction = direction;
        Ok(true)
    }

    fn forget(&mut self) -> bool {
        let some = !self.direction.is_empty() || self.gain != 0.0;
        self.direction.clear();
        self.gain = 0.0;
        some
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("direction".into(), self.direction.clone());
        state.numbers.insert("gain".into(), self.gain);
    }
}
