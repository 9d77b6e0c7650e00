//! The linear chain.

use super::{Factor, Graph, Label, Segments, TableRef};
use crate::math::simd;
use std::ops::Range;

/// Shared table of a chain: label pairs, `[previous][current]`.
pub const PAIR: usize = 0;
/// Shared table of a chain: the first label, one row.
pub const BEGIN: usize = 1;
/// Shared table of a chain: the last label, one row.
pub const END: usize = 2;
/// Shared table of a second-order chain: three neighbouring labels, a row for each pair of the first two.
pub const TRIPLE: usize = 3;
/// Shared table of a chain with segments: their lengths, a row for each. A chain has this table or [`TRIPLE`], not both.
pub const LENGTH: usize = 3;

/// Kind of the own tables over single labels.
pub const NODES: usize = 0;
/// Kind of the own tables over label pairs.
pub const PAIRS: usize = 1;

/// A chain y₀ … y_{T−1} over one set of labels.
///
/// Own tables: T node tables (row t of `[T][stride]`). If segments have own tables, they follow, a row for each: by their last position, and
/// then by their length. The entry of a segment is that of its first label. If `own_pairs` is set, the pair tables of (y_{t−1}, y_t)
/// follow, for t = 1 … T−1, each `[labels][stride]`. Shared tables: [`PAIR`], [`BEGIN`], [`END`], and [`TRIPLE`] on second-order chains,
/// or [`LENGTH`] on chains with segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// T, the number of positions.
    pub len: usize,
    /// Number of labels.
    pub labels: usize,
    /// Whether each pair has an own table besides the shared one (bigram observations).
    pub own_pairs: bool,
    /// Whether three neighbouring labels have a shared table too: a second-order chain.
    pub triples: bool,
    /// Whether whole segments have scores: a semi-Markov chain.
    pub segments: Option<Segments>,
}

impl Chain {
    /// A chain of order 1 without segments, whose pairs have no own tables.
    pub(crate) fn first_order(len: usize, labels: usize) -> Self {
        Chain { len, labels, own_pairs: false, triples: false, segments: None }
    }

    /// Row length: labels rounded up to whole vectors.
    #[inline]
    pub fn stride(&self) -> usize {
        simd::padded(self.labels)
    }

    /// Offset of the own table of the pair (t−1, t), t ≥ 1.
    #[inline]
    #[doc(hidden)]
    pub fn pair_offset(&self, t: usize) -> usize {
        (self.rows() + (t - 1) * self.labels) * self.stride()
    }

    /// Number of own tables of one row: those of positions and of segments.
    #[inline]
    fn rows(&self) -> usize {
        self.len + self.segments.map_or(0, |segments| segments.tables(self.len))
    }

    /// Offset of the own table of the segment of `length` tokens that ends at `t`, if segments have own tables.
    #[inline]
    pub(crate) fn segment_offset(&self, t: usize, length: usize) -> Option<usize> {
        let segments = self.segments.filter(|segments| segments.own)?;
        Some((self.len + segments.before(t) + length - 1) * self.stride())
    }
}

impl Graph for Chain {
    fn vars(&self) -> usize {
        self.len
    }

    fn card(&self, _v: usize) -> usize {
        self.labels
    }

    #[inline]
    fn for_each_factor(&self, mut visit: impl FnMut(Factor)) {
        let stride = self.stride();
        for t in 0..self.len {
            visit(Factor { table: TableRef::Own(t * stride), vars: &[t], strides: &[1] });
            if t > 0 {
                let (vars, strides) = (&[t - 1, t], &[stride, 1]);
                visit(Factor { table: TableRef::Shared(PAIR), vars, strides });
                if self.own_pairs {
                    visit(Factor { table: TableRef::Own(self.pair_offset(t)), vars, strides });
                }
            }
            if t > 1 && self.triples {
                let (vars, strides) = (&[t - 2, t - 1, t], &[self.labels * stride, stride, 1]);
                visit(Factor { table: TableRef::Shared(TRIPLE), vars, strides });
            }
        }
        if self.len > 0 {
            visit(Factor { table: TableRef::Shared(BEGIN), vars: &[0], strides: &[1] });
            visit(Factor { table: TableRef::Shared(END), vars: &[self.len - 1], strides: &[1] });
        }
    }

    #[inline]
    fn for_each_segment(&self, labels: &[Label], mut visit: impl FnMut(TableRef, usize, Range<usize>)) {
        if let Some(segments) = &self.segments {
            segments.each(labels, |t, length| {
                let first = labels[t + 1 - length] as usize;
                let row = length.min(segments.longest + 1) - 1;
                let tokens = t + 1 - length..t + 1;
                visit(TableRef::Shared(LENGTH), row * self.stride() + first, tokens.clone());
                if length <= segments.longest
                    && let Some(offset) = self.segment_offset(t, length)
                {
                    visit(TableRef::Own(offset), first, tokens);
                }
            });
        }
    }

    fn degree(&self, v: usize) -> usize {
        // Cliques of `size` consecutive labels: the first label of those around v.
        let around =
            |size: usize| (v.saturating_sub(size - 1)..=v).filter(|first| first + size <= self.len).count();
        around(2) + if self.triples { around(3) } else { 0 }
    }

    const OWN_PAIRS: bool = true;

    fn with_own_pairs(&self) -> Option<Self> {
        // The marginals of pairs do not tell the entropy of a second-order chain, or of one with segments.
        (!self.triples && self.segments.is_none()).then_some(Chain { own_pairs: true, ..*self })
    }

    fn own_tables(&self) -> usize {
        self.rows() + if self.own_pairs { self.len.saturating_sub(1) } else { 0 }
    }

    #[inline]
    fn own_offset(&self, f: usize) -> usize {
        if f < self.rows() { f * self.stride() } else { self.pair_offset(f - self.rows() + 1) }
    }

    #[inline]
    fn own_size(&self, f: usize) -> usize {
        if f < self.rows() { self.stride() } else { self.labels * self.stride() }
    }

    #[inline]
    fn own_kind(&self, f: usize) -> usize {
        if f < self.rows() { NODES } else { PAIRS }
    }

    fn own_is_dense(&self, f: usize) -> bool {
        // Tokens and pairs have numbers, segments have none.
        f < self.len || f >= self.rows()
    }

    fn own_len(&self) -> usize {
        let pairs = if self.own_pairs { self.len.saturating_sub(1) * self.labels } else { 0 };
        (self.rows() + pairs) * self.stride()
    }

    fn clear_own(&self, own: &mut [f64]) {
        own.fill(0.0);
        own.chunks_exact_mut(self.stride()).for_each(|row| row[self.labels..].fill(simd::PAD));
    }
}
