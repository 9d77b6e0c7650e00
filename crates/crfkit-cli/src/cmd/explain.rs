//! `crfkit explain`: why a label beat the runner-up.

use super::tag::{Limits, with_models};
use crate::args::{ExplainArgs, Shown};
use crate::error::{stdout_failed, usage};
use crate::flags::ModelKind;
use crate::io::reasons::{label_name, label_names, reason, token_of};
use crate::io::{Door, InputPlace, Inputs, WithModel};
use crate::pipeline::{self, Block, Job, Source};
use anyhow::Result;
use crfkit::decode::Decode;
use crfkit::explain::{Explanation, Question};
use crfkit::graph::Label;
use crfkit::tag::Tagger;
use crfkit_report::ReasonPart;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;
use std::slice;
use std::sync::Arc;

/// Explains labels on standard output.
pub fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let (constraint, at_most_once) = (args.constraint.as_deref(), &args.at_most_once[..]);
    let limits = Limits { constraint, at_most_once, ..Limits::default() };
    with_models(slice::from_ref(&args.model), limits, Run(args))?
}

struct Run<'a>(&'a ExplainArgs);

impl WithModel for Run<'_> {
    type Out = Result<ExitCode>;

    fn with<M: Door>(self, model: Arc<M>) -> Result<ExitCode> {
        let args = self.0;
        args.given.check_model("explain", model.kind())?;
        if model.kind() == ModelKind::Grid && args.token.is_none() && !args.only_wrong {
            return Err(usage(
                "an image has too many pixels to explain them all: give --token or --only-wrong",
            ));
        }
        let place = match (&args.images, &args.masks) {
            (Some(_), None) if args.only_wrong => {
                return Err(usage("--only-wrong needs --masks DIR, the gold labels"));
            }
            (Some(images), masks) => InputPlace::Images { images: images.clone(), masks: masks.clone() },
            (None, _) => InputPlace::File(args.file.clone()),
        };
        let source = model.open(&Inputs { place, reading: args.input.reading(args.label_column) })?;
        let mut workers = Tagger::new(model.clone()).crew(args.input.threads());
        let (mut stdout, mut nothing) = (std::io::stdout(), true);
        pipeline::run(&Explaining { model, args }, source, &mut workers, |text: &Vec<u8>| {
            nothing &= text.is_empty();
            Ok(stdout.write_all(text).map_err(stdout_failed)?)
        })?;
        if let Some(token) = args.token.filter(|_| nothing && !args.only_wrong) {
            let text = "nothing is explained, because no sequence has";
            let _ = writeln!(std::io::stderr(), "crfkit: note: {text} token {token} (tokens count from 0)");
        }
        Ok(ExitCode::SUCCESS)
    }
}

struct Explaining<'a, M> {
    model: Arc<M>,
    args: &'a ExplainArgs,
}

impl<M: Door> Job for Explaining<'_, M> {
    type Item = <M::Source as Source>::Item;
    type Worker = Tagger<M>;
    type Outcome = Vec<u8>;

    fn work(&self, tagger: &mut Tagger<M>, block: &Block<Self::Item>, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        for item in block.items() {
            let Some(input) = self.model.input(item)? else { continue };
            tagger.load(&input)?;
            let best = tagger.labels(Decode::Best)?.to_vec();
            let variables = self.variables(best.len());
            let truth = match self.args.only_wrong {
                true => self.model.truth(&input)?.labels,
                false => Vec::new(),
            };
            let label_of = |tagger: &mut Tagger<M>, v: usize| label_name(&*self.model, tagger, v, best[v]);
            let wrong = |tagger: &mut Tagger<M>, v: usize| match truth.get(v) {
                Some(Some(gold)) => *gold != label_of(tagger, v),
                _ => false,
            };
            let mut asked = Vec::new();
            for v in variables {
                if !self.args.only_wrong || wrong(tagger, v) {
                    asked.push(v);
                }
            }
            let question = Question { variables: &asked, removals: self.args.top };
            for explanation in tagger.explain(&input, question)? {
                let gold = truth.get(explanation.variable).cloned().flatten();
                let case = Case { job: self, input: &input, gold: gold.as_deref() };
                match self.args.output {
                    Shown::Text => case.text(tagger, &explanation, text)?,
                    Shown::Json => writeln!(text, "{}", case.json(tagger, &explanation))?,
                }
            }
        }
        Ok(())
    }
}

impl<M: Door> Explaining<'_, M> {
    /// The variables that are asked for, of an input that has `count`. A token may be a group of variables.
    fn variables(&self, count: usize) -> Vec<usize> {
        let group = self.model.group().max(1);
        match self.args.token {
            None => (0..count).collect(),
            Some(token) => (0..group)
                .filter_map(|k| token.checked_mul(group)?.checked_add(k))
                .filter(|v| *v < count)
                .collect(),
        }
    }
}

/// An explanation of an input.
struct Case<'a, M: Door> {
    job: &'a Explaining<'a, M>,
    input: &'a M::Input,
    gold: Option<&'a str>,
}

impl<M: Door> Case<'_, M> {
    fn label(&self, tagger: &mut Tagger<M>, v: usize, label: Label) -> String {
        label_name(&*self.job.model, tagger, v, label)
    }

    fn token(&self, v: usize) -> usize {
        token_of(&*self.job.model, v)
    }

    fn text(&self, tagger: &mut Tagger<M>, found: &Explanation, out: &mut Vec<u8>) -> Result<()> {
        let (v, model) = (found.variable, &self.job.model);
        let label = self.label(tagger, v, found.label);
        write!(
            out,
            "{} token {} {}: {label}",
            M::place(self.input),
            self.token(v),
            model.variable_name(self.input, v)
        )?;
        let gold = self.gold.map_or_else(String::new, |gold| format!(" (gold: {gold})"));
        let Some(reason) = reason(&**model, tagger, found, self.job.args.top) else {
            writeln!(out, "{gold}, the only label that is possible here\n")?;
            return Ok(());
        };
        writeln!(out, " beats {} by {:.4}{gold}", reason.rival, reason.difference)?;
        let mut rows = vec![["amount", "what", "labels", "token", "without it"].map(str::to_owned)];
        for ReasonPart { amount, what, labels, tokens, without } in reason.parts {
            rows.push([format!("{amount:+.4}"), what, labels, tokens, without]);
        }
        if reason.others > 0 {
            let what = format!("{} more", reason.others);
            rows.push([format!("{:+.4}", reason.rest), what, String::new(), String::new(), String::new()]);
        }
        write_aligned(&rows, out)?;
        writeln!(out)?;
        Ok(())
    }

    fn json(&self, tagger: &mut Tagger<M>, found: &Explanation) -> Value {
        let (v, place) = (found.variable, M::place(self.input));
        let mut object = json!({
            "input": place.name, "line": place.line, "token": self.token(v),
            "name": self.job.model.variable_name(self.input, v), "label": self.label(tagger, v, found.label),
        });
        if let Some(gold) = self.gold {
            object["gold"] = gold.into();
        }
        let Some(rival) = &found.rival else { return object };
        object["rival"] = self.label(tagger, v, rival.label).into();
        object["difference"] = rival.difference.into();
        let shown = self.job.args.top.min(rival.contributions.len());
        let model = &*self.job.model;
        let parts = rival.contributions[..shown].iter().map(|part| {
            let tokens: Vec<usize> = part.variables.iter().map(|&v| self.token(v)).collect();
            let mut object = json!({
                "part": part.part, "tokens": tokens, "labels": label_names(model, tagger, part, 0),
                "rival_labels": label_names(model, tagger, part, 1), "amount": part.amount,
            });
            if let Some(observation) = &part.observation {
                object["observation"] = observation.as_str().into();
            }
            if let Some(label) = part.without {
                object["without"] = self.label(tagger, v, label).into();
            }
            object
        });
        object["contributions"] = parts.collect();
        let rest = &rival.contributions[shown..];
        // An empty sum of floating-point numbers is −0.
        let sum = 0.0 + rest.iter().map(|part| part.amount).sum::<f64>();
        object["others"] = json!({ "count": rest.len(), "amount": sum });
        object
    }
}

/// Writes rows with aligned columns: the first to the right, the others to the left.
fn write_aligned(rows: &[[String; 5]], out: &mut Vec<u8>) -> std::io::Result<()> {
    let width = |k: usize| rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    for row in rows {
        let mut line = format!("  {:>1$}", row[0], widths[0]);
        for (field, width) in row.iter().zip(&widths).skip(1) {
            line += &format!("  {field:<width$}");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
