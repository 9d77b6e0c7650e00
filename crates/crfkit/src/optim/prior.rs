//! The Gaussian prior on the weights.

use std::ops::Range;

/// The centre of the prior (ctjpgis-psa-2007 section 2).
#[derive(Clone, Debug, PartialEq)]
pub enum Mean {
    /// One value for all weights, usually 0.
    Value(f64),
    /// A vector, such as the weights of an earlier model.
    Vector(Vec<f64>),
}

/// Σ (θᵢ − mᵢ)²/2σᵢ² with one σ for the weights of single labels and one for those of label pairs (smd-crf-2006 eq. 7
/// and section 2.6). σ = ∞ switches it off.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// σ of weights below `first_pair`.
    pub sigma: f64,
    /// σ of the other weights.
    pub sigma_pairs: f64,
    /// The index of the first weight of a label pair.
    pub first_pair: usize,
    /// The centre of the prior.
    pub mean: Mean,
}

impl Prior {
    /// A prior with one σ, centred at 0.
    pub fn gaussian(sigma: f64) -> Self {
        Prior { sigma, sigma_pairs: sigma, first_pair: usize::MAX, mean: Mean::Value(0.0) }
    }

    /// 0 for a weight of a single label, 1 for one of a label pair.
    #[inline]
    #[doc(hidden)]
    pub fn kind(&self, i: usize) -> usize {
        usize::from(i >= self.first_pair)
    }

    /// Advice for a run whose numbers have become infinite, where `usual` is what to do about weights that grow too large. Under a very
    /// narrow prior the penalty is what grows, and even the usual advice would make it worse.
    pub(crate) fn advice<'a>(&self, usual: &'a str) -> &'a str {
        const NARROW: f64 = 1e-2;
        match self.sigma.min(self.sigma_pairs) < NARROW {
            true => "use a larger `sigma`: the penalty on the weights is too strong",
            false => usual,
        }
    }

    /// 1/σᵢ².
    #[inline]
    pub fn precision(&self, i: usize) -> f64 {
        1.0 / self.variance(i)
    }

    /// 1/σ² of weights of single labels and of label pairs, by [`Prior::kind`].
    pub(super) fn precisions(&self) -> [f64; 2] {
        [self.sigma, self.sigma_pairs].map(|sigma| 1.0 / (sigma * sigma))
    }

    /// σᵢ².
    #[inline]
    pub fn variance(&self, i: usize) -> f64 {
        let sigma = if i < self.first_pair { self.sigma } else { self.sigma_pairs };
        sigma * sigma
    }

    /// mᵢ.
    #[inline]
    pub fn mean(&self, i: usize) -> f64 {
        match &self.mean {
            Mean::Value(m) => *m,
            Mean::Vector(m) => m[i],
        }
    }

    /// Adds `share` × the gradient of the penalty at `weights`, which start at weight `first` and are all of one
    /// kind.
    #[inline]
    #[doc(hidden)]
    pub fn pull(&self, share: f64, first: usize, weights: &[f64], gradient: &mut [f64]) {
        let pull = share * self.precision(first);
        match &self.mean {
            Mean::Value(mean) => {
                for (g, x) in gradient.iter_mut().zip(weights) {
                    *g += pull * (x - mean);
                }
            }
            Mean::Vector(means) => {
                for ((g, x), mean) in gradient.iter_mut().zip(weights).zip(&means[first..]) {
                    *g += pull * (x - mean);
                }
            }
        }
    }

    /// The penalty at θ.
    pub fn value(&self, theta: &[f64]) -> f64 {
        self.visit(0..theta.len(), theta, |_, _| {})
    }

    /// Returns the penalty at θ and adds its gradient.
    pub fn add(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.add_part(theta, 0..theta.len(), gradient)
    }

    /// Returns the penalty of the weights in `range`, and adds its gradient to `gradient`, which has the length of the range.
    pub(super) fn add_part(&self, theta: &[f64], range: Range<usize>, gradient: &mut [f64]) -> f64 {
        let first = range.start;
        self.visit(range, theta, |i, slope| gradient[i - first] += slope)
    }

    /// Returns the penalty of some weights and calls `each` with the slope of every one.
    #[inline]
    fn visit(&self, range: Range<usize>, theta: &[f64], mut each: impl FnMut(usize, f64)) -> f64 {
        let mut sum = 0.0;
        let split = self.first_pair.clamp(range.start, range.end);
        for (part, sigma) in [(range.start..split, self.sigma), (split..range.end, self.sigma_pairs)] {
            let precision = 1.0 / (sigma * sigma);
            // Sums over blocks: a fixed order, and small rounding errors with a million weights.
            for start in part.clone().step_by(1024) {
                let mut block = 0.0;
                for i in start..(start + 1024).min(part.end) {
                    let x = theta[i] - self.mean(i);
                    block += x * x;
                    each(i, precision * x);
                }
                sum += 0.5 * precision * block;
            }
        }
        sum
    }
}
