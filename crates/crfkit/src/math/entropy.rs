//! Vectorised entropies −Σ c μ ln μ of marginals μ with counting numbers c, and quantities derived from them.

use super::simd::{LANES, level};
use crate::math::dispatch::dispatch;
use fearless_simd::{f64x8, prelude::*, u64x8};

/// A probability below this is rounding error.
const TINY: f64 = 1e-300;

/// −Σ c μ ln μ.
pub(crate) fn entropy(c: &[f64], marginals: &[f64]) -> f64 {
    dispatch!(level(), simd => {
        let mut sum = f64x8::splat(simd, 0.0);
        for at in (0..c.len()).step_by(LANES) {
            let (c, p) = (vector(simd, c, at), vector(simd, marginals, at));
            sum -= c * p * ln8(simd, p.max(TINY));
        }
        sum.reduce_sum()
    })
}

/// Σ c p ln(p/q): how far the distribution p is from q. It is never negative, apart from rounding.
pub(crate) fn divergence(c: &[f64], p: &[f64], q: &[f64]) -> f64 {
    dispatch!(level(), simd => {
        let mut sum = f64x8::splat(simd, 0.0);
        for at in (0..c.len()).step_by(LANES) {
            let (c, p, q) = (vector(simd, c, at), vector(simd, p, at), vector(simd, q, at));
            // For distributions Σ c (q − p) = 0. Adding it makes every term as small as the difference.
            sum += c * (p * ln8(simd, p.max(TINY) / q.max(TINY)) + q - p);
        }
        sum.reduce_sum().max(0.0)
    })
}

/// The slope and the negated second derivative of the entropy of x = p + γ(q − p), seen from q. With d = q − p these
/// are Σ c d ln(q/x) and Σ c d²/x.
pub(crate) fn slope(c: &[f64], p: &[f64], q: &[f64], gamma: f64) -> (f64, f64) {
    dispatch!(level(), simd => {
        let one = f64x8::splat(simd, 1.0);
        let (mut slope, mut bend) = (f64x8::splat(simd, 0.0), f64x8::splat(simd, 0.0));
        for at in (0..c.len()).step_by(LANES) {
            let (c, p, q) = (vector(simd, c, at), vector(simd, p, at), vector(simd, q, at));
            let d = q - p;
            let (cd, inverse) = (c * d, one / (d * gamma + p).max(TINY));
            slope += cd * ln8(simd, q.max(TINY) * inverse);
            bend += cd * d * inverse;
        }
        (slope.reduce_sum(), bend.reduce_sum())
    })
}

/// The vector that starts at `at`, padded with zeros.
#[inline(always)]
fn vector<S: Simd>(simd: S, x: &[f64], at: usize) -> f64x8<S> {
    let x = &x[at..];
    if x.len() >= LANES {
        return f64x8::from_slice(simd, &x[..LANES]);
    }
    let mut filled = [0.0; LANES];
    filled[..x.len()].copy_from_slice(x);
    f64x8::from_slice(simd, &filled)
}

/// Natural logarithm of positive numbers that are not subnormal. The error is about 3e-16, relative to ln x, or to 1
/// where x is near 1.
///
/// x = 2^k m with √½ ≤ m < √2; ln m = 2 artanh(s) with s = (m − 1)/(m + 1), |s| < 0.172, by its series up to s²³.
#[inline(always)]
fn ln8<S: Simd>(simd: S, x: f64x8<S>) -> f64x8<S> {
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd; // bits of √½
    const ONE: u64 = 0x3ff0_0000_0000_0000; // bits of 1
    const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
    const MAGIC: f64 = 4_503_599_627_370_496.0; // 2⁵²: an integer in its low bits is added to it
    let bits: u64x8<S> = x.bitcast::<u64x8<S>>() + (ONE - ROOT_HALF);
    let m: f64x8<S> = ((bits & MANTISSA) + ROOT_HALF).bitcast();
    let k = ((bits >> 52) | MAGIC.to_bits()).bitcast::<f64x8<S>>() - (MAGIC + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = f64x8::splat(simd, 2.0 / 23.0);
    for odd in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        sum = sum.mul_add(square, f64x8::splat(simd, 2.0 / odd));
    }
    // The two largest terms come last.
    let rest = sum * square * s;
    k.mul_add(f64x8::splat(simd, std::f64::consts::LN_2), rest + (s + s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln of a positive number, through ln8.
    fn ln(x: f64) -> f64 {
        dispatch!(level(), simd => ln8(simd, f64x8::splat(simd, x)).as_slice()[3])
    }

    #[test]
    fn logarithms_are_right() {
        for i in -600..600 {
            for x in [10f64.powf(f64::from(i) / 2.0), 1.0 + f64::from(i) * 1e-3, 1.0 + f64::from(i) * 1e-9] {
                let expected = x.ln();
                assert!((ln(x) - expected).abs() <= 4e-16 * expected.abs(), "ln {x}: {} {expected}", ln(x));
            }
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn sums_of_any_length_are_those_of_their_terms() {
        for len in 0..40 {
            let number = |k: usize| ((k * 7 + len) % 13) as f64 / 13.0;
            let [c, p, q]: [Vec<f64>; 3] = [0, 3, 5].map(|from| (0..len).map(|k| number(k + from)).collect());
            let sum = |term: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
                (0..len).map(|k| term(c[k], p[k], q[k])).sum()
            };
            let near = |x: f64, y: f64| assert!((x - y).abs() <= 1e-13 * y.abs().max(1.0), "{len}: {x} {y}");
            let x = |p: f64, q: f64| (p + 0.3 * (q - p)).max(TINY);
            let ratio = |p: f64, q: f64| (p.max(TINY) / q.max(TINY)).ln();
            near(entropy(&c, &p), sum(&|c, p, _| -c * p * p.max(TINY).ln()));
            near(divergence(&c, &p, &q), sum(&|c, p, q| c * (p * ratio(p, q) + q - p)).max(0.0));
            let (first, second) = slope(&c, &p, &q, 0.3);
            near(first, sum(&|c, p, q| c * (q - p) * ratio(q, x(p, q))));
            near(second, sum(&|c, p, q| c * (q - p).powi(2) / x(p, q)));
        }
    }

    #[test]
    fn divergence_is_zero_only_at_home() {
        let (p, q) = ([0.2, 0.8, 0.0], [0.5, 0.25, 0.25]);
        assert_eq!(divergence(&[1.0; 3], &p, &p), 0.0);
        let expected = 0.2 * (0.2f64 / 0.5).ln() + 0.8 * (0.8f64 / 0.25).ln();
        assert!((divergence(&[1.0; 3], &p, &q) - expected).abs() < 1e-15);
    }
}
