//! Image files: what each format says of its pixels, and files that are damaged.

use crfkit::data::images::{Image, Mask};

fn image(bytes: &[u8]) -> Image {
    Image::read(bytes, "a").unwrap()
}

/// Height, width, channels, and the numbers times the greatest of their type, which are whole.
fn parts(bytes: &[u8], greatest: f64) -> ([usize; 3], Vec<f64>) {
    let Image { height, width, channels, values } = image(bytes);
    ([height, width, channels], values.iter().map(|x| (x * greatest).round()).collect())
}

fn refused(bytes: &[u8]) -> String {
    Image::read(bytes, "a").unwrap_err().to_string()
}

/// Text, then bytes.
fn file(text: &str, bytes: &[u8]) -> Vec<u8> {
    [text.as_bytes(), bytes].concat()
}

#[test]
fn netpbm_pictures_are_read_as_text_and_as_bytes() {
    let grey = ([2, 3, 1], vec![0.0, 10.0, 20.0, 30.0, 40.0, 255.0]);
    assert_eq!(parts(b"P2 3 2 255\n0 10 20\n30 40 255", 255.0), grey);
    assert_eq!(parts(b"P2\n# made by hand\n3 2 # wide, high\n255\n0 10 20 30\t40 0255 7", 255.0), grey);
    assert_eq!(parts(&file("P5\n3 2\n255\n", &[0, 10, 20, 30, 40, 255]), 255.0), grey);
    // The first pixel may look like a blank or a comment.
    assert_eq!(parts(&file("P5 2 1 255 ", b" #"), 255.0), ([1, 2, 1], vec![32.0, 35.0]));

    let colours = ([1, 2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(parts(b"P3 2 1 255 1 2 3 4 5 6", 255.0), colours);
    assert_eq!(parts(&file("P6 2 1 255\n", &[1, 2, 3, 4, 5, 6]), 255.0), colours);

    // 1 is black; rows of bits start with a byte.
    let bits = [0.0, 255.0, 255.0, 255.0, 255.0, 255.0, 255.0, 255.0, 0.0, 0.0];
    assert_eq!(parts(b"P1 5 2 10000 00 011", 255.0), ([2, 5, 1], bits.to_vec()));
    assert_eq!(parts(&file("P4 5 2\n", &[0b1000_0111, 0b0001_1000]), 255.0), ([2, 5, 1], bits.to_vec()));
    let wide = parts(&file("P4 9 1\n", &[0xFF, 0x00]), 255.0);
    assert_eq!(wide.1, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 255.0]);
}

#[test]
fn netpbm_pictures_have_as_many_shades_as_they_say() {
    assert_eq!(image(b"P2 3 1 2 0 1 2").values, [0.0, 128.0 / 255.0, 1.0], "three shades");
    assert_eq!(
        image(&file("P5 2 1 15\n", &[15, 20])).values,
        [1.0, 1.0],
        "more than the greatest is the greatest"
    );
    let words = [0u16, 256, 65535].map(u16::to_be_bytes).concat();
    assert_eq!(parts(&file("P5 3 1 65535\n", &words), 65535.0).1, [0.0, 256.0, 65535.0]);
    assert_eq!(parts(b"P2 2 1 1000 500 1000", 65535.0).1, [32768.0, 65535.0]);
}

#[test]
fn pam_pictures_may_have_opacity() {
    let header = |depth: usize| {
        format!("P7\nWIDTH 1\nHEIGHT 2\n# a comment\nDEPTH {depth}\nMAXVAL 255\nTUPLTYPE GRAYSCALE\nENDHDR\n")
    };
    assert_eq!(parts(&file(&header(1), &[5, 6]), 255.0), ([2, 1, 1], vec![5.0, 6.0]));
    assert_eq!(parts(&file(&header(2), &[5, 0, 6, 0]), 255.0), ([2, 1, 1], vec![5.0, 6.0]));
    let colours = ([2, 1, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(parts(&file(&header(4), &[1, 2, 3, 0, 4, 5, 6, 0]), 255.0), colours);
    assert!(refused(&file(&header(5), &[0; 10])).contains("5 numbers"));
    assert!(refused(b"P7\nWIDTH 1\nENDHDR\n\0").contains("lacks"));
    assert!(refused(b"P7\nWIDTH x\nENDHDR\n\0").contains("WIDTH is not a number"));
    assert!(refused(b"P7\nCOLOURS 3\nENDHDR\n\0").contains("COLOURS"));
    let mask = Mask::read(&file(&header(2), &[5, 0, 6, 0])[..], "m").unwrap_err().to_string();
    assert!(mask.starts_with("m: the mask has pixels of type La8: store a mask as"), "{mask}");
}

#[test]
fn bad_netpbm_pictures_are_refused() {
    let wholes: [&[u8]; 7] = [
        b"P1 2 2 0110",
        b"P2 2 2 255 1 2 3 4",
        b"P3 1 1 255 1 2 3",
        b"P4 2 2\n\0\0",
        b"P5 2 2 255\n\x01\x02\x03\x04",
        b"P6 1 1 255\n\x01\x02\x03",
        b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\n\x01",
    ];
    for whole in wholes {
        image(whole);
        for end in 0..whole.len() {
            assert!(
                refused(&whole[..end]).starts_with("a: not an image that crfkit can read ("),
                "{whole:?} {end}"
            );
        }
    }
    assert!(refused(b"P2 1 1 0 0").contains("its maximum value is 0"));
    assert!(refused(b"P2 1 1 65536 0").contains("65536"));
    assert!(refused(b"P2 1 1 255 256").contains("0 to 255"));
    assert!(refused(b"P2 1 1 255 -1").contains("0 to 255"));
    assert!(refused(b"P2 1 one 255 1").contains("something other than numbers"));
    assert!(refused(b"P1 2 1 12").contains("0 and 1"));
    assert!(refused(b"P5 0 1 255\n").contains("no pixels"));
    assert!(refused(b"P5 70000 1 255\n").contains("70000 × 1 pixels: at most"));
    assert!(refused(b"P5 9999 9999 255\n").contains("9999 × 9999 pixels: at most"));
    assert!(refused(b"P5 99999999999999999999 1 255\n").contains("nine digits"));
}

/// A grey or coloured JPEG file, of one block a component: all of its pixels have the given intensity, which differs from 128 by 64 to
/// 127, and no colour.
fn jpeg(height: u8, width: u8, components: u8, intensity: u8) -> Vec<u8> {
    let mut file = b"\xFF\xD8".to_vec();
    file.extend([0xFF, 0xDB, 0, 67, 0]);
    file.extend([8; 64]); // the mean of a block has a factor of 8 by itself
    file.extend([0xFF, 0xC0, 0, 8 + 3 * components, 8, 0, height, 0, width, components]);
    (1..=components).for_each(|id| file.extend([id, 0x11, 0]));
    // Codes of two bits: 00 for 0 and 01 for 7 bits of a mean, 00 for the end of a block.
    file.extend([0xFF, 0xC4, 0, 21, 0x00, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    file.extend([0xFF, 0xC4, 0, 20, 0x10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend([0xFF, 0xDA, 0, 6 + 2 * components, components]);
    (1..=components).for_each(|id| file.extend([id, 0]));
    file.extend([0, 63, 0]);
    let difference = i32::from(intensity) - 128;
    let seven = if difference > 0 { difference } else { difference + 127 };
    let mut bits = format!("01{seven:07b}00");
    (1..components).for_each(|_| bits += "0000");
    bits += &"1".repeat((8 - bits.len() % 8) % 8);
    file.extend(bits.as_bytes().chunks(8).map(|byte| {
        let byte = std::str::from_utf8(byte).unwrap();
        u8::from_str_radix(byte, 2).unwrap()
    }));
    file.extend(b"\xFF\xD9");
    file
}

#[test]
fn jpeg_pictures_are_read() {
    for intensity in [228, 28] {
        let grey = parts(&jpeg(2, 3, 1, intensity), 255.0);
        assert_eq!(grey, ([2, 3, 1], vec![f64::from(intensity); 6]));
        let coloured = parts(&jpeg(1, 2, 3, intensity), 255.0);
        assert_eq!(coloured, ([1, 2, 3], vec![f64::from(intensity); 6]));
    }
    let mask = Mask::read(&jpeg(1, 2, 3, 28)[..], "m").unwrap();
    assert_eq!(mask, Mask { height: 1, width: 2, values: vec![28, 28] }, "no pixel has a colour");
    let whole = jpeg(2, 3, 1, 228);
    for end in 3..whole.len() - 4 {
        assert!(refused(&whole[..end]).starts_with("a: not an image that crfkit can read ("), "{end}");
    }
}

/// A PNG file of rows with a filter byte each.
fn png(size: [u32; 2], depth: u8, colour: u8, more: &[(&[u8; 4], &[u8])], rows: &[u8]) -> Vec<u8> {
    use flate2::{Compression, Crc, write::ZlibEncoder};
    use std::io::Write;
    let mut data = ZlibEncoder::new(Vec::new(), Compression::default());
    data.write_all(rows).unwrap();
    let data = data.finish().unwrap();
    let [height, width] = size.map(u32::to_be_bytes);
    let header = [&width[..], &height, &[depth, colour, 0, 0, 0]].concat();
    let chunks = [&[(b"IHDR", &header[..])], more, &[(b"IDAT", &data[..]), (b"IEND", &[][..])]].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, data) in chunks {
        let named = [&name[..], data].concat();
        let mut sum = Crc::new();
        sum.update(&named);
        file.extend((data.len() as u32).to_be_bytes());
        file.extend(named);
        file.extend(sum.sum().to_be_bytes());
    }
    file
}

#[test]
fn png_pictures_of_all_kinds_are_read() {
    let grey = png([1, 2], 8, 0, &[], &[0, 7, 9]);
    assert_eq!(parts(&grey, 255.0), ([1, 2, 1], vec![7.0, 9.0]));
    assert_eq!(Mask::read(&grey[..], "m").unwrap().values, [7, 9]);
    assert_eq!(parts(&png([1, 2], 16, 0, &[], &[0, 1, 0, 2, 1]), 65535.0).1, [256.0, 513.0]);
    assert_eq!(parts(&png([1, 4], 2, 0, &[], &[0, 0b0001_1011]), 255.0).1, [0.0, 85.0, 170.0, 255.0]);
    assert_eq!(parts(&png([1, 1], 8, 2, &[], &[0, 1, 2, 3]), 255.0), ([1, 1, 3], vec![1.0, 2.0, 3.0]));
    // Opacity is ignored.
    assert_eq!(parts(&png([1, 1], 8, 4, &[], &[0, 5, 0]), 255.0), ([1, 1, 1], vec![5.0]));
    assert_eq!(parts(&png([1, 1], 8, 6, &[], &[0, 1, 2, 3, 0]), 255.0), ([1, 1, 3], vec![1.0, 2.0, 3.0]));
    // A palette.
    let palette: (&[u8; 4], &[u8]) = (b"PLTE", &[9, 9, 9, 8, 8, 8]);
    let painted = png([1, 2], 8, 3, &[palette], &[0, 1, 0]);
    assert_eq!(parts(&painted, 255.0), ([1, 2, 3], vec![8.0, 8.0, 8.0, 9.0, 9.0, 9.0]));
    assert_eq!(Mask::read(&painted[..], "m").unwrap().values, [8, 9]);

    let mask = |bytes: &[u8]| Mask::read(bytes, "m").unwrap_err().to_string();
    assert!(
        mask(&png([1, 1], 8, 2, &[], &[0, 1, 2, 3])).starts_with("m: the mask has colours: store a mask")
    );
    assert!(mask(&png([1, 1], 16, 4, &[], &[0, 1, 2, 3, 4])).contains("pixels of type La16"));
    for end in 8..grey.len() - 12 {
        assert!(refused(&grey[..end]).starts_with("a: not an image that crfkit can read ("), "{end}");
    }
    for at in 8..grey.len() - 12 {
        let mut flipped = grey.clone();
        flipped[at] ^= 0x10;
        assert!(refused(&flipped).starts_with("a: "), "{at}");
    }
    assert!(refused(&png([70000, 1], 8, 0, &[], &[])).contains("1 × 70000 pixels: at most"));
    assert!(refused(b"GIF89a").starts_with("a: not an image that crfkit can read (its first bytes"));
}

#[test]
fn pictures_are_written_as_png() {
    let mask = Mask { height: 2, width: 3, values: vec![0, 1, 2, 3, 4, 255] };
    assert_eq!(Mask::read(&mask.to_png().unwrap()[..], "m").unwrap(), mask);
    let colours = Image { height: 1, width: 2, channels: 3, values: vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0] };
    assert_eq!(image(&colours.to_png().unwrap()), colours);
    let range = Image { height: 1, width: 2, channels: 1, values: vec![-1.0, 3.0] };
    assert_eq!(image(&range.to_png().unwrap()).values, [0.0, 1.0]);
}
