//! `crfkit train --graph grid`: from pictures and masks to a model file.

use super::check_target;
use super::listener::Interrupt;
use crate::args::{Init, PriorMean, TrainArgs};
use crate::error::{INTERRUPTED, usage};
use crate::pictures;
use crate::progress::Progress;
use anyhow::Result;
use crfkit::data::images::Mask;
use crfkit::files::write_atomically;
use crfkit::graph::Neighbours;
use crfkit::grid::{self, Layout, Pictures, Settings};
use crfkit::model::{Keep, Precision};
use crfkit::optim::Control;
use crfkit::train::{Ended, Event};
use std::path::Path;
use std::process::ExitCode;

/// Labels at most: more are a sign of masks that were not stored as they were.
const MAX_LABELS: usize = 64;

/// Trains a model of pictures and writes it.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let (Some(images), Some(masks)) = (&args.grid.images, &args.grid.masks) else {
        return Err(usage("--graph grid learns from pictures: give --images DIR and --masks DIR"));
    };
    let settings = settings(args)?;
    check_target(&args.model)?;
    let interrupt = Interrupt::install()?;
    let progress = Progress::new(args.quiet);

    progress.step(|| "reading".into());
    let corpus = read(args, images, masks)?;
    progress.note(&format!(
        "{} pictures, {} pixels with a label, {} without, {} labels, {} features",
        corpus.data().len(),
        corpus.labelled(),
        corpus.data().variables() - corpus.labelled(),
        corpus.layout().labels.len(),
        corpus.layout().features().dim()
    ));

    interrupt.now_training();
    let mut listener = Listener { progress: &progress, interrupt: &interrupt };
    let trained = grid::train(corpus, &settings, args.input.threads(), &mut listener)?;
    let bytes = trained.model.to_bytes();
    write_atomically(&args.model, &bytes)?;
    progress.finish();
    let (stop, objective, passes) = (trained.stop, trained.objective, trained.passes);
    progress.note(&format!("stopped: {stop}; objective {objective:.4} after {passes:.2} passes"));
    let (model, weights) = (args.model.display(), trained.model.weights.len());
    if stop == Ended::Listener {
        progress.note(&format!("the model so far is saved: {model} ({} bytes)", bytes.len()));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    progress.note(&format!("model: {model} ({weights} weights, {} bytes)", bytes.len()));
    progress.note(&format!("next: crfkit eval -m {model} --images DIR --masks DIR"));
    Ok(ExitCode::SUCCESS)
}

/// What shapes the model, or why it cannot be.
fn settings(args: &TrainArgs) -> Result<Settings> {
    let refused = [
        ("template", args.template.is_some()),
        ("preset", args.preset != "default"),
        ("label-column", args.label_column != [-1]),
        ("min-count", args.min_count != 1),
        ("features", args.features != Keep::Observed),
        ("boundaries", args.boundaries),
        ("pieces", args.pieces.is_some()),
        ("prior-mean MODEL", matches!(args.prior_mean, PriorMean::Model(_))),
        ("init random|empirical|FILE", !matches!(args.init, None | Some(Init::Zero | Init::Logistic))),
        ("dev", args.dev.is_some()),
        ("precision", args.precision != Precision::F64),
        ("shrink", args.shrink.is_some()),
        ("log", args.log.is_some()),
        ("report", args.report.is_some()),
        ("checkpoint", args.checkpoint.is_some()),
        ("format", args.input.format.is_some()),
    ];
    if let Some((name, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(usage(format!("--{name} is for --graph chain: models of pictures have none")));
    }
    let settings = Settings {
        inference: args.grid.inference.unwrap_or_default(),
        init: if args.init == Some(Init::Zero) { grid::Init::Zero } else { grid::Init::Logistic },
        training: args.settings()?,
    };
    settings.check().map_err(usage)?;
    Ok(settings)
}

/// Reads all masks for their values, then pictures and masks.
fn read(args: &TrainArgs, images: &Path, masks: &Path) -> Result<Pictures> {
    let pairs = pictures::pairs(images, masks)?;
    let masks = pairs.iter().map(|(_, mask)| pictures::read_mask(mask));
    let masks: Vec<Mask> = masks.collect::<crfkit::Result<_>>()?;
    let mut seen = [false; 256];
    masks.iter().flat_map(|mask| &mask.values).for_each(|&value| seen[value as usize] = true);
    let labels: Vec<u8> =
        (0..=u8::MAX).filter(|&v| seen[v as usize] && Some(v) != args.grid.unlabelled).collect();
    if labels.len() > MAX_LABELS {
        anyhow::bail!(
            "the masks have {} different values, more than {MAX_LABELS}: each stands for a label, so store masks without \
             loss and smoothing, as PNG or PGM",
            labels.len()
        );
    }
    let mut corpus: Option<Pictures> = None;
    for ((path, _), mask) in pairs.iter().zip(&masks) {
        let image = pictures::read_image(path)?;
        let corpus = match &mut corpus {
            Some(corpus) => corpus,
            None => corpus.insert(Pictures::new(Layout {
                labels: labels.clone(),
                unlabelled: args.grid.unlabelled,
                channels: image.channels,
                neighbours: args.grid.neighbours.unwrap_or(Neighbours::Four),
                tables: args.grid.tables.unwrap_or_default(),
            })?),
        };
        corpus.add(&image, mask, &path.display().to_string())?;
    }
    Ok(corpus.expect("a directory without pictures is refused"))
}

/// Shows every step, and stops at Ctrl-C.
struct Listener<'a> {
    progress: &'a Progress,
    interrupt: &'a Interrupt,
}

impl crfkit::train::Listener for Listener<'_> {
    fn event(&mut self, event: &Event) -> crfkit::Result<Control> {
        if let Event::Progress { passes, objective: Some(objective), .. } = event {
            let line = || format!("pass {passes:.2}  objective {objective:.4}");
            self.progress.milestone(line, line);
        }
        Ok(if self.interrupt.happened() { Control::Stop } else { Control::Continue })
    }
}
