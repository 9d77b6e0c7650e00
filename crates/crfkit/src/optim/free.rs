//! Quasi-Newton directions with an L1 penalty.

use super::Problem;
use super::lbfgs::Pair;
use std::collections::VecDeque;

/// A pair is used on the free weights if sᵀy there is above this share of yᵀy.
const CURVED: f64 = 1e-10;

/// The weights that are not 0, and the pairs on them; reused memory.
#[derive(Default)]
pub(super) struct Free {
    weights: Vec<u32>,
    q: Vec<f64>,
    /// s and y on the free weights, newest first, with sᵀy and the coefficient of the first loop.
    pairs: Vec<(Vec<f64>, Vec<f64>)>,
    factors: Vec<Option<(f64, f64)>>,
}

impl Free {
    /// direction ← −H⁻¹ g on the weights that are not 0, and −γDg on the others, where g is the pseudo-gradient and D has the `scales` of the
    /// weights, all 1 if there are none. The recursion starts from γD.
    ///
    /// Idea: on the weights that are not 0, the objective is smooth, and only there do the pairs describe its curvature. OWL-QN uses them on all
    /// weights, and must then drop every entry of the direction that disagrees in sign with the gradient, which makes it a poor one.
    pub(super) fn direction(
        &mut self,
        problem: &Problem,
        history: &VecDeque<Pair>,
        scales: &[f64],
        theta: &[f64],
        pseudo: &[f64],
        out: &mut Vec<f64>,
    ) {
        let scale = |i: usize| scales.get(i).copied().unwrap_or(1.0);
        let size = |y: &[f64]| problem.sum(y.len(), |i| y[i] * scale(i) * y[i]);
        let first = history.back().map_or(1.0, |newest| 1.0 / (newest.rho * size(&newest.y)));
        problem.fill(out, pseudo.len(), |i| -first * scale(i) * pseudo[i]);
        self.weights.clear();
        self.weights.extend((0..theta.len() as u32).filter(|&i| theta[i as usize] != 0.0));
        let (weights, q) = (&self.weights, &mut self.q);
        let (free, weight) = (weights.len(), |k: usize| weights[k] as usize);
        problem.fill(q, free, |k| -pseudo[weight(k)]);
        self.pairs.resize_with(history.len().max(self.pairs.len()), Default::default);
        self.factors.clear();
        let mut gamma = None;
        for (pair, (s, y)) in history.iter().rev().zip(&mut self.pairs) {
            problem.fill(s, free, |k| pair.s[weight(k)]);
            problem.fill(y, free, |k| pair.y[weight(k)]);
            let sy = problem.dot(s, y);
            let used = sy > CURVED * problem.dot(y, y);
            self.factors.push(used.then(|| {
                let a = problem.dot(s, q) / sy;
                problem.add(-a, y, q, None);
                gamma.get_or_insert_with(|| sy / problem.sum(free, |k| y[k] * scale(weight(k)) * y[k]));
                (sy, a)
            }));
        }
        let gamma = gamma.unwrap_or(first);
        problem.by_stretches(q, |range, q| {
            range.zip(q).for_each(|(k, q)| *q *= gamma * scale(weight(k)));
            0.0
        });
        for ((s, y), factor) in self.pairs.iter().zip(&self.factors).rev() {
            if let Some((sy, a)) = factor {
                problem.add(a - problem.dot(y, q) / sy, s, q, None);
            }
        }
        weights.iter().zip(q).for_each(|(&i, q)| out[i as usize] = *q);
    }
}
