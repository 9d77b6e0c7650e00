//! The paths among which the n best labellings are searched for.

use super::viterbi::{Work, forward};
use crate::graph::{Chain, Psi};

/// The labellings that a search ranks, each of which is one path of states. A state has a label, and at most one state with a given label
/// comes before it. On all labellings of a chain, states are labels.
pub(super) trait Paths {
    /// The chain.
    fn chain(&self) -> &Chain;

    /// Its log-potentials.
    fn psi(&self) -> Psi<'_, f64>;

    /// The number of states of a position.
    fn states(&self) -> usize;

    /// The label of a state.
    fn label(&self, state: usize) -> usize;

    /// The state with this label at t − 1 that comes before a state at t, if there is one and a path leads to it; t = T is the end, which
    /// is one state.
    fn before(&self, t: usize, state: usize, label: usize) -> Option<usize>;

    /// δ_t(state): the score of the best path up to a state, the table of its label included.
    fn delta(&self, t: usize, state: usize) -> f64;
}

/// All labellings of a chain.
pub(super) struct AllPaths<'a> {
    chain: &'a Chain,
    psi: Psi<'a, f64>,
    work: Work,
}

impl<'a> AllPaths<'a> {
    pub(super) fn new(chain: &'a Chain, psi: Psi<'a, f64>) -> Self {
        let mut work = Work::default();
        if chain.len > 0 && chain.labels > 0 {
            forward(chain, psi, &mut work);
        }
        AllPaths { chain, psi, work }
    }
}

impl Paths for AllPaths<'_> {
    fn chain(&self) -> &Chain {
        self.chain
    }

    fn psi(&self) -> Psi<'_, f64> {
        self.psi
    }

    fn states(&self) -> usize {
        self.chain.labels
    }

    fn label(&self, state: usize) -> usize {
        state
    }

    fn before(&self, _t: usize, _state: usize, label: usize) -> Option<usize> {
        Some(label)
    }

    fn delta(&self, t: usize, state: usize) -> f64 {
        self.work.delta(self.chain, t, state)
    }
}
