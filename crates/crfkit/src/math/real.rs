//! Real numbers in which tables may be stored.

use super::simd::{self, LANES, add_tables_part, level};
use crate::math::dispatch::dispatch;
use fearless_simd::{f32x8, f64x8, prelude::*};
use std::ops::AddAssign;

/// A number of a table: `f64`, or `f32` where half the bytes matter more than the last digits. Sums over examples are `f64` in both cases.
pub trait Real: Copy + Default + Into<f64> + AddAssign + Send + Sync + 'static {
    /// Rows wider than this are not worth spreading out: they mostly hold labels that were never seen with an observation.
    const WIDEST: usize;

    /// The number nearest to x.
    fn of(x: f64) -> Self;

    /// Adds rows of `table`, each `stride` long, to the tables of `out` that `lists` names: their rows, and where they begin. Row `limit` is 0,
    /// and stands for all rows from there on.
    fn add_rows<'a>(
        table: &[Self],
        stride: usize,
        limit: u32,
        lists: impl Iterator<Item = (&'a [u32], usize)>,
        out: &mut [Self],
    );

    /// out ← Σ of the tables of `x` that start at `offsets`, each as long as `out`.
    fn sum_tables(x: &[Self], offsets: &[u32], out: &mut [f64]);

    /// Adds value · `x` to each of the tables of `out` that start at `offsets`. If there are no values, all are 1.
    fn add_to_tables(x: &[f64], offsets: &[u32], values: &[f64], out: &mut [Self]);
}

/// Runs `$kernel::<_, N>` on all vectors of a row, N at a time.
macro_rules! by_parts {
    ($vectors:expr, $kernel:ident($($arg:expr),*)) => {
        match $vectors {
            1 => $kernel::<_, 1>($($arg),*, 0),
            2 => $kernel::<_, 2>($($arg),*, 0),
            3 => $kernel::<_, 3>($($arg),*, 0),
            vectors => {
                for v in (0..vectors - vectors % 4).step_by(4) {
                    $kernel::<_, 4>($($arg),*, v);
                }
                for v in vectors - vectors % 4..vectors {
                    $kernel::<_, 1>($($arg),*, v);
                }
            }
        }
    };
}

impl Real for f64 {
    const WIDEST: usize = 64;

    #[inline]
    fn of(x: f64) -> Self {
        x
    }
    fn add_rows<'a>(
        table: &[f64],
        stride: usize,
        limit: u32,
        lists: impl Iterator<Item = (&'a [u32], usize)>,
        out: &mut [f64],
    ) {
        dispatch!(level(), simd => for (rows, start) in lists {
            let out = &mut out[start..start + stride];
            // Which rows are below the limit cannot be foreseen, so there is no branch that depends on it.
            let offsets = || rows.iter().map(|&row| (row.min(limit) as usize * stride, None));
            by_parts!(stride / LANES, add_tables_part(simd, table, offsets(), out));
        })
    }
    fn sum_tables(x: &[f64], offsets: &[u32], out: &mut [f64]) {
        simd::sum_tables(x, offsets, out)
    }
    fn add_to_tables(x: &[f64], offsets: &[u32], values: &[f64], out: &mut [f64]) {
        simd::add_to_tables(x, |offset| offset as usize, offsets, values, out)
    }
}

/// So many tables are added in single precision before their sum is added in double precision.
const SHORT: usize = 16;

impl Real for f32 {
    const WIDEST: usize = 512;

    #[inline]
    fn of(x: f64) -> Self {
        x as f32
    }

    fn add_rows<'a>(
        table: &[f32],
        stride: usize,
        limit: u32,
        lists: impl Iterator<Item = (&'a [u32], usize)>,
        out: &mut [f32],
    ) {
        dispatch!(level(), simd => for (rows, start) in lists {
            let out = &mut out[start..start + stride];
            let offsets = || rows.iter().map(|&row| row.min(limit) as usize * stride);
            by_parts!(stride / LANES, add_part(simd, table, offsets(), out));
        })
    }

    fn sum_tables(x: &[f32], offsets: &[u32], out: &mut [f64]) {
        out.fill(0.0);
        dispatch!(level(), simd => for few in offsets.chunks(SHORT) {
            by_parts!(out.len() / LANES, sum_part(simd, x, few, out));
        })
    }

    fn add_to_tables(x: &[f64], offsets: &[u32], values: &[f64], out: &mut [f32]) {
        /// So many numbers are converted at a time.
        const PART: usize = 64;
        dispatch!(level(), _ => for (part, x) in x.chunks(PART).enumerate() {
            let mut single = [0.0; PART];
            single.iter_mut().zip(x).for_each(|(single, x)| *single = *x as f32);
            let single = &single[..x.len()];
            for (k, &offset) in offsets.iter().enumerate() {
                let value = values.get(k).map_or(1.0, |value| *value as f32);
                let out = &mut out[offset as usize + part * PART..][..single.len()];
                out.iter_mut().zip(single).for_each(|(out, x)| *out += value * x);
            }
        })
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, x: &[f32], vector: usize) -> f32x8<S> {
    f32x8::from_slice(simd, &x[vector * LANES..vector * LANES + LANES])
}

#[inline(always)]
fn add_part<S: Simd, const N: usize>(
    simd: S,
    x: &[f32],
    offsets: impl Iterator<Item = usize>,
    out: &mut [f32],
    first: usize,
) {
    let mut sum: [f32x8<S>; N] = std::array::from_fn(|v| load(simd, out, first + v));
    for offset in offsets {
        let table = &x[offset + first * LANES..][..N * LANES];
        (0..N).for_each(|v| sum[v] += load(simd, table, v));
    }
    for v in 0..N {
        sum[v].store_slice(&mut out[(first + v) * LANES..(first + v + 1) * LANES]);
    }
}

#[inline(always)]
fn sum_part<S: Simd, const N: usize>(simd: S, x: &[f32], offsets: &[u32], out: &mut [f64], first: usize) {
    let mut sum = [f32x8::splat(simd, 0.0); N];
    for &offset in offsets {
        let table = &x[offset as usize + first * LANES..][..N * LANES];
        (0..N).for_each(|v| sum[v] += load(simd, table, v));
    }
    for v in 0..N {
        let (low, high) = simd.widen_f32x8(sum[v]);
        let wide: f64x8<S> = simd.combine_f64x4(low, high);
        simd::store(simd::load(simd, out, first + v) + wide, out, first + v);
    }
}
