//! `crfkit completions`: a script that teaches a shell the flags.

use crate::args::Args;
use crate::error::stdout_failed;
use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

/// Prints the script.
pub fn run(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "crfkit", &mut script);
    std::io::stdout().write_all(&script).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}
