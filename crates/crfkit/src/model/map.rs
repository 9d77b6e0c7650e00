//! Model files in memory without reading them: the one place of the workspace with `unsafe`.

use crate::data::bytes::Bytes;
use std::fs::File;
use std::io::Result;

/// The bytes of a file: a map of it where it is a regular one, a copy otherwise. A map costs a fraction of a copy, whose time
/// goes into the kernel's handing out and clearing of memory.
///
/// A map shows what is done to the file afterwards. crfkit never changes a model file: it writes another and puts that in its
/// place, which leaves maps of the old one alone. Whoever overwrites a file in place while it is in use must expect wrong labels
/// or a panic, and one who cuts it short a bus error; memory stays safe, since every index read from a model is checked against
/// the array that it goes into. Those who cannot rule that out use [`Bytes::read`].
pub fn open(file: &File) -> Result<Bytes> {
    let about = file.metadata()?;
    #[cfg(unix)] // elsewhere a mapped file could not be replaced
    if about.is_file() {
        // SAFETY: the map is read-only, and nobody changes the file while it exists (see above).
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::MmapOptions::new().populate().map(file)? };
        return Ok(Bytes::from(map));
    }
    Bytes::read(file, about.len() as usize)
}
