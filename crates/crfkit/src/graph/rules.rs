//! Rules on the labels of a chain: which pairs of neighbours are possible, and how a labelling may begin and end.

use super::{BEGIN, Chain, END, LENGTH, Label, PAIR, SegmentLabels, Shared, TRIPLE, Table};
use crate::math::{Array, Scalar};
use std::sync::Arc;

/// Minus the log-potential of a label or pair that is forbidden. It exceeds what any labelling could regain, and its exponential is
/// exactly 0. Unlike ∞, it leaves sums and differences numbers.
pub(crate) const FORBIDDEN: f64 = 1e12;

/// The most lengths that are tried to find the one from which on all chains have a labelling.
const MOST_LENGTHS: usize = 64;

/// The most steps that are tried to find out whether every label can be reached from every other.
const MOST_STEPS: usize = 8;

/// Rules on the labels of a chain. A pair of neighbours may be forbidden, and a label may be forbidden at the beginning or at the end.
///
/// Rules are imposed by lowering log-potentials ([`LabelRules::imposed_on`]). Engines and decoders need not know about them, and all
/// probabilities are those given that the labelling obeys the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRules {
    labels: usize,
    /// The labels that may follow each label, one row of bits for each.
    after: Vec<LabelBits>,
    first: LabelBits,
    last: LabelBits,
}

/// The labellings of chains that a model knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lattice {
    /// The rules that all labellings obey, in training and afterwards.
    pub rules: Option<Arc<LabelRules>>,
    /// Whether three neighbouring labels have weights: second-order chains.
    pub triples: bool,
    /// The segments that have weights, if some have: semi-Markov chains.
    pub segments: Option<Arc<SegmentLabels>>,
}

/// A set of labels, one bit for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelBits(Vec<u64>);

impl LabelBits {
    /// No label, of `labels`.
    pub fn none(labels: usize) -> Self {
        LabelBits(vec![0; labels.div_ceil(64)])
    }

    /// All of `labels` labels.
    pub fn all(labels: usize) -> Self {
        let mut all = LabelBits::none(labels);
        (0..labels).for_each(|label| all.insert(label));
        all
    }

    /// Adds a label.
    pub fn insert(&mut self, label: usize) {
        self.0[label / 64] |= 1 << (label % 64);
    }

    /// Removes a label.
    pub fn remove(&mut self, label: usize) {
        self.0[label / 64] &= !(1 << (label % 64));
    }

    /// Whether a label is in the set.
    pub fn contains(&self, label: usize) -> bool {
        self.0[label / 64] >> (label % 64) & 1 == 1
    }

    /// Whether no label is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    fn join(&mut self, other: &LabelBits) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Removes all labels that are not in `other` too.
    #[doc(hidden)]
    pub fn meet(&mut self, other: &LabelBits) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine &= theirs);
    }
}

impl LabelRules {
    /// No rules yet, for this number of labels.
    pub fn new(labels: usize) -> Self {
        let all = LabelBits::all(labels);
        LabelRules { labels, after: vec![all.clone(); labels], first: all.clone(), last: all }
    }

    /// The rules that allow the pairs (before, after) for which `allowed` is true; `None` is the beginning or the end.
    pub fn from_fn(labels: usize, allowed: impl Fn(Option<usize>, Option<usize>) -> bool) -> Self {
        let mut rules = LabelRules::new(labels);
        let places = || std::iter::once(None).chain((0..labels).map(Some));
        for (before, after) in places().flat_map(|i| places().map(move |j| (i, j))) {
            if !allowed(before, after) {
                rules.forbid(before, after);
            }
        }
        rules
    }

    /// Forbids `after` right after `before`. `None` is the beginning, or the end.
    pub fn forbid(&mut self, before: Option<usize>, after: Option<usize>) {
        match (before, after) {
            (Some(i), Some(j)) => self.after[i].remove(j),
            (None, Some(j)) => self.first.remove(j),
            (Some(i), None) => self.last.remove(i),
            (None, None) => {}
        }
    }

    /// Whether the rules allow `after` right after `before`. `None` is the beginning, or the end.
    pub fn allows(&self, before: Option<usize>, after: Option<usize>) -> bool {
        match (before, after) {
            (Some(i), Some(j)) => self.after[i].contains(j),
            (None, Some(j)) => self.first.contains(j),
            (Some(i), None) => self.last.contains(i),
            (None, None) => true,
        }
    }

    /// The rules that hold if both these and the others do.
    pub fn and(&self, other: &LabelRules) -> LabelRules {
        let mut both = self.clone();
        both.after.iter_mut().zip(&other.after).for_each(|(mine, theirs)| mine.meet(theirs));
        both.first.meet(&other.first);
        both.last.meet(&other.last);
        both
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Whether a labelling obeys the rules.
    pub fn is_satisfied_by(&self, labels: &[Label]) -> bool {
        let places = || labels.iter().map(|&label| Some(label as usize));
        let before = std::iter::once(None).chain(places());
        before.zip(places().chain([None])).all(|(i, j)| labels.is_empty() || self.allows(i, j))
    }

    /// Whether some labelling of `len` positions obeys the rules, with only the labels of `allowed` at each position that it has a set
    /// for.
    #[doc(hidden)]
    pub fn possible<'a>(&self, len: usize, allowed: impl Fn(usize) -> Option<&'a LabelBits>) -> bool {
        let mut reached = self.first.clone();
        for t in 0..len {
            if t > 0 {
                let mut next = LabelBits::none(self.labels);
                (0..self.labels).filter(|&i| reached.contains(i)).for_each(|i| next.join(&self.after[i]));
                reached = next;
            }
            if let Some(allowed) = allowed(t) {
                reached.meet(allowed);
            }
        }
        reached.meet(&self.last);
        len == 0 || !reached.is_empty()
    }

    /// The length from which on every chain has a labelling that obeys the rules; `None` if there is no such length, or a large one.
    #[doc(hidden)]
    pub fn always(&self) -> Option<usize> {
        let mut reached = self.first.clone();
        // The labels at the end of a chain follow from those of a shorter one. Once they repeat, they stay.
        let mut from = None;
        for len in 1..=MOST_LENGTHS {
            let mut ends = reached.clone();
            ends.meet(&self.last);
            from = if ends.is_empty() { None } else { from.or(Some(len)) };
            let mut next = LabelBits::none(self.labels);
            (0..self.labels).filter(|&i| reached.contains(i)).for_each(|i| next.join(&self.after[i]));
            if next == reached {
                return from;
            }
            reached = next;
        }
        None
    }

    /// The number of steps in which every label leads to every other, if it is small.
    #[doc(hidden)]
    pub fn steps(&self) -> Option<usize> {
        let mut reached = self.after.clone();
        let all = LabelBits::all(self.labels);
        for steps in 1..=MOST_STEPS {
            if reached.iter().all(|row| *row == all) {
                return Some(steps);
            }
            let further = |row: &LabelBits| {
                let mut next = LabelBits::none(self.labels);
                (0..self.labels).filter(|&i| row.contains(i)).for_each(|i| next.join(&self.after[i]));
                next
            };
            reached = reached.iter().map(further).collect();
        }
        None
    }

    /// The shared tables of a chain, with these rules imposed.
    #[doc(hidden)]
    pub fn imposed_on(self: &Arc<Self>, shared: &Shared<f64>) -> Shared<f64> {
        let mut tables: Shared<f64> = shared.iter().map(Table::real).collect();
        self.impose(&mut tables);
        tables
    }

    /// Imposes these rules on the shared tables of a chain, besides those that they have.
    #[doc(hidden)]
    pub fn impose<S: Scalar>(self: &Arc<Self>, tables: &mut Shared<S>) {
        let rules = match &tables[PAIR].rules {
            Some(rules) => Arc::new(rules.and(self)),
            None => self.clone(),
        };
        let second = tables.get(TRIPLE).is_some_and(|table| table.triples.is_some());
        let segments = tables.get(LENGTH).is_some_and(|table| table.segments.is_some());
        // Second-order chains and those with segments do not ask for the number of steps.
        let steps = if second || segments { None } else { rules.steps() };
        tables[PAIR].impose(steps.map_or(f64::INFINITY, |steps| steps as f64), &rules, |i, j| {
            rules.after[i].contains(j)
        });
        tables[BEGIN].impose(1.0, &rules, |_, j| rules.first.contains(j));
        tables[END].impose(1.0, &rules, |_, j| rules.last.contains(j));
        if second {
            tables[TRIPLE].restrict(&rules);
        }
        if segments {
            tables[LENGTH].limit(&rules);
        }
    }
}

impl<S: Scalar> Table<S> {
    /// Forbids the entries (row, label) that `allowed` does not allow, by these rules. The others lead from every label to every other
    /// in `steps`.
    pub(super) fn impose(
        &mut self,
        steps: f64,
        rules: &Arc<LabelRules>,
        allowed: impl Fn(usize, usize) -> bool,
    ) {
        for (i, j) in (0..self.rows).flat_map(|i| (0..self.labels).map(move |j| (i, j))) {
            if !allowed(i, j) {
                self.log.set(i * self.stride + j, S::lift(-FORBIDDEN));
            }
        }
        (self.sparse, self.rules, self.steps) = (None, Some(rules.clone()), steps);
        self.update_all();
    }
}

/// Lowers the log-potentials of all labels of position `t` that are not in `allowed`.
pub(crate) fn allow_only(chain: &Chain, own: &mut Array<f64>, t: usize, allowed: &LabelBits) {
    let row = t * chain.stride();
    for label in (0..chain.labels).filter(|&label| !allowed.contains(label)) {
        own.set(row + label, -FORBIDDEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_possible_lengths() {
        let free = LabelRules::new(70);
        assert_eq!(free.steps(), Some(1));
        // 0 and 1 take turns: no number of steps leads from each to both.
        let turns = LabelRules::from_fn(2, |i, j| i.is_none() || j.is_none() || i != j);
        assert_eq!(turns.steps(), None);
        assert!(turns.possible(5, |_| None));
        // O, B, I: I only after B or I.
        let iob = LabelRules::from_fn(3, |i, j| j != Some(2) || matches!(i, Some(1 | 2)));
        assert_eq!(iob.steps(), Some(2));
        assert!(
            iob.is_satisfied_by(&[1, 2, 0]) && !iob.is_satisfied_by(&[0, 2]) && !iob.is_satisfied_by(&[2])
        );
        let only = |label: usize| {
            let mut set = LabelBits::none(3);
            set.insert(label);
            set
        };
        let (inside, outside) = (only(2), only(0));
        assert!(iob.possible(3, |t| (t == 2).then_some(&inside)));
        assert!(!iob.possible(3, |t| (t == 0).then_some(&inside)));
        assert!(!iob.possible(2, |t| Some(if t == 0 { &outside } else { &inside })));
        // A beginning that leads nowhere.
        let none = LabelRules::from_fn(2, |i, j| i.is_some() || j.is_none());
        assert!(!none.possible(1, |_| None) && none.possible(0, |_| None));
        assert_eq!(
            (free.always(), iob.always(), turns.always(), none.always()),
            (Some(1), Some(1), Some(1), None)
        );
        // 0 begins, 2 ends, and each leads to the next: chains of three, and longer ones by staying in 1.
        let line = LabelRules::from_fn(3, |i, j| match (i, j) {
            (Some(i), Some(j)) => j == i + 1 || i == 1 && j == 1,
            (None, j) => j == Some(0),
            (i, None) => i == Some(2),
        });
        assert_eq!(line.always(), Some(3));
        assert!((1..9).all(|len| line.possible(len, |_| None) == (len > 2)));
        assert!(line.and(&free) == line && !free.and(&line).allows(Some(0), Some(0)));
    }
}
