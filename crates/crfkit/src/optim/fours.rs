//! Rows in groups of four. Most rows have fewer weights than a loop over vectors needs to pay off. They are loaded
//! into vectors of four, padded with 0, and stored back.

use super::Prior;
use super::prior::Mean;
use crate::math::dispatch::dispatch;
use crate::math::simd;
use fearless_simd::{f64x4, f64x8, prelude::*};
use std::ops::Range;

/// The number of weights processed at once.
pub(super) const FOUR: usize = 4;

/// Loads a number from each of up to four items; `number` reads it.
#[inline(always)]
pub(super) fn four_of<S: Simd, T>(simd: S, x: &[T], number: impl Fn(&T) -> f64) -> f64x4<S> {
    let four = match x {
        [] => [0.0; FOUR],
        [a] => [number(a), 0.0, 0.0, 0.0],
        [a, b] => [number(a), number(b), 0.0, 0.0],
        [a, b, c] => [number(a), number(b), number(c), 0.0],
        [a, b, c, d, ..] => [number(a), number(b), number(c), number(d)],
    };
    f64x4::simd_from(simd, four)
}

/// Loads up to four numbers.
#[inline(always)]
pub(super) fn four<S: Simd>(simd: S, x: &[f64]) -> f64x4<S> {
    four_of(simd, x, |x| *x)
}

/// Stores up to four numbers; `set` writes each of them.
#[inline(always)]
pub(super) fn put_four_of<S: Simd, T>(x: f64x4<S>, out: &mut [T], set: impl Fn(&mut T, f64)) {
    let x: [f64; FOUR] = x.into();
    match out {
        [] => {}
        [a] => set(a, x[0]),
        [a, b] => {
            set(a, x[0]);
            set(b, x[1]);
        }
        [a, b, c] => {
            set(a, x[0]);
            set(b, x[1]);
            set(c, x[2]);
        }
        [a, b, c, d, ..] => {
            set(a, x[0]);
            set(b, x[1]);
            set(c, x[2]);
            set(d, x[3]);
        }
    }
}

/// Stores up to four numbers.
#[inline(always)]
pub(super) fn put_four<S: Simd>(x: f64x4<S>, out: &mut [f64]) {
    put_four_of(x, out, |out, x| *out = x);
}

/// One body for a range of up to four weights, compiled once for each length, so that slices of the range are loaded
/// and stored without branches. (It is a macro because a closure would be compiled for another vector unit.)
macro_rules! with_known_length {
    ($part:ident => $body:expr) => {
        match $part.len() {
            0 => {
                let $part = $part.start..$part.start;
                $body
            }
            1 => {
                let $part = $part.start..$part.start + 1;
                $body
            }
            2 => {
                let $part = $part.start..$part.start + 2;
                $body
            }
            3 => {
                let $part = $part.start..$part.start + 3;
                $body
            }
            _ => {
                let $part = $part.start..$part.start + 4;
                $body
            }
        }
    };
}
pub(super) use with_known_length;

/// Divides a row into ranges of up to four weights.
#[inline(always)]
pub(super) fn in_fours(row: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut rest = row;
    std::iter::from_fn(move || {
        let part = rest.start..rest.end.min(rest.start + FOUR);
        rest.start = part.end;
        (!part.is_empty()).then_some(part)
    })
}

/// Σ factor·x² over rows, given as ranges of `x` with a factor each.
pub(super) fn weighted_squares(rows: impl Iterator<Item = (Range<usize>, f64)>, x: &[f64]) -> f64 {
    dispatch!(simd::level(), simd => {
        let mut sum = f64x4::splat(simd, 0.0);
        for (row, factor) in rows {
            for part in in_fours(row) {
                let x = four(simd, &x[part]);
                sum += x * x * factor;
            }
        }
        sum.reduce_sum()
    })
}

impl Prior {
    /// The means of eight weights from `first` on. Behind the last weight they are 0.
    #[inline(always)]
    pub(super) fn eight_means<S: Simd>(&self, simd: S, first: usize) -> f64x8<S> {
        match &self.mean {
            Mean::Value(mean) => f64x8::splat(simd, *mean),
            Mean::Vector(means) => match means[first..].first_chunk::<8>() {
                Some(means) => f64x8::simd_from(simd, *means),
                None => f64x8::simd_from(
                    simd,
                    std::array::from_fn(|j| means.get(first + j).copied().unwrap_or(0.0)),
                ),
            },
        }
    }

    /// Loads the prior means of up to four weights.
    #[inline(always)]
    pub(super) fn four_means<S: Simd>(&self, simd: S, weights: Range<usize>) -> f64x4<S> {
        match &self.mean {
            Mean::Value(mean) => f64x4::splat(simd, *mean),
            Mean::Vector(means) => four(simd, &means[weights]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_come_back_changed_and_their_neighbours_do_not() {
        let numbers = |len: usize| (1..=len).map(|i| i as f64).collect::<Vec<f64>>();
        for len in 0..10 {
            let (mut x, row) = (numbers(len + 2), 1..len + 1);
            let mut sum = 0.0;
            dispatch!(simd::level(), simd => for part in in_fours(row.clone()) {
                with_known_length!(part => {
                    let four = four(simd, &x[part.clone()]);
                    let filled: [f64; FOUR] = four.into();
                    sum += filled.iter().sum::<f64>();
                    put_four(four * 2.0, &mut x[part]);
                })
            });
            let mut doubled = numbers(len + 2);
            assert_eq!(sum, doubled[row.clone()].iter().sum::<f64>());
            doubled[row].iter_mut().for_each(|x| *x *= 2.0);
            assert_eq!(x, doubled);
        }
    }

    #[test]
    fn squares_are_weighted_by_row() {
        let x: Vec<f64> = (1..=9).map(f64::from).collect();
        let rows = [(0..1, 2.0), (1..1, 7.0), (1..4, 3.0), (4..9, 0.5)];
        let expected = 2.0 + 3.0 * (4.0 + 9.0 + 16.0) + 0.5 * (25.0 + 36.0 + 49.0 + 64.0 + 81.0);
        assert_eq!(weighted_squares(rows.into_iter(), &x), expected);
    }
}
