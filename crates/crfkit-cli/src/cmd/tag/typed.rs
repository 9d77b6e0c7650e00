//! Labels of graphs from a file.

use super::grid::decode;
use crate::args::{Output, TagArgs};
use crate::error::{stdout_failed, usage};
use crate::input::{LineReader, NumberedLine};
use crate::pipeline::{self, Block, Job};
use anyhow::Result;
use crfkit::infer::Engine;
use crfkit::typed::{Decode, TypedGraph, TypedModel, TypedTagger};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// Labels a file of graphs: one JSON object a graph on standard output, in the order of the file.
pub fn run(args: &TagArgs, model: Arc<TypedModel>) -> Result<ExitCode> {
    let refused = [
        ("--nbest", args.nbest.is_some()),
        ("--probability", args.probability),
        ("--format", args.input.format.is_some()),
        ("--output crfpp", args.output == Output::Crfpp),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(usage(format!("{option} is for sequences, not for graphs: leave it out")));
    }
    let job = Tagging { decode: decode(&args.grid)?, marginals: args.marginals };
    let reader = LineReader::open(&args.file, args.input.encoding)?;
    let mut workers = taggers(model, args.grid.inference, args.input.threads());
    let mut stdout = std::io::stdout();
    pipeline::run(&job, reader, &mut workers, |text: &Vec<u8>| {
        Ok(stdout.write_all(text).map_err(stdout_failed)?)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Workers that share one model.
pub fn taggers(model: Arc<TypedModel>, engine: Option<Engine>, threads: usize) -> Vec<TypedTagger> {
    let engine = engine.unwrap_or(model.engine);
    let first = TypedTagger::new(model, engine);
    let mut taggers: Vec<TypedTagger> = (1..threads).map(|_| first.another()).collect();
    taggers.push(first);
    taggers
}

struct Tagging {
    decode: Decode,
    marginals: bool,
}

impl Job for Tagging {
    type Item = NumberedLine;
    type Worker = TypedTagger;
    type Outcome = Vec<u8>;

    fn work(&self, tagger: &mut TypedTagger, block: &Block<NumberedLine>, text: &mut Vec<u8>) -> Result<()> {
        text.clear();
        for line in block.items() {
            let Some(graph) = tagger.read(&line.text, &line.place)? else { continue };
            tagger.graph(&graph)?;
            serde_json::to_writer(&mut *text, &self.answer(tagger, &graph)?)?;
            text.push(b'\n');
        }
        Ok(())
    }
}

impl Tagging {
    /// `{"labels":[…],"marginals":[{"N":0.9,"V":0.1},…],"converged":true}`: `labels` is always there, `marginals` when asked for,
    /// `converged` where there are marginals behind the answer.
    fn answer(&self, tagger: &mut TypedTagger, graph: &TypedGraph) -> Result<Value> {
        let model = tagger.model().clone();
        let names = |node: usize| &model.types.nodes()[graph.nodes[node]].labels;
        let labels = tagger.labels(self.decode)?.iter().enumerate();
        let labels: Vec<&str> = labels.map(|(node, &label)| &*names(node)[label as usize]).collect();
        let mut object = json!({ "labels": labels });
        if self.marginals {
            let row = |(node, row): (usize, &[f64])| {
                names(node).iter().cloned().zip(row.iter().map(|&p| Value::from(p))).collect::<Map<_, _>>()
            };
            let rows: Vec<Map<String, Value>> = tagger.marginals()?.enumerate().map(row).collect();
            object["marginals"] = rows.into();
        }
        if let Some(converged) = tagger.converged() {
            object["converged"] = converged.into();
        }
        Ok(object)
    }
}
