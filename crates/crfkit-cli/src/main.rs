//! The program `crfkit`.

mod args;
mod cmd;
mod demo;
mod error;
mod flags;
mod help;
mod io;
mod log;
mod paths;
mod pipeline;
mod progress;

use args::{Args, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    share_heap();
    // Check the environment before anything asks for the vector unit: a value that would be ignored is rejected with an
    // error.
    if let Err(error) = crfkit::math::simd::check_environment() {
        return error::report(&error.into());
    }
    let outcome = match Args::from_command_line().command {
        Command::Train(args) => cmd::train::run(&args),
        Command::Cv(args) => cmd::cv::run(&args),
        Command::Search(args) => cmd::search::run(&args),
        Command::Tag(args) => cmd::tag::run(&args),
        Command::Eval(args) => cmd::eval::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::Calibrate(args) => cmd::calibrate::run(&args),
        Command::Rank(args) => cmd::rank::run(&args),
        Command::Diff(args) => cmd::diff::run(&args),
        Command::Edit(args) => cmd::edit::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Convert(args) => cmd::convert::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Watch(args) => cmd::watch::run(&args),
        Command::Demo(args) => cmd::demo::run(&args),
        Command::List { what, name } => cmd::list::run(what, name.as_deref()),
        Command::Help { topic } => help::run(topic.as_deref()),
        Command::Completions { shell } => cmd::completions::run(shell),
        Command::Man { command } => cmd::man::run(command.as_deref()),
    };
    outcome.unwrap_or_else(|error| error::report(&error))
}

/// Lets all threads share one heap. By default, glibc gives each thread a heap of its own, and what a thread has freed there is of no use
/// to the others: training on two threads took 12 MB more. Work that allocates much is rare here, so threads do not wait for each other.
fn share_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: this sets a number of the allocator, before there is a second thread.
    #[allow(unsafe_code)]
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
    }
}
