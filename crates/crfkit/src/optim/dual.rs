//! The dual side of a likelihood: one distribution over labellings for each example.
//!
//! ℓ(ψ) = max_μ ⟨ψ, μ − 1[y]⟩ + H(μ), so minimising the sum of losses and Gaussian prior is a game between θ and the
//! marginals μᵢ of all examples. For given marginals the best θ is mean − σ² Σᵢ Aᵢᵀ(μᵢ − 1[yᵢ]). For given θ the best
//! marginals are those at θ. Methods on the dual side store marginals and move θ accordingly.

use super::Touched;
use crate::math::entropy;

/// The marginals of single examples, as flat vectors μ. All methods may use scratch memory.
pub trait DualProblem {
    /// The length of an example's vector.
    fn size(&self, example: u32) -> usize;

    /// The weight of the example.
    fn weight(&self, example: u32) -> f64;

    /// Overwrites `counting` with c, such that the entropy is H(μ) = −Σ c μ ln μ.
    fn counting_numbers(&mut self, example: u32, counting: &mut [f64]);

    /// Overwrites `marginals` with those of the gold labels, 1\[y\].
    fn gold_marginals(&mut self, example: u32, marginals: &mut [f64]);

    /// Returns weight × loss at θ and overwrites `marginals` with those at θ; `touched` must be this example's.
    fn marginals(&mut self, example: u32, theta: &[f64], touched: &Touched, marginals: &mut [f64]) -> f64;

    /// Overwrites `rows` with weight × Aᵀ x, the rows of `touched` one after another. This is the change of the
    /// loss's gradient when the marginals change by x.
    fn project(&mut self, example: u32, x: &[f64], touched: &Touched, rows: &mut Vec<f64>);
}

/// The best step γ ∈ [0, 1] from marginals p towards q, the marginals at θ. It maximises weight · H(p + γ(q − p)) +
/// ⟨θ, γ u⟩ − γ² curvature/2, where u is the change of the gradient. As far as entropies are concerned, the
/// log-potentials at θ are ln q, so the derivative is weight · Σ c (q − p) ln(q/(p + γ(q − p))) − γ · curvature:
/// positive at 0, negative at 1. Newton's method finds its zero between bounds that tighten as it goes.
pub(super) fn best_step(weight: f64, counting: &[f64], p: &[f64], q: &[f64], curvature: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let mut gamma = 0.5;
    for _ in 0..NEWTON {
        let (slope, bend) = entropy::slope(counting, p, q, gamma);
        let slope = weight * slope - gamma * curvature;
        if slope > 0.0 {
            low = gamma
        } else {
            high = gamma
        }
        let newton = gamma + slope / (weight * bend + curvature);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - gamma).abs() <= 1e-12 {
            return next;
        }
        gamma = next;
    }
    gamma
}

/// The largest number of Newton steps; three or four are usual.
const NEWTON: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_step_is_where_the_objective_is_largest() {
        let counting = [1.0; 3];
        for (p, q) in [
            ([0.2, 0.3, 0.5], [0.6, 0.3, 0.1]),
            ([1.0, 0.0, 0.0], [0.1, 0.2, 0.7]),
            ([0.3, 0.3, 0.4], [0.3, 0.3, 0.4]),
        ] {
            for curvature in [0.0, 0.1, 1.0, 50.0] {
                let gamma = best_step(2.0, &counting, &p, &q, curvature);
                // The log-potentials are ln q.
                let objective = |gamma: f64| {
                    let x: Vec<f64> = p.iter().zip(&q).map(|(p, q)| p + gamma * (q - p)).collect();
                    let score: f64 = x.iter().zip(&q).map(|(x, q)| x * q.ln()).sum();
                    2.0 * (entropy::entropy(&counting, &x) + score) - 0.5 * curvature * gamma * gamma
                };
                let best = objective(gamma);
                for k in 0..=1000 {
                    assert!(objective(k as f64 / 1000.0) <= best + 1e-12, "{p:?} {q:?} {curvature}: {gamma}");
                }
            }
        }
    }
}
