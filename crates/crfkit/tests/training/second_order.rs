//! Second-order chains and constraints in training, from data to a model and back: probabilities against weights that are added up by hand.

use crfkit::any::AnyModel;
use crfkit::chain::{ChainModel, CorpusBuilder, Sequence};
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::model::edit::{Others, read_edits};
use crfkit::model::{Keep, Precision};
use crfkit::settings::{Constraint, Settings};
use crfkit::tag::Tagger;
use crfkit::train::{Criterion, Method, TrainOptions, TrainingObjective, features, train};
use crfkit::{Model, Sequences, Trainer};
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

const TEXT: &str = "a\tO\nb\tB-X\nc\tI-X\nd\tO\n\nb\tB-Y\nc\tI-Y\na\tO\nd\tO\n\nd\tB-X\na\tO\nb\tB-X\nb\tI-X\nb\tI-X\n\na\tO\n\nc\tB-Y\nd\tO\n\n";
const TEMPLATE: &str = "U:%x[0,0]\nB:%x[0,0]\nB\n";

fn trainer(order: u8) -> Trainer<'static> {
    Trainer::new()
        .template(TEMPLATE, Dialect::Crfpp)
        .sigma(1.5)
        .configure(|settings| settings.boundaries = true)
        .order(order)
}

fn text() -> Sequences {
    Sequences::read_columns(TEXT.as_bytes(), "text").unwrap()
}

fn chain(model: &Model) -> Arc<ChainModel> {
    let AnyModel::Chain(model) = model.any().clone() else { unreachable!("it is a chain") };
    model
}

/// Compares all probabilities of a sequence with sums of named weights, over the labellings that `allowed` allows.
fn check(model: &Arc<ChainModel>, words: &[&str], allowed: impl Fn(&[&str]) -> bool) {
    let weights: HashMap<(String, Option<String>, Vec<String>), f64> =
        model.names().iter().map(|w| ((w.part, w.observation, w.labels), w.weight)).collect();
    let weight = |part: &str, observation: Option<String>, labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        weights.get(&(part.to_owned(), observation, labels)).copied().unwrap_or(0.0)
    };
    let score = |labels: &[&str]| {
        let mut sum = weight("begin", None, &labels[..1]) + weight("end", None, &labels[labels.len() - 1..]);
        for (t, word) in words.iter().enumerate() {
            sum += weight("node", Some(format!("U:{word}")), &labels[t..=t]);
            if t > 0 {
                sum += weight("pair", Some(format!("B:{word}")), &labels[t - 1..=t]);
                sum += weight("transition", None, &labels[t - 1..=t]);
            }
            if t > 1 {
                sum += weight("triple", None, &labels[t - 2..=t]);
            }
        }
        sum
    };
    let names = &model.domain.labels;
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for _ in words {
        let mut longer = Vec::new();
        for labels in &all {
            longer.extend(names.iter().map(|name| [&labels[..], &[name.as_str()]].concat()));
        }
        all = longer;
    }
    let scores: Vec<f64> =
        all.iter().map(|labels| if allowed(labels) { score(labels).exp() } else { 0.0 }).collect();
    let z: f64 = scores.iter().sum();
    let mut tagger = Tagger::new(model.clone());
    let answers = tagger.load(&Sequence::from_rows(words.iter().map(|word| [*word])).unwrap()).unwrap();
    for (labels, score) in all.iter().zip(&scores) {
        let numbers: Vec<u32> =
            labels.iter().map(|label| names.iter().position(|name| name == label).unwrap() as u32).collect();
        let found = answers.probability(&numbers);
        assert!((found - score / z).abs() < 1e-11, "{labels:?}: {found}, not {}", score / z);
    }
    assert!((answers.log_z() - z.ln()).abs() < 1e-10);
}

fn iob2(labels: &[&str]) -> bool {
    (0..labels.len()).all(|t| match labels[t].strip_prefix("I-") {
        None => true,
        Some(kind) => t > 0 && labels[t - 1] != "O" && labels[t - 1].ends_with(kind),
    })
}

/// Whether every label pair occurs in [`TEXT`].
fn seen(labels: &[&str]) -> bool {
    let pairs: Vec<(&str, &str)> = TEXT
        .split("\n\n")
        .flat_map(|sentence| {
            let labels: Vec<&str> = sentence.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
            labels.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
        })
        .collect();
    labels.windows(2).all(|pair| pairs.contains(&(pair[0], pair[1])))
}

#[test]
fn probabilities_are_those_of_the_named_weights() {
    for words in [&["a"][..], &["b", "c"], &["b", "b", "d"], &["a", "b", "c", "d"]] {
        check(&chain(&trainer(1).train(text()).unwrap()), words, iob2);
        check(&chain(&trainer(2).train(text()).unwrap()), words, |labels| iob2(labels) && seen(labels));
        let all =
            trainer(2).configure(|settings| settings.transitions = Some(Keep::All)).train(text()).unwrap();
        check(&chain(&all), words, iob2);
        let free = trainer(2).configure(|settings| settings.constraint = Some(Constraint::None));
        check(&chain(&free.train(text()).unwrap()), words, seen);
    }
}

#[test]
fn every_door_and_any_number_of_threads_give_the_same_model() {
    let model = trainer(2).train(text()).unwrap();
    let bytes = model.to_bytes().unwrap();
    let rows: Vec<Sequence> = TEXT
        .split("\n\n")
        .filter(|sentence| !sentence.is_empty())
        .map(|sentence| {
            Sequence::from_rows(sentence.lines().map(|line| line.split('\t').collect::<Vec<_>>())).unwrap()
        })
        .collect();
    assert!(trainer(2).train(Sequences::new(rows)).unwrap().to_bytes().unwrap() == bytes);
    assert!(trainer(2).threads(3).train(text()).unwrap().to_bytes().unwrap() == bytes);
    let read = Model::from_bytes(&bytes).unwrap();
    assert!(read.to_bytes().unwrap() == bytes);
    check(&chain(&read), &["b", "c", "a"], |labels| iob2(labels) && seen(labels));
    for end in (0..bytes.len()).step_by(7) {
        assert!(Model::from_bytes(&bytes[..end]).is_err());
    }
    // Attributes have no pair observations; a small file has few weights.
    const ATTRIBUTES: &str = "B-X\tw=b\tup\nI-X\tw=c:0.5\n\nO\tw=a\nO\tw=d\nB-X\tw=b\n\n";
    let model = Trainer::new()
        .order(2)
        .l1(0.05)
        .precision(Precision::F32)
        .train(Sequences::read_attributes(ATTRIBUTES.as_bytes(), "attributes").unwrap())
        .unwrap();
    let read = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let mut tagger = read.tagger().unwrap();
    let best = tagger
        .nbest(&Sequence::from_features([("x", vec![("w=b", 1.0)]), ("x", vec![("w=c", 0.5)])]).unwrap(), 9)
        .unwrap();
    assert_eq!(best[0].0, ["B-X", "I-X"]);
    assert!((best.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn objectives_and_methods() {
    let run = |method, objective| {
        let trainer = trainer(2).optimizer(method).objective(objective);
        trainer.run(text()).map(|run| run.objective)
    };
    let best = run(Method::Lbfgs, Criterion::Likelihood).unwrap();
    for method in [
        Method::Saga,
        Method::NewtonCg,
        Method::Cg,
        Method::Bfgs,
        Method::Newton,
        Method::Auto,
        Method::Adagrad,
    ] {
        let found = run(method, Criterion::Likelihood).unwrap();
        assert!(found > best - 1e-3 && found < 1.02 * best, "{method:?}: {found} against {best}");
    }
    for objective in [Criterion::Pseudolikelihood, Criterion::Marginal] {
        assert!(run(Method::Lbfgs, objective).unwrap().is_finite());
    }
    let perceptron = Trainer::new().template(TEMPLATE, Dialect::Crfpp).configure(|settings| {
        *settings = Settings { order: 2, passes: Some(20), ..Settings::perceptron(true) };
    });
    let model = perceptron.train(text()).unwrap();
    let labels: Vec<String> = model
        .tagger()
        .unwrap()
        .tag([["b"], ["c"], ["a"]])
        .unwrap()
        .into_iter()
        .map(|token| token.label)
        .collect();
    assert_eq!(labels, ["B-Y", "I-Y", "O"]);
    for (order, method, objective, why) in [
        (2, Method::Lbfgs, Criterion::Piecewise, "`objective` piecewise is for chains of order 1"),
        (2, Method::Sdca, Criterion::Likelihood, "`optimizer` sdca is for chains of order 1"),
        (3, Method::Lbfgs, Criterion::Likelihood, "`order` is 3"),
    ] {
        let error =
            trainer(order).optimizer(method).objective(objective).train(text()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

fn builder() -> CorpusBuilder {
    CorpusBuilder::new(Source::Templates(Templates::compile(TEMPLATE, Dialect::Crfpp, "template").unwrap()))
}

#[test]
fn a_corpus_has_the_order_of_the_settings() {
    let mut first = builder();
    text().try_for_each(|sequence| first.add(&sequence?)).unwrap();
    let corpus = first.finish(1).unwrap();
    let settings = Settings { order: 2, ..Settings::default() };
    let features = features(&corpus, &settings);
    let error = train(corpus, features, &settings, TrainOptions::default(), &mut ()).unwrap_err().to_string();
    assert!(error.contains("made for order 1"), "{error}");
}

#[test]
fn first_weights_of_another_order_and_partial_labels() {
    let first = trainer(1).train(text()).unwrap();
    let second = trainer(2).start_from(&first).passes(1).train(text()).unwrap();
    assert!(second.to_bytes().unwrap() != first.to_bytes().unwrap());
    let partial = TEXT.replacen("I-X", "?", 1).replacen("B-Y", "B-X|B-Y", 1);
    let partial = Sequences::read_columns(Cursor::new(partial.into_bytes()), "text").unwrap();
    let model = trainer(2).partial_labels().train(partial).unwrap();
    // Any pair may have been there.
    check(&chain(&model), &["b", "c", "a"], iob2);
}

#[test]
fn labels_that_are_never_followed_may_be_followed_by_any() {
    const PAIRS: &str = "a\tA\nb\tB\n\na\tA\nb\tB\n\n";
    let model =
        Trainer::new().order(2).train(Sequences::read_columns(PAIRS.as_bytes(), "text").unwrap()).unwrap();
    let tokens = model.tagger().unwrap().tag([["a"], ["b"], ["b"], ["a"], ["b"]]).unwrap();
    assert_eq!(tokens.len(), 5);
    assert!(tokens[0].label == "A" && tokens[1].label == "B");
}

#[test]
fn training_under_a_constraint() {
    let trained = |builder: CorpusBuilder, text: &str, order: u8| {
        let mut builder = if order == 2 { builder.with_second_order(Keep::All) } else { builder };
        let text = Cursor::new(text.as_bytes().to_vec());
        Sequences::read_columns(text, "text").unwrap().try_for_each(|sequence| builder.add(&sequence?))?;
        let corpus = builder.finish(1)?;
        let settings = Settings {
            order,
            boundaries: true,
            constraint: Some(Constraint::None),
            features: Keep::All,
            ..Settings::default()
        };
        let features = features(&corpus, &settings);
        train(corpus, features, &settings, TrainOptions::default(), &mut ())
    };
    for order in [1, 2] {
        let free = trained(builder(), TEXT, order).unwrap();
        let held = trained(builder().with_constraint(Constraint::Iob2), TEXT, order).unwrap();
        assert!(held.features < free.features && held.objective < free.objective);
        let read = ChainModel::from_bytes(&held.model.to_bytes(Precision::F64).unwrap()).unwrap();
        check(&Arc::new(read), &["b", "c", "a"], iob2);
        check(&Arc::new(free.model), &["b", "c", "a"], |_| true);
        let rules = "forbid O I-*\nforbid begin I-*\nforbid B-Y I-X\nforbid I-Y I-X\nforbid B-X I-Y\nforbid I-X I-Y\nforbid B-X B-Y\nforbid I-X B-Y\n";
        let held = trained(builder().with_rules(rules, "rules"), TEXT, order).unwrap();
        let obeys = |labels: &[&str]| {
            iob2(labels) && !labels.windows(2).any(|pair| pair[0].ends_with('X') && pair[1] == "B-Y")
        };
        check(&Arc::new(held.model), &["b", "c", "a"], obeys);
    }
    let broken = TEXT.replacen("a\tO\nd\tO\n", "a\tI-X\nd\tO\n", 1);
    let error = trained(builder().with_constraint(Constraint::Iob2), &broken, 1).unwrap_err().to_string();
    assert!(error.starts_with("text:6: `I-X` follows `I-Y` at token 3 of this sequence"), "{error}");
    let error = trained(builder().with_rules("forbid I-X end", "rules"), TEXT, 1).unwrap_err().to_string();
    assert!(error.starts_with("text:11: the last label of this sequence is `I-X`"), "{error}");
    let error = trained(builder().with_rules("forbid begin O", "rules"), TEXT, 1).unwrap_err().to_string();
    assert!(error.starts_with("text:1: the first label"), "{error}");
    let error = trained(builder().with_rules("forbid Q O", "rules"), TEXT, 1).unwrap_err().to_string();
    assert!(error.starts_with("rules:1: the model has no label `Q`"), "{error}");
    let partial = "a\tO\nb\t?\nc\tI-X\n\na\tO\nb\tB-X\nc\tI-X|O\n\nb\tO\nc\tI-X|I-X\n\n";
    let partial_builder = || builder().with_partial_labels().with_constraint(Constraint::Iob2);
    let error = trained(partial_builder(), partial, 1).unwrap_err().to_string();
    assert!(error.starts_with("text:9: no labelling of this sequence that agrees"), "{error}");
    assert!(trained(partial_builder(), &partial[..partial.find("b\tO").unwrap()], 2).is_ok());
}

#[test]
fn weights_of_forbidden_pairs_cannot_be_set() {
    let model = trainer(2).train(text()).unwrap();
    let chain = chain(&model);
    let edit = |line: &str| {
        let edits = read_edits(line.as_bytes(), "edits", &chain.names())?;
        chain.edited(&edits, Others::Keep)
    };
    assert!(edit("triple\tO\tB-X\tI-X\t1.5\n").is_ok());
    let error = edit("transition\tO\tI-X\t1.5\n").unwrap_err().to_string();
    assert!(error.starts_with("edits:1: the model does not allow O I-X"), "{error}");
    let error = edit("triple\tO\tI-X\tO\t1.5\n").unwrap_err().to_string();
    assert!(error.contains("does not allow O I-X O"), "{error}");
}

/// What training minimises is what the tagger says: minus the logarithm of the probabilities of the gold labels.
#[test]
fn models_normalised_label_by_label_train_and_tag_alike() {
    for (objective, transitions) in [
        (Criterion::Memm, Keep::Observed),
        (Criterion::MemmBackward, Keep::All),
        (Criterion::Memm, Keep::All),
    ] {
        let mut builder = builder().with_second_order(transitions);
        for sequence in text() {
            builder.add(&sequence.unwrap()).unwrap();
        }
        let (order, sigma) = (2, 2.0);
        let settings = Settings { objective, order, sigma, ..Settings::default() };
        let training = TrainingObjective::new(builder.finish(1).unwrap(), &settings, 1).unwrap();
        let theta: Vec<f64> = (0..training.dim()).map(|k| (k as f64 * 1.7).sin()).collect();
        let (value, _) = training.value_grad(&theta).unwrap();
        let model = Arc::new(training.model(&theta).unwrap());
        let mut tagger = Tagger::new(model.clone());
        let mut right = theta.iter().map(|w| w * w).sum::<f64>() / (2.0 * sigma * sigma);
        for sequence in text() {
            let sequence = sequence.unwrap();
            let gold: Vec<u32> = (0..sequence.len())
                .map(|t| {
                    model.domain.labels.iter().position(|name| *name == sequence.label(t, 1)).unwrap() as u32
                })
                .collect();
            let answers = tagger.load(&sequence).unwrap();
            // Without the notation that all sequences have: training does not know it.
            answers.obey(None);
            right -= answers.log_probability(&gold);
        }
        assert!((value - right).abs() < 1e-9 * right, "{objective:?}: {value}, not {right}");
    }
    let model = trainer(2).objective(Criterion::Memm).train(text()).unwrap();
    let read = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(read.evaluate(text()).unwrap().scores().accuracy, 100.0);
}
