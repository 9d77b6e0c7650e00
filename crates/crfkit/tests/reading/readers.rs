//! The readers from bytes on: decompression, line endings, encodings, limits, and input that is no text at
//! all.

use std::io::{self, Read, Write};

use crfkit::data::attributes::{AttributeReader, Attributes};
use crfkit::data::columns::{ColumnReader, Columns};
use crfkit::data::text::{Encoding, Lines, MAX_LINE, decompress};
use crfkit::{Error, Result};
use proptest::prelude::*;

/// Hands out one byte a call, and is interrupted before each.
struct Dripping<'a> {
    bytes: &'a [u8],
    interrupted: bool,
}

fn dripping(bytes: &[u8]) -> Dripping<'_> {
    Dripping { bytes, interrupted: false }
}

impl Read for Dripping<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = out.len().min(1);
        self.bytes.read(&mut out[..length])
    }
}

fn lines_of(reader: impl Read, encoding: Encoding) -> Result<Vec<(String, u64)>> {
    let mut lines = Lines::new(reader, "data.txt", encoding);
    let mut all = Vec::new();
    while let Some((text, number)) = lines.next_line()? {
        all.push((text.to_owned(), number));
    }
    assert!(lines.next_line()?.is_none(), "the end stays the end");
    Ok(all)
}

/// The lines, which must not depend on how the bytes arrive.
fn lines(bytes: &[u8], encoding: Encoding) -> Vec<String> {
    let whole = lines_of(bytes, encoding).unwrap();
    assert_eq!(whole, lines_of(dripping(bytes), encoding).unwrap());
    assert!(whole.iter().map(|line| line.1).eq(1..=whole.len() as u64));
    whole.into_iter().map(|line| line.0).collect()
}

fn refusal(bytes: &[u8]) -> String {
    let message = lines_of(bytes, Encoding::Utf8).unwrap_err().to_string();
    assert_eq!(message, lines_of(dripping(bytes), Encoding::Utf8).unwrap_err().to_string());
    message
}

fn decompressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    decompress(Box::new(bytes))?.read_to_end(&mut text)?;
    let mut dripped = Vec::new();
    decompress(Box::new(dripping(bytes)))?.read_to_end(&mut dripped)?;
    assert!(text == dripped);
    Ok(text)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Text that does not compress to nothing.
fn sample() -> Vec<u8> {
    (0..3000u32)
        .map(|i| format!("word{} tag{}\n", i.wrapping_mul(2654435761) >> 7, i % 7))
        .collect::<String>()
        .into()
}

#[test]
fn line_endings_and_byte_order_mark() {
    let utf8 = |bytes: &[u8]| lines(bytes, Encoding::Utf8);
    assert!(utf8(b"").is_empty());
    assert_eq!(utf8(b"\n"), [""]);
    assert_eq!(utf8(b"a\nb"), ["a", "b"]);
    assert_eq!(utf8(b"a\r\n\r\nb\r\n"), ["a", "", "b"]);
    assert_eq!(utf8(b"a\rb\r\r\nc\r"), ["a\rb\r", "c"]);
    assert_eq!(utf8(b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb"), ["a", "\u{feff}b"]);
    assert_eq!(utf8("é\u{85}\u{2028}x\n".as_bytes()), ["é\u{85}\u{2028}x"]);
}

#[test]
fn lines_cross_the_buffer() {
    let long = "x".repeat(700_000);
    let text = format!("{}{long}é\n\n{long}\r\nend", "short line\n".repeat(50_000));
    let found = lines_of(text.as_bytes(), Encoding::Utf8).unwrap();
    assert_eq!(found.len(), 50_004);
    assert!(found.iter().map(|line| line.0.as_str()).eq(text.lines()));
}

#[test]
fn invalid_utf8_names_place_and_remedy() {
    let message = refusal(b"fine\n\xC3\xA9caf\xE9 NN\nfine\n");
    assert!(message.starts_with("data.txt:2: byte 6 of the line (0xE9) is not valid UTF-8"), "{message}");
    assert!(message.contains("read it as latin-1"), "{message}");
    assert!(refusal(b"cut \xC3").starts_with("data.txt:1: byte 5"), "a character cut off by the end");
}

#[test]
fn latin1_maps_each_byte_to_one_character() {
    assert_eq!(lines(b"caf\xE9\r\n\x80\xFF", Encoding::Latin1), ["café", "\u{80}ÿ"]);
}

#[test]
fn encodings_have_names() {
    for encoding in [Encoding::Utf8, Encoding::Latin1] {
        assert_eq!(encoding.to_string().parse::<Encoding>().unwrap(), encoding);
    }
    assert!("ebcdic".parse::<Encoding>().unwrap_err().to_string().contains("utf-8 or latin-1"));
}

#[test]
fn binary_input_is_refused() {
    for encoding in [Encoding::Utf8, Encoding::Latin1] {
        let message = lines_of(&b"ok\n\x7FELF\x00\x01\n"[..], encoding).unwrap_err().to_string();
        assert!(message.starts_with("data.txt:2: a NUL byte: the input looks binary"), "{message}");
    }
    assert!(refusal(b"\xFF\xFEa\0\n\0").contains("UTF-16"));
}

#[test]
fn an_endless_line_is_refused_at_the_limit() {
    /// Counts what was taken from it.
    struct Endless(usize);
    impl Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            out.fill(b'x');
            self.0 += out.len();
            Ok(out.len())
        }
    }
    let mut endless = Endless(0);
    let message = lines_of(&mut endless, Encoding::Utf8).unwrap_err().to_string();
    assert!(message.starts_with("data.txt:1: a line of more than 16777216 bytes"), "{message}");
    assert!(endless.0 <= MAX_LINE + 1, "{} bytes were read", endless.0);

    let longest = vec![b'x'; MAX_LINE];
    for ending in ["", "\n", "\nnext"] {
        let text = [&longest, ending.as_bytes()].concat();
        assert_eq!(lines_of(&text[..], Encoding::Utf8).unwrap()[0].0.len(), MAX_LINE);
    }
    assert!(lines_of(&[&longest[..], b"x\n"].concat()[..], Encoding::Utf8).is_err());
}

#[test]
fn plain_input_passes_through() {
    for text in [&b""[..], b"a", b"ab\n", b"abcd", b"abcde", b"\x1F", b"\x28\xB5\x2F"] {
        assert_eq!(decompressed(text).unwrap(), text);
    }
}

#[test]
fn gzip_members_are_read_as_one_text() {
    let text = sample();
    assert!(decompressed(&gzip(&text)).unwrap() == text);
    assert!(decompressed(&[gzip(&text), gzip(b""), gzip(&text)].concat()).unwrap() == text.repeat(2));
    assert!(decompressed(&gzip(b"")).unwrap().is_empty());
}

#[test]
fn truncated_or_damaged_gzip_is_an_error_with_the_name() {
    let read = |bytes: &[u8]| lines_of(decompress(Box::new(bytes)).unwrap(), Encoding::Utf8);
    let whole = gzip(&sample());
    assert_eq!(read(&whole).unwrap().len(), 3000);
    for length in (2..whole.len()).step_by(97).chain(whole.len() - 9..whole.len()) {
        let error = read(&whole[..length]).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{length}: {error}");
        assert!(
            error.to_string().starts_with("data.txt: the gzip data is damaged or cut short ("),
            "{error}"
        );
    }
    let mut damaged = whole.clone();
    damaged[whole.len() - 6] ^= 1; // in the checksum
    assert!(read(&damaged).is_err());
}

#[cfg(feature = "zstd")]
#[test]
fn zstd_frames_are_read_as_one_text() {
    let text = sample();
    let frame = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
    let skippable = b"\x50\x2A\x4D\x18\x03\0\0\0abc";
    assert!(decompressed(&frame).unwrap() == text);
    assert!(decompressed(&[&skippable[..], &frame, &frame].concat()).unwrap() == text.repeat(2));
    let error = decompressed(&frame[..frame.len() / 2]).unwrap_err().to_string();
    assert!(error.starts_with("the zstd data is damaged or cut short ("), "{error}");
}

/// Made by the program `zstd` 1.5.4 with `--check`.
#[cfg(feature = "zstd")]
const FRAME: [u8; 39] =
    *b"\x28\xb5\x2f\xfd\x24\x28\xd5\x00\x00\xa0the quick brown fox\n\x01\x00\x8e\x9e\x4c\x1b\x4a\xe8\x7e";

#[cfg(feature = "zstd")]
#[test]
fn zstd_frames_of_others_are_read_and_checked() {
    let text = b"the quick brown fox\nthe quick brown fox\n";
    assert_eq!(decompressed(&FRAME).unwrap(), text);
    assert_eq!(decompressed(&FRAME.repeat(3)).unwrap(), text.repeat(3));
    for end in 5..FRAME.len() {
        assert!(decompressed(&FRAME[..end]).is_err(), "{end}");
        assert!(decompressed(&[&FRAME[..], &FRAME[..end]].concat()).is_err(), "{end}");
    }
    for at in 10..FRAME.len() {
        let mut flipped = FRAME;
        flipped[at] ^= 0x20;
        let error = decompressed(&flipped).unwrap_err().to_string();
        assert!(error.starts_with("the zstd data is damaged or cut short ("), "{at}: {error}");
    }
    let cut_in_skippable = [&FRAME[..], b"\x5A\x2A\x4D\x18\x03\0\0\0ab"].concat();
    assert!(decompressed(&cut_in_skippable).is_err());
}

#[cfg(not(feature = "zstd"))]
#[test]
fn zstd_names_the_missing_feature() {
    let error = decompressed(b"\x28\xB5\x2F\xFD\0\0").unwrap_err().to_string();
    assert!(error.contains("cargo feature `zstd`"), "{error}");
}

#[test]
fn reading_errors_carry_the_name() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let error = lines_of((&b"a\nb"[..]).chain(Broken), Encoding::Utf8).unwrap_err();
    assert_eq!(error.to_string(), "data.txt: the disk is gone");
}

/// Reads everything with both readers, which must end without a panic, and looks at every row.
fn read_all(bytes: &[u8], encoding: Encoding) {
    let mut columns = ColumnReader::new(Lines::new(bytes, "data.txt", encoding));
    let mut sequence = Columns::default();
    while let Ok(true) = columns.read(&mut sequence) {
        assert!(!sequence.is_empty());
        for row in 0..sequence.len() {
            let rebuilt: Vec<&str> =
                sequence.row_text(row).split([' ', '\t']).filter(|f| !f.is_empty()).collect();
            assert!(sequence.row(row).eq(rebuilt));
        }
    }
    let mut attributes = AttributeReader::new(Lines::new(bytes, "data.txt", encoding));
    let mut instance = Attributes::default();
    while let Ok(true) = attributes.read(&mut instance) {
        assert!(!instance.is_empty() && instance.weight().is_finite());
        for row in 0..instance.len() {
            assert!(!instance.label(row).is_empty());
            assert!(instance.items(row).all(|(name, value)| !name.is_empty() && value.is_finite()));
        }
    }
}

/// Escapes a name as CRFsuite's documentation asks for.
fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace(':', "\\:")
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes, Encoding::Utf8);
        read_all(&bytes, Encoding::Latin1);
        let _ = decompressed(&bytes);
        let _ = decompressed(&[b"\x1F\x8B\x08", &bytes[..]].concat());
        let _ = decompressed(&[b"\x28\xB5\x2F\xFD", &bytes[..]].concat());
    }

    /// Bytes that mean something to the readers are rare among arbitrary ones.
    #[test]
    fn arbitrary_syntax_never_panics(text in "([ab\u{e9}@:\\\\ \t\r\n]|[0-9]|@weight:|\n){0,60}") {
        read_all(text.as_bytes(), Encoding::Utf8);
        read_all(text.as_bytes(), Encoding::Latin1);
    }

    #[test]
    fn any_attribute_comes_back(
        label in "[^@\\p{Cc} \u{feff}][^\\p{Cc}]{0,8}",
        items in prop::collection::vec(("[^\\p{Cc}]{1,8}", -1e9..1e9f64), 0..6),
    ) {
        let mut line = escaped(&label);
        for (name, value) in &items {
            line += &format!("\t{}:{value}", escaped(name));
        }
        let mut instance = Attributes::default();
        let lines = Lines::new(line.as_bytes(), "data.txt", Encoding::Utf8);
        prop_assert!(AttributeReader::new(lines).read(&mut instance).unwrap());
        prop_assert_eq!(instance.label(0), label);
        let found: Vec<_> = instance.items(0).map(|(name, value)| (name.to_owned(), value)).collect();
        prop_assert_eq!(found, items);
    }
}
