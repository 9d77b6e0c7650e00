//! Archives (`.npz`) made by hand: every way to store a member, and what is wrong with damaged ones.

use crfkit::data::numpy::ArrayArchive;
use flate2::{Compression, Crc, write::DeflateEncoder};
use std::io::Write;

/// How a member is written.
#[derive(Clone, Copy, PartialEq)]
pub enum Method {
    Stored,
    Deflated,
}

/// How the numbers of an archive are written: in fields of 32 bits, or in those of ZIP64 wherever it has some.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    Narrow,
    Wide,
}

/// A file as `numpy.savez` or `numpy.savez_compressed` write it.
pub fn npz(members: &[(&str, Vec<u8>)], method: Method) -> Vec<u8> {
    zip(members, method, Numbers::Narrow, b"")
}

fn zip(members: &[(&str, Vec<u8>)], method: Method, numbers: Numbers, comment: &[u8]) -> Vec<u8> {
    let wide = numbers == Numbers::Wide;
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let name = format!("{name}.npy");
        let packed = match method {
            Method::Stored => bytes.clone(),
            Method::Deflated => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
        };
        let mut sum = Crc::new();
        sum.update(bytes);
        let (at, sizes) = (file.len() as u64, [packed.len() as u64, bytes.len() as u64]);
        let mut common = vec![45, 0, 0, 0, if method == Method::Stored { 0 } else { 8 }, 0, 0, 0, 0, 0];
        common.extend(sum.sum().to_le_bytes());
        // NumPy's headers always have ZIP64 sizes; its directory has them only where they are needed.
        let extra = [&[1, 0, 16, 0][..], &sizes[1].to_le_bytes(), &sizes[0].to_le_bytes()].concat();
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend([0xFF; 8]);
        file.extend((name.len() as u16).to_le_bytes());
        file.extend((extra.len() as u16).to_le_bytes());
        file.extend(name.as_bytes());
        file.extend(&extra);
        file.extend(&packed);

        let small = |number: u64| if wide { [0xFF; 4] } else { (number as u32).to_le_bytes() };
        // Another extra field first, which nobody asks for.
        let others = [&[9, 9, 2, 0, 7, 7, 1, 0, 24, 0][..], &extra[4..], &at.to_le_bytes()].concat();
        let others = if wide { &others[..] } else { &[] };
        directory.extend(b"PK\x01\x02\x2D\0");
        directory.extend(&common);
        directory.extend(sizes.map(small).concat());
        directory.extend((name.len() as u16).to_le_bytes());
        directory.extend((others.len() as u16).to_le_bytes());
        directory.extend([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // a comment of two bytes; nothing of disks
        directory.extend(small(at));
        directory.extend(name.as_bytes());
        directory.extend(others);
        directory.extend(b"hm");
    }
    let (start, size, count) = (file.len() as u64, directory.len() as u64, members.len() as u64);
    file.extend(directory);
    if wide {
        let end = file.len() as u64;
        file.extend(b"PK\x06\x06");
        file.extend(44u64.to_le_bytes());
        file.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        [count, count, size, start].iter().for_each(|number| file.extend(number.to_le_bytes()));
        file.extend(b"PK\x06\x07\0\0\0\0");
        file.extend(end.to_le_bytes());
        file.extend([1, 0, 0, 0]);
    }
    file.extend(b"PK\x05\x06\0\0\0\0");
    let counts = if wide { [0xFF; 4] } else { [count as u8, 0, count as u8, 0] };
    file.extend(counts);
    file.extend((size as u32).to_le_bytes());
    file.extend(if wide { [0xFF; 4] } else { (start as u32).to_le_bytes() });
    file.extend((comment.len() as u16).to_le_bytes());
    file.extend(comment);
    file
}

/// An array of bytes as `numpy.save` writes it.
fn array(values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}\n", values.len());
    let length = (header.len() as u16).to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), values].concat()
}

fn example(method: Method, numbers: Numbers, comment: &[u8]) -> Vec<u8> {
    zip(&[("a", array(&[1; 100])), ("b", array(&[2, 3])), ("c", array(&[]))], method, numbers, comment)
}

/// The values of all arrays; or the first complaint.
fn read(bytes: &[u8]) -> Result<Vec<Vec<f64>>, String> {
    let archive = ArrayArchive::open(bytes)?;
    let array = |name: &str| Ok(archive.array(name)?.map(|array| array.values).unwrap_or_default());
    ["a", "b", "c"].into_iter().map(array).collect()
}

#[test]
fn members_are_found_however_they_are_written() {
    let expected = [vec![1.0; 100], vec![2.0, 3.0], vec![]];
    let comments: [&[u8]; 3] =
        [b"", b"made by hand", b"a comment with PK\x05\x06 and twenty bytes behind it"];
    for method in [Method::Stored, Method::Deflated] {
        for numbers in [Numbers::Narrow, Numbers::Wide] {
            for comment in comments {
                let bytes = example(method, numbers, comment);
                assert_eq!(read(&bytes).unwrap(), expected);
                let archive = ArrayArchive::open(&bytes).unwrap();
                assert_eq!(archive.names().collect::<Vec<_>>(), ["a", "b", "c"]);
                assert!(archive.array("d").unwrap().is_none());
            }
        }
    }
    assert!(ArrayArchive::open(&npz(&[], Method::Stored)).unwrap().names().next().is_none());
}

#[test]
fn damaged_archives_are_refused_and_never_read_wrongly() {
    let expected = read(&example(Method::Deflated, Numbers::Narrow, b"")).unwrap();
    for method in [Method::Stored, Method::Deflated] {
        for numbers in [Numbers::Narrow, Numbers::Wide] {
            let whole = example(method, numbers, b"");
            for end in 0..whole.len() {
                assert!(read(&whole[..end]).is_err(), "cut at {end}");
            }
            for at in 0..whole.len() {
                for flip in [0x01, 0x80, 0xFF] {
                    let mut flipped = whole.clone();
                    flipped[at] ^= flip;
                    // A name, a date or a version may differ and does no harm; a number that is read never does.
                    if let Ok(values) = read(&flipped) {
                        let kept = values.iter().zip(&expected).all(|(x, y)| x == y || x.is_empty());
                        assert!(kept, "byte {at} changed by {flip:#x}: {values:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn refusals_name_what_is_wrong() {
    let whole = example(Method::Stored, Numbers::Narrow, b"");
    let complaint = |at: usize, byte: u8| {
        let mut changed = whole.clone();
        changed[at] = byte;
        read(&changed).unwrap_err()
    };
    let directory = whole.windows(4).position(|x| x == b"PK\x01\x02").unwrap();
    assert!(complaint(directory + 8, 1).starts_with("a: it is encrypted"));
    assert!(complaint(directory + 10, 12).contains("method 12"));
    assert!(complaint(directory + 16, 0).contains("a checksum is wrong"));
    assert!(complaint(directory + 27, 0xFE).contains("bytes are too many"));
    assert!(complaint(directory + 24, 1).contains("the size"));
    assert!(complaint(directory + 42, 1).contains("not where the directory says"));
    assert!(complaint(directory, b'X').contains("an entry of its directory is damaged"));
    let end = whole.len() - 22;
    assert!(complaint(end, b'X').contains("its directory is missing"));
    assert!(complaint(end + 10, 4).contains("not a readable archive ("));
    let twins = npz(&[("a", array(&[])), ("a", array(&[1]))], Method::Stored);
    assert!(read(&twins).unwrap_err().contains("two members have the name a.npy"));
}

#[test]
fn a_member_that_grows_without_end_is_cut_off() {
    // Says that it has few bytes, and has many.
    let mut bytes = npz(&[("a", vec![0; 1 << 20])], Method::Deflated);
    let directory = bytes.windows(4).position(|x| x == b"PK\x01\x02").unwrap();
    bytes[directory + 24..directory + 28].copy_from_slice(&[10, 0, 0, 0]);
    assert!(read(&bytes).unwrap_err().contains("the size"));
}
