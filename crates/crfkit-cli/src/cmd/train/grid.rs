//! `crfkit train --graph grid`: from pictures and masks to a model file.

use super::finish::{Measure, Written, write_model};
use super::graph::{first_weights, into_error, of_another_kind, prior_mean};
use super::session::{End, Session};
use super::{check_shrink, check_target, record_program};
use crate::args::{Init, TrainArgs};
use crate::cmd::eval::grid::pixel_errors;
use crate::cmd::report;
use crate::error::usage;
use crate::input::{self, GraphModel};
use crate::log::Counts;
use crate::pictures;
use anyhow::Result;
use crfkit::Error;
use crfkit::data::images::Mask;
use crfkit::eval::Scores;
use crfkit::graph::Neighbours;
use crfkit::grid::{self, Decode, Engine, GridModel, GridTagger, Layout, Pictures, Settings, Start, Trained};
use crfkit::model::Keep;
use crfkit::train::{Criterion, Settings as Training};
use crfkit_report::{Page, Run};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Labels at most: more are a sign of masks that were not stored as they were.
const MAX_LABELS: usize = 64;

/// Trains a model of pictures and writes it.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let (Some(images), Some(masks)) = (&args.grid.images, &args.grid.masks) else {
        return Err(usage("--graph grid learns from pictures: give --images DIR and --masks DIR"));
    };
    let settings = settings(args)?;
    let outputs = [Some(&args.model), args.checkpoint.as_ref(), args.log.as_ref(), args.report.as_ref()];
    outputs.into_iter().flatten().try_for_each(|path| check_target(path))?;
    let mut session = Session::new(args)?;

    session.progress.step(|| "reading".into());
    let pairs = pictures::pairs(images, masks)?;
    let corpus = read(args, &pairs)?;
    let features = corpus.layout().features();
    let counts = Counts {
        sequences: corpus.data().len(),
        tokens: corpus.data().variables(),
        labels: corpus.layout().labels.len(),
        observations: features.rows.iter().map(|rows| rows.len).sum(),
        features: features.dim(),
    };
    session.progress.note(&format!(
        "{} pictures, {} sites with a label, {} without, {} labels, {} features",
        counts.sequences,
        corpus.labelled(),
        counts.tokens - corpus.labelled(),
        counts.labels,
        counts.features
    ));

    let dev = match (&args.grid.dev_images, &args.grid.dev_masks) {
        (Some(images), Some(masks)) => Some(pictures::pairs(images, masks)?),
        _ => None,
    };
    let mut judge =
        dev.as_deref().map(|dev| move |model: &Arc<GridModel>| accuracy(model, dev).map_err(into_error));
    let weights = |path: &Path| match input::read_graph_model(path)? {
        Some(GraphModel::Grid(model)) => Ok(model.weights_for(corpus.layout())?),
        _ => Err(of_another_kind(path, "pictures")),
    };
    let mut start = Start {
        theta: first_weights(args, features.dim(), weights)?,
        prior_mean: prior_mean(args, weights)?,
        threads: args.input.threads(),
        ..Start::default()
    };
    let dev_bytes = bytes(dev.as_deref().unwrap_or_default())?;
    start.resume = session.resume(|| grid::fingerprint(&corpus, &settings, &start, &dev_bytes))?;
    start.judge = judge.as_mut().map(|judge| judge as _);
    let mut recorded = serde_json::to_value(&settings)?;
    let init = recorded["init"].take();
    record_program(args, &mut recorded);
    if args.init.is_none() {
        // The default of pictures is another one.
        recorded["init"] = init;
    }
    recorded["layout"] = serde_json::to_value(corpus.layout())?;
    session.begin(counts, &recorded, start.resume.is_some())?;
    let trained = session.train(counts.tokens, |listener| grid::train(corpus, &settings, start, listener))?;
    let (Trained { model, stop, passes, objective }, clock) = trained;
    let (on, judged) = match (&args.grid.dev_images, &dev) {
        (Some(dev_images), Some(dev)) => (dev_images, dev),
        _ => (images, &pairs),
    };
    let measure = Measure {
        on: on.display().to_string(),
        scores: Box::new(|model: &Arc<GridModel>| accuracy(model, judged)),
    };
    let Written { model, weights, bytes } = write_model(args, model, &session.progress, Some(measure))?;
    let end = End { stop, clock, passes, objective, features: counts.features, weights, bytes };
    session.end(&end)?;
    if let Some(path) = &args.report {
        session.progress.step(|| "writing the report".into());
        let name = report::run_name(args.log.as_deref().unwrap_or(&args.model));
        let images = report::grid::samples(&model, judged)?;
        let runs = vec![Run::read(session.log.kept(), &name)?];
        report::write(&Page { runs, images, ..Page::default() }, path)?;
    }
    let next = format!("crfkit eval -m {} --images DIR --masks DIR", args.model.display());
    Ok(session.farewell(&end, &next))
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
        ("init empirical", args.init == Some(Init::Empirical)),
        ("format", args.input.format.is_some()),
    ];
    if let Some((name, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(usage(format!("--{name} is for --graph chain: models of pictures have none")));
    }
    if args.dev.is_some() {
        return Err(usage("--dev is for text: give --dev-images DIR and --dev-masks DIR"));
    }
    let inference = args.grid.inference.unwrap_or_default();
    let mut training = args.settings()?;
    if args.objective.is_none() && training.objective == Criterion::Likelihood && inference != Engine::Exact {
        // The likelihood by approximate inference has false minima; batch methods keep out of the worst, where losses are below 0.
        let marginal = Training { objective: Criterion::Marginal, ..training.clone() };
        if marginal.check().is_ok() {
            training = marginal;
        }
    }
    let init = match args.init {
        None | Some(Init::Logistic | Init::Empirical) => grid::Init::Logistic,
        Some(Init::Zero) => grid::Init::Zero,
        Some(Init::Random | Init::Model(_)) => grid::Init::Given,
    };
    let settings = Settings { inference, init, training };
    if args.seconds.is_some_and(|seconds| seconds.is_nan() || seconds <= 0.0) {
        return Err(usage("--seconds must be a positive number"));
    }
    check_shrink(args)?;
    settings.check().map_err(usage)?;
    args.grid.sites().check().map_err(usage)?;
    Ok(settings)
}

/// The share of pixels that a model labels right.
fn accuracy(model: &Arc<GridModel>, pairs: &[(PathBuf, PathBuf)]) -> Result<Scores> {
    let mut tagger = GridTagger::new(model.clone(), model.engine());
    let errors = pixel_errors(&mut tagger, &model.layout, Decode::default(), pairs)?;
    Ok(Scores { accuracy: 100.0 - errors.percent(), tokens: errors.pixels, ..Scores::default() })
}

/// All that pictures and masks hold, which a checkpoint is bound to.
fn bytes(pairs: &[(PathBuf, PathBuf)]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for path in pairs.iter().flat_map(|(picture, mask)| [picture, mask]) {
        all.extend(std::fs::read(path).map_err(|error| Error::io(input::name(path), error))?);
    }
    Ok(all)
}

/// Reads all masks for their values, then pictures and masks.
fn read(args: &TrainArgs, pairs: &[(PathBuf, PathBuf)]) -> Result<Pictures> {
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
        let (picture, name) = (pictures::read_picture(path)?, path.display().to_string());
        let corpus = match &mut corpus {
            Some(corpus) => corpus,
            None => corpus.insert(Pictures::new(Layout {
                unlabelled: args.grid.unlabelled,
                neighbours: args.grid.neighbours.unwrap_or(Neighbours::Four),
                tables: args.grid.tables.unwrap_or_default(),
                ..Layout::new(labels.clone(), args.grid.sites(), &picture, &name)?
            })?),
        };
        corpus.add(&picture, mask, &name)?;
    }
    Ok(corpus.expect("a directory without pictures is refused"))
}
