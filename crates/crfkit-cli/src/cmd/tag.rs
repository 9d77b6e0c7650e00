//! `crfkit tag`: labels sequences as they come in.

mod layout;
pub mod linked;

use crate::args::{Decode, TagArgs};
use crate::error::{stdout_failed, usage};
use crate::input::{self, AnyModel, Reader, Sequence};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use crfkit::Error;
use crfkit::linked::Engine;
use crfkit::model::Model;
use crfkit::tag::Tagger;
use layout::Layout;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Tags a file to standard output.
pub fn run(args: &TagArgs) -> Result<ExitCode> {
    if args.nbest.is_some() && args.decode == Decode::MaxMarginal {
        return Err(usage("--nbest lists the best whole labellings: it goes with --decode viterbi only"));
    }
    let model = match input::read_any_model(&args.model)? {
        AnyModel::Linked(model) => return linked::run(args, model),
        AnyModel::Chain(model) => Arc::new(*model),
    };
    refuse_inference(args.inference)?;
    let format = args.input.format.unwrap_or(input::model_format(&model));
    let reader = Reader::open(&args.file, format, args.input.encoding)?;
    let job = Tagging { layout: Layout::new(&model, args), decode: args.decode };
    let mut stdout = std::io::stdout();
    pipeline::run(&job, reader, taggers(model, args.input.threads()), |text: &Vec<u8>| {
        Ok(stdout.write_all(text).map_err(stdout_failed)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Chains are always solved exactly.
pub fn refuse_inference(engine: Option<Engine>) -> Result<()> {
    match engine {
        None | Some(Engine::Exact) => Ok(()),
        Some(_) => Err(usage(
            "--inference is for models of factorial and skip chains: this one is a chain, solved exactly",
        )),
    }
}

/// Workers that share one model.
pub fn taggers(model: Arc<Model>, threads: usize) -> Vec<Tagger> {
    let first = Tagger::new(model);
    let mut taggers: Vec<Tagger> = (1..threads).map(|_| first.another()).collect();
    taggers.push(first);
    taggers
}

/// Gives a sequence to a tagger.
pub fn take_in(tagger: &mut Tagger, sequence: &Sequence) -> crfkit::Result<()> {
    match sequence {
        Sequence::Columns(columns) => {
            check_label_column(tagger.model(), sequence)?;
            tagger.columns(columns)
        }
        Sequence::Attributes(attributes) => tagger.attributes(attributes),
    }
}

/// Where the label was not the last column in training, leaving it out would shift those behind it, unnoticed.
fn check_label_column(model: &Model, sequence: &Sequence) -> crfkit::Result<()> {
    let setting = |name: &str| model.settings.get(name).and_then(serde_json::Value::as_i64);
    let (Some(label), Some(columns)) = (setting("label_column"), setting("columns")) else { return Ok(()) };
    let is_last = label == -1 || label == columns - 1;
    if is_last || sequence.len() == 0 || sequence.columns() as i64 >= columns {
        return Ok(());
    }
    let message = format!(
        "{} columns, but {columns} in training, with the label in column {label}, in front of others: give all of \
         them (any text will do for the label)",
        sequence.columns()
    );
    Err(Error::input(sequence.place(0), message))
}

struct Tagging {
    layout: Layout,
    decode: Decode,
}

impl Job for Tagging {
    type Worker = Tagger;
    type Outcome = Vec<u8>;

    fn work(&self, tagger: &mut Tagger, block: &Block, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        let mut labels = Vec::new();
        for sequence in block.sequences() {
            take_in(tagger, sequence)?;
            labels.clear();
            labels.extend_from_slice(match self.decode {
                Decode::Viterbi => tagger.viterbi(),
                Decode::MaxMarginal => tagger.max_marginal(),
            });
            self.layout.write(sequence, tagger, &labels, text)?;
        }
        Ok(())
    }
}
