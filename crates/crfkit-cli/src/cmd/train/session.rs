//! One training run, for any kind of model: live line, log, checkpoints, Ctrl-C, and the last lines.

use super::checkpoint::Checkpoints;
use super::listener::{Interrupt, Pace, TrainingListener};
use crate::args::TrainArgs;
use crate::error::INTERRUPTED;
use crate::log::{DataSize, Event, FORMAT, Log};
use crate::progress::Progress;
use anyhow::Result;
use crfkit::counted;
use crfkit::train::{Checkpoint, StopReason};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run from its first line to its last.
pub struct Session<'a> {
    /// The arguments.
    pub args: &'a TrainArgs,
    /// Shows the run to the user.
    pub progress: Progress,
    /// Records the run.
    pub log: Log,
    interrupt: Interrupt,
    checkpoint: Checkpoints,
    /// Whether the run was stopped above its start.
    above_start: bool,
}

impl<'a> Session<'a> {
    /// Starts a session; from now on it listens for Ctrl-C.
    pub fn new(args: &'a TrainArgs) -> Result<Self> {
        let interrupt = Interrupt::install()?; // before the live line, which has a thread
        Ok(Session {
            args,
            progress: Progress::new(args.quiet),
            log: Log::default(),
            interrupt,
            checkpoint: Checkpoints::default(),
            above_start: false,
        })
    }

    /// The interrupted run to resume, if the file of `--checkpoint` holds one with this fingerprint.
    pub fn resume(&mut self, fingerprint: impl FnOnce() -> u64) -> Result<Option<Checkpoint>> {
        let Some(path) = &self.args.checkpoint else { return Ok(None) };
        self.checkpoint = Checkpoints::new(path, fingerprint())?;
        let resume = self.checkpoint.read()?;
        if resume.is_some() {
            self.progress.note("resuming from the checkpoint");
        }
        Ok(resume)
    }

    /// Opens the log.
    pub fn begin(&mut self, counts: DataSize, settings: &serde_json::Value, resumed: bool) -> Result<()> {
        let args = self.args;
        self.log = Log::open(args.log.as_deref(), resumed)?;
        if args.report.is_some() {
            self.log.keep(args.log.as_deref(), resumed);
        }
        let first = Event::Settings {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION"),
            vector_unit: crfkit::math::simd::unit(),
            threads: args.input.threads(),
            counts,
            settings,
            resumed,
            model: args.model.display().to_string(),
        };
        self.log.write(&first, &self.progress);
        Ok(())
    }

    /// The flag that Ctrl-C sets.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.interrupt.stop_flag()
    }

    /// Whether a signal has asked for the end.
    pub fn interrupted(&self) -> bool {
        self.interrupt.happened()
    }

    /// Trains on a number of tokens. Returns what training returns, and how long it took.
    pub fn train<T>(
        &mut self,
        tokens: usize,
        train: impl FnOnce(&mut TrainingListener) -> crfkit::Result<T>,
    ) -> Result<(T, Clock)> {
        self.interrupt.now_training();
        self.args.seconds.iter().for_each(|&seconds| self.interrupt.stop_after(seconds));
        let mut listener = TrainingListener {
            progress: &self.progress,
            log: &mut self.log,
            interrupt: &self.interrupt,
            checkpoint: &mut self.checkpoint,
            pace: Pace::new(tokens, self.args.passes.map(usize::from)),
            seconds_at_most: self.args.seconds,
            time_is_up: false,
            above_start: false,
        };
        let trained = train(&mut listener)?;
        self.above_start = listener.above_start;
        // A run may also be stopped in the middle of a pass, where the listener is not asked.
        let seconds = listener.pace.seconds();
        let late = self.args.seconds.is_some_and(|limit| seconds >= limit) && !self.interrupt.happened();
        Ok((trained, Clock { seconds, is_up: listener.time_is_up || late }))
    }

    /// Logs the end once the model is written, and removes the checkpoint of a finished run. One that has come to nothing may resume.
    pub fn end(&mut self, end: &End) {
        let last = Event::Stop {
            reason: &end.reason(),
            passes: end.passes,
            seconds: end.clock.seconds,
            objective: end.objective,
            features: end.features,
            active_features: end.weights,
            model_bytes: end.bytes,
        };
        self.log.write(&last, &self.progress);
        if !end.interrupted() && !self.above_start {
            self.checkpoint.remove();
        }
    }

    /// Prints the last lines: how the run ended, what was written, and `next`, the commands to try.
    pub fn farewell(&self, end: &End, next: &str) -> ExitCode {
        let End { passes, objective, weights, bytes, .. } = end;
        let (reason, seconds) = (end.reason(), end.clock.seconds);
        let stopped = format!("{reason}; objective {objective:.4} after {passes:.2} passes, {seconds:.1} s");
        let ended = Ending { interrupted: end.interrupted(), resumes: self.checkpoint.resumes() };
        let status = farewell(self.args, &self.progress, &stopped, [*weights, *bytes], ended, next);
        // With a single label there is nothing to learn, and the objective is 0.
        if *weights == 0 && *objective > 0.0 && !end.interrupted() {
            self.progress.note(ALL_ZERO);
        }
        // What ended without being asked to is a success only if its model is of use.
        let failed = self.above_start && !end.interrupted();
        match report_failures(&self.progress, [self.log.failure(), self.checkpoint.failure()]) || failed {
            true => ExitCode::FAILURE,
            false => status,
        }
    }
}

/// What is said of a model that has learned nothing.
const ALL_ZERO: &str = "all weights of the model are 0, so it prefers no label to another: allow more passes (--passes), or use weaker \
                        penalties (a larger --sigma, a smaller --l1 or --shrink)";

/// Says at the end of a run which of its files are incomplete although its model is not. Returns whether there are any.
pub fn report_failures<'a>(
    progress: &Progress,
    failures: impl IntoIterator<Item = Option<&'a crfkit::Error>>,
) -> bool {
    let mut any = false;
    for failure in failures.into_iter().flatten() {
        progress.warn(&format!("{failure}: this file is missing or incomplete, but the model is complete"));
        any = true;
    }
    any
}

/// How a run has ended, for the last lines.
pub struct Ending {
    /// Whether the user ended it.
    pub interrupted: bool,
    /// Whether a checkpoint was written to resume from.
    pub resumes: bool,
}

/// Prints the last lines of any run: `stopped`, weights and bytes of the model, the commands to try next.
pub fn farewell(
    args: &TrainArgs,
    progress: &Progress,
    stopped: &str,
    [weights, bytes]: [usize; 2],
    ended: Ending,
    next: &str,
) -> ExitCode {
    progress.finish();
    progress.note(&format!("stopped: {stopped}"));
    let model = args.model.display();
    if ended.interrupted {
        progress.note(&format!("the model trained so far is saved: {model} ({bytes} bytes)"));
        if ended.resumes {
            progress.note("to resume from the checkpoint, run the same command again");
        }
        return ExitCode::from(INTERRUPTED);
    }
    progress.note(&format!("model: {model} ({}, {bytes} bytes)", counted(weights, "weight")));
    if let Some(report) = &args.report {
        progress.note(&format!("report: {}", report.display()));
    }
    progress.note(&format!("next: {next}"));
    ExitCode::SUCCESS
}

/// The time of a run.
#[derive(Clone, Copy)]
pub struct Clock {
    /// How long the run took.
    seconds: f64,
    /// Whether it ended because of `--seconds`.
    is_up: bool,
}

/// How a run has ended.
pub struct End {
    /// The reason that the library gives.
    pub stop: StopReason,
    /// The time of the run.
    pub clock: Clock,
    /// Evaluations of the training set.
    pub passes: f64,
    /// Losses plus penalties.
    pub objective: f64,
    /// Weights that were trained.
    pub features: usize,
    /// Weights in the file that are not 0.
    pub weights: usize,
    /// Size of the file.
    pub bytes: usize,
}

impl End {
    fn interrupted(&self) -> bool {
        self.stop == StopReason::Listener && !self.clock.is_up
    }

    fn reason(&self) -> String {
        match self.clock.is_up && self.stop == StopReason::Listener {
            true => "number of seconds reached".into(),
            false => self.stop.to_string(),
        }
    }
}
