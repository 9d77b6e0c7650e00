//! Log-potentials ψ of one example, and the place where their gradient goes.

use super::{Factor, Graph, Label, Sparse, TableRef};
use crate::math::{Array, Scalar, SliceMut, simd};

/// One table that all examples share, `[rows][stride]` with `labels` columns in use: its logarithm, and its exponential in
/// both orientations, made once per θ.
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
    /// exp(log − shift) `[rows][stride]`. Padding is 0.
    pub exp: Array<S>,
    /// The transpose of `exp` `[labels][padded rows]`. Padding is 0.
    pub exp_t: Array<S>,
    /// The largest log-potential.
    pub shift: f64,
    /// Largest minus smallest log-potential.
    pub spread: f64,
    /// The same table as ones plus a few pairs, where it is that.
    pub sparse: Option<Sparse<S>>,
}

impl<S: Scalar> Table<S> {
    /// A table of log-potentials 0.
    pub fn new(rows: usize, labels: usize) -> Self {
        let stride = simd::padded(labels);
        let mut table = Table {
            rows,
            labels,
            stride,
            log: Array::zeros(rows * stride),
            exp: Array::zeros(rows * stride),
            exp_t: Array::zeros(labels * simd::padded(rows)),
            shift: 0.0,
            spread: 0.0,
            sparse: None,
        };
        for row in table.log.plane_mut(0).chunks_exact_mut(stride) {
            row[labels..].fill(simd::PAD);
        }
        table.update();
        table
    }

    /// Brings everything else in line with `log`.
    pub fn update(&mut self) {
        let (mut max, mut min) = (f64::NEG_INFINITY, f64::INFINITY);
        for row in self.log.plane(0).chunks_exact(self.stride) {
            for &x in &row[..self.labels] {
                (max, min) = (max.max(x), min.min(x));
            }
        }
        (self.shift, self.spread) = (max, max - min);
        let across = simd::padded(self.rows);
        for i in 0..self.rows {
            for j in 0..self.labels {
                let x = (self.log.get(i * self.stride + j) - S::lift(max)).exp();
                self.exp.set(i * self.stride + j, x);
                self.exp_t.set(j * across + i, x);
            }
        }
        if let Some(sparse) = &mut self.sparse {
            sparse.update(&self.log, &self.exp, self.stride, self.shift);
        }
    }
}

/// The tables that all examples share, once per θ.
pub type Shared<S> = Vec<Table<S>>;

/// The log-potentials of one example.
#[derive(Clone, Copy, Debug)]
pub struct Psi<'a, S> {
    /// Shared tables.
    pub shared: &'a [Table<S>],
    /// The example's own tables, laid out as its graph says.
    pub own: &'a Array<S>,
}

impl<S: Scalar> Psi<'_, S> {
    /// The log-potential that `factor` gives to a labelling.
    #[inline]
    pub fn value(&self, factor: &Factor, labels: &[Label]) -> S {
        match factor.table {
            TableRef::Shared(id) => self.shared[id].log.get(factor.entry(labels)),
            TableRef::Own(offset) => self.own.get(offset + factor.entry(labels)),
        }
    }

    /// Score of a labelling: Σ over factors.
    pub fn score<G: Graph>(&self, graph: &G, labels: &[Label]) -> S {
        let mut score = S::lift(0.0);
        graph.for_each_factor(|factor| score += self.value(&factor, labels));
        score
    }
}

/// The gradient with respect to one shared table, added up over many examples.
#[derive(Clone, Debug)]
pub struct TableSum<S> {
    /// Σ of outer products that still lack the factor exp(log − shift): an engine adds α γᵀ here, and [`SharedSum::finish`]
    /// multiplies once per chunk instead of once per position.
    pub outer: Array<S>,
    /// The same for the pairs of a sparse table.
    pub pairs: Array<S>,
    /// Everything else.
    pub direct: Array<S>,
}

/// The gradient with respect to all shared tables.
#[derive(Clone, Debug)]
pub struct SharedSum<S>(pub Vec<TableSum<S>>);

impl<S: Scalar> SharedSum<S> {
    /// Zeros in the shape of `shared`.
    pub fn new(shared: &[Table<S>]) -> Self {
        let sum = |table: &Table<S>| TableSum {
            outer: Array::zeros(if table.sparse.is_some() { 0 } else { table.log.len() }),
            pairs: Array::zeros(table.sparse.as_ref().map_or(0, |sparse| sparse.sums())),
            direct: Array::zeros(table.log.len()),
        };
        SharedSum(shared.iter().map(sum).collect())
    }

    /// Back to zero.
    pub fn clear(&mut self) {
        for sum in &mut self.0 {
            for array in [&mut sum.outer, &mut sum.pairs, &mut sum.direct] {
                array.reset(array.len(), 0.0);
            }
        }
    }

    /// direct ← direct + outer ∘ exp(log − shift), outer ← 0.
    pub fn finish(&mut self, shared: &[Table<S>]) {
        for (sum, table) in self.0.iter_mut().zip(shared) {
            if let Some(sparse) = &table.sparse {
                sparse.finish(table, &mut sum.pairs, &mut sum.direct);
                continue;
            }
            for i in 0..table.exp.len() {
                sum.direct.add(i, sum.outer.get(i) * table.exp.get(i));
            }
            sum.outer.reset(sum.outer.len(), 0.0);
        }
    }

    /// Adds another finished sum.
    pub fn add(&mut self, other: &SharedSum<S>) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.direct.add_all(&theirs.direct);
        }
    }
}

/// dψ: the gradient of one example's loss with respect to its log-potentials.
#[derive(Debug)]
pub struct Gradient<'a, S> {
    /// With respect to the own tables, same layout as [`Psi::own`]; overwritten.
    pub own: SliceMut<'a, S>,
    /// With respect to the shared tables; added to.
    pub shared: &'a mut SharedSum<S>,
}

impl<S: Scalar> Gradient<'_, S> {
    /// Adds `amount` at the entries of a labelling in every factor.
    pub fn add_labelling<G: Graph>(&mut self, graph: &G, labels: &[Label], amount: f64) {
        graph.for_each_factor(|factor| {
            let entry = factor.entry(labels);
            match factor.table {
                TableRef::Shared(id) => self.shared.0[id].direct.add(entry, S::lift(amount)),
                TableRef::Own(offset) => self.own.add(offset + entry, S::lift(amount)),
            }
        });
    }
}
