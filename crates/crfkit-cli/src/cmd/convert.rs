//! `crfkit convert`: models between the formats of crfkit and of other toolkits.

use crate::args::{ConvertArgs, ModelFormat, NoConstraint};
use crate::io::{name, open_model};
use crate::paths::check_inputs_kept;
use anyhow::{Context, Result};
use crfkit::Model;
use crfkit::any::AnyModel;
use crfkit::chain::ChainModel;
use crfkit::files::write_atomically;
use crfkit::settings::Constraint;
use std::process::ExitCode;

/// Reads a model and writes it in another format.
pub fn run(args: &ConvertArgs) -> Result<ExitCode> {
    check_inputs_kept(&[("OUT", &args.output)], &[("the model to convert", &args.input)])?;
    let model = match (open_model(&args.input)?, args.constraint) {
        (AnyModel::Chain(model), Some(NoConstraint::None)) => {
            let mut free = ChainModel::clone(&model);
            free.settings.constraint = Some(Constraint::None);
            Model::from(AnyModel::Chain(free.into()))
        }
        (other, _) => Model::from(other),
    };
    let bytes = match args.format() {
        ModelFormat::Crfkit => model.to_bytes(),
        ModelFormat::Crfsuite => model.to_crfsuite(),
    };
    write_atomically(&args.output, &bytes.with_context(|| name(&args.input))?)?;
    Ok(ExitCode::SUCCESS)
}
