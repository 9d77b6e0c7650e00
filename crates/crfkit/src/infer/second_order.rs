//! Forward-backward on a second-order chain (Sha and Pereira 2003, section 3).
//!
//! The states are the pairs of neighbouring labels that are allowed: from position 1 on, the state of position t is (y_{t−1}, y_t). With
//! the factor of a state e_t(j, k) = exp(u_t(k) + w_t(j, k) − maximum) and the table M of three labels,
//! α_t(j, k) = e_t(j, k) Σ_i α̂_{t−1}(i, j) M(i, j, k) and β_t(j, k) = Σ_l M(j, k, l) γ_{t+1}(k, l), where α̂ = α/c, γ = e ∘ β/c.
//! Both are products with one block of M for each middle label ([`crate::graph::States`]).
//!
//! This is exact if what underflows does not matter. A state is lost where α falls below the smallest number; it matters only if its γ is
//! huge, and that is checked afterwards ([`is_fine`]). If it is, or if the scores of a position spread too far, the same quantities are
//! computed in log space.

use super::chain::{FAR_BELOW, SAFE_SPREAD, SMALL, Work as ChainWork};
use super::chain::{add_boundaries, exp_pairs, is_fine, log_sum_exp};
use crate::graph::{BEGIN, Chain, END, Gradient, PAIR, Psi, States, TRIPLE, Triples};
use crate::math::{Array, Retreat, Scalar};

/// Scratch for second-order chains. Arrays over states are in the layout of [`States::row`].
#[derive(Debug)]
pub(super) struct Work<S> {
    /// α of the first position, `[stride]`.
    first: Array<S>,
    /// e, α and the marginals of every position, by the last label of the pair.
    e: Array<S>,
    alpha: Array<S>,
    mu: Array<S>,
    /// γ of every position by the first label of the pair, and that of one position by the last.
    gamma: Array<S>,
    turned: Array<S>,
    /// A row of ones, and one of β.
    ones: Array<S>,
    row: Array<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        let new = Array::default;
        Work {
            first: new(),
            e: new(),
            alpha: new(),
            mu: new(),
            gamma: new(),
            turned: new(),
            ones: new(),
            row: new(),
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
    let triples =
        psi.shared[TRIPLE].triples.as_ref().expect("a second-order chain has a table of three labels");
    if let Some(log_z) = forward(chain, psi, triples, work)
        && log_z.re().is_finite()
        && backward(chain, psi, weight, triples, work)
    {
        write(chain, weight, triples, out, &work.second);
        return log_z;
    }
    log_space(chain, psi, weight, &triples.states, out)
}

/// Fills e, α and c. Returns log Z, or `None` if the scores spread too far for probability space.
fn forward<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    triples: &Triples<S>,
    chain_work: &mut ChainWork<S>,
) -> Option<S> {
    let (len, labels, stride, states) = (chain.len, chain.labels, chain.stride(), &*triples.states);
    let (pair, begin, end) = (&psi.shared[PAIR], &psi.shared[BEGIN], &psi.shared[END]);
    chain_work.e.reserve(len * stride);
    chain_work.shift.resize(len.max(chain_work.shift.len()), 0.0);
    chain_work.scale.clear();
    let nodes = psi.own.slice(0..len * stride);
    S::exp_rows(nodes, labels, &mut chain_work.shift[..len], chain_work.e.slice_mut(0..len * stride));
    let nodes_spread = spread_of_nodes(chain, psi, &chain_work.shift)?;
    let (pair_spread, pair_shift) = match chain.own_pairs {
        true => exp_pairs(chain, psi, chain_work),
        false => (pair.spread, (len - 1) as f64 * pair.shift),
    };
    let spread = nodes_spread + begin.spread.max(end.spread) + pair_spread + psi.shared[TRIPLE].spread;
    if spread.is_nan() || spread >= SAFE_SPREAD {
        return None;
    }
    let ChainWork { e: node, shift, pairs_t, scale, second: work, .. } = chain_work;
    let shift = begin.shift + end.shift + shift[..len].iter().sum::<f64>() + pair_shift;
    let mut log_z = S::lift(shift + len.saturating_sub(2) as f64 * psi.shared[TRIPLE].shift);
    work.start(states, len, stride);
    S::multiply(node.slice(0..stride), begin.exp.slice(0..stride), work.first.slice_mut(0..stride));
    let mut product = S::lift(1.0); // of the c_t whose logarithm is still to be taken
    let mut c = work.first.slice(0..labels).sum();
    for t in 1..len {
        scale.push(c);
        product = product * c;
        if !(SMALL..1.0 / SMALL).contains(&product.re()) {
            log_z += product.ln();
            product = S::lift(1.0);
        }
        let s = S::lift(1.0) / c;
        if t > 1 {
            advance(triples, s, t, len, work);
        }
        c = S::lift(0.0);
        for k in 0..labels {
            let (at, e) = (states.row(k, t, len), node.get(t * stride + k));
            for (place, (&j, &turn)) in states.before(k).iter().zip(states.turn(k)).enumerate() {
                let j = j as usize;
                let w = match chain.own_pairs {
                    true => pairs_t.get(((t - 1) * labels + k) * stride + j),
                    false => pair.exp_t.get(k * stride + j),
                };
                let e = e * w;
                let before = match t {
                    1 => work.first.get(j) * s,
                    _ => work.gamma.get(states.row(j, t, len) + turn as usize),
                };
                work.e.set(at + place, e);
                work.alpha.set(at + place, before * e);
                c += before * e;
            }
        }
    }
    c = S::lift(0.0);
    for k in 0..labels {
        let last = match len {
            1 => work.first.get(k),
            _ => {
                let at = states.row(k, len - 1, len);
                work.alpha.slice(at..at + states.before(k).len()).sum()
            }
        };
        c += last * end.exp.get(k);
    }
    scale.push(c);
    product = product * c;
    Some(log_z + product.ln())
}

/// γ ← s·α_{t−1} M, by the first label of the pairs of position `t`.
fn advance<S: Scalar>(triples: &Triples<S>, s: S, t: usize, len: usize, work: &mut Work<S>) {
    let states = &*triples.states;
    for j in (0..states.labels()).filter(|&j| states.side(j) > 0) {
        let (width, rows) = (states.width(j), states.before(j).len());
        let (from, to, block) = (states.row(j, t - 1, len), states.row(j, t, len), states.block(j));
        S::advance(
            work.alpha.slice(from..from + rows),
            triples.exp.slice(block..block + rows * width),
            s,
            work.ones.slice(0..width),
            work.gamma.slice_mut(to..to + width),
        );
    }
}

impl<S: Scalar> Work<S> {
    fn start(&mut self, states: &States, len: usize, stride: usize) {
        self.first.reserve(stride);
        for array in [&mut self.e, &mut self.alpha, &mut self.gamma, &mut self.mu] {
            array.reset(states.size(len), 0.0);
        }
        self.turned.reset(states.size(1), 0.0);
        self.ones.reset(stride, 1.0);
        self.row.reserve(stride);
    }
}

/// The largest spread of the scores of a position, without labels that are forbidden there; `None` if a score is not a number.
fn spread_of_nodes<S: Scalar>(chain: &Chain, psi: Psi<S>, shift: &[f64]) -> Option<f64> {
    let mut spread: f64 = 0.0;
    for (row, max) in psi.own.plane(0).chunks_exact(chain.stride()).zip(shift).take(chain.len) {
        for below in row[..chain.labels].iter().map(|u| max - u) {
            if below.is_nan() {
                return None;
            }
            if below <= FAR_BELOW {
                spread = spread.max(below);
            }
        }
    }
    Some(spread)
}

/// Scales α, and fills γ and the marginals from the last position to the first. Says whether no state that matters was lost.
fn backward<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    weight: f64,
    triples: &Triples<S>,
    chain_work: &mut ChainWork<S>,
) -> bool {
    let (len, states, end) = (chain.len, &*triples.states, &psi.shared[END]);
    let ChainWork { scale, second: work, .. } = chain_work;
    if len == 1 {
        let s = S::lift(weight) / scale[0];
        for k in 0..chain.labels {
            let mu = work.first.get(k) * end.exp.get(k) * s;
            work.first.set(k, mu);
        }
        return true;
    }
    for t in (1..len).rev() {
        let s = S::lift(1.0) / scale[t];
        for k in (0..states.labels()).filter(|&k| states.side(k) > 0) {
            let (at, width) = (states.row(k, t, len), states.width(k));
            let gamma = work.turned.slice_mut(states.row(k, 0, 1)..states.row(k, 0, 1) + width);
            let (e, alpha) = (work.e.slice(at..at + width), work.alpha.slice_mut(at..at + width));
            let out = Retreat { alpha, gamma, mu: work.mu.slice_mut(at..at + width) };
            if t + 1 == len {
                for place in 0..width {
                    work.row.set(place, end.exp.get(k));
                }
                S::retreat_last(work.row.slice(0..width), s, e, weight, out);
            } else {
                let (next, columns) = (states.row(k, t + 1, len), states.after(k).len());
                let block = states.block(k)..states.block(k) + columns * width;
                let next = work.gamma.slice(next..next + columns);
                S::retreat(next, triples.exp_t.slice(block), s, e, weight, out);
            }
        }
        for k in 0..states.labels() {
            let from = states.row(k, 0, 1);
            for (place, (&j, &turn)) in states.before(k).iter().zip(states.turn(k)).enumerate() {
                let gamma = work.turned.get(from + place);
                work.gamma.set(states.row(j as usize, t, len) + turn as usize, gamma);
            }
        }
    }
    is_fine(&work.gamma.plane(0)[..states.size(len)])
}

/// Writes the marginals to `out`.
fn write<S: Scalar>(chain: &Chain, weight: f64, triples: &Triples<S>, out: &mut Gradient<S>, work: &Work<S>) {
    let (len, labels, stride, states) = (chain.len, chain.labels, chain.stride(), &*triples.states);
    out.own.fill(0.0);
    if len == 1 {
        (0..labels).for_each(|k| out.own.set(k, work.first.get(k)));
        return add_boundaries(chain, out);
    }
    for t in 1..len {
        for k in 0..labels {
            let at = states.row(k, t, len);
            let mut sum = S::lift(0.0);
            for (place, &j) in states.before(k).iter().enumerate() {
                let mu = work.mu.get(at + place);
                sum += mu;
                let entry = j as usize * stride + k;
                out.shared.0[PAIR].direct.add(entry, mu);
                if chain.own_pairs {
                    out.own.set(chain.pair_offset(t) + entry, mu);
                }
                if t == 1 {
                    out.own.add(j as usize, mu);
                }
            }
            out.own.set(t * stride + k, sum);
        }
    }
    add_boundaries(chain, out);
    if len == 2 {
        return;
    }
    let sums = &mut out.shared.0[TRIPLE].pairs;
    for j in (0..labels).filter(|&j| states.side(j) > 0) {
        let (side, width, block) = (states.side(j), states.width(j), states.block(j));
        S::outer_add(
            weight,
            work.alpha.slice(states.row(j, 1, len)..states.row(j, len - 1, len)),
            work.gamma.slice(states.row(j, 2, len)..states.row(j, len, len)),
            side,
            sums.slice_mut(block..block + side * width),
        );
    }
}

/// The same results in log space: much slower, but valid for any finite scores.
fn log_space<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    weight: f64,
    states: &States,
    out: &mut Gradient<S>,
) -> S {
    let (len, labels, stride) = (chain.len, chain.labels, chain.stride());
    out.own.fill(0.0);
    let node = |t: usize, k: usize| {
        let mut u = psi.own.get(t * stride + k);
        if t == 0 {
            u += psi.shared[BEGIN].log.get(k);
        }
        if t + 1 == len {
            u += psi.shared[END].log.get(k);
        }
        u
    };
    // The score that a state adds.
    let state = |t: usize, j: usize, k: usize| {
        let w = psi.shared[PAIR].log.get(j * stride + k) + node(t, k);
        if chain.own_pairs { w + psi.own.get(chain.pair_offset(t) + j * stride + k) } else { w }
    };
    let triple_at = |i: usize, j: usize, k: usize| (i * labels + j) * stride + k;
    let triple = |i: usize, j: usize, k: usize| psi.shared[TRIPLE].log.get(triple_at(i, j, k));
    if len == 1 {
        let log_z = log_sum_exp(labels, |k| node(0, k));
        for k in 0..labels {
            out.own.set(k, (node(0, k) - log_z).exp() * S::lift(weight));
        }
        add_boundaries(chain, out);
        return log_z;
    }
    let nothing = S::lift(f64::MIN / 4.0);
    let sum = |n: usize, x: &dyn Fn(usize) -> S| if n == 0 { nothing } else { log_sum_exp(n, x) };
    // α by the last label of the pair, β by the first.
    let size = states.size(len);
    let (mut alpha, mut beta) = (vec![nothing; size], vec![S::lift(0.0); size]);
    for t in 1..len {
        for k in 0..labels {
            for (place, &j) in states.before(k).iter().enumerate() {
                let j = j as usize;
                let from = states.row(j, t - 1, len);
                let before = match t {
                    1 => node(0, j),
                    _ => sum(states.before(j).len(), &|n| {
                        alpha[from + n] + triple(states.before(j)[n] as usize, j, k)
                    }),
                };
                alpha[states.row(k, t, len) + place] = before + state(t, j, k);
            }
        }
    }
    for t in (1..len - 1).rev() {
        for j in 0..labels {
            for (place, &k) in states.after(j).iter().enumerate() {
                let k = k as usize;
                let next = states.row(k, t + 1, len);
                beta[states.row(j, t, len) + place] = sum(states.after(k).len(), &|n| {
                    let l = states.after(k)[n] as usize;
                    triple(j, k, l) + state(t + 1, k, l) + beta[next + n]
                });
            }
        }
    }
    let last: Vec<S> = (0..labels)
        .flat_map(|k| (0..states.before(k).len()).map(move |place| states.row(k, len - 1, len) + place))
        .map(|at| alpha[at])
        .collect();
    let log_z = sum(last.len(), &|n| last[n]);
    let probability = |score: S| (score - log_z).exp() * S::lift(weight);
    for t in 1..len {
        for k in 0..labels {
            for (place, (&j, &turn)) in states.before(k).iter().zip(states.turn(k)).enumerate() {
                let j = j as usize;
                let (at, after) = (states.row(k, t, len) + place, states.row(j, t, len) + turn as usize);
                let mu = probability(alpha[at] + beta[after]);
                out.own.add(t * stride + k, mu);
                if t == 1 {
                    out.own.add(j, mu);
                }
                out.shared.0[PAIR].direct.add(j * stride + k, mu);
                if chain.own_pairs {
                    out.own.set(chain.pair_offset(t) + j * stride + k, mu);
                }
                for (n, &i) in states.before(j).iter().enumerate().filter(|_| t > 1) {
                    let before = alpha[states.row(j, t - 1, len) + n];
                    let score = before + triple(i as usize, j, k) + state(t, j, k) + beta[after];
                    out.shared.0[TRIPLE].direct.add(triple_at(i as usize, j, k), probability(score));
                }
            }
        }
    }
    add_boundaries(chain, out);
    log_z
}
