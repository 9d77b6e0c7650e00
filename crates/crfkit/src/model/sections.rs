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

mod writer;

pub(crate) use writer::Writer;

use crate::data::bytes::{Bytes, Numbers};
use crate::data::strings::{Slot, Strings};
use crate::{Error, Result};
use bytemuck::Pod;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::Builder;
use twox_hash::XxHash3_64;

const ALIGNMENT: usize = 64;
const HEADER: usize = 64;
const NAME: usize = 24;
const ENTRY: usize = NAME + 8;
const CHECKSUM: usize = 8;

/// The first bytes of the magic of every kind of file.
pub(super) const FAMILY: &[u8] = b"crfkit\0";

/// The first bytes of other toolkits' model files.
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
    /// What such a file is, and what to do if another one was given.
    pub(crate) kind: &'static str,
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

/// Hands out the sections of a file, one after the other.
#[derive(Debug)]
pub struct Reader<'a> {
    format: &'static Format,
    file: &'a [u8],
    /// The same bytes, if arrays may refer to them instead of being copied.
    memory: Option<&'a Bytes>,
    /// Names and positions of the sections, last first.
    sections: Vec<(&'a [u8], Range<usize>)>,
}

/// From this length on, a file is read while another thread verifies its checksum.
const BESIDE: usize = 1 << 20;

/// Reads a file in memory. [Arrays](Reader::array) may refer to its bytes instead of being copied. The outcome of `read` counts only if
/// the checksum of the whole file is right.
pub(crate) fn read_verified<T>(
    bytes: &Bytes,
    format: &'static Format,
    read: impl FnOnce(Reader<'_>) -> Result<T>,
) -> Result<T> {
    let open = || Ok(Reader { memory: Some(bytes), ..Reader::unverified(bytes, format)? });
    format.check_head(bytes)?;
    let copy = bytes.clone();
    let large = bytes.len() >= BESIDE;
    let beside = large.then(|| Builder::new().spawn(move || format.verify(&copy)).ok()).flatten();
    match beside {
        None => {
            format.verify(bytes)?;
            open().and_then(read)
        }
        Some(thread) => {
            let outcome = open().and_then(read);
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            outcome
        }
    }
}

impl Format {
    /// Rejects what is too short, or begins differently.
    fn check_head(&self, file: &[u8]) -> Result<()> {
        if !file.starts_with(&self.magic) {
            return Err(self.refuse(format!("this is not a {}", self.kind)));
        }
        match file.len() < HEADER + CHECKSUM {
            true => Err(self.damaged(format!("it ends after {} bytes", file.len()))),
            false => Ok(()),
        }
    }

    /// Says that a file was written by a newer version, if it was.
    fn newer(&self, file: &[u8]) -> Option<String> {
        let version = number(&file[8..12]);
        (version > u64::from(self.version)).then(|| {
            let readable = self.version;
            format!("written by a newer crfkit (format {version}); this one reads up to {readable}")
        })
    }

    /// Verifies the checksum of a file whose head was checked.
    fn verify(&self, file: &[u8]) -> Result<()> {
        let (content, checksum) = file.split_at(file.len() - CHECKSUM);
        if XxHash3_64::oneshot(content) == number(checksum) {
            return Ok(());
        }
        let length = number(&file[16..24]);
        Err(match self.newer(file) {
            _ if length > file.len() as u64 => {
                self.damaged(format!("it is cut off after {} of {length} bytes", file.len()))
            }
            Some(newer) => self.damaged(format!("its checksum is wrong, or it was {newer}")),
            None => self.damaged("its checksum is wrong"),
        })
    }
}

impl<'a> Reader<'a> {
    /// Verifies magic, checksum and version, and finds the sections.
    pub(crate) fn new(file: &'a [u8], format: &'static Format) -> Result<Self> {
        format.check_head(file)?;
        format.verify(file)?;
        Reader::unverified(file, format)
    }

    /// Verifies the version and finds the sections.
    fn unverified(file: &'a [u8], format: &'static Format) -> Result<Self> {
        let (version, count) = (number(&file[8..12]), number(&file[12..16]));
        if let Some(newer) = format.newer(file) {
            return Err(format.refuse(newer));
        }
        if version < u64::from(format.oldest) {
            return Err(format.refuse(format!(
                "written before the first release (format {version}), which this crfkit does not read; {}",
                format.remedy
            )));
        }
        let sections = find_sections(&file[..file.len() - CHECKSUM], count);
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
            _ => Err(self
                .format
                .damaged(format!("the length of the section `{name}` is not a multiple of {N}"))),
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

    static FORMAT: Format = Format {
        magic: *b"crfkit\0T",
        oldest: 2,
        version: 3,
        name: "test",
        kind: "test of crfkit",
        remedy: "write it again",
    };

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

    /// A large file is read while its checksum is computed: what was read counts for nothing if it is wrong.
    #[test]
    fn a_large_file_is_verified_too() {
        let numbers: Vec<u32> = (0..BESIDE as u32 / 2).collect();
        let mut writer = Writer::default();
        writer.array("numbers", &numbers, u32::to_le_bytes);
        let good = writer.finish(&FORMAT);
        assert!(good.len() > BESIDE);
        let read = |file: &[u8]| {
            let bytes = Bytes::read(file, file.len()).unwrap();
            read_verified(&bytes, &FORMAT, |mut reader| {
                let numbers = reader.array("numbers", u32::from_le_bytes)?;
                if numbers.is_sorted() { Ok(numbers.len()) } else { Err(Error::Setting("unsorted".into())) }
            })
            .map_err(|error| error.to_string())
        };
        assert_eq!(read(&good), Ok(numbers.len()));
        for at in (8..good.len()).step_by(99_991).chain([good.len() - 1]) {
            let mut flipped = good.clone();
            flipped[at] ^= 0x40;
            let message = read(&flipped).unwrap_err();
            assert!(message.contains("damaged"), "{at}: {message}");
        }
        assert!(read(&good[..good.len() - 64]).unwrap_err().contains("cut off"));
        let newer = Format { version: 4, ..FORMAT };
        let mut writer = Writer::default();
        writer.array("numbers", &numbers, u32::to_le_bytes);
        assert!(read(&writer.finish(&newer)).unwrap_err().contains("written by a newer crfkit"));
    }
}
