//! How labelled sequences are written. Into memory, without allocating for a token.

use crate::args::{Output, TagArgs};
use crate::input::Sequence;
use crate::loaded::Loaded;
use anyhow::Result;
use crfkit::answers::Answers;
use crfkit::graph::Label;
use std::io::Write;

/// What is written, and how.
pub struct Layout {
    output: Output,
    marginals: bool,
    probability: bool,
    nbest: usize,
    /// Label names as they are written: plain, or as JSON strings.
    names: Vec<String>,
}

/// Labels of a sequence with their probability, where it is wanted.
struct Labelling<'a> {
    labels: &'a [Label],
    probability: Option<f64>,
}

impl Layout {
    /// The layout that the arguments ask for.
    pub fn new(model: &Loaded, args: &TagArgs) -> Self {
        let json = args.output == Output::Json;
        let name = |label: &String| match json {
            true => serde_json::Value::from(label.as_str()).to_string(),
            false => label.clone(),
        };
        Layout {
            output: args.output,
            marginals: args.marginals,
            // crf_test -v1 has the probability of the sequence in front of those of the labels.
            probability: args.probability || (args.output == Output::Crfpp && args.marginals),
            nbest: args.nbest.map_or(0, |n| n.get()),
            names: model.labels().iter().map(name).collect(),
        }
    }

    /// Appends a sequence with `labels`.
    pub fn write(
        &self,
        sequence: &Sequence,
        answers: &mut Answers,
        labels: &[Label],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let best = Labelling { labels, probability: self.probability.then(|| answers.probability(labels)) };
        if self.output == Output::Json {
            return self.json(answers, &best, out);
        }
        if self.nbest == 0 {
            if let Some(probability) = best.probability {
                writeln!(out, "# {probability:.6}")?;
            }
            return self.block(sequence, answers, labels, out);
        }
        for (rank, ranked) in answers.nbest(self.nbest).iter().enumerate() {
            writeln!(out, "# {rank} {:.6}", answers.probability(&ranked.labels))?;
            self.block(sequence, answers, &ranked.labels, out)?;
        }
        Ok(())
    }

    /// The rows of a sequence, and an empty line.
    fn block(
        &self,
        sequence: &Sequence,
        answers: &mut Answers,
        labels: &[Label],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for (row, &label) in labels.iter().enumerate() {
            if let Sequence::Columns(columns) = sequence {
                for field in columns.row(row) {
                    out.extend_from_slice(field.as_bytes());
                    out.push(b'\t');
                }
            }
            out.extend_from_slice(self.names[label as usize].as_bytes());
            if self.marginals {
                out.push(if self.output == Output::Crfpp { b'/' } else { b'\t' });
                write!(out, "{:.6}", answers.marginal(row, label))?;
            }
            out.push(b'\n');
        }
        out.push(b'\n');
        Ok(())
    }

    /// One JSON object, on one line.
    fn json(&self, answers: &mut Answers, best: &Labelling, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'{');
        self.json_labels(best.labels, out);
        if self.marginals {
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
        if self.nbest > 0 {
            out.extend_from_slice(b",\"nbest\":[");
            for (rank, ranked) in answers.nbest(self.nbest).iter().enumerate() {
                out.extend_from_slice(if rank == 0 { b"{" } else { b",{" });
                self.json_labels(&ranked.labels, out);
                out.extend_from_slice(b",\"probability\":");
                serde_json::to_writer(&mut *out, &answers.probability(&ranked.labels))?;
                out.push(b'}');
            }
            out.push(b']');
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    fn json_labels(&self, labels: &[Label], out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"labels\":[");
        for (row, &label) in labels.iter().enumerate() {
            if row > 0 {
                out.push(b',');
            }
            out.extend_from_slice(self.names[label as usize].as_bytes());
        }
        out.push(b']');
    }
}
