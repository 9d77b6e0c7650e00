//! Local losses on any graph: mixed numbers of labels, factors of three variables, shared and own tables. They equal their
//! definitions, and likelihood and pseudolikelihood on the node-split graph (pwpl-2007 section 2.2), whatever the pieces.

use crate::common;
use crate::graphs;

use common::difference;
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{
    Chain, Factor, FactorGraph, FactorGraphBuilder, Gradient, Graph, Grid, Label, Neighbours, NodeSplit,
    PieceHint, Pieces, Psi, Shared, SharedSum, Table, TableRef,
};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{Inference, JunctionTree, Tree};
use crfkit::loss::{
    BethePieces, ChainPiecewise, ChainPiecewisePseudolikelihood, Gold, Likelihood, Loss, OnPieces, Piecewise,
    PiecewisePseudolikelihood, Pseudolikelihood,
};
use crfkit::math::random::Random;
use crfkit::math::{Array, Complex64, Dual, Scalar};
use crfkit::{Error, GraphError};
use graphs::{Problem, random_graph};
use std::num::NonZeroUsize;

/// A graph as a plain list of factors: table, variables, strides.
#[derive(Clone)]
struct Plain {
    cards: Vec<usize>,
    factors: Vec<(TableRef, Vec<usize>, Vec<usize>)>,
    own_len: usize,
}

impl Graph for Plain {
    fn vars(&self) -> usize {
        self.cards.len()
    }
    fn card(&self, v: usize) -> usize {
        self.cards[v]
    }
    fn for_each_factor(&self, mut visit: impl FnMut(Factor)) {
        for (table, vars, strides) in &self.factors {
            visit(Factor { table: *table, vars, strides });
        }
    }
    fn degree(&self, v: usize) -> usize {
        let mut around: Vec<&[usize]> = self.factors.iter().map(|(_, vars, _)| &vars[..]).collect();
        around.retain(|vars| vars.len() > 1 && vars.contains(&v));
        around.sort_unstable();
        around.dedup();
        around.len()
    }
    fn own_tables(&self) -> usize {
        self.factors.iter().filter(|(table, ..)| matches!(table, TableRef::Own(_))).count()
    }
    fn own_offset(&self, _f: usize) -> usize {
        unreachable!("losses do not ask for own tables by number")
    }
    fn own_size(&self, _f: usize) -> usize {
        unreachable!("losses do not ask for own tables by number")
    }
    fn own_kind(&self, _f: usize) -> usize {
        unreachable!("losses do not ask for own tables by number")
    }
    fn own_len(&self) -> usize {
        self.own_len
    }
    fn clear_own(&self, own: &mut [f64]) {
        own.fill(0.0);
    }
}

impl Plain {
    /// Adds a factor with a table of its own; its first variable moves fastest if `turned`, its last otherwise.
    fn own(&mut self, vars: &[usize], turned: bool) {
        let mut strides = vec![0; vars.len()];
        let mut size = 1;
        let order: Vec<usize> =
            if turned { (0..vars.len()).collect() } else { (0..vars.len()).rev().collect() };
        for k in order {
            strides[k] = size;
            size *= self.cards[vars[k]];
        }
        self.factors.push((TableRef::Own(self.own_len), vars.to_vec(), strides));
        self.own_len += size;
    }

    /// Adds a factor that reads shared table `id`, whose rows are `stride` long.
    fn shared(&mut self, id: usize, stride: usize, vars: &[usize]) {
        let strides = match vars {
            [_] => vec![1],
            [_, _] => vec![stride, 1],
            // Rows are labellings of the first two variables.
            [_, second, _] => vec![self.cards[*second] * stride, stride, 1],
            _ => unreachable!(),
        };
        self.factors.push((TableRef::Shared(id), vars.to_vec(), strides));
    }

    /// A copy of each variable for each factor that it is in; the tables stay.
    fn split(&self, gold: &[Label]) -> (Plain, Vec<Label>) {
        let mut split = Plain { cards: Vec::new(), factors: Vec::new(), own_len: self.own_len };
        let mut copies = Vec::new();
        for (table, vars, strides) in &self.factors {
            let first = split.cards.len();
            split.cards.extend(vars.iter().map(|&v| self.cards[v]));
            copies.extend(vars.iter().map(|&v| gold[v]));
            split.factors.push((*table, (first..split.cards.len()).collect(), strides.clone()));
        }
        (split, copies)
    }
}

/// Numbers for a graph; `d` is a direction in the same space.
struct Numbers {
    shared: Vec<Vec<f64>>,
    own: Vec<f64>,
}

/// The shapes of the shared tables: single labels, pairs of 3 × 2 and 3 × 3, triples of (2 × 3) × 2.
const SHAPES: [(usize, usize); 4] = [(1, 3), (3, 2), (3, 3), (6, 2)];

impl Numbers {
    fn random(rng: &mut Random, graph: &Plain, range: f64) -> Self {
        let mut draw = |n: usize| (0..n).map(|_| (rng.uniform() * 2.0 - 1.0) * range).collect::<Vec<f64>>();
        Numbers { shared: SHAPES.map(|(rows, labels)| draw(rows * labels)).into(), own: draw(graph.own_len) }
    }

    fn moved(&self, d: &Numbers, h: f64) -> Numbers {
        let add = |x: &[f64], d: &[f64]| x.iter().zip(d).map(|(x, d)| x + h * d).collect();
        Numbers {
            shared: self.shared.iter().zip(&d.shared).map(|(x, d)| add(x, d)).collect(),
            own: add(&self.own, &d.own),
        }
    }

    fn psi<S: Scalar>(&self, d: &Numbers, step: f64) -> (Shared<S>, Array<S>) {
        let mut shared = Vec::new();
        for (id, (rows, labels)) in SHAPES.into_iter().enumerate() {
            let mut table = Table::new(rows, labels);
            for k in 0..rows * labels {
                let x = S::new(self.shared[id][k], d.shared[id][k] * step);
                table.log.set(k / labels * table.stride + k % labels, x);
            }
            table.update();
            shared.push(table);
        }
        let mut own = Array::zeros(self.own.len());
        for (i, (x, d)) in self.own.iter().zip(&d.own).enumerate() {
            own.set(i, S::new(*x, d * step));
        }
        (shared, own)
    }

    /// Value and gradient of a loss; the gradient in the layout of the numbers, shared tables first.
    fn evaluate<S: Scalar, L: Loss<Graph = Plain>>(
        &self,
        loss: &L,
        graph: &Plain,
        gold: &[Label],
        (d, step): (&Numbers, f64),
    ) -> (S, Vec<S>) {
        let (shared, own) = self.psi::<S>(d, step);
        let (mut dpsi, mut sum) = (Array::zeros(own.len()), SharedSum::new(&shared));
        let value = loss.loss(
            graph,
            Psi { shared: &shared, own: &own },
            Gold::new(gold, 1.5),
            &mut Gradient { own: dpsi.slice_mut(0..own.len()), shared: &mut sum },
            &mut Default::default(),
        );
        sum.finish(&shared);
        let mut gradient = Vec::new();
        for (id, (rows, labels)) in SHAPES.into_iter().enumerate() {
            let stride = shared[id].stride;
            gradient
                .extend((0..rows * labels).map(|k| sum.0[id].direct.get(k / labels * stride + k % labels)));
        }
        gradient.extend((0..own.len()).map(|i| dpsi.get(i)));
        (value, gradient)
    }

    fn value<L: Loss<Graph = Plain>>(&self, loss: &L, graph: &Plain, gold: &[Label]) -> f64 {
        self.evaluate::<f64, L>(loss, graph, gold, (self, 0.0)).0 / 1.5
    }

    fn flat(&self) -> impl Iterator<Item = f64> + '_ {
        self.shared.iter().flatten().chain(&self.own).copied()
    }
}

/// A loop with a chord, mixed cardinalities, every shape of table, an isolated variable with one label.
fn graph() -> (Plain, Vec<Label>) {
    let mut graph = Plain { cards: vec![3, 2, 3, 2, 3, 1], factors: Vec::new(), own_len: 0 };
    for v in 0..5 {
        graph.own(&[v], false);
    }
    graph.shared(0, 8, &[0]);
    graph.shared(0, 8, &[4]);
    graph.shared(1, 8, &[0, 1]);
    graph.shared(1, 8, &[4, 3]);
    graph.shared(2, 8, &[0, 2]);
    graph.shared(3, 8, &[1, 2, 3]);
    graph.own(&[2, 4], false);
    graph.own(&[0, 3], true);
    graph.own(&[0, 1, 2], false);
    graph.own(&[3, 2, 1], true);
    graph.own(&[5], false);
    (graph, vec![2, 1, 0, 0, 1, 0])
}

fn log_sum_exp(x: impl Iterator<Item = f64>) -> f64 {
    let x: Vec<f64> = x.collect();
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + x.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}

/// −log p(y_v | the rest) of the whole graph: no factor is looked at by itself.
fn minus_log_conditional(graph: &Plain, psi: Psi<f64>, gold: &[Label], v: usize) -> f64 {
    let changed = |j: usize| {
        let mut labels = gold.to_vec();
        labels[v] = j as Label;
        psi.score(graph, &labels)
    };
    log_sum_exp((0..graph.cards[v]).map(changed)) - psi.score(graph, gold)
}

/// The graph with one of its factors only.
fn alone(graph: &Plain, a: usize) -> Plain {
    Plain { factors: vec![graph.factors[a].clone()], ..graph.clone() }
}

/// log Z of a small graph over the variables that have a factor.
fn log_z(graph: &Plain, psi: Psi<f64>) -> f64 {
    let mut graph = graph.clone();
    for v in 0..graph.vars() {
        if !graph.factors.iter().any(|(_, vars, _)| vars.contains(&v)) {
            graph.cards[v] = 1;
        }
    }
    enumerate(&graph, psi.shared, psi.own).log_z
}

#[test]
fn losses_equal_their_definitions() {
    let (graph, gold) = graph();
    let mut rng = Random::new(1);
    for range in [0.0, 2.0, 30.0, 700.0] {
        let numbers = Numbers::random(&mut rng, &graph, range);
        let (shared, own) = numbers.psi::<f64>(&numbers, 0.0);
        let psi = Psi { shared: &shared, own: &own };
        let pl: f64 = (0..graph.vars()).map(|v| minus_log_conditional(&graph, psi, &gold, v)).sum();
        let (mut pw, mut pwpl) = (0.0, 0.0);
        for a in 0..graph.factors.len() {
            let piece = alone(&graph, a);
            pw += log_z(&piece, psi) - psi.score(&piece, &gold);
            for &v in &graph.factors[a].1 {
                pwpl += minus_log_conditional(&piece, psi, &gold, v);
            }
        }
        assert!(difference(numbers.value(&Pseudolikelihood::default(), &graph, &gold), pl) < 1e-12);
        assert!(difference(numbers.value(&Piecewise::default(), &graph, &gold), pw) < 1e-12);
        let found = numbers.value(&PiecewisePseudolikelihood::default(), &graph, &gold);
        assert!(difference(found, pwpl) < 1e-12);
        let ml = log_z(&graph, psi) - psi.score(&graph, &gold);
        assert!(pw >= ml - 1e-9 * ml.abs(), "piecewise bounds the likelihood");
    }
}

/// PW(G) = ML(G′) and PWPL(G) = PL(G′), G′ the node-split graph.
#[test]
fn piecewise_is_likelihood_on_the_split_graph() {
    let mut small = Plain { cards: vec![3, 2, 3], factors: Vec::new(), own_len: 0 };
    small.own(&[0], false);
    small.shared(1, 8, &[0, 1]);
    small.own(&[1, 2], true);
    let mut rng = Random::new(2);
    for (graph, gold, enumerable) in [(small, vec![1, 0, 2], true), (graph().0, graph().1, false)] {
        let (split, copies) = graph.split(&gold);
        for range in [1.0, 20.0] {
            let numbers = Numbers::random(&mut rng, &graph, range);
            let (shared, own) = numbers.psi::<f64>(&numbers, 0.0);
            let psi = Psi { shared: &shared, own: &own };
            if enumerable {
                let likelihood = log_z(&split, psi) - psi.score(&split, &copies);
                assert!(difference(numbers.value(&Piecewise::default(), &graph, &gold), likelihood) < 1e-12);
            }
            let pwpl = numbers.value(&PiecewisePseudolikelihood::default(), &graph, &gold);
            let split_pl = numbers.value(&Pseudolikelihood::default(), &split, &copies);
            assert!(difference(pwpl, split_pl) < 1e-12);
            // On the split graph every variable is in one factor, and the two are the same.
            let split_pwpl = numbers.value(&PiecewisePseudolikelihood::default(), &split, &copies);
            assert!(difference(split_pwpl, split_pl) < 1e-12);
        }
    }
}

fn laws<L: Loss<Graph = Plain>>(loss: &L) {
    let (graph, gold) = graph();
    let mut rng = Random::new(3);
    for range in [1.0, 5.0, 300.0] {
        let x = Numbers::random(&mut rng, &graph, range);
        let d = Numbers::random(&mut rng, &graph, 1.0);
        let at = |h: f64| x.moved(&d, h).evaluate::<f64, L>(loss, &graph, &gold, (&d, 0.0));
        let h = 1e-5;
        let ((plus, g_plus), (minus, g_minus), (_, gradient)) = (at(h), at(-h), at(0.0));
        let slope: f64 = gradient.iter().zip(d.flat()).map(|(g, d)| g * d).sum();
        let (dual, dual_gradient) = x.evaluate::<Dual, L>(loss, &graph, &gold, (&d, 1.0));
        let (complex, complex_gradient) = x.evaluate::<Complex64, L>(loss, &graph, &gold, (&d, 1e-100));
        assert!(difference(slope, dual.eps()) < 1e-12);
        assert!(difference(dual.eps(), complex.eps() * 1e100) < 1e-12);
        for (dual, complex) in dual_gradient.iter().zip(&complex_gradient) {
            assert!((dual.eps() - complex.eps() * 1e100).abs() < 1e-12);
        }
        if range < 100.0 {
            assert!(difference(slope, (plus - minus) / (2.0 * h)) < 1e-6);
            for (dual, (plus, minus)) in dual_gradient.iter().zip(g_plus.iter().zip(&g_minus)) {
                assert!((dual.eps() - (plus - minus) / (2.0 * h)).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn gradients_are_slopes() {
    laws(&Pseudolikelihood::default());
    laws(&Piecewise::default());
    laws(&PiecewisePseudolikelihood::default());
}

#[test]
fn an_empty_graph_costs_nothing() {
    let empty = Plain { cards: Vec::new(), factors: Vec::new(), own_len: 0 };
    let numbers = Numbers::random(&mut Random::new(4), &empty, 1.0);
    assert_eq!(numbers.value(&Pseudolikelihood::default(), &empty, &[]), 0.0);
    assert_eq!(numbers.value(&Piecewise::default(), &empty, &[]), 0.0);
    assert_eq!(numbers.value(&PiecewisePseudolikelihood::default(), &empty, &[]), 0.0);
}

/// The pieces of small graphs, by hand. Node tables are factors 0, 1, …; then come the pairs in the order of the constructors.
#[test]
fn pieces_of_familiar_graphs() {
    let shared = PairTables::Shared;
    let sorted = |pieces: Pieces, graph: &FactorGraph| {
        let mut found = pieces.factors(graph).unwrap();
        found.iter_mut().for_each(|piece| piece.sort_unstable());
        found
    };
    // y0 – y1 – y2 and a skip y0 – y2.
    let skip = build::skip_chain(3, 2, &[(0, 2)], [shared; 2]).unwrap();
    assert_eq!(sorted(Pieces::Factor, &skip).len(), 6);
    assert_eq!(sorted(Pieces::Edge, &skip), [vec![0, 1, 3], vec![2, 4], vec![5]]);
    assert_eq!(sorted(Pieces::SharedUnary, &skip), [vec![0, 1, 3], vec![1, 2, 4], vec![0, 2, 5]]);
    assert_eq!(sorted(Pieces::Trees, &skip), [vec![0, 1, 2, 3, 4], vec![5]]);
    // Two columns, three tokens: nodes 0 – 5, the first token's pair 6, then two pairs along the columns and one of the token.
    let factorial = build::factorial_chain(3, &[3, 2], shared).unwrap();
    let edges = [vec![0, 1, 6], vec![2, 7], vec![3, 8], vec![9], vec![4, 10], vec![5, 11], vec![12]];
    assert_eq!(sorted(Pieces::Edge, &factorial), edges);
    let trees = [vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11], vec![9], vec![12]];
    assert_eq!(sorted(Pieces::Trees, &factorial), trees);
    // Shared and own table of a pair stay together; a variable without pairs is a piece.
    let both = build::tree(2, &[None, Some(0), None], PairTables::Both).unwrap();
    for pieces in [Pieces::Edge, Pieces::SharedUnary, Pieces::Trees] {
        assert_eq!(sorted(pieces, &both), [vec![0, 1, 3, 4], vec![2]]);
    }
    // A comb of the top row and the columns, and what is left of the rows.
    let (four, tied) = (Neighbours::Four, true);
    let grid =
        Grid { height: 3, width: 3, labels: 2, neighbours: four, pairs: shared, directions_tied: tied };
    let sizes: Vec<usize> = sorted(Pieces::Trees, &grid.build().unwrap()).iter().map(Vec::len).collect();
    assert_eq!(sizes, [9 + 8, 2, 2]);
    // Two pairs in a row, or fewer where the third would close a loop.
    assert_eq!(sorted(window(2), &skip), [vec![0, 1, 2, 3, 4], vec![5]]);
    assert_eq!(sorted(window(3), &skip), [vec![0, 1, 2, 3, 4], vec![5]]);
    assert_eq!(sorted(window(1), &factorial), edges);
    // → and ↓ of each variable of two rows of three: 6, 7 of the first, 8, 9 of the second, 10 of the third; then 11 and 12.
    let grid = Grid { height: 2, ..grid }.build().unwrap();
    let rows = [vec![0, 1, 2, 6, 8], vec![3, 4, 5, 11, 12], vec![7], vec![9], vec![10]];
    assert_eq!(sorted(Pieces::Rows, &grid), rows);
    let columns = [vec![6, 8], vec![11, 12], vec![0, 3, 7], vec![1, 4, 9], vec![2, 5, 10]];
    assert_eq!(sorted(Pieces::Columns, &grid), columns);
    // A grid of one column has no rows: then node tables go where there are pairs.
    let column =
        Grid { height: 3, width: 1, labels: 2, neighbours: four, pairs: shared, directions_tied: tied };
    let column = column.build().unwrap();
    assert_eq!(sorted(Pieces::Rows, &column), [vec![0, 1, 2, 3, 4]]);
    assert_eq!(sorted(Pieces::Columns, &column), [vec![0, 1, 2, 3, 4]]);
    // What a graph does not have is refused.
    for (pieces, needs) in [(Pieces::Rows, "a grid"), (Pieces::Columns, "a grid"), (Pieces::File, "name")] {
        let refused = skip.node_split(pieces).unwrap_err().to_string();
        assert!(refused.contains(needs) && refused.contains(&pieces.to_string()), "{refused}");
    }
}

fn window(pairs: usize) -> Pieces {
    Pieces::Window(NonZeroUsize::new(pairs).unwrap())
}

#[test]
fn pieces_are_what_they_are_called() {
    for pieces in [&Pieces::ALL[..], &[Pieces::Rows, Pieces::Columns, Pieces::File, window(12)]].concat() {
        assert_eq!(pieces.to_string().parse(), Ok(pieces));
        let text = serde_json::to_string(&pieces).unwrap();
        assert_eq!(text, format!("\"{pieces}\""));
        assert_eq!(serde_json::from_str::<Pieces>(&text).unwrap(), pieces);
    }
    for wrong in ["window:0", "window:", "window:-1", "lines", ""] {
        assert!(wrong.parse::<Pieces>().unwrap_err().contains("window:N"), "{wrong}");
    }
}

/// Pieces that only some graphs have: lines of grids, names.
#[test]
fn losses_of_lines_and_of_named_pieces_equal_enumeration() {
    let mut rng = Random::new(8);
    for neighbours in [Neighbours::None, Neighbours::Four, Neighbours::Eight] {
        for (height, width) in [(2, 3), (3, 2), (1, 4), (4, 1)] {
            let (pairs, directions_tied) = (PairTables::Both, true);
            let grid = Grid { height, width, labels: 2, neighbours, pairs, directions_tied };
            let problem = Problem::random(&mut rng, &grid.build().unwrap(), 3.0);
            [Pieces::Rows, Pieces::Columns]
                .into_iter()
                .for_each(|pieces| equal_enumeration(&problem, pieces, Tree));
        }
    }
    // A loop of four with a table each, all named alike but for one pair; a fifth variable by itself, with two tables.
    let mut builder = FactorGraphBuilder::new(vec![2; 5]).unwrap();
    for v in [0, 1, 2, 3, 4, 4] {
        builder.add_own(0, &[v]).unwrap();
    }
    for pair in [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]] {
        builder.add_own(1, &pair).unwrap();
    }
    let names = [[None; 6], [Some(7), Some(7), Some(7), Some(7), Some(3), None]].concat();
    builder.piece_hint(PieceHint::Named(names));
    let graph = builder.build().unwrap();
    let lists = [vec![0, 1, 2, 3, 6, 7, 8, 9], vec![10], vec![11], vec![4, 5]];
    assert_eq!(Pieces::File.factors(&graph).unwrap(), lists);
    let problem = Problem::random(&mut rng, &graph, 3.0);
    equal_enumeration(&problem, Pieces::File, JunctionTree::default());
}

fn equal_enumeration<I: Inference<Graph = FactorGraph>>(problem: &Problem, pieces: Pieces, engine: I) {
    let (pw, pwpl) = by_enumeration(problem, &pieces.factors(&problem.graph).unwrap());
    let piecewise = graph_value(&OnPieces { pieces, loss: Likelihood(engine) }, problem);
    assert!(difference(piecewise, pw) < 1e-12, "{piecewise} {pw} {pieces}");
    let pseudo = graph_value(&OnPieces { pieces, loss: Pseudolikelihood::default() }, problem);
    assert!(difference(pseudo, pwpl) < 1e-12, "{pseudo} {pwpl} {pieces}");
    let ml = graph_value(&Likelihood(JunctionTree::default()), problem);
    assert!(piecewise >= ml - 1e-9 * ml.abs().max(1.0), "a bound");
}

/// Piecewise and piecewise pseudolikelihood of these pieces, by enumeration of each.
fn by_enumeration(problem: &Problem, pieces: &[Vec<usize>]) -> (f64, f64) {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let (graph, psi) = (&problem.graph, Psi { shared: &shared, own: &own });
    let (mut piecewise, mut pseudo) = (0.0, 0.0);
    for piece in pieces {
        let score =
            |labels: &[Label]| piece.iter().map(|&f| psi.value(&graph.factor(f), labels)).sum::<f64>();
        let mut vars: Vec<usize> = piece.iter().flat_map(|&f| graph.factor(f).vars.to_vec()).collect();
        vars.sort_unstable();
        vars.dedup();
        // All scores over the labels of some variables, the others as they are.
        let scores = |vars: &[usize]| {
            let count: usize = vars.iter().map(|&v| graph.card(v)).product();
            let labelling = |mut rest: usize| {
                let mut labels = problem.gold.clone();
                for &v in vars {
                    labels[v] = (rest % graph.card(v)) as Label;
                    rest /= graph.card(v);
                }
                score(&labels)
            };
            log_sum_exp((0..count).map(labelling))
        };
        piecewise += scores(&vars) - score(&problem.gold);
        pseudo += vars.iter().map(|&v| scores(&[v]) - score(&problem.gold)).sum::<f64>();
    }
    (piecewise, pseudo)
}

fn graph_value<L: Loss<Graph = FactorGraph>>(loss: &L, problem: &Problem) -> f64 {
    problem.evaluate::<f64, L>(loss, None, 0.0).0
}

#[test]
fn losses_of_pieces_equal_enumeration() {
    let mut rng = Random::new(5);
    for range in [0.0, 2.0, 30.0, 700.0] {
        for k in 0..40 {
            let graph = random_graph(&mut rng, 6, 2 + k % 2, false);
            let problem = Problem::random(&mut rng, &graph, range);
            let ml = graph_value(&Likelihood(JunctionTree::default()), &problem);
            for pieces in [&Pieces::ALL[..], &[window(2), window(4)]].concat() {
                let lists = pieces.factors(&graph).unwrap();
                let (pw, pwpl) = by_enumeration(&problem, &lists);
                let piecewise = graph_value(&OnPieces { pieces, loss: Likelihood(Tree) }, &problem);
                assert!(difference(piecewise, pw) < 1e-12, "{piecewise} {pw} {pieces:?}");
                let pseudo = OnPieces { pieces, loss: Pseudolikelihood::default() };
                assert!(difference(graph_value(&pseudo, &problem), pwpl) < 1e-12, "{pieces:?}");
                let mut count = vec![0; graph.factors()];
                lists.iter().flatten().for_each(|&f| count[f] += 1);
                let in_one = count.iter().all(|&n| n == 1);
                assert!(in_one || pieces == Pieces::SharedUnary && count.iter().all(|&n| n > 0));
                // A variable without factors counts its labels in log Z and in no piece.
                let bare = (0..graph.vars()).filter(|&v| !lists_name(&graph, v));
                let bare: f64 = bare.map(|v| (graph.card(v) as f64).ln()).sum();
                assert!(!in_one || piecewise + bare >= ml - 1e-9 * ml.abs().max(1.0), "a bound");
            }
        }
    }
}

fn lists_name(graph: &FactorGraph, v: usize) -> bool {
    (0..graph.factors()).any(|f| graph.factor(f).vars.contains(&v))
}

/// The losses for factors alone, for chains and for whole graphs are what they are by pieces.
#[test]
fn pieces_agree_with_the_special_losses() {
    let mut rng = Random::new(6);
    for _ in 0..40 {
        let graph = random_graph(&mut rng, 6, 3, true);
        let problem = Problem::random(&mut rng, &graph, 3.0);
        let piecewise = |pieces| graph_value(&OnPieces { pieces, loss: Likelihood(Tree) }, &problem);
        let pseudo = |pieces| graph_value(&OnPieces { pieces, loss: Pseudolikelihood::default() }, &problem);
        let close = |a: f64, b: f64| assert!(difference(a, b) < 1e-12, "{a} {b}");
        close(piecewise(Pieces::Factor), graph_value(&Piecewise::default(), &problem));
        close(pseudo(Pieces::Factor), graph_value(&PiecewisePseudolikelihood::default(), &problem));
        // Without loops a tree is all that hangs together.
        let bare = (0..graph.vars()).filter(|&v| !lists_name(&graph, v));
        let bare: f64 = bare.map(|v| (graph.card(v) as f64).ln()).sum();
        close(piecewise(Pieces::Trees) + bare, graph_value(&Likelihood(Tree), &problem));
        close(pseudo(Pieces::Trees), graph_value(&Pseudolikelihood::default(), &problem));
    }
    for own_pairs in [false, true] {
        let chain = Chain { len: 5, labels: 3, own_pairs, triples: false, segments: None };
        let problem = Problem::random(&mut rng, &build::chain(&chain).unwrap(), 3.0);
        for pieces in [&Pieces::ALL[..], &[1, 2, 3, 4, 9].map(window)].concat() {
            let a = evaluate_chain(&ChainPiecewise { pieces }, &chain, &problem);
            same_gradient(&a, &problem.evaluate(&OnPieces { pieces, loss: Likelihood(Tree) }, None, 0.0));
            let a = evaluate_chain(&ChainPiecewisePseudolikelihood { pieces }, &chain, &problem);
            let pseudo = OnPieces { pieces, loss: Pseudolikelihood::default() };
            same_gradient(&a, &problem.evaluate(&pseudo, None, 0.0));
        }
        let pieces = Pieces::Bethe;
        let a = evaluate_chain(&BethePieces(ChainPiecewise { pieces }), &chain, &problem);
        let on_graph = BethePieces(OnPieces { pieces, loss: Likelihood(Tree) });
        same_gradient(&a, &problem.evaluate(&on_graph, None, 0.0));
    }
}

type Evaluated = (f64, Array<f64>, SharedSum<f64>);

/// A loss of chains on the ψ of the chain as a factor graph.
fn evaluate_chain<L: Loss<Graph = Chain>>(loss: &L, chain: &Chain, problem: &Problem) -> Evaluated {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let (mut dpsi, mut sum) = (Array::zeros(own.len()), SharedSum::new(&shared));
    let mut out = Gradient { own: dpsi.slice_mut(0..own.len()), shared: &mut sum };
    let gold = Gold::new(&problem.gold, problem.weight);
    let value = loss.loss(chain, Psi { shared: &shared, own: &own }, gold, &mut out, &mut Default::default());
    sum.finish(&shared);
    (value, dpsi, sum)
}

fn same_gradient(a: &Evaluated, b: &Evaluated) {
    assert!(difference(a.0, b.0) < 1e-12, "{} {}", a.0, b.0);
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
    close(a.1.plane(0), b.1.plane(0));
    a.2.0.iter().zip(&b.2.0).for_each(|(a, b)| close(a.direct.plane(0), b.direct.plane(0)));
}

/// Any lists of factors are pieces: all in one are the graph, and what does not exist is refused.
#[test]
fn pieces_may_be_any_lists_of_factors() {
    let mut rng = Random::new(7);
    let graph = random_graph(&mut rng, 6, 3, false);
    let problem = Problem::random(&mut rng, &graph, 2.0);
    let whole = NodeSplit::new(&graph, &[(0..graph.factors()).collect()]).unwrap();
    let mut gold = Vec::new();
    whole.copy(&problem.gold, &mut gold);
    let split = Problem { graph: whole.graph, gold, ..problem.clone() };
    let engine = Likelihood(JunctionTree::default());
    assert!(difference(graph_value(&engine, &split), graph_value(&engine, &problem)) < 1e-12);
    let refused = NodeSplit::new(&graph, &[vec![graph.factors()]]).unwrap_err();
    assert_eq!(refused, GraphError::NoSuchFactor { factor: graph.factors(), factors: graph.factors() });
    assert!(Error::from(refused).to_string().contains("numbered from 0"));
}
