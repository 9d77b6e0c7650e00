//! The checkpoint file of a run, if one is wanted.

use crate::progress::Progress;
use crfkit::checkpoint::CheckpointFile;
use crfkit::train::Checkpoint;
use crfkit::{Error, Result};
use std::path::Path;

/// The file for checkpoints, if one is wanted.
#[derive(Default)]
pub struct Checkpoints(Option<CheckpointFile>);

impl Checkpoints {
    /// The file for the run with this fingerprint.
    pub fn new(path: &Path, fingerprint: u64) -> Result<Self> {
        Ok(Checkpoints(Some(CheckpointFile::new(path, fingerprint)?)))
    }

    /// The checkpoint of an interrupted run; `None` if there is none.
    pub fn read(&self) -> Result<Option<Checkpoint>> {
        self.0.as_ref().map_or(Ok(None), CheckpointFile::read)
    }

    /// Whether there is a file to write to.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it is time for the next checkpoint.
    pub fn due(&self) -> bool {
        self.0.as_ref().is_some_and(CheckpointFile::due)
    }

    /// Writes a checkpoint. If that fails, the user is warned once.
    pub fn write(&mut self, checkpoint: &Checkpoint, progress: &Progress) {
        if let Some(error) = self.0.as_mut().and_then(|file| file.write(checkpoint)) {
            progress.warn(&format!("{error}: a checkpoint is missing; training continues"));
        }
    }

    /// Removes the file, because the run is finished.
    pub fn remove(&mut self) {
        if let Some(file) = &mut self.0 {
            file.remove(); // what goes wrong is reported with the other failures
        }
    }

    /// Whether a run that ends now can resume from the file.
    pub fn resumes(&self) -> bool {
        self.0.as_ref().is_some_and(CheckpointFile::resumes)
    }

    /// What went wrong with a checkpoint, if anything did.
    pub fn failure(&self) -> Option<&Error> {
        self.0.as_ref()?.failure()
    }
}
