//! Images and masks.

use super::{EachInput, TrainingData, check_label_weights};
use crate::args::TrainArgs;
use crate::error::usage;
use crate::io::{InputPlace, Inputs, PictureFile, grid_samples, picture_pairs, read_mask, read_picture};
use crate::log::DataSize;
use anyhow::{Result, bail};
use crfkit::counted;
use crfkit::data::images::MaskFile;
use crfkit::graph::Neighbours;
use crfkit::grid::{GridBuilder, GridCorpus, GridDomain, GridModel};
use crfkit::train::Settings;
use crfkit_report::GridSample;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest number of labels. More are a sign of masks that were compressed with loss or smoothed.
const MAX_LABELS: usize = 64;

impl TrainingData for GridDomain {
    type Applied = GridModel;
    const NEEDED: &'static str = "images";

    fn applied(model: &Arc<GridModel>) -> Arc<GridModel> {
        model.clone()
    }

    fn check(args: &TrainArgs) -> Result<()> {
        check_label_weights(args)?;
        args.grid.sites().check().map_err(usage)
    }

    /// Reads all images and masks; the masks' values are the labels.
    fn read_training(args: &TrainArgs) -> Result<GridCorpus> {
        let files = files(&args.grid.images, &args.grid.masks)?;
        let mut seen = vec![false; 1 << u16::BITS];
        let mut of_sets = 0;
        for file in &files {
            let MaskFile { mask, sets, .. } = read_mask(file)?;
            mask.iter().flat_map(|mask| &mask.values).for_each(|&value| seen[value as usize] = true);
            of_sets = sets.map_or(of_sets, |sets| of_sets.max(sets.labels()));
        }
        let found = |value: &u16| seen[*value as usize] && Some(*value) != args.grid.unlabelled;
        // Sets are of the labels 0, 1, 2 …, even if one of them is nowhere possible.
        let labels: Vec<u16> = match of_sets {
            0 => (0..=u16::MAX).filter(found).collect(),
            more if more > MAX_LABELS => {
                bail!("the masks have sets of {more} labels, but at most {MAX_LABELS} are allowed")
            }
            labels => (0..labels as u16).collect(),
        };
        if labels.is_empty() {
            bail!("no pixel of the masks has a label: all have the value of --unlabelled (--void)");
        }
        if labels.len() > MAX_LABELS {
            bail!(
                "the masks have {} different values, but each is a label, and at most {MAX_LABELS} are allowed: store masks \
                 without lossy compression or smoothing, as PNG or PGM",
                labels.len()
            );
        }
        let mut builder: Option<GridBuilder> = None;
        let taken = files.iter().enumerate().filter(|(example, _)| args.part.takes(*example));
        for (_, file) in taken {
            let picture = read_picture(file)?;
            let builder = match &mut builder {
                Some(builder) => builder,
                none => none.insert(GridBuilder::new(GridDomain {
                    unlabelled: args.grid.unlabelled,
                    neighbours: args.grid.neighbours.unwrap_or(Neighbours::Four),
                    tables: args.grid.tables.unwrap_or_default(),
                    directions: args.grid.directions.unwrap_or_default(),
                    ..GridDomain::new(labels.clone(), args.grid.sites(), &picture.sites, &picture.name)?
                })?),
            };
            builder.add_image(&picture)?;
        }
        match builder {
            Some(builder) => {
                let mut corpus = builder.finish()?;
                corpus.set_label_weights(args.label_weight.iter().cloned())?;
                Ok(corpus)
            }
            None => bail!("there is no training image"),
        }
    }

    fn for_each_dev(args: &TrainArgs, _images: &Path, _domain: &Self, each: EachInput<Self>) -> Result<()> {
        let files = files(&args.grid.dev_images, &args.grid.dev_masks)?;
        files.iter().try_for_each(|file| each(&read_picture(file)?))
    }

    fn describe(corpus: &GridCorpus, counts: &DataSize, _settings: &Settings) -> String {
        let labelled = corpus.labelled();
        format!(
            "{}, {} with a label, {} without, {}, {}",
            counted(counts.sequences, "image"),
            counted(labelled, "site"),
            counts.tokens - labelled,
            counted(counts.labels, "label"),
            counted(counts.features, "feature")
        )
    }

    fn recorded(corpus: &GridCorpus, settings: &Settings) -> Result<Value> {
        let mut recorded = serde_json::to_value(settings)?;
        recorded["layout"] = serde_json::to_value(&corpus.domain)?;
        Ok(recorded)
    }

    fn training_inputs(args: &TrainArgs) -> Inputs {
        inputs(args, &args.grid.images, &args.grid.masks)
    }

    fn dev_inputs(args: &TrainArgs) -> Option<Inputs> {
        let images = &args.grid.dev_images;
        images.is_some().then(|| inputs(args, images, &args.grid.dev_masks))
    }

    fn pictures(model: &Arc<GridModel>, inputs: &Inputs) -> Result<Vec<GridSample>> {
        grid_samples(model, inputs)
    }

    fn next(args: &TrainArgs) -> String {
        format!("crfkit eval -m {} --images DIR --masks DIR", args.model.display())
    }
}

/// All images of a directory with their masks.
fn files(images: &Option<PathBuf>, masks: &Option<PathBuf>) -> Result<Vec<PictureFile>> {
    let [images, masks] = [images, masks].map(|path| path.as_deref().unwrap_or(Path::new(".")));
    picture_pairs(images, masks)
}

fn inputs(args: &TrainArgs, images: &Option<PathBuf>, masks: &Option<PathBuf>) -> Inputs {
    let place = InputPlace::Images { images: images.clone().unwrap_or_default(), masks: masks.clone() };
    Inputs { place, reading: args.input.reading(None) }
}
