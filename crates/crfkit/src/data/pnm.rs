//! Netpbm's image formats: PBM, PGM and PPM, as text (P1, P2, P3) or as bytes (P4, P5, P6), and PAM (P7).
//!
//! A file has a header of numbers in text, and then the numbers of the pixels. A number takes one byte, or two from 256
//! shades on. PBM has one bit per pixel, in which 1 is black.

use super::images::check_size;
use super::pixels::{Pixels, Samples, unreadable};

/// Decodes an image that starts with `P1` to `P7`. The error says why it cannot be decoded.
pub(super) fn decode(bytes: &[u8]) -> Result<Pixels, String> {
    let (kind, mut rest) = (bytes[1], Rest(&bytes[2..]));
    let Header { height, width, channels, greatest } = match kind {
        b'7' => rest.pam_header()?,
        _ => rest.header(kind)?,
    };
    check_size(height, width)?;
    if !(1..=0xFFFF).contains(&greatest) {
        return Err(unreadable(format!("its maximum value is {greatest}, but must be from 1 to 65535")));
    }
    let count = height * width * channels;
    let numbers = match kind {
        b'1' => rest.text_bits(count)?,
        b'4' => rest.bits(height, width)?,
        b'2' | b'3' => rest.text(count, if greatest < 256 { 0xFF } else { 0xFFFF })?,
        _ if greatest < 256 => rest.bytes(count)?.iter().map(|&x| x.into()).collect(),
        _ => rest.bytes(2 * count)?.as_chunks().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect(),
    };
    let samples = match greatest < 256 {
        true => Samples::Bytes(scaled(&numbers, greatest, u8::MAX)),
        false => Samples::Words(scaled(&numbers, greatest, u16::MAX)),
    };
    Ok(Pixels { height, width, channels, samples })
}

/// Scales numbers from 0 to `greatest` up to the full range of a type. Larger numbers are treated as `greatest`.
fn scaled<T: TryFrom<u16> + Copy + Into<u16>>(numbers: &[u16], greatest: usize, full: T) -> Vec<T> {
    let whole: u16 = full.into();
    let factor = f32::from(whole) / greatest as f32;
    let scale = |&x: &u16| match usize::from(whole) == greatest {
        true => x,
        false => (f32::from(x) * factor).round() as u16,
    };
    numbers.iter().map(|x| T::try_from(scale(x)).unwrap_or(full)).collect()
}

struct Header {
    height: usize,
    width: usize,
    channels: usize,
    /// The number for white, or for full colour.
    greatest: usize,
}

/// The unread rest of a file.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// Reads width, height and, except in PBM, the greatest number.
    fn header(&mut self, kind: u8) -> Result<Header, String> {
        let (width, height) = (self.number()?, self.number()?);
        let greatest = if matches!(kind, b'1' | b'4') { 1 } else { self.number()? };
        let channels = if matches!(kind, b'3' | b'6') { 3 } else { 1 };
        Ok(Header { height, width, channels, greatest })
    }

    /// Reads lines of a name and a value up to `ENDHDR`. The number of numbers per pixel says what they are, so the
    /// tuple type is not needed.
    fn pam_header(&mut self) -> Result<Header, String> {
        let [mut height, mut width, mut channels, mut greatest] = [None; 4];
        loop {
            let end = self.0.iter().position(|&byte| byte == b'\n').ok_or_else(|| self.early())?;
            let line = String::from_utf8_lossy(&self.0[..end]).into_owned();
            self.0 = &self.0[end + 1..];
            let mut words = line.split_ascii_whitespace();
            let name = words.next().unwrap_or_default();
            let field = match name {
                "ENDHDR" => break,
                "" | "TUPLTYPE" => continue,
                _ if name.starts_with('#') => continue,
                "HEIGHT" => &mut height,
                "WIDTH" => &mut width,
                "DEPTH" => &mut channels,
                "MAXVAL" => &mut greatest,
                _ => return Err(unreadable(format!("its header has the unknown line {name:?}"))),
            };
            let value = words.next().and_then(|value| value.parse::<usize>().ok());
            *field = Some(value.ok_or_else(|| unreadable(format!("its {name} is not a number")))?);
        }
        let (Some(height), Some(width), Some(channels), Some(greatest)) = (height, width, channels, greatest)
        else {
            return Err(unreadable("its header lacks WIDTH, HEIGHT, DEPTH or MAXVAL"));
        };
        if !(1..=4).contains(&channels) {
            return Err(unreadable(format!("its pixels have {channels} numbers, not 1 to 4")));
        }
        Ok(Header { height, width, channels, greatest })
    }

    /// Reads the next number of a header, and one blank after it. Comments from `#` to the end of a line count as
    /// blanks.
    fn number(&mut self) -> Result<usize, String> {
        let (mut value, mut digits) = (0usize, 0);
        loop {
            let (&byte, rest) = self.0.split_first().ok_or_else(|| self.early())?;
            self.0 = rest;
            match byte {
                b'0'..=b'9' if digits < 9 => {
                    value = 10 * value + usize::from(byte - b'0');
                    digits += 1;
                }
                b'0'..=b'9' => return Err(unreadable("a number of its header has more than nine digits")),
                b'#' => {
                    let end = self.0.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.0 = &self.0[end.map_or(self.0.len(), |end| end + 1)..];
                    if digits > 0 {
                        return Ok(value);
                    }
                }
                _ if !blank(byte) => return Err(unreadable("its header has something other than numbers")),
                _ if digits > 0 => return Ok(value),
                _ => {}
            }
        }
    }

    /// Reads the next bytes. Anything after the last pixel is ignored.
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(|| self.early())?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads bits as 1 for white and 0 for black. Each row starts with a new byte, highest bit first.
    fn bits(&mut self, height: usize, width: usize) -> Result<Vec<u16>, String> {
        let row_bytes = width.div_ceil(8);
        let rows = self.bytes(height * row_bytes)?.chunks_exact(row_bytes);
        Ok(rows.flat_map(|row| (0..width).map(|x| u16::from(row[x / 8] >> (7 - x % 8) & 1 == 0))).collect())
    }

    /// Reads bits written as digits, with or without blanks between them.
    fn text_bits(&mut self, count: usize) -> Result<Vec<u16>, String> {
        let mut bits = Vec::with_capacity(count.min(self.0.len()));
        for &byte in self.0.iter().filter(|byte| !blank(**byte)).take(count) {
            match byte {
                b'0' | b'1' => bits.push(u16::from(byte == b'0')),
                _ => return Err(unreadable("its pixels are not written as 0 and 1")),
            }
        }
        match bits.len() == count {
            true => Ok(bits),
            false => Err(self.early()),
        }
    }

    /// Reads numbers of at most `limit` with blanks between them.
    fn text(&mut self, count: usize, limit: u16) -> Result<Vec<u16>, String> {
        let words = self.0.split(|byte| blank(*byte)).filter(|word| !word.is_empty()).take(count);
        let number = |word: &[u8]| {
            let digits = word.iter().all(u8::is_ascii_digit).then(|| str::from_utf8(word).ok()).flatten();
            let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| *number <= limit);
            number.ok_or_else(|| unreadable(format!("a pixel is not written as a number from 0 to {limit}")))
        };
        let numbers: Vec<u16> = words.map(number).collect::<Result<_, _>>()?;
        match numbers.len() == count {
            true => Ok(numbers),
            false => Err(self.early()),
        }
    }

    fn early(&self) -> String {
        unreadable("the file ends before its last pixel")
    }
}

fn blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0B | 0x0C | b'\r' | b' ')
}
