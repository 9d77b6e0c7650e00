//! Writing files of sections.

use super::{ALIGNMENT, CHECKSUM, ENTRY, Format, HEADER, NAME, StringSections};
use crate::data::strings::{Slot, Strings};
use bytemuck::Pod;
use std::borrow::Cow;
use std::io::Write;
use xxhash_rust::xxh3::Xxh3;

/// Collects sections and makes a file from them. Data that has the same form in memory as in the file is not copied.
#[derive(Debug, Default)]
pub struct Writer<'a> {
    sections: Vec<(&'static str, Section<'a>)>,
}

#[derive(Debug)]
enum Section<'a> {
    Bytes(Cow<'a, [u8]>),
    Slots(Cow<'a, [Slot]>),
}

impl Section<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Section::Bytes(bytes) => bytes,
            Section::Slots(slots) => bytemuck::cast_slice(slots),
        }
    }
}

impl<'a> Writer<'a> {
    /// Adds a section.
    pub(crate) fn bytes(&mut self, name: &'static str, bytes: impl Into<Cow<'a, [u8]>>) {
        debug_assert!(name.len() <= NAME);
        self.sections.push((name, Section::Bytes(bytes.into())));
    }

    /// Adds a section of numbers, each given as its little-endian bytes.
    pub(crate) fn numbers<const N: usize>(
        &mut self,
        name: &'static str,
        numbers: impl ExactSizeIterator<Item = [u8; N]>,
    ) {
        let mut bytes = Vec::with_capacity(N * numbers.len());
        numbers.for_each(|number| bytes.extend_from_slice(&number));
        self.bytes(name, bytes);
    }

    /// Adds a section of numbers that are in memory. They are used in place; on a big-endian machine they are converted one by one.
    pub(crate) fn array<const N: usize, T: Pod>(
        &mut self,
        name: &'static str,
        numbers: &'a [T],
        bytes: impl Fn(T) -> [u8; N],
    ) {
        match cfg!(target_endian = "little") {
            true => self.bytes(name, bytemuck::cast_slice(numbers)),
            false => self.numbers(name, numbers.iter().map(|number| bytes(*number))),
        }
    }

    /// Adds three sections: the strings end to end, the end of each, and the slots of their hash table. Without
    /// `with_slots` the last section is empty.
    pub(crate) fn strings(
        &mut self,
        [text, ends, slots]: StringSections,
        strings: &'a Strings,
        with_slots: bool,
    ) {
        let parts = strings.parts();
        self.bytes(text, parts.0);
        self.array(ends, parts.1, u32::to_le_bytes);
        match (with_slots, cfg!(target_endian = "little")) {
            (false, _) => self.bytes(slots, &[][..]),
            (true, true) => self.sections.push((slots, Section::Slots(strings.packed_slots()))),
            (true, false) => {
                let packed = strings.packed_slots();
                self.numbers(slots, packed.as_flattened().iter().map(|number| number.to_le_bytes()));
            }
        }
    }

    /// Adds a section of JSON.
    ///
    /// # Panics
    /// If `value` cannot be written as JSON, for example because it has a map whose keys are not strings.
    pub(crate) fn json(&mut self, name: &'static str, value: &impl serde::Serialize) {
        self.bytes(name, serde_json::to_vec(value).expect("plain data has a JSON form"));
    }

    /// The length of the whole file.
    pub(crate) fn length(&self) -> usize {
        let directory = HEADER + self.sections.len() * ENTRY;
        let sections = self.sections.iter().map(|(_, section)| section.bytes().len());
        let before_checksum = sections.fold(directory, |at, length| at.next_multiple_of(ALIGNMENT) + length);
        before_checksum.next_multiple_of(ALIGNMENT) + CHECKSUM
    }

    /// Puts the whole file together in memory.
    pub(crate) fn finish(self, format: &Format) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.length());
        self.write_to(format, &mut file).expect("writing to memory succeeds");
        file
    }

    /// Writes the whole file, section by section.
    pub(crate) fn write_to(self, format: &Format, out: &mut dyn Write) -> std::io::Result<()> {
        let mut head = Vec::with_capacity(HEADER + self.sections.len() * ENTRY);
        head.extend_from_slice(&format.magic);
        head.extend_from_slice(&format.version.to_le_bytes());
        head.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        head.extend_from_slice(&(self.length() as u64).to_le_bytes());
        head.resize(HEADER, 0);
        for (name, section) in &self.sections {
            head.extend_from_slice(name.as_bytes());
            head.resize(head.len() + NAME - name.len(), 0);
            head.extend_from_slice(&(section.bytes().len() as u64).to_le_bytes());
        }
        let mut file = Checked { out, checksum: Box::default(), written: 0 };
        file.write(&head)?;
        for (_, section) in self.sections {
            file.align()?;
            file.write(section.bytes())?;
        }
        file.align()?;
        let checksum = file.checksum.digest();
        file.write(&checksum.to_le_bytes())
    }
}

/// A file that is being written, and the checksum of what it has.
struct Checked<'a> {
    out: &'a mut dyn Write,
    checksum: Box<Xxh3>,
    written: usize,
}

impl Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.checksum.update(bytes);
        self.written += bytes.len();
        self.out.write_all(bytes)
    }

    /// Fills up with zeros to where the next section may begin.
    fn align(&mut self) -> std::io::Result<()> {
        let gap = self.written.next_multiple_of(ALIGNMENT) - self.written;
        self.write(&[0; ALIGNMENT][..gap])
    }
}
