//! Weights: the table entry that each belongs to, its name, and how it is stored.

mod compact;
mod dense;
pub mod dump;
mod features;
mod map;
mod names;
mod precision;
mod rows;
pub(crate) mod sections;
mod stored;
mod tables;
mod transfer;

pub(crate) use compact::{above, compact_is_smaller, kept_names};
pub use dense::Dense;
pub use features::{Features, Keep, SharedShape, TableKind, TableShapes, TableWeights};
pub use map::open;
pub use names::{Entries, LabelSet, NamedWeight, Names, Part, SetLabel, WeightKind};
pub use precision::Precision;
pub use rows::Rows;
pub(crate) use stored::{is_text, read_features, write_features};
pub use tables::Tables;
