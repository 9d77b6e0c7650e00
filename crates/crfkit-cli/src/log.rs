//! The log of a training run: one JSON object per line. docs/CLI.md describes it; reports read it.

use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::eval::Scores;
use serde::Serialize;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

/// Version of the format. It grows when a field changes its meaning or is removed, not when one is added.
pub const FORMAT: u32 = 1;

/// A line of the log. Numbers that are not finite are written as null.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// The first line of a run.
    Settings {
        /// [`FORMAT`].
        format: u32,
        /// Version of the program.
        version: &'a str,
        /// Vector unit in use.
        vector_unit: &'a str,
        /// Number of threads.
        threads: usize,
        /// Sequences, tokens, labels, observations and features.
        #[serde(flatten)]
        counts: DataSize,
        /// Every setting that shaped the model, as the model file has it.
        settings: &'a serde_json::Value,
        /// Whether the run resumes from a checkpoint.
        resumed: bool,
        /// Where the model will be written.
        model: String,
    },
    /// The choice of `--optimizer auto`.
    Picked {
        /// The methods, in words.
        methods: String,
    },
    /// The memory that the method needs for single examples.
    Stores {
        /// Number of bytes.
        bytes: u64,
    },
    /// A step.
    Progress {
        /// Evaluations of the training set.
        passes: f64,
        /// Seconds since the start of the training.
        seconds: f64,
        /// Losses plus penalties.
        objective: Option<f64>,
        /// Whether the objective is an estimate, from the losses of the pass.
        estimate: bool,
        /// Norm of the gradient.
        gradient_norm: Option<f64>,
        /// The duality gap, of methods that know it.
        #[serde(skip_serializing_if = "Option::is_none")]
        gap: Option<f64>,
    },
    /// A step of the run that computes the first weights.
    First {
        /// Evaluations of the training set in that run.
        passes: f64,
        /// Seconds since the start of the training.
        seconds: f64,
        /// Losses plus penalties of that run.
        objective: Option<f64>,
    },
    /// Penalties that were tried, for `--sigma auto` and `--l1 auto`.
    Penalty {
        /// Standard deviation of the Gaussian prior.
        sigma: f64,
        /// Weight of the L1 penalty.
        l1: f64,
        /// Evaluations of the training set in this trial.
        passes: f64,
        /// Seconds since the start of the training.
        seconds: f64,
        /// F1 or accuracy on held-out data, in per cent.
        score: f64,
        /// Whether it is the best so far.
        best: bool,
    },
    /// A phase of `auto` has ended above its start, and training has returned to the first weights.
    Restart {
        /// Evaluations of the training set.
        passes: f64,
        /// Seconds since the start of the training.
        seconds: f64,
        /// How training continues, in words.
        next: &'a str,
    },
    /// Inference fails at the final weights.
    Impossible {
        /// Number of examples whose loss is below 0.
        examples: usize,
    },
    /// The run was stopped above its start.
    Above {
        /// Losses plus penalties at the weights of the model.
        objective: f64,
        /// Losses plus penalties at weights of zero.
        zero: f64,
    },
    /// SMD restarts some weights.
    Reset {
        /// Evaluations of the training set.
        passes: f64,
        /// Seconds since the start of the training.
        seconds: f64,
        /// Number of weights.
        weights: usize,
    },
    /// An evaluation.
    Eval {
        /// The data that was evaluated on.
        data: &'a str,
        /// Evaluations of the training set.
        passes: f64,
        /// Seconds since the start of the training.
        seconds: f64,
        /// Scores, in per cent.
        #[serde(flatten)]
        scores: &'a Scores,
        /// Whether it is the best so far.
        best: bool,
    },
    /// One way to treat unknown words, tried on held-out data (empirical training).
    Trial {
        /// The way.
        unknown: &'a str,
        /// Accuracy on the held-out sequences that have unknown words, in per cent.
        accuracy: f64,
        /// Whether it was chosen.
        best: bool,
    },
    /// The last line of a run.
    Stop {
        /// Why it ended.
        reason: &'a str,
        /// Evaluations of the training set.
        passes: f64,
        /// Seconds since the start of the training.
        seconds: f64,
        /// Losses plus penalties at the model's weights.
        objective: f64,
        /// Weights that were trained.
        features: usize,
        /// Weights that are not 0.
        active_features: usize,
        /// Size of the model file.
        model_bytes: usize,
    },
}

/// The size of a training set.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DataSize {
    /// Number of sequences.
    pub sequences: usize,
    /// Number of tokens.
    pub tokens: usize,
    /// Number of labels.
    pub labels: usize,
    /// Number of different observations.
    pub observations: usize,
    /// Number of weights.
    pub features: usize,
}

/// Locks a log for as long as it is open; an error if another run has it.
fn check_unused(file: &File) -> Result<()> {
    // On Windows a lock would also keep readers away.
    match cfg!(unix).then(|| file.try_lock()) {
        Some(Err(TryLockError::WouldBlock)) => {
            anyhow::bail!("another run is writing this log: give this run another one (--log)")
        }
        _ => Ok(()), // or a file system without locks
    }
}

/// The length of a log without an event at its end that was still being written when the program was killed: another one would be joined
/// to it, and neither could be read.
fn whole_lines(log: &[u8]) -> usize {
    const BEGINNING: &[u8] = b"{\"event\":";
    let end = log.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let rest = &log[end..];
    if rest.starts_with(BEGINNING) || BEGINNING.starts_with(rest) { end } else { log.len() }
}

/// Writes events to a file, to memory, to both, or nowhere.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<(File, String)>,
    kept: Option<Vec<u8>>,
    /// Why the file is incomplete.
    failure: Option<Error>,
}

impl Log {
    /// Begins a new log, or appends to that of a resumed run.
    pub fn open(path: Option<&Path>, resumed: bool) -> Result<Self> {
        let Some(path) = path else { return Ok(Log::default()) };
        let mut options = OpenOptions::new();
        options.create(true);
        if resumed {
            options.append(true)
        } else {
            options.write(true)
        };
        let open = || -> Result<File> {
            let file = options.open(path)?;
            if file.metadata()?.is_file() {
                // Before anything of it is lost.
                check_unused(&file)?;
                match resumed {
                    true => file.set_len(whole_lines(&std::fs::read(path)?) as u64)?,
                    false => file.set_len(0)?,
                }
            }
            Ok(file)
        };
        let file = open().with_context(|| path.display().to_string())?;
        Ok(Log { file: Some((file, path.display().to_string())), ..Log::default() })
    }

    /// Keeps all further events in memory too, after those that the log of a resumed run already has.
    pub fn keep(&mut self, path: Option<&Path>, resumed: bool) {
        let before = path.filter(|path| resumed && path.is_file()).and_then(|path| std::fs::read(path).ok());
        self.kept = Some(before.unwrap_or_default());
    }

    /// The events that were kept.
    pub fn kept(&self) -> &[u8] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// Writes one event, in one piece, so that programs that follow the file see whole lines. A log that cannot be written is no reason
    /// to lose the training: it ends here, with a warning.
    pub fn write(&mut self, event: &Event, progress: &Progress) {
        if self.file.is_none() && self.kept.is_none() {
            return;
        }
        let mut line = serde_json::to_vec(event).expect("an event is plain data");
        line.push(b'\n');
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(&line);
        }
        let Some((file, name)) = &mut self.file else { return };
        if let Err(error) = file.write_all(&line) {
            let error = Error::io(name.as_str(), error);
            progress.warn(&format!("{error}: the log ends here; training continues"));
            self.failure = Some(error);
            self.file = None;
        }
    }

    /// What made the log incomplete, if anything did.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }
}
