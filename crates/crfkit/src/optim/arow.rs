//! Adaptive regularisation of weights.

use super::checks::{refuse_l1, refuse_prior, require};
use super::online::{self, Rule, Schedule, Step};
use super::passive_aggressive::single;
use super::restored::{Restored, positive};
use super::{Minimum, Optimizer, Prior, Problem, State, Watch};
use crate::Result;
use crate::ability::Ability;

/// Passive-aggressive steps with a variance for each weight, which shrinks where the weight is used.
///
/// Idea: weights that many examples have settled move little, new ones much. With the loss ℓ = score(best) − score(gold) + errors, its
/// gradient g and the variances v: α = ℓ/(γ + Σ g²·v), θ ← θ − α·v·g, 1/v ← 1/v + g²/γ.
///
/// Needs: a loss with a margin. Parameters: variance = 1, γ = 1. There is no prior. References: Crammer, Kulesza and Dredze 2009, and
/// CRFsuite, whose defaults these are.
#[derive(Clone, Debug)]
pub struct Arow {
    /// The variance of every weight at the start.
    pub variance: f64,
    /// γ: the larger, the smaller the steps.
    pub gamma: f64,
    /// Passes; one example at a time.
    pub schedule: Schedule,
}

impl Default for Arow {
    fn default() -> Self {
        Arow { variance: 1.0, gamma: 1.0, schedule: single() }
    }
}

impl Optimizer for Arow {
    fn needs(&self) -> &'static [Ability] {
        &[Ability::Margin]
    }

    fn check(&self, prior: &Prior, l1: f64) -> Result<()> {
        for (name, value) in [("`variance`", self.variance), ("`gamma`", self.gamma)] {
            require(value > 0.0 && value.is_finite(), name, value, "a positive number")?;
        }
        refuse_l1("arow", l1)?;
        refuse_prior("arow", prior)
    }

    fn minimize(&self, problem: &Problem, state: State, watch: &mut dyn Watch) -> Result<Minimum> {
        self.check(&problem.prior, problem.l1)?;
        let mut rule = ArowRule { method: self, loss: 0.0, variances: Vec::new() };
        online::run(problem, &self.schedule, &mut rule, state, watch)
    }
}

struct ArowRule<'a> {
    method: &'a Arow,
    /// The loss of the present example.
    loss: f64,
    /// The variance of each weight.
    variances: Vec<f64>,
}

impl Rule for ArowRule<'_> {
    fn refresh(&mut self, theta: &mut [f64], step: &Step) {
        step.touched.expect_with(|row| theta[row.start] + self.variances[row.start]);
    }

    fn loss(&mut self, loss: f64) {
        self.loss = loss;
    }

    fn update(&mut self, theta: &mut [f64], step: &Step, gradient: &[f64], _: &[f64]) {
        if self.loss <= 0.0 {
            return;
        }
        let gamma = self.method.gamma;
        let spread = |(row, mine, _): (std::ops::Range<usize>, std::ops::Range<usize>, u32)| -> f64 {
            self.variances[row].iter().zip(&gradient[mine]).map(|(v, g)| g * g * v).sum()
        };
        let alpha = self.loss / (gamma + step.touched.filled().map(spread).sum::<f64>());
        for (row, mine, _) in step.touched.filled() {
            let weights = theta[row.clone()].iter_mut().zip(&mut self.variances[row]);
            for ((x, v), g) in weights.zip(&gradient[mine]) {
                *x -= alpha * *v * g;
                // It must stay above 0, so that its inverse is a number.
                *v = (1.0 / (1.0 / *v + g * g / gamma)).max(f64::MIN_POSITIVE);
            }
        }
    }

    fn settle(&mut self, _theta: &mut [f64], _step: &Step) {}

    fn remedy(&self) -> &'static str {
        "use a smaller `variance` or a larger `gamma`"
    }

    fn save(&self, state: &mut State) {
        state.vectors.insert("variances".into(), self.variances.clone());
    }

    fn restore(&mut self, _steps: u32, state: &mut Restored) -> Result<()> {
        self.variances = state.vector("variances", state.theta().len(), self.method.variance, positive)?;
        Ok(())
    }
}
