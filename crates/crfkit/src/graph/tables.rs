//! The log-potentials ψ of one example, and the storage for their gradient.

use super::{FORBIDDEN, Factor, Graph, Label, LabelRules, SegmentLabels, Sparse, TableRef, Triples};
use crate::math::{Array, Scalar, SliceMut, log_sum_exp, simd};
use std::sync::Arc;

/// A table that all examples share, `[rows][stride]`, of which `labels` columns are in use. It holds the logarithms
/// and, in both orientations, the exponentials. They are computed once per θ.
#[derive(Clone, Debug)]
pub struct Table<S> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns in use.
    pub labels: usize,
    /// Row length: `labels` rounded up to whole vectors.
    pub stride: usize,
    /// Log-potentials. Padding holds [`simd::PAD`].
    pub log: Array<S>,
    /// The transpose of `log` `[labels][padded rows]`. Padding holds [`simd::PAD`].
    pub log_t: Array<S>,
    /// log Σ exp of each column `[stride]`. Padding holds [`simd::PAD`].
    pub columns: Array<S>,
    /// exp(log − shift) `[rows][stride]`. Padding is 0.
    pub exp: Array<S>,
    /// The transpose of `exp` `[labels][padded rows]`. Padding is 0.
    pub exp_t: Array<S>,
    /// The largest log-potential, or a little more.
    pub shift: f64,
    /// `shift` minus the smallest log-potential that is not forbidden.
    pub spread: f64,
    /// The number of steps in which every label leads to every other: 1 unless pairs are forbidden, ∞ if there is no such number.
    pub steps: f64,
    /// The shift used in `exp` and `exp_t` for the entries of a sparse table that have no weight.
    rest: Option<f64>,
    /// The same table in sparse form (ones plus a few pairs), if it has that form.
    #[doc(hidden)]
    pub sparse: Option<Sparse<S>>,
    /// The rules that are imposed on the table.
    pub rules: Option<Arc<LabelRules>>,
    /// The same table block by block, if it is that of three labels. Of the other forms it then has `log` alone.
    #[doc(hidden)]
    pub triples: Option<Triples<S>>,
    /// The labels of segments, if it is the table of their lengths.
    pub segments: Option<Arc<SegmentLabels>>,
}

/// Up to this spread, exp(log − shift) is a normal number everywhere.
const NORMAL_SPREAD: f64 = 700.0;
/// The shift of a sparse table is a multiple of this, so that it changes rarely and depends only on the table.
const SHIFT_STEP: f64 = 8.0;

impl<S: Scalar> Table<S> {
    /// A table whose log-potentials are all 0.
    pub fn new(rows: usize, labels: usize) -> Self {
        let stride = simd::padded(labels);
        let mut table = Table {
            rows,
            labels,
            stride,
            log: Array::zeros(rows * stride),
            log_t: Array::zeros(labels * simd::padded(rows)),
            columns: Array::zeros(stride),
            exp: Array::zeros(rows * stride),
            exp_t: Array::zeros(labels * simd::padded(rows)),
            shift: 0.0,
            spread: 0.0,
            steps: 1.0,
            rest: None,
            sparse: None,
            rules: None,
            triples: None,
            segments: None,
        };
        let pad = |lines: &mut [f64], width: usize, used: usize| {
            lines.chunks_exact_mut(width).for_each(|line| line[used..].fill(simd::PAD));
        };
        pad(table.log.plane_mut(0), stride, labels);
        pad(table.log_t.plane_mut(0), simd::padded(rows), rows);
        pad(table.columns.plane_mut(0), stride, labels);
        table.update();
        table
    }

    /// Updates everything else from `log`.
    pub fn update(&mut self) {
        if let Some(triples) = &mut self.triples {
            (self.shift, self.spread) = triples.update(&self.log, self.stride);
            return;
        }
        match self.sparse.take() {
            Some(mut sparse) => {
                self.update_pairs(&mut sparse);
                self.sparse = Some(sparse);
            }
            None => self.update_all(),
        }
    }

    pub(super) fn update_all(&mut self) {
        let (mut max, mut min) = (f64::NEG_INFINITY, f64::INFINITY);
        for row in self.log.plane(0).chunks_exact(self.stride) {
            for &x in &row[..self.labels] {
                (max, min) = (max.max(x), min.min(x));
            }
        }
        if self.rules.is_some() {
            let used = self.log.plane(0).chunks_exact(self.stride).flat_map(|row| &row[..self.labels]);
            min = used.copied().filter(|w| *w > -FORBIDDEN / 2.0).fold(f64::INFINITY, f64::min);
        }
        (self.shift, self.spread) = (max, max - min);
        let across = simd::padded(self.rows);
        for i in 0..self.rows {
            for j in 0..self.labels {
                let w = self.log.get(i * self.stride + j);
                let x = (w - S::lift(max)).exp();
                self.exp.set(i * self.stride + j, x);
                self.log_t.set(j * across + i, w);
                self.exp_t.set(j * across + i, x);
            }
        }
        for j in 0..self.labels {
            let column = j * across..j * across + self.rows;
            let sum = if self.spread <= NORMAL_SPREAD {
                S::lift(max) + self.exp_t.slice(column).sum().ln()
            } else {
                log_sum_exp(self.rows, |i| self.log_t.get(column.start + i))
            };
            self.columns.set(j, sum);
        }
    }

    /// The same for a table in which few pairs have a weight. An online step changes only these: with hundreds of
    /// labels, updating the whole table would cost more than inference. `shift` moves in steps so that the other
    /// entries stay valid.
    fn update_pairs(&mut self, sparse: &mut Sparse<S>) {
        let (low, high) = sparse.range(&self.log);
        let shift = SHIFT_STEP * (high / SHIFT_STEP).ceil();
        let normal = shift - low <= NORMAL_SPREAD;
        if !normal {
            self.update_all();
            self.rest = None;
        }
        sparse.update(&self.log, self.stride, if normal { shift } else { self.shift });
        if !normal {
            return;
        }
        (self.shift, self.spread) = (shift, shift - low);
        let (constant, across) = (sparse.constant(), simd::padded(self.rows));
        if self.rest != Some(shift) {
            self.rest = Some(shift);
            for (array, width, used) in
                [(&mut self.exp, self.stride, self.labels), (&mut self.exp_t, across, self.rows)]
            {
                let lines = array.plane_mut(0).chunks_exact_mut(width);
                lines.for_each(|line| line[..used].fill(constant.re()));
            }
        }
        self.columns.slice_mut(0..self.labels).fill(self.rows as f64);
        for &entry in &sparse.entries {
            self.columns.add(entry as usize % self.stride, S::lift(-1.0));
        }
        for j in 0..self.labels {
            self.columns.set(j, self.columns.get(j) * constant);
        }
        let exponentials = sparse.exponentials();
        for (k, &entry) in sparse.entries.iter().enumerate() {
            let (i, j) = (entry as usize / self.stride, entry as usize % self.stride);
            let x = exponentials.at(k);
            self.exp.set(entry as usize, x);
            self.exp_t.set(j * across + i, x);
            self.log_t.set(j * across + i, self.log.get(entry as usize));
            self.columns.add(j, x);
        }
        for j in 0..self.labels {
            self.columns.set(j, S::lift(shift) + self.columns.get(j).ln());
        }
    }

    /// The real parts of the table, as numbers of type `T`, without the sparse form.
    pub fn real<T: Scalar>(&self) -> Table<T> {
        let real = |x: &Array<S>| {
            let mut array = Array::zeros(x.len());
            array.plane_mut(0).copy_from_slice(x.plane(0));
            array
        };
        Table {
            rows: self.rows,
            labels: self.labels,
            stride: self.stride,
            log: real(&self.log),
            log_t: real(&self.log_t),
            columns: real(&self.columns),
            exp: real(&self.exp),
            exp_t: real(&self.exp_t),
            shift: self.shift,
            spread: self.spread,
            steps: self.steps,
            rest: None,
            sparse: None,
            rules: self.rules.clone(),
            triples: self.triples.as_ref().map(Triples::real),
            segments: self.segments.clone(),
        }
    }
}

/// The tables that all examples share, computed once per θ.
pub type Shared<S> = Vec<Table<S>>;

/// The log-potentials of one example.
#[derive(Clone, Copy, Debug)]
pub struct Psi<'a, S> {
    /// Shared tables.
    pub shared: &'a [Table<S>],
    /// The example's own tables, laid out as its graph specifies.
    pub own: &'a Array<S>,
}

impl<S: Scalar> Psi<'_, S> {
    /// The log-potential that `factor` assigns to a labelling.
    #[inline]
    pub fn value(&self, factor: &Factor, labels: &[Label]) -> S {
        match factor.table {
            TableRef::Shared(id) => self.shared[id].log.get(factor.entry(labels)),
            TableRef::Own(offset) => self.own.get(offset + factor.entry(labels)),
        }
    }

    /// The score of a labelling: the sum over all factors.
    pub fn score<G: Graph>(&self, graph: &G, labels: &[Label]) -> S {
        let mut score = S::lift(0.0);
        graph.for_each_entry(labels, |table, entry| {
            score += match table {
                TableRef::Shared(id) => self.shared[id].log.get(entry),
                TableRef::Own(offset) => self.own.get(offset + entry),
            }
        });
        score
    }
}

/// The gradient with respect to one shared table, summed over many examples.
#[derive(Clone, Debug)]
pub struct TableSum<S> {
    /// A sum of outer products that still lack the factor exp(log − shift). Engines add α γᵀ here, and
    /// [`SharedSum::finish`] multiplies once per chunk instead of once per position.
    pub outer: Array<S>,
    /// The same sum for the pairs of a sparse table, or for the blocks of a table of three labels.
    pub pairs: Array<S>,
    /// All other contributions, complete as they are.
    pub direct: Array<S>,
    /// The transpose of `direct`, for losses that walk along columns; empty until requested
    /// ([`TableSum::transposed`]).
    pub(crate) direct_t: Array<S>,
    /// A sum of weights for whole columns: each entry receives the weight times exp(log − log Σ of its column). Empty
    /// until requested ([`TableSum::columns`]).
    pub columns: Array<S>,
}

impl<S: Scalar> TableSum<S> {
    /// The storage for gradients along columns, `[labels][padded rows]` like [`Table::log_t`].
    pub fn transposed(&mut self, table: &Table<S>) -> &mut Array<S> {
        self.direct_t.reserve(table.log_t.len());
        &mut self.direct_t
    }

    /// The storage for weights of whole columns, `[stride]`.
    pub fn columns(&mut self, table: &Table<S>) -> &mut Array<S> {
        self.columns.reserve(table.stride);
        &mut self.columns
    }

    /// Adds all other parts to `direct` and resets them to zero.
    fn finish(&mut self, table: &Table<S>) {
        if let Some(triples) = &table.triples {
            return triples.finish(&mut self.pairs, &mut self.direct, table.stride);
        }
        match &table.sparse {
            Some(sparse) => sparse.finish(&mut self.pairs, &mut self.direct),
            None => {
                for i in 0..table.exp.len() {
                    self.direct.add(i, self.outer.get(i) * table.exp.get(i));
                }
                self.outer.reset(self.outer.len(), 0.0);
            }
        }
        let across = simd::padded(table.rows);
        if !self.direct_t.is_empty() {
            for i in 0..table.rows {
                for j in 0..table.labels {
                    self.direct.add(i * table.stride + j, self.direct_t.get(j * across + i));
                }
            }
            self.direct_t.reset(self.direct_t.len(), 0.0);
        }
        if !self.columns.is_empty() {
            let shift = S::lift(table.shift);
            for j in 0..table.labels {
                let (weight, sum) = (self.columns.get(j), table.columns.get(j));
                let scale = weight * (shift - sum).exp();
                for i in 0..table.rows {
                    let share = if table.spread <= NORMAL_SPREAD {
                        scale * table.exp_t.get(j * across + i)
                    } else {
                        weight * (table.log_t.get(j * across + i) - sum).exp()
                    };
                    self.direct.add(i * table.stride + j, share);
                }
            }
            self.columns.reset(self.columns.len(), 0.0);
        }
    }
}

/// The gradient with respect to all shared tables.
#[derive(Clone, Debug)]
pub struct SharedSum<S>(pub Vec<TableSum<S>>);

impl<S: Scalar> SharedSum<S> {
    /// Zeros in the shape of `shared`.
    pub fn new(shared: &[Table<S>]) -> Self {
        let sum = |table: &Table<S>| TableSum {
            outer: Array::zeros(if table.sparse.is_some() || table.triples.is_some() {
                0
            } else {
                table.log.len()
            }),
            pairs: Array::zeros(match (&table.sparse, &table.triples) {
                (Some(sparse), _) => sparse.sums(),
                (None, Some(triples)) => triples.states.blocks(),
                (None, None) => 0,
            }),
            direct: Array::zeros(table.log.len()),
            direct_t: Array::default(),
            columns: Array::default(),
        };
        SharedSum(shared.iter().map(sum).collect())
    }

    /// Resets to zero every entry that is read later. In a sparse table these are the pairs with a weight.
    pub fn clear(&mut self, shared: &[Table<S>]) {
        for (sum, table) in self.0.iter_mut().zip(shared) {
            let TableSum { outer, pairs, direct, direct_t, columns } = sum;
            for array in [outer, pairs, direct_t, columns] {
                array.reset(array.len(), 0.0);
            }
            match (&table.sparse, &table.triples) {
                (Some(sparse), _) => {
                    sparse.entries.iter().for_each(|&entry| direct.set(entry as usize, S::lift(0.0)));
                }
                (None, Some(triples)) => triples.clear(direct, table.stride),
                (None, None) => direct.reset(direct.len(), 0.0),
            }
        }
    }

    /// Combines everything in `direct`: outer ∘ exp(log − shift), the transposed part, and the columns' shares.
    pub fn finish(&mut self, shared: &[Table<S>]) {
        for (sum, table) in self.0.iter_mut().zip(shared) {
            sum.finish(table);
        }
    }

    /// Adds another finished sum.
    pub fn add(&mut self, other: &SharedSum<S>) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.direct.add_all(&theirs.direct);
        }
    }
}

/// dψ: the gradient of the loss of one example with respect to its log-potentials.
#[derive(Debug)]
pub struct Gradient<'a, S> {
    /// The gradient with respect to the own tables, in the layout of [`Psi::own`]; overwritten.
    pub own: SliceMut<'a, S>,
    /// The gradient with respect to the shared tables; added to.
    pub shared: &'a mut SharedSum<S>,
}

impl<S: Scalar> Gradient<'_, S> {
    /// Adds `amount` to the entries of this labelling in all tables.
    pub(crate) fn add_labelling<G: Graph>(&mut self, graph: &G, labels: &[Label], amount: f64) {
        graph.for_each_entry(labels, |table, entry| self.add(table, entry, amount));
    }

    /// Adds `amount` to the entry of a factor's table at a labelling.
    #[inline]
    pub(crate) fn add_entry(&mut self, factor: &Factor, labels: &[Label], amount: f64) {
        self.add(factor.table, factor.entry(labels), amount);
    }

    #[inline]
    fn add(&mut self, table: TableRef, entry: usize, amount: f64) {
        match table {
            TableRef::Shared(id) => self.shared.0[id].direct.add(entry, S::lift(amount)),
            TableRef::Own(offset) => self.own.add(offset + entry, S::lift(amount)),
        }
    }
}
