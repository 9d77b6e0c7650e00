//! The best labelling of a second-order chain, and the chain of states that other decoders work on.

use super::segments;
use super::viterbi::first_max;
use crate::graph::{
    BEGIN, Chain, END, FORBIDDEN, Graph, Label, Lattice, PAIR, Psi, Shared, States, TRIPLE, Table, Triples,
};
use crate::math::{Array, simd};

/// δ of every position by the last label of the pair, and a step by the first.
#[derive(Debug, Default)]
pub(super) struct Work {
    delta: Vec<f64>,
    step: Vec<f64>,
    zeros: Vec<f64>,
}

fn triples<'a>(psi: Psi<'a, f64>) -> &'a Triples<f64> {
    psi.shared[TRIPLE].triples.as_ref().expect("a second-order chain has a table of three labels")
}

/// What label j at t − 1 and label k at t add, besides the triple that ends there.
fn state(chain: &Chain, psi: Psi<f64>, t: usize, j: usize, k: usize) -> f64 {
    let entry = j * chain.stride() + k;
    let own = if chain.own_pairs { psi.own.get(chain.pair_offset(t) + entry) } else { 0.0 };
    psi.own.get(t * chain.stride() + k) + psi.shared[PAIR].log.get(entry) + own
}

/// Overwrites `labels`, which are all 0, with the best labelling, and returns its score. Of equal labellings, the one with the smallest
/// last label wins, then the one with the smallest label before it, and so on.
pub(super) fn argmax(chain: &Chain, psi: Psi<f64>, labels: &mut [Label], work: &mut Work) -> f64 {
    let (len, triples) = (chain.len, triples(psi));
    let (states, end) = (&*triples.states, psi.shared[END].log.plane(0));
    let first = |j: usize| psi.own.get(j) + psi.shared[BEGIN].log.get(j);
    if len == 1 {
        let (y, score) = first_max(chain.labels, |j| first(j) + end[j]);
        labels[0] = y as Label;
        return score;
    }
    let Work { delta, step, zeros } = work;
    for array in [&mut *delta, step, zeros] {
        array.clear();
    }
    delta.resize(states.size(len), f64::NEG_INFINITY);
    step.resize(states.size(1), 0.0);
    zeros.resize(chain.stride(), 0.0);
    for t in 1..len {
        for j in (0..chain.labels).filter(|&j| t > 1 && states.side(j) > 0) {
            let (rows, width) = (states.before(j).len(), states.width(j));
            let (from, to, block) = (states.row(j, t - 1, len), states.row(j, 0, 1), states.block(j));
            let w = &triples.log.plane(0)[block..block + rows * width];
            simd::max_plus(&delta[from..from + rows], w, &zeros[..width], &mut step[to..to + width]);
        }
        for k in 0..chain.labels {
            let at = states.row(k, t, len);
            for (place, (&j, &turn)) in states.before(k).iter().zip(states.turn(k)).enumerate() {
                let before = match t {
                    1 => first(j as usize),
                    _ => step[states.row(j as usize, 0, 1) + turn as usize],
                };
                delta[at + place] = before + state(chain, psi, t, j as usize, k);
            }
        }
    }
    let mut best = (0, 0, f64::NEG_INFINITY);
    for k in 0..chain.labels {
        for (place, &j) in states.before(k).iter().enumerate() {
            let score = delta[states.row(k, len - 1, len) + place] + end[k];
            if score > best.2 {
                best = (j as usize, k, score);
            }
        }
    }
    let (mut j, mut k, score) = best;
    labels[len - 1] = k as Label;
    labels[len - 2] = j as Label;
    for t in (2..len).rev() {
        let (before, from) = (states.before(j), states.row(j, t - 1, len));
        let score =
            |n: usize| delta[from + n] + psi.shared[TRIPLE].log.get(entry(chain, before[n] as usize, j, k));
        let i = match before.len() {
            0 => 0,
            n => before[first_max(n, score).0] as usize,
        };
        (j, k) = (i, j);
        labels[t - 2] = i as Label;
    }
    score
}

/// The entry of three labels in their table.
fn entry(chain: &Chain, i: usize, j: usize, k: usize) -> usize {
    (i * chain.labels + j) * chain.stride() + k
}

/// A second-order chain as a chain over its pairs of labels, or a chain with segments as one over labels and places in segments: the same
/// labellings with the same scores, for algorithms that know chains alone. It has S² numbers for S states.
#[derive(Debug)]
pub(crate) struct StateChain {
    /// The shared tables.
    pub shared: Shared<f64>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Pairs, by their last label and then by their first; those of the first position, which have no label before, come last.
    Pairs(Vec<(Option<Label>, Label)>),
    Segments(Vec<segments::State>),
}

impl StateChain {
    /// States that are taken at most: their table has 512 MiB.
    pub(crate) const MOST: usize = 8192;

    /// The number of states that chains with these shared tables have; `None` if their states are their labels.
    pub(crate) fn size(shared: &Shared<f64>) -> Option<usize> {
        let table = shared.get(TRIPLE)?;
        if let Some(names) = &table.segments {
            return Some(segments::size(names));
        }
        let states = table.triples.as_ref()?.states();
        Some(states.len() + states.labels())
    }

    /// The same for the labellings of a model with so many labels.
    pub(crate) fn size_in(labels: usize, lattice: &Lattice) -> Option<usize> {
        match &lattice.segments {
            Some(names) => Some(segments::size(names)),
            None if lattice.triples => Some(States::new(labels, lattice.rules.as_deref()).len() + labels),
            None => None,
        }
    }

    /// The chain over the states of chains that have these shared tables.
    pub(crate) fn new(shared: &Shared<f64>) -> Self {
        let table = &shared[TRIPLE];
        if table.segments.is_some() {
            let (states, shared) = segments::states(shared);
            return StateChain { shared, kind: Kind::Segments(states) };
        }
        let states = table.triples.as_ref().expect("a table of three labels").states();
        let labels = states.labels();
        let mut pairs = Vec::new();
        for k in 0..labels {
            pairs.extend(states.before(k).iter().map(|&j| (Some(j), k as Label)));
        }
        pairs.extend((0..labels).map(|k| (None, k as Label)));
        let n = pairs.len();
        let mut tables = vec![Table::new(n, n), Table::new(1, n), Table::new(1, n)];
        let stride = tables[PAIR].stride;
        for (a, &(i, j)) in pairs.iter().enumerate() {
            for (b, &(before, k)) in pairs.iter().enumerate() {
                let w = match (before == Some(j), i) {
                    (false, _) => -FORBIDDEN,
                    (true, None) => 0.0,
                    (true, Some(i)) => {
                        let entry = (i as usize * labels + j as usize) * table.stride + k as usize;
                        table.log.get(entry)
                    }
                };
                tables[PAIR].log.set(a * stride + b, w);
            }
            let begin = if i.is_none() { shared[BEGIN].log.get(j as usize) } else { -FORBIDDEN };
            tables[BEGIN].log.set(a, begin);
            tables[END].log.set(a, shared[END].log.get(j as usize));
        }
        tables.iter_mut().for_each(Table::update);
        StateChain { shared: tables, kind: Kind::Pairs(pairs) }
    }

    /// The chain over states of a chain with these log-potentials, and its own tables.
    pub(crate) fn of(&self, chain: &Chain, psi: Psi<f64>) -> (Chain, Array<f64>) {
        let states = match &self.kind {
            Kind::Pairs(pairs) => pairs,
            Kind::Segments(states) => return segments::by_state(states, chain, psi),
        };
        let pairs = Chain { labels: states.len(), own_pairs: false, triples: false, ..*chain };
        let mut own = Array::zeros(pairs.own_len());
        pairs.clear_own(own.plane_mut(0));
        for t in 0..chain.len {
            for (place, &(j, k)) in states.iter().enumerate() {
                let score = match (t, j) {
                    (0, None) => psi.own.get(k as usize),
                    (1.., Some(j)) => state(chain, psi, t, j as usize, k as usize),
                    _ => -FORBIDDEN,
                };
                own.set(t * pairs.stride() + place, score);
            }
        }
        (pairs, own)
    }

    /// Replaces the numbers of states by those of their labels.
    pub(crate) fn labels(&self, states: &mut [Label]) {
        states.iter_mut().for_each(|state| *state = self.label(*state as usize));
    }

    /// The label of a state: the last one of a pair.
    pub(crate) fn label(&self, state: usize) -> Label {
        match &self.kind {
            Kind::Pairs(pairs) => pairs[state].1,
            Kind::Segments(states) => states[state].label,
        }
    }

    /// Number of states.
    pub(crate) fn len(&self) -> usize {
        match &self.kind {
            Kind::Pairs(pairs) => pairs.len(),
            Kind::Segments(states) => states.len(),
        }
    }
}
