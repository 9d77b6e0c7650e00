//! The best labelling of a chain of slices: Viterbi over product states.
//!
//! A state is one label for each of the C columns of a slice; the last column varies fastest. Let s_t(y) be the sum
//! of all log-potentials within slice t, and A_k those of the pair of column k. Then
//!
//! V_t(y) = s_t(y) + max_{y′} [V_{t−1}(y′) + Σ_k A_k(y′_k, y_k)].
//!
//! The columns are maximised one after another, just as [`Exact`](crate::infer::Exact) sums them out. This costs (Π
//! labels)·(Σ labels) per slice instead of (Π labels)².

use super::viterbi::first_max;
use crate::graph::{FactorGraph, Fields, Label, Psi, Slices};
use crate::math::simd;

/// The number of states of a slice, or `usize::MAX` if there are too many to count.
fn states(slices: &Slices) -> usize {
    slices.cards.iter().fold(1, |states: usize, &card| states.saturating_mul(card))
}

/// How many numbers the search stores for all states, slices and columns.
pub(super) fn size(slices: &Slices) -> usize {
    states(slices).saturating_mul(slices.len * slices.cards.len())
}

/// Scratch of the search.
#[derive(Debug, Default)]
pub(super) struct ProductStates {
    /// V_t while its columns move from slice t − 1 to slice t one by one, and the next step.
    values: [Vec<f64>; 2],
    /// The best label of column k in slice t − 1, for states with columns 0 … k in slice t and the others in t − 1:
    /// `[T−1][C][states]`.
    before: Vec<Label>,
}

impl ProductStates {
    /// Overwrites `labels` with the best labelling; `fields` holds ψ.
    pub(crate) fn argmax(
        &mut self,
        graph: &FactorGraph,
        slices: &Slices,
        psi: Psi<f64>,
        fields: &Fields<f64>,
        labels: &mut Vec<Label>,
    ) {
        let (columns, states) = (slices.cards.len(), states(slices));
        let [values, next] = &mut self.values;
        values.clear();
        values.resize(states, 0.0);
        next.resize(states, 0.0);
        self.before.clear();
        self.before.resize((slices.len - 1) * columns * states, 0);
        let mut steps = self.before.chunks_exact_mut(states);
        add_inside(graph, slices, psi, fields, 0, values);
        for t in 1..slices.len {
            for (k, before) in steps.by_ref().take(columns).enumerate() {
                let table = fields.table(graph, psi, slices.across[(t - 1) * columns + k]).re;
                step(&slices.cards, k, table, values, next, before);
                std::mem::swap(values, next);
            }
            add_inside(graph, slices, psi, fields, t, values);
        }

        labels.clear();
        labels.resize(slices.len * columns, 0);
        let mut state = first_max(states, |state| values[state]).0;
        for t in (0..slices.len).rev() {
            for (k, label) in labels[t * columns..(t + 1) * columns].iter_mut().enumerate() {
                *label = (state / inner(&slices.cards, k) % slices.cards[k]) as Label;
            }
            for k in (0..columns).rev().filter(|_| t > 0) {
                let before = self.before[((t - 1) * columns + k) * states + state] as usize;
                let inner = inner(&slices.cards, k);
                let now = state / inner % slices.cards[k];
                state = state - now * inner + before * inner;
            }
        }
    }
}

/// Distance between the labels of column k in a table over states.
fn inner(cards: &[usize], k: usize) -> usize {
    cards[k + 1..].iter().product()
}

/// to(…y_k…) ← max over y′_k of from(…y′_k…) + A_k(y′_k, y_k). Writes the first maximising y′_k to `before`.
fn step(cards: &[usize], k: usize, table: &[f64], from: &[f64], to: &mut [f64], before: &mut [Label]) {
    let (card, inner, stride) = (cards[k], inner(cards, k), simd::padded(cards[k]));
    let blocks = from.chunks_exact(card * inner).zip(to.chunks_exact_mut(card * inner));
    for ((from, to), before) in blocks.zip(before.chunks_exact_mut(card * inner)) {
        for (i, (to, before)) in to.chunks_exact_mut(inner).zip(before.chunks_exact_mut(inner)).enumerate() {
            to.fill(f64::NEG_INFINITY);
            for (j, from) in from.chunks_exact(inner).enumerate() {
                let pair = table[j * stride + i];
                for ((to, before), from) in to.iter_mut().zip(&mut *before).zip(from) {
                    if from + pair > *to {
                        (*to, *before) = (from + pair, j as Label);
                    }
                }
            }
        }
    }
}

/// values ← values + s_t.
fn add_inside(
    graph: &FactorGraph,
    slices: &Slices,
    psi: Psi<f64>,
    fields: &Fields<f64>,
    t: usize,
    values: &mut [f64],
) {
    let cards = &slices.cards;
    let mut add = |[a, b]: [usize; 2], score: &dyn Fn(usize, usize) -> f64| {
        let (inner_a, inner_b) = (inner(cards, a), inner(cards, b));
        for (state, value) in values.iter_mut().enumerate() {
            *value += score(state / inner_a % cards[a], state / inner_b % cards[b]);
        }
    };
    for c in 0..cards.len() {
        let node = fields.nodes.slice(graph.cliques().node(t * cards.len() + c)).re;
        add([c, c], &|label, _| node[label]);
    }
    for &(c, [first, second]) in &slices.inside[t] {
        let (table, stride) = (fields.table(graph, psi, c).re, simd::padded(cards[second]));
        add([first, second], &|line, column| table[line * stride + column]);
    }
}
