//! Sequences: CoNLL columns and CRFsuite attributes.

use super::open::interactive;
use super::{Door, InputPlace, Inputs, Wanted, name, open_lines};
use crate::args::{Format, Output, TrainArgs};
use crate::flags::ModelKind;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::any::{Ensemble, Member};
use crfkit::chain::Sequence;
use crfkit::data::attributes::{AttributeReader, Attributes};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::observer;
use crfkit::data::presets::preset;
use crfkit::data::template::Templates;
use crfkit::data::text::Encoding;
use crfkit::graph::Label;
use crfkit::tag::{Judgement, Labeller, Tagger};
use crfkit::{Error, answers::ChainAnswers};
use crfkit_report::Samples;
use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::Path;

/// Reads the sequences of one file in either format.
pub struct SequenceReader {
    lines: FormatReader,
    interactive: bool,
    label_column: Option<i32>,
}

enum FormatReader {
    Columns(ColumnReader<Box<dyn Read + Send>>),
    Attributes(AttributeReader<Box<dyn Read + Send>>),
}

impl SequenceReader {
    /// Opens a file, or standard input for `-`. Every sequence of columns gets the label's column.
    pub fn open(
        path: &Path,
        format: Format,
        encoding: Encoding,
        label_column: Option<i32>,
    ) -> crfkit::Result<Self> {
        let lines = open_lines(path, encoding)?;
        let lines = match format {
            Format::Columns => FormatReader::Columns(ColumnReader::new(lines)),
            Format::Attributes => FormatReader::Attributes(AttributeReader::new(lines)),
        };
        Ok(SequenceReader { lines, interactive: interactive(path), label_column })
    }
}

impl Source for SequenceReader {
    type Item = Sequence;

    fn item(&self) -> Sequence {
        match self.lines {
            FormatReader::Columns(_) => {
                Sequence::Columns { rows: Columns::default(), label_column: self.label_column }
            }
            FormatReader::Attributes(_) => Sequence::Attributes(Attributes::default()),
        }
    }

    fn read(&mut self, sequence: &mut Sequence) -> crfkit::Result<bool> {
        match (&mut self.lines, sequence) {
            (FormatReader::Columns(reader), Sequence::Columns { rows, .. }) => reader.read(rows),
            (FormatReader::Attributes(reader), Sequence::Attributes(attributes)) => reader.read(attributes),
            _ => unreachable!("a sequence of the other format"),
        }
    }

    fn tokens(sequence: &Sequence) -> usize {
        sequence.len()
    }

    fn interactive(&self) -> bool {
        self.interactive
    }
}

/// The templates that the user asks for; `columns` is the number of columns that are not labels.
pub fn templates(args: &TrainArgs, columns: usize) -> Result<Templates> {
    let Some(path) = &args.template else { return Ok(preset(&args.preset)?.compile(columns)?) };
    let file = name(path);
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(&*file, error))?;
    Ok(Templates::compile(&text, args.template_dialect, &file)?)
}

/// The format of the data that a model was trained on.
fn format_of(member: &Member) -> Format {
    match member {
        Member::Weighted(model) => match model.domain.source {
            observer::Source::Attributes => Format::Attributes,
            observer::Source::Templates(_) => Format::Columns,
        },
        Member::Empirical(_) => Format::Columns,
    }
}

impl Door for Ensemble {
    type Source = SequenceReader;
    const NOTHING: &'static str = "no sequence in it";

    fn kind(&self) -> ModelKind {
        match &self.members()[0] {
            Member::Weighted(_) => ModelKind::Chain,
            Member::Empirical(_) => ModelKind::Counts,
        }
    }

    fn open(&self, inputs: &Inputs) -> Result<SequenceReader> {
        let InputPlace::File(path) = &inputs.place else {
            anyhow::bail!("a model of sequences: apply it to a file, without --images")
        };
        let format = format_of(&self.members()[0]);
        if inputs.format.is_some_and(|asked| asked != format) {
            let (trained, flag) = match format {
                Format::Columns => ("columns", "--format columns"),
                Format::Attributes => ("attribute lines", "--format attributes"),
            };
            anyhow::bail!("this model was trained on {trained}: use {flag}");
        }
        if let Some(other) =
            self.members().iter().find(|member| format_of(member) != format_of(&self.members()[0]))
        {
            anyhow::bail!(
                "models that label together must be trained on one format of data, but one was trained on {:?}",
                format_of(other)
            );
        }
        Ok(SequenceReader::open(path, format, inputs.encoding, inputs.label_column)?)
    }

    fn input<'a>(&self, sequence: &'a Sequence) -> Result<Option<Cow<'a, Sequence>>> {
        Ok(Some(Cow::Borrowed(sequence)))
    }

    fn write(
        &self,
        wanted: &Wanted,
        sequence: &Sequence,
        labels: &[Label],
        tagger: &mut Tagger<Self>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        RowLayout { wanted, names: self.labels() }.write(sequence, tagger.answers(), labels, out)
    }

    fn sample(
        &self,
        sequence: &Sequence,
        labels: &[Label],
        tagger: &mut Tagger<Self>,
        samples: &mut [Samples],
    ) -> Result<()> {
        if sequence.is_empty() {
            return Ok(());
        }
        let word_column = match &self.members()[0] {
            Member::Weighted(model) => model.domain.layout_of(sequence)?.map_or(0, |layout| layout.word()),
            Member::Empirical(model) => model.settings().word_column,
        };
        let truth = self.truth(sequence)?;
        let gold: Vec<&str> = truth.labels.iter().map(|label| label.as_deref().unwrap_or("")).collect();
        let predicted: Vec<&str> =
            labels.iter().map(|&label| self.labels()[label as usize].as_str()).collect();
        let marginal = |t, label| tagger.marginal(t, label);
        let word = |t| sequence.word(t, word_column).to_owned();
        let place = || sequence.place(0).to_string();
        samples[0].add(self.labels(), [&predicted[..], &gold], marginal, place, word);
        Ok(())
    }

    fn text(&self, judgement: &Judgement, _sequences: u64) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        judgement.sets[0].write_text(&mut out)?;
        Ok(out)
    }

    fn json(&self, judgement: &Judgement, _sequences: u64) -> Result<String> {
        Ok(serde_json::to_string(&judgement.sets[0].scores())?)
    }
}

/// Writes labelled sequences into memory, without an allocation per token.
struct RowLayout<'a> {
    wanted: &'a Wanted,
    names: &'a [String],
}

/// Labels of a sequence with their probability, if it is wanted.
struct Labelling<'a> {
    labels: &'a [Label],
    probability: Option<f64>,
}

impl RowLayout<'_> {
    /// Appends a sequence with `labels`.
    fn write(
        &self,
        sequence: &Sequence,
        answers: &mut ChainAnswers,
        labels: &[Label],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Wanted { output, marginals, probability, nbest, .. } = *self.wanted;
        // crf_test -v1 has the probability of the sequence in front of those of the labels.
        let probability = probability || (output == Output::Crfpp && marginals);
        let best = Labelling { labels, probability: probability.then(|| answers.probability(labels)) };
        if output == Output::Json {
            return self.json(answers, &best, out);
        }
        if nbest == 0 {
            if let Some(probability) = best.probability {
                writeln!(out, "# {probability:.6}")?;
            }
            return self.block(sequence, answers, labels, out);
        }
        for (rank, ranked) in answers.nbest(nbest)?.iter().enumerate() {
            writeln!(out, "# {rank} {:.6}", answers.probability(&ranked.labels))?;
            self.block(sequence, answers, &ranked.labels, out)?;
        }
        Ok(())
    }

    /// The rows of a sequence, and an empty line.
    fn block(
        &self,
        sequence: &Sequence,
        answers: &mut ChainAnswers,
        labels: &[Label],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for (row, &label) in labels.iter().enumerate() {
            if let Sequence::Columns { rows, .. } = sequence {
                for field in rows.row(row) {
                    out.extend_from_slice(field.as_bytes());
                    out.push(b'\t');
                }
            }
            out.extend_from_slice(self.names[label as usize].as_bytes());
            if self.wanted.marginals {
                out.push(if self.wanted.output == Output::Crfpp { b'/' } else { b'\t' });
                write!(out, "{:.6}", answers.marginal(row, label))?;
            }
            out.push(b'\n');
        }
        out.push(b'\n');
        Ok(())
    }

    /// One JSON object, on one line.
    fn json(&self, answers: &mut ChainAnswers, best: &Labelling, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'{');
        self.json_labels(best.labels, out)?;
        if self.wanted.marginals {
            out.extend_from_slice(b",\"marginals\":[");
            for (row, &label) in best.labels.iter().enumerate() {
                if row > 0 {
                    out.push(b',');
                }
                serde_json::to_writer(&mut *out, &answers.marginal(row, label))?;
            }
            out.push(b']');
        }
        if let Some(probability) = best.probability {
            out.extend_from_slice(b",\"probability\":");
            serde_json::to_writer(&mut *out, &probability)?;
        }
        if self.wanted.nbest > 0 {
            out.extend_from_slice(b",\"nbest\":[");
            for (rank, ranked) in answers.nbest(self.wanted.nbest)?.iter().enumerate() {
                out.extend_from_slice(if rank == 0 { b"{" } else { b",{" });
                self.json_labels(&ranked.labels, out)?;
                out.extend_from_slice(b",\"probability\":");
                serde_json::to_writer(&mut *out, &answers.probability(&ranked.labels))?;
                out.push(b'}');
            }
            out.push(b']');
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    fn json_labels(&self, labels: &[Label], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"\"labels\":[");
        for (row, &label) in labels.iter().enumerate() {
            if row > 0 {
                out.push(b',');
            }
            serde_json::to_writer(&mut *out, &self.names[label as usize])?;
        }
        out.push(b']');
        Ok(())
    }
}
