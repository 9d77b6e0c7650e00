//! Training in single precision far from the optimum.

use crate::corpora;

use corpora::{Record, attribute_corpus, made_up_attributes};
use crfkit::chain::ChainDomain;
use crfkit::optim::Compute;
use crfkit::train::{self, Method, Settings, TrainOptions, Trained};

fn run(
    compute: Compute,
    optimizer: Method,
    start: TrainOptions<ChainDomain>,
    record: &mut Record,
) -> Trained<ChainDomain> {
    let corpus = attribute_corpus(&made_up_attributes(3, 400), 1);
    let settings = Settings { compute, optimizer, ..Settings::default() };
    let features = train::features(&corpus, &settings);
    train::train(corpus, features, &settings, start, record).unwrap()
}

fn plain(compute: Compute, optimizer: Method, threads: usize) -> (Trained<ChainDomain>, Vec<(f64, f64)>) {
    let mut record = Record::default();
    let trained = run(compute, optimizer, TrainOptions { threads, ..TrainOptions::default() }, &mut record);
    (trained, record.progress)
}

#[test]
fn all_numbers_lead_to_the_same_objective() {
    for optimizer in [Method::Lbfgs, Method::Cg, Method::Saga, Method::Auto] {
        let (exact, far) = plain(Compute::F64, optimizer, 1);
        for compute in [Compute::Auto, Compute::F32] {
            let (trained, progress) = plain(compute, optimizer, 1);
            let difference = (trained.objective - exact.objective).abs() / exact.objective;
            assert!(difference < 1e-4, "{optimizer:?} {compute:?}: {difference:e}");
            if optimizer == Method::Lbfgs {
                assert_ne!(progress[0], far[0], "the first pass is not in single precision");
            }
        }
    }
}

#[test]
fn the_last_passes_of_auto_are_in_double_precision() {
    let (trained, progress) = plain(Compute::Auto, Method::Lbfgs, 1);
    let model = trained.model;
    let mut record = Record::default();
    let start = TrainOptions { theta: model.weights.to_vec(), threads: 1, ..TrainOptions::default() };
    run(Compute::F64, Method::Lbfgs, start, &mut record);
    assert_eq!(record.progress[0].1, progress.last().unwrap().1, "the value of the same weights");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for optimizer in [Method::Lbfgs, Method::Auto] {
        let weights = |threads| plain(Compute::Auto, optimizer, threads).0.model.weights.to_vec();
        assert_eq!(weights(1), weights(3), "{optimizer:?}");
    }
}

#[test]
fn a_run_resumes_to_the_same_bits_in_either_numbers() {
    let mut record = Record { checkpoints: Some(Vec::new()), ..Record::default() };
    let whole = run(
        Compute::Auto,
        Method::Lbfgs,
        TrainOptions { threads: 1, ..TrainOptions::default() },
        &mut record,
    );
    let checkpoints = record.checkpoints.unwrap();
    for at in [1, checkpoints.len() / 2, checkpoints.len() - 2] {
        let resume = Some(checkpoints[at].clone());
        let start = TrainOptions { resume, threads: 1, ..TrainOptions::default() };
        let rest = run(Compute::Auto, Method::Lbfgs, start, &mut Record::default());
        assert!(rest.model.weights == whole.model.weights, "resumed from checkpoint {at}");
    }
}
