//! The real corpora that some tests need. They are not ours to ship: `CRFKIT_DATA` names the directory that holds them.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// The directory of the corpora. Without one the caller, the test called `test`, is skipped, and that loudly: it is said on
/// standard error, and the name is appended to the file that `CRFKIT_SKIPPED` names, where `./test` counts.
pub fn corpora(test: &str) -> Option<PathBuf> {
    if let Some(data) = std::env::var_os("CRFKIT_DATA") {
        return Some(data.into());
    }
    eprintln!("{test} skipped: CRFKIT_DATA is not set");
    if let Some(list) = std::env::var_os("CRFKIT_SKIPPED") {
        let mut list =
            OpenOptions::new().append(true).create(true).open(list).expect("the list of skipped tests");
        list.write_all(format!("{test}\n").as_bytes()).expect("the list of skipped tests");
    }
    None
}
