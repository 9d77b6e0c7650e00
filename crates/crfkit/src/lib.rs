//! Conditional random fields: training and inference.

pub mod error;

pub use error::{Error, Place, Result};
