//! Memory-mapped model files. This is the only place in the workspace with `unsafe`.

use super::sections::{FAMILY, FOREIGN};
use crate::data::bytes::Bytes;
use std::fs::File;
use std::io::{Read, Result};

/// The bytes of a file: a memory map if it is a regular file, a copy otherwise. A map costs a fraction of a copy,
/// because for a copy the kernel has to hand out and clear memory.
///
/// A map shows later changes to the file. crfkit never changes a model file: it writes a new file and moves it into
/// place, and maps of the old file are not affected. If another program overwrites a file in place while it is in use,
/// expect wrong labels or a panic; if it truncates the file, expect a bus error. Memory stays safe, because every index
/// read from a model is checked against the array that it goes into. If you cannot rule out such changes, use
/// `Bytes::read`.
pub fn open(file: &File) -> Result<Bytes> {
    let about = file.metadata()?;
    #[cfg(unix)] // elsewhere a mapped file could not be replaced
    if about.is_file() {
        // SAFETY: the map is read-only, and nobody changes the file while it exists (see above).
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::Mmap::map(file)? };
        return Ok(Bytes::mapped(map));
    }
    read(file, about.len() as usize)
}

/// Reads a file that cannot be mapped, such as a pipe. If it does not begin like a known file, reading stops at [`HEAD`]: the other
/// end may never stop writing, and the reader of the model rejects the head alone with the same message.
fn read(mut reader: impl Read, length: usize) -> Result<Bytes> {
    const HEAD: u64 = 64;
    let mut head = Vec::new();
    reader.by_ref().take(HEAD).read_to_end(&mut head)?;
    match std::iter::once(&FAMILY).chain(&FOREIGN).any(|family| head.starts_with(family)) {
        true => Bytes::read(head.chain(reader), length),
        false => Bytes::read(&head[..], head.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_of_ours_is_not_read_to_its_end() {
        let endless = std::io::repeat(0);
        assert_eq!(read(endless, 0).unwrap().len(), 64);
        let mut whole = FAMILY.to_vec();
        whole.resize(1000, 7);
        assert_eq!(*read(&whole[..], 0).unwrap(), whole[..]);
        assert_eq!(*read(&b"short"[..], 5).unwrap(), b"short"[..]);
    }
}
