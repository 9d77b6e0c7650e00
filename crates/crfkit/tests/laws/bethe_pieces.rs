//! Piecewise training is belief propagation that has not begun (pwpl-2007; Sutton and Minka 2006): before any message, log Z of Bethe is
//! Σ_c log Z_c + Σ_v (1 − d_v) log Z_v, each clique c with the node tables of its variables, and its beliefs are those of the pieces.

use crate::graphs;

use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{
    FactorGraph, FactorGraphBuilder, Graph, Grid, Label, Neighbours, NodeSplit, Pieces, Psi, TableRef,
};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{LoopyBp, MessageSchedule, Tree};
use crfkit::loss::{BethePieces, Likelihood, Loss, OnPieces, Piecewise};
use crfkit::math::random::Random;
use crfkit::math::{Dual, Scalar};
use graphs::{Problem, difference, random_graph};

fn silent(schedule: MessageSchedule, damping: f64) -> LoopyBp {
    LoopyBp { schedule, damping, max_iterations: 0, ..LoopyBp::default() }
}

fn engines() -> [LoopyBp; 3] {
    [
        silent(MessageSchedule::Parallel, 0.0),
        silent(MessageSchedule::Parallel, 0.3),
        silent(MessageSchedule::Residual, 0.0),
    ]
}

/// Every labelling of some variables, all others at 0.
fn labellings(graph: &FactorGraph, vars: &[usize]) -> Vec<Vec<Label>> {
    let count: usize = vars.iter().map(|&v| graph.card(v)).product();
    let labelling = |mut rest: usize| {
        let mut labels = vec![0; graph.vars()];
        for &v in vars {
            labels[v] = (rest % graph.card(v)) as Label;
            rest /= graph.card(v);
        }
        labels
    };
    (0..count).map(labelling).collect()
}

/// A part of a graph by enumeration: the factors with all their variables among `vars` that `takes` wants.
struct Part {
    log_z: f64,
    /// Labellings with their probabilities.
    p: Vec<(Vec<Label>, f64)>,
}

fn part(problem: &Problem, vars: &[usize], takes: impl Fn(&[usize]) -> bool) -> Part {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let (graph, psi) = (&problem.graph, Psi { shared: &shared, own: &own });
    let inside: Vec<usize> = (0..graph.factors())
        .filter(|&f| graph.factor(f).vars.iter().all(|v| vars.contains(v)) && takes(graph.factor(f).vars))
        .collect();
    let all = labellings(graph, vars);
    let scores: Vec<f64> =
        all.iter().map(|y| inside.iter().map(|&f| psi.value(&graph.factor(f), y)).sum()).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log_z = max + scores.iter().map(|s| (s - max).exp()).sum::<f64>().ln();
    Part { log_z, p: all.into_iter().zip(scores.iter().map(|s| (s - log_z).exp())).collect() }
}

/// The sets of variables of the factors over two or more, each once: found without the library's own cliques.
fn scopes(graph: &FactorGraph) -> Vec<Vec<usize>> {
    let mut scopes = Vec::new();
    for f in 0..graph.factors() {
        let mut vars = graph.factor(f).vars.to_vec();
        vars.sort_unstable();
        if vars.len() > 1 && !scopes.contains(&vars) {
            scopes.push(vars);
        }
    }
    scopes
}

fn degree(scopes: &[Vec<usize>], v: usize) -> f64 {
    scopes.iter().filter(|vars| vars.contains(&v)).count() as f64
}

/// A clique with its node tables: no other factor over fewer variables than all.
fn clique(problem: &Problem, vars: &[usize]) -> Part {
    part(problem, vars, |of| of.len() == 1 || of.len() == vars.len())
}

/// Loops of pairs, and graphs with factors of three variables; small scores, and such as need log space.
fn problems(seed: u64) -> Vec<Problem> {
    let mut rng = Random::new(seed);
    let mut all = Vec::new();
    for k in 0..60 {
        let graph = random_graph(&mut rng, 6, 2 + k % 2, false);
        all.push(Problem::random(&mut rng, &graph, [0.7, 3.0, 300.0][k % 3]));
    }
    for neighbours in [Neighbours::Four, Neighbours::Eight] {
        let (pairs, directions_tied) = (PairTables::Both, false);
        let grid = Grid { height: 2, width: 3, labels: 2, neighbours, pairs, directions_tied };
        all.push(Problem::random(&mut rng, &grid.build().unwrap(), 2.0));
    }
    // Wide rows, and a Potts table, which has a way of its own.
    let skip = build::skip_chain(4, 9, &[(0, 2), (1, 3)], [PairTables::Shared; 2]).unwrap();
    let mut potts = Problem::random(&mut rng, &skip, 1.0);
    all.push(potts.clone());
    let stride = skip.shared_shapes()[0].stride();
    for (i, entry) in potts.shared[0].iter_mut().enumerate() {
        *entry = if i / stride == i % stride { 1.3 } else { 0.1 };
    }
    all.push(potts);
    all
}

fn has_loops(problem: &Problem) -> bool {
    !problem.graph.is_forest()
}

#[test]
fn before_any_message_log_z_is_that_of_corrected_pieces() {
    let all = problems(1);
    assert!(all.iter().filter(|x| has_loops(x)).count() > 30, "graphs with loops");
    let mut far = 0;
    for problem in &all {
        let scopes = scopes(&problem.graph);
        let cliques: f64 = scopes.iter().map(|vars| clique(problem, vars).log_z).sum();
        let node = |v: usize| (1.0 - degree(&scopes, v)) * part(problem, &[v], |_| true).log_z;
        let expected = cliques + (0..problem.graph.vars()).map(node).sum::<f64>();
        for engine in engines() {
            let found = problem.infer::<f64, _>(&engine, None, 0.0).outcome;
            assert_eq!(found.iterations, 0);
            let off = difference(found.log_z, expected);
            assert!(off < 1e-12, "{} {expected} {engine:?} on {:?}", found.log_z, problem.graph);
        }
        let settled = problem.infer::<f64, _>(&LoopyBp::default(), None, 0.0).outcome.log_z;
        far += usize::from(difference(settled, expected) > 1e-6);
    }
    assert!(far > 30, "messages change the value: {far}");
}

/// Pair beliefs are p ∝ exp(ψ_st + ψ_s + ψ_t), node beliefs p ∝ exp ψ_s.
#[test]
fn before_any_message_beliefs_are_those_of_shared_unary_pieces() {
    for problem in &problems(2) {
        let graph = &problem.graph;
        let mut expected = vec![0.0; graph.own_len()];
        let mut shared: Vec<Vec<f64>> = problem.shared.iter().map(|table| vec![0.0; table.len()]).collect();
        for f in 0..graph.factors() {
            let factor = graph.factor(f);
            let belief = match factor.vars {
                [v] => part(problem, &[*v], |_| true),
                vars => clique(problem, vars),
            };
            for (labels, p) in &belief.p {
                match factor.table {
                    TableRef::Own(offset) => expected[offset + factor.entry(labels)] += p,
                    TableRef::Shared(id) => shared[id][factor.entry(labels)] += p,
                }
            }
        }
        for engine in engines() {
            let found = problem.infer::<f64, _>(&engine, None, 0.0);
            for (i, _) in problem.own_entries().into_iter().enumerate().filter(|(_, entry)| *entry) {
                let off = (found.own.get(i) - expected[i]).abs();
                assert!(off < 1e-12, "own entry {i}: off by {off}");
            }
            for (id, table) in shared.iter().enumerate() {
                for (i, p) in table.iter().enumerate() {
                    let off = (found.shared.0[id].direct.get(i) - p).abs();
                    assert!(off < 1e-11, "shared table {id}, entry {i}: off by {off}");
                }
            }
        }
    }
}

fn value<L: Loss<Graph = FactorGraph>>(loss: &L, problem: &Problem) -> f64 {
    problem.evaluate::<f64, L>(loss, None, 0.0).0
}

/// The library's own shared-unary pieces, and the correction: the objectives that train agree, not only their parts.
#[test]
fn the_corrected_loss_of_shared_unary_pieces_is_the_loss_of_bethe() {
    for problem in &problems(3) {
        let graph = &problem.graph;
        let (scopes, pieces) = (scopes(graph), Pieces::SharedUnary);
        let piecewise = value(&OnPieces { pieces, loss: Likelihood(Tree) }, problem);
        // The loss of a node table by itself, as often as pieces have it too many; a variable without pairs has its own piece,
        // but for one without any factor.
        let mut expected = piecewise;
        for v in 0..graph.vars() {
            let alone = part(problem, &[v], |_| true);
            let gold = alone.p.iter().find(|(y, _)| y[v] == problem.gold[v]).unwrap().0.clone();
            let score = log_score(problem, v, &gold);
            let named = (0..graph.factors()).any(|f| graph.factor(f).vars.contains(&v));
            let times = if named { (degree(&scopes, v) - 1.0).max(0.0) } else { -1.0 };
            expected -= times * (alone.log_z - score);
        }
        for engine in engines() {
            let found = value(&Likelihood(engine), problem);
            assert!(difference(found, expected) < 1e-12, "{found} {expected} on {graph:?}");
        }
    }
}

/// The loss that `--pieces bethe` trains with, against enumeration: the pieces, minus each node by itself as often as it is in too
/// many. Its value is that of Bethe before any message, but for ln labels of variables without a node table.
#[test]
fn pieces_of_bethe_count_every_node_table_once() {
    let (mut corrected, mut negative) = (0, 0);
    for problem in &problems(7) {
        let graph = &problem.graph;
        let scopes = scopes(graph);
        let loss = BethePieces(OnPieces { pieces: Pieces::Bethe, loss: Likelihood(Tree) });
        let found = value(&loss, problem);
        let unary = |v: usize| (0..graph.factors()).any(|f| graph.factor(f).vars == [v]);
        let (mut expected, mut constant) = (0.0, 0.0);
        for vars in &scopes {
            let piece = clique(problem, vars);
            let gold = |y: &[Label]| vars.iter().all(|&v| y[v] == problem.gold[v]);
            expected -= piece.p.iter().find(|(y, _)| gold(y)).unwrap().1.ln();
        }
        for v in 0..graph.vars() {
            let alone = part(problem, &[v], |_| true);
            let d = degree(&scopes, v);
            assert_eq!(graph.degree(v) as f64, d);
            if unary(v) {
                expected += (1.0 - d) * (alone.log_z - log_score(problem, v, &problem.gold));
                corrected += usize::from(d > 1.0);
            } else {
                constant += (1.0 - d) * alone.log_z;
            }
        }
        // Probabilities that are 0 in the enumeration have no logarithm.
        if expected.is_finite() {
            assert!(difference(found, expected * problem.weight) < 1e-9, "{found} {expected} on {graph:?}");
            negative += usize::from(found < 0.0);
        }
        let bethe = value(&Likelihood(silent(MessageSchedule::Parallel, 0.0)), problem);
        assert!(difference(found + constant * problem.weight, bethe) < 1e-12, "{found} {constant} {bethe}");
    }
    assert!(
        corrected > 100 && negative > 0,
        "{corrected} nodes were corrected, {negative} losses are negative"
    );
}

/// Σ of the node tables of v.
fn log_score(problem: &Problem, v: usize, labels: &[Label]) -> f64 {
    let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
    let (graph, psi) = (&problem.graph, Psi { shared: &shared, own: &own });
    (0..graph.factors())
        .filter(|&f| graph.factor(f).vars == [v])
        .map(|f| psi.value(&graph.factor(f), labels))
        .sum()
}

/// A ring with chords and a factor over three variables, no table over one.
fn without_node_tables(rng: &mut Random) -> FactorGraph {
    let cards: Vec<usize> = (0..5).map(|_| 2 + rng.below(3)).collect();
    let mut builder = FactorGraphBuilder::new(cards).unwrap();
    for (kind, vars) in [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 2]].iter().enumerate() {
        builder.add_own(kind, vars).unwrap();
    }
    if rng.below(2) == 0 {
        builder.add_own(6, &[1, 3, 4]).unwrap();
    } else {
        builder.add_shared(0, &[1, 4]).unwrap();
    }
    builder.build().unwrap()
}

/// Where every factor is a clique the two objectives differ by Σ_v (1 − d_v) log labels, whatever ψ: training is the same.
#[test]
fn by_factors_piecewise_training_is_bethe_at_no_iterations() {
    let mut rng = Random::new(4);
    for k in 0..40 {
        let graph = without_node_tables(&mut rng);
        let scopes = scopes(&graph);
        let constant: f64 = (0..5).map(|v| (1.0 - degree(&scopes, v)) * (graph.card(v) as f64).ln()).sum();
        let (x, d) =
            (Problem::random(&mut rng, &graph, [2.0, 300.0][k % 2]), Problem::random(&mut rng, &graph, 1.0));
        for engine in engines() {
            let bethe = Likelihood(engine);
            let (found, own, shared) = x.evaluate::<Dual, _>(&bethe, Some(&d), 1.0);
            for by_pieces in [false, true] {
                let (expected, own_p, shared_p) = match by_pieces {
                    false => x.evaluate::<Dual, _>(&Piecewise::default(), Some(&d), 1.0),
                    true => {
                        let pieces = OnPieces { pieces: Pieces::Factor, loss: Likelihood(Tree) };
                        x.evaluate::<Dual, _>(&pieces, Some(&d), 1.0)
                    }
                };
                assert!(difference(found.re(), expected.re() + constant) < 1e-12);
                // Value, gradient and H·v.
                assert!(difference(found.eps(), expected.eps()) < 1e-12);
                for i in 0..own.len() {
                    let off = own.get(i) - own_p.get(i);
                    assert!(off.re().abs() < 1e-12 && off.eps().abs() < 1e-12, "entry {i}: {off:?}");
                }
                for (a, b) in shared.0.iter().zip(&shared_p.0) {
                    for i in 0..a.direct.len() {
                        let off = a.direct.get(i) - b.direct.get(i);
                        assert!(off.re().abs() < 1e-12 && off.eps().abs() < 1e-12);
                    }
                }
            }
        }
    }
}

/// On the node-split graph nothing is left to say: silence is exact there, and is piecewise training here, loops or not.
#[test]
fn on_the_split_graph_silence_is_exact_where_a_piece_is_one_clique() {
    for problem in &problems(5) {
        for pieces in [Pieces::Edge, Pieces::SharedUnary] {
            let lists = pieces.factors(&problem.graph).unwrap();
            let split = NodeSplit::new(&problem.graph, &lists).unwrap();
            let mut gold = Vec::new();
            split.copy(&problem.gold, &mut gold);
            let on_split = Problem { graph: split.graph, gold, ..problem.clone() };
            let piecewise = value(&OnPieces { pieces, loss: Likelihood(Tree) }, problem);
            for engine in engines() {
                let found = value(&Likelihood(engine), &on_split);
                assert!(difference(found, piecewise) < 1e-12, "{found} {piecewise} {pieces}");
            }
        }
    }
    // A check of the checks: the sum of a whole graph by enumeration.
    let mut rng = Random::new(6);
    let graph = random_graph(&mut rng, 4, 3, false);
    let problem = Problem::random(&mut rng, &graph, 2.0);
    let all: Vec<usize> = (0..graph.vars()).collect();
    let truth = enumerate(&graph, &problem.tables(None, 0.0), &problem.own_array(None, 0.0)).log_z;
    assert!(difference(part(&problem, &all, |_| true).log_z, truth) < 1e-12);
}
