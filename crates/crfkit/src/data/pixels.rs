//! Decodes image files to pixels: PNG and JPEG with other crates, PBM, PGM, PPM and PAM with [`super::pnm`].

use super::images::{MAX_PIXELS, check_size};
use super::pnm;
use std::fmt::Display;
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = b"\xFF\xD8\xFF";

/// The pixels of an image file.
pub(super) struct Pixels {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// Numbers per pixel: 1 for grey; 2 for grey and opacity; 3 for red, green and blue; 4 for these and opacity.
    pub(crate) channels: usize,
    /// The numbers, `[height][width][channels]`.
    pub(crate) samples: Samples,
}

/// Numbers between 0 and the greatest number of their type.
pub(super) enum Samples {
    Bytes(Vec<u8>),
    Words(Vec<u16>),
}

/// The message for a file that no decoder can read.
pub(super) fn unreadable(why: impl Display) -> String {
    format!("not an image that crfkit can read ({why}): use PNG, JPEG, PGM or NumPy files")
}

impl Pixels {
    /// Decodes an image. The error says why it cannot be decoded. Sizes are checked before any pixel is decoded.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        match bytes {
            _ if bytes.starts_with(PNG) => decode_png(bytes),
            _ if bytes.starts_with(JPEG) => decode_jpeg(bytes),
            [b'P', b'1'..=b'7', ..] => pnm::decode(bytes),
            _ => Err(unreadable("its first bytes fit no known format")),
        }
    }

    /// The numbers scaled to between 0 and 1, without opacity: how many there are per pixel, and all of them.
    pub(crate) fn shades(&self) -> (usize, Vec<f64>) {
        let shown = if self.channels > 2 { 3 } else { 1 };
        let shades = match &self.samples {
            Samples::Bytes(x) => shades(x, self.channels, shown, f64::from(u8::MAX)),
            Samples::Words(x) => shades(x, self.channels, shown, f64::from(u16::MAX)),
        };
        (shown, shades)
    }

    /// A short name for the type of a pixel, such as `Rgb8`.
    pub(crate) fn kind(&self) -> String {
        let name = ["L", "La", "Rgb", "Rgba"][self.channels - 1];
        let bits = if let Samples::Bytes(_) = self.samples { 8 } else { 16 };
        format!("{name}{bits}")
    }
}

fn shades<T: Copy + Into<f64>>(x: &[T], channels: usize, shown: usize, greatest: f64) -> Vec<f64> {
    x.chunks_exact(channels).flat_map(|pixel| &pixel[..shown]).map(|&x| x.into() / greatest).collect()
}

/// Decodes PNG of any kind. Palettes become colours, and numbers of fewer than 8 bits become 8 bits.
fn decode_png(bytes: &[u8]) -> Result<Pixels, String> {
    let mut decoder =
        png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: 8 * MAX_PIXELS });
    let header = decoder.read_header_info().map_err(unreadable)?;
    let (height, width) = (header.height as usize, header.width as usize);
    check_size(height, width)?;
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(unreadable)?;
    let (colour, depth) = reader.output_color_type();
    let size = reader.output_buffer_size().ok_or_else(|| unreadable("it does not fit into memory"))?;
    let mut bytes = vec![0; size];
    reader.next_frame(&mut bytes).map_err(unreadable)?;
    let samples = match depth {
        png::BitDepth::Sixteen => {
            Samples::Words(bytes.as_chunks().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect())
        }
        _ => Samples::Bytes(bytes),
    };
    Ok(Pixels { height, width, channels: colour.samples(), samples })
}

/// Encodes bytes as a PNG file: one byte per pixel is grey, two are grey with 16 bits, three are red, green and blue.
pub(super) fn encode_png(values: &[u8], height: usize, width: usize) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    let each = values.len() / (height * width).max(1);
    encoder.set_color(if each == 3 { png::ColorType::Rgb } else { png::ColorType::Grayscale });
    encoder.set_depth(if each == 2 { png::BitDepth::Sixteen } else { png::BitDepth::Eight });
    encoder.set_compression(png::Compression::Fast);
    encoder.set_filter(png::Filter::Adaptive);
    encoder.write_header()?.write_image_data(values)?;
    Ok(bytes)
}

/// Decodes JPEG, grey or in colour. CMYK becomes red, green and blue.
fn decode_jpeg(bytes: &[u8]) -> Result<Pixels, String> {
    let unreadable = |error: DecodeErrors| unreadable(error);
    let options =
        DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let decoder = |options| JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let mut header = decoder(options);
    header.decode_headers().map_err(unreadable)?;
    let (width, height) = header.dimensions().unwrap_or_default();
    check_size(height, width)?;
    let colours = match header.input_colorspace() {
        Some(colours @ (ColorSpace::Luma | ColorSpace::LumaA | ColorSpace::RGB | ColorSpace::RGBA)) => {
            colours
        }
        _ => ColorSpace::RGB,
    };
    let values = decoder(options.jpeg_set_out_colorspace(colours)).decode().map_err(unreadable)?;
    Ok(Pixels { height, width, channels: colours.num_components(), samples: Samples::Bytes(values) })
}
