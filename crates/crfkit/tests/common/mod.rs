//! Random small chains for the law tests.
#![allow(dead_code)] // each test file uses a part of it

use crfkit::graph::{
    BEGIN, Chain, END, Gradient, Graph, Label, LabelBits, LabelRules, LongSegment, PAIR, Psi, SegmentLabels,
    SegmentType, Segments, Shared, SharedSum, States, TRIPLE, Table,
};
use crfkit::loss::{Gold, Loss};
use crfkit::math::random::Random;
use crfkit::math::{Array, Scalar};
use std::sync::Arc;

/// A chain with its log-potentials as plain numbers, ε parts zero.
pub struct Problem {
    pub chain: Chain,
    pub shared: Vec<Vec<f64>>,
    pub own: Vec<f64>,
    pub gold: Vec<Label>,
    /// The sets that some gold labels stand for.
    pub sets: Vec<LabelBits>,
    pub weight: f64,
    /// The weights of variables; empty if all are 1.
    pub variables: Vec<f64>,
}

impl Problem {
    /// Scores uniform in ±`range`.
    pub fn random(rng: &mut Random, chain: Chain, range: f64) -> Self {
        let mut draw = |n: usize| (0..n).map(|_| (rng.uniform() * 2.0 - 1.0) * range).collect::<Vec<f64>>();
        let labels = chain.labels;
        let mut shared = vec![draw(labels * labels), draw(labels), draw(labels)];
        if chain.triples {
            shared.push(draw(labels * labels * labels));
        }
        if let Some(segments) = chain.segments {
            shared.push(draw((segments.longest + 1) * labels));
        }
        let own = draw(chain.own_len());
        let gold = match segment_labels(&chain) {
            Some(names) => random_segments(rng, &names, chain.len),
            None => (0..chain.len).map(|_| rng.below(labels) as Label).collect(),
        };
        Problem { chain, shared, own, gold, sets: Vec::new(), weight: 1.0, variables: Vec::new() }
    }

    /// The shared tables at x + ε·d.
    pub fn tables<S: Scalar>(&self, direction: Option<&Problem>, step: f64) -> Shared<S> {
        let names = segment_labels(&self.chain).map(Arc::new);
        let mut tables: Shared<S> = [PAIR, BEGIN, END, TRIPLE]
            .into_iter()
            .take(self.shared.len())
            .map(|id| {
                let labels = self.chain.labels;
                let mut table = match id {
                    PAIR => Table::new(labels, labels),
                    TRIPLE if names.is_some() => Table::lengths(names.as_ref().unwrap(), labels),
                    TRIPLE => Table::triples(&Arc::new(States::new(labels, None))),
                    _ => Table::new(1, labels),
                };
                for i in 0..table.rows {
                    for j in 0..labels {
                        let eps = direction.map_or(0.0, |d| d.shared[id][i * labels + j] * step);
                        table.log.set(i * table.stride + j, S::new(self.shared[id][i * labels + j], eps));
                    }
                }
                table.update();
                table
            })
            .collect();
        if let Some(names) = names {
            Arc::new(segment_rules(&names, self.chain.labels)).impose(&mut tables);
        }
        tables
    }

    /// The own tables at x + ε·d.
    pub fn own_array<S: Scalar>(&self, direction: Option<&Problem>, step: f64) -> Array<S> {
        let mut own = Array::zeros(self.chain.own_len());
        self.chain.clear_own(own.plane_mut(0));
        let stride = self.chain.stride();
        for i in (0..own.len()).filter(|i| i % stride < self.chain.labels) {
            own.set(i, S::new(self.own[i], direction.map_or(0.0, |d| d.own[i] * step)));
        }
        own
    }

    /// Value and gradient of a loss: (value, own, shared tables).
    pub fn evaluate<S: Scalar, L: Loss<Graph = Chain>>(
        &self,
        loss: &L,
        direction: Option<&Problem>,
        step: f64,
    ) -> (S, Array<S>, SharedSum<S>) {
        let shared = self.tables::<S>(direction, step);
        let own = self.own_array::<S>(direction, step);
        let (mut own_gradient, mut sum) = (Array::zeros(own.len()), SharedSum::new(&shared));
        let range = 0..own.len();
        let value = loss.loss(
            &self.chain,
            Psi { shared: &shared, own: &own },
            Gold { labels: &self.gold, sets: &self.sets, weight: self.weight, variables: &self.variables },
            &mut Gradient { own: own_gradient.slice_mut(range), shared: &mut sum },
            &mut Default::default(),
        );
        sum.finish(&shared);
        (value, own_gradient, sum)
    }

    /// ⟨gradient, d⟩ in the layout of this problem.
    pub fn slope<S: Scalar>(&self, own: &Array<S>, shared: &SharedSum<S>, d: &Problem) -> S {
        let stride = self.chain.stride();
        let labels = self.chain.labels;
        let mut sum = S::lift(0.0);
        for i in (0..self.chain.own_len()).filter(|i| i % stride < labels) {
            sum += own.get(i) * S::lift(d.own[i]);
        }
        for (id, direct) in shared.0.iter().enumerate() {
            for (k, x) in d.shared[id].iter().enumerate() {
                sum += direct.direct.get(k / labels * stride + k % labels) * S::lift(*x);
            }
        }
        sum
    }

    /// x + h·d.
    pub fn moved(&self, d: &Problem, h: f64) -> Problem {
        let add = |x: &[f64], d: &[f64]| x.iter().zip(d).map(|(x, d)| x + h * d).collect();
        Problem {
            chain: self.chain,
            shared: self.shared.iter().zip(&d.shared).map(|(x, d)| add(x, d)).collect(),
            own: add(&self.own, &d.own),
            gold: self.gold.clone(),
            sets: self.sets.clone(),
            weight: self.weight,
            variables: self.variables.clone(),
        }
    }
}

/// Small chains of every kind: one token, one label, padded and unpadded widths, with and without own pair tables.
pub fn chains() -> Vec<Chain> {
    let mut chains = Vec::new();
    for own_pairs in [false, true] {
        for (len, labels) in
            [(0, 2), (1, 1), (1, 3), (2, 1), (2, 2), (3, 4), (4, 3), (6, 2), (5, 3), (3, 8), (3, 9)]
        {
            chains.push(Chain { len, labels, own_pairs, triples: false, segments: None });
        }
    }
    chains
}

/// Small second-order chains.
pub fn second_order_chains() -> Vec<Chain> {
    let mut chains = Vec::new();
    for own_pairs in [false, true] {
        for (len, labels) in
            [(0, 2), (1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (6, 2), (5, 3), (3, 9)]
        {
            chains.push(Chain { len, labels, own_pairs, triples: true, segments: None });
        }
    }
    chains
}

/// Small chains with segments.
pub fn segment_chains() -> Vec<Chain> {
    let mut chains = Vec::new();
    for (own_pairs, own) in [(false, true), (true, true), (false, false)] {
        for (len, starts, labels, longest) in [
            (0, 1, 2, 2),
            (1, 2, 3, 3),
            (2, 1, 2, 1),
            (3, 2, 4, 2),
            (4, 2, 3, 3),
            (5, 3, 5, 2),
            (6, 1, 2, 4),
            (6, 2, 3, 9),
            (4, 5, 9, 3),
        ] {
            let segments = Some(Segments { longest, inner: (starts, labels), own });
            chains.push(Chain { len, labels, own_pairs, triples: false, segments });
        }
    }
    chains
}

/// The labels of segments in tests: label i begins a segment of type i, and label starts + i, if there is one, goes on with it.
pub fn segment_labels(chain: &Chain) -> Option<SegmentLabels> {
    let Segments { longest, inner: (starts, end), .. } = chain.segments?;
    let types = (0..starts).map(|first| {
        let inner = Some(starts + first).filter(|inner| *inner < chain.labels);
        let long = inner.map(|last| LongSegment { first, inner, last });
        SegmentType { single: Some(first), long }
    });
    Some(SegmentLabels { longest, inner: starts..end, types: types.collect() })
}

/// The rules of such labels.
pub fn segment_rules(names: &SegmentLabels, labels: usize) -> LabelRules {
    let starts = names.inner.start;
    LabelRules::from_fn(labels, |before, after| match (before, after) {
        (_, None) => true,
        (_, Some(j)) if j < starts => true,
        (Some(i), Some(j)) => i == j || i + starts == j,
        (None, Some(_)) => false,
    })
}

/// A random labelling into segments.
pub fn random_segments(rng: &mut Random, names: &SegmentLabels, len: usize) -> Vec<Label> {
    let mut labels = Vec::new();
    while labels.len() < len {
        let one = names.types[rng.below(names.types.len())];
        let room = names.longest.min(len - labels.len());
        let length = if one.long.is_some() { 1 + rng.below(room) } else { 1 };
        labels.push(one.single.unwrap() as Label);
        labels.extend((1..length).map(|_| one.long.unwrap().last as Label));
    }
    labels
}

/// |a − b| relative to their size, or absolute below 1.
pub fn difference(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.abs().max(b.abs()).max(1.0)
}
