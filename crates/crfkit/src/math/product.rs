//! Products of a matrix of single-precision numbers with weights, and their transpose: blocked, and compiled for several vector units.
//!
//! The numbers are stored once, in 4 bytes each. They are made `f64` a few rows at a time, so that all sums are those of `f64`s, each in
//! one fixed order.

use super::dispatch::dispatch;
use super::simd::{LANES, level, load, store};
use fearless_simd::{f64x8, prelude::*};

/// A matrix of numbers, row after row, whose every row belongs to a table somewhere in an array.
#[derive(Clone, Copy, Debug)]
pub struct RowsOf<'a> {
    /// The numbers, `[tables][width]`.
    pub values: &'a [f32],
    /// Numbers in a row; not 0.
    pub width: usize,
    /// The start of each row's table.
    pub tables: &'a [u32],
}

impl<'a> RowsOf<'a> {
    /// Some consecutive rows.
    pub fn part(&self, rows: std::ops::Range<usize>) -> RowsOf<'a> {
        let values = &self.values[rows.start * self.width..rows.end * self.width];
        RowsOf { values, width: self.width, tables: &self.tables[rows] }
    }
}

/// Rows of the matrix that are kept in `f64` at a time for [`add_outer`]: four columns of them fit into the first-level cache.
const STRIP: usize = 256;

/// `out[table] ← out[table] + x·W` for every row x. W is `[width][size]`, and `size` is a multiple of [`LANES`].
pub(crate) fn add_products(x: RowsOf, w: &[f64], size: usize, out: &mut [f64]) {
    dispatch!(level(), simd => products_on(simd, x, w, size, out))
}

#[inline(always)]
fn products_on<S: Simd>(simd: S, x: RowsOf, w: &[f64], size: usize, out: &mut [f64]) {
    // Wider registers come with more of them: rows that are multiplied at once.
    match <S::f64s as SimdBase<S>>::LEN >= LANES {
        true => products_by::<S, 8>(simd, x, w, size, out),
        false => products_by::<S, 2>(simd, x, w, size, out),
    }
}

/// [`add_products`], R rows at a time.
#[inline(always)]
fn products_by<S: Simd, const R: usize>(simd: S, x: RowsOf, w: &[f64], size: usize, out: &mut [f64]) {
    let width = x.width;
    let mut rows = vec![0.0; R * width];
    for (values, tables) in x.values.chunks(R * width).zip(x.tables.chunks(R)) {
        rows[values.len()..].fill(0.0);
        rows.iter_mut().zip(values).for_each(|(row, value)| *row = f64::from(*value));
        let mut at = [0; R];
        at.iter_mut().zip(tables).for_each(|(at, table)| *at = *table as usize);
        let at = &at[..tables.len()];
        let vectors = size / LANES;
        let mut v = 0;
        while v + 3 <= vectors {
            tile::<S, R, 3>(simd, &rows, w, (size, v), at, out);
            v += 3;
        }
        while v < vectors {
            tile::<S, R, 1>(simd, &rows, w, (size, v), at, out);
            v += 1;
        }
    }
}

/// Vectors `first … first+N` of R products, of which the first ones have a table.
#[inline(always)]
fn tile<S: Simd, const R: usize, const N: usize>(
    simd: S,
    rows: &[f64],
    w: &[f64],
    (size, first): (usize, usize),
    tables: &[usize],
    out: &mut [f64],
) {
    let width = rows.len() / R;
    let mut sums = [[f64x8::splat(simd, 0.0); N]; R];
    let rows: [&[f64]; R] = std::array::from_fn(|r| &rows[r * width..(r + 1) * width]);
    for (d, w) in w.chunks_exact(size).enumerate().take(width) {
        let w = &w[first * LANES..(first + N) * LANES];
        let w: [f64x8<S>; N] = std::array::from_fn(|v| load(simd, w, v));
        for r in 0..R {
            let x = f64x8::splat(simd, rows[r][d]);
            for v in 0..N {
                sums[r][v] = x.mul_add(w[v], sums[r][v]);
            }
        }
    }
    for (&at, sums) in tables.iter().zip(&sums) {
        let out = &mut out[at + first * LANES..at + (first + N) * LANES];
        for (v, sum) in sums.iter().enumerate() {
            store(load(simd, out, v) + *sum, out, v);
        }
    }
}

/// `W ← W + Σ xᵀ·from[table]` over the rows x: the transpose of [`add_products`].
pub(crate) fn add_outer(x: RowsOf, from: &[f64], size: usize, w: &mut [f64]) {
    dispatch!(level(), simd => outer_on(simd, x, from, size, w))
}

#[inline(always)]
fn outer_on<S: Simd>(simd: S, x: RowsOf, from: &[f64], size: usize, w: &mut [f64]) {
    match <S::f64s as SimdBase<S>>::LEN >= LANES {
        true => outer_by::<S, 8>(simd, x, from, size, w),
        false => outer_by::<S, 2>(simd, x, from, size, w),
    }
}

/// [`add_outer`], C columns of the matrix at a time.
#[inline(always)]
fn outer_by<S: Simd, const C: usize>(simd: S, x: RowsOf, from: &[f64], size: usize, w: &mut [f64]) {
    let width = x.width;
    let mut strip = [[0.0; C]; STRIP];
    for (values, tables) in x.values.chunks(STRIP * width).zip(x.tables.chunks(STRIP)) {
        for (first, w) in (0..width).step_by(C).zip(w.chunks_mut(C * size)) {
            let columns = C.min(width - first);
            for (strip, row) in strip.iter_mut().zip(values.chunks_exact(width)) {
                match row[first..].first_chunk::<C>() {
                    Some(row) => *strip = row.map(f64::from),
                    None => {
                        *strip = [0.0; C];
                        strip.iter_mut().zip(&row[first..]).for_each(|(x, value)| *x = f64::from(*value));
                    }
                }
            }
            let strip = &strip[..tables.len()];
            let vectors = size / LANES;
            let mut v = 0;
            while v + 3 <= vectors {
                outer_tile::<S, C, 3>(simd, strip, tables, from, (size, v), &mut w[..columns * size]);
                v += 3;
            }
            while v < vectors {
                outer_tile::<S, C, 1>(simd, strip, tables, from, (size, v), &mut w[..columns * size]);
                v += 1;
            }
        }
    }
}

/// Vectors `first … first+N` of the sums of C columns, as many as W has.
#[inline(always)]
fn outer_tile<S: Simd, const C: usize, const N: usize>(
    simd: S,
    strip: &[[f64; C]],
    tables: &[u32],
    from: &[f64],
    (size, first): (usize, usize),
    w: &mut [f64],
) {
    let mut sums = [[f64x8::splat(simd, 0.0); N]; C];
    for (x, &table) in strip.iter().zip(tables) {
        let at = table as usize + first * LANES;
        let from = &from[at..at + N * LANES];
        let from: [f64x8<S>; N] = std::array::from_fn(|v| load(simd, from, v));
        for c in 0..C {
            let x = f64x8::splat(simd, x[c]);
            for v in 0..N {
                sums[c][v] = x.mul_add(from[v], sums[c][v]);
            }
        }
    }
    for (w, sums) in w.chunks_exact_mut(size).zip(&sums) {
        let w = &mut w[first * LANES..(first + N) * LANES];
        for (v, sum) in sums.iter().enumerate() {
            store(load(simd, w, v) + *sum, w, v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    #[test]
    fn products_are_those_of_plain_loops() {
        let mut random = Random::stream(7, 0);
        let mut number = || random.uniform() - 0.5;
        for (rows, width, size) in [(1, 1, 8), (2, 3, 16), (9, 17, 24), (300, 5, 40), (7, 9, 8), (17, 8, 64)]
        {
            let x: Vec<f32> = (0..rows * width).map(|_| number() as f32).collect();
            let w: Vec<f64> = (0..width * size).map(|_| number()).collect();
            // Tables in any order, with gaps.
            let tables: Vec<u32> =
                (0..rows as u32).map(|n| (rows as u32 - 1 - n) * (size as u32 + 8)).collect();
            let start: Vec<f64> = (0..rows * (size + 8)).map(|_| number()).collect();
            let of = RowsOf { values: &x, width, tables: &tables };
            let (mut found, mut expected) = (start.clone(), start.clone());
            add_products(of, &w, size, &mut found);
            let (mut back, mut expected_back) = (w.clone(), w.clone());
            add_outer(of, &start, size, &mut back);
            for (n, &table) in tables.iter().enumerate() {
                for d in 0..width {
                    for k in 0..size {
                        let value = f64::from(x[n * width + d]);
                        expected[table as usize + k] += value * w[d * size + k];
                        expected_back[d * size + k] += value * start[table as usize + k];
                    }
                }
            }
            for (found, expected) in found.iter().zip(&expected).chain(back.iter().zip(&expected_back)) {
                assert!((found - expected).abs() < 1e-12, "{rows} × {width} × {size}: {found} {expected}");
            }
        }
    }
}
