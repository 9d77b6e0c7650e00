//! `crfkit train --graph factorial|skip-chain`: from files to the model file of linked chains.

use super::checkpoint::CheckpointFile;
use super::data::{format, no_sequence, open, templates};
use super::listener::{Interrupt, Listener, Pace};
use super::random_weights;
use crate::args::{Format, GraphKind, Init, PriorMean, TrainArgs};
use crate::error::{INTERRUPTED, usage};
use crate::input::{Sequence, label_index};
use crate::log::{Counts, Event, FORMAT, Log};
use crate::progress::Progress;
use anyhow::Result;
use crfkit::data::columns::Columns;
use crfkit::files::write_atomically;
use crfkit::linked::{self, Engine, LinkedBuilder, LinkedCorpus, LinkedStart, LinkedTrained, Links};
use crfkit::model::Precision;
use crfkit::train::{Ended, Settings};
use std::process::ExitCode;

/// What links the labels; `None` for a plain chain. Refuses options that do not fit the graph.
pub fn links(args: &TrainArgs) -> Result<Option<Links>> {
    let graph = args.grid.graph;
    if args.label_column.len() > 1 && graph != GraphKind::Factorial {
        return Err(usage("several label columns are for --graph factorial: say so, or give one column"));
    }
    match (graph, &args.skip) {
        (GraphKind::Chain | GraphKind::Factorial | GraphKind::Grid, Some(_)) => {
            Err(usage("--skip is for --graph skip-chain: say so, or leave it out"))
        }
        (GraphKind::Chain, None) if args.grid.inference.is_some() => {
            Err(usage("--inference is for --graph factorial and skip-chain: chains are solved exactly"))
        }
        (GraphKind::Chain | GraphKind::Grid, None) => Ok(None),
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
    let interrupt = Interrupt::install()?;
    let progress = Progress::new(args.quiet);

    progress.step(|| "reading".into());
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
    progress.note(&format!(
        "{} sequences, {} tokens, {} labels, {} observations, {} features; inference: {}",
        counts.sequences,
        counts.tokens,
        corpus.labels.iter().map(|labels| labels.len().to_string()).collect::<Vec<_>>().join(" + "),
        counts.observations,
        counts.features,
        engine.name()
    ));

    let start = LinkedStart {
        engine,
        theta: match args.init {
            Some(Init::Random) => random_weights(args.seed, features.dim()),
            _ => Vec::new(),
        },
        threads: args.input.threads(),
    };
    let mut recorded = serde_json::to_value(settings)?;
    recorded["init"] = if args.init == Some(Init::Random) { "random" } else { "zero" }.into();
    recorded["inference"] = engine.name().into();
    let mut log = Log::open(args.log.as_deref(), false)?;
    log.write(&Event::Settings {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        vector_unit: crfkit::math::simd::unit(),
        threads: start.threads,
        counts,
        settings: &recorded,
        resumed: false,
    })?;

    interrupt.now_training();
    let mut listener = Listener {
        progress: &progress,
        log: &mut log,
        interrupt: &interrupt,
        checkpoint: &mut CheckpointFile::none(),
        pace: Pace::new(counts.tokens, settings.passes),
        seconds_at_most: args.seconds,
        time_is_up: false,
    };
    let trained = linked::train(corpus, features, settings, start, &mut listener)?;
    let seconds = listener.pace.seconds();
    let LinkedTrained { mut model, stop, passes, objective } = trained;
    model.settings = recorded;

    let bytes = model.to_bytes()?;
    write_atomically(&args.model, &bytes)?;
    let active_features = model.weights.iter().filter(|w| **w != 0.0).count();
    log.write(&Event::Stop {
        reason: &stop.to_string(),
        passes,
        seconds,
        objective,
        features: counts.features,
        active_features,
        model_bytes: bytes.len(),
    })?;
    progress.finish();
    progress
        .note(&format!("stopped: {stop}; objective {objective:.4} after {passes:.2} passes, {seconds:.1} s"));
    let path = args.model.display();
    progress.note(&format!("model: {path} ({active_features} weights, {} bytes)", bytes.len()));
    if stop == Ended::Listener {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    progress.note(&format!("next: crfkit tag -m {path} FILE, or crfkit eval -m {path} FILE"));
    Ok(ExitCode::SUCCESS)
}

/// What is for plain chains only.
fn check(args: &TrainArgs) -> Result<()> {
    let refused = [
        ("--format attributes", format(args) == Format::Attributes, "give columns"),
        ("--dev", args.dev.is_some(), "leave it out, and use crfkit eval afterwards"),
        ("--report", args.report.is_some(), "leave it out, and use crfkit report on the --log"),
        ("--checkpoint", args.checkpoint.is_some(), "leave it out"),
        ("--shrink", args.shrink.is_some(), "use --l1 for a smaller model"),
        ("--precision", args.precision != Precision::F64, "leave it out"),
        ("--boundaries", args.boundaries, "leave it out"),
        (
            "--init empirical|logistic|FILE",
            !matches!(args.init, None | Some(Init::Zero | Init::Random)),
            "use --init zero or random",
        ),
        ("--prior-mean MODEL", matches!(args.prior_mean, PriorMean::Model(_)), "give a number"),
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
