//! One training run, whatever is trained: live line, log, checkpoints, Ctrl-C, and the last lines.

use super::checkpoint::CheckpointFile;
use super::listener::{Interrupt, Listener, Pace};
use crate::args::TrainArgs;
use crate::error::INTERRUPTED;
use crate::log::{Counts, Event, FORMAT, Log};
use crate::progress::Progress;
use anyhow::Result;
use crfkit::train::{Checkpoint, Ended};
use std::process::ExitCode;

/// A run from its first line to its last.
pub struct Session<'a> {
    /// What the user typed.
    pub args: &'a TrainArgs,
    /// Where it is shown.
    pub progress: Progress,
    /// Where it is recorded.
    pub log: Log,
    interrupt: Interrupt,
    checkpoint: CheckpointFile,
}

impl<'a> Session<'a> {
    /// From now on Ctrl-C is heard.
    pub fn new(args: &'a TrainArgs) -> Result<Self> {
        Ok(Session {
            args,
            progress: Progress::new(args.quiet),
            log: Log::default(),
            interrupt: Interrupt::install()?,
            checkpoint: CheckpointFile::default(),
        })
    }

    /// The interrupted run to go on with, if `--checkpoint` has one of this fingerprint.
    pub fn resume(&mut self, fingerprint: impl FnOnce() -> u64) -> Result<Option<Checkpoint>> {
        let Some(path) = &self.args.checkpoint else { return Ok(None) };
        self.checkpoint = CheckpointFile::new(path, fingerprint())?;
        let resume = self.checkpoint.read()?;
        if resume.is_some() {
            self.progress.note("going on from the checkpoint");
        }
        Ok(resume)
    }

    /// Opens the log.
    pub fn begin(&mut self, counts: Counts, settings: &serde_json::Value, resumed: bool) -> Result<()> {
        let args = self.args;
        self.log = Log::open(args.log.as_deref(), resumed)?;
        if args.report.is_some() {
            self.log.keep(args.log.as_deref(), resumed);
        }
        self.log.write(&Event::Settings {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION"),
            vector_unit: crfkit::math::simd::unit(),
            threads: args.input.threads(),
            counts,
            settings,
            resumed,
        })?;
        Ok(())
    }

    /// Trains on so many tokens. Gives what training gives, and how long it took.
    pub fn train<T>(
        &mut self,
        tokens: usize,
        train: impl FnOnce(&mut Listener) -> crfkit::Result<T>,
    ) -> Result<(T, Clock)> {
        self.interrupt.now_training();
        let mut listener = Listener {
            progress: &self.progress,
            log: &mut self.log,
            interrupt: &self.interrupt,
            checkpoint: &mut self.checkpoint,
            pace: Pace::new(tokens, self.args.passes.map(usize::from)),
            seconds_at_most: self.args.seconds,
            time_is_up: false,
        };
        let trained = train(&mut listener)?;
        Ok((trained, Clock { seconds: listener.pace.seconds(), is_up: listener.time_is_up }))
    }

    /// The model is written: logs the end, and removes the checkpoint of a finished run.
    pub fn end(&mut self, end: &End) -> Result<()> {
        self.log.write(&Event::Stop {
            reason: &end.reason(),
            passes: end.passes,
            seconds: end.clock.seconds,
            objective: end.objective,
            features: end.features,
            active_features: end.weights,
            model_bytes: end.bytes,
        })?;
        if !end.interrupted() {
            self.checkpoint.remove()?;
        }
        Ok(())
    }

    /// The last lines: how it ended, what was written, and `next`, what to type.
    pub fn farewell(&self, end: &End, next: &str) -> ExitCode {
        let End { passes, objective, weights, bytes, .. } = end;
        let (reason, seconds) = (end.reason(), end.clock.seconds);
        let stopped = format!("{reason}; objective {objective:.4} after {passes:.2} passes, {seconds:.1} s");
        farewell(self.args, &self.progress, &stopped, [*weights, *bytes], end.interrupted(), next)
    }
}

/// The last lines of any run: `stopped`, weights and bytes of the model, what to type next.
pub fn farewell(
    args: &TrainArgs,
    progress: &Progress,
    stopped: &str,
    [weights, bytes]: [usize; 2],
    interrupted: bool,
    next: &str,
) -> ExitCode {
    progress.finish();
    progress.note(&format!("stopped: {stopped}"));
    let model = args.model.display();
    if interrupted {
        progress.note(&format!("the model so far is saved: {model} ({bytes} bytes)"));
        if args.checkpoint.is_some() {
            progress.note("the same command goes on from the checkpoint");
        }
        return ExitCode::from(INTERRUPTED);
    }
    progress.note(&format!("model: {model} ({weights} weights, {bytes} bytes)"));
    if let Some(report) = &args.report {
        progress.note(&format!("report: {}", report.display()));
    }
    progress.note(&format!("next: {next}"));
    ExitCode::SUCCESS
}

/// What to type after training on text.
pub fn next_for_text(args: &TrainArgs) -> String {
    let model = args.model.display();
    format!("crfkit tag -m {model} FILE, or crfkit eval -m {model} FILE")
}

/// The time of a run.
#[derive(Clone, Copy)]
pub struct Clock {
    /// How long it took.
    seconds: f64,
    /// Has it ended because of `--seconds`?
    is_up: bool,
}

/// How a run has ended.
pub struct End {
    /// As the library says.
    pub stop: Ended,
    /// Its time.
    pub clock: Clock,
    /// Evaluations of the training set.
    pub passes: f64,
    /// Losses plus penalties.
    pub objective: f64,
    /// Weights that were trained.
    pub features: usize,
    /// Those in the file that are not 0.
    pub weights: usize,
    /// Of the file.
    pub bytes: usize,
}

impl End {
    fn interrupted(&self) -> bool {
        self.stop == Ended::Listener && !self.clock.is_up
    }

    fn reason(&self) -> String {
        match self.clock.is_up {
            true => "number of seconds reached".into(),
            false => self.stop.to_string(),
        }
    }
}
