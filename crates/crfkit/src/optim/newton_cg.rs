//! Truncated Newton: the Newton step computed by conjugate gradients.

use super::checks::refuse_l1;
use super::descent::{self, Descent, Iterate, StoppingRule};
use super::line_search::NEWTON_C2;
use super::restored::Restored;
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;

/// Newton's method without the matrix.
///
/// Idea: H d = −g is solved by conjugate gradients on exact products H·v, only as accurately as is useful: until the
/// residual is below min(½, √‖g‖)·‖g‖, so that convergence is superlinear. A direction without positive curvature
/// ends the solver at once. Then follows a step that satisfies the strong Wolfe conditions; the full step is tried
/// first.
///
/// Parameters: `products` = 100. Needs: Hessian-vector products (each counts as a pass and costs two to three), no L1
/// penalty; keeps a few vectors. References: Dembo and Steihaug 1983; Nocedal and Wright, Numerical Optimization,
/// algorithm 7.1.
#[derive(Clone, Debug)]
pub struct NewtonCg {
    /// The largest number of products H·v in one iteration.
    pub products: usize,
    /// When to stop.
    pub until: StoppingRule,
}

impl Default for NewtonCg {
    fn default() -> Self {
        NewtonCg { products: 100, until: StoppingRule::default() }
    }
}

impl Optimizer for NewtonCg {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("newton-cg", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut run = NewtonCgRun { products: self.products, hv: Vec::new(), scratch: Vec::new() };
        let state = Restored::new(state, problem.objective.dim())?;
        descent::run(problem, &self.until, &mut run, state, watch)
    }
}

struct NewtonCgRun {
    products: usize,
    /// H·v, and the gradient computed along with it, which is not used; reused memory.
    hv: Vec<f64>,
    scratch: Vec<f64>,
}

impl NewtonCgRun {
    /// hv ← H·v at the present point, including the prior.
    fn multiply(&mut self, at: &mut Descent, v: &[f64]) {
        let NewtonCgRun { hv, scratch, .. } = self;
        hv.clear();
        hv.resize(v.len(), 0.0);
        scratch.resize(v.len(), 0.0);
        at.problem.objective.hess_vec(&at.now.theta, v, scratch, hv);
        at.problem.by_stretches(hv, |range, hv| {
            range.zip(hv).for_each(|(i, hv)| *hv += at.problem.prior.precision(i) * v[i]);
            0.0
        });
        at.passes += 1.0;
    }

    /// d ≈ −H⁻¹ g.
    fn direction(&mut self, at: &mut Descent) -> Vec<f64> {
        // Residual r = −g − H d, conjugate direction p.
        let problem = at.problem;
        let mut r: Vec<f64> = at.now.gradient.iter().map(|g| -g).collect();
        let (mut d, mut p) = (vec![0.0; r.len()], r.clone());
        let mut rr = problem.dot(&r, &r);
        let enough = rr * rr.sqrt().min(0.25); // (min(½, √‖g‖)·‖g‖)²
        for k in 0..self.products.max(1) {
            self.multiply(at, &p);
            let curvature = problem.dot(&p, &self.hv);
            if curvature.is_nan() || curvature <= 0.0 {
                // The quadratic has no minimum in this direction: return the solution so far, or steepest descent.
                return if k == 0 { r } else { d };
            }
            let a = rr / curvature;
            problem.add(a, &p, &mut d, None);
            problem.add(-a, &self.hv, &mut r, None);
            let before = std::mem::replace(&mut rr, problem.dot(&r, &r));
            if rr <= enough {
                break;
            }
            problem.by_stretches(&mut p, |range, p| {
                p.iter_mut().zip(&r[range]).for_each(|(p, r)| *p = r + rr / before * *p);
                0.0
            });
        }
        d
    }
}

impl Iterate for NewtonCgRun {
    fn iterate(&mut self, at: &mut Descent) -> Result<bool> {
        let direction = self.direction(at);
        match at.problem.norm(&direction).is_finite() {
            true => Ok(at.search(&direction, 1.0, NEWTON_C2).is_some()),
            false => Err(at.diverged()),
        }
    }
}
