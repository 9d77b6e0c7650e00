//! From files to examples.
//!
//! - [`text`]: from bytes to lines: decompression, encoding, line endings, limits.
//! - [`columns`]: from lines to CoNLL columns, the format of CRF++ and of the shared tasks.
//! - [`json_lines`], [`conllu`], [`tokens`]: from JSON lines, CoNLL-U and running text to the same columns; [`rows`]: all of them
//!   behind one reader.
//! - [`attributes`]: from lines to CRFsuite's attribute lists.
//! - [`images`]: images and masks (PNG, JPEG, PGM and related formats); [`sites`]: images with numbers for pairs;
//!   [`label_masks`]: sets of labels as arrays; [`numpy`]: arrays.
//! - [`template`], [`pattern`], [`lexicon`], [`presets`], [`observer`]: from columns to observations.
//! - [`rule`]: which tokens of a sequence are linked; [`label_rules`]: which labels may follow each other; [`partial`]: labels that are not
//!   known.
//! - [`strings`]: from names to numbers; [`bytes`]: arrays that are parts of a file in memory; [`half`]: 16-bit
//!   numbers.
//! - [`dataset`]: examples in memory, ready for training.
//!
//! The readers of columns and attributes stream: they fill one reusable sequence at a time, so memory does not grow
//! with the input and no token costs an allocation. Names are taken byte for byte: no Unicode normalisation, no change
//! of case.

mod archive; // .npz
pub mod attributes;
#[doc(hidden)]
pub mod bytes;
pub mod columns;
pub mod conllu;
pub mod dataset;
pub(crate) mod dense; // public as dataset::DenseNumbers
mod dialect; // public as template::Dialect
mod extractor; // public as template::Extractor and Function
mod frame; // keys of observations
#[cfg(feature = "zstd")]
mod frames; // .zst
#[doc(hidden)]
pub mod half;
pub mod images;
pub mod json_lines;
pub mod label_masks;
pub mod label_rules;
#[doc(hidden)]
pub mod lexicon;
mod lookup; // numbers of observations, many at once
mod macros; // of template lines
mod memo; // numbers of observations that were looked up before
#[doc(hidden)]
pub mod npz;
#[doc(hidden)]
pub mod numpy;
#[doc(hidden)]
pub mod observer;
#[doc(hidden)]
pub mod partial;
#[doc(hidden)]
pub mod pattern;
mod pieces; // Dataset::split
mod pixels; // public as images::Image and Mask
mod pnm;
pub mod presets;
mod readable; // Templates::describe_tests
pub mod rows;
#[doc(hidden)]
pub mod rule;
mod segments;
pub mod sites;
pub(crate) mod sorting;
mod spelling; // functions of words for templates
#[doc(hidden)]
pub mod strings;
pub mod template;
pub mod text;
pub mod tokens;
pub mod vectors;
