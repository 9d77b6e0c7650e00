//! The checkpoint file of a run.

use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::checkpoint::fingerprint;
use crfkit::data::corpus::Corpus;
use crfkit::files::write_atomically;
use crfkit::train::{Checkpoint, Settings, Start};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seconds between two checkpoints: a crash costs little, and writing costs less.
const INTERVAL: f64 = 10.0;
/// Overrides the interval; 0 takes one at every step.
const INTERVAL_VARIABLE: &str = "CRFKIT_CHECKPOINT_SECONDS";

/// Where checkpoints go, if anywhere.
pub struct CheckpointFile {
    file: Option<(PathBuf, u64)>,
    interval: Duration,
    last: Instant,
}

impl CheckpointFile {
    /// The file for a run with this corpus, settings and start.
    pub fn new(path: Option<&Path>, corpus: &Corpus, settings: &Settings, start: &Start) -> Result<Self> {
        let seconds = match std::env::var(INTERVAL_VARIABLE) {
            Ok(text) => text.parse().context(INTERVAL_VARIABLE)?,
            Err(_) => INTERVAL,
        };
        let interval = Duration::try_from_secs_f64(seconds).context(INTERVAL_VARIABLE)?;
        let number = || fingerprint(corpus, settings, &start.theta, &start.prior_mean, start.dev.as_ref());
        Ok(CheckpointFile { file: path.map(|path| (path.into(), number())), interval, last: Instant::now() })
    }

    /// No file at all.
    pub fn none() -> Self {
        CheckpointFile { file: None, interval: Duration::MAX, last: Instant::now() }
    }

    /// The checkpoint of an interrupted run; `None` if there is none.
    pub fn read(&self) -> Result<Option<Checkpoint>> {
        let Some((path, fingerprint)) = &self.file else { return Ok(None) };
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|error| Error::io(path.display().to_string(), error))?,
        };
        let checkpoint = Checkpoint::from_bytes(&bytes, *fingerprint);
        Ok(Some(checkpoint.with_context(|| path.display().to_string())?))
    }

    /// Is there a file to write to?
    pub fn wanted(&self) -> bool {
        self.file.is_some()
    }

    /// Is it time for the next one?
    pub fn due(&self) -> bool {
        self.wanted() && self.last.elapsed() >= self.interval
    }

    /// Writes a checkpoint.
    pub fn write(&mut self, checkpoint: &Checkpoint) -> crfkit::Result<()> {
        if let Some((path, fingerprint)) = &self.file {
            write_atomically(path, &checkpoint.to_bytes(*fingerprint))?;
        }
        self.last = Instant::now();
        Ok(())
    }

    /// The run is finished.
    pub fn remove(&self) -> Result<()> {
        match &self.file {
            Some((path, _)) if path.exists() => {
                std::fs::remove_file(path).with_context(|| path.display().to_string())
            }
            _ => Ok(()),
        }
    }
}
