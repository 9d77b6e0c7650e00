//! Vectors on factorial and skip chains: the same model as a plain chain without links, and as named features; files and refusals.

use crfkit::answers::Answers;
use crfkit::chain::{CorpusBuilder, Sequence};
use crfkit::data::columns::Columns;
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::vectors::Vectors;
use crfkit::decode::Decode;
use crfkit::domain::Dev;
use crfkit::linked::{LinkedBuilder, LinkedCorpus, LinkedModel, LinkedTagger, Links};
use crfkit::math::random::Random;
use crfkit::model::{Keep, Precision};
use crfkit::train::{Kind, Method, Settings, TrainOptions, TrainingObjective, features, train};
use std::sync::Arc;

const WIDTH: usize = 3;

/// Sequences of word, label and second label, whose vectors are the first label, noise, and the second.
fn sequences(seed: u64, count: usize) -> Vec<Columns> {
    let mut rng = Random::new(seed);
    let one = |rng: &mut Random| {
        let (mut rows, mut numbers) = (Vec::new(), Vec::new());
        for _ in 0..2 + rng.below(4) {
            let (a, b, word) = (rng.below(3), rng.below(2), rng.below(4));
            rows.push([format!("w{word}"), format!("a{a}"), format!("b{b}")]);
            numbers.extend([a as f32 + rng.uniform() as f32, rng.uniform() as f32, b as f32]);
        }
        let mut columns = Columns::from_rows(rows, "made up").unwrap();
        columns.set_vectors(Vectors::new(WIDTH, numbers).unwrap()).unwrap();
        columns
    };
    (0..count).map(|_| one(&mut rng)).collect()
}

fn templates() -> Templates {
    Templates::compile("U:%x[0,0]\nB\n", Dialect::Crfpp, "words").unwrap()
}

fn builder(links: Links, labels: &[usize]) -> LinkedBuilder {
    LinkedBuilder::new(links, templates(), 3, labels.to_vec()).unwrap()
}

fn corpus(mut builder: LinkedBuilder, sequences: &[Columns]) -> LinkedCorpus {
    sequences.iter().for_each(|sequence| builder.add(sequence).unwrap());
    builder.finish(1).unwrap()
}

fn settings(kind: Kind) -> Settings {
    let mut settings = Settings { optimizer: Method::Lbfgs, features: Keep::All, ..Settings::for_kind(kind) };
    settings.parameters.tolerance = Some(1e-9);
    settings.constraint = None;
    settings
}

fn model(corpus: LinkedCorpus) -> (LinkedModel, f64) {
    let settings = settings(Kind::Linked);
    let features = features(&corpus, &settings);
    let trained =
        train(corpus, features, &settings, TrainOptions { threads: 1, ..TrainOptions::default() }, &mut ());
    let trained = trained.unwrap();
    (trained.model, trained.objective)
}

/// A skip chain that links nothing.
fn no_links() -> Links {
    Links::SkipChain { rule: "same(0) and matches(0, \"never\")".parse().unwrap(), observed: true }
}

#[test]
fn without_links_it_is_the_plain_chain() {
    let data = sequences(1, 40);
    let mut chain = CorpusBuilder::new(Source::Templates(templates()));
    for rows in &data {
        chain.add(&Sequence::Columns { rows: rows.clone(), label_column: Some(1) }).unwrap();
    }
    let (chain, of) = (chain.finish(1).unwrap(), settings(Kind::Chain));
    let features = crfkit::train::features(&chain, &of);
    let plain =
        train(chain, features, &of, TrainOptions { threads: 1, ..TrainOptions::default() }, &mut ()).unwrap();
    let (linked, objective) = model(corpus(builder(no_links(), &[1]), &data));
    assert!((objective - plain.objective).abs() < 1e-6 * objective, "{objective} {}", plain.objective);
    let weight = |names: crfkit::model::Names, label: &str| {
        let mut all = names.iter().filter(|w| w.observation.as_deref() == Some("vector[0]"));
        all.find(|w| w.labels == [label]).unwrap().weight
    };
    for label in ["a0", "a1", "a2"] {
        let (a, b) = (weight(plain.model.names(), label), weight(linked.names(), label));
        assert!((a - b).abs() < 1e-3, "{label}: {a} {b}");
    }
}

/// A number that is 0 or 1 is a named feature that is there or not.
#[test]
fn on_factorial_chains_numbers_are_features_of_every_label() {
    let mut rng = Random::new(3);
    let (mut named, mut dense) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let rows: Vec<[String; 4]> = (0..3 + rng.below(3))
            .map(|_| {
                let (a, b) = (rng.below(3), rng.below(2));
                let (x, y) = (a == 0 || rng.below(4) == 0, b == 0 || rng.below(4) == 0);
                [format!("x{}", u8::from(x)), format!("y{}", u8::from(y)), format!("a{a}"), format!("b{b}")]
            })
            .collect();
        let numbers = rows
            .iter()
            .flat_map(|[x, y, ..]| ["x0", "x1", "y0", "y1"].map(|name| f32::from(x == name || y == name)));
        let vectors = Vectors::new(4, numbers.collect()).unwrap();
        named.push(Columns::from_rows(&rows, "named").unwrap());
        dense.push(named[named.len() - 1].clone());
        dense.last_mut().unwrap().set_vectors(vectors).unwrap();
    }
    let of = |template: &str, data: &[Columns]| {
        let templates = Templates::compile(template, Dialect::Crfpp, "t").unwrap();
        let mut builder = LinkedBuilder::new(Links::Factorial, templates, 4, vec![2, 3]).unwrap();
        data.iter().for_each(|sequence| builder.add(sequence).unwrap());
        let corpus = builder.finish(1).unwrap();
        let settings = Settings { scaling: crfkit::train::Scaling::None, ..settings(Kind::Linked) };
        let features = features(&corpus, &settings);
        train(corpus, features, &settings, TrainOptions { threads: 1, ..TrainOptions::default() }, &mut ())
            .unwrap()
    };
    let (a, b) = (of("U:%x[0,0]\nU:%x[0,1]\nB\n", &named), of("B\n", &dense));
    assert!((a.objective - b.objective).abs() < 1e-6 * a.objective, "{} {}", a.objective, b.objective);
    // Both label columns have weights of all numbers.
    let weights = b.model.names().iter().filter(|w| w.observation.as_deref() == Some("vector[3]")).count();
    assert_eq!(weights, 3 + 2);
}

#[test]
fn gradients_are_slopes() {
    for (links, labels) in [(Links::Factorial, &[1, 2][..]), (no_links(), &[2])] {
        let settings = settings(Kind::Linked);
        let corpus = corpus(builder(links, labels), &sequences(5, 8));
        let objective = TrainingObjective::new(corpus, &settings, 1).unwrap();
        let dim = objective.dim();
        let mut rng = Random::new(6);
        let mut draw = || (0..dim).map(|_| rng.uniform() - 0.5).collect::<Vec<f64>>();
        let (theta, d, mut gradient) = (draw(), draw(), vec![0.0; dim]);
        objective.losses().value_grad(&theta, &mut gradient);
        let slope: f64 = gradient.iter().zip(&d).map(|(g, d)| g * d).sum();
        let at = |h: f64| {
            let moved: Vec<f64> = theta.iter().zip(&d).map(|(x, d)| x + h * d).collect();
            objective.losses().value_grad(&moved, &mut vec![0.0; dim])
        };
        let h = 1e-5;
        let numeric = (at(h) - at(-h)) / (2.0 * h);
        assert!((slope - numeric).abs() < 1e-5 * (1.0 + slope.abs()), "{slope} {numeric}");
        let mut product = vec![0.0; dim];
        let mut gradients = [vec![0.0; dim], vec![0.0; dim]];
        objective.losses().hess_vec(&theta, &d, &mut vec![0.0; dim], &mut product);
        for (gradient, h) in gradients.iter_mut().zip([h, -h]) {
            let moved: Vec<f64> = theta.iter().zip(&d).map(|(x, d)| x + h * d).collect();
            objective.losses().value_grad(&moved, gradient);
        }
        for k in 0..dim {
            let numeric = (gradients[0][k] - gradients[1][k]) / (2.0 * h);
            assert!(
                (product[k] - numeric).abs() < 1e-5 * (1.0 + numeric.abs()),
                "{k}: {} {numeric}",
                product[k]
            );
        }
    }
}

#[test]
fn a_model_with_vectors_survives_its_file() {
    let (data, test) = (sequences(7, 60), sequences(8, 20));
    let standardised = builder(Links::Factorial, &[1, 2]).standardise();
    let (model, _) = model(corpus(standardised, &data));
    let bytes = model.to_bytes(Precision::F64).unwrap();
    let again = LinkedModel::from_bytes(&bytes).unwrap();
    assert!(again.to_bytes(Precision::F64).unwrap() == bytes);
    assert!(again.domain.vectors.as_ref().unwrap().standard.is_some());
    let tags = |model: &LinkedModel| -> Vec<_> {
        let mut tagger = LinkedTagger::new(Arc::new(model.clone()));
        test.iter()
            .flat_map(|sequence| tagger.load(sequence).unwrap().labels(Decode::Best).unwrap().to_vec())
            .collect()
    };
    assert_eq!(tags(&model), tags(&again));
    // Development data sees the vectors too: the second column is the third number.
    let dev = Dev::from_inputs(&again.domain, &test).unwrap();
    let judged = dev.judge(&again.domain, &again.features, &again.weights, &again.settings, 1).unwrap();
    assert!(judged.sets[1].scores().accuracy > 99.0 && judged.sets[0].scores().accuracy > 80.0);
    // Small weights go, the length of the vectors stays.
    let small = again.shrink(f64::INFINITY);
    let small = LinkedModel::from_bytes(&small.to_bytes(Precision::F32).unwrap()).unwrap();
    assert_eq!(tags(&small).len(), tags(&model).len());
    let mut tagger = LinkedTagger::new(Arc::new(again));
    let bare = Columns::from_rows([["w1", "a0", "b0"]], "bare").unwrap();
    let message = tagger.load(&bare).err().unwrap().to_string();
    assert!(message.contains("bare:1: tokens without vectors"), "{message}");
}

#[test]
fn columns_of_numbers_are_vectors_here_too() {
    let data = sequences(9, 40);
    let rows: Vec<Columns> = data
        .iter()
        .map(|one| {
            let row = |t: usize| {
                let x = one.vectors().row(t).iter().map(f32::to_string);
                [one.field(t, 0).to_owned()].into_iter().chain(x).chain([one.field(t, 1).to_owned()])
            };
            Columns::from_rows((0..one.len()).map(row), "columns").unwrap()
        })
        .collect();
    let by_columns = || LinkedBuilder::new(no_links(), templates(), 5, vec![4]).unwrap();
    let (_, a) = model(corpus(by_columns().with_dense_columns([3, 1, 2]).unwrap(), &rows));
    let (_, b) = model(corpus(builder(no_links(), &[1]), &data));
    assert!((a - b).abs() < 1e-9 * a, "{a} {b}");
    for wrong in [4, 5] {
        let message = by_columns().with_dense_columns([wrong]).err().unwrap().to_string();
        assert!(
            message.contains("should hold numbers, but it is a label or beyond the 5 columns"),
            "{message}"
        );
    }
    let mut words = by_columns().with_dense_columns([0]).unwrap();
    assert!(words.add(&rows[0]).unwrap_err().to_string().contains("in column 0 is not a number"));
}

/// Units that are 10⁶⁰ times as large would make numbers that are not finite, and probabilities that are not numbers.
#[test]
fn numbers_too_far_from_those_of_training_are_rejected() {
    let scaled = |one: &Columns, unit: f32| {
        let numbers: Vec<f32> = (0..one.len()).flat_map(|t| one.vectors().row(t).to_vec()).collect();
        let mut one = one.clone();
        one.set_vectors(Vectors::new(WIDTH, numbers.iter().map(|x| x * unit).collect()).unwrap()).unwrap();
        one
    };
    let data: Vec<Columns> = sequences(11, 40).iter().map(|one| scaled(one, 1e-28)).collect();
    let (model, _) = model(corpus(builder(Links::Factorial, &[1, 2]).standardise(), &data));
    let mut tagger = LinkedTagger::new(Arc::new(model));
    tagger.load(&data[0]).unwrap();
    let far = scaled(&scaled(&data[0], 1e28), 1e37);
    let message = tagger.load(&far).err().unwrap().to_string();
    assert!(message.contains("made up:1: vector[0] is so far from its mean in training"), "{message}");
    let plain = |one: &Columns| Sequence::Columns { rows: one.clone(), label_column: Some(1) };
    let mut chains = CorpusBuilder::new(Source::Templates(templates())).standardise();
    data.iter().for_each(|one| chains.add(&plain(one)).unwrap());
    let corpus = chains.finish(1).unwrap();
    let message =
        crfkit::chain::ChainDev::from_inputs(&corpus.domain, &[plain(&far)]).unwrap_err().to_string();
    assert!(message.contains("vector[0] is so far from its mean in training"), "{message}");
}
