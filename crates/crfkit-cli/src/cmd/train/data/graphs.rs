//! Graphs from a file: one JSON object per line.

use super::{EachInput, TrainingData};
use crate::args::TrainArgs;
use crate::io::{GraphLines, name};
use crate::log::DataSize;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::domain::Domain;
use crfkit::train::Settings;
use crfkit::typed::{TypedBuilder, TypedCorpus, TypedDomain, TypedModel};
use crfkit::{Error, Place};
use std::path::Path;
use std::sync::Arc;

impl TrainingData for TypedDomain {
    type Applied = TypedModel;
    const NEEDED: &'static str = "graphs from a file";

    fn applied(model: &Arc<TypedModel>) -> Arc<TypedModel> {
        model.clone()
    }

    fn read_training(args: &TrainArgs) -> Result<TypedCorpus> {
        let mut builder = TypedBuilder::default();
        let mut examples = 0;
        for path in &args.train {
            for_each(args, path, |text, place| {
                // A line that declares types is no example.
                if text.trim().is_empty() || text.contains("\"types\"") && !text.contains("\"nodes\"") {
                    return Ok(builder.add(text, place)?);
                }
                examples += 1;
                match args.part.takes(examples - 1) {
                    true => Ok(builder.add(text, place)?),
                    false => Ok(()),
                }
            })?;
        }
        Ok(builder.finish(args.min_count)?)
    }

    fn for_each_dev(args: &TrainArgs, path: &Path, domain: &Self, each: EachInput<Self>) -> Result<()> {
        for_each(args, path, |text, place| match domain.read_line(text, place)? {
            Some(graph) => each(&graph),
            None => Ok(()),
        })
    }

    fn nothing(path: &Path) -> anyhow::Error {
        nothing(path)
    }

    fn describe(corpus: &TypedCorpus, counts: &DataSize, settings: &Settings) -> String {
        let labelled = corpus.labelled();
        format!(
            "{} graphs, {labelled} nodes with a label, {} without, {} types of nodes, {} of factors, {} features; inference: {}",
            counts.sequences,
            counts.tokens - labelled,
            corpus.domain.types.nodes().len(),
            corpus.domain.types.factors().len(),
            counts.features,
            settings.inference.unwrap_or(corpus.domain.engine()).name()
        )
    }
}

/// Calls `each` with all lines of a file, which must not be empty.
fn for_each(args: &TrainArgs, path: &Path, mut each: impl FnMut(&str, &Place) -> Result<()>) -> Result<()> {
    let mut reader = GraphLines::open(path, &args.input.reading(None))?;
    let mut line = reader.item();
    let mut empty = true;
    while reader.read(&mut line)? {
        each(&line.text, &line.place)?;
        empty = false;
    }
    if empty { Err(nothing(path)) } else { Ok(()) }
}

fn nothing(path: &Path) -> anyhow::Error {
    let message = "no graph in it: one per line is needed, as docs/GRAPHS.md describes";
    Error::input(Place::new(name(path), 0), message).into()
}
