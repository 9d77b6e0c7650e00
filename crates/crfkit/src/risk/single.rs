//! A pass over all examples in single precision. What it shares with [`super::full`] is the order: blocks of examples, then their rows.

use super::any_loss::Worker;
use super::index::{BLOCK, Block, Index, SLOTS};
use super::potentials::{self, Rare, add, add_plane};
use super::{Risk, lock};
use crate::graph::{Gradient, Graph, Label, NODES, Psi, Shared, SharedSum};
use crate::loss::{Gold, ManyLosses, Member};
use crate::math::Array;
use crate::model::{Dense, Features};
use crate::optim::{Compute, Objective};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What a pass in single precision needs, kept from one to the next.
pub(super) struct SingleMemory<G: Graph> {
    index: Option<Index>,
    shared: Shared<f64>,
    dense: Dense<f32>,
    /// ψ, then dψ, of a block.
    buffer: Vec<f32>,
    slots: Vec<Slot<G>>,
}

/// What one slot of every block accumulates, and its scratch.
struct Slot<G: Graph> {
    sum: SharedSum<f64>,
    many: Singles<G>,
    rare: Vec<Rare>,
}

impl<G: Graph> Default for SingleMemory<G> {
    fn default() -> Self {
        SingleMemory {
            index: None,
            shared: Vec::new(),
            dense: Dense::default(),
            buffer: Vec::new(),
            slots: Vec::new(),
        }
    }
}

/// If examples are longer than this on average, a slot has too few of them to fill its lanes.
const LONG: usize = 200;
/// The length of dψ in a block holds this many variables at least, so that a slot has work for all lanes.
const VARIABLES: usize = 1 << 14;

impl<G: Graph> Risk<G> {
    /// A worker in single precision, if passes are to compute in that and the loss and the features allow it.
    pub(super) fn singles(&self) -> Option<Singles<G>> {
        let compute = match *lock(&self.compute) {
            Compute::Auto => self.far.load(Ordering::Relaxed),
            compute => compute == Compute::F32,
        };
        let features = &self.features;
        let plain = features.rows.iter().enumerate().all(|(kind, rows)| kind == NODES || rows.len == 0);
        let short = self.data.variables() <= LONG * self.data.len();
        let plain = plain && short && self.data.dense().is_empty() && features.rows[NODES].basis.is_empty();
        let many = (compute && plain).then(|| (self.loss.many)()).flatten()?;
        let (psi, dpsi) = (Array::default(), Array::default());
        Some(Singles { many, worker: (self.loss.real)(), psi, dpsi, values: Vec::new() })
    }

    /// [`Objective::value_grad`] in single precision; `None` if it does not apply.
    pub(super) fn single_pass(&self, theta: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let mut memory = lock(&self.single);
        let SingleMemory { index, shared, dense, buffer, slots } = &mut *memory;
        self.singles()?;
        let index = index.get_or_insert_with(|| {
            let stride = self.features.rows[NODES].stride();
            Index::new::<G, f32>(self, BLOCK.max(VARIABLES * stride))
        });
        if slots.is_empty() {
            *shared = self.features.empty_tables();
            buffer.resize(index.buffer, 0.0);
            for _ in 0..SLOTS {
                slots.push(Slot { sum: SharedSum::new(shared), many: self.singles()?, rare: Vec::new() });
            }
        }
        self.features.fill_tables(&[theta], shared);
        let rows = &self.features.rows[NODES];
        dense.spread(rows, index.dense_rows, &[theta], |tables, size, task| {
            self.stretches(tables, size, task)
        });
        slots.iter_mut().for_each(|slot| slot.many.many.prepare(shared));
        let mut value = 0.0;
        for block in &index.blocks {
            if self.stopped() {
                slots.iter_mut().for_each(|slot| slot.sum.clear(shared));
                return Some(f64::NAN);
            }
            for part in self.single_examples(block, (theta, shared, dense), buffer, slots) {
                value += part;
            }
            self.rows_of(block, buffer, gradient);
        }
        let mut total = SharedSum::new(shared);
        for slot in slots {
            slot.sum.finish(shared);
            total.add(&slot.sum);
            slot.sum.clear(shared);
        }
        self.features.scatter_tables(&total, 0, 0, gradient);
        Some(value)
    }

    /// The first half of a block: its examples, slot by slot.
    fn single_examples(
        &self,
        block: &Block,
        (theta, shared, dense): (&[f64], &Shared<f64>, &Dense<f32>),
        buffer: &mut [f32],
        slots: &mut [Slot<G>],
    ) -> Vec<f64> {
        let mut rest = &mut buffer[..block.own_len];
        let mut tasks = Vec::with_capacity(slots.len());
        for (slot, examples) in slots.iter_mut().zip(&block.slots) {
            let len = examples.clone().map(|e| self.data.graph(e).own_len()).sum();
            let (own, tail) = std::mem::take(&mut rest).split_at_mut(len);
            rest = tail;
            tasks.push((slot, examples.clone(), own));
        }
        let run = |(slot, examples, own): (&mut Slot<G>, Range<usize>, &mut [f32])| {
            own.fill(0.0);
            let mut start = 0;
            for example in examples.clone() {
                let len = self.data.graph(example).own_len();
                let psi = &mut own[start..start + len];
                add_plane(&self.features, &self.data, example, (0, theta), dense, &mut slot.rare, psi);
                start += len;
            }
            slot.many.losses(self, examples, (theta, shared), own, &mut slot.sum)
        };
        self.threads.map(tasks, run)
    }
}

/// The loss in single precision, and in double precision for the examples that need it.
pub(super) struct Singles<G: Graph> {
    pub many: Box<dyn ManyLosses<G>>,
    worker: Box<dyn Worker<G, f64>>,
    psi: Array<f64>,
    dpsi: Array<f64>,
    values: Vec<f64>,
}

impl<G: Graph> Singles<G> {
    /// Returns the sum of the losses of some examples, and overwrites `own`, which holds their log-potentials, with dψ.
    pub(super) fn losses(
        &mut self,
        risk: &Risk<G>,
        examples: impl Iterator<Item = usize> + Clone,
        (theta, shared): (&[f64], &Shared<f64>),
        own: &mut [f32],
        sum: &mut SharedSum<f64>,
    ) -> f64 {
        let data = &risk.data;
        let mut start = 0;
        let member = |example: usize| {
            let graph = data.graph(example);
            start += graph.own_len();
            Member { graph, start: start - graph.own_len(), weight: data.weight(example) }
        };
        let members: Vec<Member<G>> = examples.clone().map(member).collect();
        let gold: Vec<&[Label]> = examples.clone().map(|example| data.gold(example)).collect();
        self.values.clear();
        self.values.resize(members.len(), 0.0);
        self.many.losses(shared, (&members, &gold), own, sum, &mut self.values);
        for ((example, member), value) in examples.zip(&members).zip(&mut self.values) {
            if value.is_nan() {
                let len = member.graph.own_len();
                let features: &Features = &risk.features;
                potentials::start(data, example, &mut self.psi);
                add(features, data, example, &[theta], &Dense::default(), &mut Vec::new(), &mut self.psi);
                self.dpsi.reserve(len);
                *value = self.worker.loss(
                    member.graph,
                    Psi { shared, own: &self.psi },
                    Gold::new(data.gold(example), member.weight),
                    &mut Gradient { own: self.dpsi.slice_mut(0..len), shared: sum },
                );
                let dpsi = &self.dpsi.plane(0)[..len];
                own[member.start..].iter_mut().zip(dpsi).for_each(|(own, x)| *own = *x as f32);
            }
        }
        self.values.iter().sum()
    }
}
