//! The objective that training minimises, as optimisers from elsewhere see it.

use crfkit::Trainer;
use crfkit::chain::{ChainCorpus, CorpusBuilder, Sequence};
use crfkit::data::images::{Image, Mask};
use crfkit::data::observer::Source;
use crfkit::domain::{Corpus, Domain};
use crfkit::graph::Neighbours;
use crfkit::grid::{Directions, Engine, GridBuilder, GridDomain, SiteFeatures, Tables};
use crfkit::settings::{Criterion, Kind, Method, Settings};
use crfkit::train::TrainingObjective;
use crfkit::typed::{Declaration, FeatureValues, TypedBuilder, TypedCorpus, TypedGraphBuilder, Types};

/// Sequences whose features have values of very different sizes.
fn chains() -> ChainCorpus {
    let mut builder = CorpusBuilder::new(Source::Attributes);
    for k in 0..12usize {
        let token = |t: usize| {
            let label = ["A", "B", "C"][(k * t + t) % 3];
            (
                label,
                vec![(format!("w{}", (k + t) % 4), 1.0), ("size".to_owned(), 40.0 + ((k * t) % 5) as f64)],
            )
        };
        builder.add(&Sequence::from_features((0..3 + k % 3).map(token)).unwrap()).unwrap();
    }
    builder.finish(1).unwrap()
}

/// Triangles of nodes with numbers, some without a label, made in memory.
fn triangles() -> TypedCorpus {
    let types = Types::declare([
        ("n".to_owned(), Declaration::nodes(["no", "yes"]).dense(2)),
        ("e".to_owned(), Declaration::factors(["n", "n"]).dense(1)),
    ])
    .unwrap();
    let [node, edge] = ["n", "e"].map(|name| types.index_of(name).unwrap());
    let mut builder = TypedBuilder::new(types.clone());
    for k in 0..8u32 {
        let mut graph = TypedGraphBuilder::new(&types, "a triangle");
        for v in 0..3 {
            let label = (k % 4 != v).then_some((k + v) % 2);
            let dense = vec![f64::from(k * v) - 3.0, f64::from((k + 2 * v) % 3)];
            graph.node(node, label, FeatureValues { dense, ..FeatureValues::default() }).unwrap();
        }
        for (i, j) in [(0, 1), (1, 2), (0, 2)] {
            let dense = vec![0.5 * f64::from(k)];
            graph.factor(edge, vec![i, j], FeatureValues { dense, ..FeatureValues::default() }).unwrap();
        }
        builder.add_graph(graph.finish().unwrap()).unwrap();
    }
    builder.finish(1).unwrap()
}

fn near(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())), "{what}: {a} and {b}");
}

/// Gradient = slope, H·v = slope of the gradient, and batches add up to the whole.
fn check<D: Domain>(corpus: Corpus<D>, settings: &Settings) {
    let objective = TrainingObjective::new(corpus, settings, 1).unwrap();
    let dim = objective.dim();
    let theta: Vec<f64> = (0..dim).map(|i| ((i * 7 % 11) as f64 - 5.0) / 20.0).collect();
    let v: Vec<f64> = (0..dim).map(|i| ((i * 5 % 13) as f64 - 6.0) / 6.0).collect();
    let at = |step: f64| -> Vec<f64> { theta.iter().zip(&v).map(|(x, v)| x + step * v).collect() };
    let (value, gradient) = objective.value_grad(&theta).unwrap();
    let product = objective.hess_vec(&theta, &v).unwrap();
    const STEP: f64 = 1e-5;
    let (high, low) = (objective.value_grad(&at(STEP)).unwrap(), objective.value_grad(&at(-STEP)).unwrap());
    let slope: f64 = gradient.iter().zip(&v).map(|(g, v)| g * v).sum();
    near((high.0 - low.0) / (2.0 * STEP), slope, 1e-6, "slope");
    for i in 0..dim {
        near((high.1[i] - low.1[i]) / (2.0 * STEP), product[i], 1e-6, "slope of the gradient");
    }
    let all: Vec<u32> = (0..objective.examples() as u32).collect();
    let (first, second) = all.split_at(all.len() / 3);
    let parts = [first, second].map(|batch| objective.batch_grad(batch, &theta).unwrap());
    let products = [first, second].map(|batch| objective.batch_hess_vec(batch, &theta, &v).unwrap());
    near(parts[0].0 + parts[1].0, value, 1e-12, "batches");
    for i in 0..dim {
        near(parts[0].1[i] + parts[1].1[i], gradient[i], 1e-10, "gradients of batches");
        near(products[0][i] + products[1][i], product[i], 1e-10, "products of batches");
    }
    let outside = objective.batch_grad(&[all.len() as u32], &theta).unwrap_err().to_string();
    assert!(outside.contains("counted from 0"), "{outside}");
    assert!(objective.value_grad(&theta[1..]).is_err());
}

#[test]
fn derivatives_are_slopes_and_batches_add_up() {
    check(chains(), &Settings { sigma: 3.0, sigma_pairs: Some(0.7), ..Settings::default() });
    check(triangles(), &Settings { sigma: 2.0, ..Settings::for_kind(Kind::Graph) });
}

#[test]
fn its_minimum_is_the_model_that_training_finds() {
    let settings = Settings { optimizer: Method::Lbfgs, ..Settings::default() };
    let objective = TrainingObjective::new(chains(), &settings, 1).unwrap();
    let trained = Trainer::new().optimizer(Method::Lbfgs).train_corpus(chains(), None).unwrap();
    let mut theta = vec![0.0; objective.dim()];
    for _ in 0..4000 {
        let (_, gradient) = objective.value_grad(&theta).unwrap();
        theta.iter_mut().zip(gradient).for_each(|(x, g)| *x -= 0.02 * g);
    }
    near(objective.value_grad(&theta).unwrap().0, trained.objective, 1e-6, "minimum");
    let model = objective.model(&theta).unwrap();
    for (a, b) in model.weights.iter().zip(trained.model.weights.iter()) {
        near(*a, *b, 1e-3, "weights of features as they are");
    }
}

#[test]
fn impossible_graphs_in_memory_are_rejected() {
    let types = Types::declare([
        ("n".to_owned(), Declaration::nodes(["no", "yes"]).dense(1)),
        ("e".to_owned(), Declaration::factors(["n", "n"])),
    ])
    .unwrap();
    let [node, edge] = ["n", "e"].map(|name| types.index_of(name).unwrap());
    let number = |x: f64| FeatureValues { dense: vec![x], ..FeatureValues::default() };
    let mut graph = TypedGraphBuilder::new(&types, "g");
    graph.node(node, None, number(1.0)).unwrap();
    let why = |result: crfkit::Result<()>| result.unwrap_err().to_string();
    let mut add = |kind, label, features| graph.node(kind, label, features).map(|_| ());
    assert!(why(add(node, Some(2), number(0.0))).contains("label 2"));
    assert!(why(add(edge, None, number(0.0))).contains("no type 1 of nodes"));
    assert!(why(add(node, None, FeatureValues::default())).contains("declares 1"));
    assert!(why(add(node, None, number(f64::NAN))).contains("NaN"));
    let mut graph = TypedGraphBuilder::new(&types, "g");
    graph.node(node, None, number(1.0)).unwrap();
    let mut join = |kind, nodes: &[usize]| why(graph.factor(kind, nodes.to_vec(), FeatureValues::default()));
    assert!(join(edge, &[0]).contains("is over 2"));
    assert!(join(edge, &[0, 1]).contains("no node 1"));
    assert!(join(edge, &[0, 0]).contains("twice"));
    assert!(join(node, &[0]).contains("no type 0 of factors"));
    let twice = [("n".to_owned(), Declaration::nodes(["a"])), ("n".to_owned(), Declaration::nodes(["b"]))];
    assert!(Types::declare(twice).unwrap_err().to_string().contains("twice"));
}

/// Neighbours that repel each other are too hard for graph cuts, but not for exact inference. At large weights the margin of the best labelling
/// is nearly the soft margin of all: it is smaller by the logarithm of their number at most.
#[test]
fn exact_inference_finds_the_margins_of_images() {
    let mut builder = GridBuilder::new(GridDomain {
        labels: vec![0, 1, 2],
        unlabelled: Some(7),
        sites: SiteFeatures::default(),
        channels: 1,
        pair_channels: 1,
        pairs: None,
        neighbours: Neighbours::Four,
        tables: Tables::Potts,
        directions: Directions::Shared,
    })
    .unwrap();
    for shift in 0..4usize {
        let values = (0..6).map(|k| ((k * 5 + shift * 3) % 7) as f64 / 7.0).collect();
        let mask = (0..6).map(|k| [0, 1, 2, 1, 7][(k + shift) % 5]).collect();
        let image = Image { height: 2, width: 3, channels: 1, values };
        builder.add(&image.into(), &Mask { height: 2, width: 3, values: mask }, "test").unwrap();
    }
    let corpus = builder.finish().unwrap();
    let value = |objective: Criterion| {
        let inference = Some(Engine::Exact);
        let settings =
            Settings { objective, inference, sigma: f64::INFINITY, ..Settings::for_kind(Kind::Grid) };
        let objective = TrainingObjective::new(corpus.clone(), &settings, 1).unwrap();
        let theta: Vec<f64> = (0..objective.dim()).map(|i| 40.0 * ((i * 7 % 11) as f64 - 5.0)).collect();
        objective.value_grad(&theta).unwrap().0
    };
    let (margin, soft) = (value(Criterion::MaxMargin), value(Criterion::SoftmaxMargin));
    assert!((soft - margin).abs() <= 4.0 * 3f64.powi(6).ln(), "{margin} and {soft}");
}
