//! Pictures and masks: PNG, JPEG, and the PGM family (PBM, PGM, PPM), told apart by their first bytes.

use crate::{Error, Place, Result};
use image::{DynamicImage, ExtendedColorType, ImageEncoder, ImageReader, Limits};
use std::io::{Cursor, Read};

/// Width and height at most: 2¹⁶ pixels each way and 2²⁶ in all keep the graph of an image within any memory.
const MAX_SIDE: u32 = 1 << 16;
const MAX_PIXELS: usize = 1 << 26;

/// A picture: one or several numbers a pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Numbers a pixel: 1 for intensity, 3 for red, green and blue.
    pub channels: usize,
    /// The numbers, `[height][width][channels]`; those of a file lie between 0 and 1.
    pub values: Vec<f64>,
}

impl Image {
    /// Reads a picture. Transparency is ignored; `name` is for messages.
    pub fn read(reader: impl Read, name: &str) -> Result<Self> {
        let image = decode(reader, name)?;
        let (height, width) = (image.height() as usize, image.width() as usize);
        let unit = |value: &u16| f64::from(*value) / f64::from(u16::MAX);
        let (channels, values) = match image.color().has_color() {
            true => (3, image.into_rgb16().iter().map(unit).collect()),
            false => (1, image.into_luma16().iter().map(unit).collect()),
        };
        Ok(Image { height, width, channels, values })
    }

    /// The numbers of a pixel, counted row by row.
    #[inline]
    pub fn pixel(&self, pixel: usize) -> &[f64] {
        &self.values[pixel * self.channels..][..self.channels]
    }
}

/// A mask: one small number a pixel, which stands for a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// The numbers, `[height][width]`.
    pub values: Vec<u8>,
}

impl Mask {
    /// Reads a mask: a grey picture of at most 8 bits a pixel (black and white are 0 and 255). `name` is for messages.
    pub fn read(reader: impl Read, name: &str) -> Result<Self> {
        let image = decode(reader, name)?;
        let refuse = |what: &str| {
            let remedy = "store a mask as an 8-bit grey picture whose values are the labels";
            Error::input(Place::new(name, 0), format!("{what}: {remedy}"))
        };
        let (height, width) = (image.height() as usize, image.width() as usize);
        let values = match image {
            DynamicImage::ImageLuma8(grey) => grey.into_raw(),
            DynamicImage::ImageRgb8(colour) => {
                let grey = |pixel: &image::Rgb<u8>| pixel.0 == [pixel.0[0]; 3];
                match colour.pixels().all(grey) {
                    true => colour.pixels().map(|pixel| pixel.0[0]).collect(),
                    false => return Err(refuse("the mask has colours")),
                }
            }
            other => return Err(refuse(&format!("the mask has pixels of type {:?}", other.color()))),
        };
        Ok(Mask { height, width, values })
    }

    /// The mask as a grey PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        image::codecs::png::PngEncoder::new(&mut bytes)
            .write_image(&self.values, self.width as u32, self.height as u32, ExtendedColorType::L8)
            .map_err(|error| Error::File { name: "PNG".into(), message: error.to_string() })?;
        Ok(bytes)
    }
}

/// Decodes a picture of any of the formats.
fn decode(mut reader: impl Read, name: &str) -> Result<DynamicImage> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| Error::io(name, error))?;
    let refuse = |why: String| Error::input(Place::new(name, 0), why);
    let unreadable = |error: image::ImageError| {
        refuse(format!("not a picture that can be read ({error}): PNG, JPEG and PGM files can"))
    };
    let reader = ImageReader::new(Cursor::new(&bytes)).with_guessed_format();
    let mut reader = reader.map_err(|error| Error::io(name, error))?;
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE), Some(MAX_SIDE));
    reader.limits(limits);
    let image = reader.decode().map_err(unreadable)?;
    match image.height() as usize * image.width() as usize {
        0 => Err(refuse("the picture has no pixels".into())),
        pixels if pixels > MAX_PIXELS => {
            Err(refuse(format!("the picture has {pixels} pixels: at most {MAX_PIXELS} are read; cut it up")))
        }
        _ => Ok(image),
    }
}
