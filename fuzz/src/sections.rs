//! The form of model files and checkpoints: a header, a list of sections, the sections, and a checksum.

use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 64;
const NAME: usize = 24;
const ENTRY: usize = NAME + 8;

/// A section: its name, filled up with zeros, and its content.
pub type Section = ([u8; NAME], Vec<u8>);

/// Makes the checksum at the end right again.
pub fn repair(file: &mut [u8]) {
    if let Some(end) = file.len().checked_sub(8) {
        let checksum = xxh3_64(&file[..end]);
        file[end..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// The sections of a file, or `None` if it does not have this form.
pub fn split(file: &[u8]) -> Option<Vec<Section>> {
    let count = u32::from_le_bytes(file.get(12..16)?.try_into().ok()?) as usize;
    let entries = file.get(HEADER..HEADER.checked_add(ENTRY.checked_mul(count)?)?)?;
    let mut at = HEADER + ENTRY * count;
    let mut all = Vec::new();
    for entry in entries.chunks_exact(ENTRY) {
        at = at.next_multiple_of(64);
        let length = usize::try_from(u64::from_le_bytes(entry[NAME..].try_into().ok()?)).ok()?;
        all.push((entry[..NAME].try_into().ok()?, file.get(at..at.checked_add(length)?)?.to_vec()));
        at += length;
    }
    Some(all)
}

/// A file of these sections, whose header is otherwise that of `file`, with a right length and checksum.
pub fn join(file: &[u8], sections: &[Section]) -> Vec<u8> {
    let mut joined = file[..HEADER].to_vec();
    joined[12..16].copy_from_slice(&(sections.len() as u32).to_le_bytes());
    for (name, content) in sections {
        joined.extend_from_slice(name);
        joined.extend_from_slice(&(content.len() as u64).to_le_bytes());
    }
    for (_, content) in sections {
        joined.resize(joined.len().next_multiple_of(64), 0);
        joined.extend_from_slice(content);
    }
    joined.resize(joined.len().next_multiple_of(64) + 8, 0);
    let length = joined.len() as u64;
    joined[16..24].copy_from_slice(&length.to_le_bytes());
    repair(&mut joined);
    joined
}
