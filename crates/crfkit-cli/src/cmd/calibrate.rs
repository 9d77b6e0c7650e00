//! `crfkit calibrate`: fits a temperature, so that probabilities agree with labelled data.

use crate::args::CalibrateArgs;
use crate::cmd::train::data::no_sequence;
use crate::io::{Door, InputPlace, Inputs, name, open_model};
use crate::paths::{Named, check_inputs_kept};
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::any::{AnyModel, Ensemble, Member};
use crfkit::chain::TemperatureFit;
use crfkit::files::write_atomically;
use std::io::Write;
use std::process::ExitCode;

/// Writes the model with its temperature.
pub fn run(args: &CalibrateArgs) -> Result<ExitCode> {
    let given = [("the model", &*args.model), ("the development data", &*args.dev)];
    let vectors = args.input.vectors.iter().map(|path| ("the vectors of the development data", &**path));
    let inputs: Vec<Named> = given.into_iter().chain(vectors).collect();
    check_inputs_kept(&[("--output", &args.output)], &inputs)?;
    let AnyModel::Chain(model) = open_model(&args.model)? else {
        anyhow::bail!(
            "{}: only models of plain chains with weights have a temperature: other graphs have approximate probabilities, and counts \
             are probabilities already",
            name(&args.model)
        );
    };
    let inputs =
        Inputs { place: InputPlace::File(args.dev.clone()), reading: args.input.reading(args.label_column) };
    let mut source = Ensemble::from(Member::Weighted(model.clone())).open(&inputs)?;
    let mut sequences = vec![source.item()];
    while source.read(sequences.last_mut().expect("there is one to read into"))? {
        sequences.push(source.item());
    }
    sequences.pop();
    if sequences.is_empty() {
        return Err(no_sequence(&args.dev));
    }
    let TemperatureFit { model, temperature, losses: [before, after], sequences: used, left_out } =
        model.calibrate(&sequences)?;
    write_atomically(&args.output, &AnyModel::Chain(model.into()).to_bytes()?)?;
    let mut out = std::io::stderr();
    let _ = writeln!(
        out,
        "crfkit: temperature {temperature:.4}; -log p of {used} sequences: {before:.6} before, {after:.6} after"
    );
    if left_out > 0 {
        let _ = writeln!(
            out,
            "crfkit: {left_out} sequences were left out: the model cannot give them their labels"
        );
    }
    Ok(ExitCode::SUCCESS)
}
