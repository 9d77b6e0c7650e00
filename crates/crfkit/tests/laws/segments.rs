//! Chains with segments against sums over all segmentations, which are made here one by one.

use crate::common;

use common::{Problem, difference, segment_chains, segment_labels};
use crfkit::decode::{Decoder, Viterbi};
use crfkit::graph::{
    BEGIN, Chain, END, Gradient, Graph as _, LENGTH, Label, LabelRules, LongSegment, PAIR, Psi,
    SegmentLabels, SegmentType, Segments, SharedSum, Table,
};
use crfkit::infer::enumerate::enumerate;
use crfkit::infer::{ForwardBackward, Inference};
use crfkit::math::Array;
use crfkit::math::random::Random;
use std::sync::Arc;

/// A segment: its type and its tokens.
type Segment = (usize, std::ops::Range<usize>);

/// Calls `visit` with every way to cut `len` tokens into segments with types.
fn segmentations(
    names: &SegmentLabels,
    len: usize,
    so_far: &mut Vec<Segment>,
    visit: &mut dyn FnMut(&[Segment]),
) {
    let start = so_far.last().map_or(0, |(_, tokens)| tokens.end);
    if start == len {
        return visit(so_far);
    }
    for (kind, one) in names.types.iter().enumerate() {
        for length in 1..=names.longest.min(len - start) {
            let has = match length {
                1 => one.single.is_some(),
                2 => one.long.is_some(),
                _ => one.long.is_some_and(|long| long.inner.is_some()),
            };
            if has {
                so_far.push((kind, start..start + length));
                segmentations(names, len, so_far, visit);
                so_far.pop();
            }
        }
    }
}

/// The label of a token of a segment.
fn label(names: &SegmentLabels, (kind, tokens): &Segment, t: usize) -> usize {
    let one = names.types[*kind];
    match (tokens.len(), one.long) {
        (1, _) => one.single.unwrap(),
        (_, Some(long)) if t == tokens.start => long.first,
        (_, Some(long)) if t + 1 == tokens.end => long.last,
        (_, long) => long.unwrap().inner.unwrap(),
    }
}

/// What all entries of all tables add up to, over the segmentations with their probabilities.
struct Sums {
    log_z: f64,
    own: Vec<f64>,
    shared: Vec<Vec<f64>>,
    ranked: Vec<(f64, Vec<Label>)>,
}

fn by_hand(problem: &Problem, names: &SegmentLabels) -> Sums {
    let Problem { chain, shared, own, .. } = problem;
    let (len, labels, stride) = (chain.len, chain.labels, chain.stride());
    // The entries of a segmentation: own ones, and those of shared tables.
    let entries = |cut: &[Segment]| {
        let y: Vec<usize> = cut.iter().flat_map(|one| one.1.clone().map(|t| label(names, one, t))).collect();
        let mut found: Vec<(Option<usize>, usize)> = Vec::new();
        for t in 0..len {
            found.push((None, t * stride + y[t]));
            if t > 0 {
                found.push((Some(PAIR), y[t - 1] * labels + y[t]));
                if chain.own_pairs {
                    found.push((None, chain.pair_offset(t) + y[t - 1] * stride + y[t]));
                }
            }
        }
        if len > 0 {
            found.extend([(Some(BEGIN), y[0]), (Some(END), y[len - 1])]);
        }
        for (_, tokens) in cut {
            let first = y[tokens.start];
            found.push((Some(LENGTH), (tokens.len() - 1) * labels + first));
            if chain.segments.unwrap().own {
                // Behind the tokens: those that end earlier, and then the shorter ones.
                let earlier: usize = (0..tokens.end - 1).map(|t| names.longest.min(t + 1)).sum();
                found.push((None, (len + earlier + tokens.len() - 1) * stride + first));
            }
        }
        (found, y)
    };
    let value = |(table, entry): &(Option<usize>, usize)| match table {
        None => own[*entry],
        Some(id) => shared[*id][*entry],
    };
    let mut all = Vec::new();
    segmentations(names, len, &mut Vec::new(), &mut |cut| {
        let (found, y) = entries(cut);
        all.push((found.iter().map(value).sum::<f64>(), y, found));
    });
    let max = all.iter().map(|one| one.0).fold(f64::NEG_INFINITY, f64::max);
    let log_z = max + all.iter().map(|one| (one.0 - max).exp()).sum::<f64>().ln();
    let mut sums = Sums {
        log_z,
        own: vec![0.0; own.len()],
        shared: shared.iter().map(|table| vec![0.0; table.len()]).collect(),
        ranked: Vec::new(),
    };
    for (score, y, found) in all {
        for (table, entry) in found {
            let p = (score - log_z).exp();
            match table {
                None => sums.own[entry] += p,
                Some(id) => sums.shared[id][entry] += p,
            }
        }
        sums.ranked.push((score, y.into_iter().map(|y| y as Label).collect()));
    }
    sums.ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    sums
}

fn check(problem: &Problem, names: &SegmentLabels, shared: &[Table<f64>], range: f64) {
    let (chain, own) = (problem.chain, problem.own_array::<f64>(None, 0.0));
    let right = by_hand(problem, names);
    let (mut marginals, mut sums) = (Array::zeros(own.len()), SharedSum::new(shared));
    let mut out = Gradient { own: marginals.slice_mut(0..own.len()), shared: &mut sums };
    let psi = Psi { shared, own: &own };
    let found = ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut Default::default());
    sums.finish(shared);
    assert!(difference(found.log_z, right.log_z) < 1e-11, "{} {} {chain:?}", found.log_z, right.log_z);
    for i in (0..own.len()).filter(|i| i % chain.stride() < chain.labels) {
        assert!((marginals.get(i) - right.own[i]).abs() < 1e-10, "own {i} on {chain:?} at {range}");
    }
    for (id, sum) in sums.0.iter().enumerate() {
        for (i, p) in right.shared[id].iter().enumerate() {
            let mu = sum.direct.get(i / chain.labels * chain.stride() + i % chain.labels);
            assert!((mu - p).abs() < 1e-10, "table {id}, {i} on {chain:?} at {range}: {mu} {p}");
        }
    }
    let mut labels = Vec::new();
    let best = Viterbi.argmax(&chain, psi, &mut labels, &mut Default::default());
    if chain.len > 0 {
        assert!(difference(best, right.ranked[0].0) < 1e-12, "{best} {} {chain:?}", right.ranked[0].0);
        assert!(difference(psi.score(&chain, &labels), best) < 1e-12);
    }
    // The oracle of labellings gives everything else a score that no labelling can regain.
    let ranked = enumerate(&chain, shared, &own).ranked;
    let possible: Vec<_> = ranked.iter().filter(|(score, _)| *score > -1e11).collect();
    assert_eq!(possible.len(), right.ranked.len(), "a labelling is a segmentation");
    for (a, b) in possible.iter().zip(&right.ranked) {
        assert!(difference(a.0, b.0) < 1e-12);
    }
}

#[test]
fn inference_equals_sums_over_segmentations() {
    let mut rng = Random::new(1);
    for chain in segment_chains() {
        for range in [0.0, 1.0, 20.0, 400.0, 5000.0] {
            let problem = Problem::random(&mut rng, chain, range);
            check(&problem, &segment_labels(&chain).unwrap(), &problem.tables(None, 0.0), range);
        }
    }
}

/// B, I, E and S; a type without inner labels, one of single tokens alone, and labels outside.
#[test]
fn every_notation() {
    let mut rng = Random::new(2);
    let long = |first, inner, last| Some(LongSegment { first, inner, last });
    // B-0 B-1 I-0 E-0 E-1 S-0 S-2 O
    let types = vec![
        SegmentType { single: None, long: long(0, Some(2), 3) },
        SegmentType { single: None, long: long(1, None, 4) },
        SegmentType { single: Some(5), long: None },
        SegmentType { single: Some(6), long: None },
        SegmentType { single: Some(7), long: None },
    ];
    let rules = LabelRules::from_fn(8, |before, after| match (before, after) {
        (Some(0 | 2), after) => matches!(after, Some(2 | 3)),
        (Some(1), after) => after == Some(4),
        (_, Some(2..=4)) => false,
        _ => true,
    });
    for (len, longest, own_pairs) in [(1, 3, true), (4, 1, false), (5, 3, false), (5, 4, true)] {
        for range in [1.0, 30.0, 800.0] {
            let names = Arc::new(SegmentLabels { longest, inner: 2..5, types: types.clone() });
            let segments = Some(Segments { longest, inner: (2, 5), own: true });
            let plain = Chain { len, labels: 8, own_pairs, triples: false, segments: None };
            let mut problem = Problem::random(&mut rng, plain, range);
            let mut tables = problem.tables::<f64>(None, 0.0);
            problem.chain = Chain { segments, ..plain };
            let mut draw = |n| (0..n).map(|_| (rng.uniform() * 2.0 - 1.0) * range).collect::<Vec<f64>>();
            problem.shared.push(draw((longest + 1) * 8));
            problem.own = draw(problem.chain.own_len());
            let mut lengths = Table::lengths(&names, 8);
            for i in 0..(longest + 1) * 8 {
                lengths.log.set(i / 8 * lengths.stride + i % 8, problem.shared[LENGTH][i]);
            }
            tables.push(lengths);
            Arc::new(rules.clone()).impose(&mut tables);
            check(&problem, &names, &tables, range);
        }
    }
}

/// Segments without scores of their own, and as long as the sequence, are those of a plain chain under the same rules.
#[test]
fn without_scores_of_segments_it_is_a_plain_chain() {
    let mut rng = Random::new(4);
    for (len, longest, own_pairs) in [(1, 1, false), (5, 5, false), (7, 9, true)] {
        let segments = Some(Segments { longest, inner: (3, 5), own: false });
        let chain = Chain { len, labels: 5, own_pairs, triples: false, segments };
        let mut problem = Problem::random(&mut rng, chain, 3.0);
        problem.shared[LENGTH].fill(0.0);
        let (shared, own) = (problem.tables::<f64>(None, 0.0), problem.own_array::<f64>(None, 0.0));
        let log_z = |chain: Chain, shared: &[_]| {
            let (mut marginals, mut sums) = (Array::zeros(own.len()), SharedSum::new(shared));
            let mut out = Gradient { own: marginals.slice_mut(0..own.len()), shared: &mut sums };
            let psi = Psi { shared, own: &own };
            let log_z = ForwardBackward.log_z(&chain, psi, 1.0, &mut out, &mut Default::default()).log_z;
            sums.finish(shared);
            (log_z, marginals, sums.0.remove(PAIR).direct)
        };
        let with = log_z(chain, &shared);
        let plain = log_z(Chain { segments: None, ..chain }, &shared[..LENGTH]);
        assert!(difference(with.0, plain.0) < 1e-12);
        for (a, b) in [(with.1, plain.1), (with.2, plain.2)] {
            a.plane(0).iter().zip(b.plane(0)).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        }
    }
}
