//! CQDB, the table of strings inside CRFsuite's model files.
//!
//! ```text
//!    0  "CQDB"
//!    4  length of the chunk
//!    8  flags, 0
//!   12  0x62445371, to tell the byte order
//!   16  number of strings
//!   20  position of the back links
//!   24  256 tables: position and number of slots of each
//! 2072  records: number, length of the string with its closing 0, string, 0
//!       slots of the tables: hash and position of a record
//!       back links: the position of the record of each number
//! ```
//!
//! All numbers have 32 bits, little-endian; positions count from the start of the chunk. The table of a string is that of its hash modulo
//! 256, its first slot the rest of the hash modulo the number of slots, and slots in use are skipped. We read by the back links, which
//! CRFsuite always writes, and write both.

use super::crfsuite::{number, push};

const CHUNK: &[u8; 4] = b"CQDB";
const BYTE_ORDER: u32 = 0x6244_5371;
const TABLES: usize = 256;
const HEADER: usize = 24;
const RECORDS: usize = HEADER + 8 * TABLES;

/// The strings with the numbers 0 to `count` − 1 of the table at the start of `bytes`; otherwise what is wrong with it.
pub(super) fn strings(bytes: &[u8], count: usize) -> Result<Vec<&str>, String> {
    let word = |at: usize| number(bytes, at).ok_or("a table of names ends too early");
    if !bytes.starts_with(CHUNK) || word(12)? != BYTE_ORDER {
        return Err("a table of names is not where it should be".into());
    }
    let bytes = bytes.get(..word(4)? as usize).ok_or("a table of names is cut off")?;
    let links = word(20)? as usize;
    // Every string takes a link of four bytes, so that no small file can ask for much memory.
    let ends = count.checked_mul(4).and_then(|size| size.checked_add(links));
    if ends.is_none_or(|end| end > bytes.len()) {
        return Err(format!("it announces {count} names, more than its table can hold"));
    }
    let (mut names, mut total) = (Vec::with_capacity(count), 0);
    for id in 0..count {
        let wrong = || format!("name {id} is not where it should be");
        let at = number(bytes, links + 4 * id).ok_or_else(wrong)? as usize;
        let (stored, length) = (number(bytes, at), number(bytes, at.saturating_add(4)));
        let (Some(stored), Some(length)) = (stored, length) else { return Err(wrong()) };
        let text = bytes.get(at + 8..).and_then(|rest| rest.get(..length as usize)).ok_or_else(wrong)?;
        total += text.len();
        if stored as usize != id || at < RECORDS || total > bytes.len() {
            return Err(wrong());
        }
        let text = text.split(|byte| *byte == 0).next().filter(|name| name.len() < text.len());
        let name = text.and_then(|name| std::str::from_utf8(name).ok());
        names.push(name.ok_or_else(|| format!("name {id} is not UTF-8 text"))?);
    }
    Ok(names)
}

/// Appends a table of these strings, which have no 0 in them.
pub(super) fn write<'a>(strings: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + RECORDS, 0);
    let mut tables: Vec<Vec<(u32, u32)>> = vec![Vec::new(); TABLES];
    let mut links = Vec::new();
    let mut key = Vec::new();
    for string in strings {
        key.clear();
        key.extend_from_slice(string);
        key.push(0);
        let (hash, at) = (hash(&key), (out.len() - start) as u32);
        tables[hash as usize % TABLES].push((hash, at));
        push(out, links.len() as u32);
        push(out, key.len() as u32);
        out.extend_from_slice(&key);
        links.push(at);
    }
    for (number, table) in tables.iter().enumerate().filter(|(_, table)| !table.is_empty()) {
        // Twice as many slots as strings: half of them are free, which ends every search.
        let mut slots = vec![(0, 0); 2 * table.len()];
        for &(hash, at) in table {
            let mut slot = (hash >> 8) as usize % slots.len();
            while slots[slot].1 != 0 {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = (hash, at);
        }
        let at = (out.len() - start) as u32;
        put(out, start + HEADER + 8 * number, at);
        put(out, start + HEADER + 8 * number + 4, slots.len() as u32);
        for (hash, at) in slots {
            push(out, hash);
            push(out, at);
        }
    }
    let back = if links.is_empty() { 0 } else { (out.len() - start) as u32 };
    links.iter().for_each(|at| push(out, *at));
    out[start..start + 4].copy_from_slice(CHUNK);
    for (at, value) in
        [(4, (out.len() - start) as u32), (12, BYTE_ORDER), (16, links.len() as u32), (20, back)]
    {
        put(out, start + at, value);
    }
}

/// Overwrites the number at a position.
fn put(out: &mut [u8], at: usize, number: u32) {
    out[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

/// Bob Jenkins' lookup3 of bytes, with the initial value 0. There is at least one byte.
fn hash(key: &[u8]) -> u32 {
    let first = 0xdead_beef_u32.wrapping_add(key.len() as u32);
    let (mut a, mut b, mut c) = (first, first, first);
    let mut rest = key;
    loop {
        // The last 1 to 12 bytes, filled up with zeros, are mixed in another way.
        let mut block = [0; 12];
        let taken = rest.len().min(12);
        block[..taken].copy_from_slice(&rest[..taken]);
        let word = |k: usize| number(&block, 4 * k).unwrap_or(0);
        (a, b, c) = (a.wrapping_add(word(0)), b.wrapping_add(word(1)), c.wrapping_add(word(2)));
        rest = &rest[taken..];
        if rest.is_empty() {
            break;
        }
        for turns in [[4, 6, 8], [16, 19, 4]] {
            a = a.wrapping_sub(c) ^ c.rotate_left(turns[0]);
            c = c.wrapping_add(b);
            b = b.wrapping_sub(a) ^ a.rotate_left(turns[1]);
            a = a.wrapping_add(c);
            c = c.wrapping_sub(b) ^ b.rotate_left(turns[2]);
            b = b.wrapping_add(a);
        }
    }
    for (k, turn) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
        match k % 3 {
            0 => c = (c ^ b).wrapping_sub(b.rotate_left(turn)),
            1 => a = (a ^ c).wrapping_sub(c.rotate_left(turn)),
            _ => b = (b ^ a).wrapping_sub(a.rotate_left(turn)),
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that the author of the hash gives for his function.
    #[test]
    fn the_hash_is_lookup3() {
        assert_eq!(hash(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn tables_come_back_and_damage_is_seen() {
        let names: Vec<String> = (0..700).map(|k| format!("{}é", k * k)).collect();
        let mut bytes = Vec::new();
        write(names.iter().map(String::as_bytes), &mut bytes);
        assert_eq!(strings(&bytes, 700).unwrap(), names);
        assert!(strings(&bytes, 701).is_err() && strings(&bytes, usize::MAX).is_err());
        assert!((0..bytes.len()).step_by(7).all(|end| strings(&bytes[..end], 700).is_err()));
        let mut none = Vec::new();
        write(std::iter::empty(), &mut none);
        assert!(strings(&none, 0).unwrap().is_empty());
    }
}
