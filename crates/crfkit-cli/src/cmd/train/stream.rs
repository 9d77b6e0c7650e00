//! `crfkit train --stream`: one pass over sequences that are forgotten.

use super::data::{Layout, for_each_sequence, source};
use super::listener::Interrupt;
use super::session::{farewell, next_for_text};
use super::{check, finish, recorded_settings};
use crate::args::{GraphKind, Init, PriorMean, TrainArgs};
use crate::error::{INTERRUPTED, usage};
use crate::input::Sequence;
use crate::progress::Progress;
use anyhow::Result;
use crfkit::train::{Settings, StreamModel, StreamTrainer, Streamed};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Sequences that the reader may be ahead.
const AHEAD: usize = 64;
/// How long Ctrl-C may wait for a sequence.
const PATIENCE: Duration = Duration::from_millis(100);
/// The first sequences after which the state is told; then after twice as many, and so on.
const FIRST_REPORT: u64 = 1024;

/// Trains on a stream and writes the model.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    check_unused(args)?;
    let settings = args.settings()?;
    check(args, &settings)?;
    StreamTrainer::check(&settings).map_err(usage)?;
    let examples = args.examples.map(NonZeroU64::get);
    let interrupt = Interrupt::install()?;
    let progress = Progress::new(args.quiet);
    let sequences = read(args.clone());
    let mut run = Run { args, settings, examples, progress, begun: Instant::now(), trainer: None };
    let ended = run.learn(sequences, &interrupt)?;
    run.finish(ended)
}

type Read = Result<(Layout, Sequence)>;

/// Reads in a thread of its own: reading may wait for input for ever, Ctrl-C must not.
fn read(args: TrainArgs) -> Receiver<Read> {
    let (sender, receiver) = sync_channel(AHEAD);
    thread::spawn(move || {
        let read = for_each_sequence(&args, |layout, sequence| {
            let empty = match sequence {
                Sequence::Columns(_) => Sequence::Columns(Default::default()),
                Sequence::Attributes(_) => Sequence::Attributes(Default::default()),
            };
            let sent = sender.send(Ok((*layout, std::mem::replace(sequence, empty))));
            sent.map_err(|_| anyhow::anyhow!("nobody listens any more"))
        });
        if let Err(error) = read {
            let _ = sender.send(Err(error)); // unless nobody listens any more
        }
    });
    receiver
}

/// Why a stream ended.
#[derive(Clone, Copy, PartialEq)]
enum Ended {
    End,
    Seconds,
    Interrupted,
}

struct Run<'a> {
    args: &'a TrainArgs,
    settings: Settings,
    examples: Option<u64>,
    progress: Progress,
    begun: Instant,
    /// Once there is a first sequence.
    trainer: Option<(StreamTrainer, Layout)>,
}

impl Run<'_> {
    fn learn(&mut self, sequences: Receiver<Read>, interrupt: &Interrupt) -> Result<Ended> {
        let mut report = FIRST_REPORT;
        loop {
            match sequences.recv_timeout(PATIENCE) {
                Ok(read) => {
                    let (layout, sequence) = read?;
                    let (trainer, layout) = match &mut self.trainer {
                        Some(trainer) => trainer,
                        none => {
                            interrupt.now_training();
                            let source = source(self.args, &layout)?;
                            let trainer = StreamTrainer::new(source, &self.settings, self.examples)?;
                            none.insert((trainer, layout))
                        }
                    };
                    match &sequence {
                        Sequence::Columns(columns) => trainer.add_columns(columns, layout.label)?,
                        Sequence::Attributes(attributes) => trainer.add_attributes(attributes)?,
                    }
                    let state = trainer.progress();
                    self.progress.step(|| line(&state));
                    if state.sequences == report {
                        report *= 2;
                        self.progress.milestone(|| line(&state), || line(&state));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::End),
            }
            if interrupt.happened() {
                return Ok(Ended::Interrupted);
            }
            if self.args.seconds.is_some_and(|limit| self.begun.elapsed().as_secs_f64() >= limit) {
                return Ok(Ended::Seconds);
            }
        }
    }

    /// Writes what there is.
    fn finish(self, ended: Ended) -> Result<ExitCode> {
        let Run { args, settings, examples, progress, begun, trainer } = self;
        let Some((trainer, layout)) = trainer else { return Ok(ExitCode::from(INTERRUPTED)) };
        let StreamModel { mut model, progress: seen, objective, .. } = trainer.finish()?;
        model.settings = recorded_settings(args, &settings, layout.columns())?;
        model.settings["stream"] = seen.sequences.into();
        model.settings["examples"] = examples.into();
        let written = finish::write_model(args, model, &progress, finish::Measure::of_chains(args))?;
        let reason = match ended {
            Ended::End => "end of the stream",
            Ended::Seconds => "number of seconds reached",
            Ended::Interrupted => "interrupted",
        };
        let seconds = begun.elapsed().as_secs_f64();
        let stopped = format!("{reason}; objective {objective:.4}, {}, {seconds:.1} s", line(&seen));
        let (size, interrupted) = ([written.weights, written.bytes], ended == Ended::Interrupted);
        Ok(farewell(args, &progress, &stopped, size, interrupted, &next_for_text(args)))
    }
}

/// `1024 sequences, 24300 tokens, 3 labels, 70211 observations, loss 0.1234 a token`.
fn line(state: &Streamed) -> String {
    let Streamed { sequences, tokens, labels, observations, loss } = state;
    let mean = loss / (*tokens).max(1) as f64;
    format!(
        "{sequences} sequences, {tokens} tokens, {labels} labels, {observations} observations, loss {mean:.4} a token"
    )
}

/// Refuses what has no meaning where nothing is kept.
fn check_unused(args: &TrainArgs) -> Result<()> {
    let once = "a sequence is used once and forgotten";
    let growing = "the features are not known beforehand";
    let refused = [
        ("method", args.empirical.method.is_some(), "it counts, in one pass anyway"),
        ("graph", args.grid.graph != GraphKind::Chain, "streams are for chains"),
        ("dev", args.dev.is_some(), "there are no passes to compare; see crfkit eval"),
        (
            "checkpoint",
            args.checkpoint.is_some(),
            "what was read cannot be read again; Ctrl-C saves the model",
        ),
        ("init", args.init.as_ref().is_some_and(|init| *init != Init::Zero), growing),
        ("prior-mean", args.prior_mean != PriorMean::Value(0.0), growing),
        ("passes", args.passes.is_some_and(|passes| passes.get() > 1), once),
        ("seed", args.seed != Settings::default().seed, "the order is the stream's"),
        ("patience", args.patience != Settings::default().patience, "it goes with --dev"),
        ("min-count", args.min_count > 1, "how often an observation will occur is not known"),
        ("log", args.log.is_some(), "there are no passes to record"),
        ("report", args.report.is_some(), "there are no passes to draw"),
    ];
    match refused.iter().find(|(_, given, _)| *given) {
        Some((name, _, why)) => {
            Err(usage(format!("--{name} does not go with --stream: {why}; leave one of them out")))
        }
        None => Ok(()),
    }
}
