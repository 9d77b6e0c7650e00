//! What an optimiser minimises.

use super::{Objective, Prior, Touched};
use crate::ability::Ability;

/// The sample of [`Problem::sampled_losses`]: one example of so many, but at least so many.
const SAMPLED_ONE_OF: usize = 20;
const SAMPLED_AT_LEAST: usize = 32;
/// A value below this share of another one is far below it: a sample's estimate is wrong by much less than that.
const FAR: f64 = 0.5;

/// Σ losses + Σ (θᵢ − mᵢ)²/2σᵢ² + l1·Σ|θᵢ|.
pub struct Problem<'a> {
    /// The losses.
    pub objective: &'a dyn Objective,
    /// The Gaussian prior.
    pub prior: Prior,
    /// Weight of the L1 penalty; 0 for none.
    pub l1: f64,
}

impl Problem<'_> {
    /// Losses and Gaussian prior at θ, without the L1 part; overwrites `gradient`.
    pub fn smooth(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.smooth_checked(theta, gradient).0
    }

    /// Like [`Problem::smooth`]. Also returns the number of impossible losses ([`Objective::value_grad_checked`]).
    pub(crate) fn smooth_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        gradient.fill(0.0);
        let (loss, impossible) = self.objective.value_grad_checked(theta, gradient);
        let penalty = self.by_stretches(gradient, |range, slopes| self.prior.add_part(theta, range, slopes));
        (loss + penalty, impossible)
    }

    /// The smooth part of the objective at θ, and the number of impossible losses.
    pub(crate) fn value_checked(&self, theta: &[f64]) -> (f64, usize) {
        let (loss, impossible) = self.objective.value_checked(theta);
        (loss + self.prior.value(theta), impossible)
    }

    /// An estimate of the losses at θ from a sample of the examples.
    fn sampled_losses(&self, theta: &[f64]) -> f64 {
        let examples = self.objective.examples();
        let step = examples.div_ceil((examples / SAMPLED_ONE_OF).max(SAMPLED_AT_LEAST)).max(1);
        let sample: Vec<u32> = (0..examples as u32).step_by(step).collect();
        let mut touched = Touched::default();
        self.objective.touched(&sample, &mut touched);
        let losses = self.objective.batch_grad(&sample, theta, &touched, &mut Vec::new());
        losses * (examples as f64 / sample.len().max(1) as f64)
    }

    /// Whether an objective of `value` is far below that of θ, by the losses of a sample there. Then no pass is needed to compare them.
    pub(crate) fn is_far_below(&self, value: f64, theta: &[f64]) -> bool {
        value < FAR * self.sampled_losses(theta)
    }

    /// Whether the gradient is that of the value, so that the value measures progress.
    pub(crate) fn is_smooth(&self) -> bool {
        self.objective.provides().contains(&Ability::Smooth)
    }

    /// Both penalties at θ.
    pub fn penalty(&self, theta: &[f64]) -> f64 {
        self.prior.value(theta) + self.l1_penalty(theta)
    }

    /// The L1 penalty at θ.
    pub fn l1_penalty(&self, theta: &[f64]) -> f64 {
        match self.l1 {
            l1 if l1 > 0.0 => l1 * theta.iter().map(|x| x.abs()).sum::<f64>(),
            _ => 0.0,
        }
    }
}
