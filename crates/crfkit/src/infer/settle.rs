//! When an iteration has settled.

use crate::graph::Psi;
use crate::math::Scalar;

/// Watches the numbers of one iteration change. Real and ε parts must both settle: neither may speak for the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    /// How large a change may be, in units of the number's scale.
    pub tolerance: f64,
    /// The largest |ε part| of ψ: a direction may have any length, so ε parts are compared with it.
    pub direction: f64,
    /// By how much a change exceeds what it may be, at most.
    largest: f64,
}

impl Settling {
    /// Nothing has changed yet.
    pub fn new<S: Scalar>(tolerance: f64, psi: Psi<S>) -> Self {
        let mut direction = 0.0;
        if S::PLANES == 2 {
            let tables = psi.shared.iter().map(|table| &table.log);
            let numbers = tables.chain([psi.own]).flat_map(|array| array.plane(1));
            direction = numbers.fold(0.0, |size, eps| f64::max(size, eps.abs()));
        }
        Settling { tolerance, direction, largest: f64::NEG_INFINITY }
    }

    /// Notes that `old` became `new`, where `scale` is what a change is compared with: 1 for a logarithm, the number itself for a
    /// probability whose smallness may be undone by large potentials elsewhere.
    #[inline]
    pub fn see<S: Scalar>(&mut self, new: S, old: S, scale: f64) {
        self.note((new.re() - old.re()).abs() - self.tolerance * scale);
        if S::PLANES == 2 {
            let scale = self.direction * scale + new.eps().abs();
            self.note((new.eps() - old.eps()).abs() - self.tolerance * scale);
        }
    }

    /// Notes by how much a change exceeds what it may be.
    #[inline]
    pub fn note(&mut self, excess: f64) {
        self.largest = if excess > self.largest { excess } else { self.largest };
    }

    /// How far two logarithms are apart, the distance of ε parts in units of the direction's.
    pub fn distance<S: Scalar>(&self, new: S, old: S) -> f64 {
        let re = (new.re() - old.re()).abs();
        let eps = (new.eps() - old.eps()).abs();
        let eps = if eps > 0.0 { eps / (self.direction + new.eps().abs()) } else { 0.0 };
        if re > eps { re } else { eps }
    }

    /// Has every number settled?
    pub fn settled(&self) -> bool {
        self.largest <= 0.0
    }

    /// Repeats `iteration` until everything has settled, at most `limit` times. Returns whether it has, and the number of
    /// iterations.
    pub fn repeat(self, limit: usize, mut iteration: impl FnMut(&mut Settling)) -> (bool, usize) {
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
