//! Byte strings to consecutive numbers and back.

use crate::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// A table of distinct byte strings, numbered in the order of their arrival.
///
/// Open addressing over one arena. A slot holds the upper half of the hash and the number + 1, so that a look-up touches the
/// arena only where the hashes agree. The layout is also the layout in the model file.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    arena: Vec<u8>,
    /// End of string `id` in the arena; it starts where the one before ends.
    ends: Vec<u32>,
    /// A power of two of slots, at most half of them in use; 0 = free.
    slots: Vec<u64>,
}

/// Splits a hash into the first slot to look at and the tag to compare.
#[inline]
fn place(hash: u64, slots: usize) -> (usize, u64) {
    (hash as usize & (slots - 1), hash & 0xFFFF_FFFF_0000_0000)
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
        self.search(string, xxh3_64(string)).ok()
    }

    /// The number of a string, or the free slot where it would go.
    #[inline]
    fn search(&self, string: &[u8], hash: u64) -> std::result::Result<u32, usize> {
        let (mut at, tag) = place(hash, self.slots.len());
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let id = (slot as u32).wrapping_sub(1);
            if slot & 0xFFFF_FFFF_0000_0000 == tag && self.get(id) == string {
                return Ok(id);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The number of a string, which is added if it is new.
    pub fn intern(&mut self, string: &[u8]) -> u32 {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let hash = xxh3_64(string);
        match self.search(string, hash) {
            Ok(id) => id,
            Err(at) => {
                self.arena.extend_from_slice(string);
                assert!(self.arena.len() <= u32::MAX as usize, "names of more than 4 GiB in one table");
                self.ends.push(self.arena.len() as u32);
                self.slots[at] = (hash & 0xFFFF_FFFF_0000_0000) | self.len() as u64;
                self.len() as u32 - 1
            }
        }
    }

    fn grow(&mut self) {
        let slots = (4 * self.len()).next_power_of_two().max(16);
        self.slots = vec![0; slots];
        for id in 0..self.len() as u32 {
            let hash = xxh3_64(self.get(id));
            let (mut at, tag) = place(hash, slots);
            while self.slots[at] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = tag | (id as u64 + 1);
        }
    }

    /// All strings in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len() as u32).map(|id| self.get(id))
    }

    /// The three arrays as they are stored: arena, ends, slots.
    pub fn parts(&self) -> (&[u8], &[u32], &[u64]) {
        (&self.arena, &self.ends, &self.slots)
    }

    /// Puts a table together again, after checking that no look-up can leave the arrays or fail to end. `what` names the
    /// table in the error.
    pub fn from_parts(arena: Vec<u8>, ends: Vec<u32>, slots: Vec<u64>, what: &str) -> Result<Self> {
        let broken = |detail: &str| Error::Setting(format!("the table of {what} is damaged: {detail}"));
        if ends.last().copied().unwrap_or(0) as usize != arena.len() || !ends.is_sorted() {
            return Err(broken("its strings do not fill its arena"));
        }
        let used = slots.iter().filter(|&&slot| slot != 0).count();
        if !(slots.is_empty() && ends.is_empty()) && (!slots.len().is_power_of_two() || used != ends.len()) {
            return Err(broken("its slots do not match its strings"));
        }
        if !slots.is_empty() && used >= slots.len() {
            return Err(broken("it has no free slot"));
        }
        if slots.iter().any(|&slot| slot as u32 as usize > ends.len() || (slot != 0 && slot as u32 == 0)) {
            return Err(broken("a slot points outside"));
        }
        Ok(Strings { arena, ends, slots })
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
    fn damaged_parts_are_refused() {
        let mut table = Strings::default();
        for i in 0..20 {
            table.intern(format!("{i}").as_bytes());
        }
        let (arena, ends, slots) = table.parts();
        let build =
            |a: &[u8], e: &[u32], s: &[u64]| Strings::from_parts(a.into(), e.into(), s.into(), "test");
        assert!(build(arena, ends, slots).is_ok());
        assert!(build(&arena[1..], ends, slots).is_err());
        assert!(build(arena, &ends[1..], slots).is_err());
        assert!(build(arena, ends, &slots[..3]).is_err());
        let full = vec![1u64; 16];
        assert!(build(b"", &[0; 16], &full).is_err(), "no free slot: a look-up would never end");
        let mut outside = slots.to_vec();
        *outside.iter_mut().find(|s| **s != 0).unwrap() = 99;
        assert!(build(arena, ends, &outside).is_err());
    }
}
