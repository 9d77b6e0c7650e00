//! Weights: the table entry that each belongs to, its name, and how it is stored.

mod compact;
mod compare;
mod dense;
mod dense_weights;
#[doc(hidden)]
pub mod dump;
#[doc(hidden)]
pub mod edit;
mod features;
mod join;
mod map;
mod names;
mod precision;
mod rows;
pub(crate) mod sections;
mod stored;
mod tables;
mod transfer;

pub(crate) use compact::{above, compact_is_smaller, kept_names};
#[doc(hidden)]
pub use compare::{Comparison, WeightDifference};
pub(crate) use dense::Dense;
pub(crate) use dense_weights::DenseWeights;
pub use features::{Features, Keep, KeepRules};
pub(crate) use features::{SharedShape, TableWeights};
#[doc(hidden)]
pub use features::{TableKind, TableShapes};
#[doc(hidden)]
pub use map::open;
#[doc(hidden)]
pub use names::SetLabel;
pub use names::{LabelSet, NamedWeight, Names, WeightKind, WeightPart};
pub use precision::Precision;
pub(crate) use rows::Rows;
pub(crate) use stored::{is_text, read_features, write_features};
pub use tables::Tables;
