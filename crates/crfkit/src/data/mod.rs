//! Files to examples: readers, feature templates, alphabets.

mod dialect; // public as template::Dialect
pub mod pattern;
pub mod presets;
pub mod template;
