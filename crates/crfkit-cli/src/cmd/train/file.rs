//! `crfkit train --graph file`: from files of graphs to a model file.

use super::finish::{Measure, Written, write_model, write_report};
use super::graph::{
    check_running, dev_bytes, first_weights, into_error, of_another_kind, prior_mean, recorded,
};
use super::session::{End, Session, next_for_text};
use crate::args::TrainArgs;
use crate::cmd::eval::typed::{parts, scores};
use crate::error::usage;
use crate::input::{self, GraphModel, LineReader};
use crate::log::Counts;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::model::Keep;
use crfkit::train::GraphTrained;
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
    let trained = session
        .train(counts.tokens, |listener| typed::train(corpus, features, &settings, start, listener))?;
    let (GraphTrained { mut model, stop, passes, objective }, clock) = trained;
    model.settings = recorded;
    let measure = Measure::on_text(args, |model, path| scores(model, path, args.input.encoding, threads));
    let Written { model, weights, bytes } = write_model(args, model, &session.progress, measure)?;
    let end = End { stop, clock, passes, objective, features: counts.features, weights, bytes };
    session.end(&end)?;
    let evaluate = |path: &Path| parts(&model, path, args.input.encoding, threads);
    write_report(args, &session, &model.names(), evaluate)?;
    Ok(session.farewell(&end, &next_for_text(args)))
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
