//! Training that goes on from a model with more data.

use crfkit::chain::{ChainDomain, ChainModel, CorpusBuilder, Sequence};
use crfkit::data::template::Dialect;
use crfkit::data::vectors::Vectors;
use crfkit::model::Keep;
use crfkit::settings::Method;
use crfkit::{Model, Result, Trainer};
use std::collections::HashMap;
use std::sync::Arc;

/// A sentence of rows `word label`.
fn rows(text: &str) -> Result<Sequence> {
    Sequence::from_rows(text.split(' ').map(|row| row.split('/').collect::<Vec<_>>()))
}

fn trainer<'a>() -> Trainer<'a> {
    Trainer::new().template("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\nB1:%x[0,0]\n", Dialect::Crfpp).threads(1)
}

/// Everything that the model weighs, by name.
fn weights(model: &Model) -> HashMap<(String, Option<String>, Vec<String>), f64> {
    let names = model.any().names().unwrap();
    let named = names.iter_where(|_| true);
    named.map(|w| ((w.part.to_string(), w.observation, w.labels), w.weight)).collect()
}

fn chain(model: &Model) -> Arc<ChainModel> {
    model.any().weighted::<ChainDomain>().unwrap()
}

/// The labels that the model gives.
fn labels(model: &Model, text: &str) -> Vec<String> {
    let tokens = model.tagger().unwrap().tag_sequence(&rows(text).unwrap()).unwrap();
    tokens.into_iter().map(|token| token.label).collect()
}

const FIRST: [&str; 2] = ["Ada/NAME sings/VERB", "the/DET cat/NOUN sleeps/VERB"];
const MORE: [&str; 2] =
    ["the/DET dog/NOUN barks/VERB loudly/ADV", "A/X1 B/X2 C/X3 D/X4 E/X5 the/DET cat/NOUN"];

#[test]
fn what_was_learned_stays_and_what_is_new_joins_it() {
    for keep in [Keep::Observed, Keep::All] {
        let first = trainer().features(keep).train(FIRST.map(rows)).unwrap();
        let run = |threads| {
            trainer().features(keep).threads(threads).continue_from(&first).train(MORE.map(rows)).unwrap()
        };
        let both = run(1);
        assert_eq!(both.labels(), ["ADV", "DET", "NAME", "NOUN", "VERB", "X1", "X2", "X3", "X4", "X5"]);
        assert_eq!(both.to_bytes().unwrap(), run(2).to_bytes().unwrap());
        let (old, new) = (weights(&first), weights(&both));
        for (name, weight) in &old {
            let now = new.get(name).copied().unwrap_or(0.0);
            // Nothing in the new data is about Ada.
            let untouched = name.1.as_deref() == Some("U0:Ada");
            assert!(!untouched || now == *weight, "{name:?}: {weight}, now {now}");
        }
        assert!(old.keys().any(|name| name.1.as_deref() == Some("U0:Ada")));
        assert!(new.keys().any(|name| name.1.as_deref() == Some("U0:dog")));
        let tag = |words: &str| labels(&both, words);
        assert_eq!(tag("Ada/? sings/?"), ["NAME", "VERB"]);
        assert_eq!(tag("the/? dog/? barks/? loudly/?"), ["DET", "NOUN", "VERB", "ADV"]);
        let domain = &chain(&both).domain;
        assert_eq!(["Ada", "dog", "cow"].map(|word| domain.knows(word)), [true, true, false].map(Some));
    }
}

/// The weights that are carried over by numbers are those that are carried over by names.
#[test]
fn weights_are_carried_over() {
    for (before, after) in
        [(Keep::Observed, Keep::Observed), (Keep::All, Keep::Observed), (Keep::Observed, Keep::All)]
    {
        let known = chain(&trainer().features(before).train(FIRST.map(rows)).unwrap());
        let mut builder = CorpusBuilder::new(known.domain.source.clone()).with_base_model(&known).unwrap();
        MORE.iter().for_each(|text| builder.add(&rows(text).unwrap()).unwrap());
        let corpus = builder.finish(1).unwrap();
        let settings = crfkit::settings::Settings { features: after, ..Default::default() };
        let (features, theta) = corpus.merge_features(&corpus.features(&settings), &known);
        assert_eq!(known.weights_for(&corpus, &features).unwrap(), theta);
        let sum = |weights: &[f64]| weights.iter().map(|w| w * w).sum::<f64>();
        assert!((sum(&theta) - sum(&known.weights)).abs() < 1e-9 * sum(&theta), "no weight is lost");
    }
}

#[test]
fn rare_observations_of_the_model_stay() {
    let first = trainer().train(FIRST.map(rows)).unwrap();
    let both = trainer().min_count(2).continue_from(&first).train(MORE.map(rows)).unwrap();
    let has = |name: &str| weights(&both).keys().any(|weight| weight.1.as_deref() == Some(name));
    assert!(has("U0:Ada") && has("U0:the") && !has("U0:dog"));
}

#[test]
fn labels_can_be_named() {
    let model = trainer().labels(["ZERO"]).train(FIRST.map(rows)).unwrap();
    assert_eq!(model.labels(), ["DET", "NAME", "NOUN", "VERB", "ZERO"]);
    let labels =
        trainer().labels(["ADV", "VERB"]).continue_from(&model).train(FIRST.map(rows)).unwrap().labels();
    assert_eq!(labels, ["ADV", "DET", "NAME", "NOUN", "VERB", "ZERO"]);
}

/// A constraint that earlier data broke is not imposed because the new data obeys it.
#[test]
fn constraints_of_chunks_hold_for_all_data() {
    let (bad, good) = (["a/I-X b/B-X"], ["a/B-X b/I-X"]);
    let constraint = |model: &Model| chain(model).settings.constraint.and_then(|found| found.scheme());
    let obeys = trainer().train(good.map(rows)).unwrap();
    assert!(constraint(&obeys).is_some());
    assert!(constraint(&trainer().continue_from(&obeys).train(good.map(rows)).unwrap()).is_some());
    assert!(constraint(&trainer().continue_from(&obeys).train(bad.map(rows)).unwrap()).is_none());
    let breaks = trainer().train(bad.map(rows)).unwrap();
    assert!(constraint(&trainer().continue_from(&breaks).train(good.map(rows)).unwrap()).is_none());
}

fn numbers(values: &[f32], width: usize) -> Result<Sequence> {
    let labels = values.chunks(width).map(|row| if row[0] > 10.0 { "high" } else { "low" });
    Sequence::from_vectors(labels, Vectors::new(width, values.to_vec())?)
}

#[test]
fn vectors_are_standardised_as_before() {
    let first = Trainer::new().standardise().train([numbers(&[1.0, 2.0, 20.0, 3.0], 2)]).unwrap();
    let both = Trainer::new()
        .standardise()
        .continue_from(&first)
        .train([numbers(&[5.0, 1.0, 90.0, 0.0], 2)])
        .unwrap();
    assert!(chain(&first).domain.vectors.as_ref().unwrap().standard.is_some());
    assert_eq!(chain(&both).domain.vectors, chain(&first).domain.vectors);
    for threads in [1, 2] {
        let go_on = Trainer::new().threads(threads).continue_from(&first);
        let message = go_on.train([numbers(&[1.0, 2.0, 3.0], 3)]).unwrap_err().to_string();
        assert!(message.contains("vectors of 3 numbers, but of 2 in training"), "{message}");
    }
}

#[test]
fn what_cannot_go_on_is_an_error() {
    let first = trainer().train(FIRST.map(rows)).unwrap();
    let message =
        |trainer: Trainer| trainer.continue_from(&first).train(MORE.map(rows)).unwrap_err().to_string();
    assert!(message(trainer().template("U0:%x[0,0]\n", Dialect::Crfpp)).contains("has another template"));
    assert!(message(trainer().l1(0.1)).contains("use no `l1`"));
    assert!(message(trainer().choose_sigma()).contains("choose no penalties"));
    let wide = trainer().continue_from(&first).train([rows("a/b/NAME")]).unwrap_err().to_string();
    assert!(wide.contains("rows have 3 columns"), "{wide}");
    let second =
        trainer().template("U0:%x[0,0]\nB\n", Dialect::Crfpp).order(2).train(FIRST.map(rows)).unwrap();
    let refused =
        Trainer::new().order(2).continue_from(&second).train(FIRST.map(rows)).unwrap_err().to_string();
    assert!(refused.contains("second order"), "{refused}");
    // Nor does a model of first order become such a one.
    assert!(message(trainer().order(2)).contains("leave `order` and `segments` out"));
    assert!(message(trainer().configure(|settings| settings.segments = Some(3))).contains("leave `order`"));
}

/// Batch after batch comes close to training on everything.
#[test]
fn every_method_learns_in_batches() {
    for method in [Method::Auto, Method::Lbfgs, Method::Sgd, Method::Adagrad] {
        let train = |trainer: Trainer, part: &[&str]| {
            trainer.optimizer(method).passes(20).train(part.iter().map(|text| rows(text))).unwrap()
        };
        let mut model = train(trainer(), &FIRST[..1]);
        for part in [&FIRST[1..], &MORE[..1], &MORE[1..]] {
            model = train(trainer().continue_from(&model), part);
        }
        let (mut right, mut tokens) = (0, 0);
        for text in FIRST.iter().chain(&MORE) {
            let found = labels(&model, text);
            let gold = text.split(' ').map(|row| row.split('/').nth(1).unwrap());
            right += gold.zip(&found).filter(|(gold, found)| gold == found).count();
            tokens += found.len();
        }
        // The last batch is the last word on what follows what.
        assert!(right * 10 >= tokens * 8, "{method:?}: {right} of {tokens}");
    }
}
