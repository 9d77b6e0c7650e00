//! Conditional random fields: training and inference.

pub mod data;
pub mod error;

pub use error::{Error, Place, Result};
