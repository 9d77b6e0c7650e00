//! The best labelling of a chain with segments, and the states of the chain that other decoders work on.

use super::viterbi::{first_max, pair};
use crate::graph::{
    BEGIN, Chain, END, FORBIDDEN, Graph, LENGTH, Label, LongSegment, PAIR, Psi, SegmentLabels, Shared, Table,
    lengths_stride,
};
use crate::math::{Array, simd};

/// The score of no labelling at all.
const NOTHING: f64 = -4.0 * FORBIDDEN;

/// The best score of what begins a segment and of what ends one, by position and label; the segments that go on, by type and length.
#[derive(Debug, Default)]
pub(super) struct Work {
    begun: Vec<f64>,
    ended: Vec<f64>,
    going: Vec<f64>,
    /// The length of the best segment that ends at a position, by its last label.
    lengths: Vec<u32>,
    pair: Vec<f64>,
}

fn segments<'a>(psi: Psi<'a, f64>) -> &'a SegmentLabels {
    psi.shared[LENGTH].segments.as_ref().expect("a chain with segments has a table of lengths")
}

/// What the segment of `length` tokens with this first label that ends at `t` adds.
fn segment(chain: &Chain, psi: Psi<f64>, t: usize, length: usize, first: usize) -> f64 {
    let own = chain.segment_offset(t, length).map_or(0.0, |offset| psi.own.get(offset + first));
    psi.shared[LENGTH].log.get((length - 1) * chain.stride() + first) + own
}

/// Overwrites `labels`, which are all 0, with the best labelling, and returns its score. Of equal labellings, the one with the smallest last
/// label wins, then the one with the shortest last segment, and so on.
pub(super) fn argmax(chain: &Chain, psi: Psi<f64>, labels: &mut [Label], work: &mut Work) -> f64 {
    let (len, stride, names) = (chain.len, chain.stride(), segments(psi));
    forward(chain, psi, names, work);
    let end = psi.shared[END].log.plane(0);
    let last = &work.ended[(len - 1) * stride..];
    let (mut l, score) = first_max(chain.labels, |l| last[l] + end[l]);
    let mut t = len - 1;
    loop {
        labels[t] = l as Label;
        let length = work.lengths[t * stride + l] as usize;
        let mut first = l;
        if let Some(long) = names.long().find(|long| length > 1 && long.last == l) {
            labels[t + 2 - length..t].fill(long.before(3) as Label);
            labels[t + 1 - length] = long.first as Label;
            first = long.first;
        }
        if t + 1 == length {
            return score;
        }
        t -= length;
        let before = &work.ended[t * stride..];
        l = first_max(chain.labels, |l| before[l] + pair(chain, psi, t + 1, l, first)).0;
    }
}

fn forward(chain: &Chain, psi: Psi<f64>, names: &SegmentLabels, work: &mut Work) {
    let (len, stride, count) = (chain.len, chain.stride(), chain.labels);
    let (longest, lengths) = (names.longest, lengths_stride(names.longest));
    let Work { begun, ended, going, lengths: best, pair: pairs } = work;
    for array in [&mut *begun, ended] {
        array.clear();
        array.resize(len * stride, NOTHING);
    }
    going.clear();
    going.resize(names.long().count() * lengths, NOTHING);
    best.clear();
    best.resize(len * stride, 1);
    let own = psi.own.plane(0);
    for t in 0..len {
        let row = t * stride..(t + 1) * stride;
        let begun = &mut begun[row.clone()];
        if t == 0 {
            let begin = psi.shared[BEGIN].log.plane(0);
            begun.iter_mut().zip(own.iter().zip(begin)).for_each(|(x, (u, w))| *x = u + w);
        } else {
            let mut w = psi.shared[PAIR].log.plane(0);
            if chain.own_pairs {
                let at = chain.pair_offset(t);
                pairs.clear();
                pairs.extend(w.iter().zip(&own[at..at + count * stride]).map(|(w, own)| w + own));
                w = pairs;
            }
            simd::max_plus(
                &ended[row.start - stride..row.start - stride + count],
                w,
                &own[row.clone()],
                begun,
            );
        }
        let ended = &mut ended[row.clone()];
        for y in names.single() {
            ended[y] = begun[y] + segment(chain, psi, t, 1, y);
        }
        for (x, long) in names.long().enumerate() {
            let LongSegment { first, inner, last } = long;
            let (going, most) = (&mut going[x * lengths..(x + 1) * lengths], longest.min(t + 1));
            for length in (2..=most).filter(|&length| long.may_have(length)) {
                let score = going[length - 1] + pair(chain, psi, t, long.before(length), last);
                let score = score + own[row.start + last] + segment(chain, psi, t, length, first);
                if score > ended[last] {
                    (ended[last], best[row.start + last]) = (score, length as u32);
                }
            }
            if let Some(inner) = inner {
                for length in (2..=most.min(longest - 1)).rev() {
                    let w = pair(chain, psi, t, long.before(length), inner);
                    going[length] = going[length - 1] + w + own[row.start + inner];
                }
            }
            going[1] = begun[first];
        }
    }
}

/// A state of a chain with segments as a chain over states: a token's label, its place in its segment, and whether the segment ends there.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) label: Label,
    /// The number of the type, and the first label.
    kind: usize,
    first: usize,
    place: usize,
    ends: bool,
}

/// The number of states.
pub(super) fn size(names: &SegmentLabels) -> usize {
    let long = |long: LongSegment| match long.inner {
        Some(_) => 2 * (names.longest - 1),
        None => 2,
    };
    names.single().count() + names.long().map(long).sum::<usize>()
}

/// The states, and the shared tables of the chain over them.
pub(super) fn states(shared: &Shared<f64>) -> (Vec<State>, Shared<f64>) {
    let names = shared[LENGTH].segments.as_ref().expect("a table of lengths");
    let mut states = Vec::new();
    for (kind, one) in names.types.iter().enumerate() {
        let mut add = |label: usize, first: usize, place: usize, ends: bool| {
            states.push(State { label: label as Label, kind, first, place, ends });
        };
        if let Some(single) = one.single {
            add(single, single, 1, true);
        }
        let Some(long) = one.long.filter(|_| names.longest > 1) else { continue };
        add(long.first, long.first, 1, false);
        for place in 2..=names.longest {
            if let Some(inner) = long.inner.filter(|_| place < names.longest) {
                add(inner, long.first, place, false);
            }
            if long.may_have(place) {
                add(long.last, long.first, place, true);
            }
        }
    }
    let n = states.len();
    let mut tables = vec![Table::new(n, n), Table::new(1, n), Table::new(1, n)];
    let (stride, by_label) = (tables[PAIR].stride, shared[PAIR].stride);
    for (a, from) in states.iter().enumerate() {
        for (b, to) in states.iter().enumerate() {
            let follows = match from.ends {
                true => to.place == 1,
                false => (to.kind, to.place) == (from.kind, from.place + 1),
            };
            let w = shared[PAIR].log.get(from.label as usize * by_label + to.label as usize);
            tables[PAIR].log.set(a * stride + b, if follows { w } else { -FORBIDDEN });
        }
        let first = |table: usize| shared[table].log.get(from.label as usize);
        tables[BEGIN].log.set(a, if from.place == 1 { first(BEGIN) } else { -FORBIDDEN });
        tables[END].log.set(a, if from.ends { first(END) } else { -FORBIDDEN });
    }
    tables.iter_mut().for_each(Table::update);
    (states, tables)
}

/// The chain over the states of a chain with these log-potentials, and its own tables.
pub(super) fn by_state(states: &[State], chain: &Chain, psi: Psi<f64>) -> (Chain, Array<f64>) {
    let by_state = Chain { labels: states.len(), segments: None, ..*chain };
    let mut own = Array::zeros(by_state.own_len());
    by_state.clear_own(own.plane_mut(0));
    for t in 0..chain.len {
        for (a, state) in states.iter().enumerate() {
            let score = match (state.place <= t + 1, state.ends) {
                (false, _) => -FORBIDDEN,
                (true, false) => 0.0,
                (true, true) => segment(chain, psi, t, state.place, state.first),
            };
            let node = psi.own.get(t * chain.stride() + state.label as usize);
            own.set(t * by_state.stride() + a, score + node);
            for (b, to) in states.iter().enumerate().filter(|_| chain.own_pairs && t + 1 < chain.len) {
                let entry = state.label as usize * chain.stride() + to.label as usize;
                let at = by_state.pair_offset(t + 1) + a * by_state.stride() + b;
                own.set(at, psi.own.get(chain.pair_offset(t + 1) + entry));
            }
        }
    }
    (by_state, own)
}
