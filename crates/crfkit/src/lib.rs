//! Conditional random fields: training and inference.

pub mod checkpoint;
pub mod data;
pub mod decode;
pub mod error;
pub mod eval;
pub mod files;
pub mod graph;
pub mod infer;
pub mod loss;
pub mod math;
pub mod model;
pub mod optim;
pub mod risk;
pub mod tag;
pub mod train;

pub use error::{Error, Place, Result};
