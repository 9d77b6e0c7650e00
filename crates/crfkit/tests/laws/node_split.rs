//! The library's own node-split graph (pwpl-2007 section 2.2), and where losses are equal. Piecewise training is the
//! likelihood of the node-split graph, and piecewise pseudolikelihood is its pseudolikelihood. Without edges,
//! pseudolikelihood is the likelihood. Values, gradients and products H·v are compared.

use crate::graphs;

use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{
    Chain, FactorGraph, FactorGraphBuilder, Gradient, Graph, Grid, Neighbours, NodeSplit, Pieces, Psi,
    SharedSum,
};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{Exact, Inference, JunctionTree, LoopyBp, MeanField, Tree, TreeReweighted};
use crfkit::loss::{
    ChainPiecewise, ChainPiecewisePseudolikelihood, Gold, Likelihood, Loss, Piecewise,
    PiecewisePseudolikelihood, Pseudolikelihood,
};
use crfkit::math::random::Random;
use crfkit::math::{Array, Dual, Scalar};
use graphs::{Problem, difference, random_graph};
use std::num::NonZeroUsize;

type Evaluated = (Dual, Array<Dual>, SharedSum<Dual>);

/// Value, gradient and their derivatives in a direction.
fn all<L: Loss<Graph = FactorGraph>>(loss: &L, x: &Problem, d: &Problem) -> Evaluated {
    x.evaluate::<Dual, L>(loss, Some(d), 1.0)
}

fn same(a: &Evaluated, b: &Evaluated, tolerance: f64, what: &str) {
    let close = |a: Dual, b: Dual, at: &str| {
        let off = difference(a.re(), b.re()).max(difference(a.eps(), b.eps()));
        assert!(off < tolerance, "{what}, {at}: {a:?} and {b:?}");
    };
    close(a.0, b.0, "value");
    (0..a.1.len()).for_each(|i| close(a.1.get(i), b.1.get(i), "own tables"));
    for (a, b) in a.2.0.iter().zip(&b.2.0) {
        (0..a.direct.len()).for_each(|i| close(a.direct.get(i), b.direct.get(i), "shared tables"));
    }
}

/// The problem on the node-split graph; ψ is the same array.
fn split(x: &Problem, pieces: Pieces) -> Problem {
    let split = x.graph.node_split(pieces).unwrap();
    let mut gold = Vec::new();
    split.copy(&x.gold, &mut gold);
    Problem { graph: split.graph.clone(), gold, ..x.clone() }
}

fn random_problem(rng: &mut Random, k: usize) -> (Problem, Problem) {
    let graph = random_graph(rng, 6, 2 + k % 2, false);
    let mut x = Problem::random(rng, &graph, [1.0, 5.0, 300.0][k % 3]);
    x.weight = 1.5;
    let d = Problem::random(rng, &graph, 1.0);
    (x, d)
}

/// Piecewise losses, which know nothing of split graphs, equal the losses on the split graph, which know nothing of pieces.
/// Each factor is a piece.
#[test]
fn piecewise_is_the_likelihood_and_its_pseudolikelihood_that_of_the_split_graph() {
    let mut rng = Random::new(1);
    for k in 0..60 {
        let (x, d) = random_problem(&mut rng, k);
        let (apart, d_apart) = (split(&x, Pieces::Factor), split(&d, Pieces::Factor));
        let piecewise = all(&Piecewise::default(), &x, &d);
        same(&all(&Likelihood(Tree), &apart, &d_apart), &piecewise, 1e-12, "PW = ML of the split graph");
        let junction = all(&Likelihood(JunctionTree::default()), &apart, &d_apart);
        same(&junction, &piecewise, 1e-12, "PW = ML of the split graph, by a junction tree");
        let pseudo = all(&PiecewisePseudolikelihood::default(), &x, &d);
        let on_split = all(&Pseudolikelihood::default(), &apart, &d_apart);
        same(&on_split, &pseudo, 1e-12, "PWPL = PL of the split graph");
        // In the split graph every variable is in one factor, so splitting it again changes nothing.
        let again = all(&PiecewisePseudolikelihood::default(), &apart, &d_apart);
        same(&again, &on_split, 1e-12, "PWPL = PL where each variable is in one factor");
        let again = all(&Piecewise::default(), &apart, &d_apart);
        same(&again, &piecewise, 1e-12, "PW = ML where each variable is in one factor");
    }
}

/// The piecewise loss equals the likelihood of the split graph, computed by enumeration.
#[test]
fn piecewise_is_the_likelihood_of_the_split_graph_by_enumeration() {
    let mut rng = Random::new(2);
    let mut looked = 0;
    for k in 0..80 {
        let graph = random_graph(&mut rng, 3, 2 + k % 2, false);
        let x = Problem::random(&mut rng, &graph, 3.0);
        let apart = split(&x, Pieces::Factor);
        if apart.graph.cards().iter().product::<usize>() > 20_000 {
            continue;
        }
        let (shared, own) = (apart.tables::<f64>(None, 0.0), apart.own_array::<f64>(None, 0.0));
        let score = Psi { shared: &shared, own: &own }.score(&apart.graph, &apart.gold);
        let truth = enumerate(&apart.graph, &shared, &own).log_z - score;
        let found = x.evaluate::<f64, _>(&Piecewise::default(), None, 0.0).0;
        assert!(difference(found, truth) < 1e-12, "{found} {truth}");
        looked += 1;
    }
    assert!(looked > 30, "{looked} graphs");
}

/// What the transformation says of itself: a copy of each variable for each piece that it is in, the same tables, no variable in two
/// pieces.
#[test]
fn the_split_graph_has_a_copy_of_each_variable_for_each_piece() {
    let mut rng = Random::new(3);
    let two = Pieces::Window(NonZeroUsize::new(2).unwrap());
    for k in 0..40 {
        let graph = random_problem(&mut rng, k).0.graph;
        for pieces in [&Pieces::ALL[..], &[two]].concat() {
            let lists = pieces.factors(&graph).unwrap();
            let made = graph.node_split(pieces).unwrap();
            let NodeSplit { graph: apart, copy_of } = &*made;
            assert_eq!(apart.vars(), copy_of.len());
            assert_eq!(apart.factors(), lists.iter().map(Vec::len).sum::<usize>());
            assert_eq!(apart.own_len(), graph.own_len(), "ψ is the same array");
            let mut copies = 0;
            for v in 0..graph.vars() {
                let count = lists
                    .iter()
                    .filter(|piece| piece.iter().any(|&f| graph.factor(f).vars.contains(&v)))
                    .count();
                assert_eq!(copy_of.iter().filter(|&&of| of == v).count(), count);
                copies += count;
            }
            assert_eq!(copies, apart.vars());
            // Factors keep their order, tables and variables; pieces share none.
            let (mut seen, mut f_apart) = (Vec::new(), 0);
            for piece in &lists {
                let mut mine = Vec::new();
                for &f in piece {
                    let (old, new) = (graph.factor(f), apart.factor(f_apart));
                    assert_eq!((old.table, old.strides), (new.table, new.strides));
                    let back: Vec<usize> = new.vars.iter().map(|&v| copy_of[v]).collect();
                    assert_eq!(back, old.vars);
                    new.vars.iter().for_each(|&v| assert_eq!(apart.card(v), graph.card(copy_of[v])));
                    mine.extend(new.vars.to_vec());
                    f_apart += 1;
                }
                assert!(mine.iter().all(|v| !seen.contains(v)), "a variable of two pieces");
                seen.extend(mine);
            }
        }
    }
}

/// The losses of chains, which split nothing, on the split graph of the chain.
#[test]
fn the_losses_of_chains_are_those_of_the_split_graph() {
    let mut rng = Random::new(4);
    let windows = [1, 2, 3].map(|pairs| Pieces::Window(NonZeroUsize::new(pairs).unwrap()));
    for own_pairs in [false, true] {
        // A chain of one has no pair, so its graph does not know the shape of the table of pairs.
        for (len, labels) in [(2, 2), (3, 1), (4, 3), (6, 2), (5, 9)] {
            let chain = Chain { len, labels, own_pairs, triples: false, segments: None };
            let graph = build::chain(&chain).unwrap();
            for range in [1.0, 5.0, 300.0] {
                let (x, d) =
                    (Problem::random(&mut rng, &graph, range), Problem::random(&mut rng, &graph, 1.0));
                for pieces in [&Pieces::ALL[..], &windows].concat() {
                    let (apart, d_apart) = (split(&x, pieces), split(&d, pieces));
                    let found = on_chain(&ChainPiecewise { pieces }, &chain, &x, &d);
                    let name = format!("{pieces} of {chain:?}");
                    same(&found, &all(&Likelihood(JunctionTree::default()), &apart, &d_apart), 1e-11, &name);
                    let found = on_chain(&ChainPiecewisePseudolikelihood { pieces }, &chain, &x, &d);
                    same(&found, &all(&Pseudolikelihood::default(), &apart, &d_apart), 1e-11, &name);
                }
            }
        }
    }
}

fn on_chain<L: Loss<Graph = Chain>>(loss: &L, chain: &Chain, x: &Problem, d: &Problem) -> Evaluated {
    let (shared, own) = (x.tables::<Dual>(Some(d), 1.0), x.own_array::<Dual>(Some(d), 1.0));
    let (mut dpsi, mut sum) = (Array::zeros(own.len()), SharedSum::new(&shared));
    let mut out = Gradient { own: dpsi.slice_mut(0..own.len()), shared: &mut sum };
    let gold = Gold::new(&x.gold, x.weight);
    let value = loss.loss(chain, Psi { shared: &shared, own: &own }, gold, &mut out, &mut Default::default());
    sum.finish(&shared);
    (value, dpsi, sum)
}

/// Variables of 1 … 4 labels with up to three tables each, shared and own, and no table over two.
fn edgeless(rng: &mut Random) -> FactorGraph {
    let cards: Vec<usize> = (0..1 + rng.below(6)).map(|_| 1 + rng.below(4)).collect();
    let mut builder = FactorGraphBuilder::new(cards.clone()).unwrap();
    for (v, card) in cards.iter().enumerate() {
        let own = rng.below(3);
        (0..own).for_each(|_| {
            builder.add_own(v, &[v]).unwrap();
        });
        // A table for all variables with as many labels. Each variable has some table.
        if own == 0 || rng.below(2) == 0 {
            builder.add_shared(*card, &[v]).unwrap();
        }
    }
    builder.build().unwrap()
}

fn likelihoods_are<I: Inference<Graph = FactorGraph>>(engine: I, x: &Problem, d: &Problem, pl: &Evaluated) {
    same(&all(&Likelihood(engine), x, d), pl, 1e-12, "PL = ML without edges");
}

/// In factor graphs without edges, pseudolikelihood is the likelihood.
#[test]
fn without_edges_pseudolikelihood_is_likelihood() {
    let mut rng = Random::new(5);
    for k in 0..60 {
        let graph = edgeless(&mut rng);
        let mut x = Problem::random(&mut rng, &graph, [1.0, 5.0, 300.0][k % 3]);
        x.weight = 1.5;
        let d = Problem::random(&mut rng, &graph, 1.0);
        let pl = all(&Pseudolikelihood::default(), &x, &d);
        likelihoods_are(Tree, &x, &d, &pl);
        likelihoods_are(JunctionTree::default(), &x, &d, &pl);
        likelihoods_are(Exact::default(), &x, &d, &pl);
        // Approximations are exact here.
        likelihoods_are(LoopyBp::default(), &x, &d, &pl);
        likelihoods_are(MeanField::default(), &x, &d, &pl);
        likelihoods_are(TreeReweighted::default(), &x, &d, &pl);
    }
}

/// A grid whose pairs all have score 0 has no edges either, though the graph has loops.
#[test]
fn pairs_that_say_nothing_are_no_edges() {
    let mut rng = Random::new(6);
    for (neighbours, directions_tied) in [(Neighbours::Four, true), (Neighbours::Eight, false)] {
        let grid =
            Grid { height: 3, width: 3, labels: 3, neighbours, pairs: PairTables::Shared, directions_tied };
        let graph = grid.build().unwrap();
        let mut x = Problem::random(&mut rng, &graph, 3.0);
        x.shared.iter_mut().for_each(|table| table.fill(0.0));
        let value = |loss: &dyn Fn(&Problem) -> f64| loss(&x);
        let pl = value(&|x| x.evaluate::<f64, _>(&Pseudolikelihood::default(), None, 0.0).0);
        let ml = value(&|x| x.evaluate::<f64, _>(&Likelihood(JunctionTree::default()), None, 0.0).0);
        let bethe = value(&|x| x.evaluate::<f64, _>(&Likelihood(LoopyBp::default()), None, 0.0).0);
        assert!(difference(pl, ml) < 1e-12 && difference(bethe, ml) < 1e-12, "{pl} {ml} {bethe}");
        // With something to say they part.
        let y = Problem::random(&mut rng, &graph, 3.0);
        let pl = y.evaluate::<f64, _>(&Pseudolikelihood::default(), None, 0.0).0;
        let ml = y.evaluate::<f64, _>(&Likelihood(JunctionTree::default()), None, 0.0).0;
        assert!(difference(pl, ml) > 1e-3, "{pl} {ml}");
    }
}

/// One factor over all variables: piecewise training is the likelihood, and piecewise pseudolikelihood the pseudolikelihood.
#[test]
fn of_a_single_factor_pieces_are_the_graph() {
    let mut rng = Random::new(7);
    for k in 0..30 {
        let cards: Vec<usize> = (0..1 + k % 4).map(|_| 1 + rng.below(4)).collect();
        let every: Vec<usize> = (0..cards.len()).collect();
        let mut builder = FactorGraphBuilder::new(cards).unwrap();
        if k % 2 == 0 {
            builder.add_own(0, &every).unwrap();
        } else {
            builder.add_shared(0, &every).unwrap();
        }
        let graph = builder.build().unwrap();
        let (x, d) = (Problem::random(&mut rng, &graph, 4.0), Problem::random(&mut rng, &graph, 1.0));
        let piecewise = all(&Piecewise::default(), &x, &d);
        same(&piecewise, &all(&Likelihood(JunctionTree::default()), &x, &d), 1e-12, "PW = ML");
        same(&piecewise, &all(&Likelihood(Tree), &x, &d), 1e-12, "PW = ML on a tree");
        let pseudo = all(&PiecewisePseudolikelihood::default(), &x, &d);
        same(&pseudo, &all(&Pseudolikelihood::default(), &x, &d), 1e-12, "PWPL = PL");
    }
}
