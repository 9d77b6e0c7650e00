//! `crfkit train --stream`: one pass over sequences, each of which is used once and forgotten.

use super::data::{TrainingData, check_format, for_each_sequence, source};
use super::finish;
use super::listener::Interrupt;
use super::session::{Ending, farewell};
use crate::args::TrainArgs;
use crate::error::{INTERRUPTED, usage};
use crate::progress::Progress;
use anyhow::Result;
use crfkit::chain::{ChainDomain, ColumnLayout, Sequence};
use crfkit::counted;
use crfkit::train::{Kind, Settings, StreamModel, StreamProgress, StreamTrainer};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many sequences the reader may be ahead.
const AHEAD: usize = 64;
/// How long to wait for a sequence before looking for Ctrl-C again.
const PATIENCE: Duration = Duration::from_millis(100);
/// The state is printed after this many sequences, then after twice as many, and so on.
const FIRST_REPORT: u64 = 1024;

/// Trains on a stream and writes the model.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let settings = args.settings(Kind::Chain)?;
    check_format(args)?;
    StreamTrainer::check(&settings).map_err(usage)?;
    let examples = args.examples.map(NonZeroU64::get);
    let interrupt = Interrupt::install()?;
    let progress = Progress::new(args.quiet);
    let sequences = read(args.clone());
    let mut run = StreamRun { args, settings, examples, progress, begun: Instant::now(), trainer: None };
    let ended = run.learn(sequences, &interrupt)?;
    run.finish(ended)
}

type Read = Result<(Option<ColumnLayout>, Sequence)>;

/// Reads in a separate thread: reading may wait for input for ever, but Ctrl-C must not.
fn read(args: TrainArgs) -> Receiver<Read> {
    let (sender, receiver) = sync_channel(AHEAD);
    thread::spawn(move || {
        let read = for_each_sequence(&args, |layout, sequence| {
            let empty = match sequence {
                Sequence::Columns { label_column, .. } => {
                    Sequence::Columns { rows: Default::default(), label_column: *label_column }
                }
                Sequence::Attributes(_) => Sequence::Attributes(Default::default()),
            };
            let sent = sender.send(Ok((layout, std::mem::replace(sequence, empty))));
            sent.map_err(|_| anyhow::anyhow!("training has ended"))
        });
        if let Err(error) = read {
            let _ = sender.send(Err(error)); // fails if training has ended, and then nobody needs the error
        }
    });
    receiver
}

/// Why a stream ended.
#[derive(Clone, Copy, PartialEq)]
enum StopReason {
    End,
    Seconds,
    Interrupted,
}

struct StreamRun<'a> {
    args: &'a TrainArgs,
    settings: Settings,
    examples: Option<u64>,
    progress: Progress,
    begun: Instant,
    /// Made when the first sequence arrives.
    trainer: Option<StreamTrainer>,
}

impl StreamRun<'_> {
    fn learn(&mut self, sequences: Receiver<Read>, interrupt: &Interrupt) -> Result<StopReason> {
        let mut report = FIRST_REPORT;
        loop {
            match sequences.recv_timeout(PATIENCE) {
                Ok(read) => {
                    let (layout, sequence) = read?;
                    let trainer = match &mut self.trainer {
                        Some(trainer) => trainer,
                        none => {
                            interrupt.now_training();
                            let source = source(self.args, layout)?;
                            none.insert(StreamTrainer::new(source, &self.settings, self.examples)?)
                        }
                    };
                    trainer.add(&sequence)?;
                    let state = trainer.progress();
                    self.progress.step(|| line(&state));
                    if state.sequences == report {
                        report *= 2;
                        self.progress.milestone(|| line(&state), || line(&state));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(StopReason::End),
            }
            if interrupt.happened() {
                return Ok(StopReason::Interrupted);
            }
            if self.args.seconds.is_some_and(|limit| self.begun.elapsed().as_secs_f64() >= limit) {
                return Ok(StopReason::Seconds);
            }
        }
    }

    /// Writes the model trained so far.
    fn finish(self, ended: StopReason) -> Result<ExitCode> {
        let StreamRun { args, progress, begun, trainer, .. } = self;
        let Some(trainer) = trainer else { return Ok(ExitCode::from(INTERRUPTED)) };
        let StreamModel { model, progress: seen, objective, .. } = trainer.finish()?;
        let written = finish::write_model(args, model, &progress)?;
        let reason = match ended {
            StopReason::End => "end of the stream",
            StopReason::Seconds => "number of seconds reached",
            StopReason::Interrupted => "interrupted",
        };
        let seconds = begun.elapsed().as_secs_f64();
        let stopped = format!("{reason}; objective {objective:.4}, {}, {seconds:.1} s", line(&seen));
        let size = [written.weights, written.bytes];
        let ended = Ending { interrupted: ended == StopReason::Interrupted, resumes: false };
        Ok(farewell(args, &progress, &stopped, size, ended, &ChainDomain::next(args)))
    }
}

/// `1024 sequences, 24300 tokens, 3 labels, 70211 observations, loss 0.1234 per token`.
fn line(state: &StreamProgress) -> String {
    let StreamProgress { sequences, tokens, labels, observations, loss } = *state;
    let mean = loss / tokens.max(1) as f64;
    format!(
        "{}, {}, {}, {}, loss {mean:.4} per token",
        counted(sequences, "sequence"),
        counted(tokens, "token"),
        counted(labels, "label"),
        counted(observations, "observation")
    )
}
