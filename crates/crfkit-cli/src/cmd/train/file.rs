//! `crfkit train --graph file`: from files of graphs to a model file.

use super::graph::check_running;
use super::random_weights;
use super::session::{Saved, Session, active};
use crate::args::{Init, TrainArgs};
use crate::error::usage;
use crate::input::{self, LineReader};
use crate::log::Counts;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::model::Keep;
use crfkit::typed::{self, Settings, TypedBuilder, TypedCorpus, TypedModel, TypedStart};
use crfkit::{Error, Place};
use std::process::ExitCode;

/// Trains a model of graphs and writes it.
pub fn run(args: &TrainArgs, training: &crfkit::train::Settings) -> Result<ExitCode> {
    check(args)?;
    let settings = Settings { sigma_of: args.sigma_of.iter().cloned().collect(), training: training.clone() };
    settings.check().map_err(usage)?;
    let session = Session::begin(args)?;
    let corpus = read(args)?;
    let features = typed::features(&corpus)?;
    let engine = args.grid.inference.unwrap_or_default();
    let counts = Counts {
        sequences: corpus.data.len(),
        tokens: corpus.data.variables(),
        labels: corpus.types.nodes().iter().map(|of| of.labels.len()).sum(),
        observations: features.rows.iter().map(|rows| rows.len).sum(),
        features: features.dim(),
    };
    let labelled = corpus.labelled();
    session.progress.note(&format!(
        "{} graphs, {labelled} nodes with a label, {} without, {} types of nodes, {} of factors, {} features; inference: {}",
        counts.sequences,
        counts.tokens - labelled,
        corpus.types.nodes().len(),
        corpus.types.factors().len(),
        counts.features,
        engine.name()
    ));
    let start = TypedStart {
        engine,
        theta: match args.init {
            Some(Init::Random) => random_weights(args.seed, features.dim()),
            _ => Vec::new(),
        },
        threads: args.input.threads(),
    };
    let recorded = session.recorded(&settings, engine.name())?;
    session.train(
        counts,
        &recorded,
        |listener| typed::train(corpus, features, &settings, start, listener),
        |model| {
            let model = TypedModel { settings: recorded.clone(), ..model };
            Ok(Saved { bytes: model.to_bytes(), active: active(&model.weights) })
        },
    )
}

/// What graphs from a file have no use for.
fn check(args: &TrainArgs) -> Result<()> {
    let refused = [
        ("template", args.template.is_some()),
        ("preset", args.preset != "default"),
        ("label-column", args.label_column != [-1]),
        ("skip", args.skip.is_some()),
        ("features", args.features != Keep::Observed),
        ("format", args.input.format.is_some()),
    ];
    match refused.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(usage(format!(
            "--{name} is for columns: a file of graphs has its features and labels in it (docs/GRAPHS.md)"
        ))),
        None => check_running(args),
    }
}

/// Reads all training files.
fn read(args: &TrainArgs) -> Result<TypedCorpus> {
    let mut builder = TypedBuilder::default();
    for path in &args.train {
        let mut reader = LineReader::open(path, args.input.encoding)?;
        let mut line = reader.item();
        let mut empty = true;
        while reader.read(&mut line)? {
            builder.add(&line.text, &line.place)?;
            empty = false;
        }
        if empty {
            let message = "nothing in it: one graph a line is needed (docs/GRAPHS.md)";
            return Err(Error::input(Place::new(input::name(path), 0), message).into());
        }
    }
    Ok(builder.finish(args.min_count)?)
}
