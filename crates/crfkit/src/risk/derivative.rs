//! How H·v is computed: by the same passes over another number type.

use super::any_loss::Maker;
use super::batch::BatchMemory;
use super::full::FullMemory;
use super::{Risk, lock};
use crate::graph::Graph;
use crate::math::Complex64;
use crate::optim::Touched;

/// The number type that carries the direction v through a pass. Both give H·v up to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Derivative {
    /// Dual numbers θ + εv with ε² = 0. They need no step length and are the cheaper of the two.
    #[default]
    Dual,
    /// The complex step of smd-crf-2006, eq. (12): H·v = Im ∇L(θ + iεv)/ε with ε = 10⁻¹⁰⁰.
    Complex,
}

/// The step ε. Its square vanishes beside 1, so there is no truncation error. Products of two imaginary parts still
/// stay clear of the subnormal numbers, which are slow.
const STEP: f64 = 1e-100;

/// Memory of complex passes.
pub(super) struct ComplexMemory<G: Graph> {
    full: FullMemory<G, Complex64>,
    batch: BatchMemory<G, Complex64>,
    /// εv; after a batch only where that batch touches it.
    direction: Vec<f64>,
    /// ε·H·v of a full pass.
    slope: Vec<f64>,
}

impl<G: Graph> Default for ComplexMemory<G> {
    fn default() -> Self {
        ComplexMemory {
            full: FullMemory::default(),
            batch: BatchMemory::default(),
            direction: Vec::new(),
            slope: Vec::new(),
        }
    }
}

impl<G: Graph> Risk<G> {
    /// [`crate::optim::Objective::hess_vec`] by the complex step.
    pub(super) fn complex_full(
        &self,
        [theta, v]: [&[f64]; 2],
        gradient: &mut [f64],
        hess_vec: &mut [f64],
        worker: &Maker<G, Complex64>,
    ) -> f64 {
        let ComplexMemory { full, direction, slope, .. } = &mut *lock(&self.complex);
        direction.clear();
        direction.extend(v.iter().map(|v| STEP * v));
        slope.clear();
        slope.resize(v.len(), 0.0);
        let value = self.full_pass(&[theta, direction], &mut [gradient, slope], full, worker);
        for (sum, slope) in hess_vec.iter_mut().zip(slope) {
            *sum += *slope / STEP;
        }
        value.re
    }

    /// [`crate::optim::Objective::batch_hess_vec`] by the complex step.
    pub(super) fn complex_batch(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        touched: &Touched,
        [gradient, hess_vec]: [&mut Vec<f64>; 2],
        worker: &Maker<G, Complex64>,
    ) -> f64 {
        let ComplexMemory { batch: memory, direction, .. } = &mut *lock(&self.complex);
        direction.resize(v.len(), 0.0);
        touched.weights().for_each(|i| direction[i] = STEP * v[i]);
        let (place, planes) = ((&[theta, &*direction][..], touched), &mut [gradient, &mut *hess_vec]);
        let value = self.batch_pass(batch, place, planes, memory, worker);
        hess_vec.iter_mut().for_each(|slope| *slope /= STEP);
        value.re
    }
}
