//! `crfkit inspect`: what a model has learned, to read or as text for other programs.

mod empirical;

use crate::args::InspectArgs;
use crate::error::stdout_failed;
use crate::loaded::Loaded;
use anyhow::Result;
use crfkit::data::observer::Source;
use crfkit::model::Model;
use crfkit::model::dump::{self, Kind, NamedWeight};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Labels whose heaviest observations are shown unless one is asked for; more would bury the rest.
const LABELS: usize = 50;

/// Prints the model.
pub fn run(args: &InspectArgs) -> Result<ExitCode> {
    let mut out = BufWriter::new(std::io::stdout());
    match (Loaded::read(&args.model)?, args.dump) {
        (Loaded::Weighted(model), false) => show_model(args, &model, &mut out)?,
        (Loaded::Weighted(model), true) => dump::dump(&model, &mut out).map_err(stdout_failed)?,
        (Loaded::Empirical(model), false) => empirical::show_model(args, &model, &mut out)?,
        (Loaded::Empirical(model), true) => {
            crfkit::empirical::dump(&model, &mut out).map_err(stdout_failed)?;
        }
    }
    out.flush().map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Everything, or what was asked for.
fn show_model(args: &InspectArgs, model: &Model, out: &mut impl Write) -> Result<()> {
    if args.label.is_none() && args.observation.is_none() {
        summary(model, out).map_err(stdout_failed)?;
        show_transitions(model, None, args.top, out).map_err(stdout_failed)?;
        for label in model.labels.iter().take(LABELS) {
            let title = format!("heaviest observations of {label}");
            let weights = dump::top(model, args.top, Some(label), None)?;
            show(&title, &weights, out).map_err(stdout_failed)?;
        }
        if model.labels.len() > LABELS {
            writeln!(out, "\nthe first {LABELS} of {} labels; see one with --label", model.labels.len())
                .map_err(stdout_failed)?;
        }
    } else {
        let weights = dump::top(model, args.top, args.label.as_deref(), args.observation.as_deref())?;
        if args.observation.is_none() {
            show_transitions(model, args.label.as_deref(), args.top, out).map_err(stdout_failed)?;
        }
        let title = match (&args.observation, &args.label) {
            (Some(observation), Some(label)) => format!("weights of {observation} and {label}"),
            (Some(observation), None) => format!("weights of {observation}"),
            (None, label) => format!("heaviest observations of {}", label.as_deref().unwrap_or("all labels")),
        };
        show(&title, &weights, out).map_err(stdout_failed)?;
    }
    Ok(())
}

/// What the model is made of.
fn summary(model: &Model, out: &mut impl Write) -> std::io::Result<()> {
    let (format, templates) = match &model.source {
        Source::Attributes => ("attributes", None),
        Source::Templates(templates) => ("columns", Some(templates)),
    };
    writeln!(out, "labels        {}: {}", model.labels.len(), model.labels.join(" "))?;
    writeln!(out, "observations  {}", model.alphabet.node.len() + model.alphabet.pair.len())?;
    writeln!(out, "weights       {}", model.weights.len())?;
    writeln!(out, "input         {format}")?;
    if let Some(templates) = templates {
        let lines = templates.unigram.len() + templates.bigram.len() + usize::from(templates.label_bigram);
        writeln!(out, "templates     {lines}, from {}", templates.name)?;
    }
    if let Some(settings) = model.settings.as_object() {
        writeln!(out, "settings")?;
        for (name, value) in settings {
            writeln!(out, "  {name:<12}  {value}")?;
        }
    }
    Ok(())
}

/// The heaviest weights that belong to no observation.
fn show_transitions(
    model: &Model,
    label: Option<&str>,
    top: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let mut weights = dump::transitions(model);
    weights.retain(|w| label.is_none_or(|label| w.label == label || w.previous.as_deref() == Some(label)));
    weights.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    weights.truncate(top);
    if weights.is_empty() {
        return Ok(());
    }
    show("heaviest transitions", &weights, out)
}

fn show(title: &str, weights: &[NamedWeight], out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "\n{title}")?;
    if weights.is_empty() {
        writeln!(out, "  none")?;
    }
    for weight in weights {
        writeln!(out, "  {:>10.4}  {}", weight.weight, describe(weight))?;
    }
    Ok(())
}

/// `U:w=the  B-NP`, `U:w=the  O → B-NP`, `O → B-NP`, `begin → O`, `O → end`.
fn describe(weight: &NamedWeight) -> String {
    let labels = match (weight.kind, &weight.previous) {
        (Kind::Begin, _) => format!("begin → {}", weight.label),
        (Kind::End, _) => format!("{} → end", weight.label),
        (_, Some(previous)) => format!("{previous} → {}", weight.label),
        (_, None) => weight.label.clone(),
    };
    match &weight.observation {
        // Names may hold anything; control characters would upset the terminal.
        Some(observation) => format!("{}  {labels}", observation.escape_debug()),
        None => labels,
    }
}
