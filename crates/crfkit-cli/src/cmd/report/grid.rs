//! Pictures on a page: what the model saw, what is right, what it said and how sure it was.

use crate::pictures;
use anyhow::Result;
use crfkit::data::images::Mask;
use crfkit::graph::Label;
use crfkit::grid::{Decode, GridModel, GridTagger, PixelErrors};
use crfkit_report::{GridSample, Png};
use std::path::PathBuf;
use std::sync::Arc;

/// Pictures on a page at most.
const PICTURES: usize = 12;

/// Labels pictures, each given with its mask, and keeps those with the most mistakes, worst first.
pub fn samples(model: &Arc<GridModel>, pairs: &[(PathBuf, PathBuf)]) -> Result<Vec<GridSample>> {
    let mut tagger = GridTagger::new(model.clone(), model.engine());
    let mut all = Vec::new();
    for (number, (image, mask)) in pairs.iter().enumerate() {
        let (truth, name) = (pictures::read_mask(mask)?, mask.display().to_string());
        tagger.image(&pictures::read_picture(image)?, &image.display().to_string())?;
        let labels = tagger.labels(Decode::MaxMarginal)?.to_vec();
        let mut errors = PixelErrors::default();
        errors.add(&model.layout, &truth, &tagger.mask(&labels), &name)?;
        all.push((errors, number, labels, truth));
    }
    all.sort_by(|(a, ..), (b, ..)| b.percent().total_cmp(&a.percent()));
    all.truncate(PICTURES);
    let sample = |(errors, number, labels, truth): (PixelErrors, usize, Vec<Label>, Mask)| {
        let path = &pairs[number].0;
        let picture = pictures::read_picture(path)?;
        tagger.image(&picture, &path.display().to_string())?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let grey = |values: Vec<u8>| Mask { values, ..truth }.to_png().map(|png| Some(Png(png)));
        Ok(GridSample {
            name: format!("{stem}: {} of {} wrong", errors.wrong, errors.pixels),
            input: Some(Png(picture.nodes.to_png()?)),
            truth: grey(truth.values.iter().map(|&value| shade(model, model.layout.label(value))).collect())?,
            prediction: grey(labels.iter().map(|&label| shade(model, Some(label))).collect())?,
            marginals: grey(sureness(&mut tagger, model.layout.labels.len())?)?,
        })
    };
    all.into_iter().map(sample).collect()
}

/// Labels from black to white; no label is grey.
fn shade(model: &GridModel, label: Option<Label>) -> u8 {
    let steps = (model.layout.labels.len() - 1).max(1);
    label.map_or(128, |label| (255 * label as usize / steps) as u8)
}

/// The probability of the second of two labels, of the most probable one of more; from black to white.
fn sureness(tagger: &mut GridTagger, labels: usize) -> Result<Vec<u8>> {
    let mut most: Vec<f64> = Vec::new();
    for label in if labels == 2 { 1..2 } else { 0..labels } {
        let marginals: Vec<f64> = tagger.marginals(label as Label)?.collect();
        most.resize(marginals.len(), 0.0);
        most.iter_mut().zip(marginals).for_each(|(most, p)| *most = most.max(p));
    }
    Ok(most.into_iter().map(|p| (255.0 * p).round() as u8).collect())
}
