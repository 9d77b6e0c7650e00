//! Factorial and skip chains: columns with one label column or several.

use super::open::interactive;
use super::{Door, InputPlace, Inputs, Wanted, note_rough, open_lines};
use crate::args::{Format, Output};
use crate::error::usage;
use crate::flags::ModelKind;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::answers::Answers;
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::eval::is_chunked;
use crfkit::graph::Label;
use crfkit::linked::{LinkedModel, LinkedTagger, Links};
use crfkit::tag::Judgement;
use crfkit_report::Samples;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{Read, Write};

/// Reads sequences of columns.
pub struct ColumnFile {
    lines: ColumnReader<Box<dyn Read + Send>>,
    interactive: bool,
}

impl Source for ColumnFile {
    type Item = Columns;

    fn item(&self) -> Columns {
        Columns::default()
    }

    fn read(&mut self, sequence: &mut Columns) -> crfkit::Result<bool> {
        self.lines.read(sequence)
    }

    fn tokens(sequence: &Columns) -> usize {
        sequence.len()
    }

    fn interactive(&self) -> bool {
        self.interactive
    }
}

impl Door for LinkedModel {
    type Source = ColumnFile;
    const NOTHING: &'static str = "no sequence in it";

    fn kind(&self) -> ModelKind {
        match self.domain.links {
            Links::Factorial => ModelKind::Factorial,
            Links::SkipChain { .. } => ModelKind::SkipChain,
        }
    }

    fn open(&self, inputs: &Inputs) -> Result<ColumnFile> {
        if inputs.format == Some(Format::Attributes) {
            return Err(usage("this model was trained on columns: use --format columns"));
        }
        let InputPlace::File(path) = &inputs.place else {
            anyhow::bail!("a model of sequences: apply it to a file, without --images")
        };
        let lines = ColumnReader::new(open_lines(path, inputs.encoding)?);
        Ok(ColumnFile { lines, interactive: interactive(path) })
    }

    fn input<'a>(&self, sequence: &'a Columns) -> Result<Option<Cow<'a, Columns>>> {
        Ok(Some(Cow::Borrowed(sequence)))
    }

    /// Writes all input columns, then one label for each label column.
    fn write(
        &self,
        wanted: &Wanted,
        sequence: &Columns,
        labels: &[Label],
        tagger: &mut LinkedTagger,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match wanted.output {
            Output::Json => write_json(self, wanted, labels, tagger, out)?,
            Output::Columns => write_rows(self, wanted, sequence, labels, tagger, out)?,
            Output::Crfpp => {
                return Err(usage("--output crfpp is for models of plain chains: leave it out"));
            }
        }
        if wanted.output != Output::Json && tagger.converged() == Some(false) {
            note_rough(sequence.place(0));
        }
        Ok(())
    }

    fn sample(
        &self,
        sequence: &Columns,
        labels: &[Label],
        tagger: &mut LinkedTagger,
        samples: &mut [Samples],
    ) -> Result<()> {
        if sequence.is_empty() {
            return Ok(());
        }
        let (count, word_column) = (self.domain.labels.len(), self.domain.word_column());
        tagger.answers().probability_of(0, 0)?; // fails here rather than below, where it cannot be reported
        for (c, (&column, names)) in self.domain.label_columns.iter().zip(&self.domain.labels).enumerate() {
            let gold: Vec<&str> = (0..sequence.len()).map(|row| sequence.field(row, column)).collect();
            let predicted = labels.iter().skip(c).step_by(count);
            let predicted: Vec<&str> = predicted.map(|&label| names[label as usize].as_str()).collect();
            let marginal =
                |t: usize, label| tagger.answers().probability_of(t * count + c, label).unwrap_or(f64::NAN);
            let word = |row| sequence.field(row, word_column).to_owned();
            let place = || sequence.place(0).to_string();
            samples[c].add(names, [&predicted[..], &gold], marginal, place, word);
        }
        Ok(())
    }

    fn text(&self, judgement: &Judgement, _sequences: u64) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for (evaluation, (column, labels)) in
            judgement.sets.iter().zip(self.domain.label_columns.iter().zip(&self.domain.labels))
        {
            let scores = evaluation.scores();
            writeln!(out, "label column {column}")?;
            if is_chunked(labels.iter().map(String::as_str)) {
                evaluation.write_conlleval(&mut out)?;
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
        if judgement.sets.len() > 1 {
            let joint = judgement.joint;
            writeln!(out, "joint accuracy:        {:6.2}%  ({} tokens)", joint.percent(), joint.all)?;
        }
        Ok(out)
    }

    fn json(&self, judgement: &Judgement, _sequences: u64) -> Result<String> {
        let mut columns = Vec::new();
        for (evaluation, (&column, labels)) in
            judgement.sets.iter().zip(self.domain.label_columns.iter().zip(&self.domain.labels))
        {
            let mut scores = serde_json::to_value(evaluation.scores())?;
            scores["column"] = column.into();
            if is_chunked(labels.iter().map(String::as_str)) {
                let field = |(name, counts): (&str, crfkit::eval::ChunkCounts)| {
                    let (precision, recall, f1) = (counts.precision(), counts.recall(), counts.f1());
                    (name.to_owned(), json!({ "precision": precision, "recall": recall, "f1": f1 }))
                };
                scores["token_f1"] = Value::Object(evaluation.fields().into_iter().map(field).collect());
            }
            columns.push(scores);
        }
        let joint = judgement.joint;
        Ok(json!({ "joint_accuracy": joint.percent(), "tokens": joint.all, "columns": columns }).to_string())
    }

    fn set_name(&self, set: usize) -> Option<String> {
        Some(format!("label column {}", self.domain.label_columns[set]))
    }
}

/// Appends the input columns with the labels, row by row.
fn write_rows(
    model: &LinkedModel,
    wanted: &Wanted,
    sequence: &Columns,
    labels: &[Label],
    tagger: &mut LinkedTagger,
    out: &mut Vec<u8>,
) -> Result<()> {
    let count = model.domain.labels.len();
    for row in 0..sequence.len() {
        let mut separator = "";
        for field in sequence.row(row) {
            write!(out, "{separator}{field}")?;
            separator = "\t";
        }
        for (c, names) in model.domain.labels.iter().enumerate() {
            let label = labels[row * count + c];
            write!(out, "\t{}", names[label as usize])?;
            if wanted.marginals {
                write!(out, "\t{:.6}", tagger.answers().probability_of(row * count + c, label)?)?;
            }
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    Ok(())
}

/// `{"labels":[[…],[…]],"marginals":[[…],[…]],"converged":true}`: a list for each label column; `converged` if the
/// answer needed marginals.
fn write_json(
    model: &LinkedModel,
    wanted: &Wanted,
    labels: &[Label],
    tagger: &mut LinkedTagger,
    out: &mut Vec<u8>,
) -> Result<()> {
    let count = model.domain.labels.len();
    let of = |c: usize| labels.iter().copied().enumerate().skip(c).step_by(count);
    let named =
        |c: usize| of(c).map(|(_, label)| &*model.domain.labels[c][label as usize]).collect::<Vec<_>>();
    let mut object = json!({ "labels": (0..count).map(named).collect::<Vec<_>>() });
    if wanted.marginals {
        let mut certain = |c: usize| -> crfkit::Result<Vec<f64>> {
            of(c).map(|(v, label)| tagger.answers().probability_of(v, label)).collect()
        };
        object["marginals"] = (0..count).map(&mut certain).collect::<crfkit::Result<Vec<_>>>()?.into();
    }
    if let Some(converged) = tagger.converged() {
        object["converged"] = converged.into();
    }
    serde_json::to_writer(&mut *out, &object)?;
    out.push(b'\n');
    Ok(())
}
