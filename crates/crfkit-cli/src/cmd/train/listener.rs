//! What the program does while training runs: the live line, the log, checkpoints, Ctrl-C.

use super::checkpoint::Checkpoints;
use crate::error::INTERRUPTED;
use crate::log::{Event as LogEvent, Log};
use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::optim::Control;
use crfkit::train::{Checkpoint, Event};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Ctrl-C, and on Unix SIGTERM and SIGHUP, which mean the same. While data is read there is nothing to save, and it ends the program.
/// While training runs, the first one stops training at the end of the step, and the second ends the program.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    training: Arc<AtomicBool>,
    count: Arc<AtomicU8>,
    /// Set when training is to stop, even in the middle of a pass.
    stop: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for it from now on. Call it before there are other threads.
    pub fn install() -> Result<Self> {
        let interrupt = Interrupt::default();
        let heard = interrupt.clone();
        listen(move || {
            let first = heard.count.fetch_add(1, Ordering::SeqCst) == 0;
            heard.stop.store(true, Ordering::SeqCst);
            if !(first && heard.training.load(Ordering::SeqCst)) {
                std::process::exit(INTERRUPTED.into());
            }
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Training begins: from now on there is something to save.
    pub fn now_training(&self) {
        self.training.store(true, Ordering::SeqCst);
    }

    /// Stops training after this many seconds from now.
    pub fn stop_after(&self, seconds: f64) {
        let Ok(time) = Duration::try_from_secs_f64(seconds) else { return }; // longer than any clock counts
        let stop = self.stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(time);
            stop.store(true, Ordering::SeqCst);
        });
    }

    /// The flag that is set when training is to stop.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Whether Ctrl-C was pressed.
    pub fn happened(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }
}

/// Calls `heard` at every signal that asks the program to end. A thread waits for them; all others, which begin later, leave them to it.
#[cfg(unix)]
fn listen(heard: impl Fn() + Send + 'static) -> Result<()> {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    if !hang_up_is_ignored() {
        signals.add(Signal::SIGHUP);
    }
    signals.thread_block()?;
    std::thread::spawn(move || {
        while signals.wait().is_ok() {
            heard();
        }
    });
    Ok(())
}

/// Whether SIGHUP is to be ignored, as nohup(1) asks for: then a closed terminal must not end the run.
#[cfg(unix)]
fn hang_up_is_ignored() -> bool {
    use std::io::IsTerminal;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask & 1 != 0,
        None => !std::io::stderr().is_terminal(), // not Linux: nohup leads standard error away from the terminal
    }
}

#[cfg(not(unix))]
fn listen(heard: impl Fn() + Send + 'static) -> Result<()> {
    Ok(ctrlc::set_handler(heard)?)
}

/// Reports every step.
pub struct TrainingListener<'a> {
    /// Shows the run to the user.
    pub progress: &'a Progress,
    /// Records the run.
    pub log: &'a mut Log,
    /// Says whether to stop.
    pub interrupt: &'a Interrupt,
    /// Receives checkpoints.
    pub checkpoint: &'a mut Checkpoints,
    /// The state of the run.
    pub pace: Pace,
    /// Seconds after which to stop.
    pub seconds_at_most: Option<f64>,
    /// Whether it stopped for that reason.
    pub time_is_up: bool,
    /// Whether it was stopped above its start.
    pub above_start: bool,
}

/// The state of a run, for the live line.
pub struct Pace {
    tokens: usize,
    passes_at_most: Option<usize>,
    begun: Instant,
    /// Passes before the first step: not 0 in a resumed run, whose speed they must not count for.
    first_passes: Option<f64>,
    objective: Option<f64>,
    gradient_norm: Option<f64>,
    gap: Option<f64>,
    /// The first report of the training itself, in passes and seconds, and the last one.
    reports: Option<[(f64, f64); 2]>,
    /// Whether a method has restarted some weights.
    reset: bool,
    /// The last scores on the development data, ready to print.
    dev: String,
}

impl Pace {
    /// A run over `tokens` tokens begins now.
    pub fn new(tokens: usize, passes_at_most: Option<usize>) -> Self {
        Pace {
            tokens,
            passes_at_most,
            begun: Instant::now(),
            first_passes: None,
            objective: None,
            gradient_norm: None,
            gap: None,
            reports: None,
            reset: false,
            dev: String::new(),
        }
    }

    /// Seconds since the run began.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Records that this many passes are done.
    fn report(&mut self, passes: f64) {
        let now = (passes, self.seconds());
        self.first_passes.get_or_insert(passes.floor());
        self.reports = Some([self.reports.map_or(now, |[first, _]| first), now]);
    }

    /// The seconds that the last pass will take. It computes the true objective of a run that knows only an estimate, and it must be within
    /// the limit too.
    fn last_pass(&self) -> f64 {
        match self.reports {
            Some([first, last]) if self.estimate() && last.0 > first.0 => {
                LAST_PASS * (last.1 - first.1) / (last.0 - first.0)
            }
            _ => 0.0,
        }
    }

    /// Whether the objective is an estimate: methods that compute it as a whole know the gradient too.
    fn estimate(&self) -> bool {
        self.gradient_norm.is_none()
    }

    /// `pass 3.20  objective 9118.8800  gradient 12.3000  dev F1 93.61  812000 tokens/s  4 s left`; `dev` may be empty.
    fn line(&self, passes: f64, dev: &str) -> String {
        let mut line = format!("pass {passes:.2}");
        if let Some(objective) = self.objective {
            let about = if self.estimate() { "≈ " } else { "" };
            line += &format!("  objective {about}{objective:.4}");
        }
        if let Some(norm) = self.gradient_norm {
            line += &format!("  gradient {norm:.4}");
        }
        if let Some(gap) = self.gap {
            line += &format!("  duality gap {gap:.4}");
        }
        line += dev;
        let speed = (passes - self.first_passes.unwrap_or(0.0)) / self.seconds();
        if speed > 0.0 && speed.is_finite() {
            line += &format!("  {:.0} tokens/s", speed * self.tokens as f64);
            if let Some(all) = self.passes_at_most {
                line += &format!("  {:.0} s left", (all as f64 - passes).max(0.0) / speed);
            }
        }
        line
    }
}

/// The time of a pass that only computes the objective, as a share of a pass of an online method. It is between an eighth (Adam) and a half (SAGA).
const LAST_PASS: f64 = 0.25;
/// The most that is kept for it, as a share of the limit.
const MOST_OF_LIMIT: f64 = 0.5;

/// The penalties of a trial, in words.
fn penalties(sigma: f64, l1: f64) -> String {
    match l1 == 0.0 {
        true => format!("σ = {sigma}"),
        false => format!("σ = {sigma}, L1 {l1}"),
    }
}

impl crfkit::train::Listener for TrainingListener<'_> {
    fn event(&mut self, event: &Event) -> crfkit::Result<Control> {
        let (pace, progress) = (&mut self.pace, self.progress);
        let seconds = pace.seconds();
        match *event {
            Event::Picked(choice) => {
                progress.note(&format!("auto picks {choice}"));
                progress.note("objective ≈ is an estimate from the losses of the pass and may fluctuate; the last line has the true objective");
                self.log.write(&LogEvent::Picked { methods: choice.to_string() }, progress);
            }
            Event::Stores { bytes } => {
                let (unit, name) = if bytes < 1 << 20 { (1 << 10, "kB") } else { (1 << 20, "MB") };
                let size = bytes as f64 / f64::from(unit);
                progress.note(&format!("stores at most {size:.1} {name} about single examples"));
                self.log.write(&LogEvent::Stores { bytes }, progress);
            }
            Event::Reset { passes, weights } => {
                if !std::mem::replace(&mut pace.reset, true) {
                    progress.note(&format!(
                        "pass {passes:.2}: values of {weights} weights were not finite; they restart with half the gain. If the run \
                         suffers, use a smaller --eta0 or --mu. (This is printed once; the log has every case.)"
                    ));
                }
                self.log.write(&LogEvent::Reset { passes, seconds, weights }, progress);
            }
            Event::InitialWeights { passes, objective } => {
                let line = || {
                    let value = objective.map(|objective| format!("  objective {objective:.4}"));
                    format!("first weights: pass {passes:.2}{}", value.unwrap_or_default())
                };
                match objective {
                    Some(_) => progress.milestone(line, line),
                    None => progress.step(line),
                }
                if objective.is_some() {
                    self.log.write(&LogEvent::First { passes, seconds, objective }, progress);
                }
            }
            Event::Trial { sigma, l1, passes, score: None, .. } => {
                progress.step(|| format!("trying {}: pass {passes:.2}", penalties(sigma, l1)));
            }
            Event::Trial { sigma, l1, passes, score: Some((score, best)), .. } => {
                let mark = if best { " (best so far)" } else { "" };
                progress.note(&format!("{}: {score:.2} on held-out data{mark}", penalties(sigma, l1)));
                self.log.write(&LogEvent::Penalty { sigma, l1, passes, seconds, score, best }, progress);
            }
            Event::Restart { passes, next } => {
                progress.note(&format!(
                    "pass {passes:.2}: the objective rose above its start, so training begins {next}"
                ));
                let next = next.to_string();
                self.log.write(&LogEvent::Restart { passes, seconds, next: &next }, progress);
            }
            Event::Impossible { examples } => {
                progress.note(&format!(
                    "inference fails on {examples} examples at the final weights: their losses are below 0. If labels are \
                     wrong, use another --inference or --objective pseudolikelihood"
                ));
                self.log.write(&LogEvent::Impossible { examples }, progress);
            }
            Event::AboveStart { objective, zero } => {
                progress.warn(&format!(
                    "the run was stopped too early to be useful: the objective is {objective:.6e}, but {zero:.6e} at zero weights. The \
                 model has the weights reached so far; train for longer, or with a smaller --eta0"
                ));
                self.log.write(&LogEvent::Above { objective, zero }, progress);
                self.above_start = true;
            }
            Event::Progress { passes, objective: None, .. } => {
                pace.report(passes);
                progress.step(|| pace.line(passes, &pace.dev));
            }
            Event::Progress { passes, objective, gradient_norm, gap } => {
                pace.report(passes);
                pace.objective = objective;
                pace.gradient_norm = gradient_norm;
                pace.gap = gap;
                let estimate = pace.estimate();
                let step = LogEvent::Progress { passes, seconds, objective, estimate, gradient_norm, gap };
                self.log.write(&step, progress);
                progress.milestone(|| pace.line(passes, &pace.dev), || pace.line(passes, ""));
            }
            Event::Evaluation { passes, scores, best } => {
                let f1 = if scores.chunked { format!(" F1 {:.2}", scores.f1) } else { String::new() };
                pace.dev = format!("  dev{f1} accuracy {:.2}", scores.accuracy);
                self.log.write(&LogEvent::Eval { data: "dev", passes, seconds, scores, best }, progress);
                let mark = if best { " (best)" } else { "" };
                let new = || format!("pass {passes:.2}{}{mark}", pace.dev);
                progress.milestone(|| pace.line(passes, &pace.dev), new);
            }
            _ => {} // events of later versions
        }
        let reserve = self.pace.last_pass();
        self.time_is_up |=
            self.seconds_at_most.is_some_and(|limit| seconds + reserve.min(limit * MOST_OF_LIMIT) >= limit);
        let stop = self.time_is_up || self.interrupt.happened();
        Ok(if stop { Control::Stop } else { Control::Continue })
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        Some(self.interrupt.stop.clone())
    }

    fn checkpoint_due(&mut self) -> bool {
        self.checkpoint.due() || (self.checkpoint.wanted() && self.interrupt.happened())
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> crfkit::Result<()> {
        self.checkpoint.write(checkpoint, self.progress);
        Ok(())
    }
}
