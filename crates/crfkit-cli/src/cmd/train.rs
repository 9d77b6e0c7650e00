//! `crfkit train`: from files to a model file.

mod checkpoint;
mod data;
mod empirical;
mod file;
mod finish;
mod graph;
mod grid;
mod listener;
mod session;
mod stream;

use crate::args::{Format, GraphKind, Init, PriorMean, TrainArgs};
use crate::error::usage;
use crate::input;
use crate::log::Counts;
use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::checkpoint::fingerprint;
use crfkit::data::corpus::Corpus;
use crfkit::math::random::Random;
use crfkit::model::Features;
use crfkit::train::{Method, Settings, Start, Trained, train};
use data::Labelled;
use finish::{Measure, Written, chain_parts, write_model, write_report};
use session::{End, Session, next_for_text};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Random first weights lie between − and + this.
const RANDOM_WEIGHTS: f64 = 0.01;

/// Trains a model and writes it.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    if args.stream {
        return stream::run(args);
    }
    if !args.sigma_of.is_empty() && args.grid.graph != GraphKind::File {
        return Err(usage(
            "--sigma-of names a type of --graph file: for other graphs there is --sigma-pairs",
        ));
    }
    if args.empirical.method.is_some() {
        return empirical::run(args);
    }
    if args.grid.graph == GraphKind::Grid {
        return grid::run(args);
    }
    let settings = args.settings()?;
    check(args, &settings)?;
    if args.grid.graph == GraphKind::File {
        return file::run(args, &settings);
    }
    if let Some(links) = graph::links(args)? {
        return graph::run(args, &settings, links);
    }
    settings.check_for_chains().map_err(usage)?;
    let mut session = Session::new(args)?;
    let progress = &session.progress;

    progress.step(|| "reading".into());
    let Labelled { corpus, columns } = data::read_corpus(args)?;
    let dev = args.dev.as_deref().map(|path| data::read_dev(args, path, &corpus, columns)).transpose()?;
    let features = crfkit::train::features(&corpus, &settings);
    let counts = Counts {
        sequences: corpus.data.len(),
        tokens: corpus.data.variables(),
        labels: corpus.labels.len(),
        observations: corpus.alphabet.node.len() + corpus.alphabet.pair.len(),
        features: features.dim(),
    };
    progress.note(&format!(
        "{} sequences, {} tokens, {} labels, {} observations, {} features",
        counts.sequences, counts.tokens, counts.labels, counts.observations, counts.features
    ));

    let mut start = Start {
        theta: first_weights(args, &corpus, &features)?,
        prior_mean: prior_mean(args, &corpus, &features)?,
        dev,
        resume: None,
        threads: args.input.threads(),
    };
    let Start { theta, prior_mean, dev, .. } = &start;
    let fingerprint = || fingerprint(&corpus, &settings, theta, prior_mean, dev.as_ref());
    start.resume = session.resume(fingerprint)?;

    let recorded = recorded_settings(args, &settings, columns)?;
    session.begin(counts, &recorded, start.resume.is_some())?;
    let trained =
        session.train(counts.tokens, |listener| train(corpus, features, &settings, start, listener))?;
    let (Trained { mut model, stop, passes, objective, features }, clock) = trained;
    model.settings = recorded;

    let written = write_model(args, model, &session.progress, Measure::of_chains(args))?;
    let Written { weights, bytes, .. } = written;
    let end = End { stop, clock, passes, objective, features, weights, bytes };
    session.end(&end)?;
    let model = &written.model;
    write_report(args, &session, &**model, |path| chain_parts(args, model, path))?;
    Ok(session.farewell(&end, &next_for_text(args)))
}

/// What can be refused before any work starts.
fn check(args: &TrainArgs, settings: &Settings) -> Result<()> {
    settings.check().map_err(usage)?;
    if args.seconds.is_some_and(|seconds| seconds.is_nan() || seconds <= 0.0) {
        return Err(usage("--seconds must be a positive number"));
    }
    check_shrink(args)?;
    if args.input.format == Some(Format::Attributes) && args.template.is_some() {
        return Err(usage("--template goes with --format columns: attribute lines are observations already"));
    }
    if args.grid.images.is_some() {
        return Err(usage("--images and --masks go with --graph grid"));
    }
    let starts = args.init.as_ref().is_some_and(|init| *init != Init::Zero);
    if starts && settings.optimizer == Method::Sdca {
        return Err(usage(
            "sdca begins with the answers of the training data, not with weights: leave out --init, or use --optimizer saga",
        ));
    }
    if args.init == Some(Init::Logistic) {
        return Err(usage("--init logistic goes with --graph grid; a file of that name is ./logistic"));
    }
    check_inputs(args.train.iter().chain(&args.dev))?;
    let outputs = std::iter::once(&args.model).chain(&args.checkpoint);
    let mut outputs = outputs.chain(&args.log).chain(&args.report);
    outputs.try_for_each(|path| check_target(path))
}

fn check_shrink(args: &TrainArgs) -> Result<()> {
    match args.shrink.is_some_and(|threshold| !(threshold >= 0.0 && threshold.is_finite())) {
        true => Err(usage("--shrink must be 0 or a positive number")),
        false => Ok(()),
    }
}

/// Refuses standard input that is given twice.
fn check_inputs<'a>(inputs: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    match inputs.filter(|path| input::is_stdin(path)).count() > 1 {
        true => Err(usage("standard input can be read only once")),
        false => Ok(()),
    }
}

/// Can a file be written there? It would be a pity to find out after an hour of training.
fn check_target(path: &Path) -> Result<()> {
    let failed = |error| Error::io(path.display().to_string(), error);
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()).into());
        }
        Ok(found) if !found.is_file() => return Ok(()), // a device or a pipe
        _ => {}
    }
    let directory = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(failed(std::io::ErrorKind::InvalidInput.into()).into()),
    };
    if !directory.is_dir() {
        anyhow::bail!("{}: there is no directory {}: create it first", path.display(), directory.display());
    }
    let probe = directory.join(format!(".crfkit-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&probe).map_err(failed)?;
    std::fs::remove_file(&probe).map_err(failed)?;
    Ok(())
}

/// Small random weights.
fn random_weights(seed: u64, dim: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..dim).map(|_| RANDOM_WEIGHTS * (2.0 * random.uniform() - 1.0)).collect()
}

/// The weights to start from; empty for zeros.
fn first_weights(args: &TrainArgs, corpus: &Corpus, features: &Features) -> Result<Vec<f64>> {
    Ok(match &args.init {
        None | Some(Init::Zero | Init::Logistic) => Vec::new(),
        Some(Init::Random) => random_weights(args.seed, features.dim()),
        Some(Init::Empirical) => crfkit::empirical::first_weights(corpus, features),
        Some(Init::Model(path)) => input::read_model(path).context("--init")?.weights_for(corpus, features),
    })
}

/// The mean of the prior; empty where it is one number.
fn prior_mean(args: &TrainArgs, corpus: &Corpus, features: &Features) -> Result<Vec<f64>> {
    Ok(match &args.prior_mean {
        PriorMean::Value(_) => Vec::new(),
        PriorMean::Model(path) => {
            input::read_model(path).context("--prior-mean")?.weights_for(corpus, features)
        }
    })
}

/// Adds to the settings what the library does not know: where training starts, a model that the prior is around, and how the
/// model is made smaller.
fn record_program(args: &TrainArgs, recorded: &mut serde_json::Value) {
    recorded["init"] = match args.init {
        None | Some(Init::Zero) => "zero",
        Some(Init::Logistic) => "logistic",
        Some(Init::Random) => "random",
        Some(Init::Empirical) => "empirical",
        Some(Init::Model(_)) => "model",
    }
    .into();
    if let PriorMean::Model(_) = args.prior_mean {
        recorded["prior_mean"] = "model".into();
    }
    recorded["precision"] = args.precision.to_string().into();
    recorded["shrink"] = args.shrink.into();
}

/// Every setting that shapes the model, for the model file and the log: the library's and the program's.
fn recorded_settings(
    args: &TrainArgs,
    settings: &Settings,
    columns: Option<usize>,
) -> Result<serde_json::Value> {
    let mut recorded = serde_json::to_value(settings)?;
    if let Some(columns) = columns {
        recorded["label_column"] = args.label_column[0].into();
        recorded["columns"] = columns.into();
    }
    record_program(args, &mut recorded);
    Ok(recorded)
}
