//! ZIP archives, as far as NumPy's `.npz` files need them: stored or deflated members, found through the directory at
//! the end.
//!
//! The file has `[header, data]` for each member, then the directory (one entry for each member), and then the end
//! record, which says where the directory is. If a number does not fit into its field, the field is all ones and a
//! ZIP64 field or record has the number.

use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::collections::HashSet;
use std::io::Read;

const MEMBER: &[u8] = b"PK\x03\x04";
const ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR64: &[u8] = b"PK\x06\x07";
/// Size in bytes of the end record without its comment. The comment has at most [`u16::MAX`] bytes.
const END_SIZE: usize = 22;
/// Size in bytes of the record that says where the ZIP64 end record is. It stands right before the end record.
const LOCATOR64_SIZE: usize = 20;
/// The kind of the extra field that holds an entry's 64-bit numbers.
const EXTRA64: u64 = 1;
/// The flag of encrypted members.
const ENCRYPTED: u64 = 1;

/// The members of an archive in memory. A member is decoded only when it is asked for.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    /// The members, in the order of the directory.
    pub(crate) members: Vec<Member>,
}

/// A member, as the directory describes it.
pub(super) struct Member {
    pub(crate) name: String,
    flags: u64,
    method: u64,
    checksum: u32,
    /// Size in bytes in the archive; `size` is the size after decoding.
    packed: u64,
    size: u64,
    /// Position of the member's header.
    at: u64,
}

impl<'a> Archive<'a> {
    /// Reads the directory of an archive. The error says why it cannot be read.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, String> {
        let (count, directory) = find_directory(bytes)?;
        let mut rest = part(bytes, directory, bytes.len() as u64 - directory.min(bytes.len() as u64))?;
        let (mut members, mut names) = (Vec::new(), HashSet::new());
        for _ in 0..count {
            let (member, behind) = Member::parse(rest)?;
            if !names.insert(member.name.clone()) {
                return Err(damaged(format!("two members have the name {}", member.name)));
            }
            members.push(member);
            rest = behind;
        }
        Ok(Archive { bytes, members })
    }

    /// Decodes a member of at most `limit` bytes and verifies it.
    pub(crate) fn read(&self, member: &Member, limit: u64) -> Result<Vec<u8>, String> {
        let Member { flags, method, checksum, packed, size, at, .. } = *member;
        if size > limit {
            return Err(format!("{size} bytes are too many: at most {limit} are read"));
        }
        if flags & ENCRYPTED != 0 {
            return Err("it is encrypted: save the archive without a password".into());
        }
        // The header repeats the directory entry, except for the lengths of its own name and extra fields.
        let header = part(self.bytes, at, 30)?;
        if !header.starts_with(MEMBER) {
            return Err(damaged("a member is not where the directory says"));
        }
        let data = part(self.bytes, at + 30 + number(header, 26, 2) + number(header, 28, 2), packed)?;
        let mut bytes = Vec::new();
        match method {
            0 => bytes.extend_from_slice(data),
            8 => {
                // Ask for one byte more than expected, to find out whether there are more.
                let mut decoder = DeflateDecoder::new(data).take(size + 1);
                decoder.read_to_end(&mut bytes).map_err(damaged)?;
            }
            _ => {
                return Err(format!(
                    "it is compressed with ZIP method {method}, which crfkit does not read: save the arrays with numpy.savez_compressed"
                ));
            }
        }
        if bytes.len() as u64 != size {
            return Err(damaged("the size of a member differs from its directory entry"));
        }
        let mut sum = Crc::new();
        sum.update(&bytes);
        match sum.sum() == checksum {
            true => Ok(bytes),
            false => Err(damaged("a checksum is wrong")),
        }
    }
}

impl Member {
    /// The first entry of a directory, and the bytes after it.
    fn parse(entries: &[u8]) -> Result<(Self, &[u8]), String> {
        let entry = part(entries, 0, 46)?;
        if !entry.starts_with(ENTRY) {
            return Err(damaged("an entry of its directory is damaged"));
        }
        let [name, extra, comment] = [28, 30, 32].map(|at| number(entry, at, 2));
        let [mut packed, mut size, mut at] = [20, 24, 42].map(|at| number(entry, at, 4));
        let mut wide = extra64(part(entries, 46 + name, extra)?);
        for field in [&mut size, &mut packed, &mut at] {
            if *field == u64::from(u32::MAX) {
                let (first, behind) = wide.split_at_checked(8).ok_or_else(|| damaged("a size is missing"))?;
                *field = number(first, 0, 8);
                wide = behind;
            }
        }
        let member = Member {
            name: String::from_utf8_lossy(part(entries, 46, name)?).into_owned(),
            flags: number(entry, 8, 2),
            method: number(entry, 10, 2),
            checksum: number(entry, 16, 4) as u32,
            packed,
            size,
            at,
        };
        let length = 46 + name + extra + comment;
        part(entries, 0, length)?;
        Ok((member, &entries[length as usize..]))
    }
}

/// The number of directory entries, and the directory's position.
fn find_directory(bytes: &[u8]) -> Result<(u64, u64), String> {
    // The end record is the last one. At most a comment follows, and the record has its length.
    let earliest = bytes.len().saturating_sub(END_SIZE + usize::from(u16::MAX));
    let fits = |&at: &usize| {
        let end = &bytes[at..];
        end.starts_with(END) && END_SIZE as u64 + number(end, 20, 2) == end.len() as u64
    };
    let last = bytes.len().checked_sub(END_SIZE).and_then(|last| (earliest..=last).rev().find(fits));
    let at = last.ok_or_else(|| damaged("its directory is missing"))?;
    let (count, directory) = (number(&bytes[at..], 10, 2), number(&bytes[at..], 16, 4));
    if count != u64::from(u16::MAX) && directory != u64::from(u32::MAX) {
        return Ok((count, directory));
    }
    let locator = at.checked_sub(LOCATOR64_SIZE).map(|at| &bytes[at..]).filter(|x| x.starts_with(LOCATOR64));
    let Some(locator) = locator else {
        return Ok((count, directory)); // a number that just looks like ZIP64
    };
    let end = part(bytes, number(locator, 8, 8), 56)?;
    match end.starts_with(END64) {
        true => Ok((number(end, 32, 8), number(end, 48, 8))),
        false => Err(damaged("its directory is missing")),
    }
}

/// The 64-bit numbers among the extra fields of an entry; empty if there are none. Each extra field begins with its
/// kind and length.
fn extra64(mut fields: &[u8]) -> &[u8] {
    while let Some((head, rest)) = fields.split_at_checked(4) {
        let Some((data, behind)) = rest.split_at_checked(number(head, 2, 2) as usize) else { break };
        if number(head, 0, 2) == EXTRA64 {
            return data;
        }
        fields = behind;
    }
    &[]
}

/// `len` bytes from `at` on.
fn part(bytes: &[u8], at: u64, len: u64) -> Result<&[u8], String> {
    let range = usize::try_from(at).ok().zip(at.checked_add(len).and_then(|end| usize::try_from(end).ok()));
    range.and_then(|(at, end)| bytes.get(at..end)).ok_or_else(|| damaged("it ends too early"))
}

/// A little-endian number of `len` bytes. The bytes must exist.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn damaged(why: impl std::fmt::Display) -> String {
    format!("not a readable archive ({why})")
}
