//! Attributes that are known by their hashes, and observations whose value is 0.

use crfkit::any::Ensemble;
use crfkit::chain::{ChainDomain, Sequence};
use crfkit::data::attributes::HashedAttributes;
use crfkit::data::vectors::Vectors;
use crfkit::settings::Method;
use crfkit::tag::Tagger;
use crfkit::{Model, Trainer};
use std::sync::Arc;

type Token = (&'static str, Vec<(&'static str, f64)>);

fn tokens() -> Vec<Vec<Token>> {
    let word = |label, word, length, upper| (label, vec![(word, 1.0), ("length", length), ("upper", upper)]);
    vec![
        vec![word("NAME", "Ada", 0.3, 1.0), word("VERB", "sings", 0.5, 0.0)],
        vec![word("DET", "the", 0.3, 0.0), word("NOUN", "cat", 0.3, 0.0), word("VERB", "sleeps", 0.6, 0.0)],
        vec![word("NOUN", "dogs", 0.4, 0.0), word("VERB", "bark", 0.4, 0.0)],
    ]
}

fn worker(model: &Model) -> Tagger<Ensemble> {
    Tagger::new(Arc::new(Ensemble::from(model.any().member().unwrap())))
}

fn hashed(tokens: &[Token]) -> HashedAttributes {
    let mut sequence = HashedAttributes::new("X[0]");
    for (_, features) in tokens {
        features.iter().for_each(|(name, value)| sequence.add(name, *value));
        sequence.add("never seen", 2.0);
        sequence.finish_token();
    }
    sequence
}

#[test]
fn hashes_are_as_good_as_names() {
    for numbers in [false, true] {
        let beside = |k: usize, len: usize| {
            Vectors::new(2, (0..2 * len).map(|i| (i + k) as f32 * 0.1).collect()).unwrap()
        };
        let named = |k: usize, tokens: &[Token]| {
            let sequence = Sequence::from_features(tokens.iter().cloned()).unwrap();
            if numbers { sequence.with_vectors(beside(k, tokens.len())).unwrap() } else { sequence }
        };
        let all = tokens();
        let model =
            Trainer::new().train(all.iter().enumerate().map(|(k, tokens)| Ok(named(k, tokens)))).unwrap();
        let mut worker = worker(&model);
        for (k, tokens) in all.iter().enumerate() {
            worker.load(&named(k, tokens)).unwrap();
            let (labels, log_z) = (worker.viterbi().to_vec(), worker.log_z());
            let mut sequence = hashed(tokens);
            if numbers {
                let message = worker.take_in_hashed(&sequence).unwrap_err().to_string();
                assert!(message.starts_with("X[0]:1: tokens without vectors"), "{message}");
                assert!(sequence.set_vectors(beside(0, tokens.len() + 1)).is_err());
                sequence.set_vectors(beside(k, tokens.len())).unwrap();
            }
            worker.take_in_hashed(&sequence).unwrap();
            assert_eq!(worker.viterbi(), labels);
            assert!((worker.log_z() - log_z).abs() < 1e-12);
        }
    }
}

#[test]
fn names_together_are_as_good_as_one_by_one() {
    for value in [1.0, 0.5] {
        let [mut together, mut one_by_one] = [(); 2].map(|()| HashedAttributes::new("X[0]"));
        for sequence in [&mut together, &mut one_by_one] {
            sequence.add("length", value);
        }
        together.add_all(&["bias", "é"]);
        ["bias", "é"].iter().for_each(|name| one_by_one.add(name, 1.0));
        together.finish_token();
        one_by_one.finish_token();
        assert_eq!(together.parts(), one_by_one.parts());
    }
}

#[test]
fn values_that_are_not_finite_are_rejected() {
    let all = tokens();
    let model = Trainer::new()
        .train(all.iter().map(|tokens| Sequence::from_features(tokens.iter().cloned())))
        .unwrap();
    let mut worker = worker(&model);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut sequence = hashed(&all[0]);
        sequence.add("length", value);
        sequence.finish_token();
        let message = worker.take_in_hashed(&sequence).unwrap_err().to_string();
        assert!(
            message.starts_with("X[0]:1: a feature of token 3") && message.contains("finite"),
            "{message}"
        );
        worker.take_in_hashed(&hashed(&all[0])).unwrap();
    }
}

#[test]
fn models_of_columns_have_no_attributes() {
    let model = Trainer::new().train([Sequence::from_rows([["a", "X"], ["b", "Y"]])]).unwrap();
    assert!(worker(&model).take_in_hashed(&hashed(&tokens()[0])).is_err());
}

/// A feature of value 0 has been seen, so it has weights; but it moves nothing.
#[test]
fn zeros_have_weights_and_no_effect() {
    for method in [Method::Auto, Method::Lbfgs] {
        let train = |all: Vec<Vec<Token>>| {
            let sequences = all.into_iter().map(Sequence::from_features);
            Trainer::new()
                .optimizer(method)
                .configure(|s| s.scaling = crfkit::settings::Scaling::None)
                .run(sequences)
                .unwrap()
        };
        let mut plain = tokens();
        for features in plain.iter_mut().flatten().map(|(_, features)| features) {
            features.retain(|(name, value)| *value != 0.0 && *name != "length");
        }
        let mut zeros = plain.clone();
        for features in zeros.iter_mut().flatten().map(|(_, features)| features) {
            features.insert(1, ("zero", 0.0));
        }
        let (plain, zeros) = (train(plain), train(zeros));
        assert!((plain.objective - zeros.objective).abs() < 1e-9, "{} {}", plain.objective, zeros.objective);
        let domain = &zeros.model.any().weighted::<ChainDomain>().unwrap().domain;
        assert!(domain.alphabet.node.find(b"zero").is_some());
        let weights = |name: &str| {
            let names = zeros.model.any().names().unwrap();
            names
                .iter_where(|_| true)
                .filter(|w| w.observation.as_deref() == Some(name))
                .map(|w| w.weight)
                .collect::<Vec<_>>()
        };
        assert_eq!(weights("zero"), [0.0; 4]);
    }
}
