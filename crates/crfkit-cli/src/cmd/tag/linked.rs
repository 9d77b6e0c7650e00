//! Labels of factorial and skip chains.

use super::note_rough;
use crate::args::{Decode, Format, Output, TagArgs};
use crate::error::{stdout_failed, usage};
use crate::input::{Reader, Sequence};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use crfkit::data::columns::Columns;
use crfkit::graph::Label;
use crfkit::infer::Engine;
use crfkit::linked::{LinkedModel, LinkedTagger};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Tags a file to standard output: all input columns, then one label for each label column.
pub fn run(args: &TagArgs, model: Arc<LinkedModel>) -> Result<ExitCode> {
    check_format(args.input.format)?;
    let refused = [
        ("--nbest", args.nbest.is_some()),
        ("--probability", args.probability),
        ("--output crfpp", args.output == Output::Crfpp),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(usage(format!("{option} is for models of plain chains: leave it out")));
    }
    let reader = Reader::open(&args.file, Format::Columns, args.input.encoding)?;
    let Some(decode) = args.grid.of_sequences() else {
        return Err(usage(super::NOT_OF_SEQUENCES));
    };
    let job = Tagging { decode, output: args.output, marginals: args.marginals };
    let mut stdout = std::io::stdout();
    let mut workers = taggers(model, args.grid.inference, args.input.threads())?;
    pipeline::run(&job, reader, &mut workers, |text: &Vec<u8>| {
        Ok(stdout.write_all(text).map_err(stdout_failed)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Such models know columns only.
pub fn check_format(format: Option<Format>) -> Result<()> {
    match format {
        Some(Format::Attributes) => Err(usage("this model was trained on columns: use --format columns")),
        _ => Ok(()),
    }
}

/// Workers that share one model.
pub fn taggers(
    model: Arc<LinkedModel>,
    engine: Option<Engine>,
    threads: usize,
) -> crfkit::Result<Vec<LinkedTagger>> {
    let engine = engine.unwrap_or(model.engine);
    let first = LinkedTagger::new(model, engine)?;
    let mut taggers = (1..threads).map(|_| first.another()).collect::<crfkit::Result<Vec<_>>>()?;
    taggers.push(first);
    Ok(taggers)
}

struct Tagging {
    decode: Decode,
    output: Output,
    marginals: bool,
}

impl Job for Tagging {
    type Item = Sequence;
    type Worker = LinkedTagger;
    type Outcome = Vec<u8>;

    fn work(&self, tagger: &mut LinkedTagger, block: &Block<Sequence>, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        for sequence in block.items() {
            let Sequence::Columns(columns) = sequence else { unreachable!("columns are read") };
            tagger.columns(columns)?;
            let labels = match self.decode {
                Decode::MaxMarginal => tagger.max_marginal().to_vec(),
                _ => tagger.best().to_vec(),
            };
            match self.output {
                Output::Json => self.json(tagger, &labels, text)?,
                Output::Columns | Output::Crfpp => self.rows(tagger, columns, &labels, text)?,
            }
            if self.output != Output::Json && tagger.converged() == Some(false) {
                note_rough(columns.place(0));
            }
        }
        Ok(())
    }
}

impl Tagging {
    fn rows(
        &self,
        tagger: &mut LinkedTagger,
        sequence: &Columns,
        labels: &[Label],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let model = tagger.model().clone();
        for row in 0..sequence.len() {
            let mut separator = "";
            for field in sequence.row(row) {
                write!(out, "{separator}{field}")?;
                separator = "\t";
            }
            for (c, names) in model.labels.iter().enumerate() {
                let label = labels[row * model.labels.len() + c];
                write!(out, "\t{}", names[label as usize])?;
                if self.marginals {
                    write!(out, "\t{:.6}", tagger.marginal(row, c, label))?;
                }
            }
            out.push(b'\n');
        }
        out.push(b'\n');
        Ok(())
    }

    /// `{"labels":[[…],[…]],"marginals":[[…],[…]],"converged":true}`: a list for each label column; `converged` where there are
    /// marginals behind the answer.
    fn json(&self, tagger: &mut LinkedTagger, labels: &[Label], out: &mut Vec<u8>) -> Result<()> {
        let model = tagger.model().clone();
        let count = model.labels.len();
        let of = |c: usize| labels.iter().copied().skip(c).step_by(count).enumerate();
        let named = |c: usize| of(c).map(|(_, label)| &*model.labels[c][label as usize]).collect::<Vec<_>>();
        let mut object = serde_json::json!({ "labels": (0..count).map(named).collect::<Vec<_>>() });
        if self.marginals {
            let mut certain =
                |c: usize| -> Vec<f64> { of(c).map(|(row, label)| tagger.marginal(row, c, label)).collect() };
            object["marginals"] = (0..count).map(&mut certain).collect::<Vec<_>>().into();
        }
        if let Some(converged) = tagger.converged() {
            object["converged"] = converged.into();
        }
        serde_json::to_writer(&mut *out, &object)?;
        out.push(b'\n');
        Ok(())
    }
}
