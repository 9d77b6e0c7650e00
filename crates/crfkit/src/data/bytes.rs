//! A file in memory, and arrays that refer to parts of it without a copy.

use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};
use std::io::{ErrorKind, Read, Result};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// The bytes of a file. They start at a page boundary, so numbers that are aligned in the file are aligned in memory
/// too.
#[derive(Clone, Debug)]
pub struct Bytes {
    pages: Arc<Mmap>,
    len: usize,
}

impl Bytes {
    /// Reads to the end. `length` is the expected number of bytes: any number works, but the right one saves time.
    pub(crate) fn read(mut reader: impl Read, length: usize) -> Result<Self> {
        let mut pages = memory(length.saturating_add(1))?; // one more, to see that nothing follows
        let mut len = 0;
        loop {
            if len == pages.len() {
                let mut larger = memory(2 * len)?;
                larger[..len].copy_from_slice(&pages);
                pages = larger;
            }
            match reader.read(&mut pages[len..]) {
                Ok(0) => return Ok(Bytes { pages: Arc::new(pages.make_read_only()?), len }),
                Ok(more) => len += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Zeroed memory, in large pages if the system has them. Handing out small pages takes longer than reading a file into
/// them.
fn memory(len: usize) -> Result<MmapMut> {
    let pages = MmapMut::map_anon(len)?;
    #[cfg(target_os = "linux")]
    let _ = pages.advise(memmap2::Advice::HugePage); // a wish
    Ok(pages)
}

impl Bytes {
    /// The bytes of a file that is mapped into memory. Files are mapped on Unix only.
    #[cfg(unix)]
    pub(crate) fn mapped(map: Mmap) -> Self {
        Bytes { len: map.len(), pages: Arc::new(map) }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.pages[..self.len]
    }
}

/// An array of numbers, either in its own memory or in that of a file. Changing an array in a file's memory makes a
/// copy.
#[derive(Clone, Debug)]
pub struct Numbers<T>(Place<T>);

#[derive(Clone, Debug)]
enum Place<T> {
    Own(Vec<T>),
    /// A range of bytes with the right length and alignment.
    Part(Bytes, Range<usize>, PhantomData<T>),
}

impl<T: Pod> Numbers<T> {
    /// The numbers in a range of a file, which must have this machine's byte order; `None` if length or alignment do
    /// not fit.
    pub(crate) fn part(bytes: &Bytes, range: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(bytes.get(range.clone())?).ok()?;
        Some(Numbers(Place::Part(bytes.clone(), range, PhantomData)))
    }

    /// The array as a vector, for changing its length.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Place::Part(..) = self.0 {
            self.0 = Place::Own(self.to_vec());
        }
        match &mut self.0 {
            Place::Own(numbers) => numbers,
            Place::Part(..) => unreachable!("it was copied"),
        }
    }
}

impl<T: Pod> Deref for Numbers<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Own(numbers) => numbers,
            Place::Part(bytes, range, _) => bytemuck::cast_slice(&bytes[range.clone()]),
        }
    }
}

impl<T: Pod> DerefMut for Numbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.to_mut()
    }
}

impl<T: Pod + PartialEq> PartialEq for Numbers<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T> From<Vec<T>> for Numbers<T> {
    fn from(numbers: Vec<T>) -> Self {
        Numbers(Place::Own(numbers))
    }
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns a few bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> Result<usize> {
            let n = out.len().min(3).min(self.0.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn any_expectation_reads_everything() {
        let text: Vec<u8> = (0..=255).collect();
        for length in [0, 1, 100, 255, 256, 257, 10_000] {
            assert_eq!(&*Bytes::read(Slow(&text), length).unwrap(), &text[..], "{length} expected");
        }
        assert!(Bytes::read(&[][..], 0).unwrap().is_empty());
    }

    #[test]
    fn parts_are_numbers_where_length_and_alignment_fit() {
        let numbers = [1u32, 2, 3, 4];
        let bytes = Bytes::read(bytemuck::cast_slice(&numbers[..]), 16).unwrap();
        let part = |range| Numbers::<u32>::part(&bytes, range);
        let mut middle = part(4..12).unwrap();
        assert_eq!(*middle, [2, 3]);
        middle.to_mut().push(9);
        assert_eq!((&*middle, &*part(0..16).unwrap()), (&[2, 3, 9][..], &numbers[..]));
        for wrong in [4..11, 2..6, 12..20] {
            assert!(part(wrong).is_none());
        }
    }
}
