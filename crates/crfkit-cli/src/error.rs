//! How the program ends: error messages and exit status.

use crate::args::Args;
use clap::CommandFactory;
use clap::error::ContextKind;
use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Status after Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// The name of standard output in errors.
const STDOUT: &str = "standard output";

/// Arguments that are well formed but make no sense. The program ends with status 2, as it does for malformed ones.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A [`Usage`] error with this message.
pub fn usage(message: impl fmt::Display) -> anyhow::Error {
    Usage(message.to_string()).into()
}

/// The error about standard output that could not be written.
pub fn stdout_failed(source: std::io::Error) -> crfkit::Error {
    crfkit::Error::io(STDOUT, source)
}

/// The first names of a list, and how many more there are.
pub fn some(names: &[impl AsRef<str>]) -> String {
    let (shown, more) = names.split_at(names.len().min(20));
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    shown.join(", ") + &more
}

/// Ends the program with what the command line asks for, such as help, or with what is wrong with it.
pub fn end(said: &clap::Error) -> ! {
    let plain = plain_number(said);
    let said = plain.as_ref().unwrap_or(said);
    let status = match said.print() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => 1,
        _ => said.exit_code(),
    };
    std::process::exit(status)
}

/// The error about a value that is no number, or out of range, in plain words instead of those of Rust's parsers.
fn plain_number(said: &clap::Error) -> Option<clap::Error> {
    let parser = std::error::Error::source(said)?.to_string();
    let why =
        match (&*parser, parser.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="))) {
            (_, Some((first, last))) => format!("give a whole number from {first} to {last}"),
            ("number would be zero for non-zero type", _) => "give a whole number of at least 1".into(),
            ("number too large to fit in target type", _) => "this number is too large".into(),
            ("invalid digit found in string" | "cannot parse integer from empty string", _) => {
                "give a whole number, not below 0".into()
            }
            ("invalid float literal" | "cannot parse float from empty string", _) => "give a number".into(),
            _ => return None,
        };
    let (flag, value) = (said.get(ContextKind::InvalidArg)?, said.get(ContextKind::InvalidValue)?);
    let message =
        format!("invalid value '{value}' for '{flag}': {why}\n\nFor more information, try '--help'.\n");
    Some(clap::Error::raw(said.kind(), message))
}

/// Prints the error and returns the exit status. A closed pipe is not an error: the reader has seen enough.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(crfkit::Error::Io { name, error: source }) = error.downcast_ref()
        && name == STDOUT
        && source.kind() == ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS;
    }
    // If even standard error is closed there is nobody left to tell.
    let _ = writeln!(
        std::io::stderr(),
        "crfkit: {}",
        speak_of_flags(&format!("{error:#}"), about_settings(error))
    );
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}

/// Is the error one of the library about settings, which the user knows as flags?
fn about_settings(error: &anyhow::Error) -> bool {
    use crfkit::Error;
    let of_library = |error: &Error| {
        matches!(
            error,
            Error::Setting(_) | Error::Incompatible { .. } | Error::Diverged { .. } | Error::Graph(_)
        )
    };
    error.is::<Usage>() || error.chain().any(|cause| cause.downcast_ref().is_some_and(of_library))
}

/// The library calls a setting by its name, as in `sigma_pairs`; here it is a flag, --sigma-pairs.
fn speak_of_flags(message: &str, of_settings: bool) -> String {
    if !of_settings {
        return message.to_owned();
    }
    let mut command = Args::command();
    command.build();
    let train = command.find_subcommand("train");
    let flags: Vec<&str> =
        train.into_iter().flat_map(|verb| verb.get_arguments()).filter_map(|flag| flag.get_long()).collect();
    let mut spoken = String::new();
    for (number, part) in message.split('`').enumerate() {
        let flag = part.replace('_', "-");
        match number % 2 {
            1 if flags.contains(&&*flag) => spoken += &format!("--{flag}"),
            1 => spoken += &format!("`{part}`"),
            _ => spoken += part,
        }
    }
    match message.matches('`').count() % 2 {
        0 => spoken,
        _ => message.to_owned(), // a name with a backtick in it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_flags_and_names_stay() {
        assert_eq!(speak_of_flags("`sigma_pairs` is -1", true), "--sigma-pairs is -1");
        assert_eq!(speak_of_flags("no label `B-NP`; `eta0` is 2", true), "no label `B-NP`; --eta0 is 2");
        assert_eq!(speak_of_flags("a file called `sigma`", false), "a file called `sigma`");
        assert_eq!(speak_of_flags("a ` in a name, `sigma`", true), "a ` in a name, `sigma`");
    }
}
