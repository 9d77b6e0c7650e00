//! A pass over all examples in single precision. What it shares with [`super::full`] is the order: blocks of examples, then their rows.

use super::any_loss::Worker;
use super::index::{BLOCK, Block, SLOTS};
use super::links::{Links, Plan};
use super::matrices::Matrices;
use super::potentials::{self, Gather, potentials_with};
use super::{Risk, lock};
use crate::graph::{Gradient, Graph, Label, NODES, Psi, Shared, SharedSum};
use crate::loss::{Gold, ManyLosses, Member};
use crate::math::{Array, simd};
use crate::model::{Dense, DenseWeights};
use crate::optim::{Compute, Objective};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// What a pass in single precision needs, kept from one to the next.
pub(super) struct SingleMemory<G: Graph> {
    /// Its own plan, if it cannot share that of passes in double precision.
    plan: Option<Plan>,
    /// Node rows with numbers below this are spread out.
    dense_rows: usize,
    shared: Shared<f64>,
    dense: Dense<f32>,
    /// ψ, then dψ, of a block, and a vector more for the products of matrices.
    buffer: Vec<f32>,
    slots: Vec<Slot<G>>,
    matrices: Matrices<f32>,
}

/// What one slot of every block accumulates, and its scratch.
struct Slot<G: Graph> {
    sum: SharedSum<f64>,
    many: Singles<G>,
}

impl<G: Graph> Default for SingleMemory<G> {
    fn default() -> Self {
        SingleMemory {
            plan: None,
            dense_rows: 0,
            shared: Vec::new(),
            dense: Dense::default(),
            buffer: Vec::new(),
            slots: Vec::new(),
            matrices: Matrices::default(),
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
        let plain = plain && short && features.rows[NODES].basis.is_empty();
        let many = (compute && plain && self.is_moderate()).then(|| (self.loss.many)()).flatten()?;
        let (psi, dpsi) = (Array::default(), Array::default());
        Some(Singles { many, worker: (self.loss.real)(), psi, dpsi, values: Vec::new() })
    }

    /// Whether all dense numbers are so small that no sum of a pass overflows.
    fn is_moderate(&self) -> bool {
        const LARGEST: f32 = 1e30;
        let all = || self.data.dense().iter().all(|of| of.values().iter().all(|x| x.abs() < LARGEST));
        *self.moderate.get_or_init(all)
    }

    /// [`Objective::value_grad`] in single precision; `None` if it does not apply.
    pub(super) fn single_pass(&self, theta: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let mut memory = lock(&self.single);
        let SingleMemory { plan, dense_rows, shared, dense, buffer, slots, matrices } = &mut *memory;
        self.singles()?;
        let longest = BLOCK.max(VARIABLES * self.features.rows[NODES].stride());
        let Plan { index, links, rare } = match longest {
            // With few labels, passes in either precision share their plan.
            BLOCK => self.plan.get_or_init(|| Plan::new::<G, f64>(self, BLOCK)),
            longest => plan.get_or_insert_with(|| Plan::new::<G, f32>(self, longest)),
        };
        if slots.is_empty() {
            *dense_rows = potentials::dense_rows::<f32>(&self.features, &self.data).min(*rare as usize);
            *shared = self.features.empty_tables();
            buffer.resize(index.buffer + simd::LANES, 0.0);
            for _ in 0..SLOTS {
                slots.push(Slot { sum: SharedSum::new(shared), many: self.singles()? });
            }
        }
        self.features.fill_tables(&[theta], shared);
        let rows = &self.features.rows[NODES];
        dense.spread(rows, *dense_rows, &[theta], |tables, size, task| self.stretches(tables, size, task));
        slots.iter_mut().for_each(|slot| slot.many.many.prepare(shared));
        matrices.start(self, &[theta]);
        let mut value = 0.0;
        let gather = Gather { dense, rare: *rare };
        for (block, links) in index.blocks.iter().zip(links) {
            if self.stopped() {
                slots.iter_mut().for_each(|slot| slot.sum.clear(shared));
                return Some(f64::NAN);
            }
            if !self.data.dense().is_empty() {
                buffer.fill(0.0);
                matrices.multiply(self, block, 0, buffer);
            }
            for part in self.single_examples((block, links), (theta, shared, gather), buffer, slots) {
                value += part;
            }
            self.rows_of((block, links), buffer, gradient);
            matrices.take(self, block, 0, buffer);
        }
        let mut total = SharedSum::new(shared);
        for slot in slots {
            slot.sum.finish(shared);
            total.add(&slot.sum);
            slot.sum.clear(shared);
        }
        self.features.scatter_tables(&total, 0, 0, gradient);
        matrices.finish(&self.features, 0, gradient);
        Some(value)
    }

    /// The first half of a block: its examples, slot by slot.
    fn single_examples(
        &self,
        (block, links): (&Block, &Links),
        (theta, shared, gather): (&[f64], &Shared<f64>, Gather<f32>),
        buffer: &mut [f32],
        slots: &mut [Slot<G>],
    ) -> Vec<f64> {
        let (mut rest, mut first) = (&mut buffer[..block.own_len], 0);
        let mut tasks = Vec::with_capacity(slots.len());
        for (number, (slot, examples)) in slots.iter_mut().zip(&block.slots).enumerate() {
            let len = examples.clone().map(|e| self.data.graph(e).own_len()).sum();
            let (own, tail) = std::mem::take(&mut rest).split_at_mut(len);
            rest = tail;
            tasks.push((slot, examples.clone(), own, (number, first)));
            first += len;
        }
        let run = |(slot, examples, own, (number, first)): (&mut Slot<G>, Range<usize>, &mut [f32], _)| {
            if self.data.dense().is_empty() {
                own.fill(0.0);
            }
            links.gather(number, theta, own, first);
            let mut start = 0;
            for example in examples.clone() {
                let len = self.data.graph(example).own_len();
                let psi = &mut own[start..start + len];
                gather.add(&self.features, &self.data, example, (0, theta), psi);
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
        let mut weights = None;
        for ((example, member), value) in examples.zip(&members).zip(&mut self.values) {
            if value.is_nan() {
                let len = member.graph.own_len();
                let weights = weights.get_or_insert_with(|| DenseWeights::of(&risk.features, theta));
                potentials_with(&risk.features, data, example, (theta, weights), &mut self.psi);
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
