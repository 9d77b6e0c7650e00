//! From files to examples.
//!
//! - [`text`]: bytes to lines: decompression, encoding, line endings, limits.
//! - [`columns`]: lines to CoNLL columns, the format of CRF++ and of the shared tasks.
//! - [`attributes`]: lines to CRFsuite's attribute lists.
//! - [`images`]: pictures and masks: PNG, JPEG, PGM and their kin; [`sites`]: pictures with numbers of pairs; [`numpy`]: arrays.
//! - [`template`], [`pattern`], [`presets`], [`observer`]: columns to observations.
//! - [`rule`]: which tokens of a sequence are linked.
//! - [`strings`]: names to numbers; [`bytes`]: arrays that are parts of a file in memory; [`half`]: numbers of 16 bits.
//! - [`dataset`], [`corpus`]: examples in memory, ready for training.
//!
//! Both readers stream: they fill one reusable sequence at a time, so that memory does not grow with the
//! input and no token costs an allocation. Names are taken byte for byte: no Unicode normalisation, no change
//! of case.

mod archive; // .npz
pub mod attributes;
pub mod bytes;
pub mod columns;
pub mod corpus;
pub mod dataset;
mod dialect; // public as template::Dialect
#[cfg(feature = "zstd")]
mod frames; // .zst
pub mod half;
pub mod images;
pub mod numpy;
pub mod observer;
pub mod pattern;
mod pieces; // Dataset::split
mod pixels; // public as images::Image and Mask
mod pnm;
pub mod presets;
pub mod rule;
pub mod sites;
pub mod strings;
pub mod template;
pub mod text;
