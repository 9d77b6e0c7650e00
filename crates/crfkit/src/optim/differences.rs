//! Hessian-vector products by finite differences.

use super::{Blocks, DualProblem, FeatureCounts, Objective, Touched};
use crate::ability::Ability;
use crate::math::vector::norm;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// The same objective with H·v ≈ (g(θ + hv) − g(θ − hv))/2h. It serves objectives that provide only a gradient, and
/// comparisons with the exact product (slides of smd-crf-2006, "Hessian-Vector Products", where the differences are
/// one-sided).
///
/// The step moves θ by ∛ε·max(1, ‖θ‖), which balances the error of the difference (h²) and that of rounding (ε/h).
/// About ten digits of H·v are correct where the third derivative is moderate. A product costs three gradients.
pub struct Differences<'a> {
    objective: &'a dyn Objective,
    /// Reused memory.
    moved: Mutex<Moved>,
}

#[derive(Default)]
struct Moved {
    theta: Vec<f64>,
    gradient: Vec<f64>,
}

impl<'a> Differences<'a> {
    /// Wraps `objective` and replaces its products.
    pub fn new(objective: &'a dyn Objective) -> Self {
        Differences { objective, moved: Mutex::default() }
    }
}

/// The step h for a point and a direction.
fn step(theta: &[f64], v: &[f64]) -> f64 {
    match norm(v) {
        0.0 => 1.0,
        length => f64::EPSILON.cbrt() * norm(theta).max(1.0) / length,
    }
}

impl Objective for Differences<'_> {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn examples(&self) -> usize {
        self.objective.examples()
    }

    /// What the objective provides, plus products if its gradient is the derivative of its value.
    fn provides(&self) -> &'static [Ability] {
        let gives = self.objective.provides();
        let lacks = gives.contains(&Ability::Smooth) && !gives.contains(&Ability::HessVec);
        if lacks { &[Ability::Smooth, Ability::HessVec] } else { gives }
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.objective.value_grad(theta, gradient)
    }

    fn value_grad_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        self.objective.value_grad_checked(theta, gradient)
    }

    fn value_checked(&self, theta: &[f64]) -> (f64, usize) {
        self.objective.value_checked(theta)
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        let Moved { theta: moved, gradient: slope } =
            &mut *self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let h = step(theta, v);
        for side in [h, -h] {
            moved.clear();
            moved.extend(theta.iter().zip(v).map(|(x, v)| x + side * v));
            slope.clear();
            slope.resize(theta.len(), 0.0);
            self.objective.value_grad(moved, slope);
            hess_vec.iter_mut().zip(&*slope).for_each(|(hv, g)| *hv += g / (2.0 * side));
        }
        self.objective.value_grad(theta, gradient)
    }

    fn stop_when(&self, flag: Option<Arc<AtomicBool>>) {
        self.objective.stop_when(flag);
    }

    fn stopped(&self) -> bool {
        self.objective.stopped()
    }

    fn expect(&self, next: &[u32]) {
        self.objective.expect(next);
    }

    fn touched(&self, batch: &[u32], touched: &mut Touched) {
        self.objective.touched(batch, touched);
    }

    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64 {
        self.objective.batch_grad(batch, theta, touched, gradient)
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        let Moved { theta: moved, gradient: slope } =
            &mut *self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        // Only touched weights are read, so only they are moved, and only they count in the norms.
        let pick = |x: &[f64]| -> Vec<f64> { touched.weights().map(|i| x[i]).collect() };
        let h = step(&pick(theta), &pick(v));
        moved.resize(theta.len(), 0.0);
        hess_vec.clear();
        hess_vec.resize(touched.len(), 0.0);
        for side in [h, -h] {
            for i in touched.weights() {
                moved[i] = theta[i] + side * v[i];
            }
            self.objective.batch_grad(batch, moved, touched, slope);
            hess_vec.iter_mut().zip(&*slope).for_each(|(hv, g)| *hv += g / (2.0 * side));
        }
        self.objective.batch_grad(batch, theta, touched, gradient)
    }

    fn counts(&self) -> Option<FeatureCounts> {
        self.objective.counts()
    }

    fn in_stretches(&self, out: &mut [f64], size: usize, task: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        self.objective.in_stretches(out, size, task);
    }

    fn in_parallel(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        self.objective.in_parallel(tasks, task);
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        self.objective.on_threads(work);
    }

    fn blocks(&self, variables: usize, least: usize, seed: u64) -> Option<Box<dyn Blocks + '_>> {
        self.objective.blocks(variables, least, seed)
    }

    fn dual(&self) -> Option<Box<dyn DualProblem + '_>> {
        self.objective.dual()
    }
}
