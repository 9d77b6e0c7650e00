//! What surrounds training on graphs: Ctrl-C, the live line, the log, the model file.

use super::checkpoint::CheckpointFile;
use super::listener::{Interrupt, Listener, Pace};
use crate::args::{Init, TrainArgs};
use crate::error::INTERRUPTED;
use crate::log::{Counts, Event, FORMAT, Log};
use crate::progress::Progress;
use anyhow::Result;
use crfkit::files::write_atomically;
use crfkit::train::{Ended, GraphTrained};
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

/// A run from its start to its exit status.
pub struct Session<'a> {
    args: &'a TrainArgs,
    interrupt: Interrupt,
    /// What is shown.
    pub progress: Progress,
}

/// A model as bytes.
pub struct Saved {
    /// The file.
    pub bytes: Vec<u8>,
    /// Weights other than 0.
    pub active: usize,
}

impl<'a> Session<'a> {
    /// Reading begins.
    pub fn begin(args: &'a TrainArgs) -> Result<Self> {
        let session = Session { args, interrupt: Interrupt::install()?, progress: Progress::new(args.quiet) };
        session.progress.step(|| "reading".into());
        Ok(session)
    }

    /// Every setting that shapes the model, for its file and the log.
    pub fn recorded(&self, settings: &impl Serialize, engine: &str) -> Result<Value> {
        let mut recorded = serde_json::to_value(settings)?;
        recorded["init"] = if self.args.init == Some(Init::Random) { "random" } else { "zero" }.into();
        recorded["inference"] = engine.into();
        Ok(recorded)
    }

    /// Trains, saves the model and says how it went.
    pub fn train<M>(
        self,
        counts: Counts,
        recorded: &Value,
        train: impl FnOnce(&mut dyn crfkit::train::Listener) -> crfkit::Result<GraphTrained<M>>,
        save: impl FnOnce(M) -> crfkit::Result<Saved>,
    ) -> Result<ExitCode> {
        let Session { args, interrupt, progress } = self;
        let mut log = Log::open(args.log.as_deref(), false)?;
        log.write(&Event::Settings {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION"),
            vector_unit: crfkit::math::simd::unit(),
            threads: args.input.threads(),
            counts,
            settings: recorded,
            resumed: false,
        })?;
        interrupt.now_training();
        let mut listener = Listener {
            progress: &progress,
            log: &mut log,
            interrupt: &interrupt,
            checkpoint: &mut CheckpointFile::none(),
            pace: Pace::new(counts.tokens, args.passes.map(usize::from)),
            seconds_at_most: args.seconds,
            time_is_up: false,
        };
        let GraphTrained { model, stop, passes, objective } = train(&mut listener)?;
        let seconds = listener.pace.seconds();

        let Saved { bytes, active } = save(model)?;
        write_atomically(&args.model, &bytes)?;
        log.write(&Event::Stop {
            reason: &stop.to_string(),
            passes,
            seconds,
            objective,
            features: counts.features,
            active_features: active,
            model_bytes: bytes.len(),
        })?;
        progress.finish();
        progress.note(&format!(
            "stopped: {stop}; objective {objective:.4} after {passes:.2} passes, {seconds:.1} s"
        ));
        let path = args.model.display();
        progress.note(&format!("model: {path} ({active} weights, {} bytes)", bytes.len()));
        if stop == Ended::Listener {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        progress.note(&format!("next: crfkit tag -m {path} FILE, or crfkit eval -m {path} FILE"));
        Ok(ExitCode::SUCCESS)
    }
}

/// How many weights are not 0.
pub fn active(weights: &[f64]) -> usize {
    weights.iter().filter(|weight| **weight != 0.0).count()
}
