//! Triple jumps: extrapolated iterative scaling.

use super::checks::{refuse_l1, require};
use super::descent::{self, Descent, Iterate, Point, StoppingRule};
use super::newton::{hessian, refuse_many};
use super::restored::Restored;
use super::scaling::{Inner, Scaling};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch, cholesky};
use crate::Result;
use crate::ability::Ability;
use crate::math::vector::axpy;

/// How the Jacobian J of the map is approximated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// By diag(γ), the ratio of two steps for each weight (ctjpgis-psa-2007 eq. 2). The method is then CTJPGIS.
    Componentwise,
    /// By γ·I, the ratio of the lengths of two steps. The method is then TJPGIS.
    Global,
    /// No approximation: the full J from the explicit Hessian, which gives Aitken's step (eq. 1). For small problems,
    /// as a reference in tests.
    Aitken,
}

/// Iterative scaling that jumps ahead.
///
/// Idea: let θ₁ = M(θ) and θ₂ = M(θ₁), where M is the map of [`Pgis`](super::Pgis). The fixed point is near θ₁ + (I −
/// J)⁻¹(θ₂ − θ₁) (ctjpgis-psa-2007 eq. 1), with J estimated from the two steps (eq. 2). γ is bounded by `gamma_max`:
/// with γ near 1 the jump is far too long, and without a bound every jump fails. A jump is kept if it is better than
/// θ₁; otherwise it is dropped and θ₂ is taken, so the objective never rises. An iteration costs two evaluations, or
/// three if the jump is dropped.
///
/// Parameters: `jump` = `Componentwise`, `gamma_max` = 0.999, `inner` = `Paper`. Needs: feature counts, no negative
/// values, no L1 penalty; for `Aitken` also Hessian-vector products. References: ctjpgis-psa-2007 sections 1 and 2;
/// Salakhutdinov and Roweis 2003.
#[derive(Clone, Debug)]
pub struct TripleJump {
    /// How the Jacobian is approximated.
    pub jump: Jump,
    /// The bound on γ; `Aitken` does not use it.
    pub gamma_max: f64,
    /// How the equation of a weight is solved.
    pub inner: Inner,
    /// When to stop.
    pub until: StoppingRule,
}

impl Default for TripleJump {
    fn default() -> Self {
        TripleJump {
            jump: Jump::Componentwise,
            gamma_max: 0.999,
            inner: Inner::default(),
            until: StoppingRule::default(),
        }
    }
}

impl TripleJump {
    fn name(&self) -> &'static str {
        if self.jump == Jump::Global { "tjpgis" } else { "ctjpgis" }
    }
}

impl Optimizer for TripleJump {
    fn needs(&self) -> &'static [Ability] {
        match self.jump {
            Jump::Aitken => &[Ability::Smooth, Ability::Counts, Ability::HessVec],
            _ => &[Ability::Smooth, Ability::Counts],
        }
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        require(self.gamma_max >= 0.0, "`gamma_max`", self.gamma_max, "0 or more; 0.999 works well")?;
        refuse_l1(self.name(), l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        if self.jump == Jump::Aitken {
            refuse_many(problem, "Aitken's step", "the componentwise jump")?;
        }
        let scaling = Scaling::new(problem, self.inner, self.name())?;
        let mut run = JumpRun { method: self, scaling, second: Vec::new() };
        let state = Restored::new(state, problem.objective.dim())?;
        descent::run(problem, &self.until, &mut run, state, watch)
    }
}

struct JumpRun<'a> {
    method: &'a TripleJump,
    scaling: Scaling<'a>,
    /// θ₂; reused memory.
    second: Vec<f64>,
}

impl Iterate for JumpRun<'_> {
    fn iterate(&mut self, at: &mut Descent) -> Result<bool> {
        let JumpRun { method, scaling, second } = self;
        if !scaling.advance(at)? {
            return Ok(false);
        }
        // The run is now at θ₁; the other point is θ.
        scaling.map(method.inner, &at.now, second)?;
        let (theta, first) = (&mut at.other.theta, &at.now.theta);
        match method.jump {
            Jump::Componentwise => jump_by_component(method.gamma_max, theta, first, second),
            Jump::Global => jump_by_length(method.gamma_max, theta, first, second),
            Jump::Aitken => {
                at.passes += second.len() as f64;
                match aitken(scaling, &at.now) {
                    Some(step) => {
                        theta.clone_from(first);
                        axpy(1.0, &step, theta);
                    }
                    None => return Err(at.diverged()),
                }
            }
        }
        if at.other.theta.iter().all(|x| x.is_finite()) {
            at.evaluate_other();
            if at.other.value < at.now.value {
                at.accept();
                return Ok(true);
            }
        }
        // The jump is dropped. Even if θ₂ is no better, θ₁ was.
        scaling.advance(at)?;
        Ok(true)
    }
}

/// θ ← θ₁ + (θ₂ − θ₁)/(1 − γ) with γ = (θ₂ − θ₁)/(θ₁ − θ) for each weight, at most `gamma_max` (ctjpgis-psa-2007 eq.
/// 1 and 2). A weight that did not move has γ = 0. If θ₁ = M(θ) and θ₂ = M(θ₁) for a linear map with a diagonal
/// Jacobian, this is its fixed point.
pub fn jump_by_component(gamma_max: f64, theta: &mut [f64], first: &[f64], second: &[f64]) {
    for ((x, &first), &second) in theta.iter_mut().zip(first).zip(second) {
        let gamma = if first == *x { 0.0 } else { (second - first) / (first - *x) };
        *x = first + (second - first) / (1.0 - gamma.min(gamma_max));
    }
}

/// Like [`jump_by_component`], with one γ = ‖θ₂ − θ₁‖/‖θ₁ − θ‖ for all weights.
pub fn jump_by_length(gamma_max: f64, theta: &mut [f64], first: &[f64], second: &[f64]) {
    let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let moved = squared(first, theta);
    let gamma = if moved == 0.0 { 0.0 } else { (squared(second, first) / moved).sqrt() };
    let ahead = 1.0 / (1.0 - gamma.min(gamma_max));
    for ((x, &first), &second) in theta.iter_mut().zip(first).zip(second) {
        *x = first + ahead * (second - first);
    }
}

/// Values of Sδ below this are replaced by it, so that exp(−Sδ) does not overflow.
const STEEPEST: f64 = -500.0;

/// Aitken's step (I − J)⁻¹ δ at a point, with δ = M(θ) − θ and the exact J = M′(θ). `None` if the Hessian is not finite.
///
/// With H = C + diag(p), p = 1/σ², the derivative of eq. 3 gives row i of I − J as Hᵢ/(S(Eᵢ + pullᵢ)), and that of
/// the exact equation gives (e^{Sδᵢ}·Cᵢ + pᵢ eᵢ)/(S Eᵢ e^{Sδᵢ} + pᵢ). Multiplied by their denominators (and
/// e^{−Sδᵢ}), both are rows of a symmetric matrix, C + diag(a) with aᵢ = pᵢ or pᵢ e^{−Sδᵢ}. If all rows are of the
/// first kind, the step is H⁻¹ S(E + pull)∘δ ≈ −H⁻¹ g: Newton's step.
fn aitken(scaling: &Scaling, point: &Point) -> Option<Vec<f64>> {
    let n = point.theta.len();
    let mut matrix = hessian(scaling.problem, &point.theta);
    let mut step = vec![0.0; n];
    for (i, (&x, &g)) in point.theta.iter().zip(&point.gradient).enumerate() {
        let equation = scaling.equation(i, x, g);
        let (delta, p, s) = (equation.step(scaling.inner), equation.precision, equation.total);
        let denominator = if scaling.inner == Inner::Paper && equation.has_paper_step() {
            s * (equation.expected + equation.pull)
        } else {
            let a = p * (-(s * delta).max(STEEPEST)).exp();
            matrix[i * n + i] += a - p;
            s * equation.expected + a
        };
        step[i] = denominator * delta;
    }
    cholesky::solve(&matrix, &mut step).map(|_| step)
}
