//! The checkpoint file of a run.

use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::files::write_atomically_with;
use crfkit::train::Checkpoint;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seconds between two checkpoints. A crash then loses little work, and writing takes a small share of the time.
const INTERVAL: f64 = 10.0;
/// Environment variable that overrides the interval; 0 takes a checkpoint at every step.
const INTERVAL_VARIABLE: &str = "CRFKIT_CHECKPOINT_SECONDS";

/// The file for checkpoints, if one is wanted.
#[derive(Default)]
pub struct CheckpointFile(Option<File>);

struct File {
    path: PathBuf,
    fingerprint: u64,
    interval: Duration,
    last: Instant,
    /// What went wrong first.
    failure: Option<Error>,
}

impl CheckpointFile {
    /// The file for the run with this fingerprint.
    pub fn new(path: &Path, fingerprint: u64) -> Result<Self> {
        let seconds = match std::env::var(INTERVAL_VARIABLE) {
            Ok(text) => text.parse().context(INTERVAL_VARIABLE)?,
            Err(_) => INTERVAL,
        };
        let interval = Duration::try_from_secs_f64(seconds).context(INTERVAL_VARIABLE)?;
        Ok(CheckpointFile(Some(File {
            path: path.into(),
            fingerprint,
            interval,
            last: Instant::now(),
            failure: None,
        })))
    }

    /// The checkpoint of an interrupted run; `None` if there is none.
    pub fn read(&self) -> Result<Option<Checkpoint>> {
        let Some(File { path, fingerprint, .. }) = &self.0 else { return Ok(None) };
        if path.exists() && !path.is_file() {
            return Ok(None); // a device or a pipe, which keeps nothing
        }
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            result => result.map_err(|error| Error::io(path.display().to_string(), error))?,
        };
        let checkpoint = Checkpoint::from_bytes(&bytes, *fingerprint);
        Ok(Some(checkpoint.with_context(|| path.display().to_string())?))
    }

    /// Whether there is a file to write to.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it is time for the next checkpoint.
    pub fn due(&self) -> bool {
        self.0.as_ref().is_some_and(|file| file.last.elapsed() >= file.interval)
    }

    /// Writes a checkpoint. If that fails, training goes on, since its model is still to be had, and the next checkpoint is tried when
    /// it is due; the user is warned once.
    pub fn write(&mut self, checkpoint: &Checkpoint, progress: &Progress) {
        let Some(file) = &mut self.0 else { return };
        let written = write_atomically_with(&file.path, |out| checkpoint.write_to(file.fingerprint, out));
        file.last = Instant::now();
        if let Err(error) = written
            && file.failure.is_none()
        {
            progress.warn(&format!("{error}: a checkpoint is missing; training continues"));
            file.failure = Some(error);
        }
    }

    /// Removes the file, because the run is finished.
    pub fn remove(&mut self) {
        let Some(file) = &mut self.0 else { return };
        if file.path.is_file()
            && let Err(error) = std::fs::remove_file(&file.path)
        {
            file.failure.get_or_insert(Error::io(file.path.display().to_string(), error));
        }
    }

    /// Whether a run that ends now can resume from the file.
    pub fn resumes(&self) -> bool {
        // There is no file yet if the run ends while its first weights are computed.
        self.0.as_ref().is_some_and(|file| file.failure.is_none() && file.path.is_file())
    }

    /// What went wrong with a checkpoint, if anything did.
    pub fn failure(&self) -> Option<&Error> {
        self.0.as_ref()?.failure.as_ref()
    }
}
