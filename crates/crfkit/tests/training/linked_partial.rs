//! Factorial and skip chains from data with missing labels.

use crate::corpora;

use corpora::models::columns;
use crfkit::answers::Answers;
use crfkit::data::template::{Dialect, Templates};
use crfkit::linked::{Engine, LinkedBuilder, LinkedCorpus, LinkedModel, LinkedTagger, Links};
use crfkit::loss::Pieces;
use crfkit::math::random::Random;
use crfkit::train::{Criterion, Method, Settings, TrainOptions, TrainingObjective, features};
use std::sync::Arc;

/// Word, and what is known of its two labels.
const TEXT: &str = "\
a X p
b X|Y ?
c ? p|q|r

a Z|X|Z r
d Y q|?
b Y|W q|p

c W r
";

fn skip_chain() -> Links {
    Links::SkipChain { rule: "same(0) or equals(0, \"b\")".parse().unwrap(), observed: true }
}

/// Both kinds of chain: the columns of their labels.
fn kinds() -> [(Links, Vec<usize>); 3] {
    [(Links::Factorial, vec![1, 2]), (Links::Factorial, vec![2, 1]), (skip_chain(), vec![1])]
}

fn corpus(text: &str, links: Links, labels: &[usize]) -> crfkit::Result<LinkedCorpus> {
    let templates = Templates::compile("U:%x[0,0]\nU:%x[-1,0]\nB\n", Dialect::Crfpp, "words").unwrap();
    let builder = LinkedBuilder::new(links, templates, 3, labels.to_vec()).unwrap();
    let mut builder = builder.with_partial_labels();
    columns(text).iter().try_for_each(|sequence| builder.add(sequence))?;
    builder.finish(1)
}

fn log_sum(scores: &[f64]) -> f64 {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + scores.iter().map(|score| (score - max).exp()).sum::<f64>().ln()
}

/// Calls `each` with every labelling of variables with so many labels.
fn for_each_labelling(cards: &[usize], mut each: impl FnMut(&[u32])) {
    let mut labels = vec![0; cards.len()];
    loop {
        each(&labels);
        let Some(v) = (0..cards.len()).rev().find(|&v| (labels[v] as usize) + 1 < cards[v]) else { break };
        labels[v] += 1;
        labels[v + 1..].fill(0);
    }
}

/// The objective is Σ (log Z − log Z of what is known) by enumeration, and its gradient is its slope.
#[test]
fn the_objective_equals_enumeration() {
    let mut random = Random::new(8);
    for (links, label_columns) in kinds() {
        let settings = Settings {
            optimizer: Method::Lbfgs,
            inference: Some(Engine::Exact),
            sigma: f64::INFINITY,
            ..Settings::default()
        };
        let data = corpus(TEXT, links, &label_columns).unwrap();
        let of_data = features(&data, &settings);
        let theta: Vec<f64> = (0..of_data.dim()).map(|_| 2.0 * random.uniform() - 1.0).collect();
        let domain = data.domain.clone();
        let model = LinkedModel {
            domain: domain.clone(),
            features: of_data.into(),
            weights: theta.clone().into(),
            settings: settings.clone(),
        };
        let mut tagger = LinkedTagger::new(Arc::new(model));
        let mut expected = 0.0;
        for sequence in columns(TEXT) {
            let answers = tagger.load(&sequence).unwrap();
            let (mut all, mut known) = (Vec::new(), Vec::new());
            let count = label_columns.len();
            let cards: Vec<usize> =
                (0..sequence.len() * count).map(|v| domain.labels[v % count].len()).collect();
            for_each_labelling(&cards, |labels| {
                let score = answers.score(labels);
                all.push(score);
                let agrees = |(v, &label): (usize, &u32)| {
                    let given = sequence.field(v / count, label_columns[v % count]);
                    let name = &domain.labels[v % count][label as usize];
                    given.split('|').any(|one| one == "?" || one == name)
                };
                if labels.iter().enumerate().all(agrees) {
                    known.push(score);
                }
            });
            expected += log_sum(&all) - log_sum(&known);
        }
        let objective = TrainingObjective::new(data, &settings, 1).unwrap();
        let (value, gradient) = objective.value_grad(&theta).unwrap();
        assert!((value - expected).abs() < 1e-9 * expected, "{value} against {expected}");
        let direction: Vec<f64> = theta.iter().map(|_| random.uniform() - 0.5).collect();
        let moved = |h: f64| {
            let theta: Vec<f64> = theta.iter().zip(&direction).map(|(x, d)| x + h * d).collect();
            objective.value_grad(&theta).unwrap().0
        };
        let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        assert!((slope - (moved(1e-5) - moved(-1e-5)) / 2e-5).abs() < 1e-6 * slope.abs().max(1.0));
    }
}

/// Everything that trains graphs takes such data, and threads change nothing.
#[test]
fn every_objective_takes_missing_labels() {
    let text = "a X p\nb X|Y ?\nc Y q\n\na X p|r\nb X|Z r\nc ? q\n\n".repeat(8);
    for (links, label_columns) in kinds() {
        for objective in [
            Criterion::Likelihood,
            Criterion::SoftmaxMargin,
            Criterion::Marginal,
            Criterion::MaxMargin,
            Criterion::Perceptron,
            Criterion::Pseudolikelihood,
            Criterion::Piecewise,
            Criterion::PiecewisePseudo,
        ] {
            for engine in Engine::ALL {
                for pieces in [None, Some(Pieces::Edge), Some(Pieces::Factor)] {
                    let piecewise = matches!(objective, Criterion::Piecewise | Criterion::PiecewisePseudo);
                    if pieces.is_some() && !piecewise {
                        continue;
                    }
                    let settings = Settings {
                        objective,
                        pieces,
                        inference: Some(engine),
                        passes: Some(6),
                        sigma: 5.0,
                        ..match objective {
                            Criterion::Perceptron => Settings::perceptron(false),
                            Criterion::MaxMargin => {
                                Settings { optimizer: Method::Adagrad, ..Settings::default() }
                            }
                            _ => Settings { optimizer: Method::Lbfgs, ..Settings::default() },
                        }
                    };
                    let train = |threads: usize| {
                        let data = corpus(&text, links.clone(), &label_columns).unwrap();
                        let of_data = features(&data, &settings);
                        let start = TrainOptions { threads, ..TrainOptions::default() };
                        crfkit::train::train(data, of_data, &settings, start, &mut corpora::Record::default())
                    };
                    let trained = train(1).unwrap();
                    assert_eq!(train(3).unwrap().model.weights, trained.model.weights, "{objective:?}");
                    let model = trained.model;
                    let names = model.domain.labels.clone();
                    assert!(names.iter().flatten().all(|name| !name.contains(['?', '|'])), "{names:?}");
                    if objective == Criterion::Likelihood {
                        let mut tagger = LinkedTagger::new(Arc::new(model));
                        tagger.load(&columns("a ? ?\nb ? ?\nc ? ?\n")[0]).unwrap();
                        let found = tagger.labels(Default::default()).unwrap();
                        let column = label_columns.iter().position(|&column| column == 1).unwrap();
                        let found: String = (0..3)
                            .map(|t| &*names[column][found[t * label_columns.len() + column] as usize])
                            .collect();
                        assert_eq!(found, "XXY", "{engine:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_column_without_labels_is_refused() {
    for (labels, message) in [(&[1, 2], "in column 2"), (&[2, 1], "in column 2")] {
        let error = corpus("a X ?\nb Y ?|?\n", Links::Factorial, labels).unwrap_err().to_string();
        assert!(
            error.contains("no token of the training data has a label") && error.contains(message),
            "{error}"
        );
    }
}
