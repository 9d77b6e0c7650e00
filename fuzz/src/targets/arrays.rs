//! Arrays and images.

use crate::{Target, mutate};
use crfkit::data::images::{Image, Mask, MaskFile};
use crfkit::grid::GridImage;

pub const SITES: Target = Target {
    name: "sites",
    promise: "arrays (.npy, .npz) are rejected, or their numbers fit their sizes",
    run: |data| {
        let mut file = data.to_vec();
        repair_archive(&mut file);
        let Ok(GridImage { sites, allowed, .. }) = GridImage::read(&file[..], "fuzz") else { return };
        if let Some(allowed) = allowed {
            assert!(allowed.sets().all(|set| !set.is_empty()));
        }
        let Image { height, width, channels, ref values } = sites.nodes;
        assert_eq!(values.len(), height * width * channels);
        if width > 1 {
            assert_eq!(sites.pair(0, 1).count(), sites.pair_channels());
        }
    },
    seeds: || {
        let nodes = npy("<f8", "(2, 2, 1)", &[0.0f64, 1.0, -2.5, 4.0].map(f64::to_le_bytes).concat());
        let pairs = npy("<f4", "(2, 1, 1)", &[1.0f32, 2.0].map(f32::to_le_bytes).concat());
        vec![
            nodes.clone(),
            npy("|u1", "(2, 3)", &[1, 2, 3, 4, 5, 6]),
            archive(&[("nodes.npy", &nodes), ("horizontal.npy", &pairs)]),
            archive(&[
                ("nodes.npy", &nodes),
                ("allowed.npy", &npy("|b1", "(2, 2, 2)", &[1, 0, 1, 1, 0, 1, 1, 1])),
            ]),
        ]
    },
    mutate: mutate::bytes,
};

pub const IMAGE: Target = Target {
    name: "image",
    promise: "images (PNG, PNM, JPEG) are rejected, or have as many numbers as pixels; masks survive writing and reading",
    run: |data| {
        let mut file = data.to_vec();
        repair_png(&mut file);
        if let Ok(image) = Image::read(&file[..], "fuzz") {
            assert_eq!(image.values.len(), image.height * image.width * image.channels);
        }
        if let Ok(MaskFile { mask: Some(mask), .. }) = MaskFile::read(&file[..], "fuzz") {
            let again =
                Mask::read(&mask.to_png().expect("a mask can be written")[..], "fuzz").expect("and read");
            assert!(again.values == mask.values && again.height == mask.height, "another mask");
        }
    },
    seeds: || {
        let mask = Mask { height: 2, width: 3, values: vec![0, 255, 7, 0, 1, 2] };
        vec![
            mask.to_png().expect("a mask"),
            b"P2\n3 2\n255\n0 1 2 3 4 5\n".to_vec(),
            b"P6 1 2 255\nabcdef".to_vec(),
            b"P4 9 1\n\xAA\x80".to_vec(),
        ]
    },
    mutate: mutate::bytes,
};

/// A file of NumPy's, version 1.
pub(super) fn npy(dtype: &str, shape: &str, numbers: &[u8]) -> Vec<u8> {
    let mut head = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + head.len() + 1) % 64 != 0 {
        head.push(' ');
    }
    head.push('\n');
    [b"\x93NUMPY\x01\x00", &(head.len() as u16).to_le_bytes()[..], head.as_bytes(), numbers].concat()
}

/// An archive of stored members.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let at = file.len() as u32;
        let [crc, size] = [crc32fast::hash(content), content.len() as u32].map(u32::to_le_bytes);
        let name_length = (name.len() as u16).to_le_bytes();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc, &size, &size, &name_length, &[0, 0]].concat();
        file.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        directory.extend(
            [b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat(),
        );
    }
    let [at, size] = [file.len() as u32, directory.len() as u32].map(u32::to_le_bytes);
    let count = (members.len() as u16).to_le_bytes();
    [&file[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &size, &at, &[0, 0]].concat()
}

/// Makes the checksums of stored members right again, in their headers and in the directory.
pub(super) fn repair_archive(file: &mut [u8]) {
    let number = |file: &[u8], at: usize, bytes: usize| -> Option<usize> {
        Some(file.get(at..at + bytes)?.iter().rev().fold(0, |sum, &byte| sum << 8 | byte as usize))
    };
    for entry in 0..file.len().saturating_sub(46) {
        if !file[entry..].starts_with(b"PK\x01\x02") || number(file, entry + 10, 2) != Some(0) {
            continue;
        }
        let (Some(size), Some(member)) = (number(file, entry + 20, 4), number(file, entry + 42, 4)) else {
            continue;
        };
        let (Some(name), Some(extra)) = (number(file, member + 26, 2), number(file, member + 28, 2)) else {
            continue;
        };
        let Some(content) = file.get(member + 30 + name + extra..).and_then(|rest| rest.get(..size)) else {
            continue;
        };
        let crc = crc32fast::hash(content).to_le_bytes();
        file[entry + 16..entry + 20].copy_from_slice(&crc);
        if let Some(place) = file.get_mut(member + 14..member + 18) {
            place.copy_from_slice(&crc);
        }
    }
}

/// Makes the checksums of a PNG's chunks right again.
fn repair_png(file: &mut [u8]) {
    if !file.starts_with(b"\x89PNG\r\n\x1a\n") {
        return;
    }
    let mut at = 8;
    while let Some(length) = file.get(at..at + 4) {
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        let Some(end) = (at + 8).checked_add(length).filter(|end| end + 4 <= file.len()) else { return };
        let crc = crc32fast::hash(&file[at + 4..end]).to_be_bytes();
        file[end..end + 4].copy_from_slice(&crc);
        at = end + 4;
    }
}
