//! The main entry points: train, save, open, label and evaluate in a dozen lines.
//!
//! Each type here is a thin layer over another module. [`Model`] holds an [`AnyModel`](crate::any::AnyModel),
//! [`Trainer`] calls [`crate::train::train`], and [`SequenceTagger`] wraps a [`crate::tag::Tagger`]. Go one level down
//! when you need more.

mod continued;
mod model;
mod reading;
mod sequences;
mod tagger;
mod told;
mod trainer;

pub use model::{EvaluationReport, Model};
pub use sequences::{Sequences, attributes, columns, conllu, json};
pub use tagger::{Confidence, LabelledChunk, LabelledSpan, LabelledToken, SequenceTagger};
pub use told::{TrainingPhase, TrainingProgress, TrainingRun};
pub use trainer::Trainer;
