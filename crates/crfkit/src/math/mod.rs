//! Numbers and vector kernels. This module knows nothing about random fields.

mod array;
pub(crate) mod dispatch;
#[doc(hidden)]
pub mod entropy;
pub(crate) mod lanes;
mod pair;
mod planes;
#[doc(hidden)]
pub mod product;
pub mod random;
mod real;
mod scalar;
#[doc(hidden)]
pub mod series;
#[doc(hidden)]
pub mod simd;
#[doc(hidden)]
pub mod vector;

pub use array::{Array, Slice, SliceMut};
pub use pair::{Complex64, Dual};
pub(crate) use real::Real;
pub use scalar::Scalar;
pub(crate) use scalar::log_sum_exp;
#[doc(hidden)]
pub use scalar::{Retreat, TilePattern};
