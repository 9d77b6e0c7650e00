//! Piecewise pseudolikelihood: the pseudolikelihood of each piece by itself.

use super::conditionals::Work;
use super::{Conditionals, Gold, Loss, Pieces, Pseudolikelihood, chain_windows};
use crate::ability::Ability;
use crate::graph::{Chain, Factor, Gradient, Graph, PAIR, Psi};
use crate::math::Scalar;
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

/// Piecewise pseudolikelihood on a chain, with a choice of pieces.
///
/// With [`Pieces::SharedUnary`] the conditionals are those of the forward and the backward [`super::Memm`] (pwpl-2007
/// eq. 13), except those of the first and the last node conditioned on nothing, which are in no pair. With
/// [`Pieces::Edge`] the backward conditionals p(y_{t−1} | y_t) do not use the own table of node t−1.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChainPiecewisePseudolikelihood {
    /// How the chain is cut into pieces.
    pub pieces: Pieces,
}

impl Loss for ChainPiecewisePseudolikelihood {
    type Graph = Chain;
    type Work<S: Scalar> = Work<S>;

    fn provides(&self) -> &'static [Ability] {
        &[Ability::Smooth, Ability::HessVec]
    }

    fn loss<S: Scalar>(
        &self,
        chain: &Chain,
        psi: Psi<S>,
        gold: Gold,
        out: &mut Gradient<S>,
        work: &mut Work<S>,
    ) -> S {
        match self.pieces {
            Pieces::Factor => PiecewisePseudolikelihood::default().loss(chain, psi, gold, out, work),
            Pieces::Window(pairs) => {
                chain_windows::piecewise_pseudo(chain, pairs.get(), psi, gold, out, work)
            }
            Pieces::Trees | Pieces::Rows | Pieces::Columns | Pieces::File => {
                Pseudolikelihood::default().loss(chain, psi, gold, out, work)
            }
            // `train` rejects the correction of Bethe here: it is one of log Z.
            Pieces::SharedUnary | Pieces::Bethe => {
                Ends { shared_unary: true }.loss(chain, psi, gold, out, work)
            }
            Pieces::Edge => {
                let value = Ends { shared_unary: false }.loss(chain, psi, gold, out, work);
                value + lone_columns(chain, psi, gold, out)
            }
        }
    }
}

/// Whether the piece (t−1, t) predicts its left node from the shared table alone. Then −log p(y_{t−1} | y_t) is the
/// log-sum of a column minus one entry.
fn lone_column(chain: &Chain, t: usize) -> bool {
    t > 1 && !chain.own_pairs
}

/// Σ −log p(y_{t−1} | y_t) over the pieces that use the shared table alone, in O(1) each.
fn lone_columns<S: Scalar>(chain: &Chain, psi: Psi<S>, gold: Gold, out: &mut Gradient<S>) -> S {
    let (table, sum) = (&psi.shared[PAIR], &mut out.shared.0[PAIR]);
    let mut value = S::lift(0.0);
    for t in (1..chain.len).filter(|&t| lone_column(chain, t)) {
        let (i, j) = (gold.labels[t - 1] as usize, gold.labels[t] as usize);
        let entry = i * table.stride + j;
        let weight = S::lift(gold.weight * gold.variable_weight(t - 1));
        value += (table.columns.get(j) - table.log.get(entry)) * weight;
        sum.columns(table).add(j, weight);
        sum.direct.add(entry, -weight);
    }
    value
}

/// The conditionals of both ends of every pair, except those that [`lone_columns`] handles. The right nodes of the
/// pairs come first, then the left ones.
struct Ends {
    shared_unary: bool,
}

impl Conditionals for Ends {
    type Graph = Chain;

    #[inline]
    fn for_each(&self, chain: &Chain, mut visit: impl FnMut(usize, &Factor, usize)) {
        let pairs = chain.len.saturating_sub(1);
        chain.for_each_factor(|factor| match *factor.vars {
            [left, right] => {
                visit(right - 1, &factor, 1);
                if self.shared_unary || !lone_column(chain, right) {
                    visit(pairs + left, &factor, 0);
                }
            }
            [v] => {
                if v > 0 {
                    visit(v - 1, &factor, 0);
                }
                if v < pairs && (v == 0 || self.shared_unary) {
                    visit(pairs + v, &factor, 0);
                }
                if chain.len == 1 {
                    visit(0, &factor, 0);
                }
            }
            _ => unreachable!("a chain has factors of one or two variables"),
        });
    }
}
