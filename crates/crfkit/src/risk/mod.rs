//! The empirical risk: the hinge between losses (which see ψ) and optimisers (which see θ). Threads live here and nowhere else.
//!
//! A full pass runs block by block. First the examples of a block: each gathers its log-potentials, runs the loss and leaves
//! dψ in the block's buffer. Then the rows: each observation adds up dψ over its occurrences in the block, so a weight has one
//! owner and nothing needs a copy of the gradient per thread. Blocks, slots and parts are cut by the data alone, and all sums
//! have a fixed order: the result does not depend on the number of threads.

mod index;
mod local;

use crate::data::dataset::Dataset;
use crate::graph::{Chain, Gradient, Graph, Psi, Shared, SharedSum};
use crate::loss::{Gold, Loss};
use crate::math::{Array, Dual, Scalar, SliceMut, simd};
use crate::model::Features;
use crate::optim::{Objective, Touched};
use crate::{Error, Result};
use index::{Block, Index};
use local::Local;
use rayon::prelude::*;
use std::sync::{Mutex, OnceLock};

/// Σ loss over the examples of a data set.
pub struct Risk<L: Loss> {
    loss: L,
    features: Features,
    data: Dataset<L::Graph>,
    pool: Option<rayon::ThreadPool>,
    index: OnceLock<Index>,
    /// Node rows below this are spread out to full tables before a full pass (see [`Dense`]).
    dense_rows: usize,
    scratch: Mutex<Vec<Scratch<L, f64>>>,
}

/// What one worker needs: log-potentials of one example and their gradient, the engine's memory, and for batches the touched
/// rows and the shared tables.
struct Scratch<L: Loss, S: Scalar> {
    own: Array<S>,
    dpsi: Array<S>,
    work: L::Work<S>,
    local: Local,
    shared: Option<Shared<S>>,
    sum: Option<SharedSum<S>>,
}

impl<L: Loss, S: Scalar> Default for Scratch<L, S> {
    fn default() -> Self {
        Scratch {
            own: Array::default(),
            dpsi: Array::default(),
            work: Default::default(),
            local: Local::default(),
            shared: None,
            sum: None,
        }
    }
}

/// The weights of the most frequent observations, spread out to whole padded tables: adding one is a few vector additions
/// instead of a walk over its labels. Rows are numbered by frequency, so these are the first ones.
struct Dense {
    rows: usize,
    stride: usize,
    planes: [Vec<f64>; 2],
}

/// Bytes of spread-out rows: they should stay in the second-level cache.
const DENSE_BYTES: usize = 1 << 22;
/// Rows that occur more rarely than this are not worth spreading out in each pass.
const DENSE_COUNT: u32 = 8;
/// Rows wider than this mostly hold labels that were never seen with the observation.
const DENSE_STRIDE: usize = 64;

impl<L: Loss<Graph = Chain>> Risk<L> {
    /// The risk of `data` under `loss`. `threads` = 0 takes all cores.
    pub fn new(loss: L, features: Features, data: Dataset<Chain>, threads: usize) -> Result<Self> {
        let pool = match threads {
            1 => None,
            _ => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .map_err(|e| Error::Setting(format!("cannot start {threads} threads: {e}")))?,
            ),
        };
        let dense_rows = dense_rows(&features, &data);
        Ok(Risk { loss, features, data, pool, index: OnceLock::new(), dense_rows, scratch: Mutex::default() })
    }

    /// The map from weights to tables.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The examples.
    pub fn data(&self) -> &Dataset<Chain> {
        &self.data
    }

    /// Gives the features back.
    pub fn into_features(self) -> Features {
        self.features
    }

    /// Loss of one example; dψ of its own tables goes to `own`, of the shared tables is added to `sum`.
    fn example<S: Scalar>(
        &self,
        example: usize,
        at: &At<S>,
        own: SliceMut<S>,
        sum: &mut SharedSum<S>,
        scratch: &mut Scratch<L, S>,
    ) -> S {
        let dense = at.dense.as_ref();
        fill_potentials(&self.features, &self.data, example, at.theta, dense, &mut scratch.own);
        self.loss.loss(
            self.data.graph(example),
            Psi { shared: &at.shared, own: &scratch.own },
            Gold { labels: self.data.gold(example), weight: self.data.weight(example) },
            &mut Gradient { own, shared: sum },
            &mut scratch.work,
        )
    }

    /// All examples.
    fn full<S: Scalar>(&self, theta: &[&[f64]], gradient: &mut [&mut [f64]]) -> S {
        let index = self.index.get_or_init(|| Index::new(&self.features, &self.data));
        let at = At::new(&self.features, theta, Some(self.spread(theta)));
        let mut buffer = Array::<S>::zeros(index.buffer);
        let mut slots: Vec<Slot<L, S>> = (0..index::SLOTS)
            .map(|_| Slot { sum: SharedSum::new(&at.shared), scratch: Scratch::default() })
            .collect();
        let mut value = S::lift(0.0);
        for block in &index.blocks {
            for part in self.examples_of(block, &at, &mut buffer, &mut slots) {
                value += part;
            }
            for (plane, gradient) in gradient.iter_mut().enumerate() {
                self.rows_of(block, buffer.plane(plane), gradient);
            }
        }
        let mut total = SharedSum::new(&at.shared);
        for slot in &mut slots {
            slot.sum.finish(&at.shared);
            total.add(&slot.sum);
        }
        for (plane, gradient) in gradient.iter_mut().enumerate() {
            self.features.scatter_tables(&total, plane, 0, gradient);
        }
        value
    }

    /// First half of a block: its examples, slot by slot.
    fn examples_of<S: Scalar>(
        &self,
        block: &Block,
        at: &At<S>,
        buffer: &mut Array<S>,
        slots: &mut [Slot<L, S>],
    ) -> Vec<S> {
        let mut rest = buffer.slice_mut(0..block.own_len);
        let mut tasks = Vec::with_capacity(slots.len());
        for (slot, range) in slots.iter_mut().zip(&block.slots) {
            let len = range.clone().map(|e| self.data.graph(e).own_len()).sum();
            let (own, tail) = rest.split(len);
            rest = tail;
            tasks.push((slot, range.clone(), own));
        }
        let run = |(slot, range, mut own): (&mut Slot<L, S>, std::ops::Range<usize>, SliceMut<S>)| {
            let mut value = S::lift(0.0);
            let mut offset = 0;
            for example in range {
                let len = self.data.graph(example).own_len();
                let own = own.part(offset..offset + len);
                value += self.example(example, at, own, &mut slot.sum, &mut slot.scratch);
                offset += len;
            }
            value
        };
        match &self.pool {
            Some(pool) => pool.install(|| tasks.into_par_iter().map(run).collect()),
            None => tasks.into_iter().map(run).collect(),
        }
    }

    /// Second half of a block: its rows, part by part.
    fn rows_of(&self, block: &Block, dpsi: &[f64], gradient: &mut [f64]) {
        let mut tasks = Vec::with_capacity(block.parts.len());
        let (mut rest, mut done) = (gradient, 0);
        for part in &block.parts {
            let end = part.end;
            let (mine, tail) = std::mem::take(&mut rest).split_at_mut(end - done);
            tasks.push((part, mine, done));
            (rest, done) = (tail, end);
        }
        let run = |(part, mine, first): (&index::Part, &mut [f64], usize)| {
            block.add_rows(part.rows.clone(), &self.features, dpsi, mine, first)
        };
        match &self.pool {
            Some(pool) => pool.install(|| tasks.into_par_iter().for_each(run)),
            None => tasks.into_iter().for_each(run),
        }
    }

    /// A few examples, one after the other. The touched rows are spread out to whole tables first, so that adding one is a few
    /// vector additions; the gradient is gathered the same way and packed at the end.
    fn batch<S: Scalar>(
        &self,
        batch: &[u32],
        theta: &[&[f64]],
        touched: &Touched,
        gradient: &mut [&mut Vec<f64>],
        scratch: &mut Scratch<L, S>,
    ) -> S {
        let Scratch { own, dpsi, work, local, shared, sum } = scratch;
        let shared = shared.get_or_insert_with(|| self.features.empty_tables());
        self.features.fill_tables(theta, shared);
        let sum = sum.get_or_insert_with(|| SharedSum::new(shared));
        sum.clear();
        local.spread(&self.features, touched, theta);
        let mut value = S::lift(0.0);
        let mut occurrences = touched.occurrences();
        for &example in batch {
            let example = example as usize;
            let graph = self.data.graph(example);
            own.reserve(graph.own_len());
            dpsi.reserve(graph.own_len());
            let mine = local.add_rows(&self.data, example, occurrences, own);
            value += self.loss.loss(
                graph,
                Psi { shared, own },
                Gold { labels: self.data.gold(example), weight: self.data.weight(example) },
                &mut Gradient { own: dpsi.slice_mut(0..graph.own_len()), shared: sum },
                work,
            );
            local.take_rows(&self.data, example, &occurrences[..mine], dpsi);
            occurrences = &occurrences[mine..];
        }
        sum.finish(shared);
        for (plane, gradient) in gradient.iter_mut().enumerate() {
            gradient.clear();
            local.pack(&self.features, touched, plane, gradient);
            let first = self.features.tables[0].base;
            let start = gradient.len();
            gradient.resize(start + self.dim() - first, 0.0);
            self.features.scatter_tables(sum, plane, first, &mut gradient[start..]);
        }
        value
    }

    /// Spreads out the weights of frequent observations.
    fn spread(&self, theta: &[&[f64]]) -> Dense {
        let rows = &self.features.rows[crate::graph::NODES];
        let mut dense = Dense { rows: self.dense_rows, stride: rows.stride(), planes: Default::default() };
        for (plane, theta) in theta.iter().enumerate() {
            dense.planes[plane] = vec![0.0; dense.rows * dense.stride];
            for (id, table) in dense.planes[plane].chunks_exact_mut(dense.stride).enumerate() {
                rows.gather(theta, id as u32, 1.0, table);
            }
        }
        dense
    }
}

/// Log-potentials of one example: ψ = A θ. Overwrites `own`.
pub fn potentials(
    features: &Features,
    data: &Dataset<Chain>,
    example: usize,
    theta: &[f64],
    own: &mut Array<f64>,
) {
    fill_potentials(features, data, example, &[theta], None, own);
}

fn fill_potentials<S: Scalar>(
    features: &Features,
    data: &Dataset<Chain>,
    example: usize,
    theta: &[&[f64]],
    dense: Option<&Dense>,
    own: &mut Array<S>,
) {
    let graph = data.graph(example);
    let len = graph.own_len();
    own.reserve(len);
    for (plane, theta) in theta.iter().enumerate() {
        let psi = &mut own.plane_mut(plane)[..len];
        match plane {
            0 => graph.clear_own(psi),
            _ => psi.fill(0.0),
        }
        for (f, table) in data.tables(example).enumerate() {
            let rows = &features.rows[graph.own_kind(f)];
            let psi = &mut psi[graph.own_offset(f)..];
            let (observations, values) = data.observations(table);
            match dense {
                Some(dense) if rows.lines == 1 && values.is_empty() => {
                    let (limit, psi) = (dense.rows as u32, &mut psi[..dense.stride]);
                    simd::add_rows(&dense.planes[plane], observations, limit, psi);
                    for &id in observations.iter().filter(|&&id| id >= limit) {
                        rows.gather(theta, id, 1.0, psi);
                    }
                }
                _ => {
                    for (k, &id) in observations.iter().enumerate() {
                        rows.gather(theta, id, values.get(k).copied().unwrap_or(1.0), psi);
                    }
                }
            }
        }
    }
}

/// How many of the first node rows are worth spreading out.
fn dense_rows(features: &Features, data: &Dataset<Chain>) -> usize {
    let rows = &features.rows[crate::graph::NODES];
    if rows.stride() > DENSE_STRIDE {
        return 0;
    }
    let limit = (DENSE_BYTES / (8 * rows.stride())).min(rows.len);
    let mut counts = vec![0u32; limit];
    for example in 0..data.len() {
        for table in data.tables(example).take(data.graph(example).len) {
            for &id in data.observations(table).0 {
                if let Some(count) = counts.get_mut(id as usize) {
                    *count += 1;
                }
            }
        }
    }
    counts.iter().position(|&count| count < DENSE_COUNT).unwrap_or(limit)
}

/// One θ, ready for use.
struct At<'a, S> {
    theta: &'a [&'a [f64]],
    shared: Shared<S>,
    dense: Option<Dense>,
}

impl<'a, S: Scalar> At<'a, S> {
    fn new(features: &Features, theta: &'a [&'a [f64]], dense: Option<Dense>) -> Self {
        let mut shared = features.empty_tables();
        features.fill_tables(theta, &mut shared);
        At { theta, shared, dense }
    }
}

/// What one slot of every block accumulates.
struct Slot<L: Loss, S: Scalar> {
    sum: SharedSum<S>,
    scratch: Scratch<L, S>,
}

impl<L: Loss<Graph = Chain>> Objective for Risk<L> {
    fn dim(&self) -> usize {
        self.features.dim()
    }

    fn examples(&self) -> usize {
        self.data.len()
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.full::<f64>(&[theta], &mut [gradient])
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        self.full::<Dual>(&[theta, v], &mut [gradient, hess_vec]).re
    }

    fn touched(&self, batch: &[u32], touched: &mut Touched) {
        let rows = &self.features.rows;
        touched.start(rows[0].len + rows[1].len + 1);
        for &example in batch {
            let graph = self.data.graph(example as usize);
            for (f, table) in self.data.tables(example as usize).enumerate() {
                let kind = graph.own_kind(f);
                for &id in self.data.observations(table).0 {
                    touched.add(kind * rows[0].len + id as usize, || rows[kind].range(id));
                }
            }
        }
        touched.add(rows[0].len + rows[1].len, || self.features.tables[0].base..self.dim());
    }

    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64 {
        let mut scratch = self.scratch.lock().unwrap_or_else(|e| e.into_inner()).pop().unwrap_or_default();
        let value = self.batch::<f64>(batch, &[theta], touched, &mut [gradient], &mut scratch);
        self.scratch.lock().unwrap_or_else(|e| e.into_inner()).push(scratch);
        value
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        let planes = &mut [gradient, hess_vec];
        self.batch::<Dual>(batch, &[theta, v], touched, planes, &mut Scratch::default()).re
    }
}
