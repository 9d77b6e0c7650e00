//! Byte strings to consecutive numbers and back.

use crate::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// A table of distinct byte strings, numbered in the order of their arrival.
///
/// Open addressing. A slot holds the 64 bits of the string's hash and its number, so that a look-up touches one line of memory:
/// it trusts the hash (a stranger is taken for a known string once in 2⁶⁴/n look-ups), while [`Strings::intern`] compares the
/// strings themselves.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    arena: Vec<u8>,
    /// End of string `id` in the arena; it starts where the one before ends.
    ends: Vec<u32>,
    /// A power of two of slots, at most three quarters of them in use.
    slots: Vec<Slot>,
}

/// Lower and upper half of the hash, and the number + 1; 0 = free.
type Slot = [u32; 3];

#[inline]
fn halves(hash: u64) -> [u32; 2] {
    [hash as u32, (hash >> 32) as u32]
}

impl Strings {
    /// How many strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// No strings at all?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String number `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        &self.arena[start..self.ends[id] as usize]
    }

    /// The number of a string that is already there.
    #[inline]
    pub fn find(&self, string: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.search(xxh3_64(string), |_| true).ok()
    }

    /// The numbers of several strings, end to end in `text` with the end of each in `ends`, that are already there. The reads of
    /// one string do not wait for another's.
    pub fn find_all(&self, text: &[u8], ends: &[usize], hashes: &mut Vec<u64>, found: impl FnMut(u32)) {
        if self.slots.is_empty() {
            return;
        }
        hashes.clear();
        let (mut start, mut ahead) = (0, 0u32);
        for &end in ends {
            let hash = xxh3_64(&text[start..end]);
            ahead = ahead.wrapping_add(self.slots[hash as usize & (self.slots.len() - 1)][2]);
            hashes.push(hash);
            start = end;
        }
        std::hint::black_box(ahead);
        hashes.iter().filter_map(|&hash| self.search(hash, |_| true).ok()).for_each(found);
    }

    /// The number of a string with this hash that `same` accepts, or the free slot where it would go.
    #[inline]
    fn search(&self, hash: u64, same: impl Fn(u32) -> bool) -> std::result::Result<u32, usize> {
        let [low, high] = halves(hash);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot[2] == 0 {
                return Err(at);
            }
            if slot[0] == low && slot[1] == high && same(slot[2] - 1) {
                return Ok(slot[2] - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of a string, which is added if it is new.
    pub fn intern(&mut self, string: &[u8]) -> u32 {
        if 4 * (self.len() + 1) > 3 * self.slots.len() {
            self.build_slots(2 * (self.len() + 1));
        }
        let hash = xxh3_64(string);
        match self.search(hash, |id| self.get(id) == string) {
            Ok(id) => id,
            Err(at) => {
                self.arena.extend_from_slice(string);
                assert!(self.arena.len() <= u32::MAX as usize, "names of more than 4 GiB in one table");
                self.ends.push(self.arena.len() as u32);
                let [low, high] = halves(hash);
                self.slots[at] = [low, high, self.len() as u32];
                self.len() as u32 - 1
            }
        }
    }

    /// Makes room for `strings` strings.
    fn build_slots(&mut self, strings: usize) {
        let slots = (4 * strings).div_ceil(3).next_power_of_two().max(16);
        self.slots = vec![[0; 3]; slots];
        let mut start = 0;
        for (id, &end) in self.ends.iter().enumerate() {
            let hash = xxh3_64(&self.arena[start..end as usize]);
            let [low, high] = halves(hash);
            let mut at = hash as usize & (slots - 1);
            while self.slots[at][2] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = [low, high, id as u32 + 1];
            start = end as usize;
        }
    }

    /// All strings in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len() as u32).map(|id| self.get(id))
    }

    /// The strings as they are stored: all of them end to end, and the end of each.
    pub fn parts(&self) -> (&[u8], &[u32]) {
        (&self.arena, &self.ends)
    }

    /// Puts a table together again. `what` names it in the error.
    pub fn from_parts(arena: Vec<u8>, ends: Vec<u32>, what: &str) -> Result<Self> {
        if ends.last().copied().unwrap_or(0) as usize != arena.len() || !ends.is_sorted() {
            return Err(Error::Setting(format!("the strings of {what} do not fill their room")));
        }
        let mut strings = Strings { arena, ends, slots: Vec::new() };
        if !strings.is_empty() {
            strings.build_slots(strings.len());
        }
        Ok(strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn agrees_with_a_hash_map() {
        let mut table = Strings::default();
        let mut map: HashMap<Vec<u8>, u32> = HashMap::new();
        assert_eq!(table.find(b"x"), None);
        for i in 0..10_000u64 {
            let name = format!("{}", (i * i) % 6_007).into_bytes();
            let expected = map.len() as u32;
            let expected = *map.entry(name.clone()).or_insert(expected);
            assert_eq!(table.intern(&name), expected);
        }
        assert_eq!(table.len(), map.len());
        for (name, id) in &map {
            assert_eq!(table.find(name), Some(*id));
            assert_eq!(table.get(*id), &name[..]);
        }
        assert_eq!(table.find(b"absent"), None);
        table.intern(b"");
        assert_eq!(table.find(b""), Some(table.len() as u32 - 1), "the empty string is a string");
    }

    #[test]
    fn parts_make_the_table_again() {
        let mut table = Strings::default();
        for i in 0..1000 {
            table.intern(format!("{i}").as_bytes());
        }
        let (arena, ends) = table.parts();
        let again = Strings::from_parts(arena.into(), ends.into(), "test").unwrap();
        for i in 0..1000 {
            assert_eq!(again.find(format!("{i}").as_bytes()), Some(i));
        }
        assert_eq!(again.find(b"1000"), None);
        assert!(Strings::from_parts(arena[1..].into(), ends.into(), "test").is_err());
        assert!(Strings::from_parts(arena.into(), ends[1..999].into(), "test").is_err());
        let mut unsorted = ends.to_vec();
        unsorted[3] = 0;
        assert!(Strings::from_parts(arena.into(), unsorted, "test").is_err());
        assert!(Strings::from_parts(Vec::new(), Vec::new(), "test").unwrap().find(b"").is_none());
    }
}
