//! `crfkit eval`: how good a model, or a file of predictions, is.

pub mod grid;
pub mod linked;
pub mod typed;

use super::tag::{decode, only, read_graph_model, refuse_inference};
use crate::args::{Decode, EvalArgs, Format, InputArgs};
use crate::error::{stdout_failed, usage};
use crate::input::{self, GraphModel, Reader, Sequence};
use crate::loaded::{Loaded, Worker};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use crfkit::data::text::Encoding;
use crfkit::eval::Evaluation;
use crfkit::{Error, Place};
use crfkit_report::{EvaluationPart, Samples};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Evaluates and prints.
pub fn run(args: &EvalArgs) -> Result<ExitCode> {
    match (&args.model[..], &args.grid.images, &args.masks) {
        ([_, ..], Some(images), Some(masks)) => return grid::run(args, only(&args.model)?, images, masks),
        (_, Some(_), _) => return Err(usage("--images needs -m MODEL and --masks DIR, the gold labels")),
        _ => {}
    }
    let evaluation = match (&args.predicted, &args.model[..], &args.test) {
        (Some(predicted), ..) => compare_columns(predicted, args.input.encoding)?,
        (None, [_, ..], Some(test)) => {
            let graphs = read_graph_model(&args.model)?;
            if let Some(GraphModel::Typed(model)) = graphs {
                return typed::run(args, model, test);
            }
            let decode = decode(&args.grid, &args.model)?;
            if let Some(GraphModel::Linked(model)) = graphs {
                return linked::run(args, decode, model, test);
            }
            refuse_inference(args.grid.inference)?;
            let models = Loaded::read_all(&args.model)?;
            let gold = Gold { decode, ..Gold::new(&models[0], &args.input, args.label_column) };
            let found = evaluate(&models, test, &gold, args.input.threads())?;
            found.report_unknown_labels();
            found.evaluation
        }
        _ => unreachable!("clap asks for --predicted, or for a model and a file"),
    };
    let mut text = Vec::new();
    if args.json {
        serde_json::to_writer(&mut text, &evaluation.scores())?;
        text.push(b'\n');
    } else {
        write(&evaluation, &mut text)?;
    }
    std::io::stdout().write_all(&text).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The printed form: conlleval's block first, since programs parse it, unless labels are no chunks.
fn write(evaluation: &Evaluation, out: &mut Vec<u8>) -> std::io::Result<()> {
    let scores = evaluation.scores();
    if scores.chunked {
        evaluation.write_conlleval(out)?;
        writeln!(out)?;
    }
    writeln!(out, "token accuracy:        {:6.2}%  ({} tokens)", scores.accuracy, scores.tokens)?;
    writeln!(
        out,
        "sequence accuracy:     {:6.2}%  ({} sequences)",
        scores.sequence_accuracy, scores.sequences
    )?;
    for (what, accuracy) in [("known", scores.known_accuracy), ("unknown", scores.unknown_accuracy)] {
        if let Some(accuracy) = accuracy {
            writeln!(out, "{:<23}{accuracy:6.2}%", format!("{what}-word accuracy:"))?;
        }
    }
    writeln!(out)?;
    evaluation.write_confusion(out)
}

/// How labelled data is read.
#[derive(Clone, Copy, Debug)]
pub struct Gold {
    /// Its format.
    pub format: Format,
    /// Its encoding.
    pub encoding: Encoding,
    /// The label's column; −1 for the last.
    pub label_column: i32,
    /// Which labelling it is compared with.
    pub decode: Decode,
    /// Are the sequences with the worst mistakes collected?
    pub samples: bool,
}

impl Gold {
    /// As the user says, or else as the model was trained.
    pub fn new(model: &Loaded, args: &InputArgs, column: Option<i32>) -> Self {
        Gold {
            format: args.format.unwrap_or(model.format()),
            encoding: args.encoding,
            label_column: column.unwrap_or_else(|| model.label_column()),
            decode: Decode::Viterbi,
            samples: false,
        }
    }
}

/// What a model does on labelled data.
#[derive(Default)]
pub struct Found {
    /// All counts.
    pub evaluation: Evaluation,
    /// Tokens whose gold label the model does not know, by label. They count as errors.
    unknown_labels: BTreeMap<String, u64>,
    /// The sequences with the worst mistakes, if they are wanted.
    pub samples: Samples,
}

impl Found {
    /// Names on standard error the labels that the model can never give.
    pub fn report_unknown_labels(&self) {
        if self.unknown_labels.is_empty() {
            return;
        }
        let tokens: u64 = self.unknown_labels.values().sum();
        let names: Vec<&str> = self.unknown_labels.keys().map(String::as_str).collect();
        let text =
            format!("note: {tokens} tokens have labels that the model does not know: {}", names.join(", "));
        let _ = writeln!(std::io::stderr(), "crfkit: {text}");
    }

    /// As the part of a page; `path` is the data.
    pub fn into_part(self, path: &Path) -> EvaluationPart {
        EvaluationPart::new(&input::name(path), &self.evaluation, self.samples)
    }
}

/// Tags a file with one model, or several together, and compares.
pub fn evaluate(models: &[Loaded], path: &Path, gold: &Gold, threads: usize) -> Result<Found> {
    let reader = Reader::open(path, gold.format, gold.encoding)?;
    let mut all = Found::default();
    let job = Judging { model: &models[0], gold };
    pipeline::run(&job, reader, &mut Worker::crew(models, threads), |found: &Found| {
        all.evaluation.merge(&found.evaluation);
        all.samples.merge(&found.samples);
        for (label, tokens) in &found.unknown_labels {
            *all.unknown_labels.entry(label.clone()).or_default() += tokens;
        }
        Ok(())
    })?;
    if all.evaluation.scores().sequences == 0 {
        return Err(Error::input(Place::new(input::name(path), 0), "no sequence in it").into());
    }
    Ok(all)
}

struct Judging<'a> {
    /// Whose labels, words and columns count.
    model: &'a Loaded,
    gold: &'a Gold,
}

impl Job for Judging<'_> {
    type Item = Sequence;
    type Worker = Worker;
    type Outcome = Found;

    fn work(&self, worker: &mut Worker, block: &Block<Sequence>, found: &mut Found) -> Result<()> {
        *found = Found::default();
        let &Judging { model, gold: &Gold { label_column: given_column, decode, samples, .. } } = self;
        let mut known = Vec::new();
        for sequence in block.items() {
            let answers = worker.take_in(sequence)?;
            let (mut label_column, mut word_column) = (0, 0);
            known.clear();
            if let Sequence::Columns(columns) = sequence {
                label_column = input::label_index(given_column, columns.columns(), || columns.place(0))?;
                word_column = usize::from(label_column == 0 && columns.columns() > 1);
                known
                    .extend((0..columns.len()).map_while(|row| model.knows(columns.field(row, word_column))));
            }
            let gold: Vec<&str> = (0..sequence.len()).map(|row| sequence.label(row, label_column)).collect();
            for label in gold.iter().filter(|label| model.label(label).is_none()) {
                *found.unknown_labels.entry((*label).to_owned()).or_default() += 1;
            }
            let labels = match decode {
                Decode::MaxMarginal => answers.max_marginal(),
                _ => answers.viterbi(),
            };
            let predicted: Vec<&str> =
                labels.iter().map(|&label| model.labels()[label as usize].as_str()).collect();
            let known = (known.len() == gold.len()).then_some(&known[..]);
            found.evaluation.add_sequence(&gold, &predicted, known);
            if samples && !gold.is_empty() {
                let word = |row| sequence.word(row, word_column).to_owned();
                let marginal = |t, label| answers.marginal(t, label);
                let labels = [&predicted[..], &gold];
                found.samples.add(model.labels(), labels, marginal, || sequence.place(0).to_string(), word);
            }
        }
        Ok(())
    }
}

/// Compares the last two columns of a file.
fn compare_columns(path: &Path, encoding: Encoding) -> Result<Evaluation> {
    let mut reader = Reader::open(path, Format::Columns, encoding)?;
    let mut sequence = reader.sequence();
    let mut evaluation = Evaluation::default();
    while reader.read(&mut sequence)? {
        let columns = sequence.columns();
        if columns < 2 {
            let message = "one column, but the last two are to be compared: gold and predicted labels";
            return Err(Error::input(sequence.place(0), message).into());
        }
        let column = |column: usize| -> Vec<&str> {
            (0..sequence.len()).map(|row| sequence.label(row, column)).collect()
        };
        evaluation.add_sequence(&column(columns - 2), &column(columns - 1), None);
    }
    if evaluation.scores().sequences == 0 {
        return Err(Error::input(Place::new(input::name(path), 0), "no sequence in it").into());
    }
    Ok(evaluation)
}
