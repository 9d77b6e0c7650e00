//! Iterative scaling: GIS and PGIS.

use super::checks::refuse_l1;
use super::descent::{self, Descent, Iterate, Point, StoppingRule};
use super::restored::Restored;
use super::{FeatureCounts, Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::ability::Ability;
use crate::{Error, Result};

/// Generalised iterative scaling.
///
/// Idea: every weight moves at once to where its own feature would be right if the others did not matter, θᵢ ← θᵢ +
/// (1/S) ln(Ẽfᵢ/Efᵢ), with observed and expected counts Ẽf and Ef, and S the largest number of features of any
/// labelling of any example. Because S bounds them all, the objective never rises. No slack feature is needed: S only
/// has to be a bound.
///
/// This is [`Pgis`] without a prior; a finite σ is rejected with an error. Needs: feature counts, no negative values,
/// no L1 penalty, and no possible feature that never occurs (its weight would go to −∞). It is slow, because the step
/// is 1/S. References: Darroch and Ratcliff 1972; Lafferty, McCallum and Pereira 2001.
#[derive(Clone, Debug, Default)]
pub struct Gis {
    /// When to stop.
    pub until: StoppingRule,
}

/// How the equation of one weight is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inner {
    /// By ctjpgis-psa-2007 eq. 3, which takes the prior's pull from the old weight. The exact solution is used where
    /// eq. 3 is undefined (no feature was observed, or the denominator is not positive), and in an iteration in which
    /// eq. 3 would make the objective rise.
    #[default]
    Paper,
    /// Exactly, everywhere: the objective never rises.
    Exact,
}

/// Penalised generalised iterative scaling.
///
/// Idea: like [`Gis`] with a Gaussian prior, θᵢ ← θᵢ + (1/S) ln(Ẽfᵢ/(Efᵢ + (θᵢ − mᵢ)/σ²)) (ctjpgis-psa-2007 eq. 3),
/// or the exact solution δ of Ẽfᵢ = Efᵢ·exp(Sδ) + (θᵢ + δ − mᵢ)/σ² by Wright's ω function. The fixed points of both
/// are the zeros of the gradient. S is a bound over all labellings; the paper's S, over those of the training data,
/// is not a bound.
///
/// Parameters: `inner` = `Paper`. Needs: feature counts, no negative values, no L1 penalty. References:
/// ctjpgis-psa-2007 section 2; Chen and Rosenfeld 1999.
#[derive(Clone, Debug, Default)]
pub struct Pgis {
    /// How the equation of a weight is solved.
    pub inner: Inner,
    /// When to stop.
    pub until: StoppingRule,
}

impl Optimizer for Gis {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::Counts]
    }

    fn check(&self, prior: &Prior, l1: f64) -> Result<()> {
        if prior.sigma.is_finite() || prior.sigma_pairs.is_finite() {
            return Err(Error::Setting("gis does not support a prior: use pgis, or `sigma` inf".into()));
        }
        refuse_l1("gis", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut scaling = Scaling::new(problem, Inner::Exact, "gis")?;
        let state = Restored::new(state, problem.objective.dim())?;
        descent::run(problem, &self.until, &mut scaling, state, watch)
    }
}

impl Optimizer for Pgis {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::Counts]
    }

    fn check(&self, _prior: &Prior, l1: f64) -> Result<()> {
        refuse_l1("pgis", l1)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut scaling = Scaling::new(problem, self.inner, "pgis")?;
        let state = Restored::new(state, problem.objective.dim())?;
        descent::run(problem, &self.until, &mut scaling, state, watch)
    }
}

/// The number of weights that a thread maps at once: their logarithms cost as much as a pass over the data.
const STRETCH: usize = 4096;

/// The map θ ↦ M(θ) whose fixed points are the zeros of the gradient.
pub(super) struct Scaling<'a> {
    pub problem: &'a Problem<'a>,
    /// Ẽf.
    observed: Vec<f64>,
    /// S.
    total: f64,
    pub inner: Inner,
}

impl<'a> Scaling<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, inner: Inner, method: &str) -> Result<Self> {
        let Some(FeatureCounts { observed, total }) = problem.objective.counts() else {
            return Err(Error::Setting(format!(
                "{method} needs an exact likelihood of features whose values are not negative; use lbfgs"
            )));
        };
        // If no feature ever occurs, any positive number is a bound.
        Ok(Scaling { problem, observed, total: if total > 0.0 { total } else { 1.0 }, inner })
    }

    /// The equation of weight i at θᵢ, where gᵢ is the derivative of the whole objective.
    pub(super) fn equation(&self, i: usize, theta: f64, g: f64) -> Equation {
        let (observed, precision) = (self.observed[i], self.problem.prior.precision(i));
        let pull = if precision > 0.0 { precision * (theta - self.problem.prior.mean(i)) } else { 0.0 };
        // The gradient is Ef − Ẽf + pull. Rounding may remove all of a small Ef; a larger one makes the step safer.
        let expected = (g + observed - pull).max(f64::EPSILON * observed);
        Equation { observed, expected, pull, precision, total: self.total }
    }

    /// out ← M(θ) at an evaluated point.
    pub(super) fn map(&self, inner: Inner, point: &Point, out: &mut Vec<f64>) -> Result<()> {
        out.resize(point.theta.len(), 0.0);
        self.problem.objective.in_stretches(out, STRETCH, &|k, out| {
            for (i, out) in (k * STRETCH..).zip(out) {
                *out = point.theta[i] + self.equation(i, point.theta[i], point.gradient[i]).step(inner);
            }
        });
        match out.contains(&f64::NEG_INFINITY) {
            true => Err(Error::Setting(
                "without a prior, the weight of a feature that never occurs in the training data goes to −∞; \
                 use pgis with a finite `sigma`, or `features` observed"
                    .into(),
            )),
            false => Ok(()),
        }
    }

    /// Moves to M(θ). If that is worse, stays and returns false.
    pub(super) fn advance(&self, at: &mut Descent) -> Result<bool> {
        Ok(self.advance_by(self.inner, at)?
            || (self.inner == Inner::Paper && self.advance_by(Inner::Exact, at)?))
    }

    fn advance_by(&self, inner: Inner, at: &mut Descent) -> Result<bool> {
        self.map(inner, &at.now, &mut at.other.theta)?;
        at.evaluate_other();
        let no_worse = at.other.value <= at.now.value;
        if no_worse {
            at.accept();
        }
        Ok(no_worse)
    }
}

impl Iterate for Scaling<'_> {
    fn iterate(&mut self, at: &mut Descent) -> Result<bool> {
        self.advance(at)
    }
}

/// Ẽ = E·exp(Sδ) + pull + precision·δ: the equation for the step δ of one weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equation {
    /// Ẽ.
    pub observed: f64,
    /// E.
    pub expected: f64,
    /// (θ − m)/σ².
    pub pull: f64,
    /// 1/σ².
    pub precision: f64,
    /// S.
    pub total: f64,
}

impl Equation {
    /// Whether eq. 3 is defined here.
    pub(super) fn has_paper_step(&self) -> bool {
        self.observed > 0.0 && self.expected + self.pull > 0.0
    }

    /// δ.
    pub(super) fn step(&self, inner: Inner) -> f64 {
        if inner == Inner::Paper && self.has_paper_step() {
            return (self.observed / (self.expected + self.pull)).ln() / self.total;
        }
        self.exact_step()
    }

    /// The solution of the equation. With u = Sδ, a = precision/S and q = Ẽ − pull it reads E·eᵘ + a·u = q. w =
    /// E·eᵘ/a satisfies w + ln w = q/a + ln(E/a), so w = ω(q/a + ln(E/a)).
    fn exact_step(&self) -> f64 {
        let Equation { observed, expected, pull, precision, total } = *self;
        if precision == 0.0 {
            // This is GIS. A feature that no labelling has is never observed nor expected, so its weight does not
            // matter.
            return if expected == 0.0 { 0.0 } else { (observed / expected).ln() / total };
        }
        let (a, q) = (precision / total, observed - pull);
        let w = wright_omega(q / a + (expected / a).ln());
        // There are two forms of u; one of them avoids subtracting large numbers.
        let u = if w > 1.0 { (w * a / expected).ln() } else { q / a - w };
        u / total
    }
}

/// Wright's ω(z): the solution of ω + ln ω = z; 0 for −∞.
pub fn wright_omega(z: f64) -> f64 {
    if z < -40.0 {
        return z.exp(); // ω = exp(z − ω)
    }
    let mut omega = if z > 1.0 { z - z.ln() } else { z.exp().ln_1p() };
    // The fourth-order iteration of Fritsch, Shafer and Crowley 1973. The first step is within 6e-5 of ω, the second
    // within rounding.
    for _ in 0..2 {
        let r = z - omega - omega.ln();
        let w1 = omega + 1.0;
        let q = 2.0 * w1 * (w1 + 2.0 / 3.0 * r);
        omega *= 1.0 + r / w1 * (q - r) / (q - 2.0 * r);
    }
    omega
}
