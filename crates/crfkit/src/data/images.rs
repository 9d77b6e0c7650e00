//! Images and masks: PNG, JPEG, the PGM family (PBM, PGM, PPM) and NumPy arrays, recognised by their first bytes.

use super::label_masks::LabelMask;
use super::numpy::{self, ArrayArchive, NumberArray};
use super::pixels::{Pixels, Samples, encode_png};
use crate::{Error, Place, Result};
use std::io::Read;

/// The largest width and height. 2¹⁶ pixels each way and 2²⁶ in all keep the graph of an image within any memory.
const MAX_SIDE: usize = 1 << 16;
pub(super) const MAX_PIXELS: usize = 1 << 26;

/// An image: one or several numbers per pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
    /// Numbers per pixel: 1 for intensity, 3 for red, green and blue.
    pub channels: usize,
    /// The numbers, `[height][width][channels]`. Those of an image file lie between 0 and 1; those of an array are
    /// unchanged.
    pub values: Vec<f64>,
}

impl Image {
    /// Reads an image. Transparency is ignored. `name` is the image's name in messages.
    pub fn read(reader: impl Read, name: &str) -> Result<Self> {
        Image::from_bytes(&read(reader, name)?, name)
    }

    /// Decodes an image file.
    pub(super) fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        if bytes.starts_with(numpy::ARRAY) {
            let image = NumberArray::parse(bytes).and_then(Image::from_array);
            let image = image.and_then(|image| check_size(image.height, image.width).map(|()| image));
            return image.map_err(|why| Error::input(Place::new(name, 0), why));
        }
        let pixels = decode(bytes, name)?;
        let (channels, values) = pixels.shades();
        Ok(Image { height: pixels.height, width: pixels.width, channels, values })
    }

    /// Makes an image from an array `[height][width]` or `[height][width][channels]`. The error says why it is not an
    /// image.
    pub(super) fn from_array(
        NumberArray { shape, values, .. }: NumberArray,
    ) -> std::result::Result<Self, String> {
        let (height, width, channels) = match shape[..] {
            [height, width] => (height, width, 1),
            [height, width, channels] => (height, width, channels),
            _ => return Err(format!("its shape is {shape:?}, but must be (height, width, channels)")),
        };
        Ok(Image { height, width, channels, values })
    }

    /// The numbers of a pixel. Pixels are counted row by row.
    #[inline]
    pub fn pixel(&self, pixel: usize) -> &[f64] {
        &self.values[pixel * self.channels..][..self.channels]
    }
}

impl Image {
    /// Encodes the image as a PNG file for viewing. Three channels are shown as colours; otherwise the first channel is
    /// shown in grey. If numbers lie outside 0 to 1, their range is drawn from black to white.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let shown = if self.channels == 3 { 3 } else { 1 };
        let numbers = || self.values.chunks_exact(self.channels.max(1)).flat_map(|pixel| &pixel[..shown]);
        let (low, high) = numbers().fold((0.0f64, 1.0f64), |(low, high), &x| (low.min(x), high.max(x)));
        let shade = |x: &f64| (255.0 * (x - low) / (high - low)).round() as u8;
        encode(&numbers().map(shade).collect::<Vec<u8>>(), self.height, self.width)
    }
}

/// A mask: one small number per pixel, which stands for a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
    /// The numbers, `[height][width]`.
    pub values: Vec<u16>,
}

impl Mask {
    /// Reads a mask: a grey image (black and white of one bit are 0 and 255), or an array of whole
    /// numbers `[height][width]`. `name` is the mask's name in messages.
    pub fn read(reader: impl Read, name: &str) -> Result<Self> {
        let file = MaskFile::read(reader, name)?;
        file.mask.ok_or_else(|| {
            Error::input(
                Place::new(name, 0),
                "the mask has sets of labels, but one label for each pixel is needed here",
            )
        })
    }

    fn from_image(bytes: &[u8], name: &str) -> Result<Self> {
        let refuse = |what: &str| {
            let remedy = "store a mask as a grey image, or a .npy array, whose values are the labels";
            Error::input(Place::new(name, 0), format!("{what}: {remedy}"))
        };
        let pixels = decode(bytes, name)?;
        let kind = pixels.kind();
        let values = match (pixels.channels, pixels.samples) {
            (1, Samples::Bytes(grey)) => grey.into_iter().map(u16::from).collect(),
            (1, Samples::Words(grey)) => grey,
            (3, Samples::Bytes(colours)) => {
                let (colours, _) = colours.as_chunks::<3>();
                match colours.iter().all(|pixel| *pixel == [pixel[0]; 3]) {
                    true => colours.iter().map(|pixel| pixel[0].into()).collect(),
                    false => return Err(refuse("the mask has colours")),
                }
            }
            _ => return Err(refuse(&format!("the mask has pixels of type {kind}"))),
        };
        Ok(Mask { height: pixels.height, width: pixels.width, values })
    }

    /// Makes a mask from an array. The error says why it is not a mask.
    fn from_array(NumberArray { shape, values, whole }: NumberArray) -> std::result::Result<Self, String> {
        let [height, width] = shape[..] else {
            return Err(format!(
                "the mask has the shape {shape:?}, not (height, width) or, for sets of labels, (height, width, labels)"
            ));
        };
        if !whole {
            return Err("the mask has numbers that are not whole".into());
        }
        if let Some(value) = values.iter().find(|value| !(0.0..=f64::from(u16::MAX)).contains(*value)) {
            return Err(format!("the mask has the value {value}, but labels lie between 0 and {}", u16::MAX));
        }
        Ok(Mask { height, width, values: values.into_iter().map(|value| value as u16).collect() })
    }

    /// Encodes the mask as a grey PNG file, with 8 bits per pixel or, where labels are above 255, with 16.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let bytes: Option<Vec<u8>> = self.values.iter().map(|&value| value.try_into().ok()).collect();
        match bytes {
            Some(bytes) => encode(&bytes, self.height, self.width),
            None => {
                let words: Vec<u8> = self.values.iter().flat_map(|value| value.to_be_bytes()).collect();
                encode(&words, self.height, self.width)
            }
        }
    }
}

/// The contents of a mask file: what is known of the labels of pixels, and their weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaskFile {
    /// The label of each pixel; `None` if there are sets.
    pub mask: Option<Mask>,
    /// The labels that each pixel may have.
    pub sets: Option<LabelMask>,
    /// The weight of each pixel, row by row; `None` if all are 1.
    pub weights: Option<Vec<f64>>,
}

impl MaskFile {
    /// Reads a mask ([`Mask::read`]), or an array (height, width, labels) of 0 and 1 with the set of labels that each pixel may have.
    /// An archive (`.npz`) has one of both as the array `labels`, and may have `weights` (height, width). `name` is the file's name in
    /// messages.
    pub fn read(reader: impl Read, name: &str) -> Result<Self> {
        let bytes = read(reader, name)?;
        let refuse = |why| Error::input(Place::new(name, 0), why);
        if bytes.starts_with(numpy::ARCHIVE) {
            return ArrayArchive::open(&bytes)
                .and_then(|archive| MaskFile::from_archive(&archive))
                .map_err(refuse);
        }
        if bytes.starts_with(numpy::ARRAY) {
            return NumberArray::parse(&bytes).and_then(MaskFile::from_array).map_err(refuse);
        }
        Ok(MaskFile { mask: Some(Mask::from_image(&bytes, name)?), ..MaskFile::default() })
    }

    fn from_archive(archive: &ArrayArchive) -> std::result::Result<Self, String> {
        if let Some(name) = archive.names().find(|name| !["labels", "weights"].contains(name)) {
            return Err(format!("unknown array `{name}`: a mask has the arrays labels and weights"));
        }
        let labels =
            archive.array("labels")?.ok_or("it has no array `labels` of the shape (height, width)")?;
        let pixels = labels.shape[..labels.shape.len().min(2)].to_vec();
        let file = MaskFile::from_array(labels)?;
        let Some(weights) = archive.array("weights")? else { return Ok(file) };
        match weights.shape == pixels {
            true => Ok(MaskFile { weights: Some(weights.values), ..file }),
            false => {
                Err(format!("`weights` has the shape {:?}, but {pixels:?} is needed here", weights.shape))
            }
        }
    }

    fn from_array(array: NumberArray) -> std::result::Result<Self, String> {
        if let [height, width, ..] = array.shape[..] {
            check_size(height, width)?;
        }
        if array.shape.len() == 3 {
            let sets = LabelMask::from_array(array).map_err(|why| format!("sets of labels: {why}"))?;
            return Ok(MaskFile { sets: Some(sets), ..MaskFile::default() });
        }
        let wrong =
            |why| format!("{why}: store a mask as a grey image, or as an array whose values are the labels");
        Ok(MaskFile { mask: Some(Mask::from_array(array).map_err(wrong)?), ..MaskFile::default() })
    }
}

/// Encodes a PNG file: grey in one or two bytes, or three colours.
fn encode(values: &[u8], height: usize, width: usize) -> Result<Vec<u8>> {
    let refused = |error: png::EncodingError| Error::File { name: "PNG".into(), message: error.to_string() };
    encode_png(values, height, width).map_err(refused)
}

/// Reads all bytes of a file.
pub(super) fn read(mut reader: impl Read, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| Error::io(name, error))?;
    Ok(bytes)
}

/// Decodes an image in any format except NumPy's.
fn decode(bytes: &[u8], name: &str) -> Result<Pixels> {
    Pixels::decode(bytes).map_err(|why| Error::input(Place::new(name, 0), why))
}

/// Rejects images whose graph would be empty or too large.
pub(super) fn check_size(height: usize, width: usize) -> std::result::Result<(), String> {
    let too_large = height.max(width) > MAX_SIDE || height * width > MAX_PIXELS;
    match height == 0 || width == 0 {
        true => Err("the image has no pixels".into()),
        false if too_large => Err(format!(
            "the image has {width} × {height} pixels: at most {MAX_PIXELS} are read, and {MAX_SIDE} in a row or column; cut it into smaller ones"
        )),
        false => Ok(()),
    }
}
