//! The layouts in which labelled sequences are written.

use super::Wanted;
use crate::args::{Marginals, Output};
use crate::error::usage;
use anyhow::Result;
use crfkit::answers::ChainAnswers;
use crfkit::chain::Sequence;
use crfkit::data::columns::Columns;
use crfkit::eval::{ChunkLabels, chunks, is_chunked};
use crfkit::graph::Label;
use crfkit::tag::chunk_probability;
use std::io::Write;
use std::ops::Range;

/// What a JSON object repeats of its input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Echo {
    /// Nothing: the rows of the output are those of the input.
    #[default]
    Nothing,
    /// The tokens, as JSON lines have them.
    Tokens,
    /// The text and its tokens.
    Text,
    /// The text, its tokens, and where it begins in which line.
    Sentence,
}

impl Wanted {
    /// Rejects questions that a layout has no place for.
    pub fn check(&self) -> Result<()> {
        if self.arrays && (self.probability || self.nbest > 0) {
            return Err(usage(
                "arrays hold labels and marginals: for --probability and --nbest, leave out --output-file",
            ));
        }
        let asked = self.marginals.is_some() || self.probability || self.nbest > 0;
        if self.confidence && matches!(self.output, Output::Crfpp | Output::Brackets) {
            return Err(usage("--confidence is for --output columns and json"));
        }
        if self.confidence && self.marginals.is_some() && self.output == Output::Columns {
            return Err(usage(
                "--confidence and --marginals are one column each: choose one, or use --output json",
            ));
        }
        match self.output == Output::Brackets && asked {
            true => Err(usage(
                "--output brackets shows labels alone: use --output columns or json for probabilities",
            )),
            false => Ok(()),
        }
    }
}

/// Writes labelled sequences into memory, without an allocation per token.
pub struct RowLayout<'a> {
    /// What is wanted.
    pub wanted: &'a Wanted,
    /// Names of the labels.
    pub names: &'a [String],
    /// The number of columns that are not labels.
    pub values: usize,
}

/// Labels of a sequence with their probability, if it is wanted.
struct Labelling<'a> {
    labels: &'a [Label],
    probability: Option<f64>,
}

impl RowLayout<'_> {
    /// Appends a sequence with `labels`.
    pub fn write(
        &self,
        sequence: &Sequence,
        answers: &mut ChainAnswers,
        labels: &[Label],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Wanted { output, marginals, probability, nbest, .. } = *self.wanted;
        // crf_test -v1 has the probability of the sequence in front of those of the labels.
        let probability = probability || (output == Output::Crfpp && marginals.is_some());
        let best = Labelling { labels, probability: probability.then(|| answers.probability(labels)) };
        match output {
            Output::Json => return self.json(sequence, answers, &best, out),
            Output::Brackets => {
                let Sequence::Columns { rows, .. } = sequence else {
                    return Err(usage("--output brackets shows words, which attribute lists do not have"));
                };
                brackets(self.wanted, rows, &self.named(labels), out);
                return Ok(());
            }
            Output::Columns | Output::Crfpp => {}
        }
        if nbest == 0 {
            match best.probability {
                Some(probability) if self.wanted.confidence => {
                    writeln!(out, "# {probability:.6} {:.6}", answers.entropy())?;
                }
                Some(probability) => writeln!(out, "# {probability:.6}")?,
                None => {}
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
        let converted = self.converted(labels);
        let sure = if self.wanted.confidence { self.confidences(answers, labels) } else { Vec::new() };
        for (row, &label) in labels.iter().enumerate() {
            if let Sequence::Columns { rows, .. } = sequence {
                for field in rows.row(row) {
                    out.extend_from_slice(field.as_bytes());
                    out.push(b'\t');
                }
            }
            let name = converted.as_ref().map_or(&self.names[label as usize], |names| &names[row]);
            out.extend_from_slice(name.as_bytes());
            match self.wanted.marginals {
                Some(_) if self.wanted.output == Output::Crfpp => {
                    write!(out, "/{:.6}", answers.marginal(row, label))?
                }
                Some(Marginals::Chosen) => write!(out, "\t{:.6}", answers.marginal(row, label))?,
                _ => {}
            }
            if self.wanted.marginals == Some(Marginals::All) {
                for (label, name) in self.names.iter().enumerate() {
                    write!(out, "\t{name}/{:.6}", answers.marginal(row, label as Label))?;
                }
            }
            if let Some(probability) = sure.get(row) {
                write!(out, "\t{probability:.6}")?;
            }
            out.push(b'\n');
        }
        out.push(b'\n');
        Ok(())
    }

    /// The chunks of a labelling with their probabilities; none where labels are not chunks.
    fn chunks(&self, answers: &mut ChainAnswers, labels: &[Label]) -> Vec<(Range<usize>, &str, f64)> {
        if !is_chunked(self.names.iter().map(String::as_str)) {
            return Vec::new();
        }
        let marks = ChunkLabels::new(self.names);
        let found = chunks(&self.named(labels)).into_iter().map(|(tokens, kind)| {
            let probability = chunk_probability(answers, &marks, tokens.clone(), kind);
            (tokens, kind, probability)
        });
        found.collect()
    }

    /// For each token the probability of its chunk, or of its label where it is in none.
    fn confidences(&self, answers: &mut ChainAnswers, labels: &[Label]) -> Vec<f64> {
        let labelled = labels.iter().enumerate();
        let mut sure: Vec<f64> = labelled.map(|(row, &label)| answers.marginal(row, label)).collect();
        for (tokens, _, probability) in self.chunks(answers, labels) {
            sure[tokens].fill(probability);
        }
        sure
    }

    /// One JSON object, on one line.
    fn json(
        &self,
        sequence: &Sequence,
        answers: &mut ChainAnswers,
        best: &Labelling,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.push(b'{');
        if let Sequence::Columns { rows, .. } = sequence
            && self.wanted.echo != Echo::Nothing
        {
            self.wanted.echo.members(rows, self.values, out)?;
        }
        self.json_labels(best.labels, out)?;
        if let (Sequence::Columns { rows, .. }, Echo::Text | Echo::Sentence) = (sequence, self.wanted.echo) {
            out.extend_from_slice(b",\"spans\":");
            json_spans(rows, &self.named(best.labels), out)?;
        }
        if let Some(which) = self.wanted.marginals {
            out.extend_from_slice(b",\"marginals\":[");
            for (row, &label) in best.labels.iter().enumerate() {
                if row > 0 {
                    out.push(b',');
                }
                match which {
                    Marginals::Chosen => serde_json::to_writer(&mut *out, &answers.marginal(row, label))?,
                    Marginals::All => {
                        json_object(self.names, |label| answers.marginal(row, label as Label), out)?;
                    }
                }
            }
            out.push(b']');
        }
        if let Some(probability) = best.probability {
            out.extend_from_slice(b",\"probability\":");
            serde_json::to_writer(&mut *out, &probability)?;
        }
        if self.wanted.confidence {
            out.extend_from_slice(b",\"entropy\":");
            serde_json::to_writer(&mut *out, &answers.entropy())?;
            out.extend_from_slice(b",\"chunks\":[");
            for (index, (tokens, kind, probability)) in
                self.chunks(answers, best.labels).into_iter().enumerate()
            {
                let comma = if index == 0 { "" } else { "," };
                write!(out, "{comma}{{\"start\":{},\"end\":{},\"label\":", tokens.start, tokens.end)?;
                serde_json::to_writer(&mut *out, kind)?;
                out.extend_from_slice(b",\"probability\":");
                serde_json::to_writer(&mut *out, &probability)?;
                out.push(b'}');
            }
            out.push(b']');
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
        let converted = self.converted(labels);
        out.extend_from_slice(b"\"labels\":[");
        for (row, &label) in labels.iter().enumerate() {
            if row > 0 {
                out.push(b',');
            }
            let name = converted.as_ref().map_or(&self.names[label as usize], |names| &names[row]);
            serde_json::to_writer(&mut *out, name)?;
        }
        out.push(b']');
        Ok(())
    }

    /// The labels in another notation, if one is wanted.
    fn converted(&self, labels: &[Label]) -> Option<Vec<String>> {
        Some(self.wanted.scheme?.labels(&self.named(labels)))
    }

    fn named(&self, labels: &[Label]) -> Vec<&str> {
        labels.iter().map(|&label| &*self.names[label as usize]).collect()
    }
}

/// `{"A":0.9,"B":0.1}`: names in their order, each with its number.
fn json_object(names: &[String], mut number: impl FnMut(usize) -> f64, out: &mut Vec<u8>) -> Result<()> {
    for (index, name) in names.iter().enumerate() {
        out.push(if index == 0 { b'{' } else { b',' });
        serde_json::to_writer(&mut *out, name)?;
        out.push(b':');
        serde_json::to_writer(&mut *out, &number(index))?;
    }
    out.push(b'}');
    Ok(())
}

impl Echo {
    /// Appends the members of a JSON object that repeat the input, each with a comma behind it. The first `values` columns are not labels.
    pub fn members(self, rows: &Columns, values: usize, out: &mut Vec<u8>) -> Result<()> {
        if self == Echo::Sentence {
            write!(out, "\"line\":{},\"offset\":{},", rows.line(0), rows.offset())?;
        }
        if matches!(self, Echo::Text | Echo::Sentence) {
            out.extend_from_slice(b"\"text\":");
            serde_json::to_writer(&mut *out, rows.text())?;
            out.push(b',');
        }
        out.extend_from_slice(b"\"tokens\":[");
        let values = values.min(rows.columns());
        for row in 0..rows.len() {
            if row > 0 {
                out.push(b',');
            }
            match values {
                1 => serde_json::to_writer(&mut *out, rows.field(row, 0))?,
                _ => serde_json::to_writer(&mut *out, &rows.row(row).take(values).collect::<Vec<_>>())?,
            }
        }
        out.extend_from_slice(b"],");
        Ok(())
    }
}

/// The labelled parts of a sequence: its chunks, or each token where labels are not chunks.
fn parts<'a>(labels: &[&'a str]) -> Vec<(Range<usize>, &'a str)> {
    match is_chunked(labels.iter().copied()) || labels.iter().all(|label| *label == "O") {
        true => chunks(labels),
        false => labels.iter().enumerate().map(|(token, label)| (token..token + 1, *label)).collect(),
    }
}

/// `[{"start":0,"end":1,"label":"QTY","text":"2"},…]`: the labelled parts of a text, with their characters counted from 0.
pub fn json_spans(rows: &Columns, labels: &[&str], out: &mut Vec<u8>) -> Result<()> {
    let text = rows.text();
    let (mut bytes, mut characters) = (0, 0);
    let mut character = |at: usize| {
        characters += text[bytes..at].chars().count();
        bytes = at;
        characters
    };
    out.push(b'[');
    for (index, (tokens, label)) in parts(labels).into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let span = rows.span(tokens.start, 0).start..rows.span(tokens.end - 1, 0).end;
        write!(out, "{{\"start\":{},", character(span.start))?;
        write!(out, "\"end\":{},\"label\":", character(span.end))?;
        serde_json::to_writer(&mut *out, label)?;
        out.extend_from_slice(b",\"text\":");
        serde_json::to_writer(&mut *out, &text[span])?;
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

/// Appends a line of text with its labelled parts in brackets, each behind its label. Without a text, there is a space between the words.
pub fn brackets(wanted: &Wanted, rows: &Columns, labels: &[&str], out: &mut Vec<u8>) {
    let is_text = matches!(wanted.echo, Echo::Text | Echo::Sentence);
    let gap = |row: usize, out: &mut Vec<u8>| match (row, is_text) {
        (0, true) => out.extend_from_slice(&rows.text().as_bytes()[..rows.span(0, 0).start]),
        (0, false) => {}
        (_, true) => {
            out.extend_from_slice(&rows.text().as_bytes()[rows.span(row - 1, 0).end..rows.span(row, 0).start])
        }
        (_, false) => out.push(b' '),
    };
    let mut parts = parts(labels).into_iter().peekable();
    for row in 0..rows.len() {
        gap(row, out);
        if let Some((tokens, label)) = parts.peek()
            && tokens.start == row
        {
            out.push(b'[');
            out.extend_from_slice(label.as_bytes());
            out.push(b' ');
        }
        out.extend_from_slice(rows.field(row, 0).as_bytes());
        if parts.next_if(|(tokens, _)| tokens.end == row + 1).is_some() {
            out.push(b']');
        }
    }
    out.push(b'\n');
}
