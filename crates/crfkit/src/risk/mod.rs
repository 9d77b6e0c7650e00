//! The empirical risk. It connects losses, which see ψ, with optimisers, which see θ. This is the only module that
//! starts threads.
//!
//! A full pass runs block by block. First come the examples of a block: each one computes its log-potentials, runs
//! the loss and writes dψ to the block's buffer. Then come the rows: each observation adds up dψ over its occurrences
//! in the block. So each weight is updated by one thread, and no thread needs a copy of the gradient. Blocks, slots
//! and parts depend on the data alone, and all sums have a fixed order: the result does not depend on the number of
//! threads.

mod batch;
mod counts;
mod derivative;
mod dual;
mod full;
mod index;
mod potentials;

pub use derivative::Derivative;
pub use potentials::potentials;

use crate::ability::Ability;
use crate::data::dataset::Dataset;
use crate::graph::Graph;
use crate::loss::Loss;
use crate::math;
use crate::model::Features;
use crate::optim::{Counts, Dual, Entropy, Objective, Touched};
use crate::{Error, Result};
use batch::BatchMemory;
use derivative::{ComplexMemory, ComplexPasses};
use full::FullMemory;
use index::Index;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// Σ loss over the examples of a data set.
pub struct Risk<L: Loss> {
    loss: L,
    features: Arc<Features>,
    data: Dataset<L::Graph>,
    /// `None` if one thread is used.
    pool: Option<rayon::ThreadPool>,
    /// Created by the first full pass.
    index: OnceLock<Index>,
    full: Mutex<FullMemory<L, f64>>,
    full_dual: Mutex<FullMemory<L, math::Dual>>,
    batch: Mutex<BatchMemory<L, f64>>,
    batch_dual: Mutex<BatchMemory<L, math::Dual>>,
    /// Set if complex steps are requested.
    complex_passes: Option<ComplexPasses<L>>,
    complex: Mutex<ComplexMemory<L>>,
}

impl<L: Loss> Risk<L> {
    /// The risk of `data` under `loss`. With `threads` = 0 all cores are used.
    pub fn new(
        loss: L,
        features: impl Into<Arc<Features>>,
        data: Dataset<L::Graph>,
        threads: usize,
    ) -> Result<Self> {
        let pool = match threads {
            1 => None,
            _ => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .map_err(|e| Error::Setting(format!("cannot start {threads} threads: {e}")))?,
            ),
        };
        Ok(Risk {
            loss,
            features: features.into(),
            data,
            pool,
            index: OnceLock::new(),
            full: Mutex::default(),
            full_dual: Mutex::default(),
            batch: Mutex::default(),
            batch_dual: Mutex::default(),
            complex_passes: None,
            complex: Mutex::default(),
        })
    }

    /// Replaces the examples by others with the same features; returns the old ones.
    pub fn replace_data(&mut self, data: Dataset<L::Graph>) -> Dataset<L::Graph> {
        // The memory of a full pass depends on the examples.
        self.index = OnceLock::new();
        (self.full, self.full_dual, self.complex) = Default::default();
        std::mem::replace(&mut self.data, data)
    }

    /// The map from weights to tables.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The examples.
    pub fn data(&self) -> &Dataset<L::Graph> {
        &self.data
    }
}

/// Locks memory that every use overwrites: a panic in another thread leaves nothing behind that matters.
fn lock<T>(memory: &Mutex<T>) -> MutexGuard<'_, T> {
    memory.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<L: Loss> Objective for Risk<L> {
    fn dim(&self) -> usize {
        self.features.dim()
    }

    fn examples(&self) -> usize {
        self.data.len()
    }

    fn gives(&self) -> &'static [Ability] {
        self.loss.gives()
    }

    fn value_grad(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        self.full_pass(&[theta], &mut [gradient], &mut lock(&self.full))
    }

    fn value_grad_checked(&self, theta: &[f64], gradient: &mut [f64]) -> (f64, usize) {
        let mut memory = lock(&self.full);
        (self.full_pass(&[theta], &mut [gradient], &mut memory), memory.impossible())
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], gradient: &mut [f64], hess_vec: &mut [f64]) -> f64 {
        match &self.complex_passes {
            None => self.full_pass(&[theta, v], &mut [gradient, hess_vec], &mut lock(&self.full_dual)).re,
            Some(complex) => (complex.full)(self, [theta, v], gradient, hess_vec),
        }
    }

    fn expect(&self, next: &[u32]) {
        self.data.expect(next);
    }

    fn touched(&self, batch: &[u32], touched: &mut Touched) {
        let (features, kinds) = (&self.features, self.features.rows.len());
        touched.start(features.first_row(kinds) + 1);
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
        self.batch_pass(batch, &[theta], touched, &mut [gradient], &mut lock(&self.batch))
    }

    fn batch_hess_vec(
        &self,
        batch: &[u32],
        [theta, v]: [&[f64]; 2],
        touched: &Touched,
        gradient: &mut Vec<f64>,
        hess_vec: &mut Vec<f64>,
    ) -> f64 {
        match &self.complex_passes {
            None => {
                let planes = &mut [gradient, hess_vec];
                self.batch_pass(batch, &[theta, v], touched, planes, &mut lock(&self.batch_dual)).re
            }
            Some(complex) => (complex.batch)(self, batch, [theta, v], touched, gradient, hess_vec),
        }
    }

    fn counts(&self) -> Option<Counts> {
        self.gives().contains(&Ability::Counts).then(|| self.feature_counts()).flatten()
    }

    fn in_stretches(&self, out: &mut [f64], size: usize, task: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        match &self.pool {
            Some(pool) => pool.install(|| {
                out.par_chunks_mut(size).enumerate().for_each(|(k, out)| task(k, out));
            }),
            None => out.chunks_mut(size).enumerate().for_each(|(k, out)| task(k, out)),
        }
    }

    fn dual(&self, entropy: Entropy) -> Option<Box<dyn Dual + '_>> {
        dual::Marginals::new(self, entropy).map(|dual| Box::new(dual) as _)
    }
}
