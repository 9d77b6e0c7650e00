//! A table that turns byte strings into consecutive numbers and back.

use super::bytes::Numbers;
use crate::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// A table of distinct byte strings, numbered in the order in which they were added.
///
/// It uses open addressing. A slot holds the 64-bit hash of a string and its number, so a look-up touches one line of
/// memory. A look-up trusts the hash: an unknown string is taken for a known one once in 2⁶⁴/n look-ups.
/// [`Strings::intern`] compares the strings themselves.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    arena: Numbers<u8>,
    /// End of each string in the arena. A string starts where the one before it ends.
    ends: Numbers<u32>,
    /// The slots: their number is a power of two, and at most three quarters of them are in use.
    slots: Numbers<Slot>,
}

/// Lower and upper half of the hash, and the number + 1; 0 means free.
pub type Slot = [u32; 3];

#[inline]
fn halves(hash: u64) -> [u32; 2] {
    [hash as u32, (hash >> 32) as u32]
}

impl Strings {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string with number `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        &self.arena[start..self.ends[id] as usize]
    }

    /// The number of a string, if it is in the table.
    #[inline]
    pub fn find(&self, string: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        search(&self.slots, xxh3_64(string), |_| true).ok().filter(|&id| self.has(id))
    }

    /// Whether there is a string with this number. Slots that lie in a mapped file can change after they were checked.
    #[inline]
    fn has(&self, id: u32) -> bool {
        (id as usize) < self.len()
    }

    /// Finds the numbers of several strings in the table. The strings are end to end in `text`, with the end of each in
    /// `ends`. The memory reads of one string do not wait for those of another.
    pub(crate) fn find_all(
        &self,
        text: &[u8],
        ends: &[usize],
        hashes: &mut Vec<u64>,
        found: impl FnMut(u32),
    ) {
        if self.slots.is_empty() {
            return;
        }
        hashes.clear();
        let slots = &self.slots[..];
        let (mut start, mut ahead) = (0, 0u32);
        for &end in ends {
            let hash = xxh3_64(&text[start..end]);
            ahead = ahead.wrapping_add(slots[hash as usize & (slots.len() - 1)][2]);
            hashes.push(hash);
            start = end;
        }
        std::hint::black_box(ahead);
        let strings = self.len() as u32;
        let known = |&hash: &u64| search(slots, hash, |_| true).ok().filter(|&id| id < strings);
        hashes.iter().filter_map(known).for_each(found);
    }

    /// The number of a string. A new string is added.
    pub fn intern(&mut self, string: &[u8]) -> u32 {
        if 4 * (self.len() + 1) > 3 * self.slots.len() {
            self.slots = self.slots_for(2 * (self.len() + 1)).into();
        }
        let hash = xxh3_64(string);
        let same = |id| self.has(id) && self.get(id) == string;
        let mut place = search(&self.slots, hash, same);
        if place == Err(None) {
            // No slot is free, so the slots are damaged. Build them again from the strings.
            self.slots = self.slots_for(2 * (self.len() + 1)).into();
            place = search(&self.slots, hash, |id| self.get(id) == string);
        }
        match place {
            Ok(id) => id,
            Err(at) => {
                let at = at.expect("slots made anew have room");
                self.arena.to_mut().extend_from_slice(string);
                assert!(self.arena.len() <= u32::MAX as usize, "names of more than 4 GiB in one table");
                self.ends.to_mut().push(self.arena.len() as u32);
                let [low, high] = halves(hash);
                self.slots.to_mut()[at] = [low, high, self.len() as u32];
                self.len() as u32 - 1
            }
        }
    }

    /// Slots with room for `strings` strings, filled in the order of the numbers, so that they depend only on the
    /// strings.
    fn slots_for(&self, strings: usize) -> Vec<Slot> {
        let mut slots = vec![[0; 3]; slot_count(strings)];
        let mask = slots.len().wrapping_sub(1);
        for (id, string) in self.iter().enumerate() {
            let hash = xxh3_64(string);
            let [low, high] = halves(hash);
            let mut at = hash as usize & mask;
            while slots[at][2] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = [low, high, id as u32 + 1];
        }
        slots
    }

    /// The smallest slot table for these strings, for [`Strings::from_parts`].
    pub(crate) fn packed_slots(&self) -> Vec<Slot> {
        self.slots_for(self.len())
    }

    /// All strings in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let (text, ends) = self.parts();
        let mut start = 0;
        ends.iter().map(move |&end| {
            let string = &text[start..end as usize];
            start = end as usize;
            string
        })
    }

    /// The stored form of the strings: all of them end to end, and the end of each.
    pub fn parts(&self) -> (&[u8], &[u32]) {
        (&self.arena, &self.ends)
    }

    /// Puts a table together from its parts. `slots` are its [`Strings::packed_slots`]; if there are none, they are
    /// built. `what` names the table in errors.
    pub(crate) fn from_parts(
        arena: Numbers<u8>,
        ends: Numbers<u32>,
        slots: Option<Numbers<Slot>>,
        what: &str,
    ) -> Result<Self> {
        if ends.last().copied().unwrap_or(0) as usize != arena.len() || !ends.is_sorted() {
            return Err(Error::Setting(format!("the strings of {what} do not fill their room")));
        }
        let mut strings = Strings { arena, ends, slots: Numbers::default() };
        strings.slots = match slots {
            Some(slots) if strings.has_room(&slots) => slots,
            Some(_) => return Err(Error::Setting(format!("the slots of {what} do not fit its strings"))),
            None => strings.packed_slots().into(),
        };
        Ok(strings)
    }

    /// Whether these slots have the right size, each string's number once, and no other number. If so, every search
    /// ends at a string that exists or at a free slot.
    fn has_room(&self, slots: &[Slot]) -> bool {
        let (used, largest) = slots.iter().fold((0, 0), |(used, largest), slot| {
            (used + usize::from(slot[2] != 0), largest.max(slot[2] as usize))
        });
        slots.len() == slot_count(self.len()) && used == self.len() && largest <= self.len()
    }
}

/// The number of a string with this hash that `same` accepts, or the free slot where it would go; `None` if no slot is
/// free, which only happens to damaged tables. It looks at each slot at most once, whatever the slots hold.
#[inline]
fn search(slots: &[Slot], hash: u64, same: impl Fn(u32) -> bool) -> std::result::Result<u32, Option<usize>> {
    let [low, high] = halves(hash);
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    for _ in 0..slots.len() {
        let slot = slots[at];
        if slot[2] == 0 {
            return Err(Some(at));
        }
        if slot[0] == low && slot[1] == high && same(slot[2] - 1) {
            return Ok(slot[2] - 1);
        }
        at = (at + 1) & mask;
    }
    Err(None)
}

/// Number of slots in a table of this many strings.
fn slot_count(strings: usize) -> usize {
    if strings == 0 { 0 } else { (4 * strings).div_ceil(3).next_power_of_two().max(16) }
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
        let put = |arena: &[u8], ends: &[u32], slots: Option<Vec<Slot>>| {
            Strings::from_parts(arena.to_vec().into(), ends.to_vec().into(), slots.map(Numbers::from), "test")
        };
        for slots in [None, Some(table.packed_slots())] {
            let mut again = put(arena, ends, slots).unwrap();
            for i in 0..1000 {
                assert_eq!(again.find(format!("{i}").as_bytes()), Some(i));
            }
            assert_eq!(again.find(b"1000"), None);
            assert_eq!(again.packed_slots(), table.packed_slots());
            for i in 1000..2000 {
                assert_eq!(again.intern(format!("{i}").as_bytes()), i, "a table goes on growing");
            }
        }
        assert!(put(&arena[1..], ends, None).is_err());
        assert!(put(arena, &ends[1..999], None).is_err());
        let mut unsorted = ends.to_vec();
        unsorted[3] = 0;
        assert!(put(arena, &unsorted, None).is_err());
        let nothing = put(&[], &[], Some(Vec::new())).unwrap();
        assert!(nothing.find(b"").is_none());
    }

    #[test]
    fn slots_in_which_a_search_would_go_astray_are_refused() {
        let mut table = Strings::default();
        for i in 0..20 {
            table.intern(format!("{i}").as_bytes());
        }
        let refused = |change: fn(&mut Vec<Slot>)| {
            let mut slots = table.packed_slots();
            change(&mut slots);
            let (arena, ends) = table.parts();
            Strings::from_parts(arena.to_vec().into(), ends.to_vec().into(), Some(slots.into()), "test")
                .is_err()
        };
        assert!(!refused(|_| ()));
        assert!(refused(|slots| slots.clear()));
        assert!(refused(|slots| slots.truncate(16)));
        assert!(refused(|slots| slots.iter_mut().for_each(|slot| slot[2] = 1)), "no free slot ends a search");
        assert!(
            refused(|slots| slots.iter_mut().find(|slot| slot[2] == 20).unwrap()[2] = 21),
            "no such string"
        );
        assert!(refused(|slots| slots.iter_mut().find(|slot| slot[2] == 20).unwrap()[2] = 0));
    }

    /// If a model file is overwritten while it is mapped, its slots change after the checks of [`Strings::from_parts`].
    #[test]
    fn searches_end_in_slots_that_were_damaged_later() {
        let mut table = Strings::default();
        for i in 0..20 {
            table.intern(format!("{i}").as_bytes());
        }
        let damaged = |change: fn(&mut Slot)| {
            let mut damaged = table.clone();
            damaged.slots.to_mut().iter_mut().for_each(change);
            damaged
        };
        let mut full = damaged(|slot| *slot = [7, 7, 1]);
        assert_eq!(full.find(b"absent"), None, "no free slot ends the search");
        let (mut hashes, mut found) = (Vec::new(), 0);
        full.find_all(b"absent3", &[6, 7], &mut hashes, |_| found += 1);
        assert_eq!(found, 0);
        assert_eq!(full.intern(b"3"), 3, "interning makes the slots anew");
        assert_eq!(full.intern(b"new"), 20);
        assert_eq!(full.find(b"new"), Some(20));
        let mut strange = damaged(|slot| slot[2] = if slot[2] > 0 { u32::MAX } else { 0 });
        assert_eq!(strange.find(b"3"), None, "no string has this number");
        strange.find_all(b"3", &[1], &mut hashes, |id| panic!("{id} is no string's number"));
        assert_eq!(strange.intern(b"new"), 20);
    }
}
