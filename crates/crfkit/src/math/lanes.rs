//! Kernels in single precision on many vectors at once: lane k of every number belongs to vector k.
//!
//! A product of one vector with a table reads the whole table for it. Here sixteen vectors share each entry, so that a product costs as
//! many operations as the table has entries, whatever their pattern, and sums over entries need no sum over lanes.

use super::simd::level;
use crate::math::dispatch::dispatch;
use fearless_simd::{f32x16, i32x16, prelude::*};

/// The number of vectors.
pub(crate) const WIDE: usize = 16;

/// One number of every vector.
pub(crate) type Lanes = [f32; WIDE];

/// A table by lines: output j is `constant[j]` · Σ x plus Σ d·`x[across]` over its entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// The first entry of each line, and the end.
    pub start: Vec<u32>,
    /// The input of each entry.
    pub across: Vec<u32>,
    /// The factor of each entry.
    pub d: Vec<f32>,
    /// The factor of Σ x in each line.
    pub constant: Vec<f32>,
}

#[inline(always)]
fn load<S: Simd>(simd: S, x: &Lanes) -> f32x16<S> {
    f32x16::from_slice(simd, x)
}

#[inline(always)]
fn store<S: Simd>(x: f32x16<S>, out: &mut Lanes) {
    x.store_slice(out);
}

/// exp with a relative error of about 1e-7 for −87 < x < 88. Below that range the result is 0. See [`super::simd::exp8`].
#[inline(always)]
fn exp16<S: Simd>(simd: S, x: f32x16<S>) -> f32x16<S> {
    const ROUND: f32 = 12_582_912.0; // 1.5·2²³
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    const INVERSE_FACTORIALS: [f32; 7] = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let vanishes = x.simd_lt(-87.0);
    let x = x.max(f32x16::splat(simd, -87.0)).min(f32x16::splat(simd, 88.0));
    let t = x.mul_add(f32x16::splat(simd, std::f32::consts::LOG2_E), f32x16::splat(simd, ROUND));
    let k = t - ROUND;
    let r = k.mul_add(f32x16::splat(simd, -LN2_HIGH), x);
    let r = k.mul_add(f32x16::splat(simd, -LN2_LOW), r);
    let mut sum = f32x16::splat(simd, 1.0 / 5040.0);
    for c in INVERSE_FACTORIALS {
        sum = sum.mul_add(r, f32x16::splat(simd, c));
    }
    let power: f32x16<S> = ((t.bitcast::<i32x16<S>>() + 127) << 23).bitcast();
    vanishes.select(f32x16::splat(simd, 0.0), sum * power)
}

/// shift ← max of each vector, u ← exp(u − shift).
pub(crate) fn exp(u: &mut [Lanes], shift: &mut Lanes) {
    dispatch!(level(), simd => {
        let mut max = f32x16::splat(simd, f32::NEG_INFINITY);
        for x in u.iter() {
            max = max.max(load(simd, x));
        }
        store(max, shift);
        for x in u.iter_mut() {
            store(exp16(simd, load(simd, x) - max), x);
        }
    })
}

/// The smallest and the largest of the first `used` numbers of every row; both are NaN if any of them is NaN.
pub(crate) fn range(rows: &[f32], stride: usize, used: usize) -> [f32; 2] {
    dispatch!(level(), simd => {
        let (low, high) = (f32x16::splat(simd, f32::INFINITY), f32x16::splat(simd, f32::NEG_INFINITY));
        let (mut low, mut high, mut nan) = (low, high, f32x16::splat(simd, 0.0));
        for row in rows.chunks_exact(stride) {
            let (wide, rest) = row[..used].as_chunks::<WIDE>();
            let mut tail = [row[0]; WIDE];
            tail[..rest.len()].copy_from_slice(rest);
            for x in wide.iter().chain([&tail]) {
                let x = load(simd, x);
                (low, high) = (low.min(x), high.max(x));
                nan = x.mul_add(f32x16::splat(simd, 0.0), nan);
            }
        }
        let nan = nan.reduce_sum();
        [low.reduce_min() + nan, high.reduce_max() + nan]
    })
}

/// `out[j] ← Σ_i x[i]·m[i][j]`, with rows of `m` of length `stride`.
pub(crate) fn product(x: &[Lanes], m: &[f32], stride: usize, out: &mut [Lanes]) {
    dispatch!(level(), simd => {
        let (fours, rest) = out.as_chunks_mut::<4>();
        let tail = 4 * fours.len();
        for (block, out) in fours.iter_mut().enumerate() {
            columns(simd, x, m, (stride, 4 * block), out);
        }
        for (k, out) in rest.iter_mut().enumerate() {
            columns(simd, x, m, (stride, tail + k), std::array::from_mut(out));
        }
    })
}

/// Columns `first … first + N` of [`product`].
#[inline(always)]
fn columns<S: Simd, const N: usize>(
    simd: S,
    x: &[Lanes],
    m: &[f32],
    (stride, first): (usize, usize),
    out: &mut [Lanes; N],
) {
    let zero = f32x16::splat(simd, 0.0);
    let (mut even, mut odd) = ([zero; N], [zero; N]);
    let mut rows = m.chunks_exact(stride);
    let (pairs, rest) = x.as_chunks::<2>();
    for [x0, x1] in pairs {
        let (Some(row0), Some(row1)) = (rows.next(), rows.next()) else { break };
        let (row0, row1) = (&row0[first..first + N], &row1[first..first + N]);
        let (x0, x1) = (load(simd, x0), load(simd, x1));
        for k in 0..N {
            even[k] = x0.mul_add(f32x16::splat(simd, row0[k]), even[k]);
            odd[k] = x1.mul_add(f32x16::splat(simd, row1[k]), odd[k]);
        }
    }
    if let ([x], Some(row)) = (rest, rows.next()) {
        for k in 0..N {
            even[k] = load(simd, x).mul_add(f32x16::splat(simd, row[first + k]), even[k]);
        }
    }
    for k in 0..N {
        store(even[k] + odd[k], &mut out[k]);
    }
}

/// out ← the product of `x` with a table by lines.
pub(crate) fn product_of_lines(x: &[Lanes], lines: &Lines, out: &mut [Lanes]) {
    dispatch!(level(), simd => {
        let zero = f32x16::splat(simd, 0.0);
        let (mut even, mut odd) = (zero, zero);
        let (pairs, rest) = x.as_chunks::<2>();
        for [x0, x1] in pairs {
            even += load(simd, x0);
            odd += load(simd, x1);
        }
        for x in rest {
            even += load(simd, x);
        }
        let sum = even + odd;
        let bounds = lines.start.windows(2).zip(&lines.constant);
        for (out, (bounds, &constant)) in out.iter_mut().zip(bounds) {
            let line = bounds[0] as usize..bounds[1] as usize;
            let (across, d) = (&lines.across[line.clone()], &lines.d[line]);
            let (mut even, mut odd) = (sum * constant, zero);
            let (across, last_across) = across.as_chunks::<2>();
            let (d, last_d) = d.as_chunks::<2>();
            for (&[i0, i1], &[d0, d1]) in across.iter().zip(d) {
                even = load(simd, &x[i0 as usize]).mul_add(f32x16::splat(simd, d0), even);
                odd = load(simd, &x[i1 as usize]).mul_add(f32x16::splat(simd, d1), odd);
            }
            for (&i, &d) in last_across.iter().zip(last_d) {
                even = load(simd, &x[i as usize]).mul_add(f32x16::splat(simd, d), even);
            }
            store(even + odd, out);
        }
    })
}

/// What happens to each vector in a step: whether it begins and whether it ends (above 0 for yes).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Borders {
    /// Above 0 where a sequence begins.
    pub first: Lanes,
    /// Above 0 where it ends.
    pub last: Lanes,
}

/// x ← x ∘ e / c, where x is `begin` in lanes that begin, and c = Σ x ∘ e, weighted by `end` in lanes that end. Returns 1/c.
pub(crate) fn advance(x: &mut [Lanes], e: &[Lanes], [begin, end]: [&[f32]; 2], borders: &Borders) -> Lanes {
    dispatch!(level(), simd => {
        let one = f32x16::splat(simd, 1.0);
        let first = load(simd, &borders.first).simd_gt(0.0);
        let last = load(simd, &borders.last).simd_gt(0.0);
        let mut sum = f32x16::splat(simd, 0.0);
        for (((x, e), &begin), &end) in x.iter_mut().zip(e).zip(begin).zip(end) {
            let y = first.select(f32x16::splat(simd, begin), load(simd, x)) * load(simd, e);
            sum = y.mul_add(last.select(f32x16::splat(simd, end), one), sum);
            store(y, x);
        }
        let scale = one / sum;
        for x in x.iter_mut() {
            store(load(simd, x) * scale, x);
        }
        let mut out = [0.0; WIDE];
        store(scale, &mut out);
        out
    })
}

/// One step back. With β = `end` in lanes that end and n = Σ α ∘ β, which differs from 1 by rounding alone: e ← `scale`·e ∘ β/n
/// and β ← `weight`·α ∘ β/n.
pub(crate) fn retreat(
    beta: &mut [Lanes],
    e: &mut [Lanes],
    alpha: &[Lanes],
    end: &[f32],
    [last, scale, weight]: [&Lanes; 3],
) {
    dispatch!(level(), simd => {
        let last = load(simd, last).simd_gt(0.0);
        let mut sum = f32x16::splat(simd, 0.0);
        for ((beta, alpha), &end) in beta.iter_mut().zip(alpha).zip(end) {
            let b = last.select(f32x16::splat(simd, end), load(simd, beta));
            sum = b.mul_add(load(simd, alpha), sum);
            store(b, beta);
        }
        let norm = f32x16::splat(simd, 1.0) / sum;
        let (scale, weight) = (load(simd, scale) * norm, load(simd, weight) * norm);
        for ((beta, e), alpha) in beta.iter_mut().zip(e).zip(alpha) {
            let b = load(simd, beta);
            store(load(simd, e) * b * scale, e);
            store(load(simd, alpha) * b * weight, beta);
        }
    })
}

/// x ← x·s, lane by lane.
pub(crate) fn scale(x: &mut [Lanes], s: &Lanes) {
    dispatch!(level(), simd => {
        let s = load(simd, s);
        for x in x.iter_mut() {
            store(load(simd, x) * s, x);
        }
    })
}

/// The pairs (i, j) of a table: the j of every i.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    /// The first pair of each i, and the end.
    pub start: Vec<u32>,
    /// j of each pair.
    pub column: Vec<u32>,
}

/// How many steps [`outer_add`] takes together: the sums then travel to registers and back only once.
pub(crate) const TOGETHER: usize = 4;

/// `sums[pair] += Σ_k a[k][i]·g[k][j]` over up to [`TOGETHER`] steps k, each of `n` numbers.
pub(crate) fn outer_add(a: &[Lanes], g: &[Lanes], n: usize, pairs: &Pairs, sums: &mut [Lanes]) {
    dispatch!(level(), simd => match a.len() / n {
        TOGETHER => outer_steps::<_, TOGETHER>(simd, a, g, n, pairs, sums),
        _ => for (a, g) in a.chunks_exact(n).zip(g.chunks_exact(n)) {
            outer_steps::<_, 1>(simd, a, g, n, pairs, sums);
        },
    })
}

#[inline(always)]
fn outer_steps<S: Simd, const K: usize>(
    simd: S,
    a: &[Lanes],
    g: &[Lanes],
    n: usize,
    pairs: &Pairs,
    sums: &mut [Lanes],
) {
    let g: [&[Lanes]; K] = std::array::from_fn(|k| &g[k * n..(k + 1) * n]);
    for (i, bounds) in pairs.start.windows(2).enumerate() {
        let line = bounds[0] as usize..bounds[1] as usize;
        let a: [f32x16<S>; K] = std::array::from_fn(|k| load(simd, &a[k * n + i]));
        for (&j, sum) in pairs.column[line.clone()].iter().zip(&mut sums[line]) {
            let mut x = load(simd, sum);
            for k in 0..K {
                x = a[k].mul_add(load(simd, &g[k][j as usize]), x);
            }
            store(x, sum);
        }
    }
}
