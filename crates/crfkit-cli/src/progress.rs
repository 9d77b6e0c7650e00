//! Progress messages on standard error.

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
    /// Only errors are printed.
    Quiet,
}

impl Progress {
    /// A live line if standard error is a terminal, plain lines if not, nothing with `--quiet`.
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

    /// Shows a small step, on the live line only. `text` is called only if it is shown.
    pub fn step(&self, text: impl FnOnce() -> String) {
        if let Progress::Live(bar) = self {
            bar.set_message(text());
        }
    }

    /// Shows a step that plain lines show too: the live line shows all that is `known`, a plain line only what is `new`.
    pub fn milestone(&self, known: impl FnOnce() -> String, new: impl FnOnce() -> String) {
        match self {
            Progress::Live(bar) => bar.set_message(known()),
            Progress::Plain => line(&new()),
            Progress::Quiet => {}
        }
    }

    /// Prints a line that stays.
    pub fn note(&self, text: &str) {
        match self {
            Progress::Live(bar) => bar.suspend(|| line(text)),
            Progress::Plain => line(text),
            Progress::Quiet => {}
        }
    }

    /// Prints a warning, with `--quiet` too.
    pub fn warn(&self, text: &str) {
        let text = format!("crfkit: {text}");
        match self {
            Progress::Live(bar) => bar.suspend(|| line(&text)),
            Progress::Plain | Progress::Quiet => line(&text),
        }
    }

    /// Removes the live line.
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

/// Prints a line. An error is ignored: progress that nobody can read is no reason to stop.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
