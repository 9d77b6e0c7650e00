//! Newton's method.

use super::checks::refuse_l1;
use super::descent::{self, Descent, Iterate, StoppingRule};
use super::line_search::NEWTON_C2;
use super::restored::Restored;
use super::{Minimum, Optimizer, Prior, Problem, State, Watch, cholesky};
use crate::ability::Ability;
use crate::{Error, Result};

/// Steps to the minimum of the local quadratic approximation of the objective.
///
/// Idea: the direction is −H⁻¹ g with the explicit Hessian (smd-crf-2006 eq. 10; [`hessian`]), solved by Cholesky
/// factorisation. If H is not positive definite, τI is added to make it so. Then follows a step that satisfies the
/// strong Wolfe conditions; the full step is tried first.
///
/// Parameters: none of its own. Needs: Hessian-vector products, one for each weight in each iteration (each counts as
/// a pass), so at most 2,000 weights; no L1 penalty. It is for small problems, and tests compare
/// other methods with it. Reference: Nocedal and Wright, Numerical Optimization, section 3.4.
#[derive(Clone, Debug, Default)]
pub struct Newton {
    /// When to stop.
    pub until: StoppingRule,
}

impl Newton {
    /// A problem with more weights is rejected with an error.
    pub(crate) const MAX_WEIGHTS: usize = 2000;
}

impl Optimizer for Newton {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("newton", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        refuse_many(problem, "newton", "newton-cg, which needs no matrix, or lbfgs")?;
        let state = Restored::new(state, problem.objective.dim())?;
        descent::run(problem, &self.until, &mut NewtonRun, state, watch)
    }
}

/// Returns an error if the problem is too large for an explicit Hessian.
pub(super) fn refuse_many(problem: &Problem, method: &str, instead: &str) -> Result<()> {
    let (n, most) = (problem.objective.dim(), Newton::MAX_WEIGHTS);
    match n > most {
        true => Err(Error::Setting(format!(
            "{method} stores the Hessian of at most {most} weights, but there are {n}; use {instead}"
        ))),
        false => Ok(()),
    }
}

struct NewtonRun;

impl Iterate for NewtonRun {
    fn iterate(&mut self, at: &mut Descent) -> Result<bool> {
        let mut direction: Vec<f64> = at.now.gradient.iter().map(|g| -g).collect();
        at.passes += direction.len() as f64;
        match cholesky::solve(&hessian(at.problem, &at.now.theta), &mut direction) {
            Some(_) => Ok(at.search(&direction, 1.0, NEWTON_C2).is_some()),
            None => Err(at.diverged()),
        }
    }
}

/// The Hessian of losses and Gaussian prior at θ, `[n][n]`: H = diag(1/σ²) + Σ Cov φ (smd-crf-2006 eq. 10). Its
/// columns are exact products with unit vectors. This takes n passes and n² numbers, so it is for small n.
pub fn hessian(problem: &Problem, theta: &[f64]) -> Vec<f64> {
    let n = theta.len();
    let (mut matrix, mut unit, mut gradient) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
    for (j, column) in matrix.chunks_exact_mut(n.max(1)).enumerate() {
        unit[j] = 1.0;
        // H is symmetric: its columns are its rows. The gradient, which is computed as well, is not needed.
        problem.objective.hess_vec(theta, &unit, &mut gradient, column);
        unit[j] = 0.0;
        column[j] += problem.prior.precision(j);
    }
    matrix
}
