//! Graphs from a file: one JSON object per line, or arrays.

use super::{EachInput, TrainingData, check_label_weights};
use crate::args::TrainArgs;
use crate::error::usage;
use crate::io::{GraphFile, is_archive, name, read_arrays};
use crate::log::DataSize;
use crate::pipeline::Source;
use anyhow::Result;
use crfkit::domain::Domain;
use crfkit::grid::Tables;
use crfkit::train::Settings;
use crfkit::typed::{TypedBuilder, TypedCorpus, TypedDomain, TypedModel};
use crfkit::{Error, Place, counted};
use std::path::Path;
use std::sync::Arc;

impl TrainingData for TypedDomain {
    type Applied = TypedModel;
    const NEEDED: &'static str = "graphs from a file";

    fn applied(model: &Arc<TypedModel>) -> Arc<TypedModel> {
        model.clone()
    }

    fn check(args: &TrainArgs) -> Result<()> {
        check_label_weights(args)
    }

    fn read_training(args: &TrainArgs) -> Result<TypedCorpus> {
        let mut corpus = match args.train.iter().any(|path| is_archive(path)) {
            true => corpus_of_arrays(args)?,
            false => corpus_of_lines(args)?,
        };
        corpus.set_label_weights(args.label_weight.iter().cloned())?;
        Ok(corpus)
    }

    fn for_each_dev(args: &TrainArgs, path: &Path, domain: &Self, each: EachInput<Self>) -> Result<()> {
        if is_archive(path) {
            let mut graphs = read_arrays(path)?.into_graphs(&domain.types, &name(path))?;
            return graphs.try_for_each(|graph| each(&graph));
        }
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
            "{}, {} with a label, {} without, {} of nodes, {} of factors, {}; inference: {}",
            counted(counts.sequences, "graph"),
            counted(labelled, "node"),
            counts.tokens - labelled,
            counted(corpus.domain.types.nodes().len(), "type"),
            corpus.domain.types.factors().len(),
            counted(counts.features, "feature"),
            settings.inference.unwrap_or(corpus.domain.engine()).name()
        )
    }
}

/// Reads files of JSON lines.
fn corpus_of_lines(args: &TrainArgs) -> Result<TypedCorpus> {
    if args.grid.tables.is_some() {
        return Err(usage("--tables is for arrays: a file of JSON lines declares the tables of its types"));
    }
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

/// Reads archives of arrays. The types follow from all of them: the first one has the numbers of columns, and the largest
/// label of any gives the number of labels.
fn corpus_of_arrays(args: &TrainArgs) -> Result<TypedCorpus> {
    if let Some(path) = args.train.iter().find(|path| !is_archive(path)) {
        anyhow::bail!("{}: other files are archives of arrays (.npz): give one kind of file", name(path));
    }
    let archives = args.train.iter().map(|path| Ok((name(path), read_arrays(path)?)));
    let archives = archives.collect::<Result<Vec<_>>>()?;
    let labels = archives.iter().map(|(_, arrays)| arrays.labels()).max().unwrap_or(0);
    let Some((first, arrays)) = archives.first().filter(|_| labels > 0) else {
        anyhow::bail!(
            "there is no label in the arrays: `labels` of nodes, or `Y` beside `X`, are needed here"
        );
    };
    let types = arrays.types(labels, args.grid.tables.unwrap_or(Tables::Full));
    let types = types.map_err(|error| Error::input(Place::new(first, 0), error.to_string()))?;
    let mut builder = TypedBuilder::new(types.clone());
    let mut examples = 0;
    for (name, arrays) in archives {
        for graph in arrays.into_graphs(&types, &name)? {
            examples += 1;
            if args.part.takes(examples - 1) {
                builder.add_graph(graph)?;
            }
        }
    }
    Ok(builder.finish(1)?)
}

/// Calls `each` with all lines of a file, which must not be empty.
fn for_each(args: &TrainArgs, path: &Path, mut each: impl FnMut(&str, &Place) -> Result<()>) -> Result<()> {
    let mut reader = GraphFile::lines(path, &args.input.reading(None))?;
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
