//! The Viterbi algorithm on a chain.

use super::{Decoder, second_order, segments};
use crate::graph::{BEGIN, Chain, END, Label, PAIR, Psi};
use crate::math::simd;

/// The best labelling of a chain, in O(T·labels²); on second-order chains in O(T·triples) for the triples of labels that are allowed, and on
/// chains with segments in O(T·(labels² + types·longest)).
///
/// δ_t(j) = max_i (δ_{t−1}(i) + w(i, j)) + u_t(j). No back-pointers are stored: the way back searches for the maximum
/// again, in only one column per position. Among equal predecessors the one with the smallest index wins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Viterbi;

/// δ `[T][stride]`, and a pair table with an own part.
#[derive(Debug, Default)]
pub struct Work {
    delta: Vec<f64>,
    pair: Vec<f64>,
    /// For second-order chains.
    second: second_order::Work,
    /// For chains with segments.
    segments: segments::Work,
}

impl Decoder for Viterbi {
    type Graph = Chain;
    type Work = Work;

    fn argmax(&self, chain: &Chain, psi: Psi<f64>, labels: &mut Vec<Label>, work: &mut Work) -> f64 {
        labels.clear();
        labels.resize(chain.len, 0);
        if chain.len == 0 {
            return 0.0;
        }
        if chain.triples {
            return second_order::argmax(chain, psi, labels, &mut work.second);
        }
        if chain.segments.is_some() {
            return segments::argmax(chain, psi, labels, &mut work.segments);
        }
        forward(chain, psi, work);
        let stride = chain.stride();
        let last = chain.len - 1;
        let end = psi.shared[END].log.plane(0);
        let (mut y, score) = first_max(chain.labels, |j| work.delta[last * stride + j] + end[j]);
        labels[last] = y as Label;
        let shared = psi.shared[PAIR].log.plane(0);
        let own = psi.own.plane(0);
        for t in (1..chain.len).rev() {
            let delta = &work.delta[(t - 1) * stride..][..chain.labels];
            let into = shared[y..].iter().step_by(stride);
            y = match chain.own_pairs {
                false => first_largest(delta.iter().zip(into).map(|(delta, w)| delta + w)),
                true => {
                    let own = own[chain.pair_offset(t) + y..].iter().step_by(stride);
                    first_largest(delta.iter().zip(into).zip(own).map(|((delta, w), own)| delta + (w + own)))
                }
            };
            labels[t - 1] = y as Label;
        }
        score
    }
}

/// Computes δ. The last row does not include the table of the last label.
pub(super) fn forward(chain: &Chain, psi: Psi<f64>, work: &mut Work) {
    let (labels, stride) = (chain.labels, chain.stride());
    let own = psi.own.plane(0);
    work.delta.resize(work.delta.len().max(chain.len * stride), 0.0);
    for j in 0..stride {
        work.delta[j] = own[j] + psi.shared[BEGIN].log.get(j);
    }
    for t in 1..chain.len {
        let w = psi.shared[PAIR].log.plane(0);
        let w = if chain.own_pairs {
            let at = chain.pair_offset(t);
            work.pair.clear();
            work.pair.extend(w.iter().zip(&own[at..at + labels * stride]).map(|(w, own)| w + own));
            &work.pair
        } else {
            w
        };
        let (before, now) = work.delta.split_at_mut(t * stride);
        simd::max_plus(
            &before[(t - 1) * stride..][..labels],
            w,
            &own[t * stride..][..stride],
            &mut now[..stride],
        );
    }
}

impl Work {
    /// δ_t(j).
    pub(super) fn delta(&self, chain: &Chain, t: usize, j: usize) -> f64 {
        self.delta[t * chain.stride() + j]
    }
}

/// The log-potential of the pair (i at t−1, j at t).
#[inline]
pub(super) fn pair(chain: &Chain, psi: Psi<f64>, t: usize, i: usize, j: usize) -> f64 {
    let entry = i * chain.stride() + j;
    let w = psi.shared[PAIR].log.get(entry);
    if chain.own_pairs { w + psi.own.get(chain.pair_offset(t) + entry) } else { w }
}

/// The first index of the largest number; 0 if there is none.
#[inline]
fn first_largest(numbers: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (i, value) in numbers.enumerate() {
        if value > best.1 {
            best = (i, value);
        }
    }
    best.0
}

/// The first index with the largest value, and that value.
#[inline]
pub(super) fn first_max(n: usize, x: impl Fn(usize) -> f64) -> (usize, f64) {
    let mut best = (0, x(0));
    for i in 1..n {
        let value = x(i);
        if value > best.1 {
            best = (i, value);
        }
    }
    best
}
