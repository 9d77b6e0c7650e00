//! `crfkit demo grid`: removes noise from images (smd-crf-2006 section 5.1), and shows what neighbours contribute.

use super::{Show, say};
use crate::demo::shapes::{SIDE, WHITE, picture};
use crate::progress::Progress;
use anyhow::Result;
use crfkit::data::images::{Image, Mask};
use crfkit::files::write_atomically;
use crfkit::graph::Neighbours;
use crfkit::grid::{
    Decode, Directions, Engine, GridBuilder, GridDomain, GridImage, GridTagger, SiteFeatures, Tables,
};
use crfkit::tag::{Accuracy, Judgement};
use crfkit::train::{Criterion, Kind, Method, Settings, TrainOptions};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const SEED: u64 = 1;
const TRAIN: u64 = 12;
const TEST: u64 = 10;
/// Standard deviation of the noise; the pixels are 0 and 1.
const NOISE: f64 = 0.5;
/// Number of test images that are shown.
const SHOWN: usize = 4;
/// The largest number of passes over the training images: there are only four weights.
const PASSES: usize = 8;

/// A way to label pixels: its name, its description, and its model.
struct Way {
    name: &'static str,
    about: &'static str,
    neighbours: Neighbours,
    engine: Engine,
}

const WAYS: [Way; 3] = [
    Way {
        name: "logistic",
        about: "each pixel by itself",
        neighbours: Neighbours::None,
        engine: Engine::LoopyBp, // exact without neighbours
    },
    Way {
        name: "mean-field",
        about: "neighbours joined, trained and labelled by mean field",
        neighbours: Neighbours::Four,
        engine: Engine::MeanField,
    },
    Way {
        name: "loopy-bp",
        about: "neighbours joined, trained and labelled by loopy belief propagation",
        neighbours: Neighbours::Four,
        engine: Engine::LoopyBp,
    },
];

/// Runs the demo.
pub fn run(output: Option<&Path>) -> Result<ExitCode> {
    let pictures = |numbers: Range<u64>| -> Vec<(Image, Mask)> {
        numbers.map(|number| picture(SEED, number, NOISE)).collect()
    };
    let (train, test) = (pictures(0..TRAIN), pictures(TRAIN..TRAIN + TEST));
    say(&format!(
        "A small task: which pixels belong to a shape? Images of {SIDE} × {SIDE} pixels, 0 or 1, with noise of standard \
         deviation {NOISE}:\n{TRAIN} to train on, {TEST} others to remove the noise from.\n\n"
    ))?;
    let shown = || test.iter().take(SHOWN);
    let mut columns: Vec<Vec<Mask>> = vec![
        shown().map(|(noisy, _)| shades(noisy)).collect(),
        shown().map(|(_, truth)| truth.clone()).collect(),
    ];
    let mut errors = Vec::new();
    for way in WAYS {
        let begun = Instant::now();
        let (mut cleaned, wrong) = clean(&way, &train, &test)?;
        let error = 100.0 - wrong.percent();
        let seconds = begun.elapsed().as_secs_f64();
        say(&format!("{:<12}{error:5.1} % wrong, {seconds:.1} s: {}\n", way.name, way.about))?;
        errors.push(format!("{} {error:.1} %", way.name));
        cleaned.truncate(SHOWN);
        columns.push(cleaned);
    }
    let path = output.unwrap_or(Path::new("crfkit-demo-grid.png"));
    write_atomically(path, &side_by_side(&columns).to_png()?)?;
    say(&format!(
        "\nSide by side in {}: noisy, truth, {}.\nerror: {}\n",
        path.display(),
        WAYS.map(|way| way.name).join(", "),
        errors.join("  ")
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Trains on some images, labels others and counts mistakes.
fn clean(way: &Way, train: &[(Image, Mask)], test: &[(Image, Mask)]) -> Result<(Vec<Mask>, Accuracy)> {
    let progress = Progress::new(false);
    let domain = GridDomain {
        labels: vec![0, WHITE],
        unlabelled: None,
        sites: SiteFeatures::default(),
        channels: 1,
        pair_channels: 1,
        pairs: None,
        neighbours: way.neighbours,
        tables: Tables::Ising,
        directions: Directions::Shared,
    };
    let mut builder = GridBuilder::new(domain)?;
    for (image, mask) in train {
        builder.add(&image.clone().into(), mask, "a training image")?;
    }
    let settings = Settings {
        objective: Criterion::Likelihood,
        inference: Some(way.engine),
        optimizer: Method::Lbfgs,
        passes: Some(PASSES),
        ..Settings::for_kind(Kind::Grid)
    };
    let corpus = builder.finish()?;
    let features = corpus.features(&settings);
    let trained =
        crfkit::train::train(corpus, features, &settings, TrainOptions::default(), &mut Show(&progress))?;
    progress.step(|| "labelling".into());
    let mut tagger = GridTagger::new(Arc::new(trained.model));
    let (mut masks, mut judgement) = (Vec::with_capacity(test.len()), Judgement::new(1));
    for (image, truth) in test {
        let picture =
            GridImage { mask: Some(truth.clone()), ..GridImage::new(image.clone().into(), "a test image") };
        let labels = tagger.judge(&picture, Decode::MaxMarginal, &mut judgement)?;
        masks.push(tagger.mask(&labels));
    }
    Ok((masks, judgement.overall()))
}

/// A noisy image in shades of grey, with 0 at a quarter and 1 at three quarters.
fn shades(image: &Image) -> Mask {
    let shade = |value: &f64| (255.0 * (0.25 + 0.5 * value)).clamp(0.0, 255.0) as u16;
    Mask { height: image.height, width: image.width, values: image.values.iter().map(shade).collect() }
}

/// One image with all others, column by column, each pixel enlarged, on grey.
fn side_by_side(columns: &[Vec<Mask>]) -> Mask {
    const ENLARGED: usize = 2;
    const GAP: usize = 4;
    const GREY: u16 = 128;
    let pitch = ENLARGED * SIDE + GAP;
    let (height, width) = (SHOWN * pitch + GAP, columns.len() * pitch + GAP);
    let mut values = vec![GREY; height * width];
    for (x, column) in columns.iter().enumerate() {
        for (y, mask) in column.iter().enumerate() {
            for row in 0..ENLARGED * SIDE {
                let start = (GAP + y * pitch + row) * width + GAP + x * pitch;
                for (k, value) in values[start..][..ENLARGED * SIDE].iter_mut().enumerate() {
                    *value = mask.values[row / ENLARGED * SIDE + k / ENLARGED];
                }
            }
        }
    }
    Mask { height, width, values }
}
