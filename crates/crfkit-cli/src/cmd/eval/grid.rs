//! `crfkit eval --images`: how many pixels a model labels wrongly.

use crate::args::EvalArgs;
use crate::cmd::tag::grid::{decode, tagger};
use crate::error::stdout_failed;
use crate::pictures;
use anyhow::Result;
use crfkit::grid::{Decode, GridTagger, Layout, PixelErrors};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Evaluates and prints.
pub fn run(args: &EvalArgs, model: &Path, images: &Path, masks: &Path) -> Result<ExitCode> {
    let decode = decode(&args.grid)?;
    let model = Arc::new(pictures::read_model(model)?);
    let mut tagger = tagger(&model, &args.grid);
    let pairs = pictures::pairs(images, masks)?;
    let errors = pixel_errors(&mut tagger, &model.layout, decode, &pairs)?;
    let (error, PixelErrors { pixels, wrong }) = (errors.percent(), errors);
    let text = match args.json {
        true => {
            let images = pairs.len();
            serde_json::json!({"pixel_error": error, "wrong": wrong, "pixels": pixels, "images": images})
                .to_string()
        }
        false => format!("pixel error: {error:.2} %  ({wrong} of {pixels} pixels, {} images)", pairs.len()),
    };
    writeln!(std::io::stdout(), "{text}").map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Labels pictures, each given with its mask, and compares.
pub fn pixel_errors(
    tagger: &mut GridTagger,
    layout: &Layout,
    decode: Decode,
    pairs: &[(PathBuf, PathBuf)],
) -> Result<PixelErrors> {
    let mut errors = PixelErrors::default();
    for (image, mask) in pairs {
        tagger.image(&pictures::read_picture(image)?, &image.display().to_string())?;
        let labels = tagger.labels(decode)?.to_vec();
        let (gold, name) = (pictures::read_mask(mask)?, mask.display().to_string());
        errors.add(layout, &gold, &tagger.mask(&labels), &name)?;
    }
    Ok(errors)
}
