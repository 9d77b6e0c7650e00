//! The log of a training run: one JSON object a line. docs/CLI.md describes it; reports read it.

use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::eval::Scores;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Version of the format. It grows when a field changes its meaning or goes away, not when one is added.
pub const FORMAT: u32 = 1;

/// A line of the log. Numbers that are not finite are written as null.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// The first line of a run.
    Settings {
        /// [`FORMAT`].
        format: u32,
        /// Of the program.
        version: &'a str,
        /// Of the processor.
        vector_unit: &'a str,
        /// Number of threads.
        threads: usize,
        /// Sequences, tokens, labels, observations and features.
        #[serde(flatten)]
        counts: Counts,
        /// Every setting that shaped the model, as the model file has it.
        settings: &'a serde_json::Value,
        /// Does the run go on from a checkpoint?
        resumed: bool,
    },
    /// What `--optimizer auto` has picked.
    Picked {
        /// In words.
        methods: String,
    },
    /// What the method will remember of single examples.
    Stores {
        /// How much.
        bytes: u64,
    },
    /// A step.
    Progress {
        /// Evaluations of the training set.
        passes: f64,
        /// Since the start of the training.
        seconds: f64,
        /// Losses plus penalties.
        objective: Option<f64>,
        /// Norm of the gradient.
        gradient_norm: Option<f64>,
        /// The duality gap, of methods that know it.
        #[serde(skip_serializing_if = "Option::is_none")]
        gap: Option<f64>,
    },
    /// SMD starts anew at some weights.
    Reset {
        /// Evaluations of the training set.
        passes: f64,
        /// Since the start of the training.
        seconds: f64,
        /// How many weights.
        weights: usize,
    },
    /// An evaluation.
    Eval {
        /// What was evaluated on.
        data: &'a str,
        /// Evaluations of the training set.
        passes: f64,
        /// Since the start of the training.
        seconds: f64,
        /// In per cent, as all scores.
        #[serde(flatten)]
        scores: &'a Scores,
        /// Is it the best so far?
        best: bool,
    },
    /// One way to treat unknown words, tried on held-out data (empirical training).
    Trial {
        /// The way.
        unknown: &'a str,
        /// Of the held-out sequences that have unknown words, in per cent.
        accuracy: f64,
        /// Was it chosen?
        best: bool,
    },
    /// The last line of a run.
    Stop {
        /// Why it ended.
        reason: &'a str,
        /// Evaluations of the training set.
        passes: f64,
        /// Since the start of the training.
        seconds: f64,
        /// Losses plus penalties at the model's weights.
        objective: f64,
        /// Weights that were trained.
        features: usize,
        /// Those that are not 0.
        active_features: usize,
        /// Size of the model file.
        model_bytes: usize,
    },
}

/// The size of a training set.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counts {
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

/// Where events go: a file, memory, both, or nowhere.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<(File, String)>,
    kept: Option<Vec<u8>>,
}

impl Log {
    /// A new log, or the end of an old one that a resumed run goes on with.
    pub fn open(path: Option<&Path>, resumed: bool) -> Result<Self> {
        let Some(path) = path else { return Ok(Log::default()) };
        let mut options = OpenOptions::new();
        options.create(true);
        if resumed {
            options.append(true)
        } else {
            options.write(true).truncate(true)
        };
        let file = options.open(path).with_context(|| path.display().to_string())?;
        Ok(Log { file: Some((file, path.display().to_string())), kept: None })
    }

    /// Keeps all events from now on in memory too, behind those that a resumed run's log has already.
    pub fn keep(&mut self, path: Option<&Path>, resumed: bool) {
        let before = path.filter(|path| resumed && path.is_file()).and_then(|path| std::fs::read(path).ok());
        self.kept = Some(before.unwrap_or_default());
    }

    /// What was kept.
    pub fn kept(&self) -> &[u8] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// Writes one event, in one piece: whoever follows the file sees whole lines.
    pub fn write(&mut self, event: &Event) -> crfkit::Result<()> {
        if self.file.is_none() && self.kept.is_none() {
            return Ok(());
        }
        let mut line = serde_json::to_vec(event).map_err(|error| Error::Setting(error.to_string()))?;
        line.push(b'\n');
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(&line);
        }
        let Some((file, name)) = &mut self.file else { return Ok(()) };
        file.write_all(&line).map_err(|error| Error::io(name.as_str(), error))
    }
}
