//! From files to sequences.
//!
//! - [`text`]: bytes to lines: decompression, encoding, line endings, limits.
//! - [`columns`]: lines to CoNLL columns, the format of CRF++ and of the shared tasks.
//! - [`attributes`]: lines to CRFsuite's attribute lists.
//!
//! Both readers stream: they fill one reusable sequence at a time, so that memory does not grow with the
//! input and no token costs an allocation. Names are taken byte for byte: no Unicode normalisation, no change
//! of case.

pub mod attributes;
pub mod columns;
pub mod text;
