//! Piecewise training of a chain, with pieces of label pairs with or without node tables.
//!
//! If all pairs share one table, Z of a piece needs no table of its own. With M = exp w, and ū the node tables:
//! - pair and right node: Z = Σ_j exp(ū_t(j))·Σ_i M(i, j), with the column sums of M computed once per θ. The
//!   probability of a pair is p(j)·M(i, j)/Σ_i M(i, j), so only Σ_t p(j) is stored until
//!   [`crate::graph::SharedSum::finish`];
//! - pair and both nodes: Z = aᵀMb with a = exp ū_{t−1}, b = exp ū_t, by the kernels of forward-backward.

use super::rows::Rows;
use super::{Gold, Likelihood, Loss, Pieces, Piecewise, chain_windows, piecewise};
use crate::ability::Ability;
use crate::graph::{BEGIN, Chain, END, Gradient, PAIR, Psi};
use crate::infer::{ForwardBackward, Inference};
use crate::math::{Array, Scalar};
use std::ops::Range;

/// ℓ = Σ over pieces of the piece's negative log-likelihood (pwpl-2007 eq. 4), on a chain, with a choice of pieces. For
/// [`Pieces::Bethe`] it is the loss of the pieces, without the correction of [`super::BethePieces`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ChainPiecewise {
    /// How the chain is cut into pieces.
    pub pieces: Pieces,
}

/// aᵀMb is at least exp(−spread), and 500 leaves ample room above the smallest f64 (e^−708). Beyond it, the table of
/// the piece is built.
const SAFE_SPREAD: f64 = 500.0;

/// Scratch for [`ChainPiecewise`].
#[derive(Debug)]
pub struct Work<S: Scalar> {
    /// ū: node tables including the tables of the first and the last label, one row per node.
    nodes: Rows<S>,
    /// The table of one piece.
    table: Rows<S>,
    /// a/Z of every piece `[pieces][stride]`.
    alpha: Array<S>,
    /// A product with M, and that product times the other side.
    product: [Array<S>; 2],
    factors: piecewise::Work<S>,
    whole: <ForwardBackward as Inference>::Work<S>,
    windows: chain_windows::Work<S>,
}

impl<S: Scalar> Default for Work<S> {
    fn default() -> Self {
        Work {
            nodes: Rows::default(),
            table: Rows::default(),
            alpha: Array::default(),
            product: [Array::default(), Array::default()],
            factors: piecewise::Work::default(),
            whole: Default::default(),
            windows: Default::default(),
        }
    }
}

impl Loss for ChainPiecewise {
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
            Pieces::Factor => return Piecewise::default().loss(chain, psi, gold, out, &mut work.factors),
            Pieces::Window(pairs) => {
                return chain_windows::piecewise(chain, pairs.get(), psi, gold, out, &mut work.windows);
            }
            // A chain is one tree. It has no rows, columns or named pieces; `train` rejects those.
            Pieces::Trees | Pieces::Rows | Pieces::Columns | Pieces::File => {
                return Likelihood(ForwardBackward).loss(chain, psi, gold, out, &mut work.whole);
            }
            Pieces::Edge | Pieces::SharedUnary | Pieces::Bethe => {}
        }
        out.own.fill(0.0);
        if chain.len == 0 {
            return S::lift(0.0);
        }
        // The pairs (t−1, t) whose pieces contain both nodes; all later pieces contain only the right node.
        let both = match self.pieces {
            Pieces::SharedUnary | Pieces::Bethe => 1..chain.len,
            _ => 1..chain.len.min(2),
        };
        let log_z = log_z(chain, psi, both, gold.weight, out, work);
        let score = take_gold(self.pieces, chain, psi, gold, out);
        // The tables of the first and the last label go with the node tables of the first and the last node.
        for (table, t) in [(BEGIN, 0), (END, chain.len - 1)] {
            for j in 0..chain.labels {
                out.shared.0[table].direct.add(j, out.own.at(t * chain.stride() + j));
            }
        }
        (log_z - score) * S::lift(gold.weight)
    }
}

/// Returns Σ log Z of all pieces. Adds their weighted marginals to `out`, except those of the tables of the first and
/// the last label.
fn log_z<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    both: Range<usize>,
    weight: f64,
    out: &mut Gradient<S>,
    work: &mut Work<S>,
) -> S {
    let (len, labels, stride) = (chain.len, chain.labels, chain.stride());
    let pair = &psi.shared[PAIR];
    let nodes = &mut work.nodes;
    nodes.resize(len, labels);
    for t in 0..len {
        nodes.clear(t, labels);
        nodes.add(t, psi.own.slice(t * stride..t * stride + labels));
    }
    nodes.add(0, psi.shared[BEGIN].log.slice(0..labels));
    nodes.add(len - 1, psi.shared[END].log.slice(0..labels));
    if !chain.own_pairs {
        for t in both.end..len {
            nodes.add(t, pair.columns.slice(0..labels));
        }
    }
    let spread = nodes.exp(len, labels);
    let mut log_z = S::lift(0.0);
    if len == 1 {
        log_z += nodes.log_sum(0..1, weight);
        nodes.add_to(0, out.own.part(0..labels));
    }
    if chain.own_pairs {
        for t in 1..len {
            log_z += table(chain, psi, t, both.contains(&t), weight, out, work);
        }
        return log_z;
    }
    for t in both.end..len {
        log_z += nodes.log_sum(t..t + 1, weight);
        nodes.add_to(t, out.own.part(t * stride..t * stride + labels));
        nodes.add_to(t, out.shared.0[PAIR].columns(pair).slice_mut(0..labels));
    }
    if 2.0 * spread + pair.spread < SAFE_SPREAD {
        log_z += products(chain, psi, both, weight, out, work);
    } else {
        for t in both {
            log_z += table(chain, psi, t, true, weight, out, work);
        }
    }
    log_z
}

/// Pieces of a pair and both its nodes: Z = aᵀMb. [`crate::graph::SharedSum::finish`] applies the factor M of their
/// marginals a·bᵀ ∘ M/Z later.
fn products<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    edges: Range<usize>,
    weight: f64,
    out: &mut Gradient<S>,
    work: &mut Work<S>,
) -> S {
    let (labels, stride) = (chain.labels, chain.stride());
    let (pair, one) = (&psi.shared[PAIR], S::lift(1.0));
    let Work { nodes, alpha, product: [product, weighed], .. } = work;
    alpha.reset(edges.len() * stride, 0.0);
    product.reserve(stride);
    weighed.reserve(stride);
    let mut log_z = S::lift(0.0);
    for t in edges.clone() {
        let (a, b) = (nodes.exps(t - 1..t), nodes.exps(t..t + 1));
        let z = match &pair.sparse {
            Some(sparse) => {
                sparse.from_left(pair, a.part(0..labels), product.slice_mut(0..stride));
                S::multiply(product.slice(0..stride), b, weighed.slice_mut(0..stride));
                weighed.slice(0..stride).sum()
            }
            None => {
                let m = pair.exp.slice(0..labels * stride);
                S::advance(a.part(0..labels), m, one, b, weighed.slice_mut(0..stride))
            }
        };
        log_z += S::lift(nodes.shift(t - 1) + nodes.shift(t) + pair.shift) + z.ln();
        let scale = S::lift(weight) / z;
        S::axpy(scale, weighed.slice(0..labels), out.own.part(t * stride..t * stride + labels));
        match &pair.sparse {
            Some(sparse) => {
                sparse.from_right(pair, b.part(0..labels), product.slice_mut(0..stride));
                S::multiply(product.slice(0..stride), a, weighed.slice_mut(0..stride));
            }
            None => {
                let mt = pair.exp_t.slice(0..labels * stride);
                S::advance(b.part(0..labels), mt, one, a, weighed.slice_mut(0..stride));
            }
        }
        let left = (t - 1) * stride;
        S::axpy(scale, weighed.slice(0..labels), out.own.part(left..left + labels));
        let row = (t - edges.start) * stride;
        S::axpy(one / z, a, alpha.slice_mut(row..row + stride));
    }
    let (alpha, b) = (alpha.slice(0..edges.len() * stride), nodes.exps(edges));
    let sum = &mut out.shared.0[PAIR];
    match &pair.sparse {
        Some(sparse) => sparse.outer_add(weight, alpha, b, stride, sum.pairs.slice_mut(0..sparse.sums())),
        None => S::outer_add(weight, alpha, b, labels, sum.outer.slice_mut(0..labels * stride)),
    }
    log_z
}

/// The piece of (t−1, t) as a table `[labels][labels]`, for own pair tables and for scores of any size.
fn table<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    t: usize,
    with_left: bool,
    weight: f64,
    out: &mut Gradient<S>,
    work: &mut Work<S>,
) -> S {
    let (labels, stride) = (chain.labels, chain.stride());
    let Work { nodes, table, .. } = work;
    table.resize(labels, labels);
    for i in 0..labels {
        table.clear(i, labels);
        table.add(i, psi.shared[PAIR].log.slice(i * stride..i * stride + labels));
        table.add(i, nodes.scores(t).part(0..labels));
        if chain.own_pairs {
            let row = chain.pair_offset(t) + i * stride;
            table.add(i, psi.own.slice(row..row + labels));
        }
        if with_left {
            let left = nodes.score(t - 1, i);
            let mut row = table.row(i);
            (0..labels).for_each(|j| row.add(j, left));
        }
    }
    table.exp(labels, labels);
    let log_z = table.log_sum(0..labels, weight);
    for i in 0..labels {
        table.add_to(i, out.own.part(t * stride..t * stride + labels));
        table.add_to(i, out.shared.0[PAIR].direct.slice_mut(i * stride..i * stride + labels));
        if chain.own_pairs {
            let row = chain.pair_offset(t) + i * stride;
            table.add_to(i, out.own.part(row..row + labels));
        }
        if with_left {
            out.own.add((t - 1) * stride + i, table.total(i));
        }
    }
    log_z
}

/// Subtracts the gold labels from the gradient, except for the tables of the first and the last label. Returns the
/// sum of their scores over the pieces, including all tables.
fn take_gold<S: Scalar>(pieces: Pieces, chain: &Chain, psi: Psi<S>, gold: Gold, out: &mut Gradient<S>) -> S {
    let (stride, last) = (chain.stride(), chain.len - 1);
    let weight = S::lift(gold.weight);
    let mut score = S::lift(0.0);
    for t in 0..chain.len {
        let j = gold.labels[t] as usize;
        let mut node = psi.own.get(t * stride + j);
        if t == 0 {
            node += psi.shared[BEGIN].log.get(j);
        }
        if t == last {
            node += psi.shared[END].log.get(j);
        }
        // With shared-unary pieces, an inner node is in two pieces. In all other cases a node is in one.
        let twice = matches!(pieces, Pieces::SharedUnary | Pieces::Bethe) && 0 < t && t < last;
        let times = if twice { 2.0 } else { 1.0 };
        score += node * S::lift(times);
        out.own.add(t * stride + j, -weight * S::lift(times));
        if t > 0 {
            let entry = gold.labels[t - 1] as usize * stride + j;
            score += psi.shared[PAIR].log.get(entry);
            out.shared.0[PAIR].direct.add(entry, -weight);
            if chain.own_pairs {
                score += psi.own.get(chain.pair_offset(t) + entry);
                out.own.add(chain.pair_offset(t) + entry, -weight);
            }
        }
    }
    score
}
