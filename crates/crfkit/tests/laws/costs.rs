//! Losses with a cost for wrong labels, weights of variables, and variables without a label: each equals its definition by
//! enumeration, and its gradient is its slope.

use crate::common;
use crate::graph_derivatives::{gradient_is_slope, hessian_vector_is_slope_of_gradient};
use crate::graphs;

use common::{chains, difference};
use crfkit::data::dataset::Dataset;
use crfkit::decode::{ExactArgmax, Viterbi};
use crfkit::graph::{
    FIRST_SET, FactorGraph, FactorGraphBuilder, Graph, Label, LabelBits, Pieces, Psi, UNLABELLED,
};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{ForwardBackward, JunctionTree, LoopyBp, NodeMarginals};
use crfkit::loss::{
    Likelihood, Loss, Marginal, MaxMargin, OnPieces, PartialLikelihood, Perceptron, Piecewise,
    PiecewisePseudolikelihood, Pseudolikelihood, SoftmaxMargin,
};
use crfkit::math::Dual;
use crfkit::math::random::Random;
use graphs::Problem;

/// A graph of up to four variables, each with an own table over it alone, some with two, and factors over two or three.
pub fn graph(rng: &mut Random) -> FactorGraph {
    let n = 1 + rng.below(4);
    let mut builder = FactorGraphBuilder::new((0..n).map(|_| 1 + rng.below(3)).collect()).unwrap();
    let mut kinds = 0;
    for v in 0..n {
        for _ in 0..1 + rng.below(2) {
            builder.add_own(kinds, &[v]).unwrap();
            kinds += 1;
        }
    }
    for shared in 0..rng.below(n + 1) {
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        let vars = &order[..n.min(2 + rng.below(2))];
        match rng.below(3) {
            0 => builder.add_shared(shared, vars).unwrap(),
            _ => {
                builder.add_own(kinds, vars).unwrap();
                kinds += 1;
            }
        }
    }
    builder.build().unwrap()
}

/// A problem in which a quarter of the labels are unknown, and a quarter one of several, with weights of variables.
pub fn problem(rng: &mut Random, graph: &FactorGraph, range: f64) -> Problem {
    let mut x = Problem::random(rng, graph, range);
    for (gold, &card) in x.gold.iter_mut().zip(graph.cards()) {
        match rng.below(4) {
            0 => *gold = UNLABELLED,
            1 => {
                let mut set = LabelBits::none(card);
                set.insert(*gold as usize);
                set.insert(rng.below(card));
                *gold = FIRST_SET + x.sets.len() as Label;
                x.sets.push(set);
            }
            _ => {}
        }
    }
    x.variables = (0..graph.vars()).map(|_| 3.0 * rng.uniform()).collect();
    x.weight = 1.5;
    x
}

/// Whether a label is what is known of it.
fn may(x: &Problem, gold: Label, label: Label) -> bool {
    match gold.checked_sub(FIRST_SET) {
        None => label == gold,
        Some(_) if gold == UNLABELLED => true,
        Some(set) => x.sets[set as usize].contains(label as usize),
    }
}

pub fn agrees(x: &Problem, labels: &[Label]) -> bool {
    labels.iter().zip(&x.gold).all(|(label, gold)| may(x, *gold, *label))
}

fn cost(labels: &[Label], gold: &[Label], weights: &[f64]) -> f64 {
    let of = |v: usize| weights.get(v).copied().unwrap_or(1.0);
    let wrong = (0..labels.len()).filter(|&v| gold[v] < FIRST_SET && labels[v] != gold[v]);
    wrong.map(of).sum()
}

pub fn log_sum(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    max + scores.map(|score| (score - max).exp()).sum::<f64>().ln()
}

#[test]
fn softmax_and_max_margin_equal_enumeration() {
    let mut rng = Random::new(401);
    for round in 0..120 {
        let graph = graph(&mut rng);
        let x = problem(&mut rng, &graph, 2.0);
        let d = Problem::random(&mut rng, &graph, 1.0);
        let all = enumerate(&graph, &x.tables(None, 0.0), &x.own_array(None, 0.0)).ranked;
        let kept = all.iter().filter(|(_, labels)| agrees(&x, labels)).map(|(score, _)| *score);
        let dear = all.iter().map(|(score, labels)| score + cost(labels, &x.gold, &x.variables));

        let soft = SoftmaxMargin(PartialLikelihood::new(JunctionTree::default()));
        let (value, ..) = x.evaluate::<f64, _>(&soft, None, 0.0);
        let expected = 1.5 * (log_sum(dear.clone()) - log_sum(kept.clone()));
        assert!(difference(value, expected) < 1e-10, "round {round}: {value} against {expected}");
        gradient_is_slope(&soft, &x, &d);
        hessian_vector_is_slope_of_gradient(&soft, &x, &d);

        let hard = MaxMargin(ExactArgmax::default());
        let (value, ..) = x.evaluate::<f64, _>(&hard, None, 0.0);
        let best = |scores: &mut dyn Iterator<Item = f64>| scores.fold(f64::NEG_INFINITY, f64::max);
        let expected = 1.5 * (best(&mut dear.clone()) - best(&mut kept.clone()));
        assert!(difference(value, expected) < 1e-10, "round {round}: {value} against {expected}");
        gradient_is_slope(&hard, &x, &d);

        let perceptron = Perceptron(ExactArgmax::default());
        let (value, ..) = x.evaluate::<f64, _>(&perceptron, None, 0.0);
        let expected = 1.5 * (all[0].0 - best(&mut kept.clone()));
        assert!(difference(value, expected) < 1e-10, "round {round}: {value} against {expected}");
    }
}

#[test]
fn costs_on_chains_equal_enumeration() {
    let mut rng = Random::new(402);
    for chain in chains() {
        for weighted in [false, true] {
            let mut x = common::Problem::random(&mut rng, chain, 2.0);
            x.weight = 0.5;
            if weighted {
                x.variables = (0..chain.len).map(|_| 3.0 * rng.uniform()).collect();
            }
            let d = common::Problem::random(&mut rng, chain, 1.0);
            let all = enumerate(&chain, &x.tables(None, 0.0), &x.own_array(None, 0.0)).ranked;
            let dear = all.iter().map(|(score, labels)| score + cost(labels, &x.gold, &x.variables));
            let (tables, own) = (x.tables::<f64>(None, 0.0), x.own_array::<f64>(None, 0.0));
            let gold = Psi { shared: &tables, own: &own }.score(&chain, &x.gold);
            let expected = 0.5 * (log_sum(dear.clone()) - gold);
            check_chain(&SoftmaxMargin(Likelihood(ForwardBackward)), &x, &d, expected);
            let partial = SoftmaxMargin(PartialLikelihood::new(ForwardBackward));
            check_chain(&partial, &x, &d, expected);
            let expected = 0.5 * (dear.fold(f64::NEG_INFINITY, f64::max) - gold);
            check_chain(&MaxMargin(Viterbi), &x, &d, expected);
        }
    }
}

/// The value, and the gradient as its slope.
fn check_chain<L>(loss: &L, x: &common::Problem, d: &common::Problem, expected: f64)
where
    L: Loss<Graph = crfkit::graph::Chain>,
{
    let (value, own, shared) = x.evaluate::<f64, _>(loss, None, 0.0);
    assert!(difference(value, expected) < 1e-10, "{value} against {expected} on {:?}", x.chain);
    let h = 1e-6;
    let at = |h: f64| x.moved(d, h).evaluate::<f64, _>(loss, None, 0.0).0;
    let (slope, numeric) = (x.slope(&own, &shared, d), (at(h) - at(-h)) / (2.0 * h));
    assert!(difference(slope, numeric) < 1e-6, "{slope} against {numeric} on {:?}", x.chain);
}

/// −log p(y_v is what is known of it | known labels), from the factors whose other variables all have labels; `counts` says which of them
/// count.
fn conditional(x: &Problem, v: usize, counts: impl Fn(usize) -> bool) -> f64 {
    let (tables, own) = (x.tables::<f64>(None, 0.0), x.own_array::<f64>(None, 0.0));
    let psi = Psi { shared: &tables, own: &own };
    let score = |label: Label| {
        let mut labels = x.gold.clone();
        labels[v] = label;
        let (mut sum, mut number) = (0.0, 0);
        x.graph.for_each_factor(|factor| {
            let known = factor.vars.iter().all(|&other| other == v || x.gold[other] < FIRST_SET);
            if known && factor.vars.contains(&v) && counts(number) {
                sum += psi.value(&factor, &labels);
            }
            number += 1;
        });
        sum
    };
    let scores: Vec<(Label, f64)> =
        (0..x.graph.card(v) as Label).map(|label| (label, score(label))).collect();
    let possible = scores.iter().filter(|(label, _)| may(x, x.gold[v], *label));
    log_sum(scores.iter().map(|(_, score)| *score)) - log_sum(possible.map(|(_, score)| *score))
}

#[test]
fn local_losses_pass_over_what_has_no_label_and_weigh_variables() {
    let mut rng = Random::new(403);
    for round in 0..80 {
        let graph = graph(&mut rng);
        let x = problem(&mut rng, &graph, 2.0);
        let d = Problem::random(&mut rng, &graph, 1.0);
        let labelled: Vec<usize> = (0..graph.vars()).filter(|&v| x.gold[v] < FIRST_SET).collect();
        let said: Vec<usize> = (0..graph.vars()).filter(|&v| x.gold[v] != UNLABELLED).collect();

        let loss = Pseudolikelihood::<FactorGraph>::default();
        let sum: f64 = said.iter().map(|&v| x.variables[v] * conditional(&x, v, |_| true)).sum();
        check(&loss, &x, &d, 1.5 * sum, round);

        let loss = PiecewisePseudolikelihood::<FactorGraph>::default();
        let mut sum = 0.0;
        for (number, factor) in (0..graph.factors()).map(|f| graph.factor(f)).enumerate() {
            let of = |&v: &usize| x.variables[v] * conditional(&x, v, |other| other == number);
            let given = |v: &usize| factor.vars.iter().all(|other| other == v || labelled.contains(other));
            sum += factor.vars.iter().filter(|v| said.contains(v) && given(v)).map(of).sum::<f64>();
        }
        check(&loss, &x, &d, 1.5 * sum, round);

        // The weights of variables have no place in the piecewise likelihood, where a factor is one term.
        let plain = Problem { variables: Vec::new(), ..x.clone() };
        let mut sum = 0.0;
        for f in (0..graph.factors()).filter(|&f| graph.factor(f).vars.iter().all(|v| labelled.contains(v))) {
            let mut alone = FactorGraphBuilder::new(graph.cards().to_vec()).unwrap();
            let (factor, mut offset) = (graph.factor(f), 0);
            match factor.table {
                crfkit::graph::TableRef::Shared(id) => alone.add_shared(id, factor.vars).unwrap(),
                crfkit::graph::TableRef::Own(at) => {
                    alone.add_own(0, factor.vars).unwrap();
                    offset = at;
                }
            }
            let alone = alone.build().unwrap();
            let own = plain.own[offset..offset + alone.own_len()].to_vec();
            let shared = plain.shared[..alone.shared_shapes().len()].to_vec();
            let gold = x.gold.iter().map(|&label| if label >= FIRST_SET { 0 } else { label }).collect();
            let piece = Problem { graph: alone, own, shared, gold, ..plain.clone() };
            sum += piece.evaluate::<f64, _>(&Likelihood(JunctionTree::default()), None, 0.0).0;
            // Variables that the factor is not over may have any label.
            let others = (0..graph.vars()).filter(|v| !factor.vars.contains(v));
            sum -= 1.5 * others.map(|v| (graph.card(v) as f64).ln()).sum::<f64>();
        }
        check(&Piecewise::<FactorGraph>::default(), &plain, &d, sum, round);
    }
}

fn check<L: Loss<Graph = FactorGraph>>(loss: &L, x: &Problem, d: &Problem, expected: f64, round: usize) {
    let (value, ..) = x.evaluate::<f64, _>(loss, None, 0.0);
    assert!(difference(value, expected) < 1e-10, "round {round}: {value} against {expected}");
    gradient_is_slope(loss, x, d);
    hessian_vector_is_slope_of_gradient(loss, x, d);
}

#[test]
fn the_marginal_loss_weighs_variables() {
    let mut rng = Random::new(404);
    let engine = JunctionTree::default();
    for _ in 0..60 {
        let graph = graph(&mut rng);
        let x = problem(&mut rng, &graph, 2.0);
        let d = Problem::random(&mut rng, &graph, 1.0);
        let answer = x.infer::<Dual, _>(&engine, Some(&d), 1.0);
        let labelled = (0..graph.vars()).filter(|&v| x.gold[v] != UNLABELLED);
        let mu = |v: usize| -> f64 {
            let allowed = (0..graph.card(v)).filter(|&label| may(&x, x.gold[v], label as Label));
            allowed.map(|label| answer.nodes.get(graph.cliques().node(v).start + label).re).sum()
        };
        let expected: f64 = labelled.map(|v| -1.5 * x.variables[v] * mu(v).ln()).sum();
        let loss = Marginal(engine);
        assert!(difference(x.evaluate::<f64, _>(&loss, None, 0.0).0, expected) < 1e-9);
        gradient_is_slope(&loss, &x, &d);
    }
}

/// Approximate engines take costs like exact ones: the gradient is the slope where they have settled.
#[test]
fn softmax_margin_with_belief_propagation() {
    let mut rng = Random::new(405);
    let engine = LoopyBp { tolerance: 1e-12, max_iterations: 3000, ..LoopyBp::default() };
    let mut looked = 0;
    for _ in 0..40 {
        let graph = graph(&mut rng);
        let x = problem(&mut rng, &graph, 0.5);
        let d = Problem::random(&mut rng, &graph, 1.0);
        if settles(&engine, &x, &d) {
            gradient_is_slope(&SoftmaxMargin(PartialLikelihood::new(engine)), &x, &d);
            looked += 1;
        }
    }
    assert!(looked > 30, "{looked}");
}

fn settles<I: NodeMarginals>(engine: &I, x: &Problem, d: &Problem) -> bool {
    x.infer::<Dual, I>(engine, Some(d), 1.0).outcome.converged
}

/// Pieces as examples of their own leave out what has no label, and pieces inside a graph are the same where all is known.
#[test]
fn pieces_of_examples_keep_weights_and_leave_out_unknown_labels() {
    let grid = crfkit::graph::Grid {
        height: 3,
        width: 3,
        labels: 2,
        neighbours: crfkit::graph::Neighbours::Four,
        pairs: crfkit::graph::build::PairTables::Own,
        directions_tied: true,
    };
    let graph = grid.build().unwrap();
    let mut data = Dataset::new();
    for f in 0..graph.own_tables() {
        data.push_observation(f as u32, 1.0);
        data.finish_table();
    }
    let gold: Vec<Label> = [0, 1, 1, 0, UNLABELLED, 1, 1, 0, 0].into();
    let weights: Vec<f64> = (0..9).map(|v| 0.5 + v as f64).collect();
    data.finish_example(graph.clone(), gold.clone(), 2.0);
    data.set_variable_weights(&weights);
    let split = data.split(Pieces::Rows).unwrap();
    let mut nodes = 0;
    for example in 0..split.len() {
        assert!(!split.gold(example).contains(&UNLABELLED));
        assert_eq!(split.weight(example), 2.0);
        for (label, weight) in split.gold(example).iter().zip(split.variable_weights(example)) {
            let v = (weight - 0.5) as usize;
            assert_eq!(gold[v], *label);
        }
        nodes += split.graph(example).factors();
    }
    // Eight nodes, and the eight pairs of the outer ring.
    assert_eq!(nodes, 8 + 8);

    let mut rng = Random::new(406);
    let mut x = Problem::random(&mut rng, &graph, 1.0);
    x.variables = weights;
    let d = Problem::random(&mut rng, &graph, 1.0);
    let loss = OnPieces { pieces: Pieces::Rows, loss: Pseudolikelihood::<FactorGraph>::default() };
    gradient_is_slope(&loss, &x, &d);
}
