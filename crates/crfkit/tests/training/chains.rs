//! Training from text to model.

use crate::corpora;

use corpora::models::{templates, wapiti_templates};
use corpora::{
    Record, attribute_corpus, column_corpus, column_dev, gain, made_up, made_up_attributes, made_up_columns,
    parameters, scores, train,
};
use crfkit::chain::{ChainCorpus, ChainModel};
use crfkit::data::dataset::Dataset;
use crfkit::graph::Psi;
use crfkit::infer::enumerate::enumerate;
use crfkit::math::Array;
use crfkit::math::random::Random;
use crfkit::math::simd;
use crfkit::model::{Keep, Precision};
use crfkit::train::{Method, Parameters, Scaling, Settings, StopReason, TrainOptions, features};

const METHODS: [Method; 4] = [Method::Auto, Method::Lbfgs, Method::Bottou, Method::Adagrad];

/// A corpus of every kind.
fn corpora(seed: u64, sequences: usize) -> [(&'static str, ChainCorpus); 3] {
    let text = made_up_columns(seed, sequences);
    [
        ("templates", column_corpus(&text, templates(), 1)),
        ("Wapiti templates", column_corpus(&text, wapiti_templates(), 1)),
        ("attributes", attribute_corpus(&made_up_attributes(seed, sequences), 1)),
    ]
}

fn bytes(model: &ChainModel) -> Vec<u8> {
    model.to_bytes(Precision::F64).unwrap()
}

/// −Σ weight · ln p(gold) + Σ θ²/2σ², every labelling counted one by one.
fn brute_force(corpus: &ChainCorpus, settings: &Settings, theta: &[f64]) -> f64 {
    let features = features(corpus, settings);
    let mut shared = features.empty_tables();
    features.fill_tables(&[theta], &mut shared);
    let mut sum: f64 = theta.iter().map(|x| x * x / (2.0 * settings.sigma.powi(2))).sum();
    for example in 0..corpus.data.len() {
        let mut own = Array::default();
        crfkit::risk::potentials(&features, &corpus.data, example, theta, &mut own);
        let chain = corpus.data.graph(example);
        let score = Psi { shared: &shared, own: &own }.score(chain, corpus.data.gold(example));
        sum += corpus.data.weight(example) * (enumerate(chain, &shared, &own).log_z - score);
    }
    sum
}

#[test]
fn the_objective_is_what_enumeration_gives() {
    for keep in [Keep::Observed, Keep::All] {
        for (name, corpus) in corpora(1, 12) {
            let settings = Settings {
                features: keep,
                boundaries: keep == Keep::All,
                optimizer: Method::Lbfgs,
                passes: Some(1),
                sigma: 0.8,
                scaling: Scaling::None,
                ..Settings::default()
            };
            let uniform: f64 = (0..corpus.data.len())
                .map(|e| corpus.data.weight(e) * corpus.data.gold(e).len() as f64)
                .sum::<f64>()
                * (corpus.domain.labels.len() as f64).ln();
            let (trained, record) = train(corpus.clone(), &settings, TrainOptions::default());
            assert!((record.progress[0].1 - uniform).abs() < 1e-9 * uniform, "{name}, {keep:?}: at θ = 0");
            assert!((trained.objective - uniform).abs() < 1e-9 * uniform);
            let mut rng = Random::new(4);
            let theta: Vec<f64> = (0..trained.features).map(|_| rng.uniform() * 4.0 - 2.0).collect();
            let expected = brute_force(&corpus, &settings, &theta);
            let start = TrainOptions { theta, ..TrainOptions::default() };
            let (trained, _) = train(corpus, &settings, start);
            let off = (trained.objective - expected).abs() / expected;
            assert!(off < 1e-12, "{name}, {keep:?}: {} instead of {expected}", trained.objective);
        }
    }
}

#[test]
fn all_methods_reach_the_same_optimum() {
    for (name, corpus) in corpora(2, 80) {
        for l1 in [0.0, 0.2] {
            let exact = Settings {
                optimizer: Method::Lbfgs,
                parameters: Parameters { tolerance: Some(0.0), ..Default::default() },
                passes: Some(2000),
                l1,
                ..Settings::default()
            };
            let best = train(corpus.clone(), &exact, TrainOptions::default()).0.objective;
            for optimizer in METHODS {
                let settings = Settings {
                    optimizer,
                    l1,
                    parameters: parameters(
                        optimizer,
                        Parameters { tolerance: Some(1e-7), ..Parameters::default() },
                    ),
                    ..Settings::default()
                };
                let (trained, record) = train(corpus.clone(), &settings, TrainOptions::default());
                let off = trained.objective / best - 1.0;
                let bound = if matches!(optimizer, Method::Auto | Method::Lbfgs) { 1e-6 } else { 0.03 };
                assert!(
                    (-1e-9..bound).contains(&off),
                    "{name}, {optimizer:?}, l1 {l1}: {off:e} above {best}"
                );
                assert!(record.progress.is_sorted_by(|a, b| a.0 < b.0), "{name}, {optimizer:?}: passes");
                assert_eq!(trained.model.weights.len(), trained.features);
            }
        }
    }
}

#[test]
fn threads_change_no_byte() {
    for (name, corpus) in corpora(3, 40) {
        let wide = (Method::Auto, 10.0);
        for (optimizer, sigma) in METHODS.into_iter().map(|method| (method, 1.0)).chain([wide]) {
            let settings = Settings { optimizer, sigma, passes: Some(12), ..Settings::default() };
            let run = |threads| {
                let start = TrainOptions { threads, ..TrainOptions::default() };
                bytes(&train(corpus.clone(), &settings, start).0.model)
            };
            let one = run(1);
            assert!(one == run(2) && one == run(3), "{name}, {optimizer:?}, σ {sigma}");
        }
    }
}

/// Prints objective and score of every method, for the test below, which runs it in a process for each vector unit.
#[test]
fn results_of_one_unit() {
    for optimizer in METHODS {
        let (corpus, dev) = made_up(4, 60);
        let settings = Settings { optimizer, ..Settings::default() };
        let (trained, _) = train(corpus, &settings, TrainOptions::default());
        println!("result {} {} {}", simd::unit(), trained.objective, scores(&trained.model, &dev).f1);
    }
}

#[test]
fn vector_units_agree() {
    let results = |unit: &str| -> Vec<(f64, f64)> {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "chains::results_of_one_unit", "--nocapture"])
            .env("CRFKIT_SIMD", unit)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // The first line stands behind the name of the test.
        let lines = text.lines().filter_map(|line| Some(&line[line.find("result ")?..]));
        let fields = lines.map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        fields
            .filter(|fields| fields.len() == 4 && fields[1] == unit)
            .map(|fields| (fields[2].parse().unwrap(), fields[3].parse().unwrap()))
            .collect()
    };
    let baseline = results("baseline");
    assert_eq!(baseline.len(), METHODS.len());
    for unit in simd::UNITS.into_iter().filter(|unit| simd::available(unit)) {
        let mine = results(unit);
        assert_eq!(mine.len(), METHODS.len(), "{unit}");
        for ((a, f), (b, g)) in mine.iter().zip(&baseline) {
            assert!((a - b).abs() < 1e-9 * b && (f - g).abs() < 0.05, "{unit}: {a} {b}, F1 {f} {g}");
        }
    }
}

#[test]
fn the_best_model_on_development_data_is_kept() {
    for optimizer in METHODS {
        for patience in [0, 1, 3] {
            let (corpus, dev) = made_up(5, 30);
            let settings =
                Settings { optimizer, patience, sigma: 30.0, passes: Some(40), ..Settings::default() };
            let start = TrainOptions { dev: Some(dev.clone()), ..TrainOptions::default() };
            let (trained, record) = train(corpus, &settings, start);
            let kept = scores(&trained.model, &dev);
            let scores: Vec<f64> = record.evaluations.iter().map(|(scores, _)| scores.f1).collect();
            let best = scores.iter().copied().fold(0.0, f64::max);
            assert_eq!(kept.f1, best, "{optimizer:?}");
            let at = scores.iter().position(|&score| score == best).unwrap();
            assert_eq!(record.evaluations[at].0, kept, "{optimizer:?}: the first of the best");
            assert_eq!(record.evaluations.iter().rposition(|(_, best)| *best), Some(at));
            let since = scores.len() - 1 - at;
            match trained.stop {
                StopReason::Patience => assert_eq!(since, patience, "{optimizer:?}"),
                StopReason::Method(_) => assert!(patience == 0 || since < patience, "{optimizer:?}"),
                other => panic!("{other}: nobody asked for it"),
            }
            // A method that converges at once has no time for a worse score.
            let converged = scores.len() == 1;
            assert!(
                patience != 1 || converged || trained.stop == StopReason::Patience,
                "{optimizer:?} {scores:?}"
            );
        }
    }
}

#[test]
fn without_chunks_accuracy_decides() {
    let relabel = |text: String| text.replace("B-", "X").replace("I-", "Y");
    let corpus = column_corpus(&relabel(made_up_columns(6, 30)), templates(), 1);
    let dev = column_dev(&corpus, &relabel(made_up_columns(7, 30)));
    let start = TrainOptions { dev: Some(dev.clone()), ..TrainOptions::default() };
    let (trained, record) = train(corpus, &Settings::default(), start);
    let best = record.evaluations.iter().map(|(scores, _)| scores.accuracy).fold(0.0, f64::max);
    assert_eq!(scores(&trained.model, &dev).accuracy, best);
}

#[test]
fn a_listener_may_stop_at_any_event() {
    for optimizer in METHODS {
        for stop_after in 1..8 {
            let (corpus, dev) = made_up(8, 30);
            let settings = Settings { optimizer, patience: 0, ..Settings::default() };
            let mut record = Record { stop_after: Some(stop_after), ..Record::default() };
            let start = TrainOptions { dev: Some(dev), threads: 1, ..TrainOptions::default() };
            let features = features(&corpus, &settings);
            let trained = crfkit::train::train(corpus, features, &settings, start, &mut record).unwrap();
            assert_eq!(trained.stop, StopReason::Listener, "{optimizer:?}");
            // A report and the evaluation at the same weights belong to one step.
            assert!(record.events == stop_after || record.events == stop_after + 1, "{optimizer:?}");
            assert!(trained.model.weights.iter().all(|w| w.is_finite()) && trained.objective.is_finite());
        }
    }
}

#[test]
fn the_prior_pulls_towards_its_mean() {
    let (corpus, _) = made_up(9, 30);
    let dim = features(&corpus, &Settings::default()).dim();
    let mut rng = Random::new(1);
    let mean: Vec<f64> = (0..dim).map(|_| rng.uniform() - 0.5).collect();
    for optimizer in METHODS {
        let settings =
            Settings { optimizer, parameters: gain(optimizer, 1e-5), sigma: 1e-3, ..Settings::default() };
        let start = TrainOptions { prior_mean: mean.clone(), theta: mean.clone(), ..TrainOptions::default() };
        let (tight, _) = train(corpus.clone(), &settings, start);
        let off = tight.model.weights.iter().zip(&mean).map(|(w, m)| (w - m).abs()).fold(0.0, f64::max);
        assert!(off < 1e-3, "{optimizer:?}: {off}");
        // One number for all is the same as a vector of it.
        let settings =
            Settings { optimizer, prior_mean: 0.3.into(), passes: Some(10), ..Settings::default() };
        let number = train(corpus.clone(), &settings, TrainOptions::default()).0.model.weights;
        let start = TrainOptions { prior_mean: vec![0.3; dim], ..TrainOptions::default() };
        assert_eq!(number, train(corpus.clone(), &settings, start).0.model.weights, "{optimizer:?}");
    }
}

#[test]
fn pairs_have_a_sigma_of_their_own() {
    let (corpus, _) = made_up(10, 30);
    for optimizer in METHODS {
        let settings = Settings {
            optimizer,
            sigma_pairs: Some(1e-3),
            parameters: gain(optimizer, 1e-5),
            ..Settings::default()
        };
        let (trained, _) = train(corpus.clone(), &settings, TrainOptions::default());
        let first = trained.model.features.first_pair_weight();
        let largest = |weights: &[f64]| weights.iter().map(|w| w.abs()).fold(0.0, f64::max);
        let (nodes, pairs) = trained.model.weights.split_at(first);
        assert!(largest(pairs) < 1e-3, "{optimizer:?}: {}", largest(pairs));
        assert!(largest(nodes) > 3.0 * largest(pairs), "{optimizer:?}: {}", largest(nodes));
    }
}

#[test]
fn separable_data_without_prior_ends_with_finite_weights() {
    let text = "a 1 A\nb 1 B\nb 1 B\n\nb 1 B\na 1 A\n\na 1 A\n\nb 1 B\na 1 A\nb 1 B\n";
    for optimizer in METHODS {
        for passes in [None, Some(60)] {
            let corpus = column_corpus(text, templates(), 1);
            let settings = Settings { optimizer, passes, sigma: f64::INFINITY, ..Settings::default() };
            let (trained, _) = train(corpus, &settings, TrainOptions::default());
            assert!(trained.model.weights.iter().all(|w| w.is_finite()), "{optimizer:?}");
            assert!(matches!(trained.stop, StopReason::Method(_)), "{optimizer:?}");
            assert!(trained.objective < 0.5, "{optimizer:?}: {}", trained.objective);
        }
    }
}

#[test]
fn l1_gives_zeros_and_a_smaller_file() {
    for optimizer in METHODS {
        let run = |l1| {
            let (corpus, _) = made_up(12, 60);
            let settings = Settings { optimizer, l1, ..Settings::default() };
            train(corpus, &settings, TrainOptions::default()).0.model
        };
        let (plain, sparse) = (run(0.0), run(1.0));
        let zeros = |model: &ChainModel| model.weights.iter().filter(|w| **w == 0.0).count();
        assert!(zeros(&sparse) > sparse.weights.len() / 4, "{optimizer:?}: {} zeros", zeros(&sparse));
        assert!(zeros(&sparse) > zeros(&plain), "{optimizer:?}");
        assert!(bytes(&sparse).len() < bytes(&plain).len(), "{optimizer:?}");
    }
}

#[test]
fn one_label_and_one_token() {
    for optimizer in METHODS {
        let settings = Settings { optimizer, boundaries: true, ..Settings::default() };
        let one_label = column_corpus("a 1 X\nb 1 X\n\nc 1 X\n", templates(), 1);
        let (trained, _) = train(one_label, &settings, TrainOptions::default());
        assert!(trained.objective.abs() < 1e-12, "{optimizer:?}: {}", trained.objective);
        assert!(trained.model.weights.iter().all(|w| w.abs() < 1e-12), "{optimizer:?}");
        let one_token = column_corpus("a 1 X\n", templates(), 1);
        let (trained, _) = train(one_token, &settings, TrainOptions::default());
        assert!(trained.objective.abs() < 1e-12, "{optimizer:?}: {}", trained.objective);
        let tokens = column_corpus("a 1 X\n\nb 1 Y\n\na 1 X\n", templates(), 1);
        let (trained, _) = train(tokens, &settings, TrainOptions::default());
        assert!(trained.objective < 3.0 * 2f64.ln(), "{optimizer:?}: {}", trained.objective);
    }
}

#[test]
fn min_count_drops_rare_observations() {
    let text = made_up_attributes(13, 20);
    let mut counts = std::collections::HashMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('@')) {
        for name in line.split('\t').skip(1).map(|field| field.split(':').next().unwrap()) {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    for min_count in [1, 2, 3, 5, 1000] {
        let corpus = attribute_corpus(&text, min_count);
        let kept = counts.values().filter(|&&n| n >= min_count).count();
        assert_eq!(corpus.domain.alphabet.node.len(), kept);
        let occurrences: u32 = counts.values().filter(|&&n| n >= min_count).sum();
        assert_eq!(corpus.data.occurrences(), occurrences as usize);
        let (trained, _) =
            train(corpus, &Settings { min_count, ..Settings::default() }, TrainOptions::default());
        assert!(trained.objective.is_finite(), "min_count {min_count}");
    }
}

#[test]
fn a_saved_model_scores_the_same() {
    let (corpus, dev) = made_up(14, 60);
    let (trained, _) = train(corpus, &Settings { l1: 0.3, ..Settings::default() }, TrainOptions::default());
    let score = |model: &ChainModel| {
        // Compacting renumbers the observations: read the development data by the model's own alphabet.
        let corpus = ChainCorpus { domain: model.domain.clone(), data: Dataset::new() };
        scores(model, &column_dev(&corpus, &made_up_columns(1014, 60)))
    };
    let before = scores(&trained.model, &dev);
    assert_eq!(score(&trained.model), before);
    let reload = |precision| ChainModel::from_bytes(&trained.model.to_bytes(precision).unwrap()).unwrap();
    assert_eq!(score(&reload(Precision::F64)), before);
    assert_eq!(score(&trained.model.compact()), before, "sparse = dense");
    assert!((score(&reload(Precision::F32)).f1 - before.f1).abs() < 0.05);
}
