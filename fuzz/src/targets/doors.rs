//! The same data through every door gives the same model and the same answers.

use crate::source::Source;
use crate::{Target, mutate};
use crfkit::chain::Sequence;
use crfkit::data::rows::RowFormat;
use crfkit::model::Keep;
use crfkit::settings::Method;
use crfkit::{Model, Sequences, Trainer};
use std::io::Cursor;

pub const DOORS: Target = Target {
    name: "doors",
    promise: "columns, JSON lines and memory give the same model, attributes and features too; a stored model answers the same",
    run: |data| {
        let mut source = Source(data);
        let sentences = sentences(&mut source);
        let columns = train(Sequences::read_columns(Cursor::new(columns(&sentences)), "fuzz"));
        let Some(columns) = columns else { return };
        let file = columns.to_bytes().expect("a model can be stored");
        for other in [
            train(Sequences::read_rows(Cursor::new(json(&sentences)), "fuzz", &RowFormat::Json)),
            train(Ok(Sequences::new(sentences.iter().map(rows).collect::<Vec<_>>()))),
        ] {
            let other = other.expect("a model, as from columns").to_bytes().expect("a model can be stored");
            assert!(other == file, "another model through another door");
        }
        let again = Model::from_bytes(&file).expect("a stored model");
        for sentence in &sentences {
            assert_eq!(
                labels(&columns, &rows(sentence)),
                labels(&again, &rows(sentence)),
                "stored, it answers otherwise"
            );
        }
        let read = train(Sequences::read_attributes(Cursor::new(attributes(&sentences)), "fuzz"));
        let given = train(Ok(Sequences::new(sentences.iter().map(features).collect::<Vec<_>>())));
        let bytes = |model: Option<Model>| {
            model.expect("a model, as from columns").to_bytes().expect("it can be stored")
        };
        assert!(bytes(read) == bytes(given), "attributes and features give two models");
    },
    seeds: || vec![vec![1, 2, 0, 3, 1, 1, 2, 2, 0, 9, 8, 7], (0..60).map(|k| (k * 29 % 251) as u8).collect()],
    mutate: mutate::bytes,
};

pub const GROWTH: Target = Target {
    name: "growth",
    promise: "training that goes on from a model is rejected, or its model knows the labels of both, labels, and is stored",
    run: |data| {
        let mut source = Source(data);
        let mut trainer = || {
            let named = (0..source.below(3)).map(|_| NAMES[source.below(NAMES.len())]).collect::<Vec<_>>();
            let keep = [Keep::All, Keep::Observed][source.below(2)];
            let sigma = [1.0, 1e-3, 1e9, f64::INFINITY][source.below(4)];
            let method = [Method::Lbfgs, Method::Sgd, Method::Auto][source.below(3)];
            let trainer = Trainer::new().threads(1).optimizer(method).passes(2).sigma(sigma).features(keep);
            (trainer.labels(named), sentences(&mut source), source.below(2) == 0)
        };
        let learn = |trainer: Trainer, sentences: &[Sentence], columns: bool| {
            let all: Vec<Sequence> = sentences.iter().map(if columns { rows } else { features }).collect();
            trainer.train(all.into_iter().map(Ok)).ok()
        };
        let (first, before, columns) = trainer();
        let Some(model) = learn(first, &before, columns) else { return };
        let (second, after, columns) = trainer();
        let Some(grown) = learn(second.continue_from(&model), &after, columns) else { return };
        let again = Model::from_bytes(&grown.to_bytes().expect("it can be stored")).expect("and read");
        let known = again.labels();
        for label in
            model.labels().iter().map(String::as_str).chain(after.iter().flatten().map(|token| token.1))
        {
            assert!(known.iter().any(|known| known == label), "{label} is forgotten");
        }
        for sentence in before.iter().chain(&after) {
            let sequence = if columns { rows(sentence) } else { features(sentence) };
            assert_eq!(labels(&grown, &sequence), labels(&again, &sequence), "stored, it answers otherwise");
        }
    },
    seeds: || (1..9).map(|k: usize| (0..90).map(|i| (i * k * 29 % 251) as u8).collect()).collect(),
    mutate: mutate::bytes,
};

/// Names of labels that no sequence needs to have.
const NAMES: [&str; 8] = ["O", "I-X", "new", "", "a b", "\n", "B-", "é\0"];

pub(super) type Sentence = Vec<(String, &'static str)>;

/// Up to four sentences of up to five words: letters, signs that formats must escape, repetitions.
pub(super) fn sentences(source: &mut Source) -> Vec<Sentence> {
    const PIECES: [&str; 8] = ["a", "B", "é", "7", ":", "\\", "\"", "-"];
    const LABELS: [&str; 4] = ["O", "B-X", "I-X", "B-Y"];
    let word = |source: &mut Source| (0..1 + source.below(3)).map(|_| PIECES[source.below(8)]).collect();
    (0..1 + source.below(4))
        .map(|_| (0..1 + source.below(5)).map(|_| (word(source), LABELS[source.below(4)])).collect())
        .collect()
}

fn train(sequences: crfkit::Result<Sequences>) -> Option<Model> {
    let trainer = Trainer::new().threads(1).optimizer(Method::Lbfgs).passes(3);
    trainer.train(sequences.expect("a reader")).ok()
}

fn labels(model: &Model, sequence: &Sequence) -> Vec<(String, u64)> {
    let tokens = model.tagger().expect("a tagger").tag_sequence(sequence).expect("an answer");
    tokens.into_iter().map(|token| (token.label, token.probability.to_bits())).collect()
}

fn rows(sentence: &Sentence) -> Sequence {
    Sequence::from_rows(sentence.iter().map(|(word, label)| [word.as_str(), label])).expect("these are rows")
}

pub(super) fn features(sentence: &Sentence) -> Sequence {
    let token =
        |(word, label): &(String, &'static str)| (*label, [(word.clone(), 1.0), (format!("n={word}"), 0.5)]);
    Sequence::from_features(sentence.iter().map(token)).expect("these are features")
}

fn lines(sentences: &[Sentence], line: impl Fn(&(String, &'static str)) -> String) -> String {
    sentences.iter().map(|sentence| sentence.iter().map(&line).collect::<String>() + "\n").collect()
}

fn columns(sentences: &[Sentence]) -> String {
    lines(sentences, |(word, label)| format!("{word}\t{label}\n"))
}

fn attributes(sentences: &[Sentence]) -> String {
    let escaped = |name: &str| name.replace('\\', "\\\\").replace(':', "\\:");
    lines(sentences, |(word, label)| {
        format!("{label}\t{}\t{}:0.5\n", escaped(word), escaped(&format!("n={word}")))
    })
}

fn json(sentences: &[Sentence]) -> String {
    let line = |sentence: &Sentence| {
        let tokens: Vec<&str> = sentence.iter().map(|(word, _)| word.as_str()).collect();
        let labels: Vec<&str> = sentence.iter().map(|(_, label)| *label).collect();
        serde_json::json!({ "tokens": tokens, "labels": labels }).to_string() + "\n"
    };
    sentences.iter().map(line).collect()
}
