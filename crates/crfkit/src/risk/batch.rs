//! A few examples, for online steps. The touched rows are spread out to whole tables first, so that adding one is a few vector
//! additions; the gradient is gathered the same way and packed at the end.

use super::Risk;
use crate::data::dataset::Dataset;
use crate::graph::{Gradient, Graph, Psi, Shared, SharedSum};
use crate::loss::{Gold, Loss};
use crate::math::{Array, Scalar, simd};
use crate::model::Features;
use crate::optim::Touched;

/// What a batch needs, kept from one to the next.
pub(super) struct BatchMemory<L: Loss, S: Scalar> {
    psi: Array<S>,
    dpsi: Array<S>,
    work: L::Work<S>,
    local: Local,
    /// The shared tables and their gradient, made by the first batch.
    tables: Option<(Shared<S>, SharedSum<S>)>,
}

impl<L: Loss, S: Scalar> Default for BatchMemory<L, S> {
    fn default() -> Self {
        BatchMemory {
            psi: Array::default(),
            dpsi: Array::default(),
            work: Default::default(),
            local: Local::default(),
            tables: None,
        }
    }
}

impl<L: Loss> Risk<L> {
    /// Returns Σ loss of the batch and overwrites `gradient`, one vector a plane, with the rows of `touched` side by side.
    pub(super) fn batch_pass<S: Scalar>(
        &self,
        batch: &[u32],
        theta: &[&[f64]],
        touched: &Touched,
        gradient: &mut [&mut Vec<f64>],
        memory: &mut BatchMemory<L, S>,
    ) -> S {
        let BatchMemory { psi, dpsi, work, local, tables } = memory;
        let (shared, sum) = tables.get_or_insert_with(|| {
            let shared = self.features.empty_tables();
            let sum = SharedSum::new(&shared);
            (shared, sum)
        });
        self.features.fill_tables(theta, shared);
        sum.clear();
        local.spread(&self.features, touched, theta);
        let mut value = S::lift(0.0);
        let mut occurrences = touched.occurrences();
        for &example in batch {
            let example = example as usize;
            let graph = self.data.graph(example);
            let mine = local.add_rows(&self.data, example, occurrences, psi);
            dpsi.reserve(graph.own_len());
            value += self.loss.loss(
                graph,
                Psi { shared, own: psi },
                Gold { labels: self.data.gold(example), weight: self.data.weight(example) },
                &mut Gradient { own: dpsi.slice_mut(0..graph.own_len()), shared: sum },
                work,
            );
            local.take_rows(&self.data, example, &occurrences[..mine], dpsi);
            occurrences = &occurrences[mine..];
        }
        sum.finish(shared);
        let first = self.features.first_shared_weight();
        for (plane, gradient) in gradient.iter_mut().enumerate() {
            gradient.clear();
            local.pack(&self.features, touched, plane, gradient);
            let start = gradient.len();
            gradient.resize(start + self.features.dim() - first, 0.0);
            self.features.scatter_tables(sum, plane, first, &mut gradient[start..]);
        }
        value
    }
}

/// Touched rows by number: their weights and their gradients as padded tables.
#[derive(Default)]
pub(super) struct Local {
    /// Where the table of each touched row starts.
    offsets: Vec<usize>,
    weights: [Vec<f64>; 2],
    gradient: [Vec<f64>; 2],
}

impl Local {
    /// Spreads the weights of the touched rows out and sets their gradients to zero.
    pub(super) fn spread(&mut self, features: &Features, touched: &Touched, theta: &[&[f64]]) {
        let len = self.place(features, touched);
        for rows in features.rows.iter().filter(|rows| !rows.complete()) {
            touched.expect_rows(&rows.entry, rows.base);
        }
        for (plane, theta) in theta.iter().enumerate() {
            touched.expect_rows(theta, 0);
            for table in [&mut self.weights[plane], &mut self.gradient[plane]] {
                table.clear();
                table.resize(len, 0.0);
            }
            for ((&touched, range), &offset) in touched.rows().iter().zip(touched.ranges()).zip(&self.offsets)
            {
                if let Some((kind, _)) = features.row(touched) {
                    features.rows[kind].spread(theta, range.clone(), &mut self.weights[plane][offset..]);
                }
            }
        }
    }

    /// Decides where the tables of the touched rows start (the last row stands for the shared tables and has none); returns where
    /// they end.
    fn place(&mut self, features: &Features, touched: &Touched) -> usize {
        self.offsets.clear();
        let mut len = 0;
        for &touched in touched.rows() {
            self.offsets.push(len);
            len += features.row(touched).map_or(0, |(kind, _)| features.rows[kind].size());
        }
        len
    }

    /// Sets the gradients of the touched rows to zero, where no weights are needed.
    pub(super) fn clear(&mut self, features: &Features, touched: &Touched) {
        let len = self.place(features, touched);
        self.gradient[0].clear();
        self.gradient[0].resize(len, 0.0);
    }

    /// ψ of an example: the sum of its rows. `occurrences` starts with the example's; returns how many are its own.
    pub(super) fn add_rows<S: Scalar>(
        &self,
        data: &Dataset<impl Graph>,
        example: usize,
        occurrences: &[u32],
        own: &mut Array<S>,
    ) -> usize {
        let graph = data.graph(example);
        own.reserve(graph.own_len());
        let mut used = 0;
        for plane in 0..S::PLANES {
            let psi = &mut own.plane_mut(plane)[..graph.own_len()];
            match plane {
                0 => graph.clear_own(psi),
                _ => psi.fill(0.0),
            }
            used = 0;
            for (f, table) in data.tables(example).enumerate() {
                let (observations, values) = data.observations(table);
                let psi = &mut psi[graph.own_offset(f)..][..graph.own_size(f)];
                let mine = &occurrences[used..used + observations.len()];
                used += observations.len();
                simd::add_tables(&self.weights[plane], &self.offsets, mine, values, psi);
            }
        }
        used
    }

    /// Adds dψ of an example to the gradients of its rows.
    pub(super) fn take_rows<S: Scalar>(
        &mut self,
        data: &Dataset<impl Graph>,
        example: usize,
        occurrences: &[u32],
        dpsi: &Array<S>,
    ) {
        let graph = data.graph(example);
        for plane in 0..S::PLANES {
            let dpsi = dpsi.plane(plane);
            let mut used = 0;
            for (f, table) in data.tables(example).enumerate() {
                let (observations, values) = data.observations(table);
                let dpsi = &dpsi[graph.own_offset(f)..][..graph.own_size(f)];
                let mine = &occurrences[used..used + observations.len()];
                used += observations.len();
                simd::add_to_tables(dpsi, &self.offsets, mine, values, &mut self.gradient[plane]);
            }
        }
    }

    /// Appends the gradients of the touched rows, side by side.
    pub(super) fn pack(&self, features: &Features, touched: &Touched, plane: usize, out: &mut Vec<f64>) {
        for ((&touched, range), &offset) in touched.rows().iter().zip(touched.ranges()).zip(&self.offsets) {
            if let Some((kind, _)) = features.row(touched) {
                features.rows[kind].pick(&self.gradient[plane][offset..], range.clone(), out);
            }
        }
    }
}
