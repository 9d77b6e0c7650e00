//! Quasi-Newton directions with an L1 penalty.

use super::lbfgs::Pair;
use crate::math::vector::{axpy, dot};
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
    /// Idea: on the weights that are not 0, the objective is smooth, and there alone do the pairs tell its curvature. OWL-QN uses them on all
    /// weights, and must then drop every entry of the direction that disagrees in sign with the gradient, which makes it a poor one.
    pub(super) fn direction(
        &mut self,
        history: &VecDeque<Pair>,
        scales: &[f64],
        theta: &[f64],
        pseudo: &[f64],
        out: &mut Vec<f64>,
    ) {
        let scale = |i: usize| scales.get(i).copied().unwrap_or(1.0);
        let size = |y: &[f64]| y.iter().enumerate().map(|(i, y)| y * scale(i) * y).sum::<f64>();
        let first = history.back().map_or(1.0, |newest| 1.0 / (newest.rho * size(&newest.y)));
        out.clear();
        out.extend(pseudo.iter().enumerate().map(|(i, g)| -first * scale(i) * g));
        self.weights.clear();
        self.weights.extend((0..theta.len() as u32).filter(|&i| theta[i as usize] != 0.0));
        let (weights, q) = (&self.weights, &mut self.q);
        q.clear();
        q.extend(weights.iter().map(|&i| -pseudo[i as usize]));
        self.pairs.resize_with(history.len().max(self.pairs.len()), Default::default);
        self.factors.clear();
        let mut gamma = None;
        for (pair, (s, y)) in history.iter().rev().zip(&mut self.pairs) {
            let gather = |from: &[f64], to: &mut Vec<f64>| {
                to.clear();
                to.extend(weights.iter().map(|&i| from[i as usize]));
            };
            gather(&pair.s, s);
            gather(&pair.y, y);
            let sy = dot(s, y);
            let used = sy > CURVED * dot(y, y);
            self.factors.push(used.then(|| {
                let a = dot(s, q) / sy;
                axpy(-a, y, q);
                gamma.get_or_insert_with(|| {
                    sy / weights.iter().zip(&*y).map(|(&i, y)| y * scale(i as usize) * y).sum::<f64>()
                });
                (sy, a)
            }));
        }
        let gamma = gamma.unwrap_or(first);
        weights.iter().zip(&mut *q).for_each(|(&i, q)| *q *= gamma * scale(i as usize));
        for ((s, y), factor) in self.pairs.iter().zip(&self.factors).rev() {
            if let Some((sy, a)) = factor {
                axpy(a - dot(y, q) / sy, s, q);
            }
        }
        weights.iter().zip(q).for_each(|(&i, q)| out[i as usize] = *q);
    }
}
