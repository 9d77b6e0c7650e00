//! The other side of a likelihood: one distribution over labellings for each example.
//!
//! ℓ(ψ) = max_μ ⟨ψ, μ − 1[y]⟩ + H(μ), so the sum of losses and Gaussian prior is a game of θ against the marginals μᵢ of all
//! examples. Its best answer to given marginals is θ = mean − σ² Σᵢ Aᵢᵀ(μᵢ − 1[yᵢ]), and the best answer to θ are the
//! marginals at θ. Methods on this side remember marginals and move θ along.

use super::Touched;
use crate::math::entropy;

/// Which entropy the marginals of an example are to describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entropy {
    /// That of the joint distribution: what a duality gap needs.
    Joint,
    /// The sum of those of the single variables: an approximation from as few numbers as the gradient needs.
    Single,
}

/// Marginals of single examples, as flat vectors μ. All methods may use scratch memory.
pub trait Dual {
    /// Length of the vector of an example.
    fn size(&self, example: u32) -> usize;

    /// How much the example counts.
    fn weight(&self, example: u32) -> f64;

    /// Overwrites `counting` with c, such that the entropy is H(μ) = −Σ c μ ln μ.
    fn counting(&mut self, example: u32, counting: &mut [f64]);

    /// Overwrites `marginals` with those of the known answer, 1\[y\].
    fn answer(&mut self, example: u32, marginals: &mut [f64]);

    /// Returns weight × loss at θ and overwrites `marginals` with those at θ; `touched` must be this example's.
    fn marginals(&mut self, example: u32, theta: &[f64], touched: &Touched, marginals: &mut [f64]) -> f64;

    /// Overwrites `rows` with weight × Aᵀ x, the rows of `touched` side by side: the change of the loss's gradient when the
    /// marginals change by x.
    fn project(&mut self, example: u32, x: &[f64], touched: &Touched, rows: &mut Vec<f64>);
}

/// The best step γ ∈ [0, 1] from marginals p towards q, the marginals at θ: where
/// weight · H(p + γ(q − p)) + ⟨θ, γ u⟩ − γ² curvature/2 is largest, u the change of the gradient. The log-potentials at θ
/// are ln q as far as entropies see them, so its slope is weight · Σ c (q − p) ln(q/(p + γ(q − p))) − γ · curvature: positive
/// at 0, negative at 1. Newton's method, kept between the best bounds so far.
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

/// Newton steps at most; three or four are the rule.
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
