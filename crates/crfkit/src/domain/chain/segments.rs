//! Segments in the labels of chains: `B-X I-X I-X` is one segment of three tokens, and `O` is one of a single token.

use super::ChainDomain;
use crate::data::columns::Columns;
use crate::data::dataset::Dataset;
use crate::data::observer::{Alphabet, Observer, Source};
use crate::data::partial::{is_unknown, names_of};
use crate::data::template::Templates;
use crate::eval::{Scheme, Side, kind};
use crate::graph::{Chain, FIRST_SET, Lattice, LongSegment, SegmentLabels, SegmentType};
use crate::{Error, Place, Result};
use std::ops::Range;
use std::sync::Arc;

impl ChainDomain {
    /// The most tokens of a segment, if segments have scores; otherwise 0.
    pub(crate) fn longest(&self) -> usize {
        self.lattice.segments.as_ref().map_or(0, |segments| segments.longest)
    }

    /// The chain of a sequence of `len` tokens.
    pub(super) fn chain(&self, len: usize, own_pairs: bool) -> Chain {
        let Lattice { triples, segments, .. } = &self.lattice;
        let own = matches!(&self.source, Source::Templates(templates) if !templates.segment.is_empty());
        let segments = segments.as_ref().map(|segments| segments.of_chain(own));
        Chain { len, labels: self.labels.len(), own_pairs, triples: *triples, segments }
    }
}

/// Whether a token with this label continues the segment of the token before.
pub(super) fn goes_on(label: &str) -> bool {
    let side = Side::of(label);
    side.inside && !side.opens
}

/// What a token can be in a segment. If its label is known, it is one of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    /// It may begin a segment.
    pub begins: bool,
    /// It may continue the segment of the token before.
    pub goes_on: bool,
}

impl Role {
    /// The role of a token with this label, which may stand for several if labels may be `partial`.
    pub(super) fn of_gold(text: &str, partial: bool) -> Self {
        match partial {
            true if is_unknown(text) => Role { begins: true, goes_on: true },
            true => Role::of(names_of(text)),
            false => Role::of(std::iter::once(text)),
        }
    }

    /// The role of a token whose label is one of these.
    pub(super) fn of<'a>(labels: impl Iterator<Item = &'a str>) -> Self {
        labels.fold(Role::default(), |role, label| match goes_on(label) {
            true => Role { goes_on: true, ..role },
            false => Role { begins: true, ..role },
        })
    }
}

/// The segments of up to `longest` tokens that a sequence of such tokens may have.
pub(super) fn spans(roles: &[Role], longest: usize) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for first in (0..roles.len()).filter(|&t| roles[t].begins) {
        for end in first + 1..=roles.len().min(first + longest) {
            let next = roles.get(end);
            if next.is_none_or(|next| next.begins) {
                spans.push(first..end);
            }
            if next.is_none_or(|next| !next.goes_on) {
                break;
            }
        }
    }
    spans
}

/// The segments of these labels, and the notation that they are in. An error if they are not labels of chunks.
pub(super) fn of_labels(
    labels: &[String],
    longest: usize,
) -> std::result::Result<(SegmentLabels, Scheme), String> {
    let sides: Vec<Side> = labels.iter().map(|label| Side::of(label)).collect();
    if !sides.iter().any(|side| side.inside && side.opens) {
        let some: Vec<&str> = labels.iter().take(5).map(String::as_str).collect();
        return Err(format!(
            "segments are chunks, but no label begins one as `B-X` does (there are {}): write the labels in iob2 or iobes, or train without \
             segments",
            some.join(", ")
        ));
    }
    // Sorted labels have E, I, L and M in one stretch, unless a label outside chunks is called something in between.
    let first = labels.iter().position(|label| goes_on(label)).unwrap_or(labels.len());
    let inner = first..first + labels[first..].iter().take_while(|label| goes_on(label)).count();
    if let Some(other) = labels[inner.end..].iter().position(|label| goes_on(label)) {
        let between = labels[inner.end..inner.end + other].join("`, `");
        return Err(format!(
            "labels that continue a segment must be adjacent in alphabetical order: rename `{between}`"
        ));
    }
    let scheme = if sides.iter().any(|side| side.closes) { Scheme::Iobes } else { Scheme::Iob2 };
    let mut types = Vec::new();
    for (label, name) in labels.iter().enumerate().filter(|(label, _)| !inner.contains(label)) {
        let side = &sides[label];
        let all = || labels.iter().enumerate().filter(|(other, _)| sides[*other].inside && side.inside);
        let find = |opens: bool, closes: bool| {
            let fits = |other: usize| (sides[other].opens, sides[other].closes) == (opens, closes);
            let mut found = all().filter(|(other, one)| fits(*other) && kind(one) == kind(name));
            (found.next(), found.next())
        };
        if let (Some((_, one)), Some((_, other))) = find(side.opens, side.closes) {
            return Err(format!(
                "the labels `{one}` and `{other}` mean the same: write one of them everywhere"
            ));
        }
        let [middle, last] = [false, true].map(|closes| find(false, closes).0.map(|(label, _)| label));
        let last = if scheme == Scheme::Iob2 { middle } else { last };
        let long = side.inside && !side.closes;
        types.push(SegmentType {
            single: (!long || scheme == Scheme::Iob2).then_some(label),
            long: last.filter(|_| long).map(|last| LongSegment { first: label, inner: middle, last }),
        });
    }
    Ok((SegmentLabels { longest, inner, types }, scheme))
}

/// Rejects sequences with a segment that is too long. Those in which a label is not known may have any.
pub(super) fn check_lengths(
    names: &SegmentLabels,
    labels: &[String],
    data: &Dataset<Chain>,
    place: impl Fn(usize) -> Place,
) -> Result<()> {
    let (mut longest, mut found) = (names.longest, None);
    for example in 0..data.len() {
        let gold = data.gold(example);
        if gold.iter().any(|label| *label >= FIRST_SET) {
            continue;
        }
        names.of_chain(false).each(gold, |t, length| {
            if length > names.longest {
                let first = t + 1 - length;
                found.get_or_insert((example, first, length, kind(&labels[gold[first] as usize])));
            }
            longest = longest.max(length);
        });
    }
    let Some((example, first, length, kind)) = found else { return Ok(()) };
    let message = format!(
        "the segment `{kind}` from token {} of this sequence on has {length} tokens, but segments of up to {} are asked for: train with \
         segments of up to {longest} tokens, as the longest of the data has, or leave such sequences out",
        first + 1,
        names.longest
    );
    Err(Error::input(place(example), message))
}

/// The training data with the observations of all possible segments. `columns` has the sequences.
pub(super) fn observed(
    templates: &Templates,
    columns: &[Arc<Columns>],
    longest: usize,
    alphabet: &Alphabet,
    data: &Dataset<Chain>,
) -> Dataset<Chain> {
    let mut observer = Observer::default();
    data.with_tables(
        |chain| chain.len,
        |example, data| observer.segments(templates, &columns[example], longest, alphabet, data),
        |chain| {
            let mut segments = chain.segments;
            segments.iter_mut().for_each(|segments| segments.own = true);
            Chain { segments, ..*chain }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(labels: &[&str]) -> Vec<String> {
        let mut labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        labels.sort();
        labels
    }

    #[test]
    fn notations() {
        let labels = sorted(&["O", "I-A", "B-A", "B-B"]);
        let (found, scheme) = of_labels(&labels, 4).unwrap();
        let long = LongSegment { first: 0, inner: Some(2), last: 2 };
        let single = |label| SegmentType { single: Some(label), long: None };
        assert_eq!(found.types, [SegmentType { single: Some(0), long: Some(long) }, single(1), single(3)]);
        assert_eq!((found.inner, scheme), (2..3, Scheme::Iob2));
        let labels = sorted(&["O", "I-A", "B-A", "E-A", "S-A", "S-B", "B-C"]);
        assert_eq!(labels, ["B-A", "B-C", "E-A", "I-A", "O", "S-A", "S-B"]);
        let (found, scheme) = of_labels(&labels, 4).unwrap();
        let long = LongSegment { first: 0, inner: Some(3), last: 2 };
        assert_eq!(
            found.types[..2],
            [SegmentType { single: None, long: Some(long) }, SegmentType::default()]
        );
        assert_eq!(found.types[2..], [single(4), single(5), single(6)]);
        assert_eq!(scheme, Scheme::Iobes);
        for bad in
            [&["NOUN", "VERB"][..], &["I-A", "O"], &["B-A", "S-A", "U-A", "E-A"], &["B-A", "E-A", "I-A", "F"]]
        {
            assert!(of_labels(&sorted(bad), 3).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn segments_that_labels_allow() {
        let roles = |labels: &[&str]| labels.iter().map(|set| Role::of(set.split('|'))).collect::<Vec<_>>();
        let known = roles(&["B-A", "I-A", "O", "B-A", "S-B", "E-B"]);
        assert_eq!(spans(&known, 9), [0..2, 2..3, 3..4, 4..6]);
        let open = roles(&["B-A", "I-A|O", "B-A|I-A", "O"]);
        assert_eq!(spans(&open, 9), [0..1, 0..2, 0..3, 1..2, 1..3, 2..3, 3..4]);
        assert_eq!(spans(&open, 2), [0..1, 0..2, 1..2, 1..3, 2..3, 3..4]);
    }
}
