//! Looks up the observations of many tables at once.
//!
//! The names of a large model do not fit into the caches that are near the processor, so a look-up mostly waits for memory. Here all look-ups of
//! a batch wait together: first all hashes are computed, then the slots of all are read, and only then is each one searched.

use super::observer::{Numbering, Sink};
use super::strings::Finder;

/// Observations are looked up in batches of this size, so that what they need stays in the first-level cache.
pub(super) const BATCH: usize = 128;

/// Tables whose observations are known by their hashes. [`Batch::send`] turns these into numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    hashes: Vec<u64>,
    /// The value of each observation, or none if all are 1.
    values: Vec<f64>,
    /// The end of each table's observations.
    ends: Vec<usize>,
    ids: Vec<u32>,
    amounts: Vec<f64>,
}

impl Batch {
    /// Forgets the tables, but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.hashes.clear();
        self.values.clear();
        self.ends.clear();
    }

    /// Adds observations of the next table, with their values; empty if all are 1.
    pub(super) fn extend(&mut self, hashes: &[u64], values: &[f64]) {
        self.hashes.extend_from_slice(hashes);
        self.values.extend_from_slice(values);
    }

    /// Adds an observation of the next table.
    #[inline]
    pub(super) fn push_valued(&mut self, hash: u64, value: f64) {
        self.hashes.push(hash);
        self.values.push(value);
    }

    /// Ends a table: the observations added since the last one are its own. A full batch is sent.
    #[inline]
    pub(super) fn finish_table(&mut self, names: Finder<'_>, sink: &mut impl Sink) {
        self.ends.push(self.hashes.len());
        if self.hashes.len() >= BATCH {
            self.send(names, sink);
        }
    }

    /// Sends all tables to `sink`, with the observations that have a name among `names`. The batch is then empty.
    pub(super) fn send(&mut self, names: Finder<'_>, sink: &mut impl Sink) {
        let Batch { hashes, values, ends, ids, amounts } = self;
        names.expect(hashes.iter().copied());
        ids.clear();
        amounts.clear();
        let mut start = 0;
        for end in &mut *ends {
            for (k, &hash) in (start..).zip(&hashes[start..*end]) {
                if let Some(id) = names.find(hash) {
                    ids.push(id);
                    amounts.extend(values.get(k));
                }
            }
            start = *end;
            *end = ids.len();
        }
        sink.expect(ids);
        send_tables(ends, ids, amounts, sink);
        self.clear();
    }
}

/// The keys of the observations of some tables, end to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    /// The keys, perhaps followed by memory that was used before.
    pub(super) text: Vec<u8>,
    pub(super) ends: Vec<usize>,
    /// The number of keys at the end of each table.
    tables: Vec<usize>,
    pub(super) hashes: Vec<u64>,
}

impl Keys {
    /// Removes the keys, but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.tables.clear();
    }

    /// The end of the last key.
    pub(super) fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Ends a table: the keys added since the last one are its own.
    pub(super) fn finish_table(&mut self) {
        self.tables.push(self.ends.len());
    }

    /// Sends the observations of all tables to `sink`; new ones are added to the names. There are then no keys left.
    /// `amounts` are their values; empty if all are 1.
    pub(super) fn send(
        &mut self,
        pair: bool,
        numbers: &mut impl Numbering,
        (ids, amounts): (&mut Vec<u32>, &mut Vec<f64>),
        sink: &mut impl Sink,
    ) {
        ids.clear();
        numbers.observations(pair, self, ids);
        send_tables(&self.tables, ids, amounts, sink);
        amounts.clear();
        self.clear();
    }

    /// Adds a key.
    pub(super) fn push(&mut self, key: &[u8]) {
        self.text.truncate(self.end());
        self.text.extend_from_slice(key);
        self.ends.push(self.text.len());
    }

    /// The keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.text[std::mem::replace(&mut start, end)..end])
    }
}

/// Sends tables to `sink`, whose observations end at `ends`. Without `amounts`, all values are 1.
pub(super) fn send_tables(ends: &[usize], ids: &[u32], amounts: &[f64], sink: &mut impl Sink) {
    let mut start = 0;
    for &end in ends {
        let of_table = amounts.get(start..end).unwrap_or_default();
        let plain = of_table.iter().all(|value| *value == 1.0);
        sink.table(&ids[start..end], if plain { &[] } else { of_table });
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::columns::{ColumnReader, Columns};
    use crate::data::observer::{Alphabet, Observer};
    use crate::data::template::{Dialect, Templates};
    use crate::data::text::{Encoding, Lines};

    #[derive(Default, Debug, PartialEq)]
    struct Tables(Vec<Vec<u32>>);

    impl Sink for Tables {
        fn table(&mut self, ids: &[u32], values: &[f64]) {
            assert!(values.is_empty());
            self.0.push(ids.to_vec());
        }
    }

    fn sequence(words: impl Iterator<Item = usize>) -> Columns {
        let text: String = words.map(|k| format!("w{k} t{}\n", k % 7)).collect();
        let mut sequence = Columns::default();
        ColumnReader::new(Lines::new(text.as_bytes(), "text", Encoding::Utf8)).read(&mut sequence).unwrap();
        sequence
    }

    /// Labelling finds the numbers that training gave, for macros of every kind, in short sequences and in those of several batches.
    #[test]
    fn labelling_finds_what_training_has_numbered() {
        let lines = "U\nU1:%x[0,0]\nU2:%x[-2,1]\nB\nB1:%x[0,1]\n*3:%x[-1,0]/%x[1,1]\nU4:%x[0,1]%x[1,1]%x[2,1]\n\
                     U5:%x[-1,1]%x[0,1]%x[1,1]%x[2,1]\nU6:%x[@1,0]\nU7:%x[9,0]/%x[-9,1]\nU8:%x[-9,1]";
        for more in ["", "\nU9:%ngrams[0,0,2]\nU10:%index[0]"] {
            let templates = Templates::compile(&(lines.to_owned() + more), Dialect::Wapiti, "test").unwrap();
            let (mut alphabet, mut observer) = (Alphabet::default(), Observer::default());
            let sequences: Vec<Columns> =
                [1, 2, 3, 60, 17].iter().map(|&len| sequence((0..len).map(|k| k * len % 23))).collect();
            let trained: Vec<Tables> = sequences
                .iter()
                .map(|sequence| {
                    let mut tables = Tables::default();
                    observer.columns(&templates, sequence, 0, &mut alphabet, &mut tables);
                    tables
                })
                .collect();
            let mut label = |sequence: &Columns| {
                let mut tables = Tables::default();
                observer.columns(&templates, sequence, 0, alphabet.frozen(), &mut tables);
                tables
            };
            for (sequence, trained) in sequences.iter().zip(&trained) {
                assert_eq!(label(sequence), *trained);
            }
            for (sequence, trained) in sequences.iter().zip(&trained).rev() {
                assert_eq!(label(sequence), *trained, "what was found before is remembered");
            }
            let expected = label(&sequence((0..40).map(|k| k * 3)));
            let found: usize = expected.0.iter().map(Vec::len).sum();
            assert!(
                found > 80 && found < trained[3].0.iter().map(Vec::len).sum(),
                "{found}: some words are unknown"
            );
        }
    }

    /// An observer remembers what it finds. New names may have the same numbers as before, and there may be more values than it can remember.
    #[test]
    fn what_is_remembered_belongs_to_its_names() {
        let templates =
            Templates::compile("U1:%x[0,0]\nU2:%x[-1,0]\nU3:%x[0,0]/%x[1,1]", Dialect::Crfpp, "test")
                .unwrap();
        let (mut alphabet, mut observer) = (Alphabet::default(), Observer::default());
        let known = sequence((0..30).map(|k| k % 11));
        let new = sequence((0..20_000).map(|k| k * 7 % 20_000));
        let mut trained = [Tables::default(), Tables::default()];
        observer.columns(&templates, &known, 0, &mut alphabet, &mut trained[0]);
        let mut found = Tables::default();
        observer.columns(&templates, &new, 0, alphabet.frozen(), &mut found);
        observer.columns(&templates, &new, 0, &mut alphabet, &mut trained[1]);
        assert_ne!(found, trained[1], "most of the words were new");
        for _ in 0..2 {
            for (sequence, trained) in [&known, &new].into_iter().zip(&trained) {
                let mut found = Tables::default();
                observer.columns(&templates, sequence, 0, alphabet.frozen(), &mut found);
                assert_eq!(found, *trained);
            }
        }
    }
}
