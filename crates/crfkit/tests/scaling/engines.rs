//! How the work of inference grows: operations on numbers, of which engines are free to take any kind.

use crate::worked::{Counting, operations};
use crfkit::graph::build::{self, PairTables};
use crfkit::graph::{
    Chain, FactorGraph, FactorGraphBuilder, Gradient, Graph, LabelRules, LongSegment, Psi, SegmentLabels,
    SegmentType, Segments, Shared, SharedSum, States, Table,
};
use crfkit::infer::{
    DoubleLoop, Exact, ForwardBackward, Inference, LoopyBp, MeanField, MessageSchedule, TreeReweighted,
};
use crfkit::math::{Array, Scalar, simd};
use std::sync::Arc;

/// Counts the operations of an engine at n, 2n and 4n: from n to 4n they grow by 4^`order`, at most a twentieth more, and not by less
/// than half as much, or the count would miss them.
fn grows(what: &str, n: usize, order: i32, mut work: impl FnMut(usize) -> u64) {
    let [first, second, third] = [n, 2 * n, 4 * n].map(&mut work);
    println!("{what}: {first} {second} {third} operations");
    let (growth, expected) = (third as f64 / first as f64, 4f64.powi(order));
    assert!((0.5 * expected..=1.05 * expected).contains(&growth), "{what}: {first}, {second}, {third}");
}

/// The operations of inference on a graph with these shared tables, whose own scores differ from 0 but are small.
fn infer<I: Inference>(engine: &I, graph: &I::Graph, shared: Shared<Counting>) -> u64 {
    let mut own = Array::<Counting>::zeros(graph.own_len());
    graph.clear_own(own.plane_mut(0));
    for (i, score) in own.plane_mut(0).iter_mut().enumerate().filter(|(_, score)| **score != simd::PAD) {
        *score = ((i * 29) % 31) as f64 / 31.0;
    }
    let (mut gradient, mut sum) = (Array::zeros(own.len()), SharedSum::new(&shared));
    let mut work = Default::default();
    operations(|| {
        let range = 0..own.len();
        let mut out = Gradient { own: gradient.slice_mut(range), shared: &mut sum };
        let outcome = engine.log_z(graph, Psi { shared: &shared, own: &own }, 1.0, &mut out, &mut work);
        assert!(outcome.log_z.re().is_finite());
    })
}

/// A table whose scores differ a little.
fn filled(mut table: Table<Counting>) -> Table<Counting> {
    for i in 0..table.rows {
        for j in 0..table.labels {
            table.log.set(i * table.stride + j, Counting::lift(((i * 7 + j * 3) % 5) as f64 / 5.0));
        }
    }
    table.update();
    table
}

fn tables(labels: usize) -> Shared<Counting> {
    [labels, 1, 1].map(|rows| filled(Table::new(rows, labels))).into()
}

fn chain(len: usize, labels: usize) -> Chain {
    Chain { len, labels, own_pairs: false, triples: false, segments: None }
}

#[test]
fn chains() {
    let of = |chain: Chain| infer(&ForwardBackward, &chain, tables(chain.labels));
    grows("a chain, by length", 1000, 1, |n| of(chain(n, 5)));
    grows("a chain, by labels", 64, 2, |labels| of(chain(20, labels)));
    grows("a chain with own pairs, by length", 500, 1, |n| of(Chain { own_pairs: true, ..chain(n, 5) }));
    grows("a chain with own pairs, by labels", 32, 2, |labels| {
        of(Chain { own_pairs: true, ..chain(20, labels) })
    });
}

#[test]
fn chains_of_the_second_order() {
    let of = |len: usize, labels: usize| {
        let mut shared = tables(labels);
        shared.push(filled(Table::triples(&Arc::new(States::new(labels, None)))));
        infer(&ForwardBackward, &Chain { triples: true, ..chain(len, labels) }, shared)
    };
    grows("triples, by length", 200, 1, |n| of(n, 4));
    grows("triples, by labels", 8, 3, |labels| of(10, labels));
}

/// Segments of one type that may be long, beside a label of its own.
#[test]
fn segments() {
    let of = |len: usize, longest: usize| {
        let names = Arc::new(SegmentLabels {
            longest,
            inner: 2..3,
            types: vec![
                SegmentType {
                    single: Some(0),
                    long: Some(LongSegment { first: 0, inner: Some(2), last: 2 }),
                },
                SegmentType { single: Some(1), long: None },
            ],
        });
        let mut shared = tables(3);
        shared.push(filled(Table::lengths(&names, 3)));
        let rules = LabelRules::from_fn(3, |before, after| after != Some(2) || matches!(before, Some(0 | 2)));
        Arc::new(rules).impose(&mut shared);
        let segments = Some(Segments { longest, inner: (2, 3), own: false });
        infer(&ForwardBackward, &Chain { segments, ..chain(len, 3) }, shared)
    };
    grows("segments, by length of the text", 500, 1, |n| of(n, 8));
    // The part that does not depend on it is most of the work of short segments.
    grows("segments, by the longest", 40, 1, |longest| of(400, longest));
}

fn star(leaves: usize) -> FactorGraph {
    let mut builder = FactorGraphBuilder::new(vec![2; leaves + 1]).unwrap();
    (1..=leaves).for_each(|leaf| assert!(builder.add_own(0, &[0, leaf]).is_ok()));
    builder.build().unwrap()
}

fn path(n: usize, labels: usize) -> FactorGraph {
    let parents: Vec<_> = (0..n).map(|v| v.checked_sub(1)).collect();
    build::tree(labels, &parents, PairTables::Own).unwrap()
}

fn ladder(n: usize, labels: usize) -> FactorGraph {
    let mut builder = FactorGraphBuilder::new(vec![labels; 2 * n]).unwrap();
    for step in 0..n {
        builder.add_own(0, &[2 * step, 2 * step + 1]).unwrap();
        if step > 0 {
            builder.add_own(0, &[2 * step - 2, 2 * step]).unwrap();
            builder.add_own(0, &[2 * step - 1, 2 * step + 1]).unwrap();
        }
    }
    builder.build().unwrap()
}

#[test]
fn exact_inference() {
    let of = |graph: FactorGraph| infer(&Exact::default(), &graph, Shared::default());
    grows("a star", 500, 1, |n| of(star(n)));
    grows("a path", 500, 1, |n| of(path(n, 3)));
    grows("a path, by labels", 32, 2, |labels| of(path(10, labels)));
    grows("a ladder", 100, 1, |n| of(ladder(n, 2)));
    // Its cliques have three variables.
    grows("a ladder, by labels", 8, 3, |labels| of(ladder(5, labels)));
}

/// One sweep costs as much as there are pairs and, with `order` 2, pairs of labels.
#[test]
fn sweeps() {
    let bp = LoopyBp { max_iterations: 10, tolerance: 1e-300, ..LoopyBp::default() };
    let of = |graph: FactorGraph| infer(&bp, &graph, Shared::default());
    grows("propagation on a star", 1000, 1, |n| of(star(n)));
    grows("propagation on a ladder", 200, 1, |n| of(ladder(n, 3)));
    grows("propagation on a ladder, by labels", 32, 2, |labels| of(ladder(5, labels)));
    let residual = LoopyBp { schedule: MessageSchedule::Residual, ..bp };
    grows("residual propagation on a ladder", 100, 1, |n| infer(&residual, &ladder(n, 3), Shared::default()));
    let trw = TreeReweighted { max_iterations: 10, tolerance: 1e-300, ..TreeReweighted::default() };
    grows("tree-reweighted propagation on a ladder", 200, 1, |n| {
        infer(&trw, &ladder(n, 3), Shared::default())
    });
    let field = MeanField { max_iterations: 10, tolerance: 1e-300, ..MeanField::default() };
    grows("mean field on a ladder", 200, 1, |n| infer(&field, &ladder(n, 3), Shared::default()));
    let double = DoubleLoop { max_iterations: 2, tolerance: 1e-300 };
    grows("the double loop on a ladder", 100, 1, |n| infer(&double, &ladder(n, 3), Shared::default()));
}
