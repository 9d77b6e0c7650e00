//! The container of model and checkpoint files: named sections under one checksum.
//!
//! ```text
//!          0  magic [8]      what the file is
//!          8  version u32    of what the sections hold
//!         12  count u32      of the sections
//!         16  length u64     of the whole file
//!         24  zeros [40]
//!         64  directory      for each section its name [24], filled up with zeros, and its length u64
//!             sections       in this order
//! length − 8  checksum u64   XXH3-64 of everything before it
//! ```
//!
//! Numbers are little-endian. Directory, sections and checksum start at multiples of 64; the gaps are zero. Magic,
//! version and checksum keep their places in every version, so that an old program can tell a newer file from a damaged
//! one.

use crate::data::bytes::{Bytes, Numbers};
use crate::data::strings::{Slot, Strings};
use crate::{Error, Result};
use bytemuck::Pod;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

const ALIGNMENT: usize = 64;
const HEADER: usize = 64;
const NAME: usize = 24;
const ENTRY: usize = NAME + 8;
const CHECKSUM: usize = 8;

/// What the magic of every kind of file begins with.
pub(super) const FAMILY: &[u8] = b"crfkit\0";

/// What the model files of other toolkits begin with.
pub(super) const FOREIGN: [&[u8]; 3] = [b"lCRF", b"version: ", b"#mdl#"];

/// A kind of file.
#[derive(Debug)]
pub(crate) struct Format {
    /// The first bytes of such a file.
    pub(crate) magic: [u8; 8],
    /// The oldest version that can be read.
    pub(crate) oldest: u32,
    /// The version that is written, and the newest that can be read.
    pub(crate) version: u32,
    /// The name of such a file in error messages.
    pub(crate) name: &'static str,
    /// What to do if the file is damaged.
    pub(crate) remedy: &'static str,
}

impl Format {
    /// The error for a file that cannot be used.
    pub(crate) fn refuse(&self, message: impl Into<String>) -> Error {
        Error::File { name: self.name.into(), message: message.into() }
    }

    /// The error for a file whose contents are not what was written.
    pub(crate) fn damaged(&self, detail: impl std::fmt::Display) -> Error {
        self.refuse(format!("the file is damaged: {detail}; {}", self.remedy))
    }
}

/// Names of the three sections of a string table: text, the end of each string, and hash slots.
pub(crate) type StringSections = [&'static str; 3];

/// Collects sections and makes a file from them.
#[derive(Debug, Default)]
pub struct Writer {
    sections: Vec<(&'static str, Vec<u8>)>,
}

impl Writer {
    /// Adds a section.
    pub(crate) fn bytes(&mut self, name: &'static str, bytes: Vec<u8>) {
        debug_assert!(name.len() <= NAME);
        self.sections.push((name, bytes));
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

    /// Adds three sections: the strings end to end, the end of each, and the slots of their hash table. Without
    /// `with_slots` the last section is empty.
    pub(crate) fn strings(
        &mut self,
        [text, ends, slots]: StringSections,
        strings: &Strings,
        with_slots: bool,
    ) {
        let parts = strings.parts();
        self.bytes(text, parts.0.to_vec());
        self.numbers(ends, parts.1.iter().map(|end| end.to_le_bytes()));
        let packed = if with_slots { strings.packed_slots() } else { Vec::new() };
        self.numbers(slots, packed.as_flattened().iter().map(|number| number.to_le_bytes()));
    }

    /// Adds a section of JSON.
    ///
    /// # Panics
    /// If `value` cannot be written as JSON, for example because it has a map whose keys are not strings.
    pub(crate) fn json(&mut self, name: &'static str, value: &impl serde::Serialize) {
        self.bytes(name, serde_json::to_vec(value).expect("plain data has a JSON form"));
    }

    /// Puts the whole file together.
    pub(crate) fn finish(self, format: &Format) -> Vec<u8> {
        let directory = HEADER + self.sections.len() * ENTRY;
        let sections = self.sections.iter();
        let before_checksum = sections.fold(directory, |at, (_, s)| at.next_multiple_of(ALIGNMENT) + s.len());
        let length = before_checksum.next_multiple_of(ALIGNMENT) + CHECKSUM;
        let mut file = Vec::with_capacity(length);
        file.extend_from_slice(&format.magic);
        file.extend_from_slice(&format.version.to_le_bytes());
        file.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        file.extend_from_slice(&(length as u64).to_le_bytes());
        file.resize(HEADER, 0);
        for (name, section) in &self.sections {
            file.extend_from_slice(name.as_bytes());
            file.resize(file.len() + NAME - name.len(), 0);
            file.extend_from_slice(&(section.len() as u64).to_le_bytes());
        }
        for (_, section) in &self.sections {
            file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
            file.extend_from_slice(section);
        }
        file.resize(length - CHECKSUM, 0);
        file.extend_from_slice(&xxh3_64(&file).to_le_bytes());
        file
    }
}

/// Hands out the sections of a verified file, one after the other.
#[derive(Debug)]
pub struct Reader<'a> {
    format: &'static Format,
    file: &'a [u8],
    /// The same bytes, if arrays may refer to them instead of being copied.
    memory: Option<&'a Bytes>,
    /// Names and positions of the sections, last first.
    sections: Vec<(&'a [u8], Range<usize>)>,
}

impl<'a> Reader<'a> {
    /// Like [`Reader::new`], but [arrays](Reader::array) may refer to the bytes instead of being copied.
    pub(crate) fn of(bytes: &'a Bytes, format: &'static Format) -> Result<Self> {
        Ok(Reader { memory: Some(bytes), ..Reader::new(bytes, format)? })
    }

    /// Verifies magic, checksum and version, and finds the sections.
    pub(crate) fn new(file: &'a [u8], format: &'static Format) -> Result<Self> {
        if !file.starts_with(&format.magic) {
            return Err(format.refuse(format!("this is not a {} of crfkit", format.name)));
        }
        if file.len() < HEADER + CHECKSUM {
            return Err(format.damaged(format!("it ends after {} bytes", file.len())));
        }
        let (version, count, length) = (number(&file[8..12]), number(&file[12..16]), number(&file[16..24]));
        let newer = (version > u64::from(format.version)).then(|| {
            let readable = format.version;
            format!("written by a newer crfkit (format {version}); this one reads up to {readable}")
        });
        let (content, checksum) = file.split_at(file.len() - CHECKSUM);
        if xxh3_64(content) != number(checksum) {
            return Err(match newer {
                _ if length > file.len() as u64 => {
                    format.damaged(format!("it is cut off after {} of {length} bytes", file.len()))
                }
                Some(newer) => format.damaged(format!("its checksum is wrong, or it was {newer}")),
                None => format.damaged("its checksum is wrong"),
            });
        }
        if let Some(newer) = newer {
            return Err(format.refuse(newer));
        }
        if version < u64::from(format.oldest) {
            return Err(format.refuse(format!(
                "written before the first release (format {version}), which this crfkit does not read; {}",
                format.remedy
            )));
        }
        let sections = find_sections(content, count);
        let mut sections = sections.ok_or_else(|| format.damaged("its sections do not fill it"))?;
        sections.reverse();
        Ok(Reader { format, file, memory: None, sections })
    }

    /// The position of the next section, which must have this name.
    pub(crate) fn range(&mut self, name: &str) -> Result<Range<usize>> {
        let section = self.sections.pop().filter(|(found, _)| *found == name.as_bytes());
        section.map(|(_, range)| range).ok_or_else(|| {
            self.format.damaged(format!("the section `{name}` is missing or not in its place"))
        })
    }

    /// The bytes of the next section.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<&'a [u8]> {
        Ok(&self.file[self.range(name)?])
    }

    /// The next section, as numbers made of N bytes each.
    pub(crate) fn numbers<const N: usize, T>(
        &mut self,
        name: &str,
        number: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        match self.bytes(name)?.as_chunks() {
            (chunks, []) => Ok(chunks.iter().map(|&bytes| number(bytes)).collect()),
            _ => {
                Err(self.format.damaged(format!("the length of the section `{name}` is no multiple of {N}")))
            }
        }
    }

    /// The next section, as an array of numbers. They are used in place; on a big-endian machine they are converted one
    /// by one.
    pub(crate) fn array<const N: usize, T: Pod>(
        &mut self,
        name: &str,
        number: impl Fn([u8; N]) -> T,
    ) -> Result<Numbers<T>> {
        match self.memory.filter(|_| cfg!(target_endian = "little")) {
            Some(bytes) => {
                let part = Numbers::part(bytes, self.range(name)?);
                part.ok_or_else(|| self.format.damaged(format!("the section `{name}` has half a number")))
            }
            None => Ok(self.numbers(name, number)?.into()),
        }
    }

    /// The next three sections, as strings. Their hash table is built if it is not stored.
    pub(crate) fn strings(&mut self, [text, ends, slots]: StringSections) -> Result<Strings> {
        let arena = self.array(text, u8::from_le_bytes)?;
        let ends = self.array(ends, u32::from_le_bytes)?;
        let slots = Some(self.array(slots, slot)?).filter(|slots| !slots.is_empty());
        Strings::from_parts(arena, ends, slots, text).map_err(|error| self.format.damaged(error))
    }

    /// The next section, as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let bytes = self.bytes(name)?;
        serde_json::from_slice(bytes)
            .map_err(|error| self.format.damaged(format!("section `{name}`: {error}")))
    }

    /// Checks that there is no further section.
    pub(crate) fn finish(self) -> Result<()> {
        match self.sections.is_empty() {
            true => Ok(()),
            false => Err(self.format.damaged("it has more sections than it should")),
        }
    }
}

fn slot(bytes: [u8; 12]) -> Slot {
    let (numbers, _) = bytes.as_chunks();
    [numbers[0], numbers[1], numbers[2]].map(u32::from_le_bytes)
}

/// The little-endian number in these bytes, at most eight of them.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Names and positions of the sections in a file without its checksum; `None` if the directory does not describe the
/// file exactly.
fn find_sections(content: &[u8], count: u64) -> Option<Vec<(&[u8], Range<usize>)>> {
    let mut at = HEADER.checked_add(ENTRY.checked_mul(usize::try_from(count).ok()?)?)?;
    let directory = content.get(HEADER..at)?;
    let mut sections = Vec::new();
    for entry in directory.chunks_exact(ENTRY) {
        let (name, length) = entry.split_at(NAME);
        let name = name.split(|&byte| byte == 0).next()?;
        let start = at.checked_next_multiple_of(ALIGNMENT)?;
        at = start.checked_add(usize::try_from(number(length)).ok()?)?;
        content.get(start..at)?;
        sections.push((name, start..at));
    }
    (at.checked_next_multiple_of(ALIGNMENT)? == content.len()).then_some(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    static FORMAT: Format =
        Format { magic: *b"crfkit\0T", oldest: 2, version: 3, name: "test", remedy: "write it again" };

    fn file(version: u32) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes("text", b"hello".to_vec());
        writer.bytes("nothing", Vec::new());
        writer.numbers("numbers", [1u32, 2, 0xFFFF_FFFE].iter().map(|n| n.to_le_bytes()));
        writer.finish(&Format { version, ..FORMAT })
    }

    fn refusal(file: &[u8]) -> String {
        Reader::new(file, &FORMAT).unwrap_err().to_string()
    }

    #[test]
    fn sections_come_back_in_their_order() {
        let file = file(3);
        assert_eq!(file.len() % ALIGNMENT, CHECKSUM);
        let mut reader = Reader::new(&file, &FORMAT).unwrap();
        assert_eq!(reader.bytes("text").unwrap(), b"hello");
        assert_eq!(reader.bytes("nothing").unwrap(), b"");
        assert_eq!(reader.numbers("numbers", u32::from_le_bytes).unwrap(), [1, 2, 0xFFFF_FFFE]);
        reader.finish().unwrap();
    }

    #[test]
    fn sections_out_of_place_or_of_odd_length_are_refused() {
        let file = file(3);
        let reader = || Reader::new(&file, &FORMAT).unwrap();
        assert!(reader().bytes("numbers").unwrap_err().to_string().contains("`numbers` is missing"));
        assert!(reader().numbers("text", u32::from_le_bytes).is_err(), "five bytes are no numbers of four");
        assert!(reader().finish().is_err(), "sections are left over");
    }

    #[test]
    fn refusals_tell_newer_from_damaged_from_foreign() {
        let good = file(3);
        assert!(refusal(b"").contains("not a test"));
        assert!(refusal(b"crfkit\0X and more of it").contains("not a test"));
        assert!(refusal(&good[..15]).contains("ends after 15 bytes"));
        assert!(refusal(&good[..100]).contains("cut off after 100 of"));
        let newer = "written by a newer crfkit (format 4); this one reads up to 3";
        assert_eq!(refusal(&file(4)), format!("test: {newer}"));
        let mut flipped = good.clone();
        flipped[8] = 4;
        assert!(refusal(&flipped).contains("checksum is wrong, or it was written by a newer"));
        assert!(Reader::new(&file(2), &FORMAT).is_ok(), "older versions stay readable");
        assert!(refusal(&file(1)).contains("written before the first release (format 1)"));
    }
}
