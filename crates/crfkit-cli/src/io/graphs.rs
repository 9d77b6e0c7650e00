//! Graphs from a file: one JSON object per line.

use super::{Door, Feed, InputPlace, Inputs, Reading, Wanted};
use crate::args::Marginals;
use crate::flags::ModelKind;
use crate::pipeline::{Pace, Source};
use anyhow::Result;
use crfkit::Place;
use crfkit::data::text::{Lines, holds_line};
use crfkit::graph::Label;
use crfkit::tag::{Judgement, Share};
use crfkit::typed::{TypedGraph, TypedModel, TypedTagger};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// Reads a file line by line; workers parse the lines.
pub struct GraphLines {
    lines: Lines<Box<dyn Read + Send>>,
    feed: Feed,
}

/// A line, and where it was read.
#[derive(Debug)]
pub struct NumberedLine {
    /// The text, without the line ending.
    pub text: String,
    /// File and line.
    pub place: Place,
}

impl GraphLines {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, reading: &Reading) -> crfkit::Result<Self> {
        let (lines, feed) = Feed::open(path, reading)?;
        Ok(GraphLines { lines, feed })
    }
}

impl Source for GraphLines {
    type Item = NumberedLine;

    fn item(&self) -> NumberedLine {
        NumberedLine { text: String::new(), place: Place::new(self.lines.name(), 0) }
    }

    fn read(&mut self, line: &mut NumberedLine) -> crfkit::Result<bool> {
        let Some((text, number)) = self.lines.next_line()? else { return Ok(false) };
        line.text.clear();
        line.text.push_str(text);
        line.place.line = number;
        Ok(true)
    }

    /// A node of a graph takes about 64 bytes.
    fn tokens(line: &NumberedLine) -> usize {
        line.text.len() / 64 + 1
    }

    fn pace(&self) -> Pace {
        self.feed.pace()
    }

    fn ready(&mut self) -> crfkit::Result<bool> {
        self.lines.gather(holds_line, || self.feed.at_hand())
    }
}

impl Door for TypedModel {
    type Source = GraphLines;
    const NOTHING: &'static str = "no graph in it has a label to compare with";

    fn kind(&self) -> ModelKind {
        ModelKind::File
    }

    fn open(&self, inputs: &Inputs) -> Result<GraphLines> {
        let InputPlace::File(path) = &inputs.place else {
            anyhow::bail!("a model of graphs: apply it to a file of graphs, without --images")
        };
        Ok(GraphLines::open(path, &inputs.reading)?)
    }

    fn input<'a>(&self, line: &'a NumberedLine) -> Result<Option<Cow<'a, TypedGraph>>> {
        Ok(self.domain.read_line(&line.text, &line.place)?.map(Cow::Owned))
    }

    /// `{"labels":[…],"marginals":[0.9,…],"converged":true}`: `labels` is always there, `marginals` when asked for, as objects
    /// `{"N":0.9,"V":0.1}` for all labels, and `converged` if the answer needed marginals.
    fn write(
        &self,
        wanted: &Wanted,
        graph: &TypedGraph,
        labels: &[Label],
        tagger: &mut TypedTagger,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let names = |node: usize| &self.domain.types.nodes()[graph.nodes[node]].labels;
        let chosen = labels.iter().enumerate();
        let chosen: Vec<&str> = chosen.map(|(node, &label)| &*names(node)[label as usize]).collect();
        let mut object = json!({ "labels": chosen });
        if let Some(which) = wanted.marginals {
            let row = |(node, row): (usize, &[f64])| match which {
                Marginals::Chosen => Value::from(row[labels[node] as usize]),
                Marginals::All => {
                    names(node).iter().cloned().zip(row.iter().map(|&p| Value::from(p))).collect()
                }
            };
            let rows: Vec<Value> = tagger.answers().marginals()?.enumerate().map(row).collect();
            object["marginals"] = rows.into();
        }
        if let Some(converged) = tagger.converged() {
            object["converged"] = converged.into();
        }
        serde_json::to_writer(&mut *out, &object)?;
        out.push(b'\n');
        Ok(())
    }

    fn repeat(&self, line: &NumberedLine, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(line.text.as_bytes());
        out.push(b'\n');
        Ok(())
    }

    fn variable_name(&self, graph: &TypedGraph, node: usize) -> String {
        self.domain.types.nodes()[graph.nodes[node]].name.clone()
    }

    fn text(&self, judgement: &Judgement, _graphs: u64) -> Result<Vec<u8>> {
        let line = |what: &str, share: &Share, of: &str| {
            format!("{what:<24}{:6.2}%  ({} {of})\n", share.percent(), share.all)
        };
        let mut text = String::new();
        for (of, share) in self.domain.types.nodes().iter().zip(&judgement.shares) {
            text += &line(&format!("{}:", of.name), share, "nodes");
        }
        text += &line("node accuracy:", &judgement.all(), "nodes");
        text += &line("joint accuracy:", &judgement.joint, "graphs");
        Ok(text.into_bytes())
    }

    fn json(&self, judgement: &Judgement, _graphs: u64) -> Result<String> {
        let types =
            self.domain.types.nodes().iter().zip(&judgement.shares).map(|(of, share)| {
                (of.name.clone(), json!({ "accuracy": share.percent(), "nodes": share.all }))
            });
        let types: Map<String, Value> = types.collect();
        let (nodes, graphs) = (judgement.all(), judgement.joint);
        Ok(json!({
            "accuracy": nodes.percent(),
            "nodes": nodes.all,
            "joint_accuracy": graphs.percent(),
            "graphs": graphs.all,
            "types": types,
        })
        .to_string())
    }

    fn set_name(&self, set: usize) -> Option<String> {
        Some(self.domain.types.nodes()[set].name.clone())
    }
}
