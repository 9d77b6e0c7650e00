//! Random choice by weight.

use crate::math::random::Random;

/// Items with weights, as a tree of sums and maxima. Changing a weight and drawing an item cost O(log n). Inner nodes
/// depend on the leaves alone, so a rebuilt tree draws the same items.
pub(super) struct Sampler {
    /// The number of leaves, a power of two. The leaves follow the inner nodes; node k is the parent of 2k and 2k +
    /// 1.
    leaves: usize,
    items: usize,
    sum: Vec<f64>,
    max: Vec<f64>,
}

impl Sampler {
    pub(super) fn new(weights: &[f64]) -> Self {
        let leaves = weights.len().next_power_of_two();
        let mut sum = vec![0.0; 2 * leaves];
        sum[leaves..leaves + weights.len()].copy_from_slice(weights);
        let mut sampler = Sampler { leaves, items: weights.len(), max: sum.clone(), sum };
        for node in (1..leaves).rev() {
            sampler.update(node);
        }
        sampler
    }

    fn update(&mut self, node: usize) {
        self.sum[node] = self.sum[2 * node] + self.sum[2 * node + 1];
        self.max[node] = self.max[2 * node].max(self.max[2 * node + 1]);
    }

    /// Changes a weight, which must not be negative.
    pub(super) fn set(&mut self, item: usize, weight: f64) {
        let mut node = self.leaves + item;
        self.sum[node] = weight;
        self.max[node] = weight;
        while node > 1 {
            node /= 2;
            self.update(node);
        }
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.sum[self.leaves..self.leaves + self.items]
    }

    pub(super) fn total(&self) -> f64 {
        self.sum[1]
    }

    pub(super) fn max(&self) -> f64 {
        self.max[1]
    }

    /// Draws an item: with probability `uniform` uniformly, otherwise by weight.
    pub(super) fn draw(&self, uniform: f64, random: &mut Random) -> usize {
        let by_weight = random.uniform() >= uniform && self.total() > 0.0 && self.total().is_finite();
        if !by_weight {
            return random.below(self.items);
        }
        let mut rest = random.uniform() * self.total();
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            // Rounding must not lead into a subtree without weight.
            if rest >= self.sum[node] && self.sum[node + 1] > 0.0 {
                rest -= self.sum[node];
                node += 1;
            }
        }
        node - self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_by_weight() {
        let mut sampler = Sampler::new(&[1.0, 1.0, 7.0, 2.0, 5.0]);
        sampler.set(2, 0.0);
        sampler.set(0, 2.0);
        assert_eq!((sampler.total(), sampler.max()), (10.0, 5.0));
        let mut random = Random::new(1);
        let mut counts = [0; 5];
        for _ in 0..100_000 {
            counts[sampler.draw(0.5, &mut random)] += 1;
        }
        for (count, weight) in counts.into_iter().zip(sampler.weights()) {
            let expected = 100_000.0 * (0.5 / 5.0 + 0.5 * weight / 10.0);
            assert!((count as f64 - expected).abs() < 5.0 * expected.sqrt(), "{counts:?}");
        }
    }

    #[test]
    fn draws_uniformly_without_weights() {
        let sampler = Sampler::new(&[0.0; 3]);
        let mut random = Random::new(1);
        assert!((0..100).any(|_| sampler.draw(0.0, &mut random) == 2));
    }
}
