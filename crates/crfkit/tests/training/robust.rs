//! Training does not depend on the units of features, does not diverge in silence, and stops when it is asked to.

use crate::corpora;

use crate::models::attributes;
use corpora::{Record, attribute_corpus, made_up_attributes};
use crfkit::chain::{ChainDomain, ChainModel};
use crfkit::data::images::{Image, Mask};
use crfkit::data::sites::Sites;
use crfkit::decode::Decode;
use crfkit::domain::{Corpus, Domain, WeightedModel};
use crfkit::grid::{GridBuilder, GridCorpus, GridDomain, SiteFeatures, Tables};
use crfkit::math::random::Random;
use crfkit::optim::Control;
use crfkit::tag::{Labeller, Tagger};
use crfkit::train::{
    self, Checkpoint, Criterion, Event, Init, Listener, Method, Parameters, Scaling, Settings, StopReason,
    TrainOptions, Trained,
};
use crfkit::typed::TypedBuilder;
use crfkit::{Error, Place, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn fit<D: Domain>(corpus: Corpus<D>, settings: &Settings, listener: &mut dyn Listener) -> Result<Trained<D>> {
    let features = train::features(&corpus, settings);
    let start = TrainOptions { threads: 1, ..TrainOptions::default() };
    train::train(corpus, features, settings, start, listener)
}

/// Sequences of real numbers whose labels come in runs, in units of `unit`.
fn measured(unit: f64) -> String {
    let mut random = Random::new(5);
    let mut text = String::new();
    for _ in 0..30 {
        let mut label = random.below(3);
        for _ in 0..10 {
            if random.below(5) == 0 {
                label = random.below(3);
            }
            let mut noisy = |x: f64| unit * (x + 2.4 * (random.uniform() - 0.5));
            let (x, y) = (noisy([-1.0, 0.0, 1.0][label]), noisy([0.5, -1.0, 0.5][label]));
            text += &format!("L{label}\tx:{x:?}\ty:{y:?}\n");
        }
        text.push('\n');
    }
    text
}

fn labels_of(model: ChainModel, text: &str) -> Vec<u32> {
    let mut tagger = Tagger::new(Arc::new(model));
    let mut all = Vec::new();
    for sequence in attributes(text) {
        tagger.load(&sequence.into()).unwrap();
        all.extend_from_slice(tagger.viterbi());
    }
    all
}

#[test]
fn the_unit_of_a_feature_does_not_matter() {
    let settings = Settings::default();
    let train = |unit: f64| fit(attribute_corpus(&measured(unit), 1), &settings, &mut ()).unwrap();
    let usual = train(1.0);
    let gold: Vec<u32> = attribute_corpus(&measured(1.0), 1).data_gold();
    let expected = labels_of(usual.model.clone(), &measured(1.0));
    let right = expected.iter().zip(&gold).filter(|(a, b)| a == b).count();
    assert!(right * 10 > gold.len() * 8, "{right} of {}", gold.len());
    for unit in [1e6, 1e-6, 1e3] {
        let other = train(unit);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs().max(1.0);
        assert!(close(other.objective, usual.objective), "{unit}: {} {}", other.objective, usual.objective);
        for (a, b) in other.model.weights.iter().zip(usual.model.weights.iter()) {
            assert!(close(*a, *b) || close(a * unit, *b), "{unit}: {a} {b}");
        }
        assert_eq!(labels_of(other.model, &measured(unit)), expected, "{unit}");
    }
    // As they are, values of a millionth can say nothing under this prior.
    let none = Settings { scaling: Scaling::None, ..settings };
    let raw = fit(attribute_corpus(&measured(1e-6), 1), &none, &mut ()).unwrap();
    assert!(raw.objective > 1.5 * usual.objective, "{} {}", raw.objective, usual.objective);
}

#[test]
fn features_without_values_are_not_scaled() {
    let text: String = made_up_attributes(3, 20)
        .lines()
        .map(|line| {
            line.split('\t').filter(|field| !field.contains(':')).collect::<Vec<_>>().join("\t") + "\n"
        })
        .collect();
    let bytes = |scaling| {
        let settings = Settings { scaling, ..Settings::default() };
        fit(attribute_corpus(&text, 1), &settings, &mut ()).unwrap().model.weights.to_vec()
    };
    assert_eq!(bytes(Scaling::Unit), bytes(Scaling::None));
}

/// Squares of cells with one number each, and their labels: the same task for images and for graphs.
struct Squares(Vec<(Vec<f64>, Vec<u16>)>);

const SIDE: usize = 6;

impl Squares {
    fn new(unit: f64) -> Self {
        let mut random = Random::new(9);
        let mut square = || {
            let edge = random.below(SIDE);
            let labels: Vec<u16> = (0..SIDE * SIDE).map(|k| u16::from(k % SIDE > edge)).collect();
            let noisy = labels.iter().map(|&y| unit * (f64::from(y) + 1.5 * random.uniform())).collect();
            (noisy, labels)
        };
        Squares((0..8).map(|_| square()).collect())
    }

    fn images(&self, tables: Tables) -> GridCorpus {
        let sites = |values: &[f64]| -> Sites {
            Image { height: SIDE, width: SIDE, channels: 1, values: values.to_vec() }.into()
        };
        let domain =
            GridDomain::new(vec![0, 1], SiteFeatures::default(), &sites(&self.0[0].0), "test").unwrap();
        let mut builder = GridBuilder::new(GridDomain { tables, ..domain }).unwrap();
        for (values, labels) in &self.0 {
            let mask = Mask { height: SIDE, width: SIDE, values: labels.clone() };
            builder.add(&sites(values), &mask, "test").unwrap();
        }
        builder.finish().unwrap()
    }

    /// The same squares with another zero of their numbers.
    fn from_zero(zero: f64) -> Self {
        let Squares(mut squares) = Squares::new(1.0);
        squares.iter_mut().flat_map(|(values, _)| values).for_each(|value| *value += zero);
        Squares(squares)
    }

    fn graphs(&self) -> crfkit::typed::TypedCorpus {
        let mut builder = TypedBuilder::default();
        let types = r#"{"types": {"cell": {"labels": 2, "dense": 1},
            "pair": {"over": ["cell", "cell"], "table": "potts", "dense": 1}}}"#;
        builder.add(&types.replace('\n', " "), &Place::new("test", 1)).unwrap();
        for line in self.lines() {
            builder.add(&line, &Place::new("test", 2)).unwrap();
        }
        builder.finish(1).unwrap()
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(values, labels)| {
            let node =
                |k: usize| format!(r#"{{"type":"cell","label":{},"dense":[{:?}]}}"#, labels[k], values[k]);
            let pair = |(i, j): (usize, usize)| {
                let difference = (values[i] - values[j]).abs();
                format!(r#"{{"type":"pair","nodes":[{i},{j}],"dense":[{difference:?}]}}"#)
            };
            let all = 0..SIDE * SIDE;
            let right = all.clone().filter(|k| k % SIDE + 1 < SIDE).map(|k| (k, k + 1));
            let below = all.clone().filter(|k| k + SIDE < SIDE * SIDE).map(|k| (k, k + SIDE));
            let nodes = all.map(node).collect::<Vec<_>>().join(",");
            let pairs = right.chain(below).map(pair).collect::<Vec<_>>().join(",");
            format!(r#"{{"nodes":[{nodes}],"factors":[{pairs}]}}"#)
        })
    }
}

#[test]
fn the_zero_of_a_feature_does_not_matter() {
    let graphs = |zero| {
        let settings = Settings { sigma: 0.5, ..Settings::for_kind(train::Kind::Graph) };
        fit(Squares::from_zero(zero).graphs(), &settings, &mut ()).unwrap()
    };
    let images = |zero| {
        let settings = Settings { sigma: 0.5, ..Settings::for_kind(train::Kind::Grid) };
        fit(Squares::from_zero(zero).images(Tables::Potts), &settings, &mut ()).unwrap().objective
    };
    let usual = graphs(2.0).objective;
    for zero in [100.0, -4000.0] {
        let trained = graphs(zero);
        for objective in [trained.objective, images(zero)] {
            assert!((objective - usual).abs() < 0.01 * usual, "{zero}: {objective} {usual}");
        }
        // The weights of the model are those for numbers as they are.
        let (model, squares) = (Arc::new(trained.model), Squares::from_zero(zero));
        let mut tagger = Tagger::new(model.clone());
        let mut right = 0;
        for (line, (_, labels)) in squares.lines().zip(&squares.0) {
            let graph = model.domain.read_line(&line, &Place::new("test", 1)).unwrap().unwrap();
            tagger.load(&graph).unwrap();
            let found = tagger.labels(Decode::MaxMarginal).unwrap();
            right += found.iter().zip(labels).filter(|(found, label)| **found == u32::from(**label)).count();
        }
        assert!(right > 8 * SIDE * SIDE * 9 / 10, "{zero}: {right}");
    }
}

#[test]
fn one_task_has_one_result_as_images_and_as_graphs() {
    for unit in [1.0, 1e5] {
        let squares = Squares::new(unit);
        let of = |kind| Settings::for_kind(kind);
        let images = fit(squares.images(Tables::Potts), &of(train::Kind::Grid), &mut ()).unwrap();
        let graphs = fit(squares.graphs(), &of(train::Kind::Graph), &mut ()).unwrap();
        let off = (images.objective - graphs.objective).abs() / graphs.objective;
        assert!(off < 1e-4, "{unit}: {} {}", images.objective, graphs.objective);
    }
}

/// A perceptron's losses are 0 at weights of zero: whoever went by them would never leave.
#[test]
fn a_perceptron_learns_by_default() {
    let of = |kind| Settings { objective: Criterion::Perceptron, ..Settings::for_kind(kind) };
    let text = measured(1.0);
    let chain = fit(attribute_corpus(&text, 1), &of(train::Kind::Chain), &mut ()).unwrap();
    let gold: Vec<u32> = attribute_corpus(&text, 1).data_gold();
    let found = labels_of(chain.model, &text);
    let right = found.iter().zip(&gold).filter(|(a, b)| a == b).count();
    assert!(right * 10 > gold.len() * 8, "{right} of {}", gold.len());
    for init in [Init::Zero, Init::Logistic] {
        let graph = Settings { init, ..of(train::Kind::Graph) };
        let graphs = fit(Squares::new(1.0).graphs(), &graph, &mut ()).unwrap();
        assert!(graphs.model.weights.iter().any(|weight| *weight != 0.0), "{init:?}");
        // It knows nothing of probabilities, so its answer is the best labelling.
        assert_eq!(graphs.model.decode(), Decode::Best);
        let grid = Settings { init, ..of(train::Kind::Grid) };
        let images = fit(Squares::new(1.0).images(Tables::Potts), &grid, &mut ()).unwrap();
        assert!(images.model.weights.iter().any(|weight| *weight != 0.0), "{init:?}");
    }
}

#[test]
fn logistic_first_weights_prefer_equal_labels_once() {
    struct First(Vec<f64>, usize);
    impl Listener for First {
        fn event(&mut self, event: &Event) -> Result<Control> {
            match *event {
                Event::InitialWeights { objective: Some(_), .. } => self.1 += 1,
                Event::Progress { objective: Some(objective), .. } => self.0.push(objective),
                _ => {}
            }
            Ok(Control::Continue)
        }
    }
    // Large differences of neighbours: a weight of 0.5 for each would outweigh everything.
    let settings = Settings {
        init: Init::Logistic,
        optimizer: Method::Lbfgs,
        scaling: Scaling::None,
        ..Settings::default()
    };
    let mut first = First(Vec::new(), 0);
    let corpus = Squares::new(1e3).images(Tables::Full);
    let uniform = corpus.data.variables() as f64 * 2.0f64.ln();
    fit(corpus, &settings, &mut first).unwrap();
    assert!(first.1 > 1, "the run for the first weights is reported");
    assert!(first.0[0] < uniform, "{} at the start, {uniform} of uniform labels", first.0[0]);
}

/// A checkpoint would resume from weights that a run without interruption does not start from.
#[test]
fn first_weights_that_are_cut_short_leave_no_checkpoint() {
    struct Stops {
        at_first_weights: bool,
        checkpoints: usize,
    }
    impl Listener for Stops {
        fn event(&mut self, event: &Event) -> Result<Control> {
            let first = matches!(event, Event::InitialWeights { .. });
            Ok(if first == self.at_first_weights || !first { Control::Stop } else { Control::Continue })
        }

        fn checkpoint_due(&mut self) -> bool {
            true
        }

        fn checkpoint(&mut self, _: &Checkpoint) -> Result<()> {
            self.checkpoints += 1;
            Ok(())
        }
    }
    for at_first_weights in [true, false] {
        let settings = Settings { init: Init::Logistic, ..Settings::default() };
        let mut stops = Stops { at_first_weights, checkpoints: 0 };
        let stop = fit(Squares::new(1.0).images(Tables::Potts), &settings, &mut stops).unwrap().stop;
        assert_eq!((stop, stops.checkpoints == 0), (StopReason::Listener, at_first_weights));
    }
}

#[test]
fn a_run_that_ends_above_its_start_is_an_error() {
    for (optimizer, eta0) in [(Method::Sgd, 1e3), (Method::Adagrad, 1e3), (Method::Adam, 1e3)] {
        let parameters = Parameters { eta0: Some(eta0), ..Parameters::default() };
        let settings =
            Settings { optimizer, parameters, passes: Some(1), sigma: 100.0, ..Settings::default() };
        let corpus = attribute_corpus(&measured(1.0), 1);
        match fit(corpus, &settings, &mut ()) {
            Err(Error::Diverged { message, .. }) => assert!(message.contains("`eta0`"), "{message}"),
            other => panic!("{optimizer:?}: {:?}", other.map(|trained| trained.objective)),
        }
    }
}

/// Whoever stops a run gets its weights, wherever it is: an online method may be above its start in its first steps.
#[test]
fn a_run_that_is_stopped_above_its_start_gives_its_weights() {
    struct Stopper {
        above: Option<[f64; 2]>,
    }
    impl Listener for Stopper {
        fn event(&mut self, event: &Event) -> Result<Control> {
            if let Event::AboveStart { objective, zero } = *event {
                self.above = Some([objective, zero]);
            }
            Ok(Control::Stop)
        }
    }
    for optimizer in [Method::Sgd, Method::Adagrad, Method::Adam] {
        let parameters = Parameters { eta0: Some(1e3), ..Parameters::default() };
        let settings = Settings { optimizer, parameters, sigma: 100.0, ..Settings::default() };
        let corpus = attribute_corpus(&measured(1.0), 1);
        let uniform = corpus.data.variables() as f64 * 3.0f64.ln();
        let mut stopper = Stopper { above: None };
        let trained = fit(corpus, &settings, &mut stopper).unwrap();
        assert_eq!(trained.stop, StopReason::Listener);
        assert!(trained.model.weights.iter().any(|w| *w != 0.0), "{optimizer:?}: weights as they are");
        let [objective, zero] = stopper.above.expect("it hears that they are of no use yet");
        assert_eq!(objective, trained.objective);
        assert!(objective > zero && (zero - uniform).abs() < 1e-6 * uniform, "{objective} {zero} {uniform}");
    }
}

#[test]
fn auto_comes_back_from_steps_that_are_too_long() {
    struct Restarts(usize);
    impl Listener for Restarts {
        fn event(&mut self, event: &Event) -> Result<Control> {
            self.0 += usize::from(matches!(event, Event::Restart { .. }));
            Ok(Control::Continue)
        }
    }
    let by = |eta0| {
        let settings = Settings {
            objective: Criterion::Marginal,
            parameters: Parameters { eta0: Some(eta0), ..Parameters::default() },
            ..Settings::default()
        };
        let mut restarts = Restarts(0);
        let trained = fit(Squares::new(1.0).images(Tables::Full), &settings, &mut restarts).unwrap();
        (trained.objective, restarts.0)
    };
    let (healthy, none) = by(0.1);
    let (objective, restarts) = by(1e4);
    assert_eq!((none, restarts), (0, 2));
    assert!((objective - healthy).abs() < 0.01 * healthy, "{objective} {healthy}");
}

/// Sets the flag at an event, and asks to stop only once it is set.
struct Flag {
    flag: Arc<AtomicBool>,
    at: usize,
    events: usize,
}

impl Listener for Flag {
    fn event(&mut self, event: &Event) -> Result<Control> {
        if matches!(event, Event::Progress { .. }) {
            self.events += 1;
        }
        let asked = self.flag.load(Ordering::Relaxed);
        self.flag.store(self.events >= self.at, Ordering::Relaxed);
        Ok(if asked { Control::Stop } else { Control::Continue })
    }

    fn stop_flag(&mut self) -> Option<Arc<AtomicBool>> {
        Some(self.flag.clone())
    }
}

/// The listener lets the step continue and sets the flag: the next pass is cut short, and the weights are those of the
/// last step.
#[test]
fn a_flag_stops_a_run_in_the_middle_of_a_pass() {
    let corpus = || attribute_corpus(&measured(1.0), 1);
    for optimizer in [Method::Lbfgs, Method::Cg, Method::NewtonCg] {
        let settings = Settings { optimizer, ..Settings::default() };
        for at in [0, 3] {
            let mut flag = Flag { flag: Arc::new(AtomicBool::new(at == 0)), at, events: 0 };
            let trained = fit(corpus(), &settings, &mut flag).unwrap();
            assert_eq!(trained.stop, StopReason::Listener, "{optimizer:?}");
            let mut record = Record::default();
            let _: Trained<ChainDomain> = fit(corpus(), &settings, &mut record).unwrap();
            let known = match at {
                0 => corpus().data.variables() as f64 * 3.0f64.ln(),
                _ => record.progress[at - 1].1,
            };
            let off = (trained.objective - known).abs();
            assert!(off < 1e-9 * known, "{optimizer:?}, {at}: {} {known}", trained.objective);
        }
    }
}

/// The gold labels of all examples.
trait Gold {
    fn data_gold(&self) -> Vec<u32>;
}

impl<D: Domain> Gold for Corpus<D> {
    fn data_gold(&self) -> Vec<u32> {
        (0..self.data.len()).flat_map(|example| self.data.gold(example).to_vec()).collect()
    }
}

#[test]
fn exact_inference_keeps_to_the_limit_of_memory() {
    let fit_within = |memory_limit: u64| {
        let settings = Settings {
            inference: Some(crfkit::infer::Engine::Exact),
            parameters: Parameters { memory_limit: Some(memory_limit), ..Parameters::default() },
            passes: Some(1),
            ..Settings::default()
        };
        fit(Squares::new(1.0).images(Tables::Potts), &settings, &mut ())
    };
    let model: WeightedModel<GridDomain> = fit_within(1 << 20).unwrap().model;
    assert_eq!(model.settings.parameters.memory_limit, Some(1 << 20));
    let message = fit_within(1000).unwrap_err().to_string();
    assert!(message.contains("1000 allowed") && message.contains("`memory_limit`"), "{message}");
}
