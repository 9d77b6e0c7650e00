//! Vector operations of batch methods, on all threads of the objective. Sums run over stretches of fixed length, and then over the
//! stretches in order, so results do not depend on the number of threads.

use super::Problem;
use crate::math::vector;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The length of a stretch: long enough to be worth a task, short enough for all cores to have some.
pub(super) const STRETCH: usize = 1 << 14;

impl Problem<'_> {
    /// Calls `task` with every stretch of `out` and its place, and returns the sum of the results.
    pub(super) fn by_stretches(
        &self,
        out: &mut [f64],
        task: impl Fn(Range<usize>, &mut [f64]) -> f64 + Sync,
    ) -> f64 {
        if out.len() <= STRETCH {
            return task(0..out.len(), out);
        }
        let sums: Vec<AtomicU64> =
            std::iter::repeat_with(AtomicU64::default).take(out.len().div_ceil(STRETCH)).collect();
        self.objective.in_stretches(out, STRETCH, &|k, out| {
            let sum = task(k * STRETCH..k * STRETCH + out.len(), out);
            sums[k].store(sum.to_bits(), Ordering::Relaxed);
        });
        sums.into_iter().map(|sum| f64::from_bits(sum.into_inner())).sum()
    }

    /// Overwrites every number of `out` with `value` of its place.
    pub(super) fn fill(&self, out: &mut Vec<f64>, len: usize, value: impl Fn(usize) -> f64 + Sync) {
        out.resize(len, 0.0);
        self.by_stretches(out, |range, out| {
            range.zip(out).for_each(|(i, x)| *x = value(i));
            0.0
        });
    }

    /// ⟨x, y⟩.
    pub(super) fn dot(&self, x: &[f64], y: &[f64]) -> f64 {
        if x.len() <= STRETCH {
            return vector::dot(x, y);
        }
        let mut sums = vec![0.0; x.len().div_ceil(STRETCH)];
        self.objective.in_stretches(&mut sums, 1, &|k, sum| {
            let range = k * STRETCH..x.len().min((k + 1) * STRETCH);
            sum[0] = vector::dot(&x[range.clone()], &y[range]);
        });
        sums.iter().sum()
    }

    /// Σ `term` over all places up to `len`.
    pub(super) fn sum(&self, len: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
        let mut sums = vec![0.0; len.div_ceil(STRETCH)];
        self.objective.in_stretches(&mut sums, 1, &|k, sum| {
            sum[0] = (k * STRETCH..len.min((k + 1) * STRETCH)).map(&term).sum();
        });
        sums.iter().sum()
    }

    /// ‖x‖₂.
    pub(super) fn norm(&self, x: &[f64]) -> f64 {
        self.dot(x, x).sqrt()
    }

    /// y ← y + a·x. Returns ⟨y, z⟩, which costs little more while y is at hand; 0 without a z.
    pub(super) fn add(&self, a: f64, x: &[f64], y: &mut [f64], z: Option<&[f64]>) -> f64 {
        self.by_stretches(y, |range, y| {
            vector::axpy(a, &x[range.clone()], y);
            z.map_or(0.0, |z| vector::dot(y, &z[range]))
        })
    }
}
