//! NumPy's files: `.npy`, one array of numbers, and `.npz`, a ZIP archive of such arrays.
//!
//! An array file has the bytes `\x93NUMPY`, a version of two bytes, the length of its header (u16; u32 from version 2
//! on), the header, and the numbers. The header is a Python dictionary: `{'descr': '<f4', 'fortran_order': False,
//! 'shape': (16, 24, 5), }`.

use super::archive::Archive;
use super::half::F16;
use super::vectors::{MAX_WIDTH, Vectors};
use crate::{Error, Place};
use std::io::{ErrorKind, Read};

/// The first bytes of an array file.
pub(crate) const ARRAY: &[u8] = b"\x93NUMPY";
/// The first bytes of an archive.
pub(crate) const ARCHIVE: &[u8] = b"PK\x03\x04";
/// The largest number of numbers in an array.
const MAX_NUMBERS: usize = 1 << 28;
/// The largest size in bytes of an array in an archive, its header included.
const MAX_BYTES: u64 = 8 * MAX_NUMBERS as u64 + (1 << 16);

/// Numbers of a matrix that are read at a time.
const PIECE: usize = 1 << 16;
/// The largest size in bytes of a header.
const MAX_HEADER: usize = 1 << 20;

/// An array of numbers in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberArray {
    /// Length of each axis.
    pub(crate) shape: Vec<usize>,
    /// The numbers. The last index runs fastest, whatever the order in the file was.
    pub values: Vec<f64>,
    /// Whether the numbers are integers or truth values.
    pub(crate) whole: bool,
}

impl NumberArray {
    /// Reads an array file. The error says why it cannot be read.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (header, data) = split(bytes)?;
        let header = Header::parse(header)?;
        let Header { size, ref shape, .. } = header;
        let count = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let count = count.filter(|&count| count <= MAX_NUMBERS);
        let count = count
            .ok_or(format!("its shape {shape:?} is too large: at most {MAX_NUMBERS} numbers are read"))?;
        if data.len() != count * size {
            let (found, expected) = (data.len(), count * size);
            return Err(format!(
                "{found} bytes of numbers, but its shape {shape:?} needs {expected}: the file is damaged"
            ));
        }
        let mut values = Vec::with_capacity(count);
        values.extend(header.numbers(data));
        let Header { kind, shape, fortran, .. } = header;
        if fortran {
            values = last_index_fastest(&shape, &values);
        }
        Ok(NumberArray { shape, values, whole: kind != Type::Float })
    }
}

/// The arrays of an archive (`.npz`), by name. An array is decoded only when it is asked for.
pub struct ArrayArchive<'a>(Archive<'a>);

impl<'a> ArrayArchive<'a> {
    /// Reads the directory of an archive. The error says why it cannot be read.
    pub fn open(bytes: &'a [u8]) -> Result<Self, String> {
        Archive::open(bytes).map(ArrayArchive)
    }

    /// The names of the arrays, without `.npy`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.members.iter().map(|member| without_suffix(&member.name))
    }

    /// Decodes the array of this name; `None` if there is none. The error says why it cannot be decoded.
    pub fn array(&self, name: &str) -> Result<Option<NumberArray>, String> {
        let Some(member) = self.0.members.iter().find(|member| without_suffix(&member.name) == name) else {
            return Ok(None);
        };
        let array = self.0.read(member, MAX_BYTES).and_then(|bytes| NumberArray::parse(&bytes));
        array.map(Some).map_err(|why| format!("{name}: {why}"))
    }
}

fn without_suffix(member: &str) -> &str {
    member.strip_suffix(".npy").unwrap_or(member)
}

/// Splits an array file into header and numbers.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let early = || "the file ends in its header: it is damaged".to_owned();
    let rest = bytes.strip_prefix(ARRAY).ok_or("not an array saved by NumPy")?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(early)?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk::<2>().map(|(n, rest)| (u16::from_le_bytes(*n) as usize, rest)),
        2 | 3 => rest.split_first_chunk::<4>().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest)),
        other => {
            return Err(format!(
                "version {other} of NumPy's format is not supported: versions 1, 2 and 3 are"
            ));
        }
    }
    .ok_or_else(early)?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(early)?;
    Ok((std::str::from_utf8(header).map_err(|_| "its header is not text: the file is damaged")?, data))
}

/// A matrix that is read from an array file row by row, so that a file may be larger than memory.
pub struct MatrixReader<R> {
    reader: R,
    name: String,
    header: Header,
    /// Rows that were read.
    done: usize,
    bytes: Vec<u8>,
}

impl<R: Read> MatrixReader<R> {
    /// Reads the header. `name` is the name of the file in messages. It is an error if the file holds no matrix of numbers, row after row.
    pub fn new(mut reader: R, name: &str) -> crate::Result<Self> {
        let header = Header::read(&mut reader).map_err(|why| Error::input(Place::new(name, 0), why))?;
        let refuse = |why: String| Err(Error::input(Place::new(name, 0), why));
        match header.shape[..] {
            [_, width] if !(1..=MAX_WIDTH).contains(&width) => {
                refuse(format!("rows of {width} numbers: a vector has 1 to {MAX_WIDTH}"))
            }
            [_, _] if header.fortran => refuse(
                "its numbers are stored column after column: save numpy.ascontiguousarray(x) instead".into(),
            ),
            [_, _] => Ok(MatrixReader { reader, name: name.to_owned(), header, done: 0, bytes: Vec::new() }),
            _ => {
                let shape = &header.shape;
                refuse(format!(
                    "its shape is {shape:?}: a matrix of one row per token is needed, shape (tokens, numbers)"
                ))
            }
        }
    }

    /// Overwrites `vectors` with the next `rows` rows. `place` is that of the text that they are for.
    pub fn read(
        &mut self,
        rows: usize,
        vectors: &mut Vectors,
        place: impl Fn() -> Place,
    ) -> crate::Result<()> {
        let size = self.header.size;
        let (all, width) = (self.header.shape[0], self.header.shape[1]);
        vectors.reset(width);
        if self.done + rows > all {
            let message = format!(
                "{} has {all} vectors, but there are more tokens: it must have a row for each token, in order",
                self.name
            );
            return Err(Error::input(place(), message));
        }
        // Piece by piece: a header may promise more than the file has, and memory is taken for what is there.
        let mut left = rows * width;
        while left > 0 {
            let now = left.min(PIECE);
            left -= now;
            self.bytes.resize(now * size, 0);
            self.reader.read_exact(&mut self.bytes).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => {
                    let message =
                        format!("the file ends before its {all} vectors are complete: it is damaged");
                    Error::input(Place::new(&self.name, 0), message)
                }
                _ => Error::io(&*self.name, error),
            })?;
            self.header.add_numbers(&self.bytes, vectors);
        }
        let (name, done) = (&self.name, self.done);
        vectors.check(|row| Place::new(name, (done + row + 1) as u64))?;
        self.done += rows;
        Ok(())
    }

    /// Checks that all rows were read. `tokens` says what they are for.
    pub fn finish(&self, tokens: &str) -> crate::Result<()> {
        let all = self.header.shape[0];
        match self.done == all {
            true => Ok(()),
            false => {
                let message = format!(
                    "{all} vectors, but {tokens} has {} tokens: there must be a row for each token, in order",
                    self.done
                );
                Err(Error::input(Place::new(&self.name, 0), message))
            }
        }
    }
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Unsigned,
    Signed,
    Float,
}

impl Type {
    /// The number in the first `size` bytes, little-endian. The other bytes are 0.
    fn number(self, bytes: [u8; 8], size: usize) -> f64 {
        let first2 = [bytes[0], bytes[1]];
        let first4 = [bytes[0], bytes[1], bytes[2], bytes[3]];
        match (self, size) {
            (Type::Float, 2) => F16::from_le_bytes(first2).to_f64(),
            (Type::Float, 4) => f32::from_le_bytes(first4).into(),
            (Type::Float, _) => f64::from_le_bytes(bytes),
            (Type::Signed, 1) => i8::from_le_bytes([bytes[0]]).into(),
            (Type::Signed, 2) => i16::from_le_bytes(first2).into(),
            (Type::Signed, 4) => i32::from_le_bytes(first4).into(),
            (Type::Signed, _) => i64::from_le_bytes(bytes) as f64,
            (Type::Unsigned, _) => u64::from_le_bytes(bytes) as f64,
        }
    }
}

/// The contents of an array file's header.
struct Header {
    kind: Type,
    /// Bytes per number.
    size: usize,
    big_endian: bool,
    /// Whether the first index runs fastest.
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// The numbers in some bytes.
    fn numbers(&self, bytes: &[u8]) -> impl Iterator<Item = f64> {
        let Header { kind, size, big_endian, .. } = *self;
        let mut number = [0; 8];
        bytes.chunks_exact(size).map(move |bytes| {
            number[..size].copy_from_slice(bytes);
            if big_endian {
                number[..size].reverse();
            }
            kind.number(number, size)
        })
    }

    /// Adds the numbers in some bytes to vectors. Not generic, so that it is compiled with the library: a program that is compiled for size reads
    /// matrices of many megabytes too.
    fn add_numbers(&self, bytes: &[u8], vectors: &mut Vectors) {
        match self {
            Header { kind: Type::Float, size: 4, big_endian: false, .. } => {
                vectors.extend(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
            _ => vectors.extend(self.numbers(bytes).map(|x| x as f32)),
        }
    }

    /// Reads the header at the beginning of an array file.
    fn read(reader: &mut impl Read) -> Result<Self, String> {
        let mut start = [0; 8];
        let early =
            |_| "the file ends in its header: it is damaged, or not an array saved by NumPy".to_owned();
        reader.read_exact(&mut start).map_err(early)?;
        if !start.starts_with(ARRAY) {
            return Err("not an array saved by NumPy (numpy.save)".into());
        }
        let mut length = [0; 4];
        let digits = if start[6] == 1 { 2 } else { 4 };
        reader.read_exact(&mut length[..digits]).map_err(early)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER {
            return Err("its header is too long: the file is damaged".into());
        }
        let mut bytes = start.to_vec();
        bytes.extend_from_slice(&(length as u32).to_le_bytes()[..digits]);
        let from = bytes.len();
        bytes.resize(from + length, 0);
        reader.read_exact(&mut bytes[from..]).map_err(early)?;
        Header::parse(split(&bytes)?.0)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let value = |key: &str| {
            let (_, rest) = text.split_once(&format!("'{key}'"))?;
            Some(rest.trim_start().strip_prefix(':')?.trim_start())
        };
        let damaged = |key: &str| format!("its header has no readable {key}: the file is damaged");
        let descr = value("descr").ok_or_else(|| damaged("descr"))?;
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        let (descr, _) = descr.ok_or("it holds records, not numbers: save one field")?;
        let (kind, size) = match descr.trim_start_matches(['<', '>', '|', '=']) {
            "b1" | "u1" => (Type::Unsigned, 1),
            "u2" => (Type::Unsigned, 2),
            "u4" => (Type::Unsigned, 4),
            "u8" => (Type::Unsigned, 8),
            "i1" => (Type::Signed, 1),
            "i2" => (Type::Signed, 2),
            "i4" => (Type::Signed, 4),
            "i8" => (Type::Signed, 8),
            "f2" => (Type::Float, 2),
            "f4" => (Type::Float, 4),
            "f8" => (Type::Float, 8),
            _ => {
                return Err(format!(
                    "its numbers have the type {descr}: convert them to float32, float64 or integers of 8 to 64 bits"
                ));
            }
        };
        let order = value("fortran_order").ok_or_else(|| damaged("fortran_order"))?;
        let shape = value("shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
        let (shape, _) = shape.ok_or_else(|| damaged("shape"))?;
        let shape = shape.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::parse::<usize>);
        let shape = shape.collect::<Result<_, _>>().map_err(|_| damaged("shape"))?;
        Ok(Header {
            kind,
            size,
            big_endian: descr.starts_with('>'),
            fortran: order.starts_with("True"),
            shape,
        })
    }
}

/// Reorders the numbers of an array whose first index runs fastest, so that the last index does.
fn last_index_fastest(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let mut index = vec![0; shape.len()];
    let mut ordered = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        // at = i₀ + n₀·(i₁ + n₁·(i₂ + …))
        let at = index.iter().zip(shape).rev().fold(0, |at, (i, n)| at * n + i);
        ordered.push(values[at]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    ordered
}
