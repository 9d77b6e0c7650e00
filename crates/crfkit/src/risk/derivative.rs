//! How H·v is computed: by the same passes over another number type.

use super::batch::BatchMemory;
use super::full::FullMemory;
use super::{Risk, lock};
use crate::loss::Loss;
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

/// The memory of complex passes.
pub(super) struct ComplexMemory<L: Loss> {
    full: FullMemory<L, Complex64>,
    batch: BatchMemory<L, Complex64>,
    /// εv; after a batch, only the entries that the batch touches.
    direction: Vec<f64>,
    /// ε·H·v of a full pass.
    slope: Vec<f64>,
}

impl<L: Loss> Default for ComplexMemory<L> {
    fn default() -> Self {
        ComplexMemory {
            full: FullMemory::default(),
            batch: BatchMemory::default(),
            direction: Vec::new(),
            slope: Vec::new(),
        }
    }
}

type FullPass<L> = fn(&Risk<L>, [&[f64]; 2], &mut [f64], &mut [f64]) -> f64;
type BatchPass<L> = fn(&Risk<L>, &[u32], [&[f64]; 2], &Touched, &mut Vec<f64>, &mut Vec<f64>) -> f64;

/// The complex passes of a risk. They are function pointers so that passes over complex numbers are compiled only
/// where they are requested: they would take a third of the compile time of every risk.
pub(super) struct ComplexPasses<L: Loss> {
    pub full: FullPass<L>,
    pub batch: BatchPass<L>,
}

impl<L: Loss> Risk<L> {
    /// The same risk, with Hessian-vector products computed in this way.
    pub fn with_derivative(self, derivative: Derivative) -> Self {
        let passes = ComplexPasses { full: Self::complex_full, batch: Self::complex_batch };
        Risk { complex_passes: (derivative == Derivative::Complex).then_some(passes), ..self }
    }

    /// [`crate::optim::Objective::hess_vec`] by the complex step.
    fn complex_full(&self, [theta, v]: [&[f64]; 2], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        let ComplexMemory { full, direction, slope, .. } = &mut *lock(&self.complex);
        direction.clear();
        direction.extend(v.iter().map(|v| STEP * v));
        slope.clear();
        slope.resize(v.len(), 0.0);
        let value = self.full_pass(&[theta, direction], &mut [gradient, slope], full);
        for (sum, slope) in hess_vec.iter_mut().zip(slope) {
            *sum += *slope / STEP;
        }
        value.re
    }

    /// [`crate::optim::Objective::batch_hess_vec`] by the complex step.
    fn complex_batch(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        let ComplexMemory { batch: memory, direction, .. } = &mut *lock(&self.complex);
        direction.resize(v.len(), 0.0);
        touched.weights().for_each(|i| direction[i] = STEP * v[i]);
        let value = self.batch_pass(batch, &[theta, direction], touched, &mut [gradient, hess_vec], memory);
        hess_vec.iter_mut().for_each(|slope| *slope /= STEP);
        value.re
    }
}
