//! The online methods written out: all weights in every step, nothing saved. Slow and obvious.
#![allow(dead_code)] // each test file uses a part of it

use crate::objectives::{Losses, batches};
use crfkit::optim::{BatchGradient, Objective, Prior, Schedule};

/// A run over the batches of a schedule.
pub struct Run<'a> {
    pub losses: &'a Losses,
    pub prior: &'a Prior,
    pub l1: f64,
    pub schedule: Schedule,
    pub start: Vec<f64>,
}

impl Run<'_> {
    /// The batches, each with its scale: 1, or 1/b.
    fn steps(&self) -> Vec<(Vec<u32>, f64)> {
        let scale = |batch: &Vec<u32>| match self.schedule.gradient {
            BatchGradient::Sum => 1.0,
            BatchGradient::Mean => 1.0 / batch.len() as f64,
        };
        let batches = batches(self.losses.examples(), &self.schedule);
        batches
            .into_iter()
            .map(|batch| {
                let scale = scale(&batch);
                (batch, scale)
            })
            .collect()
    }

    /// The share of the penalty in a step.
    fn share(&self, batch: &[u32], scale: f64) -> f64 {
        scale * batch.len() as f64 / self.losses.examples() as f64
    }

    fn off(&self, theta: &[f64], i: usize) -> f64 {
        theta[i] - self.prior.mean(i)
    }

    /// smd-crf-2006 eq. 18, or ctjpgis-psa-2007 section 3 for the mean.
    fn gradient(&self, batch: &[u32], scale: f64, theta: &[f64]) -> Vec<f64> {
        let (loss, share) = (self.losses.batch_gradient(batch, theta), self.share(batch, scale));
        let with_prior = |i: usize| scale * loss[i] + share * self.prior.precision(i) * self.off(theta, i);
        (0..theta.len()).map(with_prior).collect()
    }

    /// The derivative of `gradient` in direction v.
    fn hess_vec(&self, batch: &[u32], scale: f64, theta: &[f64], v: &[f64]) -> Vec<f64> {
        let (loss, share) = (self.losses.batch_curvature(batch, theta, v), self.share(batch, scale));
        (0..theta.len()).map(|i| scale * loss[i] + share * self.prior.precision(i) * v[i]).collect()
    }

    /// θ ← θ − η_t g, soft thresholding; with `average_from` the mean of the iterates after so many steps. `gain` knows t, counted
    /// from 1, and the share of the penalty in the steps before.
    pub fn sgd(&self, gain: impl Fn(f64, f64) -> f64, average_from: Option<usize>) -> Vec<f64> {
        let mut theta = self.start.clone();
        let (mut before, mut iterates) = (0.0, Vec::new());
        for (t, (batch, scale)) in self.steps().into_iter().enumerate() {
            let (eta, share) = (gain(t as f64 + 1.0, before), self.share(&batch, scale));
            let g = self.gradient(&batch, scale, &theta);
            for i in 0..theta.len() {
                theta[i] = soft(theta[i] - eta * g[i], eta * share * self.l1);
            }
            before += share;
            iterates.push(theta.clone());
        }
        match average_from {
            None => theta,
            Some(first) => {
                let kept = &iterates[first..];
                let mean = |i: usize| kept.iter().map(|x| x[i]).sum::<f64>() / kept.len() as f64;
                (0..theta.len()).map(mean).collect()
            }
        }
    }

    /// smd-crf-2006 eq. 19–21 with bounds on factor and gain.
    pub fn smd(&self, eta0: f64, mu: f64, lambda: f64, [low, high]: [f64; 2], floor: f64) -> Vec<f64> {
        let n = self.start.len();
        let (mut theta, mut eta, mut v) = (self.start.clone(), vec![eta0; n], vec![0.0; n]);
        for (batch, scale) in self.steps() {
            let g = self.gradient(&batch, scale, &theta);
            let hv = self.hess_vec(&batch, scale, &theta, &v);
            for i in 0..n {
                eta[i] = f64::max(eta[i] * (1.0 - mu * g[i] * v[i]).clamp(low, high), floor);
                v[i] = lambda * v[i] - eta[i] * (g[i] + lambda * hv[i]);
                theta[i] -= eta[i] * g[i];
            }
        }
        theta
    }

    /// The code of the slides, whose v has the other sign.
    pub fn smd_of_the_slides(&self, eta0: f64, mu: f64, lambda: f64) -> Vec<f64> {
        let n = self.start.len();
        let (mut w, mut eta, mut v) = (self.start.clone(), vec![eta0; n], vec![0.0; n]);
        for (batch, scale) in self.steps() {
            let g = self.gradient(&batch, scale, &w);
            let hv = self.hess_vec(&batch, scale, &w, &v);
            for i in 0..n {
                eta[i] *= f64::max(0.5, 1.0 + mu * v[i] * g[i]);
                w[i] -= eta[i] * g[i];
                v[i] = lambda * v[i] + eta[i] * (g[i] - lambda * hv[i]);
            }
        }
        w
    }

    /// The lazy recursion of SMD's documentation, an implicit step on the missed penalty.
    pub fn lazy_smd(&self, eta0: f64, mu: f64, lambda: f64, [low, high]: [f64; 2], floor: f64) -> Vec<f64> {
        let n = self.start.len();
        let (mut theta, mut eta, mut v) = (self.start.clone(), vec![eta0; n], vec![0.0; n]);
        // The shares of the penalty in the steps that each weight has missed.
        let mut missed: Vec<Vec<f64>> = vec![Vec::new(); n];
        let catch_up = |theta: &mut [f64], eta: &[f64], v: &mut [f64], i: usize, missed: &mut Vec<f64>| {
            let k = missed.len();
            if k > 0 {
                let pull = eta[i] * missed.drain(..).sum::<f64>() * self.prior.precision(i);
                let d = 1.0 / (1.0 + pull);
                let forgetting = (0..k).map(|j| lambda.powi(j as i32)).sum::<f64>() / k as f64;
                let off = self.off(theta, i);
                v[i] = lambda.powi(k as i32) * d * v[i] - forgetting * pull * d * d * off;
                theta[i] = self.prior.mean(i) + d * off;
            }
        };
        for (t, (batch, scale)) in self.steps().into_iter().enumerate() {
            let touched: Vec<usize> = self.losses.touched_rows(&batch).into_iter().flatten().collect();
            touched.iter().for_each(|&i| catch_up(&mut theta, &eta, &mut v, i, &mut missed[i]));
            let g = self.gradient(&batch, scale, &theta);
            let hv = self.hess_vec(&batch, scale, &theta, &v);
            for i in 0..n {
                if touched.contains(&i) {
                    eta[i] = f64::max(eta[i] * (1.0 - mu * g[i] * v[i]).clamp(low, high), floor);
                    v[i] = lambda * v[i] - eta[i] * (g[i] + lambda * hv[i]);
                    theta[i] -= eta[i] * g[i];
                } else {
                    missed[i].push(self.share(&batch, scale));
                }
            }
            // At the end of a pass all catch up.
            if (t + 1) % self.losses.examples().div_ceil(self.schedule.batch) == 0 {
                (0..n).for_each(|i| catch_up(&mut theta, &eta, &mut v, i, &mut missed[i]));
            }
        }
        theta
    }

    /// ctjpgis-psa-2007 section 3: the paper's steps and periods; `adapt` makes the next gain of a gain and a rate γ.
    pub fn psa(&self, eta0: f64, half: usize, adapt: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let mut theta = self.start.clone();
        let (mut eta, mut snapshots) = (vec![eta0; theta.len()], vec![theta.clone()]);
        for (t, (batch, scale)) in self.steps().into_iter().enumerate() {
            let g = self.gradient(&batch, scale, &theta);
            (0..theta.len()).for_each(|i| theta[i] -= eta[i] * g[i]);
            if (t + 1) % half == 0 {
                snapshots.push(theta.clone());
            }
            if (t + 1) % (2 * half) == 0 {
                for i in 0..theta.len() {
                    let [zero, one, two] = [0, 1, 2].map(|k| snapshots[k][i]);
                    let gamma = (two - one) / (one - zero);
                    if !gamma.is_nan() {
                        eta[i] = adapt(eta[i], gamma);
                    }
                }
                snapshots = vec![theta.clone()];
            }
        }
        theta
    }

    /// Duchi, Hazan and Singer 2011 with a proximal step.
    pub fn adagrad(&self, eta0: f64) -> Vec<f64> {
        let mut theta = self.start.clone();
        let mut squares = vec![0.0f64; theta.len()];
        for (batch, scale) in self.steps() {
            let (g, share) = (self.gradient(&batch, scale, &theta), self.share(&batch, scale));
            for i in 0..theta.len() {
                squares[i] += g[i] * g[i];
                if squares[i] > 0.0 {
                    let eta = eta0 / squares[i].sqrt();
                    theta[i] = soft(theta[i] - eta * g[i], eta * share * self.l1);
                } else if self.l1 > 0.0 {
                    // No slope yet, so no bound on the gain: nothing holds the weight against L1.
                    theta[i] = 0.0;
                }
            }
        }
        theta
    }

    /// Kingma and Ba 2015, algorithm 1, with a proximal step. With `lazy`, the recursion of Adam's documentation.
    pub fn adam(&self, eta0: f64, betas: [f64; 2], epsilon: f64, lazy: bool) -> Vec<f64> {
        let [b1, b2] = betas;
        let mut theta = self.start.clone();
        let mut moments = vec![Moments::default(); theta.len()];
        let steps_a_pass = self.losses.examples().div_ceil(self.schedule.batch);
        for (t, (batch, scale)) in (1..).zip(self.steps()) {
            let touched: Vec<usize> = match lazy {
                true => self.losses.touched_rows(&batch).into_iter().flatten().collect(),
                false => (0..theta.len()).collect(),
            };
            for &i in &touched {
                theta[i] = moments[i].coast(theta[i], t - 1, eta0, betas, epsilon);
            }
            let (loss, share) = (self.losses.batch_gradient(&batch, &theta), self.share(&batch, scale));
            for (i, own) in moments.iter_mut().enumerate() {
                own.pull += share;
                if touched.contains(&i) {
                    let g = scale * loss[i] + own.pull * self.prior.precision(i) * self.off(&theta, i);
                    own.m = b1 * own.m + (1.0 - b1) * g;
                    own.s = b2 * own.s + (1.0 - b2) * g * g;
                    let [m, s] = own.corrected(betas, t);
                    let eta = eta0 / (s.sqrt() + epsilon);
                    theta[i] = soft(theta[i] - eta * m, eta * share * self.l1);
                    (own.pull, own.age) = (0.0, t);
                } else {
                    own.shrinking += share * self.l1;
                }
            }
            if (t as usize).is_multiple_of(steps_a_pass) {
                for (x, own) in theta.iter_mut().zip(&mut moments) {
                    *x = own.coast(*x, t, eta0, betas, epsilon);
                }
            }
        }
        theta
    }
}

/// What Adam knows of a weight.
#[derive(Clone, Default)]
struct Moments {
    m: f64,
    s: f64,
    /// Steps that it has seen.
    age: i32,
    /// Shares of the penalty that it has missed: of the prior, of L1.
    pull: f64,
    shrinking: f64,
}

impl Moments {
    fn corrected(&self, [b1, b2]: [f64; 2], t: i32) -> [f64; 2] {
        [self.m / (1.0 - b1.powi(t)), self.s / (1.0 - b2.powi(t))]
    }

    /// Where a weight at x has got to after the first `t` steps.
    fn coast(&mut self, x: f64, t: i32, eta0: f64, [b1, b2]: [f64; 2], epsilon: f64) -> f64 {
        let (k, r) = (t - self.age, b1 / b2.sqrt());
        let [m, s] = self.corrected([b1, b2], self.age.max(1));
        let eta = eta0 / (s.sqrt() + epsilon);
        let moved = x - eta * m * (1..=k).map(|j| r.powi(j)).sum::<f64>();
        let x = soft(moved, eta * self.shrinking);
        (self.m, self.s, self.age, self.shrinking) = (self.m * b1.powi(k), self.s * b2.powi(k), t, 0.0);
        x
    }
}

/// The gain after ctjpgis-psa-2007 eq. 5: η/(1 − γ), with the factor and the gain kept within bounds. A rate of 1 or more has no
/// finite factor.
pub fn printed(eta: f64, gamma: f64, [low, high]: [f64; 2], [floor, ceiling]: [f64; 2]) -> f64 {
    let factor = match gamma >= 1.0 {
        true => high,
        false => f64::max(low, f64::min(high, 1.0 / (1.0 - gamma))),
    };
    f64::max(floor, f64::min(ceiling, eta * factor))
}

/// The gain after the factor that is ascribed to Huang, Chang and Hsu 2007, with m and n as it has them.
pub fn shrinking(eta: f64, gamma: f64, [kappa, alpha, beta]: [f64; 3]) -> f64 {
    let m = kappa * (alpha + beta) / (alpha - beta);
    let n = 2.0 * kappa * (1.0 - alpha) / (alpha - beta);
    eta * (m + gamma.signum() * gamma.abs().min(kappa)) / (m + kappa + n)
}

fn soft(x: f64, threshold: f64) -> f64 {
    x.signum() * (x.abs() - threshold).max(0.0)
}
