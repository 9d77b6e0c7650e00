//! `crfkit edit`: sets, deletes or forbids weights of a model by name.

use crate::args::EditArgs;
use crate::io::{is_stdin, name, open_model, open_text};
use crate::paths::check_inputs_kept;
use anyhow::Result;
use crfkit::files::write_atomically;
use crfkit::model::edit::{Others, read_edits};
use std::io::{BufReader, Write};
use std::process::ExitCode;

/// Writes the edited model.
pub fn run(args: &EditArgs) -> Result<ExitCode> {
    let inputs = [("the model", &*args.model), ("the file of weights", &*args.weights)];
    check_inputs_kept(
        &[("--output", &*args.output)],
        &inputs[..if is_stdin(&args.weights) { 1 } else { 2 }],
    )?;
    let model = open_model(&args.model)?;
    let source = BufReader::new(open_text(&args.weights)?);
    let edits = match model.names() {
        Some(names) => read_edits(source, &name(&args.weights), &names)?,
        None => Vec::new(), // refused below
    };
    let others = if args.only { Others::Delete } else { Others::Keep };
    let edited = model.edited(&edits, others)?;
    write_atomically(&args.output, &edited.to_bytes()?)?;
    let (read, output) = (edits.len(), name(&args.output));
    let weights = if read == 1 { "weight" } else { "weights" };
    let _ = writeln!(std::io::stderr(), "crfkit: {read} {weights} read, {output} written");
    Ok(ExitCode::SUCCESS)
}
