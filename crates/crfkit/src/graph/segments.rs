//! Segments of a chain: which labels begin one, which continue it, and how long it may be.
//!
//! In a semi-Markov chain (Sarawagi and Cohen 2004) whole segments have scores. The labels are those of a notation of chunks, so that the
//! labels of the tokens tell the segments: `B-X I-X I-X` is one segment of three tokens, and `O` is one of a single token.

use super::{LabelBits, LabelRules, Table};
use crate::math::{Scalar, simd};
use std::ops::Range;
use std::sync::Arc;

/// What a chain needs to know about its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// The most tokens of a segment, at least 1.
    pub longest: usize,
    /// The labels from the first of these numbers up to the second, exclusive, continue a segment; all others begin one.
    pub inner: (usize, usize),
    /// Whether every possible segment has an own table besides the shared one of lengths (observations of segments).
    pub own: bool,
}

impl Segments {
    /// The number of possible segments that end before position `t`.
    #[inline]
    pub fn before(&self, t: usize) -> usize {
        let n = self.longest;
        if t < n { t * (t + 1) / 2 } else { n * (n + 1) / 2 + (t - n) * n }
    }

    /// The number of own tables of segments in a chain of `len` positions.
    #[inline]
    pub(super) fn tables(&self, len: usize) -> usize {
        if self.own { self.before(len) } else { 0 }
    }

    /// Calls `visit` with the last position and the length of every segment of a labelling.
    pub fn each(&self, labels: &[u32], mut visit: impl FnMut(usize, usize)) {
        let mut first = 0;
        for t in 0..labels.len() {
            if labels.get(t + 1).is_none_or(|next| !(self.inner.0..self.inner.1).contains(&(*next as usize)))
            {
                visit(t, t + 1 - first);
                first = t + 1;
            }
        }
    }
}

/// The labels of one type of segments. A type may lack those of one token, or those of more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentType {
    /// The label of a segment of one token.
    pub single: Option<usize>,
    /// The labels of longer ones.
    pub long: Option<LongSegment>,
}

/// The labels of a segment of several tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongSegment {
    /// The first label.
    pub first: usize,
    /// All labels between the first and the last; without one, there are no more than two tokens.
    pub inner: Option<usize>,
    /// The last label.
    pub last: usize,
}

/// The types of segments, and the most tokens of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentLabels {
    /// The most tokens of a segment.
    pub longest: usize,
    /// The labels that continue a segment; all others begin one.
    pub inner: Range<usize>,
    /// The types, one for each label that begins a segment: if a type has segments of one token and longer ones, they have the same first
    /// label. A label is the single, the inner or the last one of at most one type.
    pub types: Vec<SegmentType>,
}

impl SegmentLabels {
    /// What chains need to know about them.
    pub fn of_chain(&self, own: bool) -> Segments {
        Segments { longest: self.longest, inner: (self.inner.start, self.inner.end), own }
    }

    /// The types with segments of more than one token, if segments may be that long.
    pub(crate) fn long(&self) -> impl Iterator<Item = LongSegment> + Clone + '_ {
        self.types.iter().filter_map(|one| one.long).filter(|_| self.longest > 1)
    }

    /// The same with the numbers of the types.
    pub(crate) fn long_kinds(&self) -> impl Iterator<Item = (usize, LongSegment)> + Clone + '_ {
        let kinds = self.types.iter().enumerate().filter(|_| self.longest > 1);
        kinds.filter_map(|(kind, one)| Some((kind, one.long?)))
    }

    /// The number of each type that has segments, and the label that begins them.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (usize, usize)> + Clone + '_ {
        let long = |one: &SegmentType| one.long.filter(|_| self.longest > 1).map(|long| long.first);
        let first = move |one: &SegmentType| one.single.or_else(|| long(one));
        self.types.iter().enumerate().filter_map(move |(kind, one)| Some((kind, first(one)?)))
    }

    /// The labels of segments of one token.
    pub(crate) fn single(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.types.iter().filter_map(|one| one.single)
    }

    /// Whether some labelling of `len` positions has no longer segments than these and obeys the rules, with only the labels of `allowed` at
    /// each position that it has a set for.
    pub(crate) fn possible<'a>(
        &self,
        rules: &LabelRules,
        len: usize,
        allowed: impl Fn(usize) -> Option<&'a LabelBits>,
    ) -> bool {
        let may = |t: usize, label: usize| allowed(t).is_none_or(|set| set.contains(label));
        let allows = |before: usize, after: usize| rules.allows(Some(before), Some(after));
        // The labels of the segments that end at the position before; for each type, which lengths the segments have that go on there.
        let mut ended: Vec<usize> = Vec::new();
        let mut going: Vec<(LongSegment, Vec<bool>)> =
            self.long().map(|long| (long, vec![false; self.longest + 1])).collect();
        for t in 0..len {
            let follows = |y: usize| match t {
                0 => rules.allows(None, Some(y)),
                _ => ended.iter().any(|&l| allows(l, y)),
            };
            let begins = |y: usize| may(t, y) && follows(y);
            let mut ends: Vec<usize> = self.single().filter(|&y| begins(y)).collect();
            for (long, going) in &mut going {
                for length in (2..=self.longest).rev() {
                    let on = std::mem::take(&mut going[length - 1]);
                    let goes = |label: usize| on && may(t, label) && allows(long.before(length), label);
                    if long.may_have(length) && goes(long.last) {
                        ends.push(long.last);
                    }
                    going[length] = length < self.longest && long.inner.is_some_and(goes);
                }
                going[1] = begins(long.first);
            }
            ended = ends;
        }
        len == 0 || ended.iter().any(|&l| rules.allows(Some(l), None))
    }

    /// The rules that allow only segments of one token, of those that `rules` allow.
    pub(crate) fn singles_of(&self, rules: &LabelRules) -> LabelRules {
        let mut single = vec![false; rules.labels()];
        self.single().for_each(|label| single[label] = true);
        let may = |label: Option<usize>| label.is_none_or(|label| single[label]);
        LabelRules::from_fn(rules.labels(), |before, after| {
            may(before) && may(after) && rules.allows(before, after)
        })
    }
}

impl LongSegment {
    /// The label before the last of `length` tokens, and that of the token before the current one while the segment goes on.
    #[inline]
    pub(crate) fn before(&self, length: usize) -> usize {
        if length == 2 { self.first } else { self.inner.unwrap_or(self.first) }
    }

    /// Whether a segment may have so many tokens.
    #[inline]
    pub(crate) fn may_have(&self, length: usize) -> bool {
        length == 2 || length > 2 && self.inner.is_some()
    }
}

impl<S: Scalar> Table<S> {
    /// The table of the lengths of segments: log-potentials of 0, a row for each length, and a last one for all that are too long.
    #[doc(hidden)]
    pub fn lengths(segments: &Arc<SegmentLabels>, labels: usize) -> Self {
        let mut table = Table::new(segments.longest + 1, labels);
        table.segments = Some(segments.clone());
        table
    }

    /// Forbids segments that are too long.
    pub(super) fn limit(&mut self, rules: &Arc<LabelRules>) {
        let longest = self.rows - 1;
        self.impose(1.0, rules, |row, _| row < longest);
    }
}

/// Row length of an array over the lengths of segments.
pub(crate) fn lengths_stride(longest: usize) -> usize {
    simd::padded(longest + 1)
}
