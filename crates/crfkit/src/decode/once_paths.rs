//! The best labellings of a chain in which some things occur at most once.
//!
//! A state at position t is a label j together with the set R of things that begin only after t. From the end, where R is empty, each
//! labelling is one path: before (j, R), which begins the things B, comes (i, R ∪ B), if R ∩ B is empty. So the labels alone say which of
//! two paths goes on, and equal scores are ordered as on a chain without these things.
//!
//! δ_t(j, R) = max_i (δ_{t−1}(i, R ∪ B(i, j)) + w(i, j)) + u_t(j) if R ∩ B(i, j) is empty; −∞ where there is none. All tables are finite.

use super::nbest::{Ranked, search_within};
use super::once::{AtMostOnce, node, step};
use super::paths::Paths;
use crate::Result;
use crate::graph::{BEGIN, Chain, END, Label, Psi};

/// The labellings in which every thing occurs at most once. State j·2^things + R.
struct OncePaths<'a> {
    once: &'a AtMostOnce,
    chain: &'a Chain,
    psi: Psi<'a, f64>,
    /// `[T][labels][sets]`.
    delta: Vec<f64>,
}

impl<'a> OncePaths<'a> {
    fn new(once: &'a AtMostOnce, chain: &'a Chain, psi: Psi<'a, f64>) -> Self {
        let (n, sets) = (once.labels, 1 << once.things);
        let states = n * sets;
        let mut delta = vec![f64::NEG_INFINITY; chain.len * states];
        for (state, score) in delta.iter_mut().take(states).enumerate() {
            let (j, later) = (state / sets, state % sets);
            if later & once.begins(None, j) == 0 {
                *score = psi.shared[BEGIN].log.get(j) + node(chain, psi, 0, j);
            }
        }
        for t in 1..chain.len {
            let (before, now) = delta.split_at_mut(t * states);
            let before = &before[(t - 1) * states..];
            for (i, before) in before.chunks_exact(sets).enumerate() {
                for (j, now) in now.chunks_exact_mut(sets).take(n).enumerate() {
                    let (new, w) = (once.begins(Some(i), j), step(chain, psi, t, i, j));
                    for (later, best) in now.iter_mut().enumerate().filter(|(later, _)| later & new == 0) {
                        *best = best.max(before[later | new] + w);
                    }
                }
            }
            for (j, now) in now.chunks_exact_mut(sets).take(n).enumerate() {
                let u = node(chain, psi, t, j);
                now.iter_mut().for_each(|x| *x += u);
            }
        }
        OncePaths { once, chain, psi, delta }
    }
}

impl Paths for OncePaths<'_> {
    fn chain(&self) -> &Chain {
        self.chain
    }

    fn psi(&self) -> Psi<'_, f64> {
        self.psi
    }

    fn states(&self) -> usize {
        self.once.labels << self.once.things
    }

    fn label(&self, state: usize) -> usize {
        state >> self.once.things
    }

    fn before(&self, t: usize, state: usize, label: usize) -> Option<usize> {
        let (later, new) = match t == self.chain.len {
            true => (0, 0),
            false => (state % (1 << self.once.things), self.once.begins(Some(label), self.label(state))),
        };
        let before = (label << self.once.things) + (later | new);
        (later & new == 0 && self.delta(t - 1, before) > f64::NEG_INFINITY).then_some(before)
    }

    fn delta(&self, t: usize, state: usize) -> f64 {
        self.delta[t * self.states() + state]
    }
}

impl AtMostOnce {
    /// Overwrites `labels` with the best labelling, and returns its score; −∞ if there is none. Of equal labellings, the one with the smallest
    /// last label wins, then the one with the smallest label before it, and so on.
    pub fn argmax(&self, chain: &Chain, psi: Psi<f64>, labels: &mut Vec<Label>) -> f64 {
        labels.clear();
        labels.resize(chain.len, 0);
        if chain.len == 0 {
            return 0.0;
        }
        let paths = OncePaths::new(self, chain, psi);
        let (mut state, mut score) = (0, None);
        for t in (0..chain.len).rev() {
            // The best way into the state behind, or to the end.
            let mut best = (f64::NEG_INFINITY, 0, 0);
            for i in 0..self.labels {
                let Some(before) = paths.before(t + 1, state, i) else { continue };
                let w = match score {
                    None => psi.shared[END].log.get(i),
                    Some(_) => step(chain, psi, t + 1, i, paths.label(state)),
                };
                let x = paths.delta(t, before) + w;
                if x > best.0 {
                    best = (x, before, i);
                }
            }
            score = score.or(Some(best.0));
            (state, labels[t]) = (best.1, best.2 as Label);
        }
        score.unwrap_or(f64::NEG_INFINITY)
    }

    /// The `n` best labellings, in the order of [`nbest`](super::nbest()); an error where they, and the search for them, need more than
    /// `limit` bytes besides δ.
    pub fn nbest(&self, chain: &Chain, psi: Psi<f64>, n: usize, limit: usize) -> Result<Vec<Ranked>> {
        search_within(OncePaths::new(self, chain, psi), n, limit)
    }
}
