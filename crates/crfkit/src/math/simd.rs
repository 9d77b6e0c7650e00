//! The hot kernels on plain `f64` slices, compiled for several vector units. The unit is chosen at run time.
//!
//! `CRFKIT_SIMD=baseline|avx2|avx512` forces one unit; otherwise the best one the processor has is taken. Tested:
//! baseline (SSE2), AVX2 and AVX-512 on x86-64. What else the `fearless_simd` crate gives (NEON, WebAssembly)
//! compiles and is untested.
//!
//! Every row is padded to a multiple of [`LANES`] numbers. Sums have one fixed order per unit, so results repeat to
//! the bit on one unit; between units the last bits may differ.

use super::scalar::TilePattern;
use crate::math::dispatch::dispatch;
use fearless_simd::{Level, f64x4, f64x8, i64x8, prelude::*};
use std::sync::OnceLock;

/// The row length is a multiple of this.
pub const LANES: usize = 8;

/// A log-potential that means "no such label": it is far below every real one, and its exponential is 0.
pub const PAD: f64 = -1e300;

/// `n` rounded up to a whole number of vectors.
pub fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// The values that `CRFKIT_SIMD` accepts.
pub const UNITS: [&str; 3] = ["baseline", "avx2", "avx512"];

fn forced(name: &str) -> Option<Level> {
    let best = Level::new();
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return match name {
        "baseline" => best.as_sse2().map(Level::Sse2),
        "avx2" => best.as_avx2().map(Level::Avx2),
        "avx512" => best.as_avx512().map(Level::Avx512),
        _ => None,
    };
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    return (name == "baseline").then_some(best);
}

/// Whether the processor has this unit (one of [`UNITS`]).
pub fn available(name: &str) -> bool {
    forced(name).is_some()
}

/// The vector unit in use, for loops outside this file that are compiled for each unit.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        std::env::var("CRFKIT_SIMD").ok().and_then(|name| forced(&name)).unwrap_or_else(Level::new)
    })
}

/// Checks `CRFKIT_SIMD`, so that a program can reject a value that would otherwise be ignored.
pub fn check_environment() -> crate::Result<()> {
    match std::env::var("CRFKIT_SIMD") {
        Ok(name) if forced(&name).is_none() => {
            let have: Vec<&str> = UNITS.into_iter().filter(|unit| available(unit)).collect();
            Err(crate::Error::Setting(format!(
                "CRFKIT_SIMD={name}: this processor offers {} (unset it to take the best)",
                have.join("|")
            )))
        }
        _ => Ok(()),
    }
}

/// The name of the vector unit in use.
pub fn unit() -> &'static str {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return match level() {
        Level::Avx512(_) => "avx512",
        Level::Avx2(_) => "avx2",
        _ => "baseline",
    };
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    "baseline"
}

#[inline(always)]
pub(crate) fn load<S: Simd>(simd: S, x: &[f64], vector: usize) -> f64x8<S> {
    f64x8::from_slice(simd, &x[vector * LANES..vector * LANES + LANES])
}

#[inline(always)]
pub(crate) fn store<S: Simd>(x: f64x8<S>, out: &mut [f64], vector: usize) {
    x.store_slice(&mut out[vector * LANES..vector * LANES + LANES]);
}

/// exp with a relative error of about 2e-16 for −708 < x < 709. Below that range the result is 0, above it exp(709).
///
/// x = k ln 2 + r with |r| ≤ ln 2 / 2. e^r comes from its Taylor series to degree 13, and 2^k from its exponent bits.
/// Adding 1.5·2⁵² rounds to an integer and leaves it in the low bits.
#[inline(always)]
pub(crate) fn exp8<S: Simd>(simd: S, x: f64x8<S>) -> f64x8<S> {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const INVERSE_FACTORIALS: [f64; 12] = [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ];
    let vanishes = x.simd_lt(-708.0);
    let x = x.max(f64x8::splat(simd, -708.0)).min(f64x8::splat(simd, 709.0));
    let t = x.mul_add(f64x8::splat(simd, std::f64::consts::LOG2_E), f64x8::splat(simd, ROUND));
    let k = t - ROUND;
    let r = k.mul_add(f64x8::splat(simd, -LN2_HIGH), x);
    let r = k.mul_add(f64x8::splat(simd, -LN2_LOW), r);
    let mut sum = f64x8::splat(simd, 1.0 / 6_227_020_800.0);
    for c in INVERSE_FACTORIALS {
        sum = sum.mul_add(r, f64x8::splat(simd, c));
    }
    sum = sum.mul_add(r, f64x8::splat(simd, 1.0));
    let power: f64x8<S> = ((t.bitcast::<i64x8<S>>() + 1023) << 52).bitcast();
    vanishes.select(f64x8::splat(simd, 0.0), sum * power)
}

/// x ← exp x for whole vectors, none above 0.
pub(crate) fn exp(x: &mut [f64]) {
    dispatch!(level(), simd => exp_on(simd, x));
}

#[inline(always)]
fn exp_on<S: Simd>(simd: S, x: &mut [f64]) {
    for v in 0..x.len() / LANES {
        store(exp8(simd, load(simd, x, v)), x, v);
    }
}

/// See [`super::Scalar::exp_rows`].
pub(crate) fn exp_rows(u: &[f64], labels: usize, shift: &mut [f64], out: &mut [f64]) -> f64 {
    dispatch!(level(), simd => exp_rows_on(simd, u, labels, shift, out))
}

#[inline(always)]
fn exp_rows_on<S: Simd>(simd: S, u: &[f64], labels: usize, shift: &mut [f64], out: &mut [f64]) -> f64 {
    let stride = padded(labels);
    let last = stride / LANES - 1;
    let mut lift = [0.0; LANES]; // takes the padding of the last vector out of the minimum
    lift[labels - last * LANES..].fill(f64::INFINITY);
    let lift = f64x8::load_array(simd, lift);
    let mut spread: f64 = 0.0;
    for (row, (u, out)) in u.chunks_exact(stride).zip(out.chunks_exact_mut(stride)).enumerate() {
        let mut high = load(simd, u, last);
        let mut low = high + lift;
        for v in 0..last {
            let x = load(simd, u, v);
            (high, low) = (high.max(x), low.min(x));
        }
        let max = high.reduce_max();
        spread = spread.max(max - low.reduce_min());
        shift[row] = max;
        for v in 0..=last {
            store(exp8(simd, load(simd, u, v) - max), out, v);
        }
    }
    spread
}

/// Runs `$kernel::<_, N>`, where N is the number of vectors in a row, if N is small enough to keep the whole row in
/// registers. Otherwise runs `$wide`.
macro_rules! by_width {
    ($vectors:expr, $kernel:ident($($arg:expr),*), $wide:expr) => {
        match $vectors {
            1 => $kernel::<_, 1>($($arg),*),
            2 => $kernel::<_, 2>($($arg),*),
            3 => $kernel::<_, 3>($($arg),*),
            4 => $kernel::<_, 4>($($arg),*),
            5 => $kernel::<_, 5>($($arg),*),
            6 => $kernel::<_, 6>($($arg),*),
            _ => $wide,
        }
    };
}

/// Columns `first … first+N` (in vectors) of a·M. Two sums, for even and odd rows, hide the latency of multiply-add.
#[inline(always)]
fn columns<S: Simd, const N: usize>(
    simd: S,
    a: &[f64],
    m: &[f64],
    stride: usize,
    first: usize,
) -> [f64x8<S>; N] {
    let zero = f64x8::splat(simd, 0.0);
    let (mut even, mut odd) = ([zero; N], [zero; N]);
    let from = first * LANES;
    let mut rows = m.chunks_exact(stride);
    let mut pairs = a.chunks_exact(2);
    for pair in &mut pairs {
        let (Some(row0), Some(row1)) = (rows.next(), rows.next()) else { break };
        let (row0, row1) = (&row0[from..from + N * LANES], &row1[from..from + N * LANES]);
        let (a0, a1) = (f64x8::splat(simd, pair[0]), f64x8::splat(simd, pair[1]));
        for v in 0..N {
            even[v] = a0.mul_add(load(simd, row0, v), even[v]);
            odd[v] = a1.mul_add(load(simd, row1, v), odd[v]);
        }
    }
    if let ([x], Some(row)) = (pairs.remainder(), rows.next()) {
        let (row, x) = (&row[from..from + N * LANES], f64x8::splat(simd, *x));
        for v in 0..N {
            even[v] = x.mul_add(load(simd, row, v), even[v]);
        }
    }
    for v in 0..N {
        even[v] += odd[v];
    }
    even
}

/// See [`super::Scalar::advance`]: out ← s·(a M) ∘ e, returns Σ out.
pub(crate) fn advance(a: &[f64], m: &[f64], s: f64, e: &[f64], out: &mut [f64]) -> f64 {
    dispatch!(level(), simd => by_width!(
    out.len() / LANES, advance_part(simd, a, m, s, e, out, 0), {
        let vectors = out.len() / LANES;
        let mut sum = 0.0;
        for v in (0..vectors - vectors % 4).step_by(4) {
            sum += advance_part::<_, 4>(simd, a, m, s, e, out, v);
        }
        for v in vectors - vectors % 4..vectors {
            sum += advance_part::<_, 1>(simd, a, m, s, e, out, v);
        }
        sum
    }))
}

#[inline(always)]
fn advance_part<S: Simd, const N: usize>(
    simd: S,
    a: &[f64],
    m: &[f64],
    s: f64,
    e: &[f64],
    out: &mut [f64],
    first: usize,
) -> f64 {
    let product = columns::<S, N>(simd, a, m, out.len(), first);
    let mut sum = f64x8::splat(simd, 0.0);
    for v in 0..N {
        let x = product[v] * s * load(simd, e, first + v);
        store(x, out, first + v);
        sum += x;
    }
    sum.reduce_sum()
}

/// See [`super::Scalar::weigh`]: out ← s·x ∘ e, returns Σ out.
pub(crate) fn weigh(x: &[f64], s: f64, e: &[f64], out: &mut [f64]) -> f64 {
    dispatch!(level(), simd => {
        let mut sum = f64x8::splat(simd, 0.0);
        for v in 0..e.len() / LANES {
            let y = load(simd, x, v) * s * load(simd, e, v);
            store(y, out, v);
            sum += y;
        }
        sum.reduce_sum()
    })
}

/// See [`super::Scalar::retreat`].
pub(crate) fn retreat(
    g: &[f64],
    mt: &[f64],
    scales: [f64; 2],
    e: &[f64],
    alpha: &mut [f64],
    gamma: &mut [f64],
    mu: &mut [f64],
) {
    dispatch!(level(), simd => by_width!(
    e.len() / LANES, retreat_part(simd, g, mt, scales, e, alpha, gamma, mu, 0), {
        let vectors = e.len() / LANES;
        for v in (0..vectors - vectors % 4).step_by(4) {
            retreat_part::<_, 4>(simd, g, mt, scales, e, alpha, gamma, mu, v);
        }
        for v in vectors - vectors % 4..vectors {
            retreat_part::<_, 1>(simd, g, mt, scales, e, alpha, gamma, mu, v);
        }
    }))
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // a kernel's operands
fn retreat_part<S: Simd, const N: usize>(
    simd: S,
    g: &[f64],
    mt: &[f64],
    scales: [f64; 2],
    e: &[f64],
    alpha: &mut [f64],
    gamma: &mut [f64],
    mu: &mut [f64],
    first: usize,
) {
    let beta = columns::<S, N>(simd, g, mt, e.len(), first);
    for v in 0..N {
        combine(simd, beta[v], scales, e, alpha, gamma, mu, first + v);
    }
}

/// See [`super::Scalar::retreat_last`].
pub(crate) fn retreat_last(
    beta: &[f64],
    scales: [f64; 2],
    e: &[f64],
    alpha: &mut [f64],
    gamma: &mut [f64],
    mu: &mut [f64],
) {
    dispatch!(level(), simd => for v in 0..e.len() / LANES {
        combine(simd, load(simd, beta, v), scales, e, alpha, gamma, mu, v);
    })
}

/// α ← s·α, γ ← s·β ∘ e, μ ← weight·α ∘ β for one vector of labels.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // a kernel's operands
fn combine<S: Simd>(
    simd: S,
    beta: f64x8<S>,
    [s, weight]: [f64; 2],
    e: &[f64],
    alpha: &mut [f64],
    gamma: &mut [f64],
    mu: &mut [f64],
    v: usize,
) {
    let a = load(simd, alpha, v) * s;
    store(a, alpha, v);
    store(beta * s * load(simd, e, v), gamma, v);
    store(a * beta * weight, mu, v);
}

/// out ← x ∘ y.
pub(crate) fn multiply(x: &[f64], y: &[f64], out: &mut [f64]) {
    dispatch!(level(), _ => for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = x * y;
    })
}

/// `out[i][j] += s · Σ_t a[t][i] · g[t][j]` for i below `labels`; see [`super::Scalar::outer_add`]. Four rows of the result
/// stay in registers while t runs over the whole sequence.
pub(crate) fn outer_add(s: f64, a: &[f64], g: &[f64], labels: usize, out: &mut [f64]) {
    let stride = padded(labels);
    dispatch!(level(), simd => by_width!(
    stride / LANES,
    outer_rows(simd, s, a, g, stride, labels, out, 0),
    for v in 0..stride / LANES {
        outer_rows::<_, 1>(simd, s, a, g, stride, labels, out, v);
    }))
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // a kernel's operands
fn outer_rows<S: Simd, const N: usize>(
    simd: S,
    s: f64,
    a: &[f64],
    g: &[f64],
    stride: usize,
    labels: usize,
    out: &mut [f64],
    first: usize,
) {
    let mut row = 0;
    while row + 4 <= labels {
        outer_block::<S, N, 4>(simd, s, a, g, stride, out, (row, first));
        row += 4;
    }
    while row < labels {
        outer_block::<S, N, 1>(simd, s, a, g, stride, out, (row, first));
        row += 1;
    }
}

#[inline(always)]
fn outer_block<S: Simd, const N: usize, const R: usize>(
    simd: S,
    s: f64,
    a: &[f64],
    g: &[f64],
    stride: usize,
    out: &mut [f64],
    (row, first): (usize, usize),
) {
    let mut sums = [[f64x8::splat(simd, 0.0); N]; R];
    for (a, g) in a.chunks_exact(stride).zip(g.chunks_exact(stride)) {
        let a = &a[row..row + R];
        let g = &g[first * LANES..(first + N) * LANES];
        for r in 0..R {
            let x = f64x8::splat(simd, a[r]);
            for v in 0..N {
                sums[r][v] = x.mul_add(load(simd, g, v), sums[r][v]);
            }
        }
    }
    for r in 0..R {
        let out = &mut out[(row + r) * stride + first * LANES..][..N * LANES];
        for v in 0..N {
            store(sums[r][v].mul_add(f64x8::splat(simd, s), load(simd, out, v)), out, v);
        }
    }
}

/// `out[j] ← max_i (a[i] + w[i][j]) + u[j]`: one step of Viterbi.
pub(crate) fn max_plus(a: &[f64], w: &[f64], u: &[f64], out: &mut [f64]) {
    dispatch!(level(), simd => by_width!(
    out.len() / LANES,
    max_plus_part(simd, a, w, u, out, 0),
    for v in 0..out.len() / LANES {
        max_plus_part::<_, 1>(simd, a, w, u, out, v);
    }))
}

#[inline(always)]
fn max_plus_part<S: Simd, const N: usize>(
    simd: S,
    a: &[f64],
    w: &[f64],
    u: &[f64],
    out: &mut [f64],
    first: usize,
) {
    let stride = out.len();
    let mut best = [f64x8::splat(simd, f64::NEG_INFINITY); N];
    for (x, row) in a.iter().zip(w.chunks_exact(stride)) {
        let (x, row) = (f64x8::splat(simd, *x), &row[first * LANES..(first + N) * LANES]);
        for v in 0..N {
            best[v] = best[v].max(x + load(simd, row, v));
        }
    }
    for v in 0..N {
        store(best[v] + load(simd, u, first + v), out, first + v);
    }
}

/// out ← out + Σ of the tables of `x` that start at `offsets`, each as long as `out`, times their values.
#[inline(always)]
pub(super) fn add_tables_part<S: Simd, const N: usize>(
    simd: S,
    x: &[f64],
    offsets: impl Iterator<Item = (usize, Option<f64>)>,
    out: &mut [f64],
    first: usize,
) {
    let mut sum: [f64x8<S>; N] = std::array::from_fn(|v| load(simd, out, first + v));
    for (offset, value) in offsets {
        let table = &x[offset + first * LANES..][..N * LANES];
        match value {
            None => (0..N).for_each(|v| sum[v] += load(simd, table, v)),
            Some(value) => {
                let value = f64x8::splat(simd, value);
                (0..N).for_each(|v| sum[v] = value.mul_add(load(simd, table, v), sum[v]));
            }
        }
    }
    for v in 0..N {
        store(sum[v], out, first + v);
    }
}

/// out ← Σ of the tables of `x` that start at `offsets`, each as long as `out`.
pub(crate) fn sum_tables(x: &[f64], offsets: &[u32], out: &mut [f64]) {
    let offsets = || offsets.iter().map(|&offset| (offset as usize, None));
    out.fill(0.0);
    dispatch!(level(), simd => by_width!(
    out.len() / LANES,
    add_tables_part(simd, x, offsets(), out, 0),
    for v in 0..out.len() / LANES {
        add_tables_part::<_, 1>(simd, x, offsets(), out, v);
    }))
}

/// out ← out + Σ value · the tables of `x` numbered `rows`, each as long as `out`. Table r starts at `offset(r)`. If
/// there are no values, all are 1.
pub(crate) fn add_tables(
    x: &[f64],
    offset: impl Fn(u32) -> usize,
    rows: &[u32],
    values: &[f64],
    out: &mut [f64],
) {
    let offsets = || rows.iter().enumerate().map(|(k, &row)| (offset(row), values.get(k).copied()));
    dispatch!(level(), simd => by_width!(
    out.len() / LANES,
    add_tables_part(simd, x, offsets(), out, 0),
    for v in 0..out.len() / LANES {
        add_tables_part::<_, 1>(simd, x, offsets(), out, v);
    }))
}

/// How many numbers of each table [`add_narrow_tables`] adds.
pub(crate) const NARROW: usize = 4;

/// [`add_tables`] for the first [`NARROW`] numbers of each table. The rest of a table is not read.
pub(crate) fn add_narrow_tables(
    x: &[f64],
    offset: impl Fn(u32) -> usize,
    rows: &[u32],
    values: &[f64],
    out: &mut [f64],
) {
    dispatch!(level(), simd => {
        let mut sum = f64x4::from_slice(simd, &out[..NARROW]);
        for (k, &row) in rows.iter().enumerate() {
            let table = f64x4::from_slice(simd, &x[offset(row)..][..NARROW]);
            sum = match values.get(k) {
                None => sum + table,
                Some(&value) => f64x4::splat(simd, value).mul_add(table, sum),
            };
        }
        sum.store_slice(&mut out[..NARROW]);
    })
}

/// [`add_to_tables`] for the first [`NARROW`] numbers of each table.
pub(crate) fn add_to_narrow_tables(
    x: &[f64],
    offset: impl Fn(u32) -> usize,
    rows: &[u32],
    values: &[f64],
    out: &mut [f64],
) {
    dispatch!(level(), simd => {
        let x = f64x4::from_slice(simd, &x[..NARROW]);
        for (k, &row) in rows.iter().enumerate() {
            let table = &mut out[offset(row)..][..NARROW];
            let old = f64x4::from_slice(simd, table);
            let new = match values.get(k) {
                None => old + x,
                Some(&value) => f64x4::splat(simd, value).mul_add(x, old),
            };
            new.store_slice(table);
        }
    })
}

/// Adds value · `x` to each of the tables of `out` numbered `rows`: the transpose of [`add_tables`].
pub(crate) fn add_to_tables(
    x: &[f64],
    offset: impl Fn(u32) -> usize,
    rows: &[u32],
    values: &[f64],
    out: &mut [f64],
) {
    dispatch!(level(), simd => by_width!(
    x.len() / LANES,
    add_to_tables_part(simd, x, &offset, rows, values, out, 0),
    for v in 0..x.len() / LANES {
        add_to_tables_part::<_, 1>(simd, x, &offset, rows, values, out, v);
    }))
}

#[inline(always)]
fn add_to_tables_part<S: Simd, const N: usize>(
    simd: S,
    x: &[f64],
    offset: impl Fn(u32) -> usize,
    rows: &[u32],
    values: &[f64],
    out: &mut [f64],
    first: usize,
) {
    let x: [f64x8<S>; N] = std::array::from_fn(|v| load(simd, x, first + v));
    for (k, &row) in rows.iter().enumerate() {
        let table = &mut out[offset(row) + first * LANES..][..N * LANES];
        let value = f64x8::splat(simd, values.get(k).copied().unwrap_or(1.0));
        for v in 0..N {
            store(value.mul_add(x[v], load(simd, table, v)), table, v);
        }
    }
}

/// `out[v] ← out[v] + s · Σ x[across]·d[tile]` over the tiles of vector v; see [`super::Scalar::tile_product`].
pub(crate) fn tile_product(s: f64, x: &[f64], (start, across): TilePattern, d: &[f64], out: &mut [f64]) {
    dispatch!(level(), simd => for v in 0..start.len() - 1 {
        let tiles = start[v] as usize..start[v + 1] as usize;
        let zero = f64x8::splat(simd, 0.0);
        let mut sums = [zero; 4]; // four chains hide the latency of multiply-add
        let mut across = across[tiles.clone()].chunks_exact(4);
        let mut d = d[tiles.start * LANES..tiles.end * LANES].chunks_exact(4 * LANES);
        for (four, d) in (&mut across).zip(&mut d) {
            for k in 0..4 {
                sums[k] = f64x8::splat(simd, x[four[k] as usize]).mul_add(load(simd, d, k), sums[k]);
            }
        }
        for (k, &i) in across.remainder().iter().enumerate() {
            sums[k] = f64x8::splat(simd, x[i as usize]).mul_add(load(simd, d.remainder(), k), sums[k]);
        }
        let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        store(sum.mul_add(f64x8::splat(simd, s), load(simd, out, v)), out, v);
    })
}

/// `sums[tile] += s · Σ_t a[t][across] · g[t][v]` for each tile of vector v; see [`super::Scalar::outer_add_tiles`]. The sums of a few
/// tiles stay in registers while t runs over the whole sequence.
pub(crate) fn outer_add_tiles(
    s: f64,
    a: &[f64],
    g: &[f64],
    stride: usize,
    (start, across): TilePattern,
    sums: &mut [f64],
) {
    dispatch!(level(), simd => for v in 0..start.len() - 1 {
        let tiles = start[v] as usize..start[v + 1] as usize;
        let mut sums = sums[tiles.start * LANES..tiles.end * LANES].chunks_exact_mut(TILES * LANES);
        let across = across[tiles].as_chunks::<TILES>();
        for (across, sums) in across.0.iter().zip(&mut sums) {
            outer_tiles(simd, s, a, g, (stride, v), across, sums);
        }
        for (across, sum) in across.1.iter().zip(sums.into_remainder().chunks_exact_mut(LANES)) {
            outer_tiles(simd, s, a, g, (stride, v), &[*across], sum);
        }
    })
}

/// How many tiles are summed up together: enough chains to hide the latency of multiply-add.
const TILES: usize = 8;

#[inline(always)]
fn outer_tiles<S: Simd, const N: usize>(
    simd: S,
    s: f64,
    a: &[f64],
    g: &[f64],
    (stride, v): (usize, usize),
    across: &[u32; N],
    out: &mut [f64],
) {
    let mut sums = [f64x8::splat(simd, 0.0); N];
    for (a, g) in a.chunks_exact(stride).zip(g.chunks_exact(stride)) {
        let g = load(simd, g, v);
        for k in 0..N {
            sums[k] = f64x8::splat(simd, a[across[k] as usize]).mul_add(g, sums[k]);
        }
    }
    for k in 0..N {
        store(sums[k].mul_add(f64x8::splat(simd, s), load(simd, out, k)), out, k);
    }
}

/// Σ x·y, for slices of any length.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    debug_assert_eq!(x.len(), y.len());
    const STEP: usize = 4 * LANES;
    dispatch!(level(), simd => {
        let mut sums = [f64x8::splat(simd, 0.0); 4];
        let (xs, x_rest) = x.as_chunks::<STEP>();
        let (ys, y_rest) = y.as_chunks::<STEP>();
        for (x, y) in xs.iter().zip(ys) {
            for v in 0..4 {
                sums[v] = load(simd, x, v).mul_add(load(simd, y, v), sums[v]);
            }
        }
        let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
        ((sums[0] + sums[1]) + (sums[2] + sums[3])).reduce_sum() + rest
    })
}

/// Σ x, for a slice of any length.
pub(crate) fn sum(x: &[f64]) -> f64 {
    dispatch!(level(), simd => {
        let (xs, rest) = x.as_chunks::<LANES>();
        let mut sum = f64x8::splat(simd, 0.0);
        for x in xs {
            sum += load(simd, x, 0);
        }
        sum.reduce_sum() + rest.iter().sum::<f64>()
    })
}

/// y ← y + a·x, for slices of any length.
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    debug_assert_eq!(x.len(), y.len());
    // Written by hand, because rows of a few labels are too short for the loops that a compiler unrolls.
    dispatch!(level(), simd => {
        let (xs, x_rest) = x.as_chunks::<LANES>();
        let (ys, y_rest) = y.as_chunks_mut::<LANES>();
        for (x, y) in xs.iter().zip(ys) {
            store(load(simd, x, 0) * a + load(simd, y, 0), y, 0);
        }
        for (x, y) in x_rest.iter().zip(y_rest) {
            *y += a * x;
        }
    })
}
