//! Besag's pseudolikelihood.

use super::Conditionals;
use crate::graph::{Factor, Graph};
use std::marker::PhantomData;

/// ℓ = −Σ_v log p(y_v | gold labels of all its neighbours) (smd-crf-2006 eq. 13–15, pwpl-2007 eq. 3), on any graph. A
/// variable that is in no factor is left out: its contribution does not depend on θ.
#[derive(Clone, Copy, Debug)]
pub struct Pseudolikelihood<G>(PhantomData<fn() -> G>);

impl<G> Default for Pseudolikelihood<G> {
    fn default() -> Self {
        Pseudolikelihood(PhantomData)
    }
}

impl<G: Graph> Conditionals for Pseudolikelihood<G> {
    type Graph = G;

    #[inline]
    fn for_each(&self, graph: &G, mut visit: impl FnMut(usize, &Factor, usize)) {
        graph.for_each_factor(|factor| {
            for (k, &v) in factor.vars.iter().enumerate() {
                visit(v, &factor, k);
            }
        });
    }
}
