//! A pass over all examples.

use super::any_loss::{Maker, Worker};
use super::index::{BLOCK, Block, Part, SLOTS};
use super::links::{Links, Plan};
use super::matrices::Matrices;
use super::potentials::{Gather, clear};
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
    matrices: Matrices<f64>,
}

/// What one slot of every block accumulates, and its scratch.
struct Slot<G: Graph, S: Scalar> {
    sum: SharedSum<S>,
    psi: Array<S>,
    worker: Box<dyn Worker<G, S>>,
    /// Losses of the last pass below [`IMPOSSIBLE`].
    impossible: usize,
}

/// Whether a loss is impossible.
pub(super) fn is_impossible(loss: f64) -> bool {
    loss < IMPOSSIBLE
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
    gather: Gather<'a, f64>,
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
        let Plan { index, links, rare } = self.plan.get_or_init(|| Plan::new::<G, f64>(self, BLOCK));
        let FullMemory { shared, dense, buffer, slots, matrices } = memory;
        if slots.is_empty() {
            *shared = self.features.empty_tables();
            buffer.reset(index.buffer, 0.0);
            let slot = || Slot {
                sum: SharedSum::new(shared),
                psi: Array::default(),
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
        let at = At { theta, shared, gather: Gather { dense, rare: *rare } };
        let mut value = S::lift(0.0);
        for (block, links) in index.blocks.iter().zip(links) {
            if self.stopped() {
                slots.iter_mut().for_each(|slot| slot.sum.clear(shared));
                return S::lift(f64::NAN);
            }
            self.multiply(matrices, block, theta.len(), buffer);
            for part in self.examples_of((block, links), &at, buffer, slots) {
                value += part;
            }
            for (plane, gradient) in gradient.iter_mut().enumerate() {
                self.rows_of((block, links), buffer.plane(plane), gradient);
                matrices.take(self, block, plane, buffer.plane(plane));
            }
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

    /// buffer ← the log-potentials of the dense observations of a block, if there are any.
    fn multiply<S: Scalar>(
        &self,
        matrices: &Matrices<f64>,
        block: &Block,
        planes: usize,
        buffer: &mut Array<S>,
    ) {
        for plane in 0..if self.data.dense().is_empty() { 0 } else { planes } {
            let psi = &mut buffer.plane_mut(plane)[..block.own_len];
            let mut start = 0;
            for graph in block.examples.clone().map(|example| self.data.graph(example)) {
                clear(graph, plane, &mut psi[start..start + graph.own_len()]);
                start += graph.own_len();
            }
            matrices.multiply(self, block, plane, psi);
        }
    }

    /// The first half of a block: its examples, slot by slot.
    fn examples_of<S: Scalar>(
        &self,
        (block, links): (&Block, &Links),
        at: &At<S>,
        buffer: &mut Array<S>,
        slots: &mut [Slot<G, S>],
    ) -> Vec<S> {
        let (mut rest, mut first) = (buffer.slice_mut(0..block.own_len), 0);
        let mut tasks = Vec::with_capacity(slots.len());
        for (number, (slot, examples)) in slots.iter_mut().zip(&block.slots).enumerate() {
            let len = examples.clone().map(|e| self.data.graph(e).own_len()).sum();
            let (own, tail) = rest.split(len);
            rest = tail;
            tasks.push((slot, examples.clone(), own, (number, first)));
            first += len;
        }
        let run = |(slot, examples, mut own, (number, first)): (&mut _, Range<usize>, SliceMut<S>, _)| {
            self.begin(examples.clone(), &mut own);
            links.gather(number, at.theta[0], own.re, first);
            if S::PLANES > 1 {
                links.gather(number, at.theta[1], own.eps, first);
            }
            self.slot(slot, examples, at, own)
        };
        self.threads.map(tasks, run)
    }

    /// Sets the log-potentials of consecutive examples to 0, unless the products of matrices are there.
    fn begin<S: Scalar>(&self, examples: Range<usize>, own: &mut SliceMut<S>) {
        if self.data.dense().is_empty() {
            let mut start = 0;
            for graph in examples.map(|example| self.data.graph(example)) {
                clear(graph, 0, &mut own.re[start..start + graph.own_len()]);
                start += graph.own_len();
            }
            own.eps.fill(0.0);
        }
    }

    /// Processes consecutive examples. `dpsi` holds the beginning of their log-potentials.
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
            take_over(&own, graph.own_len(), &mut slot.psi);
            for (plane, theta) in at.theta.iter().enumerate() {
                let psi = &mut slot.psi.plane_mut(plane)[..graph.own_len()];
                at.gather.add(&self.features, &self.data, example, (plane, theta), psi);
            }
            let loss = slot.worker.loss(
                graph,
                Psi { shared: at.shared, own: &slot.psi },
                gold(&self.data, example),
                &mut Gradient { own, shared: &mut slot.sum },
            );
            slot.impossible += usize::from(is_impossible(loss.re()));
            value += loss;
            offset += graph.own_len();
        }
        value
    }

    /// The second half of a block: its rows, part by part.
    pub(super) fn rows_of<R: Real>(
        &self,
        (block, links): (&Block, &Links),
        dpsi: &[R],
        gradient: &mut [f64],
    ) {
        links.scatter(&self.threads, dpsi, gradient);
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
