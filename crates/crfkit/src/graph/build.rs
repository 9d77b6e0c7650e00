//! Factor graphs of familiar shapes: chains, factorial chains, skip chains, trees.
//!
//! Kinds are numbered by convention. Node tables come first, one kind for each set of labels. The kinds of pairs
//! follow, in the order in which each constructor lists them. The number of a shared pair table is the number of its
//! kind minus the number of node kinds. Node tables are never shared.

use super::{BEGIN, Chain, END, FactorGraph, FactorGraphBuilder, NODES, PAIR, PAIRS};
use crate::error::GraphError;

/// Which tables a pair of variables reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairTables {
    /// An own table for each pair: pairs have observations.
    Own,
    /// A shared table: pairs have only tied weights.
    Shared,
    /// Both; their log-potentials are added.
    Both,
}

impl PairTables {
    /// Adds the factors of one pair: a shared table with number `id`, an own table of kind `kind`.
    pub(super) fn add(
        self,
        builder: &mut FactorGraphBuilder,
        kind: usize,
        id: usize,
        vars: &[usize],
    ) -> Result<(), GraphError> {
        if self != PairTables::Own {
            builder.add_shared(id, vars)?;
        }
        if self != PairTables::Shared {
            builder.add_own(kind, vars)?;
        }
        Ok(())
    }
}

/// A chain as a factor graph, with the same own array and the same shared tables.
pub fn chain(chain: &Chain) -> Result<FactorGraph, GraphError> {
    let mut builder = FactorGraphBuilder::new(vec![chain.labels; chain.len])?;
    for t in 0..chain.len {
        builder.add_own(NODES, &[t])?;
    }
    for t in 1..chain.len {
        let pairs = if chain.own_pairs { PairTables::Both } else { PairTables::Shared };
        pairs.add(&mut builder, PAIRS, PAIR, &[t - 1, t])?;
    }
    if chain.len > 0 {
        builder.add_shared(BEGIN, &[0])?;
        builder.add_shared(END, &[chain.len - 1])?;
    }
    builder.build()
}

/// A factorial chain (pwpl-2007 section 4.2): several label columns over one sequence of `len` positions, column c with
/// `cards[c]` labels. Variable t·C + c is position t of column c, where C is the number of columns.
///
/// Kinds: C kinds of nodes, one per column; C kinds of within-chain pairs (t−1, t), one per column; then one kind for
/// each pair of columns (c, d), c < d, at the same position ("cotemporal"), in lexicographic order.
pub fn factorial_chain(len: usize, cards: &[usize], pairs: PairTables) -> Result<FactorGraph, GraphError> {
    let columns = cards.len();
    let all: Vec<usize> = (0..len).flat_map(|_| cards.iter().copied()).collect();
    let mut builder = FactorGraphBuilder::new(all)?;
    for t in 0..len {
        for c in 0..columns {
            builder.add_own(c, &[t * columns + c])?;
        }
    }
    for t in 0..len {
        for c in 0..columns {
            if t > 0 {
                let vars = [(t - 1) * columns + c, t * columns + c];
                pairs.add(&mut builder, columns + c, c, &vars)?;
            }
        }
        let mut id = columns;
        for c in 0..columns {
            for d in c + 1..columns {
                pairs.add(&mut builder, columns + id, id, &[t * columns + c, t * columns + d])?;
                id += 1;
            }
        }
    }
    builder.build()
}

/// A skip chain: a chain of `len` positions with additional pairs between any two positions. Kinds: [`NODES`],
/// [`PAIRS`] for neighbours, and 2 for the pairs in `skips`. `pairs` says which tables neighbours and skips read.
pub fn skip_chain(
    len: usize,
    labels: usize,
    skips: &[(usize, usize)],
    pairs: [PairTables; 2],
) -> Result<FactorGraph, GraphError> {
    let mut builder = FactorGraphBuilder::new(vec![labels; len])?;
    for t in 0..len {
        builder.add_own(NODES, &[t])?;
    }
    for t in 1..len {
        pairs[0].add(&mut builder, PAIRS, PAIR, &[t - 1, t])?;
    }
    for &(s, t) in skips {
        pairs[1].add(&mut builder, PAIRS + 1, PAIR + 1, &[s, t])?;
    }
    builder.build()
}

/// A forest over one set of labels: `parents[v]` is the parent of variable v. Kinds: [`NODES`] and [`PAIRS`] (parent,
/// child). This constructor does not check that the parents form a forest; the inference engine does.
pub fn tree(labels: usize, parents: &[Option<usize>], pairs: PairTables) -> Result<FactorGraph, GraphError> {
    let mut builder = FactorGraphBuilder::new(vec![labels; parents.len()])?;
    for v in 0..parents.len() {
        builder.add_own(NODES, &[v])?;
    }
    for (v, parent) in parents.iter().enumerate() {
        if let Some(parent) = *parent {
            pairs.add(&mut builder, PAIRS, PAIR, &[parent, v])?;
        }
    }
    builder.build()
}
