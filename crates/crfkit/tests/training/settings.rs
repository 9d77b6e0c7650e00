//! What the settings of a training run promise.

use crate::corpora;

use corpora::{Record, gain, made_up, models, parameters, train};
use crfkit::chain::{ChainDomain, ChainModel, Sequence};
use crfkit::infer::{Engine, MessageSchedule, Propagation};
use crfkit::model::Precision;
use crfkit::optim::{AdaGrad, Compute, Stop};
use crfkit::train::{
    Constraint, Criterion, Kind, Method, Parameters, Settings, StopReason, TrainOptions, features,
};

const METHODS: [Method; 4] = [Method::Auto, Method::Lbfgs, Method::Sgd, Method::Adagrad];

#[test]
fn unusable_settings_are_refused() {
    let refused = |change: fn(&mut Settings), start: TrainOptions<ChainDomain>, words: &str| {
        let (corpus, _) = made_up(17, 5);
        let mut settings = Settings::default();
        change(&mut settings);
        let features = features(&corpus, &settings);
        let result = crfkit::train::train(corpus, features, &settings, start, &mut Record::default());
        let message = result.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    let none = TrainOptions::default;
    refused(|s| s.sigma = 0.0, none(), "`sigma` is 0");
    refused(|s| s.sigma = f64::NAN, none(), "`sigma` is NaN");
    refused(|s| s.sigma_pairs = Some(-1.0), none(), "`sigma_pairs` is -1");
    refused(|s| s.l1 = f64::INFINITY, none(), "`l1` is inf");
    refused(|s| s.parameters.tolerance = Some(1.0), none(), "`tolerance` is 1");
    refused(|s| s.parameters.batch = Some(0), none(), "`batch` is 0");
    refused(|s| s.parameters.memory = Some(0), none(), "`memory` is 0");
    refused(|s| s.parameters.eta0 = Some(0.0), none(), "`eta0` is 0");
    refused(|s| s.passes = Some(0), none(), "`passes` is 0");
    refused(
        |s| {
            s.compute = Compute::F32;
            s.optimizer = Method::Sgd;
        },
        none(),
        "`compute` f32 is for `objective` likelihood of chains by auto, saga, lbfgs",
    );
    refused(
        |s| {
            s.optimizer = Method::Lbfgs;
            s.parameters.eta0 = Some(0.1);
        },
        none(),
        "`eta0` is not a parameter of `optimizer` lbfgs, which has: `tolerance`, `gradient_tolerance`, `change`, `memory`; it is one of: auto, sgd, ",
    );
    refused(|_| {}, TrainOptions { theta: vec![0.0; 3], ..none() }, "the start has 3 weights");
    refused(
        |_| {},
        TrainOptions { prior_mean: vec![0.0; 3], ..none() },
        "the mean of the prior has 3 weights",
    );
    let mut dev = made_up(17, 5).1;
    let corpus = made_up(17, 5).0;
    let unlabelled = models::columns("two 3\nsugar 5\n").remove(0);
    let sequence = Sequence::Columns { rows: unlabelled, label_column: Some(2) };
    let message = dev.add(&corpus.domain, &sequence).unwrap_err().to_string();
    assert!(message.contains("the label should be in column 2, but there are only 2 columns"), "{message}");
    let narrow = Sequence::from(models::columns("sugar\n").remove(0));
    let message = dev.add(&corpus.domain, &narrow).unwrap_err().to_string();
    assert!(message.contains("1 column, but the model's templates use 2"), "{message}");
}

#[test]
fn a_hopeless_gain_is_refused_or_survived_but_never_silent() {
    let cases =
        METHODS.into_iter().flat_map(|m| [(m, 1e6, 8), (m, 1e160, 8), (m, 1e308, 8), (m, 1e308, 100)]);
    for (optimizer, eta0, batch) in cases {
        // With nine sequences a batch of 100 is one step, after which nothing is computed any more.
        let (corpus, _) = made_up(11, 9);
        let passes = if batch == 100 { 1 } else { 3 };
        let settings = Settings {
            optimizer,
            parameters: parameters(
                optimizer,
                Parameters { eta0: Some(eta0), batch: Some(batch), ..Parameters::default() },
            ),
            passes: Some(passes),
            ..Settings::default()
        };
        let features = features(&corpus, &settings);
        let start = TrainOptions { threads: 1, ..TrainOptions::default() };
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
            let settings = Settings {
                optimizer,
                passes: Some(passes),
                parameters: gain(optimizer, 0.1),
                ..Settings::default()
            };
            let (trained, record) = train(made_up(18, 30).0, &settings, TrainOptions::default());
            assert_eq!(trained.stop, StopReason::Method(Stop::Passes), "{optimizer:?}");
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
        let parameters = Parameters { eta0, ..Parameters::default() };
        let settings = Settings { parameters, passes: Some(2), ..Settings::default() };
        train(made_up(16, 20).0, &settings, TrainOptions::default()).0.model.weights
    };
    // A gain is for online steps: with one, auto begins with them.
    assert_ne!(weights(None), weights(Some(AdaGrad::ETA0)));
    assert_ne!(weights(Some(AdaGrad::ETA0)), weights(Some(0.01)));
}

/// How messages are passed is checked for range, kind and engine, and only what is given is stored.
#[test]
fn the_settings_of_messages_fit_kind_and_engine() {
    let with = |inference, propagation| Settings { inference, propagation, ..Settings::default() };
    let refused = |settings: Settings, kind, words: &str| {
        let message = settings.check(kind).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    let none = Propagation::default();
    let damping = Propagation { damping: Some(0.3), ..none };
    refused(with(None, damping), Kind::Chain, "chains are solved exactly");
    refused(
        with(Some(Engine::MeanField), damping),
        Kind::Linked,
        "`damping` does not apply to `inference` mean-field",
    );
    refused(with(Some(Engine::Trw), Propagation { restarts: Some(1), ..none }), Kind::Grid, "`restarts`");
    refused(
        with(Some(Engine::Exact), Propagation { iterations: Some(9), ..none }),
        Kind::Graph,
        "`bp_iterations`",
    );
    for damping in [-0.1, 1.0, f64::NAN] {
        let propagation = Propagation { damping: Some(damping), ..none };
        refused(with(None, propagation), Kind::Linked, "at least 0 and below 1");
    }
    refused(with(None, Propagation { iterations: Some(0), ..none }), Kind::Linked, "at least 1");
    refused(with(None, Propagation { tolerance: Some(0.0), ..none }), Kind::Linked, "above 0");
    let all = Propagation {
        iterations: Some(50),
        damping: Some(0.5),
        schedule: Some(MessageSchedule::Residual),
        tolerance: Some(1e-6),
        restarts: Some(2),
    };
    let settings = with(Some(Engine::LoopyBp), all);
    settings.check(Kind::Linked).unwrap();
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    assert!(!serde_json::to_string(&Settings::default()).unwrap().contains("propagation"));
}

#[test]
fn settings_survive_the_model_file() {
    for sigma_pairs in [None, Some(0.5), Some(f64::INFINITY)] {
        for sigma in [0.1 + 0.2, f64::INFINITY] {
            let settings = Settings { sigma, sigma_pairs, passes: Some(2), ..Settings::default() };
            let model = train(made_up(15, 5).0, &settings, TrainOptions::default()).0.model;
            let read = ChainModel::from_bytes(&model.to_bytes(Precision::F64).unwrap()).unwrap().settings;
            // Training finds the notation of the labels.
            assert_eq!(read, Settings { constraint: Some(Constraint::Iob2), ..settings });
        }
    }
    let parameters = Parameters { gain_factor: Some([0.5, f64::INFINITY]), ..Parameters::default() };
    let settings = Settings { optimizer: Method::Smd, parameters, ..Settings::default() };
    let stored = serde_json::to_string(&settings).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&stored).unwrap(), settings);
}

/// docs/OPTIMIZERS.md has the tables that the declarations make; CRFKIT_WRITE_DOCS=1 writes them.
#[test]
fn the_page_of_methods_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/OPTIMIZERS.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once("<!-- tables -->\n").unwrap();
    let (tables, tail) = rest.split_once("<!-- end -->").unwrap();
    let made = crfkit::train::tables();
    if std::env::var_os("CRFKIT_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}<!-- tables -->\n{made}<!-- end -->{tail}")).unwrap();
    } else {
        assert_eq!(tables, made, "run this test with CRFKIT_WRITE_DOCS=1");
    }
}

/// Every pair of the table is accepted or refused as it says, with the pairs that work in the message.
#[test]
fn pairs_that_make_no_sense_are_refused() {
    for objective in Criterion::ALL {
        for optimizer in Method::ALL {
            let sigma =
                if let Method::Gis | Method::Pa | Method::Arow = optimizer { f64::INFINITY } else { 1.0 };
            let checked = Settings { objective, optimizer, sigma, ..Settings::default() }.check(Kind::Chain);
            assert_eq!(checked.is_ok(), optimizer.supports(objective), "{objective:?} by {optimizer:?}");
            if let Err(error) = checked {
                assert!(matches!(error, crfkit::Error::Incompatible { .. }), "{error}");
                for other in Method::ALL.into_iter().filter(|m| m.supports(objective)) {
                    assert!(error.to_string().contains(other.name()), "{error}");
                }
            }
        }
    }
}
