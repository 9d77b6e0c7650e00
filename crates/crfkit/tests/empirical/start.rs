//! Co-occurrence rates as a start for the likelihood.

use crfkit::chain::{ChainCorpus, CorpusBuilder, initial_weights};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::text::{Encoding, Lines};
use crfkit::graph::{NODES, PAIR};
use crfkit::model::{Features, Keep};
use crfkit::train::{Settings, features};

fn corpus(template: &str, text: &str) -> ChainCorpus {
    let templates = Templates::compile(template, Dialect::Crfpp, "template").unwrap();
    let mut builder = CorpusBuilder::new(Source::Templates(templates));
    let mut reader = ColumnReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8));
    let mut sequence = Columns::default();
    while reader.read(&mut sequence).unwrap() {
        builder.add_columns(&sequence, 1).unwrap();
    }
    builder.finish(1).unwrap()
}

/// The weight of an observation and a label; 0 where there is no feature.
fn weight(corpus: &ChainCorpus, features: &Features, theta: &[f64], name: &str, label: usize) -> f64 {
    let rows = &features.rows[NODES];
    let named = |id: &u32| corpus.domain.alphabet.name(&corpus.domain.source, false, *id) == name;
    let row = (0..rows.len as u32).find(named).unwrap();
    let mut weights = rows.entries_of(row).zip(&theta[rows.range(row)]);
    weights.find(|(entry, _)| *entry == label).map_or(0.0, |(_, w)| *w)
}

/// The weight of a label pair; 0 where there is no feature.
fn pair(features: &Features, theta: &[f64], i: usize, j: usize) -> f64 {
    let table = &features.tables[PAIR];
    let entry = (i * features.rows[NODES].stride() + j) as u32;
    let found = table.entry.iter().position(|&other| other == entry);
    found.map_or(0.0, |k| theta[table.base + k])
}

#[test]
fn weights_are_those_of_the_counts() {
    // Tokens: A 3, B 1; neighbours: A A, A B.
    let corpus = corpus("U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[0,0]/%x[1,0]\nB\n", "x A\nx A\n\nx A\ny B\n");
    for keep in [Keep::Observed, Keep::All] {
        let features =
            features(&corpus, &Settings { features: keep, boundaries: true, ..Settings::default() });
        let theta = initial_weights(&corpus.data, corpus.domain.labels.len(), &features);
        let close = |w: f64, expected: f64| assert!((w - expected).abs() < 1e-12, "{keep:?}: {w} {expected}");
        let word = |name, label| weight(&corpus, &features, &theta, name, label);
        // Each token has three observations, and each of these a third of the estimate.
        close(word("U1:x", 0), (3.0f64 / (10.0 * 0.75)).ln_1p() / 3.0);
        close(word("U1:y", 1), (1.0f64 / (10.0 * 0.25)).ln_1p() / 3.0);
        close(word("U1:x", 1), 0.0);
        close(word("U0:x", 0), (1.0f64 / (10.0 * 0.75)).ln_1p() / 3.0);
        close(word("U0:x", 1), (1.0f64 / (10.0 * 0.25)).ln_1p() / 3.0);
        close(pair(&features, &theta, 0, 0), (0.5f64 / 0.75).ln() + 4.0);
        close(pair(&features, &theta, 0, 1), (0.5f64 / 0.75).ln() + 4.0);
        close(pair(&features, &theta, 1, 0), 0.0);
        assert_eq!(theta.iter().filter(|w| **w != 0.0).count(), 11, "all others are 0");
    }
}
