//! Vectors beside tokens: the same model as with named features, standardisation, files, and input that does not fit.

use crfkit::chain::Sequence;
use crfkit::data::vectors::Vectors;
use crfkit::math::random::Random;
use crfkit::model::Keep;
use crfkit::train::{Criterion, Method, Scaling};
use crfkit::{Model, Sequences, Trainer};

const WIDTH: usize = 6;
const LABELS: [&str; 3] = ["a", "b", "c"];

/// A sequence in two forms: its vectors, and the same numbers as named features. Both have a word besides.
struct Both {
    labels: Vec<&'static str>,
    words: Vec<String>,
    numbers: Vec<f32>,
}

impl Both {
    fn vectors(&self) -> Sequence {
        let words = self.labels.iter().zip(&self.words).map(|(label, word)| (label, [(word, 1.0)]));
        let vectors = Vectors::new(WIDTH, self.numbers.clone()).unwrap();
        Sequence::from_features(words).unwrap().with_vectors(vectors).unwrap()
    }

    fn named(&self) -> Sequence {
        let tokens = self.labels.iter().zip(&self.words).zip(self.numbers.chunks(WIDTH));
        Sequence::from_features(tokens.map(|((label, word), x)| {
            let numbers = x.iter().enumerate().map(|(d, x)| (format!("x{d}"), f64::from(*x)));
            (label, numbers.chain([(word.clone(), 1.0)]).collect::<Vec<_>>())
        }))
        .unwrap()
    }
}

/// Labels that follow one another, and numbers around a centre for each label, `shift` away from 0.
fn data(seed: u64, count: usize, shift: f64) -> Vec<Both> {
    let mut rng = Random::new(seed);
    (0..count)
        .map(|_| {
            let mut label = rng.below(3);
            let mut both = Both { labels: Vec::new(), words: Vec::new(), numbers: Vec::new() };
            for _ in 0..3 + rng.below(8) {
                label = if rng.below(3) == 0 { rng.below(3) } else { (label + 1) % 3 };
                both.labels.push(LABELS[label]);
                both.words.push(format!("w{}", rng.below(5)));
                both.numbers.extend((0..WIDTH).map(|d| {
                    let centre = if d % 3 == label { 1.0 } else { 0.0 };
                    (centre + shift + 2.0 * (rng.uniform() - 0.5)) as f32
                }));
            }
            both
        })
        .collect()
}

fn tags(model: &Model, sequences: impl Iterator<Item = Sequence>) -> Vec<String> {
    let mut tagger = model.tagger().unwrap();
    sequences.flat_map(|one| tagger.tag_sequence(&one).unwrap()).map(|token| token.label).collect()
}

fn accuracy(model: &Model, test: &[Both]) -> f64 {
    let gold = test.iter().flat_map(|both| &both.labels);
    let found = tags(model, test.iter().map(Both::vectors));
    found.iter().zip(gold).filter(|(a, b)| a == b).count() as f64 / found.len() as f64
}

/// A trainer whose features do not depend on what was seen, so that both forms have the same weights.
fn trainer<'a>() -> Trainer<'a> {
    Trainer::new().features(Keep::All).sigma(2.0)
}

#[test]
fn vectors_train_the_model_that_named_numbers_train() {
    let (train, test) = (data(1, 60, 0.0), data(2, 30, 0.0));
    let methods = [Method::Lbfgs, Method::Saga, Method::Sdca, Method::NewtonCg, Method::Auto];
    for method in methods {
        let run = |sequence: fn(&Both) -> Sequence| {
            let sequences: Vec<Sequence> = train.iter().map(sequence).collect();
            let settings = |settings: &mut crfkit::train::Settings| {
                settings.parameters.tolerance = (method != Method::Sdca).then_some(1e-9);
            };
            trainer()
                .optimizer(method)
                .passes(400)
                .configure(settings)
                .run(Sequences::new(sequences))
                .unwrap()
        };
        let (dense, named) = (run(Both::vectors), run(Both::named));
        let distance = (dense.objective - named.objective).abs() / named.objective;
        assert!(distance < 1e-5, "{method:?}: {} {}", dense.objective, named.objective);
        assert_eq!(
            tags(&dense.model, test.iter().map(Both::vectors)),
            tags(&named.model, test.iter().map(Both::named)),
            "{method:?}"
        );
        assert!(accuracy(&dense.model, &test) > 0.7);
    }
}

#[test]
fn every_method_and_objective_takes_vectors_and_threads_change_nothing() {
    let train = data(3, 40, 0.0);
    let sequences = || Sequences::new(train.iter().map(Both::vectors).collect::<Vec<_>>());
    let online =
        [Method::Sgd, Method::Adagrad, Method::Adam, Method::Psa, Method::Smd, Method::Sag, Method::Svrg];
    for method in online.into_iter().chain([Method::Cg, Method::Bfgs, Method::Lbfgs, Method::Saga]) {
        let bytes = |threads: usize| {
            let trainer = Trainer::new().optimizer(method).passes(3).threads(threads);
            trainer
                .train(sequences())
                .map(|model| model.to_bytes().unwrap())
                .map_err(|error| format!("{method:?}: {error}"))
        };
        let one = bytes(1).unwrap();
        assert!(one == bytes(2).unwrap(), "{method:?}");
    }
    for objective in
        [Criterion::Pseudolikelihood, Criterion::Piecewise, Criterion::Memm, Criterion::Perceptron]
    {
        let method = if objective == Criterion::Perceptron { Method::Sgd } else { Method::Lbfgs };
        let model =
            Trainer::new().objective(objective).optimizer(method).passes(30).train(sequences()).unwrap();
        assert!(accuracy(&model, &train) > 0.6, "{objective:?}");
    }
}

#[test]
fn a_model_with_vectors_survives_its_file_and_names_its_weights() {
    let train = data(4, 40, 0.5);
    for standardise in [false, true] {
        let trainer = if standardise { trainer().standardise() } else { trainer() };
        let model =
            trainer.train(Sequences::new(train.iter().map(Both::vectors).collect::<Vec<_>>())).unwrap();
        let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert!(again.to_bytes().unwrap() == model.to_bytes().unwrap());
        let test = || train.iter().map(Both::vectors);
        assert_eq!(tags(&model, test()), tags(&again, test()));
        let chain = again.any().weighted::<crfkit::chain::ChainDomain>().unwrap();
        let dense = chain.names().iter().filter(|w| w.observation.as_deref() == Some("vector[5]")).count();
        assert_eq!(dense, LABELS.len());
        // Words keep their weights behind those of the vectors.
        assert_eq!(
            chain.names().iter().filter(|w| w.observation.as_deref() == Some("w3")).count(),
            LABELS.len()
        );
        assert_eq!(chain.domain.vectors.as_ref().unwrap().standard.is_some(), standardise);
        // Small weights go, the length of the vectors stays.
        let small = chain.shrink(f64::INFINITY);
        let small = Model::from_bytes(&small.to_bytes(Default::default()).unwrap()).unwrap();
        assert_eq!(tags(&small, test()).len(), tags(&model, test()).len());
    }
}

/// With standardisation, numbers of any size and far from 0 are as easy as others.
#[test]
fn standardisation_undoes_shifts_and_sizes() {
    let moved = |set: &[Both]| -> Vec<Sequence> {
        let size = |d: usize| 10f32.powi(3 * d as i32 % 7 - 3);
        set.iter()
            .map(|both| {
                let numbers =
                    both.numbers.iter().enumerate().map(|(i, x)| (x + 50.0) * size(i % WIDTH)).collect();
                Both { labels: both.labels.clone(), words: both.words.clone(), numbers }.vectors()
            })
            .collect()
    };
    let (train, test) = (data(5, 60, 0.0), data(6, 30, 0.0));
    let run = |sequences: Vec<Sequence>| trainer().standardise().train(Sequences::new(sequences)).unwrap();
    let plain = run(train.iter().map(Both::vectors).collect());
    let far = run(moved(&train));
    let (expected, found) =
        (tags(&plain, test.iter().map(Both::vectors)), tags(&far, moved(&test).into_iter()));
    let same = expected.iter().zip(&found).filter(|(a, b)| a == b).count();
    assert!(same as f64 > 0.99 * expected.len() as f64, "{same} of {}", expected.len());
    // Without values of unit size the weights of large numbers would be tiny, and the other way round.
    let unscaled = |settings: &mut crfkit::train::Settings| settings.scaling = Scaling::None;
    let model = trainer().configure(unscaled).standardise().train(Sequences::new(moved(&train))).unwrap();
    assert!(accuracy_of(&model, moved(&test), &test) > 0.7);
}

/// What varies little beside its size says as much as other numbers, without a wish for standardisation.
#[test]
fn numbers_far_from_zero_are_centred() {
    let usual = {
        let model =
            trainer().train(Sequences::new(data(5, 60, 0.0).iter().map(Both::vectors).collect::<Vec<_>>()));
        accuracy_of(&model.unwrap(), data(6, 60, 0.0).iter().map(Both::vectors).collect(), &data(6, 60, 0.0))
    };
    for shift in [20.0, 1e3, -1e5] {
        let (train, test) = (data(5, 60, shift), data(6, 60, shift));
        let vectors = |of: &[Both]| of.iter().map(Both::vectors).collect::<Vec<_>>();
        let model = trainer().train(Sequences::new(vectors(&train))).unwrap();
        let right = accuracy_of(&model, vectors(&test), &test);
        assert!(right > usual - 0.03, "{shift}: {right} {usual}");
        let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(accuracy_of(&again, vectors(&test), &test), right, "{shift}");
        let centred = |model: &Model| {
            let chain = model.any().weighted::<crfkit::chain::ChainDomain>().unwrap();
            chain.domain.vectors.as_ref().unwrap().standard.is_some()
        };
        let as_they_are = |settings: &mut crfkit::train::Settings| settings.scaling = Scaling::None;
        let raw = trainer().configure(as_they_are).train(Sequences::new(vectors(&train))).unwrap();
        assert!(centred(&again) && !centred(&raw), "{shift}");
    }
}

fn accuracy_of(model: &Model, sequences: Vec<Sequence>, test: &[Both]) -> f64 {
    let found = tags(model, sequences.into_iter());
    let gold = test.iter().flat_map(|both| &both.labels);
    found.iter().zip(gold).filter(|(a, b)| a == b).count() as f64 / found.len() as f64
}

/// Columns of numbers are the same thing in another form; a sequence may have both.
#[test]
fn columns_of_numbers_are_vectors() {
    let train = data(7, 40, 0.0);
    let rows = |both: &Both| {
        let tokens = both.labels.iter().zip(&both.words).zip(both.numbers.chunks(WIDTH));
        Sequence::from_rows(tokens.map(|((label, word), x)| {
            let mut row = vec![word.clone()];
            row.extend(x.iter().map(f32::to_string));
            row.push((*label).to_owned());
            row
        }))
        .unwrap()
    };
    let template = |trainer: Trainer<'static>| {
        trainer.template("U:%x[0,0]\nB\n", crfkit::data::template::Dialect::Crfpp)
    };
    let by_columns = template(trainer())
        .dense_columns(1..=WIDTH)
        .run(Sequences::new(train.iter().map(rows).collect::<Vec<_>>()))
        .unwrap();
    let beside = |both: &Both| {
        let words = both.labels.iter().zip(&both.words).map(|(label, word)| [word.as_str(), label]);
        let vectors = Vectors::new(WIDTH, both.numbers.clone()).unwrap();
        Sequence::from_rows(words).unwrap().with_vectors(vectors).unwrap()
    };
    let by_vectors =
        template(trainer()).run(Sequences::new(train.iter().map(beside).collect::<Vec<_>>())).unwrap();
    assert_eq!(by_columns.objective, by_vectors.objective);
    assert_eq!(
        tags(&by_columns.model, train.iter().map(rows)),
        tags(&by_vectors.model, train.iter().map(beside))
    );
    let names = by_columns.model.any().weighted::<crfkit::chain::ChainDomain>().unwrap();
    assert!(names.names().iter().any(|w| w.observation.as_deref() == Some("column[3]")));
    let wrong = |message: &str, expected: &str| assert!(message.contains(expected), "{message}");
    let to_train = || Sequences::new(train.iter().map(rows).collect::<Vec<_>>());
    wrong(
        &template(trainer()).dense_columns([0]).train(to_train()).unwrap_err().to_string(),
        "in column 0 is not a number",
    );
    wrong(
        &template(trainer()).dense_columns([7]).train(to_train()).unwrap_err().to_string(),
        "column 7 is the label",
    );
    wrong(
        &template(trainer()).dense_columns([9]).train(to_train()).unwrap_err().to_string(),
        "column 9 is used",
    );
}

#[test]
fn vectors_that_do_not_fit_are_rejected_with_their_place() {
    let wrong = |result: crfkit::Result<Model>, expected: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    let message = |result: crfkit::Result<Vectors>| result.unwrap_err().to_string();
    assert!(
        message(Vectors::new(2, vec![1.0, 2.0, f32::NAN, 0.0]))
            .contains("vectors:2: number 0 of the vector is NaN")
    );
    assert!(message(Vectors::from_f64(1, [1e300])).contains("is inf"));
    assert!(message(Vectors::new(2, vec![1.0; 3])).contains("3 numbers do not make vectors of 2"));
    let three = Vectors::new(1, vec![1.0; 3]).unwrap();
    let error = Sequence::from_vectors(["a", "b"], three).unwrap_err().to_string();
    assert!(error.contains("3 vectors for 2 tokens"), "{error}");
    let of = |width: usize| {
        Sequence::from_vectors(["a", "b"], Vectors::new(width, vec![0.5; 2 * width]).unwrap()).unwrap()
    };
    let none = || Sequence::from_features([("a", [("x", 1.0)])]).unwrap();
    wrong(Trainer::new().train(Sequences::new([of(2), of(3)])), "vectors of 3 numbers, but of 2 in training");
    wrong(Trainer::new().train(Sequences::new([of(2), none()])), "tokens without vectors");
    wrong(Trainer::new().train(Sequences::new([none(), of(2)])), "there were none in training");
    let model = Trainer::new().train(Sequences::new([of(2), of(2)])).unwrap();
    let mut tagger = model.tagger().unwrap();
    assert!(tagger.tag_sequence(&of(2)).is_ok());
    for sequence in [of(3), none()] {
        assert!(tagger.tag_sequence(&sequence).is_err());
    }
    assert!(
        tagger
            .tag_sequence(&Sequence::from_vectors::<&str>([], Vectors::default()).unwrap())
            .unwrap()
            .is_empty()
    );
    // An empty sequence may come first.
    let empty = Sequence::from_vectors::<&str>([], Vectors::default()).unwrap();
    Trainer::new().train(Sequences::new([empty, of(2)])).unwrap();
}

/// With features seen in training, numbers have weights for all labels, whether features are frequent (seen pairs are collected as bits) or
/// rare (they are sorted).
#[test]
fn numbers_have_weights_for_all_labels_however_pairs_are_collected() {
    for rare in [false, true] {
        let mut train = data(8, 12, 0.0);
        if rare {
            let words = train.iter_mut().flat_map(|both| &mut both.words);
            words.enumerate().for_each(|(n, word)| *word = format!("only{n}"));
        }
        let tokens: usize = train.iter().map(|both| both.labels.len()).sum();
        let sequences = Sequences::new(train.iter().map(Both::vectors).collect::<Vec<_>>());
        let model = Trainer::new().features(Keep::Observed).passes(2).train(sequences).unwrap();
        let chain = model.any().weighted::<crfkit::chain::ChainDomain>().unwrap();
        let rows = &chain.features.rows[crfkit::graph::NODES];
        // Rows are collected as bits if twice their number is at most that of the occurrences.
        assert_eq!(2 * rows.len <= tokens, !rare, "the test looks at both ways");
        for d in 0..WIDTH {
            let name = format!("vector[{d}]");
            let weights = chain.names().iter().filter(|w| w.observation.as_deref() == Some(&*name)).count();
            assert_eq!(weights, LABELS.len(), "{name}");
        }
        let named = chain.names().iter().filter(|w| w.part == "node").count() - WIDTH * LABELS.len();
        assert!(if rare { named == tokens } else { named <= 5 * LABELS.len() }, "{named} weights of words");
    }
}
