//! CoNLL-2000: numbers of observations and weights that other toolkits count too, and a small training run.

use crate::corpora;

use corpora::{attribute_corpus, column_corpus, column_dev, real_text, scores, train};
use crfkit::chain::ChainCorpus;
use crfkit::data::observer::Source;
use crfkit::data::presets::preset;
use crfkit::model::Keep;
use crfkit::train::{Method, Settings, TrainOptions, features};
use std::fmt::Write;

fn chunking() -> Source {
    Source::Templates(preset("chunking").unwrap().compile(2).unwrap())
}

/// Labels other than B-NP and I-NP become O.
fn base_np(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((rest, label)) if !label.ends_with("-NP") => format!("{rest} O\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn weights(corpus: &ChainCorpus, keep: Keep) -> usize {
    features(corpus, &Settings { features: keep, ..Settings::default() }).dim()
}

#[test]
fn the_chunking_template_has_its_known_counts() {
    let Some(text) = real_text("the_chunking_template_has_its_known_counts", "conll2000/train.txt") else {
        return;
    };
    let all = column_corpus(&text, chunking(), 1);
    assert_eq!((all.data.len(), all.data.variables(), all.domain.labels.len()), (8936, 211_727, 22));
    assert_eq!(all.domain.alphabet.node.len(), 338_551);
    assert_eq!(weights(&all, Keep::All), 7_448_606);
    drop(all);
    let frequent = column_corpus(&text, chunking(), 3);
    assert_eq!(frequent.domain.alphabet.node.len(), 76_328);
    assert_eq!(weights(&frequent, Keep::All), 1_679_700);
    drop(frequent);
    let np = column_corpus(&base_np(&text), chunking(), 1);
    assert_eq!(np.domain.labels, ["B-NP", "I-NP", "O"]);
    assert_eq!(weights(&np, Keep::All), 1_015_662);
    // Pairs of observation and label that occur, and all but one of the nine label pairs: O I-NP does not.
    assert_eq!(weights(&np, Keep::Observed), 397_556 + 8);
}

/// The attributes of one token: words and parts of speech in a window of two, pairs and triples of neighbours. What reaches
/// outside the sentence gives none; the first and the last token are marked.
fn attributes_of(rows: &[Vec<&str>], at: usize, out: &mut String) {
    const WORD: usize = 0;
    const POS: usize = 1;
    let runs = [(WORD, 1, -2..=2), (WORD, 2, -1..=0), (POS, 1, -2..=2), (POS, 2, -2..=1), (POS, 3, -2..=0)];
    for (column, length, firsts) in runs {
        for first in firsts {
            let offsets = first..first + length;
            let value = |offset: isize| Some(rows.get(at.checked_add_signed(offset)?)?[column]);
            let Some(values) = offsets.clone().map(value).collect::<Option<Vec<_>>>() else { continue };
            let name = if column == WORD { "w" } else { "pos" };
            let names: Vec<String> = offsets.map(|offset| format!("{name}[{offset}]")).collect();
            let text = format!("{}={}", names.join("|"), values.join("|"));
            write!(out, "\t{}", text.replace('\\', "\\\\").replace(':', "\\:")).unwrap();
        }
    }
    if at == 0 {
        out.push_str("\t__BOS__");
    }
    if at + 1 == rows.len() {
        out.push_str("\t__EOS__");
    }
}

#[test]
fn attributes_have_as_many_features_as_elsewhere() {
    let Some(text) = real_text("attributes_have_as_many_features_as_elsewhere", "conll2000/train.txt") else {
        return;
    };
    let mut attributes = String::new();
    for sentence in text.split("\n\n") {
        let rows: Vec<Vec<&str>> =
            sentence.lines().filter(|l| !l.is_empty()).map(|l| l.split(' ').collect()).collect();
        for at in 0..rows.len() {
            attributes.push_str(rows[at][2]);
            attributes_of(&rows, at, &mut attributes);
            attributes.push('\n');
        }
        attributes.push('\n');
    }
    let corpus = attribute_corpus(&attributes, 1);
    drop(attributes);
    assert_eq!(weights(&corpus, Keep::Observed), 452_755);
}

/// The whole training set by the default method, and few sentences by one that only comes near the optimum.
#[test]
fn the_order_of_sentences_hardly_matters() {
    let name = "the_order_of_sentences_hardly_matters";
    let Some(text) = real_text(name, "conll2000/train.txt") else { return };
    let Some(test) = real_text(name, "conll2000/test.txt") else { return };
    let first: Vec<&str> = text.split("\n\n").take(500).collect();
    let (few, all, test) = (base_np(&first.join("\n\n")), base_np(&text), base_np(&test));
    for (optimizer, text, bound, spread) in
        [(Method::Auto, &all, 93.9, 0.15), (Method::Adagrad, &few, 90.1, 0.5)]
    {
        let f1 = [1, 2].map(|seed| {
            let corpus = column_corpus(text, chunking(), 1);
            let dev = column_dev(&corpus, &test);
            let settings = Settings { optimizer, seed, ..Settings::default() };
            scores(&train(corpus, &settings, TrainOptions::default()).0.model, &dev).f1
        });
        assert!(f1[0] > bound, "{optimizer:?}: {f1:?}");
        assert!((f1[0] - f1[1]).abs() < spread, "{optimizer:?}: {f1:?}");
    }
}
