//! Numbers and vector kernels. This module knows nothing about random fields.

pub mod array;
pub(crate) mod dispatch;
pub mod entropy;
pub mod pair;
mod planes;
pub mod random;
pub mod scalar;
pub mod series;
pub mod simd;
pub mod vector;

pub use array::{Array, Slice, SliceMut};
pub use pair::{Complex64, Dual};
pub use scalar::{Retreat, Scalar, TilePattern};
