//! What piecewise training and piecewise pseudolikelihood estimate, with as much data as there is (pwpl-2007 section 3.2): the same where
//! the pieces can represent their marginals, something else where they cannot; and that label bias is not among it.

use crate::corpora;

use corpora::{column_corpus, models::columns, train};
use crfkit::data::dataset::Dataset;
use crfkit::data::observer::Source;
use crfkit::data::template::{Dialect, Templates};
use crfkit::empirical::studies::Sample;
use crfkit::graph::{FactorGraph, FactorGraphBuilder, Graph, Label, Pieces};
use crfkit::infer::Tree;
use crfkit::loss::{Likelihood, Loss, OnPieces, Piecewise, PiecewisePseudolikelihood, Pseudolikelihood};
use crfkit::math::random::Random;
use crfkit::math::simd;
use crfkit::model::{Features, Keep, TableKind, TableShapes};
use crfkit::optim::{Control, Lbfgs, Objective, Optimizer, Prior, Problem, Progress, State, Watch};
use crfkit::risk::Risk;
use crfkit::tag::Tagger;
use crfkit::train::{Criterion, Method, Settings, TrainOptions};
use std::fmt::Write;
use std::sync::Arc;

/// A distribution over the labels of all variables: a labelling and its weight.
type Distribution = Vec<(Vec<Label>, f64)>;

struct Unwatched;

impl Watch for Unwatched {
    fn step(&mut self, _: &Progress, _: &dyn Fn() -> State) -> crfkit::Result<Control> {
        Ok(Control::Continue)
    }
}

/// A graph with one own table for each list of variables, each kind with the functions that its table is a combination of.
struct Family {
    cards: Vec<usize>,
    factors: Vec<Vec<usize>>,
    basis: Vec<Vec<Vec<f64>>>,
}

impl Family {
    fn graph(&self) -> FactorGraph {
        let mut builder = FactorGraphBuilder::new(self.cards.clone()).unwrap();
        self.factors.iter().enumerate().for_each(|(kind, vars)| {
            builder.add_own(kind, vars).unwrap();
        });
        builder.build().unwrap()
    }

    /// A function of a table, with its padding.
    fn table(&self, factor: usize, f: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let (lines, columns) = self.shape(factor);
        let stride = simd::padded(columns);
        let mut table = vec![0.0; lines * stride];
        (0..lines).for_each(|i| (0..columns).for_each(|j| table[i * stride + j] = f(i, j)));
        table
    }

    fn shape(&self, factor: usize) -> (usize, usize) {
        match self.factors[factor][..] {
            [v] => (1, self.cards[v]),
            [a, b] => (self.cards[a], self.cards[b]),
            _ => unreachable!("nodes and pairs only"),
        }
    }

    /// The weights at which the mean loss is smallest.
    fn fit<L: Loss<Graph = FactorGraph> + 'static>(&self, loss: L, data: &Distribution) -> Vec<f64> {
        let graph = self.graph();
        let mut examples = Dataset::new();
        let total: f64 = data.iter().map(|(_, weight)| weight).sum();
        for (labels, weight) in data.iter().filter(|(_, weight)| *weight > 0.0) {
            (0..graph.own_tables()).for_each(|_| {
                examples.push_observation(0, 1.0);
                examples.finish_table();
            });
            examples.finish_example(graph.clone(), labels.clone(), weight / total);
        }
        let kind = |f: usize| {
            let (lines, columns) = self.shape(f);
            TableKind { observations: 1, dense: 0, lines, columns, basis: self.basis[f].clone() }
        };
        let kinds = (0..self.factors.len()).map(kind).collect();
        let shapes = TableShapes { kinds, node_kinds: 0, shared: Vec::new() };
        let features = Features::new(&examples, shapes, Keep::All);
        let risk = Risk::new(loss, features, examples, 1).unwrap();
        let problem = Problem { objective: &risk, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
        let method = Lbfgs { gradient_tolerance: 1e-13, tolerance: 0.0, passes: 20000.0, ..Lbfgs::default() };
        let start = State::start(vec![0.0; risk.dim()]);
        let theta = method.minimize(&problem, start, &mut Unwatched).unwrap().theta;
        let mut gradient = vec![0.0; theta.len()];
        risk.value_grad(&theta, &mut gradient);
        assert!(gradient.iter().all(|g| g.abs() < 1e-7), "an optimum: {gradient:?}");
        theta
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// How often each labelling comes up in `n` draws.
fn sample(distribution: &Distribution, n: usize, rng: &mut Random) -> Distribution {
    let mut counts = vec![0.0; distribution.len()];
    for _ in 0..n {
        let mut rest = rng.uniform();
        let drawn = distribution.iter().position(|(_, p)| {
            rest -= p;
            rest < 0.0
        });
        counts[drawn.unwrap_or(distribution.len() - 1)] += 1.0;
    }
    distribution.iter().zip(counts).map(|((labels, _), n)| (labels.clone(), n)).collect()
}

/// The truth of [`pieces_that_fit`]: weights of equal labels, of a label 0, and of the product of both numbers.
const TRUTH: [f64; 3] = [0.8, -0.9, 0.25];

/// y0 – y1 – y2 with three labels each. Both pairs have a joint distribution of a family with three weights, and one distribution of y1:
/// p(y0, y1) = q(y0, y1), p(y1, y2) = q(y2, y1), y0 and y2 independent given y1. So p_NS (eq. 9) is in the family of the node-split graph.
fn pieces_that_fit() -> (Family, Distribution) {
    let mut family =
        Family { cards: vec![3; 3], factors: vec![vec![0, 1], vec![1, 2]], basis: vec![Vec::new(); 2] };
    let functions: [fn(usize, usize) -> f64; 3] =
        [|i, j| f64::from(i == j), |i, _| f64::from(i == 0), |i, j| (i * j) as f64];
    family.basis[0] = functions.map(|f| family.table(0, f)).into();
    family.basis[1] = functions.map(|f| family.table(1, |i, j| f(j, i))).into();
    let q = |i: usize, j: usize| functions.iter().zip(TRUTH).map(|(f, w)| w * f(i, j)).sum::<f64>().exp();
    let z: f64 = (0..9).map(|k| q(k / 3, k % 3)).sum();
    let middle = |j: usize| (0..3).map(|i| q(i, j)).sum::<f64>();
    let all = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3]);
    let truth =
        all.map(|[i, j, k]| (vec![i as Label, j as Label, k as Label], q(i, j) * q(k, j) / middle(j) / z));
    (family, truth.collect())
}

/// If the pieces can represent their marginals, the two estimates converge to each other as the data grow:
/// ‖θ_PWPL − θ_PW‖ → 0.
#[test]
fn piecewise_pseudolikelihood_converges_to_piecewise_where_pieces_fit() {
    let (family, truth) = pieces_that_fit();
    assert!((truth.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-12);
    let both = |data: &Distribution| {
        [family.fit(Piecewise::default(), data), family.fit(PiecewisePseudolikelihood::default(), data)]
    };
    // With all the data there is: the truth, twice.
    let [piecewise, pseudo] = both(&truth);
    assert!(distance(&piecewise, &[TRUTH, TRUTH].concat()) < 1e-6, "{piecewise:?}");
    assert!(distance(&pseudo, &piecewise) < 1e-6, "{pseudo:?}");
    // With n draws: apart, by about n^-1/2.
    let mut rng = Random::new(1);
    let mut mean_distance = |n: usize| {
        let apart = |_| {
            let [piecewise, pseudo] = both(&sample(&truth, n, &mut rng));
            distance(&pseudo, &piecewise)
        };
        (0..20).map(apart).sum::<f64>() / 20.0
    };
    let apart = [200, 3200, 51_200].map(&mut mean_distance);
    assert!(apart[0] > 0.05, "{apart:?}");
    // A factor of 4 each, as the root of n.
    assert!(apart[1] < apart[0] / 2.0 && apart[2] < apart[1] / 2.0, "{apart:?}");
    assert!(apart[2] < 0.05, "{apart:?}");
}

/// Eq. 10: y0 – y1 – y2 with ψ(y) = (1, e^θ) and ψ(y, y') = e^λ where both are 0, else 1.
fn potts(vars: usize) -> (Family, Distribution) {
    let nodes = (0..vars).map(|v| vec![v]);
    let factors = nodes.chain((1..vars).map(|v| vec![v - 1, v])).collect();
    let mut family = Family { cards: vec![2; vars], factors, basis: vec![Vec::new(); 2 * vars - 1] };
    for f in 0..family.factors.len() {
        let one = f < vars;
        let function = move |i: usize, j: usize| f64::from(if one { j == 1 } else { i + j == 0 });
        family.basis[f] = vec![family.table(f, function)];
    }
    let truth = potts_weights(vars);
    let score = |y: &[usize]| {
        let nodes: f64 = (0..vars).filter(|&v| y[v] == 1).map(|v| truth[v]).sum();
        let pairs = (1..vars).filter(|&v| y[v - 1] + y[v] == 0).map(|v| truth[vars + v - 1]);
        (nodes + pairs.sum::<f64>()).exp()
    };
    let labels = |k: usize| (0..vars).map(|v| k >> v & 1).collect::<Vec<usize>>();
    let z: f64 = (0..1 << vars).map(|k| score(&labels(k))).sum();
    let entry = |k: usize| (labels(k).iter().map(|&y| y as Label).collect(), score(&labels(k)) / z);
    (family, (0..1 << vars).map(entry).collect())
}

fn potts_weights(vars: usize) -> Vec<f64> {
    [&[2.0, 1.5, 1.8][..vars], &[1.1, 0.6][..vars - 1]].concat()
}

/// If a pair alone cannot represent its marginal, the two estimates stay apart with any amount of data. Both have closed
/// forms.
#[test]
fn they_stay_apart_where_pieces_do_not_fit() {
    let (family, truth) = potts(3);
    let share = |holds: &dyn Fn(&[Label]) -> bool| -> f64 {
        truth.iter().filter(|(y, _)| holds(y)).map(|(_, p)| p).sum()
    };
    let piecewise = family.fit(Piecewise::default(), &truth);
    let pseudo = family.fit(PiecewisePseudolikelihood::default(), &truth);
    for v in 0..3 {
        // A node by itself has its marginal in both.
        let p = share(&|y| y[v] == 1);
        let expected = (p / (1.0 - p)).ln();
        assert!((piecewise[v] - expected).abs() < 1e-6 && (pseudo[v] - expected).abs() < 1e-6);
    }
    for v in 1..3 {
        let both = share(&|y| y[v - 1] + y[v] == 0);
        let one = share(&|y| y[v - 1] + y[v] == 1);
        let (found, other) = (piecewise[2 + v], pseudo[2 + v]);
        // e^λ/(e^λ + 3) = p(0, 0), and e^λ/(e^λ + 1) = p(0, 0) of the conditionals that are given a 0.
        assert!((found - (3.0 * both / (1.0 - both)).ln()).abs() < 1e-6, "{found}");
        assert!((other - (2.0 * both / one).ln()).abs() < 1e-6, "{other}");
        assert!((found - other).abs() > 0.5, "{found} {other}");
    }
    // Shared-unary pieces can represent a lone pair: there they meet, at the truth.
    let (family, truth) = potts(2);
    let pieces = Pieces::SharedUnary;
    let piecewise = family.fit(OnPieces { pieces, loss: Likelihood(Tree) }, &truth);
    let pseudo = family.fit(OnPieces { pieces, loss: Pseudolikelihood::default() }, &truth);
    assert!(distance(&piecewise, &potts_weights(2)) < 1e-6, "{piecewise:?}");
    assert!(distance(&pseudo, &piecewise) < 1e-6, "{pseudo:?}");
}

/// The label-bias data as columns.
fn label_bias(seed: u64, sequences: usize) -> String {
    let sample = Sample::label_bias(seed, sequences);
    let mut text = String::new();
    for (words, labels) in &sample.sequences {
        for (&x, &y) in words.iter().zip(labels) {
            writeln!(text, "{} {}", sample.words[x], sample.labels[y as usize]).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Piecewise training has no label bias, whatever the pieces, although it is normalised locally. The MEMM has label bias.
#[test]
fn piecewise_training_has_no_label_bias() {
    let template = "U0:%x[0,0]\nB0:%x[-1,0]/%x[0,0]\n";
    let templates = Templates::compile(template, Dialect::Crfpp, "bias").unwrap();
    let edge_by_label = Templates::compile("U0:%x[0,0]\nB\n", Dialect::Crfpp, "bias").unwrap();
    let (objective, optimizer) = (Criterion::Piecewise, Method::Lbfgs);
    for seed in 0..2 {
        let (data, test) = (label_bias(2 * seed, 2000), label_bias(2 * seed + 1, 500));
        let accuracy = |templates: &Templates, settings: &Settings| {
            let corpus = column_corpus(&data, Source::Templates(templates.clone()), 1);
            let mut tagger = Tagger::new(Arc::new(train(corpus, settings, TrainOptions::default()).0.model));
            let (mut right, mut all) = (0, 0);
            for sequence in columns(&test) {
                tagger.load_columns(&sequence).unwrap();
                let labels = tagger.viterbi().to_vec();
                for (t, &label) in labels.iter().enumerate() {
                    right +=
                        usize::from(tagger.model().domain.labels[label as usize] == sequence.field(t, 1));
                    all += 1;
                }
            }
            100.0 * right as f64 / all as f64
        };
        for pieces in [Pieces::Factor, Pieces::Edge, Pieces::SharedUnary] {
            let settings =
                Settings { objective, optimizer, sigma: 10.0, pieces: Some(pieces), ..Settings::default() };
            let found = accuracy(&templates, &settings);
            assert!((found - 95.83).abs() < 2.5, "piecewise by {pieces}: {found}");
        }
        let objective = Criterion::Memm;
        let memm = Settings { objective, optimizer, sigma: 10.0, ..Settings::default() };
        let found = accuracy(&edge_by_label, &memm);
        assert!((found - 66.67).abs() < 4.5, "MEMM: {found}");
    }
}
