//! A pass over all examples.

use super::any_loss::{Maker, Worker};
use super::index::{BLOCK, Block, Index, Part, SLOTS};
use super::matrices::Matrices;
use super::potentials::{Rare, add, start};
use super::{Risk, gold};
use crate::graph::{Gradient, Graph, NODES, Psi, Shared, SharedSum};
use crate::math::{Array, Real, Scalar, SliceMut};
use crate::model::Dense;
use crate::optim::Objective;
use std::ops::Range;

/// What a full pass needs, kept from one to the next.
pub(super) struct FullMemory<G: Graph, S: Scalar> {
    /// Made by the first pass.
    shared: Shared<S>,
    dense: Dense,
    /// dψ of a block.
    buffer: Array<S>,
    slots: Vec<Slot<G, S>>,
    matrices: Matrices,
}

/// What one slot of every block accumulates, and its scratch.
struct Slot<G: Graph, S: Scalar> {
    sum: SharedSum<S>,
    psi: Array<S>,
    rare: Vec<Rare>,
    worker: Box<dyn Worker<G, S>>,
    /// Losses of the last pass below [`IMPOSSIBLE`].
    impossible: usize,
}

/// No loss is negative, but rounding, and iterations that stop before the last digit, may leave it slightly below 0.
const IMPOSSIBLE: f64 = -1e-3;

impl<G: Graph, S: Scalar> Default for FullMemory<G, S> {
    fn default() -> Self {
        FullMemory {
            shared: Vec::new(),
            dense: Dense::default(),
            buffer: Array::default(),
            slots: Vec::new(),
            matrices: Matrices::default(),
        }
    }
}

impl<G: Graph, S: Scalar> FullMemory<G, S> {
    /// How many losses of the last pass were impossible.
    pub(super) fn impossible(&self) -> usize {
        self.slots.iter().map(|slot| slot.impossible).sum()
    }
}

/// The point at which a pass is evaluated: θ, and the quantities computed from it once.
struct At<'a, S> {
    theta: &'a [&'a [f64]],
    shared: &'a Shared<S>,
    dense: &'a Dense,
}

impl<G: Graph> Risk<G> {
    /// Returns Σ loss at `theta` and adds its gradient; one vector a plane. NaN if the pass was cut short.
    pub(super) fn full_pass<S: Scalar>(
        &self,
        theta: &[&[f64]],
        gradient: &mut [&mut [f64]],
        memory: &mut FullMemory<G, S>,
        worker: &Maker<G, S>,
    ) -> S {
        let index = self.index.get_or_init(|| Index::new::<G, f64>(self, BLOCK));
        let FullMemory { shared, dense, buffer, slots, matrices } = memory;
        if slots.is_empty() {
            *shared = self.features.empty_tables();
            buffer.reset(index.buffer, 0.0);
            let slot = || Slot {
                sum: SharedSum::new(shared),
                psi: Array::default(),
                rare: Vec::new(),
                worker: worker(),
                impossible: 0,
            };
            *slots = std::iter::repeat_with(slot).take(SLOTS).collect();
        }
        self.features.fill_tables(theta, shared);
        let rows = &self.features.rows[NODES];
        dense.spread(rows, index.dense_rows, theta, |tables, size, task| self.stretches(tables, size, task));
        slots.iter_mut().for_each(|slot| slot.impossible = 0);
        matrices.start(self, theta);
        let at = At { theta, shared, dense };
        let mut value = S::lift(0.0);
        for block in &index.blocks {
            if self.stopped() {
                slots.iter_mut().for_each(|slot| slot.sum.clear(shared));
                return S::lift(f64::NAN);
            }
            matrices.multiply(self, block, buffer);
            for part in self.examples_of(block, &at, buffer, slots) {
                value += part;
            }
            for (plane, gradient) in gradient.iter_mut().enumerate() {
                self.rows_of(block, buffer.plane(plane), gradient);
            }
            matrices.take(self, block, buffer);
        }
        let mut total = SharedSum::new(shared);
        for slot in slots {
            slot.sum.finish(shared);
            total.add(&slot.sum);
            slot.sum.clear(shared);
        }
        for (plane, gradient) in gradient.iter_mut().enumerate() {
            self.features.scatter_tables(&total, plane, 0, gradient);
            matrices.finish(&self.features, plane, gradient);
        }
        value
    }

    /// The first half of a block: its examples, slot by slot.
    fn examples_of<S: Scalar>(
        &self,
        block: &Block,
        at: &At<S>,
        buffer: &mut Array<S>,
        slots: &mut [Slot<G, S>],
    ) -> Vec<S> {
        let mut rest = buffer.slice_mut(0..block.own_len);
        let mut tasks = Vec::with_capacity(slots.len());
        for (slot, examples) in slots.iter_mut().zip(&block.slots) {
            let len = examples.clone().map(|e| self.data.graph(e).own_len()).sum();
            let (dpsi, tail) = rest.split(len);
            rest = tail;
            tasks.push((slot, examples.clone(), dpsi));
        }
        let run = |(slot, examples, dpsi)| self.slot(slot, examples, at, dpsi);
        self.threads.map(tasks, run)
    }

    /// Processes consecutive examples.
    fn slot<S: Scalar>(
        &self,
        slot: &mut Slot<G, S>,
        examples: Range<usize>,
        at: &At<S>,
        mut dpsi: SliceMut<S>,
    ) -> S {
        let mut value = S::lift(0.0);
        let mut offset = 0;
        for example in examples {
            let graph = self.data.graph(example);
            let own = dpsi.part(offset..offset + graph.own_len());
            match self.data.dense() {
                [] => start(&self.data, example, &mut slot.psi),
                // The products are where dψ will be.
                _ => take_over(&own, graph.own_len(), &mut slot.psi),
            }
            add(&self.features, &self.data, example, at.theta, at.dense, &mut slot.rare, &mut slot.psi);
            let loss = slot.worker.loss(
                graph,
                Psi { shared: at.shared, own: &slot.psi },
                gold(&self.data, example),
                &mut Gradient { own, shared: &mut slot.sum },
            );
            slot.impossible += usize::from(loss.re() < IMPOSSIBLE);
            value += loss;
            offset += graph.own_len();
        }
        value
    }

    /// The second half of a block: its rows, part by part.
    pub(super) fn rows_of<R: Real>(&self, block: &Block, dpsi: &[R], gradient: &mut [f64]) {
        let mut tasks = Vec::with_capacity(block.parts.len());
        let (mut rest, mut done) = (gradient, 0);
        for part in &block.parts {
            let (mine, tail) = std::mem::take(&mut rest).split_at_mut(part.end - done);
            tasks.push((part, mine, done));
            (rest, done) = (tail, part.end);
        }
        let run = |(part, mine, first): (&Part, &mut [f64], usize)| {
            block.occurrences.add_rows(part.rows.clone(), &self.features, dpsi, mine, first)
        };
        self.threads.map(tasks, run);
    }
}

/// Copies the first `len` numbers of `from` to `own`.
fn take_over<S: Scalar>(from: &SliceMut<S>, len: usize, own: &mut Array<S>) {
    own.reserve(len);
    own.plane_mut(0)[..len].copy_from_slice(&from.re[..len]);
    if S::PLANES > 1 {
        own.plane_mut(1)[..len].copy_from_slice(&from.eps[..len]);
    }
}
