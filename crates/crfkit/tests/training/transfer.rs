//! Weights carried over from a model of chains to another corpus.

use crate::corpora;

use corpora::column_corpus;
use crfkit::chain::{ChainCorpus, ChainModel};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::graph::{NODES, PAIR, PAIRS};
use crfkit::model::{Features, Keep};
use crfkit::train::{Settings, features};
use std::collections::HashMap;

fn corpus(template: &str, text: &str) -> ChainCorpus {
    let templates = Templates::compile(template, Dialect::Crfpp, "template").unwrap();
    column_corpus(text, Source::Templates(templates), 1)
}

/// A model whose weight number k is k + 1.
fn model(corpus: ChainCorpus, settings: &Settings) -> ChainModel {
    let features = features(&corpus, settings);
    let weights: Vec<f64> = (1..=features.dim()).map(|k| k as f64).collect();
    let (features, settings) = (features.into(), settings.clone());
    ChainModel { domain: corpus.domain, features, weights: weights.into(), settings }
}

/// Weights by observation and labels, all by name.
fn named(corpus: &ChainCorpus, features: &Features, theta: &[f64]) -> HashMap<String, f64> {
    let domain = &corpus.domain;
    let stride = features.rows[NODES].stride();
    let labels = |entry: usize, pair: bool| match pair {
        true => format!("{} {}", domain.labels[entry / stride], domain.labels[entry % stride]),
        false => domain.labels[entry].clone(),
    };
    let mut weights = HashMap::new();
    for (kind, rows) in features.rows.iter().enumerate() {
        for id in 0..rows.len as u32 {
            let name = domain.alphabet.name(&domain.source, kind == PAIRS, id);
            for (entry, w) in rows.entries_of(id).zip(&theta[rows.range(id)]) {
                weights.insert(format!("{name} {}", labels(entry, kind == PAIRS)), *w);
            }
        }
    }
    for (id, table) in features.tables.iter().enumerate() {
        for (&entry, w) in table.entry.iter().zip(&theta[table.base..]) {
            weights.insert(format!("table {id} {}", labels(entry as usize, id == PAIR)), *w);
        }
    }
    weights
}

#[test]
fn weights_follow_their_names() {
    let template = "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB1:%x[0,0]\n";
    let old = corpus(template, "a X\nb Y\n\nb Y\nc Z\na X\n");
    // Other words, another order of templates, one label gone and eight new ones: every number changes.
    let more: String = (0..8).map(|k| format!("n{k} A{k}\n")).collect();
    let new = corpus("U1:%x[-1,0]\nU0:%x[0,0]\nB1:%x[0,0]\nB\n", &format!("{more}\nc Z\na X\nb X\na X\n"));
    for keep in [Keep::Observed, Keep::All] {
        let settings = Settings { features: keep, boundaries: true, ..Settings::default() };
        let (of_old, of_new) = (features(&old, &settings), features(&new, &settings));
        let model = model(old.clone(), &settings);
        let theta = model.weights_for(&new, &of_new).unwrap();
        let before = named(&old, &of_old, &model.weights);
        let after = named(&new, &of_new, &theta);
        assert!(after.values().filter(|w| **w != 0.0).count() > 5);
        for (name, w) in &after {
            assert_eq!(*w, before.get(name).copied().unwrap_or(0.0), "{name}");
        }
        assert_eq!(model.weights_for(&old, &of_old).unwrap(), model.weights[..], "onto itself");
    }
}
