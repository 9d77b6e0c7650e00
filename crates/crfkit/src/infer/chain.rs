//! Forward-backward on a chain.
//!
//! In scaled probability space e_t = exp(u_t − max u_t), α_t = (α_{t−1} M) ∘ e_t / c_{t−1}, and log Z is the sum of
//! max u_t + ln c_t over t, plus the shifts of the shared tables. With β_{t−1} = M γ_t and γ_t = e_t ∘ β_t / c_t the marginals are
//! μ_t = α̂_t ∘ β_t and μ_{t−1,t} = α̂_{t−1} γ_tᵀ ∘ M, where α̂ = α/c. The factor M of the pair marginals is applied
//! later, by [`crate::graph::SharedSum::finish`].
//!
//! This is exact as long as no product underflows. If the scores of an example spread so far that one could underflow
//! ([`SAFE_SPREAD`]), the same quantities are computed in log space instead. Where label pairs are forbidden, it is enough that no product of
//! one step underflows, and that what was lost over many steps does not matter ([`is_fine`]).

use super::chain_lanes::ChainLanes;
use super::{Inference, Many, Outcome, second_order, segments};
use crate::graph::{BEGIN, Chain, END, FORBIDDEN, Gradient, PAIR, Psi};
pub(super) use crate::math::log_sum_exp;
use crate::math::{Array, Retreat, Scalar};

/// Every α and γ is at least exp(−spread)/labels², and products of them are used too. e^−500 leaves ample room above
/// the smallest f64 (e^−708). If label pairs are forbidden, every label leads to every other in some number of steps
/// ([`crate::graph::Table::steps`]), and α and γ are at least exp(−steps·spread)/labels², or 0 as they should be.
pub(super) const SAFE_SPREAD: f64 = 500.0;

/// A label this far below the best of its position is forbidden there: with finite scores of pairs, no labelling needs it.
pub(super) const FAR_BELOW: f64 = 1e5;

/// A product of scales is turned into a logarithm when it leaves `SMALL … 1/SMALL`. Multiplying by one more scale (at
/// least e^−500) then cannot underflow.
pub(super) const SMALL: f64 = 1e-50;

/// The exact engine for chains; it takes O(T·labels²), on second-order chains O(T·triples) for the triples of labels that are allowed, and on
/// chains with segments O(T·(labels² + types·longest)).
#[derive(Clone, Copy, Debug, Default)]
pub struct ForwardBackward;

/// Scratch for [`ForwardBackward`], in rows of `stride` numbers.
#[derive(Debug)]
pub struct Work<S> {
    pub(super) e: Array<S>,
    alpha: Array<S>,
    gamma: Array<S>,
    /// β of one position.
    beta: Array<S>,
    /// c_t.
    pub(super) scale: Vec<S>,
    /// max u_t.
    pub(super) shift: Vec<f64>,
    /// Pair tables with an own part: exp of shared + own, and its transpose, each `[T][labels][stride]`.
    pub(super) pairs: Array<S>,
    pub(super) pairs_t: Array<S>,
    /// The largest entry of each of them, which is subtracted before exp.
    pub(super) pair_shifts: Vec<f64>,
    /// One pair table before exp.
    log: Array<S>,
    /// Whether it must be checked at the end that nothing that matters has underflowed.
    unsure: bool,
    /// For second-order chains.
    pub(super) second: second_order::Work<S>,
    /// For chains with segments.
    pub(super) segments: segments::Work<S>,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Work {
            e: Array::default(),
            alpha: Array::default(),
            gamma: Array::default(),
            beta: Array::default(),
            scale: Vec::new(),
            shift: Vec::new(),
            pairs: Array::default(),
            pairs_t: Array::default(),
            pair_shifts: Vec::new(),
            log: Array::default(),
            unsure: false,
            second: second_order::Work::default(),
            segments: segments::Work::default(),
        }
    }
}

impl Inference for ForwardBackward {
    type Graph = Chain;
    const EXACT: bool = true;
    type Work<S: Scalar> = Work<S>;

    fn log_z<S: Scalar>(
        &self,
        chain: &Chain,
        psi: Psi<S>,
        weight: f64,
        out: &mut Gradient<S>,
        work: &mut Work<S>,
    ) -> Outcome<S> {
        let log_z = if chain.len == 0 {
            S::lift(0.0)
        } else if chain.triples {
            second_order::log_z(chain, psi, weight, out, work)
        } else if chain.segments.is_some() {
            segments::log_z(chain, psi, weight, out, work)
        } else {
            match forward(chain, psi, work) {
                Some(log_z) if backward(chain, psi, weight, out, work) => log_z,
                _ => log_space(chain, psi, weight, out),
            }
        };
        Outcome { log_z, converged: true, iterations: 1 }
    }

    fn many(&self) -> Option<Box<dyn Many<Chain>>> {
        Some(Box::new(ChainLanes::default()))
    }
}

/// Fills e, α and c. Returns log Z, or `None` if the scores spread too far for probability space.
fn forward<S: Scalar>(chain: &Chain, psi: Psi<S>, work: &mut Work<S>) -> Option<S> {
    let (len, labels, stride) = (chain.len, chain.labels, chain.stride());
    let (pair, begin, end) = (&psi.shared[PAIR], &psi.shared[BEGIN], &psi.shared[END]);
    for array in [&mut work.e, &mut work.alpha, &mut work.gamma] {
        array.reserve(len * stride);
    }
    work.beta.reserve(stride);
    work.shift.resize(len.max(work.shift.len()), 0.0);
    work.scale.clear();
    let nodes = psi.own.slice(0..len * stride);
    let mut spread = S::exp_rows(nodes, labels, &mut work.shift[..len], work.e.slice_mut(0..len * stride));
    spread += begin.spread.max(end.spread);
    let mut shift = begin.shift + end.shift + work.shift[..len].iter().sum::<f64>();
    let (pair_spread, pair_shift) = match chain.own_pairs {
        true => exp_pairs(chain, psi, work),
        false => (pair.spread, (len - 1) as f64 * pair.shift),
    };
    spread += pair_spread;
    shift += pair_shift;
    // The log-space code passes NaN on to the caller.
    let safe = spread * pair.steps < SAFE_SPREAD;
    work.unsure = !safe && pair.steps != 1.0;
    if !safe && !safe_where_allowed(chain, psi, &work.shift, pair_spread) {
        return None;
    }
    S::multiply(work.e.slice(0..stride), begin.exp.slice(0..stride), work.alpha.slice_mut(0..stride));
    let mut log_z = S::lift(shift);
    let mut product = S::lift(1.0); // of the c_t whose logarithm is still to be taken
    let mut c = sum(&work.alpha, 0..labels);
    for t in 1..len {
        let row = t * stride..(t + 1) * stride;
        let before = (t - 1) * stride;
        let (previous, current) = work.alpha.split(before..before + labels, row.clone());
        work.scale.push(c);
        product = product * c;
        if !(SMALL..1.0 / SMALL).contains(&product.re()) {
            log_z += product.ln();
            product = S::lift(1.0);
        }
        let (s, e) = (S::lift(1.0) / c, work.e.slice(row.clone()));
        c = match &pair.sparse {
            Some(sparse) if !chain.own_pairs => {
                sparse.from_left(pair, previous, work.gamma.slice_mut(row.clone()));
                S::weigh(work.gamma.slice(row), s, e, current)
            }
            _ if chain.own_pairs => {
                let m = work.pairs.slice((t - 1) * labels * stride..t * labels * stride);
                S::advance(previous, m, s, e, current)
            }
            _ => S::advance(previous, pair.exp.slice(0..labels * stride), s, e, current),
        };
    }
    let last = (len - 1) * stride;
    c = S::lift(0.0);
    for j in 0..labels {
        c += work.alpha.get(last + j) * end.exp.get(j);
    }
    work.scale.push(c);
    Some(log_z + (product * c).ln())
}

/// Whether no product of one step underflows, except those that should be 0. Labels far below the best of their position are forbidden there, and not
/// counted. Without rules on label pairs, every allowed label can follow every other, and no product of many steps underflows either.
#[cold]
fn safe_where_allowed<S: Scalar>(chain: &Chain, psi: Psi<S>, shift: &[f64], pair_spread: f64) -> bool {
    let mut nodes: f64 = 0.0;
    for (row, max) in psi.own.plane(0).chunks_exact(chain.stride()).zip(shift).take(chain.len) {
        for below in row[..chain.labels].iter().map(|u| max - u) {
            if below.is_nan() {
                return false;
            }
            if below <= FAR_BELOW {
                nodes = nodes.max(below);
            }
        }
    }
    let ends = psi.shared[BEGIN].spread.max(psi.shared[END].spread);
    nodes + ends + pair_spread < SAFE_SPREAD
}

/// Whether nothing that matters has underflowed. A label is lost where α falls below the smallest number, and it matters only if its γ is
/// huge: what is lost has α < 1e-308·e^500, which times a γ of at most [`LARGEST`] is below 1e-40.
pub(super) fn is_fine(gamma: &[f64]) -> bool {
    gamma.iter().all(|gamma| *gamma <= LARGEST)
}

/// See [`is_fine`].
const LARGEST: f64 = 1e50;

/// Runs from the last position to the first. Writes the node marginals to `out.own` and the pair marginals to `out`. Returns false, and adds
/// nothing to the shared tables, if something that matters has underflowed.
fn backward<S: Scalar>(
    chain: &Chain,
    psi: Psi<S>,
    weight: f64,
    out: &mut Gradient<S>,
    work: &mut Work<S>,
) -> bool {
    let (len, labels, stride) = (chain.len, chain.labels, chain.stride());
    let (pair, end) = (&psi.shared[PAIR], &psi.shared[END]);
    for t in (0..len).rev() {
        let row = t * stride..(t + 1) * stride;
        let s = S::lift(1.0) / work.scale[t];
        let after = (t + 1) * stride;
        let (e, alpha, mu) =
            (work.e.slice(row.clone()), work.alpha.slice_mut(row.clone()), out.own.part(row.clone()));
        if t + 1 == len {
            let gamma = work.gamma.slice_mut(row);
            S::retreat_last(end.exp.slice(0..stride), s, e, weight, Retreat { alpha, gamma, mu });
        } else {
            let (gamma, next) = work.gamma.split_mut(row, after..after + labels);
            let out = Retreat { alpha, gamma, mu };
            match &pair.sparse {
                Some(sparse) if !chain.own_pairs => {
                    sparse.from_right(pair, next, work.beta.slice_mut(0..stride));
                    S::retreat_last(work.beta.slice(0..stride), s, e, weight, out);
                }
                _ if chain.own_pairs => {
                    let mt = work.pairs_t.slice(t * labels * stride..(t + 1) * labels * stride);
                    S::retreat(next, mt, s, e, weight, out);
                }
                _ => S::retreat(next, pair.exp_t.slice(0..labels * stride), s, e, weight, out),
            }
        }
    }
    if work.unsure
        && !(is_fine(&work.gamma.plane(0)[..len * stride]) && work.scale.iter().all(|c| c.re() > 0.0))
    {
        return false;
    }
    if len > 1 && !chain.own_pairs {
        let (before, after) = (0..(len - 1) * stride, stride..len * stride);
        let (alpha, gamma) = (work.alpha.slice(before), work.gamma.slice(after));
        let sum = &mut out.shared.0[PAIR];
        match &pair.sparse {
            Some(sparse) => {
                let sums = sum.pairs.slice_mut(0..sparse.sums());
                sparse.outer_add(weight, alpha, gamma, stride, sums);
            }
            None => S::outer_add(weight, alpha, gamma, labels, sum.outer.slice_mut(0..labels * stride)),
        }
    } else if chain.own_pairs {
        for t in 1..len {
            let (at, m) = (chain.pair_offset(t), (t - 1) * labels * stride);
            let gamma = work.gamma.slice(t * stride..(t + 1) * stride);
            for i in 0..labels {
                let a = work.alpha.get((t - 1) * stride + i) * S::lift(weight);
                let (m, row) = (m + i * stride, at + i * stride);
                S::weigh(work.pairs.slice(m..m + stride), a, gamma, out.own.part(row..row + stride));
            }
            let table = out.own.read(at..at + labels * stride);
            S::axpy(S::lift(1.0), table, out.shared.0[PAIR].direct.slice_mut(0..labels * stride));
        }
    }
    add_boundaries(chain, out);
    true
}

/// The tables of the first and the last label are each read by one node, so their marginals are that node's.
pub(super) fn add_boundaries<S: Scalar>(chain: &Chain, out: &mut Gradient<S>) {
    for (table, t) in [(BEGIN, 0), (END, chain.len - 1)] {
        for j in 0..chain.labels {
            out.shared.0[table].direct.add(j, out.own.at(t * chain.stride() + j));
        }
    }
}

/// exp(shared + own − maximum) for every pair table, and the transposes. Returns the largest spread and the sum of
/// the maxima.
pub(super) fn exp_pairs<S: Scalar>(chain: &Chain, psi: Psi<S>, work: &mut Work<S>) -> (f64, f64) {
    let (labels, stride) = (chain.labels, chain.stride());
    let size = labels * stride;
    let Work { pairs, pairs_t, pair_shifts, log, .. } = work;
    pair_shifts.clear();
    let tables = chain.len.saturating_sub(1);
    pairs.reserve(tables * size);
    pairs_t.reset(tables * size, 0.0);
    let (mut spread, mut shift) = (0.0, 0.0);
    let mut max = [0.0];
    for t in 1..chain.len {
        let (from, to) = (chain.pair_offset(t), (t - 1) * size);
        let same = |own: &[f64]| own[from - size..from] == own[from..from + size];
        if t > 1 && (0..S::PLANES).all(|plane| same(psi.own.plane(plane))) {
            // No observation distinguishes the two pairs.
            for plane in 0..S::PLANES {
                pairs.plane_mut(plane).copy_within(to - size..to, to);
                pairs_t.plane_mut(plane).copy_within(to - size..to, to);
            }
            pair_shifts.push(max[0]);
            shift += max[0];
            continue;
        }
        log.reset(size, 0.0);
        for table in [psi.shared[PAIR].log.slice(0..size), psi.own.slice(from..from + size)] {
            S::axpy(S::lift(1.0), table, log.slice_mut(0..size));
        }
        // Treats the table as one row: the padding between its rows becomes 0.
        S::exp_rows(log.slice(0..size), size, &mut max, pairs.slice_mut(to..to + size));
        let rows = log.plane(0).chunks_exact(stride).flat_map(|row| row[..labels].iter().copied());
        let low = match psi.shared[PAIR].steps == 1.0 && !chain.triples {
            true => rows.fold(f64::INFINITY, f64::min),
            false => rows.filter(|w| *w > -FORBIDDEN / 2.0).fold(f64::INFINITY, f64::min),
        };
        spread = f64::max(spread, max[0] - low);
        pair_shifts.push(max[0]);
        shift += max[0];
        for plane in 0..S::PLANES {
            let table_t = &mut pairs_t.plane_mut(plane)[to..to + size];
            for (i, row) in pairs.plane(plane)[to..to + size].chunks_exact(stride).enumerate() {
                table_t[i..].iter_mut().step_by(stride).zip(&row[..labels]).for_each(|(y, x)| *y = *x);
            }
        }
    }
    (spread, shift)
}

fn sum<S: Scalar>(x: &Array<S>, range: std::ops::Range<usize>) -> S {
    let mut sum = S::lift(0.0);
    for i in range {
        sum += x.get(i);
    }
    sum
}

/// The same results as [`forward`] and [`backward`], in log space: ten times slower, but valid for any finite scores.
fn log_space<S: Scalar>(chain: &Chain, psi: Psi<S>, weight: f64, out: &mut Gradient<S>) -> S {
    let (len, labels, stride) = (chain.len, chain.labels, chain.stride());
    let node = |t: usize, j: usize| {
        let mut u = psi.own.get(t * stride + j);
        if t == 0 {
            u += psi.shared[BEGIN].log.get(j);
        }
        if t + 1 == len {
            u += psi.shared[END].log.get(j);
        }
        u
    };
    let pair = |t: usize, i: usize, j: usize| {
        let w = psi.shared[PAIR].log.get(i * stride + j);
        if chain.own_pairs { w + psi.own.get(chain.pair_offset(t) + i * stride + j) } else { w }
    };
    let mut alpha = vec![S::lift(0.0); len * labels];
    let mut beta = vec![S::lift(0.0); len * labels];
    for t in 0..len {
        for j in 0..labels {
            let before = match t {
                0 => S::lift(0.0),
                _ => log_sum_exp(labels, |i| alpha[(t - 1) * labels + i] + pair(t, i, j)),
            };
            alpha[t * labels + j] = before + node(t, j);
        }
    }
    for t in (0..len - 1).rev() {
        for i in 0..labels {
            beta[t * labels + i] =
                log_sum_exp(labels, |j| pair(t + 1, i, j) + node(t + 1, j) + beta[(t + 1) * labels + j]);
        }
    }
    let log_z = log_sum_exp(labels, |j| alpha[(len - 1) * labels + j]);
    let probability = |score: S, total: S| (score - total).exp() * S::lift(weight);
    for t in 0..len {
        // This sum is log Z too. Scores of 10¹⁵ have lost their fractions by now, but what is divided by its own sum adds up to 1.
        let total = log_sum_exp(labels, |j| alpha[t * labels + j] + beta[t * labels + j]);
        for j in 0..labels {
            out.own.set(t * stride + j, probability(alpha[t * labels + j] + beta[t * labels + j], total));
        }
        for j in labels..stride {
            out.own.set(t * stride + j, S::lift(0.0));
        }
    }
    for t in 1..len {
        for i in 0..labels {
            for j in 0..labels {
                let score = alpha[(t - 1) * labels + i] + pair(t, i, j) + node(t, j) + beta[t * labels + j];
                let p = probability(score, log_z);
                out.shared.0[PAIR].direct.add(i * stride + j, p);
                if chain.own_pairs {
                    out.own.set(chain.pair_offset(t) + i * stride + j, p);
                }
            }
        }
    }
    add_boundaries(chain, out);
    log_z
}
