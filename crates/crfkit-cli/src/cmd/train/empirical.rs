//! `crfkit train --method`: a model made of counts.

use super::data::{check_layout, format, layout_of, no_sequence, open};
use super::session::report_failures;
use crate::args::{Format, Init, Penalty, TrainArgs};
use crate::error::usage;
use crate::io::{name, open_model};
use crate::log::{self, Event, FORMAT, Log};
use crate::pipeline::{self, Block, Job, Source};
use crate::progress::Progress;
use anyhow::{Context, Result};
use crfkit::any::AnyModel;
use crfkit::chain::{ColumnLayout, Sequence};
use crfkit::counted;
use crfkit::empirical::{
    Counts, EmpiricalMethod, EmpiricalSettings, HeldOut, PairKind, TrainedEmpirical, Trial, train,
};
use crfkit::files::write_atomically;
use crfkit::train::Parameters;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Counts, makes a model of the counts and writes it.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let mut settings = settings(args);
    check(args, &settings)?;
    let progress = Progress::new(args.quiet);
    let begun = Instant::now();

    progress.step(|| "counting".into());
    let Counted { mut counts, layout, sequences } = count(args, settings.pairs)?;
    (settings.word_column, settings.fields) = (usize::from(layout.label == 0), layout.fields);
    progress.note(&format!(
        "{}, {}, {}, {}",
        counted(sequences, "sequence"),
        counted(counts.tokens(), "token"),
        counted(counts.labels(), "label"),
        counted(counts.words(), "word")
    ));
    let mut log = Log::open(args.log.as_deref(), false)?;
    let recorded = serde_json::to_value(&settings)?;
    let first = Event::Settings {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        vector_unit: crfkit::math::simd::unit(),
        threads: args.input.threads(),
        counts: log::DataSize {
            sequences,
            tokens: counts.tokens() as usize,
            labels: counts.labels(),
            observations: counts.words(),
            features: counts.tuples(),
        },
        settings: &recorded,
        resumed: false,
        model: args.model.display().to_string(),
    };
    log.write(&first, &progress);
    if let Some(Init::Model(path)) = &args.init {
        add_model(path, &mut counts).context("--init")?;
        progress.note(&format!("{} tokens, including those of {}", counts.tokens(), name(path)));
    }
    let held_out =
        args.empirical.heldout.as_deref().map(|path| read_held_out(args, path, &layout)).transpose()?;

    progress.step(|| "estimating".into());
    let TrainedEmpirical { model, trials } = train(&counts, &settings, held_out.as_ref())?;
    let seconds = || begun.elapsed().as_secs_f64();
    let chosen = model.settings().unknown;
    for &Trial { unknown, accuracy } in &trials {
        let best = unknown == chosen;
        log.write(&Event::Trial { unknown: &unknown.to_string(), accuracy, best }, &progress);
        let mark = if best { " (chosen)" } else { "" };
        progress.note(&format!("unknown words: {unknown}  heldout accuracy {accuracy:.2}{mark}"));
    }
    let bytes = model.to_bytes()?;
    write_atomically(&args.model, &bytes)?;
    let last = Event::Stop {
        reason: "counted",
        passes: 1.0,
        seconds: seconds(),
        objective: f64::NAN, // null: nothing was minimised
        features: model.counts().tuples(),
        active_features: model.counts().tuples(),
        model_bytes: bytes.len(),
    };
    log.write(&last, &progress);
    progress.finish();
    let path = args.model.display();
    progress.note(&format!("counted: {} different counts, {:.1} s", model.counts().tuples(), seconds()));
    progress.note(&format!("model: {path} ({} bytes)", bytes.len()));
    progress.note(&format!("next: crfkit tag -m {path} FILE, or crfkit eval -m {path} FILE"));
    Ok(match report_failures(&progress, [log.failure()]) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// The arguments as the settings of the library.
fn settings(args: &TrainArgs) -> EmpiricalSettings {
    let (given, default) = (&args.empirical, EmpiricalSettings::default());
    EmpiricalSettings {
        method: given.method.unwrap_or(default.method),
        pairs: given.pairs.unwrap_or(default.pairs),
        smoothing: given.smoothing.unwrap_or(default.smoothing),
        floor: given.floor.unwrap_or(default.floor),
        sigma: args.sigma.and_then(Penalty::value).unwrap_or(default.sigma),
        min_count: args.min_count.into(),
        label_column: args.label_column[0],
        ..default
    }
}

/// Rejects what is wrong whatever the data, before any work starts.
fn check(args: &TrainArgs, settings: &EmpiricalSettings) -> Result<()> {
    settings.check().map_err(usage)?;
    if format(args) == Format::Attributes {
        return Err(usage(
            "--method counts words, but attribute lists do not say which attribute is the word: use --format columns",
        ));
    }
    check_values(args, settings.method)
}

/// Rejects flags whose values do not fit each other.
fn check_values(args: &TrainArgs, method: EmpiricalMethod) -> Result<()> {
    if args.sigma.is_some() && method == EmpiricalMethod::Ep1 {
        return Err(usage(
            "--sigma does not go with --method ep1: it is the prior of the functions that ep2 fits",
        ));
    }
    if args.parameters.parameters() != Parameters::default() {
        return Err(usage("parameters of optimisers do not go with --method: leave them out"));
    }
    match args.init {
        None | Some(Init::Model(_)) => Ok(()),
        _ => Err(usage(
            "with --method, --init takes a model made of counts, and the new counts are added to it",
        )),
    }
}

/// The training data.
struct Counted {
    counts: Counts,
    layout: ColumnLayout,
    sequences: usize,
}

/// Counts all training files. Every thread has its own counts, and their sum does not depend on which thread counted what.
fn count(args: &TrainArgs, pairs: PairKind) -> Result<Counted> {
    let mut workers = vec![Counts::new(pairs); args.input.threads()];
    let mut layout: Option<ColumnLayout> = None;
    let mut sequences = 0;
    for path in &args.train {
        let mut reader = open(args, path)?;
        let mut first = reader.item();
        if !reader.read(&mut first)? {
            return Err(no_sequence(path));
        }
        let layout = match layout {
            Some(layout) => layout,
            None => *layout.insert(columns_of(&first)?),
        };
        check_layout(Some(layout), &first)?;
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

/// The columns of data that begins with `first`.
fn columns_of(first: &Sequence) -> Result<ColumnLayout> {
    let layout = layout_of(first)?;
    layout.ok_or_else(|| {
        usage("--method counts words, but attribute lists do not say which attribute is the word: use --format columns")
    })
}

struct Counting {
    label_column: usize,
}

impl Counting {
    fn add(&self, counts: &mut Counts, sequence: &Sequence) -> crfkit::Result<()> {
        match sequence {
            Sequence::Columns { rows, .. } => counts.add_columns(rows, self.label_column),
            Sequence::Attributes(_) => unreachable!("attributes are rejected before anything is read"),
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
    match open_model(path)? {
        AnyModel::Empirical(model) => Ok(counts.merge(model.counts()).with_context(|| name(path))?),
        _ => anyhow::bail!(
            "{}: a model with weights, but one made of counts (train --method) is needed",
            name(path)
        ),
    }
}

/// Reads held-out data, which must have the columns of the training data.
fn read_held_out(args: &TrainArgs, path: &Path, layout: &ColumnLayout) -> Result<HeldOut> {
    let mut reader = open(args, path)?;
    let mut sequence = reader.item();
    let mut held_out = HeldOut::default();
    let mut empty = true;
    while reader.read(&mut sequence)? {
        if std::mem::take(&mut empty) {
            check_layout(Some(*layout), &sequence)?;
        }
        if let Sequence::Columns { rows, .. } = &sequence {
            held_out.add_columns(rows, layout.label)?;
        }
    }
    if empty { Err(no_sequence(path)) } else { Ok(held_out) }
}
