//! What an optimiser minimises.

use super::{Objective, Prior};
use crate::ability::Ability;

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
