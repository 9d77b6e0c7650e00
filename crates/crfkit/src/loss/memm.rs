//! Maximum-entropy Markov models: local normalisation along a chain.

use super::Conditionals;
use crate::decode::Direction;
use crate::graph::{Chain, Factor, Graph};

/// Forward: ℓ = −Σ_t log p(y_t | y_{t−1}) with p(j | i) ∝ exp(u_t(j) + w(i, j)); the first label is conditioned on
/// nothing. Backward: the same from the last label to the first, with p(y_t | y_{t+1}) (pwpl-2007 section 5). The
/// table of the first label counts as part of the first node's table, and that of the last label as part of the last
/// node's.
///
/// A model trained with this loss must be decoded with the same normalisation: see [`crate::decode::MemmViterbi`].
#[derive(Clone, Copy, Debug)]
pub struct Memm(pub Direction);

impl Conditionals for Memm {
    type Graph = Chain;

    #[inline]
    fn for_each(&self, chain: &Chain, mut visit: impl FnMut(usize, &Factor, usize)) {
        chain.for_each_factor(|factor| {
            let k = match self.0 {
                Direction::Forward => factor.vars.len() - 1,
                Direction::Backward => 0,
            };
            visit(factor.vars[k], &factor, k);
        });
    }
}
