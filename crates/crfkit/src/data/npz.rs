//! Writing NumPy's files: `.npy`, one array, and `.npz`, an archive of arrays.

use flate2::Crc;

/// The bytes of an array file. `descr` is NumPy's name of the type of its numbers, such as `<f8`; the last index of `shape`
/// runs fastest in `data`, whose numbers are little-endian.
pub fn npy(descr: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", axes.join(", "));
    // Magic, version, length, header and its line end together are a multiple of 64 bytes.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.extend(std::iter::repeat_n(' ', length - header.len() - 1));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// The bytes of an archive of array files, each with its name without `.npy`, or `None` if they are 4 GiB or more: one
/// `[header, data]` for each, the directory, and the end record. Nothing is compressed.
pub fn npz(arrays: &[(&str, Vec<u8>)]) -> Option<Vec<u8>> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in arrays {
        let name = format!("{name}.npy");
        let mut sum = Crc::new();
        sum.update(data);
        let (size, at) = (u32::try_from(data.len()).ok()?, u32::try_from(bytes.len()).ok()?);
        // Version 2.0, no flags, stored, midnight of 1 January 1980: the same arrays give the same bytes.
        let mut entry = [20u16, 0, 0, 0, 0x21].map(u16::to_le_bytes).concat();
        entry.extend([sum.sum(), size, size].map(u32::to_le_bytes).concat());
        entry.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&entry);
        bytes.extend(name.as_bytes());
        bytes.extend(data);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&entry);
        directory.extend([0u16; 5].map(u16::to_le_bytes).concat());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (count, start) = (arrays.len() as u16, u32::try_from(bytes.len()).ok()?);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0, 0, count, count].map(u16::to_le_bytes).concat());
    bytes.extend([directory.len() as u32, start].map(u32::to_le_bytes).concat());
    bytes.extend(0u16.to_le_bytes());
    Some(bytes)
}
