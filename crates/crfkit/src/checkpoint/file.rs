//! The checkpoint file of a run.

use crate::files::write_atomically_with;
use crate::train::Checkpoint;
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seconds between two checkpoints. A crash then loses little work, and writing takes a small share of the time.
const INTERVAL: f64 = 10.0;
/// Environment variable that overrides the interval; 0 takes a checkpoint at every step.
const INTERVAL_VARIABLE: &str = "CRFKIT_CHECKPOINT_SECONDS";

/// The file that holds the last checkpoint of a run while it is not finished. The clock decides when it is written, but not what the run
/// ends in.
#[derive(Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    fingerprint: u64,
    interval: Duration,
    last: Instant,
    /// What went wrong first.
    failure: Option<Error>,
}

impl CheckpointFile {
    /// The file for the run with this [`fingerprint`](super::fingerprint).
    pub fn new(path: &Path, fingerprint: u64) -> Result<Self> {
        let wrong =
            || Error::Setting(format!("{INTERVAL_VARIABLE} is not a number of seconds of at least 0"));
        let seconds = match std::env::var(INTERVAL_VARIABLE) {
            Ok(text) => text.parse().map_err(|_| wrong())?,
            Err(_) => INTERVAL,
        };
        let interval = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
        Ok(CheckpointFile { path: path.into(), fingerprint, interval, last: Instant::now(), failure: None })
    }

    /// The checkpoint of an interrupted run; `None` if there is none.
    pub fn read(&self) -> Result<Option<Checkpoint>> {
        let name = || self.path.display().to_string();
        if self.path.exists() && !self.path.is_file() {
            return Ok(None); // a device or a pipe, which keeps nothing
        }
        let bytes = match std::fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|error| Error::io(name(), error))?,
        };
        Checkpoint::from_bytes(&bytes, self.fingerprint).map(Some).map_err(|error| match error {
            Error::File { message, .. } => Error::File { name: name(), message },
            other => other,
        })
    }

    /// Whether it is time for the next checkpoint.
    pub fn due(&self) -> bool {
        self.last.elapsed() >= self.interval
    }

    /// Writes a checkpoint. If that fails, training goes on, since its model is still to be had, and the next checkpoint is tried when
    /// it is due. Returns the failure if it is the first.
    pub fn write(&mut self, checkpoint: &Checkpoint) -> Option<&Error> {
        let written = write_atomically_with(&self.path, |out| checkpoint.write_to(self.fingerprint, out));
        self.last = Instant::now();
        self.failed(written.err())
    }

    /// Removes the file, because the run is finished. Returns the failure if it is the first.
    pub fn remove(&mut self) -> Option<&Error> {
        let removed = if self.path.is_file() { std::fs::remove_file(&self.path) } else { Ok(()) };
        let failure = removed.err().map(|error| Error::io(self.path.display().to_string(), error));
        self.failed(failure)
    }

    fn failed(&mut self, failure: Option<Error>) -> Option<&Error> {
        match (failure, &self.failure) {
            (Some(failure), None) => Some(self.failure.insert(failure)),
            _ => None,
        }
    }

    /// Whether a run that ends now can resume from the file.
    pub fn resumes(&self) -> bool {
        // There is no file yet if the run ends while its first weights are computed.
        self.failure.is_none() && self.path.is_file()
    }

    /// What went wrong with a checkpoint, if anything did.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}
