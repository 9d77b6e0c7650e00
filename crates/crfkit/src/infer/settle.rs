//! The test of whether an iteration has converged.

use crate::graph::Psi;
use crate::math::Scalar;

/// Tracks how much the numbers of one iteration change. Real and ε parts must both converge; one does not imply the
/// other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    /// The largest change that counts as converged, in units of the number's scale.
    pub tolerance: f64,
    /// The largest |ε part| of ψ. A direction may have any length, so ε parts are compared with it.
    pub direction: f64,
    /// The largest excess of a change over the tolerance.
    largest: f64,
}

impl Settling {
    /// A tracker that has seen no change yet.
    pub(super) fn new<S: Scalar>(tolerance: f64, psi: Psi<S>) -> Self {
        let mut direction = 0.0;
        if S::PLANES == 2 {
            let tables = psi.shared.iter().map(|table| &table.log);
            let numbers = tables.chain([psi.own]).flat_map(|array| array.plane(1));
            direction = numbers.fold(0.0, |size, eps| f64::max(size, eps.abs()));
        }
        Settling { tolerance, direction, largest: f64::NEG_INFINITY }
    }

    /// Records that `old` became `new`. A change is compared with `scale`: 1 for a logarithm; the number itself for a
    /// probability, because large potentials elsewhere may make a small probability matter.
    #[inline]
    pub(super) fn see<S: Scalar>(&mut self, new: S, old: S, scale: f64) {
        self.note((new.re() - old.re()).abs() - self.tolerance * scale);
        if S::PLANES == 2 {
            let scale = self.direction * scale + new.eps().abs();
            self.note((new.eps() - old.eps()).abs() - self.tolerance * scale);
        }
    }

    /// Records by how much a change exceeds the tolerance.
    #[inline]
    pub(super) fn note(&mut self, excess: f64) {
        self.largest = if excess > self.largest { excess } else { self.largest };
    }

    /// The distance between two logarithms; the distance between ε parts is measured in units of the direction.
    pub(super) fn distance<S: Scalar>(&self, new: S, old: S) -> f64 {
        let re = (new.re() - old.re()).abs();
        let eps = (new.eps() - old.eps()).abs();
        let eps = if eps > 0.0 { eps / (self.direction + new.eps().abs()) } else { 0.0 };
        if re > eps { re } else { eps }
    }

    /// The largest excess of a change over the tolerance.
    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    /// Whether every number has converged.
    pub(super) fn settled(&self) -> bool {
        self.largest <= 0.0
    }

    /// Repeats `iteration` until everything has converged, at most `limit` times. Returns whether it has, and the
    /// number of iterations.
    pub(super) fn repeat(self, limit: usize, mut iteration: impl FnMut(&mut Settling)) -> (bool, usize) {
        for count in 1..=limit {
            let mut now = self;
            iteration(&mut now);
            if now.settled() {
                return (true, count);
            }
        }
        (false, limit)
    }
}
