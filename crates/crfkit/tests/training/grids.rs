//! Models of pictures: features, unlabelled pixels, files, and that neighbours help.

use crate::common;

use common::difference;
use crfkit::chain::ChainModel;
use crfkit::checkpoint::fingerprint;
use crfkit::data::images::{Image, Mask};
use crfkit::data::sites::Sites;
use crfkit::graph::build::PairTables;
use crfkit::graph::{FactorGraph, Gradient, Graph, Grid, Label, Neighbours, Psi, SharedSum, UNLABELLED};
use crfkit::grid::{
    Decode, Directions, Engine, GridBuilder, GridCorpus, GridDomain, GridImage, GridModel, GridTagger,
    SiteFeatures, Tables,
};
use crfkit::infer::JunctionTree;
use crfkit::infer::enumerate::enumerate;
use crfkit::loss::Pieces;
use crfkit::loss::{Gold, Likelihood, Loss, PartialLikelihood};
use crfkit::math::random::Random;
use crfkit::math::{Array, Dual};
use crfkit::model::Precision;
use crfkit::optim::Control;
use crfkit::tag::Judgement;
use crfkit::train::{
    self, BatchOf, Checkpoint, Criterion, Event, Init, Kind, Listener, Method, Parameters, Scaling, Settings,
    TrainOptions, Trained,
};
use std::sync::Arc;

fn layout(tables: Tables, neighbours: Neighbours) -> GridDomain {
    let sites = SiteFeatures::default();
    let (labels, unlabelled) = (vec![0, 255], Some(7));
    let directions = Directions::Shared;
    GridDomain {
        labels,
        unlabelled,
        sites,
        channels: 1,
        pair_channels: 1,
        pairs: None,
        neighbours,
        tables,
        directions,
    }
}

/// Blocks of 0 and 255 under noise. A few pixels have no label if `holes`.
fn pictures(seed: u64, side: usize, holes: bool) -> Vec<(Sites, Mask)> {
    let mut random = Random::new(seed);
    let mut picture = || {
        let (row, column) = (random.below(side), random.below(side));
        let inside = |k: usize| (k / side).abs_diff(row) < 5 && (k % side).abs_diff(column) < 5;
        let mut values: Vec<u16> = (0..side * side).map(|k| if inside(k) { 255 } else { 0 }).collect();
        let noise =
            |random: &mut Random| 0.9 * (random.uniform() + random.uniform() + random.uniform() - 1.5);
        let noisy = values.iter().map(|&v| f64::from(v) / 255.0 + noise(&mut random)).collect();
        if holes {
            (0..4).for_each(|_| values[random.below(side * side)] = 7);
        }
        let image = Image { height: side, width: side, channels: 1, values: noisy };
        (image.into(), Mask { height: side, width: side, values })
    };
    (0..8).map(|_| picture()).collect()
}

fn corpus(layout: GridDomain, pictures: &[(Sites, Mask)]) -> GridCorpus {
    let mut builder = GridBuilder::new(layout).unwrap();
    for (image, mask) in pictures {
        builder.add(image, mask, "test").unwrap();
    }
    builder.finish().unwrap()
}

fn start(threads: usize) -> TrainOptions<GridDomain> {
    TrainOptions { threads, ..TrainOptions::default() }
}

fn train(
    corpus: GridCorpus,
    settings: &Settings,
    start: TrainOptions<GridDomain>,
    listener: &mut dyn Listener,
) -> crfkit::Result<Trained<GridDomain>> {
    let features = train::features(&corpus, settings);
    train::train(corpus, features, settings, start, listener)
}

fn settings(inference: Engine, objective: Criterion) -> Settings {
    let (inference, init) = (Some(inference), Init::Logistic);
    let (optimizer, passes) = (Method::Lbfgs, Some(20));
    Settings { inference, init, objective, optimizer, passes, ..Settings::default() }
}

/// A model of made-up weights.
fn given(domain: GridDomain, weights: &[f64]) -> Arc<GridModel> {
    let settings = Settings::for_kind(Kind::Grid);
    let features = domain.all_features().into();
    Arc::new(GridModel { domain, features, weights: weights.to_vec().into(), settings })
}

/// Per cent of the pixels with a gold label that got another one.
fn errors(model: &Arc<GridModel>, test: &[(Sites, Mask)], decode: Decode) -> f64 {
    let mut tagger = GridTagger::new(model.clone());
    let mut judgement = Judgement::new(1);
    let (mut pixels, mut wrong) = (0, 0);
    for (image, mask) in test {
        let picture = GridImage { mask: Some(mask.clone()), ..GridImage::new(image.clone(), "test") };
        let labels = tagger.judge(&picture, decode, &mut judgement).unwrap();
        let found = tagger.mask(&labels);
        let gold = mask.values.iter().zip(&found.values).filter(|(gold, _)| **gold != 7);
        pixels += gold.clone().count();
        wrong += gold.filter(|(gold, found)| gold != found).count();
    }
    let all = judgement.overall();
    assert_eq!((all.total, all.wrong()), (pixels as u64, wrong as u64));
    100.0 * wrong as f64 / pixels as f64
}

/// A small grid of random own tables.
fn random_grid(random: &mut Random, labels: usize) -> (FactorGraph, Array<f64>) {
    let (neighbours, pairs) = (Neighbours::Four, PairTables::Own);
    let grid = Grid { height: 2, width: 3, labels, neighbours, pairs, directions_tied: true };
    let graph = grid.build().unwrap();
    let mut own = Array::zeros(graph.own_len());
    graph.clear_own(own.plane_mut(0));
    own.plane_mut(0).iter_mut().filter(|x| **x == 0.0).for_each(|x| *x = 4.0 * random.uniform() - 2.0);
    (graph, own)
}

/// −log of the sum of p(y) over all y that agree with the known labels.
fn partial_by_enumeration(graph: &FactorGraph, own: &Array<f64>, gold: &[Label], labels: usize) -> f64 {
    let psi = Psi { shared: &[], own };
    let (mut all, mut agreeing) = (0.0, 0.0);
    for number in 0..labels.pow(gold.len() as u32) {
        let y: Vec<Label> =
            (0..gold.len()).map(|v| (number / labels.pow(v as u32) % labels) as Label).collect();
        let weight = psi.score(graph, &y).exp();
        all += weight;
        if y.iter().zip(gold).all(|(y, gold)| y == gold || *gold == UNLABELLED) {
            agreeing += weight;
        }
    }
    f64::ln(all) - f64::ln(agreeing)
}

#[test]
fn unlabelled_variables_are_summed_out() {
    let mut random = Random::new(3);
    for case in 0..30 {
        let labels = 2 + case % 2;
        let (graph, own) = random_grid(&mut random, labels);
        let gold: Vec<Label> = (0..graph.vars())
            .map(|_| match random.below(3) {
                0 => UNLABELLED,
                _ => random.below(labels) as Label,
            })
            .collect();
        let loss = PartialLikelihood::new(JunctionTree::default());
        let run = |own: &Array<f64>| {
            let mut gradient = Array::zeros(own.len());
            let mut shared = SharedSum::new(&[]);
            let mut out = Gradient { own: gradient.slice_mut(0..graph.own_len()), shared: &mut shared };
            let psi = Psi { shared: &[], own };
            let gold = Gold::new(&gold, 1.0);
            (loss.loss(&graph, psi, gold, &mut out, &mut Default::default()), gradient)
        };
        let (value, gradient) = run(&own);
        let expected = partial_by_enumeration(&graph, &own, &gold, labels);
        assert!(difference(value, expected) < 1e-9, "{value} {expected}");
        // Gradient = slope along a random direction; H·v = its derivative, by dual numbers.
        let direction: Vec<f64> = (0..own.len()).map(|_| random.uniform() - 0.5).collect();
        let moved = |h: f64| {
            let mut own = own.clone();
            own.plane_mut(0).iter_mut().zip(&direction).for_each(|(x, d)| *x += h * d);
            own
        };
        let h = 1e-5;
        let slope = (run(&moved(h)).0 - run(&moved(-h)).0) / (2.0 * h);
        let product: f64 = gradient.plane(0).iter().zip(&direction).map(|(g, d)| g * d).sum();
        assert!(difference(slope, product) < 1e-6, "{slope} {product}");
        let mut dual: Array<Dual> = Array::zeros(own.len());
        dual.plane_mut(0).copy_from_slice(own.plane(0));
        dual.plane_mut(1).copy_from_slice(&direction);
        let (mut out, mut shared) = (Array::<Dual>::zeros(own.len()), SharedSum::new(&[]));
        let mut out_gradient = Gradient { own: out.slice_mut(0..graph.own_len()), shared: &mut shared };
        let gold = Gold::new(&gold, 1.0);
        loss.loss(&graph, Psi { shared: &[], own: &dual }, gold, &mut out_gradient, &mut Default::default());
        let (up, down) = (run(&moved(h)).1, run(&moved(-h)).1);
        for i in 0..own.len() {
            let slope = (up.get(i) - down.get(i)) / (2.0 * h);
            assert!(difference(out.plane(1)[i], slope) < 1e-6, "{} {slope}", out.plane(1)[i]);
        }
    }
}

#[test]
fn with_all_labels_known_it_is_the_likelihood() {
    let mut random = Random::new(5);
    let (graph, own) = random_grid(&mut random, 2);
    let gold = Gold::new(&[0, 1, 1, 0, 0, 1], 0.5);
    let run = |partial: bool| {
        let (mut gradient, mut shared) = (Array::zeros(own.len()), SharedSum::new(&[]));
        let mut out = Gradient { own: gradient.slice_mut(0..own.len()), shared: &mut shared };
        let psi = Psi { shared: &[], own: &own };
        let engine = JunctionTree::default();
        let value = match partial {
            true => PartialLikelihood::new(engine).loss(&graph, psi, gold, &mut out, &mut Default::default()),
            false => Likelihood(engine).loss(&graph, psi, gold, &mut out, &mut Default::default()),
        };
        (value, gradient.plane(0).to_vec())
    };
    assert_eq!(run(true), run(false));
}

/// ψ of the Ising tables is y_i·θᵀh_i and y_i·y_j·θᵀh_ij, so the marginals of two pixels follow from four terms.
#[test]
fn ising_tables_are_those_of_the_paper() {
    let layout = layout(Tables::Ising, Neighbours::Four);
    let weights = vec![0.3, -0.8, 0.5, -0.2];
    let mut tagger = GridTagger::with_engine(given(layout, &weights), Engine::Exact);
    let (s, t) = (0.875, -0.375); // exact in single precision
    let image = Image { height: 1, width: 2, channels: 1, values: vec![s, t] };
    tagger.load_image(&image.into(), "test").unwrap();
    let found: Vec<f64> = tagger.answers().marginals().unwrap().map(|p| p[1]).collect();
    let p = |y: f64, z: f64| {
        let nodes = y * (weights[0] + weights[1] * s) + z * (weights[0] + weights[1] * t);
        (nodes + y * z * (weights[2] + weights[3] * (s - t).abs())).exp()
    };
    let z = p(1.0, 1.0) + p(1.0, -1.0) + p(-1.0, 1.0) + p(-1.0, -1.0);
    assert!(difference(found[0], (p(1.0, 1.0) + p(1.0, -1.0)) / z) < 1e-12);
    assert!(difference(found[1], (p(1.0, 1.0) + p(-1.0, 1.0)) / z) < 1e-12);
}

/// The model of a layout with these neighbours and tables, trained on eight pictures; those with holes where `holes`.
fn learn(neighbours: Neighbours, tables: Tables, settings: &Settings, holes: bool) -> Arc<GridModel> {
    let corpus = corpus(layout(tables, neighbours), &pictures(1, 12, holes));
    Arc::new(train(corpus, settings, start(1), &mut ()).unwrap().model)
}

/// The error of logistic regression on the test pictures, which the others have to beat by far.
fn logistic() -> f64 {
    let likelihood = settings(Engine::LoopyBp, Criterion::Likelihood);
    let model = learn(Neighbours::None, Tables::Ising, &likelihood, true);
    let error = errors(&model, &pictures(2, 12, true), Decode::MaxMarginal);
    assert!(error > 3.0, "{error}: the task is too easy");
    error
}

#[test]
fn neighbours_help_with_every_engine() {
    let logistic = logistic();
    for engine in [Engine::MeanField, Engine::LoopyBp, Engine::Trw] {
        let likelihood = settings(engine, Criterion::Likelihood);
        let model = learn(Neighbours::Four, Tables::Ising, &likelihood, true);
        let error = errors(&model, &pictures(2, 12, true), Decode::MaxMarginal);
        assert!(error < 0.8 * logistic, "{engine:?}: {error} {logistic}");
    }
}

/// Approximate inference fails at some weights, and there its likelihood is far below 0: methods that trust its values must not go there.
#[test]
fn approximate_likelihoods_are_not_followed_below_zero() {
    let (logistic, test) = (logistic(), pictures(2, 12, true));
    for (engine, optimizer) in [(Engine::MeanField, Method::Lbfgs), (Engine::LoopyBp, Method::Auto)] {
        let mut settings = settings(engine, Criterion::Likelihood);
        (settings.optimizer, settings.passes) = (optimizer, Some(60));
        let corpus = corpus(layout(Tables::Ising, Neighbours::Four), &pictures(1, 12, true));
        let found = train(corpus, &settings, start(1), &mut ()).unwrap();
        assert!(found.objective > 0.0, "{engine:?}: {}", found.objective);
        let error = errors(&Arc::new(found.model), &test, Decode::MaxMarginal);
        assert!(error < 0.8 * logistic, "{engine:?}: {error} {logistic}");
    }
}

#[test]
fn neighbours_help_with_every_decoder() {
    let (logistic, likelihood) = (logistic(), settings(Engine::LoopyBp, Criterion::Likelihood));
    let model = learn(Neighbours::Four, Tables::Potts, &likelihood, true);
    for decode in [Decode::MaxMarginal, Decode::MaxProduct, Decode::Icm, Decode::AlphaExpansion] {
        let error = errors(&model, &pictures(2, 12, true), decode);
        assert!(error < 0.8 * logistic, "{decode:?}: {error} {logistic}");
    }
}

#[test]
fn neighbours_help_with_the_perceptron() {
    let (inference, init) = (Some(Engine::LoopyBp), Init::Logistic);
    let perceptron = Settings { inference, init, passes: Some(20), ..Settings::perceptron(true) };
    let model = learn(Neighbours::Four, Tables::Ising, &perceptron, false);
    let error = errors(&model, &pictures(2, 12, true), Decode::GraphCut);
    assert!(error < logistic(), "{error}");
}

#[test]
fn neighbours_help_with_the_marginal_loss() {
    let mut marginal = settings(Engine::LoopyBp, Criterion::Marginal);
    marginal.passes = Some(10);
    let model = learn(Neighbours::Four, Tables::Ising, &marginal, true);
    let error = errors(&model, &pictures(2, 12, true), Decode::MaxMarginal);
    assert!(error < 0.8 * logistic(), "{error}");
}

/// Better labels are not promised: on clean masks under noise the pseudolikelihood trusts neighbours too much (smd-crf-2006 5.1).
#[test]
fn the_pseudolikelihood_descends() {
    let objective = |passes: usize| {
        let mut settings = settings(Engine::LoopyBp, Criterion::Pseudolikelihood);
        settings.passes = Some(passes);
        let corpus = corpus(layout(Tables::Ising, Neighbours::Four), &pictures(1, 12, false));
        train(corpus, &settings, start(1), &mut ()).unwrap().objective
    };
    let (first, last) = (objective(2), objective(20));
    assert!(last < first, "{last} {first}");
}

#[test]
fn bad_settings_and_pictures_are_refused() {
    let set = pictures(1, 12, true);
    let refuse = |settings: &Settings| {
        let corpus = corpus(layout(Tables::Potts, Neighbours::Four), &set);
        train(corpus, settings, start(1), &mut ()).unwrap_err().to_string()
    };
    assert!(refuse(&settings(Engine::LoopyBp, Criterion::Memm)).contains("for chains only"));
    let mut pgis = settings(Engine::LoopyBp, Criterion::Likelihood);
    pgis.optimizer = Method::Pgis;
    assert!(refuse(&pgis).contains("does not provide on this graph"));
    let wide = self::corpus(layout(Tables::Potts, Neighbours::Four), &pictures(1, 64, false)[..1]);
    let exact = settings(Engine::Exact, Criterion::Likelihood);
    assert!(
        train(wide, &exact, start(1), &mut ()).unwrap_err().to_string().contains("exact inference needs")
    );

    let mut builder = GridBuilder::new(layout(Tables::Potts, Neighbours::Four)).unwrap();
    let (image, mask) = &set[0];
    let mut add = |image: &Sites, mask: &Mask| builder.add(image, mask, "a.png").unwrap_err().to_string();
    let small = Mask { height: 1, width: 1, values: vec![0] };
    assert!(add(image, &small).starts_with("a.png: the image has 12 × 12"));
    let strange = Mask { values: vec![9; 144], ..mask.clone() };
    assert!(add(image, &strange).contains("the value 9"));
    let coloured = Image { channels: 3, values: vec![0.0; 432], ..image.nodes };
    assert!(add(&coloured.into(), mask).contains("coloured"));
    let infinite = Image { values: vec![f64::INFINITY; 144], ..image.nodes };
    assert!(add(&infinite.into(), mask).contains("finite"));
    assert!(builder.finish().unwrap_err().to_string().contains("no image to learn from"));
    assert!(GridDomain { labels: vec![1, 2, 3], ..layout(Tables::Ising, Neighbours::Four) }.check().is_err());
}

#[test]
fn the_model_file_comes_back_and_damage_is_seen() {
    let corpus = corpus(layout(Tables::Full, Neighbours::Eight), &pictures(4, 12, true));
    let settings = settings(Engine::MeanField, Criterion::Likelihood);
    let model = train(corpus, &settings, start(2), &mut ()).unwrap().model;
    let bytes = model.to_bytes(Precision::F64).unwrap();
    let read = GridModel::from_bytes(&bytes).unwrap();
    assert_eq!(
        (&read.domain, &read.features, &read.settings),
        (&model.domain, &model.features, &model.settings)
    );
    assert_eq!(read.weights, model.weights);
    let message = ChainModel::from_bytes(&bytes).unwrap_err().to_string();
    assert!(message.contains("another kind (image)"), "{message}");
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(GridModel::from_bytes(&damaged).is_err(), "byte {at}");
    }
    let short = GridModel { weights: model.weights[1..].to_vec().into(), ..model };
    assert!(
        GridModel::from_bytes(&short.to_bytes(Precision::F64).unwrap())
            .unwrap_err()
            .to_string()
            .contains("its features need")
    );
}

#[test]
fn pictures_are_read_from_files() {
    let mask = Mask { height: 2, width: 3, values: vec![0, 255, 7, 1, 2, 3] };
    let png = mask.to_png().unwrap();
    assert_eq!(Mask::read(&png[..], "m").unwrap(), mask);
    let image = Image::read(&png[..], "m").unwrap();
    assert_eq!((image.height, image.width, image.channels), (2, 3, 1));
    assert!(difference(image.values[2], 7.0 / 255.0) < 1e-12);
    let pgm = b"P5\n3 2\n255\n\x00\xff\x07\x01\x02\x03";
    assert_eq!(Mask::read(&pgm[..], "m").unwrap(), mask);
    let ppm = b"P6\n1 2\n255\n\x00\x00\x00\xff\x00\x33";
    let colours = Image::read(&ppm[..], "c").unwrap();
    assert_eq!((colours.channels, colours.pixel(1)), (3, &[1.0, 0.0, 0.2][..]));
    assert!(Mask::read(&ppm[..], "c").unwrap_err().to_string().contains("c: the mask has colours"));
    for bad in [&b"nothing"[..], &png[..20], b"P5\n9999999 2\n255\n"] {
        assert!(Image::read(bad, "bad").unwrap_err().to_string().contains("bad: "));
    }
}

/// The engine agrees with enumeration on the graph of a small picture.
#[test]
fn exact_marginals_of_a_small_picture_are_exact() {
    let (image, mask) = &pictures(6, 3, false)[0];
    let layout = layout(Tables::Potts, Neighbours::Four);
    let weights = vec![0.1, 0.7, -0.3, 0.2, 0.6, -0.4];
    let corpus = corpus(layout.clone(), &[(image.clone(), mask.clone())]);
    let graph = layout.graph(3, 3).unwrap();
    let mut own = Array::default();
    crfkit::risk::potentials(&layout.all_features(), &corpus.data, 0, &weights, &mut own);
    let oracle = enumerate(&graph, &[], &own);
    let mut tagger = GridTagger::with_engine(given(layout, &weights), Engine::Exact);
    tagger.load_image(image, "test").unwrap();
    for (v, p) in tagger.answers().marginals().unwrap().enumerate() {
        assert!(difference(p[1], oracle.own[graph.own_offset(v) + 1]) < 1e-12);
    }
}

/// Keeps a checkpoint of every step.
#[derive(Default)]
struct Checkpoints(Vec<Checkpoint>);

impl Listener for Checkpoints {
    fn event(&mut self, _: &Event) -> crfkit::Result<Control> {
        Ok(Control::Continue)
    }

    fn checkpoint_due(&mut self) -> bool {
        true
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> crfkit::Result<()> {
        self.0.push(checkpoint.clone());
        Ok(())
    }
}

/// A run that goes on from any of its checkpoints ends in the same weights, and a checkpoint belongs to its run.
#[test]
fn an_interrupted_run_goes_on_to_the_same_weights() {
    let pictures = pictures(1, 8, false);
    let new = || corpus(layout(Tables::Potts, Neighbours::Four), &pictures);
    let mut settings = settings(Engine::MeanField, Criterion::Likelihood);
    settings.passes = Some(6);
    let mut checkpoints = Checkpoints::default();
    let whole = train(new(), &settings, start(1), &mut checkpoints).unwrap();
    let Checkpoints(checkpoints) = checkpoints;
    assert!(checkpoints.len() > 3);
    for checkpoint in checkpoints {
        let start = TrainOptions { resume: Some(checkpoint), threads: 2, ..TrainOptions::default() };
        let again = train(new(), &settings, start, &mut ()).unwrap();
        assert_eq!((again.model.weights, again.passes), (whole.model.weights.clone(), whole.passes));
    }
    let mine = fingerprint(&new(), &settings, &start(1));
    settings.init = Init::Zero;
    let others = [
        fingerprint(&new(), &settings, &start(1)),
        fingerprint(&corpus(new().domain, &pictures[1..]), &settings, &start(1)),
    ];
    assert!(others[0] != mine && others[1] != mine && others[0] != others[1]);
}

/// One picture is enough for methods that take a few examples at a time, if these are pieces; and their sum is the loss of the picture.
#[test]
fn pieces_of_one_picture_are_examples() {
    let one = &pictures(41, 24, false)[..1];
    let fit = |settings: Settings| {
        let settings = Settings { inference: Some(Engine::LoopyBp), ..settings };
        let corpus = corpus(layout(Tables::Potts, Neighbours::Four), one);
        train(corpus, &settings, start(1), &mut ()).unwrap()
    };
    let lbfgs = Settings {
        objective: Criterion::PiecewisePseudo,
        optimizer: Method::Lbfgs,
        passes: Some(5),
        scaling: Scaling::None,
        ..Settings::default()
    };
    for objective in [Criterion::Piecewise, Criterion::PiecewisePseudo] {
        for pieces in [&Pieces::ALL[..], &[Pieces::Rows, Pieces::Columns]].concat() {
            let by = |batch_of| fit(Settings { objective, pieces: Some(pieces), batch_of, ..lbfgs.clone() });
            let (whole, split) = (by(BatchOf::Graphs), by(BatchOf::Pieces));
            assert!(difference(whole.objective, split.objective) < 1e-9, "{objective:?} {pieces}");
        }
    }
    let best = fit(Settings { passes: None, ..lbfgs.clone() });
    for (optimizer, eta0) in [(Method::Sgd, 0.1), (Method::Adagrad, 1.0)] {
        let by = |batch_of| {
            let parameters = Parameters { eta0: Some(eta0), ..Parameters::default() };
            fit(Settings { optimizer, batch_of, parameters, passes: Some(10), ..lbfgs.clone() })
        };
        let (whole, split) = (by(BatchOf::Graphs).objective, by(BatchOf::Pieces).objective);
        // Ten steps with the whole picture, thousands with its pieces.
        assert!(split < 1.01 * best.objective, "{optimizer:?}: {split} {}", best.objective);
        assert!(split < whole, "{optimizer:?}: {split} {whole}");
    }
}
