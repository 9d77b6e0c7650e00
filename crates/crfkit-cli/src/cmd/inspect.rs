//! `crfkit inspect`: shows what a model has learned, for people or as text for other programs.

mod empirical;
mod summary;

use crate::args::InspectArgs;
use crate::error::stdout_failed;
use crate::io::open_model;
use anyhow::Result;
use crfkit::any::{AnyModel, ModelVisitor};
use crfkit::chain::ChainModel;
use crfkit::data::template::{LexiconFile, Templates};
use crfkit::domain::{Domain, WeightedModel};
use crfkit::empirical::EmpiricalModel;
use crfkit::grid::GridModel;
use crfkit::linked::LinkedModel;
use crfkit::model::dump::dump;
use crfkit::model::{NamedWeight, Names, SetLabel, Tables, WeightKind, WeightPart};
use crfkit::typed::TypedModel;
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// For this many labels the heaviest observations are shown, unless one label is asked for; more would bury the rest.
const LABELS: usize = 50;

/// Prints the model.
pub fn run(args: &InspectArgs) -> Result<ExitCode> {
    let mut out = BufWriter::new(std::io::stdout());
    let model = open_model(&args.model)?;
    model.visit(Show { args, out: &mut out })?;
    out.flush().map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// What the summary of a model with weights says besides labels, weights and settings.
trait Summary: Domain {
    /// The lines of the summary: a word, and its text.
    fn lines(&self) -> Vec<(&'static str, String)>;
    /// The templates that made its observations, if they did.
    fn templates(&self) -> Option<&Templates> {
        None
    }
}

/// What a summary says about the features of a model.
#[derive(Debug, Default)]
pub struct Described {
    /// Words and their texts.
    pub lines: Vec<(&'static str, String)>,
    /// The text of the templates, and the files that they name.
    pub templates: Option<(String, Vec<LexiconFile>)>,
}

/// Describes any model.
pub fn described(model: &AnyModel) -> Described {
    model.clone().visit(Describe)
}

struct Describe;

impl Describe {
    fn weighted<D: Summary>(model: &WeightedModel<D>) -> Described {
        let templates = model.domain.templates().map(|of| (of.source.clone(), of.files.clone()));
        Described { lines: model.domain.lines(), templates }
    }
}

impl ModelVisitor for Describe {
    type Out = Described;

    fn chain(self, model: Arc<ChainModel>) -> Described {
        Describe::weighted(&model)
    }

    fn linked(self, model: Arc<LinkedModel>) -> Described {
        Describe::weighted(&model)
    }

    fn graph(self, model: Arc<TypedModel>) -> Described {
        Describe::weighted(&model)
    }

    fn grid(self, model: Arc<GridModel>) -> Described {
        Describe::weighted(&model)
    }

    fn empirical(self, _model: Arc<EmpiricalModel>) -> Described {
        Described::default()
    }
}

/// Shows a model: everything, or what was asked for.
struct Show<'a, O> {
    args: &'a InspectArgs,
    out: &'a mut O,
}

impl<O: Write> Show<'_, O> {
    fn weighted<D: Summary>(self, model: &WeightedModel<D>) -> Result<()> {
        let Show { args, out } = self;
        let names = &model.names();
        if args.dump {
            return Ok(dump(names, out).map_err(stdout_failed)?);
        }
        let labels = args.label.as_deref().map(|label| names.labels_called(label)).transpose()?;
        let shown = match (labels, &args.observation) {
            (None, None) => show_all(args.top, names, model, out),
            (labels, _) => show_some(args, names, model.domain.templates(), &labels.unwrap_or_default(), out),
        };
        Ok(shown.map_err(stdout_failed)?)
    }
}

impl<O: Write> ModelVisitor for Show<'_, O> {
    type Out = Result<()>;

    fn chain(self, model: Arc<ChainModel>) -> Result<()> {
        self.weighted(&model)
    }

    fn linked(self, model: Arc<LinkedModel>) -> Result<()> {
        self.weighted(&model)
    }

    fn graph(self, model: Arc<TypedModel>) -> Result<()> {
        self.weighted(&model)
    }

    fn grid(self, model: Arc<GridModel>) -> Result<()> {
        self.weighted(&model)
    }

    fn empirical(self, model: Arc<EmpiricalModel>) -> Result<()> {
        match self.args.dump {
            true => Ok(crfkit::empirical::dump(&model, self.out).map_err(stdout_failed)?),
            false => empirical::show_model(self.args, &model, self.out),
        }
    }
}

fn show_all<D: Summary>(
    top: usize,
    names: &Names,
    model: &WeightedModel<D>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let templates = model.domain.templates();
    for set in &names.sets {
        let whose = set.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
        writeln!(out, "labels        {whose}{}: {}", set.labels.len(), set.labels.join(" "))?;
    }
    for (what, text) in model.domain.lines() {
        writeln!(out, "{what:<12}  {text}")?;
    }
    writeln!(out, "weights       {}", names.weights.len())?;
    show_settings(&serde_json::to_value(&model.settings)?, out)?;

    if names.is_chain() {
        show_transitions(names, &[], top, out)?;
    } else {
        for name in names.other_parts() {
            let weights = names.top(top, |part| part.name == name, &[], None);
            show(&format!("heaviest weights of {name}"), names, templates, &weights, out)?;
        }
    }
    let all = names.sets.iter().enumerate().flat_map(|(set, of)| (0..of.labels.len()).map(move |k| (set, k)));
    let all: Vec<SetLabel> = all.filter(|(set, _)| has_labels(names, *set)).collect();
    for &(set, label) in all.iter().take(LABELS) {
        let of = &names.sets[set];
        let whose = match &of.name {
            Some(name) if names.sets.len() > 1 => format!(" ({name})"),
            _ => String::new(),
        };
        let title = format!("heaviest observations of {}{whose}", of.labels[label]);
        let weights = names.top(top, |part| names.is_by_label(part), &[(set, label)], None);
        show(&title, names, templates, &weights, out)?;
    }
    if all.len() > LABELS {
        writeln!(out, "\nthese are the first {LABELS} of {} labels; --label L shows another", all.len())?;
    }
    Ok(())
}

/// The weights of a label, of an observation, or of both.
fn show_some(
    args: &InspectArgs,
    names: &Names,
    templates: Option<&Templates>,
    labels: &[SetLabel],
    out: &mut impl Write,
) -> std::io::Result<()> {
    if args.observation.is_none() && names.is_chain() {
        show_transitions(names, labels, args.top, out)?;
    }
    let wanted = |part: &WeightPart| !names.is_chain() || names.is_by_label(part);
    // What is shown in words may be asked for in words.
    let named = args.observation.as_ref().map(|words| {
        templates
            .and_then(|templates| templates.observation_from_tests(words))
            .unwrap_or_else(|| words.clone())
    });
    let weights = names.top(args.top, wanted, labels, named.as_deref());
    let title = match (&args.observation, &args.label) {
        (Some(observation), Some(label)) => format!("weights of {observation} and {label}"),
        (Some(observation), None) => format!("weights of {observation}"),
        (None, label) => {
            let what = if names.is_chain() { "observations" } else { "weights" };
            format!("heaviest {what} of {}", label.as_deref().unwrap_or("all labels"))
        }
    };
    show(&title, names, templates, &weights, out)
}

/// Whether any weights are about single labels of this set.
fn has_labels(names: &Names, set: usize) -> bool {
    names.parts.iter().any(|part| names.is_by_label(part) && part.over == [set])
}

/// Shows the settings, one per line.
fn show_settings(settings: &Value, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "settings")?;
    for (name, value) in settings.as_object().into_iter().flatten() {
        writeln!(out, "  {name:<12}  {value}")?;
    }
    Ok(())
}

/// Shows the heaviest weights of a chain that belong to no observation.
fn show_transitions(
    names: &Names,
    labels: &[SetLabel],
    top: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let weights = names.top(top, |part| part.is_table(), labels, None);
    if weights.is_empty() {
        return Ok(());
    }
    show("heaviest transitions", names, None, &weights, out)
}

fn show(
    title: &str,
    names: &Names,
    templates: Option<&Templates>,
    weights: &[NamedWeight],
    out: &mut impl Write,
) -> std::io::Result<()> {
    writeln!(out, "\n{title}")?;
    if weights.is_empty() {
        writeln!(out, "  none")?;
    }
    let one_part = weights.iter().all(|weight| weight.part == weights[0].part);
    for weight in weights {
        let part = if names.is_chain() || one_part { "" } else { &format!("{}: ", weight.part) };
        writeln!(out, "  {:>10.4}  {part}{}", weight.weight, describe(names, templates, weight))?;
    }
    Ok(())
}

/// `U:w=the  B-NP`, `U:w=the  O → B-NP`, `O → B-NP`, `begin → O`, `O → end`; on graphs `dense 0  N, V`, `equal labels`.
fn describe(names: &Names, templates: Option<&Templates>, weight: &NamedWeight) -> String {
    let tables = names.parts.iter().find(|part| part.name == weight.part).map(|part| part.tables);
    let labels = match (&*weight.part, tables) {
        ("begin", _) if names.is_chain() => format!("begin → {}", weight.labels[0]),
        ("end", _) if names.is_chain() => format!("{} → end", weight.labels[0]),
        (_, Some(Tables::Potts)) => "equal labels".into(),
        (_, Some(Tables::Ising)) => "labels as −1 and +1".into(),
        _ => weight.labels.join(if names.is_chain() { " → " } else { ", " }),
    };
    match &weight.observation {
        Some(number) if weight.kind == WeightKind::Dense => format!("dense {number}  {labels}"),
        Some(tokens) if names.is_chain() && weight.part == "length" => format!("length {tokens}  {labels}"),
        // Names may hold anything; control characters would upset the terminal.
        Some(observation) => {
            let words = templates.and_then(|templates| templates.describe_tests(observation));
            format!("{}  {labels}", words.as_ref().unwrap_or(observation).escape_debug())
        }
        None => labels,
    }
}
