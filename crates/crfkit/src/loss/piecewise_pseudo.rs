//! Piecewise pseudolikelihood: the pseudolikelihood of each piece by itself.

use super::{Conditionals, Pieces};
use crate::graph::{Chain, Factor, Graph};
use std::marker::PhantomData;

/// ℓ = −Σ_a Σ_{v∈a} log p(y_v | gold labels of a's other variables), each factor a by itself (pwpl-2007 eq. 6–7), on any graph.
#[derive(Clone, Copy, Debug)]
pub struct PiecewisePseudolikelihood<G>(PhantomData<fn() -> G>);

impl<G> Default for PiecewisePseudolikelihood<G> {
    fn default() -> Self {
        PiecewisePseudolikelihood(PhantomData)
    }
}

impl<G: Graph> Conditionals for PiecewisePseudolikelihood<G> {
    type Graph = G;

    fn for_each(&self, graph: &G, mut visit: impl FnMut(usize, &Factor, usize)) {
        let mut conditionals = 0;
        graph.for_each_factor(|factor| {
            for k in 0..factor.vars.len() {
                visit(conditionals, &factor, k);
                conditionals += 1;
            }
        });
    }
}

/// The same on a chain, with a choice of pieces.
///
/// With [`Pieces::SharedUnary`] the conditionals are those of the forward and the backward [`super::Memm`] but for the first
/// and the last node given nothing, which lie in no pair (pwpl-2007 eq. 13). With [`Pieces::Edge`] the backward ones
/// p(y_{t−1} | y_t) do without node t−1's own table.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChainPiecewisePseudolikelihood {
    /// What a piece is.
    pub pieces: Pieces,
}

impl Conditionals for ChainPiecewisePseudolikelihood {
    type Graph = Chain;

    #[inline]
    fn for_each(&self, chain: &Chain, mut visit: impl FnMut(usize, &Factor, usize)) {
        if self.pieces == Pieces::Factor {
            return PiecewisePseudolikelihood::default().for_each(chain, visit);
        }
        // The pair (t−1, t) has conditional 2t−2 for its right node and 2t−1 for its left one.
        chain.for_each_factor(|factor| match *factor.vars {
            [left, right] => {
                visit(2 * right - 2, &factor, 1);
                visit(2 * left + 1, &factor, 0);
            }
            [v] => {
                if v > 0 {
                    visit(2 * v - 2, &factor, 0);
                }
                if v + 1 < chain.len && (v == 0 || self.pieces == Pieces::SharedUnary) {
                    visit(2 * v + 1, &factor, 0);
                }
                if chain.len == 1 {
                    visit(0, &factor, 0);
                }
            }
            _ => unreachable!("a chain has factors of one or two variables"),
        });
    }
}
