//! The likelihood of small chains with a Gaussian prior, its gradient and its Hessian, every labelling counted one by one.
#![allow(dead_code)] // each test file uses a part of it

use crate::risks::{ChainRisk, labellings};
use crfkit::math::vector::dot;
use crfkit::optim::Prior;

pub struct Enumerated {
    /// Weight, features of the gold labelling, features of every labelling.
    pub examples: Vec<(f64, Vec<f64>, Vec<Vec<f64>>)>,
    pub prior: Prior,
    pub dim: usize,
}

impl Enumerated {
    pub fn new(risk: &ChainRisk, prior: &Prior) -> Self {
        let split = |(weight, mut all): (f64, Vec<Vec<f64>>)| {
            let every = all.split_off(1);
            (weight, all.remove(0), every)
        };
        let examples = labellings(risk).into_iter().map(split).collect();
        Enumerated { examples, prior: prior.clone(), dim: risk.features().dim() }
    }

    /// log Z of an example and the probability of each labelling.
    pub fn probabilities(&self, example: usize, theta: &[f64]) -> (f64, Vec<f64>) {
        let scores: Vec<f64> = self.examples[example].2.iter().map(|phi| dot(phi, theta)).collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_z = max + scores.iter().map(|s| (s - max).exp()).sum::<f64>().ln();
        (log_z, scores.iter().map(|s| (s - log_z).exp()).collect())
    }

    /// Σ p·φ of an example.
    pub fn expectation(&self, example: usize, p: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.dim];
        for (phi, p) in self.examples[example].2.iter().zip(p) {
            sum.iter_mut().zip(phi).for_each(|(sum, phi)| *sum += p * phi);
        }
        sum
    }

    /// Objective and gradient, prior included.
    pub fn value_grad(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut gradient) = (0.0, vec![0.0; self.dim]);
        for (i, g) in gradient.iter_mut().enumerate() {
            let (precision, off) = (self.prior.precision(i), theta[i] - self.prior.mean(i));
            value += 0.5 * precision * off * off;
            *g = precision * off;
        }
        for (e, (weight, gold, _)) in self.examples.iter().enumerate() {
            let (log_z, p) = self.probabilities(e, theta);
            value += weight * (log_z - dot(gold, theta));
            let mean = self.expectation(e, &p);
            (0..self.dim).for_each(|i| gradient[i] += weight * (mean[i] - gold[i]));
        }
        (value, gradient)
    }

    /// diag(1/σ²) + Σ Cov φ.
    pub fn hessian(&self, theta: &[f64]) -> Vec<Vec<f64>> {
        let mut hessian = vec![vec![0.0; self.dim]; self.dim];
        (0..self.dim).for_each(|i| hessian[i][i] = self.prior.precision(i));
        for (e, (weight, _, every)) in self.examples.iter().enumerate() {
            let (_, p) = self.probabilities(e, theta);
            let mean = self.expectation(e, &p);
            for (phi, p) in every.iter().zip(&p) {
                let off: Vec<f64> = phi.iter().zip(&mean).map(|(phi, mean)| phi - mean).collect();
                for i in (0..self.dim).filter(|&i| off[i] != 0.0) {
                    let scale = weight * p * off[i];
                    hessian[i].iter_mut().zip(&off).for_each(|(h, off)| *h += scale * off);
                }
            }
        }
        hessian
    }
}

/// Gauss' elimination with pivots: A⁻¹ b.
pub fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        let row = a[k].clone();
        for i in k + 1..n {
            let factor = a[i][k] / row[k];
            a[i].iter_mut().zip(&row).skip(k).for_each(|(a, r)| *a -= factor * r);
            b[i] -= factor * b[k];
        }
    }
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - rest) / a[i][i];
    }
    b
}
