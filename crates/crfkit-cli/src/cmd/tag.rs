//! `crfkit tag`: labels sequences as they come in.

pub mod grid;
mod layout;

use crate::args::{Decode, TagArgs};
use crate::error::{stdout_failed, usage};
use crate::input::Reader;
use crate::loaded::{Loaded, Worker};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use layout::Layout;
use std::io::Write;
use std::process::ExitCode;

/// Tags a file to standard output.
pub fn run(args: &TagArgs) -> Result<ExitCode> {
    match (&args.grid.images, &args.output_dir) {
        (Some(images), Some(output)) => return grid::run(args, images, output),
        (Some(_), None) => return Err(usage("--images needs --output-dir DIR for the label images")),
        (None, _) => {}
    }
    let Some(decode) = args.grid.of_sequences() else {
        return Err(usage("this --decode is for --images: sequences have viterbi and max-marginal"));
    };
    if args.nbest.is_some() && decode == Decode::MaxMarginal {
        return Err(usage("--nbest lists the best whole labellings: it goes with --decode viterbi only"));
    }
    let model = Loaded::read(&args.model)?;
    let format = args.input.format.unwrap_or(model.format());
    let reader = Reader::open(&args.file, format, args.input.encoding)?;
    let job = Tagging { layout: Layout::new(&model, args), decode };
    let mut stdout = std::io::stdout();
    pipeline::run(&job, reader, &mut model.workers(args.input.threads()), |text: &Vec<u8>| {
        Ok(stdout.write_all(text).map_err(stdout_failed)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

struct Tagging {
    layout: Layout,
    decode: Decode,
}

impl Job for Tagging {
    type Worker = Worker;
    type Outcome = Vec<u8>;

    fn work(&self, worker: &mut Worker, block: &Block, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        let mut labels = Vec::new();
        for sequence in block.sequences() {
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
