//! The empirical risk. It connects losses, which see ψ, with optimisers, which see θ. Its threads make the passes over the data.
//!
//! A full pass runs block by block. First come the examples of a block: each one computes its log-potentials, runs
//! the loss and writes dψ to the block's buffer. Then come the rows: each observation adds up dψ over its occurrences
//! in the block. So each weight is updated by one thread, and no thread needs a copy of the gradient. Blocks, slots
//! and parts depend on the data alone, and all sums have a fixed order: the result does not depend on the number of
//! threads.

mod any_loss;
mod batch;
mod blocks;
mod counts;
mod derivative;
mod dual;
mod flat;
mod full;
mod index;
mod links;
mod matrices;
mod occurrences;
mod packed;
mod potentials;
mod single;
mod threads;
mod value;

pub use derivative::Derivative;
pub use potentials::potentials;
pub(crate) use potentials::potentials_with;
pub(crate) use threads::{in_parts, thread_count};

use crate::Result;
use crate::ability::Ability;
use crate::data::dataset::Dataset;
use crate::graph::Graph;
use crate::loss::{Gold, Loss};
use crate::math;
use crate::model::Features;
use crate::optim::{Blocks, Compute, Distance, DualProblem, FeatureCounts, Objective, Touched};
use any_loss::AnyLoss;
use batch::BatchMemory;
use blocks::ExampleBlocks;
use derivative::ComplexMemory;
use full::FullMemory;
use links::Plan;
use single::SingleMemory;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use threads::Threads;

/// Σ loss over the examples of a data set of graphs of one kind. The loss may be any on such graphs.
pub struct Risk<G: Graph> {
    loss: AnyLoss<G>,
    features: Arc<Features>,
    data: Dataset<G>,
    /// The threads that all passes run on.
    threads: Threads,
    /// Created by the first full pass.
    plan: OnceLock<Plan>,
    full: Mutex<FullMemory<G, f64>>,
    full_dual: Mutex<FullMemory<G, math::Dual>>,
    batch: Mutex<BatchMemory<G, f64>>,
    batch_dual: Mutex<BatchMemory<G, math::Dual>>,
    complex: Mutex<ComplexMemory<G>>,
    single: Mutex<SingleMemory<G>>,
    /// Whether the dense numbers suit single precision, once that was asked.
    moderate: OnceLock<bool>,
    compute: Mutex<Compute>,
    /// Whether the optimum is far, for [`Compute::Auto`].
    far: AtomicBool,
    /// Set when passes over all examples are to end early.
    stop: Mutex<Option<Arc<AtomicBool>>>,
}

impl<G: Graph> Risk<G> {
    /// The risk of `data` under `loss`. `threads` = 0 takes all cores.
    pub fn new(
        loss: impl Loss<Graph = G> + 'static,
        features: impl Into<Arc<Features>>,
        data: Dataset<G>,
        threads: usize,
    ) -> Result<Self> {
        Risk::of(AnyLoss::new(loss), features.into(), data, threads)
    }

    /// The same with a choice of how Hessian-vector products are computed.
    pub fn with_derivative(
        loss: impl Loss<Graph = G> + 'static,
        derivative: Derivative,
        features: impl Into<Arc<Features>>,
        data: Dataset<G>,
        threads: usize,
    ) -> Result<Self> {
        let loss = match derivative {
            Derivative::Dual => AnyLoss::new(loss),
            Derivative::Complex => AnyLoss::with_complex(loss),
        };
        Risk::of(loss, features.into(), data, threads)
    }

    fn of(loss: AnyLoss<G>, features: Arc<Features>, data: Dataset<G>, threads: usize) -> Result<Self> {
        Ok(Risk {
            loss,
            features,
            data,
            threads: Threads::new(threads)?,
            plan: OnceLock::new(),
            full: Mutex::default(),
            full_dual: Mutex::default(),
            batch: Mutex::default(),
            batch_dual: Mutex::default(),
            complex: Mutex::default(),
            single: Mutex::default(),
            moderate: OnceLock::new(),
            compute: Mutex::new(Compute::F64),
            far: AtomicBool::new(false),
            stop: Mutex::default(),
        })
    }

    /// Makes something of every item, on all threads. Each thread has a counter for every row of features, which is 0 before and after.
    fn count_in<I: Sync, T: Send>(&self, items: &[I], make: impl Fn(&I, &mut [u32]) -> T + Sync) -> Vec<T> {
        let size = items.len().div_ceil(2 * self.threads.count()).max(1);
        let made = self.threads.map(items.chunks(size).collect(), |items| {
            let mut counter = vec![0u32; self.features.first_row(self.features.rows.len())];
            items.iter().map(|item| make(item, &mut counter)).collect::<Vec<_>>()
        });
        made.into_iter().flatten().collect()
    }

    /// Like [`Objective::in_stretches`], for items of any type.
    fn stretches<T: Send>(&self, out: &mut [T], size: usize, task: &(dyn Fn(usize, &mut [T]) + Sync)) {
        let stretches = out.chunks_mut(size).enumerate();
        match self.threads.count() {
            1 => stretches.for_each(|(k, out)| task(k, out)),
            _ => drop(self.threads.map(stretches.collect(), |(k, out)| task(k, out))),
        }
    }

    /// Replaces the examples by others with the same features; returns the old ones.
    pub fn replace_data(&mut self, data: Dataset<G>) -> Dataset<G> {
        // What a full pass keeps is cut to the examples.
        self.plan = OnceLock::new();
        self.moderate = OnceLock::new();
        (self.full, self.full_dual, self.complex, self.single) = Default::default();
        std::mem::replace(&mut self.data, data)
    }

    /// The map from weights to tables.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The examples.
    pub fn data(&self) -> &Dataset<G> {
        &self.data
    }
}

/// Locks memory that every use overwrites: a panic in another thread leaves nothing behind that matters.
fn lock<T>(memory: &Mutex<T>) -> MutexGuard<'_, T> {
    memory.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<G: Graph> Objective for Risk<G> {
    fn dim(&self) -> usize {
        self.features.dim()
    }

    fn examples(&self) -> usize {
        self.data.len()
    }

    fn provides(&self) -> &'static [Ability] {
        self.loss.gives
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        if let Some(value) = self.single_pass(theta, gradient) {
            return value;
        }
        self.full_pass(&[theta], &mut [gradient], &mut lock(&self.full), &self.loss.real)
    }

    fn value_grad_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        if let Some(value) = self.single_pass(theta, gradient) {
            return (value, 0);
        }
        let mut memory = lock(&self.full);
        (self.full_pass(&[theta], &mut [gradient], &mut memory, &self.loss.real), memory.impossible())
    }

    fn value_checked(&self, theta: &[f64]) -> (f64, usize) {
        match self.value_is_quicker() {
            true => self.value_pass(theta),
            false => self.value_grad_checked(theta, &mut vec![0.0; theta.len()]),
        }
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        match &self.loss.complex {
            None => {
                let (planes, memory) = (&mut [gradient, hess_vec], &mut lock(&self.full_dual));
                self.full_pass(&[theta, v], planes, memory, &self.loss.dual).re
            }
            Some(worker) => self.complex_full([theta, v], gradient, hess_vec, worker),
        }
    }

    fn stop_when(&self, flag: Option<Arc<AtomicBool>>) {
        *lock(&self.stop) = flag;
    }

    fn stopped(&self) -> bool {
        lock(&self.stop).as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    fn expect(&self, next: &[u32]) {
        self.data.expect(next);
    }

    fn touched(&self, batch: &[u32], touched: &mut Touched) {
        let (features, kinds) = (&self.features, self.features.rows.len());
        touched.start(features.first_row(kinds) + 1);
        // Every batch has all dense rows; they come first.
        for (kind, rows) in features.rows.iter().enumerate().filter(|(_, rows)| rows.dense > 0) {
            let ids: Vec<u32> = (0..rows.dense as u32).collect();
            touched.add_all(features.first_row(kind), &ids, |id| rows.range(id));
        }
        for &example in batch {
            let graph = self.data.graph(example as usize);
            for (f, table) in self.data.tables(example as usize).enumerate() {
                let first = features.first_row(graph.own_kind(f));
                touched.expect(self.data.observations(table).0.iter().map(|&id| first + id as usize));
            }
        }
        for &example in batch {
            let graph = self.data.graph(example as usize);
            for (f, table) in self.data.tables(example as usize).enumerate() {
                let kind = graph.own_kind(f);
                let first = features.first_row(kind);
                let rows = &features.rows[kind];
                touched.add_all(first, self.data.observations(table).0, |id| rows.range(id));
            }
        }
        touched.add(features.first_row(kinds), || features.first_shared_weight()..features.dim());
    }

    fn batch_grad(&self, batch: &[u32], theta: &[f64], touched: &Touched, gradient: &mut Vec<f64>) -> f64 {
        let place = (&[theta][..], touched);
        self.batch_pass(batch, place, &mut [gradient], &mut lock(&self.batch), &self.loss.real)
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        let planes = [gradient, hess_vec];
        match &self.loss.complex {
            None => {
                let (mut planes, memory) = (planes, &mut lock(&self.batch_dual));
                let place = (&[theta, v][..], touched);
                self.batch_pass(batch, place, &mut planes, memory, &self.loss.dual).re
            }
            Some(worker) => self.complex_batch(batch, [theta, v], touched, planes, worker),
        }
    }

    fn counts(&self) -> Option<FeatureCounts> {
        self.provides().contains(&Ability::Counts).then(|| self.feature_counts()).flatten()
    }

    fn in_stretches(&self, out: &mut [f64], size: usize, task: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        self.stretches(out, size, task);
    }

    fn in_parallel(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        self.threads.each(tasks, task);
    }

    fn on_threads(&self, work: &mut (dyn FnMut() + Send)) {
        self.threads.within(work);
    }

    fn blocks(&self, variables: usize, least: usize, seed: u64) -> Option<Box<dyn Blocks + '_>> {
        let variables = variables.min(self.data.variables() / least.max(1));
        ExampleBlocks::new(self, variables, seed).map(|blocks| Box::new(blocks) as _)
    }

    fn compute(&self, with: Compute) {
        *lock(&self.compute) = with;
    }

    fn approach(&self, distance: Distance) -> bool {
        let before = self.singles().is_some();
        self.far.store(distance == Distance::Far, Ordering::Relaxed);
        let after = self.singles().is_some();
        if before && !after {
            *lock(&self.single) = SingleMemory::default();
        }
        before != after
    }

    fn dual(&self) -> Option<Box<dyn DualProblem + '_>> {
        dual::Marginals::new(self).map(|dual| Box::new(dual) as _)
    }
}

/// The gold labels and weights of an example.
fn gold<G: Graph>(data: &Dataset<G>, example: usize) -> Gold<'_> {
    let variables = data.variable_weights(example);
    Gold { labels: data.gold(example), sets: data.sets(), weight: data.weight(example), variables }
}
