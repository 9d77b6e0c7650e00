//! Dense observations in a pass over all examples: matrix products over whole blocks.
//!
//! The products of a block are written where dψ of its examples will be, and each example takes its own from there. So a block
//! needs no further memory, and its rows are multiplied many at a time, however short the examples are. The sums for the gradient are kept
//! apart for a few tasks, whose number depends on the model alone, and added up in their order, in double precision.

use super::Risk;
use super::index::Block;
use crate::graph::Graph;
use crate::math::product::{Factor, RowsOf};
use crate::model::{DenseWeights, Features};

/// The number of tasks into which the rows of a block are divided.
const TASKS: usize = 8;
/// The most numbers that the sums of all tasks may have: 64 MB.
const SUMS: usize = 1 << 23;

/// What dense observations need in a pass. ψ and dψ have numbers of type `R`.
#[derive(Default)]
pub(super) struct Matrices<R> {
    weights: DenseWeights<R>,
    kinds: Vec<KindSums>,
}

/// The sums of one kind of table.
#[derive(Default)]
struct KindSums {
    kind: usize,
    /// Length of a matrix.
    len: usize,
    /// The sums of each plane, task after task.
    planes: [Vec<f64>; 2],
}

impl KindSums {
    /// The number of tasks.
    fn tasks(&self) -> usize {
        (SUMS / self.len.max(1)).clamp(1, TASKS)
    }
}

impl<R: Factor> Matrices<R> {
    /// Prepares a pass at θ.
    pub(super) fn start<G: Graph>(&mut self, risk: &Risk<G>, theta: &[&[f64]]) {
        let Risk { features, data, .. } = risk;
        if data.dense().is_empty() {
            return;
        }
        self.weights.set(features, theta);
        self.kinds.resize_with(data.dense().len(), Default::default);
        for (sums, dense) in self.kinds.iter_mut().zip(data.dense()) {
            (sums.kind, sums.len) = (dense.kind(), dense.width() * features.rows[dense.kind()].dense_size());
            let len = sums.tasks() * sums.len;
            for plane in sums.planes.iter_mut().take(theta.len()) {
                plane.clear();
                plane.resize(len, 0.0);
            }
        }
    }

    /// Adds the products of a block to one plane of its log-potentials, each at its table.
    pub(super) fn multiply<G: Graph>(&self, risk: &Risk<G>, block: &Block, plane: usize, psi: &mut [R]) {
        let Risk { features, data, .. } = risk;
        for ((sums, dense), tables) in self.kinds.iter().zip(data.dense()).zip(&block.dense) {
            let (rows, w) = (&features.rows[sums.kind], self.weights.matrix(sums.kind, plane));
            let values = dense.of_all(block.examples.clone());
            let x = RowsOf { values, width: dense.width(), tables };
            // Each task has the part of ψ from its first table to that of the next task.
            let (mut tasks, mut rest, mut done) = (Vec::new(), &mut psi[..block.own_len], 0);
            let bounds = |task: usize| task * tables.len() / TASKS..(task + 1) * tables.len() / TASKS;
            for range in (0..TASKS).map(bounds).filter(|range| !range.is_empty()) {
                let end = tables.get(range.end).map_or(block.own_len, |&table| table as usize);
                let (mine, behind) = rest.split_at_mut(end - done);
                tasks.push((x.part(range), mine, done));
                (rest, done) = (behind, end);
            }
            risk.threads.map(tasks, |(x, psi, start)| {
                let tables: Vec<u32> = x.tables.iter().map(|table| table - start as u32).collect();
                rows.add_products(RowsOf { tables: &tables, ..x }, w, psi);
            });
        }
    }

    /// Adds one plane of dψ of a block to the sums; see [`Rows::add_outer`](crate::model::Rows::add_outer) for what lies behind it.
    pub(super) fn take<G: Graph>(&mut self, risk: &Risk<G>, block: &Block, plane: usize, dpsi: &[R]) {
        let Risk { features, data, .. } = risk;
        for ((sums, dense), tables) in self.kinds.iter_mut().zip(data.dense()).zip(&block.dense) {
            let (rows, tasks) = (&features.rows[sums.kind], sums.tasks());
            let values = dense.of_all(block.examples.clone());
            let x = RowsOf { values, width: dense.width(), tables };
            let part = |task: usize| x.part(task * tables.len() / tasks..(task + 1) * tables.len() / tasks);
            let tasks = sums.planes[plane].chunks_exact_mut(sums.len).enumerate();
            let tasks = tasks.map(|(task, sums)| (part(task), sums)).collect();
            risk.threads.map(tasks, |(x, sums)| rows.add_outer(x, dpsi, sums));
        }
    }

    /// gradient ← gradient + the sums of a plane.
    pub(super) fn finish(&mut self, features: &Features, plane: usize, gradient: &mut [f64]) {
        for sums in &mut self.kinds {
            let rows = &features.rows[sums.kind];
            let (size, (first, others)) = (rows.dense_size(), sums.planes[plane].split_at_mut(sums.len));
            for other in others.chunks_exact(sums.len) {
                first.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
            }
            for (row, sum) in first.chunks_exact(size).enumerate() {
                rows.take_dense(sum, row as u32, &mut gradient[rows.range(row as u32)]);
            }
        }
    }
}
