//! Dense BFGS.

use super::checks::refuse_l1;
use super::descent::{self, Descent, Iterate, StoppingRule, curved};
use super::line_search::NEWTON_C2;
use super::restored::{Restored, finite};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::ability::Ability;
use crate::math::vector::{axpy, dot, norm};
use crate::{Error, Result};

/// Quasi-Newton steps with the full matrix H⁻¹, built from all changes of weights and gradient so far.
///
/// Idea: the direction is −H⁻¹ g. After a step s = Δθ, y = Δg that satisfies the strong Wolfe conditions, with ρ =
/// 1/sᵀy, H⁻¹ ← (I − ρ s yᵀ) H⁻¹ (I − ρ y sᵀ) + ρ s sᵀ (the inverse form in the slides of smd-crf-2006: nothing is
/// factorised or solved). It starts from the identity, which the first step scales to γ·I, γ = sᵀy/yᵀy.
///
/// Parameters: `memory_limit` = 1 GiB. Needs: exact values and gradients of the whole set, no L1 penalty, and n²
/// numbers for n weights. References: Broyden, Fletcher, Goldfarb and Shanno 1970; Nocedal and Wright, Numerical
/// Optimization, section 6.1.
#[derive(Clone, Debug)]
pub struct Bfgs {
    /// The largest number of bytes for H⁻¹, which takes 8n²; a larger problem is rejected with an error.
    pub memory_limit: u64,
    /// When to stop.
    pub until: StoppingRule,
}

impl Default for Bfgs {
    fn default() -> Self {
        Bfgs { memory_limit: 1 << 30, until: StoppingRule::default() }
    }
}

impl Optimizer for Bfgs {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("bfgs", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let n = problem.objective.dim() as u64;
        if n.saturating_mul(n).saturating_mul(8) > self.memory_limit {
            return Err(Error::Setting(format!(
                "bfgs keeps a matrix of {n} × {n} numbers, which is more than its limit of {} bytes; use lbfgs",
                self.memory_limit
            )));
        }
        let dim = problem.objective.dim();
        let mut state = Restored::new(state, dim)?;
        let mut run =
            BfgsRun { inverse: state.vector_or_none("inverse", dim * dim, finite)?, ..BfgsRun::default() };
        descent::run(problem, &self.until, &mut run, state, watch)
    }
}

#[derive(Default)]
struct BfgsRun {
    /// H⁻¹ `[n][n]`; empty while it is the identity.
    inverse: Vec<f64>,
    /// Reused memory: direction, s, y, H⁻¹y.
    direction: Vec<f64>,
    s: Vec<f64>,
    y: Vec<f64>,
    hy: Vec<f64>,
}

impl BfgsRun {
    /// H⁻¹ ← H⁻¹ + (ρ + ρ² yᵀH⁻¹y) s sᵀ − ρ (H⁻¹y sᵀ + s yᵀH⁻¹): the update above, multiplied out.
    fn update(&mut self) {
        let BfgsRun { inverse, s, y, hy, .. } = self;
        let (n, sy) = (s.len(), dot(s, y));
        if !curved(sy, dot(y, y)) {
            return;
        }
        if inverse.is_empty() {
            inverse.resize(n * n, 0.0);
            inverse.iter_mut().step_by(n + 1).for_each(|h| *h = sy / dot(y, y));
        }
        multiply(inverse, y, hy);
        let rho = 1.0 / sy;
        let both = rho + rho * rho * dot(y, hy);
        for (i, row) in inverse.chunks_exact_mut(n).enumerate() {
            axpy(both * s[i] - rho * hy[i], s, row);
            axpy(-rho * s[i], hy, row);
        }
    }
}

impl Iterate for BfgsRun {
    fn iterate(&mut self, at: &mut Descent) -> Result<bool> {
        let fresh = self.inverse.is_empty();
        match fresh {
            true => self.direction.clone_from(&at.now.gradient),
            false => multiply(&self.inverse, &at.now.gradient, &mut self.direction),
        }
        self.direction.iter_mut().for_each(|d| *d = -*d);
        let first = if fresh { 1.0 / norm(&self.direction) } else { 1.0 };
        let better = at.search(&self.direction, first, NEWTON_C2).is_some();
        if better {
            at.last_step(&mut self.s, &mut self.y);
            self.update();
        }
        Ok(better)
    }

    fn forget(&mut self) -> bool {
        !std::mem::take(&mut self.inverse).is_empty()
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("inverse".into(), self.inverse.clone());
    }
}

/// out ← M·x for a square M.
fn multiply(m: &[f64], x: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend(m.chunks_exact(x.len()).map(|row| dot(row, x)));
}
