//! The verbs, one file each.

pub mod calibrate;
pub mod completions;
pub mod convert;
pub mod cv;
pub mod demo;
pub mod diff;
pub mod edit;
pub mod eval;
pub mod explain;
pub mod inspect;
pub mod list;
pub mod man;
pub mod rank;
pub mod report;
pub mod search;
pub mod tag;
pub mod train;
pub mod watch;
