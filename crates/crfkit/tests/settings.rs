//! What the settings of a training run promise.

#[path = "common/corpora.rs"]
mod corpora;

use corpora::{Record, made_up, train};
use crfkit::model::{Model, Precision};
use crfkit::optim::{AdaGrad, Stop};
use crfkit::train::{Dev, Ended, Method, Settings, Start, features};

const METHODS: [Method; 4] = [Method::Auto, Method::Lbfgs, Method::Sgd, Method::Adagrad];

#[test]
fn unusable_settings_are_refused() {
    let refused = |change: fn(&mut Settings), start: Start, words: &str| {
        let (corpus, _) = made_up(17, 5);
        let mut settings = Settings::default();
        change(&mut settings);
        let features = features(&corpus, &settings);
        let result = crfkit::train::train(corpus, features, &settings, start, &mut Record::default());
        let message = result.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    let none = Start::default;
    refused(|s| s.sigma = 0.0, none(), "--sigma is 0");
    refused(|s| s.sigma = f64::NAN, none(), "--sigma is NaN");
    refused(|s| s.sigma_pairs = Some(-1.0), none(), "--sigma-pairs is -1");
    refused(|s| s.l1 = f64::INFINITY, none(), "--l1 is inf");
    refused(|s| s.tolerance = 1.0, none(), "--tolerance is 1");
    refused(|s| s.batch = 0, none(), "--batch is 0");
    refused(|s| s.memory = 0, none(), "--memory is 0");
    refused(|s| s.eta0 = Some(0.0), none(), "--eta0 is 0");
    refused(|s| s.passes = Some(0), none(), "--passes is 0");
    refused(|_| {}, Start { theta: vec![0.0; 3], ..none() }, "the start has 3 weights");
    refused(|_| {}, Start { prior_mean: vec![0.0; 3], ..none() }, "the prior mean has 3 weights");
    let with_dev = |change: fn(&mut Dev)| {
        let mut dev = made_up(17, 5).1;
        change(&mut dev);
        Start { dev: Some(dev), ..none() }
    };
    let fewer = with_dev(|dev| dev.gold.truncate(3));
    refused(|_| {}, fewer, "the development data has 5 sequences, but gold labels for 3");
    let shorter = with_dev(|dev| dev.gold[1].clear());
    refused(|_| {}, shorter, "sequence 1 of the development data has");
}

#[test]
fn a_hopeless_gain_is_refused_or_survived_but_never_silent() {
    let cases =
        METHODS.into_iter().flat_map(|m| [(m, 1e6, 8), (m, 1e160, 8), (m, 1e308, 8), (m, 1e308, 100)]);
    for (optimizer, eta0, batch) in cases {
        // With nine sequences a batch of 100 is one step, after which nothing is computed any more.
        let (corpus, _) = made_up(11, 9);
        let passes = if batch == 100 { 1 } else { 3 };
        let settings =
            Settings { optimizer, eta0: Some(eta0), batch, passes: Some(passes), ..Settings::default() };
        let features = features(&corpus, &settings);
        let start = Start { threads: 1, ..Start::default() };
        match crfkit::train::train(corpus, features, &settings, start, &mut Record::default()) {
            Ok(trained) => {
                assert!(trained.model.weights.iter().all(|w| w.is_finite()), "{optimizer:?}, {eta0}");
                assert!(trained.objective.is_finite(), "{optimizer:?}, {eta0}");
            }
            Err(e) => assert!(e.to_string().starts_with("training diverged after"), "{optimizer:?}: {e}"),
        }
    }
}

#[test]
fn passes_are_a_limit() {
    for optimizer in METHODS {
        for passes in [1, 2, 9] {
            let settings =
                Settings { optimizer, passes: Some(passes), eta0: Some(0.1), ..Settings::default() };
            let (trained, record) = train(made_up(18, 30).0, &settings, Start::default());
            assert_eq!(trained.stop, Ended::Method(Stop::Passes), "{optimizer:?}");
            // The last line search may go beyond.
            assert!(
                (passes as f64..passes as f64 + 2.0).contains(&trained.passes),
                "{optimizer:?}: {}",
                trained.passes
            );
            assert_eq!(record.progress.last().unwrap().0, trained.passes, "{optimizer:?}");
        }
    }
}

#[test]
fn the_gain_of_auto_can_be_set() {
    let weights = |eta0| {
        let settings = Settings { eta0, passes: Some(2), ..Settings::default() };
        train(made_up(16, 20).0, &settings, Start::default()).0.model.weights
    };
    assert_eq!(weights(None), weights(Some(AdaGrad::ETA0)));
    assert_ne!(weights(None), weights(Some(0.01)));
}

#[test]
fn settings_survive_the_model_file() {
    for sigma_pairs in [None, Some(0.5), Some(f64::INFINITY)] {
        for sigma in [0.1 + 0.2, f64::INFINITY] {
            let settings = Settings { sigma, sigma_pairs, passes: Some(2), ..Settings::default() };
            let model = train(made_up(15, 5).0, &settings, Start::default()).0.model;
            let read = Model::from_bytes(&model.to_bytes(Precision::F64).unwrap()).unwrap().settings;
            assert_eq!(serde_json::from_value::<Settings>(read).unwrap(), settings);
        }
    }
}
