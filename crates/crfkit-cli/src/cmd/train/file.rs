//! `crfkit train --graph file`: from files of graphs to a model file.

use super::finish::finish_graphs;
use super::graph::{
    check_running, dev_bytes, first_weights, into_error, of_another_kind, prior_mean, recorded,
};
use super::session::Session;
use crate::args::TrainArgs;
use crate::cmd::eval::typed::{parts, scores};
use crate::error::usage;
use crate::input::{self, GraphModel, LineReader};
use crate::log::Counts;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::model::Keep;
use crfkit::typed::{self, Settings, TypedBuilder, TypedCorpus, TypedModel, TypedStart};
use crfkit::{Error, Place};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Trains a model of graphs and writes it.
pub fn run(args: &TrainArgs, training: &crfkit::train::Settings) -> Result<ExitCode> {
    check(args)?;
    let settings = Settings { sigma_of: args.sigma_of.iter().cloned().collect(), training: training.clone() };
    settings.check().map_err(usage)?;
    let mut session = Session::new(args)?;
    session.progress.step(|| "reading".into());
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

    let threads = args.input.threads();
    let mut judge = args.dev.as_deref().map(|dev| {
        move |model: &Arc<TypedModel>| scores(model, dev, args.input.encoding, threads).map_err(into_error)
    });
    let dev = dev_bytes(args)?;
    let weights = |path: &Path| match input::read_graph_model(path)? {
        Some(GraphModel::Typed(model)) => Ok(model.weights_for(&corpus, &features)?),
        _ => Err(of_another_kind(path, "graphs from a file")),
    };
    let mut start = TypedStart {
        engine,
        theta: first_weights(args, features.dim(), weights)?,
        prior_mean: prior_mean(args, weights)?,
        threads,
        ..TypedStart::default()
    };
    start.resume = session.resume(|| typed::fingerprint(&corpus, &settings, &start, &dev))?;
    start.judge = judge.as_mut().map(|judge| judge as _);

    let recorded = recorded(args, &settings, engine)?;
    session.begin(counts, &recorded, start.resume.is_some())?;
    let mut trained = session
        .train(counts.tokens, |listener| typed::train(corpus, features, &settings, start, listener))?;
    trained.0.model.settings = recorded;
    let encoding = args.input.encoding;
    let scores = |model: &Arc<TypedModel>, path: &Path| scores(model, path, encoding, threads);
    let parts = |model: &Arc<TypedModel>, path: &Path| parts(model, path, encoding, threads);
    finish_graphs(session, trained, counts.features, scores, parts)
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
