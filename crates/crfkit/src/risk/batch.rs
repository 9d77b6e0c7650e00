//! Passes over a few examples, for online steps. Their cost depends on the rows that they touch.
//!
//! The examples of a large batch are evaluated in parts, on all threads. The parts depend on the batch alone, and sums have
//! a fixed order, so the result does not depend on the number of threads.

use super::any_loss::{Maker, Worker};
use super::{Risk, gold};
use crate::data::dataset::{Dataset, DenseNumbers};
use crate::graph::{Gradient, Graph, Psi, Shared, SharedSum};
use crate::math::product::RowsOf;
use crate::math::{Array, Scalar, Slice, SliceMut, simd};
use crate::model::{Features, Rows};
use crate::optim::Touched;

/// What a batch needs, kept from one to the next.
pub(super) struct BatchMemory<G: Graph, S: Scalar> {
    /// dψ of the batch, example after example.
    dpsi: Array<S>,
    local: Local,
    /// Made by the first batch.
    shared: Shared<S>,
    parts: Vec<BatchPart<G, S>>,
}

/// What one part of a batch needs.
struct BatchPart<G: Graph, S: Scalar> {
    worker: Box<dyn Worker<G, S>>,
    psi: Array<S>,
    sum: SharedSum<S>,
}

impl<G: Graph, S: Scalar> Default for BatchMemory<G, S> {
    fn default() -> Self {
        let (dpsi, local, shared) = Default::default();
        BatchMemory { dpsi, local, shared, parts: Vec::new() }
    }
}

/// A batch of at least this many examples is divided into parts.
const LARGE: usize = 8;
/// The largest number of parts. Each has a sum of the shared tables, so many parts of few examples would cost time.
const PARTS: usize = 8;

impl<G: Graph> Risk<G> {
    /// Returns Σ loss of the batch and overwrites `gradient`, one vector a plane, with the rows of `touched` side by side.
    pub(super) fn batch_pass<S: Scalar>(
        &self,
        batch: &[u32],
        (theta, touched): (&[&[f64]], &Touched),
        gradient: &mut [&mut Vec<f64>],
        memory: &mut BatchMemory<G, S>,
        worker: &Maker<G, S>,
    ) -> S {
        let BatchMemory { dpsi, local, shared, parts } = memory;
        if parts.is_empty() {
            *shared = self.features.empty_tables();
        }
        let count = if batch.len() < LARGE { 1 } else { (batch.len() / 2).min(PARTS) };
        while parts.len() < count {
            parts.push(BatchPart { worker: worker(), psi: Array::default(), sum: SharedSum::new(shared) });
        }
        self.features.fill_tables(theta, shared);
        local.start(&self.features, touched, theta);
        let place = (&*self.features, &self.data, touched);
        let occurrences = &touched.occurrences()[self.features.dense_rows()..];
        let own_len =
            |examples: &[u32]| examples.iter().map(|&e| self.data.graph(e as usize).own_len()).sum();
        dpsi.reserve(own_len(batch));
        let mut tasks = Vec::with_capacity(count);
        let (mut rest, mut used) = (dpsi.slice_mut(0..own_len(batch)), 0);
        for (part, examples) in parts.iter_mut().zip(batch.chunks(batch.len().div_ceil(count).max(1))) {
            let (mine, tail) = rest.split(own_len(examples));
            tasks.push((part, examples, &occurrences[used..], mine));
            rest = tail;
            used += examples.iter().map(|&example| self.data.observed(example as usize)).sum::<usize>();
        }
        let parts = tasks.len();
        let values = self.threads.map(tasks, |(part, examples, occurrences, dpsi)| {
            part.sum.clear(shared);
            let value = self.batch_part((part, shared, local), place, theta, (examples, occurrences), dpsi);
            part.sum.finish(shared);
            value
        });
        let (mut start, mut used) = (0, 0);
        for example in batch.iter().map(|&example| example as usize) {
            let mine = used..used + self.data.observed(example);
            let own = start..start + self.data.graph(example).own_len();
            (start, used) = (own.end, mine.end);
            local.take_rows(place, example, &occurrences[mine], dpsi.slice(own));
        }
        let first = self.features.first_shared_weight();
        for (plane, gradient) in gradient.iter_mut().enumerate() {
            local.pack(&self.features, touched, plane, gradient);
            let start = gradient.len();
            gradient.resize(start + self.features.dim() - first, 0.0);
            for part in &memory.parts[..parts] {
                self.features.scatter_tables(&part.sum, plane, first, &mut gradient[start..]);
            }
        }
        values.into_iter().fold(S::lift(0.0), |sum, value| sum + value)
    }

    /// Returns Σ loss of some examples of a batch and overwrites `dpsi`.
    fn batch_part<S: Scalar>(
        &self,
        (part, shared, local): (&mut BatchPart<G, S>, &Shared<S>, &Local),
        place: Where<G>,
        theta: &[&[f64]],
        (examples, mut occurrences): (&[u32], &[u32]),
        mut dpsi: SliceMut<S>,
    ) -> S {
        let BatchPart { worker, psi, sum } = part;
        let (mut value, mut start) = (S::lift(0.0), 0);
        for example in examples.iter().map(|&example| example as usize) {
            let graph = self.data.graph(example);
            let own = start..start + graph.own_len();
            start = own.end;
            let mine = local.add_rows(place, theta, example, occurrences, psi);
            occurrences = &occurrences[mine..];
            value += worker.loss(
                graph,
                Psi { shared, own: psi },
                gold(&self.data, example),
                &mut Gradient { own: dpsi.part(own), shared: sum },
            );
        }
        value
    }
}

/// If rows occur this many times on average, spreading them out pays off.
const REPEATED: usize = 2;

/// The rows of a batch, by number: their gradients and, if rows repeat often, also their weights.
#[derive(Default)]
pub(super) struct Local {
    layout: Layout,
    /// The start of each touched row's table, if rows are spread out.
    offsets: Vec<usize>,
    /// The end of the gradients.
    end: usize,
    weights: [Vec<f64>; 2],
    gradient: [Vec<f64>; 2],
}

/// How the rows of a batch are laid out.
#[derive(Clone, Copy, Default)]
enum Layout {
    /// One after another, in the order in which the gradient is returned. Weights are read from θ.
    #[default]
    Packed,
    /// Spaced so far apart that adding a row takes a few vector additions; for rows that are a single line. Without
    /// the gaps, the vectors of neighbouring rows would overlap, and a processor stalls when it reads a vector that
    /// has just been written in parts. Weights are read from θ.
    Apart(usize),
    /// As padded tables of weights and gradients, so that adding a row takes a few vector additions. Those of dense rows, which come first,
    /// are matrices.
    Spread,
}

impl Local {
    /// Prepares the weights of the touched rows and sets their gradients to zero.
    pub(super) fn start(&mut self, features: &Features, touched: &Touched, theta: &[&[f64]]) {
        self.place(features, touched);
        for rows in features.rows.iter().filter(|rows| !rows.complete()) {
            touched.expect_rows(&rows.entry, rows.base);
        }
        for (plane, theta) in theta.iter().enumerate() {
            clear(&mut self.gradient[plane], self.end);
            if let Layout::Spread = self.layout {
                clear(&mut self.weights[plane], self.end);
                for (row, &offset) in touched.rows().iter().zip(&self.offsets) {
                    if let Some((kind, id)) = features.row(row.row) {
                        let (rows, table) = (&features.rows[kind], &mut self.weights[plane][offset..]);
                        match (id as usize) < rows.dense {
                            true => rows.spread_dense(theta, id, &mut table[..rows.dense_size()]),
                            false => rows.spread(theta, row.weights(), table),
                        }
                    }
                }
            }
        }
    }

    /// Decides where the touched rows go. The last one is the row of the shared tables and gets no place.
    fn place(&mut self, features: &Features, touched: &Touched) {
        let rows = touched.rows();
        let dense = features.dense_rows() > 0;
        if let Some(width) = features.line_width().filter(|_| !dense) {
            let width = if width <= simd::NARROW { simd::NARROW } else { simd::padded(width) };
            self.layout = Layout::Apart(width);
            self.end = width * rows.len().saturating_sub(1);
        } else if !dense && touched.occurrences().len() < REPEATED * rows.len() {
            self.layout = Layout::Packed;
            self.end = rows.last().map_or(0, |row| row.place().start);
        } else {
            self.layout = Layout::Spread;
            self.offsets.clear();
            self.end = 0;
            for row in rows {
                self.offsets.push(self.end);
                if let Some((kind, id)) = features.row(row.row) {
                    let rows = &features.rows[kind];
                    self.end += if (id as usize) < rows.dense { rows.dense_size() } else { rows.size() };
                }
            }
        }
    }

    /// Sets the gradients of the touched rows to zero, for callers that need no weights.
    pub(super) fn start_gradient(&mut self, features: &Features, touched: &Touched) {
        self.place(features, touched);
        clear(&mut self.gradient[0], self.end);
    }

    /// ψ of an example: the sum of its rows. `occurrences` begins with those of the example. Returns how many belong
    /// to it.
    pub(super) fn add_rows<S: Scalar>(
        &self,
        (features, data, touched): Where<impl Graph>,
        theta: &[&[f64]],
        example: usize,
        occurrences: &[u32],
        own: &mut Array<S>,
    ) -> usize {
        let graph = data.graph(example);
        own.reserve(graph.own_len());
        let mut used = 0;
        for (plane, theta) in theta.iter().enumerate() {
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
                let rows = &features.rows[graph.own_kind(f)];
                self.add_table(&Occurrences { rows, touched, list: mine, values }, plane, theta, psi);
            }
            let mut first = 0;
            for dense in data.dense() {
                let (rows, tables) = (&features.rows[dense.kind()], tables_of(dense, graph));
                let x = RowsOf { values: dense.of(example), width: dense.width(), tables: &tables };
                let w = &self.weights[plane][self.offsets[first]..][..rows.dense * rows.dense_size()];
                rows.add_products(x, w, psi);
                first += rows.dense;
            }
        }
        used
    }

    /// ψ of a table: the sum of its rows. Not inlined, so that its kernels are compiled once for all graphs and numbers.
    #[inline(never)]
    fn add_table(&self, of: &Occurrences, plane: usize, theta: &[f64], psi: &mut [f64]) {
        let Occurrences { rows, touched, list, values } = *of;
        if let Layout::Spread = self.layout {
            let offset = |row: u32| self.offsets[row as usize];
            simd::add_tables(&self.weights[plane], offset, list, values, psi);
        } else if rows.has_tables_in(theta) {
            // What lies behind a row falls on padding, which is so low that nothing changes it; its derivative is 0.
            let start = |row: u32| touched.rows()[row as usize].weights().start;
            match rows.columns <= simd::NARROW {
                true => simd::add_narrow_tables(theta, start, list, values, psi),
                false => simd::add_tables(theta, start, list, values, psi),
            }
            if plane > 0 {
                psi[rows.columns..].fill(0.0);
            }
        } else {
            for (k, &row) in list.iter().enumerate() {
                let value = values.get(k).copied().unwrap_or(1.0);
                rows.gather_at(theta, touched.rows()[row as usize].weights(), value, psi);
            }
        }
    }

    /// Adds dψ of an example to the gradients of its rows.
    pub(super) fn take_rows<S: Scalar>(
        &mut self,
        (features, data, touched): Where<impl Graph>,
        example: usize,
        occurrences: &[u32],
        dpsi: Slice<S>,
    ) {
        let graph = data.graph(example);
        for plane in 0..S::PLANES {
            let dpsi = if plane == 0 { dpsi.re } else { dpsi.eps };
            let mut used = 0;
            for (f, table) in data.tables(example).enumerate() {
                let (observations, values) = data.observations(table);
                let dpsi = &dpsi[graph.own_offset(f)..][..graph.own_size(f)];
                let mine = &occurrences[used..used + observations.len()];
                used += observations.len();
                let rows = &features.rows[graph.own_kind(f)];
                self.take_table(&Occurrences { rows, touched, list: mine, values }, plane, dpsi);
            }
            let mut first = 0;
            for dense in data.dense() {
                let (rows, tables) = (&features.rows[dense.kind()], tables_of(dense, graph));
                let x = RowsOf { values: dense.of(example), width: dense.width(), tables: &tables };
                let sums = self.offsets[first]..self.offsets[first] + rows.dense * rows.dense_size();
                rows.add_outer(x, dpsi, &mut self.gradient[plane][sums]);
                first += rows.dense;
            }
        }
    }

    /// Adds dψ of a table to the gradients of its rows. Not inlined, as [`Local::add_table`].
    #[inline(never)]
    fn take_table(&mut self, of: &Occurrences, plane: usize, dpsi: &[f64]) {
        let Occurrences { rows, touched, list, values } = *of;
        let gradient = &mut self.gradient[plane];
        match self.layout {
            Layout::Packed => {
                for (k, &row) in list.iter().enumerate() {
                    let value = values.get(k).copied().unwrap_or(1.0);
                    let row = &touched.rows()[row as usize];
                    rows.scatter_at(dpsi, row.weights(), value, &mut gradient[row.place()]);
                }
            }
            Layout::Apart(simd::NARROW) => {
                let offset = |row: u32| simd::NARROW * row as usize;
                simd::add_to_narrow_tables(dpsi, offset, list, values, gradient);
            }
            Layout::Apart(width) => {
                simd::add_to_tables(dpsi, |row| width * row as usize, list, values, gradient);
            }
            Layout::Spread => {
                simd::add_to_tables(dpsi, |row| self.offsets[row as usize], list, values, gradient);
            }
        }
    }

    /// Overwrites `out` with the gradients of the touched rows, one after another. The gradients are lost afterwards.
    pub(super) fn pack(&mut self, features: &Features, touched: &Touched, plane: usize, out: &mut Vec<f64>) {
        match self.layout {
            Layout::Packed => std::mem::swap(out, &mut self.gradient[plane]),
            Layout::Apart(simd::NARROW) => {
                // Copies whole tables: the surplus is overwritten by the next row.
                let end = touched.rows().last().map_or(0, |row| row.place().start);
                out.resize(end + simd::NARROW, 0.0);
                let (tables, _) = self.gradient[plane].as_chunks::<{ simd::NARROW }>();
                for (row, table) in touched.rows().iter().zip(tables) {
                    out[row.place().start..][..simd::NARROW].copy_from_slice(table);
                }
                out.truncate(end);
            }
            Layout::Apart(width) => {
                out.resize(touched.rows().last().map_or(0, |row| row.place().start), 0.0);
                for (row, table) in touched.rows().iter().zip(self.gradient[plane].chunks_exact(width)) {
                    // A row has only a few weights, so a loop is faster than a call that copies.
                    out[row.place()].iter_mut().zip(table).for_each(|(out, x)| *out = *x);
                }
            }
            Layout::Spread => {
                out.clear();
                for (row, &offset) in touched.rows().iter().zip(&self.offsets) {
                    if let Some((kind, id)) = features.row(row.row) {
                        let (rows, table) = (&features.rows[kind], &self.gradient[plane][offset..]);
                        match (id as usize) < rows.dense {
                            true => rows.append_dense(table, id, out),
                            false => rows.pick(table, row.weights(), out),
                        }
                    }
                }
            }
        }
    }
}

/// Where the tables of dense observations begin.
fn tables_of(dense: &DenseNumbers, graph: &impl Graph) -> Vec<u32> {
    let mut tables = Vec::new();
    dense.add_tables(graph, 0, &mut tables);
    tables
}

/// The observations of one table of an example.
struct Occurrences<'a> {
    rows: &'a Rows,
    touched: &'a Touched,
    /// Numbers of their rows among the touched ones.
    list: &'a [u32],
    /// Their values; none where all are 1.
    values: &'a [f64],
}

/// What the rows of a batch belong to.
pub(super) type Where<'a, G> = (&'a Features, &'a Dataset<G>, &'a Touched);

/// Sets `x` to `len` zeros.
fn clear(x: &mut Vec<f64>, len: usize) {
    x.clear();
    x.resize(len, 0.0);
}
