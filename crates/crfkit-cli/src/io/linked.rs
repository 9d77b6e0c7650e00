//! Factorial and skip chains: columns with one label column or several.

mod answers;

use super::layout::brackets;
use super::reasons::explain_mistakes;
use super::repeat::repeat_rows;
use super::{Door, InputPlace, Inputs, RowFile, Trained, Wanted, doubt_of_graph, note_rough};
use crate::args::{Format, Output, RankBy};
use crate::error::usage;
use crate::flags::ModelKind;
use crate::pipeline::{Pace, Source};
use answers::{write_columns, write_json};
use anyhow::Result;
use crfkit::answers::Answers;
use crfkit::data::columns::Columns;
use crfkit::data::rows::RowFormat;
use crfkit::eval::is_chunked;
use crfkit::graph::Label;
use crfkit::linked::{LinkedDomain, LinkedModel, LinkedTagger, Links};
use crfkit::tag::Judgement;
use crfkit_report::Samples;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Write;

impl Source for RowFile {
    type Item = Columns;

    fn item(&self) -> Columns {
        Columns::default()
    }

    fn read(&mut self, sequence: &mut Columns) -> crfkit::Result<bool> {
        RowFile::read(self, sequence)
    }

    fn tokens(sequence: &Columns) -> usize {
        sequence.len()
    }

    fn pace(&self) -> Pace {
        RowFile::pace(self)
    }

    fn ready(&mut self) -> crfkit::Result<bool> {
        RowFile::ready(self)
    }
}

impl Door for LinkedModel {
    type Source = RowFile;
    const NOTHING: &'static str = "no sequence in it";

    fn kind(&self) -> ModelKind {
        match self.domain.links {
            Links::Factorial => ModelKind::Factorial,
            Links::SkipChain { .. } => ModelKind::SkipChain,
        }
    }

    fn open(&self, inputs: &Inputs) -> Result<RowFile> {
        let InputPlace::File(path) = &inputs.place else {
            anyhow::bail!("a model of sequences: apply it to a file, without --images")
        };
        let LinkedDomain { fields, columns, .. } = &self.domain;
        let trained = Trained { fields: *fields, columns: Some(*columns) };
        let reading = &inputs.reading.of_model(path, &trained)?;
        let Some(format) = reading.rows_of(path, Format::Columns) else {
            return Err(usage("this model was trained on columns: use --format columns"));
        };
        let values = self.domain.columns - self.domain.label_columns.len();
        let last = self.domain.label_columns.iter().all(|&column| column >= values);
        if !last && matches!(format, RowFormat::Json | RowFormat::Lines | RowFormat::Sentences) {
            anyhow::bail!(
                "the labels came before other columns in training, but in this format they come last: use --format columns"
            );
        }
        if reading.text.is_some() {
            self.domain.check_words_alone()?;
        }
        let file = RowFile::open(path, reading, &format)?.at_most(Some(self.domain.columns), reading);
        Ok(file.labelled(self.domain.label_columns.iter().map(|&column| column as i32)))
    }

    fn input<'a>(&self, sequence: &'a Columns) -> Result<Option<Cow<'a, Columns>>> {
        Ok(Some(Cow::Borrowed(sequence)))
    }

    fn load_restricted(&self, sequence: &Columns, allowed: &[i32], tagger: &mut LinkedTagger) -> Result<()> {
        let answers = tagger.load(sequence)?;
        if !allowed.is_empty() {
            answers.allow(&self.domain.allowed_in(sequence, allowed)?)?;
        }
        Ok(())
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
            Output::Json => write_json(self, wanted, sequence, labels, tagger, out)?,
            Output::Columns => write_columns(self, wanted, sequence, labels, tagger, out)?,
            Output::Brackets => match &self.domain.labels[..] {
                [names] => {
                    let labels: Vec<&str> = labels.iter().map(|&label| &*names[label as usize]).collect();
                    brackets(wanted, sequence, &labels, out);
                }
                _ => return Err(usage("--output brackets is for one label column: use --output json")),
            },
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
        let (truth, mut added) = (tagger.truth(self, sequence)?, Vec::new());
        for (c, (names, samples)) in self.domain.labels.iter().zip(samples).enumerate() {
            let gold = truth.labels.iter().skip(c).step_by(count);
            let gold: Vec<Option<&str>> = gold.map(Option::as_deref).collect();
            let predicted = labels.iter().skip(c).step_by(count);
            let predicted: Vec<&str> = predicted.map(|&label| names[label as usize].as_str()).collect();
            let marginal =
                |t: usize, label| tagger.answers().probability_of(t * count + c, label).unwrap_or(f64::NAN);
            let word = |row| sequence.field(row, word_column).to_owned();
            let place = || sequence.place(0).to_string();
            added.push(samples.add(names, (&predicted, &gold), marginal, place, word));
        }
        for (c, sample) in added.into_iter().enumerate() {
            if let Some(sample) = sample {
                explain_mistakes(self, sequence, tagger, (c, sample))?;
            }
        }
        Ok(())
    }

    fn word(&self, sequence: &Columns, variable: usize) -> String {
        sequence.field(variable / self.domain.labels.len(), self.domain.word_column()).to_owned()
    }

    fn doubt(&self, by: RankBy, tagger: &mut LinkedTagger) -> Result<f64> {
        doubt_of_graph(by, tagger)
    }

    fn repeat(&self, sequence: &Columns, out: &mut Vec<u8>) -> Result<()> {
        repeat_rows(sequence, out)
    }

    fn variable_name(&self, sequence: &Columns, variable: usize) -> String {
        let columns = self.domain.labels.len();
        let word = sequence.field(variable / columns, self.domain.word_column());
        match columns {
            1 => word.to_owned(),
            _ => format!("{word} (column {})", self.domain.label_columns[variable % columns]),
        }
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
            writeln!(out, "joint accuracy:        {:6.2}%  ({} tokens)", joint.percent(), joint.total)?;
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
        Ok(json!({ "joint_accuracy": joint.percent(), "tokens": joint.total, "columns": columns })
            .to_string())
    }

    fn set_name(&self, set: usize) -> Option<String> {
        Some(format!("label column {}", self.domain.label_columns[set]))
    }
}
