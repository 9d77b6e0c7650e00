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
//! Numbers are little-endian. Directory, sections and checksum start at multiples of 64; the gaps are zero. Magic, version and
//! checksum keep their places in every version, so that an old program can tell a newer file from a damaged one.

use crate::data::strings::Strings;
use crate::{Error, Result};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

const ALIGNMENT: usize = 64;
const HEADER: usize = 64;
const NAME: usize = 24;
const ENTRY: usize = NAME + 8;
const CHECKSUM: usize = 8;

/// A kind of file.
#[derive(Debug)]
pub(crate) struct Format {
    /// Its first bytes.
    pub magic: [u8; 8],
    /// The version that is written, and the newest that can be read.
    pub version: u32,
    /// What errors call such a file.
    pub name: &'static str,
    /// What to do about a damaged one.
    pub remedy: &'static str,
}

impl Format {
    /// The file cannot be used.
    pub fn refuse(&self, message: impl Into<String>) -> Error {
        Error::File { name: self.name.into(), message: message.into() }
    }

    /// The file is not what was written.
    pub fn damaged(&self, detail: impl std::fmt::Display) -> Error {
        self.refuse(format!("the file is damaged: {detail}; {}", self.remedy))
    }
}

/// Collects sections and makes a file of them.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    sections: Vec<(&'static str, Vec<u8>)>,
}

impl Writer {
    /// Adds a section.
    pub fn bytes(&mut self, name: &'static str, bytes: Vec<u8>) {
        debug_assert!(name.len() <= NAME);
        self.sections.push((name, bytes));
    }

    /// Adds a section of numbers, each given as its little-endian bytes.
    pub fn numbers<const N: usize>(
        &mut self,
        name: &'static str,
        numbers: impl ExactSizeIterator<Item = [u8; N]>,
    ) {
        let mut bytes = Vec::with_capacity(N * numbers.len());
        numbers.for_each(|number| bytes.extend_from_slice(&number));
        self.bytes(name, bytes);
    }

    /// Adds two sections: strings end to end, and the end of each.
    pub fn strings(&mut self, [text, ends]: [&'static str; 2], strings: &Strings) {
        let parts = strings.parts();
        self.bytes(text, parts.0.to_vec());
        self.numbers(ends, parts.1.iter().map(|end| end.to_le_bytes()));
    }

    /// Adds a section of JSON.
    ///
    /// # Panics
    /// If `value` has a map whose keys are not strings, or the like.
    pub fn json(&mut self, name: &'static str, value: &impl serde::Serialize) {
        self.bytes(name, serde_json::to_vec(value).expect("plain data has a JSON form"));
    }

    /// The whole file.
    pub fn finish(self, format: &Format) -> Vec<u8> {
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
pub(crate) struct Reader<'a> {
    format: &'static Format,
    file: &'a [u8],
    version: u64,
    /// Names and places, last first.
    sections: Vec<(&'a [u8], Range<usize>)>,
}

impl<'a> Reader<'a> {
    /// Verifies magic, checksum and version, and finds the sections.
    pub fn new(file: &'a [u8], format: &'static Format) -> Result<Self> {
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
        let sections = find_sections(content, count);
        let mut sections = sections.ok_or_else(|| format.damaged("its sections do not fill it"))?;
        sections.reverse();
        Ok(Reader { format, file, version, sections })
    }

    /// The version of the format that the file has.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Where the next section is, which must have this name.
    pub fn range(&mut self, name: &str) -> Result<Range<usize>> {
        let section = self.sections.pop().filter(|(found, _)| *found == name.as_bytes());
        section.map(|(_, range)| range).ok_or_else(|| {
            self.format.damaged(format!("the section `{name}` is missing or not in its place"))
        })
    }

    /// The next section.
    pub fn bytes(&mut self, name: &str) -> Result<&'a [u8]> {
        Ok(&self.file[self.range(name)?])
    }

    /// The next section, as numbers made of N bytes each.
    pub fn numbers<const N: usize, T>(
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

    /// The next two sections, as strings.
    pub fn strings(&mut self, [text, ends]: [&str; 2]) -> Result<Strings> {
        let arena = self.bytes(text)?.to_vec();
        let ends = self.numbers(ends, u32::from_le_bytes)?;
        Strings::from_parts(arena.into(), ends.into(), None, text).map_err(|error| self.format.damaged(error))
    }

    /// The next section, as JSON.
    pub fn json<T: serde::de::DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let bytes = self.bytes(name)?;
        serde_json::from_slice(bytes)
            .map_err(|error| self.format.damaged(format!("section `{name}`: {error}")))
    }

    /// There must be no further section.
    pub fn finish(self) -> Result<()> {
        match self.sections.is_empty() {
            true => Ok(()),
            false => Err(self.format.damaged("it has more sections than it should")),
        }
    }
}

/// The number that these bytes are, at most eight of them.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Names and places of the sections of a file without its checksum; `None` if the directory does not describe it exactly.
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
        Format { magic: *b"crfkit\0T", version: 3, name: "test", remedy: "write it again" };

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
        assert_eq!(reader.version(), 3);
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
    }
}
