//! The checkpoint file of a run.

use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::files::write_atomically;
use crfkit::train::Checkpoint;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seconds between two checkpoints: a crash costs little, and writing costs less.
const INTERVAL: f64 = 10.0;
/// Overrides the interval; 0 takes one at every step.
const INTERVAL_VARIABLE: &str = "CRFKIT_CHECKPOINT_SECONDS";

/// Where checkpoints go, if anywhere.
#[derive(Default)]
pub struct CheckpointFile(Option<File>);

struct File {
    path: PathBuf,
    fingerprint: u64,
    interval: Duration,
    last: Instant,
}

impl CheckpointFile {
    /// The file for the run with this fingerprint.
    pub fn new(path: &Path, fingerprint: u64) -> Result<Self> {
        let seconds = match std::env::var(INTERVAL_VARIABLE) {
            Ok(text) => text.parse().context(INTERVAL_VARIABLE)?,
            Err(_) => INTERVAL,
        };
        let interval = Duration::try_from_secs_f64(seconds).context(INTERVAL_VARIABLE)?;
        Ok(CheckpointFile(Some(File { path: path.into(), fingerprint, interval, last: Instant::now() })))
    }

    /// The checkpoint of an interrupted run; `None` if there is none.
    pub fn read(&self) -> Result<Option<Checkpoint>> {
        let Some(File { path, fingerprint, .. }) = &self.0 else { return Ok(None) };
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|error| Error::io(path.display().to_string(), error))?,
        };
        let checkpoint = Checkpoint::from_bytes(&bytes, *fingerprint);
        Ok(Some(checkpoint.with_context(|| path.display().to_string())?))
    }

    /// Is there a file to write to?
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Is it time for the next one?
    pub fn due(&self) -> bool {
        self.0.as_ref().is_some_and(|file| file.last.elapsed() >= file.interval)
    }

    /// Writes a checkpoint.
    pub fn write(&mut self, checkpoint: &Checkpoint) -> crfkit::Result<()> {
        if let Some(file) = &mut self.0 {
            write_atomically(&file.path, &checkpoint.to_bytes(file.fingerprint))?;
            file.last = Instant::now();
        }
        Ok(())
    }

    /// The run is finished.
    pub fn remove(&self) -> Result<()> {
        match &self.0 {
            Some(File { path, .. }) if path.exists() => {
                std::fs::remove_file(path).with_context(|| path.display().to_string())
            }
            _ => Ok(()),
        }
    }
}
