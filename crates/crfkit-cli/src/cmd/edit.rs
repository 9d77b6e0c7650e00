//! `crfkit edit`: sets, deletes or forbids weights of a model by name.

use crate::args::EditArgs;
use crate::io::{is_stdin, name, open_model};
use crate::paths::check_inputs_kept;
use anyhow::Result;
use crfkit::Error;
use crfkit::files::write_atomically;
use crfkit::model::edit::{Others, read_edits};
use std::fs::File;
use std::io::{BufRead, BufReader, Write, stdin};
use std::process::ExitCode;

/// Writes the edited model.
pub fn run(args: &EditArgs) -> Result<ExitCode> {
    let output = ("--output", &*args.output);
    let inputs = [("the model", &*args.model), ("the file of weights", &*args.weights)];
    check_inputs_kept(&[output], &inputs[..if is_stdin(&args.weights) { 1 } else { 2 }])?;
    let model = open_model(&args.model)?;
    let source: Box<dyn BufRead> = match is_stdin(&args.weights) {
        true => Box::new(stdin().lock()),
        false => {
            let file = File::open(&args.weights).map_err(|error| Error::io(name(&args.weights), error))?;
            Box::new(BufReader::new(file))
        }
    };
    let edits = match model.names() {
        Some(names) => read_edits(source, &name(&args.weights), &names)?,
        None => Vec::new(), // refused below
    };
    let others = if args.only { Others::Delete } else { Others::Keep };
    let edited = model.edited(&edits, others)?;
    write_atomically(&args.output, &edited.to_bytes()?)?;
    let _ =
        writeln!(std::io::stderr(), "crfkit: {} weights read, {} written", edits.len(), name(&args.output));
    Ok(ExitCode::SUCCESS)
}
