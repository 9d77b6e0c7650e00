//! The program as users run it.

mod aliases;
mod calibrate;
mod common;
mod constraints;
mod convert;
#[cfg(target_os = "linux")]
mod disturbed;
mod empirical;
mod explore;
#[cfg(unix)]
mod faults;
mod fields;
mod formats;
mod grid_known;
mod grids;
mod linked;
mod manners;
mod observations;
mod partial;
mod pipes;
mod reliability;
mod report;
mod robust;
mod search;
mod second_order;
mod segments;
mod tag_eval;
mod train;
mod typed;
mod vectors;
mod weights;
