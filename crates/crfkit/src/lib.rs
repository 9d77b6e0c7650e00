//! Conditional random fields: training and inference.

pub mod error;
pub mod eval;

pub use error::{Error, Place, Result};
