//! `crfkit train --graph factorial|skip-chain`: from files to the model file of linked chains.

use super::data::{format, no_sequence, open, templates};
use super::finish::finish_graphs;
use super::session::Session;
use super::{random_weights, record_program};
use crate::args::{Format, GraphKind, Init, PriorMean, TrainArgs};
use crate::cmd::eval::linked::{parts, scores};
use crate::error::usage;
use crate::input::{self, GraphModel, Sequence, label_index};
use crate::log::Counts;
use anyhow::{Context, Result};
use crfkit::Error;
use crfkit::data::columns::Columns;
use crfkit::linked::{self, Engine, LinkedBuilder, LinkedCorpus, LinkedModel, LinkedStart, Links};
use crfkit::train::Settings;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// What links the labels; `None` for a plain chain. Refuses options that do not fit the graph.
pub fn links(args: &TrainArgs) -> Result<Option<Links>> {
    let graph = args.grid.graph;
    if args.label_column.len() > 1 && graph != GraphKind::Factorial {
        return Err(usage("several label columns are for --graph factorial: say so, or give one column"));
    }
    match (graph, &args.skip) {
        (GraphKind::Chain | GraphKind::Factorial | GraphKind::Grid | GraphKind::File, Some(_)) => {
            Err(usage("--skip is for --graph skip-chain: say so, or leave it out"))
        }
        (GraphKind::Chain, None) if args.grid.inference.is_some() => {
            Err(usage("--inference is for --graph factorial and skip-chain: chains are solved exactly"))
        }
        (GraphKind::Chain | GraphKind::Grid | GraphKind::File, None) => Ok(None),
        (GraphKind::Factorial, None) => Ok(Some(Links::Factorial)),
        (GraphKind::SkipChain, Some(rule)) => {
            Ok(Some(Links::SkipChain { rule: rule.clone(), observed: args.skip_observations }))
        }
        (GraphKind::SkipChain, None) => {
            Err(usage("--graph skip-chain needs a rule, such as --skip 'same(0) and capitalised(0)'"))
        }
    }
}

/// Trains a model and writes it.
pub fn run(args: &TrainArgs, settings: &Settings, links: Links) -> Result<ExitCode> {
    check(args)?;
    let mut session = Session::new(args)?;

    session.progress.step(|| "reading".into());
    let engine = args.grid.inference.unwrap_or(match links {
        Links::Factorial => Engine::Exact,
        Links::SkipChain { .. } => Engine::LoopyBp,
    });
    let corpus = read_corpus(args, links)?;
    let features = linked::features(&corpus, settings);
    let counts = Counts {
        sequences: corpus.data.len(),
        tokens: corpus.data.variables() / corpus.labels.len(),
        labels: corpus.labels.iter().map(Vec::len).sum(),
        observations: corpus.alphabet.node.len() + corpus.alphabet.pair.len(),
        features: features.dim(),
    };
    session.progress.note(&format!(
        "{} sequences, {} tokens, {} labels, {} observations, {} features; inference: {}",
        counts.sequences,
        counts.tokens,
        corpus.labels.iter().map(|labels| labels.len().to_string()).collect::<Vec<_>>().join(" + "),
        counts.observations,
        counts.features,
        engine.name()
    ));

    let threads = args.input.threads();
    let mut judge = args.dev.as_deref().map(|dev| {
        move |model: &Arc<LinkedModel>| scores(model, dev, args.input.encoding, threads).map_err(into_error)
    });
    let dev = dev_bytes(args)?;
    let weights = |path: &Path| match input::read_graph_model(path)? {
        Some(GraphModel::Linked(model)) => Ok(model.weights_for(&corpus, &features)?),
        _ => Err(of_another_kind(path, "factorial or skip chains")),
    };
    let mut start = LinkedStart {
        engine,
        theta: first_weights(args, features.dim(), weights)?,
        prior_mean: prior_mean(args, weights)?,
        threads,
        ..LinkedStart::default()
    };
    start.resume = session.resume(|| linked::fingerprint(&corpus, settings, &start, &dev))?;
    start.judge = judge.as_mut().map(|judge| judge as _);

    let recorded = recorded(args, settings, engine)?;
    session.begin(counts, &recorded, start.resume.is_some())?;
    let mut trained = session
        .train(counts.tokens, |listener| linked::train(corpus, features, settings, start, listener))?;
    trained.0.model.settings = recorded;
    let encoding = args.input.encoding;
    let scores = |model: &Arc<LinkedModel>, path: &Path| scores(model, path, encoding, threads);
    let parts = |model: &Arc<LinkedModel>, path: &Path| parts(model, path, encoding, threads);
    finish_graphs(session, trained, counts.features, scores, parts)
}

/// What `--init` says; empty for zeros. `of_model` reads the weights of a model.
pub fn first_weights(
    args: &TrainArgs,
    dim: usize,
    of_model: impl Fn(&Path) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    match &args.init {
        Some(Init::Random) => Ok(random_weights(args.seed, dim)),
        Some(Init::Model(path)) => of_model(path).context("--init"),
        _ => Ok(Vec::new()),
    }
}

/// What `--prior-mean` says; empty for one number.
pub fn prior_mean(args: &TrainArgs, of_model: impl Fn(&Path) -> Result<Vec<f64>>) -> Result<Vec<f64>> {
    match &args.prior_mean {
        PriorMean::Model(path) => of_model(path).context("--prior-mean"),
        PriorMean::Value(_) => Ok(Vec::new()),
    }
}

/// The refusal of a model whose weights have no meaning here.
pub fn of_another_kind(path: &Path, needed: &str) -> anyhow::Error {
    anyhow::anyhow!("{}: the model is of another kind; one of {needed} is needed here", input::name(path))
}

/// The development data, which a checkpoint is bound to.
pub fn dev_bytes(args: &TrainArgs) -> Result<Vec<u8>> {
    match &args.dev {
        Some(path) => Ok(std::fs::read(path).map_err(|error| Error::io(input::name(path), error))?),
        None => Ok(Vec::new()),
    }
}

/// Every setting that shapes the model, for its file and the log.
pub fn recorded(args: &TrainArgs, settings: &impl Serialize, engine: Engine) -> Result<serde_json::Value> {
    let mut recorded = serde_json::to_value(settings)?;
    record_program(args, &mut recorded);
    recorded["inference"] = engine.name().into();
    Ok(recorded)
}

/// The library's judges fail with the library's errors.
pub fn into_error(error: anyhow::Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(|error| Error::Setting(format!("{error:#}")))
}

/// What is for plain chains only.
fn check(args: &TrainArgs) -> Result<()> {
    if format(args) == Format::Attributes {
        return Err(usage("--format attributes is for --graph chain only: give columns"));
    }
    check_running(args)
}

/// What no training on graphs has.
pub fn check_running(args: &TrainArgs) -> Result<()> {
    let refused = [
        (
            "--dev -",
            args.dev.as_deref().is_some_and(input::is_stdin),
            "it is read after each pass: give a file",
        ),
        ("--boundaries", args.boundaries, "leave it out"),
        ("--init empirical", args.init == Some(Init::Empirical), "use --init zero, random or a model"),
    ];
    match refused.iter().find(|(_, given, _)| *given) {
        Some((option, _, remedy)) => Err(usage(format!("{option} is for --graph chain only: {remedy}"))),
        None => Ok(()),
    }
}

/// Reads all training files. What the data looks like is known from its first sequence.
fn read_corpus(args: &TrainArgs, links: Links) -> Result<LinkedCorpus> {
    let mut builder: Option<LinkedBuilder> = None;
    for path in &args.train {
        let mut reader = open(args, path)?;
        let mut sequence = reader.sequence();
        let mut empty = true;
        while reader.read(&mut sequence)? {
            let Sequence::Columns(columns) = &sequence else { unreachable!("attributes are refused") };
            let builder = match &mut builder {
                Some(builder) => builder,
                none => none.insert(new_builder(args, links.clone(), columns)?),
            };
            builder.add(columns)?;
            empty = false;
        }
        if empty {
            return Err(no_sequence(path));
        }
    }
    match builder {
        Some(builder) => Ok(builder.finish(args.min_count)?),
        None => Err(no_sequence(&args.train[0])),
    }
}

fn new_builder(args: &TrainArgs, links: Links, first: &Columns) -> Result<LinkedBuilder> {
    let columns = first.columns();
    let index = |&column: &i32| label_index(column, columns, || first.place(0));
    let labels = args.label_column.iter().map(index).collect::<crfkit::Result<Vec<usize>>>()?;
    let mut templates = templates(args, columns.saturating_sub(labels.len()))?;
    if args.template.is_some() {
        templates.name = "template file".into(); // the model keeps the text, not the path
    }
    Ok(LinkedBuilder::new(links, templates, columns, labels)?)
}
