//! A table that turns byte strings into consecutive numbers and back.

use super::bytes::Numbers;
use crate::{Error, Result};
use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// A table of distinct byte strings, numbered in the order in which they were added.
///
/// It uses open addressing. A slot holds the 64-bit hash of a string and its number, so a look-up touches one line of
/// memory. A look-up trusts the hash: an unknown string is taken for a known one once in 2⁶⁴/n look-ups.
/// [`Strings::intern`] compares the strings themselves.
#[derive(Clone, Debug)]
pub struct Strings {
    arena: Numbers<u8>,
    /// End of each string in the arena. A string starts where the one before it ends.
    ends: Numbers<u32>,
    /// The slots: their number is a power of two, and at most three quarters of them are in use. They are made when they are first needed:
    /// training looks nothing up.
    slots: OnceLock<Numbers<Slot>>,
    /// The most bytes of all strings together, and the most strings: what numbers of 32 bits can count.
    most: usize,
    /// Whether a string was left out because it would not fit.
    overfull: bool,
    /// See [`Finder::stamp`]; made when it is first asked for.
    stamp: OnceLock<u64>,
}

impl Default for Strings {
    fn default() -> Self {
        let (arena, ends, slots, stamp) = Default::default();
        Strings { arena, ends, slots, most: MOST, overfull: false, stamp }
    }
}

/// Ends and numbers have 32 bits, and slots hold a number + 1.
const MOST: usize = u32::MAX as usize;

/// Lower and upper half of the hash, and the number + 1; 0 means free.
pub type Slot = [u32; 3];

#[inline]
fn halves(hash: u64) -> [u32; 2] {
    [hash as u32, (hash >> 32) as u32]
}

/// The hash by which a string is looked up.
#[inline]
pub(crate) fn hash_of(string: &[u8]) -> u64 {
    xxh3_64(string)
}

/// Overwrites `hashes` with those of strings that are end to end in `text`.
fn hash_all(text: &[u8], ends: &[usize], hashes: &mut Vec<u64>) {
    let mut start = 0;
    hashes.clear();
    hashes.extend(ends.iter().map(|&end| xxh3_64(&text[std::mem::replace(&mut start, end)..end])));
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
        self.finder().find(xxh3_64(string))
    }

    #[inline]
    fn slots(&self) -> &[Slot] {
        self.slots.get_or_init(|| self.slots_for(self.len()).into())
    }

    /// Whether there is a string with this number. Slots that lie in a mapped file can change after they were checked.
    #[inline]
    fn has(&self, id: u32) -> bool {
        (id as usize) < self.len()
    }

    /// The strings for look-ups by their hashes.
    #[inline]
    pub(crate) fn finder(&self) -> Finder<'_> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let stamp = *self.stamp.get_or_init(|| NEXT.fetch_add(1, Ordering::Relaxed));
        Finder { slots: self.slots(), strings: self.len() as u32, stamp }
    }

    /// The number of a string. A new string is added. A string that no longer fits into the table gets the number of another one;
    /// [`Strings::check_room`] then fails.
    pub fn intern(&mut self, string: &[u8]) -> u32 {
        self.intern_hashed(string, xxh3_64(string))
    }

    /// The numbers of several strings, which are added if they are new. They are end to end in `text`, with the end of each in `ends`. The
    /// memory reads of one string do not wait for those of another.
    pub(crate) fn intern_all(
        &mut self,
        text: &[u8],
        ends: &[usize],
        hashes: &mut Vec<u64>,
        mut found: impl FnMut(u32),
    ) {
        hash_all(text, ends, hashes);
        self.expect(hashes);
        let mut start = 0;
        for (&end, &hash) in ends.iter().zip(&*hashes) {
            found(self.intern_hashed(&text[start..end], hash));
            start = end;
        }
    }

    /// The same without adding anything: `None` for strings that are not in the table.
    pub(crate) fn find_all(
        &self,
        text: &[u8],
        ends: &[usize],
        hashes: &mut Vec<u64>,
        mut found: impl FnMut(Option<u32>),
    ) {
        hash_all(text, ends, hashes);
        self.expect(hashes);
        let mut start = 0;
        for (&end, &hash) in ends.iter().zip(&*hashes) {
            let string = &text[start..end];
            let same = |id| self.has(id) && self.get(id) == string;
            found(if self.is_empty() { None } else { search(self.slots(), hash, same).ok() });
            start = end;
        }
    }

    /// Adds a string that is not in the table, and returns its number, as [`Strings::intern`] would. The slots are rebuilt when they are next
    /// needed.
    pub(crate) fn append(&mut self, string: &[u8]) -> u32 {
        self.slots.take();
        self.push(string).unwrap_or(0)
    }

    /// Adds a string and returns its number; `None` if it does not fit.
    fn push(&mut self, string: &[u8]) -> Option<u32> {
        if self.arena.len() + string.len() > self.most || self.len() + 1 >= self.most {
            self.overfull = true;
            return None;
        }
        self.stamp.take();
        self.arena.to_mut().extend_from_slice(string);
        self.ends.to_mut().push(self.arena.len() as u32);
        Some(self.len() as u32 - 1)
    }

    /// Reads what the look-ups of these hashes will need: the slots where they begin, and the end and the bytes of the strings there.
    fn expect(&self, hashes: &[u64]) {
        let names = self.finder();
        names.expect(hashes.iter().copied());
        let (arena, ends) = self.parts();
        let end = |&hash: &u64| {
            let number = names.first(hash)[2] as usize;
            ends.get(number.wrapping_sub(1)).map_or(0, |&end| end as usize)
        };
        std::hint::black_box(hashes.iter().map(end).fold(0, usize::wrapping_add));
        let byte = |hash| arena.get(end(hash).wrapping_sub(1)).map_or(0, |&byte| byte.into());
        std::hint::black_box(hashes.iter().map(byte).fold(0, usize::wrapping_add));
    }

    fn intern_hashed(&mut self, string: &[u8], hash: u64) -> u32 {
        if 4 * (self.len() + 1) > 3 * self.slots().len() {
            self.slots = Numbers::from(self.slots_for(2 * (self.len() + 1))).into();
        }
        let same = |id| self.has(id) && self.get(id) == string;
        let mut place = search(self.slots(), hash, same);
        if place == Err(None) {
            // No slot is free, so the slots are damaged. Build them again from the strings.
            self.slots = Numbers::from(self.slots_for(2 * (self.len() + 1))).into();
            place = search(self.slots(), hash, |id| self.get(id) == string);
        }
        match place {
            Ok(id) => id,
            Err(at) => {
                let at = at.expect("slots made anew have room");
                let Some(id) = self.push(string) else { return 0 };
                let [low, high] = halves(hash);
                let slots = self.slots.get_mut().expect("they were searched");
                slots.to_mut()[at] = [low, high, id + 1];
                id
            }
        }
    }

    /// Returns an error if a string was left out. `what` names the strings.
    pub(crate) fn check_room(&self, what: &str) -> Result<()> {
        match self.overfull {
            false => Ok(()),
            true => Err(Error::Setting(format!(
                "{what} would take more than 4 GiB or be more than 2³² in number, which is the most that a model can hold: use fewer or \
                 shorter ones, for example by a larger `min_count` or by fewer sequences"
            ))),
        }
    }

    /// A table that holds no more than this many bytes or strings.
    #[cfg(test)]
    pub(crate) fn of_at_most(most: usize) -> Self {
        Strings { most, ..Strings::default() }
    }

    /// Some of the strings, in another order.
    pub(crate) fn reordered(&self, order: &[u32]) -> Strings {
        let mut arena = Vec::with_capacity(order.iter().map(|&id| self.get(id).len()).sum());
        let mut ends = Vec::with_capacity(order.len());
        for &id in order {
            arena.extend_from_slice(self.get(id));
            ends.push(arena.len() as u32);
        }
        Strings { arena: arena.into(), ends: ends.into(), ..Strings::default() }
    }

    /// Slots with room for `strings` strings, filled in the order of the numbers, so that they depend only on the
    /// strings.
    fn slots_for(&self, strings: usize) -> Vec<Slot> {
        let mut slots = free_slots(slot_count(strings));
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
    pub(crate) fn packed_slots(&self) -> Cow<'_, [Slot]> {
        // Slots of one size that hold the same strings are the same: strings always go in by their numbers.
        match self.slots.get() {
            Some(slots) if slots.len() == slot_count(self.len()) => Cow::Borrowed(slots),
            _ => Cow::Owned(self.slots_for(self.len())),
        }
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
        let strings = Strings { arena, ends, ..Strings::default() };
        match slots {
            Some(slots) if strings.has_room(&slots) => Ok(Strings { slots: slots.into(), ..strings }),
            Some(_) => Err(Error::Setting(format!("the slots of {what} do not fit its strings"))),
            None => Ok(strings),
        }
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

/// The strings of a table by their hashes. Finding the slots takes a few steps, which this does once for many look-ups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finder<'a> {
    slots: &'a [Slot],
    strings: u32,
    stamp: u64,
}

impl Finder<'_> {
    /// A number that no other table of this process has, except one that holds the same strings: what was found by one [`Finder`] may be used for
    /// another one of the same stamp.
    #[inline]
    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Reads the slots where the look-ups of these hashes begin. None of the reads waits for another one, as the look-ups would.
    #[inline]
    pub(crate) fn expect(&self, hashes: impl Iterator<Item = u64>) {
        std::hint::black_box(hashes.fold(0, |sum: u32, hash| sum.wrapping_add(self.first(hash)[2])));
    }

    /// The slot where the look-up of a hash begins.
    #[inline]
    fn first(&self, hash: u64) -> Slot {
        self.slots.get(hash as usize & self.slots.len().wrapping_sub(1)).copied().unwrap_or_default()
    }

    /// The number of the string with this hash, if it is in the table. Slots that lie in a mapped file can change after they were checked,
    /// so the number is compared with that of the strings.
    #[inline]
    pub(crate) fn find(&self, hash: u64) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        search(self.slots, hash, |_| true).ok().filter(|&id| id < self.strings)
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

/// Free slots whose memory has been written to. Memory that is only reserved maps to one page of zeros, and a look-up reads a slot before it is
/// filled: each page would then be mapped twice, and the second time all threads of the process would be interrupted.
fn free_slots(count: usize) -> Vec<Slot> {
    let mut slots = vec![[0; 3]; count];
    slots.iter_mut().step_by(PAGE / size_of::<Slot>()).for_each(|slot| *slot = std::hint::black_box([0; 3]));
    slots
}

/// The bytes of the smallest pages that systems have.
const PAGE: usize = 4096;

/// Number of slots in a table of this many strings.
fn slot_count(strings: usize) -> usize {
    if strings == 0 { 0 } else { (4 * strings).div_ceil(3).next_power_of_two().max(16) }
}

#[cfg(test)]
mod tests;
