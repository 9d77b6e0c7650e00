//! How the program ends: what is said, and with which status.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Status after Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// What errors call standard output.
const STDOUT: &str = "standard output";

/// Arguments that are well formed but make no sense: ends with status 2, as malformed ones do.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A [`Usage`] error from anything that can be said.
pub fn usage(message: impl fmt::Display) -> anyhow::Error {
    Usage(message.to_string()).into()
}

/// Writing to standard output failed.
pub fn stdout_failed(source: std::io::Error) -> crfkit::Error {
    crfkit::Error::io(STDOUT, source)
}

/// Says what went wrong and gives the exit status. A closed pipe is no error: the reader has seen enough.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(crfkit::Error::Io { name, error: source }) = error.downcast_ref()
        && name == STDOUT
        && source.kind() == ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS;
    }
    // If even standard error is closed there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "crfkit: {error:#}");
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}
