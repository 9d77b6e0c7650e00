//! How good a model of graphs is: nodes by type, and whole graphs.

use crate::args::EvalArgs;
use crate::cmd::tag::grid::decode;
use crate::cmd::tag::typed::taggers;
use crate::error::{stdout_failed, usage};
use crate::input::{self, LineReader, NumberedLine};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use crfkit::data::text::Encoding;
use crfkit::eval::{Evaluation, Scores};
use crfkit::graph::{Label, UNLABELLED};
use crfkit::typed::{Decode, Share, Type, TypedModel, TypedScores, TypedTagger};
use crfkit::{Error, Place};
use crfkit_report::{EvaluationPart, Samples};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Evaluates and prints.
pub fn run(args: &EvalArgs, model: Arc<TypedModel>, test: &Path) -> Result<ExitCode> {
    if args.label_column.is_some() || args.input.format.is_some() {
        return Err(usage("--label-column and --format are for sequences, not for graphs: leave them out"));
    }
    let mut workers = taggers(model.clone(), args.grid.inference, args.input.threads());
    let scores = judge(&mut workers, decode(&args.grid)?, test, args.input.encoding)?.scores;
    let text = if args.json { json(&scores, &model).to_string() + "\n" } else { text(&scores, &model) };
    std::io::stdout().write_all(text.as_bytes()).map_err(stdout_failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The scores of a model on a file of development data: the accuracy of all nodes, and that of whole graphs.
pub fn scores(model: &Arc<TypedModel>, path: &Path, encoding: Encoding, threads: usize) -> Result<Scores> {
    let mut workers = taggers(model.clone(), None, threads);
    let found = judge(&mut workers, Decode::default(), path, encoding)?.scores;
    let (nodes, graphs) = (found.all_nodes(), found.graphs);
    Ok(Scores {
        accuracy: nodes.percent(),
        sequence_accuracy: graphs.percent(),
        tokens: nodes.all,
        sequences: graphs.all,
        ..Scores::default()
    })
}

/// What a page says of a model and a file, type of nodes by type of nodes.
pub fn parts(
    model: &Arc<TypedModel>,
    path: &Path,
    encoding: Encoding,
    threads: usize,
) -> Result<Vec<EvaluationPart>> {
    let found = judge(&mut taggers(model.clone(), None, threads), Decode::default(), path, encoding)?;
    let part = |(evaluation, of): (&Evaluation, &Type)| {
        let name = format!("{}, {}", input::name(path), of.name);
        EvaluationPart::new(&name, evaluation, Samples::default())
    };
    Ok(found.types.iter().zip(model.types.nodes()).map(part).collect())
}

/// What a model does on labelled data.
#[derive(Default)]
struct Found {
    scores: TypedScores,
    /// By type of nodes; the nodes of one type in one graph count as a sequence.
    types: Vec<Evaluation>,
}

/// Labels a file and compares.
fn judge(workers: &mut [TypedTagger], decode: Decode, path: &Path, encoding: Encoding) -> Result<Found> {
    let mut all = Found::default();
    pipeline::run(&Judging(decode), LineReader::open(path, encoding)?, workers, |found: &Found| {
        all.scores.merge(&found.scores);
        all.types.resize_with(found.types.len().max(all.types.len()), Evaluation::default);
        all.types.iter_mut().zip(&found.types).for_each(|(all, one)| all.merge(one));
        Ok(())
    })?;
    if all.scores.graphs.all == 0 {
        let message = "no graph in it has a label to compare with";
        return Err(Error::input(Place::new(input::name(path), 0), message).into());
    }
    Ok(all)
}

/// Types of nodes with their scores.
fn by_type<'a>(scores: &'a TypedScores, model: &'a TypedModel) -> impl Iterator<Item = (&'a str, &'a Share)> {
    model.types.nodes().iter().map(|of| of.name.as_str()).zip(&scores.nodes)
}

fn json(scores: &TypedScores, model: &TypedModel) -> Value {
    let one = |(name, share): (&str, &Share)| {
        (name.to_owned(), json!({ "accuracy": share.percent(), "nodes": share.all }))
    };
    let types: Map<String, Value> = by_type(scores, model).map(one).collect();
    let (nodes, graphs) = (scores.all_nodes(), scores.graphs);
    json!({
        "accuracy": nodes.percent(),
        "nodes": nodes.all,
        "joint_accuracy": graphs.percent(),
        "graphs": graphs.all,
        "types": types,
    })
}

fn text(scores: &TypedScores, model: &TypedModel) -> String {
    let line = |what: &str, share: &Share, of: &str| {
        format!("{what:<24}{:6.2}%  ({} {of})\n", share.percent(), share.all)
    };
    let mut text = String::new();
    for (name, share) in by_type(scores, model) {
        text += &line(&format!("{name}:"), share, "nodes");
    }
    text += &line("node accuracy:", &scores.all_nodes(), "nodes");
    text + &line("joint accuracy:", &scores.graphs, "graphs")
}

/// Labels by this decoder, and compares.
struct Judging(Decode);

impl Job for Judging {
    type Item = NumberedLine;
    type Worker = TypedTagger;
    type Outcome = Found;

    fn work(&self, tagger: &mut TypedTagger, block: &Block<NumberedLine>, found: &mut Found) -> Result<()> {
        let model = tagger.model().clone();
        let types = model.types.nodes();
        *found = Found { types: vec![Evaluation::default(); types.len()], ..Found::default() };
        for line in block.items() {
            let Some(graph) = tagger.read(&line.text, &line.place)? else { continue };
            tagger.graph(&graph)?;
            let labels = tagger.labels(self.0)?;
            found.scores.add(&model.types, &graph, labels);
            for (kind, (of, evaluation)) in types.iter().zip(&mut found.types).enumerate() {
                let nodes =
                    (0..labels.len()).filter(|&v| graph.nodes[v] == kind && graph.gold[v] != UNLABELLED);
                let name = |label: Label| of.labels[label as usize].as_str();
                let pairs = nodes.map(|v| (name(graph.gold[v]), name(labels[v])));
                let (gold, predicted): (Vec<&str>, Vec<&str>) = pairs.unzip();
                if !gold.is_empty() {
                    evaluation.add_sequence(&gold, &predicted, None);
                }
            }
        }
        Ok(())
    }
}
