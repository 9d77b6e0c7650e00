//! Graphs from a file: one JSON object per line, or arrays.

use super::classes::{add_labels, add_summary, share_line, write_summary};
use super::{Door, Feed, InputPlace, Inputs, Reading, Wanted, arrays, doubt_of_graph, name};
use crate::args::{Marginals, RankBy};
use crate::flags::ModelKind;
use crate::pipeline::{Pace, Source};
use anyhow::Result;
use crfkit::data::text::{Lines, holds_line};
use crfkit::domain::Domain;
use crfkit::graph::Label;
use crfkit::tag::Judgement;
use crfkit::typed::{GraphArrays, TypedDomain, TypedGraph, TypedModel, TypedTagger, Types};
use crfkit::{Error, Place};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::Path;

/// Reads a file line by line, or an archive of arrays graph by graph; workers parse the lines.
pub struct GraphFile {
    name: String,
    from: From,
}

enum From {
    Lines(Box<Lines<Box<dyn Read + Send>>>, Feed),
    Arrays(Box<dyn Iterator<Item = TypedGraph> + Send>),
}

/// A line and where it was read, or a graph of an archive.
#[derive(Debug)]
pub struct GraphItem {
    /// The text, without the line ending.
    pub text: String,
    /// File and line.
    pub place: Place,
    /// The graph, if it comes from an archive.
    pub graph: Option<TypedGraph>,
}

/// Whether a file is an archive of arrays, by its name.
pub fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npz"))
}

/// Reads an archive of arrays.
pub fn read_arrays(path: &Path) -> crfkit::Result<GraphArrays> {
    let bytes = std::fs::read(path).map_err(|error| Error::io(name(path), error))?;
    GraphArrays::read(&bytes, &name(path))
}

impl GraphFile {
    /// Opens a file of lines, or standard input for `-`.
    pub fn lines(path: &Path, reading: &Reading) -> crfkit::Result<Self> {
        let (lines, feed) = Feed::open(path, reading)?;
        Ok(GraphFile { name: lines.name().to_owned(), from: From::Lines(Box::new(lines), feed) })
    }

    /// Opens a file of lines or an archive, whose graphs must fit the types.
    pub fn open(path: &Path, reading: &Reading, types: &Types) -> crfkit::Result<Self> {
        if !is_archive(path) {
            return GraphFile::lines(path, reading);
        }
        let graphs = read_arrays(path)?.into_graphs(types, &name(path))?;
        Ok(GraphFile { name: name(path), from: From::Arrays(graphs) })
    }
}

impl Source for GraphFile {
    type Item = GraphItem;

    fn item(&self) -> GraphItem {
        GraphItem { text: String::new(), place: Place::new(&self.name, 0), graph: None }
    }

    fn read(&mut self, item: &mut GraphItem) -> crfkit::Result<bool> {
        match &mut self.from {
            From::Lines(lines, _) => {
                let Some((text, number)) = lines.next_line()? else { return Ok(false) };
                item.text.clear();
                item.text.push_str(text);
                item.place.line = number;
            }
            From::Arrays(graphs) => {
                let Some(graph) = graphs.next() else { return Ok(false) };
                item.place = TypedDomain::place(&graph);
                item.graph = Some(graph);
            }
        }
        Ok(true)
    }

    /// A node of a graph takes about 64 bytes.
    fn tokens(item: &GraphItem) -> usize {
        item.graph.as_ref().map_or(item.text.len() / 64, |graph| graph.nodes.len()) + 1
    }

    fn pace(&self) -> Pace {
        match &self.from {
            From::Lines(_, feed) => feed.pace(),
            From::Arrays(_) => Pace::Bulk,
        }
    }

    fn ready(&mut self) -> crfkit::Result<bool> {
        match &mut self.from {
            From::Lines(lines, feed) => lines.gather(holds_line, || feed.at_hand()),
            From::Arrays(_) => Ok(true),
        }
    }
}

impl Door for TypedModel {
    type Source = GraphFile;
    const NOTHING: &'static str = "no graph in it has a label to compare with";

    fn kind(&self) -> ModelKind {
        ModelKind::File
    }

    /// Numbers have no names: the contribution of number 3 of a type is called `3`, which a feature may be called too.
    fn describe_tests(&self, part: &str, observation: &str) -> String {
        let TypedDomain { types, names, .. } = &self.domain;
        let number = types.index_of(part).filter(|&kind| {
            let named = names[kind].find(observation.as_bytes()).is_some();
            !named && observation.parse::<usize>().is_ok_and(|number| number < types.all()[kind].dense)
        });
        let dense = if number.is_some() { "dense " } else { "" };
        format!("{part}: {dense}{observation}")
    }

    fn open(&self, inputs: &Inputs) -> Result<GraphFile> {
        let InputPlace::File(path) = &inputs.place else {
            anyhow::bail!("a model of graphs: apply it to a file of graphs, without --images")
        };
        Ok(GraphFile::open(path, &inputs.reading, &self.domain.types)?)
    }

    fn input<'a>(&self, line: &'a GraphItem) -> Result<Option<Cow<'a, TypedGraph>>> {
        if let Some(graph) = &line.graph {
            return Ok(Some(Cow::Borrowed(graph)));
        }
        Ok(self.domain.read_line(&line.text, &line.place)?.map(Cow::Owned))
    }

    /// `{"labels":[…],"marginals":[0.9,…],"converged":true}`: `labels` is always there, `marginals` when asked for, as objects
    /// `{"N":0.9,"V":0.1}` for all labels, and `converged` if the answer needed marginals; `probability` and `nbest` when asked for.
    fn write(
        &self,
        wanted: &Wanted,
        graph: &TypedGraph,
        labels: &[Label],
        tagger: &mut TypedTagger,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if wanted.arrays {
            return arrays::append(wanted, labels, tagger, out);
        }
        let ranked = match wanted.nbest {
            0 => Vec::new(),
            n => tagger.answers().nbest(n)?,
        };
        // Among equal labellings, it is the one that the list begins with.
        let labels = ranked.first().map_or(labels, |best| &best.labels);
        let names = |node: usize| &self.domain.types.nodes()[graph.nodes[node]].labels;
        let named = |labels: &[Label]| -> Vec<&str> {
            labels.iter().enumerate().map(|(node, &label)| &*names(node)[label as usize]).collect()
        };
        let mut object = json!({ "labels": named(labels) });
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
        if wanted.probability {
            object["probability"] = tagger.answers().probability(labels)?.into();
        }
        if wanted.nbest > 0 {
            let mut list = Vec::new();
            for ranked in &ranked {
                let probability = tagger.answers().probability(&ranked.labels)?;
                list.push(json!({ "labels": named(&ranked.labels), "probability": probability }));
            }
            object["nbest"] = list.into();
        }
        if let Some(converged) = tagger.converged() {
            object["converged"] = converged.into();
        }
        serde_json::to_writer(&mut *out, &object)?;
        out.push(b'\n');
        Ok(())
    }

    fn pack(&self, wanted: &Wanted, answers: &[u8], file: &Path) -> Result<Vec<u8>> {
        arrays::pack(&self.domain.types, wanted, answers, file)
    }

    fn repeat(&self, line: &GraphItem, out: &mut Vec<u8>) -> Result<()> {
        match &line.graph {
            None => out.extend_from_slice(line.text.as_bytes()),
            Some(_) => write!(out, "{}", line.place)?,
        }
        out.push(b'\n');
        Ok(())
    }

    fn doubt(&self, by: RankBy, tagger: &mut TypedTagger) -> Result<f64> {
        doubt_of_graph(by, tagger)
    }

    fn variable_name(&self, graph: &TypedGraph, node: usize) -> String {
        self.domain.types.nodes()[graph.nodes[node]].name.clone()
    }

    fn text(&self, judgement: &Judgement, _graphs: u64) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let types = self.domain.types.nodes();
        for (of, share) in types.iter().zip(&judgement.accuracies) {
            share_line(&format!("{}:", of.name), share, "nodes", &mut text)?;
        }
        share_line("node accuracy:", &judgement.overall(), "nodes", &mut text)?;
        write_summary(judgement, "nodes", "graphs", &mut text)?;
        for (of, evaluation) in types.iter().zip(&judgement.sets).filter(|(_, set)| !set.labels().is_empty())
        {
            writeln!(text, "\n{}", of.name)?;
            evaluation.write_classes("nodes", &mut text)?;
        }
        Ok(text)
    }

    fn json(&self, judgement: &Judgement, _graphs: u64) -> Result<String> {
        let scores = judgement.accuracies.iter().zip(&judgement.sets);
        let types = self.domain.types.nodes().iter().zip(scores).map(|(of, (share, evaluation))| {
            let mut scores = json!({ "accuracy": share.percent(), "nodes": share.total });
            scores["mean_class_accuracy"] = evaluation.mean_class_accuracy().into();
            add_labels(evaluation, &mut scores);
            (of.name.clone(), scores)
        });
        let types: Map<String, Value> = types.collect();
        let (nodes, graphs) = (judgement.overall(), judgement.joint);
        let mut object = json!({
            "accuracy": nodes.percent(),
            "nodes": nodes.total,
            "joint_accuracy": graphs.percent(),
            "graphs": graphs.total,
            "types": types,
        });
        add_summary(judgement, &mut object);
        Ok(object.to_string())
    }

    fn set_name(&self, set: usize) -> Option<String> {
        Some(self.domain.types.nodes()[set].name.clone())
    }
}
