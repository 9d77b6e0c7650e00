//! Chains with segments whose tokens have vectors, or labels of which not all is known: against sums over all labellings.

use crfkit::any::AnyModel;
use crfkit::chain::{ChainModel, CorpusBuilder, Sequence};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::vectors::Vectors;
use crfkit::decode::Decode;
use crfkit::explain::Question;
use crfkit::math::random::Random;
use crfkit::model::NamedWeight as Weight;
use crfkit::settings::Settings;
use crfkit::tag::Tagger;
use crfkit::train::{Criterion, Method, TrainingObjective};
use crfkit::{Model, Sequences, Trainer};
use std::sync::Arc;

const LABELS: [&str; 4] = ["B-X", "B-Y", "I-X", "O"];

/// Whether labels are in IOB2, with segments of up to `longest` tokens.
fn possible(labels: &[&str], longest: usize) -> bool {
    let mut length = 0;
    (0..labels.len()).all(|t| match labels[t] {
        "I-X" => {
            length += 1;
            t > 0 && matches!(labels[t - 1], "B-X" | "I-X") && length <= longest
        }
        _ => {
            length = 1;
            true
        }
    })
}

/// All labellings of `len` tokens, in the order of counting.
fn labellings(len: usize) -> Vec<Vec<&'static str>> {
    (0..LABELS.len().pow(len as u32))
        .map(|number| (0..len).map(|t| LABELS[number / LABELS.len().pow(t as u32) % LABELS.len()]).collect())
        .collect()
}

/// The score of a labelling: the sum of the weights of all that it has.
fn score(weights: &[Weight], words: &[&str], vectors: &[[f32; 2]], labels: &[&str]) -> f64 {
    let mut sum = 0.0;
    let mut add = |part: &str, observation: &str, of: &[&str], value: f64| {
        let fits = |w: &&Weight| {
            w.part == part && w.observation.as_deref().unwrap_or("") == observation && w.labels == of
        };
        sum += weights.iter().find(fits).map_or(0.0, |w| w.weight * value);
    };
    for t in 0..words.len() {
        add("node", &format!("U:{}", words[t]), &labels[t..=t], 1.0);
        for (d, x) in vectors.get(t).into_iter().flatten().enumerate() {
            add("node", &format!("vector[{d}]"), &labels[t..=t], f64::from(*x));
        }
        if t > 0 {
            add("transition", "", &labels[t - 1..=t], 1.0);
        }
    }
    let mut first = 0;
    for end in (1..=words.len()).filter(|&end| labels.get(end).is_none_or(|label| *label != "I-X")) {
        add("length", &(end - first).to_string(), &labels[first..=first], 1.0);
        add("node", &format!("S:{}", words[first..end].join(" ")), &labels[first..=first], 1.0);
        first = end;
    }
    sum
}

fn weights(model: &ChainModel) -> Vec<Weight> {
    model
        .names()
        .iter()
        .map(|w| Weight { part: if w.part == "dense" { "node".into() } else { w.part }, ..w })
        .collect()
}

const TEMPLATE: &str = "U:%x[0,0]\nB\nS:%x[0,0]\n";

fn trainer(longest: usize) -> Trainer<'static> {
    Trainer::new().template(TEMPLATE, Dialect::Crfpp).segments(longest)
}

fn chain(model: &Model) -> Arc<ChainModel> {
    let AnyModel::Chain(model) = model.any().clone() else { unreachable!("it is a chain") };
    model
}

/// Words, vectors and labels of a sequence.
type Labelled = (Vec<&'static str>, Vec<[f32; 2]>, Vec<&'static str>);

/// Sequences with vectors.
fn with_vectors() -> Vec<Labelled> {
    let mut random = Random::stream(3, 0);
    let mut number = || random.uniform() as f32 - 0.5;
    [
        (vec!["a", "b", "c"], vec!["O", "B-X", "I-X"]),
        (vec!["b", "b"], vec!["B-Y", "B-X"]),
        (vec!["c", "a", "b", "b", "a"], vec!["B-X", "I-X", "I-X", "O", "B-Y"]),
        (vec!["a"], vec!["O"]),
    ]
    .map(|(words, labels)| {
        let vectors = words.iter().map(|_| [number(), number() * 40.0]).collect();
        (words, vectors, labels)
    })
    .into()
}

fn sequence(words: &[&str], vectors: &[[f32; 2]], labels: &[&str]) -> Sequence {
    let rows = Sequence::from_rows(words.iter().zip(labels).map(|(word, label)| [*word, *label])).unwrap();
    let numbers = vectors.iter().flatten().copied().collect();
    rows.with_vectors(Vectors::new(2, numbers).unwrap()).unwrap()
}

#[test]
fn vectors_are_observations_of_tokens() {
    let data = with_vectors();
    let sequences = || {
        Sequences::new(
            with_vectors().into_iter().map(|(words, vectors, labels)| sequence(&words, &vectors, &labels)),
        )
    };
    let train = |change: &dyn Fn(&mut Settings)| {
        trainer(3).configure(|settings| change(settings)).threads(2).train(sequences()).unwrap()
    };
    for method in [Method::Auto, Method::Sgd, Method::Saga, Method::NewtonCg] {
        let model = train(&|settings| (settings.optimizer, settings.passes) = (method, Some(8)));
        let read = chain(&Model::from_bytes(&model.to_bytes().unwrap()).unwrap());
        let weights = weights(&read);
        assert!(weights.iter().any(|w| w.observation.as_deref() == Some("vector[1]") && w.weight != 0.0));
        let mut tagger = Tagger::new(read.clone());
        for (words, vectors, _) in &data {
            let all = labellings(words.len());
            let scores: Vec<f64> = all
                .iter()
                .map(|labels| match possible(labels, 3) {
                    true => score(&weights, words, vectors, labels).exp(),
                    false => 0.0,
                })
                .collect();
            let z: f64 = scores.iter().sum();
            let answers = tagger.load(&sequence(words, vectors, &vec!["O"; words.len()])).unwrap();
            for (labels, score) in all.iter().zip(&scores) {
                let numbers: Vec<u32> = labels
                    .iter()
                    .map(|label| read.domain.labels.iter().position(|name| name == label).unwrap() as u32)
                    .collect();
                let found = answers.probability(&numbers);
                assert!(
                    (found - score / z).abs() < 1e-9,
                    "{method:?} {labels:?}: {found}, not {}",
                    score / z
                );
            }
        }
    }
    // Explanations observe sequences in another way.
    let model = chain(&train(&|_| {}));
    let weights = weights(&model);
    let mut tagger = Tagger::new(model.clone());
    for (words, vectors, labels) in &data {
        let asked = Question { variables: &[0], removals: 9 };
        let found = tagger.explain(&sequence(words, vectors, labels), asked).unwrap().remove(0);
        let best = tagger.labels(Decode::Best).unwrap().to_vec();
        let rival = found.rival.unwrap();
        let named = |numbers: &[u32]| -> Vec<&str> {
            numbers.iter().map(|label| model.domain.labels[*label as usize].as_str()).collect()
        };
        let [best, other] =
            [named(&best), named(&rival.labels)].map(|labels| score(&weights, words, vectors, &labels));
        assert!((best - other - rival.difference).abs() < 1e-9);
        let sum: f64 = rival.contributions.iter().map(|part| part.amount).sum();
        assert!((sum - rival.difference).abs() < 1e-9);
        assert!(rival.contributions.iter().any(|part| part.observation.as_deref() == Some("vector[1]")));
    }
}

#[test]
fn the_loss_of_open_labels_is_that_of_all_labellings_that_agree() {
    let texts: [(&[&str], &[&str]); 5] = [
        (&["a", "b", "c"], &["O", "B-X", "I-X"]),
        (&["b", "b", "c", "a"], &["?", "B-X|B-Y", "?", "O"]),
        (&["c", "a", "b", "b"], &["B-X", "I-X|O", "I-X|B-Y", "?"]),
        (&["a"], &["?"]),
        (&["b", "a", "a", "c"], &["B-Y", "?", "I-X", "?"]),
    ];
    let (longest, sigma) = (3, 2.0);
    for objective in [Criterion::Likelihood, Criterion::SoftmaxMargin] {
        let templates = Templates::compile(TEMPLATE, Dialect::Crfpp, "template").unwrap();
        let mut builder =
            CorpusBuilder::new(Source::Templates(templates)).with_partial_labels().with_segments(longest);
        for (words, labels) in texts {
            builder
                .add(&Sequence::from_rows(words.iter().zip(labels).map(|(w, l)| [*w, *l])).unwrap())
                .unwrap();
        }
        let corpus = builder.finish(1).unwrap();
        assert_eq!(corpus.domain.labels, LABELS);
        let settings = Settings { objective, sigma, segments: Some(longest), ..Settings::default() };
        let training = TrainingObjective::new(corpus, &settings, 2).unwrap();
        let mut random = Random::stream(11, 0);
        let theta: Vec<f64> = (0..training.dim()).map(|_| random.uniform() * 2.0 - 1.0).collect();
        let model = training.model(&theta).unwrap();
        let weights = weights(&model);
        let mut right = theta.iter().map(|w| w * w).sum::<f64>() / (2.0 * sigma * sigma);
        for (words, known) in texts {
            let cost = |labels: &[&str]| match objective {
                Criterion::Likelihood => 0.0,
                _ => known
                    .iter()
                    .zip(labels)
                    .filter(|(gold, label)| *gold != *label && LABELS.contains(gold))
                    .count() as f64,
            };
            let agrees = |labels: &[&str]| {
                known
                    .iter()
                    .zip(labels)
                    .all(|(set, label)| *set == "?" || set.split('|').any(|one| one == *label))
            };
            let [mut all, mut agreeing] = [0.0, 0.0];
            for labels in labellings(words.len()).iter().filter(|labels| possible(labels, longest)) {
                let score = (score(&weights, words, &[], labels) + cost(labels)).exp();
                all += score;
                agreeing += if agrees(labels) { score } else { 0.0 };
            }
            right += all.ln() - agreeing.ln();
        }
        let (value, gradient) = training.value_grad(&theta).unwrap();
        assert!((value - right).abs() < 1e-8 * right, "{objective:?}: {value}, not {right}");
        // The gradient is the slope.
        for k in (0..theta.len()).step_by(3) {
            let at = |step: f64| {
                let mut theta = theta.clone();
                theta[k] += step;
                training.value_grad(&theta).unwrap().0
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[k]).abs() < 1e-6, "{objective:?}, {k}: {slope} {}", gradient[k]);
        }
    }
}

#[test]
fn labels_that_no_segments_have_are_an_error() {
    let train = |trainer: Trainer, rows: &[[&str; 2]]| {
        let rows = Sequence::from_rows(rows).unwrap();
        trainer.partial_labels().train(Sequences::new([rows])).map(|_| ())
    };
    let long = [["a", "B-X"], ["b", "I-X"], ["c", "I-X|I-Y"], ["a", "I-X"]];
    train(trainer(4), &long).unwrap();
    let refused = train(trainer(3), &long).unwrap_err().to_string();
    assert!(refused.contains("only segments of up to 3 tokens"), "{refused}");
    let mixed = [["a", "B-X"], ["b", "?"], ["c", "I-Y"], ["a", "O"], ["a", "I-X|B-Y"]];
    train(trainer(4), &mixed).unwrap();
    let refused = train(trainer(4), &[["a", "O"], ["b", "I-X"], ["c", "?"], ["d", "B-X"]]).unwrap_err();
    assert!(refused.to_string().contains("iob2"), "{refused}");
}
