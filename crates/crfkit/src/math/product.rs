//! Products of a matrix of single-precision numbers with weights, and their transpose: blocked, and compiled for several vector units.
//!
//! The numbers are stored once, in 4 bytes each. With weights in `f64` they are made `f64` a few rows at a time, so that all sums are those of
//! `f64`s. With weights in `f32` a product takes half the time. Each sum has one fixed order.

use super::Real;
use super::dispatch::dispatch;
use super::simd::{LANES, level};
use fearless_simd::{SimdFloatElement, f32x8, f32x16, f64x8, prelude::*};

/// Numbers in which products are computed.
pub trait Factor: Real + SimdFloatElement {
    /// A vector of them.
    type Vector<S: Simd>: SimdFloat<S, Element = Self>;

    /// The numbers of a matrix, if they need not be converted.
    fn in_place(values: &[f32]) -> Option<&[Self]>;

    /// Adds as much of a vector to `out` as that is long: all, or the first [`LANES`] numbers.
    fn add_to<S: Simd>(simd: S, x: Self::Vector<S>, out: &mut [Self]);

    /// The same with sums in double precision.
    fn add_to_sums<S: Simd>(simd: S, x: Self::Vector<S>, sums: &mut [f64]);

    /// `n` rounded up to a whole number of vectors.
    fn padded(n: usize) -> usize {
        n.next_multiple_of(Self::LANES)
    }

    /// Numbers in a vector.
    const LANES: usize;
}

impl Factor for f64 {
    type Vector<S: Simd> = f64x8<S>;
    const LANES: usize = LANES;

    #[inline(always)]
    fn in_place(_: &[f32]) -> Option<&[Self]> {
        None
    }
    #[inline(always)]
    fn add_to<S: Simd>(simd: S, x: f64x8<S>, out: &mut [f64]) {
        (f64x8::from_slice(simd, out) + x).store_slice(out);
    }
    #[inline(always)]
    fn add_to_sums<S: Simd>(simd: S, x: f64x8<S>, sums: &mut [f64]) {
        Self::add_to(simd, x, sums);
    }
}

impl Factor for f32 {
    type Vector<S: Simd> = f32x16<S>;
    const LANES: usize = 2 * LANES;

    #[inline(always)]
    fn in_place(values: &[f32]) -> Option<&[Self]> {
        Some(values)
    }
    #[inline(always)]
    fn add_to<S: Simd>(simd: S, x: f32x16<S>, out: &mut [f32]) {
        if out.len() == LANES {
            let (low, _) = simd.split_f32x16(x);
            (f32x8::from_slice(simd, out) + low).store_slice(out);
        } else {
            (f32x16::from_slice(simd, out) + x).store_slice(out);
        }
    }
    #[inline(always)]
    fn add_to_sums<S: Simd>(simd: S, x: f32x16<S>, sums: &mut [f64]) {
        let (low, high) = simd.widen_f32x16(x);
        f64::add_to(simd, low, &mut sums[..LANES]);
        if sums.len() > LANES {
            f64::add_to(simd, high, &mut sums[LANES..]);
        }
    }
}

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

/// Rows of the matrix whose products are summed up for [`add_outer`] before they are added to W.
const STRIP: usize = 256;

/// Numbers of a matrix that are handled together: they fit into the second-level cache.
const TOGETHER: usize = 1 << 16;

/// Reads a number of each line of the cache, in order. The products read rows side by side, and a processor does not foresee what they need
/// from memory.
#[inline(always)]
fn expect(values: &[f32]) {
    const LINE: usize = 16;
    let mut bits = 0;
    values.iter().step_by(LINE).for_each(|x| bits ^= x.to_bits());
    std::hint::black_box(bits);
}

/// Calls `$kernel::<.., N>(.., first)` for parts of N ≤ 2 vectors. With three, a compiler may run out of registers.
macro_rules! by_twos {
    ($vectors:expr, $kernel:ident::<$K:tt>($($arg:expr),*)) => {{
        let (vectors, mut first) = ($vectors, 0);
        while first < vectors {
            first += match vectors - first {
                1 => $kernel::<_, _, $K, 1>($($arg),*, first),
                _ => $kernel::<_, _, $K, 2>($($arg),*, first),
            };
        }
    }};
}

/// `out[table] ← out[table] + x·W` for every row x. `size` is a multiple of [`LANES`]. The rows of W begin `stride` numbers after one another, and
/// `R::padded(size)` numbers are read of each.
pub(crate) fn add_products<R: Factor>(x: RowsOf, w: (&[R], usize), size: usize, out: &mut [R]) {
    let strip = (TOGETHER / x.width).clamp(8, STRIP) / 8 * 8;
    dispatch!(level(), simd => for first in (0..x.tables.len()).step_by(strip) {
        let x = x.part(first..x.tables.len().min(first + strip));
        expect(x.values);
        products_on(simd, x, w, size, out);
    })
}

/// Whether registers are wide. Then there are more of them too.
#[inline(always)]
fn is_wide<S: Simd>(_: S) -> bool {
    <S::f64s as SimdBase<S>>::LEN >= LANES
}

/// [`add_products`], a few rows at a time.
#[inline(always)]
fn products_on<S: Simd, R: Factor>(simd: S, x: RowsOf, w: (&[R], usize), size: usize, out: &mut [R]) {
    let (width, vectors, most) = (x.width, size.div_ceil(R::LANES), if is_wide(simd) { 8 } else { 2 });
    let mut converted = Vec::new();
    for (values, tables) in x.values.chunks(most * width).zip(x.tables.chunks(most)) {
        let rows = match R::in_place(values).filter(|_| tables.len() == most) {
            Some(rows) => rows,
            None => {
                // Behind the last row lie old numbers, whose products go nowhere.
                converted.resize(most * width, R::default());
                converted.iter_mut().zip(values).for_each(|(x, value)| *x = R::of((*value).into()));
                &converted
            }
        };
        match (is_wide(simd), tables.len() > 4) {
            (true, true) => by_twos!(vectors, tile::<8>(simd, rows, w, size, tables, out)),
            (true, false) => by_twos!(vectors, tile::<4>(simd, &rows[..4 * width], w, size, tables, out)),
            (false, _) => by_twos!(vectors, tile::<2>(simd, rows, w, size, tables, out)),
        }
    }
}

/// Vectors `first … first+N` of the products of K rows, of which the first ones have a table. Returns N.
#[inline(always)]
fn tile<S: Simd, R: Factor, const K: usize, const N: usize>(
    simd: S,
    rows: &[R],
    (w, stride): (&[R], usize),
    size: usize,
    tables: &[u32],
    out: &mut [R],
    first: usize,
) -> usize {
    let (width, from) = (rows.len() / K, first * R::LANES);
    let mut sums = [[R::Vector::<S>::splat(simd, R::default()); N]; K];
    let rows: [&[R]; K] = std::array::from_fn(|k| &rows[k * width..(k + 1) * width]);
    let w = &w[from..(width - 1) * stride + from + N * R::LANES];
    for d in 0..width {
        // Not an index, which could panic: the compiler then keeps the sums in memory.
        let Some(w) = w.get(d * stride..d * stride + N * R::LANES) else { break };
        let w: [R::Vector<S>; N] = std::array::from_fn(|v| vector(simd, w, v));
        for k in 0..K {
            let x = R::Vector::<S>::splat(simd, rows[k][d]);
            for v in 0..N {
                sums[k][v] = x.mul_add(w[v], sums[k][v]);
            }
        }
    }
    for (&table, sums) in tables.iter().zip(&sums) {
        let out = &mut out[table as usize..][from..size];
        for v in 0..N {
            let end = out.len().min((v + 1) * R::LANES);
            R::add_to(simd, sums[v], &mut out[v * R::LANES..end]);
        }
    }
    N
}

#[inline(always)]
fn vector<S: Simd, R: Factor>(simd: S, x: &[R], v: usize) -> R::Vector<S> {
    R::Vector::<S>::from_slice(simd, &x[v * R::LANES..(v + 1) * R::LANES])
}

/// `W ← W + Σ xᵀ·from[table]` over the rows x: the transpose of [`add_products`]. W is `[width][size]`. Behind the last table, `from` has so many numbers
/// that it can be read in whole vectors.
pub(crate) fn add_outer<R: Factor>(x: RowsOf, from: &[R], size: usize, w: &mut [f64]) {
    dispatch!(level(), simd => for first in (0..x.tables.len()).step_by(STRIP) {
        let x = x.part(first..x.tables.len().min(first + STRIP));
        match is_wide(simd) {
            true => outer_on::<_, _, 8>(simd, x, from, size, w),
            false => outer_on::<_, _, 2>(simd, x, from, size, w),
        }
    })
}

/// [`add_outer`] for at most [`STRIP`] rows, C columns of the matrix at a time.
#[inline(always)]
fn outer_on<S: Simd, R: Factor, const C: usize>(simd: S, x: RowsOf, from: &[R], size: usize, w: &mut [f64]) {
    let (width, vectors) = (x.width, size.div_ceil(R::LANES));
    let mut converted = [[R::default(); C]; STRIP];
    for (first, w) in (0..width).step_by(C).zip(w.chunks_mut(C * size)) {
        if first % (TOGETHER / STRIP) == 0 {
            let end = width.min(first + TOGETHER / STRIP);
            x.values.chunks_exact(width).for_each(|row| expect(&row[first..end]));
        }
        let (columns, stride) = match R::in_place(x.values).filter(|_| first + C <= width) {
            Some(values) => (&values[first..], width),
            None => {
                for (x, row) in converted.iter_mut().zip(x.values.chunks_exact(width)) {
                    match row[first..].first_chunk::<C>() {
                        Some(row) => *x = row.map(|x| R::of(x.into())),
                        None => {
                            x.iter_mut()
                                .zip(&row[first..])
                                .for_each(|(x, value)| *x = R::of((*value).into()));
                        }
                    }
                }
                (converted.as_flattened(), C)
            }
        };
        by_twos!(vectors, outer_tile::<C>(simd, (columns, stride), x.tables, from, size, w));
    }
}

/// Vectors `first … first+N` of the sums of C columns, as many as W has. The columns of row k are at `k·stride`. Returns N.
#[inline(always)]
fn outer_tile<S: Simd, R: Factor, const C: usize, const N: usize>(
    simd: S,
    (columns, stride): (&[R], usize),
    tables: &[u32],
    from: &[R],
    size: usize,
    w: &mut [f64],
    first: usize,
) -> usize {
    let start = first * R::LANES;
    let mut sums = [[R::Vector::<S>::splat(simd, R::default()); N]; C];
    for (row, &table) in tables.iter().enumerate() {
        let x = &columns[row * stride..][..C];
        let from = &from[table as usize + start..][..N * R::LANES];
        let from: [R::Vector<S>; N] = std::array::from_fn(|v| vector(simd, from, v));
        for c in 0..C {
            let x = R::Vector::<S>::splat(simd, x[c]);
            for v in 0..N {
                sums[c][v] = x.mul_add(from[v], sums[c][v]);
            }
        }
    }
    for (w, sums) in w.chunks_exact_mut(size).zip(&sums) {
        let w = &mut w[start..];
        for v in 0..N {
            let end = w.len().min((v + 1) * R::LANES);
            R::add_to_sums(simd, sums[v], &mut w[v * R::LANES..end]);
        }
    }
    N
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    /// The largest difference of the products, and of their transpose, from plain loops.
    fn errors<R: Factor>((rows, width, size): (usize, usize, usize)) -> f64 {
        let mut random = Random::stream(7, 0);
        let mut number = || random.uniform() - 0.5;
        let x: Vec<f32> = (0..rows * width).map(|_| number() as f32).collect();
        let mut w = vec![R::default(); width * R::padded(size)];
        let weights = w.chunks_exact_mut(R::padded(size)).flat_map(|w| &mut w[..size]);
        weights.for_each(|w| *w = R::of(number()));
        // Tables in any order, with gaps.
        let tables: Vec<u32> = (0..rows as u32).map(|n| (rows as u32 - 1 - n) * (size as u32 + 8)).collect();
        let start: Vec<R> = (0..rows * (size + 8)).map(|_| R::of(number())).collect();
        let of = RowsOf { values: &x, width, tables: &tables };
        let mut found = start.clone();
        add_products(of, (&w, R::padded(size)), size, &mut found);
        let mut expected: Vec<f64> = start.iter().map(|x| (*x).into()).collect();
        let mut back: Vec<f64> = (0..width * size).map(|_| number()).collect();
        let mut expected_back = back.clone();
        add_outer(of, &start, size, &mut back);
        for (n, &table) in tables.iter().enumerate() {
            for d in 0..width {
                for k in 0..size {
                    let (value, at) = (f64::from(x[n * width + d]), table as usize + k);
                    expected[at] += value * w[d * R::padded(size) + k].into();
                    expected_back[d * size + k] += value * start[at].into();
                }
            }
        }
        let found = found.into_iter().map(Into::into).chain(back);
        let expected = expected.into_iter().chain(expected_back);
        found.zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn products_are_those_of_plain_loops() {
        let sizes = [1, 2, 3, 4, 5, 7, 13].map(|vectors| vectors * LANES);
        for (rows, width) in [(1, 1), (2, 3), (5, 17), (9, 16), (300, 5), (7, 9), (17, 8), (20, 5000)] {
            for size in if rows * width < 10_000 { &sizes[..] } else { &sizes[3..4] } {
                let shape = (rows, width, *size);
                let [double, single] = [errors::<f64>(shape), errors::<f32>(shape)];
                assert!(double < 1e-11 && single < 1e-4, "{shape:?}: {double:e} {single:e}");
                assert!(width < 5 || single > 1e-9, "{shape:?}: not in single precision");
            }
        }
    }
}
