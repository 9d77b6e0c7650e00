//! Vectorised logarithms and exponentials near 0, by short series.

use fearless_simd::prelude::*;

/// The largest number of terms in a series.
pub(crate) const TERMS: usize = 12;

/// 1, 1/2, 1/3, …
pub(crate) const INVERSES: [f64; TERMS] = {
    let mut inverses = [1.0; TERMS];
    let mut n = 1;
    while n < TERMS {
        inverses[n] = 1.0 / (n + 1) as f64;
        n += 1;
    }
    inverses
};

/// 1/0!, 1/1!, 1/2!, …
pub(crate) const INVERSE_FACTORIALS: [f64; TERMS + 1] = {
    let mut inverses = [1.0; TERMS + 1];
    let mut n = 1;
    while n <= TERMS {
        inverses[n] = inverses[n - 1] / n as f64;
        n += 1;
    }
    inverses
};

/// ln(1 − x) = −(x + x²/2 + …) in T terms.
#[inline(always)]
pub(crate) fn log_rate<S: Simd, V: SimdFloat<S, Element = f64>, const T: usize>(simd: S, x: V) -> V {
    let mut sum = V::splat(simd, -INVERSES[T - 1]);
    // Use loops here, not closures: a closure would be compiled for another vector unit.
    for n in (0..T - 1).rev() {
        sum = sum.mul_add(x, V::splat(simd, -INVERSES[n]));
    }
    sum * x
}

/// eᶻ = 1 + z + z²/2 + … in T terms after the first.
#[inline(always)]
pub(crate) fn exp_of<S: Simd, V: SimdFloat<S, Element = f64>, const T: usize>(simd: S, z: V) -> V {
    let mut sum = V::splat(simd, INVERSE_FACTORIALS[T]);
    for n in (0..T).rev() {
        sum = sum.mul_add(z, V::splat(simd, INVERSE_FACTORIALS[n]));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dispatch::dispatch;
    use crate::math::simd::level;
    use fearless_simd::f64x8;

    #[test]
    fn series_are_the_functions_near_0() {
        fn near(found: f64, expected: f64, left_out: f64, what: &str) {
            assert!(
                (found - expected).abs() <= 3e-16 * expected.abs() + left_out,
                "{what}: {found} {expected}"
            );
        }
        for k in 0..=100 {
            let x = f64::from(k) * 1e-4;
            let [few, all, exp] = dispatch!(level(), simd => {
                let v = f64x8::splat(simd, x);
                [log_rate::<_, _, 3>(simd, v), log_rate::<_, _, TERMS>(simd, v), exp_of::<_, _, TERMS>(simd, v * -10.0)]
                    .map(|v| v.as_slice()[5])
            });
            near(few, (-x).ln_1p(), x.powi(4), "ln in three terms");
            near(all, (-x).ln_1p(), 0.0, "ln");
            near(exp, (-10.0 * x).exp(), 0.0, "exp");
        }
    }
}
