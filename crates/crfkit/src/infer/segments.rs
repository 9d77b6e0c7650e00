//! Forward-backward on a chain with segments (Sarawagi and Cohen 2004, section 2.3).
//!
//! A segment that ends at t with label `l` is followed by one that begins at t + 1 with label y by the pair (l, y); inside a segment the
//! labels are fixed by its type and its length. With E_t(l) the logarithm of the weight of all that ends in such a segment, and A_t(y) that
//! of all that begins one, a position costs one product with the matrix of pairs, from E to A, and one sum over the lengths of each type,
//! from A to E: O(labels² + types·longest). Logarithms are kept, and exponentials are taken of a row at a time, so that any finite scores
//! will do; where a product underflows, it is a sum of logarithms instead.

use super::chain::{Work as ChainWork, add_boundaries, exp_pairs};
use crate::graph::{
    BEGIN, Chain, END, FORBIDDEN, Gradient, LENGTH, LongSegment, PAIR, Psi, SegmentLabels, lengths_stride,
};
use crate::math::{Array, Scalar, Slice, log_sum_exp, simd};

/// The logarithm of no weight at all.
const NOTHING: f64 = -4.0 * FORBIDDEN;
/// A product below this may have lost parts that matter. Steps into the complex plane have size 1e-100, and must not be lost either.
const TINY: f64 = 1e-100;
/// Rows are scaled by at most e to this.
const LARGEST: f64 = 200.0;

/// Scratch for chains with segments, in rows of `stride` numbers by label, or of `lengths_stride` by length.
#[derive(Debug)]
pub(super) struct Work<S> {
    /// A by position and label.
    begun: Array<S>,
    /// E by position and label, exp(E − shift), and the shifts.
    ended: Array<S>,
    alpha: Array<S>,
    shift: Vec<f64>,
    /// The logarithm of the weight of all that follows a segment, by its last position and label.
    after: Array<S>,
    /// D, the same of all from the beginning of a segment on, for one position; exp(D − shift); and that for all positions, scaled.
    onward: Array<S>,
    delta: Array<S>,
    gamma: Array<S>,
    /// By type and length, the segments that go on at the current position.
    going: Array<S>,
    /// By position, type and length: the segments that end there, exp(… − shift), and the shifts.
    long: Array<S>,
    long_exp: Array<S>,
    long_shift: Vec<f64>,
    /// By label and length, the segments that begin at the current position, and exp(… − shift).
    from: Array<S>,
    from_exp: Array<S>,
    from_shift: Vec<f64>,
    /// A row of ones, and a product.
    ones: Array<S>,
    product: Array<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        let new = Array::default;
        Work {
            begun: new(),
            ended: new(),
            alpha: new(),
            shift: Vec::new(),
            after: new(),
            onward: new(),
            delta: new(),
            gamma: new(),
            going: new(),
            long: new(),
            long_exp: new(),
            long_shift: Vec::new(),
            from: new(),
            from_exp: new(),
            from_shift: Vec::new(),
            ones: new(),
            product: new(),
        }
    }
}

/// What all parts read.
#[derive(Clone, Copy)]
struct At<'a, S> {
    chain: &'a Chain,
    psi: Psi<'a, S>,
    labels: &'a SegmentLabels,
    /// The exponentials of pairs with an own part, and their transposes.
    pairs: &'a Array<S>,
    pairs_t: &'a Array<S>,
    pair_shifts: &'a [f64],
}

impl<'a, S: Scalar> At<'a, S> {
    fn node(&self, t: usize, label: usize) -> S {
        self.psi.own.get(t * self.chain.stride() + label)
    }

    /// The log-potential of label i at t − 1 and label j at t.
    fn pair(&self, t: usize, i: usize, j: usize) -> S {
        let entry = i * self.chain.stride() + j;
        let w = self.psi.shared[PAIR].log.get(entry);
        if self.chain.own_pairs { w + self.psi.own.get(self.chain.pair_offset(t) + entry) } else { w }
    }

    /// The log-potential of the segment of `length` tokens with this first label that ends at `t`.
    fn segment(&self, t: usize, length: usize, first: usize) -> S {
        let w = self.psi.shared[LENGTH].log.get((length - 1) * self.chain.stride() + first);
        match self.chain.segment_offset(t, length) {
            Some(offset) => w + self.psi.own.get(offset + first),
            None => w,
        }
    }

    /// exp(pairs of t − 1 and t − shift), or its transpose, and the shift.
    fn matrix(&self, t: usize, transposed: bool) -> (Slice<'a, S>, f64) {
        let (pair, size) = (&self.psi.shared[PAIR], self.chain.labels * self.chain.stride());
        match self.chain.own_pairs {
            false => (if transposed { &pair.exp_t } else { &pair.exp }.slice(0..size), pair.shift),
            true => {
                let own = if transposed { self.pairs_t } else { self.pairs };
                (own.slice((t - 1) * size..t * size), self.pair_shifts[t - 1])
            }
        }
    }
}

/// Returns log Z and writes the marginals, as [`super::Inference::log_z`] does. The chain has at least one position.
pub(super) fn log_z<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    weight: f64,
    out: &mut Gradient<S>,
    work: &mut ChainWork<S>,
) -> S {
    let labels = psi.shared[LENGTH].segments.clone().expect("a chain with segments has a table of lengths");
    if chain.own_pairs {
        exp_pairs(chain, psi, work);
    }
    let ChainWork { pairs, pairs_t, pair_shifts, segments: work, .. } = work;
    let at = At { chain, psi, labels: &labels, pairs, pairs_t, pair_shifts };
    work.start(&at);
    let log_z = work.forward(&at);
    out.own.fill(0.0);
    work.backward(&at, log_z, weight, out);
    add_boundaries(chain, out);
    log_z
}

impl<S: Scalar> Work<S> {
    fn start(&mut self, at: &At<S>) {
        let (len, stride) = (at.chain.len, at.chain.stride());
        let (types, lengths) = (at.labels.long().count(), lengths_stride(at.labels.longest));
        for array in [&mut self.begun, &mut self.ended, &mut self.alpha, &mut self.after, &mut self.gamma] {
            array.reserve(len * stride);
        }
        for array in [&mut self.long, &mut self.long_exp] {
            array.reserve(len * types * lengths);
        }
        self.long.slice_mut(0..len * types * lengths).fill(NOTHING);
        for array in [&mut self.from, &mut self.from_exp] {
            array.reserve(at.labels.types.len() * lengths);
        }
        for array in [&mut self.onward, &mut self.delta, &mut self.product] {
            array.reserve(stride);
        }
        self.going.reset(types * lengths, NOTHING);
        self.ones.reset(stride, 1.0);
        self.shift.resize(len, 0.0);
        self.long_shift.resize(len * types, 0.0);
        self.from_shift.resize(at.labels.types.len(), 0.0);
    }

    /// Fills A, E and the segments by their ends. Returns log Z.
    fn forward(&mut self, at: &At<S>) -> S {
        let (len, stride, labels) = (at.chain.len, at.chain.stride(), at.labels);
        for t in 0..len {
            let row = t * stride;
            if t == 0 {
                for (_, y) in labels.starts() {
                    self.begun.set(y, at.node(0, y) + at.psi.shared[BEGIN].log.get(y));
                }
            } else {
                self.begin(at, t);
            }
            clear_row(&mut self.ended, row, at.chain);
            for y in labels.single() {
                self.ended.set(row + y, self.begun.get(row + y) + at.segment(t, 1, y));
            }
            self.end_long(at, t);
            let shift = &mut self.shift[t..t + 1];
            let alpha = self.alpha.slice_mut(row..row + stride);
            S::exp_rows(self.ended.slice(row..row + stride), at.chain.labels, shift, alpha);
        }
        let last = (len - 1) * stride;
        log_sum_exp(at.chain.labels, |l| self.ended.get(last + l) + at.psi.shared[END].log.get(l))
    }

    /// A_t from E_{t−1}.
    fn begin(&mut self, at: &At<S>, t: usize) {
        let (stride, labels) = (at.chain.stride(), at.chain.labels);
        let (before, row) = ((t - 1) * stride, t * stride);
        let (m, shift) = at.matrix(t, false);
        let alpha = self.alpha.slice(before..before + labels);
        let product = self.product.slice_mut(0..stride);
        S::advance(alpha, m, S::lift(1.0), self.ones.slice(0..stride), product);
        let shift = S::lift(self.shift[t - 1] + shift);
        for (_, y) in at.labels.starts() {
            let sum = self.product.get(y);
            let sum = match sum.re() > TINY {
                true => shift + sum.ln(),
                false => log_sum_exp(labels, |l| self.ended.get(before + l) + at.pair(t, l, y)),
            };
            self.begun.set(row + y, sum + at.node(t, y));
        }
    }

    /// The segments of several tokens that end at `t`, their part of E_t, and those that go on.
    fn end_long(&mut self, at: &At<S>, t: usize) {
        let (row, longest) = (t * at.chain.stride(), at.labels.longest);
        let (types, lengths) = (at.labels.long().count(), lengths_stride(longest));
        for (x, long) in at.labels.long().enumerate() {
            let LongSegment { first, inner, last } = long;
            let (rows, going) = ((t * types + x) * lengths, x * lengths);
            let most = longest.min(t + 1);
            let node = at.node(t, last);
            for length in (2..=most).filter(|&length| long.may_have(length)) {
                let score = self.going.get(going + length - 1) + at.pair(t, long.before(length), last);
                self.long.set(rows + length, score + node + at.segment(t, length, first));
            }
            if let Some(inner) = inner {
                let node = at.node(t, inner);
                for length in (2..=most.min(longest - 1)).rev() {
                    let score = self.going.get(going + length - 1) + at.pair(t, long.before(length), inner);
                    self.going.set(going + length, score + node);
                }
            }
            self.going.set(going + 1, self.begun.get(row + first));
        }
        let all = t * types * lengths..(t + 1) * types * lengths;
        let shifts = &mut self.long_shift[t * types..(t + 1) * types];
        let exp = self.long_exp.slice_mut(all.clone());
        S::exp_rows(self.long.slice(all.clone()), longest + 1, shifts, exp);
        for (x, long) in at.labels.long().enumerate() {
            let from = all.start + x * lengths;
            let sum = self.long_exp.slice(from..from + longest + 1).sum();
            self.ended.set(row + long.last, S::lift(shifts[x]) + sum.ln());
        }
    }

    /// Writes the marginals, from the last position to the first.
    fn backward(&mut self, at: &At<S>, log_z: S, weight: f64, out: &mut Gradient<S>) {
        let (len, stride, labels) = (at.chain.len, at.chain.stride(), at.labels);
        let (types, lengths) = (labels.long().count(), lengths_stride(labels.longest));
        for l in 0..at.chain.labels {
            self.after.set((len - 1) * stride + l, at.psi.shared[END].log.get(l));
        }
        self.going.reset(types * lengths, 0.0);
        for t in (0..len).rev() {
            self.write(at, t, log_z, weight, out);
            self.open(at, t);
            if t > 0 {
                self.join(at, t, log_z, weight, out);
            }
        }
        if len > 1 && !at.chain.own_pairs {
            let (alpha, gamma) =
                (self.alpha.slice(0..(len - 1) * stride), self.gamma.slice(stride..len * stride));
            let outer = out.shared.0[PAIR].outer.slice_mut(0..at.chain.labels * stride);
            S::outer_add(weight, alpha, gamma, at.chain.labels, outer);
        }
    }

    /// D_t.
    fn open(&mut self, at: &At<S>, t: usize) {
        let (len, stride, labels) = (at.chain.len, at.chain.stride(), at.labels);
        let (types, lengths) = (labels.long().count(), lengths_stride(labels.longest));
        let all = 0..labels.types.len() * lengths;
        self.from.slice_mut(all.clone()).fill(NOTHING);
        for (kind, one) in labels.types.iter().enumerate() {
            if let Some(y) = one.single {
                let after = self.after.get(t * stride + y);
                self.from.set(kind * lengths + 1, at.segment(t, 1, y) + after);
            }
        }
        for (x, (kind, long)) in labels.long_kinds().enumerate() {
            let begun = self.begun.get(t * stride + long.first);
            let most = labels.longest.min(len - t);
            for length in (2..=most).filter(|&length| long.may_have(length)) {
                let end = t + length - 1;
                let score = self.long.get((end * types + x) * lengths + length);
                let after = self.after.get(end * stride + long.last);
                self.from.set(kind * lengths + length, score - begun + after);
            }
        }
        let exp = self.from_exp.slice_mut(all.clone());
        S::exp_rows(self.from.slice(all), labels.longest + 1, &mut self.from_shift, exp);
        clear_row(&mut self.onward, 0, at.chain);
        for (kind, y) in labels.starts() {
            let sum = self.from_exp.slice(kind * lengths..kind * lengths + labels.longest + 1).sum();
            self.onward.set(y, S::lift(self.from_shift[kind]) + sum.ln() + at.node(t, y));
        }
    }

    /// What follows position t − 1, and the marginals of the pairs that join two segments there.
    fn join(&mut self, at: &At<S>, t: usize, log_z: S, weight: f64, out: &mut Gradient<S>) {
        let (stride, labels) = (at.chain.stride(), at.chain.labels);
        let (before, row) = ((t - 1) * stride, t * stride);
        let mut shift = [0.0];
        let delta = self.delta.slice_mut(0..stride);
        S::exp_rows(self.onward.slice(0..stride), labels, &mut shift, delta);
        let ([shift], (mt, pair_shift)) = (shift, at.matrix(t, true));
        let product = self.product.slice_mut(0..stride);
        let delta = self.delta.slice(0..labels);
        S::advance(delta, mt, S::lift(1.0), self.ones.slice(0..stride), product);
        for l in 0..labels {
            let sum = self.product.get(l);
            let sum = match sum.re() > TINY {
                true => S::lift(shift + pair_shift) + sum.ln(),
                false => log_sum_exp(labels, |y| at.pair(t, l, y) + self.onward.get(y)),
            };
            self.after.set(before + l, sum);
        }
        let scale = S::lift(self.shift[t - 1] + shift + pair_shift) - log_z;
        let fits = scale.re() <= LARGEST;
        let scale = if fits { scale.exp() } else { S::lift(0.0) };
        let gamma = self.gamma.slice_mut(row..row + stride);
        S::weigh(self.delta.slice(0..stride), scale, self.ones.slice(0..stride), gamma);
        if fits && !at.chain.own_pairs {
            return;
        }
        let (m, _) = at.matrix(t, false);
        for l in 0..labels {
            let alpha = self.alpha.get(before + l);
            for (_, y) in at.labels.starts() {
                let mu = match fits {
                    true => alpha * m.at(l * stride + y) * self.gamma.get(row + y),
                    false => {
                        (self.ended.get(before + l) + at.pair(t, l, y) + self.onward.get(y) - log_z).exp()
                    }
                };
                add_pair(at.chain, out, t, l * stride + y, mu * S::lift(weight));
            }
        }
    }

    /// Writes the marginals of the segments that end at `t`, and those of the labels of the token there. `going` has the marginals of the
    /// segments that continue after it.
    fn write(&mut self, at: &At<S>, t: usize, log_z: S, weight: f64, out: &mut Gradient<S>) {
        let (stride, labels) = (at.chain.stride(), at.labels);
        let (types, lengths) = (labels.long().count(), lengths_stride(labels.longest));
        let (row, weight) = (t * stride, S::lift(weight));
        let add_segment = |length: usize, first: usize, mu: S, out: &mut Gradient<S>| {
            out.shared.0[LENGTH].direct.add((length - 1) * stride + first, mu);
            if let Some(offset) = at.chain.segment_offset(t, length) {
                out.own.set(offset + first, mu);
            }
        };
        for y in labels.single() {
            let mu = (self.ended.get(row + y) + self.after.get(row + y) - log_z).exp() * weight;
            out.own.add(row + y, mu);
            add_segment(1, y, mu, out);
        }
        for (x, long) in labels.long().enumerate() {
            let LongSegment { first, inner, last } = long;
            let (rows, going) = ((t * types + x) * lengths, x * lengths);
            let scale = S::lift(self.long_shift[t * types + x]) + self.after.get(row + last) - log_z;
            let scale = scale.exp() * weight;
            out.own.add(row + first, self.going.get(going + 1));
            for length in 2..=labels.longest.min(t + 1) {
                let goes_on = self.going.get(going + length);
                let mut both = goes_on;
                if let Some(inner) = inner.filter(|_| length < labels.longest) {
                    out.own.add(row + inner, goes_on);
                    add_pair(at.chain, out, t, long.before(length) * stride + inner, goes_on);
                }
                if long.may_have(length) {
                    let mu = self.long_exp.get(rows + length) * scale;
                    both += mu;
                    out.own.add(row + last, mu);
                    add_pair(at.chain, out, t, long.before(length) * stride + last, mu);
                    add_segment(length, first, mu, out);
                }
                self.going.set(going + length - 1, both);
            }
            self.going.set(going + labels.longest.min(t + 1), S::lift(0.0));
        }
    }
}

/// Adds to the marginals of an entry of the pair table of t − 1 and t.
fn add_pair<S: Scalar>(chain: &Chain, out: &mut Gradient<S>, t: usize, entry: usize, mu: S) {
    out.shared.0[PAIR].direct.add(entry, mu);
    if chain.own_pairs {
        out.own.add(chain.pair_offset(t) + entry, mu);
    }
}

/// A row of labels without any weight.
fn clear_row<S: Scalar>(array: &mut Array<S>, row: usize, chain: &Chain) {
    array.slice_mut(row..row + chain.labels).fill(NOTHING);
    array.slice_mut(row + chain.labels..row + chain.stride()).fill(simd::PAD);
}
