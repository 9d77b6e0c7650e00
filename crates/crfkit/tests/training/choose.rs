//! Penalties that training chooses itself.

use crfkit::Result;
use crfkit::chain::{ChainCorpus, ChainDev, CorpusBuilder, Sequence};
use crfkit::data::observer::Source;
use crfkit::math::random::Random;
use crfkit::optim::Control;
use crfkit::train::{
    self, Checkpoint, Criterion, Event, Listener, Method, Settings, StopReason, TrainOptions, Trained, Tuning,
};

/// Sequences whose labels follow from one feature, beside many that mean nothing: the best σ is far below 100.
fn sequences(seed: u64, count: usize) -> Vec<Sequence> {
    let mut random = Random::new(seed);
    let mut token = || {
        let label = random.below(3);
        let seen = if random.below(4) == 0 { random.below(3) } else { label };
        let mut features = vec![(format!("x{seen}"), 1.0)];
        features.extend((0..6).map(|_| (format!("noise{}", random.below(400)), 1.0)));
        (["A", "B", "C"][label], features)
    };
    (0..count).map(|_| Sequence::from_features((0..8).map(|_| token())).unwrap()).collect()
}

fn corpus() -> ChainCorpus {
    let mut builder = CorpusBuilder::new(Source::Attributes);
    sequences(1, 60).iter().for_each(|sequence| builder.add(sequence).unwrap());
    builder.finish(1).unwrap()
}

fn run(
    settings: &Settings,
    start: TrainOptions<crfkit::chain::ChainDomain>,
    listener: &mut dyn Listener,
) -> Result<Trained<crfkit::chain::ChainDomain>> {
    let corpus = corpus();
    let features = corpus.features(settings);
    train::train(corpus, features, settings, start, listener)
}

fn both() -> Settings {
    Settings { sigma: 8.0, choose: Tuning { sigma: true, l1: true }, ..Settings::default() }
}

#[test]
fn what_is_chosen_scores_best_and_is_recorded() {
    let settings = Settings { choose: Tuning { sigma: true, l1: false }, ..both() };
    let dev = ChainDev::from_inputs(&corpus().domain, &sequences(2, 200)).unwrap();
    let trained =
        run(&settings, TrainOptions { dev: Some(dev), ..TrainOptions::default() }, &mut ()).unwrap();
    let stored = &trained.model.settings;
    assert!(stored.sigma < 8.0, "noise wants a stronger prior than σ = 8: {}", stored.sigma);
    assert!(stored.tried.len() > 2, "{:?}", stored.tried);
    let chosen: Vec<_> = stored.tried.iter().filter(|tried| tried.chosen).collect();
    assert_eq!(chosen.len(), 1);
    assert_eq!((chosen[0].sigma, chosen[0].l1), (stored.sigma, stored.l1));
    let best = stored.tried.iter().map(|tried| tried.score).fold(0.0, f64::max);
    let first = stored.tried[0].score;
    assert!(chosen[0].score > first && best - chosen[0].score < best - first, "{:?}", stored.tried);
    let bytes = trained.model.to_bytes(Default::default()).unwrap();
    let read = crfkit::chain::ChainModel::from_bytes(&bytes).unwrap();
    assert_eq!(read.settings.tried, stored.tried);
}

/// Scores that are all the same say nothing about σ: it stays where the search began. Of L1 penalties, the largest one has the smallest model.
#[test]
fn equal_scores_leave_sigma_alone() {
    let mut builder = CorpusBuilder::new(Source::Attributes);
    for _ in 0..30 {
        let tokens = [("A", vec![("x", 1.0)]), ("B", vec![("y", 1.0)])];
        builder.add(&Sequence::from_features(tokens).unwrap()).unwrap();
    }
    let corpus = builder.finish(1).unwrap();
    let settings = Settings { sigma: 1.0, ..both() };
    let features = corpus.features(&settings);
    let trained = train::train(corpus, features, &settings, TrainOptions::default(), &mut ()).unwrap();
    let stored = &trained.model.settings;
    assert!(stored.tried.iter().all(|tried| tried.score == 100.0), "{:?}", stored.tried);
    assert_eq!((stored.sigma, stored.l1), (1.0, 1.0));
    let tried: Vec<(f64, f64)> = stored.tried.iter().map(|tried| (tried.sigma, tried.l1)).collect();
    assert_eq!(tried, [(1.0, 0.0), (2.0, 0.0), (0.5, 0.0), (1.0, 0.1), (1.0, 0.3), (1.0, 1.0)]);
}

#[test]
fn the_choice_does_not_depend_on_threads() {
    let bytes = |threads| {
        let trained = run(&both(), TrainOptions { threads, ..TrainOptions::default() }, &mut ()).unwrap();
        trained.model.to_bytes(Default::default()).unwrap()
    };
    assert!(bytes(1) == bytes(3));
}

#[test]
fn a_development_set_decides_where_there_is_one() {
    let corpus = corpus();
    let dev = ChainDev::from_inputs(&corpus.domain, &sequences(2, 40)).unwrap();
    let start = TrainOptions { dev: Some(dev), ..TrainOptions::default() };
    let with = run(&both(), start, &mut ()).unwrap();
    let without = run(&both(), TrainOptions::default(), &mut ()).unwrap();
    assert_ne!(with.model.settings.tried[0].score, without.model.settings.tried[0].score);
}

/// Keeps a checkpoint of the run that follows the search, or stops a run at its first report.
#[derive(Default)]
struct Hears {
    stop_at_once: bool,
    trials: usize,
    checkpoint: Option<Checkpoint>,
}

impl Listener for Hears {
    fn event(&mut self, event: &Event) -> Result<Control> {
        if let Event::Trial { score: Some(_), .. } = event {
            self.trials += 1;
        }
        let stop = self.stop_at_once || self.checkpoint.is_some();
        Ok(if stop { Control::Stop } else { Control::Continue })
    }

    fn checkpoint_due(&mut self) -> bool {
        self.checkpoint.is_none()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.checkpoint = Some(checkpoint.clone());
        Ok(())
    }
}

/// A checkpoint would resume with penalties that a whole search might not choose.
#[test]
fn a_search_that_is_stopped_leaves_no_checkpoint() {
    let mut stopped = Hears { stop_at_once: true, ..Hears::default() };
    assert_eq!(run(&both(), TrainOptions::default(), &mut stopped).unwrap().stop, StopReason::Listener);
    assert!(stopped.checkpoint.is_none());
}

#[test]
fn a_resumed_run_knows_the_choice() {
    let settings = Settings { optimizer: Method::Lbfgs, ..both() };
    let whole = run(&settings, TrainOptions::default(), &mut ()).unwrap();
    let mut first = Hears::default();
    run(&settings, TrainOptions::default(), &mut first).unwrap();
    assert!(first.trials > 2);
    let bytes = first.checkpoint.unwrap().to_bytes(7);
    let resume = Some(Checkpoint::from_bytes(&bytes, 7).unwrap());
    let mut second = Hears { checkpoint: None, ..Hears::default() };
    let start = TrainOptions { resume: resume.clone(), ..TrainOptions::default() };
    run(&settings, start, &mut second).unwrap();
    assert_eq!(second.trials, 0, "the search is not repeated");
    let resumed = run(&settings, TrainOptions { resume, ..TrainOptions::default() }, &mut ()).unwrap();
    let bytes = |trained: &Trained<_>| trained.model.to_bytes(Default::default()).unwrap();
    assert!(bytes(&resumed) == bytes(&whole));
    // A checkpoint without the choice belongs to no such run.
    let resume = Some(Checkpoint { tried: Vec::new(), ..second.checkpoint.unwrap() });
    assert!(run(&settings, TrainOptions { resume, ..TrainOptions::default() }, &mut ()).is_err());
}

#[test]
fn a_search_that_is_stopped_ends_with_a_model() {
    let mut listener = Hears { stop_at_once: true, ..Hears::default() };
    let trained = run(&both(), TrainOptions::default(), &mut listener).unwrap();
    assert_eq!(trained.stop, StopReason::Listener);
    assert_eq!(trained.model.settings.tried.len(), 1);
}

#[test]
fn what_cannot_be_chosen_is_rejected() {
    let refusal =
        |settings: Settings| run(&settings, TrainOptions::default(), &mut ()).unwrap_err().to_string();
    let infinite = refusal(Settings { sigma: f64::INFINITY, ..both() });
    assert!(infinite.contains("no `sigma` to choose"), "{infinite}");
    let perceptron = Settings { choose: both().choose, ..Settings::perceptron(false) };
    let perceptron = refusal(Settings { sigma: 1.0, ..perceptron });
    assert!(perceptron.contains("no penalty to choose"), "{perceptron}");
    let newton = refusal(Settings { optimizer: Method::NewtonCg, ..both() });
    assert!(newton.contains("l1"), "{newton}");
    let mut builder = CorpusBuilder::new(Source::Attributes);
    builder.add(&sequences(1, 1)[0]).unwrap();
    let alone = builder.finish(1).unwrap();
    let features = alone.features(&both());
    let error =
        train::train(alone, features, &both(), TrainOptions::default(), &mut ()).unwrap_err().to_string();
    assert!(error.contains("single training example") && error.contains("development set"), "{error}");
}

/// Every criterion, and labels that are partly unknown.
#[test]
fn other_objectives_choose_too() {
    for objective in [Criterion::Pseudolikelihood, Criterion::Piecewise, Criterion::Memm] {
        let settings = Settings { objective, passes: Some(3), ..both() };
        let trained = run(&settings, TrainOptions::default(), &mut ()).unwrap();
        assert!(trained.model.settings.tried.len() > 1);
        assert_eq!(trained.model.settings.passes, Some(3));
    }
    let mut builder = CorpusBuilder::new(Source::Attributes).with_partial_labels();
    for k in 0..30 {
        let label = ["A", "B", "?", "A|B"][k % 4];
        let tokens = [(label, vec![("x", 1.0)]), ("B", vec![("y", 1.0)])];
        builder.add(&Sequence::from_features(tokens).unwrap()).unwrap();
    }
    let corpus = builder.finish(1).unwrap();
    let features = corpus.features(&both());
    train::train(corpus, features, &both(), TrainOptions::default(), &mut ()).unwrap();
}
