//! How work and memory grow with the input, by counted allocations and operations and never by the clock: at n, 2n and 4n they fit the
//! documented order.

mod counted;
mod engines;
mod worked;

use counted::count;
use crfkit::Place;
use crfkit::answers::{Answers, ChainAnswers, GraphAnswers};
use crfkit::chain::{CorpusBuilder, Sequence};
use crfkit::data::columns::Columns;
use crfkit::data::observer::Source;
use crfkit::data::rule::LinkRule;
use crfkit::data::template::{Dialect, Templates};
use crfkit::data::tokens::tokens;
use crfkit::decode::Decode;
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{BEGIN, Chain, END, FactorGraph, FactorGraphBuilder, Graph, PAIR, Shared, Table};
use crfkit::infer::{Engine, Propagation};
use crfkit::math::Array;
use std::sync::Arc;

/// Runs `work` at n, 2n and 4n. Neither the bytes allocated in all nor the most at one time grow by more than a factor 2^`order`, with a
/// twentieth to spare for buffers that double.
fn grows(what: &str, n: usize, order: i32, work: impl Fn(usize)) {
    let [first, second, third] = [n, 2 * n, 4 * n].map(|n| count(|| work(n)));
    let limit = 2f64.powi(order) * 1.05;
    for (name, of) in
        [("in all", (|c| c.total) as fn(&counted::Counted) -> usize), ("at one time", |c| c.most)]
    {
        let [first, second, third] = [&first, &second, &third].map(|counted| of(counted) as f64);
        println!("{what}, bytes {name}: {first} {second} {third}");
        // The whole way from n to 4n is compared: one doubling of a buffer may fall into either half of it.
        assert!(third <= first * limit * limit, "{what}, bytes {name}: {first}, {second}, {third}");
    }
}

/// Answers about a chain whose scores are all 0: every labelling ties.
fn ties(len: usize, labels: usize) -> ChainAnswers {
    let table = |id: usize| {
        let mut table = Table::new(if id == PAIR { labels } else { 1 }, labels);
        for i in 0..table.rows {
            (0..labels).for_each(|j| table.log.set(i * table.stride + j, 0.0));
        }
        table.update();
        table
    };
    let shared: Shared<f64> = [PAIR, BEGIN, END].map(table).into();
    let mut answers = ChainAnswers::new(Arc::new(shared), None);
    let chain = Chain { len, labels, own_pairs: false, triples: false, segments: None };
    let own = answers.start(chain);
    own.iter_mut().enumerate().filter(|(i, _)| i % chain.stride() < labels).for_each(|(_, x)| *x = 0.0);
    answers.finish(|| Place::new("chain", 1)).unwrap();
    answers
}

#[test]
fn chains_are_linear_in_their_length() {
    grows("marginals and the best labelling", 1000, 1, |n| {
        let mut answers = ties(n, 5);
        answers.marginal(n / 2, 1);
        assert_eq!(answers.viterbi().len(), n);
    });
}

#[test]
fn chains_are_at_most_quadratic_in_their_labels() {
    grows("marginals and the best labelling", 64, 2, |labels| {
        let mut answers = ties(10, labels);
        answers.marginal(5, 1);
        answers.viterbi();
    });
}

#[test]
fn ties_cost_nbest_nothing() {
    grows("ten best of ties, by length", 200, 1, |n| assert_eq!(ties(n, 3).nbest(10).unwrap().len(), 10));
    grows("n best of ties", 100, 1, |n| assert_eq!(ties(50, 3).nbest(n).unwrap().len(), n));
}

/// Marginals and the best labelling of a graph whose scores are all 0.
fn answer(graph: &FactorGraph) {
    let mut answers = GraphAnswers::new(Arc::new(Shared::default()), Engine::Exact, Propagation::default());
    let mut zero = Array::zeros(graph.own_len());
    graph.clear_own(zero.plane_mut(0));
    answers.load(graph, Place::new("graph", 1), &mut |own| *own = zero.clone()).unwrap();
    assert!((answers.probability_of(0, 0).unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(answers.labels(Decode::Exact).unwrap()[0], 0);
}

#[test]
fn exact_inference_is_linear_on_trees_and_ladders() {
    grows("a star", 500, 1, |n| {
        let mut builder = FactorGraphBuilder::new(vec![2; n + 1]).unwrap();
        for leaf in 1..=n {
            builder.add_own(leaf, &[0, leaf]).unwrap();
        }
        answer(&builder.build().unwrap());
    });
    grows("a path", 500, 1, |n| {
        let parents: Vec<_> = (0..n).map(|v| v.checked_sub(1)).collect();
        answer(&build::tree(2, &parents, PairTables::Own).unwrap());
    });
    grows("a ladder", 250, 1, |n| {
        let mut builder = FactorGraphBuilder::new(vec![2; 2 * n]).unwrap();
        let mut kind = 0;
        let mut join = |a: usize, b: usize| {
            builder.add_own(kind, &[a, b]).unwrap();
            kind += 1;
        };
        for step in 0..n {
            join(2 * step, 2 * step + 1);
            if step > 0 {
                join(2 * step - 2, 2 * step);
                join(2 * step - 1, 2 * step + 1);
            }
        }
        answer(&builder.build().unwrap());
    });
}

fn periodic(n: usize) -> Columns {
    Columns::from_rows((0..n).map(|row| [["Ada", "Bob"][row % 2], "X"]), "periodic").unwrap()
}

#[test]
fn links_of_periodic_text_are_linear() {
    let rule: LinkRule = "same(0) and capitalised(0)".parse().unwrap();
    grows("links", 1000, 1, |n| assert!(rule.pairs(&periodic(n)).len() <= 16 * n));
}

#[test]
fn reading_is_linear() {
    grows("a corpus", 1000, 1, |n| {
        let templates =
            Templates::compile("U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB\n", Dialect::Crfpp, "t").unwrap();
        let mut builder = CorpusBuilder::new(Source::Templates(templates));
        builder.add(&Sequence::from(periodic(n))).unwrap();
        assert_eq!(builder.finish(1).unwrap().data.variables(), n);
    });
    grows("tokens", 1000, 1, |n| assert_eq!(tokens(&"a, ".repeat(n)).collect::<Vec<_>>().len(), 2 * n));
}
