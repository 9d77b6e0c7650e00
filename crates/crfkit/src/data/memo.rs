//! Looks up the observations that templates make, and remembers what was found.
//!
//! Templates often read the same columns at several distances: the words at −2 to +2, say. Such templates are a pattern. A pattern is looked up once
//! for each row, instead of once for each of its templates at each token, and what it finds is the numbers of the observations of all of them, side by
//! side. The same values come again and again, so these numbers are remembered by the values, in memory that is near and needs no hash.

use super::frame::{Frame, Step};
use super::lookup::{BATCH, Keys, send_tables};
use super::observer::{Sink, UNSEEN};
use super::strings::{Finder, hash_of};
use super::template::Template;
use std::ops::Range;

/// Tokens whose observations are looked up together. All look-ups of a stretch wait for memory at the same time.
const STRETCH: usize = 32;
/// The most templates of a pattern. With the key they are 16 numbers, which is one line of the cache.
const MEMBERS: usize = 13;
/// Numbers in front of an entry's observations: the values that it is remembered by.
const KEY: usize = 3;
/// Bytes for all entries together.
const BYTES: usize = 2 << 20;
/// The most entries of a pattern.
const ENTRIES: usize = 1 << 13;

/// What was found for some names and templates, and the working memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    /// The [stamp](super::strings::Finder::stamp) of the names, and the steps of the templates, that the memo is for.
    stamp: u64,
    steps: Vec<Step>,
    patterns: Vec<Pattern>,
    /// Where the observations of each template are among those found; `None` for templates without a pattern.
    places: Vec<Option<Member>>,
    /// The entries of all patterns, each with its key and the numbers of its observations. Unused entries are 0, and no key begins with 0.
    entries: Vec<u32>,
    /// The rows of a stretch, of one pattern after the other, in the same form as entries; then the observations without a pattern.
    found: Vec<u32>,
    rows: usize,
    missing: Vec<Missing>,
    /// Hashes of observations, and where their numbers go among those found.
    wanted: Vec<(u64, usize)>,
    /// The end of the observations that a template without a pattern has at a token.
    others: Vec<usize>,
    ids: Vec<u32>,
    ends: Vec<usize>,
}

/// Templates that read the same columns at the same distances from each other.
#[derive(Clone, Debug)]
struct Pattern {
    /// The values that it reads, counted from the first of its row.
    reads: [usize; KEY],
    /// How many of them there are; the others repeat the first.
    count: usize,
    /// The skeletons of its templates.
    members: Vec<u32>,
    /// The rows that the first token needs, counted from the first row that it can reach.
    rows: Range<usize>,
    /// The size of an entry: 4, 8 or 16 numbers.
    width: usize,
    /// Where its entries and its rows begin.
    entries: usize,
    found: usize,
    /// An entry's number is (Σ value·factor) >> shift.
    factors: [u32; KEY],
    shift: u32,
}

/// Where a template finds its observations: for the first token of a stretch, and from token to token.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Member {
    first: usize,
    width: usize,
}

/// A row that is not remembered.
#[derive(Clone, Copy, Debug)]
struct Missing {
    pattern: usize,
    found: usize,
    entry: usize,
}

impl Memo {
    /// Sends the observations of these tokens to `sink`, a table for each token. `steps` are those of the templates.
    pub(super) fn send(
        &mut self,
        frame: &Frame<'_>,
        (steps, templates): (&[Step], &[Template]),
        tokens: Range<usize>,
        names: Finder<'_>,
        (keys, sink): (&mut Keys, &mut impl Sink),
    ) {
        if self.stamp != names.stamp() || self.steps != steps {
            *self = Memo::of(names.stamp(), steps, frame.extractors);
        }
        for first in tokens.clone().step_by(STRETCH) {
            let stretch = first..tokens.end.min(first + STRETCH);
            self.look_up(frame, templates, stretch.clone(), names, keys);
            self.hand_out(stretch.len(), sink);
        }
    }

    /// A memo without entries.
    fn of(stamp: u64, steps: &[Step], extractors: usize) -> Self {
        let mut patterns: Vec<Pattern> = Vec::new();
        let mut places = Vec::new();
        for step in steps {
            let Step::Values { skeleton, places: at, count } = *step else {
                places.push(None);
                continue;
            };
            let row = at.iter().min().map_or(0, |first| first / extractors);
            let reads = at.map(|place| place - row * extractors);
            let same =
                |one: &Pattern| one.reads == reads && one.count == count && one.members.len() < MEMBERS;
            let pattern = patterns.iter().position(same).unwrap_or_else(|| {
                patterns.push(Pattern::new(reads, count, row));
                patterns.len() - 1
            });
            let Pattern { members, rows, .. } = &mut patterns[pattern];
            *rows = rows.start.min(row)..rows.end.max(row + 1);
            places.push(Some((pattern, row, members.len())));
            members.push(skeleton);
        }
        for pattern in &mut patterns {
            pattern.width = (KEY + pattern.members.len()).next_power_of_two();
        }
        let width: usize = patterns.iter().map(|pattern| pattern.width).sum();
        let most = (BYTES / size_of::<u32>() / width.max(1)).clamp(1 << 8, ENTRIES).ilog2();
        let (mut entries, mut found) = (0, 0);
        for pattern in &mut patterns {
            (pattern.entries, pattern.found) = (entries, found);
            entries += pattern.width << most;
            found += pattern.width * (STRETCH + pattern.rows.len() - 1);
            // A single value needs no mixing: frequent values have small numbers.
            (pattern.factors, pattern.shift) = match pattern.count {
                1 => ([1 << (32 - most), 0, 0], 32 - most),
                _ => ([0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D], 32 - most),
            };
        }
        let place = |(pattern, row, member): (usize, usize, usize)| {
            let Pattern { rows, width, found, .. } = &patterns[pattern];
            Member { first: found + (row - rows.start) * width + KEY + member, width: *width }
        };
        let places = places.into_iter().map(|of| of.map(place)).collect();
        // Memory that is zero from the beginning takes room only where it is used.
        let entries = vec![0; entries];
        Memo { stamp, steps: steps.to_vec(), patterns, places, entries, rows: found, ..Memo::default() }
    }

    /// Finds the numbers of all observations of a stretch of tokens.
    fn look_up(
        &mut self,
        frame: &Frame<'_>,
        templates: &[Template],
        stretch: Range<usize>,
        names: Finder<'_>,
        keys: &mut Keys,
    ) {
        let Memo { patterns, entries, found, missing, wanted, others, .. } = self;
        found.resize(self.rows, 0);
        missing.clear();
        wanted.clear();
        for (number, pattern) in patterns.iter().enumerate() {
            let first = (stretch.start + pattern.rows.start) * frame.extractors;
            let values = &frame.values[first..];
            let rows = stretch.len() + pattern.rows.len() - 1;
            let values = (values, frame.extractors, rows);
            match pattern.width {
                4 => pattern.recall::<4>(number, values, entries, found, missing),
                8 => pattern.recall::<8>(number, values, entries, found, missing),
                _ => pattern.recall::<16>(number, values, entries, found, missing),
            }
        }
        for Missing { pattern, found: at, .. } in &*missing {
            let Pattern { members, count, .. } = &patterns[*pattern];
            let [a, b, c] = [found[*at].wrapping_sub(1), found[at + 1], found[at + 2]].map(u32::to_le);
            for (member, skeleton) in members.iter().enumerate() {
                let hash = hash_of(bytemuck::cast_slice(&[*skeleton, a, b, c][..=*count]));
                wanted.push((hash, at + KEY + member));
            }
        }
        others.clear();
        if self.places.contains(&None) {
            for t in stretch {
                for (_, template) in self.places.iter().zip(templates).filter(|(place, _)| place.is_none()) {
                    frame.keys(std::slice::from_ref(template), t, keys);
                    for key in keys.iter() {
                        wanted.push((hash_of(key), found.len()));
                        found.push(UNSEEN);
                    }
                    keys.clear();
                    others.push(found.len());
                }
            }
        }
        names.expect(wanted.iter().map(|(hash, _)| *hash));
        for &(hash, at) in &*wanted {
            found[at] = names.find(hash).unwrap_or(UNSEEN);
        }
        for Missing { pattern, found: at, entry } in &*missing {
            let width = patterns[*pattern].width;
            entries[*entry..entry + width].copy_from_slice(&found[*at..at + width]);
        }
    }

    /// Sends what was found for this many tokens to `sink`, in the order of the templates.
    fn hand_out(&mut self, tokens: usize, sink: &mut impl Sink) {
        let Memo { places, found, others, ids, ends, .. } = self;
        let (mut other, mut start) = (others.iter(), self.rows);
        for t in 0..tokens {
            let mut at = ids.len();
            ids.resize(at + places.len(), 0);
            for place in places.iter() {
                match place {
                    // The processor cannot predict which observations have a number, so there is no branch on it.
                    Some(Member { first, width }) => {
                        let id = found[first + t * width];
                        ids[at] = id;
                        at += usize::from(id != UNSEEN);
                    }
                    None => {
                        let end = other.next().copied().unwrap_or(start);
                        ids.truncate(at);
                        ids.extend(found[start..end].iter().filter(|id| **id != UNSEEN));
                        (start, at) = (end, ids.len());
                        ids.resize(at + places.len(), 0);
                    }
                }
            }
            ids.truncate(at);
            ends.push(at);
            // What the observations need then stays in the first-level cache.
            if at >= BATCH || t + 1 == tokens {
                sink.expect(ids);
                send_tables(ends, ids, &[], sink);
                ids.clear();
                ends.clear();
            }
        }
    }
}

impl Pattern {
    fn new(reads: [usize; KEY], count: usize, row: usize) -> Self {
        let (factors, rows, members) = ([0; KEY], row..row + 1, Vec::new());
        Pattern { reads, count, members, rows, width: 0, entries: 0, found: 0, factors, shift: 0 }
    }

    /// Writes the rows that are remembered to `found`, and the keys of the others, which it adds to `missing`. `extractors` is the number of values
    /// in a row.
    #[inline]
    fn recall<const WIDTH: usize>(
        &self,
        number: usize,
        (values, extractors, rows): (&[u32], usize, usize),
        entries: &[u32],
        found: &mut [u32],
        missing: &mut Vec<Missing>,
    ) {
        let ([a, b, c], [f, g, h]) = (self.reads, self.factors);
        let entries = &entries[self.entries..].as_chunks::<WIDTH>().0;
        let found = &mut found[self.found..].as_chunks_mut::<WIDTH>().0[..rows];
        for (row, found) in found.iter_mut().enumerate() {
            let values = &values[row * extractors..];
            let (a, b, c) = (values[a], values[b], values[c]);
            if a.max(b).max(c) == UNSEEN {
                *found = [UNSEEN; WIDTH];
                continue;
            }
            let mixed = a.wrapping_mul(f) ^ b.wrapping_mul(g) ^ c.wrapping_mul(h);
            let entry = (mixed >> self.shift) as usize;
            *found = entries[entry];
            // No value has the largest number, so a key does not begin with 0.
            let key = [a + 1, b, c];
            if found[..KEY] != key {
                found[..KEY].copy_from_slice(&key);
                let (found, entry) = (self.found + row * WIDTH, self.entries + entry * WIDTH);
                missing.push(Missing { pattern: number, found, entry });
            }
        }
    }
}
