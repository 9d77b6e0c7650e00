//! Dense vector operations for the optimisers.
//!
//! Sums run over interleaved partial sums. They vectorise and still have one fixed order.

use super::simd;

/// Σ x·y.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    simd::dot(x, y)
}

/// ‖x‖₂.
pub fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// y ← y + a·x.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    simd::axpy(a, x, y)
}
