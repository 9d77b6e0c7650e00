//! Trains on graphs of any shape, whose types are declared in the first line (docs/GRAPHS.md describes the format).
//!
//! `cargo run -p crfkit --example factor_graph`

use crfkit::answers::Answers;
use crfkit::train::{Kind, Method};
use crfkit::typed::{Decode, TypedBuilder, TypedTagger};
use crfkit::{Place, Trainer};
use std::sync::Arc;

/// Pages that link to each other tend to be about the same topic.
const GRAPHS: &str = r#"{"types": {"page": {"labels": ["cooking", "travel"]}, "link": {"over": ["page", "page"], "table": "potts"}}}
{"nodes": [{"type": "page", "label": "cooking", "features": ["flour"]}, {"type": "page", "label": "cooking", "features": ["oven"]}], "factors": [{"type": "link", "nodes": [0, 1]}]}
{"nodes": [{"type": "page", "label": "travel", "features": ["train"]}, {"type": "page", "label": "travel", "features": ["hotel"]}], "factors": [{"type": "link", "nodes": [0, 1]}]}
{"nodes": [{"type": "page", "label": "travel", "features": ["hotel"]}, {"type": "page", "label": "cooking", "features": ["flour"]}], "factors": []}
"#;

/// Three pages in a ring; the last one has no feature that training has seen.
const NEW: &str = r#"{"nodes": [{"type": "page", "features": ["oven"]}, {"type": "page", "features": ["flour"]}, {"type": "page", "features": ["?"]}], "factors": [{"type": "link", "nodes": [0, 1]}, {"type": "link", "nodes": [1, 2]}, {"type": "link", "nodes": [2, 0]}]}"#;

fn main() -> crfkit::Result<()> {
    let mut builder = TypedBuilder::default();
    for (number, line) in (1..).zip(GRAPHS.lines()) {
        builder.add(line, &Place::new("graphs", number))?;
    }
    let corpus = builder.finish(1)?;
    let model = Trainer::for_kind(Kind::Graph).optimizer(Method::Lbfgs).train_corpus(corpus, None)?.model;

    let model = Arc::new(model);
    let graph = model.domain.read_line(NEW, &Place::new("new", 1))?.expect("the line holds a graph");
    let mut tagger = TypedTagger::new(model.clone());
    let answers = tagger.load(&graph)?;
    let labels = answers.labels(Decode::MaxMarginal)?.to_vec();
    for (node, label) in labels.into_iter().enumerate() {
        let name = &model.domain.types.nodes()[graph.nodes[node]].labels[label as usize];
        println!("page {node}: {name} {:.3}", answers.probability_of(node, label)?);
    }
    Ok(())
}
