//! Tables over the states of a slice, column by column.

use crate::graph::{Psi, Slices};
use crate::infer::exponentials::{Exponentials, Matrix};
use crate::math::{Array, Scalar, Slice, SliceMut, simd};

/// A table over states from the point of view of column `k`: `[outer][card][inner]`.
#[derive(Clone, Copy)]
struct View {
    outer: usize,
    card: usize,
    inner: usize,
}

/// Length of a table over states.
pub(super) fn size(slices: &Slices) -> usize {
    let view = View::new(slices, 0);
    view.outer * view.card * view.inner
}

impl View {
    fn new(slices: &Slices, k: usize) -> Self {
        let (last, others) = slices.cards.split_last().expect("a slice has a column");
        match k == others.len() {
            // The labels of the last column form a row, so `inner` is 1 and `card` includes the padding.
            true => View { outer: others.iter().product(), card: simd::padded(*last), inner: 1 },
            false => View {
                outer: others[..k].iter().product(),
                card: others[k],
                inner: others[k + 1..].iter().product::<usize>() * simd::padded(*last),
            },
        }
    }
}

/// The matrix of one column between two slices.
pub(super) struct Step<'a, S> {
    view: View,
    last: bool,
    card: usize,
    m: Slice<'a, S>,
    mt: Slice<'a, S>,
}

impl<'a, S: Scalar> Step<'a, S> {
    pub(super) fn new(
        exp: &'a Exponentials<S>,
        psi: Psi<'a, S>,
        slices: &Slices,
        t: usize,
        k: usize,
    ) -> Self {
        let (card, columns) = (slices.cards[k], slices.cards.len());
        let (m, mt) = matrices(exp, psi, slices.across[(t - 1) * columns + k], [card; 2]);
        Step { view: View::new(slices, k), last: k + 1 == columns, card, m, mt }
    }

    /// out ← (`from` with the column's label summed out from the left by M) ∘ e. Returns Σ out.
    pub(super) fn forward(&self, from: Slice<S>, e: Slice<S>, out: SliceMut<S>) -> S {
        self.contract(from, [self.m, self.mt], e, out)
    }

    /// Like [`Self::forward`], from the right.
    pub(super) fn backward(&self, from: Slice<S>, e: Slice<S>, out: SliceMut<S>) -> S {
        self.contract(from, [self.mt, self.m], e, out)
    }

    fn contract(&self, from: Slice<S>, [m, mt]: [Slice<S>; 2], e: Slice<S>, mut out: SliceMut<S>) -> S {
        let (View { outer, card, inner }, one) = (self.view, S::lift(1.0));
        let mut sum = S::lift(0.0);
        for o in 0..outer {
            let block = o * card * inner..(o + 1) * card * inner;
            if self.last {
                let row = from.part(block.start..block.start + self.card);
                sum += S::advance(row, m, one, e.part(block.clone()), out.part(block));
                continue;
            }
            for i in 0..card {
                let weights = mt.part(i * simd::padded(card)..i * simd::padded(card) + card);
                let line = block.start + i * inner..block.start + (i + 1) * inner;
                sum +=
                    S::advance(weights, from.part(block.clone()), one, e.part(line.clone()), out.part(line));
            }
        }
        sum
    }
}

/// Rearranges a table over states: the labels of column k along padded rows, one row per labelling of the other
/// columns. Overwrites `out`.
pub(super) fn turn<'a, S: Scalar>(
    slices: &Slices,
    k: usize,
    table: Slice<S>,
    out: &'a mut Array<S>,
) -> Slice<'a, S> {
    let View { outer, card, inner } = View::new(slices, k);
    let last = slices.cards[slices.cards.len() - 1];
    let (width, stride) = (simd::padded(card), simd::padded(last));
    let rows = outer * (inner / stride) * last;
    out.reset(rows * width, 0.0);
    let mut row = 0;
    for o in 0..outer {
        for x in (0..inner).filter(|x| x % stride < last) {
            for i in 0..card {
                out.set(row * width + i, table.at((o * card + i) * inner + x));
            }
            row += 1;
        }
    }
    out.slice(0..rows * width)
}

/// M of a clique and its transpose.
pub(super) fn matrices<'a, S: Scalar>(
    exp: &'a Exponentials<S>,
    psi: Psi<'a, S>,
    c: usize,
    [rows, columns]: [usize; 2],
) -> (Slice<'a, S>, Slice<'a, S>) {
    let sizes = [rows * simd::padded(columns), columns * simd::padded(rows)];
    match exp.edges[c].matrix {
        Matrix::Dense(place) => place.matrices(psi, exp, sizes),
        Matrix::Potts { .. } => unreachable!("no clique was allowed the form of Potts"),
    }
}

/// The label of column c (not the last) in a row of a table over states.
pub(super) fn row_label(cards: &[usize], row: usize, c: usize) -> usize {
    let behind: usize = cards[c + 1..cards.len() - 1].iter().product();
    row / behind % cards[c]
}
