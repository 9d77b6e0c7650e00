//! `crfkit tag`: labels sequences as they come in.

pub mod grid;
mod layout;
pub mod linked;
pub mod typed;

use crate::args::{Decode, Output, PictureArgs, TagArgs};
use crate::error::{stdout_failed, usage};
use crate::input::{self, GraphModel, Reader, Sequence};
use crate::loaded::{Loaded, Worker};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use crfkit::infer::Engine;
use layout::Layout;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a labelling cannot be had.
pub const NOT_OF_SEQUENCES: &str =
    "this --decode is for pictures and graphs: sequences have viterbi and max-marginal";

/// Says on standard error that the answers about a picture or a sequence are not to be trusted.
fn note_rough(place: impl std::fmt::Display) {
    let _ =
        writeln!(std::io::stderr(), "crfkit: {place}: inference had not settled: probabilities are rough");
}

/// Tags a file to standard output.
pub fn run(args: &TagArgs) -> Result<ExitCode> {
    match (&args.grid.images, &args.output_dir) {
        (Some(images), Some(output)) => return grid::run(args, images, output),
        (Some(_), None) => return Err(usage("--images needs --output-dir DIR for the label images")),
        (None, _) => {}
    }
    let graphs = read_graph_model(&args.model)?;
    if let Some(GraphModel::Typed(model)) = graphs {
        return typed::run(args, model);
    }
    let decode = decode(&args.grid, &args.model)?;
    if args.model.len() > 1 && (args.probability || (args.output == Output::Crfpp && args.marginals)) {
        return Err(usage(
            "several models have no common probability of a whole labelling: ask for --marginals",
        ));
    }
    if args.nbest.is_some() && decode == Decode::MaxMarginal {
        return Err(usage("--nbest lists the best whole labellings: it goes with --decode viterbi only"));
    }
    if let Some(GraphModel::Linked(model)) = graphs {
        return linked::run(args, model);
    }
    refuse_inference(args.grid.inference)?;
    let models = Loaded::read_all(&args.model)?;
    let format = args.input.format.unwrap_or(models[0].format());
    let reader = Reader::open(&args.file, format, args.input.encoding)?;
    let job = Tagging { layout: Layout::new(&models[0], args), decode };
    let mut stdout = std::io::stdout();
    pipeline::run(&job, reader, &mut Worker::crew(&models, args.input.threads()), |text: &Vec<u8>| {
        Ok(stdout.write_all(text).map_err(stdout_failed)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The one model of pictures or graphs.
pub fn only(models: &[PathBuf]) -> Result<&Path> {
    match models {
        [model] => Ok(model),
        _ => Err(usage("one model, please: only models of plain chains label together")),
    }
}

/// The model of pictures, graphs or linked chains that is given; `None` if there is none, but one of plain chains, or several.
pub fn read_graph_model(models: &[PathBuf]) -> Result<Option<GraphModel>> {
    for model in models {
        if let Some(found) = input::read_graph_model(model)? {
            only(models)?;
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The labelling of sequences that is asked for. Several models have marginals only, and those are all that is asked for by default.
pub fn decode(args: &PictureArgs, models: &[PathBuf]) -> Result<Decode> {
    match args.of_sequences() {
        None => Err(usage(NOT_OF_SEQUENCES)),
        Some(_) if models.len() > 1 && args.decode == Some(Decode::Viterbi) => {
            Err(usage("several models have no common best sequence: leave out --decode viterbi"))
        }
        Some(_) if models.len() > 1 => Ok(Decode::MaxMarginal),
        Some(decode) => Ok(decode),
    }
}

/// Chains are always solved exactly.
pub fn refuse_inference(engine: Option<Engine>) -> Result<()> {
    match engine {
        None | Some(Engine::Exact) => Ok(()),
        Some(_) => Err(usage(
            "--inference is for models of pictures, graphs, factorial and skip chains: this one is a chain, solved exactly",
        )),
    }
}

struct Tagging {
    layout: Layout,
    decode: Decode,
}

impl Job for Tagging {
    type Item = Sequence;
    type Worker = Worker;
    type Outcome = Vec<u8>;

    fn work(&self, worker: &mut Worker, block: &Block<Sequence>, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        let mut labels = Vec::new();
        for sequence in block.items() {
            let answers = worker.take_in(sequence)?;
            labels.clear();
            labels.extend_from_slice(match self.decode {
                Decode::MaxMarginal => answers.max_marginal(),
                _ => answers.viterbi(),
            });
            self.layout.write(sequence, answers, &labels, text)?;
        }
        Ok(())
    }
}
