//! `crfkit diff`: how two models differ, and what they label differently.

mod labels;

use super::inspect::{Described, described};
use crate::args::{DiffArgs, Shown};
use crate::error::stdout_failed;
use crate::io::{name, open_model};
use anyhow::Result;
use crfkit::any::AnyModel;
use crfkit::model::{Comparison, NamedWeight, WeightDifference};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

/// Labels that the text names at most; JSON has all of them.
const SHOWN: usize = 20;

/// Prints the differences.
pub fn run(args: &DiffArgs) -> Result<ExitCode> {
    let paths = [&args.first, &args.second];
    let models = [open_model(paths[0])?, open_model(paths[1])?];
    let found = Found::new(&models, args.top)?;
    let labelled = labels::labelled_differently(args)?;
    let mut out = Vec::new();
    match args.output {
        Shown::Text => {
            found.text(&mut out)?;
            if let Some(labelled) = &labelled {
                labelled.text(paths.map(|path| name(path)), &mut out)?;
            }
        }
        Shown::Json => {
            let mut object = found.json();
            if let Some(labelled) = &labelled {
                object["sequences"] = labelled.sequences.into();
                object["different"] = labelled.differing.clone().into();
            }
            writeln!(out, "{object}")?;
        }
    }
    std::io::stdout().write_all(&out).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// How two models differ.
struct Found {
    kinds: [&'static str; 2],
    /// Name and values of each setting that differs.
    settings: Vec<(String, [Value; 2])>,
    /// Lines of the summaries that differ: a word, and the text of each model that has the line.
    summaries: Vec<(&'static str, [Option<String>; 2])>,
    /// Labels that only one of them has.
    labels: [Vec<String>; 2],
    /// The comparison of the weights, if they can be compared; otherwise why not.
    weights: std::result::Result<Comparison, String>,
}

impl Found {
    fn new(models: &[AnyModel; 2], top: usize) -> Result<Self> {
        let [a, b] = models;
        let kinds = models.each_ref().map(|model| model.kind().name());
        let members = |model: &AnyModel| -> Result<Map<String, Value>> {
            Ok(model.settings()?.as_object().cloned().unwrap_or_default())
        };
        let (ours, theirs) = (members(a)?, members(b)?);
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let value =
            |settings: &Map<String, Value>, name: &str| settings.get(name).cloned().unwrap_or(Value::Null);
        let settings =
            names.into_iter().map(|name| (name.clone(), [value(&ours, name), value(&theirs, name)]));
        let settings = settings.filter(|(_, [a, b])| a != b).collect();
        let sets = models.each_ref().map(|model| {
            let sets = model.label_sets().into_iter();
            sets.flat_map(|set| {
                let of = set.name.map_or_else(String::new, |name| format!("{name}: "));
                set.labels.iter().map(|label| format!("{of}{label}")).collect::<Vec<_>>()
            })
            .collect::<BTreeSet<String>>()
        });
        let labels = [0, 1].map(|k| sets[k].difference(&sets[1 - k]).cloned().collect());
        let weights = match (a.names(), b.names()) {
            (Some(a), Some(b)) => a.compare(&b, top).map_err(|why| why.to_string()),
            _ => Err("a model made from counts has no weights".into()),
        };
        let summaries = summaries(models.each_ref().map(described));
        Ok(Found { kinds, settings, summaries, labels, weights })
    }

    fn text(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let [a, b] = self.kinds;
        writeln!(out, "kind          {}", if a == b { a.to_owned() } else { format!("{a} | {b}") })?;
        if self.settings.is_empty() {
            writeln!(out, "settings      the same")?;
        }
        for (name, [a, b]) in &self.settings {
            writeln!(out, "setting       {name:<12}  {a} | {b}")?;
        }
        for (name, texts) in &self.summaries {
            let [a, b] = texts.each_ref().map(|text| text.as_deref().unwrap_or("–"));
            writeln!(out, "{name:<12}  {a} | {b}")?;
        }
        for (labels, which) in self.labels.iter().zip(["first", "second"]) {
            if !labels.is_empty() {
                let (shown, more) = labels.split_at(labels.len().min(SHOWN));
                let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                writeln!(out, "labels        only the {which} model has {}{more}", shown.join(" "))?;
            }
        }
        let found = match &self.weights {
            Err(why) => return writeln!(out, "weights       not compared: {why}"),
            Ok(found) => found,
        };
        let [a, b] = found.weights;
        writeln!(
            out,
            "weights       {a} | {b}; {} in both, {} of them differ; distance {:.6}",
            found.common, found.changed, found.distance
        )?;
        writeln!(
            out,
            "observations  {} only in the first, {} only in the second",
            found.alone[0], found.alone[1]
        )?;
        if !found.largest.is_empty() {
            writeln!(out, "\nweights that differ most\n  {:>12}  {:>12}", "first", "second")?;
        }
        for WeightDifference { weight, values } in &found.largest {
            let [a, b] = values.map(|value| value.map_or_else(|| "–".into(), |value| format!("{value:.4}")));
            writeln!(out, "  {a:>12}  {b:>12}  {}", describe(weight))?;
        }
        for (weights, which) in found.heaviest_alone.iter().zip(["first", "second"]) {
            if !weights.is_empty() {
                writeln!(out, "\nheaviest observations of the {which} model alone")?;
            }
            for weight in weights {
                writeln!(out, "  {:>12.4}  {}", weight.weight, describe(weight))?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let settings: Map<String, Value> =
            self.settings.iter().map(|(name, values)| (name.clone(), json!(values))).collect();
        let summaries: Map<String, Value> =
            self.summaries.iter().map(|(name, texts)| ((*name).to_owned(), json!(texts))).collect();
        let mut object = json!({
            "kinds": self.kinds, "settings": settings, "summaries": summaries, "labels_alone": self.labels,
        });
        if let Ok(found) = &self.weights {
            let named = |weight: &NamedWeight| json!({ "part": weight.part, "observation": weight.observation, "labels": weight.labels });
            let largest = found.largest.iter().map(|different| {
                let mut object = named(&different.weight);
                object["values"] = json!(different.values);
                object
            });
            let largest: Vec<Value> = largest.collect();
            let alone = found.heaviest_alone.each_ref().map(|weights| {
                let alone = weights.iter().map(|weight| {
                    let mut object = named(weight);
                    object["weight"] = weight.weight.into();
                    object
                });
                alone.collect::<Vec<Value>>()
            });
            object["weights"] = json!({
                "counts": found.weights, "common": found.common, "changed": found.changed,
                "distance": found.distance, "largest": largest,
                "observations_alone": found.alone, "heaviest_alone": alone,
            });
        }
        object
    }
}

/// The lines of two summaries that differ. Numbers of observations and weights are compared elsewhere.
fn summaries([a, b]: [Described; 2]) -> Vec<(&'static str, [Option<String>; 2])> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in a.lines.iter().chain(&b.lines) {
        if *name != "observations" && !names.contains(name) {
            names.push(name);
        }
    }
    let all = |of: &Described, name: &str| {
        let texts: Vec<&str> =
            of.lines.iter().filter(|(of, _)| *of == name).map(|(_, text)| text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    };
    let both = names.into_iter().map(|name| {
        let [ours, mut theirs] = [all(&a, name), all(&b, name)];
        // Two files of templates may have equally many lines.
        if name == "templates" && ours == theirs && a.templates != b.templates {
            theirs = Some("another text".into());
        }
        (name, [ours, theirs])
    });
    both.filter(|(_, [ours, theirs])| ours != theirs).collect()
}

/// `node U00:cup  B-UNIT`, `transition  O B-UNIT`.
fn describe(weight: &NamedWeight) -> String {
    let observation = weight.observation.as_deref().unwrap_or_default().escape_debug();
    format!("{} {observation}  {}", weight.part, weight.labels.join(" "))
}
