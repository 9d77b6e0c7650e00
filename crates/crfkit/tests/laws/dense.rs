//! Dense observations: matrix products give what the same numbers give as observations with values.

use crate::common::difference;
use crfkit::data::dataset::Dataset;
use crfkit::decode::Direction;
use crfkit::graph::{Chain, FactorGraph, FactorGraphBuilder, Graph, Label, NODES, PAIRS};
use crfkit::infer::{ForwardBackward, JunctionTree};
use crfkit::loss::{ChainPiecewise, Likelihood, Loss, Memm, Pieces, Pseudolikelihood};
use crfkit::math::random::Random;
use crfkit::model::{Features, Keep, TableKind, TableShapes, Tables};
use crfkit::optim::{Objective, Touched};
use crfkit::risk::{Risk, potentials};

/// Named observations, besides the dense ones.
const NAMED: usize = 12;

/// The same examples twice: with dense observations, and with the same numbers as values.
struct Twice<G> {
    dense: Dataset<G>,
    valued: Dataset<G>,
}

impl<G: Graph> Twice<G> {
    /// `widths` has the number of dense observations of each kind.
    fn new(widths: &[usize]) -> Self {
        let (mut dense, valued) = (Dataset::new(), Dataset::new());
        widths.iter().enumerate().for_each(|(kind, &width)| dense.set_dense(kind, width));
        Twice { dense, valued }
    }

    fn add(&mut self, graph: G, widths: &[usize], rng: &mut Random, gold: Vec<Label>) {
        for f in 0..graph.own_tables() {
            let kind = graph.own_kind(f);
            let numbers: Vec<f32> = (0..widths[kind]).map(|_| rng.uniform() as f32 * 2.0 - 1.0).collect();
            for (d, &x) in numbers.iter().enumerate() {
                self.valued.push_observation(d as u32, x.into());
            }
            self.dense.push_dense(kind, numbers);
            for _ in 0..rng.below(4) {
                let (id, value) = ((widths[kind] + rng.below(NAMED)) as u32, 1.0 + rng.uniform());
                self.dense.push_observation(id, value);
                self.valued.push_observation(id, value);
            }
            self.dense.finish_table();
            self.valued.finish_table();
        }
        let weight = 0.5 + rng.uniform();
        self.dense.finish_example(graph.clone(), gold.iter().copied(), weight);
        self.valued.finish_example(graph, gold, weight);
    }
}

fn chains(labels: usize, widths: [usize; 2], own_pairs: bool) -> Twice<Chain> {
    let mut rng = Random::new(3);
    let mut twice = Twice::new(&widths);
    for example in 0..if labels > 20 { 9 } else { 30 } {
        let chain = Chain {
            len: rng.below(9) + usize::from(example % 7 != 0),
            labels,
            own_pairs,
            triples: false,
            segments: None,
        };
        let gold = (0..chain.len).map(|_| rng.below(labels) as Label).collect();
        twice.add(chain, &widths, &mut rng, gold);
    }
    twice
}

/// Rings of four nodes, with tables of this form over neighbours.
fn rings(labels: usize, widths: [usize; 2]) -> Twice<FactorGraph> {
    let mut rng = Random::new(4);
    let mut twice = Twice::new(&widths);
    for _ in 0..9 {
        let mut ring = FactorGraphBuilder::new(vec![labels; 4]).unwrap();
        for v in 0..4 {
            ring.add_own(NODES, &[v]).unwrap();
        }
        for v in 0..4 {
            ring.add_own(PAIRS, &[v, (v + 1) % 4]).unwrap();
        }
        let gold = (0..4).map(|_| rng.below(labels) as Label).collect();
        twice.add(ring.build().unwrap(), &widths, &mut rng, gold);
    }
    twice
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(difference(*a, *b) < 1e-9, "{what} at {i}: {a} {b}");
    }
}

/// Value, gradient and H·v of all examples and of batches, ψ, and the rows of blocks are the same.
/// `plain` are the features without dense ones, if they have the same weights.
fn same<G: Graph, L: Loss<Graph = G> + Copy + 'static>(
    loss: L,
    twice: &Twice<G>,
    features: &Features,
    plain: Option<&Features>,
) {
    let of =
        |features: &Features, data: &Dataset<G>| Risk::new(loss, features.clone(), data.clone(), 1).unwrap();
    let (dense, valued) = (of(features, &twice.dense), of(plain.unwrap_or(features), &twice.valued));
    let on_two_threads = Risk::new(loss, features.clone(), twice.dense.clone(), 2).unwrap();
    let (n, mut rng) = (features.dim(), Random::new(9));
    let mut vector = || (0..n).map(|_| rng.uniform() - 0.5).collect::<Vec<f64>>();
    let (theta, v) = (vector(), vector());
    let passes = [&dense, &valued, &on_two_threads].map(|risk| {
        let (mut gradient, mut hess_vec) = (vec![0.0; n], vec![0.0; n]);
        let value = risk.hess_vec(&theta, &v, &mut gradient, &mut hess_vec);
        let mut plain = vec![0.0; n];
        assert!(difference(risk.value_grad(&theta, &mut plain), value) < 1e-12);
        close(&plain, &gradient, "the gradient without H·v");
        (value, gradient, hess_vec)
    });
    assert!(difference(passes[0].0, passes[1].0) < 1e-12, "{} {}", passes[0].0, passes[1].0);
    close(&passes[0].1, &passes[1].1, "gradient");
    close(&passes[0].2, &passes[1].2, "H·v");
    assert_eq!(passes[0], passes[2], "the number of threads changes nothing");

    for batch in [&[0u32, 1, 2][..], &[5], &[8, 3]] {
        let [a, b] = [&dense, &valued].map(|risk| {
            let (mut touched, mut gradient, mut hess_vec) = (Touched::default(), Vec::new(), Vec::new());
            risk.touched(batch, &mut touched);
            let value = risk.batch_hess_vec(batch, [&theta, &v], &touched, &mut gradient, &mut hess_vec);
            let (mut all, mut slopes) = (vec![0.0; n], vec![0.0; n]);
            touched.weights().zip(gradient.iter().zip(&hess_vec)).for_each(|(i, (g, h))| {
                all[i] += g;
                slopes[i] += h;
            });
            (value, all, slopes)
        });
        assert!(difference(a.0, b.0) < 1e-12);
        close(&a.1, &b.1, "gradient of a batch");
        close(&a.2, &b.2, "H·v of a batch");
    }

    let [mut a, mut b] = [(); 2].map(|()| crfkit::math::Array::default());
    for example in 0..twice.dense.len() {
        potentials(features, &twice.dense, example, &theta, &mut a);
        potentials(features, &twice.valued, example, &theta, &mut b);
        let len = twice.dense.graph(example).own_len();
        close(&a.plane(0)[..len], &b.plane(0)[..len], "ψ");
    }

    if let (Some(_), Some(of_dense), Some(of_valued)) =
        (plain, dense.blocks(20, 1, 3), valued.blocks(20, 1, 3))
    {
        let (mut one, mut other) = (of_dense.worker(), of_valued.worker());
        for block in 0..of_dense.len() {
            let [mut a, mut b] = [(); 2].map(|()| vec![0.0; of_dense.size(block)]);
            let losses = [one.residuals(block, &theta, &mut a), other.residuals(block, &theta, &mut b)];
            assert!(difference(losses[0], losses[1]) < 1e-12);
            close(&a, &b, "residuals");
            let [mut x, mut y] = [(); 2].map(|()| (Vec::new(), Vec::new()));
            one.project(block, &a, &mut x.0, &mut x.1);
            other.project(block, &b, &mut y.0, &mut y.1);
            // Where a block has no tables of a kind, its dense rows are there all the same, with 0.
            let spread = |(rows, values): &(Vec<crfkit::optim::Row>, Vec<f64>)| {
                let mut all = vec![0.0; n];
                rows.iter().for_each(|row| all[row.weights()].copy_from_slice(&values[row.place()]));
                assert!(rows.is_sorted_by_key(|row| row.row));
                all
            };
            close(&spread(&x), &spread(&y), "the projection of residuals");
            let mut seen = Vec::new();
            of_dense.for_each_row(block, &mut |row, _| seen.push(row));
            assert_eq!(seen, x.0);
            let collect = |blocks: &dyn crfkit::optim::Blocks| {
                let mut reach = Vec::new();
                blocks.for_each_example(block, &|row| 1.0 + row as f64, &mut |_, _, singles| {
                    reach.extend(singles.iter().map(|(_, reach)| *reach));
                });
                reach
            };
            close(&collect(&*of_dense), &collect(&*of_valued), "reach");
        }
    }
}

#[test]
fn chains_with_dense_numbers_equal_chains_with_values() {
    for labels in [1, 3, 9, 70] {
        for (widths, own_pairs) in [([5, 0], false), ([1, 0], true), ([17, 3], true)] {
            let twice = chains(labels, widths, own_pairs);
            for keep in [Keep::Observed, Keep::All] {
                let [features, plain] = [&twice.dense, &twice.valued].map(|data| {
                    Features::chain(data, labels, widths.map(|width| width + NAMED), keep, true, true)
                });
                let plain = (keep == Keep::All).then_some(&plain);
                same(Likelihood(ForwardBackward), &twice, &features, plain);
                same(Pseudolikelihood::default(), &twice, &features, plain);
                same(Memm(Direction::Forward), &twice, &features, plain);
                same(ChainPiecewise { pieces: Pieces::Edge }, &twice, &features, plain);
            }
        }
    }
}

#[test]
fn graphs_with_dense_numbers_equal_graphs_with_values() {
    for (labels, tables) in [(3, Tables::Full), (3, Tables::Potts), (2, Tables::Ising)] {
        for widths in [[6, 4], [0, 9], [3, 0]] {
            let twice = rings(labels, widths);
            let stride = labels.next_multiple_of(8);
            let ising = |label: usize| 2.0 * label as f64 - 1.0;
            let function = |entry: usize, nodes: usize| match (entry / stride, entry % stride) {
                (_, column) if column >= labels => 0.0,
                (_, column) if nodes == 1 => ising(column),
                (row, column) if tables == Tables::Potts => f64::from(u8::from(row == column)),
                (row, column) => ising(row) * ising(column),
            };
            let basis = |nodes: usize| match tables {
                Tables::Ising => vec![
                    (0..labels.pow(nodes as u32 - 1) * stride).map(|entry| function(entry, nodes)).collect(),
                ],
                Tables::Potts if nodes == 2 => {
                    vec![(0..labels * stride).map(|entry| function(entry, nodes)).collect()]
                }
                _ => Vec::new(),
            };
            let kind = |kind: usize, lines: usize, dense: usize| TableKind {
                observations: widths[kind] + NAMED,
                dense,
                lines,
                columns: labels,
                basis: basis(kind + 1),
            };
            let [features, plain] = [widths, [0, 0]].map(|dense| {
                let kinds = vec![kind(NODES, 1, dense[NODES]), kind(PAIRS, labels, dense[PAIRS])];
                Features::new(
                    &twice.dense,
                    TableShapes { kinds, node_kinds: 1, shared: Vec::new() },
                    Keep::All,
                )
            });
            same(Likelihood(JunctionTree::default()), &twice, &features, Some(&plain));
        }
    }
}
