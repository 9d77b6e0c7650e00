//! The mean of the iterates, for methods whose steps move a few weights and shrink all weights by a common factor.

use super::restored::{Restored, finite, not_negative};
use super::{Prior, State, Touched};
use crate::Result;
use std::ops::Range;

/// Keeps Σ (θ_t − mean) over the iterates from a given step on, at the cost of the touched weights.
///
/// Between two settlings θ_t = mean + D_t·w_t, where D_t is the product of all decays since the last one, and w
/// changes only where a weight is touched. With A_t = Σ_{s ≤ t} D_s over the averaged steps, the sum of the iterates
/// is a + A_t·w_t. An untouched weight needs no work; a change δ of w at step t subtracts A_{t−1}·δ from a. Settling
/// moves everything into a and restarts with A = 0, so that D never becomes small compared with its past values.
pub(super) struct Average {
    /// The number of steps before the first averaged one.
    from: u32,
    /// The number of averaged steps.
    count: f64,
    /// A, for weights of single labels and of label pairs.
    area: [f64; 2],
    /// a.
    sums: Vec<f64>,
}

impl Average {
    /// Averages the iterates after each step from number `from` on, counted from 0.
    pub(super) fn new(from: u32) -> Self {
        Average { from, count: 0.0, area: [0.0; 2], sums: Vec::new() }
    }

    /// Prefetches the weights and the sums that a step will need.
    pub(super) fn expect(&self, theta: &[f64], touched: &Touched) {
        touched.expect_with(|row| theta[row.start] + self.sums[row.start]);
    }

    /// For each kind of weight, the factor by which a gradient is added to the sums when a step moves the weights by
    /// −`eta` times that gradient; `products` are the decays.
    pub(super) fn scales(&self, eta: f64, products: [f64; 2]) -> [f64; 2] {
        std::array::from_fn(|kind| self.area[kind] * eta / products[kind])
    }

    /// Records that a step has moved the weights in `range` along `gradient`; `scale` is one of [`Average::scales`].
    #[inline]
    pub(super) fn moved(&mut self, range: Range<usize>, gradient: &[f64], scale: f64) {
        if scale > 0.0 {
            self.sums[range].iter_mut().zip(gradient).for_each(|(sum, g)| *sum += scale * g);
        }
    }

    /// Records that the step after `done` others is complete; `products` are the decays including it.
    pub(super) fn count(&mut self, done: u32, products: [f64; 2]) {
        if done >= self.from {
            self.count += 1.0;
            self.area.iter_mut().zip(products).for_each(|(area, product)| *area += product);
        }
    }

    /// Moves everything into the sums. θ must be up to date, with decays `products`.
    pub(super) fn settle(&mut self, theta: &[f64], prior: &Prior, products: [f64; 2]) {
        if self.area != [0.0; 2] {
            for (i, (sum, x)) in self.sums.iter_mut().zip(theta).enumerate() {
                let kind = prior.kind(i);
                *sum += self.area[kind] / products[kind] * (x - prior.mean(i));
            }
            self.area = [0.0; 2];
        }
    }

    /// The mean of the iterates, if there are any. Everything must be settled.
    pub(super) fn mean(&self, prior: &Prior) -> Option<Vec<f64>> {
        let mean = |(i, sum): (usize, &f64)| prior.mean(i) + sum / self.count;
        (self.count > 0.0).then(|| self.sums.iter().enumerate().map(mean).collect())
    }

    pub(super) fn save(&self, state: &mut State) {
        state.vectors.insert("sums".into(), self.sums.clone());
        for (name, number) in [("averaged", self.count), ("area", self.area[0]), ("area_pairs", self.area[1])]
        {
            state.numbers.insert(name.into(), number);
        }
    }

    /// After `steps` steps in all.
    pub(super) fn restore(&mut self, steps: u32, state: &mut Restored) -> Result<()> {
        self.sums = state.vector("sums", state.theta().len(), 0.0, finite)?;
        self.count = state.count("averaged", steps.into())? as f64;
        for (area, name) in self.area.iter_mut().zip(["area", "area_pairs"]) {
            *area = state.number(name, 0.0, not_negative)?;
        }
        Ok(())
    }
}
