//! Several builders, put together as if there had been one.

use super::super::crew::Part;
use super::known::renumbered;
use super::{CorpusBuilder, Sizes, bit, set_bit};
use crate::graph::{FIRST_SET, Label, NODES, UNLABELLED};

/// Names that are looked up at once.
const TOGETHER: usize = 128;

/// The new numbers of what a builder has.
#[derive(Debug, Default)]
struct New {
    values: Vec<u32>,
    node: Vec<u32>,
    pair: Vec<u32>,
    labels: Vec<Label>,
    sets: Vec<Label>,
}

impl CorpusBuilder {
    /// Puts the parts of several workers together, as if one builder had been given all batches in their order. Batch k was worker k mod n's.
    pub(in super::super) fn merge(parts: Vec<Part>, batches: usize, workers: usize) -> Self {
        let mut all = parts[0].builder.like_this();
        all.data.reserve(parts.iter().map(|part| &part.builder.data));
        // The crew takes only sequences whose vectors have the same width.
        if let Some(part) = parts.iter().find(|part| part.builder.numbers_known) {
            (all.vectors, all.numbers_known) = (part.builder.vectors.clone(), true);
            all.data.set_dense(NODES, all.vectors.dims());
        }
        all.columns = parts.iter().find_map(|part| part.builder.columns);
        let mut numbers: Vec<New> = parts.iter().map(|_| New::default()).collect();
        for batch in 0..batches {
            let (part, new) = (&parts[batch % workers], &mut numbers[batch % workers]);
            let turn = batch / workers;
            let from = turn.checked_sub(1).map_or_else(Sizes::default, |before| part.sizes[before]);
            all.take(&part.builder, from, part.sizes[turn], new);
        }
        for part in &parts {
            all.label_weights.join(&part.builder.label_weights);
        }
        all
    }

    /// Adds the strings and examples that another builder got between two moments. `new` has the new numbers of those that it got earlier.
    fn take(&mut self, other: &Self, from: Sizes, to: Sizes, new: &mut New) {
        for id in from.values..to.values {
            let value = self.alphabet.values.intern(other.alphabet.values.get(id as u32));
            new.values.push(value);
            if bit(&other.words, id) {
                set_bit(&mut self.words, value as usize);
            }
        }
        let (mut key, mut text, mut ends, mut hashes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (ids, names, mine, numbers) in [
            (from.node..to.node, &other.alphabet.node, &mut self.alphabet.node, &mut new.node),
            (from.pair..to.pair, &other.alphabet.pair, &mut self.alphabet.pair, &mut new.pair),
        ] {
            // Many at once, so that their look-ups wait for memory together.
            for ids in ids.collect::<Vec<_>>().chunks(TOGETHER) {
                text.clear();
                ends.clear();
                for &id in ids {
                    let name = names.get(id as u32);
                    text.extend_from_slice(renumbered(name, &self.source, &new.values, &mut key));
                    ends.push(text.len());
                }
                mine.intern_all(&text, &ends, &mut hashes, |id| numbers.push(id));
            }
        }
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
        for example in from.examples..to.examples {
            self.plan.take(&other.plan, example);
            self.data.push_example_of(
                &other.data,
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
