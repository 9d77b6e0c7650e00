//! From bytes to lines: decompression, character encoding, line endings, and the limits that keep bad input harmless.

use std::fmt;
use std::io::{self, Cursor, ErrorKind, Read};
use std::ops::Range;
use std::str::FromStr;

use flate2::read::MultiGzDecoder;
use memchr::{memchr_iter, memchr2};

use crate::error::{Error, Place, Result};

/// The longest line that is read, in bytes before its newline. Longer lines are not text, or not divided into lines.
#[doc(hidden)]
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// Size of the read buffer: large enough that system calls cost nothing per line, small enough for the second-level
/// cache.
const BUFFER: usize = 256 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The character encoding of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8. Anything else is rejected with an error.
    #[default]
    Utf8,
    /// ISO 8859-1. Every byte is the character of the same number, so nothing is ever rejected.
    Latin1,
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "utf-8" => Ok(Encoding::Utf8),
            "latin-1" => Ok(Encoding::Latin1),
            _ => Err(Error::Setting(format!("unknown encoding `{text}`: choose utf-8 or latin-1"))),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Latin1 => "latin-1",
        })
    }
}

/// Decompresses gzip and zstd input, which it recognises by the first bytes. All other input passes through unchanged.
///
/// Concatenated gzip members and zstd frames are read as one text. zstd needs the cargo feature `zstd`.
pub fn decompress<'a>(mut reader: Box<dyn Read + Send + 'a>) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut magic = Vec::new();
    // No more bytes than needed: somebody who sends three and waits for an answer must not wait for ever.
    while magic.len() < 4
        && Compression::may_begin(&magic)
        && reader.by_ref().take(1).read_to_end(&mut magic)? > 0
    {}
    let format = Compression::of(&magic);
    let whole = Cursor::new(magic).chain(reader);
    match format {
        None => Ok(Box::new(whole)),
        Some(Compression::Gzip) => {
            Ok(Box::new(Decoded { format: "gzip", decoder: MultiGzDecoder::new(whole) }))
        }
        Some(Compression::Zstd) => decompress_zstd(whole),
    }
}

#[cfg(feature = "zstd")]
fn decompress_zstd<'a>(reader: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    Ok(Box::new(Decoded { format: "zstd", decoder: super::frames::Frames::new(reader) }))
}

#[cfg(not(feature = "zstd"))]
fn decompress_zstd<'a>(_: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let message = "zstd-compressed, and this build of crfkit lacks the cargo feature `zstd`: \
                   build with it, or decompress the file first";
    Err(io::Error::new(ErrorKind::Unsupported, message))
}

enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Whether compressed data may begin with these bytes, at most three of them.
    fn may_begin(bytes: &[u8]) -> bool {
        matches!(
            bytes,
            [] | [0x1F]
                | [0x28]
                | [0x28, 0xB5]
                | [0x28, 0xB5, 0x2F]
                | [0x50..=0x5F]
                | [0x50..=0x5F, 0x2A]
                | [0x50..=0x5F, 0x2A, 0x4D]
        )
    }

    fn of(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1F, 0x8B, ..] => Some(Compression::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD] => Some(Compression::Zstd),
            [0x50..=0x5F, 0x2A, 0x4D, 0x18] => Some(Compression::Zstd), // a skippable frame in front
            _ => None,
        }
    }
}

/// A decoder whose errors name the compression format.
struct Decoded<D> {
    format: &'static str,
    decoder: D,
}

impl<D: Read> Read for Decoded<D> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(out).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof
            | ErrorKind::InvalidData
            | ErrorKind::InvalidInput
            | ErrorKind::Other => {
                let format = self.format;
                io::Error::new(error.kind(), format!("the {format} data is damaged or cut short ({error})"))
            }
            _ => error,
        })
    }
}

/// The lines of a text, one at a time, in a buffer that is reused for the next line.
///
/// Lines end at `\n` or `\r\n`; the last one may lack its ending. A UTF-8 byte-order mark at the start is skipped.
/// Bytes that are not UTF-8 (unless read as Latin-1), NUL bytes, and lines longer than [`MAX_LINE`] are rejected with
/// file and line; no more than [`MAX_LINE`] bytes of a line are ever held. After an error, the rest of the input must
/// not be read.
pub struct Lines<R> {
    reader: R,
    name: String,
    encoding: Encoding,
    buffer: Vec<u8>,
    /// `buffer[start..end]` has been read and not yet handed out; `buffer[start..scanned]` has neither newline nor NUL.
    start: usize,
    scanned: usize,
    end: usize,
    /// Whether the reader is at its end. It is then not read again, because a terminal would wait for a second
    /// end-of-file key.
    ended: bool,
    line: u64,
    /// The current line in UTF-8, if the input is Latin-1.
    transcoded: String,
}

impl<R: Read> Lines<R> {
    /// The lines of `reader`. `name` is its name in messages.
    pub fn new(reader: R, name: &str, encoding: Encoding) -> Self {
        Lines {
            reader,
            name: name.to_owned(),
            encoding,
            buffer: vec![0; BUFFER],
            start: 0,
            scanned: 0,
            end: 0,
            ended: false,
            line: 0,
            transcoded: String::new(),
        }
    }

    /// The name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next line without its ending, and its 1-based number; `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<(&str, u64)>> {
        let Some(range) = self.take_line()? else { return Ok(None) };
        self.line += 1;
        let mut bytes = &self.buffer[range];
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if self.line == 1 {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        let text = match self.encoding {
            Encoding::Utf8 => {
                str::from_utf8(bytes).map_err(|error| self.not_utf8(bytes, error.valid_up_to()))?
            }
            Encoding::Latin1 => {
                self.transcoded.clear();
                self.transcoded.extend(bytes.iter().map(|&byte| char::from(byte)));
                &self.transcoded
            }
        };
        Ok(Some((text, self.line)))
    }

    /// Whether the next item can be read without waiting for input. `complete` says whether a text holds a whole item. While it does not,
    /// and `at_hand` says that input is there, more is read; nothing is handed out.
    ///
    /// True also at the end of the input, and for an item of more than a megabyte, whose reader has to wait.
    #[doc(hidden)]
    pub fn gather(&mut self, complete: impl Fn(&[u8]) -> bool, at_hand: impl Fn() -> bool) -> Result<bool> {
        const LONG: usize = 1 << 20;
        loop {
            let text = &self.buffer[self.start..self.end];
            if self.ended || complete(text) || text.len() > LONG {
                return Ok(true);
            }
            if !at_hand() {
                return Ok(false);
            }
            self.fill()?;
        }
    }

    /// Finds the next line in the buffer and steps over it. It reads more input until the line is complete.
    fn take_line(&mut self) -> Result<Option<Range<usize>>> {
        loop {
            if let Some(found) = memchr2(b'\n', 0, &self.buffer[self.scanned..self.end]) {
                let at = self.scanned + found;
                if self.buffer[at] == 0 {
                    let message = "a NUL byte: the input looks binary (or is UTF-16, or compressed by something other than gzip or zstd); plain text is \
                                   needed";
                    return Err(Error::input(self.place(self.line + 1), message));
                }
                let line = self.start..at;
                self.start = at + 1;
                self.scanned = self.start;
                return Ok(Some(line));
            }
            self.scanned = self.end;
            if self.end - self.start > MAX_LINE {
                let message = format!(
                    "a line of more than {MAX_LINE} bytes: a line must have one token and its columns"
                );
                return Err(Error::input(self.place(self.line + 1), message));
            }
            if !self.fill()? {
                let last = self.start..self.end;
                self.start = self.end;
                return Ok((!last.is_empty()).then_some(last));
            }
        }
    }

    /// Reads once, to the position after the unfinished line, which is first moved to the front. Returns false at the
    /// end of the input.
    fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.scanned -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            // One byte past the limit, to tell a line of exactly that length from a longer one.
            self.buffer.resize((2 * self.buffer.len()).min(MAX_LINE + 1), 0);
        }
        let read = loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => break result.map_err(|error| Error::io(&self.name, error))?,
            }
        };
        self.end += read;
        self.ended = read == 0;
        Ok(!self.ended)
    }

    fn not_utf8(&self, bytes: &[u8], valid: usize) -> Error {
        let message = format!(
            "byte {} of the line (0x{:02X}) is not valid UTF-8: convert the file to UTF-8, \
             or read it as latin-1",
            valid + 1,
            bytes[valid]
        );
        Error::input(self.place(self.line), message)
    }

    fn place(&self, line: u64) -> Place {
        Place::new(&self.name, line)
    }
}

/// Whether a text holds a whole line with something in it.
#[doc(hidden)]
pub fn holds_line(text: &[u8]) -> bool {
    lines_of(text).any(|line| !line.trim_ascii().is_empty())
}

/// Whether a text holds a whole sequence: lines, and an empty one after them or one that begins with a space or a tab.
pub(crate) fn holds_sequence(text: &[u8]) -> bool {
    holds_rows(text, |_| true)
}

/// Whether a text holds a whole sequence, in which only some lines are rows.
pub(super) fn holds_rows(text: &[u8], is_row: impl Fn(&[u8]) -> bool) -> bool {
    let mut begun = false;
    lines_of(text).any(|line| match line {
        [] | b"\r" | [b' ' | b'\t', ..] => begun,
        row => {
            begun |= is_row(row);
            false
        }
    })
}

/// The lines of a text that have an end.
fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(b'\n', text).map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}

/// The beginning of a piece of the user's text, fit to be quoted in a message: short, and without control characters.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut quoted: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        quoted.push('…');
    }
    quoted
}
