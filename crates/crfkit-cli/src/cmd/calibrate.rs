//! `crfkit calibrate`: fits a temperature, so that probabilities agree with labelled data.

use super::eval::PARTIAL_HINT;
use crate::args::CalibrateArgs;
use crate::cmd::train::data::no_sequence;
use crate::io::{Door, InputPlace, Inputs, name, open_model};
use crate::paths::{Named, check_inputs_kept};
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::any::{AnyModel, Ensemble, Member};
use crfkit::chain::{ChainModel, Sequence, TemperatureFit};
use crfkit::data::partial::sole_label;
use crfkit::domain::Domain;
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
    note_partial(&model, &sequences, args)?;
    let fit = if args.partial_labels { ChainModel::calibrate_partial } else { ChainModel::calibrate };
    let TemperatureFit { model, temperature, losses: [before, after], sequences: used, left_out } =
        fit(&model, &sequences)?;
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

/// Says which flag is missing if labels that the model does not know look like partial ones.
fn note_partial(model: &ChainModel, sequences: &[Sequence], args: &CalibrateArgs) -> Result<()> {
    for sequence in sequences.iter().filter(|_| !args.partial_labels) {
        let truth = model.domain.truth(sequence)?;
        let labels = truth.labels.iter().flatten();
        if let Some(label) = labels.into_iter().find(|label| sole_label(label).is_none())
            && !model.domain.labels.iter().any(|known| known == label)
        {
            let _ = writeln!(
                std::io::stderr(),
                "crfkit: note: the model does not know the label {label}; {PARTIAL_HINT}"
            );
            break;
        }
    }
    Ok(())
}
