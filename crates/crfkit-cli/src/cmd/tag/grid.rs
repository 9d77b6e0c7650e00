//! `crfkit tag --images`: labels pictures.

use super::{note_rough, only};
use crate::args::{PictureArgs, TagArgs};
use crate::error::usage;
use crate::pictures;
use anyhow::{Context, Result};
use crfkit::data::images::Mask;
use crfkit::files::write_atomically;
use crfkit::graph::Label;
use crfkit::grid::{Decode, GridModel, GridTagger};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// A worker with the engine that is asked for, or else the one of the training.
pub fn tagger(model: &Arc<GridModel>, args: &PictureArgs) -> GridTagger {
    GridTagger::new(model.clone(), args.inference.unwrap_or(model.engine()))
}

/// The labelling that is asked for.
pub fn decode(args: &PictureArgs) -> Result<Decode> {
    args.of_graphs()
        .ok_or_else(|| usage("--decode viterbi is for sequences: pictures and graphs have the others"))
}

/// Writes a label image for every picture, and probability images with `--marginals`.
pub fn run(args: &TagArgs, images: &Path, output: &Path) -> Result<ExitCode> {
    if args.nbest.is_some() || args.probability {
        return Err(usage("--nbest and --probability are for sequences, not for --images"));
    }
    let decode = decode(&args.grid)?;
    let model = Arc::new(pictures::read_model(only(&args.model)?)?);
    let images = pictures::list(images)?;
    std::fs::create_dir_all(output).with_context(|| output.display().to_string())?;
    let mut tagger = tagger(&model, &args.grid);
    for (stem, path) in images {
        tagger.image(&pictures::read_picture(&path)?, &path.display().to_string())?;
        let labels = tagger.labels(decode)?.to_vec();
        let mask = tagger.mask(&labels);
        write_atomically(&output.join(format!("{stem}.png")), &mask.to_png()?)?;
        if args.marginals {
            for (label, value) in model.layout.labels.iter().enumerate() {
                let grey = tagger.marginals(label as Label)?.map(|p| (255.0 * p).round() as u8).collect();
                let grey = Mask { values: grey, ..mask.clone() };
                write_atomically(&output.join(format!("{stem}.p{value}.png")), &grey.to_png()?)?;
            }
            if !tagger.converged() {
                note_rough(path.display());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
