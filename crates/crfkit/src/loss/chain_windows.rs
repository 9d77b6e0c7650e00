//! Windows of a chain as pieces: a fixed number of consecutive pairs, with exact inference in each window.
//!
//! Window k has the pairs (t−1, t) with kn < t ≤ (k+1)n, and the node tables of their right nodes. The first window
//! also has the node table of the first node. The first node of a later window is a copy of the last node of the
//! previous window, and has no table there.

use super::conditionals::Work as ConditionalWork;
use super::{Conditionals, Gold, Likelihood, Loss};
use crate::graph::{BEGIN, Chain, END, Factor, Gradient, Graph, Psi};
use crate::infer::{ForwardBackward, Inference};
use crate::math::{Array, Scalar};

/// Scratch for [`piecewise`].
#[derive(Debug)]
pub(super) struct Work<S: Scalar> {
    /// ψ and dψ of one window.
    own: Array<S>,
    dpsi: Array<S>,
    engine: <ForwardBackward as Inference>::Work<S>,
}

impl<S: Scalar> Default for Work<S> {
    fn default() -> Self {
        Work { own: Array::default(), dpsi: Array::default(), engine: Default::default() }
    }
}

/// The first and the last node of every window of `pairs` pairs. A chain of one node is one window.
fn windows(len: usize, pairs: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = (0..len.saturating_sub(1).max(len.min(1))).step_by(pairs);
    starts.map(move |first| (first, first.saturating_add(pairs).min(len - 1)))
}

/// Σ over windows of the window's negative log-likelihood.
pub(super) fn piecewise<S: Scalar>(
    chain: &Chain,
    pairs: usize,
    psi: Psi<S>,
    gold: Gold,
    out: &mut Gradient<S>,
    work: &mut Work<S>,
) -> S {
    let (labels, stride) = (chain.labels, chain.stride());
    out.own.fill(0.0);
    let mut value = S::lift(0.0);
    for (first, last) in windows(chain.len, pairs) {
        let window = Chain { len: last - first + 1, ..*chain };
        let Work { own, dpsi, engine } = work;
        fill(chain, [first, last], &window, psi, own);
        dpsi.reset(window.own_len(), 0.0);
        let gold = Gold {
            labels: &gold.labels[first..=last],
            variables: gold.variables.get(first..=last).unwrap_or_default(),
            ..gold
        };
        let mut inner = Gradient { own: dpsi.slice_mut(0..window.own_len()), shared: &mut *out.shared };
        value += Likelihood(ForwardBackward).loss(&window, Psi { own, ..psi }, gold, &mut inner, engine);
        // Entries that `fill` has cancelled are cancelled in the gradient as well.
        for (table, t, cut) in [(BEGIN, 0, first > 0), (END, window.len - 1, last + 1 < chain.len)] {
            for j in (0..labels).filter(|_| cut) {
                out.shared.0[table].direct.add(j, -dpsi.get(t * stride + j));
            }
        }
        let one = S::lift(1.0);
        let lines = Lines { chain, first, window: &window };
        lines.for_each(|from, to| {
            S::axpy(one, dpsi.slice(to..to + labels), out.own.part(from..from + labels));
        });
    }
    value
}

/// The rows of labels of its chain that a window contains.
struct Lines<'a> {
    chain: &'a Chain,
    first: usize,
    window: &'a Chain,
}

impl Lines<'_> {
    /// Calls `visit` with the position of each row in the chain's own array and in the window's.
    fn for_each(&self, mut visit: impl FnMut(usize, usize)) {
        let &Lines { chain, first, window } = self;
        let stride = chain.stride();
        // A node table belongs to the window in which its node is a right node.
        for t in usize::from(first > 0)..window.len {
            visit((first + t) * stride, t * stride);
        }
        for t in (1..window.len).filter(|_| chain.own_pairs) {
            for i in 0..chain.labels {
                visit(chain.pair_offset(first + t) + i * stride, window.pair_offset(t) + i * stride);
            }
        }
    }
}

/// ψ of a window. The engine reads the tables of the first and the last label at both ends of the window. If an end
/// is not an end of the chain, the node table there cancels them.
fn fill<S: Scalar>(
    chain: &Chain,
    [first, last]: [usize; 2],
    window: &Chain,
    psi: Psi<S>,
    own: &mut Array<S>,
) {
    let (labels, stride, one) = (chain.labels, chain.stride(), S::lift(1.0));
    own.reset(window.own_len(), 0.0);
    window.clear_own(own.plane_mut(0));
    Lines { chain, first, window }.for_each(|from, to| {
        S::axpy(one, psi.own.slice(from..from + labels), own.slice_mut(to..to + labels));
    });
    for (table, t, cut) in [(BEGIN, 0, first > 0), (END, window.len - 1, last + 1 < chain.len)] {
        let row = own.slice_mut(t * stride..t * stride + labels);
        if cut {
            S::axpy(-one, psi.shared[table].log.slice(0..labels), row);
        }
    }
}

/// Σ over windows of the window's pseudolikelihood.
pub(super) fn piecewise_pseudo<S: Scalar>(
    chain: &Chain,
    pairs: usize,
    psi: Psi<S>,
    gold: Gold,
    out: &mut Gradient<S>,
    work: &mut ConditionalWork<S>,
) -> S {
    Windows { pairs }.loss(chain, psi, gold, out, work)
}

/// The conditionals of the nodes that have a table, then those of first nodes that have none.
struct Windows {
    pairs: usize,
}

impl Conditionals for Windows {
    type Graph = Chain;

    fn for_each(&self, chain: &Chain, mut visit: impl FnMut(usize, &Factor, usize)) {
        chain.for_each_factor(|factor| match *factor.vars {
            [left, right] => {
                visit(right, &factor, 1);
                let copy = left > 0 && left % self.pairs == 0;
                visit(if copy { chain.len + left / self.pairs } else { left }, &factor, 0);
            }
            [v] => visit(v, &factor, 0),
            _ => unreachable!("factors of a chain have one variable or two"),
        });
    }
}
