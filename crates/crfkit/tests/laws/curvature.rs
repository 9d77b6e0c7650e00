//! Hessians of the losses. Products H·v are linear in v, H is symmetric, and it has no negative eigenvalue if the loss is
//! convex. For every loss, dual numbers and complex steps give the same products.

use crate::eigen;
use crate::graphs;

use crfkit::data::dataset::Dataset;
use crfkit::decode::{Direction, Viterbi};
use crfkit::graph::SharedSum;
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{Chain, FactorGraph, Graph, Label, Pieces};
use crfkit::infer::{ForwardBackward, JunctionTree, LoopyBp, MeanField, Tree, TreeReweighted};
use crfkit::loss::{
    ChainPiecewise, ChainPiecewisePseudolikelihood, Likelihood, Loss, Memm, OnPieces, Perceptron, Piecewise,
    PiecewisePseudolikelihood, Pseudolikelihood,
};
use crfkit::math::random::Random;
use crfkit::math::vector::dot;
use crfkit::math::{Array, Complex64, Dual, Scalar};
use crfkit::model::{Features, Keep};
use crfkit::optim::{Objective, Prior, Problem as Whole, Touched, hessian};
use crfkit::risk::{Derivative, Risk};
use eigen::eigenvalues;
use graphs::{Problem, difference, random_graph};

#[test]
fn eigenvalues_are_those_of_known_matrices() {
    // 2 on the diagonal, −1 beside it: 2 − 2 cos(kπ/(n + 1)).
    let row = |i: usize| (0..6).map(|j: usize| [2.0, -1.0, 0.0][i.abs_diff(j).min(2)]).collect();
    for (k, value) in (1..).zip(eigenvalues((0..6).map(row).collect())) {
        let expected = 2.0 - 2.0 * (f64::from(k) * std::f64::consts::PI / 7.0).cos();
        assert!((value - expected).abs() < 1e-13, "{value} {expected}");
    }
    assert!((eigenvalues(vec![vec![1.0, 2.0], vec![2.0, 1.0]])[0] + 1.0).abs() < 1e-14);
}

/// Something that holds for every loss of chains.
trait Law {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L, name: &str);
}

fn each_smooth_loss(law: &impl Law) {
    law.check(Likelihood(ForwardBackward), "likelihood");
    law.check(Pseudolikelihood::default(), "pseudolikelihood");
    law.check(Memm(Direction::Forward), "MEMM");
    law.check(Memm(Direction::Backward), "backward MEMM");
    law.check(Piecewise::default(), "piecewise");
    law.check(PiecewisePseudolikelihood::default(), "piecewise pseudolikelihood");
    for pieces in ["factor", "edge", "shared-unary", "window:2", "trees"].map(|name| name.parse().unwrap()) {
        law.check(ChainPiecewise { pieces }, &format!("piecewise by {pieces}"));
        law.check(ChainPiecewisePseudolikelihood { pieces }, &format!("pseudo by {pieces}"));
    }
}

const NODES: usize = 5;
const PAIRS: usize = 2;

fn risk<L: Loss<Graph = Chain> + 'static>(loss: L, labels: usize, keep: Keep, valued: bool) -> Risk<Chain> {
    let mut rng = Random::new(7);
    let mut data = Dataset::new();
    for _ in 0..6 {
        let chain = Chain { len: 1 + rng.below(5), labels, own_pairs: true, triples: false, segments: None };
        for f in 0..chain.own_tables() {
            let observations = if f < chain.len { NODES } else { PAIRS };
            for _ in 0..1 + rng.below(2) {
                let value = if valued { rng.uniform() * 2.0 - 0.5 } else { 1.0 };
                data.push_observation(rng.below(observations) as u32, value);
            }
            data.finish_table();
        }
        let gold: Vec<Label> = (0..chain.len).map(|_| rng.below(labels) as Label).collect();
        data.finish_example(chain, gold, if valued { 0.5 + rng.uniform() } else { 1.0 });
    }
    let features = Features::chain(&data, labels, [NODES, PAIRS], keep, true, true);
    Risk::new(loss, features, data, 1).unwrap()
}

fn vector(rng: &mut Random, n: usize, range: f64) -> Vec<f64> {
    (0..n).map(|_| (rng.uniform() * 2.0 - 1.0) * range).collect()
}

fn times(risk: &Risk<Chain>, theta: &[f64], v: &[f64]) -> Vec<f64> {
    let (mut gradient, mut hess_vec) = (vec![0.0; v.len()], vec![0.0; v.len()]);
    risk.hess_vec(theta, v, &mut gradient, &mut hess_vec);
    hess_vec
}

/// Symmetric up to rounding, and no eigenvalue below 0 up to rounding. Returns the smallest.
fn positive(matrix: Vec<Vec<f64>>, name: &str) -> [f64; 2] {
    let n = matrix.len();
    for i in 0..n {
        for j in 0..i {
            assert!((matrix[i][j] - matrix[j][i]).abs() < 1e-11, "{name}: symmetric at {i}, {j}");
        }
    }
    let values = eigenvalues(matrix);
    let (smallest, largest) = (values[0], values[n - 1]);
    assert!(smallest > -1e-11 * largest.max(1.0), "{name}: {smallest} … {largest}");
    [smallest, largest]
}

struct Positive;

impl Law for Positive {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L, name: &str) {
        let mut rng = Random::new(1);
        for (labels, keep, valued) in [(2, Keep::All, false), (3, Keep::Observed, true)] {
            let risk = risk(loss, labels, keep, valued);
            let n = risk.dim();
            for range in [0.0, 1.0, 8.0] {
                let theta = vector(&mut rng, n, range);
                let whole = Whole { objective: &risk, prior: Prior::gaussian(f64::INFINITY), l1: 0.0 };
                let matrix: Vec<Vec<f64>> = hessian(&whole, &theta).chunks(n).map(<[f64]>::to_vec).collect();
                let [_, largest] = positive(matrix.clone(), name);
                assert!(largest > 1e-3, "{name}: some curvature");
                // A prior raises all eigenvalues by 1/σ².
                let whole = Whole { prior: Prior::gaussian(2.0), ..whole };
                let with: Vec<Vec<f64>> = hessian(&whole, &theta).chunks(n).map(<[f64]>::to_vec).collect();
                assert!(eigenvalues(with)[0] > 0.25 - 1e-10, "{name}");
                // Many directions, some of them few weights or very uneven, and the matrix is the product.
                for k in 0..30 {
                    let mut v = vector(&mut rng, n, 1.0);
                    match k % 3 {
                        1 => v.iter_mut().for_each(|x| *x *= if rng.below(8) == 0 { 1.0 } else { 0.0 }),
                        2 => v.iter_mut().for_each(|x| *x = x.powi(15)),
                        _ => {}
                    }
                    let product = times(&risk, &theta, &v);
                    let curvature = dot(&v, &product);
                    assert!(curvature >= -1e-11 * dot(&v, &v), "{name}: curvature {curvature}");
                    for (row, x) in matrix.iter().zip(&product) {
                        assert!((dot(row, &v) - x).abs() < 1e-10, "{name}: matrix and product");
                    }
                }
            }
        }
    }
}

#[test]
fn hessians_have_no_negative_eigenvalue() {
    each_smooth_loss(&Positive);
}

struct Linear;

impl Law for Linear {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L, name: &str) {
        let mut rng = Random::new(2);
        for (labels, keep, valued) in [(3, Keep::All, true), (9, Keep::Observed, false)] {
            let risk = risk(loss, labels, keep, valued);
            let n = risk.dim();
            let theta = vector(&mut rng, n, 1.0);
            let (u, v) = (vector(&mut rng, n, 1.0), vector(&mut rng, n, 1.0));
            let (hu, hv) = (times(&risk, &theta, &u), times(&risk, &theta, &v));
            for [a, b] in [[1.0, 1.0], [-2.5, 0.3], [1e6, 1.0], [1e-9, 1e-9], [0.0, 0.0]] {
                let both: Vec<f64> = u.iter().zip(&v).map(|(u, v)| a * u + b * v).collect();
                let found = times(&risk, &theta, &both);
                for (i, x) in found.iter().enumerate() {
                    let expected = a * hu[i] + b * hv[i];
                    let size = f64::max(a.abs(), b.abs());
                    assert!((x - expected).abs() <= 1e-11 * size, "{name}, {a}, {b}: {x} {expected}");
                }
            }
        }
    }
}

#[test]
fn products_are_linear_in_the_vector() {
    each_smooth_loss(&Linear);
    Linear.check(Perceptron(Viterbi), "perceptron");
}

struct ComplexStep;

impl Law for ComplexStep {
    fn check<L: Loss<Graph = Chain> + Copy + 'static>(&self, loss: L, name: &str) {
        let mut rng = Random::new(3);
        for (labels, keep, valued) in
            [(1, Keep::All, false), (3, Keep::All, true), (9, Keep::Observed, false)]
        {
            let risk = risk(loss, labels, keep, valued);
            let n = risk.dim();
            let (theta, v) = (vector(&mut rng, n, 2.0), vector(&mut rng, n, 1.0));
            let batch = [3, 1, 5];
            let mut touched = Touched::default();
            risk.touched(&batch, &mut touched);
            let every = |risk: &Risk<Chain>| {
                let (mut g, mut hv) = (vec![0.0; n], vec![0.0; n]);
                let value = risk.hess_vec(&theta, &v, &mut g, &mut hv);
                let (mut some, mut some_hv) = (Vec::new(), Vec::new());
                let batch_value =
                    risk.batch_hess_vec(&batch, [&theta, &v], &touched, &mut some, &mut some_hv);
                [vec![value, batch_value], g, hv, some, some_hv].concat()
            };
            let dual = every(&risk);
            let (features, data) = (risk.features().clone(), risk.data().clone());
            let complex =
                every(&Risk::with_derivative(loss, Derivative::Complex, features, data, 1).unwrap());
            assert_eq!(dual.len(), complex.len());
            for (i, (dual, complex)) in dual.iter().zip(&complex).enumerate() {
                assert!(difference(*dual, *complex) < 1e-12, "{name}: {dual} {complex} at {i} of {n}");
            }
        }
    }
}

#[test]
fn complex_steps_equal_dual_numbers_whatever_the_loss() {
    each_smooth_loss(&ComplexStep);
    ComplexStep.check(Perceptron(Viterbi), "perceptron");
}

/// The entries of ψ without padding: own tables, then shared ones.
fn entries(x: &Problem) -> Vec<(Option<usize>, usize)> {
    let own = x.own_entries().into_iter().enumerate().filter(|(_, entry)| *entry).map(|(i, _)| (None, i));
    let shared = x.graph.shared_shapes().iter().enumerate().flat_map(|(id, shape)| {
        (0..shape.size()).filter(|i| i % shape.stride() < shape.columns).map(move |i| (Some(id), i))
    });
    own.chain(shared).collect()
}

fn flat<S: Scalar>(x: &Problem, (own, shared): (&Array<S>, &SharedSum<S>)) -> Vec<S> {
    let at = |(id, i): (Option<usize>, usize)| match id {
        None => own.get(i),
        Some(id) => shared.0[id].direct.get(i),
    };
    entries(x).into_iter().map(at).collect()
}

/// The product with a vector over [`entries`], by one kind of number.
fn product<S: Scalar, L: Loss<Graph = FactorGraph>>(loss: &L, x: &Problem, v: &[f64], step: f64) -> Vec<f64> {
    let mut d = Problem { own: vec![0.0; x.own.len()], ..x.clone() };
    d.shared.iter_mut().for_each(|table| table.fill(0.0));
    for ((id, i), v) in entries(x).into_iter().zip(v) {
        match id {
            None => d.own[i] = *v,
            Some(id) => d.shared[id][i] = *v,
        }
    }
    let (_, own, shared) = x.evaluate::<S, L>(loss, Some(&d), step);
    flat(x, (&own, &shared)).into_iter().map(|x| x.eps() / step).collect()
}

fn matrix<L: Loss<Graph = FactorGraph>>(loss: &L, x: &Problem) -> Vec<Vec<f64>> {
    let n = entries(x).len();
    let unit = |k: usize| (0..n).map(|i| f64::from(i == k)).collect::<Vec<f64>>();
    (0..n).map(|k| product::<Dual, L>(loss, x, &unit(k), 1.0)).collect()
}

fn graph_laws<L: Loss<Graph = FactorGraph>>(loss: &L, name: &str) {
    let mut rng = Random::new(4);
    let mut looked = 0;
    for k in 0..15 {
        let graph = random_graph(&mut rng, 4, 2 + k % 2, false);
        let mut x = Problem::random(&mut rng, &graph, [1.0, 5.0, 40.0][k % 3]);
        x.weight = 1.5;
        if !(1..=100).contains(&entries(&x).len()) {
            continue; // nothing, or too much for an explicit matrix
        }
        looked += 1;
        let matrix = matrix(loss, &x);
        positive(matrix.clone(), name);
        for _ in 0..10 {
            let v = vector(&mut rng, matrix.len(), 1.0);
            let dual = product::<Dual, L>(loss, &x, &v, 1.0);
            let complex = product::<Complex64, L>(loss, &x, &v, 1e-100);
            for ((row, dual), complex) in matrix.iter().zip(&dual).zip(&complex) {
                assert!((dual - complex).abs() < 1e-12, "{name}: {dual} {complex}");
                assert!((dot(row, &v) - dual).abs() < 1e-10, "{name}: linear");
            }
            assert!(dot(&v, &dual) > -1e-11, "{name}");
        }
    }
    assert!(looked > 7, "{looked} graphs");
}

#[test]
fn hessians_on_graphs_have_no_negative_eigenvalue() {
    graph_laws(&Likelihood(JunctionTree::default()), "likelihood");
    graph_laws(&Pseudolikelihood::default(), "pseudolikelihood");
    graph_laws(&Piecewise::default(), "piecewise");
    graph_laws(&PiecewisePseudolikelihood::default(), "piecewise pseudolikelihood");
    for pieces in Pieces::ALL {
        graph_laws(&OnPieces { pieces, loss: Likelihood(Tree) }, "pieces");
        graph_laws(&OnPieces { pieces, loss: Pseudolikelihood::default() }, "pseudo by pieces");
    }
}

/// Of a matrix: how far from symmetric, and the smallest eigenvalue of its symmetric part.
fn shape(matrix: &[Vec<f64>]) -> [f64; 2] {
    let n = matrix.len();
    let pairs = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let skew = pairs().map(|(i, j)| (matrix[i][j] - matrix[j][i]).abs()).fold(0.0, f64::max);
    let symmetric = (0..n).map(|i| (0..n).map(|j| 0.5 * (matrix[i][j] + matrix[j][i])).collect()).collect();
    [skew, eigenvalues(symmetric)[0]]
}

/// Approximate inference that has settled is at a minimum of its free energy, so its log Z is a largest one of linear functions of ψ, as
/// the exact one is, and its Hessian is symmetric and positive. Where messages were cut short it need not be either.
#[test]
fn hessians_of_approximations_are_positive_where_they_have_settled() {
    let mut rng = Random::new(5);
    let (tolerance, max_iterations) = (1e-12, 5000);
    let (mut settled, mut skewed, mut negative) = (0, 0, 0);
    for _ in 0..15 {
        // A square with both diagonals.
        let graph = build::skip_chain(4, 2, &[(0, 2), (1, 3), (0, 3)], [PairTables::Own; 2]).unwrap();
        let x = Problem::random(&mut rng, &graph, 1.5);
        let loopy = LoopyBp { tolerance, max_iterations, damping: 0.3, ..LoopyBp::default() };
        let mean_field = MeanField { tolerance, max_iterations, ..MeanField::default() };
        let trw = TreeReweighted { tolerance, max_iterations, ..TreeReweighted::default() };
        let mut look = |converged: bool, matrix: Vec<Vec<f64>>| {
            let [skew, smallest] = shape(&matrix);
            assert!(!converged || skew < 1e-7 && smallest > -1e-7, "{skew} {smallest}");
            settled += usize::from(converged);
        };
        look(x.infer::<f64, _>(&loopy, None, 0.0).outcome.converged, matrix(&Likelihood(loopy), &x));
        look(
            x.infer::<f64, _>(&mean_field, None, 0.0).outcome.converged,
            matrix(&Likelihood(mean_field), &x),
        );
        look(x.infer::<f64, _>(&trw, None, 0.0).outcome.converged, matrix(&Likelihood(trw), &x));
        let short = LoopyBp { max_iterations: 2, damping: 0.0, ..loopy };
        let [skew, smallest] = shape(&matrix(&Likelihood(short), &x));
        skewed += usize::from(skew > 1e-3);
        negative += usize::from(smallest < -1e-3);
    }
    assert!(settled > 30 && skewed > 5 && negative > 0, "{settled} {skewed} {negative}");
}
