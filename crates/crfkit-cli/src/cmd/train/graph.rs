//! `crfkit train --graph factorial|skip-chain`: from files to the model file of linked chains.

use super::data::{format, no_sequence, open, templates};
use super::random_weights;
use super::session::{Saved, Session, active};
use crate::args::{Format, GraphKind, Init, PriorMean, TrainArgs};
use crate::error::usage;
use crate::input::{Sequence, label_index};
use crate::log::Counts;
use anyhow::Result;
use crfkit::data::columns::Columns;
use crfkit::linked::{self, Engine, LinkedBuilder, LinkedCorpus, LinkedModel, LinkedStart, Links};
use crfkit::model::Precision;
use crfkit::train::Settings;
use std::process::ExitCode;

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
    let session = Session::begin(args)?;
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
    let start = LinkedStart {
        engine,
        theta: match args.init {
            Some(Init::Random) => random_weights(args.seed, features.dim()),
            _ => Vec::new(),
        },
        threads: args.input.threads(),
    };
    let recorded = session.recorded(settings, engine.name())?;
    session.train(
        counts,
        &recorded,
        |listener| linked::train(corpus, features, settings, start, listener),
        |model| {
            let model = LinkedModel { settings: recorded.clone(), ..model };
            Ok(Saved { bytes: model.to_bytes()?, active: active(&model.weights) })
        },
    )
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
