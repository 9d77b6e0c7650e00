//! The choice of a vector unit.

/// Runs a body compiled for each vector unit: `dispatch!(level(), simd => body)`.
///
/// This is `fearless_simd::dispatch!` without SSE4.2: such processors take the SSE2 code. The kernels multiply and add `f64`s, for
/// which SSE4.2 has hardly anything that SSE2 lacks, and its copy of every kernel would be a quarter of their code and of the time to build it.
#[cfg(target_arch = "x86_64")]
macro_rules! dispatch {
    ($level:expr, $simd:pat => $body:expr) => {
        match $level {
            fearless_simd::Level::Avx512(unit) => $crate::math::dispatch::on_unit!(unit, $simd => $body),
            fearless_simd::Level::Avx2(unit) => $crate::math::dispatch::on_unit!(unit, $simd => $body),
            other => {
                let unit = other.as_sse2().expect("SSE2, which every x86-64 processor has");
                $crate::math::dispatch::on_unit!(unit, $simd => $body)
            }
        }
    };
}

/// A body on one unit.
#[cfg(target_arch = "x86_64")]
macro_rules! on_unit {
    ($unit:ident, $simd:pat => $body:expr) => {{
        let $simd = $unit;
        fearless_simd::Simd::vectorize(
            $unit,
            #[inline(always)]
            || $body,
        )
    }};
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use fearless_simd::dispatch;
#[cfg(target_arch = "x86_64")]
pub(crate) use {dispatch, on_unit};
