//! `crfkit train --method`: a model made of counts.

use super::data::{Layout, format, no_sequence, open};
use super::{check_inputs, check_target};
use crate::args::{Chosen, Format, GraphKind, Init, PriorMean, TrainArgs};
use crate::error::usage;
use crate::input::{Sequence, name};
use crate::loaded::Loaded;
use crate::log::{self, Event, FORMAT, Log};
use crate::pipeline::{self, Block, Job};
use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::empirical::{Counts, HeldOut, Method, Pairs, Settings, Trained, Trial, train};
use crfkit::files::write_atomically;
use crfkit::model::{Keep, Precision};
use crfkit::train::{BatchOf, Method as Optimizer, Parameters, Settings as Weighted};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Counts, makes a model of the counts and writes it.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    if args.label_column.len() > 1 || args.grid.graph != GraphKind::Chain {
        return Err(usage(
            "--method counts plain chains with one label column: leave --graph and further columns out",
        ));
    }
    let mut settings = settings(args);
    check(args, &settings)?;
    let progress = Progress::new(args.quiet);
    let begun = Instant::now();

    progress.step(|| "counting".into());
    let Counted { mut counts, layout, sequences } = count(args, settings.pairs)?;
    settings.word_column = usize::from(layout.label == 0);
    progress.note(&format!(
        "{sequences} sequences, {} tokens, {} labels, {} words",
        counts.tokens(),
        counts.labels(),
        counts.words()
    ));
    let mut log = Log::open(args.log.as_deref(), false)?;
    let recorded = serde_json::to_value(&settings)?;
    log.write(&Event::Settings {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        vector_unit: crfkit::math::simd::unit(),
        threads: args.input.threads(),
        counts: log::Counts {
            sequences,
            tokens: counts.tokens() as usize,
            labels: counts.labels(),
            observations: counts.words(),
            features: counts.tuples(),
        },
        settings: &recorded,
        resumed: false,
    })?;
    if let Some(Init::Model(path)) = &args.init {
        add_model(path, &mut counts).context("--init")?;
        progress.note(&format!("{} tokens with those of {}", counts.tokens(), name(path)));
    }
    let held_out =
        args.empirical.heldout.as_deref().map(|path| read_held_out(args, path, &layout)).transpose()?;

    progress.step(|| "estimating".into());
    let Trained { model, trials } = train(&counts, &settings, held_out.as_ref())?;
    let seconds = || begun.elapsed().as_secs_f64();
    let chosen = model.settings().unknown;
    for &Trial { unknown, accuracy } in &trials {
        let best = unknown == chosen;
        log.write(&Event::Trial { unknown: &unknown.to_string(), accuracy, best })?;
        let mark = if best { " (chosen)" } else { "" };
        progress.note(&format!("unknown words: {unknown}  heldout accuracy {accuracy:.2}{mark}"));
    }
    let bytes = model.to_bytes()?;
    write_atomically(&args.model, &bytes)?;
    log.write(&Event::Stop {
        reason: "counted",
        passes: 1.0,
        seconds: seconds(),
        objective: f64::NAN, // null: nothing was minimised
        features: model.counts().tuples(),
        active_features: model.counts().tuples(),
        model_bytes: bytes.len(),
    })?;
    progress.finish();
    let path = args.model.display();
    progress.note(&format!("counted: {} different counts, {:.1} s", model.counts().tuples(), seconds()));
    progress.note(&format!("model: {path} ({} bytes)", bytes.len()));
    progress.note(&format!("next: crfkit tag -m {path} FILE, or crfkit eval -m {path} FILE"));
    Ok(ExitCode::SUCCESS)
}

/// The part of the arguments that the library knows.
fn settings(args: &TrainArgs) -> Settings {
    let (given, default) = (&args.empirical, Settings::default());
    Settings {
        method: given.method.unwrap_or(default.method),
        pairs: given.pairs.unwrap_or(default.pairs),
        smoothing: given.smoothing.unwrap_or(default.smoothing),
        floor: given.floor.unwrap_or(default.floor),
        sigma: args.sigma.unwrap_or(default.sigma),
        min_count: args.min_count.into(),
        label_column: args.label_column[0],
        ..default
    }
}

/// What can be refused before any work starts.
fn check(args: &TrainArgs, settings: &Settings) -> Result<()> {
    settings.check().map_err(usage)?;
    if format(args) == Format::Attributes {
        return Err(usage("--method counts words, which attribute lists do not name: use --format columns"));
    }
    check_unused(args, settings.method)?;
    check_inputs(args.train.iter().chain(&args.empirical.heldout))?;
    std::iter::once(&args.model).chain(&args.log).try_for_each(|path| check_target(path))
}

/// Refuses what has no meaning where nothing is minimised.
fn check_unused(args: &TrainArgs, method: Method) -> Result<()> {
    let features = "words and their spellings are all that is observed";
    let objective = "there are no weights to fit or to penalise";
    let running = "one pass over the data is the whole work";
    let weighted = Weighted::default();
    let refused = [
        ("template", args.template.is_some(), features),
        ("preset", args.preset != "default", features),
        ("features", args.features != Keep::Observed, features),
        ("boundaries", args.boundaries, features),
        (
            "sigma",
            args.sigma.is_some() && method == Method::Ep1,
            "it is the prior of the functions that --method ep2 fits",
        ),
        ("sigma-pairs", args.sigma_pairs.is_some(), objective),
        ("prior-mean", args.prior_mean != PriorMean::Value(0.0), objective),
        ("l1", args.l1 != 0.0, objective),
        ("objective", args.objective.is_some(), objective),
        ("pieces", args.pieces.is_some(), objective),
        ("batch-of", args.batch_of != BatchOf::Graphs, objective),
        ("optimizer", args.optimizer != Chosen::Method(Optimizer::Auto), running),
        ("passes", args.passes.is_some(), running),
        ("seed", args.seed != weighted.seed, "nothing is random"),
        ("dev", args.dev.is_some(), "give labelled sequences as --heldout, or to crfkit eval"),
        ("patience", args.patience != weighted.patience, running),
        ("precision", args.precision != Precision::F64, "the file holds counts, exactly"),
        ("shrink", args.shrink.is_some(), "--min-count makes such a model smaller"),
        ("report", args.report.is_some(), "there are no learning curves; see crfkit inspect"),
        ("checkpoint", args.checkpoint.is_some(), running),
    ];
    if let Some((name, _, why)) = refused.iter().find(|(_, given, _)| *given) {
        return Err(usage(format!("--{name} does not go with --method: {why}; leave one of them out")));
    }
    if args.parameters.parameters() != Parameters::default() {
        return Err(usage("parameters of optimisers do not go with --method: leave them out"));
    }
    match args.init {
        None | Some(Init::Model(_)) => Ok(()),
        _ => Err(usage(
            "with --method, --init takes a model of the same kind, to whose counts the new ones are added",
        )),
    }
}

/// The training data.
struct Counted {
    counts: Counts,
    layout: Layout,
    sequences: usize,
}

/// Counts all training files. Every thread counts for itself, and sums of counts do not depend on who counted what.
fn count(args: &TrainArgs, pairs: Pairs) -> Result<Counted> {
    let mut workers = vec![Counts::new(pairs); args.input.threads()];
    let mut layout: Option<Layout> = None;
    let mut sequences = 0;
    for path in &args.train {
        let mut reader = open(args, path)?;
        let mut first = reader.sequence();
        if !reader.read(&mut first)? {
            return Err(no_sequence(path));
        }
        let layout = match &mut layout {
            Some(layout) => layout,
            none => none.insert(Layout::of(args, &first)?),
        };
        layout.check(&first)?;
        let job = Counting { label_column: layout.label };
        job.add(&mut workers[0], &first)?;
        sequences += 1;
        pipeline::run(&job, reader, &mut workers, |block: &usize| {
            sequences += block;
            Ok(())
        })?;
    }
    let mut workers = workers.into_iter();
    let (Some(mut counts), Some(layout)) = (workers.next(), layout) else {
        return Err(no_sequence(&args.train[0]));
    };
    workers.try_for_each(|part| counts.merge(&part))?;
    Ok(Counted { counts, layout, sequences })
}

struct Counting {
    label_column: usize,
}

impl Counting {
    fn add(&self, counts: &mut Counts, sequence: &Sequence) -> crfkit::Result<()> {
        match sequence {
            Sequence::Columns(columns) => counts.add_columns(columns, self.label_column),
            Sequence::Attributes(_) => unreachable!("attributes are refused before anything is read"),
        }
    }
}

impl Job for Counting {
    type Item = Sequence;
    type Worker = Counts;
    /// Number of sequences.
    type Outcome = usize;

    fn work(&self, counts: &mut Counts, block: &Block<Sequence>, sequences: &mut usize) -> Result<()> {
        *sequences = block.items().len();
        Ok(block.items().iter().try_for_each(|sequence| self.add(counts, sequence))?)
    }
}

/// Adds the counts of an older model.
fn add_model(path: &Path, counts: &mut Counts) -> Result<()> {
    match Loaded::read(path)? {
        Loaded::Empirical(model) => Ok(counts.merge(model.counts()).with_context(|| name(path))?),
        Loaded::Weighted(_) => {
            anyhow::bail!("{}: a model with weights, but counts (train --method) are needed", name(path))
        }
    }
}

/// Reads held-out data, which must have the columns of the training data.
fn read_held_out(args: &TrainArgs, path: &Path, layout: &Layout) -> Result<HeldOut> {
    let mut reader = open(args, path)?;
    let mut sequence = reader.sequence();
    let mut held_out = HeldOut::default();
    let mut empty = true;
    while reader.read(&mut sequence)? {
        if std::mem::take(&mut empty) {
            layout.check(&sequence)?;
        }
        if let Sequence::Columns(columns) = &sequence {
            held_out.add_columns(columns, layout.label)?;
        }
    }
    if empty { Err(no_sequence(path)) } else { Ok(held_out) }
}
