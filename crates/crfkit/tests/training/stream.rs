//! Training on a stream: sequences come once, labels and features as they come.

use crate::corpora;

use corpora::models::{attributes, columns, templates};
use corpora::{attribute_corpus, column_corpus, made_up_attributes, made_up_columns, train};
use crfkit::Error;
use crfkit::chain::{ChainCorpus, ChainModel};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::domain::Domain;
use crfkit::loss::Pieces;
use crfkit::math::random::Random;
use crfkit::model::{Keep, Precision};
use crfkit::optim::{Adaptation, BatchGradient, Updates};
use crfkit::train::{
    Criterion, Init, Method, Parameters, Scaling, Settings, StreamModel, StreamTrainer, TrainOptions,
    features,
};

fn psa() -> Settings {
    let parameters = Parameters { period: Some(2), ..Parameters::default() };
    Settings { optimizer: Method::Psa, parameters, passes: Some(1), ..Settings::default() }
}

fn stream_columns(text: &str, source: Source, settings: &Settings, examples: Option<u64>) -> StreamModel {
    let mut trainer = StreamTrainer::new(source, settings, examples).unwrap();
    for sequence in columns(text) {
        trainer.add_columns(&sequence, sequence.columns() - 1).unwrap();
    }
    trainer.finish().unwrap()
}

fn stream_attributes(text: &str, settings: &Settings, examples: Option<u64>) -> StreamModel {
    let mut trainer = StreamTrainer::new(Source::Attributes, settings, examples).unwrap();
    attributes(text).iter().for_each(|instance| trainer.add_attributes(instance).unwrap());
    trainer.finish().unwrap()
}

/// Templates that look at the word itself, and those of `more`.
fn word_templates(more: &str) -> Source {
    let text = format!("U0:%x[0,0]\nU1:%x[0,1]\n{more}");
    Source::Templates(Templates::compile(&text, Dialect::Crfpp, "test").unwrap())
}

/// The sequences of `text` so arranged that an ordinary first pass takes them in the order of `text`.
fn arranged(text: &str, seed: u64) -> String {
    let sequences: Vec<&str> = text.split_inclusive("\n\n").collect();
    let mut order: Vec<u32> = (0..sequences.len() as u32).collect();
    Random::stream(seed, 0).shuffle(&mut order);
    let mut arranged = vec![""; sequences.len()];
    for (&place, sequence) in order.iter().zip(&sequences) {
        arranged[place as usize] = sequence;
    }
    arranged.concat()
}

/// All of `text` as one sequence, and then `text`: every feature is announced before it matters.
fn announced(text: &str) -> String {
    let all: String = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('@'))
        .map(|line| format!("{line}\n"))
        .collect();
    format!("{all}\n{text}")
}

/// The largest difference of a weight.
fn off(model: &ChainModel, trained: &ChainModel, corpus: &ChainCorpus, settings: &Settings) -> f64 {
    let weights = model.weights_for(corpus, &features(corpus, settings)).unwrap();
    assert_eq!(weights.len(), trained.weights.len());
    assert!(weights.iter().any(|w| w.abs() > 0.1), "nothing was learned");
    weights.iter().zip(&trained.weights[..]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn a_stream_whose_features_are_announced_is_ordinary_psa() {
    let text = announced(&made_up_columns(1, 30));
    let instances = announced(&made_up_attributes(1, 30));
    for keep in [Keep::All, Keep::Observed] {
        for (batch, gradient, rule) in [
            (1, BatchGradient::Mean, Adaptation::Shrinking),
            (4, BatchGradient::Sum, Adaptation::Shrinking),
            (1, BatchGradient::Mean, Adaptation::Printed),
        ] {
            let boundaries = keep == Keep::All;
            let scaling = Scaling::None;
            let mut settings =
                Settings { features: keep, boundaries, sigma_pairs: Some(0.5), scaling, ..psa() };
            settings.parameters.batch = Some(batch);
            settings.parameters.gradient = Some(gradient);
            settings.parameters.psa_rule = Some(rule);
            // Observations of neighbours are not the same in one long sequence: their labels cannot be announced.
            let columns = if keep == Keep::All { templates() } else { word_templates("B\n") };
            for source in [Some(columns), None] {
                let (corpus, model) = match source {
                    Some(source) => (
                        column_corpus(&arranged(&text, settings.seed), source.clone(), 1),
                        stream_columns(&text, source, &settings, Some(31)),
                    ),
                    None => (
                        attribute_corpus(&arranged(&instances, settings.seed), 1),
                        stream_attributes(&instances, &settings, Some(31)),
                    ),
                };
                let (trained, _) = train(corpus.clone(), &settings, TrainOptions::default());
                let off = off(&model.model, &trained.model, &corpus, &settings);
                assert!(off < 1e-12, "{keep:?}, batches of {batch}: off by {off}");
                assert_eq!(model.progress.sequences, 31);
                assert_eq!(model.progress.tokens as usize, corpus.data.variables());
                assert_eq!(model.model.domain.labels, corpus.domain.labels);
                let Settings { stream, examples, .. } = model.model.settings;
                assert_eq!((stream, examples), (Some(31), Some(31)));
            }
        }
    }
}

#[test]
fn what_comes_late_leaves_old_weights_in_their_places() {
    // The last sequence has labels, between and around the old ones, and observations of its own: no old row is touched.
    let source = || word_templates("");
    let text = made_up_columns(3, 40);
    let late = format!("{text}neu 77 A-FIRST\nneu 77 C-MIDDLE\nneu 77 Z-LAST\n\n");
    for keep in [Keep::All, Keep::Observed] {
        let settings = Settings { features: keep, ..psa() };
        let before = stream_columns(&text, source(), &settings, Some(1_000_000)).model;
        let after = stream_columns(&late, source(), &settings, Some(1_000_000)).model;
        let mut labels = before.domain.labels.clone();
        labels.extend(["A-FIRST", "C-MIDDLE", "Z-LAST"].map(String::from));
        labels.sort();
        assert_eq!(after.domain.labels, labels);
        let corpus = column_corpus(&text, source(), 1);
        let features = features(&corpus, &settings);
        let [before, after] = [&before, &after].map(|model| model.weights_for(&corpus, &features).unwrap());
        assert!(before.iter().any(|w| w.abs() > 0.1));
        let off = before.iter().zip(&after).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-6, "{keep:?}: one more step decays by η/mσ², but something moved by {off}");
    }
}

#[test]
fn late_labels_are_learned() {
    // AMOUNT comes first and alone, the others one by one.
    let text = made_up_columns(5, 400);
    let rank = |sequence: &&str| {
        ["-UNIT", "-FOOD", " O\n"].iter().position(|label| sequence.contains(label)).map_or(0, |k| k + 1)
    };
    let mut sequences: Vec<&str> = text.split_inclusive("\n\n").collect();
    sequences[..60].sort_by_key(rank);
    let text = sequences.concat();
    for (keep, examples) in [(Keep::Observed, None), (Keep::All, Some(400))] {
        let settings = Settings { features: keep, ..psa() };
        let streamed = stream_columns(&text, templates(), &settings, examples);
        let corpus = column_corpus(&text, templates(), 1);
        let (ordinary, _) = train(corpus.clone(), &settings, TrainOptions::default());
        let dev = corpora::column_dev(&corpus, &made_up_columns(6, 200));
        let accuracy = |model: &ChainModel| {
            let features = features(&corpus, &settings);
            let theta = model.weights_for(&corpus, &features).unwrap();
            let judgement = dev.judge(&corpus.domain, &features, &theta, &settings, 1).unwrap();
            corpus.domain.scores(&judgement).accuracy
        };
        let (stream, whole) = (accuracy(&streamed.model), accuracy(&ordinary.model));
        assert!(stream > whole - 2.0, "{keep:?}: {stream} of {whole}");
    }
}

#[test]
fn the_model_is_an_ordinary_one_and_always_the_same() {
    let text = made_up_columns(7, 60);
    let run = || {
        let model = stream_columns(&text, templates(), &psa(), None).model;
        model.to_bytes(Precision::F64).unwrap()
    };
    let bytes = run();
    assert_eq!(bytes, run());
    let model = ChainModel::from_bytes(&bytes).unwrap();
    assert!(model.weights.iter().all(|w| w.is_finite()));
    assert!(model.domain.labels.is_sorted());
}

#[test]
fn the_number_of_examples_may_be_unknown() {
    // 1,024 sequences are the first guess: as many as told give the same weights, one more does not.
    let settings = Settings { sigma: 0.3, ..psa() };
    let text = made_up_columns(8, 1024);
    let weights = |text: &str, examples| stream_columns(text, templates(), &settings, examples).model.weights;
    assert_eq!(weights(&text, None)[..], weights(&text, Some(1024))[..]);
    let more = format!("{text}one 3 B-AMOUNT\n\n");
    assert_ne!(weights(&more, None)[..], weights(&more, Some(1024))[..]);
    assert!(weights(&more, None).iter().all(|w| w.is_finite()));
}

#[test]
fn settings_that_a_stream_cannot_serve_are_refused() {
    let parameters = |updates| Parameters { updates: Some(updates), ..Parameters::default() };
    let refused = [
        (Settings { optimizer: Method::Lbfgs, ..psa() }, "psa"),
        (Settings { objective: Criterion::Piecewise, pieces: Some(Pieces::Edge), ..psa() }, "likelihood"),
        (Settings { min_count: 2, ..psa() }, "`min_count`"),
        (Settings { passes: Some(2), ..psa() }, "`passes`"),
        (Settings { prior_mean: 0.1.into(), ..psa() }, "mean"),
        (Settings { init: Init::Random, ..psa() }, "`init`"),
        (Settings { parameters: parameters(Updates::Dense), ..psa() }, "`updates`"),
        (Settings { sigma: -1.0, ..psa() }, "`sigma`"),
        (Settings { l1: 1.0, ..psa() }, "`l1`"),
    ];
    for (settings, word) in refused {
        let settings = match word {
            "psa" => Settings { parameters: Parameters::default(), ..settings },
            _ => settings,
        };
        match StreamTrainer::new(templates(), &settings, None) {
            Err(Error::Setting(message)) => assert!(message.contains(word), "{message}"),
            other => panic!("{word}: {:?}", other.map(|_| ())),
        }
    }
    let empty = StreamTrainer::new(templates(), &psa(), None).unwrap();
    assert!(empty.finish().is_err());
}
