//! Inference and decoding on small graphs with many ties, against enumeration.

use crate::source::Source;
use crate::{Target, mutate};
use crfkit::Place;
use crfkit::answers::{Answers, ChainAnswers, GraphAnswers};
use crfkit::decode::{AtMostOnce, Decode};
use crfkit::graph::{
    Chain, FactorGraph, FactorGraphBuilder, Graph, Label, LabelBits, LabelRules, LongSegment, Psi,
    SegmentLabels, SegmentType, Segments, Shared, States, Table,
};
use crfkit::infer::enumerate::{Enumeration, enumerate};
use crfkit::infer::{Engine, Propagation};
use crfkit::math::{Array, simd};
use std::sync::Arc;

pub const CHAIN: Target = Target {
    name: "chain",
    promise: "log Z, marginals, n-best lists and probabilities under rules equal enumeration, with ties, triples and segments",
    run: |data| {
        let mut source = Source(data);
        // Most chains are small: enumeration takes most of the time.
        let len = 1 + [0, 1, 2, 3, 4, 2, 3][source.below(7)];
        let labels = 1 + [0, 1, 2, 3, 1, 1, 2, 2][source.below(8)];
        let own_pairs = source.below(2) == 1;
        let (mut triples, mut segments) = (false, None);
        match source.below(4) {
            1 => triples = true,
            2 if labels > 1 => {
                // At most as many labels go on with segments as begin one.
                let (longest, starts) = (1 + source.below(4), labels - 1 - source.below(labels / 2));
                segments = Some(Segments { longest, inner: (starts, labels), own: source.below(2) == 0 });
            }
            _ => {}
        }
        let chain = Chain { len, labels, own_pairs, triples, segments };
        let problem = Problem::new(chain, &mut source);
        problem.check(None, None);
        let rules = rules(chain.labels, &mut source);
        problem.check(Some(rules.clone()), None);
        let allowed = allowed(chain, &mut source);
        problem.check(Some(rules), Some(&allowed));
    },
    seeds,
    mutate: mutate::bytes,
};

fn seeds() -> Vec<Vec<u8>> {
    vec![vec![], vec![4, 2, 1], (0..=255).collect(), (0..200).map(|k| (k * 37 % 256) as u8).collect()]
}

struct Problem {
    chain: Chain,
    shared: Arc<Shared<f64>>,
    own: Array<f64>,
    /// The labellings that the kind of the chain allows, best first.
    ranked: Vec<(f64, Vec<Label>)>,
}

impl Problem {
    fn new(chain: Chain, source: &mut Source) -> Self {
        let labels = chain.labels;
        let names = segment_labels(&chain).map(Arc::new);
        let mut table = |mut table: Table<f64>| {
            for i in 0..table.rows {
                for j in 0..labels {
                    table.log.set(i * table.stride + j, source.score());
                }
            }
            table.update();
            table
        };
        let mut shared: Shared<f64> =
            [labels, 1, 1].map(|rows| table(Table::new(rows, labels))).into_iter().collect();
        if chain.triples {
            shared.push(table(Table::triples(&Arc::new(States::new(labels, None)))));
        }
        let whole = names.as_ref().map(|names| segment_rules(names, labels));
        if let (Some(names), Some(rules)) = (&names, &whole) {
            shared.push(table(Table::lengths(names, labels)));
            Arc::new(rules.clone()).impose(&mut shared);
        }
        let mut own = Array::zeros(chain.own_len());
        chain.clear_own(own.plane_mut(0));
        for i in (0..own.len()).filter(|i| i % chain.stride() < labels) {
            own.set(i, source.score());
        }
        let Enumeration { mut ranked, .. } = enumerate(&chain, &shared, &own);
        if let (Some(rules), Some(segments)) = (whole, chain.segments) {
            ranked.retain(|(_, labels)| {
                let mut short = true;
                segments.each(labels, |_, length| short &= length <= segments.longest);
                short && rules.is_satisfied_by(labels)
            });
        }
        Problem { chain, shared: Arc::new(shared), own, ranked }
    }

    /// The labellings that the rules leave, best first, with their probabilities.
    fn truth(&self, keep: impl Fn(&[Label]) -> bool) -> Vec<(f64, Vec<Label>)> {
        let mut left: Vec<_> = self.ranked.iter().filter(|(_, labels)| keep(labels)).cloned().collect();
        let max = left.iter().map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
        let log_z = max + left.iter().map(|(score, _)| (score - max).exp()).sum::<f64>().ln();
        left.iter_mut().for_each(|(score, _)| *score = (*score - log_z).exp());
        left
    }

    fn check(&self, rules: Option<LabelRules>, allowed: Option<&[(usize, LabelBits)]>) {
        let keep = |labels: &[Label]| {
            rules.as_ref().is_none_or(|rules| rules.is_satisfied_by(labels))
                && allowed.iter().copied().flatten().all(|(t, bits)| bits.contains(labels[*t] as usize))
        };
        let truth = self.truth(keep);
        let mut answers = ChainAnswers::new(self.shared.clone(), None);
        answers.obey(rules.clone().map(Arc::new));
        answers.start(self.chain).copy_from_slice(self.own.plane(0));
        let place = || Place::new("fuzz", 1);
        let taken = allowed
            .map_or(Ok(()), |allowed| answers.allow(allowed, place))
            .and_then(|()| answers.finish(place));
        assert_eq!(taken.is_ok(), !truth.is_empty(), "{} labellings are left: {taken:?}", truth.len());
        if truth.is_empty() {
            return;
        }
        for t in 0..self.chain.len {
            for label in 0..self.chain.labels as Label {
                let expected: f64 =
                    truth.iter().filter(|(_, labels)| labels[t] == label).map(|(p, _)| p).sum();
                let found = answers.marginal(t, label);
                assert!((found - expected).abs() < 1e-9, "P(y{t} = {label}) = {found}, not {expected}");
            }
        }
        let best = answers.nbest(truth.len().min(20) + 1).expect("a short list");
        assert_eq!(best.len(), truth.len().min(truth.len().min(20) + 1), "as many labellings as there are");
        for (found, (p, _)) in best.iter().zip(&truth) {
            assert!(keep(&found.labels), "{:?} breaks the rules", found.labels);
            let found = answers.probability(&found.labels);
            assert!((found - p).abs() < 1e-9, "rank: {found}, not {p}");
        }
        let mut distinct: Vec<_> = best.iter().map(|ranked| &ranked.labels).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), best.len(), "a labelling twice");
        let viterbi = answers.viterbi().to_vec();
        assert!((answers.probability(&viterbi) - truth[0].0).abs() < 1e-9, "the best labelling");
        if allowed.is_none() && rules.is_none() && self.chain.segments.is_none() && !self.chain.triples {
            self.at_most_once();
        }
    }

    /// Label 0 begins something that may occur once.
    fn at_most_once(&self) {
        let once = AtMostOnce::new(self.chain.labels, 1, |_, before, after| after == 0 && before != Some(0));
        let keep = |labels: &[Label]| once.is_satisfied_by(labels);
        let truth = self.truth(keep);
        let mut labels = Vec::new();
        let psi = Psi { shared: &self.shared, own: &self.own };
        once.argmax(&self.chain, psi, &mut labels);
        assert!(keep(&labels), "{labels:?}");
        let p = truth.iter().find(|(_, other)| *other == labels).expect("it is one of them").0;
        assert!((p - truth[0].0).abs() < 1e-9, "the best labelling with things at most once: {p}");
    }
}

/// The labels of segments: label i begins a segment of type i, and label starts + i, if there is one, goes on with it.
fn segment_labels(chain: &Chain) -> Option<SegmentLabels> {
    let Segments { longest, inner: (starts, end), .. } = chain.segments?;
    let types = (0..starts).map(|first| {
        let inner = Some(starts + first).filter(|inner| *inner < chain.labels);
        let long = inner.map(|last| LongSegment { first, inner, last });
        SegmentType { single: Some(first), long }
    });
    Some(SegmentLabels { longest, inner: starts..end, types: types.collect() })
}

/// The rules of such labels.
fn segment_rules(names: &SegmentLabels, labels: usize) -> LabelRules {
    let starts = names.inner.start;
    LabelRules::from_fn(labels, |before, after| match (before, after) {
        (_, None) => true,
        (_, Some(j)) if j < starts => true,
        (Some(i), Some(j)) => i == j || i + starts == j,
        (None, Some(_)) => false,
    })
}

fn rules(labels: usize, source: &mut Source) -> LabelRules {
    let mut rules = LabelRules::new(labels);
    for _ in 0..source.below(6) {
        let mut label = || Some(source.below(labels + 1)).filter(|&label| label < labels);
        let (before, after) = (label(), label());
        if before.is_some() || after.is_some() {
            rules.forbid(before, after);
        }
    }
    rules
}

fn allowed(chain: Chain, source: &mut Source) -> Vec<(usize, LabelBits)> {
    let mut all = Vec::new();
    for t in 0..chain.len {
        if source.below(3) == 0 {
            let mut bits = LabelBits::none(chain.labels);
            let mask = source.byte();
            (0..chain.labels).filter(|label| mask >> label & 1 == 1).for_each(|label| bits.insert(label));
            bits.insert(source.below(chain.labels));
            all.push((t, bits));
        }
    }
    all
}

pub const GRAPH: Target = Target {
    name: "graph",
    promise: "exact inference and exact decoding of small factor graphs equal enumeration, with ties",
    run: |data| {
        let mut source = Source(data);
        let Some(graph) = factor_graph(&mut source) else { return };
        let shared: Shared<f64> = graph
            .shared_shapes()
            .iter()
            .map(|shape| {
                let mut table = Table::new(shape.rows.max(1), shape.columns.max(1));
                for i in (0..shape.size()).filter(|i| i % shape.stride() < shape.columns) {
                    table.log.set(i, source.score());
                }
                table.update();
                table
            })
            .collect();
        let mut own = Array::zeros(graph.own_len());
        graph.clear_own(own.plane_mut(0));
        for score in own.plane_mut(0).iter_mut().filter(|score| **score != simd::PAD) {
            *score = source.score();
        }
        let truth = enumerate(&graph, &shared, &own);
        let mut answers = GraphAnswers::new(Arc::new(shared), Engine::Exact, Propagation::default());
        answers
            .load(&graph, Place::new("fuzz", 1), &mut |array| *array = own.clone())
            .expect("a small graph");
        for v in 0..graph.vars() {
            for label in 0..graph.card(v) as Label {
                let having = truth.ranked.iter().filter(|(_, labels)| labels[v] == label);
                let expected: f64 = having.map(|(score, _)| (score - truth.log_z).exp()).sum();
                let found = answers.probability_of(v, label).expect("a probability");
                assert!((found - expected).abs() < 1e-9, "P(y{v} = {label}) = {found}, not {expected}");
            }
        }
        let best = answers.labels(Decode::Exact).expect("a small graph").to_vec();
        let (found, expected) = (answers.score(&best), truth.ranked[0].0);
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "the best score: {found}, not {expected}"
        );
    },
    seeds,
    mutate: mutate::bytes,
};

/// Up to five variables of up to three labels, and factors over one, two or three of them.
fn factor_graph(source: &mut Source) -> Option<FactorGraph> {
    let vars = 1 + source.below(5);
    let cards: Vec<usize> = (0..vars).map(|_| 1 + source.below(3)).collect();
    let mut builder = FactorGraphBuilder::new(cards).ok()?;
    let (mut kinds, mut ids) = (0, 0);
    for v in 0..vars {
        builder.add_own(kinds, &[v]).ok()?;
        kinds += 1;
    }
    for _ in 0..source.below(8) {
        let size = 1 + source.below(3);
        let scope: Vec<usize> = (0..size).map(|_| source.below(vars)).collect();
        // A factor that names a variable twice is rejected, and so is a table of another shape.
        if source.below(2) == 0 {
            kinds += usize::from(builder.add_own(kinds, &scope).is_ok());
        } else if ids == 0 || source.below(2) == 0 || builder.add_shared(ids - 1, &scope).is_err() {
            ids += usize::from(builder.add_shared(ids, &scope).is_ok());
        }
    }
    builder.build().ok()
}
