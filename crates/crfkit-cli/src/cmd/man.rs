//! `crfkit man`: the manual, from the same source as `--help`.

use crate::args::Args;
use crate::error::{stdout_failed, usage};
use anyhow::Result;
use clap::CommandFactory;
use std::io::Write;
use std::process::ExitCode;

/// Prints the page of the program, or of one of its commands.
pub fn run(command: Option<&str>) -> Result<ExitCode> {
    let mut page = Args::command();
    page.build();
    if let Some(name) = command {
        let found = page.find_subcommand(name).ok_or_else(|| usage(format!("no command `{name}`")))?;
        page = found.clone();
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    std::io::stdout().write_all(&text).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}
