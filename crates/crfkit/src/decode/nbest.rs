//! The n best labellings of a chain, exactly.

use super::viterbi::{Work, forward, pair};
use crate::graph::{Chain, END, Label, Psi};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A labelling with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The score (log-potential) of the whole labelling.
    pub score: f64,
    /// One label per position.
    pub labels: Vec<Label>,
}

/// A suffix y_t … y_{T−1}, its own score, and the best score of a whole labelling that ends in it.
#[derive(Debug)]
struct Suffix {
    bound: f64,
    score: f64,
    t: usize,
    label: usize,
    /// The index of the suffix that is one position shorter, in order of creation.
    parent: usize,
    /// The order of creation; ties go to the older suffix.
    serial: usize,
}

impl Ord for Suffix {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then_with(|| other.serial.cmp(&self.serial))
    }
}
impl PartialOrd for Suffix {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Suffix {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Suffix {}

/// The `n` best labellings, best first; fewer if the chain has fewer. This is A* search from the last position to the
/// first. Viterbi's δ is the exact score of the best prefix, so the first `n` complete labellings taken from the heap
/// are the best.
pub fn nbest(chain: &Chain, psi: Psi<f64>, n: usize) -> Vec<Ranked> {
    if n == 0 {
        return Vec::new();
    }
    if chain.len == 0 {
        return vec![Ranked { score: 0.0, labels: Vec::new() }];
    }
    let mut work = Work::default();
    forward(chain, psi, &mut work);
    let own = |t: usize, j: usize| psi.own.get(t * chain.stride() + j);
    let mut heap = BinaryHeap::new();
    let mut kept: Vec<(usize, usize)> = Vec::new(); // (label, parent) of every suffix taken from the heap
    let mut serial = 0;
    let mut push = |heap: &mut BinaryHeap<Suffix>, t: usize, label: usize, score: f64, parent: usize| {
        // `score` covers everything to the right of t; δ_t covers everything up to t.
        let bound = work.delta(chain, t, label) + score;
        heap.push(Suffix { bound, score, t, label, parent, serial });
        serial += 1;
    };
    for j in 0..chain.labels {
        push(&mut heap, chain.len - 1, j, psi.shared[END].log.get(j), usize::MAX);
    }
    let mut ranked = Vec::new();
    while let Some(suffix) = heap.pop() {
        kept.push((suffix.label, suffix.parent));
        if suffix.t == 0 {
            let mut labels = Vec::with_capacity(chain.len);
            let mut at = kept.len() - 1;
            while at != usize::MAX {
                labels.push(kept[at].0 as Label);
                at = kept[at].1;
            }
            ranked.push(Ranked { score: suffix.bound, labels });
            if ranked.len() == n {
                break;
            }
            continue;
        }
        let score = suffix.score + own(suffix.t, suffix.label);
        for i in 0..chain.labels {
            let score = score + pair(chain, psi, suffix.t, i, suffix.label);
            push(&mut heap, suffix.t - 1, i, score, kept.len() - 1);
        }
    }
    ranked
}
