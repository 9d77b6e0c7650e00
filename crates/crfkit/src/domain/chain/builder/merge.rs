//! Several builders, put together as if there had been one.
//!
//! A string gets its number where it first occurs. Which strings of two workers are the same is found by looking up those of one in the table of
//! the other, on all threads; then a walk over the batches in their order hands out the numbers. So no table has to be built for all.

use super::super::crew::Part;
use super::known::renumbered;
use super::{CorpusBuilder, Sizes, Source, bit, set_bit};
use crate::data::dataset::Dataset;
use crate::data::strings::Strings;
use crate::graph::{Chain, FIRST_SET, Label, NODES, UNLABELLED};
use crate::risk::in_parts;
use std::ops::Range;

/// Names that are looked up at once.
const TOGETHER: usize = 128;
/// The number of a string that does not exist.
const NONE: u32 = u32::MAX;

/// The new numbers of what a builder has.
#[derive(Debug, Default)]
struct New {
    node: Vec<u32>,
    pair: Vec<u32>,
    labels: Vec<Label>,
    sets: Vec<Label>,
    /// The number of its examples that were taken.
    examples: usize,
}

/// The strings of one kind of all builders, and those that are put together.
struct Union<'a> {
    of: Vec<&'a Strings>,
    /// For each string of each builder, the first builder that has it, and its number there.
    same: Vec<Vec<(u32, u32)>>,
    /// The new number of each string of each builder, or [`NONE`].
    numbers: Vec<Vec<u32>>,
    all: Strings,
}

impl CorpusBuilder {
    /// Puts the parts of several workers together, as if one builder had been given all batches in their order. Batch k was worker k mod n's.
    pub(in super::super) fn merge(parts: Vec<Part>, batches: usize, workers: usize) -> Self {
        let mut all = parts[0].builder.like_this();
        // The crew takes only sequences whose vectors have the same width.
        if let Some(part) = parts.iter().find(|part| part.builder.numbers_known) {
            (all.vectors, all.numbers_known) = (part.builder.vectors.clone(), true);
            all.data.set_dense(NODES, all.vectors.dims());
        }
        all.columns = parts.iter().find_map(|part| part.builder.columns);
        let mut new: Vec<New> = parts.iter().map(|_| New::default()).collect();
        all.unite(&parts, batches, &mut new);
        for part in &parts {
            all.label_weights.join(&part.builder.label_weights);
        }
        let mut parts: Vec<_> = parts
            .into_iter()
            .map(|Part { builder: CorpusBuilder { plan, .. }, batches, .. }| (plan, batches.into_iter()))
            .collect();
        all.data
            .reserve(parts.iter().flat_map(|(_, batches)| batches.as_slice().iter().map(|(data, _)| data)));
        for batch in 0..batches {
            let ((plan, batches), new) = (&mut parts[batch % workers], &mut new[batch % workers]);
            if let Some((data, _)) = batches.next() {
                (0..data.len()).for_each(|example| all.plan.take(plan, new.examples + example));
                new.examples += data.len();
                all.take(&data, new);
            }
        }
        all
    }

    /// Numbers the strings of all builders.
    fn unite(&mut self, parts: &[Part], batches: usize, new: &mut [New]) {
        let of = |strings: fn(&CorpusBuilder) -> &Strings| {
            parts.iter().map(|part| strings(&part.builder)).collect()
        };
        let mut values = Union::new(of(|builder| &builder.alphabet.values));
        let mut node = Union::new(of(|builder| &builder.alphabet.node));
        let mut pair = Union::new(of(|builder| &builder.alphabet.pair));
        for (mine, theirs) in (0..parts.len()).flat_map(|mine| (0..mine).map(move |theirs| (mine, theirs))) {
            let map = values.look_up((mine, theirs), None);
            let map = Some(&map[..]).filter(|_| !matches!(self.source, Source::Attributes));
            node.look_up((mine, theirs), map);
            pair.look_up((mine, theirs), map);
        }
        for batch in 0..batches {
            let (worker, turn) = (batch % parts.len(), batch / parts.len());
            let Part { builder, batches, .. } = &parts[worker];
            let from = turn.checked_sub(1).map_or_else(Sizes::default, |before| batches[before].1);
            let to = batches[turn].1;
            values.number(worker, from.values..to.values, &Source::Attributes, &[]);
            for id in (from.values..to.values).filter(|&id| bit(&builder.words, id)) {
                set_bit(&mut self.words, values.numbers[worker][id] as usize);
            }
            node.number(worker, from.node..to.node, &self.source, &values.numbers[worker]);
            pair.number(worker, from.pair..to.pair, &self.source, &values.numbers[worker]);
            self.take_labels(builder, from, to, &mut new[worker]);
        }
        (self.alphabet.values, self.alphabet.node, self.alphabet.pair) = (values.all, node.all, pair.all);
        for ((new, node), pair) in new.iter_mut().zip(node.numbers).zip(pair.numbers) {
            (new.node, new.pair) = (node, pair);
        }
    }

    /// Adds the labels and sets of labels that another builder got between two moments.
    fn take_labels(&mut self, other: &Self, from: Sizes, to: Sizes, new: &mut New) {
        new.labels.extend(
            (from.labels..to.labels).map(|id| self.labels.intern(other.labels.get(id as u32)) as Label),
        );
        if let (Some(sets), Some(theirs)) = (&mut self.sets, &other.sets) {
            let mut added: Vec<_> = theirs
                .numbers
                .iter()
                .map(|(text, number)| ((number - FIRST_SET) as usize, text))
                .filter(|(set, _)| (from.sets..to.sets).contains(set))
                .collect();
            added.sort_unstable();
            for (set, text) in added {
                let known = sets.numbers.get(text).copied();
                let labels = theirs.labels[set].iter().map(|label| new.labels[*label as usize]);
                new.sets.push(known.unwrap_or_else(|| sets.insert(text.clone(), labels.collect())));
            }
        }
    }

    /// Adds a batch of examples, with their new numbers.
    fn take(&mut self, batch: &Dataset<Chain>, new: &New) {
        for example in 0..batch.len() {
            self.data.push_example_of(
                batch,
                example,
                |label| match label {
                    UNLABELLED => UNLABELLED,
                    set if set >= FIRST_SET => new.sets[(set - FIRST_SET) as usize],
                    label => new.labels[label as usize],
                },
                |kind, id| if kind == NODES { new.node[id as usize] } else { new.pair[id as usize] },
            );
        }
    }
}

impl<'a> Union<'a> {
    fn new(of: Vec<&'a Strings>) -> Self {
        let own = |(part, strings): (usize, &&Strings)| {
            (0..strings.len() as u32).map(|id| (part as u32, id)).collect()
        };
        let same = of.iter().enumerate().map(own).collect();
        let numbers = of.iter().map(|strings| vec![NONE; strings.len()]).collect();
        Union { of, same, numbers, all: Strings::default() }
    }

    /// Looks up the strings of one builder in those of an earlier one. Returns their numbers there, or [`NONE`]. If the strings are keys,
    /// `values` has the numbers that the values of the one have in the other.
    fn look_up(&mut self, (mine, theirs): (usize, usize), values: Option<&[u32]>) -> Vec<u32> {
        let (strings, table, tasks) = (self.of[mine], self.of[theirs], self.of.len());
        let found = in_parts(tasks, |task| {
            let ids = strings.len() * task / tasks..strings.len() * (task + 1) / tasks;
            let mut found = vec![NONE; ids.len()];
            let (mut asked, mut text, mut ends, mut hashes) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            // Many at once, so that their look-ups wait for memory together.
            for first in ids.clone().step_by(TOGETHER) {
                asked.clear();
                text.clear();
                ends.clear();
                for id in first..ids.end.min(first + TOGETHER) {
                    if add_key(strings.get(id as u32), values, &mut text) {
                        asked.push(id - ids.start);
                        ends.push(text.len());
                    }
                }
                let mut asked = asked.iter();
                table.find_all(&text, &ends, &mut hashes, |id| {
                    if let (Some(&place), Some(id)) = (asked.next(), id) {
                        found[place] = id;
                    }
                });
            }
            found
        });
        let found = found.concat();
        let (before, after) = self.same.split_at_mut(mine);
        for (same, &there) in after[0].iter_mut().zip(&found).filter(|(_, there)| **there != NONE) {
            *same = before[theirs][there as usize];
        }
        found
    }

    /// Numbers strings of a builder that are new, in their order. `values` has the new numbers of its values.
    fn number(&mut self, part: usize, ids: Range<usize>, source: &Source, values: &[u32]) {
        let mut key = Vec::new();
        for id in ids {
            let (first, there) = self.same[part][id];
            let (first, there) = (first as usize, there as usize);
            if self.numbers[first][there] == NONE {
                let name = renumbered(self.of[part].get(id as u32), source, values, &mut key);
                self.numbers[first][there] = self.all.append(name);
            }
            self.numbers[part][id] = self.numbers[first][there];
        }
    }
}

/// Appends a string to `text`. If it is a key, its values get other numbers; false if one has none.
fn add_key(name: &[u8], values: Option<&[u32]>, text: &mut Vec<u8>) -> bool {
    let Some(values) = values else {
        text.extend_from_slice(name);
        return true;
    };
    let start = text.len();
    // The skeleton's number, and those of the values.
    for (k, number) in name.as_chunks().0.iter().enumerate() {
        let number = u32::from_le_bytes(*number);
        let number = if k == 0 { number } else { values[number as usize] };
        if k > 0 && number == NONE {
            text.truncate(start);
            return false;
        }
        text.extend_from_slice(&number.to_le_bytes());
    }
    true
}
