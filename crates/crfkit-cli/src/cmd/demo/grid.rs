//! `crfkit demo grid`: noisy pictures made clean (smd-crf-2006 section 5.1), and what neighbours are good for.

use super::{Show, say};
use crate::demo::shapes::{SIDE, picture};
use crate::progress::Progress;
use anyhow::Result;
use crfkit::data::images::{Image, Mask};
use crfkit::files::write_atomically;
use crfkit::graph::Neighbours;
use crfkit::grid::{
    Decode, Engine, GridTagger, Init, Layout, Pictures, PixelErrors, Settings, SiteFeatures, Start, Tables,
};
use crfkit::train::{Method, Settings as Training};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const SEED: u64 = 1;
const TRAIN: u64 = 12;
const TEST: u64 = 10;
/// Standard deviation of the noise; the pictures are 0 and 1.
const NOISE: f64 = 0.5;
/// Test pictures that are shown.
const SHOWN: usize = 4;
/// Passes over the training pictures at most: there are four weights to find.
const PASSES: usize = 8;

/// A way to label pixels: its name, what it is, and what it is made of.
struct Way {
    name: &'static str,
    about: &'static str,
    neighbours: Neighbours,
    engine: Engine,
}

const WAYS: [Way; 3] = [
    Way {
        name: "logistic",
        about: "each pixel for itself",
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
        "A small task: which pixels belong to a shape? Pictures of {SIDE} × {SIDE} pixels, 0 or 1, under noise of standard \
         deviation {NOISE}:\n{TRAIN} to learn from, {TEST} others to be made clean.\n\n"
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
        let error = wrong.percent();
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

/// Learns from the one, labels the others and counts mistakes.
fn clean(way: &Way, train: &[(Image, Mask)], test: &[(Image, Mask)]) -> Result<(Vec<Mask>, PixelErrors)> {
    let progress = Progress::new(false);
    let layout = Layout {
        labels: vec![0, u8::MAX],
        unlabelled: None,
        sites: SiteFeatures::default(),
        channels: 1,
        pair_channels: 1,
        neighbours: way.neighbours,
        tables: Tables::Ising,
    };
    let mut pictures = Pictures::new(layout)?;
    for (image, mask) in train {
        pictures.add(&image.clone().into(), mask, "a training picture")?;
    }
    let training = Training { optimizer: Method::Lbfgs, passes: Some(PASSES), ..Training::default() };
    let settings = Settings { inference: way.engine, init: Init::Logistic, training };
    let model =
        Arc::new(crfkit::grid::train(pictures, &settings, Start::default(), &mut Show(&progress))?.model);
    progress.step(|| "labelling".into());
    let mut tagger = GridTagger::new(model.clone(), way.engine);
    let (mut masks, mut wrong) = (Vec::with_capacity(test.len()), PixelErrors::default());
    for (image, truth) in test {
        tagger.image(&image.clone().into(), "a test picture")?;
        let labels = tagger.labels(Decode::MaxMarginal)?.to_vec();
        let found = tagger.mask(&labels);
        wrong.add(&model.layout, truth, &found, "a test picture")?;
        masks.push(found);
    }
    Ok((masks, wrong))
}

/// A noisy picture in shades of grey: 0 and 1 stand out at a quarter and three quarters.
fn shades(image: &Image) -> Mask {
    let shade = |value: &f64| (255.0 * (0.25 + 0.5 * value)).clamp(0.0, 255.0) as u8;
    Mask { height: image.height, width: image.width, values: image.values.iter().map(shade).collect() }
}

/// One picture of all: column by column, each pixel enlarged, on grey.
fn side_by_side(columns: &[Vec<Mask>]) -> Mask {
    const ENLARGED: usize = 2;
    const GAP: usize = 4;
    const GREY: u8 = 128;
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
