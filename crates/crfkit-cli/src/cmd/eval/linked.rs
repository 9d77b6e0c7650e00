//! How good a model of a factorial or skip chain is: each label column by itself, and all labels of a token together.

use crate::args::{Decode, EvalArgs, Format};
use crate::cmd::tag::linked::{check_format, taggers};
use crate::error::{stdout_failed, usage};
use crate::input::{self, Reader, Sequence};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use crfkit::data::text::Encoding;
use crfkit::eval::{Evaluation, Scores, is_chunked};
use crfkit::linked::{LinkedModel, LinkedTagger};
use crfkit::{Error, Place};
use crfkit_report::{EvaluationPart, Samples};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Evaluates and prints.
pub fn run(args: &EvalArgs, decode: Decode, model: Arc<LinkedModel>, test: &Path) -> Result<ExitCode> {
    check_format(args.input.format)?;
    if args.label_column.is_some() {
        return Err(usage("--label-column is for models of plain chains: this one knows its label columns"));
    }
    let mut workers = taggers(model.clone(), args.grid.inference, args.input.threads())?;
    let all = judge(&mut workers, test, args.input.encoding, Judging { decode, samples: false })?;
    let mut text = Vec::new();
    match args.json {
        true => writeln!(text, "{}", all.json(&model)?)?,
        false => all.write(&model, &mut text)?,
    }
    std::io::stdout().write_all(&text).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The scores of a model on a file of development data: those of its label column, or of all labels of a token together.
pub fn scores(model: &Arc<LinkedModel>, path: &Path, encoding: Encoding, threads: usize) -> Result<Scores> {
    let mut workers = taggers(model.clone(), None, threads)?;
    let found = judge(&mut workers, path, encoding, Judging { decode: Decode::Viterbi, samples: false })?;
    let first = found.columns[0].scores();
    Ok(match found.columns.len() {
        1 => first,
        _ => Scores {
            accuracy: found.joint_accuracy(),
            tokens: first.tokens,
            sequences: first.sequences,
            ..Scores::default()
        },
    })
}

/// What a page says of a model and a file, label column by label column.
pub fn parts(
    model: &Arc<LinkedModel>,
    path: &Path,
    encoding: Encoding,
    threads: usize,
) -> Result<Vec<EvaluationPart>> {
    let job = Judging { decode: Decode::Viterbi, samples: true };
    let found = judge(&mut taggers(model.clone(), None, threads)?, path, encoding, job)?;
    let parts = found.columns.iter().zip(found.samples).zip(&model.label_columns);
    let part = |((evaluation, samples), column): ((&Evaluation, Samples), &usize)| {
        let name = format!("{}, label column {column}", input::name(path));
        EvaluationPart::new(&name, evaluation, samples)
    };
    Ok(parts.map(part).collect())
}

/// Labels a file and compares.
fn judge(workers: &mut [LinkedTagger], path: &Path, encoding: Encoding, job: Judging) -> Result<Found> {
    let mut all = Found::default();
    pipeline::run(&job, Reader::open(path, Format::Columns, encoding)?, workers, |found: &Found| {
        all.merge(found);
        Ok(())
    })?;
    match all.columns.is_empty() {
        true => Err(Error::input(Place::new(input::name(path), 0), "no sequence in it").into()),
        false => Ok(all),
    }
}

/// What a model does on labelled data.
#[derive(Default)]
struct Found {
    /// By label column.
    columns: Vec<Evaluation>,
    /// Tokens whose labels are all right, and all tokens.
    joint: [u64; 2],
    /// By label column, if they are wanted.
    samples: Vec<Samples>,
}

impl Found {
    fn merge(&mut self, other: &Found) {
        self.columns.resize_with(other.columns.len().max(self.columns.len()), Evaluation::default);
        self.columns.iter_mut().zip(&other.columns).for_each(|(all, one)| all.merge(one));
        self.joint[0] += other.joint[0];
        self.joint[1] += other.joint[1];
        self.samples.resize_with(other.samples.len().max(self.samples.len()), Samples::default);
        self.samples.iter_mut().zip(&other.samples).for_each(|(all, one)| all.merge(one));
    }

    /// Per cent of the tokens with all labels right.
    fn joint_accuracy(&self) -> f64 {
        100.0 * self.joint[0] as f64 / self.joint[1].max(1) as f64
    }

    fn json(&self, model: &LinkedModel) -> Result<Value> {
        let mut columns = Vec::new();
        for (evaluation, (&column, labels)) in self.each(model) {
            let mut scores = serde_json::to_value(evaluation.scores())?;
            scores["column"] = column.into();
            if is_chunked(labels.iter().map(String::as_str)) {
                let field = |(name, counts): (&str, crfkit::eval::Counts)| {
                    let (precision, recall, f1) = (counts.precision(), counts.recall(), counts.f1());
                    (name.to_owned(), json!({ "precision": precision, "recall": recall, "f1": f1 }))
                };
                scores["token_f1"] = Value::Object(evaluation.fields().into_iter().map(field).collect());
            }
            columns.push(scores);
        }
        Ok(json!({ "joint_accuracy": self.joint_accuracy(), "tokens": self.joint[1], "columns": columns }))
    }

    fn each<'a>(
        &'a self,
        model: &'a LinkedModel,
    ) -> impl Iterator<Item = (&'a Evaluation, (&'a usize, &'a Vec<String>))> {
        self.columns.iter().zip(model.label_columns.iter().zip(&model.labels))
    }

    fn write(&self, model: &LinkedModel, out: &mut Vec<u8>) -> std::io::Result<()> {
        for (evaluation, (column, labels)) in self.each(model) {
            let scores = evaluation.scores();
            writeln!(out, "label column {column}")?;
            if is_chunked(labels.iter().map(String::as_str)) {
                evaluation.write_conlleval(out)?;
                for (field, counts) in evaluation.fields() {
                    writeln!(
                        out,
                        "{field:>17}: token precision {:6.2}%; recall {:6.2}%; F1 {:6.2}",
                        counts.precision(),
                        counts.recall(),
                        counts.f1()
                    )?;
                }
            }
            writeln!(out, "token accuracy:        {:6.2}%  ({} tokens)", scores.accuracy, scores.tokens)?;
            let (accuracy, sequences) = (scores.sequence_accuracy, scores.sequences);
            writeln!(out, "sequence accuracy:     {accuracy:6.2}%  ({sequences} sequences)\n")?;
        }
        if self.columns.len() > 1 {
            writeln!(
                out,
                "joint accuracy:        {:6.2}%  ({} tokens)",
                self.joint_accuracy(),
                self.joint[1]
            )?;
        }
        Ok(())
    }
}

struct Judging {
    decode: Decode,
    /// Are the worst mistakes collected?
    samples: bool,
}

impl Job for Judging {
    type Item = Sequence;
    type Worker = LinkedTagger;
    type Outcome = Found;

    fn work(&self, tagger: &mut LinkedTagger, block: &Block<Sequence>, found: &mut Found) -> Result<()> {
        let model = tagger.model().clone();
        let count = model.labels.len();
        let samples = vec![Samples::default(); count];
        *found = Found { columns: vec![Evaluation::default(); count], joint: [0; 2], samples };
        let word = (0..model.columns).find(|column| !model.label_columns.contains(column)).unwrap_or(0);
        for sequence in block.items() {
            let Sequence::Columns(columns) = sequence else { unreachable!("columns are read") };
            if columns.columns() != model.columns {
                let message = format!(
                    "{} columns, but {} in training: labels are needed to compare with",
                    columns.columns(),
                    model.columns
                );
                return Err(Error::input(columns.place(0), message).into());
            }
            tagger.columns(columns)?;
            let labels = match self.decode {
                Decode::MaxMarginal => tagger.max_marginal().to_vec(),
                _ => tagger.best().to_vec(),
            };
            let mut right = vec![true; columns.len()];
            for (c, &column) in model.label_columns.iter().enumerate() {
                let gold: Vec<&str> = (0..columns.len()).map(|row| columns.field(row, column)).collect();
                let predicted = labels.iter().skip(c).step_by(count);
                let predicted: Vec<&str> =
                    predicted.map(|&label| model.labels[c][label as usize].as_str()).collect();
                right
                    .iter_mut()
                    .zip(gold.iter().zip(&predicted))
                    .for_each(|(right, (a, b))| *right &= a == b);
                found.columns[c].add_sequence(&gold, &predicted, None);
                if self.samples && !gold.is_empty() {
                    let (names, labels) = (&model.labels[c], [&predicted[..], &gold]);
                    let marginal = |t, label| tagger.marginal(t, c, label);
                    let word = |row| columns.field(row, word).to_owned();
                    found.samples[c].add(names, labels, marginal, || columns.place(0).to_string(), word);
                }
            }
            found.joint[0] += right.iter().filter(|right| **right).count() as u64;
            found.joint[1] += right.len() as u64;
        }
        Ok(())
    }
}
