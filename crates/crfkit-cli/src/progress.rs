//! What the user sees while something runs, on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// A live line on a terminal, plain lines elsewhere, or nothing.
#[derive(Debug)]
pub enum Progress {
    /// The line changes in place.
    Live(ProgressBar),
    /// Every milestone is a line.
    Plain,
    /// Only errors are said.
    Quiet,
}

impl Progress {
    /// By where standard error goes, unless `--quiet`.
    pub fn new(quiet: bool) -> Self {
        if quiet {
            return Progress::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Progress::Plain;
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress::Live(bar)
    }

    /// A small step: shown on the live line only. `text` is made only if it is shown.
    pub fn step(&self, text: impl FnOnce() -> String) {
        if let Progress::Live(bar) = self {
            bar.set_message(text());
        }
    }

    /// A step that a reader of plain lines wants to see too: all that is known on the live line, what is new on a plain one.
    pub fn milestone(&self, known: impl FnOnce() -> String, new: impl FnOnce() -> String) {
        match self {
            Progress::Live(bar) => bar.set_message(known()),
            Progress::Plain => line(&new()),
            Progress::Quiet => {}
        }
    }

    /// A line that stays.
    pub fn note(&self, text: &str) {
        match self {
            Progress::Live(bar) => bar.suspend(|| line(text)),
            Progress::Plain => line(text),
            Progress::Quiet => {}
        }
    }

    /// Takes the live line away.
    pub fn finish(&self) {
        if let Progress::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Progress that nobody can read is no reason to stop.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
