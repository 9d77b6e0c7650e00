//! The table of three neighbouring labels of a second-order chain, in the form in which inference reads it.
//!
//! A state is a pair of neighbouring labels that is allowed. A step of the chain leads from a state (i, j) to a state (j, k): they share the
//! middle label. So the table falls into one block for each middle label j, with a row for each label i that may stand before j and a
//! column for each label k that may stand after it, and a step costs as much as there are allowed triples.

use super::{LabelRules, Table};
use crate::math::{Array, Scalar, simd};
use std::sync::Arc;

/// The pairs of neighbouring labels that a second-order chain allows, and where they stand in arrays over all of them.
///
/// Such an array has a row for each label, all rows of one length: either the pairs that end in the label ("before"), or those that begin
/// with it ("after"). Both have the same layout, so that one label's rows of many positions multiply as matrices do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct States {
    /// The labels that may stand before each label, ascending.
    before: Vec<Vec<u32>>,
    /// The labels that may stand after each label, ascending.
    after: Vec<Vec<u32>>,
    /// For each pair (j, k) in `before[k]`, the place of k in `after[j]`.
    turn: Vec<Vec<u32>>,
    /// Start of each label's row, and the end of the last.
    start: Vec<usize>,
    /// Start of each label's block, and the end of the last.
    block: Vec<usize>,
}

impl States {
    /// The pairs of `labels` labels that the rules allow; all if there are none.
    pub fn new(labels: usize, rules: Option<&LabelRules>) -> Self {
        let allowed = |i: usize, j: usize| rules.is_none_or(|rules| rules.allows(Some(i), Some(j)));
        let all = 0..labels as u32;
        let after: Vec<Vec<u32>> =
            (0..labels).map(|i| all.clone().filter(|&j| allowed(i, j as usize)).collect()).collect();
        let (mut before, mut turn) = (vec![Vec::new(); labels], vec![Vec::new(); labels]);
        for (i, after) in after.iter().enumerate() {
            for (place, &j) in after.iter().enumerate() {
                before[j as usize].push(i as u32);
                turn[j as usize].push(place as u32);
            }
        }
        let (mut start, mut block) = (vec![0], vec![0]);
        for (before, after) in before.iter().zip(&after) {
            let side = before.len().max(after.len());
            start.push(start[start.len() - 1] + simd::padded(side));
            block.push(block[block.len() - 1] + side * simd::padded(side));
        }
        States { before, after, turn, start, block }
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.before.len()
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.before.iter().map(Vec::len).sum()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels that may stand before a label.
    pub fn before(&self, label: usize) -> &[u32] {
        &self.before[label]
    }

    /// The labels that may stand after a label.
    pub fn after(&self, label: usize) -> &[u32] {
        &self.after[label]
    }

    /// For each pair that ends in a label, its place in the row of the pairs that begin with its first label.
    pub(crate) fn turn(&self, label: usize) -> &[u32] {
        &self.turn[label]
    }

    /// The length of a label's row.
    #[inline]
    pub(crate) fn width(&self, label: usize) -> usize {
        self.start[label + 1] - self.start[label]
    }

    /// The number of lines of a label's block.
    pub(crate) fn side(&self, label: usize) -> usize {
        self.before[label].len().max(self.after[label].len())
    }

    /// The length of an array over all pairs at `len` positions.
    pub(crate) fn size(&self, len: usize) -> usize {
        len * self.start[self.labels()]
    }

    /// Where a label's row of position `t` begins in an array over `len` positions.
    #[inline]
    pub(crate) fn row(&self, label: usize, t: usize, len: usize) -> usize {
        len * self.start[label] + t * self.width(label)
    }

    /// Where the block of a middle label begins.
    #[inline]
    pub(crate) fn block(&self, label: usize) -> usize {
        self.block[label]
    }

    /// The length of all blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.block[self.labels()]
    }

    /// Calls `visit(i, j, k, place, turned)` with every triple, its place in the blocks, and that in the transposed blocks.
    pub(crate) fn each_triple(&self, mut visit: impl FnMut([usize; 3], usize, usize)) {
        for j in 0..self.labels() {
            let (base, width) = (self.block[j], self.width(j));
            for (row, &i) in self.before[j].iter().enumerate() {
                for (column, &k) in self.after[j].iter().enumerate() {
                    let labels = [i as usize, j, k as usize];
                    visit(labels, base + row * width + column, base + column * width + row);
                }
            }
        }
    }
}

/// The table of three labels, block by block.
#[derive(Clone, Debug)]
pub struct Triples<S> {
    pub(crate) states: Arc<States>,
    /// Log-potentials; [`simd::PAD`] where there is no triple.
    pub(crate) log: Array<S>,
    /// exp(log − shift) and its transpose, block by block; 0 where there is no triple.
    pub(crate) exp: Array<S>,
    pub(crate) exp_t: Array<S>,
}

impl<S: Scalar> Triples<S> {
    /// Blocks without numbers yet.
    pub fn new(states: Arc<States>) -> Self {
        let size = states.blocks();
        let mut log = Array::zeros(size);
        log.plane_mut(0).fill(simd::PAD);
        Triples { states, log, exp: Array::zeros(size), exp_t: Array::zeros(size) }
    }

    /// The real parts, as numbers of type `T`.
    pub(super) fn real<T: Scalar>(&self) -> Triples<T> {
        let real = |x: &Array<S>| {
            let mut array = Array::zeros(x.len());
            array.plane_mut(0).copy_from_slice(x.plane(0));
            array
        };
        let Triples { states, log, exp, exp_t } = self;
        Triples { states: states.clone(), log: real(log), exp: real(exp), exp_t: real(exp_t) }
    }

    /// The pairs of labels.
    pub fn states(&self) -> &Arc<States> {
        &self.states
    }

    /// Reads the log-potentials from the table `[labels²][stride]`. Returns the largest one, and by how much it exceeds the smallest.
    pub(crate) fn update(&mut self, table: &Array<S>, stride: usize) -> (f64, f64) {
        let Triples { states, log, exp, exp_t } = self;
        let labels = states.labels();
        let (mut max, mut min) = (f64::NEG_INFINITY, f64::INFINITY);
        states.each_triple(|[i, j, k], place, _| {
            let w = table.get((i * labels + j) * stride + k);
            (max, min) = (max.max(w.re()), min.min(w.re()));
            log.set(place, w);
        });
        if max == f64::NEG_INFINITY {
            return (0.0, 0.0);
        }
        states.each_triple(|_, place, turned| {
            let x = (log.get(place) - S::lift(max)).exp();
            exp.set(place, x);
            exp_t.set(turned, x);
        });
        (max, max - min)
    }

    /// `direct[(i, j)][k] += sums · exp` over all triples, then sums ← 0.
    pub(crate) fn finish(&self, sums: &mut Array<S>, direct: &mut Array<S>, stride: usize) {
        let labels = self.states.labels();
        self.states.each_triple(|[i, j, k], place, _| {
            direct.add((i * labels + j) * stride + k, sums.get(place) * self.exp.get(place));
        });
        sums.reset(sums.len(), 0.0);
    }

    /// Resets to zero the entries of `direct` that belong to a triple.
    pub(crate) fn clear(&self, direct: &mut Array<S>, stride: usize) {
        let labels = self.states.labels();
        self.states.each_triple(|[i, j, k], _, _| direct.set((i * labels + j) * stride + k, S::lift(0.0)));
    }
}

impl<S: Scalar> Table<S> {
    /// The table of three neighbouring labels: log-potentials of 0, and blocks for the pairs in `states`.
    #[doc(hidden)]
    pub fn triples(states: &Arc<States>) -> Self {
        let labels = states.labels();
        let mut table = Table::new(1, labels);
        (table.rows, table.log) = (labels * labels, Array::zeros(labels * labels * table.stride));
        for line in table.log.plane_mut(0).chunks_exact_mut(table.stride) {
            line[labels..].fill(simd::PAD);
        }
        table.triples = Some(Triples::new(states.clone()));
        table.update();
        table
    }

    /// Leaves only the triples of pairs that the rules allow, in a table of three labels.
    pub(super) fn restrict(&mut self, rules: &Arc<LabelRules>) {
        self.rules = Some(rules.clone());
        self.triples = Some(Triples::new(Arc::new(States::new(self.labels, Some(rules)))));
        self.update();
    }
}
